"""CSV files: strict about their form, exact about their content.

Records stay text, as written. Anything that parsers read differently is refused, with the line and
the number of rows: rows of different length, stray quotes and carriage returns, NUL bytes, wrong
encodings. What is not declared (delimiter, encoding, missing tokens, decimal sign) is detected and
reported.

Parsers' own messages never leave this module, because they quote cells.
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey.errors import TableError, count
from covey.schema import ColumnType, Role, Schema, TableFormat
from covey.tables import layouts
from covey.tables.encodings import Guess, guessed
from covey.tables.headers import looks_like_a_record
from covey.tables.layouts import Layout

MISSING_TOKENS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?")
MOST_COLUMNS = 10_000
_ROWS_AT_A_TIME = 65_536
Longs = NDArray[np.int64]
_BYTES_AT_A_TIME = 1 << 24


@dataclass(frozen=True)
class Dialect:
    """The format of a CSV file.

    covey writes the first missing token; an empty cell is always missing.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    missing: tuple[str, ...] = ("",)
    header: bool = True  # whether the input had a header; a release always has one
    thousands: str = ""  # the sign between groups of three digits; covey never writes it
    skip: int = 0  # lines before the header, in the input only
    spaced: bool = False  # whether spaces follow the delimiter, in the input only

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", tuple(dict.fromkeys([*self.missing, ""])))

    @property
    def written(self) -> dict[str, Any]:
        """The settings of a release: it always has a header, and no lines before it."""
        unneeded = {"header", "skip", "spaced", *([] if self.thousands else ["thousands"])}
        return {name: setting for name, setting in asdict(self).items() if name not in unneeded}

    @property
    def number(self) -> str:
        """The strict pattern of a number: ASCII digits, in groups of three if declared."""
        sign = r"\." if self.decimal == "." else ","
        group = _GROUP_SIGNS.get(self.thousands, "")
        whole = rf"[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+|[0-9]+" if group else "[0-9]+"
        return rf"^[+-]?((?:{whole})({sign}[0-9]*)?|{sign}[0-9]+)([eE][+-]?[0-9]+)?$"

    def is_missing(self, cell: pl.Expr, dtype: pl.DataType) -> pl.Expr:
        """Whether a cell of this type is missing."""
        if dtype == pl.String:
            return cell.is_null() | cell.is_in(list(self.missing))
        return cell.is_null() | cell.is_nan() if dtype.is_float() else cell.is_null()

    def decimals(self, texts: pl.Series) -> pl.Series:
        """Numbers as plain decimals with a point, from any spelling in this dialect; else null."""
        bare = texts.str.strip_chars(" ").str.replace(_UNIT, "")
        plain = bare
        if self.thousands:
            plain = plain.str.replace_all(_GROUP_SIGNS[self.thousands], "")
        plain = plain.str.replace(self.decimal, ".", literal=True).str.strip_prefix("+")
        fits = bare.str.contains(self.number)
        return pl.select(pl.when(fits).then(plain).alias(texts.name)).to_series()


_GROUP_SIGNS = {",": ",", ".": r"\.", " ": r"[ \x{a0}\x{2009}\x{202f}]", "'": "['\u2019]"}
# A number is the same with its currency or percent sign: "$1200", "1200 EUR", "12 %".
_MONEY = r"(?:[$€£¥%]|EUR|USD|GBP|CHF|PLN|zł|CZK|SEK|NOK|DKK|JPY)"
_UNIT = rf"^{_MONEY}[ \x{{a0}}\x{{202f}}]?|[ \x{{a0}}\x{{202f}}]?{_MONEY}$"


