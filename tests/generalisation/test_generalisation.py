"""Released cells cover all rows of a group and no more, by the test's own reading of them."""

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, TypeVar

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.encoding import Attribute, Category, EncodedTable, Nodes, Ranges, Shown, encode
from covey.encoding.categories import spell_set
from covey.encoding.groups import Groups
from covey.encoding.intervals import HIDDEN, MISSING, SHOWN, spell_number
from covey.errors import SchemaError, TableError, UsageError
from covey.generalisation import Style, View, generalise
from covey.reference import model as oracle
from covey.schema import Schema
from covey.schema.taxonomy import Taxonomy, from_nested
from covey.tables import Table
from covey.tables.csv_files import Dialect
from examples import examples
from oracles.metrics import groups_of
from tables_of_people import CLASS, LABELS, People, days, labels_for, people

ANCESTORS, SETS, ENDS = Style(), Style(categories="values"), Style(intervals="columns")
Kind = TypeVar("Kind", oracle.Numeric, oracle.Categorical)
EVERYTHING = "*"


# ── the notation, read independently ────────────────────────────────────────────────────────────


def number_in(text: str, decimal: str = ".") -> Decimal:
    assert decimal == "." or "." not in text
    return Decimal(text.replace(decimal, "."))


def day_in(text: str) -> Decimal:
    assert len(text) == 10
    return Decimal(days(datetime.date.fromisoformat(text)))


def ends_in(cell: str, *, is_date: bool, decimal: str = ".") -> tuple[Decimal, Decimal]:
    """`[low, high]`, or a single value that is both."""
    between = ", " if decimal == "." else "; "
    texts = cell[1:-1].split(between) if cell.startswith("[") else [cell, cell]
    assert len(texts) == 2
    assert cell.startswith("[") is cell.endswith("]")
    low, high = (day_in(t) if is_date else number_in(t, decimal) for t in texts)
    assert low < high or texts[0] == texts[1] == cell
    return low, high


def values_in(cell: str) -> list[str]:
    """`{a, "b, c"}` sign by sign; a quote inside quotes is doubled."""
    assert cell[0] == "{"
    values: list[str] = []
    place = 1
    while True:
        value = ""
        if cell[place] == '"':
            place += 1
            while cell[place] != '"' or cell[place + 1] == '"':
                place += 1 + (cell[place] == '"')
                value += cell[place - 1]
            place += 1
        else:
            while cell[place] not in ",}":
                value += cell[place]
                place += 1
        values.append(value)
        if cell[place] == "}":
            assert place == len(cell) - 1
            return values
        assert cell[place : place + 2] == ", "
        place += 2


def test_the_reading_of_sets() -> None:
    assert values_in('{a, "b, c", "d ""e""", f g, """"}') == ["a", "b, c", 'd "e"', "f g", '"']
    assert values_in('{"}", " x"}') == ["}", " x"]


# ── helpers ─────────────────────────────────────────────────────────────────────────────────────


def released(table: People, labels: Sequence[int], style: Style = ANCESTORS) -> pl.DataFrame:
    return generalise(table.table, table.encoded(), Groups(labels), style).frame


def cells_of_groups(frame: pl.DataFrame, name: str, labels: Sequence[int]) -> list[Any]:
    """The one cell of each group."""
    shown = [label for label in labels if label >= 0]
    found: dict[int, set[Any]] = {}
    for label, cell in zip(shown, frame[name].to_list(), strict=True):
        found.setdefault(label, set()).add(cell)
    assert all(len(cells) == 1 for cells in found.values())
    return [found[label].pop() for label in sorted(found)]


def shown_by(
    table: People, labels: Sequence[int], kind: type[Kind], style: Style = ANCESTORS
) -> Iterator[tuple[str, Kind, Any, list[int]]]:
    """Columns of a kind, with the cell and the rows of each group."""
    frame = released(table, labels, style)
    for name, column in table.oracle.items():
        if isinstance(column, kind):
            cells = cells_of_groups(frame, name, labels)
            for cell, rows in zip(cells, groups_of(labels), strict=True):
                yield name, column, cell, rows


