"""Tail coding: values beyond a bound look the same, and drafted bounds cover k people."""

import datetime
import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey import KAnonymity, Schema, SchemaError, Style, TableError, demo
from covey.cli import main as cli
from covey.encoding import Interval, Ranges, encode
from covey.encoding.groups import Groups
from covey.encoding.intervals import HIDDEN
from covey.generalisation import generalise
from covey.inspection import tails
from covey.schema import Column
from covey.tables import Table
from covey.tables.csv_files import Dialect
from examples import examples
from tables_of_people import days, labels_for

TEXT, ENDS = Style(), Style(intervals="columns")
POINT, COMMA = Dialect(), Dialect(delimiter=";", decimal=",")
EVERYTHING = (Decimal("-Infinity"), Decimal("Infinity"))


def schema_of(**columns: dict[str, Any]) -> Schema:
    return Schema.of(quasi=columns)


def age(**settings: Any) -> Schema:
    return schema_of(age={"type": "numeric", **settings})


def cells(schema: Schema, groups: Sequence[Sequence[Any]], style: Style = TEXT) -> list[Any]:
    """What each of these groups shows of the only column."""
    (name,) = schema.quasi
    frame = pl.DataFrame({name: [value for group in groups for value in group]}, strict=False)
    labels = [label for label, group in enumerate(groups) for _ in group]
    table = Table(frame)
    released = generalise(table, encode(table, schema), Groups(labels), style).frame
    first = [labels.index(label) for label in range(len(groups))]
    return [row if len(row) > 1 else row[0] for row in released[first].rows()]


# ── the notation ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("settings", "group", "text", "ends"),
    [
        ({"top": 85}, [91, 99], "85 and more", (85, None)),
        ({"top": 85}, [85, 85], "85 and more", (85, None)),  # nobody is beyond: none can tell
        ({"top": 85}, [70, 99], "70 and more", (70, None)),
        ({"top": 85}, [70, 85], "70 and more", (70, None)),
        ({"top": 85}, [70, 84], "[70, 84]", (70, 84)),
        ({"top": 85, "grid": 5}, [71, 84], "70 and more", (70, None)),  # its end is the bound
        ({"top": 85, "grid": 5}, [84, 84], "84", (84, 84)),
        ({"top": 83, "grid": 5}, [71, 81], "70 and more", (70, None)),  # the grid's end is beyond
        ({"bottom": 20}, [3, 17], "20 and less", (None, 20)),
        ({"bottom": 20}, [3, 35], "35 and less", (None, 35)),
        ({"bottom": -5}, [-7, -5], "-5 and less", (None, -5)),
        ({"bottom": 20, "top": 85}, [3, 99], "*", (None, None)),
        ({"bottom": 20, "top": 85}, [20, 85], "*", (None, None)),
        ({"bottom": 20, "top": 85}, [21, 84], "[21, 84]", (21, 84)),
        ({"top": 85}, [99, None], "*", (None, None)),
        ({"top": 85, "missing": "wildcard"}, [99, None], "85 and more", (85, None)),
        ({"top": 1.5, "grid": 0.5}, [0.7, 2.25], "0.5 and more", (0.5, None)),
    ],
)
def test_what_reaches_a_bound_is_open(
    settings: dict[str, Any], group: list[Any], text: str, ends: tuple[Any, Any]
) -> None:
    assert cells(age(**settings), [group]) == [text]
    assert cells(age(**settings), [group], ENDS) == [ends]