def check_names(names: Sequence[Any]) -> None:
    """Refuse column names that are ambiguous, or that polars reads as patterns."""
    if len(names) > MOST_COLUMNS:
        raise TableError(f"the table has {len(names):,} columns; the limit is {MOST_COLUMNS:,}")
    if not all(isinstance(name, str) for name in names):
        raise TableError("column names must be text")
    blank = [place for place, name in enumerate(names, 1) if not name.strip()]
    if blank:
        raise TableError(
            f"{count(len(blank), 'column')} without a name, first column {blank[0]}; name it"
            f"{_OR_NO_HEADER}"
        )
    # Identified by position: the supposed names may be a person's record.
    nul = [place for place, name in enumerate(names, 1) if "\0" in name]
    if nul:
        raise TableError(f"the name of column {nul[0]} contains a NUL character; rename it")
    patterns = [place for place, n in enumerate(names, 1) if n == "*" or n[0] + n[-1] == "^$"]
    if patterns:
        raise TableError(f"the name of column {patterns[0]} (* or ^…$) is reserved; rename it")
    if len(set(names)) < len(names):
        first = next(place for place, name in enumerate(names) if name in names[:place])
        raise TableError(
            f"columns {names.index(names[first]) + 1} and {first + 1} have the same name; rename "
            f"one{_OR_NO_HEADER}"
        )


_OR_NO_HEADER = ", or pass --no-header (header = false under [table]) if line 1 is a record"


# ── in ────────────────────────────────────────────────────────────────────────────────────────────


def read(
    data: bytes, declared: TableFormat, schema: Schema | None, *, is_cut: bool = False
) -> "tuple[Records, Form, str]":
    """Read a CSV file: its cells as text, its form, and a note on what was detected.

    If the data `is_cut`, they are the beginning of a longer file, and a last part of a record is
    left out.
    """
    data, guess = _utf8(data, declared.encoding, is_cut=is_cut)
    encoding = guess.name
    if not data.strip():
        raise TableError("the table is empty")
    data = _with_usual_ends(data)
    known = _known_names(declared, schema)
    layout = layouts.detect(data, declared, known)
    delimiter = layout.delimiter
    if len(delimiter.encode()) > 1 or delimiter in '"\r\n\0':
        raise TableError(f"{delimiter!r} cannot be used as a delimiter")
    data = layout.without_lines(data)
    data = data[: end_of_records(data)] if is_cut else data
    header = Header.of(layout.without_spaces(data), layout, declared, known)
    form = Form(Dialect(delimiter, encoding), layout, header, declared, known)
    cells = form.rows(Piece(data, layout.skip + 1, is_last=not is_cut))
    frame = cells.frame
    if header.in_file and declared.header is None:
        refuse_a_record(frame, declared, schema)
    found = [str(guess)] if declared.encoding is None else []
    found += layout.detected(declared)
    found += [f"{count(len(cells.blank), 'blank line')}"] if len(cells.blank) else []
    if header.in_file and header.nameless:
        found.append(f"{count(len(header.nameless), 'column')} without a name, not read")
    dialect = Dialect(delimiter, encoding, declared.decimal or ".", declared.missing or ())
    dialect = replace(dialect, skip=layout.skip, spaced=layout.spaced)
    read_as = _read_columns(frame, schema)
    if declared.missing is None and (missing := _detect_missing(frame, read_as)):
        dialect = replace(dialect, missing=missing)
        tokens = ", ".join(map(layouts.name, missing))
        found += [f"missing cells {tokens}"] if missing != ("",) else []
    if declared.decimal is None and delimiter != "," and _has_decimal_comma(frame, schema):
        dialect = replace(dialect, decimal=",")
        found.append("decimal comma")
    dialect, signs = _with_thousands(dialect, frame, declared, schema)
    found += signs
    if not header.in_file:
        dialect = replace(dialect, header=False)
        found += [] if declared.names else ["no header, columns named column_1 and so on"]
    note = f"detected {', '.join(found)}" if found else ""
    return cells, replace(form, dialect=dialect), note


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """The cells of some records, and where blank lines were among them."""

    frame: pl.DataFrame
    blank: Longs  # for each blank line, the number of rows before it

    def line_of(self, line: int, before: int, row: int) -> int:
        """The line of the file in which a row begins: quoted cells may contain line breaks.

        These cells begin in this line, after so many rows.
        """
        rows = self.frame.head(row - before)
        breaks = rows.select(pl.all().str.count_matches("\n", literal=True).sum())
        blank = int((self.blank <= row - before).sum())
        return line + row - before + blank + sum(int(number) for number in breaks.row(0))


