"""Partitioning by two far rows, and the order of each part along a tour."""

from typing import NamedTuple

import numpy as np

from covey._core.arrays import Cells, Floats, Forest, Ints, Longs, Summaries
from covey._core.jit import kernel
from covey._core.leaf_losses import distances_from, price_from
from covey._core.random import below, shuffle
from covey._core.summaries import add_row, record_loss_with, rise
from covey._core.top_down import Sides, Stack, bring_over, finish, part, pop, push_parts


class Scratch(NamedTuple):
    """What a split needs."""

    order: Longs  # (rows,) places in the node
    distance: Floats  # (rows,) of all rows of a node from one
    side: Sides  # (rows,) by place in the node
    rows: Ints  # (rows,)
    heap_keys: Floats  # (k,)
    heap_rows: Ints  # (k,)
    halves: Summaries  # (2,)
    price: Floats  # (nodes,)
    priced: Ints  # (categories,)


@kernel
def partition(
    cells: Cells,
    forest: Forest,
    stack: Stack,  # INOUT
    scratch: Scratch,
    random: np.random.Generator,
    k: int,
    work: int,
) -> int:
    """Go on splitting until about so many rows were looked at; rows that are in their parts."""
    while work > 0 and stack.state[0] > 0:
        own = pop(stack)
        work -= len(own)
        if len(own) < 2 * k:
            finish(stack, own)
        else:
            _split(cells, forest, scratch, own, random, k)
            push_parts(stack, part(scratch.side, scratch.rows, own))
    return stack.state[2]  # type: ignore[no-any-return]


@kernel
def _split(
    cells: Cells,
    forest: Forest,
    scratch: Scratch,
    own: Ints,
    random: np.random.Generator,
    k: int,
) -> None:
    """Tell for each row of a node which of two far rows it stays with."""
    one = _furthest(cells, forest, scratch, own, below(random, len(own)))
    one = _furthest(cells, forest, scratch, own, one)
    other = _furthest(cells, forest, scratch, own, one)
    halves, side, order = scratch.halves, scratch.side, scratch.order
    halves.low[:], halves.high[:] = np.inf, -np.inf
    halves.node[:], halves.size[:] = -1, 0
    for half, place in ((0, one), (1, other)):
        add_row(cells, forest, halves, half, own[place])
        side[place] = half
    count = 0
    for place in range(len(own)):
        if place not in (one, other):
            order[count] = place
            count += 1
    shuffle(random, order[:count])
    for i in range(count):
        row = own[order[i]]
        rises = (rise(cells, forest, halves, 0, row), rise(cells, forest, halves, 1, row))
        if rises[0] != rises[1]:
            choice = int(rises[0] > rises[1])
        else:
            choice = int(halves.size[0] > halves.size[1])
        side[order[i]] = choice
        add_row(cells, forest, halves, choice, row)
    if halves.size[0] < k:
        _repair(cells, forest, scratch, own, 0, k)
    elif halves.size[1] < k:
        _repair(cells, forest, scratch, own, 1, k)


@kernel
def _furthest(cells: Cells, forest: Forest, scratch: Scratch, own: Ints, place: int) -> int:
    """The place of the row furthest from another."""
    row = own[place]
    for tree in range(cells.codes.shape[1]):
        price_from(forest, scratch.price, scratch.priced, tree, cells.codes[row, tree])
    distances_from(cells, cells.numbers[row], scratch.price, own, scratch.distance)
    best, choice = -np.inf, -1
    for other in range(len(own)):
        if other != place and scratch.distance[other] > best:
            best, choice = scratch.distance[other], other
    return choice


@kernel
def _repair(cells: Cells, forest: Forest, scratch: Scratch, own: Ints, small: int, k: int) -> None:
    """Fill up a group to k by the rows of the other that fit it best."""
    for place in range(len(own)):
        scratch.distance[place] = record_loss_with(cells, forest, scratch.halves, small, own[place])
    need = k - scratch.halves.size[small]
    keys, places = scratch.heap_keys[:need], scratch.heap_rows[:need]
    bring_over(scratch.side, small, scratch.distance[: len(own)], keys, places)


@kernel
def tour(
    cells: Cells,
    forest: Forest,
    scratch: Scratch,
    order: Longs,  # INOUT rows by part
    begin: Longs,  # where the parts begin, and the end
    first: int,
    last: int,
) -> None:
    """Put the rows of some parts into the order of a walk from each to the nearest not visited."""
    for number in range(first, last):
        own = order[begin[number] : begin[number + 1]]
        for at in range(len(own) - 1):
            row = own[at]
            for tree in range(cells.codes.shape[1]):
                price_from(forest, scratch.price, scratch.priced, tree, cells.codes[row, tree])
            rest = own[at + 1 :]
            distances_from(cells, cells.numbers[row], scratch.price, rest, scratch.distance)
            choice = 0
            for other in range(1, len(rest)):
                if scratch.distance[other] < scratch.distance[choice] or (
                    scratch.distance[other] == scratch.distance[choice]
                    and rest[other] < rest[choice]
                ):
                    choice = other
            rest[0], rest[choice] = rest[choice], rest[0]
