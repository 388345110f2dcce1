"""Whether the first line of a CSV file names the columns, or is somebody's record.

A record taken for names would be published as such, so a first line that looks like the others is
refused until somebody says what it is. Column by column, its cell is compared with those below:

- it speaks for a record where it is one of them, a number or a date among such, or written like
  nearly all of them (an address, a code);
- it speaks for a header where it is a word above numbers or dates, is none of a few values that
  repeat, or is written otherwise than nearly all of them.

What may be chance counts half: a number above numbers may be a year, and a value that does not
repeat may be rare. Names that are numbers, such as years, count on: 2019, 2020, 2021.
"""

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

ROWS_LOOKED_AT = 10_000
_NEARLY_ALL = 0.9
_REPEATED = 0.5  # distinct values over rows, at most
_ENOUGH = 8  # rows that tell how a column is written

_NUMBER = r"^\s*[+-]?([0-9]+([.,][0-9]*)*|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*$"
_DATE = r"^\s*[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}([ T][0-9:.+Z-]+)?\s*$"


def looks_like_a_record(first: Sequence[str], rest: pl.DataFrame, missing: Sequence[str]) -> bool:
    """Whether the first line is more like those below it than like names of columns."""
    rest = rest.head(ROWS_LOOKED_AT)
    if not rest.height:
        return False
    counting = _count_on(first)
    votes = 0
    for cell, column in zip(first, rest, strict=True):
        present = column.filter(~column.is_in(list(missing)) & (column.str.strip_chars() != ""))
        if len(present) and not (counting and _is_number(cell)):
            votes += _vote(cell, present)
    return votes > 0


def _vote(cell: str, below: pl.Series) -> int:
    """Above 0 for a record, below for a header."""
    if _share(below, _DATE) >= _NEARLY_ALL:
        return 2 if _fits(cell, _DATE) else -2
    if _share(below, _NUMBER) >= _NEARLY_ALL:
        if not _is_number(cell):
            return -2
        return 0 if _is_far_off(cell, below) else 1
    if (below == cell).any():
        return 2
    if len(below) < _ENOUGH:
        return 0
    if below.n_unique() <= _REPEATED * len(below):
        return -1
    usual, times = _shapes(below).value_counts(sort=True).row(0)
    if times < _NEARLY_ALL * len(below) or usual in _WORDS:
        return 0
    return 2 if _shapes(pl.Series([cell]))[0] == usual else -2


def _share(cells: pl.Series, pattern: str) -> float:
    return int(cells.str.contains(pattern).sum()) / len(cells)


def _fits(cell: str, pattern: str) -> bool:
    return bool(pl.Series([cell]).str.contains(pattern)[0])


def _is_number(cell: str) -> bool:
    return _fits(cell, _NUMBER)


def _is_far_off(cell: str, below: pl.Series) -> bool:
    """A number as far from all others as those are from each other, as 2019 is from shares."""
    numbers = below.str.strip_chars().str.replace(",", ".", literal=True).cast(float, strict=False)
    low, high = numbers.min(), numbers.max()
    number = pl.Series([cell]).str.strip_chars().str.replace(",", ".", literal=True)
    value = number.cast(float, strict=False)[0]
    if value is None or not isinstance(low, float) or not isinstance(high, float) or low == high:
        return False
    return bool(value < low - (high - low) or value > high + (high - low))


def _shapes(cells: pl.Series) -> pl.Series:
    """How texts are written: letters as a, digits as 9, runs of each as one; signs as they are."""
    letters = cells.str.replace_all(r"\p{L}+", "a")
    return letters.str.replace_all(r"[0-9]+", "9").str.replace_all(r"\s+", " ").alias("shape")


_WORDS = ("a", "a a", "a a a", "a a a a")  # as names of columns are written, too


def _count_on(first: Sequence[str]) -> bool:
    """Whether the numbers of the line follow each other at equal steps, three of them at least."""
    numbers = [int(cell) for cell in first if cell.isascii() and cell.isdecimal() and len(cell) < 9]
    steps = {after - before for before, after in pairwise(numbers)}
    return len(numbers) > 2 and len(steps) == 1 and 0 not in steps
