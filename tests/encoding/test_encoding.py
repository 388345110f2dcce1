"""From cells to arrays: what is a number, a date, a value, and what is refused."""

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.encoding import (
    MISSING_LEAF,
    Category,
    EncodedTable,
    Interval,
    encode,
    rows_to_keep,
)
from covey.encoding.groups import Groups
from covey.encoding.imputation import without_gaps
from covey.encoding.intervals import usual_range
from covey.errors import TableError, TaxonomyError, UsageError
from covey.reference import model as oracle
from covey.schema import Schema
from covey.schema.taxonomy import build
from covey.tables import Table
from covey.tables.cells import parse_dates, parse_numbers
from covey.tables.csv_files import Dialect
from examples import examples
from tables_of_people import EPOCH, LABELS, People, days, people

POINT, COMMA = Dialect(), Dialect(decimal=",", delimiter=";")


def numbers(*cells: Any, dialect: Dialect = POINT, dtype: Any = None) -> list[float | None]:
    return parse_numbers(pl.Series("x", cells, dtype=dtype, strict=False), dialect).to_list()


def dates(*cells: Any, written: str | None = None) -> list[datetime.date | None]:
    found = parse_dates(pl.Series("x", cells), written).to_list()
    return [None if day is None else EPOCH + datetime.timedelta(day) for day in found]


def encoded(columns: dict[str, Any], quasi: dict[str, Any], **settings: Any) -> EncodedTable:
    dialect = settings.pop("dialect", POINT)
    return encode(Table(pl.DataFrame(columns), dialect), Schema.of(quasi=quasi, **settings))


def interval(cells: list[Any], **settings: Any) -> Interval:
    (found,) = encoded({"x": cells}, {"x": {"type": "numeric", **settings}}).intervals
    return found


def category(cells: list[Any], dialect: Dialect = POINT, **settings: Any) -> Category:
    table = encoded({"x": cells}, {"x": {"type": "categorical", **settings}}, dialect=dialect)
    (found,) = table.categories
    return found


# ── numbers ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        ("5", 5.0),
        ("+5", 5.0),
        ("-5", -5.0),
        ("007", 7.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("+.5", 0.5),
        ("-5.25", -5.25),
        ("1e3", 1000.0),
        ("1E+3", 1000.0),
        ("25e-1", 2.5),
        ("5.e1", 50.0),
        (" 5 ", 5.0),
        ("0.1", 0.1),
        ("9007199254740991", 2.0**53 - 1),
        ("-9007199254740991", 1 - 2.0**53),
    ],
)
def test_numbers(cell: str, number: float) -> None:
    assert numbers(cell) == [number]


@pytest.mark.parametrize(
    "cell",
    [
        *("", " ", "+", "-", ".", "e5", "1e", "1e+", "+-5", "--5", "5-", "5 5", "1.2.3", "1..2"),
        *("1_000", "1,000", "1 000", "1'000", "1.000,5", "1,5", "0x10", "0b1", "0o7", "1e1.5"),
        *("１２", "٣", "५", "²", "½", "−5", "5\n", "\n5", "5\t", "\u00a05", "5\u200b", "5\x00"),
        *("1e400", "-1e400", "inf", "-inf", "Infinity", "nan", "NaN", "None", "true", "five", "$"),
        *("%", "$$5", "5 kg", "5f", "5L", "1e5_0", "#5", "(5)"),
    ],
)
def test_other_than_numbers_are_counted_and_refused(cell: str) -> None:
    with pytest.raises(TableError, match=r"column 'x': 2 rows with a cell that is not a number"):
        numbers("1", cell, "2", cell, None)


@given(st.floats(-(2.0**52), 2.0**52))
@examples(300)
def test_every_way_python_writes_a_number(number: float) -> None:
    """Shortest, with an exponent, without one, with a comma; the last bit counts."""
    positional = np.format_float_positional(number)
    assert numbers(repr(number), f"{number:.17e}", positional) == [number] * 3
    assert numbers(repr(number).replace(".", ","), dialect=COMMA) == [number]
    assert numbers(number) == [number]


@given(st.text("0123456789+-.,eE_ ", max_size=8))
@examples(500)
def test_the_grammar_is_a_part_of_pythons(cell: str) -> None:
    """Whatever is taken for a number is the one that Python would read."""
    try:
        (number,) = numbers(cell)
    except TableError:
        assert not cell.strip().isdigit()
    else:
        assert number == float(cell)
        assert "_" not in cell


