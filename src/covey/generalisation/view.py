"""A released table and its original, with the released cells read once.

All figures are computed from it, whatever software made the release. For each column it has the
distinct cells, what they show, and the cell of each row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import polars as pl

from covey._core.arrays import Longs
from covey.encoding import Attribute, EncodedTable, Shown
from covey.encoding.intervals import HIGH, LOW
from covey.errors import TableError
from covey.generalisation.as_released import as_released
from covey.tables import Table


@dataclass(frozen=True, eq=False, repr=False)
class ShownColumn:
    """What a released table shows of one quasi-identifier."""

    shown: Shown  # the distinct cells, in the order of their text, so that sums repeat
    cell: Longs  # for each row, the index of its cell
    written: Sequence[pl.Series]  # the distinct cells themselves

    @property
    def attribute(self) -> Attribute:
        """The column of the original."""
        return self.shown.attribute

    @cached_property
    def counts(self) -> Longs:
        """The number of rows with each distinct cell."""
        return np.bincount(self.cell, minlength=len(self.shown))

    @cached_property
    def on_shown_scale(self) -> "ShownColumn":
        """The same, with the declared or released domain, since only that may be published."""
        return ShownColumn(self.shown.on_shown_scale(self.counts), self.cell, self.written)


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """A released table, read once."""

    released: Table
    original: EncodedTable
    columns: tuple[ShownColumn, ...]

    @classmethod
    def of(cls, released: Table, original: EncodedTable) -> "View":
        """Read a released table; report an unreadable cell by its row."""
        columns = tuple(_column(attribute, released) for attribute in original.attributes)
        return cls(released, original, columns)

    @property
    def rows(self) -> int:
        """The number of released rows."""
        return self.released.frame.height

    @property
    def same_rows(self) -> bool:
        """Whether the original has exactly the released rows.

        If it has more, some rows were suppressed, and it is unknown which.
        """
        return self.original.rows == self.rows

    @cached_property
    def boxes(self) -> tuple[Longs, Longs]:
        """The distinct rows as indices of their cells, and the number of rows of each."""
        cells = pl.DataFrame({str(j): column.cell for j, column in enumerate(self.columns)})
        counted = cells.group_by(cells.columns).len("rows")
        return counted.drop("rows").to_numpy(), counted["rows"].to_numpy().astype(np.int64)

    @cached_property
    def publishable(self) -> "View":
        """The release with only what may be published about its original.

        Figures from the whole original would also reveal something about suppressed rows. So if
        these are unknown, the release itself is used instead of the original.
        """
        if self.same_rows:
            return self
        columns = tuple(self._without_original(column) for column in self.columns)
        attributes = tuple(column.attribute for column in columns)
        original = EncodedTable(attributes, self.rows, self.original.measure)
        return View(self.released, original, columns)

    def _without_original(self, column: ShownColumn) -> ShownColumn:
        cell, written = column.cell, column.written
        read = partial(_read, written=written, released=self.released)
        return ShownColumn(as_released(column.shown, cell, written, read), cell, written)


def _column(attribute: Attribute, released: Table) -> ShownColumn:
    cells = _cells(attribute, released)
    frame = pl.DataFrame([column.alias(str(place)) for place, column in enumerate(cells)])
    grouped = frame.with_row_index("row").group_by(frame.columns).agg("row").sort(frame.columns)
    written = [grouped[str(place)].alias(column.name) for place, column in enumerate(cells)]
    shown = _read(attribute, written, released)
    cell = np.empty(frame.height, dtype=np.int64)
    cell[grouped["row"].explode()] = np.repeat(np.arange(len(shown)), grouped["row"].list.len())
    return ShownColumn(shown, cell, written)


def _read(attribute: Attribute, written: Sequence[pl.Series], released: Table) -> Shown:
    """Read the distinct cells."""
    try:
        return attribute.parse(written, released.dialect)
    except TableError:
        with released.locating():  # reports rows instead of distinct cells
            attribute.parse(_cells(attribute, released), released.dialect)
        raise


def _cells(attribute: Attribute, released: Table) -> list[pl.Series]:
    """The released columns of a quasi-identifier: the column, or its low and high ends."""
    name, present = attribute.name, released.frame.columns
    if name in present:
        return [released.cells(name)]
    if {name + LOW, name + HIGH} <= set(present):
        return [released.cells(name + LOW), released.cells(name + HIGH)]
    raise TableError(f"quasi-identifier {name!r} is not in the released table")
