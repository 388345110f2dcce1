"""The report: the same numbers as a page and as JSON, for any release, and no one's cells."""

import base64
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

import covey
from covey import AlphaK, BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, TCloseness, demo
from covey import html as pages
from covey.cli import main as cli
from covey.cli.shown import show_verdict
from covey.errors import percent
from covey.report import Report, charts
from covey.schema.requirements import Requirement
from report.pages import ROWS, K, Page, release_of, text_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, release: covey.Release) -> Path:
    folder = tmp_path_factory.mktemp("report")
    demo.write(folder, ROWS)
    curve = covey.curve(demo.people(ROWS), demo.schema(), k=[2, 10], effort="fast")
    reports = [folder / "report.html", folder / "report.json"]
    release.write(folder / "released.csv", report=reports, curve=curve)
    return folder


def run(*arguments: object) -> int:
    return cli.run([str(argument) for argument in arguments])


# ── one report, two forms ───────────────────────────────────────────────────────────────────────


def test_the_page_and_its_twin_tell_the_same_numbers(folder: Path) -> None:
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    digest = hashlib.sha256((folder / "released.csv").read_bytes()).hexdigest()
    assert told["output"]["sha256"] == digest
    assert digest in page.text
    numbers = [
        *(f"{column['il'] * 100:.1f} %" for column in told["loss"]["columns"]),
        *(f"{column['share'] * 100:.1f} %" for column in told["loss"]["columns"]),
        *(f"{worst['without']:,.1f}" for worst in told["loss"]["worst"]),
        *(f"{bin_['before']:,}" for d in told["distributions"] for bin_ in d["bins"]
          if bin_["before"] is not None),
        *(bin_["label"] for d in told["distributions"] for bin_ in d["bins"]),
        *(f"{sizes['rows']:,}" for sizes in told["classes"]),
        *(f"{point['total_il']:,.1f}" for point in told["curve"]["points"]),
        *(f"{100 * point['highest_risk']:.1f} %" for point in told["curve"]["points"]),
        *(mark["says"] for mark in told["curve"]["marks"]),
        *(column["in_words"][1:].replace("\u2009", " ") for column in told["shown"]),
        *(column["relative_to"] for column in told["shown"]),
        *(cell for row in told["sample"]["rows"] for cell in row),
        *(f"{100 * told['verdict']['risks'][name]:.1f} %" for name in ("prosecutor", "marketer")),
        f"{told['mean_loss'] * 100:.1f} %",
        f"{told['loss']['total_il']:,.1f}",
        *told["definitions"].values(),
        *(" ".join(warning[1:].split()) for warning in told["warnings"] + told["reminders"]),
        *told["configuration"]["columns"],
        told["limits"],
    ]  # fmt: skip
    assert len(numbers) > 100
    assert [number for number in numbers if number not in page.text] == []


def test_the_mean_loss_is_that_of_a_point_of_the_curve(release: covey.Release) -> None:
    curve = covey.curve(demo.people(ROWS), demo.schema(), k=[K], effort="fast", seed=3)
    assert release_of(seed=3).report.mean_loss == pytest.approx(curve.points[0].loss)


def test_a_page_asks_nobody_for_anything_and_runs_nothing(folder: Path) -> None:
    html = (folder / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    assert {"script", "iframe", "object", "link", "img"} & {tag for tag, _ in page.tags} == set()
    names = {name for _, attributes in page.tags for name in attributes}
    assert not [name for name in names if name.startswith("on") or name == "src"]
    links = [attributes["href"] or "" for _, attributes in page.tags if "href" in attributes]
    assert all(link.startswith("#") for link in links)
    assert "url(" not in html
    assert "@import" not in html
    pictures = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert len(pictures) == 2 + 8 + 1  # sizes, shares; columns; curve
    assert all(p["role"] == "img" and p["aria-label"] for p in pictures)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_every_colour_of_the_pictures_is_known_to_the_style(folder: Path) -> None:
    html = (folder / "report.html").read_text(encoding="utf-8")
    style, _, body = html.partition("</style>")
    used = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{3,6}|white|black)"', body))
    assert used
    assert {colour for colour in used if f'"{colour}"]' not in style} == set()


