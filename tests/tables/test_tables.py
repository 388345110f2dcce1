"""Tables are read exactly or not at all, and written with nothing but their cells."""

import base64
import codecs
import copy
import csv
import gzip
import io
import itertools
import pickle
import random
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from covey import tables
from covey.errors import CoveyError, OutputError, SchemaError, TableError, count
from covey.schema import Role, Schema, TableFormat
from covey.tables import Table, csv_files
from covey.tables.csv_files import Dialect
from examples import examples
from oracles.labels import is_invisible
from strategies import dialects, frames, texts

many = examples(300)
CANARY = "QX7CANARY4711ZZ9"
SIGNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
FORMULA_STARTS = (*SIGNS, "\t", "\r", "\n", "\0")


def declared(dialect: Dialect) -> Schema:
    """A schema that says all about the file and nothing about its columns."""
    return with_format(
        delimiter=dialect.delimiter,
        encoding=dialect.encoding,
        decimal=dialect.decimal,
        missing=dialect.missing,
        header=True,
    )


def with_format(**settings: Any) -> Schema:
    return Schema.of(quasi={}, table=settings)


def parsed(data: bytes, schema: Schema | None = None) -> Table:
    return tables.from_bytes(data, schema, schema.table if schema else TableFormat())


def written(table: Table, name: str = "", *, defuse: bool = False) -> bytes:
    file = io.BytesIO()
    tables.write(table, file, name, defuse=defuse)
    return file.getvalue()


def same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    return one.columns == other.columns and one.rows() == other.rows()


def refusal_of(data: bytes, schema: Schema | None = None) -> str:
    with pytest.raises(TableError) as caught:
        parsed(data, schema)
    return str(caught.value)


# ── there and back ──────────────────────────────────────────────────────────────────────────────


@many
@given(frames(st.none() | texts), dialects, st.sampled_from(["", "t.csv", "t.csv.gz"]))
@example(pl.DataFrame({"a\x85b": ["1"]}), Dialect(), "")
@example(pl.DataFrame({"a\u2028b": ["1"], "c": ["2"]}), Dialect(), "")
@example(pl.DataFrame({"a": ["", "x", ""]}), Dialect(), "")
@example(pl.DataFrame({"a": [None, "\r", "\n", '"']}), Dialect(missing=("NA",)), "")
def test_what_is_written_as_csv_is_read_back(
    frame: pl.DataFrame, dialect: Dialect, name: str
) -> None:
    frame = frame.fill_null(dialect.missing[0]) if frame.height % 2 else frame
    assume(dialect.encoding != "utf-8" or not frame.columns[0].startswith("\ufeff"))
    every = "".join([*frame.columns, *dialect.missing, *map(str, sum(frame.rows(), ()))])
    try:
        every.encode(dialect.encoding)
    except UnicodeEncodeError:
        with pytest.raises(TableError, match="cp1252"):
            written(Table(frame, dialect), name)
        return
    data = written(Table(frame, dialect), name)
    again = parsed(data, declared(dialect))
    assert same(again.frame, frame.fill_null(dialect.missing[0]))
    assert again.dialect == dialect
    assert again.notes == ()


@many
@given(frames(st.none() | texts))
def test_what_is_written_as_parquet_is_read_back(frame: pl.DataFrame) -> None:
    assert same(parsed(written(Table(frame), "t.parquet")).frame, frame)


def test_parquet_keeps_the_types_of_columns() -> None:
    frame = pl.DataFrame(
        {"n": [1, None], "f": [0.1, None], "t": [True, None], "d": [date(2020, 2, 29), None]}
    )
    again = parsed(written(Table(frame), "t.pq")).frame
    assert again.equals(frame)
    assert again.schema == frame.schema


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("t.csv", b"a\n"),
        ("t.txt", b"a\n"),
        ("", b"a\n"),
        ("t.csv.gz", b"\x1f\x8b"),
        ("t.CSV.GZ", b"\x1f\x8b"),
        ("t.parquet", b"PAR1"),
        ("t.pq", b"PAR1"),
        ("t.PARQUET", b"PAR1"),
    ],
)
def test_the_ending_of_the_name_decides_the_format(name: str, start: bytes) -> None:
    table = Table(pl.DataFrame({"a": ["1"]}))
    data = written(table, name)
    assert data.startswith(start)
    assert same(parsed(data).frame, table.frame)


@pytest.mark.parametrize("name", ["t.parquet.gz", "t.PQ.gz"])
def test_a_parquet_file_is_not_packed_twice(name: str) -> None:
    with pytest.raises(OutputError, match=r"\.gz"):
        written(Table(pl.DataFrame({"a": ["1"]})), name)


def test_a_first_name_that_starts_with_a_byte_order_mark_is_kept_or_refused() -> None:
    frame = pl.DataFrame({"\ufeffa": ["1"]})
    try:
        data = written(Table(frame))
    except TableError:
        return
    assert parsed(data).frame.columns == ["\ufeffa"]


@pytest.mark.parametrize("name", ["count", "len", "PAR1", "x^", "x\x01", "literal", "^", "$", "**"])
def test_no_name_of_a_column_is_magic(name: str) -> None:
    frame = pl.DataFrame({name: ["NA", "1"], "a": ["=2", "3,5"], "b": ["-4", "@"]})
    table = parsed(written(Table(frame, Dialect(";"))))
    assert same(table.frame, frame)
    assert table.dialect == Dialect(";", decimal=",", missing=("NA", ""))
    assert table.cells(name).to_list() == [None, "1"]
    safe = parsed(written(table, defuse=True)).frame
    assert safe[name].to_list() == ["NA", "1"]
    assert safe["a"].to_list() == ["'=2", "3,5"]
    assert safe["b"].to_list() == ["-4", "'@"]


