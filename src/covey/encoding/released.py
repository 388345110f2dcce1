"""The classes that groups form in a release: groups that show the same cells are one class."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from covey._core.arrays import Longs
from covey.encoding.attributes import Shown
from covey.encoding.categories import Nodes
from covey.encoding.encode import EncodedTable
from covey.encoding.groups import Groups
from covey.encoding.intervals import Centres, Ranges


def classes_of(table: EncodedTable, groups: Groups) -> Longs:
    """The class of each group, numbered from 0."""
    shown = [_keys(attribute.fold(groups)) for attribute in table.attributes]
    arrays = [array for keys in shown for array in keys]
    cells = pl.DataFrame({str(place): array for place, array in enumerate(arrays)})
    numbered = cells.select(pl.struct(pl.all()).rank("dense") - 1).to_series()
    return numbered.cast(pl.Int64).to_numpy()


def _keys(shown: Shown) -> Sequence[np.ndarray]:
    """Arrays that are equal for two groups only if both show the same cell."""
    if isinstance(shown, Ranges):
        return [np.nan_to_num(shown.low), np.nan_to_num(shown.high), shown.state]
    if isinstance(shown, Centres):
        return [np.nan_to_num(shown.centre), np.isnan(shown.centre)]
    assert isinstance(shown, Nodes)
    return [shown.node]
