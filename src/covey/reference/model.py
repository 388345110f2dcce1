"""What all methods share: columns, trees, the loss of a group of rows, and labels.

A table is a mapping from names to columns, and a row is its number, from 0. The loss of a group is
that of Byun et al. (2007): a row of the group loses, in each column, the range of the group's
numbers as a share of the whole range, or the height of the lowest common ancestor of the group's
leaves as a share of the height of the tree. Wang et al. (2022) count levels instead of heights,
Xu et al. (2006) and Iyengar (2002) count leaves; `Measure` names these four.

The papers assume that no cell is missing, that trees are balanced and that columns have more than
one value. Here a missing category is one more leaf under the root. A group of numbers of which
some are missing loses all, and a group of missing numbers loses nothing. A column with one value
loses nothing.

Nothing is stored: every number is computed again from the rows whenever it is needed.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Measure: TypeAlias = Literal["height", "level", "ncp", "lm"]

MISSING = "\x00missing"
HIDDEN_ROOT = "\x00root"


@dataclass(frozen=True)
class Numeric:
    """A column of numbers. None is a missing value; a domain replaces the range of the values.

    Values far from all others may lie outside the domain: together with others, they lose all.

    As a `wildcard`, a missing value is any value, and the row shows what the others have.
    """

    values: Sequence[float | None]
    weight: float = 1.0
    domain: tuple[float, float] | None = None
    wildcard: bool = False

    def __post_init__(self) -> None:
        """Refuse numbers that have no place in the range."""
        present = [v for v in self.values if v is not None]
        if not all(math.isfinite(v) for v in present):
            raise ValueError("a numeric value must be finite; a missing one is None")
        if self.domain is not None:
            lo, hi = self.domain
            if lo > hi:
                raise ValueError("a domain begins at its lower end")


@dataclass(frozen=True)
class Categorical:
    """A column of categories, which are leaves of a tree.

    `parent` maps every node but the root to its parent. Nodes under the same parent have the order
    in which they are listed. If it is empty, the tree is flat: all labels are under the root, in
    alphabetical order. `wildcard` has the same meaning as for numbers.
    """

    values: Sequence[str | None]
    parent: Mapping[str, str]
    weight: float = 1.0
    wildcard: bool = False

    def __post_init__(self) -> None:
        """Refuse a broken tree, and values that are not leaves of it."""
        tree = tree_of(self)
        leaves = leaves_below(tree, tree.root)
        for leaf in leaves_of_rows(self, range(len(self.values))):
            if leaf not in leaves:
                raise ValueError(f"{leaf!r} is not a leaf of the tree")


Column: TypeAlias = Numeric | Categorical
Table: TypeAlias = Mapping[str, Column]


# Trees


@dataclass(frozen=True)
class Tree:
    """A rooted tree: `parent` has every node but the root."""

    root: str
    parent: Mapping[str, str]


def flat_tree(labels: Iterable[str], root: str = HIDDEN_ROOT) -> dict[str, str]:
    """Return the parent map of the flat tree: a root with every label under it."""
    return dict.fromkeys(sorted(set(labels)), root)


def tree_of(column: Categorical) -> Tree:
    """Return the tree of the column, with a last leaf for "missing" if one is needed."""
    present = [v for v in column.values if v is not None]
    parent = dict(column.parent) or flat_tree(present)
    nodes = set(parent) | set(parent.values())
    if MISSING in nodes:
        raise ValueError(f"{MISSING!r} is reserved")
    roots = nodes - set(parent) if nodes else {HIDDEN_ROOT}
    if len(roots) != 1:
        raise ValueError(f"a tree has one root, not {len(roots)}")
    (root,) = roots
    if len(present) < len(column.values):
        parent[MISSING] = root
    tree = Tree(root, parent)
    for node in parent:
        ancestors(tree, node)
    return tree


def ancestors(tree: Tree, node: str) -> list[str]:
    """Return the path from the node, itself first, up to the root."""
    path = [node]
    while path[-1] != tree.root:
        path.append(tree.parent[path[-1]])
        if len(path) > len(tree.parent) + 1:
            raise ValueError(f"{node!r} is on a cycle")
    return path


def children(tree: Tree, node: str) -> list[str]:
    """Return the nodes directly under the node, in the order in which they are listed."""
    return [child for child, above in tree.parent.items() if above == node]


def is_leaf(tree: Tree, node: str) -> bool:
    """Tell whether the node is nobody's parent."""
    return not children(tree, node)


def leaves_below(tree: Tree, node: str) -> list[str]:
    """Return the leaves under the node, in the order of the tree; a leaf is its own only leaf."""
    below = children(tree, node)
    if not below:
        return [node]
    return [leaf for child in below for leaf in leaves_below(tree, child)]


def depth(tree: Tree, node: str) -> int:
    """Return the number of edges from the root down to the node."""
    return len(ancestors(tree, node)) - 1


def max_depth(tree: Tree) -> int:
    """Return the depth of the deepest leaf."""
    return max(depth(tree, leaf) for leaf in leaves_below(tree, tree.root))


def subheight(tree: Tree, node: str) -> int:
    """Return the longest path from the node down to a leaf; 0 for a leaf."""
    return max((1 + subheight(tree, child) for child in children(tree, node)), default=0)


def lowest_common_ancestor(tree: Tree, nodes: Sequence[str]) -> str:
    """Return the first ancestor of the first node that is an ancestor of every node."""
    paths = [ancestors(tree, node) for node in nodes]
    return next(node for node in paths[0] if all(node in path for path in paths))


