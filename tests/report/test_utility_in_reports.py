"""What a report says that a release is good for, without figures of the original."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import covey
from covey.demo import people
from covey.errors import UsageError
from report.pages import Page

FRAME = people(400).select("age", "sex", "length_of_stay", "diagnosis")
USES = (
    "mean of age by sex",
    "share of diagnosis = Gallstones where age >= 30",
    'count where diagnosis = "Rare disease"',
)
SCHEMA = covey.Schema.of(
    quasi={"age": "numeric", "sex": "categorical"},
    sensitive=["length_of_stay", "diagnosis"],
    uses=USES,
)


@pytest.fixture(scope="module")
def release() -> covey.Release:
    return covey.anonymize(FRAME, SCHEMA, k=5, effort="fast", utility=True)


def figures(plain: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for use in (*plain["uses"], *plain["columns"]):
        yield from use["figures"]


def test_it_is_that_of_the_recipient_without_the_original(release: covey.Release) -> None:
    reported = release.report.to_dict()["utility"]
    found = covey.utility(FRAME, covey.read_release(release.table, schema=SCHEMA)).to_dict()
    pairs = list(zip(figures(reported), figures(found), strict=True))
    assert len(pairs) > 5
    for shown, exact in pairs:
        assert (shown["original"], shown["original_interval"]) == (None, None)
        assert shown["released"] == pytest.approx(exact["released"], rel=1e-5)
        assert shown["overlap"] == round(exact["overlap"], 1)
        assert shown["keeps_sign"] == exact["keeps_sign"]
    assert reported["k_marginal"]["pairs"] == round(found["k_marginal"]["pairs"], 1)


def test_a_use_of_few_rows_is_not_even_quoted(release: covey.Release) -> None:
    report = release.report
    assert [use["use"] for use in report.to_dict()["utility"]["uses"]] == [*USES[:2], "use 3"]
    assert "Rare disease" not in report.to_json() + report.to_html()
    fewer = covey.anonymize(FRAME, SCHEMA, k=150, effort="fast", utility=True, seed=1).report
    assert fewer.utility is not None
    assert [use.use for use in fewer.utility.uses][1:] == ["use 2", "use 3"]


def test_the_page_shows_uses_and_pairs(release: covey.Release, without_pictures: None) -> None:
    shown = Page(release.report.to_html())
    text = " ".join(shown.parts)
    for words in ("What it is good for", "mean of age by sex: Female", "age and sex"):
        assert words in text
    assert ("section", {"aria-labelledby": "utility"}) in shown.tags


def test_only_who_asks_waits_for_it(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    covey.anonymize(FRAME, SCHEMA, k=5, effort="fast", to=tmp_path / "r.csv", report=path)
    assert json.loads(path.read_text())["utility"] is None
    FRAME.write_csv(tmp_path / "in.csv")
    for asked in (False, True):
        made = covey.report_on(
            tmp_path / "in.csv", tmp_path / "r.csv", SCHEMA.requiring(k=5), utility=asked
        )
        assert (made.utility is not None) == asked
    with pytest.raises(UsageError, match="utility needs the whole table"):
        covey.anonymize(FRAME, SCHEMA, k=5, to=f"{tmp_path}/parts/", engine="local", utility=True)


def test_values_that_only_few_have_get_no_figure_of_their_own() -> None:
    rare = pl.Series("diagnosis", ["Unique"] * 7 + FRAME["diagnosis"].to_list()[7:])
    known = SCHEMA.using(["count by diagnosis"])
    request: Any = {"k": 5, "effort": "fast", "utility": True}
    report = covey.anonymize(FRAME.with_columns(rare), known, **request).report
    assert "Unique" not in json.dumps(report.to_dict()["utility"])
