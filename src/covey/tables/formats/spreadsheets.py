"""Workbooks of Excel and LibreOffice.

Cells have types, one by one; a column has the type of its cells. Excel stores every number as a
float, so a column of whole floats is one of whole numbers. Formulas are read as their results.
"""

import io
import itertools
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import polars as pl

from covey.errors import OutputError, TableError, count
from covey.schema import TableFormat
from covey.tables import formulas
from covey.tables.csv_files import Dialect, check_names
from covey.tables.formats.common import Found, as_text, chosen, column, damaged, needed, others
from covey.tables.formats.fitting import fitted

_MOST_ROWS, _MOST_COLUMNS, _LONGEST = 1_048_576, 16_384, 32_767  # of an Excel sheet and cell


def read(data: bytes, part: str | None, declared: TableFormat) -> Found:
    """Read a sheet of a workbook: .xlsx, .xlsm, .xlsb, .xls or .ods."""
    calamine = needed("python_calamine", "excel", "reading a spreadsheet")
    with damaged("spreadsheet, or it is encrypted"):
        _refuse_far(data)
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        rows: dict[str, list[list[Any]]] = {}

        def cells(name: str) -> list[list[Any]]:
            if name not in rows:
                rows[name] = _filled(book.get_sheet_by_name(name).to_python())
            return rows[name]

        sheets = [str(name) for name in book.sheet_names]
        name = chosen(part, sheets, partial(_is_filled, cells), "sheet")
        return replace(_table(cells(name), declared), unread=others(sheets, "sheet"))


def _refuse_far(data: bytes) -> None:
    """Refuse a sheet with a cell far from all others: all cells between would fill the memory."""
    if not data.startswith(b"PK"):
        return
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        for name in file.namelist():
            if name.startswith("xl/worksheets/sheet"):
                with file.open(name) as sheet:
                    _refuse_sparse(iter(partial(sheet.read, _BLOCK), b""))


def _refuse_sparse(blocks: Iterator[bytes]) -> None:
    cells, rows, width, end = 0, 0, 26, b""
    for block in blocks:
        text = end + block
        cells += block.count(b"<c ")
        last = _ROW.search(text, max(text.rfind(b"<row "), 0))
        rows = max(rows, int(last[1])) if last else rows
        width = max([width, *map(_number, {*_WIDE.findall(text)})])
        end = text[-100:]
    if rows * width > max(_FEW_CELLS, _SPARSE * cells):
        raise TableError(
            f"a sheet has {count(cells, 'cell')}, the last of them as far as row {rows:,} or "
            f"column {width:,}: delete the rows and columns beyond the table"
        )


_ROW = re.compile(rb'<row [^>]*?r="([0-9]+)"')
_WIDE = re.compile(rb'<c r="([A-Z]{2,3})')
_FEW_CELLS, _SPARSE = 5_000_000, 100  # that fit into any memory; between two cells, at most
_BLOCK = 1 << 20


def _number(column: bytes) -> int:
    """The number of a column that is named by letters, from 1."""
    return sum((sign - 64) * 26**place for place, sign in enumerate(reversed(column)))


def _is_filled(cells: Callable[[str], Sequence[Any]], name: str) -> bool:
    """Whether a sheet has cells; one that cannot be read is not empty."""
    try:
        return bool(cells(name))
    except Exception:
        return True


def _filled(rows: list[list[Any]]) -> list[list[Any]]:
    """The rows up to the last that is not empty, with None for empty cells."""
    found = [[None if cell == "" else cell for cell in row] for row in rows]
    while found and not _count(found[-1]):
        found.pop()
    return found


def _count(row: Sequence[Any]) -> int:
    return sum(cell is not None for cell in row)


def _table(rows: list[list[Any]], declared: TableFormat) -> Found:
    above = declared.skip or 0
    if declared.skip is None and declared.header is not False:
        above = _lines_above(rows)
    rows = rows[above:]
    if not rows:
        raise TableError("the table is empty")
    if declared.header is not False:
        names = ["" if cell is None else as_text(cell) for cell in rows[0]]
        rows = rows[1:]
    else:
        names = [""] * len(rows[0])
    columns = [*zip(*rows, strict=True)] if rows else [()] * len(names)
    kept = [
        place
        for place, (name, cells) in enumerate(zip(names, columns, strict=True))
        if name.strip() or (_count(cells) and not (place == 0 and _is_index(cells)))
    ]
    names = [names[place] for place in kept]
    if declared.header is False:
        names = [*(declared.names or (f"column_{n}" for n in range(1, len(kept) + 1)))]
    if len(names) != len(kept):
        raise TableError(f"the sheet has {len(kept)} columns, but names lists {len(names)}")
    check_names(names)
    frame = pl.DataFrame(
        [
            column(name, columns[place], floats_for_all=True)
            for name, place in zip(names, kept, strict=True)
        ]
    )
    note = f"skipped {count(above, 'row')} above the header" if above and not declared.skip else ""
    return Found(frame, notes=(note,) if note else (), named_by_row=declared.header is None)


