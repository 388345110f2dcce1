from pathlib import Path
from typing import TYPE_CHECKING

from covey.cli.options import command, schema_beside
from covey.cli.shown import light_grid
from covey.cli.terminal import give_json, out, say
from covey.errors import percent

if TYPE_CHECKING:
    from covey.measures.utility import UseFigures, Utility


@command("Show what a release is good for: its distributions, figures, and what you declare.")
def utility(
    *,
    released: str,
    original: str,
    schema: Path | None = None,
    use: list[str] | None = None,
    draws: int = 5,
    seed: int = 0,
    as_json: bool = False,
) -> None:
    from covey import reading
    from covey.schema import Schema

    release = reading.read_release(
        released, schema=Schema.from_toml(schema_beside(original, schema))
    )
    found = reading.utility(original, release, uses=use or (), draws=draws, seed=seed)
    if as_json:
        give_json(found.to_dict())
    else:
        _show(found)
    say("for you only: some of these are exact figures of the original")


_WORST = 5  # pairs of columns that are named


def _show(found: "Utility") -> None:
    kept = found.marginals
    out.print(
        f"pairs of columns: {kept.score:.0f} of 1,000, as good as a sample of "
        f"{percent(kept.as_sample)} of the rows"
    )
    for pair in kept.worst[:_WORST]:
        out.print(f"  {' and '.join(pair)}: {percent(kept.distances[pair])} of the rows moved")
    if found.pmse_ratio is not None:
        out.print(f"a model tells drawn rows from original ones: pMSE ratio {found.pmse_ratio:.1f}")
    heads = ("figure", "original", "release", "overlap", "same conclusion")
    grid = light_grid(heads, right=heads[1:4], overflow="fold")
    for use in (*found.columns, *found.uses):
        for row in _rows(use):
            grid.add_row(*row)
    out.print("", grid)


def _rows(use: "UseFigures") -> list[tuple[str, ...]]:
    return [
        (
            f"{use.use}{f': {each.label}' if each.label else ''}",
            f"{each.original:,.4g}",
            f"{each.released:,.4g}",
            percent(each.overlap),
            "yes" if each.keeps_sign and each.keeps_significance else "no",
        )
        for each in use.figures
    ] or [(use.use, "", "", "", "too few rows")]
