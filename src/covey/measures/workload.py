"""Measure what a released table is still good for: counting people and predicting a class."""

from dataclasses import dataclass

import polars as pl

from covey._core.arrays import Longs
from covey.generalisation import View
from covey.measures.classifier import classifier_accuracy
from covey.measures.queries import query_error


@dataclass(frozen=True)
class Workload:
    """How useful a release still is; accuracies and AUCs are None without a class column."""

    query_error_median: float
    query_error_mean: float
    accuracy: float | None = None
    accuracy_original: float | None = None
    accuracy_majority: float | None = None
    auc: float | None = None
    auc_original: float | None = None


def workload(
    view: View, rows: Longs, classes: pl.Series | None, *, queries: int = 1000, seed: int = 0
) -> Workload:
    """Measure by random queries, and by a classifier if the original's `classes` are given.

    `rows` gives the original row of each released row.
    """
    errors = query_error(view, queries=queries, seed=seed)
    counted = errors.median, errors.mean
    if classes is None:
        return Workload(*counted)
    found = classifier_accuracy(view, rows, classes, seed=seed)
    return Workload(
        *(*counted, found.released, found.original, found.majority),
        *(found.auc_released, found.auc_original),
    )
