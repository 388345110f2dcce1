"""How much a released table tells less than its original.

Losses are computed from the released cells, whoever made them. Intervals are scaled by the declared
domain, or else by the range that the released cells show, never by the original's: who divides
would have it. Entropies also need how often each value occurs among the released rows, and the
information kept in groups needs the groups. Of suppressed rows nothing but their number counts:
each has lost everything.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Floats, Longs
from covey.encoding import Attribute, Category, EncodedTable, Interval, matches_anything
from covey.encoding.groups import Groups, Rings
from covey.errors import TableError
from covey.generalisation import (
    HIDDEN,
    MISSING,
    SHOWN,
    Nodes,
    Ranges,
    boxes_of,
    cell_of_rows,
    common_nodes,
    parse,
    shown_as,
    shown_range,
    summarise,
)
from covey.generalisation.as_released import as_released, counts_leaves
from covey.schema.taxonomy import Measure
from covey.tables import Table
from covey.tables import html as pages
from covey.verification.rounding import rounded

DEFINITIONS = {
    "total_il": "Total information loss: over all rows and quasi-identifiers, the width of the "
    "released interval over that of the declared domain, or else of the range that all released "
    "cells show, or the height of the released node over the height of its tree, times the "
    "column's weight; a suppressed row loses the weight of every column.",
    "columns": "Columns: the mean loss of the cells of each, by the measure of the schema, by NCP "
    "and by LM, and its share: what its cells lose, times its weight, over the Total-IL.",
    "worst": "Worst rows: of the 0.1 %, 1 % and 5 % of all original rows that lose most, rounded "
    "up and suppressed rows among them, the Total-IL that they hold, its share of the whole, and "
    "what the Total-IL is without them.",
    "gcp": "Global certainty penalty: the mean over all cells of the released interval's width "
    "over the domain's or the shown range's, or of the share of the tree's leaves under the "
    "released node, a leaf itself costing nothing.",
    "gcp_lm": "The same with Iyengar's loss metric for categories: the share of the other leaves, "
    "(leaves - 1) / (all leaves - 1).",
    "precision": "One minus the mean height loss of a cell: 1 where nothing was generalised, 0 "
    "where nothing is left.",
    "discernibility": "Sum over classes of their size squared, plus the number of all rows for "
    "each suppressed row: how many rows each row cannot be told from.",
    "average_class_size": "C_AVG: rows over the number of classes and k; 1 is the least possible.",
    "classification": "Classification metric: share of rows that are suppressed or not of their "
    "class's majority in the class column.",
    "entropy": "Entropy: in bits per row, the entropy of the original column among the values that "
    "the released cell covers, by the rows that are in the release, times the column's weight, "
    "summed over columns; a suppressed row loses all bits of a column, and the share is that of "
    "what it loses.",
    "monotone_entropy": "Monotone entropy: the same, each cell's entropy times the share of these "
    "rows that the cell covers.",
    "non_uniform_entropy": "Non-uniform entropy: the same with the bits that are missing to name "
    "the true value, minus log2 of its share among those of these rows that the cell covers.",
    "information": "Information lost: the mean over columns of the entropy of the original column "
    "within groups over its entropy in all rows that are in groups; a suppressed row loses all.",
    "queries": "Query error: of random queries that count the rows within two ranges of values, "
    "the difference between the count over the release and the true one, over the true one or "
    "0.1 % of the rows where that is more; median and mean.",
}


@dataclass(frozen=True)
class ColumnLoss:
    """What the cells of one column lose on average, from 0 to 1."""

    name: str
    weight: float
    il: float  # by the measure of the schema
    ncp: float | None  # by the share of leaves
    lm: float | None  # by the share of other leaves
    share: float  # of the Total-IL


@dataclass(frozen=True)
class WorstRows:
    """What the rows that lose most hold of the Total-IL."""

    percent: float  # of all original rows
    rows: int
    loss: float
    share: float
    without: float  # the Total-IL of all other rows


@dataclass(frozen=True)
class QueryError:
    """How far counts over a release are off, relative to the true ones."""

    queries: int
    median: float
    mean: float


@dataclass(frozen=True)
class Losses:
    """What a released table has lost; `DEFINITIONS` says what each figure means.

    A figure is None where nothing could be told: of classes where the release has none, of a class
    column that was not named, of groups that are not known, of queries that were not asked. The
    non-uniform entropy is, where a cell covers no value of the original, or a missing one of it may
    be any value. Where rows were left out and nobody knows which, all entropies are None, and so is
    what counts the leaves of a tree that is made from the values of its column.
    """

    rows: int
    suppressed: int
    measure: Measure
    columns: tuple[ColumnLoss, ...]
    total_il: float
    worst: tuple[WorstRows, ...]
    gcp: float | None
    gcp_lm: float | None
    precision: float
    discernibility: int | None
    average_class_size: float | None
    classification: float | None
    entropy: float | None
    entropy_share: float | None
    monotone_entropy: float | None
    monotone_entropy_share: float | None
    non_uniform_entropy: float | None
    non_uniform_entropy_share: float | None
    # Only who formed the groups can tell; the losses of the release are the same for all others.
    information: float | None = field(default=None, compare=False)
    queries: QueryError | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists, with the digits that are published."""
        return asdict(rounded(self))

    def figures(self) -> list[tuple[str, str]]:
        """What each figure that is told is called, and its value in writing."""
        queries = self.queries
        return [
            (name, format(value, form))
            for name, value, form in (
                (f"Total-IL by {self.measure}", self.total_il, ",.2f"),
                ("GCP, mean NCP of a cell", self.gcp, ".4f"),
                ("GCP by LM", self.gcp_lm, ".4f"),
                ("precision, 1 at best", self.precision, ".4f"),
                ("discernibility", self.discernibility, ","),
                ("C_AVG, 1 at best", self.average_class_size, ".3f"),
                ("CM", self.classification, ".4f"),
                ("entropy, bits per row", self.entropy, ".3f"),
                ("  share of all bits", self.entropy_share, ".4f"),
                ("monotone entropy, bits per row", self.monotone_entropy, ".3f"),
                ("  share of all bits", self.monotone_entropy_share, ".4f"),
                ("non-uniform entropy, bits per row", self.non_uniform_entropy, ".3f"),
                ("  share of all bits", self.non_uniform_entropy_share, ".4f"),
                ("information lost in groups", self.information, ".4f"),
                ("query error, median", queries and queries.median, ".1%"),
                ("query error, mean", queries and queries.mean, ".1%"),
            )
            if value is not None
        ]

    def by_column(self) -> list[tuple[str, ...]]:
        """Of each column its name, weight, mean losses and share, in writing: see `COLUMN_HEAD`."""
        return [
            (c.name, f"{c.weight:g}", *map(_percent, (c.il, c.ncp, c.lm, c.share)))
            for c in self.columns
        ]

    def _repr_html_(self) -> str:
        return pages.snippet(
            "Information loss",
            pages.table(COLUMN_HEAD, self.by_column(), numbers=range(1, 6)),
            pages.table(("figure", "value"), self.figures(), numbers=(1,)),
        )