@dataclass(frozen=True)
class Piece:
    """Some whole records of a CSV file in UTF-8, and the line in which they begin."""

    data: bytes = field(repr=False)
    line: int
    is_first: bool = True
    is_last: bool = True


@dataclass(frozen=True)
class Header:
    """The names of the columns, from the first record of a file or instead of one."""

    fields: tuple[str, ...] = field(repr=False)  # the first record, which may be a person's
    in_file: bool  # whether it names the columns
    names: tuple[str, ...] = field(repr=False)  # with stand-ins for the nameless
    nameless: Mapping[int, str]  # the stand-ins by their place

    @classmethod
    def of(
        cls, data: bytes, layout: Layout, declared: TableFormat, known: frozenset[str]
    ) -> "Header":
        """Read the first record.

        A release always has a header. So even with header = false, a first line that consists only
        of names in the schema is one.
        """
        first = layouts.header(data, layout.delimiter)
        if not first:
            line = layout.skip + 1
            raise TableError(f"the header in line {line} is blank or has a name that is too long")
        in_file = declared.header is not False or known.issuperset(first)
        names = first if in_file else _given_names(len(first), declared.names)
        # In a release, every column is judged.
        nameless = _nameless(names) if declared.skip != 0 else {}
        names = [nameless.get(place, name) for place, name in enumerate(names)]
        check_names(names)
        return cls(tuple(first), in_file, tuple(names), nameless)


