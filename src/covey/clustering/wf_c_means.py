"""C-means with weighted features.

Chiu, Tsai: A k-anonymity clustering method for effective data privacy preservation, ADMA 2007
(WF-C-means).
"""

from typing import TYPE_CHECKING

import numpy as np

from covey._core.arrays import Cells, Floats, Forest, Longs, Scale
from covey.clustering.progress import Progress, in_steps, silent
from covey.encoding import MISSING_AT, EncodedTable
from covey.encoding.groups import Groups
from covey.errors import UsageError

if TYPE_CHECKING:
    from covey._core.wf_c_means import Centres


def wf_c_means(
    table: EncodedTable,
    k: int,
    *,
    seed: int = 0,
    iterations: int = 30,
    progress: Progress = silent,
) -> Groups:
    """n // k random rows are the first centres. In each iteration, rows join the nearest centre,
    centres move to the means and modes, and attributes that vary little within groups gain weight.
    This stops when no row moves, or after `iterations`. Then groups of fewer than `k` rows, the
    smallest first, merge into the group with the nearest centre. The paper's text was not
    available: this is inferred from its abstract and approximate. A tree of boxes finds the
    centres, in O(n²/k) per iteration at worst; memory O(n).
    """
    from covey._core import box_tree
    from covey._core import wf_c_means as kernel
    from covey._core.random import shuffle

    if not isinstance(iterations, int) or iterations < 1:
        raise UsageError("iterations must be a whole number, 1 or more")
    cells = table.cells
    order = np.arange(table.rows)
    shuffle(np.random.default_rng(seed), order)
    seeds = order[: table.rows // k]
    centres = kernel.Centres(cells.numbers[seeds], cells.codes[seeds])
    labels = np.full(table.rows, -1, dtype=np.int64)
    forest, scale = _weighted(table, np.ones(len(table.attributes)))

    def iterate() -> bool:
        nonlocal forest, scale
        boxes = box_tree.build(Cells(centres.numbers, scale.weights, centres.codes), forest)
        moved, done = 0, 0

        def assign(rows: int) -> int:
            nonlocal moved, done
            last = min(done + rows, table.rows)
            moved += kernel.assign(cells, forest, scale, boxes, done, last, labels)
            done = last
            return done

        in_steps(assign, table.rows, progress)
        if not moved:
            return False
        _centre(table, labels, centres)
        forest, scale = _weighted(table, _feature_weights(table, labels, centres))
        return True

    for _ in range(iterations):
        if not iterate():
            break
    sizes, into = np.bincount(labels, minlength=len(seeds)), np.arange(len(seeds))
    boxes = box_tree.build(Cells(centres.numbers, scale.weights, centres.codes), forest)
    kernel.merge(forest, scale, boxes, centres, sizes, into, k)
    return Groups(np.unique(_end_of(into)[labels], return_inverse=True)[1])


def _centre(table: EncodedTable, labels: Longs, centres: "Centres") -> None:
    from covey._core import wf_c_means as kernel

    rows = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[rows], np.arange(len(centres.numbers) + 1))
    counts = np.zeros(len(table.forest.depth), dtype=np.int64)
    kernel.centre(table.cells, MISSING_AT, rows, starts, counts, centres)


def _feature_weights(table: EncodedTable, labels: Longs, centres: "Centres") -> Floats:
    """The weights of attributes, on average 1: larger if rows are near their centres.

    One full step is added to the total distance, so that no weight is infinite.
    """
    from covey._core import wf_c_means as kernel

    totals = kernel.dispersions(table.cells, table.forest, _unit_losses(table), centres, labels)
    inverse: Floats = 1.0 / (totals / table.rows + 1.0 / table.rows)
    weights: Floats = len(inverse) * inverse / sum(inverse.tolist())
    return weights


def _unit_losses(table: EncodedTable) -> Floats:
    """The losses of all nodes of the forest, unweighted."""
    return np.concatenate([np.empty(0), *(a.tree.losses(table.measure) for a in table.categories)])


def _weighted(table: EncodedTable, features: Floats) -> tuple[Forest, Scale]:
    """The forest and the scale, with these weights times the attributes' own."""
    weights, intervals = table.weights * features, len(table.intervals)
    sizes = [len(a.tree.labels) for a in table.categories]
    loss = np.repeat(weights[intervals:], sizes) * _unit_losses(table)
    scale = Scale(weights[:intervals].copy(), np.ones(intervals), False)
    return table.forest._replace(loss=loss), scale


def _end_of(into: Longs) -> Longs:
    """The final group of each group after all merges."""
    while True:
        further = into[into]
        if (further == into).all():
            return into
        into = further