@pytest.mark.parametrize(
    ("settings", "group", "text"),
    [
        ({"bottom": datetime.date(1930, 12, 31)}, ["1911-05-01"], "1930-12-31 and earlier"),
        ({"bottom": "1930-12-31"}, ["1911-05-01", "1950-02-03"], "1950-02-03 and earlier"),
        ({"top": "2005-01-01"}, ["2005-01-01", "2019-07-07"], "2005-01-01 and later"),
        (
            {"top": "2005-01-01", "grid": "year"},
            ["1999-03-03", "2019-07-07"],
            "1999-01-01 and later",
        ),
        (
            {"top": "2005-01-01", "grid": "year"},
            ["1999-03-03", "2004-07-07"],
            "[1999-01-01, 2004-12-31]",
        ),
        (
            {"top": "2005-06-15", "grid": "year"},
            ["2005-02-02", "2005-03-03"],
            "2005-01-01 and later",
        ),
        ({"bottom": "1930-12-31", "top": "2005-01-01"}, ["1911-05-01", "2019-07-07"], "*"),
    ],
)
def test_dates_are_open_too(settings: dict[str, Any], group: list[str], text: str) -> None:
    assert cells(schema_of(born={"type": "date", **settings}), [group]) == [text]


def test_a_schema_file_takes_numbers_and_dates(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(
        '[columns.age]\nrole = "quasi"\ntype = "numeric"\nbottom = 20\ntop = 85.5\n'
        '[columns.born]\nrole = "quasi"\ntype = "date"\nbottom = 1930-12-31\ntop = "2005-01-01"\n'
    )
    columns = Schema.from_toml(path).columns
    assert columns["age"].bounds == (20.0, 85.5)
    ends = datetime.date(1930, 12, 31), datetime.date(2005, 1, 1)
    assert columns["born"].bounds == tuple(float(days(end)) for end in ends)


@pytest.mark.parametrize(
    "settings",
    [
        {"type": "numeric", "bottom": 20, "top": 20},
        {"type": "numeric", "bottom": 30, "top": 20},
        {"type": "numeric", "top": "85"},
        {"type": "numeric", "top": True},
        {"type": "numeric", "top": float("nan")},
        {"type": "numeric", "top": float("inf")},
        {"type": "numeric", "top": 2**60},
        {"type": "numeric", "top": datetime.date(2000, 1, 1)},
        {"type": "numeric", "top": 130, "domain": [0, 120]},
        {"type": "numeric", "bottom": -1, "domain": [0, 120]},
        {"type": "date", "top": 2000},
        {"type": "date", "top": "2000-13-01"},
        {"type": "date", "top": datetime.datetime(2000, 1, 1)},
        {"type": "categorical", "top": 85},
    ],
)
def test_bounds_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="age"):
        schema_of(age=settings)


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_a_bound_that_would_not_be_minded_is_refused(role: str) -> None:
    """Its cells are published as they are, though somebody has asked for a bound."""
    column = {"role": role, "type": "numeric", "top": 85}
    with pytest.raises(SchemaError, match=r"income.*quasi"):
        Schema.from_dict({"columns": {"income": column}})


# ── properties ──────────────────────────────────────────────────────────────────────────────────


def meaning(cell: str | None, *, is_date: bool, decimal: str) -> tuple[Decimal, Decimal] | None:
    """From where to where a cell goes, by a reading of the notation that is the test's own."""
    if cell is None or cell == "*":
        return None if cell is None else EVERYTHING

    def value(text: str) -> Decimal:
        if is_date:
            return Decimal(days(datetime.date.fromisoformat(text)))
        return Decimal(text.replace(decimal, "."))

    less, more = ("earlier", "later") if is_date else ("less", "more")
    if cell.startswith("["):
        low, high = cell[1:-1].split(", " if decimal == "." else "; ")
        return value(low), value(high)
    if cell.endswith(f" and {less}"):
        return EVERYTHING[0], value(cell.removesuffix(f" and {less}"))
    if cell.endswith(f" and {more}"):
        return value(cell.removesuffix(f" and {more}")), EVERYTHING[1]
    return value(cell), value(cell)


whole, tenths = st.integers(-60, 60), st.integers(-600, 600).map(lambda n: n / 10)
SOME_DAY = datetime.date(1960, 1, 1)


