"""The charts of covey and their files, drawn on this machine without any download.

Altair and vl-convert come with the extra `covey[charts]`, so they are imported only when a chart is
drawn.
"""

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from covey.errors import UsageError

if TYPE_CHECKING:
    import altair as alt

PICTURES = (".svg", ".png")
# Pages know these colours by name, and replace them in dark mode.
INK, LINE, QUIET, FAINT = "#1b1f24", "#1f5a7a", "#5c6670", "#d7dde2"
SOFT, BEFORE = "#9fc3d6", "#a9b2ba"
_PRINT = 3  # pixels in print for one on the screen
GRID: dict[str, Any] = {
    "gridColor": FAINT,
    "domain": False,
    "ticks": False,
}  # an axis of which one sees its grid


class _Look(NamedTuple):
    """How one line differs from the others: each of these alone is enough."""

    colour: str
    mark: str
    dash: list[int]


# Colours that colour-blind people can distinguish (after Okabe and Ito, darkened to be visible on
# white), and marks and dashes for those who see or print no colour.
_LOOKS = (
    _Look("#0072b2", "square", [1, 0]),
    _Look("#c8500a", "triangle-up", [7, 3]),
    _Look("#00805c", "diamond", [2, 2]),
    _Look("#a64883", "cross", [8, 3, 2, 3]),
    _Look("#8a6100", "triangle-down", [4, 4]),
)
_OWN = _Look(INK, "circle", [1, 0])


def scale_of(
    part: Literal["colour", "mark", "dash"], names: Sequence[str], own: str
) -> "alt.Scale":
    """A part of the looks of up to six lines, of which one is covey's `own`."""
    import altair as alt

    others = iter(_LOOKS)
    looks = [_OWN if name == own else next(others) for name in names]
    return alt.Scale(domain=list(names), range=[getattr(look, part) for look in looks])


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


def layered(
    layers: "list[alt.Chart]", width: float, height: float, **settings: Any
) -> "alt.LayerChart":
    """Layers as one chart; other `settings` are those of Altair."""
    import altair as alt

    sides = {"left": 4, "right": 10, "top": 4, "bottom": 4}
    usual = {"padding": sides, "background": "transparent", "config": config()}
    return alt.LayerChart(layer=layers, width=width, height=height, **usual | settings)


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
_TEXTS = 45  # for the numbers after bars, at least
_SMALL = 11.5  # the size of letters
_COUNTS = GRID | {"format": ",d", "tickCount": 4, "labelSeparation": 16}  # an axis of rows


class Bar(NamedTuple):
    """A bar from one number to another, in one of the palette's colours.

    If its number is `withheld`, it is an outline of no particular length with that word in it.
    """

    place: int  # of its name
    low: float
    high: float
    colour: str
    lane: int = 0  # beside others of the same name
    text: str = ""  # after it
    withheld: str = ""


_WORD = 9.5  # the size of the letters of a word in a bar


