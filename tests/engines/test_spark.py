"""Spark gives the release of one machine, whatever happens to its tasks, and leaves nothing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import covey
from covey import KAnonymity
from covey.engines import sessions
from engines.conftest import BRIEFLY
from engines.test_datasets import KEY, MARK, in_order, marked, people, released, schema, spread

pytest.importorskip("pyspark", reason="pyspark is not installed")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java, which is not installed", allow_module_level=True)

from covey.engines import spark

pytestmark = pytest.mark.slow
K: dict[str, Any] = {"require": [KAnonymity(5, person=False)], "effort": "fast"}
PART_ROWS, ROWS = 300, 700  # so two parts


def anonymize(source: Any, known: covey.Schema, to: str | Path, **more: Any) -> covey.Release:
    settled = {"part_rows": PART_ROWS, "key": KEY, "register": False, **more}
    return covey.anonymize(source, known, to=to, **settled)


def locally(source: Any, known: covey.Schema, to: Path, **more: Any) -> pl.DataFrame:
    anonymize(source, known, to, **more)
    return in_order(released(to))


def on_spark(source: Any, known: covey.Schema, to: Path, **more: Any) -> pl.DataFrame:
    anonymize(source, known, to, engine="spark", **more)
    return in_order(released(to))


def test_neither_order_nor_partitions_nor_lost_pieces_change_the_release(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do rows that are no people, and are left out as on one machine."""
    frame, known = people(ROWS), schema()
    first = locally(spread(frame, tmp_path / "in"), known, tmp_path / "first", **K)
    sums = frame.select("age", "income").sum().cast(frame.select("age", "income").schema)
    blank = pl.DataFrame({"age": [None]}, schema={"age": frame.schema["age"]})
    others = spread(pl.concat([frame, sums, blank], how="diagonal"), tmp_path / "others", files=5)
    given = session.read.parquet(others).repartition(7)
    with pytest.raises(covey.TableError, match="2 rows are no people"):
        on_spark(given, known, tmp_path / "out", **K)
    monkeypatch.setattr(spark, "_SUMS", 8)
    monkeypatch.setattr(spark.SparkRun, "_keep", lambda _, pieces: pieces)  # all is computed again
    monkeypatch.setattr(sessions, "is_encrypted", lambda _: False)
    asked: dict[str, Any] = {"drop_rows": ["totals", "blank"], **K}
    release = anonymize(given, known, tmp_path / "again", engine="spark", **asked)
    assert in_order(released(tmp_path / "again")).equals(first)
    assert sessions.UNENCRYPTED in release.report.warnings
    assert release.report.rows.read == frame.height
    assert any("2 rows of" in note for note in release.report.warnings)


def test_what_nobody_decided_is_refused_as_on_one_machine(session: Any, tmp_path: Path) -> None:
    source, known = spread(people(ROWS), tmp_path / "in"), schema()
    refused = []
    for way in (on_spark, locally):
        with pytest.raises(covey.GuaranteeError, match="'patient'") as error:
            way(source, known, tmp_path / "out", k=5)
        refused.append(str(error.value))
    assert refused[0] == refused[1]
    with pytest.raises(covey.UsageError, match="dropDuplicates"):
        on_spark(source, known, tmp_path / "out", drop_rows=["duplicates"], **K)


# ── what goes wrong ─────────────────────────────────────────────────────────────────────────────


def blocks(before: Callable[[int], int]) -> Any:
    """A method that cuts sorted rows into blocks; what it does before may change their size."""

    def method(table: Any, k: int) -> Any:
        size = before(k)
        labels = np.empty(table.rows, dtype=np.int64)
        labels[table.lexicographic] = np.minimum(
            np.arange(table.rows) // size, table.rows // size - 1
        )
        return labels

    return method


def killing(mark: Path, parents: int) -> Any:
    """Kills its own process, or a parent of it, once."""

    def before(k: int) -> int:
        import os
        from pathlib import Path

        process = os.getpid()
        for _ in range(parents):
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return k
        os.kill(process, 9)
        return k

    return blocks(before)


def test_a_killed_executor_changes_nothing(tmp_path: Path) -> None:
    source = spread(people(ROWS), tmp_path / "in")
    asked = {"method": blocks(lambda k: k), "require": K["require"]}
    calm = locally(source, schema(), tmp_path / "calm", **asked)
    tests = str(Path(__file__).parents[1])
    subprocess.run(
        [sys.executable, f"{tests}/engines/spark_cluster.py", tmp_path],
        env={**os.environ, "PYTHONPATH": tests, "SPARK_SUBMIT_OPTS": BRIEFLY},
        capture_output=True,
        check=True,
        timeout=300,
    )
    assert (tmp_path / "killed").exists()
    assert in_order(released(tmp_path / "out")).equals(calm)


