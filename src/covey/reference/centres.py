"""What some methods share: points such as the centre of a group, distances to them, and orders.

A centre has a number (or None, missing) for each numeric column, and a node of the tree for each
categorical one. The values of a row are a centre too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from covey.reference.model import (
    Categorical,
    Measure,
    Table,
    attribute_order,
    categorical_columns,
    leaves_below,
    leaves_of_rows,
    lowest_common_ancestor,
    node_loss,
    normalised,
    numeric_columns,
    tree_of,
)


@dataclass(frozen=True)
class Centre:
    """A point: a normalised number or None by numeric column, a node by categorical column."""

    numbers: Mapping[str, float | None]
    nodes: Mapping[str, str]


def centre_of_row(table: Table, row: int) -> Centre:
    """Return the values of the row: normalised numbers, and leaves."""
    return Centre(
        {name: normalised(column)[row] for name, column in numeric_columns(table).items()},
        {
            name: leaves_of_rows(column, [row])[0]
            for name, column in categorical_columns(table).items()
        },
    )


# Distances


def gap(one: float | None, other: float | None) -> float:
    """Return the distance of two normalised numbers, None being a missing one."""
    if one is None and other is None:
        return 0.0
    if one is None or other is None:
        return 1.0
    return min(abs(one - other), 1.0)


def attribute_distances(
    table: Table, one: Centre, other: Centre, measure: Measure = "height"
) -> dict[str, float]:
    """Return the unweighted distance of two centres in each attribute, in attribute order."""
    distances: dict[str, float] = {}
    for name in numeric_columns(table):
        distances[name] = gap(one.numbers[name], other.numbers[name])
    for name, column in categorical_columns(table).items():
        tree = tree_of(column)
        node = lowest_common_ancestor(tree, [one.nodes[name], other.nodes[name]])
        distances[name] = node_loss(tree, node, measure)
    return distances


def distance(table: Table, row: int, centre: Centre, measure: Measure = "height") -> float:
    """Return d(r, c), the weighted sum of the attribute distances."""
    total = 0.0
    parts = attribute_distances(table, centre_of_row(table, row), centre, measure)
    for name in attribute_order(table):
        total += table[name].weight * parts[name]
    return total


# Means and modes


def mean(numbers: Sequence[float | None]) -> float | None:
    """Return the mean of the present numbers, summed in their order; None if there is none."""
    total, count = 0.0, 0
    for number in numbers:
        if number is not None:
            total += number
            count += 1
    return total / count if count > 0 else None


def leaf_order(column: Categorical) -> list[str]:
    """Return all leaves of the column's tree in its order, MISSING last if cells are missing."""
    tree = tree_of(column)
    return leaves_below(tree, tree.root)


def mode(leaves: Sequence[str], leaf_order: Sequence[str]) -> str:
    """Return the most frequent leaf, of equals the one that comes first in the leaf order."""
    return max(leaf_order, key=leaves.count)


def centre_of_rows(table: Table, rows: Sequence[int]) -> Centre:
    """Return the means, summed in the order of the rows, and the modes of the rows."""
    points = [centre_of_row(table, row) for row in rows]
    return Centre(
        {name: mean([p.numbers[name] for p in points]) for name in numeric_columns(table)},
        {
            name: mode([p.nodes[name] for p in points], leaf_order(column))
            for name, column in categorical_columns(table).items()
        },
    )


# Orders


def sort_key(table: Table, name: str, row: int) -> tuple[int, float]:
    """Return what puts rows in order by one column: missing numbers last, leaves by place."""
    column = table[name]
    if isinstance(column, Categorical):
        return (0, leaf_order(column).index(leaves_of_rows(column, [row])[0]))
    number = normalised(column)[row]
    return (1, 0.0) if number is None else (0, number)


def lexicographic(table: Table, rows: Sequence[int]) -> list[int]:
    """Return the rows in order by all columns in attribute order, then by row number."""
    return sorted(
        rows,
        key=lambda row: ([sort_key(table, name, row) for name in attribute_order(table)], row),
    )
