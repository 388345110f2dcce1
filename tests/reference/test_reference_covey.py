"""The covey method compared with its reference in plain Python, label by label."""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import reference
from covey.clustering import METHODS
from covey.encoding import EncodedTable, encode
from covey.schema import Schema
from covey.tables import Table
from examples import examples
from tables_of_people import CLASS, People, people

covey = sys.modules["covey.clustering.covey"]
twin = sys.modules["covey.reference.covey"]
seeds = st.integers(0, 2**64)
efforts = pytest.mark.parametrize("effort", ["fast", "quick", "balanced"])
whats = pytest.mark.parametrize("what", ["loss", "classes", "evenness", "suppression", "all"])
evenness = st.sampled_from([0.05, 0.2, 0.5, 2.0])
penalties = st.sampled_from([0.0, 0.1, 0.5, 1.0, 5.0])
shares = st.sampled_from([0.03, 0.1, 0.2, 0.5, 0.9])


def by_both(
    encoded: EncodedTable, k: int, seed: int, **options: Any
) -> tuple[list[int], list[int]]:
    """The labels of the method, and those of the reference."""
    fast = METHODS["covey"](encoded, k, seed=seed, **options)
    if encoded.classes is not None:
        options["classes"] = encoded.classes.tolist()
    if encoded.atoms is not None:
        options["atoms"] = encoded.atoms.tolist()
    slow = reference.cluster(
        encoded.plain, k, method="covey", seed=seed, measure=encoded.measure, **options
    )
    return fast.labels.tolist(), slow


