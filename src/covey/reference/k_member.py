"""k-member: grow one group of k rows after another, always by the row that costs least.

Byun, Kamra, Bertino, Li: Efficient k-anonymization using clustering techniques, DASFAA 2007. The
same authors described it on a poster, K-anonymity using clustering.

Where the paper errs, and what covey does:

- Figure 5 returns a table of k rows or fewer as it is. Fewer than k rows are not k-anonymous, so
  covey refuses them.
- In the text, the random row starts the first group. In the figure, the row furthest from it does.
  covey follows the figure.
- The next group starts at the row furthest from another one: from the row added last (figure), from
  the first row of the finished group (text), or always from the random row (poster). covey follows
  the figure; `seed_ref` chooses. With "random", which is covey's, a group starts at any free row.
- For rows left over, the heading of the procedure names the group with the least loss, its body the
  group whose loss rises least. covey takes the least rise.
- The problem is stated with the diameter of groups, but the procedure minimises Total-IL. The two
  have different optima. covey minimises Total-IL.
- With a class column (section 3.4), the paper does not say which of two equally frequent classes is
  the majority, nor how large the penalty is. covey takes the class that reached the number first,
  and a penalty of 1.

Cost: O(n²) evaluations of the loss, as the paper counts.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from numpy.random import Generator

from covey.reference.model import Measure, Table, check_k, labels_of, record_loss, rise

SeedRef: TypeAlias = Literal["last", "seed", "first", "random"]
Classes: TypeAlias = Sequence[int] | None


def furthest(table: Table, reference: int, free: Sequence[int], measure: Measure) -> int:
    """Return the free row furthest from the reference, the lowest of equals."""
    return max(free, key=lambda row: record_loss(table, [reference, row], measure))


# The class penalty


def majority(labels: Sequence[int]) -> int:
    """Return the most frequent label; of equals the one that reached the number first.

    So the leader stays until the count of another label is strictly greater.
    """
    counts: Counter[int] = Counter()
    leader = labels[0]
    for label in labels:
        counts[label] += 1
        if counts[label] > counts[leader]:
            leader = label
    return leader


def price(group: Sequence[int], row: int, classes: Classes, penalty: float) -> float:
    """Return the penalty if the class of the row is not the majority of the group, otherwise 0."""
    if classes is None or classes[row] == majority([classes[member] for member in group]):
        return 0.0
    return penalty


# The method


def k_member(  # noqa: PLR0913 - the options of the method
    table: Table,
    k: int,
    *,
    rng: Generator,
    seed_ref: SeedRef = "last",
    classes: Classes = None,
    penalty: float = 1.0,
    penalise_leftovers: bool = False,
    measure: Measure = "height",
) -> list[int]:
    """Return the group of each row; groups are numbered in order of formation.

    `classes` has the class of each row. All random choices are drawn first: a row, a number in
    [0, 1) for each group that starts at a random row, and the order of the rows left over.
    """
    n = check_k(table, k)
    if seed_ref not in get_args(SeedRef):
        raise ValueError(f"unknown seed_ref {seed_ref!r}")
    reference = int(rng.integers(n))
    picks = rng.random(n // k)
    leftover_order = rng.permutation(n % k)

    free = list(range(n))  # always ascending, so that min and max pick the lowest of equals
    groups: list[list[int]] = []
    while len(free) >= k:
        if seed_ref == "random":
            seed = free[int(picks[len(groups)] * len(free))]
        else:
            seed = furthest(table, reference, free, measure)
        free.remove(seed)
        group = [seed]
        while len(group) < k:
            best = min(
                free,
                key=lambda row: (
                    record_loss(table, [*group, row], measure)
                    + price(group, row, classes, penalty) / (len(group) + 1)
                ),
            )
            free.remove(best)
            group.append(best)
        groups.append(group)
        if seed_ref == "last":
            reference = group[-1]
        elif seed_ref == "seed":
            reference = seed

    if not penalise_leftovers:  # as printed
        penalty = 0.0
    for place in leftover_order:
        row = free[place]
        home = min(
            groups,
            key=lambda group: (
                rise(table, group, row, measure) + price(group, row, classes, penalty)
            ),
        )
        home.append(row)

    return labels_of(groups, n)
