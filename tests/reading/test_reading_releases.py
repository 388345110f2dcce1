"""A release read by its recipient: what its cells allow, beside the people who are behind them."""

import csv
import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey.demo import people as invented
from covey.encoding.groups import Groups
from covey.errors import TableError, UsageError
from covey.generalisation import Style, generalise
from covey.measures.rubin import combine
from covey.reading import ReleasedTable, read_release
from covey.reading.guess import column_of
from covey.schema import ColumnType
from covey.tables import Table
from examples import examples
from tables_of_people import EPOCH, People, labels_for, people

STYLES = (Style(), Style(categories="values"), Style(intervals="columns"))


def released(table: People, labels: list[int], style: Style) -> tuple[ReleasedTable, list[int]]:
    """A release of these groups, and the row behind each of its rows."""
    rows = [row for row, label in enumerate(labels) if label >= 0]
    some, kept = table.take(rows), Groups(np.array([labels[row] for row in rows]))
    return ReleasedTable(generalise(some.table, some.encoded(), kept, style), table.schema), rows


def value_of(table: People, name: str, row: int) -> Any:
    """The original value: a number, a date or a label."""
    value = table.oracle[name].values[row]
    if value is None or table.schema.columns[name].type is not ColumnType.DATE:
        return value
    return EPOCH + datetime.timedelta(days=int(value))


@given(people(), st.sampled_from(STYLES), st.data())
@examples(300)
def test_ends_lie_around_the_values_behind_them(
    table: People, style: Style, data: st.DataObject
) -> None:
    labels = data.draw(labels_for(table.rows))
    reader, rows = released(table, labels, style)
    ends = reader.frame("bounds")
    for place, row in enumerate(rows):
        for name, column in table.schema.quasi.items():
            value = value_of(table, name, row)
            if column.type is ColumnType.CATEGORICAL or value is None:
                continue
            low, high = ends[f"{name}_low"][place], ends[f"{name}_high"][place]
            assert low is None or low <= value
            assert high is None or value <= high


@given(people(), st.sampled_from(STYLES), st.data())
@examples(300)
def test_counts_are_true_for_the_people_behind_a_release(
    table: People, style: Style, data: st.DataObject
) -> None:
    labels = data.draw(labels_for(table.rows))
    reader, rows = released(table, labels, style)
    conditions: dict[str, Any] = {}
    for name, column in table.schema.quasi.items():
        pool = [value_of(table, name, row) for row in range(table.rows)]
        known = [value for value in pool if value is not None]
        if column.type is ColumnType.CATEGORICAL:
            conditions[name] = data.draw(st.sets(st.sampled_from([*pool, "nowhere"])))
        elif known:
            ends = data.draw(st.tuples(st.sampled_from(known), st.sampled_from(known)))
            conditions[name] = (min(ends), max(ends))
    true = sum(
        all(_meets(value_of(table, n, row), wanted) for n, wanted in conditions.items())
        for row in rows
    )
    found = reader.count(**conditions)
    assert found.surely <= true <= found.possibly
    assert found.surely - 1e-6 <= found.expected <= found.possibly + 1e-6


def _meets(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, set):
        return value in wanted
    return value is not None and bool(wanted[0] <= value <= wanted[1])


@given(people(), st.sampled_from(STYLES), st.integers(0, 3), st.data())
@examples(200)
def test_drawn_values_are_allowed_and_depend_on_the_cells_and_the_seed_alone(
    table: People, style: Style, seed: int, data: st.DataObject
) -> None:
    labels = data.draw(labels_for(table.rows))
    reader, _ = released(table, labels, style)
    again = ReleasedTable(Table(reader.frame("text").clone()), table.schema)
    for drawn, same in zip(reader.draw(2, seed), again.draw(2, seed), strict=True):
        assert drawn.equals(same)
        assert drawn.columns == reader.frame("middle").columns
        for name, column in table.schema.quasi.items():
            if column.type is ColumnType.CATEGORICAL:
                _assert_labels_fit(reader.frame("text")[name], drawn[name], table.oracle[name])
            else:
                _assert_numbers_fit(reader.frame("bounds"), drawn[name])


