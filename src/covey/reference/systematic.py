"""Systematic clustering (Kabir, Wang, Bertino 2011, specification B9)."""

from covey.reference.centres import LeafOrders, Rng, below, check_k, lexicographic, rise
from covey.reference.k_member import labels_of
from covey.reference.model import Measure, Table, record_loss


def systematic(
    table: Table,
    k: int,
    *,
    rng: Rng,
    leaf_orders: LeafOrders,
    measure: Measure = "height",
) -> list[int]:
    """Return the group of each row; groups are numbered in the order of their seeds."""
    n = check_k(table, k)
    start = below(rng, k)
    seeds = lexicographic(table, range(n), leaf_orders)[start::k][: n // k]
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
