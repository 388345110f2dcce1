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
from typing import Any

import numpy as np
import polars as pl

from covey import tables
from covey.clustering import refuse_infeasible
from covey.clustering.objectives import LOSS
from covey.clustering.optimum import least_loss
from covey.clustering.progress import Progress
from covey.clustering.request import Request
from covey.custody.footprints import Footprint, Tracer
from covey.custody.ordering import Content, People, Secret, people_as_read
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
from covey.measures.histograms import PersonCounts
from covey.measures.loss import Losses, RowLosses
from covey.release import Kept, Outputs, Release
from covey.report import Report, Rows
from covey.report.carried import Carried
from covey.schema import Role, Schema
from covey.tables import Table, files
from covey.tables.csv_files import Dialect
from covey.tables.strays import notes_of, refuse_undecided
from covey.verification import Verdict, rings, verify


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
        return files.Drafts(to.path, *to.beside, private=to.private)

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

    def survey(self) -> Doubts:
        """Read the table."""
        schema, requirements = self.order.schema, self.order.request.requirements
        read = tables.read(self.place, schema)
        refuse_undecided(read.strays, schema.table)
        self.table = tables.original(read, schema, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
        unsaid = refuse_unsaid(with_dropped(self.table, read, schema), schema, requirements)
        self.persons = whose_rows(self.table, schema, self.order.request.persons)
        self.read = read if self.order.remember else None
        return unsaid._replace(notes=(*notes_of(read.left_out), *unsaid.notes))

    def divide(self) -> None:
        """Encode the rows, as one part."""
        order = self.order
        self.people = prepared(self.table, order.schema, order.request, order.secret, self.persons)
        self.table = _slim(self.table, order.schema)

    def form(self) -> None:
        """Form the groups."""
        self.formed = form_groups(self.people, self.order.request, self.progress)

    def show(self, _: Outputs | None) -> "Drafted":
        """Generalise the groups."""
        schema, request = self.order.schema, self.order.request
        draft = _draft(self.people, self.table, schema, self.formed, request)
        return Drafted(self, draft, _judge(schema, request, draft, self.persons))


@dataclass(eq=False, repr=False)
class Drafted:
    """A released table that is not yet published."""

    run: Memory
    draft: "_Draft"
    judge: Callable[[Table], Verdict]
    measured: Measured = field(init=False)
    trace: Footprint | None = None

    @property
    def dialect(self) -> Dialect:
        """How the table is written."""
        return self.run.table.dialect

    def verdict(self) -> Verdict:
        """Judge the rows by their cells."""
        return self.judge(self.draft.released)

    def measure(self) -> Measured:
        """Measure what the rows have lost."""
        run, draft = self.run, self.draft
        table, request, encoded = run.table, run.order.request, draft.encoded
        rows = Rows.counted(
            table.frame.height, len(run.people.selection.rows), run.formed.suppressed
        )
        originals = Originals.of(encoded, draft.groups)
        view = View.of(
            draft.released, encoded, class_column=request.class_column, originals=originals
        )
        whose = next(iter(_of(draft.people, run.persons).values()), None)
        self.measured = Measured(
            view,
            Carried.of(draft.released, run.order.schema, _of(draft.behind, run.persons)),
            losses_of(view, encoded, draft.groups, rows.suppressed, k=request.k),
            rows,
            None if whose is None else PersonCounts.of(whose, encoded),
            {a.name: filled_in(a, draft.groups) for a in encoded.attributes},
            [each.note(draft.behind.rows, request.k) for each in table.mended],
            self._alike,
        )
        return self.measured

    @property
    def _alike(self) -> bool:
        return isinstance(self.draft.groups, Groups)

    def remember(self) -> None:
        """Make the hashes for the register: a release holds no cell of the original."""
        run, order = self.run, self.run.order
        assert run.read is not None
        columns = run.read.frame.columns
        tracer = Tracer(order.key, order.schema, order.request.size, columns)
        draft = self.draft
        self.trace = tracer.footprint(
            run.read, draft.released.frame, draft.behind.rows, alike=self._alike
        )
        run.read = None

    def release(self, verdict: Verdict, report: Report, _: Outputs | None) -> Release:
        """The release, not yet published."""
        order, selection = self.run.order, self.run.people.selection
        kept = Kept(
            groups=selection.back(self.run.formed),
            people=selection,
            behind=self.draft.behind,
            losses=RowLosses.of(self.measured.view),
            released=self.draft.released,
            schema=order.schema,
            requirements=order.request.requirements,
            judge=self.judge,
            trace=self.trace,
            gap=_gap(order.request, self.draft.encoded, self.draft.groups, self.measured.losses),
            inputs=tuple(order.inputs),
        )
        return Release(verdict, report, kept)


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
    table: Table,
    schema: Schema,
    request: Request,
    secret: Secret,
    persons: Mapping[str, pl.Series],
    seeded: Sequence[Any] | None = None,
) -> Prepared:
    """Encode the rows and draw the seed; `persons` identify the person of each input row."""
    people = people_as_read(table, schema)
    refuse_too_few(people, request)
    values = Values.of(people.table, schema, request.seen(schema))
    content = Content.of(secret.hasher(schema)(values))
    seed = secret.seed_of(content, schema, request.seeded if seeded is None else seeded)
    whose = secret.person_hasher(list(persons))(_of(people.selection, persons))
    with people.table.locating():
        domain = domain_of(values, schema, table.dialect)
        encoded = encode_values(values, domain, schema, require=request.requirements, persons=whose)
    if request.class_column is not None:
        codes = class_codes(people.table, request.class_column)
        encoded = replace(encoded, classes=codes)
    frame, identifiers = people.table.frame, schema.names(Role.IDENTIFIER)
    carried = sorted({*frame.columns} - {*schema.quasi} - {*identifiers})
    # Identifiers come last: they order people who are equal in everything else.
    others = [frame[name] for name in carried]
    others += [cells.alias(f"\0{name}") for name, cells in whose.items()]
    others += [frame[name] for name in sorted({*identifiers} & {*frame.columns})]
    return Prepared(encoded, pl.DataFrame(others), people.selection, seed)


