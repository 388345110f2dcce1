"""A tree of boxes over the rows of a table, searched for the row that fits a group best.

Each box knows the range of its rows in every number, which leaves of every taxonomy occur in it,
and how many of its rows are still free. That bounds what any of them can cost a group, so whole
boxes are passed over: a search looks at a small part of the rows and still finds exactly the row
that looking at all of them would find, ties included. A bound is summed in the same order as the
cost itself, and floating-point addition is monotone, so a bound is never above what it bounds.

The leaves of a tree that occur in a box are kept as one word of 64 bits. A taxonomy of more than
64 leaves shares bits between neighbours, which makes bounds looser, never wrong.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey._core.arrays import Cells, Floats, Forest, Ints, Longs, Scale
from covey._core.jit import kernel
from covey._core.summaries import common_ancestor

Words = NDArray[np.uint64]

LEAF_ROWS = 16
SAMPLE = 32
BITS = 64
_NONE = np.uint64(0)


class BoxTree(NamedTuple):
    """Boxes in boxes; the children of a box are `left` and `left + 1`."""

    rows: Ints  # (rows,) INOUT by box; in each leaf the free ones come first
    place: Ints  # (rows,) INOUT where each row stands in `rows`
    leaf: Ints  # (rows,) the leaf box of each row
    numbers: Floats  # (rows, intervals) INOUT in the order of `rows`
    codes: Ints  # (rows, categories) INOUT in the order of `rows`
    first: Ints  # (boxes,) where the rows of a box begin
    free: Ints  # (boxes,) INOUT how many of them are free
    left: Ints  # (boxes,) -1 for a leaf
    parent: Ints  # (boxes,) -1 for the root
    lowest: Ints  # (boxes,) lowest row number
    low: Floats  # (boxes, intervals)
    high: Floats  # (boxes, intervals)
    mask: Words  # (boxes, categories) which bits occur
    bit: Words  # (nodes,) the bit of a row that is at a node
    touch: Words  # (nodes,) bits of the leaves under a node
    cover: Words  # (nodes,) bits of which all leaves are under a node
    stack: Ints  # scratch of a search
    bounds: Floats  # scratch of a search


def build(cells: Cells, forest: Forest, *, inner: bool = False) -> BoxTree:
    """The tree over all rows, all of them free; with `inner`, rows at inner nodes are looked for.

    Such rows are then at their nodes, not at the leaves under them.
    """
    count = len(cells.numbers)
    rows = np.arange(count, dtype=np.int32)
    first, last, left, parent, depth = _boxes(cells, forest, rows, LEAF_ROWS)
    boxes = len(first)
    bit, touch, cover = _bits(forest, inner=inner)
    tree = BoxTree(
        rows=rows,
        place=np.empty(count, dtype=np.int32),
        leaf=np.empty(count, dtype=np.int32),
        numbers=cells.numbers[rows],
        codes=cells.codes[rows],
        first=first,
        free=last - first,
        left=left,
        parent=parent,
        lowest=np.empty(boxes, dtype=np.int32),
        low=np.empty((boxes, cells.numbers.shape[1])),
        high=np.empty((boxes, cells.numbers.shape[1])),
        mask=np.zeros((boxes, cells.codes.shape[1]), dtype=np.uint64),
        bit=bit,
        touch=touch,
        cover=cover,
        stack=np.empty(2 * depth + 4, dtype=np.int32),
        bounds=np.empty(2 * depth + 4),
    )
    _bound(tree)
    return tree


def tile(cells: Cells, forest: Forest, rows: Ints, most: int) -> list[Ints]:
    """Some rows in blocks of similar ones, none of more than so many."""
    rows = rows.copy()
    first, last, left, _, _ = _boxes(cells, forest, rows, most)
    return [rows[first[box] : last[box]] for box in np.flatnonzero(left < 0)]


def _boxes(
    cells: Cells, forest: Forest, rows: Ints, most: int
) -> tuple[Ints, Ints, Ints, Ints, int]:
    """Put rows into the order of their boxes: where these begin and end, their children, depth."""
    first, last, left, parent = (np.full(2 * len(rows) + 1, -1, dtype=np.int32) for _ in range(4))
    counts = np.zeros(len(forest.depth), np.int64)
    boxes, depth = _split(cells, forest, rows, first, last, left, parent, counts, most)
    first, last, left, parent = (a[:boxes].copy() for a in (first, last, left, parent))
    return first, last, left, parent, depth


def _bits(forest: Forest, *, inner: bool) -> tuple[Words, Words, Words]:
    """The bit of each leaf, which bits those under each node have, and which of these no other has.

    With `inner`, the same of all nodes, where rows may be at inner ones too.
    """
    bit, touch, cover = (np.zeros(len(forest.depth), dtype=np.uint64) for _ in range(3))
    ends = np.append(forest.first, len(forest.depth))[1:]
    for first, leaves, end in zip(forest.first, forest.leaves, ends, strict=True):
        nodes = np.arange(first, end if inner else first + leaves)
        # Nodes under one node are neighbours, which makes shared bits tell most.
        nodes = nodes[np.lexsort((forest.depth[nodes], forest.begin[nodes]))]
        _spread(forest, nodes, bit, touch, cover)
    return bit, touch, cover


@kernel
def _spread(forest: Forest, nodes: Longs, bits: Words, touch: Words, cover: Words) -> None:
    count = len(nodes)
    shared = np.zeros(BITS, dtype=np.int64)
    for place in range(count):
        shared[_bit(place, count)] += 1
    under = np.zeros(len(touch), dtype=np.int64)
    # Nodes of one bit are neighbours; a node covers it when it has as many as share it.
    start = 0
    while start < count:
        bit = _bit(start, count)
        word = np.uint64(1) << np.uint64(bit)
        sharing = nodes[start : start + shared[bit]]
        for node in sharing:
            bits[node] = word
            for depth in range(forest.depth[node] + 1):
                above = forest.ancestors[node, depth]
                touch[above] |= word
                under[above] += 1
                if under[above] == len(sharing):
                    cover[above] |= word
        for node in sharing:
            under[forest.ancestors[node, : forest.depth[node] + 1]] = 0
        start += len(sharing)


@kernel
def _bit(place: int, count: int) -> int:
    return place if count <= BITS else place * BITS // count


# ── building ────────────────────────────────────────────────────────────────────────────────────


@kernel
def _split(
    cells: Cells,
    forest: Forest,
    rows: Ints,  # INOUT
    first: Ints,  # OUT
    last: Ints,  # OUT
    left: Ints,  # OUT
    parent: Ints,  # OUT
    counts: NDArray[np.int64],  # (nodes,) scratch, zero
    most: int,  # rows in a box that is not split
) -> tuple[int, int]:
    """Split boxes until they are small; how many there are, and how deep they go.

    Rows stay ascending in every box, so that of rows that are all alike the lowest come first.
    """
    first[0], last[0] = 0, len(rows)
    depth = np.zeros(len(first), dtype=np.int32)
    spare = np.empty(len(rows), dtype=np.int32)
    boxes, box, deepest = 1, 0, 0
    while box < boxes:
        size = last[box] - first[box]
        if size > most:
            own = rows[first[box] : last[box]]
            attribute, value, exact = _best_split(cells, forest, own, counts)
            cut = _partition(cells, own, spare, attribute, value, exact)
            if cut == 0 or cut == size:
                cut = size // 2
            left[box] = boxes
            for child, start, end in ((boxes, 0, cut), (boxes + 1, cut, size)):
                first[child], last[child] = first[box] + start, first[box] + end
                parent[child], depth[child] = box, depth[box] + 1
            deepest = max(deepest, depth[box] + 1)
            boxes += 2
        box += 1
    return boxes, deepest


@kernel
def _best_split(
    cells: Cells, forest: Forest, own: Ints, counts: NDArray[np.int64]
) -> tuple[int, float, bool]:
    """The attribute whose parting leaves pairs of rows most alike, and where to part it.

    Judged by all pairs of a small sample: how much less two rows on the same side cost together
    than any two. A category that is frequent is parted from all others; else the median parts.
    """
    size = min(SAMPLE, len(own))
    sample = np.empty(size, dtype=np.int32)
    for i in range(size):
        sample[i] = own[i * len(own) // size]
    intervals = cells.numbers.shape[1]
    best, attribute, value, exact = -np.inf, -1, 0.0, False
    for j in range(intervals + cells.codes.shape[1]):
        if j < intervals:
            values = cells.numbers[sample, j]
            cut, alone = _lower_median(values), False
        else:
            values = cells.codes[sample, j - intervals].astype(np.float64)
            cut, alone = _category_cut(cells.codes[sample, j - intervals], counts)
        total, within, same = 0.0, 0.0, 0
        for one in range(size):
            for other in range(one):
                if j < intervals:
                    loss = cells.weights[j] * min(abs(values[one] - values[other]), 1.0)
                else:
                    loss = forest.loss[
                        common_ancestor(forest, int(values[one]), int(values[other]))
                    ]
                total += loss
                if _is_first(values[one], cut, alone) == _is_first(values[other], cut, alone):
                    within += loss
                    same += 1
        if total > 0.0:
            gain = total / (size * (size - 1) // 2) - (within / same if same > 0 else 0.0)
            if gain > best:
                best, attribute, value, exact = gain, j, cut, alone
    return attribute, value, exact


@kernel
def _category_cut(codes: Ints, counts: NDArray[np.int64]) -> tuple[float, bool]:
    """The most frequent code, to stand alone, or else the median."""
    mode = codes[0]
    for code in codes:
        counts[code] += 1
        if counts[code] > counts[mode]:
            mode = code
    frequent = 3 * counts[mode] >= len(codes)
    for code in codes:
        counts[code] = 0
    return (float(mode), True) if frequent else (_lower_median(codes.astype(np.float64)), False)


@kernel
def _is_first(cell: float, value: float, exact: bool) -> bool:
    return cell == value or (not exact and cell < value)


@kernel
def _lower_median(values: Floats) -> float:
    """The middle value, or the one before where no value is above it."""
    ordered = np.sort(values)
    middle = ordered[(len(ordered) - 1) // 2]
    if middle < ordered[-1]:
        return middle  # type: ignore[no-any-return]
    for i in range(len(ordered) - 1, -1, -1):
        if ordered[i] < middle:
            return ordered[i]  # type: ignore[no-any-return]
    return middle  # type: ignore[no-any-return]


@kernel
def _partition(
    cells: Cells, own: Ints, spare: Ints, attribute: int, value: float, exact: bool
) -> int:
    """Rows with that value, or up to it, first; both parts stay ascending."""
    if attribute < 0:
        return 0
    intervals = cells.numbers.shape[1]
    cut, rest = 0, 0
    for i in range(len(own)):
        row = own[i]
        cell = (
            cells.numbers[row, attribute]
            if attribute < intervals
            else float(cells.codes[row, attribute - intervals])
        )
        if _is_first(cell, value, exact):
            own[cut] = row
            cut += 1
        else:
            spare[rest] = row
            rest += 1
    own[cut:] = spare[:rest]
    return cut


@kernel
def _bound(tree: BoxTree) -> None:
    """Fill in what the boxes know, from the leaves to the root."""
    for box in range(len(tree.first) - 1, -1, -1):
        begin = tree.first[box]
        if tree.left[box] < 0:
            tree.lowest[box] = tree.rows[begin]
            for i in range(begin, begin + tree.free[box]):
                tree.place[tree.rows[i]] = i
                tree.leaf[tree.rows[i]] = box
        else:
            one, other = tree.left[box], tree.left[box] + 1
            tree.lowest[box] = min(tree.lowest[one], tree.lowest[other])
        _enclose(tree, box)


@kernel
def _enclose(tree: BoxTree, box: int) -> bool:
    """Draw a box tightly around its free rows or its children; whether that changed it."""
    changed = False
    one, other, begin = tree.left[box], tree.left[box] + 1, tree.first[box]
    end = begin + tree.free[box]
    for j in range(tree.low.shape[1]):
        if one < 0:
            low, high = tree.numbers[begin:end, j].min(), tree.numbers[begin:end, j].max()
        else:
            low = min(tree.low[one, j], tree.low[other, j])
            high = max(tree.high[one, j], tree.high[other, j])
        changed |= low != tree.low[box, j] or high != tree.high[box, j]
        tree.low[box, j], tree.high[box, j] = low, high
    for j in range(tree.mask.shape[1]):
        word = _NONE
        if one < 0:
            for i in range(begin, end):
                word |= tree.bit[tree.codes[i, j]]
        else:
            word = tree.mask[one, j] | tree.mask[other, j]
        changed |= word != tree.mask[box, j]
        tree.mask[box, j] = word
    return changed


# ── searching ───────────────────────────────────────────────────────────────────────────────────


@kernel
def remove(tree: BoxTree, row: int) -> None:
    """Take a row out of all searches to come."""
    leaf = tree.leaf[row]
    here, there = tree.place[row], tree.first[leaf] + tree.free[leaf] - 1
    other = tree.rows[there]
    tree.rows[here], tree.rows[there] = other, row
    tree.place[other], tree.place[row] = here, there
    # The cells of the removed row are never read again, so they need not be kept.
    for j in range(tree.numbers.shape[1]):
        tree.numbers[here, j] = tree.numbers[there, j]
    for j in range(tree.codes.shape[1]):
        tree.codes[here, j] = tree.codes[there, j]
    box = leaf
    while box >= 0:
        tree.free[box] -= 1
        box = tree.parent[box]


@kernel
def move(tree: BoxTree, row: int, numbers: Floats, codes: Ints) -> None:
    """A row of a tree from which none was removed is elsewhere now."""
    place, box = tree.place[row], tree.leaf[row]
    tree.numbers[place, :] = numbers
    tree.codes[place, :] = codes
    while box >= 0 and _enclose(tree, box):
        box = tree.parent[box]


@kernel
def nearest(
    tree: BoxTree, forest: Forest, scale: Scale, far: bool, numbers: Floats, codes: Ints
) -> int:
    """The free row nearest to a point, or furthest from it."""
    classes, words, prices = np.empty(0, np.int32), np.empty(0, np.uint64), np.empty(0)
    return search(tree, forest, far, scale, numbers, numbers, codes, prices, classes, words, 0, 0.0)


@kernel
def search(
    tree: BoxTree,
    forest: Forest,
    far: bool,
    scale: Scale,
    low: Floats,  # (intervals,) of the group
    high: Floats,  # (intervals,)
    node: Ints,  # (categories,)
    price: Floats,  # (nodes,) loss of the group's nodes once they cover each leaf, or none
    classes: Ints,  # (rows,), or none
    box_classes: Words,  # (boxes,), or none
    majority: int,
    surcharge: float,  # of a row of another class than the majority
) -> int:
    """The free row with which each record of the group loses least, or most if `far`.

    Of equal rows the lowest; if none is free, the number of rows. To look far is to look for the
    least of negative losses, so boxes are then bounded from above. The loops work on plain arrays,
    since unpacking bundles of them inside would cost more than the sums, and compare plainly: there
    is no NaN among the cells.

    Prices pay where a group asks often; without them, common ancestors are sought row by row.
    """
    weights, caps, squared = scale.weights, scale.caps, scale.squared
    rows, first, free, left, lowest = tree.rows, tree.first, tree.free, tree.left, tree.lowest
    numbers, codes, mask, touch, cover = tree.numbers, tree.codes, tree.mask, tree.touch, tree.cover
    box_low, box_high, stack, bounds = tree.low, tree.high, tree.stack, tree.bounds
    ancestors, depth, node_loss = forest.ancestors, forest.depth, forest.loss
    intervals, categories = numbers.shape[1], codes.shape[1]
    ours = np.uint64(1) << (np.uint64(majority) & np.uint64(63))
    best, choice = np.inf, len(rows)
    stack[0], bounds[0], top = 0, -np.inf, 1
    while top > 0:
        top -= 1
        box = stack[top]
        if bounds[top] > best or (bounds[top] == best and lowest[box] > choice):
            continue
        if left[box] < 0:
            for i in range(first[box], first[box] + free[box]):
                row = rows[i]
                loss = 0.0
                for j in range(intervals):
                    value = numbers[i, j]
                    above = high[j] if high[j] > value else value
                    below = low[j] if low[j] < value else value
                    width = above - below
                    if squared:
                        width *= width
                    loss += weights[j] * (width if width < caps[j] else caps[j])
                if len(price) > 0:
                    for j in range(categories):
                        loss += price[codes[i, j]]
                else:
                    for j in range(categories):
                        one, other = node[j], codes[i, j]
                        level = depth[one] if depth[one] < depth[other] else depth[other]
                        while ancestors[one, level] != ancestors[other, level]:
                            level -= 1
                        loss += node_loss[ancestors[one, level]]
                if surcharge > 0.0 and classes[row] != majority:
                    loss += surcharge
                if far:
                    loss = -loss
                if loss < best or (loss == best and row < choice):
                    best, choice = loss, row
            continue
        begin = top
        for child in range(left[box], left[box] + 2):
            if free[child] == 0:
                continue
            bound = 0.0
            for j in range(intervals):
                bottom, summit = box_low[child, j], box_high[child, j]
                if far:
                    # The wider of the two ways from the group to an end of the box.
                    upwards = (summit if summit > high[j] else high[j]) - low[j]
                    downwards = high[j] - (bottom if bottom < low[j] else low[j])
                    width = upwards if upwards > downwards else downwards
                else:
                    above = high[j] if high[j] > bottom else bottom
                    below = low[j] if low[j] < summit else summit
                    width = above - below
                if squared:
                    width *= width
                bound += weights[j] * (width if width < caps[j] else caps[j])
            for j in range(categories):
                # Up from the group's node to the first that has a leaf of the box under it, or
                # all of them.
                at, level, leaves = node[j], depth[node[j]], mask[child, j]
                while (leaves & ~cover[at] != _NONE) if far else (leaves & touch[at] == _NONE):
                    level -= 1
                    at = ancestors[node[j], level]
                bound += node_loss[at]
            if surcharge > 0.0 and box_classes[child] & ours == _NONE:
                bound += surcharge
            if far:
                bound = -bound
            if bound < best or (bound == best and lowest[child] < choice):
                stack[top], bounds[top] = child, bound
                top += 1
        if top == begin + 2 and (
            bounds[begin] < bounds[begin + 1]
            or (
                bounds[begin] == bounds[begin + 1]
                and lowest[stack[begin]] < lowest[stack[begin + 1]]
            )
        ):
            # The better child is looked at first, so it goes on top.
            stack[begin], stack[begin + 1] = stack[begin + 1], stack[begin]
            bounds[begin], bounds[begin + 1] = bounds[begin + 1], bounds[begin]
    return choice


@kernel
def box_classes(tree: BoxTree, classes: Ints, into: Words) -> None:
    """Which classes occur in each box, as bits; classes 64 apart share one."""
    for box in range(len(into) - 1, -1, -1):
        if tree.left[box] < 0:
            for i in range(tree.first[box], tree.first[box] + tree.free[box]):
                bit = np.uint64(classes[tree.rows[i]]) & np.uint64(63)
                into[box] |= np.uint64(1) << bit
        else:
            into[box] = into[tree.left[box]] | into[tree.left[box] + 1]
