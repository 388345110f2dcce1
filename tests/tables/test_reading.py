"""Reading what people have: exports with titles and comments, odd numbers, timestamps, mistakes."""

import datetime
from typing import Any

import polars as pl
import pytest

import covey
from covey import tables
from covey.errors import SchemaError, TableError
from covey.schema import Schema, TableFormat
from covey.tables import Table
from covey.tables.cells import as_days, parse_dates, parse_numbers


def parsed(text: str | bytes, schema: Schema | None = None, **declared: Any) -> Table:
    data = text.encode() if isinstance(text, str) else text
    return tables.from_bytes(data, schema, TableFormat.model_validate(declared))


def of(**quasi: Any) -> Schema:
    return Schema.of(quasi=quasi)


# ── layouts ─────────────────────────────────────────────────────────────────────────────────────

ROWS = "name;age\nAda;36\nBo;41\nCy;29\n"


@pytest.mark.parametrize(
    ("before", "lines"),
    [
        ("", 0),
        ("# made by a program;\n", 1),
        ("# a;b;c\n# d\n", 2),
        ("Patients of ward 7\n\n", 2),
        ("Patients;\n;\n", 2),
        ("sep=;\n", 1),
        ("\n\n\n", 3),
    ],
)
def test_titles_comments_and_blank_lines_before_a_header_are_skipped(
    before: str, lines: int
) -> None:
    table = parsed(before + ROWS)
    assert table.frame.columns == ["name", "age"]
    assert table.frame["age"].to_list() == ["36", "41", "29"]
    assert table.dialect.skip == lines
    assert ("before the header" in table.notes[0]) == (lines > 0)
    assert table.line_of is not None
    assert table.line_of(0) == lines + 2


def test_a_faulty_line_is_named_as_the_editor_counts_it() -> None:
    with pytest.raises(TableError, match="line 6"):
        parsed("A title\n\nname;age;sex\nAda;36;f\nBo;41;m\nCy;29\nDi;7;f\nEd;8;m\n")


def test_lines_before_the_header_can_be_declared() -> None:
    text = "one;title\n" + ROWS
    assert parsed(text, skip=1).frame.columns == ["name", "age"]
    assert parsed("name;age\n1;2\n", skip=0).frame.rows() == [("1", "2")]


def test_a_column_without_a_name_is_no_title() -> None:
    with pytest.raises(TableError, match="column 1"):
        parsed(";age\n7;36\n1;41\n2;29\n3;1\n")


def test_names_of_the_schema_end_the_search_for_a_header() -> None:
    """The only named column may be the first."""
    schema = Schema.of(quasi={"a": "numeric"})
    with pytest.raises(TableError, match="without a name"):
        parsed("a;\n1;2\n3;4\n5;6\n7;8\n", schema)


def test_a_space_can_be_the_delimiter() -> None:
    table = parsed("credit age sex\n1 36 2\n2 41 1\n1 29 1\n2 50 2\n")
    assert table.frame.columns == ["credit", "age", "sex"]
    assert "delimiter space" in table.notes[0]
    assert parsed("full name\nAda Byron\nBo Li\nCy Two Three\nDi X\n").frame.width == 1


def test_spaces_after_delimiters_are_no_part_of_cells() -> None:
    table = parsed('age, job, town\n36, "a, b", X\n41,  nurse, Y\n29, , Z\n')
    assert table.frame.columns == ["age", "job", "town"]
    assert table.frame["job"].to_list() == ["a, b", "nurse", ""]
    assert "spaces after the delimiter" in table.notes[0]
    exact = parsed("age,job\n36, a\n41, b\n", delimiter=",")
    assert exact.frame["job"].to_list() == [" a", " b"]
    declared = parsed("age,job\n36, a\n41, b\n", delimiter=", ")
    assert declared.frame["job"].to_list() == ["a", "b"]
    assert parsed("age,job\n36, a\n41,b\n").frame["job"].to_list() == [" a", "b"]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Straße;Größe\nMüller;5 €\nJörg;–\n", "cp1252"),
        ("prénom;ville\nHélène;Besançon\nZoë;L’Île\n", "cp1252"),
        ("año;niño\nMuñoz;¿sí?\nPeña;°\n", "cp1252"),
        ("imię;miasto\nŁukasz;Łódź\nMałgorzata;Wąchock\nZażółć;Kraków\n", "cp1250"),
    ],
)
def test_an_old_encoding_of_windows_is_detected(text: str, encoding: str) -> None:
    table = parsed(text.encode(encoding))
    assert [*table.frame.columns, *table.frame.row(0)] == text.replace("\n", ";").split(";")[:4]
    assert f"encoding {encoding}" in table.notes[0]


