"""From a table to its verified release, stage by stage, whatever engine does the work.

survey → divide → form → show → verify → measure → remember → publish
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from covey import tables
from covey._core.arrays import Longs
from covey.choices import Keywords, Models, TableRequest, popped
from covey.clustering.progress import STOPPED, Progress, silent
from covey.clustering.request import PLAIN, Request, Requirements, required
from covey.custody.keys import Key
from covey.custody.ordering import KeptRows, Secret, people_as_read
from covey.custody.register import Register
from covey.encoding import encode
from covey.encoding.groups import SUPPRESSED, Groups, Rings
from covey.encoding.selection import Selection
from covey.engines.memory import MemoryTable, losses_of, refuse_too_few
from covey.engines.run import OpenTable, Order, is_place
from covey.errors import SchemaError, UsageError, count
from covey.generalisation import Originals, View, generalise
from covey.measures import loss
from covey.measures.histograms import rows_of
from covey.measures.loss import Losses
from covey.measures.queries import query_error
from covey.release import (
    Destination,
    Outputs,
    Release,
    Writing,
    output_of,
    refuse_lacking,
    refuse_uncertain,
)
from covey.report import About, Costs, Output, Report, Rows, refuse_curve_of_others
from covey.report.compared import Compared
from covey.report.findings import Findings
from covey.schema import Role, Schema, TableFormat
from covey.schema.requirements import KAnonymity, Requirement
from covey.tables import Table, files, formulas, sources
from covey.tables.batches import Batches, batches
from covey.tables.csv_files import Dialect
from covey.verification import verify

if TYPE_CHECKING:
    from covey.measures.utility import Utility

Engine = Literal["memory", "local", "spark"]
PART_ROWS = 250_000
_IN_MEMORY = 1 / 4  # of the memory: the largest file that is read as a whole


def anonymize(
    source: Any,
    schema: Schema | None = None,
    *,
    to: str | Path | None = None,
    engine: Engine | None = None,
    progress: Progress = silent,
    **choices: Unpack[Keywords],
) -> Release:
    """Make a verified release of a table of people; `covey.choices.Keywords` has all keywords.

    `source` is a path, a pattern or a folder, the address of a database (`::` and a name after
    either name a part), or a dataframe of polars, pandas, pyarrow or Spark. The input is not
    changed. Without a `schema`, name the columns, as in `quasi=["age", "sex"], sensitive=["job"]`,
    and the requirements, as in `k=10, l=3`.

    Without `to`, the release has a table of the same kind as the input (polars for a path), and
    `Release.write` writes it. With `to`, it is written now, read back and verified: to a file, or
    to a new folder of files if the name ends in a slash, or if it has no ending and the source is a
    folder or a pattern.

    The `engine` is "memory" for a file. For a folder it is "local", which has only a few parts of
    the table in memory at any time; original rows wait on the disk beside `to`, encrypted under
    the key. For a DataFrame of Spark it is "spark". A table in parts needs a schema.
    """
    engine = engine or engine_for(source, to)
    checked, order = _ordered(source, schema, to, engine, choices)
    with opened(checked.table, order.schema, engine) as table:
        return _released(table, order, checked.notes, Clock(progress))


def unwritten(
    source: Any,
    schema: Schema,
    *,
    to: str | Path | None,
    progress: Progress,
    **choices: Unpack[Keywords],
) -> Release:
    """Make a release in memory that `Release.write` will write `to` this place."""
    checked, order = _ordered(source, schema, to, "memory", choices)
    with opened(checked.table, order.schema, "memory") as table:
        return _made(table, order, checked.notes, Clock(progress), None)


def _ordered(
    source: Any,
    schema: Schema | None,
    to: str | Path | None,
    engine: Engine,
    choices: Mapping[str, Any],
) -> tuple[TableRequest, Order]:
    """The checked request and where its release goes, before any work."""
    rest: dict[str, Any] = {**choices}
    writing = popped(rest, Writing.__annotations__)
    drawn, parts = popped(rest, ("key", "seed")), popped(rest, ("part_rows", "resume"))
    wanted = {name: bool(rest.pop(name, False)) for name in ("price", "utility")}
    _refuse_unfit(engine, schema, to, {n for n, v in (writing | parts).items() if v})
    for name, is_wanted in wanted.items():
        if is_wanted and engine != "memory":
            raise UsageError(f"{name} needs the whole table in memory: omit it")
    checked = TableRequest.of(source, schema, rest)
    key = Key.of(drawn.get("key"))
    order = Order(
        checked.request,
        checked.schema,
        key,
        Secret(key, drawn.get("seed")),
        place=source,
        to=None if to is None else Destination.of(to, **writing),
        remember=writing.get("register") is not False,
        **wanted,
        **{"part_rows": PART_ROWS, "resume": False, **parts},
    )
    _refuse_outputs(order)
    _refuse_following(order, engine)
    if order.price or order.utility:  # which read it again
        checked = replace(checked, table=tables.read(checked.table, order.schema))
    return checked, order


def engine_for(source: Any, to: str | Path | None) -> Engine:
    """The engine for a table, by its kind and size and by where its release goes."""
    if type(source).__module__.startswith("pyspark."):
        return "spark"
    if to is None or to == files.STREAM:
        return "memory"
    if str(to).endswith("/") or (_is_many(source) and not Path(to).suffix):
        return "local"
    if _size(source) > _IN_MEMORY * _memory():
        raise UsageError(
            "the table is larger than a quarter of the memory: write a folder (FOLDER/), which is "
            "done in parts, or choose the engine memory"
        )
    return "memory"


def _size(source: Any) -> int:
    """The bytes of the files of a source."""
    if not is_place(source):
        return 0
    with contextlib.suppress(OSError, ValueError):
        return sum(Path(path).stat().st_size for path in sources.of(source).files())
    return 0


def _memory() -> float:
    """The bytes of memory of this machine; without end if it does not say."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return float("inf")


