"""Encoded columns in plain Python, as `covey.reference` takes them."""

from collections.abc import Iterable
from itertools import pairwise

from covey.encoding.attributes import Attribute
from covey.encoding.categories import Category
from covey.encoding.intervals import Interval
from covey.reference.model import Categorical, Column, Numeric


def plain_columns(attributes: Iterable[Attribute]) -> dict[str, Column]:
    """Convert attributes to columns of lists: numbers from 0 to 1 or None, labels of leaves."""
    columns: dict[str, Column] = {}
    for attribute in attributes:
        if isinstance(attribute, Interval):
            columns[attribute.name] = _numbers(attribute)
        elif isinstance(attribute, Category):
            columns[attribute.name] = _leaves(attribute)
    return columns


def _numbers(interval: Interval) -> Numeric:
    cells = zip(interval.scaled.tolist(), interval.absent.tolist(), strict=True)
    values = [None if absent else number for number, absent in cells]
    return Numeric(values, interval.column.weight, domain=(0.0, 1.0))


def _leaves(category: Category) -> Categorical:
    """Convert a category; missing is a leaf of its tree already, so no cell is None."""
    parent: dict[str, str] = {}  # downwards from the root, so that leaves keep their order
    for path in category.tree.paths():
        for above, child in pairwise(reversed(path)):
            parent[child] = above
    values = [category.tree.labels[leaf] for leaf in category.leaves]
    return Categorical(values, parent, category.column.weight)
