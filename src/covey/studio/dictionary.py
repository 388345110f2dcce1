"""The data dictionary of a release: what each column is and how to read its cells.

It names only what the release shows: no other value, and no count.
"""

from io import BytesIO

import polars as pl

from covey import tables
from covey.report.fields import Field
from covey.studio.pairs import Pair
from covey.tables import Table

HEAD = ("column", "label", "role", "type", "how to read it", "values")
Entry = tuple[str, str, str, str, str, str]
_MOST = 60  # values that are listed


def dictionary(pair: Pair) -> tuple[Entry, ...]:
    """An entry for each column of the release, under `HEAD`."""
    return tuple(_entry(pair, field) for field in pair.release.report.fields)


def as_csv(entries: tuple[Entry, ...]) -> bytes:
    """The dictionary as a file; text that a spreadsheet would run is written as covey writes it."""
    cells = [[cell or None for cell in entry] for entry in entries]
    frame = pl.DataFrame(cells, schema=dict.fromkeys(HEAD, pl.String), orient="row")
    file = BytesIO()
    tables.write(Table(frame), file, "dictionary.csv")
    return file.getvalue()


def _entry(pair: Pair, field: Field) -> Entry:
    is_interval = field.column in pair.names and field.kind != "category"
    values = "" if is_interval else _values(pair, field.name)
    return field.name, field.label, field.role, field.kind, field.reading, values


def _values(pair: Pair, name: str) -> str:
    """All values that the release shows, with their labels; nothing if they are many."""
    cells = pair.released.cells(name).drop_nulls().unique()
    if len(cells) > _MOST:
        return "many"
    labels = pair.released.codebook.values.get(name, {})
    shown = sorted(cells.cast(pl.String).to_list())
    return "; ".join(f"{cell} = {labels[cell]}" if cell in labels else cell for cell in shown)
