"""The verdict on a released table: what was asked, what was found, and whether it holds."""

from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any

from covey import html as pages
from covey.errors import ViolationError, count, percent
from covey.schema.requirements import Model, NoIdentifiers
from covey.verification import rounding as digits
from covey.verification.class_counts import TOLERANCE
from covey.verification.sensitive import Achieved

VERDICT_HEAD = ("requirement", "asked", "found", "holds")


@dataclass(frozen=True)
class Check:
    """The check of one requirement: what was asked, and what the table achieves.

    `achieved` is None if no number holds, or if it is unknown; then `reason` says why. `reason` may
    also carry a warning about a requirement that holds. There are three states: the requirement
    `holds`; it was judged and does not hold; or it could not be `judged`. In the last case `holds`
    is false, but the requirement is not known to be violated.
    """

    requirement: Model
    achieved: float | None
    holds: bool
    reason: str = ""
    judged: bool = True

    @property
    def name(self) -> str:
        """The name of the requirement."""
        return self.requirement.name

    @property
    def asked(self) -> float:
        """The required number, to compare with the achieved one."""
        number = self.requirement.required
        return float(number) if isinstance(number, Fraction) else number

    @property
    def found(self) -> str:
        """The achieved number as text."""
        return "–" if self.achieved is None else f"{self.achieved:g}"

    @property
    def answer(self) -> str:
        """Whether it holds: "yes", "no" or "not judged"."""
        return "yes" if self.holds else "no" if self.judged else "not judged"

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the requirement by its name only, since it may list cell values."""
        return {"requirement": self.name, "asked": self.asked} | {
            each.name: getattr(self, each.name) for each in fields(self)[1:]
        }

    @property
    def _complaint(self) -> str:
        if not self.judged:
            return f"{self.name} could not be judged: {self.reason}"
        found = f"but {self.reason}" if self.achieved is None else f"found {self.achieved:g}"
        return f"{self.name} does not hold: asked {self.asked:g}, {found}"


@dataclass(frozen=True)
class Risks:
    """The risk of re-identification, if the rows of a class are indistinguishable.

    The prosecutor knows that their target is in the table. The journalist wants to find any one
    person, and knows the whole population. The marketer wants to find as many people as possible,
    and is right about this share. Without a population, the people of the table are taken as the
    population.

    Each row is assumed to be a different person. If persons are counted, someone with several rows
    in a class is found by any of them. A figure is None if it is unknown: all figures without the
    person column, and those against a population, which does not say which rows belong to the same
    person.
    """

    prosecutor: float | None  # the highest risk of a row
    prosecutor_average: float | None  # over all rows
    journalist: float | None
    marketer: float | None
    population: int | None = None  # rows
    uncovered: int = 0  # classes that match fewer people of the population than they have rows
    person: str | None = None  # the person column, if persons are counted

    def rows(self) -> list[tuple[str, float, str]]:
        """Each attacker, their chance if it is known, and what they know and want."""
        theirs = "their row" if self.person is None else "one of their rows"
        return [
            (who, risk, how)
            for who, risk, how in (
                ("prosecutor, at most", self.prosecutor,
                 "Knows that a person is in the table, and the person's quasi-identifiers. This is "
                 f"the chance to pick {theirs}, for the person most at risk."),
                ("prosecutor, on average", self.prosecutor_average,
                 "The same, on average over all released rows."),
                ("journalist, at most", self.journalist,
                 "Wants to find any one person, to show that it is possible, among everyone who "
                 "may be in the table."),
                ("marketer", self.marketer,
                 "Guesses the person of every row, and is right for at most this share of them."),
            )
            if risk is not None
        ]  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """Whether a table meets its requirements, and what it achieves.

    `k` counts a missing cell as a value of its own. This is the stricter reading: what holds by it
    also holds by the other. `k_wildcard` lets a missing cell match any value; it is None if cells
    are missing in too many patterns to count the matches.
    """

    rows: int
    classes: int
    k: int
    k_wildcard: int | None
    largest_class: int
    identifiers: tuple[str, ...]  # columns to remove that the table still has
    checks: tuple[Check, ...]
    achieved: tuple[Achieved, ...]  # for each sensitive column
    risks: Risks
    unjudged: tuple[str, ...] = ()  # what the table holds beside its columns

    @property
    def lines(self) -> tuple[Check, ...]:
        """The checks of all requirements, and the check that no identifier is left."""
        left = len(self.identifiers)
        return (*self.checks, Check(NoIdentifiers(), left, holds=not left))

    @property
    def holds(self) -> bool:
        """Whether every requirement was judged and holds, and no identifier is left."""
        return all(check.holds for check in self.lines)

    @property
    def broken(self) -> bool:
        """Whether a check was judged and does not hold."""
        return any(check.judged and not check.holds for check in self.lines)

    @property
    def alike(self) -> bool:
        """Whether the requirements guarantee classes of equal rows."""
        return all(check.requirement.alike for check in self.checks)

    @property
    def sizes(self) -> str:
        """The number of classes and their sizes, as text."""
        size = count(self.largest_class, "row")
        if self.largest_class > self.k:
            size = f"{self.k:,} to {size}"
        return f"{count(self.classes, 'class', 'classes')} of {size}"

    @property
    def class_sizes(self) -> list[Check]:
        """The checks of class sizes: in rows, in persons, or in both."""
        sizes = [check for check in self.checks if check.requirement.counted]
        # The largest of several of one name includes the others.
        return list({c.name: c for c in sorted(sizes, key=lambda c: c.asked)}.values())

    @property
    def risk(self) -> str:
        """The highest risk in a sentence, and why it is higher than 1 in k; empty if unknown."""
        if self.risks.prosecutor is None or not self.alike:
            return ""
        why = f" ({self.why_higher})" if self.why_higher else ""
        return f"highest risk of re-identification: {percent(self.risks.prosecutor)}{why}"

    @property
    def why_higher(self) -> str:
        """Why the highest risk is higher than 1 in k, if it is."""
        found = [check.achieved for check in self.class_sizes if check.achieved is not None]
        if self.risks.prosecutor is None or not found or not self.alike:
            return ""
        most = max(found)  # the one that the risk is compared with, if rows and persons count
        if self.risks.prosecutor <= 1 / max(most, 1) + TOLERANCE:
            return ""
        return (
            f"more than 1 in {most:,.0f}, since a person with several rows of a class is found by "
            "any of them"
        )

    def complaints(self, *, judged: bool = False) -> list[str]:
        """Describe all that does not hold, or only what was judged."""
        wrong = [c._complaint for c in self.checks if not c.holds and (c.judged or not judged)]
        if self.identifiers:
            names = ", ".join(map(repr, self.identifiers))
            columns = count(len(self.identifiers), "column")
            wrong.append(f"the table still has {columns} that must be removed: {names}")
        return wrong

    def raise_if_violated(self) -> None:
        """Raise `ViolationError` unless everything was judged and holds.

        covey calls this before it writes a release.
        """
        _raise(self.complaints())

    def raise_if_broken(self) -> None:
        """Raise `ViolationError` if something does not hold, but not if it could not be judged.

        `covey verify` uses this for a release without the person column.
        """
        _raise(self.complaints(judged=True))

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists. If neither `holds` nor `broken`, a check was not judged.

        Risks are rounded as shown, since those of persons cannot be computed from the table alone.
        Anyone can compute all other figures from the table.
        """
        return {
            "holds": self.holds,
            "broken": self.broken,
            **{name: found for name, found in asdict(self).items() if name != "unjudged"},
            "checks": [check.to_dict() for check in self.checks],
            "risks": asdict(digits.rounded(self.risks)),
        } | ({"unjudged": [*self.unjudged]} if self.unjudged else {})

    def table(self, *, explained: bool = False) -> pages.Html:
        """An HTML table of each requirement, what was found, and whether it holds."""
        rows = [
            (
                pages.explained(check.name, check.requirement.meaning, check.reason)
                if explained
                else check.name,
                f"{check.asked:g}",
                check.found,
                pages.element("span", check.answer, class_=check.answer.partition(" ")[0]),
            )
            for check in self.lines
        ]
        return pages.table(VERDICT_HEAD, rows, numbers=(1, 2))

    def _repr_html_(self) -> str:
        state = "hold" if self.holds else "do not hold" if self.broken else "could not be judged"
        return pages.snippet(
            f"The requirements {state}",
            self.table(),
            pages.element("p", f"{count(self.rows, 'row')} in {self.sizes}"),
            pages.element("p", self.risk) if self.risk else None,
        )


def _raise(complaints: list[str]) -> None:
    if complaints:
        raise ViolationError("; ".join(complaints))
