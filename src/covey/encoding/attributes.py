"""What every quasi-identifier can do, whether it holds numbers, dates or categories.

An `Attribute` is a column of people. What a group shows instead of their values, or what a cell of
a release says, is `Shown`. Each attribute is also a line of places: values that occur, or leaves in
the order of their tree, and missing last. Whatever a cell shows covers neighbours on it.
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
            raise SchemaError('categories are shown as "ancestor" or "values"')
        if self.intervals not in ("text", "columns"):
            raise SchemaError('intervals are shown as "text" or "columns"')


@dataclass(frozen=True, eq=False, repr=False)
class Attribute(ABC):
    """A quasi-identifier."""

    name: str
    column: Column
    values: NDArray[Any]  # per row

    @property
    @abstractmethod
    def absent(self) -> Mask:
        """Which rows have no value."""

    @property
    def matches_anything(self) -> Mask:
        """In which rows the cell is missing, and may be any value."""
        if self.column.missing is MissingPolicy.WILDCARD:
            return self.absent
        return np.zeros(len(self.values), dtype=np.bool_)

    @property
    def counts_leaves(self) -> bool:
        """Whether it depends on the people how many values are under a label."""
        return False

    @cached_property
    def step(self) -> float:
        """From a value to the next: 1 for whole numbers, days and leaves, or else 0."""
        return 0.0 if np.any(self.values % 1 > 0) else 1.0

    @property
    @abstractmethod
    def width(self) -> float:
        """From the first value of the domain to the last."""

    @cached_property
    @abstractmethod
    def places(self) -> Longs:
        """Where each row stands in the line of values."""

    def take(self, rows: Longs) -> Self:
        """Some of the rows; domain and tree remain those of the whole table."""
        return replace(self, values=self.values[rows])

    @abstractmethod
    def typical(self, block: Longs, blocks: int) -> NDArray[Any]:
        """The middle or most frequent value of each block of rows; anything for an empty one."""

    @abstractmethod
    def fold(self, groups: Groups | Rings) -> "Shown":
        """What each group shows."""

    @abstractmethod
    def parse(self, cells: Sequence[pl.Series], dialect: Dialect) -> "Shown":
        """What released cells say, which stand in one column or as low and high ends in two."""


@dataclass(frozen=True, eq=False, repr=False)
class Shown(ABC):
    """What cells of an attribute show: one of each group, or those of a released table."""

    attribute: Attribute

    @abstractmethod
    def __len__(self) -> int:
        """How many cells these are."""

    @property
    def hidden(self) -> Mask:
        """Which cells may stand for any value, or for a missing one."""
        return np.zeros(len(self), dtype=np.bool_)

    @property
    def ends_exactly(self) -> bool:
        """Whether all ends of intervals are values of people."""
        return False

    @property
    @abstractmethod
    def ends(self) -> tuple[Floats, Floats]:
        """The first and the last value that each cell covers; leaves by their places."""

    @property
    @abstractmethod
    def places(self) -> tuple[Longs, Longs]:
        """The first place that each cell covers, and the one behind the last."""

    @abstractmethod
    def losses(self, measure: Measure) -> Floats:
        """What each cell loses, from 0 to 1, by the domain or tree of the attribute."""

    def on_shown_scale(self) -> Self:
        """The same, the domain being what is declared or shown, not that of the original."""
        return self

    @abstractmethod
    def render(self, groups: Groups | Rings, dialect: Dialect, style: Style) -> list[pl.Series]:
        """The cells of these groups as they are released, in one column or two."""
