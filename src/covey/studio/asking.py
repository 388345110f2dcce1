"""Questions of the custodian's own: a number, a mean or a share by group, before and after.

A released cell may stand for several values. A row with such a cell counts for each of these values
in equal parts. An interval counts by its middle. A cell that shows nothing answers nothing: such
rows are counted apart.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Floats
from covey.encoding import Centres, Nodes, Ranges
from covey.encoding.intervals import MISSING as IS_MISSING
from covey.errors import UsageError
from covey.measures.histograms import MISSING, OTHERS
from covey.report import charts
from covey.report.charts import BEFORE, LINE, Bar
from covey.studio.pairs import Binned, Pair, binned, members, numbers_in, texts
from covey.tables import Table

Measure = Literal["count", "mean", "share"]
NOT_SHOWN = "not shown"


@dataclass(frozen=True)
class Question:
    """What both tables are asked for."""

    measure: Measure
    by: str
    of: str | None = None  # the column of a mean or share
    value: str | None = None  # of a share


@dataclass(frozen=True)
class Line:
    """The answer for one group; None if nobody is in it."""

    label: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Answer:
    """The answers of the original and of the release."""

    question: Question
    lines: tuple[Line, ...]
    whole: Line  # of all rows
    picture: str | None  # an SVG, if charts are installed


def answered(pair: Pair, question: Question) -> Answer:
    """Ask both tables."""
    known = {*pair.names, *pair.carried}
    if question.by not in known or (question.of is not None and question.of not in known):
        raise UsageError("there is no such column")
    is_count = question.measure == "count"
    if not is_count and question.of is None:
        raise UsageError("choose a column for the mean or the share")
    bins = binned(pair, question.by)
    before = _figures(_of_original(pair, question), _Parts(bins.of_rows, bins.each))
    after = _figures(_of_release(pair, question), _spread(pair, question.by, bins))
    labels = (*bins.labels, NOT_SHOWN)
    if is_count:
        lines = map(Line, labels, before.rows, after.rows)
        whole = Line("everyone", before.total, after.total)
    else:
        lines = map(Line, labels, before.each, after.each)
        whole = Line("everyone", before.mean, after.mean)
    # "not shown" and "missing" only where there are such rows
    rare = (NOT_SHOWN, MISSING)
    shown = tuple(line for line in lines if line.label not in rare or line.before or line.after)
    return Answer(question, shown, whole, _picture(shown))


def _picture(lines: tuple[Line, ...]) -> str | None:
    """The answers as bars, before above after."""
    pairs = [(line.before or 0, line.after or 0) for line in lines]
    if not charts.available() or any(min(pair) < 0 for pair in pairs):
        return None
    bars = [
        Bar(place, 0, figure, colour, lane=lane)
        for place, figures in enumerate(pairs)
        for lane, (figure, colour) in enumerate(zip(figures, (BEFORE, LINE), strict=True))
    ]
    return charts.svg(charts.bars([line.label for line in lines], bars, thick=9))


class _Parts(NamedTuple):
    """How the rows of a table are spread over bins: kinds of rows, and the part in each bin."""

    kind: NDArray[np.integer]  # of each row
    parts: Floats  # of each kind, by bin; the last bin is "not shown"


class _Figures(NamedTuple):
    """The rows and the mean of each bin, and of all."""

    rows: list[float]
    each: list[float | None]
    total: float
    mean: float | None


def _figures(values: Floats, spread: _Parts) -> _Figures:
    """The number of rows and the mean of their values in each bin, without unknown values."""
    kinds, known = len(spread.parts), ~np.isnan(values)
    rows = np.bincount(spread.kind[known], minlength=kinds) @ spread.parts
    sums = np.bincount(spread.kind[known], values[known], kinds) @ spread.parts
    each = [float(total / n) if n > 1e-9 else None for total, n in zip(sums, rows, strict=True)]
    mean = float(values[known].mean()) if known.any() else None
    return _Figures(rows.tolist(), each, float(known.sum()), mean)


# ── what rows count for ─────────────────────────────────────────────────────────────────────────


def _of_original(pair: Pair, question: Question) -> Floats:
    if question.of is None:
        return np.ones(pair.rows)
    return _exactly(pair.original, question.of, question)


def _of_release(pair: Pair, question: Question) -> Floats:
    if question.of is None:
        return np.ones(pair.released.frame.height)
    if question.of not in pair.names:
        return _exactly(pair.released, question.of, question)
    column = pair.shown(question.of)
    if isinstance(column.shown, Nodes):
        if question.measure == "mean":
            raise UsageError("a mean needs a column of numbers")
        counts_for = [
            float(np.mean([leaf == question.value for leaf in covered])) if covered else np.nan
            for covered in _values_of(column.shown, texts(column.written[0]))
        ]
        return pair.by_row(question.of, np.array(counts_for))
    if question.measure == "share":
        raise UsageError("a share needs a column of categories")
    if isinstance(column.shown, Centres):
        return pair.by_row(question.of, column.shown.centre)
    low, high = column.shown.ends
    return pair.by_row(question.of, np.where(column.shown.hidden, np.nan, low + (high - low) / 2))


def _exactly(table: Table, name: str, question: Question) -> Floats:
    """The numbers of a column, or 1 for each row with the value that is asked for."""
    cells = table.cells(name)
    if question.measure == "share":
        has = cells.cast(pl.String, strict=False) == (question.value or "")
        return has.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    numbers = numbers_in(table, name)
    if numbers is None:
        raise UsageError("a mean needs a column of numbers")
    return numbers.fill_null(float("nan")).to_numpy()


def _values_of(nodes: Nodes, written: list[str | None]) -> list[list[str]]:
    """The values that each distinct cell may stand for; none if it shows nothing."""
    tree = nodes.attribute.tree
    found: list[list[str]] = []
    for node, label in zip(nodes.node.tolist(), written, strict=True):
        first = int(tree.first_leaf[node])
        below = list(tree.leaves[first : first + int(tree.leaves_below[node])])
        in_set = members(label, tree)
        shows_nothing = label is None or node == tree.root
        found.append(in_set if in_set is not None else [] if shows_nothing else below)
    return found


# ── how rows are spread over bins ───────────────────────────────────────────────────────────────


def _spread(pair: Pair, by: str, bins: Binned) -> _Parts:
    if by not in pair.names:
        # Released as it is: the bin of each released row is that of its original.
        return _Parts(bins.of_rows[pair.release.rows], bins.each)
    column = pair.shown(by)
    match column.shown:
        case Ranges():
            parts = _over_ranges(column.shown, bins)
        case Centres():
            parts = _at_centres(column.shown, bins)
        case _:
            assert isinstance(column.shown, Nodes)
            parts = _over_labels(column.shown, texts(column.written[0]), bins)
    return _Parts(pair.cells[pair.attribute(by)], parts)


def _over_ranges(shown: Ranges, bins: Binned) -> Floats:
    """The part of each interval in each bin, as if all its values were equally likely."""
    parts = np.zeros((len(shown), len(bins.labels) + 1))
    low, high = (ends[:, None] for ends in shown.ends)
    if bins.are_single:
        inside = ((bins.first >= low) & (bins.first <= high)).astype(np.float64)
    else:
        starts, ends = np.append(-np.inf, bins.first[1:]), np.append(bins.first[1:], np.inf)
        step = shown.attribute.step
        inside = np.clip(np.minimum(high + step, ends) - np.maximum(low, starts), 0, None)
        inside = np.where(high + step > low, inside, (low >= starts) & (low < ends))
    parts[:, : len(bins.first)] = inside / np.maximum(inside.sum(axis=1, keepdims=True), 1e-12)
    for rows, place in ((shown.hidden, -1), (shown.state == IS_MISSING, bins.missing)):
        parts[rows] = 0
        parts[rows, place] = 1
    return parts


def _at_centres(shown: Centres, bins: Binned) -> Floats:
    """Each mean in the bin that it lies in or, if bins are single values, in the nearest one."""
    borders = (bins.first[1:] + bins.last[:-1]) / 2 if bins.are_single else bins.first[1:]
    states = [shown.hidden, shown.state == IS_MISSING]
    place = np.searchsorted(borders, shown.centre, side="right")
    return np.asarray(bins.each[np.select(states, [len(bins.labels), bins.missing], place)])


def _over_labels(shown: Nodes, written: list[str | None], bins: Binned) -> Floats:
    """The part of the values under each label that is in each bin."""
    place = {label: i for i, label in enumerate(bins.labels)}
    others = place.get(OTHERS, len(bins.labels))
    parts = np.zeros((len(shown), len(bins.labels) + 1))
    for i, covered in enumerate(_values_of(shown, written)):
        if written[i] is None:
            parts[i, bins.missing] = 1
        elif not covered:
            parts[i, -1] = 1
        for value in covered:
            parts[i, place.get(value, others)] += 1 / len(covered)
    return parts
