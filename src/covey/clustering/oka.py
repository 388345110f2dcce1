"""One-pass k-means.

Lin, Wei: An efficient clustering method for k-anonymization, PAIS 2008 (OKA).
"""

from typing import TYPE_CHECKING

import numpy as np

from covey._core.arrays import Cells, Floats, Longs, plain_scale
from covey.clustering.progress import Progress, in_steps, silent
from covey.encoding import MISSING_AT, EncodedTable
from covey.encoding.groups import Groups

if TYPE_CHECKING:
    from covey._core.oka import Centres


def oka(table: EncodedTable, k: int, *, seed: int = 0, progress: Progress = silent) -> Groups:
    """The first n // k of the shuffled rows start a group each. Every other row joins the group
    with the nearest centre, which is updated at once: the mean of numbers, the common ancestor of
    categories. Groups of more than `k` rows then give up the rows furthest from their centre. These
    join the nearest group with fewer than `k` rows, or, when there is none, the nearest of all. The
    order of the rows is inferred: the paper may sort them. A tree of boxes finds the centres, in
    O(n²/k) at worst; memory O(n).
    """
    from covey._core import box_tree
    from covey._core import oka as kernel
    from covey._core.random import shuffle

    cells, forest, scale = table.cells, table.forest, plain_scale(table.cells)
    order = np.arange(table.rows)
    shuffle(np.random.default_rng(seed), order)
    groups = table.rows // k
    labels = np.empty(table.rows, dtype=np.int64)
    labels[order[:groups]] = np.arange(groups)
    centres = _centres_at(cells, order[:groups])
    boxes = box_tree.build(Cells(centres.numbers, cells.weights, centres.codes), forest, inner=True)
    done = groups

    def join(rows: int) -> int:
        nonlocal done
        some = order[done : done + rows]
        kernel.assign(cells, forest, scale, MISSING_AT, boxes, centres, some, labels)
        done += len(some)
        return done

    in_steps(join, table.rows, progress)
    surplus, sizes = _surplus(kernel.distances(cells, forest, centres, labels), labels, k)
    final = Cells(centres.numbers, cells.weights, centres.codes)
    # First into groups with too few rows, then into any.
    for full in (k, 0):
        boxes = box_tree.build(final, forest, inner=True)
        kernel.close_full(boxes, sizes, full or table.rows + 1)
        put = kernel.reassign(cells, forest, scale, boxes, surplus, sizes, labels, full)
        surplus = surplus[put:]
    return Groups(labels)


def _centres_at(cells: Cells, rows: Longs) -> "Centres":
    from covey._core.oka import Centres

    numbers = cells.numbers[rows]
    present = numbers != MISSING_AT
    return Centres(
        numbers=numbers,
        codes=cells.codes[rows],
        sums=np.where(present, numbers, 0.0),
        present=present.astype(np.int64),
    )


def _surplus(distance: Floats, labels: Longs, k: int) -> tuple[Longs, Longs]:
    """The rows that groups of more than k give up, furthest first, and the remaining sizes."""
    sizes = np.bincount(labels)
    order = np.lexsort((-distance, labels))
    rank = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    surplus = order[rank < np.repeat(sizes - k, sizes)].astype(np.int64)
    return surplus, np.minimum(sizes, k)
