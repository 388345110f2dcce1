"""One pass of k-means, its centres moving with every row."""

from typing import NamedTuple

import numpy as np

from covey._core.arrays import Cells, Floats, Forest, Ints, Longs, Scale
from covey._core.box_tree import BoxTree, move, nearest, remove
from covey._core.jit import kernel
from covey._core.summaries import common_ancestor


class Centres(NamedTuple):
    """The mean of the numbers present, and the common ancestor of the categories."""

    numbers: Floats  # (groups, intervals)
    codes: Ints  # (groups, categories) nodes of the forest
    sums: Floats  # (groups, intervals)
    present: Longs  # (groups, intervals) how many numbers were added up


@kernel
def assign(
    cells: Cells,
    forest: Forest,
    scale: Scale,
    missing: float,  # where missing numbers stand
    tree: BoxTree,  # INOUT over the centres
    centres: Centres,  # INOUT
    rows: Longs,
    labels: Longs,  # OUT (rows,)
) -> None:
    """Put each row into the group of the nearest centre, which follows at once."""
    for row in rows:
        group = nearest(tree, forest, scale, False, cells.numbers[row], cells.codes[row])
        labels[row] = group
        for j in range(cells.numbers.shape[1]):
            if cells.numbers[row, j] != missing:
                centres.sums[group, j] += cells.numbers[row, j]
                centres.present[group, j] += 1
                centres.numbers[group, j] = centres.sums[group, j] / centres.present[group, j]
        for j in range(cells.codes.shape[1]):
            centres.codes[group, j] = common_ancestor(
                forest, centres.codes[group, j], cells.codes[row, j]
            )
        move(tree, group, centres.numbers[group], centres.codes[group])


@kernel
def distances(cells: Cells, forest: Forest, centres: Centres, labels: Longs) -> Floats:
    """How far each row is from the centre of its group."""
    result = np.empty(len(labels))
    for row in range(len(labels)):
        group, total = labels[row], 0.0
        for j in range(cells.numbers.shape[1]):
            width = abs(cells.numbers[row, j] - centres.numbers[group, j])
            total += cells.weights[j] * min(width, 1.0)
        for j in range(cells.codes.shape[1]):
            total += forest.loss[
                common_ancestor(forest, cells.codes[row, j], centres.codes[group, j])
            ]
        result[row] = total
    return result


@kernel
def close_full(tree: BoxTree, sizes: Longs, k: int) -> None:
    """Groups of k rows or more take no further ones."""
    for group in range(len(sizes)):
        if sizes[group] >= k:
            remove(tree, group)


@kernel
def reassign(
    cells: Cells,
    forest: Forest,
    scale: Scale,
    tree: BoxTree,  # INOUT over the centres of groups that take rows
    rows: Longs,
    sizes: Longs,  # INOUT (groups,)
    labels: Longs,  # OUT (rows,)
    full: int,  # the size at which a group takes no more, 0 for none
) -> int:
    """Put rows into the groups of the nearest centres, while there are any; how many were put."""
    for i in range(len(rows)):
        if tree.free[0] == 0:
            return i
        row = rows[i]
        group = nearest(tree, forest, scale, False, cells.numbers[row], cells.codes[row])
        labels[row] = group
        sizes[group] += 1
        if sizes[group] == full:
            remove(tree, group)
    return len(rows)
