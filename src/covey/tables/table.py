"""Tables from files and dataframes, and back again.

A table is a polars frame and its origin: the caller's kind of dataframe, or the dialect of the CSV
file. Cells of CSV files stay text exactly as written. Encoding decides what a cell means; columns
that are only passed through are never changed.

Other libraries' messages never leave this module, because they quote cells.
"""

import contextlib
import gzip
import sys
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey.errors import SchemaError, TableError, UsageError, about_cells, count, listed
from covey.schema import Role, RowKind, Schema, TableFormat
from covey.schema.labels import numbers_as_one, seen
from covey.tables import codes, csv_files, dataframes, folders, formats, formulas, sources, strays
from covey.tables.codebook import Codebook, as_codes
from covey.tables.csv_files import MISSING_TOKENS, Dialect
from covey.tables.dataframes import Back
from covey.tables.formats import archives, arrow, databases, json_lines, spreadsheets, statistical
from covey.tables.mending import Mended, mended
from covey.tables.sources import STREAM, Location
from covey.tables.strays import Stray, Suspects

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A polars frame, its origin, and what was detected while reading it."""

    frame: pl.DataFrame
    dialect: Dialect = field(default_factory=Dialect)
    notes: tuple[str, ...] = ()
    source: str = ""  # the name of the file, without its folders
    codebook: Codebook = field(default_factory=Codebook)  # labels of columns and codes
    mended: tuple[Mended, ...] = ()  # what the schema says to read differently from what is written
    numbers: Longs | None = None  # of the rows in the source, from 0, if they differ
    has_places: bool = True  # whether the rows are rows of the source
    line_of: Callable[[int], int] | None = None  # the line of a CSV file in which a row begins
    give_back: Back = field(default_factory=Back)
    unread: tuple[str, ...] = ()  # what the source holds besides the table
    description: str = ""  # of the columns, by covey
    left_out: tuple[Stray, ...] = ()  # rows that are no people
    kept: tuple[RowKind, ...] = ()  # kinds of rows that look like no people, and are

    @cached_property
    def strays(self) -> tuple[Stray, ...]:
        """The rows that are no people, or perhaps none."""
        return tuple(stray for stray in Suspects.of(self).found if stray.kind not in self.kept)

    def without(self, dropped: Sequence[Stray]) -> "Table":
        """The same table without these rows."""
        if not dropped:
            return self
        kept = np.ones(self.frame.height, dtype=np.bool_)
        kept[[stray.place for stray in dropped]] = False
        table = self.with_rows(self.frame.filter(pl.Series(kept)), np.flatnonzero(kept))
        return replace(table, notes=(*self.notes, *strays.notes_of(dropped)), left_out=(*dropped,))

    def cells(self, name: str) -> pl.Series:
        """One column, with missing cells as nulls."""
        series = self.frame[name]
        if series.dtype != pl.String and not series.dtype.is_float():
            return series
        present = pl.when(~self.is_missing(name)).then(pl.col(name)).alias(name)
        return self.frame.select(present).to_series()

    def is_missing(self, name: str) -> pl.Expr:
        """Whether a cell of this column is missing, as an expression over the frame."""
        return self.dialect.is_missing(pl.col(name), self.frame.schema[name])

    def with_frame(self, frame: pl.DataFrame) -> "Table":
        """The same table with other rows or columns."""
        # Without a reference to the source, whose cells must not travel with a release, and
        # without the labels and categories of cells that are not there.
        shown = replace(self, codebook=self.codebook.of(frame), give_back=self.give_back.of(frame))
        shown = replace(shown, has_places=False, numbers=None, line_of=None, unread=())
        return replace(shown, frame=frame, description="")

    def with_rows(self, frame: pl.DataFrame, numbers: Longs) -> "Table":
        """The same table with some of its rows, given by their numbers."""
        known = numbers if self.numbers is None else self.numbers[numbers]
        return replace(self, frame=frame, numbers=known)

    @contextlib.contextmanager
    def locating(self) -> Iterator[None]:
        """Add the place of the first wrong cell to an error about cells, never its content."""
        try:
            yield
        except UsageError as error:
            if error.wrong is None or not self.has_places:
                raise
            what, *remedy = error.args
            place = f"first in {self._place(np.flatnonzero(error.wrong))}"
            source = f"{self.source}: " if self.source else ""
            raise type(error)(f"{source}{what}, {place}", *remedy) from None

    def number(self, place: int) -> int | None:
        """The number of a row in the source, from 1, if the rows are rows of the source."""
        if not self.has_places:
            return None
        return 1 + (place if self.numbers is None else int(self.numbers[place]))

    def _place(self, rows: Longs) -> str:
        """The number of the first of these rows in the source, and its line in a CSV file."""
        row = int(rows.min() if self.numbers is None else self.numbers[rows].min())
        line = f" (line {self.line_of(row):,})" if self.line_of else ""
        return f"row {row + 1:,}{line}"


# ── in ──────────────────────────────────────────────────────────────────────────────────────────


def read(
    source: Any, schema: Schema | None = None, *, declared: TableFormat | None = None
) -> Table:
    """Read a table from a place, or from a dataframe of a common library.

    A place is a path, `-` for standard input, a folder or pattern of Parquet files, or the address
    of a database; `::` and a name after it name a part. Settings in `declared`, or else in the
    schema, replace detection.
    """
    if isinstance(source, Table):
        return source
    declared = declared or (schema.table if schema else TableFormat())
    if isinstance(source, str | Path):
        place = sources.of(source)
        table = replace(_opened(place, schema, declared), source=place.name)
    else:
        frame, back = dataframes.read(source)
        unread = dataframes.unread(source)
        table = _with_types(frame, schema, declared, give_back=back, unread=unread)
    table = replace(without_nul(table), kept=declared.keep_rows or ())
    return table.without(strays.to_drop(table, declared)) if declared.drop_rows else table


def _opened(place: Location, schema: Schema | None, declared: TableFormat) -> Table:
    if place.is_address:
        return _typed(databases.read_address(place.place, place.part), schema, declared)
    if place.is_many:
        if place.part is not None:
            raise TableError("a folder or pattern of files has no parts: name one file")
        return _together(place, schema, declared)
    if place.place != STREAM:
        with _reading():
            path = Path(place.place)
            kind = formats.from_file(path) if sources.is_file(place.place) else None
        if kind is not None and kind.read_file is not None:
            return _typed(kind.read_file(path, place.part), schema, declared)
    return from_bytes(read_bytes(place.place), schema, declared, place.part)


def _together(place: Location, schema: Schema | None, declared: TableFormat) -> Table:
    """The table in all files of a folder or pattern."""
    files = place.files()
    if folders.kind_of(files) == "parquet":
        found = arrow.ParquetFiles.of(files, place.place)
        parts = [part for _, _, part in found.frames([*found.types], _ROWS_AT_A_TIME)]
        empty = pl.DataFrame(schema=found.types)
        return _typed(formats.Found(pl.concat([empty, *parts])), schema, declared)
    texts = folders.CsvFiles.of(files, place.place, declared, schema)
    frame = pl.concat([texts.empty, *(part.frame for part in texts.parts())])
    return Table(frame, texts.form.dialect, texts.notes)


_ROWS_AT_A_TIME = 1_000_000


def without_nul(table: Table) -> Table:
    """The same table, refused if a cell contains a NUL, which no CSV file can hold."""
    # Searching one long text is faster than searching many short ones.
    has_nul = pl.col(pl.String).str.join("").str.contains("\0", literal=True)
    parts = table.frame.iter_slices(_ROWS_SEARCHED)
    found = {cells.name for part in parts for cells in part.select(has_nul) if cells.any()}
    for name in found:
        with table.locating():
            wrong = table.frame[name].str.contains("\0", literal=True).fill_null(value=False)
            what, remedy = "with a NUL character", "remove the character"
            raise about_cells(TableError, name, wrong.to_numpy(), what, remedy)
    return table


_ROWS_SEARCHED = 100_000


def original(source: Any, schema: Schema, *needed: Role) -> Table:
    """Read an original table with the columns of the `needed` roles, as the schema reads it.

    Columns with the role drop are gone from here on.
    """
    table = read(source, schema)
    check_roles(table, schema, *needed)
    with table.locating():
        kept = table.frame.drop(schema.names(Role.DROP), strict=False)
        frame, changed = mended(kept, table.dialect, schema)
    # The rows are still those of the source, so they keep their places.
    return replace(table, frame=frame, mended=changed)


def owners(cells: pl.Series, declared: TableFormat) -> pl.Series:
    """The person of each row as a reader distinguishes them; null if unknown.

    A cell that looks like a missing token (a declared one, or else any common one, in dataframes
    too) is no person. A number is the same person in every spelling, even with leading zeros.
    Counting too few persons is safe; counting one too many is not.
    """
    people = seen(cells.fill_nan(None) if cells.dtype.is_float() else cells, tokens_of(declared))
    return numbers_as_one(people) if people.dtype == pl.String else people


def tokens_of(declared: TableFormat) -> tuple[str, ...]:
    """The missing tokens of a person column."""
    return MISSING_TOKENS if declared.missing is None else declared.missing


def read_bytes(source: str | Path) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    place = sources.of(source).place
    with _reading():
        return sys.stdin.buffer.read() if place == STREAM else Path(place).read_bytes()


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TableError(f"the table cannot be read: {error.strerror}") from None
    except ValueError:
        raise TableError("the table cannot be read: the path is not valid") from None


def from_bytes(
    data: bytes, schema: Schema | None, declared: TableFormat, part: str | None = None
) -> Table:
    """Read a table from the bytes of a file of any kind, packed or not."""
    data, part = formats.unpacked(data, part)
    kind = formats.kind_of(data)
    if part is not None and (kind is None or not kind.has_parts):
        raise TableError("this kind of file has no parts: remove :: and the name after it")
    if kind is not None:
        return _typed(kind.read(data, part, declared), schema, declared)
    cells, form, note = csv_files.read(data, declared, schema)
    line = form.first_line(csv_files.Piece(b"", form.layout.skip + 1))
    line_of = partial(cells.line_of, line, 0)
    return Table(cells.frame, form.dialect, (note,) if note else (), line_of=line_of)


def _typed(found: formats.Found, schema: Schema | None, declared: TableFormat) -> Table:
    """The table in a file whose cells have types."""
    frame = dataframes.plain(found.frame)
    if found.named_by_row:
        text = pl.DataFrame([as_codes(cells).fill_null("") for cells in frame])
        csv_files.refuse_a_record(text, declared, schema)
    table = _with_types(frame, schema, declared, codebook=found.codebook)
    notes = (*found.notes, *table.notes)
    return replace(table, notes=notes, unread=found.unread, description=found.description)


def _with_types(
    frame: pl.DataFrame, schema: Schema | None, declared: TableFormat, **more: Any
) -> Table:
    """The table of columns that have types."""
    read = codes.as_written(frame, schema)
    dialect, note = csv_files.read_typed(read, declared, schema)
    notes = (*([note] if note else []), *codes.notes(read, schema))
    table = Table(read, dialect, notes, **more)
    return replace(table, give_back=table.give_back.with_codes(frame, read))


# ── roles ───────────────────────────────────────────────────────────────────────────────────────


def check_roles(table: Table, schema: Schema, *needed: Role) -> None:
    """Refuse a table with columns without a role, or without columns of the `needed` roles."""
    names = table.frame.columns
    refuse_roleless(names, set(schema.columns))
    absent = [name for name in schema.names(*needed) if name not in names]
    if absent:
        raise SchemaError(
            f"{count(len(absent), 'column')} of the schema not in the table: {listed(absent, 5)}"
        )
    if not schema.quasi:
        raise SchemaError("the schema has no quasi-identifier, so there is nothing to protect")


def refuse_roleless(names: Sequence[str], known: Set[str]) -> None:
    """Refuse columns without a role: covey never passes them through."""
    roleless = [place for place, name in enumerate(names, 1) if name not in known]
    if not roleless:
        return
    if 2 * len(roleless) > len(names):
        # The first line may be a person's record, so it is not shown.
        raise SchemaError(
            f"{len(roleless)} of {count(len(names), 'column')} not in the schema, first column "
            f"{roleless[0]}. Does the file have a header? If not, set header = false under "
            "[table]. If it has, give each column a role in the schema"
        )
    raise SchemaError(
        f"{count(len(roleless), 'column')} without a role: "
        f"{listed([names[place - 1] for place in roleless], 5)}; give each a role in the schema"
    )


# ── out ─────────────────────────────────────────────────────────────────────────────────────────


def write(table: Table, file: IO[bytes], name: str = "", *, defuse: bool = True) -> int:
    """Write a table to an open file, in the format given by the ending of the name.

    Only the cells are written, and their labels and description where the format has them: no
    index, statistics, file name, author or time. Returns the number of cells that got an apostrophe
    so that no spreadsheet runs them.
    """
    kind = formats.writer_of(name)
    if kind is None:
        return _write_csv(table, file, packed=name.lower().endswith(".gz"), defuse=defuse)
    data, changed = _bytes_of(table, kind, defuse=defuse)
    file.write(data)
    return changed


def _bytes_of(table: Table, kind: str, *, defuse: bool) -> tuple[bytes, int]:
    frame, dialect, codebook = table.frame, table.dialect, table.codebook
    match kind:
        case "zip":
            return archives.write(partial(_write_csv, table, packed=False, defuse=defuse))
        case "parquet":
            data = arrow.write_parquet(frame, table.description)
        case "arrow":
            data = arrow.write_ipc(frame)
        case "jsonl":
            data = json_lines.write(frame)
        case "sqlite":
            data = databases.write_sqlite(frame)
        case "xlsx":
            data = spreadsheets.write(frame, dialect, defuse=defuse)
        case _:
            data = statistical.write(frame, dialect, codebook, kind)
    return data, 0


def _write_csv(table: Table, file: IO[bytes], *, packed: bool, defuse: bool) -> int:
    text, changed = csv_files.as_text(table.frame, table.dialect), 0
    if defuse:
        text, changed = formulas.defused_table(text, table.dialect)
    data = csv_files.chunks(text, table.dialect)
    if packed:
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream:
            stream.writelines(data)
    else:
        file.writelines(data)
    return changed
