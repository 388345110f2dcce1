"""MDAV-generic (specification B5)."""

import math
from collections.abc import Sequence

from covey.reference.centres import (
    Centre,
    LeafOrders,
    categorical_columns,
    centre_of_row,
    check_k,
    mode,
    numeric_columns,
)
from covey.reference.k_member import labels_of
from covey.reference.model import Table, normalised


def standardised(numbers: Sequence[float | None]) -> list[float | None]:
    """Return `(x - mean) / sd` of the present numbers, all 0.0 where there is no spread."""
    present = [x for x in numbers if x is not None]
    if len(present) < 2:
        return [None if x is None else 0.0 for x in numbers]
    average = math.fsum(present) / len(present)
    sd = math.sqrt(math.fsum((x - average) * (x - average) for x in present) / (len(present) - 1))
    if sd == 0:
        return [None if x is None else 0.0 for x in numbers]
    return [None if x is None else (x - average) / sd for x in numbers]


def widest(scores: Sequence[float | None]) -> float:
    """Return the range R of the standardised numbers, 1.0 where it is none or 0."""
    present = [z for z in scores if z is not None]
    if not present or max(present) == min(present):
        return 1.0
    return max(present) - min(present)


def squared_gap(one: float | None, other: float | None, bound: float) -> float:
    """Return the squared difference, at most bound squared, which a missing number costs too."""
    if one is None and other is None:
        return 0.0
    if one is None or other is None:
        return bound * bound
    return min((one - other) * (one - other), bound * bound)


def mdav(table: Table, k: int, *, leaf_orders: LeafOrders) -> list[int]:
    """Return the group of each row; groups are numbered in order of formation."""
    n = check_k(table, k)
    scores = {
        name: standardised(normalised(column)) for name, column in numeric_columns(table).items()
    }
    leaves = [centre_of_row(table, row).nodes for row in range(n)]
    points = [Centre({name: scores[name][row] for name in scores}, leaves[row]) for row in range(n)]

    def distance(one: Centre, other: Centre) -> float:
        total = 0.0
        for name, number_column in numeric_columns(table).items():
            bound = widest(scores[name])
            total += number_column.weight * squared_gap(
                one.numbers[name], other.numbers[name], bound
            )
        for name, leaf_column in categorical_columns(table).items():
            total += leaf_column.weight * (0.0 if one.nodes[name] == other.nodes[name] else 1.0)
        return total

    remaining = list(range(n))  # always ascending, so that min and max pick the lowest of equals
    gone: list[int] = []  # in the order of leaving

    def average_number(name: str) -> float | None:
        # The sum of all rows, less those that left: not the same float as a fresh sum.
        total = 0.0
        for z in scores[name]:
            total += 0.0 if z is None else z
        for row in gone:
            z = scores[name][row]
            total -= 0.0 if z is None else z
        count = sum(1 for row in remaining if scores[name][row] is not None)
        return total / count if count > 0 else None

    def average_point() -> Centre:
        return Centre(
            {name: average_number(name) for name in scores},
            {
                name: mode([points[row].nodes[name] for row in remaining], leaf_orders[name])
                for name in categorical_columns(table)
            },
        )

    def furthest(point: Centre) -> int:
        return max(remaining, key=lambda row: distance(points[row], point))

    def nearest(point: Centre) -> int:
        return min(remaining, key=lambda row: distance(points[row], point))

    def leave(row: int) -> int:
        remaining.remove(row)
        gone.append(row)
        return row

    def group_around(row: int) -> list[int]:
        group = [leave(row)]
        while len(group) < k:
            group.append(leave(nearest(points[row])))
        return group

    groups: list[list[int]] = []
    while len(remaining) >= 3 * k:
        r = furthest(average_point())
        groups.append(group_around(r))
        s = furthest(points[r])
        groups.append(group_around(s))
    if len(remaining) >= 2 * k:
        groups.append(group_around(furthest(average_point())))
    groups.append(list(remaining))
    return labels_of(groups, n)
