"""Rows in an order that reveals nothing, and the seed of all random choices.

Rows are sorted by their quasi-identifiers and shuffled under the custodian's key before a method
sees them. The released rows are sorted by their released cells. So positions reveal nothing, any
permutation of the input gives the same release, and if only k is required, the groups depend only
on the quasi-identifiers and the key.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from covey._core.arrays import Longs
from covey.custody.keys import Key
from covey.encoding import rows_to_keep
from covey.encoding.selection import Selection
from covey.errors import UsageError
from covey.schema import Role, Schema
from covey.tables import Table


@dataclass(frozen=True, eq=False, repr=False)
class People:
    """Rows prepared for a method."""

    table: Table  # without identifiers
    selection: Selection  # of the input's rows
    seed: int

    def take(self, some: Selection) -> "People":
        """Some of the rows."""
        table = self.table.with_rows(some.of(self.table.frame), some.rows)
        return replace(self, table=table, selection=self.selection.then(some))


def people_as_read(table: Table, schema: Schema, seed: int = 0) -> People:
    """The rows that no missing-value policy drops, in the input's order."""
    kept = rows_to_keep(table, schema)
    return People(table.with_rows(kept.of(table.frame), kept.rows), kept, seed)


def ordered_people(
    table: Table, schema: Schema, request: Sequence[Any], *, seed: int | None, key: Key | None
) -> People:
    """The rows to release, in an order that only the holder of the key can reproduce.

    Rows with equal quasi-identifiers are adjacent in the sorted table, in an order that depends on
    their other cells. The shuffle then moves each of them. It is drawn under the key, or from the
    `seed` if one is given.
    """
    kept = rows_to_keep(table, schema)
    frame = kept.of(table.frame)
    quasi, identifiers = sorted(schema.quasi), schema.names(Role.IDENTIFIER)
    others = sorted(set(frame.columns) - set(quasi) - set(identifiers))
    # Identifiers come last: they order people who are equal in everything else.
    named = sorted(set(identifiers) & set(frame.columns))
    order = canonical_order(frame, [*quasi, *others, *named])
    if seed is None:
        seed = _seed(key or Key.of(), frame.select(quasi)[order], schema, request)
    elif seed < 0:
        raise UsageError("the seed must be 0 or more")
    order = order[np.random.default_rng((seed, _SHUFFLE)).permutation(len(order))]
    people = kept.then(Selection(order, len(order)))
    return People(table.with_rows(frame.drop(named)[order], people.rows), people, seed)


# Makes the shuffle's random numbers independent of those that the method draws with the same seed.
_SHUFFLE = 1


def _seed(key: Key, quasi: pl.DataFrame, schema: Schema, request: Sequence[Any]) -> int:
    """A number determined by the quasi-identifiers, the request and the key."""
    settings = [
        schema.columns[name].model_dump(mode="json", exclude={"taxonomy", *_SEEN_IN_THE_CELLS})
        for name in quasi.columns
    ]
    content = hashlib.sha256()
    for part in quasi.iter_slices(65_536):
        content.update(part.write_csv(include_header=False).encode())
    asked = json.dumps([settings, schema.loss, request], default=str).encode()
    return int.from_bytes(key.digest("seed", asked, content.digest())[:16])


_SEEN_IN_THE_CELLS = ("missing_values", "unreadable", "recode")  # they change what is hashed


def canonical_order(frame: pl.DataFrame, columns: Sequence[str]) -> Longs:
    """The rows sorted by these columns: any order of the input gives the same cells."""
    keys = [key for name in columns for key in _sort_keys(frame, name)]
    return frame.select(pl.arg_sort_by(keys).alias("row"))["row"].to_numpy().astype(np.int64)


def _sort_keys(frame: pl.DataFrame, name: str) -> list[pl.Expr]:
    """Sort keys of a column: -0.0 equals 0.0 in a sort but not in a file, so its sign is a key."""
    cells = pl.col(name)
    if not frame.schema[name].is_float():
        return [cells]
    return [cells, 1 / cells == -float("inf")]
