"""A scatter of named points on logarithmic axes, whose labels make room for one another."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple

import altair as alt

from covey.report import charts
from covey.report.charts import FAINT, GRID

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
    head: alt.TitleParams,
) -> alt.LayerChart:
    """Named points of up to six series on logarithmic axes; the `own` series is joined.

    `y_label` is how a number on the upright axis is written, as an expression of Vega.
    """
    colours, shapes = (charts.scale_of(part, names, own) for part in ("colour", "mark"))
    x_ends, y_ends = _ends([spot.x for spot in spots]), _ends([spot.y for spot in spots])
    pixels = [_pixels(spot, x_ends, y_ends) for spot in spots]
    joined = sorted(p for p, spot in zip(pixels, spots, strict=True) if spot.series == own)
    places = placed(pixels, [spot.label for spot in spots], list(_along(joined)))
    values = [spot._asdict() for spot in spots]
    x = alt.X("x:Q", title=x_title).scale(type="log", domain=x_ends, nice=False)
    y = alt.Y("y:Q", title=y_title).scale(type="log", domain=y_ends, nice=False)
    base = alt.Chart(alt.InlineData(values)).encode(
        x=x.axis(values=charts.round_numbers(*x_ends), format=",~r", gridColor=FAINT, tickSize=5),
        y=y.axis(**GRID, values=charts.round_numbers(*y_ends), labelExpr=y_label),
        color=alt.Color("series:N", scale=colours, legend=charts.legend()),
    )
    mine = alt.FieldEqualPredicate(own, "series")
    marks = base.encode(shape=alt.Shape("series:N", scale=shapes, legend=charts.legend()))
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
    return charts.layered(layers, _ACROSS, _UP, title=head, padding=14, background="white")


def _label(base: alt.Chart, spot: Spot, place: _Place, *, bold: bool, halo: bool) -> alt.Chart:
    """The label of one point, or the white halo that separates it from what is below."""
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


def placed(
    middles: Sequence[tuple[float, float]], labels: Sequence[str], occupied: Sequence[Box] = ()
) -> list[_Place]:
    """Place the labels of marks so that they cover no mark, no other label and nothing `occupied`.

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
        covered = sum(own.shared(other) for other in (*others, *occupied))
        return covered + _LETTER * outside + _PLACES.index(place)

    for _ in range(50):
        before = list(places)
        for number in range(len(labels)):
            places[number] = min(_PLACES, key=partial(disturbs, number))
        if places == before:
            break
    return places
