"""How much a released table tells less than its original.

Losses are computed from the released cells, whoever made them. Intervals are scaled by the declared
domain, or else by the range that the released cells show, never by the original's: who divides
would have it. Entropies also need how often each value occurs among the released rows, and the
information kept in groups needs the groups. Of suppressed rows nothing but their number counts:
each has lost everything.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from covey._core.arrays import Floats, Longs
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups, Rings
from covey.errors import TableError, percent
from covey.generalisation import ShownColumn, View
from covey.measures.entropy import bits_lost, information_lost, weighted
from covey.measures.queries import QueryError
from covey.schema.taxonomy import Measure
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
    return "–" if share is None else percent(share)


def measure(
    view: View,
    *,
    suppressed: int = 0,
    k: int | None = None,
    class_column: str | None = None,
    classes: bool = True,
    groups: Groups | None = None,
) -> Losses:
    """The losses of a released table; without `k`, the size of its smallest class is taken.

    The view's original are the rows behind the released ones; `suppressed` are so many others.
    Where it has more rows than the release, those are suppressed too, but which they are is not
    known. A release that does not show equal rows has no `classes` to be measured. `groups` are of
    the original's rows.
    """
    left_out = view.original.rows - view.rows
    if left_out < 0:
        raise TableError("the released table has more rows than the original")
    if not view.rows:
        raise TableError("the released table has no rows")
    suppressed += left_out
    rows = view.rows + suppressed
    original = view.publishable.original
    if not view.same_rows:
        _refuse_counting_leaves(original)
    columns = [column.on_shown_scale for column in view.publishable.columns]
    weights = [column.attribute.column.weight for column in columns]
    boxes, box_rows = view.boxes
    box_losses = replace(RowLosses.of(view), cells=tuple(boxes.T))
    sizes = box_rows.tolist() if classes else []

    def means(way: Measure) -> list[float]:
        return [_mean_loss(column, way, suppressed) for column in columns]

    def leaf_means(way: Measure) -> list[float | None]:
        told = [view.same_rows or not column.attribute.counts_leaves for column in columns]
        return [mean if tell else None for mean, tell in zip(means(way), told, strict=True)]

    il, ncp, lm = means(original.measure), leaf_means("ncp"), leaf_means("lm")
    mean_il = weighted(weights, il)
    bits = bits_lost(view.columns, suppressed) if view.same_rows else None
    non_uniform = bits and bits.non_uniform
    return Losses(
        rows=rows,
        suppressed=suppressed,
        measure=original.measure,
        columns=tuple(
            ColumnLoss(column.attribute.name, weight, *lost, _ratio(weight * lost[0], mean_il))
            for column, weight, lost in zip(
                columns, weights, zip(il, ncp, lm, strict=True), strict=True
            )
        ),
        total_il=mean_il * rows,
        worst=_worst(
            np.append(box_losses.each().sum(axis=1), sum(weights)),
            np.append(box_rows, suppressed),
        ),
        gcp=_mean(weights, ncp),
        gcp_lm=_mean(weights, lm),
        precision=1 - weighted(weights, means(_height(original.measure))) / sum(weights),
        discernibility=sum(size * size for size in sizes) + rows * suppressed if sizes else None,
        average_class_size=rows / (len(sizes) * (k or min(sizes))) if sizes else None,
        classification=_classification(view, class_column, rows) if classes else None,
        entropy=bits and bits.entropy,
        entropy_share=bits and _ratio(bits.entropy, bits.all),
        monotone_entropy=bits and bits.monotone,
        monotone_entropy_share=bits and _ratio(bits.monotone, bits.all),
        non_uniform_entropy=non_uniform,
        non_uniform_entropy_share=(
            None if bits is None or non_uniform is None else _ratio(non_uniform, bits.all)
        ),
        information=None if groups is None else information_lost(original, groups, suppressed),
    )


def _refuse_counting_leaves(table: EncodedTable) -> None:
    """Of a tree that is made from the values, the whole original would tell how many there are."""
    names = [repr(a.name) for a in table.attributes if a.counts_leaves]
    if names and table.measure in ("ncp", "lm"):
        raise TableError(
            f"column {', '.join(names)}: the loss by {table.measure} is not known, since rows were "
            "left out and nobody knows which; declare the taxonomy, or measure by height"
        )


def _mean(weights: Sequence[float], means: Sequence[float | None]) -> float | None:
    """Over columns, None where that of any is not told."""
    told = [mean for mean in means if mean is not None]
    return weighted(weights, told) / sum(weights) if len(told) == len(means) else None


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _height(measure: Measure) -> Measure:
    """Precision is told by heights: those of the schema, where it names some."""
    return "level" if measure == "level" else "height"


def _mean_loss(column: ShownColumn, way: Measure, suppressed: int) -> float:
    counts = column.counts
    lost = float(counts @ column.shown.losses(way) + suppressed)
    return lost / (int(counts.sum()) + suppressed)


class GroupLosses(NamedTuple):
    """What a release of groups would lose, without making it."""

    total_il: float
    mean: float  # of a cell, by the same measure
    gcp: float


def measure_groups(original: EncodedTable, groups: Groups | Rings) -> GroupLosses:
    """The losses of the release in which these groups are shown in the plain style."""
    place = groups.place
    rows = np.bincount(place[place >= 0])
    shown = [attribute.fold(groups).on_shown_scale() for attribute in original.attributes]

    def total(way: Measure) -> float:
        lost = [float(rows @ cells.losses(way)) for cells in shown]
        return float(original.weights @ (np.array(lost) + groups.suppressed))

    everything = original.rows * float(original.weights.sum())
    total_il = total(original.measure)
    return GroupLosses(total_il, total_il / everything, total("ncp") / everything)


# ── who pays ────────────────────────────────────────────────────────────────────────────────────

_WORST = (1, 10, 50)  # per mille of the rows


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


@dataclass(frozen=True, eq=False, repr=False)
class RowLosses:
    """What each released row adds to the Total-IL; nothing of the original is in it."""

    weights: dict[str, float]  # of each attribute: what a suppressed row adds
    losses: tuple[Floats, ...]  # of the distinct cells of each attribute, weighted
    cells: tuple[Longs, ...]  # which of these each row has

    @classmethod
    def of(cls, view: View) -> "RowLosses":
        """By the measure of the schema, and by what is declared or shown."""
        columns = [column.on_shown_scale for column in view.publishable.columns]
        weights = {c.attribute.name: c.attribute.column.weight for c in columns}
        way = view.original.measure
        return cls(
            weights,
            tuple(weights[c.attribute.name] * c.shown.losses(way) for c in columns),
            tuple(column.cell for column in columns),
        )

    def each(self) -> Floats:
        """Row by row, what each attribute adds."""
        return np.column_stack(
            [lost[cell] for lost, cell in zip(self.losses, self.cells, strict=True)]
        )


# ── classes ─────────────────────────────────────────────────────────────────────────────────────


def _classification(view: View, class_column: str | None, rows: int) -> float | None:
    if class_column is None:
        return None
    frame = view.released.frame
    if class_column not in frame.columns:
        raise TableError(f"column {class_column!r} is not in the released table")
    cells = pl.DataFrame({str(j): column.cell for j, column in enumerate(view.columns)})
    labels = frame[class_column].alias("class")
    counts = cells.with_columns(labels).group_by(*cells.columns, "class").len()
    majority = counts.group_by(cells.columns).agg(pl.col("len").max())["len"].sum()
    return (rows - int(majority)) / rows
