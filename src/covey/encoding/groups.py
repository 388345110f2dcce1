"""Groups: which rows are released together."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from covey.errors import UsageError

SUPPRESSED = -1
LEFT_OUT = -2  # among atoms: a row whose person could not be hidden from earlier releases


@dataclass(frozen=True, eq=False)
class Groups:
    """One label per row: 0 … `count` - 1, or -1 for a suppressed row."""

    labels: NDArray[np.int64]

    def __init__(self, labels: Sequence[int] | NDArray[np.integer]) -> None:
        frozen = np.array(labels, dtype=np.int64)
        if frozen.ndim != 1 or (frozen.size and frozen.min() < SUPPRESSED):
            raise UsageError("labels must be one whole number per row, -1 or more")
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
        """Size of the smallest group, 0 if there is none."""
        return int(self.sizes.min()) if self.count else 0

    @property
    def place(self) -> NDArray[np.int64]:
        """The position of each row in the result of `fold`."""
        return self.labels

    @cached_property
    def by_group(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows sorted by group, and where each group begins."""
        order = np.argsort(self.labels, kind="stable")[self.suppressed :]
        return order, np.cumsum(self.sizes) - self.sizes

    def fold(self, by: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Combine the values of each group's rows by a function such as `np.add`."""
        order, begin = self.by_group
        folded: NDArray[Any] = by.reduceat(values[order], begin)
        return folded

    def within(self, rows: NDArray[np.int64], total: int) -> "Groups":
        """The same groups in a larger table, where their rows are `rows`."""
        labels = np.full(total, SUPPRESSED, dtype=np.int64)
        labels[rows] = self.labels
        return Groups(labels)

    def released(self) -> "Groups":
        """The same groups in the table without suppressed rows."""
        return Groups(self.labels[self.labels != SUPPRESSED]) if self.suppressed else self

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return (
            f"Groups({len(self):,} rows in {self.count:,} groups of {self.smallest:,} or more, "
            f"{self.suppressed:,} suppressed)"
        )


@dataclass(frozen=True, eq=False)
class Rings:
    """Rows that are each generalised with their own set of neighbours.

    The rows of a ring form a circle. Each is shown as the generalisation of `k` neighbours that
    include it, starting `shift` places before it. So each row fits `k` shown rows, and no one can
    find out which of them is its own unless they know the secret shifts.
    """

    k: int
    order: NDArray[np.int64]  # the rows, ring by ring, in the order of the circle
    begin: NDArray[np.int64]  # where each ring begins in `order`, and the end
    shift: NDArray[np.int64]  # of each ring, 0 … k - 1
    rows: int  # of the table; those in no ring are suppressed

    def __post_init__(self) -> None:
        once = len(np.unique(self.order)) == len(self.order)
        ends = len(self.begin) == len(self.shift) + 1 and self.begin[0] == 0
        whole = ends and self.begin[-1] == len(self.order) and (np.diff(self.begin) > 0).all()
        inside = ((self.shift >= 0) & (self.shift < self.k)).all()
        known = ((self.order >= 0) & (self.order < self.rows)).all()
        if not (once and whole and inside and known):
            raise UsageError("rings must have every row once, and shifts from 0 to k - 1")

    @property
    def count(self) -> int:
        """Number of rings."""
        return len(self.shift)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows in each ring."""
        return np.diff(self.begin)

    @property
    def smallest(self) -> int:
        """Size of the smallest ring, 0 if there is none."""
        return int(self.sizes.min()) if self.count else 0

    @property
    def suppressed(self) -> int:
        """Number of rows in no ring."""
        return self.rows - len(self.order)

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """The ring of each row, -1 for none."""
        labels = np.full(self.rows, SUPPRESSED, dtype=np.int64)
        labels[self.order] = np.repeat(np.arange(self.count), self.sizes)
        return labels

    def member(self, step: int) -> NDArray[np.int64]:
        """For each row of `order`, the row `step` places after the first of its neighbours."""
        sizes, begin = np.repeat(self.sizes, self.sizes), np.repeat(self.begin[:-1], self.sizes)
        shift = np.repeat(self.shift, self.sizes)
        return self.order[begin + (np.arange(len(self.order)) - begin - shift + step) % sizes]

    @property
    def place(self) -> NDArray[np.int64]:
        """The position of each row in the result of `fold`."""
        place = np.full(self.rows, SUPPRESSED, dtype=np.int64)
        place[self.order] = np.arange(len(self.order))
        return place

    def fold(self, by: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Combine the values of the `k` rows that each row is shown with.

        Neighbours are folded in twos, then in fours and so on, and runs of k are composed of
        these, so `by` must be associative.
        """
        sizes, begin = np.repeat(self.sizes, self.sizes), np.repeat(self.begin[:-1], self.sizes)
        place = np.arange(len(self.order)) - begin
        start = begin + (place - np.repeat(self.shift, self.sizes)) % sizes
        run, width, done = values[self.order], 1, 0  # of `width` rows from each place on
        folded: NDArray[Any] | None = None
        while True:
            if self.k & width:
                part = run[begin + (start - begin + done) % sizes]
                folded = part if folded is None else by(folded, part)
                done += width
            if 2 * width > self.k:
                assert folded is not None
                return folded
            run = by(run, run[begin + (place + width) % sizes])
            width *= 2

    def within(self, rows: NDArray[np.int64], total: int) -> "Rings":
        """The same rings in a larger table, where their rows are `rows`."""
        return Rings(self.k, rows[self.order], self.begin, self.shift, total)

    def released(self) -> "Rings":
        """The same rings in the table without suppressed rows."""
        order = np.searchsorted(np.sort(self.order), self.order)
        return Rings(self.k, order, self.begin, self.shift, len(order))

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return f"Rings({self.rows:,} rows in {self.count:,} rings of {self.smallest:,} or more)"


AnyGroups = TypeVar("AnyGroups", Groups, Rings, Groups | Rings)
