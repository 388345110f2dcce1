"""Killed, interrupted, disk full: never a partial or unverified file under the output's name."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import covey
from covey import demo
from covey.tables import files
from test_outputs import at_call

K = 5
SLOW_ROWS = 60_000  # enough work for k-member to be caught in the middle of it


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("faults")
    demo.write(path, 400)
    demo.people(SLOW_ROWS).write_csv(path / "slow.csv")
    return path


def start(folder: Path, table: str, *more: str) -> subprocess.Popen[bytes]:
    request = ["-s", "people.toml", "-k", str(K), "-o", "out.csv", "--report", "out.json", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "covey", "anonymize", table, *request],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes]) -> int:
    process.communicate()
    return process.returncode


def drafts(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if "draft" in path.name]


def wait_for_clustering(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """The table has been read when the command says what it found out about it."""
    assert process.stderr is not None
    assert b"detected" in process.stderr.readline()
    time.sleep(1.5)
    assert process.poll() is None


def test_killed_at_any_instant_it_leaves_the_old_file_or_a_verified_new_one(folder: Path) -> None:
    out, report = folder / "out.csv", folder / "out.json"
    schema = covey.Schema.from_toml(folder / "people.toml")
    began = time.monotonic()
    assert finish(start(folder, "people.csv")) == 0
    usual = time.monotonic() - began
    dice, seen = random.Random(1), set()
    for _ in range(12):
        out.write_text("old")
        report.write_text("old")
        process = start(folder, "people.csv")
        time.sleep(dice.uniform(0.3, 1.1) * usual)
        process.kill()
        finish(process)
        old = out.read_text() == "old"
        seen.add(old)
        assert old or covey.verify(out, schema, [covey.KAnonymity(K)]).holds
        if report.exists():  # if it was killed in between, there may be none, but no other one
            text = report.read_text()
            digest = hashlib.sha256(out.read_bytes()).hexdigest()
            assert (text == "old") is old
            assert old or json.loads(text)["output"]["sha256"] == digest
    assert True in seen  # otherwise nothing was killed in time, and the test tested nothing
    assert finish(start(folder, "people.csv")) == 0
    assert not drafts(folder)  # the next run has swept what the killed ones left


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("sent", "code", "told"),
    [(signal.SIGINT, 130, b"covey: error: interrupted"), (signal.SIGTERM, 143, b"")],
)
def test_interrupted_it_stops_soon_and_releases_nothing(
    folder: Path, sent: signal.Signals, code: int, told: bytes
) -> None:
    out = folder / "out.csv"
    out.write_text("old")
    process = start(folder, "slow.csv", "--method", "k-member")
    wait_for_clustering(folder, process)
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


@pytest.mark.compiled
def test_interrupted_while_it_refines_it_releases_what_it_has(folder: Path) -> None:
    out = folder / "out.csv"
    out.write_text("old")
    for seconds in (1.5, 4.0, 8.0):  # on a busy machine it may not yet refine, and gives up
        process = start(folder, "slow.csv", "--effort", "best")
        wait_for_clustering(folder, process)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
        if process.returncode != 130:
            break
    assert process.returncode == 0
    assert b"interrupted: releasing the best groups" in err
    schema = covey.Schema.from_toml(folder / "people.toml")
    assert covey.verify(out, schema, [covey.KAnonymity(K)]).rows == SLOW_ROWS
    assert not drafts(folder)


@pytest.mark.parametrize("room", [0, 1, 500, 5_000, 20_000])
def test_a_disk_that_is_full_leaves_the_old_file(folder: Path, room: int) -> None:
    """A limit on the size of files stands for a disk with that much room."""
    out = folder / "out.csv"
    out.write_text("old")
    limited = (
        "import resource, sys; from covey.cli.main import main;"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, resource.RLIM_INFINITY)); main()"
    )
    request = ["anonymize", "people.csv", "-s", "people.toml", "-k", str(K), "-o", "out.csv"]
    done = subprocess.run(
        [sys.executable, "-c", limited, *request], cwd=folder, capture_output=True, check=False
    )
    assert done.returncode == 2
    assert b"the output cannot be written: File too large" in done.stderr
    assert out.read_text() == "old"
    assert not drafts(folder)


def test_too_little_memory_is_no_release(folder: Path) -> None:
    out = folder / "out.csv"
    out.write_text("old")
    limited = (
        "import polars, numba, resource; from covey.cli.main import main; import covey.pipeline;"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize();"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 2**20, used + 2**20)); main()"
    )
    request = ["anonymize", "slow.csv", "-s", "people.toml", "-k", str(K), "-o", "out.csv"]
    done = subprocess.run(
        [sys.executable, "-c", limited, *request], cwd=folder, capture_output=True, check=False
    )
    assert done.returncode != 0
    assert out.read_text() == "old"


@pytest.mark.parametrize("taken", ["out.csv", "out.json"])
def test_while_another_writes_one_of_the_outputs_none_is_begun(folder: Path, taken: str) -> None:
    out = folder / "out.csv"
    out.write_text("old")
    with files.draft(folder / taken):
        process = start(folder, "people.csv")
        _, err = process.communicate(timeout=60)
        assert process.returncode == 2
        assert b"another covey" in err
        assert b"detected" not in err  # it has not even read the table
        assert out.read_text() == "old"
    assert finish(start(folder, "people.csv")) == 0
    assert pl.read_csv(out, infer_schema=False).height == 400
    assert not drafts(folder)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_at_any_call_release_and_companions_are_of_one_run(
    tmp_path: Path, sent: signal.Signals
) -> None:
    """A new release beside an old report is worse than no report."""
    people = demo.people(60)
    release = covey.anonymize(people, demo.schema(), require=[covey.KAnonymity(3)])
    table, report = tmp_path / "t.csv", tmp_path / "r.json"
    handler, outcomes = signal.signal(sent, stop), set()
    try:
        for index in range(1, 200):
            table.write_text("old")
            report.write_text("old")
            with pytest.MonkeyPatch.context() as patch:
                made = at_call(patch, index, lambda: signal.raise_signal(sent))
                try:
                    release.write(table, report=report)
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
        signal.signal(sent, handler)
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
