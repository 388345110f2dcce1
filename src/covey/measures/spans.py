"""The ends of cells: an analyst takes all values that a cell covers as equally likely."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey._core.arrays import Floats
from covey.encoding import EncodedTable
from covey.encoding.attributes import Mask
from covey.generalisation import ShownColumn


class Spans(NamedTuple):
    """The distinct cells of a column with their ends, and the cell of each row or class.

    Categories are given by the places of their leaves in the order of the tree. Leaves under one
    node are neighbours there, so nodes are intervals too. The ends of a missing number are NaN.
    """

    low: Floats
    high: Floats
    cell: NDArray[Any]  # index, for each row or class
    step: float  # between neighbouring values: 1 for whole numbers, days and leaves, else 0
    hidden: Mask  # cells that match any number, or a missing one
    loose: bool = False  # whether the ends are means: the values behind them may be any

    def covers(self, low: float, high: float) -> Mask:
        """The distinct cells that may stand for a value between two ends, both included."""
        if self.loose:
            return self.hidden | ~np.isnan(self.low)
        return self.hidden | (np.minimum(self.high, high) >= np.maximum(self.low, low))

    def shares(self, low: float, high: float) -> Floats:
        """The share of the values of each distinct cell that lies between two ends.

        With a step, values are counted: [30, 39] is ten ages of the twenty in [30, 49]. Without
        one, lengths are compared, and a single number is either in or out.
        """
        overlap = np.minimum(self.high, high) - np.maximum(self.low, low)
        width = self.high - self.low + self.step
        shares = np.divide(overlap + self.step, width, out=np.ones_like(width), where=width > 0)
        return np.where(overlap >= 0, shares, 0.0)


def original_spans(original: EncodedTable) -> list[Spans]:
    """The cells of the original: each covers only its own value."""
    found = []
    for attribute in original.attributes:
        values, cell = np.unique(attribute.values, return_inverse=True)
        ends = values.astype(np.float64)
        found.append(Spans(ends, ends, cell, attribute.step, np.zeros(len(ends), dtype=np.bool_)))
    return found


def released_spans(columns: Sequence[ShownColumn], cells: Sequence[NDArray[Any]]) -> list[Spans]:
    """The released cells; a hidden cell covers the whole domain, or all leaves."""
    return [
        Spans(*c.shown.ends, cell, c.attribute.step, c.shown.hidden, c.shown.is_loose)
        for c, cell in zip(columns, cells, strict=True)
    ]
