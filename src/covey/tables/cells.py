"""From the text or the type of a cell to its value: numbers and dates, strictly.

A cell that is neither is counted and refused, never guessed and never quoted.
"""

import re
from datetime import date

import polars as pl

from covey.errors import TableError, about_cells
from covey.schema import LARGEST
from covey.tables.csv_files import Dialect


def parse_numbers(cells: pl.Series, dialect: Dialect) -> pl.Series:
    """Numbers from cells; a cell that is none is counted and refused, never guessed."""
    numbers = as_numbers(cells, dialect)
    wrong = (numbers.is_null() & cells.is_not_null()).to_numpy()
    if wrong.any():
        what = "with a cell that is not a number"
        remedy = "correct them, declare the decimal sign or missing tokens, or make it categorical"
        raise about_cells(TableError, cells.name, wrong, what, remedy)
    large = (numbers.abs() >= LARGEST).fill_null(False).to_numpy()
    if large.any():
        what = "with a number beyond 2^53, which cannot be kept exactly"
        remedy = "make it categorical, or scale it"
        raise about_cells(TableError, cells.name, large, what, remedy)
    # A negative zero would be a second name of zero.
    return numbers.set(numbers == 0.0, 0.0)


def as_numbers(cells: pl.Series, dialect: Dialect) -> pl.Series:
    """Numbers from cells, null where there is none."""
    if cells.dtype == pl.Float32:
        # By its digits: 0.1 is to stay 0.1, not the float64 nearest to the float32 nearest to it.
        numbers = cells.cast(pl.String).cast(pl.Float64)
    elif cells.dtype.is_numeric() or cells.dtype == pl.Boolean:
        numbers = cells.cast(pl.Float64)
    elif cells.dtype in (pl.String, pl.Null):
        text = cells.cast(pl.String).str.strip_chars(" ")
        fits = text.str.contains(dialect.number)
        plain = text.str.replace(dialect.decimal, ".", literal=True)
        numbers = pl.select(pl.when(fits).then(plain.str.strip_prefix("+"))).to_series()
        numbers = numbers.cast(pl.Float64, strict=False)
    else:
        raise TableError(f"column {cells.name!r} holds {cells.dtype}, not numbers")
    return pl.select(pl.when(numbers.is_finite()).then(numbers)).to_series()


def parse_dates(cells: pl.Series, written: str | None = None) -> pl.Series:
    """Days since 1970-01-01 from cells that hold dates, ISO or as `written`."""
    days = as_days(cells, written)
    known = days.is_between(_FIRST_DAY, _LAST_DAY)
    days = pl.select(pl.when(known).then(days).alias(cells.name)).to_series()
    wrong = (days.is_null() & cells.is_not_null()).to_numpy()
    if wrong.any():
        what = f"with a cell that is not a date like {written or '2024-05-31'}"
        remedy = "correct them, or declare their format"
        raise about_cells(TableError, cells.name, wrong, what, remedy)
    return days


# The years 1 to 9999: outside, a day cannot be written.
_FIRST_DAY, _LAST_DAY = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))


# What is not told would be made up: 05/2024 is not the first of May.
_NAMES_A_DAY = re.compile(
    r"%[FDx]|(?=.*%-?[YyG])(?=.*(%-?j|%-?[mbBh].*%-?[de]|%-?[de].*%-?[mbBh]))"
)


_NAMES_A_TIME = re.compile(r"%[-_.:0-9]*[HIklMSpPfTRrXcsZz]")


def as_days(cells: pl.Series, written: str | None) -> pl.Series:
    """Days since 1970-01-01, null where there is none."""
    return _as_date(cells, written).cast(pl.Int32)


def _as_date(cells: pl.Series, written: str | None) -> pl.Series:
    if cells.dtype == pl.Date:
        return cells
    if isinstance(cells.dtype, pl.Datetime):
        timed = (cells.dt.truncate("1d") != cells).fill_null(False).to_numpy()
        if timed.any():
            what, remedy = "with a time of day", "a date is a whole day: cut the times off"
            raise about_cells(TableError, cells.name, timed, what, remedy)
        return cells.dt.date()
    if cells.dtype not in (pl.String, pl.Null):
        raise TableError(f"column {cells.name!r} holds {cells.dtype}, not dates")
    text = cells.cast(pl.String).str.strip_chars(" ")
    if written is not None and not _NAMES_A_DAY.search(written):
        raise TableError(
            f"column {cells.name!r}: a date format must tell day, month and year, as %d.%m.%Y does"
        )
    if written is not None and _NAMES_A_TIME.search(written):
        raise TableError(f"column {cells.name!r}: a date is a whole day, but its format has times")
    if written is None:
        iso = text.str.contains(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
        text = pl.select(pl.when(iso).then(text)).to_series()
    try:
        return text.str.to_date(written or "%Y-%m-%d", strict=False)
    except Exception:
        raise TableError(f"column {cells.name!r}: its date format cannot be understood") from None
