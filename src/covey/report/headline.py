"""The headline of a release: the first line of its report, wherever the report is shown.

It names what was counted, and whatever makes the promise weaker than it sounds. Terminal, pages,
notebooks and files take text and level from here, and have no wording of their own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from covey.errors import count, percent
from covey.inspection.persons import Counted
from covey.verification import Verdict
from covey.verification.class_counts import TOLERANCE

Level = Literal["good", "warning", "bad"]
_LEVELS: tuple[Level, ...] = ("good", "warning", "bad")  # each worse than the one before
SIGNS: dict[Level, str] = {"good": "✓", "warning": "!", "bad": "✗"}


@dataclass(frozen=True)
class Clause:
    """What belongs beside the promise, because it limits the promise.

    `scope` says what the verification covers, if that is less than a reader expects, such as
    "for the columns called quasi".
    """

    text: str
    level: Level = "warning"
    first: bool = False  # before the promise
    scope: str = ""


@dataclass(frozen=True)
class Headline:
    """The verdict in one line, and the level that decides its colour."""

    level: Level
    state: str
    clauses: tuple[str, ...]

    @classmethod
    def of(
        cls, verdict: Verdict, counted: Counted | None = None, clauses: Sequence[Clause] = ()
    ) -> "Headline":
        """The headline for a verdict; `counted` is None if it is unknown how many people there are.

        Only a table that meets its requirements has a promise, and clauses that limit it.
        """
        if verdict.broken:
            return cls(
                "bad", "the requirements do not hold", ("do not publish this table as it is",)
            )
        if not verdict.holds:
            unknown = "this table alone does not show whether the requirements hold"
            return cls("warning", "the requirements could not all be checked", (unknown,))
        limits = [*_risk(verdict), *clauses]
        before = [clause.text for clause in limits if clause.first]
        after = [clause.text for clause in limits if not clause.first]
        scopes = dict.fromkeys(clause.scope for clause in limits if clause.scope)
        return cls(
            max((clause.level for clause in limits), key=_LEVELS.index, default="good"),
            " ".join(["verified", " and ".join(scopes)]).strip(),
            (*before, _promise(verdict, counted), *after),
        )

    @property
    def text(self) -> str:
        """The promise and what limits it, without the state and without a full stop."""
        return "; ".join(self.clauses)

    def __str__(self) -> str:
        return f"{self.state}: {self.text}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the JSON report has them."""
        return {"level": self.level, "text": str(self)}


def _promise(verdict: Verdict, counted: Counted | None) -> str:
    """What each person or row can rely on, and what was counted."""
    sizes = verdict.class_sizes
    promises = [
        f"{size.requirement.promise} ({_counted(size.requirement.column, verdict.rows, counted)})"
        if size.requirement.column or len(sizes) == 1
        else size.requirement.promise
        for size in sizes
    ]
    others = [one.requirement for one in verdict.checks if one not in sizes]
    return " and ".join([*promises, *(one.promise for one in others if one.promise)])


def _counted(person: str | None, rows: int, counted: Counted | None) -> str:
    if person is None:
        return count(rows, "row")
    return str(counted) if counted is not None and counted.column == person else person


def _risk(verdict: Verdict) -> Iterable[Clause]:
    """The highest risk, if it is above twice what k people in a class make a reader expect."""
    found = verdict.risks.prosecutor
    k = max((c.asked for c in verdict.class_sizes if c.requirement.column), default=0)
    if k and found is not None and found > 2 / k + TOLERANCE:
        yield Clause(
            f"someone who knows a person picks one of their rows with a chance of up to "
            f"{percent(found)}, since one person may have most rows of a class (with limit_share: "
            f"at most {percent(1 / k)})",
            first=True,
        )
