"""The oracles of centres and of the methods around them, by cases computed by hand.

Numbers lie on a scale 0 ... 16, so that all sums, gaps and most means are exact.
"""

from collections.abc import Sequence

import pytest

from covey.reference.centres import (
    Centre,
    attribute_distances,
    centre_of_row,
    centre_of_rows,
    distance,
    gap,
    lexicographic,
    mean,
    mode,
)
from covey.reference.draws import below, shuffle
from covey.reference.gaa_cp import gaa_cp
from covey.reference.ikac import dist_c as ikac_dist_c
from covey.reference.ikac import ikac
from covey.reference.kacpc import all_pairs, kacpc, most_frequent_number, normalised_pairs
from covey.reference.kacpc import dist_c as kacpc_dist_c
from covey.reference.mdav import mdav, squared_gap, standardised, widest
from covey.reference.model import (
    MISSING,
    Categorical,
    Measure,
    Numeric,
    Table,
    Tree,
    flat_tree,
    rise,
    tree_of,
)
from covey.reference.mondrian import mondrian
from covey.reference.oka import oka, running_centre

from .test_oracles import UNBALANCED, Script

KEEP = 0.999  # as a draw of a shuffle: swap the item with itself

# Adult's workclass as the worked examples of KACPC need it (A3).
WORKCLASS = {
    "Private": "*",
    "Self-emp": "*",
    "Gov": "*",
    "Without-pay": "*",
    "Self-emp-inc": "Self-emp",
    "Self-emp-not-inc": "Self-emp",
    "Federal-gov": "Gov",
    "Local-gov": "Gov",
    "State-gov": "Gov",
}


def line(values: Sequence[float | None], weight: float = 1.0) -> Numeric:
    """Return a numeric column on the scale 0 ... 16."""
    return Numeric(values, weight, domain=(0, 16))


def flat(values: Sequence[str | None], weight: float = 1.0, order: str = "") -> Categorical:
    """Return a categorical column without a tree, one letter a value; the order may be given."""
    return Categorical(values, dict.fromkeys(order, "*"), weight)


# What they have in common


def test_gap() -> None:
    assert gap(0.25, 0.75) == gap(0.75, 0.25) == 0.5
    assert gap(-0.5, 1.0) == 1.0
    assert gap(None, 0.5) == gap(0.5, None) == 1.0
    assert gap(None, None) == 0.0


def test_mean_and_mode() -> None:
    assert mean([0.0, None, 0.5, 0.25]) == 0.25
    assert mean([None, None]) is None
    # The order of the sum matters: 1e16 + 1 is 1e16.
    assert mean([1e16, 1.0, -1e16]) == 0.0
    assert mean([1e16, -1e16, 1.0]) == 1 / 3
    assert mode(["p", "q", "q"], "pq") == "q"
    assert mode(["p", "q"], "pq") == "p"
    assert mode(["p", "q"], "qp") == "q"


def test_centres_and_distances() -> None:
    table: Table = {
        "c": Categorical(["a", "b", "e", None], UNBALANCED, weight=3.0),
        "x": line([4, 12, None, None], weight=2.0),
        "y": line([0, 16, 8, 8]),
    }
    assert centre_of_row(table, 3) == Centre({"x": None, "y": 0.5}, {"c": MISSING})
    assert centre_of_rows(table, [2, 1, 0]) == Centre({"x": 0.5, "y": 0.5}, {"c": "a"})
    assert centre_of_rows(table, [3, 2]) == Centre({"x": None, "y": 0.5}, {"c": "e"})
    centre = Centre({"x": 0.5, "y": None}, {"c": "wide"})
    parts = attribute_distances(table, centre, centre_of_row(table, 0), "level")
    assert list(parts.items()) == [("x", 0.25), ("y", 1.0), ("c", 2 / 3)]
    assert distance(table, 0, centre) == 2 * 0.25 + 1.0 + 3 * (1 / 3)
    assert distance(table, 2, centre) == 2 * 1.0 + 1.0 + 3 * 1.0