def tree_of(column: oracle.Categorical) -> tuple[oracle.Tree, str]:
    """The tree, and how its root is written."""
    tree = oracle.tree_of(column)
    if tree.root != oracle.HIDDEN_ROOT:
        return tree, tree.root
    stars = "*"
    while stars in column.values:
        stars += "*"
    return tree, stars


def exact(value: float) -> Decimal:
    return Decimal(repr(value))


def frame_of(
    columns: pl.DataFrame | Mapping[str, Any],
    quasi: Mapping[str, Any],
    labels: Sequence[int],
    **more: Any,
) -> pl.DataFrame:
    dialect, style = more.pop("dialect", Dialect()), more.pop("style", ANCESTORS)
    table = Table(pl.DataFrame(columns), dialect)
    encoded = encode(table, Schema.of(quasi=quasi, **more))
    return generalise(table, encoded, Groups(labels), style).frame


def shown_numbers(
    values: Sequence[Any], labels: Sequence[int] | None = None, **more: Any
) -> list[Any]:
    dialect = more.pop("dialect", Dialect())
    quasi = {"x": {"type": "numeric", **more}}
    frame = frame_of({"x": values}, quasi, labels or [0] * len(values), dialect=dialect)
    return frame["x"].to_list()


# ── every cell shows its members, and no more ───────────────────────────────────────────────────


@given(people(), st.data())
@examples(300)
def test_intervals_run_from_the_lowest_to_the_highest_member(
    table: People, data: st.DataObject
) -> None:
    labels = data.draw(labels_for(table.rows))
    for name, column, cell, rows in shown_by(table, labels, oracle.Numeric):
        members = [column.values[row] for row in rows]
        present = [value for value in members if value is not None]
        if not present:
            assert cell is None
        elif len(present) < len(members):
            assert cell == EVERYTHING
        else:
            low, high = ends_in(cell, is_date=table.schema.columns[name].type == "date")
            assert (low, high) == (exact(min(present)), exact(max(present)))
            assert all(low <= exact(value) <= high for value in present)
            assert cell.startswith("[") is (len(set(present)) > 1)


@given(people(), st.data())
@examples(300)
def test_categories_show_the_lowest_node_above_all_members(
    table: People, data: st.DataObject
) -> None:
    labels = data.draw(labels_for(table.rows))
    for _, column, cell, rows in shown_by(table, labels, oracle.Categorical):
        tree, stars = tree_of(column)
        node = tree.root if cell == stars else oracle.MISSING if cell is None else cell
        members = set(oracle.leaves_of_rows(column, rows))
        assert members <= set(oracle.leaves_below(tree, node))
        for child in oracle.children(tree, node):
            assert not members <= set(oracle.leaves_below(tree, child))


@given(people(), st.data())
@examples(300)
def test_sets_hold_the_values_of_the_members(table: People, data: st.DataObject) -> None:
    labels = data.draw(labels_for(table.rows))
    for _, column, cell, rows in shown_by(table, labels, oracle.Categorical, SETS):
        members = {column.values[row] for row in rows}
        if len(members) == 1:
            assert {cell} == members
        elif None in members:
            assert cell == tree_of(column)[1]
        else:
            assert values_in(cell) == sorted(str(member) for member in members)


@given(people(), st.data())
@examples(200)
def test_ends_in_columns_of_their_own(table: People, data: st.DataObject) -> None:
    labels = data.draw(labels_for(table.rows))
    frame = released(table, labels, ENDS)
    for name, column in table.oracle.items():
        if isinstance(column, oracle.Categorical):
            assert frame[name].dtype == pl.String
            continue
        present = [value for value in column.values if value is not None]
        whole = all(float(value).is_integer() for value in present)
        is_date = table.schema.columns[name].type == "date"
        expected = pl.Date if is_date else pl.Int64 if whole else pl.Float64
        assert name not in frame.columns
        assert frame[f"{name}_low"].dtype == frame[f"{name}_high"].dtype == expected
        lows, highs = (cells_of_groups(frame, name + end, labels) for end in ("_low", "_high"))
        for low, high, rows in zip(lows, highs, groups_of(labels), strict=True):
            members: list[Any] = [column.values[row] for row in rows]
            if None in members:
                assert (low, high) == (None, None)
            else:
                bounds = (days(low), days(high)) if is_date else (low, high)
                assert bounds == (min(members), max(members))


