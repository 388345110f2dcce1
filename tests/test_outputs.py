"""A release and its companions: all old or all new, whatever happens, and never mixed."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from children import stopped_at_any_time
from covey.errors import OutputError
from covey.tables import files

NAMES = ("t.csv", "r.json", "c.csv")  # the release and its companions
OLD, NEW = "old", "new"
CALLS = ("open", "stat", "lstat", "fstat", "fsync", "fchmod", "link", "replace", "unlink")
BEFORE = ("all", "none", "release", "companions")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here loses power, so nobody waits for the disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def prepare(folder: Path, before: str) -> dict[str, str]:
    """Old files of which there may be some, and what there is."""
    for path in folder.iterdir():
        path.unlink()
    names = {"all": NAMES, "none": (), "release": NAMES[:1], "companions": NAMES[1:]}[before]
    for name in names:
        (folder / name).write_text(OLD)
    return dict.fromkeys(names, OLD)


def publish(folder: Path, first: str = NAMES[0]) -> None:
    paths = [first if first == files.STREAM else folder / first, *(folder / n for n in NAMES[1:])]
    with files.outputs(*paths) as outputs:
        for path in paths:
            outputs[path].write(NEW.encode())
        outputs.publish()


def state(folder: Path) -> dict[str, str]:
    """What each visible file holds."""
    return {p.name: p.read_text() for p in folder.iterdir() if not p.name.startswith(".")}


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def at_call(patch: pytest.MonkeyPatch, index: int, act: Callable[[], None]) -> list[str]:
    """Do something before one of the coming calls; the calls so far are in the list."""
    made: list[str] = []

    def call(name: str, real: Callable[..., Any], *args: Any, **settings: Any) -> Any:
        made.append(name)
        if len(made) == index:
            act()
        return real(*args, **settings)

    for name in CALLS:
        patch.setattr(os, name, partial(call, name, getattr(os, name)))
    return made


def fail(number: int) -> None:
    raise OSError(number, os.strerror(number))


ALL_NEW = dict.fromkeys(NAMES, NEW)


@pytest.mark.parametrize("before", BEFORE)
def test_all_of_them_appear(tmp_path: Path, before: str) -> None:
    prepare(tmp_path, before)
    publish(tmp_path)
    assert state(tmp_path) == ALL_NEW
    assert not hidden(tmp_path)


def test_without_any_there_is_nothing_to_do() -> None:
    with files.outputs() as outputs:
        outputs.publish()


@pytest.mark.parametrize(
    ("before", "number"), [*((before, errno.EIO) for before in BEFORE), ("all", errno.EPERM)]
)
def test_whichever_call_fails_all_are_old_or_all_are_new(
    tmp_path: Path, before: str, number: int
) -> None:
    outcomes = set()
    for index in range(1, 200):
        old = prepare(tmp_path, before)
        with pytest.MonkeyPatch.context() as patch:
            made = at_call(patch, index, lambda: fail(number))
            try:
                publish(tmp_path)
            except OutputError:
                outcomes.add("refused")
                assert state(tmp_path) == old
            else:
                outcomes.add("published")
                assert state(tmp_path) == ALL_NEW
        leftovers = hidden(tmp_path)
        publish(tmp_path)  # whatever could not be removed is removed by the next
        assert not hidden(tmp_path), leftovers
        if len(made) < index:
            break
    assert outcomes == {"refused", "published"}
    assert {"open", "fsync", "fchmod", "replace"} <= set(made)


@pytest.mark.parametrize("before", ["all", "companions"])
def test_a_file_system_without_links_gets_all_or_none_too(tmp_path: Path, before: str) -> None:
    def no_link(*_: Any, **__: Any) -> None:
        fail(errno.EPERM)

    with pytest.MonkeyPatch.context() as everywhere:
        everywhere.setattr(os, "link", no_link)
        test_whichever_call_fails_all_are_old_or_all_are_new(tmp_path, before, errno.EIO)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("before", ["all", "none"])
def test_a_signal_at_any_call_leaves_all_old_or_all_new(
    tmp_path: Path, before: str, sent: signal.Signals
) -> None:
    class Interrupted(BaseException):
        pass

    def interrupt(*_: Any) -> None:
        raise Interrupted

    handler, outcomes = signal.signal(sent, interrupt), set()
    try:
        for index in range(1, 200):
            old = prepare(tmp_path, before)
            with pytest.MonkeyPatch.context() as patch:
                made = at_call(patch, index, lambda: signal.raise_signal(sent))
                try:
                    publish(tmp_path)
                except Interrupted:
                    outcomes.add("old" if state(tmp_path) == old else "new")
                    assert state(tmp_path) in (old, ALL_NEW)
            assert not hidden(tmp_path)
            assert signal.getsignal(sent) is interrupt
            if len(made) < index:
                break
    finally:
        signal.signal(sent, handler)
    assert outcomes == {"old", "new"}
    assert state(tmp_path) == ALL_NEW


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
    assert state(tmp_path) == ALL_NEW


# ── killed ──────────────────────────────────────────────────────────────────────────────────────

KILLED = """
import json, os, sys
from pathlib import Path

