"""The least loss of a small table: of all partitions into groups of at least k rows.

This is a set partitioning problem. Rows have prices. If no group costs less than the prices of its
rows, no partition costs less than all prices. The highest such prices are found by column
generation: the simplex method makes prices for the groups that it knows, and a search over all
groups finds those that cost less. Then branch and bound looks at the groups that a partition
between the sum of the prices and a known loss may consist of.

Only the search and the sums are relied on. Any prices become proven ones if each class pays for the
highest excess of the groups that are found at it.
"""

import heapq
import math
from dataclasses import dataclass
from itertools import count

import numpy as np

from covey._core import kernels
from covey._core.arrays import Floats, Longs
from covey.clustering.optimum.simplex import Simplex, Steps
from covey.encoding import EncodedTable

_WORK = 40_000_000  # steps: two or three seconds
_MOST_CLASSES = 1_000  # of equal rows
_OFFERED = (500, 2_000, 8_000, 32_000)  # groups that branch and bound chooses from, at most
_MEMORY = 2**24  # numbers that its nodes hold
_STEP = 1e-3  # the shortest towards higher prices
_PART = 1e-4  # a share this far from a whole number
_WHOLE = -1  # in the place of a group: nothing is left to choose
_TINY = 1e-10  # of the mean loss: an excess that is not looked for, but paid
_EQUAL = 1e-9  # sums that differ less, relative to themselves, may be the same


def least_of_partitions(table: EncodedTable, k: int, proven: Floats, losses: Floats) -> float:
    """A loss that no partition goes below, from proven prices of rows and losses in some groups."""
    classes = _Classes.of(table, k)
    if len(classes.rows) > _MOST_CLASSES:
        return math.fsum(proven)
    work, known = Steps(_WORK), math.fsum(losses)
    low, high = classes.each(np.minimum, proven), classes.each(np.maximum, losses)
    prices = _highest_prices(classes, low, high, work)
    return _branched(classes, prices, known, work) * (1 - _EQUAL)  # all sums are rounded


