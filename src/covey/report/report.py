"""What was promised, what was found, what it cost: numbers and column names, never cells."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from covey.custody.composition import Composition
from covey.errors import UsageError, count
from covey.measures.histograms import ClassSizes, Distribution
from covey.measures.loss import DEFINITIONS, Losses
from covey.report import charts
from covey.report.writing import Written
from covey.tables.html import element, snippet
from covey.verification import Verdict
from covey.verification.rounding import rounded, share

LIMITS = (
    "k-anonymity keeps a person from being linked to fewer than k rows by the quasi-identifiers "
    "named here. It does not hide a sensitive value that all rows of a class share, does not "
    "protect columns that were not named as quasi-identifiers, and may be weakened by what else is "
    "known or by other releases of the same table."
)

# What holds of every release, and cannot be seen from one.
_OTHER_RELEASES = (
    "two releases about the same people can be laid over each other, and people who hide among k "
    "rows in each may be alone in both"
)
NOT_LOOKED_UP = (
    "earlier releases were not looked up: if this table, or another one about the same people, was "
    f"or will be released in any other form, mind that {_OTHER_RELEASES}"
)
LOOKED_UP = (
    "only releases that covey wrote and that are in this register were looked up: if somebody "
    "else, or another program, has released anything about these people, mind that "
    f"{_OTHER_RELEASES}"
)
REMINDERS = (
    "the promise is about the columns that were named as quasi-identifiers: a column that somebody "
    "else knows, and that is called sensitive or insensitive here, may still single people out",
)


@dataclass(frozen=True)
class Rows:
    """Where the rows went."""

    read: int
    dropped: int  # by the missing-value policy drop-row
    suppressed: int
    released: int

    @classmethod
    def counted(cls, read: int, kept: int, suppressed: int) -> "Rows":
        """By those that no policy dropped, and those of them that were suppressed."""
        return cls(read, read - kept, suppressed, kept - suppressed)


@dataclass(frozen=True)
class Output:
    """The released bytes."""

    format: str
    bytes: int
    sha256: str
    written: dict[str, Any]  # delimiter, encoding, decimal sign and missing tokens
    defused: int = 0  # cells with an apostrophe in front, so that no spreadsheet runs them


class Costs(Protocol):
    """What each k would cost: a curve."""

    @property
    def rows(self) -> int:
        """How many rows it is about."""

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""

    def chart(self, *, chosen: int | None = None) -> Any:
        """The curve as a picture, with a mark where the chosen k is."""


@dataclass(frozen=True)
class Report(Written):
    """A release in numbers."""

    formats = (".html", ".json")

    version: str
    date: str
    rows: Rows
    verdict: Verdict
    losses: Losses
    method: str | None  # None where somebody else has made the release
    options: dict[str, Any]
    key: str | None  # the fingerprint of the key under which random choices were drawn
    order: str
    configuration: dict[str, Any]
    warnings: tuple[str, ...]
    seconds: dict[str, float]
    classes: tuple[ClassSizes, ...]  # none where rows are not alike
    distributions: tuple[Distribution, ...]
    output: Output | None = None
    curve: Costs | None = None
    limits: str = LIMITS
    composition: Composition | None = None  # None where earlier releases were not looked up

    def composed(self, found: Composition | None, warnings: tuple[str, ...]) -> "Report":
        """The report with what this release and the earlier ones keep together."""
        return replace(self, composition=found, warnings=(*warnings, *self.warnings))

    @property
    def reminders(self) -> tuple[str, ...]:
        """What holds of every release, and cannot be seen from one."""
        return (NOT_LOOKED_UP if self.composition is None else LOOKED_UP, *REMINDERS)

    @property
    def request(self) -> dict[str, Any]:
        """What was asked for, without the columns."""
        asked = {check.name: check.asked for check in self.verdict.checks}
        return {"method": self.method, "options": self.options, "require": asked}

    @property
    def k(self) -> int:
        """What was asked for: no count of fewer people is told."""
        return int(self.configuration["require"]["k"])

    @property
    def mean_loss(self) -> float:
        """What a cell has lost on average, 0 … 1."""
        weights = sum(column.weight for column in self.losses.columns)
        return self.losses.total_il / (self.losses.rows * weights)

    def published(self) -> "Report":
        """The same with the digits that are published."""
        return replace(self, losses=rounded(self.losses), distributions=rounded(self.distributions))

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists, as the JSON report has them."""
        return {
            "covey": self.version,
            "date": self.date,
            "rows": asdict(self.rows),
            "verdict": self.verdict.to_dict(),
            "classes": [asdict(sizes) for sizes in self.classes],
            "loss": self.losses.to_dict(),
            "mean_loss": share(self.mean_loss),
            "definitions": DEFINITIONS,
            "distributions": [asdict(rounded(column)) for column in self.distributions],
            "curve": self.curve and self.curve.to_dict(),
            "method": {"name": self.method, "options": self.options},
            "key": self.key,
            "order": self.order,
            "configuration": self.configuration,
            "composition": self.composition and self.composition.to_dict(),
            "warnings": list(self.warnings),
            "reminders": list(self.reminders),
            "limits": self.limits,
            "seconds": {stage: round(time, 3) for stage, time in self.seconds.items()},
            "output": asdict(self.output) if self.output else None,
        }

    def to_html(self) -> str:
        """The report as a page of its own, which needs the extra `covey[charts]`."""
        from covey.report.page import page

        charts.refuse_without_charts()
        return page(self.published())

    def _repr_html_(self) -> str:
        rows = self.rows
        by = "" if self.method is None else f" by {self.method}"
        return snippet(
            f"{rows.released:,} of {count(rows.read, 'row')} released{by}",
            self.verdict.table(),
            element("p", f"Mean loss of a cell: {self.mean_loss:.2%}"),
            *(element("p", f"Note: {warning}") for warning in self.warnings),
        )


def refuse_curve_of_others(curve: Costs | None, rows: Rows) -> None:
    """A curve of rows that are not in the release would tell of them."""
    if curve is not None and curve.rows != rows.released:
        raise UsageError(
            f"the curve is of {count(curve.rows, 'row')} and the release has {rows.released:,}: a "
            "report shows the curve of the released rows only"
        )