@pytest.mark.parametrize("name", ["*", "^a$", "^.*$", "^$"])
def test_a_name_that_is_a_pattern_of_names_is_a_name_or_refused(name: str) -> None:
    data = f"{name};a\nNA;=2\n".encode()
    try:
        table = parsed(data)
    except TableError as error:
        assert "column 1 " in str(error)  # noqa: PT017
        return
    assert table.cells(name).to_list() == [None]
    assert written(table, defuse=True) == f"{name};a\nNA;'=2\n".encode()


def test_a_file_of_many_quoted_lines_is_read_back() -> None:
    """Large enough that the parser splits it among threads."""
    rng = random.Random(1)
    cells = [rng.choice(["x", 'a\n"b",\n', "\n\n", "", "long" * 20]) for _ in range(300_000)]
    frame = pl.DataFrame({"a": cells, "b": cells[::-1]})
    assert parsed(written(Table(frame))).frame.equals(frame)


def test_rows_are_written_in_portions_with_one_header_and_one_mark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = Table(pl.DataFrame({"a": list("vwxyz")}), Dialect(encoding="utf-16"))
    whole = written(table)
    monkeypatch.setattr(csv_files, "_ROWS_AT_A_TIME", 2)
    assert written(table) == whole
    assert whole == "a\nv\nw\nx\ny\nz\n".encode("utf-16")


@pytest.mark.parametrize("encoding", ["utf-7", "iso2022_jp", "hz", "gb18030", "cp037", "utf-32"])
def test_rarer_encodings_come_back_too(encoding: str) -> None:
    frame = pl.DataFrame(
        {"a": ["日", "x"], "b": ["1", "日"]} if encoding != "cp037" else {"a": "é"}
    )
    dialect = Dialect(encoding=encoding)
    assert same(parsed(written(Table(frame, dialect)), declared(dialect)).frame, frame)


# ── formulas ────────────────────────────────────────────────────────────────────────────────────

risky_texts = st.builds(
    str.__add__,
    st.sampled_from(
        [*FORMULA_STARTS, "", " ", "\u3000", "\u2066=", "\xad-", "'", "'=", "' =", "''-"]
    ).filter(lambda start: start != "\0"),
    texts | st.sampled_from(["1", "1.5", "1,5", ".5", "1e5", "1e+5", "1.5\n", "1_0", "１", "+1"]),
)


def is_number(cell: str, decimal: str) -> bool:
    sign = re.escape(decimal)
    return bool(re.fullmatch(rf"[+-]?(\d+({sign}\d*)?|{sign}\d+)([eE][+-]?\d+)?", cell, re.ASCII))


def without_blanks(text: str) -> str:
    """Without what nobody sees at the start."""
    unseen = itertools.takewhile(lambda s: s.isspace() or s == "\u2800" or is_invisible(s), text)
    return text[len(list(unseen)) :]


@many
@given(frames(risky_texts), dialects)
def test_no_cell_of_a_release_is_a_formula_and_no_other_cell_changes(
    frame: pl.DataFrame, dialect: Dialect
) -> None:
    frame = frame.rename({name: f"n{i}" for i, name in enumerate(frame.columns)})
    dialect = Dialect(dialect.delimiter, "utf-8", dialect.decimal, dialect.missing)
    data = written(Table(frame, dialect), defuse=True).decode()
    reader = csv.reader(io.StringIO(data, newline=""), delimiter=dialect.delimiter, strict=True)
    for row, original in zip(list(reader)[1:], frame.rows(), strict=True):
        for cell, was in zip(row, original, strict=True):
            rest = was.lstrip("'")
            risky = rest.startswith(FORMULA_STARTS) or without_blanks(rest).startswith(SIGNS)
            harmless = (
                not risky or was in dialect.missing or is_number(was.strip(" "), dialect.decimal)
            )
            assert cell == (was if harmless else f"'{was}")


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_cells_that_start_like_a_formula_get_an_apostrophe(start: str) -> None:
    data = written(Table(pl.DataFrame({"a": [f"{start}x", f"x{start}"]})), defuse=True).decode()
    cells = [row[0] for row in csv.reader(io.StringIO(data, newline=""), strict=True)]
    assert cells == ["a", f"'{start}x", f"x{start}"]


@pytest.mark.parametrize("token", ["-", "NA", "a,b", '"', "\n", ""])
def test_missing_cells_are_written_so_that_they_are_missing_again(token: str) -> None:
    table = Table(pl.DataFrame({"a": ["x", None], "b": [token, "y"]}), Dialect(missing=(token,)))
    again = parsed(written(table, defuse=True), declared(table.dialect))
    assert again.cells("a").to_list() == ["x", None]
    assert again.cells("b").to_list() == [None, "y"]


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_a_column_whose_name_is_a_formula_is_refused(start: str) -> None:
    table = Table(pl.DataFrame({f"{start}a": ["1"]}))
    with pytest.raises(TableError, match=r"formula.*; rename it"):
        written(table, defuse=True)


def test_numbers_of_dataframes_stay_numbers_and_missing_ones_get_the_token() -> None:
    frame = pl.DataFrame({"n": [-1, None], "f": [-0.5, None], "t": [True, None]})
    table = Table(frame, Dialect(missing=("NA",)))
    assert written(table, defuse=True) == b"n,f,t\n-1,-0.5,true\nNA,NA,NA\n"


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_numbers_are_written_with_the_decimal_sign_of_the_file(delimiter: str) -> None:
    numbers = [-0.5, 1e300, 1e-7, 2.0]
    table = Table(pl.DataFrame({"n": numbers, "m": [1, 2, 3, 4]}), Dialect(delimiter, decimal=","))
    cells = parsed(written(table, defuse=True), declared(table.dialect)).frame["n"].to_list()
    assert cells[0] == "-0,5"
    assert [float(cell.replace(",", ".")) for cell in cells] == numbers


