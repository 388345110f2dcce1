"""Median partitioning of a table."""

from typing import NamedTuple

import numpy as np

from covey._core.arrays import Floats, Ints, Longs
from covey._core.jit import kernel
from covey._core.top_down import Stack, finish, pop, push_parts


class Columns(NamedTuple):
    """The table as Mondrian sees it: every attribute is an order of places."""

    places: Ints  # (rows, attributes)
    numbers: Floats  # (rows, intervals) scaled; intervals are the first attributes
    weights: Floats  # (attributes,)
    steps: Floats  # (attributes,) from the first place of a category to its last


@kernel
def partition(
    table: Columns,
    stack: Stack,  # INOUT
    spare: Ints,  # (rows,) scratch
    k: int,
    relaxed: bool,
    work: int,
) -> int:
    """Go on splitting until about so many rows were looked at; rows that are in their groups."""
    while work > 0 and stack.state[0] > 0:
        own = pop(stack)
        work -= len(own)
        cut = 0
        if len(own) >= 2 * k:
            cut = _split(table, own, spare, k, relaxed)
        if cut == 0:
            finish(stack, own)
        else:
            push_parts(stack, cut)
    return stack.state[2]  # type: ignore[no-any-return]


@kernel
def _split(table: Columns, own: Ints, spare: Ints, k: int, relaxed: bool) -> int:
    """Part the rows of a node, those of its left side first; how many these are, 0 for no split."""
    attributes = table.places.shape[1]
    ranges, distinct = np.empty(attributes), np.full(attributes, -1, dtype=np.int64)
    for j in range(attributes):
        ranges[j] = table.weights[j] * _range(table, own, j)
    for _ in range(attributes):
        j = _widest(table, own, ranges, distinct)
        if ranges[j] <= 0.0:
            return 0
        ranges[j] = -1.0
        if relaxed:
            return _halve(table.places, own, spare, j)
        cut = _cut(table.places, own, spare, j, k)
        if cut > 0:
            return cut
    return 0


@kernel
def _range(table: Columns, own: Ints, attribute: int) -> float:
    """How much of its column's range an attribute spans in a node."""
    if attribute < table.numbers.shape[1]:
        low, high = np.inf, -np.inf
        for row in own:
            low = min(low, table.numbers[row, attribute])
            high = max(high, table.numbers[row, attribute])
        return min(high - low, 1.0)
    lowest, highest = _ends(table.places, own, attribute)
    return (highest - lowest) / table.steps[attribute] if highest > lowest else 0.0


@kernel
def _ends(places: Ints, own: Ints, attribute: int) -> tuple[int, int]:
    lowest, highest = places[own[0], attribute], places[own[0], attribute]
    for row in own:
        lowest, highest = min(lowest, places[row, attribute]), max(highest, places[row, attribute])
    return lowest, highest


@kernel
def _widest(table: Columns, own: Ints, ranges: Floats, distinct: Longs) -> int:
    """The attribute of the widest range; of equals the one with most values, then the first."""
    best = 0
    for j in range(1, len(ranges)):
        if ranges[j] > ranges[best]:
            best = j
        elif ranges[j] == ranges[best] and ranges[j] > 0.0:
            for attribute in (best, j):
                if distinct[attribute] < 0:
                    distinct[attribute] = _distinct(table.places, own, attribute)
            if distinct[j] > distinct[best]:
                best = j
    return best


@kernel
def _counts(places: Ints, own: Ints, attribute: int) -> tuple[int, Longs]:
    """The lowest place in a node, and how many rows stand at it and at each one above."""
    lowest, highest = _ends(places, own, attribute)
    counts = np.zeros(highest - lowest + 1, dtype=np.int64)
    for row in own:
        counts[places[row, attribute] - lowest] += 1
    return lowest, counts


@kernel
def _sorted(places: Ints, own: Ints, attribute: int) -> Ints:
    values = np.empty(len(own), dtype=np.int32)
    for i in range(len(own)):
        values[i] = places[own[i], attribute]
    values.sort()
    return values


@kernel
def _is_dense(places: Ints, own: Ints, attribute: int) -> bool:
    """Whether counting by place costs no more than sorting."""
    lowest, highest = _ends(places, own, attribute)
    return highest - lowest < 4 * len(own)


@kernel
def _distinct(places: Ints, own: Ints, attribute: int) -> int:
    if _is_dense(places, own, attribute):
        _, counts = _counts(places, own, attribute)
        return int(np.count_nonzero(counts))
    values = _sorted(places, own, attribute)
    return 1 + int(np.count_nonzero(values[1:] != values[:-1]))


@kernel
def _median(places: Ints, own: Ints, attribute: int) -> int:
    """The lower median."""
    middle = (len(own) - 1) // 2
    if not _is_dense(places, own, attribute):
        return _sorted(places, own, attribute)[middle]  # type: ignore[no-any-return]
    lowest, counts = _counts(places, own, attribute)
    place = 0
    while middle >= counts[place]:
        middle -= counts[place]
        place += 1
    return lowest + place


@kernel
def _cut(places: Ints, own: Ints, spare: Ints, attribute: int, k: int) -> int:
    """Cut behind the median, or before it, so that both sides have k rows."""
    median = _median(places, own, attribute)
    below, upto = 0, 0
    for row in own:
        below += places[row, attribute] < median
        upto += places[row, attribute] <= median
    if upto >= k and len(own) - upto >= k:
        return _part(places, own, spare, attribute, median + 1)
    if below >= k and len(own) - below >= k:
        return _part(places, own, spare, attribute, median)
    return 0


@kernel
def _part(places: Ints, own: Ints, spare: Ints, attribute: int, bound: int) -> int:
    """Rows below the bound first; both sides stay ascending."""
    cut, rest = 0, 0
    for i in range(len(own)):
        row = own[i]
        if places[row, attribute] < bound:
            own[cut] = row
            cut += 1
        else:
            spare[rest] = row
            rest += 1
    own[cut:] = spare[:rest]
    return cut


@kernel
def _halve(places: Ints, own: Ints, spare: Ints, attribute: int) -> int:
    """The lower half of the rows first; of those at the border, the lowest rows."""
    half = len(own) // 2
    border, below = _sorted(places, own, attribute)[half - 1], 0
    for row in own:
        below += places[row, attribute] < border
    room = half - below
    cut, rest = 0, 0
    for i in range(len(own)):
        row = own[i]
        at_border = places[row, attribute] == border
        if places[row, attribute] < border or (at_border and room > 0):
            room -= at_border
            own[cut] = row
            cut += 1
        else:
            spare[rest] = row
            rest += 1
    own[cut:] = spare[:rest]
    return cut
