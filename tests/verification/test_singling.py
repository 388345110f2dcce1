"""Rows that columns beside the quasi-identifiers single out: counted, judged and said."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from command_line import Folder
from covey import demo
from covey.inspection import known as judging
from covey.inspection.known import kept_columns
from covey.measures import singling
from covey.measures.singling import Combinations, Tries
from covey.report import About
from covey.report.singled import SingledOut
from covey.schema import Schema
from covey.tables import Table
from covey.tables.merging import merged
from examples import examples

# ── counting, against brute force ───────────────────────────────────────────────────────────────

COLUMNS = ("a", "b", "q", "r")
CELLS = st.sampled_from(["1", "2", "3", "", "x"])
ROW = st.tuples(CELLS, CELLS, CELLS, st.sampled_from(["1", "2"]), st.sampled_from(["p", "s", None]))


def by_hand(
    rows: Sequence[Mapping[str, Any]], known: Sequence[str], present: Sequence[str], k: int
) -> tuple[int, int]:
    """Rows that knowing these columns singles out, and rows that fewer than k rows fit."""
    single = few = 0
    for row in rows:
        if any(row[name] == "" for name in present):
            continue
        fits = [r for r in rows if all(r[name] == row[name] for name in known)]
        whose = {r["owner"] for r in fits} - {None}
        single += len(fits) == 1 or len(whose) == 1
        few += len(fits) < k
    return single, few


@given(st.lists(ROW, min_size=1, max_size=14), st.booleans(), st.integers(2, 4), st.data())
@examples(150)
def test_attempts_are_counted_as_by_hand_and_alike_in_parts(
    rows: list[tuple[Any, ...]], owned: bool, k: int, data: st.DataObject
) -> None:
    frame = pl.DataFrame(rows, dict.fromkeys([*COLUMNS, "owner"], pl.String), orient="row")
    owners = frame["owner"] if owned else None
    cut = data.draw(st.integers(0, len(rows)))
    tries = [
        Tries.of(
            Table(frame[part].drop("owner")),
            *(["a", "b"],),
            together=["a", "b"],
            classes=["q", "r"],
            owners=None if owners is None else owners[part],
        )
        for part in (slice(None), slice(0, cut), slice(cut, None))
    ]
    listed = [row if owned else {**row, "owner": None} for row in frame.to_dicts()]
    whole, parts = tries[0].attempts(k), (tries[2] + tries[1]).attempts(k)
    assert len(whole) == 5
    for attempt in whole:
        known = [*attempt.columns, *(["q", "r"] if attempt.classes else [])]
        assert (attempt.rows, attempt.few) == by_hand(listed, known, attempt.columns, k), attempt
    assert set(parts) == set(whole)


@pytest.mark.parametrize(("values", "owned"), [(10, False), (1000, True), (100_000, False)])
def test_many_combinations_are_estimated(
    values: int, owned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(singling, "_MOST_KEYS", 1 << 12)
    cells = pl.Series([f"person {number}" for number in range(values)] + ["twice"] * 2)
    hashes = cells.hash(1).to_numpy()
    owners = pl.Series(range(len(cells))) if owned else None
    parts = [
        Combinations.of(hashes[start::7], None if owners is None else owners[start::7])
        for start in range(7)
    ]
    for order in (parts, parts[::-1]):
        found = merged(order)
        assert found is not None
        assert found.distinct == pytest.approx(values + 1, rel=0.05)
        assert found.single() == pytest.approx(values, rel=0.05)
        assert found.sampled == (values > 1 << 12)
    assert Combinations.of(hashes).single() == values  # exact in one batch
    assert not Combinations.of(hashes).sampled


# ── what others may know ────────────────────────────────────────────────────────────────────────

PEOPLE = {
    "age": [20 + n % 2 for n in range(40)],
    "zip": [f"101{n % 20:02}" for n in range(40)],
    "admission": [f"2024-03-{1 + n // 8:02}" for n in range(40)],
    "creatinine": [f"{0.5 + n / 37:.3f}" for n in range(40)],
    "income": [20_000 + 137 * n for n in range(40)],
    "diagnosis": [("flu", "gout", "cold", "asthma")[n % 4] for n in range(40)],
    "job": [("baker", "nurse", "smith")[n % 3] for n in range(40)],
    "country": ["DE"] * 40,
}
FRAME = pl.DataFrame(PEOPLE)


def schema(**roles: str) -> Schema:
    age = {"age": {"role": "quasi", "type": "numeric"}}
    return Schema.from_dict({"columns": age | {n: {"role": r} for n, r in roles.items()}})


def released(known: Schema, **more: Any) -> covey.Release:
    frame = FRAME.select(list(known.columns))
    return covey.anonymize(frame, known, k=10, seed=1, register=False, **more)


@pytest.mark.parametrize(
    ("column", "role", "known", "doubted"),
    [
        ("zip", "insensitive", True, True),
        ("zip", "sensitive", True, True),
        ("admission", "insensitive", True, True),
        ("admission", "sensitive", True, True),
        ("job", "sensitive", True, True),
        ("diagnosis", "insensitive", True, True),
        ("diagnosis", "sensitive", False, False),
        ("creatinine", "insensitive", False, False),
        ("creatinine", "sensitive", False, False),
        ("income", "insensitive", False, False),
        ("country", "insensitive", False, False),  # the same in every row
    ],
)
def test_what_others_may_know(column: str, role: str, known: bool, doubted: bool) -> None:
    (found,) = kept_columns(Table(FRAME.cast(pl.String)), schema(**{column: role}))
    assert (found.name, found.known, found.is_in_doubt) == (column, known, doubted)


def test_columns_called_harmless_single_people_out() -> None:
    found = released(schema(zip="insensitive", admission="insensitive", income="sensitive"))
    worst = found.report.singled.worst
    assert worst is not None
    assert (worst.columns, worst.classes, worst.rows) == (("zip", "admission"), False, 40)
    headline = found.report.headline
    assert (headline.level, headline.state[-5:]) == ("warning", "quasi")
    assert "40 rows can still be singled out by zip and admission" in headline.text
    assert [one.columns for one in found.report.singled.apart] == [("income",)]
    assert {one.name for one in found.report.singled.doubted} == {"zip", "admission"}


@pytest.mark.parametrize("column", ["zip", "admission"])
@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
def test_nobody_is_found_behind_a_green_headline(
    role: str, column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Give both columns a harmless role, and look for the rows of people by their values.

    The attack succeeds if it finds somebody in a release that claims the contrary, as it does where
    covey believes the roles.
    """
    both = {"zip": role, "admission": role, column: "insensitive"}

    def is_fooled() -> bool:
        release = released(schema(**both))
        alone = release.table.select(["zip", "admission"]).is_unique().sum()
        return bool(alone) and release.report.headline.level == "good"

    assert not is_fooled()
    monkeypatch.setattr(judging, "_may_be_known", lambda *_: False)
    assert is_fooled()


