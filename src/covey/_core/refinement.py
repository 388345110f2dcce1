"""Groups of a block of rows, formed greedily and then changed as long as that lowers the loss.

A group is told by the lowest and the highest of its members in every attribute: leaves stand in the
order of their tree, so the first and the last leaf of a group have the same common ancestor as all
of them. What a row adds to a group, and what its leaving saves, then takes one look at each
attribute. Every step leaves a legal grouping and lowers the cost by more than `LEAST_GAIN`.

The cost of a group is its information loss, that is its size times what each member loses, and
what the `Objective` says besides: a penalty for rows of another class than most, a price for sizes
beyond k. Rows may be left out of all groups, at a price of their own.
"""

from typing import NamedTuple

import numpy as np

from covey._core.arrays import Flags, Floats, Ints, Longs
from covey._core.jit import kernel
from covey._core.random import below
from covey._core.rules import COLUMN, Rules, counted, excess, forget

LEAST_GAIN = 1e-9
_FAR = 1 << 30
_CANDIDATES = 16  # rows that a group looks at more closely before it takes one in
# Of the type of rows and groups: kernels are compiled once more for a literal.
_NOBODY: int = np.int64(-1)  # type: ignore[assignment]


class Block(NamedTuple):
    """The rows of a block and what tells them apart."""

    numbers: Floats  # (rows, intervals) scaled to 0 … 1, missing further away
    codes: Ints  # (rows, categories) leaves of the forest
    weights: Floats  # (intervals,)
    first: Ints  # (categories,) first leaf of each tree
    leaves: Longs  # (categories,) its number of leaves
    start: Longs  # (categories,) where its losses of pairs of leaves begin, -1 for a large tree
    pairs: Floats  # loss of the common ancestor of two leaves, the lower one first
    ancestors: Ints  # of all nodes, for large trees
    depth: Ints
    loss: Floats


class Objective(NamedTuple):
    """What is wanted besides little loss."""

    k: int
    evenness: float  # what each member of a group of 2k pays for its size
    price: float  # of a row that is left out, infinite where none may be


class RowExtras(NamedTuple):
    """What is minded of rows besides their quasi-identifiers.

    Most tables have none of it, and what looks at it is slow, so kernels take None instead and are
    compiled for both: where there is nothing to mind, nothing of it is left in them.
    """

    classes: Ints  # (rows,)
    penalty: float  # for each member that is not of the most frequent class
    values: Ints  # (rows, columns) sensitive ones
    sorts: Longs  # (rows,) equal for rows of equal values
    rules: Rules  # what every group must keep of the values
    tally: Ints  # (2, values) of the group that is being judged


class Partition(NamedTuple):
    """The groups of a block; those of size 0 are not there."""

    labels: Longs  # (rows,) group of each row, -1 for one that is left out
    next: Longs  # (rows,) the next member of the same group, -1 for none
    previous: Longs  # (rows,)
    head: Longs  # (groups,) the first member, -1 for none
    size: Longs  # (groups,)
    loss: Floats  # (groups,) of each member
    extra: Floats  # (groups,) what the group costs besides
    low: Floats  # (groups, intervals)
    high: Floats  # (groups, intervals)
    first: Ints  # (groups, categories)
    last: Ints  # (groups, categories)


@kernel
def new_parts(rows: Block, groups: int) -> Partition:
    """Room for so many groups, all of them empty."""
    count, intervals, categories = len(rows.numbers), len(rows.weights), len(rows.first)
    return Partition(
        labels=np.full(count, -1, dtype=np.int64),
        next=np.full(count, -1, dtype=np.int64),
        previous=np.full(count, -1, dtype=np.int64),
        head=np.full(groups, -1, dtype=np.int64),
        size=np.zeros(groups, dtype=np.int64),
        loss=np.zeros(groups),
        extra=np.zeros(groups),
        low=np.empty((groups, intervals)),
        high=np.empty((groups, intervals)),
        first=np.empty((groups, categories), dtype=np.int32),
        last=np.empty((groups, categories), dtype=np.int32),
    )


# ── what groups cost ────────────────────────────────────────────────────────────────────────────


@kernel
def pair_loss(rows: Block, tree: int, one: int, other: int) -> float:
    """The loss of the common ancestor of two leaves, of which `one` does not come later."""
    if one == other:
        return 0.0
    if rows.start[tree] < 0:
        level = min(rows.depth[one], rows.depth[other])
        while rows.ancestors[one, level] != rows.ancestors[other, level]:
            level -= 1
        return rows.loss[rows.ancestors[one, level]]  # type: ignore[no-any-return]
    place = (one - rows.first[tree]) * rows.leaves[tree] + other - rows.first[tree]
    return rows.pairs[rows.start[tree] + place]  # type: ignore[no-any-return]


@kernel
def _own_loss(rows: Block, parts: Partition, group: int) -> float:
    loss = 0.0
    for j in range(len(rows.weights)):
        width = parts.high[group, j] - parts.low[group, j]
        loss += rows.weights[j] * (width if width < 1.0 else 1.0)
    for j in range(len(rows.first)):
        loss += pair_loss(rows, j, parts.first[group, j], parts.last[group, j])
    return loss


@kernel
def _include(rows: Block, parts: Partition, group: int, row: int) -> None:
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
def _extra(
    parts: Partition,
    aim: Objective,
    marks: RowExtras | None,
    group: int,
    leaving: int,
    joining: int,
) -> float:
    """What a group costs besides its loss, without one of its members or with one more, or -1."""
    size = parts.size[group] - (leaving >= 0) + (joining >= 0)
    extra = aim.evenness * size * (size - aim.k) / aim.k
    if marks is not None and marks.penalty > 0.0 and size > 0:
        extra += marks.penalty * (size - _majority(marks, parts, group, size, leaving, joining))
    return extra  # type: ignore[no-any-return]


