"""Some rows of a table, and the way back to it."""

from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from covey.encoding.groups import SUPPRESSED, Groups, Rings


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Rows of a table of `total`, in an order of their own."""

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
        """Whether no row is left out."""
        return len(self.rows) == self.total

    def of(self, values: Any) -> Any:
        """What an array or a column of the table has for these rows."""
        return values[self.rows]

    def then(self, inner: "Selection") -> "Selection":
        """Rows of these rows, as rows of the table."""
        return Selection(self.rows[inner.rows], self.total)

    @overload
    def back(self, groups: Groups) -> Groups: ...
    @overload
    def back(self, groups: Rings) -> Rings: ...
    @overload
    def back(self, groups: Groups | Rings) -> Groups | Rings: ...
    def back(self, groups: Groups | Rings) -> Groups | Rings:
        """Groups of these rows as groups of the table; all its other rows are left out."""
        if isinstance(groups, Rings):
            return groups.within(self.rows, self.total)
        labels = np.full(self.total, SUPPRESSED, dtype=np.int64)
        labels[self.rows] = groups.labels
        return Groups(labels)
