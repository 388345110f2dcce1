"""Dates and times among texts, and the one format that reads them."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from covey.declared import declared

ISO = "%Y-%m-%d"
_WRITTEN = declared("covey.inspection", "values.toml")["written"]
COMPACT = "%Y%m%d"  # a number, unless the name of the column speaks of dates

_SHAPE = (
    r"^[0-9]{1,4}[-./ ]?([0-9]{1,2}|\p{L}{3,9})[-./ ]?[0-9]{2,4}|^\p{L}{3,9} [0-9]{1,2}, [0-9]{4}"
)
_CLOCK = r"[T ][0-9]{1,2}:[0-9]{2}"
_TIME = r"^([01]?[0-9]|2[0-3])[:h][0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?( ?[AaPp][Mm])?$"
_FAR_AHEAD = 2040  # years with two digits that are read as these were a century earlier
_MOST = 0.8  # share of the rows that a format must read


@dataclass(frozen=True)
class Written:
    """How the dates of a column are written."""

    formats: tuple[str, ...]  # more than one if days might be months
    readable: pl.Series  # which values
    has_centuries: bool = True  # False if years have two digits, and some would be far ahead

    @property
    def is_sure(self) -> bool:
        """Whether one format fits better than all others."""
        return len(self.formats) == 1 and self.has_centuries


def written(values: pl.Series, rows: pl.Series, *, compact: bool = False) -> Written | None:
    """How the distinct values, which occur in so many rows, are written as dates; None if not."""
    texts = values.str.strip_chars(" ")
    shaped = texts.str.contains(f"{_SHAPE}{'|^[0-9]{8}$' if compact else ''}")
    if _share(shaped, rows) < _MOST:
        return None
    timed = texts.str.contains(_CLOCK)
    days = [*_WRITTEN["days"], *([COMPACT] if compact else [])]
    year = "%Y" if _share(texts.str.contains("[0-9]{4}"), rows) > _MOST else "%y"
    tried = [day for day in days if year in day]
    if _share(timed, rows) > _MOST:
        tried = [
            f"{day}{gap}{clock}" for day in tried for gap in "T " for clock in _WRITTEN["clocks"]
        ]
    tried = _plausible(texts.filter(shaped), tried)
    reads = {form: _read(texts, form) for form in tried}
    shares = {form: _share(read.is_not_null(), rows) for form, read in reads.items()}
    best = max(shares.values(), default=0.0)
    if best < _MOST:
        return None
    fits = tuple(form for form in tried if shares[form] == best)
    read = reads[fits[0]]
    ahead = bool((read.dt.year() >= _FAR_AHEAD).any())
    clear = year == "%Y" or not ahead
    return Written(_distinguished(fits), read.is_not_null(), clear)


def _plausible(texts: pl.Series, formats: Sequence[str]) -> list[str]:
    """The formats that read one of a few values: the others need not be tried on all."""
    few = texts.gather_every(max(len(texts) // 20, 1)).head(25)
    return [form for form in formats if _read(few, form).is_not_null().any()]


def _distinguished(fits: tuple[str, ...]) -> tuple[str, ...]:
    """Formats that give the same dates count once: with and without fractions of a second."""
    return tuple({(f.replace("%.f", ""), "%m" in f[:3]): f for f in reversed(fits)}.values())


def _read(texts: pl.Series, form: str) -> pl.Series:
    if "%H" in form or "%I" in form:
        return texts.str.to_datetime(form, strict=False, exact=True, time_unit="us").dt.date()
    return texts.str.to_date(form, strict=False)


def _share(which: pl.Series, rows: pl.Series) -> float:
    return float(rows.filter(which.fill_null(value=False)).sum()) / max(int(rows.sum()), 1)


def are_times(values: pl.Series) -> bool:
    """Whether the values are times of day."""
    return float(values.str.contains(_TIME).sum()) > _MOST * len(values)
