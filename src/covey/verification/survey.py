"""Judge a table in batches: survey all of them, code their rows, judge the classes.

1. Each batch has a `Survey`, and surveys add up: what all rows together say about the columns.
2. The survey of the whole table turns each batch into lines of numbers, one for each row.
3. Lines that have the same class are brought together and judged; what is found adds up, too.

A table in memory takes the same three steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from covey import tables
from covey.errors import TableError
from covey.schema import REMOVED, Role, Schema
from covey.schema.requirements import Requirement, person_columns
from covey.tables import Table
from covey.tables.csv_files import Dialect
from covey.verification import checks
from covey.verification.class_counts import Spread
from covey.verification.classes import (
    ROWS,
    Classes,
    Matches,
    Patterns,
    Words,
    quasi_columns,
    wildcards,
)
from covey.verification.judged import Figures, Judged, Shares
from covey.verification.sensitive import VALUE, SensitiveColumn, counts
from covey.verification.verdict import Verdict

CLASS = ("class_0", "class_1")  # of a line: the two halves of the number of its class


@dataclass(frozen=True, eq=False, repr=False)
class Survey:
    """What all rows together say about the columns of a table."""

    schema: Schema
    dialect: Dialect
    names: tuple[str, ...]  # of the columns
    rows: int
    written: Mapping[str, pl.DataFrame]  # distinct cells of each sensitive column, and their rows
    patterns: Patterns
    seed: int = 0  # of all hashes

    @classmethod
    def of(cls, table: Table, schema: Schema) -> "Survey":
        """The survey of one batch."""
        names = tuple(table.frame.columns)
        quasi_columns(names, schema)
        written = {
            name: counts(table, name, schema.columns[name])
            for name in schema.names(Role.SENSITIVE)
            if name in names
        }
        patterns = Patterns.of(table, schema)
        return cls(schema, table.dialect, names, table.frame.height, written, patterns)

    def __add__(self, other: "Survey") -> "Survey":
        if (self.names, self.dialect) != (other.names, other.dialect):
            raise TableError("the parts of the table have different columns or formats")
        written = {
            name: pl.concat([cells, other.written[name]]).group_by(VALUE).agg(pl.col(ROWS).sum())
            for name, cells in self.written.items()
        }
        rows, patterns = self.rows + other.rows, self.patterns + other.patterns
        return replace(self, rows=rows, written=written, patterns=patterns)

    @cached_property
    def columns(self) -> dict[str, SensitiveColumn]:
        """The sensitive columns."""
        return {
            name: SensitiveColumn.of(name, self.schema.columns[name], self.dialect, found)
            for name, found in self.written.items()
        }

    # ── rows ────────────────────────────────────────────────────────────────────────────────────

    def coded(self, table: Table, persons: Mapping[str, pl.Series]) -> pl.DataFrame:
        """One line of numbers for each row of a batch: nothing readable.

        `persons` has the person of each row for each person column, null if unknown.
        """
        if any(len(cells) != table.frame.height for cells in persons.values()):
            raise TableError("the person column must have one cell for each row of the table")
        quasi = table.frame.select(quasi_columns(self.names, self.schema))
        lines = [
            *(self._class_half(quasi, half).alias(name) for half, name in enumerate(CLASS)),
            *(column.code(table).alias(_value(name)) for name, column in self.columns.items()),
            *(self._hash(cells).alias(_person(name)) for name, cells in persons.items()),
        ]
        if self.patterns.are_compared:
            cells = wildcards(table, self.schema)
            lines += [self._hash(column).alias(_cell(n)) for n, column in enumerate(cells)]
        return pl.DataFrame(lines)

    def _class_half(self, quasi: pl.DataFrame, half: int) -> pl.Series:
        """Half of the number of each row's class, by its cells exactly as written.

        Both halves together have 128 bits. Two different classes among n get the same number with
        a chance of n^2 / 2^129: for a billion classes, 2^-69. Each column has its own seed, a null
        is a value, and each step mixes all bits before the next column comes in, so neither the
        order of columns nor a null beside a value can make two classes equal.
        """
        seeds = ((self.seed + 2 * place + half + 1) % 2**64 for place in range(quasi.width))
        columns = zip(quasi.columns, seeds, strict=True)
        mixed: Words = np.full(quasi.height, _ODD[half], dtype=np.uint64)
        signs = quasi.select(pl.selectors.float().pow(-1) == -float("inf"))  # -0.0 is not 0.0
        for hashes in quasi.select(pl.col(name).hash(seed) for name, seed in columns):
            mixed ^= hashes.to_numpy()
            if hashes.name in signs.columns:
                mixed ^= signs[hashes.name].fill_null(value=False).to_numpy().astype(np.uint64)
            mixed *= _ODD[half]
            mixed ^= mixed >> np.uint64(32)
        return pl.Series(mixed)

    def _hash(self, cells: pl.Series) -> pl.Series:
        """A number for each cell; null stays null."""
        hashed = cells.hash(self.seed)
        return pl.select(pl.when(cells.is_not_null()).then(hashed)).to_series()

    # ── classes ─────────────────────────────────────────────────────────────────────────────────

    def judge(self, lines: pl.DataFrame, requirements: Sequence[Requirement]) -> Judged:
        """Judge the classes of these lines, which must hold all rows of each of their classes."""
        classes = Classes.of(*(lines[name].to_numpy() for name in CLASS))
        return Judged(
            classes=len(classes.sizes),
            rows=lines.height,
            smallest=classes.smallest,
            largest=int(classes.sizes.max()),
            figures={
                name: Figures.of(
                    self._spread(column, lines[_value(name)], classes), column, requirements
                )
                for name, column in self.columns.items()
            },
            shares={
                name.removeprefix(_person("")): Shares.of(classes, lines[name])
                for name in lines.columns
                if name.startswith(_person(""))
            },
            matches=self._matches(lines, classes),
        )

    def _spread(self, column: SensitiveColumn, codes: pl.Series, classes: Classes) -> Spread:
        values = codes.to_numpy().astype(np.int64)[classes.rows]
        return Spread.of(classes.sizes, values, column.totals)

    def _matches(self, lines: pl.DataFrame, classes: Classes) -> Matches:
        if not self.patterns.are_compared:
            return Matches(None)
        first = classes.rows[np.cumsum(classes.sizes) - classes.sizes]
        cells = [_cell(place) for place in range(len(self.schema.quasi))]
        return Matches.of(lines.select(cells)[first], classes.sizes)

    def verdict(self, judged: Judged, requirements: Sequence[Requirement]) -> Verdict:
        """The verdict on the table, from what was found in all of its classes."""
        if judged.rows != self.rows:
            raise TableError("the table changed while it was verified: verify it again")
        k = judged.smallest
        none_missing = self.patterns.found is not None and not self.patterns.are_compared
        return Verdict(
            rows=self.rows,
            classes=judged.classes,
            k=k,
            k_wildcard=k if none_missing else judged.matches.smallest(k),
            largest_class=judged.largest,
            identifiers=tuple(n for n in self.schema.names(*REMOVED) if n in self.names),
            checks=tuple(checks.check(one, judged, self.columns) for one in requirements),
            achieved=tuple(
                checks.achieved(column, judged.figures[name])
                for name, column in self.columns.items()
            ),
            risks=checks.risks_of(requirements, self.rows, judged.classes, k, judged.shares),
        )


# Odd numbers without pattern: the multipliers of SplitMix64.
_ODD = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def _value(name: str) -> str:
    return f"value of {name}"


def _person(name: str) -> str:
    return f"person by {name}"


def _cell(place: int) -> str:
    return f"cell {place}"


def owners(
    requirements: Sequence[Requirement],
    table: Table,
    schema: Schema,
    given: Mapping[str, pl.Series | Sequence[object]],
) -> dict[str, pl.Series]:
    """The person of each row by each person column, taken from the table if it is there."""
    columns = {name: pl.Series(name, cells) for name, cells in given.items()}
    for name in person_columns(requirements):
        if name in table.frame.columns:
            columns[name] = table.cells(name)
    return {name: tables.owners(cells, schema.table) for name, cells in columns.items()}
