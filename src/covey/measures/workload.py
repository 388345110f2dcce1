"""What a released table is still good for: counting people, and predicting a class.

Counts are estimated as an analyst of the release would: a cell may stand for any value that it
covers, all of them equally likely. The classifier learns from the released cells, and is asked
about original ones of other people; so it needs to know whose row is whose.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Floats, Longs
from covey.encoding import Attribute, Category, EncodedTable, Interval
from covey.errors import TableError, UsageError
from covey.generalisation import HIDDEN, Nodes, boxes_of, cell_of_rows, parse
from covey.measures.loss import QueryError, leaf_ranges
from covey.tables import Table

SANITY = 0.001  # of all rows: a query with a smaller answer is judged as if it had this one
FOLDS = 5
MOST_PEOPLE = 10_000  # whom a classifier learns from and is asked about
MOST_CLASSES = 100
MOST_LEAVES = 100  # of a column that have a feature of their own

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Accuracy:
    """Share of people whose class was predicted without having seen them."""

    released: float  # by a classifier that learnt from released rows
    original: float  # by one that learnt from the original rows
    majority: float  # by always guessing the most frequent class


@dataclass(frozen=True)
class Workload:
    """What a release is still good for; accuracies are None where no class column is named."""

    query_error_median: float
    query_error_mean: float
    accuracy: float | None = None
    accuracy_original: float | None = None
    accuracy_majority: float | None = None


# ── what cells cover ────────────────────────────────────────────────────────────────────────────


class Column(NamedTuple):
    """The distinct cells of a column, from where to where each goes, and which one a row has.

    Categories are told by the places of their leaves in the tree's order, in which those under one
    node are neighbours: so nodes are intervals too. The ends of a missing number are NaN.
    """

    low: Floats
    high: Floats
    cell: Longs  # of each row
    step: float  # from a value to the next: 1 for whole numbers, days and leaves, or else 0
    hidden: Mask  # cells that stand for any number, or for none

    def covers(self, low: float, high: float) -> Mask:
        """Which distinct cells may stand for a value between two ends, both included."""
        return self.hidden | (np.minimum(self.high, high) >= np.maximum(self.low, low))

    def shares(self, low: float, high: float) -> Floats:
        """Which share of the values of each distinct cell lies between two ends.

        Values that lie a step apart are counted: [30, 39] is ten ages of the twenty in [30, 49].
        Where they may lie anywhere, lengths are compared, and a number alone is in or out.
        """
        overlap = np.minimum(self.high, high) - np.maximum(self.low, low)
        width = self.high - self.low + self.step
        shares = np.divide(overlap + self.step, width, out=np.ones_like(width), where=width > 0)
        return np.where(overlap >= 0, shares, 0.0)


def original_columns(original: EncodedTable) -> list[Column]:
    """The original's cells: each covers its own value only."""
    return [_original_column(attribute) for attribute in original.attributes]


def _original_column(attribute: Attribute) -> Column:
    if isinstance(attribute, Category):
        leaves = np.arange(attribute.tree.leaf_count, dtype=np.float64)
        cell = attribute.leaves.astype(np.int64)
        return Column(leaves, leaves, cell, 1.0, np.zeros(len(leaves), dtype=np.bool_))
    values, cell = np.unique(attribute.values, return_inverse=True)
    return Column(values, values, cell, _step(attribute), np.zeros(len(values), dtype=np.bool_))


def _step(interval: Interval) -> float:
    present = interval.values[~np.isnan(interval.values)]
    return 1.0 if interval.is_date or not np.any(present % 1) else 0.0


def released_columns(original: EncodedTable, released: Table) -> list[Column]:
    """The released cells; a hidden one covers the whole domain, or all leaves."""
    return [_released_column(original, attribute, released) for attribute in original.attributes]


def _released_column(original: EncodedTable, attribute: Attribute, released: Table) -> Column:
    shown, counts = parse(attribute, released)
    cell = cell_of_rows(attribute, released)
    assert np.array_equal(np.bincount(cell, minlength=len(counts)), counts)
    if isinstance(shown, Nodes):
        assert isinstance(attribute, Category)
        first, behind = leaf_ranges(original, attribute)
        low, high = (end.astype(np.float64) for end in (first[shown.node], behind[shown.node] - 1))
        return Column(low, high, cell, 1.0, np.zeros(len(low), dtype=np.bool_))
    assert isinstance(attribute, Interval)
    hidden, step = shown.state == HIDDEN, _step(attribute)
    lowest, highest = np.clip([attribute.low, attribute.high], *attribute.column.bounds)
    low = np.where(hidden, lowest, shown.low)
    high = np.where(hidden, highest, shown.high)
    if step:
        low, high = _whole(low, high)
    return Column(low, high, cell, step, hidden)


