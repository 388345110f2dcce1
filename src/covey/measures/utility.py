"""Is a release good enough? In the terms of those who will analyse it.

All figures compare the original with tables drawn from the release, as a recipient draws them.
They are for the custodian: some are exact figures of the original.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from covey.measures.marginals import Marginals, marginals
from covey.measures.rubin import Combined, combine
from covey.measures.uses import Estimate, estimates, scale_of, typed_levels
from covey.schema.uses import Use

_NORMAL = 1.959964
FEWEST = 10  # rows of a value that gets figures of its own


@dataclass(frozen=True)
class Figure:
    """An estimate on the original and on the release, each with its interval of 95 %."""

    label: str
    original: float
    original_interval: tuple[float, float]
    released: float
    released_interval: tuple[float, float]

    @property
    def overlap(self) -> float:
        """The share of the intervals that is common to both, on average (Karr et al. 2006)."""
        (a, b), (c, d) = self.original_interval, self.released_interval
        common = min(b, d) - max(a, c)
        widths = [width for width in (b - a, d - c) if width > 0]
        if not widths:
            return float(self.original == self.released)
        return max(sum(common / width for width in widths) / len(widths), 0.0)

    @property
    def keeps_sign(self) -> bool:
        """Whether both estimates have the same sign."""
        return (self.original > 0) == (self.released > 0)

    @property
    def keeps_significance(self) -> bool:
        """Whether zero lies in both intervals or in none."""
        ends = (self.original_interval, self.released_interval)
        inside = [low <= 0 <= high for low, high in ends]
        return inside[0] == inside[1]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        more = {name: getattr(self, name) for name in _CONCLUSIONS}
        return {**asdict(self), **more}


_CONCLUSIONS = ("overlap", "keeps_sign", "keeps_significance")


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
        each = (figure.keeps_sign and figure.keeps_significance for figure in self.figures)
        return bool(self.figures) and not self.lost and all(each)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        figures = [figure.to_dict() for figure in self.figures]
        return {**asdict(self), "figures": figures, "overlap": self.overlap, "kept": self.is_kept}


@dataclass(frozen=True)
class Utility:
    """How good a release is for those who analyse it."""

    rows: int
    rows_original: int
    draws: int
    marginals: Marginals
    pmse_ratio: (
        float | None
    )  # 1 if no model tells drawn rows from original ones; None: not measured
    columns: tuple[UseFigures, ...]  # means, medians and correlations
    uses: tuple[UseFigures, ...]

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
    original: pl.DataFrame, drawn: Sequence[pl.DataFrame], uses: Sequence[str] = (), seed: int = 0
) -> Utility:
    """Compare an original with tables drawn from its release, column by column of the same types.

    A use is a text such as "mean of age by sex"; `covey.schema.uses` has the grammar.
    """
    declared = [Use.of(text, original.columns) for text in uses]
    levels = typed_levels(original, FEWEST)
    figures = partial(_figures, before=original, after=drawn, levels=levels)
    return Utility(
        rows=drawn[0].height,
        rows_original=original.height,
        draws=len(drawn),
        marginals=marginals(original, drawn, seed),
        pmse_ratio=_pmse_ratio(original, drawn[0], levels),
        columns=tuple(map(figures, _usual(original))),
        uses=tuple(map(figures, declared)),
    )


# ── figures ─────────────────────────────────────────────────────────────────────────────────────


def _usual(frame: pl.DataFrame) -> Iterator[Use]:
    """The mean and the median of each column of numbers, and all their correlations."""
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    for name in numbers:
        yield Use(f"mean of {name}", "mean", (name,))
        yield Use(f"median of {name}", "median", (name,))
    for place, name in enumerate(numbers):
        for other in numbers[place + 1 :]:
            yield Use(f"correlation of {name} and {other}", "correlation", (name, other))


def _figures(
    use: Use,
    before: pl.DataFrame,
    after: Sequence[pl.DataFrame],
    levels: Mapping[str, list[str]],
) -> UseFigures:
    """The figures of a use on the original, and on all drawn tables together."""
    truth = {one.label: one for one in estimates(use, before, levels)}
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
    return UseFigures(use.text, tuple(figures), len(truth.keys() ^ whole.keys()))


def _combined(estimates: Sequence[Estimate], scale: float) -> Combined:
    values = [scale * one.value for one in estimates]
    return combine(values, [scale**2 * one.variance for one in estimates])


def _figure(truth: Estimate, found: Combined, back: Any) -> Figure:
    half = _NORMAL * math.sqrt(truth.variance)
    low, high = (back(end) for end in found.interval())
    return Figure(
        truth.label,
        back(truth.value),
        (back(truth.value - half), back(truth.value + half)),
        back(found.estimate),
        (low, high),
    )


# ── can a model tell them apart? ────────────────────────────────────────────────────────────────

_MOST_ROWS = 20_000


def _pmse_ratio(
    before: pl.DataFrame, after: pl.DataFrame, levels: Mapping[str, list[str]]
) -> float | None:
    """How much better than by chance a logistic model tells drawn from original rows.

    The mean squared error of its propensities, divided by that expected if both tables were drawn
    from the same population (Snoke et al. 2018). None without scikit-learn.
    """
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        return None
    tables_ = [frame.sample(min(frame.height, _MOST_ROWS), seed=0) for frame in (before, after)]
    design = _design(pl.concat(tables_), levels)
    if not design.shape[1]:
        return None
    drawn = np.repeat([0, 1], [frame.height for frame in tables_])
    model = LogisticRegression(C=1e6, max_iter=1000).fit(design, drawn)
    share = float(drawn.mean())
    error = float(np.mean((model.predict_proba(design)[:, 1] - share) ** 2))
    expected = design.shape[1] * (1 - share) ** 2 * share / len(drawn)
    return float(error / expected)


def _design(frame: pl.DataFrame, levels: Mapping[str, list[str]]) -> np.ndarray:
    """Numbers in standard units, labels but the most frequent, and what is missing."""
    columns = []
    for cells in frame:
        if cells.null_count():
            columns.append(cells.is_null().cast(pl.Float64).to_numpy())
        if cells.dtype == pl.String:
            columns += [
                (cells == level).fill_null(value=False).cast(pl.Float64).to_numpy()
                for level in levels[cells.name][1:]
            ]
        else:
            numbers = cells.to_physical().cast(pl.Float64)
            mean = numbers.mean()
            filled = numbers.fill_null(mean).to_numpy()
            columns.append((filled - filled.mean()) / (filled.std() or 1.0))
    varied = [column for column in columns if column.std() > 0]
    return np.column_stack(varied) if varied else np.empty((frame.height, 0))
