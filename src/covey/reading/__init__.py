"""A release as its recipient reads it: without the original, its key or its schema."""

from covey.reading.comparing import utility
from covey.reading.released import ReleasedTable, RowCount, read_release

__all__ = ["ReleasedTable", "RowCount", "read_release", "utility"]
