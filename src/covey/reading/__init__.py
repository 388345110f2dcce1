"""A release as its recipient reads it: without the original, its key or its schema."""

from covey.reading.released import Counted, ReleasedTable, read_release
from covey.reading.rubin import Combined, combine

__all__ = ["Combined", "Counted", "ReleasedTable", "combine", "read_release"]
