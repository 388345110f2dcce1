"""Rows dealt out so that every group has many sensitive values."""

from typing import NamedTuple

import numpy as np

from covey._core.arrays import Cells, Forest, Ints, Longs, Summaries
from covey._core.heap import push, replace_top
from covey._core.jit import kernel
from covey._core.summaries import (
    add_row,
    common_ancestor,
    record_loss,
    record_loss_with,
    rise,
    unite,
)
from covey._core.top_down import Sides, Stack, finish

# So many rows or groups are looked at for the next one: near ones stand near each other, and
# looking at all would cost n².
WINDOW = 256


class Diversity(NamedTuple):
    """No value of the sensitive column may be in more than one of `l` rows of a group."""

    l: int  # 0 for no such demand  # noqa: E741
    values: Ints  # (rows,) 0 …, or none
    rank: Longs  # (rows,) place of each row in the sorted table
    counts: Longs  # (values,) scratch, zero between two uses


@kernel
def is_diverse(diversity: Diversity, own: Ints, side: Sides, half: int) -> bool:
    """Whether one part of a node satisfies the demand."""
    most, size = 0, 0
    for place in range(len(own)):
        if side[place] == half:
            value = diversity.values[own[place]]
            diversity.counts[value] += 1
            most = max(most, diversity.counts[value])
            size += 1
    for row in own:
        diversity.counts[diversity.values[row]] = 0
    return diversity.l * most <= size


