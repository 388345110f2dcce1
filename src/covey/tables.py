"""Tables from files and dataframes, and back again.

A table is a polars frame and how it came: the kind of dataframe that the caller handed over, or
the dialect of the CSV file. Cells of CSV files stay text exactly as written; what a cell means is
decided where its column is encoded, and columns that are only passed through are never touched.

No message of a parser leaves this module: they quote cells.
"""

import codecs
import csv
import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import narwhals as nw
import numpy as np
import polars as pl

from covey.errors import OutputError, SchemaError, TableError, count
from covey.schema import ColumnType, Role, Schema, TableFormat

STREAM = "-"
MISSING_TOKENS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?")
DELIMITERS = (",", ";", "\t", "|")
MOST_COLUMNS = 10_000
# A text that starts so is run as a formula by spreadsheet programs.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\0")
_ROWS_AT_A_TIME = 65_536
_BYTES_AT_A_TIME = 1 << 24


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written.

    The first missing token is the one that covey writes; an empty cell is always missing.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    missing: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", tuple(dict.fromkeys([*self.missing, ""])))

    @property
    def number(self) -> str:
        """The strict grammar of a number: ASCII digits, no separators of thousands."""
        sign = r"\." if self.decimal == "." else ","
        return rf"^[+-]?([0-9]+({sign}[0-9]*)?|{sign}[0-9]+)([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True, eq=False)
class Table:
    """A polars frame, how it came, and what was found out about it on the way."""

    frame: pl.DataFrame
    dialect: Dialect = Dialect()
    notes: tuple[str, ...] = ()
    give_back: Callable[[pl.DataFrame], Any] = field(default=lambda frame: frame)

    def cells(self, name: str) -> pl.Series:
        """One column, its missing cells as nulls."""
        series = self.frame[name]
        if series.dtype == pl.String:
            missing = series.is_in(list(self.dialect.missing))
            return pl.select(pl.when(~missing).then(series).alias(name)).to_series()
        return series.fill_nan(None) if series.dtype.is_float() else series

    def with_frame(self, frame: pl.DataFrame) -> "Table":
        """The same table with other rows or columns."""
        return replace(self, frame=frame)


# ── in ──────────────────────────────────────────────────────────────────────────────────────────


def read(
    source: Any, schema: Schema | None = None, *, declared: TableFormat | None = None
) -> Table:
    """A table from a path, `-` for standard input, or a dataframe of any common library.

    What is `declared` about a file, or else in the schema, is not detected.
    """
    if isinstance(source, Table):
        return source
    declared = declared or (schema.table if schema else TableFormat())
    if not isinstance(source, str | Path):
        return _from_dataframe(source, declared)
    try:
        data = sys.stdin.buffer.read() if source == STREAM else Path(source).read_bytes()
    except OSError as error:
        raise TableError(f"the table cannot be read: {error.strerror}") from None
    except ValueError:
        raise TableError("the table cannot be read: there is no such path") from None
    return from_bytes(data, schema, declared)


def from_bytes(data: bytes, schema: Schema | None, declared: TableFormat) -> Table:
    """A table from the bytes of a CSV or Parquet file, gzipped or not."""
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error):
            raise TableError("the table is a damaged gzip file") from None
    if data[:4] == b"PAR1" and data[4:5] not in b",;\t|\r\n":  # else the name of a column
        return _from_parquet(data, declared)
    return _from_csv(data, declared, schema)


def _from_parquet(data: bytes, declared: TableFormat) -> Table:
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except (Exception, pl.exceptions.PanicException):
        raise TableError("the table is a damaged Parquet file") from None
    return Table(_plain(frame), Dialect(missing=declared.missing or ()))


