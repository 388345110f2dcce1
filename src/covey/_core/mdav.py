"""Maximum distance to average vector: groups around the rows furthest from the middle."""

from typing import NamedTuple

from covey._core.arrays import Cells, Floats, Forest, Ints, Longs, Scale
from covey._core.box_tree import BoxTree, nearest, remove
from covey._core.jit import kernel


class Middle(NamedTuple):
    """The average of the rows that are free."""

    sums: Floats  # (intervals,) of the numbers present
    present: Longs  # (intervals,) how many these are
    counts: Longs  # (nodes,) free rows at each leaf
    numbers: Floats  # (intervals,) OUT
    codes: Ints  # (categories,) OUT


class Progress(NamedTuple):
    """Where the method stands between two calls."""

    labels: Longs  # (rows,) group of each row, -1 while it is free
    state: Longs  # groups formed, the last one's first row if another is due opposite to it or -1


@kernel
def count_in(cells: Cells, missing: Floats, middle: Middle, row: int, sign: int) -> None:
    """Let a row enter (1) or leave (-1) the average; numbers at `missing` stand for none."""
    for j in range(cells.numbers.shape[1]):
        if cells.numbers[row, j] != missing[j]:
            middle.sums[j] += sign * cells.numbers[row, j]
            middle.present[j] += sign
    for j in range(cells.codes.shape[1]):
        middle.counts[cells.codes[row, j]] += sign


@kernel
def count_all(cells: Cells, missing: Floats, middle: Middle) -> None:
    """Let every row enter, in order."""
    for row in range(len(cells.numbers)):
        count_in(cells, missing, middle, row, 1)


@kernel
def _average(forest: Forest, missing: Floats, middle: Middle) -> None:
    for j in range(len(missing)):
        absent = middle.present[j] == 0
        middle.numbers[j] = missing[j] if absent else middle.sums[j] / middle.present[j]
    for j in range(len(middle.codes)):
        best = forest.first[j]
        for leaf in range(forest.first[j], forest.first[j] + forest.leaves[j]):
            if middle.counts[leaf] > middle.counts[best]:
                best = leaf
        middle.codes[j] = best


@kernel
def form_groups(
    cells: Cells,
    forest: Forest,
    scale: Scale,
    missing: Floats,  # (intervals,) where missing numbers stand
    tree: BoxTree,  # INOUT
    middle: Middle,  # INOUT
    progress: Progress,  # INOUT
    k: int,
    groups: int,
) -> int:
    """Go on by so many groups; how many rows are in one."""
    labels, state = progress.labels, progress.state
    for _ in range(groups):
        free = tree.free[0]
        if free == 0:
            break
        opposite = state[1]
        if opposite < 0 and free < 2 * k:
            for row in range(len(labels)):
                if labels[row] < 0:
                    labels[row] = state[0]
                    remove(tree, row)
            state[0] += 1
            break
        if opposite < 0:
            _average(forest, missing, middle)
            seed = nearest(tree, forest, scale, True, middle.numbers, middle.codes)
        else:
            seed = nearest(
                tree, forest, scale, True, cells.numbers[opposite], cells.codes[opposite]
            )
        for place in range(k):
            row = seed
            if place > 0:
                row = nearest(tree, forest, scale, False, cells.numbers[seed], cells.codes[seed])
            labels[row] = state[0]
            remove(tree, row)
            count_in(cells, missing, middle, row, -1)
        state[0] += 1
        state[1] = seed if opposite < 0 and free >= 3 * k else -1
    return len(labels) - tree.free[0]  # type: ignore[no-any-return]
