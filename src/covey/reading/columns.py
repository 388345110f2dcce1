"""The generalised columns of a release: which values each cell may stand for.

Every distinct cell is read once. A cell of numbers or dates stands for the values on a lattice
between two ends, a cell of categories for one of some labels. Each of them is equally likely to a
reader who knows the release alone.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Floats, Longs
from covey.encoding import MISSING_LEAF, Centres, Interval, Ranges
from covey.encoding.attributes import Mask
from covey.encoding.categories import members_of
from covey.encoding.intervals import HIDDEN, HIGH, LOW, SHOWN, moments
from covey.errors import UsageError
from covey.generalisation.as_released import UNKNOWN, tree_of_labels
from covey.schema import Column
from covey.tables import formulas
from covey.tables.csv_files import Dialect

_FINEST = 6  # decimals of the numbers that are drawn
_ROUNDING = 1e-9  # of a step of the lattice


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
        first, last = column.domain or ranges.domain(rows)
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
        """The step of the lattice on which the values lie: one, a day or hour, or a decimal."""
        if self.interval.is_date:
            return 1 / 24 if self.interval.has_hours else 1.0
        ends = np.unique(np.concatenate([self.low, self.high]))
        decimals = (_decimals(end) for end in ends[np.isfinite(ends)].tolist())
        return float(10.0 ** -min(max(decimals, default=0), _FINEST))

    @cached_property
    def _lattice(self) -> tuple[Longs, Longs]:
        """The first and the last step in each cell; 0 if it is missing."""
        low, high = np.nan_to_num(self.low) / self.step, np.nan_to_num(self.high) / self.step
        first = np.ceil(low - _ROUNDING).astype(np.int64)
        return first, np.maximum(np.floor(high + _ROUNDING).astype(np.int64), first)

    def _typed(self, values: Floats, name: str = "") -> pl.Series:
        """Numbers or dates, null if not a number."""
        series = pl.Series(name or self.name, values).fill_nan(None)
        if self.interval.is_date:
            return moments(series, hours=self.interval.has_hours)
        if bool((series.drop_nulls() % 1 == 0).all()):
            return series.cast(pl.Int64)
        return series.round(_FINEST + 1)

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
        middle = np.where(self.state == SHOWN, (self.low + self.high) / 2, np.nan)
        if self.interval.is_date:
            middle = np.floor(middle / self.step) * self.step
        return self._typed(middle[self.cell])

    def draw(self, random: np.random.Generator) -> pl.Series:
        """A value between both ends; for a cell that matches anything, one of the domain."""
        first, last = self._lattice
        steps = random.integers(first[self.cell], last[self.cell], endpoint=True)
        values = np.where(np.isnan(self.low), np.nan, 0.0)[self.cell] + steps * self.step
        return self._typed(values if self.interval.has_hours else np.round(values, _FINEST))

    def share(self, wanted: Any) -> Floats:
        """The share of possible values that lie between both ends of `wanted`, or equal it."""
        first, last = self._lattice
        low, high = (self._number(end) for end in _both_ends(wanted, self.name))
        begin = np.maximum(first, math.ceil(max(low / self.step, -(2.0**62)) - _ROUNDING))
        end = np.minimum(last, math.floor(min(high / self.step, 2.0**62) + _ROUNDING))
        found: Floats = np.maximum(end - begin + 1, 0) / (last - first + 1)
        # A cell that matches anything may be missing, too, so nothing is sure of it.
        found = np.where(self.state == HIDDEN, np.minimum(found, 1 - _ROUNDING), found)
        of_rows: Floats = np.where(np.isnan(self.low), 0.0, found)[self.cell]
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

    @classmethod
    def of(
        cls, name: str, column: Column, written: pl.Series, cell: NDArray[Any], dialect: Dialect
    ) -> "CoarseLabels":
        """Read the distinct cells of a column."""
        text = written.cast(pl.String)
        tree = tree_of_labels(column, text)
        known = text.drop_nulls().to_list()
        meant = dict(zip(known, formulas.meant(known, tree.node_of, dialect), strict=True))
        below = [tree.first_leaf, tree.leaves_below]

        def stands_for(written: str | None) -> tuple[str | None, ...]:
            if written is None:
                return (None,)
            label = meant[written]
            node = tree.node_of.get(label)
            if node is None:
                return tuple(members_of(label))
            start, leaves = (int(each[node]) for each in below)
            leaves_of = tree.labels[start : start + leaves]
            found = [leaf for leaf in leaves_of if not any(sign in leaf for sign in UNKNOWN)]
            return tuple(one if one != MISSING_LEAF else None for one in found) or (label,)

        return cls(name, cell, written, tuple(map(stands_for, text)))

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
        often: dict[str | None, int] = {}
        for labels, number in zip(self.labels, rows.tolist(), strict=True):
            if len(labels) == 1:
                often[labels[0]] = often.get(labels[0], 0) + number
        likely = [max(labels, key=lambda label: often.get(label, 0)) for labels in self.labels]
        return pl.Series(self.name, likely, dtype=pl.String).gather(self.cell)

    def draw(self, random: np.random.Generator) -> pl.Series:
        """One of the labels that the cell of each row may stand for."""
        begin = np.cumsum(self._counts) - self._counts
        chosen = begin[self.cell] + random.integers(0, self._counts[self.cell])
        every = pl.Series(self.name, [one for some in self.labels for one in some], pl.String)
        return every.gather(chosen)

    def share(self, wanted: Any) -> Floats:
        """The share of possible labels that are wanted."""
        labels = {wanted} if wanted is None or isinstance(wanted, str) else wanted
        if not isinstance(labels, Collection) or not all(isinstance(x, str | None) for x in labels):
            raise UsageError(f"{self.name!r} needs a label, or a list of labels")
        found = [sum(one in labels for one in some) / len(some) for some in self.labels]
        of_rows: Floats = np.array(found, dtype=np.float64)[self.cell]
        return of_rows


def _both_ends(wanted: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(wanted, tuple | list):
        return wanted, wanted
    if len(wanted) != 2:
        raise UsageError(f"{name!r} needs one value, or a lowest and a highest one")
    return wanted[0], wanted[1]


def _decimals(number: float) -> int:
    text = np.format_float_positional(number, trim="-")
    return len(text.partition(".")[2])
