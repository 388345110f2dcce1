"""Compare the covey method with the others: loss and time on many kinds of tables, and growth.

Losses are Total-IL divided by that of effort "balanced", so above 1 is worse. They are measured by
the range of the original, before ends are put on a grid: releases measure by the range that they
show, which depends on the groups where a few values lie far from all others. Seconds are for
clustering only, one run, those of all processors together. The parts are `tables` of many kinds,
`adult` at many k compared with ARX, the large `census` compared with cb, and `growth` with the
rows. ARX is not run: its figures were recorded once (`ARX`).
Run: python -m benchmarks.own [PART …] [--data FOLDER] [--best] [--budget S …] [--k K …] [--rows N]
"""

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks import tables

from covey import METHODS, Schema, demo
from covey.clustering.objectives import LOSS
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups
from covey.tables import Table

OTHERS = ("k-member", "kacpc", "systematic", "mdav", "mondrian", "cb")
EFFORTS = ("fast", "balanced", "best")
KS = (3, 10, 50)
PARTS = ("tables", "adult", "census", "growth")
CASC = ("CASCrefmicrodata", "Tarragona")
# ARX 3.9.2 on the same rows and flat trees, by k: local recoding with tuned settings, its classes
# shown by the ranges of their rows and measured as covey's are. Total-IL and processor seconds of
# one run.
ARX = {
    2: (4_986, 9.1),
    5: (12_417, 10.2),
    10: (18_461, 13.8),
    25: (28_395, 13.2),
    50: (36_883, 13.2),
    100: (47_235, 16.2),
}


