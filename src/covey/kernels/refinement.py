"""Groups of a block of rows, formed greedily and then changed as long as that lowers the loss.

A group is told by the lowest and the highest of its members in every attribute: leaves stand in the
order of their tree, so the first and the last leaf of a group have the same common ancestor as all
of them. What a row adds to a group, and what its leaving saves, then takes one look at each
attribute. Every step leaves a legal grouping and lowers the loss by more than `LEAST_GAIN`.
"""

from typing import NamedTuple

import numpy as np

from covey.kernels.arrays import Floats, Forest, Ints, Longs
from covey.kernels.jit import kernel
from covey.kernels.random import below
from covey.kernels.summaries import common_ancestor

LEAST_GAIN = 1e-9
_FAR = 1 << 30


class Rows(NamedTuple):
    """The rows of a block and what tells them apart."""

    numbers: Floats  # (rows, intervals) scaled to 0 … 1, missing further away
    codes: Ints  # (rows, categories) leaves of the forest
    weights: Floats  # (intervals,)
    first: Ints  # (categories,) first leaf of each tree
    leaves: Longs  # (categories,) its number of leaves
    start: Longs  # (categories,) where its losses of pairs of leaves begin, -1 for a large tree
    pairs: Floats  # loss of the common ancestor of two leaves, the lower one first
    forest: Forest  # for large trees


class Parts(NamedTuple):
    """The groups of a block; those of size 0 are not there."""

    labels: Longs  # (rows,) group of each row
    next: Longs  # (rows,) the next member of the same group, -1 for none
    previous: Longs  # (rows,)
    head: Longs  # (groups,) the first member, -1 for none
    size: Longs  # (groups,)
    loss: Floats  # (groups,) of each member
    low: Floats  # (groups, intervals)
    high: Floats  # (groups, intervals)
    first: Ints  # (groups, categories)
    last: Ints  # (groups, categories)


@kernel
def new_parts(rows: Rows, groups: int) -> Parts:
    """Room for so many groups, all of them empty."""
    count, intervals, categories = len(rows.numbers), len(rows.weights), len(rows.first)
    return Parts(
        labels=np.full(count, -1, dtype=np.int64),
        next=np.full(count, -1, dtype=np.int64),
        previous=np.full(count, -1, dtype=np.int64),
        head=np.full(groups, -1, dtype=np.int64),
        size=np.zeros(groups, dtype=np.int64),
        loss=np.zeros(groups),
        low=np.empty((groups, intervals)),
        high=np.empty((groups, intervals)),
        first=np.empty((groups, categories), dtype=np.int32),
        last=np.empty((groups, categories), dtype=np.int32),
    )


# ── what groups cost ────────────────────────────────────────────────────────────────────────────


@kernel
def pair_loss(rows: Rows, tree: int, one: int, other: int) -> float:
    """The loss of the common ancestor of two leaves, of which `one` does not come later."""
    if one == other:
        return 0.0
    if rows.start[tree] < 0:
        return rows.forest.loss[common_ancestor(rows.forest, one, other)]  # type: ignore[no-any-return]
    place = (one - rows.first[tree]) * rows.leaves[tree] + other - rows.first[tree]
    return rows.pairs[rows.start[tree] + place]  # type: ignore[no-any-return]


@kernel
def _own_loss(rows: Rows, parts: Parts, group: int) -> float:
    loss = 0.0
    for j in range(len(rows.weights)):
        width = parts.high[group, j] - parts.low[group, j]
        loss += rows.weights[j] * (width if width < 1.0 else 1.0)
    for j in range(len(rows.first)):
        loss += pair_loss(rows, j, parts.first[group, j], parts.last[group, j])
    return loss


@kernel
def _include(rows: Rows, parts: Parts, group: int, row: int) -> None:
    """Widen a group's ends by a row."""
    for j in range(len(rows.weights)):
        value = rows.numbers[row, j]
        parts.low[group, j] = min(parts.low[group, j], value)
        parts.high[group, j] = max(parts.high[group, j], value)
    for j in range(len(rows.first)):
        leaf = rows.codes[row, j]
        parts.first[group, j] = min(parts.first[group, j], leaf)
        parts.last[group, j] = max(parts.last[group, j], leaf)


