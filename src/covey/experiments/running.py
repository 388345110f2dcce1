"""Taking the points of figures: one run at a time, so that its seconds mean something.

Figures of time show the processor's seconds: those on the wall depend on what else the machine is
doing, and on how many cores it has.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from covey import pipeline
from covey.clustering.progress import Progress, part_of, silent
from covey.encoding.groups import Groups, Rings
from covey.experiments.data import Part, Sources
from covey.experiments.figures import QUICK_RUNS, RUNS, Figure, Line, Request
from covey.experiments.judging import Curve, Curves, Verdict, judge
from covey.experiments.points import Key, Run, Store
from covey.generalisation import Style, View, generalise
from covey.measures import loss
from covey.studies.comparison import parse_options

_SAMPLE, _SAMPLE_K = 200, 3  # rows that compile whatever a method compiles


@dataclass(frozen=True)
class Drawn:
    """A figure with its points."""

    figure: Figure
    curves: Curves
    verdict: Verdict
    origins: tuple[str, ...]  # of its tables
    setting: str  # what does not vary in it
    left_out: tuple[int, ...]  # places for which the table has too few rows


class Experiment:
    """Figures, the tables that they are taken from, and the runs that are done."""

    def __init__(
        self, figures: Sequence[Figure], sources: Sources, store: Store, *, quick: bool = False
    ) -> None:
        self._figures = figures
        self._sources = sources
        self._store = store
        self.quick = quick
        self._fingerprints: dict[tuple[str, int | None, int | None], str] = {}
        self._warm: set[tuple[str, str]] = set()

    # ── what is to be done ──────────────────────────────────────────────────────────────────────

    def missing(self) -> list[tuple[Request, int]]:
        """The runs that are still to be done, each with its seed, those of one part together."""
        asked = dict.fromkeys(
            (figure.request(line, x, quick=self.quick), seed)
            for figure in self._figures
            for x in self._places(figure)
            for line in figure.lines
            for seed in range(self._runs(line))
        )
        parts = {request.part: place for place, (request, _) in reversed([*enumerate(asked)])}
        missing = [run for run in asked if self._key(*run) not in self._store]
        return sorted(missing, key=lambda run: parts[run[0].part])

    def _places(self, figure: Figure) -> list[int]:
        most = self._most(figure)
        places = figure.places(quick=self.quick)
        return [x for x in places if figure.x != "rows" or x <= most]

    def _most(self, figure: Figure) -> int:
        return min(self._sources[table].frame.height for table in figure.tables)

    def _runs(self, line: Line) -> int:
        return 1 if line.is_steady else QUICK_RUNS if self.quick else RUNS

    def _key(self, request: Request, seed: int) -> Key:
        if request.part not in self._fingerprints:
            self._fingerprints[request.part] = self._part(request).fingerprint
        data = self._fingerprints[request.part]
        return Key(version("covey"), data, request.method, request.k, seed)

    def _part(self, request: Request) -> Part:
        return self._sources[request.table].part(request.rows, request.columns)

    # ── doing it ────────────────────────────────────────────────────────────────────────────────

    def run(self, missing: Sequence[tuple[Request, int]], progress: Progress = silent) -> None:
        """Do the runs that are missing; interrupted, those that were done remain."""
        known: tuple[Request, Part] | None = None
        for done, (request, seed) in enumerate(missing):
            stage = (
                f"{done + 1} of {len(missing)}: {request.table}, {request.method}, k = {request.k}"
            )
            if known is None or known[0].part != request.part:
                known = (request, self._part(request))
            tell = part_of(progress, stage, done, len(missing))
            key = self._key(request, seed)
            if (request.table, request.method) not in self._warm:
                tell(stage, 0.0)
                _warm_up(request.method, known[1])
                self._warm.add((request.table, request.method))
            self._store.add(_run(key, request.table, known[1], tell))

    # ── what came of it ─────────────────────────────────────────────────────────────────────────

    def drawn(self) -> list[Drawn]:
        """Each figure with the points that there are."""
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

    def _done(self, request: Request, runs: int) -> list[Run]:
        keys = [self._key(request, seed) for seed in range(runs)]
        return [self._store[key] for key in keys if key in self._store]


def _curve(figure: Figure, runs: dict[int, list[Run]]) -> Curve:
    values = {
        x: [float(getattr(run, figure.y.measure)) for run in some]
        for x, some in runs.items()
        if some
    }
    return Curve(
        x=tuple(values),
        y=tuple(sum(some) / len(some) for some in values.values()),
        least=tuple(min(some) for some in values.values()),
        most=tuple(max(some) for some in values.values()),
        runs=max((len(some) for some in values.values()), default=0),
        sizes=tuple(
            sum(run.rows / run.groups for run in some) / len(some) for some in runs.values() if some
        ),
    )


def _run(key: Key, table: str, part: Part, tell: Progress) -> Run:
    name, options = _method(key.method)
    encoded = part.encoded
    began, began_cpu = time.perf_counter(), time.process_time()
    groups = pipeline.form_groups(encoded, key.k, name, key.seed, tell, options)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - began_cpu
    lost = loss.measure_groups(encoded, groups)
    by_class = _class_losses(part, groups, key.k)
    return Run(
        **key._asdict(),
        table=table,
        rows=encoded.rows,
        columns=len(encoded.attributes),
        groups=groups.count,
        largest=int(groups.sizes.max()),
        total_il=lost.total_il,
        gcp=lost.gcp,
        precision=1 - lost.mean,
        discernibility=None if by_class is None else by_class.discernibility,
        classification=None if by_class is None else by_class.classification,
        seconds=round(seconds, 6),
        cpu_seconds=round(cpu_seconds, 6),
    )


def _method(written: str) -> tuple[str, dict[str, Any]]:
    name, *options = written.split(":")
    return name, parse_options(options)


def _class_losses(part: Part, groups: Groups | Rings, k: int) -> loss.Losses | None:
    """What can be told of equal rows alone, where the table has classes."""
    if part.class_column is None:
        return None
    released = generalise(part.table, part.encoded, groups, Style())
    return loss.measure(View.of(released, part.encoded), k=k, class_column=part.class_column)


def _warm_up(method: str, part: Part) -> None:
    """Compile what a run needs, so that no run's seconds hold that."""
    name, options = _method(method)
    sample = part.encoded.take(np.arange(min(_SAMPLE, part.encoded.rows)))
    pipeline.form_groups(sample, _SAMPLE_K, name, 0, silent, options)
