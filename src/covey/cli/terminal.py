"""The two streams to the user, and the only way to write to them.

Others choose the names of columns, files and labels. These may contain control characters: escape
sequences that rewrite the screen, or marks that reverse the direction of writing. All text goes
through `visible`, which writes such characters out instead of sending them.

Standard error shows how the work goes. If it cannot be written, the work continues, and the exit
code shows the result. Standard output has the results; if it cannot be written, that is an error.
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

from covey.errors import THIN_SPACE, OutputError


def visible(text: str, *, lines: bool = True) -> str:
    """The text with its control characters written out, as \\x1b; with `lines`, newlines stay."""
    if text.isprintable():
        return text
    return "".join(
        sign if (sign == "\n" and lines) or not _commands(sign) else _written_out(sign)
        for sign in text
    )


def _commands(sign: str) -> bool:
    """Whether it is a control, a direction or zero-width mark, a lone surrogate, a separator."""
    return unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _written_out(sign: str) -> str:
    return sign.encode("unicode_escape").decode()


def _shown(text: str) -> str:
    """With plain spaces: a thin one is as wide on a terminal, and some encodings lack it."""
    return visible(text).replace(THIN_SPACE, " ")


class PlainConsole(Console):
    """A console that obeys nothing in a text: no markup, no control characters."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        """Convert before widths are measured, so that they are those of the text shown."""
        return super().render_str(visible(text), **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Write out the remaining control characters; colours and cursor moves are rich's own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=_shown(segment.text))

    def print(self, *objects: Any, **settings: Any) -> None:
        """Ignore errors on standard error; raise those on standard output."""
        with contextlib.suppress(OSError) if self.stderr else results():
            super().print(*objects, **settings)


out = PlainConsole()
err = PlainConsole(stderr=True)


_VOLUME = {"verbose": False}


def set_volume(*, quiet: bool, verbose: bool) -> None:
    """Say only errors, or more than usual."""
    err.quiet = quiet
    _VOLUME["verbose"] = verbose and not quiet


def is_verbose() -> bool:
    """Whether the user wants to know more."""
    return _VOLUME["verbose"]


def say_error(message: str) -> None:
    """Show the user an error, even if nothing else should be said."""
    err.quiet = False
    say(f"error: {message}")


def say(message: str) -> None:
    """Show the user a line."""
    err.print(Text(visible(f"covey: {message}", lines=False)), soft_wrap=True)


def give(text: str, *, toml: bool = False) -> None:
    """Print JSON or TOML, with control characters and thin spaces escaped as the format allows."""
    for sign in {sign for sign in text if sign not in "\n\t" and _is_escaped(sign)}:
        written = f"\\U{ord(sign):08x}" if toml else json.dumps(sign)[1:-1]
        text = text.replace(sign, written)
    with results():
        sys.stdout.write(text)


def give_json(facts: Any, *, ensure_ascii: bool = True) -> None:
    """Print JSON, for other programs."""
    give(json.dumps(facts, indent=2, ensure_ascii=ensure_ascii) + "\n")


def _is_escaped(sign: str) -> bool:
    return _commands(sign) or sign == THIN_SPACE


@contextlib.contextmanager
def results() -> Iterator[None]:
    """Raise a clear error if standard output cannot be written."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard output cannot be written: {error.strerror}") from None
    except UnicodeEncodeError as error:
        raise OutputError(
            f"standard output is {error.encoding}, which lacks some characters: set PYTHONUTF8=1"
        ) from None


def is_unwritable(error: BaseException) -> bool:
    """Whether an error comes from a stream, which has no name, and not from a file."""
    signs = (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EDQUOT)
    return isinstance(error, OSError) and error.filename is None and error.errno in signs


def open_streams() -> None:
    """Occupy the descriptors of closed streams, or the next file would get one.

    Then what a library prints on standard error would go into a release. A closed stream stays
    useless: reading from it or writing to it is an error.
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
    """Discard what a stream cannot write, or Python would try again at exit, and complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            silence(stream)


def silence(stream: IO[str]) -> None:
    """Discard what a stream still holds."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