@kernel
def _recount(rows: Rows, parts: Parts, group: int) -> None:
    """The ends, the size and the loss of a group, from its members."""
    parts.low[group, :], parts.high[group, :] = np.inf, -np.inf
    parts.first[group, :], parts.last[group, :] = _FAR, -1
    row, size = parts.head[group], 0
    while row >= 0:
        _include(rows, parts, group, row)
        size += 1
        row = parts.next[row]
    parts.size[group] = size
    parts.loss[group] = _own_loss(rows, parts, group) if size > 0 else 0.0


@kernel
def total_loss(parts: Parts) -> float:
    """The information loss of all groups."""
    total = 0.0
    for group in range(len(parts.size)):
        total += parts.size[group] * parts.loss[group]
    return total


# ── members ─────────────────────────────────────────────────────────────────────────────────────


@kernel
def _detach(parts: Parts, row: int) -> None:
    before, after = parts.previous[row], parts.next[row]
    if before >= 0:
        parts.next[before] = after
    else:
        parts.head[parts.labels[row]] = after
    if after >= 0:
        parts.previous[after] = before


@kernel
def _attach(parts: Parts, group: int, row: int) -> None:
    old = parts.head[group]
    parts.next[row], parts.previous[row] = old, -1
    if old >= 0:
        parts.previous[old] = row
    parts.head[group] = row
    parts.labels[row] = group


@kernel
def _join(rows: Rows, parts: Parts, group: int, row: int) -> None:
    """A row that is in no group joins one."""
    _attach(parts, group, row)
    _include(rows, parts, group, row)
    parts.size[group] += 1
    parts.loss[group] = _own_loss(rows, parts, group)


@kernel
def load(rows: Rows, parts: Parts, labels: Longs) -> None:
    """Take over a grouping."""
    for row in range(len(labels) - 1, -1, -1):
        _attach(parts, labels[row], row)
    for group in range(len(parts.size)):
        _recount(rows, parts, group)


@kernel
def _members(parts: Parts, group: int, into: Longs, count: int) -> int:
    """Write the members of a group behind the first `count`; how many there are then."""
    row = parts.head[group]
    while row >= 0:
        into[count] = row
        count += 1
        row = parts.next[row]
    return count


# ── the greedy start ────────────────────────────────────────────────────────────────────────────


@kernel
def grow(rows: Rows, parts: Parts, k: int, random: np.random.Generator) -> None:
    """Groups of k, each from a random row and those that cost least; the rest where it costs least.

    The free rows are kept together in arrays of their own, and sums are given up once they are
    above the best so far.
    """
    intervals, categories = len(rows.weights), len(rows.first)
    numbers, codes, weights = rows.numbers.copy(), rows.codes.copy(), rows.weights
    tree_first, leaves, start, pairs = rows.first, rows.leaves, rows.start, rows.pairs
    ancestors, depth, node_loss = rows.forest.ancestors, rows.forest.depth, rows.forest.loss
    free, left = np.arange(len(numbers)), len(numbers)
    group = 0
    while left >= k:
        choice = below(random, left)
        for size in range(k):
            if size > 0:
                low, high = parts.low[group], parts.high[group]
                first, last = parts.first[group], parts.last[group]
                best, choice = np.inf, -1
                for place in range(left):
                    loss = 0.0
                    for j in range(intervals):
                        value = numbers[place, j]
                        above = high[j] if high[j] > value else value
                        under = low[j] if low[j] < value else value
                        width = above - under
                        loss += weights[j] * (width if width < 1.0 else 1.0)
                    for j in range(categories):
                        if loss >= best:
                            break
                        leaf = codes[place, j]
                        one = first[j] if first[j] < leaf else leaf
                        other = last[j] if last[j] > leaf else leaf
                        if one == other:
                            continue
                        if start[j] >= 0:
                            pair = (one - tree_first[j]) * leaves[j] + other - tree_first[j]
                            loss += pairs[start[j] + pair]
                        else:
                            level = depth[one] if depth[one] < depth[other] else depth[other]
                            while ancestors[one, level] != ancestors[other, level]:
                                level -= 1
                            loss += node_loss[ancestors[one, level]]
                    if loss < best:
                        best, choice = loss, place
            else:
                parts.low[group, :], parts.high[group, :] = np.inf, -np.inf
                parts.first[group, :], parts.last[group, :] = _FAR, -1
            row = free[choice]
            _attach(parts, group, row)
            _include(rows, parts, group, row)
            left -= 1
            free[choice] = free[left]
            numbers[choice, :] = numbers[left, :]
            codes[choice, :] = codes[left, :]
        parts.size[group] = k
        parts.loss[group] = _own_loss(rows, parts, group)
        group += 1
    for i in range(left):
        choice, _ = _cheapest(rows, parts, free[i], -1, np.inf)
        _join(rows, parts, choice, free[i])


