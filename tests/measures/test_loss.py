"""Losses of released cells, compared with the oracle's losses of labels and papers' examples."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups
from covey.errors import CoveyError, TableError
from covey.generalisation import Style, View, generalise
from covey.measures import loss
from covey.measures.entropy import InGroups
from covey.measures.loss import DEFINITIONS, Losses
from covey.reference import model as oracle
from covey.schema import Schema
from covey.tables import Table
from examples import examples
from oracles import entropy, metrics
from oracles.optimum import optimum
from tables_of_people import CLASS, People, as_shown, labels_for, people
from views import table_of, view_of

ANCESTORS, SETS, ENDS = Style(), Style(categories="values"), Style(intervals="columns")

approx = pytest.approx


def close(number: float) -> Any:
    return pytest.approx(number, rel=1e-9, abs=1e-12)


def released(table: People, labels: Sequence[int], style: Style) -> Table:
    return generalise(table.table, table.encoded(), Groups(labels), style)


class Split:
    """The people of a release, and how many there were besides."""

    def __init__(self, table: People, labels: Sequence[int]) -> None:
        self.kept = [row for row, label in enumerate(labels) if label >= 0]
        self.people = table.take(self.kept)
        self.labels = [labels[row] for row in self.kept]
        self.suppressed = len(labels) - len(self.kept)

    def released(self, style: Style) -> Table:
        return released(self.people, self.labels, style)

    def measured(self, style: Style, class_column: str | None = None, **settings: Any) -> Losses:
        return loss.measure(
            View.of(self.released(style), self.people.encoded(), class_column=class_column),
            suppressed=self.suppressed,
            **settings,
        )

    @property
    def expected(self) -> tuple[dict[str, oracle.Column], list[int]]:
        """What the release tells; suppressed rows hold what another has, since nobody asks them."""
        labels = [*self.labels, *[-1] * self.suppressed]
        table = {
            name: replace(c, values=[*c.values, *[c.values[0]] * self.suppressed])  # type: ignore[arg-type]
            for name, c in self.people.oracle.items()
        }
        return as_shown(table, metrics.groups_of(labels)), labels


def told(figure: float | None) -> float:
    assert figure is not None
    return figure


def classes_of(shown: Table, labels: Sequence[int]) -> list[int]:
    """Labels again, but groups with equal cells are one class."""
    cells = iter(shown.frame.drop(CLASS).rows())
    number: dict[Any, int] = {}
    return [-1 if label < 0 else number.setdefault(next(cells), len(number)) for label in labels]


PERCENTS = {0.1: Fraction(1, 1000), 1.0: Fraction(1, 100), 5.0: Fraction(1, 20)}


# ── against the oracle ──────────────────────────────────────────────────────────────────────────


@given(people(), st.sampled_from([ANCESTORS, SETS]), st.data())
@examples(200)
def test_losses_are_those_of_the_oracle(table: People, style: Style, data: st.DataObject) -> None:
    split = Split(table, data.draw(labels_for(table.rows)))
    found, expected = split.measured(style), split.expected
    measure = table.schema.loss
    assert found.measure == measure
    assert (found.rows, found.suppressed) == (table.rows, split.suppressed)
    assert found.total_il == close(metrics.total_il(*expected, measure))
    assert found.gcp == close(metrics.gcp(*expected, "ncp"))
    assert found.gcp_lm == close(metrics.gcp(*expected, "lm"))
    heights: oracle.Measure = "level" if measure == "level" else "height"
    assert found.precision == close(1 - metrics.gcp(*expected, heights))
    if measure != "level":
        assert found.precision == close(metrics.precision(*expected))


@given(people(), st.sampled_from([ANCESTORS, SETS]), st.data())
@examples(120)
def test_the_worst_rows_are_those_of_the_oracle(
    table: People, style: Style, data: st.DataObject
) -> None:
    split = Split(table, data.draw(labels_for(table.rows)))
    found, expected = split.measured(style), split.expected
    assert [worst.percent for worst in found.worst] == list(PERCENTS)
    for worst in found.worst:
        rows, held, others = metrics.worst_rows(
            *expected, PERCENTS[worst.percent], table.schema.loss
        )
        assert worst.rows == rows
        assert worst.loss == close(held)
        assert worst.without == close(others)
        assert worst.share == close(held / (held + others) if held else 0.0)
        assert worst.loss + worst.without == close(found.total_il)


@given(people(), st.sampled_from([ANCESTORS, SETS]), st.data())
@examples(120)
def test_losses_of_rows_are_those_of_the_oracle(
    table: People, style: Style, data: st.DataObject
) -> None:
    split = Split(table, data.draw(labels_for(table.rows)))
    view = View.of(split.released(style), split.people.encoded())
    found = loss.RowLosses.of(view).each(split.released(style))
    expected = metrics.row_losses(*split.expected, table.schema.loss)[: len(found)]
    assert found.tolist() == [[close(cell) for cell in row.values()] for row in expected]


@given(people(), st.data())
@examples(120)
def test_losses_of_groups_are_those_of_their_release(table: People, data: st.DataObject) -> None:
    labels = data.draw(labels_for(table.rows, suppress=False))
    found = loss.measure_groups(table.encoded(), Groups(labels))
    made = loss.measure(View.of(released(table, labels, ANCESTORS), table.encoded()))
    assert found.total_il == close(made.total_il)
    assert found.gcp == close(told(made.gcp))
    whole = table.rows * sum(column.weight for column in made.columns)
    assert found.mean == close(made.total_il / whole)


@pytest.mark.parametrize(("rows", "worst"), [(1, (1, 1, 1)), (700, (1, 7, 35)), (701, (1, 8, 36))])
def test_a_share_of_the_rows_is_rounded_up(rows: int, worst: tuple[int, int, int]) -> None:
    """Exactly: 0.01 × 700 is a little more than 7 in floating point."""
    found = measured({"x": [*range(rows)]}, {"x": "numeric"}, [0] * rows)
    assert tuple(some.rows for some in found.worst) == worst


def test_suppressed_rows_are_the_worst() -> None:
    found = measured({"x": [*range(20)]}, {"x": {"type": "numeric", "weight": 3}}, [0] * 19 + [-1])
    assert [(some.rows, some.loss) for some in found.worst] == [(1, 3.0)] * 3
    assert found.worst[0].without == approx(19 * 3)  # 18 of the 18 that are shown


def test_where_nothing_is_lost_nobody_pays() -> None:
    found = measured({"x": [1, 1, 2, 2]}, {"x": "numeric"}, [0, 0, 1, 1])
    assert {(some.loss, some.share, some.without) for some in found.worst} == {(0.0, 0.0, 0.0)}
    assert [column.share for column in found.columns] == [0.0]


@given(people(), st.data())
@examples(120)
def test_losses_of_columns_are_those_of_the_oracle(table: People, data: st.DataObject) -> None:
    split = Split(table, data.draw(labels_for(table.rows)))
    found = split.measured(ANCESTORS)
    assert [column.name for column in found.columns] == oracle.attribute_order(table.oracle)
    sums = {
        way: metrics.per_column(*split.expected, way) for way in (table.schema.loss, "ncp", "lm")
    }
    for column in found.columns:
        assert column.weight == table.oracle[column.name].weight
        assert column.il == close(sums[table.schema.loss][column.name] / table.rows)
        assert column.ncp == close(sums["ncp"][column.name] / table.rows)
        assert column.lm == close(sums["lm"][column.name] / table.rows)
        part = column.weight * sums[table.schema.loss][column.name]
        assert column.share == close(part / found.total_il if found.total_il else 0.0)
        assert 0 <= column.il <= 1
        assert 0 <= told(column.ncp) <= 1
        assert 0 <= told(column.lm) <= 1


@given(people(), st.sampled_from([ANCESTORS, SETS, ENDS]), st.integers(1, 9), st.data())
@examples(150)
def test_figures_of_classes_are_those_of_the_oracle(
    table: People, style: Style, k: int, data: st.DataObject
) -> None:
    labels = data.draw(labels_for(table.rows))
    split = Split(table, labels)
    classes = classes_of(split.released(style), labels)
    found = split.measured(style, k=k, class_column=CLASS)
    assert found.discernibility == metrics.discernibility(classes)
    assert found.average_class_size == close(metrics.average_class_size(classes, k))
    assert found.classification == close(metrics.classification_metric(classes, table.classes))
    smallest = min(classes.count(label) for label in classes if label >= 0)
    without_k = split.measured(style)
    assert without_k.average_class_size == close(metrics.average_class_size(classes, smallest))
    assert without_k.classification is None


@given(people(), st.data())
@examples(80)
def test_ends_in_columns_lose_as_much_as_text(table: People, data: st.DataObject) -> None:
    """But for a group of missing numbers alone, which a pair of empty ends does not tell apart."""
    split = Split(table, data.draw(labels_for(table.rows)))
    text, ends = (split.measured(style) for style in (ANCESTORS, ENDS))
    for one, other in zip(text.columns, ends.columns, strict=True):
        column = split.people.oracle[one.name]
        alone = sum(
            len(rows)
            for rows in metrics.groups_of(split.labels)
            if isinstance(column, oracle.Numeric)
            and any(value is not None for value in column.values)
            and all(column.values[row] is None for row in rows)
        )
        assert other.il == close(one.il + alone / table.rows)


@given(people())
@examples(60)
def test_nothing_generalised_loses_nothing(table: People) -> None:
    """A table against itself; dates in the form that is released."""
    in_groups = InGroups.of(table.encoded(), Groups(range(table.rows)))
    shown = released(table, range(table.rows), ANCESTORS)
    found = loss.measure(View.of(shown, table.encoded()), in_groups=in_groups)
    assert (found.total_il, found.gcp, found.gcp_lm, found.precision) == (0, 0, 0, 1)
    assert all((c.il, c.ncp, c.lm) == (0, 0, 0) for c in found.columns)
    assert (found.entropy, found.monotone_entropy, found.non_uniform_entropy) == (0, 0, 0)
    assert found.information == 0


# ── bits ────────────────────────────────────────────────────────────────────────────────────────


@given(people(), st.sampled_from([ANCESTORS, SETS]), st.data())
@examples(200)
def test_entropies_are_those_of_the_oracle(
    table: People, style: Style, data: st.DataObject
) -> None:
    split = Split(table, data.draw(labels_for(table.rows)))
    found, of_kept = split.measured(style), (split.people.oracle, split.labels)
    whole = entropy.all_bits(split.people.oracle)
    kinds: dict[entropy.Kind, tuple[float | None, float | None]] = {
        "entropy": (found.entropy, found.entropy_share),
        "monotone": (found.monotone_entropy, found.monotone_entropy_share),
        "non-uniform": (found.non_uniform_entropy, found.non_uniform_entropy_share),
    }
    for kind, (bits, share) in kinds.items():
        # A suppressed row misses what a row of the release holds on average.
        known = entropy.bits_per_row(*of_kept, kind)
        expected = (len(split.kept) * known + split.suppressed * whole) / table.rows
        assert bits == approx(expected, rel=1e-9, abs=1e-9)
        assert share == approx(expected / whole if whole > 1e-9 else 0, rel=1e-9, abs=1e-9)


@given(people(), st.data())
@examples(150)
def test_information_lost_is_that_of_the_oracle(table: People, data: st.DataObject) -> None:
    labels = data.draw(labels_for(table.rows))
    split = Split(table, labels)
    groups = InGroups.of(split.people.encoded(), Groups(split.labels))
    found = split.measured(ANCESTORS, in_groups=groups)
    expected = entropy.information_loss(table.oracle, labels)
    assert found.information == approx(expected, rel=1e-9, abs=1e-9)
    assert 0 <= expected <= 1 + 1e-9
    unknown = split.measured(ANCESTORS)
    assert unknown.information is None
    assert unknown == found


@given(people(), st.data())
@examples(80)
def test_wider_cells_lose_no_fewer_bits(table: People, data: st.DataObject) -> None:
    """Which plain entropy does not promise: a wider cell may be more certain."""
    labels = data.draw(labels_for(table.rows, suppress=False))
    fine, coarse = (
        loss.measure(View.of(released(table, by, ANCESTORS), table.encoded()))
        for by in (labels, [0] * table.rows)
    )
    assert told(fine.monotone_entropy) <= told(coarse.monotone_entropy) + 1e-9
    assert told(fine.non_uniform_entropy) <= told(coarse.non_uniform_entropy) + 1e-9


def test_bits_by_hand() -> None:
    """Ages 1, 1, 2, 3: p is 1/2, 1/4, 1/4 and holds 1.5 bits; one more row is suppressed."""
    found = measured({"age": [1, 1, 2, 3, 99]}, {"age": "numeric"}, [0, 1, 1, 0, -1])
    pair = 0.9182958340544896  # H(2/3, 1/3)
    assert found.entropy == approx((2 * 1.5 + 2 * pair + 1.5) / 5)
    assert found.monotone_entropy == approx((2 * 1.5 + 2 * pair * 0.75 + 1.5) / 5)
    # 1 and 2 bits for the first two, log2(3/2) and log2(3) for the others; the suppressed row
    # misses what a row has on average, whatever it held.
    assert found.non_uniform_entropy == approx((1 + 2 + 0.5849625007 + 1.5849625007 + 1.5) / 5)
    assert found.entropy_share == approx(told(found.entropy) / 1.5)


def test_plain_entropy_may_fall_as_cells_widen() -> None:
    """Two equally frequent values are less certain than the same two beside many of a third."""
    ages = [1, 2, *[3] * 30]
    quasi = {"age": {"type": "numeric"}}
    fine = measured({"age": ages}, quasi, [0, 0, *[1] * 30])
    coarse = measured({"age": ages}, quasi, [0] * 32)
    assert fine.entropy == approx(2 / 32)  # a bit for each of the first two
    assert told(coarse.entropy) < 0.5  # for each of all
    assert told(coarse.monotone_entropy) > told(fine.monotone_entropy)


def test_weights_weigh_bits() -> None:
    columns = {"a": [1, 2, 3, 3], "b": ["x", "y", "y", "y"]}
    alone = [
        measured({name: columns[name]}, {name: kind}, [0, 0, 1, 1])
        for name, kind in (("a", "numeric"), ("b", "categorical"))
    ]
    both = measured(
        columns, {"a": {"type": "numeric", "weight": 3}, "b": "categorical"}, [0, 0, 1, 1]
    )
    assert both.entropy == approx(3 * told(alone[0].entropy) + told(alone[1].entropy))
    assert both.entropy_share == approx(told(both.entropy) / (3 * 1.5 + 0.8112781244591328))


def test_cells_that_cover_no_value_of_the_original() -> None:
    """A mean is no generalisation: it is certain, but the true value is not among what it shows."""
    found = loss.measure(View.of(table_of({"age": ["6"] * 4}), original()))
    assert (found.entropy, found.monotone_entropy) == (0, 0)
    assert found.non_uniform_entropy is None
    assert found.non_uniform_entropy_share is None


def test_information_by_hand() -> None:
    """The suppressed row loses all; of the other four, one bit of two is left within groups."""
    table = table_of({"x": [1, 2, 3, 4]})
    encoded = encode(table, Schema.of(quasi={"x": "numeric"}))
    groups = Groups([0, 0, 1, 1])
    shown = generalise(table, encoded, groups, ANCESTORS)
    in_groups = InGroups.of(encoded, groups)
    found = loss.measure(View.of(shown, encoded), in_groups=in_groups, suppressed=1)
    assert found.information == approx((4 * 0.5 + 1) / 5)


def test_a_release_without_classes_has_no_figures_of_them() -> None:
    shown = table_of({"age": ["5", "[1, 9]", "9", "9"], "note": [1, 2, 3, 4]})
    found = loss.measure(View.of(shown, original(), class_column="note"), k=2, classes=False)
    assert found.discernibility is None
    assert found.average_class_size is None
    assert found.classification is None
    assert found.total_il == 1


# ── rows that were left out, nobody knows which ─────────────────────────────────────────────────


@given(people(), st.data())
@examples(80)
def test_losses_do_not_need_the_rows_that_were_left_out(table: People, data: st.DataObject) -> None:
    """What can be told without them is what those tell who know them; the rest is not told."""
    split = Split(table, data.draw(labels_for(table.rows)))
    named = {value for column in split.people.frame for value in column}
    assume(not named & {"*", "**"} and split.suppressed)
    shown = split.released(SETS).frame
    hidden = [
        name
        for name in shown.columns
        if split.people.frame[name].null_count() and not shown[name].null_count()
    ]
    # A missing value is one more leaf, but nobody sees it in a group that hides all its values.
    assume(not hidden or table.schema.loss not in ("ncp", "lm"))
    known, found = (
        split.measured(SETS),
        loss.measure(View.of(split.released(SETS), table.encoded())),
    )
    assert found.total_il == close(known.total_il)
    assert found.precision == close(known.precision)
    assert [column.il for column in found.columns] == [close(c.il) for c in known.columns]
    assert (found.rows, found.suppressed) == (known.rows, known.suppressed)
    assert found.discernibility == known.discernibility
    assert found.entropy is found.monotone_entropy is found.non_uniform_entropy is None
    assert found.entropy_share is found.non_uniform_entropy_share is None


def test_values_are_not_counted_where_those_left_out_would_be_among_them() -> None:
    """Nor does it matter how long their codes are: the labels tell the shape of the tree."""
    zips: Any = {"type": "categorical", "taxonomy": {"build": "prefixes"}}
    quasi = {"zip": zips, "age": "numeric"}
    codes = ["47801", "47802", "47911", "47912", "4780155"]
    frame = pl.DataFrame({"zip": codes, "age": [1, 2, 3, 4, 99]})
    shown = Table(
        pl.DataFrame({"zip": ["4780*"] * 2 + ["4791*"] * 2, "age": ["[1, 2]"] * 2 + ["[3, 4]"] * 2})
    )
    schema = Schema.of(quasi=quasi)
    known = loss.measure(View.of(shown, encode(Table(frame[:4]), schema)), suppressed=1)
    found = loss.measure(View.of(shown, encode(Table(frame), schema)))
    assert found.total_il == known.total_il == approx(4 * (1 / 5 + 1 / 3) + 2)
    assert (found.gcp, found.gcp_lm, found.columns[1].ncp) == (None, None, None)
    assert found.columns[0].ncp == known.columns[0].ncp == approx((4 / 3 + 1) / 5)
    with pytest.raises(TableError, match="'zip': the loss by ncp"):
        loss.measure(View.of(shown, encode(Table(frame), Schema.of(quasi=quasi, loss="ncp"))))


# ── the papers' examples ────────────────────────────────────────────────────────────────────────


def measured(
    columns: Mapping[str, Any],
    quasi: Mapping[str, Any],
    labels: Sequence[int],
    k: int | None = None,
    **more: Any,
) -> Losses:
    class_column = more.pop("class_column", None)
    groups = Groups(labels)
    table = Table(pl.DataFrame(columns).filter(pl.Series(groups.labels >= 0)))
    encoded = encode(table, Schema.of(quasi=quasi, **more))
    shown = generalise(table, encoded, groups.released(), ANCESTORS)
    view = View.of(shown, encoded, class_column=class_column)
    return loss.measure(view, suppressed=groups.suppressed, k=k)


def test_the_posters_table() -> None:
    people = {"age": [78, 75, 34, 29], "zip": [47803, 47567, 56763, 56789]}
    found = measured(people, {"age": "numeric", "zip": "numeric"}, [0, 0, 1, 1], 2)
    exact = 2 * (3 / 49 + 236 / 9222) + 2 * (5 / 49 + 26 / 9222)
    assert found.total_il == approx(exact, rel=1e-12)
    assert round(found.total_il, 5) == 0.38335
    assert found.gcp == approx(exact / 8, rel=1e-12)
    assert found.precision == approx(1 - exact / 8, rel=1e-12)
    assert (found.discernibility, found.average_class_size) == (8, 1.0)


def test_byun_figures_1_and_2() -> None:
    """The table is recalled, not given by the specification, which pins its optimum: 8.75."""
    people = {
        "zip": [47918, 47906, 47918, 47916, 47907, 47906],
        "age": [35, 33, 36, 39, 33, 33],
        "sex": ["M", "M", "M", "F", "M", "F"],
    }
    quasi = {"zip": "numeric", "age": "numeric", "sex": "categorical"}
    found = measured(people, quasi, [0, 1, 0, 0, 1, 1], 3)
    assert found.total_il == approx(8.75, rel=1e-12)
    assert (found.discernibility, found.average_class_size) == (18, 1.0)


def test_byun_example_1() -> None:
    """Heights of the country tree; two thirds are printed as 0.66 in the paper."""
    tree = {
        "World": {
            "America": {"North": ["USA", "Canada"], "South": ["Brazil", "Mexico"]},
            "Asia": {"West": ["Iran", "Egypt"], "East": ["India", "Japan"]},
        }
    }
    quasi = {"country": {"type": "categorical", "taxonomy": tree}}
    for other, expected in (("USA", 1.0), ("Iran", 2 / 3), ("Japan", 1 / 3), ("India", 0.0)):
        for measure in ("height", "level"):
            found = measured({"country": ["India", other]}, quasi, [0, 0], loss=measure)
            assert found.total_il == 2 * expected
            assert found.precision == 1 - expected


# He, Table 1 with two quasi-identifiers, reconstructed from what the specification says of it:
# seven people, ranges of 40 and 25, groups of 2, 2 and 3 that lose 0.4 + 0.9 + 1.35, and as the
# next best partition the one that swaps Bob and Jane, which loses 2.85.
SEVEN = {
    "name": ["Andy", "Bob", "Jane", "Alex", "Mary", "Lily", "Lucy"],
    "age": [20, 20, 30, 40, 50, 60, 55],
    "zip": [10, 15, 10, 15, 30, 35, 30],
}
HE = {"age": "numeric", "zip": "numeric"}


def test_he_tables_1_and_2() -> None:
    found = measured(SEVEN, HE, [0, 0, 1, 1, 2, 2, 2], 2, identifier=["name"])
    assert found.total_il == approx(2.65, rel=1e-12)
    assert found.gcp == approx(2.65 / 14, rel=1e-12)
    assert sum(told(column.ncp) for column in found.columns) == approx(2.65 / 7, rel=1e-12)
    assert found.discernibility == 17
    assert found.average_class_size == 7 / 6


def test_he_table_2_is_the_optimum() -> None:
    table = {name: oracle.Numeric(SEVEN[name]) for name in HE}  # type: ignore[arg-type]
    best, labels = optimum(table, 2, "ncp")
    assert best == approx(2.65, rel=1e-12)
    assert labels == [0, 0, 1, 1, 2, 2, 2]
    parts = [len(rows) * oracle.record_loss(table, rows) for rows in metrics.groups_of(labels)]
    assert sorted(parts) == approx([0.4, 0.9, 1.35], rel=1e-12)
    next_best = measured(SEVEN, HE, [0, 1, 0, 1, 2, 2, 2], identifier=["name"])
    assert next_best.total_il == approx(2.85, rel=1e-12)


# ── by hand ─────────────────────────────────────────────────────────────────────────────────────


def test_all_figures_by_hand() -> None:
    """Five rows, one of them suppressed; age weighs twice, and is shown from 0 to 5."""
    tree = {"top": {"wide": ["a", "b", "c"], "deep": {"d": [], "deeper": ["e", "f"]}}}
    found = measured(
        {"age": [0, 1, 10, 5, 5], "job": ["a", "b", "d", "e", "f"], "pay": [7, 8, 7, 7, 8]},
        {
            "age": {"type": "numeric", "weight": 2},
            "job": {"type": "categorical", "taxonomy": tree},
        },
        [0, 0, -1, 1, 1],
        2,
        sensitive=["pay"],
        class_column="pay",
    )
    assert found.total_il == approx(0.8 + 2 / 3 + 2 / 3 + 3)
    assert found.gcp == approx((0.8 + 1 + 2 / 3 + 3) / 15)
    assert found.gcp_lm == approx((3.8 + 4 / 5 + 2 / 5) / 15)
    assert found.precision == approx(1 - (4.8 + 1 / 3) / 15)
    assert (found.rows, found.suppressed, found.discernibility) == (5, 1, 13)
    assert found.average_class_size == 5 / 4
    assert found.classification == 3 / 5
    assert [(c.name, c.weight) for c in found.columns] == [("age", 2), ("job", 1)]
    assert [c.il for c in found.columns] == approx([1.4 / 5, 7 / 3 / 5])


@pytest.mark.parametrize(("measure", "expected"), [("height", 1 / 3), ("level", 2 / 3)])
def test_precision_is_told_by_the_heights_that_the_schema_names(
    measure: str, expected: float
) -> None:
    """A node right under the root of a tree of height 3 that has nothing but leaves under it."""
    tree = {"top": {"wide": ["a", "b"], "deep": {"deeper": ["c", "d"]}}}
    quasi = {"x": {"type": "categorical", "taxonomy": tree}}
    found = measured({"x": ["a", "b"]}, quasi, [0, 0], loss=measure)
    assert found.columns[0].il == approx(expected)
    assert found.precision == approx(1 - expected)
    for other in ("ncp", "lm"):
        by_height = measured({"x": ["a", "b"]}, quasi, [0, 0], loss=other)
        assert by_height.precision == approx(1 - 1 / 3)


def test_ends_on_a_grid_count_as_they_are_released() -> None:
    """Over the range that is shown, whatever the exact one is: [20, 40] is half of [20, 60]."""
    ages = [22, 38, 41, 42]
    fine = measured({"age": ages}, {"age": "numeric"}, [0, 0, 1, 1])
    assert fine.columns[0].il == approx((16 / 20 + 1 / 20) / 2)
    coarse = measured({"age": ages}, {"age": {"type": "numeric", "grid": 20}}, [0, 0, 1, 1])
    assert coarse.columns[0].il == 0.5  # [20, 40] and [40, 60]
    five = measured({"age": ages}, {"age": {"type": "numeric", "grid": 5}}, [0, 0, 1, 1])
    assert five.columns[0].il == approx((20 / 25 + 5 / 25) / 2)
    alone = measured(
        {"age": [22, 22, 41, 42]}, {"age": {"type": "numeric", "grid": 5}}, [0, 0, 1, 1]
    )
    assert alone.columns[0].il == approx(5 / 25 / 2)  # 22 alone is shown, and 20 is its grid's


def test_a_domain_is_the_scale() -> None:
    quasi = {"age": {"type": "numeric", "domain": [0, 100]}}
    assert measured({"age": [20, 30, 40]}, quasi, [0, 0, 0]).total_il == approx(3 * 0.2)


def test_constant_and_missing_columns() -> None:
    constant = measured({"x": [7, 7, None, None]}, {"x": "numeric"}, [0, 0, 1, 1])
    assert constant.total_il == 0
    mixed = measured({"x": [7, 7, None, None]}, {"x": "numeric"}, [0, 1, 0, 1])
    assert mixed.total_il == 4
    nothing = measured({"x": [None] * 4}, {"x": "numeric"}, [0, 0, 1, 1])
    assert nothing.total_il == 0
    for kind in ("numeric", "date", "categorical"):
        gone = measured({"x": [None] * 4}, {"x": kind}, [0, 0, -1, -1])
        assert gone.total_il == 2


def original() -> EncodedTable:
    frame = pl.DataFrame({"age": [1, 5, 9, 9], "note": [1, 2, 3, 4]})
    return encode(Table(frame), Schema.of(quasi={"age": "numeric"}, insensitive=["note"]))


def test_intervals_wider_than_the_domain_lose_everything() -> None:
    quasi = {"age": {"type": "numeric", "domain": [0, 10]}}
    view = view_of({"age": [1, 5, 9, 9]}, quasi, {"age": ["[-9, 100]"] * 4})
    assert loss.measure(view).gcp == 1


def test_a_column_named_like_an_end_is_not_a_quasi_identifier() -> None:
    """Where age is released as one column, age_low is somebody else's."""
    frame = pl.DataFrame({"age": [1, 5, 9, 9], "age_low": [1, 2, 3, 4], "job": ["a", "b"] * 2})
    schema = Schema.of(quasi={"age": "numeric"}, insensitive=["age_low"], sensitive=["job"])
    encoded = encode(Table(frame), schema)
    shown = generalise(Table(frame), encoded, Groups([0, 0, 1, 1]), ANCESTORS)
    found = loss.measure(View.of(shown, encoded, class_column="job"), k=2)
    assert (found.discernibility, found.average_class_size) == (8, 1.0)
    assert found.classification == 2 / 4


