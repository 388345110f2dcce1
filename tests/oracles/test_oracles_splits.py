# ruff: noqa: E741 (l is the name of the parameter everywhere)
"""CB, NH, systematic, KACA and WF-C-means by hand, and what the specification claims of them."""

import math
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Literal

import numpy as np
import pytest

from covey.reference.cb import cb, deal, ordered, two_means
from covey.reference.centres import Centre, centre_of_row
from covey.reference.kaca import distance as class_distance
from covey.reference.kaca import equal_classes, kaca
from covey.reference.model import (
    Categorical,
    Column,
    Measure,
    Numeric,
    Table,
    ancestors,
    attribute_order,
    flat_tree,
    leaves_of_rows,
    lowest_common_ancestor,
    record_loss,
    row_count,
    tree_of,
)
from covey.reference.nh import nh, tour
from covey.reference.systematic import systematic
from covey.reference.wf_c_means import feature_weights, wf_c_means

from .matchings import (
    Graph,
    disjoint_perfect_matchings,
    matchable,
    matchable_counts,
    perfect_matching,
)
from .metrics import gcp, total_il
from .optimum import optimum, optimum_by_program
from .test_oracles import MEASURES, UNBALANCED, Script, line, partitions, random_table

STAY = 0.999  # a shuffle of such draws keeps the order


def plane(xs: Sequence[float], ys: Sequence[float]) -> Table:
    """Return a table of two numeric columns on the scale 0..10."""
    return {"x": Numeric(xs, domain=(0.0, 10.0)), "y": Numeric(ys, domain=(0.0, 10.0))}


def class_sizes(labels: Sequence[int]) -> list[int]:
    """Return the sizes of the classes, which must be numbered without gaps."""
    counts = Counter(labels)
    assert sorted(counts) == list(range(len(counts)))
    return [counts[label] for label in sorted(counts)]


# CB: He's example
#
# The specification (A2) does not give the values of Table 1, only its names, its ranges 40 and 25
# and what comes out of it. Hundreds of tables fit, with values in steps of 5; this is one of them.
# Rows: Andy, Bob, Jane, Alex, Mary, Lily, Lucy.
HE: Table = {
    "age": Numeric([20, 20, 30, 40, 50, 55, 60]),
    "zip": Numeric([10, 15, 10, 15, 30, 30, 35]),
}
HE_SPLIT = [[0, 1, 2, 3], [4, 5, 6]]
HE_TABLE_2 = [0, 0, 1, 1, 2, 2, 2]


def test_he_table_2_is_the_optimum() -> None:
    losses = [len(rows) * record_loss(HE, rows) for rows in ([0, 1], [2, 3], [4, 5, 6])]
    assert losses == pytest.approx([0.4, 0.9, 1.35])
    assert gcp(HE, HE_TABLE_2) == pytest.approx(2.65 / 14)
    assert optimum(HE, 2)[1] == optimum_by_program(HE, 2)[1] == HE_TABLE_2
    every = sorted(
        sum(len(rows) * record_loss(HE, rows) for rows in groups)
        for groups in partitions(list(range(7)))
        if min(map(len, groups)) >= 2
    )
    assert len(every) == 162
    assert every[:2] == pytest.approx([2.65, 2.85])
    assert total_il(HE, [0, 1, 0, 1, 2, 2, 2]) == pytest.approx(2.85)


@pytest.mark.parametrize("start", list(permutations(range(7), 2)), ids=str)
def test_he_first_split_from_every_pair(start: tuple[int, int]) -> None:
    centres = (centre_of_row(HE, start[0]), centre_of_row(HE, start[1]))
    rng = np.random.default_rng(0)
    *_, last = two_means(HE, range(7), 2, centres, tries=15, rng=rng)
    assert sorted(last) == HE_SPLIT


@pytest.mark.parametrize(("second", "expected"), [(0.99, HE_TABLE_2), (0.0, [0, 1, 0, 1, 2, 2, 2])])
def test_he_table_1_to_table_2(second: float, expected: list[int]) -> None:
    # Andy and Lucy start the first split, two tries. Andy and Alex start the second: Jane is
    # nearer to Andy (0.25 against 0.45), but Alex needs one more, and her regret of 0.2 is less
    # than Bob's of 0.3. From Andy and Bob it ends with the runner-up.
    with Script(0.0, 0.99, *[STAY] * 12, 0.0, second, *[STAY] * 6) as rng:
        assert cb(HE, 2, rng=rng, tries=2) == expected


