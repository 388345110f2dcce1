"""Read a sensitive column of a released table, and compute all figures of its classes.

This is part of the verifier, so it shares no code with the modules that make a release. Declared
numbers and dates count by their value, texts by what a reader sees, and all other cells as they
are written. Missing is a value like any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey.errors import TableError, TaxonomyError, about_cells, count, percent
from covey.schema import Column, ColumnType, labels
from covey.schema.taxonomy import Taxonomy
from covey.tables import Table, formulas
from covey.tables.csv_files import Dialect
from covey.tables.table import Longs
from covey.verification.classes import ROWS

SIMILAR = 0.05  # numbers within this share of their column's range are nearly the same


def _figure(title: str, form: str, **default: Any) -> Any:
    """A figure with its title and number format."""
    return field(metadata={"title": title, "form": form}, **default)


@dataclass(frozen=True)
class Achieved:
    """The strongest values that hold for a sensitive column, whatever was required.

    Every l up to its figure here holds, and so does every t, α and β from its figure on; c and δ
    must be above theirs. None means that no number holds, or that the schema does not declare what
    the figure needs.
    """

    column: str
    distinct_l: int = _figure("distinct l, at most", ",")
    frequency_l: float = _figure("frequency l, at most", ".4g")
    entropy_l: float = _figure("entropy l, at most", ".4g")
    recursive_c_for_2: float | None = _figure("recursive l = 2, c above", ".4g")
    recursive_c_for_3: float | None = _figure("recursive l = 3, c above", ".4g")
    t_equal: float = _figure("t equal, at least", ".4f")
    t_ordered: float | None = _figure("t ordered, at least", ".4f")
    t_hierarchical: float | None = _figure("t hierarchical, at least", ".4f")
    alpha: float = _figure("alpha, at least", ".4f")
    beta: float = _figure("basic beta, at least", ".4g")
    enhanced_beta: float | None = _figure("enhanced beta, at least", ".4g")
    delta: float | None = _figure("delta, above", ".4g")
    # Share of rows whose value is certain, since their whole class has it.
    certain: float = _figure("rows whose value is certain", "%")
    # Share of rows whose class has nearly equal numbers.
    similar: float | None = _figure("rows whose numbers are nearly equal", "%")
    # Spellings that were counted as another value, since both look the same.
    merged: int = _figure("spellings that look like others", ",", default=0)


def achieved_rows(columns: Sequence[Achieved]) -> list[tuple[str, ...]]:
    """One row for each figure that any column has: its title, and its value for each column."""
    rows = []
    for each in fields(Achieved)[1:]:
        figures = [getattr(column, each.name) for column in columns]
        if any(figure not in (None, each.default) for figure in figures):
            cells = (_written(figure, each.metadata["form"]) for figure in figures)
            rows.append((each.metadata["title"], *cells))
    return rows


def _written(figure: float | None, form: str) -> str:
    if figure is None:
        return "–"
    return percent(figure) if form == "%" else format(figure, form)


def counts(table: Table, name: str, column: Column) -> pl.DataFrame:
    """The distinct cells of a column and their rows; refuse cells that do not fit its type."""
    cells = _cells(table, name)
    found = cells.alias(VALUE).value_counts(name=ROWS).cast({ROWS: pl.Int64})
    if _are_wrong(found[VALUE], _meanings(found[VALUE], column, table.dialect, name)).any():
        with table.locating():
            wrong = _are_wrong(cells, _meanings(cells, column, table.dialect, name)).to_numpy()
            what = f"with a cell that is not of its type {column.type}"
            raise about_cells(TableError, name, wrong, what, _REMEDY)
    return found


def _cells(table: Table, name: str) -> pl.Series:
    """The cells as they are; a column that is empty in all rows, as if it were of texts."""
    cells = table.cells(name)
    return cells.cast(pl.String) if cells.dtype == pl.Null else cells


VALUE, CODE = "value", "code"
_REMEDY = "correct them, declare the format of the table, or remove the type from the schema"


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveColumn:
    """One sensitive column: its values in the whole table."""

    name: str
    values: pl.Series  # distinct, ascending, missing last
    totals: Longs  # rows of each value
    codes: pl.DataFrame  # the cells as written, and the position of their value
    numbers: NDArray[np.float64] | None  # the values, if they are numbers or days
    tree: Taxonomy | None
    dialect: Dialect
    column: Column
    merged: int  # spellings that look like another value

    @classmethod
    def of(
        cls, name: str, column: Column, dialect: Dialect, found: pl.DataFrame
    ) -> "SensitiveColumn":
        """Read a column from the `counts` of all rows."""
        written = _meanings(found[VALUE], column, dialect, name)
        cells, tree = _as_read(written, column, dialect.missing), None
        if column.taxonomy is not None:
            tree, plain = _tree(name, column, written.set(cells.is_null(), None), dialect)
            cells = labels.seen(plain)
        values = cells.unique().sort(nulls_last=True)
        number = cells.rank("dense").cast(pl.Int64) - 1
        coded = number.fill_null(len(values) - 1).to_numpy()
        totals = np.zeros(len(values), dtype=np.int64)
        np.add.at(totals, coded, found[ROWS].to_numpy())
        numbers = None
        if column.is_ordered:
            numbers = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        if tree is not None and values.null_count():
            tree = tree.with_leaf("")
        codes = found.select(VALUE, pl.Series(CODE, coded, pl.UInt32))
        merged = written.n_unique() - len(values)
        return cls(name, values, totals, codes, numbers, tree, dialect, column, merged)

    @property
    def total(self) -> int:
        """The number of rows in the table."""
        return int(self.totals.sum())

    def code(self, table: Table) -> pl.Series:
        """The position of the value of each row of a table."""
        cells = _cells(table, self.name).alias(VALUE).to_frame()
        found = cells.join(
            self.codes, on=VALUE, how="left", nulls_equal=True, maintain_order="left"
        )[CODE]
        if found.null_count():
            raise TableError("the table changed while it was verified: verify it again")
        return found

    @property
    def leaves(self) -> Longs:
        """The leaf of each value in the tree; the leaf of a missing value has no label."""
        assert self.tree is not None
        places = labels.places(self.tree.leaves)
        leaves = [places[value or ""] for value in self.values]
        return np.array(leaves, dtype=np.int64)

    def places(self, listed: Sequence[str]) -> Longs:
        """The positions of the listed values that occur."""
        found = self._texts.is_in(self._listed(listed).drop_nulls().implode())
        return np.flatnonzero(found.fill_null(False).to_numpy())

    def absent(self, listed: Sequence[str]) -> int:
        """Count the listed values that do not occur."""
        known = set(self._texts.drop_nulls())
        return sum(known.isdisjoint(self._listed([value])) for value in set(listed))

    @property
    def _texts(self) -> pl.Series:
        return self.values.cast(pl.String)

    def _listed(self, listed: Sequence[str]) -> pl.Series:
        """The listed values, read like the cells, also as defused formulas."""
        written = pl.Series(self.name, listed, dtype=pl.String)
        either = pl.concat([written, formulas.defused(written, self.dialect)])
        read = _read(either, self.column, self.dialect)
        return _as_read(read, self.column).cast(pl.String)


def _as_read(cells: pl.Series, column: Column, missing: Sequence[str] = ()) -> pl.Series:
    """The values as they read; the labels of a tree are no numbers."""
    return (labels.seen if column.taxonomy else labels.as_read)(cells, missing)


def rounded(figure: Fraction | None) -> float | None:
    """The nearest float."""
    return None if figure is None else float(figure)


def _meanings(cells: pl.Series, column: Column, dialect: Dialect, name: str) -> pl.Series:
    """The cells by the type of the column; null if they do not fit it."""
    try:
        return _read(cells, column, dialect)
    except pl.exceptions.PolarsError:  # its message may quote a cell
        raise TableError(f"sensitive column {name!r} cannot be read as its type") from None


def _are_wrong(cells: pl.Series, meanings: pl.Series) -> pl.Series:
    return meanings.is_null() & cells.is_not_null()


def _read(cells: pl.Series, column: Column, dialect: Dialect) -> pl.Series:
    """Numbers, days since 1970, or the cells as they are; null if a cell does not fit its type."""
    match column.type:
        case ColumnType.NUMERIC:
            return _numbers(cells, dialect)
        case ColumnType.DATE:
            return _days(cells, column.format)
        case _:
            plain = cells.dtype in (pl.Boolean, pl.Null) or column.taxonomy is not None
            return cells.cast(pl.String) if plain else cells


def _numbers(cells: pl.Series, dialect: Dialect) -> pl.Series:
    if cells.dtype != pl.String:
        numbers = cells.cast(pl.Float64, strict=False)
    else:
        numbers = dialect.decimals(cells).cast(pl.Float64, strict=False)
    finite = pl.select(pl.when(numbers.is_finite()).then(numbers)).to_series()
    return finite + 0.0  # turns a negative zero into zero


def _days(cells: pl.Series, written: str | None) -> pl.Series:
    if cells.dtype == pl.String:
        dates = _dates(cells.str.strip_chars(" "), written)
    else:
        zoned = isinstance(cells.dtype, pl.Datetime) and cells.dtype.time_zone is not None
        clock = cells.dt.replace_time_zone(None) if zoned else cells
        dates = clock.cast(pl.Date, strict=False)
    return dates.cast(pl.Int32)


def _dates(texts: pl.Series, written: str | None) -> pl.Series:
    """The day of each text; a time of day after it does not count."""
    if written is None:
        timed = texts.str.contains(r"^[0-9-]{10}[T ][0-9]{2}[0-9:.,]*( ?(Z|[+-][0-9:]{2,5}))?$")
        day = pl.when(timed).then(texts.str.slice(0, 10)).otherwise(texts)
        return pl.select(day).to_series().str.to_date("%Y-%m-%d", strict=False)
    return texts.str.to_date(written, strict=False)


def _tree(
    name: str, column: Column, cells: pl.Series, dialect: Dialect
) -> tuple[Taxonomy, pl.Series]:
    """The tree of a column, and its texts as they were before they were defused."""
    present = cells.drop_nulls().unique().sort().to_list()
    try:
        tree = column.taxonomy_over(formulas.meant(present, (), dialect))
    except TaxonomyError as error:
        raise TaxonomyError(f"column {name!r}: {error}") from None
    known = _leaves_among([*present, *(text[1:] for text in present)], tree)
    texts_meant = formulas.meant(present, known, dialect)
    uncovered = sum(label not in known for label in texts_meant)
    if uncovered:
        raise TaxonomyError(
            f"sensitive column {name!r}: {count(uncovered, 'value')} not in its taxonomy; add them "
            "as leaves, or correct the rows"
        )
    return tree, cells.replace(present, texts_meant)


def _leaves_among(texts: Sequence[str], tree: Taxonomy) -> set[str]:
    """The texts that are leaves of the tree, in any spelling that looks the same."""
    places = labels.places(tree.leaves)
    shown = labels.seen(pl.Series(texts, dtype=pl.String))
    return {text for text, seen in zip(texts, shown, strict=True) if seen in places}