def test_rise() -> None:
    table = {"x": line([0, 4, 16])}
    assert rise(table, [0], 1) == 2 * 0.25 - 1 * 0.0
    assert rise(table, [0, 1], 2) == 3 * 1.0 - 2 * 0.25
    nodes = {"c": Categorical(["a", "b", "a"], UNBALANCED)}
    assert rise(nodes, [0, 2], 1, "level") == 3 * (2 / 3)


def test_lexicographic_order() -> None:
    # Numbers come before categories whatever their names, missing after all numbers.
    table: Table = {"c": flat("ppqqq", order="qp"), "x": line([1, None, 1, 0, 1])}
    assert lexicographic(table, range(5)) == [3, 2, 4, 0, 1]
    table = {"c": flat("ppqqq", order="pq"), "x": line([1, None, 1, 0, 1])}
    assert lexicographic(table, [4, 2, 0]) == [0, 2, 4]


def test_draws() -> None:
    assert [below(Script(u), 4) for u in (0.0, 0.24, 0.25, 0.999)] == [0, 0, 1, 3]
    # Item 3 swaps with 0; item 2 with 1; item 1 (which is now 2) with itself.
    draws = Script(0.0, 0.5, 0.5)
    assert shuffle(draws, range(4)) == [3, 2, 1, 0]
    assert draws.draws == []
    assert shuffle(Script(), [7]) == [7]


# Mondrian


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([7, 0, 6, 1, 5, 2, 4, 3], [3, 0, 3, 0, 2, 1, 2, 1]),  # halves of halves
        ([1, 1, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1]),  # ties go left
        ([0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]),  # unless only the other cut leaves k rows
        ([0, 1, 1, 1, 1, 2], [0, 0, 0, 0, 0, 0]),  # or none does
        ([3, 3, 3, 3], [0, 0, 0, 0]),
        ([1, 2, None, None], [0, 0, 1, 1]),
        ([None, None, None, 1, 2], [1, 1, 1, 0, 0]),  # a missing median
    ],
)
def test_strict_mondrian(values: list[float | None], expected: list[int]) -> None:
    assert mondrian({"x": line(values)}, 2) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 1, 1, 1, 1, 2], [0, 0, 0, 1, 1, 1]),  # tied rows are dealt out in row order
        ([0, 1, 1, 1, 1, 2, 2], [0, 0, 0, 1, 1, 2, 2]),  # the odd row goes right
        ([2, None, 1, 0], [1, 1, 0, 0]),
        ([3, 3, 3, 3], [0, 0, 0, 0]),
    ],
)
def test_relaxed_mondrian(values: list[float | None], expected: list[int]) -> None:
    assert mondrian({"x": line(values)}, 2, relaxed=True) == expected


def test_mondrian_tries_the_next_attribute() -> None:
    # x is the widest, but no median cut of it leaves two rows on both sides.
    table = {"x": line([0, 8, 8, 8, 8, 16]), "y": line([0, 1, 0, 1, 0, 1])}
    assert mondrian(table, 2) == [0, 1, 0, 1, 0, 1]
    # Relaxed, any cut will do: that of x leaves rows 0, 1, 2.
    assert mondrian(table, 2, relaxed=True) == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(("weight", "expected"), [(1.0, [0, 1, 0, 1]), (3.0, [0, 0, 1, 1])])
def test_mondrian_weighs_ranges(weight: float, expected: list[int]) -> None:
    # Ranges 1 and 1/2.
    table = {"x": line([0, 16, 0, 16]), "y": line([0, 0, 8, 8], weight)}
    assert mondrian(table, 2) == expected


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ([0, 0, 16, 16], [0, 1, 1, 0]),  # as many values: the first attribute
        ([0, 8, 16, 16], [0, 0, 1, 1]),
        ([0, 16, None, None], [0, 0, 1, 1]),  # missing is a value, and gives range 1
    ],
)
def test_mondrian_prefers_more_values(second: list[float | None], expected: list[int]) -> None:
    table = {"a": line([0, 16, 16, 0]), "b": line(second)}
    assert mondrian(table, 2) == expected


