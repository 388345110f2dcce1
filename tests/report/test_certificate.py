"""A certificate is true, can be checked, and reveals nothing else."""

import contextlib
import copy
import hashlib
import json
import os
import pickle
import random
import shutil
import subprocess
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from pydantic import BaseModel, ConfigDict, Field

import covey
from covey import tables
from covey.cli import main as cli
from covey.errors import UsageError
from covey.report import Output, certificate, checking
from covey.schema import taxonomy
from covey.tables.digests import Digest, digests

K = 4
DIAGNOSES = ("flu", "cold", "asthma", "=HIV", "cancer")
TREE = {
    "illness": {
        "infection": {"lungs": ["flu", "cold"], "blood": {"virus": ["=HIV", "CANARY-leaf"]}},
        "chronic": ["asthma", "cancer"],
        "CANARY-branch": {"deep": {"deeper": {"deepest": ["CANARY-deep-leaf"]}}},
    }
}
TOML = """
[table]
missing = ["NA"]

[columns.name]
role = "identifier"
[columns.patient]
role = "identifier"
[columns.age]
role = "quasi"
type = "numeric"
grid = 5
[columns.sex]
role = "quasi"
type = "categorical"
[columns.diagnosis]
role = "sensitive"
type = "categorical"
taxonomy = "trees/diagnosis.csv"
[columns.days]
role = "sensitive"
type = "numeric"
[columns.ward]
role = "insensitive"

[require]
k = 4
l = { diagnosis = [2, "entropy:1.2"] }
t = { diagnosis = "hierarchical:0.95", days = 0.95 }
alpha = { diagnosis = "0.9:=HIV:CANARY-leaf" }
"""


def people(rows: int = 60, stays: int = 1) -> pl.DataFrame:
    dice = random.Random(1)
    return pl.DataFrame(
        {
            "name": [f"CANARY-name-{n}" for n in range(rows)],
            "patient": [f"CANARY-patient-{n // stays}" for n in range(rows)],
            "age": [dice.randrange(20, 90) for _ in range(rows)],
            "sex": [dice.choice("mf") for _ in range(rows)],
            "diagnosis": [DIAGNOSES[n % 5] for n in range(rows)],
            "days": [1 + n % 7 for n in range(rows)],
            "ward": [f"w{n % 3}" for n in range(rows)],
        }
    )


def written_in(folder: Path) -> Path:
    (folder / "trees").mkdir(parents=True)
    taxonomy.from_nested(TREE).write_arx(folder / "trees" / "diagnosis.csv")
    (folder / "schema.toml").write_text(TOML)
    people().write_csv(folder / "CANARY-input.csv")
    return folder


def anonymize(folder: Path, *more: object) -> int:
    words = ["anonymize", folder / "CANARY-input.csv", "-s", folder / "schema.toml", *more]
    return cli.run([str(word) for word in words])


def released(folder: Path, *more: object) -> Path:
    """A release by the command line, with everything beside it."""
    files = ["-o", folder / "out.csv", "--report", folder / "r.json", "--certificate"]
    assert anonymize(folder, *files, *more) == 0
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released(written_in(tmp_path_factory.mktemp("CANARY-folder") / "certificate"))


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy to be tampered with."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


def statement(folder: Path, name: str = "out.csv") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}.intoto.json").read_text())
    return found


def check(folder: Path, said: Any = None, name: str = "out.csv") -> checking.Checked:
    """Check a release, after its certificate was changed to what is `said`."""
    path = folder / f"{name}.intoto.json"
    if said is not None:
        path.write_text(json.dumps(said))
    return checking.check(folder / name, path)


def write(folder: Path, **settings: Any) -> covey.Report:
    """Write a release with its certificate, from Python."""
    release = covey.anonymize(people(), schema_of(), require=[covey.KAnonymity(K)])
    return release.write(folder / "out.csv", certificate=True, **settings)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# ── the published fields of in-toto ─────────────────────────────────────────────────────────────


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class ResourceDescriptor(Strict):
    """spec/v1/resource_descriptor.md: one of uri, digest and content; a subject has a digest."""

    digest: dict[str, str]
    name: str | None = None
    uri: str | None = None
    content: str | None = None
    downloadLocation: str | None = None  # noqa: N815
    mediaType: str | None = None  # noqa: N815
    annotations: dict[str, Any] | None = None


