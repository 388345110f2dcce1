"""From cells to compact arrays: all that clustering methods ever see of a table.

Numbers and dates are scaled to 0 … 1 over the range of their column. A missing number stands at
`MISSING_AT`, further from every present one than they can be from each other; together with
`min(high - low, 1)` as the loss of a range, that makes a range that mixes missing and present
lose everything and one of missing numbers alone lose nothing, with no special case anywhere. What
lies beyond a declared bound is the bound from here on: no later stage knows it.

Categories become leaves of one forest: the trees of all columns behind each other, so that a
single number names a node wherever it is. Missing is one more leaf, right under its root.

Where a missing cell may be any value, `covey.encoding.imputation` puts another one in its place
before methods see it.

Attributes stand in a fixed order, numbers first and each kind by name, so that sums of losses are
the same to the last bit whatever the order of the table's columns.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property, partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Cells, Floats, Forest, Ints, Longs
from covey.encoding.constraints import Coded, Constraints, constraints_of
from covey.errors import TableError, TaxonomyError, about_cells, count
from covey.schema import (
    LARGEST,
    Column,
    ColumnType,
    MissingPolicy,
    Role,
    Schema,
    TaxonomyBuilder,
    labels,
)
from covey.schema.requirements import Requirement
from covey.schema.taxonomy import ROOT, Measure, Taxonomy
from covey.tables import Table
from covey.tables.csv_files import Dialect

MISSING_AT = 2.0
MISSING_LEAF = ""


@dataclass(frozen=True, eq=False, repr=False)
class Interval:
    """A quasi-identifier of numbers or dates; dates are days since 1970-01-01."""

    name: str
    column: Column
    values: Floats  # per row, NaN where missing; beyond a bound of the column, the bound itself
    low: float  # of the domain
    high: float

    @property
    def is_date(self) -> bool:
        """Days, not numbers."""
        return self.column.type is ColumnType.DATE

    @property
    def width(self) -> float:
        """Width of the domain, 0 where all values are equal or missing."""
        return self.high - self.low

    @property
    def absent(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return np.isnan(self.values)

    @property
    def scaled(self) -> Floats:
        """The values as 0 … 1 of the domain, `MISSING_AT` where missing."""
        low, high = self.reach(self.values, self.values)
        shifted = np.where(self.values < self.column.bounds[1], low, high) - self.low
        scaled = shifted / self.width if self.width else shifted
        return np.where(np.isnan(scaled), MISSING_AT, scaled)

    def reach(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Ends of intervals; one at a bound is open, and reaches to the end of the domain."""
        bottom, top = self.column.bounds
        return (
            np.where(low <= bottom, np.minimum(low, self.low), low),
            np.where(high >= top, np.maximum(high, self.high), high),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Category:
    """A quasi-identifier of categories."""

    name: str
    column: Column
    leaves: Ints  # per row, in the column's own tree
    tree: Taxonomy  # with a leaf for missing where the column has any

    @property
    def absent(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return np.equal(self.leaves, self.tree.node_of.get(MISSING_LEAF, -1))


Attribute = Interval | Category


def matches_anything(attribute: Attribute) -> NDArray[np.bool_]:
    """In which rows the cell is missing, and may be any value."""
    if attribute.column.missing is MissingPolicy.WILDCARD:
        return attribute.absent
    return np.zeros(len(attribute.absent), dtype=np.bool_)


@dataclass(frozen=True, eq=False, repr=False)
class EncodedTable:
    """A table as arrays."""

    attributes: tuple[Attribute, ...]
    rows: int
    measure: Measure = "height"
    classes: Ints | None = None  # of the class column, where one was asked for
    sensitive: Mapping[str, Coded] = field(default_factory=dict)
    constraints: Constraints | None = None  # what is asked of groups besides their size

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
    def cells(self) -> Cells:
        """All rows as the kernels take them."""
        numbers = np.empty((self.rows, len(self.intervals)), dtype=np.float64)
        for place, interval in enumerate(self.intervals):
            numbers[:, place] = interval.scaled
        codes = np.empty((self.rows, len(self.categories)), dtype=np.int32)
        for place, category in enumerate(self.categories):
            codes[:, place] = category.leaves + self.forest.first[place]
        weights = np.array([a.column.weight for a in self.intervals], dtype=np.float64)
        return Cells(numbers, weights, codes)

    def take(self, rows: Longs) -> "EncodedTable":
        """Some of the rows; domains and trees remain those of the whole table."""
        return replace(
            self,
            attributes=tuple(
                replace(a, values=a.values[rows])
                if isinstance(a, Interval)
                else replace(a, leaves=a.leaves[rows])
                for a in self.attributes
            ),
            rows=len(rows),
            classes=None if self.classes is None else self.classes[rows],
            sensitive={name: column.take(rows) for name, column in self.sensitive.items()},
            constraints=None if self.constraints is None else self.constraints.take(rows),
        )

    def sensitive_values(self, name: str) -> Ints:
        """A sensitive column as numbers, equal ones for equal values; missing is a value too."""
        return self.sensitive[name].values

    @cached_property
    def places(self) -> Ints:
        """Every cell as its place among the values of its column, missing after all others.

        Numbers are ranked among those that occur, categories stand in the order of their tree.
        """
        places = np.empty((self.rows, len(self.attributes)), dtype=np.int32)
        for j, attribute in enumerate(self.attributes):
            if isinstance(attribute, Category):
                places[:, j] = attribute.leaves
            else:
                places[:, j] = np.unique(attribute.scaled, return_inverse=True)[1]
        return places

    @property
    def lexicographic(self) -> Longs:
        """The rows, sorted by their cells, attribute by attribute, then by number."""
        return np.lexsort(self.places.T[::-1]).astype(np.int64)

    @property
    def weights(self) -> Floats:
        """The weight of each attribute."""
        return np.array([a.column.weight for a in self.attributes], dtype=np.float64)


def _plant(trees: Sequence[Taxonomy], measure: Measure, weights: Sequence[float]) -> Forest:
    """Put trees behind each other into one forest."""
    sizes = [len(tree.labels) for tree in trees]
    first = np.cumsum([0, *sizes], dtype=np.int32)
    deepest = max((tree.height for tree in trees), default=0)
    ancestors = np.full((int(first[-1]), deepest + 1), -1, dtype=np.int32)
    depth = np.zeros(int(first[-1]), dtype=np.int32)
    loss = np.zeros(int(first[-1]), dtype=np.float64)
    for tree, weight, start, end in zip(trees, weights, first, first[1:], strict=False):
        known = tree.ancestors
        ancestors[start:end, : known.shape[1]] = np.where(known >= 0, known + start, -1)
        depth[start:end] = tree.depth
        loss[start:end] = weight * tree.losses(measure)
    leaves = np.array([tree.leaf_count for tree in trees], dtype=np.int32)
    begin, end = _leaf_ranges(ancestors, first, leaves)
    return Forest(ancestors, depth, loss, first[:-1].copy(), leaves, begin, end)


def _leaf_ranges(ancestors: Ints, first: Ints, leaves: Ints) -> tuple[Ints, Ints]:
    """From which leaf to which the leaves under each node go."""
    begin = np.full(len(ancestors), len(ancestors), dtype=np.int32)
    end = np.zeros(len(ancestors), dtype=np.int32)
    for start, count_ in zip(first, leaves, strict=False):
        own = np.arange(start, start + count_, dtype=np.int32)
        for above in ancestors[own].T:
            known = above >= 0
            np.minimum.at(begin, above[known], own[known])
            np.maximum.at(end, above[known], own[known] + 1)
    return begin, end


# ── encoding ────────────────────────────────────────────────────────────────────────────────────


def encode(
    table: Table,
    schema: Schema,
    *,
    class_column: str | None = None,
    require: Sequence[Requirement] = (),
    persons: Mapping[str, pl.Series] | None = None,
) -> EncodedTable:
    """The quasi-identifiers of a table as arrays, and the classes of one column if asked for.

    So are the sensitive columns, and whose row each is where persons are counted.
    """
    ordered = sorted(schema.quasi.items(), key=lambda item: (_is_category(item[1]), item[0]))
    with table.locating():
        sensitive = {
            name: _coded(table, name, schema.columns[name])
            for name in schema.names(Role.SENSITIVE)
            if name in table.frame.columns
        }
        attributes = tuple(_attribute(table, name, column) for name, column in ordered)
    counted = {name: _numbered_persons(cells) for name, cells in (persons or {}).items()}
    return EncodedTable(
        attributes=attributes,
        rows=table.frame.height,
        measure=schema.loss,
        classes=None if class_column is None else _classes(table, class_column),
        sensitive=sensitive,
        constraints=constraints_of(require, {**sensitive, **counted}),
    )


def rows_to_drop(table: Table, schema: Schema) -> NDArray[np.bool_]:
    """Which rows the missing-value policies leave out; an error where a policy forbids them."""
    drop = np.zeros(table.frame.height, dtype=bool)
    for name, column in schema.quasi.items():
        if column.missing in (MissingPolicy.CATEGORY, MissingPolicy.WILDCARD):
            continue
        missing = table.cells(name).is_null().to_numpy()
        if column.missing is MissingPolicy.ERROR and missing.any():
            what, policy = "with a missing cell", 'its policy missing = "error" forbids that'
            with table.locating():
                raise about_cells(TableError, name, missing, what, policy)
        drop |= missing
    return drop


def _is_category(column: Column) -> bool:
    return column.type is ColumnType.CATEGORICAL


def _attribute(table: Table, name: str, column: Column) -> Attribute:
    cells = table.cells(name)
    match column.type:
        case ColumnType.NUMERIC:
            numbers = parse_numbers(cells, table.dialect)
            tokens = _as_float(pl.Series(name, table.dialect.missing), table.dialect)
            _refuse_ambiguous(
                name, table.dialect, int(numbers.is_in(tokens.drop_nulls().implode()).sum())
            )
            return _interval(name, column, numbers)
        case ColumnType.DATE:
            _refuse_ambiguous(name, table.dialect)
            return _interval(name, column, parse_dates(cells, column.format))
        case _:
            return _category(name, column, cells.cast(pl.String), table.dialect)


def _refuse_ambiguous(name: str, dialect: Dialect, rows: int = 0) -> None:
    """No cell that is going to be shown may read as a missing one, and `rows` of them would."""
    if ROOT in dialect.missing or rows:
        raise TableError(
            f"column {name!r}: a number, or the sign {ROOT} for any value, also reads as missing; "
            "declare the missing tokens of the table without it"
        )


def _interval(name: str, column: Column, values: pl.Series) -> Interval:
    exact = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    if column.domain is not None:
        outside = (exact < column.domain[0]) | (exact > column.domain[1])
        if outside.any():
            raise about_cells(TableError, name, outside, "outside its domain")
    numbers = np.clip(exact, *column.bounds)
    present = numbers[~np.isnan(numbers)]
    low, high = (float(present.min()), float(present.max())) if len(present) else (0.0, 0.0)
    return Interval(name, column, numbers, *(column.domain or (low, high)))


def _category(
    name: str, column: Column, cells: pl.Series, dialect: Dialect, *, as_seen: bool = False
) -> Category:
    """Cells as leaves, by their exact labels or by what a reader sees of these."""
    used = cells.drop_nulls().unique().sort()
    try:
        tree = column.taxonomy_over(used.to_list())
    except TaxonomyError as error:
        _refuse_unfit(column, cells.alias(name), used)
        raise TaxonomyError(f"column {name!r}: {error}") from None
    if ambiguous := set(tree.labels) & set(dialect.missing):
        raise TaxonomyError(
            f"column {name!r}: {count(len(ambiguous), 'label')} of its taxonomy also read as "
            "missing; declare the missing tokens of the table without them"
        )
    places = {label: leaf for leaf, label in enumerate(tree.leaves)}
    if as_seen:
        places = labels.places(tree.leaves)
    codes = cells.replace_strict(places, default=-1, return_dtype=pl.Int32)
    wrong = (codes == -1) & cells.is_not_null()
    if wrong.any():
        uncovered = cells.filter(wrong)
        what = f"with {count(uncovered.n_unique(), 'value')} that its taxonomy does not cover"
        remedy = f"add them as leaves, or correct the rows{_spelled_otherwise(uncovered, tree)}"
        raise about_cells(TaxonomyError, name, wrong.to_numpy(), what, remedy)
    if cells.null_count():
        tree = tree.with_leaf(MISSING_LEAF)
        codes = codes.set(cells.is_null(), tree.leaf_count - 1)
    return Category(name, column, codes.to_numpy(), tree)


def _spelled_otherwise(uncovered: pl.Series, tree: Taxonomy) -> str:
    """How many values a reader would take for a leaf, and how to make them one."""
    known = labels.places(tree.leaves)
    near = sum(value in known for value in labels.seen(uncovered.unique()).drop_nulls())
    if not near:
        return ""
    what = "1 of them looks like a leaf" if near == 1 else f"{near:,} of them look like leaves"
    return f"; {what}, which normalise = [...] in the schema would match"


def _refuse_unfit(column: Column, cells: pl.Series, values: pl.Series) -> None:
    """Tell the rows of values that the builder of a taxonomy cannot place, if others can be."""
    if not isinstance(column.taxonomy, TaxonomyBuilder):
        return
    unfit = values.filter([not _has_place(column, value) for value in values])
    if 0 < len(unfit) < len(values):
        wrong = cells.is_in(unfit.implode()).fill_null(False).to_numpy()
        what = f"with a value that has no place in a taxonomy of {column.taxonomy.build}"
        raise about_cells(TaxonomyError, cells.name, wrong, what, "correct them")


def _has_place(column: Column, value: str) -> bool:
    try:
        column.taxonomy_over([value])
    except TaxonomyError:
        return False
    return True


def _classes(table: Table, name: str) -> Ints:
    if name not in table.frame.columns:
        raise TableError(f"column {name!r} is not in the table, so it cannot be the class column")
    return _numbered(table.frame[name])


def _coded(table: Table, name: str, column: Column) -> Coded:
    """A sensitive column by what a reader takes from it; missing is one more value, the last."""
    cells = table.cells(name)
    match column.type:
        case ColumnType.NUMERIC:
            cells = parse_numbers(cells, table.dialect)
            return _ranked(cells, partial(_as_float, dialect=table.dialect))
        case ColumnType.DATE:
            cells = parse_dates(cells, column.format)
            return _ranked(cells, partial(_as_days, written=column.format))
        case _ if column.taxonomy is not None:
            cells = labels.seen(cells.cast(pl.String), table.dialect.missing)
            category = _category(name, column, cells, table.dialect, as_seen=True)
            used, own = np.unique(category.leaves, return_inverse=True)
            known = pl.Series([category.tree.labels[leaf] for leaf in used], dtype=pl.String)
            return Coded(
                own.astype(np.int32),
                labels.seen(known),
                labels.seen,
                tree=category.tree,
                leaves=used.astype(np.int64),
            )
    return _ranked(labels.seen(cells, table.dialect.missing), labels.seen)


def _ranked(cells: pl.Series, read: Callable[[pl.Series], pl.Series]) -> Coded:
    known = cells.unique().sort(nulls_last=True)
    places = cells.rank("dense").cast(pl.Int64) - 1
    values = places.fill_null(len(known) - 1).cast(pl.Int32).to_numpy().copy()
    return Coded(values, known, read)


def _numbered_persons(cells: pl.Series) -> Coded:
    """Who is who; a row without a person counts for nobody."""
    values = _numbered(cells) - 1
    return Coded(values, cells.drop_nulls().unique().sort())


def _numbered(cells: pl.Series) -> Ints:
    # A copy: kernels are compiled for arrays that can be written.
    return cells.rank("dense").fill_null(0).cast(pl.Int32).to_numpy().copy()


# ── cells to values ─────────────────────────────────────────────────────────────────────────────


def parse_numbers(cells: pl.Series, dialect: Dialect) -> pl.Series:
    """Numbers from cells; a cell that is none is counted and refused, never guessed."""
    numbers = _as_float(cells, dialect)
    wrong = (numbers.is_null() & cells.is_not_null()).to_numpy()
    if wrong.any():
        what = "with a cell that is not a number"
        remedy = "correct them, declare the decimal sign or missing tokens, or make it categorical"
        raise about_cells(TableError, cells.name, wrong, what, remedy)
    large = (numbers.abs() >= LARGEST).fill_null(False).to_numpy()
    if large.any():
        what = "with a number beyond 2^53, which cannot be kept exactly"
        remedy = "make it categorical, or scale it"
        raise about_cells(TableError, cells.name, large, what, remedy)
    # A negative zero would be a second name of zero.
    return numbers.set(numbers == 0.0, 0.0)


def _as_float(cells: pl.Series, dialect: Dialect) -> pl.Series:
    if cells.dtype == pl.Float32:
        # By its digits: 0.1 is to stay 0.1, not the float64 nearest to the float32 nearest to it.
        numbers = cells.cast(pl.String).cast(pl.Float64)
    elif cells.dtype.is_numeric() or cells.dtype == pl.Boolean:
        numbers = cells.cast(pl.Float64)
    elif cells.dtype in (pl.String, pl.Null):
        text = cells.cast(pl.String).str.strip_chars(" ")
        fits = text.str.contains(dialect.number)
        plain = text.str.replace(dialect.decimal, ".", literal=True)
        numbers = pl.select(pl.when(fits).then(plain.str.strip_prefix("+"))).to_series()
        numbers = numbers.cast(pl.Float64, strict=False)
    else:
        raise TableError(f"column {cells.name!r} holds {cells.dtype}, not numbers")
    return pl.select(pl.when(numbers.is_finite()).then(numbers)).to_series()


def parse_dates(cells: pl.Series, written: str | None = None) -> pl.Series:
    """Days since 1970-01-01 from cells that hold dates, ISO or as `written`."""
    days = _as_days(cells, written)
    known = days.is_between(_FIRST_DAY, _LAST_DAY)
    days = pl.select(pl.when(known).then(days).alias(cells.name)).to_series()
    wrong = (days.is_null() & cells.is_not_null()).to_numpy()
    if wrong.any():
        what = f"with a cell that is not a date like {written or '2024-05-31'}"
        remedy = "correct them, or declare their format"
        raise about_cells(TableError, cells.name, wrong, what, remedy)
    return days


# The years 1 to 9999: outside, a day cannot be written.
_FIRST_DAY, _LAST_DAY = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))


