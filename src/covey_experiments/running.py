"""Measure the points of figures, one run at a time, so that runs do not slow each other down.

Figures of time show processor seconds. Elapsed time depends on what else the machine is doing, and
on how many cores it has.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from statistics import fmean
from typing import Any

import covey
from covey.methods import STOPPED
from covey_experiments.data import Datasets, Subset
from covey_experiments.figures import QUICK_RUNS, RUNS, Figure, Line, Target
from covey_experiments.judging import Curve, Curves, Verdict, judge
from covey_experiments.points import Key, Measurement, Store

Progress = Callable[[str, float], None]


def silent(stage: str, done: float) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Drawn:
    """A figure with its points."""

    figure: Figure
    curves: Curves
    verdict: Verdict
    origins: tuple[str, ...]  # of its tables
    setting: str  # the fixed values, such as k
    left_out: tuple[int, ...]  # values of n that exceed the rows of the table


class Experiment:
    """Figures, the tables that they are measured on, and the finished runs."""

    def __init__(
        self, figures: Sequence[Figure], sources: Datasets, store: Store, *, quick: bool = False
    ) -> None:
        self._figures = figures
        self._sources = sources
        self._store = store
        self.quick = quick
        self._fingerprints: dict[tuple[str, int | None, int | None], str] = {}

    # ── missing runs ────────────────────────────────────────────────────────────────────────────

    def missing(self) -> list[tuple[Target, int]]:
        """The runs that are not done yet, each with its seed; runs on one part are adjacent."""
        runs = dict.fromkeys(
            (figure.request(line, x, quick=self.quick), seed)
            for figure in self._figures
            for x in self._places(figure)
            for line in figure.lines
            for seed in range(self._runs(line))
        )
        parts = {request.part: place for place, (request, _) in reversed([*enumerate(runs)])}
        missing = [run for run in runs if self._key(*run) not in self._store]
        return sorted(missing, key=lambda run: parts[run[0].part])

    def _places(self, figure: Figure) -> list[int]:
        most = self._most(figure)
        places = figure.places(quick=self.quick)
        return [x for x in places if figure.x != "rows" or x <= most]

    def _most(self, figure: Figure) -> int:
        return min(self._sources[table].frame.height for table in figure.tables)

    def _runs(self, line: Line) -> int:
        return 1 if line.is_steady else QUICK_RUNS if self.quick else RUNS

    def _key(self, request: Target, seed: int) -> Key:
        if request.part not in self._fingerprints:
            self._fingerprints[request.part] = self._part(request).fingerprint
        data = self._fingerprints[request.part]
        return Key(version("covey"), data, request.method, request.k, seed)

    def _part(self, request: Target) -> Subset:
        return self._sources[request.table].part(request.rows, request.columns)

    def run(self, missing: Sequence[tuple[Target, int]], progress: Progress = silent) -> None:
        """Do the missing runs. After an interruption, the finished runs remain."""
        known: tuple[Target, Subset] | None = None
        for done, (request, seed) in enumerate(missing):
            stage = (
                f"{done + 1} of {len(missing)}: {request.table}, {request.method}, k = {request.k}"
            )
            if known is None or known[0].part != request.part:
                known = (request, self._part(request))
            progress(stage, done / len(missing))
            part, key = known[1], self._key(request, seed)
            clock = _Clock(progress, stage, done, len(missing))
            self._store.add(_run(key, request.table, part, clock))

    # ── results ─────────────────────────────────────────────────────────────────────────────────

    def drawn(self) -> list[Drawn]:
        """Each figure with the points measured so far."""
        return [self._drawn(figure) for figure in self._figures]

    def _drawn(self, figure: Figure) -> Drawn:
        places = self._places(figure)
        runs = {
            (line.label, x): self._done(figure.request(line, x, quick=self.quick), self._runs(line))
            for line in figure.lines
            for x in places
        }
        curves = {
            line.label: _curve(figure, {x: runs[line.label, x] for x in places})
            for line in figure.lines
        }
        whole = all(
            len(runs[line.label, x]) == self._runs(line) for line in figure.lines for x in places
        )
        return Drawn(
            figure=figure,
            curves=curves,
            verdict=judge(figure.parts, curves) if whole else Verdict(()),
            origins=tuple(self._sources[table].origin for table in figure.tables),
            setting=figure.setting(quick=self.quick, most=self._most(figure)),
            left_out=tuple(x for x in figure.places(quick=self.quick) if x not in places),
        )

    def _done(self, request: Target, runs: int) -> list[Measurement]:
        keys = [self._key(request, seed) for seed in range(runs)]
        return [self._store[key] for key in keys if key in self._store]


def _curve(figure: Figure, runs: dict[int, list[Measurement]]) -> Curve:
    taken = {x: some for x, some in runs.items() if some}
    values = [[float(getattr(run, figure.y.measure)) for run in some] for some in taken.values()]
    return Curve(
        x=tuple(taken),
        y=tuple(map(fmean, values)),
        least=tuple(map(min, values)),
        most=tuple(map(max, values)),
        runs=max(map(len, values), default=0),
        sizes=tuple(fmean(run.rows / run.groups for run in some) for some in taken.values()),
    )


class _Clock:
    """Measures time from the start of clustering, which `covey.cluster` reports."""

    def __init__(self, progress: Progress, stage: str, done: int, total: int) -> None:
        self._progress, self._stage = progress, stage
        self._done, self._total = done, total
        self._began: tuple[float, float] | None = None

    def __call__(self, stage: str, share: float) -> None:
        if stage == STOPPED:
            raise KeyboardInterrupt  # unfinished groups are not a point
        if stage.startswith("clustering"):
            self._began = self._began or (time.perf_counter(), time.process_time())
            self._progress(self._stage, (self._done + share) / self._total)

    def seconds(self) -> tuple[float, float]:
        """Elapsed seconds and processor seconds."""
        assert self._began is not None
        wall, processor = self._began
        return round(time.perf_counter() - wall, 6), round(time.process_time() - processor, 6)


def _run(key: Key, table: str, part: Subset, clock: _Clock) -> Measurement:
    groups = _cluster(part, key.method, key.k, key.seed, clock)
    seconds, cpu_seconds = clock.seconds()
    losses = covey.measure(part.frame, groups, part.schema, k=key.k, class_column=part.class_column)
    return Measurement(
        **key._asdict(),
        table=table,
        rows=losses.rows,
        columns=len(losses.columns),
        groups=groups.count,
        largest=int(groups.sizes.max()),
        total_il=losses.total_il,
        gcp=losses.gcp,
        precision=losses.precision,
        discernibility=losses.discernibility,
        classification=losses.classification,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
    )


def _cluster(part: Subset, method: str, k: int, seed: int, progress: Progress) -> Any:
    """The groups of a method, given with its options as in `cb:restarts=8`."""
    name, *written = method.split(":")
    pairs = (option.split("=") for option in written)
    options: dict[str, Any] = {
        option: int(value) if value.isdigit() else value for option, value in pairs
    }
    return covey.cluster(
        part.frame, part.schema, k=k, method=name, seed=seed, class_column=part.class_column,
        progress=progress, **options,
    )  # fmt: skip
