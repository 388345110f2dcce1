"""Killed, interrupted, disk full: never a partial or unverified file under the output's name."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import covey
from children import children
from covey import demo
from covey.cli import main as cli
from covey.tables import files
from release.test_outputs import at_call

pytestmark = pytest.mark.slow  # whole commands, killed again and again
K = 5
ROWS = 150
# Enough work for a signal to come in the middle of it.
SLOW_ROWS = {"k-member": 40_000, "best": 10_000}
REQUEST = ("-s", "people.toml", "-k", str(K), "-o", "out.csv")
OLD = "old"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("faults")
    demo.write(path, ROWS)
    for name, rows in SLOW_ROWS.items():
        demo.people(rows).write_csv(path / f"{name}.csv")
    return path


# The command, which also says on standard error which stage it is in and how far.
TELLING = """
import contextlib, os
from covey.__main__ import main
from covey.cli.commands import anonymize

bar = anonymize.progress_bar

@contextlib.contextmanager
def telling():
    with bar() as tell:
        def both(stage, done):
            os.write(2, f"{stage}: {done}\\n".encode())
            tell(stage, done)
        yield both

anonymize.progress_bar = telling
main()
"""


def start(folder: Path, table: str, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", TELLING, "anonymize", table, *REQUEST, *more],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_until(process: subprocess.Popen[bytes], stage: bytes) -> None:
    """Until it has done some of a stage whose name begins so."""
    assert process.stderr is not None
    for line in process.stderr:
        name, _, done = line.rpartition(b": ")
        if name.startswith(stage) and float(done) > 0:
            return
    raise AssertionError("it ended before")


def drafts(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if "draft" in path.name]


# Files appear, vanish and change their names at these calls alone, so a kill before each of them
# leaves whatever a kill at any instant can leave.
KILLED_AT = """
import os, signal, sys

calls = 0

def count(event, arguments):
    global calls
    if (
        event in ("open", "os.rename", "os.link", "os.remove", "os.truncate")
        and os.path.abspath(str(arguments[0])).startswith(os.getcwd())
        and (event != "open" or arguments[2] & (os.O_WRONLY | os.O_RDWR))
    ):
        calls += 1
        if calls == {index}:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(count)
