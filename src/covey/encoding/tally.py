"""The distinct values of each quasi-identifier: all that most figures need of an original."""

from dataclasses import dataclass

from covey.encoding.attributes import Attribute
from covey.encoding.categories import Category
from covey.encoding.domain import ROWS, VALUE, Scan, ValueCounts
from covey.encoding.encode import EncodedTable
from covey.encoding.intervals import Interval
from covey.schema import Schema
from covey.schema.taxonomy import Measure
from covey.tables.csv_files import Dialect


@dataclass(frozen=True, eq=False, repr=False)
class Tally:
    """How many rows have each value of each quasi-identifier."""

    columns: tuple[ValueCounts, ...]
    rows: int
    measure: Measure = "height"

    @classmethod
    def of(cls, table: EncodedTable) -> "Tally":
        """Count the values of a table in memory."""
        return cls(tuple(map(ValueCounts.of, table.attributes)), table.rows, table.measure)

    @classmethod
    def of_scan(cls, scan: Scan, schema: Schema, dialect: Dialect) -> "Tally":
        """The values of a table that was scanned in batches."""
        domain = scan.domain(schema, dialect)
        columns = (
            ValueCounts(
                domain.attribute(name, schema.columns[name], counts[VALUE]),
                counts[ROWS].to_numpy(),
            )
            for name, counts in scan.quasi.items()
        )
        return cls(tuple(columns), scan.rows, schema.loss)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The quasi-identifiers."""
        return tuple(column.attribute for column in self.columns)

    @property
    def intervals(self) -> list[Interval]:
        """Numbers and dates, by name."""
        return [a for a in self.attributes if isinstance(a, Interval)]

    @property
    def categories(self) -> list[Category]:
        """Categories, by name."""
        return [a for a in self.attributes if isinstance(a, Category)]