@given(people(), st.data())
@examples(100)
def test_all_else_is_left_as_it_was(table: People, data: st.DataObject) -> None:
    labels = data.draw(labels_for(table.rows))
    before = table.frame.clone()
    style = data.draw(st.sampled_from([ANCESTORS, SETS, ENDS]))
    frame = released(table, labels, style)
    kept = [row for row, label in enumerate(labels) if label >= 0]
    assert frame[CLASS].to_list() == table.frame[CLASS][kept].to_list()
    assert table.frame.equals(before)
    if style is not ENDS:
        assert frame.columns == table.frame.columns


def test_ends_stand_where_their_column_stood() -> None:
    frame = frame_of(
        {"z": ["a", "b"], "x": [1, 2], "s": [5, 6]},
        {"x": "numeric", "z": "categorical"},
        [0, 0],
        sensitive=["s"],
        style=ENDS,
    )
    assert frame.columns == ["z", "x_low", "x_high", "s"]
    assert frame.rows() == [("*", 1, 2, 5), ("*", 1, 2, 6)]


def test_ends_do_not_take_the_name_of_another_column() -> None:
    with pytest.raises(SchemaError, match="column 'x_low' already exists"):
        frame_of(
            {"x": [1, 2], "x_low": [5, 6]},
            {"x": "numeric"},
            [0, 0],
            insensitive=["x_low"],
            style=ENDS,
        )


def test_a_group_of_missing_and_one_of_both() -> None:
    assert shown_numbers([None, None, 5, None, 7], [0, 0, 1, 1, 2]) == [None, None, "*", "*", "7"]
    tree = {"World": {"Europe": ["Rome", "Oslo"], "Africa": ["Lagos"]}}
    for style in (ANCESTORS, SETS):
        frame = frame_of(
            {"x": [None, None, "Rome", None, "Lagos"]},
            {"x": {"type": "categorical", "taxonomy": tree}},
            [0, 0, 1, 1, 2],
            style=style,
        )
        assert frame["x"].to_list() == [None, None, "World", "World", "Lagos"]


def test_every_token_of_missing_is_shown_as_missing() -> None:
    frame = frame_of(
        {"x": ["", "?", "?", "a", "NA"]},
        {"x": "categorical"},
        [0, 0, 1, 1, 2],
        dialect=Dialect(missing=("?",)),
    )
    assert frame["x"].to_list() == [None, None, "*", "*", "NA"]


def test_a_set_is_not_shown_as_a_value_that_looks_like_it() -> None:
    """As in a table that was released before; else two groups would become one class."""
    cells = frame_of(
        {"x": ["a", "b", "{a, b}", "{a, b}"]}, {"x": "categorical"}, [0, 0, 1, 1], style=SETS
    )["x"]
    assert cells[2] == cells[3] == "{a, b}"
    assert cells[0] == cells[1] != "{a, b}"


# ── grids ───────────────────────────────────────────────────────────────────────────────────────


def on_grid(value: Decimal, grid: Decimal, rounding: str) -> Decimal:
    return (value / grid).to_integral_value(rounding) * grid


def check_grid(values: Sequence[float], grid: float) -> None:
    """Both ends on the grid, outwards, and no further than needed."""
    (cell,) = set(shown_numbers(values, grid=grid))
    low, high = ends_in(cell, is_date=False)
    if len(set(values)) == 1:
        assert low == high == exact(values[0])
        return
    step = exact(grid)
    assert low == on_grid(exact(min(values)), step, ROUND_FLOOR)
    assert high == on_grid(exact(max(values)), step, ROUND_CEILING)


grids = st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5, 0.7, 1, 2, 2.5, 3, 5, 7, 10, 100])


@given(st.lists(st.integers(-2000, 2000), min_size=1, max_size=6), grids)
@examples(300)
def test_ends_move_outwards_to_the_grid(hundredths: list[int], grid: float) -> None:
    check_grid([value / 100 for value in hundredths], grid)