def _from_dataframe(source: Any, declared: TableFormat) -> Table:
    try:
        native = nw.from_native(source, eager_only=True)
        names = list(native.columns)
    except nw.exceptions.DuplicateError:
        _check_names(list(getattr(source, "column_names", source.columns)))
        raise
    except Exception:
        raise TableError("not a table: a path, or a polars, pandas or pyarrow table") from None
    _check_names(names)
    columns = []
    for name in names:
        try:
            columns.append(native.get_column(name).to_polars().rename(name))
        except (Exception, pl.exceptions.PanicException):
            raise TableError(f"column {name!r} mixes kinds of values; give it one type") from None
    frame = pl.DataFrame(columns)
    return Table(
        _plain(frame),
        Dialect(missing=declared.missing or ()),
        give_back=lambda released: _given_back(released, native.implementation),
    )


def _given_back(released: pl.DataFrame, kind: Any) -> Any:
    """The same table as the caller's kind of dataframe, in memory that holds nothing else.

    Dataframes keep values of rows that were left out, and those beneath missing cells, in their
    buffers; whoever pickles or sends one sends its buffers whole. No Parquet file does.
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
    """Whole numbers stay whole beside missing ones."""
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
    """Dictionaries become text, since their entries outlive the rows that used them."""
    _check_names(frame.columns)
    opaque = [n for n, dtype in frame.schema.items() if not _is_plain(dtype)]
    if opaque:
        raise TableError(
            f"column {opaque[0]!r} holds lists, records or bytes; covey needs plain values"
        )
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def _is_plain(dtype: pl.DataType) -> bool:
    calendar = dtype.is_temporal() and dtype != pl.Duration
    return calendar or dtype.is_numeric() or isinstance(dtype, _PLAIN)


_PLAIN = (pl.String, pl.Boolean, pl.Null, pl.Categorical, pl.Enum)


def _check_names(names: Sequence[Any]) -> None:
    if len(names) > MOST_COLUMNS:
        raise TableError(f"the table has {len(names):,} columns; covey takes {MOST_COLUMNS:,}")
    if not all(isinstance(name, str) for name in names):
        raise TableError("the names of columns must be text")
    blank = [place for place, name in enumerate(names, 1) if not name.strip()]
    if blank:
        raise TableError(f"{count(len(blank), 'column')} without a name, first at place {blank[0]}")
    pattern = next((n for n in names if n == "*" or n[0] + n[-1] == "^$"), None)
    if pattern is not None:
        raise TableError(f"the name of column {pattern!r} is a pattern of names; rename it")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TableError(f"column {twice!r} stands {names.count(twice)} times in the table")


# ── CSV ─────────────────────────────────────────────────────────────────────────────────────────


def _from_csv(data: bytes, declared: TableFormat, schema: Schema | None) -> Table:
    data, encoding = _utf8(data, declared.encoding)
    if not data.strip():
        raise TableError("the table is empty")
    delimiter = declared.delimiter or _detect_delimiter(data, schema)
    if len(delimiter.encode()) > 1 or delimiter in '"\r\n\0':
        raise TableError(f"{delimiter!r} cannot be a delimiter")
    names = _header(data, delimiter)
    if not names:
        raise TableError("the header in line 1 is blank or has a name that is too long")
    _check_names(names)
    data = data.rstrip(b"\r\n") if len(names) > 1 else data.removesuffix(b"\n").removesuffix(b"\r")
    records = _check_structure(data, ord(delimiter), len(names))
    frame = _parse(data if len(names) > 1 else data + b"\n", delimiter, names)
    if frame.height != records - 1:
        raise TableError("the rows of the CSV file cannot be told apart; check its quotes")
    table = Table(frame, Dialect(delimiter, encoding, declared.decimal or "."))
    found = [f"encoding {encoding}"] if declared.encoding is None else []
    found += [] if declared.delimiter else [f"delimiter {_name(delimiter)}"]
    return _detect_cells(table, declared, schema, found)


def _utf8(data: bytes, declared: str | None) -> tuple[bytes, str]:
    """The same text in UTF-8, and the encoding that it was in."""
    encoding = declared or next((e for bom, e in _BOMS if data.startswith(bom)), "utf-8")
    try:
        if codecs.lookup(encoding).name == "utf-8" and data.startswith(codecs.BOM_UTF8):
            encoding = "utf-8-sig"
        text = data.decode(encoding)
        plain = data if encoding == "utf-8" else text.encode()
    except LookupError:
        raise TableError(f"there is no encoding {encoding!r}") from None
    except UnicodeDecodeError as error:
        place = error.start
        raise TableError(
            f"the table is not {encoding}, first at byte {place:,}; "
            "declare its encoding, such as cp1252"
        ) from None
    except ValueError:
        raise TableError(f"the table is not text in the encoding {encoding!r}") from None
    if b"\0" in plain:
        line = plain.count(b"\n", 0, plain.index(b"\0")) + 1
        raise TableError(
            f"{count(plain.count(0), 'NUL byte')}, first in line {line:,}; "
            "the file is damaged, or in an encoding to be declared, such as utf-16"
        )
    return plain, encoding


_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def _header(data: bytes, delimiter: str) -> list[str]:
    lines = io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="")
    try:
        return next(csv.reader(lines, delimiter=delimiter), [])
    except csv.Error:  # a field that is too long
        return []


def _detect_delimiter(data: bytes, schema: Schema | None) -> str:
    """The sign that splits the header into the schema's columns, or else into most fields."""
    headers = {sign: _header(data, sign) for sign in DELIMITERS}
    known = set(schema.columns) if schema else set()
    return max(DELIMITERS, key=lambda sign: (len(known & set(headers[sign])), len(headers[sign])))