@pytest.mark.parametrize(
    ("cells", "thousands", "numbers"),
    [
        (["1,234.5", "999"], ",", [1234.5, 999.0]),
        (["1,234", "789"], ",", [1234.0, 789.0]),
        (["1,234", "56,789"], "", None),  # or three decimals
        (["0,125", "1,250"], "", [0.125, 1.25]),
        (["1.234,5", "999"], ".", [1234.5, 999.0]),
        (["446.426.917", "4.473.586"], ".", [446426917.0, 4473586.0]),
        (["1 234", "12 345,5"], " ", [1234.0, 12345.5]),
        (["1\u202f234,5", "7"], " ", [1234.5, 7.0]),
        (["1'234.50", "2’000"], "'", [1234.5, 2000.0]),
        (["$1,200.50", "€ 3", "12 %", "5 EUR"], ",", [1200.5, 3.0, 12.0, 5.0]),
        (["1.234", "5.678"], "", [1.234, 5.678]),
        (["1.234.567", "2.5"], "", None),  # no reading fits both
        (["12,34,56", "1"], "", None),
    ],
)
def test_thousands_signs_are_detected_where_they_must_be_some(
    cells: list[str], thousands: str, numbers: list[float] | None
) -> None:
    table = parsed("n;m\n" + "".join(f"{cell};x\n" for cell in cells))
    assert table.dialect.thousands == thousands
    assert ("thousands sign" in table.notes[0]) == (thousands != "")
    if numbers is not None:
        assert parse_numbers(table.cells("n"), table.dialect).to_list() == numbers


def test_a_release_of_numbers_with_thousands_can_be_verified(tmp_path: Any) -> None:
    text = "income;job\n" + "".join(f'"{700 + 37 * i:,}";{"ab"[i % 2]}\n' for i in range(40))
    schema = Schema.of(quasi={"income": {"type": "numeric", "grid": 100}}, sensitive=["job"])
    (tmp_path / "t.csv").write_text(text)
    release = covey.anonymize(tmp_path / "t.csv", schema, require=covey.KAnonymity(5), seed=1)
    release.write(tmp_path / "r.csv", register=False)
    assert covey.verify(tmp_path / "r.csv", schema, require=covey.KAnonymity(5)).holds
    assert "," not in pl.read_csv(tmp_path / "r.csv", separator=";")["income"][0].replace(", ", "")


# ── timestamps ──────────────────────────────────────────────────────────────────────────────────

NOON = datetime.datetime(2024, 5, 31, 12, 59, 59)


@pytest.mark.parametrize(
    "cell",
    [
        "2024-05-31T12:59:59",
        "2024-05-31 12:59",
        "2024-05-31T12",
        "2024-05-31T12:59:59.123Z",
        "2024-05-31 12:59:59+02:00",
        "2024-05-31T12:59:59,5 -0530",
    ],
)
def test_a_timestamp_is_cut_to_its_day_or_hour_on_its_own_clock(cell: str) -> None:
    cells = pl.Series("x", [cell, None, "2024-05-31"])
    assert as_days(cells, None).to_list() == [19874, None, 19874]
    assert parse_dates(cells, hours=True).to_list() == [19874 + 12 / 24, None, 19874]


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_a_typed_timestamp_keeps_its_local_day(zone: str | None, unit: Any) -> None:
    cells = pl.Series("x", [NOON, None]).cast(pl.Datetime(unit)).dt.replace_time_zone(zone)
    assert as_days(cells, None).to_list() == [19874, None]
    assert as_days(cells, None, hours=True).to_list() == [19874 + 12 / 24, None]


