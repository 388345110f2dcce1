"""The attack of someone who knows something of a person, on the release and on the original.

A released row matches if each known value lies in its interval or under its node. A cell that is
hidden matches any value, and so does a missing one if the schema says that missing matches
anything. A row of the original matches if it has the same values.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from covey.encoding import Category, Centres, Nodes, Ranges
from covey.encoding.attributes import Mask
from covey.encoding.categories import members_of
from covey.encoding.intervals import MISSING
from covey.errors import CoveyError, TaxonomyError, UsageError
from covey.generalisation import ShownColumn
from covey.schema import Column, ColumnType, MissingPolicy, Role
from covey.studio.pairs import Pair, exact, texts
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
        j = pair.attribute(name)
        after &= _covering(pair.view.columns[j], pair.schema.columns[name], value)[pair.cells[j]]
        steps.append(Narrowed(name, known[name], int(before.sum()), int(after.sum())))
    sensitive = [name for name in pair.carried if pair.schema.role_of(name) is Role.SENSITIVE]
    learnt = tuple(_learnt(pair, name, before, after) for name in sensitive)
    return Attacked(pair.rows, len(after), tuple(steps), learnt)


def _value(pair: Pair, name: str, text: str) -> Any:
    """What was typed, as the original's cells are read: a number, a day or a label."""
    column = pair.schema.columns[name]
    dialect = pair.original.dialect
    frame, _ = mended(pl.DataFrame({name: [text]}), dialect, pair.schema)
    try:
        value = exact(frame[name], column, dialect)[0]
    except CoveyError:
        value = None
    if value is None:
        raise UsageError(f"{name}: type {_WANTED[column.type]}")
    return value


_WANTED = {
    ColumnType.NUMERIC: "a number",
    ColumnType.DATE: "a date as the table writes it",
    ColumnType.CATEGORICAL: "a value",
    None: "a value",
}


def _covering(shown: ShownColumn, column: Column, value: Any) -> Mask:
    """Which distinct released cells may stand for this value."""
    cells = shown.shown
    if isinstance(cells, Ranges):
        number = float(np.clip(value, *column.bounds))
        covering = cells.hidden | ((cells.low <= number) & (number <= cells.high))
        absent = cells.state == MISSING
    elif isinstance(cells, Centres):
        absent = cells.state == MISSING
        covering = ~absent  # a mean does not say which values are behind it
    else:
        assert isinstance(cells, Nodes)
        covering = _above(cells, shown.written[0], str(value))
        absent = shown.written[0].is_null().to_numpy()
    if column.missing is MissingPolicy.WILDCARD:
        covering = covering | absent
    return np.asarray(covering, dtype=np.bool_)


def _above(cells: Nodes, written: pl.Series, value: str) -> Mask:
    """Which labels are the value, a node above it, or a set that has it."""
    path = np.isin(cells.node, _path(cells.attribute, value))
    for place, label in enumerate(texts(written)):
        if (
            label is not None
            and label.startswith("{")
            and label not in cells.attribute.tree.node_of
        ):
            path[place] = value in members_of(label)
    return path


def _path(category: Category, value: str) -> list[int]:
    """The nodes over a value, which may be one that nobody in the table has."""
    tree = category.tree
    if value in tree.node_of:
        ancestors = tree.ancestors[tree.node_of[value]]
        return [int(node) for node in ancestors if node >= 0]
    try:
        larger = category.column.taxonomy_over([*(leaf for leaf in tree.leaves if leaf), value])
        over = larger.ancestors[larger.node_of[value]]
        labels = [larger.labels[node] for node in over if node >= 0]
    except (TaxonomyError, KeyError):
        labels = []
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
