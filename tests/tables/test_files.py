"""A file appears completely or not at all, and nothing else ever changes."""

import errno
import fcntl
import io
import itertools
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from children import stopped_at_any_time
from covey.errors import OutputError
from covey.tables import files

OLD, NEW = b"the old release\n", b"the new release\n" * 10_000


def write(path: str | Path, data: bytes = NEW) -> None:
    """As the pipeline does it."""
    with files.FileDraft(path) as draft:
        with files.output_errors():
            draft.file.write(data)
        assert draft.read() == data
        draft.publish()


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


# ── publishing ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("old", [OLD, None])
def test_a_file_appears_when_it_is_published_and_not_before(
    tmp_path: Path, old: bytes | None
) -> None:
    path = tmp_path / "t.csv"
    if old is not None:
        path.write_bytes(old)
    with files.FileDraft(path) as draft:
        draft.file.write(NEW)
        assert draft.read() == NEW
        assert (path.read_bytes() if path.exists() else None) == old
        draft.publish()
        assert path.read_bytes() == NEW
    assert names_in(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o644, 0o444])
def test_a_replaced_file_keeps_its_permissions(tmp_path: Path, permissions: int) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(OLD)
    path.chmod(permissions)
    write(path)
    assert mode(path) == permissions


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o027, 0o077])
def test_a_new_file_has_the_users_permissions_and_its_draft_the_owners(
    tmp_path: Path, mask: int
) -> None:
    with umask(mask):
        with files.FileDraft(tmp_path / "t.csv") as draft:
            (hidden,) = tmp_path.iterdir()
            assert mode(hidden) == 0o600
            draft.publish()
        assert mode(tmp_path / "t.csv") == 0o666 & ~mask
        assert os.umask(mask) == mask


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("old", [OLD, None])
def test_a_failure_leaves_what_was_there(
    tmp_path: Path, failure: type[BaseException], old: bytes | None
) -> None:
    path = tmp_path / "t.csv"
    if old is not None:
        path.write_bytes(old)

    def fail() -> None:
        with files.FileDraft(path) as draft:
            draft.file.write(NEW)
            raise failure

    with pytest.raises(failure):
        fail()
    assert names_in(tmp_path) == ([] if old is None else ["t.csv"])
    assert old is None or path.read_bytes() == old


@pytest.mark.parametrize("length", [1, 200, 255])
def test_a_name_may_be_as_long_as_the_file_system_lets_it(tmp_path: Path, length: int) -> None:
    write(tmp_path / ("n" * length))
    assert names_in(tmp_path) == ["n" * length]


# ── standard output ─────────────────────────────────────────────────────────────────────────────


def test_standard_output_gets_everything_at_once_or_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(stream))
    with files.FileDraft("-") as draft:
        draft.file.write(NEW)
        assert draft.read() == NEW
    assert stream.getvalue() == b""
    write("-")
    assert stream.getvalue() == NEW


def test_a_standard_output_that_is_full_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr("sys.stdout", type("Stdout", (), {"buffer": full}))
        with pytest.raises(OutputError, match="No space left on device"):
            write("-")


def test_a_reader_that_went_away_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb", buffering=0) as pipe:
        monkeypatch.setattr("sys.stdout", type("Stdout", (), {"buffer": pipe}))
        with pytest.raises(BrokenPipeError):
            write("-")


# ── places ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("target", ["far/t.csv", "far/nothing.csv", "nowhere/t.csv", "link.csv"])
def test_a_link_is_refused_and_not_followed(tmp_path: Path, target: str) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "t.csv").write_bytes(OLD)
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    with pytest.raises(OutputError, match="symbolic link"):
        write(link)
    assert str(link.readlink()) == target
    assert names_in(tmp_path) == ["far", "link.csv"]
    assert names_in(tmp_path / "far") == ["t.csv"]
    assert (tmp_path / "far" / "t.csv").read_bytes() == OLD


def test_a_link_that_takes_the_name_meanwhile_is_replaced_and_not_followed(tmp_path: Path) -> None:
    path, target = tmp_path / "t.csv", tmp_path / "target"
    target.write_bytes(OLD)
    target.chmod(0o666)
    with umask(0o077), files.FileDraft(path) as draft:
        draft.file.write(NEW)
        path.symlink_to(target)
        draft.publish()
    assert target.read_bytes() == OLD
    assert not path.is_symlink()
    assert path.read_bytes() == NEW
    assert mode(path) == 0o600


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_by_another_name_is_refused_with_its_own(path: str) -> None:
    with pytest.raises(OutputError, match="- for standard output"):
        write(path)


