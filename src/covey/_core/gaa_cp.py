"""Groups that take in all the nearest rows at once."""

from covey._core.arrays import Cells, Floats, Forest, Ints
from covey._core.box_tree import BoxTree
from covey._core.fenwick import ranked
from covey._core.growth import Growth, Penalty, find, join, release, take
from covey._core.jit import kernel
from covey._core.summaries import record_loss_with


@kernel
def grow(
    cells: Cells,
    forest: Forest,
    tree: BoxTree,  # INOUT
    growth: Growth,  # INOUT
    penalty: Penalty,
    picks: Floats,  # (groups,) uniform in [0, 1)
    pending: Ints,  # (rows,) scratch
    k: int,
    groups: int,
) -> int:
    """Go on by so many groups; how many rows are in one."""
    for _ in range(groups):
        if tree.free[0] < k:
            break
        group = growth.state[0]
        seed = ranked(growth.ranks, int(picks[group] * tree.free[0]))
        take(cells, forest, tree, growth, penalty, seed, group)
        while growth.summaries.size[group] < k:
            _take_nearest(cells, forest, tree, growth, penalty, pending, group)
        growth.state[0] += 1
    return len(growth.labels) - tree.free[0]  # type: ignore[no-any-return]


@kernel
def _take_nearest(
    cells: Cells,
    forest: Forest,
    tree: BoxTree,
    growth: Growth,
    penalty: Penalty,
    pending: Ints,
    group: int,
) -> None:
    """All free rows that would cost the group equally little join it together."""
    count, least = 0, 0.0
    while tree.free[0] > 0:
        row = find(forest, tree, growth, penalty, group, False, 0.0)
        loss = record_loss_with(cells, forest, growth.summaries, group, row)
        if count > 0 and loss > least:
            break
        release(tree, growth, row)
        pending[count], least = row, loss
        count += 1
    for i in range(count):
        join(cells, forest, growth, penalty, pending[i], group)
