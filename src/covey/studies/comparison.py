"""Compare methods: each on the same table, for each k, by every metric.

A run is a whole release, verified like any other. The table is read once. Nothing is published: a
comparison holds column names and numbers, never cells.
"""

import contextlib
import ctypes
import gc
import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
import polars as pl

from covey import html as pages
from covey import pipeline, tables
from covey.choices import GivenColumns, described_by, popped
from covey.clustering import METHODS, Method, as_method
from covey.clustering.progress import STOPPED, Progress, part_of, silent
from covey.clustering.request import parse_options, refuse_wrong_options
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups
from covey.errors import CoveyError, UsageError, ViolationError
from covey.measures.loss import DEFINITIONS, Losses
from covey.measures.workload import Workload
from covey.release import Release
from covey.report import Rows
from covey.report.writing import Writable
from covey.schema import Role, Schema
from covey.schema.requirements import KAnonymity, PersonShare, Requirement
from covey.tables import Table
from covey.verification import Verdict
from covey.verification.rounding import rounded

Named = str | Callable[..., Any]  # a name with options, a function, or a Method


@dataclass(frozen=True)
class Run:
    """One method at one k, or the `error` it ended with."""

    method: str  # as given, with its options
    name: str
    options: dict[str, Any]
    k: int
    rows: Rows | None = None
    groups: int | None = None
    verdict: Verdict | None = None
    losses: Losses | None = None
    workload: Workload | None = None
    clustering_seconds: float | None = None  # to form the groups
    seconds: float | None = None  # for all stages
    peak_memory: int | None = None  # additional bytes to form the groups, if known
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return {
            **vars(self),
            "rows": self.rows and asdict(self.rows),
            "verdict": self.verdict and self.verdict.to_dict(),
            "losses": self.losses and self.losses.to_dict(),
            "workload": self.workload and asdict(rounded(self.workload)),
        }

    def figures(self) -> dict[str, Any]:
        """The run as one row of a table."""
        # A release without classes has no figures of classes.
        alike = self.losses is not None and self.losses.average_class_size is not None
        classes = self.verdict if alike else None
        return {
            "method": self.method,
            "name": self.name,
            "options": json.dumps(self.options, default=str),
            "k": self.k,
            "rows": self.rows and self.rows.released,
            "suppressed": self.rows and self.rows.suppressed,
            "groups": self.groups,
            "verified_k": self.verdict and self.verdict.checks[0].achieved,
            "classes": classes and classes.classes,
            "smallest_class": classes and classes.k,
            "largest_class": classes and classes.largest_class,
            "clustering_seconds": self.clustering_seconds,
            "seconds": self.seconds,
            "peak_memory": self.peak_memory,
            **_flat(self.losses, without=_NOT_FIGURES),
            **_flat(self.workload),
            "error": self.error,
        }


def _flat(figures: Losses | Workload | None, without: Sequence[str] = ()) -> dict[str, Any]:
    """Figures in one dictionary; the parts of a compound figure are named after it."""
    flat: dict[str, Any] = {}
    for name, value in (asdict(figures) if figures else {}).items():
        if isinstance(value, dict):
            flat |= {f"{name}_{part}": figure for part, figure in value.items()}
        elif name not in without:
            flat[name] = value
    return flat


_NOT_FIGURES = ("rows", "suppressed", "measure", "columns", "worst", "queries")
_TEXTS = ("method", "name", "options", "error")
_COUNTS = ("k", "rows", "suppressed", "groups", "verified_k", "classes",
           "smallest_class", "largest_class", "peak_memory", "discernibility")  # fmt: skip


