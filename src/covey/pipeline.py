"""From a table to its verified release, stage by stage.

    read → order → encode → cluster → repair → generalise → verify → measure → remember

Before clustering, rows are sorted by their content and the custodian's key alone. Released rows are
sorted by their released content alone. So no position reveals anything, and any permutation of the
input gives the same release.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeGuard

import numpy as np
import polars as pl

from covey import tables
from covey.clustering import refuse_infeasible
from covey.clustering.covey import Effort
from covey.clustering.progress import STOPPED, Progress, silent
from covey.clustering.request import PLAIN, Asked, Request, options_among, required
from covey.custody.footprints import footprint
from covey.custody.keys import Key
from covey.custody.ordering import (
    People,
    canonical_order,
    ordered_people,
    people_as_read,
)
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups, Rings
from covey.encoding.selection import Selection
from covey.errors import SchemaError, UsageError, count
from covey.generalisation import Style, View, generalise
from covey.inspection.named import Names, described
from covey.inspection.persons import refuse_unsaid, whose_rows
from covey.measures import loss
from covey.measures.loss import Losses, RowLosses
from covey.measures.queries import query_error
from covey.release import Kept, Release, output_of
from covey.repair.repair import repair
from covey.repair.surplus import without_surplus
from covey.report import About, Costs, Output, Report, Rows, refuse_curve_of_others
from covey.report.findings import Findings, Made
from covey.schema import Role, Schema
from covey.schema.requirements import KAnonymity, Requirement
from covey.tables import Table, formulas, sources
from covey.tables.csv_files import Dialect
from covey.verification import Verdict, rings, verify


def anonymize(  # noqa: PLR0913 - each is a choice of the custodian's
    frame: Any,
    schema: Schema | None = None,
    *,
    quasi: Names | None = None,
    sensitive: Names | None = None,
    identifier: Sequence[str] | None = None,
    insensitive: Sequence[str] | None = None,
    rest: str | None = None,
    k: int | None = None,
    l: Any = None,  # noqa: E741 - its name in the literature
    t: Any = None,
    person: str | Literal[False] | None = None,
    require: Requirement | Sequence[Requirement] | None = None,
    method: str | Callable[..., Any] = "covey",
    effort: Effort | None = None,
    budget: float | None = None,
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
    requirements as objects.

    `method` is a name in `METHODS` or such a function; `effort` ("fast", "quick", "balanced" or
    "best"), `budget` in seconds, `max_suppressed` as a share of the rows, and `options` are its
    options. Random choices are drawn with the custodian's `key` (a file, 32 bytes, or by
    default the one in the user's data folder). The same request gives the same release, and no one
    without the key can repeat it. A `seed` replaces the key in experiments; anyone who guesses it
    can repeat the run. The groups avoid mixing the values of `class_column`, if the method supports
    that. With `refine`, the covey method improves the groups of another method while that lowers
    the loss. `keep_order` releases the rows in the input's order, which reveals whose row is whose
    to anyone who knows that order. With `remember` off, nothing is computed for the register: it
    takes less time, and writing the release neither compares it with earlier ones nor records it.
    """
    roles = {
        "quasi": quasi, "sensitive": sensitive, "identifier": identifier,
        "insensitive": insensitive, "rest": rest,
    }  # fmt: skip
    models = {"k": k, "l": l, "t": t, "person": person}
    options |= {"effort": effort, "budget": budget, "max_suppressed": max_suppressed}
    options |= options_among(method, models | (roles if schema is not None else {}))
    roles, models = (
        {n: v for n, v in said.items() if n not in options} for said in (roles, models)
    )
    source, known, doubts = _described(frame, schema, roles, k)
    request = Request.of(
        *(known, known.requirements(require, **models), method),
        {name: value for name, value in options.items() if value is not None},
        class_column=class_column,
        refine=refine,
        style=style,
        keep_order=keep_order,
    )
    order = _Order(request, known.requiring(**models), key, seed, frame, remember=remember)
    return _release(source, order, doubts, Stages(progress))


