"""NIST's k-marginal score of covey's releases, on NIST's national excerpt of 2019.

Ten columns, as in the feature set "demographic-focused" of the Collaborative Research Cycle. Age is
a number. Schooling and decile of income are either numbers, too, with N (for children) below all
others, or categories like the rest, which are shown as ancestors or as sets of values. The score
is 1,000 if all pairs of columns are distributed as in the original. It is that of tables drawn from
the release (`covey.read_release`), with ages in bins of five years; the mean over the draws.

Random samples of the original show the scale. NIST prints 896, 959, 971, 978, 989 and 996 for
samples of 1, 5, 10, 20, 40 and 90 %; it prints 907 for sdcMicro (k = 6), 958 for SmartNoise MST and
976 for AIM (both epsilon = 1).
Run: python -m benchmarks.nist --data FOLDER [-k K ...] [--effort NAME]
"""

import argparse
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import covey
from covey import Schema, Style

FILE = "national2019.csv.gz"
NUMBERS = ("AGEP", "EDU", "PINCP_DECILE")
CATEGORIES = ("SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "DVET", "DEYE")
SAMPLES = {0.01: 896, 0.05: 959, 0.1: 971, 0.2: 978, 0.4: 989, 0.9: 996}
DRAWS = 5


def read(path: Path) -> pl.DataFrame:
    """The ten columns, with ordered ones as numbers."""
    frame = pl.read_csv(path, infer_schema=False).select(*NUMBERS, *CATEGORIES)
    return frame.with_columns(pl.col(NUMBERS).replace({"N": "-1"}).cast(pl.Int64))


def score(original: pl.DataFrame, other: pl.DataFrame) -> float:
    """1,000 less the mean distance of all pairs of columns, in shares of the rows."""
    one, two = (frame.with_columns(pl.col("AGEP") // 5) for frame in (original, other))
    return 1000 * (1 - float(np.mean([_distance(one, two, pair) for pair in _pairs()])))


def _pairs() -> list[tuple[str, str]]:
    return [*combinations((*NUMBERS, *CATEGORIES), 2)]


def _distance(one: pl.DataFrame, two: pl.DataFrame, pair: tuple[str, str]) -> float:
    shares = [
        frame.group_by(pair).agg((pl.len() / frame.height).alias(name))
        for frame, name in ((one, "a"), (two, "b"))
    ]
    joined = shares[0].join(shares[1], on=pair, how="full", nulls_equal=True)
    apart = joined.select((pl.col("a").fill_null(0) - pl.col("b").fill_null(0)).abs().sum())
    return float(apart.item()) / 2


def released(frame: pl.DataFrame, numbers: Sequence[str], request: Mapping[str, Any]) -> float:
    """The mean score of tables drawn from a release, with these columns as numbers."""
    render = {"render": "mean"} if request.get("means") else {}
    schema = Schema.of(
        quasi={
            name: {"type": "numeric", **render} if name in numbers else "categorical"
            for name in frame.columns
        }
    )
    texts = (pl.col(name).cast(pl.String) for name in NUMBERS if name not in numbers)
    made = {name: value for name, value in request.items() if name != "means"}
    release = covey.anonymize(frame.with_columns(texts), schema, **made)
    drawn = covey.read_release(release.table, schema=schema).draw(DRAWS)
    columns = (one.select(frame.columns).cast(frame.schema, strict=False) for one in drawn)
    return float(np.mean([score(frame, one) for one in columns]))


FORMS: Mapping[str, tuple[Sequence[str], Mapping[str, Any]]] = {
    "numbers": (NUMBERS, {}),
    "numbers, sets": (NUMBERS, {"style": Style(categories="values")}),
    "categories": (NUMBERS[:1], {}),
    "categories, sets": (NUMBERS[:1], {"style": Style(categories="values")}),
    "means": (NUMBERS, {"means": True}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {FILE}")
    parser.add_argument("-k", type=int, nargs="*", default=[3, 6, 12, 25])
    parser.add_argument("--effort", default="balanced")
    asked = parser.parse_args()
    frame = read(next(asked.data.rglob(FILE)))
    print("| sample | score | NIST prints |\n| --- | --- | --- |")
    for share, printed in SAMPLES.items():
        sampled = [score(frame, frame.sample(fraction=share, seed=seed)) for seed in range(3)]
        print(f"| {100 * share:.0f} % | {np.mean(sampled):.0f} | {printed} |")
    print(f"\n| k | {' | '.join(FORMS)} |\n| --- {'| --- ' * len(FORMS)}|")
    for k in asked.k:
        made = {"k": k, "effort": asked.effort}
        found = (released(frame, numbers, made | {**more}) for numbers, more in FORMS.values())
        print(f"| {k} | {' | '.join(f'{one:.0f}' for one in found)} |", flush=True)


if __name__ == "__main__":
    main()
