"""A table in memory: one part, and nothing on the disk.

Before clustering, rows are sorted by their content and the custodian's key alone. Released rows are
sorted by their released content alone. So no position reveals anything, and any permutation of the
input gives the same release.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from covey import tables
from covey.clustering import refuse_infeasible
from covey.clustering.objectives import LOSS
from covey.clustering.optimum import least_loss
from covey.clustering.progress import Progress
from covey.clustering.request import Request
from covey.custody import following
from covey.custody.atoms import ALONE
from covey.custody.following import Together
from covey.custody.footprints import Footprint, Tracer
from covey.custody.ordering import Content, KeptRows, Secret, people_as_read
from covey.encoding import EncodedTable, Values, encode_values
from covey.encoding.encode import class_codes, domain_of
from covey.encoding.groups import SUPPRESSED, Groups, Rings
from covey.encoding.selection import Selection
from covey.engines import part
from covey.engines.part import Grouping, leaving_order
from covey.engines.run import Measured, Order
from covey.errors import UsageError
from covey.generalisation import Originals, View, cells_of, filled_in, with_cells
from covey.inspection.persons import Doubts, whose_rows
from covey.inspection.repeating import refuse_unsaid, with_dropped
from covey.measures import loss
from covey.measures.entropy import InGroups
from covey.measures.histograms import PersonCounts, rows_of
from covey.measures.loss import Losses, RowLosses
from covey.release import Kept, Outputs, Release
from covey.report import Report, Rows
from covey.report.carried import Carried
from covey.schema import Role, Schema
from covey.tables import Table, files
from covey.tables.csv_files import Dialect
from covey.tables.strays import notes_of, refuse_undecided
from covey.verification import Verdict, rings, verify

if TYPE_CHECKING:
    from covey.measures.utility import Utility


@dataclass(frozen=True, eq=False, repr=False)
class MemoryTable:
    """A table that is read as a whole."""

    place: Any

    def outputs(self, order: Order) -> AbstractContextManager[Outputs | None]:
        """Drafts of all outputs, removed at the end unless they were published."""
        to = order.to
        if to is None:
            return nullcontext()
        tables.writer_of(Path(to.path).name)
        return files.Drafts(to.path, *to.companions, private=to.private)

    @contextlib.contextmanager
    def running(self, order: Order, progress: Progress) -> Iterator["Memory"]:
        """The stages over this table."""
        yield Memory(self.place, order, progress)


@dataclass(eq=False, repr=False)
class Memory:
    """The stages of a release in memory."""

    place: Any
    order: Order
    progress: Progress
    read: Table | None = field(init=False)  # as read; only a register needs these cells
    table: Table = field(init=False)
    persons: Mapping[str, pl.Series] = field(init=False)
    people: "Prepared" = field(init=False)
    formed: Groups | Rings = field(init=False)
    together: Together = following.NONE

    def survey(self) -> Doubts:
        """Read the table."""
        schema, requirements = self.order.schema, self.order.request.requirements
        read = tables.read(self.place, schema)
        refuse_undecided(read.strays, schema.table)
        self.table = tables.original(read, schema, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
        doubts = refuse_unsaid(with_dropped(self.table, read, schema), schema, requirements)
        self.persons = whose_rows(self.table, schema, self.order.request.persons)
        self.read = read if self.order.remember else None
        return doubts._replace(notes=(*notes_of(read.left_out), *doubts.notes))

    def divide(self) -> None:
        """Encode the rows, as one part."""
        order, people = self.order, people_as_read(self.table, self.order.schema)
        atoms = None
        if (earlier := order.following) is not None:
            assert self.read is not None
            tracer, rows = _tracer(order, self.read), people.selection.rows
            if not tracer.who:
                raise UsageError(
                    following.NOT_TOLD.format(earlier.composition)
                    + following.hint(self.read, tracer)
                )
            hashes = {name: tracer.people(self.read, rows, name) for name in tracer.who}
            self.together = earlier.together(tracer, hashes)
            atoms = self.together.of_rows(hashes[self.together.name])
            if earlier.only_new:
                people, atoms = people.take(Selection.where(atoms == ALONE)), None
        self.people = prepared(people, order.schema, order.request, order.secret, self.persons)
        self.people = replace(self.people, encoded=replace(self.people.encoded, atoms=atoms))
        self.table = _slim(self.table, order.schema)

    def form(self) -> None:
        """Form the groups."""
        self.formed = form_groups(self.people, self.order.request, self.progress)

    def show(self, _: Outputs | None) -> "TableDraft":
        """Generalise the groups."""
        return TableDraft.of(self)


@dataclass(eq=False, repr=False)
class TableDraft:
    """Released rows, not yet published; of suppressed rows it holds only the number."""

    run: Memory
    encoded: EncodedTable
    groups: Groups | Rings
    people: Selection  # the input row of each encoded row
    origins: Selection  # the input row of each released row
    released: Table
    judge: Callable[[Table], Verdict] = field(init=False)
    measured: Measured = field(init=False)
    trace: Footprint | None = None

    @classmethod
    def of(cls, run: Memory) -> "TableDraft":
        """Generalise; from here on, no label, scale or frequency depends on unreleased rows."""
        encoded, selection, table = run.people.encoded, run.people.selection, run.table
        schema, request = run.order.schema, run.order.request
        if run.formed.suppressed:
            kept = Selection.released(run.formed)
            encoded = encoded.take(kept.rows).within(schema, table.dialect)
            selection = selection.then(kept)
        groups = run.formed.released()
        cells = cells_of(encoded, groups, table.dialect, request.style)
        place = np.full(selection.total, SUPPRESSED, dtype=np.int64)  # of each input row
        place[selection.rows] = groups.place
        carried = table.frame.select(schema.names(Role.SENSITIVE, Role.INSENSITIVE))
        shown = pl.DataFrame([column for columns in cells.values() for column in columns])
        if request.keep_order:
            rows = np.flatnonzero(place >= 0)
        else:
            # So that not even the custodian's numbers of equal rows follow the input.
            ties = np.random.default_rng((run.people.seed, _TIES)).permutation(len(place))
            rows = leaving_order(shown, place, carried, ties)
        released = table.with_frame(with_cells(table.frame[rows], cells, place[rows]))
        origins = Selection(rows, selection.total)
        return cls(run, encoded, groups, selection, origins, released)

    def __post_init__(self) -> None:
        self.judge = self._judge()

    def _judge(self) -> Callable[[Table], Verdict]:
        """The verifier: from the cells alone, or with the original if rows form no classes."""
        schema, request = self.run.order.schema, self.run.order.request
        if isinstance(self.groups, Groups):
            owners = _of(self.origins, self.run.persons)
            numbers = {name: _numbered(cells) for name, cells in owners.items()}
            return partial(verify, schema=schema, require=request.requirements, persons=numbers)
        if request.constrained:
            raise UsageError("this method can meet only k: remove the other requirements")
        return partial(
            rings.verify_rings,
            schema=schema,
            original=self.encoded,
            rings=self.groups,
            rows=np.searchsorted(self.people.rows, self.origins.rows),
            k=request.k,
        )

    @property
    def dialect(self) -> Dialect:
        """How the table is written."""
        return self.released.dialect

    @property
    def _alike(self) -> bool:
        return isinstance(self.groups, Groups)

    def verdict(self) -> Verdict:
        """Judge the rows by their cells."""
        return self.judge(self.released)

    def measure(self) -> Measured:
        """Measure what the rows have lost."""
        run, request = self.run, self.run.order.request
        read, kept = run.table.frame.height, len(run.people.selection.rows)
        rows = Rows.counted(read, kept, run.formed.suppressed, run.together.known)
        originals = Originals.of(self.encoded, self.groups)
        target = request.class_column
        view = View.of(self.released, self.encoded, class_column=target, originals=originals)
        people = next(iter(_of(self.people, run.persons).values()), None)
        persons = None if people is None else PersonCounts.of(people, self.encoded)
        self.measured = Measured(
            view,
            Carried.of(self.released, run.order.schema, _of(self.origins, run.persons)),
            losses_of(view, self.encoded, self.groups, rows.suppressed, k=request.k),
            rows,
            persons,
            {a.name: filled_in(a, self.groups) for a in self.encoded.attributes},
            [
                *(each.note(self.origins.rows, request.k) for each in run.table.mended),
                *run.together.notes,
            ],
            self._alike,
            self._utility(rows_of(request.k, persons)) if run.order.utility else None,
        )
        return self.measured

    def _utility(self, least: int) -> "Utility":
        """What the rows are good for; it takes the original, which is read again."""
        from covey.reading.comparing import utility_reported

        order = self.run.order
        return utility_reported(self.run.place, self.released, order.schema, least)

    def remember(self) -> None:
        """Make the hashes for the register: a release holds no cell of the original."""
        read, order = self.run.read, self.run.order
        assert read is not None
        shown, rows = self.released.frame, self.origins.rows
        self.trace = _tracer(order, read).footprint(read, shown, rows, alike=self._alike)
        self.run.read = None

    def release(self, verdict: Verdict, report: Report, _: Outputs | None) -> Release:
        """The release, not yet published."""
        order, selection = self.run.order, self.run.people.selection
        kept = Kept(
            groups=selection.back(self.run.formed),
            people=selection,
            origins=self.origins,
            losses=RowLosses.of(self.measured.view),
            released=self.released,
            schema=order.schema,
            requirements=order.request.requirements,
            judge=self.judge,
            trace=self.trace,
            gap=_gap(order.request, self.encoded, self.groups, self.measured.losses),
            inputs=tuple(order.inputs),
        )
        return Release(verdict, report, kept)


def _tracer(order: Order, read: Table) -> Tracer:
    return Tracer(order.key, order.schema, order.request.size, read.frame.columns)


def _gap(
    request: Request, table: EncodedTable, groups: Groups | Rings, losses: Losses
) -> float | None:
    """How far the loss is above the least possible at most, if the best groups were asked for."""
    if not request.wants_best or request.aim != LOSS or isinstance(groups, Rings):
        return None
    # On a grid, or if rows are suppressed, the release is measured by another scale.
    if losses.suppressed or not math.isclose(LOSS.cost(table, groups), losses.total_il):
        return None
    least = least_loss(table, groups, request.k)
    if least is not None and losses.total_il <= least * (1 + 1e-8):  # less than that is rounding
        return 0.0
    return losses.total_il / least - 1 if least else None


def losses_of(
    view: View, original: EncodedTable, groups: Groups | Rings, suppressed: int, *, k: int | None
) -> Losses:
    """What a release of groups has lost."""
    alike = isinstance(groups, Groups)
    in_groups = InGroups.of(original, groups) if isinstance(groups, Groups) else None
    return loss.measure(view, suppressed=suppressed, k=k, classes=alike, in_groups=in_groups)


@dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """The rows that no missing-value policy drops, ready for a method, in the input's order."""

    encoded: EncodedTable
    others: pl.DataFrame  # the columns that order rows with equal quasi-identifiers
    selection: Selection  # of the input's rows
    seed: int


