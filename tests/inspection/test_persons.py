"""Persons, not rows: a table in which persons repeat is not released as if each row were one."""

import datetime
import random
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import covey
from covey import demo, tables
from covey.cli import main as cli
from covey.encoding import constraints
from covey.engines import memory
from covey.inspection import persons
from covey.inspection.persons import Doubts, Evidence, evidence
from covey.release import WrittenTable
from covey.schema import Require
from covey.schema.requirements import KAnonymity, PersonShare
from covey.tables import Table
from studios import inside, wait

CANARY = "Zq7canary"


def stays(**identifiers: list[object]) -> pl.DataFrame:
    """Forty-two rows; every identifier has one cell for each of them."""
    dice = random.Random(4)
    rows = len(next(iter(identifiers.values())))
    ages = {"step": [dice.randrange(20, 90) for _ in range(rows)]}
    return pl.DataFrame({**identifiers, **ages, "ill": [f"i{n % 3}" for n in range(rows)]})


def schema_of(frame: pl.DataFrame, **settings: Any) -> covey.Schema:
    naming = [name for name in frame.columns if name not in ("age", "step", "ill")]
    quasi = {name: "numeric" for name in frame.columns if name in ("age", "step")}
    return covey.Schema.of(quasi=quasi, identifier=naming, sensitive=["ill"], **settings)


def release_of(frame: pl.DataFrame, person: Any = None) -> covey.Release:
    return covey.anonymize(
        frame, schema_of(frame), require=KAnonymity(3, person), method="mondrian"
    )


def twice(cells: list[str]) -> list[object]:
    """Each of them in two rows, the first in nine more."""
    return [*cells, *cells, *[cells[0]] * 9]


CODES: dict[str, list[object]] = {
    "patient": twice([f"{CANARY}{n}" for n in range(15)]),
    "number": [*range(15), *range(15), *[0] * 9],
    "contact": twice([f"{CANARY}@{c}.example" for c in "abcdefghijklmno"]),
    "reach": twice([f"+49 89 12{n:04}" for n in range(15)]),
    "patientID": twice([f"{CANARY} {c}" for c in "abcdefghijklmno"]),  # no digit, but the name
    "case-id": twice([f"{CANARY} {c}" for c in "abcdefghijklmno"]),
    "social_security": twice([f"123-45-67{n}" for n in range(10, 25)]),  # no dates
    "subject": twice([f"12-{n}-1999" for n in range(32, 47)]),
    "client": twice([f"QX{c}" for c in "ABCDEFGHIJKLMNO"]),
    "person": twice([f"x{c}q" for c in "abcdefghijklmno"]),
}


# ── who repeats ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", CODES)
def test_where_codes_repeat_it_must_be_said_who_is_counted(name: str) -> None:
    frame = stays(**{name: CODES[name]})
    with pytest.raises(covey.GuaranteeError) as caught:
        release_of(frame)
    message = str(caught.value)
    for part in (repr(name), "39 rows of 15 people", "11 rows", f'"{name}"', "person = false"):
        assert part in message
    assert CANARY not in message
    assert release_of(frame, name).verdict.checks[0].name.endswith(f"persons ({name})")
    (asked,) = release_of(frame, False).verdict.checks
    assert (asked.name, asked.holds) == ("k-anonymity", True)


def fewest_persons(release: covey.Release, persons: pl.Series) -> int:
    classes: dict[Any, set[object]] = defaultdict(set)
    shown = release.table.to_series(0)  # the only quasi-identifier
    for row, cell in zip(release.rows.tolist(), shown, strict=True):
        classes[cell].add(persons[row])
    return min(map(len, classes.values()))


def one_patient_of_the_nineties() -> pl.DataFrame:
    """Ten people of one row each, and one of ten rows, far from them."""
    ages = [*range(30, 40), *range(90, 100)]
    return pl.DataFrame({"patient_id": [*range(10), *[99] * 10], "age": ages, "ill": ["x"] * 20})


