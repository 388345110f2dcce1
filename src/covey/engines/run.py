"""What a release is made by, and what an engine does for it.

The stages of a release are the same for all engines. An engine knows where rows are and how they
move: in memory, through files on one machine, or on Spark.
"""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from covey.clustering.progress import Progress
from covey.clustering.request import Request
from covey.custody.following import Following
from covey.custody.keys import Key
from covey.custody.ordering import Secret
from covey.custody.register import Register
from covey.generalisation import View
from covey.inspection.persons import Doubts
from covey.measures.histograms import PersonCounts
from covey.measures.loss import Losses
from covey.release import Destination, Outputs, Release
from covey.report import Report, Rows
from covey.report.carried import Carried
from covey.report.findings import Findings, Making
from covey.report.headline import Clause
from covey.schema import Schema
from covey.tables import sources
from covey.tables.csv_files import Dialect
from covey.verification import Verdict

if TYPE_CHECKING:
    from covey.measures.utility import Utility


@dataclass(frozen=True, eq=False)
class Order:
    """What a release is made by, and where it goes."""

    request: Request
    schema: Schema
    key: Key
    secret: Secret
    place: Any  # the table as the caller named it
    to: Destination | None
    part_rows: int
    resume: bool
    remember: bool  # whether hashes are made for a register
    price: bool  # whether to compute what it costs to follow earlier releases
    utility: bool  # whether the report says what the release is good for

    @property
    def following(self) -> Following | None:
        """The releases that decide who is in this one, or with whom; None if none do."""
        to, require = self.to, self.schema.require
        if not require.needs_earlier:
            return None
        register = Register.of(None if to is None else to.register, self.key)
        assert register is not None
        path = None if to is None else to.path
        return Following(register, path, to is not None and to.replace, require)

    @property
    def drawn_under(self) -> Key | None:
        """The key that random choices are drawn with; None if a seed was set instead."""
        return self.key if self.secret.seed is None else None

    @property
    def inputs(self) -> list[str | Path]:
        """The files that no output may replace."""
        return [place for place in (self.place, self.key.path) if is_place(place)]


def is_place(source: Any) -> TypeGuard[str | Path]:
    """Whether this names files; an address of a database, which may hold a password, does not."""
    return isinstance(source, Path) or (isinstance(source, str) and not sources.is_address(source))


@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    """What an engine finds out about the rows of a release."""

    view: View
    carried: Carried
    losses: Losses
    rows: Rows
    persons: PersonCounts | None
    filled_in: Mapping[str, int]  # missing cells that show the values of others, by column
    mended: Iterable[str | None]
    alike: bool = True  # whether the rows of a group are equal in the release
    utility: "Utility | None" = None  # as a report says it; None unless it was asked for

    def findings(self, order: Order, verdict: Verdict, doubts: Doubts, *, timed: bool) -> Findings:
        """All that was found out about the release."""
        notes = [*doubts.notes, *filter(None, self.mended)]
        made = Making(order.request, self.alike, self.filled_in, order.drawn_under, timed, notes)
        return Findings(
            *(order.request, order.schema, self.view, self.carried, verdict),
            *(self.losses, self.rows, self.persons, made),
            clauses=tuple(map(Clause, doubts.headline)),
            utility=self.utility,
        )


class OpenTable(Protocol):
    """A table that an engine has opened."""

    def outputs(self, order: Order) -> AbstractContextManager[Outputs | None]:
        """Drafts of all outputs, removed at the end unless they were published."""

    def running(self, order: Order, progress: Progress) -> AbstractContextManager["Stages"]:
        """The stages over this table; at the end, nothing is left of what they kept."""


class Stages(Protocol):
    """The stages of a release, one after another."""

    def survey(self) -> Doubts:
        """Read the table once; return what nobody has said of its people."""

    def divide(self) -> None:
        """Turn its rows into numbers, in one part or several."""

    def form(self) -> None:
        """Form the groups of all parts."""

    def show(self, outputs: Outputs | None) -> "Unpublished":
        """Generalise the groups; an engine of parts writes them into drafts."""


class Unpublished(Protocol):
    """Released rows that are not yet published."""

    @property
    def dialect(self) -> Dialect:
        """How the table is written."""

    def verdict(self) -> Verdict:
        """Judge the rows by their cells; refuse a release that has lost some."""

    def measure(self) -> "Measured":
        """Measure what the rows have lost."""

    def remember(self) -> None:
        """Make the hashes for the register."""

    def release(self, verdict: Verdict, report: Report, outputs: Outputs | None) -> Release:
        """The release; an engine of parts publishes it while its working files exist."""
