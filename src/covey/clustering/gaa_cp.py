"""Greedy clustering that adds all nearest rows at once.

Jiang, Zeng, Ma: Greedy clustering-anonymity method for privacy preservation of table
data-publishing, Journal of Software 2017 (GAA-CP).
"""

import numpy as np

from covey.clustering import _growth
from covey.clustering.progress import Progress, in_steps, silent
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups


def gaa_cp(table: EncodedTable, k: int, *, seed: int = 0, progress: Progress = silent) -> Groups:
    """While a group has fewer than `k` rows, all free rows that would add the same, smallest
    information loss join it together. So groups have `k` rows or a few more. Each row that is left
    over joins the group where it costs least. The paper's text was not available: this is inferred
    from its abstract and its description by Wang et al. 2022. A tree of boxes finds the rows:
    near-linear time on real tables, O(n²) at worst, memory O(n).
    """
    from covey._core import gaa_cp as kernel

    picks = np.random.default_rng(seed).random(table.rows // k)
    boxes, grown = _growth.plant(table, k, ranked=True)
    cells, forest, free = table.cells, table.forest, _growth.no_penalty()
    pending = np.empty(table.rows, dtype=np.int32)

    def work(groups: int) -> int:
        return kernel.grow(cells, forest, boxes, grown, free, picks, pending, k, groups)

    in_steps(work, table.rows - k + 1, progress)
    left = int(np.count_nonzero(grown.labels < 0))
    _growth.place_leftovers(table, grown, free, np.arange(left), progress)
    return Groups(grown.labels)
