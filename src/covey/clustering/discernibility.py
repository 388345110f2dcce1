"""Groups that can be discerned: as many and as small as k allows, and no two that look the same.

Discernibility is the sum of the squared sizes of all classes. The covey method for this objective
first makes the groups even: all have k rows, and the few rows that are left over make some larger
by one. After its usual rounds, it looks for groups that show the same cells, such as groups of
equal rows: these are one large class. Each passes a row to another of them, so that they differ.
"""

import numpy as np

from covey._core.arrays import Longs
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups

_DRAWS = 4  # makes these random numbers independent of others
_FIRST, _TIMES = 32, 4  # groups that pass rows around, at first; then so many times as many
_TRIES = 6  # for each number


def evened(table: EncodedTable, groups: Groups, k: int) -> Groups:
    """As many groups as k allows, each of k rows or one more, if there are enough groups for that.

    A group is cut into pieces of k rows in the order of their cells. The rows behind the last piece
    form groups in the same order.
    """
    order = table.lexicographic
    own = order[np.argsort(groups.labels[order], kind="stable")]
    begin = np.cumsum(groups.sizes) - groups.sizes
    within = np.arange(len(own)) - np.repeat(begin, groups.sizes)
    whole = within < np.repeat(groups.sizes // k * k, groups.sizes)
    labels = np.empty(len(own), dtype=np.int64)
    pieces = int(whole.sum()) // k
    labels[own[whole]] = np.arange(int(whole.sum())) // k
    spare = order[~np.isin(order, own[whole])]
    many = len(spare) // k * k
    labels[spare[:many]] = pieces + np.arange(many) // k
    # The rows that are still left over go to the groups that come last.
    labels[spare[many:]] = np.arange(len(spare) - many) % (pieces + many // k)
    return Groups(labels)


def apart(table: EncodedTable, groups: Groups, seed: int) -> Groups:
    """Groups of the same sizes, of which fewer show the same cells.

    Groups that look like another one pass a row on to the next one in a random order: first among a
    few that are similar, then among more. What does not lower the discernibility is undone.
    """
    random = np.random.default_rng((seed, _DRAWS))
    order = table.lexicographic
    together, cost = _FIRST, _discernibility(groups, table.classes_of(groups))
    while True:
        for _ in range(_TRIES):
            alike = _alike(groups, table.classes_of(groups), order)
            if not len(alike):
                return groups
            passed = _passed_on(groups, alike, order, together, random)
            found = _discernibility(passed, table.classes_of(passed))
            if found < cost:
                groups, cost = passed, found
        if together >= len(alike):
            return groups
        together *= _TIMES


def _discernibility(groups: Groups, classes: Longs) -> int:
    sizes = np.bincount(classes, groups.sizes).astype(np.int64)
    return int(sizes @ sizes)


def _alike(groups: Groups, classes: Longs, order: Longs) -> Longs:
    """The groups that look like one with a lower label, in the order of their cells.

    If they are few, each comes with the group that follows it: one alone could pass nothing on.
    """
    _, first = np.unique(classes, return_index=True)
    later = np.ones(len(classes), dtype=np.bool_)
    later[first] = False
    _, seen = np.unique(groups.labels[order], return_index=True)
    in_order = np.argsort(seen)
    chosen = later[in_order]
    if np.count_nonzero(chosen) < _FIRST:
        chosen |= np.roll(chosen, 1)
    return in_order[chosen]


def _passed_on(
    groups: Groups, alike: Longs, order: Longs, together: int, random: np.random.Generator
) -> Groups:
    """A random row of each of these groups goes to the next one."""
    labels = groups.labels.copy()
    own = order[np.argsort(groups.labels[order], kind="stable")]
    begin = np.cumsum(groups.sizes) - groups.sizes
    for start in range(0, len(alike), together):
        block = alike[start : start + together]
        turned = block[random.permutation(len(block))]
        places = (random.random(len(block)) * groups.sizes[turned]).astype(np.int64)
        labels[own[begin[turned] + places]] = np.roll(turned, -1)
    return Groups(labels)
