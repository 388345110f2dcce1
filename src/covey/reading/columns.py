"""The generalised columns of a release: which values each cell may stand for.

Every distinct cell is read once. A cell of numbers or dates stands for the values on a lattice
between two ends, a cell of categories for one of some labels. Each of them is equally likely to a
reader who knows the release alone.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Floats, Longs
from covey.encoding import MISSING_LEAF, Category, Centres, Interval, Ranges
from covey.encoding.attributes import Mask
from covey.encoding.categories import members_of
from covey.encoding.intervals import HIGH, LOW, SHOWN, moments
from covey.errors import UsageError
from covey.generalisation.as_released import UNKNOWN, tree_of_labels
from covey.schema import Column
from covey.schema.taxonomy import Taxonomy
from covey.tables import formulas
from covey.tables.csv_files import Dialect

_FINEST = 6  # decimals of the numbers that are drawn
_ROUNDING = 1e-9  # of a step between values


@dataclass(frozen=True, eq=False, repr=False)
class CoarseColumn(ABC):
    """A generalised column: its distinct cells, and which of them each row has."""

    name: str
    cell: NDArray[Any]  # of each row

    @property
    @abstractmethod
    def bounds(self) -> list[pl.Series]:
        """The cells as two columns of ends, or as they are written."""

    @property
    @abstractmethod
    def middle(self) -> pl.Series:
        """One value for each row."""

    @abstractmethod
    def draw(self, random: np.random.Generator) -> pl.Series:
        """A value for each row, at random from those that its cell may stand for."""

    @abstractmethod
    def share(self, wanted: Any) -> Floats:
        """For each row, the share of its possible values that are `wanted`."""


@dataclass(frozen=True, eq=False, repr=False)
class CoarseNumbers(CoarseColumn):
    """Numbers or dates, which lie between two ends."""

    interval: Interval
    low: Floats  # of each distinct cell; NaN if missing
    high: Floats
    open_below: Mask
    open_above: Mask
    state: NDArray[np.int8]  # as of `Ranges`

    @classmethod
    def of(
        cls,
        name: str,
        column: Column,
        written: Sequence[pl.Series],
        cell: NDArray[Any],
        dialect: Dialect,
    ) -> "CoarseNumbers":
        """Read the distinct cells of a column.

        An open end is closed by the declared domain; without one it ends at the bound itself.
        """
        unread = Interval.within(name, column, pl.Series([], dtype=pl.Float64), (0.0, 0.0))
        shown = unread.parse(written, dialect)
        if isinstance(shown, Centres):
            ends = shown.centre
            ranges = Ranges(unread, ends, ends.copy(), shown.state)
        else:
            ranges = shown
        rows = np.bincount(cell, minlength=len(ranges)).astype(np.int64)
        first, last = column.domain or ranges.usual(rows)
        bottom, top = column.bounds
        below, above = (ranges.low <= bottom), (ranges.high >= top)
        declared = column.domain is not None
        hidden = ranges.hidden
        low = np.where(below & declared, first, ranges.low)
        high = np.where(above & declared, last, ranges.high)
        low, high = np.where(hidden, first, low), np.where(hidden, last, high)
        return cls(name, cell, unread, low, high, below, above, ranges.state)

    @cached_property
    def step(self) -> float:
        """The step between values: one, a day or hour, or a decimal; 0 if they are finer."""
        if self.interval.is_date:
            return 1 / 24 if self.interval.has_hours else 1.0
        ends = np.unique(np.concatenate([self.low, self.high]))
        decimals = max(map(_decimals, ends[np.isfinite(ends)].tolist()), default=0)
        return 10.0**-decimals if decimals <= _FINEST else 0.0

    def _typed(self, values: Floats, name: str = "") -> pl.Series:
        """Numbers or dates, null if not a number."""
        series = pl.Series(name or self.name, values).fill_nan(None)
        if self.interval.is_date:
            return moments(series, hours=self.interval.has_hours)
        if bool((series.drop_nulls() % 1 == 0).all()):
            return series.cast(pl.Int64)
        return series

    @property
    def bounds(self) -> list[pl.Series]:
        """The lowest and the highest value of each row, null if open, missing or not shown."""
        ends, closed = (self.low, self.high), self.interval.column.domain is not None
        shown = self.state == SHOWN
        kept = [shown & (closed | ~is_open) for is_open in (self.open_below, self.open_above)]
        return [
            self._typed(np.where(some, end, np.nan)[self.cell], self.name + suffix)
            for end, some, suffix in zip(ends, kept, (LOW, HIGH), strict=True)
        ]

    @property
    def middle(self) -> pl.Series:
        """The number half-way between both ends, null if missing or not shown."""
        middle = np.where(self.state == SHOWN, self.low + (self.high - self.low) / 2, np.nan)
        if self.interval.is_date:
            middle = np.floor(middle / self.step + _ROUNDING) * self.step
        return self._typed(middle[self.cell])

    def draw(self, random: np.random.Generator) -> pl.Series:
        """A value between both ends; for a cell that matches anything, one of the domain."""
        low, high, step = self.low[self.cell], self.high[self.cell], self.step
        if not step:
            share: Floats = random.random(len(low))
            return self._typed(low + share * (high - low))
        first = np.ceil(np.nan_to_num(low) / step - _ROUNDING).astype(np.int64)
        last = np.floor(np.nan_to_num(high) / step + _ROUNDING).astype(np.int64)
        steps = random.integers(first, np.maximum(first, last), endpoint=True)
        between = steps * step if self.interval.is_date else np.round(steps * step, _FINEST)
        values: Floats = np.where(low == high, low, between)
        return self._typed(np.where(np.isnan(low), np.nan, values))

    def share(self, wanted: Any) -> Floats:
        """The share of possible values that lie between both ends of `wanted`, or equal it."""
        first, last = (self._number(end) for end in _both_ends(wanted, self.name))
        if first > last:
            raise UsageError(f"{self.name!r}: give the lowest value before the highest")
        common = np.minimum(self.high, last) - np.maximum(self.low, first)
        with np.errstate(invalid="ignore", divide="ignore"):  # no width: all or nothing
            share = (common + self.step) / (self.high - self.low + self.step)
        possible = np.clip(np.nan_to_num(share), _ROUNDING, 1 - _ROUNDING)
        # A cell that matches anything may be missing, so nothing is sure of it.
        sure = (first <= self.low) & (self.high <= last) & (self.state == SHOWN)
        of_rows: Floats = np.select([sure, common >= 0], [1.0, possible], 0.0)[self.cell]
        return of_rows

    def _number(self, end: Any) -> float:
        if self.interval.is_date:
            try:
                day = date.fromisoformat(end) if isinstance(end, str) else end
                moment = datetime.combine(day, datetime.min.time(), UTC)
                return moment.timestamp() / 86_400
            except (TypeError, ValueError):
                raise UsageError(f"{self.name!r} needs dates, such as 1990-01-31") from None
        if isinstance(end, bool) or not isinstance(end, int | float):
            raise UsageError(f"{self.name!r} needs a number, or a lowest and a highest number")
        return float(end)


@dataclass(frozen=True, eq=False, repr=False)
class CoarseLabels(CoarseColumn):
    """Categories: each cell stands for one of some labels."""

    written: pl.Series  # the distinct cells
    labels: tuple[tuple[str | None, ...], ...]  # of each distinct cell; None for missing
    is_open: Mask  # the distinct cells that may stand for labels that no cell shows, too

    @classmethod
    def of(
        cls, name: str, column: Column, written: pl.Series, cell: NDArray[Any], dialect: Dialect
    ) -> "CoarseLabels":
        """Read the distinct cells of a column."""
        text = written.cast(pl.String)
        tree = tree_of_labels(column, text)
        nodes = Category(name, column, np.empty(0, np.int32), tree).parse([written], dialect).node
        known = text.drop_nulls().to_list()
        meant = dict(zip(known, formulas.meant(known, tree.node_of, dialect), strict=True))
        below = [
            _members(meant.get(cell), tree) or _leaves_below(tree, int(node))
            for cell, node in zip(text, nodes, strict=True)
        ]
        shown = [tuple(leaf for leaf in leaves if not _is_unknown(leaf)) for leaves in below]
        is_open = np.array([len(a) < len(b) for a, b in zip(shown, below, strict=True)], np.bool_)
        return cls(name, cell, written, tuple(map(_or_itself, shown, text)), is_open)

    @cached_property
    def _counts(self) -> Longs:
        return np.array([len(some) for some in self.labels], dtype=np.int64)

    @property
    def bounds(self) -> list[pl.Series]:
        """The cells as they are written."""
        return [self.written.alias(self.name).gather(self.cell)]

    @property
    def middle(self) -> pl.Series:
        """Of the labels that a cell may stand for, the one that most rows show exactly."""
        rows = np.bincount(self.cell, minlength=len(self.labels))
        often: Counter[str | None] = Counter()
        for labels, number in zip(self.labels, rows.tolist(), strict=True):
            often.update({labels[0]: number} if len(labels) == 1 else {})
        likely = [max(labels, key=often.__getitem__) for labels in self.labels]
        return pl.Series(self.name, likely, dtype=pl.String).gather(self.cell)

    def draw(self, random: np.random.Generator) -> pl.Series:
        """One of the labels that the cell of each row may stand for."""
        begin = np.cumsum(self._counts) - self._counts
        chosen = begin[self.cell] + random.integers(0, self._counts[self.cell])
        every = pl.Series(self.name, [one for some in self.labels for one in some], pl.String)
        return every.gather(chosen)

    def share(self, wanted: Any) -> Floats:
        """The share of possible labels that are wanted; all labels that no cell shows are one."""
        labels = {wanted} if wanted is None or isinstance(wanted, str) else wanted
        if not isinstance(labels, Collection) or not all(isinstance(x, str | None) for x in labels):
            raise UsageError(f"{self.name!r} needs a label, or a list of labels")
        shown = {label for some in self.labels for label in some}
        met = np.array([sum(one in labels for one in some) for some in self.labels])
        met += self.is_open & any(label not in shown for label in labels)
        of_rows: Floats = (met / (self._counts + self.is_open))[self.cell]
        return of_rows


def _members(label: str | None, tree: Taxonomy) -> list[str | None]:
    """The members of a set of values; none if the label is no set."""
    if label is None or label in tree.node_of or members_of(label) == [label]:
        return []
    return [*members_of(label)]


def _leaves_below(tree: Taxonomy, node: int) -> list[str | None]:
    begin, leaves = int(tree.first_leaf[node]), int(tree.leaves_below[node])
    return [leaf if leaf != MISSING_LEAF else None for leaf in tree.labels[begin : begin + leaves]]


def _is_unknown(leaf: str | None) -> bool:
    """Whether a leaf only holds the place of labels that the release does not show."""
    return leaf is not None and any(sign in leaf for sign in UNKNOWN)


def _or_itself(labels: tuple[str | None, ...], cell: str | None) -> tuple[str | None, ...]:
    return labels or (cell,)


def _both_ends(wanted: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(wanted, tuple | list):
        return wanted, wanted
    if len(wanted) != 2:
        raise UsageError(f"{name!r} needs one value, or a lowest and a highest one")
    return wanted[0], wanted[1]


def _decimals(number: float) -> int:
    text = np.format_float_positional(number, trim="-")
    return len(text.partition(".")[2])
