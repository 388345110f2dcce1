"""Groups for means: the objective sse, its kernel, and its reference in plain Python."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey import Schema
from covey._core import kernels
from covey._core.arrays import Floats, Longs
from covey.clustering import METHODS, microaggregation
from covey.clustering.microaggregation import fused, sum_of_squares
from covey.clustering.points import points_of
from covey.clustering.progress import STOPPED
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups
from covey.reference import microaggregation as reference
from covey.reference.microaggregation import Annealing
from covey.tables import Table
from examples import examples

KEY = bytes(range(32))


def table(rows: int, columns: int = 3, seed: int = 1, *, whole: bool = False) -> EncodedTable:
    random = np.random.default_rng(seed)
    cells = random.normal(size=(rows, columns)) + random.integers(0, 4, (rows, 1))
    cells = np.round(cells) if whole else cells
    names = [f"c{place}" for place in range(columns)]
    frame = pl.DataFrame(dict(zip(names, cells.T, strict=True)))
    return encode(Table(frame), Schema.of(quasi=dict.fromkeys(names, "numeric")))


def squares(points: Floats, labels: Longs) -> float:
    """The sum of squares, in the plainest way."""
    return sum(
        float(((points[labels == one] - points[labels == one].mean(axis=0)) ** 2).sum())
        for one in np.unique(labels)
    )


# ── the kernel and its reference ────────────────────────────────────────────────────────────────


@given(
    st.integers(2, 40),
    st.integers(1, 9),
    st.integers(1, 12),
    st.sampled_from([0.0, 0.01, 0.3, 3.0]),
    st.booleans(),
    st.integers(0, 2**64),
)
@examples(100)
def test_labels_are_those_of_the_reference(
    rows: int, width: int, k: int, heat: float, whole: bool, seed: int
) -> None:
    k = min(k, rows)
    random = np.random.default_rng(seed)
    points = np.zeros((rows, -(-width // 4) * 4))
    points[:, :width] = random.normal(size=(rows, width))
    points = np.round(points) if whole else points  # many rows are equal then
    labels = random.permutation(np.arange(rows) % (rows // k)).astype(np.int64)
    near = int(random.integers(1, 50))
    fast = kernels.Annealing(points, labels, k, near)
    slow = Annealing(points.tolist(), labels.tolist(), k, near)
    draws = [np.random.default_rng(seed), np.random.default_rng(seed)]
    fast.run(40, heat, 0.9, draws[0], kernels.Watch())
    slow.run(40, heat, 0.9, draws[1])
    assert fast.labels.tolist() == slow.labels
    assert fast.cost == pytest.approx(squares(points, fast.labels), abs=1e-9)
    assert np.unique(fast.labels, return_counts=True)[1].min() >= k
    assert draws[0].random() == draws[1].random()


def test_all_changes_happen_in_the_reference() -> None:
    """Groups become fewer and more: the test above would not notice a change that never happens."""
    points = np.zeros((60, 4))
    points[:, 0] = np.repeat([0.0, 5.0, 9.0], 20) + np.arange(60) / 1000
    few = kernels.Annealing(points, np.repeat([0, 1], 30).astype(np.int64), 3, 40)
    few.run(200, 0.01, 0.99, np.random.default_rng(1), kernels.Watch())
    assert len(np.unique(few.labels)) > 2  # created
    many = kernels.Annealing(points, (np.arange(60) % 20).astype(np.int64), 3, 40)
    many.run(50, 1e6, 1.0, np.random.default_rng(1), kernels.Watch())
    assert len(np.unique(many.labels)) < 20  # dissolved


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": np.zeros((9, 3))}, "multiple of 4"),
        ({"points": np.full((9, 4), np.nan)}, "finite"),
        ({"labels": np.full(9, 3)}, "groups"),
        ({"labels": np.zeros(8, dtype=np.int64)}, "label"),
        ({"k": 10}, "k is"),
        ({"near": -1}, "near"),
    ],
)
def test_the_kernel_refuses_what_does_not_fit(change: dict[str, Any], message: str) -> None:
    fine: dict[str, Any] = {
        "points": np.zeros((9, 4)),
        "labels": np.zeros(9, dtype=np.int64),
        "k": 3,
        "near": 5,
    }
    kernels.Annealing(**fine)
    with pytest.raises(ValueError, match=message):
        kernels.Annealing(**fine | change)


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 2**64))
@examples(60)
def test_fusion_finds_the_best_grouping_of_the_given_groups(
    rows: int, apart: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    points = random.normal(size=(rows, 4))
    near = np.arange(rows) // 4 * 4  # parts of four rows that the two may arrange differently
    one, other = (
        np.unique(near + random.integers(0, apart, rows), return_inverse=True)[1] for _ in range(2)
    )
    found = fused(points, one, other)
    given_groups = {
        frozenset(np.flatnonzero(labels == label).tolist())
        for labels in (one, other)
        for label in labels
    }
    costs = {
        group: squares(points[sorted(group)], np.zeros(len(group), dtype=np.int64))
        for group in given_groups
    }
    covers = [
        sum(costs[group] for group in some)
        for count in range(1, len(given_groups) + 1)
        for some in combinations(given_groups, count)
        if sum(map(len, some)) == rows and len(frozenset().union(*some)) == rows
    ]
    assert squares(points, found) == pytest.approx(min(covers), abs=1e-12)
    assert {frozenset(np.flatnonzero(found == label).tolist()) for label in found} <= given_groups
    assert found.tolist() == reference.fused(points.tolist(), one.tolist(), other.tolist())


# ── the method ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("k", "effort"), [(2, "fast"), (3, "quick"), (7, "fast"), (100, "quick"), (200, "fast")]
)
def test_groups_are_better_than_those_of_mdav(k: int, effort: str) -> None:
    encoded = table(200)
    own = METHODS["covey"](encoded, k, seed=1, objective="sse", effort=effort)
    mdav = METHODS["mdav"](encoded, k)
    assert isinstance(own, Groups)
    assert isinstance(mdav, Groups)
    assert own.smallest >= k
    assert sum_of_squares(encoded, own) <= sum_of_squares(encoded, mdav) + 1e-9
    if k < 100:
        assert sum_of_squares(encoded, own) < 0.97 * sum_of_squares(encoded, mdav)


def test_more_effort_lowers_the_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded, plans = table(300, 4), microaggregation.PLANS
    monkeypatch.setitem(plans, "balanced", replace(plans["balanced"], steps=2_000_000))

    def squares_of(effort: str) -> float:
        """Over three seeds: one run of less effort may be lucky."""
        found = [
            METHODS["covey"](encoded, 3, seed=seed, objective="sse", effort=effort)
            for seed in range(3)
        ]
        return sum(sum_of_squares(encoded, Groups(groups.labels)) for groups in found)

    found = [squares_of(effort) for effort in ("fast", "quick", "balanced")]
    assert found == sorted(found, reverse=True)


def test_points_are_in_standard_deviations() -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, None], "y": [5.0] * 4, "town": ["a", "b", "a", "c"]})
    known = Schema.of(
        quasi={"x": {"type": "numeric", "weight": 4}, "y": "numeric", "town": "categorical"}
    )
    points = points_of(encode(Table(frame), known))
    apart = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    assert points.shape[1] % 4 == 0
    assert apart[0, 2] == pytest.approx(4 * 2.0**2)  # two standard deviations, weight 4
    assert apart[0, 1] == pytest.approx(4 * 1.0 + 1)  # another town
    assert apart[1, 3] == pytest.approx(4 * 3.0**2 + 1)  # missing


def test_large_tables_are_worked_on_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microaggregation, "BLOCK", 256)
    encoded = table(1_000)
    labels = {}
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found = METHODS["covey"](encoded, 4, seed=1, objective="sse", effort="quick")
        assert found.smallest >= 4
        labels[threads] = found.labels.tolist()
    assert labels["1"] == labels["3"]
    assert sum_of_squares(encoded, Groups(labels["1"])) < sum_of_squares(
        encoded, Groups(METHODS["mdav"](encoded, 4).labels)
    )


def test_a_budget_is_used_and_kept() -> None:
    encoded = table(400)
    found, hurried = (
        Groups(METHODS["covey"](encoded, 3, seed=1, objective="sse", budget=budget).labels)
        for budget in (1.0, 1e-9)  # seconds: enough for checked kernels on a busy machine, too
    )
    assert found.smallest >= 3
    assert sum_of_squares(encoded, found) < sum_of_squares(encoded, hurried)


# ── refinement ──────────────────────────────────────────────────────────────────────────────────


def people(rows: int = 240) -> pl.DataFrame:
    random = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "age": random.integers(18, 90, rows),
            "income": np.round(random.lognormal(10, 0.6, rows)),
            "ill": random.choice(["a", "b", "c"], rows),
        }
    )


def known(**more: Any) -> Schema:
    mean = {"type": "numeric", "render": "mean"}
    return Schema.of(quasi={"age": mean, "income": mean}, sensitive=["ill"], **more)


def test_a_refinement_lowers_the_squares_of_any_method() -> None:
    frame = people()
    for method in ("mondrian", "mdav"):
        plain = covey.anonymize(frame, known(), k=4, method=method, key=KEY)
        better = covey.anonymize(
            frame, known(), k=4, method=method, refine=True, objective="sse", key=KEY
        )
        assert better.report.losses.sse < plain.report.losses.sse  # type: ignore[operator]
        assert better.report.options == {"objective": "sse"}


def test_other_requirements_hold_too() -> None:
    found = covey.anonymize(people(), known(), k=4, l={"ill": 2}, objective="sse", key=KEY)
    assert found.verdict.holds
    refined = covey.anonymize(
        people(), known(), k=4, l={"ill": 2}, method="mdav", refine=True, objective="sse", key=KEY
    )
    assert refined.verdict.holds


def test_an_interruption_keeps_the_best_groups_so_far() -> None:
    encoded, stages = table(500), []

    def progress(stage: str, share: float) -> None:
        stages.append(stage)
        if stage == "clustering" and share > 0.2 and STOPPED not in stages:
            stages.append(STOPPED)
            raise KeyboardInterrupt

    found = microaggregation.microaggregated(encoded, 3, seed=1, progress=progress)
    mdav = Groups(METHODS["mdav"](encoded, 3).labels)
    assert found.smallest >= 3
    assert sum_of_squares(encoded, found) <= sum_of_squares(encoded, mdav)
    assert stages.count(STOPPED) == 2  # raised here once, and reported once
