"""Random choices that are the same on every platform and with every version of numpy.

The only source of randomness is the raw 64-bit output of ``numpy.random.PCG64``, which numpy
guarantees not to change (unlike the methods of ``Generator``). Everything else is integer
arithmetic, so no rounding of floating-point numbers can differ.
"""

import numpy as np
from numpy.typing import NDArray

from covey.demo.weights import Ints

_WORD_BITS = 64
_SLOTS = 1 << 14

# The number of bits that a draw shares with the peer's: for the same choice, or a similar one.
SAME = _WORD_BITS
SIMILAR = 5

_PEERS_PER_MILLE = 500
_ROWS_PER_PEER = 5  # only every fifth row is a peer of others, so that larger groups form


class Draws:
    """One random number per row at each call.

    Some rows have another row as a peer: a partner, a sibling, a similar neighbour. If a draw
    shares bits, these rows take that many upper bits from the number drawn for their peer, and so
    tend to make the same choice. Each number is still as uniform as without peers.
    """

    def __init__(self, rows: int, seed: int) -> None:
        self._source = np.random.PCG64(seed)
        self._rows = rows
        self._has_peer = self.chance(_PEERS_PER_MILLE)
        self._peer = self.below(rows) // _ROWS_PER_PEER * _ROWS_PER_PEER

    def below(self, limits: int | Ints, shared_bits: int = 0) -> Ints:
        """Uniform integers in 0..limit-1, from the upper bits, which are the most random."""
        upper_half = (self._words(shared_bits) >> np.uint64(32)).view(np.int64)
        return upper_half * limits >> 32

    def chance(self, per_mille: int | Ints, shared_bits: int = 0) -> NDArray[np.bool_]:
        """True with a probability of `per_mille` / 1000."""
        return self.below(1000, shared_bits) < per_mille

    def pick(self, weights: Ints, *given: Ints, shared_bits: int = 0) -> Ints:
        """One choice per row: a position on the last axis of `weights`, with these weights.

        `given` are the row's positions on the other axes.
        """
        picked = _slots(weights)[(*given, self.below(_SLOTS, shared_bits))]
        codes: Ints = picked.astype(np.int64)
        return codes

    def _words(self, shared_bits: int) -> NDArray[np.uint64]:
        words = self._source.random_raw(self._rows)
        if shared_bits == 0:
            return words
        own = np.uint64((1 << (_WORD_BITS - shared_bits)) - 1)
        return np.where(self._has_peer, (words[self._peer] & ~own) | (words & own), words)


def _slots(weights: Ints) -> NDArray[np.uint16]:
    """Each choice along the last axis, repeated in proportion to its weight.

    A random index into such a row is a weighted choice, at the cost of one lookup.
    """
    size = weights.shape[-1]
    choices = np.arange(size, dtype=np.uint16)
    ends = np.cumsum(weights.reshape(-1, size), axis=1)
    counts = np.diff(ends * _SLOTS // ends[:, -1:], axis=1, prepend=0)
    slots = np.stack([np.repeat(choices, count) for count in counts])
    return slots.reshape(*weights.shape[:-1], _SLOTS)
