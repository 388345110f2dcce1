"""Median partitioning, known as Mondrian.

LeFevre, DeWitt, Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006; the baseline of
Byun et al. 2007.
"""

from functools import partial

from covey._core import kernels
from covey.clustering.progress import Progress, silent, watched
from covey.encoding import EncodedTable
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
    cut = partial(kernels.mondrian, table.core, table.places, table.weights, k, bool(relaxed))
    return Groups(watched(cut, progress))