# ── ends of a group and what is next to them ────────────────────────────────────────────────────


class Ends(NamedTuple):
    """Of a group in each attribute: lowest, how many have it, the next; highest likewise."""

    numbers: Floats  # (intervals, 6)
    codes: Longs  # (categories, 6)


@kernel
def _new_ends(rows: Rows) -> Ends:
    return Ends(np.empty((len(rows.weights), 6)), np.empty((len(rows.first), 6), dtype=np.int64))


@kernel
def _clear(ends: Ends) -> None:
    for j in range(len(ends.numbers)):
        ends.numbers[j, 0], ends.numbers[j, 1], ends.numbers[j, 2] = np.inf, 0, np.inf
        ends.numbers[j, 3], ends.numbers[j, 4], ends.numbers[j, 5] = -np.inf, 0, -np.inf
    for j in range(len(ends.codes)):
        ends.codes[j, 0], ends.codes[j, 1], ends.codes[j, 2] = _FAR, 0, _FAR
        ends.codes[j, 3], ends.codes[j, 4], ends.codes[j, 5] = -1, 0, -1


@kernel
def _extend(rows: Rows, ends: Ends, row: int) -> None:
    numbers, codes = ends.numbers, ends.codes
    for j in range(len(numbers)):
        value = rows.numbers[row, j]
        if value < numbers[j, 0]:
            numbers[j, 2], numbers[j, 0], numbers[j, 1] = numbers[j, 0], value, 1
        elif value == numbers[j, 0]:
            numbers[j, 1] += 1
        elif value < numbers[j, 2]:
            numbers[j, 2] = value
        if value > numbers[j, 3]:
            numbers[j, 5], numbers[j, 3], numbers[j, 4] = numbers[j, 3], value, 1
        elif value == numbers[j, 3]:
            numbers[j, 4] += 1
        elif value > numbers[j, 5]:
            numbers[j, 5] = value
    for j in range(len(codes)):
        leaf = rows.codes[row, j]
        if leaf < codes[j, 0]:
            codes[j, 2], codes[j, 0], codes[j, 1] = codes[j, 0], leaf, 1
        elif leaf == codes[j, 0]:
            codes[j, 1] += 1
        elif leaf < codes[j, 2]:
            codes[j, 2] = leaf
        if leaf > codes[j, 3]:
            codes[j, 5], codes[j, 3], codes[j, 4] = codes[j, 3], leaf, 1
        elif leaf == codes[j, 3]:
            codes[j, 4] += 1
        elif leaf > codes[j, 5]:
            codes[j, 5] = leaf


@kernel
def _measure_ends(rows: Rows, parts: Parts, group: int, ends: Ends) -> None:
    _clear(ends)
    row = parts.head[group]
    while row >= 0:
        _extend(rows, ends, row)
        row = parts.next[row]


@kernel
def _loss_without(rows: Rows, ends: Ends, row: int) -> float:
    """The loss of a group without one of its members."""
    loss = 0.0
    for j in range(len(ends.numbers)):
        low, high, value = ends.numbers[j, 0], ends.numbers[j, 3], rows.numbers[row, j]
        if value == low and ends.numbers[j, 1] == 1:
            low = ends.numbers[j, 2]
        if value == high and ends.numbers[j, 4] == 1:
            high = ends.numbers[j, 5]
        if high > low:
            loss += rows.weights[j] * min(high - low, 1.0)
    for j in range(len(ends.codes)):
        one, other, leaf = ends.codes[j, 0], ends.codes[j, 3], rows.codes[row, j]
        if leaf == one and ends.codes[j, 1] == 1:
            one = ends.codes[j, 2]
        if leaf == other and ends.codes[j, 4] == 1:
            other = ends.codes[j, 5]
        if other > one:
            loss += pair_loss(rows, j, one, other)
    return loss


class Scratch(NamedTuple):
    """What sweeps need."""

    members: Longs  # (rows,)
    homes: Longs  # (rows,)
    ends: Ends


@kernel
def new_scratch(rows: Rows) -> Scratch:
    """Room for the largest group."""
    count = len(rows.numbers)
    return Scratch(
        np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64), _new_ends(rows)
    )


# ── rows that go elsewhere ──────────────────────────────────────────────────────────────────────


