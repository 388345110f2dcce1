"""The exact minimum of Total-IL for a handful of rows (specification 0.2, C1, D4)."""

from itertools import combinations

from .k_member import labels_of
from .metrics import total_il
from .model import Measure, Table, record_loss, row_count

Rows = frozenset[int]
Solution = tuple[float, list[Rows]]


def optimum(table: Table, k: int, measure: Measure = "height") -> tuple[float, list[int]]:
    """Return the least Total-IL of a partition into groups of at least k, and its labels.

    Dynamic programming over sets of rows still to be grouped: the lowest of them is in some
    group, and by 0.2 a group of k to 2k-1 rows is enough. Groups are numbered by their lowest
    row. Of partitions that tie, the one found first is returned.
    """
    n = row_count(table)
    if not 1 <= k <= n:
        raise ValueError(f"{n} rows cannot be {k}-anonymous")
    losses: dict[Rows, float] = {}
    solutions: dict[Rows, Solution | None] = {frozenset(): (0.0, [])}

    def group_loss(group: Rows) -> float:
        if group not in losses:
            losses[group] = len(group) * record_loss(table, sorted(group), measure)
        return losses[group]

    def solve(rows: Rows) -> Solution | None:
        if rows not in solutions:
            solutions[rows] = best_solution(rows)
        return solutions[rows]

    def best_solution(rows: Rows) -> Solution | None:
        lowest, *others = sorted(rows)
        best: Solution | None = None
        for size in range(k, min(2 * k - 1, len(rows)) + 1):
            for mates in combinations(others, size - 1):
                group = frozenset((lowest, *mates))
                rest = solve(rows - group)
                if rest is None:
                    continue
                loss = group_loss(group) + rest[0]
                if best is None or loss < best[0]:
                    best = (loss, [group, *rest[1]])
        return best

    found = solve(frozenset(range(n)))
    assert found is not None  # any n >= k is a sum of sizes k..2k-1
    labels = labels_of([sorted(group) for group in found[1]], n)
    return total_il(table, labels, measure), labels
