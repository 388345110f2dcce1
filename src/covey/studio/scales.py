"""The positions of sliders for numbers and dates: steps of a grid, and ends of the scale."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from itertools import islice, pairwise
from typing import Any, get_args

import numpy as np

from covey.measures.scales import day_of
from covey.schema import Column, ColumnType
from covey.schema.columns import DateGrid
from covey.studio.columns import Scale, round_step, steps_between

UNITS: tuple[str, ...] = get_args(DateGrid)
_MOST = 240  # positions of a slider for an end
_FINEST = 1_000  # steps over the range, at most

Step = float | str | None
Bound = float | date | None


def grids(scale: Scale, column: Column) -> tuple[Step, ...]:
    """No grid, and then wider and wider steps."""
    if column.type is ColumnType.DATE:
        return (None, *UNITS[1:])  # hours are chosen from the list
    width = max(scale.high - scale.low, 1.0 if scale.is_whole else 1e-6)
    steps = [round_step(width / _FINEST, whole=scale.is_whole)]
    while steps[-1] < width / 2:
        steps.append(round_step(steps[-1] * 1.01, whole=scale.is_whole))
    return (None, *steps)


def bottoms(scale: Scale, column: Column) -> tuple[Bound, ...]:
    """No lower end, and then the ends of steps: equal distances, as in a picture of the scale."""
    return (None, *(end for _, end in _steps(scale, column)))


def tops(scale: Scale, column: Column) -> tuple[Bound, ...]:
    """The beginnings of steps, and then no upper end."""
    return (*(begin for begin, _ in _steps(scale, column)), None)


def position(options: Sequence[Any], value: Any) -> int:
    """The place of a setting among the options, or of the one next to it."""
    if value in options or isinstance(value, str):
        return options.index(value) if value in options else 1
    away = [(abs(each - value), at) for at, each in enumerate(options) if each is not None]
    return min(away)[1] if away else 0


def _steps(scale: Scale, column: Column) -> list[tuple[Bound, Bound]]:
    """The first and last value of each step from the lowest value to the highest."""
    if column.type is ColumnType.DATE:
        return _dates(scale, column)
    unit = column.grid if isinstance(column.grid, float) else 0.0
    if not unit or (scale.high - scale.low) / unit > _MOST:
        unit = max(unit, round_step((scale.high - scale.low) / _MOST, whole=scale.is_whole))
    first, last = int(np.floor(scale.low / unit)), int(np.ceil(scale.high / unit))
    exact = Decimal(str(unit))
    return list(pairwise(float(exact * at) for at in range(first, max(last, first + 1) + 1)))


def _dates(scale: Scale, column: Column) -> list[tuple[Bound, Bound]]:
    allowed = UNITS[UNITS.index(str(column.grid)) :] if column.grid else UNITS
    behind = float(np.nextafter(scale.high, np.inf))
    for unit in allowed:
        if unit == "hour":
            continue
        found = [*islice(steps_between(scale.low, behind, unit), _MOST + 1)]
        if 0 < len(found) <= _MOST:
            break
    return [(day_of(begin), day_of(end)) for begin, end in found]
