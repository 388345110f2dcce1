"""Drafts beside the truth: real exports and invented ones, judged column by column.

A draft may differ from the judgement here and there, but it never keeps a direct identifier.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

import covey
from covey import tables
from covey.inspection.draft import Draft
from covey.schema import ColumnType, TableFormat
from invented_tables import TABLES, as_csv, invented

ROLE_OF = {"I": "identifier", "Q": "quasi", "S": "sensitive", "N": "insensitive"}
TRUTH = Path(__file__).parents[1] / "truth_of_tables.toml"
PUBLIC: dict[str, dict[str, str]] = {
    name: {column: letters for letters, columns in by_letters.items() for column in columns}
    for name, by_letters in tomllib.loads(TRUTH.read_text(encoding="utf-8")).items()
}


def right(draft: Draft, truth: dict[str, str]) -> float:
    """The share of columns whose drafted role is one of the right ones."""
    assert set(truth) == {column.name for column in draft.columns}
    fits = [
        column.column.role in {ROLE_OF[letter] for letter in truth[column.name].rstrip("!")}
        for column in draft.columns
    ]
    return sum(fits) / len(fits)


def kept(draft: Draft, truth: dict[str, str]) -> set[str]:
    """The direct identifiers that a release by this draft would show."""
    drafted = {column.name: column.column.role for column in draft.columns}
    return {n for n, letters in truth.items() if "!" in letters and drafted[n] != "identifier"}


@pytest.fixture(scope="module")
def public(shared_data: Path) -> dict[str, Draft]:
    folder = shared_data / "people"
    if not folder.is_dir():
        pytest.skip("the folder with tables of people, ../shared/data/people, is not here")
    return {name: covey.inspect(folder / name) for name in PUBLIC}


@pytest.mark.slow
def test_public_tables_are_understood(public: dict[str, Draft]) -> None:
    shares = {}
    for name, truth in PUBLIC.items():
        shares[name] = right(public[name], truth)
        assert kept(public[name], truth) == set(), name
    assert min(shares.values()) >= 0.8, shares
    assert sum(shares.values()) / len(shares) >= 0.9, shares


def columns_with(draft: Draft, setting: str) -> dict[str, Any]:
    return {
        column.name: value
        for column in draft.columns
        if (value := getattr(column.column, setting)) is not None
    }


@pytest.mark.slow
def test_sentinels_of_public_tables_are_found_and_values_are_not(public: dict[str, Draft]) -> None:
    assert columns_with(public["nhanes_2015_2016.csv"], "missing_values") == {
        "ALQ130": (999,),
        "DMDMARTL": ("77.00",),
    }
    # 97 to 99 and 999 are hours and rates of real employees, and a fare of 0 was free.
    for name in ("WA_Fn-UseC_-HR-Employee-Attrition.csv", "titanic.csv", "student-por.csv"):
        assert columns_with(public[name], "missing_values") == {}, name


@pytest.mark.slow
def test_dates_of_public_tables_are_read(public: dict[str, Draft]) -> None:
    dated = {
        name: {c.name for c in draft.columns if c.column.type is ColumnType.DATE}
        for name, draft in public.items()
    }
    assert dated["synthea_patients.csv"] == {"BIRTHDATE", "DEATHDATE"}
    assert dated["AccidentesBicicletas_2021.csv"] == {"fecha"}
    cases = "Casos_positivos_de_COVID-19_en_Colombia.csv"
    assert dated[cases] == {
        *("Fecha de notificación", "FIS", "Fecha de muerte", "Fecha diagnostico"),
        *("Fecha recuperado", "fecha reporte web"),
    }
    assert columns_with(public[cases], "unreadable") == {"FIS": "missing"}


@pytest.mark.slow
def test_public_tables_have_the_findings_that_readers_know(public: dict[str, Draft]) -> None:
    found = {(name, f.column, f.kind) for name, draft in public.items() for f in draft.findings}
    assert {
        ("btw21_kandidaturen.csv", "PLZ", "lost zeros"),
        ("btw21_kandidaturen.csv", "Wohnort", "dependent"),
        ("AccidentesBicicletas_2021.csv", "cod_distrito", "dependent"),
        ("AccidentesBicicletas_2021.csv", "sexo", "unknown"),
        ("WA_Fn-UseC_-HR-Employee-Attrition.csv", "StandardHours", "constant"),
        ("synthea_patients.csv", "SUFFIX", "mostly missing"),
    } <= found


@pytest.mark.parametrize("name", TABLES)
def test_invented_tables_are_understood(name: str) -> None:
    table = invented(name)
    draft = covey.inspect(table.frame)
    assert kept(draft, table.truth) == set()
    wrong = {
        column.name: column.column.role.value
        for column in draft.columns
        if column.column.role
        not in {ROLE_OF[letter] for letter in table.truth[column.name].rstrip("!")}
    }
    assert right(draft, table.truth) >= 0.9, wrong


def test_an_export_of_an_older_system_is_drafted_from_its_bytes() -> None:
    """In cp1252, with semicolons and decimal commas; the draft reads it again."""
    data = as_csv(invented("Krankenhaus"))
    draft = covey.inspect(tables.from_bytes(data, None, TableFormat(encoding="cp1252")))
    columns = draft.schema.columns
    assert (draft.table.delimiter, draft.table.decimal) == (";", ",")
    assert columns["Geburtsdatum"].missing_values == ("1900-01-01",)
    assert columns["Entlassdatum"].missing_values == ("9999-12-31",)
    assert columns["Aufnahmedatum"].type is ColumnType.DATE
    assert columns["Geschlecht"].recode is not None
    assert set(columns["Geschlecht"].recode.values()) == {"m", "w"}
    assert {f.column for f in draft.findings if f.kind == "lost zeros"} == {"PLZ"}
    assert {f.column for f in draft.findings if f.kind == "alike"} == {"Wohnort"}


def test_a_draft_of_an_export_is_used_as_it_is(tmp_path: Path) -> None:
    table = invented("hospital pt")
    path, draft = tmp_path / "draft.toml", covey.inspect(table.frame)
    path.write_text(draft.to_toml(), encoding="utf-8")
    schema = covey.Schema.from_toml(path)
    assert schema == draft.schema
    assert schema.columns["Idade"].missing_values == (999,)
    schema = schema.model_copy(update={"require": schema.require.model_copy(update={"k": 3})})
    release = covey.anonymize(table.frame, schema, effort="fast")
    assert release.verdict.holds
    assert not table.direct & set(release.table.columns)
