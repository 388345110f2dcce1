"""The register: what it remembers, what it never holds, and how it behaves as a file."""

import base64
import errno
import hashlib
import itertools
import json
import os
import pickle
import random
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from command_line import Folder
from covey import demo, tables
from covey.custody import footprints, keys, stored
from covey.custody import register as registers
from covey.custody.composition import Composition
from covey.custody.footprints import Footprint, FootprintPart, Tracer
from covey.custody.keys import Key
from covey.custody.register import Register
from covey.report import LOOKED_UP, NOT_LOOKED_UP
from covey.schema import Role
from covey.tables import files
from examples import examples
from release import test_golden as golden

PEOPLE = pl.DataFrame(
    {
        "name": [f"Zq7name{i:03}" for i in range(40)],
        "age": [20 + (7 * i) % 50 for i in range(40)],
        "town": [f"Zq7town{i % 4}" for i in range(40)],
        "illness": [f"Zq7ill{i % 5}" for i in range(40)],
        "note": [f"Zq7note{i:03}" for i in range(40)],
    }
)
SCHEMA = covey.Schema.of(
    quasi={"age": "numeric", "town": "categorical"},
    sensitive=["illness"],
    identifier=["name"],
    insensitive=["note"],
)


def release(
    people: pl.DataFrame = PEOPLE, k: int = 4, schema: covey.Schema = SCHEMA, **request: Any
) -> covey.Release:
    return covey.anonymize(people, schema, require=[covey.KAnonymity(k)], **request)


def trace_of(made: covey.Release) -> Footprint:
    trace = made._own.trace
    assert trace is not None
    return trace


def remembered() -> list[registers.Entry]:
    register = Register.of()
    assert register is not None
    return register.releases()


# ── what is remembered ──────────────────────────────────────────────────────────────────────────


def test_a_release_is_remembered_by_what_was_asked_and_written(tmp_path: Path) -> None:
    written = release(method="mondrian").write(tmp_path / "out.csv")
    (entry,) = remembered()
    assert written.output is not None
    assert (entry.name, entry.sha256) == ("out.csv", written.output.sha256)
    assert (entry.k, entry.rows, entry.classes) == (4, 40, written.verdict.classes)
    assert entry.request["method"] == "mondrian"
    assert entry.request["require"] == {"k-anonymity": 4}
    assert entry.key == Key.of().fingerprint
    assert entry.published
    assert entry.date[:10] == written.date


def test_nothing_of_anybody_is_in_the_register_nor_the_key(
    tmp_path: Path, register: Path, custodian: Path
) -> None:
    release().write(tmp_path / "out.csv")
    release(k=6).write(tmp_path / "out2.csv")
    data = register.read_bytes()
    cells = {str(cell) for column in PEOPLE for cell in column if len(str(cell)) > 3}
    secret = (custodian / "key").read_text().strip()
    for text in {*cells, "Zq7", secret, str(tmp_path)}:
        for form in (text.encode(), text.encode("utf-16-le"), text.encode("utf-16-be")):
            assert form not in data
            # Wherever it begins in base64, its middle is one of three texts.
            for shift in range(3):
                coded = base64.b64encode(b"\0" * shift + form)[4:-4]
                assert len(coded) < 5 or coded not in data
    assert bytes.fromhex(secret) not in data


def test_hashes_of_another_custodian_are_others(tmp_path: Path, register: Path) -> None:
    """Without the key nobody can try out names."""
    mine = trace_of(release())
    os.environ["COVEY_KEY_FILE"], kept = str(tmp_path / "key"), os.environ["COVEY_KEY_FILE"]
    try:
        theirs = trace_of(release())
    finally:
        os.environ["COVEY_KEY_FILE"] = kept
    for ours, other in (
        (mine.content["note"], theirs.content["note"]),
        (mine.who["name"], theirs.who["name"]),
        (mine.values["illness"].hashes, theirs.values["illness"].hashes),
    ):
        assert not {*ours.tolist()} & {*other.tolist()}


def test_the_order_of_the_input_is_not_remembered() -> None:
    shuffled = PEOPLE.sample(fraction=1, shuffle=True, seed=3)
    mine, theirs = trace_of(release(seed=1)), trace_of(release(shuffled, seed=1))
    assert mine.content["note"].tolist() == theirs.content["note"].tolist()
    assert mine.people == theirs.people
    assert mine.who["name"].tolist() == theirs.who["name"].tolist()