def refuse_too_few(people: People, request: Request) -> None:
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


@dataclass(frozen=True, eq=False, repr=False)
class _Draft:
    """The released rows, not yet verified; of suppressed rows it holds only the number."""

    encoded: EncodedTable
    groups: Groups | Rings
    people: Selection  # the input row of each encoded row
    behind: Selection  # the input row of each released row
    released: Table


def _slim(table: Table, schema: Schema) -> Table:
    """The table without what is encoded or never released: such columns are now placeholders."""
    carried = schema.names(Role.SENSITIVE, Role.INSENSITIVE)
    nothing = pl.lit(None, dtype=pl.Null)
    shown = [name for name in table.frame.columns if schema.columns[name].role in _RELEASED]
    # All rows stay, even if no column is carried.
    encoded = [nothing.alias(name) for name in shown if name not in carried]
    return replace(table, frame=table.frame.select(shown).with_columns(encoded))


def _draft(
    people: Prepared, table: Table, schema: Schema, formed: Groups | Rings, request: Request
) -> _Draft:
    """Generalise; from here on, no label, scale or frequency depends on unreleased rows."""
    encoded, selection = people.encoded, people.selection
    if formed.suppressed:
        kept = Selection.released(formed)
        encoded = encoded.take(kept.rows).within(schema, table.dialect)
        selection = selection.then(kept)
    groups = formed.released()
    cells = cells_of(encoded, groups, table.dialect, request.style)
    place = np.full(selection.total, SUPPRESSED, dtype=np.int64)  # of each input row
    place[selection.rows] = groups.place
    carried = table.frame.select(schema.names(Role.SENSITIVE, Role.INSENSITIVE))
    shown_cells = pl.DataFrame([column for columns in cells.values() for column in columns])
    if request.keep_order:
        behind = np.flatnonzero(place >= 0)
    else:
        # So that not even the custodian's numbers of equal rows follow the input.
        ties = np.random.default_rng((people.seed, _TIES)).permutation(len(place))
        behind = leaving_order(shown_cells, place, carried, ties)
    shown = with_cells(table.frame[behind], cells, place[behind])
    return _Draft(
        encoded, groups, selection, Selection(behind, selection.total), table.with_frame(shown)
    )


_TIES = 2  # makes these random numbers independent of those that the method draws
_RELEASED = (Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)


def _judge(
    schema: Schema, request: Request, draft: _Draft, persons: Mapping[str, pl.Series]
) -> Callable[[Table], Verdict]:
    """The verifier: from the cells alone, or with the original if rows form no classes."""
    if isinstance(draft.groups, Groups):
        whose = {name: _numbered(cells) for name, cells in _of(draft.behind, persons).items()}
        return partial(verify, schema=schema, require=request.requirements, persons=whose)
    if request.constrained:
        raise UsageError("this method can meet only k: remove the other requirements")
    return partial(
        rings.verify_rings,
        schema=schema,
        original=draft.encoded,
        rings=draft.groups,
        rows=np.searchsorted(draft.people.rows, draft.behind.rows),
        k=request.k,
    )


def _of(rows: Selection, persons: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
    """The persons of these rows."""
    return {name: rows.of(cells) for name, cells in persons.items()}


def _numbered(persons: pl.Series) -> pl.Series:
    """PersonCounts as the number of their first row: a release keeps these, and no one's name."""
    rows = pl.DataFrame({"who": persons}).with_row_index("row")
    first = pl.when(pl.col("who").is_not_null()).then(pl.col("row").min().over("who"))
    return rows.select(first).to_series()
