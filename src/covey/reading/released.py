"""A release as its recipient reads it: typed ends, middles, drawn tables and counts of rows.

All of it is a function of the released cells (and, for draws, of a seed). So it tells nobody more
than the release itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from covey import tables
from covey._core.arrays import Floats
from covey.errors import TableError, UsageError, nearest
from covey.generalisation.classes import ReleasedClasses, index_of_rows, written_cells
from covey.reading.columns import CoarseColumn, CoarseLabels, CoarseNumbers
from covey.reading.description import ReleaseDescription
from covey.reading.guess import guessed
from covey.schema import ColumnType, Schema
from covey.tables import Table, formulas
from covey.tables.cells import as_numbers
from covey.tables.csv_files import Dialect

Form = Literal["text", "bounds", "middle"]


@dataclass(frozen=True)
class RowCount:
    """How many rows of a release meet a condition, for all that their cells say."""

    surely: int
    possibly: int
    expected: float  # if every possible value of a cell is equally likely


def read_release(source: Any, *, schema: Schema | None = None) -> "ReleasedTable":
    """Read a released table: a path, a folder or a dataframe.

    The columns are read by the description beside the file, or else by a `schema`, or else by the
    forms of their cells; `ReleasedTable.doubts` says what that leaves open.
    """
    doubts: list[str] = []
    described = ReleaseDescription.found_for(source) if schema is None else None
    if described is not None:
        schema, doubts = described.schema, described.doubts(source)
    if schema is None:
        table, schema, doubts = guessed(tables.read(source))
    else:
        table = tables.read(source, schema, declared=schema.table.of_release())
        tables.check_roles(_with_columns(table, schema), schema)
    return ReleasedTable(table, schema, tuple(doubts))


def _with_columns(table: Table, schema: Schema) -> Table:
    """The table with the names of its original, for the check of names."""
    frame = table.frame
    for name in schema.quasi:
        if name not in frame.columns:
            ends = [cells.name for cells in written_cells(table, name)]
            frame = frame.rename({ends[0]: name}).drop(ends[1])
    return replace(table, frame=frame)


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedTable:
    """A released table, of which every generalised cell stands for some values."""

    table: Table
    schema: Schema
    doubts: tuple[str, ...] = ()  # what the cells leave open

    def __len__(self) -> int:
        return self.table.frame.height

    def __repr__(self) -> str:
        names = ", ".join(self._coarse)
        return f"ReleasedTable({len(self):,} rows, generalised: {names})"

    @cached_property
    def _coarse(self) -> dict[str, CoarseColumn]:
        """The generalised columns by their names."""
        cells = ReleasedClasses.of(self.table, [*self.schema.quasi]).cells
        index = index_of_rows(self.table, cells)
        columns = zip(self.schema.quasi, cells, index, strict=True)
        try:
            return {name: self._column(name, *read) for name, *read in columns}
        except TableError:
            rows = np.arange(len(self))
            with self.table.locating():  # of its rows, not of its distinct cells
                for name in self.schema.quasi:
                    self._column(name, written_cells(self.table, name), rows)
            raise

    def _column(self, name: str, written: Any, cell: Any) -> CoarseColumn:
        column, dialect = self.schema.columns[name], self.table.dialect
        if column.type is ColumnType.CATEGORICAL:
            return CoarseLabels.of(name, column, written[0], cell, dialect)
        return CoarseNumbers.of(name, column, written, cell, dialect)

    @cached_property
    def _others(self) -> dict[str, pl.Series]:
        """The columns that are released as they are; numbers as numbers."""
        shown = {
            cells.name for name in self.schema.quasi for cells in written_cells(self.table, name)
        }
        names = [name for name in self.table.frame.columns if name not in shown]
        return {name: plain(self.table.cells(name), self.table.dialect) for name in names}

    def frame(self, form: Form = "middle") -> Any:
        """The release as a dataframe of the kind that it came in, or else of polars.

        With "middle", numbers and dates lie half-way between their ends, and categories have their
        most likely label. With "bounds", each column of numbers or dates has two, NAME_low and
        NAME_high, empty where an end is open. With "text", all cells are as they are written.
        """
        if form == "text":
            return self._given(self.table.frame)
        if form not in get_args(Form):
            raise UsageError(f'form is "text", "bounds" or "middle", not {form!r}')
        if form == "middle":
            return self._given(self._with({n: [c.middle] for n, c in self._coarse.items()}))
        return self._given(self._with({n: c.bounds for n, c in self._coarse.items()}))

    def draw(self, n: int = 5, seed: int = 0) -> list[Any]:
        """Draw tables in which every cell is a value that its released cell allows.

        Estimate with each of them, and combine the results with `covey.combine`.
        """
        return [self._given(frame) for frame in self.drawn(n, seed)]

    def drawn(self, n: int, seed: int) -> Iterator[pl.DataFrame]:
        """The same one after another, as frames of polars."""
        if n < 1:
            raise UsageError("draw at least one table")
        random = np.random.default_rng(seed)
        for _ in range(n):
            yield self._with({name: [c.draw(random)] for name, c in self._coarse.items()})

    def count(self, **conditions: Any) -> RowCount:
        """Count the rows that meet all conditions, such as `age=(30, 40), sex={"f", "d"}`.

        A condition is a value, a list of labels, or the lowest and the highest number or date.
        """
        share = np.ones(len(self))
        for name, wanted in conditions.items():
            share *= self._share(name, wanted)
        surely = int((share >= 1).sum())
        return RowCount(surely, int((share > 0).sum()), float(share.sum()))

    def _share(self, name: str, wanted: Any) -> Floats:
        if name in self._coarse:
            return self._coarse[name].share(wanted)
        if name not in self._others:
            known = [*self._coarse, *self._others]
            raise UsageError(f"the release has no column {name!r}{nearest(name, known)}")
        cells = self._others[name]
        if isinstance(wanted, tuple) and len(wanted) == 2 and cells.dtype.is_numeric():
            met = cells.is_between(*wanted)
        else:
            labels = (
                [wanted] if isinstance(wanted, str) or not hasattr(wanted, "__iter__") else wanted
            )
            met = pl.Series([cell in {*labels} for cell in cells.to_list()], dtype=pl.Boolean)
        found: Floats = met.fill_null(value=False).cast(pl.Float64).to_numpy()
        return found

    def _with(self, columns: Mapping[str, list[pl.Series]]) -> pl.DataFrame:
        """The table with these columns in the places of the generalised ones."""

        def placed() -> Iterator[pl.Series]:
            left = dict(columns)
            for name in self.table.frame.columns:
                if name in self._others:
                    yield self._others[name]
                else:
                    own = name if name in columns else name.rpartition("_")[0]
                    yield from left.pop(own, [])

        return pl.DataFrame([*placed()])

    def _given(self, frame: pl.DataFrame) -> Any:
        return self.table.give_back(frame)


def plain(cells: pl.Series, dialect: Dialect) -> pl.Series:
    """Cells that are released as they are: as numbers if all are, else as the texts they mean."""
    if cells.dtype != pl.String or cells.null_count() == len(cells):
        return cells
    numbers = as_numbers(cells, dialect)
    are_codes = cells.str.contains("^0[0-9]").any()
    if not are_codes and numbers.null_count() == cells.null_count():
        whole = bool((numbers.drop_nulls() % 1 == 0).all())
        return (numbers.cast(pl.Int64) if whole else numbers).alias(cells.name)
    distinct = cells.drop_nulls().unique()
    # Without the apostrophes that keep spreadsheets from running them.
    meant = formulas.meant(distinct.to_list(), (), dialect)
    return cells.replace_strict(distinct, pl.Series(meant, dtype=pl.String), default=None)
