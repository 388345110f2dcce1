"""Who is a person: drafts beside known people, and promises counted by brute force."""

import random
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import covey
from covey import tables
from covey.inspection import draft as drafting
from covey.inspection.persons import Evidence
from covey.inspection.repeating import refuse_unsaid
from covey.tables import batches
from tables_of_whom import ASK, ROWS, Whom, constellations, invented

TABLES = constellations()


def drafted(whom: Whom) -> tuple[covey.Schema, str]:
    """The draft, and whom it counts."""
    draft = covey.inspect(whom.frame)
    return draft.schema, draft.people.person or (ASK if draft.people.is_open else ROWS)


def fewest(whom: Whom, schema: covey.Schema, k: int) -> int:
    """The fewest people in a class of the release by a draft."""
    require = schema.require.model_copy(update={"k": k})
    schema = schema.model_copy(update={"require": require})
    release = covey.anonymize(whom.frame, schema, effort="fast", register=False, key=bytes(32))
    shown = release.table.select(list(schema.quasi)).rows()
    classes: dict[Any, set[int]] = defaultdict(set)
    for row, cells in zip(release.rows.tolist(), shown, strict=True):
        classes[cells].add(whom.persons[row])
    return min(map(len, classes.values()))


@pytest.mark.parametrize("name", TABLES)
def test_a_draft_counts_the_people_or_asks(name: str) -> None:
    assert drafted(TABLES[name])[1] in TABLES[name].truth


@pytest.mark.parametrize("seed", range(30))
def test_no_promise_in_people_is_wrong_whatever_columns_are_called(seed: int) -> None:
    whom = invented(seed)
    schema, counted = drafted(whom)
    assert counted in whom.truth
    if counted == ASK:
        with pytest.raises(covey.GuaranteeError, match="person = "):
            fewest(whom, schema, 3)
    elif schema.require.person:
        assert fewest(whom, schema, 3) >= 3


PROMISED = [name for name, whom in TABLES.items() if not whom.truth & {ROWS, ASK}]


@pytest.mark.parametrize("name", [name for name in PROMISED if "footer" not in name])
def test_every_class_has_k_people_by_brute_force(name: str) -> None:
    assert fewest(TABLES[name], drafted(TABLES[name])[0], 4) >= 4


def test_without_figures_one_row_that_stands_twice_broke_the_promise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The attack, and the build against which it succeeds: it counts cases."""
    whom = TABLES["a row twice"]
    monkeypatch.setattr(drafting, "evidence", _of_cases)
    schema, counted = drafted(whom)
    assert counted == "case_no"
    assert fewest(whom, schema, 4) < 4


def _is_asked_by_both(frame: pl.DataFrame) -> bool:
    """Whether the draft asks; a release by it asks the same."""
    draft = covey.inspect(frame)
    question = [found for found in draft.findings if found.kind == "repeated people"]
    if draft.people.is_open:
        with pytest.raises(covey.GuaranteeError, match=re.escape(question[0].text)):
            refuse_unsaid(tables.read(frame), draft.schema, draft.schema.require.requirements())
    elif draft.people.person is None:
        refuse_unsaid(tables.read(frame), draft.schema, draft.schema.require.requirements())
    assert ("\n# person = " in draft.to_toml()) == draft.people.is_open
    return draft.people.is_open


@pytest.mark.parametrize("name", [name for name in TABLES if "footer" not in name])
def test_a_draft_asks_what_the_release_asks(name: str) -> None:
    frame, truth = TABLES[name].frame, TABLES[name].truth
    nameless = frame.rename({column: f"column_{at}" for at, column in enumerate(frame.columns)})
    assert _is_asked_by_both(nameless) or truth & {ROWS, ASK, "ref"}


def test_a_draft_asks_what_a_release_sees_of_many_columns() -> None:
    dice = random.Random(1)
    codes = [f"0{dice.randrange(1000, 9999)}" for _ in range(200)]
    flags = {
        f"flag_{at}": [str(row // 3 ** (at % 4) % 3) for row in range(300)] for at in range(13)
    }
    born = [f"{1930 + dice.randrange(80)}-0{dice.randrange(1, 9)}-11" for _ in range(300)]
    columns = {"column_1": [dice.choice(codes) for _ in born], "column_2": born}
    assert not _is_asked_by_both(pl.DataFrame(columns))
    assert _is_asked_by_both(pl.DataFrame(flags | columns))


@pytest.mark.parametrize("role", ["drop", "quasi"])
@pytest.mark.parametrize("engine", ["memory", "local", "one call", "curve"])
def test_a_number_of_people_is_seen_in_every_role(tmp_path: Path, role: str, engine: str) -> None:
    frame = TABLES["cases and persons"].frame
    named: dict[str, Any] = {"quasi": ["age", "sex"], "identifier": ["case_no"]}
    named[role] = [*named.get(role, []), "pers_no"]
    schema = covey.inspect(frame, **named, rest="sensitive").schema
    assert schema.require.person is None
    frame.write_parquet(tmp_path / "t.parquet")
    source, to = tmp_path / "t.parquet", tmp_path / "out"
    runs: dict[str, Callable[[], object]] = {
        "curve": lambda: covey.curve(frame, schema, k=[3]),
        "one call": lambda: covey.anonymize(frame, k=3, **named),
        "memory": lambda: covey.anonymize(frame, schema, k=3),
        "local": lambda: covey.anonymize(source, schema, k=3, to=to, engine="local"),
    }
    with pytest.raises(covey.GuaranteeError, match="'pers_no' repeats"):
        runs[engine]()
    assert sorted(tmp_path.iterdir()) == [tmp_path / "t.parquet"]


def _of_cases(*_: Any, **__: Any) -> Evidence:
    return Evidence(person="case_no")


def test_the_figures_say_why() -> None:
    people = covey.inspect(TABLES["Fälle mit mehreren Diagnosen"].frame).people
    patient, case = people.candidates
    assert (patient.column, patient.values, patient.constant) == (
        "Patientennummer", 110, ("Geburtsdatum", "Geschlecht"),
    )  # fmt: skip
    assert (case.column, case.within, case.behaves) == ("Fallnummer", ("Patientennummer",), True)
    text = covey.inspect(TABLES["columns without a meaning"].frame).to_toml()
    assert "# Which of these is one person?" in text
    assert '# person = "v1"' in text
    assert "# person = false" in text
    assert "\nperson" not in text


def test_check_digits_speak_of_people() -> None:
    (found,) = covey.inspect(TABLES["check digits"].frame).people.candidates
    assert (found.column, found.checked) == ("ref", "numbers of people")


def test_rows_that_stand_twice_are_left_out_if_asked(tmp_path: Path) -> None:
    whom = TABLES["three rows twice"]
    (found,) = [f for f in covey.inspect(whom.frame).findings if f.kind == "duplicates"]
    assert "3 rows stand twice" in found.text
    assert found.setting == {"drop_rows": ["duplicates"]}
    format = covey.schema.TableFormat(drop_rows=("duplicates",))
    assert tables.read(whom.frame, declared=format).frame.equals(whom.frame[:-3])
    whom.frame.write_parquet(tmp_path / "t.parquet")
    schema = drafted(whom)[0].model_copy(update={"table": format})
    parts = batches.batches(tmp_path / "t.parquet", schema)
    assert sum(part.frame.height for part in parts) == whom.frame.height - 3
    shared = TABLES["nobody's number"].frame.select("sex", "dx")  # equal people are no mistake
    (natural,) = [f for f in covey.inspect(shared).findings if f.kind == "duplicates"]
    assert natural.setting == {}
