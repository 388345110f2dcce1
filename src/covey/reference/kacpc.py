"""KACPC (specification A3) and IKAC (B4): groups around centre rows that are never moved."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from covey.reference.centres import (
    Centre,
    LeafOrders,
    Rng,
    below,
    categorical_columns,
    centre_of_row,
    check_k,
    gap,
    mode,
    numeric_columns,
)
from covey.reference.k_member import labels_of
from covey.reference.model import (
    Table,
    Tree,
    depth,
    leaves_below,
    lowest_common_ancestor,
    max_depth,
    row_count,
    tree_of,
)

# The distance of every pair of leaves, by categorical column.
LeafDistances: TypeAlias = Mapping[str, Mapping[tuple[str, str], float]]


# Distances of leaves


def level_height(tree: Tree, node: str) -> int:
    """Return H(node): 1 for the deepest leaves; a leaf hung high keeps its level (A3)."""
    return max_depth(tree) - depth(tree, node) + 1


def climb(tree: Tree, leaf: str, above: str) -> float:
    """Return Dist(v, p), the distance of a leaf and a node above it (A3)."""
    top = level_height(tree, tree.root)
    high, low = level_height(tree, above), level_height(tree, leaf)
    below_it, all_leaves = len(leaves_below(tree, above)), len(leaves_below(tree, tree.root))
    return float((high * (high - low)) ** (high / top) * below_it / all_leaves)


def kacpc_dist_c(tree: Tree, one: str, other: str) -> float:
    """Return DistC(a, b) of KACPC: the product of both climbs to their common ancestor (A3)."""
    if one == other:
        return 0.0
    above = lowest_common_ancestor(tree, [one, other])
    return climb(tree, one, above) * climb(tree, other, above)


def ikac_dist_c(tree: Tree, one: str, other: str) -> float:
    """Return DistC(a, b) of IKAC: the share of the leaves below their common ancestor (B4)."""
    if one == other:
        return 0.0
    above = lowest_common_ancestor(tree, [one, other])
    return len(leaves_below(tree, above)) / len(leaves_below(tree, tree.root))


def all_pairs(
    tree: Tree, dist_c: Callable[[Tree, str, str], float]
) -> dict[tuple[str, str], float]:
    """Return the distance of every pair of leaves of the tree."""
    leaves = leaves_below(tree, tree.root)
    return {(a, b): dist_c(tree, a, b) for a, b in product(leaves, repeat=2)}


def normalised_dist_c(pairs: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """Return the distances divided by the greatest of them, which may be 0 (A3, W4)."""
    greatest = max(pairs.values())
    return {pair: 0.0 if greatest == 0 else d / greatest for pair, d in pairs.items()}


def dist_r(table: Table, one: Centre, other: Centre, leaf_distances: LeafDistances) -> float:
    """Return DistR, the weighted sum of the gaps of numbers and the distances of leaves (A3)."""
    total = 0.0
    for name, number_column in numeric_columns(table).items():
        total += number_column.weight * gap(one.numbers[name], other.numbers[name])
    for name, leaf_column in categorical_columns(table).items():
        pair = (one.nodes[name], other.nodes[name])
        total += leaf_column.weight * leaf_distances[name][pair]
    return total


# The first centre of KACPC


def most_frequent_number(numbers: Sequence[float | None]) -> float | None:
    """Return the most frequent value; of equals the smallest, missing after all numbers."""
    present = sorted({x for x in numbers if x is not None})
    in_order: list[float | None] = [*present, None]
    return max(in_order, key=numbers.count)


def most_frequent_values(table: Table, leaf_orders: LeafOrders) -> Centre:
    """Return the reference point of KACPC (A3 step 1)."""
    points = points_of(table)
    return Centre(
        {
            name: most_frequent_number([p.numbers[name] for p in points])
            for name in numeric_columns(table)
        },
        {
            name: mode([p.nodes[name] for p in points], leaf_orders[name])
            for name in categorical_columns(table)
        },
    )


# The methods


def points_of(table: Table) -> list[Centre]:
    """Return the values of every row."""
    return [centre_of_row(table, row) for row in range(row_count(table))]


def gather(
    table: Table,
    k: int,
    first: int,
    leaf_distances: LeafDistances,
    choose: Callable[[list[int], list[float]], int],
) -> list[int]:
    """Return the groups around `first` and the centres that `choose(free, acc)` names (A3)."""
    points = points_of(table)
    n = len(points)

    def between(row: int, other: int) -> float:
        return dist_r(table, points[row], points[other], leaf_distances)

    free = list(range(n))  # always ascending
    acc = [0.0] * n
    centres: list[int] = []
    groups: list[list[int]] = []
    while len(free) >= k:
        centre = choose(free, acc) if centres else first
        free.remove(centre)
        nearest = sorted(free, key=lambda row: (between(row, centre), row))[: k - 1]
        free = [row for row in free if row not in nearest]
        for row in free:
            acc[row] += between(row, centre)
        centres.append(centre)
        groups.append([centre, *nearest])

    for row in free:
        home = min(range(len(groups)), key=lambda g: between(row, centres[g]))
        groups[home].append(row)
    return labels_of(groups, n)


def kacpc(table: Table, k: int, *, leaf_orders: LeafOrders, normalise: bool = False) -> list[int]:
    """Return the group of each row; groups are numbered in order of formation (A3)."""
    n = check_k(table, k)
    leaf_distances = {}
    for name, column in categorical_columns(table).items():
        pairs = all_pairs(tree_of(column), kacpc_dist_c)
        leaf_distances[name] = normalised_dist_c(pairs) if normalise else pairs
    points = points_of(table)
    reference = most_frequent_values(table, leaf_orders)
    first = min(range(n), key=lambda row: dist_r(table, points[row], reference, leaf_distances))
    return gather(table, k, first, leaf_distances, lambda free, acc: min(free, key=acc.__getitem__))


def ikac(table: Table, k: int, *, rng: Rng) -> list[int]:
    """Return the group of each row; groups are numbered in order of formation (B4)."""
    n = check_k(table, k)
    leaf_distances = {
        name: all_pairs(tree_of(column), ikac_dist_c)
        for name, column in categorical_columns(table).items()
    }
    first = below(rng, n)
    return gather(table, k, first, leaf_distances, lambda free, acc: max(free, key=acc.__getitem__))
