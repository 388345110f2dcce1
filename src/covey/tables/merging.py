"""Add up what was found in the batches of a table."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import cache, reduce
from operator import add
from typing import Any, Protocol, Self, TypeVar, get_type_hints

Rule = Callable[[Any, Any], Any]


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


class FieldSums:
    """A dataclass that adds up field by field: by the rule beside the type of a field, or by +."""

    def __add__(self, other: Self) -> Self:
        kind: Any = type(self)
        rules = _rules(kind).items()
        merged = {name: by(getattr(self, name), getattr(other, name)) for name, by in rules}
        return replace(self, **merged)  # type: ignore[type-var]


@cache
def _rules(kind: Any) -> dict[str, Rule]:
    hints = get_type_hints(kind, include_extras=True)
    own = {name: getattr(hint, "__metadata__", (add,))[0] for name, hint in hints.items()}
    return {each.name: own[each.name] for each in fields(kind)}


def each(rule: Rule = add) -> Rule:
    """Merge two mappings key by key."""

    def merged(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> dict[Any, Any]:
        both = {key: rule(one[key], other[key]) for key in one.keys() & other.keys()}
        return {**one, **other, **both}

    return merged


def unless_none(rule: Rule = add) -> Rule:
    """Merge two values; the result is None if one of them is."""
    return lambda one, other: None if one is None or other is None else rule(one, other)
