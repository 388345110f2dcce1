"""Release a table of any size, from files to files.

    scan → divide → cluster and generalise each part → write → read back, verify, measure → publish

The release appears as a folder of files, completely or not at all.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from covey import tables
from covey.clustering.efforts import Effort
from covey.clustering.objectives import Asked as Objective
from covey.clustering.progress import Progress, silent
from covey.clustering.request import PLAIN, Request, options_among
from covey.custody.footprints import Footprint, FootprintPart
from covey.custody.keys import Key
from covey.custody.ordering import Secret
from covey.custody.register import remember
from covey.encoding import Style
from covey.engines.local import LocalTable
from covey.engines.run import FILE_PARTS, Order, Outputs, Source, Written
from covey.engines.steps import Summary, Survey, Task, planned
from covey.errors import SchemaError, UsageError, ViolationError
from covey.inspection.persons import refuse_repeats
from covey.measures import loss
from covey.pipeline import Stages
from covey.report import About, Report, Rows, certificate
from covey.report.findings import Findings, Made
from covey.report.headline import Clause
from covey.schema import Role, Schema
from covey.schema.requirements import Requirement
from covey.tables import Table, files, sources
from covey.tables.batches import batches
from covey.tables.csv_files import Dialect
from covey.tables.mending import told
from covey.tables.strays import refuse_undecided
from covey.verification import Verdict

Engine = Literal["local", "spark"]
PART_ROWS = 250_000


@dataclass(frozen=True)
class DatasetRelease:
    """What is known of a release that was written to files."""

    verdict: Verdict
    report: Report

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def anonymize_dataset(  # noqa: PLR0913 - each is a choice of the custodian's
    source: Any,
    schema: Schema,
    *,
    to: str | Path,
    engine: Engine | str = "local",
    part_rows: int = PART_ROWS,
    k: int | None = None,
    l: Any = None,  # noqa: E741 - its name in the literature
    t: Any = None,
    person: str | Literal[False] | None = None,
    require: Requirement | Sequence[Requirement] | None = None,
    method: str | Callable[..., Any] = "covey",
    effort: Effort | None = None,
    objective: Objective | None = None,
    max_suppressed: float | None = None,
    key: Key | bytes | str | Path | None = None,
    seed: int | None = None,
    class_column: str | None = None,
    refine: bool = False,
    style: Style = PLAIN,
    keep_order: bool = False,
    report: str | Path | Sequence[str | Path] | None = None,
    certificate: bool = False,
    about: About | None = None,
    defuse: bool = True,
    register: str | Path | Literal[False] | None = None,
    refuse_composition: bool | None = None,
    resume: bool = False,
    progress: Progress = silent,
    **options: Any,
) -> DatasetRelease:
    """Release a table that need not fit into memory, as a new folder of files.

    `source` is a path, a pattern or a folder of Parquet or CSV files, or anything that `anonymize`
    takes. The files in the folder `to` are of the same format. They appear together after they were
    read back and verified.

    The table is divided into parts of about `part_rows` similar rows, and only a few of these are
    in memory at any time. Original rows wait on the disk beside `to`, encrypted under the `key`.
    After a crash, `resume` continues where the same request stopped. All other arguments are those
    of `anonymize` and of `Release.write`.
    """
    models = {"k": k, "l": l, "t": t, "person": person}
    options |= {"effort": effort, "max_suppressed": max_suppressed}
    options |= options_among(method, models)
    models = {name: value for name, value in models.items() if name not in options}
    if not isinstance(schema, Schema):
        raise SchemaError("make the schema with covey.Schema.from_toml or covey.Schema.of")
    request = Request.of(
        *(schema, schema.requirements(require, **models), method),
        {name: value for name, value in options.items() if value is not None},
        class_column=class_column,
        refine=refine,
        objective=objective,
        style=style,
        keep_order=keep_order,
    )
    refuse_unrepeatable(request)
    if part_rows < 1:
        raise UsageError("part_rows must be 1 or more")
    custodian = Key.of(key)
    reports = [report] if isinstance(report, str | Path) else list(report or ())
    order = Order(
        request=request,
        schema=schema.requiring(**models),
        key=custodian,
        secret=Secret(custodian, seed),
        part_rows=part_rows,
        to=str(to),
        reports=tuple(reports),
        certificate=certificate,
        about=about,
        defuse=defuse,
        resume=resume,
        register=register,
        refuse_composition=schema.require.composition == "refuse"
        if refuse_composition is None
        else refuse_composition,
    )
    if isinstance(source, str | Path) and not sources.is_address(str(source)):
        files.refuse_overwriting([order.to, *order.companions], [source, *_kept(custodian)])
    with _opened(source, schema, engine) as table:
        return _released(table, order, Stages(progress))


def refuse_unrepeatable(request: Request) -> None:
    """Refuse what a part that is done again would do differently, or what needs all rows."""
    if request.keep_order:
        raise UsageError("keep_order is not possible for a table in parts: omit it")
    if request.options.get("budget") is not None:
        raise UsageError(
            "a budget is not possible for a table in parts: a part that is done again would have "
            "other groups. Choose an effort"
        )
    if not request.method.alike:
        raise UsageError(
            f"the method {request.method.name!r} is not possible for a table in parts: its rows "
            "form no classes"
        )


def _opened(source: Any, schema: Schema, engine: str) -> AbstractContextManager[Source]:
    """The table, opened by the engine that was asked for."""
    if engine == "spark":
        from covey.engines import spark

        return spark.opened(source, schema)
    if engine != "local":
        raise UsageError(f"unknown engine {engine!r}: choose local or spark")
    return nullcontext(LocalTable(batches(source, schema)))


def _released(source: Source, order: Order, stage: Stages) -> DatasetRelease:
    schema = order.schema
    task = _task(source, order)
    with source.outputs(order) as outputs, source.running(task, order, stage.tell) as run:
        with stage("scanning"):
            survey = run.survey()
            refuse_undecided(survey.suspects.found, schema.table)
            unsaid = refuse_repeats(
                survey.repeating.found(schema, task.dialect), order.request.requirements
            )
            seed = order.secret.seed_of(survey.content, schema, order.request.seeded)
            job = planned(task, survey, seed, order.part_rows)
        with stage("dividing"):
            job = run.divide(job, survey.read)
        with stage("clustering"):
            count = -(-survey.scan.rows // (FILE_PARTS * order.part_rows))
            job, summary = run.release(count)
        with stage("writing"):
            written = run.write(job, outputs.folder(order.to).path, count)
        with stage("verifying"):
            verdict = written.verdict()
            verdict.raise_if_violated()
            if verdict.rows != survey.scan.rows - summary.suppressed:
                raise ViolationError("rows were lost on the way: nothing is published")
        with stage("measuring"):
            found = _findings(
                order, survey, summary, written, verdict, [*run.doubts, *unsaid.notes]
            )
            found = replace(found, clauses=tuple(map(Clause, unsaid.headline)))
            report = found.report(task.dialect, stage.seconds, output=written.output)
            report = replace(report, about=order.about)
        with remember(
            *(order.register, _footprint(order, survey, written)),
            path=order.to,
            sha256=written.output.sha256,
            request=report.request,
            refuse=order.refuse_composition,
        ) as entry:
            report = report.composed(entry.composition, entry.warnings)
            _describe(order, report, written, verdict, outputs, task.dialect)
            with entry.publishing():
                outputs.publish()
    return DatasetRelease(verdict, report)


def _footprint(order: Order, survey: Survey, written: Written) -> Footprint | None:
    """What the register records; of too many rows, only that there were such."""
    if order.register is False:
        return None
    trace = written.trace()
    if trace is None:
        sums = np.array(survey.content.sums, dtype=np.uint64)
        trace = FootprintPart.unknown(survey.content.rows, sums)
    return trace.footprint(order.key, order.request.size)


def _describe(
    order: Order,
    report: Report,
    written: Written,
    verdict: Verdict,
    outputs: Outputs,
    dialect: Dialect,
) -> None:
    """Write the reports and the certificate."""
    pages = {name: report.written_as(name) for name in order.reports}
    for name, page in pages.items():
        outputs[name].write(page)
    if order.certificate:
        subjects = {name: one.sha256 for name, one in written.digests.items()}
        statement = certificate.statement(
            *(subjects, report, pages, order.schema, order.request.requirements),
            *(_as_table(written.listed(), dialect), verdict),
        )
        outputs[certificate.beside(order.to)].write(statement)


def _as_table(cells: Mapping[str, pl.Series], dialect: Dialect) -> Table:
    """Distinct cells of columns as a table; shorter columns repeat a cell."""
    most = max(map(len, cells.values()), default=0)
    longer = [one.gather([*range(len(one)), *[0] * (most - len(one))]) for one in cells.values()]
    return Table(pl.DataFrame(longer), dialect)


def _findings(
    order: Order,
    survey: Survey,
    summary: Summary,
    written: Written,
    verdict: Verdict,
    doubts: list[str],
) -> Findings:
    """All that is known of the release."""
    request = order.request
    view, carried = written.view(summary)
    losses = loss.measure(
        view, suppressed=summary.suppressed, k=request.k, in_groups=summary.in_groups
    )
    mended = [told(*mend, cells, request.k) for mend, cells in sorted(summary.mended.items())]
    made = Made(
        request,
        alike=True,
        filled_in=summary.filled_in,
        key=order.key if order.secret.seed is None else None,
        timed=False,
        doubts=[*doubts, *filter(None, mended)],
    )
    rows = Rows.counted(survey.read, survey.scan.rows, summary.suppressed)
    found = (order.schema, view, carried, verdict, losses, rows)
    return Findings(request, *found, written.persons(), made)


def _task(source: Source, order: Order) -> Task:
    schema, request = order.schema, order.request
    empty = Table(pl.DataFrame(schema=list(source.names)))
    tables.check_roles(empty, schema, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
    absent = sorted({*request.persons} - {*source.names})
    if absent:
        raise SchemaError(f"the person column {absent[0]!r} is not in the table")
    return Task(
        *(schema, request, source.dialect, source.names),
        order.secret.hasher(schema),
        order.secret.person_hasher(request.persons),
    )


def _kept(key: Key) -> list[Path]:
    return [] if key.path is None else [key.path]
