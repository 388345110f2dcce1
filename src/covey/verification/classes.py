"""The classes of a table: rows whose quasi-identifiers are written exactly the same.

This is part of the verifier, so it shares no code with the modules that make a release.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey import tables
from covey.errors import SchemaError
from covey.schema import Schema
from covey.tables import Table
from covey.tables.table import Longs

ROWS = "rows"
Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Classes:
    """The rows of a table, sorted by class."""

    rows: Longs
    sizes: Longs

    @classmethod
    def of(cls, first: Words, second: Words) -> "Classes":
        """The classes of rows that have the same pair of numbers."""
        order = pl.Series(first).arg_sort().to_numpy().astype(np.int64)
        changes = np.diff(first[order]) != 0
        others = np.diff(second[order]) != 0
        if (others & ~changes).any():  # never, but for chance or an attack
            order = np.lexsort((second, first))
            changes = np.diff(first[order]) != 0
            others = np.diff(second[order]) != 0
        begin = np.flatnonzero(np.concatenate([[True], changes | others]))
        return cls(order, np.diff(begin, append=len(order)))

    @property
    def smallest(self) -> int:
        """The number of rows in the smallest class."""
        return int(self.sizes.min())

    def owned(self, persons: pl.Series) -> pl.DataFrame:
        """Count the rows of each person in each class; None is an unknown person."""
        label = np.repeat(np.arange(len(self.sizes)), self.sizes)
        pairs = pl.DataFrame({"class": label, "person": persons.gather(self.rows)})
        return pairs.group_by("class", "person").agg(pl.len().cast(pl.Int64).alias(ROWS))


def quasi_columns(present: Sequence[str], schema: Schema) -> list[str]:
    """The released columns of the quasi-identifiers: the column, or its low and high ends."""
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
MOST_CLASSES = 5_000_000  # that are compared in memory


@dataclass(frozen=True, eq=False)
class Patterns:
    """The patterns of missing cells in the quasi-identifiers; None if they are too many."""

    found: frozenset[str] | None  # such as "0100"

    @classmethod
    def of(cls, table: Table, schema: Schema) -> "Patterns":
        """Find the patterns of a table."""
        absent = [
            table.is_missing(name)
            if name in table.frame.columns
            else table.is_missing(f"{name}_low") & table.is_missing(f"{name}_high")
            for name in schema.quasi
        ]
        missing = table.frame.select(one.alias(str(place)) for place, one in enumerate(absent))
        if not any(missing.select(pl.all().any()).row(0)):
            return cls(frozenset(["0" * len(absent)]))
        found = missing.select(pl.concat_str(pl.all().cast(pl.Int8))).to_series().unique()
        return cls(frozenset()) + cls(frozenset(found))

    def __add__(self, other: "Patterns") -> "Patterns":
        if self.found is None or other.found is None:
            return Patterns(None)
        both = self.found | other.found
        return Patterns(both if len(both) <= MOST_PATTERNS else None)

    @property
    def are_compared(self) -> bool:
        """Whether cells are missing, and in few enough patterns."""
        return self.found is not None and any("1" in pattern for pattern in self.found)


@dataclass(frozen=True, eq=False, repr=False)
class Matches:
    """The classes if a missing cell matches any value; None if they are too many or not needed."""

    classes: pl.DataFrame | None  # numbers for the cells, and the rows

    @classmethod
    def of(cls, cells: pl.DataFrame, rows: Longs) -> "Matches":
        """The distinct rows of these cells, with as many rows of the table as each stands for."""
        return cls(_summed(cells.with_columns(pl.Series(ROWS, rows, pl.Int64))))

    def __add__(self, other: "Matches") -> "Matches":
        if self.classes is None or other.classes is None:
            return Matches(None)
        return Matches(_summed(pl.concat([self.classes, other.classes])))

    def smallest(self, k: int) -> int | None:
        """The fewest rows that match any row, itself included.

        Classes are compared by their patterns of missing cells: two patterns are joined on the
        columns that are present in both. Only classes smaller than the best answer so far can lower
        it, and none can lower it below `k`, since every row matches its own class.
        """
        if self.classes is None:
            return None
        patterns = _by_pattern(self.classes)
        best = int(self.classes[ROWS].sum())
        for shown, part in patterns:
            candidates = part.filter(pl.col(ROWS) < best)
            if best > k and candidates.height:
                best = min(best, _fewest_matches(candidates, shown, patterns))
        return best


def _summed(classes: pl.DataFrame) -> pl.DataFrame | None:
    cells = [name for name in classes.columns if name != ROWS]
    distinct = classes.group_by(cells).agg(pl.col(ROWS).sum())
    return distinct if distinct.height <= MOST_CLASSES else None


def wildcards(table: Table, schema: Schema) -> list[pl.Series]:
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
