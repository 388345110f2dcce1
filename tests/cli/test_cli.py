"""The command line as its users see it: results, errors, exit codes, pipes."""

import gzip
import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest
import typer
from hypothesis import example, given
from hypothesis import strategies as st

import covey
from command_line import PEOPLE, Folder, Ran
from covey import tables
from covey.cli import options
from covey.cli.main import app
from covey.cli.options import command as declared

CANARY = "Zq7canary19xK402"
OPTIONS = Path(options.__file__).with_suffix(".toml")


def run(*arguments: object, **settings: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "covey", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, **settings)  # type: ignore[call-overload, no-any-return]


# ── the five commands ───────────────────────────────────────────────────────────────────────────


def test_costs_are_written_for_the_custodian_alone(folder: Folder) -> None:
    done = folder.anonymize("people.csv", "-k", 4, "--seed", 1, "--costs", "costs.csv")
    assert done.code == 0
    assert "do not publish" in done.err
    schema = covey.Schema.from_toml("people.toml")
    release = covey.anonymize("people.csv", schema, require=[covey.KAnonymity(4)], seed=1)
    written = pl.read_csv("costs.csv")
    assert written.to_dicts() == release.costs.to_dicts()
    assert set(written.columns) == {"row", "group", "loss", *(f"loss_{n}" for n in schema.quasi)}


def test_from_a_draft_to_a_measured_release(folder: Folder) -> None:
    drafted = folder.covey("inspect", "people.csv", "-o", "draft.toml")
    assert drafted.code == 0
    assert "13 columns drafted" in drafted.err
    done = folder.covey(
        "anonymize", "people.csv", "--schema", "draft.toml", "-k", 5, "-o", "out.csv",
        "--report", "report.json",
    )  # fmt: skip
    assert (done.code, done.out) == (0, "")
    assert "k-anonymity" in done.err
    report = json.loads((folder.path / "report.json").read_text())
    assert report["verdict"]["holds"] is True
    assert report["rows"]["released"] == PEOPLE
    judged = folder.covey("verify", "out.csv", "--schema", "draft.toml", "-k", 5)
    assert judged.code == 0
    assert "yes" in judged.out
    measured = folder.covey("measure", "people.csv", "out.csv", "-s", "draft.toml", "--json")
    assert json.loads(measured.out)["total_il"] == pytest.approx(report["loss"]["total_il"])


def test_verify_says_no_with_exit_code_1(folder: Folder) -> None:
    assert folder.anonymize("people.csv", "-k", 3).code == 0
    judged = folder.covey("verify", "out.csv", "-s", "people.toml", "-k", 50)
    assert judged.code == 1
    assert "NO" in judged.out
    assert "asked 50, found" in judged.err
    told = json.loads(folder.covey("verify", "out.csv", "-s", "people.toml", "--json").out)
    assert told["k"] >= 3


def test_verify_takes_a_folder_of_files(folder: Folder) -> None:
    assert folder.anonymize("people.csv", "-k", 3).code == 0
    header, *rows = (folder.path / "out.csv").read_text().splitlines(keepends=True)
    parts = folder.path / "parts"
    parts.mkdir()
    for number in range(3):
        part = "".join([header, *rows[number::3]])
        (parts / f"{number}.csv").write_text(part)
    whole = json.loads(folder.covey("verify", "out.csv", "-s", "people.toml", "--json").out)
    for place in ("parts", "parts/*.csv"):
        judged = folder.covey("verify", place, "-s", "people.toml", "-k", 3, "--json")
        assert judged.code == 0
        assert json.loads(judged.out)["classes"] == whole["classes"]
        assert json.loads(judged.out)["k"] == whole["k"] >= 3
    (parts / "1.csv").write_text(header + rows[0])
    assert folder.covey("verify", "parts/1.csv", "-s", "people.toml", "-k", 3).code == 1


