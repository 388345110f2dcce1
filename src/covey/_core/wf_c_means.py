"""C-means whose attributes count by how well they hold classes together."""

from typing import NamedTuple

import numpy as np

from covey._core.arrays import Cells, Floats, Forest, Ints, Longs, Scale
from covey._core.box_tree import BoxTree, nearest, remove
from covey._core.heap import push, replace_top
from covey._core.jit import kernel
from covey._core.summaries import common_ancestor


class Centres(NamedTuple):
    """The mean of the numbers present and the most frequent leaf of each class."""

    numbers: Floats  # (classes, intervals)
    codes: Ints  # (classes, categories)


@kernel
def assign(
    cells: Cells,
    forest: Forest,
    scale: Scale,
    tree: BoxTree,  # over the centres
    first: int,
    last: int,
    labels: Longs,  # INOUT (rows,)
) -> int:
    """Put some rows into the classes of the nearest centres; how many were elsewhere before."""
    moved = 0
    for row in range(first, last):
        choice = nearest(tree, forest, scale, False, cells.numbers[row], cells.codes[row])
        moved += choice != labels[row]
        labels[row] = choice
    return moved


@kernel
def centre(
    cells: Cells,
    missing: float,  # where missing numbers stand
    rows: Longs,  # by class, ascending in each
    starts: Longs,  # (classes + 1,) where the rows of each class begin
    counts: Longs,  # (nodes,) scratch, zero
    centres: Centres,  # OUT, but for classes without rows
) -> None:
    """Move the centres to the middle of their classes."""
    for number in range(len(starts) - 1):
        own = rows[starts[number] : starts[number + 1]]
        if len(own) == 0:
            continue
        for j in range(cells.numbers.shape[1]):
            total, present = 0.0, 0
            for row in own:
                if cells.numbers[row, j] != missing:
                    total += cells.numbers[row, j]
                    present += 1
            centres.numbers[number, j] = total / present if present > 0 else missing
        for j in range(cells.codes.shape[1]):
            for row in own:
                counts[cells.codes[row, j]] += 1
            best = cells.codes[own[0], j]
            for row in own:
                leaf = cells.codes[row, j]
                if counts[leaf] > counts[best] or (counts[leaf] == counts[best] and leaf < best):
                    best = leaf
            for row in own:
                counts[cells.codes[row, j]] = 0
            centres.codes[number, j] = best


@kernel
def dispersions(
    cells: Cells, forest: Forest, loss: Floats, centres: Centres, labels: Longs
) -> Floats:
    """How far the rows are from their centres in each attribute, in all, unweighted."""
    intervals, categories = cells.numbers.shape[1], cells.codes.shape[1]
    totals = np.zeros(intervals + categories)
    for row in range(len(labels)):
        own = labels[row]
        for j in range(intervals):
            totals[j] += min(abs(cells.numbers[row, j] - centres.numbers[own, j]), 1.0)
        for j in range(categories):
            node = common_ancestor(forest, cells.codes[row, j], centres.codes[own, j])
            totals[intervals + j] += loss[node]
    return totals


@kernel
def merge(
    forest: Forest,
    scale: Scale,
    tree: BoxTree,  # INOUT over the centres
    centres: Centres,
    sizes: Longs,  # INOUT (classes,)
    into: Longs,  # INOUT (classes,) each is in itself
    k: int,
) -> None:
    """Merge classes of fewer than k rows, the smallest first, into those with the nearest centres.

    Sizes and numbers are negated, since the heap has the greatest on top.
    """
    keys, heap, count = np.empty(len(sizes)), np.empty(len(sizes), dtype=np.int32), 0
    for number in range(len(sizes)):
        if sizes[number] == 0:
            remove(tree, number)
        elif sizes[number] < k:
            push(keys, heap, count, -float(sizes[number]), -number)
            count += 1
    while count > 0 and tree.free[0] > 1:
        size, number = int(-keys[0]), -heap[0]
        count -= 1
        if count > 0:
            replace_top(keys[:count], heap[:count], keys[count], heap[count])
        if sizes[number] != size or into[number] != number:
            continue  # it has grown since
        remove(tree, number)
        other = nearest(tree, forest, scale, False, centres.numbers[number], centres.codes[number])
        into[number] = other
        sizes[other] += size
        if sizes[other] < k:
            push(keys, heap, count, -float(sizes[other]), -other)
            count += 1
