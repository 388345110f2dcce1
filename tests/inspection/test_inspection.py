"""Drafts of schemas: careful roles, reasons without values, usable files."""

import tomllib
from pathlib import Path

import polars as pl
import pytest

import covey
from covey import demo
from covey.schema import ColumnType, Role


def role_of(name: str, cells: list[object]) -> Role:
    frame = pl.DataFrame({name: cells, "other": ["a", "b"] * (len(cells) // 2)})
    return covey.inspect(frame).schema.columns[name].role


def test_the_invented_people_are_understood() -> None:
    draft = covey.inspect(demo.people(1000))
    roles = {column.name: column.column.role.value for column in draft.columns}
    assert roles.pop("name") == roles.pop("birth_date") == "identifier"  # there is an age
    sensitive = {name for name, role in roles.items() if role == "sensitive"}
    assert sensitive == {"income", "diagnosis", "length_of_stay"}
    assert {role for name, role in roles.items() if name not in sensitive} == {"quasi"}
    columns = draft.schema.columns
    assert columns["admission_date"].type is ColumnType.DATE
    assert columns["age"].type is ColumnType.NUMERIC
    assert columns["zip"].type is ColumnType.CATEGORICAL
    assert 'taxonomy = {build = "prefixes"}' in draft.to_toml()


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("PatientID", [i * 7919 for i in range(100)]),
        ("surname", ["Li", "Ng"] * 50),
        ("contact", [f"p{i}@example.org" for i in range(100)]),
        ("reach", [f"+49 89 12{i:04}" for i in range(100)]),
        ("call", [f"089.12{i:04}" for i in range(100)]),
        ("key", [f"{i:08x}-0000-4000-8000-000000000000" for i in range(100)]),
        (
            "remark",
            [f"The patient said that {i} was a number worth remembering" for i in range(100)],
        ),
        ("thing", [f"thing {i}" for i in range(100)]),
        ("line", list(range(1000, 1100))),
    ],
)
def test_what_may_name_people_is_an_identifier(name: str, cells: list[object]) -> None:
    assert role_of(name, cells) is Role.IDENTIFIER


def test_sums_of_money_are_no_telephone_numbers() -> None:
    cells = [f"{12345 + 97 * i}.{i:02}" for i in range(100)]
    for name, role in (("figure", Role.QUASI), ("balance", Role.SENSITIVE)):
        column = covey.inspect(pl.DataFrame({name: cells})).schema.columns[name]
        assert (column.role, column.type) == (role, ColumnType.NUMERIC)


@pytest.mark.parametrize(
    ("cells", "kind", "written"),
    [
        (["2024-01-31", "2024-02-01"], "date", None),
        ([f"2024-{m:02}-{d:02}" for m in range(1, 13) for d in range(1, 29)], "date", None),
        (["31.01.2024", "01.02.2024"], "date", "%d.%m.%Y"),
        (["31/01/2024", "01/02/2024"], "date", "%d/%m/%Y"),
        (["01/31/2024", "01/02/2024"], "date", "%m/%d/%Y"),
        (["01/02/2024", "03/04/2024"], "categorical", None),  # day or month: nobody knows
        (["20240131", "20240201"], "numeric", None),
        (["1.5", "-2e3"], "numeric", None),
        (["01234", "99999"], "categorical", None),
        (["a", "b"], "categorical", None),
    ],
)
def test_types_are_told_from_all_cells(cells: list[str], kind: str, written: str | None) -> None:
    column = covey.inspect(
        pl.DataFrame({"x": cells * (1 if len(cells) > 2 else 30)})
    ).schema.columns["x"]
    assert (column.type, column.format) == (kind, written)


def test_a_column_that_is_the_same_everywhere_is_insensitive() -> None:
    assert role_of("ward", ["A"] * 10) is Role.INSENSITIVE
    assert role_of("ward", [None] * 10) is Role.INSENSITIVE


def test_a_draft_is_a_schema_file_that_works(tmp_path: Path) -> None:
    table, _ = demo.write(tmp_path, 200)
    draft = covey.inspect(table, taxonomies=tmp_path / "hierarchies")
    (tmp_path / "sub").mkdir()
    path = tmp_path / "sub" / "draft.toml"
    path.write_text(draft.to_toml(path.parent))
    schema = covey.Schema.from_toml(path)
    assert tomllib.loads(path.read_text())["columns"]["education"]["taxonomy"] == (
        "../hierarchies/education.csv"
    )
    assert schema.table.delimiter == ","
    assert covey.anonymize(table, schema, require=[covey.KAnonymity(5)]).verdict.holds


def test_reasons_hold_no_value() -> None:
    frame = pl.DataFrame({"town": ["Zq7canary"] * 30 + ["Zq8canary"] * 30})
    assert "canary" not in covey.inspect(frame).to_toml()


def test_odd_names_of_columns_survive_the_file() -> None:
    names = ["a b", 'quo"te', "dotted.name", "#hash", "ünï", "new\nline"]
    draft = covey.inspect(pl.DataFrame({name: ["x", "y"] for name in names}))
    assert list(tomllib.loads(draft.to_toml())["columns"]) == names


def test_facts_that_repeat_with_a_person_do_not_follow_from_each_other() -> None:
    """Each stay of a patient has the same postcode and sex; the postcode does not tell the sex."""
    patient = [i * 7 % 300 for i in range(1200)]
    frame = pl.DataFrame(
        {
            "patient_id": [f"P{i:05}" for i in patient],
            "zip": [f"{10000 + i * 37 % 290:05}" for i in patient],
            "sex": ["female" if i * 13 % 5 < 2 else "male" for i in patient],
            "ward": [f"ward {i * 11 % 7}" for i in patient],
        }
    )
    draft = covey.inspect(frame)
    assert draft.schema.require.person == "patient_id"
    assert not [found for found in draft.findings if "follows" in str(found)]
    # A town follows from its postcodes, which several persons share.
    zips = pl.Series("zip", [f"{10000 + i * 37 % 60:05}" for i in patient])
    towns = frame.with_columns(zips, town="town " + zips.str.slice(3, 1))
    assert [f.column for f in covey.inspect(towns).findings if "follows" in str(f)] == ["town"]


def test_remarks_are_removed_even_if_there_are_few_different_ones() -> None:
    said = [
        "came with her husband, who lives in the next town",
        "was sent by the family doctor, Bonn",
    ]
    frame = pl.DataFrame({"Bemerkung": (said + [None] * 8) * 30, "age": list(range(20, 80)) * 5})
    draft = covey.inspect(frame)
    assert draft.schema.columns["Bemerkung"].role == "identifier"


def test_a_date_of_birth_beside_an_age_is_removed_unless_it_is_asked_for() -> None:
    people = demo.people(200)
    draft = covey.inspect(people)
    (found,) = (f for f in draft.findings if f.column == "birth_date")
    assert found.applied
    assert draft.schema.columns["birth_date"].role == "identifier"
    nameless = covey.inspect(people.drop("name")).schema
    assert nameless.columns["birth_date"].role == "drop"
    asked = covey.inspect(people, quasi=["birth_date"]).schema
    assert asked.columns["birth_date"].role == asked.columns["age"].role == "quasi"
    alone = covey.inspect(people.drop("age")).schema
    assert alone.columns["birth_date"].role == "quasi"


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("insurance_policy", [f"POL{i:05}" for i in range(175)]),
        ("salary_account", [f"DE{i:020}" for i in range(175)]),
        ("disease_registry_no", [f"R{i}" for i in range(175)]),
        ("diagnosis_note", [f"lives with mother number {i} at {i} Elm St" for i in range(175)]),
        ("Notes", ["wife Jane called 07700900123", "came by bus on a Monday"] * 88),
        ("Given", ["Ann", "Bob", "Carla", "Dora", "Emil", "Fritz", "Gina", "Hugo"] * 22),
    ],
)
def test_what_names_people_is_removed_even_beside_a_sensitive_word(
    name: str, cells: list[str]
) -> None:
    frame = pl.DataFrame({name: cells, "age": [20 + i % 60 for i in range(len(cells))]})
    assert covey.inspect(frame).schema.columns[name].role == "identifier"


def test_only_what_says_whose_a_row_is_counts_persons() -> None:
    rows = range(400)
    frame = pl.DataFrame(
        {
            "lat": [52.5 + (i % 90) / 1000 for i in rows],
            "balance": [round((i % 120) * 17.31, 2) for i in rows],
            "age": [20 + i % 60 for i in rows],
            "sex": ["f", "m"] * 200,
        }
    )
    assert covey.inspect(frame).schema.require.person is None
    removed = covey.inspect(frame, quasi=["sex"], rest="identifier")
    assert removed.schema.require.person is None


def test_a_birth_that_does_not_tell_the_age_stays() -> None:
    people = demo.people(300)
    mixed = people.with_columns(people["birth_date"].shuffle(seed=1))
    assert covey.inspect(mixed).schema.columns["birth_date"].role == "quasi"
