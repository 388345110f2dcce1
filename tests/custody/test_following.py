"""Releases that follow earlier ones in the register, through all of covey."""

import hashlib
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from command_line import Folder
from covey import GuaranteeError, InfeasibleError, Release, SchemaError, UsageError, demo
from covey.custody import composition, following, footprints
from covey.custody.atoms import ALONE
from covey.custody.keys import Key
from covey.custody.register import Register
from covey.encoding.groups import LEFT_OUT
from covey.report import Report, Rows
from examples import examples
from oracles.sequences import Shown, came_alone, candidates, difference, hopeless

K = 5
QUASI = ["age", "zip", "sex"]
PEOPLE = (
    demo.people(400)
    .select(*QUASI, "diagnosis")
    .with_columns(code=pl.int_range(400).cast(pl.String))
)
KINDS = {"age": "numeric", "zip": "categorical", "sex": "categorical"}
SCHEMA = covey.Schema.of(
    quasi=KINDS,
    sensitive=["diagnosis"],
    identifier=["code"],
)


def released(
    rows: Sequence[int], to: Path, table: pl.DataFrame = PEOPLE, **choices: Any
) -> tuple[Release, Shown]:
    """Release some people, and what the file shows of each of them."""
    some = table[list(rows)]
    made = covey.anonymize(some, SCHEMA, k=K, to=to, **choices)
    shown = pl.read_csv(to, infer_schema=False).select(QUASI)
    return made, {rows[row]: cells for row, cells in zip(made.rows, shown.iter_rows(), strict=True)}


def test_months_that_follow_each_other_expose_nobody(tmp_path: Path) -> None:
    """People join, leave, come back and move: by the files alone, everyone has k candidates."""
    here, table = [*range(250)], PEOPLE
    shown: list[Shown] = []
    for month in range(4):
        made, cells = released(here, tmp_path / f"{month}.csv", table, follow=True, reserve=1)
        shown.append(cells)
        assert min(candidates(shown).values()) >= K
        composition = made.report.composition
        assert composition is not None
        assert composition.fewest == (min(candidates(shown).values()) if month else None)
        left_out = [one for one in here if one not in cells]
        assert made.report.rows.suppressed == len(left_out)
        new = {one for one in here if all(one not in old for old in shown[:-1])}
        assert {*left_out} == hopeless(here, shown[:-1], K) - new
        here = [one for one in here if one % 23 != month] + [
            *range(250 + 30 * month, 280 + 30 * month)
        ]
        moved = pl.Series([one % 31 == month for one in range(table.height)])
        table = table.with_columns(zip=pl.when(moved).then(pl.lit("10001")).otherwise("zip"))


def test_months_in_parts_expose_nobody(tmp_path: Path) -> None:
    """Classes of a release in one part lie in several: their rows meet again in one of them."""
    many = demo.people(2_000).select(*QUASI, "diagnosis").with_row_index("code")
    here = pl.Series(range(1_600))
    for month in range(3):
        parts: Any = {"to": f"{tmp_path}/{month}/", "engine": "local", "part_rows": 300}
        one: Any = {"to": tmp_path / "0.csv"}
        made = covey.anonymize(many[here], SCHEMA, k=K, follow=True, **(parts if month else one))
        composition, rows = made.report.composition, made.report.rows
        assert composition is not None
        assert composition.earlier == month
        assert month == 0 or (composition.fewest or 0) >= K
        assert rows.released + rows.suppressed == len(here)
        assert rows.suppressed == 0 or month == 2
        left = here % 50 == 0 if month else here < 0
        new = pl.Series(range(1_600 + 50 * month, 1_650 + 50 * month))
        here = pl.concat([here.filter(~left), new])


def test_requirements_hold_for_each_release_that_follows(tmp_path: Path) -> None:
    released([*range(200)], tmp_path / "0.csv", l=3)
    made, _ = released([*range(5, 260)], tmp_path / "1.csv", l=3, follow=True)
    classes = pl.read_csv(tmp_path / "1.csv").group_by(QUASI).agg(pl.col("diagnosis").n_unique())
    least = int(classes["diagnosis"].to_numpy().min())
    assert least == made.verdict.checks[1].achieved
    assert least >= 3


