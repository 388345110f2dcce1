"""A verified release, and how to write it."""

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from covey import tables
from covey._core.arrays import Longs
from covey.clustering import Method, as_method
from covey.clustering.request import refuse_class_column
from covey.custody.footprints import Footprint
from covey.custody.ordering import people_as_read
from covey.custody.register import Register, remember
from covey.encoding import encode
from covey.encoding.groups import Groups, Rings
from covey.encoding.selection import Selection
from covey.errors import UsageError, ViolationError
from covey.generalisation import View
from covey.measures.loss import RowLosses
from covey.measures.workload import Workload, workload
from covey.report import About, Costs, Output, Report, refuse_curve_of_others, refuse_format
from covey.report import certificate as certificates
from covey.schema import Role, Schema, TableFormat
from covey.schema.requirements import Requirement
from covey.tables import Table, files
from covey.tables.csv_files import Dialect
from covey.verification import Verdict

UNCERTAIN = (
    "a certificate is not possible for this method: only someone with the original table can check "
    "the release"
)


@dataclass(frozen=True, eq=False, repr=False)
class Kept:
    """What only the custodian may see: who shares a group, and what writing the files needs.

    Of the original it holds the loss of each released row, and no cell. Only if rows form no
    classes does the verifier hold more, since it then needs the original.
    """

    groups: Groups | Rings
    people: Selection  # the rows of the input that no missing-value policy dropped
    behind: Selection  # the input row of each released row
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
    def _own(self) -> Kept:
        if self._kept is None:
            raise UsageError(
                "this is a copy of a release: use the one that covey.anonymize returned"
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
        return self._own.behind.rows

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
        losses[own.behind.rows] = own.losses.each(own.released)
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

    def write(  # noqa: PLR0913 - each is an output or a safeguard that the custodian may choose
        self,
        path: str | Path,
        *,
        report: str | Path | Sequence[str | Path] | None = None,
        costs: str | Path | None = None,
        certificate: bool = False,
        curve: Costs | None = None,
        about: About | None = None,
        defuse: bool = True,
        register: str | Path | Literal[False] | None = None,
        refuse_composition: bool | None = None,
        outputs: files.Outputs | None = None,
    ) -> Report:
        """Write the release and the files beside it, after verifying its bytes.

        The release is written under a temporary name, read back and verified. Only then do all
        files get their names, in one step. Text that a spreadsheet would run as a formula gets a
        leading apostrophe, unless `defuse` is off. A report is a web page if its name ends in
        .html, and JSON if in .json; it shows the `curve` of the released rows, if given, and what
        the custodian says `about` the release. The file of `costs` is for the custodian only, so
        only the owner can read it. A `certificate` is written beside the release, under its name
        and .intoto.json. `outputs` are the drafts of all these files, if they are already open.

        Before that, the release is combined with all earlier ones in the `register` (the
        custodian's own, unless a path is given) and recorded there; with False, neither happens.
        The returned report says what holds for the combination. If that is less than required and
        `refuse_composition` is set (by default, as in the schema), nothing is written.
        """
        own = self._own
        if certificate and isinstance(own.groups, Rings):
            raise UsageError(UNCERTAIN)
        if own.trace is None and register:
            raise UsageError(
                "the release was made with remember=False, so no register can record it"
            )
        refuse_curve_of_others(curve, self.report.rows)
        reports = [report] if isinstance(report, str | Path) else list(report or ())
        beside = companions(path, reports, costs, certificate=certificate)
        self._refuse_overwriting([path, *beside], register)
        with contextlib.ExitStack() as stack:
            if outputs is None:
                private = [name for name in (costs,) if name is not None]
                outputs = stack.enter_context(files.outputs(path, *beside, private=private))
            again, verdict, output = self._written(path, outputs, defuse=defuse)
            entry = stack.enter_context(
                remember(
                    *(register, own.trace),
                    path=None if path == files.STREAM else str(path),
                    sha256=output.sha256,
                    request=self.report.request,
                    refuse=own.schema.require.composition == "refuse"
                    if refuse_composition is None
                    else refuse_composition,
                )
            )
            told = replace(self.report, output=output, curve=curve, about=about)
            told = told.composed(entry.composition, entry.warnings)
            pages = {name: told.written_as(name) for name in reports}
            for name, page in pages.items():
                outputs[name].write(page)
            if costs is not None:
                outputs[costs].write(self.costs.write_csv().encode())
            if certificate:
                statement = certificates.statement(
                    *({Path(path).name: output.sha256}, told, pages, own.schema),
                    *(own.requirements, again, verdict),
                )
                outputs[certificates.beside(path)].write(statement)
            with entry.publishing():
                outputs.publish()
        return told

    def _refuse_overwriting(
        self, paths: Sequence[str | Path], register: str | Path | Literal[False] | None
    ) -> None:
        known = Register.of(register)
        kept = () if known is None else (known.path,)
        files.refuse_overwriting(paths, [*self._own.inputs, *kept])

    def _written(
        self, path: str | Path, outputs: files.Outputs, *, defuse: bool
    ) -> tuple[Table, Verdict, Output]:
        """Write the table to its draft, and verify the bytes with the schema alone."""
        own, draft = self._own, outputs[path]
        with files.output_errors():
            changed = tables.write(own.released, draft.file, Path(path).name, defuse=defuse)
        data = draft.read()
        written = TableFormat(**own.released.dialect.written, header=True, skip=0)
        again = tables.from_bytes(data, own.schema, written)
        ours, theirs = own.released.frame, again.frame
        if (ours.height, ours.columns) != (theirs.height, theirs.columns):
            raise ViolationError("the written table has lost rows or columns: it is not published")
        output = output_of(data, again.dialect, changed)
        if not output.format.endswith("csv"):  # covey itself spells the cells of a CSV file
            tables.refuse_changed(own.released, again)
        verdict = own.judge(again)
        verdict.raise_if_violated()
        return again, verdict, output


def companions(
    path: str | Path,
    reports: Sequence[str | Path] = (),
    costs: str | Path | None = None,
    *,
    certificate: bool = False,
) -> list[str | Path]:
    """The files beside a release; refuse a name that does not fit its content."""
    tables.writer_of(Path(path).name)
    for name in reports:
        refuse_format(name)
    if costs is not None and Path(costs).suffix.lower() != ".csv":
        raise UsageError("the file name of the costs must end in .csv")
    more = [name for name in (costs,) if name is not None]
    return [*reports, *more, *([certificates.beside(path)] if certificate else [])]


def refuse_uncertain(method: str | Callable[..., Any] | Method) -> None:
    """Refuse a certificate if others could not check the release."""
    if not as_method(method).alike:
        raise UsageError(UNCERTAIN)


def output_of(data: bytes, dialect: Dialect, defused: int) -> Output:
    """The figures of a released file."""
    digest = hashlib.sha256(data).hexdigest()
    return Output(tables.format_of(data), len(data), digest, dialect.written, defused)
