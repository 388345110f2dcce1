"""The cells of a table by their meaning: numbers, days since 1970-01-01, and labels.

All of this is row by row, so the batches of a large table can be read one after another.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from covey.encoding.intervals import within_domain
from covey.encoding.lookups import as_labels
from covey.encoding.selection import Selection
from covey.errors import TableError, about_cells
from covey.schema import Column, ColumnType, MissingPolicy, Role, Schema, labels
from covey.schema.taxonomy import ROOT
from covey.tables import Table
from covey.tables.cells import as_numbers, parse_dates, parse_numbers
from covey.tables.csv_files import Dialect


@dataclass(frozen=True, eq=False, repr=False)
class Values:
    """Columns of values, null if missing.

    Quasi-identifiers have a fixed order, numbers first and each kind by name. So sums of losses are
    the same to the last bit, whatever the order of the columns in the table.
    """

    rows: int
    quasi: Mapping[str, pl.Series]
    sensitive: Mapping[str, pl.Series]  # labels as a reader sees them

    @classmethod
    def of(cls, table: Table, schema: Schema, sensitive: Collection[str] | None = None) -> "Values":
        """Read the quasi-identifiers and the sensitive columns, or only some of the latter."""
        ordered = sorted(schema.quasi.items(), key=lambda item: (is_category(item[1]), item[0]))
        names = schema.names(Role.SENSITIVE) if sensitive is None else sensitive
        with table.locating():
            return cls(
                table.frame.height,
                {name: _quasi(table, name, column) for name, column in ordered},
                {
                    name: _sensitive(table, name, schema.columns[name])
                    for name in names
                    if name in table.frame.columns
                },
            )

    def take(self, some: Selection) -> "Values":
        """Some of the rows."""
        return replace(
            self,
            rows=len(some.rows),
            quasi={name: some.of(values) for name, values in self.quasi.items()},
            sensitive={name: some.of(values) for name, values in self.sensitive.items()},
        )


def is_category(column: Column) -> bool:
    """Whether the values of a column are labels."""
    return column.type is ColumnType.CATEGORICAL


def _quasi(table: Table, name: str, column: Column) -> pl.Series:
    cells = table.cells(name)
    match column.type:
        case ColumnType.NUMERIC:
            numbers = parse_numbers(cells, table.dialect)
            tokens = as_numbers(pl.Series(name, table.dialect.missing), table.dialect).drop_nulls()
            ambiguous = int(numbers.is_in(tokens.implode()).sum()) if len(tokens) else 0
            _refuse_ambiguous(name, table.dialect, ambiguous)
            return within_domain(column, numbers.cast(pl.Float64))
        case ColumnType.DATE:
            _refuse_ambiguous(name, table.dialect)
            days = parse_dates(cells, column.format, hours=column.grid == "hour")
            return within_domain(column, days.cast(pl.Float64))
        case _:
            return as_labels(cells)


def _refuse_ambiguous(name: str, dialect: Dialect, rows: int = 0) -> None:
    """Refuse a table in which `rows` numbers, or the sign for any value, read as missing."""
    if ROOT in dialect.missing or rows:
        raise TableError(
            f"column {name!r}: a number, or the sign {ROOT} for any value, also reads as missing; "
            "remove it from the missing tokens of the table"
        )


def _sensitive(table: Table, name: str, column: Column) -> pl.Series:
    cells = table.cells(name)
    match column.type:
        case ColumnType.NUMERIC:
            return parse_numbers(cells, table.dialect)
        case ColumnType.DATE:
            return parse_dates(cells, column.format)
        case _ if column.taxonomy is not None:
            return labels.seen(cells.cast(pl.String), table.dialect.missing)
        case _:
            return labels.as_read(cells, table.dialect.missing)


def rows_to_keep(table: Table, schema: Schema) -> Selection:
    """Select the rows that missing-value policies do not drop; raise if a policy forbids them."""
    drop = np.zeros(table.frame.height, dtype=bool)
    for name, column in schema.quasi.items():
        if column.missing in (MissingPolicy.CATEGORY, MissingPolicy.WILDCARD):
            continue
        missing = table.cells(name).is_null().to_numpy()
        if column.missing is MissingPolicy.ERROR and missing.any():
            what, policy = "with a missing cell", 'missing = "error" in the schema forbids this'
            with table.locating():
                raise about_cells(TableError, name, missing, what, policy)
        drop |= missing
    return Selection.where(~drop)