def test_a_decimal_comma() -> None:
    assert numbers("1,5", "+,5", "5,", "-2,5e1", "7", dialect=COMMA) == [1.5, 0.5, 5.0, -25.0, 7.0]
    for cell in ("1.5", "1,5.2", "1,2,3", ","):
        with pytest.raises(TableError, match="1 row "):
            numbers("1", cell, dialect=COMMA)


@pytest.mark.parametrize("zero", ["-0", "-0.0", "-.0", "-0e5", -0.0, Decimal("-0.0")])
def test_a_negative_zero_is_zero(zero: object) -> None:
    """Else one number would have two names, and equal people two cells."""
    (number,) = numbers(zero)
    assert number == 0
    assert math.copysign(1, number) == 1


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("number", [2**53 + 1, 2**53 + 2, 2**60 + 1, 10**18])
def test_whole_numbers_that_a_float_cannot_tell_apart_are_refused(number: int, sign: int) -> None:
    for cell in (sign * number, str(sign * number), f"{sign * number}.0"):
        with pytest.raises(TableError, match=r"column 'x': 1 row with a number beyond 2\^53"):
            numbers(cell)


@pytest.mark.parametrize(
    "dtype", [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt64, pl.Float32, pl.Float64]
)
def test_typed_numbers(dtype: Any) -> None:
    assert numbers(5, None, 7, dtype=dtype) == [5.0, None, 7.0]


def test_other_typed_cells() -> None:
    assert numbers(True, False, None) == [1.0, 0.0, None]
    assert numbers(Decimal("1.25"), None) == [1.25, None]
    assert numbers(None, None) == [None, None]
    with pytest.raises(TableError, match="1 row "):
        numbers(1.0, math.inf)
    with pytest.raises(TableError, match="column 'x' holds Date, not numbers"):
        numbers(datetime.date(2024, 5, 31))


# ── dates ───────────────────────────────────────────────────────────────────────────────────────


@given(st.dates(datetime.date(1, 1, 1)))
@examples(100)
def test_days(day: datetime.date) -> None:
    midnight = datetime.datetime.combine(day, datetime.time())
    assert dates(day.isoformat(), f" {day.isoformat()} ", None) == [day, day, None]
    assert dates(day, None) == dates(midnight, None) == [day, None]
    written = f"{day.month:02}/{day.day:02}/{day.year:04}"
    assert dates(written, written="%m/%d/%Y") == [day]


@pytest.mark.parametrize(
    "cell",
    [
        *("", "2024-5-31", "2024-05", "24-05-31", "20240531", "2024-05-31T", "2024-05-31 0"),
        *("31.05.2024", "05/31/2024", "2024/05/31", "2024-W22-5", "2024-152", "yesterday", "0"),
        *("2023-02-29", "2024-02-30", "2024-13-01", "2024-00-10", "2024-04-31", "2024-05-00"),
        *("２０２４-05-31", "٢٠٢٤-٠٥-٣١", "2024-05-31\n", "-2024-05-31", "+2024-05-31"),
        *("12024-05-31", "2024-05-31Z", "May 31, 2024"),
    ],
)
def test_other_than_iso_dates_are_counted_and_refused(cell: str) -> None:
    with pytest.raises(TableError, match=r"column 'x': 2 rows with a cell that is not a date"):
        dates("2024-05-31", cell, None, cell)


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("2024-05-31", "%d.%m.%Y"),
        ("05.31.2024", "%d.%m.%Y"),
        ("30.02.2024", "%d.%m.%Y"),
        ("31.05.2024 x", "%d.%m.%Y"),
        ("31.05.2024", "%d.%m.%Q"),
        ("31.05.2024", "nonsense"),
        ("31.05.2024", "%"),
    ],
)
def test_dates_in_another_form_than_declared(cell: str, written: str) -> None:
    with pytest.raises(TableError, match="column 'x'") as caught:
        dates(cell, written=written)
    assert cell not in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "written"), [("05/2024", "%m/%Y"), ("2024", "%Y"), ("31.05.", "%d.%m."), ("10", "%H")]
)
def test_a_day_is_not_made_up(cell: str, written: str) -> None:
    """A month is not its first day: released as that, it would tell what nobody said."""
    with pytest.raises(UsageError):
        dates(cell, written=written)


