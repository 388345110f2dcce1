"""Atoms: the people whom a new release keeps together, so that all releases protect them as one.

Whoever holds several releases looks for a person among those who were in the same class every time.
So people whom the earlier releases showed in the same classes stay together. People who were in
fewer releases may hide among others: with those who were in all of their classes, and in more.

This module knows classes only. It shares no code with `composition`, which judges what comes of it.
"""

from dataclasses import dataclass

import numpy as np

from covey._core.arrays import Flags, Longs

ALONE = -1


@dataclass(frozen=True, eq=False)
class Atoms:
    """The atom of each person, `ALONE` for a new one, and who is in too small an atom."""

    labels: Longs
    shrunk: Flags
    lacking: Longs  # how many more people would have to be left for k

    @classmethod
    def of(cls, traces: Longs, k: int) -> "Atoms":
        """From traces: the class of each person in each earlier release, -1 if they were not in it.

        Only people of the new release are given, a row for each. A set of fewer than k people of
        the same trace joins a larger one that was in all of its classes too; if there is none, it
        has shrunk, because others have left. Shrunk sets that cover each other stay together.
        """
        kinds, kind, sizes = np.unique(traces, axis=0, return_inverse=True, return_counts=True)
        kind, new = kind.ravel(), (kinds < 0).all(axis=1)
        hosts, lacking = _hosts(kinds, sizes, k)
        shrunk = (sizes[hosts] < k) & ~new
        return cls(np.where(new, ALONE, hosts)[kind], shrunk[kind], lacking[kind])


def _hosts(kinds: Longs, sizes: Longs, k: int) -> tuple[Longs, Longs]:
    """The set that each set of people joins: itself, or for a small one the largest that covers it.

    One that covers another was in all classes of the other. If only small sets cover a set, all of
    them join one another. How many people they lack for k is returned, too.
    """
    hosts, lacking = np.arange(len(kinds)), np.zeros(len(kinds), dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    for release in range(kinds.shape[1]):
        # Sets that were first in this release: whoever covers them was in the same class of it.
        first = (kinds[:, :release] < 0).all(axis=1) & (kinds[:, release] >= 0) & (sizes < k)
        by_class: dict[int, list[int]] = {}
        for one in order[kinds[order, release] >= 0].tolist():
            by_class.setdefault(int(kinds[one, release]), []).append(one)
        for small in np.flatnonzero(first).tolist():
            among = np.array(by_class[int(kinds[small, release])])
            was_in = kinds[small] >= 0
            covers = among[(kinds[among][:, was_in] == kinds[small, was_in]).all(axis=1)]
            if sizes[covers[0]] >= k:
                hosts[small] = covers[0]
            else:
                lacking[small] = max(0, k - sizes[covers].sum())
                joined = np.isin(hosts, hosts[covers])
                hosts[joined] = hosts[joined].min()
    return hosts, lacking