def _check_structure(data: bytes, delimiter: int, width: int) -> int:
    """Refuse what parsers read differently; the number of records, the header's among them.

    Quotes open a field only at its start and close it only at its end, and every record has as
    many fields as the header. Works on all bytes at once: a byte is quoted where the number of
    quotes up to it is odd, since a doubled quote counts twice.
    """
    quoted, before, records, fields, line = 0, delimiter, 0, 1, 1
    returns, ragged = _Faults(), _Faults()
    for start in range(0, len(data), _BYTES_AT_A_TIME):
        chunk = np.frombuffer(data, np.uint8, min(_BYTES_AT_A_TIME, len(data) - start), start)
        after = [*data[start + len(chunk) : start + len(chunk) + 1]]
        inside = _inside_quotes(chunk, quoted, before, [*after, _LF][0], delimiter, line)
        plain = chunk if inside is None else np.where(inside, 0, chunk)
        breaks = np.flatnonzero(plain == _LF)
        commas = np.flatnonzero(plain == delimiter)
        marks = np.flatnonzero(plain == _CR)
        returns.note(chunk, marks[np.append(plain, [*after, 0])[marks + 1] != _LF], line)
        totals = np.diff(np.searchsorted(commas, breaks), prepend=0) + 1
        if len(totals):
            totals[0] += fields - 1
            ragged.note(chunk, breaks[totals != width], line)
            fields = 1
        fields += len(commas) - (int(np.searchsorted(commas, breaks[-1])) if len(breaks) else 0)
        records += len(breaks)
        quoted = int(inside[-1]) if inside is not None else quoted
        before = int(chunk[-1])
        line += int(np.count_nonzero(chunk == _LF))
    if returns.number:
        raise TableError(
            f"{count(returns.number, 'carriage return')} outside quotes and not at the end of a "
            f"line, first in line {returns.line:,}"
        )
    if quoted:
        raise TableError(f"a quote that is opened is never closed, up to line {line:,}")
    if fields != width:
        ragged.note(np.empty(0, np.uint8), np.zeros(1, np.intp), line)
    if ragged.number:
        raise TableError(
            f"{count(ragged.number, 'row')} with more or fewer fields than the header's {width}, "
            f"first in line {ragged.line:,}"
        )
    return records + 1


_LF, _CR, _QUOTE = 10, 13, 34


