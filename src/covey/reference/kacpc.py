"""KACPC: gather k rows around one central row after another.

Wang, He, Zhu: Improving data utilization of k-anonymity through clustering optimization,
Transactions on Data Privacy 2022.

Where the paper errs, and what covey does:

- The centres before a new one are counted from 0 in one place and from 1 in another, which would
  leave one out. covey counts all of them.
- The formula of DistC can be read in several ways. The two worked examples, 18 and 0.4628, settle
  it: the exponent applies to the product of heights alone, and the deepest leaves have height 1.
- DistC grows with the height of a tree: up to 4, 36 and 144 for trees of two, three and four
  levels, while two numbers are at most 1 apart. covey keeps that, and `normalise` scales the
  distances of each tree to 0 ... 1.
- DistC is no distance: a way over a third leaf may be shorter. covey relies on no such shortcut.
- The paper does not say which of equals is taken. covey takes the lowest row, the smallest number,
  or the first leaf of the tree.
- The time is given as O(n²), but the printed sums, computed again for every centre, are n³/(6k²)
  additions. Sums that are kept, as here, need O(n²/k).

Cost: O(n²/k) distances.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from covey.reference.centres import Centre, centre_of_row, gap, leaf_order, mode
from covey.reference.model import (
    Table,
    Tree,
    categorical_columns,
    check_k,
    depth,
    labels_of,
    leaves_below,
    lowest_common_ancestor,
    max_depth,
    numeric_columns,
    row_count,
    tree_of,
)

# The distance of every pair of leaves of a tree, and these for each categorical column.
Pairs: TypeAlias = Mapping[tuple[str, str], float]
LeafDistances: TypeAlias = Mapping[str, Pairs]


# The distance of two leaves (equations 4 and 5)


def level_height(tree: Tree, node: str) -> int:
    """Return H(v): 1 for the deepest leaves; a leaf nearer to the root keeps its level."""
    return max_depth(tree) - depth(tree, node) + 1


def dist(tree: Tree, leaf: str, above: str) -> float:
    """Return Dist(v, p), the distance of a leaf and a node above it."""
    top = level_height(tree, tree.root)
    high, low = level_height(tree, above), level_height(tree, leaf)
    below_it, all_leaves = len(leaves_below(tree, above)), len(leaves_below(tree, tree.root))
    return float((high * (high - low)) ** (high / top) * below_it / all_leaves)


def dist_c(tree: Tree, one: str, other: str) -> float:
    """Return DistC(a, b): the product of the ways from both leaves to their common ancestor."""
    if one == other:
        return 0.0
    above = lowest_common_ancestor(tree, [one, other])
    return dist(tree, one, above) * dist(tree, other, above)


def all_pairs(
    tree: Tree, dist_c: Callable[[Tree, str, str], float]
) -> dict[tuple[str, str], float]:
    """Return the distance of every pair of leaves of the tree."""
    leaves = leaves_below(tree, tree.root)
    return {(a, b): dist_c(tree, a, b) for a, b in product(leaves, repeat=2)}


def normalised_pairs(pairs: Pairs) -> dict[tuple[str, str], float]:
    """Return the distances divided by the greatest of them, which may be 0."""
    greatest = max(pairs.values())
    return {pair: 0.0 if greatest == 0 else d / greatest for pair, d in pairs.items()}


# The distance of two rows


def points_of(table: Table) -> list[Centre]:
    """Return the values of every row."""
    return [centre_of_row(table, row) for row in range(row_count(table))]


def dist_r(table: Table, one: Centre, other: Centre, leaf_distances: LeafDistances) -> float:
    """Return DistR, the weighted sum of the gaps of numbers and the distances of leaves."""
    total = 0.0
    for name, number_column in numeric_columns(table).items():
        total += number_column.weight * gap(one.numbers[name], other.numbers[name])
    for name, leaf_column in categorical_columns(table).items():
        pair = (one.nodes[name], other.nodes[name])
        total += leaf_column.weight * leaf_distances[name][pair]
    return total


# The first centre


def most_frequent_number(numbers: Sequence[float | None]) -> float | None:
    """Return the most frequent value; of equals the smallest, missing after all numbers."""
    present = sorted({x for x in numbers if x is not None})
    in_order: list[float | None] = [*present, None]
    return max(in_order, key=numbers.count)


def most_frequent_values(table: Table) -> Centre:
    """Return the point that has the most frequent value of each column."""
    points = points_of(table)
    return Centre(
        {
            name: most_frequent_number([p.numbers[name] for p in points])
            for name in numeric_columns(table)
        },
        {
            name: mode([p.nodes[name] for p in points], leaf_order(column))
            for name, column in categorical_columns(table).items()
        },
    )


# The method


def gather(
    table: Table,
    k: int,
    first: int,
    leaf_distances: LeafDistances,
    choose: Callable[[list[int], list[float]], int],
) -> list[int]:
    """Return the groups around `first` and the centres that `choose` picks.

    It picks one of the free rows by the sum of its distances to all centres so far. A centre takes
    the k-1 nearest free rows and never moves. Rows left over join the nearest centre.
    """
    points = points_of(table)
    n = len(points)

    def between(row: int, other: int) -> float:
        return dist_r(table, points[row], points[other], leaf_distances)

    free = list(range(n))  # always ascending
    sums = [0.0] * n
    centres: list[int] = []
    groups: list[list[int]] = []
    while len(free) >= k:
        centre = choose(free, sums) if centres else first
        free.remove(centre)
        nearest = sorted(free, key=lambda row: (between(row, centre), row))[: k - 1]
        free = [row for row in free if row not in nearest]
        for row in free:
            sums[row] += between(row, centre)
        centres.append(centre)
        groups.append([centre, *nearest])

    for row in free:
        home = min(range(len(groups)), key=lambda g: between(row, centres[g]))
        groups[home].append(row)
    return labels_of(groups, n)


def nearest_to_all(free: list[int], sums: list[float]) -> int:
    """Return the free row nearest to all centres so far, the lowest of equals."""
    return min(free, key=lambda row: sums[row])


def kacpc(table: Table, k: int, *, normalise: bool = False) -> list[int]:
    """Return the group of each row; groups are numbered in order of formation.

    The first centre is the row nearest to the most frequent values.
    """
    n = check_k(table, k)
    leaf_distances = {}
    for name, column in categorical_columns(table).items():
        pairs = all_pairs(tree_of(column), dist_c)
        leaf_distances[name] = normalised_pairs(pairs) if normalise else pairs
    points = points_of(table)
    typical = most_frequent_values(table)
    first = min(range(n), key=lambda row: dist_r(table, points[row], typical, leaf_distances))
    return gather(table, k, first, leaf_distances, nearest_to_all)
