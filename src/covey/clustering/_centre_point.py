"""Common part of KACPC and IKAC: the distances of leaves."""

from collections.abc import Callable

import numpy as np

from covey._core.arrays import Floats
from covey.encoding import EncodedTable
from covey.schema.taxonomy import Taxonomy


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
