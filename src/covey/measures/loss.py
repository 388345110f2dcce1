"""Measure the information loss of a released table.

Losses are computed from the released cells, whatever software made them. Intervals are scaled by
the declared domain, or else by the range of the released cells. The range of the original is never
used, since readers could compute it from the losses. Entropies also need the frequencies of the
values among the released rows, and the information lost in groups needs the groups. Of suppressed
rows, only their number counts: each loses everything.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey import html as pages
from covey._core.arrays import Floats, Longs
from covey.declared import declared
from covey.encoding import EncodedTable, Tally
from covey.encoding.groups import Groups, Rings
from covey.errors import TableError, percent
from covey.generalisation import ReleasedClasses, ShownColumn, View
from covey.generalisation.classes import Cells, index_of_rows
from covey.measures.entropy import InGroups, bits_lost, weighted
from covey.measures.queries import QueryError
from covey.schema.taxonomy import Measure
from covey.tables import Table
from covey.verification.rounding import rounded

DEFINITIONS: dict[str, str] = declared("covey.measures", "definitions.toml")  # of each figure


@dataclass(frozen=True)
class ColumnLoss:
    """The mean losses of the cells of one column, from 0 to 1."""

    name: str
    weight: float
    il: float  # by the measure of the schema
    ncp: float | None  # by the share of leaves
    lm: float | None  # by the share of other leaves
    share: float  # of the Total-IL


@dataclass(frozen=True)
class WorstRows:
    """The part of the Total-IL of the rows that lose most."""

    percent: float  # of all original rows
    rows: int
    loss: float
    share: float
    without: float  # the Total-IL of all other rows


@dataclass(frozen=True)
class Losses:
    """The losses of a released table; `DEFINITIONS` defines each figure.

    A figure is None if it is unknown: without classes, a class column, groups, means or queries. If
    a column shows means, no cell says which values it covers, and all entropies are None. The
    non-uniform entropy is also None if a cell covers no original value, or if a missing original
    cell matches any value. If rows were suppressed and it is unknown which, all entropies are None,
    and so are the figures that count the leaves of a tree built from the values of its column.
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
    # Known only with the groups; all other losses can be computed from the release.
    information: float | None = field(default=None, compare=False)
    sse: float | None = field(default=None, compare=False)
    queries: QueryError | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists, with the digits that are published."""
        return asdict(rounded(self))

    def figures(self) -> list[tuple[str, str]]:
        """The name of each known figure, and its value as text."""
        queries = self.queries
        return [
            (name, percent(value) if form == "%" else format(value, form))
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
                ("SSE / SST of means", self.sse, ".4f"),
                ("query error, median", None if queries is None else queries.median, "%"),
                ("query error, mean", None if queries is None else queries.mean, "%"),
            )
            if value is not None
        ]

    def by_column(self) -> list[tuple[str, ...]]:
        """Name, weight, mean losses and share of each column as text: see `COLUMN_HEAD`."""
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
    classes: bool = True,
    in_groups: InGroups | None = None,
) -> Losses:
    """Measure the losses of a released table; k defaults to the size of its smallest class.

    The original of the view has the released rows; `suppressed` is the number of other rows. If the
    original has more rows than the release, these are suppressed too, but it is unknown which. Pass
    `classes=False` for a release without classes of equal rows. `in_groups` says how the groups
    spread the original's values.
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
    losses, sizes = RowLosses.of(view).of_classes(view.classes), view.classes.sizes

    def means(way: Measure) -> list[float]:
        return [_mean_loss(column, way, suppressed) for column in columns]

    def leaf_means(way: Measure) -> list[float | None]:
        known = [view.same_rows or not column.attribute.counts_leaves for column in columns]
        return [mean if one else None for mean, one in zip(means(way), known, strict=True)]

    il, ncp, lm = means(original.measure), leaf_means("ncp"), leaf_means("lm")
    mean_il = weighted(weights, il)
    loose = any(column.shown.is_loose for column in columns)
    bits = bits_lost(view.columns, suppressed) if view.same_rows and not loose else None
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
            np.append(losses, sum(weights)),
            np.append(sizes, suppressed),
        ),
        gcp=_mean(weights, ncp),
        gcp_lm=_mean(weights, lm),
        precision=1 - weighted(weights, means(_height(original.measure))) / sum(weights),
        discernibility=_squares(sizes) + rows * suppressed if classes else None,
        average_class_size=rows / (len(sizes) * (k or int(sizes.min()))) if classes else None,
        classification=(rows - view.classes.in_majority) / rows
        if classes and view.classes.labelled
        else None,
        entropy=bits and bits.entropy,
        entropy_share=bits and _ratio(bits.entropy, bits.all),
        monotone_entropy=bits and bits.monotone,
        monotone_entropy_share=bits and _ratio(bits.monotone, bits.all),
        non_uniform_entropy=non_uniform,
        non_uniform_entropy_share=(
            None if bits is None or non_uniform is None else _ratio(non_uniform, bits.all)
        ),
        information=(
            None if in_groups is None else in_groups.information_lost(original, suppressed)
        ),
        sse=_sse(view) if view.originals.squares and view.same_rows else None,
    )


