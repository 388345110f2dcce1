"""The exact minimum of Total-IL for a handful of rows (specification 0.2, C1, D4)."""

import math
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csc_array

from covey.reference.model import Measure, Table, check_k, labels_of, record_loss, row_count

from .metrics import total_il

Rows = frozenset[int]
Solution = tuple[float, list[Rows]]

MOST_GROUPS = 50_000


def best_partition(
    table: Table,
    sizes: Sequence[int],
    complies: Callable[[Rows], bool],
    measure: Measure = "height",
) -> tuple[float, list[int]] | None:
    """Return the least Total-IL of a partition into groups of these sizes that comply, and labels.

    None if there is none. Dynamic programming over sets of rows still to be grouped: the lowest of
    them is in some group. Groups are numbered by their lowest row. Of partitions that tie, the one
    found first is returned.
    """
    n = row_count(table)
    losses: dict[Rows, float] = {}
    solutions: dict[Rows, Solution | None] = {frozenset(): (0.0, [])}

    def group_loss(group: Rows) -> float:
        if group not in losses:
            losses[group] = math.inf
            if complies(group):
                losses[group] = len(group) * record_loss(table, sorted(group), measure)
        return losses[group]

    def solve(rows: Rows) -> Solution | None:
        if rows not in solutions:
            solutions[rows] = best_solution(rows)
        return solutions[rows]

    def best_solution(rows: Rows) -> Solution | None:
        lowest, *others = sorted(rows)
        best: Solution | None = None
        for size in sizes:
            for mates in combinations(others, size - 1):
                group = frozenset((lowest, *mates))
                loss = group_loss(group)
                if loss == math.inf or (rest := solve(rows - group)) is None:
                    continue
                if best is None or loss + rest[0] < best[0]:
                    best = (loss + rest[0], [group, *rest[1]])
        return best

    found = solve(frozenset(range(n)))
    if found is None:
        return None
    labels = labels_of([sorted(group) for group in found[1]], n)
    return total_il(table, labels, measure), labels


def optimum(table: Table, k: int, measure: Measure = "height") -> tuple[float, list[int]]:
    """Return the least Total-IL of a partition into groups of at least k, and its labels.

    By 0.2, groups of k to 2k-1 rows are enough.
    """
    n = check_k(table, k)
    found = best_partition(table, range(k, min(2 * k - 1, n) + 1), lambda _: True, measure)
    assert found is not None  # any n >= k is a sum of sizes k..2k-1
    return found


def optimum_by_program(
    table: Table, k: int, measure: Measure = "height"
) -> tuple[float, list[int]]:
    """Return what `optimum` does, up to ties, for some more rows.

    An integer program: of all groups of k to 2k-1 rows, choose some that hold every row exactly
    once. Its solver may stop 1e-6 above the least Total-IL.
    """
    n = check_k(table, k)
    sizes = range(k, min(2 * k - 1, n) + 1)
    count = sum(math.comb(n, size) for size in sizes)
    if count > MOST_GROUPS:
        raise ValueError(f"{count} groups are too many for the program")

    groups = [group for size in sizes for group in combinations(range(n), size)]
    losses = [len(group) * record_loss(table, group, measure) for group in groups]
    places = [(row, g) for g, group in enumerate(groups) for row in group]
    rows, columns = zip(*places, strict=True)
    holds = csc_array((np.ones(len(places)), (rows, columns)), shape=(n, count))
    found = milp(
        losses,
        constraints=LinearConstraint(holds, 1, 1),
        integrality=np.ones(count),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    assert found.success, found.message
    chosen = [group for group, share in zip(groups, found.x, strict=True) if share > 0.5]
    labels = labels_of(sorted(chosen), n)
    return total_il(table, labels, measure), labels
