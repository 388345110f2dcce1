"""Clustering methods: one module per published method, named as published.

A method is a function `(table, k, *, seed, progress, …) -> Groups` that sees nothing but the
`EncodedTable`, puts every row into exactly one group of `k` or more, and gives the same labels
for the same seed. To add one, write its module and its line in `METHODS`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from covey.clustering.cb import cb, diversity_of
from covey.clustering.covey import covey, keep_demands, refined
from covey.clustering.gaa_cp import gaa_cp
from covey.clustering.ikac import ikac
from covey.clustering.k_member import k_member
from covey.clustering.kaca import kaca
from covey.clustering.kacpc import kacpc
from covey.clustering.mdav import mdav
from covey.clustering.mondrian import mondrian
from covey.clustering.nh import nh
from covey.clustering.oka import oka
from covey.clustering.systematic import systematic
from covey.clustering.wf_c_means import wf_c_means
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups, Rings
from covey.errors import InfeasibleError, UsageError, count
from covey.schema.requirements import Requirement

__all__ = ["METHODS", "Method", "keep_demands", "method_named", "refined", "refuse_infeasible"]


@dataclass(frozen=True)
class Method:
    """A clustering method and what a user should know before choosing it."""

    name: str
    function: Callable[..., Groups | Rings]
    paper: str
    cost: str
    summary: str = ""  # else the first line of the function's docstring
    specified: bool = True  # in full by its paper; else inferred in part
    alike: bool = True  # whether the rows of a group are shown alike, as k-anonymity has it
    # What its groups keep besides k, by the options that it is given and the sensitive columns.
    keeps: Callable[[Mapping[str, Any], Sequence[str]], Sequence[Requirement]] | None = None

    def __post_init__(self) -> None:
        said = self.summary or (self.function.__doc__ or "").strip().partition("\n")[0]
        object.__setattr__(self, "summary", said)

    def __call__(self, table: EncodedTable, k: int, **options: Any) -> Groups | Rings:
        """Cluster."""
        refuse_infeasible(table.rows, k)
        return self.function(table, k, **options)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="covey",
            function=covey,
            summary="Partition the rows by growing groups and forming neighbouring ones anew while "
            "that pays.",
            paper="covey's own",
            cost="near-linear",
        ),
        Method(
            name="k-member",
            function=k_member,
            summary="Partition the rows by growing one group of `k` at a time.",
            paper="Byun, Kamra, Bertino, Li 2007",
            cost="near-linear, O(n²) at worst",
        ),
        Method(
            name="cb",
            function=cb,
            summary="Partition the rows by 2-means, again and again, until no group has 2k rows.",
            paper="He, Chen, Chen, Dong, Wang, Huang 2012",
            cost="O(n log(n/k)), O(n²/k) at worst",
            keeps=diversity_of,
        ),
        Method(
            name="kacpc",
            function=kacpc,
            summary="Partition the rows by gathering `k` around each of a chain of central rows.",
            paper="Wang, He, Zhu 2022",
            cost="O(n²/k)",
        ),
        Method(
            name="mondrian",
            function=mondrian,
            summary="Partition the rows by cutting the widest attribute at its median, again and "
            "again.",
            paper="LeFevre, DeWitt, Ramakrishnan 2006",
            cost="O(n log n)",
        ),
        Method(
            name="mdav",
            function=mdav,
            summary="Partition the rows by grouping those furthest from the average row with their "
            "nearest.",
            paper="Domingo-Ferrer, Torra 2005",
            cost="near-linear, O(n²) at worst",
        ),
        Method(
            name="oka",
            function=oka,
            summary="Partition the rows by one pass of k-means and an adjustment of the sizes.",
            paper="Lin, Wei 2008",
            cost="near-linear, O(n²/k) at worst",
            specified=False,
        ),
        Method(
            name="ikac",
            function=ikac,
            summary="Partition the rows by gathering `k` around each of a chain of far-off rows.",
            paper="Zheng, Wang, Lv, Zhao 2018",
            cost="O(n²/k)",
            specified=False,
        ),
        Method(
            name="gaa-cp",
            function=gaa_cp,
            summary="Partition the rows by growing groups from random rows, all nearest ones "
            "joining at once.",
            paper="Jiang, Zeng, Ma 2017",
            cost="near-linear, O(n²) at worst",
            specified=False,
        ),
        Method(
            name="kaca",
            function=kaca,
            summary="Partition the rows by merging random small classes of equal rows with their "
            "closest.",
            paper="Li, Wong, Fu, Pei 2006",
            cost="O(E²), E distinct rows",
            specified=False,
        ),
        Method(
            name="nh",
            function=nh,
            summary="Put the rows into rings in which each is shown with `k` neighbours: no equal "
            "rows.",
            paper="Wong, Mamoulis, Cheung 2010",
            cost="O(n log(n/k) + nk), O(n²/k) at worst",
            specified=False,
            alike=False,
        ),
        Method(
            name="wf-c-means",
            function=wf_c_means,
            summary="Partition the rows by C-means whose attributes get weights, and merge classes "
            "of too few.",
            paper="Chiu, Tsai 2007",
            cost="near-linear, O(n²/k) at worst",
            specified=False,
        ),
        Method(
            name="systematic",
            function=systematic,
            summary="Partition the rows by growing groups from every k-th row of the sorted table.",
            paper="Kabir, Wang, Bertino 2011",
            cost="near-linear, O(n²) at worst",
            specified=False,
        ),
    )
}
"""Time is told by the rows n; memory grows with n, and with the size of the trees."""


def refuse_infeasible(rows: int, k: int) -> None:
    """No grouping of fewer than `k` rows has groups of `k`."""
    if not 1 <= k <= rows:
        raise InfeasibleError(
            f"k = {k:,} cannot be had: it needs at least {k:,} rows, and the table has "
            f"{count(rows, 'row')}"
        )


def method_named(name: str) -> Method:
    """The method of this name."""
    try:
        return METHODS[name]
    except KeyError:
        raise UsageError(f"there is no method {name!r}; there are {', '.join(METHODS)}") from None
