"""What an engine does for a release, on one machine or on many.

The stages of a release are the same for all engines, and so are the steps. An engine only knows
where rows are and how they move.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import polars as pl

from covey.clustering.progress import Progress
from covey.clustering.request import Request
from covey.custody.footprints import FootprintPart
from covey.custody.keys import Key
from covey.custody.ordering import Secret
from covey.engines.steps import Job, Summary, Survey, Task
from covey.generalisation import View
from covey.measures.histograms import Persons
from covey.report import About, Output, certificate, refuse_format
from covey.report.carried import Carried
from covey.schema import Role, Schema
from covey.schema.requirements import AlphaK
from covey.tables.csv_files import Dialect
from covey.tables.digests import Digest
from covey.verification import Verdict

FILE_PARTS = 4  # a file has the rows of about so many parts


@dataclass(frozen=True, eq=False)
class Order:
    """What a release is made by, and where it goes."""

    request: Request
    schema: Schema
    key: Key
    secret: Secret
    part_rows: int
    to: str
    reports: tuple[str | Path, ...]
    certificate: bool
    about: About | None
    defuse: bool
    resume: bool
    register: str | Path | Literal[False] | None
    refuse_composition: bool

    @property
    def companions(self) -> list[str | Path]:
        """The files beside the folder."""
        for name in self.reports:
            refuse_format(name)
        return [*self.reports, *([certificate.beside(self.to)] if self.certificate else [])]

    @property
    def listed(self) -> list[str]:
        """The sensitive columns whose distinct cells a certificate describes."""
        asked = {r.on for r in self.request.requirements if isinstance(r, AlphaK)}
        columns = self.schema.columns
        return [
            name
            for name in self.schema.names(Role.SENSITIVE)
            if name in asked or columns[name].taxonomy is not None
        ]


class Outputs(Protocol):
    """The folder of a release and the files beside it, which get their names in one step."""

    def __getitem__(self, path: str | Path) -> Any:
        """The draft of a file."""

    def folder(self, path: str | Path) -> Any:
        """The draft of the folder, in its `path`."""

    def publish(self) -> None:
        """Give all drafts their names, or none."""


class Source(Protocol):
    """A table that an engine has opened."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""

    @property
    def dialect(self) -> Dialect:
        """Its text format."""

    def outputs(self, order: Order) -> AbstractContextManager[Outputs]:
        """Drafts of all outputs, removed at the end unless they were published."""

    def running(
        self, task: Task, order: Order, progress: Progress
    ) -> AbstractContextManager["Run"]:
        """The passes over this table; at the end, nothing is left of what they kept."""


class Run(Protocol):
    """The passes of a release, one after another."""

    @property
    def doubts(self) -> Sequence[str]:
        """What the custodian must know about this way of working."""

    def survey(self) -> Survey:
        """Go through the input once."""

    def divide(self, job: Job, rows: int) -> Job:
        """Give every row its part; the returned job knows the final parts."""

    def release(self, count: int) -> tuple[Job, Summary]:
        """Group and show all parts; released rows are then in so many buckets of classes."""

    def write(self, job: Job, folder: Any, count: int) -> "Written":
        """Write each bucket as a file of the draft folder, and read it back."""


class Written(Protocol):
    """The files of a release in its draft, before they are published."""

    @property
    def digests(self) -> Mapping[str, Digest]:
        """The bytes of each file."""

    @property
    def output(self) -> Output:
        """The figures of the files."""

    def verdict(self) -> Verdict:
        """Verify all files together."""

    def trace(self) -> FootprintPart | None:
        """What the register records of all rows; None if there are too many, or no register."""

    def view(self, summary: Summary) -> tuple[View, Carried]:
        """The release beside its original, and the columns that it carries."""

    def persons(self) -> Persons | None:
        """How the rows belong to persons, if k counts persons."""

    def listed(self) -> Mapping[str, pl.Series]:
        """The distinct cells of sensitive columns that a certificate describes."""
