"""Imputation of missing cells that match anything, while groups are formed.

Methods see a table without such gaps: each gap is filled with the median of the numbers, or the
most frequent category, of similar rows. So a row is grouped by its known cells, and no method needs
to handle gaps. Imputed values are never released: a group shows the generalisation of its known
cells.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from covey._core.arrays import Floats, Ints, Longs
from covey.encoding import Attribute, EncodedTable, Interval, matches_anything

_ALIKE = (2_048, 256, 32)  # largest blocks; the smallest block with a known cell decides


def without_gaps(table: EncodedTable) -> EncodedTable:
    """The table with its gaps filled, as methods see it.

    To find similar rows, gaps are first filled from the whole column: rows must not be similar
    merely because the same cells are missing.
    """
    gaps = [matches_anything(attribute) for attribute in table.attributes]
    fillable = [bool(some.any()) and not some.all() for some in gaps]
    if not any(fillable):
        return table
    everywhere = np.zeros(table.rows, dtype=np.int64)
    filled = [
        _filled(attribute, own, everywhere) if fill else attribute
        for attribute, own, fill in zip(table.attributes, gaps, fillable, strict=True)
    ]
    rough = tuple(filled)
    for place in np.flatnonzero(fillable).tolist():
        others = replace(table, attributes=rough[:place] + rough[place + 1 :])
        for most in _ALIKE if others.attributes else ():
            filled[place] = _filled(filled[place], gaps[place], blocks_of(others, most))
    return replace(table, attributes=tuple(filled))


def blocks_of(table: EncodedTable, most: int) -> Longs:
    """The block of similar rows of each row; no block has more than `most` rows."""
    from covey._core.box_tree import tile

    block = np.empty(table.rows, dtype=np.int64)
    everyone = np.arange(table.rows, dtype=np.int32)
    for number, own in enumerate(tile(table.cells, table.forest, everyone, most)):
        block[own] = number
    return block


def typical(table: EncodedTable, block: Longs) -> tuple[Attribute, ...]:
    """For each row, the median or the most frequent category of its block."""
    blocks = int(block.max()) + 1
    return tuple(
        replace(attribute, values=_middles(attribute.values, block, blocks)[block])
        if isinstance(attribute, Interval)
        else replace(attribute, leaves=_commonest(attribute.leaves, block, blocks)[block])
        for attribute in table.attributes
    )


def _filled(attribute: Attribute, gaps: NDArray[np.bool_], block: Longs) -> Attribute:
    """The attribute with each gap filled from the known cells of its block, if there are any."""
    if isinstance(attribute, Interval):
        found = _middles(attribute.values[~gaps], block[~gaps], int(block.max()) + 1)[block[gaps]]
        values = attribute.values.copy()
        values[gaps] = np.where(np.isnan(found), values[gaps], found)
        return replace(attribute, values=values)
    leaf = _commonest(attribute.leaves[~gaps], block[~gaps], int(block.max()) + 1)[block[gaps]]
    leaves = attribute.leaves.copy()
    leaves[gaps] = np.where(leaf < 0, leaves[gaps], leaf)
    return replace(attribute, leaves=leaves)


def _middles(values: Floats, block: Longs, blocks: int) -> Floats:
    """The median of each block, NaN if it has no values."""
    order = np.lexsort((values, block))
    rows = np.bincount(block, minlength=blocks)
    middle = np.cumsum(rows) - rows + (rows - 1) // 2
    return np.where(rows > 0, values[order[middle]], np.nan)


def _commonest(leaves: Ints, block: Longs, blocks: int) -> Ints:
    """The most frequent leaf of each block, the first of several, -1 if it has none."""
    width = int(leaves.max()) + 1
    pairs, often = np.unique(block * width + leaves, return_counts=True)
    own, leaf = np.divmod(pairs, width)
    order = np.lexsort((-leaf, often, own))
    found = np.full(blocks, -1, dtype=np.int32)
    found[own[order]] = leaf[order]  # the last entry of each block remains
    return found