def timed(grid: str | None, tmp_path: Any) -> tuple[pl.DataFrame, covey.Release]:
    first = datetime.datetime(2024, 5, 1, 0, 17)
    stamps = [first + datetime.timedelta(hours=7 * i) for i in range(120)]
    frame = pl.DataFrame({"at": stamps, "ill": ["flu", "gout"] * 60})
    settings = {"type": "date", **({"grid": grid} if grid else {})}
    schema = Schema.of(quasi={"at": settings}, sensitive=["ill"])
    release = covey.anonymize(frame, schema, require=covey.KAnonymity(6), seed=3)
    release.write(tmp_path / "r.csv", register=False)
    assert covey.verify(tmp_path / "r.csv", schema, require=covey.KAnonymity(6)).holds
    covey.measure(frame, tmp_path / "r.csv", schema)  # what is written can be read again
    return release.table, release


@pytest.mark.parametrize(
    ("grid", "pattern"),
    [
        (None, r"^\[2024-\d\d-\d\d, 2024-\d\d-\d\d\]$"),
        ("hour", r"^\[2024-\d\d-\d\dT\d\d, 2024-\d\d-\d\dT\d\d\]$"),
        ("day", r"^\[2024-\d\d-\d\d, 2024-\d\d-\d\d\]$"),
        ("week", r"^\[2024-\d\d-\d\d, 2024-\d\d-\d\d\]$"),
    ],
)
def test_timestamps_are_released_on_their_grid(
    grid: str | None, pattern: str, tmp_path: Any
) -> None:
    table, release = timed(grid, tmp_path)
    assert table["at"].str.contains(pattern).all()
    kept = "hour" if grid == "hour" else "day"
    assert any(f"cut to the {kept}" in warning for warning in release.report.warnings)
    if grid == "week":
        ends = table["at"].str.extract_groups(r"\[(.*), (.*)\]").struct.unnest()
        assert set(ends["1"].str.to_date().dt.weekday()) == {1}
        assert set(ends["2"].str.to_date().dt.weekday()) == {7}


def test_hours_may_be_written_as_two_columns(tmp_path: Any) -> None:
    stamps = [datetime.datetime(2024, 5, 1, hour) for hour in range(24)]
    schema = Schema.of(quasi={"at": {"type": "date", "grid": "hour"}})
    style = covey.Style(intervals="columns")
    release = covey.anonymize(
        pl.DataFrame({"at": stamps}), schema, require=covey.KAnonymity(4), seed=0, style=style
    )
    assert release.table["at_low"].dtype == pl.Datetime
    assert set(release.table["at_low"]) <= set(stamps)


def test_a_pandas_timestamp_with_a_zone_is_a_date() -> None:
    pd = pytest.importorskip("pandas")
    stamps = pd.date_range("2024-05-01 22:00", periods=40, freq="9h", tz="Europe/Paris")
    schema = Schema.of(quasi={"at": {"type": "date", "grid": "month"}})
    release = covey.anonymize(
        pd.DataFrame({"at": stamps}), schema, require=covey.KAnonymity(5), seed=0
    )
    assert set(release.table["at"]) == {"[2024-05-01, 2024-05-31]"}


# ── mending ─────────────────────────────────────────────────────────────────────────────────────


def test_values_that_mean_missing_are_missing() -> None:
    schema = of(
        age={"type": "numeric", "missing_values": [999, -1]},
        born={"type": "date", "missing_values": [datetime.date(1900, 1, 1)]},
        town={"type": "categorical", "missing_values": ["unknown"]},
    )
    frame = pl.DataFrame(
        {
            "age": ["36", "999.0", "-1", "41"],
            "born": ["1980-01-31", "1900-01-01", "1900-01-01T00:00", None],
            "town": ["Bonn", "unknown ", "Unknown", "Ulm"],
        }
    )
    table = tables.original(frame, schema)
    assert table.frame["age"].to_list() == ["36", None, None, "41"]
    assert table.frame["born"].to_list() == ["1980-01-31", None, None, None]
    assert table.frame["town"].to_list() == ["Bonn", None, "Unknown", "Ulm"]
    assert {m.column: m.rows.sum() for m in table.mended} == {"age": 2, "born": 2, "town": 1}


