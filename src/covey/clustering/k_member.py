"""Greedy k-member clustering.

Byun, Kamra, Bertino, Li: Efficient k-anonymization using clustering techniques, DASFAA 2007.
"""

import time
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from covey.encoding import EncodedTable
from covey.errors import UsageError
from covey.groups import Groups
from covey.kernels.arrays import empty_summaries
from covey.progress import Progress, silent

if TYPE_CHECKING:
    from covey.kernels.box_tree import BoxTree
    from covey.kernels.k_member import Penalty

SeedRef = Literal["last", "seed", "first", "random"]
_SECONDS_AT_A_TIME = 0.2
_PLACES_AT_A_TIME = 1_000_000


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
    """Partition the rows by growing one group of `k` at a time.

    Each group starts at the row furthest from the one added last and takes, `k - 1` times, the
    free row that adds least information loss. The fewer than `k` rows left over join, in random
    order, the group that each of them costs least.

    `seed_ref` says from where the furthest row is sought: the row added `last` (the paper's
    figure), the `seed` of the group before (its text), the `first` random row (the poster), or
    nowhere: a `random` free row. Where the table has classes, a row of another class than its
    group's majority costs `penalty` units of loss more (section 3.4 of the paper); the rows left
    over are spared that, as printed, unless `penalise_leftovers`.

    The furthest and the cheapest row are found exactly, in a tree of boxes instead of by looking
    at all rows: near-linear time on real tables, O(n²) in the worst case, memory O(n). Ties go to
    the lowest row number, so the result depends on nothing but the rows and the seed.
    """
    # Compiled code is loaded when it is first needed: it takes longer than all the rest.
    from covey.kernels import box_tree
    from covey.kernels import k_member as kernel

    if seed_ref not in get_args(SeedRef):
        raise UsageError(f"seed_ref must be one of {', '.join(get_args(SeedRef))}")
    if not isinstance(penalty, int | float) or not 0 <= penalty < float("inf"):
        raise UsageError("the class penalty must be a number, 0 or more")
    groups, left = divmod(table.rows, k)
    random = np.random.default_rng(seed)
    start, picks, order = (
        random.integers(table.rows),
        random.random(groups),
        random.permutation(left),
    )

    cells, forest = table.cells, table.forest
    boxes = box_tree.build(cells, forest)
    growth = kernel.Growth(
        labels=np.full(table.rows, -1, dtype=np.int64),
        state=np.array([0, start, 0], dtype=np.int64),
        ranks=np.zeros(table.rows + 1 if seed_ref == "random" else 0, dtype=np.int32),
        summaries=empty_summaries(groups, cells),
        majority=np.full(groups, -1, dtype=np.int32),
        price=np.zeros(len(forest.depth)),
        priced=np.full(cells.codes.shape[1], -1, dtype=np.int32),
    )
    kernel.count_all(growth.ranks)
    price = _penalty(table, boxes, float(penalty))
    rule = get_args(SeedRef).index(seed_ref)
    # Compiled code cannot be interrupted, so it is called for some rows at a time.
    step = 1
    while growth.state[0] < groups:
        began = time.monotonic()
        kernel.grow(cells, forest, boxes, growth, price, picks, rule, k, step)
        step = step * 2 if time.monotonic() - began < _SECONDS_AT_A_TIME else max(step // 2, 1)
        progress("clustering", 1 - int(boxes.free[0]) / table.rows)
    if not penalise_leftovers:
        price = price._replace(classes=np.empty(0, dtype=np.int32))
    rest = np.flatnonzero(growth.labels < 0)[order]
    slices = max(1, len(rest) * groups // _PLACES_AT_A_TIME)
    for rows in np.array_split(rest, slices):
        kernel.place_leftovers(cells, forest, growth, price, rows)
        progress("clustering", 1.0)
    return Groups(growth.labels)


def _penalty(table: EncodedTable, boxes: "BoxTree", amount: float) -> "Penalty":
    from covey.kernels import box_tree
    from covey.kernels.k_member import Penalty

    classes = np.empty(0, dtype=np.int32) if table.classes is None else table.classes
    masks = np.zeros(len(boxes.first) if len(classes) else 0, dtype=np.uint64)
    box_tree.box_classes(boxes, classes, masks)
    return Penalty(classes, masks, np.zeros(int(classes.max(initial=-1)) + 1, np.int64), amount)
