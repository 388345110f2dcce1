"""From a table to its verified release, one stage a line.

    read → roles → order → encode → cluster → generalise → verify → measure → write

Rows are put into an order that depends on their content and the custodian's key alone before they
are clustered, and leave in another that depends on their released content alone: no position tells
anything, and any permutation of the input gives the same release.
"""

import contextlib
import hashlib
import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import polars as pl
from pydantic import TypeAdapter, ValidationError

from covey import tables
from covey._core.arrays import Longs
from covey.clustering import METHODS, Method, keep_demands, method_named, refined, refuse_infeasible
from covey.clustering.progress import STOPPED, Progress, silent
from covey.custody.footprints import Footprint, footprint
from covey.custody.keys import Key
from covey.custody.ordering import canonical_order, ordered_people
from covey.custody.register import Register, remember
from covey.encoding import MISSING_LEAF, EncodedTable, Interval, encode, rows_to_drop
from covey.encoding.groups import SUPPRESSED, Groups, Rings
from covey.encoding.imputation import without_gaps
from covey.errors import GuaranteeError, SchemaError, UsageError, ViolationError, count
from covey.generalisation import Ranges, Style, filled_in, generalise, parse, telling_rows
from covey.generalisation.as_released import as_released
from covey.inspection.persons import refuse_unsaid
from covey.measures import loss
from covey.measures.histograms import class_sizes, distributions, rows_of
from covey.measures.loss import Losses
from covey.measures.workload import Workload, classifier_accuracy, query_error
from covey.repair.surplus import surplus
from covey.report import (
    LIMITS,
    Costs,
    Output,
    Report,
    Rows,
    refuse_curve_of_others,
    refuse_format,
)
from covey.report import certificate as certificates
from covey.schema import Role, Schema, TableFormat, labels
from covey.schema.requirements import KAnonymity, Requirement
from covey.tables import Table, files, formulas
from covey.tables.csv_files import Dialect
from covey.verification import Verdict, verify
from covey.verification import rings as matchings

PLAIN = Style()
BY_CONTENT = "by released content"
AS_READ = "as in the input: positions may tell who is who"
UNKNOWN = "not known: somebody else has made the release"


