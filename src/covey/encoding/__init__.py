"""From cells to arrays: all that clustering methods ever see of a table."""

from covey.encoding.attributes import Attribute, Shown, Style
from covey.encoding.categories import MISSING_LEAF, Category, Nodes
from covey.encoding.encode import EncodedTable, encode, rows_to_keep
from covey.encoding.intervals import Interval, Ranges

__all__ = [
    "MISSING_LEAF",
    "Attribute",
    "Category",
    "EncodedTable",
    "Interval",
    "Nodes",
    "Ranges",
    "Shown",
    "Style",
    "encode",
    "rows_to_keep",
]