def opened(source: Any, schema: Schema, engine: str) -> AbstractContextManager[OpenTable]:
    """The table, opened by an engine."""
    if engine == "memory":
        return nullcontext(MemoryTable(source))
    if engine == "local":
        from covey.engines.local import LocalTable

        return nullcontext(LocalTable(batches(source, schema)))
    if engine == "spark":
        from covey.engines import spark

        return spark.opened(source, schema)
    raise UsageError(f"unknown engine {engine!r}: choose memory, local or spark")


def _refuse_unfit(
    engine: str, schema: Schema | None, to: str | Path | None, given: set[str]
) -> None:
    """Refuse what this engine, or a release that is not written, has no use for."""
    if to is None:
        unused = sorted(given)
        if unused:
            raise UsageError(f"{unused[0]} is for a release that is written: pass to")
    if engine == "memory":
        unused = sorted(given & {"part_rows", "resume"})
        if unused:
            raise UsageError(f"{unused[0]} is for a table in parts: choose the engine local")
        return
    if to is None:
        raise UsageError(f"the engine {engine} writes a folder of files: pass to")
    if schema is None:
        raise SchemaError("a table in parts needs a schema: draft one with covey.inspect")
    unused = sorted(given & {"costs", "curve"})
    if unused:
        raise UsageError(f"{unused[0]} needs the whole table in memory: omit it")


def _refuse_outputs(order: Order) -> None:
    """Refuse outputs before any work."""
    if order.part_rows < 1:
        raise UsageError("part_rows must be 1 or more")
    if order.to is None:
        return
    if order.to.certificate:
        refuse_uncertain(order.request.method)
    register = Register.of(order.to.register)
    kept = () if register is None else (register.path,)
    files.refuse_overwriting([order.to.path, *order.to.companions], [*order.inputs, *kept])


def _refuse_following(order: Order, engine: str) -> None:
    """Refuse to build on earlier releases where they or their people are not known."""
    if order.price and not order.request.follows:
        raise UsageError("price is that of following earlier releases: pass follow, too")
    if order.to is not None:
        refuse_lacking(order.to, order.key)
    if not (asked := order.schema.require).needs_earlier:
        return
    if not order.remember:
        raise UsageError(
            f"{asked.composition} needs the register: omit register=False (--no-register)"
        )
    if engine == "spark":
        raise UsageError(
            f"{asked.composition} is not possible on Spark: who is in which earlier release is "
            "known only under the key, which stays on the driver. Choose the engine local or memory"
        )


def _released(table: OpenTable, order: Order, notes: list[str], stage: "Clock") -> Release:
    """Make a release, and publish it if it has a destination."""
    with table.outputs(order) as outputs:
        made = _made(table, order, notes, stage, outputs)
        if order.to is None or outputs is None or made.is_published:
            return made
        return replace(made, report=made.published(order.to, outputs))


