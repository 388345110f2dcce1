"""What requirements ask of the sensitive values in a group, and by how much a group misses it.

The values of a column are numbered; -1 is one that counts for nothing. Shares are compared with a
little room, since products are rounded: what is at the very border keeps the requirement. A group
that is still to grow is judged as if the rows to come were the best that one could wish for.
"""

from typing import NamedTuple

import numpy as np

from covey.kernels.arrays import Floats, Ints, Longs
from covey.kernels.jit import kernel

DISTINCT, SHARES, ENTROPY, RECURSIVE, EQUAL, ORDERED, TREE, BETWEEN = range(8)

_ROOM = 1e-12  # of a share, for rounding
_ROOM_OF_ENTROPY = 5e-10


class Rules(NamedTuple):
    """Requirements, by column. Where a rule has no use for an array, its part is empty."""

    column: Longs  # (rules,) of the values of a row
    kind: Longs  # (rules,)
    asked: Floats  # (rules,) the l, the logarithm of l, or the t
    factor: Floats  # (rules,) the c of recursive diversity
    values: Longs  # (rules,) how many the column has
    begin: Longs  # (rules,) of the column's values in the next two
    high: Floats  # highest share of each value, its share, or the sum of shares up to it
    low: Floats  # lowest share of each value, or the sum of `high` before it
    leaf: Longs  # (rules,) of the column's values in the next
    above: Ints  # (leaves, depths) ancestors of each value, the root left out, -1 for none
    share: Floats  # (nodes,) of the values under a node
    span: Floats  # (nodes,) of the edge above it, in heights of the tree over two
    base: Floats  # (rules,) the distance of a group with nobody in the tree


@kernel
def excess(rules: Rules, rule: int, values: Ints, final: int) -> float:
    """By how much a group misses a rule; 0 if it keeps it.

    The values of its members are sorted; `final` is how many members it will have.
    """
    size = len(values)
    kind, asked = rules.kind[rule], rules.asked[rule]
    if kind in (ORDERED, TREE, ENTROPY):
        if size < final:
            return 0.0  # rows to come may set it right
        if kind == ENTROPY:
            return _positive(asked - _entropy(values) - _ROOM_OF_ENTROPY)
        if kind == ORDERED:
            return _positive(_along_line(rules, rule, values) - asked * (1 + _ROOM))
        return _positive(_over_tree(rules, rule, values) - asked * (1 + _ROOM))
    if kind == RECURSIVE:
        return _recursive_excess(rules, rule, values, final)
    begin, distinct, total, place = rules.begin[rule], 0, 0.0, 0
    while place < size:
        value, first = values[place], place
        while place < size and values[place] == value:
            place += 1
        if value < 0:
            continue
        distinct += 1
        if kind != DISTINCT:
            share, most = (place - first) / final, rules.high[begin + value]
            if kind == BETWEEN:
                total += _positive(share - most * (1 - _ROOM))
                if size == final:
                    total += _positive(rules.low[begin + value] * (1 + _ROOM) - share)
            elif kind == SHARES:
                total += _positive(share - most * (1 + _ROOM))
            else:
                total += _positive(share - most)
    if kind == EQUAL:
        return _positive(total - asked * (1 + _ROOM))
    if kind in (DISTINCT, BETWEEN):
        total += _positive((asked - distinct - (final - size)) / asked)
    return total


@kernel
def _positive(number: float) -> float:
    return number if number > 0.0 else 0.0


@kernel
def _entropy(values: Ints) -> float:
    size, parts, place = len(values), 0.0, 0
    while place < size:
        first = place
        while place < size and values[place] == values[first]:
            place += 1
        parts += (place - first) * np.log(place - first)
    return np.log(size) - parts / size  # type: ignore[no-any-return]


@kernel
def _recursive_excess(rules: Rules, rule: int, values: Ints, final: int) -> float:
    """The most frequent value must be rarer than c times those from the l-th on."""
    size, filled, place = len(values), 0, 0
    counts = np.zeros(size, dtype=np.int64)
    while place < size:
        first = place
        while place < size and values[place] == values[first]:
            place += 1
        counts[filled] = place - first
        filled += 1
    counts[:filled].sort()
    rest = float(final)
    for i in range(max(filled - int(rules.asked[rule]) + 1, 0), filled):
        rest -= counts[i]
    most, allowed = counts[filled - 1], rules.factor[rule] * rest * (1 - _ROOM)
    return 0.0 if most < allowed else (most - allowed) / final + _ROOM


@kernel
def _along_line(rules: Rules, rule: int, values: Ints) -> float:
    """Earth mover's distance where values stand in a line, over its length.

    Up to each value passes the difference of what the group and the table have until there. From
    one value of the group to its next the group's part is the same, and the table's grows.
    """
    begin, count, size = rules.begin[rule], rules.values[rule], len(values)
    if count < 2:
        return 0.0
    line, sums = rules.high[begin : begin + count], rules.low[begin : begin + count]
    total, place = sums[values[0]], 0
    while place < size:
        value = values[place]
        while place < size and values[place] == value:
            place += 1
        end, here = values[place] if place < size else count, place / size
        # Up to `turn` the table has less than the group, from there on it has more.
        turn = value + np.searchsorted(line[value:end], here, side="right")
        total += (turn - value) * here - (_sum_to(sums, line, turn) - sums[value])
        total += _sum_to(sums, line, end) - _sum_to(sums, line, turn) - (end - turn) * here
    return total / (count - 1)  # type: ignore[no-any-return]


@kernel
def _sum_to(sums: Floats, line: Floats, end: int) -> float:
    return sums[end] if end < len(sums) else sums[-1] + line[-1]  # type: ignore[no-any-return]


@kernel
def _over_tree(rules: Rules, rule: int, values: Ints) -> float:
    """Earth mover's distance where values are leaves of a tree, in the order of the tree."""
    leaf, total, size = rules.leaf[rule], rules.base[rule], len(values)
    for depth in range(rules.above.shape[1]):
        place = 0
        while place < size:
            node, first = rules.above[leaf + values[place], depth], place
            while place < size and rules.above[leaf + values[place], depth] == node:
                place += 1
            if node >= 0:
                there, share = (place - first) / size, rules.share[node]
                total += rules.span[node] * (abs(there - share) - share)
    return total  # type: ignore[no-any-return]