@given(st.integers(-50, 50), st.integers(1, 50), grids)
@examples(200)
def test_ends_on_the_grid_stay(low: int, steps: int, grid: float) -> None:
    """0.3 is a multiple of 0.1, and 2.1 of 0.7, though not to a computer that divides."""
    ends = [float(exact(grid) * low), float(exact(grid) * (low + steps))]
    (cell,) = set(shown_numbers(ends, grid=grid))
    assert ends_in(cell, is_date=False) == (exact(ends[0]), exact(ends[1]))


@given(
    st.lists(st.floats(-1e12, 1e12, allow_subnormal=False), min_size=2, max_size=4),
    st.sampled_from([0.01, 0.1, 0.5, 1, 10]),
)
@examples(300)
def test_a_grid_never_cuts_a_member_off(values: list[float], grid: float) -> None:
    """However large the number and however close to the grid."""
    (cell,) = set(shown_numbers(values, grid=grid))
    low, high = ends_in(cell, is_date=False)
    assert all(low <= exact(value) <= high for value in values)


@pytest.mark.parametrize(
    ("values", "grid", "cell"),
    [
        ([0.3, 0.7], 0.1, "[0.3, 0.7]"),
        ([0.31, 0.69], 0.1, "[0.3, 0.7]"),
        ([-0.31, 0.0], 0.1, "[-0.4, 0]"),
        ([-0.04, 0.04], 0.1, "[-0.1, 0.1]"),
        ([-0.04, -0.02], 0.1, "[-0.1, 0]"),
        ([23, 39], 5, "[20, 40]"),
        ([20, 40], 5, "[20, 40]"),
        ([23, 23], 5, "23"),
        ([1, 2], 2.5, "[0, 2.5]"),
        ([1234.5, 99999.5], 1000, "[1000, 100000]"),
        # large numbers on a fine grid, and numbers that a float only just holds
        ([1000000000.5, 5], 1, "[5, 1000000001]"),
        ([1000000.0005, 5], 1, "[5, 1000001]"),
        ([12345678.905, 5], 0.01, "[5, 12345678.91]"),
        ([-1000000000.5, 5], 1, "[-1000000001, 5]"),
        ([-3994800781570545.5, 0.0], 1, "[-3994800781570546, 0]"),
        ([-3995107987188357.5, 0.0], 0.01, "[-3995107987188357.5, 0]"),
        ([5000000001.0, 5000000004.0], 5, "[5000000000, 5000000005]"),
    ],
)
def test_grids_by_hand(values: list[float], grid: float, cell: str) -> None:
    assert set(shown_numbers(values, grid=grid)) == {cell}


