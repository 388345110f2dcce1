import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

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
    names: list[str],
    output: Path = Path("covey-experiments"),
    quick: bool = False,
    adult: Path | None = None,
    download: bool = False,
    ipums: Path | None = None,
    census: Path | None = None,
) -> None:
    from covey.report import charts
    from covey.tables import files

    try:
        from covey_experiments import adult as uci
        from covey_experiments import figures, page
        from covey_experiments.data import Datasets, Places
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
    if ipums and census:
        raise UsageError("He's figures use one table: pass --ipums or --census, not both")
    if adult and download:
        raise UsageError("Adult has one source: pass --adult or --download, not both")
    drawn, worked = figures.chosen(names)
    charts.refuse_without_charts()
    with files.output_errors():
        output.mkdir(parents=True, exist_ok=True)
    how = _circumstances(
        names,
        {"quick": quick, "download": download},
        {"adult": adult, "ipums": ipums, "census": census},
    )
    if download:
        adult = uci.downloaded(output)
    places, points = Places(adult, ipums, census), Store(output / "points.csv")
    task = Experiment(drawn, Datasets(places), points, quick=quick)
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
            results = page.Results(task.drawn(), done, how)
            written = page.write(output, results, progress)
        out.print(str(written), soft_wrap=True)


def _circumstances(
    names: list[str], flags: dict[str, bool], files: dict[str, Path | None]
) -> "Circumstances":
    """When and how this run is made; file names only, since folders may reveal the user."""
    import datetime
    import platform

    from covey_experiments.figures import QUICK_RUNS, RUNS
    from covey_experiments.page import Circumstances

    words = [*names, *(f"--{flag}" for flag, is_set in flags.items() if is_set)]
    for option, path in files.items():
        words += [f"--{option}", path.name] if path else []
    return Circumstances(
        date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        command=" ".join(["covey experiment", *words]),
        machine=f"covey {version('covey')}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores",
        quick=flags["quick"],
        runs=QUICK_RUNS if flags["quick"] else RUNS,
    )