@kernel
def _cheapest(rows: Rows, parts: Parts, row: int, own: int, limit: float) -> tuple[int, float]:
    """The group, other than its own, whose loss a row raises least and by less than the limit."""
    numbers, codes, weights = rows.numbers[row], rows.codes[row], rows.weights
    low, high, first, last = parts.low, parts.high, parts.first, parts.last
    sizes, losses = parts.size, parts.loss
    tree_first, leaves, start, pairs = rows.first, rows.leaves, rows.start, rows.pairs
    ancestors, depth, node_loss = rows.forest.ancestors, rows.forest.depth, rows.forest.loss
    best, choice = limit, -1
    for group in range(len(sizes)):
        size, before = sizes[group], losses[group]
        # A row raises a group's loss at least by what it loses there itself.
        if size == 0 or group == own or before >= best:
            continue
        most = (best + size * before) / (size + 1)
        loss = 0.0
        for j in range(len(weights)):
            value = numbers[j]
            above = high[group, j] if high[group, j] > value else value
            under = low[group, j] if low[group, j] < value else value
            width = above - under
            loss += weights[j] * (width if width < 1.0 else 1.0)
        for j in range(len(codes)):
            if loss >= most:
                break
            leaf = codes[j]
            one = first[group, j] if first[group, j] < leaf else leaf
            other = last[group, j] if last[group, j] > leaf else leaf
            if one != other:
                if start[j] >= 0:
                    place = (one - tree_first[j]) * leaves[j] + other - tree_first[j]
                    loss += pairs[start[j] + place]
                else:
                    level = depth[one] if depth[one] < depth[other] else depth[other]
                    while ancestors[one, level] != ancestors[other, level]:
                        level -= 1
                    loss += node_loss[ancestors[one, level]]
        if loss < most:
            rise = (size + 1) * loss - size * before
            if rise < best:
                best, choice = rise, group
    return choice, best


@kernel
def _dissolve(rows: Rows, parts: Parts, group: int, scratch: Scratch) -> bool:
    """Let all members go where each costs least, if that costs less than to keep them together."""
    members, homes = scratch.members, scratch.homes
    whole = parts.size[group] * parts.loss[group] - LEAST_GAIN
    count = _members(parts, group, members, 0)
    total = 0.0
    for i in range(count):
        choice, rise = _cheapest(rows, parts, members[i], group, whole - total)
        if choice < 0:
            return False
        total += rise
    # What one joins costs the next one more or less, so they go one by one, and perhaps return.
    total = 0.0
    for i in range(count):
        choice, rise = _cheapest(rows, parts, members[i], group, whole - total)
        if choice < 0:
            for back in range(i):
                _detach(parts, members[back])
                _attach(parts, group, members[back])
            for back in range(i):
                _recount(rows, parts, homes[back])
            _recount(rows, parts, group)
            return False
        total += rise
        homes[i] = choice
        _detach(parts, members[i])
        _join(rows, parts, choice, members[i])
    _recount(rows, parts, group)
    return True


@kernel
def _relocate(rows: Rows, parts: Parts, group: int, k: int, scratch: Scratch) -> None:
    """Let members go elsewhere, one by one, while the group has more than k."""
    members, ends = scratch.members, scratch.ends
    count = _members(parts, group, members, 0)
    _measure_ends(rows, parts, group, ends)
    for i in range(count):
        size = parts.size[group]
        if size <= k or parts.loss[group] == 0.0:
            break
        row = members[i]
        saved = size * parts.loss[group] - (size - 1) * _loss_without(rows, ends, row)
        choice, _ = _cheapest(rows, parts, row, group, saved - LEAST_GAIN)
        if choice >= 0:
            _detach(parts, row)
            _recount(rows, parts, group)
            _measure_ends(rows, parts, group, ends)
            _join(rows, parts, choice, row)


# ── some groups anew ────────────────────────────────────────────────────────────────────────────


@kernel
def _neighbours(rows: Rows, parts: Parts, group: int, nearest: Longs, rises: Floats) -> int:
    """The groups that fit best together with one; how many there are."""
    count, own = 0, parts.size[group]
    for other in range(len(parts.size)):
        size = parts.size[other]
        if other == group or size == 0:
            continue
        loss = 0.0
        for j in range(len(rows.weights)):
            high = max(parts.high[group, j], parts.high[other, j])
            low = min(parts.low[group, j], parts.low[other, j])
            loss += rows.weights[j] * min(high - low, 1.0)
        for j in range(len(rows.first)):
            one = min(parts.first[group, j], parts.first[other, j])
            last = max(parts.last[group, j], parts.last[other, j])
            loss += pair_loss(rows, j, one, last)
        # Of a large group, only some rows are likely to take part.
        rise = own * (loss - parts.loss[group]) + min(size, 2 * own) * (loss - parts.loss[other])
        if count < len(nearest) or rise < rises[count - 1]:
            place = min(count, len(nearest) - 1)
            while place > 0 and rises[place - 1] > rise:
                rises[place], nearest[place] = rises[place - 1], nearest[place - 1]
                place -= 1
            rises[place], nearest[place] = rise, other
            count = min(count + 1, len(nearest))
    return count


