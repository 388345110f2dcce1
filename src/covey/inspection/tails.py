"""The grid and the bounds that a draft proposes for a column of numbers or dates.

With a grid, intervals do not end on people's exact values. With a bound, they do not end on the few
people at the end of the scale: values beyond the bound count as the bound. It lies on the grid, and
at least k rows are at or beyond it, so neither the bound nor its reason reveals fewer than k.
"""

from datetime import date, timedelta
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import polars as pl

from covey._core.arrays import Floats
from covey.encoding.intervals import snapped
from covey.schema import LARGEST, SMALLEST_GRID
from covey.schema.columns import EPOCH

Grid = float | str
Bound = float | date

_STEPS = (5, 50)  # fewest and most, over the range of nearly all rows
_NEARLY_ALL = 100  # one row in this many lies beyond either end of that range
_UNITS = {"week": 7.0, "month": 30.4, "quarter": 91.3, "year": 365.2}  # in days
_MOST_READ = 10_000  # values whose digits are counted


class DraftedSetting(NamedTuple):
    """A setting of a column, and the reason for it."""

    value: Grid | Bound
    reason: str


def propose(
    values: pl.Series,
    k: int,
    *,
    is_date: bool,
    persons: pl.Series | None = None,
) -> dict[str, DraftedSetting]:
    """Propose a grid, and bounds if fewer than k rows lie at an end of the scale.

    Dates are days since 1970-01-01. If `persons` are given, people are counted instead of rows.
    """
    numbers = values.cast(pl.Float64)
    present = numbers.drop_nulls().sort().to_numpy()
    if not len(present):
        return {}
    grid: Grid = date_grid(present, k) if is_date else number_grid(present, k)
    if not isinstance(grid, str) and np.abs(present[[0, -1]]).max() + grid >= LARGEST:
        return {}  # not every multiple of the grid can be represented exactly
    owners = pl.int_range(len(numbers), eager=True) if persons is None else persons
    people = pl.DataFrame({"number": numbers, "person": owners}).drop_nulls()
    who = "rows" if persons is None else "people"
    return {"grid": DraftedSetting(grid, _why(grid)), **_bounds(people, present, k, grid, who)}


def _why(grid: Grid) -> str:
    if isinstance(grid, str):
        return f"intervals begin and end with a {grid}, not on a person's exact date"
    return "intervals end on multiples of this, not on a person's exact value"


# ── grids ───────────────────────────────────────────────────────────────────────────────────────


def number_grid(present: Floats, k: int) -> float:
    """A round step that divides the range into some 20 to 50, each with several values."""
    width = _width(present, k)
    digit = _last_digit(present)
    least = digit * (5 if width >= 25 * float(digit) else 2)
    step = max(Decimal(width / _most_steps(present, k)), least, Decimal(str(SMALLEST_GRID)))
    power = Decimal(10) ** step.adjusted()
    return next(float(m * power) for m in (1, 2, 5, 10) if m * power >= step)


def date_grid(present: Floats, k: int) -> str:
    """The smallest unit that gives few enough steps; an interval of days would end on people's."""
    width, most = _width(present, k), _most_steps(present, k)
    return next((unit for unit, days in _UNITS.items() if width / days <= most), "year")


def _width(present: Floats, k: int) -> float:
    """The width of the range of nearly all rows, so that a few people do not decide the grid."""
    beyond = max(min(max(k, len(present) // _NEARLY_ALL), len(present) // 4), 1)
    return float(present[-beyond] - present[beyond - 1])


def _most_steps(present: Floats, k: int) -> int:
    """The largest number of steps: no more than there can be groups."""
    fewest, most = _STEPS
    return min(max(len(present) // k, fewest), most)


def _last_digit(present: Floats) -> Decimal:
    """The power of ten of which nearly all values are multiples: 1 for ages, 0.01 for prices."""
    some = present[present != 0]
    some = some[:: -(-len(some) // _MOST_READ) or 1]
    exponents = sorted(int(Decimal(repr(n)).normalize().as_tuple().exponent) for n in some.tolist())
    return Decimal(10) ** (exponents[len(exponents) // 10] if exponents else 0)


# ── bounds ──────────────────────────────────────────────────────────────────────────────────────


def _bounds(
    people: pl.DataFrame, present: Floats, k: int, grid: Grid, who: str
) -> dict[str, DraftedSetting]:
    """Bounds at or beyond which at least k lie, if the outermost step holds fewer than k."""
    is_date = isinstance(grid, str)
    if people["person"].n_unique() < k:
        return {}  # too few for a class of k
    inner = np.array([_kth(people, k, descending=way) for way in (False, True)])
    outer = present[[0, -1]]
    # The ends of the steps that contain these values.
    (low, top), (bottom, high) = (end.tolist() for end in snapped(inner, inner, grid))
    (lowest, _), (_, highest) = (end.tolist() for end in snapped(outer, outer, grid))
    less, more, step = ("earlier", "later", grid) if is_date else ("less", "more", "step")
    found: dict[str, DraftedSetting] = {}
    if lowest < low:
        at = _count(people, pl.col("number") <= bottom)
        reason = f"{at:,} {who} have this or {less}; one {step} further, fewer than {k:,} do"
        found["bottom"] = DraftedSetting(_bound(bottom, is_date=is_date), reason)
    if highest > high:
        at = _count(people, pl.col("number") >= top)
        reason = f"{at:,} {who} have this or {more}; one {step} further, fewer than {k:,} do"
        if found and top <= bottom:  # bounds must not meet
            top = bottom + 1 if is_date else float(Decimal(str(bottom)) + Decimal(str(grid)))
            reason = f"next after the bottom: fewer than {k:,} {who} have this or {more}"
        found["top"] = DraftedSetting(_bound(top, is_date=is_date), reason)
    return found


def _kth(people: pl.DataFrame, k: int, *, descending: bool) -> float:
    """The value of the k-th person, counted from one end of the scale."""
    looked = k
    while True:  # nearly always the first rows are of k different persons
        ends = people.top_k(looked, by="number", reverse=not descending)
        ends = ends.sort("number", descending=descending)
        persons = ends.unique("person", keep="first", maintain_order=True)
        if persons.height >= k:
            return float(persons["number"][k - 1])
        looked *= 4


def _count(people: pl.DataFrame, which: pl.Expr) -> int:
    return people.filter(which)["person"].n_unique()


def _bound(end: float, *, is_date: bool) -> Bound:
    return EPOCH + timedelta(days=end) if is_date else end
