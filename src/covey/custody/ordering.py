"""Rows in an order that tells nothing, and the seed of all random choices.

Rows are sorted by their quasi-identifiers first and shuffled under the custodian's key before a
method sees them, and sorted by their released cells before they leave. So no position tells
anything, any permutation of the input gives the same release, and where only k is asked the groups
depend on the quasi-identifiers and the key alone.
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
    """Rows on their way to a method."""

    table: Table  # without identifiers
    selection: Selection  # of the input's rows
    seed: int

    def take(self, some: Selection) -> "People":
        """Some of them."""
        table = self.table.with_rows(some.of(self.table.frame), some.rows)
        return replace(self, table=table, selection=self.selection.then(some))


def ordered_people(
    table: Table, schema: Schema, request: Sequence[Any], *, seed: int | None, key: Key | None
) -> People:
    """The rows to be released, in an order that only the holder of the key can find again.

    Rows with equal quasi-identifiers stand side by side in the sorted table, in an order that
    depends on their other cells. The shuffle decides where each of them goes: that is drawn under
    the key, or from a `seed` that was chosen.
    """
    kept = rows_to_keep(table, schema)
    frame = kept.of(table.frame)
    quasi, identifiers = sorted(schema.quasi), schema.names(Role.IDENTIFIER)
    others = sorted(set(frame.columns) - set(quasi) - set(identifiers))
    # Identifiers come last: they settle who is who among people of whom all else is equal.
    named = sorted(set(identifiers) & set(frame.columns))
    order = canonical_order(frame, [*quasi, *others, *named])
    if seed is None:
        seed = _seed(key or Key.of(), frame.select(quasi)[order], schema, request)
    elif seed < 0:
        raise UsageError("a seed is 0 or more")
    order = order[np.random.default_rng((seed, _SHUFFLE)).permutation(len(order))]
    people = kept.then(Selection(order, len(order)))
    return People(table.with_rows(frame.drop(named)[order], people.rows), people, seed)


# Keeps the shuffle's random numbers apart from those that the method draws with the same seed.
_SHUFFLE = 1


def _seed(key: Key, quasi: pl.DataFrame, schema: Schema, request: Sequence[Any]) -> int:
    """A number that only the same quasi-identifiers, request and key give."""
    settings = [
        schema.columns[name].model_dump(mode="json", exclude={"taxonomy"}) for name in quasi.columns
    ]
    content = hashlib.sha256()
    for part in quasi.iter_slices(65_536):
        content.update(part.write_csv(include_header=False).encode())
    asked = json.dumps([settings, schema.loss, request], default=str).encode()
    return int.from_bytes(key.digest("seed", asked, content.digest())[:16])


def canonical_order(frame: pl.DataFrame, columns: Sequence[str]) -> Longs:
    """The rows sorted by these columns; whatever order they came in, the cells come out alike."""
    keys = [key for name in columns for key in _sort_keys(frame, name)]
    return frame.select(pl.arg_sort_by(keys).alias("row"))["row"].to_numpy().astype(np.int64)


def _sort_keys(frame: pl.DataFrame, name: str) -> list[pl.Expr]:
    """-0.0 equals 0.0 in a sort but not in a file, so the sign of a zero is a key of its own."""
    cells = pl.col(name)
    if not frame.schema[name].is_float():
        return [cells]
    return [cells, 1 / cells == -float("inf")]
