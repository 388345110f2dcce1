"""Reading and writing: from bytes and dataframes to a `Table` of cells, and back."""

from covey.tables.formats import format_of, writer_of
from covey.tables.same import refuse_changed
from covey.tables.table import (
    Table,
    check_roles,
    from_bytes,
    original,
    owners,
    read,
    read_bytes,
    refuse_roleless,
    tokens_of,
    write,
)

__all__ = [
    "Table",
    "check_roles",
    "format_of",
    "from_bytes",
    "original",
    "owners",
    "read",
    "read_bytes",
    "refuse_changed",
    "refuse_roleless",
    "tokens_of",
    "write",
    "writer_of",
]
