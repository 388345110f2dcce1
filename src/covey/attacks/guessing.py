"""Guesses of a sensitive value from the released rows that fit a person.

The guess is the most frequent value of these rows; of several, one at random. Chance is the guess
of the most frequent value of the whole release. Of a column with many values, numbers are guessed
by their tenth, and of texts only the frequent ones are guessed.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._core.arrays import Floats, Longs
from covey.attacks.columns import Line
from covey.attacks.matching import Pairs, Rows, runs
from covey.encoding.attributes import Mask

MOST_VALUES = 20  # that are guessed one by one
_PARTS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Target:
    """A sensitive column: the value of each person and of each released row, by numbers."""

    name: str
    values: Longs
    cells: Longs
    guessable: Mask  # the values that anybody would guess

    @classmethod
    def of(cls, column: Line) -> "Target":
        """Number the values, or groups of them if they are many."""
        released = np.bincount(column.cells, minlength=len(column.known))
        number, guessable = np.arange(len(column.known)), np.ones(len(column.known), np.bool_)
        if len(column.known) > MOST_VALUES and column.step:
            # Not the values themselves but the tenth of all rows in which they lie.
            middle = np.cumsum(released) - released / 2
            number = (middle * _PARTS / max(released.sum(), 1)).astype(np.int64)
            number = np.where(np.isnan(column.known), _PARTS, np.minimum(number, _PARTS - 1))
            guessable = np.ones(_PARTS + 1, np.bool_)
        elif len(column.known) > MOST_VALUES:
            often = np.argsort(-released, kind="stable")[: MOST_VALUES - 1]
            number = np.full(len(column.known), MOST_VALUES - 1)
            number[often] = np.arange(len(often))
            guessable = np.arange(MOST_VALUES) < MOST_VALUES - 1
        return cls(column.name, number[column.values], number[column.cells], guessable)

    @cached_property
    def by_chance(self) -> Floats:
        """For each value, how surely a guess from the whole release is right."""
        every = np.bincount(self.cells, minlength=len(self.guessable))
        found: Floats = self.sureness(every[None, :])[0]
        return found

    def sureness(self, counts: NDArray[Any]) -> Floats:
        """How surely the guess is each value; nothing is guessed from no rows."""
        known = np.where(self.guessable, counts, 0)
        most = known.max(axis=1, keepdims=True)
        best = ((known == most) & (most > 0)).astype(np.float64)
        found: Floats = best / np.maximum(best.sum(axis=1, keepdims=True), 1)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Guesses:
    """The values of a target among the rows that an attacker tells apart."""

    target: Target
    begin: Longs  # the values of each distinct row, in the two others
    number: Longs
    value: Longs
    rows: Longs

    @classmethod
    def of(cls, target: Target, rows: Rows) -> "Guesses":
        """Count the values in each distinct row."""
        size = len(target.guessable)
        pairs, often = np.unique(rows.of_release * size + target.cells, return_counts=True)
        row, value = np.divmod(pairs, size)
        begin = np.searchsorted(row, np.arange(len(rows.first) + 1))
        return cls(target, begin[:-1].astype(np.int64), np.diff(begin), value, often)

    def right(self, pairs: Pairs) -> Floats:
        """How surely the guess about each person is right; from no rows, it is that of chance."""
        target, number = self.target, self.number[pairs.other]
        size = len(target.guessable)
        listed = runs(self.begin[pairs.other], number)
        key = np.repeat(pairs.one, number) * size + self.value[listed]
        counts = np.bincount(key, self.rows[listed], pairs.count * size).reshape(-1, size)
        sure = target.sureness(counts)
        true = target.values[pairs.people]
        found: Floats = np.where(
            sure.max(axis=1)[pairs.known] > 0, sure[pairs.known, true], target.by_chance[true]
        )
        return found
