"""A released table beside its original, its cells read once.

All figures are made from it, whoever made the release. Of each column it holds the distinct cells,
what they show, and which of them each row has.
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
    cell: Longs  # of each row, its place among these
    written: Sequence[pl.Series]  # the distinct cells themselves

    @property
    def attribute(self) -> Attribute:
        """The column of the original."""
        return self.shown.attribute

    @cached_property
    def counts(self) -> Longs:
        """How many rows show each distinct cell."""
        return np.bincount(self.cell, minlength=len(self.shown))

    @cached_property
    def on_shown_scale(self) -> "ShownColumn":
        """The same, its domain being what is declared or shown: that is what may be published."""
        return ShownColumn(self.shown.on_shown_scale(), self.cell, self.written)


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """A released table, read once."""

    released: Table
    original: EncodedTable
    columns: tuple[ShownColumn, ...]

    @classmethod
    def of(cls, released: Table, original: EncodedTable) -> "View":
        """The table beside its original; a cell that cannot be read is told by its row."""
        columns = tuple(_column(attribute, released) for attribute in original.attributes)
        return cls(released, original, columns)

    @property
    def rows(self) -> int:
        """How many rows are released."""
        return self.released.frame.height

    @property
    def same_rows(self) -> bool:
        """Whether the rows of the original are those behind the released ones.

        Where it has more, some were left out, and which they are is not known.
        """
        return self.original.rows == self.rows

    @cached_property
    def boxes(self) -> tuple[Longs, Longs]:
        """The distinct rows by their cells, column by column, and how many rows each of them is."""
        cells = pl.DataFrame({str(j): column.cell for j, column in enumerate(self.columns)})
        counted = cells.group_by(cells.columns).len("rows")
        return counted.drop("rows").to_numpy(), counted["rows"].to_numpy().astype(np.int64)

    @cached_property
    def publishable(self) -> "View":
        """The release beside what may be told of its original.

        Whatever is worked out from the whole original would tell of the rows that were left out
        too. So where these are not known, the release itself stands in its place.
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
    """What the distinct cells show."""
    try:
        return attribute.parse(written, released.dialect)
    except TableError:
        with released.locating():  # tells of rows instead of distinct cells
            attribute.parse(_cells(attribute, released), released.dialect)
        raise


def _cells(attribute: Attribute, released: Table) -> list[pl.Series]:
    """The columns that show a quasi-identifier: its own, or its two ends."""
    name, present = attribute.name, released.frame.columns
    if name in present:
        return [released.cells(name)]
    if {name + LOW, name + HIGH} <= set(present):
        return [released.cells(name + LOW), released.cells(name + HIGH)]
    raise TableError(f"quasi-identifier {name!r} is not in the released table")