import pytest
import test_outputs as tests

folder, before = Path(sys.argv[1]), sys.argv[2]
first, links = sys.argv[3], sys.argv[4] == "links"
os.fsync = lambda _: None
after = []
for index in range(1, 300):
    tests.prepare(folder, before)
    child = os.fork()
    if not child:
        patch = pytest.MonkeyPatch()
        if not links:
            patch.setattr(os, "link", lambda *_: tests.fail(1))
        tests.at_call(patch, index, lambda: os._exit(9))
        tests.publish(folder, first)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    found = tests.state(folder)
    with tests.files.outputs(*(first if n == "t.csv" and first == "-" else folder / n
                               for n in tests.NAMES)):
        pass  # the next run, which ends before it has anything to publish
    after.append((found, tests.state(folder), tests.hidden(folder)))
    if not status:
        break
print(json.dumps(after), file=sys.stderr)
"""


def killed_at_each_call(
    folder: Path, before: str, first: str = NAMES[0], *, links: bool = True
) -> list[tuple[dict[str, str], dict[str, str], list[str]]]:
    """The visible files after a kill at each call, those after the next run, and hidden ones."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), before, first, "links" if links else "none"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    return [tuple(found) for found in json.loads(done.stderr.splitlines()[-1])]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "links"), [*((before, True) for before in BEFORE), ("all", False)]
)
def test_killed_at_any_call_no_companion_is_of_another_release(
    tmp_path: Path, before: str, links: bool
) -> None:
    old = prepare(tmp_path, before)
    seen = set()
    for found, recovered, left in killed_at_each_call(tmp_path, before, links=links):
        if found.get("t.csv") == NEW:
            seen.add("new")
            assert set(found.values()) == {NEW}
            assert recovered == found  # nothing old comes back
        else:
            seen.add("old")
            assert set(found.values()) <= {OLD}
            assert "t.csv" in found or "t.csv" not in old or not links
            assert recovered == old  # nothing is lost
        assert not left
    assert seen == {"old", "new"}


@pytest.mark.slow
def test_killed_while_it_sends_no_old_companion_stays_beside_what_was_sent(tmp_path: Path) -> None:
    results = killed_at_each_call(tmp_path, "companions", files.STREAM)
    seen = set()
    for found, recovered, left in results:
        assert len(set(found.values())) <= 1
        assert set(recovered) <= set(found) or set(found.values()) <= {OLD}
        assert not left
        seen |= set(found.values()) or {"missing"}
    assert seen == {OLD, NEW, "missing"}
    assert results[-1][0] == {"r.json": NEW, "c.csv": NEW}


AGAIN = """
import itertools, sys
from covey.tables import files

print("ready", flush=True)
for turn in itertools.count():
    with files.outputs(*sys.argv[1:]) as outputs:
        for path in sys.argv[1:]:
            outputs[path].write(b"%08d" % turn)
        outputs.publish()
"""


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_stopped_at_any_time_there_is_one_generation(tmp_path: Path, sent: signal.Signals) -> None:
    paths = [tmp_path / name for name in NAMES]
    publish(tmp_path)
    for _ in stopped_at_any_time(AGAIN, *paths, sent=sent, times=20):
        found = state(tmp_path)
        assert len(set(found.values())) == 1
        assert "t.csv" in found
        assert len(found) == 3 or sent == signal.SIGKILL
    publish(tmp_path)
    assert not hidden(tmp_path)