def _made(
    table: OpenTable, order: Order, notes: list[str], stage: "Clock", outputs: Outputs | None
) -> Release:
    """Make a release, stage by stage; all that this needed in memory is free at the end."""
    with table.running(order, stage.tell) as stages:
        with stage("reading"):
            doubts = stages.survey()
            doubts = doubts._replace(notes=(*notes, *doubts.notes))
        with stage("encoding"):
            stages.divide()
        with stage("clustering"):
            stages.form()
        with stage("generalising"):
            made = stages.show(outputs)
        with stage("verifying"):
            verdict = made.verdict()
            verdict.raise_if_violated()
        with stage("measuring"):
            findings = made.measure().findings(order, verdict, doubts, timed=stage.stopped)
            report = findings.report(made.dialect, stage.seconds)
        if order.remember:
            with stage("remembering"):
                made.remember()
        release = made.release(verdict, report, outputs)
    if not order.price:
        return release
    with stage("pricing"):
        return _priced(release, table, order)


def _priced(made: Release, table: OpenTable, order: Order) -> Release:
    """The release with its price: its loss above that of the same rows from scratch.

    A release of all rows would reveal something of those that were left out.
    """
    assert isinstance(table, MemoryTable)
    rows = table.place.with_frame(table.place.frame[np.sort(made.rows)])
    require = order.schema.require.model_copy(update={"composition": "warn", "reserve": 0})
    free = replace(
        order,
        request=replace(order.request, follows=False, reserve=0),
        schema=order.schema.model_copy(update={"require": require}),
        **{"place": rows, "to": None, "remember": False, "price": False},
    )
    scratch = _released(MemoryTable(rows), free, [], Clock(silent)).report.losses
    ours = made.report.losses
    lost = ours.total_il - ours.suppressed * sum(column.weight for column in ours.columns)
    price = lost / scratch.total_il - 1 if scratch.total_il else 0.0
    return replace(made, report=replace(made.report, price=price))


