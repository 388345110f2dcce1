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
        numbers = dialect.decimals(cells.cast(pl.String)).cast(pl.Float64, strict=False)
    else:
        raise TableError(f"column {cells.name!r} holds {cells.dtype}, not numbers")
    return pl.select(pl.when(numbers.is_finite()).then(numbers)).to_series()


def parse_dates(cells: pl.Series, written: str | None = None, *, hours: bool = False) -> pl.Series:
    """Days since 1970-01-01 from cells that hold dates or timestamps, ISO or as `written`."""
    days = as_days(cells, written, hours=hours)
    known = days.is_between(_FIRST_DAY, _LAST_DAY + hours, closed="left" if hours else "both")
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
    r"%[FDxc+]|%-?s|(?=.*%-?[YyG])(?=.*(%-?j|%-?[mbBh].*%-?[de]|%-?[de].*%-?[mbBh]))"
)
_NAMES_A_TIME = re.compile(r"%[-_.:0-9]*[HIklMSpPfTRrXcsZz+]")

# A date, and perhaps a time of day with a time zone; both are taken as written.
_ZONE = r"(?: ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?))?"
_CLOCK = rf"[T ]([0-9]{{2}})(?::?[0-9]{{2}}){{0,2}}(?:[.,][0-9]+)?{_ZONE}"
_ISO = rf"^([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})(?:{_CLOCK})?$"


def as_days(cells: pl.Series, written: str | None, *, hours: bool = False) -> pl.Series:
    """Days since 1970-01-01, null where there is none; with `hours`, in steps of an hour.

    A time of day is cut off, to the hour or entirely, as it was on the clock where it was written.
    """
    moments = _as_moments(cells, written)
    if not hours or moments.dtype == pl.Date:
        days = moments.cast(pl.Date).cast(pl.Int32)
        return days.cast(pl.Float64) if hours else days
    # Whole hours divided by 24 are the same float wherever they come from.
    return moments.dt.epoch("s") // 3600 / 24.0


def _as_moments(cells: pl.Series, written: str | None) -> pl.Series:
    """Dates, or dates with a time of day if the cells have one; null where there is none."""
    if cells.dtype == pl.Date:
        return cells
    if isinstance(cells.dtype, pl.Datetime):
        return cells.dt.replace_time_zone(None)
    if cells.dtype not in (pl.String, pl.Null):
        raise TableError(f"column {cells.name!r} holds {cells.dtype}, not dates")
    text = cells.cast(pl.String).str.strip_chars(" ")
    if written is None:
        return _iso_moments(text)
    if not _NAMES_A_DAY.search(written):
        raise TableError(
            f"column {cells.name!r}: a date format must tell day, month and year, as %d.%m.%Y does"
        )
    if written.endswith("%z"):  # the day and hour are those on the clock, wherever it is
        written = written.removesuffix("%z").rstrip()
        text = text.str.replace(r"\s*(Z|[+-][0-9]{2}:?[0-9]{2})$", "")
    try:
        if _NAMES_A_TIME.search(written):
            moments = text.str.to_datetime(written, strict=False, time_unit="us")
            return moments.dt.replace_time_zone(None)
        return text.str.to_date(written, strict=False)
    except Exception:
        raise TableError(f"column {cells.name!r}: its date format cannot be understood") from None


def _iso_moments(text: pl.Series) -> pl.Series:
    days = text.str.extract(_ISO, 1).str.to_date("%Y-%m-%d", strict=False)
    hours = text.str.extract(_ISO, 2).cast(pl.Int64)
    if hours.null_count() == len(hours):
        return days
    # Only the hour is read: nothing that covey shows is finer.
    timed = pl.when(hours.is_null() | (hours < 24)).then(
        days.cast(pl.Datetime("us")) + pl.duration(hours=pl.lit(hours.fill_null(0)))
    )
    return pl.select(timed.alias(text.name)).to_series()


def has_times(cells: pl.Series, written: str | None) -> pl.Series:
    """Which cells tell more than a day."""
    if cells.dtype == pl.String and written is None:
        timed = cells.str.strip_chars(" ").str.contains(_TIMED)
    else:
        moments = _as_moments(cells, written)
        timed = moments.dt.truncate("1d") != moments  # no date is
    return timed.fill_null(value=False)


_TIMED = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ].*[1-9]"  # midnight tells no more than the day