def test_a_release_to_the_same_file_counts_the_earlier_one_as_published(tmp_path: Path) -> None:
    """Month after month to the same name, as people do."""
    release().write(tmp_path / "out.csv")
    (tmp_path / "sub").mkdir()
    same = tmp_path / "sub" / ".." / "out.csv"
    with pytest.raises(covey.GuaranteeError, match="k = 6"):
        release(k=6).write(same, refuse_composition=True)
    again = release(k=6).write(same)
    assert again.composition is not None
    assert (again.composition.earlier, again.composition.shared) == (1, 1.0)
    assert [told for told in again.warnings if "--replace" in told]
    assert [entry.k for entry in remembered()] == [4, 6]


def test_what_never_left_this_machine_is_replaced(tmp_path: Path, capfdbinary: Any) -> None:
    release().write(tmp_path / "other.csv")
    for k in (5, 6):
        release(k=k).write(tmp_path / "out.csv")
    again = release(k=7).write(tmp_path / "out.csv", replace=True)
    assert again.composition is not None
    assert again.composition.earlier == 1
    assert not [told for told in again.warnings if "--replace" in told]
    assert [entry.k for entry in remembered()] == [4, 7]
    with pytest.raises(covey.UsageError, match="standard output"):
        release(k=8).write("-", replace=True)


def test_a_release_that_is_not_published_replaces_nothing(tmp_path: Path) -> None:
    release().write(tmp_path / "out.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covey.Report, "written_as", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            release(k=5).write(tmp_path / "out.csv", report=tmp_path / "r.json", replace=True)
    assert [entry.k for entry in remembered()] == [4]


def test_the_same_bytes_are_the_same_release(tmp_path: Path) -> None:
    release().write(tmp_path / "one.csv")
    copy = release().write(tmp_path / "two.csv", refuse_composition=True)
    assert copy.composition == Composition(4)  # the same: there is nothing to compare
    other = release(k=6).write(tmp_path / "three.csv").composition
    assert other is not None
    assert other.earlier == 1  # of which there are two copies
    assert {*other.delete} == {entry.id for entry in remembered() if entry.k == 4}
    assert len(other.delete) == 2


PAIRS = covey.Schema.of(identifier=["pid"], quasi={"g": "categorical"}, sensitive=["d"])


def pairs(*persons: str) -> covey.Release:
    """Two classes of two, which show the same whoever is in them."""
    table = pl.DataFrame({"pid": persons, "g": [*"aabb"], "d": [*"xyxy"]})
    return release(table, 2, PAIRS)


def test_the_same_bytes_of_other_people_are_another_release(tmp_path: Path) -> None:
    old = pairs("1", "2", "3", "4").write(tmp_path / "old.csv")
    new = pairs("1", "3", "2", "4").write(tmp_path / "new.csv")
    assert old.output is not None
    assert new.output is not None
    assert old.output.sha256 == new.output.sha256
    assert new.composition is not None
    assert (new.composition.fewest, new.composition.alone) == (1, 1.0)


def test_the_same_bytes_of_other_people_do_not_replace_each_other(capfdbinary: Any) -> None:
    for persons in ("1234", "1324", "1234", "2143"):
        pairs(*persons).write("-")
    assert len(remembered()) == 3  # the first and the third are the same


def test_look_alikes_are_one_value_in_all_releases_together(tmp_path: Path) -> None:
    people = pl.DataFrame(
        {"pid": range(8), "g": [*"aabbaabb"], "d": ["HIV", "hiv ", "flu", "cold"] * 2}
    )
    release(people, 2, PAIRS).write(tmp_path / "old.csv")
    moved = people.with_columns(g=pl.Series([*"aaaabbbb"]))
    with pytest.raises(covey.GuaranteeError, match="is certain"):  # everyone has k candidates
        release(moved, 2, PAIRS).write(tmp_path / "new.csv", refuse_composition=True)
    found = release(moved, 2, PAIRS).write(tmp_path / "new.csv").composition
    assert found is not None
    assert [(one.alone, one.together) for one in found.certain] == [(0.0, 0.5)]


def test_a_column_more_is_noticed_where_nobody_has_an_identifier(tmp_path: Path) -> None:
    people = PEOPLE.drop("name", "note")
    schema = covey.Schema.of(quasi={"age": "numeric", "town": "categorical"}, sensitive=["illness"])
    more = covey.Schema.of(
        quasi={"age": "numeric", "town": "categorical"}, sensitive=["illness", "drug"]
    )
    release(people, 4, schema).write(tmp_path / "old.csv")
    drugs = people.with_columns(drug=pl.Series([f"d{i % 3}" for i in range(40)]))
    found = release(drugs, 6, more).write(tmp_path / "new.csv").composition
    assert found is not None
    assert (found.earlier, found.shared) == (1, 1.0)
    assert not found.holds


def test_no_release_is_written_over_the_register(tmp_path: Path, register: Path) -> None:
    release().write(tmp_path / "out.csv")
    began: list[str] = []
    for path, chosen in ((register, None), (tmp_path / "r", tmp_path / "r")):
        with pytest.raises(covey.OutputError, match="overwrite"):
            release(k=6).write(path, register=chosen)
        with pytest.raises(covey.OutputError, match="overwrite"):
            release(to=path, register=chosen, progress=lambda stage, _: began.append(stage))
    assert not began  # refused before any work
    assert [entry.k for entry in remembered()] == [4]


def test_how_frequent_cells_are_is_not_in_the_register(tmp_path: Path, register: Path) -> None:
    """Equal cells of a column have equal hashes; what is stored of them is not equal."""
    release().write(tmp_path / "out.csv")
    with sqlite3.connect(register) as database:
        ((data,),) = database.execute(
            "SELECT data FROM blocks WHERE kind = 'content' AND name = 'town'"
        )
    database.close()
    found = [data[place : place + 4] for place in range(12, 12 + 4 * 40, 4)]
    assert len(data) == 12 + 4 * 40 + 16
    assert len({*found}) == 40
    assert len({*trace_of(release()).content["town"].tolist()}) == 4


def test_the_same_groups_in_another_format_tell_nothing_new(tmp_path: Path) -> None:
    release().write(tmp_path / "out.csv")
    found = release().write(tmp_path / "out.parquet", refuse_composition=True).composition
    assert found is not None
    assert (found.earlier, found.shared, found.holds) == (1, 1.0, True)
    assert found.fewest == release().verdict.k


def test_what_goes_to_standard_output_is_remembered_too(capfdbinary: Any) -> None:
    release().write("-")
    release().write("-")
    assert [entry.name for entry in remembered()] == ["standard output"]
    written = release(k=6).write("-")
    assert not [line for line in written.warnings if "--replace" in line]  # it cannot be replaced
    found = written.composition
    assert found is not None
    assert (found.compared, found.earlier) == (1, 1)  # a build that takes all for one place: 0
    assert [entry.k for entry in remembered()] == [4, 6]


def test_new_people_alone_compose_with_nobody(tmp_path: Path) -> None:
    release(PEOPLE[:20]).write(tmp_path / "old.csv")
    written = release(PEOPLE[20:]).write(tmp_path / "new.csv", refuse_composition=True)
    assert written.composition == Composition(4, compared=1)


@pytest.mark.parametrize(
    ("change", "left_out"),
    [("number", []), ("number", ["illness"]), ("number and age", []), ("age", ["name"])],
)
def test_new_numbers_or_a_year_more_do_not_make_other_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, left_out: list[str]
) -> None:
    """The attack: each extract numbers its people again, or everyone has become older."""
    kept = [one for one in SCHEMA.columns if one not in left_out or one != "name"]
    schema = SCHEMA.model_copy(update={"columns": {n: SCHEMA.columns[n] for n in kept}})
    release(PEOPLE.select(kept), schema=schema).write(tmp_path / "old.csv")
    again = PEOPLE[4:].with_columns(name=pl.format("P{}", pl.int_range(36)))
    if "age" in change:
        again = again.with_columns(pl.col("age") + 1)
    kept = [one for one in kept if one not in left_out]
    schema = SCHEMA.model_copy(update={"columns": {n: SCHEMA.columns[n] for n in kept}})
    later = release(again.select(kept), 5, schema)
    with pytest.raises(covey.GuaranteeError, match="1 earlier release of the same people"):
        later.write(tmp_path / "new.csv", refuse_composition=True)
    monkeypatch.setattr(stored.Stored, "_equal_columns", lambda *_: [])  # the build of before
    blind = later.write(tmp_path / "new.csv", refuse_composition=True).composition
    assert blind == Composition(5, compared=1)


