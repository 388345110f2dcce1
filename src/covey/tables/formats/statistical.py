"""Files of SPSS, Stata and SAS, with their labels.

Cells are codes; labels of variables and values are in the codebook. Values that the file declares
as missing are missing.
"""

import io
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import polars as pl

from covey.errors import OutputError
from covey.schema import TableFormat
from covey.tables.codebook import Codebook, as_codes
from covey.tables.csv_files import Dialect, check_names
from covey.tables.formats.common import Found, damaged, memory_file, needed, whole_again
from covey.tables.formats.fitting import fitted


def reader(function: str, what: str) -> Callable[[bytes, str | None, TableFormat], Found]:
    """A reader of one kind of file, by the library's function for it."""

    def read(data: bytes, _: str | None, declared: TableFormat) -> Found:
        library = needed("pyreadstat", "stat", f"reading a {what}")
        with damaged(what):
            frame, about, note = _read(getattr(library, function), data, declared.encoding)
            check_names(frame.columns)
            frame = frame.with_columns(
                whole_again(cells) for cells in frame.select(pl.selectors.float())
            )
            return Found(frame, _codebook(about, frame), (note,) if note else ())

    return read


_OLD_ENCODING = "windows-1252"


def _read(
    function: Callable[..., Any], data: bytes, encoding: str | None
) -> tuple[pl.DataFrame, Any, str]:
    """The cells and what the file says about them.

    Old files do not say how their text is encoded; it is then usually Windows's.
    """
    settings = {"output_format": "polars"}
    try:
        given = settings | ({"encoding": encoding} if encoding else {})
        return *function(io.BytesIO(data), **given), ""
    except Exception:
        if encoding:
            raise
        read = function(io.BytesIO(data), **settings, encoding=_OLD_ENCODING)
        return *read, f"detected encoding {_OLD_ENCODING}"


def _codebook(about: Any, frame: pl.DataFrame) -> Codebook:
    labels = about.column_names_to_labels
    return Codebook(
        {name: label for name, label in labels.items() if label},
        {
            name: {_code(value): label for value, label in values.items()}
            for name, values in about.variable_value_labels.items()
            if name in frame.columns
        },
    )


def _code(value: Any) -> str:
    return str(as_codes(pl.Series([value]))[0])


# ── out ─────────────────────────────────────────────────────────────────────────────────────────

# Letters of any alphabet, in SPSS also signs.
_SPSS_NAME = r"[^\W\d_][\w.$#@]*(?<![.])|@[\w.$#@]*"
_STATA_NAME = r"[^\W\d]\w*"
_SAS_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_SPSS_RESERVED = {
    *("ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"),
}


def write(frame: pl.DataFrame, dialect: Dialect, codebook: Codebook, kind: str) -> bytes:
    """A file of one of these kinds: sav, zsav, dta, xpt."""
    match kind:
        case "dta":
            return _write_stata(frame, dialect, codebook)
        case "xpt":
            return _write_sas(frame, dialect, codebook)
        case _:
            return _write_spss(frame, dialect, codebook, compress=kind == "zsav")


def _write_spss(
    frame: pl.DataFrame, dialect: Dialect, codebook: Codebook, *, compress: bool = False
) -> bytes:
    """A .sav file, or .zsav if it is to be compressed, dated 1980."""
    _check_names(frame, _SPSS_NAME, 64, "SPSS")
    for name in frame.columns:
        if name.upper() in _SPSS_RESERVED:
            raise OutputError(f"column {name!r} cannot have this name in SPSS: rename it")
    data = _written("write_sav", frame, dialect, codebook, value_labels=True, compress=compress)
    return data[:92] + b"01 Jan 8000:00:00" + data[109:]


def _write_stata(frame: pl.DataFrame, dialect: Dialect, codebook: Codebook) -> bytes:
    """A .dta file as Stata 14 and later read it, dated 1980."""
    _check_names(frame, _STATA_NAME, 32, "Stata")
    data = _written("write_dta", frame, dialect, codebook, value_labels=True, version=14)
    begin = data.index(b"<timestamp>\x11") + len(b"<timestamp>\x11")
    return data[:begin] + b"01 Jan 1980 00:00" + data[begin + 17 :]


def _write_sas(frame: pl.DataFrame, dialect: Dialect, codebook: Codebook) -> bytes:
    """An .xpt file, version 8, dated 1980; the format has no labels of values."""
    _check_names(frame, _SAS_NAME, 32, "SAS")
    data = bytearray(_written("write_xport", frame, dialect, codebook, value_labels=False))
    for begin in (144, 160, 464, 480):
        assert re.fullmatch(rb"[0-9]{2}[A-Z]{3}[0-9]{2}(:[0-9]{2}){3}", data[begin : begin + 16])
        data[begin : begin + 16] = b"01JAN80:00:00:00"
    return bytes(data)


def _written(
    function: str,
    frame: pl.DataFrame,
    dialect: Dialect,
    codebook: Codebook,
    *,
    value_labels: bool,
    **settings: Any,
) -> bytes:
    library = needed("pyreadstat", "stat", "writing this format", OutputError)
    frame = fitted(frame, dialect, earliest=datetime(1600, 1, 1), has_truth=False)
    if value_labels:
        settings["variable_value_labels"] = {
            name: typed
            for name, labels in codebook.values.items()
            if name in frame.columns
            if (typed := _typed(frame[name], labels, function))
        }
    try:
        with memory_file() as path:
            labels = dict(codebook.variables)
            getattr(library, function)(frame, str(path), column_labels=labels, **settings)
            return path.read_bytes()
    except Exception:
        raise OutputError(
            "the release cannot be written in this format: a text is too long, or a name or label "
            "is not allowed there; write .csv or .parquet"
        ) from None


def _typed(cells: pl.Series, labels: Mapping[str, str], function: str) -> dict[Any, str]:
    """The labels by cells of the column's type; Stata labels whole numbers only."""
    if cells.dtype == pl.String:
        return {} if function == "write_dta" else dict(labels)
    if not cells.dtype.is_numeric() or (function == "write_dta" and cells.dtype.is_float()):
        return {}
    codes = pl.Series([*labels]).cast(cells.dtype, strict=False)
    pairs = zip(codes, labels.values(), strict=True)
    return {code: label for code, label in pairs if code is not None}


def _check_names(frame: pl.DataFrame, pattern: str, longest: int, program: str) -> None:
    """Refuse names that the program does not have: covey does not change names."""
    for name in frame.columns:
        if not re.fullmatch(pattern, name) or len(name.encode()) > longest:
            raise OutputError(
                f"column {name!r} cannot have this name in {program}: rename it, or write .csv"
            )
    folded = [name.lower() for name in frame.columns]
    if program != "Stata" and len({*folded}) < len(folded):
        raise OutputError(f"{program} does not tell capital letters in names: rename columns")
