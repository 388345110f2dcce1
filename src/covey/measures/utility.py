"""Is a release good enough? In the terms of those who will analyse it.

All figures compare the original with tables drawn from the release, as a recipient draws them.
They are for the custodian: some are exact figures of the original.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from covey._core.arrays import Floats, Longs
from covey.errors import percent
from covey.measures.marginals import Marginals, marginals
from covey.measures.rubin import Combined, combine
from covey.measures.uses import QUANTILES, Estimate, estimates, scale_of, typed_levels
from covey.schema.uses import Use
from covey.verification.rounding import rounded

_NORMAL = 1.959964
FEWEST = 10  # rows of a value or a use that gets figures of its own


Ends = tuple[float, float]


@dataclass(frozen=True)
class Figure:
    """An estimate on the original and on the release, each with its interval of 95 %."""

    label: str
    original: float | None  # None in a report, which others may read
    original_interval: Ends | None
    released: float
    released_interval: Ends
    overlap: float  # the share of the intervals common to both, on average (Karr et al. 2006)
    keeps_sign: bool  # both estimates have the same sign
    keeps_significance: bool  # zero lies in both intervals or in none

    @classmethod
    def of(cls, label: str, before: float, ends: Ends, after: float, released: Ends) -> "Figure":
        """Compare two estimates and their intervals."""
        common = min(ends[1], released[1]) - max(ends[0], released[0])
        widths = [high - low for low, high in (ends, released) if high > low]
        shares = [common / width for width in widths]
        overlap = max(sum(shares) / len(shares), 0.0) if shares else float(before == after)
        same_sign = (before > 0) == (after > 0)
        insignificant = [low <= 0 <= high for low, high in (ends, released)]
        same = insignificant[0] == insignificant[1]
        return cls(label, before, ends, after, released, overlap, same_sign, same)

    @property
    def is_kept(self) -> bool:
        """Whether an analyst would conclude the same."""
        return self.keeps_sign and self.keeps_significance

    def published(self) -> "Figure":
        """Without the figures of the original."""
        return replace(self, original=None, original_interval=None)


@dataclass(frozen=True)
class UseFigures:
    """A declared use, and its figures on both tables."""

    use: str
    figures: tuple[Figure, ...]
    lost: int  # figures that only one of both tables has

    @property
    def overlap(self) -> float | None:
        """The mean overlap of its intervals."""
        found = [figure.overlap for figure in self.figures]
        return sum(found) / len(found) if found else None

    @property
    def is_kept(self) -> bool:
        """Whether an analyst would conclude the same: all signs and significances are kept."""
        return bool(self.figures) and not self.lost and all(each.is_kept for each in self.figures)

    def rows(self) -> list[tuple[str, ...]]:
        """Its figures as texts, under `_HEADS`."""
        return [
            (
                f"{self.use}{f': {each.label}' if each.label else ''}",
                _spelled(each.original, each.original_interval),
                _spelled(each.released, each.released_interval),
                percent(each.overlap),
                "yes" if each.is_kept else "no",
            )
            for each in self.figures
        ] or [(self.use, "", "", "", "too few rows")]

    def published(self, name: str) -> "UseFigures":
        """Without figures of the original; of too few rows, not even with its words."""
        figures = tuple(figure.published() for figure in self.figures)
        return replace(self, use=self.use if figures else name, figures=figures)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {**asdict(self), "overlap": self.overlap, "kept": self.is_kept}


def _spelled(number: float | None, ends: Ends | None) -> str:
    """An estimate and its interval."""
    if number is None or ends is None:
        return "–"
    low, high = map(_digits, ends)
    return f"{_digits(number)} ({low} to {high})"


def _digits(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def share_kept(uses: Sequence[UseFigures]) -> float | None:
    """The share of uses that are kept; None if there are none."""
    return sum(use.is_kept for use in uses) / len(uses) if uses else None


def mean_overlap(uses: Sequence[UseFigures]) -> float | None:
    """The mean overlap of uses; one without common figures counts as 0."""
    return sum(use.overlap or 0.0 for use in uses) / len(uses) if uses else None


_HEADS = ("figure", "original", "release", "overlap", "same conclusion")


def shown(uses: Sequence[UseFigures]) -> tuple[list[str], list[list[str]]]:
    """The figures of some uses as texts under heads, without the original if it is not known."""
    known = any(each.original is not None for use in uses for each in use.figures)
    places = [place for place, head in enumerate(_HEADS) if known or head != "original"]
    rows = [[row[place] for place in places] for use in uses for row in use.rows()]
    return [_HEADS[place] for place in places], rows


@dataclass(frozen=True)
class Utility:
    """How good a release is for those who analyse it."""

    rows: int
    rows_original: int
    draws: int
    marginals: Marginals
    pmse_ratio: float | None  # 1 if no model tells drawn rows from original ones
    columns: tuple[UseFigures, ...]  # means, quartiles and correlations
    uses: tuple[UseFigures, ...]

    def published(self) -> "Utility":
        """What a report may say to anyone who has the release: no figure of the original."""
        columns = tuple(each.published(each.use) for each in self.columns)
        uses = tuple(each.published(f"use {i}") for i, each in enumerate(self.uses, 1))
        return rounded(replace(self, columns=columns, uses=uses))

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        both = self.marginals
        pairs = [{"columns": [*pair], "distance": both.distances[pair]} for pair in both.worst]
        return {
            **{name: getattr(self, name) for name in ("rows", "rows_original", "draws")},
            "k_marginal": {
                "pairs": both.score,
                "triples": both.triples,
                "as_sample": both.as_sample,
            },
            "distances": pairs,
            "pmse_ratio": self.pmse_ratio,
            "columns": [each.to_dict() for each in self.columns],
            "uses": [each.to_dict() for each in self.uses],
        }


def utility(
    original: pl.DataFrame,
    drawn: Sequence[pl.DataFrame],
    uses: Sequence[str] = (),
    seed: int = 0,
    fewest: int = FEWEST,
) -> Utility:
    """Compare an original with tables drawn from its release, column by column of the same types.

    A use is a text such as "mean of age by sex"; `covey.schema.uses` has the grammar. No figure is
    that of fewer than `fewest` rows.
    """
    levels = typed_levels(original, fewest)
    return Utility(
        rows=drawn[0].height,
        rows_original=original.height,
        draws=len(drawn),
        marginals=marginals(original, drawn, seed),
        pmse_ratio=_pmse_ratio(original, drawn[0], levels),
        columns=of_uses(original, drawn, [*_usual(original)], fewest),
        uses=of_uses(original, drawn, read(uses, original), fewest),
    )


def read(uses: Sequence[str], frame: pl.DataFrame) -> list[Use]:
    """The uses of a table with these columns."""
    return [Use.of(text, frame.columns) for text in uses]


def of_uses(
    original: pl.DataFrame,
    drawn: Sequence[pl.DataFrame],
    uses: Sequence[Use],
    fewest: int = FEWEST,
) -> tuple[UseFigures, ...]:
    """The figures of some uses."""
    levels = typed_levels(original, fewest)
    return tuple(_figures(use, original, drawn, levels, fewest) for use in uses)


# ── figures ─────────────────────────────────────────────────────────────────────────────────────


def _usual(frame: pl.DataFrame) -> Iterator[Use]:
    """The mean and the quartiles of each column of numbers, and all their correlations."""
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    for name in numbers:
        for kind in ("mean", *QUANTILES):
            yield Use(f"{kind} of {name}", kind, (name,))
    for place, name in enumerate(numbers):
        for other in numbers[place + 1 :]:
            yield Use(f"correlation of {name} and {other}", "correlation", (name, other))


def _figures(
    use: Use,
    before: pl.DataFrame,
    after: Sequence[pl.DataFrame],
    levels: Mapping[str, list[str]],
    fewest: int,
) -> UseFigures:
    """The figures of a use on the original, and on all drawn tables together."""
    every = {one.label: one for one in estimates(use, before, levels)}
    truth = {label: one for label, one in every.items() if one.rows >= fewest}
    found: dict[str, list[Estimate]] = {}
    for frame in after:
        for one in estimates(use, frame, levels):
            found.setdefault(one.label, []).append(one)
    whole = {label: some for label, some in found.items() if len(some) == len(after)}
    scale = before.height / after[0].height if use.kind == "count" else 1.0
    figures = [
        _figure(truth[label], _combined(whole[label], scale), back=scale_of(use))
        for label in truth
        if label in whole
    ]
    lost = len(truth.keys() - whole.keys()) + len(whole.keys() - every.keys())
    return UseFigures(use.text, tuple(figures), lost)


def _combined(estimates: Sequence[Estimate], scale: float) -> Combined:
    values = [scale * one.value for one in estimates]
    return combine(values, [scale**2 * one.variance for one in estimates])


def _figure(truth: Estimate, found: Combined, back: Any) -> Figure:
    half = _NORMAL * math.sqrt(truth.variance)
    low, high = (back(end) for end in found.interval())
    return Figure.of(
        truth.label,
        back(truth.value),
        (back(truth.value - half), back(truth.value + half)),
        back(found.estimate),
        (low, high),
    )


# ── can a model tell them apart? ────────────────────────────────────────────────────────────────

_MOST_ROWS = 20_000  # of each table
_MOST_LABELS = 60  # of a column
_MOST_STEPS, _STEADY = 25, 1e-6
_RIDGE = 1e-3  # so that a column that tells them apart at once has no infinite weight


def _pmse_ratio(
    before: pl.DataFrame, after: pl.DataFrame, levels: Mapping[str, list[str]]
) -> float | None:
    """How much better than by chance a logistic model tells drawn from original rows.

    The mean squared error of its propensities, divided by that expected if both tables were drawn
    from the same population (Snoke et al. 2018). None if all rows are equal.
    """
    tables_ = [frame.sample(min(frame.height, _MOST_ROWS), seed=0) for frame in (before, after)]
    design = _design(pl.concat(tables_), levels)
    if not design.shape[1]:
        return None
    drawn = np.repeat([0, 1], [frame.height for frame in tables_])
    share = float(drawn.mean())
    error = float(np.mean((_propensities(design, drawn) - share) ** 2))
    expected = design.shape[1] * (1 - share) ** 2 * share / len(drawn)
    return float(error / expected)


def _propensities(design: Floats, drawn: Longs) -> Floats:
    """The chance that each row was drawn, by logistic regression (Newton's method)."""
    columns = np.column_stack([np.ones(len(design)), design])
    found, fitted = np.zeros(columns.shape[1]), np.full(len(design), 0.5)
    for _ in range(_MOST_STEPS):
        curvature = (columns.T * (fitted * (1 - fitted))) @ columns + _RIDGE * np.eye(len(found))
        step = np.linalg.solve(curvature, columns.T @ (drawn - fitted) - _RIDGE * found)
        found += step
        fitted = 1 / (1 + np.exp(-np.clip(columns @ found, -30, 30)))
        if np.abs(step).max() < _STEADY:
            break
    return fitted


def _design(frame: pl.DataFrame, levels: Mapping[str, list[str]]) -> np.ndarray:
    """Numbers in standard units, labels but the most frequent, and what is missing."""
    columns = []
    for cells in frame:
        if cells.null_count():
            columns.append(cells.is_null().cast(pl.Float64).to_numpy())
        if cells.dtype == pl.String:
            columns += [
                (cells == level).fill_null(value=False).cast(pl.Float64).to_numpy()
                for level in levels[cells.name][1 : 1 + _MOST_LABELS]
            ]
        else:
            numbers = cells.to_physical().cast(pl.Float64)
            mean = numbers.mean()
            filled = numbers.fill_null(mean).to_numpy()
            columns.append((filled - filled.mean()) / (filled.std() or 1.0))
    varied = [column for column in columns if column.std() > 0]
    return np.column_stack(varied) if varied else np.empty((frame.height, 0))
