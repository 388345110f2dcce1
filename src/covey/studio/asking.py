"""Questions of the custodian's own: a number, a mean or a share by group, before and after.

A released cell may stand for several values. A row with such a cell counts for each of these values
in equal parts. An interval counts by its middle. A cell that shows nothing answers nothing: such
rows are counted apart.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Floats
from covey.encoding import Centres, Nodes, Ranges
from covey.encoding.categories import members_of
from covey.encoding.intervals import MISSING as IS_MISSING
from covey.errors import UsageError
from covey.report import charts
from covey.report.charts import BEFORE, LINE, Bar
from covey.studio.pairs import MISSING, OTHERS, Binned, Pair, binned, numbers_in, texts
from covey.tables import Table

Measure = Literal["count", "mean", "share"]
NOT_SHOWN = "not shown"


@dataclass(frozen=True)
class Question:
    """What is asked of both tables."""

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

    asked: Question
    lines: tuple[Line, ...]
    whole: Line  # of all rows
    picture: str | None  # an SVG, if charts are installed


def answered(pair: Pair, asked: Question) -> Answer:
    """Ask both tables."""
    known = {*pair.names, *pair.carried}
    if asked.by not in known or (asked.of is not None and asked.of not in known):
        raise UsageError("there is no such column")
    if asked.measure != "count" and asked.of is None:
        raise UsageError("choose a column for the mean or the share")
    bins = binned(pair, asked.by)
    before = _figures(_of_original(pair, asked), _one_each(bins))
    after = _figures(_of_release(pair, asked), _spread(pair, asked.by, bins))
    labels = (*bins.labels, NOT_SHOWN)
    if asked.measure != "count":
        both = tuple(map(Line, labels, before.each, after.each))
        whole = Line("everyone", before.mean, after.mean)
    else:
        both = tuple(map(Line, labels, before.rows, after.rows))
        whole = Line("everyone", before.count, after.count)
    # "not shown" and "missing" only where there are such rows
    shown = tuple(one for one in both if one.label not in (NOT_SHOWN, MISSING) or
                  one.before or one.after)  # fmt: skip
    return Answer(asked, shown, whole, _picture(shown))


def _picture(lines: tuple[Line, ...]) -> str | None:
    """The answers as bars, before above after."""
    if not charts.available() or any(
        (one.before or 0) < 0 or (one.after or 0) < 0 for one in lines
    ):
        return None
    bars = [
        Bar(place, 0, figure or 0, colour, lane=lane)
        for place, one in enumerate(lines)
        for lane, (figure, colour) in enumerate(((one.before, BEFORE), (one.after, LINE)))
    ]
    return charts.svg(charts.bars([one.label for one in lines], bars, thick=9))


# ── sums ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False, repr=False)
class _Parts:
    """How the rows of a table are spread over bins: kinds of rows, and the part in each bin."""

    kind: NDArray[np.integer]  # of each row
    parts: Floats  # of each kind, by bin; the last bin is "not shown"


@dataclass(frozen=True, eq=False, repr=False)
class _Figures:
    rows: list[float]
    each: list[float | None]
    count: float
    mean: float | None


def _figures(values: Floats, spread: _Parts) -> _Figures:
    """The number of rows and the mean of their values in each bin, without unknown values."""
    kinds = len(spread.parts)
    known = ~np.isnan(values)
    rows = np.bincount(spread.kind[known], minlength=kinds) @ spread.parts
    sums = np.bincount(spread.kind[known], values[known], kinds) @ spread.parts
    each = [float(total / n) if n > 1e-9 else None for total, n in zip(sums, rows, strict=True)]
    mean = float(values[known].mean()) if known.any() else None
    return _Figures(rows.tolist(), each, float(known.sum()), mean)


def _one_each(bins: Binned) -> _Parts:
    return _Parts(bins.of_rows, np.eye(len(bins.labels) + 1))


# ── what rows count for ─────────────────────────────────────────────────────────────────────────


def _of_original(pair: Pair, asked: Question) -> Floats:
    if asked.of is None:
        return np.ones(pair.rows)
    return _exactly(pair.original, asked.of, asked)


def _of_release(pair: Pair, asked: Question) -> Floats:
    if asked.of is None:
        return np.ones(pair.released.frame.height)
    if asked.of not in pair.names:
        return _exactly(pair.released, asked.of, asked)
    j = pair.attribute(asked.of)
    column = pair.view.columns[j]
    if isinstance(column.shown, Ranges | Centres):
        middle = _middle(column.shown)
        if asked.measure == "mean":
            return np.asarray(middle[pair.cells[j]])
        raise UsageError("a share needs a column of categories")
    assert isinstance(column.shown, Nodes)
    if asked.measure == "mean":
        raise UsageError("a mean needs a column of numbers")
    value = asked.value or ""
    chance = [
        float(np.mean([leaf == value for leaf in covered])) if covered else float("nan")
        for covered in _values_of(column.shown, texts(column.written[0]))
    ]
    return np.asarray(np.array(chance)[pair.cells[j]])


def _middle(shown: Ranges | Centres) -> Floats:
    """The number that each distinct cell counts by: the middle of an interval, or the mean."""
    if isinstance(shown, Centres):
        return shown.centre
    low, high = shown.ends
    return np.where(shown.hidden, np.nan, low + (high - low) / 2)


def _exactly(table: Table, name: str, asked: Question) -> Floats:
    """The numbers of a column, or 1 for each row with the value that is asked for."""
    cells = table.cells(name)
    if asked.measure == "share":
        has = cells.cast(pl.String, strict=False) == (asked.value or "")
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
        if label is not None and label.startswith("{") and label not in tree.node_of:
            found.append(members_of(label))
        elif label is None or node == tree.root:
            found.append([])
        else:
            first = int(tree.first_leaf[node])
            found.append(list(tree.leaves[first : first + int(tree.leaves_below[node])]))
    return found


# ── how rows are spread over bins ───────────────────────────────────────────────────────────────


def _spread(pair: Pair, by: str, bins: Binned) -> _Parts:
    if by not in pair.names:
        # Released as it is: the bin of each released row is that of its original.
        return _Parts(bins.of_rows[pair.release.rows], np.eye(len(bins.labels) + 1))
    j = pair.attribute(by)
    column = pair.view.columns[j]
    if isinstance(column.shown, Ranges):
        parts = _over_ranges(column.shown, bins)
    elif isinstance(column.shown, Centres):
        parts = _at_centres(column.shown, bins)
    else:
        assert isinstance(column.shown, Nodes)
        parts = _over_labels(column.shown, texts(column.written[0]), bins)
    return _Parts(pair.cells[j], parts)


def _over_ranges(shown: Ranges, bins: Binned) -> Floats:
    """The part of each interval in each bin, as if all its values were equally likely."""
    assert bins.first is not None
    assert bins.last is not None
    parts = np.zeros((len(shown), len(bins.labels) + 1))
    low, high = (ends[:, None] for ends in shown.ends)
    if (bins.first == bins.last).all():  # few values, each a bin of its own
        inside = ((bins.first >= low) & (bins.first <= high)).astype(np.float64)
    else:
        starts = np.concatenate([[-np.inf], bins.first[1:]])
        ends = np.concatenate([bins.first[1:], [np.inf]])
        step = shown.attribute.step
        inside = np.clip(np.minimum(high + step, ends) - np.maximum(low, starts), 0, None)
        point = (low >= starts) & (low < ends)
        inside = np.where(high + step > low, inside, point)
    parts[:, : len(bins.first)] = inside / np.maximum(inside.sum(axis=1, keepdims=True), 1e-12)
    for rows, place in ((shown.hidden, -1), (shown.state == IS_MISSING, bins.missing)):
        parts[rows] = 0
        parts[rows, place] = 1
    return parts


def _at_centres(shown: Centres, bins: Binned) -> Floats:
    """Each mean in the bin that it lies in or, if bins are single values, in the nearest one."""
    assert bins.first is not None
    assert bins.last is not None
    middles = (bins.first[1:] + bins.last[:-1]) / 2
    borders = middles if (bins.first == bins.last).all() else bins.first[1:]
    place = np.searchsorted(borders, shown.centre, side="right")
    place = np.select(
        [shown.hidden, shown.state == IS_MISSING], [len(bins.labels), bins.missing], place
    )
    return np.eye(len(bins.labels) + 1)[place]


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
