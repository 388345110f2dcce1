"""How many people the releases of a register share."""

import json
from pathlib import Path
from typing import Any

import pytest

import covey
from command_line import Folder
from covey import demo
from covey.custody.overlaps import Overlaps
from covey.custody.register import Register

PEOPLE = demo.people(90).select("age").with_row_index("code")
K = 5
MONTHS = {
    "march": range(40),
    "april": range(6, 60),
    "others": range(60, 75),
    "may": range(57, 90),  # 3 people of April, all of others
}


def released(name: str, rows: range, **choices: Any) -> None:
    schema = covey.Schema.of(quasi={"age": "numeric"}, identifier=["code"])
    to = Path(f"{name}.csv")
    covey.anonymize(PEOPLE[rows], schema, **{"k": K, "effort": "fast", "to": to, **choices})


def overlaps() -> Overlaps:
    register = Register.of()
    assert register is not None
    return register.overlaps()


@pytest.fixture
def months(folder: Folder) -> list[str]:
    for name, rows in MONTHS.items():
        released(name, rows)
    return overlaps().ids


def test_people_in_both_are_counted_unless_they_are_few(months: list[str]) -> None:
    found = overlaps()
    for later, theirs in zip(months, MONTHS.values(), strict=True):
        for overlap, ours in zip(found.before(later), MONTHS.values(), strict=False):
            shared = len({*ours} & {*theirs})
            assert overlap.people == (None if 0 < shared < K else shared)
            assert overlap.fewer_than == (K if 0 < shared < K else None)
            assert not overlap.is_unknown


def test_the_larger_k_says_who_are_few(folder: Folder) -> None:
    released("one", range(40))
    released("two", range(30, 60), k=12)
    (overlap,) = overlaps().before(overlaps().ids[1])
    assert (overlap.people, overlap.fewer_than, overlap.shown) == (None, 12, "< 12")


def test_people_who_cannot_be_recognised_are_unknown_not_none(folder: Folder) -> None:
    schema = covey.Schema.of(quasi={"age": "numeric"}, drop=["code"])
    released("one", range(40))
    covey.anonymize(PEOPLE[:40], schema, k=K, effort="fast", to="two.csv")
    Path("key").write_text(f"{2:064x}\n")
    Path("key").chmod(0o600)
    released("three", range(40), key=Path("key"))
    one, two, three = overlaps().ids
    assert [each.shown for each in overlaps().before(three)] == ["unknown", "unknown"]
    latest = overlaps().latest(two)
    assert latest is not None
    assert (latest.earlier, latest.is_unknown) == (one, True)


def test_the_command_line_shows_chains_and_pairs(folder: Folder, months: list[str]) -> None:
    given = json.loads(folder.covey("releases", "--json")[1])["people"]
    assert len(given) == 6
    by_pair = {(one["earlier"], one["later"]): one for one in given}
    march, april, _, may = months
    assert by_pair[march, april]["people"] == 34
    assert by_pair[april, may] == {
        "earlier": april, "later": may, "people": None, "fewer_than": K,
    }  # fmt: skip
    shown = folder.covey("releases", "--people")[1]
    chains, triangle = shown.split("people who are in both releases")
    lines = {line.split()[0]: line.split() for line in chains.splitlines() if "csv" in line}
    assert lines[april][-2:] == [march, "34"]
    assert lines[may][-2:] == [months[2], "15"]
    assert march not in " ".join(lines[months[2]])
    last = next(line for line in triangle.splitlines() if may in line)
    assert last.split()[2:] == ["0", "<", "5", "15"]
    assert folder.covey("releases", "--people", "--accept-loss", "why")[0] == 2