def _is_index(cells: Sequence[Any]) -> bool:
    """Whether a column only numbers the rows, as programs write it, without a name."""
    return len(cells) > 1 and all(
        isinstance(cell, int | float) and cell - first == place
        for first in cells[:1]
        for place, cell in enumerate(cells)
    )


_MOST_ABOVE = 20  # rows above a header


def _lines_above(rows: list[list[Any]]) -> int:
    """How many rows, such as titles and remarks, stand above the header.

    The header is the first row with a text in every column that is in use further down. Rows above
    it have gaps.
    """
    used = [place for place, cells in enumerate(zip(*rows, strict=True)) if _count(cells) > 1]
    if len(used) < 3:
        return 0
    for above, row in enumerate(rows[:_MOST_ABOVE]):
        if all(isinstance(row[place], str) for place in used):
            return above
    sparse = len([*itertools.takewhile(lambda row: _count(row) < 2, rows)])
    return sparse if sparse < len(rows) else 0


# ── out ─────────────────────────────────────────────────────────────────────────────────────────


def write(frame: pl.DataFrame, dialect: Dialect, *, defuse: bool) -> bytes:
    """An .xlsx workbook with one sheet, without author, program or time.

    No cell can run: a text is stored as a text. Excel would still run one that begins with = when
    someone edits it, so such a cell has Excel's own mark for text, which is no part of its content.
    """
    import xlsxwriter

    frame = fitted(frame, dialect, earliest=datetime(1900, 3, 1), has_times=True)
    _refuse_large(frame)
    memory = io.BytesIO()
    book = xlsxwriter.Workbook(memory, {"in_memory": True, "nan_inf_to_errors": False})
    book.set_properties({"created": datetime(1980, 1, 1)})
    sheet = book.add_worksheet("release")
    plain, marked = book.add_format(), book.add_format({"quote_prefix": True, "num_format": "@"})

    def runs(texts: pl.Series) -> pl.Series:
        return formulas.runs(texts, dialect).fill_null(value=False) & defuse

    names = pl.Series(frame.columns, dtype=pl.String)
    for place, (cells, mark) in enumerate(zip(frame, runs(names), strict=True)):
        sheet.write_string(0, place, cells.name, marked if mark else plain)
        if cells.dtype == pl.String:
            for row, (text, mark) in enumerate(zip(cells, runs(cells), strict=True), 1):
                if text:
                    sheet.write_string(row, place, text, marked if mark else plain)
            continue
        put, style = _writer(sheet, cells.dtype)
        shown = book.add_format({"num_format": style}) if style else plain
        for row, cell in enumerate(cells, 1):
            if cell is not None:
                put(row, place, cell, shown)
    book.close()
    return memory.getvalue()


def _writer(sheet: Any, dtype: pl.DataType) -> tuple[Any, str]:
    """How to write a cell of this type, and how to show it."""
    if dtype == pl.Boolean:
        return sheet.write_boolean, ""
    if dtype == pl.Date:
        return sheet.write_datetime, "yyyy-mm-dd"
    if dtype == pl.Time:
        return sheet.write_datetime, "hh:mm:ss"
    if dtype.is_temporal():
        return sheet.write_datetime, "yyyy-mm-dd hh:mm:ss"
    return sheet.write_number, ""


def _refuse_large(frame: pl.DataFrame) -> None:
    if frame.height >= _MOST_ROWS or frame.width > _MOST_COLUMNS:
        raise OutputError(
            f"an Excel sheet has at most {_MOST_ROWS - 1:,} rows and {_MOST_COLUMNS:,} columns: "
            "write .csv or .parquet"
        )
    for cells in frame.select(pl.col(pl.String)):
        if int(cells.str.len_chars().max() or 0) > _LONGEST:  # type: ignore[arg-type]
            raise OutputError(
                f"column {cells.name!r} has a text of more than {_LONGEST:,} characters, "
                "too long for Excel: write .csv or .parquet"
            )
