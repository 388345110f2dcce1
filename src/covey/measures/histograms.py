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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf, nextafter
from typing import NamedTuple

import numpy as np
import polars as pl

from covey._core.arrays import Floats, Longs
from covey.encoding import MISSING_LEAF, Category, EncodedTable, Interval, Tally, ValueCounts
from covey.encoding.attributes import Mask
from covey.generalisation import ShownColumn, View
from covey.measures.scales import (
    MONTH,
    date_label,
    first_day,
    months_between,
    number_label,
    round_between,
    spelled_out,
)
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
class PersonCounts:
    """How the rows of an original belong to persons, if k counts persons."""

    people: int
    most: int  # rows of one person
    unknown: int  # rows without a person
    one_each: Tally | None = None  # of one row of each person, if the rows are in memory

    @classmethod
    def of(cls, persons: pl.Series, original: EncodedTable | None = None) -> "PersonCounts":
        """From the person of each row, null if unknown."""
        sizes = persons.drop_nulls().value_counts(name="rows")["rows"]
        one_each = None
        if original is not None:
            first = (persons.is_first_distinct() & persons.is_not_null()).arg_true()
            one_each = Tally.of(original.take(first.to_numpy().astype(np.int64)))
        most = int(sizes.max() or 1)  # type: ignore[arg-type]
        return cls(len(sizes), most, persons.null_count(), one_each)


def rows_of(k: int, persons: PersonCounts | None) -> int:
    """The number of rows that always belong to at least k people."""
    return k if persons is None else k * persons.most + persons.unknown


