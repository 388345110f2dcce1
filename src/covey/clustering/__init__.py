"""Clustering methods: one module per published method, named as published.

A method is a function `(table, k, *, seed, progress, …) -> Groups` that sees nothing but the
`EncodedTable`, puts every row into exactly one group of `k` or more, and gives the same labels
for the same seed. To add one, write its module and its line in `METHODS`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from covey.clustering.k_member import k_member
from covey.encoding import EncodedTable
from covey.errors import InfeasibleError, UsageError, count
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

    def __call__(self, table: EncodedTable, k: int, **options: Any) -> Groups:
        """Cluster."""
        refuse_infeasible(table.rows, k)
        return self.function(table, k, **options)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="k-member",
            function=k_member,
            paper="Byun, Kamra, Bertino, Li 2007",
            cost="near-linear time, O(n²) at worst; memory O(n)",
        ),
    )
}


def refuse_infeasible(rows: int, k: int) -> None:
    """No grouping of fewer than `k` rows has groups of `k`."""
    if not 1 <= k <= rows:
        raise InfeasibleError(
            f"k = {k:,} cannot be had: it needs at least {k:,} rows, and there are "
            f"{count(rows, 'row')}"
        )


def method_named(name: str) -> Method:
    """The method of this name."""
    try:
        return METHODS[name]
    except KeyError:
        raise UsageError(f"there is no method {name!r}; there are {', '.join(METHODS)}") from None