def test_a_missing_value_is_read_in_the_format_of_its_column() -> None:
    schema = of(born={"type": "date", "format": "%d.%m.%Y", "missing_values": ["01.01.1900"]})
    other = of(born={"type": "date", "format": "%d.%m.%Y", "missing_values": ["1900-01-01"]})
    for each in (schema, other):
        frame = pl.DataFrame({"born": ["31.05.1980", "1.1.1900"]})
        assert tables.original(frame, each).frame["born"].to_list() == ["31.05.1980", None]


def test_unreadable_cells_are_refused_by_row_or_declared_missing() -> None:
    lab = {"type": "numeric"}
    text = "lab;sex\n0,5;f\n<0,1;f\n1,5;m\n4O;m\n;m\n"
    with pytest.raises(TableError, match=r"column 'lab': 2 rows .* row 2 \(line 3\)"):
        covey.cluster(parsed(text), of(lab=lab, sex="categorical"), k=2)
    lenient = of(lab={**lab, "unreadable": "missing"}, sex="categorical")
    table = tables.original(parsed(text), lenient)
    assert [m.rows.sum() for m in table.mended] == [2]  # the empty cell was missing already
    assert table.cells("lab").null_count() == 3
    assert "<0,1" not in str(table.mended)


def test_numbers_of_a_dataframe_are_readable_unless_they_are_infinite() -> None:
    schema = of(lab={"type": "numeric", "unreadable": "missing"})
    table = tables.original(pl.DataFrame({"lab": [0.5, float("inf"), None, float("nan")]}), schema)
    assert table.cells("lab").to_list() == [0.5, None, None, None]
    assert [m.rows.sum() for m in table.mended] == [1]


def test_unreadable_dates_can_count_as_missing() -> None:
    schema = of(day={"type": "date", "unreadable": "missing"})
    table = tables.original(pl.DataFrame({"day": ["2024-05-31", "soon", "2024-13-01"]}), schema)
    assert table.frame["day"].to_list() == ["2024-05-31", None, None]


def test_labels_are_recoded_after_they_are_normalised() -> None:
    schema = of(
        sex={
            "type": "categorical",
            "normalise": ["casefold"],
            "recode": {"m": "male", "w": "female"},
        }
    )
    frame = pl.DataFrame({"sex": ["m", "M", "male", "W"]})
    assert tables.original(frame, schema).frame["sex"].to_list() == [
        "male",
        "male",
        "male",
        "female",
    ]


def test_the_report_says_what_was_read_as_missing_without_small_numbers() -> None:
    frame = pl.DataFrame({"age": [*range(20, 60), 999, 999], "ill": ["flu"] * 42})
    schema = Schema.of(
        quasi={"age": {"type": "numeric", "missing_values": [999], "missing": "wildcard"}},
        sensitive=["ill"],
    )
    report = covey.anonymize(frame, schema, require=covey.KAnonymity(5), seed=1).report
    (warning,) = (w for w in report.warnings if "means missing" in w)
    assert "fewer than 5 cells" in warning


def test_a_release_is_never_mended() -> None:
    """It is judged as written, so 999 in a release is 999."""
    schema = of(age={"type": "categorical", "missing_values": ["999"]})
    released = pl.DataFrame({"age": ["999"] * 4})
    assert tables.read(released, schema).cells("age").null_count() == 0


@pytest.mark.parametrize("grid", [None, 10])
def test_a_single_far_value_does_not_hide_the_loss(grid: int | None) -> None:
    """Among a thousand ages, one 999 would make 45 years look like a twentieth of the range."""
    ages = [18 + (i * 37) % 73 for i in range(1000)]
    frame = pl.DataFrame({"age": ages, "sex": ["f", "m"] * 500, "town": ["A", "B", "C", "D"] * 250})
    odd = frame.with_columns(age=pl.Series([999, *ages[1:]]))
    age = {"type": "numeric", "grid": grid}
    quasi: dict[str, Any] = {"age": age, "sex": "categorical", "town": "categorical"}
    schema = Schema.of(quasi=quasi)
    plain, hidden = (covey.anonymize(table, schema, k=40, seed=1).report for table in (frame, odd))
    lost, seen = (
        next(c.il for c in report.losses.columns if c.name == "age") for report in (plain, hidden)
    )
    assert lost > 0.1
    # The group of the one who is far from all others loses everything; the rest lose as before.
    alone = 40 / 1000
    assert seen == pytest.approx(alone + (1 - alone) * lost, rel=0.15)
    assert any("far from all others" in warning for warning in hidden.warnings)
    assert not any("far from all others" in warning for warning in plain.warnings)
    declared = schema.with_settings("age", missing_values=[999])
    mended = covey.anonymize(odd, declared, k=40, seed=1).report
    assert not any("far from all others" in warning for warning in mended.warnings)


