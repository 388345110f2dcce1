"""Conversion of handwritten tables of whole numbers to arrays of weights."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]


def integers(values: Iterable[int] | Iterable[Sequence[int]]) -> Ints:
    """The values in an array of 64-bit integers on every platform."""
    return np.array(list(values), dtype=np.int64)


def curve(knots: Iterable[Sequence[int]]) -> Ints:
    """Linear interpolation between the knots, in whole numbers, from 0 to the last knot."""
    at, height = integers(knots).T
    x = np.arange(at[-1] + 1)
    left = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(at) - 2)
    rise, run = np.diff(height)[left], np.diff(at)[left]
    heights: Ints = height[left] + rise * (x - at[left]) // run
    return heights


def by_label(table: Mapping[str, Sequence[int]]) -> Ints:
    """A table with the labels along the last axis."""
    return integers(table.values()).T


def percentages(table: Mapping[str, Sequence[int]], labels: Sequence[str]) -> Ints:
    """Like `by_label`, with 100 % for each label that the table does not mention."""
    usual = [100] * len(next(iter(table.values())))
    return by_label({label: table.get(label, usual) for label in labels})
