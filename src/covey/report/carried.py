"""What a report needs to know of the columns that a release carries as they are.

It is counted batch by batch, and adds up in any order.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from covey.inspection.known import MOST_LOOKED_AT, sample, to_try
from covey.measures.singling import Tries
from covey.schema import Role, Schema
from covey.schema.labels import NONE_ALIKE, LookAlikes, look_alikes
from covey.tables import Table
from covey.tables.csv_files import Dialect

NOBODY: Mapping[str, pl.Series] = {}  # of whom it is known which rows are theirs
_LABEL, _ROWS = "label", "rows"
_MOST_LABELS = 1_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """The labels of a sensitive column as written, and how many rows have each."""

    counts: pl.DataFrame | None  # None if there are too many to compare

    @classmethod
    def of(cls, cells: pl.Series) -> "Labels":
        """Count the labels of a batch."""
        return cls(cells.drop_nulls().alias(_LABEL).value_counts(name=_ROWS))

    def __add__(self, other: "Labels") -> "Labels":
        if self.counts is None or other.counts is None:
            return Labels(None)
        both = pl.concat([self.counts, other.counts]).group_by(_LABEL).agg(pl.col(_ROWS).sum())
        return Labels(both if both.height <= _MOST_LABELS else None)

    @property
    def alike(self) -> LookAlikes:
        """Labels that look the same to a reader."""
        if self.counts is None:
            return NONE_ALIKE
        return look_alikes(self.counts[_LABEL], self.counts[_ROWS])


@dataclass(frozen=True, eq=False, repr=False)
class Carried:
    """The sensitive and insensitive columns of a release."""

    tries: Tries  # what knowing them is good for
    labels: Mapping[str, Labels]  # of sensitive columns with text
    some: Table  # rows that show what kind of columns these are
    types: Mapping[str, str]  # of all released columns, in their order; as Table Schema names them

    @classmethod
    def of(
        cls, released: Table, schema: Schema, owners: Mapping[str, pl.Series] = NOBODY
    ) -> "Carried":
        """Count the cells of a batch; `owners` are the persons of its rows, if known."""
        present, text = released.frame.columns, released.frame.schema
        carried = [n for n in schema.names(Role.INSENSITIVE, Role.SENSITIVE) if n in present]
        named = [
            name
            for name in schema.names(Role.SENSITIVE)
            if text.get(name) == pl.String and not schema.columns[name].is_ordered
        ]
        tries = Tries.of(
            *(released, carried),
            together=to_try(schema, present),
            classes=[c for name in schema.quasi for c in _shown_as(name, present)],
            owners=next(iter(owners.values()), None),
        )
        labels = {name: Labels.of(released.cells(name)) for name in named}
        types = {name: _type_of(released.cells(name), released.dialect) for name in present}
        return cls(tries, labels, released.with_frame(sample(released.frame, schema)), types)

    def __add__(self, other: "Carried") -> "Carried":
        both = pl.concat([self.some.frame, other.some.frame], how="vertical_relaxed")
        some = both.gather_every(2 if both.height > MOST_LOOKED_AT else 1)
        return Carried(
            self.tries + other.tries,
            {name: own + other.labels[name] for name, own in self.labels.items()},
            self.some.with_frame(some),
            {name: _common(kind, other.types[name]) for name, kind in self.types.items()},
        )


def _shown_as(name: str, present: Sequence[str]) -> list[str]:
    """The released columns of a quasi-identifier."""
    ends = [f"{name}_low", f"{name}_high"]
    return [name] if name in present else [end for end in ends if end in present]


_NUMBERS = ("integer", "number")
_FIRST = 1_000  # cells, which nearly always show that a column is no number


def _type_of(cells: pl.Series, dialect: Dialect) -> str:
    """The type of a column: "any" if all cells are missing."""
    dtype = cells.dtype
    if cells.null_count() == len(cells):
        return "any"
    if dtype == pl.Boolean:
        return "boolean"
    if dtype.is_temporal():
        return "date" if dtype == pl.Date else "time" if dtype == pl.Time else "datetime"
    if dtype == pl.String:
        texts = cells.drop_nulls()
        if not all(_are_numbers(part, dialect) for part in (texts.head(_FIRST), texts)):
            return "string"
        return "integer" if texts.str.contains("^-?[0-9]+$").all() else "number"
    return "integer" if dtype.is_integer() else "number"


def _are_numbers(texts: pl.Series, dialect: Dialect) -> bool:
    """Whether all are plain numbers, without units, signs of thousands and leading zeros."""
    sign = re.escape(dialect.decimal)
    return bool(texts.str.contains(rf"^-?(0|[1-9][0-9]*)({sign}[0-9]+)?$").all())


def _common(one: str, other: str) -> str:
    """The type of cells of both types."""
    if "any" in (one, other):
        return other if one == "any" else one
    return one if one == other else "number" if {one, other} <= {*_NUMBERS} else "string"