def test_releases_from_scratch_expose_people_and_are_refused(tmp_path: Path) -> None:
    _, first = released([*range(250)], tmp_path / "0.csv")
    scratch, second = released([*range(20, 300)], tmp_path / "1.csv", register=tmp_path / "other")
    assert min(candidates([first, second]).values()) < K
    made, third = released([*range(20, 300)], tmp_path / "2.csv", follow=True)
    assert min(candidates([first, third]).values()) >= K
    assert made.report.losses.total_il > scratch.report.losses.total_il


@pytest.mark.parametrize("sabotage", ["ignored", "moved", "leavers counted"])
def test_what_atoms_get_wrong_the_register_refuses(
    sabotage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following.Following, "together", sabotaged(sabotage))
    released([*range(250)], tmp_path / "0.csv")
    with pytest.raises(GuaranteeError, match="fewer than k = 5"):
        released([*range(10, 300)], tmp_path / "1.csv", follow=True)
    assert not (tmp_path / "1.csv").exists()
    assert len(entries()) == 1


def sabotaged(how: str) -> Callable[..., following.Together]:
    """Keep people together in a wrong way."""
    right = following.Following.together

    def wrong(self: following.Following, *places: Any) -> following.Together:
        found = right(self, *places)
        if how == "ignored":
            found.labels[:] = ALONE
        elif how == "moved":
            found.labels[1::10] = found.labels[:-1:10]
        else:
            found.labels[found.labels == LEFT_OUT] = found.labels.max()
        return found

    return wrong


def entries() -> list[Any]:
    register = Register.of()
    assert register is not None
    return register.releases()


def test_who_comes_alone_stands_out_by_sensitive_values(tmp_path: Path) -> None:
    """What remains: nobody is found by classes, but values that are new in a class are."""
    _, first = released([*range(250)], tmp_path / "0.csv")
    made, second = released([*range(253)], tmp_path / "1.csv", follow=True)
    assert min(candidates([first, second]).values()) >= K
    alone = came_alone([first, second])
    assert min(alone[one] for one in range(250)) >= K
    assert all(alone[one] < K for one in range(250, 253))
    assert made.report.composition is not None
    assert made.report.composition.apart == pytest.approx(3 / 253)
    assert any("k = 5 new ones" in warning for warning in made.report.warnings)


# ── the attacks of the literature: from whom they would find something ──────────────────────────


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(2, 6), st.sampled_from(["leave-out", "keep"]))
@examples(8)
def test_random_histories_expose_nobody(seed: int, number: int, shrunk: Any) -> None:
    """By the files alone; the shrunk that were kept are counted one by one."""
    draw = np.random.default_rng(seed)
    here, table = draw.random(120) < 0.7, PEOPLE[:120]
    shown: list[Shown] = []
    with TemporaryDirectory() as folder:
        for month in range(number):
            choices: Any = {"shrunk": shrunk, "reserve": 1, "effort": "fast"}
            present = np.flatnonzero(here).tolist()
            made, cells = released(
                *(present, Path(folder) / f"{month}.csv", table),
                **(choices | {"follow": month > 0, "register": f"{folder}/register"}),
            )
            shown.append(cells)
            few = sum(found < K for found in candidates(shown).values())
            most = candidates([*shown[:-1], dict.fromkeys(present, 0)])
            assert made.report.composition is not None
            assert made.report.composition.exposed == few
            assert few == (sum(most[one] < K for one in present) if shrunk == "keep" else 0)
            here = draw.random(120) < np.where(here, 0.95, 0.2)
            moved = pl.Series(draw.random(PEOPLE.height) < 0.05)[: table.height]
            table = table.with_columns(age=pl.when(moved).then(pl.col("age") + 1).otherwise("age"))


