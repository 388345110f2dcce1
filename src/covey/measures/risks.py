"""The risk of re-identification of a release, computed from its groups without making it."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from covey._core.arrays import Longs
from covey.encoding import Centres, EncodedTable, Nodes, Ranges, Shown
from covey.encoding.groups import Groups
from covey.schema.requirements import Requirement
from covey.verification import Risks
from covey.verification.checks import risks_of
from covey.verification.classes import Classes
from covey.verification.judged import Shares


def risks_of_groups(
    original: EncodedTable,
    groups: Groups,
    requirements: Sequence[Requirement],
    persons: Mapping[str, pl.Series],
) -> Risks:
    """What the verifier would find for a release of these groups.

    `persons` identify the person of each row of the original, if a requirement counts persons.
    """
    label = _class_of_each(original, groups)[groups.labels[groups.labels >= 0]]
    order = np.argsort(label, kind="stable")
    classes = Classes(order, np.bincount(label))
    kept = pl.Series(groups.labels >= 0)
    shares = {name: Shares.of(classes, cells.filter(kept)) for name, cells in persons.items()}
    return risks_of(requirements, len(label), len(classes.sizes), classes.smallest, shares)


def _class_of_each(original: EncodedTable, groups: Groups) -> Longs:
    """The class of each group: groups that show the same cells are one class."""
    shown = [_keys(attribute.fold(groups)) for attribute in original.attributes]
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