def test_other_people_with_the_same_cells_are_other_people(tmp_path: Path) -> None:
    """As many rows are equal as by chance: in few columns with few values, that is most."""
    dice = random.Random(3)
    rows = [(f"n{i}", dice.randrange(20, 60), f"t{dice.randrange(4)}", "x") for i in range(400)]
    people = pl.DataFrame(rows, schema=["name", "age", "town", "illness"], orient="row")
    schema = covey.Schema.of(
        quasi={"age": "numeric", "town": "categorical"}, sensitive=["illness"], identifier=["name"]
    )
    release(people[:200], 4, schema).write(tmp_path / "old.csv")
    for some in (people[200:390], people[390:]):
        written = release(some, 4, schema).write(tmp_path / "new.csv", refuse_composition=True)
        assert written.composition is not None
        assert written.composition.earlier == 0


def test_suppressed_and_dropped_people_are_not_in_a_release(tmp_path: Path) -> None:
    rows = pl.concat(
        [PEOPLE, PEOPLE[:1].with_columns(name=pl.lit("far"), age=pl.lit(900, pl.Int64))]
    )
    made = release(rows, max_suppressed=0.1)
    assert made.report.rows.suppressed > 0
    assert trace_of(made).rows == made.report.rows.released
    made.write(tmp_path / "old.csv")
    gone = sorted(set(range(rows.height)) - set(made.rows.tolist()))
    few = pl.concat([rows[gone]] * 4)
    assert release(few, k=2).write(tmp_path / "new.csv").composition == Composition(2, compared=1)


