"""Add up what was found in the batches of a table."""

from collections.abc import Iterable
from functools import reduce
from typing import Any, Protocol, TypeVar


class Mergeable(Protocol):
    """A value that adds up in any order, always to the same."""

    def __add__(self, other: Any, /) -> Any: ...


M = TypeVar("M", bound=Mergeable)


def merged(parts: Iterable[M]) -> M | None:
    """The sum; None if there are no parts.

    Sums of equally many parts are added, so each part takes part in few additions, and only a few
    sums are in memory at any time.
    """
    sums: list[M] = []
    for number, part in enumerate(parts, 1):
        sums.append(part)
        for _ in range((number & -number).bit_length() - 1):  # as a binary number is counted up
            sums[-2:] = [sums[-2] + sums[-1]]
    return reduce(lambda later, before: before + later, reversed(sums)) if sums else None


def total(parts: Iterable[M]) -> M:
    """The sum of at least one part."""
    found = merged(parts)
    assert found is not None
    return found
