"""Groups for means: the covey method for the objective sse.

Rows are points, and groups are formed so that the sum of the squared distances to their means is
small. MDAV forms the first groups. Then rows move, change places, leave a group that is dissolved
or form a new one, at random. At first, changes that raise the sum are accepted too; the heat that
decides how many falls until none are. This is simulated annealing. Several runs of it give several
groupings, and each part of the table gets the better groups.

Large tables are worked on in blocks of similar rows, in parallel.
"""

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from covey._core import kernels
from covey._core.arrays import Floats, Longs
from covey.clustering.blocks import large_enough, tiles, workers
from covey.clustering.efforts import ANNEALING
from covey.clustering.points import numbers_alone, points_of
from covey.clustering.progress import STOPPED, Progress, silent
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups

BLOCK = 8_192  # rows that are looked at together
NEAR = 40  # rows, or 2k if that is more, that may change places with a row
HOT, COLD = 10.0, 1e-2  # heat at first and at last, as a share of what a row costs at first
STILL = 10  # sweeps without any heat at the end of each
_DRAWS = 3  # makes these random numbers independent of others


@dataclass(frozen=True)
class AnnealingPlan:
    """The amount of work of an effort: how often a row is looked at."""

    sweeps: int  # over a block of any size
    steps: int  # over all its rows at least, since small blocks need little time
    runs: int = 1  # that the sweeps over a single block are divided into, from hot to cold

    def over(self, rows: int, runs: int) -> int:
        """AnnealingPlan of each of these runs over a block with so many rows."""
        return max(max(self.sweeps, self.steps // rows) // runs, 1)


PLANS = {effort: AnnealingPlan(**plan) for effort, plan in ANNEALING.items()}
_PARTS = 64  # of the work, between which progress is reported and the clock is looked at


def microaggregated(
    table: EncodedTable,
    k: int,
    *,
    seed: int = 0,
    plan: AnnealingPlan = PLANS["balanced"],
    end: float = math.inf,
    start: Groups | None = None,
    progress: Progress = silent,
) -> Groups:
    """Groups with a small sum of squares, never larger than that of the groups at the `start`.

    If there is an `end`, the heat falls so that the work takes until then.
    """
    points = points_of(table)
    everyone = np.arange(table.rows, dtype=np.int32)
    if start is None:
        blocks = large_enough(tiles(table.core, everyone, max(BLOCK, 8 * k)), k)
        labels = [_mdav(points[own], k) for own in blocks]
    else:
        blocks, labels = _whole_groups(table, start, max(BLOCK, 8 * k))
    # More blocks are enough work for all processors, and one long run then gains as much.
    runs = max(plan.runs // len(blocks), 1)
    work = [
        _Run(points[own], known, k, np.random.default_rng((seed, _DRAWS, number, run)))
        for number, (own, known) in enumerate(zip(blocks, labels, strict=True))
        for run in range(runs)
    ]
    _anneal(work, plan.over(max(map(len, blocks)), runs), end, progress)
    found = np.empty(table.rows, dtype=np.int64)
    before = 0
    for number, own in enumerate(blocks):
        best = labels[number]
        for run in work[number * runs : (number + 1) * runs]:
            best = fused(points[own], best, run.labels)
        found[own] = best + before
        before += int(best.max()) + 1
    progress("clustering", 1.0)
    return Groups(np.unique(found, return_inverse=True)[1])


def fused(points: Floats, one: Longs, other: Longs) -> Longs:
    """The best grouping that the groups of two groupings can form.

    Groups that share rows are in the same part of the table. Within a part, the groups of the two
    cannot be mixed, because a row would be in two groups or in none; so the cheaper ones are taken.
    """
    part = np.arange(len(points))
    merging = True
    while merging:
        before = part
        for labels in (one, other):
            lowest = np.full(int(labels.max()) + 1, len(points))
            np.minimum.at(lowest, labels, part)
            part = lowest[labels]
        merging = bool((part != before).any())
    costs = [np.bincount(part, _squares(points, labels)) for labels in (one, other)]
    better = (costs[1] < costs[0])[part]
    joined = np.where(better, other + int(one.max()) + 1, one)
    return np.unique(joined, return_inverse=True)[1]


def sum_of_squares(table: EncodedTable, groups: Groups) -> float:
    """The sum of the squared distances of all points to the means of their groups."""
    return _sum_of_squares(points_of(table), groups.labels)


def _sum_of_squares(points: Floats, labels: Longs) -> float:
    return math.fsum(_squares(points, labels))


def _squares(points: Floats, labels: Longs) -> Floats:
    """The squared distance of each point to the mean of its group."""
    sizes = np.bincount(labels)
    sums = np.stack([np.bincount(labels, column) for column in points.T], axis=1)
    means = sums / np.maximum(sizes, 1)[:, None]
    squares: Floats = ((points - means[labels]) ** 2).sum(axis=1)
    return squares


class _Run:
    """Some rows and their groups, from hot to cold."""

    def __init__(self, points: Floats, labels: Longs, k: int, random: np.random.Generator) -> None:
        self.random = random
        self.heat = HOT * _sum_of_squares(points, labels) / len(labels)
        self.inner = kernels.Annealing(points, labels, k, max(NEAR, 2 * k))

    @property
    def labels(self) -> Longs:
        return self.inner.labels

    def run(self, part: "_Part", watch: kernels.Watch) -> None:
        """Do some sweeps, while the heat falls as the work goes on."""
        whole = COLD / HOT
        fall = whole ** ((part.last - part.first) / part.sweeps)
        self.inner.run(part.sweeps, self.heat * whole**part.first, fall, self.random, watch)

    def settle(self) -> None:
        """Without any heat, the squares only fall. This is quick, so nothing interrupts it."""
        self.inner.run(STILL, 0.0, 1.0, self.random, kernels.Watch())


class _Part(NamedTuple):
    """A part of the work: sweeps, and the share of the work that is done before and after."""

    sweeps: int
    first: float
    last: float


def _parts(sweeps: int) -> Iterator[_Part]:
    """So many sweeps, part by part."""
    parts = min(_PARTS, sweeps)
    for part in range(parts):
        yield _Part(sweeps // parts, part / parts, (part + 1) / parts)


def _timed_parts(end: float) -> Iterator[_Part]:
    """As many sweeps as there is time for; each part is expected to take as long as the last."""
    began, sweeps, done, step = time.monotonic(), 1, 0.0, 0.0
    while done < 1.0:
        before = time.monotonic()
        yield _Part(sweeps, done, min(done + step, 1.0))
        now, time_given = time.monotonic(), max(end - began, 1e-9)
        done, step = (now - began) / time_given, (now - before) / time_given
        if step < 0.5 / _PARTS:
            sweeps, step = 2 * sweeps, 2 * step


def _anneal(work: Sequence[_Run], sweeps: int, end: float, progress: Progress) -> None:
    """Do all of the work; if interrupted, keep the groups so far and report it."""
    watch = kernels.Watch()
    parts = _timed_parts(end) if end < math.inf else _parts(sweeps)
    with ThreadPoolExecutor(workers()) as threads:
        try:
            for part in parts:
                list(threads.map(lambda one: one.run(part, watch), work))  # noqa: B023
                progress("clustering", part.last)
        except KeyboardInterrupt:
            watch.stop()
            progress(STOPPED, 1.0)
    # Here, no run is at work any more, even if interrupted.
    with ThreadPoolExecutor(workers()) as threads:
        list(threads.map(_Run.settle, work))


def _mdav(points: Floats, k: int) -> Longs:
    """The first groups: those of MDAV."""
    width = points.shape[1]
    far = np.full(width, np.inf)
    return kernels.mdav(numbers_alone(points, np.ones(width)), k, far, far, kernels.Watch())


def _whole_groups(
    table: EncodedTable, groups: Groups, most: int
) -> tuple[list[Longs], list[Longs]]:
    """Blocks of whole groups, by the place of a row of each; and the labels in each block."""
    _, first = np.unique(groups.labels, return_index=True)
    room = max(most * groups.count // max(table.rows, 1), 1)
    found = []
    for own in tiles(table.core, first.astype(np.int32), room):
        rows = np.flatnonzero(np.isin(groups.labels, groups.labels[own]))
        found.append((rows, np.unique(groups.labels[rows], return_inverse=True)[1]))
    return [rows for rows, _ in found], [labels for _, labels in found]