def test_a_time_of_day_is_cut_off() -> None:
    noon = datetime.datetime(2024, 5, 31, 12)
    assert dates(datetime.datetime(2024, 5, 31), noon, None) == [noon.date()] * 2 + [None]
    with pytest.raises(TableError, match="column 'x' holds Int64, not dates"):
        dates(5)
    assert dates(None, None) == [None, None]


# ── columns of numbers and dates ────────────────────────────────────────────────────────────────


def scaled(found: Interval) -> list[float | None]:
    return [None if math.isnan(value) else value for value in found.scaled.tolist()]


def test_a_value_far_from_all_others_does_not_stretch_the_range() -> None:
    ages = [*range(20, 91)] * 3
    found = interval([*ages, 999, 999, None])
    assert (found.low, found.high) == (20, 90)
    assert found.far.tolist() == [False] * len(ages) + [True, True, False]
    assert found.scaled[:71].tolist() == [(age - 20) / 70 for age in range(20, 91)]
    assert found.scaled[-2] == 3.0  # far enough from all others, but not without end
    assert (interval([*ages, -1]).low, interval([*ages, -400]).low) == (-1, 20)
    tail = [1.9**power for power in range(20)]  # long, but without a gap
    assert interval(tail * 9).high == tail[-1]
    assert not interval([*range(20, 91), 999]).far.any()  # too few values to say what is usual
    assert not interval([*ages, *[999] * 9]).far.any()  # too many rows to be mistakes
    declared = interval([*ages, 999], domain=(0, 1000))
    assert (declared.low, declared.high) == (0, 1000)
    assert not declared.far.any()


@given(st.lists(st.integers(0, 100), min_size=100, max_size=150), st.integers(-(10**6), 10**6))
@examples(100)
def test_the_usual_range_ends_before_a_gap_wider_than_itself(usual: list[int], far: int) -> None:
    values = np.array([*usual, far], dtype=np.float64)
    low, high = usual_range(values)
    ranked = sorted(values)
    for share in (0.1, 0.01):
        beyond = round(share * len(values))
        first, last = ranked[beyond - 1], ranked[-beyond]
        if first < last:
            break
    else:
        first, last = ranked[0], ranked[-1]
    top, bottom = last, first
    for value in ranked:
        if value > top and value - top <= top - first:
            top = value
        elif value > top:
            break
    for value in reversed(ranked):
        if value < bottom and bottom - value <= top - bottom:
            bottom = value
        elif value < bottom:
            break
    few = 0.02 * len(values)
    top = top if sum(value > top for value in ranked) <= few else ranked[-1]
    bottom = bottom if sum(value < bottom for value in ranked) <= few else ranked[0]
    assert (low, high) == (bottom, top)


def test_missing_numbers_stand_beyond_far_ones() -> None:
    cells = {"x": [*range(200), 5000, None], "y": [None, *range(201)]}
    table = encoded(cells, dict.fromkeys("xy", "numeric"))
    numbers = table.cells.numbers
    assert table.missing_at == 4
    assert numbers[-1, 0] == numbers[0, 1] == 4
    assert numbers[-2, 0] == 3
    lots = encoded({"x": [*np.arange(298) / 1e5, 9e15, None]}, {"x": "numeric"})
    assert lots.cells.numbers[-1, 0] >= 1 + lots.cells.numbers[-2, 0]
    assert encoded({"x": [1, 2, None]}, {"x": "numeric"}).missing_at == 2


def test_numbers_are_scaled_to_their_range() -> None:
    found = interval([2, 4, 12, None])
    assert (found.low, found.high, found.width, found.is_date) == (2, 12, 10, False)
    assert scaled(found) == [0.0, 0.2, 1.0, None]
    assert np.isnan(found.values[3])


def test_or_to_their_domain() -> None:
    found = interval([2, 4, 12, None], domain=(0, 20))
    assert scaled(found) == [0.1, 0.2, 0.6, None]
    assert scaled(interval([0, 20], domain=(0, 20))) == [0, 1]
    with pytest.raises(TableError, match="column 'x': 3 rows outside its domain"):
        interval([-1, 0, 5, None, 21, 99], domain=(0, 20))


