"""Greedy clustering that adds all nearest rows at once.

Jiang, Zeng, Ma: Greedy clustering-anonymity method for privacy preservation of table
data-publishing, Journal of Software 2017 (GAA-CP).
"""

from functools import partial

import numpy as np

from covey._core import kernels
from covey.clustering.progress import Progress, silent, watched
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups


def gaa_cp(table: EncodedTable, k: int, *, seed: int = 0, progress: Progress = silent) -> Groups:
    """While a group has fewer than `k` rows, all free rows that would add the same, smallest
    information loss join it together. So groups have `k` rows or a few more. Each row that is left
    over joins the group where it costs least. The paper's text was not available: this is inferred
    from its abstract and its description by Wang et al. 2022. A tree of boxes finds the rows:
    near-linear time on real tables, O(n²) at worst, memory O(n).
    """
    picks = np.random.default_rng(seed).random(table.rows // k)
    return Groups(watched(partial(kernels.gaa_cp, table.core, k, picks), progress))
