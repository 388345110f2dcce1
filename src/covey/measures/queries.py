"""Measure the error of counts over a release.

Counts are estimated as an analyst of the release would: all values that a cell covers are equally
likely.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from covey._core.arrays import Floats, Longs
from covey.encoding import Attribute, EncodedTable
from covey.errors import UsageError
from covey.generalisation import View
from covey.measures.spans import Spans, original_spans, released_spans

SANITY = 0.001  # share of all rows: the error of a smaller true count is divided by this


@dataclass(frozen=True)
class QueryError:
    """The error of counts over a release, relative to the true counts."""

    queries: int
    median: float
    mean: float


class Query(NamedTuple):
    """A query: how many rows lie between these ends in all of these columns?"""

    columns: tuple[int, ...]  # indices of the attributes, ascending
    ends: tuple[tuple[float, float], ...]  # leaves by their places


def query_error(
    view: View,
    *,
    queries: int = 1000,
    attributes: int = 2,
    selectivity: float = 0.1,
    seed: int = 0,
) -> QueryError:
    """The relative errors of counts over the release, for random queries.

    A query has `attributes` quasi-identifiers, each with a range of values. If values were evenly
    distributed, a share of about `selectivity` of the rows would lie in all of its ranges (Xiao
    and Tao 2006). The error is divided by the true count, or by 0.1 % of the rows if that is more
    (Xiao, Wang, Gehrke 2011). The same seed gives the same queries.
    """
    original, classes = view.row_by_row.original, view.classes
    drawn = random_queries(original, queries, attributes, selectivity, seed)
    true = answers(original_spans(original), np.ones(original.rows, dtype=np.int64), drawn)
    estimated = answers(released_spans(view.columns, classes.indices), classes.sizes, drawn)
    errors = np.abs(estimated - true) / np.maximum(true, SANITY * original.rows)
    return QueryError(len(drawn), float(np.median(errors)), float(np.mean(errors)))


def random_queries(
    original: EncodedTable, queries: int, attributes: int, selectivity: float, seed: int
) -> list[Query]:
    """Draw ranges between values that occur, all ranges of a column with equally many values."""
    if queries < 1 or attributes < 1 or not 0 < selectivity <= 1 or seed < 0:
        raise UsageError(
            "queries and attributes must be at least 1, selectivity must be above 0 and at most 1, "
            "and the seed must be at least 0"
        )
    random = np.random.default_rng(seed)
    values = [_values(attribute) for attribute in original.attributes]
    usable = [place for place, distinct in enumerate(values) if len(distinct)]
    width = selectivity ** (1 / max(min(attributes, len(usable)), 1))

    def ends(distinct: Floats) -> tuple[float, float]:
        many = int(np.ceil(len(distinct) * width))
        first = int(random.integers(len(distinct) - many + 1))
        return float(distinct[first]), float(distinct[first + many - 1])

    drawn = []
    for _ in range(queries):
        chosen = sorted(random.permutation(usable)[:attributes].tolist())
        drawn.append(Query(tuple(chosen), tuple(ends(values[place]) for place in chosen)))
    return drawn


def _values(attribute: Attribute) -> Floats:
    """The values that occur."""
    values = np.unique(attribute.values).astype(np.float64)
    return values[~np.isnan(values)]


def answers(spans: Sequence[Spans], rows: Longs, queries: Sequence[Query]) -> Floats:
    """The expected number of rows of each query, each cell counting by its share in the range.

    Queries on the same columns are answered together, from the distinct rows of these columns.
    """
    found = np.empty(len(queries))
    for named in sorted({query.columns for query in queries}):
        cells, counts = _distinct_rows([spans[place].cell for place in named], rows)
        for number, query in enumerate(queries):
            if query.columns == named:
                share = counts
                for place, cell, ends in zip(named, cells, query.ends, strict=True):
                    share = share * spans[place].shares(*ends)[cell]
                found[number] = share.sum()
    return found


def _distinct_rows(cells: list[Longs], rows: Longs) -> tuple[list[Longs], Floats]:
    """The distinct rows and their counts, sorted so that sums are reproducible."""
    frame = pl.DataFrame({str(place): cell for place, cell in enumerate(cells)})
    if not cells:
        return [], rows.astype(np.float64)
    counted = frame.with_columns(rows=rows).group_by(frame.columns).sum().sort(frame.columns)
    return (
        [counted[name].to_numpy() for name in frame.columns],
        counted["rows"].cast(pl.Float64).to_numpy(),
    )
