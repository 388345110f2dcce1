"""Non-homogeneous generalization.

Wong, Mamoulis, Cheung: Non-homogeneous generalization in privacy preserving data publishing,
SIGMOD 2010 (NH).
"""

import numpy as np

from covey._core.arrays import empty_summaries
from covey.clustering.progress import Progress, in_steps, silent
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
    from covey._core import nh as kernel
    from covey._core.top_down import whole_table

    cells, forest = table.cells, table.forest
    stack = whole_table(table.rows, k)
    scratch = kernel.Scratch(
        order=np.empty(table.rows, dtype=np.int64),
        distance=np.empty(table.rows),
        side=np.empty(table.rows, dtype=np.int8),
        rows=np.empty(table.rows, dtype=np.int32),
        heap_keys=np.empty(k),
        heap_rows=np.empty(k, dtype=np.int32),
        halves=empty_summaries(2, cells),
        price=np.zeros(len(forest.depth)),
        priced=np.full(cells.codes.shape[1], -1, dtype=np.int32),
    )
    random = np.random.default_rng(seed)
    in_steps(
        lambda rows: kernel.partition(cells, forest, stack, scratch, random, k, rows),
        table.rows,
        progress,
    )
    parts = int(stack.state[1])
    order = np.argsort(stack.labels, kind="stable")
    begin = np.concatenate([[0], np.cumsum(np.bincount(stack.labels))])
    done = 0

    def walk(some: int) -> int:
        nonlocal done
        last = min(done + some, parts)
        kernel.tour(cells, forest, scratch, order, begin, done, last)
        done = last
        return done

    in_steps(walk, parts, progress)
    shift = (random.random(parts) * k).astype(np.int64)
    return Rings(k, order, begin, shift, table.rows)
