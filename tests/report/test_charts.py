"""Charts that several parts of covey share: readable labels and small files."""

import re
import xml.etree.ElementTree as ET
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.report import charts
from covey.report.charts import Bar, Box, Range, Spot

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

SPOTS = [
    Spot("own", "fast", 0.3, 0.07),
    Spot("own", "best", 10, 0.05),
    Spot("theirs", "slow", 100, 0.4),
    Spot("theirs", "broken", 1, 0.08, hollow=True),
]


def drawn(spots: list[Spot], ending: str) -> bytes:
    chart = charts.scatter(
        spots,
        names=("own", "theirs"),
        own="own",
        x_title="seconds",
        y_title="loss",
        head=charts.title("Loss against time", "invented"),
    )
    return charts.picture(chart, ending)


@given(text=st.text(), room=st.floats(20, 300))
def test_a_shortened_name_fits_and_says_so(text: str, room: float) -> None:
    short = charts.shortened(text, room)
    assert charts.text_width(short) <= room
    if charts.text_width(text) <= room:
        assert short == text
    else:
        assert short[-1] == "…"
        assert text.startswith(short[:-1])


def test_a_name_is_never_shown_as_another_number() -> None:
    names = ["1,000,000 to 1,499,999", "1,000,000,000,000,000 to 1,499,999,999,999,999"]
    svg = charts.svg(charts.bars(names, [charts.Bar(0, 0, 1, charts.LINE)], thick=8))
    assert ">1,000,000 to 1,499,999<" in svg
    assert ">1,000,000,000,000,000…<" in svg or ">1,000,000,000,000,000 to" in svg


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
        for place, label, (x, y) in zip(
            charts.beside(middles, labels), labels, middles, strict=True
        )
    ]
    marks = [Box(x - 5, y - 5, x + 5, y + 5) for x, y in middles]
    assert all(a.shared(b) == 0 for a, b in combinations(boxes, 2))
    assert all(box.shared(mark) == 0 for box in boxes for mark in marks)


def test_a_label_gives_way_to_its_neighbour_and_to_what_is_taken() -> None:
    left, right = charts.beside([(300.0, 200.0), (316.0, 200.0)], ["oka", "gaa-cp"])
    assert (left.align, right.align) == ("right", "left")
    (alone,) = charts.beside([(300.0, 200.0)], ["oka"])
    (moved,) = charts.beside([(300.0, 200.0)], ["oka"], [Box(300, 195, 600, 205)])
    assert alone.align == "left"
    assert moved.align != "left" or moved.dy != 0


# ── bars ────────────────────────────────────────────────────────────────────────────────────────


def rectangles(svg: str) -> list[tuple[float, float, dict[str, str]]]:
    """The width and height of every bar, and its looks."""
    found = []
    for group in ET.fromstring(svg).findall(".//{*}g"):
        if "mark-rect" not in group.get("class", ""):
            continue
        for path in group.findall("{*}path"):
            sides = re.fullmatch(r"M[-\d.,e]+h([-\d.e]+)v([-\d.e]+)h[-\d.e]+Z", path.get("d", ""))
            assert sides is not None
            found.append((abs(float(sides[1])), abs(float(sides[2])), dict(path.attrib)))
    return found


def words(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).findall(".//{*}text")]


RANGES = [
    Range("under 20", ("", "20")),
    Range("20 to 29", ("20", "30")),
    Range("30 and more", ("30", "")),
    Range("missing"),
]


def test_upright_bars_are_as_high_as_their_numbers_and_stand_between_their_ends() -> None:
    numbers = [300, 600, 150, 450]
    values = [Bar(place, 0, number, charts.LINE) for place, number in enumerate(numbers)]
    svg = charts.svg(charts.histogram(RANGES, values))
    bars = rectangles(svg)
    assert [height for _, height, _ in bars] == pytest.approx([150 * n / 600 for n in numbers])
    assert len({round(width, 3) for width, _, _ in bars}) == 1
    texts = words(svg)
    assert [text for text in texts if text in ("20", "30", "missing")] == ["20", "30", "missing"]
    assert "under 20" not in texts  # its end says it


def test_lanes_stand_beside_each_other() -> None:
    values = [Bar(0, 0, 5, charts.BEFORE), Bar(0, 0, 10, charts.LINE, 1)]
    (first, low, _), (second, high, _) = rectangles(
        charts.svg(charts.histogram([Range("all values", ("", ""))], values))
    )
    assert (low, high) == pytest.approx((75, 150))
    assert first == pytest.approx(second)


@pytest.mark.parametrize("upright", [False, True])
def test_a_withheld_number_is_an_outline_with_a_word(upright: bool) -> None:
    values = [Bar(0, 0, 100, charts.LINE), Bar(1, 0, 0, charts.LINE, withheld="withheld")]
    names = ["a", "b"]
    drawn = (
        charts.histogram([Range(name) for name in names], values)
        if upright
        else charts.bars(names, values, thick=12)
    )
    svg = charts.svg(drawn)
    solid, outline = rectangles(svg)
    assert solid[2]["fill"] == charts.LINE
    assert outline[2]["fill"] == "white"
    assert outline[2]["stroke"] == charts.QUIET
    assert outline[2]["stroke-dasharray"]
    assert max(outline[:2]) > charts.text_width("withheld", 9.5)
    assert words(svg).count("withheld") == 1
    zero = charts.svg(charts.bars(names, [values[0], Bar(1, 0, 0, charts.LINE)], thick=12))
    assert "withheld" not in words(zero)


def test_ends_that_have_no_room_are_left_out_evenly() -> None:
    ends = [f"{1_000_000 + 100_000 * i:,}" for i in range(9)]
    pairs = zip(["", *ends], [*ends, ""], strict=True)
    ranges = [Range("", pair) for pair in pairs]
    values = [Bar(place, 0, 1 + place, charts.LINE) for place in range(len(ranges))]
    texts = words(charts.svg(charts.histogram(ranges, values)))
    written = [text for text in texts if text in ends]
    assert 2 <= len(written) < len(ends)
    steps = {ends.index(b) - ends.index(a) for a, b in pairwise(written)}
    assert len(steps) == 1
