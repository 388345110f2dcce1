"""Mondrian, strict and relaxed (specification B1)."""

from collections.abc import Sequence

from covey.reference.centres import LeafOrders, centre_of_row, check_k, sort_key
from covey.reference.k_member import labels_of
from covey.reference.model import (
    Categorical,
    Table,
    attribute_order,
    leaves_below,
    numeric_loss,
    tree_of,
)


def spread(table: Table, name: str, rows: Sequence[int], leaf_orders: LeafOrders) -> float:
    """Return the range of an attribute in a node, 0 ... 1."""
    column = table[name]
    if not isinstance(column, Categorical):
        return numeric_loss(column, rows)
    tree = tree_of(column)
    leaf_count = len(leaves_below(tree, tree.root))
    if leaf_count == 1:
        return 0.0
    places = [leaf_orders[name].index(centre_of_row(table, row).nodes[name]) for row in rows]
    return (max(places) - min(places)) / (leaf_count - 1)


def candidates(table: Table, rows: Sequence[int], leaf_orders: LeafOrders) -> list[str]:
    """Return the attributes that are not constant in the node, in the order of trying them."""
    order = attribute_order(table)

    def urgency(name: str) -> tuple[float, int, int]:
        values = {sort_key(table, name, row, leaf_orders) for row in rows}
        weighted = table[name].weight * spread(table, name, rows, leaf_orders)
        return (-weighted, -len(values), order.index(name))

    return sorted(
        (name for name in order if spread(table, name, rows, leaf_orders) > 0.0), key=urgency
    )


def strict_split(
    table: Table, k: int, rows: Sequence[int], leaf_orders: LeafOrders
) -> tuple[list[int], list[int]] | None:
    """Return the two sides of the first cut at a median that leaves k rows on both."""
    for name in candidates(table, rows, leaf_orders):
        value = {row: sort_key(table, name, row, leaf_orders) for row in rows}
        median = sorted(value.values())[(len(rows) - 1) // 2]
        up_to = [row for row in rows if value[row] <= median]
        above = [row for row in rows if value[row] > median]
        if len(up_to) >= k and len(above) >= k:
            return up_to, above
        under = [row for row in rows if value[row] < median]
        from_it = [row for row in rows if value[row] >= median]
        if len(under) >= k and len(from_it) >= k:
            return under, from_it
    return None


def relaxed_split(
    table: Table, k: int, rows: Sequence[int], leaf_orders: LeafOrders
) -> tuple[list[int], list[int]] | None:
    """Return the lower and the upper half of the rows by the first attribute."""
    names = candidates(table, rows, leaf_orders)
    if len(rows) < 2 * k or not names:
        return None
    ordered = sorted(rows, key=lambda row: (sort_key(table, names[0], row, leaf_orders), row))
    half = len(rows) // 2
    return ordered[:half], ordered[half:]


def mondrian(table: Table, k: int, *, leaf_orders: LeafOrders, relaxed: bool = False) -> list[int]:
    """Return the group of each row; groups are numbered depth first, left side first."""
    n = check_k(table, k)
    split = relaxed_split if relaxed else strict_split

    def groups_in(rows: list[int]) -> list[list[int]]:
        sides = split(table, k, rows, leaf_orders)
        if sides is None:
            return [rows]
        left, right = sides
        return groups_in(left) + groups_in(right)

    return labels_of(groups_in(list(range(n))), n)
