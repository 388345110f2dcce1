"""What was required, found and lost: numbers, column names and a few released rows.

It holds no cell of the original, and of the release only cells of quasi-identifiers.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from covey.custody.composition import Composition
from covey.errors import UsageError, count, percent
from covey.html import element, snippet, table
from covey.inspection.persons import Counted
from covey.measures.histograms import ClassSizes, Distribution
from covey.measures.loss import DEFINITIONS, Losses
from covey.measures.resolution import Resolution
from covey.report.about import About
from covey.report.fields import Field
from covey.report.headline import Clause, Headline
from covey.report.sample import Sample
from covey.report.singled import SingledOut
from covey.report.writing import Writable
from covey.tables.digests import Digest
from covey.verification import Verdict
from covey.verification.rounding import rounded, share

if TYPE_CHECKING:
    from covey.measures.utility import Utility

LIMITS = (
    "k-anonymity prevents linking a person to fewer than k rows by the quasi-identifiers named "
    "here. It does not hide a sensitive value that all rows of a class share. It does not protect "
    "columns that were not named as quasi-identifiers. Other knowledge, or other releases of the "
    "same table, may weaken it."
)

# What applies to every release, and cannot be seen from one.
_OTHER_RELEASES = (
    "two releases can be combined, and a person hidden among k rows in each may be the only match "
    "in both"
)
NOT_LOOKED_UP = (
    "earlier releases were not checked. Find out whether this table, or another about the same "
    f"people, was or will be released in any other form: {_OTHER_RELEASES}"
)
LOOKED_UP = (
    "only releases that covey wrote and that are in this register were checked. Find out whether "
    f"anyone released other data about these people: {_OTHER_RELEASES}"
)
REMINDERS = (
    "the requirements cover only the columns named as quasi-identifiers. A column named sensitive "
    "or insensitive may still single people out, if someone else knows its values",
)


@dataclass(frozen=True)
class Rows:
    """Where the rows went."""

    read: int
    dropped: int  # by the missing-value policy drop-row
    suppressed: int
    released: int
    known: int = 0  # of people in earlier releases, if only new people are released

    @classmethod
    def counted(cls, read: int, kept: int, suppressed: int, known: int = 0) -> "Rows":
        """From the rows to release, how many of them were suppressed, and how many were known."""
        return cls(read, read - kept - known, suppressed, kept - suppressed, known)


@dataclass(frozen=True)
class Output:
    """The released bytes: of one file, or of all files of a folder."""

    format: str
    bytes: int
    sha256: str  # of several files, by `Digest.of_all`
    written: dict[str, Any]  # delimiter, encoding, decimal sign and missing tokens
    defused: int = 0  # cells with a leading apostrophe, so that no spreadsheet runs them
    files: int | None = None  # how many, if the release is a folder

    @classmethod
    def of_folder(
        cls, format: str, files: Mapping[str, Digest], written: dict[str, Any], defused: int = 0
    ) -> "Output":
        """The figures of the files of a folder, all of the same format."""
        whole = Digest.of_all(files)
        return cls(format, whole.bytes, whole.sha256, written, defused, len(files))

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists; the number of files only for a folder."""
        plain = asdict(self)
        return plain if self.files is not None else {n: plain[n] for n in plain if n != "files"}


class Costs(Protocol):
    """A curve: the loss for each k."""

    @property
    def rows(self) -> int:
        """The number of rows it was made from."""

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""

    def chart(self, *, chosen: int | None = None) -> Any:
        """The curve as a chart, with a mark at the chosen k."""


