"""What reports say of a release and earlier ones together, and what following costs."""

import json
from pathlib import Path
from typing import Any

import pytest

import covey
from covey import UsageError, demo
from covey.errors import THIN_SPACE, percent
from report.pages import text_of

K = 5
PEOPLE = demo.people(260).select("age", "sex", "diagnosis").with_row_index("code")
SCHEMA = covey.Schema.of(
    quasi={"age": "numeric", "sex": "categorical"}, sensitive=["diagnosis"], identifier=["code"]
)
TOGETHER = "Together with earlier releases"


def released(rows: range, to: Any, **choices: Any) -> covey.Release:
    return covey.anonymize(PEOPLE[rows], SCHEMA, k=K, effort="fast", to=to, **choices)


@pytest.fixture
def follower(tmp_path: Path) -> covey.Release:
    """The second of two releases; some people of the first have left, and 90 are new."""
    released(range(170), tmp_path / "one.csv")
    reports = [tmp_path / "two.json", tmp_path / "two.html"]
    return released(range(30, 260), tmp_path / "two.csv", follow=True, price=True, report=reports)


def test_the_price_is_that_of_the_same_rows_from_scratch(
    follower: covey.Release, tmp_path: Path
) -> None:
    report, columns = follower.report, follower.report.losses.columns
    assert 0 < report.rows.suppressed < 60
    shown = sorted(follower.rows.tolist())
    scratch = covey.anonymize(PEOPLE[30:260][shown], SCHEMA, k=K, effort="fast", register=False)
    left_out = report.rows.suppressed * sum(column.weight for column in columns)
    ratio = (report.losses.total_il - left_out) / scratch.report.losses.total_il
    assert ratio > 1
    assert report.price == pytest.approx(ratio - 1)
    assert json.loads((tmp_path / "two.json").read_text())["follows"] == {
        "left_out": report.rows.suppressed,
        "price": pytest.approx(ratio - 1, abs=5e-5),
    }
    assert len([*tmp_path.glob("*.csv")]) == 2


def test_the_page_says_what_holds_together(follower: covey.Release) -> None:
    report = follower.report
    found, page = report.composition, text_of(report)
    assert found is not None
    assert found.fewest is not None
    assert found.median is not None
    assert K <= found.fewest <= found.median
    _, _, section = page.rpartition(TOGETHER)
    section = section[: section.index("What a reader of the release sees")]
    for figure in (f"k = {K}. {found.fewest} ", f"or more. {found.median} "):
        assert figure in section
    for share in (found.shared, found.apart, found.below_k):
        assert f". {percent(share)}".replace(THIN_SPACE, " ") in section
    assert (
        f"Of 230 rows: too few of their classes are still here. {report.rows.suppressed}" in section
    )
    assert f"costs {100 * (report.price or 0):.1f} % more loss" in section


def test_a_release_without_earlier_ones_has_no_such_section(tmp_path: Path) -> None:
    alone = released(range(100), tmp_path / "one.csv").report
    assert TOGETHER not in text_of(alone)
    assert alone.to_dict()["follows"] is None
    combined = released(range(160), tmp_path / "two.csv").report
    assert TOGETHER in text_of(combined)
    assert "came alone" in text_of(combined)


def test_only_what_follows_has_a_price(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"price.*follow"):
        released(range(100), tmp_path / "one.csv", price=True)
    with pytest.raises(UsageError, match=r"price.*memory"):
        released(range(100), f"{tmp_path}/one/", engine="local", follow=True, price=True)
