"""Tables from files and dataframes, and back again.

A table is a polars frame and its origin: the caller's kind of dataframe, or the dialect of the CSV
file. Cells of CSV files stay text exactly as written. Encoding decides what a cell means; columns
that are only passed through are never changed.

Other libraries' messages never leave this module, because they quote cells.
"""

import contextlib
import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey.errors import OutputError, SchemaError, TableError, UsageError, about_cells, count
from covey.schema import Role, Schema, TableFormat
from covey.schema.labels import numbers_as_one, seen
from covey.tables import csv_files, formulas
from covey.tables.codebook import Codebook
from covey.tables.csv_files import MISSING_TOKENS, Dialect, check_names
from covey.tables.files import STREAM
from covey.tables.mending import Mended, mended

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A polars frame, its origin, and what was detected while reading it."""

    frame: pl.DataFrame
    dialect: Dialect = field(default_factory=Dialect)
    notes: tuple[str, ...] = ()
    source: str = ""  # the name of the file, without its folders
    codebook: Codebook = field(default_factory=Codebook)
    mended: tuple[Mended, ...] = ()  # what the schema says to read differently from what is written
    numbers: Longs | None = None  # of the rows in the source, from 0, if they differ
    has_places: bool = True  # whether the rows are rows of the source
    line_of: Callable[[int], int] | None = None  # the line of a CSV file in which a row begins
    give_back: Callable[[pl.DataFrame], Any] = field(
        default=lambda released: _given_back(released, nw.Implementation.POLARS)
    )

    def cells(self, name: str) -> pl.Series:
        """One column, with missing cells as nulls."""
        series = self.frame[name]
        if series.dtype == pl.String:
            missing = series.is_in(list(self.dialect.missing))
            return pl.select(pl.when(~missing).then(series).alias(name)).to_series()
        return series.fill_nan(None) if series.dtype.is_float() else series

    def with_frame(self, frame: pl.DataFrame) -> "Table":
        """The same table with other rows or columns."""
        # Without a reference to the source, whose cells must not travel with a release.
        return replace(self, frame=frame, has_places=False, numbers=None, line_of=None)

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

    def _place(self, rows: Longs) -> str:
        """The number of the first of these rows in the source, and its line in a CSV file."""
        row = int(rows.min() if self.numbers is None else self.numbers[rows].min())
        if self.line_of is None:
            return f"row {row + 1:,}"
        return f"row {row + 1:,} (line {self.line_of(row):,})"


# ── in ──────────────────────────────────────────────────────────────────────────────────────────


def read(
    source: Any, schema: Schema | None = None, *, declared: TableFormat | None = None
) -> Table:
    """Read a table from a path, `-` for standard input, or a dataframe of a common library.

    Settings in `declared`, or else in the schema, replace detection.
    """
    if isinstance(source, Table):
        return source
    declared = declared or (schema.table if schema else TableFormat())
    if not isinstance(source, str | Path):
        return _without_nul(_from_dataframe(source, declared, schema))
    name = "standard input" if source == STREAM else Path(source).name
    return _without_nul(replace(from_bytes(read_bytes(source), schema, declared), source=name))


def _without_nul(table: Table) -> Table:
    """The same table, refused if a cell contains a NUL, which no CSV file can hold."""
    with table.locating():
        for cells in table.frame.select(pl.col(pl.String)):
            wrong = cells.str.contains("\0", literal=True).fill_null(value=False)
            if wrong.any():
                what, remedy = "with a NUL character", "remove the character"
                raise about_cells(TableError, cells.name, wrong.to_numpy(), what, remedy)
    return table


def original(source: Any, schema: Schema, *needed: Role) -> Table:
    """Read an original table with the columns of the `needed` roles, as the schema reads it."""
    table = read(source, schema)
    check_roles(table, schema, *needed)
    with table.locating():
        frame, told = mended(table.frame, table.dialect, schema)
    # The rows are still those of the source, so they keep their places.
    return replace(table, frame=frame, mended=told)


def whose(cells: pl.Series, declared: TableFormat) -> pl.Series:
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
    try:
        return sys.stdin.buffer.read() if source == STREAM else Path(source).read_bytes()
    except OSError as error:
        raise TableError(f"the table cannot be read: {error.strerror}") from None
    except ValueError:
        raise TableError("the table cannot be read: the path is not valid") from None


def from_bytes(data: bytes, schema: Schema | None, declared: TableFormat) -> Table:
    """Read a table from the bytes of a CSV or Parquet file, gzipped or not."""
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error):
            raise TableError("the table is a damaged gzip file") from None
    if data[:4] == b"PAR1" and data[4:5] not in b",;\t|\r\n":  # else a column name
        return _from_parquet(data, declared, schema)
    frame, dialect, note = csv_files.read(data, declared, schema)
    notes = (note,) if note else ()
    return Table(frame, dialect, notes, line_of=partial(csv_files.line_of, frame, dialect))


def _from_parquet(data: bytes, declared: TableFormat, schema: Schema | None) -> Table:
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except (Exception, pl.exceptions.PanicException):
        raise TableError("the table is a damaged Parquet file") from None
    frame = _plain(frame)
    dialect, note = csv_files.read_typed(frame, declared, schema)
    return Table(frame, dialect, (note,) if note else ())


def _from_dataframe(source: Any, declared: TableFormat, schema: Schema | None) -> Table:
    try:
        native = nw.from_native(source, eager_only=True)
        names = list(native.columns)
    except nw.exceptions.DuplicateError:
        check_names(list(getattr(source, "column_names", source.columns)))
        raise
    except Exception:
        raise TableError("not a table: pass a path, or a polars, pandas or pyarrow table") from None
    check_names(names)
    columns = []
    for name in names:
        try:
            columns.append(native.get_column(name).to_polars().rename(name))
        except (Exception, pl.exceptions.PanicException):
            raise TableError(f"column {name!r} mixes types of values; give it one type") from None
    frame = _plain(pl.DataFrame(columns))
    dialect, note = csv_files.read_typed(frame, declared, schema)
    return Table(
        frame,
        dialect,
        (note,) if note else (),
        # A release keeps this function, so it knows only the kind of the caller's table.
        give_back=partial(_given_back, kind=native.implementation),
    )


def _given_back(released: pl.DataFrame, kind: Any) -> Any:
    """The same table as the caller's kind of dataframe, in fresh memory.

    Dataframes keep the values of removed rows and of missing cells in their buffers, and pickling
    one copies the whole buffers. A Parquet file does not.
    """
    memory = io.BytesIO()
    released.write_parquet(memory, compression="uncompressed", statistics=False)
    memory.seek(0)
    fresh = pl.read_parquet(memory)
    if kind is nw.Implementation.POLARS:
        return fresh
    arrow = fresh.to_arrow(compat_level=pl.CompatLevel.oldest())
    if kind is nw.Implementation.PANDAS:
        return _pandas(arrow)
    return nw.DataFrame.from_arrow(arrow, backend=kind).to_native()


def _pandas(arrow: Any) -> Any:
    """Convert to pandas; whole numbers stay whole even if some are missing."""
    import pandas as pd

    frame = arrow.to_pandas()
    for place, column in enumerate(arrow.columns):
        if column.null_count and str(column.type).startswith(("int", "uint")):
            whole = column.to_pandas(types_mapper=lambda kind: getattr(pd, _NULLABLE[str(kind)])())
            frame.isetitem(place, whole)
    return frame


_NULLABLE = {
    f"{sign}int{bits}": f"{'U' if sign else ''}Int{bits}Dtype"
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}


def _plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert dictionaries to text, because their entries outlive the rows that used them."""
    check_names(frame.columns)
    opaque = [n for n, dtype in frame.schema.items() if not _is_plain(dtype)]
    if opaque:
        raise TableError(
            f"column {opaque[0]!r} contains lists, records or bytes; covey needs plain values"
        )
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def _is_plain(dtype: pl.DataType) -> bool:
    calendar = dtype.is_temporal() and dtype != pl.Duration
    return calendar or dtype.is_numeric() or isinstance(dtype, _PLAIN)


