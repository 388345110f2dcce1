"""C-means with weighted features.

Chiu, Tsai: A k-anonymity clustering method for effective data privacy preservation, ADMA 2007
(WF-C-means).
"""

from functools import partial

import numpy as np

from covey._core import kernels
from covey.clustering.progress import Progress, silent, watched
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups
from covey.errors import UsageError

_MOST_ITERATIONS = 2**31  # far more than any table needs


def wf_c_means(
    table: EncodedTable,
    k: int,
    *,
    seed: int = 0,
    iterations: int = 30,
    progress: Progress = silent,
) -> Groups:
    """n // k random rows are the first centres. In each iteration, rows join the nearest centre,
    centres move to the means and modes, and attributes that vary little within groups gain weight.
    This stops when no row moves, or after `iterations`. Then groups of fewer than `k` rows, the
    smallest first, merge into the group with the nearest centre. The paper's text was not
    available: this is inferred from its abstract and approximate. A tree of boxes finds the
    centres, in O(n²/k) per iteration at worst; memory O(n).
    """
    if not isinstance(iterations, int) or iterations < 1:
        raise UsageError("iterations must be a whole number, 1 or more")
    losses = [np.empty(0), *(a.tree.losses(table.measure) for a in table.categories)]
    work = partial(
        kernels.wf_c_means,
        *(table.core, k, min(iterations, _MOST_ITERATIONS)),
        *(np.full(len(table.intervals), table.missing_at), table.weights, np.concatenate(losses)),
        np.random.default_rng(seed),
    )
    return Groups(watched(work, progress))
