"""What an analyst wants from a table, in words, and its estimate with its variance.

mean of length_of_stay by diagnosis
share of outcome = died where age >= 65
count by zip where sex = f and age >= 65
regress income on age, sex, education
"""

import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from covey._core.arrays import Floats
from covey.errors import UsageError, nearest

_TOKEN = re.compile(r'\s*("[^"]*"|[<>!]=|[=<>,]|[^\s=<>!,"]+)')
_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_KINDS = ("mean", "median", "share", "count", "correlation", "regress")
_NORMAL = 1.959964  # half the width of an interval of 95 %, in standard errors
OTHERS = "all others"  # of the values that too few rows have


class Estimate(NamedTuple):
    """A figure of a table and its variance."""

    label: str
    value: float
    variance: float


@dataclass(frozen=True)
class Condition:
    """A comparison of a column with a value."""

    column: str
    sign: str
    value: str

    def of(self, frame: pl.DataFrame) -> pl.Series:
        """Which rows meet it."""
        cells = frame[self.column]
        met: pl.Series = _SIGNS[self.sign](cells, _value_of(self.value, cells))
        return met.fill_null(value=False)


@dataclass(frozen=True)
class Use:
    """Something that the table is released for."""

    text: str
    kind: str
    columns: tuple[str, ...]  # what is estimated, the outcome of a regression first
    by: str | None = None
    where: tuple[Condition, ...] = ()
    value: str | None = None  # whose share is wanted

    @classmethod
    def of(cls, text: str, names: Collection[str]) -> "Use":
        """Read a use of a table with these columns."""
        return _Reader(text, names).use()

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that it needs."""
        more = () if self.by is None else (self.by,)
        return tuple(dict.fromkeys((*self.columns, *more, *(c.column for c in self.where))))

    @property
    def back(self) -> Callable[[float], float]:
        """From the scale on which it is estimated to that of the figure itself."""
        return math.tanh if self.kind == "correlation" else float

    def estimates(self, frame: pl.DataFrame, levels: Mapping[str, list[str]]) -> list[Estimate]:
        """Its figures in a table with typed columns; none where too few rows are left.

        `levels` are the values of columns of categories that get figures of their own.
        """
        part = frame.filter(*(condition.of(frame) for condition in self.where))
        if self.by is None:
            return [*self._of(part, "", frame.height, levels)]
        groups = _as_levels(part[self.by], levels[self.by])
        return [
            estimate
            for level in levels[self.by]
            for estimate in self._of(part.filter(groups == level), level, frame.height, levels)
        ]

    def _of(
        self, part: pl.DataFrame, label: str, rows: int, levels: Mapping[str, list[str]]
    ) -> Iterator[Estimate]:
        if self.kind == "count":
            share = part.height / rows
            yield Estimate(label, part.height, rows * share * (1 - share))
        elif self.kind == "regress":
            yield from _regression(part.select(self.columns), self.columns[0], levels)
        elif self.kind == "correlation":
            yield from _correlation(part.select(self.columns).drop_nulls())
        else:
            yield from self._of_one(part[self.columns[0]].drop_nulls(), label)

    def _of_one(self, cells: pl.Series, label: str) -> Iterator[Estimate]:
        if len(cells) < 2:
            return
        if self.kind == "share":
            met = (cells == _value_of(str(self.value), cells)).to_numpy()
            yield Estimate(label, float(met.mean()), float(met.var() / len(met)))
            return
        numbers = np.sort(cells.cast(pl.Float64).to_numpy())
        if self.kind == "mean":
            yield Estimate(label, float(numbers.mean()), float(numbers.var(ddof=1)) / len(numbers))
            return
        # The ranks between which the median lies in 95 % of samples (Woodruff 1952).
        middle, half = len(numbers) / 2, _NORMAL * math.sqrt(len(numbers)) / 2
        ends = np.clip([middle - half, middle + half - 1], 0, len(numbers) - 1).astype(int)
        low, high = numbers[ends]
        error = float(high - low) / (2 * _NORMAL)
        yield Estimate(label, float(np.median(numbers)), error**2)


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
    one, other = (frame.to_series(j).cast(pl.Float64).to_numpy() for j in range(2))
    if one.std() and other.std():
        found = np.clip(np.corrcoef(one, other)[0, 1], -1 + 1e-12, 1 - 1e-12)
        yield Estimate("", float(np.arctanh(found)), 1 / (frame.height - 3))


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
    yield from map(Estimate, labels, coefficients.tolist(), variances.tolist())


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
    if cells.dtype.is_temporal():
        return cells.cast(pl.Date).cast(pl.Int32).cast(pl.Float64).to_numpy()
    return cells.cast(pl.Float64).to_numpy()


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


class _Reader:
    """The words of a use, one after another."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text, self.names = text, names
        self.words: list[str] = _TOKEN.findall(text)
        if "".join(self.words).replace(" ", "") != re.sub(r"\s", "", text) or not self.words:
            raise self._wrong("it has a quote without an end")

    def use(self) -> Use:
        """The whole of it."""
        kind = self._next("a kind of use").lower()
        if kind not in _KINDS:
            raise self._wrong(f"it must begin with one of {', '.join(_KINDS)}")
        columns, value = self._of(kind)
        by = self._column() if self._skip("by") else None
        where: list[Condition] = []
        while self._skip("and" if where else "where"):
            where.append(self._condition())
        if self.words:
            raise self._wrong(f"{self.words[0]!r} was not expected there")
        return Use(self.text.strip(), kind, columns, by, tuple(where), value)

    def _of(self, kind: str) -> tuple[tuple[str, ...], str | None]:
        if kind == "count":
            return (), None
        if kind == "regress":
            outcome = self._column()
            self._need("on")
            columns = [outcome, self._column()]
            while self._skip(","):
                columns.append(self._column())
            return tuple(dict.fromkeys(columns)), None
        self._need("of")
        first = self._column()
        if kind == "correlation":
            self._need("and")
            other = self._column()
            if other == first:
                raise self._wrong("it needs two columns")
            return (first, other), None
        if kind == "share":
            self._need("=")
            return (first,), self._next("a value").strip('"')
        return (first,), None

    def _condition(self) -> Condition:
        column, sign = self._column(), self._next("one of = != < <= > >=")
        if sign not in _SIGNS:
            raise self._wrong(f"after {column!r} comes one of = != < <= > >=, not {sign!r}")
        return Condition(column, sign, self._next("a value").strip('"'))

    def _column(self) -> str:
        name = self._next("a column").strip('"')
        if name not in self.names:
            what = f"the table has no column {name!r}{nearest(name, self.names)}"
            raise self._wrong(what)
        return name

    def _next(self, what: str) -> str:
        if not self.words:
            raise self._wrong(f"{what} is missing at its end")
        return self.words.pop(0)

    def _skip(self, word: str) -> bool:
        found = bool(self.words) and self.words[0].lower() == word
        if found:
            self.words.pop(0)
        return found

    def _need(self, word: str) -> None:
        if not self._skip(word):
            raise self._wrong(f"{word!r} is missing")

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"the use {self.text.strip()!r} cannot be read: {what}")