@pytest.mark.parametrize("seed", range(5))
def test_he_restarts_find_table_2(seed: int) -> None:
    labels = cb(HE, 2, rng=np.random.default_rng(seed), restarts=8)
    assert total_il(HE, labels) == pytest.approx(2.65)


# CB: splits by hand


@pytest.mark.parametrize(("draw", "expected"), [(STAY, [0, 1, 0, 1]), (0.0, [1, 0, 1, 0])])
def test_cb_deals_equal_rows_out_in_turn(draw: float, expected: list[int]) -> None:
    # Draws of 0.0 swap each place with the first: 3120, 2130, 1230.
    with Script(0.0, 0.0, draw, draw, draw) as rng:
        assert cb(line([5] * 4), 2, rng=rng, tries=1) == expected


def test_cb_repair_moves_the_least_regret() -> None:
    # Only row 0 is near the first centre. The regrets of rows 1, 2, 3 are 0.6, 0.8, 1.0.
    with Script(0.0, 0.99, *[STAY] * 3) as rng:
        assert cb(line([0, 8, 9, 10]), 2, rng=rng, tries=1) == [0, 0, 1, 1]


def test_cb_centres_follow_the_groups() -> None:
    # From 0 and 2 the first try has only row 0 on the left; the mean of the others is 8.4.
    table = line([0, 2, 4, 10, 12, 14], 20)
    centres = (centre_of_row(table, 0), centre_of_row(table, 1))
    rng = np.random.default_rng(0)
    found = list(two_means(table, range(6), 1, centres, tries=3, rng=rng))
    halves = ([0, 1, 2], [3, 4, 5])
    assert found == [([0], [1, 2, 3, 4, 5]), halves, halves]


APART = [0.0, 0.5, *[STAY] * 3]  # from rows 0 and 2
CLOSE = [0.5, 0.99, *[STAY] * 3]  # from rows 2 and 3


@pytest.mark.parametrize(
    ("starts", "expected"),
    [
        ([CLOSE], [1, 0, 0, 1]),
        ([CLOSE, APART], [0, 0, 1, 1]),
        ([APART, CLOSE], [0, 0, 1, 1]),
    ],
)
def test_cb_keeps_the_best(starts: list[list[float]], expected: list[int]) -> None:
    # From 6 and 8 all others are nearer to 6, with the same regret, and row 0 moves: 3.25. From 0
    # and 6 it is 0.75.
    with Script(*[draw for start in starts for draw in start]) as rng:
        labels = cb(line([0, 1, 6, 8], 8), 2, rng=rng, tries=1, restarts=len(starts))
    assert labels == expected


@pytest.mark.parametrize(
    ("categorical", "expected"), [("tree", [0, 1, 0, 1]), ("ordered", [0, 0, 1, 1])]
)
def test_cb_readings_of_categories(
    categorical: Literal["tree", "ordered"], expected: list[int]
) -> None:
    # From p and s. In a flat tree q and r are as far from one as from the other, and are dealt
    # out; in the order pqrs they lie between.
    table = {"c": Categorical(list("pqrs"), {})}
    with Script(0.0, 0.99, *[STAY] * 3) as rng:
        labels = cb(table, 2, rng=rng, tries=1, categorical=categorical)
    assert labels == expected


def test_ordered_table() -> None:
    table: Table = {
        "a": Categorical(["q", None, "p"], {}, weight=2.0),
        "b": Numeric([1, None, 3]),
        "c": Categorical(["x"] * 3, {}),
    }
    numbers = ordered(table)
    assert attribute_order(numbers) == ["0 b", "1 a", "1 c"]
    assert [numbers[name].values for name in attribute_order(numbers)] == [
        [1, None, 3],
        [0.5, 1.0, 0.0],
        [0.0, 0.0, 0.0],
    ]
    # Row 0 and 1: missing with present, then half the order, with weight 2.
    assert record_loss(numbers, [0, 1]) == 2.0


# CB with l: dealing out by hand


def dealt(table: Table, k: int, l: int, codes: Sequence[int]) -> list[list[int]]:
    """Deal all rows of a numeric table out."""
    return deal(table, range(row_count(table)), k, l=l, sensitive=codes, scale=table)


