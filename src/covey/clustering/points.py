"""Rows as points with numbers alone, for what computes with squared distances."""

import math

import numpy as np

from covey._core import kernels
from covey._core.arrays import Floats
from covey.encoding import EncodedTable

_ASIDE = 3.0  # standard deviations between missing numbers and all others
_LANES = 4  # the kernel adds up so many coordinates side by side


def points_of(table: EncodedTable) -> Floats:
    """The rows as points; squared distances add up over the columns, each times its weight.

    A number is in standard deviations from the mean of its column. Missing ones stand aside in a
    coordinate of their own. A category has a coordinate for each node above it, so that the squared
    distance of two is the loss of their common ancestor.
    """
    columns: list[Floats] = []
    for interval in table.intervals:
        weight = math.sqrt(interval.column.weight)
        columns.append(weight * np.nan_to_num(standardised(interval.values)))
        if interval.absent.any():
            columns.append(weight * _ASIDE * interval.absent.astype(np.float64))
    nodes = table.features[:, 2 * len(table.intervals) :]
    columns += [np.sqrt(column) for column in nodes.T if column.any()]
    points = np.zeros((table.rows, -(-max(len(columns), 1) // _LANES) * _LANES))
    for place, column in enumerate(columns):
        points[:, place] = column
    return points


def standardised(values: Floats) -> Floats:
    """Values in standard deviations from their mean, both summed exactly; NaN stays."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return values - values
    centred = values - math.fsum(known) / len(known)
    squares = centred[~np.isnan(centred)] ** 2
    deviation = math.sqrt(math.fsum(squares) / (len(known) - 1))
    return centred / deviation if deviation else centred * 0.0


def numbers_alone(numbers: Floats, weights: Floats) -> kernels.Table:
    """The kernels' table of rows that have numbers and no categories."""
    none = EncodedTable((), len(numbers))
    return kernels.Table(numbers, weights, none.cells.codes, *none.forest)