def test_mondrian_missing_among_numbers_is_the_full_range() -> None:
    table = {"x": line([0, 15, 0, 15]), "y": line([1, 1, None, None])}
    assert mondrian(table, 2) == [0, 0, 1, 1]
    # Alone it is none.
    table = {"x": line([0, 15, 0, 15]), "y": line([None, None, None, None])}
    assert mondrian(table, 2) == [0, 1, 0, 1]


@pytest.mark.parametrize(("order", "expected"), [("rpq", [0, 1, 0, 1]), ("pqr", [0, 0, 0, 0])])
def test_mondrian_cuts_the_leaf_order(order: str, expected: list[int]) -> None:
    # Places 1, 2, 0, 2 can be halved; of 0, 1, 2, 1 either cut leaves one row alone.
    assert mondrian({"c": flat("pqrq", order=order)}, 2) == expected


@pytest.mark.parametrize(("width", "expected"), [(5, [0, 1, 0, 1]), (6, [0, 0, 1, 1])])
def test_mondrian_range_of_leaves(width: float, expected: list[int]) -> None:
    # Two neighbours of four leaves: 1/3, between 5/16 and 6/16.
    table: Table = {
        "c": Categorical("pqpq", flat_tree("pqrs")),
        "x": line([0, 0, width, width]),
    }
    assert mondrian(table, 2) == expected


def test_mondrian_missing_leaf_is_a_place() -> None:
    # Rows by place: q, p, p, missing; the median is the first p.
    table = {"c": flat(["p", None, "p", "q"], order="qp")}
    assert mondrian(table, 1) == [1, 2, 1, 0]


# MDAV


def test_mdav_scores() -> None:
    assert standardised([0.0, None, 1.0]) == [-0.5 / 0.5**0.5, None, 0.5 / 0.5**0.5]
    assert standardised([None, 0.5]) == [None, 0.0]
    assert standardised([0.25, 0.25, None]) == [0.0, 0.0, None]
    assert widest([-1.0, None, 1.5]) == 2.5
    assert widest([None]) == widest([0.0, 0.0]) == widest([]) == 1.0
    assert squared_gap(2.0, 0.5, 3.0) == 2.25
    assert squared_gap(3.0, -1.0, 2.0) == squared_gap(None, 0.5, 2.0) == 4.0
    assert squared_gap(0.5, None, 3.0) == 9.0
    assert squared_gap(None, None, 3.0) == 0.0


def test_mdav_on_a_line() -> None:
    # The average is 31.6: 100 is furthest, takes 99; 0 is furthest from 100, takes 1. Of the
    # four others, with average 13.25, 20 is furthest, and takes 12.
    table = {"x": Numeric([10, 100, 0, 11, 20, 1, 99, 12])}
    assert mdav(table, 2) == [3, 0, 1, 3, 2, 1, 0, 2]
    # With k = 3 there are 8 < 9 rows, of which 100 takes 99 and 20; the rest is one group.
    assert mdav(table, 3) == [1, 0, 1, 1, 0, 1, 0, 1]
    assert mdav(table, 5) == [0] * 8


def test_mdav_ties_go_to_the_lowest_row() -> None:
    assert mdav({"x": line([5] * 7)}, 2) == [0, 0, 1, 1, 2, 2, 2]
    assert mdav({"x": line([16, 0, 16, 0])}, 2) == [0, 1, 0, 1]


@pytest.mark.parametrize(("order", "expected"), [("qp", [0, 0, 1, 1]), ("pq", [1, 1, 0, 0])])
def test_mdav_mode_follows_the_leaf_order(order: str, expected: list[int]) -> None:
    # The rows that do not have the mode are the furthest.
    assert mdav({"c": flat("ppqq", order=order)}, 2) == expected


def test_mdav_mode_of_the_remaining_rows() -> None:
    # The mode is p, the first of equals: row 0 is the first other, takes 1; the furthest from it
    # is row 2, takes 3. Of p, q, q, q the mode is q, so row 4 is the furthest, and takes row 5.
    table = {"c": flat("rrpppqqq")}
    assert mdav(table, 2) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_mdav_missing_numbers_cost_the_whole_range() -> None:
    # From the average the others are half a range away; from missing all are a range away.
    table = {"x": line([0, 0, 16, 16, None, None])}
    assert mdav(table, 2) == [1, 1, 2, 2, 0, 0]


