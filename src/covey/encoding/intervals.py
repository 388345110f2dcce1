"""Numeric and date quasi-identifiers.

Values are scaled to 0 … 1 over the range of their column, without values far from all others. A
missing number is placed beyond, at least 1 from every present number. With
`min(high - low, 1)` as the loss of a range, a range that mixes missing and present numbers loses
everything, and a range of missing numbers only loses nothing, without any special case.

A group shows the interval from its lowest to its highest member. An interval that reaches a bound
of its column is open there, whether or not any value is beyond it: "70 and more", "20 and less",
"1990-12-31 and earlier".

With `render`, a group shows the mean or the median of its numbers instead. The ends of its interval
then measure what it lost, and are not released.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Floats, Longs
from covey.encoding.attributes import Attribute, Mask, Shown, Style
from covey.encoding.groups import Groups, Rings
from covey.errors import TableError, UsageError, about_cells
from covey.schema import Column, ColumnType
from covey.schema.taxonomy import ROOT, Measure
from covey.tables.cells import parse_dates, parse_numbers
from covey.tables.csv_files import Dialect

SHOWN, MISSING, HIDDEN = 0, 1, 2
LOW, HIGH = "_low", "_high"
_OPEN_NUMBERS, _OPEN_DATES = (" and less", " and more"), (" and earlier", " and later")


@dataclass(frozen=True, eq=False, repr=False)
class Interval(Attribute):
    """Numbers or dates, NaN if missing; dates are days since 1970-01-01.

    A value beyond a bound of the column is replaced by the bound, so no later stage sees it.
    """

    low: float  # of the domain
    high: float

    @classmethod
    def within(
        cls, name: str, column: Column, values: pl.Series, ends: tuple[float, float]
    ) -> "Interval":
        """Make the attribute from numbers, null if missing, and the ends of its domain."""
        return cls(name, column, values.fill_null(float("nan")).to_numpy(), *ends)

    @property
    def is_date(self) -> bool:
        """Whether the values are days, not numbers."""
        return self.column.type is ColumnType.DATE

    @property
    def has_hours(self) -> bool:
        """Whether hours are shown, so that values are days and 24ths of days."""
        return self.column.grid == "hour"

    @property
    def width(self) -> float:
        """The width of the domain; 0 if all values are equal or missing."""
        return self.high - self.low

    @cached_property
    def absent(self) -> Mask:
        """The rows with a missing value."""
        absent: Mask = np.isnan(self.values)
        return absent

    @property
    def scaled(self) -> Floats:
        """The values scaled to 0 … 1 of the domain, far ones beyond it, missing ones NaN."""
        low, high = self.reach(self.values, self.values)
        shifted = np.where(self.values < self.column.bounds[1], low, high) - self.low
        return np.clip(shifted / self.width if self.width else shifted, *_FURTHEST)

    @property
    def far(self) -> Mask:
        """The rows whose value lies far from the others, outside the domain."""
        outside: Mask = (self.values < self.low) | (self.values > self.high)
        return outside & (self.column.domain is None)

    def reach(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Extend ends at a bound to the end of the domain, since the interval is open there."""
        bottom, top = self.column.bounds
        return (
            np.where(low <= bottom, np.minimum(low, self.low), low),
            np.where(high >= top, np.maximum(high, self.high), high),
        )

    @cached_property
    def known(self) -> Floats:
        """The distinct values."""
        return np.unique(self.values[~self.absent])

    @cached_property
    def places(self) -> Longs:
        """The rank of each value among those that occur, missing last."""
        return np.searchsorted(self.known, self.values).astype(np.int64)

    def typical(self, block: Longs, blocks: int) -> Floats:
        """The median value of each block."""
        order = np.lexsort((self.values, block))
        rows = np.bincount(block, minlength=blocks)
        middle = np.cumsum(rows) - rows + (rows - 1) // 2
        found: Floats = self.values[order[middle]]
        return found

    def fold(self, groups: Groups | Rings) -> "Ranges | Centres":
        """The interval of each group, with ends moved outwards to the grid, but not beyond a bound.

        A member whose missing cell matches any value shows the interval of the others.
        """
        if self.column.render is not None:
            return self._centres(groups)
        low, high = self.snap(*self._extremes(groups))
        below, above = self.open_ends(low, high)
        some = groups.fold(np.logical_or, self.absent & ~self.matches_anything) | (below & above)
        every = groups.fold(np.logical_and, self.absent)
        state = np.select([every, some], [MISSING, HIDDEN], SHOWN)
        low[state != SHOWN] = high[state != SHOWN] = np.nan
        return Ranges(self, low, high, state.astype(np.int8))

    def _extremes(self, groups: Groups | Rings) -> tuple[Floats, Floats]:
        return groups.fold(np.fmin, self.values), groups.fold(np.fmax, self.values)

    def _centres(self, groups: Groups | Rings) -> "Centres":
        """The mean or median of each group, rounded; a missing cell that matches any counts not.

        Values are sorted before they are added up, so that no sum depends on the order of the rows.
        """
        if isinstance(groups, Rings):  # no row fits a mean of neighbours of its own
            raise UsageError("rings show intervals only: remove render from the schema")
        low, high = self.reach(*self._extremes(groups))
        present = groups.fold(np.add, (~self.absent).astype(np.int64))
        order = np.lexsort((self.values, groups.labels))[groups.suppressed :]
        values, (_, begin) = np.nan_to_num(self.values[order]), groups.by_group
        if self.column.render == "mean":
            centre = np.add.reduceat(values, begin) / np.maximum(present, 1)
        else:
            lower, upper = np.maximum(present - 1, 0) // 2, present // 2
            centre = (values[begin + lower] + values[begin + upper]) / 2
        some = groups.fold(np.logical_or, self.absent & ~self.matches_anything)
        shown = (present > 0) & ~some
        state = np.where(shown, SHOWN, np.where(present > 0, HIDDEN, MISSING)).astype(np.int8)
        centre = np.clip(self._rounded(centre), *self.column.bounds)
        lost = np.where(shown, high - low, 0.0)
        return Centres(self, np.where(shown, centre, np.nan), lost, self.width, state)

    @property
    def unit(self) -> float | None:
        """What means and medians are multiples of: the grid, or a power of ten.

        That is at most 1, and at most 1/100,000 of the width of the domain. None if all values are
        equal, so that a mean needs no rounding.
        """
        if isinstance(self.column.grid, float):
            return self.column.grid
        if not self.width:
            return None
        return float(f"1e{min(0, math.floor(math.log10(self.width)) - 5)}")

    @property
    def has_whole_centres(self) -> bool:
        """Whether all means and medians are whole numbers, whatever the values are."""
        limits = (limit for limit in self.column.bounds if math.isfinite(limit))
        return self.unit is not None and all(one.is_integer() for one in (self.unit, *limits))

    def _rounded(self, centre: Floats) -> Floats:
        return centre if self.unit is None else _multiple(centre, self.unit, ROUND_HALF_EVEN)

    def open_ends(self, low: Floats, high: Floats) -> tuple[Mask, Mask]:
        """The intervals that are open below, and those that are open above."""
        bottom, top = self.column.bounds
        return low <= bottom, high >= top

    def snap(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Move ends outwards to the grid, but not beyond a bound; a single value stays as it is."""
        grid, wide = self.column.grid, low < high
        if grid is not None:
            low[wide], high[wide] = snapped(low[wide], high[wide], grid)
        bottom, top = self.column.bounds
        return np.clip(low, bottom, top), np.clip(high, bottom, top)

    def parse(self, cells: Sequence[pl.Series], dialect: Dialect) -> "Ranges | Centres":
        """Read released cells."""
        if len(cells) == 1 and self.column.render is not None:
            return self._parse_centres(cells[0], dialect)
        if len(cells) == 1:
            low, high, state = self._parse_text(cells[0].cast(pl.String), dialect)
        else:
            low, high = (self._parse_ends(ends, dialect) for ends in cells)
            # Two nulls do not say whether all or only some were missing, so they match any value.
            state = np.where(np.isnan(low) & np.isnan(high), HIDDEN, SHOWN)
        return self._checked(low, high, state)

    def _parse_centres(self, cells: pl.Series, dialect: Dialect) -> "Centres":
        """Means and medians; a null does not say whether all or only some were missing."""
        bare = pl.select(pl.when(cells.cast(pl.String) != ROOT).then(cells)).to_series()
        centre = self._parse_ends(bare.alias(self.name), dialect)
        state = np.where(np.isnan(centre), HIDDEN, SHOWN).astype(np.int8)
        return Centres(self, centre, np.full(len(centre), np.nan), self.width, state)

    def _parse_text(
        self, text: pl.Series, dialect: Dialect
    ) -> tuple[Floats, Floats, NDArray[np.integer]]:
        bare = pl.select(pl.when(text != ROOT).then(text)).to_series()
        between = _between(dialect)
        two = (
            bare.str.starts_with("[")
            & bare.str.ends_with("]")
            & bare.str.contains(between, literal=True)
        )
        inner = bare.str.slice(1, bare.str.len_chars() - 2).str.splitn(between, 2)
        words = _OPEN_DATES if self.is_date else _OPEN_NUMBERS
        # A cell that was defused for spreadsheets has an apostrophe before its sign.
        only = bare.str.replace(f"^'?(.*)({'|'.join(words)})$", "${1}")
        low, high = (
            pl.when(two)
            .then(inner.struct.field(f"field_{side}"))
            .when(~bare.str.ends_with(word))
            .then(only)
            .alias(self.name)
            for side, word in enumerate(words)
        )
        hidden = (text == ROOT).fill_null(False).to_numpy()
        state = np.where(text.is_null().to_numpy(), MISSING, np.where(hidden, HIDDEN, SHOWN))
        lows, highs = (
            self._parse_ends(pl.select(ends).to_series(), dialect) for ends in (low, high)
        )
        return lows, highs, state

    def _parse_ends(self, ends: pl.Series, dialect: Dialect) -> Floats:
        if self.is_date:
            return _floats(parse_dates(ends, hours=self.has_hours))
        return _floats(parse_numbers(ends, dialect))

    def _checked(self, low: Floats, high: Floats, state: NDArray[np.integer]) -> "Ranges":
        """Put open ends, NaN so far, at the bounds of the column.

        Refuse intervals that are open where the column has no bound, or end before they begin.
        """
        shown = state == SHOWN
        low = np.where(shown & np.isnan(low), -np.inf, low)
        high = np.where(shown & np.isnan(high), np.inf, high)
        in_order = low <= high
        low, high = (np.clip(ends, *self.column.bounds) for ends in (low, high))
        wrong = shown & ~(in_order & np.isfinite(low) & np.isfinite(high))
        if wrong.any():
            what = "with an interval that has no end, or ends before it begins"
            remedy = "an open end needs bottom or top of the column in the schema"
            raise about_cells(TableError, self.name, wrong, what, remedy)
        return Ranges(self, low, high, state.astype(np.int8))


def within_domain(column: Column, numbers: pl.Series) -> pl.Series:
    """Numbers with those beyond a bound replaced; refuse those outside a declared domain."""
    if column.domain is not None:
        outside = ~numbers.is_between(*column.domain).fill_null(value=True)
        if outside.any():
            raise about_cells(TableError, numbers.name, outside.to_numpy(), "outside its domain")
    bottom, top = column.bounds
    return numbers if (bottom, top) == (-np.inf, np.inf) else numbers.clip(bottom, top)


_ENOUGH = 100  # values that show what is usual
_CENTRES = (0.1, 0.01)  # shares of the values below and above the central ones
_FEW = 0.02  # share of rows that may be far from the others, on either side
_FURTHEST = (-2.0, 3.0)  # where far values stand: further out, floats would lose the others


def usual_range(values: Floats, rows: Longs | None = None) -> tuple[float, float]:
    """The least and greatest value, without those far from all others; 0 to 0 if there is none.

    A single 999 among ages would make every interval look narrow. From the central values
    outwards, a value is far if the gap before it is wider than all the values up to there, and few
    rows lie beyond. `rows` says how many rows have each value, if not one.
    """
    present = ~np.isnan(values)
    if not present.any():
        return 0.0, 0.0
    known, place = np.unique(values[present], return_inverse=True)
    below = np.cumsum(np.bincount(place, None if rows is None else rows[present]))
    low, high = known[[0, -1]].tolist()
    for share in _CENTRES if below[-1] >= _ENOUGH else ():
        beyond = round(share * below[-1])
        first, last = known[np.searchsorted(below, [beyond, below[-1] - beyond + 1])]
        if first < last:
            top = _without_far(known[known >= last], first)
            bottom = -_without_far(-known[known <= first][::-1], -top)
            most = _FEW * below[-1]
            high = top if below[-1] - below[np.searchsorted(known, top)] <= most else high
            start = int(np.searchsorted(known, bottom))
            low = bottom if start == 0 or below[start - 1] <= most else low
            break
    return low, high


def _without_far(outwards: Floats, start: float) -> float:
    """The last of these rising values before the first gap wider than all from the start on."""
    far = np.flatnonzero(np.diff(outwards) > outwards[:-1] - start)
    return float(outwards[far[0] if len(far) else -1])


def _floats(values: pl.Series) -> Floats:
    return values.cast(pl.Float64).fill_null(float("nan")).to_numpy()


class _Numbers(Shown):
    """What a release shows of numbers or dates."""

    attribute: Interval
    state: NDArray[np.int8]  # SHOWN, MISSING, or HIDDEN: missing and present mixed, or open twice

    def __len__(self) -> int:
        return len(self.state)

    @property
    def hidden(self) -> Mask:
        """The cells that match any value, or a missing one."""
        hidden: Mask = self.state == HIDDEN
        return hidden

    @abstractmethod
    def usual(self, rows: Longs) -> tuple[float, float]:
        """The usual range of what is released; 0 to 0 if no cell shows a value."""

    def on_shown_scale(self, rows: Longs) -> Self:
        """The same, by the declared domain, or else by what is released of this many rows each."""
        low, high = self.attribute.column.domain or self.usual(rows)
        return replace(self, attribute=replace(self.attribute, low=low, high=high))


@dataclass(frozen=True, eq=False, repr=False)
class Ranges(_Numbers):
    """Generalised numbers or dates; `low` and `high` are NaN if nothing is shown.

    An end at a bound of the column is open.
    """

    attribute: Interval
    low: Floats
    high: Floats
    state: NDArray[np.int8]

    @property
    def ends_exactly(self) -> bool:
        """Whether all ends of intervals are original values; without a grid, covey's are."""
        wide, (bottom, top) = self.low < self.high, self.attribute.column.bounds
        ends = np.concatenate(
            [self.low[wide & (self.low > bottom)], self.high[wide & (self.high < top)]]
        )
        exact = len(ends) > 0 and bool(np.isin(ends, self.attribute.known).all())
        # Hours and days are cut, not moved: their ends are still those of people.
        return exact and self.attribute.column.grid in (None, "hour", "day")

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The first and last value that each cell covers: the whole domain if it is hidden."""
        interval = self.attribute
        lowest, highest = np.clip([interval.low, interval.high], *interval.column.bounds)
        low = np.where(self.hidden, lowest, self.low)
        high = np.where(self.hidden, highest, self.high)
        return _whole(low, high) if interval.step else (low, high)

    @property
    def places(self) -> tuple[Longs, Longs]:
        """The first place that each cell covers, and the place after the last."""
        known = self.attribute.known
        states = [self.state == MISSING, self.hidden]
        first = np.select(states, [len(known), 0], np.searchsorted(known, self.low))
        last = np.searchsorted(known, self.high, side="right")
        return first, np.select(states, [len(known) + 1] * 2, last)

    @property
    def keys(self) -> list[NDArray[Any]]:
        """Both ends, and whether they are shown."""
        return [np.nan_to_num(self.low), np.nan_to_num(self.high), self.state]

    def losses(self, _measure: Measure) -> Floats:
        """The width divided by that of the domain, by any measure."""
        return self._losses

    @cached_property
    def _losses(self) -> Floats:
        """Limited to 1, since an end on a grid may lie outside the domain."""
        interval, shown = self.attribute, np.zeros(len(self))
        if interval.absent.all():
            return shown
        if interval.width:
            low, high = interval.reach(self.low, self.high)
            # Limit before dividing: a division by a tiny width would overflow.
            shown = np.minimum(high - low, interval.width) / interval.width
        return np.select([self.state == SHOWN, self.hidden], [shown, 1.0], 0.0)

    def usual(self, rows: Longs) -> tuple[float, float]:
        """The usual range of the released ends, on the grid; 0 to 0 if no cell shows a value."""
        shown = self.state == SHOWN
        if not shown.any():
            return 0.0, 0.0
        ends = usual_range(
            np.concatenate([self.low[shown], self.high[shown]]), np.tile(rows[shown], 2)
        )
        low, high = self.attribute.snap(*(np.array([end]) for end in ends))
        return float(low[0]), float(high[0])

    def render(self, _groups: Groups | Rings, dialect: Dialect, style: Style) -> list[pl.Series]:
        """Write one column of text, or two columns with low and high ends."""
        interval = self.attribute
        below, above = interval.open_ends(self.low, self.high)
        if style.intervals == "columns":
            low_ends = np.where(below, np.nan, self.low)
            high_ends = np.where(above, np.nan, self.high)
            return [self._typed(low_ends, LOW), self._typed(high_ends, HIGH)]
        low, high = (self._spelled(ends, dialect) for ends in (self.low, self.high))
        and_less, and_more = _OPEN_DATES if interval.is_date else _OPEN_NUMBERS
        text = (
            pl.when(pl.lit(pl.Series(self.hidden)))
            .then(pl.lit(ROOT))
            .when(pl.lit(pl.Series(below)))
            .then(pl.lit(high) + and_less)
            .when(pl.lit(pl.Series(above)))
            .then(pl.lit(low) + and_more)
            .when(pl.lit(pl.Series(self.low == self.high)))
            .then(pl.lit(low))
            .otherwise(pl.format("[{}{}{}]", pl.lit(low), pl.lit(_between(dialect)), pl.lit(high)))
        )
        return [pl.select(text.alias(interval.name)).to_series()]

    def _typed(self, ends: Floats, suffix: str) -> pl.Series:
        interval = self.attribute
        series = pl.Series(interval.name + suffix, ends).fill_nan(None)
        if interval.is_date:
            return moments(series, hours=interval.has_hours)
        grid = interval.column.grid
        fractions = isinstance(grid, float) and not grid.is_integer()
        return series.cast(pl.Int64) if interval.step and not fractions else series

    def _spelled(self, ends: Floats, dialect: Dialect) -> pl.Series:
        """Write ends as ISO dates, or as the shortest decimals that identify the number."""
        series = pl.Series(ends).fill_nan(None)
        if self.attribute.has_hours:
            return moments(series, hours=True).dt.strftime("%Y-%m-%dT%H")
        if self.attribute.is_date:
            return moments(series).cast(pl.String)
        distinct = series.unique().drop_nulls()
        spelled = [spell_number(number, dialect) for number in distinct.to_list()]
        return series.replace_strict(distinct, pl.Series(spelled, dtype=pl.String), default=None)


@dataclass(frozen=True, eq=False, repr=False)
class Centres(_Numbers):
    """Means or medians of groups; NaN if nothing is shown.

    A reader does not learn how far the values behind a mean are spread. So the width of their range
    is known only where the groups are, and NaN if the cells were read from a release. Since readers
    know no width, a share of the original domain tells them nothing about its ends.
    """

    attribute: Interval
    centre: Floats
    width: Floats  # of the range of the values behind each cell, on average over its rows
    whole: float  # the width of the original domain
    state: NDArray[np.int8]

    @property
    def is_loose(self) -> bool:
        """Whether a cell may stand for values that it does not name."""
        return True

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The value nearest to each centre, as an analyst would take it, or the whole domain."""
        interval = self.attribute
        nearest = np.rint(self.centre) if interval.step else self.centre
        low, high = np.clip([interval.low, interval.high], *interval.column.bounds)
        return np.where(self.hidden, low, nearest), np.where(self.hidden, high, nearest)

    @property
    def places(self) -> tuple[Longs, Longs]:
        """All places: the values behind a centre may be any."""
        known, missing = len(self.attribute.known), self.state == MISSING
        end = np.select([missing, self.hidden], [known + 1] * 2, known)
        return np.where(missing, known, 0), end

    @property
    def keys(self) -> list[NDArray[Any]]:
        """The centres, and whether they are shown."""
        return [np.nan_to_num(self.centre), np.isnan(self.centre)]

    def losses(self, _measure: Measure) -> Floats:
        """The width of the range of the values behind each cell, divided by that of the domain."""
        shown = self.state == SHOWN
        if np.isnan(self.width[shown]).any():
            raise TableError(
                f"column {self.attribute.name!r} shows a {self.attribute.column.render} of each "
                "group. Its loss is known only when the release is made, because the release does "
                "not say whose values it stands for"
            )
        if self.attribute.absent.all():
            return np.zeros(len(self))
        lost = np.minimum(self.width, self.whole) / (self.whole or 1.0)
        return np.select([shown, self.hidden], [lost, 1.0], 0.0)

    def usual(self, rows: Longs) -> tuple[float, float]:
        """The usual range of the released centres; 0 to 0 if there is none."""
        shown = self.state == SHOWN
        return usual_range(self.centre[shown], rows[shown])

    def render(self, _groups: Groups | Rings, _dialect: Dialect, _style: Style) -> list[pl.Series]:
        """Write one column of numbers, null if nothing is shown."""
        cells = pl.Series(self.attribute.name, self.centre).fill_nan(None)
        return [cells.cast(pl.Int64) if self.attribute.has_whole_centres else cells]


def moments(days: pl.Series, *, hours: bool = False) -> pl.Series:
    """Days since 1970-01-01 as dates, or as times on the hour."""
    if hours:
        return pl.select(pl.from_epoch((days * 24).round().cast(pl.Int64) * 3600)).to_series()
    return days.cast(pl.Int32).cast(pl.Date)


def _whole(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The first and last whole number in each interval; if it has none, its ends."""
    some = np.ceil(low) <= np.floor(high)
    return np.where(some, np.ceil(low), low), np.where(some, np.floor(high), high)


def _between(dialect: Dialect) -> str:
    return ", " if dialect.decimal == "." else "; "


def spell_number(number: float, dialect: Dialect) -> str:
    """Write the shortest decimal that reads as the same number, without an exponent."""
    return np.format_float_positional(number, trim="-").replace(".", dialect.decimal)


# ── the grid ────────────────────────────────────────────────────────────────────────────────────


def snapped(low: Floats, high: Floats, grid: float | str) -> tuple[Floats, Floats]:
    """Move ends outwards: to multiples of a number, or to the first and last day of a unit."""
    if isinstance(grid, str):
        return _snap_days(low, high, grid)
    return _multiple(low, grid, ROUND_FLOOR), _multiple(high, grid, ROUND_CEILING)


def _multiple(values: Floats, grid: float, rounding: str) -> Floats:
    """The next multiple of the grid in decimal arithmetic: 0.3 is a multiple of 0.1."""
    step = Decimal(str(grid))
    distinct, place = np.unique(values, return_inverse=True)
    ends = [
        float((Decimal(repr(value)) / step).to_integral_value(rounding) * step)
        for value in distinct.tolist()
    ]
    return np.array(ends, dtype=np.float64)[place] + 0.0


def _snap_days(low: Floats, high: Floats, grid: str) -> tuple[Floats, Floats]:
    if grid in ("hour", "day"):
        return low, high  # what is finer was cut off when the cells were read
    if grid == "week":
        return low - (low + 3) % 7, high - (high + 3) % 7 + 6  # 1970-01-01 was a Thursday
    months = {"month": 1, "quarter": 3, "year": 12}[grid]
    first = _month_of(low) // months * months
    after = (_month_of(high) // months + 1) * months
    return _day_of(first), _day_of(after) - 1


def _month_of(days: Floats) -> Longs:
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def _day_of(months: Longs) -> Floats:
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.float64)