def test_measurements_and_amounts_raise_no_alarm() -> None:
    roles = {"income": "insensitive", "creatinine": "sensitive", "diagnosis": "sensitive"}
    found = released(schema(**roles)).report.singled
    assert (found.worst, found.doubted, [*found.clauses()]) == (None, (), [])
    assert {one.columns[0]: one.rows for one in found.apart} == {"income": 40, "creatinine": 40}


TWICE = pl.DataFrame({
    "who": [n // 2 for n in range(40)],
    "age": ["30"] * 40,
    "zip": [f"101{n // 2:02}" for n in range(40)],
})  # fmt: skip


def test_all_rows_of_one_person_single_out_that_person() -> None:
    given = Schema.of(quasi={"age": "categorical"}, identifier=["who"], insensitive=["zip"])
    counted: list[tuple[Any, int]] = [("who", 40), (False, 0)]
    for person, rows in counted:
        made = covey.anonymize(TWICE, given, k=5, person=person, seed=1, register=False)
        found = made.report.singled.attempts
        assert {one.rows for one in found} == {rows}, person


def test_a_report_afterwards_counts_the_persons_whose_column_was_released(tmp_path: Path) -> None:
    given = Schema.of(quasi={"age": "categorical"}, insensitive=["zip", "who"])
    made = covey.anonymize(TWICE, given, k=5, person="who", seed=1, register=False)
    for place, table in (("in", TWICE), ("out", made.table)):
        (tmp_path / place).mkdir()
        table[:21].write_parquet(tmp_path / place / "0.parquet")
        table[21:].write_parquet(tmp_path / place / "1.parquet")
    for before, after in ((TWICE, made.table), (str(tmp_path / "in"), str(tmp_path / "out"))):
        found = covey.report_on(before, after, given, k=5, person="who").singled
        assert {one.rows for one in found.attempts} == {40}


def test_very_many_columns_are_counted_and_not_all_named() -> None:
    names = [f"x{number}" for number in range(250)]
    cells = {name: [n % 2 for n in range(40)] for name in names}
    given = Schema.of(quasi={"age": "categorical"}, insensitive=names)
    frame = pl.DataFrame({"age": ["30"] * 40, **cells})
    report = covey.anonymize(frame, given, k=10, seed=1, register=False).report
    assert len(report.singled.columns) == len(report.singled.doubted) == 250
    assert "x3 and 246 more" in report.headline.text
    assert len([p for p in report.points if "covey would call" in p]) == 6


def test_rows_that_form_no_classes_are_tried_without_them() -> None:
    made = released(schema(zip="insensitive"), method="nh")
    assert {one.classes for one in made.report.singled.attempts} == {False}


# ── confirmed and accepted ──────────────────────────────────────────────────────────────────────


def test_a_confirmed_column_raises_no_alarm_and_stays_in_the_report() -> None:
    given = schema(zip="insensitive").with_settings("zip", confirmed="drawn at random")
    given = given.with_role("admission", "insensitive", confirmed="shifted at random")
    report = released(given).report
    assert report.singled.worst is None
    assert report.singled.doubted == ()
    assumed = report.singled.assumed
    assert assumed is not None
    assert (assumed.columns, assumed.rows) == (("zip", "admission"), 40)
    assert report.headline.level == "good"
    assert "nobody outside knows zip and admission, as confirmed" in report.headline.text
    assert any("'zip'" in p and "drawn at random" in p for p in report.points)


def test_what_is_accepted_is_in_the_report(tmp_path: Path) -> None:
    made = released(schema(zip="insensitive", job="sensitive"))
    path = tmp_path / "report.json"
    reason = "agreed with the data protection officer"
    about = About(accept=reason)
    report = made.write(tmp_path / "out.csv", report=path, about=about, register=False)
    assert report.headline.level == "warning"  # what was counted is true as before
    assert not [c for c in report.headline.clauses if "nobody has confirmed" in c]
    assert len([p for p in report.points if reason in p]) == 2
    assert report.to_dict()["about"]["accept"] == reason
    assert reason in report.to_html()


@pytest.mark.parametrize(
    ("role", "reason", "wrong"),
    [("insensitive", " ", "must say why"), ("quasi", "known", "as they are")],
)
def test_a_confirmation_must_say_something(role: str, reason: str, wrong: str) -> None:
    settings = {"role": role, "type": "categorical", "confirmed": reason}
    with pytest.raises(covey.SchemaError, match=wrong):
        Schema.from_dict({"columns": {"zip": settings}})


def test_a_confirmation_is_kept_in_the_file_and_goes_with_its_role(tmp_path: Path) -> None:
    given = schema(zip="insensitive").with_settings("zip", confirmed='drawn "at random"')
    (tmp_path / "covey.toml").write_text(given.to_toml())
    assert Schema.from_toml(tmp_path / "covey.toml") == given
    for role in ("quasi", "sensitive", "identifier"):
        assert given.with_role("zip", role, type="categorical").columns["zip"].confirmed is None


def test_a_confirmation_does_not_change_the_groups() -> None:
    given = schema(zip="insensitive")
    made = [
        covey.anonymize(FRAME["age", "zip"], one, k=10, key=b"k" * 32, register=False)
        for one in (given, given.with_settings("zip", confirmed="drawn at random"))
    ]
    assert made[0].table.equals(made[1].table)


# ── the same from any side ──────────────────────────────────────────────────────────────────────


def found_in(report: covey.Report) -> tuple[Any, ...]:
    one: SingledOut = report.singled
    return one.columns, one.attempts, one.apart


def test_memory_parts_and_a_report_afterwards_find_the_same(tmp_path: Path) -> None:
    frame = demo.people(300, seed=3)
    columns = demo.schema().columns
    given = Schema(columns=columns).with_role("zip", "insensitive")
    given = given.with_role("admission_date", "insensitive")
    given = given.without("name", "birth_date")
    frame = frame.drop("name", "birth_date")
    (tmp_path / "in").mkdir()
    for part in range(3):
        frame[part * 100 : part * 100 + 100].write_parquet(tmp_path / "in" / f"{part}.parquet")
    request: dict[str, Any] = {"k": 5, "effort": "fast", "seed": 1}
    whole = covey.anonymize(frame, given, register=False, **request)
    parts = covey.anonymize(
        str(tmp_path / "in"), given, to=tmp_path / "out", register=False, **request
    )
    afterwards = covey.report_on(frame, whole.table, given, k=5)
    later = covey.report_on(str(tmp_path / "in"), str(tmp_path / "out"), given, k=5)
    worst = whole.report.singled.worst
    assert worst is not None
    assert "admission_date" in worst.columns
    assert found_in(afterwards) == found_in(whole.report)
    assert found_in(parts.report)[0] == found_in(whole.report)[0]
    for report in (parts.report, later):
        assert set(found_in(report)[1]) == set(found_in(whole.report)[1])


@pytest.mark.parametrize("roles", ["demonstration", "readme"])
def test_newcomers_meet_no_alarm(roles: str) -> None:
    frame = demo.people(300, seed=1)
    columns: dict[str, Any] = {"quasi": ["age", "sex", "zip"], "sensitive": ["diagnosis"]}
    named: dict[str, Any] = {"schema": demo.schema()} if roles == "demonstration" else columns
    made = covey.anonymize(frame, k=5, effort="fast", seed=1, register=False, **named)
    assert made.report.singled.doubted == ()
    assert made.report.headline.level == "good"


@pytest.mark.parametrize(
    ("values", "require", "point"),
    [
        (["flu"] * 20 + ["gout", "cold"] * 10, {}, "50.0"),
        (["flu", "gout"] * 20, {}, "costs nothing"),
        (["flu", "gout"] * 20, {"l": 2}, None),
    ],
)
def test_a_sensitive_column_without_a_requirement_is_a_point(
    values: list[str], require: dict[str, Any], point: str | None
) -> None:
    frame = pl.DataFrame({"age": ["20"] * 20 + ["60"] * 20, "diagnosis": values})
    given = Schema.of(quasi={"age": "categorical"}, sensitive=["diagnosis"])
    made = covey.anonymize(frame, given, k=20, seed=1, register=False, **require)
    found = [p for p in made.report.points if "'diagnosis'" in p]
    assert len(found) == (point is not None)
    assert point is None or (point in found[0] and "l = 2" in found[0])


def test_the_command_line_accepts_and_says_so(folder: Folder) -> None:
    """`--accept` is in the report, and hides nothing that was found."""
    roles = (
        "--quasi",
        "age,sex",
        "--sensitive",
        "diagnosis",
        "--insensitive",
        "zip,admission_date",
    )
    command = ("anonymize", "people.csv", *roles, "-k", "5", "-o", "out.csv", "--no-register")
    plain = folder.covey(*command, "--report", "report.json")
    accepted = folder.covey(*command, "--report", "report.json", "--accept", "for <us> alone")
    assert (plain.code, accepted.code) == (0, 0)
    for ran in (plain, accepted):
        assert "can still be singled out by zip and admission_date" in ran.err
    report = json.loads((folder.path / "report.json").read_text(encoding="utf-8"))
    assert report["about"]["accept"] == report["singled_out"]["accepted"] == "for <us> alone"
    assert report["headline"]["level"] == "warning"
    alone = folder.covey(*command, "--accept", "for us")
    assert (alone.code, "report" in alone.err) == (2, True)
