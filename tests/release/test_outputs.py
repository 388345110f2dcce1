"""A release and its companions: all old or all new, whatever happens, and never mixed."""

import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import covey
from children import stopped_at_any_time
from covey.errors import OutputError
from covey.tables import files

NAMES = ("t.csv", "r.json", "c.csv")  # the release and its companions
PARTS = ("a.csv", "b.csv")  # of a release that is a folder
OLD, NEW, EMPTY = "old", "new", "empty"
CALLS = ("open", "stat", "lstat", "fstat", "fsync", "fchmod", "link", "replace", "unlink")
CALLS_FOR_FOLDERS = (*CALLS, "mkdir", "rmdir", "chmod", "listdir")
# What may be there before, by the kind of release.
BEFORE: dict[str, dict[str, dict[str, str]]] = {
    "file": {
        "all": dict.fromkeys(NAMES, OLD),
        "none": {},
        "release": {"t.csv": OLD},
        "companions": {"r.json": OLD, "c.csv": OLD},
    },
    "folder": {
        "nothing": {},
        "empty": {"out": EMPTY},
        "report": {"r.json": OLD},
        "both": {"out": EMPTY, "r.json": OLD},
    },
}
ALL_NEW = {
    "file": dict.fromkeys(NAMES, NEW),
    "folder": {**{f"out/{part}": NEW for part in PARTS}, "r.json": NEW},
}
CASES = [(kind, before) for kind, befores in BEFORE.items() for before in befores]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here loses power, so nobody waits for the disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def prepare(folder: Path, kind: str, before: str) -> dict[str, str]:
    """Old files of which there may be some, and what there is."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, content in BEFORE[kind][before].items():
        (folder / name).mkdir() if content == EMPTY else (folder / name).write_text(content)
    return BEFORE[kind][before]


def opened(folder: Path, kind: str = "file", first: str = NAMES[0]) -> files.Drafts:
    """The drafts of a release and its companions."""
    if kind == "folder":
        return files.Drafts(folder / "out", folder / "r.json", folders=[folder / "out"])
    paths = [first if first == files.STREAM else folder / first, *(folder / n for n in NAMES[1:])]
    return files.Drafts(*paths)


def publish(folder: Path, kind: str = "file", first: str = NAMES[0]) -> None:
    with opened(folder, kind, first) as outputs:
        if kind == "folder":
            for name in PARTS:
                (outputs.folder(folder / "out").path / name).write_text(NEW)
            outputs[folder / "r.json"].write(NEW.encode())
        else:
            for name in (first, *NAMES[1:]):
                path = name if name == files.STREAM else folder / name
                outputs[path].write(NEW.encode())
        outputs.publish()


def state(folder: Path) -> dict[str, str]:
    """What each visible file holds, and which folders are empty."""
    found = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_dir() and not any(path.iterdir()):
            found[name] = EMPTY
        elif path.is_file():
            found[name] = path.read_text()
    return {name: content for name, content in found.items() if not name.startswith(".")}


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def at_call(
    patch: pytest.MonkeyPatch,
    index: int,
    act: Callable[[], None],
    calls: tuple[str, ...] = CALLS,
) -> list[str]:
    """Do something before one of the coming calls; the calls so far are in the list."""
    made: list[str] = []

    def call(name: str, real: Callable[..., Any], *args: Any, **settings: Any) -> Any:
        made.append(name)
        if len(made) == index:
            act()
        return real(*args, **settings)

    for name in calls:
        patch.setattr(os, name, partial(call, name, getattr(os, name)))
    return made


def fail(number: int) -> None:
    raise OSError(number, os.strerror(number))


@pytest.mark.parametrize(("kind", "before"), CASES)
def test_all_of_them_appear(tmp_path: Path, kind: str, before: str) -> None:
    prepare(tmp_path, kind, before)
    publish(tmp_path, kind)
    assert state(tmp_path) == ALL_NEW[kind]
    assert not hidden(tmp_path)


def test_without_any_there_is_nothing_to_do() -> None:
    with files.Drafts() as outputs:
        outputs.publish()


@pytest.mark.parametrize(
    ("kind", "before", "number"),
    [*((*case, errno.EIO) for case in CASES), ("file", "all", errno.EPERM)],
)
def test_whichever_call_fails_all_are_old_or_all_are_new(
    tmp_path: Path, kind: str, before: str, number: int
) -> None:
    # Of a folder, the test itself makes some of the calls.
    refusals, calls = (
        (OutputError, CALLS) if kind == "file" else ((OutputError, OSError), CALLS_FOR_FOLDERS)
    )
    outcomes = set()
    for index in range(1, 300):
        expected = prepare(tmp_path, kind, before)
        with pytest.MonkeyPatch.context() as patch:
            made = at_call(patch, index, lambda: fail(number), calls)
            try:
                publish(tmp_path, kind)
            except refusals:
                outcomes.add("refused")
            else:
                outcomes.add("published")
                expected = ALL_NEW[kind]
        assert state(tmp_path) == expected, (index, made)
        leftovers = hidden(tmp_path)
        if (tmp_path / "out" / PARTS[0]).exists():
            shutil.rmtree(tmp_path / "out")
        publish(tmp_path, kind)  # whatever could not be removed is removed by the next
        assert not hidden(tmp_path), leftovers
        if len(made) < index:
            break
    assert outcomes == {"refused", "published"}
    assert {"open", "fsync", "fchmod", "replace"} <= set(made)
    assert kind == "file" or "mkdir" in made


@pytest.mark.parametrize("before", ["all", "companions"])
def test_a_file_system_without_links_gets_all_or_none_too(tmp_path: Path, before: str) -> None:
    def no_link(*_: Any, **__: Any) -> None:
        fail(errno.EPERM)

    with pytest.MonkeyPatch.context() as everywhere:
        everywhere.setattr(os, "link", no_link)
        test_whichever_call_fails_all_are_old_or_all_are_new(tmp_path, "file", before, errno.EIO)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("kind", "before"),
    [("file", "all"), ("file", "none"), ("folder", "both"), ("folder", "nothing")],
)
def test_a_signal_at_any_call_leaves_all_old_or_all_new(
    tmp_path: Path, kind: str, before: str, sent: signal.Signals
) -> None:
    class Interrupted(BaseException):
        pass

    def interrupt(*_: Any) -> None:
        raise Interrupted

    calls = CALLS if kind == "file" else CALLS_FOR_FOLDERS
    handler, outcomes = signal.signal(sent, interrupt), set()
    try:
        for index in range(1, 300):
            old, is_interrupted = prepare(tmp_path, kind, before), False
            with pytest.MonkeyPatch.context() as patch:
                made = at_call(patch, index, lambda: signal.raise_signal(sent), calls)
                try:
                    publish(tmp_path, kind)
                except Interrupted:
                    is_interrupted = True
            found = state(tmp_path)
            assert found in (old, ALL_NEW[kind])
            outcomes.add((is_interrupted, "old" if found == old else "new"))
            assert not hidden(tmp_path)
            assert signal.getsignal(sent) is interrupt
            if len(made) < index:
                break
    finally:
        signal.signal(sent, handler)
    assert outcomes == {(True, "old"), (True, "new"), (False, "new")}
    assert state(tmp_path) == ALL_NEW[kind]


def test_signals_are_not_touched_where_none_arrive(tmp_path: Path) -> None:
    """Another thread may not set handlers; Python would refuse."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            publish(tmp_path)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failed
    assert state(tmp_path) == ALL_NEW["file"]


