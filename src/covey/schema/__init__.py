"""The schema: roles, types and taxonomies of the columns, and requirements on a release."""

from covey.schema.columns import (
    BELONGS_TO,
    LARGEST,
    REMOVED,
    SMALLEST_GRID,
    Column,
    ColumnType,
    MissingPolicy,
    Require,
    Role,
    RowKind,
    Schema,
    TableFormat,
    TaxonomyBuilder,
)

__all__ = [
    "BELONGS_TO",
    "LARGEST",
    "REMOVED",
    "SMALLEST_GRID",
    "Column",
    "ColumnType",
    "MissingPolicy",
    "Require",
    "Role",
    "RowKind",
    "Schema",
    "TableFormat",
    "TaxonomyBuilder",
]