def test_a_report_tells_of_cells_that_were_mended_in_one_file_of_several(tmp_path: Any) -> None:
    frame = pl.DataFrame({"age": [18 + i % 50 for i in range(60)]})
    odd = pl.DataFrame({"age": [999] * 9 + [20] * 51})
    for name, part in (("a", frame), ("b", odd)):
        (tmp_path / "in").mkdir(exist_ok=True)
        part.write_csv(tmp_path / "in" / f"{name}.csv")
    schema = Schema.of(quasi={"age": {"type": "numeric", "missing_values": [999]}})
    report = covey.anonymize(str(tmp_path / "in"), schema, k=5, to=tmp_path / "out").report
    assert any("'age': 9 cells" in warning for warning in report.warnings)


# ── what the reading must not weaken ────────────────────────────────────────────────────────────


def test_a_format_with_an_offset_keeps_the_day_on_the_clock() -> None:
    cells = pl.Series("x", ["31.05.2024 00:30 +0200", "31.05.2024 23:30 -0800"])
    assert as_days(cells, "%d.%m.%Y %H:%M %z").to_list() == [19874, 19874]
    assert as_days(cells, "%d.%m.%Y %H:%M %z", hours=True).to_list() == [19874, 19874 + 23 / 24]


def test_lines_before_a_header_are_skipped_in_the_original_only(tmp_path: Any) -> None:
    """In a release, they would be rows that nobody judges."""
    schema = Schema.of(
        quasi={"age": "categorical", "sex": "categorical"},
        table={"header": False, "skip": 2, "names": ["age", "sex"]},
    )
    released = tmp_path / "r.csv"
    released.write_text("age,sex\n99,x\n" + "30,m\n" * 6)
    assert not covey.verify(released, schema, k=5).holds
    titled = "A title;\nof two lines;\nage;sex\n" + "30;m\n40;f\n" * 6
    (tmp_path / "t.csv").write_text(titled)
    draft = Schema.of(quasi={"age": "numeric", "sex": "categorical"}, table={"skip": 2})
    covey.anonymize(tmp_path / "t.csv", draft, k=4, seed=0).write(released, register=False)
    assert covey.verify(released, draft, k=4).holds
    covey.measure(tmp_path / "t.csv", released, draft)