COLUMN_HEAD = ("column", "weight", "mean loss of a cell", "by NCP", "by LM", "share of the loss")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.2%}"


def measure(
    original: EncodedTable,
    released: Table,
    *,
    suppressed: int = 0,
    k: int | None = None,
    class_column: str | None = None,
    classes: bool = True,
    groups: Groups | None = None,
) -> Losses:
    """The losses of a released table; without `k`, the size of its smallest class is taken.

    `original` are the rows behind the released ones; `suppressed` are so many others. Where it has
    more rows than the release, those are suppressed too, but which they are is not known.
    A release that does not show equal rows has no `classes` to be measured. `groups` are of the
    original's rows.
    """
    left_out = original.rows - released.frame.height
    if left_out < 0:
        raise TableError("the released table has more rows than the original")
    if not released.frame.height:
        raise TableError("the released table has no rows")
    is_known = left_out == 0
    if not is_known:
        original = as_released(original, released)
        _refuse_counting_leaves(original)
    suppressed += left_out
    rows = released.frame.height + suppressed
    boxes, box_rows = boxes_of(original, released)
    columns = [_column(attribute, boxes, box_rows) for attribute in original.attributes]
    weights = [attribute.column.weight for attribute in original.attributes]
    sizes = box_rows.tolist() if classes else []

    def means(way: Measure) -> list[float]:
        return [_mean_loss(column, way, suppressed) for column in columns]

    def leaf_means(way: Measure) -> list[float | None]:
        told = [is_known or not counts_leaves(column.attribute) for column in columns]
        return [mean if tell else None for mean, tell in zip(means(way), told, strict=True)]

    il, ncp, lm = means(original.measure), leaf_means("ncp"), leaf_means("lm")
    mean_il = _weighted(weights, il)
    bits = _bits(original, columns, suppressed) if is_known else None
    non_uniform = bits and bits.non_uniform
    return Losses(
        rows=rows,
        suppressed=suppressed,
        measure=original.measure,
        columns=tuple(
            ColumnLoss(attribute.name, weight, *lost, _ratio(weight * lost[0], mean_il))
            for attribute, weight, lost in zip(
                original.attributes, weights, zip(il, ncp, lm, strict=True), strict=True
            )
        ),
        total_il=mean_il * rows,
        worst=_worst(
            np.append(_box_losses(columns, original.measure).sum(axis=1), sum(weights)),
            np.append(box_rows, suppressed),
        ),
        gcp=_mean(weights, ncp),
        gcp_lm=_mean(weights, lm),
        precision=1 - _weighted(weights, means(_height(original.measure))) / sum(weights),
        discernibility=sum(size * size for size in sizes) + rows * suppressed if sizes else None,
        average_class_size=rows / (len(sizes) * (k or min(sizes))) if sizes else None,
        classification=_classification(original, released, class_column, rows) if classes else None,
        entropy=bits and bits.entropy,
        entropy_share=bits and _ratio(bits.entropy, bits.all),
        monotone_entropy=bits and bits.monotone,
        monotone_entropy_share=bits and _ratio(bits.monotone, bits.all),
        non_uniform_entropy=non_uniform,
        non_uniform_entropy_share=(
            None if bits is None or non_uniform is None else _ratio(non_uniform, bits.all)
        ),
        information=None if groups is None else _information(original, groups, suppressed),
    )