@kernel
def deal(
    cells: Cells, forest: Forest, diversity: Diversity, stack: Stack, own: Ints, k: int
) -> bool:
    """Deal a node out into classes that satisfy the demand, if that lowers the loss.

    Groups of one row of each of the `l` most frequent values left are peeled off, the few rows
    that remain join groups without their value, and groups are merged until they have k rows.
    """
    rows, starts = _buckets(diversity, own)
    peeled = _room(len(own) // diversity.l + 1, cells)
    home = np.full(len(own), -1, dtype=np.int64)  # peeled group by place in `rows`
    groups = _peel(cells, forest, diversity.l, rows, starts, peeled, home)
    if not _place_rest(cells, forest, diversity, rows, peeled, home, groups):
        return False
    classes = _room(groups + 1, cells)
    parent = np.full(groups, -1, dtype=np.int64)  # class of each peeled group
    count = _merge(
        cells, forest, peeled, groups, classes, parent, (k + diversity.l - 1) // diversity.l
    )
    if count < 2 or not _pays(cells, forest, classes, count, own):
        return False
    parts = np.empty(len(rows), dtype=np.int64)
    for place in range(len(rows)):
        parts[place] = parent[home[place]]
    ordered = rows[np.argsort(parts, kind="mergesort")]
    begin = 0
    for part in range(count):
        finish(stack, ordered[begin : begin + classes.size[part]])
        begin += classes.size[part]
    return True


@kernel
def _room(groups: int, cells: Cells) -> Summaries:
    intervals, categories = cells.numbers.shape[1], cells.codes.shape[1]
    low, high = np.full((groups, intervals), np.inf), np.full((groups, intervals), -np.inf)
    node = np.full((groups, categories), -1, dtype=np.int32)
    return Summaries(low, high, node, np.zeros(groups, dtype=np.int64))


@kernel
def _buckets(diversity: Diversity, own: Ints) -> tuple[Ints, Longs]:
    """The rows by sensitive value, in sorted order in each; where buckets begin, and the end."""
    ranked = own[np.argsort(diversity.rank[own])]
    rows = ranked[np.argsort(diversity.values[ranked], kind="mergesort")]
    count = 1
    for i in range(1, len(rows)):
        count += diversity.values[rows[i]] != diversity.values[rows[i - 1]]
    starts = np.zeros(count + 1, dtype=np.int64)
    bucket = 0
    for i in range(1, len(rows)):
        if diversity.values[rows[i]] != diversity.values[rows[i - 1]]:
            bucket += 1
            starts[bucket] = i
    starts[count] = len(rows)
    return rows, starts


@kernel
def _peel(
    cells: Cells,
    forest: Forest,
    l: int,  # noqa: E741
    rows: Ints,  # INOUT by bucket; taken ones are moved to the front of theirs
    starts: Longs,
    peeled: Summaries,  # OUT
    home: Longs,  # OUT by place in `rows`
) -> int:
    """Take one row of each of the `l` largest buckets, again and again; how many groups."""
    next_ = starts[:-1].copy()
    ends = starts[1:]
    # The buckets in a heap, the largest on top; of equal ones the first, so they are negated.
    sizes, heap = np.empty(len(next_)), np.empty(len(next_), dtype=np.int32)
    filled, group = 0, 0
    largest = np.empty(l, dtype=np.int64)
    for bucket in range(len(next_)):
        push(sizes, heap, filled, float(ends[bucket] - next_[bucket]), -bucket)
        filled += 1
    while filled >= l:
        for i in range(l):
            largest[i] = -heap[0]
            filled -= 1
            if filled > 0:
                replace_top(sizes[:filled], heap[:filled], sizes[filled], heap[filled])
        for i in range(l):
            bucket = largest[i]
            begin = next_[bucket]
            choice = begin
            if i > 0:
                best = np.inf
                for place in range(begin, min(begin + WINDOW, ends[bucket])):
                    loss = record_loss_with(cells, forest, peeled, group, rows[place])
                    if loss < best:
                        best, choice = loss, place
            row = rows[choice]
            for place in range(choice, begin, -1):
                rows[place] = rows[place - 1]
            rows[begin] = row
            home[begin] = group
            next_[bucket] += 1
            add_row(cells, forest, peeled, group, row)
            if next_[bucket] < ends[bucket]:
                push(sizes, heap, filled, float(ends[bucket] - next_[bucket]), -bucket)
                filled += 1
        group += 1
    return group


@kernel
def _place_rest(
    cells: Cells,
    forest: Forest,
    diversity: Diversity,
    rows: Ints,
    peeled: Summaries,  # INOUT
    home: Longs,  # INOUT
    groups: int,
) -> bool:
    """Every row that is left joins the cheapest group without its value; whether there was one."""
    for place in range(len(rows)):
        if home[place] >= 0:
            continue
        has_value = np.zeros(groups, dtype=np.bool_)
        for other in range(len(rows)):
            if home[other] >= 0 and diversity.values[rows[other]] == diversity.values[rows[place]]:
                has_value[home[other]] = True
        best, choice = np.inf, -1
        for group in range(groups):
            if not has_value[group]:
                cost = rise(cells, forest, peeled, group, rows[place])
                if cost < best:
                    best, choice = cost, group
        if choice < 0:
            return False
        home[place] = choice
        add_row(cells, forest, peeled, choice, rows[place])
    return True


@kernel
def _merge(
    cells: Cells,
    forest: Forest,
    peeled: Summaries,
    groups: int,
    classes: Summaries,  # OUT
    parent: Longs,  # OUT
    together: int,
) -> int:
    """Merge so many groups at a time, each with its nearest; how many classes."""
    waiting = np.arange(groups)
    begin, count = 0, 0
    while groups - begin >= together:
        for i in range(together):
            choice, best = begin, np.inf
            if i > 0:
                for place in range(begin, min(begin + WINDOW, groups)):
                    loss = _union_loss(cells, forest, classes, count, peeled, waiting[place])
                    if loss < best:
                        best, choice = loss, place
            group = waiting[choice]
            for place in range(choice, begin, -1):
                waiting[place] = waiting[place - 1]
            begin += 1
            parent[group] = count
            unite(forest, classes, count, peeled, group)
        count += 1
    for i in range(begin, groups):
        group, best, choice = waiting[i], np.inf, -1
        for part in range(count):
            size = classes.size[part]
            cost = (size + peeled.size[group]) * _union_loss(
                cells, forest, classes, part, peeled, group
            )
            cost -= size * record_loss(cells, forest, classes, part)
            if cost < best:
                best, choice = cost, part
        if choice >= 0:
            parent[group] = choice
            unite(forest, classes, choice, peeled, group)
    return count


@kernel
def _union_loss(
    cells: Cells, forest: Forest, classes: Summaries, part: int, peeled: Summaries, group: int
) -> float:
    """What each record would lose in a class that has taken in a group."""
    loss = 0.0
    for j in range(cells.numbers.shape[1]):
        high = max(classes.high[part, j], peeled.high[group, j])
        low = min(classes.low[part, j], peeled.low[group, j])
        loss += cells.weights[j] * min(high - low, 1.0)
    for j in range(cells.codes.shape[1]):
        loss += forest.loss[common_ancestor(forest, peeled.node[group, j], classes.node[part, j])]
    return loss


@kernel
def _pays(cells: Cells, forest: Forest, classes: Summaries, count: int, own: Ints) -> bool:
    """Whether the classes lose less than the node as one group."""
    total = 0.0
    for part in range(count):
        total += classes.size[part] * record_loss(cells, forest, classes, part)
    whole = _room(1, cells)
    for row in own:
        add_row(cells, forest, whole, 0, row)
    return total < len(own) * record_loss(cells, forest, whole, 0)
