"""Groups that grow by the free rows that cost them least."""

from typing import NamedTuple

import numpy as np

from covey._core.arrays import Cells, Floats, Forest, Ints, Longs, Scale, Summaries
from covey._core.box_tree import BoxTree, Words, remove, search
from covey._core.fenwick import count_out
from covey._core.jit import kernel
from covey._core.leaf_losses import price_from, price_under
from covey._core.summaries import add_row, rise


class Growth(NamedTuple):
    """Where the growth stands between two calls."""

    labels: Longs  # (rows,) group of each row, -1 while it is free
    state: Longs  # groups formed, the row to seek the next seed from, size of the growing group
    seeds: (
        Longs  # (groups,) where each group starts, or none; such rows are not free from the start
    )
    ranks: Ints  # (rows + 1,) Fenwick tree that counts free rows by number; for random seeds only
    scale: Scale
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
def find(
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
        growth.scale,
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
def start_from(cells: Cells, forest: Forest, growth: Growth, group: int, row: int) -> None:
    """A group has this row alone."""
    summaries = growth.summaries
    summaries.low[group, :] = cells.numbers[row, :]
    summaries.high[group, :] = cells.numbers[row, :]
    summaries.node[group, :] = cells.codes[row, :]
    for tree in range(cells.codes.shape[1]):
        price_from(forest, growth.price, growth.priced, tree, cells.codes[row, tree])


@kernel
def take(
    cells: Cells,
    forest: Forest,
    tree: BoxTree,
    growth: Growth,
    penalty: Penalty,
    row: int,
    group: int,
) -> None:
    """Move one free row into a group."""
    release(tree, growth, row)
    join(cells, forest, growth, penalty, row, group)


@kernel
def release(tree: BoxTree, growth: Growth, row: int) -> None:
    """A row is no longer free."""
    remove(tree, row)
    count_out(growth.ranks, row)


@kernel
def join(
    cells: Cells, forest: Forest, growth: Growth, penalty: Penalty, row: int, group: int
) -> None:
    """Put a row that is no longer free into a group."""
    growth.labels[row] = group
    if growth.summaries.size[group] == 0:
        start_from(cells, forest, growth, group, row)
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
            price_under(forest, growth.price, under, after)


@kernel
def _tally(growth: Growth, penalty: Penalty, group: int, label: int) -> None:
    """Count a member's class; the majority stays until another class outnumbers it."""
    penalty.tally[label] += 1
    if growth.summaries.size[group] == 1 or (
        penalty.tally[label] > penalty.tally[growth.majority[group]]
    ):
        growth.majority[group] = label


@kernel
def set_apart(tree: BoxTree, growth: Growth) -> None:
    """The rows where groups start are not free."""
    for row in growth.seeds:
        release(tree, growth, row)


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
            cost = rise(cells, forest, growth.summaries, group, row)
            if len(penalty.classes) > 0 and penalty.classes[row] != growth.majority[group]:
                cost += penalty.amount
            if cost < best:
                best, choice = cost, group
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
