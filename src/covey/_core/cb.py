"""Bisecting 2-means with repair, and its l-diverse kind."""

from typing import NamedTuple

import numpy as np

from covey._core.arrays import Cells, Floats, Forest, Ints, Longs
from covey._core.cb_diverse import Diversity, deal, is_diverse
from covey._core.jit import kernel
from covey._core.leaf_losses import distances_from, price_from
from covey._core.random import below, shuffle
from covey._core.summaries import common_ancestor
from covey._core.top_down import Sides, Stack, bring_over, finish, part, pop, push_parts


class Halves(NamedTuple):
    """The two groups into which a node is parted; the first axis of each array is the group."""

    numbers: Floats  # (2, intervals) of the centres
    codes: Ints  # (2, categories) leaves
    price: Floats  # (2, nodes) of each leaf from the centres
    priced: Ints  # (2, categories)
    size: Longs  # (2,)
    low: Floats  # (2, intervals)
    high: Floats  # (2, intervals)
    sums: Floats  # (2, intervals) of the numbers present
    present: Longs  # (2, intervals) how many these are
    first: Ints  # (2, categories) first leaf that occurs, in the order of the tree
    last: Ints  # (2, categories) last leaf that occurs
    counts: Longs  # (2, nodes) members at each leaf, zero between two tries


class Scratch(NamedTuple):
    """What a split needs for each of its rows, by their place in the node."""

    order: Longs  # (rows,)
    distance: Floats  # (2, rows) from the centres
    side: Sides  # (rows,) in the try at work
    best: Sides  # (rows,) in the best try
    rows: Ints  # (rows,)
    heap_keys: Floats  # (k,)
    heap_rows: Ints  # (k,)


@kernel
def partition(
    cells: Cells,
    forest: Forest,
    missing: float,  # where missing numbers stand
    stack: Stack,  # INOUT
    halves: Halves,
    scratch: Scratch,
    diversity: Diversity,
    random: np.random.Generator,
    k: int,
    tries: int,
    restarts: int,
    work: int,
) -> int:
    """Go on splitting until about so many rows were looked at; rows that are in their groups."""
    while work > 0 and stack.state[0] > 0:
        own = pop(stack)
        work -= len(own)
        cut = 0
        if len(own) >= 2 * k:
            cut = _split(
                cells, forest, missing, halves, scratch, diversity, own, random, k, tries, restarts
            )
        if cut > 0:
            push_parts(stack, cut)
        elif diversity.l < 2 or not deal(cells, forest, diversity, stack, own, k):
            finish(stack, own)
    return stack.state[2]  # type: ignore[no-any-return]


@kernel
def _split(
    cells: Cells,
    forest: Forest,
    missing: float,
    halves: Halves,
    scratch: Scratch,
    diversity: Diversity,
    own: Ints,  # INOUT
    random: np.random.Generator,
    k: int,
    tries: int,
    restarts: int,
) -> int:
    """Part a node by its best try, the first group before the second; 0 where no try would do."""
    best = np.inf
    for _ in range(restarts):
        one = below(random, len(own))
        other = below(random, len(own) - 1)
        other += other >= one
        for half, row in ((0, own[one]), (1, own[other])):
            halves.numbers[half, :] = cells.numbers[row, :]
            halves.codes[half, :] = cells.codes[row, :]
        for _ in range(tries):
            _assign(cells, forest, halves, scratch, own, random)
            if halves.size[0] < k:
                _repair(halves, scratch, own, 0, k)
            elif halves.size[1] < k:
                _repair(halves, scratch, own, 1, k)
            _summarise(cells, missing, halves, scratch, own)
            cost = _cost(cells, forest, halves)
            if cost < best and (
                diversity.l < 2
                or (
                    is_diverse(diversity, own, scratch.side, 0)
                    and is_diverse(diversity, own, scratch.side, 1)
                )
            ):
                best = cost
                scratch.best[: len(own)] = scratch.side[: len(own)]
            _centre(missing, halves)
    return 0 if best == np.inf else part(scratch.best, scratch.rows, own)