def test_the_order_of_rows_and_columns_does_not_matter() -> None:
    quasi = {"b": "numeric", "a": "categorical"}
    table = pl.DataFrame({"b": [1, 2, 3, 4], "a": ["x", "y", "x", "x"]})
    encoded = encode(Table(table), Schema.of(quasi=quasi))
    shown = generalise(Table(table), encoded, Groups([0, 0, 1, 1]), ANCESTORS).frame
    turned = shown.reverse().select("a", "b")
    assert loss.measure(View.of(Table(turned), encoded)) == loss.measure(
        View.of(Table(shown), encoded)
    )


# ── refusals ────────────────────────────────────────────────────────────────────────────────────


def test_a_release_of_more_rows_than_there_were() -> None:
    with pytest.raises(TableError, match="more rows"):
        loss.measure(View.of(table_of({"age": ["5"] * 5}), original()))


def test_a_class_column_that_was_not_released() -> None:
    with pytest.raises(TableError, match="column 'job' is not in the released table"):
        loss.measure(View.of(table_of({"age": ["5"] * 4}), original(), class_column="job"))


def test_a_release_of_nothing() -> None:
    """Every row is lost, but classes have no average size where there are none."""
    empty = Table(pl.DataFrame({"age": []}, schema={"age": pl.String}))
    with pytest.raises(CoveyError, match="rows"):
        loss.measure(View.of(empty, original()))


def test_losses_as_plain_dictionaries() -> None:
    found = measured({"x": [1, 2]}, {"x": "numeric"}, [0, 0])
    plain = found.to_dict()
    assert plain["total_il"] == 2.0
    column = {"name": "x", "weight": 1.0, "il": 1.0, "ncp": 1.0, "lm": 1.0, "share": 1.0}
    assert plain["columns"] == (column,)
    assert plain["worst"] == tuple(
        {"percent": percent, "rows": 1, "loss": 1.0, "share": 0.5, "without": 1.0}
        for percent in (0.1, 1.0, 5.0)
    )
    assert set(DEFINITIONS) <= set(plain)