def check(table: People, effort: str, what: str, data: st.DataObject) -> None:
    options: dict[str, Any] = {"effort": effort}
    if what in ("evenness", "all"):
        options["evenness"] = data.draw(evenness, "evenness")
    if what in ("classes", "all"):
        options["penalty"] = data.draw(penalties, "penalty")
    if what in ("suppression", "all"):
        options["max_suppressed"] = data.draw(shares, "max_suppressed")
    k = data.draw(st.integers(1, table.rows // 2 + 1), "k")
    seed = data.draw(seeds, "seed")
    fast, slow = by_both(table.encoded(classes="penalty" in options), k, seed, **options)
    assert fast == slow


@efforts
@whats
@given(people(most=16), st.data())
@examples(35)
def test_labels_are_those_of_the_reference(
    effort: str, what: str, table: People, data: st.DataObject
) -> None:
    check(table, effort, what, data)


@whats
@given(people(least=17, most=40, columns=3), st.data())
@examples(25)
def test_labels_of_more_rows_are_those_of_the_reference(
    what: str, table: People, data: st.DataObject
) -> None:
    check(table, "balanced", what, data)


def fewer_rounds(patch: pytest.MonkeyPatch, balanced: int = 3) -> None:
    """Let both do less for the higher efforts: with a small table, thrice the rounds."""
    for plans in (covey.PLANS, twin.EFFORTS):
        patch.setitem(plans, "balanced", replace(plans["balanced"], rounds=balanced))
        patch.setitem(plans, "best", replace(plans["best"], rounds=0.5))


@whats
@given(people(least=4, most=30, columns=3), st.data())
@examples(20)
def test_labels_of_the_best_effort_are_those_of_the_reference(
    what: str, table: People, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fewer_rounds(patch)
        check(table, "best", what, data)


@given(
    st.sampled_from(["fast", "quick", "balanced", "best"]),
    st.one_of(st.integers(1, 2_000), st.integers(1, 10**7)),
    st.integers(1, 10**6),
)
def test_the_amount_of_work_is_that_of_the_reference(effort: str, rows: int, k: int) -> None:
    plan, work = covey.PLANS[effort].for_table(rows, k), twin.work_for(effort, rows, k)
    assert (plan.rounds, plan.gain, plan.heat) == (work.rounds, work.gain, work.heat)


def test_small_tables_get_more_rounds_and_large_ones_end_sooner() -> None:
    best, balanced, quick = (covey.PLANS[effort] for effort in ("best", "balanced", "quick"))
    rounds = [best.for_table(rows, 1).rounds for rows in (10, 500, 1_000, 10_000, 200_000)]
    assert rounds == [1000, 1000, 500, 50, 25]
    assert best.for_table(10_000, 100).rounds == 125
    assert [balanced.for_table(rows, 9).rounds for rows in (10, 50_000, 10**7)] == [42, 14, 3]
    assert {quick.for_table(rows, 9).rounds for rows in (10, 10**7)} == {2}
    assert [balanced.for_table(rows, 1).heat for rows in (153_125, 153_126)] == [0.2, 0.0]
    heats = [best.for_table(10_000, k).heat for k in (1, 16, 81)]
    assert heats == [pytest.approx(heat) for heat in (0.3, 0.15, 0.1)]


def gathering_in_hot_rounds(patch: pytest.MonkeyPatch) -> None:
    """Let both gather from k = 2 on, in three rounds with heat."""
    for plans, effort in ((covey.PLANS, covey.Plan), (twin.EFFORTS, twin.Effort)):
        plan = effort(rounds=3, gain=0.0, tries=1, gathers=2, heat=0.2)
        patch.setitem(plans, "quick", plan)


@pytest.mark.parametrize(
    ("rows", "k", "options"),
    [
        (130, 5, {}),
        (160, 12, {"evenness": 0.2}),
        (120, 8, {"penalty": 0.5}),
        (140, 8, {"max_suppressed": 0.05}),
        (110, 3, {}),
    ],
)
def test_groups_that_gather_rows_are_those_of_the_reference(
    rows: int, k: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = crowd(rows, k, classes="penalty" in options)
    without, _ = by_both(table, k, 11, effort="quick", **options)
    gathering_in_hot_rounds(monkeypatch)
    fast, slow = by_both(table, k, 11, effort="quick", **options)
    assert fast == slow != without


@whats
@given(people(least=8, most=40, columns=3), st.data())
@examples(20)
def test_any_groups_that_gather_rows_are_those_of_the_reference(
    what: str, table: People, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for plans in (covey.PLANS, twin.EFFORTS):
            patch.setitem(plans, "quick", replace(plans["quick"], gathers=2))
        check(table, "quick", what, data)


# ── rows that stay together ─────────────────────────────────────────────────────────────────────


@st.composite
def atoms(draw: st.DrawFn, rows: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The atom of each row, from none to nearly all of them in one."""
    most = draw(st.integers(0, rows // 2), "most")
    return np.array(draw(st.lists(st.integers(-1, most), min_size=rows, max_size=rows), "atoms"))


@pytest.mark.parametrize("effort", ["fast", "quick", "balanced", "best"])
@pytest.mark.parametrize("what", ["loss", "classes", "evenness", "all"])
@given(people(least=4, most=30, columns=3), st.data())
@examples(30)
def test_labels_of_rows_that_stay_together_are_those_of_the_reference(
    effort: str, what: str, table: People, data: st.DataObject
) -> None:
    options: dict[str, Any] = {"effort": effort, "reserve": data.draw(st.integers(0, 4))}
    if what in ("evenness", "all"):
        options["evenness"] = data.draw(evenness, "evenness")
    if what in ("classes", "all"):
        options["penalty"] = data.draw(penalties, "penalty")
    k = data.draw(st.integers(1, table.rows // 2 + 1), "k")
    encoded = table.encoded(classes="penalty" in options)
    own = data.draw(atoms(table.rows))
    encoded = replace(encoded, atoms=own)
    with pytest.MonkeyPatch.context() as patch:
        fewer_rounds(patch)
        if data.draw(st.booleans(), "gathers"):
            for plans in (covey.PLANS, twin.EFFORTS):
                patch.setitem(plans, effort, replace(plans[effort], gathers=2))
        fast, slow = by_both(encoded, k, data.draw(seeds, "seed"), **options)
    assert fast == slow
    for atom in {*own.tolist()} - {-1}:
        assert len({fast[row] for row in np.flatnonzero(own == atom)}) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "k", "options"),
    [
        (600, 5, {"effort": "balanced", "reserve": 2}),
        (700, 40, {"effort": "quick", "reserve": 3}),
        (300, 150, {"effort": "fast"}),
        (600, 6, {"effort": "quick", "penalty": 0.5, "reserve": 1}),
    ],
)
def test_labels_of_large_atoms_are_those_of_the_reference(
    rows: int, k: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two thirds of the rows are in groups of their own table."""
    fewer_rounds(monkeypatch, balanced=1)
    table = crowd(rows, k, classes="penalty" in options)
    random = np.random.default_rng(k)
    first = np.flatnonzero(random.random(rows) < 0.67)
    before = METHODS["covey"](table.take(first), k, seed=3)
    found = np.full(rows, -1)
    found[first] = before.labels
    fast, slow = by_both(replace(table, atoms=found), k, 11, **options)
    assert fast == slow


def test_without_atoms_nothing_changes() -> None:
    table = crowd(700, 4)
    alone = replace(table, atoms=np.full(table.rows, -1))
    for effort in ("fast", "balanced"):
        one, other = (METHODS["covey"](some, 5, effort=effort).labels for some in (table, alone))
        assert (one == other).all()


# ── larger tables ───────────────────────────────────────────────────────────────────────────────


def crowd(
    rows: int,
    seed: int,
    *,
    ages: int = 60,
    towns: int = 8,
    odd: float = 0.01,
    far: bool = False,
    classes: bool = False,
) -> EncodedTable:
    """People of whom many are equal, some have no age, and a few are like no one else."""
    random = np.random.default_rng(seed)
    age = random.integers(0, ages, rows).astype(float)
    age[random.random(rows) < odd] = 10.0 * ages
    town = random.geometric(0.3, rows).clip(max=towns)
    frame = pl.DataFrame(
        {
            "age": pl.Series(age).set(pl.Series(random.random(rows) < 0.02), None),
            "income": random.integers(0, 3, rows) / 10,
            "sex": random.choice(["f", "m"], rows),
            "town": [f"{'north' if place % 2 else 'south'} {place}" for place in town],
            CLASS: random.choice(["x", "y", "z"], rows, p=[0.6, 0.3, 0.1]),
        }
    )
    north = [f"north {place}" for place in range(1, towns + 1, 2)]
    south = [f"south {place}" for place in range(2, towns + 1, 2)]
    schema = Schema.of(
        quasi={
            "age": "numeric" if far else {"type": "numeric", "domain": (0, 10 * ages)},
            "income": {"type": "numeric", "weight": 0.3},
            "sex": "categorical",
            "town": {"type": "categorical", "taxonomy": {"N": north, "S": south}},
        },
        sensitive=[CLASS],
    )
    return encode(Table(frame), schema, class_column=CLASS if classes else None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "k", "options"),
    [
        (crowd(1100, 1), 4, {"effort": "fast"}),
        (crowd(620, 2), 70, {"effort": "quick"}),
        (crowd(900, 9, ages=10_000), 280, {"effort": "fast"}),
        (crowd(530, 9), 50, {"effort": "balanced"}),
        (crowd(560, 3, far=True), 5, {"effort": "balanced"}),
        (crowd(600, 4, ages=5), 3, {"effort": "balanced", "evenness": 0.2}),
        (crowd(600, 5, classes=True), 6, {"effort": "quick", "penalty": 0.5}),
        (crowd(600, 6), 12, {"effort": "balanced", "max_suppressed": 0.03}),
        (crowd(120, 7, classes=True), 10, {"effort": "best", "max_suppressed": 0.02}),
        (crowd(110, 8), 26, {"effort": "best"}),
    ],
    ids=lambda value: f"{value.rows} rows" if isinstance(value, EncodedTable) else str(value),
)
def test_labels_of_several_blocks_are_those_of_the_reference(
    table: EncodedTable, k: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups grow in blocks of 512 rows, or 8k if that is more; large ones by many rows at once."""
    fewer_rounds(monkeypatch, balanced=1)
    fast, slow = by_both(table, k, 11, **options)
    assert fast == slow
    assert table.rows > 512 or options["effort"] == "best"
    assert (-1 in fast) == ("max_suppressed" in options)


@pytest.mark.slow
def test_labels_of_rounds_in_several_blocks_are_those_of_the_reference() -> None:
    """At most 128 groups are in a block; here most groups cost nothing, to save time."""
    table = crowd(9000, 8, ages=2, towns=4)
    fast, slow = by_both(table, 40, 12, effort="quick")
    assert fast == slow
    assert max(fast) + 1 > 150


def strangers(common: int, odd: int) -> EncodedTable:
    """Equal people, and others who are unlike everyone, in a random order."""
    frame = pl.DataFrame({"x": [0] * common + [1] * odd, "y": [0] * common + list(range(odd))})
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=common)
    return encode(Table(shuffled), Schema.of(quasi={"x": "numeric", "y": "numeric"}))


def test_labels_of_blocks_without_groups_are_those_of_the_reference() -> None:
    """Suppressed rows are split as groups are. So all but one of the blocks have no group."""
    fast, slow = by_both(strangers(350, 140), 150, 13, max_suppressed=0.9)
    assert fast == slow
    assert fast.count(-1) == 140 > 128


@pytest.mark.parametrize("max_suppressed", [0.1, 0.2, 0.28])
def test_labels_after_rounds_that_are_undone_are_those_of_the_reference(
    max_suppressed: float,
) -> None:
    """Too many rows are suppressed, and the return of some costs more than the round has gained."""
    options: dict[str, Any] = {"effort": "quick", "max_suppressed": max_suppressed}
    fast, slow = by_both(strangers(350, 140), 150, 14, **options)
    assert fast == slow
    assert -1 not in fast


def test_labels_of_equal_rows_are_those_of_the_reference() -> None:
    """Nothing can be cut, so blocks are halved."""
    fast, slow = by_both(strangers(1301, 0), 7, 15)
    assert fast == slow
    assert max(fast) + 1 == 4 * (325 // 7)


def draw_of_equals(rows: int, seed: int, *, values: int, columns: int) -> EncodedTable:
    """Few categories with weights that are no sums of powers of 2."""
    random = np.random.default_rng(seed)
    weights = random.choice([0.1, 0.2, 0.3, 0.7, 1.1], columns).tolist()
    quasi = {
        name: {"type": "categorical", "weight": weight}
        for name, weight in zip("abcde", weights, strict=False)
    }
    cells = {name: [f"{name}{v}" for v in random.integers(0, values, rows)] for name in quasi}
    return encode(Table(pl.DataFrame(cells)), Schema.of(quasi=quasi))


@pytest.mark.parametrize(
    ("rows", "seed", "values", "columns", "k"),
    [(38, 6, 3, 4, 10), (79, 132, 2, 4, 20), (69, 243, 2, 5, 14), (79, 2752, 2, 4, 20)],
)
def test_rounding_decides_between_equals_as_in_the_reference(
    rows: int, seed: int, values: int, columns: int, k: int
) -> None:
    """A row raises several groups by the same cost, but not by the same float."""
    table = draw_of_equals(rows, seed, values=values, columns=columns)
    fast, slow = by_both(table, k, seed, effort="fast")
    assert fast == slow


def test_rounding_does_not_decide_between_rounds_that_cost_the_same() -> None:
    """Any two of the three rows of the other class may be suppressed."""
    classes = [0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0]
    frame = pl.DataFrame({"a": ["a"] * 10 + [None], CLASS: [f"{one}" for one in classes]})
    schema = Schema.of(quasi={"a": "categorical"}, sensitive=[CLASS])
    encoded = encode(Table(frame), schema, class_column=CLASS)
    options = {"effort": "quick", "evenness": 0.2, "penalty": 0.1, "max_suppressed": 0.2}
    fast, slow = by_both(encoded, 6, 0, **options)
    assert fast == slow
