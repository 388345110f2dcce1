"""The growth of groups in greedy k-member clustering."""

from covey._core.arrays import Cells, Floats, Forest
from covey._core.box_tree import BoxTree
from covey._core.fenwick import ranked
from covey._core.growth import Growth, Penalty, find, join, start_from, take
from covey._core.jit import kernel

# From which row the furthest one is sought as the next seed, or where seeds come from otherwise.
LAST, SEED, FIRST, RANDOM, GIVEN = 0, 1, 2, 3, 4


@kernel
def grow(
    cells: Cells,
    forest: Forest,
    tree: BoxTree,  # INOUT
    growth: Growth,  # INOUT
    penalty: Penalty,
    picks: Floats,  # (groups,) uniform in [0, 1), for random seeds
    rule: int,
    k: int,
    rows: int,
) -> int:
    """Go on forming groups of k by at most so many rows; how many are in one."""
    for _ in range(rows):
        group, size = growth.state[0], growth.state[2]
        if group == len(growth.majority):
            break
        if size == 0:
            row = _seed(cells, forest, tree, growth, penalty, picks, rule)
        else:
            surcharge = penalty.amount / (size + 1) if len(penalty.classes) > 0 else 0.0
            row = find(forest, tree, growth, penalty, group, False, surcharge)
        if size == 0 and rule == GIVEN:
            join(cells, forest, growth, penalty, row, group)
        else:
            take(cells, forest, tree, growth, penalty, row, group)
        if rule == LAST or (rule == SEED and size == 0):
            growth.state[1] = row
        growth.state[2] += 1
        if growth.state[2] == k:
            growth.state[0] += 1
            growth.state[2] = 0
    return growth.state[0] * k + growth.state[2]  # type: ignore[no-any-return]


@kernel
def _seed(
    cells: Cells,
    forest: Forest,
    tree: BoxTree,
    growth: Growth,
    penalty: Penalty,
    picks: Floats,
    rule: int,
) -> int:
    """The row with which the next group starts."""
    group = growth.state[0]
    if rule == GIVEN:
        return growth.seeds[group]  # type: ignore[no-any-return]
    if rule == RANDOM:
        return ranked(growth.ranks, int(picks[group] * tree.free[0]))
    # The reference row is looked at as a group of its own; the real seed overwrites it.
    start_from(cells, forest, growth, group, growth.state[1])
    return find(forest, tree, growth, penalty, group, True, 0.0)
