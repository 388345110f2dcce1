"""Add up what was found in the batches of a table."""

from collections.abc import Iterable
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
    sums: list[tuple[int, M]] = []  # with the number of their parts, ever fewer
    for part in parts:
        sums.append((1, part))
        while len(sums) > 1 and sums[-2][0] <= sums[-1][0]:
            _add_last_two(sums)
    while len(sums) > 1:
        _add_last_two(sums)
    return sums[0][1] if sums else None


def total(parts: Iterable[M]) -> M:
    """The sum of at least one part."""
    found = merged(parts)
    assert found is not None
    return found


def _add_last_two(sums: list[tuple[int, M]]) -> None:
    (many, last), (more, before) = sums.pop(), sums.pop()
    sums.append((more + many, before + last))
