"""Greedy k-member clustering.

Byun, Kamra, Bertino, Li: Efficient k-anonymization using clustering techniques, DASFAA 2007.
"""

from functools import partial
from typing import Literal, get_args

import numpy as np

from covey._core import kernels
from covey.clustering.progress import Progress, silent, watched
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups
from covey.errors import UsageError

SeedRef = Literal["last", "seed", "first", "random"]


def k_member(
    table: EncodedTable,
    k: int,
    *,
    seed: int = 0,
    seed_ref: SeedRef = "last",
    penalty: float = 1.0,
    penalise_leftovers: bool = False,
    progress: Progress = silent,
) -> Groups:
    """Each group starts at the row furthest from the row added last. Then, `k - 1` times, it takes
    the free row that adds least information loss. Fewer than `k` rows are left over: in random
    order, each joins the group where it costs least.

    `seed_ref` sets the reference for the furthest row: the row added `last` (the paper's figure),
    the `seed` of the previous group (its text), or the `first` random row (the poster). With
    `random`, a group starts at a random free row instead. If the table has classes, a row of
    another class than its group's majority costs `penalty` more units of loss (section 3.4 of the
    paper). As printed, this does not apply to the rows left over, unless `penalise_leftovers`.

    A tree of boxes finds the furthest and the cheapest row exactly, without a scan of all rows:
    near-linear time on real tables, O(n²) at worst, memory O(n). Ties go to the lowest row number,
    so the result depends only on the rows and the seed.
    """
    if seed_ref not in get_args(SeedRef):
        raise UsageError(f"seed_ref must be one of {', '.join(get_args(SeedRef))}")
    if not isinstance(penalty, int | float) or not 0 <= penalty < float("inf"):
        raise UsageError("the class penalty must be a number, 0 or more")
    groups, left = divmod(table.rows, k)
    random = np.random.default_rng(seed)
    draws = int(random.integers(table.rows)), random.random(groups), random.permutation(left)
    classes = np.empty(0, dtype=np.int32) if table.classes is None else table.classes
    rule = get_args(SeedRef).index(seed_ref)

    prices = (classes, float(penalty), penalise_leftovers)
    work = partial(kernels.k_member, table.core, k, rule, *draws, *prices)
    return Groups(watched(work, progress))
