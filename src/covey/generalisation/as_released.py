"""Rebuild an attribute from the release alone, instead of from the original.

Numbers and dates come from the ends of the released intervals. A tree that is built from values is
built from those that the release shows.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import polars as pl

from covey._core.arrays import Longs
from covey.encoding import MISSING_LEAF, Centres, Nodes, Ranges, Shown
from covey.encoding.categories import members_of
from covey.schema import LARGEST, Column, TaxonomyBuilder
from covey.schema.taxonomy import ROOT, UNSHOWN, Taxonomy
from covey.tables.csv_files import Dialect


def as_released(shown: Shown, rows: Longs, written: Sequence[pl.Series], dialect: Dialect) -> Shown:
    """The `written` cells, with an attribute that is rebuilt from these cells alone.

    It has one value for each cell, the first that the cell covers. `rows` have each cell.
    """
    if isinstance(shown, Ranges | Centres):
        own = shown.on_shown_scale(rows)
        first = own.low if isinstance(own, Ranges) else own.centre
        values = np.where(own.hidden, own.attribute.low, first)
        return replace(own, attribute=replace(own.attribute, values=values))
    assert isinstance(shown, Nodes)
    tree = tree_of_labels(shown.attribute.column, written[0])
    nodes = replace(shown.attribute, tree=tree).parse(written, dialect)
    return replace(nodes, attribute=replace(nodes.attribute, values=tree.first_leaf[nodes.node]))


# ── trees ───────────────────────────────────────────────────────────────────────────────────────


def tree_of_labels(column: Column, cells: pl.Series) -> Taxonomy:
    """The declared tree, or one over the values in the labels; missing is a leaf if it occurs."""
    values = _values(column, cells.cast(pl.String)) if column.has_own_tree else ()
    tree = column.taxonomy_over(values)
    return tree.with_leaf(MISSING_LEAF) if cells.null_count() else tree


def _values(column: Column, cells: pl.Series) -> list[str]:
    """The values that are shown exactly, and two unknown values under every other label.

    Members of a set are values, even if they are spelled like a root.
    """
    whole = set(cells.drop_nulls().unique())
    members = {cell: members_of(cell) for cell in whole}
    in_sets = {value for cell, values in members.items() if values != [cell] for value in values}
    labels = {cell for cell, values in members.items() if values == [cell]} - in_sets
    root = max((label for label in labels if not label.strip(ROOT)), key=len, default=None)
    kind = column.taxonomy.build if isinstance(column.taxonomy, TaxonomyBuilder) else "flat"
    values = [
        value
        for label in sorted(labels - {root} | in_sets)
        for value in ([label] if label in in_sets else _UNDER[kind](label))
    ]
    return values if root is None else [*values, *_ELSEWHERE[kind](values)]


UNKNOWN = UNSHOWN, "\x01"  # no text shows either


def _codes_under(label: str) -> list[str]:
    stem = label.rstrip(ROOT)
    stars = len(label) - len(stem)
    return [stem + sign * stars for sign in UNKNOWN] if stars else [label]


def _numbers_under(label: str) -> list[str]:
    """The first and the middle number of an interval, so that both of its halves occur."""
    ends = re.fullmatch(r"\[(\S+), (\S+)[\])]", label)
    if ends is None:
        return [label]
    low, high = Decimal(ends[1]), Decimal(ends[2]) + label.endswith("]")
    middle = (low + high) / 2
    return [f"{low:f}", f"{middle // 1 if label.endswith(']') else middle:f}"]


def _days_under(label: str) -> list[str]:
    if quarter := re.fullmatch(r"([0-9]{4})-Q([1-4])", label):
        return [f"{quarter[1]}-{3 * int(quarter[2]) - step:02}-01" for step in (2, 0)]
    ends = {4: ("-01-01", "-12-01"), 7: ("-01", "-02")}  # years and months, by their length
    return [label + end for end in ends.get(len(label), ("",))]


_UNDER: dict[str, Callable[[str], list[str]]] = {
    "flat": lambda label: [label],
    "prefixes": _codes_under,
    "intervals": _numbers_under,
    "dates": _days_under,
}
# Two values that are under no label except the root.
_ELSEWHERE: dict[str, Callable[[list[str]], Sequence[str]]] = {
    "flat": lambda _: UNKNOWN,
    "prefixes": lambda values: [sign * max(map(len, values), default=1) for sign in UNKNOWN],
    "intervals": lambda _: (f"{-LARGEST:.0f}", f"{LARGEST:.0f}"),
    "dates": lambda _: ("0001-01-01", "9999-12-31"),
}
