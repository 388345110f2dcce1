"""Bytes and dataframes in, a `Table` of cells, and bytes and dataframes out."""

from covey.tables.table import (
    Table,
    check_roles,
    from_bytes,
    original,
    read,
    read_bytes,
    refuse_roleless,
    tokens_of,
    whose,
    write,
)

__all__ = [
    "Table",
    "check_roles",
    "from_bytes",
    "original",
    "read",
    "read_bytes",
    "refuse_roleless",
    "tokens_of",
    "whose",
    "write",
]
