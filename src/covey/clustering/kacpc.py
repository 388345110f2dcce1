"""Centre-point clustering.

Wang, He, Zhu: Improving data utilization of k-anonymity through clustering optimization,
Transactions on Data Privacy 2022 (KACPC).
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from covey._core import kernels
from covey._core.arrays import Floats, Ints
from covey.clustering.progress import Progress, silent, watched
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups
from covey.schema.taxonomy import Taxonomy


def kacpc(
    table: EncodedTable,
    k: int,
    *,
    seed: int = 0,  # noqa: ARG001 - nothing is random here
    normalise: bool = False,
    progress: Progress = silent,
) -> Groups:
    """The first centre is the row nearest to the most frequent values. Each further centre is the
    free row nearest to all earlier centres. A centre takes the k - 1 nearest free rows. Fewer than
    `k` rows are left over and join the nearest centre. The distance of two categories follows
    equations 4 and 5 of the paper. In tall trees it is much larger than that of two numbers can be;
    `normalise` scales the distances of each tree to 0 … 1. Time O(n²/k), memory O(n): covey updates
    sums of distances, whereas the paper stores all distances.
    """
    pairs = weighted_pairs(table, partial(pair_distances, normalise=bool(normalise)))
    numbers, codes = _most_frequent(table)
    return Groups(watched(partial(kernels.kacpc, table.core, k, pairs, numbers, codes), progress))


def weighted_pairs(table: EncodedTable, pair_distances: Callable[[Taxonomy], Floats]) -> Floats:
    """The weighted distances in all trees, by the nodes of the forest.

    For each node of a tree, `pair_distances` has the distance of two leaves whose lowest common
    ancestor it is, by their depths.
    """
    deepest = table.forest.ancestors.shape[1]
    pairs = np.zeros((len(table.forest.depth), deepest, deepest))
    for category, first in zip(table.categories, table.forest.first, strict=True):
        own = category.column.weight * pair_distances(category.tree)
        pairs[first : first + len(own), : own.shape[1], : own.shape[2]] = own
    return pairs


def _most_frequent(table: EncodedTable) -> tuple[Floats, Ints]:
    """The most frequent value of every attribute, the first of several."""
    cells = table.cells
    numbers = np.empty(len(cells.weights))
    for j in range(len(numbers)):
        values, counts = np.unique(cells.numbers[:, j], return_counts=True)
        numbers[j] = values[counts.argmax()]
    codes = [
        int(np.bincount(category.leaves).argmax()) + int(first)
        for category, first in zip(table.categories, table.forest.first, strict=True)
    ]
    return numbers, np.array(codes, dtype=np.int32)


def pair_distances(tree: Taxonomy, *, normalise: bool) -> Floats:
    """DistC of two leaves (equations 4 and 5), by their common ancestor and their depths."""
    ways = _ways_up(tree)
    pairs = ways[:, :, None] * ways[:, None, :]
    return pairs / (_widest_pair(tree, ways) or 1.0) if normalise else pairs


def _ways_up(tree: Taxonomy) -> Floats:
    """Dist from a leaf at each depth to each node above it.

    Heights are levels: the deepest leaves are at 1, and a leaf nearer to the root keeps its level.
    """
    ways = np.zeros((len(tree.labels), tree.height + 1))
    top = tree.height + 1
    for node in range(tree.leaf_count, len(tree.labels)):
        height = top - int(tree.depth[node])
        share = int(tree.leaves_below[node])
        for depth in range(int(tree.depth[node]) + 1, tree.height + 1):
            climbed = height * (height - (top - depth))
            ways[node, depth] = climbed ** (height / top) * share / tree.leaf_count
    return ways


def _widest_pair(tree: Taxonomy, ways: Floats) -> float:
    """The largest distance of two leaves: the furthest ones under two children of a node."""
    furthest = np.zeros(len(tree.labels))  # distance of each node's leaves from its parent
    for line in tree.ancestors[: tree.leaf_count]:
        path = line[line >= 0]
        leaf_depth = len(path) - 1
        for parent, child in pairwise(path):
            furthest[child] = max(furthest[child], ways[parent, leaf_depth])
    widest = 0.0
    for node in range(tree.leaf_count, len(tree.labels)):
        below = np.sort(furthest[tree.parent == node])
        if len(below) > 1:
            widest = max(widest, float(below[-1] * below[-2]))
    return widest