@dataclass(frozen=True)
class Form:
    """What all files of a table in CSV files share, and all their pieces."""

    dialect: Dialect
    layout: Layout
    header: Header
    declared: TableFormat = field(repr=False)
    known: frozenset[str] = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table."""
        return tuple(n for n in self.header.names if n not in self.header.nameless.values())

    def pieces(self, blocks: Iterable[bytes], least: int) -> Iterator[Piece]:
        """Cut a file, given in blocks, into pieces of at least so many bytes."""
        data, line, is_first = b"", self.layout.skip + 1, True
        for block in _decoded(blocks, self.dialect.encoding):
            data += block
            if len(data) < least:
                continue
            records = self.layout.without_lines(data) if is_first else data
            if end := end_of_records(records):
                yield Piece(records[:end], line, is_first, is_last=False)
                line += records.count(b"\n", 0, end)
                data, is_first = records[end:], False
            elif len(data) > LONGEST:
                raise TableError(
                    f"no record ends within {LONGEST >> 20} MiB after line {line:,}; is a quote "
                    "never closed, or are the ends of lines unusual?"
                )
        data = self.layout.without_lines(_with_usual_ends(data)) if is_first else data
        if not data.strip() and is_first:
            raise TableError("the table is empty")
        yield Piece(data, line, is_first)

    def rows(self, piece: Piece) -> Records:
        """The cells of a piece."""
        data, header = self.layout.without_spaces(piece.data), self.header
        _refuse_nul(data, piece.line)
        headed = piece.is_first and self._has_header(data)
        delimiter, names = self.layout.delimiter, header.names
        if piece.is_last and len(names) > 1:
            data = data.rstrip(b"\r\n")
        elif len(names) > 1:
            text = data.rstrip(b"\r\n")
            data = text + _ENDS.sub(b"", data[len(text) :])
        else:
            data = data.removesuffix(b"\n").removesuffix(b"\r")
        blank, before = _blank_lines(data) if len(names) > 1 else (_NOWHERE, _NOWHERE)
        records = _check_structure(data, ord(delimiter), len(names), piece.line, blank)
        data = _without_lines(data, blank)
        data = data if headed else b"_\n" + data
        frame = _parse(data if len(names) > 1 else data + b"\n", delimiter, [*names])
        if frame.height != records - headed:
            raise TableError("the rows of the CSV file cannot be separated; check its quotes")
        for place, name in header.nameless.items():
            if not _is_empty_or_index(frame[name], place):
                check_names(header.fields)
        return Records(frame.drop(header.nameless.values()), before - headed)

    def _has_header(self, data: bytes) -> bool:
        """Whether a file begins with a header; refuse one with other columns."""
        found = Header.of(data, self.layout, self.declared, self.known)
        if found.names != self.header.names:
            raise TableError("its columns differ from those of the first file")
        return found.in_file

    def first_line(self, piece: Piece) -> int:
        """The line of the file in which the first row of a piece begins."""
        breaks = 1 + sum(name.count("\n") for name in self.header.fields)
        return piece.line + (breaks if piece.is_first and self.header.in_file else 0)


def end_of_records(data: bytes) -> int:
    """The place after the last record that surely ends in these bytes.

    A line break inside quotes ends no record. After the last one, or before blank lines, the end of
    the file may follow, where blank lines are no records; so the next record must have begun.
    """
    signs = np.frombuffer(data, np.uint8)
    lines = np.flatnonzero((signs[:-1] == _LF) & ~_one_of(signs[1:], _LF, _CR))
    ends = layouts.outside_quotes(signs, lines)
    return int(ends[-1]) + 1 if len(ends) else 0


LONGEST = 1 << 26  # bytes without the end of a record


def _with_usual_ends(data: bytes) -> bytes:
    """The same with line feeds, if lines end as old programs of the Macintosh end them."""
    is_old = b"\n" not in data.rstrip(b"\n") and b'"' not in data
    return data.replace(b"\r", b"\n") if is_old else data


def read_typed(
    frame: pl.DataFrame, declared: TableFormat, schema: Schema | None
) -> tuple[Dialect, str]:
    """The text format of a table that is not a CSV file, and a note on what was detected.

    It may have been a CSV file once: its release keeps the text, even as Parquet.
    """
    dialect, found = Dialect(decimal=declared.decimal or ".", missing=declared.missing or ()), []
    if declared.decimal is None and _has_decimal_comma(frame, schema):
        dialect = replace(dialect, decimal=",")
        found.append("decimal comma")
    dialect, signs = _with_thousands(dialect, frame, declared, schema)
    found += signs
    return dialect, f"detected {', '.join(found)}" if found else ""


def _read_columns(frame: pl.DataFrame, schema: Schema | None) -> list[str]:
    """The columns whose cells covey interprets: quasi-identifiers and sensitive numbers."""
    if schema is None:
        return frame.columns
    sensitive = [n for n in schema.names(Role.SENSITIVE) if schema.columns[n].is_ordered]
    return [name for name in frame.columns if name in schema.quasi or name in sensitive]


def _columns_of_numbers(frame: pl.DataFrame, schema: Schema | None) -> list[str]:
    """The columns of texts that may be numbers."""
    types = frame.schema
    return [
        name
        for name in _read_columns(frame, schema)
        if types[name] == pl.String
        and (schema is None or schema.columns[name].type is ColumnType.NUMERIC)
    ]


def _nameless(names: Sequence[str]) -> dict[int, str]:
    """Names for columns that have none, by their place; nothing if no column has one."""
    if not any(map(str.strip, names)):
        return {}
    return {place: f"\ufdd0{place}" for place, name in enumerate(names) if not name.strip()}


def _is_empty_or_index(cells: pl.Series, place: int) -> bool:
    """Whether a column without a name only numbers the rows, or is there by a stray delimiter."""
    if cells.is_empty() or (cells == "").all():
        return not cells.is_empty()
    numbers = cells.cast(pl.Int64, strict=False)
    counted = numbers == pl.int_range(len(numbers), eager=True) + (numbers[0] or 0)
    return place == 0 and bool(counted.fill_null(value=False).all())


def _known_names(declared: TableFormat, schema: Schema | None) -> frozenset[str]:
    """Names that a header may contain, including the columns of low and high ends."""
    quasi = schema.quasi if schema else ()
    ends = {f"{name}_{end}" for name in quasi for end in ("low", "high")}
    return frozenset({*(schema.columns if schema else ()), *ends, *(declared.names or ())})


def _given_names(width: int, names: Sequence[str] | None) -> list[str]:
    if names is None:
        return [f"column_{place}" for place in range(1, width + 1)]
    if len(names) != width:
        raise TableError(
            f"the table has {count(width, 'column')}, but names under [table] lists "
            f"{count(len(names), 'name')}"
        )
    return list(names)


def refuse_a_record(frame: pl.DataFrame, declared: TableFormat, schema: Schema | None) -> None:
    """Refuse names that look like the cells below them, unless the schema knows them."""
    known = _known_names(declared, schema).intersection(frame.columns)
    if 2 * len(known) < frame.width and looks_like_a_record(frame.columns, frame, MISSING_TOKENS):
        raise TableError(
            "the first line looks like a record, not like column names. If it is a record, pass "
            "--no-header, or set header = false and names = [...] under [table] in the schema. If "
            "it does name the columns, pass --header, or set header = true"
        )


def _utf8(data: bytes, declared: str | None, *, is_cut: bool) -> tuple[bytes, Guess]:
    """The same text in UTF-8, and its original encoding."""
    # The last letter may be cut, too.
    whole = data[: data.rfind(b"\n") + 1] if is_cut else data
    guess = Guess(declared) if declared else guessed(whole)
    encoding = guess.name
    try:
        if codecs.lookup(encoding).name == "utf-8" and data.startswith(codecs.BOM_UTF8):
            encoding = "utf-8-sig"
        if is_cut:
            text = codecs.getincrementaldecoder(encoding)().decode(data)
        else:
            text = data.decode(encoding)
        plain = data if encoding == "utf-8" and not is_cut else text.encode()
    except LookupError:
        raise TableError(f"unknown encoding {encoding!r}") from None
    except UnicodeDecodeError as error:
        raise _undecodable(encoding, error.start) from None
    except ValueError:
        raise TableError(f"the table cannot be decoded as {encoding!r}") from None
    _refuse_nul(plain)
    return plain, guess._replace(name=encoding)


def _decoded(blocks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The same text in UTF-8, block by block; a byte order mark before it is no text."""
    mark = codecs.lookup(encoding).name == "utf-8"
    decoder = codecs.getincrementaldecoder("utf-8-sig" if mark else encoding)()
    read = 0
    try:
        for block in blocks:
            kept = len(decoder.getstate()[0])
            yield decoder.decode(block).encode()
            read += len(block)
        block, kept = b"", len(decoder.getstate()[0])
        yield decoder.decode(b"", final=True).encode()
    except UnicodeDecodeError as error:
        raise _undecodable(encoding, read - kept + error.start) from None
    except ValueError:
        raise TableError(f"the table cannot be decoded as {encoding!r}") from None


