"""IKAC: gather k rows around one far row after another.

Zheng, Wang, Lv, Ma, Jia: k-anonymity algorithm based on improved clustering, ICA3PP 2018.

The text of the paper was not available. The steps come from the description by Wang, He and Zhu
(2022). They say that the first centre is random, that the next one has the greatest mean distance
from all earlier groups, and that categories are measured by the width of the tree alone. covey
takes the distance from a group as the distance from its centre, and the share of leaves as the
width. It measures numbers and places the rows left over as KACPC does. Of equals it takes the
lowest row.

Cost: O(n²/k) distances.
"""

from covey.reference.draws import Rng, below
from covey.reference.kacpc import all_pairs, gather
from covey.reference.model import (
    Table,
    Tree,
    categorical_columns,
    check_k,
    leaves_below,
    lowest_common_ancestor,
    tree_of,
)


def dist_c(tree: Tree, one: str, other: str) -> float:
    """Return the distance of two leaves: the share of leaves below their common ancestor."""
    if one == other:
        return 0.0
    above = lowest_common_ancestor(tree, [one, other])
    return len(leaves_below(tree, above)) / len(leaves_below(tree, tree.root))


def furthest_from_all(free: list[int], sums: list[float]) -> int:
    """Return the free row furthest from all centres so far, the lowest of equals."""
    return max(free, key=lambda row: sums[row])


def ikac(table: Table, k: int, *, rng: Rng) -> list[int]:
    """Return the group of each row; groups are numbered in order of formation."""
    n = check_k(table, k)
    leaf_distances = {
        name: all_pairs(tree_of(column), dist_c)
        for name, column in categorical_columns(table).items()
    }
    return gather(table, k, below(rng, n), leaf_distances, furthest_from_all)
