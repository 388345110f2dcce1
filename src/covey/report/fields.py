"""What the columns of a release are, and how to read their cells.

It names only what the release shows: no other value, and no count.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from covey.encoding import Centres, Nodes, Ranges
from covey.encoding.categories import members_of
from covey.encoding.intervals import HIGH, LOW
from covey.encoding.intervals import MISSING as IS_MISSING
from covey.generalisation import ShownColumn, View
from covey.measures.resolution import Resolution
from covey.report.carried import Carried
from covey.schema import ColumnType, Role, Schema
from covey.schema.taxonomy import ROOT, UNSHOWN

_ROLES = {
    Role.QUASI: "generalised, since others may know it",
    Role.SENSITIVE: "as in the original, sensitive",
    Role.INSENSITIVE: "as in the original",
}
_KINDS = {
    ColumnType.NUMERIC: "number",
    ColumnType.DATE: "date",
    ColumnType.CATEGORICAL: "category",
}


@dataclass(frozen=True)
class Field:
    """A column of a release."""

    name: str
    column: str  # of the original
    label: str  # as files of statistical programs have it
    role: str
    kind: str  # of values: number, date, category or text
    type: str  # of cells, as Table Schema names it
    reading: str  # how to read the cells
    parents: Mapping[str, str] | None = None  # of the shown labels of a declared taxonomy


def fields_of(
    view: View, carried: Carried, schema: Schema, shown: Sequence[Resolution]
) -> tuple[Field, ...]:
    """The columns of a release, in their order, without those that must be removed."""
    generalised = {column.attribute.name: column for column in view.columns}
    words = {column.column: str(column) for column in shown}
    labels = carried.some.codebook.variables

    def field(name: str, type: str) -> Field:
        own, end = _own_column(name, schema)
        role = _ROLES[schema.columns[own].role]
        if own not in generalised:
            kind = "number" if type in ("integer", "number") else "text"
            reading = "the cells of the original, unchanged; empty if missing"
            return Field(name, own, labels.get(name, ""), role, kind, type, reading)
        column = generalised[own]
        is_label = isinstance(column.shown, Nodes)
        forms = _label_forms(column) if is_label else _number_forms(column, end)
        reading = "; ".join([*forms, f"in this release {words[own]}"])
        given = schema.columns[own].type
        assert given is not None
        parents = _parents(column) if is_label else None
        return Field(name, own, labels.get(name, ""), role, _KINDS[given], type, reading, parents)

    kept = {name for name, column in schema.columns.items() if column.role in _ROLES}
    return tuple(
        field(name, type)
        for name, type in carried.types.items()
        if _own_column(name, schema)[0] in kept
    )


def _own_column(name: str, schema: Schema) -> tuple[str, str]:
    """The column of the original, and which end of its intervals this is, if it is one."""
    if name in schema.columns:
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


def _parents(column: ShownColumn) -> dict[str, str] | None:
    """The parent of each label that the release shows, in a taxonomy that the schema declares.

    A taxonomy that is built from values is built again from those that the release shows. One value
    stands for all that it does not show under a label.
    """
    assert isinstance(column.shown, Nodes)
    attribute = column.shown.attribute
    if attribute.column.has_own_tree:
        return None
    tree = attribute.tree
    cells = column.written[0].cast(pl.String).drop_nulls().to_list()
    members = {label for cell in cells if cell not in tree.node_of for label in members_of(cell)}
    shown = {*column.shown.node.tolist(), *(tree.node_of[m] for m in members if m in tree.node_of)}
    kept = np.unique(tree.ancestors[sorted(shown)])
    kept = kept[kept >= 0]
    parents = {
        tree.labels[node]: tree.labels[tree.parent[node]]
        for node in kept.tolist()
        if node != tree.root and tree.labels[node]
    }
    others = np.setdiff1d(np.arange(len(tree.labels)), kept)
    wider = np.intersect1d(tree.parent[others], kept).tolist()
    return parents | {UNSHOWN + tree.labels[node]: tree.labels[node] for node in wider}
