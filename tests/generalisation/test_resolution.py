"""What a release shows in natural units, compared with an oracle that reads the released text."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import covey
from covey import KAnonymity, demo
from covey.demo.population import TAXONOMIES
from covey.generalisation import Style
from covey.measures import resolution
from covey.measures.resolution import Resolution
from covey.report import Report
from examples import examples
from report.pages import text_of
from tables_of_people import People, people

# ── the oracle ──────────────────────────────────────────────────────────────────────────────────


def width_of(cell: str) -> float:
    """The width of a released interval of numbers or days, by its text."""
    if cell == "*" or re.search(" and (more|less|later|earlier)$", cell):
        return math.inf
    ends = cell.strip("[]").split(", ")
    numbers = [
        date.fromisoformat(end).toordinal() if re.fullmatch(r"\d{4}-\d\d-\d\d", end) else float(end)
        for end in ends
    ]
    return numbers[-1] - numbers[0]


def nth(values: Sequence[float], share: float) -> float | None:
    """The least value that this share of the values does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1] if values else None


def leaves_of(tree: Any) -> list[str]:
    if isinstance(tree, Mapping):
        return [leaf for below in tree.values() for leaf in leaves_of(below)]
    return list(tree)


def below(tree: Any, label: str) -> list[str]:
    """The leaves under a label of a nested taxonomy; the leaf itself if it is one."""
    if isinstance(tree, Mapping):
        for name, part in tree.items():
            if name == label:
                return leaves_of(part)
            if found := below(part, label):
                return found
        return []
    return [leaf for leaf in tree if leaf == label]


def shown_of(report: Report) -> dict[str, Resolution]:
    return {column.column: column for column in report.shown}


def compare_widths(found: Resolution, cells: pl.Series, unit: float = 1.0) -> None:
    widths = [width_of(cell) for cell in cells.drop_nulls().to_list()]
    widths = [width for width in widths if width < math.inf]
    for told, share in ((found.typical, 0.5), (found.most, 0.9)):
        expected = nth(widths, share)
        assert (told is None) == (expected is None)
        assert told is None or told == pytest.approx((expected or 0.0) / unit)
    rows = len(cells)
    assert found.exact == pytest.approx(widths.count(0.0) / rows)
    assert found.missing == pytest.approx(cells.null_count() / rows)
    assert found.nothing == pytest.approx(cells.to_list().count("*") / rows)
    assert found.open == pytest.approx(sum(cells.str.contains(" and ").fill_null(False)) / rows)


@pytest.fixture(scope="module")
def release() -> covey.Release:
    return covey.anonymize(demo.people(400), demo.schema(), require=KAnonymity(5), effort="fast")


def test_widths_are_those_of_the_released_text(release: covey.Release) -> None:
    shown = shown_of(release.report)
    compare_widths(shown["age"], release.table["age"])
    month = 365.25 / 12
    compare_widths(shown["admission_date"], release.table["admission_date"], unit=month)
    assert (shown["age"].unit, shown["admission_date"].unit) == ("years", "months")


@given(
    st.lists(st.integers(0, 60) | st.none(), min_size=6, max_size=40),
    st.sampled_from([None, 5]),
    st.sampled_from([None, 50]),
    st.sampled_from(["category", "wildcard"]),
)
@examples(60)
def test_widths_of_any_column(
    ages: list[int | None], grid: int | None, top: int | None, missing: str
) -> None:
    column = {"type": "numeric", "grid": grid, "top": top, "missing": missing}
    schema = covey.Schema.of(quasi={"x": {n: v for n, v in column.items() if v is not None}})
    frame = pl.DataFrame({"x": pl.Series(ages, dtype=pl.Int64)})
    release = covey.anonymize(frame, schema, require=KAnonymity(3), seed=0, effort="fast")
    cells = release.table["x"].cast(pl.String)
    compare_widths(shown_of(release.report)["x"], cells)
    assert str(shown_of(release.report)["x"])


@given(people(most=24, columns=3), st.sampled_from(["ancestor", "values"]))
@examples(60)
def test_any_release_can_be_said_in_words(table: People, categories: Any) -> None:
    """Whatever the column; and what is said is the same for a release of unknown origin."""
    assume(table.rows >= 3)
    asked = KAnonymity(3)
    release = covey.anonymize(
        table.table, table.schema, require=asked, seed=1, effort="fast", style=Style(categories)
    )
    assert len(release.report.shown) == len(table.schema.quasi)
    for column in release.report.shown:
        shares = (column.exact, column.open, column.nothing, column.missing)
        assert all(0 <= share <= 1 for share in shares)
        assert sum(shares) <= 1 + 1e-9
        assert re.fullmatch(r"[a-z0-9][^\0]+", str(column))
        assert column.relative_to
        if column.typical is not None and column.most is not None:
            assert (column.typical <= column.most) == (column.kind == "width") or (
                column.typical == column.most
            )
    again = covey.report_on(table.table, release.table, table.schema, require=asked)
    if not release.report.rows.suppressed:
        assert again.shown == release.report.shown


