"""Compare two versions of covey in one run: processor seconds, and the ratio of both.

Each job runs in a process of its own, under this interpreter and under `--before`, the interpreter
of another checkout's environment. The two take turns, so that both meet the same machine, and the
fastest of `--runs` counts. Jobs that cluster print a checksum of their labels, which tells whether
both versions form the same groups.

Run: python -m benchmarks.versions --before OLD/.venv/bin/python [--job NAME ...] [--data FOLDER]
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import polars as pl
from benchmarks import tables

import covey
from covey import METHODS, demo
from covey.encoding import EncodedTable, encode
from covey.tables import Table

Job = Callable[[Path | None], str]


def _cluster(table: EncodedTable, method: str, k: int) -> str:
    table.cells, table.forest  # noqa: B018 - encoded before the clock starts
    METHODS[method](table.take(pl.arange(0, 500, eager=True).to_numpy()), 5)  # loaded, or compiled
    began = time.process_time()
    groups = METHODS[method](table, k, seed=1)
    return f"{time.process_time() - began:.3f} {zlib.crc32(groups.labels.tobytes())}"


def _adult(k: int) -> Job:
    def job(folder: Path | None) -> str:
        schema = tables.adult_schema(folder, flat=True)
        return _cluster(encode(Table(tables.adult(folder)), schema), "covey", k)

    return job


def _million(method: str, k: int) -> Job:
    def job(folder: Path | None) -> str:
        frame = tables.resampled(tables.adult(folder), 1_000_000)
        return _cluster(encode(Table(frame), tables.adult_schema(folder, flat=True)), method, k)

    return job


def _census(t: float | None) -> Job:
    """A release of 320,000 rows whose sensitive column depends on the quasi-identifiers."""

    def job(folder: Path | None) -> str:
        path = tables.find(folder, tables.CENSUS)
        if path is None:
            raise SystemExit("this job needs the census: give --data its folder")
        rich = (pl.col("income") > 60_000).cast(pl.String).alias("rich")
        names = ("age", "education", "marital", "race")
        frame = pl.read_csv(path).head(320_000).select(*names, rich)
        kinds = dict(zip(names, ["numeric", "numeric", "categorical", "categorical"], strict=True))
        schema = covey.Schema.of(quasi=kinds, sensitive=["rich"])
        require: list[covey.Requirement] = [covey.KAnonymity(10)]
        if t is not None:
            require.append(covey.TCloseness(t, "rich"))
        began = time.process_time()
        release = covey.anonymize(frame, schema, require=require, seed=1)
        seconds = time.process_time() - began
        return f"{seconds:.3f} loss={release.report.losses.total_il:,.0f}"

    return job


def _start(*arguments: str) -> Job:
    """A whole command, the second time that it is started."""

    def job(folder: Path | None) -> str:  # noqa: ARG001 - it needs no table
        with tempfile.TemporaryDirectory() as place:
            demo.write(Path(place), 1_000)
            command = [sys.executable, "-m", "covey", *arguments]
            for _ in range(2):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run(command, cwd=place, check=True, capture_output=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                (Path(place) / "released.csv").unlink(missing_ok=True)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return f"{used:.3f} -"

    return job


JOBS: dict[str, Job] = {
    "covey, Adult, k = 2": _adult(2),
    "covey, Adult, k = 10": _adult(10),
    "covey, Adult, k = 100": _adult(100),
    "k-member, 1M rows, k = 10": _million("k-member", 10),
    "start: 1,000 rows": _start(
        *("anonymize", "people.csv", "-s", "people.toml", "-k", "5", "-o", "released.csv")
    ),
    "start: --help": _start("--help"),
    "census, 320,000 rows, k": _census(None),
    "census, 320,000 rows, t = 0.3": _census(0.3),
    "census, 320,000 rows, t = 0.1": _census(0.1),
}


def _measured(python: str, name: str, folder: Path | None, limit: float) -> tuple[float, str]:
    """Seconds and findings of one run of a job; infinite if it takes longer than the limit."""
    command = [python, "-m", "benchmarks.versions", "--one", name]
    command += [] if folder is None else ["--data", str(folder)]
    root = str(Path(__file__).parents[1])
    # The benchmarks of this checkout, and the covey that the interpreter has installed.
    known = {**os.environ, "PYTHONPATH": root, "PYTHONSAFEPATH": "1"}
    try:
        found = subprocess.run(
            command, env=known, capture_output=True, text=True, check=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return float("inf"), "did not end"
    seconds, facts = found.stdout.split(maxsplit=1)
    return float(seconds), facts.strip()


def compare(before: str, names: list[str], folder: Path | None, runs: int, limit: float) -> None:
    print("| job | before, CPU s | now, CPU s | now / before | found |")
    print("| --- | --- | --- | --- | --- |")
    for name in names:
        best: dict[str, tuple[float, str]] = {}
        for _ in range(runs):
            for python in (before, sys.executable):
                found = _measured(python, name, folder, limit)
                best[python] = min(best.get(python, found), found)
        (old, first), (new, second) = best[before], best[sys.executable]
        facts = "same groups" if first == second else f"{first}; {second}"
        print(f"| {name} | {old:.2f} | {new:.2f} | {new / old:.2f} | {facts} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", metavar="PYTHON", help="the interpreter of the other version")
    parser.add_argument("--job", action="append", choices=JOBS, help="all if none is named")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=600, help="seconds for a run")
    parser.add_argument("--one", choices=JOBS, help=argparse.SUPPRESS)
    tables.add_data_option(parser)
    asked = parser.parse_args()
    if asked.one:
        print(JOBS[asked.one](asked.data))
    elif asked.before is None:
        parser.error("--before is missing")
    else:
        compare(asked.before, asked.job or list(JOBS), asked.data, asked.runs, asked.limit)


if __name__ == "__main__":
    main()
