"""The objective that methods minimise: the loss of groups by the ranges of the whole table.

The scale does not depend on the suppressed rows, so different groupings of a table can be compared.
The objective is never published: `covey.measures.loss` measures by what a release shows.
"""

import numpy as np

from covey._core.arrays import Floats
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups


def losses_per_group(table: EncodedTable, groups: Groups) -> Floats:
    """The loss of a row in each group."""
    losses = [attribute.fold(groups).losses(table.measure) for attribute in table.attributes]
    lost: Floats = table.weights @ np.array(losses)
    return lost


def objective(table: EncodedTable, groups: Groups) -> float:
    """The loss of all rows; a suppressed row loses everything."""
    lost = float(groups.sizes @ losses_per_group(table, groups))
    return lost + groups.suppressed * float(table.weights.sum())