def _undecodable(encoding: str, place: int) -> TableError:
    return TableError(
        f"the table is not valid {encoding}, first at byte {place:,}; "
        "declare its encoding, such as cp1252"
    )


def _refuse_nul(data: bytes, line: int = 1) -> None:
    if b"\0" in data:
        line += data.count(b"\n", 0, data.index(b"\0"))
        raise TableError(
            f"{count(data.count(0), 'NUL byte')}, first in line {line:,}; "
            "the file is damaged, or its encoding must be declared, such as utf-16"
        )


def _blank_lines(data: bytes) -> tuple[Longs, Longs]:
    """The places of the line feeds that end blank lines, and the records before each."""
    if b"\n\n" not in data and b"\n\r\n" not in data:
        return _NOWHERE, _NOWHERE
    signs = np.frombuffer(data, np.uint8)
    ends = layouts.outside_quotes(signs, np.flatnonzero(signs == _LF))
    last, before = (np.concatenate([[_LF, _LF], signs])[ends + back] for back in (1, 0))
    is_blank = (last == _LF) | ((last == _CR) & (before == _LF))
    return ends[is_blank], np.cumsum(~is_blank)[is_blank]


_ENDS = re.compile(rb"(\r?\n)+\Z")
_NOWHERE: Longs = np.zeros(0, dtype=np.int64)


def _without_lines(data: bytes, blank: Longs) -> bytes:
    """The same without the lines that end at these places."""
    if not len(blank):
        return data
    signs = np.frombuffer(data, np.uint8)
    kept = np.ones(len(signs), dtype=np.bool_)
    kept[blank] = False
    returns = blank[(blank > 0) & (signs[blank - 1] == _CR)] - 1
    kept[returns] = False
    return signs[kept].tobytes()


