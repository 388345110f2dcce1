"""Working files that only the holder of the custodian's key can read or change unnoticed.

Work on a table that is larger than the memory puts rows of the original on the disk for a while. If
the process is killed, they stay there. So everything in a spool is sealed by AES-256-GCM under keys
that are derived from the custodian's key and a random salt, which is stored with it. The same
custodian can then resume the work.

A file is a chain of segments. A chunk of data is one segment or several:

    segment = kind (1 byte), size (4), nonce (12), encrypted data, tag (16)

The associated data of a segment are its kind (MORE, CHUNK or END), its place in the file, the tag
of the segment before, and the name of the file, which also has a key of its own. So no segment can
be changed, moved, left out or taken from another file, and the last tag depends on the whole file.

The manifest of a spool has the last tag of every complete file, sealed in a chain of its own. A
file that is missing, or is an earlier one of its name, does not end with that tag. Someone who puts
back the whole folder and its manifest has put back an earlier checkpoint of the same work.
"""

import contextlib
import os
import re
import secrets
import stat
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import IO, NamedTuple, NoReturn, Self, TypeAlias

import polars as pl

from covey.custody.aead import NONCE, TAG, Aead, ForgedError
from covey.custody.keys import Key, is_shared
from covey.errors import UsageError
from covey.tables import files

SALT = 16  # bytes
SEGMENT = 1 << 20  # bytes that are sealed at once
MORE, CHUNK, END = range(3)  # the kinds of segments: a part of a chunk, its last part, no chunk
LONGEST = 48  # bytes of a file's name
_RECORD = struct.Struct(">BI")  # before a segment: its kind, and the size of its data
_PLACE = struct.Struct(">BQ16s")  # of a segment: its kind, its number and the tag before
_ENTRY = struct.Struct(f">16s{LONGEST}s")  # of a manifest: the last tag of a file, and its name
_NOTHING = bytes(TAG)  # before the first segment; in a manifest, that there is no such file
_HEAD, _MANIFEST = ".spool", ".manifest"  # the files with the salt, and with the last tags
_FORM, _FORMS = b"covey spool 2\n", b"covey spool "
_PLAIN = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_Ends: TypeAlias = Callable[[str, bytes], bool]  # whether a file ends with this tag
_AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # follow no link, no wait


class Mark(NamedTuple):
    """A place in a file that a checkpoint remembers: how many chunks, and the tag of the last."""

    chunks: int = 0
    tag: bytes = _NOTHING


START = Mark()


