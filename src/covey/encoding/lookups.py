"""Labels as numbers, so that what depends on a label is worked out once for all rows with it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray


def as_labels(cells: pl.Series) -> pl.Series:
    """Cells as labels, each stored once and otherwise a number: there are few different ones."""
    if cells.dtype == pl.Categorical:
        return cells
    return cells.cast(pl.String).cast(pl.Categorical)


def lookup(labels: pl.Series, values: Callable[[list[str]], NDArray[Any]], missing: Any) -> Any:
    """An array with a value for each row, found by its label once for all rows with it."""
    known = labels.drop_nulls().unique()
    found = values(known.cast(pl.String).to_list())
    codes = known.to_physical().to_numpy().astype(np.int64)
    table = np.empty((int(codes.max(initial=0)) + 2, *found.shape[1:]), dtype=found.dtype)
    table[-1] = missing
    table[codes] = found
    return table[labels.to_physical().fill_null(len(table) - 1).to_numpy()]