def test_a_column_of_durations_is_written_or_refused() -> None:
    frame = pl.DataFrame({"a": [timedelta(days=1)]})
    try:
        written(tables.read(frame))
    except TableError as error:
        assert "'a'" in str(error)  # noqa: PT017


# ── CSV, judged by other readers ────────────────────────────────────────────────────────────────


def expected_refusal(text: str, width: int) -> str | None:
    """What is wrong with a CSV text, found out sign by sign."""
    text = text.rstrip("\r\n") if width > 1 else text.removesuffix("\n").removesuffix("\r")
    state, line, fields, begin = "start", 1, 1, 0
    returns: list[int] = []
    ragged: list[int] = []
    for place, sign in enumerate(text):
        if state == "quoted":
            state = "closed" if sign == '"' else "quoted"
        elif sign == '"':
            if state == "plain":
                return f"quote inside a field in line {line}"
            state = "quoted"
        elif sign == ",":
            state, fields = "start", fields + 1
        elif sign == "\n":
            is_blank = width > 1 and text[begin:place] in ("", "\r")
            ragged += [line] if fields != width and not is_blank else []
            state, fields, begin = "start", 1, place + 1
        elif state == "closed" and sign != "\r":
            return f"quote inside a field in line {line}"
        else:
            state = "plain"
            if sign == "\r" and text[place + 1 : place + 2] != "\n":
                returns.append(line)
        line += sign == "\n"
    if returns:
        return f"{count(len(returns), 'carriage return')} outside quotes in line {returns[0]}"
    if state == "quoted":
        return f"never closed in line {line}"
    ragged += [line] if fields != width else []
    if ragged:
        return f"{count(len(ragged), 'row')} with more or fewer fields in line {ragged[0]}"
    return None


def shortened(message: str) -> str:
    """The essence of a message; how many quotes are stray is a matter of opinion."""
    match = re.search(
        r"(quote)s? (inside a field)"
        r"|(\d+ carriage returns?) (outside quotes)"
        r"|(never) (closed)"
        r"|(\d+ rows?) (with more or fewer fields)",
        message,
    )
    line = re.search(r"line (\d+)", message)
    if match is None or line is None:
        return message
    return f"{' '.join(filter(None, match.groups()))} in line {line[1]}"


HEADERS = ["a,b\n", "a\n", '"a","b"\r\n', '"a\n,","b""c",d\n']
bodies = st.lists(
    st.sampled_from(["x", "y z", "é", ",", ",", '"', '"', '""', "\n", "\n", "\r\n", "\r", " ", ";"])
    | st.sampled_from(["1,2\n", '"3","4"\n', '"5\n6",7\r\n', '"8,""9",\n', "10\n"]),
    max_size=12,
).map("".join)


def by_csv_module(text: str, width: int) -> list[tuple[str, ...]]:
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    return [tuple(row or [""]) for row in rows if row or width == 1]


@examples(1500)
@given(st.sampled_from(HEADERS), bodies)
@example("a\n", "x\n\n")
@example("a\n", "\n\n\n")
@example("a,b\n", '"x\ny",1\n2\r,3\n')
@example("a,b\n", "1,2\n1\n\n1,2\n")
def test_a_csv_text_is_read_as_pythons_csv_module_reads_it_or_refused_for_a_reason(
    header: str, body: str
) -> None:
    text = header + body
    width = len(next(csv.reader(io.StringIO(header, newline=""))))
    expected = expected_refusal(text, width)
    schema = with_format(delimiter=",", skip=0)
    if expected is not None:
        assert shortened(refusal_of(text.encode(), schema)) == expected
    else:
        frame = parsed(text.encode(), schema).frame
        assert [tuple(frame.columns), *frame.rows()] == by_csv_module(text, width)


@examples(500)
@given(st.sampled_from(HEADERS), bodies, st.sampled_from([1, 2, 3, 7]))
@example("a,b\n", '1,x"y\n2,"z"\n3,u"v\n', 7)
@example("a,b\n", "1\r,2\n3\r,4\n", 7)
@example("a,b\n", '1\r,2\n3,x"y\n', 7)
@example("a,b\n", '"x\ny",1\n2\r,3\n', 7)
def test_a_csv_text_is_judged_alike_in_portions_of_any_size(
    header: str, body: str, size: int
) -> None:
    def outcome() -> object:
        try:
            return parsed((header + body).encode()).frame.rows()
        except TableError as error:
            return str(error)

    whole = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "_BYTES_AT_A_TIME", size)
        assert outcome() == whole


RAGGED = "fields .*first in line"
RETURNS = "outside quotes .*first in line"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n1\n1,2,3\n", f"2 rows .*{RAGGED} 3"),
        ("a,b\n1,2\n\n1\n", f"1 row .*{RAGGED} 4"),
        ('a,b\n"x\ny",2\n1\n', f"1 row .*{RAGGED} 4"),
        ("a,b\n1,2\n1", f"1 row .*{RAGGED} 3"),
        ('a,b\n1,"2\n3,4\n', "quote is never closed, .* line 3"),
        ("a,b\n1\r2,3\n4\r,5\n", f"2 carriage returns {RETURNS} 2"),
        ('a,b\n"x\ny",1\n2\r,3\n', f"1 carriage return {RETURNS} 4"),
        ("a,b\r1,2\n3\r,4", f"2 carriage returns {RETURNS} 1"),
        ("a\nx\r\r\n", f"1 carriage return {RETURNS} 2"),
        ("a,b\n1,\0\n\0,2\n", "2 NUL bytes, first in line 2"),
        ("a,b\n\n\0", "1 NUL byte, first in line 3"),
    ],
)
def test_a_refusal_tells_how_many_and_the_first_line(text: str, message: str) -> None:
    assert re.search(rf"\b{message}(;|$)", refusal_of(text.encode()))


