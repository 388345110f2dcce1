"""A release in one call: the names of columns instead of a schema, in Python and on the shell."""

import inspect
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import covey
from command_line import Folder
from covey.choices import Keywords
from covey.clustering.request import KEYWORDS
from covey.demo import people

FRAME = people(300)
ROLES: dict[str, Any] = {"quasi": ["age", "sex", "zip"], "sensitive": ["diagnosis"]}


def released(**settings: Any) -> covey.Release:
    return covey.anonymize(FRAME, **{**ROLES, "k": 5, "seed": 1, **settings})


def test_names_of_columns_are_enough() -> None:
    release = released()
    assert release.table.columns == ["age", "sex", "zip", "diagnosis"]
    assert release.verdict.k >= 5
    drafted = covey.inspect(FRAME, quasi=ROLES["quasi"], k=5).schema
    settings = release.report.configuration["columns"]
    assert settings["age"]["grid"] == drafted.columns["age"].grid
    assert settings["zip"]["taxonomy"]["height"] > 1  # prefixes, as drafted


def test_columns_that_are_not_named_are_removed_and_said() -> None:
    (warning,) = (w for w in released().report.warnings if "given no role" in w)
    assert "'income'" in warning
    assert "'age'" not in warning
    kept = released(rest="insensitive")
    assert set(kept.table.columns) == set(FRAME.columns)
    named = released(insensitive=["income"])
    assert "income" in named.table.columns
    assert not any("'income'" in w for w in named.report.warnings if "given no role" in w)


@pytest.mark.slow
def test_a_dropped_number_of_people_is_removed_and_asked_about(tmp_path: Path) -> None:
    stays = pl.concat([FRAME, FRAME]).with_columns(
        patient_id=pl.Series([f"P{i:05}" for i in range(300)] * 2)
    )
    roles = {**ROLES, "drop": ["patient_id", "name"], "rest": "insensitive"}
    with pytest.raises(covey.GuaranteeError, match="'patient_id' repeats"):
        covey.anonymize(stays, **roles, k=5, seed=1)
    release = covey.anonymize(stays, **roles, k=5, seed=1, person=False)
    assert release.verdict.checks[0].name == "k-anonymity"
    assert "patient_id" not in release.table.columns
    assert released().report.configuration["columns"]["income"]["role"] == "drop"
    schema = covey.inspect(stays, **roles, k=5).schema.requiring(person=False)
    covey.anonymize(stays, schema, to=tmp_path / "parts", engine="local", register=False)
    parts = pl.read_parquet(tmp_path / "parts")
    assert set(parts.columns) == set(release.table.columns)


def test_settings_of_a_column_replace_what_is_drafted() -> None:
    release = released(quasi={"age": {"type": "numeric", "grid": 20}, "sex": "categorical"})
    assert release.table.columns == ["age", "sex", "diagnosis"]
    assert release.report.configuration["columns"]["age"]["grid"] == 20


