"""Release a table of any size, from files to files.

    scan → divide → cluster and generalise each part → write → read back, verify, measure → publish

The release appears as a folder of files, completely or not at all.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import polars as pl

from covey import tables
from covey.clustering.covey import Effort
from covey.clustering.progress import Progress, silent
from covey.clustering.request import PLAIN, Request, options_among
from covey.custody.keys import Key
from covey.custody.ordering import Secret
from covey.custody.sealed import Spool, frames, write_frame
from covey.encoding import Style, Tally
from covey.engines.local import Local
from covey.engines.steps import Job, Summary, Survey, Task, planned
from covey.errors import SchemaError, UsageError, ViolationError
from covey.generalisation import ReleasedClasses, View
from covey.inspection.persons import refuse_repeats
from covey.measures import loss
from covey.measures.histograms import Persons
from covey.pipeline import Stages
from covey.report import About, Output, Report, Rows, certificate, refuse_format
from covey.report.carried import Carried
from covey.report.findings import Findings, Made
from covey.schema import Role, Schema, TableFormat
from covey.schema.requirements import AlphaK, Requirement
from covey.tables import Table, files
from covey.tables.batches import Batches, batches
from covey.tables.digests import Digest
from covey.tables.mending import told
from covey.tables.merging import merged
from covey.verification import Verdict, verify

Engine = Literal["local", "spark"]
PART_ROWS = 250_000
_FILE_PARTS = 4  # a file has the rows of about so many parts


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
    engine: Engine = "local",
    part_rows: int = PART_ROWS,
    k: int | None = None,
    l: Any = None,  # noqa: E741 - its name in the literature
    t: Any = None,
    person: str | Literal[False] | None = None,
    require: Requirement | Sequence[Requirement] | None = None,
    method: str | Callable[..., Any] = "covey",
    effort: Effort | None = None,
    max_suppressed: float | None = None,
    key: Key | bytes | str | Path | None = None,
    seed: int | None = None,
    class_column: str | None = None,
    refine: bool = False,
    style: Style = PLAIN,
    report: str | Path | Sequence[str | Path] | None = None,
    certificate: bool = False,
    about: About | None = None,
    defuse: bool = True,
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
        style=style,
    )
    refuse_unrepeatable(request)
    if part_rows < 1:
        raise UsageError("part_rows must be 1 or more")
    custodian = Key.of(key)
    reports = [report] if isinstance(report, str | Path) else list(report or ())
    order = _Order(
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
    )
    return _released(batches(source, schema), order, Stages(progress))


def refuse_unrepeatable(request: Request) -> None:
    """Refuse what a part that is done again would do differently, or what needs all rows."""
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


@dataclass(frozen=True, eq=False)
class _Order:
    """What a release is made by, and where it goes."""

    request: Request
    schema: Schema
    key: Key
    secret: Secret
    part_rows: int
    to: str
    reports: tuple[str | Path, ...]
    certificate: bool
    about: About | None
    defuse: bool
    resume: bool

    @property
    def companions(self) -> list[str | Path]:
        """The files beside the folder."""
        for name in self.reports:
            refuse_format(name)
        return [*self.reports, *([certificate.beside(self.to)] if self.certificate else [])]


def _released(source: Batches, order: _Order, stage: Stages) -> DatasetRelease:
    schema = order.schema
    task = _task(source, order)
    beside = order.companions
    files.refuse_overwriting([order.to, *beside], [*source.files, *_kept(order.key)])
    with (
        files.outputs(order.to, *beside, folders=[order.to], resume=order.resume) as outputs,
        _working(source, order) as spool,
    ):
        run = Local(source, task, spool, order.part_rows, stage.tell)
        with stage("scanning"):
            survey = run.survey()
            doubts = refuse_repeats(
                survey.repeating.found(schema, task.dialect), order.request.requirements
            )
            seed = order.secret.seed_of(survey.content, schema, order.request.seeded)
            job = planned(task, survey, seed, order.part_rows)
        with stage("dividing"):
            job = run.divide(job, survey.read)
        with stage("clustering"):
            count = -(-survey.scan.rows // (_FILE_PARTS * order.part_rows))
            job, summaries = run.release(count)
            summary = merged(summaries)
            assert summary is not None
        with stage("writing"):
            folder = outputs.folder(order.to).path
            written = _Files(run, job, folder, order, _ending(source)).write(count)
        with stage("verifying"):
            verdict = written.verdict()
            verdict.raise_if_violated()
        with stage("measuring"):
            found = written.findings(survey, summary, verdict, doubts)
            report = found.report(task.dialect, stage.seconds, output=written.output)
            report = replace(report, about=order.about)
        pages = {name: report.written_as(name) for name in order.reports}
        for name, page in pages.items():
            outputs[name].write(page)
        if order.certificate:
            subjects = {name: one.sha256 for name, one in written.digests.items()}
            statement = certificate.statement(
                *(subjects, report, pages, schema, order.request.requirements),
                *(written.sensitive(), verdict),
            )
            outputs[certificate.beside(order.to)].write(statement)
        outputs.publish()
    return DatasetRelease(verdict, report)


def _task(source: Batches, order: _Order) -> Task:
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


def _ending(source: Batches) -> str:
    """The format of the released files: that of the input, or Parquet."""
    csv = source.files and not any(map(_is_parquet, source.files[:1]))
    return ".csv" if csv else ".parquet"


def _is_parquet(path: str) -> bool:
    with Path(path).open("rb") as file:
        return file.read(4) == b"PAR1"


# ── working files ───────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def _working(source: Batches, order: _Order) -> Iterator[Spool]:
    """A spool beside the output, removed at the end unless the work can be resumed."""
    folder, asked = files.working_folder(order.to), _fingerprint(source, order)
    if order.resume and folder.exists():
        spool = Spool.open(folder, order.key)
        if spool.get("asked") != asked:
            raise UsageError(
                "the work cannot be resumed: the input or the request has changed. Start it again "
                "without --resume"
            )
    else:
        files.remove_folder(folder)
        spool = Spool.make(folder, order.key)
        spool.put("asked", asked)
    try:
        yield spool
    except KeyboardInterrupt:
        raise  # what is done can be resumed, and no one else can read it
    except BaseException:
        spool.remove_all()
        raise
    spool.remove_all()


def _fingerprint(source: Batches, order: _Order) -> bytes:
    """The input and the request: what is done for one must not be used for another."""
    stats = [(path, (stat := os.stat(path)).st_size, stat.st_mtime_ns) for path in source.files]  # noqa: PTH116
    said = json.dumps(
        [stats, order.request.seeded, order.schema.model_dump(mode="json"), order.part_rows],
        default=str,
    )
    return hashlib.sha256(said.encode()).digest()


# ── the files of a release ──────────────────────────────────────────────────────────────────────


class _Files:
    """The files of a release in its draft, before they are published."""

    def __init__(self, run: Local, job: Job, folder: Path, order: _Order, ending: str) -> None:
        self.run, self.job, self.folder, self.order = run, job, folder, order
        self.ending = ending
        self.digests: dict[str, Digest] = {}
        self.defused = 0

    @property
    def task(self) -> Task:
        """What was asked."""
        return self.job.task

    def write(self, number: int) -> "_Files":
        """Write all buckets, and read each file back."""
        for place in range(number):
            name = f"part-{place:05}{self.ending}"
            digest, defused = self.run.once(f"file-{place}", partial(self._write, place, name))
            if digest is not None and not self._is_there(name, digest):  # removed after a crash
                digest, defused = self._write(place, name)
            if digest is not None:
                self.digests[name] = digest
            self.defused += defused
            self.run.progress("writing", (place + 1) / number)
        return self

    def _is_there(self, name: str, digest: Digest) -> bool:
        path = self.folder / name
        return path.exists() and Digest.of(path) == digest

    def _write(self, place: int, name: str) -> tuple[Digest | None, int]:
        gathered = self.run.gathered(place, self.job)
        if gathered.persons:
            with self.run.spool.appender(f"persons-{place}", after=0) as file:
                write_frame(file, pl.DataFrame(gathered.persons))
        if not gathered.table.frame.height:
            return None, 0
        path = self.folder / name
        with files.output_errors(), open(path, "wb", opener=_private) as output:
            defused = tables.write(gathered.table, output, name, defuse=self.order.defuse)
        again = tables.from_bytes(path.read_bytes(), self.order.schema, self._format)
        ours, theirs = gathered.table.frame, again.frame
        if (ours.height, ours.columns) != (theirs.height, theirs.columns):
            raise ViolationError("a written file has lost rows or columns: nothing is published")
        if self.ending != ".csv":
            tables.refuse_changed(gathered.table, again)
        return Digest.of(path), defused

    @property
    def _format(self) -> TableFormat:
        return TableFormat(**self.task.dialect.written, header=True, skip=0)

    def batches(self) -> Batches:
        """The files as they were written."""
        return batches(str(self.folder), self.order.schema, declared=self._format)

    @property
    def output(self) -> Output:
        """The figures of the files."""
        kind = "csv" if self.ending == ".csv" else "parquet"
        return Output.of_folder(kind, self.digests, self.task.dialect.written, self.defused)

    # ── judging ─────────────────────────────────────────────────────────────────────────────────

    def verdict(self) -> Verdict:
        """Verify all files together."""
        requirements = self.order.request.requirements
        return verify(self.batches(), self.order.schema, requirements, persons=self._persons())

    def _persons(self) -> dict[str, pl.Series]:
        names = self.task.request.persons
        if not names:
            return {}
        places = [int(name.removesuffix(self.ending)[-5:]) for name in sorted(self.digests)]
        some = pl.concat(
            [one for place in places for one in frames(self.run.spool, f"persons-{place}")]
        )
        return {name: some[f"p{place}"].alias(name) for place, name in enumerate(names)}

    def findings(
        self, survey: Survey, summary: Summary, verdict: Verdict, doubts: list[str]
    ) -> Findings:
        """All that is known of the release."""
        request = self.order.request
        view, carried = self._view(summary)
        losses = loss.measure(
            view, suppressed=summary.suppressed, k=request.k, in_groups=summary.in_groups
        )
        mended = [told(*mend, cells, request.k) for mend, cells in sorted(summary.mended.items())]
        made = Made(
            request,
            alike=True,
            filled_in=summary.filled_in,
            key=self.order.key if self.order.secret.seed is None else None,
            timed=False,
            doubts=[*doubts, *filter(None, mended)],
        )
        rows = Rows.counted(survey.read, survey.scan.rows, summary.suppressed)
        persons = self._persons()
        counted = None
        if persons:
            whose = next(iter(persons.values()))
            sizes = whose.drop_nulls().value_counts(name="rows")["rows"]
            counted = Persons(int(sizes.max() or 1), whose.null_count(), None)  # type: ignore[arg-type]
        schema = self.order.schema
        return Findings(request, schema, view, carried, verdict, losses, rows, counted, made)

    def _view(self, summary: Summary) -> tuple[View, Carried]:
        names, target = self.task.quasi, self.order.request.class_column
        before = 0

        def each() -> Iterator["_Both"]:
            nonlocal before
            for batch in self.batches():
                yield _Both(
                    ReleasedClasses.of(batch, names, class_column=target, before=before),
                    Carried.of(batch, self.order.schema),
                )
                before += batch.frame.height

        found = merged(each())
        assert found is not None
        tally = Tally.of_scan(summary.scan, self.order.schema, self.task.dialect)
        view = View.counted(tally, found.classes, self.batches(), self.task.dialect)
        return view, found.carried

    def sensitive(self) -> Table:
        """The distinct cells of sensitive columns that a certificate describes."""
        listed = {r.on for r in self.order.request.requirements if isinstance(r, AlphaK)}
        columns = self.order.schema.columns
        names = [
            name
            for name in self.order.schema.names(Role.SENSITIVE)
            if name in listed or columns[name].taxonomy is not None
        ]
        known: Mapping[str, pl.Series] = {}
        for batch in self.batches().only(names) if names else ():
            known = {
                name: pl.concat(
                    [*([known[name]] if known else []), batch.frame[name].unique()]
                ).unique()
                for name in names
            }
        most = max(map(len, known.values()), default=0)
        cells = [one.gather([*range(len(one)), *[0] * (most - len(one))]) for one in known.values()]
        return Table(pl.DataFrame(cells), self.task.dialect)


@dataclass(frozen=True, eq=False)
class _Both:
    """What one pass over the files counts."""

    classes: ReleasedClasses
    carried: Carried

    def __add__(self, other: "_Both") -> "_Both":
        return _Both(self.classes + other.classes, self.carried + other.carried)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
