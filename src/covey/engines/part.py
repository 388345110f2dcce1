"""One part of a table: encoded rows in, groups out. A table in memory is one part.

The groups of a part depend on its rows, in whatever order they come, on the domain and the
frequencies of the whole table, on the request and on the seed, and on nothing else. So a part can
be worked on anywhere, and again after a crash, with the same groups.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Generic, TypeVar

import numpy as np
import polars as pl

from covey._core.arrays import Longs
from covey.clustering.progress import Progress
from covey.clustering.request import Request
from covey.custody.ordering import canonical_order, keyed_order
from covey.encoding import EncodedTable, Scan
from covey.encoding.groups import LEFT_OUT, SUPPRESSED, Groups, Rings
from covey.encoding.selection import Selection
from covey.errors import InfeasibleError
from covey.repair.repair import repair
from covey.repair.sizes import large_enough
from covey.repair.surplus import without_surplus
from covey.tables.merging import FieldSums, each, unless_none

G = TypeVar("G")


def form(
    table: EncodedTable, others: pl.DataFrame, request: Request, seed: int, progress: Progress
) -> "Grouping[Groups | Rings]":
    """Groups that meet every requirement, by the frequencies of the whole table.

    The rows are first put into an order that only the holder of the secret can reproduce. `others`
    are the columns that order rows with equal quasi-identifiers.
    """
    if table.atoms is not None and (table.atoms == LEFT_OUT).any():
        stay = Selection.where(table.atoms != LEFT_OUT)
        if len(stay.rows) < request.k:
            raise InfeasibleError(
                "nobody is left to release: of everyone's classes in earlier releases, fewer than "
                "k people are still here"
            )
        some = form(table.take(stay.rows), others[stay.rows], request, seed, progress)
        return _with_outcome(table, stay.back(some.groups))
    order = Selection(keyed_order(table, others, seed), table.rows)
    rest, possible, left = without_surplus(table.take(order.rows), request)
    left = large_enough(possible, left)
    groups = left.cluster(possible, seed, progress)
    repaired = repair(possible, groups, left, seed, progress)
    return _with_outcome(table, order.then(rest).back(repaired))


def settle(
    table: EncodedTable,
    others: pl.DataFrame,
    groups: Groups,
    request: Request,
    seed: int,
    progress: Progress,
) -> "Grouping[Groups | Rings]":
    """The same groups, repaired by the frequencies of the released rows only.

    A requirement may compare groups with the distribution in the release. That distribution is
    known only when all rows to be suppressed are.
    """
    order = keyed_order(table, others, seed)
    kept = Selection(order[groups.labels[order] != SUPPRESSED], table.rows)
    some, own = table.take(kept.rows), Groups(groups.labels[kept.rows])
    found = kept.back(repair(some, own, request, seed, progress, again=True))
    return _with_outcome(table, found)


def _with_outcome(table: EncodedTable, groups: Groups | Rings) -> "Grouping[Groups | Rings]":
    if isinstance(groups, Rings):
        return Grouping(groups, Outcome(0.0, groups.suppressed, {}))
    kept = groups.labels != SUPPRESSED
    columns = {} if table.constraints is None else table.constraints.columns
    released = {
        name: np.bincount(column.values[kept], minlength=len(column.known))
        for name, column in columns.items()
        if column.totals is not None
    }
    cost = table.objective(groups) if groups.count else float("inf")
    return Grouping(groups, Outcome(cost, groups.suppressed, released))


@dataclass(frozen=True, eq=False)
class Grouping(Generic[G]):
    """Groups, or where an engine keeps those of a whole table, and their outcome."""

    groups: G
    outcome: "Outcome"


@dataclass(frozen=True, eq=False)
class Outcome(FieldSums):
    """What the groups of some rows cost and leave: outcomes of parts add up."""

    cost: float
    suppressed: int
    released: Annotated[Mapping[str, Longs], each()]  # rows with each constrained value
    # Of the released rows, where their domain is not known otherwise.
    scan: Annotated[Scan | None, unless_none()] = None


def chosen(
    request: Request,
    form: Callable[[Request], Grouping[G]],
    settle: Callable[[Grouping[G]], Grouping[G]],
) -> Grouping[G]:
    """The groups to release.

    Allowing suppression must never cost more than forbidding it. Each suppressed row lowered the
    loss, but the groups of all rows may happen to be better, or groups that met a requirement
    before may have to change. So groups of all rows are formed as well, and the cheaper ones taken.
    """
    first = form(request)
    if not (first.outcome.suppressed and (request.suppresses or request.follows)):
        return first
    repaired = settle(first) if request.relative else first
    if request.follows:
        return repaired
    try:
        whole = form(request.suppressing(0.0))
    except InfeasibleError:  # only without some rows do the others meet the requirements
        return repaired
    return min(repaired, whole, key=lambda formed: formed.outcome.cost)


def by_frequencies(table: EncodedTable, released: Mapping[str, Longs]) -> EncodedTable:
    """The table, with the frequencies of the released rows instead of those of all rows."""
    known = table.constraints
    if known is None:
        return table
    columns = {
        name: replace(column, totals=released[name]) if name in released else column
        for name, column in known.columns.items()
    }
    return replace(table, constraints=replace(known, columns=columns))


def leaving_order(
    cells: pl.DataFrame, place: Longs, carried: pl.DataFrame, ties: Longs | None = None
) -> Longs:
    """The rows to release, sorted by what is released of them.

    `place` is that of each row among the `cells` of quasi-identifiers, -1 for a row that is not
    released; `carried` are the other columns. Rows that look the same come in the order of `ties`.
    """
    shown = cells.select(pl.col(name).alias(str(i)) for i, name in enumerate(cells.columns))
    rank = shown.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64)
    own = np.where(place >= 0, rank[place], len(rank) + 1)
    rows = pl.DataFrame([pl.Series("\0class", own), *carried])
    order = canonical_order(rows, rows.columns, ties)
    return order[: np.count_nonzero(place >= 0)]
