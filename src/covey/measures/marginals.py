"""How much of the joint distribution of columns a release keeps: k-marginals, as NIST scores them.

The distribution of two columns in one table is laid beside that in the other. The score is 1,000
if all pairs of columns agree, and 0 if none has a row in common. Random samples of the original get
scores, too, so that a score can be said as "as good as a sample of 40 %".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from covey._core.arrays import Longs

BINS = 20  # of columns with more numbers or dates
_LABELS = 60  # of columns with more labels; the rarest count as one
_SETS = 200  # of columns that are compared
_MOST_ROWS = 200_000  # of each table, chosen at random
SAMPLES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)


@dataclass(frozen=True)
class Marginals:
    """How far the joint distributions of columns in a release are those of the original."""

    score: float  # of all pairs of columns, 0 to 1,000
    triples: float | None  # the same of sets of three columns; None if there are only two
    as_sample: float  # a random sample of the original with this share of rows has that score
    distances: Mapping[tuple[str, str], float]  # total variation distance of each pair, 0 to 1

    @property
    def worst(self) -> list[tuple[str, str]]:
        """The pairs of columns, the least kept first."""
        return sorted(self.distances, key=lambda pair: -self.distances[pair])


def marginals(original: pl.DataFrame, drawn: Sequence[pl.DataFrame], seed: int = 0) -> Marginals:
    """Compare the columns of the original with those of tables that were drawn from a release."""
    random = np.random.default_rng(seed)
    some = [
        _at_most(frame, _MOST_ROWS, seed + place) for place, frame in enumerate([original, *drawn])
    ]
    coded, *others = _coded(some)
    pairs = _some(combinations(original.columns, 2), random)
    triples = _some(combinations(original.columns, 3), random)
    distances = _means([_distances(coded, other, pairs) for other in others])
    sampled = [_sample(coded, share, random) for share in SAMPLES]
    scores = [_score(_distances(coded, sample, pairs).values()) for sample in sampled]
    of_triples = _means([_distances(coded, other, triples) for other in others])
    score = _score(distances.values())
    return Marginals(
        score,
        _score(of_triples.values()) if triples else None,
        float(np.interp(score, [0, *np.maximum.accumulate(scores), 1000], [0, *SAMPLES, 1])),
        {(names[0], names[1]): far for names, far in distances.items()},
    )


Coded = Mapping[str, Longs]
Distances = Mapping[tuple[str, ...], float]


def _at_most(frame: pl.DataFrame, rows: int, seed: int) -> pl.DataFrame:
    return frame if frame.height <= rows else frame.sample(rows, seed=seed)


def _some(sets: Iterable[tuple[str, ...]], random: np.random.Generator) -> list[tuple[str, ...]]:
    every = [*sets]
    chosen = random.choice(len(every), _SETS, replace=False) if len(every) > _SETS else None
    return every if chosen is None else [every[place] for place in sorted(chosen)]


def _coded(frames: Sequence[pl.DataFrame]) -> Iterator[Coded]:
    """Each column as whole numbers, the same for equal values of all tables."""
    names = frames[0].columns
    codes = {name: _codes([frame[name] for frame in frames]) for name in names}
    for place in range(len(frames)):
        yield {name: codes[name][place] for name in names}


def _codes(columns: Sequence[pl.Series]) -> list[Longs]:
    """Numbers and dates by bins with equally many rows of the first table; -1 + 1 for missing."""
    first = columns[0]
    if first.dtype != pl.String:
        numbers = [cells.to_physical().cast(pl.Float64) for cells in columns]
        known = numbers[0].drop_nulls()
        edges = known.unique().sort().to_numpy()
        if len(edges) > BINS:
            edges = np.unique(np.quantile(known.to_numpy(), np.arange(BINS) / BINS))
        return [_in_bins(cells, edges) for cells in numbers]
    often = first.drop_nulls().value_counts().sort("count", first.name)[first.name].to_list()
    place = {label: 2 + j for j, label in enumerate(often[::-1][:_LABELS])}
    return [
        np.array([0 if cell is None else place.get(cell, 1) for cell in cells], dtype=np.int64)
        for cells in columns
    ]


def _in_bins(numbers: pl.Series, edges: np.ndarray) -> Longs:
    found = np.searchsorted(edges, numbers.fill_null(0.0).to_numpy(), side="right") + 1
    return np.where(numbers.is_null().to_numpy(), 0, found).astype(np.int64)


def _sample(coded: Coded, share: float, random: np.random.Generator) -> Coded:
    rows = len(next(iter(coded.values())))
    chosen = random.choice(rows, max(round(share * rows), 1), replace=False)
    return {name: codes[chosen] for name, codes in coded.items()}


def _distances(one: Coded, other: Coded, sets: Sequence[tuple[str, ...]]) -> Distances:
    """The total variation distance of each set of columns."""
    return {names: _distance(one, other, names) for names in sets}


def _distance(one: Coded, other: Coded, names: Sequence[str]) -> float:
    widths = [int(max(table[name].max(initial=0) for table in (one, other))) + 1 for name in names]
    shares = [
        np.bincount(np.ravel_multi_index([table[name] for name in names], widths))
        / len(table[names[0]])
        for table in (one, other)
    ]
    most = max(map(len, shares))
    first, second = (np.pad(share, (0, most - len(share))) for share in shares)
    return float(np.abs(first - second).sum() / 2)


def _means(found: Sequence[Distances]) -> Distances:
    return {names: float(np.mean([one[names] for one in found])) for names in found[0]}


def _score(distances: Iterable[float]) -> float:
    return 1000 * (1 - float(np.mean([*distances])))