@kernel
def _sweep(rows: Rows, parts: Parts, k: int, scratch: Scratch) -> None:
    """Dissolve each group that costs more than its rows do elsewhere; of others, let rows go."""
    for group in range(len(parts.size)):
        if parts.size[group] == 0 or parts.loss[group] == 0.0:
            continue
        if not _dissolve(rows, parts, group, scratch) and parts.size[group] > k:
            _relocate(rows, parts, group, k, scratch)


@kernel
def _regroup(
    rows: Rows, parts: Parts, chosen: Longs, k: int, tries: int, random: np.random.Generator
) -> bool:
    """Form some groups anew from their rows, if that pays."""
    count, before = 0, 0.0
    for group in chosen:
        count += parts.size[group]
        before += parts.size[group] * parts.loss[group]
    own, filled = np.empty(count, dtype=np.int64), 0
    for group in chosen:
        filled = _members(parts, group, own, filled)
    some = _select(rows, own)
    scratch = new_scratch(some)
    best, labels = before - LEAST_GAIN, np.empty(0, dtype=np.int64)
    for _ in range(tries):
        new = new_parts(some, count // k)
        grow(some, new, k, random)
        _sweep(some, new, k, scratch)
        cost = total_loss(new)
        if cost < best:
            best, labels = cost, new.labels
    if len(labels) == 0:
        return False
    _replace(rows, parts, chosen, own, labels)
    return True


@kernel
def _select(rows: Rows, own: Longs) -> Rows:
    """Some of the rows of a block, as a block of their own."""
    return Rows(
        rows.numbers[own],
        rows.codes[own],
        rows.weights,
        rows.first,
        rows.leaves,
        rows.start,
        rows.pairs,
        rows.forest,
    )


@kernel
def _replace(rows: Rows, parts: Parts, chosen: Longs, own: Longs, labels: Longs) -> None:
    """Put the rows of some groups into new ones, which take their places and empty ones.

    There are places enough: no grouping into parts of k or more has more than n // k.
    """
    places, filled, other = np.empty(labels.max() + 1, dtype=np.int64), 0, 0
    for group in chosen:
        parts.head[group] = -1
        if filled < len(places):
            places[filled] = group
            filled += 1
    while filled < len(places):
        if parts.size[other] == 0:
            places[filled] = other
            filled += 1
        other += 1
    for i in range(len(own)):
        _attach(parts, places[labels[i]], own[i])
    for group in chosen:
        _recount(rows, parts, group)
    for group in places:
        _recount(rows, parts, group)


# ── rounds ──────────────────────────────────────────────────────────────────────────────────────


@kernel
def refine(
    rows: Rows,
    parts: Parts,  # INOUT
    k: int,
    neighbours: int,
    tries: int,
    random: np.random.Generator,
) -> None:
    """One round: dissolve and relocate, then form each group anew together with its neighbours.

    A group of 2k rows or more is formed anew on its own first, which may split it.
    """
    count, largest = len(parts.size), max((2 * neighbours + 2) * k, 40)
    nearest, rises = np.empty(neighbours, dtype=np.int64), np.empty(neighbours)
    chosen = np.empty(neighbours + 1, dtype=np.int64)
    _sweep(rows, parts, k, new_scratch(rows))
    for group in range(count):
        if parts.size[group] == 0 or parts.loss[group] == 0.0:
            continue
        if parts.size[group] >= 2 * k:
            chosen[0] = group
            _regroup(rows, parts, chosen[:1], k, tries, random)
        found = _neighbours(rows, parts, group, nearest, rises)
        chosen[0], size, many = group, parts.size[group], 1
        for i in range(found):
            if size + parts.size[nearest[i]] <= largest:
                chosen[many] = nearest[i]
                size += parts.size[nearest[i]]
                many += 1
        if many > 1:
            _regroup(rows, parts, chosen[:many], k, tries, random)
