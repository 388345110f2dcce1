"""The columns of a release beside those of the people: which released cells fit a known value.

Both sides are numbered: each person has a value, each released row a cell. A value fits a cell if
the cell may stand for it. An attacker who knows values only about accepts neighbours, too: numbers
and dates one step away, codes with one other sign.

A missing value of a quasi-identifier is a value like any other, unless the schema says that it
matches anything. Of a column that is released as it is, nobody knows a missing value.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Floats, Longs
from covey.encoding import Category, Centres, EncodedTable, Interval, Nodes, Ranges
from covey.encoding.attributes import Attribute, Mask
from covey.encoding.categories import members_of
from covey.encoding.intervals import SHOWN
from covey.generalisation import ShownColumn, View
from covey.generalisation.classes import index_of_rows
from covey.reading.released import plain
from covey.schema import MissingPolicy, Role, Schema
from covey.tables import Table

_DAYS = {"hour": 1 / 24, "day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
_EXACT = 2.0**53  # from here on, floats skip whole numbers


@dataclass(frozen=True, eq=False, repr=False)
class KnownColumn(ABC):
    """A column of which an attacker may know the value of each person."""

    name: str
    role: Role
    values: Longs  # the number of the value of each person
    cells: Longs  # the number of the cell of each released row

    @abstractmethod
    def fits(self, values: NDArray[Any], cells: NDArray[Any], *, about: bool) -> Mask:
        """Whether cells may stand for values, both by their numbers; arrays are broadcast."""


@dataclass(frozen=True, eq=False, repr=False)
class Line(KnownColumn):
    """Numbers or dates in intervals, or values released as they are, by their ranks."""

    known: Floats  # distinct values; NaN if missing
    low: Floats  # ends of the distinct cells, infinite if hidden; low is above high if missing
    high: Floats
    is_absent: Mask  # the cells that fit a missing value
    unknown: Mask  # the values that fit any cell
    step: float  # to the neighbour; 0 if values have none
    is_narrow: Mask  # the cells that are an interval with two ends, none of them open

    def fits(self, values: NDArray[Any], cells: NDArray[Any], *, about: bool) -> Mask:
        """Compare with both ends."""
        first, last = self.reach(values, about=about)
        inside = (self.low[cells] <= last) & (first <= self.high[cells])
        absent = np.isnan(self.known)[values] & self.is_absent[cells]
        found: Mask = inside | absent | self.unknown[values]
        return found

    def reach(self, values: NDArray[Any], *, about: bool) -> tuple[Floats, Floats]:
        """The lowest and the highest number that the attacker looks for."""
        step = self.step if about else 0.0
        return self.known[values] - step, self.known[values] + step

    @cached_property
    def at_ends(self) -> Floats:
        """Of all people whose value lies in a cell, the share whose value is an end of it."""
        before = np.append(0, np.cumsum(np.bincount(self.values, minlength=len(self.known))))
        ends = []
        for first, last in ((self.low, self.high), (self.low, self.low), (self.high, self.high)):
            upto = before[np.searchsorted(self.known, last, side="right")]
            ends.append(upto - before[np.searchsorted(self.known, first)])
        share: Floats = (ends[1] + ends[2]) / np.maximum(ends[0], 1)
        return np.where(self.is_narrow, share, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Labels(KnownColumn):
    """Generalised categories."""

    exact: Mask  # (distinct values, distinct cells)
    near: Mask  # the same, with one sign of a code unknown

    def fits(self, values: NDArray[Any], cells: NDArray[Any], *, about: bool) -> Mask:
        """Look them up."""
        found: Mask = (self.near if about else self.exact)[values, cells]
        return found


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


def columns_of(
    people: Table, encoded: EncodedTable, released: Table, schema: Schema
) -> dict[str, KnownColumn]:
    """All columns that the release shows, in the order of the original."""
    view = View.of(released, encoded)
    cells = index_of_rows(released, view.classes.cells)
    found = {
        attribute.name: _generalised(attribute, column, cell.astype(np.int64))
        for attribute, column, cell in zip(encoded.attributes, view.columns, cells, strict=True)
    }
    kept = schema.names(Role.INSENSITIVE, Role.SENSITIVE)
    for name in kept:
        if name in released.frame.columns and name in people.frame.columns:
            found[name] = _kept(name, schema.columns[name].role, people, released)
    return {name: found[name] for name in people.frame.columns if name in found}


def _generalised(attribute: Attribute, column: ShownColumn, cells: Longs) -> KnownColumn:
    """The values of the people by the original, and what the distinct cells stand for."""
    if isinstance(attribute, Category):
        assert isinstance(column.shown, Nodes)
        return _labels(attribute, column.shown, column.written[0], cells)
    assert isinstance(attribute, Interval)
    assert isinstance(column.shown, Ranges | Centres)
    return _interval(attribute, column.shown, cells)


def _interval(attribute: Interval, shown: Ranges | Centres, cells: Longs) -> Line:
    known, values = np.unique(attribute.values, return_inverse=True)
    wildcard = attribute.column.missing is MissingPolicy.WILDCARD
    state = shown.state
    low, high = np.full((2, len(state)), np.nan)
    if isinstance(shown, Ranges):
        low, high = shown.low, shown.high
    is_shown = (state == SHOWN) & ~np.isnan(low)
    bottom, top = attribute.column.bounds
    is_narrow = is_shown & (bottom < low) & (low < high) & (high < top)
    # A mean does not say which values it stands for.
    is_open = ~is_shown & (shown.hidden | (state == SHOWN) | wildcard)
    low = np.select([is_shown, is_open], [low, -np.inf], np.inf)
    high = np.select([is_shown, is_open], [high, np.inf], -np.inf)
    unknown = np.isnan(known) & wildcard
    return Line(
        *(attribute.name, Role.QUASI, values.astype(np.int64), cells, known, low, high),
        *(state != SHOWN, unknown, _step(attribute), is_narrow),
    )


def _step(attribute: Interval) -> float:
    grid = attribute.column.grid
    if isinstance(grid, str):
        return _DAYS[grid]
    return float(grid or attribute.step or attribute.width / 100)


def _labels(category: Category, shown: Nodes, written: pl.Series, cells: Longs) -> Labels:
    known, first_row, values = np.unique(category.leaves, return_index=True, return_inverse=True)
    labels = [category.tree.labels[leaf] for leaf in known]
    first, after = shown.places
    exact = (first <= known[:, None]) & (known[:, None] < after)
    for cell, label in enumerate(written.cast(pl.String)):
        if label is not None and label.startswith("{") and label not in category.tree.node_of:
            exact[:, cell] = np.isin(labels, members_of(label))
    if category.column.missing is MissingPolicy.WILDCARD:
        exact[:, written.is_null().to_numpy()] = True
        exact[category.absent[first_row]] = True
    near = exact.copy()
    for alike in _one_digit_apart(labels):
        near[alike] |= exact[alike].any(axis=0)
    return Labels(category.name, Role.QUASI, values.astype(np.int64), cells, exact, near)


def _one_digit_apart(labels: Sequence[str]) -> Iterator[list[int]]:
    """The places of labels that are equal but for one digit."""
    alike: dict[tuple[str, str], list[int]] = {}
    for place, label in enumerate(labels):
        for at, sign in enumerate(label):
            if sign.isdigit():
                alike.setdefault((label[:at], label[at + 1 :]), []).append(place)
    yield from (places for places in alike.values() if len(places) > 1)


def _kept(name: str, role: Role, people: Table, released: Table) -> Line:
    before, after, are_numbers = alike(people, released, name)
    known, number = np.unique(np.concatenate([before, after]), return_inverse=True)
    values, cells = number[: len(before)].astype(np.int64), number[len(before) :].astype(np.int64)
    absent = np.isnan(known)
    low, high = np.where(absent, np.inf, known), np.where(absent, -np.inf, known)
    nothing = np.zeros(len(known), np.bool_)
    step = float(are_numbers)
    return Line(name, role, values, cells, known, low, high, nothing, absent, step, nothing)


def alike(people: Table, released: Table, name: str) -> tuple[Floats, Floats, bool]:
    """The cells of both tables as numbers: by value if they are some or, of texts, by rank."""
    before, after = (plain(one.cells(name), one.dialect) for one in (people, released))
    are_numbers = all(
        one.dtype.is_numeric() and (one.abs().max() or 0) < _EXACT  # type: ignore[operator]
        for one in (before, after)
    )
    each = pl.concat(
        [one.cast(pl.Float64 if are_numbers else pl.String) for one in (before, after)]
    )
    ranked = each if are_numbers else each.rank("dense").cast(pl.Float64)
    numbers = ranked.fill_null(float("nan")).to_numpy()
    return numbers[: len(before)], numbers[len(before) :], are_numbers
