"""Measure time and memory of the verifier alone: k, l and t of a large table.

The table has ten columns of invented people, released beforehand in blocks of k rows in sorted
order, since only the verifier is measured: reading the file, and judging every requirement.
Run: python -m benchmarks.verify [ROWS]
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.path import K, blocks

import covey
from covey import demo, tables
from covey.schema.requirements import Requirement

QUASI: dict[str, str | dict[str, Any]] = {
    "age": {"type": "numeric", "grid": 5},
    "sex": "categorical",
    "zip": {"type": "categorical", "taxonomy": {"build": "prefixes"}},
    "education": "categorical",
    "marital_status": "categorical",
    "occupation": "categorical",
    "country_of_birth": "categorical",
}
SENSITIVE = ["income", "diagnosis", "length_of_stay"]
ASKED: list[Requirement] = [
    covey.KAnonymity(K),
    covey.LDiversity(2, "diagnosis"),
    covey.LDiversity(2, "income", "entropy"),
    covey.TCloseness(1, "diagnosis"),
    covey.TCloseness(1, "income", "ordered"),
]


def schema() -> covey.Schema:
    columns = {name: {"role": "sensitive", "type": "numeric"} for name in SENSITIVE}
    columns["diagnosis"] = {"role": "sensitive"}
    drafted = covey.Schema.of(quasi=QUASI)
    return covey.Schema.from_dict({"columns": {**drafted.model_dump()["columns"], **columns}})


def release(path: Path, rows: int) -> None:
    """The table to judge."""
    people = demo.people(rows).select([*QUASI, *SENSITIVE])
    covey.anonymize(people, schema(), require=[covey.KAnonymity(K)], method=blocks).write(path)


def run(path: Path) -> None:
    """The measured part, in its own process."""
    began = time.perf_counter()
    table = tables.read(str(path), schema())
    read = time.perf_counter()
    verdict = covey.verify(table, schema(), ASKED)
    judged = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{verdict.rows:,} rows, {table.frame.width} columns, {verdict.classes:,} classes")
    for check in verdict.checks:
        print(f"{check.name:>40}: asked {check.asked:g}, found {check.achieved:g}")
    print(f"{'reading':>14} {read - began:7.2f} s")
    print(f"{'judging':>14} {judged - read:7.2f} s")
    print(f"{'all':>14} {judged - began:7.2f} s   {peak:.2f} GiB at most")


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "released.csv"
        # Separate processes, so that their memory is measured separately.
        for step in (["--release", str(path), str(rows)], ["--run", str(path)]):
            subprocess.run([sys.executable, "-m", "benchmarks.verify", *step], check=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--release", path, rows]:
            release(Path(path), int(rows))
        case ["--run", path]:
            run(Path(path))
        case _:
            main()
