"""Count the values of one column in the classes of a released table, and compute all figures.

Only the verifier uses this arithmetic. Shares are ratios of whole numbers, so all comparisons
except those of entropy are exact, also for a class that just meets a requirement.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey.schema.taxonomy import Taxonomy
from covey.tables.table import Longs

Numbers = NDArray[Any]  # whole numbers, or floats if those would overflow

# Allowance for rounding: an entropy may be this much below the required one, and the numbers of a
# similar class may span this share of the column's range more.
TOLERANCE = 1e-9

# An int64 ends at 2^63.
_EXACT = 2**62


@dataclass(frozen=True, eq=False)
class Spread:
    """The number of rows of each class and value, as entries sorted by class, then by value."""

    sizes: Longs  # rows of each class
    totals: Longs  # rows of each value, in the whole table
    first: Longs  # first entry of each class
    value: Longs  # value of each entry
    rows: Longs  # rows of each entry

    @classmethod
    def of(cls, sizes: Longs, values: Longs, totals: Longs) -> "Spread":
        """Count from the codes of the values, row by row, with the rows sorted by class.

        `totals` are those of the whole table, which may have more classes than these.
        """
        labels = np.repeat(np.arange(len(sizes)), sizes)
        # Nearly sorted already, by class: that is when the stable kind is fast.
        keys = np.sort(labels * len(totals) + values, kind="stable")
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
        """The number of rows in the table."""
        return int(self.totals.sum())

    @cached_property
    def distinct(self) -> Longs:
        """The number of distinct values in each class."""
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

    def largest_share(self, listed: Longs | None = None) -> Fraction:
        """The largest share of a value, or of one of the listed values, in a class."""
        chosen = slice(None) if listed is None else np.isin(self.value, listed)
        return _greatest(self.rows[chosen], self.size[chosen])

    @property
    def least_entropy(self) -> float:
        """The lowest entropy of a class, with the natural logarithm."""
        parts = self._sums(self.rows * np.log(self.rows))
        return max(float((np.log(self.sizes) - parts / self.sizes).min()), 0.0)

    def recursive_bound(self, l: int) -> Fraction | None:  # noqa: E741
        """The number that c must exceed in recursive (c, l)-diversity; None if no c holds."""
        if self.distinct.min() < l:
            return None
        left, rest = self.rows.copy(), self.sizes
        for _ in range(l - 1):
            most = np.maximum.reduceat(left, self.first)
            rest = rest - most
            largest = np.flatnonzero(left == most[self.label])
            one_a_class = np.diff(self.label[largest], prepend=-1) != 0
            left[largest[one_a_class]] = 0
        return _greatest(np.maximum.reduceat(self.rows, self.first), rest)

    # ── closeness ───────────────────────────────────────────────────────────────────────────────

    def equal_distance(self) -> Fraction:
        """The largest EMD of a class, with all values at the same distance."""
        more = np.maximum(self.rows * self.total - self.totals[self.value] * self.size, 0)
        return _greatest(self._sums(more), self.sizes * self.total)

    def ordered_distance(self) -> Fraction:
        """The largest EMD of a class, with the values on a line in the order of their codes.

        The flow between two neighbours on the line is the surplus of the class up to there over
        the table, |n a - s C| of s n shares. From one value of the class to the next, a stays the
        same and C grows, so the sign changes at most once, and sums of C give the whole stretch.
        """
        steps = len(self.totals) - 1
        if not steps:
            return Fraction(0)
        exact = self.sizes < _EXACT / (steps * self.total)
        parts: list[tuple[NDArray[np.bool_], type[Any]]] = [(exact, np.int64), (~exact, np.float64)]
        return max(self._among(some)._on_a_line(kind) for some, kind in parts if some.any())

    def _among(self, some: NDArray[np.bool_]) -> "Spread":
        """The same for some of the classes."""
        if some.all():
            return self
        kept, sizes, distinct = some[self.label], self.sizes[some], self.distinct[some]
        first = np.cumsum(distinct) - distinct
        return Spread(sizes, self.totals, first, self.value[kept], self.rows[kept])

    def _on_a_line(self, number: type[Any]) -> Fraction:
        steps = len(self.totals) - 1
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
        """The largest EMD of a class over a tree; `leaf` gives the leaf of each value.

        Every edge of the tree counts half the height that it spans, so the distance of two leaves
        is the height of their lowest common ancestor. The flow through an edge is the surplus of
        the class below it over the table, |n c - s C| of s n shares.
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
            cost += self.sizes * int(
                (spans * below).sum()
            )  # the cost if the class had no rows there
            label, at, rows = self._at_nodes(node, len(tree.labels))
            less = self.sizes[label] * below[at]
            passing = spans[at] * (abs(rows * self.total - less) - less)
            np.add.at(cost, label, passing)
        return _greatest(cost, self.sizes * (2 * tree.height * self.total))

    def _at_nodes(self, node: Longs, nodes: int) -> tuple[Longs, Longs, Longs]:
        """Sum the entries by class and node: the class, node and rows of each sum."""
        at = node[self.value]
        keys = (self.label * nodes + at)[at >= 0]
        distinct, place = np.unique(keys, return_inverse=True)
        rows = np.bincount(place, self.rows[at >= 0], len(distinct)).astype(np.int64)
        label, at = np.divmod(distinct, nodes)
        return label, at, rows

    @cached_property
    def _expected(self) -> Longs:
        """The rows expected of each entry by the share of its value in the table, times n."""
        return self.totals[self.value] * self.size

    def largest_gain(self) -> Fraction:
        """The largest (q - p) / p of a value in a class."""
        return _greatest(np.maximum(self.rows * self.total - self._expected, 0), self._expected)

    @property
    def gains_are_bounded(self) -> bool:
        """Whether (q - p) / p is at most -ln p everywhere, as enhanced beta-likeness requires."""
        gain = (self.rows * self.total - self._expected) / self._expected
        return bool((gain <= -np.log(self.totals / self.total)[self.value]).all())

    def largest_log_ratio(self) -> float | None:
        """The largest |ln(q / p)|; None if a class lacks a value."""
        if self.distinct.min() < len(self.totals):
            return None
        return float(abs(np.log(self.rows * self.total / self._expected)).max())

    def certain(self) -> int:
        """The rows whose class has only one value."""
        return int(self.sizes[self.distinct == 1].sum())

    def similar(self, numbers: NDArray[np.float64], within: float) -> int:
        """The rows whose class spans at most this share of the column's range.

        `numbers` are the values in ascending order; a missing value is NaN and comes last.
        """
        present = numbers[~np.isnan(numbers)]
        if not len(present):
            return 0
        lowest, highest = self.value[self.first], self.value[self.first + self.distinct - 1]
        width = (within + TOLERANCE) * (present[-1] - present[0])
        alike = numbers[highest] - numbers[lowest] <= width  # false for NaN
        return int(self.sizes[alike].sum())


def _greatest(numerators: Numbers, denominators: Numbers) -> Fraction:
    """The greatest of these ratios, exactly; 0 if there are none."""
    if not len(numerators):
        return Fraction(0)
    ratios = numerators / denominators
    near = np.flatnonzero(ratios >= ratios.max() * (1 - 1e-12))
    # The same pair may come from very many classes.
    pairs = pl.DataFrame({"above": numerators[near], "below": denominators[near]}).unique()
    return max(Fraction(int(above), int(below)) for above, below in pairs.iter_rows())
