"""Common part of methods that grow groups by the rows that cost least."""

from typing import TYPE_CHECKING

import numpy as np

from covey._core.arrays import Longs, empty_summaries, plain_scale
from covey.clustering.progress import Progress
from covey.encoding import EncodedTable

if TYPE_CHECKING:
    from covey._core.box_tree import BoxTree
    from covey._core.growth import Growth, Penalty

_PLACES_AT_A_TIME = 1_000_000


def plant(
    table: EncodedTable, k: int, *, start: int = 0, seeds: Longs | None = None, ranked: bool = False
) -> tuple["BoxTree", "Growth"]:
    """Prepare a tree of boxes over the rows, and space for n // k groups.

    With `ranked`, rows can be found by rank. `seeds`, the first row of each group, are set apart.
    """
    from covey._core import box_tree, growth
    from covey._core import fenwick as ranks

    cells, forest = table.cells, table.forest
    boxes = box_tree.build(cells, forest)
    groups = table.rows // k
    grown = growth.Growth(
        labels=np.full(table.rows, -1, dtype=np.int64),
        state=np.array([0, start, 0], dtype=np.int64),
        seeds=np.empty(0, dtype=np.int64) if seeds is None else seeds,
        ranks=np.zeros(table.rows + 1 if ranked else 0, dtype=np.int32),
        scale=plain_scale(cells),
        summaries=empty_summaries(groups, cells),
        majority=np.full(groups, -1, dtype=np.int32),
        price=np.zeros(len(forest.depth)),
        priced=np.full(cells.codes.shape[1], -1, dtype=np.int32),
    )
    ranks.count_all(grown.ranks)
    growth.set_apart(boxes, grown)
    return boxes, grown


def penalty(table: EncodedTable, boxes: "BoxTree", amount: float) -> "Penalty":
    """The price of rows of another class, if the table has classes."""
    from covey._core import box_tree
    from covey._core.growth import Penalty

    classes = np.empty(0, dtype=np.int32) if table.classes is None else table.classes
    masks = np.zeros(len(boxes.first) if len(classes) else 0, dtype=np.uint64)
    box_tree.box_classes(boxes, classes, masks)
    return Penalty(classes, masks, np.zeros(int(classes.max(initial=-1)) + 1, np.int64), amount)


def no_penalty() -> "Penalty":
    """No price for classes."""
    from covey._core.growth import Penalty

    none = np.empty(0, dtype=np.int32)
    return Penalty(none, np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64), 0.0)


def place_leftovers(
    table: EncodedTable, grown: "Growth", price: "Penalty", order: Longs, progress: Progress
) -> None:
    """Put each row that is left over into the group where it costs least, in this order."""
    from covey._core import growth

    rest = np.flatnonzero(grown.labels < 0)[order]
    slices = max(1, len(rest) * int(grown.state[0]) // _PLACES_AT_A_TIME)
    for rows in np.array_split(rest, slices):
        growth.place_leftovers(table.cells, table.forest, grown, price, rows)
        progress("clustering", 1.0)
