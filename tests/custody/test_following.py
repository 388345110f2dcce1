"""Releases that follow earlier ones in the register, through all of covey."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import covey
from covey import GuaranteeError, InfeasibleError, Release, SchemaError, UsageError, demo
from covey.custody import following
from covey.custody.atoms import ALONE
from covey.custody.register import Register
from covey.encoding.groups import LEFT_OUT
from oracles.sequences import Shown, came_alone, candidates, hopeless

K = 5
QUASI = ["age", "zip", "sex"]
PEOPLE = (
    demo.people(400)
    .select(*QUASI, "diagnosis")
    .with_columns(code=pl.int_range(400).cast(pl.String))
)
SCHEMA = covey.Schema.of(
    quasi={"age": "numeric", "zip": "categorical", "sex": "categorical"},
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
    released([*range(250)], tmp_path / "0.csv")

    def wrong(self: following.Following, *places: Any) -> following.Together:
        found = right(self, *places)
        if sabotage == "ignored":
            found.labels[:] = ALONE
        elif sabotage == "moved":
            found.labels[1::10] = found.labels[:-1:10]
        else:
            found.labels[found.labels == LEFT_OUT] = found.labels.max()
        return found

    right = following.Following.together
    monkeypatch.setattr(following.Following, "together", wrong)
    with pytest.raises(GuaranteeError, match="fewer than k = 5"):
        released([*range(10, 300)], tmp_path / "1.csv", follow=True)
    assert not (tmp_path / "1.csv").exists()
    assert len(entries()) == 1


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


# ── what cannot be followed ─────────────────────────────────────────────────────────────────────


def test_a_table_in_which_nobody_can_be_recognised_is_refused() -> None:
    schema = covey.Schema.of(quasi={"age": "numeric"}, drop=["code", "sex"])
    with pytest.raises(UsageError, match=r"who is who.*'code'"):
        covey.anonymize(PEOPLE.select("code", "age", "sex"), schema, k=K, follow=True)


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