@kernel
def _assign(
    cells: Cells,
    forest: Forest,
    halves: Halves,
    scratch: Scratch,
    own: Ints,
    random: np.random.Generator,
) -> None:
    """Every row goes to the nearer centre, of equally near ones to that of the smaller group.

    Ties look at the sizes so far, so rows come in random order.
    """
    for half in range(2):
        for tree in range(cells.codes.shape[1]):
            code = halves.codes[half, tree]
            price_from(forest, halves.price[half], halves.priced[half], tree, code)
        distances_from(cells, halves.numbers[half], halves.price[half], own, scratch.distance[half])
    near, far, side, order = scratch.distance[0], scratch.distance[1], scratch.side, scratch.order
    for place in range(len(own)):
        order[place] = place
    shuffle(random, order[: len(own)])
    sizes = halves.size
    sizes[:] = 0
    for i in range(len(own)):
        place = order[i]
        if near[place] != far[place]:
            choice = int(near[place] > far[place])
        else:
            choice = int(sizes[0] > sizes[1])
        side[place] = choice
        sizes[choice] += 1


@kernel
def _repair(halves: Halves, scratch: Scratch, own: Ints, small: int, k: int) -> None:
    """Fill up a group to k by the rows of the other that lose least by the move."""
    need = k - halves.size[small]
    regret = scratch.distance[small, : len(own)] - scratch.distance[1 - small, : len(own)]
    keys, places = scratch.heap_keys[:need], scratch.heap_rows[:need]
    bring_over(scratch.side, small, regret, keys, places)
    halves.size[small] += need
    halves.size[1 - small] -= need


@kernel
def _summarise(cells: Cells, missing: float, halves: Halves, scratch: Scratch, own: Ints) -> None:
    """What the members of both groups have in common, and what their centres will be."""
    numbers, codes, counts, side = cells.numbers, cells.codes, halves.counts, scratch.side
    low, high, sums, present = halves.low, halves.high, halves.sums, halves.present
    first, last = halves.first, halves.last
    low[:], high[:], sums[:], present[:] = np.inf, -np.inf, 0.0, 0
    first[:], last[:] = np.iinfo(np.int32).max, -1
    for place in range(len(own)):
        row, half = own[place], side[place]
        for j in range(numbers.shape[1]):
            value = numbers[row, j]
            low[half, j] = min(low[half, j], value)
            high[half, j] = max(high[half, j], value)
            if value != missing:
                sums[half, j] += value
                present[half, j] += 1
        for j in range(codes.shape[1]):
            leaf = codes[row, j]
            counts[half, leaf] += 1
            first[half, j] = min(first[half, j], leaf)
            last[half, j] = max(last[half, j], leaf)


@kernel
def _cost(cells: Cells, forest: Forest, halves: Halves) -> float:
    """The information loss of both groups.

    Leaves stand in the order of their tree, so the first and the last that occur have the same
    common ancestor as all of them.
    """
    cost = 0.0
    for half in range(2):
        loss = 0.0
        for j in range(len(cells.weights)):
            width = halves.high[half, j] - halves.low[half, j]
            loss += cells.weights[j] * min(width, 1.0)
        for j in range(cells.codes.shape[1]):
            loss += forest.loss[
                common_ancestor(forest, halves.first[half, j], halves.last[half, j])
            ]
        cost += halves.size[half] * loss
    return cost


@kernel
def _centre(missing: float, halves: Halves) -> None:
    """Move the centres: the mean of the numbers present, the most frequent leaf."""
    for half in range(2):
        for j in range(halves.numbers.shape[1]):
            count = halves.present[half, j]
            halves.numbers[half, j] = halves.sums[half, j] / count if count > 0 else missing
        for j in range(halves.codes.shape[1]):
            begin, end = halves.first[half, j], halves.last[half, j] + 1
            counts = halves.counts[half, begin:end]
            halves.codes[half, j] = begin + counts.argmax()
            counts[:] = 0
