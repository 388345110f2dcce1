"""Encode cells as compact arrays: all that clustering methods see of a table.

Numbers and dates are scaled to 0 … 1. Categories become leaves of one forest, the trees of all
columns one after the other, so that a single number identifies a node.

If a missing cell matches any value, `covey.encoding.imputation` replaces it by a value before
methods see it. Attributes have the order of `covey.encoding.values`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from covey._core import kernels
from covey._core.arrays import Cells, Floats, Forest, Ints, Longs
from covey.encoding.attributes import Attribute
from covey.encoding.categories import Category, refuse_uncovered, refuse_unfit
from covey.encoding.constraints import Coded, Constraints, constraints_of
from covey.encoding.domain import Domain, Reference, Scan, ValueCounts
from covey.encoding.groups import Groups
from covey.encoding.intervals import Interval
from covey.encoding.values import Values
from covey.errors import TableError, TaxonomyError
from covey.schema import Schema
from covey.schema.requirements import Requirement
from covey.schema.taxonomy import Measure, Taxonomy
from covey.tables import Table
from covey.tables.csv_files import Dialect

if TYPE_CHECKING:
    from covey.reference.model import Column as PlainColumn


@dataclass(frozen=True, eq=False, repr=False)
class EncodedTable:
    """A table as arrays."""

    attributes: tuple[Attribute, ...]
    rows: int
    measure: Measure = "height"
    classes: Ints | None = None  # codes of the class column, if there is one
    sensitive: Mapping[str, Coded] = field(default_factory=dict)
    constraints: Constraints | None = None  # on groups, other than their size
    atoms: Longs | None = (
        None  # rows of an atom stay together; -1 by itself, `LEFT_OUT` in no group
    )
    needed: Mapping[str, float] = field(default_factory=dict)  # the share of uses, by attribute

    @property
    def intervals(self) -> list[Interval]:
        """Numbers and dates, by name."""
        return [a for a in self.attributes if isinstance(a, Interval)]

    @property
    def categories(self) -> list[Category]:
        """Categories, by name."""
        return [a for a in self.attributes if isinstance(a, Category)]

    @cached_property
    def forest(self) -> Forest:
        """The trees of all categories."""
        weights = [a.column.weight for a in self.categories]
        return _plant([a.tree for a in self.categories], self.measure, weights)

    @cached_property
    def missing_at(self) -> float:
        """Where missing numbers stand: at least 1 beyond all others, which rarely exceed 1."""
        highest = [np.fmax.reduce(interval.scaled, initial=1.0) for interval in self.intervals]
        return float(np.ceil(max(highest, default=1.0))) + 1

    @cached_property
    def cells(self) -> Cells:
        """All rows in the form that the kernels use."""
        numbers = np.empty((self.rows, len(self.intervals)), dtype=np.float64)
        for place, interval in enumerate(self.intervals):
            numbers[:, place] = np.where(interval.absent, self.missing_at, interval.scaled)
        codes = np.empty((self.rows, len(self.categories)), dtype=np.int32)
        for place, category in enumerate(self.categories):
            codes[:, place] = category.leaves + self.forest.first[place]
        weights = np.array([a.column.weight for a in self.intervals], dtype=np.float64)
        return Cells(numbers, weights, codes)

    @cached_property
    def core(self) -> kernels.Table:
        """Cells and forest as one object for the kernels."""
        return kernels.Table(*(*self.cells, *self.forest))

    @cached_property
    def without_gaps(self) -> "EncodedTable":
        """The table as methods see it: a missing cell that matches anything holds a typical value.

        Worked out once, for the method and the repair.
        """
        from covey.encoding.imputation import without_gaps

        return without_gaps(self)

    @property
    def plain(self) -> "dict[str, PlainColumn]":
        """The columns as lists, for `covey.reference`."""
        from covey.encoding.plain import plain_columns

        return plain_columns(self.attributes)

    def take(self, rows: Longs) -> "EncodedTable":
        """Select some rows; domains and trees stay those of the whole table."""
        return replace(
            self,
            attributes=tuple(attribute.take(rows) for attribute in self.attributes),
            rows=len(rows),
            classes=None if self.classes is None else self.classes[rows],
            sensitive={name: column.take(rows) for name, column in self.sensitive.items()},
            constraints=None if self.constraints is None else self.constraints.take(rows),
            atoms=None if self.atoms is None else self.atoms[rows],
        )

    @property
    def scan(self) -> Scan:
        """The values of the quasi-identifiers, and how many rows have each."""
        return Scan(self.rows, {a.name: ValueCounts.of(a).frame for a in self.attributes}, {})

    def within(self, schema: Schema, dialect: Dialect) -> "EncodedTable":
        """The same rows by their own ranges and trees, as if the table had no others."""
        return self.encoded_within(self.scan.domain(schema, dialect))

    def encoded_within(self, domain: Domain) -> "EncodedTable":
        """The same values by other ranges and trees."""
        attributes = tuple(domain.moved(attribute) for attribute in self.attributes)
        return EncodedTable(attributes, self.rows, self.measure)

    @cached_property
    def places(self) -> Ints:
        """The place of each cell among the values of its column, missing last.

        Numbers are ranked among those that occur; categories have the order of their tree.
        """
        ranks = [np.unique(column, return_inverse=True)[1] for column in self.cells.numbers.T]
        leaves = [category.leaves for category in self.categories]
        return np.column_stack([*ranks, *leaves]).astype(np.int32)

    @property
    def lexicographic(self) -> Longs:
        """The rows, sorted by their cells, attribute by attribute, then by row number."""
        return np.lexsort(self.places.T[::-1]).astype(np.int64)

    @property
    def weights(self) -> Floats:
        """The weight of each attribute."""
        return np.array([a.column.weight for a in self.attributes], dtype=np.float64)

    def weighing(self, factors: Mapping[str, float]) -> "EncodedTable":
        """The same table with the weights of these attributes times their factors."""

        def weighed(one: Attribute) -> Attribute:
            weight = one.column.weight * factors[one.name]
            return replace(one, column=one.column.model_copy(update={"weight": weight}))

        attributes = (weighed(one) if one.name in factors else one for one in self.attributes)
        return replace(self, attributes=tuple(attributes))

    def losses(self, groups: Groups) -> Floats:
        """The weighted loss of a row in each group."""
        losses = [attribute.fold(groups).losses(self.measure) for attribute in self.attributes]
        return np.asarray(self.weights @ np.array(losses))

    def classes_of(self, groups: Groups) -> Longs:
        """The class of each group, from 0: groups that show the same cells are one class."""
        keys = [key for attribute in self.attributes for key in attribute.fold(groups).keys]
        cells = pl.DataFrame({str(place): key for place, key in enumerate(keys)})
        ranks = cells.select(pl.struct(pl.all()).rank("dense") - 1).to_series()
        return ranks.cast(pl.Int64).to_numpy()

    def objective(self, groups: Groups) -> float:
        """What methods minimise: the loss of all rows; a suppressed row loses everything.

        Its scale is that of the whole table, so different groups of it can be compared. So it is
        never published: `covey.measures.loss` measures by what a release shows.
        """
        lost = float(groups.sizes @ self.losses(groups))
        return lost + groups.suppressed * float(self.weights.sum())

    @property
    def features(self) -> Floats:
        """The rows as points for any clustering library, without missing coordinates.

        The Manhattan distance of two points is the loss of each of the two rows if they were
        released together. A number x has two coordinates, x/2 and (1 - x)/2, so that a missing
        number can be at distance 1 from all others. A category has a coordinate for each node on
        its path to the root: half of the loss of going up from that node.
        """
        numbers, forest = self.cells.numbers, self.forest
        halves = np.hstack([numbers / 2, (1 - numbers) / 2])
        absent = np.zeros(numbers.shape, dtype=np.bool_)
        for place, interval in enumerate(self.intervals):
            absent[:, place] = interval.absent
        halves[np.tile(absent, 2)] = -0.25
        above = forest.ancestors[np.arange(len(forest.depth)), forest.depth - 1]
        step = np.where(forest.depth > 0, forest.loss[above] - forest.loss, 0.0) / 2
        nodes = np.zeros((self.rows, len(step)))
        for path in (forest.ancestors[codes] for codes in self.cells.codes.T):
            row, depth = np.nonzero(path >= 0)
            nodes[row, path[row, depth]] = step[path[row, depth]]
        return np.hstack([halves * np.tile(self.cells.weights, 2), nodes])


def _plant(trees: Sequence[Taxonomy], measure: Measure, weights: Sequence[float]) -> Forest:
    """Join trees into one forest, one after the other."""
    sizes = [len(tree.labels) for tree in trees]
    first = np.cumsum([0, *sizes], dtype=np.int32)
    deepest = max((tree.height for tree in trees), default=0)
    ancestors = np.full((int(first[-1]), deepest + 1), -1, dtype=np.int32)
    depth, begin, ends = (np.zeros(int(first[-1]), dtype=np.int32) for _ in range(3))
    loss = np.zeros(int(first[-1]), dtype=np.float64)
    for tree, weight, start, end in zip(trees, weights, first, first[1:], strict=False):
        known = tree.ancestors
        ancestors[start:end, : known.shape[1]] = np.where(known >= 0, known + start, -1)
        depth[start:end] = tree.depth
        loss[start:end] = weight * tree.losses(measure)
        begin[start:end] = tree.first_leaf + start
        ends[start:end] = begin[start:end] + tree.leaves_below
    leaves = np.array([tree.leaf_count for tree in trees], dtype=np.int32)
    return Forest(ancestors, depth, loss, first[:-1].copy(), leaves, begin, ends)


# ── encoding ────────────────────────────────────────────────────────────────────────────────────


def encode(
    table: Table,
    schema: Schema,
    *,
    class_column: str | None = None,
    require: Sequence[Requirement] = (),
    persons: Mapping[str, pl.Series] | None = None,
) -> EncodedTable:
    """Encode the quasi-identifiers of a table, its sensitive columns and its class column, if any.

    With `persons`, it also encodes the person of each row, by each person column.
    """
    values = Values.of(table, schema)
    with table.locating():
        domain = domain_of(values, schema, table.dialect)
        encoded = encode_values(
            values, domain, schema, require=require, persons=persons, part=False
        )
    if class_column is None:
        return encoded
    return replace(encoded, classes=class_codes(table, class_column))


def domain_of(values: Values, schema: Schema, dialect: Dialect) -> Domain:
    """The domain of a table in memory; an error about a label says which rows have it."""
    try:
        return Scan.of(values).domain(schema, dialect)
    except TaxonomyError:
        for name, cells in (*values.quasi.items(), *values.sensitive.items()):
            column = schema.columns[name]
            if column.taxonomy is not None and not column.is_ordered:
                texts = cells.cast(pl.String)
                refuse_unfit(name, column, texts)
                if name in values.sensitive and not column.has_own_tree:
                    refuse_uncovered(name, texts, column.taxonomy_over(()), as_seen=True)
        raise


def encode_values(
    values: Values,
    domain: Domain,
    schema: Schema,
    *,
    require: Sequence[Requirement] = (),
    persons: Mapping[str, pl.Series] | None = None,
    part: bool = True,
) -> EncodedTable:
    """Encode values that are within a domain.

    Those of a `part` of a table are compared with the frequencies of the whole; otherwise with
    those of the encoded rows.
    """
    quasi = {name: schema.columns[name] for name in values.quasi}
    sensitive = {
        name: _coded(cells, domain.sensitive[name], part=part)
        for name, cells in values.sensitive.items()
    }
    people = {name: numbered_persons(cells) for name, cells in (persons or {}).items()}
    return EncodedTable(
        attributes=tuple(domain.attribute(n, c, values.quasi[n]) for n, c in quasi.items()),
        rows=values.rows,
        measure=schema.loss,
        sensitive=sensitive,
        constraints=constraints_of(require, {**sensitive, **people}),
        needed=schema.needed,
    )


def class_codes(table: Table, name: str) -> Ints:
    """The codes of the class column."""
    if name not in table.frame.columns:
        raise TableError(f"the class column {name!r} is not in the table")
    return numbered(table.frame[name])


def _coded(cells: pl.Series, known: Reference, *, part: bool) -> Coded:
    """Encode a sensitive column; missing is a value too, the last."""
    present = known.known.drop_nulls()
    if known.known.dtype.is_numeric() and not known.known.dtype.is_decimal():
        ranks = np.searchsorted(present.to_numpy(), cells.fill_null(0).to_numpy())
        values = np.where(cells.is_null().to_numpy(), len(present), ranks).astype(np.int32)
    else:
        ranked = pl.Series(range(len(present)), dtype=pl.Int32)
        values = cells.replace_strict(present, ranked, default=len(present)).to_numpy()
    found = coded(values, known)
    return found if part else replace(found, totals=None)


def coded(values: Ints, known: Reference) -> Coded:
    """A sensitive column of a part, from its codes."""
    return Coded(values, known.known, known.read, known.tree, known.leaves, known.rows)


def numbered_persons(cells: pl.Series) -> Coded:
    """Number the persons; a row without a person gets -1."""
    values = numbered(cells) - 1
    return Coded(values, cells.drop_nulls().unique().sort())


def numbered(cells: pl.Series) -> Ints:
    """Number the values from 1 in their order; a missing one gets 0."""
    return cells.rank("dense").fill_null(0).cast(pl.Int32).to_numpy()
