"""Groups gathered around centres that are chosen by their distances to all earlier ones."""

from typing import NamedTuple

import numpy as np

from covey._core.arrays import Cells, Floats, Forest, Ints, Longs
from covey._core.heap import push, replace_top
from covey._core.jit import kernel


class Distances(NamedTuple):
    """What tells two rows apart."""

    weights: Floats  # (intervals,)
    pair: Floats  # (nodes, depths, depths) of two leaves at these depths with this ancestor
    price: Floats  # (nodes,) scratch: of each leaf from the centre


class Gathering(NamedTuple):
    """Where the method stands between two calls."""

    labels: Longs  # (rows,) group of each row, -1 while it is free
    centres: Longs  # (groups,) the row at the centre of each
    state: Longs  # groups formed, free rows, places in use, the place of the next centre
    rows: Ints  # (rows,) the row at each place, ascending
    numbers: Floats  # (rows, intervals) by place
    codes: Ints  # (rows, categories) by place
    sums: Floats  # (rows,) by place: of the distances to all centres, infinite once it is taken
    heap_places: Ints  # (k - 1,) scratch: the nearest so far, the furthest on top
    heap_keys: Floats  # (k - 1,)


@kernel
def _fill_prices(forest: Forest, distances: Distances, codes: Ints) -> None:
    """The distance of every leaf from those of one point."""
    for j in range(len(codes)):
        own, own_depth = codes[j], forest.depth[codes[j]]
        for leaf in range(forest.first[j], forest.first[j] + forest.leaves[j]):
            depth = min(own_depth, forest.depth[leaf])
            while forest.ancestors[own, depth] != forest.ancestors[leaf, depth]:
                depth -= 1
            node = forest.ancestors[own, depth]
            pair = distances.pair[node, own_depth, forest.depth[leaf]]
            distances.price[leaf] = 0.0 if leaf == own else pair


@kernel
def nearest(
    cells: Cells, forest: Forest, distances: Distances, numbers: Floats, codes: Ints
) -> int:
    """The row nearest to a point."""
    _fill_prices(forest, distances, codes)
    best, choice = np.inf, -1
    for row in range(len(cells.numbers)):
        distance = _distance(
            distances.weights, distances.price, numbers, cells.numbers, cells.codes, row
        )
        if distance < best:
            best, choice = distance, row
    return choice


@kernel
def _distance(
    weights: Floats, price: Floats, centre: Floats, numbers: Floats, codes: Ints, place: int
) -> float:
    total = 0.0
    for j in range(len(weights)):
        width = abs(numbers[place, j] - centre[j])
        total += weights[j] * (width if width < 1.0 else 1.0)
    for j in range(codes.shape[1]):
        total += price[codes[place, j]]
    return total


@kernel
def gather(
    forest: Forest,
    distances: Distances,
    gathering: Gathering,  # INOUT
    k: int,
    furthest: bool,
    groups: int,
) -> int:
    """Go on by so many groups; rows that are in one."""
    state, rows, sums = gathering.state, gathering.rows, gathering.sums
    for _ in range(groups):
        if state[1] < k:
            break
        group, centre = state[0], state[3]
        gathering.centres[group] = rows[centre]
        _take(gathering, centre)
        _fill_prices(forest, distances, gathering.codes[centre])
        _look_around(distances, gathering, gathering.numbers[centre].copy(), furthest)
        for place in gathering.heap_places:
            _take(gathering, place)
        state[0] += 1
        if 8 * state[1] < 7 * state[2]:
            _close_up(gathering)
        best = np.inf
        for place in range(state[2]):
            if sums[place] < best:
                best, state[3] = sums[place], place
    return len(gathering.labels) - state[1]  # type: ignore[no-any-return]


@kernel
def _take(gathering: Gathering, place: int) -> None:
    """The row at this place joins the group at work."""
    gathering.labels[gathering.rows[place]] = gathering.state[0]
    gathering.sums[place] = np.inf
    gathering.state[1] -= 1


@kernel
def _look_around(
    distances: Distances, gathering: Gathering, centre: Floats, furthest: bool
) -> None:
    """Add the distance of every free row from a centre to its sum, and find the nearest ones.

    To look for the furthest from all centres is to look for the least of negative sums. The
    distance is spelled out here, since calling a function for it takes three times as long.
    """
    weights, price, sums = distances.weights, distances.price, gathering.sums
    numbers, codes = gathering.numbers, gathering.codes
    keys, heap = gathering.heap_keys, gathering.heap_places
    intervals, categories, size = numbers.shape[1], codes.shape[1], 0
    for place in range(gathering.state[2]):
        if sums[place] == np.inf:
            continue
        length = 0.0
        for j in range(intervals):
            width = abs(numbers[place, j] - centre[j])
            length += weights[j] * (width if width < 1.0 else 1.0)
        for j in range(categories):
            length += price[codes[place, j]]
        sums[place] += -length if furthest else length
        # Rows come in ascending order, so one that ties with the furthest comes too late.
        if size < len(heap):
            push(keys, heap, size, length, place)
            size += 1
        elif size > 0 and length < keys[0]:
            replace_top(keys, heap, length, place)


@kernel
def _close_up(gathering: Gathering) -> None:
    """Free rows move up to the places of those that were taken."""
    rows, sums, numbers, codes = gathering.rows, gathering.sums, gathering.numbers, gathering.codes
    free = 0
    for place in range(gathering.state[2]):
        if sums[place] != np.inf:
            rows[free], sums[free] = rows[place], sums[place]
            numbers[free, :] = numbers[place, :]
            codes[free, :] = codes[place, :]
            free += 1
    gathering.state[2] = free


@kernel
def place_leftovers(
    cells: Cells,
    forest: Forest,
    distances: Distances,
    gathering: Gathering,  # INOUT
) -> None:
    """Put the rows that are left into the groups of the nearest centres."""
    _close_up(gathering)
    for row in gathering.rows[: gathering.state[2]]:
        _fill_prices(forest, distances, cells.codes[row])
        best, choice = np.inf, -1
        for group in range(gathering.state[0]):
            distance = _distance(
                distances.weights,
                distances.price,
                cells.numbers[row],
                cells.numbers,
                cells.codes,
                gathering.centres[group],
            )
            if distance < best:
                best, choice = distance, group
        gathering.labels[row] = choice
