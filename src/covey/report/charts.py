"""The charts of covey and their files, drawn on this machine without any download.

Altair and vl-convert come with the extra `covey[charts]`, so they are imported only when a chart is
drawn.
"""

import json
import math
import unicodedata
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from io import BytesIO, StringIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from covey.errors import UsageError

if TYPE_CHECKING:
    import altair as alt

PICTURES = (".svg", ".png")
# Pages know these colours by name, and replace them in dark mode.
INK, LINE, QUIET, FAINT = "#1b1f24", "#1f5a7a", "#5c6670", "#d7dde2"
SOFT, BEFORE = "#9fc3d6", "#a9b2ba"
_PRINT = 3  # pixels in print for one on the screen


class _Look(NamedTuple):
    """How one line differs from the others: each of these alone is enough."""

    colour: str
    mark: str
    dash: tuple[int, ...]


# Colours that colour-blind people can distinguish (after Okabe and Ito, darkened to be visible on
# white), and marks and dashes for those who see or print no colour.
_LOOKS = (
    _Look("#0072b2", "square", (1, 0)),
    _Look("#c8500a", "triangle-up", (7, 3)),
    _Look("#00805c", "diamond", (2, 2)),
    _Look("#a64883", "cross", (8, 3, 2, 3)),
    _Look("#8a6100", "triangle-down", (4, 4)),
)
_OWN = _Look(INK, "circle", (1, 0))


def available() -> bool:
    """Whether the packages for charts are installed."""
    return all(find_spec(name) is not None for name in ("altair", "vl_convert"))


def refuse_without_charts() -> None:
    """Refuse to draw if the packages for charts are not installed."""
    if not available():
        raise UsageError("charts need Altair and vl-convert: install covey[charts]")


def title(text: str, *below: str) -> "alt.TitleParams":
    """A title at the top left of a chart, with lines of explanation below it."""
    import altair as alt

    return alt.TitleParams(
        text,
        subtitle=list(below),
        anchor="start",
        frame="group",
        offset=16,
        fontSize=16,
        subtitleFontSize=11.5,
        subtitleColor=INK,
        subtitlePadding=5,
        color=INK,
    )


def config() -> "alt.Config":
    """Quiet axes, no frame."""
    import altair as alt

    axes = alt.AxisConfig(
        labelColor=INK,
        titleColor=INK,
        labelFontSize=11.5,
        titleFontSize=12,
        titleFontWeight="normal",
        titlePadding=10,
        domainColor=INK,
        tickColor=INK,
    )
    return alt.Config(view=alt.ViewConfig(stroke=None), axis=axes)


def svg(chart: Any) -> str:
    """A chart as the text of an SVG picture."""
    picture = StringIO()
    chart.save(picture, format="svg")
    return picture.getvalue()


def picture(chart: Any, ending: str) -> bytes:
    """A chart as the bytes of a file with one of the endings in `PICTURES`."""
    if ending == ".svg":
        return svg(chart).encode()
    png = BytesIO()
    chart.save(png, format="png", scale_factor=_PRINT)
    return png.getvalue()


# ── bars ────────────────────────────────────────────────────────────────────────────────────────

_WIDE = 382  # pixels for bars, their names, and the numbers after them
_NAMES = (124, 186)  # of these for names: at least, and at most
_GAP = 8  # between a name and its bar
_TOLD = 45  # for the numbers after bars, at least
_SMALL = 11.5  # the size of letters


class Bar(NamedTuple):
    """A bar from one number to another, in one of the palette's colours.

    If its number is `withheld`, it is an outline of no particular length with that word in it.
    """

    place: int  # of its name
    low: float
    high: float
    colour: str
    lane: int = 0  # beside others of the same name
    told: str = ""  # the text after it
    withheld: str = ""


_WORD = 9.5  # the size of the letters of a word in a bar


def _outlined(bars: Sequence[Bar], pixels: float, furthest: float) -> list[dict[str, Any]]:
    """The bars as data; those without a number just long enough for their word."""
    return [
        bar._asdict()
        | (
            {"high": furthest * min((text_width(bar.withheld, _WORD) + 6) / pixels, 1)}
            if bar.withheld
            else {}
        )
        for bar in bars
    ]


