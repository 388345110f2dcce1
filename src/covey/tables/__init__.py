"""Reading and writing: from bytes and dataframes to a `Table` of cells, and back."""

from covey.tables.formats import format_of, writer_of
from covey.tables.same import refuse_changed
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
    "format_of",
    "from_bytes",
    "original",
    "read",
    "read_bytes",
    "refuse_changed",
    "refuse_roleless",
    "tokens_of",
    "whose",
    "write",
    "writer_of",
]
