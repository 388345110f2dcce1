"""Distributions of each quasi-identifier before and after, and the sizes of classes.

Anyone who has the release may read a report, so counts of the original are published only if they
are at least k. Ranges of numbers and dates end at round values, and the first and last range are
open, so no end is a person's value. A category is named only if k people have it. All other values
are counted together, and never fewer than k either: the difference to all rows would reveal them.

A reader of the release knows which rows certainly have a value, and which may have it. Subtracting
the former from a count of the original gives how many of the latter have it. So a count is withheld
unless at least k of them do and k do not, or all rows are certain anyway. The same applies to all
sums of counts.

After, rows are counted as an analyst of the release would: all values that a cell covers are
equally likely.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from math import ceil, floor, inf, log10, nextafter
from typing import NamedTuple

import numpy as np
import polars as pl

from covey._core.arrays import Floats, Longs
from covey.encoding import (
    MISSING_LEAF,
    Attribute,
    Category,
    Counted,
    EncodedTable,
    Interval,
    Tally,
)
from covey.encoding.attributes import Mask
from covey.generalisation import ShownColumn, View
from covey.measures.spans import Spans, released_spans

MOST_BINS = 10
OTHERS, EVERYTHING, MISSING = "other values", "all values", "missing"
PRESENT, ANYTHING = "not missing", "any value"
_TAILS = 20  # one in this many rows lies below the first round number, and above the last
_COVERED = 0.9  # share of the rows under a node that must be under children with k people


@dataclass(frozen=True)
class Bin:
    """Some values of a column and their counts; None if fewer than k, or withheld."""

    label: str
    before: int | None  # withheld if, with the release, it would reveal fewer than k
    after: float | None  # expected, with all values that a cell covers equally likely
    certain: int | None  # rows whose cells cover only values of this bin
    # Of a range of numbers or dates: its first value and the first one after it; "" if it is open.
    ends: tuple[str, str] | None = None


@dataclass(frozen=True)
class Distribution:
    """One quasi-identifier before and after."""

    column: str
    bins: tuple[Bin, ...]
    exact: float  # share of released rows that still show one value
    nothing: float  # share of released rows whose cell covers all values of the column


@dataclass(frozen=True)
class ClassSizes:
    """The number of classes with `least` to `most` rows, and their rows in total."""

    least: int
    most: int
    classes: int
    rows: int


# ── columns ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False, repr=False)
class Persons:
    """How the rows of an original belong to persons, if k counts persons."""

    people: int
    most: int  # rows of one person
    unknown: int  # rows without a person
    one_each: Tally | None  # of one row of each person; None if the rows are not in memory

    @classmethod
    def of(cls, persons: pl.Series, original: EncodedTable) -> "Persons":
        """From the person of each row, null if unknown."""
        sizes = persons.drop_nulls().value_counts(name="rows")["rows"]
        one_each = (persons.is_first_distinct() & persons.is_not_null()).arg_true()
        return cls(
            len(sizes),
            int(sizes.max() or 1),  # type: ignore[arg-type]
            persons.null_count(),
            Tally.of(original.take(one_each.to_numpy().astype(np.int64))),
        )


def rows_of(k: int, persons: Persons | None) -> int:
    """The number of rows that always belong to at least k people."""
    return k if persons is None else k * persons.most + persons.unknown


def distributions(
    view: View, k: int, *, persons: Persons | None = None
) -> tuple[Distribution, ...]:
    """The distribution of every quasi-identifier before and after.

    Counts of an original with suppressed rows would reveal these rows by the difference to the
    release, so they are withheld. With `persons`, k counts persons: a bin never counts more rows
    than persons. If it is unknown how many have a value, so many rows are required that there are
    always k.
    """
    persons = persons if view.same_rows else None
    least = rows_of(k, persons)
    counted = view.publishable.original
    if persons is not None:
        counted, k = (counted, least) if persons.one_each is None else (persons.one_each, k)
    columns = [column.on_shown_scale for column in view.publishable.columns]
    spans = released_spans(columns, [np.arange(len(column.counts)) for column in columns])
    return tuple(
        _distribution(column, own, k, people, least=least, same_rows=view.same_rows)
        for column, own, people in zip(columns, spans, counted.columns, strict=True)
    )


class _Bins(NamedTuple):
    """The labels of the bins, the bin of each value, and the share of each cell in each bin."""

    labels: list[str]
    values: Longs
    cells: Floats
    covers: Mask  # which cells cover a value of which bin
    ends: Sequence[tuple[str, str]] = ()  # of the first bins, if they are ranges


def _distribution(
    shown: ShownColumn, column: Spans, k: int, people: Counted, *, least: int, same_rows: bool
) -> Distribution:
    attribute, rows = shown.attribute, shown.counts
    if isinstance(attribute, Category):
        bins = _category_bins(shown, attribute, column, k, people, same_rows=same_rows)
    else:
        assert isinstance(attribute, Interval)
        bins = _interval_bins(shown, attribute, column, k, people, same_rows=same_rows)
    before = _sums(bins.values, shown.original, len(bins.labels))
    after = (rows @ bins.cells).tolist()
    alone = bins.covers.sum(axis=1) == 1
    alone[bins.covers[:, [label == ANYTHING for label in bins.labels]].any(axis=1)] = False
    certain = (rows @ (bins.covers & alone[:, None])).tolist()
    told = (before >= k) & _tellable(before, rows, bins.covers, least)
    # An empty bin that no cell covers is omitted: a suppressed person may have been in it.
    there = bins.covers.any(axis=0) | (before > 0 if same_rows else False)
    whole = column.hidden | _open(attribute, column)
    one = np.isnan(column.low) | (column.low == column.high) & ~whole & (not column.loose)
    anything = ~one & (column.hidden | (column.high - column.low >= attribute.width))
    return Distribution(
        column=attribute.name,
        bins=tuple(
            Bin(
                bins.labels[i],
                int(before[i]) if same_rows and told[i] else None,
                round(after[i], 1) if after[i] >= k else None,
                certain[i] if certain[i] >= k else None,
                bins.ends[i] if i < len(bins.ends) else None,
            )
            for i in np.flatnonzero(there).tolist()
        ),
        exact=float(rows @ one / rows.sum()),
        nothing=float(rows @ anything / rows.sum()),
    )


def _sums(places: Longs, rows: Longs, least: int) -> Longs:
    """The number of rows at each place."""
    return np.bincount(places, rows, least).astype(np.int64)


def _tellable(before: Longs, rows: Longs, covers: Mask, least: int) -> Mask:
    """The bins whose counts may be published to a reader who has the release.

    For any set of bins whose counts the reader can add up, also by the difference to all rows, the
    reader knows how many rows are certainly in it. The rest of the count are rows that only may be
    in it. There must be at least `least` of these, and as many that may be in it and are not.
    """
    sets, bit = np.arange(1 << len(before)), 1 << np.arange(len(before))
    unsure = np.zeros(len(sets), dtype=np.int64)
    np.add.at(unsure, bit, before)
    np.subtract.at(unsure, covers @ bit, rows)
    unsure[0] = 0  # cells that cover no bin, possible in releases of other software
    for place in range(len(before)):  # sums over all subsets of a set, one bin at a time
        without, within = unsure.reshape(-1, 2, 1 << place).swapaxes(0, 1)
        within += without
    beyond = unsure[::-1]  # the same for all other bins
    margin = np.minimum(unsure, beyond)
    wrong = (margin < least) & ((unsure != 0) | (beyond != 0))
    told = np.ones(len(before), dtype=np.bool_)
    while len(found := sets[wrong & (sets > 0) & (sets & ~(told @ bit) == 0)]):
        fewest = min(found.tolist(), key=int.bit_count)
        among = [place for place in range(len(before)) if fewest >> place & 1]
        told[min(among, key=lambda place: margin[1 << place])] = False
    return told


def _open(attribute: Attribute, column: Spans) -> Mask:
    """The cells that reach a bound of the column, and so cover values beyond it."""
    bottom, top = attribute.column.bounds
    reaching: Mask = (column.low <= bottom) | (column.high >= top)
    return reaching


# ── numbers and dates ───────────────────────────────────────────────────────────────────────────


def _interval_bins(
    shown: ShownColumn,
    interval: Interval,
    column: Spans,
    k: int,
    people: Counted,
    *,
    same_rows: bool,
) -> _Bins:
    """Ranges of at least k people; missing is a bin of its own, or part of the last bin."""
    absent, unknown = interval.absent, people.attribute.absent
    scale = _scale(interval, shown.original, column.step, k)
    fine = np.searchsorted(scale.ends, people.attribute.values[~unknown], side="right")
    counts = _sums(fine, people.rows[~unknown], len(scale.ends) + 1)
    if absent.all():
        return _everything(MISSING, len(absent), len(column.low))
    if counts.sum() < k:
        return _everything(EVERYTHING, len(absent), len(column.low))
    ends = [-inf, *scale.ends[_kept_ends(counts, k)].tolist(), inf]
    labels = [scale.label(low, high) for low, high in pairwise(ends)]
    ranges = [(low, _before(high, column.step)) for low, high in pairwise(ends)]
    shares = [column.shares(low, high) for low, high in ranges]
    if not interval.width:  # no cell shows the range of values
        shares = [np.where(column.hidden, 1 / len(ranges), share) for share in shares]
    covers = [column.covers(low, high) for low, high in ranges]
    places = np.searchsorted(ends[1:-1], interval.values, side="right").astype(np.int64)
    nowhere = np.isnan(column.low)
    if absent.any() if same_rows else (nowhere | column.hidden).any():
        if people.rows[unknown].sum() >= k:
            labels = [*(labels if len(labels) > 1 else [PRESENT]), MISSING]
            shares = [*shares, nowhere.astype(np.float64)]
            covers = [*covers, nowhere | column.hidden]
        else:
            labels[-1] += f", or {MISSING}"
            shares[-1] = shares[-1] + nowhere
            covers[-1] = covers[-1] | nowhere
        places[absent] = len(labels) - 1
    spelled = ["", *map(_first_day if interval.is_date else _spelled, ends[1:-1]), ""]
    told = list(pairwise(spelled))
    return _Bins(labels, places, np.column_stack(shares), np.column_stack(covers), told)


def _everything(label: str, values: int, cells: int) -> _Bins:
    one = np.ones((cells, 1))
    return _Bins([label], np.zeros(values, dtype=np.int64), one, one > 0)


def _before(end: float, step: float) -> float:
    """The last value before an end."""
    return end - step if step else nextafter(end, -inf)


def _kept_ends(counts: Longs, k: int) -> list[int]:
    """Choose the ends so that each range has at least k people."""
    kept: list[int] = []
    behind, ahead = 0, int(counts.sum())
    for place, count in enumerate(counts[:-1].tolist()):
        behind, ahead = behind + count, ahead - count
        if behind >= k and ahead >= k:
            kept.append(place)
            behind = 0
    return kept


class _Scale(NamedTuple):
    """Round numbers or days as ends of ranges, and a function for the label of a range."""

    ends: Floats
    label: Callable[[float, float], str]


def _scale(interval: Interval, rows: Longs, step: float, k: int) -> _Scale:
    order = np.argsort(interval.values, kind="stable")[: np.count_nonzero(~interval.absent)]
    present, behind = interval.values[order], np.cumsum(rows[order])
    total = int(behind[-1]) if len(behind) else 0
    name = _date_label if interval.is_date else _number_label(step)
    for tail in (max(k, total // _TAILS), k):
        ends = np.searchsorted(behind, [tail, total - tail + 1])  # the places of these rows
        if total >= 2 * tail and present[ends[0]] < present[ends[1]]:
            low, high = present[ends].tolist()
            if interval.is_date and high - low > 2 * _MONTH:
                return _Scale(_months_between(low, high), name)
            return _Scale(_round_between(low, high, step), name)
    return _Scale(np.array([]), name)


# In a narrower range, floats cannot represent round numbers.
_TINY = 1e-300


def _round_between(low: float, high: float, step: float) -> Floats:
    """Multiples of 1, 2 or 5 times a power of ten, between two numbers."""
    wanted = max((high - low) / (MOST_BINS - 2), step)
    if wanted < _TINY:
        return np.array([])
    power = floor(log10(wanted))
    width = next(w for w in (1, 2, 5, 10) if w * 10.0**power >= wanted * (1 - 1e-9))
    first, last = (floor(end / (width * 10.0**power)) for end in (low, high))
    ends = [width * multiple for multiple in range(first + 1, last + 1)]
    # Dividing by a whole number gives the float nearest to the decimal end.
    scaled = [end * 10**power if power >= 0 else end / 10**-power for end in ends]
    return np.array(scaled, dtype=np.float64)


_MONTH = 31
_MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12000, 120_000)


def _months_between(low: float, high: float) -> Floats:
    """First days of months, quarters, half-years, years or decades, between two days."""
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


def _category_bins(
    shown: ShownColumn,
    category: Category,
    column: Spans,
    k: int,
    people: Counted,
    *,
    same_rows: bool,
) -> _Bins:
    """The nodes with at least k people, sorted by rows, and all other values together."""
    tree = category.tree
    known = _known_leaves(category, column, same_rows=same_rows)
    ancestors = tree.ancestors[: tree.leaf_count]
    if same_rows:
        every = np.arange(tree.leaf_count)
        rows, persons = (
            _under(category, every, every, _sums(own.places, times, tree.leaf_count))
            for own, times in ((category, shown.original), people)
        )
    else:  # only values that the release shows may be named
        low, high = (end.astype(np.int64) for end in (column.low, column.high))
        rows = persons = _under(category, low, high, shown.counts)
    named = _told(_cut(category, persons, k), rows, persons, k)
    if not named or not known.any():
        return _everything(EVERYTHING, len(category.leaves), len(column.low))
    labels = [MISSING if tree.labels[n] == MISSING_LEAF else tree.labels[n] for n in named]
    bin_of_leaf = np.full(tree.leaf_count, len(named))
    for place, node in enumerate(named):
        bin_of_leaf[(ancestors == node).any(axis=1)] = place
    if (bin_of_leaf == len(named)).any():
        labels.append(OTHERS)
    inside = (bin_of_leaf[:, None] == np.arange(len(labels))) & known[:, None]
    until = np.vstack([np.zeros(len(labels)), np.cumsum(inside, axis=0)])
    low, behind = column.low.astype(np.int64), column.high.astype(np.int64) + 1
    leaves = until[behind] - until[low]
    if category.column.has_own_tree and not same_rows:
        # The number of values that such cells cover is known only from the original.
        leaves[~_telling(category, column)] = 0
        labels.append(ANYTHING)
        leaves = np.column_stack([leaves, ~_telling(category, column)])
    cells = leaves / np.maximum(leaves.sum(axis=1, keepdims=True), 1)
    return _Bins(labels, bin_of_leaf[category.leaves], cells, leaves > 0)


def _telling(category: Category, column: Spans) -> Mask:
    """The cells that do not cover all values of the column."""
    width = column.high - column.low
    telling: Mask = (width == 0) | (width < category.width)
    return telling


def _known_leaves(category: Category, column: Spans, *, same_rows: bool) -> Mask:
    """The leaves that cells may cover, as far as readers may know them.

    Unless it is declared, a leaf may exist only for suppressed people. So only leaves of released
    rows are used or, if these are unknown, leaves under cells that do not cover everything.
    """
    leaves = category.tree.leaf_count
    if same_rows:
        seen: Mask = np.bincount(category.leaves, minlength=leaves) > 0
    else:
        telling = _telling(category, column)
        steps = np.zeros(leaves + 1, dtype=np.int64)
        np.add.at(steps, column.low[telling].astype(np.int64), 1)
        np.subtract.at(steps, column.high[telling].astype(np.int64) + 1, 1)
        seen = np.cumsum(steps[:-1]) > 0
    if category.column.has_own_tree:
        return seen
    declared = np.array([label != MISSING_LEAF for label in category.tree.leaves])
    return seen | declared.astype(np.bool_)


def _under(category: Category, low: Longs, high: Longs, rows: Longs) -> Longs:
    """The number of rows under each node, from rows that span `low` to `high` leaves."""
    tree = category.tree
    found = np.zeros(len(tree.labels), dtype=np.int64)
    for first, last in zip(tree.ancestors[low].T, tree.ancestors[high].T, strict=True):
        under = (first == last) & (first >= 0)
        np.add.at(found, first[under], rows[under])
    return found


def _cut(category: Category, people: Longs, k: int) -> list[int]:
    """Nodes across the tree, as low as possible with few bins and at least k people each."""
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
    """The nodes to name, sorted by rows: not too many, and with at least k people left over."""
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


def class_sizes(view: View) -> tuple[ClassSizes, ...]:
    """The sizes of classes: each size if there are few, otherwise in ever wider ranges."""
    sizes = view.classes.sizes
    found = []
    for start, behind in pairwise(_starts(int(sizes.min()), int(sizes.max()))):
        within = sizes[(sizes >= start) & (sizes < behind)]
        if len(within):
            most = min(behind - 1, int(sizes.max()))
            found.append(ClassSizes(start, most, len(within), int(within.sum())))
    return tuple(found)


def _starts(smallest: int, largest: int) -> list[int]:
    """The starts of ranges of sizes, and last the end of the last range."""
    if largest - smallest < MOST_BINS:
        return list(range(smallest, largest + 2))
    starts = [*range(smallest, 2 * smallest, ceil(smallest / 5)), 2 * smallest]
    while starts[-1] <= largest:
        starts.append(2 * starts[-1])
    return starts
