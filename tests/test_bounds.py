"""The lower bound of the loss, against the least loss of all groupings."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey import Schema, UsageError, demo
from covey.cli import main as cli
from covey.clustering import bounds
from covey.clustering.bounds import least_loss
from covey.clustering.objectives import LOSS
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups
from covey.schema import taxonomy
from covey.tables import Table
from examples import examples
from oracles.metrics import total_il
from oracles.optimum import optimum

TOWNS = taxonomy.from_nested({"north": ["a", "b"], "south": {"west": ["c", "d"], "east": ["e"]}})


def table(rows: int, seed: int, *, missing: bool = False) -> EncodedTable:
    random = np.random.default_rng(seed)
    ages = random.integers(20, 26, rows).astype(object)
    ages[random.random(rows) < 0.2 * missing] = None
    frame = pl.DataFrame(
        {
            "age": pl.Series(ages.tolist(), dtype=pl.Int64),
            "size": random.integers(0, 4, rows),
            "town": random.choice(list("abcde"), rows),
            "sex": random.choice(["f", "m"], rows),
        }
    )
    quasi: dict[str, Any] = {
        "age": {"type": "numeric", "weight": 2},
        "size": "numeric",
        "town": {"type": "categorical", "taxonomy": TOWNS},
        "sex": "categorical",
    }
    names = random.permutation(list(quasi))[: random.integers(1, 5)].tolist()
    return encode(Table(frame.select(names)), Schema.of(quasi={n: quasi[n] for n in names}))


@given(st.integers(2, 10), st.integers(1, 4), st.booleans(), st.integers(0, 2**32))
@examples(60)
def test_no_grouping_is_below_the_bound(rows: int, k: int, missing: bool, seed: int) -> None:
    encoded, k = table(rows, seed, missing=missing), min(k, rows)
    found = least_loss(encoded, k)
    least, labels = optimum(encoded.plain, k)
    assert found is not None
    assert 0.0 <= found <= least + 1e-9
    # What the bound is compared with is measured as the oracle does.
    assert LOSS.cost(encoded, Groups(np.array(labels))) == pytest.approx(least)
    assert least == pytest.approx(total_il(encoded.plain, labels))


@pytest.mark.parametrize(
    ("values", "kind", "k", "least"),
    [
        (["a", "a", "a", "b", "b"], "categorical", 3, 2.0),  # each b is with some a
        (["a", "a", "a", "b", "b"], "categorical", 2, 0.0),
        ([0, 5, 5, 5, 10], "numeric", 2, 1.0),  # 0 and 10 are at least half the range from another
        ([0, 1, 8, 9, 10], "numeric", 3, 2 * 0.8 + 3 * 0.2),
    ],
)
def test_bounds_are_known_of_small_columns(
    values: list[object], kind: str, k: int, least: float
) -> None:
    encoded = encode(Table(pl.DataFrame({"x": values})), Schema.of(quasi={"x": kind}))
    assert least_loss(encoded, k) == pytest.approx(least)


def test_there_is_no_bound_if_it_would_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = table(10, 1)
    assert least_loss(encoded, 2) is not None
    monkeypatch.setattr(bounds, "_MOST", 10)
    assert least_loss(encoded, 2) is None


def test_the_custodian_alone_learns_how_far_the_loss_is_from_the_least() -> None:
    people = demo.people(200).select("age", "sex", "education", "occupation")
    known = Schema.of(quasi={"age": "numeric"} | dict.fromkeys(people.columns[1:], "categorical"))
    request: dict[str, Any] = {"k": 3, "seed": 1, "remember": False}
    release = covey.anonymize(people, known, effort="best", **request)
    encoded = encode(Table(people), known)
    least = least_loss(encoded, 3)
    assert least is not None
    assert release.gap == pytest.approx(release.report.losses.total_il / least - 1)
    assert '"gap"' not in release.report.to_json()
    with pytest.raises(UsageError):
        _ = pickle.loads(pickle.dumps(release)).gap
    others: list[dict[str, Any]] = [
        {"effort": "fast"},
        {"effort": "best", "objective": "discernibility"},
    ]
    for other in others:
        assert covey.anonymize(people, known, **other, **request).gap is None
    on_a_grid = Schema.of(quasi={"age": {"type": "numeric", "grid": 7}})
    assert covey.anonymize(people.select("age"), on_a_grid, effort="best", **request).gap is None


def test_the_command_line_never_rounds_the_distance_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # Each b is with some a: at least 3 for k = 4. One group of all rows loses 7, 133.33 % more.
    pl.DataFrame({"x": ["a"] * 4 + ["b"] * 3}).write_csv("people.csv")
    Path("people.toml").write_text('[columns.x]\nrole = "quasi"\ntype = "categorical"\n')
    words = "anonymize people.csv -s people.toml -o released.csv -k 4 --no-register --effort"
    assert cli.run([*words.split(), "best"]) == 0
    assert "at most 133.4" in capfd.readouterr().err
    assert cli.run([*words.split(), "fast"]) == 0
    assert "at most" not in capfd.readouterr().err