# Two classes of five first. Then: a sixth comes to each; or one of each leaves; or they are mixed.
FIRST = {one: one // 5 for one in range(10)}


@pytest.mark.parametrize(
    ("second", "least"),
    [
        ({**FIRST, 10: 0, 11: 1}, 5),  # kept together
        (
            {**FIRST, 4: 2, 10: 0, 11: 2, 12: 2, 13: 2, 14: 2},
            1,
        ),  # forward: who came is no candidate
        ({one: 0 for one in range(10) if one != 4}, 4),  # backward: who left is none
        ({one: one % 2 for one in range(10)}, 2),  # intersecting
    ],
)
def test_the_attacks_succeed_where_people_are_not_kept_together(
    second: Shown, least: int, register: Path
) -> None:
    assert min(candidates([FIRST, second]).values()) == least
    classes, layer = np.array([[*second.values()], [FIRST.get(one, -1) for one in second]])
    assert composition.candidates(classes, [layer], None).min() == least


def test_a_difference_finds_who_came_alone_and_nobody_of_new_people_by_themselves(
    tmp_path: Path,
) -> None:
    values = {one: f"{one} has this" for one in range(400)}
    _, first = released([*range(250)], tmp_path / "0.csv")
    _, alone = released([*range(251)], tmp_path / "1.csv", follow=True)
    assert difference(first, alone, values) == {250: values[250]}
    _, only = released([*range(260)], tmp_path / "1.csv", only_new=True, replace=True)
    assert {*only} == {*range(250, 260)}
    assert not difference(first, only, values)


# ── only new people ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("to", ["1.csv", "1/"])
def test_new_people_are_released_by_themselves(to: str, tmp_path: Path) -> None:
    released([*range(250)], tmp_path / "0.csv")
    parts: Any = {"engine": "local", "part_rows": 20} if to == "1/" else {}
    some = PEOPLE[240:320]
    made = covey.anonymize(some, SCHEMA, k=K, to=f"{tmp_path}/{to}", only_new=True, **parts)
    assert made.report.rows == Rows(80, 0, 0, 70, known=10)
    assert any("10 rows not released" in note for note in made.report.warnings)
    assert made.report.composition is not None
    assert made.report.composition.shared == 0
    values = PEOPLE["diagnosis"][250:320].sort().to_list()
    shown = covey.tables.read(f"{tmp_path}/{to}").frame["diagnosis"]
    assert shown.sort().to_list() == values


def test_new_people_may_have_several_rows(tmp_path: Path) -> None:
    twice = pl.concat([PEOPLE[:60], PEOPLE[:60]])
    own: Any = {"k": K, "person": "code"}
    covey.anonymize(twice[:20], SCHEMA, to=tmp_path / "0.csv", **own)
    made = covey.anonymize(twice, SCHEMA, to=tmp_path / "1.csv", only_new=True, **own)
    assert made.report.rows.known == 40
    assert made.report.rows.released == 80


def test_too_few_new_people_are_not_released(tmp_path: Path) -> None:
    released([*range(50)], tmp_path / "0.csv")
    with pytest.raises(InfeasibleError, match="3 people of this table are new, and k is 5"):
        released([*range(53)], tmp_path / "1.csv", only_new=True)


def test_known_people_who_are_taken_for_new_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released([*range(50)], tmp_path / "0.csv")
    monkeypatch.setattr(following.Following, "together", sabotaged("ignored"))
    with pytest.raises(GuaranteeError, match="Nothing was written"):
        released([*range(45, 80)], tmp_path / "1.csv", only_new=True)
    assert len(entries()) == 1


def test_the_command_line_builds_on_the_register_that_it_is_given(folder: Folder) -> None:
    lines = (folder.path / "people.csv").read_text().splitlines(keepends=True)
    numbered = [f"{place or 'code'},{line}" for place, line in enumerate(lines)]
    folder.write("april.csv", "".join(numbered[:81]))
    folder.write("may.csv", "".join([numbered[0], *numbered[6:]]))
    schema = (folder.path / "people.toml").read_text()
    folder.write("people.toml", f'[columns.code]\nrole = "identifier"\n\n{schema}')
    own = ("-s", "people.toml", "--register", "register", "-k", 4)
    assert folder.covey("anonymize", "april.csv", "-o", "first.csv", *own).code == 0
    may: Any = ("anonymize", "may.csv", *own)
    assert folder.covey(*may, "--follow", "--dry-run").code == 0
    assert folder.covey(*may, "-o", "second.csv", "--follow").code == 0
    new = ("--only-new", "--replace", "--after", "first.csv")
    ran = folder.covey(*may, "-o", "second.csv", *new)
    assert "40 of 115 rows released (75 in earlier releases)" in ran.err
    assert folder.covey(*may, "-o", "third.csv", "--only-new", "--follow").code == 2
    assert folder.covey(*may, "-o", "third.csv", "--after", "may.csv").code == 2
    assert not (folder.path / "third.csv").exists()


# ── people who lost too many of their class ─────────────────────────────────────────────────────


def test_the_shrunk_may_be_kept_and_are_counted(tmp_path: Path) -> None:
    _, first = released([*range(250)], tmp_path / "0.csv")
    here = [one for one in range(300) if one % 9]
    made, second = released(here, tmp_path / "1.csv", follow=True, shrunk="keep")
    assert {*second} == {*here}
    few = {one for one, found in candidates([first, second]).items() if found < K}
    assert few == hopeless(here, [first], K) - {*range(250, 300)}
    composition = made.report.composition
    assert composition is not None
    assert composition.exposed == composition.lost == len(few) > 0
    assert f"{len(few)} of them have fewer than 5 candidates" in str(made.report.headline)


@pytest.mark.parametrize("sabotage", ["ignored", "moved"])
def test_others_are_not_exposed_although_the_shrunk_are_kept(
    sabotage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following.Following, "together", sabotaged(sabotage))
    released([*range(250)], tmp_path / "0.csv")
    with pytest.raises(GuaranteeError, match="fewer than k = 5"):
        released([*range(10, 300)], tmp_path / "1.csv", follow=True, shrunk="keep")


def test_a_reserve_is_proposed_that_would_have_kept_people(tmp_path: Path) -> None:
    here = [one for one in range(400) if one % 11]
    kept: Any = {"follow": True, "register": tmp_path / "with"}
    released([*range(400)], tmp_path / "0.csv")
    made, cells = released(here, tmp_path / "1.csv", follow=True)
    (note,) = (note for note in made.report.warnings if "--reserve" in note)
    reserve = int(re.findall(r"--reserve (\d+)", note)[0])
    released([*range(400)], tmp_path / "2.csv", reserve=reserve, register=kept["register"])
    _, more = released(here, tmp_path / "3.csv", reserve=reserve, **kept)
    assert len(here) - len(more) <= 0.02 * len(here) < len(here) - len(cells)


# ── what the register must have ─────────────────────────────────────────────────────────────────


def test_a_release_comes_after_one_in_the_register(tmp_path: Path) -> None:
    released([*range(100)], tmp_path / "0.csv", certificate=True)
    digest = hashlib.sha256((tmp_path / "0.csv").read_bytes()).hexdigest()
    forms = [tmp_path / "0.csv", tmp_path / "0.csv.intoto.json", digest]
    for number, form in enumerate(forms, 1):
        released([*range(100)], tmp_path / f"{number}.csv", follow=True, after=form)
    local: Any = {"to": f"{tmp_path}/4/", "engine": "local", "certificate": True}
    covey.anonymize(PEOPLE[:100], SCHEMA, k=K, follow=True, **local)
    for number, form in enumerate([tmp_path / "4", tmp_path / "4.intoto.json"], 5):
        released([*range(100)], tmp_path / f"{number}.csv", follow=True, after=form)


@pytest.mark.parametrize(
    ("other", "words"),
    [({"register": "other"}, "not in the register"), ({"key": bytes(32)}, "different key")],
)
def test_a_release_after_one_that_the_register_lacks_is_refused(
    other: dict[str, Any], words: str, tmp_path: Path
) -> None:
    released([*range(100)], tmp_path / "0.csv")
    if "register" in other:
        other = {"register": tmp_path / "other"}
        released([*range(99)], tmp_path / "1.csv", **other)
    with pytest.raises(UsageError, match=words):
        released([*range(100)], tmp_path / "2.csv", after=tmp_path / "0.csv", **other)
    assert not (tmp_path / "2.csv").exists()


@pytest.mark.parametrize("composition", ["follow", "only_new"])
def test_a_register_that_is_not_whole_cannot_be_built_on(
    composition: str, tmp_path: Path, register: Path
) -> None:
    choices: Any = {composition: True}
    released([*range(100)], tmp_path / "0.csv")
    register.unlink()
    with pytest.raises(UsageError, match="not whole: it was removed"):
        released([*range(110)], tmp_path / "1.csv", **choices)


# ── interruption between the register and the files ─────────────────────────────────────────────

KILLED = """
import os, sys
sys.path[:0] = {path!r}
from covey.tables import files
from custody import test_following as here
files.Drafts.publish = lambda _: os._exit(9)
here.released([*range(260)], here.Path({to!r}), follow=True)
"""


@pytest.mark.slow
def test_a_release_that_was_killed_before_it_appeared_is_in_the_register(tmp_path: Path) -> None:
    released([*range(250)], tmp_path / "0.csv")
    to = tmp_path / "1.csv"
    script = KILLED.format(path=[str(Path(__file__).parents[1])], to=str(to))
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    assert not to.exists()
    assert [one.published for one in entries()] == [True, False]
    made, _ = released([*range(270)], tmp_path / "2.csv", follow=True)  # counts as published
    assert made.report.composition is not None
    assert made.report.composition.earlier == 2
    released([*range(270)], to, follow=True, replace=True)  # it never left this machine
    assert [one.published for one in entries()] == [True, True, True]


def test_a_release_that_fails_before_it_appears_leaves_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released([*range(250)], tmp_path / "0.csv")
    with monkeypatch.context() as patch:
        patch.setattr(Report, "written_as", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            released([*range(260)], tmp_path / "1.csv", follow=True, report=tmp_path / "r.json")
    assert len(entries()) == 1
    assert [path.name for path in tmp_path.glob("1*")] == []
    released([*range(260)], tmp_path / "1.csv", follow=True)


# ── what cannot be followed ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("composition", ["follow", "only_new"])
def test_a_table_in_which_nobody_can_be_recognised_is_refused(composition: str) -> None:
    choices: Any = {composition: True}
    schema = covey.Schema.of(quasi={"age": "numeric"}, drop=["code", "sex"])
    with pytest.raises(UsageError, match=r"who is who.*'code'"):
        covey.anonymize(PEOPLE.select("code", "age", "sex"), schema, k=K, **choices)


def test_people_are_recognised_by_an_identifier_that_is_another_in_every_row(
    tmp_path: Path,
) -> None:
    table = PEOPLE.with_columns(ward=pl.lit("a"))
    columns: dict[str, Any] = {"quasi": {"age": "numeric"}, "drop": ["zip", "sex", "diagnosis"]}
    both = covey.Schema.of(**columns, identifier=["ward", "code"])
    for month in range(2):
        made = covey.anonymize(table, both, k=K, to=tmp_path / f"{month}.csv", follow=True)
        assert made.report.rows.suppressed == 0
    ward = covey.Schema.of(**columns | {"drop": [*columns["drop"], "code"]}, identifier=["ward"])
    with pytest.raises(UsageError, match="who is who"):
        covey.anonymize(table, ward, k=K, person=False, follow=True)


@pytest.mark.parametrize(
    ("earlier", "later", "words"),
    [
        # Rows that are numbered anew for each release: 20 is another person then.
        (pl.int_range(pl.len()), pl.int_range(pl.len()), "number, code disagree"),
        # The others are numbered by what was a code before; the name of the column tells.
        (None, pl.col("code").cast(pl.Int64).reverse(), None),
    ],
)
def test_columns_that_disagree_on_who_is_who_are_refused(
    earlier: pl.Expr | None, later: pl.Expr, words: str | None, tmp_path: Path
) -> None:
    shown: list[Shown] = []
    for month, (some, number) in enumerate([(PEOPLE[:250], earlier), (PEOPLE[20:280], later)]):
        table = some if number is None else some.with_columns(number=number)
        both = ["number", "code"] if number is not None else ["code"]
        schema = covey.Schema.of(quasi=KINDS, sensitive=["diagnosis"], identifier=both)
        to = tmp_path / f"{month}.csv"
        if month and words:
            with pytest.raises(UsageError, match=words):
                covey.anonymize(table, schema, k=K, to=to, follow=True)
            return
        made = covey.anonymize(table, schema, k=K, to=to, follow=month > 0)
        cells = pl.read_csv(to, infer_schema=False).select(QUASI).iter_rows()
        shown.append(dict(zip(some["code"].gather(made.rows), cells, strict=True)))
    assert min(candidates(shown).values()) >= K


def test_numbers_that_go_on_do_not_hide_who_is_in_both_releases(tmp_path: Path) -> None:
    schema = covey.Schema.of(quasi=KINDS, identifier=["number", "code"], drop=["diagnosis"])
    for month, first in enumerate([1_000, 2_000]):
        older = pl.col("age") + 3 * month, pl.col("sex").reverse()
        table = PEOPLE[:100].with_columns(*older, number=pl.int_range(first, first + 100))
        made = covey.anonymize(table, schema, k=K, to=tmp_path / f"{month}.csv")
    assert made.report.composition is not None
    assert made.report.composition.shared == 1


@pytest.mark.parametrize("composition", ["follow", "only_new"])
def test_people_who_were_released_without_an_identifier_are_in_doubt(
    composition: str, tmp_path: Path
) -> None:
    hole = pl.when(pl.col("code") != "7").then("code").alias("code")
    covey.anonymize(PEOPLE[:100].with_columns(hole), SCHEMA, k=K, to=tmp_path / "0.csv")
    choices: Any = {composition: True}
    with pytest.raises(UsageError, match=rf"without code.*covey forget {entries()[0].id}"):
        released([*range(120)], tmp_path / "1.csv", **choices)


def test_people_who_were_released_twice_by_mistake_are_followed(tmp_path: Path) -> None:
    twice = pl.concat([PEOPLE[:100], PEOPLE[:3]])
    covey.anonymize(twice, SCHEMA, k=K, person=False, to=tmp_path / "0.csv")
    made, _ = released([*range(120)], tmp_path / "1.csv", follow=True)
    assert made.report.composition is not None
    assert made.report.composition.earlier == 1


def test_people_under_other_identifiers_are_not_taken_for_new(tmp_path: Path) -> None:
    spelled = PEOPLE[:100].with_columns(pl.format("P-{}", "code").alias("code"))
    covey.anonymize(spelled, SCHEMA, k=K, to=tmp_path / "0.csv")
    with pytest.raises(GuaranteeError, match="the identifier of then"):
        released([*range(120)], tmp_path / "1.csv", follow=True)


def test_a_larger_k_leaves_people_out_although_nobody_has_left(tmp_path: Path) -> None:
    released([*range(100)], tmp_path / "0.csv")
    made = covey.anonymize(PEOPLE[:100], SCHEMA, k=K + 1, to=tmp_path / "1.csv", follow=True)
    notes = " ".join(made.report.warnings)
    assert made.report.rows.suppressed > 10
    assert "fewer than k people are still here" in notes
    assert "--reserve" not in notes  # the next release needs none for this k


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
@pytest.mark.parametrize("then", [True, False])
def test_a_column_by_which_people_were_hidden_and_that_is_shown_is_named(
    role: str, then: bool, tmp_path: Path
) -> None:
    hidden: Any = {"quasi": KINDS, "identifier": ["code"], "drop": ["diagnosis"]}
    shown = hidden | {"quasi": {name: KINDS[name] for name in QUASI[:2]}, role: ["sex"]}
    for month, roles in enumerate([hidden, shown] if then else [shown, hidden]):
        schema = covey.Schema.of(**roles)
        made = covey.anonymize(
            PEOPLE[:100], schema, k=K, to=tmp_path / f"{month}.csv", follow=month > 0
        )
        named = [note for note in made.report.warnings if "the same role in all" in note]
        assert ["by sex, and" in note for note in named] == [True] * month


def test_what_is_replaced_is_not_followed(tmp_path: Path) -> None:
    """Else those whose companions are gone were left out."""
    released([*range(100)], tmp_path / "0.csv")
    made, _ = released([*range(0, 100, 9)], tmp_path / "0.csv", follow=True, replace=True)
    assert made.report.rows.suppressed == 0


def test_without_a_stored_key_nobody_is_recognised_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Key, "of", lambda _=None: Key(bytes(32), stored=False))
    with pytest.raises(UsageError, match="stored key"):
        covey.anonymize(PEOPLE, SCHEMA, k=K, follow=True)


def test_persons_with_several_rows_are_refused() -> None:
    schema = covey.Schema.of(quasi={"age": "numeric"}, identifier=["code"])
    twice = pl.concat([PEOPLE, PEOPLE[:7]])
    with pytest.raises(UsageError, match=r"one row a person.*7 rows"):
        covey.anonymize(twice.select("code", "age"), schema, k=K, person="code", follow=True)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"method": "mondrian"}, "the method covey"),
        ({"max_suppressed": 0.1}, "max_suppressed"),
        ({"only_new": True}, "choose one"),
        ({"to": "released/", "engine": "spark"}, "not possible on Spark"),
    ],
)
def test_what_cannot_follow_is_refused(
    more: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=words):
        covey.anonymize(PEOPLE, SCHEMA, k=K, follow=True, **more)


