"""From a table to its verified release, stage by stage.

    read → encode → (order → cluster → repair) → generalise → verify → measure → remember

Before clustering, rows are sorted by their content and the custodian's key alone. Released rows are
sorted by their released content alone. So no position reveals anything, and any permutation of the
input gives the same release.
"""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeGuard

import numpy as np
import polars as pl

from covey import part, tables
from covey.clustering import refuse_infeasible
from covey.clustering.bounds import least_loss
from covey.clustering.efforts import Effort
from covey.clustering.objectives import LOSS
from covey.clustering.objectives import Asked as Objective
from covey.clustering.progress import STOPPED, Progress, silent
from covey.clustering.request import PLAIN, Asked, Request, options_among, required
from covey.custody.footprints import footprint
from covey.custody.keys import Key
from covey.custody.ordering import (
    Content,
    People,
    Secret,
    people_as_read,
)
from covey.encoding import EncodedTable, Values, encode, encode_values
from covey.encoding.encode import class_codes, domain_of
from covey.encoding.groups import SUPPRESSED, Groups, Rings
from covey.encoding.selection import Selection
from covey.errors import SchemaError, UsageError, count
from covey.generalisation import Behind, Style, View, beside, cells_of, filled_in, generalise
from covey.inspection.named import Names, described
from covey.inspection.persons import refuse_unsaid, whose_rows
from covey.measures import loss
from covey.measures.entropy import InGroups
from covey.measures.histograms import Persons
from covey.measures.loss import Losses, RowLosses
from covey.measures.queries import query_error
from covey.part import Grouping, leaving_order
from covey.release import Kept, Release, output_of
from covey.report import About, Costs, Output, Report, Rows, refuse_curve_of_others
from covey.report.carried import Carried
from covey.report.compared import Compared
from covey.report.findings import Findings, Made
from covey.report.headline import Clause
from covey.schema import Role, Schema, TableFormat
from covey.schema.requirements import KAnonymity, Requirement
from covey.tables import Table, formulas, sources
from covey.tables.batches import Batches, batches
from covey.tables.csv_files import Dialect
from covey.tables.strays import refuse_undecided, told_of
from covey.verification import Verdict, rings, verify


