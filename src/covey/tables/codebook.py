"""Labels of columns and of codes, as files of statistical programs hold them.

A cell stays a code; what the code means is in the codebook. A dictionary of labels may name people
who are not in the table, so a table keeps only the labels of cells that it shows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl


@dataclass(frozen=True)
class Codebook:
    """Labels of variables, and of values by the text of their cells."""

    variables: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.variables or self.values)

    def of(self, frame: pl.DataFrame) -> "Codebook":
        """The labels of the columns and cells of this frame, and no others."""
        shown = {
            name: {code: label for code, label in labels.items() if code in present}
            for name, labels in self.values.items()
            if name in frame.columns
            for present in (set(as_codes(frame[name].unique())),)
        }
        return Codebook(
            {name: label for name, label in self.variables.items() if name in frame.columns},
            {name: labels for name, labels in shown.items() if labels},
        )


def as_codes(cells: pl.Series) -> pl.Series:
    """The text of each cell as a codebook spells it: a whole number has no decimals."""
    if not cells.dtype.is_float():
        return cells.cast(pl.String)
    return cells.cast(pl.String).str.strip_suffix(".0")
