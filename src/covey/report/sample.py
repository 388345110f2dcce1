"""A few released rows, for a reader to see what the release looks like.

They are cells that are published anyway, and of quasi-identifiers only: what is known about a
person's sensitive columns belongs into the release and nowhere else. They are taken at equal steps
of the released order, so the choice depends on nothing but the release.
"""

from dataclasses import dataclass
from typing import Any

from covey.generalisation import View

ROWS = 5
MISSING = "missing"


@dataclass(frozen=True)
class Sample:
    """Some released rows: their cells as text, and how many rows are equal to each."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    alike: tuple[int, ...]  # rows of the class of each, itself included; none if there are none

    def lines(self) -> list[tuple[str, ...]]:
        """For each column, its name and its cells."""
        return list(zip(self.columns, *self.rows, strict=True))


def sample(view: View, *, alike: bool) -> Sample:
    """Up to five different rows of a release; `alike` if its rows form classes."""
    order = view.classes.as_released
    some = order[_at_equal_steps(len(order))]
    cells = [
        written.gather(index[some])
        for column, index in zip(view.columns, view.classes.indices, strict=True)
        for written in column.written
    ]
    return Sample(
        tuple(written.name for written in cells),
        tuple(tuple(map(_text, row)) for row in zip(*cells, strict=True)),
        tuple(view.classes.sizes[some].tolist()) if alike else (),
    )


def _at_equal_steps(classes: int) -> list[int]:
    return sorted({int((step + 0.5) * classes / ROWS) for step in range(ROWS)})


def _text(cell: Any) -> str:
    return MISSING if cell is None else str(cell)