def test_deal_takes_the_nearest_of_the_next_bucket() -> None:
    # The buckets are 0, 2 and 1, 10 by value: 0 takes 1, and 2 what is left.
    assert dealt(line([2, 0, 10, 1]), 2, 2, [0, 0, 1, 1]) == [[1, 3], [0, 2]]
    # Of equals the first in the bucket, which is in lexicographic order: 4 before 6.
    assert dealt(line([5, 5, 6, 4]), 2, 2, [0, 0, 1, 1]) == [[0, 3], [1, 2]]


def test_deal_begins_with_the_largest_bucket() -> None:
    # Code 1 has two rows; then code 0 is the lower of two with one row.
    assert dealt(line([0, 1, 2, 3]), 2, 2, [0, 1, 1, 2]) == [[1, 0], [2, 3]]


@pytest.mark.parametrize(
    ("k", "expected"), [(2, [[0, 2], [1, 3, 4]]), (3, [[0, 2, 1, 3, 4]]), (5, [])]
)
def test_deal_places_the_rest_and_merges(k: int, expected: list[list[int]]) -> None:
    # He's a, a, b, b, c. 0 takes 1 and 10 takes 9; 8 costs 3*0.8 - 2*0.1 = 2.2 in the first group
    # and 3*0.2 - 2*0.1 = 0.4 in the second. For k = 3 two groups make a class, for k = 5 three.
    assert dealt(line([0, 10, 1, 9, 8]), k, 2, [0, 0, 1, 1, 2]) == expected


def test_deal_merges_the_nearest_groups() -> None:
    # Four groups of two equal rows each. The first is nearer to the last than to the others.
    table = plane([0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 9, 9, 9, 9, 0, 0])
    assert dealt(table, 4, 2, [0, 1] * 4) == [[0, 1, 6, 7], [2, 3, 4, 5]]


def test_deal_looks_at_the_first_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[deal.__module__], "WINDOW", 2)
    # 9 is the third of its bucket: 10 takes 1, then 9.
    table = line([10, 10, 10, 0, 1, 9])
    assert dealt(table, 2, 2, [0, 0, 0, 1, 1, 1]) == [[0, 4], [1, 5], [2, 3]]
    # The groups of the test before: the last is out of sight of the first.
    table = plane([0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 9, 9, 9, 9, 0, 0])
    assert dealt(table, 4, 2, [0, 1] * 4) == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize(("last", "founder"), [(10, [4, 5]), (3, [8, 9])])
def test_deal_joins_groups_left_over(last: int, founder: list[int]) -> None:
    # Groups of two at 0, 1, 8, 9 and one more. At 10 it is left over, and costs 6*0.2 - 4*0.1 in
    # the second class. At 3 it founds that class with 8; 9 is left and costs 6*0.6 - 4*0.5.
    table = line([0, 0, 1, 1, 8, 8, 9, 9, last, last])
    classes = dealt(table, 4, 2, [0, 1] * 5)
    assert [sorted(rows) for rows in classes] == [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9]]
    assert classes[1][:2] == founder


@pytest.mark.parametrize("codes", [[0, 0, 0, 1], [0, 0, 0, 0]])
def test_deal_gives_up(codes: list[int]) -> None:
    assert dealt(line([0, 1, 2, 3]), 2, 2, codes) == []


@pytest.mark.parametrize(
    ("values", "codes", "expected"),
    [
        # {0, 1} and {9, 10} have one code each. Dealt out: 2*0.9 + 2*0.9 < 4*1.0.
        ([0, 1, 9, 10], [0, 0, 1, 1], [0, 1, 0, 1]),
        # Dealt out, nothing is gained: 2*1.0 + 2*1.0 = 4*1.0.
        ([0, 0, 10, 10], [0, 0, 1, 1], [0, 0, 0, 0]),
        # The split is diverse, and stays.
        ([0, 1, 9, 10], [0, 1, 0, 1], [0, 0, 1, 1]),
    ],
)
def test_cb_deals_out_what_it_cannot_split(
    values: list[float], codes: list[int], expected: list[int]
) -> None:
    with Script(0.0, 0.99, *[STAY] * 3) as rng:
        labels = cb(line(values), 2, rng=rng, tries=1, l=2, sensitive=codes)
    assert labels == expected


