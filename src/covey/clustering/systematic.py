"""Systematic clustering.

Kabir, Wang, Bertino: Efficient systematic clustering method for k-anonymization, Acta
Informatica 2011.
"""

import numpy as np

from covey.clustering import _growth
from covey.clustering.progress import Progress, in_steps, silent
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups


def systematic(
    table: EncodedTable, k: int, *, seed: int = 0, progress: Progress = silent
) -> Groups:
    """The rows are sorted by their quasi-identifiers. Starting with a random one of the first `k`,
    every k-th row starts a group. Each group in turn takes the k - 1 free rows that add least
    information loss. Each row that is left over joins the group where it costs least. The paper's
    text was not available: this is inferred from its abstract and from what others report. A tree
    of boxes finds the rows: near-linear time on real tables, O(n²) at worst, memory O(n).
    """
    from covey._core import k_member as kernel

    groups = table.rows // k
    first = int(np.random.default_rng(seed).random() * k)
    seeds = table.lexicographic[first::k][:groups].copy()
    boxes, grown = _growth.plant(table, k, seeds=seeds)
    cells, forest, free, none = table.cells, table.forest, _growth.no_penalty(), np.empty(0)

    def work(rows: int) -> int:
        return kernel.grow(cells, forest, boxes, grown, free, none, kernel.GIVEN, k, rows)

    in_steps(work, groups * k, progress)
    _growth.place_leftovers(table, grown, free, np.arange(table.rows % k), progress)
    return Groups(grown.labels)
