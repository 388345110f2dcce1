"""Measure every clustering method: its time against a goal, and its loss relative to k-member.

One process on at most two cores. Only clustering is timed: the table is encoded before. A time is
the best of three runs, or a single run if it takes more than 20 seconds. A method that is not in
METHODS is skipped. A method that takes more than `--limit` seconds is stopped at its next progress
report. The output is Markdown. `benchmarks/tables.py` describes the tables.

Run: python -m benchmarks.methods [--data FOLDER] [--only NAME] [--quick]
"""

import argparse
import math
import os
import platform
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

import polars as pl
from benchmarks import tables

import covey
from covey.clustering.progress import Progress
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups, Rings
from covey.generalisation import View, generalise
from covey.measures import loss
from covey.tables import Table

CORES = 2
REPEATS = 3
LONG = 20.0  # seconds; a longer run is not repeated

REFERENCE = "k-member"
SIZES = (30_000, 60_000, 120_000, 240_000, 480_000, 1_000_000)
GROWTH = 1.2  # the goal for the exponent from the smallest to the largest
KS = (5, 10, 50)


@dataclass(frozen=True)
class Case:
    """A method on a table, and its goal in seconds."""

    method: str
    table: str
    rows: int
    k: int
    goal: float | None = None


CASES = (
    *(
        Case(REFERENCE, "Adult resampled", rows, 10, {30_000: 0.3, 1_000_000: 25.0}.get(rows))
        for rows in SIZES
    ),
    Case("cb", "census", 500_000, 100, 15.0),
    Case("kacpc", "Adult", 30_162, 10, 1.0),
    Case("mdav", "census", 500_000, 10, 60.0),
    Case("mondrian", "Adult resampled", 1_000_000, 10, 5.0),
)


