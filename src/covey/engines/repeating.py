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
_NO_LIMIT = 2**64


@dataclass(frozen=True, eq=False, repr=False)
class Repeating:
    """For each identifier, the rows whose value has a hash below a limit."""

    rows: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, table: Table, identifiers: Sequence[str], limits: Mapping[str, int] | None = None
    ) -> "Repeating":
        """The rows of a batch; those above known `limits` are not needed."""
        present = [name for name in identifiers if name in table.frame.columns]
        frame, known = table.frame.select(present), limits or {}
        found = {n: _lowest(_hashed(frame, n), known.get(n, _NO_LIMIT)) for n in present}
        return cls(
            {n: rows for n, (rows, _) in found.items()}, {n: at for n, (_, at) in found.items()}
        )

    def __add__(self, other: "Repeating") -> "Repeating":
        found = {
            name: _lowest(
                pl.concat([rows, other.rows[name]], how="vertical_relaxed"),
                min(self.limits[name], other.limits[name]),
            )
            for name, rows in self.rows.items()
        }
        return Repeating(
            {n: rows for n, (rows, _) in found.items()}, {n: at for n, (_, at) in found.items()}
        )

    @property
    def hashes(self) -> dict[str, pl.Series]:
        """For each identifier, the hashes of its rows."""
        return {name: rows[_HASH] for name, rows in self.rows.items()}

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


def _lowest(rows: pl.DataFrame, limit: int) -> tuple[pl.DataFrame, int]:
    """All rows below a limit, as many as may be kept; never only some rows of a value."""
    some = rows if limit == _NO_LIMIT else rows.filter(pl.col(_HASH) < limit)
    if some.height > MOST:
        limit = int(some[_HASH].sort()[MOST])
        some = some.filter(pl.col(_HASH) < limit)
    # In new memory: texts would keep those of all other rows that they were read with.
    return (some if some.height == rows.height else fresh(some)), limit