@pytest.mark.parametrize("text", ['a,b\nx"y,1\n"2","3"\n', 'a,b\n"x"y,1\n"2","3"\n'])
def test_one_stray_quote_is_not_counted_as_several(text: str) -> None:
    assert re.match(r"(1|a) quote inside a field,? (first )?in line 2;", refusal_of(text.encode()))


def test_a_file_of_ragged_rows_is_refused_at_once() -> None:
    start = time.process_time()
    assert refusal_of(b"a,b\n" + b"1,2,3\n" * 150_000).startswith("150,000 rows with more")
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"a,b,a,a", "columns 1 and 3 have the same name"),
        (b"a,,b, ", "2 columns without a name, first column 2;"),
        (b",".join(b"%d" % i for i in range(10_001)), "the table has 10,001 columns;"),
        (b"", "the table is empty"),
        (b"\r\n\n", "the table is empty"),
    ],
)
def test_a_header_that_names_no_columns_is_refused(header: bytes, message: str) -> None:
    assert refusal_of(header + b"\n", with_format(delimiter=",")).startswith(message)


def test_a_blank_line_before_the_header_is_told() -> None:
    table = parsed(b"\na,b\n1,2\n3,4\n")
    assert table.frame.rows() == [("1", "2"), ("3", "4")]
    assert "1 line before the header" in table.notes[0]
    assert "line 1" in refusal_of(b"\na,b\n1,2\n", with_format(skip=0))


@pytest.mark.slow
def test_ten_thousand_columns_are_read() -> None:
    names = [f"c{i}" for i in range(10_000)]
    line = ",".join(names).encode()
    assert parsed(line + b"\n" + line.replace(b"c", b"")).frame.columns == names


def test_long_names_and_cells_are_read() -> None:
    frame = pl.DataFrame({"a" * 100_000: ["b" * 2_000_000], "c": ["d"]})
    assert same(parsed(written(Table(frame))).frame, frame)


def test_a_long_header_is_read_to_its_end() -> None:
    frame = pl.DataFrame({f"{i:01500}": ["x"] for i in range(1_000)})
    assert same(parsed(written(Table(frame))).frame, frame)


def test_a_table_without_rows_has_its_columns() -> None:
    for data in (b"a,b", b"a,b\n", b"a,b\r\n\r\n"):
        assert parsed(data).frame.schema == {"a": pl.String, "b": pl.String}
        assert parsed(data).frame.height == 0


# ── any bytes at all ────────────────────────────────────────────────────────────────────────────

FORMATS = [
    None,
    *(with_format(encoding=e) for e in ["utf-8", "utf-16", "utf-16-le", "utf-32", "cp1252"]),
    *(with_format(encoding=e) for e in ["utf-7", "punycode", "undefined"]),
    *(with_format(delimiter=d) for d in [",", ";", "x"]),
    Schema.of(quasi={"age": "numeric"}, sensitive="name"),
    Schema.of(quasi={"age": "numeric"}, sensitive="name", table={"missing": ["-", CANARY]}),
]


def handled(data: bytes, schema: Schema | None) -> str:
    """All that is told while a table is read, understood and written again."""
    try:
        table = parsed(data, schema)
        for name in table.frame.columns:
            table.cells(name)
        written(table, defuse=True)
    except CoveyError as error:
        return "".join(traceback.format_exception(error))
    return "".join(table.notes)


@examples(500)
@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from([*b'a1,;"\n\r\0 \\+-']), max_size=30).map(bytes)
    | st.builds(bytes.__add__, st.sampled_from([b"\x1f\x8b\x08\0", b"PAR1"]), st.binary()),
    st.sampled_from(FORMATS),
)
@example(b"count\nNA\n", None)
@example(b"^a$;a\n1;2\n", None)
@example(b"a" * 200_000, None)
@example(b"a,b\n+2AA-,1\n", with_format(encoding="utf-7"))
@example(b"a,b\n\\ud800,1\n", with_format(encoding="unicode_escape"))
@example(b"a,b\n1,2\n", with_format(encoding="undefined"))
def test_any_bytes_are_a_table_or_a_refusal(data: bytes, schema: Schema | None) -> None:
    handled(data, schema)


@examples(500)
@given(
    st.lists(
        st.sampled_from([CANARY, "x", ",", ",", "\n", "\n", '"', "\r", "\0", "\x80", "\xff"])
        | st.sampled_from([f"{CANARY},1\n", f'"{CANARY}",2\n', f"={CANARY},3\n", "\xed\xa0\x80"]),
        max_size=12,
    ).map(lambda parts: "".join(parts).encode("latin-1")),
    st.sampled_from(FORMATS),
)
def test_no_refusal_quotes_a_cell(body: bytes, schema: Schema | None) -> None:
    assert CANARY not in handled(b"name,age\n" + body, schema)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(("encoding", name) for name in ["\0", "\ud800", "no such", "hex", "undefined", "é"]),
        *(("delimiter", sign) for sign in ['"', "\n", "\r", "\0", "é", "€"]),
    ],
)
def test_a_setting_that_cannot_be_is_refused(setting: str, value: str) -> None:
    with pytest.raises((SchemaError, TableError)):
        parsed(b"a\n1\n", with_format(**{setting: value}))


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"a,b\n\xe9,1\n", "utf-8", "utf-8, first at byte 4; "),
        (b"a,b\n\xed\xa0\x80,1\n", "utf-8", "utf-8, first at byte 4; "),
        (b"a,b\n1,\x81\n", "cp1252", "cp1252, first at byte 6; "),
        (b"\xff\xfea\0\n\0\0\xd8", None, "utf-16, first at byte 6; "),
        (b"ab,\0\n" * 9, None, "9 NUL bytes, first in line 1; "),
    ],
)
def test_bytes_that_are_no_text_are_refused_with_their_place(
    data: bytes, encoding: str | None, message: str
) -> None:
    refusal = refusal_of(data, with_format(encoding=encoding))
    assert message in refusal