def calendar(low: datetime.date, high: datetime.date, months: int) -> tuple[datetime.date, ...]:
    """The first day of the period of the one, and the last of that of the other."""
    first = (low.month - 1) // months * months + 1
    last = (high.month - 1) // months * months + months
    after = datetime.date(high.year + last // 12, last % 12 + 1, 1)
    return datetime.date(low.year, first, 1), after - datetime.timedelta(1)


@given(
    st.lists(
        st.dates(datetime.date(1600, 1, 1), datetime.date(2900, 1, 1)), min_size=1, max_size=4
    ),
    st.sampled_from(["month", "quarter", "year"]),
)
@examples(200)
def test_dates_move_to_the_calendar(values: list[datetime.date], grid: str) -> None:
    months = {"month": 1, "quarter": 3, "year": 12}[grid]
    quasi = {"x": {"type": "date", "grid": grid}}
    (cell,) = set(frame_of({"x": values}, quasi, [0] * len(values))["x"])
    if len(set(values)) == 1:
        assert cell == values[0].isoformat()
    else:
        first, last = calendar(min(values), max(values), months)
        assert cell == f"[{first.isoformat()}, {last.isoformat()}]"
    ends = frame_of({"x": values}, quasi, [0] * len(values), style=ENDS)
    assert [ends["x_low"].dtype, ends["x_high"].dtype] == [pl.Date, pl.Date]
    assert (ends["x_low"][0], ends["x_high"][0]) == (
        calendar(min(values), max(values), months)
        if len(set(values)) > 1
        else (values[0], values[0])
    )


def test_dates_in_another_form_are_released_as_iso() -> None:
    quasi = {"x": {"type": "date", "format": "%d.%m.%Y"}}
    cells = frame_of({"x": ["31.05.2024", "01.06.2024", "24.12.2024"]}, quasi, [0, 0, 1])["x"]
    assert cells.to_list() == ["[2024-05-31, 2024-06-01]"] * 2 + ["2024-12-24"]


@pytest.mark.parametrize(
    ("values", "grid", "dtype"),
    [
        ([1, 2], None, pl.Int64),
        ([1.0, 2.0], None, pl.Int64),
        ([1.5, 2.0], None, pl.Float64),
        ([-1.5, 2.0], None, pl.Float64),
        ([1, 2], 5, pl.Int64),
        ([1, 2], 2.5, pl.Float64),
        ([1, None], None, pl.Int64),
        ([None, None], None, pl.Int64),
        (["1", "2"], None, pl.Int64),
        (["1.5", "2"], 5, pl.Float64),
    ],
)
def test_ends_are_typed(values: list[Any], grid: float | None, dtype: Any) -> None:
    settings = {"type": "numeric"} | ({} if grid is None else {"grid": grid})
    frame = frame_of({"x": values}, {"x": settings}, [0, 0], style=ENDS)
    assert frame.schema == {"x_low": dtype, "x_high": dtype}


@given(st.floats(-(2.0**53), 2.0**53))
@examples(300)
def test_numbers_are_spelled_without_exponents_and_without_loss(number: float) -> None:
    text = spell_number(number, Dialect())
    assert float(text) == number
    assert set(text) <= set("-.0123456789")
    assert not text.endswith(".")
    assert spell_number(number, Dialect(decimal=",")) == text.replace(".", ",")


@pytest.mark.parametrize("zeros", [["-0", "0"], ["0", "-0"], ["-0.0", "-0"]])
def test_zero_has_one_name(zeros: list[str]) -> None:
    assert shown_numbers(zeros, [0, 1]) == ["0", "0"]
    assert shown_numbers(zeros) == ["0", "0"]
    assert shown_numbers([*zeros, "1"]) == ["[0, 1]"] * 3
    assert shown_numbers([*zeros, "-1"]) == ["[-1, 0]"] * 3


@given(st.lists(st.one_of(st.sampled_from(LABELS), st.text(min_size=1)), min_size=1, unique=True))
@examples(300)
def test_sets_of_any_text(values: list[str]) -> None:
    assert values_in(spell_set(values)) == sorted(values)


# ── parse(render(x)) == x ───────────────────────────────────────────────────────────────────────


def parse(attribute: Attribute, table: Table) -> tuple[Shown, list[int]]:
    """What the distinct cells of a released column show, and how many rows show each."""
    (column,) = View.of(table, EncodedTable((attribute,), table.frame.height)).columns
    return column.shown, column.counts.tolist()


def meanings(attribute: Attribute, table: Table) -> Counter[Any]:
    """What the cells of a column mean to `parse`, with the number of rows of each."""
    found, counts = parse(attribute, table)
    if isinstance(found, Nodes):
        parts: list[Any] = [found.attribute.tree.labels[node] for node in found.node]
    else:
        assert isinstance(found, Ranges)
        parts = [
            (state, *((low, high) if state == SHOWN else ()))
            for low, high, state in zip(found.low, found.high, found.state, strict=True)
        ]
    total: Counter[Any] = Counter()
    for part, rows in zip(parts, counts, strict=True):
        total[part] += rows
    return total


def expected_ranges(column: oracle.Numeric, labels: Sequence[int], style: Style) -> Counter[Any]:
    total: Counter[Any] = Counter()
    for rows in groups_of(labels):
        members = [column.values[row] for row in rows]
        present = [float(value) for value in members if value is not None]
        if len(present) == len(members):
            total[SHOWN, min(present), max(present)] += len(rows)
        elif present or style is ENDS:
            total[(HIDDEN,)] += len(rows)  # a pair of empty ends does not tell which it is
        else:
            total[(MISSING,)] += len(rows)
    return total


def expected_nodes(
    tree: Taxonomy, column: oracle.Categorical, labels: Sequence[int]
) -> Counter[Any]:
    slow = oracle.tree_of(column)
    total: Counter[Any] = Counter()
    for rows in groups_of(labels):
        node = oracle.lowest_common_ancestor(slow, oracle.leaves_of_rows(column, rows))
        spelled = {slow.root: tree.labels[tree.root], oracle.MISSING: ""}.get(node, node)
        total[spelled] += len(rows)
    return total


@given(people(), st.sampled_from([ANCESTORS, SETS, ENDS]), st.booleans(), st.data())
@examples(300)
def test_what_is_rendered_is_read_again(
    table: People, style: Style, comma: bool, data: st.DataObject
) -> None:
    labels = data.draw(labels_for(table.rows))
    encoded = table.encoded()
    dialect = Dialect(decimal="," if comma else ".", delimiter=";")
    # What is written depends on the encoded table alone, and on how the dialect spells it.
    shown = generalise(Table(table.frame, dialect), encoded, Groups(labels), style)
    for attribute in encoded.attributes:
        column = table.oracle[attribute.name]
        if isinstance(attribute, Category):
            assert isinstance(column, oracle.Categorical)
            assert meanings(attribute, shown) == expected_nodes(attribute.tree, column, labels)
        else:
            assert isinstance(column, oracle.Numeric)
            assert meanings(attribute, shown) == expected_ranges(column, labels, style)


def test_decimal_commas() -> None:
    dialect = Dialect(decimal=",", delimiter=";")
    shown = shown_numbers(["1,5", "-2,25", "7"], [0, 0, 1], dialect=dialect)
    assert shown == ["[-2,25; 1,5]", "[-2,25; 1,5]", "7"]


# ── reading what others released ────────────────────────────────────────────────────────────────


CITIES = from_nested({"World": {"Europe": ["Rome", "Oslo"], "Africa": ["Lagos", "a, b"]}})


def original() -> EncodedTable:
    cells = {"age": [1, 5, 9], "city": ["Rome", "Oslo", "a, b"], "born": ["2024-05-31"] * 3}
    types: dict[str, Any] = {
        "age": "numeric",
        "city": {"type": "categorical", "taxonomy": CITIES},
        "born": "date",
    }
    return encode(Table(pl.DataFrame(cells)), Schema.of(quasi=types))


def read(name: str, cells: Sequence[Any] | pl.DataFrame) -> Shown:
    (attribute,) = [a for a in original().attributes if a.name == name]
    frame = cells if isinstance(cells, pl.DataFrame) else pl.DataFrame({name: cells})
    return parse(attribute, Table(frame))[0]


@pytest.mark.parametrize(
    ("cell", "label"),
    [
        ("Rome", "Rome"),
        ("Europe", "Europe"),
        ("World", "World"),
        ("{Rome, Oslo}", "Europe"),
        ("{Rome,Oslo}", "Europe"),
        ('{Lagos, "a, b"}', "Africa"),
        ("{Rome, Lagos}", "World"),
        ("{Rome}", "Rome"),
        ("{Europe, Lagos}", "World"),
    ],
)
def test_labels_and_sets_of_others(cell: str, label: str) -> None:
    found = read("city", [cell])
    assert isinstance(found, Nodes)
    assert [CITIES.labels[node] for node in found.node] == [label]


def test_a_label_that_was_defused_for_spreadsheets() -> None:
    table = encode(Table(pl.DataFrame({"x": ["=a", "b"]})), Schema.of(quasi={"x": "categorical"}))
    (attribute,) = table.categories
    shown = Table(pl.DataFrame({"x": ["'=a", "=a", "b"]}))
    assert meanings(attribute, shown) == Counter({"=a": 2, "b": 1})


@pytest.mark.parametrize(
    "cell", ["Zoe", "rome", "*", "{}", "{Zoe}", "{Rome, Zoe}", "{Rome", "[1, 2]"]
)
def test_labels_that_nothing_explains(cell: str) -> None:
    with pytest.raises(TableError, match=r"column 'city': 2 rows with a label .* row 2") as caught:
        read("city", ["Rome", cell, cell])
    assert "Zoe" not in str(caught.value)


def test_a_missing_category_where_there_was_none() -> None:
    with pytest.raises(TableError, match=r"column 'city': 1 row with a label .* row 2"):
        read("city", ["Rome", None])


@pytest.mark.parametrize(
    ("cell", "low", "high"),
    [("5", 5, 5), ("[1, 9]", 1, 9), ("[-1.5, +2]", -1.5, 2), ("[1e1, 20.]", 10, 20), (" 5", 5, 5)],
)
def test_intervals_of_others(cell: str, low: float, high: float) -> None:
    found = read("age", [cell])
    assert isinstance(found, Ranges)
    assert (found.low.tolist(), found.high.tolist(), found.state.tolist()) == (
        [low],
        [high],
        [SHOWN],
    )


WRONG_INTERVALS = (
    *("[1, 9", "1, 9]", "(1, 9)", "[1, 9)", "[1; 9]", "[1,9]", "1-9", "[1, 5, 9]", "[, ]", "[]"),
    *("[1, ]", "[1]", "[a, b]", "**", ">5", "[1, inf]", "[", "]", "x", "[*, *]"),
    *("[9, 1]", "[5, -5]"),  # ends before it begins: it would lose less than nothing
)


@pytest.mark.parametrize("cell", WRONG_INTERVALS)
def test_intervals_that_nothing_explains(cell: str) -> None:
    with pytest.raises(TableError, match=r"column 'age': \d+ row"):
        read("age", ["5", cell])


def test_the_dates_of_others() -> None:
    found = read("born", ["[2024-05-01, 2024-05-31]", "2024-05-31", "*", None])
    assert isinstance(found, Ranges)
    assert sorted(found.state.tolist()) == [SHOWN, SHOWN, MISSING, HIDDEN]
    for cell in ("[2024-05-31]", "2024-05", "[2024-05-01; 2024-05-31]", "[2024-02-30, 2024-05-31]"):
        with pytest.raises(TableError, match="column 'born': 1 row"):
            read("born", [cell])


def read_ends(low: Sequence[Any], high: Sequence[Any]) -> Shown:
    columns = {"age_low": low, "age_high": high}
    return read("age", pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int64)))