def test_what_was_put_aside_for_one_release_is_not_given_back_to_another(tmp_path: Path) -> None:
    """Its report was put aside and the release replaced: another release shares the report."""
    (tmp_path / "r.json").write_text(OLD)
    with files.outputs(tmp_path / "t.csv", tmp_path / "r.json") as outputs:
        aside = outputs[tmp_path / "r.json"]._old
    (tmp_path / "r.json").rename(aside)
    (tmp_path / "t.csv").write_text(NEW)
    with files.outputs(tmp_path / "other.csv", tmp_path / "r.json"):
        assert state(tmp_path) == {"t.csv": NEW}
    with files.outputs(tmp_path / "r.json"):
        assert state(tmp_path) == {"t.csv": NEW}
    with files.outputs(tmp_path / "t.csv", tmp_path / "r.json"):
        assert state(tmp_path) == {"t.csv": NEW}
    assert not hidden(tmp_path)


# ── standard output ─────────────────────────────────────────────────────────────────────────────


def stdout_is(monkeypatch: pytest.MonkeyPatch, stream: io.BytesIO | io.BufferedWriter) -> None:
    monkeypatch.setattr("sys.stdout", type("Stdout", (), {"buffer": stream}))


def test_a_reader_that_went_away_leaves_the_old_companions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = prepare(tmp_path, "companions")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb", buffering=0) as pipe:
        stdout_is(monkeypatch, pipe)  # type: ignore[arg-type]
        with pytest.raises(BrokenPipeError):
            publish(tmp_path, files.STREAM)
    assert state(tmp_path) == old
    assert not hidden(tmp_path)


def test_companions_appear_once_everything_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path, "companions")
    seen: list[dict[str, str]] = []

    class Stream(io.BytesIO):
        def flush(self) -> None:
            seen.append(state(tmp_path))

    stream = Stream()
    stdout_is(monkeypatch, stream)
    publish(tmp_path, files.STREAM)
    assert stream.getvalue() == NEW.encode()
    assert seen[0] == {}
    assert state(tmp_path) == {"r.json": NEW, "c.csv": NEW}


def test_what_was_sent_leaves_no_old_companion_even_if_a_new_one_cannot_appear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path, "companions")
    stdout_is(monkeypatch, io.BytesIO())
    with pytest.MonkeyPatch.context() as patch:
        real = os.replace

        def replace(source: Path, target: Path) -> None:
            if Path(target).name == "c.csv":
                fail(errno.EIO)
            real(source, target)

        patch.setattr(os, "replace", replace)
        with pytest.raises(OutputError, match="Input/output error"):
            publish(tmp_path, files.STREAM)
    assert state(tmp_path) == {}


# ── places ──────────────────────────────────────────────────────────────────────────────────────


def test_one_that_cannot_be_written_leaves_no_draft_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "r.json").mkdir()
    with (
        pytest.raises(OutputError, match="folder or a device"),
        files.outputs(tmp_path / "t.csv", tmp_path / "r.json"),
    ):
        pass
    assert not hidden(tmp_path)


def test_one_that_another_writes_is_refused_with_all_of_them(tmp_path: Path) -> None:
    with files.draft(tmp_path / "r.json"):
        with pytest.raises(OutputError, match="another covey"):
            publish(tmp_path)
        assert state(tmp_path) == {}
    publish(tmp_path)
    assert state(tmp_path) == ALL_NEW


def test_private_ones_are_their_owners_alone_whatever_they_were(tmp_path: Path) -> None:
    prepare(tmp_path, "all")
    paths = [tmp_path / name for name in NAMES]
    for path in paths:
        path.chmod(0o644)
    with files.outputs(*paths, private=[paths[2]]) as outputs:
        outputs.publish()
    assert [path.stat().st_mode & 0o777 for path in paths] == [0o644, 0o644, 0o600]
