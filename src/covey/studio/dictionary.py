"""The data dictionary of a release: what each column is and how to read its cells.

It names only what the release shows: no other value, and no count.
"""

from collections.abc import Iterator
from io import BytesIO

import numpy as np
import polars as pl

from covey import tables
from covey.encoding import Centres, Interval, Nodes, Ranges
from covey.encoding.intervals import HIGH, LOW
from covey.encoding.intervals import MISSING as IS_MISSING
from covey.generalisation import ShownColumn
from covey.schema import ColumnType, Role
from covey.schema.taxonomy import ROOT
from covey.studio.pairs import Pair, numbers_in
from covey.tables import Table

HEAD = ("column", "label", "role", "type", "how to read it", "values")
Line = tuple[str, str, str, str, str, str]
_MOST = 60  # values that are listed

_ROLES = {
    Role.QUASI: "generalised, since others may know it",
    Role.SENSITIVE: "as in the original, sensitive",
    Role.INSENSITIVE: "as in the original",
}
_TYPES = {
    ColumnType.NUMERIC: "number",
    ColumnType.DATE: "date",
    ColumnType.CATEGORICAL: "category",
}


def dictionary(pair: Pair) -> tuple[Line, ...]:
    """A line for each column of the release, under `HEAD`."""
    return tuple(_line(pair, name) for name in pair.released.frame.columns)


def as_csv(lines: tuple[Line, ...]) -> bytes:
    """The dictionary as a file; text that a spreadsheet would run is written as covey writes it."""
    cells = [[cell or None for cell in line] for line in lines]
    frame = pl.DataFrame(cells, schema=dict.fromkeys(HEAD, pl.String), orient="row")
    file = BytesIO()
    tables.write(Table(frame), file, "dictionary.csv")
    return file.getvalue()


def _line(pair: Pair, name: str) -> Line:
    own, end = _whose(pair, name)
    column, codebook = pair.schema.columns[own], pair.released.codebook
    label = codebook.variables.get(name, "")
    if own not in pair.names:
        kind = "number" if numbers_in(pair.released, name) is not None else "text"
        told = "the cells of the original, unchanged; empty if missing"
        return name, label, _ROLES[column.role], kind, told, _values(pair, name)
    shown = pair.view.columns[pair.attribute(own)]
    assert column.type is not None
    told = "; ".join([*_reading(shown, end), f"in this release {_shown(pair, own)}"])
    values = _values(pair, name) if isinstance(shown.shown, Nodes) else ""
    return name, label, _ROLES[column.role], _TYPES[column.type], told, values


def _whose(pair: Pair, name: str) -> tuple[str, str]:
    """The column of the original, and which end of its intervals this is, if it is one."""
    if name in pair.schema.columns:
        return name, ""
    ends = {LOW: "lowest", HIGH: "highest"}
    return next((name.removesuffix(end), word) for end, word in ends.items() if name.endswith(end))


def _shown(pair: Pair, name: str) -> str:
    return next(str(one) for one in pair.release.report.shown if one.column == name)


def _reading(shown: ShownColumn, end: str) -> Iterator[str]:
    """How to read the forms of cells that occur."""
    if isinstance(shown.shown, Nodes):
        yield from _reading_labels(shown)
        return
    if isinstance(shown.shown, Centres):
        yield f"the {shown.shown.attribute.column.render} of the group, rounded"
        if shown.written[0].null_count():
            yield "empty means missing or not shown"
        return
    assert isinstance(shown.shown, Ranges)
    ranges, what = shown.shown, "date" if _is_date(shown) else "number"
    if end:
        yield f"the {end} {what} of the group; empty if open, missing or not shown"
        return
    bottom, top = ranges.attribute.column.bounds
    if bool(np.any(ranges.low == ranges.high)):
        yield f"a single {what} is exact"
    if bool(np.any(ranges.low < ranges.high)):
        yield f"[a, b] means one {what} from a to b, both included"
    if bool(np.any(ranges.low <= bottom) or np.any(ranges.high >= top)):
        yield '"and more", "and less", "and later" or "and earlier" leaves one end open'
    if ranges.hidden.any():
        yield f"{ROOT} means any {what}, or a missing one"
    if bool(np.any(ranges.state == IS_MISSING)):
        yield "empty means missing"


def _is_date(shown: ShownColumn) -> bool:
    assert isinstance(shown.attribute, Interval)
    return shown.attribute.is_date


def _reading_labels(shown: ShownColumn) -> Iterator[str]:
    assert isinstance(shown.shown, Nodes)
    tree, nodes = shown.shown.attribute.tree, shown.shown.node
    labels = [label for label in shown.written[0].cast(pl.String).to_list() if label is not None]
    if bool(np.any(nodes < tree.leaf_count)):
        yield "a single value is exact"
    if any(label.startswith("{") for label in labels):
        yield "{a, b} means one of these values"
    elif bool(np.any((nodes >= tree.leaf_count) & (nodes != tree.root))):
        yield "a wider label, or one that ends in *, means one of the values under it"
    if bool(np.any(nodes == tree.root)):
        yield f"{tree.labels[tree.root]} means any value, or a missing one"
    if shown.written[0].null_count():
        yield "empty means missing"


def _values(pair: Pair, name: str) -> str:
    """All values that the release shows, with their labels; nothing if they are many."""
    cells = pair.released.cells(name).drop_nulls().unique()
    if len(cells) > _MOST:
        return "many"
    meant = pair.released.codebook.values.get(name, {})
    shown = sorted(cells.cast(pl.String).to_list())
    return "; ".join(f"{one} = {meant[one]}" if one in meant else one for one in shown)
