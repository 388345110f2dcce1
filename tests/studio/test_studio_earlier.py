"""Releasing people in the studio whom the register knows."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import covey
from covey import demo
from covey.schema import Role
from covey.studio.work import Work
from studios import Inside, inside

K = 3
PEOPLE = demo.people(60).select("age", "sex", "diagnosis").with_row_index("patient")
SCHEMA = covey.Schema.of(
    quasi={"age": "numeric", "sex": "categorical"}, sensitive=["diagnosis"], identifier=["patient"]
)


QUESTION = "You have released these people"


@pytest.fixture(autouse=True, scope="module")
def register(custodian: Path) -> Iterator[None]:
    """One register for all tests here: processes keep the one that they were started with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COVEY_REGISTER", str(custodian / "earlier"))
        yield


@pytest.fixture(scope="module")
def studio(register: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """A studio; beside its files the tables of people who were released before, and of others."""
    home = tmp_path_factory.mktemp("home")
    covey.anonymize(PEOPLE[:24], SCHEMA, k=K, effort="fast", to=home / "one.csv")
    PEOPLE[2:32].write_csv(home / "known.csv")
    PEOPLE[32:].write_csv(home / "others.csv")
    with inside(home) as found:
        yield found


def composition(work: Work) -> str:
    return work.described.require.composition


@pytest.mark.slow
def test_people_who_were_released_before_stay_together_if_the_custodian_says_so(
    studio: Inside,
) -> None:
    studio.opening(studio.folder / "known.csv")
    studio.until("open", "known.csv")
    assert studio.studio.schema.names(Role.IDENTIFIER) == ["patient"]
    studio.send("price/k", k=K)
    page = studio.until("price", "more loss")
    today = datetime.now(UTC)
    assert f"{QUESTION} on {today.day} {today:%B %Y}." in page
    assert f"have fewer than {K} candidates" in page
    studio.send("price/follow", follow="new")
    assert composition(studio.studio.work) == "only-new"
    studio.make(K)
    assert studio.studio.made.report.rows.known == 22
    studio.send("price/suppress", share="0.01")
    studio.send("price/follow", follow="yes")
    assert studio.studio.work.max_suppressed == 0
    assert composition(studio.studio.work) == "follow"
    assert composition(Work().reopened(studio.studio.work.to_toml())) == "follow"
    studio.make(K)
    studio.write()
    report = json.loads(studio.downloads("answer")["report.json"])
    assert report["follows"]["left_out"] == studio.studio.made.report.rows.suppressed
    assert report["composition"]["earlier"] == 1
    assert report["composition"]["fewest"] >= K
    studio.send("price/follow", follow="no")
    assert composition(studio.studio.work) == "warn"


@pytest.mark.slow
def test_nobody_is_asked_about_people_whom_the_register_does_not_know(
    studio: Inside,
) -> None:
    studio.opening(studio.folder / "others.csv")
    studio.until("open", "others.csv")
    studio.send("price/k", k=K)
    assert QUESTION not in studio.page("price")
