"""Requirements over all groupings of tiny tables: what is possible, and at which loss."""

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import pytest

from covey.reference.model import Categorical, Numeric, Table

from .constrained import Predicate, Rule, constrained_optimum, is_feasible, keeps, partitions
from .metrics import groups_of, total_il

PARENT = {"a": "ab", "b": "ab", "ab": "top", "c": "cd", "d": "cd", "cd": "top"}
FIGURES = {
    "rows": "1 2 3 5 7",
    "persons": "1 2 3 4",
    "distinct": "2 3 4",
    "frequency": "2 3",
    "entropy": "1.5 2 2.5 3",
    "recursive": "0.4 1 2 3.5",
    "equal": "0 0.2 0.34 0.5 0.8",
    "ordered": "0 0.1 0.2 0.34 0.5",
    "hierarchical": "0 0.2 0.34 0.5 0.8",
    "alpha": "0.25 0.34 0.5 0.75",
    "basic": "0.2 0.5 1 3",
    "enhanced": "0.2 0.5 1 3",
    "delta": "0.2 0.5 1 1.5",
}
# By these, every grouping of the whole table into one group is fine.
ALWAYS = ("equal", "ordered", "hierarchical", "basic", "enhanced", "delta")


def draw_rule(dice: random.Random, model: str, n: int) -> Rule:
    """A requirement on a random column; persons and words may be missing."""
    pool = dice.choice(["ab", "aaab", "abc", "abcd", "abbcc"])
    values: list[object] = [dice.choice(pool) for _ in range(n)]
    if model == "ordered":
        values = [ord(str(value)) ** 2 for value in values]
    if dice.random() < 0.3:
        values[dice.randrange(n)] = None
    return Rule(
        model,
        Fraction(dice.choice(FIGURES[model].split())),
        values,
        l=dice.choice([2, 3]),
        listed=["a", "c"] if model == "alpha" and dice.random() < 0.5 else None,
        parent=PARENT,
    )


def some_grouping(complies: Predicate, n: int) -> bool:
    """By brute force, whether any grouping keeps it."""
    return any(all(map(complies, grouping)) for grouping in partitions(range(n)))


def test_there_are_as_many_groupings_as_bell_counted() -> None:
    for n, bell in enumerate([1, 1, 2, 5, 15, 52, 203]):
        found = {frozenset(grouping) for grouping in partitions(range(n))}
        assert len(found) == len(list(partitions(range(n)))) == bell


@pytest.mark.parametrize("model", FIGURES)
def test_what_holds_for_two_groups_holds_for_both_together(model: str) -> None:
    dice = random.Random(model)
    held = 0
    for _ in range(40):
        n = dice.randint(2, 6)
        complies = keeps([draw_rule(dice, model, n)])
        groups = [frozenset(g) for size in range(1, n) for g in combinations(range(n), size)]
        for one, other in combinations(filter(complies, groups), 2):
            if not one & other:
                held += 1
                assert complies(one | other)
    assert held > 50


@pytest.mark.parametrize("model", FIGURES)
def test_a_requirement_can_be_had_exactly_if_the_whole_table_keeps_it(model: str) -> None:
    dice = random.Random(model)
    found = []
    for _ in range(40):
        n = dice.randint(1, 6)
        rules = [draw_rule(dice, model, n)]
        found.append(is_feasible(rules, n))
        assert found[-1] == some_grouping(keeps(rules), n)
    assert any(found)
    assert all(found) == (model in ALWAYS)


def test_several_requirements_can_be_had_exactly_if_the_whole_table_keeps_them_all() -> None:
    dice = random.Random(0)
    found = []
    for _ in range(300):
        n = dice.randint(2, 6)
        chosen = ["rows", *dice.sample(list(FIGURES), dice.randint(1, 3))]
        rules = [draw_rule(dice, model, n) for model in chosen]
        found.append(is_feasible(rules, n))
        assert found[-1] == some_grouping(keeps(rules), n)
    assert 30 < sum(found) < 270


def test_the_brute_force_sees_what_is_not_closed_under_union() -> None:
    """One value a group can be had, though the whole table has two."""
    words = "aabb"

    def alike(group: frozenset[int]) -> bool:
        return len({words[row] for row in group}) == 1

    assert some_grouping(alike, 4)
    assert not alike(frozenset(range(4)))


# ── the optimum ─────────────────────────────────────────────────────────────────────────────────


def draw_table(dice: random.Random, n: int) -> Table:
    leaves: Sequence[str | None] = ["a", "b", "c", "d", None]
    return {
        "x": Numeric([dice.choice([0, 1, 1, 2, 5, 9, None]) for _ in range(n)], 2.0),
        "y": Categorical([dice.choice(leaves) for _ in range(n)], PARENT),
    }


def test_the_optimum_is_that_of_all_groupings() -> None:
    dice = random.Random(1)
    for _ in range(60):
        n = dice.randint(2, 6)
        table = draw_table(dice, n)
        rules = [draw_rule(dice, model, n) for model in dice.sample(list(FIGURES), 2)]
        complies = keeps(rules)
        found = constrained_optimum(table, complies)
        losses = [
            total_il(table, [next(g for g, m in enumerate(groups) if r in m) for r in range(n)])
            for groups in partitions(range(n))
            if all(map(complies, groups))
        ]
        assert (found is None) == (not losses) == (not is_feasible(rules, n))
        if found is not None:
            assert found[0] == pytest.approx(min(losses))
            assert found[0] == total_il(table, found[1])
            assert all(complies(frozenset(group)) for group in groups_of(found[1]))


def test_one_more_requirement_never_lowers_the_optimum() -> None:
    dice = random.Random(3)
    raised = 0
    for _ in range(60):
        n = dice.randint(3, 7)
        table = draw_table(dice, n)
        rules = [Rule("rows", Fraction(2), range(n))]
        least = -1.0
        for model in [*dice.sample(list(FIGURES), 3), None]:
            found = constrained_optimum(table, keeps(rules))
            if found is None:
                break
            assert found[0] >= least - 1e-9
            raised += 0 <= least < found[0] - 1e-9
            least = found[0]
            if model is not None:
                rules.append(draw_rule(dice, model, n))
    assert raised > 20


def test_by_hand() -> None:
    """Two pairs of neighbours: with one word each, they have to mix."""
    table: Table = {"x": Numeric([0.0, 0.0, 10.0, 10.0])}
    pairs = Rule("rows", Fraction(2), range(4))
    assert constrained_optimum(table, keeps([pairs])) == (0.0, [0, 0, 1, 1])
    mixed = [pairs, Rule("distinct", Fraction(2), "aabb")]
    assert constrained_optimum(table, keeps(mixed)) == (4.0, [0, 1, 0, 1])
    assert constrained_optimum(table, keeps([pairs, Rule("distinct", Fraction(3), "aabb")])) is None
