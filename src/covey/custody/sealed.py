"""Working files that only the holder of the custodian's key can read or change unnoticed.

Work on a table that is larger than the memory puts rows of the original on the disk for a while. If
the process is killed, they stay there. So everything in a spool is encrypted and authenticated
under secrets that are derived from the custodian's key and a random salt, which is stored with it.
The same custodian can then resume the work.

A file is a chain of chunks. The tag of a chunk covers the tag before it, and the first tag covers
the name of the file. So no chunk can be changed, moved, left out or taken from another file, or
from an earlier file of the same name. The last tag covers the end, so a file that was not completed
is noticed too.

    chunk = size (8 bytes), nonce (16), encrypted data, tag (16)
    end   = a chunk without data, whose size is END

Every chunk has its own nonce, because resumed work replaces chunks: no two pieces of data may ever
be encrypted with the same stream.
"""

import contextlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import IO, NoReturn, Self

import polars as pl

from covey.custody.cipher import sealed
from covey.custody.keys import Key
from covey.errors import UsageError
from covey.tables import files

SIZE = 16  # bytes of salts, nonces and tags
END = 2**64 - 1  # the size that marks the end of a file
BLOCK = 1 << 16  # bytes that are encrypted at once: they stay in the processor's cache
_HEAD = ".spool"  # the name of the file with the salt
_FORM = b"covey spool 1\n"
_PLAIN = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # follow no link, no wait