@dataclass(frozen=True, eq=False)
class Release:
    """A table that keeps its promise, and what the custodian may want to know about it."""

    table: Any
    groups: Groups | Rings  # of the input's rows; -1 for a row that is not in the release
    rows: Longs  # the input's row behind each released one: for the custodian's eyes alone
    verdict: Verdict
    report: Report
    _released: Table
    _schema: Schema
    _asked: tuple[Requirement, ...]
    _judge: Callable[[Table], Verdict]
    _costs: Callable[[], pl.DataFrame]
    _trace: Footprint  # what the register will remember
    _inputs: tuple[str | Path, ...]  # files that no output may replace

    def __repr__(self) -> str:
        # What a dataclass would show of itself has cells in it, even original ones.
        rows, checks = self.report.rows, self.verdict.checks
        kept = ", ".join(f"{check.name} {check.achieved:g}" for check in checks)
        return f"Release({rows.released:,} of {rows.read:,} rows by {self.report.method}, {kept})"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()

    def write(
        self,
        path: str | Path,
        *,
        report: str | Path | Sequence[str | Path] | None = None,
        costs: str | Path | None = None,
        certificate: bool = False,
        curve: Costs | None = None,
        defuse: bool = True,
        register: str | Path | Literal[False] | None = None,
        refuse_composition: bool | None = None,
        outputs: files.Outputs | None = None,
    ) -> Report:
        """Write the release, and what is asked for beside it, once its bytes have been verified.

        The bytes are read back under a temporary name and judged by the verifier. Only then do
        all files get their names, in one step. Text that a spreadsheet would run as a formula gets
        an apostrophe in front, unless `defuse` is off. A report is a page if its name ends in
        .html, and JSON if in .json; a `curve` of the released rows that is handed over is shown in
        it. The `costs` are for the custodian alone, so only the owner can read that file. A
        `certificate` lies beside the release, under its name and .intoto.json. `outputs` are the
        drafts of all these files, where they are open already.

        Before, the release is laid over all earlier ones in the `register`, the custodian's own
        unless its path is given, and enters it; with False it does neither. The report that comes
        back says what they keep together. If that is less than was asked, nothing is written where
        `refuse_composition` says so, or else the schema.
        """
        if certificate and isinstance(self.groups, Rings):
            raise UsageError(UNCERTAIN)
        refuse_curve_of_others(curve, self.report.rows)
        reports = [report] if isinstance(report, str | Path) else list(report or ())
        beside = companions(path, reports, costs, certificate=certificate)
        known = Register.of(register)
        kept = () if known is None else (known.path,)
        files.refuse_overwriting([path, *beside], [*self._inputs, *kept])
        with contextlib.ExitStack() as stack:
            if outputs is None:
                private = [name for name in (costs,) if name is not None]
                outputs = stack.enter_context(files.outputs(path, *beside, private=private))
            table = outputs[path]
            with files.output_errors():
                changed = tables.write(self._released, table.file, Path(path).name, defuse=defuse)
            data = table.read()
            again, verdict = self._verify(data)
            output = _output(data, again.dialect, changed)
            entry = stack.enter_context(
                remember(
                    *(register, self._trace),
                    path=None if path == files.STREAM else str(path),
                    sha256=output.sha256,
                    request=self.report.request,
                    refuse=self._schema.require.composition == "refuse"
                    if refuse_composition is None
                    else refuse_composition,
                )
            )
            written = replace(self.report, output=output, curve=curve)
            written = written.composed(entry.composition, entry.warnings)
            pages = {name: written.written_as(name) for name in reports}
            for name, page in pages.items():
                outputs[name].write(page)
            if costs is not None:
                outputs[costs].write(self.costs.write_csv().encode())
            if certificate:
                said = certificates.statement(
                    *(Path(path).name, written, pages, self._schema, self._asked, again, verdict)
                )
                outputs[certificates.beside(path)].write(said)
            with entry.publishing():
                outputs.publish()
        return written

    @property
    def costs(self) -> pl.DataFrame:
        """What each row of the input has paid, for the custodian's eyes alone.

        One line per row: its number from 0, the label of its group, its loss, and what each
        quasi-identifier adds to it, weighted. Sums are those of the report. A suppressed row has
        the label -1 and has lost everything; a row that the missing-value policy left out has
        neither label nor loss. There are no cells in it, but it tells who is grouped with whom.
        """
        return self._costs()

    def workload(
        self, original: Any, *, class_column: str | None = None, queries: int = 1000, seed: int = 0
    ) -> Workload:
        """What this release is still good for; `original` is the table that it was made from."""
        return workload(
            original, self, self._schema, class_column=class_column, queries=queries, seed=seed
        )

    def _verify(self, data: bytes) -> tuple[Table, Verdict]:
        """Judge the bytes that are about to be published, with nothing but the schema known."""
        dialect = self._released.dialect
        written = TableFormat(**{**asdict(dialect), "header": True})
        again = tables.from_bytes(data, self._schema, written)
        ours, theirs = self._released.frame, again.frame
        if (ours.height, ours.columns) != (theirs.height, theirs.columns):
            raise ViolationError("the written table has lost rows or columns; it is not published")
        verdict = self._judge(again)
        verdict.raise_if_violated()
        return again, verdict


def companions(
    path: str | Path,
    reports: Sequence[str | Path] = (),
    costs: str | Path | None = None,
    *,
    certificate: bool = False,
) -> list[str | Path]:
    """The files beside a release; a name that does not fit its content is refused."""
    for name in reports:
        refuse_format(name)
    if costs is not None and Path(costs).suffix.lower() != ".csv":
        raise UsageError("the costs are CSV: give them a name that ends in .csv")
    more = [name for name in (costs,) if name is not None]
    return [*reports, *more, *([certificates.beside(path)] if certificate else [])]


UNCERTAIN = "a release of this method is judged with its original, so nobody else can check it"


def refuse_uncertain(method: str | Callable[..., Groups | Rings]) -> None:
    """A certificate is of a release that others can judge."""
    function = function_of(method)
    if isinstance(function, Method) and not function.alike:
        raise UsageError(UNCERTAIN)


def _output(data: bytes, dialect: Dialect, defused: int) -> Output:
    kinds = {b"PAR1": "parquet", b"\x1f\x8b\x08\x00": "gzipped csv"}
    kind, digest = kinds.get(data[:4], "csv"), hashlib.sha256(data).hexdigest()
    return Output(kind, len(data), digest, dialect.written, defused)


