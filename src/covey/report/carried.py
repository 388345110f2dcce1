"""What a report needs to know of the columns that a release carries as they are.

It is counted batch by batch, and adds up in any order.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from covey.schema import Role, Schema
from covey.schema.labels import NONE_ALIKE, LookAlikes, look_alikes
from covey.tables import Table

_LABEL, _ROWS = "label", "rows"
_MOST_HASHES = 1 << 18  # of a column: an estimate is off by less than 1 %
_MOST_LABELS = 1_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Distinct:
    """The number of distinct cells of a column: exact in one batch, perhaps estimated in several.

    If there are many, only those are kept whose hash is below a power of two. They are a random
    part of all, of known size.
    """

    count: int
    hashes: pl.Series  # all below 2 ** bits
    bits: int

    @classmethod
    def of(cls, cells: pl.Series) -> "Distinct":
        """Count the cells of a batch."""
        hashes = cells.hash().unique()
        return cls(len(hashes), *_few(hashes, 64))

    def __add__(self, other: "Distinct") -> "Distinct":
        both = pl.concat([self.hashes, other.hashes]).unique()
        hashes, bits = _few(both, min(self.bits, other.bits))
        return Distinct(len(hashes) << (64 - bits), hashes, bits)

    def __str__(self) -> str:
        return f"{self.count:,}" if self.bits == 64 else f"about {self.count:,}"


def _few(hashes: pl.Series, bits: int) -> tuple[pl.Series, int]:
    """The hashes below a power of two, the highest that leaves few enough of them."""
    some = hashes if bits == 64 else hashes.filter(hashes < 1 << bits)
    return (some, bits) if len(some) <= _MOST_HASHES else _few(some, bits - 1)


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

    distinct: Mapping[str, Distinct]
    labels: Mapping[str, Labels]  # of sensitive columns with text

    @classmethod
    def of(cls, released: Table, schema: Schema) -> "Carried":
        """Count the cells of a batch."""
        present, text = released.frame.columns, released.frame.schema
        carried = [n for n in schema.names(Role.INSENSITIVE, Role.SENSITIVE) if n in present]
        named = [
            name
            for name in schema.names(Role.SENSITIVE)
            if text.get(name) == pl.String and not schema.columns[name].is_ordered
        ]
        return cls(
            {name: Distinct.of(released.frame[name]) for name in carried},
            {name: Labels.of(released.cells(name)) for name in named},
        )

    def __add__(self, other: "Carried") -> "Carried":
        return Carried(
            {name: own + other.distinct[name] for name, own in self.distinct.items()},
            {name: own + other.labels[name] for name, own in self.labels.items()},
        )