def anonymize(  # noqa: PLR0913 - each is a choice of the custodian's
    frame: Any,
    schema: Schema | None = None,
    *,
    quasi: Names | None = None,
    sensitive: Names | None = None,
    identifier: Sequence[str] | None = None,
    insensitive: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    rest: str | None = None,
    k: int | None = None,
    l: Any = None,  # noqa: E741 - its name in the literature
    t: Any = None,
    person: str | Literal[False] | None = None,
    drop_rows: Sequence[str] | None = None,
    keep_rows: Sequence[str] | None = None,
    require: Requirement | Sequence[Requirement] | None = None,
    method: str | Callable[..., Any] = "covey",
    effort: Effort | None = None,
    budget: float | None = None,
    objective: Objective | None = None,
    max_suppressed: float | None = None,
    key: Key | bytes | str | Path | None = None,
    seed: int | None = None,
    class_column: str | None = None,
    refine: bool = False,
    style: Style = PLAIN,
    keep_order: bool = False,
    remember: bool = True,
    progress: Progress = silent,
    **options: Any,
) -> Release:
    """Make a verified release of a table of people.

    `frame` is a path, the address of a database (`::` and a name after either name a part), or a
    dataframe of polars, pandas or pyarrow. The released table is of the same kind (polars for a
    path), and the input is not changed. Without a `schema`, name the columns:
    `quasi` may be known to others and are generalised, `sensitive` and `insensitive` are kept, all
    others are removed (`rest` gives them another role). Types and grids are then drafted as
    `inspect` does; `quasi={"age": {"type": "numeric", "grid": 5}}` sets them.

    `k` is the smallest number of rows in a class, or of persons if `person` names the column that
    identifies them. `l` and `t` map a sensitive column to its l-diversity or t-closeness; a number
    is enough if there is only one. All of them replace those of the schema. `require` takes
    requirements as objects. `drop_rows` and `keep_rows` list kinds of rows that are no people
    ("totals", "headers", "notes", "blank"), to be left out or released as people.

    `objective` is what groups are formed for: "loss", "sse" (means), "discernibility" or
    "classification", or several with weights, as `{"loss": 1, "classification": 0.5}`.

    `method` is a name in `METHODS` or such a function; `effort` ("fast", "quick", "balanced" or
    "best"), `budget` in seconds, `max_suppressed` as a share of the rows, and `options` are its
    options. Random choices are drawn with the custodian's `key` (a file, 32 bytes, or by
    default the one in the user's data folder). The same request gives the same release, and no one
    without the key can repeat it. A `seed` replaces the key in experiments; anyone who guesses it
    can repeat the run. The groups avoid mixing the values of `class_column`, if the method supports
    that. With `refine`, the covey method improves the groups of another method while that lowers
    the loss, or the `objective`. `keep_order` releases the rows in the input's order, which reveals
    whose row is whose to anyone who knows that order. With `remember` off, nothing is computed for
    the register: it takes less time, and writing the release neither compares it with earlier ones
    nor records it.
    """
    roles = {
        "quasi": quasi, "sensitive": sensitive, "identifier": identifier,
        "insensitive": insensitive, "drop": drop, "rest": rest,
    }  # fmt: skip
    models = {"k": k, "l": l, "t": t, "person": person}
    options |= {"effort": effort, "budget": budget, "max_suppressed": max_suppressed}
    options |= options_among(method, models | (roles if schema is not None else {}))
    roles, models = (
        {n: v for n, v in said.items() if n not in options} for said in (roles, models)
    )
    rows = Schema.from_dict(
        {"columns": {}, "table": {"drop_rows": drop_rows, "keep_rows": keep_rows}}
    )
    source, known, doubts = _described(frame, schema, roles, k, rows.table)
    request = Request.of(
        *(known, known.requirements(require, **models), method),
        {name: value for name, value in options.items() if value is not None},
        class_column=class_column,
        refine=refine,
        objective=objective,
        style=style,
        keep_order=keep_order,
    )
    order = _Order(request, known.requiring(**models), key, seed, frame, remember=remember)
    return _release(source, order, doubts, Stages(progress))


def _described(
    frame: Any, schema: Schema | None, roles: Mapping[str, Any], k: int | None, rows: TableFormat
) -> tuple[Any, Schema, list[str]]:
    """The table and its schema, drafted from the roles of its columns if there is none."""
    if schema is None:
        return described(tables.read(frame, declared=rows), **roles, k=k)
    if not isinstance(schema, Schema):
        raise SchemaError("make the schema with covey.Schema.from_toml or covey.Schema.of")
    if any(given is not None for given in roles.values()):
        raise SchemaError("the schema has the roles of the columns: pass either it or their names")
    return frame, schema.model_copy(update={"table": schema.table.declaring(rows)}), []


@dataclass(frozen=True)
class _Order:
    """What a release is made by."""

    request: Request
    schema: Schema
    key: Key | bytes | str | Path | None
    seed: int | None
    place: Any  # the table as the caller named it
    remember: bool