# ── killed ──────────────────────────────────────────────────────────────────────────────────────

KILLED = """
import json, os, sys
from pathlib import Path

import pytest
import test_outputs as tests

folder, kind, before, first = Path(sys.argv[1]), *sys.argv[2:5]
calls = tests.CALLS if kind == "file" else tests.CALLS_FOR_FOLDERS
os.fsync = lambda _: None
after = []
for index in range(1, 300):
    tests.prepare(folder, kind, before)
    child = os.fork()
    if not child:
        patch = pytest.MonkeyPatch()
        if sys.argv[5] == "no links":
            patch.setattr(os, "link", lambda *_: tests.fail(1))
        tests.at_call(patch, index, lambda: os._exit(9), calls)
        tests.publish(folder, kind, first)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    found, message = tests.state(folder), ""
    try:
        with tests.opened(folder, kind, first):
            pass  # the next run, which ends before it has anything to publish
    except tests.OutputError as error:
        message = str(error)
    after.append((found, tests.state(folder), tests.hidden(folder), message))
    if not status:
        break
print(json.dumps(after), file=sys.stderr)
"""


def killed_at_each_call(
    folder: Path, kind: str, before: str, *, first: str = NAMES[0], links: bool = True
) -> Iterator[tuple[dict[str, str], dict[str, str], str]]:
    """The visible files after a kill at each call, those after the next run, and its refusal."""
    work = [str(folder), kind, before, first, "links" if links else "no links"]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *work],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    for found, recovered, left, message in json.loads(done.stderr.splitlines()[-1]):
        assert not left
        yield found, recovered, message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "links"), [*((before, True) for before in BEFORE["file"]), ("all", False)]
)
def test_killed_at_any_call_no_companion_is_of_another_release(
    tmp_path: Path, before: str, links: bool
) -> None:
    old, seen = prepare(tmp_path, "file", before), set()
    for found, recovered, message in killed_at_each_call(tmp_path, "file", before, links=links):
        if found.get("t.csv") == NEW:
            seen.add("new")
            assert set(found.values()) == {NEW}
            assert recovered == found  # nothing old comes back
        else:
            seen.add("old")
            assert set(found.values()) <= {OLD}
            assert "t.csv" in found or "t.csv" not in old or not links
            assert recovered == old  # nothing is lost
        assert not message
    assert seen == {"old", "new"}


