import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from covey.cli.files import custodian, read, refuse_overwriting, register_at
from covey.cli.options import AboutRelease, Format, Original, Required, command
from covey.cli.progress import progress_bar
from covey.cli.roles import GivenRoles
from covey.cli.shown import show_release
from covey.cli.terminal import err, give, is_verbose, say
from covey.errors import UsageError, percent

if TYPE_CHECKING:
    from covey.clustering.progress import Progress
    from covey.generalisation import Style
    from covey.release import Release, Writing
    from covey.report import Report
    from covey.schema import Schema
    from covey.studies.curves import Curve
    from covey.tables import Table


@dataclass(frozen=True)
class Beside(AboutRelease):
    """What is written or printed along with the released table, and what its report says."""

    heading: ClassVar[str] = "Report and other files"

    report: list[Path] | None = None
    curve: bool = False
    utility: bool = False
    costs: Path | None = None
    certificate: bool = False
    no_description: bool = False
    as_json: bool = False

    def curve_of(
        self,
        release: "Release",
        table: "Table",
        schema: "Schema",
        request: dict[str, Any],
        progress: "Progress",
    ) -> "Curve | None":
        """The curve of the released rows: one of all rows would reveal something of the others."""
        if not self.curve:
            return None
        from covey.studies import curves

        shown = table.with_frame(table.frame[sorted(release.rows.tolist())])
        left_out = {"budget", "max_suppressed"}
        if request["method"] != "covey":  # then the objective is that of a refinement
            left_out.add("objective")
        left_out |= {"refine", "style", "keep_order", "register", "price", "utility"}
        needed = {n: v for n, v in request.items() if n not in left_out}
        return curves.curve(shown, schema, progress=progress, **needed)

    def writing(self) -> "Writing":
        """What is written with the release."""
        return {
            "report": self.report or [],
            "costs": self.costs,
            "certificate": self.certificate,
            "description": not self.no_description,
            "about": self.about(),
        }

    def files(self, output: str, method: str) -> list[str | Path]:
        """The files beside this output; refuse those that the method does not allow."""
        from covey.release import Destination, refuse_uncertain

        found = Destination.of(output, **self.writing()).companions
        has_report = bool(self.report) or self.as_json
        if self.certificate:
            refuse_uncertain(method)
        if self.curve and not has_report:
            raise UsageError(
                "--curve needs a report: pass --report or --json, or use `covey curve`"
            )
        if self.about() is not None and not has_report:
            raise UsageError(
                "--title, --purpose, --recipient, --responsible and --accept need a report: pass "
                "--report or --json"
            )
        if self.curve:
            from covey.studies import curves

            curves.refuse_method(method)
        if output == "-" and self.as_json:
            raise UsageError("the table and the JSON result cannot both go to standard output")
        return found


@dataclass(frozen=True)
class Paths(Original):
    """The input files and the output file."""

    output: str | None = None
    dry_run: bool = False

    def outputs(
        self, beside: "Beside", method: str, *, in_parts: bool
    ) -> tuple[list[str], list[str | Path]]:
        """The released table and the files beside it: none of them in a dry run."""
        from covey.tables import formats

        if self.output is None and not self.dry_run:
            raise UsageError("no output given: pass -o FILE, or --dry-run to write nothing")
        output = self.output or "released.csv"
        if not in_parts:
            formats.writer_of(Path(output).name)
        companions = beside.files(output, method)
        return ([], []) if self.dry_run else ([str(self.output)], companions)


@dataclass(frozen=True)
class Clustering:
    """How the groups are formed."""

    heading: ClassVar[str] = "Method"

    method: str = "covey"
    effort: str | None = None
    budget: float | None = None
    objective: str | None = None
    max_suppressed: float | None = None
    refine: bool = False
    accept_minimality: bool = False
    option: list[str] | None = None
    key: Path | None = None
    seed: int | None = None
    class_column: str | None = None

    def request(self) -> dict[str, Any]:
        """The method with its options, and what it draws with."""
        from covey.clustering import objectives
        from covey.clustering.request import parse_options

        options = parse_options(self.option or [])
        for name in ("effort", "budget", "max_suppressed"):
            if (value := getattr(self, name)) is not None:
                if name in options:
                    raise UsageError(f"{name!r} is given twice: give it once")
                options[name] = value
        if self.objective is not None:
            options["objective"] = objectives.read(self.objective)
        return {
            "method": self.method,
            "key": custodian(self.key),
            "seed": self.seed,
            "class_column": self.class_column,
            "refine": self.refine,
            **options,
        }


