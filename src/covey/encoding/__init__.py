"""From cells to arrays: all that clustering methods ever see of a table."""

from covey.encoding.encode import (
    MISSING_AT,
    MISSING_LEAF,
    Attribute,
    Category,
    EncodedTable,
    Interval,
    encode,
    matches_anything,
    parse_dates,
    parse_numbers,
    rows_to_keep,
)

__all__ = [
    "MISSING_AT",
    "MISSING_LEAF",
    "Attribute",
    "Category",
    "EncodedTable",
    "Interval",
    "encode",
    "matches_anything",
    "parse_dates",
    "parse_numbers",
    "rows_to_keep",
]
