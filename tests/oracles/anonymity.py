"""How anonymous a published table is (specification 0.5: every class has at least k rows)."""

from collections.abc import Sequence
from typing import TypeAlias

Row: TypeAlias = tuple[object, ...]


def check_widths(rows: Sequence[Row]) -> None:
    """Raise unless all rows have the same number of columns."""
    if len({len(row) for row in rows}) > 1:
        raise ValueError("the rows have different widths")


def matches(one: Row, other: Row) -> bool:
    """Tell whether two rows agree in every column where both are present."""
    pairs = zip(one, other, strict=True)
    return all(a is None or b is None or a == b for a, b in pairs)


def smallest_class(rows: Sequence[Row]) -> int:
    """Return the size of the smallest set of equal rows; None equals only None. 0 if empty."""
    check_widths(rows)
    return min((sum(1 for other in rows if other == row) for row in rows), default=0)


def smallest_match(rows: Sequence[Row]) -> int:
    """Return the least number of rows, itself included, that a row matches; None matches all."""
    check_widths(rows)
    return min((sum(1 for other in rows if matches(row, other)) for row in rows), default=0)
