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

`bounds`: how much of this the requirements themselves cost. First, lower bounds of the loss on
Adult, with a requirement and, of the same kind, for k alone. A row loses at least its distance from
each other member of its group: so at least that from the k-th nearest row. If no value has more
than 1/l of a group, at least that from the last of the nearest rows that can be such a group with
it. If at least a share s of each group has the other of two values, at least the mean distance from
the members with it, and no row serves more than (1 - s) / s others: a transport problem, and any
prices for the rows that serve give a bound from below. Then the least loss that is possible at all,
by trying every grouping of 18 rows with k = 6: rows from anywhere in Adult, and from the 60 rows
nearest to a random one, where groups for k alone lose little. Takes minutes and gigabytes.

Times are processor seconds for clustering only, in one run.
Run: python -m benchmarks.requirements [--part PART ...] [--data FOLDER]
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks import tables
from numpy.typing import NDArray

from covey import METHODS, KAnonymity, LDiversity, Schema, TCloseness
from covey._core.arrays import Flags, Floats, Ints, Longs
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
LOOK, LARGEST = 400, 60  # nearest rows to look at, and the largest group among them
SAMPLE, SMALL_K, SAMPLES, NEAR = 18, 6, 10, 60
Singles = NDArray[np.float32]
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
    head("in addition to k = 10", "k alone", "bound for k", "bound", "bound / bound for k")
    diverse, figure, frequency = ASKED[0]
    table = asked_of_adult(folder, diverse, frequency)
    bound(f"{frequency.name}, {figure:g}", table, partial(spread, int(figure)))
    income, t, closeness = ASKED[-1]
    table = asked_of_adult(folder, income, closeness)
    bound(f"{closeness.name}, {t:g}", table, partial(balanced, t))
    print()
    head(f"least loss of {SAMPLE} rows, k = {SMALL_K}, over that of k alone", "anywhere", "near")
    for sensitive, figure, requirement in ASKED:
        table = asked_of_adult(folder, sensitive, requirement)
        cells = [f"{ratio(table, requirement, near):.2f}" for near in (None, NEAR)]
        print(f"| {requirement.name}, {figure:g} | " + " | ".join(cells) + " |", flush=True)


def asked_of_adult(folder: Path | None, sensitive: str, requirement: Requirement) -> EncodedTable:
    schema = schema_without(tables.adult_schema(folder), sensitive)
    return encode(Table(tables.adult(folder)), schema, require=[KAnonymity(K), requirement])


def values_of(table: EncodedTable) -> Ints:
    assert table.constraints is not None
    (column,) = table.constraints.columns.values()
    return column.values


def bound(name: str, table: EncodedTable, find: Callable[[EncodedTable, Singles], float]) -> None:
    """Print a row: the loss for k alone, and the bounds without and with the requirement."""
    lost = measure_groups(table, formed("covey", replace(table, constraints=None), K)).total_il
    nearest = np.concatenate(
        [np.partition(distances(table, rows), K - 1)[:, K - 1] for rows in pieces(table.rows)]
    )
    total, alone = find(table, nearest), float(nearest.sum())
    print(
        f"| {name} | {lost:,.0f} | {alone:,.0f} | {total:,.0f} | {total / alone:.2f} |", flush=True
    )


