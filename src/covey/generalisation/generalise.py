"""Generalise a table by its groups.

The attributes know how cells are spelled: `fold` finds what a group shows, `render` writes it, and
`parse` reads it back, also from tables that other software generalised.
"""

import numpy as np
import polars as pl

from covey._core.arrays import Longs
from covey.encoding import Attribute, EncodedTable, Style
from covey.encoding.groups import Groups, Rings
from covey.errors import SchemaError
from covey.tables import Table
from covey.tables.csv_files import Dialect


def generalise(table: Table, encoded: EncodedTable, groups: Groups | Rings, style: Style) -> Table:
    """Generalise every quasi-identifier of a table, and drop the suppressed rows."""
    place = groups.place
    shown = place >= 0
    cells = cells_of(encoded, groups, table.dialect, style)
    frame = table.frame.filter(pl.Series(shown))
    return table.with_frame(with_cells(frame, cells, place[shown]))


def cells_of(
    encoded: EncodedTable, groups: Groups | Rings, dialect: Dialect, style: Style
) -> dict[str, list[pl.Series]]:
    """The released cells of each quasi-identifier: a column, or two with low and high ends.

    There is one cell for each group, or for each row if its neighbours are its own.
    """
    return {
        attribute.name: attribute.fold(groups).render(groups, dialect, style)
        for attribute in encoded.attributes
    }


def with_cells(
    frame: pl.DataFrame, cells: dict[str, list[pl.Series]], place: Longs
) -> pl.DataFrame:
    """A frame with the released cells at these places instead of its quasi-identifiers."""
    gathered = {name: [one.gather(place) for one in shown] for name, shown in cells.items()}
    columns = [series for name in frame.columns for series in gathered.get(name, [frame[name]])]
    _check_unique(columns)
    return pl.DataFrame(columns)


def _check_unique(columns: list[pl.Series]) -> None:
    names = [series.name for series in columns]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SchemaError(
            f"column {twice[0]!r} already exists; rename it to release low and high ends"
        )


def filled_in(attribute: Attribute, groups: Groups | Rings) -> int:
    """Count the missing cells that show the values of other rows."""
    place = groups.place
    nobody = groups.fold(np.logical_and, attribute.absent)
    wild = attribute.matches_anything & (place >= 0)
    return int(np.count_nonzero(~nobody[place[wild]]))
