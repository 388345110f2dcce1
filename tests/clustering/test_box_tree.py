"""Searches in the tree of boxes find the same rows as brute force, on tables of some size."""

import functools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from boxes import boxes_of_single_rows
from covey import demo
from covey.clustering import METHODS
from covey.encoding import Attribute, Category, EncodedTable, Interval, encode
from covey.schema import Schema
from covey.tables import Table

Losses = NDArray[np.float64]


class Scan:
    """k-member as printed, with whole columns at a time in place of single rows."""

    def __init__(self, table: EncodedTable) -> None:
        self.table = table
        self.members: list[int] = []

    def losses(self) -> Losses:
        """What each record of the group would lose with each row of the table."""
        total = np.zeros(self.table.rows)
        for attribute in self.table.attributes:
            total += attribute.column.weight * self._losses(attribute)
        return total

    def _losses(self, attribute: Attribute) -> Losses:
        if isinstance(attribute, Interval):
            scaled = attribute.scaled
            own = scaled[self.members]
            widths = np.maximum(own.max(), scaled) - np.minimum(own.min(), scaled)
            return np.asarray(np.minimum(widths, 1.0))
        assert isinstance(attribute, Category)
        node = attribute.tree.lowest_common_ancestor(attribute.leaves[self.members])
        losses: Losses = self._of_leaves(attribute, int(node))[attribute.leaves]
        return losses

    @functools.cache  # noqa: B019 - as long as the test: groups have the same node again and again
    def _of_leaves(self, attribute: Category, node: int) -> Losses:
        """What a group at this node would lose with each leaf."""
        tree = attribute.tree
        of_leaf = [tree.lowest_common_ancestor([node, leaf]) for leaf in range(tree.leaf_count)]
        losses: Losses = tree.losses(self.table.measure)[np.array(of_leaf)]
        return losses

    def labels(self, k: int, seed: int) -> list[int]:
        """The labels of full groups; rows left over keep -1."""
        labels = np.full(self.table.rows, -1)
        last = int(np.random.default_rng(seed).integers(self.table.rows))
        for group in range(self.table.rows // k):
            self.members = [last]
            last = int(np.argmax(np.where(labels < 0, self.losses(), -np.inf)))
            self.members = [last]
            labels[last] = group
            for _ in range(k - 1):
                last = int(np.argmin(np.where(labels < 0, self.losses(), np.inf)))
                self.members.append(last)
                labels[last] = group
        return [int(label) for label in labels]


def numbers(rows: int, width: int, **settings: Any) -> EncodedTable:
    random = np.random.default_rng(rows)
    frame = pl.DataFrame({f"x{j}": random.random(rows).round(2) for j in range(width)})
    quasi = {name: {"type": "numeric", **settings} for name in frame.columns}
    return encode(Table(frame), Schema.of(quasi=quasi))


def one_column(rows: int, values: int) -> EncodedTable:
    codes = np.random.default_rng(values).integers(0, values, rows).astype(str)
    return encode(Table(pl.DataFrame({"x": codes})), Schema.of(quasi={"x": "categorical"}))


def people(rows: int, **settings: Any) -> EncodedTable:
    return encode(Table(demo.people(rows)), demo.schema().model_copy(update=settings))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "k"),
    [
        (partial(people, 600), 7),
        (partial(people, 400, loss="ncp"), 2),
        (partial(numbers, 700, 3), 2),
        (partial(numbers, 500, 2, weight=0.3), 7),
        (partial(one_column, 300, 1), 7),
        (partial(one_column, 300, 2), 2),
        (partial(one_column, 600, 300), 7),  # more values than bits
    ],
)
def test_the_tree_finds_what_a_scan_finds(make: Callable[[], EncodedTable], k: int) -> None:
    table = make()
    expected = Scan(table).labels(k, seed=3)
    with boxes_of_single_rows():
        boxes_by_the_row = METHODS["k-member"](make(), k, seed=3)
    for groups in (METHODS["k-member"](table, k, seed=3), boxes_by_the_row):
        found = groups.labels.tolist()
        assert [label for label, other in zip(found, expected, strict=True) if other >= 0] == [
            label for label in expected if label >= 0
        ]


def test_missing_numbers_are_further_away_than_any_number_from_another() -> None:
    frame = pl.DataFrame({"x": [0.0, 1.0, None, None] * 50})
    table = encode(Table(frame), Schema.of(quasi={"x": "numeric"}))
    assert set(table.cells.numbers[:, 0]) == {0.0, 1.0, 2.0}
    labels = METHODS["k-member"](table, 50, seed=0).labels
    for group in range(4):
        assert len(set(table.cells.numbers[labels == group, 0])) == 1
