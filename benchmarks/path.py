"""Measure time and memory of everything except clustering: read, encode, generalise, verify, write.

The grouping is trivial, blocks of k rows in sorted order, so that only the path that every method
shares is measured. Run: python benchmarks/path.py [ROWS]
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import covey
from covey import demo
from covey.encoding import EncodedTable

K = 10


def blocks(table: EncodedTable, k: int, **_: object) -> covey.Groups:
    """Groups of k neighbours in the order of the cells."""
    keys = [*table.cells.codes.T, *table.cells.numbers.T]
    labels = np.empty(table.rows, dtype=np.int64)
    labels[np.lexsort(keys)] = np.minimum(np.arange(table.rows) // k, table.rows // k - 1)
    return covey.Groups(labels)


def run(folder: Path) -> None:
    """The measured part, in its own process."""
    schema = covey.Schema.from_toml(folder / "people.toml")
    began = time.perf_counter()
    release = covey.anonymize(
        str(folder / "people.csv"), schema, require=[covey.KAnonymity(K)], method=blocks
    )
    computed = time.perf_counter()
    release.write(folder / "released.csv", report=folder / "report.json")
    written = time.perf_counter()
    for stage, seconds in release.report.seconds.items():
        print(f"{stage:>14} {seconds:7.2f} s")
    print(f"{'writing':>14} {written - computed:7.2f} s   (write, read back, verify, rename)")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{'all':>14} {written - began:7.2f} s   {peak:.2f} GiB at most")


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        table, _ = demo.write(Path(name), rows)
        print(f"{rows:,} rows, {table.stat().st_size / 2**20:.0f} MiB of CSV")
        subprocess.run([sys.executable, __file__, "--run", name], check=True)


if __name__ == "__main__":
    run(Path(sys.argv[2])) if sys.argv[1:2] == ["--run"] else main()
