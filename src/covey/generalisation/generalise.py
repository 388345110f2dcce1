"""Generalise a table by its groups.

The attributes know how cells are spelled: `fold` finds what a group shows, `render` writes it, and
`parse` reads it back, also from tables that other software generalised.
"""

import numpy as np
import polars as pl

from covey.encoding import Attribute, EncodedTable, Style
from covey.encoding.groups import Groups, Rings
from covey.errors import SchemaError
from covey.tables import Table


def generalise(table: Table, encoded: EncodedTable, groups: Groups | Rings, style: Style) -> Table:
    """Generalise every quasi-identifier of a table, and drop the suppressed rows."""
    place = groups.place
    shown = place >= 0
    released: dict[str, list[pl.Series]] = {}
    for attribute in encoded.attributes:
        folded = attribute.fold(groups).render(groups, table.dialect, style)
        released[attribute.name] = [series.gather(place[shown]) for series in folded]
    frame = table.frame.filter(pl.Series(shown))
    columns = [series for name in frame.columns for series in released.get(name, [frame[name]])]
    _check_unique(columns)
    return table.with_frame(pl.DataFrame(columns))


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
