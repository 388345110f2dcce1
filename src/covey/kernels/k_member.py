"""The growth of groups in greedy k-member clustering."""

from typing import NamedTuple

import numpy as np

from covey.kernels.arrays import Cells, Floats, Forest, Ints, Longs, Summaries
from covey.kernels.box_tree import BoxTree, Words, remove, search
from covey.kernels.jit import kernel
from covey.kernels.summaries import add_row, record_loss, record_loss_with

# From which row the furthest one is sought as the next seed.
LAST, SEED, FIRST, RANDOM = 0, 1, 2, 3


class Growth(NamedTuple):
    """Where the growth stands between two calls."""

    labels: Longs  # (rows,) group of each row, -1 while it is free
    state: Longs  # groups formed, the row to seek the next seed from, size of the growing group
    ranks: Ints  # (rows + 1,) Fenwick tree that counts free rows by number; for random seeds only
    summaries: Summaries  # (rows // k groups)
    majority: Ints  # (groups,) class of most members
    price: Floats  # (nodes,) loss of the group's node once it covers each leaf
    priced: Ints  # (categories,) the leaf that the prices start from, -1 for none


class Penalty(NamedTuple):
    """The price of a row whose class is not its group's."""

    classes: Ints  # (rows,) 0 … ; no rows at all where there are no classes
    boxes: Words  # (boxes,) classes that occur in each, or none
    tally: Longs  # (classes,) scratch: members of the growing group by class
    amount: float  # in units of a group's information loss


@kernel
def grow(
    cells: Cells,
    forest: Forest,
    tree: BoxTree,  # INOUT
    growth: Growth,  # INOUT
    penalty: Penalty,
    picks: Floats,  # (groups,) uniform in [0, 1), for random seeds
    rule: int,
    k: int,
    rows: int,
) -> None:
    """Go on forming groups of k by at most so many rows."""
    for _ in range(rows):
        group, size = growth.state[0], growth.state[2]
        if group == len(growth.majority):
            break
        if size == 0:
            row = _seed(cells, forest, tree, growth, penalty, picks, rule)
        else:
            surcharge = penalty.amount / (size + 1) if len(penalty.classes) > 0 else 0.0
            row = _find(cells, forest, tree, growth, penalty, group, False, surcharge)
        _take(cells, forest, tree, growth, penalty, row, group)
        if rule == LAST or (rule == SEED and size == 0):
            growth.state[1] = row
        growth.state[2] += 1
        if growth.state[2] == k:
            growth.state[0] += 1
            growth.state[2] = 0


@kernel
def _seed(
    cells: Cells,
    forest: Forest,
    tree: BoxTree,
    growth: Growth,
    penalty: Penalty,
    picks: Floats,
    rule: int,
) -> int:
    """The row with which the next group starts."""
    group = growth.state[0]
    if rule == RANDOM:
        return _ranked(growth.ranks, int(picks[group] * tree.free[0]))
    # The reference row is looked at as a group of its own; the real seed overwrites it.
    _start_from(cells, forest, growth, group, growth.state[1])
    return _find(cells, forest, tree, growth, penalty, group, True, 0.0)


@kernel
def _find(
    cells: Cells,
    forest: Forest,
    tree: BoxTree,
    growth: Growth,
    penalty: Penalty,
    group: int,
    far: bool,
    surcharge: float,
) -> int:
    """The free row that costs a group least, or most."""
    return search(
        tree,
        forest,
        far,
        cells.weights,
        growth.summaries.low[group],
        growth.summaries.high[group],
        growth.summaries.node[group],
        growth.price,
        penalty.classes,
        penalty.boxes,
        max(growth.majority[group], 0),
        surcharge,
    )


@kernel
def _start_from(cells: Cells, forest: Forest, growth: Growth, group: int, row: int) -> None:
    summaries = growth.summaries
    summaries.low[group, :] = cells.numbers[row, :]
    summaries.high[group, :] = cells.numbers[row, :]
    summaries.node[group, :] = cells.codes[row, :]
    for tree in range(cells.codes.shape[1]):
        _price_from(forest, growth, tree, cells.codes[row, tree])


@kernel
def _price_from(forest: Forest, growth: Growth, tree: int, leaf: int) -> None:
    """What each leaf of a tree would make of a group that stands at one leaf.

    Most cost as much as the root. Those that do not are near the leaf, under its ancestors below
    the root, so only they are touched, and those around the leaf before.
    """
    root, before = forest.ancestors[leaf, 0], growth.priced[tree]
    _price(forest, growth.price, root if before < 0 else forest.ancestors[before, 1], root)
    for depth in range(1, forest.depth[leaf] + 1):
        node = forest.ancestors[leaf, depth]
        _price(forest, growth.price, node, node)
    growth.priced[tree] = leaf


@kernel
def _price(forest: Forest, price: Floats, under: int, node: int) -> None:
    """All leaves under one node cost as much as another."""
    price[forest.begin[under] : forest.end[under]] = forest.loss[node]


@kernel
def _take(
    cells: Cells,
    forest: Forest,
    tree: BoxTree,
    growth: Growth,
    penalty: Penalty,
    row: int,
    group: int,
) -> None:
    """Move one free row into a group."""
    growth.labels[row] = group
    remove(tree, row)
    _uncount(growth.ranks, row)
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
        after = node[group, tree]
        if after != before[tree]:
            # Leaves outside the new node cost what they did; under the root, only those around
            # the first leaf did not cost the root already.
            under = after if forest.depth[after] > 0 else forest.ancestors[growth.priced[tree], 1]
            _price(forest, growth.price, under, after)


@kernel
def _tally(growth: Growth, penalty: Penalty, group: int, label: int) -> None:
    """Count a member's class; the majority stays until another class outnumbers it."""
    penalty.tally[label] += 1
    if growth.summaries.size[group] == 1 or (
        penalty.tally[label] > penalty.tally[growth.majority[group]]
    ):
        growth.majority[group] = label


# ── free rows by rank ───────────────────────────────────────────────────────────────────────────


@kernel
def count_all(ranks: Ints) -> None:
    """Every row is free: each node of the Fenwick tree counts as many as its lowest bit says."""
    for i in range(1, len(ranks)):
        ranks[i] = i & -i


@kernel
def _uncount(ranks: Ints, row: int) -> None:
    i = row + 1
    while i < len(ranks):
        ranks[i] -= 1
        i += i & -i


@kernel
def _ranked(ranks: Ints, rank: int) -> int:
    """The free row that has `rank` free rows before it."""
    step = 1
    while 2 * step < len(ranks):
        step *= 2
    row = 0
    while step > 0:
        if row + step < len(ranks) and ranks[row + step] <= rank:
            row += step
            rank -= ranks[row]
        step //= 2
    return row


# ── rows left over ──────────────────────────────────────────────────────────────────────────────


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
        for group in range(growth.state[0]):
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
