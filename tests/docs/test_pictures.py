"""The pictures of the pages: drawn from real runs, small, and without scripts."""

import math
import re
import xml.etree.ElementTree as ET
from collections import Counter
from itertools import pairwise
from typing import Any

import make_pictures as pictures
import polars as pl
import pytest
from make_pictures import Stage, Step

from covey import demo
from covey.clustering.efforts import PLANS
from covey.encoding import encode
from covey.tables import Table

K = 4
ROWS = 60


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Neighbours on a grid, and one who lives far away."""
    ages = [20.0 + i % 10 for i in range(ROWS - 1)]
    incomes = [10.0 + i // 10 for i in range(ROWS - 1)]
    return pl.DataFrame({"age": [*ages, 90.0], "income": [*incomes, 100.0]})


@pytest.fixture(scope="module")
def stages(frame: pl.DataFrame) -> list[Stage]:
    return pictures.stages(frame, K)


def loss_of(frame: pl.DataFrame, labels: list[int]) -> float:
    """By the definition: what each row loses, and 2 for a row that is left out."""
    people = list(frame.iter_rows())
    widths = [max(column) - min(column) for column in zip(*people, strict=True)]
    total = 0.0
    for label in labels:
        own = [p for p, other in zip(people, labels, strict=True) if other == label]
        shown = zip(*own, strict=True)
        lost = [(max(c) - min(c)) / w for c, w in zip(shown, widths, strict=True)]
        total += 2 if label < 0 else sum(lost)
    return total


def test_stages_are_legal_and_their_losses_true(frame: pl.DataFrame, stages: list[Stage]) -> None:
    blocks, *groupings = stages
    assert blocks.loss is None
    assert max(Counter(blocks.labels).values()) <= max(pictures.SMALL.start, 8 * K)
    for stage in groupings:
        sizes = Counter(label for label in stage.labels if label >= 0)
        assert min(sizes.values()) >= K
        assert stage.loss == pytest.approx(loss_of(frame, list(stage.labels)))
        assert f"loss {stage.loss:.1f} in {len(sizes)} groups" in stage.subtitle


def test_stages_follow_each_other(stages: list[Stage]) -> None:
    _, grown, once, end, fewer, _ = (stage.loss or 0.0 for stage in stages)
    assert grown > once >= end > fewer
    assert stages[4].labels[-1] == -1
    assert "2 of it for 1 row left out" in stages[4].subtitle


def test_every_group_is_drawn_around_its_rows(frame: pl.DataFrame, stages: list[Stage]) -> None:
    drawn: dict[str, Any] = pictures.picture(frame, stages).to_dict()
    for stage, panel in zip(stages, drawn["concat"], strict=True):
        boxes, dots, crosses = (
            drawn["datasets"][layer["data"]["name"]] for layer in panel["layer"]
        )
        assert len(boxes) == len({label for label in stage.labels if label >= 0})
        assert sum(dot["people"] for dot in dots) == sum(label >= 0 for label in stage.labels)
        assert sum(dot["people"] for dot in crosses) == sum(label < 0 for label in stage.labels)
        for dot in dots:
            assert any(
                box["x"] < dot["x"] < box["x2"] and box["y"] < dot["y"] < box["y2"] for box in boxes
            )


def test_months_keep_k_candidates_by_brute_force() -> None:
    """Whoever is in a release was with k others in all classes of theirs, and new people come."""
    months = [*pictures.three_months(pictures.neighbourhood(), K, reserve=1)]
    shown = [
        {who: label for who, label in month.people.select("person", "label").iter_rows()
         if label is not None and label >= 0}
        for month in months
    ]  # fmt: skip
    for number, month in enumerate(months):
        mine = shown[: number + 1]
        fewest = min(
            sum(
                all(of.get(one, -1) == of[who] for of in mine if who in of) for one in shown[number]
            )
            for who in shown[number]
        )
        assert month.candidates == fewest >= K
        assert f"{len(shown[number])} people, {fewest} candidates" in month.subtitle
    assert [*map(len, shown)] == sorted(map(len, shown))
    assert "left out" in months[-1].subtitle
    text = pictures.svg(pictures.months_picture(months))
    assert {*pictures.MONTHS, *pictures.STATES, *(m.subtitle for m in months)} <= {*texts(text)}


@pytest.mark.slow
def test_rounds_are_told_for_every_effort() -> None:
    table = encode(Table(demo.people(150)), demo.schema())
    found = pictures.steps(table, K)
    by_effort: dict[Any, list[Step]] = {}
    for step in found:
        by_effort.setdefault(step.effort, []).append(step)
    assert list(by_effort) == ["fast", "quick", "balanced", "best"]
    for effort, own in by_effort.items():
        assert [step.round for step in own] == list(range(len(own)))
        heated = PLANS[effort].heat > 0
        assert all(math.floor(b.loss) <= a.loss or heated for a, b in pairwise(own))
        assert own[-1].loss < own[0].loss or len(own) == 1
        assert len(own) <= PLANS[effort].for_table(150, K).rounds + 1
    assert len(by_effort["fast"]) == 1 < len(by_effort["quick"])
    assert by_effort["fast"][0].loss < by_effort["quick"][0].loss
    text = pictures.svg(pictures.rounds_picture(found, greedy=found[0].loss))
    assert {"fast", "quick", "balanced", "best", "k-member"} <= set(texts(text))


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).findall(".//{*}text")]


def test_a_picture_is_text_without_anything_that_runs(
    frame: pl.DataFrame, stages: list[Stage]
) -> None:
    svg = pictures.svg(pictures.picture(frame, stages))
    assert {stage.subtitle for stage in stages} <= set(texts(svg))
    assert max(len(number[1]) for number in re.finditer(r"\d\.(\d+)", svg)) <= 3


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("methods/covey.svg", "methods/covey.md"),
        ("methods/covey-rounds.svg", "methods/covey.md"),
        ("sequence.svg", "sequence.md"),
    ],
)
def test_the_pictures_of_the_pages_are_small_and_still(name: str, page: str) -> None:
    svg = (pictures.HERE / name).read_text(encoding="utf-8")
    assert len(svg) < 300_000
    tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(svg).iter()}
    assert tags <= {"svg", "g", "path", "rect", "text", "line", "tspan", "defs", "linearGradient",
                    "stop", "clipPath"}  # fmt: skip
    assert re.findall(r"(?:href|src)=\"(?!#)", svg) == []
    written = (pictures.HERE / page).read_text(encoding="utf-8")
    assert f"]({name.rpartition('/')[2]})" in written
