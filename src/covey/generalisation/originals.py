"""The original values behind each released mean or median, known from the groups alone.

It measures what a release lost. What several parts of a table have adds up.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl

from covey.encoding import Centres, EncodedTable, Shown
from covey.encoding.groups import Groups, Rings

CENTRE, ROWS, WIDTHS = "centre", "rows", "widths"


@dataclass(frozen=True, eq=False, repr=False)
class Originals:
    """The values behind the means or medians of each column that shows these."""

    cells: Mapping[str, pl.DataFrame]  # each centre, its rows, and the sum of their widths
    # The sum of squared differences between value and centre; NaN if a value has no centre.
    squares: Mapping[str, float]

    @classmethod
    def of(cls, encoded: EncodedTable, groups: Groups | Rings) -> Self:
        """The values behind the centres of these groups."""
        cells, squares = {}, {}
        rows = np.bincount(groups.place[groups.place >= 0])
        for interval in encoded.intervals:
            shown = interval.fold(groups) if interval.column.render is not None else None
            if isinstance(shown, Centres):
                frame = pl.DataFrame({CENTRE: shown.centre, ROWS: rows, WIDTHS: rows * shown.width})
                cells[interval.name] = _summed(frame)
                apart = interval.values - np.append(shown.centre, np.nan)[groups.place]
                known = (groups.place >= 0) & ~interval.absent
                squares[interval.name] = math.fsum(apart[known] ** 2)
        return cls(cells, squares)

    def __add__(self, other: "Originals") -> "Originals":
        return Originals(
            {
                name: _summed(pl.concat([one, other.cells[name]]))
                for name, one in self.cells.items()
            },
            {name: one + other.squares[name] for name, one in self.squares.items()},
        )

    def with_widths(self, shown: Shown) -> Shown:
        """Released cells with the widths behind them, if they are means or medians."""
        if not isinstance(shown, Centres) or shown.attribute.name not in self.cells:
            return shown
        known = self.cells[shown.attribute.name]
        centres = pl.DataFrame({CENTRE: shown.centre})
        joined = centres.join(known, on=CENTRE, how="left", nulls_equal=True, maintain_order="left")
        mean = (joined[WIDTHS] / joined[ROWS]).fill_null(np.nan)
        return replace(shown, width=mean.to_numpy())


def _summed(cells: pl.DataFrame) -> pl.DataFrame:
    """One line for each centre, in an order that is always the same, as are its sums."""
    ordered = cells.sort(pl.all())
    return ordered.group_by(CENTRE, maintain_order=True).agg(pl.col(ROWS, WIDTHS).sum())


NO_ORIGINALS = Originals({}, {})