def _bar_layers(base: "alt.Chart", values: Sequence[Bar], word: "alt.Chart") -> "list[alt.Chart]":
    """Bars in their colours, and outlines with the words of those that are withheld."""
    import altair as alt

    layers = []
    if any(not bar.withheld for bar in values):  # an empty layer has no name for screen readers
        solid = base.transform_filter("!datum.withheld").mark_bar()
        layers.append(solid.encode(color=alt.Color("colour:N", scale=None)))
    if any(bar.withheld for bar in values):
        outline = base.transform_filter("datum.withheld").mark_bar(
            fill="white", stroke=QUIET, strokeWidth=1, strokeDash=[3, 2]
        )
        layers += [outline, word.transform_filter("datum.withheld").encode(text="withheld:N")]
    return layers


def bars(names: Sequence[str], values: Sequence[Bar], *, thick: int) -> "alt.LayerChart":
    """Horizontal bars, in several lanes if a name has more than one.

    Names are identified by their place, so two may be the same. Long ones are shortened. If there
    are numbers after the bars, there is no axis.
    """
    import altair as alt

    least, most = _NAMES
    room = min(max([least, *map(text_width, names)]), most)
    shown = [shortened(name, room) for name in names]
    told = max((text_width(bar.told) for bar in values), default=0.0)
    behind = max(_TOLD, told) + 5 if told else 0
    lanes = 1 + max((bar.lane for bar in values), default=0)
    furthest = _furthest(values)
    width = _WIDE - room - _GAP - behind
    base = alt.Chart(alt.InlineData(_outlined(values, width, furthest)))
    places = alt.Y("place:O", title=None, sort=None).scale(
        domain=list(range(len(names))), paddingInner=0.25, paddingOuter=0.1
    )
    places = places.axis(
        labelExpr=f"{json.dumps(shown)}[datum.value]",
        labelLimit=0,
        minExtent=room + _GAP,
        maxExtent=room + _GAP,
        domain=False,
        ticks=False,
        labelPadding=_GAP,
    )
    along = alt.X("low:Q", title=None).scale(domain=[0, furthest], nice=False)
    along = along.axis(None) if told else along.axis(**_counts(), labelFlush=True)
    offset = alt.YOffset("lane:O").scale(domain=list(range(lanes)), paddingInner=0.08)
    base = base.encode(y=places, yOffset=offset)
    word = base.mark_text(align="left", dx=3, fontSize=_WORD, color=QUIET).encode(x="low:Q")
    layers = _bar_layers(base.encode(x=along, x2="high:Q"), values, word)
    if told:
        text = base.mark_text(align="left", dx=5, fontSize=_SMALL, color=INK)
        layers.append(text.encode(x="high:Q", text="told:N"))
    return _field(layers, width, len(names) * (thick * lanes + 9))


def _furthest(values: Sequence[Bar]) -> float:
    return max((bar.high for bar in values if not bar.withheld), default=0.0) or 1.0


def _counts() -> dict[str, Any]:
    """An axis of numbers of rows."""
    return {
        "format": ",d",
        "tickCount": 4,
        "gridColor": FAINT,
        "domain": False,
        "ticks": False,
        "labelSeparation": 16,
    }


def _field(layers: "list[alt.Chart]", width: float, height: float) -> "alt.LayerChart":
    import altair as alt

    return alt.LayerChart(
        layer=layers,
        width=width,
        height=height,
        padding={"left": 4, "right": 10, "top": 4, "bottom": 4},
        background="transparent",
        config=config(),
    )


_TALL = 150  # pixels of upright bars
_COUNTED = 52  # for the numbers at their left
_BESIDE = 0.35  # between ranges and a bar beside them, as parts of a bar's place


class Range(NamedTuple):
    """The place of upright bars: a range with the text of its ends, or a name without them."""

    name: str
    ends: tuple[str, str] | None = None