@dataclass(frozen=True)
class CellOptions:
    """How the released table is written."""

    heading: ClassVar[str] = "How the release is written"

    value_sets: bool = False
    low_high: bool = False
    keep_order: bool = False
    formulas: bool = False

    def style(self) -> "Style":
        """How the cells of a group are written."""
        from covey.generalisation import Style

        return Style(
            "values" if self.value_sets else "ancestor", "columns" if self.low_high else "text"
        )


@dataclass(frozen=True)
class Earlier:
    """How earlier releases of the same people are taken into account."""

    heading: ClassVar[str] = "Earlier releases"

    register: Path | None = None
    no_register: bool = False
    refuse_composition: bool = False
    follow: bool = False
    only_new: bool = False
    after: Path | None = None
    reserve: int | None = None
    shrunk: str | None = None
    price: bool = False
    replace: bool = False

    def applied(self, schema: "Schema") -> "Schema":
        """The schema with what is required of all releases together."""
        from covey.choices import composition_of

        composition = composition_of(follow=self.follow, only_new=self.only_new)
        return schema.requiring(composition=composition, reserve=self.reserve, shrunk=self.shrunk)

    def writing(self, schema: "Schema", key: Path | None) -> "Writing":
        """The register, and whether a weakened release is refused.

        An unusable register is an error now.
        """
        composition = schema.require.composition
        refused = self.refuse_composition or composition == "refuse"
        if not self.no_register:
            register_at(self.register, custodian(key)).refuse_losses()
        elif self.register or self.after or self.replace or composition != "warn" or refused:
            raise UsageError(
                "--no-register cannot be combined with --register, --replace, --follow, "
                "--only-new, --after or with refusing composition, which need the register: omit "
                "one of them"
            )
        return {
            "register": False if self.no_register else self.register,
            "refuse_composition": refused,
            "replace": self.replace,
            "after": self.after,
        }


@dataclass(frozen=True)
class Large:
    """How a table of any size is released, as a folder of files."""

    heading: ClassVar[str] = "Tables of any size (-o FOLDER/)"

    engine: str | None = None
    part_rows: int | None = None
    resume: bool = False

    def chosen(self, paths: "Paths") -> str:
        """The engine: by what is released and where it goes, unless it is named."""
        from covey import pipeline

        engine = self.engine or pipeline.engine_for(paths.table, paths.output)
        if engine == "memory" and (self.part_rows is not None or self.resume):
            raise UsageError("--part-rows and --resume need a folder: pass -o FOLDER/")
        return engine

    def parts(self) -> dict[str, Any]:
        """How the table is divided."""
        rows = {} if self.part_rows is None else {"part_rows": self.part_rows}
        return {**rows, "resume": self.resume}


