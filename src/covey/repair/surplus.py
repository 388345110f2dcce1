"""Rows to suppress so that the remaining rows can meet the requirements.

A table may miss a requirement by a few rows: if at most half of the patients may share a diagnosis,
one patient too many makes it impossible. Counts show which values have too many rows. Of these, the
rows that are least like their neighbours are suppressed, since they cost most.
"""

import math
from dataclasses import replace

import numpy as np

from covey._core.arrays import Floats, Ints, Longs
from covey.clustering.request import Request
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups
from covey.encoding.imputation import blocks_of, typical
from covey.encoding.selection import Selection
from covey.errors import InfeasibleError, count


def without_surplus(
    table: EncodedTable, request: Request
) -> tuple[Selection, EncodedTable, Request]:
    """The rows that can meet the constraints: which, the rows themselves, and the request for them.

    The surplus counts towards the rows that the request allows to suppress.
    """
    allowed = request.allowed(table.rows)
    extra = surplus(table, request.k, allowed)
    rest = Selection.where(~np.isin(np.arange(table.rows), extra))
    if rest.is_all:
        return rest, table, request
    left = request.suppressing((allowed - len(extra)) / len(rest.rows))
    return rest, table.take(rest.rows), left


def surplus(table: EncodedTable, k: int, most: int) -> Longs:
    """The rows without which the others can meet the constraints, if there are at most `most`.

    They are the fewest possible if one requirement is missed, or several on one column that concern
    all values. If requirements on several columns are missed, rows whose values are too frequent in
    several of them go first.
    """
    if table.constraints is None or not table.constraints.missed:
        return np.empty(0, dtype=np.int64)
    refusal = table.constraints.refusal(table.constraints.missed[0])
    rows = _surplus(table, k)
    if rows is None:
        raise InfeasibleError(refusal)
    if len(rows) > most:
        share = math.ceil(len(rows) / table.rows * 10_000) / 10_000
        raise InfeasibleError(
            f"{refusal}. Without {count(len(rows), 'row')} it would be possible: the covey method "
            f"suppresses them with max_suppressed = {share:g}"
        )
    return rows


def _surplus(table: EncodedTable, k: int) -> Longs | None:
    assert table.constraints is not None
    kept, constraints = np.arange(table.rows), table.constraints
    losses: Floats | None = None
    while missed := constraints.missed:
        excess = constraints.excess(missed[0])
        if excess is None or len(kept) - excess.sum() < k:
            return None
        if losses is None:
            losses = _expected_losses(table, k)
        # How many missed requirements each row contributes to.
        others = [(one, constraints.excess(one)) for one in missed[1:]]
        concerned = np.zeros(len(kept), dtype=np.int64)
        for one, more in others:
            if more is not None:
                concerned += more[constraints.values_of(one)] > 0
        order = np.lexsort((-losses[kept], -concerned))
        place = _first_of_each(constraints.values_of(missed[0])[order], excess)
        kept = np.delete(kept, order[place])
        constraints = table.constraints.take(kept)
    return np.setdiff1d(np.arange(table.rows), kept)


def _first_of_each(values: Ints, rows: Longs) -> Longs:
    """The places of the first occurrences of each value, this many rows each."""
    order = np.argsort(values, kind="stable")
    own = values[order]
    counts = np.bincount(own, minlength=len(rows))
    nth = np.arange(len(own)) - (np.cumsum(counts) - counts)[own]
    return order[nth < rows[own]]


def _expected_losses(table: EncodedTable, k: int) -> Floats:
    """The loss of each row in a group with a typical neighbour."""
    table = table.without_gaps
    both = [
        replace(row, values=np.concatenate([row.values, neighbour.values]))
        for row, neighbour in zip(
            table.attributes, typical(table, blocks_of(table, 2 * k)), strict=True
        )
    ]
    pairs = EncodedTable(tuple(both), 2 * table.rows, table.measure)
    return pairs.losses(Groups(np.tile(np.arange(table.rows), 2)))
