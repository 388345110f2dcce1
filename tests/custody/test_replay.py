"""Attacks that run covey on every guess, with the program and everyone's quasi-identifiers.

If k is the only requirement, the groups depend only on the quasi-identifiers and the custodian's
key, so every guess among the people of a class gives the same bytes. The same attacks find their
person in a build that orders rows and derives its seed as covey once did, from the whole table and
without a key.
"""

import datetime
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey import KAnonymity, demo
from covey.cli import main as cli
from covey.clustering import METHODS
from covey.clustering.request import Request
from covey.custody.keys import Key
from covey.custody.ordering import KeptRows, Secret, canonical_order
from covey.engines import memory
from covey.schema import Role, Schema
from examples import examples
from tables_of_people import People as Random_
from tables_of_people import people as tables_of_people

K = 5
OURS, THEIRS = (Key(bytes([number]) * 32) for number in (1, 2))


def unkeyed(
    people: KeptRows,
    schema: Schema,
    request: Request,
    secret: Secret,
    persons: dict[str, pl.Series],
) -> memory.Prepared:
    """Hash the whole table into a seed."""
    frame = people.table.frame.drop(schema.names(Role.IDENTIFIER), strict=False)
    content = json.dumps(request.seeded, default=str) + frame.sort(frame.columns).write_csv()
    drawn = int.from_bytes(hashlib.sha256(content.encode()).digest()[:16])
    return replace(PREPARED(people, schema, request, secret, persons), seed=drawn)


PREPARED = memory.prepared


# ── attacks ─────────────────────────────────────────────────────────────────────────────────────

ROWS = 240


def known_of(number: int) -> pl.DataFrame:
    """The quasi-identifiers of everybody."""
    dice = random.Random(number)
    return pl.DataFrame(
        {
            "age": [dice.randint(18, 80) for _ in range(ROWS)],
            "zip": [f"{dice.choice([478, 479, 112])}{dice.randint(0, 99):02}" for _ in range(ROWS)],
            "sex": [dice.choice("mf") for _ in range(ROWS)],
        }
    )


SCHEMA = Schema.of(
    quasi={
        "age": {"type": "numeric", "grid": 5},
        "zip": {"type": "categorical", "taxonomy": {"build": "prefixes"}},
        "sex": "categorical",
    },
    sensitive=["diagnosis"],
)


def published(known: pl.DataFrame, ill: int, **request: Any) -> tuple[str, covey.Release]:
    """The release of a table in which one person has the rare diagnosis."""
    diagnosis = pl.Series("diagnosis", ["rare" if row == ill else "none" for row in range(ROWS)])
    release = covey.anonymize(
        known.with_columns(diagnosis), SCHEMA, require=[KAnonymity(K)], **request
    )
    return release.table.write_csv(), release


def who_fits(known: pl.DataFrame, ill: int, key: Key, **request: Any) -> list[int]:
    """Of the people who share a class with the ill one, those whose illness gives these bytes."""
    bytes_, release = published(known, ill, key=OURS, **request)
    labels = release.groups.labels
    members = np.flatnonzero(labels == labels[ill]).tolist()
    return [one for one in members if published(known, one, key=key, **request)[0] == bytes_]


ATTACKED = ["covey", "k-member", "mondrian", "cb"]


@pytest.mark.parametrize("method", ATTACKED)
@pytest.mark.parametrize("stolen", [False, True])
def test_replaying_each_member_of_a_class_finds_nobody(method: str, stolen: bool) -> None:
    """Without the key, no guess gives the bytes; even with it, at least k of them do."""
    found = who_fits(known_of(0), 77, OURS if stolen else THEIRS, method=method)
    assert len(found) >= K if stolen else len(found) != 1


@pytest.mark.parametrize("method", ["covey", "k-member", "cb"])  # mondrian draws nothing
def test_replaying_finds_the_person_where_the_seed_is_a_hash_of_the_table(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "prepared", unkeyed)
    assert who_fits(known_of(0), 77, THEIRS, method=method) == [77]


def diagnoses_that_fit(key: Key) -> list[str]:
    """Guess the diagnosis of a person who was left out."""
    known = pl.concat([known_of(3)[1:], pl.DataFrame({"age": [104], "zip": ["99999"], "sex": "f"})])

    def release(diagnosis: str, key: Key) -> str:
        told = pl.Series("diagnosis", [*["none"] * (ROWS - 1), diagnosis])
        made = covey.anonymize(
            known.with_columns(told),
            SCHEMA,
            require=[KAnonymity(K)],
            key=key,
            max_suppressed=0.01,
        )
        assert made.groups.labels[-1] == -1
        return str(made.table.write_csv())

    bytes_ = release("depression", OURS)
    return [one for one in ("cancer", "depression", "none") if release(one, key) == bytes_]


