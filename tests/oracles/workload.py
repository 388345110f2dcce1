"""Counts over a labelling by brute force (specification C7): row by row, cell by cell.

A query has a condition for each of some columns: the lowest and the highest number, or a set of
leaves. Label -1 is a suppressed row, which is not in the release.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from covey.reference.model import (
    MISSING,
    Categorical,
    Column,
    Numeric,
    Table,
    leaves_below,
    leaves_of_rows,
    lowest_common_ancestor,
    row_count,
    tree_of,
)

from .metrics import groups_of

Condition: TypeAlias = tuple[float, float] | frozenset[str]
Query: TypeAlias = Mapping[str, Condition]


def holds(column: Column, row: int, condition: Condition) -> bool:
    """Tell whether the original row fulfils the condition."""
    value = column.values[row]
    if isinstance(condition, frozenset):
        return (MISSING if value is None else value) in condition
    assert isinstance(column, Numeric)
    number = column.values[row]
    return number is not None and condition[0] <= number <= condition[1]


def true_count(table: Table, query: Query) -> int:
    """Return how many original rows fulfil every condition."""
    return sum(
        all(holds(table[name], row, condition) for name, condition in query.items())
        for row in range(row_count(table))
    )


def share(column: Column, rows: Sequence[int], condition: Condition) -> float:
    """Return which share of what the common cell of the rows covers fulfils the condition."""
    if isinstance(column, Categorical):
        assert isinstance(condition, frozenset)
        tree = tree_of(column)
        leaves = leaves_below(tree, lowest_common_ancestor(tree, leaves_of_rows(column, rows)))
        return sum(leaf in condition for leaf in leaves) / len(leaves)
    assert not isinstance(condition, frozenset)
    members = [column.values[row] for row in rows]
    numbers = [value for value in members if value is not None]
    if not numbers:
        return 0.0
    low, high = min(numbers), max(numbers)
    if len(numbers) < len(members):
        present = [value for value in column.values if value is not None]
        low, high = column.domain or (min(present), max(present))
    return share_of_interval(column, low, high, condition)


def share_of_interval(
    column: Numeric, low: float, high: float, condition: tuple[float, float]
) -> float:
    """Count whole numbers if the column has no others; compare lengths if it has."""
    inner = max(low, condition[0]), min(high, condition[1])
    if all(value is None or value == int(value) for value in column.values):
        return max(whole_numbers(*inner), 0) / whole_numbers(low, high)
    if inner[0] > inner[1]:
        return 0.0
    return (inner[1] - inner[0]) / (high - low) if low < high else 1.0


def whole_numbers(low: float, high: float) -> int:
    """Return how many whole numbers there are from low to high, less than 1 if there is none."""
    return math.floor(high) - math.ceil(low) + 1


def estimate(table: Table, labels: Sequence[int], query: Query) -> float:
    """Return the expected count if every cell is equally likely to be any value it covers."""
    return sum(
        len(rows) * math.prod(share(table[name], rows, ends) for name, ends in query.items())
        for rows in groups_of(labels)
    )


def errors(table: Table, labels: Sequence[int], queries: Sequence[Query]) -> tuple[float, float]:
    """Return the median and the mean of the relative errors, with a bound of a thousandth."""
    least = row_count(table) / 1000
    found = []
    for query in queries:
        true = true_count(table, query)
        found.append(abs(estimate(table, labels, query) - true) / max(true, least))
    return statistics.median(found), statistics.fmean(found)
