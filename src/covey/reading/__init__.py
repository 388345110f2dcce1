"""A release as its recipient reads it: without the original, its key or its schema."""

from covey.reading.released import Counted, ReleasedTable, read_release
from covey.reading.utility import utility

__all__ = ["Counted", "ReleasedTable", "read_release", "utility"]
