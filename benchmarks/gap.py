"""Measure how far effort best is from the least loss at most, on samples of several tables.

Each cell: by how much the loss of effort best is above the bound, in percent (0 is the optimum),
and above the bounds of rows alone, then the processor seconds of the groups and of the bound.
Run: python -m benchmarks.gap [--data FOLDER] [--rows ROWS ...]
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
from benchmarks import own

from covey import Schema
from covey.clustering.covey import covey
from covey.clustering.objectives import LOSS
from covey.clustering.optimum import least_loss
from covey.clustering.optimum.rows import least_of_rows
from covey.encoding import EncodedTable, encode
from covey.tables import Table

KS = (2, 3, 5, 10)
COLUMNS = 5  # quasi-identifiers, at most: the first of each table


def gap(table: EncodedTable, k: int) -> str:
    """How far effort best may be from the optimum, and how long it takes to say so."""
    began = time.process_time()
    groups = covey(table, k, effort="best")
    formed = time.process_time()
    least = least_loss(table, groups, k)
    bounded = time.process_time()
    loss, of_rows = LOSS.cost(table, groups), math.fsum(least_of_rows(table, k))
    seconds = f"{formed - began:.1f} + {bounded - formed:.1f} s"
    return f"{above(loss, least)} ({above(loss, of_rows)}), {seconds}"


def above(loss: float, least: float | None) -> str:
    if not least:
        return "0" if loss == 0 else "none"
    share = 100 * (loss / least - 1)
    return "0" if share < 1e-6 else f"{share:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with tables, such as adult/")
    parser.add_argument("--rows", type=int, nargs="*", default=[20, 50, 100, 200, 400])
    asked = parser.parse_args()
    print("| table | rows | " + " | ".join(f"k = {k}" for k in KS) + " |")
    print("| --- " * (len(KS) + 2) + "|")
    for name, frame, schema in own.kinds(asked.data):
        names = [name for name in frame.columns if name in schema.quasi][:COLUMNS]
        chosen = Schema.of(quasi={name: schema.quasi[name] for name in names})
        for rows in asked.rows:
            places = np.random.default_rng(rows).permutation(frame.height)[:rows].tolist()
            table = encode(Table(frame[places].select(names)), chosen)
            cells = (gap(table, k) for k in KS)
            print(f"| {name} | {rows} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