def test_an_option_of_ones_own_method_never_replaces_a_requirement() -> None:
    def mine(table: Any, k: int, *, seed: int = 0, t: float = 1.0) -> list[int]:
        return [row // k for row in range(table.rows - table.rows % k)] + [0] * (table.rows % k)

    frame = pl.DataFrame({"age": range(40), "ill": ["flu", "gout"] * 20})
    schema = Schema.of(quasi={"age": "numeric"}, sensitive=["ill"])
    release = covey.anonymize(frame, schema, k=4, t=0.9, method=mine, seed=0)
    assert len(release.verdict.checks) == 2


def test_days_and_hours_are_exact_values_of_people_and_said_to_be() -> None:
    days = [datetime.date(2024, 5, 1) + datetime.timedelta(days=i) for i in range(40)]
    for grid, exact in (("day", True), ("week", False)):
        schema = Schema.of(quasi={"at": {"type": "date", "grid": grid}})
        report = covey.anonymize(pl.DataFrame({"at": days}), schema, k=4, seed=0).report
        assert any("exact values" in warning for warning in report.warnings) == exact
    drafted = covey.inspect(pl.DataFrame({"at": days * 9, "x": ["a", "b", "c"] * 120})).schema
    assert drafted.columns["at"].grid == "week"


@pytest.mark.parametrize("odd", [999, 45])
def test_what_was_read_as_missing_is_counted_among_released_rows_alone(odd: int) -> None:
    """One suppressed person must not change a word of the report."""
    ages = [*[30] * 6, *[40] * 6, *[999] * 11]
    frame = pl.DataFrame({"age": [*ages, odd], "town": ["A"] * 23 + ["Z"], "ill": ["flu"] * 24})
    schema = Schema.of(
        quasi={
            "age": {"type": "numeric", "missing_values": [999]},
            "town": {"type": "categorical", "weight": 100},
        },
        sensitive=["ill"],
    )
    report = covey.anonymize(frame, schema, k=3, seed=0, max_suppressed=0.05).report
    assert report.rows.suppressed == 1
    (told,) = (warning for warning in report.warnings if "means missing" in warning)
    assert "11 cells" in told


def test_a_schema_error_quotes_no_label() -> None:
    with pytest.raises(SchemaError) as caught:
        of(ill={"type": "categorical", "recode": {"HIV positive": 5}})
    assert "recode" in str(caught.value)
    assert "HIV" not in str(caught.value)


def test_an_index_or_a_stray_delimiter_makes_no_column() -> None:
    indexed = parsed(",age,sex\n0,36,f\n1,41,m\n2,29,f\n")
    assert indexed.frame.columns == ["age", "sex"]
    assert "1 column without a name" in indexed.notes[0]
    assert parsed("age;sex;\n36;f;\n41;m;\n").frame.columns == ["age", "sex"]
    with pytest.raises(TableError, match="column 1"):  # a person's number, perhaps
        parsed(",age,sex\n7,36,f\n1,41,m\n2,29,f\n")
    with pytest.raises(TableError, match="2 columns without a name"):
        parsed(";\n;\n;\n", delimiter=";", skip=None)
    with pytest.raises(TableError, match="column 1"):  # of a release, everything is judged
        parsed(",age,sex\n0,36,f\n1,41,m\n", skip=0)


def test_points_before_three_digits_are_thousands_if_smaller_numbers_have_none() -> None:
    cells = [*(f"{n}.{n:03}" for n in range(13, 99, 4)), "980", "755"]
    text = "income;town\n" + "".join(f"{cell};A\n" for cell in cells)
    assert parsed(text).dialect.thousands == "."
    assert parsed(text.replace("980", "9.5")).dialect.thousands == ""
    assert (
        parsed("x;income;town\n" + "".join(f"1.5;{c};A\n" for c in cells)).dialect.thousands == ""
    )


def test_lines_may_end_as_on_an_old_macintosh() -> None:
    assert parsed("age;sex\r36;f\r41;m\r").frame.rows() == [("36", "f"), ("41", "m")]
    with pytest.raises(TableError, match="carriage return"):
        parsed("age;sex\n36\r;f\n41;m\n")
    assert parsed('"a\rb"\n').frame.columns == ["a\rb"]  # inside quotes, it is part of a name


@pytest.mark.parametrize("delimiter", [None, ", "])
def test_spaces_in_a_release_are_part_of_its_cells(delimiter: str | None, tmp_path: Any) -> None:
    """Dropped, they would put rows that differ into one class."""
    released = tmp_path / "r.csv"
    released.write_text("age,sex,town\n" + "30, m, A\n" * 19 + "30,m, A\n")
    quasi = dict.fromkeys(["age", "sex", "town"], "categorical")
    schema = Schema.of(quasi=quasi, table={"delimiter": delimiter})
    verdict = covey.verify(released, schema, k=2)
    assert (verdict.k, verdict.holds) == (1, False)


def test_a_release_has_the_missing_tokens_of_its_original(tmp_path: Any) -> None:
    """NA is Namibia in a dataframe, and so it is in the file that was released of it."""
    frame = pl.DataFrame({"land": ["NA", "NA", "DE", "DE"]})
    frame.write_csv(tmp_path / "released.csv")
    schema = covey.Schema.of(quasi={"land": "categorical"})
    assert covey.measure(frame, tmp_path / "released.csv", schema, k=2).total_il == 0
