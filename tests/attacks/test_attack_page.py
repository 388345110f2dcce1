"""The record of an attack as a page: every finding that matters, and no cell."""

from dataclasses import replace

import polars as pl
import pytest

import covey
from covey.attacks import Attack
from covey.errors import percent
from covey.schema import Schema
from report.pages import Page

CANARY = "Zanzibar"
SCHEMA = Schema.of(quasi={"age": {"type": "numeric"}}, insensitive=["zip"], sensitive=["illness"])


@pytest.fixture(scope="module")
def found() -> Attack:
    """Zip codes that nobody called quasi, although they single people out."""
    people = pl.DataFrame(
        {
            "age": [20 + i % 9 for i in range(40)],
            "zip": [f"{CANARY} {i:05}" for i in range(40)],
            "illness": [f"{CANARY} flu" if i % 3 else "gout" for i in range(40)],
        }
    )
    return covey.attack(
        people.with_columns(age=pl.lit("[20, 28]")), people, SCHEMA, k=5, trials=0, register=False
    )


def shown(found: Attack) -> Page:
    return Page(found.written_as("attack.HTML").decode())


def test_the_page_has_the_worst_attacker_under_each_criterion(found: Attack) -> None:
    text = shown(found).text
    assert found.undeclared == ("zip",)
    for worst in found.summary():
        figures = percent(worst.rate.rate), percent(worst.rate.chance)
        for part in (worst.criterion, worst.attacker.name, *figures):
            assert " ".join(part.split()) in text
        assert all(remedy.text in text for remedy in worst.remedies)
    assert {one.criterion for one in found.summary()} >= {"singling out", "linkability"}


def test_the_page_says_on_what_and_what_was_not_tried(found: Attack) -> None:
    untried = (("membership", "no control group"),)
    text = shown(replace(found, sha256="5ha256", untried=untried)).text
    for part in ("5ha256", found.date, "membership: no control group", "signature"):
        assert part in text


def test_each_open_point_has_a_line(found: Attack) -> None:
    def lines(one: Attack) -> int:
        return sum(said.get("class") == "line" for _, said in shown(one).tags)

    high = [f for f in found.summary() if f.attacker.is_likely and f.rate.gain > 0.05]
    assert lines(found) == len(found.undeclared) + len(high) + 1
    calm = [replace(one, rate=replace(one.rate, rate=0.0, chance=0.0)) for one in found.findings]
    quiet = replace(found, findings=tuple(calm))
    assert lines(quiet) == 1
    assert "nobody" in shown(quiet).text


def test_the_page_shows_no_cell_and_gives_no_verdict(found: Attack) -> None:
    page = shown(found)
    assert CANARY not in found.to_html()
    assert "anonymous" not in page.text
    assert not any("src" in said or tag == "script" for tag, said in page.tags)


def test_attackers_that_do_not_fit_are_summed_up(found: Attack) -> None:
    one = found.of("linkability")[0]
    unlikely = replace(one, attacker=replace(one.attacker, is_likely=False))
    text = shown(replace(found, findings=(*[one] * 14, unlikely))).text
    gain = " ".join(percent(one.rate.gain).split())
    assert f"2 other attackers gained at most {gain}" in text
    assert f"not likely, gained at most {gain}" in text
