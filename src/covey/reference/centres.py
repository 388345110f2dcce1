"""What the methods share: centres, distances to them, draws and orders.

A centre has a number (or None, missing) for each numeric column, and a node of the tree for each
categorical one. The values of a row are a centre too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from covey.reference.model import (
    Categorical,
    Measure,
    Numeric,
    Table,
    attribute_order,
    leaves_of_rows,
    lowest_common_ancestor,
    node_loss,
    normalised,
    record_loss,
    row_count,
    tree_of,
)

# For each categorical column all leaves of its tree in order, MISSING last if cells are missing.
LeafOrders: TypeAlias = Mapping[str, Sequence[str]]

Item = TypeVar("Item")


class Rng(Protocol):
    """The only thing that is ever asked of a random generator; numpy's has it."""

    def random(self) -> float:
        """Return a number in [0, 1)."""


@dataclass(frozen=True)
class Centre:
    """A point: a normalised number or None by numeric column, a node by categorical column."""

    numbers: Mapping[str, float | None]
    nodes: Mapping[str, str]


# Columns and cells


def numeric_columns(table: Table) -> dict[str, Numeric]:
    """Return the numeric columns in attribute order."""
    columns = {name: table[name] for name in attribute_order(table)}
    return {name: column for name, column in columns.items() if isinstance(column, Numeric)}


def categorical_columns(table: Table) -> dict[str, Categorical]:
    """Return the categorical columns in attribute order."""
    columns = {name: table[name] for name in attribute_order(table)}
    return {name: column for name, column in columns.items() if isinstance(column, Categorical)}


def centre_of_row(table: Table, row: int) -> Centre:
    """Return the values of the row: normalised numbers, and leaves."""
    return Centre(
        {name: normalised(column)[row] for name, column in numeric_columns(table).items()},
        {
            name: leaves_of_rows(column, [row])[0]
            for name, column in categorical_columns(table).items()
        },
    )


def check_k(table: Table, k: int) -> int:
    """Return the number of rows n; raise unless 1 <= k <= n."""
    n = row_count(table)
    if not 1 <= k <= n:
        raise ValueError(f"{n} rows cannot be {k}-anonymous")
    return n


# Distances and losses


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


def rise(table: Table, group: Sequence[int], row: int, measure: Measure = "height") -> float:
    """Return the growth (|c| + 1) * L(c + x) - |c| * L(c) of the loss of the group."""
    size = len(group)
    after = (size + 1) * record_loss(table, [*group, row], measure)
    return after - size * record_loss(table, group, measure)


# Means and modes


def mean(numbers: Sequence[float | None]) -> float | None:
    """Return the mean of the present numbers, summed in their order; None if there is none."""
    total, count = 0.0, 0
    for number in numbers:
        if number is not None:
            total += number
            count += 1
    return total / count if count > 0 else None


def mode(leaves: Sequence[str], leaf_order: Sequence[str]) -> str:
    """Return the most frequent leaf, of equals the one that comes first in the leaf order."""
    return max(leaf_order, key=leaves.count)


def centre_of_rows(table: Table, rows: Sequence[int], leaf_orders: LeafOrders) -> Centre:
    """Return the means, summed in the order of the rows, and the modes of the rows."""
    points = [centre_of_row(table, row) for row in rows]
    return Centre(
        {name: mean([p.numbers[name] for p in points]) for name in numeric_columns(table)},
        {
            name: mode([p.nodes[name] for p in points], leaf_orders[name])
            for name in categorical_columns(table)
        },
    )


# Orders


def sort_key(table: Table, name: str, row: int, leaf_orders: LeafOrders) -> tuple[int, float]:
    """Return what puts rows in order by one column: missing numbers last, leaves by place."""
    point = centre_of_row(table, row)
    if name in point.nodes:
        return (0, leaf_orders[name].index(point.nodes[name]))
    number = point.numbers[name]
    return (1, 0.0) if number is None else (0, number)


def lexicographic(table: Table, rows: Sequence[int], leaf_orders: LeafOrders) -> list[int]:
    """Return the rows in order by all columns in attribute order, then by row number."""
    return sorted(
        rows,
        key=lambda row: (
            [sort_key(table, name, row, leaf_orders) for name in attribute_order(table)],
            row,
        ),
    )


# Draws


def below(rng: Rng, m: int) -> int:
    """Draw one of 0 ... m-1."""
    return int(rng.random() * m)


def shuffle(rng: Rng, items: Sequence[Item]) -> list[Item]:
    """Return the items in a random order: from the last place down, each swaps with a drawn one."""
    mixed = list(items)
    for i in range(len(mixed) - 1, 0, -1):
        j = below(rng, i + 1)
        mixed[i], mixed[j] = mixed[j], mixed[i]
    return mixed