def test_constant_and_missing_columns() -> None:
    assert scaled(interval([7, 7, None])) == [0, 0, None]
    assert interval([7, 7]).width == 0
    assert scaled(interval([None, None])) == [None, None]
    assert interval([None, None]).width == 0
    assert interval([None], domain=(0, 9)).width == 9
    assert scaled(interval([5.0, math.nan])) == [0, None]
    assert scaled(interval(["5", "", "7"])) == [0, None, 1]


def test_dates_are_days() -> None:
    table = encoded({"d": ["2024-05-31", None, "2024-06-10"]}, {"d": "date"})
    (found,) = table.intervals
    assert found.is_date
    assert found.values[0] == days(datetime.date(2024, 5, 31))
    assert found.width == 10
    assert scaled(found) == [0, None, 1]


@given(people())
@examples(200)
def test_scaled_numbers_are_those_of_the_oracle(table: People) -> None:
    for found in table.encoded().intervals:
        column = table.oracle[found.name]
        assert isinstance(column, oracle.Numeric)
        assert scaled(found) == oracle.normalised(column)
        assert all(0 <= value <= 1 for value in scaled(found) if value is not None)


# ── columns of categories ───────────────────────────────────────────────────────────────────────


@given(people())
@examples(200)
def test_leaves_are_those_of_the_cells(table: People) -> None:
    for found in table.encoded().categories:
        column = table.oracle[found.name]
        assert isinstance(column, oracle.Categorical)
        labels = [found.tree.labels[leaf] for leaf in found.leaves]
        assert labels == [MISSING_LEAF if cell is None else cell for cell in column.values]
        slow = oracle.tree_of(column)
        assert len(found.tree.labels) == len(slow.parent) + 1
        assert (found.leaves < found.tree.leaf_count).all()
        assert found.leaves.dtype == np.int32
        if None in column.values:
            missing = found.tree.leaf_count - 1
            assert found.tree.labels[missing] == MISSING_LEAF
            assert found.tree.parent[missing] == found.tree.root


def test_a_tree_may_have_leaves_that_no_row_has() -> None:
    found = category(["a", "c"], taxonomy={"A": ["a", "b"], "C": ["c", "d"]})
    assert [found.tree.labels[leaf] for leaf in found.leaves] == ["a", "c"]
    assert found.tree.leaf_count == 4


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["a", "Zoe", "Zoe", "Max", None], "3 rows with 2 values"),
        (["a", "Zoe"], "1 row with 1 value "),
        (["a", "A"], "1 row with 1 value "),
        (["a", "a "], "1 row with 1 value "),
        (["a", "*"], "1 row with 1 value "),
    ],
)
def test_values_that_the_tree_does_not_cover(cells: list[str | None], message: str) -> None:
    """An inner node is not a value either: its row would be known less than it seems."""
    with pytest.raises(TaxonomyError, match=f"column 'x': {message}") as caught:
        category(cells, taxonomy={"A": ["a", "b"], "C": ["c", "d"]})
    assert "Zoe" not in str(caught.value)


def test_the_mistakes_of_a_tree_name_its_column() -> None:
    with pytest.raises(TaxonomyError, match="column 'x': 1 leaf with more than one line"):
        category(["a"], taxonomy={"A": ["a", "a"]})
    with pytest.raises(TaxonomyError, match="column 'x': intervals need"):
        category(["a"], taxonomy={"build": "intervals", "widths": [5]})


@pytest.mark.parametrize(
    "taxonomy",
    [
        {},
        {"taxonomy": {"build": "flat"}},
        {"taxonomy": {"build": "prefixes"}},
        {"taxonomy": {"build": "dates"}},
        {"taxonomy": {"build": "intervals", "widths": [5]}},
        {"taxonomy": {"A": ["a", "b"]}},
    ],
)
@pytest.mark.parametrize("cells", [[None, None], ["", ""]])
def test_a_column_without_any_value(taxonomy: dict[str, Any], cells: list[Any]) -> None:
    found = category(cells, **taxonomy)
    assert found.leaves.tolist() == [found.tree.leaf_count - 1] * 2
    assert found.tree.losses()[found.leaves].tolist() == [0, 0]
    assert found.tree.leaves[-1] == MISSING_LEAF


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        ([3, 1, 3], ["3", "1", "3"]),
        ([True, False], ["true", "false"]),
        ([1.5, 2.0, math.nan], ["1.5", "2.0", MISSING_LEAF]),
        ([datetime.date(2024, 5, 31)], ["2024-05-31"]),
    ],
)
def test_typed_categories(cells: list[Any], labels: list[str]) -> None:
    found = category(cells)
    assert [found.tree.labels[leaf] for leaf in found.leaves] == labels


