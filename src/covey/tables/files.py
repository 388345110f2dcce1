"""Files that appear complete or not at all, and together or not at all.

A draft is written next to its destination under a hidden name, readable only by its owner. It gets
the real name in one step, after all checks. Until then, and if anything fails, the old file keeps
that name.

A draft is also the lock on its destination. Its name is the same for every writer, and only the
process that has it open and locked writes there. The lock ends with the process, however that ends.

Files that belong together, a release and its companions, also get their names in one step. Signals
wait until it is done, and an error undoes it. Even if the process is killed in the middle, no old
companion remains next to a new release:

    put the old companions aside → name the release → name the new companions → remove the old

If a process is killed after it has put files aside, the next process that writes the same files
restores their names, unless the release has been replaced.

A release of several files is a folder, and its draft is a hidden folder. It never replaces files:
its destination must be a new name or an empty folder.
"""

import contextlib
import errno
import hashlib
import os
import shutil
import signal
import stat
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Self

from covey.errors import OutputError
from covey.tables import sources
from covey.tables.sources import STREAM as STREAM

try:
    import fcntl
except ImportError:  # not a POSIX system: there, an open file cannot be removed
    fcntl = None  # type: ignore[assignment]

DRAFT, _OLD = "covey-draft", "covey-old"
_AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # follow no link, no wait
_INTERRUPTIONS = ("SIGINT", "SIGTERM", "SIGHUP")


