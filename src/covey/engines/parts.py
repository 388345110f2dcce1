"""The stages of a release in parts, which engines on one machine and on many share.

    scan → divide → cluster and generalise each part → write → read back, verify, measure

An engine makes the passes over the rows. The release appears as a folder of files, completely or
not at all.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import polars as pl

from covey import tables
from covey.clustering.progress import Progress
from covey.clustering.request import Request
from covey.custody.footprints import Footprint, FootprintPart
from covey.engines.run import Measured, Order
from covey.engines.steps import Job, Summary, Survey, Task, planned
from covey.errors import SchemaError, UsageError, ViolationError
from covey.generalisation import View
from covey.inspection.persons import Doubts, refuse_repeats
from covey.measures import loss
from covey.measures.histograms import Persons
from covey.release import Outputs, Proven, Release, Written
from covey.report import Report, Rows
from covey.report.carried import Carried
from covey.schema import Role
from covey.tables import Table
from covey.tables.csv_files import Dialect
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


class Files(Written, Protocol):
    """The files of a release in its draft folder."""

    def verdict(self) -> Verdict:
        """Verify all files together."""

    def trace(self) -> FootprintPart | None:
        """What the register records of all rows; None if there are too many, or no register."""

    def view(self, summary: Summary) -> tuple[View, Carried]:
        """The release beside its original, and the columns that it carries."""

    def persons(self) -> Persons | None:
        """How the rows belong to persons, if k counts persons."""


@dataclass(eq=False, repr=False)
class InParts(ABC):
    """The stages of a release; an engine makes the passes over the rows."""

    task: Task
    order: Order
    progress: Progress
    surveyed: Survey = field(init=False)
    job: Job = field(init=False)  # what is known of the whole table
    summary: Summary = field(init=False)

    def survey(self) -> Doubts:
        """Go through the input once, and plan the parts."""
        order = self.order
        self.surveyed = found = self.scanned()
        refuse_undecided(found.suspects.found, order.schema.table)
        repeats = found.repeating.found(order.schema, self.task.dialect)
        unsaid = refuse_repeats(repeats, order.request.requirements)
        seed = order.secret.seed_of(found.content, order.schema, order.request.seeded)
        self.job = planned(self.task, found, seed, order.part_rows)
        return unsaid._replace(notes=(*self.doubts, *unsaid.notes))

    def divide(self) -> None:
        """Give every row its part; then the job knows the final parts."""
        self.job = self.divided(self.job, self.surveyed.read)

    def form(self) -> None:
        """Group and show all parts; released rows are then in buckets of whole classes."""
        self.job, self.summary = self.released(self._files)

    def show(self, outputs: Outputs | None) -> "ShownParts":
        """Write each bucket as a file of the draft folder, and read it back."""
        to = self.order.to
        assert to is not None
        assert outputs is not None
        written = self.written(self.job, outputs.folder(to.path).path, self._files)
        return ShownParts(self, written)

    @property
    def _files(self) -> int:
        return -(-self.surveyed.scan.rows // (FILE_PARTS * self.order.part_rows))

    # ── what an engine does ─────────────────────────────────────────────────────────────────────

    @property
    def doubts(self) -> list[str]:
        """What the custodian must know about this way of working."""
        return []

    @abstractmethod
    def scanned(self) -> Survey:
        """Go through the input once."""

    @abstractmethod
    def divided(self, job: Job, rows: int) -> Job:
        """Give every row its part; the returned job knows the final parts."""

    @abstractmethod
    def released(self, count: int) -> tuple[Job, Summary]:
        """Group and show all parts; released rows are then in so many buckets of classes."""

    @abstractmethod
    def written(self, job: Job, folder: Any, count: int) -> Files:
        """Write each bucket as a file of the draft folder, and read it back."""


@dataclass(eq=False, repr=False)
class ShownParts:
    """Released files that are not yet published."""

    run: InParts
    files: Files
    trace: Footprint | None = None

    @property
    def dialect(self) -> Dialect:
        """How the table is written."""
        return self.run.task.dialect

    def verdict(self) -> Verdict:
        """Judge all files together; refuse a release that has lost rows."""
        verdict = self.files.verdict()
        verdict.raise_if_violated()
        if verdict.rows != self.run.surveyed.scan.rows - self.run.summary.suppressed:
            raise ViolationError("rows were lost on the way: nothing is published")
        return verdict

    def measure(self) -> Measured:
        """Measure what the rows have lost."""
        survey, summary = self.run.surveyed, self.run.summary
        view, carried = self.files.view(summary)
        k, suppressed = self.run.order.request.k, summary.suppressed
        return Measured(
            view,
            carried,
            loss.measure(view, suppressed=suppressed, k=k, in_groups=summary.in_groups),
            Rows.counted(survey.read, survey.scan.rows, suppressed),
            self.files.persons(),
            summary.filled_in,
            [note(*mend, cells, k) for mend, cells in sorted(summary.mended.items())],
        )

    def remember(self) -> None:
        """Put the hashes for the register together; of too many rows, only that they exist."""
        content, order = self.run.surveyed.content, self.run.order
        trace = self.files.trace()
        if trace is None:
            trace = FootprintPart.unknown(content.rows, np.array(content.sums, dtype=np.uint64))
        self.trace = trace.footprint(order.key, order.request.size)

    def release(self, verdict: Verdict, report: Report, outputs: Outputs | None) -> Release:
        """Publish the files."""
        order = self.run.order
        assert order.to is not None
        assert outputs is not None
        proven = Proven(report, verdict, order.schema, order.request.requirements, self.trace)
        return Release(verdict, proven.publish(self.files, order.to, outputs), None)


def as_table(cells: Mapping[str, pl.Series], dialect: Dialect) -> Table:
    """Distinct cells of columns as a table; shorter columns repeat a cell."""
    most = max(map(len, cells.values()), default=0)
    longer = [one.gather([*range(len(one)), *[0] * (most - len(one))]) for one in cells.values()]
    return Table(pl.DataFrame(longer), dialect)