def test_an_empty_cell_is_missing_whatever_the_tokens() -> None:
    found = category(["", "a", "?", None, "NA"], Dialect(missing=("?",)))
    assert [found.tree.labels[leaf] for leaf in found.leaves] == ["", "a", "", "", "NA"]
    assert len(set(found.tree.labels)) == len(found.tree.labels)


def test_a_label_that_means_missing_elsewhere_is_refused() -> None:
    """NA above America's countries: its cells would be read as missing ones."""
    tree = {"World": {"NA": ["us", "ca"], "EU": ["de", "fr"]}}
    with pytest.raises(UsageError, match="column 'x': 1 label"):
        category(["us", "ca", "de", "NA"], Dialect(missing=("NA",)), taxonomy=tree)
    assert category(["us", "ca", "de", ""], taxonomy=tree).tree.height == 2


def test_policies_of_missing_cells() -> None:
    table = Table(
        pl.DataFrame(
            {
                "a": [1, None, 3, 4, None],
                "b": ["x", "?", "", "x", "x"],
                "c": [math.nan, 1.0, 2.0, 3.0, 4.0],
                "d": [None, None, None, None, "x"],
            }
        ),
        Dialect(missing=("", "?")),
    )

    def dropped(**policies: str) -> list[int]:
        types = {"a": "numeric", "b": "categorical", "c": "numeric", "d": "categorical"}
        quasi = {name: {"type": types[name], "missing": policies[name]} for name in policies}
        kept = rows_to_keep(table, Schema.of(quasi=quasi))
        return sorted({*range(kept.total)} - {*kept.rows.tolist()})

    assert dropped(a="category", b="category", c="category", d="category") == []
    assert dropped(a="wildcard", b="wildcard", c="wildcard", d="category") == []
    assert dropped(a="drop-row") == [1, 4]
    assert dropped(a="drop-row", b="drop-row", d="category") == [1, 2, 4]
    assert dropped(c="drop-row") == [0]
    with pytest.raises(TableError, match="column 'a': 2 rows with a missing cell"):
        dropped(a="error", b="drop-row")
    with pytest.raises(TableError, match="column 'd': 4 rows"):
        dropped(a="drop-row", d="error")
    assert rows_to_keep(table, Schema.of(quasi={}, sensitive=["a"])).is_all


# ── whole tables ────────────────────────────────────────────────────────────────────────────────


@given(people())
@examples(100)
def test_attributes_stand_in_the_order_of_the_oracle(table: People) -> None:
    found = table.encoded()
    assert [a.name for a in found.attributes] == oracle.attribute_order(table.oracle)
    assert found.rows == table.rows
    assert found.measure == table.schema.loss
    assert found.classes is None


@given(people(columns=6))
@examples(100)
def test_the_forest_is_its_trees(table: People) -> None:
    found = table.encoded()
    forest, cells = found.forest, found.cells
    for place, tree_of in enumerate(found.categories):
        tree, first = tree_of.tree, int(forest.first[place])
        assert forest.leaves[place] == tree.leaf_count
        assert (cells.codes[:, place] - first).tolist() == tree_of.leaves.tolist()
        for node in range(len(tree.labels)):
            above = [a - first for a in forest.ancestors[first + node] if a >= 0]
            assert above == [a for a in tree.ancestors[node] if a >= 0]
            assert forest.depth[first + node] == tree.depth[node]
            expected = tree_of.column.weight * tree.losses(found.measure)[node]
            assert forest.loss[first + node] == expected
    assert len(forest.depth) == sum(len(c.tree.labels) for c in found.categories)
    assert cells.weights.tolist() == [a.column.weight for a in found.intervals]
    assert cells.numbers.shape == (table.rows, len(found.intervals))
    for place, one in enumerate(found.intervals):
        numbers = [found.missing_at if v is None else v for v in scaled(one)]
        assert cells.numbers[:, place].tolist() == numbers