@pytest.mark.parametrize(("weight", "expected"), [(2.5, [0, 0, 1, 1]), (3.5, [1, 0, 1, 0])])
def test_mdav_weighs_squares(weight: float, expected: list[int]) -> None:
    # Scores are +-0.866, 3 apart when squared. Row 1 has not the mode p; it takes the row with
    # the other leaf or the one with the other number.
    table: Table = {"c": flat("pqpq", weight), "x": line([0, 0, 16, 16])}
    assert mdav(table, 2) == expected


# OKA


def test_oka_first_rows_come_from_the_shuffle() -> None:
    # Rows 3 and 1 are drawn: [3, 1, 2, 0].
    draws = Script(0.0, KEEP, KEEP)
    assert oka({"x": line([0, 1, 15, 16])}, 2, rng=draws) == [1, 1, 0, 0]
    assert draws.draws == []


def test_oka_centres_follow_at_once() -> None:
    # 7 draws the centre of 0 to 3.5, which is nearer to 9 than 16 is. The centre is then 5 1/3,
    # and row 0, the furthest from it, is given up to the group of 16.
    table = {"x": line([0, 16, 7, 9])}
    assert oka(table, 2, rng=Script(KEEP, KEEP, KEEP)) == [1, 1, 0, 0]


def test_oka_adjustment() -> None:
    # All but 16 join row 0, with centre 2.5. Rows 0, 6 (2.5) and 2 (1.5, a tie with row 5) are
    # given up in this order: two fill the group of 16, the third returns.
    table = {"x": line([0, 16, 1, 2, 3, 4, 5])}
    assert oka(table, 3, rng=Script(*[KEEP] * 6)) == [1, 1, 0, 0, 0, 0, 1]


def test_oka_given_up_rows_choose_the_nearest_wanting_group() -> None:
    # 1, 2, 3 join row 0: centre 1.5. Rows 0 and 5 (1.5) leave it: row 0 for 10, and row 5 for
    # 16, as only that group still wants a row.
    table = {"x": line([0, 16, 10, 1, 2, 3])}
    assert oka(table, 2, rng=Script(*[KEEP] * 5)) == [2, 1, 2, 0, 0, 1]


def test_oka_centre_of_nodes_and_missing_numbers() -> None:
    table: Table = {
        "c": Categorical(["e", "d", "f", "a"], UNBALANCED),
        "x": line([None, 4, None, 8]),
    }
    assert running_centre(table, [0, 2]) == Centre({"x": None}, {"c": "deeper"})
    assert running_centre(table, [0, 2, 1]) == Centre({"x": 0.25}, {"c": "deep"})
    assert running_centre(table, [0, 1, 3]) == Centre({"x": 0.375}, {"c": "top"})


@pytest.mark.parametrize(("measure", "expected"), [("height", [0, 1, 1, 0]), ("ncp", [0, 1, 0, 1])])
def test_oka_measure(measure: Measure, expected: list[int]) -> None:
    # Row 2 is 2/3 (by leaves 3/6) from row 0, and 1/3 + 1/4 from row 1. By height it joins row 1,
    # and row 3 joins row 0, as 0 is nearer to 8 than to 10. By leaves both join row 0, and row 3,
    # which is then the furthest from 5 1/3, is given up to row 1.
    table: Table = {"c": Categorical("dfea", UNBALANCED), "x": line([8, 12, 8, 0])}
    assert oka(table, 2, rng=Script(*[KEEP] * 3), measure=measure) == expected


# KACPC and IKAC


def test_kacpc_worked_examples() -> None:
    tree = Tree("*", WORKCLASS)
    assert kacpc_dist_c(tree, "Private", "Local-gov") == 18.0
    same_branch = kacpc_dist_c(tree, "State-gov", "Local-gov")
    assert same_branch == pytest.approx((2 ** (2 / 3) * 3 / 7) ** 2, rel=1e-15)
    assert str(same_branch).startswith("0.4628")
    assert kacpc_dist_c(tree, "Private", "Without-pay") == 9.0
    assert kacpc_dist_c(tree, "Local-gov", "Self-emp-inc") == 36.0
    assert kacpc_dist_c(tree, "Private", "Private") == 0.0


