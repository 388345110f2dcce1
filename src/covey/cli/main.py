"""The command line: it parses, calls the library, and shows what came back.

Results go to standard output, everything else to standard error. Exit codes: 0 the guarantee
holds, 1 it does not or cannot be had, 2 wrong usage or a file that cannot be read or written,
130 interrupted.
"""

import functools
import os
import signal
import sys
import warnings
from importlib.metadata import version
from typing import Annotated, Any

import typer

from covey._core import compiling
from covey.cli import memory, terminal
from covey.cli.commands.anonymize import anonymize
from covey.cli.commands.compare import compare
from covey.cli.commands.curve import curve
from covey.cli.commands.demo import demo
from covey.cli.commands.experiment import experiment
from covey.cli.commands.inspect import inspect
from covey.cli.commands.measure import measure
from covey.cli.commands.methods import methods
from covey.cli.commands.releases import forget, releases
from covey.cli.commands.report import report
from covey.cli.commands.verify import verify
from covey.cli.commands.warm_up import warm_up
from covey.cli.terminal import say
from covey.errors import CoveyError, GuaranteeError

HOLDS, VIOLATED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    name="covey",
    help="Make tables of people safer to publish.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (  # as `covey --help` lists them
    inspect, anonymize, releases, forget, verify, measure, report, compare, curve, methods, demo,
    experiment,
):  # fmt: skip
    app.command()(command)
app.command(hidden=True)(warm_up)


def _show_version(asked: bool) -> None:
    if asked:
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
    """Run the command line on the arguments of this process, and end it."""
    terminal.open_streams()
    signal.signal(signal.SIGTERM, _terminate)
    compiling.listen(_tell_of_compiling)
    warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
    code = run(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left to be tidied up
    terminal.close_streams()
    # `python -m` remembers that an interrupt has left code that was a string, as libraries have it,
    # and would end by the signal whatever the code is. Another such string makes it forget.
    exec("")  # noqa: S102
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a command to its exit code; the one place where errors become codes."""
    try:
        # Asked for help, or interrupted inside a command, typer returns a code of its own.
        if app(args=arguments or ["--help"], standalone_mode=False) == INTERRUPTED:
            raise KeyboardInterrupt
        with terminal.results():
            pass  # all that was printed has been written now
    except BaseException as error:
        message, code = _told(error)
        if message is not None:
            say(f"error: {message}")
        return code
    return HOLDS


def _told(error: BaseException) -> tuple[str | None, int]:
    """What is said of an error, if anybody listens, and its exit code."""
    match error:
        case CoveyError():
            return str(error), VIOLATED if isinstance(error, GuaranteeError) else WRONG_USAGE
        case typer.TyperException():
            return error.format_message(), WRONG_USAGE
        case KeyboardInterrupt() | typer.Abort():
            return "interrupted", INTERRUPTED
        case BrokenPipeError():
            terminal.silence(sys.stdout)  # whoever read our output has gone
            return None, VIOLATED
    return _unexpected(error)


def _unexpected(error: BaseException) -> tuple[str, int]:
    """What no part of covey has expected; the text of a foreign error may quote a cell."""
    if memory.is_short(error):
        return memory.TOO_LITTLE, VIOLATED
    if isinstance(error, OSError) and terminal.is_unwritable(error):
        return f"standard output cannot be written: {error.strerror}", WRONG_USAGE
    # A panic inside polars is no Exception, but an error like others.
    kind = type(error).__name__
    if os.environ.get("COVEY_DEBUG") or not (
        isinstance(error, Exception) or kind == "PanicException"
    ):
        raise error
    return f"internal error ({kind}); COVEY_DEBUG=1 shows where, cells and all", VIOLATED


def _terminate(_signal: int, _frame: Any) -> None:
    """Leave through every `finally`, so that no draft stays behind."""
    sys.exit(128 + signal.SIGTERM)


@functools.cache  # once
def _tell_of_compiling() -> None:
    say("compiling for this machine; that may take a minute, but only the first time")
