"""Charts that several parts of covey share: readable labels and small files."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.report import charts
from covey.report.charts import Bar, Range

pytest.importorskip("altair")
pytest.importorskip("vl_convert")


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


def test_a_heat_map_has_a_square_for_each_pair_the_darker_the_larger() -> None:
    shares = {("b", "a"): 0.031, ("c", "a"): 0.2, ("b", "c"): 0.74, ("a", "elsewhere"): 0.99}
    svg = charts.svg(charts.heat_map(["a", "b", "c"], shares))
    squares = rectangles(svg)
    assert len({(width, height) for width, height, _ in squares}) == 1
    depths = [float(looks.get("opacity", 1)) for _, _, looks in squares]
    assert depths == sorted(depths)
    assert depths[2] == 1
    assert {"3", "20", "74"} <= {*words(svg)}
    assert "99" not in words(svg)


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
