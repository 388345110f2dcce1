"""The loss of a release in bits: entropies of the original column within released cells."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey._core.arrays import Floats, Longs
from covey.encoding import Attribute, EncodedTable, Tally, ValueCounts
from covey.encoding.groups import Groups
from covey.generalisation import ShownColumn


class Bits(NamedTuple):
    """Bits per row."""

    all: float  # the whole information in the released rows, before generalisation
    entropy: float
    monotone: float
    non_uniform: float | None


def bits_lost(columns: Sequence[ShownColumn], suppressed: int) -> Bits:
    """The weighted sum over all columns; `suppressed` rows are not in the original."""
    weights = [column.attribute.column.weight for column in columns]
    found = [_column_bits(column, suppressed) for column in columns]
    non_uniform = [bits.non_uniform for bits in found if bits.non_uniform is not None]
    return Bits(
        all=weighted(weights, [bits.all for bits in found]),
        entropy=weighted(weights, [bits.entropy for bits in found]),
        monotone=weighted(weights, [bits.monotone for bits in found]),
        non_uniform=weighted(weights, non_uniform) if len(non_uniform) == len(found) else None,
    )


def weighted(weights: Sequence[float], figures: Sequence[float]) -> float:
    """The sum over columns, each times its weight."""
    return sum(weight * figure for weight, figure in zip(weights, figures, strict=True))


def _column_bits(column: ShownColumn, suppressed: int) -> Bits:
    """The bits of one column; a suppressed row loses as much as a row that shows nothing.

    Every cell covers a run of the column's values in their order, so a sum over the rows that it
    covers is the difference of two cumulative sums. A missing cell that matches any value is not
    counted as a value; its true value is unknown, so non-uniform entropy is unknown too.
    """
    attribute, counts = column.attribute, column.counts
    known = ~attribute.matches_anything
    first, after = column.shown.places
    frequency = _frequency(attribute, column.original, after.max())
    ends = np.append(first, 0), np.append(after, len(frequency))
    rows = np.append(counts, suppressed)
    covered = _sums(frequency, *ends)
    logs = np.log2(np.maximum(covered, 1))
    parts = _times_log(frequency)
    entropies = np.maximum(logs - _sums(parts, *ends) / np.maximum(covered, 1), 0.0)
    # A single value has no entropy, but the difference of two long sums may not be exactly 0.
    entropies[_sums(frequency > 0, *ends) < 2] = 0.0
    # The logarithm of each share is log2 c - log2 n, summed separately.
    is_known = known.all() and covered[rows > 0].all()
    missing = (
        _exact_sum(counts * logs[:-1], -parts) + suppressed * entropies[-1] if is_known else None
    )
    own, total = int(column.original.sum()), int(column.original.sum()) + suppressed
    return Bits(
        all=float(entropies[-1]),
        entropy=float(rows @ entropies) / total,
        monotone=float(rows @ (entropies * covered)) / (own * total),
        non_uniform=None if missing is None else float(missing) / total,
    )


def _frequency(attribute: Attribute, rows: Longs, least: int = 0) -> Longs:
    """The number of rows at each place of the attribute; unknown values have none."""
    known = ~attribute.matches_anything
    return np.bincount(attribute.places[known], rows[known], least).astype(np.int64)


@dataclass(frozen=True)
class InGroups:
    """How the values of each column are spread over groups; that of several parts adds up.

    Entropies within groups follow from sizes alone: how many groups have each number of rows, and
    how many values in a group do. So the sum is exact, in any order.
    """

    groups: tuple[Counter[int], ...]  # for each column, the number of groups of each size
    values: tuple[Counter[int], ...]  # the number of values in a group with so many rows

    @classmethod
    def of(cls, original: EncodedTable, groups: Groups) -> "InGroups":
        """Count the values of the released rows in their groups."""
        found = [_sizes(attribute, groups) for attribute in original.attributes]
        sizes, values = zip(*found, strict=True)
        return cls(sizes, values)

    def __add__(self, other: "InGroups") -> "InGroups":
        return InGroups(
            tuple(a + b for a, b in zip(self.groups, other.groups, strict=True)),
            tuple(a + b for a, b in zip(self.values, other.values, strict=True)),
        )

    def information_lost(self, original: Tally, suppressed: int) -> float:
        """The information lost in the groups of the released rows; other rows lose everything."""
        weights = [attribute.column.weight for attribute in original.attributes]
        losses = map(_conditional, original.columns, self.groups, self.values)
        share = original.rows / (original.rows + suppressed)
        return share * weighted(weights, [*losses]) / sum(weights) + (1 - share)


def _sizes(attribute: Attribute, groups: Groups) -> tuple[Counter[int], Counter[int]]:
    rows, _ = groups.by_group  # in the order of groups, values in groups are nearly sorted
    unknown = attribute.matches_anything
    if unknown.any():
        rows = rows[~unknown[rows]]
    labels, places = groups.labels[rows], attribute.places[rows]
    pairs = np.sort(labels * (places.max(initial=0) + 1) + places, kind="stable")
    ends = np.flatnonzero(pairs[1:] != pairs[:-1])
    joint = np.diff(ends, prepend=-1, append=len(pairs) - 1)
    return _how_often(np.bincount(labels)), _how_often(joint)


def _how_often(sizes: Longs) -> Counter[int]:
    times = np.bincount(sizes)
    times[:1] = 0
    present = np.flatnonzero(times)
    return Counter(dict(zip(present.tolist(), times[present].tolist(), strict=True)))


def _conditional(column: ValueCounts, groups: Counter[int], values: Counter[int]) -> float:
    """H(X | C) / H(X)."""
    frequency = _frequency(*column)
    within = _exact_sum_of(groups) - _exact_sum_of(values)
    whole = _exact_sum(_times_log(frequency.sum(keepdims=True)), -_times_log(frequency))
    return float(within) / whole if whole else 0.0


def _exact_sum_of(sizes: Counter[int]) -> Fraction:
    """The sum of n log2 n over so many sizes; terms that cancel give exactly 0."""
    each = _times_log(np.array([*sizes])).tolist()
    return sum((Fraction(n) * t for n, t in zip(each, sizes.values(), strict=True)), Fraction())


def _sums(numbers: NDArray[Any], first: Longs, after: Longs) -> NDArray[Any]:
    """Sums over runs of the numbers."""
    running = np.concatenate([[0], np.cumsum(numbers)])
    sums: NDArray[Any] = running[after] - running[first]
    return sums


def _exact_sum(*terms: Floats) -> float:
    """A sum that does not depend on the order: terms that cancel give exactly 0."""
    return math.fsum(np.concatenate(terms).tolist())


def _times_log(counts: Longs) -> Floats:
    """c log2 c, with 0 for c = 0."""
    logs: Floats = np.log2(np.maximum(counts, 1))
    return logs * counts
