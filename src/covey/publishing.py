"""How a release gets its name: one way for a table in memory and for files in parts.

    write → read back → judge → compare with the register → reports, certificate → names in one step

No file has its name before all of this was done, and if anything fails, none gets it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict, Unpack

import polars as pl

from covey.custody.footprints import Footprint
from covey.custody.register import remember
from covey.errors import UsageError, ViolationError
from covey.report import About, Costs, Output, Report, refuse_format
from covey.report import certificate as certificates
from covey.schema import Role, Schema
from covey.schema.requirements import AlphaK, Requirement
from covey.tables import Table, files
from covey.tables.digests import Digest
from covey.verification import Verdict


class Writing(TypedDict, total=False):
    """What is written with a release, and how.

    Each `report` is a web page if its name ends in .html, and JSON if in .json; it shows the
    `curve` of the released rows, if given, and what the custodian says `about` the release. The
    file of `costs` is for the custodian only, so only the owner can read it. A `certificate` is
    written beside the release, under its name and .intoto.json. Text that a spreadsheet would run
    as a formula gets a leading apostrophe, unless `defuse` is off.

    The release is combined with all earlier ones in the `register` (the custodian's own, unless a
    path is given) and recorded there; with False, neither happens. The report says what holds for
    the combination. If that is less than required and `refuse_composition` is set (by default, as
    in the schema), nothing is written. An earlier release to the same path counts as published,
    unless `replace` says that it never left this machine.
    """

    report: str | Path | Sequence[str | Path] | None
    costs: str | Path | None
    certificate: bool
    curve: Costs | None
    about: About | None
    defuse: bool
    register: str | Path | Literal[False] | None
    refuse_composition: bool | None
    replace: bool


@dataclass(frozen=True, eq=False)
class Destination:
    """Where a release goes, and what is written with it."""

    path: str | Path
    reports: tuple[str | Path, ...] = ()
    costs: str | Path | None = None
    certificate: bool = False
    curve: Costs | None = None
    about: About | None = None
    defuse: bool = True
    register: str | Path | Literal[False] | None = None
    refuse_composition: bool | None = None
    replace: bool = False

    @classmethod
    def of(cls, path: str | Path, **writing: Unpack[Writing]) -> "Destination":
        """Check the names of all files."""
        said: dict[str, Any] = {**writing}
        report = said.pop("report", None)
        reports = [report] if isinstance(report, str | Path) else report or []
        made = cls(path, tuple(reports), **said)
        for name in made.reports:
            refuse_format(name)
        if made.costs is not None and Path(made.costs).suffix.lower() != ".csv":
            raise UsageError("the file name of the costs must end in .csv")
        return made

    @property
    def beside(self) -> list[str | Path]:
        """The files beside the release."""
        more = [certificates.beside(self.path)] if self.certificate else []
        return [*self.reports, *self.private, *more]

    @property
    def private(self) -> list[str | Path]:
        """The files that only the owner may read."""
        return [] if self.costs is None else [self.costs]


class Outputs(Protocol):
    """Drafts of a release and the files beside it, which get their names in one step."""

    def __getitem__(self, path: str | Path) -> Any:
        """The draft of a file."""

    def folder(self, path: str | Path) -> Any:
        """The draft of a folder, in its `path`."""

    def publish(self) -> None:
        """Give all drafts their names, or none."""


class Written(Protocol):
    """The files of a release in their drafts."""

    @property
    def digests(self) -> Mapping[str, Digest]:
        """The bytes of each file."""

    @property
    def output(self) -> Output:
        """The figures of the files."""

    def cells(self, names: Sequence[str]) -> Table:
        """A table with the distinct cells of these columns."""


@dataclass(frozen=True, eq=False, repr=False)
class Proven:
    """A release that meets its requirements, and what is recorded and certified of it."""

    report: Report
    verdict: Verdict
    schema: Schema
    requirements: Sequence[Requirement]
    trace: Footprint | None  # what the register records; None if it records nothing
    costs: pl.DataFrame | None = None

    def publish(self, written: Written, to: Destination, outputs: Outputs) -> Report:
        """Write the files beside a release, and give all of them their names."""
        trace = self.trace
        if trace is not None and not trace.incomparable and trace.rows != self.verdict.rows:
            raise ViolationError("the register would record other rows than are released")
        with remember(
            *(to.register, self.trace),
            path=None if to.path == files.STREAM else str(to.path),
            sha256=written.output.sha256,
            request=self.report.request,
            refuse=self.schema.require.composition == "refuse"
            if to.refuse_composition is None
            else to.refuse_composition,
            replaces=to.replace,
        ) as entry:
            report = replace(self.report, output=written.output, curve=to.curve, about=to.about)
            report = report.composed(entry.composition, entry.warnings)
            pages = {name: report.written_as(name) for name in to.reports}
            for name, page in pages.items():
                outputs[name].write(page)
            if to.costs is not None and self.costs is not None:
                outputs[to.costs].write(self.costs.write_csv().encode())
            if to.certificate:
                statement = self._statement(report, pages, written)
                outputs[certificates.beside(to.path)].write(statement)
            with entry.publishing():
                outputs.publish()
        return report

    def _statement(
        self, report: Report, pages: Mapping[str | Path, bytes], written: Written
    ) -> bytes:
        """The certificate."""
        return certificates.statement(
            {name: one.sha256 for name, one in written.digests.items()},
            *(report, pages, self.schema, self.requirements),
            *(written.cells(certified(self.schema, self.requirements)), self.verdict),
        )


def certified(schema: Schema, requirements: Sequence[Requirement]) -> list[str]:
    """The sensitive columns whose distinct cells a certificate describes."""
    compared = {r.on for r in requirements if isinstance(r, AlphaK)}
    return [
        name
        for name in schema.names(Role.SENSITIVE)
        if name in compared or schema.columns[name].taxonomy is not None
    ]