def test_a_folder_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to("far")
    write(tmp_path / "near" / "t.csv")
    with files.FileDraft(tmp_path / "near" / "t.csv"), pytest.raises(OutputError, match="another"):
        write(tmp_path / "far" / "t.csv")
    assert names_in(tmp_path / "far") == ["t.csv"]


def test_a_file_with_two_names_is_replaced_under_one(tmp_path: Path) -> None:
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_bytes(OLD)
    other.hardlink_to(one)
    write(one)
    assert (one.read_bytes(), other.read_bytes()) == (NEW, OLD)


def a_folder(path: Path) -> Path:
    path.mkdir()
    return path


def a_pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def a_socket(path: Path) -> Path:
    os.mknod(path, stat.S_IFSOCK | 0o600)
    return path


def a_link_to_a_device(path: Path) -> Path:
    path.symlink_to("/dev/null")
    return path


def below_a_file(path: Path) -> Path:
    path.write_bytes(OLD)
    return path / "t.csv"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (a_folder, "folder or a device"),
        (a_pipe, "folder or a device"),
        (a_socket, "folder or a device"),
        (a_link_to_a_device, "a symbolic link"),
        (lambda _: Path("/dev/null"), "folder or a device"),
        (lambda _: Path("/"), "folder or a device"),
        (lambda _: "", "folder or a device"),
        (below_a_file, "cannot be written: Not a directory"),
        (lambda path: path / "nowhere" / "t.csv", "cannot be written: No such file or directory"),
        (lambda _: Path("/proc/t.csv"), "cannot be written: No such file or directory"),
        (lambda path: path.with_name("n" * 256), "cannot be written: File name too long"),
        (lambda path: f"{path}\0", "cannot be written"),
        (lambda path: f"{path}\ud800", "cannot be written"),
    ],
)
def test_a_place_that_cannot_hold_a_file_is_refused(
    tmp_path: Path, make: Callable[[Path], str | Path], message: str
) -> None:
    destination = make(tmp_path / "t.csv")
    before = names_in(tmp_path)
    with pytest.raises(OutputError, match=message):
        write(destination)
    assert names_in(tmp_path) == before


def test_a_folder_that_takes_the_name_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with files.FileDraft(path) as draft:
        path.mkdir()
        with pytest.raises(OutputError, match="Is a directory"):
            draft.publish()
    assert names_in(tmp_path) == ["t.csv"]


# ── faults ──────────────────────────────────────────────────────────────────────────────────────

CALLS: list[tuple[Any, str]] = [
    (os, "open"),
    (os, "stat"),
    (os, "fstat"),
    (os, "fsync"),
    (os, "fchmod"),
    (os, "replace"),
    (os, "unlink"),
    (fcntl, "flock"),
]


def with_fault_at(patch: pytest.MonkeyPatch, index: int, number: int) -> list[str]:
    """Let one of the coming calls fail; the calls so far are in the list."""
    made: list[str] = []

    def call(name: str, real: Callable[..., Any], *args: Any, **settings: Any) -> Any:
        made.append(name)
        if len(made) == index:
            raise OSError(number, os.strerror(number))
        return real(*args, **settings)

    for module, name in CALLS:
        patch.setattr(module, name, partial(call, name, getattr(module, name)))
    return made


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.ENOLCK])
def test_whichever_call_fails_the_file_is_the_old_or_the_new_one(
    tmp_path: Path, number: int
) -> None:
    path = tmp_path / "t.csv"
    outcomes = set()
    for index in range(1, 100):
        path.write_bytes(OLD)
        with pytest.MonkeyPatch.context() as patch:
            made = with_fault_at(patch, index, number)
            try:
                write(path)
            except OutputError:
                outcomes.add("refused")
                assert path.read_bytes() == OLD
            else:
                outcomes.add("published")
                assert path.read_bytes() == NEW
        assert names_in(tmp_path) == ["t.csv"]
        if len(made) < index:
            break
    assert outcomes == {"refused", "published"}
    assert {"open", "flock", "fsync", "fchmod", "replace"} <= set(made)


