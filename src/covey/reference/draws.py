"""Random choices, so written that everyone who has the generator can repeat them."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Rng(Protocol):
    """All that most methods ask of a random generator; numpy's has it."""

    def random(self) -> float:
        """Return a number in [0, 1)."""


def below(rng: Rng, m: int) -> int:
    """Draw one of 0 ... m-1."""
    return int(rng.random() * m)


def shuffle(rng: Rng, items: Sequence[Item]) -> list[Item]:
    """Return the items in a random order: from the last place down, each swaps with a drawn one."""
    mixed = list(items)
    for i in range(len(mixed) - 1, 0, -1):
        j = below(rng, i + 1)
        mixed[i], mixed[j] = mixed[j], mixed[i]
    return mixed
