"""Clustering in attribute hierarchies.

Li, Wong, Fu, Pei: Achieving k-anonymity by clustering in attribute hierarchical structures,
DaWaK 2006 (KACA).
"""

from functools import partial

import numpy as np

from covey._core import kernels
from covey._core.arrays import Floats, Longs
from covey.clustering.progress import Progress, silent, watched
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups
from covey.errors import UsageError
from covey.schema.taxonomy import Taxonomy


def kaca(
    table: EncodedTable,
    k: int,
    *,
    seed: int = 0,
    beta: float = 1.0,
    progress: Progress = silent,
) -> Groups:
    """The distance of two classes is the distortion of their rows if both are generalised together:
    in a tree the steps climbed, where a step from depth d counts 1 / d^beta, and for numbers the
    growth of the interval, each times the weight and the number of rows. Only the abstract was
    available: the details follow common descriptions of the method. Time O(E²) for E distinct rows,
    memory O(n).
    """
    if not isinstance(beta, int | float) or not 0 <= beta < float("inf"):
        raise UsageError("beta must be a number, 0 or more")
    classes, climbs = _equal_rows(table), _climbs(table, float(beta))
    random = np.random.default_rng(seed)
    return Groups(watched(partial(kernels.kaca, table.core, k, classes, climbs, random), progress))


def _equal_rows(table: EncodedTable) -> Longs:
    """The class of equal rows of each row, numbered by their lowest rows."""
    order = table.lexicographic
    cells = table.places[order]
    first = np.ones(table.rows, dtype=bool)
    first[1:] = (cells[1:] != cells[:-1]).any(axis=1)
    lowest = np.empty(table.rows, dtype=np.int64)
    lowest[order] = order[first][np.cumsum(first) - 1]
    return np.unique(lowest, return_inverse=True)[1].astype(np.int64)


def _climbs(table: EncodedTable, beta: float) -> Floats:
    """The weighted cost, in each tree, of climbing from one depth to another."""
    depths = table.forest.ancestors.shape[1]
    climbs = np.zeros((len(table.categories), depths, depths))
    for j, category in enumerate(table.categories):
        ways = _ways(category.tree, beta)
        own = (ways[:, None] - ways[None, :]) / (ways[-1] or 1.0)
        climbs[j, : len(own), : len(own)] = category.column.weight * own
    return climbs


def _ways(tree: Taxonomy, beta: float) -> Floats:
    """The weighted distance from the root to each depth."""
    ways = [0.0]
    for depth in range(1, tree.height + 1):
        ways.append(ways[-1] + depth**-beta)
    return np.array(ways)