def _sse(view: View) -> float | None:
    """The share of the variance of the columns with means that these do not show."""
    squares = view.originals.squares
    shares, weights = [], []
    for attribute, rows in view.original.columns:
        if attribute.name in squares:
            values, counts = attribute.values[~attribute.absent], rows[~attribute.absent]
            mean = float(counts @ values) / max(int(counts.sum()), 1)
            shares.append(_ratio(squares[attribute.name], float(counts @ (values - mean) ** 2)))
            weights.append(attribute.column.weight)
    sse = weighted(weights, shares) / sum(weights)
    return None if np.isnan(sse) else sse


def _refuse_counting_leaves(table: Tally) -> None:
    """Refuse measures that would reveal how many values suppressed rows add to a built tree."""
    names = [repr(a.name) for a in table.attributes if a.counts_leaves]
    if names and table.measure in ("ncp", "lm"):
        raise TableError(
            f"column {', '.join(names)}: the loss by {table.measure} is unknown, because rows were "
            'suppressed and it is unknown which; declare the taxonomy, or set loss = "height"'
        )


def _mean(weights: Sequence[float], means: Sequence[float | None]) -> float | None:
    """The weighted mean over columns; None if one of them is unknown."""
    known = [mean for mean in means if mean is not None]
    return weighted(weights, known) / sum(weights) if len(known) == len(means) else None


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _height(measure: Measure) -> Measure:
    """The measure for precision: heights, or levels if the schema uses them."""
    return "level" if measure == "level" else "height"


def _mean_loss(column: ShownColumn, way: Measure, suppressed: int) -> float:
    counts = column.counts
    lost = float(counts @ column.shown.losses(way) + suppressed)
    return lost / (int(counts.sum()) + suppressed)


class GroupLosses(NamedTuple):
    """The losses of a release of groups, computed without making it."""

    total_il: float
    mean: float  # of a cell, by the same measure
    gcp: float


def measure_groups(original: EncodedTable, groups: Groups | Rings) -> GroupLosses:
    """The losses of a release of these groups in the plain style."""
    place = groups.place
    rows = np.bincount(place[place >= 0])
    shown = [attribute.fold(groups).on_shown_scale(rows) for attribute in original.attributes]

    def total(way: Measure) -> float:
        lost = [float(rows @ cells.losses(way)) for cells in shown]
        return float(original.weights @ (np.array(lost) + groups.suppressed))

    everything = original.rows * float(original.weights.sum())
    total_il = total(original.measure)
    return GroupLosses(total_il, total_il / everything, total("ncp") / everything)


# ── losses of rows ──────────────────────────────────────────────────────────────────────────────

_WORST = (1, 10, 50)  # per mille of the rows


def _worst(losses: Floats, rows: Longs) -> tuple[WorstRows, ...]:
    """The rows that lose most, from losses and the number of rows with each."""
    levels, place = np.unique(losses, return_inverse=True)
    counts = np.bincount(place, weights=rows).astype(np.int64)[::-1]
    levels, total = levels[::-1], int(rows.sum())
    reached = np.cumsum(counts)
    whole = float(counts @ levels)
    found = []
    for share in _WORST:
        worst = -(-total * share // 1000)
        among = np.clip(worst - (reached - counts), 0, counts)
        held, without = float(among @ levels), float((counts - among) @ levels)
        found.append(WorstRows(share / 10, worst, held, _ratio(held, whole), without))
    return tuple(found)


@dataclass(frozen=True, eq=False, repr=False)
class RowLosses:
    """The part of the Total-IL of each released cell; it contains nothing of the original."""

    weights: dict[str, float]  # of each attribute: the loss of a suppressed row
    losses: tuple[Floats, ...]  # of the distinct cells of each attribute, weighted
    cells: tuple[Cells, ...]  # the distinct cells

    @classmethod
    def of(cls, view: View) -> "RowLosses":
        """Compute by the measure of the schema, and the declared or released domains."""
        columns = [column.on_shown_scale for column in view.publishable.columns]
        weights = {c.attribute.name: c.attribute.column.weight for c in columns}
        way = view.original.measure
        losses = (weights[c.attribute.name] * c.shown.losses(way) for c in columns)
        return cls(weights, tuple(losses), view.classes.cells)

    def each(self, released: Table) -> Floats:
        """The loss of each row and attribute."""
        return self._of(index_of_rows(released, self.cells))

    def _of(self, cells: Sequence[NDArray[Any]]) -> Floats:
        return np.column_stack([lost[cell] for lost, cell in zip(self.losses, cells, strict=True)])

    def of_classes(self, classes: ReleasedClasses) -> Floats:
        """The loss of a row of each class."""
        cells = classes.indices
        some = range(0, len(classes.sizes), _AT_A_TIME)
        parts = [self._of([one[i : i + _AT_A_TIME] for one in cells]).sum(axis=1) for i in some]
        return np.concatenate([*parts, np.empty(0)])


_AT_A_TIME = 65_536  # classes: there may be millions


def _squares(sizes: Longs) -> int:
    different, times = np.unique(sizes, return_counts=True)
    pairs = zip(different.tolist(), times.tolist(), strict=True)
    return sum(size * size * many for size, many in pairs)