@st.composite
def coded_columns(draw: st.DrawFn, n: int) -> tuple[list[Any], dict[str, Any], str]:
    """Values with many beyond the bounds, the settings of their column, and the decimal sign."""
    is_date = draw(st.booleans())
    numbers = draw(st.sampled_from([whole, tenths]))
    gaps = draw(st.sampled_from([st.nothing(), st.none()]))
    values: list[Any] = draw(st.lists(numbers | gaps, min_size=n, max_size=n))
    bounds: list[Any] = sorted(draw(st.sets(numbers, min_size=2, max_size=2)))
    column: dict[str, Any] = {
        "type": "date" if is_date else "numeric",
        "missing": draw(st.sampled_from(["category", "wildcard"])),
    }
    if is_date:

        def day(number: float) -> datetime.date:
            return SOME_DAY + datetime.timedelta(days=int(number * 30))

        values = [None if value is None else day(value) for value in values]
        bounds = [day(bound) for bound in bounds]
        grids: list[Any] = [None, "month", "quarter", "year"]
    else:
        grids = [None, 1, 5, 0.3, 7.5]
        if draw(st.booleans()):
            column["domain"] = [-100, 100]
    column["grid"] = draw(st.sampled_from(grids))
    which = draw(st.sampled_from([(True, True), (True, False), (False, True)]))
    if bounds[0] < bounds[1]:
        given_ = zip(("bottom", "top"), bounds, which, strict=True)
        column |= {name: bound for name, bound, is_given in given_ if is_given}
    return values, column, draw(st.sampled_from([".", ","]))


@st.composite
def coded_tables(draw: st.DrawFn) -> tuple[Table, Schema, list[int]]:
    n = draw(st.integers(2, 12))
    values, column, decimal = draw(coded_columns(n))
    written = [
        value if value is None or column["type"] == "date" else str(value).replace(".", decimal)
        for value in values
    ]
    dialect = COMMA if decimal == "," else POINT
    table = Table(pl.DataFrame({"x": written}, strict=False).cast(pl.String), dialect)
    return table, schema_of(x=column), draw(labels_for(n))


def interval_of(table: Table, schema: Schema) -> Interval:
    (interval,) = encode(table, schema).intervals
    return interval


def exact_of(table: Table, schema: Schema) -> list[Decimal | None]:
    """The values as they are, without bounds."""
    plain = {"bottom": None, "top": None}
    column = schema.columns["x"].model_copy(update=plain)
    values = interval_of(table, Schema(columns={"x": column})).values
    return [None if np.isnan(value) else Decimal(repr(float(value))) for value in values]


@examples(150)
@given(coded_tables())
def test_cells_hold_all_values_and_name_none_beyond(case: tuple[Table, Schema, list[int]]) -> None:
    table, schema, labels = case
    encoded = encode(table, schema)
    column = schema.columns["x"]
    bottom, top = map(Decimal, map(repr, column.bounds))
    released = generalise(table, encoded, Groups(labels), TEXT).frame["x"].to_list()
    own = [v for v, label in zip(exact_of(table, schema), labels, strict=True) if label >= 0]
    is_date = column.type == "date"
    for value, cell in zip(own, released, strict=True):
        ends = meaning(cell, is_date=is_date, decimal=table.dialect.decimal)
        if value is None:
            assert cell is None or cell == "*" or column.missing == "wildcard"
            continue
        assert ends is not None
        assert ends[0] <= value <= ends[1]
        named = [end for end in ends if end.is_finite()]
        assert all(bottom <= end <= top for end in named)
        # Whether somebody is beyond a bound, a cell does not tell.
        assert ends[0] > bottom or ends[0] == EVERYTHING[0]
        assert ends[1] < top or ends[1] == EVERYTHING[1]


def read_rows(interval: Interval, released: Table) -> Ranges:
    cells = [released.cells(n) for n in released.frame.columns]
    read = interval.parse(cells, released.dialect)
    assert isinstance(read, Ranges)
    return read