@dataclass(frozen=True, eq=False)
class _Classes:
    """Classes of equal rows."""

    space: kernels.Space
    k: int
    of_rows: Longs
    rows: Longs  # the first of each class
    counts: Longs

    @classmethod
    def of(cls, table: EncodedTable, k: int) -> "_Classes":
        _, rows, own, counts = np.unique(
            table.places, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        return cls(kernels.Space(table.core), k, own.ravel(), rows, counts)

    def each(self, extreme: np.ufunc, values: Floats) -> Floats:
        """The lowest or highest value of the rows of each class."""
        found = values[self.rows]
        extreme.at(found, self.of_rows, values)
        return found

    def total(self, prices: Floats) -> float:
        return math.fsum(self.counts * prices)

    def overpriced(self, prices: Floats, tiny: float, work: Steps) -> tuple[Floats, Longs, Floats]:
        """Proven prices, and groups that cost less than the given ones, with their costs."""
        excess, members, ends, work.left = kernels.overpriced(
            self.space, self.k, self.rows, self.counts, prices, tiny, work.left
        )
        groups = self._lines(members, ends)
        return prices - excess, groups, _sums(prices, groups) - excess[groups[:, 0]]

    def nearest(
        self, prices: Floats, above: float, most: int, work: Steps
    ) -> tuple[Longs, Floats, float] | None:
        """All groups that cost less than so much above the prices, and their costs.

        If there are more than `most`, those that cost less than a part of it.
        """
        least = _EQUAL * (self.total(prices) + above)
        while above > least and work.left > 0:
            share = min(work.left, _WORK // 10)
            members, ends, excess, left = kernels.groups_above(
                self.space, self.k, self.rows, self.counts, prices, -above, most, share
            )
            work.left -= share - left
            if len(ends) <= most and left > 0:
                groups = self._lines(members, ends)
                return groups, _sums(prices, groups) - excess, above
            above /= 1.5
        return None

    def _lines(self, members: Longs, ends: Longs) -> Longs:
        """One line for each group, as `Simplex` has them."""
        lines = np.full((len(ends), 2 * self.k - 1), len(self.rows))
        sizes = np.diff(ends, prepend=0)
        lines[np.arange(lines.shape[1]) < sizes[:, None]] = members
        return lines


def _sums(prices: Floats, groups: Longs) -> Floats:
    """The prices of the rows of each group together."""
    return np.asarray(np.append(prices, 0.0)[groups].sum(axis=1))


def _highest_prices(classes: _Classes, proven: Floats, losses: Floats, work: Steps) -> Floats:
    """Proven prices with the highest total, as far as the work goes.

    The prices of the simplex method are far too high at first. So what is tried is between them and
    the best proven ones (the in-out method of Ben-Ameur and Neto 2007).
    """
    ceilings = 2 * losses + 0.1 * losses.mean()
    master = Simplex(classes.counts, ceilings, 2 * classes.k - 1, work)
    tiny, step = _TINY * classes.total(losses) / classes.counts.sum(), 0.5
    while work.left > 0:
        master.lower()
        ahead = master.prices - proven
        if step < _STEP or classes.total(ahead) <= _EQUAL / 2 * classes.total(proven):
            break
        found, groups, costs = classes.overpriced(proven + step * ahead, tiny, work)
        master.offer(groups, costs)
        if classes.total(found) <= classes.total(proven):
            step /= 2
            continue
        proven = found
        if len(groups) == 0:
            step = min(2 * step, 1.0)
    return proven


def _branched(classes: _Classes, prices: Floats, known: float, work: Steps) -> float:
    """A bound of at most the known loss: the total of proven prices, raised by branch and bound.

    A partition into groups that are not offered costs as much above the prices as one of them. So
    few groups raise the bound a little, and soon; more may raise it further.
    """
    total = bound = classes.total(prices)
    for most in _OFFERED:
        offered = classes.nearest(prices, known - total, most, work)
        if offered is None:
            continue
        groups, costs, above = offered
        bound = max(bound, _Tree(classes, groups, costs, total + above, work).least())
        if bound < total + above or total + above >= known:
            break  # it is the least, or the work is done; or all groups were offered
    return min(bound, known)


@dataclass(frozen=True, eq=False)
class _Node:
    """All partitions that have some groups: what these cost, and how others cover the rest."""

    paid: float
    needed: Longs
    choice: Simplex


class _Tree:
    """Branch and bound over partitions into some groups: the node with the lowest bound is next.

    No bound relies on the simplex method: its prices are lowered to what the groups cost.
    """

    def __init__(
        self, classes: _Classes, groups: Longs, costs: Floats, limit: float, work: Steps
    ) -> None:
        self.k, self.limit, self.work = classes.k, limit, work
        self.numbers = count()
        self.open: list[tuple[float, int, _Node, int]] = []
        alone = np.full(len(classes.rows), 2 * limit)  # such a group is in no partition
        choice = Simplex(classes.counts, alone, groups.shape[1], work)
        choice.offer(groups, costs)
        choice.lower()
        rows = np.zeros((len(choice.costs), len(alone) + 1), dtype=np.int32)
        np.add.at(rows, (np.arange(len(rows))[:, None], choice.members), 1)
        self.rows = rows[:, :-1]  # of each class in each group
        self._branch(_Node(0.0, classes.counts, choice))

    def least(self) -> float:
        """The least cost of a partition, or a bound; at most the limit."""
        for _ in range(_MEMORY // self.rows.shape[1] ** 2):
            if not self.open or self.open[0][-1] == _WHOLE or self.work.left <= 0:
                break
            _, _, node, group = heapq.heappop(self.open)
            self._branch(self._with(node, group))
        return self.open[0][0] if self.open else self.limit

    def _with(self, node: _Node, group: int) -> _Node:
        """The partitions of a node that have one more group."""
        choice = node.choice.without(group)
        choice.restore()
        paid = node.paid + float(choice.costs[group])
        return _Node(paid, node.needed - self.rows[group], choice)

    def _branch(self, node: _Node) -> None:
        """Open a node for each group that a class may be in, which is in parts of groups now."""
        self.work.left -= self.rows.size // 16
        reduced, shares = node.choice.reduced, node.choice.shares
        excess = max(-float(reduced.min()), 0.0)  # of a group, which has k rows or more
        bound = node.paid + math.fsum(node.needed * (node.choice.prices - excess / self.k))
        parts = node.choice.chosen[np.abs(shares - np.round(shares)) > _PART]
        split = np.flatnonzero(self.rows[parts].any(axis=0) & (node.needed > 0))
        if len(split) == 0:
            self._open(bound, node, _WHOLE)
            return
        fits = (reduced < self.limit - bound) & (self.rows <= node.needed).all(axis=1)
        options = np.count_nonzero(self.rows[fits], axis=0)
        chosen = split[options[split].argmin()]
        for group in np.flatnonzero(fits & (self.rows[:, chosen] > 0)).tolist():
            self._open(bound + max(float(reduced[group]), 0.0), node, group)

    def _open(self, bound: float, node: _Node, group: int) -> None:
        if bound < self.limit:
            heapq.heappush(self.open, (bound, next(self.numbers), node, group))