@dataclass(frozen=True, eq=False, repr=False)
class Spool:
    """A private folder of sealed files for one piece of work.

    Names of files are readable, so they must be plain, such as `leaf-12`, and say nothing about the
    table. Many threads may use a spool, but only one at a time may write a file. A file that was
    not completed does not exist.
    """

    folder: Path
    _key: Key
    _salt: bytes
    _manifest: "_Manifest"

    @classmethod
    def make(cls, folder: str | Path, key: Key) -> "Spool":
        """Make a new folder, or use an empty one."""
        folder, salt = Path(folder), secrets.token_bytes(SALT)
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
            if is_shared(folder.stat()):
                raise UsageError("other users can read the working files: restrict with chmod 700")
            with _opened(folder / _HEAD, os.O_RDONLY) as file:
                head = file.read()
        if head.startswith(_FORMS) and not head.startswith(_FORM):
            raise UsageError(
                "the working files are of another version of covey: remove their folder and start "
                "again"
            )
        salt, name = head[len(_FORM) :][:SALT], head[len(_FORM) + SALT :][:8]
        if head.startswith(_FORM) and name != bytes.fromhex(key.fingerprint):
            raise UsageError("the working files were made with a different key, or are damaged")
        if not secrets.compare_digest(head, _head(key, salt)):
            raise _damage()
        spool = cls._under(folder, key, salt)
        spool._manifest.undo_unless(spool._ends_with)
        return spool

    @classmethod
    def _under(cls, folder: Path, key: Key, salt: bytes) -> "Spool":
        cipher = Aead(key.derived("spool manifest", salt))
        return cls(folder, key, salt, _Manifest.read(folder / _MANIFEST, cipher))

    def appender(self, name: str, *, after: Mark | None = None) -> "Appender":
        """Add chunks to a complete or a new file.

        With `after`, keep the chunks up to this mark and drop the others, whether or not the file
        was completed: a checkpoint has counted them, and the work after it is done again.
        """
        path, last = self._path(name), self._manifest.tags.get(name)
        if last is not None:  # until it is complete again
            self._manifest.add(name, _NOTHING)
        with files.output_errors():
            file = _opened(path, os.O_RDWR | os.O_CREAT)
        if after is None and last is None:
            after = START
        return Appender(self, name, file, after, last)

    def chunks(self, name: str) -> Iterator[bytes]:
        """The chunks of a complete file, each of them authenticated.

        Whether the file is the latest of its name is known after the last chunk.
        """
        path, last = self._path(name), self._manifest.tags.get(name)
        if last is None:
            raise _missing()
        chain, some, kind = self.chain(name), [], MORE
        with _reading(), _opened(path, os.O_RDONLY) as file:
            while kind != END:
                kind, data = chain.read(file)
                some.append(data)
                if kind == CHUNK:
                    yield b"".join(some)
                    some.clear()
            if file.read(1) or chain.tag != last:
                raise _damage()

    def put(self, name: str, data: bytes) -> None:
        """Write or replace a small file in one step."""
        path, chain = self._path(name), self.chain(name)
        sealed = b"".join([*chain.sealed(data), *chain.sealed(None)])
        with self._manifest.lock:  # so that of all puts only the last can be undone
            self._manifest.add(name, chain.tag)
            files.write(path, sealed, private=True)

    def get(self, name: str) -> bytes | None:
        """What was put; None if nothing was."""
        self._path(name)
        return b"".join(self.chunks(name)) if name in self._manifest.tags else None

    def names(self) -> list[str]:
        """The names of all complete files."""
        return sorted(self._manifest.tags)

    def remove(self, name: str) -> None:
        """Remove a file, if there is one."""
        path = self._path(name)
        if name in self._manifest.tags:
            self._manifest.add(name, _NOTHING)
        with files.output_errors():
            path.unlink(missing_ok=True)

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
        if not _PLAIN.fullmatch(name) or len(name) > LONGEST:
            raise ValueError("working files have plain names, such as leaf-12")
        return self.folder / name

    def chain(self, name: str) -> "_Chain":
        """The chain of a file, before its first segment."""
        return _Chain(Aead(self._key.derived(f"spool file {name}", self._salt)), name)

    def complete(self, name: str, tag: bytes) -> None:
        """Enter a file that is complete and on the disk into the manifest."""
        self._manifest.add(name, tag)

    def _ends_with(self, name: str, tag: bytes) -> bool:
        with contextlib.suppress(OSError), _opened(self._path(name), os.O_RDONLY) as file:
            return file.seek(0, os.SEEK_END) > TAG and _tail(file) == tag
        return tag == _NOTHING


@dataclass(repr=False)
class _Chain:
    """Seals or opens the segments of a file, one after the other."""

    _cipher: Aead
    _name: str
    tag: bytes = _NOTHING  # of the last segment
    segments: int = 0

    def sealed(self, data: bytes | memoryview | None) -> Iterator[bytes]:
        """The segments of a chunk as they are stored, or the end if there is no data."""
        view = memoryview(data or b"")
        for begin in range(0, max(len(view), 1), SEGMENT):
            some = view[begin : begin + SEGMENT]
            kind = END if data is None else MORE if begin + SEGMENT < len(view) else CHUNK
            sealed = self._cipher.seal(some, self._place(kind))
            self.step(sealed[-TAG:])
            yield _RECORD.pack(kind, len(some)) + sealed

    def read(self, file: IO[bytes]) -> tuple[int, bytes]:
        """The kind and the data of the next segment."""
        kind, size = _record(file)
        sealed = _exactly(file, size)
        try:
            data = self._cipher.open(sealed, self._place(kind))
        except ForgedError:
            raise _damage() from None
        self.step(sealed[-TAG:])
        return kind, data

    def step(self, tag: bytes) -> None:
        """Go to the next segment."""
        self.tag = tag
        self.segments += 1

    def _place(self, kind: int) -> bytes:
        return _PLACE.pack(kind, self.segments, self.tag) + self._name.encode()


