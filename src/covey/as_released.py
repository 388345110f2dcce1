"""A release in the place of its original, where it is not known which rows of that were left out.

Whatever is worked out from the whole original would tell of the rows that were left out too. So
numbers and dates are the ends of the released intervals, and a tree that is made from the values
of its column has the shape that the released labels show.
"""

from dataclasses import replace

import numpy as np
import polars as pl

from covey.encoding import MISSING_LEAF, Attribute, Category, EncodedTable, Interval
from covey.generalisation import HIDDEN, Nodes, Ranges, parse_rows, shown_range
from covey.schema import TaxonomyBuilder
from covey.tables import Table
from covey.taxonomy import ROOT, Taxonomy


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
    own = replace(category, tree=_tree(category, released.cells(category.name)))
    shown = parse_rows(own, released)
    assert isinstance(shown, Nodes)
    ancestors = own.tree.ancestors[: own.tree.leaf_count]
    leaf, depth = np.nonzero(ancestors >= 0)
    first = np.full(len(own.tree.labels), own.tree.leaf_count, dtype=np.int32)
    np.minimum.at(first, ancestors[leaf, depth], leaf.astype(np.int32))
    return replace(own, leaves=first[shown.node])


def _tree(category: Category, cells: pl.Series) -> Taxonomy:
    """Missing is a leaf if it is shown, and a code that is longer than all labels is none."""
    leaves = [leaf for leaf in category.tree.leaves if leaf != MISSING_LEAF]
    source = category.column.taxonomy
    if isinstance(source, TaxonomyBuilder) and source.build == "prefixes":
        labels = [cell for cell in cells.unique().drop_nulls() if cell.strip(ROOT)]
        longest = max(map(len, labels), default=max(map(len, leaves), default=0))
        leaves = [leaf for leaf in leaves if len(leaf) <= longest]
    tree = category.column.taxonomy_over(leaves)
    return tree.with_leaf(MISSING_LEAF) if cells.null_count() else tree