def _refuse_counting_leaves(table: EncodedTable) -> None:
    """Of a tree that is made from the values, the whole original would tell how many there are."""
    names = [repr(a.name) for a in table.attributes if counts_leaves(a)]
    if names and table.measure in ("ncp", "lm"):
        raise TableError(
            f"column {', '.join(names)}: the loss by {table.measure} is not known, since rows were "
            "left out and nobody knows which; declare the taxonomy, or measure by height"
        )


def _weighted(weights: Sequence[float], means: Sequence[float]) -> float:
    return sum(weight * mean for weight, mean in zip(weights, means, strict=True))


def _mean(weights: Sequence[float], means: Sequence[float | None]) -> float | None:
    """Over columns, None where that of any is not told."""
    told = [mean for mean in means if mean is not None]
    return _weighted(weights, told) / sum(weights) if len(told) == len(means) else None


class GroupLosses(NamedTuple):
    """What a release of groups would lose, without making it."""

    total_il: float
    mean: float  # of a cell, by the same measure
    gcp: float


def _shown(
    original: EncodedTable, groups: Groups | Rings
) -> list[tuple[Attribute, Ranges | Nodes]]:
    """What the groups would show of each attribute."""
    return [
        (a, summarise(a, groups) if isinstance(a, Interval) else common_nodes(a, groups))
        for a in original.attributes
    ]


def losses_in_groups(original: EncodedTable, groups: Groups) -> Floats:
    """What a row of each group would lose, by the ranges of the whole table, as methods see it."""
    shown = _shown(original, groups)
    losses = [_cell_losses(*column, original.measure) for column in shown]
    lost: Floats = original.weights @ np.array(losses)
    return lost


