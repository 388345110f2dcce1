"""Which rows hide together."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from covey.errors import UsageError

SUPPRESSED = -1


@dataclass(frozen=True, eq=False)
class Groups:
    """One label per row: 0 … `count` - 1, or -1 for a row that is left out of the release."""

    labels: NDArray[np.int64]

    def __init__(self, labels: Sequence[int] | NDArray[np.integer]) -> None:
        frozen = np.array(labels, dtype=np.int64)
        if frozen.ndim != 1 or (frozen.size and frozen.min() < SUPPRESSED):
            raise UsageError("labels are one whole number per row, -1 or more")
        frozen.setflags(write=False)
        object.__setattr__(self, "labels", frozen)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Rows in each group."""
        return np.bincount(self.labels[self.labels != SUPPRESSED])

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.sizes)

    @property
    def suppressed(self) -> int:
        """Number of rows in no group."""
        return int(np.count_nonzero(self.labels == SUPPRESSED))

    @property
    def smallest(self) -> int:
        """Size of the smallest group, 0 where there is none."""
        return int(self.sizes.min()) if self.count else 0

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return (
            f"Groups({len(self):,} rows in {self.count:,} groups of {self.smallest:,} or more, "
            f"{self.suppressed:,} suppressed)"
        )