def test_without_a_register_nothing_can_be_followed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="register"):
        released([*range(50)], tmp_path / "0.csv", follow=True, register=False)


def test_another_keys_releases_cannot_be_followed(tmp_path: Path) -> None:
    released([*range(250)], tmp_path / "0.csv", key=bytes(range(32)), register=tmp_path / "all")
    with pytest.raises(GuaranteeError, match="different key"):
        released(
            *([*range(250)], tmp_path / "1.csv"),
            follow=True,
            key=bytes(32),
            register=tmp_path / "all",
        )


def test_the_same_bytes_of_other_people_are_followed_too(tmp_path: Path) -> None:
    schema = covey.Schema.of(identifier=["pid"], quasi={"g": "categorical"})
    for number, persons in enumerate(["1234", "1324"]):
        pairs = pl.DataFrame({"pid": [*persons], "g": [*"aabb"]})
        covey.anonymize(pairs, schema, k=2, to=tmp_path / f"{number}.csv")
    with pytest.raises(InfeasibleError, match="nobody is left"):
        covey.anonymize(pairs, schema, k=2, to=tmp_path / "2.csv", follow=True)


def test_a_release_with_too_many_rows_cannot_be_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(footprints, "LARGEST", 39)
        released([*range(40)], tmp_path / "0.csv")
    with pytest.raises(GuaranteeError, match="too many rows"):
        released([*range(40)], tmp_path / "1.csv", follow=True)


def test_nobody_left_to_hide_among_is_an_error(tmp_path: Path) -> None:
    released([*range(20)], tmp_path / "0.csv")
    with pytest.raises(InfeasibleError, match="nobody is left"):
        released([*range(0, 20, 4)], tmp_path / "1.csv", follow=True)


@pytest.mark.parametrize("reserve", [-1, 1.5, "2"])
def test_a_reserve_is_a_whole_number(reserve: Any) -> None:
    with pytest.raises(SchemaError, match="reserve"):
        covey.anonymize(PEOPLE, SCHEMA, k=K, reserve=reserve)


@pytest.mark.parametrize("method", ["covey", "mondrian"])
def test_a_reserve_makes_larger_groups_and_promises_k(method: str) -> None:
    made = covey.anonymize(PEOPLE, SCHEMA, k=K, reserve=2, method=method)
    assert isinstance(made.groups, covey.Groups)
    assert made.groups.smallest >= K + 2
    assert made.verdict.checks[0].asked == K
    assert made.report.request["options"]["reserve"] == 2