def histogram(ranges: Sequence[Range], values: Sequence[Bar]) -> "alt.LayerChart":
    """Upright bars over ranges, with the ends of the ranges on the axis between them.

    A place that is no range, as that of missing values, stands apart and has its name below it.
    """
    import altair as alt

    starts = [
        place + (_BESIDE if place and each.ends is None else 0.0)
        for place, each in enumerate(ranges)
    ]
    lanes = 1 + max((bar.lane for bar in values), default=0)
    wide, furthest = 0.86 / lanes, _furthest(values)
    data = [
        bar
        | {
            "left": starts[bar["place"]] + 0.07 + bar["lane"] * wide,
            "right": starts[bar["place"]] + 0.07 + (bar["lane"] + 0.94) * wide,
            "middle": starts[bar["place"]] + 0.07 + (bar["lane"] + 0.47) * wide,
        }
        for bar in _outlined(values, _TALL, furthest)
    ]
    width = _WIDE - _COUNTED
    labels = _axis_labels(ranges, starts, width / (starts[-1] + 1))
    base = alt.Chart(alt.InlineData(data))
    along = alt.X("left:Q", title=None).scale(domain=[0, starts[-1] + 1], nice=False)
    along = along.axis(
        values=list(labels),
        labelExpr=f"({json.dumps({f'{at:g}': text for at, text in labels.items()})})"
        "[format(datum.value, '~g')]",
        labelOverlap=False,
        labelLimit=0,
        labelFlush=False,
        grid=False,
        ticks=False,
        labelPadding=5,
    )
    up = alt.Y("low:Q", title=None).scale(domain=[0, furthest], nice=False)
    up = up.axis(**_counts(), minExtent=_COUNTED - 4, maxExtent=_COUNTED - 4)
    word = base.mark_text(
        align="left", angle=270, dx=3, fontSize=_WORD, color=QUIET, baseline="middle"
    )
    layers = _bar_layers(
        base.encode(x=along, x2="right:Q", y=up, y2="high:Q"),
        values,
        word.encode(x="middle:Q", y="low:Q"),
    )
    return _field(layers, width, _TALL)


def _axis_labels(ranges: Sequence[Range], starts: Sequence[float], room: float) -> dict[float, str]:
    """The ends of ranges where they meet, and the names of other places in their middle.

    If there is no room for every end, only every second or third is written, and so on.
    """
    ends = {
        start: each.ends[0]
        for each, start in zip(ranges, starts, strict=True)
        if each.ends is not None and each.ends[0]
    }
    widest = max(map(text_width, ends.values()), default=0.0) + _GAP
    labels = dict(list(ends.items())[:: max(1, math.ceil(widest / room))])
    for each, start in zip(ranges, starts, strict=True):
        if each.ends is None or each.ends == ("", ""):
            labels[start + 0.5] = shortened(each.name, max(room * 1.2, 60))
    return labels


class Span(NamedTuple):
    """An upright bar over a part of a scale; pale if it is `beyond` a bound."""

    low: float
    high: float
    rows: float
    beyond: bool = False


_DAY = 86_400_000  # milliseconds, in which charts count time
_LONG, _FLAT = 440, 95  # pixels of a scale


def cut_spans(
    spans: Sequence[Span],
    cuts: Sequence[float],
    bounds: Sequence[float | None],
    *,
    ends: tuple[float, float],
    dates: bool = False,
) -> "alt.LayerChart":
    """Bars over a scale of numbers or days, with lines where it is cut and thick ones at bounds."""
    import altair as alt

    unit, kind = (_DAY, "T") if dates else (1, "Q")
    data = [
        {"left": span.low * unit, "right": span.high * unit, "rows": span.rows, "none": 0,
         "colour": FAINT if span.beyond else SOFT}
        for span in spans
    ]  # fmt: skip
    along = alt.X(f"left:{kind}", title=None).axis(
        grid=False, tickCount=8, labelFlush=True, labelOverlap=True
    )
    scale = alt.Scale(
        type="utc" if dates else "linear", domain=[end * unit for end in ends], nice=False
    )
    along = along.scale(scale)
    up = alt.Y("none:Q", title=None, axis=None).scale(
        domain=[0, max((span.rows for span in spans), default=1.0)], nice=False
    )
    base = alt.Chart(alt.InlineData(data)).encode(
        x=along, x2=f"right:{kind}", y=up, y2="rows:Q", color=alt.Color("colour:N", scale=None)
    )
    layers = [base.mark_bar()]
    for places, width, colour in (
        (cuts, 0.8, QUIET),
        ([bound for bound in bounds if bound is not None], 2.5, LINE),
    ):
        if places:
            at = alt.Chart(alt.InlineData([{"left": place * unit} for place in places]))
            layers.append(at.mark_rule(strokeWidth=width, color=colour).encode(x=along))
    return _field(layers, _LONG, _FLAT)


