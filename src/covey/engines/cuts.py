"""A tree of cuts that divides a table into parts of similar rows.

It is learnt from a sample. A cut divides the rows at a value of one quasi-identifier, so that rows
on the same side are as alike as possible, as in the boxes of the compiled core. Parts that cannot
meet the requirements alone are merged with their neighbours in the tree.
"""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from covey._core.arrays import Flags, Floats, Ints, Longs
from covey.encoding import Attribute, Category, EncodedTable, Interval

Able = Callable[[Longs], bool]
_JUDGED = 64  # rows by which a cut is judged
_LEAST_SIDE = 0.2  # of the rows that are cut


@dataclass(frozen=True, eq=False, repr=False)
class Cuts:
    """A binary tree: rows with at most `value` in an attribute go left, all others right."""

    attribute: Ints  # of each node, its place among the attributes; -1 for a leaf
    value: Floats
    left: Ints  # the left child; the right one comes after it
    part: Ints  # of each leaf, -1 for other nodes
    parts: int

    def assign(self, table: EncodedTable) -> Ints:
        """The part of each row."""
        part = np.empty(table.rows, dtype=np.int32)
        lines = [coordinates(attribute) for attribute in table.attributes]
        waiting = [(0, np.arange(table.rows))]
        while waiting:
            node, rows = waiting.pop()
            if self.left[node] < 0:
                part[rows] = self.part[node]
            elif len(rows):
                is_left = lines[self.attribute[node]][rows] <= self.value[node]
                waiting.append((self.left[node], rows[is_left]))
                waiting.append((self.left[node] + 1, rows[~is_left]))
        return part

    def merged(self, able: Callable[[list[int]], bool]) -> "Cuts":
        """Merge parts with the next ones until each is able to meet the requirements."""
        ready: list[list[int]] = []
        waiting: list[int] = []
        for part in range(self.parts):
            waiting.append(part)
            if able(waiting):
                ready.append(waiting)
                waiting = []
        if waiting:
            ready[-1:] = [[*(ready[-1] if ready else []), *waiting]]
        number = np.full(self.parts + 1, -1, dtype=np.int32)  # the last is for inner nodes
        for new, old in enumerate(ready):
            number[old] = new
        return replace(self, part=number[self.part], parts=len(ready))


def coordinates(attribute: Attribute) -> Floats:
    """The values on a line; missing numbers come after all others."""
    if isinstance(attribute, Interval):
        return np.where(attribute.absent, np.inf, attribute.scaled)
    return attribute.values.astype(np.float64)


def uncut() -> Cuts:
    """The whole table as one part."""
    none = np.array([-1], dtype=np.int32)
    return Cuts(none, np.zeros(1), none, np.zeros(1, dtype=np.int32), 1)


def learn(sample: EncodedTable, weights: Longs, parts: int, able: Able) -> Cuts:
    """Cut the heaviest part again and again, until there are so many.

    `weights` say how many rows each row of the sample stands for. `able` tells whether some of them
    can meet the requirements without the others: only then a part is cut there.
    """
    tree = _Tree(sample, weights)
    heap = [(-int(weights.sum()), 0)]
    found = 1
    while heap and found < parts:
        _, node = heapq.heappop(heap)
        for child in tree.cut(node, able):
            heapq.heappush(heap, (-int(weights[tree.rows[child]].sum()), child))
            found += tree.is_second(child)
    return tree.cuts()


class _Tree:
    """A tree that grows."""

    def __init__(self, sample: EncodedTable, weights: Longs) -> None:
        self.sample, self.weights = sample, weights
        self.lines = [coordinates(attribute) for attribute in sample.attributes]
        self.rows = [np.arange(sample.rows)]
        self.attribute, self.value, self.left = [-1], [0.0], [-1]

    def is_second(self, node: int) -> bool:
        """Whether this is the right side of a cut."""
        return node % 2 == 0  # the root is 0, and children come in pairs

    def cut(self, node: int, able: Able) -> list[int]:
        """Cut a node where its sides are most alike; no children if it stays whole."""
        rows = self.rows[node]
        for attribute, value in self._best(rows):
            is_left = self.lines[attribute][rows] <= value
            sides = rows[is_left], rows[~is_left]
            if all(able(side) for side in sides):
                first = len(self.rows)
                self.attribute[node], self.value[node], self.left[node] = attribute, value, first
                for side in sides:
                    self.rows.append(side)
                    self.attribute.append(-1)
                    self.value.append(0.0)
                    self.left.append(-1)
                return [first, first + 1]
        return []

    def _best(self, rows: Longs) -> Iterator[tuple[int, float]]:
        """The cuts of a node, the best first."""
        judged = rows[np.linspace(0, len(rows) - 1, min(len(rows), _JUDGED)).astype(np.int64)]
        found = []
        for place, (attribute, line) in enumerate(
            zip(self.sample.attributes, self.lines, strict=True)
        ):
            value = _middle(line[rows], self.weights[rows])
            if value is not None:
                gain = _gain(attribute, self.sample, judged, line[judged] <= value)
                found.append((-gain, place, value))
        yield from ((place, value) for _, place, value in sorted(found))

    def cuts(self) -> Cuts:
        """The tree, with its leaves numbered from left to right."""
        part = np.full(len(self.rows), -1, dtype=np.int32)
        waiting, number = [0], 0
        while waiting:
            node = waiting.pop()
            if self.left[node] < 0:
                part[node] = number
                number += 1
            else:
                waiting += [self.left[node] + 1, self.left[node]]
        return Cuts(
            np.array(self.attribute, dtype=np.int32),
            np.array(self.value),
            np.array(self.left, dtype=np.int32),
            part,
            number,
        )


def _middle(line: Floats, weights: Longs) -> float | None:
    """The value that divides the rows most evenly; None if one side would be small."""
    values, place = np.unique(line, return_inverse=True)
    if len(values) < 2:
        return None
    share = np.cumsum(np.bincount(place, weights))[:-1] / weights.sum()
    best = int(np.argmin(abs(share - 0.5)))
    return float(values[best]) if min(share[best], 1 - share[best]) >= _LEAST_SIDE else None


def _gain(attribute: Attribute, table: EncodedTable, rows: Longs, left: Flags) -> float:
    """How much less two rows on one side of a cut lose together than any two rows."""
    losses = _pairs(attribute, table, rows)
    different = ~np.eye(len(rows), dtype=np.bool_)
    same = (left[:, None] == left) & different
    if not same.any():
        return 0.0
    return float(losses[different].mean() - losses[same].mean()) * attribute.column.weight


def _pairs(attribute: Attribute, table: EncodedTable, rows: Longs) -> Floats:
    """The loss of each two rows together."""
    if isinstance(attribute, Category):
        tree = attribute.tree
        above = tree.ancestors[attribute.leaves[rows]]
        shared = ((above[:, None] == above) & (above[:, None] >= 0)).sum(axis=2) - 1
        node = np.take_along_axis(np.broadcast_to(above[:, None], (*shared.shape, above.shape[1])),
                                  shared[:, :, None], axis=2)[:, :, 0]  # fmt: skip
        losses: Floats = tree.losses(table.measure)[node]
        return losses
    line = np.where(np.isinf(own := coordinates(attribute)[rows]), 9.0, own)
    found: Floats = np.minimum(abs(line[:, None] - line), 1.0)
    return found
