"""The covey method for the objective sse: change groups of points at random while it grows colder.

There is no paper: the search is covey's own, and docs/microaggregation.md says how it works. This
module says the same in plain loops: a run (`Annealing`), and what two runs give together
(`fused`). It leaves out the blocks of large tables, the time limit and the first groups.

Simulated annealing is due to Kirkpatrick, Gelatt, Vecchi: Optimization by simulated annealing,
Science 1983.

Groups remember the sum of their points and the square of that sum. With these, S and |S|², the sum
of the squared distances to the mean of a group of n is the sum of |x|² less |S|²/n. Sums over
coordinates have four parts, of every fourth coordinate each, because the kernel adds them up like
that: floats that are added in another order may differ in the last bit.

Cost: O(n²) distances for the nearest rows; then each sweep looks at n changes.
"""

import math
from collections.abc import Collection, Sequence
from typing import TypeAlias

from numpy.random import Generator

from covey.reference.draws import below

Point: TypeAlias = Sequence[float]

LANES = 4
RANGE = 2**16  # of the numbers that one draw is cut into
RELOCATE, SWAP, DISSOLVE = 29491, 34079, 983  # how many of these ask for each; the rest create
LOOK = 40  # nearest rows whose groups a row of a dissolved group may go to
LN2 = 0.6931471805599453


def added(terms: Sequence[float]) -> float:
    """Return the sum of the terms, every fourth one in the same part."""
    parts = [0.0] * LANES
    for place, term in enumerate(terms):
        parts[place % LANES] += term
    return (parts[0] + parts[1]) + (parts[2] + parts[3])


def dot(one: Point, other: Point) -> float:
    """Return the scalar product."""
    return added([a * b for a, b in zip(one, other, strict=True)])


def squared_distance(one: Point, other: Point) -> float:
    """Return the squared distance."""
    return added([(a - b) * (a - b) for a, b in zip(one, other, strict=True)])


def nearest_rows(points: Sequence[Point], near: int) -> list[list[int]]:
    """Return the nearest other rows of each row, the nearest first; of equals, the lower number."""
    found = []
    for row, point in enumerate(points):
        others = [other for other in range(len(points)) if other != row]
        others.sort(key=lambda other: (squared_distance(point, points[other]), other))
        found.append(others[:near])
    return found


class Group:
    """The members of a group, and the sum of their points."""

    def __init__(self, width: int) -> None:
        """Begin without members."""
        self.members: list[int] = []
        self.sum = [0.0] * width

    @property
    def square(self) -> float:
        """Return |S|²."""
        return dot(self.sum, self.sum)


