"""A released table beside its original, both as counts, with the released cells read once.

All figures are computed from it, whatever software made the release. Of the original it has the
distinct values of each column, of the release the distinct cells and the classes. So it can be made
from tables that do not fit into memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from covey._core.arrays import Longs
from covey.encoding import Attribute, EncodedTable, Shown, Tally, ValueCounts
from covey.errors import TableError, UsageError
from covey.generalisation.as_released import as_released
from covey.generalisation.classes import ReleasedClasses, written_cells
from covey.generalisation.originals import NO_ORIGINALS, Originals
from covey.tables import Table
from covey.tables.csv_files import Dialect


@dataclass(frozen=True, eq=False, repr=False)
class ShownColumn:
    """What a released table shows of one quasi-identifier."""

    shown: Shown  # the distinct cells, in the order of their text, so that sums repeat
    counts: Longs  # the number of rows with each distinct cell
    written: Sequence[pl.Series]  # the distinct cells themselves
    original: Longs  # the number of rows of the original with each value of the attribute

    @property
    def attribute(self) -> Attribute:
        """The column of the original."""
        return self.shown.attribute

    @cached_property
    def on_shown_scale(self) -> "ShownColumn":
        """The same, with the declared or released domain, since only that may be published."""
        return replace(self, shown=self.shown.on_shown_scale(self.counts))


@dataclass(frozen=True, eq=False, repr=False)
class InMemory:
    """The rows of both tables, which few figures need."""

    released: Table
    original: EncodedTable


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """A released table, read once."""

    original: Tally
    columns: tuple[ShownColumn, ...]
    classes: ReleasedClasses
    dialect: Dialect
    originals: Originals = NO_ORIGINALS  # of a release by covey, if it shows means or medians
    in_memory: InMemory | None = None

    @classmethod
    def of(
        cls,
        released: Table,
        original: EncodedTable,
        *,
        class_column: str | None = None,
        originals: Originals = NO_ORIGINALS,
    ) -> "View":
        """Read a released table in memory; report an unreadable cell by its row."""
        names = [attribute.name for attribute in original.attributes]
        classes = ReleasedClasses.of(released, names, class_column=class_column)
        view = cls.counted(Tally.of(original), classes, [released], released.dialect, originals)
        return replace(view, in_memory=InMemory(released, original))

    @classmethod
    def counted(
        cls,
        original: Tally,
        classes: ReleasedClasses,
        batches: Iterable[Table],
        dialect: Dialect,
        originals: Originals = NO_ORIGINALS,
    ) -> "View":
        """Read the distinct cells of a release; its `batches` locate a cell that is unreadable."""
        try:
            shown = [
                originals.with_widths(attribute.parse(cells, dialect))
                for attribute, cells in zip(original.attributes, classes.cells, strict=True)
            ]
        except TableError:
            _locate(original.attributes, batches)
            raise
        rows = [column.rows for column in original.columns]
        columns = map(ShownColumn, shown, classes.counts, classes.cells, rows)
        return cls(original, tuple(columns), classes, dialect, originals)

    @property
    def rows(self) -> int:
        """The number of released rows."""
        return self.classes.rows

    @property
    def row_by_row(self) -> InMemory:
        """Both tables row by row; refused if they were read in batches."""
        if self.in_memory is None:
            raise UsageError("this figure needs all rows in memory: pass tables, not batches")
        return self.in_memory

    @property
    def same_rows(self) -> bool:
        """Whether the original has exactly the released rows.

        If it has more, some rows were suppressed, and it is unknown which.
        """
        return self.original.rows == self.rows

    @cached_property
    def publishable(self) -> "View":
        """The release with only what may be published about its original.

        Figures from the whole original would also reveal something about suppressed rows. So if
        these are unknown, the release itself is used instead of the original.
        """
        if self.same_rows:
            return self
        columns = tuple(self._without_original(column) for column in self.columns)
        counted = tuple(ValueCounts(column.attribute, column.original) for column in columns)
        return replace(
            self, original=replace(self.original, columns=counted, rows=self.rows), columns=columns
        )

    def _without_original(self, column: ShownColumn) -> ShownColumn:
        """Instead of the original, a row with the first value that each released cell covers."""
        shown = as_released(column.shown, column.counts, column.written, self.dialect)
        return replace(column, shown=shown, original=column.counts)


def _locate(attributes: Sequence[Attribute], batches: Iterable[Table]) -> None:
    """Report the first row with an unreadable cell."""
    for batch in batches:
        with batch.locating():
            for attribute in attributes:
                attribute.parse(written_cells(batch, attribute.name), batch.dialect)
