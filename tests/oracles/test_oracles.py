"""The papers' worked examples, and cases small enough to compute by hand."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from covey.reference import METHODS
from covey.reference.draws import Rng
from covey.reference.k_member import SeedRef, majority
from covey.reference.model import (
    Categorical,
    Measure,
    Numeric,
    Table,
    attribute_order,
    flat_tree,
    normalised,
    numeric_loss,
    record_loss,
    row_count,
)

from .anonymity import smallest_class, smallest_match
from .metrics import (
    average_class_size,
    classification_metric,
    discernibility,
    gcp,
    ncp,
    per_column,
    precision,
    total_il,
)
from .optimum import optimum

MEASURES: tuple[Measure, ...] = ("height", "level", "ncp", "lm")

# Byun Fig. 3 as far as the specification gives it: Egypt under Asia/West and Mexico under South
# America (B13); India and Japan together, Iran elsewhere in Asia, the USA elsewhere in the World
# (C2). The other names are chosen to make the tree balanced, with height 3.
COUNTRY = {
    "America": "World",
    "Asia": "World",
    "North": "America",
    "South": "America",
    "West": "Asia",
    "East": "Asia",
    "USA": "North",
    "Canada": "North",
    "Brazil": "South",
    "Mexico": "South",
    "Iran": "West",
    "Egypt": "West",
    "India": "East",
    "Japan": "East",
}

# Depth 3 through "deep", but "wide" has only leaves: the unbalanced case of C2.
UNBALANCED = {
    "wide": "top",
    "deep": "top",
    "a": "wide",
    "b": "wide",
    "c": "wide",
    "deeper": "deep",
    "d": "deep",
    "e": "deeper",
    "f": "deeper",
}

POSTER: Table = {
    "age": Numeric([78, 75, 34, 29]),
    "zip": Numeric([47803, 47567, 56763, 56789]),
}


class Script:
    """Draws written down beforehand; as a context, each of them must be used."""

    def __init__(self, *draws: float) -> None:
        self.draws = list(draws)

    def random(self) -> float:
        return self.draws.pop(0)

    def __enter__(self) -> Rng:
        return self

    def __exit__(self, *error: object) -> None:
        assert error[0] is not None or not self.draws


def pair_loss(parent: dict[str, str], one: str, other: str, measure: Measure) -> float:
    """Return the loss of a set of two leaves."""
    return record_loss({"x": Categorical([one, other], parent)}, [0, 1], measure)


def line(values: Sequence[float | None], hi: float = 10.0) -> Table:
    """Return a table of one numeric column on the scale 0..hi."""
    return {"x": Numeric(values, domain=(0.0, hi))}


# Losses


@pytest.mark.parametrize("measure", ["height", "level"])
@pytest.mark.parametrize(
    ("other", "expected"), [("USA", 1.0), ("Iran", 2 / 3), ("Japan", 1 / 3), ("India", 0.0)]
)
def test_byun_example_1(measure: Measure, other: str, expected: float) -> None:
    assert pair_loss(COUNTRY, "India", other, measure) == expected


def test_byun_example_1_flat_occupation() -> None:
    occupation = flat_tree(["Armed-Forces", "Tech-support", "Teacher"])
    assert pair_loss(occupation, "Teacher", "Tech-support", "height") == 1.0
    assert pair_loss(occupation, "Teacher", "Teacher", "height") == 0.0


def test_empty_parent_is_a_flat_tree() -> None:
    assert pair_loss({}, "p", "q", "height") == 1.0
    assert pair_loss({}, "p", "p", "height") == 0.0


@pytest.mark.parametrize(
    ("measure", "wide", "deeper", "deep"),
    [
        ("height", 1 / 3, 1 / 3, 2 / 3),
        ("level", 2 / 3, 1 / 3, 2 / 3),
        ("ncp", 3 / 6, 2 / 6, 3 / 6),
        ("lm", 2 / 5, 1 / 5, 2 / 5),
    ],
)
def test_unbalanced_tree(measure: Measure, wide: float, deeper: float, deep: float) -> None:
    assert pair_loss(UNBALANCED, "a", "b", measure) == wide
    assert pair_loss(UNBALANCED, "e", "f", measure) == deeper
    assert pair_loss(UNBALANCED, "d", "f", measure) == deep
    assert pair_loss(UNBALANCED, "a", "f", measure) == 1.0
    assert pair_loss(UNBALANCED, "d", "d", measure) == 0.0


@pytest.mark.parametrize("measure", MEASURES)
def test_one_leaf_tree_loses_nothing(measure: Measure) -> None:
    assert pair_loss({"x": "mid", "mid": "top"}, "x", "x", measure) == 0.0


@pytest.mark.parametrize(
    ("measure", "mixed", "wide"),
    [("height", 1.0, 1 / 3), ("level", 1.0, 2 / 3), ("ncp", 1.0, 3 / 7), ("lm", 1.0, 2 / 6)],
)
def test_missing_is_one_more_leaf(measure: Measure, mixed: float, wide: float) -> None:
    table = {"x": Categorical(["a", "b", None, None], UNBALANCED)}
    assert record_loss(table, [0, 2], measure) == mixed
    assert record_loss(table, [2, 3], measure) == 0.0
    assert record_loss(table, [0, 1], measure) == wide


def test_missing_numbers() -> None:
    table = {"x": Numeric([1.0, 3.0, 5.0, None, None])}
    assert record_loss(table, [0, 1]) == 0.5
    assert record_loss(table, [0, 3]) == 1.0
    assert record_loss(table, [3, 4]) == 0.0


def test_constant_and_empty_numbers() -> None:
    assert record_loss({"x": Numeric([7.0, 7.0])}, [0, 1]) == 0.0
    assert record_loss({"x": Numeric([7.0, None])}, [0, 1]) == 1.0
    assert record_loss({"x": Numeric([None, None])}, [0, 1]) == 0.0


def test_a_domain_replaces_the_range() -> None:
    assert record_loss({"x": Numeric([1.0, 3.0])}, [0, 1]) == 1.0
    assert record_loss({"x": Numeric([1.0, 3.0], domain=(0.0, 8.0))}, [0, 1]) == 0.25


def test_weights_and_order() -> None:
    table: Table = {
        "b": Categorical(["p", "q"], {}, weight=3.0),
        "z": Numeric([0.0, 1.0], weight=0.5),
        "a": Categorical(["p", "p"], {}, weight=7.0),
    }
    assert attribute_order(table) == ["z", "a", "b"]
    assert record_loss(table, [0, 1]) == 3.5


def test_the_model_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="finite"):
        Numeric([float("nan")])
    with pytest.raises(ValueError, match="domain"):
        Numeric([0.5], domain=(1.0, 0.0))
    far = Numeric([0.0, 1.0, 9.0, None], domain=(0.0, 1.0))
    assert normalised(far) == [0.0, 1.0, 9.0, None]
    assert numeric_loss(far, [1, 2]) == 1.0
    with pytest.raises(ValueError, match="leaf"):
        Categorical(["Asia"], COUNTRY)
    with pytest.raises(ValueError, match="root"):
        Categorical(["p"], {"p": "one", "q": "two"})
    with pytest.raises(ValueError, match="cycle"):
        Categorical(["p"], {"p": "top", "q": "r", "r": "q"})
    with pytest.raises(ValueError, match="lengths"):
        row_count({"x": Numeric([1.0]), "y": Numeric([1.0, 2.0])})


# k-member


class Draws:
    """What k-member draws, written down beforehand."""

    def __init__(self, start: int, picks: Sequence[float], leftover_order: Sequence[int]) -> None:
        self.start, self.picks, self.leftover_order = start, picks, leftover_order

    def integers(self, high: int) -> int:
        assert 0 <= self.start < high
        return self.start

    def random(self, size: int) -> Sequence[float]:
        assert len(self.picks) in (0, size)
        return self.picks

    def permutation(self, x: int) -> Sequence[int]:
        assert sorted(self.leftover_order) == list(range(x))
        return self.leftover_order


def k_member(
    table: Table,
    k: int,
    *,
    start: int,
    leftover_order: Sequence[int],
    picks: Sequence[float] = (),
    **options: Any,
) -> list[int]:
    """Return the labels of k-member with these draws."""
    labels: list[int] = METHODS["k-member"](
        table, k, rng=Draws(start, picks, leftover_order), **options
    )
    return labels


def test_two_clumps() -> None:
    table = line([0, 1, 2, 8, 9, 10])
    assert k_member(table, 3, start=0, leftover_order=[]) == [1, 1, 1, 0, 0, 0]
    assert k_member(table, 3, start=5, leftover_order=[]) == [0, 0, 0, 1, 1, 1]


def test_one_group_below_2k_and_none_below_k() -> None:
    table = line([0, 1, 2, 8, 9])
    assert k_member(table, 3, start=2, leftover_order=[1, 0]) == [0, 0, 0, 0, 0]
    with pytest.raises(ValueError, match="6-anonymous"):
        k_member(table, 6, start=0, leftover_order=[])


def test_ties_go_to_the_lowest_row() -> None:
    # All rows are equal: seeds and members come in row order.
    assert k_member(line([5] * 5), 2, start=3, leftover_order=[0]) == [0, 0, 1, 1, 0]
    # 10 and 0 are equally far from 5: row 1 is the seed, and takes 5.
    assert k_member(line([4, 10, 5, 0]), 2, start=2, leftover_order=[]) == [1, 0, 0, 1]


def test_the_start_row_can_be_chosen_later() -> None:
    # From 0 the furthest is 10, which takes 9; from 9 the furthest is the start itself.
    assert k_member(line([0, 1, 9, 10]), 2, start=0, leftover_order=[]) == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("seed_ref", "expected"),
    [("last", [0, 0, 1, 2, 1, 2]), ("seed", [0, 0, 2, 1, 1, 2]), ("first", [0, 0, 1, 2, 1, 2])],
)
def test_reference_last_or_seed(seed_ref: SeedRef, expected: list[int]) -> None:
    # Manhattan distances. From row 3 the furthest is row 0 (12), which takes row 1 (5). Then
    # row 2 is furthest from row 1 (11) and from row 3 (10), but row 3 is from row 0 (12).
    # Both row 2 (4 against 5) and row 3 (6 against 7) rather take row 4 than row 5.
    table: Table = {
        "x": Numeric([10, 10, 4, 6, 5, 3], domain=(0, 10)),
        "y": Numeric([10, 5, 10, 2, 7, 6], domain=(0, 10)),
    }
    labels = k_member(table, 2, start=3, leftover_order=[], seed_ref=seed_ref)
    assert labels == expected


@pytest.mark.parametrize(
    ("seed_ref", "expected"), [("last", [1, 0, 0, 1, 2, 2]), ("first", [2, 0, 0, 2, 1, 1])]
)
def test_reference_last_or_first(seed_ref: SeedRef, expected: list[int]) -> None:
    # From 10 the furthest is 20, which takes 19. Then 4 is furthest from 19, but 18 from 10.
    table = line([10, 20, 19, 4, 18, 16], 20)
    assert k_member(table, 2, start=0, leftover_order=[], seed_ref=seed_ref) == expected


def test_random_seeds_are_drawn_from_the_free_rows() -> None:
    # 0.5 of rows 0..5 is row 3, which takes row 2 (tie with row 4); 0.99 of 0, 1, 4, 5 is row 5.
    labels = k_member(
        line([0, 2, 4, 6, 8, 10], 16),
        2,
        start=0,
        leftover_order=[],
        seed_ref="random",
        picks=[0.5, 0.99, 0.0],
    )
    assert labels == [2, 2, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("order", "expected"), [([0, 1], [1, 1, 1, 0, 0, 0, 1, 1]), ([1, 0], [1, 1, 1, 0, 0, 0, 0, 0])]
)
def test_leftovers_update_their_group_at_once(order: list[int], expected: list[int]) -> None:
    # 4 goes to the zeros (4*4 < 4*6), and then 6 too: 5*6 - 4*4 = 14 < 16 = 4*4. The other way
    # round both end with the tens.
    table = line([0, 0, 0, 10, 10, 10, 4, 6])
    assert k_member(table, 3, start=0, leftover_order=order) == expected


@pytest.mark.parametrize(
    ("penalty", "expected"), [(0.0, [0, 0, 1, 1]), (0.15, [0, 0, 1, 1]), (0.3, [0, 1, 0, 1])]
)
def test_growth_penalty_is_shared_by_the_group(penalty: float, expected: list[int]) -> None:
    # Row 0 chooses between row 1, 0.1 away and of the other class, and row 2, 0.2 away.
    table = line([0, 1, 2, 10])
    labels = k_member(table, 2, start=3, leftover_order=[], classes=[0, 1, 0, 0], penalty=penalty)
    assert labels == expected


@pytest.mark.parametrize(
    ("penalty", "flag", "expected"), [(0.7, False, 1), (0.7, True, 0), (0.5, True, 1)]
)
def test_leftover_penalty_is_raw(penalty: float, flag: bool, expected: int) -> None:
    # The last row costs 1.2 with the zeros, of the other class, and 1.8 with the tens.
    labels = k_member(
        line([0, 0, 10, 10, 4]),
        2,
        start=0,
        leftover_order=[0],
        classes=[0, 0, 1, 1, 1],
        penalty=penalty,
        penalise_leftovers=flag,
    )
    assert labels == [1, 1, 0, 0, expected]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [([2], 2), ([2, 1], 2), ([2, 1, 1], 1), ([2, 1, 1, 2], 1), ([2, 1, 1, 2, 2], 2)],
)
def test_majority_keeps_the_first_to_reach_the_count(labels: list[int], expected: int) -> None:
    assert majority(labels) == expected


# Metrics


def test_poster() -> None:
    labels = [0, 0, 1, 1]
    assert k_member(POSTER, 2, start=3, leftover_order=[]) == labels
    assert round(total_il(POSTER, labels), 5) == 0.38335
    by_hand = 2 * (3 / 49 + 236 / 9222) + 2 * (5 / 49 + 26 / 9222)
    assert total_il(POSTER, labels) == pytest.approx(by_hand, rel=1e-12)
    assert per_column(POSTER, labels) == pytest.approx(
        {"age": 16 / 49, "zip": 524 / 9222}, rel=1e-12
    )
    assert gcp(POSTER, labels) == pytest.approx(by_hand / 8, rel=1e-12)
    assert precision(POSTER, labels) == pytest.approx(1 - by_hand / 8, rel=1e-12)
    assert optimum(POSTER, 2) == (total_il(POSTER, labels), labels)


def test_suppressed_rows_are_a_total_loss() -> None:
    table: Table = {
        "age": Numeric([0, 1, 10, 5, 5], weight=2.0),
        "job": Categorical(["a", "b", "d", "e", "f"], UNBALANCED),
    }
    labels = [0, 0, -1, 1, 1]
    # Group 0 loses 2*0.1 + 1/3 a row, group 1 loses 1/3 a row, the suppressed row 2 + 1.
    assert total_il(table, labels) == pytest.approx(0.4 + 2 / 3 + 2 / 3 + 3)
    assert per_column(table, labels) == pytest.approx({"age": 1.2, "job": 7 / 3})
    assert precision(table, labels) == pytest.approx(1 - (4.4 + 1 / 3) / 15)
    # By leaf counts: 1/2 and 1/3 for the job.
    assert ncp(table, labels) == pytest.approx(0.4 + 1 + 2 / 3 + 3)
    assert gcp(table, labels, "ncp") == pytest.approx((4.4 + 2 / 3) / 15)
    assert gcp(table, labels, "lm") == pytest.approx((3.4 + 4 / 5 + 2 / 5) / 15)
    assert total_il(table, [-1] * 5) == 15.0
    assert gcp(table, [-1] * 5) == 1.0


def test_discernibility_average_and_classification_by_hand() -> None:
    assert discernibility([0, 0, 1, 1, 1]) == 13
    assert discernibility([0, 0, 1, 1, -1]) == 13
    assert discernibility([0, 0, -1, -1, -1]) == 19
    assert average_class_size([0, 0, 1, 1, 1], 2) == 1.25
    assert average_class_size([0, 0, 0, 0], 2) == 2.0
    assert average_class_size([0, 0, 1, 1, -1], 2) == 1.25
    assert classification_metric([0, 0, 0, 1, 1], [7, 7, 8, 7, 8]) == 2 / 5
    assert classification_metric([0, 0, 0, 0, -1], [1, 1, 2, 3, 1]) == 3 / 5


def test_identity_whole_and_nothing() -> None:
    table = line([0, 5, 10])
    assert total_il(table, [0, 1, 2]) == 0.0
    assert total_il(table, [0, 0, 0]) == 3.0
    assert (discernibility([]), classification_metric([], [])) == (0, 0.0)
    assert (total_il(line([]), []), gcp(line([]), []), precision(line([]), [])) == (0.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="suppressed"):
        average_class_size([-1, -1], 2)


# Optimum


@pytest.mark.parametrize("measure", MEASURES)
def test_diameter_counterexample_b8(measure: Measure) -> None:
    rows = ["1010", "1101", "1000", "0011", "1001", "1110"]
    table = {f"bit{j}": Categorical([row[j] for row in rows], flat_tree("01")) for j in range(4)}
    assert optimum(table, 3, measure)[0] == 15.0
    assert total_il(table, [0, 1, 1, 0, 0, 1], measure) == 18.0


def test_byun_figures_1_and_2() -> None:
    # The table is recalled, not given by the specification; B11 pins it: the two classes of
    # Fig. 2 are the optimum of the 3+3 splits, 8.75.
    table: Table = {
        "zip": Numeric([47918, 47906, 47918, 47916, 47907, 47906]),
        "age": Numeric([35, 33, 36, 39, 33, 33]),
        "sex": Categorical(["M", "M", "M", "F", "M", "F"], {}),
    }
    loss, labels = optimum(table, 3)
    assert loss == pytest.approx(8.75, rel=1e-12)
    assert labels == [0, 1, 0, 0, 1, 1]


def random_table(draw: random.Random, n: int) -> Table:
    """Return a small table with both kinds of columns, ties and missing values."""
    return {
        "x": Numeric([draw.choice([None, 0, 1, 2, 3, 4]) for _ in range(n)]),
        "y": Numeric([draw.random() for _ in range(n)], weight=2.0),
        "c": Categorical([draw.choice([None, *"abcdef"]) for _ in range(n)], UNBALANCED),
    }


def partitions(rows: list[int]) -> Iterator[list[list[int]]]:
    """Yield every partition of the rows, of any group sizes."""
    if not rows:
        yield []
        return
    for rest in partitions(rows[1:]):
        yield [[rows[0]], *rest]
        for i, group in enumerate(rest):
            yield [*rest[:i], [rows[0], *group], *rest[i + 1 :]]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_optimum_against_every_partition(measure: Measure, k: int) -> None:
    n = 7
    table = random_table(random.Random(k), n)
    loss, labels = optimum(table, k, measure)
    assert loss == total_il(table, labels, measure)
    assert min(labels.count(label) for label in labels) >= k
    every = [
        sum(len(group) * record_loss(table, group, measure) for group in groups)
        for groups in partitions(list(range(n)))
        if min(map(len, groups)) >= k
    ]
    assert loss == pytest.approx(min(every), rel=1e-12)


# Anonymity


def test_smallest_class_and_match() -> None:
    rows: list[tuple[object, ...]] = [("a", 1), ("a", 1), ("a", None), ("b", 1), ("b", None)]
    assert smallest_class(rows) == 1
    # ("b", 1) matches itself and ("b", None); the others match three or two rows.
    assert smallest_match(rows) == 2
    assert smallest_class(rows[:2]) == smallest_match(rows[:2]) == 2
    assert smallest_class([(None,), (None,), (1,)]) == 1
    assert smallest_match([(None,), (None,), (1,)]) == 3
    # A wildcard row does not make the rows it matches match each other.
    assert smallest_match([(1,), (2,), (None,)]) == 2
    assert smallest_class([]) == smallest_match([]) == 0
    assert smallest_class([(), ()]) == smallest_match([(), ()]) == 2
