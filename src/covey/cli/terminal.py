"""The two streams to the person at the keyboard, and the one way to write to them.

Names of columns, files and labels are chosen by others, and may hold signs that command a terminal:
escape sequences that rewrite what stands there, or marks that turn the direction of writing around.
All text goes through `visible`, which shows such signs instead of sending them.

Standard error tells how it goes; if nobody can read it, the work goes on and the exit code tells.
Standard output has results; if these cannot be written, that is an error.
"""

import contextlib
import errno
import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from covey.errors import OutputError


def visible(text: str, *, lines: bool = True) -> str:
    """The text with its control signs written out, as \\x1b; ends of `lines` may stay."""
    if text.isprintable():
        return text
    return "".join(
        sign if (sign == "\n" and lines) or not _commands(sign) else _written_out(sign)
        for sign in text
    )


def _commands(sign: str) -> bool:
    """Controls, marks of direction and of no width, lone surrogates, separators of lines."""
    return unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _written_out(sign: str) -> str:
    return sign.encode("unicode_escape").decode()


class PlainConsole(Console):
    """A console that takes nothing in a text for a command: no markup, no control signs."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        """As text of which widths are measured as it will be seen."""
        return super().render_str(visible(text), **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """What is left of control signs is written out here; colours and cursors are rich's own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))

    def print(self, *objects: Any, **settings: Any) -> None:
        """Nobody need read standard error; standard output must be written."""
        with contextlib.suppress(OSError) if self.stderr else results():
            super().print(*objects, **settings)


out = PlainConsole()
err = PlainConsole(stderr=True)


def say(message: str) -> None:
    """A line for the person at the keyboard."""
    err.print(Text(visible(f"covey: {message}", lines=False)), soft_wrap=True)


def give(text: str, *, toml: bool = False) -> None:
    """Print JSON, or TOML: a control sign in a text is written out as both of them read it."""
    for sign in {sign for sign in text if sign not in "\n\t" and _commands(sign)}:
        written = f"\\U{ord(sign):08x}" if toml else json.dumps(sign)[1:-1]
        text = text.replace(sign, written)
    with results():
        sys.stdout.write(text)


def give_json(facts: Any, *, ensure_ascii: bool = True) -> None:
    """Print as JSON, for other programs."""
    give(json.dumps(facts, indent=2, ensure_ascii=ensure_ascii) + "\n")


@contextlib.contextmanager
def results() -> Iterator[None]:
    """What cannot be written to standard output is told as such."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard output cannot be written: {error.strerror}") from None
    except UnicodeEncodeError as error:
        raise OutputError(
            f"standard output is {error.encoding}, which lacks some signs; set PYTHONUTF8=1"
        ) from None


def is_unwritable(error: BaseException) -> bool:
    """Whether an error is that of a stream, which has no name, unlike a file."""
    signs = (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EDQUOT)
    return isinstance(error, OSError) and error.filename is None and error.errno in signs


def open_streams() -> None:
    """Occupy the places of streams that are closed, or the next file would get one.

    Then whatever a library tells on standard error would be written into a release. A stream that
    was closed stays useless: reading from it, or writing to it, is an error.
    """
    for place, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY)):
        try:
            os.fstat(place)
        except OSError:
            occupied = os.open(os.devnull, flags)
            if occupied != place:
                os.dup2(occupied, place)
                os.close(occupied)
    sys.stdin = sys.stdin or _stream(0, "r")
    sys.stdout = sys.stdout or _stream(1, "w")
    sys.stderr = sys.stderr or _stream(2, "w")


def _stream(place: int, mode: str) -> Any:
    return open(place, mode, encoding="utf-8", closefd=False)


def close_streams() -> None:
    """Get rid of what a stream cannot write, or Python would try again at its end, and tell."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            silence(stream)


def silence(stream: IO[str]) -> None:
    """Send what a stream still holds nowhere."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
