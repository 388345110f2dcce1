"""Bisecting clustering, plain and l-diverse.

He, Chen, Chen, Dong, Wang, Huang: Clustering-based k-anonymity, PAKDD 2012 (CB).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from covey._core import kernels
from covey._core.arrays import Ints, Longs
from covey.clustering.points import numbers_alone
from covey.clustering.progress import Progress, silent, watched
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups
from covey.errors import InfeasibleError, UsageError
from covey.schema.requirements import LDiversity

Reading = Literal["tree", "ordered"]


def cb(  # noqa: PLR0913 - the options of the method
    table: EncodedTable,
    k: int,
    *,
    seed: int = 0,
    tries: int = 15,
    restarts: int = 1,
    categorical: Reading = "tree",
    l: int | None = None,  # noqa: E741 - its name everywhere
    sensitive: str | None = None,
    progress: Progress = silent,
) -> Groups:
    """Each split starts with two random rows as centres. `tries` times, every row joins the nearer
    centre, the smaller group is filled up to `k` with the rows that lose least by moving, and the
    centres move to the means and modes. The try with the least information loss is kept, over all
    `restarts`. `categorical` selects one of the two readings of the paper: distances in the `tree`,
    or categories as numbers in the order of its leaves (`ordered`). Groups have k to 2k - 1 rows.

    With `l`, both groups of a split must be 1/l-diverse in the column `sensitive` (by default the
    only sensitive column): each value in at most 1/l of the rows. Groups that cannot be split this
    way are distributed by value if that lowers the loss (section 4 of the paper, corrected).

    Time O(n log(n/k)) for even splits, O(n²/k) at worst; memory O(n).
    """
    if categorical not in get_args(Reading):
        raise UsageError(f"categorical must be one of {', '.join(get_args(Reading))}")
    if not (isinstance(tries, int) and isinstance(restarts, int) and min(tries, restarts) >= 1):
        raise UsageError("tries and restarts must be whole numbers, 1 or more")
    values, rank = _sensitive(table, l, sensitive)
    core = table.core if categorical == "tree" else _ordered(table)
    random = np.random.default_rng(seed)

    options = (k, tries, restarts, l or 0, values, rank, random)
    return Groups(watched(partial(kernels.cb, core, table.missing_at, *options), progress))


def diversity_of(options: Mapping[str, Any], sensitive: Sequence[str]) -> list[LDiversity]:
    """The requirements that these options guarantee; cb itself refuses invalid options."""
    l, named = options.get("l"), options.get("sensitive")  # noqa: E741
    on = [name for name in sensitive if named in (None, name)]
    if not isinstance(l, int) or l < 2 or len(on) != 1:
        return []
    return [LDiversity(l, on[0], "frequency")]


def _sensitive(table: EncodedTable, l: int | None, sensitive: str | None) -> tuple[Ints, Longs]:  # noqa: E741
    """The sensitive value of each row and its place in the sorted table; empty without `l`."""
    if l is None:
        return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
    if not isinstance(l, int) or l < 2:
        raise UsageError("l must be a whole number, 2 or more")
    if sensitive is None and len(table.sensitive) == 1:
        sensitive = next(iter(table.sensitive))
    if sensitive is None or sensitive not in table.sensitive:
        raise UsageError(
            "l needs a sensitive column: "
            + (f"name one of {', '.join(table.sensitive)}" if table.sensitive else "there is none")
        )
    values = table.sensitive[sensitive].values
    counts = np.bincount(values)
    if l * int(counts.max()) > table.rows:
        raise InfeasibleError(
            f"l = {l} is not possible: the most frequent value of column {sensitive!r} is in more "
            f"than 1/{l} of the rows; the largest possible l is {table.rows // int(counts.max())}"
        )
    rank = np.empty(table.rows, dtype=np.int64)
    rank[table.lexicographic] = np.arange(table.rows)
    return values, rank


def _ordered(table: EncodedTable) -> kernels.Table:
    """The table with categories as numbers, by their position among the leaves of the tree."""
    steps = [max(a.tree.leaf_count - 1, 1) for a in table.categories]
    places = table.places[:, len(table.intervals) :] / np.array(steps, dtype=np.float64)
    numbers = np.ascontiguousarray(np.hstack([table.cells.numbers, places]))
    return numbers_alone(numbers, table.weights)
