"""Rows that stay together, because an earlier release has shown them together."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import covey
from covey import Groups, KAnonymity, LDiversity, Schema, TCloseness, UsageError
from covey.clustering import METHODS
from covey.encoding import EncodedTable, encode
from covey.tables import Table
from examples import examples
from oracles.constrained import is_feasible, keeps
from oracles.metrics import groups_of as members_of
from oracles.rules import rule_of
from tables_of_people import People, people

Labels = NDArray[np.int64]
WORDS = st.sampled_from(["x", "y", "z"])


@st.composite
def atoms(draw: st.DrawFn, rows: int) -> Labels:
    """The atom of each row, -1 for a row by itself."""
    most = draw(st.integers(0, rows // 2), "most")
    return np.array(draw(st.lists(st.integers(-1, most), min_size=rows, max_size=rows), "atoms"))


def are_together(own: Labels, groups: Groups) -> bool:
    return all(len({*groups.labels[own == atom]}) == 1 for atom in {*own.tolist()} - {-1})


def is_large_enough(rows: list[int], own: Labels, k: int, reserve: int, whole: int) -> bool:
    """Whether a group has an atom of k or more, or enough rows in all."""
    sizes = [np.count_nonzero(own == own[row]) for row in rows if own[row] >= 0]
    return bool(max(sizes, default=0) >= max(k, 2)) or len(rows) >= min(k + reserve, whole)


@pytest.mark.parametrize("effort", ["fast", "quick", "balanced"])
@given(people(least=2, most=30), st.data())
@examples(40)
def test_atoms_stay_together_in_groups_of_k(
    effort: str, table: People, data: st.DataObject
) -> None:
    own = data.draw(atoms(table.rows))
    k = data.draw(st.integers(1, table.rows), "k")
    reserve = data.draw(st.integers(0, 5), "reserve")
    encoded = replace(table.encoded(), atoms=own)
    groups = METHODS["covey"](encoded, k, seed=1, effort=effort, reserve=reserve)
    assert isinstance(groups, Groups)
    assert groups.suppressed == 0
    assert groups.smallest >= k
    assert are_together(own, groups)
    for rows in members_of(groups.labels.tolist()):
        assert is_large_enough(rows, own, k, reserve, table.rows)


@pytest.mark.parametrize(
    "requirement",
    [
        LDiversity(2, "word"),
        LDiversity(2, "word", "frequency"),
        LDiversity(1.5, "word", "entropy"),
        TCloseness(0.3, "word"),
        KAnonymity(3, "word"),
    ],
    ids=lambda one: f"{one.name} {getattr(one, 'kind', '')}",
)
@given(people(least=4, most=24, columns=2), st.data())
@examples(25)
def test_atoms_stay_together_under_requirements(
    requirement: Any, table: People, data: st.DataObject
) -> None:
    words = data.draw(st.lists(WORDS, min_size=table.rows, max_size=table.rows), "words")
    frame = table.frame.with_columns(word=pl.Series(words))
    role = "identifier" if isinstance(requirement, KAnonymity) else "sensitive"
    word = covey.Column.model_validate({"role": role})
    columns = {**table.schema.columns, "word": word}
    schema = table.schema.model_copy(update={"columns": columns})
    k = data.draw(st.integers(2, table.rows // 2), "k")
    own = data.draw(atoms(table.rows))
    asked = [KAnonymity(k), requirement]
    persons = {"word": frame["word"]} if role == "identifier" else None
    encoded = encode(Table(frame), schema, require=asked, persons=persons)
    oracle = [rule_of(frame, one) for one in asked]
    assume(is_feasible(oracle, table.rows))
    groups = METHODS["covey"](replace(encoded, atoms=own), k, seed=2)
    assert isinstance(groups, Groups)
    assert are_together(own, groups)
    judge = keeps(oracle)
    assert all(judge(frozenset(rows)) for rows in members_of(groups.labels.tolist()))


# ── for researchers ─────────────────────────────────────────────────────────────────────────────

TOWNS = Schema.of(quasi={"age": "numeric"})


def people_of(*ages: float) -> pl.DataFrame:
    return pl.DataFrame({"age": ages})


def test_new_rows_join_old_groups_where_that_costs_least() -> None:
    table = people_of(20, 21, 22, 60, 61, 62, 21, 61)
    found = covey.cluster(table, TOWNS, k=3, start=[0, 0, 0, 1, 1, 1, -1, -1])
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1, 0, 1]


def test_only_fixed_rows_stay() -> None:
    table = people_of(20, 60, 20, 60)
    start = [0, 0, 1, 1]
    assert covey.cluster(table, TOWNS, k=2, start=start).labels.tolist() == start
    free = covey.cluster(table, TOWNS, k=2, start=start, fixed=[False] * 4)
    assert free.labels.tolist() == [0, 1, 0, 1]


def test_a_group_of_the_start_that_lost_rows_joins_another() -> None:
    found = covey.cluster(people_of(20, 21, 22, 30, 31), TOWNS, k=3, start=[0, 0, 0, 1, 1])
    assert found.labels.tolist() == [0] * 5


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"start": [0, 0]}, "each of the 4 rows"),
        ({"start": [0, 0, 1, 1], "fixed": [True]}, "each of the 4 rows"),
        ({"start": [0, 0, 1, -2]}, "-1 or more"),
        ({"start": [0, 1, 0, 1], "method": "mondrian"}, "mondrian"),
        ({"start": [0, 0, 1, 1], "max_suppressed": 0.3}, "max_suppressed"),
        ({"start": [0, 0, 1, 1], "objective": "sse"}, "loss"),
        ({"reserve": -1}, "reserve"),
        ({"reserve": 1.5}, "reserve"),
    ],
)
def test_what_cannot_be_kept_is_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        covey.cluster(people_of(20, 21, 60, 61), TOWNS, **{"k": 2, **more})


def encoded_of(rows: int) -> EncodedTable:
    random = np.random.default_rng(rows)
    frame = pl.DataFrame({"age": random.integers(0, 90, rows), "income": random.random(rows)})
    return encode(Table(frame), Schema.of(quasi={"age": "numeric", "income": "numeric"}))


def test_without_atoms_a_reserve_is_a_larger_k() -> None:
    table = encoded_of(300)
    one, other = METHODS["covey"](table, 5, reserve=2), METHODS["covey"](table, 7)
    assert (one.labels == other.labels).all()
