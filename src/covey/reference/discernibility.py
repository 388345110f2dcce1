"""The covey method for the objective discernibility: groups of k, of which no two look the same.

There is no paper; docs/methods/covey.md says how it works. `evened` makes groups of k rows of any
groups. `apart` changes groups that show the same cells, which would be one large class.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from numpy.random import Generator, default_rng

from covey.reference.centres import lexicographic
from covey.reference.model import (
    Numeric,
    Table,
    attribute_order,
    leaves_of_rows,
    lowest_common_ancestor,
    normalised,
    tree_of,
)

Cell: TypeAlias = tuple[float, float] | str | None

DRAWS = 4
FIRST, TIMES, TRIES = 32, 4, 6


def members_of(labels: Sequence[int], order: Sequence[int]) -> list[list[int]]:
    """Return the rows of each group, in this order."""
    groups: list[list[int]] = [[] for _ in range(max(labels) + 1)]
    for row in order:
        groups[labels[row]].append(row)
    return groups


def evened(table: Table, labels: Sequence[int], k: int) -> list[int]:
    """Return groups of k rows, as many as there can be; rows left over make some larger by one."""
    order = lexicographic(table, range(len(labels)))
    pieces: list[list[int]] = []
    spare: set[int] = set()
    for rows in members_of(labels, order):
        while len(rows) >= k:
            pieces.append(rows[:k])
            rows = rows[k:]
        spare.update(rows)
    left = [row for row in order if row in spare]
    while len(left) >= k:
        pieces.append(left[:k])
        left = left[k:]
    for place, row in enumerate(left):
        pieces[place % len(pieces)].append(row)
    found = {row: number for number, rows in enumerate(pieces) for row in rows}
    return [found[row] for row in range(len(labels))]


def shown(table: Table, rows: Sequence[int]) -> tuple[Cell, ...]:
    """Return the cells that a group shows."""
    cells: list[Cell] = []
    for name in attribute_order(table):
        column = table[name]
        if isinstance(column, Numeric):
            numbers = normalised(column)
            present = [number for row in rows if (number := numbers[row]) is not None]
            mixed = bool(present) and len(present) < len(rows)
            cells.append("*" if mixed else (min(present), max(present)) if present else None)
        else:
            cells.append(lowest_common_ancestor(tree_of(column), leaves_of_rows(column, rows)))
    return tuple(cells)


def discernibility(table: Table, groups: Sequence[Sequence[int]]) -> int:
    """Return the sum of the squared sizes of the classes."""
    sizes: Counter[tuple[Cell, ...]] = Counter()
    for rows in groups:
        sizes[shown(table, rows)] += len(rows)
    return sum(size * size for size in sizes.values())


def alike(table: Table, groups: Sequence[Sequence[int]], order: Sequence[int]) -> list[int]:
    """Return the groups that look like one with a lower number, by their first rows in order.

    If they are fewer than 32, each comes with the group that follows it, the first after the last.
    """
    seen: set[tuple[Cell, ...]] = set()
    found = set()
    for number, rows in enumerate(groups):
        cells = shown(table, rows)
        if cells in seen:
            found.add(number)
        seen.add(cells)
    place = {row: place for place, row in enumerate(order)}
    line = sorted(range(len(groups)), key=lambda number: place[groups[number][0]])
    if len(found) < FIRST:
        found |= {line[(at + 1) % len(line)] for at, one in enumerate(line) if one in found}
    return [number for number in line if number in found]


def passed_on(
    labels: Sequence[int],
    groups: Sequence[Sequence[int]],
    some: Sequence[int],
    together: int,
    rng: Generator,
) -> list[int]:
    """Pass a random row of each of these groups on to the next one, in a random order."""
    changed = list(labels)
    for start in range(0, len(some), together):
        block = some[start : start + together]
        turned = [block[int(place)] for place in rng.permutation(len(block))]
        draws = rng.random(len(block))
        for place, number in enumerate(turned):
            row = groups[number][int(draws[place] * len(groups[number]))]
            changed[row] = turned[(place + 1) % len(turned)]
    return changed


def apart(table: Table, labels: Sequence[int], seed: int) -> list[int]:
    """Return groups of the same sizes, of which fewer show the same cells."""
    order = lexicographic(table, range(len(labels)))
    rng, together = default_rng((seed, DRAWS)), FIRST
    best = list(labels)
    while True:
        for _ in range(TRIES):
            groups = members_of(best, order)
            some = alike(table, groups, order)
            if not some:
                return best
            tried = passed_on(best, groups, some, together, rng)
            if discernibility(table, members_of(tried, order)) < discernibility(table, groups):
                best = tried
        if together >= len(some):
            return best
        together *= TIMES
