"""Rates of attackers beside brute force, and intervals that cover."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.attacks import matching
from covey.attacks.attempts import guessed, matched, tried
from covey.attacks.case import Case
from covey.attacks.knowledge import Attackers
from covey.attacks.rates import Rate, controlled, paired, rate, wilson
from covey.schema import Schema
from covey.schema.taxonomy import build
from covey.tables import Table
from examples import examples
from oracles import intruders

PARENT = {"471": "47x", "472": "47x", "481": "48x", "48A": "48x", "47x": "*", "48x": "*"}
ZIPS = ["471", "472", "481", "48A"]
SHOWN_ZIPS = [*ZIPS, "47x", "48x", "{471, 481}", "*", None]
AGES = [20, 21, 22, 25, None]
SHOWN_AGES = ["20", "22", "[20, 21]", "[21, 25]", "[20, 25]", "*", None]
K = 3


def rows(ages: list[Any], zips: list[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    one = {
        "age": st.sampled_from(ages),
        "zip": st.sampled_from(zips),
        "stay": st.sampled_from([1, 2, 3, 9, None]),
        "illness": st.sampled_from(["a", "b", "c", None]),
    }
    return st.lists(st.fixed_dictionaries(one), min_size=1, max_size=9)


def frame(some: list[dict[str, Any]], age: type[pl.DataType]) -> pl.DataFrame:
    return pl.DataFrame(
        some, {"age": age, "zip": pl.String, "stay": pl.Int64, "illness": pl.String}
    )


def case_of(people: Any, released: Any, missing: str) -> tuple[Case, Mapping[str, intruders.Known]]:
    """Both tables, and what the oracle knows of them."""
    schema = Schema.of(
        quasi={
            "age": {"type": "numeric", "grid": 2, "missing": missing},
            "zip": {"type": "categorical", "taxonomy": build(PARENT), "missing": missing},
        },
        insensitive=["stay"],
        sensitive=["illness"],
    )
    others = frozenset(one["zip"] for one in people if one["zip"])
    wildcard = missing == "wildcard"
    known = {
        "age": intruders.Known("number", 2, wildcard),
        "zip": intruders.Known("label", 0, wildcard, PARENT, others),
        "stay": intruders.Known("kept", 1),
        "illness": intruders.Known("kept"),
    }
    tables = Table(frame(people, pl.Int64)), Table(frame(released, pl.String))
    return Case.read(*tables, schema, K), known


@pytest.mark.parametrize("way", ["bits", "looked up"])
@given(rows(AGES, ZIPS), rows(SHOWN_AGES, SHOWN_ZIPS), st.sampled_from(["category", "wildcard"]))
@examples(60)
def test_rates_are_those_of_the_definition(
    way: str, people: list[Any], released: list[Any], missing: str
) -> None:
    if all(one["zip"] for one in people):  # then a release shows no missing one
        released = [{**one, "zip": one["zip"] or "*"} for one in released]
    case, known = case_of(people, released, missing)
    targets = case.targets()
    attackers = Attackers(case.columns, [*case.columns])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_PAIRS", 10**9 if way == "looked up" else 0)
        patch.setattr(matching, "_AT_FIRST", 4)  # so that there are several chunks
        for attacker in (*attackers.alone(), *attackers.together([*case.columns])):
            about = attacker.quality == "about"
            success = tried(case, attacker, targets)
            columns = {name: known[name] for name in attacker.columns}
            truth = [
                intruders.fitting(people[n], released, columns, about=about) for n in success.people
            ]
            assert sorted(success.people) == list(range(len(people)))
            assert success.fits.tolist() == [len(found) for found in truth]
            for name, right in success.right.items():
                guesses = [
                    intruders.guessed(people[n], found, released, name)
                    for n, found in zip(success.people, truth, strict=True)
                ]
                assert right == pytest.approx([float(one) for one in guesses])
            every = (*matched(case, attacker, success), *guessed(attacker, success, targets))
            by_name = {(f.criterion, f.about): f for f in every}
            few = sum(0 < len(found) < K for found in truth)
            assert by_name["singling out", None].rate.rate == pytest.approx(few / len(people))
            picked = sum(1 / len(found) for found in truth if found)
            assert by_name["linkability", None].rate.rate == pytest.approx(picked / len(people))
            assert by_name["linkability", None].rate.chance == 1 / len(released)
            for name in success.right:
                chance = [float(intruders.guessed(one, released, released, name)) for one in people]
                assert by_name["inference", name].rate.chance == pytest.approx(np.mean(chance))


def test_an_end_is_exact_as_often_as_people_are_at_ends() -> None:
    people = [{"age": a, "zip": "471", "stay": 1, "illness": "a"} for a in (20, 21, 25, 25, 22)]
    released = [{**people[0], "age": "[20, 25]"}] * 4 + [{**people[0], "age": "22"}]
    case, _ = case_of(people, released, "category")
    attacker = next(a for a in Attackers(case.columns, ["age", "zip"]).together(["age", "zip"])
                    if a.group)  # fmt: skip
    success = tried(case, attacker, [])
    # 22 fits the interval, too: four of its five rows.
    expected = {20: 1, 21: 0, 25: 1, 22: 0}
    order = [people[n]["age"] for n in success.people]
    assert success.ends["age"] == pytest.approx([expected[age] for age in order])
    anyone = dict.fromkeys((20, 21, 25), 3 / 5) | {22: 0.8 * 3 / 5}
    assert success.ends_by_chance["age"] == pytest.approx([anyone[age] for age in order])


def test_an_interval_of_nobody_begins_at_nothing() -> None:
    assert {wilson(0.0, number)[0] for number in range(1, 2_000)} == {0.0}


def test_intervals_cover() -> None:
    random = np.random.default_rng(1)

    def covered(true: float, found: Rate) -> bool:
        return found.low <= true <= found.high

    for a, b, n in ((0.02, 0.01, 60), (0.3, 0.2, 40), (0.9, 0.5, 200)):
        hits = np.zeros(3)
        for _ in range(1_000):
            one, other = (random.random(n) < p for p in (a, b))
            hits += [
                covered(a, rate(one.astype(float))),
                covered(a - b, paired(one.astype(float), other.astype(float))),
                covered(a - b, controlled(one.astype(float), other.astype(float))),
            ]
        assert (hits >= 930).all(), (a, b, n, hits)


def test_equal_cells_of_another_type_are_equal() -> None:
    one = {"age": 20, "zip": "471", "stay": 1, "illness": "a"}
    case, _ = case_of([one], [{**one, "age": "20"}], "category")
    typed = case.released.frame.with_columns(pl.col("stay").cast(pl.String))
    again = Case.read(case.people, Table(typed), case.schema, K)
    for attacker in Attackers(again.columns, []).alone():
        assert tried(again, attacker, []).fits.tolist() == [1]