def total_in_groups(original: EncodedTable, groups: Groups) -> float:
    """The Total-IL by one scale, whichever rows are left out."""
    lost = float(groups.sizes @ losses_in_groups(original, groups))
    return lost + groups.suppressed * float(original.weights.sum())


def measure_groups(original: EncodedTable, groups: Groups | Rings) -> GroupLosses:
    """The losses of the release in which these groups are shown in the plain style."""
    place = groups.place
    rows = np.bincount(place[place >= 0])
    shown = [(_on_scale(*column), column[1]) for column in _shown(original, groups)]

    def weighted(way: Measure) -> float:
        lost = [float(rows @ _cell_losses(*column, way)) for column in shown]
        return float(original.weights @ (np.array(lost) + groups.suppressed))

    everything = original.rows * float(original.weights.sum())
    total_il = weighted(original.measure)
    return GroupLosses(total_il, total_il / everything, weighted("ncp") / everything)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _height(measure: Measure) -> Measure:
    """Precision is told by heights: those of the schema, where it names some."""
    return "level" if measure == "level" else "height"


class _Column(NamedTuple):
    """The distinct cells of a column, how many rows show each, and which one each box has."""

    attribute: Attribute
    shown: Ranges | Nodes
    counts: Longs
    cell: Longs

    def losses(self, way: Measure) -> Floats:
        """Of the distinct cells."""
        return _cell_losses(self.attribute, self.shown, way)


def _column(attribute: Attribute, boxes: Table, rows: Longs) -> _Column:
    shown, _ = parse(attribute, boxes)
    cell = cell_of_rows(attribute, boxes)
    counts = np.bincount(cell, weights=rows).astype(np.int64)
    return _Column(_on_scale(attribute, shown), shown, counts, cell)


def on_shown_scale(original: EncodedTable, released: Table) -> EncodedTable:
    """The original, its ranges those that are declared or that the released cells show."""
    shown = [(attribute, parse(attribute, released)[0]) for attribute in original.attributes]
    return replace(original, attributes=tuple(_on_scale(*column) for column in shown))


def _on_scale(attribute: Attribute, shown: Ranges | Nodes) -> Attribute:
    """Numbers and dates over the range that is declared or shown, not that of the original."""
    if isinstance(shown, Nodes):
        return attribute
    assert isinstance(attribute, Interval)
    low, high = shown_range(attribute, shown)
    return replace(attribute, low=low, high=high)


def _mean_loss(column: _Column, way: Measure, suppressed: int) -> float:
    counts = column.counts
    return float(counts @ column.losses(way) + suppressed) / (int(counts.sum()) + suppressed)


def _cell_losses(attribute: Attribute, shown: Ranges | Nodes, way: Measure) -> Floats:
    if isinstance(shown, Nodes):
        assert isinstance(attribute, Category)
        losses: Floats = attribute.tree.losses(way)[shown.node]
        return losses
    assert isinstance(attribute, Interval)
    return _range_losses(attribute, shown)


def _range_losses(interval: Interval, ranges: Ranges) -> Floats:
    """Width over the domain's, at most 1: an end on a grid may lie outside the domain."""
    if np.isnan(interval.values).all():
        return np.zeros(len(ranges.state))
    shown = np.zeros(len(ranges.state))
    if interval.width:
        low, high = interval.reach(ranges.low, ranges.high)
        # Cut first, then divided: over a width next to nothing, what is wider would overflow.
        shown = np.minimum(high - low, interval.width) / interval.width
    return np.select([ranges.state == SHOWN, ranges.state == HIDDEN], [shown, 1.0], 0.0)


# ── who pays ────────────────────────────────────────────────────────────────────────────────────

_WORST = (1, 10, 50)  # per mille of the rows


def _box_losses(columns: Sequence[_Column], way: Measure) -> Floats:
    """For each box, what each of its cells adds to the loss of a row."""
    return np.column_stack(
        [column.attribute.column.weight * column.losses(way)[column.cell] for column in columns]
    )


