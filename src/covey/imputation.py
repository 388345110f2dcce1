"""What stands for a missing cell while groups are formed, where it may match anything.

Methods see a table without such gaps: in the place of each stands what rows alike have, the middle
of their numbers or the most frequent of their categories. So a row is grouped by what is known of
it, and every method works as it is. Nothing of this is ever shown: a group shows what its known
cells have in common.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.encoding import Attribute, EncodedTable, Interval, matches_anything
from covey.kernels.arrays import Floats, Ints, Longs

_ALIKE = 32  # rows, at most


def without_gaps(table: EncodedTable) -> EncodedTable:
    """The table as methods are to see it."""
    attributes = tuple(_filled(table, attribute) for attribute in table.attributes)
    if all(new is old for new, old in zip(attributes, table.attributes, strict=True)):
        return table
    return replace(table, attributes=attributes)


def _filled(table: EncodedTable, attribute: Attribute) -> Attribute:
    gaps = matches_anything(attribute)
    if not gaps.any() or gaps.all():
        return attribute
    block = _blocks(table, attribute)
    if isinstance(attribute, Interval):
        values = attribute.values.copy()
        values[gaps] = _middles(values[~gaps], block[~gaps], block.max() + 1)[block[gaps]]
        return replace(attribute, values=values)
    leaves = attribute.leaves.copy()
    leaves[gaps] = _commonest(leaves[~gaps], block[~gaps], block.max() + 1)[block[gaps]]
    return replace(attribute, leaves=leaves)


def _blocks(table: EncodedTable, attribute: Attribute) -> Longs:
    """In which block of rows each is that are alike in all other attributes."""
    from covey.kernels.box_tree import tile

    block = np.zeros(table.rows, dtype=np.int64)
    others = replace(table, attributes=tuple(a for a in table.attributes if a is not attribute))
    if others.attributes:
        everyone = np.arange(table.rows, dtype=np.int32)
        for number, own in enumerate(tile(others.cells, others.forest, everyone, _ALIKE)):
            block[own] = number
    return block


def _middles(values: Floats, block: Longs, blocks: int) -> Floats:
    """The middle value of each block, or of all rows where a block has none."""
    values, block = _and_all(values, block, blocks)
    order = np.lexsort((values, block))
    rows = np.bincount(block, minlength=blocks + 1)
    middle = np.cumsum(rows) - rows + (rows - 1) // 2
    found: Floats = values[order[middle]]
    return np.where(rows, found, found[-1])


def _commonest(leaves: Ints, block: Longs, blocks: int) -> Ints:
    """The most frequent leaf of each block, or of all rows where a block has none."""
    leaves, block = _and_all(leaves, block, blocks)
    pairs, often = np.unique(block * (int(leaves.max()) + 1) + leaves, return_counts=True)
    of, leaf = np.divmod(pairs, int(leaves.max()) + 1)
    order = np.lexsort((-leaf, often, of))
    found = np.full(blocks + 1, -1, dtype=np.int32)
    found[of[order]] = leaf[order]  # the last of each block remains
    return np.where(found < 0, found[-1], found)


def _and_all(values: NDArray[Any], block: Longs, blocks: int) -> tuple[NDArray[Any], Longs]:
    """One more block, of all rows."""
    return np.tile(values, 2), np.append(block, np.full(len(block), blocks))
