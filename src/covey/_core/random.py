"""Random choices inside compiled code, by the same generator as outside."""

import numpy as np

from covey._core.arrays import Longs
from covey._core.jit import kernel


@kernel
def below(random: np.random.Generator, bound: int) -> int:
    """A whole number from 0 to bound - 1."""
    return int(random.random() * bound)


@kernel
def shuffle(random: np.random.Generator, items: Longs) -> None:
    """Put the items into random order, each order as likely as any other."""
    for i in range(len(items) - 1, 0, -1):
        j = below(random, i + 1)
        items[i], items[j] = items[j], items[i]
