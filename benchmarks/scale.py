"""Release invented people by the million: CPU time, memory and loss of each engine.

The table has eight quasi-identifiers and three sensitive columns (`covey.demo.people`, a million
people a file, each file with its own seed). It is read from Parquet and written as Parquet. Every
run is a process of its own; CPU seconds and memory are those of the process and all its children.

    python -m benchmarks.scale --rows 1000000 --engine memory
    python -m benchmarks.scale --rows 10000000 --engine local --effort balanced
    python -m benchmarks.scale --rows 10000000 --engine spark
    python -m benchmarks.scale --rows 10000000 --engine local --part-rows 100000000  # one part

`--data FOLDER` is where the tables are made and kept; by default a temporary folder.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import covey
from covey import demo

FILE = 1_000_000  # rows
K = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=FILE)
    parser.add_argument("--engine", choices=["memory", "local", "spark"], default="local")
    parser.add_argument("--effort", default="fast")
    parser.add_argument("--part-rows", type=int, default=250_000)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = (told.data or Path(folder)) / f"people-{told.rows}"
        if told.child:
            run(told, place, Path(folder) / "out")
            return
        make(place, told.rows)
        command = [sys.executable, "-m", "benchmarks.scale", "--child", *sys.argv[1:]]
        if told.data is None:
            command += ["--data", folder]
        subprocess.run(command, check=True)


def make(folder: Path, rows: int) -> None:
    """The table, a file a million people."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(-(-rows // FILE)):
        path = folder / f"{number:04}.parquet"
        if not path.exists():
            some = min(FILE, rows - number * FILE)
            demo.people(some, seed=number).write_parquet(path, row_group_size=100_000)


def run(told: argparse.Namespace, source: Path, to: Path) -> None:
    """The measured part, in its own process."""
    watch = Memory()
    began = time.perf_counter()
    request = {"k": K, "person": False, "effort": told.effort, "seed": 1}
    if told.engine == "memory":
        to = to.with_suffix(".parquet")
    else:
        request["part_rows"] = told.part_rows
    report = covey.anonymize(
        str(source), demo.schema(), to=to, engine=told.engine, register=False, **request
    ).report
    wall = time.perf_counter() - began
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    cpu = sum(used.ru_utime + used.ru_stime for used in (own, children))
    stages = {name: round(seconds, 1) for name, seconds in report.seconds.items()}
    print(json.dumps({
        "engine": told.engine, "effort": told.effort, "rows": told.rows, "k": K,
        "part_rows": None if told.engine == "memory" else told.part_rows,
        "cpu_seconds": round(cpu, 1), "seconds": round(wall, 1),
        "cpu_seconds_a_million": round(cpu / told.rows * 1e6, 2),
        "memory_mib": watch.stop(), "loss": round(report.mean_loss, 6),
        "classes": report.verdict.classes, "k_found": report.verdict.k,
        "holds": report.verdict.holds, "stages": stages,
    }))  # fmt: skip


class Memory(threading.Thread):
    """The highest memory of this process and its children, looked at ten times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.over = 0, threading.Event()
        self.start()

    def run(self) -> None:
        while not self.over.wait(0.1):
            self.most = max(self.most, sum(map(_resident, _family(os.getpid()))))

    def stop(self) -> int:
        self.over.set()
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        return max(self.most >> 10, own)


def _family(process: int) -> list[int]:
    """A process and all below it (Linux)."""
    found = [process]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                continue
    return found


def _resident(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)


if __name__ == "__main__":
    main()
