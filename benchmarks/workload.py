"""Train a classifier on releases, and try it on ordinary rows that no release contains.

In each run, a fifth of the rows is held back, and the rest is released, each time by another key.
Boosted trees learn a class from the release, and predict it for the rows that were held back. The
AUC is 0.5 by chance, and 1 if it is perfect.

- "AUC": learnt from the cells, by `covey.sklearn.ReleaseEncoder`
- "draws": learnt from two tables drawn from the release (`covey.read_release`), one below the other
- "widths": learnt from the cells and how wide they are
- "within": the same, but learnt from one half of the release and tried on its other half
- "CM": the classification metric of the release

Figures are means over the runs, with the standard error of the mean. "To covey" is the difference
to the covey method in the same runs. anonypyx runs in its own environment, and is skipped where pip
cannot install it.

The tables: Adult (salary class), the census (an income above 100,000), and the adults of NIST's
national excerpt (difficulty walking, which 9 % have).
Run: python -m benchmarks.workload --data FOLDER [-k K] [--runs N] [--rows N] [--only TEXT ...]
"""

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import numpy as np
import polars as pl
from benchmarks import peers, tables
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

import covey
from covey.sklearn import ReleaseEncoder

CLASS = tables.SENSITIVE  # as all these tables call it
NAMES = ("adult", "census", "nist")


def problem(name: str, data: Path | None) -> tuple[pl.DataFrame, covey.Schema]:
    """A table with a class of 0 and 1; all labels are texts."""
    frame: pl.DataFrame | None
    quasi: dict[str, Any]
    if name == "adult":
        frame, quasi = tables.adult(data), dict(tables.adult_schema(data).quasi)
        target = pl.col(tables.SENSITIVE) != "<=50K"
    elif name == "census":
        frame = tables.census(data, 30_000, "income")
        quasi = dict(tables.census_schema().quasi) | {"education": "numeric"}
        target = pl.col("income") > 100_000
    else:
        path = tables.find(data, "national2019.csv.gz")
        assert path is not None
        frame = pl.read_csv(path, infer_schema=False)
        labels = ("SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "DVET")
        quasi = dict.fromkeys(("AGEP", "EDU", "PINCP_DECILE"), "numeric")
        frame = frame.filter(pl.col("PINCP_DECILE") != "N").with_columns(pl.col(*quasi).cast(int))
        quasi, target = quasi | dict.fromkeys(labels, "categorical"), pl.col("DPHY") == "1"
    assert frame is not None
    schema = covey.Schema.of(quasi=quasi, sensitive=[CLASS])
    texts = [n for n, column in schema.quasi.items() if column.type == "categorical"]
    frame = frame.with_columns(target.cast(pl.Int8).alias(CLASS), pl.col(texts).cast(pl.String))
    return frame.select(*quasi, CLASS), schema


def contenders(asked: argparse.Namespace) -> dict[str, Callable[..., Any]]:
    def own(rows: pl.DataFrame, schema: covey.Schema, seed: int, **more: Any) -> Any:
        return covey.anonymize(rows, schema, k=asked.k, seed=seed, **more).table

    def anonypyx(rows: pl.DataFrame, schema: covey.Schema, _: int) -> pl.DataFrame:
        who = next(one for one in peers.PEERS if one.run == "anonypyx-mondrian")
        limits = argparse.Namespace(venvs=asked.venvs, limit=300, memory=12)
        labels = pl.col(rows.select(pl.col(pl.String)).columns)
        marked = rows.with_columns(
            labels.str.replace("^", "_")
        )  # so that it takes no code for a number
        with peers.inputs(marked, schema) as folder:
            peers.run(who, folder, asked.k, limits)
            found = who.spell(pl.read_csv(folder / "released.csv", infer_schema=False), schema)
        return found.with_columns(labels.str.replace_all("_", ""))

    return {
        "covey": own,
        "original": lambda rows, _, __: rows,
        "class_column": partial(own, class_column=CLASS),
        "objective classification": partial(own, class_column=CLASS, objective="classification"),
        "mondrian": partial(own, method="mondrian"),
        "mdav": partial(own, method="mdav"),
        "anonypyx, Mondrian": anonypyx,
    }


def auc(learnt: pl.DataFrame, tried: pl.DataFrame, schema: covey.Schema, **more: bool) -> float:
    quasi, trees = [*schema.quasi], HistGradientBoostingClassifier(random_state=0)
    model = make_pipeline(ReleaseEncoder(schema, **more), trees)
    model.fit(learnt.select(quasi), learnt[CLASS].cast(pl.Int64))
    guesses = model.predict_proba(tried.select(quasi))[:, 1]
    return float(roc_auc_score(tried[CLASS].cast(pl.Int64), guesses))


def figures(
    released: pl.DataFrame, original: pl.DataFrame, tried: pl.DataFrame, schema: covey.Schema
) -> list[float]:
    """AUC, draws, widths, within, CM."""
    mixed, half = released.sample(fraction=1, shuffle=True, seed=0), released.height // 2
    plain, widths = (auc(released, tried, schema, widths=widths) for widths in (False, True))
    within = auc(mixed[:half], mixed[half:], schema, widths=True)
    if released is original:
        return [plain, plain, widths, within, float("nan")]
    drawn = pl.concat(covey.read_release(released, schema=schema).draw(2), how="vertical_relaxed")
    losses = covey.measure(original, released, schema, class_column=CLASS)
    return [plain, auc(drawn, tried, schema), widths, within, losses.classification or 0.0]


def show(name: str, some: Any, own: Any) -> None:
    shown = np.column_stack([some[:, 0], some[:, 0] - own[:, 0], some[:, 1:4]])
    error = shown.std(axis=0, ddof=1) / np.sqrt(len(some))
    cells = [f"{m:.3f} ± {e:.3f}" for m, e in zip(shown.mean(axis=0), error, strict=True)]
    print(f"| {name} | {' | '.join(cells)} | {some[:, 4].mean():.3f} |", flush=True)


def main() -> None:
    asked = arguments()
    for table in asked.tables:
        frame, schema = problem(table, asked.data)
        rows, found = min(asked.rows, frame.height), dict[str, list[list[float]]]()
        for run in range(asked.runs):
            mixed = frame.sample(rows, shuffle=True, seed=run)
            tried, kept = mixed[: rows // 5], mixed[rows // 5 :]
            for name, release in contenders(asked).items():
                if name != "covey" and not any(one in name for one in asked.only):
                    continue
                try:
                    released = release(kept, schema, run)
                except (OSError, CalledProcessError, peers.FailedError) as error:
                    print(f"{name} skipped: {error}", flush=True)
                    continue
                found.setdefault(name, []).append(figures(released, kept, tried, schema))
        print(f"\n{table}, {rows:,} rows, k = {asked.k}, {asked.runs} runs\n")
        print("| | AUC | to covey | draws | widths | within | CM |\n|" + " --- |" * 7)
        for name, some in found.items():
            show(name, np.array(some), np.array(found["covey"])[: len(some)])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What classifiers learn from releases.")
    tables.add_data_option(parser)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--runs", type=int, default=5, help="keys and splits, at least 2")
    parser.add_argument("--rows", type=int, default=30_000, help="of each table, at most")
    parser.add_argument("--tables", nargs="+", default=NAMES, choices=NAMES)
    parser.add_argument("--only", nargs="+", default=[""], help="these contenders, and covey")
    temporary = Path(tempfile.gettempdir(), "covey-peers")
    parser.add_argument("--venvs", type=Path, default=temporary, help="environments of peers")
    return parser.parse_args()


if __name__ == "__main__":
    main()
