"""The growth of groups in greedy k-member clustering."""

from typing import NamedTuple

import numpy as np

from covey.kernels.arrays import Cells, Floats, Forest, Ints, Longs, Summaries
from covey.kernels.jit import kernel
from covey.kernels.summaries import add_row, common_ancestor, record_loss, record_loss_with

# From which row the furthest one is sought as the next seed.
LAST, SEED, FIRST, RANDOM = 0, 1, 2, 3


class Growth(NamedTuple):
    """Where the growth stands between two calls."""

    labels: Longs  # (rows,) group of each row, -1 while it is free
    free: Ints  # (rows,) the free rows, ascending; only the first `state[0]` count
    state: Longs  # free rows, groups formed, the row to seek the next seed from
    summaries: Summaries  # (rows // k groups)
    majority: Ints  # (groups,) class of most members
    price: Floats  # (nodes,) loss of the group's node once it covers each leaf


class Penalty(NamedTuple):
    """The price of a row whose class is not its group's."""

    classes: Ints  # (rows,) 0 … ; no rows at all where there are no classes
    tally: Longs  # (classes,) scratch: members of the growing group by class
    amount: float  # in units of a group's information loss


@kernel
def grow(
    cells: Cells,
    forest: Forest,
    growth: Growth,  # INOUT
    penalty: Penalty,
    picks: Floats,  # (groups,) uniform in [0, 1), for random seeds
    rule: int,
    k: int,
    stop: int,
) -> None:
    """Form groups of k until there are `stop` of them."""
    while growth.state[1] < stop:
        group = growth.state[1]
        place = _seed(cells, forest, growth, penalty, picks, rule)
        for size in range(1, k + 1):
            row = growth.free[place]
            _take(cells, forest, growth, penalty, place, group)
            if rule == LAST or (rule == SEED and size == 1):
                growth.state[2] = row
            if size < k:
                surcharge = penalty.amount / (size + 1) if len(penalty.classes) > 0 else 0.0
                place = _best(cells, growth, penalty, group, 1.0, surcharge)
        growth.state[1] += 1


@kernel
def _seed(
    cells: Cells, forest: Forest, growth: Growth, penalty: Penalty, picks: Floats, rule: int
) -> int:
    """Where in the list of free rows the next group starts."""
    group = growth.state[1]
    if rule == RANDOM:
        return int(picks[group] * growth.state[0])
    # The reference row is looked at as a group of its own; the real seed overwrites it.
    _start_from(cells, forest, growth, group, growth.state[2])
    return _best(cells, growth, penalty, group, -1.0, 0.0)


@kernel
def _start_from(cells: Cells, forest: Forest, growth: Growth, group: int, row: int) -> None:
    summaries = growth.summaries
    summaries.low[group, :] = cells.numbers[row, :]
    summaries.high[group, :] = cells.numbers[row, :]
    summaries.node[group, :] = cells.codes[row, :]
    for tree in range(cells.codes.shape[1]):
        _reprice(forest, growth.price, tree, cells.codes[row, tree])


@kernel
def _reprice(forest: Forest, price: Floats, tree: int, node: int) -> None:
    """What each leaf of a tree would make of a group that stands at `node`."""
    first = forest.first[tree]
    for leaf in range(first, first + forest.leaves[tree]):
        price[leaf] = forest.loss[common_ancestor(forest, node, leaf)]


@kernel
def _best(
    cells: Cells, growth: Growth, penalty: Penalty, group: int, sign: float, surcharge: float
) -> int:
    """Where the free row stands that costs the group least (`sign` 1) or most (`sign` -1).

    The innermost loop of all, so it works on plain arrays: unpacking bundles of them inside it
    would cost more than the sum itself. There is no NaN, so plain comparisons do for min and max.
    """
    numbers, weights, codes = cells
    free, price, classes = growth.free, growth.price, penalty.classes
    low, high = growth.summaries.low[group], growth.summaries.high[group]
    majority = growth.majority[group]
    best, place = np.inf, -1
    for i in range(growth.state[0]):
        row = free[i]
        loss = 0.0
        for j in range(len(weights)):
            value = numbers[row, j]
            top = high[j] if high[j] > value else value
            bottom = low[j] if low[j] < value else value
            width = top - bottom
            loss += weights[j] * (width if width < 1.0 else 1.0)
        for j in range(codes.shape[1]):
            loss += price[codes[row, j]]
        if surcharge > 0.0 and classes[row] != majority:
            loss += surcharge
        if sign * loss < best:
            best, place = sign * loss, i
    return place


@kernel
def _take(
    cells: Cells, forest: Forest, growth: Growth, penalty: Penalty, place: int, group: int
) -> None:
    """Move one free row into a group."""
    row = growth.free[place]
    growth.labels[row] = group
    for i in range(place, growth.state[0] - 1):
        growth.free[i] = growth.free[i + 1]
    growth.state[0] -= 1
    if growth.summaries.size[group] == 0:
        _start_from(cells, forest, growth, group, row)
        growth.summaries.size[group] = 1
        penalty.tally[:] = 0
    else:
        _widen(cells, forest, growth, group, row)
    if len(penalty.classes) > 0:
        _tally(growth, penalty, group, penalty.classes[row])


@kernel
def _widen(cells: Cells, forest: Forest, growth: Growth, group: int, row: int) -> None:
    node = growth.summaries.node
    before = node[group].copy()
    add_row(cells, forest, growth.summaries, group, row)
    for tree in range(cells.codes.shape[1]):
        if node[group, tree] != before[tree]:
            _reprice(forest, growth.price, tree, node[group, tree])


@kernel
def _tally(growth: Growth, penalty: Penalty, group: int, label: int) -> None:
    """Count a member's class; the majority stays until another class outnumbers it."""
    penalty.tally[label] += 1
    if growth.summaries.size[group] == 1 or (
        penalty.tally[label] > penalty.tally[growth.majority[group]]
    ):
        growth.majority[group] = label


@kernel
def place_leftovers(
    cells: Cells,
    forest: Forest,
    growth: Growth,  # INOUT
    penalty: Penalty,
    rows: Longs,  # in the order in which they choose
) -> None:
    """Put each row into the group whose loss it raises least."""
    for row in rows:
        best, choice = np.inf, -1
        for group in range(growth.state[1]):
            size = growth.summaries.size[group]
            rise = (size + 1) * record_loss_with(cells, forest, growth.summaries, group, row)
            rise -= size * record_loss(cells, forest, growth.summaries, group)
            if len(penalty.classes) > 0 and penalty.classes[row] != growth.majority[group]:
                rise += penalty.amount
            if rise < best:
                best, choice = rise, group
        growth.labels[row] = choice
        add_row(cells, forest, growth.summaries, choice, row)
        if len(penalty.classes) > 0:
            _recount(growth, penalty, choice, penalty.classes[row])


@kernel
def _recount(growth: Growth, penalty: Penalty, group: int, label: int) -> None:
    """The majority of a finished group that has taken in one more row of class `label`."""
    ours, theirs = 0, 0
    for row in range(len(growth.labels)):
        if growth.labels[row] == group:
            ours += penalty.classes[row] == label
            theirs += penalty.classes[row] == growth.majority[group]
    if ours > theirs:
        growth.majority[group] = label