@dataclass(frozen=True, eq=False, repr=False)
class Spool:
    """A private folder of sealed files for one piece of work.

    Names of files are readable, so they must be plain, such as `leaf-12`, and say nothing about the
    table. Many threads may use a spool, but only one at a time may write a file.
    """

    folder: Path
    _secret: bytes  # of the cipher
    _authentic: bytes  # of the tags

    @classmethod
    def make(cls, folder: str | Path, key: Key) -> "Spool":
        """Make a new folder, or use an empty one."""
        folder, salt = Path(folder), secrets.token_bytes(SIZE)
        with files.output_errors():
            folder.mkdir(mode=0o700, exist_ok=True)
            _refuse_others(folder)
            # A process that was killed right here may have left a draft of the head.
            if any(not path.name.endswith(files.DRAFT) for path in folder.iterdir()):
                raise UsageError("the folder for working files is not empty: name a new folder")
            folder.chmod(0o700)
        files.write(folder / _HEAD, _head(key, salt), private=True)
        return cls._under(folder, key, salt)

    @classmethod
    def open(cls, folder: str | Path, key: Key) -> "Spool":
        """Open the folder again, to resume the work."""
        folder = Path(folder)
        with _reading():
            _refuse_others(folder)
            if os.name == "posix" and stat.S_IMODE(folder.stat().st_mode) & _OTHERS:
                raise UsageError("other users can read the working files: restrict with chmod 700")
            with _opened(folder / _HEAD, os.O_RDONLY) as file:
                head = file.read()
        salt, name = head[len(_FORM) :][:SIZE], head[len(_FORM) + SIZE :][:8]
        if head.startswith(_FORM) and name != bytes.fromhex(key.fingerprint):
            raise UsageError("the working files were made with a different key, or are damaged")
        if not hmac.compare_digest(head, _head(key, salt)):
            raise _damage()
        return cls._under(folder, key, salt)

    @classmethod
    def _under(cls, folder: Path, key: Key, salt: bytes) -> "Spool":
        secret, authentic = (key.digest("spool", use, salt) for use in (b"cipher", b"tags"))
        return cls(folder, secret, authentic)

    def appender(self, name: str, *, after: int | None = None) -> "Appender":
        """Add chunks to a new or completed file.

        With `after`, keep that many of its chunks and drop the others, whether or not the file was
        completed: a checkpoint has counted them, and the work after it is done again.
        """
        with files.output_errors():
            file = _opened(self._path(name), os.O_RDWR | os.O_CREAT)
        return Appender(self, name, file, after)

    def chunks(self, name: str) -> Iterator[bytes]:
        """The chunks of a completed file, each of them authenticated before it is decrypted."""
        tag, path = self.first_tag(name), self._path(name)
        with _reading(), _opened(path, os.O_RDONLY) as file:
            while not (record := _Record.read(file)).is_end:
                data = _exactly(file, record.length)
                tag = self._authenticated(tag, record, data, _exactly(file, SIZE))
                yield b"".join(self._blocks(record, data))
            self._authenticated(tag, record, b"", _exactly(file, SIZE))
            if file.read(1):
                raise _damage()

    def put(self, name: str, data: bytes) -> None:
        """Write or replace a small file in one step."""
        chunk = [*self.chunk(self.first_tag(name), data)]
        end = self.chunk(chunk[-1], None)
        files.write(self._path(name), b"".join([*chunk, *end]), private=True)

    def get(self, name: str) -> bytes | None:
        """What was put; None if there is no such file."""
        return b"".join(self.chunks(name)) if self._path(name).exists() else None

    def names(self) -> list[str]:
        """The names of all files."""
        with _reading():
            return sorted(p.name for p in self.folder.iterdir() if not p.name.startswith("."))

    def remove(self, name: str) -> None:
        """Remove a file, if there is one."""
        with files.output_errors():
            self._path(name).unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Remove all files and the folder."""
        with files.output_errors():
            # The salt goes first: without it, not even the custodian can read what is left.
            (self.folder / _HEAD).unlink(missing_ok=True)
            for path in [*self.folder.iterdir()]:
                path.unlink(missing_ok=True)
            self.folder.rmdir()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a spool cannot be pickled or copied: its secrets must never leave")

    def _path(self, name: str) -> Path:
        if not _PLAIN.fullmatch(name):
            raise ValueError("working files have plain names, such as leaf-12")
        return self.folder / name

    # ── chunks ──────────────────────────────────────────────────────────────────────────────────

    def chunk(self, before: bytes, data: bytes | memoryview | None) -> Iterator[bytes]:
        """The pieces of a chunk, or of the end if there is no data; the last is the new tag."""
        record = _Record(END if data is None else len(data), secrets.token_bytes(SIZE))
        tag = self._tag(before, record)
        yield record.head
        for block in self._blocks(record, data or b""):
            tag.update(block)
            yield block
        yield tag.digest()

    def first_tag(self, name: str) -> bytes:
        """The tag before the first chunk of a file."""
        return self._keyed(b"name", name.encode()).digest()

    def _authenticated(self, before: bytes, record: "_Record", data: bytes, tag: bytes) -> bytes:
        """The tag of encrypted data, if it is the right one."""
        found = self._tag(before, record)
        found.update(data)
        if not hmac.compare_digest(found.digest(), tag):
            raise _damage()
        return tag

    def _tag(self, before: bytes, record: "_Record") -> blake2b:
        return self._keyed(b"chunk", before + record.head)

    def _keyed(self, use: bytes, data: bytes) -> blake2b:
        return blake2b(data, key=self._authentic, person=use, digest_size=SIZE)

    def _blocks(self, record: "_Record", data: bytes | memoryview) -> Iterator[bytes]:
        """Encrypt or decrypt the data of a chunk."""
        view = memoryview(data)
        for begin in range(0, len(view), BLOCK):
            label = record.nonce + begin.to_bytes(8)
            yield sealed(self._secret, label, view[begin : begin + BLOCK])


class Appender:
    """Adds chunks to a file of a spool.

    When it is closed, the file is complete and on the disk. After an error the file stays
    incomplete, so that no one reads it as a whole.
    """

    def __init__(self, spool: Spool, name: str, file: IO[bytes], after: int | None) -> None:
        self._spool, self._file = spool, file
        self._tag = spool.first_tag(name)
        self.chunks = 0  # in the file so far
        try:
            with files.output_errors():
                self._cut(after)
        except BaseException:
            file.close()
            raise

    def _cut(self, after: int | None) -> None:
        """Go to the end of the chunks to keep, and remove the rest.

        A chunk that was changed is noticed later, by whoever reads it.
        """
        size, end, is_complete = _left(self._file), 0, False
        while not is_complete and end < size and self.chunks != after:
            record = _Record.read(self._file)
            if not (is_complete := record.is_end):
                self._file.seek(record.length, os.SEEK_CUR)
                self._tag, end = _exactly(self._file, SIZE), self._file.tell()
                self.chunks += 1
        if self.chunks != after if after is not None else size and not is_complete:
            raise _damage()
        self._file.seek(end)
        self._file.truncate()

    def write(self, data: bytes | memoryview) -> None:
        """Add one chunk."""
        self._add(data)
        self.chunks += 1

    def flush(self) -> None:
        """Hand the chunks so far to the system, so that they outlive this process."""
        with files.output_errors():
            self._file.flush()

    def sync(self) -> None:
        """Put the chunks so far on the disk, so that a checkpoint can count them."""
        with files.output_errors():
            self._file.flush()
            os.fsync(self._file.fileno())

    def _add(self, data: bytes | memoryview | None) -> None:
        with files.output_errors():
            for piece in self._spool.chunk(self._tag, data):
                self._file.write(piece)
        self._tag = piece

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with files.output_errors(), self._file:
            if kind is None:
                self._add(None)
                self.sync()
                files.sync_folder(self._spool.folder)


@dataclass(frozen=True)
class _Record:
    """What stands before the data of a chunk."""

    size: int
    nonce: bytes

    @classmethod
    def read(cls, file: IO[bytes]) -> "_Record":
        """The next record; a file that is too short is torn, whatever size the record claims."""
        found = cls(int.from_bytes(_exactly(file, 8)), _exactly(file, SIZE))
        if found.length + SIZE > _left(file):
            raise _damage()
        return found

    @property
    def head(self) -> bytes:
        return self.size.to_bytes(8) + self.nonce

    @property
    def is_end(self) -> bool:
        return self.size == END

    @property
    def length(self) -> int:
        return 0 if self.is_end else self.size


# ── frames ──────────────────────────────────────────────────────────────────────────────────────


def write_frame(appender: Appender, frame: pl.DataFrame) -> None:
    """Add a frame as one chunk."""
    data = BytesIO()
    frame.write_ipc(data, compression="lz4")  # so that there is less to encrypt
    appender.write(data.getbuffer())


def frames(spool: Spool, name: str) -> Iterator[pl.DataFrame]:
    """The frames of a file, one after the other."""
    for chunk in spool.chunks(name):
        yield pl.read_ipc(BytesIO(chunk))


# ── places ──────────────────────────────────────────────────────────────────────────────────────


def _head(key: Key, salt: bytes) -> bytes:
    """The salt, by which key it is used, and a tag of both."""
    head = _FORM + salt + bytes.fromhex(key.fingerprint)
    return head + key.digest("spool", b"head", head)


def _refuse_others(folder: Path) -> None:
    """Refuse a link, and a folder of another user, who could read or exchange its files."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise UsageError("the place for working files is not a folder")
    if os.name == "posix" and found.st_uid != os.geteuid():
        raise UsageError("the folder for working files belongs to another user")


def _opened(path: Path, flags: int) -> IO[bytes]:
    descriptor = os.open(path, flags | _AS_IT_IS, 0o600)
    return os.fdopen(descriptor, "rb" if flags == os.O_RDONLY else "r+b")


def _exactly(file: IO[bytes], size: int) -> bytes:
    if len(data := file.read(size)) != size:
        raise _damage()
    return data


def _left(file: IO[bytes]) -> int:
    """How many bytes follow."""
    return os.fstat(file.fileno()).st_size - file.tell()


def _damage() -> UsageError:
    return UsageError(
        "the working files are damaged or incomplete: remove their folder and start again"
    )


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Turn the operating system's errors into covey's."""
    try:
        yield
    except FileNotFoundError:
        raise UsageError("the working files, or some of them, are missing") from None
    except OSError as error:
        raise UsageError(f"the working files cannot be read: {error.strerror}") from None
