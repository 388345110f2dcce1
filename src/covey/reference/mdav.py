"""MDAV-generic: group the rows furthest from the average row with their nearest rows.

Domingo-Ferrer, Torra: Ordinal, continuous and heterogeneous k-anonymity through microaggregation,
Data Mining and Knowledge Discovery 2005.

The steps follow the usual descriptions of the method. What these leave open, covey decides: the
standard deviation divides by the number of values minus one; all categories are nominal, 0 or 1
apart, with the most frequent one as average, the first in the tree of equals; a missing number is
as far from present ones as two of these can be. The sums behind the averages are updated as rows
leave, in that order. The paper releases averages; covey shows intervals and ancestors, as for all
methods.

Cost: O(n²) distances as written here, for all places of a group; O(n²/k) for its first rows alone.
"""

import math
from collections.abc import Mapping, Sequence

from covey.reference.centres import Centre, centre_of_row, leaf_order, mode
from covey.reference.model import (
    Table,
    categorical_columns,
    check_k,
    labels_of,
    normalised,
    numeric_columns,
    row_count,
)

# Standardised numbers


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
    """Return the range of the standardised numbers, 1.0 where there is none or it is 0."""
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


def points_of(table: Table) -> list[Centre]:
    """Return each row as a point: standardised numbers, and leaves."""
    columns = numeric_columns(table)
    scores = {name: standardised(normalised(column)) for name, column in columns.items()}
    return [
        Centre({name: scores[name][row] for name in scores}, centre_of_row(table, row).nodes)
        for row in range(row_count(table))
    ]


def distance(table: Table, one: Centre, other: Centre, bounds: Mapping[str, float]) -> float:
    """Return the weighted sum of squared gaps of numbers, and of 1 for each other category."""
    total = 0.0
    for name, numbers in numeric_columns(table).items():
        gap = squared_gap(one.numbers[name], other.numbers[name], bounds[name])
        total += numbers.weight * gap
    for name, leaves in categorical_columns(table).items():
        total += leaves.weight * (0.0 if one.nodes[name] == other.nodes[name] else 1.0)
    return total


# The average row


def average_number(
    points: Sequence[Centre], name: str, remaining: Sequence[int], gone: Sequence[int]
) -> float | None:
    """Return the mean of the remaining rows: the sum of all rows, less those that are gone.

    This is not the same float as a fresh sum.
    """
    total = 0.0
    for point in points:
        total += point.numbers[name] or 0.0
    for row in gone:
        total -= points[row].numbers[name] or 0.0
    count = sum(1 for row in remaining if points[row].numbers[name] is not None)
    return total / count if count > 0 else None


def average_point(
    table: Table, points: Sequence[Centre], remaining: Sequence[int], gone: Sequence[int]
) -> Centre:
    """Return the average of the remaining rows: means and most frequent categories."""
    return Centre(
        {name: average_number(points, name, remaining, gone) for name in numeric_columns(table)},
        {
            name: mode([points[row].nodes[name] for row in remaining], leaf_order(column))
            for name, column in categorical_columns(table).items()
        },
    )


# The method


def mdav(table: Table, k: int) -> list[int]:
    """Return the group of each row; groups are numbered in order of formation."""
    n = check_k(table, k)
    points = points_of(table)
    bounds = {name: widest([p.numbers[name] for p in points]) for name in numeric_columns(table)}
    remaining = list(range(n))  # always ascending, so that min and max pick the lowest of equals
    gone: list[int] = []  # in the order of leaving

    def furthest(point: Centre) -> int:
        return max(remaining, key=lambda row: distance(table, points[row], point, bounds))

    def nearest(point: Centre) -> int:
        return min(remaining, key=lambda row: distance(table, points[row], point, bounds))

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
        r = furthest(average_point(table, points, remaining, gone))
        groups.append(group_around(r))
        s = furthest(points[r])
        groups.append(group_around(s))
    if len(remaining) >= 2 * k:
        r = furthest(average_point(table, points, remaining, gone))
        groups.append(group_around(r))
    groups.append(remaining)
    return labels_of(groups, n)
