"""Releases that follow one another: nobody may be found by all of them together."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey._core.arrays import Longs
from covey.clustering import METHODS
from covey.custody import composition
from covey.custody.atoms import ALONE, Atoms
from covey.encoding import encode
from covey.schema import Schema
from covey.tables import Table
from examples import examples
from oracles.sequences import Shown, candidates, hopeless

SCHEMA = Schema.of(
    quasi={
        "age": {"type": "numeric", "domain": (0, 9)},
        "town": "categorical",
    }
)
PEOPLE = 30


@dataclass
class World:
    """People who come, leave and change, and what was released of them."""

    ages: list[int]
    towns: list[str]
    releases: list[Shown] = field(default_factory=list)

    def traces(self, here: Sequence[int]) -> Longs:
        """In which class each of these people was each time; classes are numbered."""
        numbers = [
            {shown: at for at, shown in enumerate(sorted({*old.values()}))} for old in self.releases
        ]
        found = [
            [
                number[old[one]] if one in old else -1
                for old, number in zip(self.releases, numbers, strict=True)
            ]
            for one in here
        ]
        return np.array(found, dtype=np.int64).reshape(len(here), len(self.releases))

    def release(self, here: Sequence[int], k: int, reserve: int, atoms: Atoms) -> list[int]:
        """Release these people but for those who are too few; return who was left out."""
        kept = [one for one, gone in zip(here, atoms.shrunk, strict=True) if not gone]
        labels = atoms.labels[~atoms.shrunk]
        if len(kept) >= k:
            frame = pl.DataFrame(
                {"age": [self.ages[one] for one in kept], "town": [self.towns[one] for one in kept]}
            )
            table = replace(encode(Table(frame), SCHEMA), atoms=labels)
            groups = METHODS["covey"](table, k, seed=1, effort="fast", reserve=reserve)
            self.releases.append(dict(zip(kept, groups.labels.tolist(), strict=True)))
        return [one for one in here if one not in kept]


@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(0, 2), st.integers(2, 6))
@examples(300)
def test_everyone_has_k_candidates_over_all_releases(
    seed: int, k: int, reserve: int, number: int
) -> None:
    """People join, leave, come back and change at random."""
    draw = np.random.default_rng(seed)
    world = World(draw.integers(0, 10, PEOPLE).tolist(), draw.choice([*"abc"], PEOPLE).tolist())
    here = draw.random(PEOPLE) < draw.random()
    leave, come = draw.random(2) * 0.4
    for _ in range(number):
        present = np.flatnonzero(here).tolist()
        before = [*world.releases]
        left_out = world.release(present, k, reserve, Atoms.of(world.traces(present), k))
        assert {*left_out} == hopeless(present, before, k) - {
            one for one in present if all(one not in old for old in before)
        }
        if len(world.releases) > len(before):
            assert min(candidates(world.releases).values()) >= k
        chance = draw.random(PEOPLE)
        here = np.where(here, chance >= leave, chance < come)
        for one in np.flatnonzero(draw.random(PEOPLE) < 0.1).tolist():
            world.ages[one], world.towns[one] = int(draw.integers(10)), str(draw.choice([*"abc"]))


@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(2, 6))
@examples(60)
def test_the_judge_finds_what_the_released_files_show(seed: int, k: int, number: int) -> None:
    """Also of releases whose groups nobody kept together."""
    draw = np.random.default_rng(seed)
    world = World([0] * PEOPLE, ["a"] * PEOPLE)
    for _ in range(number):
        here = np.flatnonzero(draw.random(PEOPLE) < 0.8).tolist()
        world.releases.append({one: int(draw.integers(3)) for one in here})
    traces = world.traces(here)
    earlier = [*traces[:, :-1].T]
    judged = composition.candidates(traces[:, -1], earlier, None)
    assert judged.tolist() == [*candidates(world.releases).values()]
    most = composition.candidates(np.zeros(len(here), dtype=np.int64), earlier, None)
    every = [*world.releases[:-1], dict.fromkeys(here, 0)]
    assert most.tolist() == [*candidates(every).values()]


@given(st.integers(0, 2**32), st.integers(2, 5), st.integers(2, 5))
@examples(100)
def test_whoever_can_have_k_candidates_has_them_although_the_shrunk_stay(
    seed: int, k: int, number: int
) -> None:
    draw = np.random.default_rng(seed)
    world = World(draw.integers(0, 10, PEOPLE).tolist(), ["a"] * PEOPLE)
    for _ in range(number):
        here = np.flatnonzero(draw.random(PEOPLE) < 0.7).tolist()
        most = candidates([*world.releases, dict.fromkeys(here, 0)])
        atoms = Atoms.of(world.traces(here), k)
        for one, lack in zip(here, atoms.lacking.tolist(), strict=True):
            assert lack == 0 or lack == k - most[one]
        if len(here) >= k:
            world.release(here, k, 0, replace(atoms, shrunk=np.zeros(len(here), dtype=np.bool_)))
            for one, found in candidates(world.releases).items():
                assert found >= min(k, most[one])


def test_small_sets_stay_with_a_large_one_that_was_in_all_their_classes() -> None:
    # Four were in class 0 twice, two only in the second release, one in neither.
    traces = np.array([[0, 0]] * 4 + [[-1, 0]] * 2 + [[-1, -1]])
    atoms = Atoms.of(traces, 4)
    assert len({*atoms.labels[:6]}) == 1
    assert atoms.labels[6] == ALONE
    assert not atoms.shrunk.any()


def test_a_small_set_joins_the_largest_of_those_that_can_hide_it() -> None:
    atoms = Atoms.of(np.array([[0, 0]] * 3 + [[1, 0]] * 4 + [[-1, 0]]), 3)
    assert (atoms.labels[7], len({*atoms.labels})) == (atoms.labels[3], 2)


def test_sets_that_share_a_class_only_once_need_not_stay_together() -> None:
    atoms = Atoms.of(np.array([[0, 0]] * 3 + [[1, 0]] * 3), 3)
    assert len({*atoms.labels}) == 2


def test_who_lost_companions_has_shrunk_and_so_has_who_hid_among_them() -> None:
    # Two of four are left, and another two, who came later, hid among the four.
    atoms = Atoms.of(np.array([[0, 0]] * 2 + [[-1, 0]] * 2 + [[-1, -1]]), 4)
    assert atoms.shrunk.tolist() == [True] * 4 + [False]


def test_who_was_away_for_a_while_hides_among_those_who_were_not() -> None:
    atoms = Atoms.of(np.array([[0, 0, 0]] * 3 + [[0, -1, 0]]), 3)
    assert len({*atoms.labels}) == 1
    assert not atoms.shrunk.any()


# ── sabotage: the oracle must notice ────────────────────────────────────────────────────────────


def released_twice() -> tuple[World, list[int]]:
    """Ten people of two ages, then two more between them."""
    world = World([0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 4, 5], ["a"] * 12)
    world.release(range(10), 5, 0, Atoms.of(world.traces(range(10)), 5))
    assert len({*world.releases[0].values()}) == 2
    return world, [*range(12)]


def exposed(world: World, k: int) -> int:
    return sum(found < k for found in candidates(world.releases).values())


def test_releases_that_follow_expose_nobody() -> None:
    world, here = released_twice()
    world.release(here, 5, 0, Atoms.of(world.traces(here), 5))
    assert exposed(world, 5) == 0


def test_the_oracle_finds_a_moved_row() -> None:
    world, here = released_twice()
    atoms = Atoms.of(world.traces(here), 5)
    atoms.labels[0] = atoms.labels[9]
    world.release(here, 5, 0, atoms)
    assert exposed(world, 5) == 5


def test_the_oracle_finds_releases_from_scratch() -> None:
    world, here = released_twice()
    for one in range(0, 10, 2):
        world.ages[one] = 9 - world.ages[one]
    world.release(here, 5, 0, Atoms.of(np.full((12, 1), ALONE), 5))
    assert exposed(world, 5) > 0


@pytest.mark.parametrize("counted", [False, True])
def test_the_oracle_finds_a_leaver_who_is_counted(counted: bool) -> None:
    world, here = released_twice()
    stay = [one for one in here if one != 0]
    atoms = Atoms.of(world.traces(stay), 4 if counted else 5)
    world.release(stay, 5, 0, atoms)
    assert exposed(world, 5) == (4 if counted else 0)
