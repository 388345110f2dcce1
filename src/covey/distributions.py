"""How the values of each quasi-identifier are spread before and after, and how large classes are.

A report may be read by anyone who has the release, so what is told of the original are counts of k
people at least. Ranges of numbers and dates end at round ones and are open towards both sides, so
that no end is anybody's value; a category is named only if k people have it. What is left is told
together, and is never fewer than k either: else the difference to all rows would tell it.

After, rows are counted as an analyst of the release would: a cell may stand for any value that it
covers, all of them equally likely.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from math import ceil, floor, inf, log10, nextafter
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey.encoding import MISSING_LEAF, Attribute, Category, EncodedTable, Interval
from covey.generalisation import boxes_of
from covey.kernels.arrays import Floats, Longs
from covey.tables import Table
from covey.workload import Column, released_columns

MOST_BINS = 10
OTHERS, EVERYTHING, MISSING = "other values", "all values", "missing"
PRESENT = "not missing"
_TAILS = 20  # one row in so many lies beyond the first, and beyond the last round number
_COVERED = 0.9  # of the rows under a node must be under children that can be named

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Bin:
    """Some values of a column, and how many rows have them; None is fewer than k, or not told."""

    label: str
    before: int | None
    after: float | None  # expected, where a cell may stand for any value that it covers
    certain: int | None  # rows among them whose cells cover no other values than these


@dataclass(frozen=True)
class Distribution:
    """One quasi-identifier before and after."""

    column: str
    bins: tuple[Bin, ...]
    exact: float  # share of the released rows that still show one value
    nothing: float  # share of those whose cell may stand for any value of the column


@dataclass(frozen=True)
class ClassSizes:
    """How many classes have from `least` to `most` rows, and how many rows these are."""

    least: int
    most: int
    classes: int
    rows: int


# ── columns ─────────────────────────────────────────────────────────────────────────────────────


def distributions(
    original: EncodedTable,
    released: Table,
    k: int,
    *,
    persons: pl.Series | None = None,
    same_rows: bool = True,
) -> tuple[Distribution, ...]:
    """Every quasi-identifier before and after.

    `original` are the people of the release and nobody else: what was known of those left out would
    be the difference to what is released. Where it holds others too, `same_rows` is off, and
    no count of it is told. `persons` tell whose row each is, where k counts them.
    """
    counted = _one_row_each(original.rows, persons)
    return tuple(
        _distribution(attribute, column, k, counted, same_rows=same_rows)
        for attribute, column in zip(
            original.attributes, released_columns(original, released), strict=True
        )
    )


def _one_row_each(rows: int, persons: pl.Series | None) -> Mask:
    """One row of each person: never more of them are in a bin than persons are."""
    if persons is None:
        return np.ones(rows, dtype=np.bool_)
    return (persons.is_first_distinct() & persons.is_not_null()).to_numpy()


class _Bins(NamedTuple):
    """What the bins are called, which one each row has, and the share of each cell in each."""

    labels: list[str]
    rows: Longs
    cells: Floats


def _distribution(
    attribute: Attribute, column: Column, k: int, counted: Mask, *, same_rows: bool
) -> Distribution:
    rows = np.bincount(column.cell, minlength=len(column.low))
    bins = (
        _category_bins(attribute, column, k, counted)
        if isinstance(attribute, Category)
        else _interval_bins(attribute, column, k, counted)
    )
    before = np.bincount(bins.rows, minlength=len(bins.labels)).tolist()
    after = (rows @ bins.cells).tolist()
    certain = (rows @ (bins.cells > 1 - 1e-9)).tolist()
    one = np.isnan(column.low) | (column.low == column.high)
    anything = ~one & (column.high - column.low >= _widest(attribute))
    return Distribution(
        column=attribute.name,
        bins=tuple(
            Bin(
                label,
                before[i] if same_rows and before[i] >= k else None,
                round(after[i], 1) if after[i] >= k else None,
                certain[i] if certain[i] >= k else None,
            )
            for i, label in enumerate(bins.labels)
        ),
        exact=float(rows @ one / rows.sum()),
        nothing=float(rows @ anything / rows.sum()),
    )


def _widest(attribute: Attribute) -> float:
    if isinstance(attribute, Category):
        return attribute.tree.leaf_count - 1
    return attribute.width


# ── numbers and dates ───────────────────────────────────────────────────────────────────────────


def _interval_bins(interval: Interval, column: Column, k: int, counted: Mask) -> _Bins:
    """Ranges of k people at least; a missing number is one more, or told with the last."""
    absent = np.isnan(interval.values)
    scale = _scale(interval, column.step, k)
    fine = np.searchsorted(scale.ends, interval.values, side="right")
    counts = np.bincount(fine[counted & ~absent], minlength=len(scale.ends) + 1)
    if absent.all():
        return _everything(MISSING, len(absent), len(column.low))
    if counts.sum() < k:
        return _everything(EVERYTHING, len(absent), len(column.low))
    ends = [-inf, *scale.ends[_kept_ends(counts, k)].tolist(), inf]
    labels = [scale.label(low, high) for low, high in pairwise(ends)]
    shares = [column.shares(low, _before(high, column.step)) for low, high in pairwise(ends)]
    rows = np.searchsorted(ends[1:-1], interval.values, side="right").astype(np.int64)
    if absent.any():
        nowhere = np.isnan(column.low).astype(np.float64)
        if np.count_nonzero(absent & counted) >= k:
            labels = [*(labels if len(labels) > 1 else [PRESENT]), MISSING]
            shares = [*shares, nowhere]
        else:
            labels[-1] += f", or {MISSING}"
            shares[-1] = shares[-1] + nowhere
        rows[absent] = len(labels) - 1
    return _Bins(labels, rows, np.column_stack(shares))


def _everything(label: str, rows: int, cells: int) -> _Bins:
    return _Bins([label], np.zeros(rows, dtype=np.int64), np.ones((cells, 1)))


def _before(end: float, step: float) -> float:
    """The last value before an end."""
    return end - step if step else nextafter(end, -inf)


def _kept_ends(counts: Longs, k: int) -> list[int]:
    """The ends between neighbouring ranges of which each has k people."""
    kept: list[int] = []
    behind, ahead = 0, int(counts.sum())
    for place, count in enumerate(counts[:-1].tolist()):
        behind, ahead = behind + count, ahead - count
        if behind >= k and ahead >= k:
            kept.append(place)
            behind = 0
    return kept


class _Scale(NamedTuple):
    """Round numbers or days between which values are counted, and what a range is called."""

    ends: Floats
    label: Callable[[float, float], str]


def _scale(interval: Interval, step: float, k: int) -> _Scale:
    present = np.sort(interval.values[~np.isnan(interval.values)])
    name = _date_label if interval.is_date else _number_label(step)
    for tail in (max(k, len(present) // _TAILS), k):
        if len(present) >= 2 * tail and present[tail - 1] < present[-tail]:
            low, high = float(present[tail - 1]), float(present[-tail])
            if interval.is_date and high - low > 2 * _MONTH:
                return _Scale(_months_between(low, high), name)
            return _Scale(_round_between(low, high, step), name)
    return _Scale(np.array([]), name)


def _round_between(low: float, high: float, step: float) -> Floats:
    """Multiples of 1, 2 or 5 times a power of ten."""
    wanted = max((high - low) / (MOST_BINS - 2), step)
    power = floor(log10(wanted))
    width = next(w for w in (1, 2, 5, 10) if w * 10.0**power >= wanted * (1 - 1e-9))
    first, last = (floor(end / (width * 10.0**power)) for end in (low, high))
    ends = [width * multiple for multiple in range(first + 1, last + 1)]
    # Divided by a whole number, an end is the number that its digits say.
    scaled = [end * 10**power if power >= 0 else end / 10**-power for end in ends]
    return np.array(scaled, dtype=np.float64)


_MONTH = 31
_MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12000, 120_000)


def _months_between(low: float, high: float) -> Floats:
    """First days of months, quarters, half years, years, decades."""
    months = [day.year * 12 + day.month - 1 for day in (_day(low), _day(high))]
    wanted = (months[1] - months[0]) / (MOST_BINS - 2)
    width = next(w for w in _MONTHS if w >= wanted)
    multiples = range(months[0] // width + 1, months[1] // width + 1)
    firsts = [date(m * width // 12, m * width % 12 + 1, 1) for m in multiples]
    return np.array([(first - _EPOCH).days for first in firsts], dtype=np.float64)


_EPOCH = date(1970, 1, 1)


def _day(days: float) -> date:
    return _EPOCH + timedelta(days=int(days))


def _number_label(step: float) -> Callable[[float, float], str]:
    def label(low: float, high: float) -> str:
        if low == -inf:
            return EVERYTHING if high == inf else f"under {_spelled(high)}"
        if high == inf:
            return f"{_spelled(low)} and more"
        if not step:
            return f"{_spelled(low)} to under {_spelled(high)}"
        last = high - step
        return _spelled(low) if low == last else f"{_spelled(low)} to {_spelled(last)}"

    return label


def _spelled(number: float) -> str:
    return f"{number:,.10g}"


def _date_label(low: float, high: float) -> str:
    if low == -inf:
        return EVERYTHING if high == inf else f"before {_first_day(high)}"
    if high == inf:
        return f"from {_first_day(low)}"
    first, last = _day(low), _day(high - 1)
    if first.day > 1 or _day(high).day > 1:
        return str(first) if first == last else f"{first} to {last}"
    form = "%Y" if (first.month, last.month) == (1, 12) else "%Y-%m"
    names = [f"{day.strftime(form)}" for day in (first, last)]
    return names[0] if names[0] == names[1] else " to ".join(names)


def _first_day(days: float) -> str:
    day = _day(days)
    if day.day > 1:
        return str(day)
    return day.strftime("%Y-%m" if day.month > 1 else "%Y")


# ── categories ──────────────────────────────────────────────────────────────────────────────────


def _category_bins(category: Category, column: Column, k: int, counted: Mask) -> _Bins:
    """The nodes that k people are under, those of most rows first, and all other values."""
    tree = category.tree
    ancestors = tree.ancestors[: tree.leaf_count]
    rows, people = (_under(category, some) for some in (None, counted))
    named = _told(_cut(category, people, k), rows, people, k)
    if not named:
        return _everything(EVERYTHING, len(category.leaves), len(column.low))
    labels = [MISSING if tree.labels[n] == MISSING_LEAF else tree.labels[n] for n in named]
    bin_of_leaf = np.full(tree.leaf_count, len(named))
    for place, node in enumerate(named):
        bin_of_leaf[(ancestors == node).any(axis=1)] = place
    if (bin_of_leaf == len(named)).any():
        labels.append(OTHERS)
    inside = bin_of_leaf[:, None] == np.arange(len(labels))
    until = np.vstack([np.zeros(len(labels)), np.cumsum(inside, axis=0)])
    low, behind = column.low.astype(np.int64), column.high.astype(np.int64) + 1
    cells = (until[behind] - until[low]) / (behind - low)[:, None]
    return _Bins(labels, bin_of_leaf[category.leaves], cells)


def _under(category: Category, some: Mask | None) -> Longs:
    """How many of the rows are under each node."""
    leaves = category.leaves if some is None else category.leaves[some]
    tree = category.tree
    found = np.zeros(len(tree.labels), dtype=np.int64)
    ancestors = tree.ancestors[: tree.leaf_count]
    weights = np.bincount(leaves, minlength=tree.leaf_count)
    for depth in range(ancestors.shape[1]):
        there = ancestors[:, depth] >= 0
        np.add.at(found, ancestors[there, depth], weights[there])
    return found


def _cut(category: Category, people: Longs, k: int) -> list[int]:
    """Nodes across the tree, as low as there is room for and as k people are under them."""
    tree = category.tree
    below: list[list[int]] = [[] for _ in tree.labels]
    for node, above in enumerate(tree.parent[: tree.root].tolist()):
        below[above].append(node)
    cut = below[tree.root]

    def nameable(nodes: list[int]) -> list[int]:
        return [node for node in nodes if people[node] >= k]

    def finer() -> Iterator[list[int]]:
        named = nameable(cut)
        for node in sorted((n for n in named if below[n]), key=lambda node: -people[node]):
            children = nameable(below[node])
            room = len(named) - 1 + len(children) < MOST_BINS
            if room and people[children].sum() >= _COVERED * people[node]:
                yield [*(other for other in cut if other != node), *below[node]]

    while found := next(finer(), None):
        cut = found
    return nameable(cut)


def _told(cut: list[int], rows: Longs, people: Longs, k: int) -> list[int]:
    """Those of most rows first; as many as there is room for, and as leave k to the others."""
    named = sorted(cut, key=lambda node: (-rows[node], node))
    if len(named) > MOST_BINS:
        named = named[: MOST_BINS - 1]
    root = len(rows) - 1
    while named:
        left, unnamed = rows[root] - rows[named].sum(), people[root] - people[named].sum()
        if not left or unnamed >= k:
            break
        named.pop()
    return named


# ── classes ─────────────────────────────────────────────────────────────────────────────────────


def class_sizes(original: EncodedTable, released: Table) -> tuple[ClassSizes, ...]:
    """How large classes are: size by size where these are few, else in ever wider ranges."""
    _, sizes = boxes_of(original, released)
    found = []
    for start, behind in pairwise(_starts(int(sizes.min()), int(sizes.max()))):
        within = sizes[(sizes >= start) & (sizes < behind)]
        if len(within):
            most = min(behind - 1, int(sizes.max()))
            found.append(ClassSizes(start, most, len(within), int(within.sum())))
    return tuple(found)


def _starts(smallest: int, largest: int) -> list[int]:
    """Where ranges of sizes begin, the last behind them all."""
    if largest - smallest < MOST_BINS:
        return list(range(smallest, largest + 2))
    starts = [*range(smallest, 2 * smallest, ceil(smallest / 5)), 2 * smallest]
    while starts[-1] <= largest:
        starts.append(2 * starts[-1])
    return starts