def spread(diversity: int, table: EncodedTable, nearest: Singles) -> float:
    """What all rows lose at least if no value has more than 1/l of a group."""
    values, total = values_of(table), 0.0
    for rows in pieces(table.rows):
        far = distances(table, rows)
        far[np.arange(len(rows)), rows] = -1.0  # the row itself comes first
        order = np.argpartition(far, LOOK, axis=1)[:, :LOOK]
        far = np.take_along_axis(far, order, axis=1)
        order = np.take_along_axis(order, np.argsort(far, axis=1, kind="stable"), axis=1)
        far.sort(axis=1)
        same = values[order][:, :, None] == np.arange(values.max() + 1)
        nth = np.take_along_axis(same.cumsum(axis=1), values[order][:, :, None], axis=2)[:, :, 0]
        # Of groups with the same most for each value the smallest is the cheapest. Larger groups
        # than these lose at least the distance of the last row.
        least = far[:, LARGEST - 1]
        for most in range(K // diversity, LARGEST // diversity + 1):
            usable = (nth <= most).cumsum(axis=1) >= max(K, most * diversity)
            reach = np.where(usable[:, -1], usable.argmax(axis=1), LOOK - 1)
            least = np.minimum(least, np.take_along_axis(far, reach[:, None], axis=1)[:, 0])
        total += float(np.maximum(least, nearest[rows]).sum())
    return total


def balanced(t: float, table: EncodedTable, nearest: Singles) -> float:
    """What all rows lose at least if each of two values has its share, up to t, of every group."""
    values, total = values_of(table), 0.0
    for value in (0, 1):
        own, other = np.flatnonzero(values == value), np.flatnonzero(values != value)
        least = len(other) / table.rows - t
        total += transported(table, own, other, nearest[own], (1 - least) / least)
    return total


def transported(
    table: EncodedTable, own: Longs, other: Longs, nearest: Singles, most: float
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


def distances(table: EncodedTable, rows: Longs, others: Longs | None = None) -> Singles:
    """What each of some rows would lose in a group with each other row."""
    others = np.arange(table.rows) if others is None else others
    cells = table.cells
    total = np.zeros((len(rows), len(others)), dtype=np.float32)
    for numbers, weight in zip(cells.numbers.T.astype(np.float32), cells.weights, strict=True):
        total += np.float32(weight) * np.minimum(abs(numbers[rows][:, None] - numbers[others]), 1)
    for codes in cells.codes.T:
        known, pairs = losses_of_pairs(table, codes)
        place = np.searchsorted(known, codes)
        total += pairs.astype(np.float32)[place[rows]][:, place[others]]
    return total


def losses_of_pairs(table: EncodedTable, codes: Ints) -> tuple[Ints, Floats]:
    """The leaves that occur, and the loss of the lowest common ancestor of each two of them."""
    known = np.unique(codes)
    above = table.forest.ancestors[known]
    same = (above[:, None] == above) & (above >= 0)
    return known, table.forest.loss[above[np.arange(len(known))[:, None], same.sum(axis=2) - 1]]


def pieces(rows: int) -> list[Longs]:
    return np.array_split(np.arange(rows), max(1, rows // 500))


def ratio(table: EncodedTable, requirement: Requirement, near: int | None) -> float:
    """The least loss with a requirement, divided by that of k alone, of several samples in all.

    Samples that do not meet the requirement as a whole do not count.
    """
    values, random = values_of(table), np.random.default_rng(0)
    alone, with_it = list[float](), list[float]()
    whole = np.bincount(values) / table.rows
    members = (np.arange(1 << SAMPLE)[:, None] >> np.arange(SAMPLE) & 1).astype(np.bool_)
    sizes = members.sum(axis=1)
    while len(alone) < SAMPLES:
        pool = np.arange(table.rows)
        if near is not None:
            pool = np.argsort(distances(table, random.choice(pool, 1))[0], kind="stable")[:near]
        rows = random.choice(pool, SAMPLE, replace=False)
        counts = members @ (values[rows][:, None] == np.arange(len(whole))).astype(np.int64)
        legal = keeps(requirement, counts, np.maximum(sizes, 1), whole)
        if not legal[-1]:
            continue
        costs = np.where(sizes >= SMALL_K, sizes * losses(table, rows, members), np.inf)
        alone.append(least_of(costs))
        with_it.append(least_of(np.where(legal, costs, np.inf)))
    return sum(with_it) / sum(alone)


def keeps(requirement: Requirement, counts: Longs, sizes: Longs, whole: Floats) -> Flags:
    """The groups, given by how often they have each value, that meet a requirement."""
    shares, kept = counts / sizes[:, None], np.zeros(len(sizes))
    match requirement:
        case LDiversity(kind="entropy", l=l):
            logs = np.log(np.where(shares > 0, shares, 1.0))
            kept = -(shares * logs).sum(axis=1) - np.log(float(l))
        case LDiversity(l=l):
            kept = 1 / int(l) - shares.max(axis=1)
        case TCloseness(t=t):
            kept = float(t) - np.maximum(shares - whole, 0.0).sum(axis=1)
        case _:
            raise NotImplementedError(requirement.name)
    enough: Flags = kept >= -1e-9
    return enough


def losses(table: EncodedTable, rows: Longs, members: Flags) -> Floats:
    """What each member loses in every group of these rows."""
    total = np.zeros(len(members))
    for numbers, weight in zip(table.cells.numbers[rows].T, table.cells.weights, strict=True):
        high = np.where(members, numbers, -np.inf).max(axis=1)
        total += weight * np.clip(high - np.where(members, numbers, np.inf).min(axis=1), 0, 1)
    for codes in table.cells.codes[rows].T:
        known, pairs = losses_of_pairs(table, codes)
        places = np.searchsorted(known, codes)
        first = np.where(members, places, len(known) - 1).min(axis=1)
        total += pairs[first, np.where(members, places, 0).max(axis=1)]
    return total


def least_of(costs: Floats) -> float:
    """The least cost of any grouping of `SAMPLE` rows, which has at most three groups of k."""
    own, part, rest = in_three()
    three = costs[own] + (costs[part] + costs[rest]).min(axis=1)
    return min(float(costs[-1]), float((costs + costs[::-1]).min()), float(three.min()))


@cache
def in_three() -> tuple[Longs, Longs, Longs]:
    """All ways to form three groups: that of the first row, and those of the rest of the rows."""
    free = np.array([*combinations(range(1, SAMPLE), SAMPLE - SMALL_K)])
    halves = np.array([(0, *some) for some in combinations(range(1, 2 * SMALL_K), SMALL_K - 1)])
    both, part = (1 << free).sum(axis=1), (1 << free[:, halves]).sum(axis=2)
    return (1 << SAMPLE) - 1 - both, part, both[:, None] - part


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
