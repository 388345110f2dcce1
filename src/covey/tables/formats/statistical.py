"""Files of SPSS, Stata and SAS, with their labels.

Cells are codes; labels of variables and values are in the codebook. Values that the file declares
as missing are missing.
"""

import codecs
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import polars as pl

from covey.declared import declared
from covey.errors import OutputError, TableError, count
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
            short = [
                name for name, kind in about.readstat_variable_types.items() if kind == "float"
            ]
            frame = frame.with_columns(_by_digits(frame[name]) for name in short)
            frame = frame.with_columns(
                whole_again(cells) for cells in frame.select(pl.selectors.float())
            )
            unread = ["the label of the file"] if about.file_label else []
            unread += [count(len(about.notes), "note")] if about.notes else []
            notes = (note,) if note else ()
            return Found(frame, _codebook(about, frame), notes, unread=tuple(unread))

    return read


def _by_digits(cells: pl.Series) -> pl.Series:
    """Numbers of four bytes by their digits: 0.1 is to stay 0.1, not 0.10000000149011612."""
    if not cells.dtype.is_float():
        return cells
    return cells.cast(pl.Float32).cast(pl.String).cast(pl.Float64)


_OLD_ENCODING = "windows-1252"
STATA = re.compile(rb"[h-s][\x01\x02]\x01\x00|<stata_dta>")
_OLD_STATA = re.compile(
    rb"[h-s][\x01\x02]\x01\x00|<stata_dta><header><release>117"
)  # says no encoding


def _read(
    function: Callable[..., Any], data: bytes, encoding: str | None
) -> tuple[pl.DataFrame, Any, str]:
    """The cells and what the file says about them.

    A file says how its text is encoded; what is declared may be true of a CSV file only. Old files
    do not say it, or wrongly: then it is as declared, or Windows's.
    """
    read = partial(function, output_format="polars")
    other = _plain_name(encoding) if encoding else _OLD_ENCODING
    if encoding and _OLD_STATA.match(data):
        return *read(io.BytesIO(data), encoding=other), ""
    try:
        return *read(io.BytesIO(data)), ""
    except Exception:
        return *read(io.BytesIO(data), encoding=other), f"detected encoding {other}"