def test_a_class_of_one_person_was_called_k_anonymous(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack, and the build against which it succeeds."""
    frame = one_patient_of_the_nineties()
    with pytest.raises(covey.GuaranteeError, match="10 rows for one"):
        covey.anonymize(frame, schema_of(frame), require=KAnonymity(10))
    counted = covey.anonymize(frame, schema_of(frame), require=KAnonymity(10, "patient_id"))
    assert fewest_persons(counted, frame["patient_id"]) >= 10
    monkeypatch.setattr(memory, "refuse_unsaid", lambda *_: Doubts())
    release = covey.anonymize(frame, schema_of(frame), require=KAnonymity(10))
    assert release.verdict.holds
    assert fewest_persons(release, frame["patient_id"]) == 1


def one_of_five_with_fifteen_of_twenty_rows() -> pl.DataFrame:
    """A class that k people fill, and one of them most of it; and sixty people of a row each."""
    whose = [*["p0"] * 15, *["p1"] * 2, "p2", "p3", "p4", *(f"q{n}" for n in range(60))]
    ages = [*[90] * 20, *(30 + n % 12 for n in range(60))]
    return pl.DataFrame({"patient_id": whose, "age": ages, "ill": ["x"] * 80})


def chance_to_pick_a_row(release: covey.Release, whose: pl.Series) -> float:
    """Of an adversary who knows everything of a person but the row, for the easiest person."""
    classes: dict[object, Counter[object]] = defaultdict(Counter)
    for cells, row in zip(release.table["age"].to_list(), release.rows.tolist(), strict=True):
        classes[cells][whose[row]] += 1
    return max(max(rows.values()) / rows.total() for rows in classes.values())


def test_one_of_five_people_had_most_rows_of_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack, the build against which it succeeds, and the verifier that notices that build."""
    frame = one_of_five_with_fifteen_of_twenty_rows()
    asked: dict[str, Any] = {"k": 5, "person": "patient_id", "seed": 1}
    counted = covey.anonymize(frame, schema_of(frame), **asked)
    assert chance_to_pick_a_row(counted, frame["patient_id"]) == 0.75
    limited = covey.anonymize(frame, schema_of(frame), limit_share=True, **asked)
    assert limited.table.height == 80
    assert chance_to_pick_a_row(limited, frame["patient_id"]) <= 0.2
    assert limited.report.headline.level == "good"
    every, encode = constraints.constraints_of, sys.modules["covey.encoding.encode"]
    monkeypatch.setattr(encode, "constraints_of", lambda asked, known: every(asked[:1], known))
    with pytest.raises(covey.ViolationError, match=r"0\.75"):
        covey.anonymize(frame, schema_of(frame), limit_share=True, **asked)
    monkeypatch.setattr(PersonShare, "required", 1)
    broken = covey.anonymize(frame, schema_of(frame), limit_share=True, **asked)
    assert chance_to_pick_a_row(broken, frame["patient_id"]) == 0.75


@pytest.mark.parametrize(
    ("whose", "settings", "message"),
    [
        (["a"] * 9 + [*"bcdefghijkl"], {}, "0.45"),
        ([None, *"abcdefghijklmnopqrs"], {}, "1 row without a person"),
        ([*"abcdefghijklmnopqrst"], {"person": False}, "limit_share"),
        ([*"abcdefghijklmnopqrst"], {"k": None, "require": [KAnonymity(3)]}, "limit_share"),
    ],
)
def test_a_share_that_cannot_be_limited_is_refused(
    whose: list[str | None], settings: dict[str, Any], message: str
) -> None:
    frame = pl.DataFrame({"patient_id": whose, "age": [30] * 20, "ill": ["x"] * 20})
    asked = {"k": 3, "person": "patient_id", "limit_share": True, **settings}
    with pytest.raises(covey.CoveyError, match=message):
        covey.anonymize(frame, schema_of(frame), **asked)


def test_rows_of_one_person_are_suppressed_to_limit_a_share() -> None:
    whose = ["a"] * 9 + [*"bcdefghijkl"]
    frame = pl.DataFrame({"patient_id": whose, "age": [30] * 20, "ill": ["x"] * 20})
    asked: dict[str, Any] = {"k": 3, "person": "patient_id", "limit_share": True}
    release = covey.anonymize(frame, schema_of(frame), max_suppressed=0.3, **asked)
    assert release.table.height == 16  # 5 of "a" beside 11 others
    assert chance_to_pick_a_row(release, frame["patient_id"]) <= 1 / 3


NAMES = ["Li", "Ng", "Wu", "Ma", "Xu"]
DATES = [f"19{n}-0{1 + n % 9}-{n - 49}" for n in range(60, 75)]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("who", twice(NAMES)),
        ("patient", twice(NAMES)),
        ("patient", twice(["ANNA BELL", "BOB STONE", "Cara Long"])),
        ("name", twice([f"Zq7canary{c}" for c in "abcdefghi"])),
        ("born", twice(DATES)),
    ],
)
def test_names_and_dates_may_repeat_by_chance(name: str, cells: list[object]) -> None:
    frame = stays(**{name: cells})
    report = release_of(frame).report
    (warning,) = [w for w in report.warnings if "repeat" in w]
    assert repr(name) in warning
    assert (report.headline.level, repr(name) in report.headline.text) == ("warning", True)
    assert release_of(frame, False).report.headline.level == "good"
    assert "canary" not in warning
    assert not any(number in warning for number in "0123456789")  # it is going to be published


