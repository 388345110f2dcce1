"""Classes of equal rows that merge with their closest until all are large enough."""

from typing import NamedTuple

import numpy as np

from covey._core.arrays import Floats, Forest, Ints, Longs, Summaries
from covey._core.fenwick import count_out, ranked
from covey._core.jit import kernel
from covey._core.random import below
from covey._core.summaries import unite


class Merging(NamedTuple):
    """Where the method stands between two calls."""

    summaries: Summaries  # (classes,)
    alive: Ints  # (classes,) those that are there, in any order
    place: Ints  # (classes,) where each stands in `alive`
    into: Longs  # (classes,) the class that each was merged into, or itself
    small: Ints  # (classes + 1,) those with too few rows, by rank
    state: Longs  # classes alive, classes with too few rows


@kernel
def merge(
    forest: Forest,
    weights: Floats,  # (intervals,)
    climb: Floats,  # (categories, depths, depths) what it costs to climb from one depth to another
    merging: Merging,  # INOUT
    random: np.random.Generator,
    k: int,
    times: int,
) -> int:
    """Merge so many times a random small class with the closest; how many are still small."""
    size, state = merging.summaries.size, merging.state
    for _ in range(times):
        if state[1] == 0:
            break
        one = ranked(merging.small, below(random, state[1]))
        other = _closest(forest, weights, climb, merging, one)
        kept, gone = min(one, other), max(one, other)
        was_small = (size[kept] < k, size[gone] < k)
        unite(forest, merging.summaries, kept, merging.summaries, gone)
        _bury(merging, gone)
        merging.into[gone] = kept
        if was_small[1]:
            count_out(merging.small, gone)
            state[1] -= 1
        if was_small[0] and size[kept] >= k:
            count_out(merging.small, kept)
            state[1] -= 1
    return state[1]  # type: ignore[no-any-return]


@kernel
def _closest(forest: Forest, weights: Floats, climb: Floats, merging: Merging, one: int) -> int:
    """The class whose merging with this one distorts the rows of both least.

    Distortions only add up, so a class is given up once it is worse than the best so far.
    """
    low, high, node, size = merging.summaries
    ancestors, depth = forest.ancestors, forest.depth
    best, choice = np.inf, -1
    for i in range(merging.state[0]):
        other = merging.alive[i]
        if other == one:
            continue
        ours, theirs, distance = 0.0, 0.0, 0.0
        for j in range(len(weights)):
            top, bottom = max(high[one, j], high[other, j]), min(low[one, j], low[other, j])
            width = min(top - bottom, 1.0)
            ours += weights[j] * (width - min(high[one, j] - low[one, j], 1.0))
            theirs += weights[j] * (width - min(high[other, j] - low[other, j], 1.0))
        for j in range(node.shape[1]):
            here, there = depth[node[one, j]], depth[node[other, j]]
            level = min(here, there)
            while ancestors[node[one, j], level] != ancestors[node[other, j], level]:
                level -= 1
            ours += climb[j, here, level]
            theirs += climb[j, there, level]
            distance = size[one] * ours + size[other] * theirs
            if distance > best:
                break
        distance = size[one] * ours + size[other] * theirs
        if distance < best or (distance == best and other < choice):
            best, choice = distance, other
    return choice


@kernel
def _bury(merging: Merging, gone: int) -> None:
    merging.state[0] -= 1
    last = merging.alive[merging.state[0]]
    place = merging.place[gone]
    merging.alive[place], merging.place[last] = last, place
