"""Do groups formed for declared uses serve these uses, and what does it cost?

Two tables: the invented people of `covey demo`, and UCI Adult. For each k and objective, releases
are made with several seeds. The table has the means over the seeds of the loss of a cell (by the
schema's own weights), the overlap of the uses' intervals on original and release (± its standard
deviation), the share of uses of which an analyst would conclude the same, and NIST's k-marginal.
Run: python -m benchmarks.uses --data FOLDER [-k K ...] [--seeds N] [--rows N] [--effort NAME]
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from benchmarks.tables import add_data_option, adult, adult_schema

import covey
from covey.demo import people
from covey.measures.utility import mean_overlap, share_kept

AIMS = ({"loss": 1}, {"loss": 1, "uses": 1}, {"loss": 1, "uses": 3}, {"loss": 1, "uses": 10})
PEOPLE = (
    "mean of length_of_stay by sex",
    "regress length_of_stay on age, sex",
    "correlation of age and length_of_stay",
    "share of diagnosis = Osteoarthritis where age >= 65",
    "count by sex where age < 30",
)
ADULT = (
    "mean of age by salary-class",
    'share of salary-class = ">50K" by sex',
    "regress education-num on age, sex",
    "count by marital-status where age >= 50",
    "correlation of age and education-num",
)


def tables(asked: argparse.Namespace) -> Iterator[tuple[str, pl.DataFrame, covey.Schema]]:
    """Both tables with their schemas, in which the uses are declared."""
    numbers = ("age", "income")
    labels = ("sex", "zip", "education", "marital_status", "occupation")
    quasi = dict.fromkeys(numbers, "numeric") | dict.fromkeys(labels, "categorical")
    kept = ("length_of_stay", "diagnosis")
    invented = people(asked.rows).select(*quasi, *kept)
    yield "people", invented, covey.Schema.of(quasi=quasi, sensitive=kept, uses=PEOPLE)
    rows = adult(asked.data).sample(asked.rows, seed=0)
    yield "adult", rows, adult_schema(asked.data).using(ADULT)


def measured(frame: pl.DataFrame, schema: covey.Schema, **request: Any) -> tuple[float, ...]:
    """Loss, overlap, uses kept and k-marginal of a release."""
    release = covey.anonymize(frame, schema, register=False, **request)
    found = covey.utility(frame, covey.read_release(release.table, schema=schema))
    figures = mean_overlap(found.uses) or 0.0, share_kept(found.uses) or 0.0
    return release.report.mean_loss, *figures, found.marginals.score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("-k", type=int, nargs="*", default=[5, 25])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=8_000)
    parser.add_argument("--effort", default="quick")
    asked = parser.parse_args()
    print(f"| table | k | objective | loss | overlap | uses kept | k-marginal |\n|{' --- |' * 7}")
    for name, frame, schema in tables(asked):
        for k in asked.k:
            for aim in AIMS:
                made = {"k": k, "objective": aim, "effort": asked.effort}
                runs = [measured(frame, schema, seed=seed, **made) for seed in range(asked.seeds)]
                loss, overlap, kept, score = np.mean(runs, axis=0)
                spread = 100 * np.std([run[1] for run in runs])
                written = ", ".join(f"{name} {weight}" for name, weight in aim.items())
                shown = f"{100 * loss:.1f} % | {100 * overlap:.0f} ± {spread:.0f} %"
                line = f"| {name} | {k} | {written} | {shown} | {100 * kept:.0f} % | {score:.0f} |"
                print(line, flush=True)


if __name__ == "__main__":
    main()