@pytest.mark.parametrize("cut", [5, 12, -9, -4, -1])
@pytest.mark.parametrize("name", ["t.csv.gz", "t.parquet"])
def test_a_file_cut_short_is_refused(name: str, cut: int) -> None:
    data = written(Table(pl.DataFrame({"a": [CANARY] * 3})), name)
    assert CANARY not in refusal_of(data[:cut])


WRONG_NUMBERS = """
import sys
from covey import tables
from covey.errors import TableError
from covey.schema import TableFormat

data = sys.stdin.buffer.read()
end = int.from_bytes(data[-8:-4], "little") + 8
for place in range(len(data) - end, len(data)):
    for number in (0, 0x39, 0x7F, 0xFF):
        try:
            wrong = data[:place] + bytes([number]) + data[place + 1 :]
            tables.from_bytes(wrong, None, TableFormat())
        except TableError as error:
            print(error)
"""


def test_a_parquet_file_with_wrong_numbers_is_refused() -> None:
    """Some make the parser panic, which is no ordinary exception; another process may."""
    data = written(Table(pl.DataFrame({"a": [CANARY] * 3, "n": [1, None, 2]})), "t.parquet")
    command = [sys.executable, "-c", WRONG_NUMBERS]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stdout.count(b"damaged Parquet") > 100
    assert CANARY.encode() not in done.stdout


def test_a_gzip_file_of_a_parquet_file_is_read_as_one() -> None:
    frame = pl.DataFrame({"a": [1]})
    data = gzip.compress(written(Table(frame), "t.parquet"))
    assert parsed(data).frame.equals(frame)


def test_a_table_is_read_from_a_path_a_string_and_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n")))
    for source in (path, str(path), "-"):
        table = tables.read(source)
        assert table.frame.rows() == [("1", "2")]
        assert tables.read(table) is table


@pytest.mark.parametrize("path", ["nowhere.csv", "", "a\0b", "n" * 300])
def test_a_path_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(TableError, match="the table cannot be read"):
        tables.read(path)


# ── detection ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_sign_that_gives_most_columns(delimiter: str) -> None:
    rest = delimiter.join(["b", "c", '"d,e;f|g"'])
    table = parsed(f"a{delimiter}{rest}\n1{delimiter}{rest.upper()}\n".encode())
    assert table.frame.columns == ["a", "b", "c", "d,e;f|g"]
    assert table.dialect.delimiter == delimiter
    name = "tab" if delimiter == "\t" else repr(delimiter)
    assert table.notes == (f"detected encoding utf-8, delimiter {name}",)


def test_the_delimiter_is_the_sign_that_gives_the_columns_of_the_schema() -> None:
    data = b"a;b,c;d\n1;2,3;4\n"
    assert parsed(data).dialect.delimiter == ";"
    schema = Schema.of(quasi={"a;b": "categorical"}, sensitive="c;d")
    assert parsed(data, schema).dialect.delimiter == ","


@pytest.mark.parametrize(
    ("bom", "codec", "name"),
    [
        (b"", "utf-8", "utf-8"),
        (codecs.BOM_UTF8, "utf-8", "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16"),
        (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32-be", "utf-32"),
    ],
)
def test_the_encoding_is_what_the_byte_order_mark_says(bom: bytes, codec: str, name: str) -> None:
    table = parsed(bom + "ä,b\n€,2\n".encode(codec))
    assert table.frame.rows(named=True) == [{"ä": "€", "b": "2"}]
    assert table.dialect.encoding == name
    assert table.notes == (f"detected encoding {name}, delimiter ','",)
    assert same(parsed(written(table)).frame, table.frame)


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "utf-8-sig"])
def test_a_byte_order_mark_is_never_part_of_a_name(encoding: str) -> None:
    data = codecs.BOM_UTF8 + b"a,b\n1,2\n"
    assert parsed(data, with_format(encoding=encoding)).frame.columns == ["a", "b"]


@pytest.mark.parametrize(
    ("cells", "decimal"),
    [
        (["1,5", "2"], ","),
        (["-1,5"], ","),
        (["+12,55", "NA"], ","),
        (["1,234", "0,1"], ","),
        (["1234,567"], ","),
        (["1,234", "56,789"], "."),
        (["1,234,567"], "."),
        (["1.5", "2,5"], "."),
        (["1.5"], "."),
        (["1,5 m", "a,b"], "."),
        ([",", "1,", ",5"], "."),
    ],
)
def test_a_comma_is_decimal_unless_it_may_part_thousands(cells: list[str], decimal: str) -> None:
    table = parsed(("n;m\n" + "".join(f"{cell};x\n" for cell in cells)).encode())
    assert table.dialect.decimal == decimal
    assert ("decimal comma" in table.notes[0]) == (decimal == ",")


def test_a_decimal_comma_is_looked_for_in_numeric_quasi_identifiers_alone() -> None:
    data = b"n;c;s\n1;1,5;1,5\n"
    schema = Schema.of(quasi={"n": "numeric", "c": "categorical"}, sensitive="s")
    assert parsed(data, schema).dialect.decimal == "."
    assert parsed(b"n;c;s\n1,5;x;y\n", schema).dialect.decimal == ","