def test_long_numbers_of_one_width_are_asked_about_without_a_name_or_facts() -> None:
    dice = random.Random(4)
    given, earned = [[dice.randrange(10**5, 10**6) for _ in range(60)] for _ in range(2)]
    frame = pl.DataFrame({"x": given * 5, "step": [*range(300)]})
    assert covey.inspect(frame).people.is_open
    rounded = frame.with_columns(x=pl.Series([value // 500 * 500 for value in earned] * 5))
    assert not covey.inspect(rounded).people.is_open


def test_identifiers_that_repeat_together_are_no_chance() -> None:
    frame = stays(name=twice(NAMES), born=twice(DATES[:5]))
    with pytest.raises(covey.GuaranteeError, match=r"'name', 'born' repeat together: 19 rows of 5"):
        release_of(frame)
    assert release_of(frame, False).verdict.holds
    # Every name with every day, four times each: that is what chance gives.
    pairs = [(name, date) for name in NAMES for date in DATES[:5]] * 4
    by_chance = stays(name=[n for n, _ in pairs], born=[d for _, d in pairs])
    assert any("'name'" in w for w in release_of(by_chance).report.warnings)
    # What is the same everywhere tells nobody apart: names alone repeat.
    alone = stays(name=twice(NAMES), country=["Zq"] * 19)
    assert any("'name'" in w for w in release_of(alone).report.warnings)
    # Equal names on other days are other people.
    apart = stays(name=[*NAMES * 3], born=[*DATES])
    assert not any("together" in w for w in release_of(apart).report.warnings)


@pytest.mark.parametrize("role", ["drop", "quasi"])
def test_dates_of_birth_that_repeat_more_often_than_people_are_born_limit_the_promise(
    role: str,
) -> None:
    """Beside nothing else, and in no more days than pupils of one year have."""
    dice = random.Random(2)
    days = [datetime.date(1950, 1, 1) + datetime.timedelta(dice.randrange(20_000)) for _ in DATES]
    named: dict[str, Any] = {"quasi": ["age"]}
    named[role] = [*named.get(role, []), "birth_date"]
    year = [datetime.date(2010, 1, 1) + datetime.timedelta(dice.randrange(365)) for _ in range(300)]
    for born, doubt in ((days * 20, True), (year, False)):
        frame = pl.DataFrame({"birth_date": born, "age": [2024 - day.year for day in born]})
        schema = covey.inspect(frame, **named).schema
        found = covey.anonymize(frame, schema, k=3, effort="fast").report.headline.text
        assert ("'birth_date'" in found) is doubt


THREE: dict[str, list[object]] = {
    "patient_name": ["Anna Bell", "Bob Stone", "Cara Long"] * 20,
    "birth_date": ["1950-01-02", "1960-03-04", "1970-05-06"] * 20,
}
UNIQUE: dict[str, list[object]] = {
    "stay_id": [f"S{n:04}" for n in range(60)],
    "id": [*range(60)],
    "patient_id": [*range(60)],
    "note": [f"came in by ambulance on occasion {'x' * n}" for n in range(60)],
    "came": [f"2024-{1 + n % 12:02}-{1 + n // 12:02}" for n in range(60)],
    "admission": [f"2024-01-{1 + n // 3:02}" for n in range(60)],  # not unique, but beside them
}


def three_people(unique: str, *facts: str) -> pl.DataFrame:
    frame = stays(**{unique: UNIQUE[unique], **{fact: THREE[fact] for fact in facts}})
    return frame.with_columns(step=pl.Series([30, 50, 70] * 20))


@pytest.mark.parametrize("unique", UNIQUE)
def test_what_is_unique_hides_nobody(unique: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack, and the build against which it succeeds."""
    frame = three_people(unique, *THREE)
    with pytest.raises(covey.GuaranteeError, match="60 rows of 3 people, up to 20 rows") as caught:
        release_of(frame)
    for name in THREE:
        assert repr(name) in str(caught.value)
    monkeypatch.setattr(persons, "_together", lambda *_: None)
    assert fewest_persons(release_of(frame), frame["patient_name"]) == 1


@pytest.mark.parametrize("unique", [name for name in UNIQUE if name != "patient_id"])
@pytest.mark.parametrize("fact", THREE)
def test_beside_what_is_unique_one_fact_alone_is_warned_of(unique: str, fact: str) -> None:
    frame = three_people(unique, fact)
    (warning,) = [w for w in release_of(frame).report.warnings if "repeat" in w]
    assert repr(fact) in warning
    assert repr(unique) not in warning


def shown_by(frame: pl.DataFrame, *names: str) -> Evidence:
    return evidence(Table(frame), dict.fromkeys(names, True))


def test_a_number_of_each_patient_says_that_rows_are_people() -> None:
    ids: list[object] = [*range(60)]
    homes = stays(patient_id=ids, street=[f"{n // 3} Elm" for n in range(60)], city=["Rome"] * 60)
    assert shown_by(homes, "patient_id", "street", "city") == Evidence()
    born = three_people("patient_id", "birth_date")
    assert shown_by(born, "patient_id", "birth_date") == Evidence()
    other = born.with_columns(patient_id=pl.Series([0, *range(59)]))
    assert shown_by(other, "patient_id", "birth_date").person == "patient_id"


def test_a_row_that_stands_twice_does_not_make_its_number_a_person() -> None:
    frame = three_people("stay_id", *THREE)
    found = shown_by(pl.concat([frame, frame[:1]]), *frame.columns[:3])
    assert found.together is not None
    assert (found.together.columns, found.together.values) == (tuple(THREE), 3)


@pytest.mark.parametrize("spelled", ["{}.0", "0{}", "+{}", "{},00", "{}0e-1", "00{}.", " {} "])
def test_a_number_spelled_in_two_ways_is_one_person(spelled: str) -> None:
    numbers = [str(n) for n in range(1000, 1020)]
    frame = stays(reach=[*numbers, *(spelled.format(n) for n in numbers)])
    with pytest.raises(covey.GuaranteeError, match="40 rows of 20 people, up to 2"):
        release_of(frame)
    with pytest.raises(covey.InfeasibleError, match="20 persons"):
        covey.anonymize(frame, schema_of(frame), require=KAnonymity(21, "reach"))


def test_numbers_that_differ_and_codes_are_other_persons() -> None:
    texts = ["7", "70", "7.5", "-7", "0", "a07", "a7", "7a", "07a", "1.0.0", "1.0", "1e9999", "7-0"]
    people = tables.owners(pl.Series(texts), covey.schema.TableFormat())
    assert people.n_unique() == len(texts)
    same = pl.Series(["7.50", "7,5", "007.5", "75e-1", "+7.500"])
    assert tables.owners(same, covey.schema.TableFormat()).unique().to_list() == ["7.5"]


def test_what_is_missing_does_not_repeat() -> None:
    codes: list[object] = [f"p{n}" for n in range(20)]
    alone = stays(patient_id=[*codes, *[None] * 20])
    assert shown_by(alone, "patient_id") == Evidence()
    both = stays(name=[*NAMES, *["Li"] * 5], born=[*DATES[:5], *[None] * 5])
    assert shown_by(both, "name", "born").together is None
    written = tables.from_bytes(
        b"patient_id,step,ill\n" + b"".join(b"p%d,3,x\nNA,3,x\n" % n for n in range(9)),
        *(schema_of(alone), schema_of(alone).table),
    )
    assert evidence(written, {"patient_id": True}) == Evidence()


def test_of_several_that_repeat_the_person_is_proposed() -> None:
    frame = stays(
        household_no=[n // 4 for n in range(40)],
        patient_id=[n // 2 for n in range(40)],
        account_no=[max(n, 2) for n in range(40)],
    )
    found = shown_by(frame, *frame.columns[:3])
    best = found.candidates[0]
    assert (found.person, best.column, best.values, best.most) == ("patient_id",) * 2 + (20, 2)


def test_the_invented_people_have_a_row_each() -> None:
    frame = demo.people(2_000)
    assert shown_by(frame, "name", "birth_date") == Evidence()


# ── who is counted ──────────────────────────────────────────────────────────────────────────────


def test_rows_may_be_counted_on_purpose_and_the_report_says_so() -> None:
    frame = one_patient_of_the_nineties()
    release = covey.anonymize(frame, schema_of(frame), require=KAnonymity(10, person=False))
    assert "'patient_id'" in release.report.headline.text
    assert release.report.configuration["require"]["person"] is False


def test_to_say_that_rows_count_changes_nothing_else() -> None:
    frame = stays(patient_id=list(range(40)))
    said, unsaid = (release_of(frame, person) for person in (False, None))
    assert said.table.equals(unsaid.table)
    assert said.report.warnings == unsaid.report.warnings


def test_who_is_counted_is_up_to_the_schema_unless_it_is_asked() -> None:
    frame = one_patient_of_the_nineties()
    schema = schema_of(frame, require={"person": "patient_id"})
    assert schema.requirements(KAnonymity(5)) == (KAnonymity(5, "patient_id"),)
    assert schema.requirements(KAnonymity(5, False)) == (KAnonymity(5, False),)
    assert schema_of(frame, require={"k": 4, "person": False}).requirements() == (
        KAnonymity(4, False),
    )
    release = covey.anonymize(frame, schema, require=KAnonymity(10))
    assert fewest_persons(release, frame["patient_id"]) >= 10


@pytest.mark.parametrize("person", [True, 3, "", ["a"]])
def test_a_person_is_a_column_or_false(person: Any) -> None:
    settings = {"columns": {}, "require": {"k": 3, "person": person}}
    with pytest.raises(covey.SchemaError, match=r"require\.person: .*or false"):
        covey.Schema.from_dict(settings)
    with pytest.raises(covey.SchemaError):
        KAnonymity(3, person)


def test_a_person_written_in_two_ways_is_one() -> None:
    """A trailing space does not make somebody else."""
    people = [f"p{n % 5}" for n in range(40)]
    spelled = [who + " " * (n % 2) if n % 3 else who.upper() for n, who in enumerate(people)]
    frame = stays(patient_id=list(spelled))
    with pytest.raises(covey.InfeasibleError, match="5 persons"):
        covey.anonymize(frame, schema_of(frame), require=KAnonymity(6, "patient_id"))
    judged = covey.verify(
        pl.DataFrame({"step": ["*"] * 40, "ill": ["x"] * 40}),
        *(schema_of(frame), KAnonymity(5, "patient_id")),
        persons={"patient_id": spelled},
    )
    assert judged.checks[0].achieved == 5


# ── nobody ──────────────────────────────────────────────────────────────────────────────────────


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture
def of_nobody(tmp_path: Path) -> tuple[str, covey.Schema]:
    """Two persons, and as many rows of nobody known."""
    whose = ["a7", "NA", "b7", "NA", "a7", ""]
    rows = "".join(f"{whose[n % 6]},{30 + n // 12},{'?' if n == 0 else 'x'}\n" for n in range(24))
    schema = covey.Schema.of(
        quasi={"step": "numeric"},
        identifier=["who"],
        insensitive=["ward"],
        require={"k": 3, "person": "who"},
    )
    return write(tmp_path / "t.csv", "who,step,ward\n" + rows), schema


def test_a_missing_person_is_nobody(
    of_nobody: tuple[str, covey.Schema], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack, and the build against which it succeeds."""
    path, schema = of_nobody
    with pytest.raises(covey.InfeasibleError, match="2 persons"):
        covey.anonymize(path, schema)
    monkeypatch.setattr("covey.tables.table.MISSING_TOKENS", ())
    (check,) = covey.anonymize(path, schema).verdict.checks
    assert (check.holds, check.achieved) == (True, 3)


def test_declared_tokens_decide_who_is_nobody(of_nobody: tuple[str, covey.Schema]) -> None:
    path, schema = of_nobody
    declared = schema.model_copy(update={"table": covey.schema.TableFormat(missing=("a7",))})
    with pytest.raises(covey.InfeasibleError, match="2 persons"):  # b7 and NA
        covey.anonymize(path, declared)


def test_nobody_is_nobody_in_a_dataframe_and_by_whatever_role_of_the_column() -> None:
    whose = ["a7", "NA", "b7", "n/a ", "a7", "", None, "\u200b"] * 3
    frame = pl.DataFrame({"who": whose, "step": [30] * 24})
    for role in ("identifier", "insensitive"):
        schema = covey.Schema.of(quasi={"step": "numeric"}, **{role: ["who"]})
        with pytest.raises(covey.InfeasibleError, match="2 persons"):
            covey.anonymize(frame, schema, require=KAnonymity(3, "who"))
        judged = frame.drop("who") if role == "identifiers" else frame
        verdict = covey.verify(judged, schema, KAnonymity(3, "who"), persons={"who": whose})
        assert verdict.checks[0].achieved == 2


# ── drafts ──────────────────────────────────────────────────────────────────────────────────────


def test_a_draft_counts_the_persons_that_repeat(tmp_path: Path) -> None:
    frame = one_patient_of_the_nineties()
    draft = covey.inspect(frame)
    assert draft.schema.require == Require(k=10, person="patient_id")
    text = draft.to_toml()
    assert "20 rows of 11 people" in text
    assert "10 rows for one" in text
    schema = covey.Schema.from_toml(write(tmp_path / "draft.toml", text))
    assert schema.require == Require(k=10, person="patient_id")
    asked = covey.anonymize(frame, schema, require=KAnonymity(10)).verdict.checks[0]
    assert asked.name == "k-anonymity of persons (patient_id)"


def test_a_draft_says_that_one_column_is_needed() -> None:
    names: dict[str, list[object]] = {
        "stay_id": [f"S{n:04}" for n in range(60)],
        "first_name": [f"{CANARY}{'abc'[n % 3]}" for n in range(60)],
        "last_name": [f"{CANARY}{'xyz'[n % 3]}" for n in range(60)],
    }
    draft = covey.inspect(stays(**names))
    assert draft.schema.require == Require(k=10)
    text = draft.to_toml()
    assert "# 'first_name', 'last_name' repeat together: 60 rows of 3 people" in text
    assert "single column" in text
    assert CANARY not in text


def test_a_draft_leaves_it_open_where_names_repeat() -> None:
    draft = covey.inspect(stays(surname=[f"{CANARY}{'abcde'[n % 5]}" for n in range(40)]))
    assert draft.schema.require == Require(k=10)
    assert "'surname': names that repeat" in draft.to_toml()
    assert CANARY not in draft.to_toml()
    unique = covey.inspect(stays(surname=[f"n{n}" for n in range(40)]))
    assert unique.schema.require == Require(k=10)
    assert "person" not in unique.to_toml().split("[columns")[0].split("[require]")[1]


# ── the command line ────────────────────────────────────────────────────────────────────────────


def test_from_the_draft_to_the_verdict_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    one_patient_of_the_nineties().write_csv("t.csv")

    def run(line: str) -> int:
        return cli.run(line.split())

    assert run("inspect t.csv -o s.toml") == 0
    text = Path("s.toml").read_text()
    write(Path("unsaid.toml"), text.replace("\nperson", "\n# person"))
    assert run("anonymize t.csv -s unsaid.toml -k 10 -o r.csv") == 1
    assert "'patient_id' repeats: 20 rows of 11 people" in capfd.readouterr().err
    assert not Path("r.csv").exists()
    assert run("anonymize t.csv -s unsaid.toml -k 10 --person patient_id -o r.csv") == 0
    assert run("anonymize t.csv -s unsaid.toml -k 10 --count-rows -o rows.csv") == 0
    assert run("anonymize t.csv -s s.toml -k 10 -o r.csv") == 0
    assert run("verify r.csv -s s.toml -k 10") == 0
    assert run("report t.csv r.csv -s s.toml -k 10 -o r.json") == 0
    write(Path("unsaid.toml"), text.replace("\nperson", "\n# person").replace("\nk = 10", ""))
    assert run("verify r.csv -s unsaid.toml --person patient_id") == 2  # no k to count them for


def test_an_open_question_about_people_leads_to_its_answer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    dice = random.Random(1)
    people = [n % 250 if n < 250 else dice.randrange(250) for n in range(600)]
    record, age = [50_000 + 11 * n for n in people], [20 + n * 7 % 70 for n in people]
    stays(record=[*record]).with_columns(age=pl.Series(age)).write_csv(tmp_path / "t.csv")
    assert cli.run(["inspect", str(tmp_path / "t.csv"), "-o", str(tmp_path / "t.toml")]) == 0
    out = "".join(capfd.readouterr())
    assert ("--person record " in out, "(or --count-rows" in out) == (True, True)
    with inside(tmp_path / "studio") as studio:
        studio.opening(tmp_path / "t.csv")
        studio.post("make/start")
        way = wait(lambda: studio.get("make").text.partition("in the way")[2])
        way = way.partition("</section>")[0]
        assert [p in way for p in ('href="roles"', "--person", "Use k")] == [True, False, False]


def test_nothing_is_written_that_was_not_judged_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WrittenTable, "shows", lambda *_: False)  # so that it is judged again
    frame = one_patient_of_the_nineties()
    schema = schema_of(frame)
    asked = KAnonymity(10, "patient_id")
    release = covey.anonymize(frame, schema, require=asked)
    judge = partial(covey.verify, schema=schema, require=asked)
    blind = replace(release, _kept=replace(release._own, judge=judge))
    with pytest.raises(covey.ViolationError, match="could not be judged"):
        blind.write(tmp_path / "r.csv")
    assert list(tmp_path.iterdir()) == []
    verdict = covey.verify(release.table, schema, asked)
    verdict.raise_if_broken()
    assert (verdict.holds, verdict.broken) == (False, False)
