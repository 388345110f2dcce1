"""The original's cells as the schema says to read them, before anything else sees them.

Labels are normalised and recoded. Values that mean missing, and cells that are no number or date
where the schema allows that, become missing. What was changed is counted, never quoted. A release
is never mended: it is judged as written.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey.schema import Column, ColumnType, Role, Schema
from covey.schema.labels import normalised
from covey.tables.cells import as_days, as_numbers, has_times
from covey.tables.csv_files import Dialect


@dataclass(frozen=True, eq=False)
class Mended:
    """The rows whose cell in a column was read differently from what is written."""

    column: str
    how: str
    rows: NDArray[np.bool_] = field(repr=False)

    def note(self, released: NDArray[np.int64], least: int) -> str | None:
        """The fact for a report, by the released rows only; no number below `least`."""
        return note(self.column, self.how, int(self.rows[released].sum()), least)


def note(column: str, how: str, cells: int, least: int) -> str | None:
    """How many released cells were mended; counts below `least` are left out."""
    number = f"{cells:,}" if cells >= least else f"fewer than {least:,}"
    return f"column {column!r}: {number} cells {how}" if cells else None


def mended(
    frame: pl.DataFrame, dialect: Dialect, schema: Schema
) -> tuple[pl.DataFrame, tuple[Mended, ...]]:
    """The frame as the schema reads it, and what was changed."""
    changed: list[pl.Series] = []
    mendings: list[Mended] = []
    for name, column in schema.columns.items():
        if name not in frame.columns or column.is_removed:
            continue
        cells = _labelled(frame[name], column)
        missing = tuple(_missing(cells, column, dialect))
        for mask, _ in missing:
            cells = pl.select(pl.when(~mask).then(cells).alias(name)).to_series()
        mendings += [Mended(name, how, mask.to_numpy()) for mask, how in missing if mask.any()]
        mendings += _cut(cells, name, column)
        if cells is not frame[name]:
            changed.append(cells)
    return (frame.with_columns(changed) if changed else frame), tuple(mendings)


def _labelled(cells: pl.Series, column: Column) -> pl.Series:
    cells = normalised(cells, column.normalise) if column.normalise else cells
    if column.recode and (cells.dtype == pl.String or cells.dtype.is_integer()):
        text = cells.cast(pl.String)  # codes of surveys are whole numbers
        return text.replace(list(column.recode), list(column.recode.values()))
    return cells


def _missing(cells: pl.Series, column: Column, dialect: Dialect) -> Iterator[tuple[pl.Series, str]]:
    """The cells to be read as missing, and why."""
    is_changed = column.missing_values or column.unreadable == "missing"
    values = _values(cells, column, dialect) if is_changed and column.is_ordered else None
    if column.missing_values:
        yield _is_listed(cells, values, column, dialect), "hold a value that means missing"
    if column.unreadable == "missing" and values is not None:
        what = "date" if column.type is ColumnType.DATE else "number"
        known = cells.fill_nan(None) if cells.dtype.is_float() else cells
        odd = values.is_null() & known.is_not_null()
        if cells.dtype == pl.String:
            odd &= ~cells.is_in(list(dialect.missing))
        yield odd, f"are no {what} and count as missing"


def _is_listed(
    cells: pl.Series, values: pl.Series | None, column: Column, dialect: Dialect
) -> pl.Series:
    """Whether a cell is one of the missing values: by what it means, or as it is written."""
    listed = pl.Series(map(str, column.missing_values or ()), dtype=pl.String)
    text = cells.cast(pl.String).str.strip_chars(" ")
    found = text.is_in(listed.implode())
    if values is not None:
        # The schema writes numbers with a point and dates as ISO, or like the column.
        meant = [_values(listed, column, written) for written in (dialect, Dialect())]
        if column.type is ColumnType.DATE:
            meant.append(as_days(listed, None))
        found |= values.is_in(pl.concat(meant).drop_nulls().implode())
    return found.fill_null(value=False)


def _values(cells: pl.Series, column: Column, dialect: Dialect) -> pl.Series:
    read = (
        partial(as_days, written=column.format)
        if column.type is ColumnType.DATE
        else partial(as_numbers, dialect=dialect)
    )
    return read(cells)


def _cut(cells: pl.Series, name: str, column: Column) -> Iterator[Mended]:
    """What is no longer shown of timestamps."""
    if column.role is not Role.QUASI or column.type is not ColumnType.DATE:
        return
    timed = has_times(cells, column.format)
    if timed.any():
        kept = "hour" if column.grid == "hour" else "day"
        yield Mended(name, f"have a time of day, which is cut to the {kept}", timed.to_numpy())
