"""Median partitioning, known as Mondrian.

LeFevre, DeWitt, Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006; the baseline of
Byun et al. 2007.
"""

import numpy as np

from covey._core.arrays import Floats
from covey.clustering.progress import Progress, in_steps, silent
from covey.encoding import Category, EncodedTable
from covey.encoding.groups import Groups


def mondrian(
    table: EncodedTable,
    k: int,
    *,
    seed: int = 0,  # noqa: ARG001 - nothing is random here
    relaxed: bool = False,
    progress: Progress = silent,
) -> Groups:
    """A part is cut at the median of the attribute with the widest range, relative to its column
    and times its weight, or of the next widest, provided that both sides have at least `k` rows.
    Categories are cut in the order of their tree's leaves. Rows of equal value stay together;
    `relaxed` distributes those at the median over both sides, which makes the sides equal in size.
    Parts that cannot be cut may have more than 2k - 1 rows. Time O(n log n), memory O(n).
    """
    from covey._core import mondrian as kernel
    from covey._core.top_down import whole_table

    columns = kernel.Columns(table.places, table.cells.numbers, table.weights, _steps(table))
    stack = whole_table(table.rows, k)
    spare = np.empty(table.rows, dtype=np.int32)

    def work(rows: int) -> int:
        return kernel.partition(columns, stack, spare, k, bool(relaxed), rows)

    in_steps(work, table.rows, progress)
    return Groups(stack.labels)


def _steps(table: EncodedTable) -> Floats:
    sizes = [a.tree.leaf_count - 1 if isinstance(a, Category) else 0 for a in table.attributes]
    return np.array(sizes, dtype=np.float64)
