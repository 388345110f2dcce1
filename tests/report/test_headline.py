"""The headline: what was counted and what limits it, the same wherever a release is shown."""

from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

import covey
from covey.cli.shown import show_release
from covey.report.headline import Clause, Headline

AGES = [20 + i // 20 for i in range(80)]
FOUR_EACH = pl.DataFrame({"pat_no": [i // 4 for i in range(80)], "age": AGES})
# Five people of twenty rows, one of whom has sixteen: they are one class.
UNEVEN = pl.DataFrame({"pat_no": [*[0] * 16, 1, 2, 3, 4], "age": [90] * 20})
SCHEMA = covey.Schema.of(identifier=["pat_no"], quasi={"age": "numeric"})


def report_of(frame: pl.DataFrame, **settings: Any) -> covey.Report:
    return covey.anonymize(frame, SCHEMA, k=5, seed=1, **settings).report


@pytest.mark.parametrize(
    ("frame", "settings", "level", "parts"),
    [
        (FOUR_EACH, {"person": "pat_no"}, "good", ["5 people (pat_no: 20 people, 80 rows)"]),
        (FOUR_EACH.with_columns(pat_no=pl.int_range(80)), {}, "good", ["4 other rows (80 rows)"]),
        (FOUR_EACH, {"person": False}, "warning", ["(80 rows)", "'pat_no' repeats"]),
        (UNEVEN, {"person": "pat_no"}, "warning",
         ["80.0", "limit_share", "20.0", "5 people (pat_no: 5 people, 20 rows)"]),
    ],
)  # fmt: skip
def test_it_says_what_was_counted_and_what_limits_that(
    frame: pl.DataFrame, settings: dict[str, Any], level: str, parts: list[str], tmp_path: Path
) -> None:
    report = report_of(frame, **settings)
    line = str(report.headline)
    assert line.startswith("verified: ")
    assert report.headline.level == level
    assert [line.index(part) for part in parts] == sorted(line.index(part) for part in parts)
    assert not any("repeats" in warning for warning in report.warnings)
    asked = SCHEMA.requiring(k=5, **settings)
    parts_of_it = covey.anonymize(frame, asked, to=tmp_path / "out", engine="local", register=False)
    assert str(parts_of_it.report.headline) == line


def test_every_page_terminal_and_file_has_the_same_line() -> None:
    report = report_of(FOUR_EACH, person=False)
    line = str(report.headline)
    assert report.to_dict()["headline"] == {"level": "warning", "text": line}
    assert line in unescape(report._repr_html_())
    page = unescape(report.to_html())
    assert "! verified" in page
    assert report.headline.text[1:] in page
    console = Console(width=200)
    with console.capture() as caught:
        show_release(report, console)
    assert caught.get().splitlines()[0] == line


def test_a_clause_has_its_place_its_level_and_limits_what_is_verified() -> None:
    verdict = report_of(FOUR_EACH, person="pat_no").verdict
    known = Clause("2 rows can be singled out", scope="for the columns called quasi")
    grave = Clause("first of all", "bad", first=True)
    line = Headline.of(verdict, None, [known, grave])
    assert (line.level, line.state) == ("bad", "verified for the columns called quasi")
    assert line.text.startswith("first of all; ")
    assert line.text.endswith("; 2 rows can be singled out")


def test_without_a_promise_nothing_limits_it() -> None:
    released = FOUR_EACH.select("age")
    cases: list[tuple[int, Any, str]] = [(50, False, "bad"), (2, "pat_no", "warning")]
    for k, person, level in cases:
        verdict = covey.verify(released, SCHEMA, k=k, person=person)
        line = Headline.of(verdict, None, [Clause("whatever it be")])
        assert line.level == level
        assert len(line.clauses) == 1
        assert "hides" not in str(line)
