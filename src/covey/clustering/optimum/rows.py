"""A lower bound of the loss: no groups of k rows or more can lose less.

A row is in a group with k - 1 others. Let D be the attributes in which this group differs. All its
rows are equal to the row in all others: they are in the same class, if only these others are looked
at. Then each attribute of D costs at least as much as the cheapest k rows of that class that hold
the row, looked at in this attribute alone. D is not known, so the bound of a row is the least over
all sets of attributes, and the bound of the table is the sum over its rows.
"""

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from covey._core.arrays import Floats, Longs
from covey.encoding import EncodedTable

_MOST = 2**23  # rows times sets of attributes: some seconds of work


def least_of_rows(table: EncodedTable, k: int) -> Floats:
    """What each row loses at least in any group of k or more; 0 if it takes too long."""
    if table.rows << len(table.attributes) > _MOST:
        return np.zeros(table.rows)
    search = _Search(table, k)
    everyone = np.arange(table.rows)
    search.over_sets((), everyone, np.zeros_like(everyone), np.zeros(table.rows))
    return search.lowest


class _Search:
    """All sets of attributes, and the least that each row costs so far."""

    def __init__(self, table: EncodedTable, k: int) -> None:
        self.forest, self.weights, self.k = table.forest, table.cells.weights, k
        self.numbers, self.codes = table.cells.numbers.T, table.cells.codes.T.astype(np.int64)
        self.places = table.places.T.astype(np.int64)
        self.lowest = np.full(table.rows, math.inf)

    def over_sets(
        self, differs: tuple[bool, ...], rows: Longs, classes: Longs, paid: Floats
    ) -> None:
        """Lower the costs of these rows, for all sets that agree with the first choices.

        The rows are in classes of at least k, which are equal in all earlier attributes that do
        not differ; `paid` is what the others cost at least. A class is left out if it becomes
        smaller than k, or if none of its rows can cost less than in a set before.
        """
        useful = np.bincount(classes, paid < self.lowest[rows]) > 0
        useful &= np.bincount(classes) >= self.k
        if not useful.any():
            return
        chosen = useful[classes]
        rows, classes, paid = rows[chosen], classes[chosen], paid[chosen]
        if len(differs) == len(self.places):
            costs = [self.least(one, rows, classes) for one in np.flatnonzero(differs).tolist()]
            total = np.sum(costs, axis=0) if costs else np.zeros(len(rows))
            self.lowest[rows] = np.minimum(self.lowest[rows], total)
            return
        own = self.places[len(differs)]
        finer = np.unique(classes * (int(own.max()) + 1) + own[rows], return_inverse=True)[1]
        self.over_sets((*differs, False), rows, finer, paid)
        step = self.step(len(differs), rows)
        self.over_sets((*differs, True), rows, classes, paid + step)

    def step(self, place: int, rows: Longs) -> Floats:
        """The least that an attribute costs that differs: of categories, the node above."""
        if place < len(self.numbers):
            return np.zeros(len(rows))
        codes = self.codes[place - len(self.numbers)][rows]
        above = self.forest.ancestors[codes, self.forest.depth[codes] - 1]
        return np.where(self.forest.depth[codes] > 0, self.forest.loss[above], math.inf)

    def least(self, place: int, rows: Longs, classes: Longs) -> Floats:
        """What any k rows of its class cost each row at least, in one attribute that differs."""
        if place < len(self.numbers):
            weight = float(self.weights[place])
            return weight * _narrowest(self.numbers[place][rows], classes, self.k)
        codes = self.codes[place - len(self.numbers)][rows]
        found = np.full(len(rows), math.inf)  # of the lowest node, since the last level wins
        for level in range(int(self.forest.depth[codes].max())):
            nodes = self.forest.ancestors[codes, np.minimum(level, self.forest.depth[codes] - 1)]
            together = np.unique(classes * len(self.forest.depth) + nodes, return_inverse=True)[1]
            enough = (np.bincount(together) >= self.k)[together]
            found = np.where(enough, self.forest.loss[nodes], found)
        return found


def _narrowest(numbers: Floats, classes: Longs, k: int) -> Floats:
    """The smallest range of k numbers of the class that holds each number."""
    order = np.lexsort((numbers, classes))
    own, sorted_ = classes[order], numbers[order]
    ranges = sorted_[k - 1 :] - sorted_[: len(sorted_) - k + 1]
    ranges[own[k - 1 :] != own[: len(own) - k + 1]] = math.inf
    around = np.pad(ranges, k - 1, constant_values=math.inf)
    best = sliding_window_view(around, k).min(axis=1)
    # Of equal numbers, each could have the place of any other.
    new = np.append(True, (np.diff(own) != 0) | (np.diff(sorted_) != 0))
    best = np.minimum.reduceat(best, np.flatnonzero(new))[np.cumsum(new) - 1]
    found = np.empty(len(numbers))
    found[order] = np.minimum(best, 1.0)
    return found
