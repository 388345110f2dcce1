"""What each k protects from and costs: the points are those of releases."""

import importlib.util
import json
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import covey
from command_line import Folder, Ran
from covey import demo
from covey._core.arrays import Longs
from covey.cli import main as cli
from covey.clustering import METHODS, Method
from covey.clustering.progress import STOPPED
from covey.custody.ordering import keyed_order, people_as_read
from covey.encoding import EncodedTable, Style, encode
from covey.generalisation import generalise
from covey.report import charts
from covey.schema.requirements import KAnonymity
from covey.studies import curves, marks
from covey.studies.curves import Curve, Point
from examples import examples
from oracles import metrics
from tables_of_people import People, as_shown, people

ROWS = 90
MORE = ["loss_without", "uses_kept", "uses_overlap"]  # not in every curve
FIGURES = [name for name in Point.__annotations__ if name not in MORE]


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return demo.people(ROWS)


def point(k: int, loss: float, **figures: Any) -> Point:
    usual: dict[str, Any] = {"highest_risk": 1 / k, "average_risk": 0.9 / k, "loss": loss / 100,
                             "gcp": loss / 200, "groups": 9, "largest": 11, "suppressed": 0,
                             "found_for": k, "seconds": 0.5}  # fmt: skip
    return Point(k=k, total_il=loss, **(usual | figures))


def curve_of(*points: Point) -> Curve:
    return Curve(points, rows=100, method="covey", options={}, measure="height")


# ── points ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["covey", "k-member", "mondrian", "kacpc"])
def test_a_point_is_what_anonymize_loses(frame: pl.DataFrame, method: str) -> None:
    found = covey.curve(frame, demo.schema(), k=[2, 3, 7, 20, 45, 90], method=method, seed=5)
    for some in found.points:
        asked: dict[str, Any] = {"require": KAnonymity(some.found_for), "method": method, "seed": 5}
        release = covey.anonymize(frame, demo.schema(), **asked, **found.options)
        losses, risks = release.report.losses, release.verdict.risks
        assert some.highest_risk == risks.prosecutor
        assert (some.average_risk, some.total_il, some.gcp, some.loss) == pytest.approx(
            (risks.prosecutor_average, losses.total_il, losses.gcp, 1 - losses.precision), rel=1e-12
        )
        assert some.groups == release.groups.count
        assert some.largest == max(np.bincount(release.groups.labels))
        assert some.suppressed == 0
        assert some.found_for >= some.k
        assert some.seconds > 0
    assert [some.k for some in found.points] == [2, 3, 7, 20, 45, 90]
    assert (found.rows, found.method, found.measure) == (ROWS, method, "height")


