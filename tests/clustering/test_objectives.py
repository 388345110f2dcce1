"""What groups are formed for: each objective is better at what it was asked for."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey import Schema, UsageError
from covey.clustering import METHODS, refined
from covey.clustering.discernibility import apart, evened
from covey.clustering.objectives import Objective, read
from covey.clustering.points import points_of
from covey.clustering.request import Request
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups
from covey.measures.loss import Losses
from covey.reference import discernibility as reference
from covey.tables import Table
from examples import examples
from oracles import metrics
from tables_of_people import People, people

KEY = bytes(range(32))


def crowd(rows: int = 400, seed: int = 3) -> pl.DataFrame:
    """People of whom many are equal."""
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": random.integers(20, 40, rows),
            "sex": random.choice(["f", "m"], rows),
            "town": random.choice(list("abcdef"), rows),
            "pay": random.choice(["low", "high"], rows, p=[0.7, 0.3]),
        }
    )


def schema() -> Schema:
    quasi = {"age": "numeric", "sex": "categorical", "town": "categorical"}
    return Schema.of(quasi=quasi, sensitive=["pay"])


def losses(k: int = 5, **options: Any) -> Losses:
    frame = crowd()
    groups = covey.cluster(frame, schema(), k=k, class_column="pay", **options)
    assert groups.smallest >= k
    return covey.measure(frame, groups, schema(), k=k, class_column="pay")


# ── each objective ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("k", [2, 3, 5, 12])
def test_each_objective_is_better_at_what_it_was_asked_for(k: int) -> None:
    found = {
        name: losses(k, objective=name) for name in ("loss", "discernibility", "classification")
    }
    assert found["loss"].total_il == min(one.total_il for one in found.values())
    least = min(one.discernibility or 0 for one in found.values())
    assert found["discernibility"].discernibility == least
    assert found["classification"].classification == min(
        one.classification or 0.0 for one in found.values()
    )
    others = [losses(k, method=name) for name in ("mondrian", "k-member", "mdav")]
    assert least <= min(one.discernibility or 0 for one in others)
    best = found["classification"].classification
    assert best is not None
    assert best < min(one.classification or 0.0 for one in others)


def test_weights_are_those_of_penalty_and_evenness() -> None:
    aims = {"loss": 2, "classification": 1, "discernibility": 3}
    encoded = encode(Table(crowd()), schema(), class_column="pay")
    by_name = METHODS["covey"](encoded, 5, objective=aims)
    by_option = METHODS["covey"](encoded, 5, penalty=0.5, evenness=1.5)
    assert (by_name.labels == by_option.labels).all()


def test_columns_of_declared_uses_weigh_more() -> None:
    """A column that one of two uses needs has 1 + 3/2 times its weight, the one of both 1 + 3."""
    uses = ["share of pay = high by sex", "count by sex where age > 30"]
    heavy = schema()
    for name, weight in {"age": 1 + 3 / 2, "sex": 1 + 3}.items():
        heavy = heavy.with_settings(name, weight=weight)
    request: Any = {"k": 5, "seed": 1}
    known, aim = schema().using(uses), {"loss": 2, "uses": 6}
    found = covey.anonymize(crowd(), known, objective=aim, **request)
    weighed = covey.anonymize(crowd(), heavy, **request)
    plain = covey.anonymize(crowd(), schema(), **request)
    assert found.table.equals(weighed.table)
    assert found.report.losses.total_il > plain.report.losses.total_il  # by the schema's weights
    before, other = encode(Table(crowd()), known), encode(Table(crowd()), heavy)
    groups = Groups(METHODS["mondrian"](before, 5).labels)
    better = refined(before, 5, groups, objective=Objective.of(aim))
    assert (better.labels == refined(other, 5, groups).labels).all()


def test_each_part_weighs_by_uses(tmp_path: Path) -> None:
    known, heavy = schema().using(["count by sex"]), schema().with_settings("sex", weight=4)
    request: Any = {"k": 5, "engine": "local", "part_rows": 150, "seed": 1, "register": False}
    aim = {"loss": 1, "uses": 3}
    covey.anonymize(crowd(), known, objective=aim, to=f"{tmp_path}/a/", **request)
    covey.anonymize(crowd(), heavy, to=f"{tmp_path}/b/", **request)
    files = [path.name for path in (tmp_path / "b").glob("*part*")]
    assert files
    assert all(
        (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        for name in files
    )


def test_other_uses_are_another_request() -> None:
    """Or two releases of the same table by the same random choices could be compared."""
    known = [schema().using([f"count by {name}"]) for name in ("sex", "town")]
    seeded = [Request.of(one, covey.KAnonymity(5), objective="uses").seeded for one in known]
    assert seeded[0] != seeded[1]


def test_uses_alone_leave_little_to_other_columns() -> None:
    known = schema().using(["count by sex"])
    release = covey.anonymize(crowd(), known, k=5, objective="uses", seed=1)
    lost = {column.name: column.il for column in release.report.losses.columns}
    assert lost["sex"] == 0
    with pytest.raises(UsageError, match="declared use"):
        covey.cluster(crowd(), schema().using(["count by pay"]), k=5, objective="uses")


def test_classes_that_are_as_small_as_possible_are_not_beaten() -> None:
    """Without equal rows, all classes have k rows or one more."""
    frame = pl.DataFrame({"x": np.random.default_rng(1).permutation(103)})
    known = Schema.of(quasi={"x": "numeric"})
    groups = covey.cluster(frame, known, k=5, objective="discernibility")
    assert covey.measure(frame, groups, known, k=5).discernibility == 17 * 25 + 3 * 36


# ── discernibility and its reference ────────────────────────────────────────────────────────────


@given(people(least=2, most=24, columns=3), st.data())
@examples(60)
def test_even_groups_are_those_of_the_reference(table: People, data: st.DataObject) -> None:
    encoded, k = table.encoded(), data.draw(st.integers(1, table.rows))
    start = _some_groups(table.rows, k, data)
    found = evened(encoded, start, k)
    assert found.labels.tolist() == reference.evened(encoded.plain, start.labels.tolist(), k)
    assert found.count == table.rows // k
    assert found.smallest >= k
    assert found.sizes.max() - found.sizes.min() <= 1 or found.count < k


@given(people(least=4, most=30, columns=2), st.data())
@examples(60)
def test_groups_apart_are_those_of_the_reference(table: People, data: st.DataObject) -> None:
    encoded, k = table.encoded(), data.draw(st.integers(1, 4))
    start = evened(encoded, _some_groups(table.rows, k, data), k)
    seed = data.draw(st.integers(0, 2**64))
    found = apart(encoded, start, seed)
    assert found.labels.tolist() == reference.apart(encoded.plain, start.labels.tolist(), seed)
    assert sorted(found.sizes) == sorted(start.sizes)
    assert _discernibility(encoded, found) <= _discernibility(encoded, start)


def _some_groups(rows: int, k: int, data: st.DataObject) -> Groups:
    numbers = np.arange(rows) % data.draw(st.integers(1, max(rows // k, 1)))
    order = np.random.default_rng(data.draw(st.integers(0, 2**32))).permutation(rows)
    return Groups(numbers[order])


def _discernibility(encoded: EncodedTable, groups: Groups) -> int:
    sizes = np.bincount(encoded.classes_of(groups), groups.sizes)
    return int((sizes * sizes).sum())


# ── refinement ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("objective", ["loss", "discernibility", "classification", "sse"])
@given(table=people(least=4, most=40, columns=3), data=st.data())
@examples(40)
def test_a_refinement_never_makes_worse_what_it_was_asked_for(
    objective: str, table: People, data: st.DataObject
) -> None:
    encoded, k = table.encoded(classes=True), data.draw(st.integers(1, table.rows // 2))
    start = _some_groups(table.rows, k, data)
    found = refined(encoded, k, start, objective=Objective.of(objective))
    assert found.smallest >= k
    before, after = (_asked(objective, encoded, groups) for groups in (start, found))
    assert after <= before + 1e-9


def _asked(objective: str, encoded: EncodedTable, groups: Groups) -> float:
    if objective == "sse":
        points, labels = points_of(encoded), groups.labels
        parts = [points[labels == one] for one in range(groups.count)]
        return sum(float(((part - part.mean(axis=0)) ** 2).sum()) for part in parts)
    if objective == "discernibility":
        return float(_discernibility(encoded, groups))
    if objective == "classification":
        assert encoded.classes is not None
        own = encoded.classes_of(groups)[groups.labels]
        marks = encoded.classes.tolist()
        within = [[marks[i] for i in np.flatnonzero(own == one)] for one in np.unique(own)]
        return float(sum(len(part) - max(map(part.count, part)) for part in within))
    labels = groups.labels.tolist()
    return float(metrics.total_il(encoded.plain, labels, encoded.measure))


def test_the_report_says_what_was_optimised() -> None:
    aims = {"loss": 1.0, "classification": 0.5}
    found = covey.anonymize(
        crowd(), schema(), k=5, objective=aims, class_column="pay", key=KEY, register=False
    )
    assert found.report.options["objective"] == aims
    plain = covey.anonymize(crowd(), schema(), k=5, key=KEY, register=False)
    assert "objective" not in plain.report.options


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ("losss", "loss"),
        ({}, "objective"),
        ({"loss": 0}, "'loss'"),
        ({"loss": float("nan")}, "'loss'"),
        ({"sse": 1, "loss": 1}, "'sse'"),
        ("classification", "class column"),
    ],
)
def test_what_is_no_objective_is_refused(objective: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        covey.anonymize(crowd(), schema(), k=5, objective=objective, key=KEY)


def test_an_objective_that_nothing_looks_at_is_refused() -> None:
    with pytest.raises(UsageError, match="refine"):
        covey.anonymize(crowd(), schema(), k=5, method="mdav", objective="sse", key=KEY)


def test_the_command_line_reads_weights() -> None:
    assert read("sse") == "sse"
    assert read("loss=1, classification=0.5") == {"loss": 1.0, "classification": 0.5}
    with pytest.raises(UsageError, match="loss=1"):
        read("loss=much")
