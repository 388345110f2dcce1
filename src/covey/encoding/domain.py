"""What encoding needs to know of a whole table: its ranges, trees and frequencies.

A `Scan` counts the values of each column. Scans of batches add up, in any order, to that of the
whole table, and from it follows the `Domain`. So a part of a table is encoded like the whole.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
import polars as pl

from covey._core.arrays import Longs
from covey.encoding.attributes import Attribute
from covey.encoding.categories import MISSING_LEAF, Category, refuse_uncovered, tree_over
from covey.encoding.intervals import Interval, usual_range
from covey.encoding.values import Values, is_category
from covey.schema import Column, ColumnType, Schema, labels
from covey.schema.taxonomy import Taxonomy
from covey.tables.cells import as_days, as_numbers
from covey.tables.csv_files import Dialect
from covey.tables.merging import FieldSums, each

VALUE, ROWS = "value", "rows"


def _summed(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    both = pl.concat([one, other], how="vertical_relaxed")
    return both.group_by(VALUE).agg(pl.col(ROWS).sum()).sort(VALUE, nulls_last=True)


@dataclass(frozen=True, eq=False, repr=False)
class Scan(FieldSums):
    """The distinct values of each column, and how many rows have each."""

    rows: int
    quasi: Annotated[Mapping[str, pl.DataFrame], each(_summed)]
    sensitive: Annotated[Mapping[str, pl.DataFrame], each(_summed)]

    @classmethod
    def of(cls, values: Values) -> "Scan":
        """Count the values of a batch."""
        return cls(
            values.rows,
            {name: _counted(column) for name, column in values.quasi.items()},
            {name: _counted(column) for name, column in values.sensitive.items()},
        )

    def domain(self, schema: Schema, dialect: Dialect) -> "Domain":
        """The domain of the scanned rows."""
        return Domain(
            self.rows,
            {
                name: _quasi_domain(name, schema.columns[name], counts, dialect)
                for name, counts in self.quasi.items()
            },
            {
                name: _reference(name, schema.columns[name], counts, dialect)
                for name, counts in self.sensitive.items()
            },
        )


def _counted(values: pl.Series) -> pl.DataFrame:
    counts = values.alias(VALUE).to_frame().group_by(VALUE).len(ROWS)
    counts = counts.with_columns(
        pl.col(ROWS).cast(pl.Int64), pl.col(pl.Categorical).cast(pl.String)
    )
    return counts.sort(VALUE, nulls_last=True)


class ValueCounts(NamedTuple):
    """An attribute with one entry for each value, and the number of rows with each."""

    attribute: Attribute
    rows: Longs

    @classmethod
    def of(cls, attribute: Attribute) -> "ValueCounts":
        """Count the values of a quasi-identifier."""
        values, rows = np.unique(attribute.values, return_counts=True)
        return cls(replace(attribute, values=values), rows.astype(np.int64))

    @property
    def frame(self) -> pl.DataFrame:
        """The same as a `Scan` has it: labels instead of leaves, null if missing."""
        if isinstance(self.attribute, Category):
            leaves = pl.Series(self.attribute.tree.leaves, dtype=pl.String)
            labels_ = leaves.gather(self.attribute.leaves)
            known = pl.select(pl.when(labels_ != MISSING_LEAF).then(labels_)).to_series()
        else:
            known = pl.Series(self.attribute.values).fill_nan(None)
        frame = pl.DataFrame({VALUE: known, ROWS: self.rows})
        return frame.sort(VALUE, nulls_last=True)


@dataclass(frozen=True, eq=False, repr=False)
class Reference:
    """The values of a sensitive column in a whole table, in their order if they have one."""

    known: pl.Series  # missing last
    rows: Longs  # how many rows have each
    read: Callable[[pl.Series], pl.Series]  # how to read cells of the column
    tree: Taxonomy | None = None
    leaves: Longs | None = None  # of the tree, for each value


@dataclass(frozen=True, eq=False, repr=False)
class Domain:
    """The range or tree of each quasi-identifier, and the values of each sensitive column."""

    rows: int
    quasi: Mapping[str, tuple[float, float] | Taxonomy]
    sensitive: Mapping[str, Reference]

    def attribute(self, name: str, column: Column, values: pl.Series) -> Interval | Category:
        """A quasi-identifier with these values."""
        known = self.quasi[name]
        if isinstance(known, Taxonomy):
            return Category.in_tree(name, column, values, known)
        return Interval.within(name, column, values, known)

    def moved(self, attribute: Attribute) -> Attribute:
        """A quasi-identifier with the same values, by the range or tree of this domain."""
        known = self.quasi[attribute.name]
        if isinstance(attribute, Interval):
            assert not isinstance(known, Taxonomy)
            return replace(attribute, low=known[0], high=known[1])
        assert isinstance(attribute, Category)
        assert isinstance(known, Taxonomy)
        leaf_of = {label: leaf for leaf, label in enumerate(known.leaves)}
        leaves = [leaf_of.get(label, -1) for label in attribute.tree.leaves]
        return replace(
            attribute, values=np.array(leaves, dtype=np.int32)[attribute.leaves], tree=known
        )

    def showing(self, released: "Domain") -> "Domain":
        """The same, with the ranges and trees of the released rows."""
        return replace(self, quasi=released.quasi)


def _quasi_domain(
    name: str, column: Column, counts: pl.DataFrame, dialect: Dialect
) -> tuple[float, float] | Taxonomy:
    known = counts[VALUE]
    if is_category(column):
        tree = tree_over(name, column, known, dialect)
        return tree.with_leaf(MISSING_LEAF) if known.null_count() else tree
    if column.domain is not None:
        return column.domain
    present = known.is_not_null()
    values = known.filter(present).to_numpy()
    return usual_range(values, counts[ROWS].filter(present).to_numpy())


def _reference(name: str, column: Column, counts: pl.DataFrame, dialect: Dialect) -> Reference:
    known, rows = counts[VALUE], counts[ROWS].to_numpy()
    match column.type:
        case ColumnType.NUMERIC:
            return Reference(known, rows, partial(as_numbers, dialect=dialect))
        case ColumnType.DATE:
            return Reference(known, rows, partial(as_days, written=column.format))
        case _ if column.taxonomy is not None:
            tree = tree_over(name, column, known, dialect)
            refuse_uncovered(name, known, tree, as_seen=True)
            if known.null_count():
                tree = tree.with_leaf(MISSING_LEAF)
            places = labels.places(tree.leaves)
            leaves = np.array([places[value or MISSING_LEAF] for value in known], dtype=np.int64)
            order = np.argsort(leaves, kind="stable")
            return Reference(known[order], rows[order], labels.seen, tree, leaves[order])
    return Reference(known, rows, labels.as_read)
