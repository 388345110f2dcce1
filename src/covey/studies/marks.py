"""Published rules to compare a k with: smallest cells of tables, and thresholds of risk.

They were made for other purposes than choosing k, so they are points of comparison and no advice.
A smallest cell of k people corresponds to a highest risk of 1/k, and a threshold of risk r to the
smallest k with 1/k at most r.
"""

import math
from dataclasses import dataclass

from covey.declared import declared


@dataclass(frozen=True)
class Mark:
    """A published rule: a smallest cell, or a threshold of risk."""

    name: str  # short, for a picture
    says: str
    title: str
    publisher: str
    source: str  # its address
    year: int | None = None  # None if the source has no date
    cell: int | None = None  # people
    risk: float | None = None

    @property
    def k(self) -> int:
        """The smallest k that fits the rule."""
        if self.cell is not None:
            return self.cell
        assert self.risk is not None
        return math.ceil(1 / self.risk)

    @property
    def cited(self) -> str:
        """Publisher and year."""
        return f"{self.publisher}, {self.year or 'undated'}"


MARKS = tuple(Mark(**mark) for mark in declared("covey.studies", "marks.toml")["marks"])
THRESHOLDS = tuple(mark for mark in MARKS if mark.risk is not None)


def names_by_cell() -> dict[int, list[str]]:
    """The short names of the rules for each smallest cell."""
    found: dict[int, list[str]] = {}
    for mark in MARKS:
        if mark.cell is not None:
            found.setdefault(mark.cell, []).append(mark.name)
    return found
