"""How the values of one column spread over the classes of a released table, and every figure of it.

The arithmetic of the verifier, and of nothing else. Shares are ratios of whole numbers, so all but
entropy is compared exactly: a class at the very border is judged as the definition says.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.schema.taxonomy import Taxonomy
from covey.tables.table import Longs

Numbers = NDArray[Any]  # whole, or rounded where they would be too large

# Logarithms are rounded, so an entropy may be this much lower than asked; so may, of the range of a
# column, the numbers of a class be further apart than what counts as similar.
TOLERANCE = 1e-9

# Whole numbers of numpy end at 2^63.
_EXACT = 2**62


@dataclass(frozen=True, eq=False)
class Spread:
    """The rows of each class and value that occur together: entries, by class and then by value."""

    sizes: Longs  # of each class
    totals: Longs  # of each value, in the whole table
    first: Longs  # entry of each class
    value: Longs  # of each entry
    rows: Longs  # of each entry

    @classmethod
    def of(cls, sizes: Longs, values: Longs) -> "Spread":
        """From the numbers of the values, row by row and one class after the other."""
        totals = np.bincount(values)
        labels = np.repeat(np.arange(len(sizes)), sizes)
        keys = np.sort(labels * len(totals) + values)
        begin = np.flatnonzero(np.diff(keys, prepend=-1))
        labels, value = np.divmod(keys[begin], len(totals))
        return cls(
            sizes=sizes,
            totals=totals,
            first=np.searchsorted(labels, np.arange(len(sizes))),
            value=value,
            rows=np.diff(begin, append=len(keys)),
        )

    @property
    def total(self) -> int:
        """The rows of the table."""
        return int(self.totals.sum())

    @cached_property
    def distinct(self) -> Longs:
        """The number of different values of each class."""
        return np.diff(self.first, append=len(self.rows))

    @cached_property
    def label(self) -> Longs:
        """The class of each entry."""
        return np.repeat(np.arange(len(self.sizes)), self.distinct)

    @cached_property
    def size(self) -> Longs:
        """The size of the class of each entry."""
        return self.sizes[self.label]

    def _sums(self, of_entries: Numbers) -> Numbers:
        return np.add.reduceat(of_entries, self.first)

    # ── diversity ───────────────────────────────────────────────────────────────────────────────

    def largest_share(self, listed: Longs | None = None) -> Fraction:
        """The largest share of a value, or of one of the listed values, in a class."""
        chosen = slice(None) if listed is None else np.isin(self.value, listed)
        return _greatest(self.rows[chosen], self.size[chosen])

    @property
    def least_entropy(self) -> float:
        """The least entropy of a class, by the natural logarithm."""
        parts = self._sums(self.rows * np.log(self.rows))
        return max(float((np.log(self.sizes) - parts / self.sizes).min()), 0.0)

    def recursive_bound(self, l: int) -> Fraction | None:  # noqa: E741
        """What c must exceed in recursive (c, l)-diversity; None if a class has too few values."""
        if self.distinct.min() < l:
            return None
        falling = self.rows[np.lexsort((-self.rows, self.label))]
        rank = np.arange(len(falling)) - self.first[self.label]
        rest = self._sums(np.where(rank >= l - 1, falling, 0))
        return _greatest(falling[self.first], rest)

    # ── closeness ───────────────────────────────────────────────────────────────────────────────

    def equal_distance(self) -> Fraction:
        """The largest EMD of a class if all values are equally far apart."""
        more = np.maximum(self.rows * self.total - self.totals[self.value] * self.size, 0)
        return _greatest(self._sums(more), self.sizes * self.total)

    def ordered_distance(self) -> Fraction:
        """The largest EMD of a class if values stand in a line, in the order of their numbers.

        Between neighbours in the line passes what the class has more up to there than the table,
        |n a - s C| of s n shares. From one value of the class to its next, a stays the same and C
        grows, so the sign changes once at most, and sums of C give the whole stretch.
        """
        steps = len(self.totals) - 1
        if not steps:
            return Fraction(0)
        exact = steps * self.total * int(self.sizes.max()) < _EXACT
        number = np.int64 if exact else np.float64
        line = np.cumsum(self.totals).astype(number)
        sums = np.concatenate([np.zeros(1, number), np.cumsum(line)])
        size = self.size.astype(number)
        reached = np.cumsum(self.rows)
        here = (reached - (reached - self.rows)[self.first][self.label]) * self.total
        end = np.append(self.value[1:], len(self.totals))
        end[self.first[1:] - 1] = len(self.totals)
        turn = np.searchsorted(line, here // size, side="right").clip(self.value, end)
        below = (turn - self.value) * here - size * (sums[turn] - sums[self.value])
        above = size * (sums[end] - sums[turn]) - (end - turn) * here
        before = self.sizes * sums[self.value[self.first]]
        most = self.sizes.astype(number) * self.total * steps
        return _greatest(before + self._sums(below + above), most)

    def tree_distance(self, tree: Taxonomy, leaf: Longs) -> Fraction:
        """The largest EMD of a class by the heights of common ancestors; `leaf` is each value's.

        Every edge of the tree counts half the height that it spans, so that two leaves are as far
        apart as their common ancestor is high. Through an edge passes what the class has more
        below it than the table, |n c - s C| of s n shares.
        """
        if not tree.height:
            return Fraction(0)
        spans = np.append(tree.subheight[tree.parent[:-1]], 0) - tree.subheight
        spans = spans.astype(np.int64)
        cost = np.zeros(len(self.sizes), dtype=np.int64)
        for depth in range(1, tree.height + 1):
            node = tree.ancestors[leaf, depth].astype(np.int64)
            known = node >= 0
            below = np.bincount(node[known], self.totals[known], len(tree.labels)).astype(np.int64)
            cost += self.sizes * int((spans * below).sum())  # as if the class had none of it
            label, at, rows = self._at_nodes(node, len(tree.labels))
            less = self.sizes[label] * below[at]
            passing = spans[at] * (abs(rows * self.total - less) - less)
            np.add.at(cost, label, passing)
        return _greatest(cost, self.sizes * (2 * tree.height * self.total))

    def _at_nodes(self, node: Longs, nodes: int) -> tuple[Longs, Longs, Longs]:
        """The class, node and rows of what the entries come to under the node of each value."""
        at = node[self.value]
        keys = (self.label * nodes + at)[at >= 0]
        distinct, place = np.unique(keys, return_inverse=True)
        rows = np.bincount(place, self.rows[at >= 0], len(distinct)).astype(np.int64)
        label, at = np.divmod(distinct, nodes)
        return label, at, rows

    # ── gains ───────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _expected(self) -> Longs:
        """Of each entry, the rows that its class would have by the table's share, times n."""
        return self.totals[self.value] * self.size

    def largest_gain(self) -> Fraction:
        """The largest (q - p) / p of a value in a class."""
        return _greatest(np.maximum(self.rows * self.total - self._expected, 0), self._expected)

    @property
    def gains_are_bounded(self) -> bool:
        """Whether (q - p) / p is at most -ln p everywhere, as enhanced likeness asks for."""
        gain = (self.rows * self.total - self._expected) / self._expected
        return bool((gain <= -np.log(self.totals / self.total)[self.value]).all())

    def largest_log_ratio(self) -> float | None:
        """The largest |ln(q / p)|; None where a class lacks a value."""
        if self.distinct.min() < len(self.totals):
            return None
        return float(abs(np.log(self.rows * self.total / self._expected)).max())

    # ── what is given away ──────────────────────────────────────────────────────────────────────

    def certain(self) -> float:
        """The share of rows whose class has one value only."""
        return int(self.sizes[self.distinct == 1].sum()) / self.total

    def similar(self, numbers: NDArray[np.float64], within: float) -> float:
        """The share of rows whose class spans at most this part of the range of the column.

        `numbers` are those of the values, ascending; NaN, the last, is a missing one.
        """
        present = numbers[~np.isnan(numbers)]
        if not len(present):
            return 0.0
        lowest, highest = self.value[self.first], self.value[self.first + self.distinct - 1]
        width = (within + TOLERANCE) * (present[-1] - present[0])
        alike = numbers[highest] - numbers[lowest] <= width  # never of NaN
        return int(self.sizes[alike].sum()) / self.total


def _greatest(numerators: Numbers, denominators: Numbers) -> Fraction:
    """The greatest of these ratios, exactly; 0 where there are none."""
    if not len(numerators):
        return Fraction(0)
    ratios = numerators / denominators
    near = np.flatnonzero(ratios >= ratios.max() * (1 - 1e-12))
    pairs = np.unique(np.stack([numerators[near], denominators[near]]), axis=1).T.tolist()
    return max(Fraction(int(above), int(below)) for above, below in pairs)
