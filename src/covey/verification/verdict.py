"""Judges a released table by its cells alone.

It must be able to catch the mistakes of everything that made the table, so it imports none of it:
no encoding, no groups, no clustering, no generalisation, no compiled code. It groups rows by the
cells of their quasi-identifiers, exactly as written, and counts.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from typing import Any

import polars as pl

from covey import tables
from covey.errors import SchemaError, TableError, ViolationError, count
from covey.schema import Role, Schema
from covey.schema.requirements import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    Model,
    NoIdentifiers,
    Requirement,
    SensitiveRequirement,
    TCloseness,
    exactly,
)
from covey.tables import Table
from covey.tables import html as pages
from covey.verification import rounding as digits
from covey.verification.class_counts import TOLERANCE, Spread
from covey.verification.classes import ROWS, Classes, smallest_match
from covey.verification.sensitive import Achieved, SensitiveColumn, rounded

VERDICT_HEAD = ("promise", "asked", "found", "holds")


@dataclass(frozen=True)
class Check:
    """One requirement: what was asked, what the table achieves.

    `achieved` is None where no figure would do, or none can be known; then `reason` says why. It
    may also say what is odd about a requirement that holds. There are three states: it `holds`; it
    was judged and does not hold; or it could not be `judged`, and then it does not hold, but is not
    known to be broken either.
    """

    requirement: Model
    achieved: float | None
    holds: bool
    reason: str = ""
    judged: bool = True

    @property
    def name(self) -> str:
        """What the requirement is called."""
        return self.requirement.name

    @property
    def asked(self) -> float:
        """What was asked, as a number to compare with what is achieved."""
        asked = self.requirement.asked
        return float(asked) if isinstance(asked, Fraction) else asked

    @property
    def found(self) -> str:
        """What the table achieves, in writing."""
        return "–" if self.achieved is None else f"{self.achieved:g}"

    @property
    def answer(self) -> str:
        """Whether it holds, in a word."""
        return "yes" if self.holds else "no" if self.judged else "not judged"

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the requirement by its name, since it may list cells."""
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
    """How likely a person is re-identified, if rows of a class cannot be told apart.

    The prosecutor knows that his victim is in the table. The journalist wants anyone, and knows
    everybody of the population; the marketer wants as many as possible, and is right about this
    share. Where no population was given, the people of the table are all there are.

    Every row is somebody else's, unless persons are counted: then whoever has several rows of a
    class is found by each of them. A figure is None where it cannot be told: all of them without
    the column of persons, and those against a population, in which nobody tells persons apart.
    """

    prosecutor: float | None  # the most that any row is at risk
    prosecutor_average: float | None  # over all rows
    journalist: float | None
    marketer: float | None
    population: int | None = None  # rows
    uncovered: int = 0  # classes that hold fewer of the population than of the table
    person: str | None = None  # the column that tells persons apart, where they are counted

    def rows(self) -> list[tuple[str, float, str]]:
        """Who may try, their chance where it is known, and what they know and want."""
        hers = "her row" if self.person is None else "one of her rows"
        return [
            (who, risk, how)
            for who, risk, how in (
                ("prosecutor, at most", self.prosecutor,
                 "He knows that a person is in the table, and her quasi-identifiers. This is his "
                 f"chance to pick {hers} where that is easiest."),
                ("prosecutor, on average", self.prosecutor_average,
                 "The same, over all rows of the release."),
                ("journalist, at most", self.journalist,
                 "He wants to find anyone at all, to show that it can be done, among everybody who "
                 "may be in the table."),
                ("marketer", self.marketer,
                 "He guesses for everyone, and is right about this share of the rows, at most."),
            )
            if risk is not None
        ]  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """What a table keeps of what was asked.

    `k` counts a missing cell as a value of its own, which is the stricter reading: the promise is
    judged by it and then holds in both. `k_wildcard` lets a missing cell match anything; it is None
    where cells are missing in too many patterns to count that.
    """

    rows: int
    classes: int
    k: int
    k_wildcard: int | None
    largest_class: int
    identifiers: tuple[str, ...]  # columns of that role that the table still has
    checks: tuple[Check, ...]
    achieved: tuple[Achieved, ...]  # by each sensitive column
    risks: Risks

    @property
    def lines(self) -> tuple[Check, ...]:
        """The checks of what was asked and of what every release must keep: no identifiers."""
        left = len(self.identifiers)
        return (*self.checks, Check(NoIdentifiers(), left, holds=not left))

    @property
    def holds(self) -> bool:
        """Whether every requirement was judged and is kept, and no identifier is left."""
        return all(check.holds for check in self.lines)

    @property
    def broken(self) -> bool:
        """Whether something was found that is wrong; what cannot be judged is not."""
        return any(check.judged and not check.holds for check in self.lines)

    @property
    def alike(self) -> bool:
        """Whether the rows of a class are promised to be equal."""
        return all(check.requirement.alike for check in self.checks)

    @property
    def sizes(self) -> str:
        """How many classes there are, and how large they are, in writing."""
        size = count(self.largest_class, "row")
        if self.largest_class > self.k:
            size = f"{self.k:,} to {size}"
        return f"{count(self.classes, 'class', 'classes')} of {size}"

    def complaints(self, *, judged: bool = False) -> list[str]:
        """All that does not hold, or only what was judged and found wrong."""
        wrong = [c._complaint for c in self.checks if not c.holds and (c.judged or not judged)]
        if self.identifiers:
            names = ", ".join(map(repr, self.identifiers))
            wrong.append(f"the table has {count(len(self.identifiers), 'identifier')}: {names}")
        return wrong

    def raise_if_violated(self) -> None:
        """Raise `ViolationError` unless the verdict holds: also for what could not be judged.

        covey asks this before it publishes anything.
        """
        _raise(self.complaints())

    def raise_if_broken(self) -> None:
        """Raise `ViolationError` for what was found wrong, but not for what could not be judged.

        `covey verify` asks this of a release that no longer has the column of persons.
        """
        _raise(self.complaints(judged=True))

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists; what neither holds nor is broken could not be judged.

        Risks have the digits that are shown: where persons are counted, the table alone does not
        tell them. All else anyone can work out from the table.
        """
        return {
            "holds": self.holds,
            "broken": self.broken,
            **asdict(self),
            "checks": [check.to_dict() for check in self.checks],
            "risks": asdict(digits.rounded(self.risks)),
        }

    def table(self, *, explained: bool = False) -> pages.Html:
        """What was asked, what was found, and whether that holds, as a table of HTML."""
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
        said = "holds" if self.holds else "does not hold" if self.broken else "could not be judged"
        return pages.snippet(
            f"What was asked {said}",
            self.table(),
            pages.element("p", f"{count(self.rows, 'row')} in {self.sizes}"),
        )


def _raise(complaints: list[str]) -> None:
    if complaints:
        raise ViolationError("; ".join(complaints))


def verify(
    frame: Any,
    schema: Schema,
    require: Requirement | Sequence[Requirement] | None = None,
    *,
    persons: Mapping[str, pl.Series | Sequence[object]] | None = None,
) -> Verdict:
    """Judge any table, also one that covey did not make.

    Without `require`, the schema's own requirements are asked for; a table with none is still
    told what it achieves. Where persons are to be counted but their column is left out of the
    table, the custodian hands it over in `persons`, by its name and row by row.
    """
    table = tables.read(frame, schema)
    if not table.frame.height:
        raise TableError("the table has no rows")
    requirements = schema.requirements(require)
    classes = Classes.of(table, schema)
    columns = {
        name: SensitiveColumn.of(
            table, name, schema.columns[name], rows=classes.rows, sizes=classes.sizes
        )
        for name in schema.names(Role.SENSITIVE)
        if name in table.frame.columns
    }
    owners = _owners(requirements, table, schema, persons or {})
    return Verdict(
        rows=table.frame.height,
        classes=len(classes.sizes),
        k=classes.smallest,
        k_wildcard=smallest_match(table, schema, classes.smallest),
        largest_class=int(classes.sizes.max()),
        identifiers=tuple(n for n in schema.names(Role.IDENTIFIER) if n in table.frame.columns),
        checks=tuple(
            _check_size(requirement, classes, owners)
            if isinstance(requirement, KAnonymity)
            else _check(requirement, columns)
            for requirement in requirements
        ),
        achieved=tuple(column.achieved() for column in columns.values()),
        risks=_risks(requirements, classes, owners),
    )


# ── sizes of classes ────────────────────────────────────────────────────────────────────────────


def _check_size(
    requirement: KAnonymity, classes: Classes, columns: Mapping[str, pl.Series]
) -> Check:
    """Rows or persons; nothing but their column says how many persons there are.

    Without it, rows are judged: no class has more persons than rows, so too few rows are too few
    persons.
    """
    rows = classes.smallest
    found: int | None = rows
    reason = ""
    if requirement.person in columns:
        found = classes.fewest_persons(columns[str(requirement.person)])
    elif requirement.person and rows >= requirement.k:
        found = None
        reason = (
            f"the column {requirement.person!r} is not in the table. Rows were judged instead of "
            f"persons: every class has {rows:,} or more. If covey made this release, it counted "
            "the persons before writing it"
        )
    holds = found is not None and found >= requirement.k
    return Check(requirement, found, holds, reason, judged=found is not None)


def _owners(
    requirements: Sequence[Requirement],
    table: Table,
    schema: Schema,
    given: Mapping[str, pl.Series | Sequence[object]],
) -> dict[str, pl.Series]:
    """Whose row each is, by each column of persons: those of the table before those handed over."""
    columns = {name: pl.Series(name, cells) for name, cells in given.items()}
    for name in _person_columns(requirements):
        if name in table.frame.columns:
            columns[name] = table.cells(name)
    return {name: tables.whose(cells, schema.table) for name, cells in columns.items()}


def _person_columns(requirements: Sequence[Requirement]) -> list[str]:
    """The columns by which persons are to be counted."""
    return [r.person for r in requirements if isinstance(r, KAnonymity) and r.person]


# ── risks ───────────────────────────────────────────────────────────────────────────────────────


def _risks(
    requirements: Sequence[Requirement], classes: Classes, columns: Mapping[str, pl.Series]
) -> Risks:
    """The risks of rows, or of persons where these are asked for; of several columns, the worst."""
    asked = _person_columns(requirements)
    if not asked:
        k, average = classes.smallest, len(classes.sizes) / len(classes.rows)
        return Risks(1 / k, average, 1 / k, average)
    for name in asked:
        if name not in columns:
            return Risks(None, None, None, None, person=name)
    found = [_risks_of_persons(name, columns[name], classes) for name in asked]
    return max(found, key=lambda risks: risks.prosecutor or 0.0)


def _risks_of_persons(name: str, persons: pl.Series, classes: Classes) -> Risks:
    """By the share that a person has of the rows of a class.

    Any of her rows is a right one for whoever picks a row, so that is his chance. The marketer does
    best if he calls all rows of a class by whoever has most of them. Rows of nobody known are
    counted for that person too: they cannot be worse than hers.
    """
    rows = pl.col(ROWS)
    most, nobody = (
        rows.filter(some).max().fill_null(0)
        for some in (pl.col("person").is_not_null(), pl.col("person").is_null())
    )
    squares = (rows.filter(pl.col("person").is_not_null()) ** 2).sum()
    shares = classes.owned(persons).group_by("class").agg(
        most=most + nobody,
        squares=squares - most**2 + (most + nobody) ** 2,
        size=rows.sum(),
    )  # fmt: skip
    highest = float((shares["most"] / shares["size"]).max())  # type: ignore[arg-type]
    total = len(classes.rows)
    return Risks(
        prosecutor=highest,
        prosecutor_average=float((shares["squares"] / shares["size"]).sum()) / total,
        journalist=highest,
        marketer=int(shares["most"].sum()) / total,
        person=name,
    )


# ── requirements on sensitive columns ───────────────────────────────────────────────────────────


def _check(requirement: SensitiveRequirement, columns: Mapping[str, SensitiveColumn]) -> Check:
    if requirement.on not in columns:
        raise SchemaError(f"sensitive column {requirement.on!r} is not in the table")
    column = columns[requirement.on]
    match requirement:
        case LDiversity():
            return _check_diversity(requirement, column.spread)
        case TCloseness(distance=distance):
            return _at_most(requirement, column.closeness(distance or "equal"))
        case AlphaK():
            return _check_share(requirement, column)
        case BetaLikeness(enhanced=enhanced):
            bounded = not enhanced or column.spread.gains_are_bounded
            return _at_most(requirement, column.spread.largest_gain() if bounded else None)
        case DeltaDisclosure(delta=delta):
            ratio = column.spread.largest_log_ratio()
            return _figure(requirement, ratio, ratio is not None and ratio < delta)


def _check_diversity(requirement: LDiversity, spread: Spread) -> Check:
    asked = requirement.l
    match requirement.kind:
        case "distinct":
            found = int(spread.distinct.min())
            return _figure(requirement, found, found >= asked)
        case "frequency":
            share = spread.largest_share()
            return _figure(requirement, float(1 / share), share * int(asked) <= 1)
        case "entropy":
            least = spread.least_entropy
            return _figure(requirement, math.exp(least), least >= math.log(asked) - TOLERANCE)
        case "recursive":
            bound = spread.recursive_bound(int(asked))
            holds = bound is not None and bound < exactly(requirement.asked)
            return _figure(requirement, rounded(bound), holds)


def _check_share(requirement: AlphaK, column: SensitiveColumn) -> Check:
    """A listed value that does not occur may be written wrong, and is then not protected."""
    listed = requirement.values
    places = None if listed is None else column.places(listed)
    check = _at_most(requirement, column.spread.largest_share(places))
    absent = 0 if listed is None else column.absent(listed)
    if not absent:
        return check
    return replace(
        check, reason=f"{count(absent, 'listed value')} not found; mind how it is written"
    )


def _at_most(requirement: SensitiveRequirement, found: Fraction | None) -> Check:
    holds = found is not None and found <= exactly(requirement.asked)
    return _figure(requirement, rounded(found), holds)


def _figure(requirement: SensitiveRequirement, found: float | None, holds: bool) -> Check:
    return Check(requirement, found, holds, "" if found is not None else requirement.unbounded)