def _described(
    frame: Any, schema: Schema | None, roles: Mapping[str, Any], k: int | None
) -> tuple[Any, Schema, list[str]]:
    """The table and its schema, drafted from the roles of its columns if there is none."""
    if schema is None:
        return described(tables.read(frame), **roles, k=k)
    if not isinstance(schema, Schema):
        raise SchemaError("make the schema with covey.Schema.from_toml or covey.Schema.of")
    if any(given is not None for given in roles.values()):
        raise SchemaError("the schema has the roles of the columns: pass either it or their names")
    return frame, schema, []


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
        table = tables.original(read, schema, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
        doubts = [*doubts, *refuse_unsaid(table, schema, request.requirements)]
        persons = whose_rows(table, schema, request.persons)
    with stage("ordering"):
        custodian = Key.of(order.key)
        people = ordered_people(table, schema, request.seeded, seed=order.seed, key=custodian)
    with stage("encoding"):
        encoded = encode_people(people, schema, request, persons)
        possible = without_surplus(encoded, request)
    with stage("clustering"):
        formed = form_groups(*possible, people.seed, stage.tell)
    with stage("generalising"):
        draft = _draft(people, schema, encoded, formed, request)
    with stage("verifying"):
        judge = _judge(schema, request, draft, persons)
        verdict = judge(draft.released)
        verdict.raise_if_violated()
    with stage("measuring"):
        drawn_under = custodian if order.seed is None else None
        told = (each.told(draft.behind.rows, request.k) for each in table.mended)
        doubts += [each for each in told if each is not None]
        made = Made(request, draft.encoded, draft.groups, drawn_under, stage.stopped, doubts)
        rows = Rows.counted(table.frame.height, len(people.selection.rows), formed.suppressed)
        found = _findings(schema, draft, made, verdict, rows, persons)
        report = found.report(table.dialect, stage.seconds)
    trace = None
    if order.remember:  # now, since a release holds no cell of the original
        with stage("remembering"):
            trace = footprint(
                *(custodian, read, draft.released.frame, draft.behind.rows, schema, request.size),
                alike=isinstance(formed, Groups),
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
        inputs=tuple(one for one in (order.place, custodian.path) if _is_place(one)),
    )
    return Release(table.give_back(draft.released.frame), verdict, report, kept)


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
        people = people_as_read(tables.original(frame, schema, Role.QUASI), schema, seed)
    with stage("encoding"):
        encoded = encode_people(people, schema, alone)
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
    table = tables.original(original, schema, Role.QUASI)
    people = people_as_read(table, schema)
    asked = schema.require.k if k is None else KAnonymity(k).k
    if isinstance(released, Groups | Rings):
        view, losses = _shown_by(released, people, schema, asked, class_column)
    else:
        shown, _ = _read_release(released, schema, table.dialect)
        view = View.of(shown, encode(people.table, schema))
        losses = loss.measure(view, k=asked, class_column=class_column)
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
    view = View.of(generalise(some.table, encoded, own, PLAIN), encoded)
    left_out = len(kept.rows) - int(shown.sum())
    return view, _losses(view, own, left_out, k=k, class_column=class_column)


def _losses(
    view: View, groups: Groups | Rings, suppressed: int, *, k: int | None, class_column: str | None
) -> Losses:
    alike = groups if isinstance(groups, Groups) else None
    return loss.measure(
        view,
        suppressed=suppressed,
        k=k,
        class_column=class_column,
        classes=alike is not None,
        groups=alike,
    )


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
        table = tables.original(original, schema, Role.QUASI)
        people = people_as_read(table, schema)
        shown, output = _read_release(released, schema, table.dialect)
    with stage("encoding"):
        encoded = encode(people.table, schema)
    with stage("verifying"):
        verdict = verify(shown, schema, require=asked.requirements)
    with stage("measuring"):
        view = View.of(shown, encoded)
        losses = loss.measure(view, k=asked.k, class_column=class_column)
        persons = _of(people.selection, whose_rows(table, schema, asked.persons))
        found = Findings(
            *(asked, schema, view, verdict, losses),
            rows=Rows.counted(table.frame.height, len(people.selection.rows), losses.suppressed),
            # If rows were suppressed, it is unknown whose.
            persons=_first(persons) if view.same_rows else None,
        )
        refuse_curve_of_others(curve, found.rows)
        more = {"output": output, "curve": curve, "about": about}
        return found.report(shown.dialect, stage.seconds, **more)


def _read_release(released: Any, schema: Schema, dialect: Dialect) -> tuple[Table, Output | None]:
    """A released table, and the figures of its bytes if it is a file.

    Decimal sign and missing tokens are those of the original; the rest is declared or detected.
    """
    alike = {"decimal": dialect.decimal, "missing": dialect.missing}
    declared = schema.table.of_release().model_copy(update=alike)
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


def encode_people(
    people: People,
    schema: Schema,
    request: Request,
    persons: Mapping[str, pl.Series] | None = None,
) -> EncodedTable:
    """Encode the people for a method; `persons` identify the person of each input row."""
    if not people.table.frame.height:
        raise UsageError("the table has no rows to release")
    refuse_infeasible(people.table.frame.height, request.k)
    return encode(
        *(people.table, schema),
        class_column=request.class_column,
        require=request.requirements,
        persons=_of(people.selection, persons or {}),
    )


def form_groups(
    rest: Selection, table: EncodedTable, request: Request, seed: int, progress: Progress
) -> Groups | Rings:
    """Groups that meet every requirement, from what `without_surplus` left of a table."""
    groups = request.cluster(table, seed, progress)
    return rest.back(repair(table, groups, request, seed, progress))


@dataclass(frozen=True, eq=False, repr=False)
class _Draft:
    """The released rows, not yet verified; of suppressed rows it holds only the number."""

    people: People
    encoded: EncodedTable
    groups: Groups | Rings
    order: Selection  # of the people, as released
    released: Table

    @property
    def behind(self) -> Selection:
        """The input row of each released row."""
        return self.people.selection.then(self.order)


def _draft(
    people: People, schema: Schema, encoded: EncodedTable, formed: Groups | Rings, request: Request
) -> _Draft:
    """Generalise; from here on, no label, scale or frequency depends on unreleased rows."""
    if formed.suppressed:
        people = people.take(Selection.released(formed))
        encoded = encode(people.table, schema)
    groups = formed.released()
    released = generalise(people.table, encoded, groups, request.style)
    order = _leaving_order(released, people.selection, keep_order=request.keep_order)
    return _Draft(people, encoded, groups, order, released.with_frame(order.of(released.frame)))


def _leaving_order(released: Table, people: Selection, *, keep_order: bool) -> Selection:
    columns = released.frame.columns
    order = np.argsort(people.rows) if keep_order else canonical_order(released.frame, columns)
    return Selection(order, len(order))


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
        rows=draft.order.rows,
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
    view = View.of(draft.released, draft.encoded)
    asked = made.request
    losses = _losses(
        *(view, draft.groups, rows.suppressed), k=asked.k, class_column=asked.class_column
    )
    whose = _first(_of(draft.people.selection, persons))
    return Findings(asked, schema, view, verdict, losses, rows, whose, made)


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
