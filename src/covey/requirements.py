"""What a release must keep: parameters only, judged by `covey.verification`."""

from dataclasses import dataclass
from operator import index
from typing import SupportsIndex

from covey.errors import SchemaError


@dataclass(frozen=True)
class KAnonymity:
    """Every row is equal to at least `k - 1` others in all its quasi-identifiers.

    Samarati, Sweeney: Protecting privacy when disclosing information, 1998.
    """

    k: int

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, SupportsIndex):
            raise SchemaError("k must be a whole number")
        object.__setattr__(self, "k", index(self.k))
        if self.k < 2:
            raise SchemaError(f"k must be at least 2, not {self.k}: k = 1 hides nobody")


Requirement = KAnonymity
