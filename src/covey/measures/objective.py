"""What methods minimise: the loss of groups by the ranges of the whole table.

One scale, whichever rows are left out, so groups of one table can be compared. It is never
published: `covey.measures.loss` measures by what a release shows.
"""

import numpy as np

from covey._core.arrays import Floats
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups


def losses_per_group(table: EncodedTable, groups: Groups) -> Floats:
    """What a row of each group would lose."""
    losses = [attribute.fold(groups).losses(table.measure) for attribute in table.attributes]
    lost: Floats = table.weights @ np.array(losses)
    return lost


def objective(table: EncodedTable, groups: Groups) -> float:
    """What all rows would lose; a suppressed one loses everything."""
    lost = float(groups.sizes @ losses_per_group(table, groups))
    return lost + groups.suppressed * float(table.weights.sum())
