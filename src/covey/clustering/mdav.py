"""Maximum distance to average vector, for numbers and categories.

Domingo-Ferrer, Torra: Ordinal, continuous and heterogeneous k-anonymity through
microaggregation, Data Mining and Knowledge Discovery 2005 (MDAV-generic).
"""

from functools import partial

import numpy as np

from covey._core import kernels
from covey._core.arrays import Cells, Floats, Forest
from covey.clustering.points import standardised
from covey.clustering.progress import Progress, silent, watched
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups


def mdav(
    table: EncodedTable,
    k: int,
    *,
    seed: int = 0,  # noqa: ARG001 - nothing is random here
    progress: Progress = silent,
) -> Groups:
    """While at least 3k rows are free, the row furthest from their average forms a group with its
    k - 1 nearest rows, and so does the row furthest from that one. If at least 2k rows remain, one
    more such group is formed; the rest are the last group. Distances are squared Euclidean in
    z-scores for numbers and 0 or 1 for categories, times the weights. The average of categories is
    the mode. A tree of boxes finds the rows: near-linear time on real tables, O(n²) at worst.
    """
    cells, caps, missing = _standardised(table)
    core = kernels.Table(*(*cells, *_nominal(table)))
    return Groups(watched(partial(kernels.mdav, core, k, caps, missing), progress))


def _standardised(table: EncodedTable) -> tuple[Cells, Floats, Floats]:
    """The rows in z-scores, the largest squares of differences, and the places of missing numbers.

    A missing number differs from a present one by the largest difference of present ones: it is
    placed further away, and differences are capped.
    """
    cells = table.cells
    numbers, caps = np.empty_like(cells.numbers), np.empty(len(cells.weights))
    missing = np.empty(len(cells.weights))
    for j, interval in enumerate(table.intervals):
        scores = standardised(interval.scaled)
        present = scores[~np.isnan(scores)]
        width = float(np.ptp(present)) if len(present) else 0.0
        width = width or 1.0
        caps[j] = width * width
        missing[j] = present.max(initial=0.0) + 2 * width
        numbers[:, j] = np.where(np.isnan(scores), missing[j], scores)
    return Cells(numbers, cells.weights, cells.codes), caps, missing


def _nominal(table: EncodedTable) -> Forest:
    """The forest with equal distances between any two different leaves."""
    forest = table.forest
    trees = np.repeat(np.arange(len(forest.first)), np.diff([*forest.first, len(forest.depth)]))
    weights = table.weights[len(table.intervals) :][trees]
    inner = np.arange(len(forest.depth)) >= (forest.first + forest.leaves)[trees]
    return forest._replace(loss=np.where(inner, weights, 0.0))
