"""Numbers and dates that stand for "missing": 999 among ages, 1900-01-01 among dates of birth.

Only well-known sentinels count, and only those far from all other values: 99 among the numbers from
30 to 100 is somebody's. An ordinary value far from the others is somebody's too; it is never named,
and bounds take care of it.
"""

from collections.abc import Iterable, Sequence

import polars as pl

from covey.declared import declared
from covey.inspection.facts import FEW, Facts
from covey.schema.columns import EPOCH
from covey.tables.cells import as_days

_DIGITS = ("7", "8", "9")
_REPEATED = {int(digit * length) for digit in _DIGITS for length in range(2, 10)}
_LAST = {int("9" * length) - less for length in range(2, 6) for less in (1, 2)}  # 98, 997
POSITIVE = frozenset({*_REPEATED, *_LAST, 99.9, 99.99, 999.9, 999.99, 9999.9, 9999.99})
NEGATIVE = frozenset({-float(n) for n in (*range(1, 10), *POSITIVE)})
DAYS = frozenset(
    (day - EPOCH).days for day in declared("covey.inspection", "values.toml")["written"]["missing"]
)
_BEYOND = 200  # one row in this many lies beyond either end of the usual range
_NEIGHBOURS = 20
_OFTEN = 5  # times as often as its neighbours
_VERY_FAR = 5  # widths of the usual range: nobody's value, even once,
_LONG, _CODES = 100, 10  # if it has three digits: a single 77 may be somebody's age
_FEWEST = 3  # other values, unless it is very far from them
_SEVERAL = 3  # rows: nobody's value if far


def sentinels(facts: Facts, values: pl.Series, known: Iterable[float]) -> pl.Series:
    """Which of the distinct values, as numbers or days, stand for missing."""
    listed = pl.Series(sorted(known), dtype=pl.Float64)
    numbers = values.cast(pl.Float64)
    candidate = numbers.is_in(listed.implode()).fill_null(value=False)
    frame = pl.DataFrame({"number": numbers, "rows": facts.rows, "candidate": candidate})
    rest = frame.filter(~pl.col("candidate")).drop_nulls().sort("number")
    found: list[float] = []
    if candidate.any() and rest.height >= 2:
        usual = _Usual(rest)
        tried = frame.filter("candidate").sort("number")
        found = [
            number
            for number, rows in zip(tried["number"], tried["rows"], strict=True)
            if usual.is_far(number, rows)
        ]
    return numbers.is_in(pl.Series(found, dtype=pl.Float64).implode()).fill_null(value=False)


class _Usual:
    """The values that are no candidates, in order."""

    def __init__(self, rest: pl.DataFrame) -> None:
        self.numbers: Sequence[float] = rest["number"].to_list()
        self.rows: Sequence[int] = rest["rows"].to_list()
        upto = rest["rows"].cum_sum()
        beyond = int(upto[-1]) // _BEYOND
        inside = rest.filter((upto > beyond) & (upto - rest["rows"] < upto[-1] - beyond))
        self.low, self.high = float(inside["number"][0]), float(inside["number"][-1])
        self.width = max(self.high - self.low, abs(self.numbers[-1] - self.numbers[0]) / 1e6)

    def is_far(self, number: float, rows: int) -> bool:
        """Whether a number lies so far outside, or so often on its own, that it is no value."""
        if number > self.numbers[-1]:
            gap, near = number - self.numbers[-1], slice(-_NEIGHBOURS, None)
        elif number < self.numbers[0]:
            if -10 < number < 0:
                return self._is_negative_code(rows)
            gap, near = self.numbers[0] - number, slice(None, _NEIGHBOURS)
        else:  # a few values lie even further out
            return rows >= _SEVERAL and max(number - self.high, self.low - number) >= self.width
        if gap >= _VERY_FAR * self.width and (rows >= _SEVERAL or self._is_nobodys(number)):
            return True
        if rows < _SEVERAL or len(self.numbers) < _FEWEST:
            return False
        return gap >= self.width or self._stands_out(gap, rows, near)

    def _is_nobodys(self, number: float) -> bool:
        """Whether a single row shows it: three digits, or two beside codes of one digit."""
        longest = max(abs(self.numbers[0]), abs(self.numbers[-1]))
        return abs(number) >= _LONG or longest < _CODES

    def _is_negative_code(self, rows: int) -> bool:
        """Whether -1 stands for missing: frequent among many numbers from 0, or below codes."""
        near = self.rows[:FEW]
        often = len(self.numbers) > FEW and rows >= sum(near) / len(near)
        return rows >= 2 and self.numbers[0] >= (0 if often else 1)

    def _stands_out(self, gap: float, rows: int, near: slice) -> bool:
        """Whether the number is apart from its neighbours and far more frequent."""
        numbers, often = self.numbers[near], self.rows[near]
        spacing = (numbers[-1] - numbers[0]) / max(len(numbers) - 1, 1)
        return gap >= 5 * spacing and rows >= _OFTEN * sum(often) / len(often) + 2


def of_numbers(facts: Facts) -> pl.Series:
    """Which of the distinct values stand for missing, in a column of numbers or number codes."""
    known = POSITIVE | NEGATIVE
    if facts.concepts & {"date", "birth"}:  # 99 is a year
        known = frozenset(number for number in known if number < 0 or number > 1000)
    return sentinels(facts, facts.numbers, known)


def of_dates(facts: Facts) -> pl.Series:
    """Which of the distinct values stand for missing, in a column of dates."""
    return sentinels(facts, days(facts), DAYS)


def days(facts: Facts) -> pl.Series:
    """The distinct values as days, null if they are no dates."""
    written = None if facts.date is None else facts.date.formats[0]
    return as_days(facts.values, written)
