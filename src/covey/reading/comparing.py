"""An original and tables drawn from its release, side by side."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from covey import tables
from covey.errors import UsageError, count
from covey.measures.utility import Utility
from covey.measures.utility import utility as of_frames
from covey.reading.released import ReleasedTable, plain
from covey.schema import ColumnType, Role, Schema
from covey.tables import Table
from covey.tables.cells import parse_dates, parse_numbers


def utility(
    original: Any,
    released: ReleasedTable,
    *,
    uses: Sequence[str] = (),
    draws: int = 5,
    seed: int = 0,
) -> Utility:
    """Measure what a release is good for: its joint distributions, means, and declared uses.

    These are the uses in the schema, and `uses` besides. A use is a text such as "mean of age by
    sex"; `covey.schema.uses` has the grammar. All of it is computed on tables drawn from the
    release, as a recipient draws them.
    """
    if draws < 2:
        raise UsageError("two draws or more show how much is unknown")
    before = _original(tables.original(original, released.schema, Role.QUASI), released.schema)
    after = [_alike(frame, before) for frame in released.drawn(draws, seed)]
    if not before.height or not after[0].height:
        raise UsageError("one of the tables has no rows")
    declared = dict.fromkeys([*released.schema.uses, *uses])
    return of_frames(before, after, [*declared], seed)


def _original(table: Table, schema: Schema) -> pl.DataFrame:
    """The columns of an original that its release shows, as numbers, dates and labels."""
    names = [name for name in table.frame.columns if not schema.columns[name].is_removed]
    with table.locating():
        return pl.DataFrame([_typed(table, name, schema) for name in names])


def _typed(table: Table, name: str, schema: Schema) -> pl.Series:
    cells, column = table.cells(name), schema.columns[name]
    if column.type is ColumnType.NUMERIC:
        return parse_numbers(cells, table.dialect).alias(name)
    if column.type is ColumnType.DATE:
        days = parse_dates(cells, column.format).floor().cast(pl.Int32)
        return days.cast(pl.Date).alias(name)
    read = plain(cells, table.dialect)
    return read if read.dtype.is_numeric() else read.cast(pl.String)


def _alike(drawn: pl.DataFrame, original: pl.DataFrame) -> pl.DataFrame:
    """A drawn table with the columns and types of the original."""
    absent = [name for name in original.columns if name not in drawn.columns]
    if absent:
        raise UsageError(
            f"the release lacks {count(len(absent), 'column')} of the original, first "
            f"{absent[0]!r}: is it a release of this table?"
        )
    types = original.schema.items()
    return drawn.select(pl.col(name).cast(dtype, strict=False) for name, dtype in types)