@examples(100)
@given(coded_tables(), st.sampled_from([TEXT, ENDS]))
def test_cells_are_read_as_they_were_written(
    case: tuple[Table, Schema, list[int]], style: Style
) -> None:
    table, schema, labels = case
    encoded, groups = encode(table, schema), Groups(labels)
    (interval,) = encoded.intervals
    released = generalise(table, encoded, groups, style)
    read = read_rows(interval, released)
    made = interval.fold(groups)
    assert isinstance(made, Ranges)
    shown = groups.place[groups.place >= 0]
    state = made.state[shown]
    if style is ENDS:  # a pair of nulls is both
        state = np.where(np.isnan(made.low[shown]), HIDDEN, state)
    assert np.array_equal(read.low, made.low[shown], equal_nan=True)
    assert np.array_equal(read.high, made.high[shown], equal_nan=True)
    assert np.array_equal(read.state, state)


@examples(100)
@given(coded_tables(), st.integers(1, 50))
def test_no_stage_knows_how_far_beyond_a_bound_somebody_is(
    case: tuple[Table, Schema, list[int]], further: int
) -> None:
    table, schema, _ = case
    interval = interval_of(table, schema)
    bottom, top = interval.column.bounds
    plain = [None if v is None else float(v) for v in exact_of(table, schema)]
    room = further if interval.is_date or interval.column.domain is None else 0.01
    moved = [
        v if v is None or bottom < v < top else v + room if v >= top else v - room for v in plain
    ]
    if interval.is_date:
        frame = pl.DataFrame({"x": moved}, {"x": pl.Float64}).cast(pl.Int32).cast(pl.Date)
    else:
        frame = pl.DataFrame({"x": moved}, {"x": pl.Float64})
    other = interval_of(Table(frame), schema)
    assert np.array_equal(other.values, interval.values, equal_nan=True)
    assert (other.low, other.high) == (interval.low, interval.high)


CANARY = 987_654


@pytest.mark.slow
@examples(8)
@given(st.data())
def test_releases_and_reports_keep_tails_to_themselves(data: st.DataObject) -> None:
    """k holds, and nothing that is written names a tail."""
    n, k = data.draw(st.integers(6, 16)), data.draw(st.integers(2, 3))
    inner = data.draw(st.lists(st.integers(-40, 99), min_size=n, max_size=n))
    born = data.draw(st.lists(st.dates(datetime.date(1900, 1, 1)), min_size=n, max_size=n))
    frame = pl.DataFrame({"age": [CANARY, -CANARY, *inner[2:]], "born": born, "id": range(n)})
    schema = Schema.of(
        quasi={
            "age": {
                "type": "numeric",
                "bottom": data.draw(st.integers(-30, 10)),
                "top": data.draw(st.integers(30, 90)),
                "grid": data.draw(st.sampled_from([None, 5])),
            },
            "born": {"type": "date", "bottom": "1930-12-31", "top": "2020-01-01", "grid": "year"},
        },
        identifier=["id"],
    )
    style = data.draw(st.sampled_from([TEXT, ENDS]))
    release = covey.anonymize(frame, schema, require=KAnonymity(k), style=style, effort="fast")
    assert release.verdict.k >= k
    written = release.table.write_csv() + json.dumps(release.report.to_dict(), default=str)
    written += release.report.to_html()
    assert str(CANARY) not in written
    low, high = schema.columns["age"].bounds
    for labels in (bin_.label for d in release.report.distributions[:1] for bin_ in d.bins):
        ends = [float(end.replace(",", "")) for end in re.findall(r"-?[0-9][0-9,.]*", labels)]
        assert all(low <= end <= high for end in ends)