@pytest.mark.slow
@pytest.mark.parametrize("before", BEFORE["folder"])
def test_killed_at_any_call_a_folder_is_whole_and_no_companion_is_of_another(
    tmp_path: Path, before: str
) -> None:
    old, seen = prepare(tmp_path, "folder", before), set()
    for found, recovered, message in killed_at_each_call(tmp_path, "folder", before):
        assert recovered in (found, old)
        if "out/a.csv" in found:
            seen.add("new")
            assert found.items() <= ALL_NEW["folder"].items()
            assert {"out/a.csv", "out/b.csv"} <= found.keys()
            assert "name a new folder" in message
        else:
            seen.add("old")
            assert found.items() <= old.items()
            assert recovered == old
            assert not message
    assert seen == {"old", "new"}


@pytest.mark.slow
def test_killed_while_it_sends_no_old_companion_stays_beside_what_was_sent(tmp_path: Path) -> None:
    results = [*killed_at_each_call(tmp_path, "file", "companions", first=files.STREAM)]
    seen = set()
    for found, recovered, _ in results:
        assert len(set(found.values())) <= 1
        assert set(recovered) <= set(found) or set(found.values()) <= {OLD}
        seen |= set(found.values()) or {"missing"}
    assert seen == {OLD, NEW, "missing"}
    assert results[-1][0] == {"r.json": NEW, "c.csv": NEW}


AGAIN = """
import itertools, sys
from covey.tables import files

print("ready", flush=True)
for turn in itertools.count():
    with files.Drafts(*sys.argv[1:]) as outputs:
        for path in sys.argv[1:]:
            outputs[path].write(b"%08d" % turn)
        outputs.publish()
"""


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_stopped_at_any_time_there_is_one_generation(tmp_path: Path, sent: signal.Signals) -> None:
    paths = [tmp_path / name for name in NAMES]
    publish(tmp_path)
    for _ in stopped_at_any_time(AGAIN, *paths, sent=sent, times=12):
        found = state(tmp_path)
        assert len(set(found.values())) == 1
        assert "t.csv" in found
        assert len(found) == 3 or sent == signal.SIGKILL
    publish(tmp_path)
    assert not hidden(tmp_path)


def test_what_was_put_aside_for_one_release_is_not_given_back_to_another(tmp_path: Path) -> None:
    """Its report was put aside and the release replaced: another release shares the report."""
    (tmp_path / "r.json").write_text(OLD)
    with files.Drafts(tmp_path / "t.csv", tmp_path / "r.json") as outputs:
        aside = outputs[tmp_path / "r.json"]._old
    (tmp_path / "r.json").rename(aside)
    (tmp_path / "t.csv").write_text(NEW)
    with files.Drafts(tmp_path / "other.csv", tmp_path / "r.json"):
        assert state(tmp_path) == {"t.csv": NEW}
    with files.Drafts(tmp_path / "r.json"):
        assert state(tmp_path) == {"t.csv": NEW}
    with files.Drafts(tmp_path / "t.csv", tmp_path / "r.json"):
        assert state(tmp_path) == {"t.csv": NEW}
    assert not hidden(tmp_path)


# ── standard output ─────────────────────────────────────────────────────────────────────────────


