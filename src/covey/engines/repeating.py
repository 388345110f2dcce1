"""Whether people repeat in a table that is read in batches.

For each identifier, all rows of some randomly chosen values are kept. If these people have several
rows, so have the others. A small table is kept as a whole, and judged as in memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from covey.inspection.persons import Repeats, repeats
from covey.schema import Schema
from covey.tables import Table
from covey.tables.csv_files import Dialect
from covey.tables.formats.arrow import fresh

MOST = 50_000  # rows that are kept for each identifier
_HASH = "\0hash"


@dataclass(frozen=True, eq=False, repr=False)
class Repeating:
    """For each identifier, the rows whose value has one of the lowest hashes."""

    rows: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, identifiers: Sequence[str]) -> "Repeating":
        """The rows of a batch."""
        present = [name for name in identifiers if name in table.frame.columns]
        frame = table.frame.select(present)
        return cls({name: _lowest([_hashed(frame, name)]) for name in present})

    def __add__(self, other: "Repeating") -> "Repeating":
        return Repeating({n: _lowest([rows, other.rows[n]]) for n, rows in self.rows.items()})

    def found(self, schema: Schema, dialect: Dialect) -> Repeats | None:
        """The identifiers that show most clearly that people repeat."""
        every = [
            again
            for rows in self.rows.values()
            if (again := repeats(Table(rows.drop(_HASH), dialect), list(self.rows), schema.table))
        ]
        return min(every, key=lambda again: (again.by_chance, again.persons), default=None)


def _hashed(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    # A missing cell names no one, and there may be many.
    named = frame.filter(pl.col(name).is_not_null())
    return named.with_columns(pl.col(name).hash(seed=17).alias(_HASH))


def _lowest(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """All rows up to a hash, as many as may be kept; never only some rows of a value."""
    rows = pl.concat(frames, how="vertical_relaxed")
    if rows.height <= MOST:
        return rows
    limit = rows[_HASH].sort()[MOST]
    # In new memory: texts would keep those of all other rows that they were read with.
    return fresh(rows.filter(pl.col(_HASH) < limit))
