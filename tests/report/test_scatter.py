"""The picture of the benchmarks: readable labels."""

import xml.etree.ElementTree as ET
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.report import charts

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

from benchmarks.scatter import Box, Spot, placed, scatter

SPOTS = [
    Spot("own", "fast", 0.3, 0.07),
    Spot("own", "best", 10, 0.05),
    Spot("theirs", "slow", 100, 0.4),
    Spot("theirs", "broken", 1, 0.08, hollow=True),
]


def drawn(spots: list[Spot], ending: str) -> bytes:
    chart = scatter(
        spots,
        names=("own", "theirs"),
        own="own",
        x_title="seconds",
        y_title="loss",
        head=charts.title("Loss against time", "invented"),
    )
    return charts.picture(chart, ending)


def test_a_scatter_names_every_point_and_both_axes_once() -> None:
    svg = ET.fromstring(drawn(SPOTS, ".svg"))
    texts = [element.text for element in svg.findall(".//{*}text")]
    assert {"own", "theirs", "0.5", "100", "0.05", "0.2"} <= set(texts)
    assert texts.count("seconds") == texts.count("loss") == 1
    for spot in SPOTS:
        assert texts.count(spot.label) == 2  # the white below it, and itself


def test_a_hollow_point_is_drawn_with_white_in_it() -> None:
    full = [spot._replace(hollow=False) for spot in SPOTS]
    white = b'fill="white"'
    assert drawn(SPOTS, ".svg").count(white) == drawn(full, ".svg").count(white) + 1


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), unique=True, max_size=12))
def test_labels_cover_neither_marks_nor_each_other_where_there_is_room(
    cells: list[tuple[int, int]],
) -> None:
    middles = [(100.0 * across, 60.0 * down) for across, down in cells]
    labels = ["k-member"] * len(cells)
    boxes = [
        place.box(label, x, y)
        for place, label, (x, y) in zip(placed(middles, labels), labels, middles, strict=True)
    ]
    marks = [Box(x - 5, y - 5, x + 5, y + 5) for x, y in middles]
    assert all(a.shared(b) == 0 for a, b in combinations(boxes, 2))
    assert all(box.shared(mark) == 0 for box in boxes for mark in marks)


def test_a_label_gives_way_to_its_neighbour_and_to_what_is_taken() -> None:
    left, right = placed([(300.0, 200.0), (316.0, 200.0)], ["oka", "gaa-cp"])
    assert (left.align, right.align) == ("right", "left")
    (alone,) = placed([(300.0, 200.0)], ["oka"])
    (moved,) = placed([(300.0, 200.0)], ["oka"], [Box(300, 195, 600, 205)])
    assert alone.align == "left"
    assert moved.align != "left" or moved.dy != 0