# Losses


def ratio(part: float, whole: float) -> float:
    """Divide; 0/0 is 0."""
    return 0.0 if part == 0 and whole == 0 else part / whole


def node_loss(tree: Tree, node: str, measure: Measure) -> float:
    """Return the loss of publishing the node instead of a leaf."""
    leaves, all_leaves = len(leaves_below(tree, node)), len(leaves_below(tree, tree.root))
    if measure == "height":
        return ratio(subheight(tree, node), subheight(tree, tree.root))
    if measure == "lm":
        return ratio(leaves - 1, all_leaves - 1)
    if is_leaf(tree, node):
        return 0.0
    if measure == "ncp":
        return ratio(leaves, all_leaves)
    if measure == "level":
        return ratio(max_depth(tree) - depth(tree, node), max_depth(tree))
    raise ValueError(f"unknown measure {measure!r}")


def leaves_of_rows(column: Categorical, rows: Sequence[int]) -> list[str]:
    """Return the leaf of each of the rows, MISSING for None."""
    members = [column.values[row] for row in rows]
    return [MISSING if value is None else value for value in members]


def categorical_loss(column: Categorical, rows: Sequence[int], measure: Measure) -> float:
    """Return the loss of the lowest common ancestor of the rows."""
    tree = tree_of(column)
    leaves = leaves_of_rows(column, rows)
    if column.wildcard:
        leaves = [leaf for leaf in leaves if leaf != MISSING] or [MISSING]
    node = lowest_common_ancestor(tree, leaves)
    return node_loss(tree, node, measure)


def normalised(column: Numeric) -> list[float | None]:
    """Return `(v - lo) / (hi - lo)` for every present value, 0.0 if hi == lo."""
    present = [v for v in column.values if v is not None]
    if not present:
        return list(column.values)
    lo, hi = column.domain if column.domain is not None else (min(present), max(present))
    if hi == lo:
        return [None if v is None else 0.0 for v in column.values]
    return [None if v is None else (v - lo) / (hi - lo) for v in column.values]


def numeric_loss(column: Numeric, rows: Sequence[int]) -> float:
    """Return the normalised range, at most 1.0; 1.0 for missing mixed with present.

    A wildcard has no part in the range.
    """
    scaled = normalised(column)
    members = [scaled[row] for row in rows]
    present = [v for v in members if v is not None]
    if not present:
        return 0.0
    if len(present) < len(members) and not column.wildcard:
        return 1.0
    return min(max(present) - min(present), 1.0)


def column_loss(column: Column, rows: Sequence[int], measure: Measure) -> float:
    """Return the unweighted per-record loss of one attribute of a set of rows."""
    if not rows:
        raise ValueError("the empty set of rows has no loss")
    if isinstance(column, Numeric):
        return numeric_loss(column, rows)
    return categorical_loss(column, rows, measure)


# Tables


def numeric_columns(table: Table) -> dict[str, Numeric]:
    """Return the numeric columns by name."""
    columns = {name: table[name] for name in sorted(table)}
    return {name: column for name, column in columns.items() if isinstance(column, Numeric)}


def categorical_columns(table: Table) -> dict[str, Categorical]:
    """Return the categorical columns by name."""
    columns = {name: table[name] for name in sorted(table)}
    return {name: column for name, column in columns.items() if isinstance(column, Categorical)}


def attribute_order(table: Table) -> list[str]:
    """Return the order of every sum: numeric columns by name, then categorical ones by name.

    Floats that are added in another order may differ in the last bit, and then so may labels.
    """
    return [*numeric_columns(table), *categorical_columns(table)]


def row_count(table: Table) -> int:
    """Return n; columns of different lengths are an error."""
    lengths = {len(column.values) for column in table.values()}
    if len(lengths) > 1:
        raise ValueError("the columns have different lengths")
    return lengths.pop() if lengths else 0


def total_weight(table: Table) -> float:
    """Return the sum of the weights: the loss of a suppressed row."""
    total = 0.0
    for name in attribute_order(table):
        total += table[name].weight
    return total


def record_loss(table: Table, rows: Sequence[int], measure: Measure = "height") -> float:
    """Return L(e), what each row of the group e loses."""
    total = 0.0
    for name in attribute_order(table):
        total += table[name].weight * column_loss(table[name], rows, measure)
    return total


def group_loss(table: Table, rows: Sequence[int], measure: Measure = "height") -> float:
    """Return IL(e) = |e| L(e), what all rows of the group lose together."""
    return len(rows) * record_loss(table, rows, measure)


def rise(table: Table, group: Sequence[int], row: int, measure: Measure = "height") -> float:
    """Return IL(e + row) - IL(e), by how much one more row raises the loss of a group."""
    return group_loss(table, [*group, row], measure) - group_loss(table, group, measure)


# Groups


def check_k(table: Table, k: int) -> int:
    """Return the number of rows n; raise unless 1 <= k <= n."""
    n = row_count(table)
    if not 1 <= k <= n:
        raise ValueError(f"{n} rows cannot be {k}-anonymous")
    return n


def labels_of(groups: Sequence[Sequence[int]], n: int) -> list[int]:
    """Return the number of the group of each row; every row must be in exactly one."""
    if sorted(row for group in groups for row in group) != list(range(n)):
        raise ValueError("the groups are not a partition of the rows")
    label = {row: number for number, group in enumerate(groups) for row in group}
    return [label[row] for row in range(n)]
