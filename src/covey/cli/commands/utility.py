from pathlib import Path

from covey.cli.options import command, schema_beside
from covey.cli.shown import show_utility
from covey.cli.terminal import give_json, out, say


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
        show_utility(found, [*found.columns, *found.uses], out)
    say("for you only: some of these are exact figures of the original")
