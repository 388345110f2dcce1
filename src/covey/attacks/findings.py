"""What attackers found: rates under the names of the criteria, remedies, and what was not tried."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

from covey.attacks.knowledge import Attacker
from covey.attacks.rates import Rate
from covey.attacks.remedies import Remedy, remedies_for
from covey.errors import UsageError, ViolationError, percent
from covey.report.writing import Writable
from covey.schema import Schema
from covey.verification.rounding import rounded

Criterion = Literal[
    "singling out", "linkability", "inference", "membership", "tightness", "refinement"
]

# Article 29 Working Party, opinion 05/2014 (WP 216), and what it does not name.
MEANINGS: dict[Criterion, str] = {
    "singling out": "fewer than k released rows fit the person",
    "linkability": "the attacker picks the person's own row",
    "inference": "the attacker guesses the person's value of a sensitive column",
    "membership": "the attacker sees whether the person is in the table",
    "tightness": "the attacker guesses that the person's exact value is an end of the interval",
    "refinement": "the attacker discards values that another class would hold; the true ones stay",
}


@dataclass(frozen=True)
class Finding:
    """What one attacker reaches under one criterion, and what helps against it."""

    criterion: Criterion
    attacker: Attacker
    rate: Rate
    about: str | None = None  # the column that is guessed
    unaware: float | None = None  # the rate of who does not know that the person is in the table
    remedies: tuple[Remedy, ...] = ()

    @property
    def goal(self) -> str:
        """What the attacker is after."""
        return f"{self.criterion} of {self.about}" if self.about else self.criterion

    @property
    def name(self) -> str:
        """The attack in a few words."""
        return f"{self.goal} by {self.attacker.name}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, rounded."""
        shown = rounded(self.rate)
        return {
            "criterion": self.criterion,
            "attacker": self.attacker.to_dict(),
            "about": self.about,
            **{**asdict(shown), "gain": round(shown.rate - shown.chance, 4)},
            "unaware": None if self.unaware is None else round(self.unaware, 4),
            "remedies": [asdict(one) for one in self.remedies],
        }


@dataclass(frozen=True, repr=False)
class Attack(Writable):
    """A record of a motivated-intruder test; for the custodian.

    It says what was tried, on what, and with what success. Whether that is acceptable is for the
    custodian to decide.
    """

    formats: ClassVar[tuple[str, ...]] = (".html", ".json")

    date: str
    k: int
    rows: int  # released
    people: int  # rows of the original
    sha256: str | None  # of the release; None if it is no file
    data: tuple[str, ...]  # what the attackers were given
    findings: tuple[Finding, ...]  # the worst first; those by columns that others may know lead
    untried: tuple[tuple[str, str], ...] = ()  # what was not tried, and why
    doubts: tuple[str, ...] = ()  # whether this is the original: if not, the rates say nothing

    def __repr__(self) -> str:
        worst = self.worst
        found = f", worst {worst.name}: {percent(worst.rate.rate)}" if worst else ""
        return f"Attack({len(self.findings):,} findings on {self.rows:,} rows{found})"

    @cached_property
    def worst(self) -> Finding | None:
        """The finding with the highest gain of an attacker who knows what others may know."""
        return next(iter(self.findings), None)

    @property
    def undeclared(self) -> tuple[str, ...]:
        """The columns that others may know, are not called quasi, and single people out.

        Of columns that do so together with others that do so without them, none is named.
        """
        found = [f.attacker.undeclared for f in self._singling if f.attacker.is_likely]
        least = (
            one for one in found if one and not any({*less} < {*one} for less in found if less)
        )
        return tuple(dict.fromkeys(name for one in least for name in one))

    @property
    def unlikely(self) -> tuple[str, ...]:
        """The columns that single people out alone, and that covey thinks nobody knows."""
        apart = (f.attacker for f in self._singling if not f.attacker.is_likely)
        return tuple(one.columns[0] for one in apart if len(one.columns) == 1)

    @property
    def _singling(self) -> list[Finding]:
        return [one for one in self.of("singling out") if one.rate.rate]

    def of(self, criterion: Criterion) -> list[Finding]:
        """The findings under a criterion, the worst first."""
        return [one for one in self.findings if one.criterion == criterion]

    def summary(self) -> list[Finding]:
        """The worst finding under each criterion and for each column that is guessed."""
        first: dict[tuple[str, str | None], Finding] = {}
        for one in self.findings:
            first.setdefault((one.criterion, one.about), one)
        return [*first.values()]

    def above(self, at_most: float) -> list[Finding]:
        """The findings by what others may know whose gain over chance is above this share."""
        return [one for one in self.findings if one.attacker.is_likely and one.rate.gain > at_most]

    def raise_if_above(self, at_most: float) -> None:
        """Raise an error that names the worst attack above this share, or why no rate is sure."""
        if not 0 <= at_most <= 1:
            raise UsageError("a limit is a share from 0 to 1, such as 0.1")
        if self.doubts:
            raise ViolationError(f"the rates cannot be relied on: {self.doubts[0]}")
        if above := self.above(at_most):
            first = above[0]
            more = f", and {len(above) - 1:,} more" if above[1:] else ""
            raise ViolationError(
                f"{first.name} gains {percent(first.rate.gain)} over chance, above "
                f"{percent(at_most)}{more}"
            )

    def with_remedies(self, schema: Schema) -> "Attack":
        """The same, with what helps against each finding."""
        causes = self.undeclared
        helped = (
            replace(f, remedies=remedies_for(f, schema, self.k, causes)) for f in self.findings
        )
        return replace(self, findings=tuple(helped))

    def remedies(self) -> Iterator[Remedy]:
        """All remedies, each once, those against the worst findings first."""
        yield from dict.fromkeys(each for one in self.findings for each in one.remedies)

    def to_html(self) -> str:
        """The record as a web page, to print and to sign."""
        from covey.attacks.page import page

        return page(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return {
            "what": "record of a motivated-intruder test (ICO), for the custodian",
            "criteria": MEANINGS,
            "date": self.date,
            "release": {"sha256": self.sha256, "rows": self.rows, "k": self.k},
            "original": {"rows": self.people},
            "data": [*self.data],
            "findings": [one.to_dict() for one in self.findings],
            "undeclared": [*self.undeclared],
            "unlikely": [*self.unlikely],
            "doubts": [*self.doubts],
            "untried": [{"what": what, "why": why} for what, why in self.untried],
        }


def ordered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """What others may know first, and of these the highest gains."""
    return tuple(sorted(findings, key=lambda one: (not one.attacker.is_likely, -one.rate.gain)))