class Data:
    """The tables, each read once."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._folder = options.data
        self.adult = tables.adult(options.data)
        self.schema = tables.adult_schema(options.data)
        self.taxonomies = tables.taxonomies(options.data)

    def table(self, name: str, rows: int) -> tuple[pl.DataFrame | None, covey.Schema]:
        match name:
            case "Adult":
                return self.adult, self.schema
            case "census":
                return tables.census(self._folder, rows), tables.census_schema()
            case _:
                return tables.resampled(self.adult, rows), self.schema


# ── measuring ───────────────────────────────────────────────────────────────────────────────────


class TooLongError(Exception):
    """The method exceeded its time limit."""


def stop_after(seconds: float) -> Progress:
    end = time.perf_counter() + seconds

    def watch(_stage: str, _done: float) -> None:
        if time.perf_counter() > end:
            raise TooLongError

    return watch


@dataclass(frozen=True)
class Run:
    """A finished run."""

    seconds: float
    result: Groups | Rings


def run(name: str, table: EncodedTable, k: int, limit: float) -> Run:
    began = time.perf_counter()
    result = covey.METHODS[name](table, k, seed=0, progress=stop_after(limit))
    return Run(time.perf_counter() - began, result)


def best_run(
    name: str, frame: pl.DataFrame, schema: covey.Schema, k: int, options: argparse.Namespace
) -> Run:
    """The fastest of some runs; `TooLongError` if none is within the limit."""
    encoded = encode(Table(frame), schema)
    _ = encoded.core  # made on first use, and part of the encoding
    runs = [run(name, encoded, k, options.limit)]
    if not options.quick and runs[0].seconds <= LONG:
        runs += [run(name, encoded, k, options.limit) for _ in range(REPEATS - 1)]
    return min(runs, key=lambda one: one.seconds)


def total_il(frame: pl.DataFrame, schema: covey.Schema, k: int, result: Groups | Rings) -> float:
    """What a release of these groups loses."""
    encoded = encode(Table(frame), schema)
    released = generalise(Table(frame), encoded, result, covey.Style())
    return loss.measure(View.of(released, encoded), k=k).total_il


# ── tables of results ───────────────────────────────────────────────────────────────────────────


def row(*cells: object) -> None:
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def head(*names: str) -> None:
    print()
    row(*names)
    row(*("---" for _ in names))


def digits(seconds: float) -> str:
    return (
        f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}" if seconds < 10 else f"{seconds:.1f}"
    )


def exponent(small: tuple[int, float], large: tuple[int, float]) -> float:
    """The exponent p, if time grows like rows to the power of p."""
    return math.log(large[1] / small[1], large[0] / small[0])


def goals(cases: Iterable[Case], data: Data, options: argparse.Namespace) -> None:
    """Print the times that have goals."""
    head("method", "table", "rows", "k", "seconds", "exponent", "goal", "kept")
    points: list[tuple[int, float]] = []  # of the growth of k-member
    for case in cases:
        show = partial(row, case.method, case.table, f"{case.rows:,}", case.k)
        goal = f"≤ {case.goal:g} s" if case.goal else ""
        seconds = goal_seconds(case, data, options)
        if isinstance(seconds, str):
            show(seconds, "", goal, "")
            continue
        growth = ""
        if case.method == REFERENCE:
            points.append((case.rows, seconds))
            growth = f"{exponent(*points[-2:]):.2f}" if len(points) > 1 else ""
        kept = ("yes" if seconds <= case.goal else "no") if case.goal else ""
        show(digits(seconds), growth, goal, kept)
    if len(points) > 1:
        print(
            f"\n{REFERENCE} from {points[0][0]:,} to {points[-1][0]:,} rows: exponent "
            f"{exponent(points[0], points[-1]):.2f}, goal ≤ {GROWTH}"
        )


def goal_seconds(case: Case, data: Data, options: argparse.Namespace) -> float | str:
    """The seconds of one case, or the reason why there are none."""
    if case.method not in covey.METHODS:
        return "skipped: not in METHODS"
    frame, schema = data.table(case.table, case.rows)
    if frame is None:
        return f"skipped: {tables.CENSUS} is not in --data"
    try:
        return best_run(case.method, frame, schema, case.k, options).seconds
    except TooLongError:
        return f"stopped after {options.limit:g}"


def losses(names: Iterable[str], data: Data, options: argparse.Namespace) -> None:
    """Print time and loss of all methods on Adult."""
    head("method", "k", "seconds", "Total-IL", f"÷ {REFERENCE}'s")
    for k in KS:
        reference: float | None = None
        for name in names:
            try:
                one = best_run(name, data.adult, data.schema, k, options)
            except TooLongError:
                row(name, k, f"stopped after {options.limit:g}", "", "")
                continue
            lost = total_il(data.adult, data.schema, k, one.result)
            reference = lost if name == REFERENCE else reference
            ratio = f"{lost / reference:.3f}" if reference else ""
            row(name, k, digits(one.seconds), f"{lost:,.0f}", ratio)


def main() -> None:
    options = arguments()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    data = Data(options)
    print(
        f"covey {version('covey')}, Python {platform.python_version()}, "
        f"{CORES} cores at most; Adult with {data.taxonomies} taxonomies"
    )
    wanted = {options.only} if options.only else {*covey.METHODS, *(c.method for c in CASES)}
    cases = [case for case in CASES if case.method in wanted]
    if options.quick:
        cases = [case for case in cases if case.rows <= SIZES[1]]
    goals(cases, data, options)
    if missing := wanted - set(covey.METHODS):
        print(f"\nskipped, not in METHODS: {', '.join(sorted(missing))}")
    # k-member always runs, and first: the others are compared with it.
    others = [name for name in covey.METHODS if name != REFERENCE and name in wanted]
    losses([REFERENCE, *others], data, options)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time and loss of every clustering method.")
    tables.add_data_option(parser)
    parser.add_argument("--only", metavar="NAME", help="run only this method")
    parser.add_argument(
        "--quick", action="store_true", help="one run each, and no table above 60,000 rows"
    )
    parser.add_argument(
        "--limit", type=float, default=300.0, help="stop a method after these seconds"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
