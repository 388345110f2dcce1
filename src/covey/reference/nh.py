"""NH, non-homogeneous generalisation: arrange rows in rings, show each with k neighbours.

Wong, Mamoulis, Cheung: Non-homogeneous generalization in privacy preserving data publishing, SIGMOD
2010.

This is not k-anonymity: released rows need not be equal. Instead there are k disjoint ways to pair
all people with all released rows.

The text of the paper was not available. The steps come from descriptions by others: partition from
the top down, rings, k neighbours, and a random assignment. covey decides what these leave open. A
split starts from two far rows, found in three steps from a random row. A ring has k to 2k-1 rows
and goes from each row to the nearest one. One random shift per ring hides which of its k rows a
released row stands for. One report gives a group size of 1, which cannot be meant.

Cost: O(n log(n/k) + nk) evaluations of the loss for even splits, O(n²/k) at worst.
"""

from collections.abc import Sequence

from covey.reference.draws import Rng, below, shuffle
from covey.reference.model import Measure, Table, check_k, labels_of, record_loss, rise


def furthest(table: Table, row: int, group: Sequence[int], measure: Measure) -> int:
    """Return the other row of the group furthest from the row, the lowest of equals."""
    others = [other for other in sorted(group) if other != row]
    return max(others, key=lambda other: record_loss(table, [row, other], measure))


def repair(
    table: Table, short: list[int], other: list[int], k: int, measure: Measure
) -> tuple[list[int], list[int]]:
    """Move the rows nearest to the short group, as it is, from the other until it has k."""
    nearest = sorted(other, key=lambda row: (record_loss(table, [*short, row], measure), row))
    moved = nearest[: max(k - len(short), 0)]
    return sorted(short + moved), sorted(row for row in other if row not in moved)


def split(
    table: Table, group: list[int], k: int, rng: Rng, measure: Measure
) -> tuple[list[int], list[int]]:
    """Return two groups, ascending, grown from two rows far apart."""
    start = group[below(rng, len(group))]
    one = furthest(table, start, group, measure)
    two = furthest(table, one, group, measure)
    three = furthest(table, two, group, measure)
    first, second = [two], [three]
    for row in shuffle(rng, [row for row in group if row not in (two, three)]):
        to_first = rise(table, first, row, measure)
        to_second = rise(table, second, row, measure)
        if to_first == to_second:
            home = second if len(second) < len(first) else first
        else:
            home = first if to_first < to_second else second
        home.append(row)
    first, second = repair(table, first, second, k, measure)
    second, first = repair(table, second, first, k, measure)
    return first, second


def final_groups(
    table: Table, group: list[int], k: int, rng: Rng, measure: Measure
) -> list[list[int]]:
    """Return the groups of fewer than 2k rows that splitting ends with, depth first."""
    if len(group) < 2 * k:
        return [group]
    first, second = split(table, group, k, rng, measure)
    left = final_groups(table, first, k, rng, measure)
    return left + final_groups(table, second, k, rng, measure)


def tour(table: Table, group: Sequence[int], measure: Measure) -> list[int]:
    """Return the rows from the lowest on, always going to the nearest one not yet visited."""
    left = sorted(group)
    path = [left.pop(0)]
    while left:
        nearest = min(left, key=lambda row: record_loss(table, [path[-1], row], measure))
        left.remove(nearest)
        path.append(nearest)
    return path


def nh(
    table: Table, k: int, *, rng: Rng, measure: Measure = "height"
) -> tuple[list[int], list[list[int]]]:
    """Return the ring of each row, and the k rows that each row is shown with."""
    n = check_k(table, k)
    groups = final_groups(table, list(range(n)), k, rng, measure)
    members: dict[int, list[int]] = {}
    for group in groups:
        ring = tour(table, group, measure)
        shift = below(rng, k)
        for place, row in enumerate(ring):
            places = range(place - shift, place - shift + k)
            members[row] = [ring[p % len(ring)] for p in places]
    return labels_of(groups, n), [members[row] for row in range(n)]
