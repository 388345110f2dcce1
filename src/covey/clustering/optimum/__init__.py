"""How little any groups can lose: the least loss of a small table, or a bound below it.

A bound follows from each row and its nearest ones (`rows`). Of a small table, `partitions` finds
the least loss itself, or a bound near it, with the simplex method (`simplex`).
"""

import math

from covey.clustering.optimum.partitions import least_of_partitions
from covey.clustering.optimum.rows import least_of_rows
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups


def least_loss(table: EncodedTable, groups: Groups, k: int) -> float | None:
    """A loss that no grouping into groups of at least k can go below; at most that of the groups.

    All rows are in these groups. The better they are, the sooner a bound near their loss is found.
    None if missing cells match anything: these have no cost of their own. 0 if none is found.
    """
    if any(attribute.matches_anything.any() for attribute in table.attributes):
        return None
    rows = least_of_rows(table, k)
    losses = table.losses(groups)[groups.labels]
    return max(math.fsum(rows), least_of_partitions(table, k, rows, losses))
