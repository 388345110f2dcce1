"""Round numbers and days: ends of ranges, and how ranges are written."""

from collections.abc import Callable
from datetime import date, timedelta
from math import floor, inf, log10

import numpy as np

from covey._core.arrays import Floats
from covey.schema.columns import EPOCH

# In a narrower range, floats cannot represent round numbers.
_TINY = 1e-300


def round_between(low: float, high: float, step: float, most: int) -> Floats:
    """Multiples of 1, 2 or 5 times a power of ten, between two numbers."""
    least = max((high - low) / (most - 2), step)
    if least < _TINY:
        return np.array([])
    power = floor(log10(least))
    width = next(w for w in (1, 2, 5, 10) if w * 10.0**power >= least * (1 - 1e-9))
    first, last = (floor(end / (width * 10.0**power)) for end in (low, high))
    ends = [width * multiple for multiple in range(first + 1, last + 1)]
    # Dividing by a whole number gives the float nearest to the decimal end.
    scaled = [end * 10**power if power >= 0 else end / 10**-power for end in ends]
    return np.array(scaled, dtype=np.float64)


MONTH = 31
_MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12000, 120_000)


def months_between(low: float, high: float, most: int) -> Floats:
    """First days of months, quarters, half-years, years or decades, between two days."""
    months = [day.year * 12 + day.month - 1 for day in (day_of(low), day_of(high))]
    width = next(w for w in _MONTHS if w >= (months[1] - months[0]) / (most - 2))
    multiples = range(months[0] // width + 1, months[1] // width + 1)
    firsts = [date(m * width // 12, m * width % 12 + 1, 1) for m in multiples]
    return np.array([(first - EPOCH).days for first in firsts], dtype=np.float64)


def day_of(days: float) -> date:
    """The day this many days after 1970-01-01."""
    return EPOCH + timedelta(days=int(days))


def number_label(step: float) -> Callable[[float, float], str]:
    """How ranges of numbers are written; a range without ends has no name."""

    def label(low: float, high: float) -> str:
        if low == -inf:
            return "" if high == inf else f"under {spelled_out(high)}"
        if high == inf:
            return f"{spelled_out(low)} and more"
        if not step:
            return f"{spelled_out(low)} to under {spelled_out(high)}"
        last = high - step
        return spelled_out(low) if low == last else f"{spelled_out(low)} to {spelled_out(last)}"

    return label


def spelled_out(number: float) -> str:
    """A number with commas at thousands."""
    return f"{number:,.10g}"


def date_label(low: float, high: float) -> str:
    """How a range of days is written; a range without ends has no name."""
    if low == -inf:
        return "" if high == inf else f"before {first_day(high)}"
    if high == inf:
        return f"from {first_day(low)}"
    first, last = day_of(low), day_of(high - 1)
    if first.day > 1 or day_of(high).day > 1:
        return str(first) if first == last else f"{first} to {last}"
    form = "%Y" if (first.month, last.month) == (1, 12) else "%Y-%m"
    names = [f"{day:{form}}" for day in (first, last)]
    return names[0] if names[0] == names[1] else " to ".join(names)


def first_day(days: float) -> str:
    """A day, or the month or year that it begins."""
    day = day_of(days)
    if day.day > 1:
        return str(day)
    return f"{day:%Y-%m}" if day.month > 1 else f"{day:%Y}"
