"""What requirements ask of the sensitive values in a group, and by how much a group misses it.

The values of a column are numbered; -1 is one that counts for nothing. Shares are compared with a
little room, since products are rounded: what is at the very border keeps the requirement. A group
that is still to grow is judged as if the rows to come were the best that one could wish for.
"""

from typing import NamedTuple

import numpy as np

from covey._core.arrays import Floats, Ints, Longs
from covey._core.jit import kernel

DISTINCT, SHARES, ENTROPY, RECURSIVE, EQUAL, ORDERED, TREE, BETWEEN = range(8)

_ROOM = 1e-12  # of a share, for rounding
_ROOM_OF_ENTROPY = 5e-10


class Rules(NamedTuple):
    """Requirements, by column. Where a rule has no use for an array, its part is empty.

    Groups are judged in the innermost loops, where every array that is handed over takes as long
    as a member: hence few arrays of several rows each.
    """

    places: Longs  # (rules, 5) column, kind, number of values, where bounds and leaves begin
    asked: Floats  # (rules, 3) l, its logarithm or t; the c of recursive diversity; `EMPTY`
    bounds: Floats  # (2, values) highest and lowest shares, or see the distances
    above: Ints  # (leaves, depths) ancestors of each value, the root left out, -1 for none
    nodes: Floats  # (2, nodes) share of the values under it; the edge above it, in tree heights / 2


# Of places and of asked.
COLUMN, KIND, VALUES, BOUNDS, LEAVES = range(5)
LEAST, FACTOR, EMPTY = range(3)  # the last: the distance of a group with nobody in the tree


@kernel
def counted(tally: Ints, value: int, found: int) -> int:
    """Count one more member of a group; how many values occur then.

    A tally has the count of each value, all 0 unless a group is being judged, and a list of the
    values that occur. -1 is not counted.
    """
    if value < 0:
        return found
    if tally[0, value] == 0:
        tally[1, found] = value
        found += 1
    tally[0, value] += 1
    return found


@kernel
def forget(tally: Ints, found: int) -> None:
    """Ready for the next group."""
    for i in range(found):
        tally[0, tally[1, i]] = 0


@kernel
def excess(rules: Rules, rule: int, tally: Ints, found: int, size: int, final: int) -> float:
    """By how much a group of so many members and values misses a rule; 0 if it keeps it.

    `final` is how many members it will have.
    """
    if rules.places[rule, KIND] in (ORDERED, TREE, ENTROPY, RECURSIVE):
        return _excess_of_whole(rules, rule, tally, found, size, final)
    return _excess_of_values(
        rules.places, rules.asked, rules.bounds, rule, tally, found, size, final
    )


@kernel
def _excess_of_values(
    places: Longs,
    asked: Floats,
    bounds: Floats,
    rule: int,
    tally: Ints,
    found: int,
    size: int,
    final: int,
) -> float:
    """Of rules that look at each value by itself."""
    kind, begin, least, total = places[rule, KIND], places[rule, BOUNDS], asked[rule, LEAST], 0.0
    if kind != DISTINCT:
        for i in range(found):
            value = tally[1, i]
            share, most = tally[0, value] / final, bounds[0, begin + value]
            if kind == BETWEEN:
                total += _positive(share - most * (1 - _ROOM))
                if size == final:
                    total += _positive(bounds[1, begin + value] * (1 + _ROOM) - share)
            elif kind == SHARES:
                total += _positive(share - most * (1 + _ROOM))
            else:
                total += _positive(share - most)
    if kind == EQUAL:
        return _positive(total - least * (1 + _ROOM))
    if kind in (DISTINCT, BETWEEN):
        total += _positive((least - found - (final - size)) / least)
    return total


@kernel
def _excess_of_whole(
    rules: Rules, rule: int, tally: Ints, found: int, size: int, final: int
) -> float:
    """Of rules that look at all values together."""
    kind, least = rules.places[rule, KIND], rules.asked[rule, LEAST]
    counts, values = tally[0], tally[1, :found]
    if kind == RECURSIVE:
        return _recursive_excess(rules, rule, np.sort(counts[values]), final)
    if size < final:
        return 0.0  # rows to come may set it right
    if kind == ENTROPY:
        return _positive(least - _entropy(values, counts, size) - _ROOM_OF_ENTROPY)
    values.sort()
    if kind == ORDERED:
        return _positive(_along_line(rules, rule, values, counts, size) - least * (1 + _ROOM))
    return _positive(_over_tree(rules, rule, values, counts, size) - least * (1 + _ROOM))


@kernel
def _positive(number: float) -> float:
    return number if number > 0.0 else 0.0


@kernel
def _entropy(values: Ints, counts: Ints, size: int) -> float:
    parts = 0.0
    for value in values:
        parts += counts[value] * np.log(counts[value])
    return np.log(size) - parts / size  # type: ignore[no-any-return]


@kernel
def _recursive_excess(rules: Rules, rule: int, counts: Ints, final: int) -> float:
    """The most frequent value must be rarer than c times those from the l-th on."""
    rest = float(final)
    for i in range(max(len(counts) - int(rules.asked[rule, LEAST]) + 1, 0), len(counts)):
        rest -= counts[i]
    most, allowed = counts[-1], rules.asked[rule, FACTOR] * rest * (1 - _ROOM)
    return 0.0 if most < allowed else (most - allowed) / final + _ROOM


@kernel
def _along_line(rules: Rules, rule: int, values: Ints, counts: Ints, size: int) -> float:
    """Earth mover's distance where values stand in a line, over its length.

    Up to each value passes the difference of what the group and the table have until there. From
    one value of the group to its next the group's part is the same, and the table's grows. Bounds
    are the sums of shares up to each value, and the sums of these before it.
    """
    begin, count = rules.places[rule, BOUNDS], rules.places[rule, VALUES]
    if count < 2:
        return 0.0
    line, sums = rules.bounds[0, begin : begin + count], rules.bounds[1, begin : begin + count]
    total, passed = sums[values[0]], 0
    for i in range(len(values)):
        value, end = values[i], values[i + 1] if i + 1 < len(values) else count
        passed += counts[value]
        here = passed / size
        # Up to `turn` the table has less than the group, from there on it has more.
        turn = value + np.searchsorted(line[value:end], here, side="right")
        total += (turn - value) * here - (_sum_to(sums, line, turn) - sums[value])
        total += _sum_to(sums, line, end) - _sum_to(sums, line, turn) - (end - turn) * here
    return total / (count - 1)  # type: ignore[no-any-return]


@kernel
def _sum_to(sums: Floats, line: Floats, end: int) -> float:
    return sums[end] if end < len(sums) else sums[-1] + line[-1]  # type: ignore[no-any-return]


@kernel
def _over_tree(rules: Rules, rule: int, values: Ints, counts: Ints, size: int) -> float:
    """Earth mover's distance where values are leaves of a tree, in the order of the tree."""
    leaf, total, found = rules.places[rule, LEAVES], rules.asked[rule, EMPTY], len(values)
    for depth in range(rules.above.shape[1]):
        place = 0
        while place < found:
            node, under = rules.above[leaf + values[place], depth], 0
            while place < found and rules.above[leaf + values[place], depth] == node:
                under += counts[values[place]]
                place += 1
            if node >= 0:
                there, share = under / size, rules.nodes[0, node]
                total += rules.nodes[1, node] * (abs(there - share) - share)
    return total  # type: ignore[no-any-return]
