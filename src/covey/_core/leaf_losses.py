"""What each leaf of a tree would make of a group: the loss of their common ancestor.

A table of prices spares searches the climb. It is kept up to date by touching only what changes.
"""

from covey._core.arrays import Cells, Floats, Forest, Ints, Longs
from covey._core.jit import kernel


@kernel
def price_from(
    forest: Forest,
    price: Floats,  # INOUT (nodes,)
    priced: Ints,  # INOUT (categories,) the leaf that the prices of a tree are for, -1 for none
    tree: int,
    leaf: int,
) -> None:
    """The prices of a tree for a group that is at one leaf.

    Most leaves cost as much as the root. Those that do not are near the leaf, under its ancestors
    below the root, so only they are touched, and those around the leaf before.
    """
    root, before = forest.ancestors[leaf, 0], priced[tree]
    price_under(forest, price, root if before < 0 else forest.ancestors[before, 1], root)
    for depth in range(1, forest.depth[leaf] + 1):
        node = forest.ancestors[leaf, depth]
        price_under(forest, price, node, node)
    priced[tree] = leaf


@kernel
def price_under(forest: Forest, price: Floats, under: int, node: int) -> None:
    """All leaves under one node cost as much as another."""
    price[forest.begin[under] : forest.end[under]] = forest.loss[node]


@kernel
def distances_from(
    cells: Cells, centre: Floats, price: Floats, own: Ints | Longs, distance: Floats
) -> None:
    """The distance of each of some rows from a point with these numbers and prices."""
    numbers, codes, weights = cells.numbers, cells.codes, cells.weights
    for place in range(len(own)):
        row, total = own[place], 0.0
        for j in range(numbers.shape[1]):
            width = abs(numbers[row, j] - centre[j])
            total += weights[j] * (width if width < 1.0 else 1.0)
        for j in range(codes.shape[1]):
            total += price[codes[row, j]]
        distance[place] = total
