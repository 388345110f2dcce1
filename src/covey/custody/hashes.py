"""Numbers of 64 bits that stand for rows: how several become one."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
ODD = np.uint64(0xD1342543DE82EF95)  # so that multiplying loses no bits of earlier columns


def mixed(words: Hashes) -> Hashes:
    """Spread every bit over all others (the finalizer of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def combined(hashes: Iterable[NDArray[np.unsignedinteger]], rows: int) -> Hashes:
    """Combine the hashes of several cells into one for each row, as a polynomial."""
    found = np.zeros(rows, dtype=np.uint64)
    for one in hashes:
        found *= ODD
        found += one
    return found
