"""What others may know of the columns that a release shows as they are, whatever their role says.

The promise of a release is about the columns called quasi. Every insensitive column may be known as
well, and so may a sensitive one that looks like a date, a place, a number of things or an
occupation. Measurements and amounts are known to nobody beforehand.

Roles are judged as `inspect` judges them, by a sample of the released rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from covey.inspection import roles, words
from covey.inspection.facts import Facts, look
from covey.schema import Column, Role, Schema
from covey.tables import Table

_MEASURED = frozenset({"measurement", "score", "money", "weighting"})
MOST_LOOKED_AT = 20_000  # rows
MOST_JUDGED = 200  # columns; of others, only the name is read


@dataclass(frozen=True)
class KeptColumn:
    """A column that is released as it is: what it is called, and what covey would call it."""

    name: str
    role: Role
    proposed: Role
    reason: str
    known: bool  # whether others may know its values, so that it is tried
    confirmed: str | None = None  # why nobody else knows it, in the custodian's words

    @property
    def is_in_doubt(self) -> bool:
        """Whether covey would call it otherwise, so that the custodian should confirm its role."""
        open_ = self.role is Role.INSENSITIVE and self.proposed is Role.QUASI
        return self.known or open_ or self.proposed is Role.IDENTIFIER


def kept_columns(table: Table, schema: Schema) -> list[KeptColumn]:
    """The sensitive and insensitive columns of this table."""
    some = table.with_frame(sample(table.frame, schema))
    names = some.frame.columns
    looked = [kept_column(look(some, n), schema.columns[n]) for n in names[:MOST_JUDGED]]
    return [*looked, *(_by_name(n, schema.columns[n]) for n in names[MOST_JUDGED:])]


def _by_name(name: str, column: Column) -> KeptColumn:
    """A column of very many, at which nobody looks."""
    proposed = words.role_of(words.concepts(name)) or Role.QUASI
    known = column.role is Role.INSENSITIVE or proposed is Role.QUASI
    return KeptColumn(name, column.role, proposed, "by its name", known, column.confirmed)


def kept_column(facts: Facts, column: Column) -> KeptColumn:
    """A column that is released as it is, judged by what can be seen of it."""
    judged = roles.judge(facts)
    known = _may_be_known(facts, judged.role, column.role)
    return KeptColumn(facts.name, column.role, *judged, known, column.confirmed)


def _may_be_known(facts: Facts, proposed: Role, role: Role) -> bool:
    """Whether others may know the values of a column beforehand."""
    if proposed is Role.INSENSITIVE:
        return False  # the same in every row
    evident = _is_evidently_known(facts)
    if role is Role.SENSITIVE:
        return evident and proposed is not Role.SENSITIVE
    return evident or proposed is Role.IDENTIFIER or not _is_measured(facts)


def _is_evidently_known(facts: Facts) -> bool:
    """Whether name or content says what others know: when, where, how many, or who."""
    kind = facts.kind
    return (
        facts.is_date
        or facts.is_time
        or bool(facts.concepts & (words.KNOWN | words.DIRECT))
        or (kind is not None and kind.role in (Role.QUASI, Role.IDENTIFIER))
    )


def _is_measured(facts: Facts) -> bool:
    """Whether these are measurements or amounts."""
    if facts.kind is not None and facts.kind.kind in ("sums of money", "numbers with a unit"):
        return True
    return facts.is_numeric and (facts.has_fractions or bool(facts.concepts & _MEASURED))


def to_try(schema: Schema, present: Sequence[str]) -> list[str]:
    """The columns that others may know by role and name, before any cell is looked at."""
    tried = [
        name
        for name in schema.names(Role.INSENSITIVE, Role.SENSITIVE)
        if name in present
        and (
            schema.columns[name].role is Role.INSENSITIVE
            or words.role_of(words.concepts(name)) is not Role.SENSITIVE
        )
    ]
    return tried[:MOST_JUDGED]


def sample(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Some rows of the columns that are released as they are, to judge them by."""
    kept = schema.names(Role.SENSITIVE, Role.INSENSITIVE)
    every = -(-frame.height // MOST_LOOKED_AT) or 1
    return frame.select([name for name in kept if name in frame.columns]).gather_every(every)
