"""Every error that covey raises on purpose.

::

    CoveyError
    ├── UsageError            the request cannot be carried out as given    exit 2
    │   ├── SchemaError       roles, types, options
    │   ├── TaxonomyError     a tree of values
    │   ├── TableError        a table that cannot be read as it is
    │   └── OutputError       an output that cannot be written
    └── GuaranteeError        a requirement does not hold                   exit 1
        ├── InfeasibleError   no release of this table could meet it
        └── ViolationError    this table does not meet it

A message is one line for the user: what happened, in which column, in how many rows, and what to
do. It never contains a cell's value, so that it can be logged, mailed and shown.
"""

import errno
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

Bools = Any  # a numpy array; numpy is not loaded here
E = TypeVar("E", bound="UsageError")


class CoveyError(Exception):
    """Base class of every error that covey raises on purpose."""

    def __str__(self) -> str:
        return "; ".join(str(part) for part in self.args if part)


class UsageError(CoveyError, ValueError):
    """The request cannot be carried out as given."""

    wrong: "Bools | None" = None  # the rows with wrong cells, if the error is about cells
    choices: tuple[str, ...] = ()  # the parts of a file, if one of them must be named


class SchemaError(UsageError):
    """The roles, types or options of the columns do not make sense."""


class TaxonomyError(UsageError):
    """A tree of values is not a tree, or does not cover the column."""


class TableError(UsageError):
    """The table cannot be read, or its cells do not fit the schema."""


class OutputError(UsageError):
    """The output cannot be written."""


class GuaranteeError(CoveyError):
    """A requirement on the released table does not hold."""


class InfeasibleError(GuaranteeError):
    """No release of this table could meet the requirement."""


class ViolationError(GuaranteeError):
    """This table does not meet the requirement."""


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """Format a count: `1 row`, `2 rows`, `1,000 rows`. Messages count cells, never quote them."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def listed(names: Sequence[str], most: int) -> str:
    """The first names of columns, sheets or tables: `'a', 'b' and 3 more`."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: `; did you mean 'age'?`, or nothing."""
    from difflib import get_close_matches

    folded = {other.casefold().strip(): other for other in known}
    found = get_close_matches(name.casefold().strip(), folded, n=1)
    return f"; did you mean {folded[found[0]]!r}?" if found else ""


_SIGNS_OF_TOO_LITTLE = (
    "allocate memory",
    "out of memory",
    "start new thread",
    "failed to map segment",
    "could not find/load shared object",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error comes from too little memory. Its text is read but never shown."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    text = str(error).lower()
    return any(sign in text for sign in _SIGNS_OF_TOO_LITTLE)


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
    """The error that these rows have a wrong cell in this column.

    `Table.locating` adds the place of the first such row.
    """
    error = kind(f"column {column!r}: {count(int(wrong.sum()), 'row')} {what}", remedy)
    error.wrong = wrong
    return error
