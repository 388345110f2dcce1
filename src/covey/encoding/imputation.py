"""What stands for a missing cell while groups are formed, where it may match anything.

Methods see a table without such gaps: in the place of each stands what rows alike have, the middle
of their numbers or the most frequent of their categories. So a row is grouped by what is known of
it, and every method works as it is. Nothing of this is ever shown: a group shows what its known
cells have in common.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from covey._core.arrays import Longs
from covey.encoding import Attribute, EncodedTable

_ALIKE = (2_048, 256, 32)  # rows at most; the fewest that have any known cell count


def without_gaps(table: EncodedTable) -> EncodedTable:
    """The table as methods are to see it.

    Which rows are alike is told by a table whose gaps hold what all rows have: rows must not be
    alike because the same is missing in them.
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
    """In which block of similar rows each is, none of more than so many."""
    from covey._core.box_tree import tile

    block = np.empty(table.rows, dtype=np.int64)
    everyone = np.arange(table.rows, dtype=np.int32)
    for number, own in enumerate(tile(table.cells, table.forest, everyone, most)):
        block[own] = number
    return block


def typical(table: EncodedTable, block: Longs) -> tuple[Attribute, ...]:
    """For each row, what its block has in the middle, or most often."""
    blocks = int(block.max()) + 1
    return tuple(
        replace(attribute, values=attribute.typical(block, blocks)[block])
        for attribute in table.attributes
    )


def _filled(attribute: Attribute, gaps: NDArray[np.bool_], block: Longs) -> Attribute:
    """With what the known cells of its block have in the place of each gap, if there are any."""
    known, blocks = np.flatnonzero(~gaps), int(block.max()) + 1
    found = attribute.take(known).typical(block[known], blocks)
    fillable = gaps & (np.bincount(block[known], minlength=blocks) > 0)[block]
    return replace(attribute, values=np.where(fillable, found[block], attribute.values))
