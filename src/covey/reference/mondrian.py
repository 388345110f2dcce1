"""Mondrian: cut the widest column at its median, again and again.

LeFevre, DeWitt, Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006.

The steps follow the usual descriptions of the method, strict and relaxed. What these leave open,
covey decides: the lower of two medians counts; if a cut above the median leaves too few rows, the
cut below it is tried before the next column; of equally wide columns the one with more different
values comes first; categories are cut in the order of the leaves of their tree; a missing cell is a
value after all others. A group shows what its rows have in common, not the region that it was cut
from.

Cost: O(n log n) comparisons for even cuts. (Here values are looked up in whole columns each time.)
"""

from collections.abc import Sequence

from covey.reference.centres import leaf_order, sort_key
from covey.reference.model import (
    Categorical,
    Table,
    attribute_order,
    check_k,
    labels_of,
    leaves_of_rows,
    numeric_loss,
)


def spread(table: Table, name: str, rows: Sequence[int]) -> float:
    """Return the range of an attribute in a part of the table, 0 ... 1."""
    column = table[name]
    if not isinstance(column, Categorical):
        return numeric_loss(column, rows)
    order = leaf_order(column)
    if len(order) == 1:
        return 0.0
    places = [order.index(leaf) for leaf in leaves_of_rows(column, rows)]
    return (max(places) - min(places)) / (len(order) - 1)


def candidates(table: Table, rows: Sequence[int]) -> list[str]:
    """Return the attributes with more than one value, in the order in which they are tried."""
    order = attribute_order(table)

    def urgency(name: str) -> tuple[float, int, int]:
        values = {sort_key(table, name, row) for row in rows}
        weighted = table[name].weight * spread(table, name, rows)
        return (-weighted, -len(values), order.index(name))

    return sorted((name for name in order if spread(table, name, rows) > 0.0), key=urgency)


def strict_split(table: Table, k: int, rows: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """Return the two sides of the first cut at a median that leaves k rows on both."""
    for name in candidates(table, rows):
        value = {row: sort_key(table, name, row) for row in rows}
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


def relaxed_split(table: Table, k: int, rows: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """Return the lower and the upper half of the rows by the first attribute."""
    names = candidates(table, rows)
    if len(rows) < 2 * k or not names:
        return None
    ordered = sorted(rows, key=lambda row: (sort_key(table, names[0], row), row))
    half = len(rows) // 2
    return ordered[:half], ordered[half:]


def mondrian(table: Table, k: int, *, relaxed: bool = False) -> list[int]:
    """Return the group of each row; groups are numbered depth first, left side first."""
    n = check_k(table, k)
    split = relaxed_split if relaxed else strict_split

    def groups_in(rows: list[int]) -> list[list[int]]:
        sides = split(table, k, rows)
        if sides is None:
            return [rows]
        left, right = sides
        return groups_in(left) + groups_in(right)

    return labels_of(groups_in(list(range(n))), n)