def test_pairs_of_ends_of_others() -> None:
    found = read_ends([1, 5, None], [9, 5, None])
    assert isinstance(found, Ranges)
    pairs = zip(found.low.tolist(), found.high.tolist(), found.state.tolist(), strict=True)
    assert sorted((low, high) for low, high, state in pairs if state == SHOWN) == [(1, 9), (5, 5)]
    assert sorted(found.state.tolist()) == [SHOWN, SHOWN, HIDDEN]


@pytest.mark.parametrize(("low", "high"), [(1, None), (None, 9), (9, 1)])
def test_half_a_pair_of_ends_is_refused(low: int | None, high: int | None) -> None:
    """Its loss would not be a number."""
    with pytest.raises(TableError, match="'age"):
        read_ends([1, low], [9, high])


def test_columns_that_are_not_there() -> None:
    for other in ("x", "age_low"):
        with pytest.raises(TableError, match="quasi-identifier 'age' is not in the released table"):
            read("age", pl.DataFrame({other: [1]}))
    with pytest.raises(TableError, match="column 'city' is categorical"):
        read("city", pl.DataFrame({"city_low": [1], "city_high": [1]}))


SIGNS = ("[", "]", "{", "}", ", ", "; ", '"', "*", "5", "-", "2024-05-31", "Rome", "Zoe", "\n", " ")


def refusal(name: str, cell: str) -> str:
    try:
        read(name, [cell])
    except UsageError as error:
        return str(error)
    return ""


@given(st.one_of(st.text(max_size=12), st.lists(st.sampled_from(SIGNS), max_size=9).map("".join)))
@examples(200)
def test_any_text_is_read_or_refused_in_words(cell: str) -> None:
    for name in ("age", "city", "born"):
        assert "Zoe" not in refusal(name, cell)