def _release(source: Any, order: _Order, doubts: list[str], stage: "Stages") -> Release:
    """Make a release, stage by stage."""
    request, schema = order.request, order.schema
    with stage("reading"):
        read = tables.read(source, schema)
        refuse_undecided(read.strays, schema.table)
        table = tables.original(read, schema, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
        unsaid = refuse_unsaid(table, schema, request.requirements)
        doubts = [*doubts, *told_of(read.left_out), *unsaid.notes]
        persons = whose_rows(table, schema, request.persons)
        if not order.remember:
            del read  # only a register needs the cells as they were read
    with stage("encoding"):
        custodian = Key.of(order.key)
        secret = Secret(custodian, order.seed)
        people = prepared(table, schema, request, secret, persons)
        table = _slim(table, schema)
    with stage("clustering"):
        formed = form_groups(people, request, stage.tell)
    with stage("generalising"):
        draft = _draft(people, table, schema, formed, request)
    with stage("verifying"):
        judge = _judge(schema, request, draft, persons)
        verdict = judge(draft.released)
        verdict.raise_if_violated()
    with stage("measuring"):
        drawn_under = custodian if order.seed is None else None
        told = (each.told(draft.behind.rows, request.k) for each in table.mended)
        doubts += [each for each in told if each is not None]
        filled = {a.name: filled_in(a, draft.groups) for a in draft.encoded.attributes}
        alike = isinstance(draft.groups, Groups)
        made = Made(request, alike, filled, drawn_under, stage.stopped, doubts)
        rows = Rows.counted(table.frame.height, len(people.selection.rows), formed.suppressed)
        found = _findings(schema, draft, made, verdict, rows, persons)
        found = replace(found, clauses=tuple(map(Clause, unsaid.headline)))
        report = found.report(table.dialect, stage.seconds)
    trace = None
    if order.remember:  # now, since a release holds no cell of the original
        with stage("remembering"):
            trace = footprint(
                *(custodian, read, draft.released.frame, draft.behind.rows, schema, request.size),
                alike=alike,
            )
    kept = Kept(
        groups=people.selection.back(formed),
        people=people.selection,
        behind=draft.behind,
        losses=RowLosses.of(found.view),
        released=draft.released,
        schema=schema,
        requirements=request.requirements,
        judge=judge,
        trace=trace,
        gap=_gap(request, draft.encoded, draft.groups, found.losses),
        inputs=tuple(one for one in (order.place, custodian.path) if _is_place(one)),
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


def cluster(
    frame: Any,
    schema: Schema,
    *,
    k: int,
    method: str | Callable[..., Any] = "covey",
    seed: int = 0,
    class_column: str | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Groups | Rings:
    """Form groups with a method: one label per row of the input, -1 for rows in no group.

    Rows are clustered in the input's order, as the papers describe; `anonymize` sorts them first.
    `progress` is called with each stage as it begins ("reading", "encoding", "clustering") and with
    the share of it that is done. The stage is `STOPPED` if an interrupt ends the work early.
    """
    request = Request.of(schema, [KAnonymity(k)], method, options, class_column=class_column)
    alone = replace(request, requirements=(KAnonymity(k, person=False),))  # groups have k rows
    stage = Stages(progress)
    with stage("reading"):
        people = people_as_read(tables.original(frame, schema, Role.QUASI), schema)
        _refuse_too_few(people, alone)
    with stage("encoding"):
        encoded = encode(people.table, schema, class_column=class_column)
    with stage("clustering"):
        return people.selection.back(alone.cluster(encoded, seed, progress))


def measure(
    original: Any,
    released: Any,
    schema: Schema,
    *,
    k: int | None = None,
    class_column: str | None = None,
    queries: int | None = None,
) -> Losses:
    """Measure what a released table has lost, even if covey did not make it.

    `released` may also be the groups from `cluster`: then the release of these groups is measured.
    With a number of `queries`, the error of counts over the release is measured too.
    """
    asked = schema.require.k if k is None else KAnonymity(k).k
    if isinstance(released, Groups | Rings):
        people = people_as_read(tables.original(original, schema, Role.QUASI), schema)
        view, losses = _shown_by(released, people, schema, asked, class_column)
    else:
        both = _opened(original, released, schema, whole=queries is not None)
        view = both.compared(schema, class_column=class_column).view
        losses = loss.measure(view, k=asked)
    if queries is None:
        return losses
    return replace(losses, queries=query_error(view, queries=queries))


def _shown_by(
    groups: Groups | Rings, people: People, schema: Schema, k: int | None, class_column: str | None
) -> tuple[View, Losses]:
    """The release of these groups, and its losses."""
    kept, total = people.selection, people.selection.total
    shown = groups.labels >= 0
    if len(groups) != total or not shown.any() or shown.sum() != shown[kept.rows].sum():
        raise UsageError(
            f"the groups do not fit this table: they have {count(len(groups), 'row')}; the table "
            f"has {count(total, 'row')}, {len(kept.rows):,} of them not dropped"
        )
    some = people.take(Selection.where(kept.of(shown)))
    encoded, own = encode(some.table, schema), groups.released()
    released = generalise(some.table, encoded, own, PLAIN)
    behind = Behind.of(encoded, own)
    view = View.of(released, encoded, class_column=class_column, behind=behind)
    left_out = len(kept.rows) - int(shown.sum())
    return view, _losses(view, encoded, own, left_out, k=k)


def _losses(
    view: View, original: EncodedTable, groups: Groups | Rings, suppressed: int, *, k: int | None
) -> Losses:
    alike = isinstance(groups, Groups)
    in_groups = InGroups.of(original, groups) if isinstance(groups, Groups) else None
    return loss.measure(view, suppressed=suppressed, k=k, classes=alike, in_groups=in_groups)


def report_on(  # noqa: PLR0913 - what a report may say besides
    original: Any,
    released: Any,
    schema: Schema,
    *,
    k: int | None = None,
    l: Any = None,  # noqa: E741 - its name in the literature
    t: Any = None,
    person: str | Literal[False] | None = None,
    require: Requirement | Sequence[Requirement] | None = None,
    class_column: str | None = None,
    curve: Costs | None = None,
    about: About | None = None,
    progress: Progress = silent,
) -> Report:
    """Report on a released table and its original, even if covey did not make the release.

    `require` are the requirements; by default, those of the schema. The report says whether they
    hold. It begins with what the custodian says `about` the release.
    """
    require = schema.requirements(require, k=k, l=l, t=t, person=person)
    asked = Asked(requirements=required(schema, require), class_column=class_column)
    stage = Stages(progress)
    with stage("reading"):
        both = _opened(original, released, schema)
    with stage("verifying"):
        verdict = verify(both.released, schema, require=asked.requirements)
    with stage("measuring"):
        found = both.compared(schema, class_column=class_column, persons=asked.persons)
        losses = loss.measure(found.view, k=asked.k)
        rows = Rows.counted(found.read, found.view.original.rows, losses.suppressed)
        findings = Findings(
            *(asked, schema, found.view, found.carried, verdict, losses, rows),
            persons=found.persons,
        )
        refuse_curve_of_others(curve, rows)
        more = {"output": both.output, "curve": curve, "about": about}
        return findings.report(both.released.dialect, stage.seconds, **more)


@dataclass(frozen=True, eq=False, repr=False)
class _Opened:
    """An original and a release; both in memory, or both in batches."""

    original: Table | Batches
    released: Table | Batches
    output: Output | None  # of a release that is one file

    def compared(self, schema: Schema, **more: Any) -> Compared:
        if isinstance(self.original, Batches) and isinstance(self.released, Batches):
            return Compared.in_batches(self.original, self.released, schema, **more)
        assert isinstance(self.original, Table)
        assert isinstance(self.released, Table)
        return Compared.in_memory(self.original, self.released, schema, **more)


def _opened(original: Any, released: Any, schema: Schema, *, whole: bool = False) -> _Opened:
    """Open both tables: in batches if one is in many files, unless they are needed `whole`."""
    if whole or not (_is_many(original) or _is_many(released)):
        table = tables.original(original, schema, Role.QUASI)
        return _Opened(table, *_read_release(released, schema, table.dialect))
    before = batches(original, schema)
    declared = _as_released(schema, before.dialect)
    if not _is_many(released):
        shown, output = _read_release(released, schema, before.dialect)
        return _Opened(before, batches(shown, schema, declared=declared), output)
    return _Opened(before, batches(released, schema, declared=declared), None)


def _is_many(source: Any) -> bool:
    """Whether this is a folder or pattern of files, or opened in batches already."""
    if isinstance(source, Batches):
        return True
    return isinstance(source, str | Path) and sources.of(source).is_many


def _as_released(schema: Schema, dialect: Dialect) -> TableFormat:
    """How to read a release.

    Decimal sign and missing tokens are those of the original; the rest is declared or detected.
    """
    alike = {"decimal": dialect.decimal, "missing": dialect.missing}
    return schema.table.of_release().model_copy(update=alike)


def _read_release(released: Any, schema: Schema, dialect: Dialect) -> tuple[Table, Output | None]:
    """A released table, and the figures of its bytes if it is a file."""
    declared = _as_released(schema, dialect)
    if not isinstance(released, str | Path):
        return tables.read(released, schema, declared=declared), None
    place = sources.of(released)
    if place.is_address or place.is_many:
        return tables.read(released, schema, declared=declared), None
    data = tables.read_bytes(released)
    shown = replace(tables.from_bytes(data, schema, declared, place.part), source=place.name)
    is_csv = tables.format_of(data).endswith("csv")
    defused = formulas.count_defused(shown.frame, shown.dialect) if is_csv else 0
    return shown, output_of(data, shown.dialect, defused)


def _is_place(source: Any) -> TypeGuard[str | Path]:
    """Whether this names files; an address of a database, which may hold a password, does not."""
    return isinstance(source, Path) or (isinstance(source, str) and not sources.is_address(source))


# ── stages ──────────────────────────────────────────────────────────────────────────────────────


class Stages:
    """Time the stages and report each as it begins."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.seconds: dict[str, float] = {}
        self.stopped = False  # whether an interrupt has ended one early

    def tell(self, stage: str, done: float) -> None:
        """Report the progress of a stage."""
        self.stopped = self.stopped or stage == STOPPED
        self._progress(stage, done)

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time one stage."""
        began = time.perf_counter()
        self._progress(name, 0.0)
        yield
        self.seconds[name] = time.perf_counter() - began


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
    _refuse_too_few(people, request)
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


def _refuse_too_few(people: People, request: Request) -> None:
    if not people.table.frame.height:
        raise UsageError("the table has no rows to release")
    refuse_infeasible(people.table.frame.height, request.k)


def form_groups(people: Prepared, request: Request, progress: Progress) -> Groups | Rings:
    """Groups that meet every requirement."""
    table, seed = people.encoded, people.seed

    def form(asked: Request) -> Grouping:
        return part.form(table, people.others, asked, seed, progress)

    def settle(first: Grouping) -> Grouping:
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
    shown = beside(table.frame[behind], cells, place[behind])
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


def _findings(
    schema: Schema,
    draft: _Draft,
    made: Made,
    verdict: Verdict,
    rows: Rows,
    persons: Mapping[str, pl.Series],
) -> Findings:
    asked, encoded = made.request, draft.encoded
    behind = Behind.of(encoded, draft.groups)
    view = View.of(draft.released, encoded, class_column=asked.class_column, behind=behind)
    losses = _losses(view, encoded, draft.groups, rows.suppressed, k=asked.k)
    whose = _first(_of(draft.people, persons))
    counted = None if whose is None else Persons.of(whose, encoded)
    carried = Carried.of(draft.released, schema, _of(draft.behind, persons))
    return Findings(asked, schema, view, carried, verdict, losses, rows, counted, made)


def _of(rows: Selection, persons: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
    """The persons of these rows."""
    return {name: rows.of(cells) for name, cells in persons.items()}


def _numbered(persons: pl.Series) -> pl.Series:
    """Persons as the number of their first row: a release keeps these, and no one's name."""
    rows = pl.DataFrame({"who": persons}).with_row_index("row")
    first = pl.when(pl.col("who").is_not_null()).then(pl.col("row").min().over("who"))
    return rows.select(first).to_series()


def _first(persons: Mapping[str, pl.Series]) -> pl.Series | None:
    return next(iter(persons.values()), None)
