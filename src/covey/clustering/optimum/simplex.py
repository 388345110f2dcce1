"""The simplex method, for the cheapest cover of classes by groups.

Each class needs as many rows as it has. A group covers rows of some classes at a cost, and may be
chosen in part. The dual variables are prices of rows: if no group costs less than the prices of its
rows, then the rows that are needed cost at least their prices.
"""

import copy

import numpy as np

from covey._core.arrays import Floats, Longs

_NONE = 1e-9  # numbers nearer to 0 are rounding


class Steps:
    """A number of steps. They are counted, not timed, so that a bound does not depend on speed."""

    def __init__(self, left: int) -> None:
        self.left = left


class Simplex:
    """A basis: as many groups as classes, each with a fractional value.

    A line of `members` has the classes of a group's rows; behind these, it has the number of
    classes. At first each class is a group of its own, which costs its ceiling.
    """

    def __init__(self, needed: Longs, ceilings: Floats, width: int, work: Steps) -> None:
        count = len(needed)
        self.work = work
        self.members = np.full((count, width), count)
        self.members[:, 0] = np.arange(count)
        self.costs, self.chosen = ceilings, np.arange(count)
        # Where several groups could leave, the method may stall: slightly uneven needs prevent it.
        self.shares = needed + 1e-7 * np.random.default_rng(0).random(count)
        self.inverse = np.eye(count, count + 1)  # the last column is for what is behind a group
        self._prices: Floats = np.append(ceilings, 0.0)

    @property
    def prices(self) -> Floats:
        """The price of a row of each class."""
        return self._prices[:-1]

    @property
    def reduced(self) -> Floats:
        """What each group costs more than the prices of its rows."""
        return np.asarray(self.costs - self._prices[self.members].sum(axis=1))

    def offer(self, members: Longs, costs: Floats) -> None:
        """Add groups."""
        self.members = np.vstack([self.members, members])
        self.costs = np.append(self.costs, costs)

    def without(self, group: int) -> "Simplex":
        """The same choice, if rows of this group are not needed: some shares may fall below 0."""
        other = copy.copy(self)
        other.chosen, other.inverse = self.chosen.copy(), self.inverse.copy()
        other._prices = self._prices.copy()
        other.shares = self.shares - self._column(group)
        return other

    def lower(self) -> None:
        """Lower the cost, while a group costs less than the prices of its rows."""
        while self.work.left > 0:
            reduced = self.reduced
            enters = int(reduced.argmin())
            column = self._column(enters)
            if reduced[enters] >= -_NONE or not (column > _NONE).any():
                return
            steps = np.full(len(column), np.inf)
            np.divide(self.shares, column, out=steps, where=column > _NONE)
            self._replace(int(steps.argmin()), enters, column, float(reduced[enters]))

    def restore(self) -> None:
        """Raise the cost, while a share is below 0: the dual simplex method."""
        while self.work.left > 0:
            leaves = int(self.shares.argmin())
            row = self.inverse[leaves][self.members].sum(axis=1)
            if self.shares[leaves] >= -_NONE or not (row < -_NONE).any():
                return
            reduced, ratios = self.reduced, np.full(len(row), np.inf)
            np.divide(np.maximum(reduced, 0.0), -row, out=ratios, where=row < -_NONE)
            enters = int(ratios.argmin())
            self._replace(leaves, enters, self._column(enters), float(reduced[enters]))

    def _column(self, group: int) -> Floats:
        """The shares of the chosen groups that cover the same rows as this one."""
        return np.asarray(self.inverse[:, self.members[group]].sum(axis=1))

    def _replace(self, leaves: int, enters: int, column: Floats, reduced: float) -> None:
        row = self.inverse[leaves] / column[leaves]
        step = self.shares[leaves] / column[leaves]
        self.shares -= step * column
        self.shares[leaves] = step
        others = np.flatnonzero(column)
        self.inverse[others] -= column[others, None] * row
        self.inverse[leaves] = row
        self._prices += reduced * row
        self.chosen[leaves] = enters
        self.work.left -= 1000 + self.members.size // 8 + len(others) * len(row) // 32