@pytest.mark.parametrize(
    ("ending", "style", "dialect"),
    [
        ("csv", TEXT, POINT),
        ("csv", TEXT, COMMA),
        ("csv.gz", ENDS, COMMA),
        ("parquet", TEXT, POINT),
        ("parquet", ENDS, POINT),
    ],
)
def test_files_come_back(tmp_path: Path, ending: str, style: Style, dialect: Dialect) -> None:
    """A cell such as -5,5 and less is no formula, and read for what it says."""
    values = [-40.5, -30, -7.5, -5.5, -1, 0, 2, 3.5, 8, 9.5, 60, 99]
    source, out = tmp_path / "people.csv", tmp_path / f"released.{ending}"
    texts = [str(value).replace(".", dialect.decimal) for value in values]
    sign = dialect.delimiter
    source.write_text(f"x{sign}y\n" + "".join(f"{text}{sign}a\n" for text in texts))
    schema = Schema.of(
        quasi={"x": {"type": "numeric", "bottom": -5.5, "top": 9.5}, "y": "categorical"},
        table={"delimiter": sign, "decimal": dialect.decimal},
    )
    release = covey.anonymize(source, schema, require=KAnonymity(2), style=style)
    release.write(out)
    if ending == "csv" and style is TEXT:
        text = out.read_text()
        assert "'-5.5 and less".replace(".", dialect.decimal) in text
        assert "9.5 and more".replace(".", dialect.decimal) in text
    assert covey.verify(out, schema, KAnonymity(2)).holds
    measured = covey.measure(source, out, schema)
    assert measured.total_il == pytest.approx(release.report.losses.total_il)
    report = covey.report_on(source, out, schema, require=KAnonymity(2))
    assert report.verdict.holds
    assert report.distributions[0].exact == release.report.distributions[0].exact


def test_an_open_end_is_no_missing_cell_to_the_verifier() -> None:
    """With low and high ends in columns, a null beside an end matches open ends alone."""
    frame = pl.DataFrame({"age_low": [85, 85, 85, 85], "age_high": [None, None, 90, 90]})
    verdict = covey.verify(frame, age(top=85), KAnonymity(2))
    assert (verdict.k, verdict.k_wildcard) == (2, 2)


@pytest.mark.parametrize(
    "cell", ["90 and more", "20 and less", "85 and later", "and more", " and more"]
)
def test_open_cells_that_the_schema_does_not_explain_are_refused(cell: str) -> None:
    schema = age() if cell[:2] in ("90", "20") else age(bottom=20, top=85)
    table = Table(pl.DataFrame({"age": ["30", "40"]}))
    (interval,) = encode(table, schema).intervals
    with pytest.raises(TableError, match="age"):
        read_rows(interval, Table(pl.DataFrame({"age": [cell, "30"]})))


def test_somebody_elses_cells_beyond_a_bound_count_as_the_bound() -> None:
    """So people who are beyond it are found in them."""
    schema = age(top=85)
    (interval,) = encode(Table(pl.DataFrame({"age": ["30", "99"]})), schema).intervals
    read = read_rows(interval, Table(pl.DataFrame({"age": ["[80, 99]", "97", "99 and more"]})))
    assert (read.low.tolist(), read.high.tolist()) == ([80, 85, 85], [85, 85, 85])


# ── losses ──────────────────────────────────────────────────────────────────────────────────────


def test_an_open_cell_loses_up_to_the_end_of_the_domain() -> None:
    frame = pl.DataFrame({"age": [60, 70, 90, 99]})

    def lost(**settings: Any) -> float:
        schema = age(top=80, **settings)
        released = frame.with_columns(age=pl.Series(["60", "60", "80 and more", "80 and more"]))
        return covey.measure(frame, released, schema).total_il

    assert lost(domain=[0, 120]) == pytest.approx(2 * 40 / 120)
    assert lost() == 0


def test_methods_see_that_an_open_cell_reaches_to_the_end_of_the_domain() -> None:
    """To put 78 with 80 and more costs what it will be measured to cost."""
    frame = pl.DataFrame({"age": [78, 80, 99]})
    (interval,) = encode(Table(frame), age(top=80, bottom=10, domain=[0, 120])).intervals
    assert interval.scaled.tolist() == [78 / 120, 1, 1]
    (interval,) = encode(Table(frame), age(top=80)).intervals
    assert interval.scaled.tolist() == [0, 1, 1]


def test_an_open_cell_is_not_exact_and_tails_are_no_exact_ends() -> None:
    frame = pl.DataFrame({"age": [20] * 3 + [50, 60, 70] + [85, 91, 99]})
    release = covey.anonymize(frame, age(top=85), require=KAnonymity(3))
    (shown,) = release.report.distributions
    assert sorted(set(release.table["age"])) == ["20", "85 and more", "[50, 70]"]
    assert shown.exact == pytest.approx(1 / 3)
    assert any("age" in warning and "grid" in warning for warning in release.report.warnings)
    coded = covey.anonymize(frame[[0, 1, 2, 6, 7, 8]], age(top=85), require=KAnonymity(3))
    assert not any("grid" in warning for warning in coded.report.warnings)


