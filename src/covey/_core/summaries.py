"""What the members of a group have in common, and what it costs to show only that."""

from covey._core.arrays import Cells, Forest, Longs, Summaries
from covey._core.jit import kernel


@kernel
def common_ancestor(forest: Forest, one: int, other: int) -> int:
    """The lowest node above both; `one` where `other` is none (-1)."""
    if other < 0:
        return one
    depth = min(forest.depth[one], forest.depth[other])
    while forest.ancestors[one, depth] != forest.ancestors[other, depth]:
        depth -= 1
    return forest.ancestors[one, depth]  # type: ignore[no-any-return]


@kernel
def add_row(cells: Cells, forest: Forest, into: Summaries, group: int, row: int) -> None:
    """Widen a group's summary by one row."""
    for j in range(cells.numbers.shape[1]):
        value = cells.numbers[row, j]
        into.low[group, j] = min(into.low[group, j], value)
        into.high[group, j] = max(into.high[group, j], value)
    for j in range(cells.codes.shape[1]):
        into.node[group, j] = common_ancestor(forest, cells.codes[row, j], into.node[group, j])
    into.size[group] += 1


@kernel
def summarise(
    cells: Cells,
    forest: Forest,
    labels: Longs,  # IN (rows,)
    into: Summaries,  # OUT, empty
) -> None:
    """The summaries of all groups; rows labelled below 0 are in none."""
    for row in range(len(labels)):
        if labels[row] >= 0:
            add_row(cells, forest, into, labels[row], row)


@kernel
def record_loss(cells: Cells, forest: Forest, summaries: Summaries, group: int) -> float:
    """What each record of a group loses: the sum over attributes, numbers first."""
    loss = 0.0
    for j in range(cells.numbers.shape[1]):
        width = summaries.high[group, j] - summaries.low[group, j]
        loss += cells.weights[j] * min(width, 1.0)
    for j in range(cells.codes.shape[1]):
        loss += forest.loss[summaries.node[group, j]]
    return loss


@kernel
def record_loss_with(
    cells: Cells, forest: Forest, summaries: Summaries, group: int, row: int
) -> float:
    """The same if the group had one more row."""
    loss = 0.0
    for j in range(cells.numbers.shape[1]):
        value = cells.numbers[row, j]
        high = max(summaries.high[group, j], value)
        low = min(summaries.low[group, j], value)
        loss += cells.weights[j] * min(high - low, 1.0)
    for j in range(cells.codes.shape[1]):
        node = common_ancestor(forest, summaries.node[group, j], cells.codes[row, j])
        loss += forest.loss[node]
    return loss


@kernel
def rise(cells: Cells, forest: Forest, summaries: Summaries, group: int, row: int) -> float:
    """By how much a row would raise the loss of a whole group."""
    size = summaries.size[group]
    after = (size + 1) * record_loss_with(cells, forest, summaries, group, row)
    return after - size * record_loss(cells, forest, summaries, group)  # type: ignore[no-any-return]


@kernel
def unite(forest: Forest, into: Summaries, group: int, source: Summaries, other: int) -> None:
    """Let a group take in another one, perhaps of other summaries; an empty one takes it over."""
    for j in range(into.low.shape[1]):
        into.low[group, j] = min(into.low[group, j], source.low[other, j])
        into.high[group, j] = max(into.high[group, j], source.high[other, j])
    for j in range(into.node.shape[1]):
        into.node[group, j] = common_ancestor(forest, source.node[other, j], into.node[group, j])
    into.size[group] += source.size[other]