def test_missing_tokens_are_those_that_occur_most_frequent_first() -> None:
    table = parsed(b"a,b\n?,NA\nNA,x\n,na\n")
    assert table.dialect.missing == ("NA", "", "?")
    assert table.notes == (
        "detected encoding utf-8, delimiter ',', missing cells 'NA', (empty), '?'",
    )
    assert table.cells("a").to_list() == [None, None, None]
    assert table.cells("b").to_list() == [None, "x", "na"]
    assert table.frame["a"].to_list() == ["?", "NA", ""]


def test_missing_tokens_are_looked_for_in_quasi_identifiers_alone() -> None:
    schema = Schema.of(quasi={"a": "numeric"}, sensitive="b")
    assert parsed(b"a,b\n1,?\n", schema).dialect.missing == ("",)
    assert parsed(b"a,b\n?,x\n", schema).dialect.missing == ("?", "")


def test_what_is_declared_wins_and_is_not_told() -> None:
    schema = with_format(delimiter="|", encoding="cp1252", decimal=".", missing=["x", "y"])
    table = parsed("a|b;c\n1,5|é\nNA|x\n".encode("cp1252"), schema)
    assert table.dialect == Dialect("|", "cp1252", ".", ("x", "y"))
    assert table.frame.rows() == [("1,5", "é"), ("NA", "x")]
    assert table.cells("b;c").to_list() == ["é", None]
    assert table.notes == ()


@pytest.mark.parametrize(
    ("setting", "value", "untold"),
    [
        ("delimiter", ";", "delimiter"),
        ("encoding", "utf-8", "encoding"),
        ("decimal", ",", "decimal"),
        ("missing", ["NA"], "missing"),
    ],
)
def test_only_what_is_not_declared_is_told(setting: str, value: object, untold: str) -> None:
    data = b"a;b\n1,5;NA\n"
    (note,) = parsed(data).notes
    assert note == "detected encoding utf-8, delimiter ';', missing cells 'NA', decimal comma"
    (fewer,) = tables.from_bytes(data, None, TableFormat.model_validate({setting: value})).notes
    told = note.removeprefix("detected ").split(", ")
    assert fewer == f"detected {', '.join(item for item in told if untold not in item)}"


def test_what_is_declared_apart_from_the_schema_counts_instead_of_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a;b,c\n1;2,3\n")
    schema = with_format(delimiter=",", decimal=",")
    assert tables.read(path, schema).frame.columns == ["a;b", "c"]
    table = tables.read(path, schema, declared=TableFormat(delimiter=";"))
    assert table.frame.columns == ["a", "b,c"]
    assert table.dialect.decimal == "."
    assert table.notes == ("detected encoding utf-8",)


def test_a_schema_that_declares_no_missing_token_means_the_empty_cell() -> None:
    assert parsed(b"a\nNA\n", with_format(missing=[])).dialect.missing == ("",)


# ── dataframes ──────────────────────────────────────────────────────────────────────────────────

Kind = Callable[[pl.DataFrame], Any]
KINDS: dict[str, Kind] = {
    "polars": lambda frame: frame.clone(),
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@kinds
@examples(100)
@given(frames(st.none() | texts))
def test_a_dataframe_comes_in_as_it_is_and_goes_out_of_the_same_kind(
    kind: Kind, frame: pl.DataFrame
) -> None:
    source = kind(frame)
    table = tables.read(source)
    assert same(table.frame, frame)
    assert table.notes == ()
    given_back = table.give_back(table.frame)
    assert type(given_back) is type(source)
    assert same(tables.read(given_back).frame, frame)


@kinds
def test_typed_columns_keep_their_types(kind: Kind) -> None:
    frame = pl.DataFrame(
        {"n": [1, 2], "f": [0.5, None], "t": [True, False], "d": [date(2020, 2, 29), None]}
    )
    table = tables.read(kind(frame))
    assert table.frame.equals(frame)
    again = tables.read(table.give_back(table.frame)).frame
    assert again.equals(table.frame)
    assert again.schema == table.frame.schema


@kinds
def test_whole_numbers_with_gaps_come_back_exactly(kind: Kind) -> None:
    frame = pl.DataFrame({"n": [2**60 + 1, None, 3]})
    source: Any = kind(frame)
    if isinstance(source, pd.DataFrame):
        source = pd.DataFrame({"n": pd.array([2**60 + 1, None, 3], dtype="Int64")})
    table = tables.read(source)
    assert table.frame.equals(frame)
    assert tables.read(table.give_back(table.frame)).frame["n"].to_list() == [2**60 + 1, None, 3]


def leftovers() -> dict[str, Any]:
    """Dataframes that hold the canary where nobody looks, and show nothing but x and y."""
    plain = {"a": ["x", "y", "x"], "n": [1, 2, 3]}
    category = pd.Categorical(["x", "y", "x"], categories=["x", CANARY, "y"])
    index = pd.Index([CANARY, "p", "q"], name=f"{CANARY}-index")
    pandas = pd.DataFrame({"a": category, "n": [1, 2, 3]}, index=index)
    pandas.attrs["note"] = CANARY
    enum = pl.Series(["x", "y", "x"], dtype=pl.Enum(["x", CANARY, "y"]))
    categories = pl.Categories(f"{CANARY}-name")
    shared = pl.Series(["x", CANARY, "y", "x"], dtype=pl.Categorical(categories))
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 2, 0]), ["x", CANARY, "y"])
    described = pa.field("n", pa.int64(), metadata={"note": CANARY})
    return {
        "pandas": pandas,
        "polars enum": pl.DataFrame(plain).with_columns(a=enum),
        "polars categorical": pl.DataFrame(plain).with_columns(
            a=shared.filter(shared.cast(pl.String) != CANARY)
        ),
        "pyarrow": pa.table(
            [dictionary, pa.array([1, 2, 3])],
            schema=pa.schema([pa.field("a", dictionary.type), described], {"note": CANARY}),
        ),
    }


