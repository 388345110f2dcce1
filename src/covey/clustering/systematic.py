"""Systematic clustering.

Kabir, Wang, Bertino: Efficient systematic clustering method for k-anonymization, Acta
Informatica 2011.
"""

from functools import partial

import numpy as np

from covey._core import kernels
from covey.clustering.progress import Progress, silent, watched
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
    first = int(np.random.default_rng(seed).random() * k)
    seeds = table.lexicographic[first::k][: table.rows // k].copy()
    return Groups(watched(partial(kernels.systematic, table.core, k, seeds), progress))
