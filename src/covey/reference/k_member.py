"""Greedy k-member (specification A1) with every random draw passed in."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias

from covey.reference.model import Measure, Table, record_loss, row_count

SeedRef: TypeAlias = Literal["last", "seed", "first", "random"]


def majority(labels: Sequence[int]) -> int:
    """Return the majority of labels in the order they came (A1, class-penalty variant).

    The current majority stays until the count of another label is strictly greater, so a tie
    goes to the label that reached the count first.
    """
    counts: Counter[int] = Counter()
    leader = labels[0]
    for label in labels:
        counts[label] += 1
        if counts[label] > counts[leader]:
            leader = label
    return leader


def differs(group: Sequence[int], row: int, classes: Sequence[int] | None) -> bool:
    """Tell whether the class of the row is not the majority of the group (A1)."""
    if classes is None:
        return False
    return classes[row] != majority([classes[member] for member in group])


def furthest(table: Table, reference: int, free: Sequence[int], measure: Measure) -> int:
    """Return the free row furthest from the reference, the lowest of equals (A1 step 3a)."""
    return max(sorted(free), key=lambda row: record_loss(table, [reference, row], measure))


def growth_cost(
    table: Table,
    group: Sequence[int],
    row: int,
    classes: Sequence[int] | None,
    penalty: float,
    measure: Measure,
) -> float:
    """Return L(c+x), plus the penalty spread over the |c|+1 rows (A1 step 3b)."""
    cost = record_loss(table, [*group, row], measure)
    if penalty > 0 and differs(group, row, classes):
        cost += penalty / (len(group) + 1)
    return cost


def leftover_cost(
    table: Table,
    group: Sequence[int],
    row: int,
    classes: Sequence[int] | None,
    penalty: float,
    measure: Measure,
) -> float:
    """Return (|c|+1) L(c+x) - |c| L(c), plus the raw penalty (A1 step 4)."""
    size = len(group)
    after = (size + 1) * record_loss(table, [*group, row], measure)
    cost = after - size * record_loss(table, group, measure)
    if penalty > 0 and differs(group, row, classes):
        cost += penalty
    return cost


def k_member(
    table: Table,
    k: int,
    *,
    start: int,
    leftover_order: Sequence[int],
    picks: Sequence[float] = (),
    seed_ref: SeedRef = "last",
    classes: Sequence[int] | None = None,
    penalty: float = 0.0,
    penalise_leftovers: bool = False,
    measure: Measure = "height",
) -> list[int]:
    """Return the group of each row; groups are numbered in order of formation (A1).

    `start` is the random row of step 2. `leftover_order` is the random order of step 4, as
    positions in the ascending list of leftover rows. `picks[g]` in [0, 1) draws the seed of
    group g from the ascending list of free rows when `seed_ref` is "random".
    """
    n = row_count(table)
    if not 1 <= k <= n:
        raise ValueError(f"{n} rows cannot be {k}-anonymous")
    if not 0 <= start < n:
        raise ValueError("start is not a row")
    if seed_ref not in ("last", "seed", "first", "random"):
        raise ValueError(f"unknown seed_ref {seed_ref!r}")
    if classes is not None and len(classes) != n:
        raise ValueError("one class per row is needed")

    free = list(range(n))  # always ascending, so that min and max pick the lowest of equals
    groups: list[list[int]] = []
    reference = start
    while len(free) >= k:
        if seed_ref == "random":
            seed = free[int(picks[len(groups)] * len(free))]
        else:
            seed = furthest(table, reference, free, measure)
        free.remove(seed)
        group = [seed]
        while len(group) < k:
            best = min(
                free, key=lambda row: growth_cost(table, group, row, classes, penalty, measure)
            )
            free.remove(best)
            group.append(best)
        groups.append(group)
        if seed_ref == "last":
            reference = group[-1]
        elif seed_ref == "seed":
            reference = seed

    if sorted(leftover_order) != list(range(len(free))):
        raise ValueError(f"leftover_order must be a permutation of range({len(free)})")
    leftover_penalty = penalty if penalise_leftovers else 0.0
    for position in leftover_order:
        row = free[position]
        home = min(
            groups,
            key=lambda group: leftover_cost(table, group, row, classes, leftover_penalty, measure),
        )
        home.append(row)

    return labels_of(groups, n)


def labels_of(groups: Sequence[Sequence[int]], n: int) -> list[int]:
    """Return the number of the group of each row; every row is in exactly one (0.5)."""
    if sorted(row for group in groups for row in group) != list(range(n)):
        raise ValueError("the groups are not a partition of the rows")
    label = {row: number for number, group in enumerate(groups) for row in group}
    return [label[row] for row in range(n)]