def stdout_is(monkeypatch: pytest.MonkeyPatch, stream: io.BytesIO | io.BufferedWriter) -> None:
    monkeypatch.setattr("sys.stdout", type("Stdout", (), {"buffer": stream}))


def test_a_reader_that_went_away_leaves_the_old_companions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = prepare(tmp_path, "file", "companions")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb", buffering=0) as pipe:
        stdout_is(monkeypatch, pipe)  # type: ignore[arg-type]
        with pytest.raises(BrokenPipeError):
            publish(tmp_path, first=files.STREAM)
    assert state(tmp_path) == old
    assert not hidden(tmp_path)


def test_companions_appear_once_everything_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path, "file", "companions")
    seen: list[dict[str, str]] = []

    class Stream(io.BytesIO):
        def flush(self) -> None:
            seen.append(state(tmp_path))

    stream = Stream()
    stdout_is(monkeypatch, stream)
    publish(tmp_path, first=files.STREAM)
    assert stream.getvalue() == NEW.encode()
    assert seen[0] == {}
    assert state(tmp_path) == {"r.json": NEW, "c.csv": NEW}


def test_what_was_sent_leaves_no_old_companion_even_if_a_new_one_cannot_appear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path, "file", "companions")
    stdout_is(monkeypatch, io.BytesIO())
    with pytest.MonkeyPatch.context() as patch:
        real = os.replace

        def replace(source: Path, target: Path) -> None:
            if Path(target).name == "c.csv":
                fail(errno.EIO)
            real(source, target)

        patch.setattr(os, "replace", replace)
        with pytest.raises(OutputError, match="Input/output error"):
            publish(tmp_path, first=files.STREAM)
    assert state(tmp_path) == {}


# ── places ──────────────────────────────────────────────────────────────────────────────────────


def test_one_that_cannot_be_written_leaves_no_draft_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "r.json").mkdir()
    with (
        pytest.raises(OutputError, match="folder or a device"),
        files.Drafts(tmp_path / "t.csv", tmp_path / "r.json"),
    ):
        pass
    assert not hidden(tmp_path)


def test_one_that_another_writes_is_refused_with_all_of_them(tmp_path: Path) -> None:
    with files.FileDraft(tmp_path / "r.json"):
        with pytest.raises(OutputError, match="another covey"):
            publish(tmp_path)
        assert state(tmp_path) == {}
    publish(tmp_path)
    assert state(tmp_path) == ALL_NEW["file"]


def test_private_ones_are_their_owners_alone_whatever_they_were(tmp_path: Path) -> None:
    prepare(tmp_path, "file", "all")
    paths = [tmp_path / name for name in NAMES]
    for path in paths:
        path.chmod(0o644)
    with files.Drafts(*paths, private=[paths[2]]) as outputs:
        outputs.publish()
    assert [path.stat().st_mode & 0o777 for path in paths] == [0o644, 0o644, 0o600]


def test_costs_are_their_owners_alone(tmp_path: Path) -> None:
    """Also where no draft was opened for them."""
    schema = covey.Schema.of(quasi={"x": "numeric"})
    made = covey.anonymize(pl.DataFrame({"x": [1, 2, 3, 4]}), schema, require=covey.KAnonymity(2))
    made.write(tmp_path / "out.csv", costs=tmp_path / "costs.csv")
    assert (tmp_path / "out.csv").stat().st_mode & 0o044
    assert (tmp_path / "costs.csv").stat().st_mode & 0o077 == 0