@dataclass(frozen=True, kw_only=True)
class Report(Writable):
    """A release in numbers."""

    formats = (".html", ".json")

    version: str
    date: str
    rows: Rows
    verdict: Verdict
    losses: Losses
    method: str | None = None  # None if the release was made elsewhere
    options: dict[str, Any] = field(default_factory=dict)
    key: str | None = None  # the fingerprint of the key that random choices were drawn with
    order: str = "unknown: the release was made elsewhere"
    configuration: dict[str, Any]
    warnings: tuple[str, ...]
    seconds: dict[str, float]
    classes: tuple[ClassSizes, ...]  # none if rows form no classes
    distributions: tuple[Distribution, ...]
    shown: tuple[Resolution, ...]  # what the cells of each quasi-identifier still show
    outside: SingledOut  # what others may know besides, before anything was accepted
    sample: Sample | None = field(repr=False)  # None unless the requirements hold
    about: About | None = None
    output: Output | None = None
    curve: Costs | None = None
    limits: str = LIMITS
    counted: Counted | None = None  # None if it is unknown how many people there are
    clauses: tuple[Clause, ...] = ()  # what limits the promise, beside what the verdict says
    fields: tuple[Field, ...] = ()  # what each released column is, for a description of the release
    utility: "Utility | None" = None  # what it is good for; None unless that was asked for
    composition: Composition | None = None  # None if earlier releases were not checked
    follows: bool = False  # whether everyone's class of earlier releases was kept together
    price: float | None = None  # its loss above that of a release from scratch, as a share of that

    def composed(self, found: Composition | None, warnings: tuple[str, ...]) -> "Report":
        """The report, with what holds for this release combined with earlier ones."""
        return replace(self, composition=found, warnings=(*warnings, *self.warnings))

    @property
    def headline(self) -> Headline:
        """The verdict in one line: what was counted and promised, and what limits it."""
        found = self.composition
        weakened = () if found is None or found.holds else (Clause(found.limit()),)
        limits = *self.clauses, *self.singled.clauses(), *weakened
        return Headline.of(self.verdict, self.counted, limits)

    @property
    def singled(self) -> SingledOut:
        """Whom columns that are shown as they are single out, and which roles are confirmed."""
        return self.outside.accepting(None if self.about is None else self.about.accept)

    @property
    def points(self) -> tuple[str, ...]:
        """What to check in this release before it is published."""
        return (*self.singled.points(), *self.warnings)

    @property
    def reminders(self) -> tuple[str, ...]:
        """What applies to every release, and cannot be seen from one."""
        return (NOT_LOOKED_UP if self.composition is None else LOOKED_UP, *REMINDERS)

    @property
    def request(self) -> dict[str, Any]:
        """The method, its options and the requirements, without the columns."""
        required = {check.name: check.asked for check in self.verdict.checks}
        return {"method": self.method, "options": self.options, "require": required}

    @property
    def k(self) -> int:
        """The k required; no count below it is shown."""
        return int(self.configuration["require"]["k"])

    @property
    def mean_loss(self) -> float:
        """The mean loss of a cell, 0 … 1."""
        weights = sum(column.weight for column in self.losses.columns)
        return self.losses.total_il / (self.losses.rows * weights)

    def published(self) -> "Report":
        """The same, with only the digits that are published."""
        return replace(
            self,
            losses=rounded(self.losses),
            distributions=rounded(self.distributions),
            shown=rounded(self.shown),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists, as the JSON report has them."""
        return {
            "covey": self.version,
            "date": self.date,
            **({"about": asdict(self.about)} if self.about else {}),
            "headline": self.headline.to_dict(),
            "rows": asdict(self.rows),
            "verdict": self.verdict.to_dict(),
            "classes": [asdict(sizes) for sizes in self.classes],
            "loss": self.losses.to_dict(),
            "mean_loss": share(self.mean_loss),
            "definitions": DEFINITIONS,
            "utility": self.utility and self.utility.to_dict(),
            "shown": [
                {**asdict(rounded(column)), "in_words": str(column)} for column in self.shown
            ],
            "sample": self.sample and asdict(self.sample),
            "distributions": [asdict(rounded(column)) for column in self.distributions],
            "curve": self.curve and self.curve.to_dict(),
            "method": {"name": self.method, "options": self.options},
            "key": self.key,
            "order": self.order,
            "configuration": self.configuration,
            "composition": self.composition and self.composition.to_dict(),
            "follows": self._following(),
            "singled_out": self.singled.to_dict(),
            "warnings": list(self.points),
            "reminders": list(self.reminders),
            "limits": self.limits,
            "seconds": {stage: round(time, 3) for stage, time in self.seconds.items()},
            "output": self.output.to_dict() if self.output else None,
        }

    def _following(self) -> dict[str, Any] | None:
        """What it costs to keep everyone's class together."""
        if not self.follows:
            return None
        price = None if self.price is None else share(self.price)
        return {"left_out": self.rows.suppressed, "price": price}

    def to_html(self) -> str:
        """The report as a web page; its charts need the extra `covey[charts]`."""
        from covey.report.page import page

        return page(self.published())

    def _repr_html_(self) -> str:
        rows = self.rows
        by = "" if self.method is None else f" by {self.method}"
        return snippet(
            str(self.headline),
            element("p", f"{rows.released:,} of {count(rows.read, 'row')} released{by}"),
            self.verdict.table(),
            element("p", self.verdict.risk) if self.verdict.risk else None,
            element("p", f"Mean loss of a cell: {percent(self.mean_loss)}"),
            table(("column", "what it shows"), [(c.column, str(c)) for c in self.shown]),
            *(element("p", f"Note: {warning}") for warning in self.points),
        )


def refuse_curve_of_others(curve: Costs | None, rows: Rows) -> None:
    """Refuse a curve of other rows than those released: it would reveal something of them."""
    if curve is not None and curve.rows != rows.released:
        raise UsageError(
            f"the curve covers {count(curve.rows, 'row')}, but the release has {rows.released:,}: "
            "make the curve from the released rows only"
        )