class _Discarding(contextlib.AbstractContextManager[Any]):
    """What is removed at the end of a `with` block unless it was published."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def discard(self) -> None:
        """Remove what was not published."""
        raise NotImplementedError


class FileDraft(_Discarding):
    """Bytes written for a destination that is locked against other writers."""

    def __init__(
        self,
        path: str | Path,
        *,
        private: bool = False,
        first: "FileDraft | FolderDraft | None" = None,
    ) -> None:
        if str(path).endswith(("/", os.sep)):
            raise OutputError("the output is a folder or a device, not a regular file")
        self.destination = None if path == STREAM else _place(path)  # None: standard output
        self._private = private
        self._first = first or self  # the release, if this is its companion
        self._path: Path | None = None  # the hidden name, until it is published
        self.file: IO[bytes] = BytesIO()
        if self.destination is not None:
            with output_errors():
                refuse_special(self.destination)
                self._path = _hidden(self.destination, DRAFT)
                self.file = os.fdopen(_held(self._path, _new_file, Path.unlink), "w+b")

    def write(self, data: bytes) -> None:
        """Append data."""
        with output_errors():
            self.file.write(data)

    def read(self) -> bytes:
        """Everything written so far, as stored on the disk."""
        with output_errors():
            self.file.flush()
            if self._path is None:
                return self.file.getvalue()  # type: ignore[attr-defined, no-any-return]
            os.fsync(self.file.fileno())
            return self._path.read_bytes()

    def publish(self) -> None:
        """Give the draft its destination's name, or send it to standard output."""
        _publish([self])

    def discard(self) -> None:
        """Remove the draft, unless it was published."""
        with contextlib.suppress(OSError):
            if self._path is not None and _is_at(self._path, self.file.fileno()):
                self._path.unlink()  # while locked: later, the name may belong to another process
        with contextlib.suppress(OSError):
            self.file.close()

    def settle(self) -> None:
        """Flush the bytes to the disk, with the permissions of the final file."""
        if self.destination is not None:
            self.file.flush()
            os.fchmod(self.file.fileno(), 0o600 if self._private else self._permissions)
            os.fsync(self.file.fileno())

    @property
    def _permissions(self) -> int:
        """The permissions of the replaced file, or the user's default for new files."""
        assert self.destination is not None
        with contextlib.suppress(OSError):
            mode = self.destination.lstat().st_mode
            if stat.S_ISREG(mode):
                return stat.S_IMODE(mode)
        return _default(0o666)

    def put_aside(self, undo: contextlib.ExitStack) -> None:
        """Rename an old companion; give an old release a second name."""
        if self.destination is None:
            return
        try:
            _move(self.destination, self._old, keep=self._first is self)
        except FileNotFoundError:
            undo.callback(self.vanish)
        else:
            undo.callback(_put_back, self._old, self.destination)
            sync_folder(self.destination.parent)

    def appear(self) -> None:
        """Take the destination's name, or write to standard output."""
        if self.destination is None:
            sys.stdout.buffer.write(self.read())
            sys.stdout.buffer.flush()
        else:
            _take_name(self._path, self.destination, self.file.fileno())
            self._path = None
            sync_folder(self.destination.parent)

    def vanish(self) -> None:
        """Give up the destination's name again, if it was taken."""
        if self.destination is not None and self._path is None:
            self.destination.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove the old file that was put aside."""
        with contextlib.suppress(OSError):
            if self.destination is not None:
                self._old.unlink(missing_ok=True)

    def recover(self) -> None:
        """Complete or undo the step that a killed process left unfinished."""
        with contextlib.suppress(OSError):
            if self.destination is None or not stat.S_ISREG(self._old.lstat().st_mode):
                return
            if self._first.is_replaced or os.path.lexists(self.destination):
                self._old.unlink()
            else:
                self._old.replace(self.destination)

    @property
    def is_replaced(self) -> bool:
        """Whether the name now belongs to another file than before the step."""
        if self.destination is None:
            return True
        try:
            return not os.path.samestat(self.destination.lstat(), self._old.lstat())
        except FileNotFoundError:
            return os.path.lexists(self.destination)

    @property
    def _old(self) -> Path:
        """The name of the old file while it is being replaced together with the first."""
        assert self.destination is not None
        return _hidden(self.destination, _OLD, str(self._first.destination))


class FolderDraft(_Discarding):
    """Files written for a folder that is locked against other writers.

    They are written into `path`, which is the owner's alone until it gets its name. With `resume`,
    what a killed process left there is kept.
    """

    def __init__(self, path: str | Path, *, private: bool = False, resume: bool = False) -> None:
        self.destination = _place(path)
        self._private = private
        hidden = _hidden(self.destination, DRAFT)
        self._path: Path | None = hidden  # until it is published
        with output_errors():
            _refuse_no_folder(self.destination)
            self._descriptor: int | None = _held(hidden, _folder_of_ours, _remove_empty)
        try:
            with output_errors():
                os.fchmod(self._descriptor, 0o700)
                if not resume:
                    _empty(hidden)
        except BaseException:
            _remove_empty(hidden)
            os.close(self._descriptor)
            raise

    @property
    def path(self) -> Path:
        """The folder to write the files into; after publishing, the destination."""
        return self._path or self.destination

    def discard(self) -> None:
        """Remove the draft, unless it was published."""
        with contextlib.suppress(OSError):
            if self._path is not None and _is_at(self._path, self._descriptor):
                _empty(self._path)
                self._path.rmdir()  # while locked, as a file
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
        self._descriptor = None  # the number may belong to another file from now on

    def settle(self) -> None:
        """Flush all files and the folder to the disk, with the permissions of the final ones."""
        for path in [*self.path.iterdir()]:
            descriptor = os.open(path, os.O_RDWR | _AS_IT_IS)
            try:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise OSError(errno.EINVAL, "a draft has something else than files")
                os.fchmod(descriptor, 0o600 if self._private else _default(0o666))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        self.path.chmod(self._final)
        sync_folder(self.path)

    @property
    def _final(self) -> int:
        """The permissions of the folder: of the empty one that it replaces, or the default."""
        if self._private:
            return 0o700
        with contextlib.suppress(FileNotFoundError):
            return stat.S_IMODE(self.destination.lstat().st_mode)
        return _default(0o777)

    def put_aside(self, undo: contextlib.ExitStack) -> None:
        """Nothing is in the way, or an empty folder, which the step itself replaces."""
        undo.callback(self.vanish, empty=self.destination.is_dir())

    def appear(self) -> None:
        """Take the destination's name."""
        _take_name(self._path, self.destination, self._descriptor)
        self._path = None
        sync_folder(self.destination.parent)

    def vanish(self, *, empty: bool = False) -> None:
        """Give up the destination's name again, if it was taken; put an empty folder back."""
        if self._path is not None:
            return
        hidden, permissions = _hidden(self.destination, DRAFT), self._final
        self.destination.replace(hidden)
        self._path = hidden
        if empty:
            self.destination.mkdir()
            self.destination.chmod(permissions)

    def forget(self) -> None:
        """Nothing was put aside."""

    def recover(self) -> None:
        """Refuse a folder with files.

        Only now, after the companions: it shows them that a killed process has published it.
        """
        if self.is_replaced:
            raise OutputError("the output is a folder with files in it: name a new folder")

    @property
    def is_replaced(self) -> bool:
        """Whether there are files under the name, where there were none."""
        with output_errors(), contextlib.suppress(FileNotFoundError):
            return any(self.destination.iterdir())
        return False


def working_folder(path: str | Path) -> Path:
    """The folder for working files of an output. Only who holds the draft's lock may use it."""
    return _hidden(_place(path), "covey-work")


def remove_folder(path: Path) -> None:
    """Remove a folder of files, if there is one."""
    with output_errors(), contextlib.suppress(FileNotFoundError):
        _empty(path)
        path.rmdir()