@dataclass(repr=False)
class _Manifest:
    """The last tag of every complete file, as a list of changes that only grows."""

    _path: Path
    _cipher: Aead
    tags: dict[str, bytes] = field(default_factory=dict)
    _changes: int = 0
    _tag: bytes = _NOTHING  # of the last change
    _before: tuple[str, bytes, bytes] | None = None  # the last change, and what it replaced
    lock: threading.RLock = field(default_factory=threading.RLock)

    @classmethod
    def read(cls, path: Path, cipher: Aead) -> "_Manifest":
        """The manifest in this file; a change that was torn at the end did not happen."""
        found, stored, size = cls(path, cipher), b"", NONCE + _ENTRY.size + TAG
        with _reading(), contextlib.suppress(FileNotFoundError), _opened(path, os.O_RDWR) as file:
            stored = file.read()
            file.truncate(len(stored) // size * size)
        for begin in range(0, len(stored) // size * size, size):
            sealed = stored[begin : begin + size]
            try:
                tag, name = _ENTRY.unpack(cipher.open(sealed, found._place()))
            except ForgedError:
                raise _damage() from None
            found._take(name.rstrip(b"\0").decode(), tag, sealed[-TAG:])
        return found

    def add(self, name: str, tag: bytes) -> None:
        """Change the last tag of a file, on the disk before anything else happens."""
        with self.lock, files.output_errors():
            sealed = self._cipher.seal(_ENTRY.pack(tag, name.encode()), self._place())
            with _opened(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as file:
                file.write(sealed)
                file.flush()
                os.fsync(file.fileno())
            self._take(name, tag, sealed[-TAG:])

    def undo_unless(self, ends: _Ends) -> None:
        """Undo the last change if the process ended before the file was changed, too."""
        if self._before is not None:
            name, tag, earlier = self._before
            if not ends(name, tag) and ends(name, earlier):
                self.add(name, earlier)

    def _take(self, name: str, tag: bytes, own: bytes) -> None:
        self._before = name, tag, self.tags.get(name, _NOTHING)
        self.tags.pop(name, None)
        if tag != _NOTHING:
            self.tags[name] = tag
        self._changes += 1
        self._tag = own

    def _place(self) -> bytes:
        return _PLACE.pack(0, self._changes, self._tag)


class Appender:
    """Adds chunks to a file of a spool.

    When it is closed, the file is complete and on the disk. After an error the file stays
    incomplete, so that no one reads it as a whole.
    """

    def __init__(
        self, spool: Spool, name: str, file: IO[bytes], after: Mark | None, last: bytes | None
    ) -> None:
        self._spool, self._name, self._file = spool, name, file
        self._chain = spool.chain(name)
        self._chunks = 0
        try:
            with files.output_errors():
                self._cut(after, last)
        except BaseException:
            file.close()
            raise

    @property
    def mark(self) -> Mark:
        """The end of the chunks so far, for a checkpoint."""
        return Mark(self._chunks, self._chain.tag)

    def _cut(self, after: Mark | None, last: bytes | None) -> None:
        """Go to the end of the chunks to keep, and remove the rest.

        A chunk that was changed is noticed later, by whoever reads it.
        """
        end, kind, tag = 0, CHUNK, _NOTHING
        while kind != END and (after is None or self._chunks < after.chunks):
            kind, size = _record(self._file)
            self._file.seek(size - TAG, os.SEEK_CUR)
            tag = _exactly(self._file, TAG)
            if kind != END:
                self._chain.step(tag)
                self._chunks += kind == CHUNK
                end = self._file.tell()
        if (tag != last) if after is None else (self.mark != after):
            raise _damage()
        self._file.seek(end)
        self._file.truncate()

    def write(self, data: bytes | memoryview) -> None:
        """Add one chunk."""
        self._add(data)
        self._chunks += 1

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
            for piece in self._chain.sealed(data):
                self._file.write(piece)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with files.output_errors(), self._file:
            if kind is None:
                self._add(None)
                self.sync()
                files.sync_folder(self._spool.folder)
                self._spool.complete(self._name, self._chain.tag)


def write_frame(appender: Appender, frame: pl.DataFrame) -> None:
    """Add a frame as one chunk."""
    data = BytesIO()
    frame.write_ipc(data, compression="lz4")  # so that there is less to encrypt
    appender.write(data.getbuffer())


def frames(spool: Spool, name: str) -> Iterator[pl.DataFrame]:
    """The frames of a file, one after the other; there is at least one."""
    chunk = None
    for chunk in spool.chunks(name):
        yield pl.read_ipc(BytesIO(chunk))
    if chunk is None:
        raise _damage()


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
    kind = {os.O_RDONLY: "rb", os.O_RDWR: "r+b"}.get(flags & ~os.O_CREAT, "ab")
    return os.fdopen(descriptor, kind)


def _record(file: IO[bytes]) -> tuple[int, int]:
    """The kind of the next segment, and its size on the disk after these two.

    A file that is too short is torn, whatever size it claims.
    """
    kind, size = _RECORD.unpack(_exactly(file, _RECORD.size))
    stored = NONCE + size + TAG
    if kind not in (MORE, CHUNK, END) or stored > os.fstat(file.fileno()).st_size - file.tell():
        raise _damage()
    return kind, stored


def _exactly(file: IO[bytes], size: int) -> bytes:
    if len(data := file.read(size)) != size:
        raise _damage()
    return data


def _tail(file: IO[bytes]) -> bytes:
    file.seek(-TAG, os.SEEK_END)
    return file.read()


def _missing() -> UsageError:
    return UsageError("the working files, or some of them, are missing")


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
        raise _missing() from None
    except OSError as error:
        raise UsageError(f"the working files cannot be read: {error.strerror}") from None
