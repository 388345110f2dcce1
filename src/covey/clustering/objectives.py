"""What the groups of the covey method are formed for: the loss, or what else a user measures by.

The method minimises a sum of three terms over its groups: the loss of their rows, their rows
outside the most frequent class, and the squares of their sizes. An objective gives each its weight.
For declared uses, columns that they need weigh more in the loss.
Squared distances to means are another matter, with a search of their own: see `microaggregation`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from covey.encoding import EncodedTable
from covey.encoding.groups import Groups
from covey.errors import UsageError, nearest

Name = Literal["loss", "sse", "discernibility", "classification", "uses"]
Aims: TypeAlias = str | Mapping[str, float]  # the name of an objective, or weights of several

# The weight of the loss where it is not asked for. It decides between groups that are otherwise
# equal: groups that show different cells stay classes of their own.
_TIE = 1e-4


@dataclass(frozen=True)
class Objective:
    """What groups cost: the weight of each term."""

    loss: float = 1.0  # of all cells, each times the weight of its column
    sse: float = 0.0  # squared distances to the means of groups, in standard deviations
    discernibility: float = 0.0  # a row in a group of 2k rows costs 1, in one of 3k rows 2
    classification: float = 0.0  # a row outside the most frequent class of its group costs 1
    uses: float = 0.0  # of cells in the columns of declared uses, each times the share of uses

    @classmethod
    def of(cls, aims: Aims) -> "Objective":
        """From a name, or from several with their weights."""
        weights = {aims: 1.0} if isinstance(aims, str) else dict(aims)
        names = get_args(Name)
        for name, weight in weights.items():
            if name not in names:
                raise UsageError(
                    f"there is no objective {name!r} among {', '.join(names)}{nearest(name, names)}"
                )
            if not isinstance(weight, int | float) or not 0 < weight <= 1e6:
                raise UsageError(f"the weight of {name!r} must be above 0 and at most 1,000,000")
        if not weights:
            raise UsageError(f"an objective is one of {', '.join(names)}, or several with weights")
        if "sse" in weights and len(weights) > 1:
            raise UsageError("the objective 'sse' cannot be combined with others")
        return cls(**{"loss": 0.0, **{name: float(weight) for name, weight in weights.items()}})

    @property
    def _of_loss(self) -> float:
        """The weight of the loss where another objective is in units of it."""
        return self.loss or _TIE

    @property
    def penalty(self) -> float:
        """The price, in units of loss, of a row outside the most frequent class of its group."""
        return self.classification / self._of_loss

    @property
    def evenness(self) -> float:
        """The price, in units of loss, of a row in a group of 2k rows."""
        return self.discernibility / self._of_loss

    @property
    def is_discernibility(self) -> bool:
        """Whether the sizes of classes alone count."""
        return not (self.loss or self.sse or self.classification or self.uses)

    def weighed(self, table: EncodedTable) -> EncodedTable:
        """The table with weights by which its loss is that of both, of all cells and for uses."""
        more = self.uses / self._of_loss
        return table.weighing({n: 1 + more * part for n, part in table.needed.items() if more})

    def cost(self, table: EncodedTable, groups: Groups) -> float:
        """The cost of the classes that these groups form in a release of the weighed table."""
        total = 0.0
        if self.loss or self.uses:
            total += self._of_loss * float(groups.sizes @ table.losses(groups))
        own = table.classes_of(groups)
        sizes = np.bincount(own, groups.sizes)
        total += self.discernibility * float(sizes @ sizes)
        if self.classification and table.classes is not None:
            kept = groups.labels >= 0
            counts = np.zeros((len(sizes), int(table.classes.max(initial=0)) + 1))
            np.add.at(counts, (own[groups.labels[kept]], table.classes[kept]), 1)
            total += self.classification * float((sizes - counts.max(axis=1)).sum())
        return total


def read(written: str) -> Aims:
    """An objective as the command line has it: a name, or `loss=1,classification=0.5`."""
    if "=" not in written:
        return written
    parts = [part.partition("=") for part in written.split(",")]
    try:
        return {name.strip(): float(weight) for name, _, weight in parts}
    except ValueError:
        raise UsageError("write objectives with weights as loss=1,classification=0.5") from None


LOSS = Objective()