class Annealing:
    """Points in groups of k or more."""

    def __init__(self, points: Sequence[Point], labels: Sequence[int], k: int, near: int) -> None:
        """Begin with the groups of these labels, from 0 to n // k - 1."""
        self.points, self.k = points, k
        self.most = 3 * k  # members of a group that may take in one more, and one less
        self.groups = [Group(len(points[0])) for _ in range(len(points) // k)]
        self.labels = [-1] * len(points)
        for row, label in enumerate(labels):
            self.join(row, label)
        everyone = range(len(self.groups))
        self.empty = [number for number in reversed(everyone) if not self.groups[number].members]
        self.near = min(near, len(points) - 1)
        self.nearest = nearest_rows(points, self.near)

    @property
    def cost(self) -> float:
        """Return the sum of the squared distances of all points to the means of their groups."""
        total = 0.0
        for row, label in enumerate(self.labels):
            group = self.groups[label]
            mean = [part / len(group.members) for part in group.sum]
            total += math.fsum((a - b) ** 2 for a, b in zip(self.points[row], mean, strict=True))
        return total

    def run(self, sweeps: int, heat: float, fall: float, rng: Generator) -> None:
        """Look at each row so many times; after each time, the heat is multiplied by `fall`."""
        for _ in range(sweeps if self.near else 0):
            for row in range(len(self.points)):
                self.step(row, heat, rng)
            heat *= fall

    def step(self, row: int, heat: float, rng: Generator) -> None:
        """Try one change of the groups of a row and of one near it."""
        bits = int(rng.bit_generator.random_raw())
        coins, part, kind, nearness = (bits >> 16 * place & RANGE - 1 for place in range(4))
        other = self.nearest[row][(nearness * nearness >> 16) * self.near >> 16]
        group, theirs = self.labels[row], self.labels[other]
        if group == theirs:
            return
        heads = 16 if coins == 0 else (coins & -coins).bit_length() - 1
        most = heat * LN2 * (heads + part / RANGE)
        if kind < RELOCATE:
            if len(self.groups[group].members) > self.k:
                self.relocate(row, theirs, most)
            elif len(self.groups[theirs].members) > self.k:
                self.relocate(other, group, most)
        elif kind < RELOCATE + SWAP:
            members = self.groups[theirs].members
            self.swap(row, members[below(rng, len(members))], most)
        elif kind < RELOCATE + SWAP + DISSOLVE:
            self.dissolve(group, most)
        else:
            self.create(row, most)

    # By how much the sum of squares rises

    def joining(self, row: int, label: int) -> float:
        """Return the rise if the row joins the group."""
        group, norm = self.groups[label], dot(self.points[row], self.points[row])
        size, square = len(group.members), group.square
        with_it = square + 2.0 * dot(self.points[row], group.sum) + norm
        return norm + square / size - with_it / (size + 1)

    def leaving(self, row: int, label: int) -> float:
        """Return the rise if the row leaves the group."""
        group, norm = self.groups[label], dot(self.points[row], self.points[row])
        size, square = len(group.members), group.square
        without = square - 2.0 * dot(self.points[row], group.sum) + norm
        return square / size - without / (size - 1) - norm

    # Changes, each made only if the sum of squares rises by less than `most`

    def join(self, row: int, label: int) -> None:
        """Put a row that is in no group into this one."""
        group = self.groups[label]
        group.members.append(row)
        group.sum = [a + b for a, b in zip(group.sum, self.points[row], strict=True)]
        self.labels[row] = label

    def leave(self, row: int) -> None:
        """Take a row out of its group; the last member takes its place."""
        group = self.groups[self.labels[row]]
        group.members[group.members.index(row)] = group.members[-1]
        group.members.pop()
        if group.members:
            group.sum = [a - b for a, b in zip(group.sum, self.points[row], strict=True)]
        else:
            group.sum = [0.0] * len(group.sum)

    def relocate(self, row: int, into: int, most: float) -> None:
        """Move a row to another group."""
        if len(self.groups[into].members) >= self.most:
            return
        if self.leaving(row, self.labels[row]) + self.joining(row, into) < most:
            self.leave(row)
            self.join(row, into)

    def swap(self, row: int, other: int, most: float) -> None:
        """Let two rows change places."""
        here, there = self.groups[self.labels[row]], self.groups[self.labels[other]]
        pairs = zip(self.points[row], self.points[other], strict=True)
        change = [its - own for own, its in pairs]
        square = dot(change, change)
        gain = 2.0 * dot(change, here.sum) + square
        loss = 2.0 * dot(change, there.sum) - square
        if loss / len(there.members) - gain / len(here.members) >= most:
            return
        first, second = here.members.index(row), there.members.index(other)
        here.members[first], there.members[second] = other, row
        here.sum = [a + b for a, b in zip(here.sum, change, strict=True)]
        there.sum = [a - b for a, b in zip(there.sum, change, strict=True)]
        self.labels[row], self.labels[other] = self.labels[other], self.labels[row]

    def dissolve(self, label: int, most: float) -> None:
        """Let all members go where each raises the squares least, or return them all."""
        moving = list(self.groups[label].members)
        rise = self.groups[label].square / len(moving)
        for row in moving:
            rise -= dot(self.points[row], self.points[row])
        moved: list[int] = []
        for row in moving:
            best, home = math.inf, -1
            for other in self.nearest[row][:LOOK]:
                theirs = self.labels[other]
                if theirs == label or len(self.groups[theirs].members) >= self.most:
                    continue
                cost = self.joining(row, theirs)
                if cost < best:
                    best, home = cost, theirs
            if home < 0 or rise + best >= most:
                for gone in reversed(moved):
                    self.leave(gone)
                    self.join(gone, label)
                return
            rise += best
            moved.append(row)
            self.leave(row)
            self.join(row, home)
        self.empty.append(label)

    def create(self, row: int, most: float) -> None:
        """Form a group of a row and the nearest rows that their groups can spare."""
        if not self.empty or len(self.groups[self.labels[row]].members) <= self.k:
            return
        label, rise = self.empty[-1], 0.0
        moved: list[tuple[int, int]] = []
        for other in [row, *self.nearest[row]]:
            home = self.labels[other]
            if len(moved) == self.k:
                break
            if home == label or len(self.groups[home].members) <= self.k:
                continue
            rise += self.leaving(other, home) + dot(self.points[other], self.points[other])
            moved.append((other, home))
            self.leave(other)
            self.join(other, label)
        group = self.groups[label]
        rise -= group.square / len(group.members)
        if len(moved) == self.k and rise < most:
            self.empty.pop()
            return
        for other, home in reversed(moved):
            self.leave(other)
            self.join(other, home)


def fused(points: Sequence[Point], one: Sequence[int], other: Sequence[int]) -> list[int]:
    """Return the best grouping that the groups of two groupings can form.

    Begin with a row and add all groups of either grouping that share a row with those added before.
    The rows of such a part are in the same groups, or in others, but in none that reaches beyond.
    So each part gets the groups of one or of the other. Labels of the other are above all of the
    first; then they are numbered in this order.
    """
    above = max(one) + 1
    found = [-1] * len(points)
    for row in range(len(points)):
        if found[row] >= 0:
            continue
        part, waiting = {row}, [row]
        while waiting:
            seen = waiting.pop()
            for label in (one, other):
                new = [they for they in range(len(points)) if label[they] == label[seen]]
                waiting += [they for they in new if they not in part]
                part.update(new)
        better = squares(points, part, other) < squares(points, part, one)
        for member in part:
            found[member] = above + other[member] if better else one[member]
    known = sorted(set(found))
    return [known.index(label) for label in found]


def squares(points: Sequence[Point], rows: Collection[int], labels: Sequence[int]) -> float:
    """Return the sum of the squared distances of these rows, all of some groups, to their means."""
    total = []
    for label in {labels[row] for row in rows}:
        members = [points[row] for row in rows if labels[row] == label]
        mean = [math.fsum(column) / len(members) for column in zip(*members, strict=True)]
        total += [squared_distance(point, mean) for point in members]
    return math.fsum(total)