def anonymize(
    frame: Any,
    schema: Schema,
    *,
    require: Requirement | Sequence[Requirement] | None = None,
    method: str | Callable[..., Groups | Rings] = "covey",
    key: Key | bytes | str | Path | None = None,
    seed: int | None = None,
    class_column: str | None = None,
    refine: bool = False,
    style: Style = PLAIN,
    keep_order: bool = False,
    progress: Progress = silent,
    **options: Any,
) -> Release:
    """A verified release of a table of people.

    `frame` is a path or a dataframe of polars, pandas or pyarrow; the release's table is of the
    same kind (polars for a path), and the input is left as it was. What must hold is `require`, or
    else what the schema says. `method` is a name in `METHODS` or a function like those; `options`
    are its own. Random choices are drawn under the custodian's `key` (a file, 32 bytes, or by
    default the one in the user's data folder): the same request gives the same release, and nobody
    without the key can run it again. A `seed` takes its place in experiments; a release made with
    one can be replayed by anyone who guesses it. The classes of `class_column` are to stay apart,
    as far as the method knows how. With `refine`, covey's own method goes on from the groups of any
    other, as long as that lowers the loss. `keep_order` releases the rows in the input's order,
    which tells who is who to anyone who knows that order.
    """
    requirements, k = requirements_of(schema, require)
    refuse_wrong_options(function_of(method), options)
    requirements += _kept_besides(method, options, schema, requirements)
    stage = _Stages(progress)
    progress = stage.tell
    with stage("reading"):
        table = tables.original(frame, schema, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
        doubts = refuse_unsaid(table, schema, requirements)
    with stage("ordering"):
        request = [name_of(method), options, k, class_column]
        request += [(asked.name, asdict(asked)) for asked in _besides(requirements)]
        if refine:
            request.append("refined")
        custodian = Key.of(key)
        people = ordered_people(table, schema, request, seed=seed, key=custodian)
    with stage("encoding"):
        persons = _persons(table, schema, requirements)
        encoded = encode_people(
            *(people.table, schema, k, class_column),
            require=requirements,
            persons={name: cells[people.rows] for name, cells in persons.items()},
            max_suppressed=options.get("max_suppressed", 0.0),
        )
    with stage("clustering"):
        formed = form_groups(encoded, k, method, people.seed, progress, options, refine=refine)
    with stage("generalising"):
        # From here on, suppressed rows are a number: what follows knows the others alone, so that
        # no label, scale or frequency can depend on what is not released.
        everybody, minded = (
            people.rows,
            list(encoded.constraints.columns if encoded.constraints else ()),
        )
        kept, groups = np.flatnonzero(formed.labels >= 0), formed.released()
        if formed.suppressed:
            people = people.take(kept)
            encoded = encode(people.table, schema)
        released = generalise(people.table, encoded, groups, style)
        order = _leaving_order(released, people.rows, keep_order=keep_order)
        released = released.with_frame(released.frame[order])
    with stage("verifying"):
        whose = {name: cells[people.rows[order]] for name, cells in persons.items()}
        judge = _judge(schema, requirements, encoded, groups, order, whose)
        verdict = judge(released)
        verdict.raise_if_violated()
    with stage("measuring"):
        losses = loss.measure(
            encoded,
            released,
            suppressed=formed.suppressed,
            k=k,
            class_column=class_column,
            classes=isinstance(groups, Groups),
            groups=groups if isinstance(groups, Groups) else None,
        )
        whose_rows = _counted(persons, people.rows, requirements)
        spread = distributions(encoded, released, k, persons=whose_rows)
    with stage("remembering"):
        trace = footprint(
            *(custodian, table, released.frame, people.rows[order], schema),
            _sizes_asked(requirements),
            alike=isinstance(groups, Groups),
        )
    rows = Rows(
        read=table.frame.height,
        dropped=table.frame.height - len(everybody),
        suppressed=formed.suppressed,
        released=released.frame.height,
    )
    report = Report(
        version=_version(),
        date=_today(),
        rows=rows,
        verdict=verdict,
        losses=losses,
        method=name_of(method),
        options=_told(options, function_of(method)),
        key=custodian.fingerprint if seed is None else None,
        order=AS_READ if keep_order else BY_CONTENT,
        configuration=_configuration(schema, encoded, style, requirements, table.dialect),
        warnings=(
            *doubts,
            *_warnings_of_method(
                *(encoded, groups, options, class_column),
                keep_order=keep_order,
                key=custodian if seed is None else None,
                timed=stage.stopped or options.get("budget") is not None,
                minded=minded,
                least=rows_of(k, whose_rows),
            ),
            *_warnings_of_release(encoded, released, schema, verdict, rows),
            *_warnings_of_labels(encoded, released, schema, least=rows_of(k, whose_rows)),
        ),
        seconds=stage.seconds,
        classes=class_sizes(encoded, released) if isinstance(groups, Groups) else (),
        distributions=spread,
        limits=LIMITS if isinstance(groups, Groups) else matchings.LIMITS,
    )
    return Release(
        table=table.give_back(released.frame),
        groups=_in_input_order(formed, everybody, table.frame.height),
        rows=people.rows[order],
        verdict=verdict,
        report=report,
        _released=released,
        _schema=schema,
        _asked=requirements,
        _judge=judge,
        # A copy of the encoded table leaves behind what the method had it work out.
        _costs=partial(
            _costs,
            replace(encoded),
            released,
            labels=formed.labels,
            people=everybody,
            behind=kept[order],
            total=table.frame.height,
        ),
        _trace=trace,
        _inputs=tuple(one for one in (frame, custodian.path) if isinstance(one, str | Path)),
    )


def cluster(
    frame: Any,
    schema: Schema,
    *,
    k: int,
    method: str | Callable[..., Groups | Rings] = "covey",
    seed: int = 0,
    class_column: str | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Groups | Rings:
    """The groups that a method forms, one label per row of the input, -1 for rows left out.

    Rows are clustered in the input's order, as the papers describe; `anonymize` orders them first.
    """
    requirements_of(schema, [KAnonymity(k)])
    refuse_wrong_options(function_of(method), options)
    table = tables.original(frame, schema, Role.QUASI)
    kept = np.flatnonzero(~rows_to_drop(table, schema))
    encoded = encode_people(table.with_rows(table.frame[kept], kept), schema, k, class_column)
    groups = form_groups(encoded, k, method, seed, progress, options)
    return _in_input_order(groups, kept, table.frame.height)


def measure(
    original: Any,
    released: Any,
    schema: Schema,
    *,
    k: int | None = None,
    class_column: str | None = None,
    queries: int | None = None,
) -> Losses:
    """What a released table has lost against its original, whoever released it.

    Asked for a number of `queries`, it also tells how far counts over the release are off.
    """
    table = tables.original(original, schema, Role.QUASI)
    kept = np.flatnonzero(~rows_to_drop(table, schema))
    encoded = encode(table.with_rows(table.frame[kept], kept), schema)
    shown, _ = _read_release(released, schema, table.dialect)
    asked = schema.require.k if k is None else KAnonymity(k).k
    with telling_rows(encoded, shown):
        losses = loss.measure(encoded, shown, k=asked, class_column=class_column)
    if queries is None:
        return losses
    return replace(losses, queries=query_error(encoded, shown, queries=queries))


def report_on(
    original: Any,
    released: Any,
    schema: Schema,
    *,
    require: Requirement | Sequence[Requirement] | None = None,
    class_column: str | None = None,
    curve: Costs | None = None,
    progress: Progress = silent,
) -> Report:
    """The report on a released table, whoever released it, beside the table that it was made from.

    What must hold is `require`, or else what the schema says; the report tells whether it does.
    """
    requirements, k = requirements_of(schema, require)
    stage = _Stages(progress)
    with stage("reading"):
        table = tables.original(original, schema, Role.QUASI)
        kept = np.flatnonzero(~rows_to_drop(table, schema))
        shown, output = _read_release(released, schema, table.dialect)
    with stage("encoding"):
        encoded = encode(table.with_rows(table.frame[kept], kept), schema)
    with stage("verifying"):
        verdict = verify(shown, schema, require=requirements)
    with stage("measuring"), telling_rows(encoded, shown):
        losses = loss.measure(encoded, shown, k=k, class_column=class_column)
        whose = _counted(_persons(table, schema, requirements), kept, requirements)
        same_rows, known = not losses.suppressed, encoded
        if not same_rows:
            # Nobody knows which rows were left out: what is told is what the release tells itself.
            known, whose = as_released(encoded, shown), None
        spread = distributions(known, shown, k, persons=whose, same_rows=same_rows)
    rows = Rows(
        read=table.frame.height,
        dropped=table.frame.height - len(kept),
        suppressed=losses.suppressed,
        released=shown.frame.height,
    )
    refuse_curve_of_others(curve, rows)
    return Report(
        version=_version(),
        date=_today(),
        rows=rows,
        verdict=verdict,
        losses=losses,
        method=None,
        options={},
        key=None,
        order=UNKNOWN,
        configuration=_configuration(
            schema, known, None, requirements, shown.dialect, same_rows=same_rows
        ),
        warnings=(
            *_warnings_of_release(encoded, shown, schema, verdict, rows),
            *_warnings_of_labels(
                encoded if same_rows else None, shown, schema, least=rows_of(k, whose)
            ),
        ),
        seconds=stage.seconds,
        classes=class_sizes(encoded, shown),
        distributions=spread,
        output=output,
        curve=curve,
    )


def _read_release(released: Any, schema: Schema, dialect: Dialect) -> tuple[Table, Output | None]:
    """A released table, and its bytes in numbers where it is a file.

    Numbers and missing cells are written as in the original, whatever the files' other habits.
    """
    alike = {"decimal": dialect.decimal, "missing": dialect.missing}
    declared = schema.table.model_copy(update=alike)
    if not isinstance(released, str | Path):
        return tables.read(released, schema, declared=declared), None
    data = tables.read_bytes(released)
    shown = tables.from_bytes(data, schema, declared)
    is_csv = not data.startswith(b"PAR1")
    defused = formulas.count_defused(shown.frame, shown.dialect) if is_csv else 0
    return replace(shown, source=Path(released).name), _output(data, shown.dialect, defused)


def workload(
    frame: Any,
    release: Release,
    schema: Schema,
    *,
    class_column: str | None = None,
    queries: int = 1000,
    seed: int = 0,
) -> Workload:
    """What a release of `frame` is still good for: to count people, and to predict their class.

    The classifier needs scikit-learn, which comes with the extra `covey[workload]`.
    """
    table = tables.original(frame, schema, Role.QUASI)
    kept = np.flatnonzero(~rows_to_drop(table, schema))
    people = table.with_rows(table.frame[kept], kept)
    encoded = encode(people, schema)
    errors = query_error(encoded, release._released, queries=queries, seed=seed)
    counted = Workload(query_error_median=errors.median, query_error_mean=errors.mean)
    if class_column is None:
        return counted
    _check_class_column(schema, class_column)
    rows = np.searchsorted(kept, release.rows)
    classes = people.frame[class_column]
    accuracy = classifier_accuracy(encoded, release._released, rows, classes, seed=seed)
    return replace(
        counted,
        accuracy=accuracy.released,
        accuracy_original=accuracy.original,
        accuracy_majority=accuracy.majority,
    )


# ── stages ──────────────────────────────────────────────────────────────────────────────────────


class _Stages:
    """Times the stages and tells of each as it begins."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.seconds: dict[str, float] = {}
        self.stopped = False  # whether an interruption has ended one early

    def tell(self, stage: str, done: float) -> None:
        """Pass on how far a stage has come."""
        self.stopped = self.stopped or stage == STOPPED
        self._progress(stage, done)

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        self._progress(name, 0.0)
        yield
        self.seconds[name] = time.perf_counter() - began


def requirements_of(
    schema: Schema, require: Requirement | Sequence[Requirement] | None
) -> tuple[tuple[Requirement, ...], int]:
    """The requirements, and the k among them."""
    if not isinstance(schema, Schema):
        raise SchemaError("a schema comes from covey.Schema.from_toml or covey.Schema.of")
    requirements = schema.requirements(require)
    sizes = [requirement.k for requirement in requirements if isinstance(requirement, KAnonymity)]
    if not sizes:
        raise SchemaError("nothing is promised: ask for k, or give it in the schema's [require]")
    return requirements, max(sizes)


def encode_people(
    table: Table,
    schema: Schema,
    k: int,
    class_column: str | None,
    *,
    require: Sequence[Requirement] = (),
    persons: Mapping[str, pl.Series] | None = None,
    max_suppressed: float = 0.0,
) -> EncodedTable:
    """The people as a method sees them, if what is asked for can be had of them.

    It may be had of some of them only, if the others are few enough to be left out.
    """
    if not table.frame.height:
        raise UsageError("the table has no rows to release")
    refuse_infeasible(table.frame.height, k)
    if class_column is not None:
        _check_class_column(schema, class_column)
    encoded = encode(table, schema, class_column=class_column, require=require, persons=persons)
    surplus(encoded, k, _most(encoded, max_suppressed))
    return encoded


def _most(encoded: EncodedTable, max_suppressed: float) -> int:
    """The rows that such a share allows to leave out; what is no share, the method refuses."""
    return int(max_suppressed * encoded.rows + 1e-9) if 0 <= max_suppressed < 1 else 0


def _check_class_column(schema: Schema, name: str) -> None:
    role = schema.columns[name].role if name in schema.columns else None
    if role not in (Role.SENSITIVE, Role.INSENSITIVE):
        raise SchemaError(f"the class column {name!r} must be a sensitive or insensitive column")


def form_groups(
    encoded: EncodedTable,
    k: int,
    method: str | Callable[..., Groups | Rings],
    seed: int,
    progress: Progress,
    options: dict[str, Any],
    *,
    refine: bool = False,
) -> Groups | Rings:
    """The groups that a method forms, none of them too small or without what is asked of them."""
    share = options.get("max_suppressed", 0.0)
    extra = surplus(encoded, k, _most(encoded, share))
    if len(extra):
        kept = np.setdiff1d(np.arange(encoded.rows), extra)
        rest = {**options, "max_suppressed": (_most(encoded, share) - len(extra)) / len(kept)}
        some = encoded.take(kept)
        groups = form_groups(some, k, method, seed, progress, rest, refine=refine)
        return _in_input_order(groups, kept, encoded.rows)
    function, table = function_of(method), without_gaps(encoded)
    groups = function(table, k, seed=seed, progress=progress, **options)
    if isinstance(groups, Rings) and function not in METHODS.values():
        raise UsageError("rows that are not alike are released only by a method called by its name")
    if len(groups) != encoded.rows or groups.smallest < k:
        raise GuaranteeError("the method formed groups that are too small, or lost rows")
    if isinstance(groups, Rings) or not (refine or encoded.constraints is not None):
        return groups
    settled = _settled(table, k, groups, seed, progress, refine=refine)
    lost = partial(loss.total_in_groups, encoded)
    if share and groups.suppressed and lost(settled) > lost(groups):
        # Without the rows left out, values are spread otherwise, and groups that kept what is asked
        # had to be changed: that may cost more than those rows would have.
        rest = {**options, "max_suppressed": 0.0}
        whole = form_groups(encoded, k, method, seed, progress, rest, refine=refine)
        assert isinstance(whole, Groups)
        return min(settled, whole, key=lost)
    return settled


def _settled(
    encoded: EncodedTable,
    k: int,
    groups: Groups,
    seed: int,
    progress: Progress,
    *,
    refine: bool,
) -> Groups:
    """Groups that keep what is asked, of the rows that are to be released.

    What is asked may depend on how values are spread over these, so it is looked at anew where rows
    have been left out.
    """
    kept = np.flatnonzero(groups.labels >= 0)
    table, labels = encoded, groups.labels
    if groups.suppressed:
        table, labels = encoded.take(kept), labels[kept]
    finish = refined if refine else keep_demands
    settled = np.full(encoded.rows, SUPPRESSED, dtype=np.int64)
    settled[kept] = finish(table, k, Groups(labels), seed=seed, progress=progress).labels
    return Groups(settled)


def function_of(method: str | Callable[..., Groups | Rings]) -> Callable[..., Groups | Rings]:
    """The method of this name, or the function itself."""
    return method_named(method) if isinstance(method, str) else method


def _judge(
    schema: Schema,
    requirements: tuple[Requirement, ...],
    encoded: EncodedTable,
    groups: Groups | Rings,
    rows: Longs,
    persons: dict[str, pl.Series],
) -> Callable[[Table], Verdict]:
    """Who judges the release: by its cells alone, or with the original if rows are not alike."""
    if isinstance(groups, Groups):
        return partial(verify, schema=schema, require=requirements, persons=persons)
    if any(not isinstance(asked, KAnonymity) or asked.person for asked in requirements):
        raise UsageError("rows that are not alike can keep k only: ask for nothing else")
    k = _largest_k(requirements)
    return partial(
        matchings.verify_rings, schema=schema, original=encoded, rings=groups, rows=rows, k=k
    )


def _besides(requirements: Sequence[Requirement]) -> list[Requirement]:
    """What is asked besides k of rows."""
    k = _largest_k(requirements)
    return [
        asked
        for asked in requirements
        if not (isinstance(asked, KAnonymity) and asked.k == k and not asked.person)
    ]


def _kept_besides(
    method: str | Callable[..., Groups | Rings],
    options: Mapping[str, Any],
    schema: Schema,
    requirements: Sequence[Requirement],
) -> tuple[Requirement, ...]:
    """What the method keeps by its own options: it is verified like all that is asked."""
    function = function_of(method)
    if not isinstance(function, Method) or function.keeps is None:
        return ()
    kept = function.keeps(options, schema.names(Role.SENSITIVE))
    return tuple(one for one in kept if one not in requirements)


def _persons(
    table: Table, schema: Schema, requirements: Sequence[Requirement]
) -> dict[str, pl.Series]:
    """Whose row each is, where persons are counted; not for release."""
    names = {r.person for r in requirements if isinstance(r, KAnonymity) and r.person}
    absent = sorted(names - set(table.frame.columns))
    if absent:
        raise SchemaError(f"the person column {absent[0]!r} is not in the table")
    return {name: tables.whose(table.cells(name), schema.table) for name in names}


def _counted(
    persons: Mapping[str, pl.Series], rows: Longs, requirements: Sequence[Requirement]
) -> pl.Series | None:
    """Whose row each is, if k counts persons."""
    names = [r.person for r in requirements if isinstance(r, KAnonymity) and r.person]
    return persons[names[0]][rows] if names else None


def _whom(requirements: Sequence[Requirement]) -> str | Literal[False] | None:
    """The column by which k counts persons, False for rows, None where that was not said."""
    said = [r.person for r in requirements if isinstance(r, KAnonymity) and r.person is not None]
    return next(filter(None, said), said[0] if said else None)


def _sizes_asked(requirements: Sequence[Requirement]) -> KAnonymity:
    """What is asked of the size of classes: of persons, if that is asked, or else of rows."""
    asked = [one for one in requirements if isinstance(one, KAnonymity)]
    return max(asked, key=lambda one: (bool(one.person), one.k))


def _largest_k(requirements: Sequence[Requirement]) -> int:
    return max(asked.k for asked in requirements if isinstance(asked, KAnonymity))


def refuse_wrong_options(method: Callable[..., Groups | Rings], options: Mapping[str, Any]) -> None:
    """A method has the options that its function names, of the types it names, unless it takes any.

    Types are strict: the text "no" is not false, and true is not 1.
    """
    function = getattr(method, "function", method)
    known = inspect.signature(function).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        allowed = [name for name in known if name not in ("table", "k", "seed", "progress")]
        unknown = [name for name in options if name not in allowed]
        if unknown:
            raise UsageError(
                f"the method has no option {unknown[0]!r}; it has {', '.join(allowed) or 'none'}"
            )
    types = get_type_hints(function)
    for name, value in options.items():
        if name in types:
            try:
                TypeAdapter(types[name]).validate_python(value, strict=True)
            except ValidationError:
                raise UsageError(
                    f"the method's option {name!r} must be {_wanted(types[name])}"
                ) from None


def _wanted(kind: Any) -> str:
    kinds = [each for each in get_args(kind) or [kind] if each is not type(None)]
    if get_origin(kind) is not Literal and len(kinds) == 1 and kinds != [kind]:
        return _wanted(kinds[0])  # or nothing
    if get_origin(kind) is Literal:
        return f"one of {', '.join(kinds)}"
    return _KINDS.get(kind, str(kind))


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def _leaving_order(released: Table, rows: Longs, *, keep_order: bool) -> Longs:
    if keep_order:
        return np.argsort(rows)
    return canonical_order(released.frame, released.frame.columns)


def _in_input_order(groups: Groups | Rings, rows: Longs, total: int) -> Groups | Rings:
    if isinstance(groups, Rings):
        return groups.within(rows, total)
    labels = np.full(total, SUPPRESSED, dtype=np.int64)
    labels[rows] = groups.labels
    return Groups(labels)


def _costs(
    encoded: EncodedTable,
    released: Table,
    labels: Longs,
    people: Longs,
    behind: Longs,
    total: int,
) -> pl.DataFrame:
    """The losses of the people in the input's order; `behind` are those of the released rows."""
    losses = np.tile(encoded.weights, (len(people), 1))
    losses[behind] = loss.row_losses(encoded, released)
    paid = pl.DataFrame(
        {
            "row": people,
            "group": labels,
            "loss": losses.sum(axis=1),
            **{f"loss_{a.name}": losses[:, j] for j, a in enumerate(encoded.attributes)},
        }
    )
    everyone = pl.DataFrame({"row": np.arange(total, dtype=np.int64)})
    return everyone.join(paid, on="row", how="left", maintain_order="left")


# ── what the report says ────────────────────────────────────────────────────────────────────────


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _version() -> str:
    from importlib.metadata import version

    return version("covey")


def _told(options: Mapping[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """The options as they are published: what somebody's own method was handed may be anything."""
    if isinstance(function, Method):
        return dict(options)
    plain = bool | int | float | None
    return {name: value if isinstance(value, plain) else "…" for name, value in options.items()}


def name_of(method: str | Callable[..., Groups | Rings]) -> str:
    """What a method is called in a report."""
    if isinstance(method, str):
        return method
    return str(getattr(method, "name", getattr(method, "__name__", "custom")))


def _configuration(
    schema: Schema,
    encoded: EncodedTable,
    style: Style | None,
    requirements: Sequence[Requirement],
    dialect: Dialect,
    *,
    same_rows: bool = True,
) -> dict[str, Any]:
    """The request as it was understood; trees by their shape, since labels may name people.

    Where it is not known which rows are behind the release, a tree that was made from the values of
    all of them is not told.
    """
    trees = {
        category.name: {
            "leaves": category.tree.leaf_count - (MISSING_LEAF in category.tree.node_of),
            "height": category.tree.height,
        }
        for category in encoded.categories
        if same_rows or not category.column.has_own_tree
    }
    columns = {}
    for name, column in schema.columns.items():
        quasi = column.role is Role.QUASI
        columns[name] = column.model_dump(
            mode="json",
            exclude={"taxonomy"},
            exclude_none=True,
            include=None if quasi else {"role", "normalise"},
        )
        if name in trees:
            columns[name]["taxonomy"] = trees[name]
    return {
        "columns": columns,
        "table": asdict(dialect),
        "require": {
            "k": _largest_k(requirements),
            "person": _whom(requirements),
            # As the verdict names them; there stands what was asked of each.
            "besides": [asked.name for asked in _besides(requirements)],
        },
        "loss": schema.loss,
        "style": style and asdict(style),
    }


def _warnings_of_method(
    encoded: EncodedTable,
    groups: Groups | Rings,
    options: Mapping[str, Any],
    class_column: str | None,
    *,
    keep_order: bool,
    key: Key | None,
    timed: bool,
    minded: Sequence[str],
    least: int,
) -> Iterator[str]:
    if key is None:
        yield (
            "a seed was chosen: anyone who guesses it can run this release again and so find out "
            "whose row is whose; publish a release that was made without one"
        )
    elif not key.stored:
        yield (
            "no key could be stored: the same request will give another release next time, and the "
            "two can be laid over each other"
        )
    if timed:
        yield (
            "the groups depend on how long the method worked: once more, the same request may give "
            "another release, and the two can be laid over each other"
        )
    if minded:
        yield (
            f"groups depend on {', '.join(minded)}, of which more than k was asked: whoever knows "
            "the method may learn a little from how they were formed"
        )
    if class_column is not None and options.get("penalty") != 0:
        yield f"groups may depend on column {class_column!r}, and so tell about it"
    if isinstance(groups, Rings):
        yield (
            "the rows of this release are not alike: it keeps everyone among k rows that may be "
            "theirs, which is not k-anonymity, and only whoever has the original can check it"
        )
    if keep_order:
        yield "the rows are in the input's order: whoever knows it knows whose row is whose"
    for attribute in encoded.attributes:
        if filled := filled_in(attribute, groups):
            number = count(filled, "row") if filled >= least else f"fewer than {least:,} rows"
            yield (
                f"column {attribute.name!r}: {number} in which it was missing show what others of "
                "their group have, though nothing is known of them"
            )


def _warnings_of_release(
    original: EncodedTable, released: Table, schema: Schema, verdict: Verdict, rows: Rows
) -> Iterator[str]:
    """What can be seen of any release that is laid beside its original."""
    exact = [interval.name for interval in original.intervals if _ends_exactly(interval, released)]
    if exact:
        yield (
            f"the ends of the intervals in {', '.join(exact)} are exact values of people in the "
            "table; a grid moves them outwards"
        )
    for name in schema.names(Role.INSENSITIVE, Role.SENSITIVE):
        distinct = released.frame[name].n_unique() if name in released.frame.columns else 0
        if distinct > released.frame.height / 2:
            yield f"column {name!r} is nearly unique ({distinct:,} values): it may identify people"
    for achieved in verdict.achieved:
        if achieved.certain:
            yield (
                f"{achieved.certain:.2%} of the rows are in classes that all have one value of "
                f"{achieved.column!r}: whoever finds such a class has learnt it"
            )
    if rows.suppressed:
        yield f"{count(rows.suppressed, 'row')} suppressed: {_BESIDE_TOTALS}"
    if rows.dropped:
        yield (
            f"{count(rows.dropped, 'row')} dropped, in which a cell was missing: {_BESIDE_TOTALS}; "
            "the loss is that of the rows that remained"
        )


def _warnings_of_labels(
    people: EncodedTable | None, released: Table, schema: Schema, *, least: int
) -> Iterator[str]:
    """Labels that a reader cannot tell apart, counted and never quoted.

    Sensitive ones stand in the release. Of quasi-identifiers it shows less, so only those of
    `people` who are in it count, and fewer than `least` rows are not told apart.
    """
    for name in schema.names(Role.SENSITIVE):
        if name in released.frame.columns and not schema.columns[name].is_ordered:
            found = labels.look_alikes(released.cells(name))
            if found:
                yield (
                    f"column {name!r}: {found} look alike to a reader, in "
                    f"{count(found.rows, 'row')}, and count as one each; {_TO_MERGE}"
                )
    for category in [] if people is None else people.categories:
        each = np.bincount(category.leaves, minlength=category.tree.leaf_count)
        found = labels.look_alikes(
            pl.Series(category.tree.leaves, dtype=pl.String), pl.Series(each)
        )
        if found.rows >= least:
            rows = count(found.rows, "row")
            yield f"column {category.name!r}: {found} look alike, in {rows}; {_TO_MERGE}"
        elif found:
            yield (
                f"column {category.name!r}: labels of fewer than {least:,} rows look alike; "
                f"{_TO_MERGE}"
            )


_TO_MERGE = "to merge them, set normalise for this column in the schema"
_BESIDE_TOTALS = "beside totals of the whole table, the release would tell what they held"


def _ends_exactly(interval: Interval, released: Table) -> bool:
    """Whether intervals end at values of the table: without a grid, covey's own do."""
    shown, _ = parse(interval, released)
    assert isinstance(shown, Ranges)
    wide, (bottom, top) = shown.low < shown.high, interval.column.bounds
    ends = np.concatenate(
        [shown.low[wide & (shown.low > bottom)], shown.high[wide & (shown.high < top)]]
    )
    exact = len(ends) > 0 and bool(np.isin(ends, interval.values).all())
    return exact and interval.column.grid is None
