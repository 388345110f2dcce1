"""Whether the first line of a CSV file names the columns or is a person's record.

A record mistaken for names would be published, so a first line that looks like the others is
refused until the user says what it is. In each column, the first cell is compared with those below:

- it suggests a record if it equals one of them, is a number or date above numbers or dates, or has
  the same form as nearly all of them (an address, a code);
- it suggests a header if it is a word above numbers or dates, is not among a few repeated values,
  or has a different form than nearly all of them.

Weak evidence counts half: a number above numbers may be a year, and a value that does not repeat
may be rare. Names that are numbers, such as years, form a sequence: 2019, 2020, 2021.
"""

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

ROWS_LOOKED_AT = 10_000
_NEARLY_ALL = 0.9
_REPEATED = 0.5  # distinct values over rows, at most
_ENOUGH = 8  # rows that show the form of a column

_NUMBER = r"^\s*[+-]?([0-9]+([.,][0-9]*)*|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*$"
_DATE = r"^\s*[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}([ T][0-9:.+Z-]+)?\s*$"


def looks_like_a_record(first: Sequence[str], rest: pl.DataFrame, missing: Sequence[str]) -> bool:
    """Whether the first line is more like the lines below than like column names."""
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
    """The vote of a column: positive for a record, negative for a header."""
    if _share(below, _DATE) >= _NEARLY_ALL:
        return 2 if _fits(cell, _DATE) else -2
    if _share(below, _NUMBER) >= _NEARLY_ALL:
        if not _is_number(cell):
            return -2
        return 0 if _is_far_off(cell, below) else 1
    return 2 if (below == cell).any() else _vote_of_texts(cell, below)


def _vote_of_texts(cell: str, below: pl.Series) -> int:
    """The vote of a column whose texts never repeat the first line."""
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
    """Whether a number is further from the range of the others than its width, as a year is."""
    texts = pl.concat([pl.Series(below.name, [cell]), below])
    plain = texts.str.strip_chars().str.replace(",", ".", literal=True)
    numbers = plain.cast(float, strict=False)
    value, low, high = numbers[0], numbers[1:].min(), numbers[1:].max()
    if value is None or not isinstance(low, float) or not isinstance(high, float) or low == high:
        return False
    return bool(value < low - (high - low) or value > high + (high - low))


def _shapes(cells: pl.Series) -> pl.Series:
    """The form of texts: runs of letters become a, runs of digits 9; other characters stay."""
    letters = cells.str.replace_all(r"\p{L}+", "a")
    return letters.str.replace_all(r"[0-9]+", "9").str.replace_all(r"\s+", " ").alias("shape")


_WORDS = ("a", "a a", "a a a", "a a a a")  # column names have these forms too


def _count_on(first: Sequence[str]) -> bool:
    """Whether the line contains at least three numbers at equal steps."""
    numbers = [int(cell) for cell in first if cell.isascii() and cell.isdecimal() and len(cell) < 9]
    steps = {after - before for before, after in pairwise(numbers)}
    return len(numbers) > 2 and len(steps) == 1 and 0 not in steps
