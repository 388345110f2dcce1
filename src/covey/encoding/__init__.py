"""From cells to arrays: all that clustering methods ever see of a table."""

from covey.encoding.attributes import Attribute, Shown, Style
from covey.encoding.categories import MISSING_LEAF, Category, Nodes
from covey.encoding.domain import Domain, Scan, ValueCounts
from covey.encoding.encode import EncodedTable, encode, encode_values
from covey.encoding.intervals import Centres, Interval, Ranges
from covey.encoding.tally import Tally
from covey.encoding.values import Values, rows_to_keep

__all__ = [
    "MISSING_LEAF",
    "Attribute",
    "Category",
    "Centres",
    "Domain",
    "EncodedTable",
    "Interval",
    "Nodes",
    "Ranges",
    "Scan",
    "Shown",
    "Style",
    "Tally",
    "ValueCounts",
    "Values",
    "encode",
    "encode_values",
    "rows_to_keep",
]
