"""The positions of sliders for numbers and dates: steps of a grid, and ends of the scale."""

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, get_args

import numpy as np

from covey.encoding.intervals import snapped
from covey.schema import Column, ColumnType
from covey.schema.columns import DateGrid
from covey.studio.columns import Scale, round_step

UNITS: tuple[str, ...] = get_args(DateGrid)
_EPOCH = date(1970, 1, 1)
_MOST = 240  # positions of a slider for an end
_FINEST = 1_000  # steps over the range, at most

Grid = float | str | None
Bound = float | date | None


def grids(scale: Scale, column: Column) -> tuple[Grid, ...]:
    """No grid, and then wider and wider steps."""
    if column.type is ColumnType.DATE:
        return (None, *(unit for unit in UNITS if unit != "hour" or column.grid == "hour"))
    width = max(scale.high - scale.low, 1.0 if scale.is_whole else 1e-6)
    steps = [round_step(width / _FINEST, whole=scale.is_whole)]
    while steps[-1] < width / 2:
        steps.append(round_step(steps[-1] * 1.01, whole=scale.is_whole))
    if isinstance(column.grid, float) and column.grid not in steps:
        steps = sorted([*steps, column.grid])
    return (None, *steps)


def bottoms(scale: Scale, column: Column) -> tuple[Bound, ...]:
    """No lower end, and then those that lie on the grid, from the lowest value on."""
    return (None, *(end for _, end in _steps(scale, column)))


def tops(scale: Scale, column: Column) -> tuple[Bound, ...]:
    """Those upper ends that lie on the grid, up to the highest value, and then none."""
    return (*(begin for begin, _ in _steps(scale, column)), None)


def position(options: Sequence[Any], value: Any) -> int:
    """The place of a setting among the options, or of the one next to it."""
    if value in options:
        return options.index(value)
    real = [
        (abs(option - value), place) for place, option in enumerate(options) if option is not None
    ]
    return min(real)[1] if real else 0


def _steps(scale: Scale, column: Column) -> list[tuple[Bound, Bound]]:
    """The first and last value of each step from the lowest value to the highest."""
    if column.type is ColumnType.DATE:
        return _dates(scale, column)
    unit = column.grid if isinstance(column.grid, float) else 0.0
    if not unit or (scale.high - scale.low) / unit > _MOST:
        unit = max(unit, round_step((scale.high - scale.low) / _MOST, whole=scale.is_whole))
    first, last = int(np.floor(scale.low / unit)), int(np.ceil(scale.high / unit))
    exact = Decimal(str(unit))
    ends = [float(exact * place) for place in range(first, last + 1)]
    return [(end, end) for end in ends]


def _dates(scale: Scale, column: Column) -> list[tuple[Bound, Bound]]:
    allowed = UNITS[UNITS.index(str(column.grid)) :] if column.grid else UNITS
    for unit in allowed:
        found: list[tuple[Bound, Bound]] = []
        at = scale.low
        while at <= scale.high and len(found) <= _MOST and unit != "hour":
            begin, end = (float(one[0]) for one in snapped(np.array([at]), np.array([at]), unit))
            found.append((_day(begin), _day(end)))
            at = end + 1
        if 0 < len(found) <= _MOST:
            return found
    return found


def _day(days: float) -> date:
    return _EPOCH + timedelta(days=days)
