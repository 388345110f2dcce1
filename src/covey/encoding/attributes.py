"""The interface of every quasi-identifier, whether it has numbers, dates or categories.

An `Attribute` is a column of original values. `Shown` is what a group shows instead of these
values, or what the cells of a release say. Each attribute is also a line of places: the values that
occur, or the leaves in the order of their tree, with missing last. Every released cell covers a run
of neighbouring places.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Floats, Longs
from covey.encoding.groups import Groups, Rings
from covey.errors import SchemaError
from covey.schema import Column, MissingPolicy
from covey.schema.taxonomy import Measure
from covey.tables.csv_files import Dialect

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Style:
    """How generalised cells are written."""

    categories: Literal["ancestor", "values"] = "ancestor"
    intervals: Literal["text", "columns"] = "text"

    def __post_init__(self) -> None:
        if self.categories not in ("ancestor", "values"):
            raise SchemaError('categories must be "ancestor" or "values"')
        if self.intervals not in ("text", "columns"):
            raise SchemaError('intervals must be "text" or "columns"')


@dataclass(frozen=True, eq=False, repr=False)
class Attribute(ABC):
    """A quasi-identifier."""

    name: str
    column: Column
    values: NDArray[Any]  # one per row, or the distinct values in a `Tally`

    @property
    @abstractmethod
    def absent(self) -> Mask:
        """The rows with a missing value."""

    @property
    def matches_anything(self) -> Mask:
        """The rows whose missing cell matches any value."""
        if self.column.missing is MissingPolicy.WILDCARD:
            return self.absent
        return np.zeros(len(self.values), dtype=np.bool_)

    @property
    def counts_leaves(self) -> bool:
        """Whether the number of values under a label depends on the people in the table."""
        return False

    @cached_property
    def step(self) -> float:
        """The step between neighbouring values: 1 for whole numbers, days and leaves, else 0."""
        return 0.0 if np.any(self.values % 1 > 0) else 1.0

    @property
    @abstractmethod
    def width(self) -> float:
        """The distance from the first to the last value of the domain."""

    @cached_property
    @abstractmethod
    def places(self) -> Longs:
        """The place of each row in the line of values."""

    def take(self, rows: Longs) -> Self:
        """Select some rows; the domain and the tree stay those of the whole table."""
        return replace(self, values=self.values[rows])

    @abstractmethod
    def typical(self, block: Longs, blocks: int) -> NDArray[Any]:
        """The median or most frequent value of each block of rows; undefined for an empty block."""

    @abstractmethod
    def fold(self, groups: Groups | Rings) -> "Shown":
        """What each group shows."""

    @abstractmethod
    def parse(self, cells: Sequence[pl.Series], dialect: Dialect) -> "Shown":
        """Read released cells from one column, or from two with low and high ends."""


@dataclass(frozen=True, eq=False, repr=False)
class Shown(ABC):
    """Generalised cells of an attribute: one for each group, or those of a released table."""

    attribute: Attribute

    @abstractmethod
    def __len__(self) -> int:
        """The number of cells."""

    @property
    def hidden(self) -> Mask:
        """The cells that match any value, or a missing one."""
        return np.zeros(len(self), dtype=np.bool_)

    @property
    def is_loose(self) -> bool:
        """Whether a cell may stand for values that it does not name."""
        return False

    @property
    def ends_exactly(self) -> bool:
        """Whether all ends of intervals are original values."""
        return False

    @property
    @abstractmethod
    def ends(self) -> tuple[Floats, Floats]:
        """The first and last value that each cell covers; leaves by their places."""

    @property
    @abstractmethod
    def places(self) -> tuple[Longs, Longs]:
        """The first place that each cell covers, and the place after the last."""

    @property
    @abstractmethod
    def keys(self) -> list[NDArray[Any]]:
        """Arrays in which two cells are equal only if they show the same."""

    @abstractmethod
    def losses(self, measure: Measure) -> Floats:
        """The loss of each cell, from 0 to 1, by the domain or tree of the attribute."""

    def on_shown_scale(self, rows: Longs) -> Self:  # noqa: ARG002 - for numbers
        """The same, with the declared or released domain instead of the original one.

        `rows` is the number of rows with each cell.
        """
        return self

    @abstractmethod
    def render(self, groups: Groups | Rings, dialect: Dialect, style: Style) -> list[pl.Series]:
        """Write the cells of these groups for a release, in one column or two."""