def _outlined(bars: Sequence[Bar], pixels: float, furthest: float) -> list[dict[str, Any]]:
    """The bars as data; those without a number just long enough for their word."""
    room = {bar.withheld: (text_width(bar.withheld, _WORD) + 6) / pixels for bar in bars}
    return [
        bar._asdict() | ({"high": furthest * min(room[bar.withheld], 1)} if bar.withheld else {})
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
    texts = max((text_width(bar.text) for bar in values), default=0.0)
    margin = max(_TEXTS, texts) + 5 if texts else 0
    lanes = 1 + max((bar.lane for bar in values), default=0)
    furthest = _furthest(values)
    width = _WIDE - room - _GAP - margin
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
    along = along.axis(None) if texts else along.axis(**_COUNTS, labelFlush=True)
    offset = alt.YOffset("lane:O").scale(domain=list(range(lanes)), paddingInner=0.08)
    base = base.encode(y=places, yOffset=offset)
    word = base.mark_text(align="left", dx=3, fontSize=_WORD, color=QUIET).encode(x="low:Q")
    layers = _bar_layers(base.encode(x=along, x2="high:Q"), values, word)
    if texts:
        text = base.mark_text(align="left", dx=5, fontSize=_SMALL, color=INK)
        layers.append(text.encode(x="high:Q", text="text:N"))
    return layered(layers, width, len(names) * (thick * lanes + 9))


def _furthest(values: Sequence[Bar]) -> float:
    return max((bar.high for bar in values if not bar.withheld), default=0.0) or 1.0


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
            side: starts[bar["place"]] + 0.07 + (bar["lane"] + share) * wide
            for side, share in (("left", 0), ("middle", 0.47), ("right", 0.94))
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
    up = up.axis(**_COUNTS, minExtent=_COUNTED - 4, maxExtent=_COUNTED - 4)
    word = base.mark_text(
        align="left", angle=270, dx=3, fontSize=_WORD, color=QUIET, baseline="middle"
    )
    layers = _bar_layers(
        base.encode(x=along, x2="right:Q", y=up, y2="high:Q"),
        values,
        word.encode(x="middle:Q", y="low:Q"),
    )
    return layered(layers, width, _TALL)


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
    return layered(layers, _LONG, _FLAT)


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


class ChartPoint(NamedTuple):
    """A point of a line, the mean of several runs, and their range."""

    line: str
    x: float
    y: float
    least: float
    most: float


def lines(
    points: Sequence[ChartPoint],
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

    own = names[-1]
    key, thick = legend(), alt.FieldEqualPredicate(own, "line")
    places = sorted({point.x for point in points})
    most = max((point.most for point in points), default=0.0)
    # A tick at each place that has points, if there is room for its label.
    x = alt.X("x:Q", title=x_title).axis(
        values=places, format=",d", grid=False, tickSize=5, labelOverlap="greedy"
    )
    y = alt.Y("y:Q", title=y_title).axis(
        **GRID,
        format="~s" if most >= 10_000 else ",~r",
        labelExpr="datum.value ? datum.label : '0'",  # not 0k
        tickCount=6,
    )
    base = alt.Chart(alt.InlineData([point._asdict() for point in points])).encode(
        x=x.scale(domain=[places[0], places[-1]] if places else [0, 1], nice=False, padding=10),
        y=y.scale(zero=from_zero, nice=True),
        color=alt.Color("line:N", scale=scale_of("colour", names, own), legend=key),
    )
    layers = [
        base.mark_area(opacity=0.16).encode(y="least:Q", y2="most:Q"),
        base.mark_line().encode(
            strokeDash=alt.StrokeDash("line:N", scale=scale_of("dash", names, own), legend=None),
            strokeWidth=alt.condition(thick, alt.value(2.8), alt.value(1.9)),
        ),
        base.mark_point(filled=True, opacity=1, size=46).encode(
            shape=alt.Shape("line:N", scale=scale_of("mark", names, own), legend=key)
        ),
    ]
    title = alt.Undefined if head is None else head
    return layered(layers, 500, 300, title=title, padding=14, background=background)


_CELL = 26  # pixels
_DARKEST, _LIGHT = 0.5, 0.35  # shares: all above are as dark; from here on, letters are light


def heat_map(names: Sequence[str], shares: Mapping[tuple[str, str], float]) -> "alt.LayerChart":
    """A square for each pair of names with its share in percent, the darker the larger.

    All shares above a half are as dark.
    """
    import altair as alt

    place = {name: at for at, name in enumerate(names)}
    room = min(max(map(text_width, names), default=0.0), _NAMES[1])
    data = []
    for pair, share in shares.items():
        if place.keys() >= {*pair}:
            column, row = sorted(place[name] for name in pair)
            ink = "white" if share > _LIGHT else INK
            square = {"row": row, "column": column, "share": share}
            data.append({**square, "ink": ink, "text": f"{100 * share:.0f}"})
    labels: dict[str, Any] = {
        "labelExpr": f"{json.dumps([shortened(name, room) for name in names])}[datum.value]",
        **{"labelLimit": 0, "domain": False, "ticks": False, "labelPadding": _GAP / 2},
    }
    x = alt.X("column:O", title=None).scale(domain=[*range(len(names) - 1)], paddingInner=0.05)
    y = alt.Y("row:O", title=None).scale(domain=[*range(1, len(names))], paddingInner=0.05)
    across = x.axis(**labels, labelAngle=-40, labelAlign="right")
    base = alt.Chart(alt.InlineData(data)).encode(
        x=across, y=y.axis(**labels, minExtent=room + _GAP)
    )
    shades = alt.Scale(domain=[0, _DARKEST], range=[0.05, 1], clamp=True)
    squares = base.mark_rect(color=LINE).encode(
        opacity=alt.Opacity("share:Q", scale=shades, legend=None)
    )
    text = base.mark_text(fontSize=_WORD + 1).encode(
        text="text:N", color=alt.Color("ink:N", scale=None)
    )
    size = _CELL * (len(names) - 1)
    return layered([squares, text], size, size)


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
        .axis(**GRID, format=digits, tickCount=4),
    )
    drawn = base.mark_line(interpolate="step-after", color=LINE, strokeWidth=2.4)
    return layered([drawn], 440, 150)


def legend() -> "alt.Legend":
    """The names of the lines, in a row above them."""
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


def round_numbers(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten from one number to another."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [float(f"{step}e{power}") for power in powers for step in (1, 2, 5)]
    return [value for value in every if low <= value <= high]
