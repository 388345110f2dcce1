"""One-pass k-means.

Lin, Wei: An efficient clustering method for k-anonymization, PAIS 2008 (OKA).
"""

from functools import partial

import numpy as np

from covey._core import kernels
from covey.clustering.progress import Progress, silent, watched
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups


def oka(table: EncodedTable, k: int, *, seed: int = 0, progress: Progress = silent) -> Groups:
    """The first n // k of the shuffled rows start a group each. Every other row joins the group
    with the nearest centre, which is updated at once: the mean of numbers, the common ancestor of
    categories. Groups of more than `k` rows then give up the rows furthest from their centre. These
    join the nearest group with fewer than `k` rows, or, when there is none, the nearest of all. The
    order of the rows is inferred: the paper may sort them. A tree of boxes finds the centres, in
    O(n²/k) at worst; memory O(n).
    """
    missing = np.full(len(table.intervals), table.missing_at)
    random = np.random.default_rng(seed)
    return Groups(watched(partial(kernels.oka, table.core, k, missing, random), progress))
