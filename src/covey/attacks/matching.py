"""How many released rows fit what an attacker knows of a person.

Distinct released rows are compared with distinct known rows. A column that is released as it is
leads to its rows directly; of the others, each value has a set of bits for the rows that fit it.
People come in a random order, so the first ones are a sample if all would take too long.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covey._core.arrays import Longs
from covey.attacks.columns import KnownColumn, Line
from covey.schema import Role

MOST_WORK = 20_000_000  # pairs and words that are compared for an attacker
_AT_FIRST = 1_000  # people in the first chunk
_AT_ONCE = 2_000_000  # work of a chunk
_MOST_AT_ONCE = 50_000  # people
_BITS = 64  # of a word
_PAIRS = 1  # that are looked up in the time of a word


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """Some people, and the released rows that fit what is known of them."""

    people: Longs  # their numbers
    known: Longs  # the known row of each of them
    count: int  # known rows
    one: Longs  # the known row of each pair
    other: Longs  # the distinct released row of each pair


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """The distinct released rows as an attacker sees them."""

    first: Longs  # a released row that shows each
    of_release: Longs  # the distinct row of each released row
    sizes: Longs  # how many released rows are equal to each

    @classmethod
    def of(cls, columns: Sequence[KnownColumn]) -> "Rows":
        """The distinct rows in these columns."""
        first, number = distinct([column.cells for column in columns])
        return cls(first, number, np.bincount(number))


def distinct(numbered: Sequence[Longs]) -> tuple[Longs, Longs]:
    """The first of each set of equal rows, and the number of the set of each row."""
    key, size = np.zeros(len(numbered[0]), np.int64), 1
    for numbers in numbered:
        most = int(numbers.max(initial=0)) + 1
        if size * most >= 2**62:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            size = int(key.max(initial=0)) + 1
        key, size = key * most + numbers, size * most
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return first.astype(np.int64), number.astype(np.int64)


def fitting(
    columns: Sequence[KnownColumn], rows: Rows, order: Longs, *, about: bool
) -> Iterator[Pairs]:
    """Compare people in this order with the rows, a chunk of people at a time."""
    begin, size, spent = 0, _AT_FIRST, 0
    while begin < len(order) and spent < MOST_WORK:
        people = order[begin : begin + size]
        first, known = distinct([column.values[people] for column in columns])
        one, other, work = _compared(columns, rows, people[first], about=about)
        yield Pairs(people, known, len(first), one, other)
        begin, spent = begin + size, spent + work
        size = min(max(size * _AT_ONCE // max(work, 1), _AT_FIRST), _MOST_AT_ONCE)


def _compared(
    columns: Sequence[KnownColumn], rows: Rows, people: Longs, *, about: bool
) -> tuple[Longs, Longs, int]:
    """The pairs of these people and the rows that fit them, and the work that it took."""
    bits = len(people) * len(rows.first) * len(columns) // _BITS
    found = {
        place: _looked_up(column, rows, people, about=about)
        for place, column in enumerate(columns)
        if isinstance(column, Line) and column.role is not Role.QUASI
    }
    work = {place: int(number.sum()) + len(people) for place, (*_, number) in found.items()}
    quickest = min(work, key=work.__getitem__, default=None)
    if quickest is None or work[quickest] > bits * _PAIRS:
        one, other = _by_bits(columns, rows, people, about=about)
        return one, other, bits + len(one)
    order, begin, number = found[quickest]
    one, other = np.repeat(np.arange(len(people)), number), order[runs(begin, number)]
    for place, column in enumerate(columns):
        if place != quickest:
            cells = column.cells[rows.first[other]]
            some = column.fits(column.values[people[one]], cells, about=about)
            one, other = one[some], other[some]
    return one, other, work[quickest]


def _looked_up(
    column: Line, rows: Rows, people: Longs, *, about: bool
) -> tuple[Longs, Longs, Longs]:
    """The rows by their cells and, for each person, where theirs begin and how many."""
    shown = column.low[column.cells[rows.first]]
    order = np.argsort(shown, kind="stable").astype(np.int64)
    values = column.values[people]
    low, high = column.reach(values, about=about)
    begin = np.searchsorted(shown[order], low)
    end = np.searchsorted(shown[order], high, side="right")
    unknown = column.unknown[values]
    begin, end = np.where(unknown, 0, begin), np.where(unknown, len(order), end)
    return order, begin.astype(np.int64), (end - begin).astype(np.int64)


def runs(begin: Longs, number: Longs) -> Longs:
    """The numbers from each beginning on, so many of each, one run after the other."""
    before = np.cumsum(number) - number
    found: Longs = np.arange(int(number.sum())) + np.repeat(begin - before, number)
    return found


def _by_bits(
    columns: Sequence[KnownColumn], rows: Rows, people: Longs, *, about: bool
) -> tuple[Longs, Longs]:
    words = -(-len(rows.first) // _BITS)
    common = np.full((len(people), words), 2**64 - 1, dtype=np.uint64)
    for column in columns:
        values, place = np.unique(column.values[people], return_inverse=True)
        common &= _sets(column, values, column.cells[rows.first], about=about)[place]
    one, word = np.nonzero(common)
    unpacked = np.unpackbits(
        common[one, word].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little"
    )
    found, bit = np.nonzero(unpacked)
    return one[found].astype(np.int64), (word[found] * _BITS + bit).astype(np.int64)


def _sets(column: KnownColumn, values: Longs, cells: Longs, *, about: bool) -> NDArray[np.uint64]:
    """For each value the rows that fit it, a bit for each row."""
    shown, place = np.unique(cells, return_inverse=True)
    fits = column.fits(values[:, None], shown[None, :], about=about)
    padded = np.zeros((len(values), -(-len(cells) // _BITS) * _BITS), dtype=np.bool_)
    padded[:, : len(cells)] = fits[:, place]
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
