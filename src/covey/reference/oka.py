"""One-pass k-means, OKA (specification B3)."""

from collections.abc import Sequence

from covey.reference.centres import (
    Centre,
    Rng,
    categorical_columns,
    centre_of_row,
    check_k,
    distance,
    mean,
    numeric_columns,
    shuffle,
)
from covey.reference.k_member import labels_of
from covey.reference.model import Measure, Table, lowest_common_ancestor, tree_of


def running_centre(table: Table, members: Sequence[int]) -> Centre:
    """Return the means, summed in the order of joining, and the lowest common ancestors."""
    points = [centre_of_row(table, row) for row in members]
    return Centre(
        {name: mean([p.numbers[name] for p in points]) for name in numeric_columns(table)},
        {
            name: lowest_common_ancestor(tree_of(column), [p.nodes[name] for p in points])
            for name, column in categorical_columns(table).items()
        },
    )


def oka(table: Table, k: int, *, rng: Rng, measure: Measure = "height") -> list[int]:
    """Return the group of each row; groups are numbered in the order of their first rows."""
    n = check_k(table, k)
    order = shuffle(rng, range(n))
    count = n // k

    groups = [[row] for row in order[:count]]
    centres = [running_centre(table, group) for group in groups]
    for row in order[count:]:
        home = min(range(count), key=lambda g: distance(table, row, centres[g], measure))
        groups[home].append(row)
        centres[home] = running_centre(table, groups[home])

    given_up: list[int] = []
    for g, group in enumerate(groups):
        outermost = sorted(group, key=lambda row: (-distance(table, row, centres[g], measure), row))
        for row in outermost[: max(len(group) - k, 0)]:
            group.remove(row)
            given_up.append(row)

    for row in given_up:
        wanting = [g for g in range(count) if len(groups[g]) < k]
        home = min(wanting or range(count), key=lambda g: distance(table, row, centres[g], measure))
        groups[home].append(row)

    return labels_of(groups, n)
