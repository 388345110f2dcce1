from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from covey.cli.files import publish, read, refuse_overwriting
from covey.cli.options import Format, Original, command, counted, sizes
from covey.cli.progress import progress_bar
from covey.cli.roles import GivenRoles
from covey.cli.shown import show_curve
from covey.cli.terminal import give

if TYPE_CHECKING:
    from covey.studies.curves import Point


@dataclass(frozen=True)
class CurveOptions:
    """Where the curve is written, and how its points are found."""

    output: list[Path] | None = None
    person: str | None = None
    count_rows: bool = False
    limit_share: bool = False
    method: str = "covey"
    option: list[str] | None = None
    seed: int | None = None
    class_column: str | None = None
    as_json: bool = False


@command("Show the risk and the loss for each k, to help you choose one.")
def curve(
    *,
    source: Original,
    roles: GivenRoles,
    k: str | None = None,
    trial: CurveOptions,
    format: Format,
) -> None:
    from covey.clustering.request import parse_options
    from covey.studies import curves
    from covey.tables import files

    paths = trial.output or []
    for path in paths:
        curves.refuse_format(path)
    table, schema, described = roles.opened(source, format)
    ks, person = sizes(k), counted(trial.person, count_rows=trial.count_rows)
    refuse_overwriting(paths, source.table, *described, schema=schema)
    finished: list[Point] = []
    with files.Drafts(*paths) as outputs:
        with progress_bar() as progress:
            options = parse_options(trial.option or [])
            options |= {"method": trial.method, "class_column": trial.class_column}
            options |= {"person": person, "limit_share": trial.limit_share or None}
            requested = curves.requested(table, schema, ks, options)
            if table is None:
                requested = replace(requested, table=read(source.table, schema))
            task = curves.prepare(requested, ks=ks, seed=trial.seed, progress=progress)
        try:
            with progress_bar() as progress:
                finished.extend(task.points(progress))
        finally:
            # Even if interrupted: the points found so far are worth having.
            if finished:
                result = task.curve(finished)
                publish(result, paths, outputs)
                give(result.to_json()) if trial.as_json else show_curve(result)