@kernel
def _majority(
    marks: RowExtras, parts: Partition, group: int, size: int, leaving: int, joining: int
) -> int:
    """How many of them are of the most frequent class."""
    classes, filled = np.empty(size, dtype=np.int32), 0
    row = parts.head[group]
    while row >= 0:
        if row != leaving:
            classes[filled] = marks.classes[row]
            filled += 1
        row = parts.next[row]
    if joining >= 0:
        classes[filled] = marks.classes[joining]
    classes.sort()
    most, begin = 1, 0
    for i in range(1, size):
        if classes[i] != classes[begin]:
            begin = i
        most = max(most, i + 1 - begin)
    return most


@kernel
def _missed(
    marks: RowExtras,
    parts: Partition,
    group: int,
    other: int,
    leaving: int,
    joining: int,
    final: int,
) -> float:
    """By how much a group misses the rules: with another, without or with a row, or with -1.

    It is judged as one that will have `final` rows, or as it is if it has more.
    """
    size = parts.size[group] - (leaving >= 0) + (joining >= 0)
    if other >= 0:
        size += parts.size[other]
    return _excess(
        marks.rules,
        marks.tally,
        marks.values,
        parts.head,
        parts.next,
        (group, other),
        (leaving, joining),
        (size, max(size, final)),
    )


@kernel
def _excess(
    rules: Rules,
    tally: Ints,
    values: Ints,
    head: Longs,
    following: Longs,
    groups: tuple[int, int],
    rows: tuple[int, int],
    sizes: tuple[int, int],
) -> float:
    """The same from the arrays that it takes, since handing over all others takes longer."""
    places, total, rule = rules.places, 0.0, 0
    leaving, joining = rows
    while rule < len(places):
        column, found = places[rule, COLUMN], 0
        for group in groups:
            row = head[group] if group >= 0 else _NOBODY
            while row >= 0:
                if row != leaving:
                    found = counted(tally, values[row, column], found)
                row = following[row]
        if joining >= 0:
            found = counted(tally, values[joining, column], found)
        while rule < len(places) and places[rule, COLUMN] == column:
            total += excess(rules, rule, tally, found, sizes[0], sizes[1])
            rule += 1
        forget(tally, found)
    return total


@kernel
def _complies(marks: RowExtras, parts: Partition, group: int, leaving: int, joining: int) -> bool:
    """Whether a group keeps the rules without or with a row, or with -1."""
    return _missed(marks, parts, group, _NOBODY, leaving, joining, 0) == 0.0


@kernel
def _weigh(
    rows: Block, parts: Partition, aim: Objective, marks: RowExtras | None, group: int
) -> None:
    """The loss of a group and what it costs besides, from its ends, size and members."""
    parts.loss[group] = _own_loss(rows, parts, group) if parts.size[group] > 0 else 0.0
    parts.extra[group] = _extra(parts, aim, marks, group, _NOBODY, _NOBODY)


@kernel
def _recount(
    rows: Block, parts: Partition, aim: Objective, marks: RowExtras | None, group: int
) -> None:
    """All that is known of a group, from its members."""
    parts.low[group, :], parts.high[group, :] = np.inf, -np.inf
    parts.first[group, :], parts.last[group, :] = _FAR, -1
    row, size = parts.head[group], 0
    while row >= 0:
        _include(rows, parts, group, row)
        size += 1
        row = parts.next[row]
    parts.size[group] = size
    _weigh(rows, parts, aim, marks, group)


@kernel
def _cost(parts: Partition, group: int) -> float:
    return parts.size[group] * parts.loss[group] + parts.extra[group]  # type: ignore[no-any-return]


@kernel
def total_cost(parts: Partition, aim: Objective) -> float:
    """What all groups cost, and the rows that are left out."""
    total = 0.0
    for group in range(len(parts.size)):
        total += _cost(parts, group)
    left_out = np.sum(parts.labels < 0)
    return total + left_out * aim.price if left_out > 0 else total


# ── members ─────────────────────────────────────────────────────────────────────────────────────


@kernel
def _detach(parts: Partition, row: int) -> None:
    before, after = parts.previous[row], parts.next[row]
    if before >= 0:
        parts.next[before] = after
    else:
        parts.head[parts.labels[row]] = after
    if after >= 0:
        parts.previous[after] = before


@kernel
def _attach(parts: Partition, group: int, row: int) -> None:
    old = parts.head[group]
    parts.next[row], parts.previous[row] = old, -1
    if old >= 0:
        parts.previous[old] = row
    parts.head[group] = row
    parts.labels[row] = group


@kernel
def _join(
    rows: Block, parts: Partition, aim: Objective, marks: RowExtras | None, group: int, row: int
) -> None:
    """A row that is in no group joins one."""
    _attach(parts, group, row)
    _include(rows, parts, group, row)
    parts.size[group] += 1
    _weigh(rows, parts, aim, marks, group)


@kernel
def load(
    rows: Block, parts: Partition, aim: Objective, marks: RowExtras | None, labels: Longs
) -> None:
    """Take over a grouping."""
    for row in range(len(labels) - 1, -1, -1):
        if labels[row] >= 0:
            _attach(parts, labels[row], row)
    for group in range(len(parts.size)):
        _recount(rows, parts, aim, marks, group)


@kernel
def _members(parts: Partition, group: int, into: Longs, count: int) -> int:
    """Write the members of a group behind the first `count`; how many there are then."""
    row = parts.head[group]
    while row >= 0:
        into[count] = row
        count += 1
        row = parts.next[row]
    return count


