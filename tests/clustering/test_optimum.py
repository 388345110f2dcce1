"""The lower bound of the loss, against the least loss of all groupings."""

import pickle
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import covey
from covey import Schema, UsageError, demo
from covey._core import kernels
from covey._core.arrays import Longs
from covey.cli import main as cli
from covey.clustering.objectives import LOSS
from covey.clustering.optimum import least_loss, partitions
from covey.clustering.optimum.rows import least_of_rows
from covey.clustering.optimum.simplex import Simplex, Steps
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups
from covey.reference.model import record_loss
from covey.schema import taxonomy
from covey.tables import Table
from examples import examples
from oracles.metrics import total_il
from oracles.optimum import optimum, optimum_by_program

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


def bound(encoded: EncodedTable, labels: list[int], k: int, work: int | None = None) -> float:
    """The bound from some groups, after so much work."""
    with pytest.MonkeyPatch.context() as changed:
        if work is not None:
            changed.setattr(partitions, "_WORK", work)
        found = least_loss(encoded, Groups(np.array(labels)), k)
    assert found is not None
    return found


@given(st.integers(2, 10), st.integers(1, 4), st.booleans(), st.integers(0, 2**32))
@examples(60)
def test_the_bound_of_few_rows_is_the_least_loss(
    rows: int, k: int, missing: bool, seed: int
) -> None:
    encoded, k = table(rows, seed, missing=missing), min(k, rows)
    least, labels = optimum(encoded.plain, k)
    for known in (labels, [0] * rows):  # whether the groups are the best or the worst
        assert bound(encoded, known, k) == pytest.approx(least, abs=1e-9, rel=1e-7)
        assert bound(encoded, known, k) <= least
    # What the bound is compared with is measured as the oracle does.
    assert LOSS.cost(encoded, Groups(np.array(labels))) == pytest.approx(least)
    assert least == pytest.approx(total_il(encoded.plain, labels))


@given(
    st.integers(2, 10), st.integers(1, 4), st.floats(0, 5), st.sampled_from([0, 1]), st.integers(0)
)
@examples(100)
def test_however_much_is_looked_at_the_bound_is_between_the_rows_and_the_least_loss(
    rows: int, k: int, work: float, best: int, seed: int
) -> None:
    encoded, k = table(rows, seed), min(k, rows)
    least, labels = optimum(encoded.plain, k)
    found = bound(encoded, labels if best else [0] * rows, k, int(10**work))
    assert 0.0 <= least_of_rows(encoded, k).sum() <= found * (1 + 1e-12)
    assert found <= least + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "k", "seed"), [(25, 2, 0), (25, 2, 1), (13, 3, 1)])
def test_the_bound_is_the_least_loss_that_an_integer_program_finds(
    rows: int, k: int, seed: int
) -> None:
    encoded = table(rows, seed)
    least, _ = optimum_by_program(encoded.plain, k)
    assert bound(encoded, [0] * rows, k) == pytest.approx(least, rel=1e-5)


# ── the search over groups ──────────────────────────────────────────────────────────────────────