def test_the_bytes_are_on_the_disk_before_they_get_the_name(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch, files.FileDraft(tmp_path / "t.csv") as draft:
        made = with_fault_at(patch, 0, 0)
        draft.file.write(NEW)
        draft.publish()
    made = [name for name in made if "stat" not in name]
    before, after = made[: made.index("replace")], made[made.index("replace") :]
    assert before[-1] == "fsync"
    assert "fsync" in after


@pytest.mark.parametrize("old", [OLD, None])
def test_a_disk_that_fills_up_leaves_what_was_there(tmp_path: Path, old: bytes | None) -> None:
    path = tmp_path / "t.csv"
    if old is not None:
        path.write_bytes(old)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for room in [0, 1, 4096, 8192, *random.Random(1).sample(range(len(NEW)), 20), len(NEW) - 1]:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
            with pytest.raises(OutputError, match="File too large"):
                write(path)
            assert names_in(tmp_path) == ([] if old is None else ["t.csv"])
            assert old is None or path.read_bytes() == old
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(NEW), hard))
        write(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == NEW


def test_a_draft_that_somebody_removes_is_not_published(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(OLD)
    with files.FileDraft(path) as draft:
        (hidden,) = tmp_path.glob(".*")
        hidden.unlink()
        with pytest.raises(OutputError, match="No such file"):
            draft.publish()
    assert draft.file.closed
    assert names_in(tmp_path) == ["t.csv"]
    assert path.read_bytes() == OLD


# ── other processes ─────────────────────────────────────────────────────────────────────────────

WRITER = """
import sys
from covey.tables import files

with files.FileDraft(sys.argv[1]) as draft:
    draft.file.write(b"half")
    draft.file.flush()
    print("ready", flush=True)
    if sys.stdin.readline():
        draft.publish()
"""


@contextmanager
def writer_of(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process with a draft under way."""
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("name", ["t.csv", "[a]*?.csv", "-", "ä b\n.csv", "**"])
def test_the_draft_of_a_killed_writer_is_swept_by_the_next(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(OLD)
    files._hidden(path, files.DRAFT).write_bytes(b"half")
    write(path)
    assert names_in(tmp_path) == [name]
    assert path.read_bytes() == NEW


def test_a_second_writer_is_refused_at_once_and_harms_nobody(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with writer_of(path) as process:
        with pytest.raises(OutputError, match="another covey"):
            write(path)
        assert process.poll() is None  # nobody has waited for it
        process.communicate("go\n", timeout=10)
        assert process.returncode == 0
    assert path.read_bytes() == b"half"
    write(path)
    assert names_in(tmp_path) == ["t.csv"]
    assert path.read_bytes() == NEW


def test_of_many_writers_at_once_one_writes_and_the_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    refused: list[str] = []
    written: list[bool] = []
    ready = threading.Barrier(8)

    def race() -> None:
        ready.wait()
        try:
            made = files.FileDraft(path)
        except OutputError as error:
            refused.append(str(error))
            ready.wait()
        else:
            ready.wait()  # all others have been refused by now
            made.publish()
            made.discard()
            written.append(True)

    for _ in range(20):
        racers = [threading.Thread(target=race) for _ in range(8)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        assert names_in(tmp_path) == ["t.csv"]
    assert len(written) == 20
    assert len(refused) == 20 * 7
    assert all("another covey" in message for message in refused)


def test_only_drafts_of_the_same_destination_are_swept(tmp_path: Path) -> None:
    stale = files._hidden(tmp_path / "a.csv", files.DRAFT).name
    others = [".b.csv.swp", ".b.csv", "x.covey-draft", ".c.csv.0123456789abcdef.covey-draft", stale]
    for name in others:
        (tmp_path / name).write_bytes(OLD)
    write(tmp_path / "b.csv")
    assert names_in(tmp_path) == sorted(["b.csv", *others])


def test_a_draft_that_is_swept_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two writers start at once: one sweeps between the other's making and locking a draft."""
    path = tmp_path / "t.csv"
    real = fcntl.flock
    raced: list[bool] = []

    def flock(file: Any, operation: int) -> None:
        if not raced:
            raced.append(True)
            with files.FileDraft(path):
                pass
        real(file, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    write(path)
    assert raced
    assert path.read_bytes() == NEW
    assert names_in(tmp_path) == ["t.csv"]


def test_a_writer_that_is_overtaken_leaves_the_others_draft_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    real = fcntl.flock
    others: list[files.FileDraft] = []

    def flock(file: Any, operation: int) -> None:
        if not others:
            monkeypatch.setattr(fcntl, "flock", real)
            others.append(files.FileDraft(path))
            others[0].file.write(OLD)
        real(file, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(OutputError, match="another covey"):
        write(path)
    others[0].publish()
    others[0].discard()
    assert path.read_bytes() == OLD
    assert names_in(tmp_path) == ["t.csv"]


def test_what_is_no_file_but_is_named_like_ones_own_stops_nothing_for_long(tmp_path: Path) -> None:
    """A pipe would be waited for, until somebody writes to it."""
    folders: dict[Path, list[str]] = {}
    for make, ending in itertools.product(
        [a_folder, a_pipe, a_socket, a_link_to_a_device], [files.DRAFT, "covey-old"]
    ):
        folder = a_folder(tmp_path / f"{make.__name__} {ending}")
        path, companion = folder / "t.csv", folder / "r.json"
        companion.write_bytes(OLD)
        for made, of in [(path, path), (companion, path)]:
            make(files._hidden(made, ending, *([] if ending == files.DRAFT else [str(of)])))
        folders[folder] = names_in(folder)
    command = [sys.executable, "-c", TOGETHER, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    for (folder, before), outcome in zip(folders.items(), done.stdout.splitlines(), strict=True):
        if outcome == "refused":
            assert names_in(folder) == before
            assert (folder / "r.json").read_bytes() == OLD
        else:
            found = [(folder / name).read_bytes() for name in ("t.csv", "r.json")]
            assert found == [NEW, NEW]


TOGETHER = """
import sys
from covey.errors import OutputError
from covey.tables import files

for folder in sys.argv[1:]:
    paths = [f"{folder}/t.csv", f"{folder}/r.json"]
    try:
        with files.Drafts(*paths) as outputs:
            for path in paths:
                outputs[path].write(b"the new release\\n" * 10_000)
            outputs.publish()
        print("published")
    except OutputError:
        print("refused")
"""


PUBLISHER = """
import itertools, sys
from covey.tables import files

print("ready", flush=True)
for turn in itertools.count():
    with files.FileDraft(sys.argv[1]) as draft:
        draft.file.write(b"%08d" % turn * 50_000)
        draft.publish()
"""


def test_a_writer_killed_at_any_time_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"%08d" % 0 * 50_000)
    for _ in stopped_at_any_time(PUBLISHER, path, sent=signal.SIGKILL, times=20):
        data = path.read_bytes()
        assert data == data[:8] * 50_000
        assert len(names_in(tmp_path)) <= 2
    write(path)
    assert names_in(tmp_path) == ["t.csv"]


# ── overwriting ─────────────────────────────────────────────────────────────────────────────────


def test_different_files_may_be_read_and_written(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(OLD)
    files.refuse_overwriting(
        [tmp_path / "out.csv", tmp_path / "out.json", "-"], [tmp_path / "in.csv", "-"]
    )
    files.refuse_overwriting(["-", "-"], ["-", "-"])


@pytest.mark.parametrize(
    "other",
    ["in.csv", "./in.csv", "folder/../in.csv", "link.csv", "far.csv", "hard.csv", "linked/in.csv"],
)
def test_an_output_that_is_an_input_under_any_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "in.csv"
    path.write_bytes(OLD)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.csv").symlink_to("in.csv")
    (tmp_path / "far.csv").symlink_to("link.csv")
    (tmp_path / "hard.csv").hardlink_to(path)
    (tmp_path / "linked").symlink_to(tmp_path)
    cases: list[tuple[list[str | Path], list[str | Path]]]
    cases = [([other], [path]), ([path], [other]), ([path, other], [])]
    for outputs, inputs in cases:
        with pytest.raises(OutputError, match="would overwrite an input or another output"):
            files.refuse_overwriting(outputs, inputs)


@pytest.mark.parametrize("other", ["out.csv", "./out.csv", "link.csv", "linked/out.csv"])
def test_two_outputs_that_do_not_exist_yet_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.csv").symlink_to("out.csv")
    (tmp_path / "linked").symlink_to(tmp_path)
    with pytest.raises(OutputError, match="would overwrite an input or another output"):
        files.refuse_overwriting(["out.csv", other], [])


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_a_path_that_cannot_be_is_refused(path: str) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        files.refuse_overwriting([path], ["in.csv"])
