"""Common part of KACPC and IKAC: groups around centres that depend on earlier centres."""

from collections.abc import Callable

import numpy as np

from covey._core.arrays import Floats, Ints
from covey.clustering.progress import Progress, in_steps
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups
from covey.schema.taxonomy import Taxonomy

Point = tuple[Floats, Ints]  # numbers and leaves, of a row or not
# For each node, the distance of two leaves whose lowest common ancestor it is, by their depths.
PairDistances = Callable[[Taxonomy], Floats]


def gather(
    table: EncodedTable,
    k: int,
    pair_distances: PairDistances,
    start: int | Point,
    *,
    furthest: bool,
    progress: Progress,
) -> Groups:
    """Form groups of `k` around one centre after another.

    The first centre is the row `start`, or the row nearest to that point. Each further centre is
    the free row nearest to all earlier centres, by the sum of its distances, or `furthest` from
    them. The sums are updated, so each group needs one pass over the free rows.
    """
    from covey._core import centre_point as kernel

    cells, forest = table.cells, table.forest
    distances = kernel.Distances(
        weights=cells.weights,
        pair=_pairs(table, pair_distances),
        price=np.zeros(len(forest.depth)),
    )
    if not isinstance(start, int):
        start = kernel.nearest(cells, forest, distances, *start)
    gathering = kernel.Gathering(
        labels=np.full(table.rows, -1, dtype=np.int64),
        centres=np.empty(table.rows // k, dtype=np.int64),
        state=np.array([0, table.rows, table.rows, start], dtype=np.int64),
        rows=np.arange(table.rows, dtype=np.int32),
        numbers=cells.numbers.copy(),
        codes=cells.codes.copy(),
        sums=np.zeros(table.rows),
        heap_places=np.empty(k - 1, dtype=np.int32),
        heap_keys=np.empty(k - 1),
    )

    def work(groups: int) -> int:
        return kernel.gather(forest, distances, gathering, k, furthest, groups)

    in_steps(work, table.rows // k * k, progress)
    kernel.place_leftovers(cells, forest, distances, gathering)
    return Groups(gathering.labels)


def _pairs(table: EncodedTable, pair_distances: PairDistances) -> Floats:
    """The weighted distances in all trees, by the nodes of the forest."""
    deepest = table.forest.ancestors.shape[1]
    pairs = np.zeros((len(table.forest.depth), deepest, deepest))
    for category, first in zip(table.categories, table.forest.first, strict=True):
        own = category.column.weight * pair_distances(category.tree)
        pairs[first : first + len(own), : own.shape[1], : own.shape[2]] = own
    return pairs


def most_frequent(table: EncodedTable) -> Point:
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