def _plain_name(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name.removesuffix("-sig")
    except LookupError:
        raise TableError(f"unknown encoding {encoding!r}") from None


def _codebook(about: Any, frame: pl.DataFrame) -> Codebook:
    labels = about.column_names_to_labels
    return Codebook(
        {name: label for name, label in labels.items() if label},
        {
            name: {str(as_codes(pl.Series([value]))[0]): label for value, label in values.items()}
            for name, values in about.variable_value_labels.items()
            if name in frame.columns
        },
    )


# ── out ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Program:
    """What files of a program have, and the library's function that writes them."""

    name: str
    function: str
    names: str  # the pattern of a column's name
    longest_name: int
    longest_label: int
    longest_value: int  # the longest label of a value; 0 if there are none
    labels_texts: bool = False
    has_times: bool = True
    reserved: Sequence[str] = ()


_PROGRAMS = {
    name: _Program(name, **limits)
    for name, limits in declared(__package__, "formats.toml")["programs"].items()
}
_SPSS, _STATA, _SAS = (_PROGRAMS[name] for name in ("SPSS", "Stata", "SAS"))


def write(frame: pl.DataFrame, dialect: Dialect, codebook: Codebook, kind: str) -> bytes:
    """A file of one of these kinds: sav, zsav, dta, xpt. It is dated 1980."""
    program = {"dta": _STATA, "xpt": _SAS}.get(kind, _SPSS)
    _check_names(frame, program)
    frame = fitted(
        *(frame, dialect),
        earliest=datetime(1600, 1, 1),
        has_times=program.has_times,
        has_truth=False,
    )
    codebook = _fitting(codebook, program)
    if program is _STATA:
        data = _written(frame, codebook, program, version=14)
        begin = data.index(b"<timestamp>\x11") + len(b"<timestamp>\x11")
        return data[:begin] + b"01 Jan 1980 00:00" + data[begin + 17 :]
    if program is _SAS:
        return _write_sas(frame, codebook)
    # Else SPSS shows 39 as 39.00.
    shown = dict.fromkeys(frame.select(pl.selectors.integer()).columns, "F16.0")
    data = _written(frame, codebook, program, variable_format=shown, compress=kind == "zsav")
    return data[:92] + b"01 Jan 8000:00:00" + data[109:]


def _write_sas(frame: pl.DataFrame, codebook: Codebook) -> bytes:
    """An .xpt file: version 5, which more programs read, or 8, which has longer names and texts."""
    texts = (cells.str.len_bytes().max() or 0 for cells in frame.select(pl.col(pl.String)))
    short = (
        max(map(len, frame.columns)) <= 8
        and max(map(len, codebook.variables.values()), default=0) <= 40
        and all(length <= 200 for length in texts)  # type: ignore[operator]
    )
    data = bytearray(_written(frame, codebook, _SAS, file_format_version=5 if short else 8))
    for begin in (144, 160, 464, 480):
        assert re.fullmatch(rb"[0-9]{2}[A-Z]{3}[0-9]{2}(:[0-9]{2}){3}", data[begin : begin + 16])
        data[begin : begin + 16] = b"01JAN80:00:00:00"
    return bytes(data)


def _written(frame: pl.DataFrame, codebook: Codebook, program: _Program, **settings: Any) -> bytes:
    import pyreadstat

    if program.longest_value:
        labelled = [name for name in codebook.values if name in frame.columns]
        typed = {name: _typed(frame[name], codebook.values[name], program) for name in labelled}
        settings["variable_value_labels"] = {n: labels for n, labels in typed.items() if labels}
    try:
        with memory_file() as path:
            write = getattr(pyreadstat, program.function)
            write(frame, str(path), column_labels=dict(codebook.variables), **settings)
            return path.read_bytes()
    except Exception:
        raise OutputError(
            f"the release cannot be written for {program.name}: a text is too long, or a name or "
            "label is not allowed there; write .csv or .parquet"
        ) from None


def _fitting(codebook: Codebook, program: _Program) -> Codebook:
    """The same labels, cut to the length that the program has."""
    return Codebook(
        {name: _cut(label, program.longest_label) for name, label in codebook.variables.items()},
        {
            name: {code: _cut(label, program.longest_value) for code, label in labels.items()}
            for name, labels in codebook.values.items()
        },
    )


def _cut(label: str, longest: int) -> str:
    return label.encode()[:longest].decode(errors="ignore")


def _typed(cells: pl.Series, labels: Mapping[str, str], program: _Program) -> dict[Any, str]:
    """The labels by cells of the column's type; Stata labels whole numbers only."""
    if cells.dtype == pl.String:
        return dict(labels) if program.labels_texts else {}
    if not (cells.dtype.is_integer() or (cells.dtype.is_float() and program.labels_texts)):
        return {}
    codes = pl.Series([*labels]).cast(cells.dtype, strict=False)
    pairs = zip(codes, labels.values(), strict=True)
    return {code: label for code, label in pairs if code is not None}


def _check_names(frame: pl.DataFrame, program: _Program) -> None:
    """Refuse names that the program does not have: covey does not change names."""
    for name in frame.columns:
        fits = re.fullmatch(program.names, name) and len(name.encode()) <= program.longest_name
        if not fits or name.upper() in program.reserved:
            raise OutputError(
                f"column {name!r} cannot have this name in {program.name}: rename it, or write .csv"
            )
    folded = {name.lower() for name in frame.columns}
    if program is not _STATA and len(folded) < frame.width:
        raise OutputError(
            f"{program.name} does not tell capital letters in names apart: rename columns"
        )
