"""A selection of rows of a table, and the way back to the table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.encoding.groups import SUPPRESSED, AnyGroups, Groups, Rings


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Some of the `total` rows of a table, in any order."""

    rows: NDArray[np.int64]
    total: int

    @classmethod
    def where(cls, chosen: NDArray[np.bool_]) -> "Selection":
        """The chosen rows, in the table's order."""
        return cls(np.flatnonzero(chosen), len(chosen))

    @classmethod
    def released(cls, groups: Groups | Rings) -> "Selection":
        """The rows that are in a group."""
        return cls.where(groups.labels != SUPPRESSED)

    @property
    def is_all(self) -> bool:
        """Whether all rows are selected."""
        return len(self.rows) == self.total

    def of(self, values: Any) -> Any:
        """The entries of an array or column of the table for these rows."""
        return values[self.rows]

    def then(self, inner: "Selection") -> "Selection":
        """A selection among these rows, as a selection of the table."""
        return Selection(self.rows[inner.rows], self.total)

    def back(self, groups: AnyGroups) -> AnyGroups:
        """Groups of these rows as groups of the table; all other rows are suppressed."""
        return groups.within(self.rows, self.total)
