"""What people expect of any command: help, completion, quiet, verbose, dry runs, suggestions."""

import re

import pytest
import typer

from command_line import Folder
from covey.cli.main import app

NAMES = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["", *NAMES])
def test_help_fits_80_columns_and_cuts_nothing(
    folder: Folder, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = folder.covey(*([name] if name else []), "--help")
    assert shown == folder.covey(*([name] if name else []), "-h")
    assert shown.code == 0
    assert max(map(len, shown.out.splitlines())) <= 80
    assert not re.search(r"\.\.\.$", shown.out.partition("\n")[2], re.MULTILINE)
    assert "…" not in shown.out


def test_options_are_grouped(folder: Folder) -> None:
    help_ = folder.covey("anonymize", "--help").out
    titles = re.findall(r"^(\S.*):$", help_, re.MULTILINE)
    assert titles == [
        "Arguments", "The table", "Roles of the columns", "Requirements",
        "Report and other files", "Method", "How the release is written", "Earlier releases",
        "Tables of any size (-o FOLDER/)", "Format of the table, detected if not given", "Options",
    ]  # fmt: skip
    described = help_.split("Requirements:")[1].split("Report and other files:")[0]
    assert "-k K" in described
    assert "--report" not in described


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["anonymise"], "'anonymize'"),
        (["inspct", "t.csv"], "'inspect'"),
        (["anonymize", "people.csv", "--schemma", "s"], "'--schema'"),
        (["verify", "people.csv", "--sensitiv", "s"], "'--sensitive'"),
    ],
)
def test_a_typo_gets_a_suggestion(folder: Folder, arguments: list[str], meant: str) -> None:
    refused = folder.covey(*arguments)
    assert (refused.code, refused.out) == (2, "")
    assert f"did you mean {meant}?" in refused.err.lower()


def test_a_dry_run_shows_all_and_writes_nothing(folder: Folder) -> None:
    before = {path.name for path in folder.path.rglob("*")}
    shown = folder.covey(
        "anonymize", "people.csv", "-s", "people.toml", "-k", 4, "--dry-run", "--report", "r.html"
    )
    assert shown.code == 0
    assert "k-anonymity" in shown.err
    assert "nothing was written" in shown.err
    assert {path.name for path in folder.path.rglob("*")} == before
    releases = folder.covey("releases", "--json")
    assert "people.csv" not in releases.out


def test_without_an_output_nothing_is_done(folder: Folder) -> None:
    refused = folder.covey("anonymize", "people.csv", "-s", "people.toml", "-k", 4)
    assert refused.code == 2
    assert "--dry-run" in refused.err


def test_quiet_says_nothing_but_errors(folder: Folder) -> None:
    done = folder.anonymize("people.csv", "-k", 4, "--seed", 1, "-q")
    assert done == (0, "", "")
    assert (folder.path / "out.csv").exists()
    refused = folder.anonymize("absent.csv", "-k", 4, "-q")
    assert refused.code == 2
    assert refused.err.startswith("covey: error: ")
    judged = folder.covey("verify", "out.csv", "-s", "people.toml", "-k", 4, "--quiet")
    assert "k-anonymity" in judged.out  # a result, not a remark
    assert folder.anonymize("people.csv", "-k", 4, "--seed", 1).err != ""  # not for ever


def test_verbose_shows_every_measure(folder: Folder) -> None:
    usual = folder.anonymize("people.csv", "-k", 4, "--seed", 1)
    more = folder.anonymize("people.csv", "-k", 4, "--seed", 1, "-v")
    assert "Total-IL" not in usual.err
    assert "Total-IL" in more.err


def test_anonymize_says_which_files_it_wrote(folder: Folder) -> None:
    done = folder.anonymize(
        "people.csv", "-k", 4, "--report", "report.json", "--costs", "costs.csv", "--certificate"
    )
    assert "wrote out.csv, report.json, costs.csv, out.csv.intoto.json" in done.err


def test_the_shell_can_complete_and_the_version_is_told(folder: Folder) -> None:
    assert "--install-completion" in folder.covey("--help").out
    assert folder.covey("--version").out.startswith("covey ")
