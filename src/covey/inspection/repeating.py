"""Who the people are of a table that is read in batches, or too large to look at every row.

For each column that may number people, all rows of some randomly chosen values are kept. If these
people have several rows, so have the others. A small table is kept as a whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from covey.inspection.persons import (
    ROW,
    Doubts,
    Evidence,
    considered,
    declared,
    dropped_numbers,
    evidence,
    likelihood,
    refuse_repeats,
)
from covey.schema import Schema
from covey.schema.requirements import Requirement
from covey.tables import Table
from covey.tables.csv_files import Dialect
from covey.tables.formats.arrow import fresh

MOST = 50_000  # rows that are kept for each column
_HASH = "\0hash"
_NO_LIMIT = 2**64


@dataclass(frozen=True, eq=False, repr=False)
class Repeating:
    """For each column, the rows whose value has a hash below a limit; by ROW, some of all rows."""

    rows: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, table: Table, schema: Schema, limits: Mapping[str, int] | None = None
    ) -> "Repeating":
        """The rows of a batch; those above known `limits` are not needed."""
        numbers, lasting = (
            [name for name in names if name in table.frame.columns] for names in considered(schema)
        )
        if not (numbers or lasting):
            return cls()
        hashed = table.frame.hash_rows(seed=17).alias(ROW)
        frame, known = table.frame.select(*numbers, *lasting).with_columns(hashed), limits or {}
        found = {n: _lowest(_hashed(frame, n), known.get(n, _NO_LIMIT)) for n in (ROW, *numbers)}
        return cls(*_apart(found))

    def __add__(self, other: "Repeating") -> "Repeating":
        found = {
            name: _lowest(
                pl.concat([rows, other.rows[name]], how="vertical_relaxed"),
                min(self.limits[name], other.limits[name]),
            )
            for name, rows in self.rows.items()
        }
        return Repeating(*_apart(found))

    @property
    def hashes(self) -> dict[str, pl.Series]:
        """For each column, the hashes of its rows."""
        return {name: rows[_HASH] for name, rows in self.rows.items()}

    def found(self, schema: Schema, dialect: Dialect) -> Evidence:
        """What the rows show about people."""
        numbers, _ = considered(schema)
        if self.limits.get(ROW, _NO_LIMIT) == _NO_LIMIT:
            tried: Mapping[str, str | None] = {ROW: None} if self.rows else {}
        else:
            tried = {name: name for name in self.rows if name != ROW}
        found = [
            evidence(Table(self.rows[name].drop(_HASH), dialect), numbers, schema.table, only=only)
            for name, only in tried.items()
        ]
        return found[0] if len(found) == 1 else _joined(found)


def _joined(found: Sequence[Evidence]) -> Evidence:
    """What several samples show. Their candidates cannot be compared, so several are a question."""
    candidates = tuple(one for each in found for one in each.candidates)
    clear = found[0].person if len(candidates) == len(found) == 1 else None
    together = next((each.together for each in found if each.together), None)
    doubtful = dict.fromkeys(name for each in found for name in each.doubtful)
    return Evidence(tuple(sorted(candidates, key=likelihood)), clear, together, tuple(doubtful))


def with_dropped(table: Table, read: Table, schema: Schema) -> Table:
    """The table with its dropped columns whose names say that they number people."""
    names = [n for n in dropped_numbers(schema) if n in read.frame.columns]
    return replace(table, frame=table.frame.with_columns(read.frame.select(names)))


def refuse_unsaid(table: Table, schema: Schema, requirements: Sequence[Requirement]) -> Doubts:
    """Refuse to count rows if people repeat, unless the request says so; return the doubts."""
    if any(declared(requirements)):
        return Doubts()
    found = Repeating.of(table, schema).found(schema, table.dialect)
    return refuse_repeats(found, requirements)


def _hashed(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    # A missing cell names no one, and there may be many.
    named = frame.filter(pl.col(name).is_not_null())
    return named.with_columns(pl.col(name).hash(seed=17).alias(_HASH))


def _apart(
    found: Mapping[str, tuple[pl.DataFrame, int]],
) -> tuple[dict[str, pl.DataFrame], dict[str, int]]:
    return {n: rows for n, (rows, _) in found.items()}, {n: at for n, (_, at) in found.items()}


def _lowest(rows: pl.DataFrame, limit: int) -> tuple[pl.DataFrame, int]:
    """All rows below a limit, as many as may be kept; never only some rows of a value."""
    some = rows if limit == _NO_LIMIT else rows.filter(pl.col(_HASH) < limit)
    if some.height > MOST:
        limit = int(some[_HASH].sort()[MOST])
        some = some.filter(pl.col(_HASH) < limit)
    # In new memory: texts would keep those of all other rows that they were read with.
    return (some if some.height == rows.height else fresh(some)), limit