@pytest.mark.parametrize("module", ["page", "caveats"])
def test_every_sentence_is_in_use(module: str) -> None:
    code, texts = (files("covey.report").joinpath(module + end) for end in (".py", ".toml"))
    found = tomllib.loads(texts.read_text(encoding="utf-8"))
    names = {*found, *(name for section in found.values() if module == "page" for name in section)}
    assert [name for name in names if f'"{name}"' not in code.read_text(encoding="utf-8")] == []


def test_pages_escape_what_is_not_markup() -> None:
    said = pages.element("p", "<b>", pages.element("i", '"&"'), title='a"b', hidden=True, id=None)
    assert said == '<p title="a&quot;b" hidden><b>'.replace("<b>", "&lt;b&gt;") + (
        "<i>&quot;&amp;&quot;</i></p>"
    )
    assert pages.element("meta", charset="utf-8") == '<meta charset="utf-8">'
    assert "&lt;b&gt;" in pages.table(("a",), [("<b>",)])
    assert 'aria-label="&lt;"' in pages.figure("<?xml ?>\n<svg></svg>", "<")


@pytest.mark.usefixtures("without_pictures")
def test_the_same_report_is_shown_in_every_ending(folder: Path, release: covey.Release) -> None:
    release.report.write(folder / "again.json")
    release.report.write(folder / "again.HTML")
    assert json.loads((folder / "again.json").read_text()) == json.loads(release.report.to_json())
    assert (folder / "again.HTML").read_text(encoding="utf-8") == release.report.to_html()
    for name in ("report.pdf", "report", "report.htm"):
        with pytest.raises(covey.UsageError, match=r"\.html or \.json"):
            release.report.write(folder / name)
        with pytest.raises(covey.UsageError, match=r"\.html or \.json"):
            release.write(folder / "untouched.csv", report=folder / name)
    assert not (folder / "untouched.csv").exists()


# ── what it says ────────────────────────────────────────────────────────────────────────────────


ASKED: list[Any] = [
    KAnonymity(3),
    KAnonymity(3, "id"),
    *(LDiversity(2, "d", kind) for kind in ("distinct", "frequency", "entropy")),
    LDiversity(2, "d", "recursive", 1.5),
    TCloseness(0.2, "d"),
    AlphaK(0.5, "d", ("a",)),
    BetaLikeness(1, "d"),
    DeltaDisclosure(1, "d"),
]


@pytest.mark.parametrize("requirement", ASKED)
def test_every_promise_has_a_meaning(requirement: Any) -> None:
    others = [one for one in ASKED if one != requirement]
    assert requirement.meaning not in [one.meaning for one in others]


def test_a_promise_is_not_taken_for_another_by_the_name_of_its_column() -> None:
    frame = pl.DataFrame({"age": [1, 1, 1, 1], "k-anonymity of persons": ["a", "b", "c", "d"]})
    schema = covey.Schema.of(quasi={"age": "numeric"}, sensitive=["k-anonymity of persons"])
    asked: list[Requirement] = [KAnonymity(2), LDiversity(3, "k-anonymity of persons")]
    text = text_of(covey.anonymize(frame, schema, require=asked).report)
    assert "Every row looks like at least 1 other row (4 rows)" in text
    assert LDiversity(3, "d").meaning in text


def test_a_promise_that_holds_is_the_first_thing_said(release: covey.Release) -> None:
    text = text_of(release.report)
    assert 0 < text.index("✓ verified") < text.index("Every row looks like at least 4") < 200


def test_rows_that_are_not_alike_are_not_called_k_anonymous() -> None:
    people = demo.people(60)
    report = covey.anonymize(people, demo.schema(), require=[KAnonymity(3)], method="nh").report
    assert report.classes == ()
    text = text_of(report)
    assert "not k-anonymity" in text
    assert "Every row looks like" not in text
    assert "prosecutor" not in text