# Pages show text in the reader's own font, which may be much wider than the one used for layout. So
# names are measured in DejaVu Sans, the widest of the common fonts.
_NARROW, _PLAIN, _BROAD = 0.42, 0.66, 1.0  # of the size of letters
_NARROW_LETTERS = frozenset(" \u2009!'(),-./:;[]fijlrt|")


def text_width(text: str, size: float = _SMALL) -> float:
    """The pixels that a text takes at most, in any common font."""
    return size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if letter in _NARROW_LETTERS:
        return _NARROW
    if letter.isdecimal() or (letter.islower() and letter not in "mwæœ" and letter < "\u0250"):
        return _PLAIN
    return _BROAD if letter < "\U00010000" else 1.4  # pictures of things are the widest


def shortened(text: str, room: float) -> str:
    """As much of a text as there is room for."""
    if text_width(text) <= room:
        return text
    kept = text
    while kept and text_width(f"{kept}…") > room:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


# ── lines ───────────────────────────────────────────────────────────────────────────────────────


class Point(NamedTuple):
    """A point of a line, the mean of several runs, and their range."""

    line: str
    x: float
    y: float
    least: float
    most: float


def lines(
    points: Sequence[Point],
    *,
    names: Sequence[str],
    x_title: str,
    y_title: str,
    from_zero: bool = True,
    head: "alt.TitleParams | None" = None,
    background: str = "white",
) -> "alt.LayerChart":
    """Up to six lines, the last one emphasised; bands show the range of the runs."""
    import altair as alt

    *rest, own = names
    looks = dict(zip(rest, _LOOKS[: len(rest)], strict=True)) | {own: _OWN}
    known = list(names)
    colours = alt.Scale(domain=known, range=[looks[name].colour for name in known])
    shapes = alt.Scale(domain=known, range=[looks[name].mark for name in known])
    dashes = alt.Scale(domain=known, range=[list(looks[name].dash) for name in known])
    key, thick = _key(), alt.FieldEqualPredicate(own, "line")
    base = alt.Chart(alt.InlineData([point._asdict() for point in points])).encode(
        x=_x(sorted({point.x for point in points}), x_title),
        y=_y(max((point.most for point in points), default=0.0), y_title, from_zero=from_zero),
        color=alt.Color("line:N", scale=colours, legend=key),
    )
    layers = [
        base.mark_area(opacity=0.16).encode(y="least:Q", y2="most:Q"),
        base.mark_line().encode(
            strokeDash=alt.StrokeDash("line:N", scale=dashes, legend=None),
            strokeWidth=alt.condition(thick, alt.value(2.8), alt.value(1.9)),
        ),
        base.mark_point(filled=True, opacity=1, size=46).encode(
            shape=alt.Shape("line:N", scale=shapes, legend=key)
        ),
    ]
    return alt.LayerChart(
        layer=layers,
        title=alt.Undefined if head is None else head,
        width=500,
        height=300,
        padding=14,
        background=background,
        config=config(),
    )


def falling(points: Sequence[tuple[float, float]], *, x_title: str) -> "alt.LayerChart":
    """A share that falls as time goes on, in steps; the axis leaves out what is below."""
    import altair as alt

    data = [{"x": x, "y": y} for x, y in points]
    fallen = max(y for _, y in points) - min(y for _, y in points)
    digits = ".1%" if fallen > 0.01 else ".2%"
    base = alt.Chart(alt.InlineData(data)).encode(
        x=alt.X("x:Q", title=x_title).axis(grid=False, tickCount=5, format="~r"),
        y=alt.Y("y:Q", title=None)
        .scale(zero=False, nice=True)
        .axis(format=digits, tickCount=4, gridColor=FAINT, domain=False, ticks=False),
    )
    drawn = base.mark_line(interpolate="step-after", color=LINE, strokeWidth=2.4)
    return _field([drawn], 440, 150)


