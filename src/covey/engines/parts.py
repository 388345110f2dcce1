"""The stages of a release in parts, which engines on one machine and on many share.

    scan → divide → cluster and generalise each part → write → read back, verify, measure

An engine makes the passes over the rows. The release appears as a folder of files, completely or
not at all.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from covey import tables
from covey.clustering.progress import Progress
from covey.clustering.request import Request
from covey.custody import following
from covey.custody.following import Together
from covey.custody.footprints import Footprint, FootprintPart
from covey.encoding import Tally
from covey.engines import part
from covey.engines.part import Grouping
from covey.engines.run import Measured, Order
from covey.engines.steps import InputSurvey, Job, Summary, Task, planned
from covey.errors import SchemaError, UsageError, ViolationError
from covey.generalisation import View
from covey.inspection.persons import Doubts, refuse_repeats
from covey.measures import loss
from covey.measures.histograms import PersonCounts
from covey.release import Destination, Outputs, Proven, Release
from covey.report import Output, Report, Rows
from covey.report.carried import Carried
from covey.schema import Role, TableFormat
from covey.tables import Table
from covey.tables.csv_files import Dialect
from covey.tables.digests import Digest
from covey.tables.mending import note
from covey.tables.strays import refuse_undecided
from covey.verification import Verdict

FILE_PARTS = 4  # a file has the rows of about so many parts


def task_of(order: Order, names: Sequence[str], dialect: Dialect) -> Task:
    """What is done with the rows of a table with these columns."""
    schema, request = order.schema, order.request
    _refuse_unrepeatable(request)
    empty = Table(pl.DataFrame(schema=list(names)))
    tables.check_roles(empty, schema, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
    absent = sorted({*request.persons} - {*names})
    if absent:
        raise SchemaError(f"the person column {absent[0]!r} is not in the table")
    return Task(
        *(schema, request, dialect, tuple(names)),
        order.secret.hasher(schema),
        order.secret.person_hasher(request.persons),
    )


def _refuse_unrepeatable(request: Request) -> None:
    """Refuse what a part that is done again would do differently, or what needs all rows."""
    if request.keep_order:
        raise UsageError("keep_order is not possible for a table in parts: omit it")
    if request.options.get("budget") is not None:
        raise UsageError(
            "a budget is not possible for a table in parts: a part that is done again would have "
            "other groups. Choose an effort"
        )
    if not request.method.alike:
        raise UsageError(
            f"the method {request.method.name!r} is not possible for a table in parts: its rows "
            "form no classes"
        )


@dataclass(eq=False, repr=False)
class InParts(ABC):
    """The stages of a release; an engine makes the passes over the rows."""

    task: Task
    order: Order
    progress: Progress
    surveyed: InputSurvey = field(init=False)
    job: Job = field(init=False)  # what is known of the whole table
    shown_by: Job = field(init=False)  # the same, with the domain of the released rows
    summary: Summary = field(init=False)
    together: Together = field(init=False, default=following.NONE)

    def survey(self) -> Doubts:
        """Go through the input once, and plan the parts."""
        order = self.order
        self.surveyed = found = self.scanned()
        refuse_undecided(found.suspects.found, order.schema.table)
        repeats = found.repeating.found(order.schema, self.task.dialect)
        doubts = refuse_repeats(repeats, order.request.requirements)
        seed = order.secret.seed_of(found.content, order.schema, order.request.seeded)
        self.job = planned(self.task, found, seed, order.part_rows)
        return doubts._replace(notes=(*self.doubts, *doubts.notes))

    def divide(self) -> None:
        """Give every row its part; then the job knows the final parts."""
        self.job = self.divided()

    def form(self) -> None:
        """Group and show all parts; released rows are then in buckets of whole classes."""
        request, formed, self.shown_by = self.order.request, None, self.job
        if not request.releases_all:
            formed = part.chosen(request, self.grouped, self.settled)
            if formed.outcome.suppressed:
                assert formed.outcome.scan is not None
                released = formed.outcome.scan.domain(self.task.schema, self.task.dialect)
                self.shown_by = self.job.within(self.job.domain.showing(released))
        self.summary = self.shown(formed)

    def show(self, outputs: Outputs | None) -> "PartFiles":
        """Write each bucket as a file of the draft folder, and read it back."""
        assert outputs is not None
        return self.written(outputs.folder(self.to.path).path)

    @property
    def to(self) -> Destination:
        """Where the release goes."""
        assert self.order.to is not None
        return self.order.to

    @property
    def buckets(self) -> int:
        """How many files the release has at most."""
        return -(-self.surveyed.scan.rows // (FILE_PARTS * self.order.part_rows))

    # ── what an engine does ─────────────────────────────────────────────────────────────────────

    @property
    @abstractmethod
    def doubts(self) -> list[str]:
        """What the custodian must know about this way of working."""

    @abstractmethod
    def scanned(self) -> InputSurvey:
        """Go through the input once."""

    @abstractmethod
    def divided(self) -> Job:
        """Give every row its part; the returned job knows the final parts."""

    @abstractmethod
    def grouped(self, request: Request) -> Grouping[Any]:
        """The groups of all parts."""

    @abstractmethod
    def settled(self, first: Grouping[Any]) -> Grouping[Any]:
        """The same groups, repaired by the frequencies of all released rows."""

    @abstractmethod
    def shown(self, formed: Grouping[Any] | None) -> Summary:
        """Show all parts in buckets of whole classes; form their groups first if there are none."""

    @abstractmethod
    def written(self, folder: Any) -> "PartFiles":
        """Write each bucket as a file of the draft folder, and read it back."""


@dataclass(eq=False, repr=False)
class PartFiles(ABC):
    """The files of a release in their draft folder, not yet published."""

    run: InParts
    digests: dict[str, Digest]
    footprint: Footprint | None = field(default=None, init=False)

    @property
    def task(self) -> Task:
        """The request, the schema and the row hashers."""
        return self.run.task

    @property
    def dialect(self) -> Dialect:
        """How the table is written."""
        return self.task.dialect

    @property
    def form(self) -> TableFormat:
        """How the files are read back."""
        return TableFormat(**self.dialect.written, header=True, skip=0)

    def verdict(self) -> Verdict:
        """Judge all files together; refuse a release that has lost rows."""
        verdict = self.judged()
        if verdict.rows != self.run.surveyed.scan.rows - self.run.summary.suppressed:
            raise ViolationError("rows were lost on the way: nothing is published")
        return verdict

    def measure(self) -> Measured:
        """Measure what the rows have lost."""
        survey, summary = self.run.surveyed, self.run.summary
        view, carried = self.view(Tally.of_scan(summary.scan, self.task.schema, self.dialect))
        k, suppressed = self.task.request.k, summary.suppressed
        return Measured(
            view,
            carried,
            loss.measure(view, suppressed=suppressed, k=k, in_groups=summary.in_groups),
            Rows.counted(survey.read, survey.scan.rows, suppressed, self.run.together.known),
            self.persons() if self.task.request.persons else None,
            summary.filled_in,
            [
                *(note(*mend, cells, k) for mend, cells in sorted(summary.mended.items())),
                *self.run.together.notes,
            ],
        )

    def remember(self) -> None:
        """Put the hashes for the register together; of too many rows, only that they exist."""
        content, order = self.run.surveyed.content, self.run.order
        trace = self.trace()
        if trace is None:
            trace = FootprintPart.unknown(content.rows, np.array(content.sums, dtype=np.uint64))
        self.footprint = trace.footprint(order.key, order.request.size)

    def release(self, verdict: Verdict, report: Report, outputs: Outputs | None) -> Release:
        """Publish the files."""
        assert outputs is not None
        schema, requirements = self.task.schema, self.task.request.requirements
        proven = Proven(report, verdict, schema, requirements, self.footprint)
        return Release(verdict, proven.publish(self, self.run.to, outputs), None)

    def cells(self, names: Sequence[str]) -> Table:
        """A table with the distinct cells of these columns; shorter columns repeat a cell."""
        known = self.distinct(names)
        most = max(map(len, known.values()), default=0)
        longer = [
            one.gather([*range(len(one)), *[0] * (most - len(one))]) for one in known.values()
        ]
        return Table(pl.DataFrame(longer), self.dialect)

    @property
    @abstractmethod
    def output(self) -> Output:
        """The figures of the files."""

    @abstractmethod
    def judged(self) -> Verdict:
        """Verify all files together."""

    @abstractmethod
    def trace(self) -> FootprintPart | None:
        """What the register records of all rows; None if there are too many, or no register."""

    @abstractmethod
    def view(self, original: Tally) -> tuple[View, Carried]:
        """The release beside its original, and the columns that it carries."""

    @abstractmethod
    def persons(self) -> PersonCounts:
        """How the rows belong to persons."""

    @abstractmethod
    def distinct(self, names: Sequence[str]) -> dict[str, pl.Series]:
        """The distinct cells of these columns."""
