from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from covey.cli.files import custodian, read, refuse_overwriting, register_at
from covey.cli.options import (
    AboutRelease,
    AsJson,
    Asked,
    ClassColumn,
    Format,
    MethodName,
    MethodOptions,
    RegisterPath,
    Seed,
    Source,
    WithCurve,
    command,
)
from covey.cli.progress import progress_bar
from covey.cli.shown import show_release
from covey.cli.terminal import err, give, say
from covey.errors import UsageError

if TYPE_CHECKING:
    from covey.generalisation import Style
    from covey.schema import Schema


@dataclass(frozen=True)
class Paths(Source):
    """The input files and the output file."""

    output: Annotated[
        str, Option("--output", "-o", metavar="FILE", help="Released table; - for stdout.")
    ]


@dataclass(frozen=True)
class Beside(AboutRelease):
    """What is written or printed along with the released table, and what its report says."""

    report: Annotated[
        list[Path] | None,
        Option("--report", metavar="FILE", help="Report as .html or .json; repeatable."),
    ] = None
    curve: WithCurve = False
    costs: Annotated[
        Path | None,
        Option(metavar="CSV", help="Write the loss of each row; do not publish it."),
    ] = None
    certificate: Annotated[
        bool,
        Option("--certificate", help="Write OUTPUT.intoto.json, so that others can check."),
    ] = False
    as_json: AsJson = False

    def files(self, output: str, method: str) -> list[str | Path]:
        """The files beside this output; refuse those that the method does not allow."""
        from covey.release import companions, refuse_uncertain
        from covey.studies import curves

        reports = self.report or []
        found = companions(output, reports, self.costs, certificate=self.certificate)
        if self.certificate:
            refuse_uncertain(method)
        if self.curve and not (reports or self.as_json):
            raise UsageError(
                "--curve needs a report: pass --report or --json, or use `covey curve`"
            )
        if self.about() is not None and not (reports or self.as_json):
            raise UsageError("--title, --purpose, --recipient and --responsible need a report")
        if self.curve:
            curves.refuse_method(method)
        if output == "-" and self.as_json:
            raise UsageError("the table and the JSON result cannot both go to standard output")
        return found


@dataclass(frozen=True)
class Clustering:
    """How the groups are formed."""

    method: MethodName = "covey"
    effort: Annotated[
        str | None,
        Option(metavar="NAME", help="fast, quick, balanced or best (covey method only)."),
    ] = None
    budget: Annotated[
        float | None, Option(metavar="SECONDS", help="Time limit in seconds (covey method only).")
    ] = None
    max_suppressed: Annotated[
        float | None,
        Option(metavar="SHARE", help="Share of rows it may suppress to lower the loss, as 0.01."),
    ] = None
    refine: Annotated[
        bool, Option("--refine", help="Improve the groups of another method with covey's.")
    ] = False
    option: MethodOptions = None
    key: Annotated[
        Path | None,
        Option(
            "--key", metavar="FILE", help="Your key file; by default the one in your data folder."
        ),
    ] = None
    seed: Seed = None
    class_column: ClassColumn = None

    def options(self) -> dict[str, Any]:
        """The options of the method; refuse one that is given twice."""
        from covey.studies import comparison

        own = {name: getattr(self, name) for name in ("effort", "budget", "max_suppressed")}
        own = {name: value for name, value in own.items() if value is not None}
        for option in self.option or []:
            name = option.partition("=")[0]
            if name in own:
                raise UsageError(f"{name!r} is given twice: give it once")
        return comparison.parse_options(self.option or []) | own


@dataclass(frozen=True)
class Cells:
    """How the released table is written."""

    value_sets: Annotated[
        bool, Option("--value-sets", help="Show {a, b} instead of the common ancestor.")
    ] = False
    low_high: Annotated[
        bool, Option("--low-high", help="Write two typed columns instead of [low, high].")
    ] = False
    keep_order: Annotated[
        bool, Option("--keep-order", help="Keep the input's order; it reveals whose row is whose.")
    ] = False
    formulas: Annotated[
        bool, Option("--formulas", help="Keep text that a spreadsheet would run as a formula.")
    ] = False

    def style(self) -> "Style":
        """How the cells of a group are written."""
        from covey.generalisation import Style

        return Style(
            "values" if self.value_sets else "ancestor", "columns" if self.low_high else "text"
        )


@dataclass(frozen=True)
class Earlier:
    """How earlier releases of the same people are taken into account."""

    register: RegisterPath = None
    no_register: Annotated[
        bool, Option("--no-register", help="Neither check earlier releases nor record this one.")
    ] = False
    refuse_composition: Annotated[
        bool,
        Option("--refuse-composition", help="Write nothing if earlier releases weaken this one."),
    ] = False

    def refused(self, schema: "Schema") -> bool:
        """Whether a weakened release is refused; an unusable register is an error now."""
        refused = self.refuse_composition or schema.require.composition == "refuse"
        if not self.no_register:
            register_at(self.register).releases()
        elif self.register is not None or refused:
            raise UsageError(
                "--no-register cannot be combined with --register or with refusing composition, "
                "which need the register: omit one of them"
            )
        return refused


@command("Release a table in which each person is hidden among at least k rows.")
def anonymize(
    paths: Paths,
    asked: Asked,
    beside: Beside,
    clustering: Clustering,
    cells: Cells,
    earlier: Earlier,
    format: Format,
) -> None:
    from covey import pipeline
    from covey.studies import curves
    from covey.tables import files

    companions = beside.files(paths.output, clustering.method)
    options, about = clustering.options(), beside.about()
    schema = asked.applied(format.schema(paths.schema))
    refuse_overwriting(
        [paths.output, *companions], paths.table, paths.schema, schema=schema, key=clustering.key,
        register=earlier.register,
    )  # fmt: skip
    refused = earlier.refused(schema)
    request: dict[str, Any] = {
        "method": clustering.method,
        "key": custodian(clustering.key),
        "seed": clustering.seed,
        "class_column": clustering.class_column,
    }
    private = [beside.costs] if beside.costs else []
    # If a place cannot be written, the user should know before the work, not after.
    with (
        files.outputs(paths.output, *companions, private=private) as outputs,
        progress_bar() as progress,
    ):
        table = read(paths.table, schema)
        release = pipeline.anonymize(
            table,
            schema,
            refine=clustering.refine,
            style=cells.style(),
            keep_order=cells.keep_order,
            progress=progress,
            **request,
            **options,
        )
        curve = None
        if beside.curve:
            # Of the released rows only: a curve of all rows would reveal something of the others.
            shown = table.with_frame(table.frame[sorted(release.rows.tolist())])
            needed = {n: v for n, v in options.items() if n not in ("budget", "max_suppressed")}
            curve = curves.curve(shown, schema, progress=progress, **request, **needed)
        progress("writing", 0.0)
        written = release.write(
            paths.output,
            report=beside.report or [],
            costs=beside.costs,
            certificate=beside.certificate,
            curve=curve,
            about=about,
            defuse=not cells.formulas,
            register=False if earlier.no_register else earlier.register,
            refuse_composition=refused,
            outputs=outputs,
        )
    if beside.costs is not None:
        say(f"{beside.costs.name} reveals which rows share a group: do not publish it")
    if beside.as_json:
        give(written.to_json())
    else:
        show_release(written, err)