"""


def test_killed_at_any_instant_it_leaves_the_old_file_or_a_verified_new_one(folder: Path) -> None:
    runs = children(
        folder,
        ["anonymize", "people.csv", *REQUEST, "--effort", "fast", "--report", "out.json"],
        [KILLED_AT.format(index=index) for index in range(1, 100)],
        before={"out.csv": OLD, "out.json": OLD},
        until_done=True,
    )
    *killed, last = runs
    assert last.code == 0, last.said
    assert {run.code for run in killed} == {-signal.SIGKILL}
    seen = set()
    for _, _, outputs in runs:
        text, report = outputs["out.csv"], outputs.get("out.json")
        seen.add((text == OLD, report is None))
        assert text in (OLD, last.outputs["out.csv"])
        if report is not None:  # killed in between, there may be none, but no other one
            assert (report == OLD) is (text == OLD)
            digest = hashlib.sha256(text.encode()).hexdigest()
            assert report == OLD or json.loads(report)["output"]["sha256"] == digest
    assert len(killed) > 5
    assert {(True, False), (False, False)} <= seen  # or nothing was killed in time
    schema = covey.Schema.from_toml(folder / "people.toml")
    assert covey.verify(folder / "out.csv", schema, [covey.KAnonymity(K)]).holds
    assert not drafts(folder)  # the next run has swept what the killed ones left


@pytest.mark.parametrize(
    ("sent", "code", "told"),
    [(signal.SIGINT, 130, b"covey: error: interrupted"), (signal.SIGTERM, 143, b"")],
)
def test_interrupted_it_stops_soon_and_releases_nothing(
    folder: Path, sent: signal.Signals, code: int, told: bytes
) -> None:
    out = folder / "out.csv"
    out.write_text("old")
    process = start(folder, "k-member.csv", "--method", "k-member")
    wait_until(process, b"clustering")
    process.send_signal(sent)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert told in err
    assert b"Traceback" not in err
    assert out.read_text() == "old"
    assert not drafts(folder)


def test_interrupted_inside_of_a_library_it_still_ends_with_its_own_code(folder: Path) -> None:
    """Libraries run code that is made from strings, after which CPython would die by the signal."""
    (folder / "interrupted.py").write_text(
        "from covey.cli import main as cli\n"
        "from covey.clustering.request import Request\n"
        "Request.cluster = lambda *a, **o: exec('raise KeyboardInterrupt')\n"
        "cli.main()\n"
    )
    request = ["anonymize", "people.csv", "-s", "people.toml", "-k", str(K), "-o", "never.csv"]
    done = subprocess.run(
        [sys.executable, "-m", "interrupted", *request],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert done.stderr.endswith(b"covey: error: interrupted\n")
    assert done.returncode == 130
    assert not (folder / "never.csv").exists()


def test_interrupted_while_it_refines_it_releases_what_it_has(folder: Path) -> None:
    out = folder / "out.csv"
    out.write_text("old")
    process = start(folder, "best.csv", "--effort", "best")
    wait_until(process, b"clustering, loss")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert b"interrupted: releasing the best groups" in err
    schema = covey.Schema.from_toml(folder / "people.toml")
    assert covey.verify(out, schema, [covey.KAnonymity(K)]).rows == SLOW_ROWS["best"]
    assert not drafts(folder)


def test_a_disk_that_is_full_leaves_the_old_file(folder: Path) -> None:
    """A limit on the size of files stands for a disk with that much room."""
    limit = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, resource.RLIM_INFINITY))"
    )
    rooms = [0, 1, 500, 8_000]
    runs = children(
        folder,
        ["anonymize", "people.csv", *REQUEST, "--effort", "fast"],
        [limit.format(room=room) for room in rooms],
        before={"out.csv": OLD},
    )
    assert len(runs) == len(rooms)
    for code, said, outputs in runs:
        assert code == 2
        assert "the output cannot be written: File too large" in said
        assert outputs["out.csv"] == OLD
    assert not drafts(folder)


def test_too_little_memory_is_no_release(folder: Path) -> None:
    out = folder / "out.csv"
    out.write_text("old")
    limited = (
        "import polars, resource; from covey.cli.main import main; import covey.pipeline;"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize();"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 2**20, used + 2**20)); main()"
    )
    request = ["anonymize", "best.csv", "-s", "people.toml", "-k", str(K), "-o", "out.csv"]
    done = subprocess.run(
        [sys.executable, "-c", limited, *request], cwd=folder, capture_output=True, check=False
    )
    assert done.returncode != 0
    assert out.read_text() == "old"


@pytest.mark.parametrize("taken", ["out.csv", "out.json"])
def test_while_another_writes_one_of_the_outputs_none_is_begun(
    folder: Path, taken: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    out = folder / "out.csv"
    out.write_text("old")
    command = ["anonymize", "people.csv", *REQUEST, "--report", "out.json"]
    with files.FileDraft(folder / taken):
        assert cli.run(command) == 2
        err = capfd.readouterr().err
        assert "another covey" in err
        assert "detected" not in err  # it has not even read the table
        assert out.read_text() == "old"
    assert cli.run(command) == 0
    assert pl.read_csv(out, infer_schema=False).height == ROWS
    assert not drafts(folder)


def test_interrupted_at_any_call_release_and_companions_are_of_one_run(tmp_path: Path) -> None:
    """A new release beside an old report is worse than no report."""
    people, kept = demo.people(60), tmp_path / "kept"
    release = covey.anonymize(people, demo.schema(), k=3, key=kept / "key")
    table, report = tmp_path / "t.csv", tmp_path / "r.json"
    handler, outcomes = signal.signal(signal.SIGTERM, stop), set()
    try:
        for index in range(1, 200):
            table.write_text("old")
            report.write_text("old")
            with pytest.MonkeyPatch.context() as patch:
                made = at_call(patch, index, lambda: signal.raise_signal(signal.SIGTERM))
                try:
                    release.write(table, report=report, register=kept / "register")
                except SystemExit:
                    outcomes.add(report.read_text() == "old")
            if report.read_text() == "old":
                assert table.read_text() == "old"
            else:
                said = json.loads(report.read_text())["output"]["sha256"]
                assert said == hashlib.sha256(table.read_bytes()).hexdigest()
            assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
            if len(made) < index:
                break
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert outcomes == {True, False}


def stop(*_: object) -> None:
    sys.exit(1)


def test_a_reader_that_leaves_is_no_traceback(folder: Path) -> None:
    command = [sys.executable, "-m", "covey", "anonymize", "people.csv", "-s", "people.toml"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*command, "-k", str(K), "-o", "-"],
        cwd=folder,
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr
