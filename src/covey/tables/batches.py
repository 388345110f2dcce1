"""A table in batches, for tables that do not fit into memory.

Each batch is a `Table` and goes through the same steps as a table that is read whole, so that a
cell means the same. What depends on all rows is decided before the first batch.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from covey.errors import TableError, nearest
from covey.schema import Schema, TableFormat
from covey.tables import codes, csv_files, dataframes, folders, formats, sources, strays, table
from covey.tables.csv_files import Dialect
from covey.tables.folders import CsvFiles
from covey.tables.formats.arrow import ParquetFiles
from covey.tables.formats.common import are_whole, as_whole
from covey.tables.sources import STREAM, Location
from covey.tables.strays import Stray
from covey.tables.table import Table

ROWS = 100_000
LOOKED_AT = 500_000  # rows of the first file that show its signs


@dataclass(frozen=True, eq=False, repr=False)
class Batches:
    """A table as one `Table` after another; it can be gone through again."""

    names: tuple[str, ...]  # of the columns
    dialect: Dialect
    source: str  # the name for messages
    files: tuple[str, ...]  # none for a dataframe
    read: Callable[[Sequence[str]], Iterator[Table]]  # batches with these columns
    notes: tuple[str, ...] = field(default=())
    left_out: tuple[Stray, ...] = field(default=())  # rows that are no people
    unread: tuple[str, ...] = field(default=())  # what the source holds besides the table
    description: str = ""  # of the columns, by covey

    def without_strays(self, declared: TableFormat) -> "Batches":
        """The same without the rows that are no people and are to be left out."""
        if not declared.drop_rows:
            return self
        dropped = strays.to_drop(self, declared)

        def read(names: Sequence[str]) -> Iterator[Table]:
            before = 0
            for batch in self.read(names):
                height = batch.frame.height
                here = [stray for stray in dropped if before <= stray.place < before + height]
                yield batch.without([replace(stray, place=stray.place - before) for stray in here])
                before += height

        notes = (*self.notes, *strays.notes_of(dropped))
        return replace(self, read=read, notes=notes, left_out=(*dropped,))

    def __iter__(self) -> Iterator[Table]:
        return (batch for batch in self.read(self.names) if batch.frame.height)

    def together(self) -> Table:
        """The whole table in memory."""
        parts = [*self.read(self.names)]
        if not parts:
            raise TableError("the table has no rows")
        if len(parts) == 1:
            return parts[0]
        frame = pl.concat(part.frame for part in parts)
        return replace(parts[0], frame=frame, source=self.source, numbers=None, line_of=None)

    def only(self, columns: Collection[str]) -> "Batches":
        """The same rows with these columns: others are not even read, if the files allow that."""
        for name in columns:
            if name not in self.names:
                raise TableError(f"no column {name!r} in the table{nearest(name, self.names)}")
        return replace(self, names=tuple(name for name in self.names if name in columns))


@dataclass(frozen=True, eq=False, repr=False)
class Typed:
    """How to read frames with types, one after another, as parts of one table."""

    dialect: Dialect
    whole: tuple[str, ...]  # columns of floats that are codes
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, head: pl.DataFrame, whole: Sequence[str], schema: Schema | None, declared: TableFormat
    ) -> "Typed":
        """By the first rows."""
        head = dataframes.plain(head)
        dialect, note = csv_files.read_typed(head, declared, schema)
        notes = (*([note] if note else []), *codes.notes(head, schema))
        return cls(dialect, tuple(whole), notes)

    def table(self, frame: pl.DataFrame, source: str = "", before: int | None = None) -> Table:
        """A part of the table; with the number of rows before it, errors name a row."""
        plain = dataframes.plain(frame)
        plain = plain.with_columns(as_whole(plain[n]) for n in self.whole if n in plain.columns)
        part = Table(plain, self.dialect, (), source, has_places=before is not None)
        if before is not None:
            part = replace(part, numbers=np.arange(before, before + frame.height))
        return table.without_nul(part)


def batches(
    source: Any,
    schema: Schema | None = None,
    *,
    declared: TableFormat | None = None,
    rows: int = ROWS,
) -> Batches:
    """Open a table, given as for `read`, to go through at most so many rows at a time.

    Parquet and CSV files, and folders and patterns of them, are read bit by bit. Other kinds of
    files are read whole.
    """
    if isinstance(source, Batches):
        return source
    declared = declared or (schema.table if schema else TableFormat())
    if not isinstance(source, str | Path):
        return _of_table(table.read(source, schema, declared=declared), (), rows)
    place = sources.of(source)
    files = tuple(place.files())
    match _kind(place, files):
        case "parquet":
            parquet = ParquetFiles.of(files, place.place)
            return _of_parquet(parquet, place, schema, declared, rows).without_strays(declared)
        case "csv":
            texts = CsvFiles.of(files, place.place, declared, schema)
            return _of_csv(texts, place, rows).without_strays(declared)
        case _:
            return _of_table(table.read(source, schema, declared=declared), files, rows)


def _kind(place: Location, files: Sequence[str]) -> str:
    if place.is_many:
        if place.part is not None:
            raise TableError("a folder or pattern of files has no parts: name one file")
        return folders.kind_of(files)
    is_file = place.part is None and place.place != STREAM and sources.is_file(place.place)
    return formats.kind_of_file(place.place) if is_file else "other"


def _of_table(whole: Table, files: tuple[str, ...], rows: int) -> Batches:
    """Slices of a table in memory."""

    def read(names: Sequence[str]) -> Iterator[Table]:
        frame = whole.frame.select(names)
        for start in range(0, frame.height, rows):
            part = frame.slice(start, rows)
            yield whole.with_rows(part, np.arange(start, start + part.height))

    names = tuple(whole.frame.columns)
    known = whole.notes, whole.left_out, whole.unread, whole.description
    return Batches(names, whole.dialect, whole.source, files, read, *known)


def _of_parquet(
    found: ParquetFiles, place: Location, schema: Schema | None, declared: TableFormat, rows: int
) -> Batches:
    types = dataframes.plain(pl.DataFrame(schema=found.types)).schema
    whole = _whole(found, codes.floats(types, schema), rows)
    telling = [name for name, dtype in types.items() if dtype == pl.String or dtype.is_integer()]
    _, _, head = next(found.frames(telling, LOOKED_AT), (None, 0, pl.DataFrame()))
    typed = Typed.of(head, whole, schema, declared)

    def read(names: Sequence[str]) -> Iterator[Table]:
        for path, start, frame in found.frames(names, rows):
            yield typed.table(frame, Path(path).name, start)

    known = typed.notes, (), found.unread, found.description
    return Batches(tuple(types), typed.dialect, place.name, found.paths, read, *known)


def _whole(found: ParquetFiles, names: Sequence[str], rows: int) -> list[str]:
    """Which of these columns of floats have only whole numbers, as `codes.as_written` asks."""
    whole, present = {*names}, set()
    for _, _, frame in found.frames(names, rows) if names else ():
        whole -= {cells.name for cells in frame if not are_whole(cells)}
        present |= {cells.name for cells in frame if len(cells.drop_nulls().drop_nans())}
    return [name for name in names if name in whole & present]


def _of_csv(found: CsvFiles, place: Location, rows: int) -> Batches:
    dialect = found.form.dialect

    def read(names: Sequence[str]) -> Iterator[Table]:
        for part in found.parts():
            for start in range(0, part.frame.height, rows):
                frame = part.frame.slice(start, rows).select(names)
                numbers = np.arange(part.before + start, part.before + start + frame.height)
                batch = Table(frame, dialect, (), Path(part.path).name)
                yield replace(batch, numbers=numbers, line_of=part.line_of)

    return Batches(found.names, dialect, place.name, found.paths, read, found.notes)