@pytest.mark.parametrize(
    ("categorical", "expected"), [("tree", [0, 0, 0, 0]), ("ordered", [0, 1, 1, 0])]
)
def test_cb_deals_out_by_the_same_reading(
    categorical: Literal["tree", "ordered"], expected: list[int]
) -> None:
    # From s and p. In the order pqrs, s s and p r are not diverse; dealt out, s takes r, the
    # nearer one, and 2/3 + 2 < 4. In the flat tree every class of two leaves loses all: 2 + 2 = 4.
    table = {"c": Categorical(list("sspr"), flat_tree("pqrs"))}
    with Script(0.0, 0.5, STAY, STAY, STAY) as rng:
        labels = cb(
            table,
            2,
            rng=rng,
            tries=1,
            categorical=categorical,
            l=2,
            sensitive=[0, 0, 1, 1],
        )
    assert labels == expected


def test_cb_refuses() -> None:
    table, rng = line([0, 1, 2, 3]), np.random.default_rng(0)
    with pytest.raises(ValueError, match="5-anonymous"):
        cb(table, 5, rng=rng)
    with pytest.raises(ValueError, match="1/2-diverse"):
        cb(table, 2, rng=rng, l=2, sensitive=[0, 0, 0, 1])
    with pytest.raises(ValueError, match="together"):
        cb(table, 2, rng=rng, l=2)


# He's Theorem 3 (A2b), and the peel that replaces it (E3)


def is_diverse(values: Sequence[int], l: int) -> bool:
    """Tell whether the values, of which there must be some, are 1/l-diverse."""
    return l * max(values.count(value) for value in set(values)) <= len(values)


def profiles(n: int, largest: int | None = None) -> Iterator[list[int]]:
    """Yield every way to write n as a sum of counts, the largest first."""
    if n == 0:
        yield []
        return
    for count in range(min(n, n if largest is None else largest), 0, -1):
        for rest in profiles(n - count, count):
            yield [count, *rest]