def _check_structure(data: bytes, delimiter: int, width: int, line: int, blank: Longs) -> int:
    """Refuse what parsers read differently; return the number of records, including the header.

    Quotes open a field only at its start and close it only at its end, and every record has as
    many fields as the header. All bytes are checked at once: a byte is quoted if the number of
    quotes before it is odd, since a doubled quote counts twice.
    """
    quoted, before, records, fields = 0, delimiter, 0, 1
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
            wrong = breaks[totals != width]
            ragged.note(chunk, wrong[~np.isin(wrong + start, blank)], line)
            fields = 1
        fields += len(commas) - (int(np.searchsorted(commas, breaks[-1])) if len(breaks) else 0)
        records += len(breaks)
        quoted = int(inside[-1]) if inside is not None else quoted
        before = int(chunk[-1])
        line += int(np.count_nonzero(chunk == _LF))
    if returns.number:
        raise TableError(
            f"{count(returns.number, 'carriage return')} outside quotes and not at the end of a "
            f"line, first in line {returns.line:,}; save the file with usual line ends"
        )
    if quoted:
        raise TableError(f"an opened quote is never closed, up to line {line:,}")
    if fields != width:
        ragged.note(np.empty(0, np.uint8), np.zeros(1, np.intp), line)
    if ragged.number:
        raise TableError(
            f"{count(ragged.number, 'row')} with more or fewer fields than the header ({width}), "
            f"first in line {ragged.line:,}; remove a footer, or quote cells with the delimiter"
        )
    return records + 1 - len(blank)


_LF, _CR, _QUOTE = 10, 13, 34


@dataclass
class _Faults:
    """The number of faults, and the line of the first."""

    number: int = 0
    line: int = 0

    def note(self, chunk: np.ndarray, places: np.ndarray, line: int) -> None:
        """Record faults at these places of a chunk that starts in this line."""
        if len(places) and not self.number:
            self.line = _line_of(chunk, places[0], line)
        self.number += len(places)


def _line_of(chunk: np.ndarray, place: int, line: int) -> int:
    return line + int(np.count_nonzero(chunk[:place] == _LF))


def _inside_quotes(
    chunk: np.ndarray, quoted: int, before: int, after: int, delimiter: int, line: int
) -> np.ndarray | None:
    """Which bytes are inside quotes; None if the chunk has no quotes."""
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
            "quote the whole field and double the quotes in it"
        )
    return inside


def _one_of(chunk: np.ndarray, *signs: int) -> np.ndarray:
    found: np.ndarray = np.any([chunk == sign for sign in signs], axis=0)
    return found


def _parse(data: bytes, delimiter: str, names: list[str]) -> pl.DataFrame:
    if data.startswith((b"x^", b"x\x01")):  # polars would take it for zlib data
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


def _detect_missing(frame: pl.DataFrame, names: list[str]) -> tuple[str, ...]:
    """The missing tokens that occur in these columns, most frequent first."""
    found: Counter[str] = Counter()
    for name in names:
        tokens = frame[name].filter(frame[name].is_in(MISSING_TOKENS))
        found.update(dict(tokens.alias("token").value_counts().iter_rows()))
    return (*sorted(found, key=lambda token: (-found[token], token)),) or ("",)


def _has_decimal_comma(frame: pl.DataFrame, schema: Schema | None) -> bool:
    """Whether a column has numbers with a comma other than for thousands, and none with a point."""
    for name in _columns_of_numbers(frame, schema):
        comma = frame[name].str.contains(r"^[+-]?[0-9]+,[0-9]+$")
        thousands = frame[name].str.contains(r"^[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+$")
        point = frame[name].str.contains(r"^[+-]?[0-9]+\.[0-9]+$")
        if (comma & ~thousands).any() and not point.any():
            return True
    return False


