"""The command line: parse, call the library, show the result.

Results go to standard output, everything else to standard error. Exit codes: 0 the guarantee
holds, 1 it does not hold or is not possible, 2 wrong usage or a file that cannot be read or
written, 130 interrupted.
"""

import os
import re
import signal
import sys
import warnings
from importlib.metadata import version
from typing import Annotated, Any

import typer

from covey.cli import memory, terminal
from covey.cli.commands.anonymize import anonymize
from covey.cli.commands.attack import attack
from covey.cli.commands.compare import compare
from covey.cli.commands.curve import curve
from covey.cli.commands.demo import demo
from covey.cli.commands.experiment import experiment
from covey.cli.commands.inspect import inspect
from covey.cli.commands.measure import measure
from covey.cli.commands.methods import methods
from covey.cli.commands.read import read
from covey.cli.commands.releases import forget, releases
from covey.cli.commands.report import report
from covey.cli.commands.studio import studio
from covey.cli.commands.utility import utility
from covey.cli.commands.verify import verify
from covey.cli.options import Commands, GroupedCommand
from covey.cli.terminal import say, say_error
from covey.errors import CoveyError, GuaranteeError, is_out_of_memory, nearest

HOLDS, VIOLATED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    name="covey",
    cls=Commands,
    help="Make tables of people safer to publish.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (  # as `covey --help` lists them
    studio, inspect, anonymize, releases, forget, verify, measure, utility, attack, report, read,
    compare, curve, methods, demo, experiment,
):  # fmt: skip
    app.command(cls=GroupedCommand)(command)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"covey {version('covey')}")
        raise typer.Exit


@app.callback()
def _covey(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line on the arguments of this process, and exit."""
    terminal.open_streams()
    signal.signal(signal.SIGTERM, _terminate)
    warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
    code = run(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left to tidy up
    terminal.close_streams()
    # If an interrupt has left code that was run from a string, as some libraries do, `python -m`
    # exits by the signal whatever the code is. Running another string resets that.
    exec("")  # noqa: S102
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; errors become codes only here."""
    try:
        # After help, or an interrupt inside a command, typer returns a code of its own.
        if app(args=arguments or ["--help"], standalone_mode=False) == INTERRUPTED:
            raise KeyboardInterrupt
        with terminal.results():
            pass  # flush what was printed
    except BaseException as error:
        message, code = _ending(error)
        if message is not None:
            say_error(message)
        return code
    return HOLDS


def _ending(error: BaseException) -> tuple[str | None, int]:
    """The message for an error, if anyone can read it, and its exit code."""
    match error:
        case CoveyError():
            return str(error), VIOLATED if isinstance(error, GuaranteeError) else WRONG_USAGE
        case typer.TyperException():
            return _suggesting(error.format_message()), WRONG_USAGE
        case KeyboardInterrupt() | typer.Abort():
            return "interrupted", INTERRUPTED
        case BrokenPipeError():
            terminal.silence(sys.stdout)  # the reader of our output has gone
            return None, VIOLATED
    return _unexpected(error)


def _suggesting(message: str) -> str:
    """With the nearest option only, if several are possible."""
    found = re.fullmatch(r"No such option: (\S+) \(Possible options: (.*)\)", message)
    if found is None:
        return message
    return f"No such option: {found[1]}{nearest(found[1], found[2].split(', '))}"


def _unexpected(error: BaseException) -> tuple[str, int]:
    """Handle an error that covey did not expect; its text may quote a cell, so it is hidden."""
    if is_out_of_memory(error):
        return memory.TOO_LITTLE, VIOLATED
    if isinstance(error, OSError) and terminal.is_unwritable(error):
        return f"standard output cannot be written: {error.strerror}", WRONG_USAGE
    # A panic in polars is not an Exception, but an error like any other.
    kind = type(error).__name__
    if os.environ.get("COVEY_DEBUG") or not (
        isinstance(error, Exception) or kind == "PanicException"
    ):
        raise error
    return (
        f"internal error ({kind}): set COVEY_DEBUG=1 for a traceback, which may show cell values",
        VIOLATED,
    )


def _terminate(_signal: int, _frame: Any) -> None:
    """Exit through every `finally`, so that no draft file remains."""
    sys.exit(128 + signal.SIGTERM)
