"""Imputation of missing cells that match anything, while groups are formed.

Methods see a table without such gaps: each gap is filled with the median of the numbers, or the
most frequent category, of similar rows. So a row is grouped by its known cells, and no method needs
to handle gaps. Imputed values are never released: a group shows the generalisation of its known
cells.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from covey._core import kernels
from covey._core.arrays import Longs
from covey.encoding import Attribute, EncodedTable

_ALIKE = (2_048, 256, 32)  # largest blocks; the smallest block with a known cell decides


def without_gaps(table: EncodedTable) -> EncodedTable:
    """The table with its gaps filled, as methods see it.

    To find similar rows, gaps are first filled from the whole column: rows must not be similar
    merely because the same cells are missing.
    """
    gaps = [attribute.matches_anything for attribute in table.attributes]
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
    rows, ends = kernels.tile(table.core, np.arange(table.rows, dtype=np.int32), most)
    block = np.empty(table.rows, dtype=np.int64)
    block[rows] = np.searchsorted(ends, np.arange(table.rows), side="right")
    return block


def typical(table: EncodedTable, block: Longs) -> tuple[Attribute, ...]:
    """For each row, the median or the most frequent category of its block."""
    blocks = int(block.max()) + 1
    return tuple(
        replace(attribute, values=attribute.typical(block, blocks)[block])
        for attribute in table.attributes
    )


def _filled(attribute: Attribute, gaps: NDArray[np.bool_], block: Longs) -> Attribute:
    """The attribute with each gap filled from the known cells of its block, if there are any."""
    known, blocks = np.flatnonzero(~gaps), int(block.max()) + 1
    found = attribute.take(known).typical(block[known], blocks)
    fillable = gaps & (np.bincount(block[known], minlength=blocks) > 0)[block]
    return replace(attribute, values=np.where(fillable, found[block], attribute.values))