@dataclass
class _Faults:
    """How many there are, and the line of the first."""

    number: int = 0
    line: int = 0

    def note(self, chunk: np.ndarray, places: np.ndarray, line: int) -> None:
        """Those at these places of a chunk that starts in this line."""
        if len(places) and not self.number:
            self.line = _line_of(chunk, places[0], line)
        self.number += len(places)


def _line_of(chunk: np.ndarray, place: int, line: int) -> int:
    return line + int(np.count_nonzero(chunk[:place] == _LF))


def _inside_quotes(
    chunk: np.ndarray, quoted: int, before: int, after: int, delimiter: int, line: int
) -> np.ndarray | None:
    """Which bytes stand inside quotes; None where no quote is near."""
    quotes = chunk == _QUOTE
    if not quoted and not quotes.any():
        return None
    inside = ((np.cumsum(quotes, dtype=np.uint8) + np.uint8(quoted)) & 1).astype(bool)
    places = np.flatnonzero(quotes)
    left = np.where(places > 0, chunk[places - 1], before)
    right = np.append(chunk, np.uint8(after))[places + 1]
    opens = inside[places] & ~_one_of(left, delimiter, _LF, _QUOTE)
    closes = ~inside[places] & ~_one_of(right, delimiter, _LF, _CR, _QUOTE)
    stray = places[opens | closes]
    if len(stray):
        raise TableError(
            f"a quote inside a field in line {_line_of(chunk, stray[0], line):,}; "
            "quote the whole field, doubling the quotes in it"
        )
    return inside


def _one_of(chunk: np.ndarray, *signs: int) -> np.ndarray:
    found: np.ndarray = np.any([chunk == sign for sign in signs], axis=0)
    return found


def _parse(data: bytes, delimiter: str, names: list[str]) -> pl.DataFrame:
    if data.startswith((b"x^", b"x\x01")):  # would be taken for compressed by zlib
        data = b"_" + data
    try:
        frame = pl.read_csv(
            data,
            separator=delimiter,
            schema=dict.fromkeys(names, pl.String),
            has_header=False,
            skip_rows=1,  # the parser does not undouble quotes in a header
        )
    except Exception:
        raise TableError("the table is not well-formed CSV") from None
    return frame.fill_null("")


def _detect_cells(
    table: Table, declared: TableFormat, schema: Schema | None, found: list[str]
) -> Table:
    """Find out the missing tokens and the decimal sign of the columns that covey changes."""
    names = table.frame.columns
    quasi = [n for n in names if schema is None or n in schema.quasi]
    if declared.missing is None:
        missing = _detect_missing(table.frame, quasi)
        found += [f"missing cells {', '.join(map(_name, missing))}"] if missing != ("",) else []
    else:
        missing = declared.missing
    table = replace(table, dialect=replace(table.dialect, missing=missing))
    if declared.decimal is None and table.dialect.delimiter != ",":
        numeric = [n for n in quasi if not schema or schema.columns[n].type is ColumnType.NUMERIC]
        if any(_has_decimal_comma(table.cells(n)) for n in numeric):
            table = replace(table, dialect=replace(table.dialect, decimal=","))
            found.append("decimal comma")
    return replace(table, notes=(f"detected {', '.join(found)}",) if found else ())


def _detect_missing(frame: pl.DataFrame, names: list[str]) -> tuple[str, ...]:
    """The tokens that occur in these columns, most frequent first, the empty one always known."""
    found: Counter[str] = Counter()
    for name in names:
        tokens = frame[name].filter(frame[name].is_in(MISSING_TOKENS))
        found.update(dict(tokens.alias("token").value_counts().iter_rows()))
    return (*sorted(found, key=lambda token: (-found[token], token)),) or ("",)


def _has_decimal_comma(cells: pl.Series) -> bool:
    """Numbers with a comma that cannot be one of thousands, and none with a point."""
    comma = cells.str.contains(r"^[+-]?[0-9]+,[0-9]+$")
    thousands = cells.str.contains(r"^[+-]?[0-9]{1,3}(,[0-9]{3})+$")
    point = cells.str.contains(r"^[+-]?[0-9]+\.[0-9]+$")
    return bool((comma & ~thousands).any()) and not bool(point.any())