class Statement(Strict):
    """spec/v1/statement.md."""

    type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: list[ResourceDescriptor] = Field(min_length=1)
    predicateType: str = Field(pattern=r"^[a-z][a-z0-9+.-]*:\S+$")  # noqa: N815
    predicate: dict[str, Any] | None = None


def test_it_is_a_statement_of_in_toto(made: Path) -> None:
    found = Statement.model_validate(statement(made))
    names = [subject.name for subject in found.subject]
    assert names == ["out.csv", "schema.toml", "r.json"]
    for subject in found.subject:
        assert subject.digest == {"sha256": digest(made / str(subject.name))}
    assert len(set(names)) == len(names)
    assert found.predicateType == certificate.PREDICATE


def test_it_says_what_was_asked_and_found_by_whom_and_when(made: Path) -> None:
    said = statement(made)["predicate"]
    report = json.loads((made / "r.json").read_text())
    assert said["verifier"] == {"name": "covey", "version": report["covey"]}
    assert said["date"] == report["date"]
    assert said["method"] == report["method"]
    assert said["rows"] == {n: report["rows"][n] for n in ("released", "suppressed", "dropped")}
    assert [asked["model"] for asked in said["asked"]] == ["k", "l", "l", "t", "t", "alpha"]
    assert said["found"]["holds"] is True
    assert said["found"]["k"] >= K
    assert 0 < said["found"]["risks"]["prosecutor"] <= 1 / K
    assert "key" in said


def test_the_fingerprint_of_the_key_is_in_it(tmp_path: Path) -> None:
    release = covey.anonymize(people(), schema_of(), require=[covey.KAnonymity(K)])
    keyed = replace(release, report=replace(release.report, key="0123456789abcdef"))
    keyed.write(tmp_path / "out.csv", certificate=True)
    assert statement(tmp_path)["predicate"]["key"] == "0123456789abcdef"


# ── checking ────────────────────────────────────────────────────────────────────────────────────


def test_the_release_and_its_certificate_are_enough(made: Path, tmp_path: Path) -> None:
    for name in ("out.csv", "out.csv.intoto.json"):
        shutil.copy(made / name, tmp_path / name)
    found = check(tmp_path)
    assert found.holds
    assert found.differences == ()
    assert [name for name in ("schema.toml", "r.json") if name in " ".join(found.unchecked)] == [
        "schema.toml",
        "r.json",
    ]
    assert found.verdict is not None
    assert found.verdict.holds
    assert len(found.verdict.checks) == 6


def test_beside_all_its_files_nothing_is_left_unchecked(folder: Path) -> None:
    found = check(folder)
    assert (found.differences, found.unchecked) == ((), ())


@pytest.mark.parametrize("name", ["released.parquet", "released.csv.gz"])
def test_other_formats_are_checked_too(tmp_path: Path, name: str) -> None:
    release = covey.anonymize(people(), schema_of(), require=[covey.KAnonymity(K)])
    release.write(tmp_path / name, certificate=True)
    assert check(tmp_path, name=name).holds


def test_a_changed_byte_anywhere_is_seen(folder: Path) -> None:
    data = (folder / "out.csv").read_bytes()
    dice = random.Random(1)
    for place in [0, len(data) - 1, *dice.sample(range(len(data)), 20)]:
        changed = bytearray(data)
        changed[place] ^= 1
        (folder / "out.csv").write_bytes(changed)
        found = check(folder)
        assert not found.holds
        assert "SHA-256 of the release" in found.differences[0]


@pytest.mark.parametrize("name", ["schema.toml", "r.json"])
def test_a_changed_companion_is_seen(folder: Path, name: str) -> None:
    with (folder / name).open("a") as file:
        file.write(" ")
    (difference,) = check(folder).differences
    assert repr(name) in difference