def _assert_numbers_fit(ends: pl.DataFrame, drawn: pl.Series) -> None:
    low, high = (ends[f"{drawn.name}_{end}"] for end in ("low", "high"))
    assert ((low <= drawn) & (drawn <= high)).fill_null(value=True).all()
    assert drawn.filter(low.is_not_null()).null_count() == 0


def _assert_labels_fit(cells: pl.Series, drawn: pl.Series, column: Any) -> None:
    shown = {label for cell in cells.drop_nulls() for label in (cell, *members(cell))}
    for cell, label in zip(cells, drawn, strict=True):
        if cell is None or label is None:
            assert cell is None or set(cell) == {"*"} or cell in column.parent.values()
        elif label not in (cell, *members(cell)):
            above = {label}
            while label in column.parent:
                label = column.parent[label]
                above.add(label)
            assert cell in above if column.parent else label in shown and not cell.strip("*")


def members(cell: str) -> list[str]:
    """The labels of a set, by the rules of CSV."""
    if not (cell.startswith("{") and cell.endswith("}")):
        return []
    return next(csv.reader([cell[1:-1]], skipinitialspace=True), [])


# ── by hand ─────────────────────────────────────────────────────────────────────────────────────

CELLS = pl.DataFrame(
    {
        "age": ["[30, 39]", "70 and more", "20 and less", "35", "*"],
        "born": ["[1990-01-01, 1990-12-31]", "1980-05-06", "*", "1980-05-06", "1980-05-06"],
        "zip": ["101**", "10155", "*", "10155", "20000"],
        "job": ["{Baker, Cook}", "Baker", "Baker", "*", "Cook"],
        "note": ["1,5", "2", "", "x", "y"],
    }
)


def test_a_release_without_a_description_is_read_by_its_cells(tmp_path: Path) -> None:
    CELLS.write_csv(tmp_path / "released.csv")
    reader = read_release(tmp_path / "released.csv")
    assert any("no description" in doubt for doubt in reader.doubts)
    ends = reader.frame("bounds")
    assert ends["age_low"].to_list() == [30, 70, None, 35, None]
    assert ends["age_high"].to_list() == [39, None, 20, 35, None]
    day = datetime.date
    assert ends["born_high"].to_list()[:2] == [day(1990, 12, 31), day(1980, 5, 6)]
    middle = reader.frame()
    assert middle["age"].to_list() == [34.5, 70.0, 20.0, 35.0, None]
    assert middle["job"].to_list() == ["Baker", "Baker", "Baker", "Baker", "Cook"]
    assert middle["zip"][0] == "10155"
    assert reader.frame("text").equals(reader.table.frame)


def test_the_likely_label_is_the_one_that_most_rows_show_exactly() -> None:
    cells = pl.DataFrame({"x": ["{A, B}"] * 3 + ["B"] * 2})
    assert read_release(cells).frame()["x"].to_list() == ["B"] * 5


def test_numbers_that_begin_with_a_zero_are_codes() -> None:
    reader = read_release(pl.DataFrame({"x": ["[1, 2]", "3"], "code": ["007", "010"]}))
    assert reader.frame()["code"].to_list() == ["007", "010"]


@pytest.mark.parametrize(
    ("cells", "settings"),
    [
        (["a", "*"], {"type": "categorical"}),
        (["10*", "***"], {"type": "categorical", "taxonomy": {"build": "prefixes"}}),
        (["10*", "{a, b}"], {"type": "categorical"}),
        (["9 and less", "7 and less", "90 and more"], {"type": "numeric", "bottom": 7, "top": 90}),
        (["1970-01-01 and earlier", "1980-01-01 and earlier", "1999-12-31 and later"],
         {"type": "date", "bottom": "1970-01-01", "top": "1999-12-31"}),
        (["1", "a"], None),
    ],
)  # fmt: skip
def test_a_column_is_known_by_its_cells(cells: list[str], settings: dict[str, Any] | None) -> None:
    expected = {"role": "insensitive"} if settings is None else {"role": "quasi", **settings}
    assert column_of(cells) == expected