def test_a_repeating_identifier_among_the_removed_columns_makes_k_count_persons() -> None:
    stays = pl.concat([FRAME, FRAME]).with_columns(
        patient_id=pl.Series([f"P{i:05}" for i in range(300)] * 2)
    )
    release = covey.anonymize(stays, **ROLES, k=5, seed=1)
    assert "patient_id" in release.verdict.checks[0].name
    rows = covey.anonymize(stays, **ROLES, k=5, seed=1, person=False)
    assert rows.verdict.checks[0].name == "k-anonymity"


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"k": None}, covey.SchemaError, "no k given"),
        ({"quasi": ["agee"]}, covey.UsageError, "did you mean 'age'"),
        ({"quasi": []}, covey.SchemaError, "quasi-identifier"),
        ({"quasi": ["age"], "sensitive": ["age"]}, covey.UsageError, "two roles"),
        ({"K": 5}, covey.UsageError, "did you mean 'k'"),
        ({"efort": "fast"}, covey.UsageError, "did you mean 'effort'"),
        ({"sensitve": ["income"]}, covey.UsageError, "did you mean 'sensitive'"),
        ({"zzz": 1}, covey.UsageError, "its options: "),
        ({"effort": "slow"}, covey.UsageError, "effort"),
        ({"l": 3, "sensitive": ["diagnosis", "income"]}, covey.SchemaError, "l needs a column"),
        ({"l": {"diagnose": 3}}, covey.SchemaError, "'diagnose'"),
        ({"schema": covey.Schema.of(quasi={"age": "numeric"})}, covey.SchemaError, "either"),
        ({"rest": "secret"}, covey.UsageError, "rest must be one of"),
    ],
)
def test_a_mistake_is_named(
    settings: dict[str, Any], kind: type[covey.CoveyError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        released(**settings)


def test_the_known_keywords_are_those_of_the_signature() -> None:
    """Keywords are listed once with their types, options of all methods among them."""
    named = set(inspect.signature(covey.anonymize).parameters) - {"choices"}
    options = {
        name
        for each in covey.METHODS.values()
        for name in inspect.signature(each.function).parameters
    } - {"table", "k", "seed", "progress"}
    assert options <= set(Keywords.__annotations__)
    assert named | set(Keywords.__annotations__) == set(KEYWORDS) | options


def test_k_l_and_t_are_spelled_alike_everywhere() -> None:
    release = released(l=2, t=0.9)
    names = [check.name for check in release.verdict.checks]
    assert names[1:] == ["distinct l-diversity (diagnosis)", "t-closeness (diagnosis, equal)"]
    schema = covey.Schema.of(
        quasi=dict.fromkeys(["age", "sex", "zip"], "categorical"), sensitive=["diagnosis"]
    )
    verdict = covey.verify(release.table, schema, k=5, l={"diagnosis": 2}, t=0.9)
    assert verdict.holds
    assert len(verdict.checks) == 3
    assert not covey.verify(release.table, schema, k=300).holds
    both = schema.requirements([covey.KAnonymity(3)], l=2)
    assert [type(one) for one in both] == [covey.KAnonymity, covey.LDiversity]
    assert schema.requiring(k=7).requirements() == (covey.KAnonymity(7),)
    assert schema.requiring(k=7).requiring(l=2).require.k == 7
    assert schema.requiring() is schema


def test_options_of_the_method_are_reported() -> None:
    release = released(effort="fast", max_suppressed=0.01)
    assert release.report.options == {"effort": "fast", "max_suppressed": 0.01}


def test_curves_and_comparisons_take_the_same_keywords() -> None:
    drawn = covey.curve(FRAME, **ROLES, k=[3, 6], seed=1)
    assert [point.k for point in drawn.points] == [3, 6]
    (run,) = covey.compare(FRAME, **ROLES, k=3, methods="mondrian", seed=1, l=2).runs
    assert run.error is None
    assert run.verdict is not None
    assert len(run.verdict.checks) == 2
    typo: dict[str, Any] = {"sede": 1}
    for study in (covey.curve, covey.compare):
        with pytest.raises((TypeError, covey.UsageError), match="sede"):
            study(FRAME, **ROLES, k=3, **typo)
        with pytest.raises(covey.SchemaError, match="quasi"):
            study(FRAME, k=3)


# ── on the shell ────────────────────────────────────────────────────────────────────────────────


def test_the_shell_gives_the_same_bytes_as_one_call(folder: Folder) -> None:
    done = folder.covey(
        "anonymize", "people.csv", "--quasi", "age,sex", "--quasi", "zip", "--sensitive",
        "diagnosis", "-k", 5, "-l", 2, "--seed", 3, "-o", "shell.csv",
    )  # fmt: skip
    assert done.code == 0
    assert "given no role" in done.err
    release = covey.anonymize("people.csv", **ROLES, k=5, l=2, seed=3)
    release.write("python.csv", register=False)
    assert (folder.path / "shell.csv").read_bytes() == (folder.path / "python.csv").read_bytes()
    roles = ("--quasi", "age,sex,zip", "--sensitive", "diagnosis")
    assert folder.covey("verify", "shell.csv", *roles, "-k", 5, "-l", 2).code == 0


def test_the_curve_takes_the_names_of_columns(folder: Folder) -> None:
    roles = ("--quasi", "age,sex,zip", "--sensitive", "diagnosis")
    drawn = folder.covey("curve", "people.csv", *roles, "-k", "3,6", "--seed", 1, "--json")
    assert drawn.code == 0
    assert [point["k"] for point in json.loads(drawn.out)["points"]] == [3, 6]
    refused = folder.covey("curve", "people.csv", "-s", "people.toml", *roles, "-k", "3")
    assert refused.code == 2
    assert "either" in refused.err


def test_roles_and_a_schema_together_are_refused(folder: Folder) -> None:
    for command in (["anonymize", "people.csv", "-o", "out.csv"], ["verify", "people.csv"]):
        refused = folder.covey(*command, "-s", "people.toml", "--quasi", "age", "-k", 5)
        assert (refused.code, refused.out) == (2, "")
        assert "either" in refused.err


def test_a_wrong_column_on_the_shell_is_named_with_the_nearest(folder: Folder) -> None:
    for command in (["anonymize", "people.csv", "-o", "out.csv"], ["verify", "people.csv"]):
        refused = folder.covey(*command, "--quasi", "Age", "-k", 5)
        assert refused.code == 2
        assert "did you mean 'age'" in refused.err
    assert folder.untouched()


def test_covey_toml_beside_the_table_is_found(folder: Folder) -> None:
    refused = folder.covey("anonymize", "people.csv", "-k", 5, "-o", "out.csv")
    assert refused.code == 2
    assert "covey inspect" in refused.err
    (folder.path / "people.toml").rename(folder.path / "covey.toml")
    done = folder.covey("anonymize", "people.csv", "-k", 5, "-o", "out.csv", "--seed", 1)
    assert done.code == 0
    assert "using the schema covey.toml" in done.err
    assert folder.covey("verify", "out.csv", "-k", 5).code == 0
    assert folder.covey("measure", "people.csv", "out.csv").code == 0
    assert folder.covey("curve", "people.csv", "-k", "5", "--seed", "1").code == 0
    elsewhere = folder.covey("verify", folder.path / "out.csv", "-k", 5)
    assert elsewhere.code == 0


def test_three_commands_and_no_editor(folder: Folder) -> None:
    assert folder.covey("inspect", "people.csv", "-o", "covey.toml").code == 0
    done = folder.covey("anonymize", "people.csv", "-o", "out.csv", "--report", "report.json")
    assert done.code == 0
    assert "wrote out.csv, report.json" in done.err
    assert folder.covey("verify", "out.csv").code == 0  # with the k of the draft


def test_names_that_clash_with_low_and_high_ends_are_refused() -> None:
    schema = covey.Schema.of(quasi={"q": "numeric", "q_low": "categorical"})
    with pytest.raises(covey.SchemaError, match="'q_low'"):
        covey.anonymize(FRAME, schema, k=3, style=covey.Style(intervals="columns"))


def test_a_release_is_measured_by_its_own_schema() -> None:
    release = covey.anonymize(FRAME, quasi=["age", "sex"], sensitive=["diagnosis"], k=5, seed=1)
    schema = release.schema.without("income", "name")  # which the release does not have
    assert covey.measure(FRAME, release.table, schema) == covey.measure(
        FRAME, release.table, release.schema
    )
