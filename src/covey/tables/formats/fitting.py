"""Cells that fit programs whose numbers are floats: spreadsheets and statistical programs.

The cells of a CSV file are text. There, a column of texts that are numbers becomes one of numbers,
if their text can be made from the numbers again; 007 stays text. What a format cannot hold exactly
becomes text: whole numbers beyond 2^53, times of a zone, early dates, fractions of milliseconds.
"""

from datetime import datetime

import polars as pl

from covey.tables.csv_files import Dialect
from covey.tables.formats.common import EXACT


def fitted(
    frame: pl.DataFrame,
    dialect: Dialect,
    *,
    earliest: datetime,
    has_times: bool = False,
    has_truth: bool = True,
) -> pl.DataFrame:
    """The same cells in types that such a program has: times of day, and truth, if it has them."""
    columns = []
    for cells in frame:
        dtype = cells.dtype
        if dtype in (pl.String, pl.Null):
            cells = _numbers_of(cells.cast(pl.String), dialect)
        elif dtype.is_numeric():
            cells = _exact(cells)
        elif dtype == pl.Boolean:
            cells = cells if has_truth else cells.cast(pl.String)
        elif dtype == pl.Time:
            whole = bool((cells.drop_nulls().dt.nanosecond() == 0).all())
            cells = cells if has_times and whole else cells.cast(pl.String)
        elif dtype.is_temporal():
            cells = _moments(cells, earliest)
        columns.append(cells)
    return pl.DataFrame(columns)


def _numbers_of(texts: pl.Series, dialect: Dialect) -> pl.Series:
    """The numbers that all texts are, without missing cells, or else the texts."""
    missing = texts.is_null() | texts.is_in(list(dialect.missing))
    if missing.all():
        return texts
    known = pl.select(pl.when(~missing).then(texts).alias(texts.name)).to_series()
    plain = known.str.replace(dialect.decimal, ".", literal=True)
    for kind in (pl.Int64, pl.Float64):
        numbers = plain.cast(kind, strict=False)
        again = numbers.cast(pl.String).str.replace(".", dialect.decimal, literal=True)
        if bool((again == known).fill_null(missing).all()) and _is_exact(numbers):
            return numbers
    return texts


def _is_exact(numbers: pl.Series) -> bool:
    present = numbers.drop_nulls()
    return bool((present.is_finite() & (present.abs() <= EXACT)).all())


def _exact(numbers: pl.Series) -> pl.Series:
    if numbers.dtype.is_float():
        # By its digits: 0.1 stays 0.1.
        return numbers.fill_nan(None).cast(pl.String).cast(pl.Float64)
    if numbers.dtype.is_decimal():
        floats = numbers.cast(pl.Float64)
        same = bool((floats.cast(numbers.dtype, strict=False) == numbers).fill_null(True).all())
        return floats if same else numbers.cast(pl.String)
    fits = bool((numbers.drop_nulls().cast(pl.Float64).abs() < EXACT).all())
    return numbers.cast(pl.Int64) if fits else numbers.cast(pl.String)


def _moments(cells: pl.Series, earliest: datetime) -> pl.Series:
    first = cells.min()
    early = first is not None and cells.dtype == pl.Date and first < earliest.date()  # type: ignore[operator]
    if isinstance(cells.dtype, pl.Datetime):
        zoned = cells.dtype.time_zone is not None
        fine = bool((cells.dt.truncate("1ms") != cells).any())
        if zoned or fine or (first is not None and first < earliest):  # type: ignore[operator]
            return cells.cast(pl.String)
    return cells.cast(pl.String) if early else cells
