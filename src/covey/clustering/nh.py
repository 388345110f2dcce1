"""Non-homogeneous generalization.

Wong, Mamoulis, Cheung: Non-homogeneous generalization in privacy preserving data publishing,
SIGMOD 2010 (NH).
"""

from functools import partial

import numpy as np

from covey._core import kernels
from covey.clustering.progress import Progress, silent, watched
from covey.encoding import EncodedTable
from covey.encoding.groups import Rings


def nh(table: EncodedTable, k: int, *, seed: int = 0, progress: Progress = silent) -> Rings:
    """The table is repeatedly split by two distant rows, until every part has fewer than 2k rows.
    Each part is ordered from row to nearest row and closed to a ring. A row is shown as the
    generalisation of k neighbours that include it, from a random offset that is the same for the
    whole ring. So each person fits k shown rows, and each shown row fits k people, but no two rows
    need be equal. This is not k-anonymity in the usual sense: anyone who identifies one row can
    identify its whole ring. The paper's text was not available: this is inferred from what others
    report. Time O(n log(n/k) + nk), or O(n²/k) for uneven splits; memory O(n).
    """
    random = np.random.default_rng(seed)
    rings = watched(partial(kernels.nh, table.core, k, random), progress)
    return Rings(k, *rings, table.rows)
