"""How many people two releases in the register share, by the hashes of who they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from covey.custody.footprints import NOBODY
from covey.custody.hashes import Hashes


@dataclass(frozen=True)
class Overlap:
    """The people of two releases. Fewer than k are never counted exactly."""

    earlier: str
    later: str
    people: int | None  # 0 if none; None if they are few or unknown
    fewer_than: int | None = None  # if they are few

    @property
    def is_unknown(self) -> bool:
        """Whether the people of one of them cannot be recognised."""
        return self.people is None and self.fewer_than is None

    @property
    def shown(self) -> str:
        """The number of people, as far as it is shown."""
        if self.fewer_than is not None:
            return f"< {self.fewer_than:,}"
        return "unknown" if self.is_unknown else f"{self.people:,}"

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return {"earlier": self.earlier, "later": self.later, "people": self.people,
                "fewer_than": self.fewer_than}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Overlaps:
    """All releases of a register, oldest first, and who is in them."""

    ks: Mapping[str, int]  # by release
    people: Mapping[str, Sequence[Hashes]]  # by release: of each column that says who is who

    @cached_property
    def ids(self) -> list[str]:
        """The releases, oldest first."""
        return [*self.ks]

    def of(self, earlier: str, later: str) -> Overlap:
        """The people of two releases; with several columns, those of the one that finds most."""
        pairs = [(a, b) for a in self.people[earlier] for b in self.people[later]]
        if not pairs:
            return Overlap(earlier, later, None)
        shared = max(int(_among(a, b).sum()) for a, b in pairs)
        k = max(self.ks[earlier], self.ks[later])
        if 0 < shared < k:
            return Overlap(earlier, later, None, k)
        return Overlap(earlier, later, shared)

    def having(self, people: Sequence[Hashes]) -> list[str]:
        """The releases that have any of these people, by any of their columns."""
        ours = [np.unique(some[some != NOBODY]) for some in people]
        return [
            id_
            for id_, theirs in self.people.items()
            if any(_among(a, b).any() for a in ours for b in theirs)
        ]

    def before(self, later: str) -> list[Overlap]:
        """What a release shares with each earlier one, oldest first."""
        return [self.of(earlier, later) for earlier in self.ids[: self.ids.index(later)]]

    def latest(self, later: str) -> Overlap | None:
        """What a release shares with the latest earlier one that has, or may have, its people."""
        found = [overlap for overlap in self.before(later) if overlap.people != 0]
        known = [overlap for overlap in found if not overlap.is_unknown]
        return next(reversed(known or found), None)


def _among(some: Hashes, others: Hashes) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether each of the sorted hashes is among the others, sorted too."""
    place = np.searchsorted(others, some)
    found: np.ndarray[Any, np.dtype[np.bool_]] = others[np.minimum(place, len(others) - 1)] == some
    return found
