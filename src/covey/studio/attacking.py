"""The attack of someone who knows something of a person, on the release and on the original.

A released row matches if each known value lies in its interval or under its node. A cell that is
hidden matches any value, and so does a missing one if the schema says that missing matches
anything. A row of the original matches if it has the same values.
"""

import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from covey.encoding import Category, Centres, Nodes, Ranges
from covey.encoding.attributes import Mask
from covey.encoding.intervals import MISSING
from covey.errors import CoveyError, TaxonomyError, UsageError
from covey.generalisation import ShownColumn
from covey.schema import Column, ColumnType, MissingPolicy, Role
from covey.studio.pairs import Pair, exact, members, texts
from covey.tables.mending import mended

_NAMED = 6  # values of a sensitive column that are shown


@dataclass(frozen=True, eq=False, repr=False)
class Narrowed:
    """How many rows are left after one more thing is known."""

    name: str
    known: str
    before: int  # in the original
    after: int  # in the release


@dataclass(frozen=True, eq=False, repr=False)
class Learnt:
    """What the rows that are left say of a sensitive column: the most frequent values."""

    name: str
    before: tuple[tuple[str | None, int], ...]
    after: tuple[tuple[str | None, int], ...]
    distinct_before: int
    distinct_after: int


@dataclass(frozen=True, eq=False, repr=False)
class Attacked:
    """What an attacker finds."""

    rows_before: int
    rows_after: int
    steps: tuple[Narrowed, ...]
    learnt: tuple[Learnt, ...]

    @property
    def before(self) -> int:
        """The rows of the original that match all that is known."""
        return self.steps[-1].before if self.steps else self.rows_before

    @property
    def after(self) -> int:
        """The released rows that match all that is known."""
        return self.steps[-1].after if self.steps else self.rows_after


def attacked(pair: Pair, known: dict[str, str]) -> Attacked:
    """Narrow both tables down, one known value after another."""
    before = np.ones(pair.rows, dtype=np.bool_)
    after = np.ones(pair.released.frame.height, dtype=np.bool_)
    steps = []
    for name in pair.names:
        if not known.get(name, "").strip():
            continue
        value = _value(pair, name, known[name].strip())
        before &= (pair.exact(name) == value).fill_null(value=False).to_numpy()
        covering = _covering(pair.shown(name), pair.schema.columns[name], value)
        after &= pair.by_row(name, covering)
        steps.append(Narrowed(name, known[name], int(before.sum()), int(after.sum())))
    sensitive = [name for name in pair.carried if pair.schema.role_of(name) is Role.SENSITIVE]
    learnt = tuple(_learnt(pair, name, before, after) for name in sensitive)
    return Attacked(pair.rows, len(after), tuple(steps), learnt)


def _value(pair: Pair, name: str, text: str) -> Any:
    """What was typed, as the original's cells are read: a number, a day or a label."""
    column, dialect = pair.schema.columns[name], pair.original.dialect
    frame, _ = mended(pl.DataFrame({name: [text]}), dialect, pair.schema)
    value = None
    with contextlib.suppress(CoveyError):
        value = exact(frame[name], column, dialect)[0]
    if value is None:
        raise UsageError(f"{name}: type {_KINDS.get(column.type, 'a value')}")
    return value


_KINDS: Mapping[ColumnType | None, str] = {
    ColumnType.NUMERIC: "a number",
    ColumnType.DATE: "a date as the table writes it",
}


def _covering(column: ShownColumn, described: Column, value: Any) -> Mask:
    """Which distinct released cells may stand for this value."""
    cells = column.shown
    if isinstance(cells, Nodes):
        absent = column.written[0].is_null().to_numpy()
        covering = _above(cells, column.written[0], str(value))
    else:
        assert isinstance(cells, Ranges | Centres)
        absent = cells.state == MISSING
        covering = ~absent  # a mean does not say which values are behind it
        if isinstance(cells, Ranges):
            number = float(np.clip(value, *described.bounds))
            covering = cells.hidden | ((cells.low <= number) & (number <= cells.high))
    if described.missing is MissingPolicy.WILDCARD:
        covering = covering | absent
    return np.asarray(covering, dtype=np.bool_)


def _above(cells: Nodes, written: pl.Series, value: str) -> Mask:
    """Which labels are the value, a node above it, or a set that has it."""
    above = np.isin(cells.node, _path(cells.attribute, value))
    for place, label in enumerate(texts(written)):
        if (in_set := members(label, cells.attribute.tree)) is not None:
            above[place] = value in in_set
    return above


def _path(category: Category, value: str) -> list[int]:
    """The nodes over a value, which may be one that nobody in the table has."""
    tree = category.tree
    if value in tree.node_of:
        return [int(node) for node in tree.ancestors[tree.node_of[value]] if node >= 0]
    labels: list[str] = []
    with contextlib.suppress(TaxonomyError, KeyError):
        larger = category.column.taxonomy_over([*filter(None, tree.leaves), value])
        above = larger.ancestors[larger.node_of[value]]
        labels = [larger.labels[node] for node in above if node >= 0]
    return [tree.root, *(tree.node_of[label] for label in labels if label in tree.node_of)]


def _learnt(pair: Pair, name: str, before: Mask, after: Mask) -> Learnt:
    (first, distinct_before), (second, distinct_after) = (
        _most(table.cells(name).filter(pl.Series(rows)))
        for table, rows in ((pair.original, before), (pair.released, after))
    )
    return Learnt(name, first, second, distinct_before, distinct_after)


def _most(cells: pl.Series) -> tuple[tuple[tuple[str | None, int], ...], int]:
    counted = Counter(texts(cells))
    return tuple(counted.most_common(_NAMED)), len(counted)