def test_persons_are_counted_where_they_are_asked_for() -> None:
    frame = pl.DataFrame(
        {"id": [i // 4 for i in range(80)], "age": [20 + i // 8 for i in range(80)]}
    )
    schema = covey.Schema.from_dict(
        {
            "columns": {
                "id": {"role": "identifier"},
                "age": {"role": "quasi", "type": "numeric", "grid": 5},
            },
            "require": {"k": 3, "person": "id"},
        }
    )
    release = covey.anonymize(frame, schema)
    assert "Everyone hides among at least 3 people" in text_of(release.report)
    (ages,) = release.report.distributions
    assert all(bin_.before is None or bin_.before >= 4 * 3 for bin_ in ages.bins)
    again = covey.report_on(frame, release.table, schema)
    assert not again.verdict.holds  # without the column nobody can tell
    assert again.distributions == release.report.distributions
    text = text_of(again)
    assert "could not all be checked" in text
    assert ": the column 'id' is not in the table." in text
    assert "3 → not judged" in text
    assert "highest risk" not in text
    assert "Do not publish" not in text
    assert "do not meet" not in text
    assert "file that was verified" not in text


def test_rows_and_persons_are_each_said_by_their_own_number() -> None:
    frame = pl.DataFrame(
        {"id": [i // 4 for i in range(160)], "age": [20 + (i // 4) % 30 for i in range(160)]}
    )
    schema = covey.Schema.of(identifier=["id"], quasi={"age": "numeric"})
    report = covey.anonymize(frame, schema, require=[KAnonymity(20), KAnonymity(3, "id")]).report
    rows, persons = report.verdict.checks
    assert persons.achieved != rows.achieved
    text = text_of(report)
    assert (
        "Everyone hides among at least 3 people (id: 40 people, 160 rows) and every row looks "
        "like at least 19 other rows."
    ) in text
    assert "rows of fewer than 3 persons or to fewer than 20 of the 160 released rows" in text
    assert f"3 → {persons.found} minimum number of persons" in text
    assert f"20 → {rows.found} minimum number of rows" in text


def warned(report: Report, text: str) -> list[str]:
    return [warning for warning in report.warnings if text in warning]


def test_warnings_tell_what_matters_and_nothing_else() -> None:
    rows = 40
    frame = pl.DataFrame(
        {
            "age": [20 + i // 4 for i in range(rows)],
            "badge": [f"badge {i}" for i in range(rows)],
            "salary": [1000 + i for i in range(rows)],
            "illness": ["flu", "flu", "flu", "flu", "flu", "gout", "flu", "gout"] * 5,
        }
    )
    schema = covey.Schema.of(
        quasi={"age": "numeric"}, sensitive=["salary", "illness"], insensitive=["badge"]
    )
    report = covey.anonymize(frame, schema, require=[KAnonymity(4)], method="mondrian").report
    assert len(warned(report, "'badge' is nearly unique (40 values)")) == 1
    assert len(warned(report, "'salary' is nearly unique (40 values)")) == 1
    assert warned(report, "'illness' is nearly unique") == []
    (untried,) = warned(report, "was not tried")
    assert all(name in untried for name in ("badge", "salary", "illness"))
    certain = sum(
        4 for i in range(0, rows, 4) if len(set(frame["illness"][i : i + 4].to_list())) == 1
    )
    assert len(warned(report, f"{100 * certain / rows:.1f}\u2009% of the rows are in classes")) == 1
    assert warned(report, "exact values") == []  # no class is wider than one age
    wide = covey.anonymize(frame, schema, require=[KAnonymity(8)], method="mondrian").report
    assert len(warned(wide, "exact values")) == 1
    assert warned(wide, "single value") == []
    assert warned(wide, "suppressed") == []
    quiet = covey.anonymize(
        frame.select("age"),
        covey.Schema.of(quasi={"age": "numeric"}),
        require=[KAnonymity(4)],
    ).report
    assert quiet.warnings == ()
    assert "Nothing in this release" in text_of(quiet)
    assert all(reminder[1:-1] in text_of(quiet) for reminder in quiet.reminders)


def test_dropped_rows_are_to_be_minded() -> None:
    frame = pl.DataFrame({"age": [20 + i // 4 if i % 8 else None for i in range(40)]})
    schema = covey.Schema.of(quasi={"age": {"type": "numeric", "missing": "drop-row"}})
    release = covey.anonymize(frame, schema, require=[KAnonymity(4)])
    later = covey.report_on(frame, release.table, schema, require=[KAnonymity(4)])
    for report in (release.report, later):
        assert report.rows.dropped == 5
        assert len(warned(report, "5 rows dropped for missing cells")) == 1
        assert "5 rows dropped" in text_of(report)
        assert warned(report, "suppressed") == []


@pytest.mark.parametrize(
    ("ages", "k", "said"),
    [
        ([30] * 8, 4, "There is 1 class of 8 rows."),
        ([30] * 4 + [50] * 4, 4, "There are 2 classes of 4 rows."),
        ([30] * 4 + [50] * 1000, 4, "There are 2 classes of 4 to 1,000 rows."),
    ],
)
def test_one_is_not_said_as_many(
    ages: list[int], k: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = covey.Schema.of(quasi={"age": "numeric"})
    release = covey.anonymize(pl.DataFrame({"age": ages}), schema, require=[KAnonymity(k)])
    assert said in text_of(release.report)
    show_verdict(release.verdict, Console())
    assert said.removeprefix("There is ").removeprefix("There are ")[:-1] in capsys.readouterr().out
    alone = covey.verify(pl.DataFrame({"age": [1, 2, 3]}), schema)
    assert alone.sizes == "3 classes of 1 row"


# ── on a release that exists ────────────────────────────────────────────────────────────────────


def test_a_report_on_a_release_tells_what_the_release_told(folder: Path) -> None:
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    found = covey.report_on(
        folder / "people.csv",
        folder / "released.csv",
        covey.Schema.from_toml(folder / "people.toml"),
        require=[KAnonymity(K)],
    )
    again = json.loads(found.to_json())
    for name in ("rows", "verdict", "classes", "mean_loss", "output", "limits", "definitions"):
        assert again[name] == told[name], name
    assert again["loss"] == told["loss"] | {"information": None}  # nobody knows the groups
    columns = {d["column"]: d for d in told["distributions"]}
    assert {d["column"]: d for d in again["distributions"]} == columns
    assert again["method"]["name"] is None
    assert again["configuration"]["columns"] == told["configuration"]["columns"]
    assert "made elsewhere" in text_of(found)
    in_memory = covey.report_on(
        demo.people(ROWS), pl.read_csv(folder / "released.csv", infer_schema=False),
        demo.schema(), require=KAnonymity(K),
    )  # fmt: skip
    assert in_memory.output is None
    assert in_memory.losses.total_il == pytest.approx(found.losses.total_il)
    assert "no checksum" in text_of(in_memory)


@pytest.mark.usefixtures("without_pictures")
def test_rows_left_out_by_the_method_are_not_counted_before() -> None:
    people = pl.DataFrame(
        {"age": [30 + i % 3 for i in range(58)] + [99, 98], "sex": ["m", "f"] * 30}
    )
    schema = covey.Schema.of(quasi={"age": "numeric", "sex": "categorical"})
    asked = KAnonymity(K)
    release = covey.anonymize(people, schema, require=asked, max_suppressed=0.05)
    report = release.report
    assert report.rows.suppressed > 0
    assert len(warned(report, "suppressed")) == 1
    kept = people[release.rows.tolist()]
    (sexes,) = (d for d in report.distributions if d.column == "sex")
    assert {b.label: b.before for b in sexes.bins} == dict(kept["sex"].value_counts().iter_rows())
    # Whoever does not know which rows they are cannot count without them, and so tells nothing.
    later = covey.report_on(people, release.table, schema, require=asked)
    assert all(bin_.before is None for d in later.distributions for bin_ in d.bins)
    assert any(bin_.after for d in later.distributions for bin_ in d.bins)
    page = Page(later.to_html())
    assert "nothing of the original is shown" in page.text
    assert "both bars" not in page.text
    assert "before: rows of the original" not in page.text
    assert "before" not in page.parts
    assert "before" in Page(report.to_html()).parts


def test_a_value_of_suppressed_people_alone_leaves_no_trace() -> None:
    people = pl.DataFrame(
        {
            "age": [30 + i % 3 for i in range(58)] + [99, 98],
            "sex": ["m", "f"] * 29 + ["x", "x"],
            "town": ["Ulm", "Oslo"] * 29 + ["Bern", "Bern"],
        }
    )
    declared = {"type": "categorical", "taxonomy": {"all": ["Ulm", "Oslo", "Bern", "Rome"]}}
    schema = covey.Schema.of(quasi={"age": "numeric", "sex": "categorical", "town": declared})
    whole = covey.anonymize(people, schema, require=KAnonymity(K)).report
    assert whole.configuration["columns"]["sex"]["taxonomy"]["leaves"] == 3
    release = covey.anonymize(people, schema, require=KAnonymity(K), max_suppressed=0.05)
    assert set(release.table["sex"]) == {"f", "m"}
    # Who knows the released rows tells how many values these have, and who does not, tells nothing.
    for report, values in (
        (release.report, {"leaves": 2, "height": 1}),
        (covey.report_on(people, release.table, schema, require=KAnonymity(K)), None),
    ):
        (sex,) = (d for d in report.distributions if d.column == "sex")
        assert sorted(bin_.label for bin_ in sex.bins) == ["f", "m"]
        columns = report.configuration["columns"]
        assert columns["sex"].get("taxonomy") == values
        assert columns["town"]["taxonomy"]["leaves"] == 4
        assert "taxonomy of 3 values" not in text_of(report)


@pytest.mark.parametrize(("missing", "said"), [(2, "fewer than 4 rows"), (4, "4 rows")])
def test_few_missing_cells_are_not_counted_in_a_warning(missing: int, said: str) -> None:
    frame = pl.DataFrame({"age": [20] * 20 + [None] * missing + [40] * 20})
    schema = covey.Schema.of(quasi={"age": {"type": "numeric", "missing": "wildcard"}})
    report = covey.anonymize(frame, schema, require=KAnonymity(4)).report
    assert len(warned(report, f"'age': {said} with a missing cell")) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_the_command_reports_on_a_release_and_fails_on_one_that_breaks_its_promise(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request: list[object] = ["report", folder / "people.csv", folder / "released.csv"]
    request += ["-s", folder / "people.toml"]
    request += ["-o", folder / "later.html", "-o", folder / "later.json"]
    assert run(*request, "-k", K) == 0
    page = Page((folder / "later.html").read_text(encoding="utf-8")).text
    assert "✓ verified" in page
    assert "not the file that was verified" in page
    assert run(*request, "-k", 200, "-l", "diagnosis=2") == 1
    assert "k-anonymity does not hold" in capsys.readouterr().err
    page = Page((folder / "later.html").read_text(encoding="utf-8")).text
    assert "Do not publish this table as it is." in page
    assert "do not meet k-anonymity" in page
    assert "was verified" not in page
    assert "do not publish that file" in page
    assert json.loads((folder / "later.json").read_text())["verdict"]["holds"] is False
    with_names = folder / "names.csv"
    pl.read_csv(folder / "released.csv", infer_schema=False).with_columns(
        name=pl.lit("x")
    ).write_csv(with_names)
    request[2] = with_names
    assert run(*request, "-k", K) == 1
    page = Page((folder / "later.html").read_text(encoding="utf-8")).text
    assert "columns that must be removed: name" in page


def test_a_request_is_refused_before_any_work(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = ["absent.csv", "-s", folder / "absent.toml", "-o", folder / "out.csv"]
    assert run("anonymize", *absent, "--report", "r.pdf") == 2
    assert ".html or .json" in capsys.readouterr().err
    assert run("anonymize", *absent, "--curve") == 2
    assert "--curve needs a report" in capsys.readouterr().err
    assert run("anonymize", *absent, "--report", "r.html", "--curve", "--method", "nh") == 2
    assert "not k-anonymous" in capsys.readouterr().err


def test_a_report_is_never_written_over_the_release_or_another_report(
    tmp_path: Path, release: covey.Release
) -> None:
    page = tmp_path / "page.html"
    for path, reports in ((page, [page]), (tmp_path / "out.csv", [page, tmp_path / "./page.html"])):
        with pytest.raises(covey.OutputError, match="overwrite"):
            release.write(path, report=reports)
    assert list(tmp_path.iterdir()) == []


def test_without_charts_the_page_has_their_numbers_and_the_demonstration_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "available", lambda: False)
    assert run("demo", "-o", tmp_path, "--rows", 60, "-k", 4) == 0
    assert "covey[charts]" in capsys.readouterr().err
    plain = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "✓ verified" in plain
    assert "<svg" not in plain
    monkeypatch.undo()
    assert run("demo", "-o", tmp_path, "--rows", 60, "-k", 4) == 0
    assert str(tmp_path / "report.html") in capsys.readouterr().out
    drawn = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "✓ verified" in drawn
    figures = drawn.count("<figure>")
    assert drawn.count("<svg") == figures > 3
    # Each picture has its numbers behind it; without pictures, they are there to see.
    assert plain.count("<figure>") == figures
    assert plain.count("<details>") == drawn.count("<details>") - figures


@pytest.mark.usefixtures("without_pictures")
def test_a_curve_is_drawn_where_it_is_asked_for(tmp_path: Path) -> None:
    table, schema = demo.write(tmp_path, 60)
    request = ["anonymize", table, "-s", schema, "-k", 4, "-o", tmp_path / "out.csv"]
    reports = ["--report", tmp_path / "r.json", "--report", tmp_path / "r.html"]
    assert run(*request, *reports, "--curve", "--effort", "fast") == 0
    told = json.loads((tmp_path / "r.json").read_text())
    assert [point["k"] for point in told["curve"]["points"]][:3] == [2, 3, 4]
    page = Page((tmp_path / "r.html").read_text(encoding="utf-8")).text
    assert "What other values of k would mean" in page
    assert "the loss at the mark may differ" in page
    assert run("report", table, tmp_path / "out.csv", "-s", schema, "-k", 4, "--curve",
               "-o", tmp_path / "later.json") == 0  # fmt: skip
    later = json.loads((tmp_path / "later.json").read_text())
    assert len(later["curve"]["points"]) == len(told["curve"]["points"])


# ── nobody's cells ──────────────────────────────────────────────────────────────────────────────

CANARIES = {
    "identifier": "ZQidentifier7731",
    "rare": "ZQrarevalue5518",
    "leaf": "ZQunusedleaf0042",
    "inner": "ZQunusednode0817",
    "sensitive": "ZQsensitive6620",
    "insensitive": "ZQinsensitive31",
    "file": "ZQfilename99812x",
    "dropped": "ZQdroppedrow4411",
    "listed": "ZQlistedvalue812",
    "low": "-77131993.125",
    "high": "91843317.125",
    "day": "1931-03-17",
}


def planted(tmp_path: Path) -> tuple[Path, Path]:
    rows = 60
    frame = pl.DataFrame(
        {
            "name": [CANARIES["identifier"]] + [f"n{i}" for i in range(rows - 1)],
            "weight": [CANARIES["low"], CANARIES["high"]]
            + [f"{50 + i % 30}.5" for i in range(rows - 2)],
            "born": [CANARIES["day"]]
            + [f"{1950 + i % 40}-{1 + i % 12:02}-11" for i in range(rows - 1)],
            "town": [CANARIES["rare"]] * 4 + ["Ulm", "Oslo"] * 28,
            "job": [CANARIES["dropped"]] * 4 + ["baker", "clerk", "smith", "cook"] * 14,
            "illness": [CANARIES["sensitive"]] * 40 + ["flu"] * 20,
            "note": [CANARIES["insensitive"]] * 60,
        }
    )
    source = tmp_path / f"{CANARIES['file']}.csv"
    frame.write_csv(source)
    tree = {"South": [CANARIES["rare"], "Ulm"], CANARIES["inner"]: [CANARIES["leaf"]],
            "North": ["Oslo"]}  # fmt: skip
    schema = tmp_path / f"{CANARIES['file']}.toml"
    inner = ", ".join(f"{json.dumps(n)} = {json.dumps(leaves)}" for n, leaves in tree.items())
    schema.write_text(
        '[columns.name]\nrole = "identifier"\n'
        '[columns.weight]\nrole = "quasi"\ntype = "numeric"\n'
        '[columns.born]\nrole = "quasi"\ntype = "date"\n'
        f'[columns.town]\nrole = "quasi"\ntype = "categorical"\ntaxonomy = {{ {inner} }}\n'
        '[columns.job]\nrole = "quasi"\ntype = "categorical"\n'
        '[columns.illness]\nrole = "sensitive"\n'
        '[columns.note]\nrole = "insensitive"\n'
        f'[require]\nk = 5\nalpha = {{ illness = "0.99:{CANARIES["listed"]}" }}\n',
        encoding="utf-8",
    )
    return source, schema


def spellings(canary: str) -> Iterator[str]:
    yield canary
    yield canary[::-1]
    yield base64.b64encode(canary.encode()).decode()[4:-4]
    if canary.endswith(".125"):  # a number, also without its sign or its digits behind the point
        yield canary[:-4].removeprefix("-")
        yield f"{abs(int(canary[:-4])):,}"
    if canary == CANARIES["day"]:
        yield canary[:7]


def without_released_rows(text: str) -> str:
    """A report without its few released rows, whose cells are published anyway."""
    if text.startswith("{"):
        told = json.loads(text)
        assert told.pop("sample") is not None
        return json.dumps(told, ensure_ascii=False)
    page = r'<div class="scroll"[^>]*aria-label="released rows">.*?</div>'
    terminal = r"^released rows .*?^rows like it.*?$"
    return re.sub(f"{page}|{terminal}", "", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_no_canary_is_in_any_report_or_in_what_objects_show_of_themselves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, toml = planted(tmp_path)
    out = tmp_path / "out.csv"
    reports = [tmp_path / "r.html", tmp_path / "r.json"]
    written = [part for path in reports for part in ("--report", path)]
    asked = ["--max-suppressed", 0.1, "--effort", "quick", "--alpha", "illness=0.65"]
    assert run("anonymize", source, "-s", toml, "-o", out, *written, "--curve", *asked) == 0
    # Of 40 rows of the one illness and 20 of the other, three have to go.
    assert json.loads(reports[1].read_text())["rows"]["suppressed"] >= 3
    later = [tmp_path / "later.html", tmp_path / "later.json"]
    also = [part for path in later for part in ("-o", path)]
    assert run("report", source, out, "-s", toml, *also) == 0
    schema = covey.Schema.from_toml(toml)
    release = covey.anonymize(source, schema, effort="fast")
    compared = covey.compare(source, schema, k=[5], methods=["k-member", "mondrian"])
    curve = covey.curve(source, schema, k=[2, 5], effort="fast")
    shown = [path.read_text(encoding="utf-8") for path in (*reports, *later)]
    for thing in (release, release.report, release.verdict, release.report.losses, compared):
        shown += [repr(thing), thing._repr_html_()]
    shown += [repr(curve), curve._repr_svg_() or "", *capsys.readouterr()]
    for text in shown:
        for what, canary in CANARIES.items():
            assert not [s for s in spellings(canary) if s in without_released_rows(text)], what
    assert CANARIES["sensitive"] in out.read_text(encoding="utf-8")  # it is what is published


# ── names that others chose ─────────────────────────────────────────────────────────────────────

EVIL = "<script>alert(1)</script>"
QUOTED = "\"'><img src=x onerror=alert(2)>"


def evil_release() -> tuple[pl.DataFrame, covey.Schema, covey.Release]:
    frame = pl.DataFrame(
        {EVIL: [EVIL, QUOTED] * 20, QUOTED: [i // 2 for i in range(40)], "s": [QUOTED] * 40}
    )
    schema = covey.Schema.of(quasi={EVIL: "categorical", QUOTED: "numeric"}, sensitive=["s"])
    return frame, schema, covey.anonymize(frame, schema, require=[KAnonymity(4)])


@pytest.mark.slow
def test_names_of_columns_and_values_cannot_run() -> None:
    frame, schema, release = evil_release()
    compared = covey.compare(frame, schema, k=[4, 99], methods=["mondrian"])
    curve = covey.curve(frame, schema, k=[2, 5])
    things = (release, release.report, release.verdict, release.report.losses, compared)
    texts = [thing._repr_html_() for thing in things]
    for text in (*texts, release.report.to_html(), curve._repr_svg_() or ""):
        page = Page(text)
        assert not {"script", "img"} & {tag for tag, _ in page.tags}
        assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]
    page = Page(release.report.to_html())
    assert EVIL in page.text
    assert QUOTED in page.text
    assert EVIL in Page(release.report.losses._repr_html_()).text


# ── notebooks ───────────────────────────────────────────────────────────────────────────────────


def test_objects_show_themselves_in_a_notebook(release: covey.Release) -> None:
    report = release.report
    text = Page(release._repr_html_()).text
    assert release._repr_html_() == report._repr_html_()
    assert f"{ROWS} of {ROWS} rows released by covey" in text
    assert f"{100 * report.mean_loss:.1f} %" in text
    assert "k-anonymity 5 5 yes" in Page(release.verdict._repr_html_()).text
    broken = covey.verify(release.table, demo.schema(), KAnonymity(100))
    assert "do not hold" in Page(broken._repr_html_()).text
    assert f"k-anonymity 100 {broken.k} no" in Page(broken._repr_html_()).text
    losses = Page(report.losses._repr_html_()).text
    for column in report.losses.columns:
        assert column.name in losses
        assert " ".join(percent(column.share).split()) in losses
    compared = covey.compare(demo.people(60), demo.schema(), k=[3, 99], methods=["mondrian"])
    shown = Page(compared._repr_html_()).text
    assert f"{compared.runs[0].losses.total_il:,.1f}" in shown  # type: ignore[union-attr]
    assert compared.runs[1].error in shown  # type: ignore[operator]
    assert len(release._repr_html_()) < 5_000


def test_a_release_that_shows_little_says_so() -> None:
    """Verified and green, with half of everything lost: the custodian should know why."""
    people = demo.people(200)
    wide = ["age", "sex", "zip", "occupation", "education", "country_of_birth", "admission_date"]
    little = covey.anonymize(people, quasi=wide, sensitive=["diagnosis"], k=20, seed=1).report
    assert little.mean_loss > 1 / 3
    assert any("of the information is lost" in warning for warning in little.warnings)
    (nothing,) = (w for w in little.warnings if "almost nothing of" in w)
    lost = [column.name for column in little.losses.columns if column.il >= 0.9]
    assert lost
    assert all(name in nothing for name in lost)
    much = covey.anonymize(people, quasi=["sex"], sensitive=["diagnosis"], k=5, seed=1).report
    assert not any("lost" in w or "almost nothing" in w for w in much.warnings)