# What is not told would be made up: 05/2024 is not the first of May.
_NAMES_A_DAY = re.compile(
    r"%[FDx]|(?=.*%-?[YyG])(?=.*(%-?j|%-?[mbBh].*%-?[de]|%-?[de].*%-?[mbBh]))"
)


_NAMES_A_TIME = re.compile(r"%[-_.:0-9]*[HIklMSpPfTRrXcsZz]")


def _as_days(cells: pl.Series, written: str | None) -> pl.Series:
    return _as_date(cells, written).cast(pl.Int32)


def _as_date(cells: pl.Series, written: str | None) -> pl.Series:
    if cells.dtype == pl.Date:
        return cells
    if isinstance(cells.dtype, pl.Datetime):
        timed = (cells.dt.truncate("1d") != cells).fill_null(False).to_numpy()
        if timed.any():
            what, remedy = "with a time of day", "a date is a whole day: cut the times off"
            raise about_cells(TableError, cells.name, timed, what, remedy)
        return cells.dt.date()
    if cells.dtype not in (pl.String, pl.Null):
        raise TableError(f"column {cells.name!r} holds {cells.dtype}, not dates")
    text = cells.cast(pl.String).str.strip_chars(" ")
    if written is not None and not _NAMES_A_DAY.search(written):
        raise TableError(
            f"column {cells.name!r}: a date format must tell day, month and year, as %d.%m.%Y does"
        )
    if written is not None and _NAMES_A_TIME.search(written):
        raise TableError(f"column {cells.name!r}: a date is a whole day, but its format has times")
    if written is None:
        iso = text.str.contains(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
        text = pl.select(pl.when(iso).then(text)).to_series()
    try:
        return text.str.to_date(written or "%Y-%m-%d", strict=False)
    except Exception:
        raise TableError(f"column {cells.name!r}: its date format cannot be understood") from None