def _with_thousands(
    dialect: Dialect, frame: pl.DataFrame, declared: TableFormat, schema: Schema | None
) -> tuple[Dialect, list[str]]:
    """The dialect with the sign between groups of three digits, and a note if it was detected."""
    if declared.thousands is not None:
        return replace(dialect, thousands=declared.thousands), []
    names = _columns_of_numbers(frame, schema)
    if not names or not any(frame.select(pl.col(names).str.contains(_A_GROUP).any()).row(0)):
        return dialect, []
    texts = [frame[n].filter(~frame[n].is_in(list(dialect.missing))).drop_nulls() for n in names]
    for sign, decimal in (",.", ".,", " .", " ,", "'.", "',"):
        grouped = replace(dialect, thousands=sign, decimal=decimal)
        if declared.decimal not in (None, decimal) or sign == dialect.delimiter == " ":
            continue
        if any(_is_grouped(cells, dialect, grouped) for cells in texts) and not any(
            _is_numeric(cells, dialect) and not _is_numeric(cells, grouped) for cells in texts
        ):
            return grouped, [f"thousands sign {layouts.name(sign)}"]
    return dialect, []


def _is_grouped(cells: pl.Series, now: Dialect, grouped: Dialect) -> bool:
    """Whether these are numbers only if some of their signs separate groups of three digits.

    A single group may as well be three decimals, so 1.234 alone shows nothing. Two groups do, or a
    group and decimals, or whole numbers that have no sign because they are below a thousand.
    """
    new = grouped.decimals(cells).is_not_null() & now.decimals(cells).is_null()
    if not _is_numeric(cells, grouped):
        return False
    if not new.any():
        return grouped.thousands == now.decimal == "." and _has_only_groups(cells)
    sign, decimal = _GROUP_SIGNS[grouped.thousands], re.escape(grouped.decimal)
    if not cells.str.contains(rf"[0-9]{sign}[0-9]{{3}}").any():
        return False
    if (
        grouped.thousands not in (",", ".")
        or cells.str.contains(rf"{sign}[0-9]{{3}}({sign}|{decimal})").any()
    ):
        return True
    return _has_none_below_a_thousand(cells)


def _has_only_groups(cells: pl.Series) -> bool:
    """Whether points separate thousands: three digits follow each, and numbers below have none."""
    pointed = cells.filter(cells.str.contains(".", literal=True))
    grouped = pointed.str.contains(r"^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$")
    return len(pointed) > 9 and bool(grouped.all()) and _has_none_below_a_thousand(cells)


def _has_none_below_a_thousand(cells: pl.Series) -> bool:
    """Whether exactly the whole numbers below a thousand are written without a sign."""
    below, above = (cells.str.contains(p).any() for p in ("^[1-9][0-9]{2}$", "^[0-9]{4,}$"))
    return bool(below and not above)


def _is_numeric(cells: pl.Series, dialect: Dialect) -> bool:
    return int(dialect.decimals(cells).is_not_null().sum()) >= _NEARLY_ALL * len(cells)


_A_GROUP = r"[0-9][,. '\x{2019}\x{a0}\x{2009}\x{202f}][0-9]{3}"
_NEARLY_ALL = 0.9


def as_text(frame: pl.DataFrame, dialect: Dialect) -> pl.DataFrame:
    """Every cell as written in the file."""
    if dialect.encoding == "utf-8" and frame.columns[0].startswith("\ufeff"):
        raise TableError("the name of the first column starts with a byte order mark; rename it")
    point = pl.selectors.float().cast(pl.String).str.replace(".", dialect.decimal, literal=True)
    return frame.with_columns(point).select(pl.all().cast(pl.String).fill_null(dialect.missing[0]))


def chunks(text: pl.DataFrame, dialect: Dialect) -> Iterator[bytes]:
    """The bytes of a CSV file, some rows at a time."""
    try:
        encoder = codecs.getincrementalencoder(dialect.encoding)()
        for start in range(0, max(text.height, 1), _ROWS_AT_A_TIME):
            part = text.slice(start, _ROWS_AT_A_TIME).write_csv(
                separator=dialect.delimiter, include_header=start == 0
            )
            yield encoder.encode(part)
    except UnicodeEncodeError:
        raise TableError(
            f"the release contains characters that {dialect.encoding} cannot encode; "
            "declare the encoding utf-8"
        ) from None