def test_releases_under_another_key_cannot_be_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release().write(tmp_path / "mine.csv")
    (mine,) = remembered()
    monkeypatch.setenv("COVEY_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(covey.GuaranteeError, match=f"compared with this one .{mine.id}.") as told:
        release(k=6).write(tmp_path / "theirs.csv", refuse_composition=True)
    assert "forget" not in str(told.value)
    assert not (tmp_path / "theirs.csv").exists()
    written = release(k=6).write(tmp_path / "theirs.csv")
    assert written.composition == Composition(6, incomparable=(mine.id,))
    assert any("1 earlier release" in w and "key" in w for w in written.warnings)


def test_rows_that_are_not_alike_cannot_be_compared(tmp_path: Path) -> None:
    release(method="nh").write(tmp_path / "rings.csv")
    (rings,) = remembered()
    found = release().write(tmp_path / "out.csv").composition
    assert found == Composition(4, incomparable=(rings.id,))
    with pytest.raises(covey.GuaranteeError, match=f"compared with this one .{rings.id}."):
        release().write(tmp_path / "other.csv", refuse_composition=True)
    with pytest.raises(covey.UsageError, match="no classes"):
        release(method="nh").write(tmp_path / "again.csv", refuse_composition=True)
    assert len(remembered()) == 2


def test_a_person_counted_by_a_column_is_recognised_by_it(tmp_path: Path) -> None:
    schema = covey.Schema.of(
        quasi={"age": "numeric", "town": "categorical"}, sensitive=["illness"],
        identifier=["patient"], insensitive=["note"],
        require={"k": 3, "person": "patient", "composition": "refuse"},
    )  # fmt: skip
    stays = PEOPLE.rename({"name": "patient"}).with_columns(
        patient=pl.Series([f"p{i // 2}" for i in range(40)])
    )
    covey.anonymize(stays, schema).write(tmp_path / "old.csv")
    later = stays.with_columns(note=pl.lit("changed"), age=pl.col("age").reverse())
    with pytest.raises(covey.GuaranteeError, match="k = 3"):
        covey.anonymize(later, schema).write(tmp_path / "new.csv")
    assert not (tmp_path / "new.csv").exists()
    assert [entry.name for entry in remembered()] == ["old.csv"]


# ── what the report says ────────────────────────────────────────────────────────────────────────


def test_what_would_hold_is_what_holds_once_it_is_written(tmp_path: Path) -> None:
    later = release(k=6)
    assert later.combined() == Composition(6)
    assert not remembered()
    release().write(tmp_path / "one.csv")
    would = later.combined()
    assert would.below_k > 0
    assert len(remembered()) == 1
    assert later.write(tmp_path / "two.csv").composition == would
    with pytest.raises(covey.UsageError, match="register=False"):
        release(register=False).combined()


def test_the_report_says_what_all_releases_keep_and_which_to_delete(tmp_path: Path) -> None:
    release().write(tmp_path / "old.csv")
    (old,) = remembered()
    places = [tmp_path / "report.json", tmp_path / "report.html"]
    written = release(k=6).write(tmp_path / "new.csv", report=places)
    told = json.loads(places[0].read_text())["composition"]
    assert written.composition is not None
    assert told == written.composition.to_dict()
    assert (told["earlier"], told["shared"], told["delete"]) == (1, 1.0, [old.id])
    assert told["below_k"] > 0
    headline = written.headline  # "verified" alone would hide the warning
    assert (headline.level, "together with 1 earlier release" in headline.text) == ("warning", True)
    assert old.id in places[1].read_text()
    assert written.reminders[0] == LOOKED_UP


def test_without_the_register_the_report_says_so(tmp_path: Path, register: Path) -> None:
    report = tmp_path / "report.json"
    written = release().write(tmp_path / "out.csv", register=False, report=report)
    assert written.composition is None
    told = json.loads(report.read_text())
    assert told["composition"] is None
    assert NOT_LOOKED_UP in told["reminders"]
    assert not register.exists()
    with pytest.raises(covey.UsageError, match="no register"):
        release().write(tmp_path / "out.csv", register=False, refuse_composition=True)


def test_where_nothing_can_be_kept_the_release_goes_on_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.delenv("COVEY_REGISTER")
    monkeypatch.setattr(keys, "folder", lambda: tmp_path / "file" / "covey")
    monkeypatch.setattr(registers, "folder", keys.folder)
    written = release().write(tmp_path / "out.csv")
    assert written.composition is None
    assert any("register cannot be stored" in w for w in written.warnings)

    def refuse(_: Path) -> bool:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.delenv("COVEY_KEY_FILE")  # nor can the key
    monkeypatch.setattr(keys, "folder", lambda: tmp_path / "nowhere")
    monkeypatch.setattr(keys, "_make", refuse)
    written = release().write(tmp_path / "out.csv")
    assert any("key is not stored" in w for w in written.warnings)
    with pytest.raises(covey.UsageError, match="key is not stored"):
        release().write(tmp_path / "other.csv", refuse_composition=True)


# ── all or nothing ──────────────────────────────────────────────────────────────────────────────


def test_a_release_that_fails_before_it_is_published_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bytes:
        raise covey.OutputError("no")

    monkeypatch.setattr(covey.Report, "written_as", fail)
    with pytest.raises(covey.OutputError):
        release().write(tmp_path / "out.csv", report=tmp_path / "report.json")
    assert remembered() == []


def test_a_release_that_may_have_been_published_is_remembered_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release().write(tmp_path / "out.csv")

    def interrupt(outputs: files.Drafts) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(files.Drafts, "publish", interrupt)
        with pytest.raises(KeyboardInterrupt):
            release(k=6).write(tmp_path / "out.csv")
    assert [(entry.k, entry.published) for entry in remembered()] == [(4, True), (6, False)]
    found = release(k=7).write(tmp_path / "other.csv").composition
    assert found is not None
    assert found.earlier == 2
    release(k=8).write(tmp_path / "out.csv", replace=True)
    assert [(entry.k, entry.published) for entry in remembered()] == [(7, True), (8, True)]


def test_of_two_releases_at_the_same_time_one_sees_the_other(tmp_path: Path) -> None:
    """Both are entered before either is laid over the rest."""
    one, other = release(), release(k=6)
    found: list[Composition | None] = []

    def publish_meanwhile(*_: object) -> bytes:
        found.append(other.write(tmp_path / "other.csv").composition)
        return b""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(one.report), "written_as", publish_meanwhile)
        one.write(tmp_path / "one.csv", report=tmp_path / "report.json")
    assert found[0] is not None
    assert found[0].earlier == 1