def test_times_on_the_hour_are_in_hours() -> None:
    times = [f"2024-05-0{1 + i // 8}T{3 * (i % 8):02}:20" for i in range(24)]
    schema = covey.Schema.of(quasi={"seen": {"type": "date", "grid": "hour"}})
    frame = pl.DataFrame({"seen": times})
    release = covey.anonymize(frame, schema, require=KAnonymity(4), method="mondrian")
    (found,) = release.report.shown
    hours = [
        (datetime.fromisoformat(last + ":00") - datetime.fromisoformat(first + ":00")).seconds
        / 3600
        for first, last in (cell.strip("[]").split(", ") for cell in release.table["seen"])
    ]
    assert found.unit == "hours"
    assert found.typical == pytest.approx(nth(hours, 0.5))


@pytest.mark.parametrize("fault", ["mean", "too wide", "rows forgotten"])
def test_a_wrong_width_would_be_found(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Two classes in three are wide, but most people are in the third."""
    people = pl.DataFrame({"age": [30] * 10 + [20, 29, 41, 60]})
    cells = pl.DataFrame({"age": ["30"] * 10 + ["[20, 29]"] * 2 + ["[41, 60]"] * 2})
    schema = covey.Schema.of(quasi={"age": "numeric"})

    def widths() -> Resolution:
        return shown_of(covey.report_on(people, cells, schema, require=KAnonymity(2)))["age"]

    compare_widths(widths(), cells["age"])
    right = resolution.least_of
    wrong = {
        "mean": lambda values, rows, _: float((values @ rows) / max(rows.sum(), 1)),
        "too wide": lambda values, rows, share: (right(values, rows, share) or 0) + 1,
        "rows forgotten": lambda values, rows, share: right(values, rows * 0 + 1, share),
    }
    monkeypatch.setattr(resolution, "least_of", wrong[fault])
    with pytest.raises(AssertionError):
        compare_widths(widths(), cells["age"])


def test_low_and_high_columns_say_the_same_as_text() -> None:
    people, schema = demo.people(200), demo.schema()
    text, columns = (
        covey.anonymize(people, schema, require=KAnonymity(5), seed=1, effort="fast", style=style)
        for style in (Style(), Style(intervals="columns"))
    )
    assert text.report.shown == columns.report.shown


def test_characters_are_those_of_the_released_codes(release: covey.Release) -> None:
    found = shown_of(release.report)["zip"]
    cells = release.table["zip"].drop_nulls().to_list()
    lengths = [len(cell.rstrip("*")) for cell in cells if cell.rstrip("*")]
    assert found.typical == -(nth([-n for n in lengths], 0.5) or 0)
    assert found.most == -(nth([-n for n in lengths], 0.9) or 0)
    assert found.of == 5
    assert found.nothing == pytest.approx(cells.count("*") / 400)
    assert f"typically {found.typical:.0f} of 5 characters shown" in str(found)


def test_values_are_those_under_the_released_labels(release: covey.Release) -> None:
    for name in ("education", "occupation", "country_of_birth", "marital_status"):
        found, tree = shown_of(release.report)[name], TAXONOMIES[name]
        cells = release.table[name].to_list()
        numbers = [
            0 if cell == "*" else -1 if cell is None else len(below(tree, cell)) for cell in cells
        ]
        assert found.missing == pytest.approx(numbers.count(-1) / len(cells)), name
        assert found.exact == pytest.approx(numbers.count(1) / len(cells)), name
        assert found.nothing == pytest.approx(numbers.count(0) / len(cells)), name
        assert found.typical == nth([n for n in numbers if n > 1], 0.5), name


def test_sets_of_values_are_counted_by_their_members() -> None:
    people = demo.people(200)
    release = covey.anonymize(
        people, demo.schema(), require=KAnonymity(5), effort="fast", style=Style("values")
    )
    found = shown_of(release.report)["occupation"]
    sizes = [
        1 if not cell.startswith("{") else len(re.split(r", (?![^\"]*\",)", cell))
        for cell in release.table["occupation"].drop_nulls().to_list()
        if cell != "*"
    ]
    assert found.exact == pytest.approx(sizes.count(1) / 200)
    assert found.typical == nth([n for n in sizes if n > 1], 0.5)


# ── words ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("age", "years"),
        ("Age at death", "years"),
        ("ageAtDeath", "years"),
        ("AGE", "years"),
        ("Alter", "years"),
        ("edad_paciente", "years"),
        ("âge", "years"),
        ("birth_year", "years"),
        ("age_in_months", "months"),
        ("Aufenthalt (Tage)", "days"),
        ("stay_days", "days"),
        ("hours-per-week", "hours"),
        ("YearsAtCompany", "years"),
        ("TrainingTimesLastYear", None),
        ("visits per year", None),
        ("ETA", None),
        ("wage", None),
        ("stage", None),
        ("village", None),
        ("income", None),
        ("", None),
    ],
)
def test_the_name_of_a_column_may_say_its_unit(name: str, unit: str | None) -> None:
    assert resolution.unit_of(name) == unit


def of(**figures: Any) -> str:
    usual: dict[str, Any] = {"column": "x", "kind": "width", "unit": None, "typical": 20.0,
                             "most": 30.0, "of": None, "exact": 0.0, "open": 0.0, "nothing": 0.0,
                             "missing": 0.0, "relative_to": "0–100"}  # fmt: skip
    return str(Resolution(**(usual | figures))).replace("\u2009", " ")


def test_sentences_give_the_figures_and_omit_what_there_is_not() -> None:
    assert of() == "typically 20 wide, 9 of 10 at most 30"
    assert of(unit="years") == "typically 20 years wide, 9 of 10 at most 30 years"
    assert of(unit="years", typical=1.0).startswith("typically 1 year wide")
    assert of(typical=0.0, exact=0.7) == "mostly exact, 9 of 10 at most 30"
    assert of(typical=0.25, most=2.5) == "typically 0.2 wide, 9 of 10 at most 2.5"
    assert of(typical=1e-5).startswith("typically 1e-05 wide")
    assert of(typical=0.0, most=0.0, open=0.1) == "mostly exact, open at one end in 10.0 % of rows"
    assert of(open=0.25, nothing=0.1, missing=0.2) == (
        "typically 20 wide, 9 of 10 at most 30, open at one end in 25.0 % of rows, "
        "not shown in 10.0 %, missing in 20.0 %"
    )
    assert of(open=0.4, nothing=0.3) == (
        "open at one end in 40.0 % of rows, not shown in 30.0 %, "
        "otherwise typically 20 wide, 9 of 10 at most 30"
    )
    unseen = {"typical": None, "most": None}
    assert (
        of(**unseen, nothing=0.8, missing=0.2) == "not shown in 80.0 % of rows, missing in 20.0 %"
    )
    assert of(exact=1.0) == "shown exactly in every row"
    assert of(**unseen, nothing=1.0) == "not shown in any row"
    assert of(**unseen, missing=1.0) == "missing in every row"
    codes = {"kind": "characters", "typical": 2.0, "most": 1.0, "of": 5}
    assert of(**codes) == "typically 2 of 5 characters shown, 9 of 10 at least 1"
    assert of(**codes, nothing=0.6) == (
        "not shown in 60.0 % of rows, otherwise typically 2 of 5 characters shown, "
        "9 of 10 at least 1"
    )
    values = {"kind": "values", "typical": 4.0, "most": None}
    assert of(**values, exact=0.62, nothing=0.08) == (
        "shown exactly in 62.0 % of rows, otherwise typically as one of 4 values, "
        "not shown in 8.0 %"
    )
    assert of(**values | {"typical": None}, exact=0.9, missing=0.1) == (
        "shown exactly in 90.0 % of rows, missing in 10.0 %"
    )


def relative(column: dict[str, Any], values: list[Any]) -> str:
    schema = covey.Schema.of(quasi={"x": column})
    frame = pl.DataFrame({"x": values})
    return covey.anonymize(frame, schema, require=KAnonymity(3)).report.shown[0].relative_to


def test_the_loss_is_relative_to_what_is_said() -> None:
    ages = [17, 20, 24, 31, 44, 58, 63, 71, 90]
    numeric: dict[str, Any] = {"type": "numeric"}
    assert relative(numeric | {"domain": [0, 120]}, ages) == "0–120, as declared"
    assert relative(numeric | {"grid": 5}, ages) == "15–90"
    # Without a grid, 17 and 90 are the ages of the youngest and of the oldest.
    assert relative(numeric, ages) == "about 10–90"
    assert relative(numeric, [-0.31, -0.2, 0.1, 0.15, 0.2, 0.29]) == "about -0.4 to 0.3"
    assert relative(numeric, [7] * 9) == "one value"
    days = [f"{1950 + 7 * i}-05-1{i}" for i in range(9)]
    assert relative({"type": "date"}, days) == "about 1950 to 2010"
    days = [f"{2000 + 2 * i}-05-1{i}" for i in range(9)]
    assert relative({"type": "date"}, days) == "about 2000 to 2016"
    assert relative({"type": "date"}, [f"2024-0{1 + i}-05" for i in range(9)]) == (
        "about 2024-01 to 2024-09"
    )
    assert relative({"type": "categorical"}, ["a", "b"] * 4) == "all values or one"
    codes = {"type": "categorical", "taxonomy": {"build": "prefixes"}}
    assert relative(codes, ["123", "124", "224"] * 3) == "its taxonomy of 3 levels"


def test_the_page_says_in_each_column_what_the_loss_is_relative_to(
    release: covey.Release,
) -> None:
    text = text_of(release.report)
    for column, loss in zip(release.report.shown, release.report.losses.columns, strict=True):
        percent = f"{100 * round(loss.il, 4):.1f} %"  # from the digits that are published
        assert f"{loss.weight:g} {percent} {column.relative_to}" in text
