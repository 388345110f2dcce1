"""What intruders find in releases of the same people by several methods, and how long that takes.

The parts are `methods`: covey, mondrian, full-domain recoding (Datafly, Sweeney 2002) and a raw
sample of half of the rows, on Adult and on the demonstration; `speed`: the standard set on 200,000
rows; and `anonymeter`, which compares the rates with those of the package anonymeter on tables
drawn from releases, if it is installed: both go from no success to full success on the same tables,
though its attackers are others. They link two halves of a row, guess by the nearest row, and single
out by drawn predicates.
Run: python -m benchmarks.attack [PART …] [--data FOLDER] [--rows N] [-k K]
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks import tables

import covey
from covey import Schema, demo
from covey.attacks import Attack
from covey.schema import ColumnType
from covey.tables import Table

_ATTACKS, _ATTEMPTS = 300, 20_000  # of anonymeter
PARTS = ("methods", "speed", "anonymeter")
WIDTHS = (1, 5, 10, 20, 40)
QUASI = "all quasi-identifiers"
CRITERIA = ("singling out", "linkability", "inference", "tightness", "refinement", "membership")


def people(folder: Path | None, rows: int) -> Iterator[tuple[str, pl.DataFrame, Schema]]:
    adult = tables.adult(folder)
    yield "Adult", adult.sample(rows, seed=1), tables.adult_schema(folder, flat=True)
    yield "demonstration", demo.people(rows), demo.schema()


def recoded(frame: pl.DataFrame, schema: Schema, k: int) -> pl.DataFrame:
    """Datafly: coarsen the column with most values until every class has k rows; suppress none."""
    level = dict.fromkeys(schema.quasi, 0)
    while True:
        shown = frame.with_columns(_level(schema, name, at) for name, at in level.items())
        if shown.select(pl.len().over([*schema.quasi])).to_series().min() >= k:  # type: ignore[operator]
            return shown
        coarsest = {n: shown[n].n_unique() for n in level}
        level[max(coarsest, key=lambda name: coarsest[name])] += 1


def _level(schema: Schema, name: str, level: int) -> pl.Expr:
    kind = schema.columns[name].type
    if kind is not ColumnType.NUMERIC:
        return pl.lit("*").alias(name) if level else pl.col(name).cast(pl.String)
    if level >= len(WIDTHS):
        return pl.lit("*").alias(name)
    low = pl.col(name).cast(pl.Int64) // WIDTHS[level] * WIDTHS[level]
    return pl.format("[{}, {}]", low, low + WIDTHS[level] - 1).alias(name)


def releases(schema: Schema, k: int) -> Iterator[tuple[str, Any]]:
    """Ways to release a table, each a function of it."""

    def by(method: str) -> Any:
        return lambda people: (
            covey.anonymize(people, schema, k=k, method=method, seed=1, register=False).table
        )

    yield "covey", by("covey")
    yield "mondrian", by("mondrian")
    yield "full-domain recoding", lambda people: recoded(_frame(people), schema, k)
    yield "raw sample", lambda people: _frame(people).sample(fraction=0.5)


def _frame(people: Any) -> pl.DataFrame:
    return people.frame if isinstance(people, Table) else people


def methods(folder: Path | None, rows: int, k: int) -> None:
    print("| table | release | " + " | ".join(CRITERIA) + " |")
    print("|---|---|" + "---|" * len(CRITERIA))
    for name, frame, schema in people(folder, rows):
        for label, make in releases(schema, k):
            released = make(frame)
            kept = released.select(n for n in released.columns if not schema.columns[n].is_removed)
            again = _again(make, schema)
            found = covey.attack(kept, frame, schema, k=k, make=again, register=False)
            cells = [_cell(found, criterion) for criterion in CRITERIA]
            print(f"| {name} | {label} | " + " | ".join(cells) + " |", flush=True)


def _again(make: Any, schema: Schema) -> Any:
    def released(some: Table) -> Table:
        shown = make(some.frame)
        return Table(shown.select(n for n in shown.columns if not schema.columns[n].is_removed))

    return released


def _cell(found: Attack, criterion: Any) -> str:
    some = [f for f in found.of(criterion) if f.attacker.group == QUASI]
    if not some:
        return ""
    worst = max(some, key=lambda one: one.rate.gain)
    return f"{worst.rate.rate:.1%} ({worst.rate.chance:.1%})"


def speed(rows: int, k: int) -> None:
    """The standard set on a large table; clustering is not measured, and need not be good."""
    with tempfile.TemporaryDirectory() as folder:
        demo.write(Path(folder), rows)
        schema = Schema.from_toml(Path(folder) / "people.toml")
        frame = pl.read_csv(Path(folder) / "people.csv", infer_schema=False)
        release = covey.anonymize(frame, schema, k=k, method="mondrian", seed=1, register=False)
        began = time.process_time()
        found = covey.attack(release, frame, register=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{frame.height:,} rows, {frame.width} columns: {len(found.findings)} findings in "
        f"{time.process_time() - began:.1f} CPU s, peak {peak:.2f} GiB with all before"
    )


def anonymeter(folder: Path | None, rows: int, k: int) -> None:
    try:
        from anonymeter import evaluators  # type: ignore[import-not-found]
    except ImportError:
        print("anonymeter is not installed: pip install anonymeter")
        return
    frame = tables.adult(folder).sample(rows, seed=1)
    quasi = [*tables.CATEGORIES, *tables.NUMBERS]
    schema = tables.adult_schema(folder, flat=True)
    random = np.random.default_rng(1)
    shuffled = frame.with_columns(
        column.gather(random.permutation(rows)) for column in frame.iter_columns()
    )
    drawn = {"columns shuffled": shuffled}
    for size in (50, k):
        made = covey.anonymize(frame, schema, k=size, seed=1, register=False)
        released = covey.read_release(made.table, schema=schema)
        drawn[f"drawn, k = {size}"] = next(iter(released.drawn(1, 1))).select(frame.columns)
    drawn["the original"] = frame
    halves = ([*quasi[:4]], [*quasi[4:]])
    print("| table | | singling out | linkability | inference |\n|---|---|---|---|---|")
    for name, table in drawn.items():
        found = covey.attack(
            table.with_columns(pl.col(quasi).cast(pl.String)), frame, schema, k=2, trials=0,
            register=False,
        )  # fmt: skip
        ours = [
            max(f.rate.rate for f in found.of(criterion) if f.attacker.group == QUASI)
            for criterion in ("singling out", "linkability", "inference")
        ]
        both = [
            one.select(pl.col([*quasi, tables.SENSITIVE])).to_pandas() for one in (frame, table)
        ]
        judges = (
            evaluators.SinglingOutEvaluator(
                *both, n_attacks=_ATTACKS, n_cols=4, max_attempts=_ATTEMPTS, seed=1
            ),
            evaluators.LinkabilityEvaluator(*both, aux_cols=halves, n_attacks=_ATTACKS),
            evaluators.InferenceEvaluator(
                *both, aux_cols=quasi, secret=tables.SENSITIVE, n_attacks=_ATTACKS
            ),
        )
        theirs = []
        for judge in judges:
            judge.evaluate(*(["multivariate"] if judge is judges[0] else [1]))
            theirs.append(judge.results().attack_rate.value)
        for label, rates in (("covey", ours), ("anonymeter", theirs)):
            print(
                f"| {name} | {label} | " + " | ".join(f"{r:.1%}" for r in rates) + " |", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], default=PARTS)
    parser.add_argument("--rows", type=int)
    parser.add_argument("-k", type=int, default=5)
    tables.add_data_option(parser)
    given = parser.parse_args()
    folder = None if given.data is None else Path(given.data)
    if "methods" in given.part:
        methods(folder, given.rows or 3_000, given.k)
    if "speed" in given.part:
        speed(given.rows or 200_000, given.k)
    if "anonymeter" in given.part:
        anonymeter(folder, given.rows or 2_000, given.k)


if __name__ == "__main__":
    main()
