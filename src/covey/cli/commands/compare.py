from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from covey.cli.files import publish, read, refuse_overwriting
from covey.cli.options import Format, Original, RequiredBesideK, command, schema_beside, sizes
from covey.cli.progress import progress_bar
from covey.cli.shown import show_comparison
from covey.cli.terminal import give
from covey.errors import InfeasibleError, UsageError

if TYPE_CHECKING:
    from covey.studies.comparison import Run


@dataclass(frozen=True)
class ComparisonOptions:
    """Which methods run, what is measured, and where the figures go."""

    methods: str = "all"
    output: list[Path] | None = None
    seed: int | None = None
    class_column: str | None = None
    workload: bool = False
    as_json: bool = False


@command("Run several methods on a table and compare time, memory and every metric.")
def compare(
    *,
    source: Original,
    k: str | None = None,
    required: RequiredBesideK,
    trial: ComparisonOptions,
    format: Format,
) -> None:
    from covey.studies import comparison
    from covey.tables import files

    paths = trial.output or []
    for place in paths:
        comparison.refuse_format(place)
    path = schema_beside(source.table, source.schema)
    schema = required.applied(format.schema(path))
    ks = sizes(k) or [size for size in [schema.require.k] if size is not None]
    if not ks:
        raise UsageError("no k given: pass -k, or set k under [require] in the schema")
    refuse_overwriting(paths, source.table, path, schema=schema)
    finished: list[Run] = []
    with files.Drafts(*paths) as outputs:
        try:
            with progress_bar() as progress:
                table = read(source.table, schema)
                setting = comparison.Setting(trial.seed, trial.class_column, trial.workload)
                for run in comparison.runs(
                    table, schema, k=ks, methods=trial.methods, setting=setting, progress=progress
                ):
                    finished.append(run)
        finally:
            # Even if interrupted: the finished runs may have taken hours.
            if finished:
                result = comparison.Comparison(tuple(finished))
                publish(result, paths, outputs)
                give(result.to_json()) if trial.as_json else show_comparison(result)
    if all(run.error for run in finished):
        raise InfeasibleError("no method could make a release of this table")