def test_dist_c_of_other_trees() -> None:
    leaves = ["p", "q", "r"]
    assert kacpc_dist_c(Tree("*", flat_tree(leaves, "*")), "p", "q") == 4.0
    # W5: not a metric, as the detour over the leaf hung at level 3 is shorter.
    parent = {"m": "*", "n": "m", "deep": "n", "s": "*", "t": "s", "other": "t", "high": "*"}
    tree = Tree("*", parent)
    assert kacpc_dist_c(tree, "deep", "other") == 144.0
    assert kacpc_dist_c(tree, "deep", "high") == kacpc_dist_c(tree, "high", "other") == 48.0
    pairs = normalised_pairs(all_pairs(tree, kacpc_dist_c))
    assert len(pairs) == 9
    assert pairs["deep", "other"] == 1.0
    assert pairs["high", "deep"] == 48 / 144
    assert pairs["deep", "deep"] == 0.0
    lone = all_pairs(Tree("*", {"p": "*"}), kacpc_dist_c)
    assert normalised_pairs(lone) == {("p", "p"): 0.0}


def test_dist_c_counts_the_missing_leaf() -> None:
    tree = tree_of(Categorical([None], WORKCLASS))
    same_branch = kacpc_dist_c(tree, "State-gov", "Local-gov")
    assert same_branch == pytest.approx((2 ** (2 / 3) * 3 / 8) ** 2, rel=1e-15)
    assert kacpc_dist_c(tree, "Local-gov", MISSING) == 18.0
    assert ikac_dist_c(tree, "State-gov", "Local-gov") == 3 / 8


def test_ikac_distances() -> None:
    tree = Tree("*", WORKCLASS)
    assert ikac_dist_c(tree, "State-gov", "Local-gov") == 3 / 7
    assert ikac_dist_c(tree, "Private", "Local-gov") == 1.0
    assert ikac_dist_c(tree, "Private", "Private") == 0.0


def test_most_frequent_number() -> None:
    assert most_frequent_number([0.5, 0.25, 0.5, None]) == 0.5
    assert most_frequent_number([0.5, 0.25, None]) == 0.25
    assert most_frequent_number([None, 0.5]) == 0.5
    assert most_frequent_number([None, 0.5, None]) is None


def test_next_centre_is_nearest_or_furthest() -> None:
    table = {"x": line([3, 3, 8, 9, 15, 16])}
    assert kacpc(table, 2) == [0, 0, 1, 1, 2, 2]
    # From row 0 the furthest is 16. Then 8 and 9 are equally far in sum.
    assert ikac(table, 2, rng=Script(0.0)) == [0, 0, 2, 2, 1, 1]
    # From row 3: 8 joins; then 3 and 16 are 6 and 7 away; then the threes are left.
    assert ikac(table, 2, rng=Script(0.5)) == [2, 2, 0, 0, 1, 1]


@pytest.mark.parametrize(("last", "expected"), [(15, [0, 1, 2, 4, 3]), (16, [0, 1, 2, 3, 4])])
def test_kacpc_sums_over_all_centres(last: float, expected: list[int]) -> None:
    # After 8, 8 and 12 the row with 3 is 5 + 5 + 9 = 19 away; 15 is 17 away, and 16 is 20.
    table = {"x": line([8, 8, 12, 3, last])}
    assert kacpc(table, 1) == expected


def test_ikac_sums_over_all_centres() -> None:
    # After 0 and 16 all others are 16 away.
    assert ikac({"x": line([0, 16, 9, 4])}, 1, rng=Script(0.0)) == [0, 1, 2, 3]


