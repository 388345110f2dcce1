"""Partitioning from the top: nodes that wait to be split, the left side before the right."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey._core.arrays import Floats, Ints, Longs
from covey._core.heap import push, replace_top
from covey._core.jit import kernel

Sides = NDArray[np.int8]  # which part of a node each of its rows belongs to, by its place


class Stack(NamedTuple):
    """Where a partitioning stands between two calls."""

    labels: Longs  # (rows,)
    rows: Ints  # (rows,) by node, ascending in each
    first: Longs  # where the rows of each waiting node begin
    last: Longs
    state: Longs  # nodes that wait, groups formed, rows in them


def whole_table(rows: int, k: int) -> Stack:
    """One node of all rows; no more than n // k ever wait."""
    room = rows // k + 2
    return Stack(
        labels=np.empty(rows, dtype=np.int64),
        rows=np.arange(rows, dtype=np.int32),
        first=np.zeros(room, dtype=np.int64),
        last=np.full(room, rows, dtype=np.int64),
        state=np.array([1, 0, 0], dtype=np.int64),
    )


@kernel
def pop(stack: Stack) -> Ints:
    """The rows of the next node."""
    stack.state[0] -= 1
    top = stack.state[0]
    return stack.rows[stack.first[top] : stack.last[top]]


@kernel
def push_parts(stack: Stack, cut: int) -> None:
    """The node popped last was parted: its first `cut` rows are dealt with before the others."""
    top = stack.state[0]
    first, last = stack.first[top], stack.last[top]
    stack.first[top], stack.last[top] = first + cut, last
    stack.first[top + 1], stack.last[top + 1] = first, first + cut
    stack.state[0] += 2


@kernel
def finish(stack: Stack, own: Ints) -> None:
    """The rows of a node are a group."""
    stack.labels[own] = stack.state[1]
    stack.state[1] += 1
    stack.state[2] += len(own)


@kernel
def part(side: Sides, spare: Ints, own: Ints) -> int:
    """Put the rows of side 0 first; both sides stay ascending. How many are on side 0."""
    cut, rest = 0, 0
    for place in range(len(own)):
        row = own[place]
        if side[place] == 0:
            own[cut] = row
            cut += 1
        else:
            spare[rest] = row
            rest += 1
    own[cut:] = spare[:rest]
    return cut


@kernel
def bring_over(
    side: Sides,  # INOUT
    small: int,
    cost: Floats,  # of each row of the node, by place
    keys: Floats,  # (rows to bring,) scratch
    places: Ints,  # (rows to bring,) scratch
) -> None:
    """Bring the rows of the other side that cost least to the small one, of equals the first."""
    count = 0
    for place in range(len(cost)):
        if side[place] == small:
            continue
        if count < len(keys):
            push(keys, places, count, cost[place], place)
            count += 1
        elif cost[place] < keys[0]:
            replace_top(keys, places, cost[place], place)
    for place in places:
        side[place] = small