def _key() -> "alt.Legend":
    import altair as alt

    return alt.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        columns=6,
        columnPadding=28,  # pages may show names in a wider font
        offset=12,
        symbolSize=70,
        symbolOpacity=1,
        symbolStrokeWidth=0,
        labelFontSize=11.5,
        labelColor=INK,
        labelLimit=0,
    )


def _x(places: list[float], title: str) -> "alt.X":
    """An axis with a tick at each place that has points, if there is room for its label."""
    import altair as alt

    ends = [places[0], places[-1]] if places else [0, 1]
    return (
        alt.X("x:Q", title=title)
        .scale(domain=ends, nice=False, padding=10)
        .axis(values=places, format=",d", grid=False, tickSize=5, labelOverlap="greedy")
    )


def _y(most: float, title: str, *, from_zero: bool) -> "alt.Y":
    import altair as alt

    return (
        alt.Y("y:Q", title=title)
        .scale(zero=from_zero, nice=True)
        .axis(
            format="~s" if most >= 10_000 else ",~r",
            labelExpr="datum.value ? datum.label : '0'",  # not 0k
            tickCount=6,
            gridColor=FAINT,
            domain=False,
            ticks=False,
        )
    )


# ── labelled points ─────────────────────────────────────────────────────────────────────────────

_ACROSS, _UP = 650, 400  # pixels of the field
_LETTER, _LETTERS = 12.0, 0.56  # the size of labels, and how wide a letter is of that
_MARK = 6.0  # from the middle of a mark to its edge


class Spot(NamedTuple):
    """A point with its label; a hollow one counts only in part."""

    series: str
    label: str
    x: float
    y: float
    hollow: bool = False