def leaves(said: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = said.items() if isinstance(said, dict) else enumerate(said)
    for key, value in items:
        if isinstance(value, dict | list) and value:
            yield from leaves(value, (*place, key))
        else:
            yield (*place, key)


def changed(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case None:
            return 7
        case _:
            return {"x": 1} if isinstance(value, dict) else ["x"]


def at(said: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        said = said[key]
    return said


Places = Sequence[tuple[Any, ...]]


def tampered(before: Any, places: Places, tamper: str) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """What is said, with one place changed or removed."""
    for place in places:
        said = copy.deepcopy(before)
        holder = at(said, place[:-1])
        if tamper == "change":
            holder[place[-1]] = changed(holder[place[-1]])
        elif holder[place[-1]] is None or "asked" in place:
            continue  # the default of what is asked
        else:
            del holder[place[-1]]
        yield place, said


# What a name or note is called is its maker's choice, and a tree and a key are in no other file.
FREE = [("subject", 0, "name"), ("predicate", "key"), ("predicate", "verifier", "name")]


def is_free(place: tuple[Any, ...]) -> bool:
    """A companion that is named otherwise is not found, and then said to be unchecked."""
    return (
        place in FREE
        or (place[0] == "subject" and place[2] in ("name", "annotations"))
        or "parents" in place  # by distances alone
    )


@pytest.fixture
def judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge the files, which stay as they are, once for each schema and what is asked of them."""
    known: dict[bytes, covey.Verdict] = {}

    def verify(source: Any, schema: covey.Schema, asked: Any, **others: Any) -> covey.Verdict:
        request = pickle.dumps((schema, asked, others))
        if request not in known:
            known[request] = covey.verify(source, schema, asked, **others)
        return known[request]

    monkeypatch.setattr(checking, "verify", verify)


@pytest.mark.slow
@pytest.mark.usefixtures("judged_once")
@pytest.mark.parametrize("tamper", ["change", "remove"])
def test_a_change_of_any_field_is_seen(folder: Path, tamper: str) -> None:
    before = statement(folder)
    places = [place for place in leaves(before) if not is_free(place)]
    assert len(places) > 100
    for place, said in tampered(before, places, tamper):
        with contextlib.suppress(UsageError):
            assert not check(folder, said).holds, place


def test_a_stronger_claim_is_seen_whoever_made_it_consistent(folder: Path) -> None:
    said = statement(folder)
    said["predicate"]["asked"][0]["k"] = 40
    said["predicate"]["found"]["checks"][0] |= {"asked": 40, "achieved": 40}
    found = check(folder, said)
    assert any("checks.0.achieved" in difference for difference in found.differences)
    with pytest.raises(covey.ViolationError, match="k-anonymity does not hold: asked 40"):
        found.raise_if_wrong()


def test_a_tree_that_was_changed_changes_what_is_found(folder: Path) -> None:
    said = statement(folder)
    parents = said["predicate"]["columns"]["diagnosis"]["taxonomy"]["parents"]
    parents |= dict.fromkeys(DIAGNOSES, "illness")
    assert any("t_hierarchical" in d for d in check(folder, said).differences)


def test_fields_that_nobody_knows_are_ignored(folder: Path) -> None:
    said = statement(folder)
    for holder in (said, said["subject"][0], said["predicate"], said["predicate"]["found"],
                   said["predicate"]["asked"][0], said["predicate"]["columns"]["age"],
                   said["predicate"]["table"], said["subject"][0]["digest"]):  # fmt: skip
        holder["org_example_more"] = "x"
    assert check(folder, said).holds


def test_the_order_of_names_does_not_matter(folder: Path) -> None:
    def reversed_(said: Any) -> Any:
        if isinstance(said, dict):
            return {name: reversed_(said[name]) for name in reversed(said)}
        return [reversed_(one) for one in said] if isinstance(said, list) else said

    assert check(folder, reversed_(statement(folder))).holds


def test_persons_are_not_judged_again_without_their_column(tmp_path: Path) -> None:
    asked = [covey.KAnonymity(3, person="patient")]
    frame = people(stays=2)
    release = covey.anonymize(frame, schema_of(), require=asked)
    release.write(tmp_path / "out.csv", certificate=True)
    found = check(tmp_path)
    assert found.holds
    assert any("'patient' is not in the table" in note for note in found.unchecked)
    assert any("risks" in note for note in found.unchecked)
    persons = {"patient": frame["patient"][release.rows]}
    path = tmp_path / "out.csv.intoto.json"
    again = checking.check(tmp_path / "out.csv", path, persons=persons)
    assert again.holds
    assert not any("patient" in note for note in again.unchecked)
    said = statement(tmp_path)
    said["predicate"]["found"]["checks"][0]["achieved"] += 1
    assert check(tmp_path, said).holds  # nobody could know, and it was said
    wrong = checking.check(tmp_path / "out.csv", path, persons=persons)
    assert wrong.differences


# ── what it does not tell ───────────────────────────────────────────────────────────────────────


def test_no_cell_no_path_and_no_digest_of_the_input_is_in_it(made: Path) -> None:
    text = (made / "out.csv.intoto.json").read_text()
    assert "CANARY" not in text  # names, patients, folders, values that the release does not show
    assert str(made) not in text
    assert digest(made / "CANARY-input.csv") not in text


def test_a_suppressed_value_is_neither_in_its_tree_nor_listed(made: Path) -> None:
    said = statement(made)["predicate"]
    assert said["asked"][-1]["values"] == ["=HIV"]
    assert said["asked"][-1]["listed"] == 2
    parents = said["columns"]["diagnosis"]["taxonomy"]["parents"]
    assert set(DIAGNOSES) <= set(parents)


def test_the_same_release_has_the_same_certificate(tmp_path: Path) -> None:
    texts = set()
    for seed in (1, 2):
        frame = people().sample(fraction=1, shuffle=True, seed=seed)
        release = covey.anonymize(frame, schema_of(), require=[covey.KAnonymity(K)])
        release.write(tmp_path / "out.csv", certificate=True)
        said = statement(tmp_path)
        said["predicate"]["date"] = ""
        texts.add(json.dumps(said))
    assert len(texts) == 1


# ── the schema ──────────────────────────────────────────────────────────────────────────────────


def schema_of(**more: Any) -> covey.Schema:
    return covey.Schema.of(
        quasi={"age": {"type": "numeric", "grid": 5}, "sex": "categorical"},
        sensitive={"diagnosis": {"type": "categorical", "taxonomy": TREE}, "days": "numeric"},
        identifier=["name", "patient"],
        insensitive=["ward"],
        **more,
    )


def test_a_schema_that_is_no_file_is_named_so(tmp_path: Path) -> None:
    write(tmp_path)
    subject = statement(tmp_path)["subject"][1]
    assert subject["annotations"] == {"role": "schema", "form": "canonical JSON"}
    expected = hashlib.sha256(certificate.canonical(schema_of())).hexdigest()
    assert subject["digest"]["sha256"] == expected
    (tmp_path / "schema").write_text("another file of that name")
    assert check(tmp_path).holds


def test_a_schema_that_was_changed_is_no_longer_its_file(made: Path) -> None:
    schema = covey.Schema.from_toml(made / "schema.toml")
    assert schema.file is not None
    assert schema.file.sha256 == digest(made / "schema.toml")
    asked = schema.model_copy(update={"require": schema_of(require={"k": 2}).require})
    assert asked.file is schema.file
    assert schema == schema.model_copy(update={"columns": dict(schema.columns)})
    assert schema == covey.Schema(**dict(schema))
    assert schema != asked
    fewer = {name: column for name, column in schema.columns.items() if name != "ward"}
    assert schema.model_copy(update={"columns": fewer}).file is None


@pytest.mark.parametrize(
    "change",
    [
        {"loss": "ncp"},
        {"require": {"k": 3}},
        {"table": {"decimal": ","}},
    ],
)
def test_another_schema_has_another_canonical_form(change: dict[str, Any]) -> None:
    assert certificate.canonical(schema_of(**change)) != certificate.canonical(schema_of())


# ── the tree ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shown", [["flu"], ["flu", "asthma"], ["cold", "=HIV"], list(DIAGNOSES)])
def test_a_pruned_tree_has_the_distances_of_the_whole(shown: list[str]) -> None:
    whole = taxonomy.from_nested(TREE)
    frame = pl.DataFrame({"sex": ["m"] * 12, "diagnosis": (shown * 12)[:12]})
    column = covey.Column(role="sensitive", type="categorical", taxonomy=whole)
    schema = covey.Schema(
        columns={
            "sex": covey.Column(role="quasi", type="categorical"),
            "diagnosis": column,
        }
    )
    table = tables.read(frame, schema)
    parents = certificate._tree(certificate._column("diagnosis", table, schema))
    pruned = taxonomy.build(parents)
    assert pruned.height == whole.height
    for one in shown:
        for other in shown:
            heights = {
                tree.subheight[tree.lowest_common_ancestor([node[one], node[other]])]
                for tree in (whole, pruned)
                if (node := tree.node_of)
            }
            assert len(heights) == 1
    assert not any("CANARY" in label for label in pruned.labels)


# ── the command line, and garbage ───────────────────────────────────────────────────────────────


def verify(*words: object) -> int:
    return cli.run(["verify", *(str(word) for word in words)])


def test_the_command_checks_and_tells(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = folder / "out.csv.intoto.json"
    assert verify(folder / "out.csv", "--certificate", path) == 0
    assert "matches its certificate" in capfd.readouterr().err
    assert verify(folder / "out.csv", "--certificate", path, "--json") == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["holds"], told["differences"]) == (True, [])
    assert verify(folder / "out.csv", "--certificate", path, "-s", folder / "schema.toml") == 0
    other = folder / "other.toml"
    other.write_text(TOML + "\n")
    capfd.readouterr()
    assert verify(folder / "out.csv", "--certificate", path, "-s", other) == 1
    assert "schema" in capfd.readouterr().err
    said = statement(folder)
    said["predicate"]["found"]["k"] += 1
    path.write_text(json.dumps(said))
    assert verify(folder / "out.csv", "--certificate", path) == 1
    assert "found.k" in capfd.readouterr().err


@pytest.mark.parametrize(
    "more", [["-k", 3], ["--person", "x"], ["--delimiter", ";"], ["-l", "a=2"]]
)
def test_what_the_certificate_says_is_not_said_twice(folder: Path, more: list[object]) -> None:
    path = folder / "out.csv.intoto.json"
    assert verify(folder / "out.csv", "--certificate", path, *more) == 2


def test_without_certificate_the_schema_is_needed(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "out.datapackage.json").unlink(missing_ok=True)
    assert verify(folder / "out.csv") == 2
    assert "--schema" in capfd.readouterr().err


def garbage(said: dict[str, Any]) -> Iterator[str]:
    text = json.dumps(said)
    yield from ("", "{", "null", "[]", '"x"', "7", "{}", "\0", "\ud7ff", "[" * 100_000)
    yield text[:-1]
    yield text.replace('"_type"', '"_type": 1, "_type"')  # twice
    yield text.replace("https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1")
    yield text.replace(certificate.PREDICATE, "https://slsa.dev/provenance/v1")
    yield text.replace('"k": 4', '"k": NaN', 1)
    yield text.replace('"k": 4', '"k": 1e999', 1)
    yield text.replace('"k": 4', f'"k": {"9" * 400}', 1)
    yield text.replace('"k": 4', f'"k": {"9" * 5000}', 1)
    yield text.replace('"model": "k"', '"model": "z"')
    yield text.replace('"role": "release"', '"role": "none"')
    for place, value in [
        (("predicate",), None),
        (("predicate", "asked"), [7]),
        (("predicate", "asked", 0), {"model": "k"}),
        (("predicate", "asked", 5, "listed"), 10**9),
        (("predicate", "asked", 5, "listed"), "x"),
        (("predicate", "asked", 5, "values"), [7]),
        (("predicate", "columns", "age"), {"role": "king"}),
        (("predicate", "columns", "diagnosis", "taxonomy"), "/etc/passwd"),
        (("predicate", "columns", "diagnosis", "taxonomy"), {"build": "x"}),
        (("predicate", "columns", "diagnosis", "taxonomy"), {"parents": {"a": "b", "b": "a"}}),
        (("predicate", "table", "delimiter"), "longer"),
        (("subject", 0, "digest"), {"md5": "0" * 32}),
        (("subject",), []),
    ]:  # fmt: skip
        changed = copy.deepcopy(said)
        at(changed, place[:-1])[place[-1]] = value
        yield json.dumps(changed)


def test_what_is_no_certificate_is_refused_in_a_line(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = folder / "garbage.json"
    for text in garbage(statement(folder)):
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        assert verify(folder / "out.csv", "--certificate", path) == 2, text[:200]
        told = capfd.readouterr().err
        assert told.startswith("covey: error: ")
        assert "internal" not in told
        assert told.count("\n") == 1
    assert verify(folder / "out.csv", "--certificate", folder / "nowhere.json") == 2
    assert verify(folder / "out.csv", "--certificate", folder) == 2


def test_a_certificate_may_not_be_too_large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "LARGEST", 1000)
    with pytest.raises(UsageError, match="larger"):
        check(folder)


@pytest.mark.parametrize(
    "name", ["../r.json", "/etc/hostname", "trees", "n" * 300, "a\0b", "", ".."]
)
def test_a_name_in_a_certificate_leads_nowhere(folder: Path, name: str) -> None:
    said = statement(folder)
    said["subject"][2]["name"] = name
    found = check(folder, said)
    assert found.holds
    assert any("not beside the certificate" in note for note in found.unchecked)


# ── making ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-o", "-", "--certificate"], "beside its release"),
        (["-o", "o.csv", "--certificate", "--report", "o.csv.intoto.json"], "overwrite"),
        (["-o", "o.csv", "--certificate", "--method", "nh"], "certificate is not possible"),
    ],
)
def test_a_certificate_that_cannot_be_is_refused_before_the_work(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    more: list[object],
    message: str,
) -> None:
    folder = written_in(tmp_path / "f")
    monkeypatch.chdir(folder)
    before = sorted(path.name for path in folder.iterdir())
    assert anonymize(folder, *more) == 2
    assert message in capfd.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_release_has_a_header_also_if_its_original_has_none(tmp_path: Path) -> None:
    folder = written_in(tmp_path / "certificate")
    people().write_csv(folder / "CANARY-input.csv", include_header=False)
    said = f"[table]\nheader = false\nnames = {json.dumps(people().columns)}\n"
    (folder / "schema.toml").write_text(TOML.replace("[table]\n", said))
    assert check(released(folder)).holds


@pytest.mark.parametrize(
    "more", [["--alpha", "diagnosis=9/10"], ["-l", "diagnosis=recursive:2:7/2"]]
)
def test_fractions_are_judged_again(folder: Path, more: list[str]) -> None:
    assert check(released(folder, *more)).holds


def test_a_release_may_be_written_otherwise_than_its_original(tmp_path: Path) -> None:
    folder = written_in(tmp_path / "certificate")
    people().write_csv(folder / "CANARY-input.csv", separator=";")
    assert anonymize(folder, "-o", folder / "out.parquet", "--certificate") == 0
    assert check(folder, name="out.parquet").holds


def test_the_key_is_the_one_in_the_report(folder: Path) -> None:
    said = statement(folder)
    said["predicate"]["key"] = "0" * 16
    assert "key" in "".join(check(folder, said).differences)


def test_a_pipe_is_no_certificate_and_does_not_hang(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(covey.UsageError, match="not a file"):
        checking.check(folder / "out.csv", folder / "pipe")


def test_what_ones_own_method_was_handed_is_not_told(tmp_path: Path) -> None:
    def blocks(table: Any, k: int, *, seed: int, progress: Any, helper: Any, n: int) -> Any:
        return covey.Groups(np.minimum(np.arange(table.rows) // k, table.rows // k - 1))

    own: dict[str, Any] = {"helper": ["CANARY"], "n": 3}
    require = [covey.KAnonymity(4)]
    release = covey.anonymize(people(), schema_of(), require=require, method=blocks, **own)
    report = release.write(tmp_path / "out.csv", report=tmp_path / "r.json", certificate=True)
    assert report.options == {"helper": "…", "n": 3}
    assert not [path for path in tmp_path.iterdir() if b'"CANARY"' in path.read_bytes()]


def test_in_python_too(tmp_path: Path) -> None:
    frame = people().drop("diagnosis", "days")
    schema = covey.Schema.of(
        quasi={"age": "numeric"}, identifier=["name", "patient"], insensitive=["sex", "ward"]
    )
    rings = covey.anonymize(frame, schema, require=[covey.KAnonymity(2)], method="nh")
    with pytest.raises(UsageError, match="certificate is not possible"):
        rings.write(tmp_path / "out.csv", certificate=True)
    assert not [*tmp_path.iterdir()]


def test_reports_of_one_name_are_told_apart_without_their_folders(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    write(tmp_path, report=[tmp_path / "a" / "r.json", tmp_path / "b" / "r.json"])
    assert [subject["name"] for subject in statement(tmp_path)["subject"][2:]] == ["r.json", "_"]
    assert check(tmp_path).holds


# ── a folder of files ───────────────────────────────────────────────────────────────────────────

PARTS = {"a": (0, 20), "b": (20, 45), "c": (45, 60)}


def written_as_folder(place: Path, ending: str) -> checking.Checked:
    """A release in several files, its report and its certificate; and the first check of it."""
    schema = covey.Schema.from_toml(written_in(place) / "schema.toml")
    release = covey.anonymize(people(), schema)
    whole, asked, out = release._own.released, release._own.requirements, place / "out"
    out.mkdir()
    for name, (begin, end) in PARTS.items():
        with (out / f"{name}.{ending}").open("wb") as file:
            tables.write(whole.with_frame(whole.frame[begin:end]), file, f"{name}.{ending}")
    found = digests(out)
    report = replace(release.report, output=Output.of_folder(ending, found, whole.dialect.written))
    pages: dict[str | Path, bytes] = {"r.json": report.written_as("r.json")}
    (place / "r.json").write_bytes(pages["r.json"])
    said = certificate.statement(
        {name: one.sha256 for name, one in found.items()},
        *(report, pages, schema, asked),
        *(tables.read(out, schema), covey.verify(out, schema, asked)),
    )
    certificate.path_for(out).write_bytes(said)
    return check(place, name="out")


@pytest.fixture(scope="module", params=["csv", "parquet"])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("many") / "files"
    found = written_as_folder(place, request.param)
    assert found.differences == ()
    assert found.holds
    return place


@pytest.fixture
def copied(many: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(many, tmp_path / "copy"))


def test_each_file_of_a_folder_is_a_subject(many: Path) -> None:
    said = statement(many, "out")
    found = Statement.model_validate(said)
    released = {s.name: s.digest["sha256"] for s in found.subject[:3]}
    assert released == {path.name: digest(path) for path in (many / "out").iterdir()}
    assert [subject["annotations"]["role"] for subject in said["subject"]] == [
        *["release"] * 3,
        *["schema", "report"],
    ]


def test_the_report_has_the_sum_the_number_and_one_digest_of_the_files(many: Path) -> None:
    told = json.loads((many / "r.json").read_text())["output"]
    lines = subprocess.run(
        "sha256sum * | LC_ALL=C sort | sha256sum",  # as the page says
        shell=True, cwd=many / "out", capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert told["sha256"] == lines.split()[0]
    assert told["files"] == 3
    assert told["bytes"] == sum(path.stat().st_size for path in (many / "out").iterdir())


def test_the_command_checks_a_folder(many: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for place in (many / "out", f"{many}/out/", f"{many}/out/*"):
        assert verify(place, "--certificate", many / "out.intoto.json") == 0
        assert "matches its certificate" in capfd.readouterr().err


def test_a_changed_byte_in_any_file_is_seen(copied: Path) -> None:
    dice = random.Random(1)
    for path in sorted((copied / "out").iterdir()):
        data = path.read_bytes()
        for place in [0, len(data) - 1, *dice.sample(range(len(data)), 5)]:
            changed = bytearray(data)
            changed[place] ^= 1
            path.write_bytes(changed)
            found = check(copied, name="out")
            assert not found.holds
            assert "SHA-256 of 1 file" in found.differences[0]
        path.write_bytes(data)
    assert check(copied, name="out").holds


def test_a_file_that_is_added_removed_renamed_or_swapped_is_seen(copied: Path) -> None:
    out = copied / "out"
    a, b, _ = sorted(out.iterdir())
    rows = people().height

    def seen(*words: str) -> None:
        found = check(copied, name="out")
        assert not found.holds
        told = " ".join(found.differences)
        assert [word for word in words if word not in told] == []
        with pytest.raises(covey.ViolationError):
            found.raise_if_wrong()

    shutil.copy(a, out / f"more{a.suffix}")
    seen("1 file in the folder", "rows.released", str(rows + 20))
    (out / f"more{a.suffix}").unlink()
    (out / "deep").mkdir()
    shutil.copy(a, out / "deep" / a.name)  # also in a folder of the folder
    seen("1 file in the folder")
    shutil.rmtree(out / "deep")
    a.rename(copied / "aside")
    seen("1 file of the certificate", "rows.released", str(rows - 20))
    (copied / "aside").rename(out / f"z{a.suffix}")
    seen("1 file of the certificate", "1 file in the folder")
    b.rename(a)
    (out / f"z{a.suffix}").rename(b)
    seen("SHA-256 of 2 files")
    shutil.rmtree(out)
    out.mkdir()
    seen("3 files of the certificate")


@pytest.mark.slow
@pytest.mark.usefixtures("judged_once")
@pytest.mark.parametrize("tamper", ["change", "remove"])
def test_a_change_of_any_field_about_a_file_of_a_folder_is_seen(copied: Path, tamper: str) -> None:
    before = statement(copied, "out")
    names = [("subject", number, "name") for number in range(3)]
    roles = [("subject", number, "annotations", "role") for number in range(3)]
    # What is said of the release is checked as for one file.
    places = [place for place in leaves(before) if place[0] == "subject" and not is_free(place)]
    for place, said in tampered(before, [*places, *names, *roles], tamper):
        with contextlib.suppress(UsageError):
            assert not check(copied, said, "out").holds, place


def test_a_subject_that_is_added_removed_or_repeated_is_seen(copied: Path) -> None:
    before = statement(copied, "out")
    first = before["subject"][0]
    more = first | {"name": "more.csv"}
    for subjects in (before["subject"][1:], [more, *before["subject"]]):
        assert not check(copied, before | {"subject": subjects}, "out").holds
    with pytest.raises(UsageError, match="not a certificate"):
        check(copied, before | {"subject": [first, *before["subject"]]}, "out")


def test_one_file_is_not_taken_for_the_folder_nor_the_folder_for_one(
    copied: Path, made: Path
) -> None:
    for path in (copied / "out").iterdir():
        found = checking.check(path, copied / "out.intoto.json")
        assert not found.holds
        assert "SHA-256 of the release" in found.differences[0]
    found = checking.check(copied / "out", made / "out.csv.intoto.json")
    assert any("3 files in the folder" in told for told in found.differences)


def test_names_of_files_and_names_in_a_certificate_are_not_shown(copied: Path) -> None:
    """Others may have chosen them."""
    path = next(iter((copied / "out").iterdir()))
    shutil.copy(path, path.with_name(f"CANARY{path.suffix}"))
    said = statement(copied, "out")
    said["subject"][0]["name"] = "../CANARY"
    assert "CANARY" not in " ".join(check(copied, said, "out").differences)


def test_digests_are_made_without_the_whole_file_in_memory(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(64 << 20)
    tracemalloc.start()
    try:
        found = Digest.of(tmp_path / "large")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == Digest(64 << 20, hashlib.sha256(bytes(64 << 20)).hexdigest())
    assert peak < 4 << 20