def _name(sign: str) -> str:
    return {"\t": "tab", "": "(empty)"}.get(sign, repr(sign))


# ── roles ───────────────────────────────────────────────────────────────────────────────────────


def check_roles(table: Table, schema: Schema, *needed: Role) -> None:
    """Every column of the table has a role, and those of the `needed` roles are there."""
    names = table.frame.columns
    roleless = [name for name in names if name not in schema.columns]
    if roleless:
        raise SchemaError(
            f"{count(len(roleless), 'column')} without a role: {_listed(roleless)}; "
            "give each one in the schema"
        )
    absent = [name for name in schema.names(*needed) if name not in names]
    if absent:
        raise SchemaError(
            f"{count(len(absent), 'column')} of the schema not in the table: {_listed(absent)}"
        )
    if not schema.quasi:
        raise SchemaError("the schema names no quasi-identifier, so there is nothing to protect")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


# ── out ─────────────────────────────────────────────────────────────────────────────────────────


def write(table: Table, file: IO[bytes], name: str = "", *, defuse: bool = True) -> None:
    """Write a table to an open file, in the format that the name's ending asks for.

    Nothing but the cells is written: no index, no statistics, no file name or time stamp.
    """
    name = name.lower()
    if name.endswith((".parquet.gz", ".pq.gz")):
        raise OutputError("a Parquet file is compressed inside: leave .gz off its name")
    if name.endswith((".parquet", ".pq")):
        buffer = io.BytesIO()
        table.frame.write_parquet(buffer, statistics=False)
        file.write(buffer.getbuffer())
    elif name.endswith(".gz"):
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            packed.writelines(_csv_chunks(table, defuse=defuse))
    else:
        file.writelines(_csv_chunks(table, defuse=defuse))


def _csv_chunks(table: Table, *, defuse: bool) -> Iterator[bytes]:
    dialect = table.dialect
    point = pl.selectors.float().cast(pl.String).str.replace(".", dialect.decimal, literal=True)
    frame = table.frame.with_columns(point).select(pl.all().cast(pl.String))
    if defuse:
        _check_header(frame.columns)
    if dialect.encoding == "utf-8" and frame.columns[0].startswith("\ufeff"):
        raise TableError("the name of the first column starts with a byte order mark; rename it")
    cells = (series.fill_null(dialect.missing[0]) for series in frame)
    frame = pl.DataFrame([_defused(series, dialect) if defuse else series for series in cells])
    try:
        encoder = codecs.getincrementalencoder(dialect.encoding)()
        for start in range(0, max(frame.height, 1), _ROWS_AT_A_TIME):
            text = frame.slice(start, _ROWS_AT_A_TIME).write_csv(
                separator=dialect.delimiter, include_header=start == 0
            )
            yield encoder.encode(text)
    except UnicodeEncodeError:
        raise TableError(
            f"the release holds signs that {dialect.encoding} has not; declare the encoding utf-8"
        ) from None


def _check_header(names: Sequence[str]) -> None:
    unsafe = [name for name in names if name.startswith(FORMULA_STARTS)]
    if unsafe:
        raise TableError(
            f"the name of column {unsafe[0]!r} is a formula to a spreadsheet; rename it"
        )


def _defused(cells: pl.Series, dialect: Dialect) -> pl.Series:
    """An apostrophe before what a spreadsheet would run; numbers stay numbers."""
    risky = pl.any_horizontal(cells.str.starts_with(start) for start in FORMULA_STARTS)
    harmless = cells.str.contains(dialect.number) | cells.is_in(list(dialect.missing))
    safe = pl.when(risky & ~harmless).then("'" + cells).otherwise(cells)
    return pl.select(safe.alias(cells.name)).to_series()