class Priced:
    """Some rows as classes of equal ones, and the excess of all their groups by brute force."""

    def __init__(self, encoded: EncodedTable, k: int, prices: list[float]) -> None:
        _, self.rows, own, self.counts = np.unique(
            encoded.places, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        self.k, self.space = k, kernels.Space(encoded.core)
        self.prices = np.array(prices)[: len(self.rows)]
        self.all: dict[tuple[int, ...], float] = {}
        for size in range(k, 2 * k):
            for group in combinations(range(encoded.rows), size):
                classes = tuple(sorted(own.ravel()[list(group)].tolist()))
                cost = size * record_loss(encoded.plain, list(group), "height")
                self.all[classes] = float(self.prices[list(classes)].sum()) - cost

    def anchor(self, group: tuple[int, ...]) -> int:
        """The dearest class, the first of several."""
        return max(group, key=lambda one: (self.prices[one], -one))

    def groups(self, members: Longs, ends: Longs) -> list[tuple[int, ...]]:
        return [tuple(sorted(one.tolist())) for one in np.split(members, ends)[:-1]]


def scattered(rows: int, seed: int) -> EncodedTable:
    """Rows without ties: groups are spanned by many rows, and few lie inside of others."""
    numbers = np.random.default_rng(seed).random((rows, 3))
    frame = pl.DataFrame(numbers, schema=["x", "y", "z"])
    return encode(Table(frame), Schema.of(quasi=dict.fromkeys(frame.columns, "numeric")))


@st.composite
def priced(draw: st.DrawFn) -> Priced:
    make = draw(st.sampled_from([table, scattered]))
    rows, seed = draw(st.integers(1, 10)), draw(st.integers(0, 2**32))
    k = draw(st.integers(1, min(rows, 4)))
    some = st.one_of(st.floats(-1, 5), st.sampled_from([0.5, 1.0, 2.0]))
    prices = draw(st.lists(some, min_size=rows, max_size=rows))
    return Priced(make(rows, seed), k, prices)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_search_misses_no_group_of_scattered_rows(k: int) -> None:
    for seed in range(10 - 2 * k):
        encoded, random = scattered(11, seed), np.random.default_rng(seed)
        found = Priced(encoded, k, (0.6 + 0.8 * random.random(11)).tolist())
        given = (found.space, found.k, found.rows, found.counts, found.prices)
        excess, *_ = kernels.overpriced(*given, 0.0, 10**9)
        assert excess.max() == pytest.approx(max(0.0, *found.all.values()))
        for floor in (-1.0, -30.0):  # above the second are all
            ends = kernels.groups_above(*given, floor, 10**6, 10**9)[1]
            assert len(ends) == sum(own > floor for own in found.all.values())


@given(priced(), st.sampled_from([0, 3, 10, 10**6]))
@examples(200)
def test_the_search_finds_the_highest_excess_of_all_groups(found: Priced, work: int) -> None:
    given = (found.space, found.k, found.rows, found.counts, found.prices)
    excess, members, ends, left = kernels.overpriced(*given, 1e-9, work)
    highest = np.full(len(found.rows), 1e-9)
    for group, own in found.all.items():
        highest[found.anchor(group)] = max(highest[found.anchor(group)], own)
    assert (excess >= highest - 1e-12).all()
    if left > 0:
        assert excess == pytest.approx(highest)
    for group in found.groups(members, ends):
        assert found.all[group] > 0
        if left > 0:
            assert found.all[group] == pytest.approx(excess[found.anchor(group)])
    # What makes any prices a bound: the dearest class of each group pays for its excess.
    proven = found.prices - excess
    for group, own in found.all.items():
        cost = found.prices[list(group)].sum() - own
        assert proven[list(group)].sum() <= cost + 1e-9


@given(priced(), st.floats(-30, 1))
@examples(200)
def test_the_search_finds_each_group_above_a_floor_once(found: Priced, floor: float) -> None:
    given = (found.space, found.k, found.rows, found.counts, found.prices)
    members, ends, excess, left = kernels.groups_above(*given, floor, 10**6, 10**9)
    assert left > 0
    groups = found.groups(members, ends)
    assert len({*groups}) == len(groups)
    assert excess == pytest.approx([found.all[group] for group in groups])
    near = {group for group, own in found.all.items() if abs(own - floor) < 1e-9}
    above = {group for group, own in found.all.items() if own > floor}
    assert above - near == {*groups} - near
    few = kernels.groups_above(*given, floor, 2, 10**9)[1]
    assert len(few) == min(len(groups), 3)


@given(st.integers(1, 8), st.integers(0, 30), st.integers(0, 2**32))
@examples(100)
def test_the_simplex_method_finds_the_cheapest_cover(count: int, more: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    needed, ceilings = random.integers(1, 4, count), random.random(count) * 5
    members, costs = random.integers(0, count + 1, (more, 3)), random.random(more) * 5
    method = Simplex(needed, ceilings, 3, Steps(10**9))
    method.offer(members, costs)
    method.lower()

    def least(needed: Longs) -> float:
        covers = np.array([np.bincount(one, minlength=count + 1)[:-1] for one in method.members])
        return float(linprog(method.costs, A_eq=covers.T, b_eq=needed).fun)

    assert method.reduced.min() >= -1e-8
    assert needed @ method.prices == pytest.approx(least(needed), abs=1e-5)
    for group in range(count, count + more):
        rest = needed - np.bincount(method.members[group], minlength=count + 1)[:-1]
        if (rest >= 0).all():
            other = method.without(group)
            other.restore()
            assert other.reduced.min() >= -1e-8
            assert rest @ other.prices == pytest.approx(least(rest), abs=1e-5)


# ── rows, and what is said ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("values", "kind", "k", "least"),
    [
        (["a", "a", "a", "b", "b"], "categorical", 3, 2.0),  # each b is with some a
        (["a", "a", "a", "b", "b"], "categorical", 2, 0.0),
        ([0, 5, 5, 5, 10], "numeric", 2, 1.0),  # 0 and 10 are at least half the range from another
        ([0, 1, 8, 9, 10], "numeric", 3, 2 * 0.8 + 3 * 0.2),
    ],
)
def test_bounds_of_rows_are_known_of_small_columns(
    values: list[object], kind: str, k: int, least: float
) -> None:
    encoded = encode(Table(pl.DataFrame({"x": values})), Schema.of(quasi={"x": kind}))
    assert least_of_rows(encoded, k).sum() == pytest.approx(least)


def test_less_is_looked_at_if_it_would_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded, k = table(40, 1), 3
    labels = (np.arange(40) // k).clip(max=12).tolist()
    best, of_rows = bound(encoded, labels, k), least_of_rows(encoded, k).sum()
    assert 0 < of_rows < best
    monkeypatch.setattr(partitions, "_MOST_CLASSES", 10)
    assert bound(encoded, labels, k) == pytest.approx(of_rows)
    monkeypatch.setattr("covey.clustering.optimum.rows._MOST", 10)
    assert bound(encoded, labels, k) == 0
    monkeypatch.setattr(partitions, "_MOST_CLASSES", 40)
    assert bound(encoded, labels, k) == pytest.approx(best)


def test_there_is_no_bound_if_missing_cells_match_anything() -> None:
    quasi = {"x": {"type": "numeric", "missing": "wildcard"}}
    encoded = encode(Table(pl.DataFrame({"x": [1, 2, None, 4]})), Schema.of(quasi=quasi))
    assert least_loss(encoded, Groups(np.array([0, 0, 1, 1])), 2) is None


@pytest.mark.slow
def test_the_custodian_alone_learns_how_far_the_loss_is_from_the_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(partitions, "_WORK", 1_000_000)
    people = demo.people(60).select("age", "sex", "education", "occupation")
    known = Schema.of(quasi={"age": "numeric"} | dict.fromkeys(people.columns[1:], "categorical"))
    request: dict[str, Any] = {"k": 3, "seed": 1, "register": False}
    release = covey.anonymize(people, known, effort="best", **request)
    encoded = encode(Table(people), known)
    assert isinstance(release.groups, Groups)
    least = least_loss(encoded, release.groups, 3)
    assert least is not None
    assert release.gap == pytest.approx(release.report.losses.total_il / least - 1, abs=1e-4)
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


def test_the_command_line_says_that_no_groups_lose_less_and_never_rounds_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # Each b is with some a. Only one group of all rows can do that for k = 4. It loses 7.
    pl.DataFrame({"x": ["a"] * 4 + ["b"] * 3}).write_csv("people.csv")
    Path("people.toml").write_text('[columns.x]\nrole = "quasi"\ntype = "categorical"\n')
    words = "anonymize people.csv -s people.toml -o released.csv -k 4 --no-register --effort"
    assert cli.run([*words.split(), "best"]) == 0
    assert "the least possible loss" in capfd.readouterr().err
    # The rows alone say that it is at least 3, and 7 is 133.33 % more.
    monkeypatch.setattr(partitions, "_WORK", 0)
    assert cli.run([*words.split(), "best"]) == 0
    assert "at most 133.4" in capfd.readouterr().err
    assert cli.run([*words.split(), "fast"]) == 0
    assert "least possible" not in capfd.readouterr().err


def test_no_loss_at_all_is_the_least() -> None:
    people = pl.DataFrame({"age": [20, 20, 30, 30]})
    known = Schema.of(quasi={"age": "numeric"})
    assert covey.anonymize(people, known, k=2, effort="best", seed=1, register=False).gap == 0.0
