"""The risk of re-identification of a release, computed from its groups without making it."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from covey.encoding import EncodedTable
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
    label = original.classes_of(groups)[groups.labels[groups.labels >= 0]]
    order = np.argsort(label, kind="stable")
    classes = Classes(order, np.bincount(label))
    kept = pl.Series(groups.labels >= 0)
    shares = {name: Shares.of(classes, cells.filter(kept)) for name, cells in persons.items()}
    return risks_of(requirements, len(label), len(classes.sizes), classes.smallest, shares)
