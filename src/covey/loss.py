"""How much a released table tells less than its original.

Every figure is computed from the released cells, whoever made them; the original gives only the
scales: the width of each column's domain, the trees, and how many rows there were. A suppressed
row has lost everything.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from covey.encoding import Attribute, Category, EncodedTable, Interval
from covey.errors import TableError
from covey.generalisation import HIDDEN, SHOWN, Nodes, Ranges, parse, shown_as
from covey.kernels.arrays import Floats, Longs
from covey.tables import Table
from covey.taxonomy import MEASURES, Measure

DEFINITIONS = {
    "total_il": "Total information loss: over all rows and quasi-identifiers, the width of the "
    "released interval over the width of the column's domain, or the height of the released node "
    "over the height of its tree, times the column's weight.",
    "gcp": "Global certainty penalty: the mean over all cells of the released interval's width "
    "over the domain's, or of the share of the tree's leaves under the released node, a leaf "
    "itself costing nothing.",
    "gcp_lm": "The same with Iyengar's loss metric for categories: the share of the other leaves, "
    "(leaves - 1) / (all leaves - 1).",
    "precision": "One minus the mean height loss of a cell: 1 where nothing was generalised, 0 "
    "where nothing is left.",
    "discernibility": "Sum over classes of their size squared, plus the number of all rows for "
    "each suppressed row: how many rows each row cannot be told from.",
    "average_class_size": "C_AVG: rows over the number of classes and k; 1 is the least possible.",
    "classification": "Classification metric: share of rows that are suppressed or not of their "
    "class's majority in the class column.",
}


@dataclass(frozen=True)
class ColumnLoss:
    """What the cells of one column lose on average, from 0 to 1."""

    name: str
    weight: float
    il: float  # by the measure of the schema
    ncp: float  # by the share of leaves
    lm: float  # by the share of other leaves


@dataclass(frozen=True)
class Losses:
    """What a released table has lost; `DEFINITIONS` says what each figure means."""

    rows: int
    suppressed: int
    measure: Measure
    columns: tuple[ColumnLoss, ...]
    total_il: float
    gcp: float
    gcp_lm: float
    precision: float
    discernibility: int
    average_class_size: float
    classification: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return asdict(self)


def measure(
    original: EncodedTable,
    released: Table,
    *,
    k: int | None = None,
    class_column: str | None = None,
) -> Losses:
    """The losses of a released table; without `k`, the size of its smallest class is taken."""
    rows, suppressed = original.rows, original.rows - released.frame.height
    if suppressed < 0:
        raise TableError("the released table has more rows than the original")
    if suppressed == rows:
        raise TableError("the released table has no rows")
    cells = [(attribute, *parse(attribute, released)) for attribute in original.attributes]
    means: dict[Measure, list[float]] = {
        way: [_mean_loss(*column, way, suppressed) for column in cells] for way in MEASURES
    }
    weights = [attribute.column.weight for attribute in original.attributes]
    sizes = _class_sizes(original, released)

    def weighted(way: Measure) -> float:
        return sum(weight * mean for weight, mean in zip(weights, means[way], strict=True))

    return Losses(
        rows=rows,
        suppressed=suppressed,
        measure=original.measure,
        columns=tuple(
            ColumnLoss(attribute.name, weight, il, ncp, lm)
            for attribute, weight, il, ncp, lm in zip(
                original.attributes,
                weights,
                means[original.measure],
                means["ncp"],
                means["lm"],
                strict=True,
            )
        ),
        total_il=weighted(original.measure) * rows,
        gcp=weighted("ncp") / sum(weights),
        gcp_lm=weighted("lm") / sum(weights),
        precision=1 - weighted(_height(original.measure)) / sum(weights),
        discernibility=sum(size * size for size in sizes) + rows * suppressed,
        average_class_size=rows / (len(sizes) * (k or min(sizes))),
        classification=_classification(original, released, class_column),
    )


def _height(measure: Measure) -> Measure:
    """Precision is told by heights: those of the schema, where it names some."""
    return "level" if measure == "level" else "height"


def _mean_loss(
    attribute: Attribute, cells: Ranges | Nodes, counts: Longs, way: Measure, suppressed: int
) -> float:
    if isinstance(cells, Nodes):
        assert isinstance(attribute, Category)
        losses = attribute.tree.losses(way)[cells.node]
    else:
        assert isinstance(attribute, Interval)
        losses = _range_losses(attribute, cells)
    return float(counts @ losses + suppressed) / (int(counts.sum()) + suppressed)


def _range_losses(interval: Interval, ranges: Ranges) -> Floats:
    """Width over the domain's, at most 1: an end on a grid may lie outside the domain."""
    if np.isnan(interval.values).all():
        return np.zeros(len(ranges.state))
    shown = np.zeros(len(ranges.state))
    if interval.width:
        shown = np.minimum((ranges.high - ranges.low) / interval.width, 1.0)
    return np.select([ranges.state == SHOWN, ranges.state == HIDDEN], [shown, 1.0], 0.0)


def _quasi_cells(original: EncodedTable, released: Table) -> pl.DataFrame:
    """The quasi-identifiers as released, their columns named by their place."""
    names = [name for a in original.attributes for name in shown_as(a.name, released)]
    return released.frame.select(pl.col(name).alias(str(i)) for i, name in enumerate(names))


def _class_sizes(original: EncodedTable, released: Table) -> list[int]:
    cells = _quasi_cells(original, released)
    return cells.group_by(cells.columns).len()["len"].to_list()


def _classification(
    original: EncodedTable, released: Table, class_column: str | None
) -> float | None:
    if class_column is None:
        return None
    if class_column not in released.frame.columns:
        raise TableError(f"column {class_column!r} is not in the released table")
    cells = _quasi_cells(original, released)
    labels = released.frame[class_column].alias("class")
    counts = cells.with_columns(labels).group_by(*cells.columns, "class").len()
    majority = counts.group_by(cells.columns).agg(pl.col("len").max())["len"].sum()
    return (original.rows - int(majority)) / original.rows
