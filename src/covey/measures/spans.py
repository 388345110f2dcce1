"""From where to where cells go: an analyst takes any value that a cell covers as likely."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from covey._core.arrays import Floats, Longs
from covey.encoding import EncodedTable
from covey.encoding.attributes import Mask
from covey.generalisation import ShownColumn


class Spans(NamedTuple):
    """The distinct cells of a column, from where to where each goes, and which one a row has.

    Categories are told by the places of their leaves in the tree's order, in which those under one
    node are neighbours: so nodes are intervals too. The ends of a missing number are NaN.
    """

    low: Floats
    high: Floats
    cell: Longs  # of each row
    step: float  # from a value to the next: 1 for whole numbers, days and leaves, or else 0
    hidden: Mask  # cells that stand for any number, or for none

    def covers(self, low: float, high: float) -> Mask:
        """Which distinct cells may stand for a value between two ends, both included."""
        return self.hidden | (np.minimum(self.high, high) >= np.maximum(self.low, low))

    def shares(self, low: float, high: float) -> Floats:
        """Which share of the values of each distinct cell lies between two ends.

        Values that lie a step apart are counted: [30, 39] is ten ages of the twenty in [30, 49].
        Where they may lie anywhere, lengths are compared, and a number alone is in or out.
        """
        overlap = np.minimum(self.high, high) - np.maximum(self.low, low)
        width = self.high - self.low + self.step
        shares = np.divide(overlap + self.step, width, out=np.ones_like(width), where=width > 0)
        return np.where(overlap >= 0, shares, 0.0)


def original_spans(original: EncodedTable) -> list[Spans]:
    """The original's cells: each covers its own value only."""
    found = []
    for attribute in original.attributes:
        values, cell = np.unique(attribute.values, return_inverse=True)
        ends = values.astype(np.float64)
        found.append(Spans(ends, ends, cell, attribute.step, np.zeros(len(ends), dtype=np.bool_)))
    return found


def released_spans(columns: Sequence[ShownColumn]) -> list[Spans]:
    """The released cells; a hidden one covers the whole domain, or all leaves."""
    return [Spans(*c.shown.ends, c.cell, c.attribute.step, c.shown.hidden) for c in columns]
