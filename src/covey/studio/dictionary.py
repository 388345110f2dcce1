"""The data dictionary of a release: what each column is and how to read its cells.

It names only what the release shows: no other value, and no count.
"""

from collections.abc import Iterator
from io import BytesIO

import numpy as np
import polars as pl

from covey import tables
from covey.encoding import Centres, Nodes, Ranges
from covey.encoding.intervals import HIGH, LOW
from covey.encoding.intervals import MISSING as IS_MISSING
from covey.generalisation import ShownColumn
from covey.schema.taxonomy import ROOT
from covey.studio.pairs import Pair, numbers_in
from covey.studio.ui import WORDS
from covey.tables import Table

HEAD = ("column", "label", "role", "type", "how to read it", "values")
Entry = tuple[str, str, str, str, str, str]
_MOST = 60  # values that are listed

_WORDS = WORDS["dictionary"]


def dictionary(pair: Pair) -> tuple[Entry, ...]:
    """An entry for each column of the release, under `HEAD`."""
    return tuple(_entry(pair, name) for name in pair.released.frame.columns)


def as_csv(entries: tuple[Entry, ...]) -> bytes:
    """The dictionary as a file; text that a spreadsheet would run is written as covey writes it."""
    cells = [[cell or None for cell in entry] for entry in entries]
    frame = pl.DataFrame(cells, schema=dict.fromkeys(HEAD, pl.String), orient="row")
    file = BytesIO()
    tables.write(Table(frame), file, "dictionary.csv")
    return file.getvalue()


def _entry(pair: Pair, name: str) -> Entry:
    own, end = _own_column(pair, name)
    column = pair.schema.columns[own]
    label, role = pair.released.codebook.variables.get(name, ""), _WORDS["roles"][column.role]
    if own not in pair.names:
        kind = "number" if numbers_in(pair.released, name) is not None else "text"
        reading = "the cells of the original, unchanged; empty if missing"
        return name, label, role, kind, reading, _values(pair, name)
    shown = pair.shown(own)
    forms = _label_forms(shown) if isinstance(shown.shown, Nodes) else _number_forms(shown, end)
    what = next(str(each) for each in pair.release.report.shown if each.column == own)
    reading = "; ".join([*forms, f"in this release {what}"])
    values = _values(pair, name) if isinstance(shown.shown, Nodes) else ""
    assert column.type is not None
    return name, label, role, _WORDS["types"][column.type], reading, values


def _own_column(pair: Pair, name: str) -> tuple[str, str]:
    """The column of the original, and which end of its intervals this is, if it is one."""
    if name in pair.schema.columns:
        return name, ""
    ends = {LOW: "lowest", HIGH: "highest"}
    return next((name.removesuffix(end), word) for end, word in ends.items() if name.endswith(end))


def _number_forms(column: ShownColumn, end: str) -> Iterator[str]:
    """How to read the forms of cells of numbers and dates that occur."""
    if isinstance(column.shown, Centres):
        yield f"the {column.attribute.column.render} of the group, rounded"
        if column.written[0].null_count():
            yield "empty means missing or not shown"
        return
    ranges = column.shown
    assert isinstance(ranges, Ranges)
    what = "date" if ranges.attribute.is_date else "number"
    if end:
        yield f"the {end} {what} of the group; empty if open, missing or not shown"
        return
    bottom, top = ranges.attribute.column.bounds
    if np.any(ranges.low == ranges.high):
        yield f"a single {what} is exact"
    if np.any(ranges.low < ranges.high):
        yield f"[a, b] means one {what} from a to b, both included"
    if np.any(ranges.low <= bottom) or np.any(ranges.high >= top):
        yield '"and more", "and less", "and later" or "and earlier" leaves one end open'
    if ranges.hidden.any():
        yield f"{ROOT} means any {what}, or a missing one"
    if np.any(ranges.state == IS_MISSING):
        yield "empty means missing"


def _label_forms(column: ShownColumn) -> Iterator[str]:
    """How to read the forms of labels that occur."""
    assert isinstance(column.shown, Nodes)
    tree, nodes = column.shown.attribute.tree, column.shown.node
    if np.any(nodes < tree.leaf_count):
        yield "a single value is exact"
    if column.written[0].cast(pl.String).str.starts_with("{").any():
        yield "{a, b} means one of these values"
    elif np.any((nodes >= tree.leaf_count) & (nodes != tree.root)):
        yield "a wider label, or one that ends in *, means one of the values under it"
    if np.any(nodes == tree.root):
        yield f"{tree.labels[tree.root]} means any value, or a missing one"
    if column.written[0].null_count():
        yield "empty means missing"


def _values(pair: Pair, name: str) -> str:
    """All values that the release shows, with their labels; nothing if they are many."""
    cells = pair.released.cells(name).drop_nulls().unique()
    if len(cells) > _MOST:
        return "many"
    labels = pair.released.codebook.values.get(name, {})
    shown = sorted(cells.cast(pl.String).to_list())
    return "; ".join(f"{cell} = {labels[cell]}" if cell in labels else cell for cell in shown)
