"""The classes of a table: rows whose quasi-identifiers are written exactly the same.

This is part of the verifier, so it shares no code with the modules that make a release.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from covey import tables
from covey.errors import SchemaError, TableError
from covey.schema import Schema
from covey.tables import Table
from covey.tables.table import Longs

ROWS = "rows"


@dataclass(frozen=True, eq=False)
class Classes:
    """The rows of a table, sorted by class."""

    rows: Longs
    sizes: Longs

    @classmethod
    def of(cls, table: Table, schema: Schema) -> "Classes":
        """Find the classes of a table; a missing cell is a value of its own."""
        cells = _numbered([table.frame[name] for name in _quasi_columns(table, schema)])
        grouped = cells.with_row_index(ROWS).group_by(cells.columns).agg(ROWS)[ROWS]
        return cls(
            grouped.explode().to_numpy().astype(np.int64),
            grouped.list.len().to_numpy().astype(np.int64),
        )

    @property
    def smallest(self) -> int:
        """The number of rows in the smallest class."""
        return int(self.sizes.min())

    def owned(self, persons: pl.Series) -> pl.DataFrame:
        """Count the rows of each person in each class; None is an unknown person."""
        if len(persons) != len(self.rows):
            raise TableError("the person column must have one cell for each row of the table")
        label = np.repeat(np.arange(len(self.sizes)), self.sizes)
        pairs = pl.DataFrame({"class": label, "person": persons.gather(self.rows)})
        return pairs.group_by("class", "person").agg(pl.len().cast(pl.Int64).alias(ROWS))

    def fewest_persons(self, persons: pl.Series) -> int:
        """The number of persons in the class with the fewest of them."""
        per_class = self.owned(persons).drop_nulls("person").group_by("class").len()["len"]
        return int(per_class.min()) if len(per_class) == len(self.sizes) else 0  # type: ignore[arg-type]


def _numbered(columns: Sequence[pl.Series]) -> pl.DataFrame:
    """Name columns by their position."""
    return pl.DataFrame([column.alias(str(place)) for place, column in enumerate(columns)])


def _quasi_columns(table: Table, schema: Schema) -> list[str]:
    """The released columns of the quasi-identifiers: the column, or its low and high ends."""
    present = table.frame.columns
    shown: list[str] = []
    for name in schema.quasi:
        ends = [f"{name}_low", f"{name}_high"]
        found = [name] if name in present else [end for end in ends if end in present]
        if len(found) != (1 if name in present else 2):
            raise SchemaError(f"quasi-identifier {name!r} is not in the table")
        shown += found
    if not shown:
        raise SchemaError("the schema has no quasi-identifier, so there is nothing to verify")
    tables.refuse_roleless(present, {*schema.columns, *shown})
    return shown


# ── missing cells that match any value ──────────────────────────────────────────────────────────

# All pairs of patterns are compared, so the work grows with the square of their number.
MOST_PATTERNS = 64


def smallest_match(table: Table, schema: Schema, k: int) -> int | None:
    """The fewest rows that match any row, itself included, if a missing cell matches any value.

    Classes are compared by their patterns of missing cells: two patterns are joined on the columns
    that are present in both. Only classes smaller than the best answer so far can lower it, and
    none can lower it below `k`, since every row matches its own class.
    """
    cells = _numbered(_wildcards(table, schema))
    classes = cells.group_by(cells.columns).len(ROWS).cast({ROWS: pl.Int64})
    patterns = _by_pattern(classes)
    if len(patterns) > MOST_PATTERNS:
        return None
    best = int(classes[ROWS].sum())
    for shown, part in patterns:
        candidates = part.filter(pl.col(ROWS) < best)
        if best > k and candidates.height:
            best = min(best, _fewest_matches(candidates, shown, patterns))
    return best


def _wildcards(table: Table, schema: Schema) -> list[pl.Series]:
    """The cells of quasi-identifiers, null if missing.

    A low and a high end form one cell: if only one end is missing, the interval is open there.
    """
    return [
        table.cells(name)
        if name in table.frame.columns
        else _one_cell(table.cells(f"{name}_low"), table.cells(f"{name}_high"))
        for name in schema.quasi
    ]


def _one_cell(low: pl.Series, high: pl.Series) -> pl.Series:
    ends = pl.DataFrame({"low": low, "high": high}).cast(pl.String)
    spelled = pl.format("{};{}", pl.col("low").fill_null(""), pl.col("high").fill_null(""))
    return ends.select(pl.when(~pl.all_horizontal(pl.all().is_null())).then(spelled)).to_series()


def _by_pattern(classes: pl.DataFrame) -> list[tuple[list[str], pl.DataFrame]]:
    """Group the classes by the columns that are present, and name these columns."""
    quasi = classes.columns[:-1]
    pattern = pl.concat_str(pl.col(quasi).is_null().cast(pl.Int8)).alias("missing")  # "0100"
    parts = classes.with_columns(pattern).partition_by("missing", as_dict=True, include_key=False)
    return [
        ([name for name, absent in zip(quasi, str(key[0]), strict=True) if absent == "0"], part)
        for key, part in parts.items()
    ]


def _fewest_matches(
    candidates: pl.DataFrame, shown: list[str], patterns: list[tuple[list[str], pl.DataFrame]]
) -> int:
    total = np.zeros(candidates.height, dtype=np.int64)
    for other, part in patterns:
        common = [name for name in shown if name in other]
        if common:
            sums = part.group_by(common).agg(pl.col(ROWS).sum().alias("matches"))
            joined = candidates.join(sums, on=common, how="left", maintain_order="left")
            total += joined["matches"].fill_null(0).to_numpy()
        else:
            total += int(part[ROWS].sum())
    return int(total.min())