@pytest.mark.parametrize(("key", "fits"), [(THEIRS, 0), (OURS, 3)])
def test_replaying_does_not_tell_of_those_who_were_left_out(key: Key, fits: int) -> None:
    assert len(diagnoses_that_fit(key)) == fits


def test_replaying_tells_of_them_where_the_seed_is_a_hash_of_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "prepared", unkeyed)
    assert diagnoses_that_fit(THEIRS) == ["depression"]


# ── what the groups depend on ───────────────────────────────────────────────────────────────────


def shown(frame: pl.DataFrame, schema: Schema, method: str, k: int) -> list[Any]:
    """What is released of the quasi-identifiers, group by group."""
    release = covey.anonymize(frame, schema, require=[KAnonymity(k)], method=method, key=OURS)
    labels = release.groups.labels[release.rows].tolist()
    rows = release.table.select(list(schema.quasi)).rows()
    groups: dict[int, Counter[Any]] = {}
    for label, row in zip(labels, rows, strict=True):
        groups.setdefault(label, Counter())[row] += 1
    return sorted((sorted(group.items(), key=repr) for group in groups.values()), key=repr)


@pytest.mark.parametrize("method", METHODS)
@given(
    table=tables_of_people(least=4, most=24),
    shuffled=st.randoms(use_true_random=False),
    k=st.integers(2, 4),
)
@examples(6)
def test_groups_depend_on_quasi_identifiers_alone(
    method: str, table: Random_, shuffled: random.Random, k: int
) -> None:
    """Deal all other cells out to the rows again: the same rows are shown alike."""
    told = pl.DataFrame({"illness": [f"i{n % 5}" for n in range(table.rows)]})
    told = told.with_columns(note=pl.int_range(table.rows), name=pl.int_range(table.rows))
    quasi = table.frame.select(list(table.schema.quasi))
    columns = {name: table.schema.columns[name] for name in quasi.columns}
    roles = {"illness": "sensitive", "note": "insensitive", "name": "identifier"}
    schema = Schema.from_dict(
        {"columns": columns | {name: {"role": role} for name, role in roles.items()}}
    )
    dealt = told[shuffled.sample(range(table.rows), table.rows)]
    frames = (quasi.hstack(one) for one in (told, dealt))
    first, second = (shown(frame, schema, method, k) for frame in frames)
    assert first == second


def partners_of_the_odd_one(keys: Sequence[Key]) -> Counter[str]:
    """Seven people are 30 and one is 40: three of the seven share a group with that one."""
    frame = pl.DataFrame({"age": [*[30] * 7, 40], "who": [*"abcdefg", "odd"]})
    schema = Schema.of(quasi={"age": "numeric"}, sensitive=["who"])
    found: Counter[str] = Counter()
    for key in keys:
        release = covey.anonymize(frame, schema, require=[KAnonymity(4)], key=key)
        found.update(release.table.filter(pl.col("age") != "30")["who"].to_list())
    return found


@pytest.mark.slow
def test_which_of_equal_people_goes_where_is_drawn_under_the_key() -> None:
    keys = [Key(number.to_bytes(32)) for number in range(50)]
    found = partners_of_the_odd_one(keys)
    assert found.pop("odd") == len(keys)
    mean = 3 / 7 * len(keys)
    spread = (len(keys) * 3 / 7 * 4 / 7) ** 0.5
    assert len(found) == 7
    assert all(abs(number - mean) < 5 * spread for number in found.values())
    assert partners_of_the_odd_one(keys[:1] * 3) == Counter(
        {one: 3 * number for one, number in partners_of_the_odd_one(keys[:1]).items()}
    )


# ── the same table in any order ─────────────────────────────────────────────────────────────────


def bytes_of_permutations(frame: pl.DataFrame, schema: Schema, **request: Any) -> set[str]:
    return {
        covey.anonymize(
            frame.sample(fraction=1, shuffle=True, seed=number), schema, key=OURS, **request
        ).table.write_csv()
        for number in range(8)
    }


def test_zeros_with_a_sign_do_not_tell_the_order_of_the_input() -> None:
    dice = random.Random(2)
    frame = pl.DataFrame(
        {
            "age": [dice.randint(20, 60) for _ in range(60)],
            "lab": [dice.choice([0.0, -0.0, 1.0]) for _ in range(60)],
        }
    )
    schema = Schema.of(quasi={"age": "numeric"}, sensitive=["lab"])
    assert len(bytes_of_permutations(frame, schema, require=[KAnonymity(3)])) == 1