def test_an_impure_worker_is_caught(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def before(k: int) -> int:
        import time

        return k + time.time_ns() // 1_000 % 50

    monkeypatch.setattr(spark.SparkRun, "_keep", lambda _, pieces: pieces)  # all is computed again
    source = spread(people(ROWS), tmp_path / "in")
    with pytest.raises(covey.ViolationError, match="nothing is published"):
        on_spark(source, schema(), tmp_path / "out", method=blocks(before), require=K["require"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_a_violation_publishes_nothing(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = spark.SparkRun.written

    def write_less(run: Any, folder: Any) -> Any:
        written = write(run, folder)
        written.digests = dict([*written.digests.items()][:1])
        paths = [Path(folder) / name for name in written.digests]
        pl.read_parquet(paths[0]).slice(1).write_parquet(paths[0])
        written.__dict__.pop("seen", None)
        written.__dict__.pop("_rows", None)
        return written

    monkeypatch.setattr(spark.SparkRun, "written", write_less)
    source = spread(people(ROWS), tmp_path / "in")
    with pytest.raises(covey.ViolationError):
        on_spark(source, schema(), tmp_path / "out", **K)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]


def test_own_errors_arrive_and_those_of_others_say_no_cell(session: Any, tmp_path: Path) -> None:
    frame = people(ROWS).with_columns(age=pl.lit("Zq7-secret"))
    given = session.read.parquet(spread(frame, tmp_path / "text"))
    with pytest.raises(covey.TableError, match="'age'"):
        on_spark(given, schema(), tmp_path / "out", **K)

    def broken(table: Any, k: int) -> Any:
        raise RuntimeError("Zq7-secret")

    source = spread(people(ROWS), tmp_path / "in")
    with pytest.raises(covey.CoveyError, match="clustering") as error:
        on_spark(source, schema(), tmp_path / "out", method=broken, require=K["require"])
    assert "Zq7" not in str(error.value)
    assert error.value.__cause__ is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "text"]


def test_other_files_and_resuming_are_refused(session: Any, tmp_path: Path) -> None:
    text = spread(people(ROWS), tmp_path / "text", kind="csv")
    with pytest.raises(covey.UsageError, match="engine local"):
        on_spark(text, schema(), tmp_path / "out", **K)
    with pytest.raises(covey.UsageError, match="DataFrame of Spark"):
        on_spark(people(), schema(), tmp_path / "out", **K)
    source = spread(people(ROWS), tmp_path / "in")
    with pytest.raises(covey.UsageError, match="resume"):
        on_spark(source, schema(), tmp_path / "out", resume=True, **K)


# ── leftovers ───────────────────────────────────────────────────────────────────────────────────


def contents(folder: str | Path) -> dict[Path, bytes]:
    """What is in all files of a folder. Spark may delete some meanwhile: those hold nothing."""
    found: dict[Path, bytes] = {}
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names):
            with suppress(FileNotFoundError):
                found[path] = path.read_bytes()
    return found


def marked_in(held: dict[Path, bytes]) -> list[Path]:
    return [path for path, own in held.items() if MARK.encode() in own]


def test_a_killed_worker_changes_nothing_and_no_original_value_is_left_or_readable(
    session: Any, tmp_path: Path
) -> None:
    frame, known = marked(600)
    source = spread(frame, tmp_path / "in")
    local = session.conf.get("spark.local.dir")
    assert Path(local).stat().st_mode & 0o077 == 0
    found: list[Path] = []
    seen = 0

    def look(*_: Any) -> None:
        nonlocal seen
        held = contents(local)
        found.extend(marked_in(held))
        seen = max(seen, sum(len(own) for path, own in held.items() if path.suffix == ".data"))

    asked: dict[str, Any] = {"k": 5, "person": False, "progress": look}
    with pytest.raises(covey.InfeasibleError):
        on_spark(source, known, tmp_path / "none", **asked, l={"diagnosis": 99})
    killed = killing(tmp_path / "killed", 0)
    anonymize(source, known, tmp_path / "out", engine="spark", method=killed, **asked)
    assert seen > 10_000  # there were files, and what was in them could not be read
    assert not found
    assert not marked_in(contents(local))
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"in", "out", "killed", "out.datapackage.json"}
    for path in (tmp_path / "out").iterdir():
        assert f"{MARK}who".encode() not in path.read_bytes()
    calmly: dict[str, Any] = {**asked, "method": blocks(lambda k: k)}
    assert in_order(released(tmp_path / "out")).equals(
        locally(source, known, tmp_path / "calm", **calmly)
    )


def test_released_files_hold_no_statistics_and_no_persons(session: Any, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    source, known = spread(people(ROWS), tmp_path / "in"), schema()
    on_spark(source, known, tmp_path / "out", require=[KAnonymity(4, "patient")], effort="fast")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [f"part-{place:05}.parquet" for place in range(len(names))]
    for path in (tmp_path / "out").iterdir():
        about = pq.read_metadata(path)
        assert "patient" not in pq.read_schema(path).names
        for column in range(about.num_columns):
            found = about.row_group(0).column(column).statistics
            assert found is None or not found.has_min_max


# ── sessions ────────────────────────────────────────────────────────────────────────────────────


def test_a_session_keeps_its_settings(session: Any, tmp_path: Path) -> None:
    before = {name: session.conf.get(name) for name in sessions._SAME}
    with sessions.settings(session):
        assert session.conf.get("spark.sql.session.timeZone") == "UTC"
    assert {name: session.conf.get(name) for name in sessions._SAME} == before
    assert sessions.is_encrypted(session)


def test_an_address_gets_the_release_in_one_step(session: Any, tmp_path: Path) -> None:
    source, known = spread(people(ROWS), tmp_path / "in"), schema()
    plain = locally(source, known, tmp_path / "plain", **K)
    report = tmp_path / "report.json"
    address = f"file://{tmp_path}/out"
    anonymize(f"file://{source}", known, address, engine="spark", report=report, **K)
    assert in_order(released(tmp_path / "out")).equals(plain)
    assert report.exists()
    assert {path.name for path in tmp_path.iterdir()} - {"report.json"} == {
        "in", "plain", "plain.datapackage.json", "out",  # there is no description at an address
    }  # fmt: skip
    with pytest.raises(covey.OutputError, match="files in it"):
        anonymize(source, known, address, engine="spark", **K)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(covey.UsageError, match="Java 17"), sessions.started():
        pass
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(covey.UsageError, match=r"covey\[spark\]"):
        sessions.active()
