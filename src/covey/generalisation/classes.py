"""The classes of a released table: its distinct rows, and how many rows are equal to each.

They are counted batch by batch. The classes of batches add up, in any order, to those of the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Longs
from covey.encoding.intervals import HIGH, LOW
from covey.errors import TableError
from covey.tables import Table

_ROWS, _FIRST, _LABEL = "rows", "first", "label"  # other columns are named by their place

# The cells of a quasi-identifier as written, in one column or two with low and high ends.
Cells = Sequence[pl.Series]


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedClasses:
    """The distinct cells of each quasi-identifier, and the classes as indices of these cells."""

    cells: tuple[Cells, ...]  # sorted, so that sums repeat
    table: pl.DataFrame  # the index of each cell, the label if any, the rows and the first row

    @classmethod
    def of(
        cls,
        released: Table,
        names: Sequence[str],
        *,
        class_column: str | None = None,
        before: int = 0,
    ) -> "ReleasedClasses":
        """Count the equal rows of a batch; `before` is the number of released rows before it.

        Rows with different labels in the class column are counted separately.
        """
        written = [written_cells(released, name) for name in names]
        label = [] if class_column is None else [_label(released, class_column)]
        first, rows = _runs([*(cells for both in written for cells in both), *label])
        shown = [[cells[first] for cells in both] for both in written]
        cells = tuple(map(_distinct, shown))
        counts = [pl.Series(_ROWS, rows), pl.Series(_FIRST, first + before)]
        keys = [*_indices(shown, cells), *(one[first] for one in label)]
        return cls(cells, _grouped(pl.DataFrame([*keys, *counts]), cells))

    def __add__(self, other: "ReleasedClasses") -> "ReleasedClasses":
        pairs = zip(self.cells, other.cells, strict=True)
        cells = tuple(_distinct(_concatenated(*pair)) for pair in pairs)
        tables = [one._by(cells) for one in (self, other)]
        return ReleasedClasses(cells, _grouped(pl.concat(tables, how="vertical_relaxed"), cells))

    def _by(self, cells: Sequence[Cells]) -> pl.DataFrame:
        """The classes as indices of these cells, which are its own and others."""
        return self.table.with_columns(
            index.gather(self.table[index.name]) for index in _indices(self.cells, cells)
        )

    @property
    def rows(self) -> int:
        """The number of released rows."""
        return int(self.table[_ROWS].sum())

    @cached_property
    def counts(self) -> tuple[Longs, ...]:
        """For each column, the number of rows with each of its cells."""
        rows = self.table[_ROWS].to_numpy()
        return tuple(
            np.bincount(self.table[str(j)].to_numpy(), rows, len(cells[0])).astype(np.int64)
            for j, cells in enumerate(self.cells)
        )

    @cached_property
    def _unlabelled(self) -> pl.DataFrame:
        return _grouped(self.table.drop(_LABEL), self.cells) if self.labelled else self.table

    @property
    def sizes(self) -> Longs:
        """The number of rows of each class."""
        return self._unlabelled[_ROWS].to_numpy()

    @property
    def indices(self) -> tuple[NDArray[Any], ...]:
        """For each column, the index of the cell of each class."""
        return tuple(self._unlabelled[str(j)].to_numpy() for j in range(len(self.cells)))

    @property
    def as_released(self) -> Longs:
        """The classes in the order of their first rows."""
        return self._unlabelled[_FIRST].arg_sort().to_numpy()

    @property
    def labelled(self) -> bool:
        """Whether the labels of a class column were counted too."""
        return _LABEL in self.table.columns

    @property
    def in_majority(self) -> int:
        """The number of rows with the most frequent label of their class."""
        most = self.table.group_by(_keys(self.cells)).agg(pl.col(_ROWS).max())
        return int(most[_ROWS].sum())


def index_of_rows(released: Table, cells: Sequence[Cells]) -> tuple[NDArray[Any], ...]:
    """For each column, the index of the cell of each row among these distinct cells."""
    shown = [[released.cells(one.name) for one in both] for both in cells]
    return tuple(index.to_numpy() for index in _indices(shown, cells))


def written_cells(released: Table, name: str) -> Cells:
    """The released columns of a quasi-identifier: the column, or its low and high ends."""
    present = released.frame.columns
    if name in present:
        return [released.cells(name)]
    if {name + LOW, name + HIGH} <= set(present):
        return [released.cells(name + LOW), released.cells(name + HIGH)]
    raise TableError(f"quasi-identifier {name!r} is not in the released table")


def _label(released: Table, name: str) -> pl.Series:
    if name not in released.frame.columns:
        raise TableError(f"column {name!r} is not in the released table")
    return released.frame[name].alias(_LABEL)


def _runs(columns: Sequence[pl.Series]) -> tuple[Longs, Longs]:
    """The first row of each run of equal rows, and the length of the run.

    In most releases, equal rows are neighbours. So only few rows are left to be grouped.
    """
    rows = len(columns[0])
    changes = np.zeros(rows, dtype=np.bool_)
    changes[:1] = True
    for cells in columns:
        changes |= cells.ne_missing(cells.shift()).to_numpy()
    first = np.flatnonzero(changes)
    return first, np.diff(first, append=rows)


def _frame(written: Cells) -> pl.DataFrame:
    """The cells as a frame; the names of its columns are their places, since any may be empty."""
    return pl.DataFrame([cells.alias(str(place)) for place, cells in enumerate(written)])


def _named(frame: pl.DataFrame, written: Cells) -> Cells:
    return [cells.alias(named.name) for cells, named in zip(frame, written, strict=True)]


def _distinct(written: Cells) -> Cells:
    frame = _frame(written).unique()
    return _named(frame.sort(frame.columns), written)


def _concatenated(one: Cells, other: Cells) -> Cells:
    return _named(pl.concat([_frame(one), _frame(other)], how="vertical_relaxed"), one)


_INDICES = {pl.UInt8: 1 << 8, pl.UInt16: 1 << 16, pl.UInt32: 1 << 32}  # and how many there are


def _indices(shown: Sequence[Cells], cells: Sequence[Cells]) -> list[pl.Series]:
    """For each column, the index of each shown cell among the distinct ones, in few bytes."""
    found = []
    for place, (own, distinct) in enumerate(
        zip(map(_frame, shown), map(_frame, cells), strict=True)
    ):
        joined = own.cast(distinct.schema).join(
            distinct.with_row_index("index"),
            on=own.columns,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        kind = next(kind for kind, most in _INDICES.items() if distinct.height <= most)
        found.append(joined["index"].cast(kind).alias(str(place)))
    return found


def _grouped(table: pl.DataFrame, cells: Sequence[Cells]) -> pl.DataFrame:
    label = [pl.col(name) for name in table.columns if name == _LABEL]
    found = table.group_by(*_keys(cells), *label).agg(
        *(pl.col(str(place)).first() for place in range(len(cells))),
        pl.col(_ROWS).sum(),
        pl.col(_FIRST).min(),
    )
    return found.select(table.columns)


def _keys(cells: Sequence[Cells]) -> list[pl.Expr]:
    """The indices of a class as few whole numbers: groups by many columns take much memory."""
    keys: list[pl.Expr] = []
    room = 0  # how many more values the last key can have for each of its own
    for place, distinct in enumerate(cells):
        size, index = len(distinct[0]), pl.col(str(place)).cast(pl.UInt64)
        if 0 < size <= room:
            keys[-1], room = keys[-1] * size + index, room // size
        else:
            keys.append(index)
            room = 2**64 // max(size, 1)
    return [key.alias(f"key {number}") for number, key in enumerate(keys)]