def test_the_original_does_not_verify_since_it_names_people(folder: Folder) -> None:
    judged = folder.covey("verify", "people.csv", "-s", "people.toml")
    assert judged.code == 1
    assert "2 columns that must be removed: 'name', 'birth_date'" in judged.err


def test_methods_are_listed(folder: Folder) -> None:
    assert "k-member" in folder.covey("methods").out
    assert [m["name"] for m in json.loads(folder.covey("methods", "--json").out)] == list(
        covey.METHODS
    )


def test_the_demo_shows_promise_finding_loss_and_files(folder: Folder) -> None:
    shown = folder.covey("demo", "-o", "shown", "--rows", 100, "-k", 4)
    assert shown.code == 0
    facts = ("people before and after", "removed", "information lost", "100 of 100 rows")
    assert all(fact in shown.out for fact in ("k-anonymity", *facts))
    files = ("people.csv", "people.toml", "released.csv", "report.json")
    assert all((folder.path / "shown" / name).exists() for name in files)
    assert covey.verify(
        "shown/released.csv", covey.Schema.from_toml("shown/people.toml"), [covey.KAnonymity(4)]
    ).holds


def test_the_schema_may_promise_instead_of_the_command(folder: Folder) -> None:
    with (folder.path / "people.toml").open("a") as file:
        file.write("[require]\nk = 7\n")
    assert folder.anonymize().code == 0
    assert folder.covey("verify", "out.csv", "-s", "people.toml").code == 0
    frame = pl.read_csv("out.csv", infer_schema=False)
    quasi = list(covey.Schema.from_toml("people.toml").quasi)
    assert frame.group_by(quasi).len()["len"].min() >= 7  # type: ignore[operator]


def test_styles_and_options_reach_the_release(folder: Folder) -> None:
    done = folder.anonymize(
        "people.csv", "-k", 4, "--value-sets", "--low-high", "--class-column", "diagnosis",
        "--method", "k-member", "-O", "seed_ref=random", "-O", "penalty=2.5", "--seed", 3, "--json",
    )  # fmt: skip
    assert done.code == 0
    report = json.loads(done.out)
    assert report["method"]["options"] == {"seed_ref": "random", "penalty": 2.5}
    assert report["loss"]["classification"] is not None
    header, *rows = (folder.path / "out.csv").read_text().splitlines()
    assert header.startswith("age_low,age_high,sex,")
    assert any("{" in row for row in rows)
    assert folder.covey("verify", "out.csv", "-s", "people.toml", "-k", 4).code == 0


# ── groups of options ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Size:
    """A group of options as commands declare them."""

    k: int
    rows: int = 30
    depth: int = field(default=5, init=False)


def test_a_group_of_options_is_spread_and_filled() -> None:
    drawn = []

    @declared("Draw it.")
    def draw(*, names: list[str], size: Size, quick: bool = False) -> None:
        drawn.append((names, size, quick))

    alone = typer.Typer()
    alone.command()(draw)
    drawing = typer.main.get_command(alone)
    assert [option.name for option in drawing.params[:4]] == ["names", "k", "rows", "quick"]
    assert drawing.help == "Draw it."
    alone(["door", "-k", "7", "--quick"], standalone_mode=False)
    alone(["-k", "7", "--rows", "80", "sill"], standalone_mode=False)
    assert drawn == [(["door"], Size(7), True), (["sill"], Size(7, 80), False)]