def cluster(  # noqa: PLR0913 - what a researcher varies
    frame: Any,
    schema: Schema,
    *,
    k: int,
    method: str | Callable[..., Any] = "covey",
    seed: int = 0,
    class_column: str | None = None,
    start: Groups | Sequence[int] | None = None,
    fixed: Sequence[bool] | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Groups | Rings:
    """Form groups with a method: one label per row of the input, -1 for rows in no group.

    Rows are clustered in the input's order, as the papers describe; `anonymize` sorts them first.
    `progress` is called with each stage as it begins ("reading", "encoding", "clustering") and with
    the share of it that is done. The stage is `STOPPED` if an interrupt ends the work early.

    `start` has the groups so far, -1 for a row in none. The rows of each stay together, or those of
    them that are `fixed`: the covey method puts whole groups together and adds other rows.
    """
    request = Request.of(schema, [KAnonymity(k)], method, options, class_column=class_column)
    alone = replace(request, requirements=(KAnonymity(k, person=False),))  # groups have k rows
    stage = Clock(progress)
    with stage("reading"):
        people = people_as_read(tables.original(frame, schema, Role.QUASI), schema)
        refuse_too_few(people, alone)
    with stage("encoding"):
        encoded = encode(people.table, schema, class_column=class_column)
        if start is not None:
            atoms = _staying(start, fixed, people.selection.total)
            encoded = replace(encoded, atoms=people.selection.of(atoms))
    with stage("clustering"):
        return people.selection.back(alone.cluster(encoded, seed, progress))


def _staying(start: Groups | Sequence[int], fixed: Sequence[bool] | None, rows: int) -> Longs:
    """The group in which each row stays, -1 for none."""
    groups = start if isinstance(start, Groups) else Groups(start)
    mask = np.ones(rows, dtype=np.bool_) if fixed is None else np.asarray(fixed, dtype=np.bool_)
    if len(groups) != rows or len(mask) != rows:
        raise UsageError(f"start and fixed must have one entry for each of the {rows:,} rows")
    return np.where(mask, groups.labels, SUPPRESSED)


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
    size = schema.require.k if k is None else KAnonymity(k).k
    if isinstance(released, Groups | Rings):
        people = people_as_read(tables.original(original, schema, Role.QUASI), schema)
        view, losses = _shown_by(released, people, schema, size, class_column)
    else:
        tables_ = both_tables(original, released, schema, whole=queries is not None)
        view = tables_.compared(schema, class_column=class_column).view
        losses = loss.measure(view, k=size)
    if queries is None:
        return losses
    return replace(losses, queries=query_error(view, queries=queries))


def _shown_by(
    groups: Groups | Rings,
    people: KeptRows,
    schema: Schema,
    k: int | None,
    class_column: str | None,
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
    originals = Originals.of(encoded, own)
    view = View.of(released, encoded, class_column=class_column, originals=originals)
    left_out = len(kept.rows) - int(shown.sum())
    return view, losses_of(view, encoded, own, left_out, k=k)


class Reported(Models, total=False):
    """What a report is asked for: requirements, and what it says besides."""

    require: Requirement | Sequence[Requirement] | None
    class_column: str | None
    curve: Costs | None
    about: About | None
    utility: bool


def report_on(
    original: Any,
    released: Any,
    schema: Schema,
    *,
    progress: Progress = silent,
    **choices: Unpack[Reported],
) -> Report:
    """Report on a released table and its original, even if covey did not make the release.

    `require` are the requirements; by default, those of the schema. The report says whether they
    hold. It begins with what the custodian says `about` the release. With `utility`, it says what
    the release is good for; that takes some seconds more.
    """
    rest: dict[str, Any] = {"class_column": None, "curve": None, "about": None, **choices}
    class_column, curve, about = (rest.pop(name) for name in ("class_column", "curve", "about"))
    useful = rest.pop("utility", False)
    require = schema.requirements(rest.pop("require", None), **rest)
    required_ = Requirements(requirements=required(schema, require), class_column=class_column)
    stage = Clock(progress)
    with stage("reading"):
        tables_ = both_tables(original, released, schema, whole=useful)
    with stage("verifying"):
        verdict = verify(tables_.released, schema, require=required_.requirements)
    with stage("measuring"):
        found = tables_.compared(schema, class_column=class_column, persons=required_.persons)
        losses = loss.measure(found.view, k=required_.k)
        rows = Rows.counted(found.read, found.view.original.rows, losses.suppressed)
        findings = Findings(
            *(required_, schema, found.view, found.carried, verdict, losses, rows),
            persons=found.persons,
            utility=tables_.utility(schema, rows_of(required_.k, found.persons))
            if useful
            else None,
        )
        refuse_curve_of_others(curve, rows)
        more = {"output": tables_.output, "curve": curve, "about": about}
        return findings.report(tables_.released.dialect, stage.seconds, **more)


@dataclass(frozen=True, eq=False, repr=False)
class BothTables:
    """An original and a release; both in memory, or both in batches."""

    original: Table | Batches
    released: Table | Batches
    output: Output | None  # of a release that is one file

    def compared(self, schema: Schema, **more: Any) -> Compared:
        """Both side by side."""
        if isinstance(self.original, Batches) and isinstance(self.released, Batches):
            return Compared.in_batches(self.original, self.released, schema, **more)
        assert isinstance(self.original, Table)
        assert isinstance(self.released, Table)
        return Compared.in_memory(self.original, self.released, schema, **more)

    def utility(self, schema: Schema, least: int) -> "Utility":
        """What the release is good for, as a report says it."""
        from covey.reading.comparing import utility_reported

        assert isinstance(self.released, Table)
        return utility_reported(self.original, self.released, schema, least)


def both_tables(original: Any, released: Any, schema: Schema, *, whole: bool = False) -> BothTables:
    """Open both tables: in batches if one is in many files, unless they are needed `whole`."""
    if whole or not (_is_many(original) or _is_many(released)):
        read = tables.read(original, schema)
        known = read.frame.select(n for n in read.frame.columns if n in schema.columns)
        table = tables.original(replace(read, frame=known), schema, Role.QUASI)
        return BothTables(table, *_read_release(released, schema, table.dialect))
    before = batches(original, schema)
    before = before.only([n for n in before.names if n in schema.columns])
    declared = _as_released(schema, before.dialect)
    if not _is_many(released):
        shown, output = _read_release(released, schema, before.dialect)
        return BothTables(before, batches(shown, schema, declared=declared), output)
    return BothTables(before, batches(released, schema, declared=declared), None)


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


# ── stages ──────────────────────────────────────────────────────────────────────────────────────


class Clock:
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
