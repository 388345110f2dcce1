"""A verified release, and how it gets its name: one way for a table and for files in parts.

write → read back → judge → compare with the register → reports, certificate → names in one step

No file has its name before all of this was done, and if anything fails, none gets it.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, TypedDict, Unpack

import numpy as np
import polars as pl

from covey import tables
from covey._core.arrays import Longs
from covey.clustering import Method, as_method
from covey.clustering.request import refuse_class_column
from covey.custody.composition import Composition, Demand
from covey.custody.footprints import Footprint
from covey.custody.keys import Key
from covey.custody.ordering import people_as_read
from covey.custody.register import Register, remember
from covey.encoding import encode
from covey.encoding.groups import Groups, Rings
from covey.encoding.selection import Selection
from covey.errors import UsageError, ViolationError
from covey.generalisation import View
from covey.measures.loss import RowLosses
from covey.measures.workload import Workload, workload
from covey.report import (
    About,
    Costs,
    Output,
    Report,
    refuse_curve_of_others,
    refuse_format,
)
from covey.report import certificate as certificates
from covey.report import description as descriptions
from covey.schema import Role, Schema, TableFormat
from covey.schema.requirements import AlphaK, Requirement
from covey.tables import Table, files
from covey.tables.csv_files import Dialect
from covey.tables.digests import Digest, digests
from covey.verification import Verdict

UNCERTAIN = (
    "a certificate is not possible for this method: only someone with the original table can check "
    "the release"
)


# ── where a release goes ──────────────────────────────────────────────────────────────────────────


class Writing(TypedDict, total=False):
    """What is written with a release, and how.

    Each `report` is a web page if its name ends in .html, and JSON if in .json; it shows the
    `curve` of the released rows, if given, and what the custodian says `about` the release. The
    file of `costs` is for the custodian only, so only the owner can read it. A `certificate` is
    written beside the release, under its name and .intoto.json, and so is a `description` of its
    columns, with .datapackage.json instead of its ending, unless that is switched off. Text that a
    spreadsheet would run as a formula gets a leading apostrophe, unless `defuse` is off.

    The release is combined with all earlier ones in the `register` (the custodian's own, unless a
    path is given) and recorded there; with False, neither happens. The report says what holds for
    the combination. If that is less than required and `refuse_composition` is set (by default, as
    in the schema), nothing is written. An earlier release to the same path counts as published,
    unless `replace` says that it never left this machine. `after` is an earlier release that must
    be in the register: its file or folder, its certificate, or its SHA-256.
    """

    report: str | Path | Sequence[str | Path] | None
    costs: str | Path | None
    certificate: bool
    description: bool
    curve: Costs | None
    about: About | None
    defuse: bool
    register: str | Path | Literal[False] | None
    refuse_composition: bool | None
    replace: bool
    after: str | Path | None


@dataclass(frozen=True, eq=False)
class Destination:
    """Where a release goes, and what is written with it."""

    path: str | Path
    reports: tuple[str | Path, ...] = ()
    costs: str | Path | None = None
    certificate: bool = False
    description: bool = True
    curve: Costs | None = None
    about: About | None = None
    defuse: bool = True
    register: str | Path | Literal[False] | None = None
    refuse_composition: bool | None = None
    replace: bool = False
    after: frozenset[str] = frozenset()  # the SHA-256 of an earlier release, in its possible forms

    @classmethod
    def of(cls, path: str | Path, **writing: Unpack[Writing]) -> "Destination":
        """Check the names of all files."""
        rest: dict[str, Any] = {**writing}
        report = rest.pop("report", None)
        reports = [report] if isinstance(report, str | Path) else report or []
        after = rest.pop("after", None)
        forms = frozenset[str]() if after is None else digests_of(after)
        made = cls(path, tuple(reports), after=forms, **rest)
        for name in made.reports:
            refuse_format(name)
        if made.costs is not None and Path(made.costs).suffix.lower() != ".csv":
            raise UsageError("the file name of the costs must end in .csv")
        return made

    @property
    def companions(self) -> list[str | Path]:
        """The files beside the release."""
        more = [certificates.path_for(self.path)] if self.certificate else []
        described = [] if self.described is None else [self.described]
        return [*self.reports, *self.private, *more, *described]

    @property
    def described(self) -> Path | None:
        """The path of the description, if there is to be one."""
        return descriptions.path_for(self.path) if self.description else None

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


class WrittenRelease(Protocol):
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

    def publish(self, written: WrittenRelease, to: Destination, outputs: Outputs) -> Report:
        """Write the files beside a release, and give all of them their names."""
        trace = self.trace
        if trace is not None and not trace.incomparable and trace.rows != self.verdict.rows:
            raise ViolationError("the register would record other rows than are released")
        refuse_lacking(to, None if trace is None else trace.owner)
        shown = self.schema.names(Role.SENSITIVE, Role.INSENSITIVE)
        with remember(
            *(to.register, self.trace),
            path=None if to.path == files.STREAM else str(to.path),
            sha256=written.output.sha256,
            request=self.report.request | {"quasi": [*self.schema.quasi], "shown": shown},
            demand=self._demand(to),
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
                outputs[certificates.path_for(to.path)].write(statement)
            if to.described is not None:
                outputs[to.described].write(self._description(report, written, to))
            with entry.publishing():
                outputs.publish()
        return report

    def _demand(self, to: Destination) -> Demand:
        """What is asked of all releases combined."""
        if to.refuse_composition:
            return "refuse"
        required = self.schema.require.composition
        if required == "follow" and self.schema.require.shrunk == "keep":
            return "follow with the shrunk"
        lenient = required == "refuse" and to.refuse_composition is False
        return "warn" if lenient else required

    def _statement(
        self, report: Report, pages: Mapping[str | Path, bytes], written: WrittenRelease
    ) -> bytes:
        """The certificate."""
        return certificates.statement(
            {name: one.sha256 for name, one in written.digests.items()},
            *(report, pages, self.schema, self.requirements),
            *(written.cells(certified(self.schema, self.requirements)), self.verdict),
        )

    def _description(self, report: Report, written: WrittenRelease, to: Destination) -> bytes:
        """The description of the released columns."""
        assert report.output is not None
        return descriptions.description(
            *(written.digests, report, self.schema, self.requirements),
            written.cells(certified(self.schema, self.requirements)),
            None if report.output.files is None else Path(to.path).name,
        )


def digests_of(release: str | Path) -> frozenset[str]:
    """The SHA-256 of a release as a register may have it: by its files, certificate or digest."""
    if isinstance(release, str) and _SHA256.fullmatch(release):
        return frozenset({release})
    if str(release).endswith(certificates.ENDING):
        from covey.report import checking

        known = {name: Digest(0, one) for name, one in checking.read(release).release.items()}
        whole = Digest.of_all(known)  # a folder, perhaps of one file
        return frozenset({whole.sha256, *(one.sha256 for one in known.values() if len(known) == 1)})
    whole = Digest.of_all(digests(release)) if Path(release).is_dir() else Digest.of(release)
    return frozenset({whole.sha256})


def refuse_lacking(to: Destination, key: Key | None) -> None:
    """Refuse a release that comes after one that the register lacks."""
    if not to.after:
        return
    register = Register.of(to.register, key)
    if register is None:
        raise UsageError("after needs the register: omit register=False (--no-register)")
    register.refuse_lacking(to.after)


_SHA256 = re.compile("[0-9a-f]{64}")


def certified(schema: Schema, requirements: Sequence[Requirement]) -> list[str]:
    """The sensitive columns whose distinct cells a certificate describes."""
    compared = {r.on for r in requirements if isinstance(r, AlphaK)}
    return [
        name
        for name in schema.names(Role.SENSITIVE)
        if name in compared or schema.columns[name].taxonomy is not None
    ]


# ── a release in memory ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False, repr=False)
class Kept:
    """What only the custodian may see: who shares a group, and what writing the files needs.

    Of the original it holds the loss of each released row, and no cell. Only if rows form no
    classes does the verifier hold more, since it then needs the original.
    """

    groups: Groups | Rings
    people: Selection  # the rows of the input that no missing-value policy dropped
    origins: Selection  # the input row of each released row
    losses: RowLosses  # of each released cell
    released: Table
    schema: Schema
    requirements: tuple[Requirement, ...]
    judge: Callable[[Table], Verdict]
    trace: Footprint | None  # what the register will record; None if it will record nothing
    gap: float | None  # how far the loss is above the least possible at most, as a share of it
    inputs: tuple[str | Path, ...]  # files that no output may replace


@dataclass(frozen=True, eq=False)
class Release:
    """A table that meets the requirements, and what the custodian may want to know about it.

    A copy, pickled or not, holds only what may be published: the table, the verdict, the report.
    """

    verdict: Verdict
    report: Report
    _kept: Kept | None

    @cached_property
    def table(self) -> Any:
        """The released table, of the same kind as the input."""
        released = self._own.released
        return released.give_back(released.frame)

    def __repr__(self) -> str:
        # The default repr of a dataclass would show cells, even original ones.
        rows, checks = self.report.rows, self.verdict.checks
        kept = ", ".join(f"{check.name} {check.achieved:g}" for check in checks)
        return f"Release({rows.released:,} of {rows.read:,} rows by {self.report.method}, {kept})"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "table": self.table, "_kept": None}

    @property
    def is_published(self) -> bool:
        """Whether its files have been written."""
        return self.report.output is not None

    @property
    def _own(self) -> Kept:
        if self._kept is None:
            raise UsageError(
                "this release has no table in memory: read its files, or use the release that "
                "covey.anonymize returned, not a copy"
            )
        return self._kept

    @property
    def schema(self) -> Schema:
        """The schema that the release was made by, drafted or given."""
        return self._own.schema

    @property
    def groups(self) -> Groups | Rings:
        """The groups of the input's rows; -1 for a row that is not in the release."""
        return self._own.groups

    @property
    def rows(self) -> Longs:
        """The input row of each released row; for the custodian only."""
        return self._own.origins.rows

    @property
    def gap(self) -> float | None:
        """How far the loss is above the least possible for k at most; for the custodian only.

        0.5 says that no groups of k rows can lose less than two thirds of it, and 0 that none can
        lose less. It is computed with the effort "best" or a budget, if it takes no longer than
        some seconds, no row is suppressed and no number is on a grid; otherwise None. It is a
        figure of the original rows that does not follow from the release, so no report shows it.
        """
        return self._own.gap

    @property
    def costs(self) -> pl.DataFrame:
        """The loss of each row of the input; for the custodian only.

        One line per row: its number from 0, the label of its group, its loss, and the weighted
        share of each quasi-identifier in it. The sums are those of the report. A suppressed row has
        the label -1 and has lost everything. A row dropped by the missing-value policy has neither
        label nor loss. There are no cells in it, but it reveals which rows share a group.
        """
        own = self._own
        weights = own.losses.weights  # the loss of a suppressed row
        losses = np.tile(list(weights.values()), (own.people.total, 1))
        losses[own.origins.rows] = own.losses.each(own.released)
        every = pl.DataFrame(
            {
                "row": np.arange(own.people.total, dtype=np.int64),
                "group": own.groups.labels,
                "loss": losses.sum(axis=1),
                **{f"loss_{name}": losses[:, j] for j, name in enumerate(weights)},
            }
        )
        kept = pl.col("row").is_in(own.people.rows)
        return every.with_columns(pl.when(kept).then(pl.exclude("row")))

    def combined(self, register: str | Path | None = None) -> Composition:
        """What would hold together with all releases in the register; this one is not entered."""
        own, known = self._own, Register.of(register)
        if own.trace is None or known is None:
            raise UsageError("the release was made with register=False: nothing can be compared")
        found = Register(known.path, own.trace.owner)
        return found.combined(own.trace) or Composition(own.trace.k)

    def workload(
        self, original: Any, *, class_column: str | None = None, queries: int = 1000, seed: int = 0
    ) -> Workload:
        """Measure how useful this release is for counting people and predicting their class.

        `original` is the table it was made from. The classifier needs scikit-learn, which comes
        with the extra `covey[workload]`.
        """
        own = self._own
        people = people_as_read(tables.original(original, own.schema, Role.QUASI), own.schema)
        if class_column is not None:
            refuse_class_column(own.schema, class_column)
        return workload(
            View.of(own.released, encode(people.table, own.schema)),
            np.searchsorted(people.selection.rows, self.rows),
            None if class_column is None else people.table.frame[class_column],
            queries=queries,
            seed=seed,
        )

    def write(
        self,
        path: str | Path,
        *,
        outputs: files.Drafts | None = None,
        **writing: Unpack[Writing],
    ) -> Report:
        """Write the release and the files beside it, after verifying its bytes; see `Writing`.

        The release is written under a temporary name, read back and verified. Only then do all
        files get their names, in one step. `outputs` are the drafts of all these files, if they are
        already open. The returned report is that of the written release.
        """
        to = Destination.of(path, **writing)
        tables.writer_of(Path(path).name)
        self._refuse_impossible(to)
        if outputs is not None:
            return self.published(to, outputs)
        with files.Drafts(path, *to.companions, private=to.private) as made:
            return self.published(to, made)

    def published(self, to: Destination, outputs: Outputs) -> Report:
        """Write the release to its draft, judge its bytes with the schema alone, and publish it."""
        own = self._own
        written = WrittenTable.of(self._described(to), own.schema, to, outputs)
        verdict = self.verdict if written.shows(own.released) else own.judge(written.table)
        verdict.raise_if_violated()
        costs = None if to.costs is None else self.costs
        proven = Proven(self.report, verdict, own.schema, own.requirements, own.trace, costs)
        return proven.publish(written, to, outputs)

    def _described(self, to: Destination) -> Table:
        """The released table, with its description if the file can hold one."""
        own, format = self._own, tables.writer_of(Path(to.path).name)
        if to.described is None or format != "parquet":
            return own.released
        facts = self.report, own.schema, own.requirements, own.released
        return replace(own.released, description=descriptions.carried(*facts, format))

    def _refuse_impossible(self, to: Destination) -> None:
        own = self._own
        if to.certificate and isinstance(own.groups, Rings):
            raise UsageError(UNCERTAIN)
        if own.trace is None and to.register:
            raise UsageError(
                "the release was made with register=False, so no register can record it"
            )
        refuse_curve_of_others(to.curve, self.report.rows)
        register = Register.of(to.register)
        kept = () if register is None else (register.path,)
        files.refuse_overwriting([to.path, *to.companions], [*own.inputs, *kept])


