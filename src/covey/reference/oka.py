"""OKA, one-pass k-means: give each row to the nearest of n/k groups, then adjust their sizes.

Lin, Wei: An efficient clustering method for k-anonymization, PAIS 2008.

The text of the paper was not available. The steps come from its abstract and from other programs of
the same name. They leave open in which order rows come (covey: random), in which order rows leave
groups that are too large (group by group, the furthest first), and which of equals is taken (the
group started first, the lowest row). A centre has the lowest common ancestor of all categories so
far, so it can only rise, and no centre moves while sizes are adjusted. If no group lacks rows, a
row joins the nearest of all groups, which may be the one it has left.

Cost: O(n²/k) distances.
"""

from collections.abc import Sequence

from covey.reference.centres import Centre, centre_of_row, distance, mean
from covey.reference.draws import Rng, shuffle
from covey.reference.model import (
    Measure,
    Table,
    categorical_columns,
    check_k,
    labels_of,
    lowest_common_ancestor,
    numeric_columns,
    tree_of,
)


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