# ── the greedy start ────────────────────────────────────────────────────────────────────────────


@kernel
def grow(
    rows: Block,
    parts: Partition,
    aim: Objective,
    marks: RowExtras | None,
    random: np.random.Generator,
) -> None:
    """Groups of k, each from a random row and those that cost least; the rest where it costs least.

    The free rows are kept together in arrays of their own, and sums are given up once they are
    above the best so far. A row of another class than the one before pays the penalty. Where there
    are rules, a group takes rows with which k could still keep them, if there are any; and once it
    has k, those that bring it nearer to keeping them.
    """
    k, intervals, categories = aim.k, len(rows.weights), len(rows.first)
    numbers, codes, weights = rows.numbers.copy(), rows.codes.copy(), rows.weights
    tree_first, leaves, start, pairs = rows.first, rows.leaves, rows.start, rows.pairs
    ancestors, depth, node_loss = rows.ancestors, rows.depth, rows.loss
    free, left = np.arange(len(numbers)), len(numbers)
    if marks is not None:
        step, looked = 0, np.zeros(marks.sorts.max() + 1, dtype=np.int64)
        fits = np.zeros(len(looked), dtype=np.bool_)
    for group in range(len(free) // k):
        if left < k:
            break
        low, high = parts.low[group], parts.high[group]
        first, last = parts.first[group], parts.last[group]
        low[:], high[:], first[:], last[:] = np.inf, -np.inf, _FAR, -1
        own, best, size, choice = 0.0, 0.0, 0, below(random, left)
        while choice >= 0:
            row = free[choice]
            _attach(parts, group, row)
            _include(rows, parts, group, row)
            size += 1
            left -= 1
            free[choice] = free[left]
            numbers[choice, :] = numbers[left, :]
            codes[choice, :] = codes[left, :]
            parts.size[group] = size
            if marks is not None:
                most = _missed(marks, parts, group, _NOBODY, _NOBODY, _NOBODY, k)
                if left == 0 or (size >= k and most == 0.0):
                    break
                step += 1
                if size >= k:
                    most -= LEAST_GAIN
            elif size == k:
                break
            if best > own:
                own = _own_loss(rows, parts, group)
            # Rows before the last one that fitted do not fit: the search goes on behind it.
            place, best, choice = choice - 1, np.inf, -1
            for look in range(left if marks is None else 2 * left):
                if look == left and (choice >= 0 or size >= k):
                    break  # else nobody keeps the rules, and a second time around anyone will do
                place = place + 1 if place + 1 < left else 0
                loss = 0.0
                if marks is not None and marks.classes[free[place]] != marks.classes[row]:
                    loss = marks.penalty / (size + 1)
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
                    if marks is not None and look < left:
                        sort = marks.sorts[free[place]]
                        if looked[sort] != step:
                            looked[sort], other = step, free[place]
                            now = _missed(marks, parts, group, _NOBODY, _NOBODY, other, k)
                            fits[sort] = now <= most
                        if not fits[sort]:
                            continue
                    best, choice = loss, place
                    if loss <= own:
                        break
        _weigh(rows, parts, aim, marks, group)
    for i in range(left):
        choice, _ = _cheapest(rows, parts, aim, marks, free[i], _NOBODY, np.inf)
        if choice < 0:  # whichever it joins, rules will have to be set right
            choice, _ = _cheapest(rows, parts, aim, None, free[i], _NOBODY, np.inf)
        _join(rows, parts, aim, marks, choice, free[i])


# ── ends of a group and what is next to them ────────────────────────────────────────────────────


class Extremes(NamedTuple):
    """Of a group in each attribute: lowest, how many have it, the next; highest likewise."""

    numbers: Floats  # (intervals, 6)
    codes: Longs  # (categories, 6)


@kernel
def _new_ends(rows: Block) -> Extremes:
    return Extremes(
        np.empty((len(rows.weights), 6)), np.empty((len(rows.first), 6), dtype=np.int64)
    )


@kernel
def _clear(ends: Extremes) -> None:
    for j in range(len(ends.numbers)):
        ends.numbers[j, 0], ends.numbers[j, 1], ends.numbers[j, 2] = np.inf, 0, np.inf
        ends.numbers[j, 3], ends.numbers[j, 4], ends.numbers[j, 5] = -np.inf, 0, -np.inf
    for j in range(len(ends.codes)):
        ends.codes[j, 0], ends.codes[j, 1], ends.codes[j, 2] = _FAR, 0, _FAR
        ends.codes[j, 3], ends.codes[j, 4], ends.codes[j, 5] = -1, 0, -1


@kernel
def _extend(rows: Block, ends: Extremes, row: int) -> None:
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
def _measure_ends(rows: Block, parts: Partition, group: int, ends: Extremes) -> None:
    """The ends of a group and what is next to them, from its members."""
    _clear(ends)
    row = parts.head[group]
    while row >= 0:
        _extend(rows, ends, row)
        row = parts.next[row]
    parts.low[group, :], parts.high[group, :] = ends.numbers[:, 0], ends.numbers[:, 3]
    parts.first[group, :], parts.last[group, :] = ends.codes[:, 0], ends.codes[:, 3]


@kernel
def _loss_without(rows: Block, ends: Extremes, row: int) -> float:
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
    ends: Extremes
    theirs: Extremes  # of a second group
    without: Extremes  # of the first one without a member
    spare: Extremes  # of the second one without a member


@kernel
def new_scratch(rows: Block) -> Scratch:
    """Room for the largest group."""
    count = len(rows.numbers)
    return Scratch(
        np.empty(count, dtype=np.int64),
        np.empty(count, dtype=np.int64),
        _new_ends(rows),
        _new_ends(rows),
        _new_ends(rows),
        _new_ends(rows),
    )


# ── rows that go elsewhere ──────────────────────────────────────────────────────────────────────


@kernel
def _cheapest(
    rows: Block,
    parts: Partition,
    aim: Objective,
    marks: RowExtras | None,
    row: int,
    own: int,
    limit: float,
) -> tuple[int, float]:
    """The group, other than its own, whose cost a row raises least and by less than the limit."""
    numbers, codes, weights = rows.numbers[row], rows.codes[row], rows.weights
    low, high, first, last = parts.low, parts.high, parts.first, parts.last
    sizes, losses = parts.size, parts.loss
    tree_first, leaves, start, pairs = rows.first, rows.leaves, rows.start, rows.pairs
    ancestors, depth, node_loss = rows.ancestors, rows.depth, rows.loss
    even = aim.evenness / aim.k
    best, choice = limit, -1
    for group in range(len(sizes)):
        size, before = sizes[group], losses[group]
        larger = even * (2 * size + 1 - aim.k)
        # A row raises a group's loss at least by what it loses there itself.
        if size == 0 or group == own or before + larger >= best:
            continue
        most = (best - larger + size * before) / (size + 1)
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
            rise = (size + 1) * loss - size * before + larger
            if marks is not None and rise < best:
                rise += _extra(parts, aim, marks, group, _NOBODY, row) - parts.extra[group] - larger
                if rise < best and not _complies(marks, parts, group, _NOBODY, row):
                    continue
            if rise < best:
                best, choice = rise, group
    return choice, best


@kernel
def _leave_out(parts: Partition, row: int) -> None:
    """A row that is in no group any more stays so."""
    parts.labels[row] = -1


@kernel
def _dissolve(
    rows: Block,
    parts: Partition,
    aim: Objective,
    marks: RowExtras | None,
    group: int,
    scratch: Scratch,
) -> bool:
    """Let all members go where each costs least, if that costs less than to keep them together."""
    members, homes = scratch.members, scratch.homes
    whole = _cost(parts, group) - LEAST_GAIN
    count = _members(parts, group, members, 0)
    total = 0.0
    for i in range(count):
        most = min(whole - total, aim.price)
        choice, rise = _cheapest(rows, parts, aim, marks, members[i], group, most)
        if choice < 0 and aim.price >= whole - total:
            return False
        total += rise
    # What one joins costs the next one more or less, so they go one by one, and perhaps return.
    total = 0.0
    for i in range(count):
        most = min(whole - total, aim.price)
        choice, rise = _cheapest(rows, parts, aim, marks, members[i], group, most)
        if choice < 0 and aim.price >= whole - total:
            _bring_back(rows, parts, aim, marks, group, members[:i], homes[:i])
            return False
        total += rise
        homes[i] = choice
        _detach(parts, members[i])
        if choice >= 0:
            _join(rows, parts, aim, marks, choice, members[i])
        else:
            _leave_out(parts, members[i])
    _recount(rows, parts, aim, marks, group)
    return True


@kernel
def _bring_back(
    rows: Block,
    parts: Partition,
    aim: Objective,
    marks: RowExtras | None,
    group: int,
    members: Longs,
    homes: Longs,
) -> None:
    """Members that have gone return from their new homes."""
    for i in range(len(members)):
        if homes[i] >= 0:
            _detach(parts, members[i])
        _attach(parts, group, members[i])
    for i in range(len(members)):
        if homes[i] >= 0 and not np.any(homes[:i] == homes[i]):
            _recount(rows, parts, aim, marks, homes[i])
    _recount(rows, parts, aim, marks, group)


@kernel
def _relocate(
    rows: Block,
    parts: Partition,
    aim: Objective,
    marks: RowExtras | None,
    group: int,
    scratch: Scratch,
) -> None:
    """Let members go elsewhere, one by one, while the group has more than k."""
    members, ends = scratch.members, scratch.ends
    count = _members(parts, group, members, 0)
    _measure_ends(rows, parts, group, ends)
    for i in range(count):
        size = parts.size[group]
        if size <= aim.k or _cost(parts, group) == 0.0:
            break
        row = members[i]
        cost = (size - 1) * _loss_without(rows, ends, row)
        saved = (
            _cost(parts, group) - cost - _extra(parts, aim, marks, group, row, _NOBODY) - LEAST_GAIN
        )
        choice, _ = _cheapest(rows, parts, aim, marks, row, group, min(saved, aim.price))
        if choice < 0 and aim.price >= saved:
            continue
        if marks is not None and not _complies(marks, parts, group, row, _NOBODY):
            continue
        _detach(parts, row)
        parts.size[group] -= 1
        _measure_ends(rows, parts, group, ends)
        _weigh(rows, parts, aim, marks, group)
        if choice >= 0:
            _join(rows, parts, aim, marks, choice, row)
        else:
            _leave_out(parts, row)


@kernel
def _exchange(
    rows: Block, parts: Partition, aim: Objective, marks: RowExtras, group: int, scratch: Scratch
) -> None:
    """Give members to groups where they cost little, each for one of theirs.

    Where rules forbid that a row goes, one that is like it in what they ask for may come instead.
    """
    members, ends, theirs = scratch.members, scratch.ends, scratch.theirs
    count = _members(parts, group, members, 0)
    _measure_ends(rows, parts, group, ends)
    for i in range(count):
        row, size = members[i], parts.size[group]
        loss = _loss_without(rows, ends, row)
        saved = size * (parts.loss[group] - loss) - LEAST_GAIN
        if size < 2 or saved <= 0.0:
            continue
        home, _ = _cheapest(rows, parts, aim, None, row, group, saved)
        if home < 0:
            continue
        _leave(rows, ends, row, scratch.without)
        _measure_ends(rows, parts, home, theirs)
        _extend(rows, theirs, row)
        many, best, choice = parts.size[home], _cost(parts, group) + _cost(parts, home), _NOBODY
        best -= LEAST_GAIN
        other = parts.head[home]
        while other >= 0:
            cost = size * _loss_with(rows, scratch.without, other)
            if cost < best:
                cost += many * _loss_without(rows, theirs, other)
                cost += _extra_of_swap(parts, aim, marks, group, home, row, other)
                if cost < best and _may_swap(marks, parts, group, home, row, other):
                    best, choice = cost, other
            other = parts.next[other]
        if choice >= 0:
            _swap(rows, parts, aim, marks, group, choice, row)
            _measure_ends(rows, parts, group, ends)


@kernel
def _extra_of_swap(
    parts: Partition, aim: Objective, marks: RowExtras, group: int, home: int, row: int, other: int
) -> float:
    if marks.penalty == 0.0:
        return parts.extra[group] + parts.extra[home]  # type: ignore[no-any-return]
    first = _extra(parts, aim, marks, group, row, other)
    return first + _extra(parts, aim, marks, home, other, row)


@kernel
def _may_swap(
    marks: RowExtras, parts: Partition, group: int, home: int, row: int, other: int
) -> bool:
    if marks.sorts[row] == marks.sorts[other]:
        return True
    return _complies(marks, parts, group, row, other) and _complies(marks, parts, home, other, row)


@kernel
def _leave(rows: Block, ends: Extremes, row: int, into: Extremes) -> None:
    """The ends of a group without one of its members."""
    for j in range(len(ends.numbers)):
        low, high, value = ends.numbers[j, 0], ends.numbers[j, 3], rows.numbers[row, j]
        if value == low and ends.numbers[j, 1] == 1:
            low = ends.numbers[j, 2]
        if value == high and ends.numbers[j, 4] == 1:
            high = ends.numbers[j, 5]
        into.numbers[j, 0], into.numbers[j, 3] = low, high
    for j in range(len(ends.codes)):
        one, end, leaf = ends.codes[j, 0], ends.codes[j, 3], rows.codes[row, j]
        if leaf == one and ends.codes[j, 1] == 1:
            one = ends.codes[j, 2]
        if leaf == end and ends.codes[j, 4] == 1:
            end = ends.codes[j, 5]
        into.codes[j, 0], into.codes[j, 3] = one, end


@kernel
def _loss_with(rows: Block, ends: Extremes, row: int) -> float:
    """The loss of a group of these ends with one more row."""
    loss = 0.0
    for j in range(len(rows.weights)):
        value = rows.numbers[row, j]
        width = max(ends.numbers[j, 3], value) - min(ends.numbers[j, 0], value)
        loss += rows.weights[j] * min(width, 1.0)
    for j in range(len(rows.first)):
        leaf = rows.codes[row, j]
        loss += pair_loss(rows, j, min(ends.codes[j, 0], leaf), max(ends.codes[j, 3], leaf))
    return loss


@kernel
def _take_back(rows: Block, parts: Partition, aim: Objective, marks: RowExtras | None) -> None:
    """Rows that were left out join groups where they cost less than that."""
    for row in range(len(parts.labels)):
        if parts.labels[row] < 0:
            choice, _ = _cheapest(rows, parts, aim, marks, row, _NOBODY, aim.price - LEAST_GAIN)
            if choice >= 0:
                _join(rows, parts, aim, marks, choice, row)


@kernel
def offers(rows: Block, parts: Partition, aim: Objective, marks: RowExtras | None) -> Floats:
    """What the return of each row that is left out would cost, in their order."""
    out = np.flatnonzero(parts.labels < 0)
    rises = np.empty(len(out))
    for i in range(len(out)):
        rises[i] = _cheapest(rows, parts, aim, marks, out[i], _NOBODY, np.inf)[1]
    return rises


@kernel
def settle(
    rows: Block, parts: Partition, aim: Objective, marks: RowExtras | None, returning: Flags
) -> None:
    """Some of the rows that are left out join the groups where they cost least."""
    for row in range(len(returning)):
        if returning[row]:
            choice, _ = _cheapest(rows, parts, aim, marks, row, _NOBODY, np.inf)
            if choice >= 0:
                _join(rows, parts, aim, marks, choice, row)


# ── rules ───────────────────────────────────────────────────────────────────────────────────────


@kernel
def keeps(marks: RowExtras) -> bool:
    """Whether all rows of a block together keep the rules."""
    size, missed = len(marks.values), 0.0
    for rule in range(len(marks.rules.places)):
        found = 0
        for value in marks.values[:, marks.rules.places[rule, COLUMN]]:
            found = counted(marks.tally, value, found)
        missed += excess(marks.rules, rule, marks.tally, found, size, size)
        forget(marks.tally, found)
    return missed == 0.0


@kernel
def repair(rows: Block, parts: Partition, aim: Objective, marks: RowExtras | None) -> bool:
    """Change groups that miss the rules until all keep them; whether they do.

    Such a group takes in rows of others, mostly for rows of its own, or goes together with another
    group, whatever costs less for each step towards the rules. A union of groups that keep the
    rules keeps them too, so that a block which keeps them as a whole can be repaired.
    """
    if marks is not None:
        scratch = new_scratch(rows)
        for group in range(len(parts.size)):
            while _take_in(rows, parts, aim, marks, group, scratch):
                pass
            if not _merge(rows, parts, aim, marks, group):
                return False
    return True


@kernel
def _take_in(
    rows: Block, parts: Partition, aim: Objective, marks: RowExtras, group: int, scratch: Scratch
) -> bool:
    """Take rows of others in as long as these are the cheapest steps; whether to look anew."""
    missed, took = 0.0, False
    if parts.size[group] > 0:
        missed = _missed(marks, parts, group, _NOBODY, _NOBODY, _NOBODY, 0)
    if missed == 0.0:
        return False
    merging = _merging_rate(rows, parts, marks, group, missed)
    _measure_ends(rows, parts, group, scratch.ends)
    near, steps = np.empty(_CANDIDATES, dtype=np.int64), np.empty(marks.sorts.max() + 1)
    count = _helpful(rows, parts, marks, group, missed, near)
    while missed > 0.0:
        best, choice, back = merging, _NOBODY, _NOBODY
        for row in near[:count]:
            if parts.labels[row] != group:
                rate, other = _exchange_rate(
                    rows, parts, aim, marks, group, row, missed, steps, scratch
                )
                # Of a swap and a union that cost the same, a swap leaves more groups.
                if rate < best or (rate <= merging and choice < 0):
                    best, choice, back = rate, row, other
        if choice < 0:
            return took
        _swap(rows, parts, aim, marks, group, choice, back)
        _measure_ends(rows, parts, group, scratch.ends)
        missed, took = _missed(marks, parts, group, _NOBODY, _NOBODY, _NOBODY, 0), True
    return False


@kernel
def _merging_rate(
    rows: Block, parts: Partition, marks: RowExtras, group: int, missed: float
) -> float:
    """What it costs to put a group together with another one, for each step towards the rules."""
    partner, rise = _partner(rows, parts, marks, group)
    if partner < 0:
        return np.inf
    before = missed + _missed(marks, parts, partner, _NOBODY, _NOBODY, _NOBODY, 0)
    after = _missed(marks, parts, group, partner, _NOBODY, _NOBODY, 0)
    return rise / max(before - after, LEAST_GAIN)


@kernel
def _swap(
    rows: Block,
    parts: Partition,
    aim: Objective,
    marks: RowExtras | None,
    group: int,
    row: int,
    other: int,
) -> None:
    """A row of another group comes, and a member goes there, or nobody if that is -1."""
    home = parts.labels[row]
    _detach(parts, row)
    if other >= 0:
        _detach(parts, other)
        _attach(parts, home, other)
    _attach(parts, group, row)
    _recount(rows, parts, aim, marks, home)
    _recount(rows, parts, aim, marks, group)


@kernel
def _helpful(
    rows: Block, parts: Partition, marks: RowExtras, group: int, missed: float, near: Longs
) -> int:
    """The rows of other groups that widen one least, of those which bring it nearer to the rules.

    How many there are; they are written in that order. The loss is spelled out, as in `_cheapest`:
    a call for each row of a block took ten times as long.
    """
    numbers, codes, weights, pairs = rows.numbers, rows.codes, rows.weights, rows.pairs
    tree_first, leaves, start = rows.first, rows.leaves, rows.start
    ancestors, depth, node_loss = rows.ancestors, rows.depth, rows.loss
    low, high, first, last = (
        parts.low[group],
        parts.high[group],
        parts.first[group],
        parts.last[group],
    )
    labels, sorts = parts.labels, marks.sorts
    helps = np.zeros(sorts.max() + 1, dtype=np.int8)  # 1 yes, -1 no, 0 not known yet
    losses, count, limit = np.empty(len(near)), 0, np.inf
    for row in range(len(labels)):
        if labels[row] < 0 or labels[row] == group or helps[sorts[row]] < 0:
            continue
        loss = 0.0
        for j in range(len(weights)):
            value = numbers[row, j]
            above = high[j] if high[j] > value else value
            under = low[j] if low[j] < value else value
            width = above - under
            loss += weights[j] * (width if width < 1.0 else 1.0)
        for j in range(len(first)):
            if loss >= limit:
                break
            leaf = codes[row, j]
            one = first[j] if first[j] < leaf else leaf
            other = last[j] if last[j] > leaf else leaf
            if one != other:
                if start[j] >= 0:
                    pair = (one - tree_first[j]) * leaves[j] + other - tree_first[j]
                    loss += pairs[start[j] + pair]
                else:
                    level = depth[one] if depth[one] < depth[other] else depth[other]
                    while ancestors[one, level] != ancestors[other, level]:
                        level -= 1
                    loss += node_loss[ancestors[one, level]]
        if loss >= limit:
            continue
        if helps[sorts[row]] == 0:
            after = _missed(marks, parts, group, _NOBODY, _NOBODY, row, 0)
            helps[sorts[row]] = 1 if after < missed - LEAST_GAIN else -1
            if helps[sorts[row]] < 0:
                continue
        place = min(count, len(near) - 1)
        while place > 0 and losses[place - 1] > loss:
            losses[place], near[place] = losses[place - 1], near[place - 1]
            place -= 1
        losses[place], near[place] = loss, row
        count = min(count + 1, len(near))
        limit = losses[-1] if count == len(near) else np.inf
    return count


@kernel
def _exchange_rate(
    rows: Block,
    parts: Partition,
    aim: Objective,
    marks: RowExtras,
    group: int,
    row: int,
    missed: float,
    steps: Floats,  # (sorts,) room
    scratch: Scratch,
) -> tuple[float, int]:
    """What it costs to take a row in, for each step towards the rules; and who leaves for it."""
    home, ends, theirs = parts.labels[row], scratch.ends, scratch.theirs
    size, many = parts.size[group], parts.size[home]
    before = size * parts.loss[group] + many * parts.loss[home]
    sides = missed, _missed(marks, parts, home, _NOBODY, _NOBODY, _NOBODY, 0)
    _measure_ends(rows, parts, home, theirs)
    best, choice = np.inf, _NOBODY
    if many > aim.k:
        step = _step(marks, parts, group, home, row, _NOBODY, sides)
        cost = (size + 1) * _loss_with(rows, ends, row) - before
        cost += (many - 1) * _loss_without(rows, theirs, row)
        best = cost / step if step > 0.0 else np.inf
    _leave(rows, theirs, row, scratch.spare)
    steps[:] = np.inf  # not known yet
    steps[marks.sorts[row]] = 0.0
    other = parts.head[group]
    while other >= 0:
        sort = marks.sorts[other]
        if steps[sort] == np.inf:
            steps[sort] = _step(marks, parts, group, home, row, other, sides)
        if steps[sort] > 0.0:
            _leave(rows, ends, other, scratch.without)
            cost = size * _loss_with(rows, scratch.without, row) - before
            cost += many * _loss_with(rows, scratch.spare, other)
            if cost / steps[sort] < best:
                best, choice = cost / steps[sort], other
        other = parts.next[other]
    return best, choice


@kernel
def _step(
    marks: RowExtras,
    parts: Partition,
    group: int,
    home: int,
    row: int,
    other: int,
    missed: tuple[float, float],
) -> float:
    """By how much less two groups miss the rules after a swap; 0 if either misses them by more."""
    own = missed[0] - _missed(marks, parts, group, _NOBODY, other, row, 0)
    if own <= LEAST_GAIN:
        return 0.0
    theirs = missed[1] - _missed(marks, parts, home, _NOBODY, row, other, 0)
    return own + theirs if theirs >= 0.0 else 0.0


@kernel
def merge(rows: Block, parts: Partition, aim: Objective, marks: RowExtras | None) -> bool:
    """Put groups that miss the rules together with others until all keep them; whether they do."""
    if marks is not None:
        for group in range(len(parts.size)):
            if not _merge(rows, parts, aim, marks, group):
                return False
    return True


@kernel
def _merge(rows: Block, parts: Partition, aim: Objective, marks: RowExtras, group: int) -> bool:
    while parts.size[group] > 0 and not _complies(marks, parts, group, _NOBODY, _NOBODY):
        partner, _ = _partner(rows, parts, marks, group)
        if partner < 0:
            return False
        _unite(rows, parts, aim, marks, group, partner)
        group = partner
    return True


@kernel
def _partner(rows: Block, parts: Partition, marks: RowExtras, group: int) -> tuple[int, float]:
    """The group with which one keeps the rules at least cost; the cheapest one if with none."""
    best, choice, least, nearest = np.inf, _NOBODY, np.inf, _NOBODY
    size, before = parts.size[group], parts.size[group] * parts.loss[group]
    for other in range(len(parts.size)):
        theirs = parts.size[other]
        if theirs == 0 or other == group:
            continue
        loss = 0.0
        for j in range(len(rows.weights)):
            above = max(parts.high[group, j], parts.high[other, j])
            under = min(parts.low[group, j], parts.low[other, j])
            loss += rows.weights[j] * min(above - under, 1.0)
        for j in range(len(rows.first)):
            one = min(parts.first[group, j], parts.first[other, j])
            end = max(parts.last[group, j], parts.last[other, j])
            loss += pair_loss(rows, j, one, end)
        rise = (size + theirs) * loss - before - theirs * parts.loss[other]
        if rise < least:
            least, nearest = rise, other
        if rise < best and _missed(marks, parts, group, other, _NOBODY, _NOBODY, 0) == 0.0:
            best, choice = rise, other
    return (choice, best) if choice >= 0 else (nearest, least)


@kernel
def _unite(
    rows: Block, parts: Partition, aim: Objective, marks: RowExtras | None, group: int, other: int
) -> None:
    """All rows of one group go to another."""
    row = parts.head[group]
    while row >= 0:
        after = parts.next[row]
        _attach(parts, other, row)
        row = after
    parts.head[group] = -1
    _recount(rows, parts, aim, marks, group)
    _recount(rows, parts, aim, marks, other)


# ── some groups anew ────────────────────────────────────────────────────────────────────────────


@kernel
def _neighbours(rows: Block, parts: Partition, group: int, nearest: Longs, rises: Floats) -> int:
    """The groups that fit best together with one; how many there are."""
    weights, pairs = rows.weights, rows.pairs
    tree_first, leaves, start = rows.first, rows.leaves, rows.start
    ancestors, depth, node_loss = rows.ancestors, rows.depth, rows.loss
    lows, highs, firsts, lasts = parts.low, parts.high, parts.first, parts.last
    low, high, first, last = lows[group], highs[group], firsts[group], lasts[group]
    sizes, losses = parts.size, parts.loss
    count, size, before = 0, sizes[group], losses[group]
    for other in range(len(sizes)):
        if other == group or sizes[other] == 0:
            continue
        # Of a large group, only some rows are likely to take part.
        theirs = sizes[other] if sizes[other] < 2 * size else 2 * size
        now, most = size * before + theirs * losses[other], np.inf
        if count == len(nearest):
            most = (rises[count - 1] + now) / (size + theirs)
        loss = 0.0
        for j in range(len(weights)):
            above = highs[other, j] if highs[other, j] > high[j] else high[j]
            under = lows[other, j] if lows[other, j] < low[j] else low[j]
            width = above - under
            loss += weights[j] * (width if width < 1.0 else 1.0)
        for j in range(len(first)):
            if loss >= most:
                break
            one = firsts[other, j] if firsts[other, j] < first[j] else first[j]
            end = lasts[other, j] if lasts[other, j] > last[j] else last[j]
            if one != end:
                if start[j] >= 0:
                    place = (one - tree_first[j]) * leaves[j] + end - tree_first[j]
                    loss += pairs[start[j] + place]
                else:
                    level = depth[one] if depth[one] < depth[end] else depth[end]
                    while ancestors[one, level] != ancestors[end, level]:
                        level -= 1
                    loss += node_loss[ancestors[one, level]]
        if loss >= most:
            continue
        rise = (size + theirs) * loss - now
        place = min(count, len(nearest) - 1)
        while place > 0 and rises[place - 1] > rise:
            rises[place], nearest[place] = rises[place - 1], nearest[place - 1]
            place -= 1
        rises[place], nearest[place] = rise, other
        count = min(count + 1, len(nearest))
    return count


@kernel
def sweep(
    rows: Block, parts: Partition, aim: Objective, marks: RowExtras | None, scratch: Scratch
) -> None:
    """Dissolve each group that costs more than its rows do elsewhere; of others, let rows go."""
    if aim.price < np.inf:
        _take_back(rows, parts, aim, marks)
    for group in range(len(parts.size)):
        if parts.size[group] == 0 or _cost(parts, group) == 0.0:
            continue
        if _dissolve(rows, parts, aim, marks, group, scratch):
            continue
        if parts.size[group] > aim.k:
            _relocate(rows, parts, aim, marks, group, scratch)
        if marks is not None:
            _exchange(rows, parts, aim, marks, group, scratch)


@kernel
def _regroup(
    rows: Block,
    parts: Partition,
    aim: Objective,
    marks: RowExtras | None,
    chosen: Longs,
    tries: int,
    random: np.random.Generator,
) -> bool:
    """Form some groups anew from their rows, if that pays."""
    count, before = 0, 0.0
    for group in chosen:
        count += parts.size[group]
        before += _cost(parts, group)
    own, filled = np.empty(count, dtype=np.int64), 0
    for group in chosen:
        filled = _members(parts, group, own, filled)
    some, marked = _select(rows, own), _select_marks(marks, own)
    scratch = new_scratch(some)
    best, labels = before - LEAST_GAIN, np.empty(0, dtype=np.int64)
    for _ in range(tries):
        new = new_parts(some, count // aim.k)
        grow(some, new, aim, marked, random)
        if not merge(some, new, aim, marked):
            continue
        sweep(some, new, aim, marked, scratch)
        cost = total_cost(new, aim)
        if cost < best:
            best, labels = cost, new.labels
    if len(labels) == 0:
        return False
    _replace(rows, parts, aim, marks, chosen, own, labels)
    return True


@kernel
def _select(rows: Block, own: Longs) -> Block:
    """Some of the rows of a block, as a block of their own."""
    return Block(
        rows.numbers[own],
        rows.codes[own],
        rows.weights,
        rows.first,
        rows.leaves,
        rows.start,
        rows.pairs,
        rows.ancestors,
        rows.depth,
        rows.loss,
    )


@kernel
def _select_marks(marks: RowExtras | None, own: Longs) -> RowExtras | None:
    # One return, so that the compiler sees one type: there are marks or there are none.
    selected = marks
    if marks is not None:
        classes, values, sorts = marks.classes[own], marks.values[own], marks.sorts[own]
        selected = RowExtras(classes, marks.penalty, values, sorts, marks.rules, marks.tally)
    return selected


@kernel
def _replace(
    rows: Block,
    parts: Partition,
    aim: Objective,
    marks: RowExtras | None,
    chosen: Longs,
    own: Longs,
    labels: Longs,
) -> None:
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
        if labels[i] >= 0:
            _attach(parts, places[labels[i]], own[i])
        else:
            _leave_out(parts, own[i])
    for group in chosen:
        _recount(rows, parts, aim, marks, group)
    for group in places:
        _recount(rows, parts, aim, marks, group)


# ── rounds ──────────────────────────────────────────────────────────────────────────────────────


@kernel
def start_over(
    rows: Block,
    parts: Partition,  # INOUT
    aim: Objective,
    marks: RowExtras | None,
    tries: int,
    random: np.random.Generator,
) -> None:
    """Form all groups anew, if that pays."""
    _regroup(rows, parts, aim, marks, np.flatnonzero(parts.size > 0), tries, random)


@kernel
def refine(
    rows: Block,
    parts: Partition,  # INOUT
    aim: Objective,
    marks: RowExtras | None,
    neighbours: int,
    tries: int,
    random: np.random.Generator,
) -> None:
    """One round: dissolve and relocate, then form each group anew together with its neighbours.

    A group of 2k rows or more is formed anew on its own first, which may split it.
    """
    count, largest = len(parts.size), max((2 * neighbours + 2) * aim.k, 40)
    nearest, rises = np.empty(neighbours, dtype=np.int64), np.empty(neighbours)
    chosen = np.empty(neighbours + 1, dtype=np.int64)
    sweep(rows, parts, aim, marks, new_scratch(rows))
    for group in range(count):
        if parts.size[group] == 0 or _cost(parts, group) == 0.0:
            continue
        if parts.size[group] >= 2 * aim.k:
            chosen[0] = group
            _regroup(rows, parts, aim, marks, chosen[:1], tries, random)
            if parts.size[group] == 0:
                continue
        found = _neighbours(rows, parts, group, nearest, rises)
        chosen[0], size, many = group, parts.size[group], 1
        for i in range(found):
            if size + parts.size[nearest[i]] <= largest:
                chosen[many] = nearest[i]
                size += parts.size[nearest[i]]
                many += 1
        if many > 1:
            _regroup(rows, parts, aim, marks, chosen[:many], tries, random)
