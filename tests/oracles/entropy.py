"""The entropy family of a labelling (specification C6), cell by cell from its definitions.

The distribution p of a column is over its distinct values, of which missing is one; a cell stands
for the set B of values that it covers. Label -1 is a suppressed row, which covers every value.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias

from covey.reference.model import (
    MISSING,
    Column,
    Numeric,
    Table,
    attribute_order,
    leaves_below,
    leaves_of_rows,
    lowest_common_ancestor,
    ratio,
    row_count,
    total_weight,
    tree_of,
)

from .metrics import SUPPRESSED, check_lengths, groups_of

Kind: TypeAlias = Literal["entropy", "monotone", "non-uniform"]
Value: TypeAlias = float | str | None


def distribution(column: Column) -> dict[Value, float]:
    """Return the share of the rows that hold each value."""
    counts = Counter(column.values)
    return {value: count / len(column.values) for value, count in counts.items()}


def covered(column: Column, rows: Sequence[int]) -> set[Value]:
    """Return which of the column's values the common cell of the rows covers (0.2, C8)."""
    everything: set[Value] = set(column.values)
    if isinstance(column, Numeric):
        members = [column.values[row] for row in rows]
        present = [value for value in members if value is not None]
        if not present:
            return {None}
        if len(present) < len(members):
            return everything
        return {v for v in column.values if v is not None and min(present) <= v <= max(present)}
    tree = tree_of(column)
    node = lowest_common_ancestor(tree, leaves_of_rows(column, rows))
    leaves = leaves_below(tree, node)
    return {value for value in everything if (MISSING if value is None else value) in leaves}


def entropy_within(p: dict[Value, float], values: set[Value]) -> float:
    """Return H(X | X in B) in bits."""
    mass = sum(p[value] for value in values)
    return -sum(p[value] / mass * math.log2(p[value] / mass) for value in values)


def cell_bits(column: Column, row: int, values: set[Value], kind: Kind) -> float:
    """Return what the row's cell loses if it covers these values."""
    p = distribution(column)
    mass = sum(p[value] for value in values)
    if kind == "non-uniform":
        return -math.log2(p[column.values[row]] / mass)
    return entropy_within(p, values) * (mass if kind == "monotone" else 1.0)


def bits_per_row(table: Table, labels: Sequence[int], kind: Kind) -> float:
    """Return the weighted bits of all cells over the number of rows."""
    check_lengths(table, labels)
    suppressed = [row for row, label in enumerate(labels) if label == SUPPRESSED]
    total = 0.0
    for name in attribute_order(table):
        column = table[name]
        cells = [(row, covered(column, rows)) for rows in groups_of(labels) for row in rows]
        cells += [(row, set(column.values)) for row in suppressed]
        total += column.weight * sum(cell_bits(column, *cell, kind) for cell in cells)
    return total / row_count(table)


def all_bits(table: Table) -> float:
    """Return the weighted sum of H(X_j), which every member of the family is normalised by."""
    return sum(
        table[name].weight * entropy_within(distribution(table[name]), set(table[name].values))
        for name in attribute_order(table)
    )


def information_loss(table: Table, labels: Sequence[int]) -> float:
    """Return the mean of H(X_j | C) / H(X_j) over rows in groups, and 1 for each suppressed row."""
    check_lengths(table, labels)
    kept = [row for row, label in enumerate(labels) if label != SUPPRESSED]
    lost = 0.0
    for name in attribute_order(table):
        values = table[name].values
        within = sum(
            len(rows) / len(kept) * entropy([values[row] for row in rows])
            for rows in groups_of(labels)
        )
        whole = entropy([values[row] for row in kept])
        # Entropies of equal values are 0 up to rounding; 0/0 := 0.
        lost += table[name].weight * (ratio(within, whole) if whole > 1e-12 else 0.0)
    mean = lost / total_weight(table)
    return (len(kept) * mean + len(labels) - len(kept)) / len(labels)


def entropy(values: Sequence[Value]) -> float:
    """Return H of the values in bits."""
    return -sum(
        count / len(values) * math.log2(count / len(values)) for count in Counter(values).values()
    )
