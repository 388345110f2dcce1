"""Encoded columns in plain Python, as `covey.reference` takes them."""

import math
from collections.abc import Iterable
from itertools import pairwise

from covey.encoding.attributes import Attribute
from covey.encoding.categories import Category
from covey.encoding.intervals import Interval
from covey.reference.model import Categorical, Column, Numeric


def plain_columns(attributes: Iterable[Attribute]) -> dict[str, Column]:
    """Convert attributes to columns of lists: numbers from 0 to 1 or None, labels of leaves."""
    return {attribute.name: _column(attribute) for attribute in attributes}


def _column(attribute: Attribute) -> Column:
    if isinstance(attribute, Interval):
        numbers = [None if math.isnan(number) else number for number in attribute.scaled.tolist()]
        return Numeric(numbers, attribute.column.weight, domain=(0.0, 1.0))
    assert isinstance(attribute, Category)
    return _leaves(attribute)


def _leaves(category: Category) -> Categorical:
    """Convert a category; missing is a leaf of its tree already, so no cell is None."""
    parent: dict[str, str] = {}  # downwards from the root, so that leaves keep their order
    for path in category.tree.paths():
        for above, child in pairwise(reversed(path)):
            parent[child] = above
    values = [category.tree.labels[leaf] for leaf in category.leaves]
    return Categorical(values, parent, category.column.weight)