def test_kacpc_leftovers_go_to_the_nearest_centre() -> None:
    # 3 takes 3 and 4; 6 takes 9 and 10; the row left over, 11, is 8 and 5 away.
    table = {"x": line([3, 3, 4, 9, 10, 11, 6])}
    assert kacpc(table, 3) == [0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("normalise", "expected"), [(False, [0, 1, 0, 1, 0]), (True, [1, 0, 0, 0, 1])]
)
def test_kacpc_normalise(normalise: bool, expected: list[int]) -> None:
    # Row 2 has the most frequent number and the most frequent leaf. Rows 0 and 1 are 2 away;
    # rows 3 and 4 are 4 away, or 1. So row 2 takes row 0, row 1 takes row 3 (6 away) and row 4
    # is left over; or row 2 takes row 3, row 4 (1) takes row 0 (3) and row 1 is left over.
    table: Table = {"c": flat("pppqq"), "x": line([0, 0, 16, 16, 16], weight=2.0)}
    assert kacpc(table, 2, normalise=normalise) == expected


@pytest.mark.parametrize(("order", "expected"), [("pq", [0, 0, 1, 1]), ("qp", [1, 1, 0, 0])])
def test_kacpc_starts_at_the_mode(order: str, expected: list[int]) -> None:
    assert kacpc({"c": flat("ppqq", order=order)}, 2) == expected


def test_kacpc_starts_at_missing_where_that_is_most_frequent() -> None:
    table = {"x": line([1, None, 2, None, 3])}
    assert kacpc(table, 2) == [1, 0, 1, 0, 1]


def test_ikac_groups_leaves_by_their_branch() -> None:
    table = {"c": Categorical(["State-gov", "Private", "Local-gov", "Without-pay"], WORKCLASS)}
    assert ikac(table, 2, rng=Script(0.0)) == [0, 1, 0, 1]


# GAA-CP


def test_gaa_cp_gathers_ties() -> None:
    # 0 takes all three ones; the last of the two others is drawn.
    draws = Script(0.0, 0.5)
    assert gaa_cp({"x": line([0, 1, 1, 1, 9, 10])}, 2, rng=draws) == [0, 0, 0, 0, 1, 1]
    assert draws.draws == []
    # 5 takes 3 and 7 at once, on both sides.
    table = {"x": line([5, 3, 7, 10, 9])}
    assert gaa_cp(table, 2, rng=Script(0.0, 0.0)) == [0, 0, 0, 1, 1]


def test_gaa_cp_measures_the_whole_group() -> None:
    # 8 takes 6; then 5 adds 1 and 11 adds 3, though both are 3 away from 8. 16 takes 14 and 11.
    table = {"x": line([8, 6, 11, 5, 16, 14])}
    assert gaa_cp(table, 3, rng=Script(0.0, 0.5)) == [0, 0, 1, 0, 1, 1]


def test_gaa_cp_leftovers_change_their_group_at_once() -> None:
    # 6 goes to the zeros (4*6 < 4*10). Then 10 would add 5*10 - 4*6 = 26 there, 4*6 = 24 to the
    # others; but 9, nearer to the others, adds 21 there and 28 to the others.
    zeros, tops = [0] * 3, [16] * 3
    draws = (0.0, 0.0)
    table = {"x": line([*zeros, *tops, 6, 10])}
    assert gaa_cp(table, 3, rng=Script(*draws)) == [0, 0, 0, 1, 1, 1, 0, 1]
    table = {"x": line([*zeros, *tops, 6, 9])}
    assert gaa_cp(table, 3, rng=Script(*draws)) == [0, 0, 0, 1, 1, 1, 0, 0]


@pytest.mark.parametrize(
    ("measure", "draws", "expected"),
    [("height", [0.0], [0, 0, 0, 0]), ("level", [0.0, 0.0], [0, 1, 0, 1])],
)
def test_gaa_cp_measure(measure: Measure, draws: list[float], expected: list[int]) -> None:
    # Rows 1 and 2 are 1/3 from row 0 by height, but 2/3 and 1/3 by level.
    table: Table = {
        "u": Categorical("abad", UNBALANCED),
        "v": Categorical("eefa", UNBALANCED),
    }
    assert gaa_cp(table, 2, rng=Script(*draws), measure=measure) == expected
