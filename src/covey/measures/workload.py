"""What a released table is still good for: counting people, and predicting a class."""

from dataclasses import dataclass

import polars as pl

from covey._core.arrays import Longs
from covey.generalisation import View
from covey.measures.classifier import classifier_accuracy
from covey.measures.queries import query_error


@dataclass(frozen=True)
class Workload:
    """What a release is still good for; accuracies are None where no class column is named."""

    query_error_median: float
    query_error_mean: float
    accuracy: float | None = None
    accuracy_original: float | None = None
    accuracy_majority: float | None = None


def workload(
    view: View, rows: Longs, classes: pl.Series | None, *, queries: int = 1000, seed: int = 0
) -> Workload:
    """By random queries, and by a classifier of the `classes` of the original if there are any.

    `rows` names the original row behind each released one.
    """
    errors = query_error(view, queries=queries, seed=seed)
    counted = errors.median, errors.mean
    if classes is None:
        return Workload(*counted)
    found = classifier_accuracy(view, rows, classes, seed=seed)
    return Workload(*counted, found.released, found.original, found.majority)
