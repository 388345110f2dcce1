"""What the page, the terminal and notebooks say of a release, in words."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

import covey
from command_line import Folder
from covey import About, KAnonymity, demo
from covey.cli.shown import show_release, show_verdict
from covey.report import Report
from covey.report import sample as samples
from report.pages import ROWS, Page, text_of

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
        demo.people(ROWS).reverse(), release.table, demo.schema(), require=KAnonymity(5)
    )
    assert again.sample == some  # the original does not matter


def test_rows_are_taken_at_equal_steps() -> None:
    assert samples._at_equal_steps(1) == [0]
    assert samples._at_equal_steps(3) == [0, 1, 2]
    assert samples._at_equal_steps(5) == [0, 1, 2, 3, 4]
    assert samples._at_equal_steps(1000) == [100, 300, 500, 700, 900]


def test_no_row_is_shown_of_a_table_that_must_not_be_published(release: covey.Release) -> None:
    people = demo.people(ROWS)
    broken = covey.report_on(people, release.table, demo.schema(), require=KAnonymity(50))
    assert not broken.verdict.holds
    assert broken.sample is None
    assert json.loads(broken.to_json())["sample"] is None
    assert "Some rows of the release" not in text_of(broken)
    whole = covey.report_on(people, release.table, demo.schema(), require=KAnonymity(5))
    assert "Some rows of the release" in text_of(whole)


# ── what the custodian says ─────────────────────────────────────────────────────────────────────

SAID = {"title": "Stays <2024>", "purpose": "Research on age", "recipient": "Oslo University",
        "responsible": "Ada Moe", "accept": "read with the officer"}  # fmt: skip


@pytest.mark.usefixtures("without_pictures")
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
             "300 of 300 rows released"]  # fmt: skip
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
    page = text_of(release.report)
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
        text = text_of(report)
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
    text = text_of(report)
    assert "rows in classes of nearly equal numbers" in text
    assert f"{achieved.t_equal:.3f} {achieved.t_ordered:.3f} 100.0 %" in text
    plain = covey.Schema.of(quasi={"age": "numeric"}, sensitive=["salary"])
    other = covey.anonymize(frame, plain, require=KAnonymity(5)).report
    assert "nearly equal numbers" not in text_of(other)
