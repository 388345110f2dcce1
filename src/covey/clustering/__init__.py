"""Clustering methods: one module per published method, named as published.

A method is a function `(table, k, *, seed, progress, …) -> Groups` that sees nothing but the
`EncodedTable`, puts every row into exactly one group of `k` or more, and gives the same labels
for the same seed. To add one, write its module and its line in `METHODS`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from covey.clustering.k_member import k_member
from covey.errors import UsageError
from covey.groups import Groups


@dataclass(frozen=True)
class Method:
    """A clustering method and what a user should know before choosing it."""

    name: str
    function: Callable[..., Groups]
    paper: str
    cost: str
    specified: bool = True  # in full by its paper; else inferred in part

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.function.__doc__ or "").strip().splitlines()[0]

    def __call__(self, *args: Any, **options: Any) -> Groups:
        """Cluster."""
        return self.function(*args, **options)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="k-member",
            function=k_member,
            paper="Byun, Kamra, Bertino, Li 2007",
            cost="time O(n²), memory O(n)",
        ),
    )
}


def method_named(name: str) -> Method:
    """The method of this name."""
    try:
        return METHODS[name]
    except KeyError:
        raise UsageError(f"there is no method {name!r}; there are {', '.join(METHODS)}") from None
