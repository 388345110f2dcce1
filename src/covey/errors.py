"""Every error that covey raises on purpose.

::

    CoveyError
    ├── UsageError            what was asked cannot be done as asked        exit 2
    │   ├── SchemaError       roles, types, options
    │   ├── TaxonomyError     a tree of values
    │   ├── TableError        a table that cannot be read as it is
    │   └── OutputError       a place that cannot be written
    └── GuaranteeError        the promise does not hold                     exit 1
        ├── InfeasibleError   no release of this table could keep it
        └── ViolationError    this table does not keep it

A message is one line for the person at the keyboard: what, which column, how many rows, what to
do. It never holds a cell's value, so that it can be logged, mailed and shown.
"""

from typing import Any, TypeVar

Bools = Any  # an array of numpy, which is not loaded here
E = TypeVar("E", bound="UsageError")


class CoveyError(Exception):
    """The root of the tree."""

    def __str__(self) -> str:
        return "; ".join(str(part) for part in self.args if part)


class UsageError(CoveyError, ValueError):
    """What was asked cannot be done as it was asked."""

    wrong: "Bools | None" = None  # which rows have the cells that it is about, if it is about any


class SchemaError(UsageError):
    """The roles, types or options of the columns do not make sense."""


class TaxonomyError(UsageError):
    """A tree of values is not a tree, or does not cover the column."""


class TableError(UsageError):
    """The table cannot be read, or its cells do not fit the schema."""


class OutputError(UsageError):
    """The place to write to cannot be written."""


class GuaranteeError(CoveyError):
    """A promise about the released table is not kept."""


class InfeasibleError(GuaranteeError):
    """No release of this table could keep the promise."""


class ViolationError(GuaranteeError):
    """This table does not keep the promise."""


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """`1 row`, `2 rows`, `1,000 rows`: messages count, they do not quote."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


THIN_SPACE = "\u2009"  # before a percent sign


def percent(share: float) -> str:
    """`34.2 %`: a share for people to read, in which 0.0 means nothing and 100.0 everything."""
    shown = f"{100 * round(share, 4):.1f}"  # from the digits that reports publish
    exact = round(share, 9)  # sums of floats miss 1 by less
    if shown == "0.0" and exact > 0:
        shown = "< 0.1"
    elif shown == "100.0" and exact < 1:
        shown = "> 99.9"
    return f"{shown}{THIN_SPACE}%"


def about_cells(kind: type[E], column: str, wrong: Bools, what: str, remedy: str = "") -> E:
    """The error that these rows have a cell in this column that is not as it should be.

    Whoever knows the table that they are from adds the place of the first one: `covey.tables`.
    """
    error = kind(f"column {column!r}: {count(int(wrong.sum()), 'row')} {what}", remedy)
    error.wrong = wrong
    return error
