"""A verified release, and how to write it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl

from covey import tables
from covey._core.arrays import Longs
from covey.clustering import Method, as_method
from covey.clustering.request import refuse_class_column
from covey.custody.footprints import Footprint
from covey.custody.ordering import people_as_read
from covey.custody.register import Register
from covey.encoding import encode
from covey.encoding.groups import Groups, Rings
from covey.encoding.selection import Selection
from covey.errors import UsageError, ViolationError
from covey.generalisation import View
from covey.measures.loss import RowLosses
from covey.measures.workload import Workload, workload
from covey.publishing import Destination, Outputs, Proven, Writing
from covey.report import Output, Report, refuse_curve_of_others
from covey.schema import Role, Schema, TableFormat
from covey.schema.requirements import Requirement
from covey.tables import Table, files
from covey.tables.csv_files import Dialect
from covey.tables.digests import Digest
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

    def write(
        self,
        path: str | Path,
        *,
        outputs: files.Outputs | None = None,
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
        with files.outputs(path, *to.beside, private=to.private) as made:
            return self.published(to, made)

    def published(self, to: Destination, outputs: Outputs) -> Report:
        """Write the release to its draft, judge its bytes with the schema alone, and publish it."""
        own = self._own
        written = WrittenTable.of(own.released, own.schema, to, outputs)
        verdict = self.verdict if written.shows(own.released) else own.judge(written.table)
        verdict.raise_if_violated()
        costs = None if to.costs is None else self.costs
        proven = Proven(self.report, verdict, own.schema, own.requirements, own.trace, costs)
        return proven.publish(written, to, outputs)

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
        files.refuse_overwriting([to.path, *to.beside], [*own.inputs, *kept])


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
    if (ours.height, ours.columns) != (theirs.height, theirs.columns):
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