leaving = pytest.mark.parametrize("source", leftovers().values(), ids=leftovers())


@leaving
def test_values_that_no_row_uses_do_not_come_along(source: Any) -> None:
    assert CANARY.encode() in pickle.dumps(source)
    table = tables.read(source)
    assert table.frame.rows() == [("x", 1), ("y", 2), ("x", 3)]
    assert table.frame.columns == ["a", "n"]
    assert table.frame.schema["a"] == pl.String
    given_back = table.give_back(table.frame)
    assert type(given_back) is type(source)
    assert CANARY.encode() not in pickle.dumps(given_back)


@leaving
def test_a_dataframe_that_is_read_is_left_as_it_was(source: Any) -> None:
    before = copy.deepcopy(source)
    table = tables.read(source)
    table.give_back(table.frame.with_columns(pl.lit("z").alias("a")))
    if isinstance(source, pd.DataFrame):
        pd.testing.assert_frame_equal(source, before)
        assert list(source["a"].cat.categories) == ["x", CANARY, "y"]
        assert source.attrs == before.attrs
    else:
        assert source.equals(before)
        assert source.schema == before.schema


@kinds
@pytest.mark.parametrize("blanked", [False, True])
def test_cells_that_were_left_out_or_blanked_are_not_in_the_memory_of_the_result(
    kind: Kind, blanked: bool
) -> None:
    """Whoever pickles a dataframe or sends it by Arrow gives away all of its memory."""
    cells = [f"a long text, number {i:04}" for i in range(100)]
    table = tables.read(kind(pl.DataFrame({"a": cells})))
    kept = pl.col("a") != cells[50]
    fewer = table.frame.select(pl.when(kept).then("a")) if blanked else table.frame.filter(kept)
    memory = pickle.dumps(table.give_back(fewer))
    assert cells[49].encode() in memory
    assert cells[50].encode() not in memory


@kinds
def test_a_table_that_came_from_arrow_can_be_worked_with(kind: Kind) -> None:
    table = tables.read(kind(pl.DataFrame({"a": ["y", "x"]})))
    given_back = table.give_back(table.frame)
    if isinstance(given_back, pa.Table):
        assert given_back.sort_by("a")["a"].to_pylist() == ["x", "y"]
    else:
        assert list(given_back["a"]) == ["y", "x"]


def test_the_index_of_pandas_orders_nothing_and_does_not_come_back() -> None:
    source = pd.DataFrame({"a": ["x", "y", "z"], "n": [1, 2, 3]}, index=[2, 0, 0]).iloc[[2, 0, 1]]
    table = tables.read(source)
    assert table.frame.rows() == [("z", 3), ("x", 1), ("y", 2)]
    given_back = table.give_back(table.frame)
    assert list(given_back.columns) == ["a", "n"]
    assert given_back.index.equals(pd.RangeIndex(3))


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (pd.Series(["x", None, float("nan")], dtype=object), ["x", None, None]),
        (pd.Series([1.5, float("nan")]), [1.5, None]),
        (pd.array([1, None], dtype="Int64"), [1, None]),
        (pd.array([True, None], dtype="boolean"), [True, None]),
        (pd.Categorical([3, None], categories=[1, 2, 3]), [3, None]),
        (pd.Series([Decimal("1.50"), None], dtype=object), [Decimal("1.50"), None]),
    ],
)
def test_missing_cells_of_pandas_are_missing(column: Any, cells: list[object]) -> None:
    assert tables.read(pd.DataFrame({"a": column})).cells("a").to_list() == cells


def test_not_a_number_is_missing() -> None:
    assert tables.read(pl.DataFrame({"a": [1.0, float("nan")]})).cells("a").to_list() == [1.0, None]


@pytest.mark.parametrize(
    "source",
    [
        pl.DataFrame({"a": [[CANARY]]}),
        pl.DataFrame({"a": [{"b": CANARY}]}),
        pl.DataFrame({"a": [CANARY.encode()]}),
        pl.DataFrame({"a": pl.Series([[1, 2]], dtype=pl.Array(pl.Int8, 2))}),
        pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)}),
        pd.DataFrame({"a": [[CANARY]]}),
        pd.DataFrame({"a": [{"b": CANARY}]}),
        pd.DataFrame({"a": [CANARY.encode()]}),
        pd.DataFrame({"a": [CANARY, 1]}),
        pd.DataFrame({"a": [1, CANARY]}),
        pd.DataFrame({"a": [CANARY, 1.5]}),
        pd.DataFrame({"a": [CANARY, True]}),
        pd.DataFrame({"a": [CANARY, date(2020, 1, 1)]}),
        pd.DataFrame({"a": pd.Categorical([CANARY, 1])}),
        pd.DataFrame({"a": pd.Series([f"{CANARY}\ud800"], dtype=object)}),
        pd.DataFrame({"a": pd.interval_range(0, 2)}),
        pd.DataFrame({"a": pd.period_range("2020", periods=2, freq="M")}),
        pd.DataFrame({"a": [1j]}),
        pa.table({"a": [[CANARY]]}),
        pa.table({"a": [{"b": CANARY}]}),
        pa.table({"a": [CANARY.encode()]}),
        pa.table({"a": pa.array([Decimal("1.5")], pa.decimal256(60, 2))}),
    ],
)
def test_columns_of_anything_but_plain_values_are_refused_by_name(source: Any) -> None:
    with pytest.raises(TableError, match="column 'a'") as caught:
        tables.read(source)
    assert CANARY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]), "columns 1 and 3 have the same"),
        (pa.table([[1], [2]], names=["a", "a"]), "columns 1 and 2 have the same"),
        (pd.DataFrame([[1, 2]]), "must be text"),
        (pd.DataFrame({("a", "b"): [1]}), "must be text"),
        (pd.DataFrame({"a": [1], " ": [2]}), "1 column without a name, first column 2;"),
        (pl.DataFrame({"": [2]}), "1 column without a name, first column 1;"),
        (pl.Series("a", [1]), "not a table"),
        ({"a": [1]}, "not a table"),
        (b"a\n1\n", "not a table"),
        (None, "not a table"),
    ],
)
def test_what_is_no_table_is_refused(source: Any, message: str) -> None:
    with pytest.raises(TableError, match=message):
        tables.read(source)