def numbers(values: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> pl.DataFrame:
    return pl.DataFrame(values, schema=[f"x{j}" for j in range(values.shape[1])])


def kinds(folder: Path | None) -> Iterator[tuple[str, pl.DataFrame, Schema]]:
    """Tables of people and of numbers, with their schemas."""
    adult = tables.adult(folder)
    yield "Adult, taxonomies", adult, tables.adult_schema(folder)
    yield "Adult, flat", adult, tables.adult_schema(folder, flat=True)
    yield "demonstration, 20,000", demo.people(20_000), demo.schema()
    census = tables.census(folder, 50_000)
    if census is not None:
        yield "census, 50,000", census, tables.census_schema()
    random = np.random.default_rng(1)
    middles = random.normal(0, 2, (5, 6))
    blobs = np.vstack([random.normal(middle, 0.3, (2_000, 6)) for middle in middles])
    for name, frame in (
        ("uniform, 4 numbers, 10,000", numbers(random.random((10_000, 4)))),
        ("mixture, 6 numbers, 10,000", numbers(blobs)),
    ):
        yield name, frame, Schema.of(quasi=dict.fromkeys(frame.columns, "numeric"))
    for name in CASC:
        path = tables.find(folder, f"casc/{name}.csv")
        if path is not None:
            frame = pl.read_csv(path, infer_schema_length=None).cast(pl.Float64)
            yield name, frame, Schema.of(quasi=dict.fromkeys(frame.columns, "numeric"))


def run(table: EncodedTable, name: str, k: int, **options: Any) -> tuple[float, float]:
    began = time.process_time()
    groups = METHODS[name](table, k, **options)
    seconds = time.process_time() - began
    assert isinstance(groups, Groups)
    return LOSS.cost(table, groups), seconds


def side_by_side(folder: Path | None, efforts: Sequence[str]) -> None:
    titles = [*(f"covey, {effort}" for effort in efforts), *OTHERS]
    print("| table | k | Total-IL of balanced | " + " | ".join(titles) + " |")
    print("| --- " * (len(titles) + 3) + "|")
    for name, frame, schema in kinds(folder):
        table = encode(Table(frame), schema)
        for k in KS:
            results = [run(table, "covey", k, effort=effort) for effort in efforts]
            results += [run(table, other, k) for other in OTHERS]
            base = results[1][0]
            cells = [f"{loss / base:.3f}, {seconds:.2f} s" for loss, seconds in results]
            print(f"| {name} | {k} | {base:,.0f} | " + " | ".join(cells) + " |", flush=True)


def adult(
    folder: Path | None, efforts: Sequence[str], budgets: Sequence[float], ks: Sequence[int]
) -> None:
    """Adult with flat taxonomies: Total-IL over ARX's, and seconds summed over all processors."""
    frame, schema = tables.adult(folder), tables.adult_schema(folder, flat=True)
    table = encode(Table(frame), schema)
    rivals: list[tuple[str, dict[str, Any]]] = [("covey", {"effort": e}) for e in efforts]
    rivals += [("covey", {"budget": seconds}) for seconds in budgets]
    rivals += [("k-member", {}), ("mondrian", {})]
    titles = [
        " ".join([name, *(f"{key} {value}" for key, value in options.items())])
        for name, options in rivals
    ]
    print("\n| Adult, flat: k | ARX, recorded | " + " | ".join(titles) + " |")
    print("| --- " * (len(titles) + 2) + "|")
    for k in ks:
        (lost, took), cells = ARX[k], []
        for name, options in rivals:
            loss, seconds = run(table, name, k, **options)
            cells.append(f"{loss / lost:.3f}, {seconds:.2f} s")
        print(f"| {k} | {lost:,}, {took} s | " + " | ".join(cells) + " |", flush=True)


def census(folder: Path | None, efforts: Sequence[str]) -> None:
    frame = tables.census(folder, 600_000)
    if frame is None:
        print("\nno census table: the comparison with cb is skipped")
        return
    table = encode(Table(frame), tables.census_schema())
    base, seconds = run(table, "cb", 100)
    print(f"\ncensus, {table.rows:,} rows, k = 100: cb loses {base:,.0f} in {seconds:.1f} s")
    for effort in efforts:
        loss, seconds = run(table, "covey", 100, effort=effort)
        print(f"covey, {effort}: {loss / base:.3f} of that, {seconds:.1f} s", flush=True)


def growth(most: int) -> None:
    print("\n| rows of the demonstration, k = 10 | " + " | ".join(EFFORTS[:2]) + " |")
    print("| --- | --- | --- |")
    before: dict[str, tuple[int, float]] = {}
    rows = 100_000
    while rows <= most:
        table = encode(Table(demo.people(rows)), demo.schema())
        cells = []
        for effort in EFFORTS[:2]:
            began = time.process_time()
            METHODS["covey"](table, 10, effort=effort)
            seconds = time.process_time() - began
            cell = f"{seconds:.1f} s"
            if effort in before:
                fewer, faster = before[effort]
                cell += f", exponent {math.log(seconds / faster, rows / fewer):.2f}"
            before[effort] = rows, seconds
            cells.append(cell)
        print(f"| {rows:,} | " + " | ".join(cells) + " |", flush=True)
        rows = rows * 10 if rows * 10 <= most else most if rows < most else most + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    tables.add_data_option(parser)
    parser.add_argument("parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument(
        "--rows", type=int, default=1_000_000, help="number of rows of the largest table"
    )
    parser.add_argument("--best", action="store_true", help="also run the slowest effort")
    parser.add_argument(
        "--budget", type=float, nargs="*", default=(), help="also run Adult for so many seconds"
    )
    parser.add_argument(
        "--k", type=int, nargs="*", choices=tuple(ARX), default=tuple(ARX), help="of Adult"
    )
    asked = parser.parse_args()
    efforts = EFFORTS if asked.best else EFFORTS[:2]
    if "tables" in asked.parts:
        side_by_side(asked.data, efforts)
    if "adult" in asked.parts:
        adult(asked.data, efforts, asked.budget, asked.k)
    if "census" in asked.parts:
        census(asked.data, EFFORTS[:2])
    if "growth" in asked.parts:
        growth(asked.rows)


if __name__ == "__main__":
    main()
