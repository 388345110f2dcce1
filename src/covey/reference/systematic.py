"""Systematic clustering: grow groups from every k-th row of the sorted table.

Kabir, Wang, Bertino: Efficient systematic clustering method for k-anonymization, Acta Informatica
2011.

The text of the paper was not available. The steps come from its abstract and from descriptions by
others: sort the table, take a random one of the first k rows and every k-th row after it as seeds,
and let each seed take the rows that add least loss. covey sorts by all columns, reserves all seeds
before the first group grows, and puts each row left over into the group whose loss it raises least.
The abstract states O(n²/k); with this way of growing it is O(n²).

Cost: O(n²) evaluations of the loss.
"""

from covey.reference.centres import lexicographic
from covey.reference.draws import Rng, below
from covey.reference.model import Measure, Table, check_k, labels_of, record_loss, rise


def systematic(table: Table, k: int, *, rng: Rng, measure: Measure = "height") -> list[int]:
    """Return the group of each row; groups are numbered in the order of their seeds."""
    n = check_k(table, k)
    start = below(rng, k)
    seeds = lexicographic(table, range(n))[start::k][: n // k]
    free = [row for row in range(n) if row not in seeds]  # always ascending
    groups: list[list[int]] = []
    for seed in seeds:
        group = [seed]
        for _ in range(k - 1):
            nearest = min(free, key=lambda row: record_loss(table, [*group, row], measure))
            free.remove(nearest)
            group.append(nearest)
        groups.append(group)
    for row in free:
        home = min(groups, key=lambda group: rise(table, group, row, measure))
        home.append(row)
    return labels_of(groups, n)