@kinds
def test_the_missing_tokens_of_a_schema_hold_for_dataframes_too(kind: Kind) -> None:
    source = kind(pl.DataFrame({"a": ["NA", "", "x", None]}))
    table = tables.read(source, with_format(missing=["NA"]))
    assert table.cells("a").to_list() == [None, None, "x", None]
    assert written(table) == b'a\nNA\n""\nx\nNA\n'
    assert tables.read(source).cells("a").to_list() == ["NA", None, "x", None]


# ── nothing but the cells ───────────────────────────────────────────────────────────────────────


def unpacked(data: bytes) -> bytes:
    """A Parquet file with its pages decompressed and its Arrow schema decoded."""
    metadata = pq.read_metadata(io.BytesIO(data))
    parts = [base64.b64decode((metadata.metadata or {}).get(b"ARROW:schema", b""))]
    end = 4
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            column = metadata.row_group(group).column(place)
            assert column.compression == "ZSTD"
            first, start = column.dictionary_page_offset or end, column.data_page_offset
            stop = min(first, start) + column.total_compressed_size
            for page in filter(None, (data[first:start], data[start:stop])):
                header, frame = page.split(b"\x28\xb5\x2f\xfd", 1)
                with pa.input_stream(pa.py_buffer(b"\x28\xb5\x2f\xfd" + frame), "zstd") as stream:
                    parts += [header, stream.read()]
            end = stop
    return b"\n".join([*parts, data[end:]])


@leaving
def test_a_parquet_file_holds_its_cells_its_names_and_nothing_else(source: Any) -> None:
    data = written(tables.read(source), "t.parquet")
    metadata = pq.read_metadata(io.BytesIO(data))
    columns = [metadata.row_group(0).column(place) for place in range(2)]
    assert not any(column.is_stats_set for column in columns)
    assert not any(column.has_offset_index and column.has_column_index for column in columns)
    assert not any(column.bloom_filter_offset for column in columns)
    assert set(metadata.metadata) <= {b"ARROW:schema"}
    coded = pq.read_table(io.BytesIO(data), read_dictionary=["a"])["a"].combine_chunks()
    assert set(coded.dictionary.to_pylist()) == {"x", "y"}
    everything = unpacked(data)
    assert b"\x01\0\0\0x\x01\0\0\0y" in everything
    for coding in ("utf-8", "utf-16-le"):
        assert CANARY.encode(coding) not in data + everything
    schema = (metadata.metadata or {}).get(b"ARROW:schema", b"")
    known = {b"ARROW:schema", b"PAR1", metadata.created_by.encode(), schema}
    texts = re.findall(rb"[ -~]{5,}", everything)
    assert {text for text in texts if not any(constant in text for constant in known)} == set()


def test_a_parquet_file_of_filtered_rows_holds_no_other_rows() -> None:
    cells = [f"{CANARY} {i}" for i in range(9)]
    table = Table(pl.DataFrame({"a": cells}).filter(pl.col("a") != cells[4]))
    everything = unpacked(written(table, "t.parquet"))
    assert cells[3].encode() in everything
    assert cells[4].encode() not in everything


def test_a_gzip_file_tells_no_name_and_no_time(tmp_path: Path) -> None:
    table = Table(pl.DataFrame({"a": ["x"]}))
    with (tmp_path / f"{CANARY}.csv.gz").open("w+b") as file:
        tables.write(table, file, f"{CANARY}.csv.gz")
        file.seek(0)
        data = file.read()
    magic, flags, seconds = data[:3], data[3], data[4:8]
    assert (magic, flags, seconds) == (b"\x1f\x8b\x08", 0, bytes(4))
    assert gzip.decompress(data) == b"a\nx\n"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("abcs", "2 columns without a role: 'b', 'c';"),
        ("abcdefghs", "7 of 9 columns not in the schema, first column 2"),
        ("asb", "1 column without a role: 'b';"),
        ("a", "1 column of the schema not in the table: 's'"),
    ],
)
def test_every_column_has_a_role_and_every_role_a_column(names: str, message: str) -> None:
    schema = Schema.of(quasi={"a": "numeric"}, sensitive="s", identifier="id")
    with pytest.raises(SchemaError, match=re.escape(message)):
        tables.check_roles(
            Table(pl.DataFrame({name: [1] for name in names})), schema, Role.QUASI, Role.SENSITIVE
        )


def test_columns_of_roles_that_are_not_needed_may_be_absent() -> None:
    schema = Schema.of(quasi={"a": "numeric"}, sensitive="s", identifier="id")
    tables.check_roles(Table(pl.DataFrame({"a": [1]})), schema, Role.QUASI)


def test_a_schema_without_quasi_identifiers_is_refused() -> None:
    with pytest.raises(SchemaError, match="nothing to protect"):
        tables.check_roles(Table(pl.DataFrame({"s": [1]})), Schema.of(quasi={}, sensitive="s"))