@given(st.lists(st.sampled_from([*LABELS[:6], None]), min_size=1))
@examples(100)
def test_classes_are_equal_where_their_cells_are(cells: list[str | None]) -> None:
    frame = pl.DataFrame({"x": [1] * len(cells), "c": pl.Series(cells, dtype=pl.String)})
    schema = Schema.of(quasi={"x": "numeric"}, sensitive=["c"])
    classes = encode(Table(frame), schema, class_column="c").classes
    assert classes is not None
    assert classes.min() >= 0
    assert classes.dtype == np.dtype(np.int32)
    assert len(classes) == len(cells)
    assert len(set(zip(cells, classes.tolist(), strict=True))) == len(set(cells))
    assert len(set(classes.tolist())) == len(set(cells))


@pytest.mark.parametrize(
    "cells",
    [
        [True, False, None],
        [1.5, math.nan, None],
        [datetime.date(2024, 5, 31), datetime.date(2024, 6, 1), None],
        [3, 1, None],
    ],
)
def test_typed_classes(cells: list[Any]) -> None:
    frame = pl.DataFrame({"x": [1, 2, 3], "c": cells})
    schema = Schema.of(quasi={"x": "numeric"}, sensitive=["c"])
    classes = encode(Table(frame), schema, class_column="c").classes
    assert classes is not None
    assert len(set(classes.tolist())) == 3


def test_the_class_column_is_in_the_table() -> None:
    with pytest.raises(TableError, match="column 'c'"):
        encode(Table(pl.DataFrame({"x": [1]})), Schema.of(quasi={"x": "numeric"}), class_column="c")


@pytest.mark.parametrize("secret", ["Zoe1234567", "1_234567", "12345678901234567890"])
@pytest.mark.parametrize("kind", ["numeric", "date", "categorical"])
def test_no_message_holds_a_cell(secret: str, kind: str) -> None:
    settings: dict[str, Any] = {"type": kind}
    if kind == "categorical":
        settings["taxonomy"] = build({"a": "*", "b": "*"})
    with pytest.raises(UsageError) as caught:
        encoded({"x": [secret]}, {"x": settings})
    assert secret not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


# ── cells that would read as missing, or as less than they are ──────────────────────────────────


def test_a_number_that_is_spelled_like_a_missing_token_is_refused() -> None:
    with pytest.raises(TableError, match=r"column 'x': a number, .* also reads as missing"):
        encoded({"x": ["999.0", "5"]}, {"x": "numeric"}, dialect=Dialect(missing=("999",)))
    encoded({"x": ["999", "5"]}, {"x": "numeric"}, dialect=Dialect(missing=("999",)))


@pytest.mark.parametrize(("kind", "cell"), [("numeric", "5"), ("date", "2024-05-31")])
def test_the_sign_for_any_value_cannot_mean_missing(kind: str, cell: str) -> None:
    with pytest.raises(TableError, match="also reads as missing"):
        encoded({"x": [cell, "*"]}, {"x": kind}, dialect=Dialect(missing=("*",)))


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("31.05.2024 10:30", "%d.%m.%Y %H:%M"),
        ("2024-05-31T10:30:59", "%Y-%m-%dT%T"),
        ("31.05.2024 10:30 PM", "%d.%m.%Y %I:%M %p"),
    ],
)
def test_a_format_may_have_times(cell: str, written: str) -> None:
    table = encoded({"x": [cell]}, {"x": {"type": "date", "format": written}})
    assert table.attributes[0].values.tolist() == [19874]


def test_what_has_cells_in_it_does_not_show_them() -> None:
    """Tracebacks and notebooks show objects by themselves."""
    frame = pl.DataFrame(
        {"age": [739173917, 739173918], "town": ["Quorn", "Quorn"], "ill": ["gout", "flu"]}
    )
    schema = Schema.of(quasi={"age": "numeric", "town": "categorical"}, sensitive=["ill"])
    table = Table(frame)
    encoded = encode(table, schema)
    for thing in (table, encoded, *encoded.attributes, encoded.sensitive["ill"]):
        shown = repr(thing)
        assert not any(cell in shown for cell in ("7391739", "Quorn", "gout"))


@given(people(least=2))
def test_points_are_as_far_apart_as_two_rows_lose_together(table: People) -> None:
    encoded = without_gaps(table.encoded())
    points = encoded.features
    for row in range(1, encoded.rows):
        pair = encoded.take(np.array([0, row]))
        lost = pair.objective(Groups([0, 0])) / 2
        assert np.abs(points[0] - points[row]).sum() == pytest.approx(lost, abs=1e-9)