# ── folders ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["full", "file", "link", "below a file"])
def test_a_folder_replaces_nothing(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    (tmp_path / "mine").mkdir()
    match kind:
        case "full":
            out.mkdir()
            (out / ".mine").touch()
        case "file":
            out.write_text(OLD)
        case "link":
            out.symlink_to(tmp_path / "mine")
        case _:
            out.write_text(OLD)
            out /= "out"
    with pytest.raises(OutputError), files.Drafts(out, tmp_path / "r.json", folders=[out]):
        pass
    assert not hidden(tmp_path)
    assert not hidden(tmp_path / "mine")


def test_a_folder_that_fills_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with files.Drafts(out, folders=[out]) as outputs:
        out.mkdir()
        (out / "mine").write_text(OLD)
        with pytest.raises(OutputError, match="not empty"):
            outputs.publish()
    assert state(tmp_path) == {"out/mine": OLD}
    assert not hidden(tmp_path)


def test_a_folder_is_its_owners_until_it_appears_with_the_usual_permissions(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        for name, private in (("out", False), ("own", True), ("set", False)):
            out = tmp_path / name
            if name == "set":
                out.mkdir()
                out.chmod(0o2770)
            with files.Drafts(out, folders=[out], private=[out] if private else []) as outputs:
                draft = outputs.folder(out)
                (draft.path / "a.csv").write_text(NEW)
                (draft.path / "b.csv").touch(mode=0o600)
                assert draft.path.stat().st_mode & 0o777 == 0o700
                outputs.publish()
                assert draft.path == out
    finally:
        os.umask(mask)
    found = {n: (tmp_path / n).stat().st_mode & 0o7777 for n in ("out", "own", "set", *(
        f"{folder}/{part}" for folder in ("out", "own", "set") for part in PARTS))}  # fmt: skip
    files_of = dict.fromkeys(("out/a.csv", "out/b.csv", "set/a.csv", "set/b.csv"), 0o640)
    assert found == {"out": 0o750, "own": 0o700, "set": 0o2770, **files_of,
                     "own/a.csv": 0o600, "own/b.csv": 0o600}  # fmt: skip


def test_what_a_killed_process_left_is_resumed_or_removed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = (
        "import os, sys\nfrom covey.tables import files\n"
        "made = files.Drafts(sys.argv[1], folders=[sys.argv[1]])\n"
        "(made.folder(sys.argv[1]).path / 'a.csv').write_text('left')\n"
        "(made.folder(sys.argv[1]).path / 'spool').mkdir()\nos._exit(9)"
    )
    for resume in (True, False):
        subprocess.run([sys.executable, "-c", program, str(out)], check=False)
        assert hidden(tmp_path)
        with files.Drafts(out, folders=[out], resume=resume) as outputs:
            draft = outputs.folder(out)
            assert sorted(p.name for p in draft.path.iterdir()) == ["a.csv", "spool"] * resume
            assert draft.path.stat().st_mode & 0o777 == 0o700
        assert not hidden(tmp_path)
    with files.Drafts(out, folders=[out], resume=True) as outputs:
        assert not [*outputs.folder(out).path.iterdir()]


def test_a_folder_that_another_writes_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with files.Drafts(out, folders=[out]) as outputs:
        (outputs.folder(out).path / "a.csv").write_text(NEW)
        with pytest.raises(OutputError, match="another covey"):
            publish(tmp_path, "folder")
        outputs.publish()
    assert state(tmp_path) == {"out/a.csv": NEW}
    assert not hidden(tmp_path)


def test_a_draft_that_another_user_made_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with files.Drafts(out, folders=[out]) as outputs:
        path = outputs.folder(out).path
    path.mkdir(mode=0o777)
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(OutputError, match="folder of yours"):
        publish(tmp_path, "folder")
    assert path.exists()


def test_folders_of_inputs_and_outputs_lie_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for name in ("in/a.parquet", "in/deep/b.parquet", "c.parquet"):
        (tmp_path / name).touch()
    (tmp_path / "linked").symlink_to("in")
    wrong: list[tuple[str | Path, str]] = [
        ("in", "in"), ("in/out", "in"), ("linked/out", "in"), ("in/out", "linked"), (".", "in"),
        ("in", "in/a.parquet"), ("in", "in/*.parquet"), (".", "in/deep/*.parquet"),
        ("in/out", "in/*/*.parquet"), ("in/out", "in/**/*.parquet"), ("out", "*/*.parquet"),
        (tmp_path / "in" / "out", "in/**/*"), ("out", f"{tmp_path}/*/b.parquet"), ("out", "**/*"),
    ]  # fmt: skip
    for out, source in wrong:
        with pytest.raises(OutputError):
            files.refuse_overwriting([out], [source], folders=[out])
    right = [
        ("out", "in"), ("out", "in/**/*.parquet"), ("out", "*.parquet"), ("out", "c.parquet"),
        ("inside", "in"), ("in/out", "in/*.parquet"), ("out", "in/*/*.parquet"), ("out", "-"),
        ("out", "postgresql://h/d::t"),
    ]  # fmt: skip
    for out, source in right:
        files.refuse_overwriting([out, "r.json"], [source], folders=[out])
    for both in (["out", "out/r.json"], ["out/r.json", "out"], ["out", "out/"], ["out", "./out"]):
        with pytest.raises(OutputError):
            files.refuse_overwriting(both, [], folders=["out"])
