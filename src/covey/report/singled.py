"""Who can be singled out by the columns that a release shows as they are.

A verdict is about the columns called quasi, and no stronger than the roles. So the other columns
are tried as an outsider would, and what they single out is said with the verdict.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from covey.errors import count
from covey.inspection.known import KeptColumn, kept_columns
from covey.measures.singling import Attempt
from covey.report.carried import Carried
from covey.report.headline import Clause
from covey.schema import Role, Schema

_MOST_LISTED = 12  # attempts in a report
_MOST_NAMED = 5  # columns in a sentence, and points about single columns
_SCOPE = "for the columns called quasi"


@dataclass(frozen=True)
class SingledOut:
    """What was tried, what it singles out, and which roles nobody has confirmed."""

    columns: tuple[KeptColumn, ...]
    attempts: tuple[Attempt, ...]  # by columns that others may know; the worst one first
    apart: tuple[Attempt, ...]  # by columns that nobody knows beforehand, each alone
    accepted: str | None = None  # why roles in doubt are right, in the custodian's words

    @classmethod
    def of(cls, carried: Carried, schema: Schema, k: int, *, alike: bool) -> "SingledOut":
        """From what was counted; without classes, if rows that are `alike` form none."""
        columns = kept_columns(carried.some, schema)
        known = {one.name for one in columns if one.known}
        found = carried.tries.attempts(k)
        tried = [a for a in found if known.issuperset(a.columns) and (alike or not a.classes)]
        apart = [a for a in found if len(a.columns) == 1 and not a.classes and a not in tried]
        return cls(tuple(columns), tuple(tried), tuple(a for a in apart if a.rows))

    @property
    def doubted(self) -> tuple[KeptColumn, ...]:
        """The columns that covey would call otherwise, and whose role nobody has confirmed."""
        return tuple(one for one in self.columns if one.is_in_doubt and one.confirmed is None)

    @property
    def confirmed(self) -> tuple[KeptColumn, ...]:
        """The columns of which the custodian says why nobody else knows them."""
        return tuple(one for one in self.columns if one.confirmed is not None)

    @property
    def worst(self) -> Attempt | None:
        """The attempt that singles out most rows by columns that nobody has confirmed."""
        return self._worst(self._confirmed)

    @property
    def assumed(self) -> Attempt | None:
        """The attempt that singles out most rows if what was confirmed should be wrong."""
        found = self._worst(set())
        return None if found == self.worst else found

    @property
    def _confirmed(self) -> set[str]:
        return {one.name for one in self.confirmed}

    def _worst(self, without: set[str]) -> Attempt | None:
        found = (a for a in self.attempts if a.rows and without.isdisjoint(a.columns))
        return next(found, None)

    def _few(self) -> str | None:
        """Rows that fewer than k rows fit, if no row can be singled out."""
        without = self._confirmed
        alone = (a for a in self.attempts if not a.classes and without.isdisjoint(a.columns))
        most = max(alone, key=lambda attempt: attempt.few, default=None)
        if self.worst is not None or most is None or not most.few:
            return None
        return f"{_number(most, most.few)} can be told from all but a few others by {by(most)}"

    def accepting(self, reason: str | None) -> "SingledOut":
        """The same, with roles in doubt accepted for this reason; what rows reveal stays."""
        return replace(self, accepted=reason)

    def clauses(self) -> Iterator[Clause]:
        """What limits the promise: it is no stronger than the roles."""
        worst = self.worst
        if worst is not None:
            yield Clause(_finding(worst), scope=_SCOPE)
        others = [
            one.name
            for one in self.doubted
            if one.known or one.proposed is Role.IDENTIFIER
            if worst is None or one.name not in worst.columns
        ]
        if others and self.accepted is None:
            yield Clause(f"nobody has confirmed that others do not know {_listed(others)}")
        if self.assumed is not None:
            revealing = {name for a in self.attempts if a.rows for name in a.columns}
            names = [one.name for one in self.confirmed if one.name in revealing]
            yield Clause(
                f"provided that nobody outside knows {_listed(names)}, as confirmed", "good"
            )

    def points(self) -> Iterator[str]:
        """What the custodian should decide before the release is published."""
        if worst := self.worst:
            yield f"{_finding(worst)}. {_WAYS_OUT}"
        if few := self._few():
            yield f"{few}: fewer than k rows fit. {_WAYS_OUT}"
        for one in self.doubted[:_MOST_NAMED]:
            doubt = (
                f"column {one.name!r} is called {one.role}, and covey would call it "
                f"{one.proposed} ({one.reason})"
            )
            yield f"{doubt}: accepted, {self.accepted}" if self.accepted else f"{doubt}: {_CONFIRM}"
        if more := len(self.doubted[_MOST_NAMED:]):
            yield f"covey would call {count(more, 'more column')} otherwise than you: {_SEE}"
        for one in self.confirmed:
            yield f"column {one.name!r} is {one.role}, as confirmed: {one.confirmed}"

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return {
            "columns": [
                {**asdict(one), "role": one.role.value, "proposed": one.proposed.value}
                for one in self.columns
            ],
            "attempts": [asdict(one) for one in self.attempts[:_MOST_LISTED]],
            "apart": [asdict(one) for one in self.apart],
            "accepted": self.accepted,
        }


_CONFIRM = 'if nobody outside knows its values, say why (confirmed = "…" in the schema)'
_SEE = "the report lists them"
_WAYS_OUT = (
    "If others may know these columns, give them the role quasi; if nobody does, say why "
    '(confirmed = "…" in the schema)'
)


def _finding(attempt: Attempt) -> str:
    """What an attempt singles out, and by which columns."""
    return f"{_number(attempt, attempt.rows)} can still be singled out by {by(attempt)}"


def by(attempt: Attempt) -> str:
    """What an attempt knows."""
    besides = " with the quasi-identifiers" if attempt.classes else ""
    return _listed(attempt.columns) + besides


def _listed(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMED:
        names = [*names[: _MOST_NAMED - 1], f"{len(names) - _MOST_NAMED + 1:,} more"]
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _number(attempt: Attempt, rows: int) -> str:
    return f"about {count(rows, 'row')}" if attempt.sampled else count(rows, "row")
