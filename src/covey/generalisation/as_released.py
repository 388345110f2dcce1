"""A release in the place of its original, where it is not known which rows of that were left out.

Whatever is worked out from the whole original would tell of the rows that were left out too. So
numbers and dates are the ends of the released intervals, and a tree that is made from the values
of its column is made from those that the release shows.
"""

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import polars as pl

from covey.encoding import MISSING_LEAF, Attribute, Category, EncodedTable, Interval
from covey.generalisation import HIDDEN, Nodes, Ranges, parse_rows, shown_range
from covey.schema import LARGEST, Column, TaxonomyBuilder
from covey.schema.taxonomy import ROOT, Taxonomy
from covey.tables import Table


def as_released(original: EncodedTable, released: Table) -> EncodedTable:
    """A table of the release's rows that knows nothing else of the original."""
    attributes = tuple(_attribute(attribute, released) for attribute in original.attributes)
    return EncodedTable(attributes, released.frame.height, original.measure)


def counts_leaves(attribute: Attribute) -> bool:
    """Whether it depends on the people how many values are under a label."""
    return (
        isinstance(attribute, Category)
        and attribute.column.has_own_tree
        and attribute.tree.height > 1
    )


def _attribute(attribute: Attribute, released: Table) -> Attribute:
    return (
        _interval(attribute, released)
        if isinstance(attribute, Interval)
        else _category(attribute, released)
    )


def _interval(interval: Interval, released: Table) -> Interval:
    """With the lower end of each cell as its value."""
    shown = parse_rows(interval, released)
    assert isinstance(shown, Ranges)
    low, high = shown_range(interval, shown)
    values = np.where(shown.state == HIDDEN, low, shown.low)
    return replace(interval, values=values, low=low, high=high)


def _category(category: Category, released: Table) -> Category:
    """With the first leaf under each label as its value."""
    parse_rows(category, released)  # refuses labels that nobody of the original can have
    own = replace(category, tree=_tree(category.column, released.cells(category.name)))
    shown = parse_rows(own, released)
    assert isinstance(shown, Nodes)
    ancestors = own.tree.ancestors[: own.tree.leaf_count]
    leaf, depth = np.nonzero(ancestors >= 0)
    first = np.full(len(own.tree.labels), own.tree.leaf_count, dtype=np.int32)
    np.minimum.at(first, ancestors[leaf, depth], leaf.astype(np.int32))
    return replace(own, leaves=first[shown.node])


# ── trees ───────────────────────────────────────────────────────────────────────────────────────


def _tree(column: Column, cells: pl.Series) -> Taxonomy:
    """The declared tree, or one over values that the labels show; missing is a leaf if shown."""
    values = _values(column, cells.cast(pl.String)) if column.has_own_tree else ()
    tree = column.taxonomy_over(values)
    return tree.with_leaf(MISSING_LEAF) if cells.null_count() else tree


def _values(column: Column, cells: pl.Series) -> list[str]:
    """What is shown exactly, and two that stand for the unknown ones under each other label."""
    labels = {part for cell in cells.drop_nulls().unique() for part in _members(cell)}
    root = max((label for label in labels if not label.strip(ROOT)), key=len, default=None)
    below = sorted(labels - {root})
    kind = column.taxonomy.build if isinstance(column.taxonomy, TaxonomyBuilder) else "flat"
    values = [value for label in below for value in _UNDER[kind](label)]
    return values if root is None else [*values, *_ELSEWHERE[kind](values)]


def _members(cell: str) -> list[str]:
    is_set = cell.startswith("{") and cell.endswith("}")
    return next(csv.reader([cell[1:-1]], skipinitialspace=True), []) if is_set else [cell]


_UNKNOWN = "\x00", "\x01"  # no table holds the first, and nothing is ever named after them


def _codes_under(label: str) -> list[str]:
    stem = label.rstrip(ROOT)
    stars = len(label) - len(stem)
    return [stem + sign * stars for sign in _UNKNOWN] if stars else [label]


def _numbers_under(label: str) -> list[str]:
    """The first number of an interval, and one in its middle: in another of those within it."""
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
# Two values that are under no label but the root.
_ELSEWHERE: dict[str, Callable[[list[str]], Sequence[str]]] = {
    "flat": lambda _: _UNKNOWN,
    "prefixes": lambda values: [sign * max(map(len, values), default=1) for sign in _UNKNOWN],
    "intervals": lambda _: (f"{-LARGEST:.0f}", f"{LARGEST:.0f}"),
    "dates": lambda _: ("0001-01-01", "9999-12-31"),
}