def write(path: str | Path, data: bytes, *, private: bool = False) -> None:
    """Write a file completely or not at all; only the owner can read a private one."""
    with FileDraft(path, private=private) as made:
        made.write(data)
        made.publish()


# ── several files in one step ───────────────────────────────────────────────────────────────────


_Draft = FileDraft | FolderDraft


class Drafts(_Discarding):
    """Drafts that get their names in one step: a release and its companions.

    At the end of a `with` block, those that were not published are removed. With `resume`, drafts
    of folders keep what a killed process wrote into them.
    """

    def __init__(
        self,
        *paths: str | Path,
        private: Collection[str | Path] = (),
        folders: Collection[str | Path] = (),
        resume: bool = False,
    ) -> None:
        self._drafts: dict[str, _Draft] = {}
        try:
            for path in paths:
                first, hide = next(iter(self._drafts.values()), None), path in private
                self._drafts[str(path)] = (
                    FolderDraft(path, private=hide, resume=resume)
                    if path in folders
                    else FileDraft(path, private=hide, first=first)
                )
            # The release last: what it has put aside shows whether it was replaced.
            for made in reversed(self._drafts.values()):
                made.recover()
        except BaseException:
            self.discard()
            raise

    def __getitem__(self, path: str | Path) -> FileDraft:
        made = self._drafts[str(path)]
        assert isinstance(made, FileDraft)
        return made

    def folder(self, path: str | Path) -> FolderDraft:
        """The draft of a folder."""
        made = self._drafts[str(path)]
        assert isinstance(made, FolderDraft)
        return made

    def publish(self) -> None:
        """Give all drafts their names, or none."""
        if self._drafts:
            _publish([*self._drafts.values()])

    def discard(self) -> None:
        """Remove the drafts that were not published."""
        for made in self._drafts.values():
            made.discard()


def _publish(drafts: Sequence[_Draft]) -> None:
    with output_errors():
        for made in drafts:
            made.settle()
        if drafts[0].destination is None:
            _send(drafts)
            return
        with _signals_held(), contextlib.ExitStack() as undo:
            _put_aside(drafts, undo)
            drafts[0].appear()
            _complete(drafts, undo)


def _send(drafts: Sequence[_Draft]) -> None:
    """Write the release to standard output, which may take long and cannot be undone."""
    with contextlib.ExitStack() as undo:
        with _signals_held():
            _put_aside(drafts, undo)
        drafts[0].appear()
        undo.pop_all()  # old companions do not belong to the release just sent
    with _signals_held(), contextlib.ExitStack() as undo:
        _complete(drafts, undo)


def _put_aside(drafts: Sequence[_Draft], undo: contextlib.ExitStack) -> None:
    if len(drafts) > 1:
        for made in drafts:
            made.put_aside(undo)


def _complete(drafts: Sequence[_Draft], undo: contextlib.ExitStack) -> None:
    for made in drafts[1:]:
        made.appear()
        undo.callback(made.vanish)
    undo.pop_all()
    for made in reversed(drafts):
        made.forget()


def _move(path: Path, aside: Path, *, keep: bool) -> None:
    if keep:
        with contextlib.suppress(OSError):  # some file systems have no links
            os.link(path, aside)
            return
    path.replace(aside)


def _put_back(aside: Path, path: Path) -> None:
    aside.replace(path)
    aside.unlink(missing_ok=True)  # replace does nothing if both names are the same file


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Delay interruptions until the end. Only the main thread receives them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []

    def hold(number: int, _frame: Any) -> None:
        waiting.append(number)

    with contextlib.ExitStack() as restore:
        restore.callback(lambda: [*map(signal.raise_signal, dict.fromkeys(waiting))])
        for name in _INTERRUPTIONS:
            number = getattr(signal, name, None)
            before = None if number is None else signal.getsignal(number)
            if number is not None and before is not None:  # else another library handles it
                restore.callback(signal.signal, number, before)
                signal.signal(number, hold)
        yield


# ── places ──────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def output_errors() -> Iterator[None]:
    """Turn the operating system's errors into covey's."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"the output cannot be written: {error.strerror}") from None


def refuse_special(path: Path) -> None:
    """Refuse a destination that is a folder, pipe, device or link, not a new or regular file."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise OutputError(
            "the output is a symbolic link, which covey does not follow: "
            "name the file itself, or - for standard output"
        )
    if not stat.S_ISREG(mode):
        raise OutputError("the output is a folder or a device, not a regular file")
    _refuse_a_database(path)


