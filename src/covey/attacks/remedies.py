"""What helps against a finding, a line each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from covey.attacks.knowledge import ORDER
from covey.schema import Schema

if TYPE_CHECKING:
    from covey.attacks.findings import Finding

Kind = Literal["order", "quasi", "grid", "k", "l", "tails"]
_WORTH = 0.05  # a gain from which on a remedy is named


@dataclass(frozen=True)
class Remedy:
    """A change of the schema or the request."""

    kind: Kind
    column: str | None
    text: str


def remedies_for(
    found: "Finding", schema: Schema, k: int, causes: Sequence[str]
) -> tuple[Remedy, ...]:
    """What to change; nothing if the finding is close to chance, or may be chance.

    `causes` are the undeclared columns that single people out.
    """
    least = 0.0 if found.criterion == "singling out" else _WORTH
    guilty = [name for name in found.attacker.undeclared if name in causes]
    is_clear = found.rate.gain > least and found.rate.low > 0
    return tuple(_remedies(found, schema, k, guilty)) if is_clear else ()


def _remedies(found: "Finding", schema: Schema, k: int, guilty: Sequence[str]) -> Iterator[Remedy]:
    about = found.about
    match found.criterion:
        case "linkability" if found.attacker.group == ORDER:
            text = "shuffle or sort the rows: their order shows whose they are"
            yield Remedy("order", None, text)
        case "singling out" | "linkability" | "inference" if found.attacker.is_likely:
            for name in guilty:
                text = f"make {name} quasi, or confirm that no one outside knows it"
                yield Remedy("quasi", name, text)
            if not guilty and about:
                text = f"require l-diversity or t-closeness on {about}, or a larger k"
                yield Remedy("l", about, text)
            elif not guilty:
                yield Remedy("k", None, f"raise k = {k:,}: a row is picked rightly by about 1/k")
        case "tightness" if about and schema.columns[about].grid is None:
            yield Remedy(
                "grid", about, f"give {about} a grid, so that its ends are no one's values"
            )
        case "membership":
            for name, column in schema.quasi.items():
                if column.is_ordered and column.top is None:
                    text = f"give {name} a bottom and a top, so that extremes are not shown"
                    yield Remedy("tails", name, text)
