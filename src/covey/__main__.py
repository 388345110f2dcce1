"""`python -m covey`, and the command `covey`: loads the command line and runs it.

Loading takes a moment, in which somebody may press Ctrl-C or memory may run out. So this module
loads little, and the rest where such things are expected.
"""

import contextlib
import sys


def main() -> None:
    """Run the command line."""
    try:
        from covey.cli import memory

        memory.watched(sys.argv[1:], _tell)
        from covey.cli import main as cli
    except KeyboardInterrupt:
        _end("interrupted", 130)
    except Exception as error:
        from covey.cli import memory
        from covey.errors import is_out_of_memory

        if not is_out_of_memory(error):
            raise
        _end(memory.TOO_LITTLE, 1)
    cli.main()


def _tell(message: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"covey: error: {message}\n")
        sys.stderr.flush()


def _end(message: str, code: int) -> None:
    _tell(message)
    exec("")  # noqa: S102 - see `covey.cli.main.main`
    sys.exit(code)


if __name__ == "__main__":
    main()