@pytest.mark.parametrize("method", ["covey", "k-member", "mondrian"])
def test_persons_do_not_tell_the_order_of_the_input(method: str) -> None:
    """Two rows may be equal in all that is released, and still be of different people."""
    dice = random.Random(5)
    frame = pl.DataFrame(
        {
            "person": [f"p{dice.randrange(20)}" for _ in range(60)],
            "u": [dice.choice("abcde") for _ in range(60)],
            "v": [dice.choice("xyz") for _ in range(60)],
        }
    )
    schema = Schema.of(quasi={"u": "categorical", "v": "categorical"}, identifier=["person"])
    asked = [KAnonymity(4, "person")]
    assert len(bytes_of_permutations(frame, schema, require=asked, method=method)) == 1


@given(st.lists(st.sampled_from([0.0, -0.0, float("nan"), None, 1.5]), min_size=1, max_size=12))
def test_a_canonical_order_does_not_depend_on_the_order_of_the_rows(cells: list[Any]) -> None:
    frame = pl.DataFrame({"x": pl.Series(cells, dtype=pl.Float64), "y": "same"})
    orders = (frame, frame.reverse(), frame.sample(fraction=1, shuffle=True, seed=1))
    texts = {one[canonical_order(one, ["y", "x"])].write_csv() for one in orders}
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        *((pl.Int8, -128, 127), (pl.UInt8, 0, 255), (pl.Int64, -(2**63), -(2**63) + 5)),
        *((pl.Int64, -(2**63), 2**63 - 1), (pl.UInt64, 2**64 - 5, 2**64 - 1)),
        *((pl.UInt64, 2**63, 2**63), (pl.UInt64, 0, 2**64 - 1), (pl.Int64, 0, 2**32)),
    ],
)
def test_whole_numbers_of_any_size_are_sorted(dtype: Any, low: int, high: int) -> None:
    cells = pl.Series("x", [high, None, low, high, low], dtype=dtype)
    frame = pl.DataFrame([cells, pl.Series("y", ["a", "b", "c", "d", "e"])])
    expected = sorted(
        range(5), key=lambda row: (cells[row] is not None, cells[row] or 0, frame["y"][row])
    )
    assert canonical_order(frame, ["x", "y"]).tolist() == expected


# ── what is said of it ──────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("patients")
    demo.write(folder, 60)
    return folder


Run = Callable[..., tuple[int, str, dict[str, Any]]]


@pytest.fixture
def run(patients: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Release the table on the command line: exit code, what was said, the report."""

    def release(*arguments: str) -> tuple[int, str, dict[str, Any]]:
        report = tmp_path / "report.json"
        table, schema = (str(patients / name) for name in ("people.csv", "people.toml"))
        code = cli.run(
            ["anonymize", table, "-s", schema, "-k", "3", "-o", str(tmp_path / "released.csv"),
             "--report", str(report), *arguments]
        )  # fmt: skip
        read = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
        return code, capsys.readouterr().err, read

    return release


def test_a_key_file_is_made_at_first_use_and_then_found(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "new" / "key"
    code, said, report = run("--key", str(path))
    assert code == 0
    assert str(path) in said
    assert path.stat().st_mode & 0o777 == 0o600
    assert report["key"] == Key.of(path).fingerprint
    first = (tmp_path / "released.csv").read_bytes()
    code, said, again = run("--key", str(path))
    assert (code, again["key"]) == (0, report["key"])
    assert str(path) not in said
    assert (tmp_path / "released.csv").read_bytes() == first


def test_another_key_gives_another_release(run: Run, tmp_path: Path) -> None:
    """With more effort, groups of a table this small may be the best of all, whatever the key."""
    found = set()
    for name in "ab":
        assert run("--key", str(tmp_path / name), "--effort", "fast")[0] == 0
        found.add((tmp_path / "released.csv").read_bytes())
    assert len(found) == 2


def test_a_release_with_a_seed_says_that_it_can_be_replayed(run: Run) -> None:
    code, said, report = run("--seed", "7")
    assert code == 0
    assert report["key"] is None
    for told in (said, " ".join(report["warnings"])):
        assert "seed" in told
        assert "repeat this run" in told
    assert not any("seed" in warning for warning in run()[2]["warnings"])


def test_a_release_under_a_key_that_cannot_be_stored_says_so(
    monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.delenv("COVEY_KEY_FILE")
    monkeypatch.setattr("covey.custody.keys.folder", lambda: Path("/dev/null/covey"))
    code, said, report = run()
    assert code == 0
    assert "key could not be stored" in said
    first, second = report["key"], run()[2]["key"]
    assert first != second


def test_the_date_is_all_that_differs_between_two_reports(run: Run) -> None:
    """A report of the same request by the same custodian is the same, but for times."""
    reports = [run()[2] for _ in range(2)]
    for report in reports:
        assert datetime.date.fromisoformat(report.pop("date"))
        del report["seconds"]
    assert reports[0] == reports[1]
