"""KACA: start with classes of equal rows, and merge those that are too small.

Li, Wong, Fu, Pei: Achieving k-anonymity by clustering in attribute hierarchical structures, DaWaK
2006.

Only the abstract of the paper was available. The rest comes from how the method is usually
described: a random class of fewer than k rows merges with the nearest class; a step from depth d to
depth d-1 weighs 1/d^beta; a class counts by its rows. These descriptions leave some questions open.
In a tree whose leaves are not equally deep, covey measures steps against those from the deepest
leaf. The step of a number is the growth of its interval. A missing cell equals another one, and
lies directly under the root. Of equally near classes, covey takes the one with the lowest row.

Cost: O(E²) distances for E different rows.
"""

from collections.abc import Sequence

from covey.reference.draws import Rng, below
from covey.reference.model import (
    Categorical,
    Column,
    Table,
    attribute_order,
    check_k,
    depth,
    labels_of,
    leaves_of_rows,
    lowest_common_ancestor,
    max_depth,
    normalised,
    numeric_loss,
    row_count,
    tree_of,
)


def equal_classes(table: Table) -> list[list[int]]:
    """Return the classes of rows that are equal in every column, by their lowest row.

    Numbers are compared after normalising, as everywhere else.
    """
    columns = [table[name] for name in attribute_order(table)]
    cells = [c.values if isinstance(c, Categorical) else normalised(c) for c in columns]
    classes: dict[tuple[object, ...], list[int]] = {}
    for row in range(row_count(table)):
        classes.setdefault(tuple(column[row] for column in cells), []).append(row)
    return sorted(classes.values())


def climbed(depth_before: int, depth_after: int, height: int, beta: float) -> float:
    """Return the weighted share of the steps climbed; a step up from depth i weighs i ** -beta."""
    cumulated = [0.0]
    for level in range(1, height + 1):
        cumulated.append(cumulated[-1] + level**-beta)
    if height == 0:
        return 0.0
    return (cumulated[depth_before] - cumulated[depth_after]) / cumulated[height]


def step(column: Column, rows: Sequence[int], union: Sequence[int], beta: float) -> float:
    """Return how far one attribute of the rows is generalised further by the union."""
    if not isinstance(column, Categorical):
        return numeric_loss(column, union) - numeric_loss(column, rows)
    tree = tree_of(column)
    before = lowest_common_ancestor(tree, leaves_of_rows(column, rows))
    after = lowest_common_ancestor(tree, leaves_of_rows(column, union))
    return climbed(depth(tree, before), depth(tree, after), max_depth(tree), beta)


def distortion(table: Table, rows: Sequence[int], union: Sequence[int], beta: float) -> float:
    """Return the weighted steps of one row on its way to the union."""
    total = 0.0
    for name in attribute_order(table):
        total += table[name].weight * step(table[name], rows, union, beta)
    return total


def distance(table: Table, one: Sequence[int], other: Sequence[int], beta: float) -> float:
    """Return the distortion of all rows of two classes if they merge."""
    union = [*one, *other]
    of_one = len(one) * distortion(table, one, union, beta)
    return of_one + len(other) * distortion(table, other, union, beta)


def kaca(table: Table, k: int, *, rng: Rng, beta: float = 1.0) -> list[int]:
    """Return the class of each row; classes are numbered by their lowest row."""
    n = check_k(table, k)
    classes = equal_classes(table)  # always ascending by lowest row, so min takes the lowest
    while True:
        small = [rows for rows in classes if len(rows) < k]
        if not small:
            return labels_of(classes, n)
        one = small[below(rng, len(small))]
        others = [rows for rows in classes if rows is not one]
        other = min(others, key=lambda rows: distance(table, one, rows, beta))
        classes = [rows for rows in others if rows is not other]
        classes.append(sorted(one + other))
        classes.sort()
