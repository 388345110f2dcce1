"""A selection of rows of a table, and the way back to the table."""

from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from covey.encoding.groups import SUPPRESSED, Groups, Rings


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

    @overload
    def back(self, groups: Groups) -> Groups: ...
    @overload
    def back(self, groups: Rings) -> Rings: ...
    @overload
    def back(self, groups: Groups | Rings) -> Groups | Rings: ...
    def back(self, groups: Groups | Rings) -> Groups | Rings:
        """Groups of these rows as groups of the table; all other rows are suppressed."""
        if isinstance(groups, Rings):
            return groups.within(self.rows, self.total)
        labels = np.full(self.total, SUPPRESSED, dtype=np.int64)
        labels[self.rows] = groups.labels
        return Groups(labels)
