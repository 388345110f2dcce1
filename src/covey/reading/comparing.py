"""An original and tables drawn from its release, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from covey import tables
from covey.errors import UsageError, count
from covey.measures.utility import FEWEST, UseFigures, Utility, of_uses, read
from covey.measures.utility import utility as of_frames
from covey.reading.released import ReleasedTable, plain, read_release
from covey.schema import ColumnType, Role, Schema
from covey.schema.uses import Use
from covey.tables import Table
from covey.tables.cells import parse_dates, parse_numbers


def utility(
    original: Any,
    released: ReleasedTable,
    *,
    uses: Sequence[str] = (),
    draws: int = 5,
    seed: int = 0,
    fewest: int = FEWEST,
) -> Utility:
    """Measure what a release is good for: its joint distributions, means, and declared uses.

    These are the uses in the schema, and `uses` besides. A use is a text such as "mean of age by
    sex"; `covey.schema.uses` has the grammar. All of it is computed on tables drawn from the
    release, as a recipient draws them. No figure is that of fewer than `fewest` rows.
    """
    if draws < 2:
        raise UsageError("two draws or more show how much is unknown")
    before = _original(tables.original(original, released.schema, Role.QUASI), released.schema)
    after = [_alike(frame, before) for frame in released.drawn(draws, seed)]
    if not before.height or not after[0].height:
        raise UsageError("one of the tables has no rows")
    declared = dict.fromkeys([*released.schema.uses, *uses])
    return of_frames(before, after, [*declared], seed, fewest)


@dataclass(frozen=True, eq=False, repr=False)
class DeclaredUses:
    """The declared uses of a table, to be measured on one release of it after another."""

    original: pl.DataFrame
    schema: Schema
    uses: tuple[Use, ...]

    @classmethod
    def of(cls, table: Table, schema: Schema) -> "DeclaredUses":
        """Read the columns of the original."""
        before = _original(table, schema)
        return cls(before, schema, tuple(read(schema.uses, before)))

    def measured(self, released: Table, draws: int = 5) -> tuple[UseFigures, ...]:
        """Their figures on the original and on tables drawn from a release."""
        drawn = read_release(released, schema=self.schema).drawn(draws, seed=0)
        after = [_alike(frame, self.original) for frame in drawn]
        return of_uses(self.original, after, self.uses)


def utility_reported(original: Any, released: Table, schema: Schema, least: int) -> Utility:
    """The same as reports say it: no figure of the original, nor of fewer than `least` rows."""
    reader = read_release(released, schema=schema)
    return utility(original, reader, fewest=max(FEWEST, least)).published()


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