def test_rows_are_counted_surely_possibly_and_on_average() -> None:
    reader = read_release(CELLS)
    for conditions, possibly, expected in (
        ({"age": (30, 34)}, 2, 5 / 10 + 5 / 51),
        ({"age": (30, 39), "job": "Cook"}, 3, 1 / 2 + 1 / 3 + 10 / 51),
        ({"zip": "10199"}, 2, 1 / 2 + 1 / 3),
    ):
        found = reader.count(**conditions)
        assert (found.surely, found.possibly) == (0, possibly)
        assert found.expected == pytest.approx(expected)
    assert reader.count(note={"x", "y"}).surely == 2
    assert reader.count(age=(0, 200)).surely == 4  # a star may stand for a missing number
    assert reader.count(born=("1990-01-01", "1990-12-31")).surely == 1


@pytest.mark.parametrize(
    ("wanted", "word"),
    [
        ({"agee": 3}, "'age'"),
        ({"age": "old"}, "number"),
        ({"age": (1, 2, 3)}, "lowest"),
        ({"age": (40, 30)}, "before the highest"),
        ({"born": 1990}, "1990-01-31"),
        ({"job": 3}, "label"),
    ],
)
def test_a_wrong_condition_is_named(wanted: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        read_release(CELLS).count(**wanted)


def test_an_original_is_no_release() -> None:
    with pytest.raises(TableError, match="no cell of this table is generalised"):
        read_release(invented(100))


def test_wrong_numbers_of_draws_and_forms_are_refused() -> None:
    reader = read_release(CELLS)
    with pytest.raises(UsageError, match="at least one"):
        reader.draw(0)
    with pytest.raises(UsageError, match="'middles'"):
        reader.frame("middles")  # type: ignore[arg-type]


def test_decimal_commas_are_read_as_the_release_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "released.csv"
    path.write_text('size;class\n"[1,5; 2,25]";a\n3,5;b\n', encoding="utf-8")
    ends = read_release(path).frame("bounds")
    assert ends["size_low"].to_list() == [1.5, 3.5]
    assert ends["size_high"].to_list() == [2.25, 3.5]


def test_pandas_is_given_back_with_whole_numbers_and_gaps() -> None:
    pandas = pytest.importorskip("pandas")
    frame = read_release(CELLS.to_pandas()).frame("bounds")
    assert isinstance(frame, pandas.DataFrame)
    assert str(frame["age_low"].dtype) == "Int64"


def test_middles_and_draws_keep_means_where_open_ends_are_closed() -> None:
    frame = invented(2_000)
    release = covey.anonymize(frame, quasi=["age", "sex"], sensitive=["diagnosis"], k=10)
    reader = read_release(release.table, schema=release.schema)
    mean = frame["age"].mean()
    for drawn in (*reader.draw(3), reader.frame()):
        assert drawn["age"].mean() == pytest.approx(mean, abs=1)


# ── Rubin's rules ───────────────────────────────────────────────────────────────────────────────


def test_estimates_are_combined_as_in_a_published_example() -> None:
    # Allison (2001), Missing Data, table 5.2: the coefficient of GRADRAT in five imputed tables.
    found = combine([1, 2, 3], [0.5, 0.7, 0.9])
    assert found.estimate == 2
    assert found.within == pytest.approx(0.7)
    assert found.between == 1
    assert found.variance == pytest.approx(0.7 + 4 / 3)
    assert found.degrees_of_freedom == pytest.approx(2 * (1 + 0.7 * 3 / 4) ** 2)


@pytest.mark.parametrize(
    ("estimates", "variances"),
    [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([1.0, 2.0], [1.0, -1.0]), ([1.0, np.nan], [1.0, 1.0])],
)
def test_what_cannot_be_combined_is_refused(estimates: list[float], variances: list[float]) -> None:
    with pytest.raises(UsageError):
        combine(estimates, variances)
