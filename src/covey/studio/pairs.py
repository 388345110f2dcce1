"""The original beside the release, row by row, for the custodian alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey import tables
from covey._core.arrays import Floats, Longs
from covey.custody.ordering import KeptRows, people_as_read
from covey.encoding import EncodedTable, encode
from covey.encoding.categories import members_of
from covey.encoding.lookups import as_labels
from covey.generalisation import ShownColumn, View
from covey.generalisation.classes import index_of_rows, written_cells
from covey.measures.histograms import MISSING, OTHERS
from covey.release import Release
from covey.schema import Column, ColumnType, Role, Schema
from covey.schema.taxonomy import Taxonomy
from covey.tables import Table
from covey.tables.cells import as_days, as_numbers
from covey.tables.csv_files import Dialect

Texts = list[str | None]  # of cells, None if missing


class Pair:
    """A release and its original, which a release itself keeps nothing of.

    Whatever looks at the original works it out once: encoding takes as long as for the release.
    """

    def __init__(self, release: Release, schema: Schema, read: Table) -> None:
        self.release, self.schema = release, schema
        self.kept = release._own
        self.read = read  # as the file has it, all rows
        self._exact: dict[str, pl.Series] = {}  # by column, once it is needed

    @cached_property
    def original(self) -> Table:
        """The table as the schema reads it, all rows."""
        roles = (Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
        return tables.original(self.read, self.schema, *roles)

    @cached_property
    def people(self) -> KeptRows:
        """The rows that no missing-value policy dropped."""
        return people_as_read(self.original, self.schema)

    @cached_property
    def encoded(self) -> EncodedTable:
        """These rows, encoded."""
        return encode(self.people.table, self.schema)

    # ── columns ─────────────────────────────────────────────────────────────────────────────────

    @property
    def released(self) -> Table:
        """The released table."""
        return self.kept.released

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The quasi-identifiers, in the order of the table."""
        return tuple(name for name in self.read.frame.columns if name in self.schema.quasi)

    @cached_property
    def carried(self) -> tuple[str, ...]:
        """The columns that are released as they are, sensitive ones first."""
        named = self.schema.names(Role.SENSITIVE) + self.schema.names(Role.INSENSITIVE)
        return tuple(name for name in named if name in self.released.frame.columns)

    def attribute(self, name: str) -> int:
        """The place of a quasi-identifier among the attributes."""
        return [attribute.name for attribute in self.encoded.attributes].index(name)

    @cached_property
    def view(self) -> View:
        """The distinct released cells, read once."""
        return View.of(self.released, self.encoded)

    @cached_property
    def cells(self) -> tuple[NDArray[Any], ...]:
        """For each attribute, the distinct cell of each released row."""
        return index_of_rows(self.released, self.view.classes.cells)

    def shown(self, name: str) -> ShownColumn:
        """The distinct released cells of a quasi-identifier."""
        return self.view.columns[self.attribute(name)]

    def by_row(self, name: str, of_cells: NDArray[Any]) -> NDArray[Any]:
        """Figures of the distinct cells of a quasi-identifier as those of the released rows."""
        found: NDArray[Any] = of_cells[self.cells[self.attribute(name)]]
        return found

    def exact(self, name: str) -> pl.Series:
        """The values of a column of the original: numbers, days or labels."""
        if name not in self._exact:
            column, table = self.schema.columns[name], self.original
            self._exact[name] = exact(table.cells(name), column, table.dialect)
        return self._exact[name]

    # ── rows ────────────────────────────────────────────────────────────────────────────────────

    @property
    def rows(self) -> int:
        """Rows of the original, with those that were dropped or suppressed."""
        return self.people.selection.total

    @cached_property
    def place(self) -> Longs:
        """The released row of each row of the original, -1 if it has none."""
        place = np.full(self.rows, -1, dtype=np.int64)
        place[self.release.rows] = np.arange(len(self.release.rows))
        return place

    @cached_property
    def weights(self) -> Floats:
        """The weight of each attribute."""
        return np.array(list(self.kept.losses.weights.values()))

    @cached_property
    def cell_losses(self) -> Floats:
        """The loss of each released cell, from 0 to 1, by row and attribute."""
        return self.kept.losses.each(self.released) / self.weights

    @cached_property
    def losses(self) -> Floats:
        """The loss of each row of the original, from 0 to 1; NaN if a policy dropped it."""
        losses: Floats = self.release.costs["loss"].to_numpy() / self.weights.sum()
        return losses