@given(people(most=30, columns=3), st.integers(0, 9))
@examples(60)
def test_losses_are_those_of_the_oracle_and_never_fall(table: People, seed: int) -> None:
    """By a method that forms legal groups at random and suppresses some rows."""
    formed: dict[int, list[int]] = {}

    def random_groups(encoded: EncodedTable, k: int, *, seed: int, progress: Any) -> covey.Groups:
        random = np.random.default_rng((seed, k))
        labels = np.minimum(np.arange(encoded.rows) // k, encoded.rows // k - 1)
        labels = random.permutation(labels)
        if labels.max() > 0 and random.random() < 0.5:
            labels = np.where(labels == labels.max(), -1, labels)
        formed[k] = labels.tolist()
        return covey.Groups(labels)

    ks = [k for k in (2, 3, 5, 8) if k <= table.rows]
    assume(ks)
    found = covey.curve(table.table, table.schema, k=ks, method=random_groups, seed=seed)
    rows = rows_in_order(table, seed)
    for some in found.points:
        in_input_order = np.empty(table.rows, dtype=np.int64)
        in_input_order[rows] = formed[some.found_for]
        labels = in_input_order.tolist()
        known = as_shown(table.oracle, metrics.groups_of(labels))
        loss = metrics.total_il(known, labels, table.schema.loss)
        assert some.total_il == pytest.approx(loss, rel=1e-9, abs=1e-12)
        assert some.gcp == pytest.approx(metrics.gcp(known, labels), rel=1e-9, abs=1e-12)
        assert some.suppressed == labels.count(-1)
        assert some.k <= some.found_for
        sizes = class_sizes(table, labels)
        assert some.highest_risk == 1 / min(sizes)
        assert some.average_risk == pytest.approx(len(sizes) / sum(sizes))
    assert all(one.total_il <= other.total_il for one, other in pairwise(found.points))


def rows_in_order(table: People, seed: int) -> Longs:
    """The rows as a method sees them."""
    people = people_as_read(table.table, table.schema)
    encoded = encode(people.table, table.schema)
    frame = people.table.frame
    others = frame.select(sorted({*frame.columns} - {*table.schema.quasi}))
    return people.selection.rows[keyed_order(encoded, others, seed)]


def class_sizes(table: People, labels: Sequence[int]) -> list[int]:
    """The rows of each class of the release of these groups, by its cells."""
    kept = [row for row, label in enumerate(labels) if label >= 0]
    people = people_as_read(table.table, table.schema)
    back = np.searchsorted(people.selection.rows, kept)
    encoded = encode(people.table, table.schema)
    own = covey.Groups(np.unique([labels[row] for row in kept], return_inverse=True)[1])
    some = people.table.with_frame(people.table.frame[back.tolist()])
    shown = generalise(some, encoded.take(back), own, Style())
    quasi = [name for name in shown.frame.columns if name in table.schema.quasi]
    return shown.frame.select(quasi).group_by(quasi).len()["len"].to_list()


# ── persons ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def stays() -> pl.DataFrame:
    """Stays in hospital: a few of the 60 patients have many."""
    rows = demo.people(150)
    return rows.with_columns(patient=pl.Series([i % 60 if i < 120 else i % 3 for i in range(150)]))


def stays_schema(**require: Any) -> covey.Schema:
    columns = {**demo.schema().columns, "patient": covey.Column(role="identifier")}
    return covey.Schema.from_dict({"columns": columns, "require": require})


@pytest.mark.parametrize("method", ["covey", "mondrian"])
def test_a_point_in_persons_is_what_anonymize_finds(stays: pl.DataFrame, method: str) -> None:
    schema = stays_schema()
    found = covey.curve(stays, schema, k=[2, 5, 12], person="patient", method=method, seed=5)
    assert (found.person, found.counted) == ("patient", "persons")
    assert any(point.highest_risk > 1 / point.k for point in found.points)
    for some in found.points:
        asked = KAnonymity(some.found_for, "patient")
        release = covey.anonymize(
            stays, schema, require=asked, method=method, seed=5, **found.options
        )
        assert some.total_il == pytest.approx(release.report.losses.total_il, rel=1e-12)
        assert some.highest_risk == release.verdict.risks.prosecutor
        average = release.verdict.risks.prosecutor_average
        assert some.average_risk == pytest.approx(average, rel=1e-12)


def test_the_limit_on_a_share_has_its_price_at_each_k(stays: pl.DataFrame) -> None:
    schema = stays_schema(person="patient")
    found = covey.curve(stays, schema, limit_share=True, seed=5)
    usual = covey.curve(stays, schema, k=[p.k for p in found.points], seed=5)
    most = max(Counter(stays["patient"]).values())
    assert found.points[-1].k <= stays.height / most  # beyond, nobody could release the table
    for point, without in zip(found.points, usual.points, strict=True):
        assert point.highest_risk <= 1 / point.k
        assert point.loss_without is not None
        assert point.loss_without <= min(point.loss, without.loss)
    assert any(point.loss > (point.loss_without or 0) for point in found.points)
    assert "loss_without" in found.frame.columns
    assert "loss_without" not in usual.frame.columns


def test_the_schema_says_what_k_counts_unless_the_request_does(stays: pl.DataFrame) -> None:
    with pytest.raises(covey.GuaranteeError, match="'patient' repeats"):
        covey.curve(stays, stays_schema(), k=[3])
    by_schema = covey.curve(stays, stays_schema(person="patient"), k=[3], seed=1)
    by_request = covey.curve(stays, stays_schema(), k=[3], person="patient", seed=1)
    rows = covey.curve(stays, stays_schema(person="patient"), k=[3], person=False, seed=1)
    assert by_schema.points[0].total_il == by_request.points[0].total_il
    assert rows.person is None
    assert rows.points[0].highest_risk == pytest.approx(1 / 3)
    assert rows.points[0].total_il != by_schema.points[0].total_il


def test_no_k_is_larger_than_the_number_of_persons(stays: pl.DataFrame) -> None:
    few = stays.with_columns(patient=pl.Series([i % 7 for i in range(150)]))
    schema = stays_schema(person="patient")
    assert [p.k for p in covey.curve(few, schema, effort="fast").points] == [2, 3, 4, 5, 6]
    began: list[str] = []
    with pytest.raises(covey.InfeasibleError, match="only 7 persons"):
        covey.curve(few, schema, k=[2, 8], progress=lambda stage, _: began.append(stage))
    assert began == ["reading"]  # refused before any work


@pytest.fixture
def hospital(folder: Folder, stays: pl.DataFrame) -> Folder:
    """With the stays, and a schema of them."""
    stays.write_csv("stays.csv")
    with Path("people.toml").open("a") as file:
        file.write('\n[columns.patient]\nrole = "identifier"\n')
    return folder


@pytest.mark.parametrize(
    ("more", "code", "expected"),
    [
        (["--person", "patient"], 0, '"person": "patient"'),
        (["--count-rows"], 0, '"person": null'),
        ([], 1, "'patient' repeats"),
        (["--count-rows", "--person", "patient"], 2, "only one of --person and --count-rows"),
    ],
)
def test_the_command_counts_persons_or_rows(
    hospital: Folder, more: list[str], code: int, expected: str
) -> None:
    request = ["-s", "people.toml", "-k", "5", "--seed", "1", "--json"]
    ran = hospital.covey("curve", "stays.csv", *request, *more)
    assert (ran.code, expected in ran.out + ran.err) == (code, True)


# ── published rules ─────────────────────────────────────────────────────────────────────────────


def test_every_mark_names_its_source_and_is_in_the_documentation() -> None:
    page = " ".join(Path(__file__).parents[2].joinpath("docs/curve.md").read_text().split())
    for mark in marks.MARKS:
        assert (mark.cell is None) != (mark.risk is None)
        assert mark.source.startswith("http")
        for said in (mark.title, mark.publisher, mark.says.rstrip("."), mark.source):
            assert said in page, (mark.name, said)
        assert str(mark.year or "undated") in page
    assert sorted(mark.k for mark in marks.MARKS) == [3, 3, 5, 7, 10, 10, 11, 12, 20, 20]


def test_marks_are_in_the_picture_and_in_the_json() -> None:
    found = curve_of(*(point(k, float(k)) for k in (2, 10, 50)))
    texts = svg_texts(charts.svg(found.chart()))
    for rule in ("3 BA, INE", "5 OECD", "7 NHS", "10 ABS, ONS", "11 CMS", "20 public files"):
        assert rule in texts
    assert "9\u2009% common threshold" in texts
    near = svg_texts(charts.svg(curve_of(point(8, 1.0), point(9, 2.0)).chart()))
    assert not [text for text in near if text.endswith((" CMS", " OECD", " NHS", "file"))]
    told = found.to_dict()["marks"]
    assert [(one["cell"], one["k"]) for one in told if one["name"] == "CMS"] == [(11, 11)]


def test_a_report_shows_the_curve_in_what_k_counts(hospital: Folder) -> None:
    request = ["-s", "people.toml", "-k", "5", "--person", "patient", "--effort", "fast"]
    files = ["-o", "o.csv", "--report", "r.json", "--report", "r.html", "--curve"]
    code, _, err = hospital.covey("anonymize", "stays.csv", *request, *files)
    assert code == 0, err
    told = json.loads(Path("r.json").read_text())["curve"]
    assert told["person"] == "patient"
    assert max(point["k"] for point in told["points"]) <= 60  # there are no more patients
    assert "number of persons in a class" in Path("r.html").read_text()


def test_a_larger_k_that_lost_less_does_for_smaller_ones_too() -> None:
    found = curves.rising(
        [point(2, 5.0), point(3, 9.0, seconds=0.1), point(4, 8.0), point(5, 7.0), point(6, 7.0)]
    )
    assert [(p.k, p.found_for) for p in found] == [(2, 2), (3, 5), (4, 5), (5, 5), (6, 6)]
    assert [p.total_il for p in found] == [5.0, 7.0, 7.0, 7.0, 7.0]
    assert found[1].seconds == 0.1  # which its own groups took
    assert curves.rising([]) == []


def test_twenty_ks_by_default_cut_at_the_rows(frame: pl.DataFrame) -> None:
    found = covey.curve(frame, demo.schema(), method="mondrian")
    assert [p.k for p in found.points] == [k for k in curves.KS if k <= ROWS]
    assert len(curves.KS) == 20
    steps = [other / one for one, other in pairwise(curves.KS)]
    assert max(steps) == 1.5
    two = covey.curve(frame[:2], demo.schema(), method="mondrian")
    assert [p.k for p in two.points] == [2]


def test_the_order_of_the_rows_and_the_other_ks_do_not_matter(frame: pl.DataFrame) -> None:
    one = covey.curve(frame, demo.schema(), k=[3, 5, 9])
    other = covey.curve(frame.reverse(), demo.schema(), k=iter([9, 3, 9]))
    assert [p.k for p in other.points] == [3, 9]
    assert one.points[2].total_il == other.points[1].total_il
    assert one.options == {"effort": curves.EFFORT}


def test_options_reach_the_method(frame: pl.DataFrame) -> None:
    quick = covey.curve(frame, demo.schema(), k=[3], seed=1, effort="fast")
    slow = covey.curve(frame, demo.schema(), k=[3], seed=1, effort="balanced")
    assert slow.options == {"effort": "balanced"}
    assert slow.points[0].total_il < quick.points[0].total_il


@pytest.mark.parametrize(
    ("match", "request_"),
    [
        ("no k given", {"k": []}),
        ("k must be at least 2", {"k": [5, 1]}),
        ("k must be a whole number", {"k": [2.5]}),
        ("k = 91 is not possible", {"k": [2, 91]}),
        ("no method 'nope'", {"method": "nope"}),
        ("no option 'nope'", {"nope": 1}),
        ("'effort' must be one of", {"effort": "lazy"}),
        ("seed .*0 or more", {"seed": -1}),
        ("class column 'age'", {"class_column": "age"}),
        ("not k-anonymous", {"method": "nh", "k": [3]}),
    ],
)
def test_a_bad_request_is_refused(
    frame: pl.DataFrame, match: str, request_: dict[str, Any]
) -> None:
    with pytest.raises(covey.CoveyError, match=match):
        covey.curve(frame, demo.schema(), **request_)


def test_a_bad_table_is_refused(frame: pl.DataFrame) -> None:
    with pytest.raises(covey.UsageError, match="no rows"):
        covey.curve(frame[:0], demo.schema())
    with pytest.raises(covey.InfeasibleError, match="k = 2 is not possible"):
        covey.curve(frame[:1], demo.schema())
    with pytest.raises(covey.SchemaError, match=r"Schema\.from_toml"):
        covey.curve(frame, {"columns": {}})  # type: ignore[arg-type]
    with pytest.raises(covey.SchemaError, match="without a role"):
        covey.curve(frame.with_columns(x=1), demo.schema())


def test_groups_that_are_too_small_are_caught(frame: pl.DataFrame) -> None:
    def pairs(table: EncodedTable, k: int, *, seed: int, progress: Any) -> covey.Groups:
        return covey.Groups(np.arange(table.rows) // 2)

    with pytest.raises(covey.GuaranteeError, match="2 rows, but k = 3"):
        covey.curve(frame, demo.schema(), k=[2, 3], method=pairs)


def test_progress_names_the_k_and_tells_how_much_is_done(frame: pl.DataFrame) -> None:
    told: list[tuple[str, float]] = []
    covey.curve(
        frame, demo.schema(), k=[4, 5], method="k-member", progress=lambda *x: told.append(x)
    )
    stages = list(dict.fromkeys(stage for stage, _ in told))
    assert stages == ["reading", "1 of 2: k = 4", "2 of 2: k = 5"]
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1


# ── files and pictures ──────────────────────────────────────────────────────────────────────────


def test_csv_and_json_say_the_same_as_the_points(frame: pl.DataFrame, tmp_path: Path) -> None:
    found = covey.curve(frame, demo.schema(), k=[2, 9, 40])
    found.write(tmp_path / "c.csv")
    found.write(tmp_path / "c.JSON")
    told = json.loads((tmp_path / "c.JSON").read_text())
    rows = pl.read_csv(tmp_path / "c.csv").to_dicts()
    assert rows == told["points"]
    digits = {"total_il": 2, "loss": 4, "gcp": 4, "seconds": 6}  # of all that have any
    risks = ("highest_risk", "average_risk")
    exact = [{n: v for n, v in vars(p).items() if v is not None} for p in found.points]
    assert exact == found.frame.to_dicts()
    assert rows == [
        {
            name: float(f"{figure:.4g}") if name in risks else round(figure, digits.get(name, 0))
            for name, figure in point.items()
        }
        for point in exact
    ]
    assert list(rows[0]) == FIGURES
    assert {*FIGURES, *MORE} == set(curves.DEFINITIONS)
    assert (told["rows"], told["method"], told["options"]) == (ROWS, "covey", found.options)
    assert told == found.to_dict() | {"points": rows}


def test_each_point_says_what_becomes_of_declared_uses(frame: pl.DataFrame) -> None:
    uses = ["mean of length_of_stay by sex", "correlation of age and length_of_stay"]
    known = demo.schema().using(uses)
    found = covey.curve(frame, known, k=[3, 30], seed=1)
    for one in found.points:
        release = covey.anonymize(
            frame, known, require=covey.KAnonymity(one.found_for), seed=1, effort="quick",
            keep_order=True, register=False,
        )  # fmt: skip
        after = covey.utility(frame, covey.read_release(release.table, schema=known)).uses
        assert one.uses_kept == sum(use.is_kept for use in after) / 2
        assert one.uses_overlap == pytest.approx(sum(use.overlap or 0.0 for use in after) / 2)
    assert [*found.frame.columns] == [*FIGURES, "uses_kept", "uses_overlap"]
    assert (found.points[1].uses_overlap or 0.0) < 1


def svg_texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter() if element.text]


def test_the_picture_has_axes_points_and_labels(tmp_path: Path) -> None:
    found = curve_of(*(point(k, float(k)) for k in (2, 3, 4, 5, 10, 20, 25, 50, 100)))
    found.write(tmp_path / "c.svg")
    svg = (tmp_path / "c.svg").read_text()
    texts = svg_texts(svg)
    heads = {"What each k protects from, and what it costs", "risk of re-identification"}
    labels = {"2.0\u2009%", "100.0\u2009%", "50.0\u2009%"}  # 50 %: the highest risk for k = 2
    assert {*heads, "mean loss of a cell", *labels, "5", "10"} <= {*texts}
    assert "25.0\u2009%" not in texts  # too near to 20 %
    # No picture asks for anything elsewhere.
    spaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r'https?://[^"\s]+', svg)) <= spaces
    assert found._repr_svg_() == svg
    found.write(tmp_path / "c.png")
    data = (tmp_path / "c.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    assert (width > 1500, height > 1000) == (True, True)


@pytest.mark.parametrize(
    "points",
    [
        [point(2, 0.0)],
        [point(2, 0.0), point(5, 0.0)],
        [point(7, 1e-7), point(8, 2e-7)],
        [point(2, 3.0), point(1_000_000, 100.0)],
    ],
)
def test_odd_curves_can_be_drawn(points: list[Point]) -> None:
    texts = svg_texts(charts.svg(curve_of(*points).chart()))
    assert f"{points[-1].k:,}" in texts
    assert not [text for text in texts if "NaN" in text or "null" in text]


@pytest.mark.parametrize(
    ("chosen", "is_marked"), [(2, True), (7, True), (100, True), (101, False), (None, False)]
)
def test_a_chosen_k_is_marked_if_it_lies_on_the_curve(chosen: int | None, is_marked: bool) -> None:
    found = curve_of(*(point(k, float(k)) for k in (2, 10, 100)))
    texts = svg_texts(charts.svg(found.chart(chosen=chosen)))
    assert (f"k = {chosen}" in texts) == is_marked
    assert is_marked == any(text.startswith("k = ") for text in texts)


def test_marks_stand_apart_and_are_round_where_they_can() -> None:
    assert curves.apart(curves.KS, 0.07) == [2, 3, 5, 10, 20, 30, 50, 100, 200]
    assert curves.apart(curves.KS, 0.13) == [2, 5, 10, 20, 50, 100, 200]
    assert curves.apart([7], 0.1) == [7]
    assert curves.apart([7, 8], 0.1) == [7, 8]


@given(
    st.lists(st.integers(2, 10**6), min_size=1, max_size=30, unique=True).map(sorted),
    st.sampled_from([0.05, 0.1, 0.3]),
)
def test_marks_stand_apart_whatever_the_ks(ks: Sequence[int], share: float) -> None:
    chosen = curves.apart(ks, share)
    assert {ks[0], ks[-1]} <= set(chosen) <= set(ks)
    least = (ks[-1] / ks[0]) ** (share * (1 - 1e-9))
    assert all(other / one >= least for one, other in pairwise(chosen))
    assert len(chosen) <= 1 / share + 1


@pytest.mark.parametrize("absent", ["altair", "vl_convert"])
def test_without_the_extra_pictures_are_refused_and_tables_are_not(
    absent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(charts, "find_spec", lambda name: None if name == absent else known(name))
    found = curve_of(point(2, 1.0))
    found.write(tmp_path / "c.csv")
    assert found._repr_svg_() is None
    for draw in (found.chart, lambda: found.write(tmp_path / "c.svg")):
        with pytest.raises(covey.UsageError, match=re.escape("covey[charts]")):
            draw()
    assert [path.name for path in tmp_path.iterdir()] == ["c.csv"]


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(covey.OutputError, match=r"\.csv, \.json, \.svg or \.png"):
        curve_of(point(2, 1.0)).write(tmp_path / "c.pdf")
    assert not list(tmp_path.iterdir())


# ── the command ─────────────────────────────────────────────────────────────────────────────────


def curve(folder: Folder, *more: object) -> Ran:
    return folder.covey("curve", "people.csv", "-s", "people.toml", *more)


def test_the_command_shows_and_writes(folder: Folder) -> None:
    request = ["-k", "2,12,5", "--seed", 3, "--option", "effort=balanced"]
    files = ["out.csv", "out.json", "out.svg", "out.png"]
    code, out, err = curve(folder, *request, *(part for name in files for part in ("-o", name)))
    assert (code, err) == (0, "covey: detected encoding utf-8, delimiter ','\n")
    schema = covey.Schema.from_toml("people.toml")
    found = covey.curve("people.csv", schema, k=[2, 5, 12], seed=3, effort="balanced")
    lines = [line.replace(" %", "%").split()[:5] for line in out.splitlines()]
    for p in found.points:
        risks = [f"{share:.1%}" for share in (p.highest_risk, p.average_risk)]
        loss = f"{100 * round(p.loss, 4):.1f}%"  # from the digits that are written
        assert [f"{p.k}", *risks, f"{p.groups}", loss] in lines
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out.replace("0 … 100 %", "")
    assert "11 (CMS)" in " ".join(out.split())
    written = pl.read_csv("out.csv").drop("seconds")
    for name, places in {"total_il": 2, "loss": 4, "gcp": 4}.items():
        told = [round(figure, places) for figure in found.frame[name]]
        assert written[name].to_list() == told
    whole = ["k", "groups", "largest", "suppressed", "found_for"]
    assert written.select(whole).equals(found.frame.select(whole))
    code, out, _ = curve(folder, *request, "--json")
    assert code == 0
    assert [p["total_il"] for p in json.loads(out)["points"]] == written["total_il"].to_list()
    assert all((folder.path / name).stat().st_size for name in files)


def test_another_method_and_a_class_column(folder: Folder) -> None:
    request = ["--method", "k-member", "-O", "penalty=50", "--json", "-k", "3", "--seed", 1]
    code, out, _ = curve(folder, *request, "--class-column", "diagnosis")
    assert code == 0
    told = json.loads(out)
    assert (told["method"], told["options"]) == ("k-member", {"penalty": 50})
    _, plain, _ = curve(folder, *request)
    assert told["points"][0]["total_il"] > json.loads(plain)["points"][0]["total_il"]


@pytest.mark.parametrize("keeps", [False, True])
def test_interrupted_it_gives_the_points_that_it_has(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, keeps: bool
) -> None:
    """Also by a method that, interrupted, would go on with what it has."""

    def tired(table: EncodedTable, k: int, *, seed: int, progress: Any) -> covey.Groups:
        if k == 9 and keeps:
            progress(STOPPED, 1.0)
        elif k == 9:
            raise KeyboardInterrupt
        return covey.Groups(np.zeros(table.rows, dtype=np.int64))

    monkeypatch.setitem(METHODS, "tired", Method("tired", tired, "", ""))
    code, out, err = curve(folder, "--method", "tired", "-k", "2,3,9,20", "-o", "out.csv")
    assert code == 130
    assert "covey: error: interrupted" in err
    assert "tired" in out
    assert pl.read_csv("out.csv")["k"].to_list() == [2, 3]
    code, out, _ = curve(folder, "--method", "tired", "-k", "9", "-o", "none.csv")
    assert (code, out) == (130, "")
    assert not (folder.path / "none.csv").exists()


@pytest.mark.slow
def test_a_real_interruption_ends_the_command(tmp_path: Path) -> None:
    """By the own method, which catches it while it refines."""
    demo.write(tmp_path, 1_500)
    program = (
        "import os, signal, sys\n"
        "from covey.cli import main as cli\n"
        "from covey.studies import curves\n"
        "told = curves.part_of\n"
        "def part(progress, stage, done, total):\n"
        "    tell = told(progress, stage, done, total)\n"
        "    def hit(what, share):\n"
        "        if done == 2 and 0.2 < share < 1:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "        tell(what, share)\n"
        "    return hit\n"
        "curves.part_of = part\n"
        "sys.exit(cli.run(sys.argv[1:]))\n"
    )
    request = ["curve", "people.csv", "-s", "people.toml", "-k", "5,10,15,20",
               "-O", "effort=balanced", "-o", "out.csv"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program, *request], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == cli.INTERRUPTED
    assert pl.read_csv(tmp_path / "out.csv")["k"].to_list() == [5, 10]
