"""The figures of declared uses: each is an estimate with its variance."""

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from covey._core.arrays import Floats
from covey.errors import UsageError
from covey.schema.uses import Condition, Use

_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_NORMAL = 1.959964  # half the width of an interval of 95 %, in standard errors
QUANTILES = {"median": 0.5, "lower quartile": 0.25, "upper quartile": 0.75}
OTHERS = "all others"  # of the values that too few rows have


class Estimate(NamedTuple):
    """A figure of a table and its variance."""

    label: str
    value: float
    variance: float
    rows: int  # that it is of; of a share of rows, also of all others


def estimates(use: Use, frame: pl.DataFrame, levels: Mapping[str, list[str]]) -> list[Estimate]:
    """The figures of a use in a table with typed columns; none where too few rows are left.

    `levels` are the values of columns of categories that get figures of their own.
    """
    part = frame.filter(*(met(condition, frame) for condition in use.where))
    if use.by is None:
        return [*_figures(use, part, "", frame.height, levels)]
    groups = _as_levels(part[use.by], levels[use.by])
    return [
        estimate
        for level in levels[use.by]
        for estimate in _figures(use, part.filter(groups == level), level, frame.height, levels)
    ]


def met(condition: Condition, frame: pl.DataFrame) -> pl.Series:
    """Which rows meet a condition."""
    cells = frame[condition.column]
    found: pl.Series = _SIGNS[condition.sign](cells, _value_of(condition.value, cells))
    return found.fill_null(value=False)


def scale_of(use: Use) -> Callable[[float], float]:
    """From the scale on which it is estimated to that of the figure itself."""
    return math.tanh if use.kind == "correlation" else float


def _figures(
    use: Use, part: pl.DataFrame, label: str, rows: int, levels: Mapping[str, list[str]]
) -> Iterator[Estimate]:
    if use.kind == "count":
        share = part.height / rows
        yield Estimate(label, part.height, rows * share * (1 - share), _of_both(part.height, rows))
    elif use.kind == "regress":
        yield from _regression(part.select(use.columns), use.columns[0], levels)
    elif use.kind == "correlation":
        yield from _correlation(part.select(use.columns).drop_nulls())
    else:
        yield from _of_one(use, part[use.columns[0]].drop_nulls(), label)


def _of_one(use: Use, cells: pl.Series, label: str) -> Iterator[Estimate]:
    if len(cells) < 2:
        return
    if use.kind == "share":
        has_it = (cells == _value_of(str(use.value), cells)).to_numpy()
        found = float(has_it.mean()), float(has_it.var() / len(has_it))
        yield Estimate(label, *found, _of_both(int(has_it.sum()), len(has_it)))
        return
    numbers = np.sort(_numbers(cells))
    if use.kind == "mean":
        found = float(numbers.mean()), float(numbers.var(ddof=1)) / len(numbers)
        yield Estimate(label, *found, len(numbers))
        return
    # The ranks between which the quantile lies in 95 % of samples (Woodruff 1952).
    level = QUANTILES[use.kind]
    middle = len(numbers) * level
    half = _NORMAL * math.sqrt(middle * (1 - level))
    ends = np.clip([middle - half, middle + half - 1], 0, len(numbers) - 1).astype(int)
    low, high = numbers[ends]
    error = float(high - low) / (2 * _NORMAL)
    yield Estimate(label, float(np.quantile(numbers, level)), error**2, len(numbers))


def _of_both(some: int, rows: int) -> int:
    """The fewer of some rows and all others, unless there are no others."""
    return min(some, rows - some) if rows > some else some


def typed_levels(frame: pl.DataFrame, fewest: int) -> dict[str, list[str]]:
    """The values of each column of categories that at least so many rows have, most frequent first.

    All others are counted together, so that no figure is that of a few people.
    """
    found: dict[str, list[str]] = {}
    for cells in frame:
        counts = cells.drop_nulls().cast(pl.String).value_counts().sort("count", cells.name)[::-1]
        often = counts.filter(pl.col("count") >= fewest)[cells.name].to_list()
        rest = counts.height > len(often)
        found[cells.name] = [*often, *([OTHERS] if rest else [])]
    return found


def _as_levels(cells: pl.Series, levels: list[str]) -> pl.Series:
    texts = cells.cast(pl.String)
    known = pl.Series(levels, dtype=pl.String).implode()
    return pl.select(
        pl.when(texts.is_null()).then(None).when(texts.is_in(known)).then(texts).otherwise(pl.lit(OTHERS))
    ).to_series()  # fmt: skip


def _value_of(text: str, cells: pl.Series) -> Any:
    """The value that a word stands for in this column."""
    if cells.dtype.is_numeric():
        try:
            return float(text)
        except ValueError:
            raise UsageError(f"column {cells.name!r} has numbers: compare it with one") from None
    if cells.dtype.is_temporal():
        try:
            return date.fromisoformat(text)
        except ValueError:
            what = f"column {cells.name!r} has dates: compare it with one, such as 1990-01-31"
            raise UsageError(what) from None
    return text


# ── figures of several columns ──────────────────────────────────────────────────────────────────


def _correlation(frame: pl.DataFrame) -> Iterator[Estimate]:
    """Fisher's transform of the correlation, whose variance depends on the rows alone."""
    if frame.height < 4:
        return
    one, other = (_numbers(cells) for cells in frame)
    if one.std() and other.std():
        found = np.clip(np.corrcoef(one, other)[0, 1], -1 + 1e-12, 1 - 1e-12)
        yield Estimate("", float(np.arctanh(found)), 1 / (frame.height - 3), frame.height)


def _regression(
    frame: pl.DataFrame, outcome: str, levels: Mapping[str, list[str]]
) -> Iterator[Estimate]:
    """The coefficients of ordinary least squares, of categories against the most frequent one."""
    rows = frame.drop_nulls()
    labels, columns = ["constant"], [np.ones(rows.height)]
    for name in rows.columns:
        if name == outcome:
            continue
        if rows[name].dtype == pl.String:
            coded = _as_levels(rows[name], levels[name])
            for level in levels[name][1:]:
                labels.append(f"{name} = {level}")
                columns.append((coded == level).cast(pl.Float64).to_numpy())
        else:
            labels.append(name)
            columns.append(_numbers(rows[name]))
    design, found = np.column_stack(columns), _outcome(rows[outcome], levels[outcome])
    free = rows.height - design.shape[1]
    if free < 1:
        return
    inverse = np.linalg.pinv(design.T @ design)
    coefficients = inverse @ design.T @ found
    residual = found - design @ coefficients
    variances = np.diag(inverse) * float(residual @ residual) / free
    for label, value, variance in zip(
        labels, coefficients.tolist(), variances.tolist(), strict=True
    ):
        yield Estimate(label, value, variance, rows.height)


def _outcome(cells: pl.Series, levels: list[str]) -> Floats:
    if cells.dtype != pl.String:
        return _numbers(cells)
    if len(levels) != 2:
        raise UsageError(
            f"column {cells.name!r} has {len(levels)} values: only numbers, dates and columns with "
            "two values can be regressed on others"
        )
    return (cells == levels[1]).cast(pl.Float64).to_numpy()


def _numbers(cells: pl.Series) -> Floats:
    if cells.dtype == pl.String:
        raise UsageError(f"column {cells.name!r} has labels: choose a column of numbers or dates")
    if cells.dtype.is_temporal():
        return cells.cast(pl.Date).cast(pl.Int32).cast(pl.Float64).to_numpy()
    return cells.cast(pl.Float64).to_numpy()
