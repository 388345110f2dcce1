"""Clustering around centres far from each other.

Zheng, Wang, Lv, Ma, Jia: k-anonymity algorithm based on improved clustering, ICA3PP 2018 (IKAC).
"""

from functools import partial

import numpy as np

from covey._core import kernels
from covey._core.arrays import Floats
from covey.clustering.kacpc import weighted_pairs
from covey.clustering.progress import Progress, silent, watched
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups
from covey.schema.taxonomy import Taxonomy


def ikac(table: EncodedTable, k: int, *, seed: int = 0, progress: Progress = silent) -> Groups:
    """The first centre is a random row. Each further centre is the free row furthest from all
    earlier centres on average. The distance of two categories is the share of leaves under their
    common ancestor. The paper's text was not available: this is inferred from its description by
    Wang et al. 2022. Time O(n²/k), memory O(n).
    """
    start = int(np.random.default_rng(seed).random() * table.rows)
    pairs = weighted_pairs(table, _leaf_shares)
    return Groups(watched(partial(kernels.ikac, table.core, k, pairs, start), progress))


def _leaf_shares(tree: Taxonomy) -> Floats:
    """The share of leaves under each node, for all depths of the two leaves."""
    shares = tree.leaves_below / tree.leaf_count
    return np.broadcast_to(shares[:, None, None], (len(shares), tree.height + 1, tree.height + 1))
