"""Files that appear whole or not at all.

A draft is written beside its destination under a name that nobody looks for, readable by its owner
alone. It gets the real name in one step, after all that must be checked has been checked; until
then, and if anything goes wrong, whatever had that name keeps it.
"""

import contextlib
import hashlib
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import IO

from covey.errors import OutputError

try:
    import fcntl
except ImportError:  # not a POSIX system: drafts cannot be locked, so none is swept
    fcntl = None  # type: ignore[assignment]

STREAM = "-"
_SUFFIX = ".covey-draft"
_OWNER_ALONE = 0o600


class Draft:
    """Bytes on their way to a destination."""

    def __init__(self, path: str | Path, *, private: bool = False) -> None:
        self._private = private
        if str(path).endswith(("/", os.sep)):
            raise OutputError("the output is a folder or a device, not a file")
        self.destination = None if path == STREAM else Path(_real(path))
        self._path: Path | None = None
        self.file: IO[bytes] = self._open()

    def _open(self) -> IO[bytes]:
        if self.destination is None:
            return BytesIO()
        with output_errors():
            refuse_special(self.destination)
            _sweep(self.destination)
            while (file := self._locked(self.destination)) is None:
                pass
            return file

    def _locked(self, destination: Path) -> IO[bytes] | None:
        """A new draft; None if another writer swept it before it could be locked."""
        self._path = destination.with_name(f"{_prefix(destination)}{secrets.token_hex(8)}{_SUFFIX}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        self.file = os.fdopen(os.open(self._path, flags, _OWNER_ALONE), "w+b")
        try:
            if fcntl is not None:
                fcntl.flock(self.file, fcntl.LOCK_EX)
            if os.fstat(self.file.fileno()).st_nlink:
                return self.file
        except BaseException:
            self.discard()
            raise
        self.file.close()
        return None

    def read(self) -> bytes:
        """Everything written so far, as it lies on the disk."""
        with output_errors():
            self.file.flush()
            if self._path is None:
                return self.file.getvalue()  # type: ignore[attr-defined, no-any-return]
            os.fsync(self.file.fileno())
            return self._path.read_bytes()

    def publish(self) -> None:
        """Give the draft its destination's name, or send it to standard output."""
        with output_errors():
            if self._path is None or self.destination is None:
                sys.stdout.buffer.write(self.read())
                sys.stdout.buffer.flush()
                return
            self.file.flush()
            mode = _OWNER_ALONE if self._private else _permissions(self.destination)
            os.fchmod(self.file.fileno(), mode)
            os.fsync(self.file.fileno())
            self._path.replace(self.destination)
            self._path = None
            _sync_folder(self.destination.parent)

    def discard(self) -> None:
        """Leave nothing behind, unless it was published."""
        with contextlib.suppress(OSError):
            self.file.close()
        with contextlib.suppress(OSError):
            if self._path is not None:
                self._path.unlink()


@contextlib.contextmanager
def draft(path: str | Path, *, private: bool = False) -> Iterator[Draft]:
    """A draft that is gone at the end unless it was published; `private` to its owner alone."""
    made = Draft(path, private=private)
    try:
        yield made
    finally:
        made.discard()


def write(path: str | Path, data: bytes, *, private: bool = False) -> None:
    """Write a file whole or not at all."""
    with draft(path, private=private) as made:
        with output_errors():
            made.file.write(data)
        made.publish()


@contextlib.contextmanager
def output_errors() -> Iterator[None]:
    """Turn the operating system's refusals into covey's."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"the output cannot be written: {error.strerror}") from None


def refuse_special(path: Path) -> None:
    """A destination is a new name or a regular file, never a folder, pipe or device."""
    if path.exists() and not path.is_file():
        raise OutputError("the output is a folder or a device, not a file")


def refuse_overwriting(outputs: Iterable[str | Path], inputs: Iterable[str | Path]) -> None:
    """No output may be one of the inputs, nor another output."""
    taken = [_real(path) for path in inputs if path != STREAM]
    for output in outputs:
        if output == STREAM:
            continue
        real = _real(output)
        if real in taken or any(_same(real, other) for other in taken):
            raise OutputError("an output would overwrite an input or another output")
        taken.append(real)


def _real(path: str | Path) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:
        raise OutputError("the output cannot be written: there can be no such path") from None


def _same(one: str, other: str) -> bool:
    with contextlib.suppress(OSError):
        return Path(one).samefile(other)
    return False


def _permissions(destination: Path) -> int:
    """Those of the file that is replaced, or the user's default for new files."""
    with contextlib.suppress(OSError):
        return stat.S_IMODE(destination.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the new name last; some file systems cannot, and the file itself is safe already."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sweep(destination: Path) -> None:
    """Remove drafts of this destination whose writers were killed: nobody holds their lock."""
    if fcntl is None:
        return
    for path in destination.parent.glob(f"{_prefix(destination)}*{_SUFFIX}"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _prefix(destination: Path) -> str:
    """The same for every draft of a destination, and short however long its name."""
    return f".{hashlib.sha256(os.fsencode(destination.name)).hexdigest()[:16]}."
