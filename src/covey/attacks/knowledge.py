"""The attackers: who knows what of a person."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from covey.attacks.columns import KnownColumn
from covey.schema import Role

MOST_PAIRED = 8  # columns that are tried in pairs, and each with all quasi-identifiers
_LARGEST_SET = 4  # of the most telling columns

QUASI = "all quasi-identifiers"
ORDER = "the order of the rows"
EVERY = "all columns that others may know"

Quality = Literal["exactly", "about"]


@dataclass(frozen=True)
class Attacker:
    """Someone who knows some columns of a person, exactly or about.

    About means one step beside a number or date, or one digit of a code unknown. A column is
    undeclared if others may know it, or someone may, and the schema does not call it quasi.
    """

    columns: tuple[str, ...]
    undeclared: tuple[str, ...] = ()
    quality: Quality = "exactly"
    is_likely: bool = True  # whether others may know all of this; not of people who were picked
    group: str = ""  # what the columns are together, as "all quasi-identifiers"

    @property
    def name(self) -> str:
        """What is known."""
        *others, last = self.columns
        names = self.group or (f"{', '.join(others)} and {last}" if others else last)
        return names if self.quality == "exactly" else f"{names}, about"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        listed = {"columns": [*self.columns], "undeclared": [*self.undeclared]}
        return {"name": self.name, **listed, "quality": self.quality, "is_likely": self.is_likely}


@dataclass(frozen=True, eq=False, repr=False)
class Attackers:
    """All attackers on a release: `known` are the columns that others may know."""

    columns: Mapping[str, KnownColumn]
    known: Sequence[str]

    def alone(self) -> Iterator[Attacker]:
        """One column each."""
        yield from (self._of([name]) for name in self.columns)

    def together(self, telling: Sequence[str]) -> Iterator[Attacker]:
        """Several columns; those that others may know come with the most `telling` one first."""
        yield from (
            self._of(sorted(pair, key=self._place))
            for pair in combinations(telling[:MOST_PAIRED], 2)
        )
        for size in range(3, min(_LARGEST_SET, len(telling) - 1) + 1):
            yield self._of(sorted(telling[:size], key=self._place))
        quasi = [name for name, column in self.columns.items() if column.role is Role.QUASI]
        more = [name for name in telling if name not in quasi]
        yield from self._both(quasi, QUASI)
        for name in more[:MOST_PAIRED]:
            yield self._of([*quasi, name], group=f"{QUASI} and {name}")
        if more:
            yield from self._both([*quasi, *more], EVERY)

    def _both(self, names: Sequence[str], group: str) -> Iterator[Attacker]:
        yield self._of(names, group=group)
        yield self._of(names, group=group, quality="about")

    def _place(self, name: str) -> int:
        return list(self.columns).index(name)

    def _of(self, names: Sequence[str], **more: Any) -> Attacker:
        undeclared = [n for n in names if self.columns[n].role is not Role.QUASI]
        likely = set(self.known).issuperset(names)
        return Attacker(tuple(names), tuple(undeclared), is_likely=likely, **more)