@dataclass(frozen=True, eq=False, repr=False)
class WrittenTable:
    """A table in its draft, as it is read back."""

    table: Table
    output: Output
    digests: Mapping[str, Digest]

    @classmethod
    def of(
        cls, released: Table, schema: Schema, to: Destination, outputs: Outputs
    ) -> "WrittenTable":
        """Write a table, and read it back with the schema alone."""
        draft, name = outputs[to.path], Path(to.path).name
        with files.output_errors():
            defused = tables.write(released, draft.file, name, defuse=to.defuse)
        data = draft.read()
        again = read_back(data, released, schema)
        output = output_of(data, again.dialect, defused)
        return cls(again, output, {name: Digest(output.bytes, output.sha256)})

    def shows(self, judged: Table) -> bool:
        """Whether its cells are, one by one, those of a table that was judged."""
        same = self.table.dialect.written == judged.dialect.written
        return (
            same
            and self.table.frame.equals(judged.frame)
            and (self.table.frame.schema == judged.frame.schema)
        )

    def cells(self, _: Sequence[str]) -> Table:
        """A table with the distinct cells of these columns."""
        return self.table


def read_back(data: bytes, released: Table, schema: Schema) -> Table:
    """The table in these bytes, by the schema alone; refuse it if it is not what was written."""
    written = TableFormat(**released.dialect.written, header=True, skip=0)
    again = tables.from_bytes(data, schema, written)
    ours, theirs = released.frame, again.frame
    same = ours.height == theirs.height and released.description == again.description
    if not same or ours.columns != theirs.columns:
        raise ViolationError("a written table has lost rows or columns: nothing is published")
    if not tables.format_of(data).endswith("csv"):  # covey itself spells the cells of a CSV file
        tables.refuse_changed(released, again)
    return again


def refuse_uncertain(method: str | Callable[..., Any] | Method) -> None:
    """Refuse a certificate if others could not check the release."""
    if not as_method(method).alike:
        raise UsageError(UNCERTAIN)


def output_of(data: bytes, dialect: Dialect, defused: int) -> Output:
    """The figures of a released file."""
    digest = hashlib.sha256(data).hexdigest()
    return Output(tables.format_of(data), len(data), digest, dialect.written, defused)