class Box(NamedTuple):
    """A rectangle of the chart: pixels from the left and from the top."""

    left: float
    top: float
    right: float
    bottom: float

    def shared(self, other: "Box") -> float:
        """The area that two have in common."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, across) * max(0.0, down)


class _Place(NamedTuple):
    """A possible place of a label beside its mark."""

    dx: float
    dy: float
    align: Literal["left", "center", "right"]

    def box(self, label: str, x: float, y: float) -> Box:
        wide = len(label) * _LETTER * _LETTERS
        left = x + self.dx - {"left": 0.0, "center": wide / 2, "right": wide}[self.align]
        middle = y + self.dy
        return Box(left, middle - _LETTER / 2, left + wide, middle + _LETTER / 2)


# In order of preference.
_PLACES = (
    _Place(10, 0, "left"),
    _Place(-10, 0, "right"),
    _Place(0, -15, "center"),
    _Place(0, 15, "center"),
    _Place(8, -10, "left"),
    _Place(8, 10, "left"),
    _Place(-8, -10, "right"),
    _Place(-8, 10, "right"),
)


def scatter(
    spots: Sequence[Spot],
    *,
    names: Sequence[str],
    own: str,
    x_title: str,
    y_title: str,
    y_label: str = "format(datum.value, ',~r')",
    head: "alt.TitleParams",
) -> "alt.LayerChart":
    """Named points of up to six series on logarithmic axes; the `own` series is joined.

    `y_label` is how a number on the upright axis is written, as an expression of Vega.
    """
    import altair as alt

    rest = [name for name in names if name != own]
    looks = dict(zip(rest, _LOOKS[: len(rest)], strict=True)) | {own: _OWN}
    colours = alt.Scale(domain=list(names), range=[looks[name].colour for name in names])
    shapes = alt.Scale(domain=list(names), range=[looks[name].mark for name in names])
    x_ends, y_ends = _ends([spot.x for spot in spots]), _ends([spot.y for spot in spots])
    pixels = [_pixels(spot, x_ends, y_ends) for spot in spots]
    joined = sorted(p for p, spot in zip(pixels, spots, strict=True) if spot.series == own)
    places = beside(pixels, [spot.label for spot in spots], list(_along(joined)))
    values = [spot._asdict() for spot in spots]
    x = alt.X("x:Q", title=x_title).scale(type="log", domain=x_ends, nice=False)
    y = alt.Y("y:Q", title=y_title).scale(type="log", domain=y_ends, nice=False)
    base = alt.Chart(alt.InlineData(values)).encode(
        x=x.axis(values=round_numbers(*x_ends), format=",~r", gridColor=FAINT, tickSize=5),
        y=y.axis(
            values=round_numbers(*y_ends),
            labelExpr=y_label,
            gridColor=FAINT,
            domain=False,
            ticks=False,
        ),
        color=alt.Color("series:N", scale=colours, legend=_key()),
    )
    mine = alt.FieldEqualPredicate(own, "series")
    marks = base.encode(shape=alt.Shape("series:N", scale=shapes, legend=_key()))
    hollow = marks.transform_filter("datum.hollow").encode(color=alt.value("white"))
    layers = [
        base.transform_filter(mine).mark_line(strokeWidth=2.8),
        marks.mark_point(filled=True, opacity=1, stroke="white", strokeWidth=1).encode(
            size=alt.condition(mine, alt.value(120), alt.value(80))
        ),
        hollow.mark_point(filled=True, opacity=1, size=24),
        *(
            _label(base, spot, place, bold=spot.series == own, halo=halo)
            for halo in (True, False)
            for spot, place in zip(spots, places, strict=True)
        ),
    ]
    return alt.LayerChart(
        layer=layers,
        title=head,
        width=_ACROSS,
        height=_UP,
        padding=14,
        background="white",
        config=config(),
    )


def _label(base: "alt.Chart", spot: Spot, place: _Place, *, bold: bool, halo: bool) -> "alt.Chart":
    """The label of one point, or the white halo that separates it from what is below."""
    import altair as alt

    own = base.properties(data=alt.InlineData([spot._asdict()])).encode(text="label:N")
    if halo:
        own = own.encode(color=alt.value("white"))
    text: alt.Chart = own.mark_text(
        align=place.align,
        baseline="middle",
        dx=place.dx,
        dy=place.dy,
        fontSize=_LETTER,
        fontWeight="bold" if bold else "normal",
        stroke="white" if halo else alt.Undefined,
        strokeWidth=4 if halo else 0,
        strokeJoin="round",
    )
    return text


def _ends(values: Sequence[float]) -> list[float]:
    """The ends of a logarithmic axis: a little beyond all values."""
    least, most = min(values), max(values)
    room = max(1.25, (most / least) ** 0.06)
    return [least / room, most * room]


def round_numbers(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten from one number to another."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [float(f"{step}e{power}") for power in powers for step in (1, 2, 5)]
    return [value for value in every if low <= value <= high]


def _pixels(spot: Spot, x_ends: list[float], y_ends: list[float]) -> tuple[float, float]:
    def share(value: float, ends: list[float]) -> float:
        return math.log(value / ends[0]) / math.log(ends[1] / ends[0])

    return _ACROSS * share(spot.x, x_ends), _UP * (1 - share(spot.y, y_ends))


def _along(line: Sequence[tuple[float, float]], thick: float = 3.0) -> Iterator[Box]:
    """Small boxes that cover a line from point to point."""
    for (x, y), (to_x, to_y) in pairwise(line):
        steps = math.ceil(math.dist((x, y), (to_x, to_y)) / thick)
        for step in range(1, steps):
            at_x, at_y = x + (to_x - x) * step / steps, y + (to_y - y) * step / steps
            yield Box(at_x - thick, at_y - thick, at_x + thick, at_y + thick)


def beside(
    middles: Sequence[tuple[float, float]], labels: Sequence[str], taken: Sequence[Box] = ()
) -> list[_Place]:
    """Place the labels of marks so that they cover no mark, no other label and nothing `taken`.

    Each label in turn moves to where it covers least, until none moves.
    """
    marks = [Box(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y in middles]
    places = [_PLACES[0]] * len(labels)

    def box(number: int) -> Box:
        return places[number].box(labels[number], *middles[number])

    def disturbs(number: int, place: _Place) -> float:
        own = place.box(labels[number], *middles[number])
        others = [each for other in range(len(labels)) if other != number
                  for each in (marks[other], box(other))]  # fmt: skip
        outside = max(0.0, -own.left, own.right - _ACROSS, -own.top, own.bottom - _UP)
        covered = sum(own.shared(other) for other in (*others, *taken))
        return covered + _LETTER * outside + _PLACES.index(place)

    for _ in range(50):
        before = list(places)
        for number in range(len(labels)):
            places[number] = min(_PLACES, key=partial(disturbs, number))
        if places == before:
            break
    return places