def test_every_option_has_words_of_its_own_and_no_words_are_left_over() -> None:
    """A command that lacks words is not even declared."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    names = {name: {option.name for option in command.params} for name, command in commands.items()}
    names["shared"] = set().union(*names.values())
    for command, words in tomllib.loads(OPTIONS.read_text(encoding="utf-8")).items():
        assert words.keys() <= names[command]


# ── pipes and formats ───────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_a_pipe_carries_the_table_and_nothing_else(folder: Folder) -> None:
    table = (folder.path / "people.csv").read_bytes()
    piped = run("anonymize", "-", "-s", "people.toml", "-k", 4, "-o", "-", input=table)
    assert piped.returncode == 0
    assert folder.anonymize("people.csv", "-k", 4).code == 0
    assert piped.stdout == (folder.path / "out.csv").read_bytes()
    assert b"\x1b" not in piped.stderr  # no bar, no colours
    judged = run("verify", "-", "-s", "people.toml", "-k", 4, input=piped.stdout)
    assert judged.returncode == 0


@pytest.mark.parametrize("suffix", ["csv.gz", "parquet"])
def test_gzip_and_parquet_go_in_and_out(folder: Folder, suffix: str) -> None:
    frame = pl.read_csv("people.csv", infer_schema=False)
    if suffix == "parquet":
        frame.write_parquet("in.parquet")
    else:
        folder.write("in.csv.gz", gzip.compress(frame.write_csv().encode()))
    done = folder.covey(
        "anonymize", f"in.{suffix}", "-s", "people.toml", "-k", 4, "-o", f"released.{suffix}"
    )
    assert done.code == 0
    assert folder.covey("verify", f"released.{suffix}", "-s", "people.toml", "-k", 4).code == 0
    again = tables.read(f"released.{suffix}").frame
    assert again.height == PEOPLE


def test_the_dialect_of_the_input_is_that_of_the_output(folder: Folder) -> None:
    folder.write("in.csv", "größe;ort\n1,5;Köln\n1,75;Köln\nNA;NA\nNA;NA\n".encode("cp1252"))
    folder.write(
        "s.toml",
        '[columns."größe"]\nrole = "quasi"\ntype = "numeric"\n'
        '[columns.ort]\nrole = "quasi"\ntype = "categorical"\n',
    )
    guessed = folder.covey("anonymize", "in.csv", "-s", "s.toml", "-k", 2, "-o", "out.csv")
    assert guessed.code == 0
    assert "encoding cp1252" in guessed.err
    done = folder.covey(
        "anonymize", "in.csv", "-s", "s.toml", "-k", 2, "-o", "out.csv", "--encoding", "cp1252"
    )
    assert done.code == 0
    assert "detected delimiter ';', missing cells 'NA', decimal comma" in done.err
    text = (folder.path / "out.csv").read_bytes().decode("cp1252")
    assert sorted(text.splitlines()) == sorted(
        ["größe;ort", '"[1,5; 1,75]";Köln', '"[1,5; 1,75]";Köln', "NA;NA", "NA;NA"]
    )
    measured = folder.covey(
        "measure", "in.csv", "out.csv", "-s", "s.toml", "--encoding", "cp1252", "--json"
    )
    assert json.loads(measured.out)["total_il"] == 2.0


def test_formulas_are_defused_unless_asked_for(folder: Folder) -> None:
    folder.write("in.csv", "q,s\na,=1+1\na,-5\na,@x\na,+ok\n")
    folder.write(
        "s.toml", '[columns.q]\nrole="quasi"\ntype="categorical"\n[columns.s]\nrole="sensitive"\n'
    )
    command = ["anonymize", "in.csv", "-s", "s.toml", "-k", 2, "-o", "out.csv"]
    for more, expected in (
        ([], ["'+ok", "'=1+1", "'@x", "-5"]),
        (["--formulas"], ["+ok", "-5", "=1+1", "@x"]),
    ):
        assert folder.covey(*command, *more).code == 0
        assert sorted(pl.read_csv("out.csv", infer_schema=False)["s"]) == expected


# ── errors ──────────────────────────────────────────────────────────────────────────────────────

HEADER = "name,birth_date,age,sex,zip,education,marital_status,occupation,country_of_birth,income,admission_date,diagnosis,length_of_stay\n"  # noqa: E501
ROW = f"{CANARY},,40,Female,,,Married,,,100,2024-01-31,Flu,1\n"


NOT_A_NUMBER = ROW.replace("40", CANARY)
NO_SUCH_DAY = ROW.replace("01-31", "02-31")
UNCOVERED = ROW.replace("Married", CANARY)


@pytest.mark.parametrize(
    ("message", "table"),
    [
        ("the table is empty", ""),
        ("no rows", HEADER),
        ("columns 3 and 4 have the same name", HEADER.replace("sex", "age")),
        ("1 column of the schema not in the table: 'sex'", HEADER.replace("sex,", "")),
        ("1 column without a role: 'gender'", HEADER.replace("sex", "gender")),
        ("2 rows with more or fewer fields", HEADER + ROW + CANARY + "\n" + ROW + "a,b\n"),
        ("1 NUL byte, first in line 2", HEADER + ROW.replace("Flu", "F\0u")),
        ("never closed", HEADER + ROW.replace("Flu", '"Flu')),
        ("'age': 1 row with a cell that is not a number", HEADER + ROW + NOT_A_NUMBER),
        ("'admission_date': 1 row with a cell that is not a date", HEADER + ROW + NO_SUCH_DAY),
        ("'marital_status': 1 row with 1 value not in its taxonomy", HEADER + ROW + UNCOVERED),
    ],
)
def test_a_bad_table_is_told_in_one_line_without_a_cell(
    folder: Folder, message: str, table: str
) -> None:
    folder.write("in.csv", table)
    check_refused(folder, folder.anonymize("in.csv", "-k", 2), 2, message)


@pytest.mark.parametrize(
    ("code", "message", "request_"),
    [
        (1, "k = 500 is not possible", "-k 500"),
        (2, "k must be at least 2", "-k 1"),
        (2, "no k given", ""),
        (2, "there is no method", "-k 2 --method nope"),
        (2, "no option 'nope'", "-k 2 -O nope=1"),
        (2, "NAME=VALUE", "-k 2 -O nope"),
        (2, "'style' is not a method option", "-k 2 -O style=1"),
        (2, ".gz", "-k 2 -o out.parquet.gz"),
        (2, "end in .html or .json", "-k 2 --report report.pdf"),
        (2, "No such option", "--nope"),
        (2, "klingon", "-k 2 --encoding klingon"),
        (2, "end in .csv", "-k 4 --costs costs.txt"),
        (2, "overwrite", "-k 4 --costs people.csv"),
        (2, "overwrite", "-k 4 --costs out.csv"),
        (2, "cannot be written", "-k 4 --costs nowhere/costs.csv"),
    ],
)
def test_a_bad_request_is_told_in_one_line(
    folder: Folder, code: int, message: str, request_: str
) -> None:
    check_refused(folder, folder.anonymize("people.csv", *request_.split()), code, message)


@pytest.mark.parametrize(
    ("command", "code", "message", "request_"),
    [
        ("compare", 2, "whole number", "-k five"),
        ("compare", 2, "whole number", "-k 5,,6"),
        ("compare", 2, "no option 'nope'", "-k 5 --methods k-member:nope=1"),
        ("compare", 2, "end in .csv or .json", "-k 5 -o out.txt"),
        ("compare", 2, "end in .csv or .json", "-k 5 -o -"),
        ("compare", 1, "no method could make a release", "-k 121 --methods k-member"),
        ("curve", 2, "whole number", "-k five"),
        ("curve", 1, "k = 121 is not possible", "-k 5,121"),
        ("curve", 2, "no option 'ks'", "-O ks=3"),
        ("curve", 2, "must end in", "-o out.pdf"),
        ("curve", 2, "overwrite", "-o out.csv -o out.csv"),
        ("curve", 2, "cannot be written", "-o nowhere/out.csv"),
        ("curve", 2, "not k-anonymous", "--method nh -o out.csv"),
    ],
)
def test_refusals_of_studies_come_before_any_file(
    folder: Folder, command: str, code: int, message: str, request_: str
) -> None:
    ran = folder.covey(command, "people.csv", "-s", "people.toml", *request_.split())
    check_refused(folder, ran, code, message)
    assert command == "compare" or ran.out == ""


def check_refused(folder: Folder, ended: Ran, code: int, message: str) -> None:
    assert ended.code == code
    assert message in ended.err
    assert ended.err.splitlines()[-1].startswith("covey: error: ")
    assert CANARY not in ended.err + ended.out
    assert folder.untouched()


def test_constant_and_all_missing_columns_are_legal_and_lose_nothing(folder: Folder) -> None:
    folder.write("in.csv", HEADER + ROW * 4)
    done = folder.anonymize("in.csv", "-k", 2, "--json")
    assert done.code == 0
    assert json.loads(done.out)["loss"]["total_il"] == 0
    assert json.loads(done.out)["loss"]["precision"] == 1


def test_the_output_may_not_be_an_input(folder: Folder) -> None:
    before = (folder.path / "people.csv").read_bytes()
    os.link("people.csv", "hard.csv")
    Path("soft.csv").symlink_to("people.csv")
    for name in ("people.csv", "./people.csv", "hard.csv", "soft.csv", "people.toml",
                 "hierarchies/education.csv"):  # fmt: skip
        failed = folder.covey("anonymize", "people.csv", "-s", "people.toml", "-k", 3, "-o", name)
        assert failed.code == 2
        assert "would overwrite" in failed.err
    same = folder.anonymize("people.csv", "-k", 3, "--report", "out.json")
    assert same.code == 0
    failed = folder.covey("anonymize", "people.csv", "-s", "people.toml", "-k", 3, "-o", "x.json",
                          "--report", "x.json")  # fmt: skip
    assert failed.code == 2
    assert (folder.path / "people.csv").read_bytes() == before


def test_names_with_brackets_are_shown_as_they_are(folder: Folder) -> None:
    folder.write("in.csv", "a[/b],:smile:\nx,y\nx,y\n")
    folder.write("s.toml", '[columns."a[/b]"]\nrole="quasi"\ntype="categorical"\n'
                 '[columns.":smile:"]\nrole="quasi"\ntype="categorical"\n')  # fmt: skip
    done = folder.covey("anonymize", "in.csv", "-s", "s.toml", "-k", 2, "-o", "out.csv")
    assert done.code == 0
    assert "a[/b]" in done.err
    assert ":smile:" in done.err


def test_defused_and_comma_releases_can_be_measured(folder: Folder) -> None:
    folder.write("in.csv", "q;x\n=a;1,5\n=a;2,25\n-b;3\n-b;4\n")
    folder.write("s.toml", '[columns.q]\nrole="quasi"\ntype="categorical"\n'
                 '[columns.x]\nrole="quasi"\ntype="numeric"\n')  # fmt: skip
    done = folder.covey("anonymize", "in.csv", "-s", "s.toml", "-k", 2, "-o", "out.csv",
                        "--low-high", "--json")  # fmt: skip
    assert done.code == 0
    lines = (folder.path / "out.csv").read_text().splitlines()
    assert lines[0] == "q;x_low;x_high"
    assert "'=a;1,5;2,25" in lines
    measured = folder.covey("measure", "in.csv", "out.csv", "-s", "s.toml", "-k", 2, "--json")
    unknown = {"information": None}  # of groups, which the released table does not tell
    assert json.loads(measured.out) == json.loads(done.out)["loss"] | unknown


def test_places_that_cannot_be_written_are_told_before_the_work(folder: Folder) -> None:
    for name in ("nowhere/out.csv", "people.csv/out.csv", "/proc/out.csv"):
        failed = folder.covey("anonymize", "people.csv", "-s", "people.toml", "-k", 3, "-o", name)
        assert failed.code == 2
        assert "cannot be written" in failed.err
    os.mkfifo("pipe")
    for name in (".", "pipe", "/dev/null"):
        failed = folder.covey("anonymize", "people.csv", "-s", "people.toml", "-k", 3, "-o", name)
        assert failed.code == 2
        assert "regular file" in failed.err


def test_missing_and_broken_files_are_told(folder: Folder) -> None:
    folder.write("broken.toml", "[columns\n")
    folder.write("wrong.toml", '[columns.age]\nrole = "quas"\n[columns.sex]\nrole = "quasi"\n')
    folder.write("broken.gz", b"\x1f\x8b\x08\x00broken")
    folder.write("broken.parquet", b"PAR1broken")
    for table, schema, message in (
        ("nope.csv", "people.toml", "the table cannot be read"),
        ("people.csv", "nope.toml", "the schema cannot be read"),
        ("people.csv", "broken.toml", "TOML"),
        ("people.csv", "wrong.toml", "column 'age': role: "),
        ("people.csv", "wrong.toml", "column 'sex': a quasi-identifier needs a type"),
        ("broken.gz", "people.toml", "damaged gzip"),
        ("broken.parquet", "people.toml", "damaged Parquet"),
        (".", "people.toml", "among the files of an input"),
    ):
        failed = folder.covey("anonymize", table, "-s", schema, "-k", 3, "-o", "out.csv")
        assert failed.code == 2
        assert message in failed.err
    assert folder.untouched()


def test_a_draft_is_not_overwritten_without_force(folder: Folder) -> None:
    assert folder.covey("inspect", "people.csv", "-o", "people.toml").code == 2
    assert folder.covey("inspect", "people.csv", "-o", "people.toml", "--force").code == 0
    printed = folder.covey("inspect", "people.csv")
    assert tomllib.loads(printed.out)["columns"]["name"] == {"role": "identifier"}


def test_a_draft_keeps_the_declared_uses_of_the_file_that_it_replaces(folder: Folder) -> None:
    schema = covey.Schema.from_toml("people.toml")
    kept, lost = "mean of age by sex", "count where shoe = 43"
    declared = schema.with_role("shoe", "insensitive").using([kept, lost])
    Path("people.toml").write_text(declared.to_toml(), encoding="utf-8")
    assert folder.covey("inspect", "people.csv", "-o", "people.toml", "--force").code == 0
    assert covey.Schema.from_toml("people.toml").uses == (kept,)


def test_uses_of_the_schema_are_measured_wherever_they_help(folder: Folder) -> None:
    uses = ["mean of age by sex", "count where age > 200"]
    known = covey.Schema.from_toml("people.toml").using(uses)
    Path("people.toml").write_text(known.to_toml(), encoding="utf-8")
    made = folder.anonymize("people.csv", "-k", 5, "--effort", "fast", "--utility", "--json")
    assert json.loads(made.out)["utility"]["uses"][0]["use"] == "mean of age by sex"
    more = ("-s", "people.toml", "-k", 5, "--utility", "-o", "later.json")
    shown = folder.covey("report", "people.csv", "out.csv", *more).err
    assert "mean of age by sex" in shown
    assert re.search(r"figure +release", shown)
    own = folder.covey("utility", "out.csv", "--original", "people.csv", "-s", "people.toml")
    assert re.search(r"figure +original +release", own.out)
    assert "too few rows" in own.out
    curve = folder.covey("curve", "people.csv", "-s", "people.toml", "-k", "5", "-O", "effort=fast")
    assert "uses kept" in curve.out


def test_a_draft_declares_what_was_detected(folder: Folder) -> None:
    folder.write("in.csv", "a;b\n" + "1,5;?\n2,25;?\n3;x\n" * 9)
    drafted = folder.covey("inspect", "in.csv")
    assert tomllib.loads(drafted.out)["table"] == {
        "delimiter": ";", "encoding": "utf-8", "decimal": ",", "missing": ["?", ""],
    }  # fmt: skip
    declared = folder.covey("inspect", "in.csv", "--missing", "x", "--decimal", ",")
    assert tomllib.loads(declared.out)["table"]["missing"] == ["x", ""]


def test_an_unforeseen_error_is_told_by_its_kind_alone(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError(CANARY)

    monkeypatch.setattr("covey.engines.memory.cells_of", fail)
    failed = folder.anonymize("people.csv", "-k", 3)
    assert failed.code == 1
    assert "internal error (KeyError)" in failed.err
    assert CANARY not in failed.err
    assert folder.untouched()


SEEDS = (b"", b"\0", b"a,b\n", b'"', b"\xff\xfe", b"PAR1", b"\x1f\x8b", HEADER.encode() + b"x\n")


@given(
    st.binary(max_size=60) | st.sampled_from([HEADER, ROW]).map(str.encode), st.binary(max_size=60)
)
@example(HEADER.encode(), ROW.encode() * 2)
@example(b"\x1f\x8b\x08", b"")
def test_p20_no_bytes_bring_it_down(folder: Folder, start: bytes, rest: bytes) -> None:
    folder.write("in.csv", start + rest)
    (folder.path / "out.csv").unlink(missing_ok=True)
    ended = folder.anonymize("in.csv", "-k", 2)
    assert ended.code in (0, 1, 2)
    assert "Traceback" not in ended.err
    assert "internal error" not in ended.err
    assert CANARY not in ended.err
    assert (folder.path / "out.csv").exists() == (ended.code == 0)


# ── requirements beyond k ───────────────────────────────────────────────────────────────────────


JUDGED = """
[columns.q]
role = "quasi"
type = "categorical"
[columns.word]
role = "sensitive"
[columns.number]
role = "sensitive"
type = "numeric"
[columns.who]
role = "identifier"
[require]
k = 2
l = { word = 2 }
"""
RELEASED = "q,word,number\nx,a,1\nx,b,2\nx,b,9\ny,a,1\ny,b,2\ny,b,9\n"


@pytest.fixture
def judged(folder: Folder) -> Folder:
    folder.write("s.toml", JUDGED)
    folder.write("r.csv", RELEASED)
    return folder


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([], {"k-anonymity": 3, "distinct l-diversity (word)": 2}),
        (["-k", 3], {"k-anonymity": 3, "distinct l-diversity (word)": 2}),
        (["-l", "word=frequency:2"], {"k-anonymity": 3, "frequency l-diversity (word)": 1.5}),
        (
            ["-l", "word=2", "-l", "word=entropy:1.8", "-l", "number=3"],
            {
                "k-anonymity": 3,
                "distinct l-diversity (word)": 2,
                "entropy l-diversity (word)": 3 / 2 ** (2 / 3),
                "distinct l-diversity (number)": 3,
            },
        ),
        (
            ["-l", "word=recursive:2:2.5", "-t", "word=0", "-t", "number=0"],
            {
                "k-anonymity": 3,
                "recursive (c, 2)-diversity (word)": 2,
                "t-closeness (word, equal)": 0,
                "t-closeness (number, ordered)": 0,
            },
        ),
        (
            ["--alpha", "word=0.3:a", "--beta", "word=basic:1", "--delta", "number=0.1"],
            {
                "k-anonymity": 3,
                "distinct l-diversity (word)": 2,
                "alpha (word, 1 listed)": 1 / 3,
                "basic beta-likeness (word)": 0,
                "delta-disclosure (number)": 0,
            },
        ),
    ],
)
def test_verify_prints_what_was_asked_and_found(
    judged: Folder, options: list[object], found: dict[str, float]
) -> None:
    shown = judged.covey("verify", "r.csv", "-s", "s.toml", *options)
    ran = judged.covey("verify", "r.csv", "-s", "s.toml", *options, "--json")
    checks = json.loads(ran.out)["checks"]
    assert {c["requirement"]: c["achieved"] for c in checks} == pytest.approx(found)
    assert ran.code == shown.code == (0 if all(c["holds"] for c in checks) else 1)
    for check in checks:
        assert check["requirement"] in shown.out
    assert "strongest value that holds" in shown.out
    assert "prosecutor, at most: 33.3 %" in shown.out


def test_of_a_release_without_its_persons_rows_are_judged(judged: Folder) -> None:
    """Nothing that can be judged is broken, so it is no failure; but nobody is left to think so."""
    asked = ["verify", "r.csv", "-s", "s.toml", "--person", "who"]
    ran, machine = judged.covey(*asked), judged.covey(*asked, "--json")
    assert (ran.code, ran.err.count("error"), machine.code) == (0, 0, 0)
    assert "the column 'who' is not in the table" in ran.out
    assert "every class has at least 3 rows" in ran.out
    assert "not judged" in ran.out
    assert "persons (who): unknown" in ran.out
    verdict = json.loads(machine.out)
    check = next(c for c in verdict["checks"] if "persons" in c["requirement"])
    assert (verdict["holds"], verdict["broken"]) == (False, False)
    assert (check["holds"], check["judged"], check["achieved"]) == (False, False, None)
    # There are no more persons than rows.
    assert judged.covey(*asked, "-k", 4).code == 1
    assert judged.covey(*asked, "--count-rows").code == 2
    assert judged.covey(*asked[:-2], "--count-rows").code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-l", "3"], "COLUMN=VALUE"),  # there are two sensitive columns
        (["-l", "=3"], "COLUMN=VALUE"),
        (["-l", "3", "-l", "word=3"], "COLUMN=VALUE"),
        (["-l", "word=many"], "column 'word': l must be a number"),
        (["-l", "q=2"], "'q' is not a sensitive column of the schema"),
        (["-t", "word=ordered:0.2"], "declare type"),
        (["-t", "word=2"], "t must be between 0 and 1"),
        (["--alpha", "word=1"], "alpha must be below 1"),
        (["--beta", "word=0"], "beta must be above 0"),
        (["--delta", "absent=1"], "'absent' is not a sensitive column"),
        (["--person", "q"], "the person column 'q'"),
        (["-k", "1"], "k must be at least 2"),
    ],
)
def test_wrong_requirements_are_wrong_usage(
    judged: Folder, options: list[str], message: str
) -> None:
    for command in (["verify", "r.csv"], ["anonymize", "r.csv", "-o", "out.csv"]):
        ran = judged.covey(*command, "-s", "s.toml", *options)
        assert (ran.code, ran.out) == (2, "")
        assert message in ran.err
    assert judged.untouched()


def test_a_release_keeps_what_the_options_ask_or_is_not_made(judged: Folder) -> None:
    kept = ["anonymize", "r.csv", "-s", "s.toml", "-o", "out.csv", "--no-description"]
    assert judged.covey(*kept, "-k", 3, "-l", "number=3", "-t", "word=0").code == 0
    (judged.path / "out.csv").unlink()
    ran = judged.covey(*kept, "-k", 3, "-l", "number=4")
    assert ran.code == 1
    assert judged.untouched()


def test_risks_against_a_population(judged: Folder) -> None:
    judged.write(
        "everybody.csv", "name,q\n" + "".join(f"n{n},{'xxxxy'[n % 5]}\n" for n in range(25))
    )
    ran = judged.covey("verify", "r.csv", "-s", "s.toml", "--population", "everybody.csv", "--json")
    risks = json.loads(ran.out)["risks"]
    assert (ran.code, risks["population"], risks["uncovered"]) == (0, 25, 0)
    assert risks["journalist"] == 1 / 5
    assert risks["marketer"] == pytest.approx((3 / 20 + 3 / 5) / 6)
    judged.write("few.csv", "q\nx\nx\nx\ny\n")
    ran = judged.covey("verify", "r.csv", "-s", "s.toml", "--population", "few.csv")
    assert "in the population than in the table: 1" in ran.out
    assert "population of 4 rows" in ran.out
