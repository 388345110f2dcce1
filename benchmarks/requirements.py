"""Measure the cost of requirements in addition to k: loss and time, compared with k alone.

`adult`: Adult with ARX's taxonomies, k = 10. "Repair only" takes the groups that the covey method
forms for k alone and repairs those that miss a requirement, as for every other method. Losses are
Total-IL divided by that of k alone on the same quasi-identifiers.

`census`: 600,000 rows of the census, k = 100, and no occupation in more than 1/l of a group. He's
cb has its own construction for this, by splitting; losses of the covey method are divided by cb's.

`binary`: the first 320,000 rows of the census with four quasi-identifiers, k = 10, and t-closeness
of "earns more than 60,000": a binary column that depends on the quasi-identifiers.

`persons`: 105,000 rows of 35,000 persons, drawn at random, each with the quasi-identifiers of one
row of the census: k = 10 persons instead of 10 rows.

`bounds`: a lower bound of the loss under t-closeness on Adult, and one of the same kind for k
alone. A row loses at least its distance from each other member of its group: so at least that from
the k-th nearest row, and the mean distance from the members with the other value. If at least a
share s of each group has that value, no row of it serves more than (1 - s) / s others. This is a
transport problem, and any prices for the rows that serve give a bound from below. Takes minutes.

Times are processor seconds for clustering only, in one run.
Run: python -m benchmarks.requirements [--part PART ...] [--data FOLDER]
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks import tables
from numpy.typing import NDArray

from covey import METHODS, KAnonymity, LDiversity, Schema, TCloseness
from covey._core.arrays import Longs
from covey.clustering import keep_constraints
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups
from covey.measures.loss import measure_groups
from covey.schema.requirements import Requirement
from covey.tables import Table

PARTS = ("adult", "census", "binary", "persons", "bounds")
K, CENSUS_K = 10, 100
RICH = 60_000
STEPS = 20  # to find prices
LS = (2, 4, 6, 8, 10)
EFFORTS = ("fast",)  # more effort would take minutes for each l, and is not needed to beat cb
ASKED: tuple[tuple[str, float, Requirement], ...] = (
    ("occupation", 3, LDiversity(3, on="occupation", kind="frequency")),
    ("occupation", 5, LDiversity(5, on="occupation", kind="entropy")),
    ("salary-class", 0.2, TCloseness(0.2, on="salary-class", distance="equal")),
)


def schema_without(schema: Schema, sensitive: str) -> Schema:
    """The same quasi-identifiers, except the sensitive one."""
    quasi: dict[str, Any] = {
        name: {**column.model_dump(exclude={"role", "taxonomy"}), "taxonomy": column.taxonomy}
        for name, column in schema.quasi.items()
        if name != sensitive
    }
    rest = [name for name in schema.columns if name not in quasi and name != sensitive]
    return Schema.of(quasi=quasi, sensitive=[sensitive], insensitive=rest)


def formed(method: str, table: EncodedTable, k: int, **options: Any) -> Groups:
    groups = METHODS[method](table, k, **options)
    assert isinstance(groups, Groups)
    return groups


def timed(table: EncodedTable, form: Callable[[], Groups]) -> tuple[float, float]:
    """The loss of the groups, and the seconds to form them."""
    began = time.process_time()
    groups = form()
    seconds = time.process_time() - began
    return measure_groups(table, groups).total_il, seconds


def row(
    first: str, table: EncodedTable, base: Callable[[], Groups], *others: Callable[[], Groups]
) -> None:
    """Print the loss of the first way, and that of the others divided by it."""
    least, seconds = timed(table, base)
    cells = [f"{least:,.0f}, {seconds:.1f} s"]
    for way in others:
        lost, seconds = timed(table, way)
        cells.append(f"{lost / least:.2f}, {seconds:.1f} s")
    print(f"| {first} | " + " | ".join(cells) + " |", flush=True)


def head(*columns: str) -> None:
    print("| " + " | ".join(columns) + " |")
    print("| --- " * len(columns) + "|")


def adult(folder: Path | None) -> None:
    frame, schema = tables.adult(folder), tables.adult_schema(folder)
    head("in addition to k = 10", "k alone", "fast", "balanced", "repair only")
    for sensitive, figure, requirement in ASKED:
        settings = schema_without(schema, sensitive)
        asked = [KAnonymity(K), requirement]
        table = encode(Table(frame), settings, require=asked)
        plain = replace(table, constraints=None)
        own = partial(formed, "covey", table, K)
        row(
            f"{requirement.name}, {figure:g}",
            table,
            partial(formed, "covey", plain, K),
            *(partial(own, effort=effort) for effort in ("fast", "balanced")),
            partial(keep_constraints, table, K, formed("covey", plain, K)),
        )


def census(folder: Path | None) -> None:
    frame = tables.census(folder, 600_000, tables.OCCUPATION)
    if frame is None:
        print("no census table: the comparison with cb is skipped")
        return
    schema = tables.census_schema(tables.OCCUPATION)
    head(f"l, in addition to k = {CENSUS_K}", "cb", *EFFORTS)
    for diversity in LS:
        requirement = LDiversity(diversity, on=tables.OCCUPATION, kind="frequency")
        table = encode(Table(frame), schema, require=[requirement])
        own = partial(formed, "covey", table, CENSUS_K)
        row(
            str(diversity),
            table,
            partial(formed, "cb", table, CENSUS_K, l=diversity),
            *(partial(own, effort=effort) for effort in EFFORTS),
        )


def binary(folder: Path | None) -> None:
    path = tables.find(folder, tables.CENSUS)
    if path is None:
        print("no census table: t-closeness of a binary column is skipped")
        return
    rich = (pl.col("income") > RICH).alias("rich")
    columns = ("age", "education", "marital", "race")
    frame = pl.read_csv(path, n_rows=320_000).select(*columns, rich)
    kinds = dict(zip(columns, ("numeric", "numeric", "categorical", "categorical"), strict=True))
    schema = Schema.of(quasi=kinds, sensitive=["rich"])
    head("t, in addition to k = 10", "k alone", "balanced")
    for t in (0.3, 0.1):
        asked: list[Requirement] = [KAnonymity(K), TCloseness(t, on="rich", distance="equal")]
        compared(str(t), encode(Table(frame), schema, require=asked))


def persons(folder: Path | None) -> None:
    frame = tables.census(folder, 600_000)
    if frame is None:
        print("no census table: persons are skipped")
        return
    who = np.sort(np.random.default_rng(0).integers(0, 35_000, size=105_000))
    people = {"who": pl.Series(who)}
    asked = [KAnonymity(K, person="who")]
    head("105,000 rows", "k rows", "k persons")
    table = encode(Table(frame[who]), tables.census_schema(), require=asked, persons=people)
    compared("three each", table)


def compared(first: str, table: EncodedTable) -> None:
    """Print a row: k alone, and all that was asked for."""
    plain = replace(table, constraints=None)
    row(first, table, partial(formed, "covey", plain, K), partial(formed, "covey", table, K))


# ── bounds ──────────────────────────────────────────────────────────────────────────────────────


def bounds(folder: Path | None) -> None:
    schema = schema_without(tables.adult_schema(folder), tables.SENSITIVE)
    sensitive, t, requirement = ASKED[-1]
    asked = [KAnonymity(K), requirement]
    table = encode(Table(tables.adult(folder)), schema, require=asked)
    assert table.constraints is not None
    values = table.constraints.columns[sensitive].values
    lost = measure_groups(table, formed("covey", replace(table, constraints=None), K)).total_il
    nearest = np.concatenate(
        [np.partition(distances(table, rows), K - 1)[:, K - 1] for rows in pieces(table.rows)]
    )
    total = 0.0
    for value in (0, 1):
        own, other = np.flatnonzero(values == value), np.flatnonzero(values != value)
        least = len(other) / table.rows - t
        total += transported(table, own, other, nearest[own], (1 - least) / least)
    head("loss of k alone", "bound for k", f"bound for t = {t:g}", "divided by the loss of k alone")
    print(f"| {lost:,.0f} | {nearest.sum():,.0f} | {total:,.0f} | {total / lost:.2f} |", flush=True)


def transported(
    table: EncodedTable, own: Longs, other: Longs, nearest: NDArray[np.float32], most: float
) -> float:
    """A lower bound of what `own` rows lose, if each `other` row serves at most so many of them."""
    prices, best = np.zeros(len(other), dtype=np.float32), 0.0
    costs = np.concatenate([distances(table, own[rows], other) for rows in pieces(len(own))])
    costs = np.maximum(costs, nearest[:, None]).astype(np.float32)
    for step in range(STEPS):
        loads, bound = np.zeros(len(other)), -most * float(prices.sum())
        for rows in pieces(len(own)):
            priced = costs[rows] + prices
            choice = priced.argmin(axis=1)
            bound += float(np.take_along_axis(priced, choice[:, None], axis=1).sum())
            loads += np.bincount(choice, minlength=len(other))
        best = max(best, bound)
        excess = np.clip(loads / most - 1, -1, 3) * 0.08 / (1 + step / 15)
        prices = np.maximum(prices + excess, 0).astype(np.float32)
    return best


def distances(table: EncodedTable, rows: Longs, others: Longs | None = None) -> NDArray[np.float32]:
    """What each of some rows would lose in a group with each other row."""
    others = np.arange(table.rows) if others is None else others
    cells, forest = table.cells, table.forest
    total = np.zeros((len(rows), len(others)), dtype=np.float32)
    for numbers, weight in zip(cells.numbers.T, cells.weights, strict=True):
        total += weight * np.minimum(abs(numbers[rows][:, None] - numbers[others]), 1)
    for codes in cells.codes.T:
        known, place = np.unique(codes, return_inverse=True)
        above = forest.ancestors[known]
        same = (above[:, None] == above) & (above >= 0)
        pairs = forest.loss[above[np.arange(len(known))[:, None], same.sum(axis=2) - 1]]
        total += pairs.astype(np.float32)[place[rows][:, None], place[others]]
    return total


def pieces(rows: int) -> list[Longs]:
    return np.array_split(np.arange(rows), max(1, rows // 500))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="all by default")
    tables.add_data_option(parser)
    asked = parser.parse_args()
    for part in asked.part or PARTS:
        print(f"{part}:")
        globals()[part](asked.data)


if __name__ == "__main__":
    main()