def prepared(
    people: KeptRows,
    schema: Schema,
    request: Request,
    secret: Secret,
    persons: Mapping[str, pl.Series],
    seeded: Sequence[Any] | None = None,
) -> Prepared:
    """Encode the rows and draw the seed; `persons` identify the person of each input row."""
    refuse_too_few(people, request)
    values = Values.of(people.table, schema, request.seen(schema))
    content = Content.of(secret.hasher(schema)(values))
    seed = secret.seed_of(content, schema, request.seeded if seeded is None else seeded)
    owners = secret.person_hasher(list(persons))(_of(people.selection, persons))
    with people.table.locating():
        domain = domain_of(values, schema, people.table.dialect)
        encoded = encode_values(
            values, domain, schema, require=request.requirements, persons=owners
        )
    if request.class_column is not None:
        codes = class_codes(people.table, request.class_column)
        encoded = replace(encoded, classes=codes)
    frame, identifiers = people.table.frame, schema.names(Role.IDENTIFIER)
    carried = sorted({*frame.columns} - {*schema.quasi} - {*identifiers})
    # Identifiers come last: they order people who are equal in everything else.
    others = [frame[name] for name in carried]
    others += [cells.alias(f"\0{name}") for name, cells in owners.items()]
    others += [frame[name] for name in sorted({*identifiers} & {*frame.columns})]
    return Prepared(encoded, pl.DataFrame(others), people.selection, seed)