# ── drafts ──────────────────────────────────────────────────────────────────────────────────────


def proposed(
    values: Sequence[Any], k: int = 10, persons: Sequence[Any] | None = None
) -> dict[str, Any]:
    series = pl.Series(values)
    is_date = series.dtype == pl.Date
    owners = None if persons is None else pl.Series(persons)
    found = tails.propose(
        series.cast(pl.Int32) if is_date else series, k, is_date=is_date, persons=owners
    )
    return {name: setting.value for name, setting in found.items()}


def spread(low: int, high: int, rows: int) -> list[int]:
    return [low + (high - low) * place // (rows - 1) for place in range(rows)]


@pytest.mark.parametrize(
    ("values", "grid"),
    [
        (spread(17, 90, 5000), 5),  # ages
        ([0.5, 0.75, *spread(1, 80, 700)], 5),  # ages, babies by months
        (spread(1950, 2010, 5000), 5),  # years
        (spread(1, 16, 5000), 2),  # years of school
        ([1000 * n for n in spread(5, 90, 5000)], 5000),  # incomes in thousands
        (spread(0, 100_000, 5000), 2000),
        ([n / 100 for n in spread(100, 20_000, 5000)], 5),  # prices
        ([n / 1e6 for n in spread(48_100_000, 48_200_000, 5000)], 0.002),  # degrees
        (spread(0, 100_000, 100), 10_000),  # no more steps than groups
        (spread(0, 100_000, 9), 20_000),
        ([*spread(20, 60, 5000), 10**9], 5),  # an outlier does not decide
    ],
)
def test_grids_of_numbers_are_sensible(values: list[Any], grid: float) -> None:
    assert proposed(values)["grid"] == grid


@pytest.mark.parametrize(
    ("last", "grid"),
    [("2024-12-31", "month"), ("2034-01-01", "quarter"), ("2064-01-01", "year")],
)
def test_grids_of_dates_are_sensible(last: str, grid: str) -> None:
    first, end = days(datetime.date(2024, 1, 1)), days(datetime.date.fromisoformat(last))
    values = pl.Series(spread(first, end, 2000)).cast(pl.Int32).cast(pl.Date)
    assert proposed(values.to_list())["grid"] == grid


def test_bounds_stand_where_k_rows_are_at_or_beyond() -> None:
    bulk = spread(30, 59, 600)
    assert proposed(bulk) == {"grid": 5}  # the outermost steps hold k: there is nothing to hide
    assert proposed([*bulk, *[84] * 6, *[90] * 6, 97]) == {"grid": 5, "top": 80}
    assert proposed([*bulk, *[84] * 6, *[90] * 6, 97], k=7) == {"grid": 5, "top": 90}
    assert proposed([*bulk, *[90] * 10]) == {"grid": 5}  # they are k at the extreme themselves
    assert proposed([*bulk, *[3] * 9]) == {"grid": 5, "bottom": 30}
    assert proposed([*bulk, *[-3] * 12, -80]) == {"grid": 5, "bottom": 0}


def test_bounds_of_dates_are_days_of_units() -> None:
    def day(year: int) -> datetime.date:
        return datetime.date(year, 6, 15)

    bulk = [day(year) for year in range(1950, 2000) for _ in range(20)]
    found = proposed([*bulk, day(1911), *[day(1921)] * 9, *[day(2020)] * 9, day(2020)])
    assert found == {"grid": "year", "bottom": datetime.date(1921, 12, 31)}
    found = proposed([*bulk, *[day(2019)] * 2, *[day(2020)] * 9])
    assert found == {"grid": "year", "top": datetime.date(2019, 1, 1)}


def test_bounds_never_meet() -> None:
    """Nearly everybody has one value: the others are hidden in *, whichever side they are on."""
    found = proposed([*[42] * 100, 12, 13, 70, 80])
    assert found == {"grid": 2, "bottom": 42, "top": 44}
    shown = cells(age(**found), [[42, 42], [13, 42, 70], [70, 80]])
    assert shown == ["42 and less", "*", "44 and more"]
    day = datetime.date(2024, 5, 6)
    dated = [*[day] * 100, *[day - datetime.timedelta(800 * n) for n in (-2, -1, 1, 2)]]
    assert proposed(dated) == {
        "grid": "week", "bottom": datetime.date(2024, 5, 12), "top": datetime.date(2024, 5, 13)
    }  # fmt: skip


def test_people_are_counted_where_it_is_known_who_is_who() -> None:
    values = [*spread(30, 59, 600), *[90] * 10]
    persons: list[int | None] = [*range(600), *[600] * 10]
    assert "top" not in proposed(values)
    assert proposed(values, persons=persons)["top"] == 55
    persons[-10:] = [None] * 10  # nobody
    assert proposed(values, persons=persons)["top"] == 55


@examples(150)
@given(
    st.lists(st.integers(-200, 200) | st.integers(-(2**54), 2**54), min_size=1, max_size=80),
    st.integers(2, 12),
    st.sampled_from([1, 0.1, 0.01]),
)
def test_drafts_tell_of_nobody_alone(numbers: list[int], k: int, scale: float) -> None:
    """Bounds are on the grid with k rows at or beyond, unless one only follows the other."""
    values = np.array(numbers) * scale
    found = proposed(values.tolist(), k)
    if not found:
        assert np.abs(values).max() > 2**52
        return
    bottom, top = found.get("bottom", -np.inf), found.get("top", np.inf)
    Column.model_validate({"role": "quasi", "type": "numeric", **found})
    step = Decimal(str(found["grid"]))
    ends = [Decimal(str(end)) for end in (bottom, top) if np.isfinite(end)]
    assert all(end % step == 0 for end in ends)
    if np.isfinite(bottom):
        assert np.count_nonzero(values <= bottom) >= k
    if np.isfinite(top) and Decimal(str(top)) != Decimal(str(bottom)) + step:
        assert np.count_nonzero(values >= top) >= k
    if len(values) >= k:  # whoever is not beyond a bound has k rows in the outermost step
        width = float(step) * (1 + 1e-9)
        assert np.isfinite(top) or np.count_nonzero(values >= values.max() - width) >= k
        assert np.isfinite(bottom) or np.count_nonzero(values <= values.min() + width) >= k


def test_drafts_are_active_lines_with_reasons() -> None:
    ages = [*spread(30, 59, 600), 97, 98]
    born = [datetime.date(2023 - age, 5, 6) for age in ages]
    draft = covey.inspect(pl.DataFrame({"age": ages, "born": born}), quasi=["born"], k=5)
    text = draft.to_toml()
    assert re.search(r"^grid = 5 +# .+", text, re.M)
    reached = sum(age >= 55 for age in ages)
    assert re.search(rf"^top = 55 +# {reached} rows .*fewer than 5", text, re.M)
    assert re.search(r'^grid = "year" +# .+', text, re.M)
    assert re.search(r"^bottom = 1965-12-31 +# [0-9]+ rows .*fewer than 5", text, re.M)
    assert not re.search("9[78]|192[56]", text)
    assert draft.schema.columns["age"].bounds == (-np.inf, 55)


@pytest.mark.parametrize("k", [1, 0, -3])
def test_drafts_need_a_k(k: int) -> None:
    with pytest.raises(covey.CoveyError, match="k"):
        covey.inspect(pl.DataFrame({"age": [1, 2, 3]}), k=k)


def test_the_command_drafts_for_a_k(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A draft is used as it stands; for a larger k, the bound lies further in."""
    people = tmp_path / "people.csv"
    ages = [*spread(30, 59, 600), *[84] * 6, *[90] * 6, 97]
    people.write_text("age,sex\n" + "".join(f"{age},f\n{age},m\n" for age in ages))
    for k, top in ((14, 90), (15, 80)):
        draft, out = tmp_path / "draft.toml", tmp_path / "out.csv"
        assert cli.run(["inspect", str(people), "-k", str(k), "-o", str(draft), "--force"]) == 0
        assert f"top = {top} #" in draft.read_text()
        made = ["anonymize", str(people), "-s", str(draft), "-k", str(k), "-o", str(out)]
        assert cli.run([*made, "--effort", "fast"]) == 0
        assert re.search("[0-9]+ and more", out.read_text())
    assert cli.run(["inspect", str(people), "-k", "1"]) != 0
    capfd.readouterr()


# ── the attack ──────────────────────────────────────────────────────────────────────────────────

K = 5


def rare_ends(frame: pl.DataFrame, schema: Schema, k: int = K) -> dict[str, set[str]]:
    """By column, the ends of released intervals that are values of fewer than k people.

    What stands on a declared grid, or is a declared bound, is nobody's: it would be there anyway.
    """
    release = covey.anonymize(frame, schema, require=KAnonymity(k), effort="fast")
    found = {}
    for name, column in schema.quasi.items():
        if not column.is_ordered:
            continue
        named = {
            end for cell in release.table[name] for end in re.findall(r"-?[0-9][0-9.-]*", cell)
        }
        held = frame[name].cast(pl.String).value_counts()
        rare = set(held.filter(pl.col("count") < k)[name])
        found[name] = {end for end in named & rare if not is_declared(end, column)}
    return found


def is_declared(end: str, column: Column) -> bool:
    if end in (str(column.bottom), str(column.top)):
        return True
    if column.grid is None:
        return False
    if not isinstance(column.grid, str):
        return Decimal(end) % Decimal(str(column.grid)) == 0
    day = datetime.date.fromisoformat(end)
    after = day + datetime.timedelta(days=1)
    months = {"month": 1, "quarter": 3, "year": 12}[column.grid]
    return any(d.day == 1 and (d.month - 1) % months == 0 for d in (day, after))


def people() -> pl.DataFrame:
    """Invented ones, and two who are far older than all others."""
    frame = demo.people(600).select("birth_date", "age", "sex", "admission_date")
    old = frame[:2].with_columns(age=pl.lit(131, pl.Int64), birth_date=datetime.date(1892, 3, 4))
    return pl.concat([frame, old.cast(frame.schema)])


def test_ends_of_intervals_are_nobodys_by_the_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = people()
    drafted = covey.inspect(frame, quasi=["birth_date"], k=K).schema
    assert rare_ends(frame, drafted) == {"age": set(), "birth_date": set(), "admission_date": set()}
    # Without what is drafted, as before, and as Schema.of has it: many ends are somebody's.
    monkeypatch.setattr(tails, "propose", lambda *_, **__: {})
    exact = rare_ends(frame, covey.inspect(frame, quasi=["birth_date"], k=K).schema)
    assert "131" in exact["age"]
    assert len(exact["birth_date"]) > 20


def oldest_told(frame: pl.DataFrame, schema: Schema) -> int:
    """How many people are as old as the highest age that the release tells to be there."""
    release = covey.anonymize(frame, schema, require=KAnonymity(K), effort="fast")
    ends = [
        re.fullmatch(r"\[.*, ([0-9]+)\]|([0-9]+)( and more)?", cell)
        for cell in release.table["age"]
    ]
    highest = max(int(end[1] or end[2]) for end in ends if end)
    return int((frame["age"] > highest - 5).sum())


def test_few_people_at_the_end_of_the_scale_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid alone shows [95, 135] where somebody is 131: that two people are so old."""
    frame = people()
    assert oldest_told(frame, covey.inspect(frame, k=K).schema) >= K
    bounds: Callable[..., dict[str, tails.DraftedSetting]] = lambda *_: {}  # noqa: E731
    monkeypatch.setattr(tails, "_bounds", bounds)
    assert oldest_told(frame, covey.inspect(frame, k=K).schema) < K