@dataclass(frozen=True)
class Comparison(Writable):
    """The runs of several methods, with their figures."""

    formats = (".csv", ".json")

    runs: tuple[Run, ...]

    @property
    def frame(self) -> pl.DataFrame:
        """One row per run, one column per figure: see `covey.measures.loss.DEFINITIONS`."""
        rows = [run.figures() for run in self.runs]
        # A refused run has fewer figures; the order is that of the others.
        names = dict.fromkeys(name for row in sorted(rows, key=len, reverse=True) for name in row)
        kinds = {
            name: pl.String if name in _TEXTS else pl.Int64 if name in _COUNTS else pl.Float64
            for name in names
        }
        return pl.DataFrame(rows, schema=kinds)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists, as the JSON file has them."""
        return {
            "covey": version("covey"),
            "definitions": DEFINITIONS,
            "runs": [run.to_dict() for run in self.runs],
        }

    def _repr_html_(self) -> str:
        rows = [(run.method, f"{run.k:,}", *_written(run)) for run in self.runs]
        head = ("method", "k", "Total-IL", "GCP", "classes", "seconds", "refused")
        return pages.snippet("Methods compared", pages.table(head, rows, numbers=range(1, 6)))


def _written(run: Run) -> tuple[str, ...]:
    """The main figures of a run as text, or why there are none."""
    if run.losses is None or run.verdict is None or run.seconds is None:
        return ("", "", "", "", run.error or "")
    figures = run.figures()
    classes = "" if figures["classes"] is None else f"{figures['classes']:,}"
    il, gcp = f"{run.losses.total_il:,.1f}", f"{run.losses.gcp:.4f}"
    return (il, gcp, classes, f"{run.seconds:.2f}", "")


refuse_format = Comparison.refuse_format


@dataclass(frozen=True)
class Setting:
    """What all runs of a comparison have in common."""

    seed: int | None = None
    class_column: str | None = None
    workload: bool = False


_PLAIN = Setting()


class Trial(GivenColumns, total=False):
    """What `compare` takes of the keywords of `anonymize`."""

    l: Any  # noqa: E741 - its name in the literature
    t: Any
    person: str | Literal[False] | None
    seed: int | None
    class_column: str | None


def compare(
    frame: Any,
    schema: Schema | None = None,
    *,
    k: int | Sequence[int],
    methods: Named | Sequence[Named] = "all",
    workload: bool = False,
    progress: Progress = silent,
    **choices: Unpack[Trial],
) -> Comparison:
    """Compare methods by time, memory and every metric of their releases.

    `methods` are functions or methods, or names in `METHODS`, each with options after colons, such
    as `"mondrian:relaxed=true"` or `"cb:l=3:tries=5"`. A string may list several, separated by
    commas, and `"all"` means every method and the variants that their papers describe. CM measures
    the `class_column`; a method uses it only if its options name a penalty, and otherwise gets
    `penalty=0`. With `workload`, query errors and class prediction are measured too.

    Each run is what `anonymize` gives for the same request. If a method refuses it, the run holds
    the error, and the others continue. Memory is the peak while the groups are formed, above what
    was in use before; None if the system does not report it.
    """
    rest: dict[str, Any] = {**choices}
    models = popped(rest, ("l", "t", "person"))
    columns = popped(rest, GivenColumns.__annotations__)
    setting = Setting(workload=workload, **rest)
    frame, known, _ = described_by(frame, schema, columns)
    known = known.requiring(**models)
    return Comparison(
        tuple(runs(frame, known, k=k, methods=methods, setting=setting, progress=progress))
    )


def runs(
    frame: Any,
    schema: Schema,
    *,
    k: int | Sequence[int],
    methods: Named | Sequence[Named] = "all",
    setting: Setting = _PLAIN,
    progress: Progress = silent,
) -> Iterator[Run]:
    """The runs of `compare`, one k after another, each as soon as it is finished."""
    requirements, besides = _requirements(k, schema)
    contenders = _contenders(methods, schema, setting.class_column)
    progress("reading", 0.0)
    task = _Task(tables.read(frame, schema), schema, setting, besides)
    task.check()
    trials = [(contender, size) for size in requirements for contender in contenders]
    for done, (contender, size) in enumerate(trials):
        stage = f"{done + 1} of {len(trials)}: {contender.label}, k = {size.k}"
        yield _run(task, contender, size, part_of(progress, stage, done, len(trials)))


# ── who runs ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Contender:
    label: str
    method: Method
    options: dict[str, Any]


def _requirements(
    k: int | Sequence[int], schema: Schema
) -> tuple[list[KAnonymity], tuple[Requirement, ...]]:
    """A requirement for each k, and the other requirements of the schema."""
    sizes = k if isinstance(k, Sequence) else [k]
    required = [KAnonymity(size, schema.require.person) for size in sizes]
    _refuse_none_or_repeated("k", [f"k = {requirement.k}" for requirement in required])
    besides = [r for r in schema.requirements() if not isinstance(r, KAnonymity | PersonShare)]
    return required, tuple(besides)


def _contenders(
    methods: Named | Sequence[Named], schema: Schema, class_column: str | None
) -> list[_Contender]:
    listed = methods.split(",") if isinstance(methods, str) else methods
    found: list[_Contender] = []
    for item in listed if isinstance(listed, Sequence) else [listed]:
        is_all = isinstance(item, str) and item.strip() == "all"
        named = _all(schema, class_column) if is_all else [item]
        found += [_contender(method, class_column) for method in named]
    _refuse_none_or_repeated("method", [contender.label for contender in found])
    return found


def _all(schema: Schema, class_column: str | None) -> list[str]:
    """Every method, and the variants from their papers that apply."""
    variants = {
        "k-member:penalty=1": class_column is not None,
        "mondrian:relaxed=true": True,
        "cb:l=2": len(schema.names(Role.SENSITIVE)) == 1,
    }
    known = (label for label in variants if label.partition(":")[0] in METHODS)
    return [*METHODS, *(label for label in known if variants[label])]


def _contender(named: Named, class_column: str | None) -> _Contender:
    """A method with its options; without one about classes, it must ignore them."""
    if isinstance(named, str):
        label = named.strip()
        name, *written = label.split(":")
        options, method = parse_options(written), as_method(name)
    else:
        options, method = {}, as_method(named)
        label = method.name
    refuse_wrong_options(method, options)
    minds = "penalty" in inspect.signature(method.function).parameters
    if class_column is not None and minds and not options.keys() & _CLASS_OPTIONS:
        options["penalty"] = 0
    return _Contender(label, method, options)


_CLASS_OPTIONS = {"penalty", "penalise_leftovers"}


def _refuse_none_or_repeated(what: str, given: Sequence[str]) -> None:
    if not given:
        raise UsageError(f"no {what} given to compare")
    for name, times in Counter(given).items():
        if times > 1:
            raise UsageError(f"{name} is given {times} times: give it once")


# ── runs ────────────────────────────────────────────────────────────────────────────────────────

_CLUSTERING = "clustering"


@dataclass(frozen=True, eq=False)
class _Task:
    """What all runs have in common."""

    table: Table
    schema: Schema
    setting: Setting
    besides: tuple[Requirement, ...]  # requirements other than k

    def release(
        self, method: Method, requirement: KAnonymity, progress: Progress = silent, **options: Any
    ) -> Release:
        """The release that the method makes of the table."""
        k, person = requirement.k, requirement.person
        share = [PersonShare(k, person)] if self.schema.require.limit_share else []
        return pipeline.anonymize(
            self.table,
            self.schema,
            require=[requirement, *share, *self.besides],
            method=method,
            seed=self.setting.seed,
            class_column=self.setting.class_column,
            register=False,
            progress=progress,
            **options,
        )

    def worth(self, release: Release, **settings: int) -> Workload | None:
        """How useful the release is, if that is wanted."""
        if not self.setting.workload:
            return None
        return release.workload(self.table, class_column=self.setting.class_column, **settings)

    def check(self) -> None:
        """Raise errors in the request before the first run."""
        smallest = KAnonymity(2, self.schema.require.person)
        release = self.release(as_method(_together), smallest)
        self.worth(release, queries=1)


def _together(table: EncodedTable, _k: int, *, seed: int, progress: Progress) -> Groups:  # noqa: ARG001
    """All rows in one group: a method that refuses nothing."""
    return Groups(np.zeros(table.rows, dtype=np.int64))


def _run(task: _Task, contender: _Contender, requirement: KAnonymity, tell: Progress) -> Run:
    run = Run(contender.label, contender.method.name, contender.options, requirement.k)
    tell(_CLUSTERING, 0.0)
    gc.collect()
    watch = _Watch(tell)
    try:
        release = task.release(contender.method, requirement, watch, **contender.options)
        worth = task.worth(release)
    except ViolationError:
        raise  # not a fault of the request but of covey, which must not hide it
    except CoveyError as error:
        return replace(run, error=str(error))
    except MemoryError:
        return replace(run, error="not enough memory for this table")
    seconds = release.report.seconds
    return replace(
        run,
        rows=release.report.rows,
        groups=release.groups.count,
        verdict=release.verdict,
        losses=release.report.losses,
        workload=worth,
        clustering_seconds=round(seconds[_CLUSTERING], 6),
        seconds=round(sum(seconds.values()), 6),
        peak_memory=watch.peak,
    )


class _Watch:
    """Follow a release stage by stage, to measure the memory needed to form the groups."""

    def __init__(self, tell: Progress) -> None:
        self._tell = tell
        self._clustering = False
        self._before: int | None = None
        self.peak: int | None = None

    def __call__(self, stage: str, done: float) -> None:
        clustering = stage == STOPPED or stage.startswith(_CLUSTERING)
        if clustering and not self._clustering:
            _give_back_memory()
            self._before = _memory("VmRSS") if _forget_peak() else None
        elif self._clustering and not clustering and self._before is not None:
            after = _memory("VmHWM")
            self.peak = None if after is None else max(0, after - self._before)
        self._clustering = clustering
        if clustering:
            self._tell(stage, done)


# ── memory ──────────────────────────────────────────────────────────────────────────────────────

_PROCESS = Path("/proc/self")  # exists on Linux only


def _memory(what: str) -> int | None:
    """A memory figure of the process in bytes; None if the system does not report it."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (_PROCESS / "status").read_text(encoding="ascii").splitlines():
            if line.startswith(f"{what}:"):
                return int(line.split()[1]) * 1024
    return None


def _forget_peak() -> bool:
    """Reset the peak of memory use; return whether that worked."""
    try:
        (_PROCESS / "clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def _give_back_memory() -> None:
    """Return freed memory to the system; otherwise it would be reused and not counted."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
