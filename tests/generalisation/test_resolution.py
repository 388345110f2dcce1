"""What a release shows in natural units, compared with an oracle that reads the released text."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rich.console import Console

import covey
from command_line import Folder
from covey import About, KAnonymity, demo
from covey.cli.shown import show_release, show_verdict
from covey.demo.population import TAXONOMIES
from covey.generalisation import Style
from covey.measures import resolution
from covey.measures.resolution import Resolution
from covey.report import Report
from covey.report import sample as samples
from examples import examples
from report.test_report import Page
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
    text = Page(release.report.to_html()).text
    for column, loss in zip(release.report.shown, release.report.losses.columns, strict=True):
        percent = f"{100 * round(loss.il, 4):.1f} %"  # from the digits that are published
        assert f"{loss.weight:g} {percent} {column.relative_to}" in text


# ── a few rows ──────────────────────────────────────────────────────────────────────────────────


def test_the_rows_shown_are_released_rows_of_quasi_identifiers(release: covey.Release) -> None:
    some = release.report.sample
    assert some is not None
    assert set(some.columns) == set(demo.schema().quasi)
    assert len(some.rows) == len(set(some.rows)) == samples.ROWS
    released = release.table.select(some.columns).fill_null("missing").rows()
    for row, alike in zip(some.rows, some.alike, strict=True):
        assert released.count(row) == alike >= 5
    again = covey.report_on(
        demo.people(400).reverse(), release.table, demo.schema(), require=KAnonymity(5)
    )
    assert again.sample == some  # the original does not matter


def test_rows_are_taken_at_equal_steps() -> None:
    assert samples._at_equal_steps(1) == [0]
    assert samples._at_equal_steps(3) == [0, 1, 2]
    assert samples._at_equal_steps(5) == [0, 1, 2, 3, 4]
    assert samples._at_equal_steps(1000) == [100, 300, 500, 700, 900]


def test_no_row_is_shown_of_a_table_that_must_not_be_published(release: covey.Release) -> None:
    people = demo.people(400)
    broken = covey.report_on(people, release.table, demo.schema(), require=KAnonymity(50))
    assert not broken.verdict.holds
    assert broken.sample is None
    assert json.loads(broken.to_json())["sample"] is None
    assert "Some rows of the release" not in Page(broken.to_html()).text
    whole = covey.report_on(people, release.table, demo.schema(), require=KAnonymity(5))
    assert "Some rows of the release" in Page(whole.to_html()).text


# ── what the custodian says ─────────────────────────────────────────────────────────────────────

SAID = {"title": "Stays <2024>", "purpose": "Research on age", "recipient": "Oslo University",
        "responsible": "Ada Moe", "accept": "read with the officer"}  # fmt: skip


def test_what_the_custodian_says_stands_in_the_report(
    release: covey.Release, tmp_path: Path
) -> None:
    files = [tmp_path / "r.html", tmp_path / "r.json"]
    release.write(tmp_path / "o.csv", report=files, about=About(**SAID), register=False)
    assert json.loads(files[1].read_text())["about"] == SAID
    html = files[0].read_text(encoding="utf-8")
    page = Page(html)
    for said in SAID.values():
        assert said in page.text
    assert page.text.index(SAID["title"]) < page.text.index("✓ verified")
    assert "<title>Stays &lt;2024&gt;</title>" in html
    release.write(tmp_path / "o.csv", report=files, about=About(purpose="tests"), register=False)
    text = Page(files[0].read_text(encoding="utf-8")).text
    assert "purpose tests" in text
    assert "recipient" not in text
    release.write(tmp_path / "o.csv", report=files, register=False)
    assert "about" not in json.loads(files[1].read_text())
    assert "purpose" not in Page(files[0].read_text(encoding="utf-8")).text
    for wrong in ("", " "):
        with pytest.raises(covey.UsageError, match="title"):
            About(title=wrong)


def test_the_commands_pass_it_on(folder: Folder) -> None:
    said = [part for name, text in SAID.items() for part in (f"--{name}", text)]
    request = ["people.csv", "-s", "people.toml", "-k", "5"]
    code, _, err = folder.covey(
        "anonymize", *request, "-o", "o.csv", "--report", "r.json", "--effort", "fast", *said
    )
    assert code == 0, err
    assert json.loads(Path("r.json").read_text())["about"] == SAID
    request[1:1] = ["o.csv"]
    assert folder.covey("report", *request, "-o", "later.json", *said[:2]).code == 0
    about = json.loads(Path("later.json").read_text())["about"]
    assert about == {name: SAID[name] if name == "title" else None for name in SAID}
    assert folder.covey("report", *request, "-o", "later.json", "--purpose", " ").code == 2
    alone = folder.covey("anonymize", request[0], *request[2:], "-o", "p.csv", "--title", "x")
    assert (alone.code, "need a report" in alone.err) == (2, True)
    assert not Path("p.csv").exists()


# ── the terminal ────────────────────────────────────────────────────────────────────────────────


def printed(report: Report, *, width: int = 80, verbose: bool = False) -> str:
    console = Console(width=width, record=True, file=None, quiet=False)
    with console.capture() as caught:
        show_release(report, console, verbose=verbose)
    return caught.get()


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("width", [80, 120])
def test_nothing_is_cut_on_the_terminal(release: covey.Release, width: int) -> None:
    text = printed(release.report, width=width)
    assert "…" not in text
    tables = [line for line in text.splitlines() if not line.startswith("note: ")]
    assert max(map(len, tables)) <= width
    assert release.report.sample is not None
    lines = text.splitlines()
    for column in release.report.shown:
        words = set(str(column).replace("\u2009", " ").split())
        assert words <= set(text.replace("\u2009", " ").split()), column.column
    whole = squeezed("".join(lines))
    for row in release.report.sample.rows:
        for cell in row:
            for word in cell.split():
                assert word in whole


def test_long_names_are_folded_and_not_cut() -> None:
    name = "a_very_long_name_of_a_column_that_no_terminal_has_room_for_" * 2
    frame = pl.DataFrame({name: ["value " * 30 + str(i % 2) for i in range(20)]})
    schema = covey.Schema.of(quasi={name: "categorical"})
    report = covey.anonymize(frame, schema, require=KAnonymity(5)).report
    text = printed(report)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    letters = "".join(line[:40].split(" ")[0] for line in text.splitlines())
    assert name in letters


def test_the_verdict_comes_first_then_risk_then_costs_and_metrics_on_request(
    release: covey.Release,
) -> None:
    text = printed(release.report)
    order = ["verified: every row looks like", "k-anonymity", "highest risk",
             "what its cells show", "information lost", "released rows",
             "400 of 400 rows released"]  # fmt: skip
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)
    for metric in ("Total-IL", "discernibility", "GCP"):
        assert metric not in text
        assert metric in printed(release.report, verbose=True)


# ── a risk that is higher than 1 in k ───────────────────────────────────────────────────────────


def of_stays(stays: int) -> tuple[pl.DataFrame, covey.Schema, covey.Release]:
    """One patient with many stays among others with one."""
    patients = [0] * stays + list(range(1, 41))
    ages = [30 + i % 4 for i in range(len(patients))]
    frame = pl.DataFrame({"id": patients, "age": ages})
    schema = covey.Schema.from_dict(
        {
            "columns": {"id": {"role": "identifier"}, "age": {"role": "quasi", "type": "numeric"}},
            "require": {"k": 4, "person": "id"},
        }
    )
    return frame, schema, covey.anonymize(frame, schema)


def test_the_reason_stands_beside_a_risk_that_is_higher_than_1_in_k(
    folder: Folder,
) -> None:
    frame, _, release = of_stays(40)
    (check,) = release.verdict.checks
    risk = release.verdict.risks.prosecutor or 0.0
    assert risk > 1 / (check.achieved or 1)
    why = f"more than 1 in {check.achieved:g}, since a person with several rows"
    assert why in release.verdict.risk
    for told in (release, release.report, release.verdict):
        assert why in Page(told._repr_html_()).text
    assert why in printed(release.report)
    page = Page(release.report.to_html()).text
    tile = page[page.index("highest risk") : page.index("information lost")]
    assert f"{100 * risk:.1f} %" in tile
    assert why in tile
    # `covey verify`, with the column that identifies persons still in the table.
    with_persons = release.table.with_columns(
        id=pl.Series([frame["id"][row] for row in release.rows.tolist()])
    )
    with_persons.write_csv("o.csv")
    Path("s.toml").write_text(
        '[columns.id]\nrole = "insensitive"\n[columns.age]\nrole = "quasi"\ntype = "numeric"\n'
    )
    ran = folder.covey("verify", "o.csv", "-s", "s.toml", "-k", "4", "--person", "id")
    assert why in ran.out


def test_the_risk_is_compared_with_the_larger_of_rows_and_persons() -> None:
    """20 rows found beside a risk of 1 in 4 need a reason, even if there are only 4 persons."""
    frame = pl.DataFrame(
        {"id": [i // 5 for i in range(200)], "age": [20 + i // 40 for i in range(200)]}
    )
    schema = covey.Schema.from_dict(
        {"columns": {"id": {"role": "identifier"}, "age": {"role": "quasi", "type": "numeric"}}}
    )
    asked = [KAnonymity(20, False), KAnonymity(4, "id")]
    verdict = covey.anonymize(frame, schema, require=asked).verdict
    rows, persons = (check.achieved or 0 for check in verdict.checks)
    assert (rows, persons) == (40, 8)
    assert verdict.risks.prosecutor == 1 / 8
    assert "more than 1 in 40" in verdict.risk


def test_the_last_bar_says_if_it_includes_missing_values() -> None:
    ages = [*range(20, 60), None, None]
    for missing, said in ((ages, True), (ages[:40], False)):
        schema = covey.Schema.of(quasi={"age": {"type": "numeric", "grid": 5}})
        report = covey.anonymize(
            pl.DataFrame({"age": missing}), schema, require=KAnonymity(4)
        ).report
        text = Page(report.to_html()).text
        assert ("The last bar includes missing values" in text) == said


def test_no_reason_where_the_risk_is_1_in_k(release: covey.Release) -> None:
    _, _, single = of_stays(1)
    for one in (release, single):
        assert one.verdict.why_higher == ""
        assert "several rows of a class" not in Page(one.report._repr_html_()).text
        assert one.verdict.risk.endswith("%")


def test_a_verdict_without_a_known_risk_names_none(capsys: pytest.CaptureFixture[str]) -> None:
    _, schema, release = of_stays(40)
    unknown = covey.verify(release.table, schema)
    assert unknown.risk == ""
    assert "highest risk" not in Page(unknown._repr_html_()).text
    show_verdict(unknown, Console())
    assert "highest risk" not in capsys.readouterr().out


# ── sensitive numbers ───────────────────────────────────────────────────────────────────────────


def test_the_page_tells_the_distance_by_order_and_nearly_equal_numbers() -> None:
    frame = pl.DataFrame(
        {
            "age": [20 + i // 5 for i in range(40)],
            "salary": [1000 * (i // 5) + i for i in range(40)],
        }
    )
    schema = covey.Schema.from_dict(
        {"columns": {"age": {"role": "quasi", "type": "numeric"},
                     "salary": {"role": "sensitive", "type": "numeric"}}}
    )  # fmt: skip
    report = covey.anonymize(frame, schema, require=KAnonymity(5)).report
    (achieved,) = report.verdict.achieved
    assert achieved.t_ordered is not None
    assert achieved.similar == 1
    text = Page(report.to_html()).text
    assert "rows in classes of nearly equal numbers" in text
    assert f"{achieved.t_equal:.3f} {achieved.t_ordered:.3f} 100.0 %" in text
    plain = covey.Schema.of(quasi={"age": "numeric"}, sensitive=["salary"])
    other = covey.anonymize(frame, plain, require=KAnonymity(5)).report
    assert "nearly equal numbers" not in Page(other.to_html()).text
