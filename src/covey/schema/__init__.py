"""What each column is: roles, types, taxonomies, and what is required of a release."""

from covey.schema.columns import (
    LARGEST,
    SMALLEST_GRID,
    Column,
    ColumnType,
    MissingPolicy,
    Require,
    Role,
    Schema,
    TableFormat,
    TaxonomyBuilder,
)

__all__ = [
    "LARGEST",
    "SMALLEST_GRID",
    "Column",
    "ColumnType",
    "MissingPolicy",
    "Require",
    "Role",
    "Schema",
    "TableFormat",
    "TaxonomyBuilder",
]