def _whole(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The first and the last whole number; where there is none, the interval as it is."""
    some = np.ceil(low) <= np.floor(high)
    return np.where(some, np.ceil(low), low), np.where(some, np.floor(high), high)


# ── counting ────────────────────────────────────────────────────────────────────────────────────


class Query(NamedTuple):
    """How many rows lie between these ends in all of these columns?"""

    columns: tuple[int, ...]  # places among the attributes, ascending
    ends: tuple[tuple[float, float], ...]  # leaves by their places


def query_error(
    original: EncodedTable,
    released: Table,
    *,
    queries: int = 1000,
    attributes: int = 2,
    selectivity: float = 0.1,
    seed: int = 0,
) -> QueryError:
    """The relative errors of counts over the release, for random queries.

    A query names `attributes` quasi-identifiers, and for each a range of values, such that about a
    `selectivity` of the rows would lie in all of them if values were spread evenly (Xiao and Tao
    2006). Answers of less than 0.1 % of the rows are taken for as many when an error is put in
    relation to them (Xiao, Wang, Gehrke 2011). The same seed asks the same queries.
    """
    asked = random_queries(original, queries, attributes, selectivity, seed)
    whole = np.ones(original.rows, dtype=np.int64)
    true = answers(original_columns(original), whole, asked)
    boxes, rows = boxes_of(original, released)
    estimated = answers(released_columns(original, boxes), rows, asked)
    errors = np.abs(estimated - true) / np.maximum(true, SANITY * original.rows)
    return QueryError(len(asked), float(np.median(errors)), float(np.mean(errors)))


def random_queries(
    original: EncodedTable, queries: int, attributes: int, selectivity: float, seed: int
) -> list[Query]:
    """Ranges from one value that occurs to another, equally many values in each of a column's."""
    if queries < 1 or attributes < 1 or not 0 < selectivity <= 1 or seed < 0:
        raise UsageError(
            "queries are 1 or more, of 1 or more attributes, their selectivity is above 0 and at "
            "most 1, and a seed is 0 or more"
        )
    random = np.random.default_rng(seed)
    values = [_values(attribute) for attribute in original.attributes]
    usable = [place for place, distinct in enumerate(values) if len(distinct)]
    width = selectivity ** (1 / max(min(attributes, len(usable)), 1))

    def ends(distinct: Floats) -> tuple[float, float]:
        many = int(np.ceil(len(distinct) * width))
        first = int(random.integers(len(distinct) - many + 1))
        return float(distinct[first]), float(distinct[first + many - 1])

    asked = []
    for _ in range(queries):
        chosen = sorted(random.permutation(usable)[:attributes].tolist())
        asked.append(Query(tuple(chosen), tuple(ends(values[place]) for place in chosen)))
    return asked


def _values(attribute: Attribute) -> Floats:
    if isinstance(attribute, Category):
        return np.unique(attribute.leaves).astype(np.float64)
    return np.unique(attribute.values[~np.isnan(attribute.values)])


def answers(columns: Sequence[Column], rows: Longs, asked: Sequence[Query]) -> Floats:
    """How many rows each query would count, if a cell were its share of a row.

    Queries that name the same columns are answered together, from the distinct rows of these.
    """
    found = np.empty(len(asked))
    for named in sorted({query.columns for query in asked}):
        cells, counts = _distinct_rows([columns[place].cell for place in named], rows)
        for number, query in enumerate(asked):
            if query.columns == named:
                share = counts
                for place, cell, ends in zip(named, cells, query.ends, strict=True):
                    share = share * columns[place].shares(*ends)[cell]
                found[number] = share.sum()
    return found


def _distinct_rows(cells: list[Longs], rows: Longs) -> tuple[list[Longs], Floats]:
    """Sorted, so that sums repeat."""
    frame = pl.DataFrame({str(place): cell for place, cell in enumerate(cells)})
    if not cells:
        return [], rows.astype(np.float64)
    counted = frame.with_columns(rows=rows).group_by(frame.columns).sum().sort(frame.columns)
    return (
        [counted[name].to_numpy() for name in frame.columns],
        counted["rows"].cast(pl.Float64).to_numpy(),
    )


# ── predicting ──────────────────────────────────────────────────────────────────────────────────


def classifier_accuracy(
    original: EncodedTable, released: Table, rows: Longs, classes: pl.Series, *, seed: int = 0
) -> Accuracy:
    """How well a classifier predicts the original rows of people whom it has not learnt from.

    `rows` names the original row behind each released one, `classes` is the class column of the
    original and has its name in the release. People are dealt into five parts; each part is
    predicted by a logistic regression over the rows of the other four, released or original. Of
    more than 10,000 people, as many are drawn at random.

    Logistic regression, because its only optimum is found without chance or tuning, and because it
    is linear in its features: a cell that may be three values is to it the mean of the three.
    Features of a number are the middle of its interval and whether it is missing; of a category,
    the share that each leaf has in the released node.
    """
    if classes.name not in released.frame.columns:
        raise TableError(f"column {classes.name!r} is not in the released table")
    random = np.random.default_rng(seed)
    people = np.sort(random.permutation(original.rows)[:MOST_PEOPLE])
    part = random.permutation(np.arange(len(people)) % FOLDS)
    # Released rows of these people, in the order of the original, which is that of `people`.
    behind = np.argsort(rows, kind="stable")
    behind = behind[np.isin(rows[behind], people)]
    person = np.searchsorted(people, rows[behind])
    some = released.with_frame(released.frame[behind])
    truth, told = _class_codes(classes[people], some.frame[classes.name])
    drawn = [c._replace(cell=c.cell[people]) for c in original_columns(original)]
    known = features(original, drawn)
    shown = features(original, released_columns(original, some))
    right = {"released": 0, "original": 0}
    for fold in range(FOLDS):
        held_out, learnt = part == fold, part[person] != fold
        asked = known[held_out], truth[held_out]
        right["released"] += _right(shown[learnt], told[learnt], *asked)
        right["original"] += _right(known[~held_out], truth[~held_out], *asked)
    return Accuracy(
        released=right["released"] / len(people),
        original=right["original"] / len(people),
        majority=float(np.bincount(truth).max()) / len(people),
    )


def _class_codes(original: pl.Series, released: pl.Series) -> tuple[Longs, Longs]:
    both = pl.concat([original.cast(pl.String), released.cast(pl.String)])
    codes = both.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    if len(np.unique(codes)) > MOST_CLASSES:
        raise UsageError(
            f"column {original.name!r} has more than {MOST_CLASSES} values: a class column has few"
        )
    return codes[: len(original)], codes[len(original) :]


def features(original: EncodedTable, columns: Sequence[Column]) -> Floats:
    """Columns of numbers from cells, the same ones for original and released cells."""
    parts = [
        _leaf_shares(attribute, column)
        if isinstance(attribute, Category)
        else _middles(attribute, column)
        for attribute, column in zip(original.attributes, columns, strict=True)
    ]
    return np.hstack(parts)


def _middles(interval: Interval, column: Column) -> Floats:
    """The middle of each interval as 0 … 1 of the domain; missing is half-way, and says so."""
    middle = (column.low + column.high) / 2 - interval.low
    scaled = middle / interval.width if interval.width else middle
    missing = np.isnan(scaled)
    return np.column_stack([np.where(missing, 0.5, scaled), missing])[column.cell]


def _leaf_shares(category: Category, column: Column) -> Floats:
    """A feature for each leaf, but one for all those beyond the most frequent ones."""
    counts = np.bincount(category.leaves, minlength=category.tree.leaf_count)
    common = np.sort(np.argsort(-counts, kind="stable")[:MOST_LEAVES])
    covers = (column.low[:, None] <= common) & (common <= column.high[:, None])
    shares = covers / (column.high - column.low + 1)[:, None]
    return np.column_stack([shares, 1 - shares.sum(axis=1)])[column.cell]


def _right(learnt: Floats, classes: Longs, asked: Floats, truth: Longs) -> int:
    """How many are predicted rightly; none where there was nothing to learn from."""
    if len(np.unique(classes)) < 2 or not len(asked):
        return int(np.count_nonzero(truth == classes[:1])) if len(classes) else 0
    return int(np.count_nonzero(_predict(learnt, classes, asked) == truth))


def _predict(learnt: Floats, classes: Longs, asked: Floats) -> Any:
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise UsageError(
            "the classifier needs scikit-learn, which comes with the extra covey[workload]"
        ) from None
    # One thread: sums are the same on every machine, and small matrices gain nothing by more.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # near the optimum is near enough
        return LogisticRegression(tol=1e-3).fit(learnt, classes).predict(asked)