def _refuse_no_folder(path: Path) -> None:
    """Refuse a destination that is neither new nor a folder."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(path.lstat().st_mode):
            raise OutputError(
                "the output is a file, a device or a symbolic link, not a folder: name a new folder"
            )


def _refuse_a_database(path: Path) -> None:
    """Refuse to replace a database that holds more than a release."""
    with output_errors(), path.open("rb") as file:
        if file.read(16) != b"SQLite format 3\0":
            return
    import sqlite3

    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    except sqlite3.Error:
        names = {""}
    if names - {"release"}:
        raise OutputError(
            "the output is a database with other tables, which would be lost: name a new file"
        )


def refuse_overwriting(
    outputs: Iterable[str | Path],
    inputs: Iterable[str | Path],
    folders: Collection[str | Path] = (),
) -> None:
    """Refuse an output that is one of the inputs or another output, or is inside of one.

    An input may be a part of a file, or a folder or pattern of files: an output among those would
    be read along with them the next time.
    """
    read = [sources.of(path) for path in inputs]
    taken = [_real(path) for source in read for path in source.files()]
    made: list[str] = []  # folders
    for output in outputs:
        if output == STREAM:
            continue
        real = _real(output)
        if real in taken or any(_same(real, other) for other in taken):
            raise OutputError("an output would overwrite an input or another output")
        is_folder = output in folders
        if any(source.takes_in(real) for source in read) or (
            is_folder and any(source.takes_in_some_of(real) for source in read)
        ):
            raise OutputError("an output would be among the files of an input: write it elsewhere")
        if is_folder:
            made.append(real)
        taken.append(real)
        if any(Path(folder) in Path(other).parents for other in taken for folder in made):
            raise OutputError("an output folder would hold an input or another output")


def _real(path: str | Path) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:
        raise OutputError("the output cannot be written: the path is not valid") from None


def _place(path: str | Path) -> Path:
    """The same path with the real name of its folder; a link keeps its own name."""
    _real(path)
    return Path(_real(Path(path).parent)) / Path(path).name


def _same(one: str, other: str) -> bool:
    with contextlib.suppress(OSError):
        return Path(one).samefile(other)
    return False


def _default(permissions: int) -> int:
    """What the user grants of these permissions by default."""
    mask = os.umask(0)
    os.umask(mask)
    return permissions & ~mask


def sync_folder(folder: Path) -> None:
    """Make the new name durable; some file systems cannot, but the file itself is already safe."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _hidden(destination: Path, ending: str, *more: str) -> Path:
    """A hidden name next to the destination: the same for every process, and always short."""
    digest = hashlib.sha256(os.fsencode("\0".join([destination.name, *more]))).hexdigest()
    return destination.with_name(f".{digest[:16]}.{ending}")


# ── locks ───────────────────────────────────────────────────────────────────────────────────────


def _held(
    path: Path, opened: Callable[[Path], int | None], remove: Callable[[Path], object]
) -> int:
    """Open and lock a draft, of which nobody else has the lock; the lock ends when it is closed."""
    while True:
        if (descriptor := opened(path)) is None:
            continue
        try:
            _lock(descriptor)
            if _is_at(path, descriptor):
                return descriptor
        except OutputError:  # another process is writing, or removing it and will write
            os.close(descriptor)
            raise
        except BaseException:
            with contextlib.suppress(OSError):
                remove(path)
            os.close(descriptor)
            raise
        os.close(descriptor)  # another process removed or published it before the lock


def _new_file(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _AS_IT_IS, 0o600)
    except FileExistsError:
        _remove_abandoned(path)
        return None


def _remove_abandoned(path: Path) -> None:
    """Remove the draft of a killed process, on which no one holds a lock."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            raise OutputError(
                f"the output cannot be written: covey needs the name {path.name!r} next to it, "
                "but that is not a regular file; remove it"
            )
        with os.fdopen(os.open(path, os.O_RDWR | _AS_IT_IS), "rb") as file:
            _lock(file.fileno())
            if _is_at(path, file.fileno()):
                path.unlink()


def _folder_of_ours(path: Path) -> int | None:
    """A new or abandoned folder; None if another process has just removed it."""
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    try:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise OutputError(
                f"the output cannot be written: covey needs the name {path.name!r} next to it, "
                "but that is not a folder of yours; remove it"
            )
        return os.open(path, os.O_RDONLY | _AS_IT_IS)
    except FileNotFoundError:
        return None
    except BaseException as error:
        if not isinstance(error, OutputError):
            _remove_empty(path)
        raise


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _empty(folder: Path) -> None:
    for path in [*folder.iterdir()]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _lock(descriptor: int) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError("another covey process is writing this output") from None


def _take_name(path: Path | None, destination: Path, descriptor: int | None) -> None:
    """Give an open draft its destination's name."""
    if path is None or not _is_at(path, descriptor):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    path.replace(destination)


def _is_at(path: Path, descriptor: int | None) -> bool:
    """Whether this open file or folder has that name."""
    if descriptor is None:
        return False
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    return False
