from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from covey.cli.files import publish, refuse_overwriting
from covey.cli.options import command, schema_beside
from covey.cli.progress import progress_bar
from covey.cli.shown import light_grid
from covey.cli.terminal import give_json, out, say
from covey.errors import listed, percent

if TYPE_CHECKING:
    from covey.attacks import Attack


@dataclass(frozen=True)
class AttackOptions:
    """What is tried, and when it is too much."""

    k: int | None = None
    at_most: float | None = None
    population: str | None = None
    control: float | None = None
    register: Path | None = None
    trials: int = 10
    seed: int = 0


@command("Attack a release as intruders would, and show how often they succeed.")
def attack(
    *,
    released: str,
    original: str,
    schema: Path | None = None,
    trial: AttackOptions,
    output: list[Path] | None = None,
    as_json: bool = False,
) -> None:
    from covey import attacks
    from covey.schema import Schema
    from covey.tables import files

    paths = output or []
    for place in paths:
        attacks.Attack.refuse_format(place)
    path = schema_beside(original, schema)
    read = Schema.from_toml(path)
    refuse_overwriting(paths, original, released, path, schema=read)
    with files.Drafts(*paths, private=paths) as outputs, progress_bar() as progress:
        given = {name: value for name, value in vars(trial).items() if name != "at_most"}
        found = attacks.attack(released, original, read, progress=progress, **given)
        publish(found, paths, outputs)
    if as_json:
        give_json(found.to_dict())
    else:
        _show(found)
    say("for you only: these figures come from the original")
    if trial.at_most is not None:
        found.raise_if_above(trial.at_most)


_MOST_SHOWN = 12  # findings
_MOST_REMEDIES = 6


def _show(found: "Attack") -> None:
    heads = ("attack", "success", "by chance", "gain, 95 %")
    grid = light_grid(heads, right=heads[1:], overflow="fold")
    for one in found.summary()[:_MOST_SHOWN]:
        rate = one.rate
        interval = f"{percent(rate.low)} to {percent(rate.high)}"
        grid.add_row(one.name, percent(rate.rate), percent(rate.chance), interval)
    out.print(grid)
    for remedy in [*found.remedies()][:_MOST_REMEDIES]:
        out.print(f"to do: {remedy.text}", soft_wrap=True)
    if found.unlikely:
        names = listed(found.unlikely, _MOST_REMEDIES)
        say(f"not likely, but someone who knows one of these singles people out: {names}")
    for doubt in found.doubts:
        say(f"is this the original? {doubt}")
    for what, why in found.untried:
        say(f"not tried: {what}: {why}")