def feasible_cases(most: int) -> Iterator[tuple[list[int], int]]:
    """Yield the values of each profile of up to so many rows, with each l >= 2 it allows."""
    for n in range(1, most + 1):
        for counts in profiles(n):
            for l in range(2, n // counts[0] + 1):
                yield [value for value, count in enumerate(counts) for _ in range(count)], l


def he_split(
    values: Sequence[int],
    l: int,
    groups: Literal["ceil", "floor"],
) -> list[list[int]]:
    """Return the values sorted and dealt round robin into |T| / l groups (Fig. 5).

    He numbers the rows from 1: row i goes to group (i mod g) + 1.
    """
    count = math.ceil(len(values) / l) if groups == "ceil" else len(values) // l
    dealt: list[list[int]] = [[] for _ in range(count)]
    for i, value in enumerate(sorted(values), start=1):
        dealt[i % count].append(value)
    return dealt


def test_he_split_counterexamples() -> None:
    assert he_split([0, 1, 2], 2, "ceil") == [[1], [0, 2]]
    assert he_split([0, 0, 1, 1, 2], 2, "ceil") == [[1], [0, 1], [0, 2]]
    assert he_split([0, 0, 1, 1, 2], 2, "floor") == [[0, 1], [0, 1, 2]]
    # The boundary c(v) = |T| / l, which Fig. 5 line 1 turns away.
    assert he_split([0, 0, 1, 1], 2, "ceil") == [[0, 1], [0, 1]]
    # Groups for k = 3 instead of l = 2: neither is 1/2-diverse.
    assert he_split([0, 0, 0, 1, 1, 1], 3, "floor") == [[0, 1, 1], [0, 0, 1]]


def test_he_theorem_3() -> None:
    cases = failures = 0
    for values, l in feasible_cases(16):
        cases += 1
        assert all(is_diverse(group, l) for group in he_split(values, l, "floor"))
        holds = all(is_diverse(group, l) for group in he_split(values, l, "ceil"))
        assert holds == (len(values) % l == 0)
        failures += not holds
    assert (failures, cases) == (746, 1444)


def test_the_peel_never_fails() -> None:
    for codes, l in feasible_cases(12):
        n = len(codes)
        table = line([3 * row % 11 for row in range(n)])
        groups = dealt(table, 1, l, codes)
        assert sorted(row for group in groups for row in group) == list(range(n))
        assert len(groups) >= n // l
        for group in groups:
            assert l <= len(group) == len({codes[row] for row in group})


def test_classes_of_peeled_groups() -> None:
    for codes, l in feasible_cases(9):
        n = len(codes)
        for k in range(1, n + 1):
            classes = dealt(line([5] * n), k, l, codes)
            assert len(classes) >= n // l // -(-k // l)
            assert all(len(rows) >= k for rows in classes)
            assert all(is_diverse([codes[row] for row in rows], l) for rows in classes)


# NH


def test_nh_by_hand() -> None:
    # From row 0 the hops go to 3, 0, 3. Rows 1 (0.2 < 1.8) and 2 (0.4 < 1.6) join row 0; row 3
    # needs one more, and row 2 is nearest. The rings have shifts 0 and 1.
    with Script(0.0, STAY, 0.0, 0.6) as rng:
        rings, members = nh(line([0, 1, 2, 10]), 2, rng=rng)
    assert rings == [0, 0, 1, 1]
    assert members == [[0, 1], [1, 0], [3, 2], [2, 3]]


def test_nh_seeds_are_two_and_three_hops_away() -> None:
    # The start 4 is furthest from 10, 10 from 0, 0 from 10. So the group of 0 comes first.
    with Script(0.5, STAY, 0.0, 0.0) as rng:
        rings, _ = nh(line([10, 9, 4, 0]), 2, rng=rng)
    assert rings == [1, 1, 0, 0]


def test_nh_shares_equal_rows() -> None:
    # All at the same place: from row 0 the hops go to 1, 0, 1; 2 and 3 join in turn.
    with Script(0.0, STAY, 0.0, 0.0) as rng:
        rings, _ = nh(line([5] * 4), 2, rng=rng)
    assert rings == [0, 1, 0, 1]


def test_tour() -> None:
    assert tour(line([5, 0, 4, 7]), [0, 1, 2, 3], "height") == [0, 2, 3, 1]
    assert tour(line([5, 0, 4, 7]), [3, 1, 2], "height") == [1, 2, 3]


def test_a_ring_of_three() -> None:
    # 5 goes on to 4, and that to 0. Shift 1: each row is the second of its three.
    table = line([5, 0, 4, 9])
    with Script(0.34) as rng:
        rings, members = nh(table, 3, rng=rng)
    assert rings == [0, 0, 0, 0]
    assert tour(table, range(4), "height") == [0, 2, 1, 3]
    assert members == [[3, 0, 2], [2, 1, 3], [0, 2, 1], [1, 3, 0]]


def covers(column: Column, members: Sequence[int], row: int) -> bool:
    """Tell whether the summary of the members holds the value of the row."""
    if isinstance(column, Numeric):
        present = [v for member in members if (v := column.values[member]) is not None]
        value = column.values[row]
        if 0 < len(present) < len(members):
            return True
        if value is None or not present:
            return value is None and not present
        return min(present) <= value <= max(present)
    tree = tree_of(column)
    node = lowest_common_ancestor(tree, leaves_of_rows(column, members))
    return node in ancestors(tree, leaves_of_rows(column, [row])[0])


@pytest.mark.parametrize("seed", range(4))
def test_every_row_can_have_k_boxes(seed: int) -> None:
    n, k = 17, 2 + seed % 3
    table = random_table(random.Random(seed), n)
    rings, members = nh(table, k, rng=np.random.default_rng(seed))
    assert all(k <= size < 2 * k for size in class_sizes(rings))
    assert all(row in members[row] for row in range(n))
    assert all(rings[row] == rings[box] for box in range(n) for row in members[box])
    assert all(len(set(rows)) == len(rows) == k for rows in members)
    assert Counter(row for rows in members for row in rows) == dict.fromkeys(range(n), k)

    by_ring = [[row in members[box] for box in range(n)] for row in range(n)]
    assert matchable_counts(by_ring) == [k] * n
    assert disjoint_perfect_matchings(by_ring) == k
    by_box = [
        [all(covers(table[name], members[box], row) for name in table) for box in range(n)]
        for row in range(n)
    ]
    assert min(matchable_counts(by_box)) >= k
    assert disjoint_perfect_matchings(by_box) >= k


# Matchings


def all_matchings(graph: Graph) -> list[set[tuple[int, int]]]:
    """Return every perfect matching as a set of edges."""
    every = [set(enumerate(boxes)) for boxes in permutations(range(len(graph)))]
    return [edges for edges in every if all(graph[i][j] for i, j in edges)]


def most_disjoint(matchings: list[set[tuple[int, int]]]) -> int:
    """Return how many matchings without a common edge there are at most, by trying all."""
    return max(
        (
            1 + most_disjoint([other for other in matchings[i + 1 :] if not one & other])
            for i, one in enumerate(matchings)
        ),
        default=0,
    )


@pytest.mark.parametrize("seed", range(40))
def test_matchings_against_all_permutations(seed: int) -> None:
    draw = random.Random(seed)
    n = draw.randint(1, 5)
    graph = [[draw.random() < 0.6 for _ in range(n)] for _ in range(n)]
    matchings = all_matchings(graph)
    edges = {edge for matching in matchings for edge in matching}
    assert matchable(graph) == [{j for j in range(n) if (i, j) in edges} for i in range(n)]
    assert disjoint_perfect_matchings(graph) == most_disjoint(matchings)
    found = perfect_matching(graph)
    assert (found is None) == (not matchings)
    assert found is None or set(enumerate(found)) in matchings


def test_boxes_that_no_matching_uses() -> None:
    # Original 0 lies in both boxes, but 1 only in box 1: 0 cannot have that.
    assert matchable_counts([[True, True], [False, True]]) == [1, 1]
    assert disjoint_perfect_matchings([[True, True], [False, True]]) == 1
    assert matchable_counts([[True, False], [True, False]]) == [0, 0]
    with pytest.raises(ValueError, match="one box"):
        perfect_matching([[True, True]])


# Systematic clustering


@pytest.mark.parametrize(
    ("draw", "expected"), [(0.0, [1, 0, 2, 1, 0, 2]), (0.5, [2, 0, 1, 1, 0, 2])]
)
def test_systematic_by_hand(draw: float, expected: list[int]) -> None:
    # In order 0 1 3 6 8 10. Seeds 0 3 8 take 1 6 10; seeds 1 6 10 take 0 8 3.
    with Script(draw) as rng:
        table = line([3, 0, 8, 6, 1, 10])
        assert systematic(table, 2, rng=rng) == expected


def test_systematic_leftovers() -> None:
    # In order 0 1 3 5 6 8 10. Seeds 0 3 6 take 1 5 8; 10 costs 2.8, 1.7 and 0.8.
    with Script(0.0) as rng:
        table = line([3, 0, 8, 6, 1, 10, 5])
        assert systematic(table, 2, rng=rng) == [1, 0, 2, 2, 0, 2, 1]


def test_systematic_follows_the_leaf_order() -> None:
    # By leaf order r q p: the seeds are r and p, at places 0 and 2 of r q p p.
    table = {"c": Categorical(["p", "q", "r", "p"], dict.fromkeys("rqp", "*"))}
    with Script(0.0) as rng:
        assert systematic(table, 2, rng=rng) == [1, 0, 0, 1]


# KACA


@pytest.mark.parametrize(
    ("one", "other", "beta", "expected"),
    [
        # Levels weigh 1, 1/2, 1/3 from the top, 11/6 in all. a and b climb level 2.
        ("a", "b", 1.0, (3 + 3) / 11),
        # e climbs levels 3 and 2, d only 2.
        ("e", "d", 1.0, (5 + 3) / 11),
        ("e", "d", 0.0, (2 + 1) / 3),
        # a and e end at the root: 9/11 and 1.
        ("a", "e", 1.0, 20 / 11),
        # Missing hangs at the root.
        ("a", None, 1.0, (9 + 6) / 11),
        ("c", "c", 1.0, 0.0),
    ],
)
def test_kaca_climbs(one: str, other: str | None, beta: float, expected: float) -> None:
    table = {"c": Categorical([one, other], UNBALANCED)}
    assert class_distance(table, [0], [1], beta) == pytest.approx(expected)
    assert class_distance(table, [1], [0], beta) == pytest.approx(expected)


def test_kaca_distance_by_hand() -> None:
    # Two rows go from range 0.1 to 0.5, one from 0 to 0.5; and from leaves to "wide".
    table: Table = {
        "x": Numeric([0, 1, 5, None], domain=(0, 10), weight=2.0),
        "c": Categorical(["a", "a", "b", "b"], UNBALANCED),
    }
    climb = 3 / 11
    by_hand = 2 * (2 * 0.4 + climb) + (2 * 0.5 + climb)
    assert class_distance(table, [0, 1], [2], 1.0) == pytest.approx(by_hand)
    # A missing number costs both sides everything.
    assert class_distance(table, [2], [3], 1.0) == pytest.approx(4.0)
    flat: Table = {"c": Categorical(["p", "p"], {"p": "top"})}
    assert class_distance(flat, [0], [1], 1.0) == 0.0


def test_kaca_starts_from_equal_rows() -> None:
    table: Table = {
        "x": Numeric([1, None, 1, None, 1]),
        "c": Categorical(["p", None, "p", None, "q"], {}),
    }
    assert equal_classes(table) == [[0, 2], [1, 3], [4]]
    with Script() as rng:
        assert kaca(table, 1, rng=rng) == [0, 1, 0, 1, 2]


def test_kaca_by_hand() -> None:
    # Classes 0 0, 1, 10, 9. The draw of 0.0 takes 1, which costs 0.3 with the zeros; then 10,
    # which costs 0.2 with 9.
    with Script(0.0, 0.0) as rng:
        assert kaca(line([0, 0, 1, 10, 9]), 2, rng=rng) == [0, 0, 0, 1, 1]


def test_kaca_ties_go_to_the_lowest_name() -> None:
    # Row 0 is as far from row 1 as from row 2, and takes row 1.
    table = plane([5, 0, 10, 10], [0, 0, 0, 3])
    with Script(0.0, 0.0) as rng:
        assert kaca(table, 2, rng=rng) == [0, 0, 1, 1]


# WF-C-means


@pytest.mark.parametrize(("iterations", "expected"), [(1, [0] * 4), (2, [0, 0, 1, 1])])
def test_wf_c_means_by_hand(iterations: int, expected: list[int]) -> None:
    # From 0 and 1, row 0 is alone and would merge. The other mean is then 20/3, and 1 comes back.
    with Script(*[STAY] * 3) as rng:
        table = line([0, 1, 9, 10])
        labels = wf_c_means(table, 2, rng=rng, iterations=iterations)
    assert labels == expected


def test_feature_weights() -> None:
    # Both rows are at the mean of x and 0.5 from that of y: q is 1/(0 + 1/2) and 1/(1/2 + 1/2).
    table: Table = {"x": Numeric([1, 1]), "y": Numeric([0, 1])}
    centre = Centre({"x": 0.0, "y": 0.5}, {})
    assert feature_weights(table, [0, 0], [centre], "height") == {"x": 4 / 3, "y": 2 / 3}


def test_feature_weights_change_the_classes() -> None:
    # The first round has rows 0, 3 around (7, 5) and rows 1, 2, 4 around (2, 4). Row 1 is now
    # 3 + 2 from one and 2 + 3 from the other; x, in which the classes are tighter, decides.
    table = plane([8, 4, 1, 6, 1], [6, 7, 0, 4, 5])
    with Script(*[STAY] * 4) as rng:
        assert wf_c_means(table, 2, rng=rng) == [0, 1, 1, 0, 1]


def test_the_smallest_class_merges_first() -> None:
    # Classes of 5 and 6, of 0 alone, and of six tens. 0 joins the first, whose centre of 5.5 is
    # nearer to 10 than to 0: the other way round, all would end in one class.
    table = line([5, 0, 10, 6, 10, 10, 10, 10, 10])
    with Script(*[STAY] * 8) as rng:
        labels = wf_c_means(table, 3, rng=rng, iterations=1)
    assert labels == [0, 0, 1, 0, 1, 1, 1, 1, 1]


def test_empty_classes_vanish() -> None:
    # The centres are rows 0, 1, 2; all rows are equal and join the first.
    with Script(*[STAY] * 5) as rng:
        assert wf_c_means(line([5] * 6), 2, rng=rng) == [0] * 6


# Optimum by integer program


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_program_and_dynamic_programming_agree(measure: Measure, k: int) -> None:
    table = random_table(random.Random(k), 8)
    loss, labels = optimum_by_program(table, k, measure)
    assert loss == total_il(table, labels, measure)
    assert min(class_sizes(labels)) >= k
    assert list(dict.fromkeys(labels)) == sorted(set(labels))
    assert loss == pytest.approx(optimum(table, k, measure)[0], abs=2e-6)


def test_program_refuses() -> None:
    with pytest.raises(ValueError, match="too many"):
        optimum_by_program(line([1] * 30), 3)
    with pytest.raises(ValueError, match="4-anonymous"):
        optimum_by_program(line([1] * 3), 4)