_PLAIN = (pl.String, pl.Boolean, pl.Null, pl.Categorical, pl.Enum)


# ── roles ───────────────────────────────────────────────────────────────────────────────────────


def check_roles(table: Table, schema: Schema, *needed: Role) -> None:
    """Refuse a table with columns without a role, or without columns of the `needed` roles."""
    names = table.frame.columns
    refuse_roleless(names, set(schema.columns))
    absent = [name for name in schema.names(*needed) if name not in names]
    if absent:
        raise SchemaError(
            f"{count(len(absent), 'column')} of the schema not in the table: {_listed(absent)}"
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
        f"{_listed([names[place - 1] for place in roleless])}; give each a role in the schema"
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


# ── out ─────────────────────────────────────────────────────────────────────────────────────────


def write(table: Table, file: IO[bytes], name: str = "", *, defuse: bool = True) -> int:
    """Write a table to an open file, in the format given by the ending of the name.

    Only the cells are written: no index, statistics, file name or time stamp. Returns the number of
    cells that got an apostrophe so that no spreadsheet runs them.
    """
    name = name.lower()
    if name.endswith((".xlsx", ".xls", ".ods", ".json", ".feather", ".sav", ".dta", ".sas7bdat")):
        raise OutputError("covey writes CSV and Parquet: end the name in .csv, .csv.gz or .parquet")
    if name.endswith((".parquet.gz", ".pq.gz")):
        raise OutputError("a Parquet file is already compressed: remove .gz from its name")
    if name.endswith((".parquet", ".pq")):
        buffer = io.BytesIO()
        table.frame.write_parquet(buffer, statistics=False)
        file.write(buffer.getbuffer())
        return 0
    text, changed = csv_files.as_text(table.frame, table.dialect), 0
    if defuse:
        text, changed = formulas.defused_table(text, table.dialect)
    data = csv_files.chunks(text, table.dialect)
    if name.endswith(".gz"):
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            packed.writelines(data)
    else:
        file.writelines(data)
    return changed