def exact(cells: pl.Series, column: Column, dialect: Dialect) -> pl.Series:
    """Cells by their meaning, exactly as known: numbers, days since 1970-01-01, or labels."""
    match column.type:
        case ColumnType.NUMERIC:
            return as_numbers(cells, dialect)
        case ColumnType.DATE:
            hours = column.role is Role.QUASI and column.grid == "hour"
            return as_days(cells, column.format, hours=hours).cast(pl.Float64)
        case _:
            return as_labels(cells)


def texts(cells: pl.Series) -> Texts:
    """The cells as the page shows them."""
    return cells.cast(pl.String, strict=False).to_list()


def released_texts(released: Table, name: str, rows: Sequence[int] | Longs) -> Texts:
    """Released cells as the page shows them; low and high ends in one text."""
    columns = [texts(cells[rows]) for cells in written_cells(released, name)]
    if len(columns) == 1:
        return columns[0]
    return [
        None if low is None and high is None else f"{low or '…'} – {high or '…'}"
        for low, high in zip(*columns, strict=True)
    ]


def members(label: str | None, tree: Taxonomy) -> list[str] | None:
    """The values of a cell that is a set; None if it is no set."""
    if label is None or not label.startswith("{") or label in tree.node_of:
        return None
    return members_of(label)


# ── few values that stand for many ──────────────────────────────────────────────────────────────

_MOST = 12  # values that are named
_PARTS = 5  # of a range of numbers


@dataclass(frozen=True, eq=False, repr=False)
class Binned:
    """The values of a column in a few bins: labels, single numbers, or ranges of numbers.

    Bins of numbers come first and have a first and a last value. The last bin may be MISSING.
    """

    labels: tuple[str, ...]
    of_rows: Longs  # the bin of each row
    first: Floats = field(default_factory=lambda: np.zeros(0))
    last: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def missing(self) -> int:
        """The bin of missing values; if there is none, the place after all bins."""
        return len(self.labels) - (self.labels[-1:] == (MISSING,))

    @property
    def are_single(self) -> bool:
        """Whether each bin is one number."""
        return bool((self.first == self.last).all())

    @property
    def each(self) -> Floats:
        """The part of a row of each bin that is in each bin; another one is behind the last."""
        return np.eye(len(self.labels) + 1)


def binned(pair: Pair, name: str) -> Binned:
    """The values of a column of the original."""
    column, cells = pair.schema.columns[name], pair.original.cells(name)
    values = pair.exact(name)
    if column.type is None and numbers_in(pair.original, name) is not None:
        values = as_numbers(cells, pair.original.dialect)
    if values.dtype.is_float():
        return _ranges(values.fill_null(float("nan")).to_numpy(), column)
    return _labels(values.cast(pl.String).alias("value"))


def numbers_in(table: Table, name: str) -> pl.Series | None:
    """The numbers of a column, null if missing; None if some of its cells are no numbers."""
    cells = table.cells(name)
    if not cells.dtype.is_numeric() and cells.dtype != pl.String:
        return None
    numbers = as_numbers(cells, table.dialect)
    return numbers if numbers.null_count() == cells.null_count() < len(cells) else None


def _labels(text: pl.Series) -> Binned:
    """The most frequent values, all others, and missing ones."""
    counted = text.drop_nulls().value_counts(name="rows")
    counted = counted.sort(["rows", "value"], descending=[True, False])
    named = counted["value"].head(_MOST).to_list()
    labels = [*named, *([OTHERS] if counted.height > len(named) else [])]
    labels += [MISSING] if text.null_count() else []
    place = {value: place for place, value in enumerate(named)}
    gone = len(labels) - 1
    own = [gone if value is None else place.get(value, len(named)) for value in text.to_list()]
    return Binned(tuple(labels), np.array(own, dtype=np.int64))


def _ranges(numbers: Floats, column: Column) -> Binned:
    """Single numbers if they are few; ranges with about the same number of rows if not."""
    gone = np.isnan(numbers)
    known = np.sort(numbers[~gone])
    distinct = np.unique(known)
    parts = [len(known) * part // _PARTS for part in range(_PARTS)]
    first = distinct if len(distinct) <= _MOST else np.unique(known[parts])
    last = known[np.append(np.searchsorted(known, first[1:]), len(known)) - 1]
    labels = [_range(low, high, column) for low, high in zip(first, last, strict=True)]
    own = np.where(gone, len(labels), np.searchsorted(first, numbers, side="right") - 1)
    return Binned((*labels, *([MISSING] if gone.any() else [])), own, first, last)


def _range(low: float, high: float, column: Column) -> str:
    def spelled(value: float) -> str:
        if column.type is ColumnType.DATE:
            return str(np.datetime64(int(np.floor(value)), "D"))
        return f"{value:,.2f}".rstrip("0").rstrip(".")

    return spelled(low) if low == high else f"{spelled(low)} to {spelled(high)}"