@command("Release a table in which each person is hidden among at least k rows.")
def anonymize(  # noqa: PLR0913 - groups of options
    paths: Paths,
    roles: GivenRoles,
    required: Required,
    beside: Beside,
    clustering: Clustering,
    cells: CellOptions,
    earlier: Earlier,
    large: Large,
    format: Format,
) -> None:
    engine = large.chosen(paths)
    in_parts = engine != "memory"
    if in_parts:
        _refuse_in_parts(paths, roles, beside, cells)
    output, companions = paths.outputs(beside, clustering.method, in_parts=in_parts)
    table, schema, described = roles.opened(paths, format, required.k)
    schema = required.applied(schema)
    if clustering.accept_minimality:
        schema = schema.requiring(minimality="accept")
    schema = earlier.applied(schema)
    refuse_overwriting(
        [*output, *companions], paths.table, *described, schema=schema,
        key=clustering.key, register=earlier.register,
    )  # fmt: skip
    writing = {
        **beside.writing(),
        **earlier.writing(schema, clustering.key),
        "defuse": not cells.formulas,
    }
    request = {
        "style": cells.style(),
        "keep_order": cells.keep_order,
        "price": earlier.price,
        **clustering.request(),
    }
    if in_parts:
        parts = {"engine": engine, **large.parts()}
        report, gap = _in_parts(paths, schema, {**parts, **request, **writing}), None
    else:
        drafts = output, companions
        request["utility"] = beside.utility
        report, gap = _in_memory(paths, table, schema, request, writing, beside, drafts)
    if beside.as_json:
        give(report.to_json())
    else:
        show_release(report, err, verbose=is_verbose())
        _tell_gap(gap)
    _tell_files([*output, *companions], beside.costs)


def _in_parts(paths: Paths, schema: "Schema", choices: dict[str, Any]) -> "Report":
    """Release a table of any size; after Ctrl-C, say where encrypted working files wait."""
    from covey import pipeline
    from covey.tables import files

    output = str(paths.output)
    try:
        with progress_bar() as progress:
            return pipeline.anonymize(
                paths.table, schema, to=output, progress=progress, **choices
            ).report
    except KeyboardInterrupt:
        folder = files.working_folder(output)
        if folder.exists():
            say(
                f"interrupted, nothing was published: continue with --resume, or remove {folder}, "
                "which has encrypted working files"
            )
        raise


def _refuse_in_parts(paths: Paths, roles: GivenRoles, beside: Beside, cells: CellOptions) -> None:
    """Refuse what needs the whole table in memory."""
    if roles.are_given:
        raise UsageError(
            "a table in parts needs a schema file: draft one with covey inspect … -o covey.toml"
        )
    for name, given in (
        ("--costs", beside.costs), ("--curve", beside.curve), ("--utility", beside.utility),
        ("--keep-order", cells.keep_order), ("--dry-run", paths.dry_run),
    ):  # fmt: skip
        if given:
            raise UsageError(
                f"{name} needs the whole table in memory: omit it, or write one file (-o FILE)"
            )


def _in_memory(
    paths: Paths,
    table: "Table | None",
    schema: "Schema",
    request: dict[str, Any],
    writing: dict[str, Any],
    beside: Beside,
    drafts: tuple[list[str], list[str | Path]],
) -> "tuple[Report, float | None]":
    """Release a table that fits into memory; also the gap."""
    from covey import pipeline
    from covey.tables import files

    output, companions = drafts
    private = [beside.costs] if beside.costs else []
    if paths.dry_run and not schema.require.needs_earlier:
        writing = {**writing, "register": False, "replace": False, "after": None}
    # If a place cannot be written, the user should know before the work, not after.
    with (
        files.Drafts(*output, *companions, private=private) as outputs,
        progress_bar() as progress,
    ):
        table = read(paths.table, schema) if table is None else table
        to = paths.output or "released.csv"
        release = pipeline.unwritten(table, schema, to=to, progress=progress, **request, **writing)
        if paths.dry_run:
            return release.report, release.gap
        curve = beside.curve_of(release, table, schema, request, progress)
        return release.write(*output, curve=curve, outputs=outputs, **writing), release.gap


def _tell_gap(gap: float | None) -> None:
    """Say how far the loss is above the least possible, if that is known."""
    if gap == 0.0:
        say("this is the least possible loss for this k")
    elif gap is not None:
        most = math.ceil(1000 * gap) / 1000
        say(f"the loss is at most {percent(most)} above the least possible for this k")


def _tell_files(written: Sequence[str | Path], costs: Path | None) -> None:
    """Which files there are now, and which of them are not for others."""
    if not written:
        say("dry run: nothing was written")
        return
    names = [str(path) for path in written if path != "-"]
    if names:
        say(f"wrote {', '.join(names)}")
    if costs is not None:
        say(f"{costs.name} reveals which rows share a group: do not publish it")