# ── the file ────────────────────────────────────────────────────────────────────────────────────


def test_the_register_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "register"
    old = os.umask(0)
    try:
        release().write(tmp_path / "out.csv", register=path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [p.name for p in path.parent.iterdir()] == ["register"]
    path.chmod(0o640)
    with pytest.raises(covey.UsageError, match="chmod 600"):
        release().write(tmp_path / "out.csv", register=path)


def damage(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:2000] + random.Random(1).randbytes(len(data) - 2000))


def damage_names(path: Path) -> None:
    """So that SQLite complains of a table whose name is no text."""
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE", b"CREATE T\xff\xfeLE"))


def make_other(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 1")
    database.close()


def replace_by_another(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE mine (a)")
    database.close()
    path.chmod(0o600)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (damage, "damaged"),
        (damage_names, "damaged"),
        (lambda path: path.write_text("no database, but some text of more than a page " * 99),
         "damaged"),
        (make_other, "the format 1"),
        (replace_by_another, "not a covey register"),
        (lambda path: (path.unlink(), path.mkdir(mode=0o700)), "cannot be written"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_register_is_refused(
    spoil: Callable[[Path], object], said: str, tmp_path: Path, register: Path
) -> None:
    release().write(tmp_path / "out.csv")
    spoil(register)
    with pytest.raises(covey.UsageError, match=said) as raised:
        release(k=6).write(tmp_path / "new.csv")
    assert str(tmp_path) not in str(raised.value)
    assert not (tmp_path / "new.csv").exists()


def test_a_register_that_another_process_holds_is_waited_for_and_then_refused(
    tmp_path: Path, register: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release().write(tmp_path / "out.csv")
    monkeypatch.setattr(registers, "_PATIENCE", 0.1)
    with sqlite3.connect(register, isolation_level=None) as database:
        database.execute("BEGIN EXCLUSIVE")
        with pytest.raises(covey.UsageError, match="another process"):
            release(k=6).write(tmp_path / "new.csv")
    database.close()
    assert not (tmp_path / "new.csv").exists()


def test_a_register_that_cannot_be_written_is_refused(
    tmp_path: Path, register: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release().write(tmp_path / "out.csv")
    connect = sqlite3.connect

    def to_read(path: Path, **settings: Any) -> sqlite3.Connection:
        found: sqlite3.Connection = connect(f"file:{path}?mode=ro", uri=True, **settings)
        return found

    monkeypatch.setattr(sqlite3, "connect", to_read)  # root may write what is read-only to others
    assert len(remembered()) == 1
    with pytest.raises(covey.UsageError, match="cannot be written"):
        release(k=6).write(tmp_path / "new.csv")
    assert not (tmp_path / "new.csv").exists()


@pytest.mark.slow
def test_several_processes_enter_at_once(tmp_path: Path, register: Path) -> None:
    code = (
        "import sys, numpy as np\n"
        "from covey.custody.footprints import Footprint\n"
        "from covey.custody.keys import Key\n"
        "from covey.custody.register import Register\n"
        "none = np.zeros(0, dtype=np.uint64)\n"
        "for i in range(5):\n"
        "    trace = Footprint(Key.of(), none.astype(np.int64), {}, {}, {})\n"
        "    with Register.of().opened(make=True) as opened:\n"
        "        opened.settle(opened.enter(trace, f'{sys.argv[1]} {i}', str(i), {}))"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(i)]) for i in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len(remembered()) == 15
    assert Register(register).problems(thorough=True) == []


def test_what_is_forgotten_leaves_nothing_behind(tmp_path: Path, register: Path) -> None:
    release().write(tmp_path / "out.csv")
    with sqlite3.connect(register) as database:
        ((content,),) = database.execute(
            "SELECT data FROM blocks WHERE kind = 'content' AND name = 'note'"
        )
    database.close()
    assert content in register.read_bytes()
    (entry,) = remembered()
    Register(register).forget(entry.id)
    assert remembered() == []
    assert content not in register.read_bytes()
    with pytest.raises(covey.UsageError, match="1 release not in the register"):
        Register(register).forget(entry.id)


# ── the command line ────────────────────────────────────────────────────────────────────────────


MAKE = ("anonymize", "people.csv", "-s", "people.toml", "-o")


@pytest.mark.slow
def test_the_command_line_warns_refuses_lists_and_forgets(folder: Folder, tmp_path: Path) -> None:
    assert folder.covey("releases") == (0, "the register has no releases\n", "")
    assert folder.covey("forget", "a")[0] == 2
    assert folder.covey(*MAKE, "one.csv", "-k", 4)[0] == 0
    assert "candidates" not in folder.covey(*MAKE, "one.csv", "-k", 4)[2]
    code, _, err = folder.covey(*MAKE, "two.csv", "-k", 5)
    assert code == 0
    one, two = json.loads(folder.covey("releases", "--json")[1])["releases"]
    assert (one["name"], two["name"]) == ("one.csv", "two.csv")
    assert "fewer than k = 5" in err
    assert one["id"] in err
    code, _, err = folder.covey(*MAKE, "three.csv", "-k", 6, "--refuse-composition")
    assert code == 1
    assert f"covey forget {one['id']} {two['id']}" in err
    assert not Path("three.csv").exists()
    shown = folder.covey("releases")[1]
    assert one["id"] in shown
    assert "two.csv" in shown
    assert folder.covey("forget", one["id"], two["id"])[0] == 0
    assert folder.covey(*MAKE, "three.csv", "-k", 6, "--refuse-composition")[0] == 0
    with Path("people.toml").open("a") as file:
        file.write('\n[require]\ncomposition = "refuse"\n')
    assert folder.covey(*MAKE, "four.csv", "-k", 4)[0] == 1
    assert folder.covey(*MAKE, "four.csv", "-k", 4, "--no-register")[0] == 2
    other = tmp_path / "another"
    assert folder.covey(*MAKE, "four.csv", "-k", 4, "--register", other)[0] == 0
    assert folder.covey("releases", "--register", other)[1].count("four.csv") == 1
    assert folder.covey(*MAKE, other, "-k", 4, "--register", other)[0] == 2


def test_the_register_can_be_left_out(folder: Folder, register: Path) -> None:
    assert folder.covey(*MAKE, "one.csv", "-k", 4, "--no-register")[0] == 0
    assert folder.covey("demo", "--rows", 50, "-k", 4)[0] == 0
    assert not register.exists()


def test_names_of_files_cannot_write_on_the_terminal(tmp_path: Path) -> None:
    release().write(tmp_path / "a\x1b[31m.csv")
    assert "\x1b" not in remembered()[0].name


def odd(rows: int = 120) -> pl.DataFrame:
    """Cells of many types, missing in many ways, most of them equal or most of them different."""
    numbers = range(rows)
    return pl.DataFrame(
        {
            "code": [None if n % 17 == 3 else f" {n:04} " for n in numbers],
            "number": [float(n // 2) if n % 7 else None for n in numbers],
            "height": [[1.5, 2.0, -0.0, 0.0, 1e-7][n % 5] for n in numbers],
            "text": [["1", "01", "1.0", " 1", "NA", "", "x"][n % 7] for n in numbers],
            "born": [f"{n % 28 + 1:02}.0{n % 9 + 1}.1970" for n in numbers],
            "seen": pl.Series([n % 50 if n % 11 else None for n in numbers]).cast(pl.Date),
            "at": pl.Series([n * 10**9 for n in numbers]).cast(pl.Datetime("us")),
            "is": [None if n % 13 == 0 else n % 2 == 0 for n in numbers],
            "level": pl.Series([["lo", "hi"][n % 2] for n in numbers], dtype=pl.Enum(["lo", "hi"])),
            "kind": pl.Series([f"K{n % 3}" for n in numbers]).cast(pl.Categorical),
        }
    )


ODD = covey.Schema.from_dict(
    {
        "columns": {
            "code": {"role": "identifier"},
            "number": {"role": "identifier"},
            "height": {"role": "quasi", "type": "numeric", "missing": "category"},
            "text": {"role": "sensitive"},
            "born": {"role": "quasi", "type": "date", "format": "%d.%m.%Y"},
            "seen": {"role": "insensitive"},
            "at": {"role": "insensitive"},
            "is": {"role": "sensitive"},
            "level": {"role": "quasi", "type": "categorical"},
            "kind": {"role": "insensitive"},
        },
        "table": {"missing": ["NA", ""]},
        "require": {"person": False},
    }
)
GOLDEN: dict[str, tuple[pl.DataFrame, covey.Schema, covey.KAnonymity]] = {
    "few": (PEOPLE, SCHEMA, covey.KAnonymity(4)),
    "of many types": (odd(), ODD, covey.KAnonymity(3)),
    "of rows": (golden.people(), golden.schema(), covey.KAnonymity(4)),
    "of persons": (golden.people(), golden.schema(), covey.KAnonymity(4, person="who")),
    "invented": (demo.people(300), demo.schema(), covey.KAnonymity(5)),
}
# By the version that wrote the first registers of this format.
DIGESTS = {
    "few": "a14922e19cbee1f3",
    "of many types": "739e509ca295581d",
    "of rows": "154b3835e7c2e582",
    "of persons": "5d9131dc0162224b",
    "invented": "9e887deac561614c",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_same_release_gives_the_same_hashes_in_the_register(name: str) -> None:
    """Else people would no longer be recognised in releases of an earlier version."""
    people, schema, asked = GOLDEN[name]
    rows = np.array([row for row in reversed(range(people.height)) if row % 9])
    classes = pl.Series(rows * 7 % 13, dtype=pl.String)
    shown = people.drop(schema.names(Role.IDENTIFIER))[rows]
    shown = shown.with_columns(classes.alias(column) for column in schema.quasi)
    tracer = Tracer(Key(bytes(32)), schema, asked, people.columns)
    trace = tracer.footprint(tables.read(people, schema), shown, rows)
    told = hashlib.sha256(repr((trace.people, trace.k, trace.person, trace.rows)).encode())
    for kind, column, numbers in stored.columns_of(trace):
        told.update(repr((kind, column, numbers.tolist())).encode())
    assert told.hexdigest()[:16] == DIGESTS[name]


# ── in parts ────────────────────────────────────────────────────────────────────────────────────


def parts_of(made: covey.Release, people: pl.DataFrame, ends: list[int]) -> list[FootprintPart]:
    """The footprints of some rows of a release after the other."""
    shown, table, tracer = made._own.released.frame, tables.read(people, SCHEMA), tracer_of(people)
    return [
        tracer.part(shown[begin:end], tracer.hashes(table, made.rows[begin:end]))
        for begin, end in itertools.pairwise([0, *sorted(ends), shown.height])
    ]


def tracer_of(people: pl.DataFrame) -> Tracer:
    return Tracer(Key.of(), SCHEMA, covey.KAnonymity(4, person="name"), people.columns)


def shown(trace: Footprint) -> list[Any]:
    """The classes in any order: the rows of each, and the values that it shows."""
    columns: list[Any] = [*trace.content.values(), *trace.who.values()]
    ends = np.cumsum(trace.sizes)
    rows = [
        sorted(zip(*(column[begin:end].tolist() for column in columns), strict=True))
        for begin, end in zip(ends - trace.sizes, ends, strict=True)
    ]
    values = trace.values["illness"]
    ends = np.cumsum(values.sizes)
    found = [
        values.hashes[begin:end].tolist()
        for begin, end in zip(ends - values.sizes, ends, strict=True)
    ]
    return sorted(zip(rows, found, strict=True))


@examples(20)
@given(st.lists(st.integers(0, 40), max_size=6), st.randoms())
def test_parts_give_the_footprint_of_the_whole_in_any_order(
    ends: list[int], dice: random.Random
) -> None:
    made = release()
    parts = parts_of(made, PEOPLE, ends)
    asked = covey.KAnonymity(4, person="name")
    whole = FootprintPart.together(parts).footprint(Key.of(), asked)
    dice.shuffle(parts)
    sent = map(pickle.loads, map(pickle.dumps, parts))
    again = FootprintPart.together(sent).footprint(Key.of(), asked)
    assert again.people == whole.people
    for kind, name, block in stored.columns_of(whole):
        (other,) = [b for k, n, b in stored.columns_of(again) if (k, n) == (kind, name)]
        assert np.array_equal(block, other)
    table, shown_rows = tables.read(PEOPLE, SCHEMA), made._own.released.frame
    ours = tracer_of(PEOPLE).footprint(table, shown_rows, made.rows)
    assert shown(whole) == shown(ours)
    assert sorted(whole.sizes.tolist()) == sorted(ours.sizes.tolist())
    assert (whole.k, whole.person) == (ours.k, ours.person)


def test_a_part_holds_neither_a_cell_nor_the_key(custodian: Path) -> None:
    (part,) = parts_of(release(), PEOPLE, [])
    data = pickle.dumps(part)
    assert b"Zq7" not in data
    assert bytes.fromhex((custodian / "key").read_text()) not in data


def test_one_person_more_or_in_another_class_is_another_sum() -> None:
    """Of releases that are too large, it alone says whether they are the same."""
    made = release()

    def sums(made: covey.Release, people: pl.DataFrame, ends: list[int]) -> bytes:
        return FootprintPart.together(parts_of(made, people, ends)).sums.tobytes()

    whole = sums(made, PEOPLE, [])
    assert sums(made, PEOPLE, [7, 19]) == whole
    assert FootprintPart.together(parts_of(made, PEOPLE, [7, 19])[1:]).sums.tobytes() != whole
    others = {sums(release(k=6), PEOPLE, []), sums(release(PEOPLE[1:]), PEOPLE[1:], [])}
    assert len({whole, *others}) == 3


def test_too_many_rows_are_entered_without_rows_and_said_to_be_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = release().write(tmp_path / "small.csv")
    assert not first.warnings or not any("compared" in told for told in first.warnings)
    monkeypatch.setattr(footprints, "LARGEST", 39)
    large = release(k=5).write(tmp_path / "large.csv")
    assert [told for told in large.warnings if "not compared" in told and "5,000,000" in told]
    small, entry = remembered()
    assert large.composition == Composition(5, incomparable=(small.id,))
    assert (entry.classes, entry.k) == (0, 5)
    with pytest.raises(covey.UsageError, match="5,000,000 rows"):
        release(k=6).write(tmp_path / "refused.csv", refuse_composition=True)
    again = release(k=5).write(tmp_path / "copy.csv")  # the same bytes of the same people
    assert again.composition == Composition(5, incomparable=(small.id,))


def test_the_sum_of_too_many_parts_holds_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footprints, "LARGEST", 30)
    parts = parts_of(release(), PEOPLE, [10, 20, 30])
    large = FootprintPart.together(parts)
    assert (large.rows, len(large.classes), large.content) == (40, 0, {})
    assert np.array_equal(large.sums, FootprintPart.together(parts[::-1]).sums)
    trace = large.footprint(Key.of(), covey.KAnonymity(4))
    assert (trace.rows, len(trace.sizes)) == (0, 0)
    assert trace.people == large.sums.tobytes()


def test_a_release_that_is_not_remembered_has_no_hashes(tmp_path: Path, register: Path) -> None:
    made = release(register=False)
    assert made._own.trace is None
    assert "remembering" not in made.report.seconds
    assert made.table.equals(release().table)
    for chosen in (None, False):
        written = made.write(tmp_path / "out.csv", register=chosen)
        assert written.composition is None
        assert NOT_LOOKED_UP in written.reminders
    assert not register.exists()
    with pytest.raises(covey.UsageError, match="register=False"):
        made.write(tmp_path / "other.csv", register=register)
    with pytest.raises(covey.UsageError, match="no register"):
        made.write(tmp_path / "other.csv", refuse_composition=True)
    assert not (tmp_path / "other.csv").exists()


@pytest.mark.parametrize("more", [["-o", "one.csv", "--no-register"], ["--dry-run"]])
def test_the_command_makes_no_hashes_that_no_one_wants(
    folder: Folder, more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAKE[-1] == "-o"

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(footprints.Tracer, "hashes", refuse)
    assert folder.covey(*MAKE[:-1], *more, "-k", 4)[0] == 0
