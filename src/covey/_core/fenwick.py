"""Members of a shrinking set by rank, in a Fenwick tree."""

from covey._core.arrays import Ints, Longs
from covey._core.jit import kernel


@kernel
def count_all(ranks: Ints) -> None:
    """Everything is in the set: each node counts as many members as its lowest bit says."""
    for i in range(1, len(ranks)):
        ranks[i] = i & -i


@kernel
def count_out(ranks: Ints, member: int) -> None:
    """Take a member out."""
    i = member + 1
    while i < len(ranks):
        ranks[i] -= 1
        i += i & -i


@kernel
def leave_out(ranks: Ints, members: Longs) -> None:
    """Take several members out."""
    for member in members:
        count_out(ranks, member)


@kernel
def ranked(ranks: Ints, rank: int) -> int:
    """The member that has `rank` members before it."""
    step = 1
    while 2 * step < len(ranks):
        step *= 2
    member = 0
    while step > 0:
        if member + step < len(ranks) and ranks[member + step] <= rank:
            member += step
            rank -= ranks[member]
        step //= 2
    return member