def distributions(
    view: View, k: int, *, persons: PersonCounts | None = None
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
        _distribution(_Column(shown, own, people, k, least, view.same_rows))
        for shown, own, people in zip(columns, spans, counted.columns, strict=True)
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Column:
    """A quasi-identifier, and whom the counts of its bins must be of."""

    shown: ShownColumn
    spans: Spans
    people: ValueCounts  # each bin with a name or a count must have k of these
    k: int
    least: int  # rows that always belong to k people
    same_rows: bool  # whether the original has exactly the released rows

    @property
    def telling(self) -> Mask:
        """The cells of a category that do not cover all of its values."""
        width = self.spans.high - self.spans.low
        telling: Mask = (width == 0) | (width < self.shown.attribute.width)
        return telling


class _Bins(NamedTuple):
    """The labels of the bins, the bin of each value, and the share of each cell in each bin."""

    labels: list[str]
    values: Longs
    cells: Floats
    covers: Mask  # which cells cover a value of which bin
    ends: Sequence[tuple[str, str]] = ()  # of the first bins, if they are ranges


def _distribution(column: _Column) -> Distribution:
    shown, spans, k, same_rows = column.shown, column.spans, column.k, column.same_rows
    attribute, rows = shown.attribute, shown.counts
    if isinstance(attribute, Category):
        bins = _category_bins(column, attribute)
    else:
        assert isinstance(attribute, Interval)
        bins = _interval_bins(column, attribute)
    before = _sums(bins.values, shown.original, len(bins.labels))
    after = (rows @ bins.cells).tolist()
    alone = bins.covers.sum(axis=1) == 1
    alone[bins.covers[:, [label == ANYTHING for label in bins.labels]].any(axis=1)] = False
    certain = (rows @ (bins.covers & alone[:, None])).tolist()
    tells = same_rows & (before >= k) & _tellable(before, rows, bins.covers, column.least)
    # An empty bin that no cell covers is omitted: a suppressed person may have been in it.
    there = bins.covers.any(axis=0) | (before > 0 if same_rows else False)
    bottom, top = attribute.column.bounds
    whole = spans.hidden | (spans.low <= bottom) | (spans.high >= top)
    exact = np.isnan(spans.low) | (spans.low == spans.high) & ~whole & (not spans.loose)
    anything = ~exact & (spans.hidden | (spans.high - spans.low >= attribute.width))
    return Distribution(
        column=attribute.name,
        bins=tuple(
            Bin(
                bins.labels[i],
                int(before[i]) if tells[i] else None,
                round(after[i], 1) if after[i] >= k else None,
                certain[i] if certain[i] >= k else None,
                bins.ends[i] if i < len(bins.ends) else None,
            )
            for i in np.flatnonzero(there).tolist()
        ),
        exact=float(rows @ exact / rows.sum()),
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
    shown = np.ones(len(before), dtype=np.bool_)
    while len(found := sets[wrong & (sets > 0) & (sets & ~(shown @ bit) == 0)]):
        fewest = min(found.tolist(), key=int.bit_count)
        among = [place for place in range(len(before)) if fewest >> place & 1]
        shown[min(among, key=lambda place: margin[1 << place])] = False
    return shown


# ── numbers and dates ───────────────────────────────────────────────────────────────────────────


def _interval_bins(column: _Column, interval: Interval) -> _Bins:
    """Ranges of at least k people; missing is a bin of its own, or part of the last bin."""
    shown, spans, people, k = column.shown, column.spans, column.people, column.k
    absent, unknown = interval.absent, people.attribute.absent
    scale = _scale(interval, shown.original, spans.step, k)
    fine = np.searchsorted(scale, people.attribute.values[~unknown], side="right")
    counts = _sums(fine, people.rows[~unknown], len(scale) + 1)
    if absent.all():
        return _everything(MISSING, column)
    if counts.sum() < k:
        return _everything(EVERYTHING, column)
    ends = [-inf, *scale[_kept_ends(counts, k)].tolist(), inf]
    label = date_label if interval.is_date else number_label(spans.step)
    labels = [label(low, high) or EVERYTHING for low, high in pairwise(ends)]
    ranges = [(low, _before(high, spans.step)) for low, high in pairwise(ends)]
    shares = [spans.shares(low, high) for low, high in ranges]
    if not interval.width:  # no cell shows the range of values
        shares = [np.where(spans.hidden, 1 / len(ranges), share) for share in shares]
    covers = [spans.covers(low, high) for low, high in ranges]
    places = np.searchsorted(ends[1:-1], interval.values, side="right").astype(np.int64)
    nowhere = np.isnan(spans.low)
    if absent.any() if column.same_rows else (nowhere | spans.hidden).any():
        if people.rows[unknown].sum() >= k:
            labels = [*(labels if len(labels) > 1 else [PRESENT]), MISSING]
            shares = [*shares, nowhere.astype(np.float64)]
            covers = [*covers, nowhere | spans.hidden]
        else:
            labels[-1] += f", or {MISSING}"
            shares[-1] = shares[-1] + nowhere
            covers[-1] = covers[-1] | nowhere
        places[absent] = len(labels) - 1
    spelled = ["", *map(first_day if interval.is_date else spelled_out, ends[1:-1]), ""]
    return _Bins(
        labels, places, np.column_stack(shares), np.column_stack(covers), [*pairwise(spelled)]
    )


def _everything(label: str, column: _Column) -> _Bins:
    """A single bin of all values and cells."""
    values, whole = len(column.shown.original), np.ones((len(column.spans.low), 1))
    return _Bins([label], np.zeros(values, dtype=np.int64), whole, whole > 0)


def _before(end: float, step: float) -> float:
    """The last value before an end."""
    return end - step if step else nextafter(end, -inf)


def _kept_ends(counts: Longs, k: int) -> list[int]:
    """Choose the ends so that each range has at least k people."""
    kept: list[int] = []
    below, above = 0, int(counts.sum())
    for place, count in enumerate(counts[:-1].tolist()):
        below, above = below + count, above - count
        if below >= k and above >= k:
            kept.append(place)
            below = 0
    return kept


def _scale(interval: Interval, rows: Longs, step: float, k: int) -> Floats:
    """Round numbers or days between all values but the lowest and the highest k at least."""
    order = np.argsort(interval.values, kind="stable")[: np.count_nonzero(~interval.absent)]
    present, reached = interval.values[order], np.cumsum(rows[order])
    total = int(reached[-1]) if len(reached) else 0
    for tail in (max(k, total // _TAILS), k):
        ends = np.searchsorted(reached, [tail, total - tail + 1])  # the places of these rows
        if total >= 2 * tail and present[ends[0]] < present[ends[1]]:
            low, high = present[ends].tolist()
            if interval.is_date and high - low > 2 * MONTH:
                return months_between(low, high, MOST_BINS)
            return round_between(low, high, step, MOST_BINS)
    return np.array([])


# ── categories ──────────────────────────────────────────────────────────────────────────────────


def _category_bins(column: _Column, category: Category) -> _Bins:
    """The nodes with at least k people, sorted by rows, and all other values together."""
    tree, shown, spans = category.tree, column.shown, column.spans
    low, high = (end.astype(np.int64) for end in (spans.low, spans.high))
    known = _known_leaves(column, category)
    ancestors = tree.ancestors[: tree.leaf_count]
    if column.same_rows:
        every = np.arange(tree.leaf_count)
        rows, persons = (
            _under(category, every, every, _sums(own.places, times, tree.leaf_count))
            for own, times in ((category, shown.original), column.people)
        )
    else:  # only values that the release shows may be named
        rows = persons = _under(category, low, high, shown.counts)
    named = _named(_cut(category, persons, column.k), rows, persons, column.k)
    if not named or not known.any():
        return _everything(EVERYTHING, column)
    labels = [MISSING if tree.labels[n] == MISSING_LEAF else tree.labels[n] for n in named]
    bin_of_leaf = np.full(tree.leaf_count, len(named))
    for place, node in enumerate(named):
        bin_of_leaf[(ancestors == node).any(axis=1)] = place
    if (bin_of_leaf == len(named)).any():
        labels.append(OTHERS)
    inside = (bin_of_leaf[:, None] == np.arange(len(labels))) & known[:, None]
    until = np.vstack([np.zeros(len(labels)), np.cumsum(inside, axis=0)])
    leaves = until[high + 1] - until[low]
    if category.column.has_own_tree and not column.same_rows:
        # The number of values that such cells cover is known only from the original.
        leaves[~column.telling] = 0
        labels.append(ANYTHING)
        leaves = np.column_stack([leaves, ~column.telling])
    cells = leaves / np.maximum(leaves.sum(axis=1, keepdims=True), 1)
    return _Bins(labels, bin_of_leaf[category.leaves], cells, leaves > 0)


def _known_leaves(column: _Column, category: Category) -> Mask:
    """The leaves that cells may cover, as far as readers may know them.

    Unless it is declared, a leaf may exist only for suppressed people. So only leaves of released
    rows are used or, if these are unknown, leaves under cells that do not cover everything.
    """
    leaves = category.tree.leaf_count
    if column.same_rows:
        seen: Mask = np.bincount(category.leaves, minlength=leaves) > 0
    else:
        steps = np.zeros(leaves + 1, dtype=np.int64)
        np.add.at(steps, column.spans.low[column.telling].astype(np.int64), 1)
        np.subtract.at(steps, column.spans.high[column.telling].astype(np.int64) + 1, 1)
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


def _named(cut: list[int], rows: Longs, people: Longs, k: int) -> list[int]:
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
    for start, after in pairwise(_starts(int(sizes.min()), int(sizes.max()))):
        within = sizes[(sizes >= start) & (sizes < after)]
        if len(within):
            most = min(after - 1, int(sizes.max()))
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