def _worst(losses: Floats, rows: Longs) -> tuple[WorstRows, ...]:
    """The rows that lose most, by the losses that occur and how many rows lose as much."""
    levels, place = np.unique(losses, return_inverse=True)
    counts = np.bincount(place, weights=rows).astype(np.int64)[::-1]
    levels, total = levels[::-1], int(rows.sum())
    behind = np.cumsum(counts)
    whole = float(counts @ levels)
    found = []
    for share in _WORST:
        worst = -(-total * share // 1000)
        among = np.clip(worst - (behind - counts), 0, counts)
        held, without = float(among @ levels), float((counts - among) @ levels)
        found.append(WorstRows(share / 10, worst, held, _ratio(held, whole), without))
    return tuple(found)


def row_losses(original: EncodedTable, released: Table) -> Floats:
    """For each released row, what each of its cells adds to the Total-IL, attribute by attribute.

    A row that was suppressed adds the weight of each attribute.
    """
    each = np.ones(released.frame.height, dtype=np.int64)
    columns = [_column(attribute, released, each) for attribute in original.attributes]
    return _box_losses(columns, original.measure)


# ── classes ─────────────────────────────────────────────────────────────────────────────────────


def _quasi_cells(original: EncodedTable, released: Table) -> pl.DataFrame:
    """The quasi-identifiers as released, their columns named by their place."""
    names = [name for a in original.attributes for name in shown_as(a.name, released)]
    return released.frame.select(pl.col(name).alias(str(i)) for i, name in enumerate(names))


def _classification(
    original: EncodedTable, released: Table, class_column: str | None, rows: int
) -> float | None:
    if class_column is None:
        return None
    if class_column not in released.frame.columns:
        raise TableError(f"column {class_column!r} is not in the released table")
    cells = _quasi_cells(original, released)
    labels = released.frame[class_column].alias("class")
    counts = cells.with_columns(labels).group_by(*cells.columns, "class").len()
    majority = counts.group_by(cells.columns).agg(pl.col("len").max())["len"].sum()
    return (rows - int(majority)) / rows


# ── bits ────────────────────────────────────────────────────────────────────────────────────────


class _Bits(NamedTuple):
    """Bits per row."""

    all: float  # what the cells of the released rows held
    entropy: float
    monotone: float
    non_uniform: float | None


def _bits(original: EncodedTable, cells: Sequence[_Column], suppressed: int) -> _Bits:
    columns = [
        (cell.attribute.column.weight, _column_bits(original, cell, suppressed)) for cell in cells
    ]
    non_uniform = [
        weight * bits.non_uniform for weight, bits in columns if bits.non_uniform is not None
    ]
    return _Bits(
        all=sum(weight * bits.all for weight, bits in columns),
        entropy=sum(weight * bits.entropy for weight, bits in columns),
        monotone=sum(weight * bits.monotone for weight, bits in columns),
        non_uniform=sum(non_uniform) if len(non_uniform) == len(columns) else None,
    )


def _column_bits(original: EncodedTable, column: _Column, suppressed: int) -> _Bits:
    """The cells of one column; a suppressed row misses as much as one of which nothing is shown.

    Whatever a cell covers is a run of the column's values in their order, so that what holds for
    the rows it covers is a difference of two sums from the first value on. A missing cell that may
    be any value is none of them, and which of them it misses nobody can tell.
    """
    attribute, shown, counts, _ = column
    known = ~matches_anything(attribute)
    if isinstance(shown, Nodes):
        assert isinstance(attribute, Category)
        frequency = np.bincount(attribute.leaves[known], minlength=attribute.tree.leaf_count)
        first, behind = (ends[shown.node] for ends in leaf_ranges(original, attribute))
    else:
        assert isinstance(attribute, Interval)
        values, frequency = _frequencies(attribute.values[known])
        first, behind = _value_ranges(values, shown)
    ends = np.append(first, 0), np.append(behind, len(frequency))
    rows = np.append(counts, suppressed)
    covered = _sums(frequency, *ends)
    logs = np.log2(np.maximum(covered, 1))
    parts = _times_log(frequency)
    entropies = np.maximum(logs - _sums(parts, *ends) / np.maximum(covered, 1), 0.0)
    # A value alone has no entropy, though the difference of two long sums may not say so.
    entropies[_sums(frequency > 0, *ends) < 2] = 0.0
    # The logarithms of true shares are log2 c - log2 n, those of covered ones likewise.
    told = known.all() and covered[rows > 0].all()
    missing = _exact_sum(counts * logs[:-1], -parts) + suppressed * entropies[-1] if told else None
    total = original.rows + suppressed
    return _Bits(
        all=float(entropies[-1]),
        entropy=float(rows @ entropies) / total,
        monotone=float(rows @ (entropies * covered)) / (original.rows * total),
        non_uniform=None if missing is None else float(missing) / total,
    )


def leaf_ranges(original: EncodedTable, category: Category) -> tuple[Longs, Longs]:
    """For each node of a tree, its first leaf and the one behind its last, in the tree's order."""
    place = original.categories.index(category)
    start = int(original.forest.first[place])
    nodes = slice(start, start + len(category.tree.labels))
    begin, end = original.forest.begin[nodes], original.forest.end[nodes]
    return begin.astype(np.int64) - start, end.astype(np.int64) - start


def _frequencies(numbers: Floats) -> tuple[Floats, Longs]:
    """The distinct numbers, and how many rows hold each; last, how many hold none."""
    missing = np.isnan(numbers)
    values, counts = np.unique(numbers[~missing], return_counts=True)
    return values, np.append(counts, np.count_nonzero(missing))


def _value_ranges(values: Floats, ranges: Ranges) -> tuple[Longs, Longs]:
    """The first value that each cell covers, and the one behind the last; missing comes last."""
    count = len(values)
    states = [ranges.state == MISSING, ranges.state == HIDDEN]
    first = np.select(states, [count, 0], np.searchsorted(values, ranges.low, side="left"))
    behind = np.select(states, [count + 1] * 2, np.searchsorted(values, ranges.high, side="right"))
    return first, behind


def _sums(numbers: NDArray[Any], first: Longs, behind: Longs) -> NDArray[Any]:
    """Sums of runs of the numbers."""
    running = np.concatenate([[0], np.cumsum(numbers)])
    sums: NDArray[Any] = running[behind] - running[first]
    return sums


def _exact_sum(*terms: Floats) -> float:
    """A sum that does not depend on its order: what cancels out is 0."""
    return math.fsum(np.concatenate(terms).tolist())


def _times_log(counts: Longs) -> Floats:
    """c log2 c, which is 0 for 0."""
    logs: Floats = np.log2(np.maximum(counts, 1))
    return logs * counts


def _information(original: EncodedTable, groups: Groups, suppressed: int) -> float:
    """By the groups of the rows that were released; each row that was not has lost everything."""
    losses = [
        attribute.column.weight * _conditional(groups.labels[known], _codes(attribute)[known])
        for attribute in original.attributes
        for known in [~matches_anything(attribute)]
    ]
    weights = sum(attribute.column.weight for attribute in original.attributes)
    share = original.rows / (original.rows + suppressed)
    return share * sum(losses) / weights + (1 - share)


def _codes(attribute: Attribute) -> Longs:
    if isinstance(attribute, Category):
        return attribute.leaves.astype(np.int64)
    return np.unique(attribute.values, return_inverse=True)[1]


def _conditional(labels: Longs, codes: Longs) -> float:
    """H(X | C) / H(X)."""
    _, joint = np.unique(labels * (codes.max(initial=0) + 1) + codes, return_counts=True)
    groups, values = np.bincount(labels), np.bincount(codes)
    within = _exact_sum(_times_log(groups), -_times_log(joint))
    whole = _exact_sum(_times_log(np.array([len(codes)])), -_times_log(values))
    return _ratio(within, whole)
