"""A table of real people: UCI Adult with Byun et al.'s quasi-identifiers, judged from outside."""

import csv
import sqlite3
from pathlib import Path

import polars as pl
import pytest

import covey
from covey_experiments.adult import TREES

pytestmark = pytest.mark.slow  # 30,162 people
CATEGORIES = ["workclass", "marital-status", "occupation", "race", "sex", "native-country"]


def smallest_group_by(path: Path, columns: list[str]) -> int:
    """`GROUP BY` by a database that knows nothing of covey."""
    with path.open(newline="") as file:
        header, *rows = csv.reader(file, delimiter=";")
    names = ", ".join(f'"{name}"' for name in header)
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE t ({names})")
    database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(header))})", rows)
    keys = ", ".join(f'"{name}"' for name in columns)
    query = f"SELECT MIN(n) FROM (SELECT COUNT(*) AS n FROM t GROUP BY {keys})"
    return int(database.execute(query).fetchone()[0])


@pytest.fixture(scope="module")
def adult(tmp_path_factory: pytest.TempPathFactory, uci_adult: pl.DataFrame) -> Path:
    """Adult with education as a number, as Byun et al. take it, beside education itself."""
    path = tmp_path_factory.mktemp("adult") / "adult.csv"
    uci_adult.write_csv(path, separator=";")
    return path


def test_adult_by_byun_verifies_with_an_outside_group_by(adult: Path, tmp_path: Path) -> None:
    quasi = {
        "age": "numeric",
        "education-num": "numeric",
        **dict.fromkeys(CATEGORIES, "categorical"),
    }
    schema = covey.Schema.of(quasi=quasi, identifier=["education"], sensitive=["salary"])
    release = covey.anonymize(adult, schema, require=[covey.KAnonymity(10)], seed=0)
    release.write(tmp_path / "out.csv")
    assert smallest_group_by(tmp_path / "out.csv", list(quasi)) == release.verdict.k >= 10
    assert release.table.height == 30_162


def test_adult_with_taxonomies_verifies_with_an_outside_group_by(
    adult: Path, tmp_path: Path
) -> None:
    quasi = {
        name: {"type": "categorical", "taxonomy": TREES[name]}
        for name in [*CATEGORIES, "education"]
    }
    schema = covey.Schema.of(
        quasi={"age": "numeric", **quasi},
        drop=["education-num"],
        sensitive=["salary"],
    )
    some = pl.read_csv(adult, separator=";", infer_schema=False)[:6000]
    some.write_csv(tmp_path / "some.csv", separator=";")
    release = covey.anonymize(
        tmp_path / "some.csv",
        schema,
        require=[covey.KAnonymity(10)],
        class_column="salary",
    )
    release.write(tmp_path / "out.csv")
    assert smallest_group_by(tmp_path / "out.csv", list(schema.quasi)) >= 10
    assert (
        covey.measure(
            tmp_path / "some.csv", tmp_path / "out.csv", schema, k=10, class_column="salary"
        )
        == release.report.losses
    )