def refuse_too_few(people: KeptRows, request: Request) -> None:
    """Refuse a table with fewer rows than k."""
    if not people.table.frame.height:
        raise UsageError("the table has no rows to release")
    refuse_infeasible(people.table.frame.height, request.k)


def form_groups(people: Prepared, request: Request, progress: Progress) -> Groups | Rings:
    """Groups that meet every requirement."""
    table, seed = people.encoded, people.seed

    def form(request: Request) -> Grouping[Groups | Rings]:
        return part.form(table, people.others, request, seed, progress)

    def settle(first: Grouping[Groups | Rings]) -> Grouping[Groups | Rings]:
        assert isinstance(first.groups, Groups)
        released = part.by_frequencies(table, first.outcome.released)
        return part.settle(released, people.others, first.groups, request, seed, progress)

    return part.chosen(request, form, settle).groups


def _slim(table: Table, schema: Schema) -> Table:
    """The table without what is encoded or never released: such columns are now placeholders."""
    carried = schema.names(Role.SENSITIVE, Role.INSENSITIVE)
    nothing = pl.lit(None, dtype=pl.Null)
    shown = [name for name in table.frame.columns if schema.columns[name].role in _RELEASED]
    # All rows stay, even if no column is carried.
    encoded = [nothing.alias(name) for name in shown if name not in carried]
    return replace(table, frame=table.frame.select(shown).with_columns(encoded))


_TIES = 2  # makes these random numbers independent of those that the method draws
_RELEASED = (Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)


def _of(rows: Selection, persons: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
    """The persons of these rows."""
    return {name: rows.of(cells) for name, cells in persons.items()}


def _numbered(persons: pl.Series) -> pl.Series:
    """PersonCounts as the number of their first row: a release keeps these, and no one's name."""
    rows = pl.DataFrame({"who": persons}).with_row_index("row")
    first = pl.when(pl.col("who").is_not_null()).then(pl.col("row").min().over("who"))
    return rows.select(first).to_series()
