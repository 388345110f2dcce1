"""How covey's pictures look, and how they become files: drawn on this machine, nothing is fetched.

Altair and vl-convert come with the extra `covey[charts]`, so they are imported when something is
drawn, and not before.
"""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

from covey.errors import UsageError

if TYPE_CHECKING:
    import altair as alt

PICTURES = (".svg", ".png")
# Pages that show pictures know these colours by their names, and have others for the dark.
INK, LINE, QUIET, FAINT = "#1b1f24", "#1f5a7a", "#5c6670", "#d7dde2"
SOFT, BEFORE = "#9fc3d6", "#a9b2ba"
_PRINT = 3  # pixels for one on a screen


def available() -> bool:
    """Whether pictures can be drawn here."""
    return all(find_spec(name) is not None for name in ("altair", "vl_convert"))


def refuse_without_charts() -> None:
    """Pictures need packages that not everybody wants."""
    if not available():
        raise UsageError(
            "pictures need Altair and vl-convert, which come with the extra covey[charts]"
        )


def title(text: str, subtitle: str) -> "alt.TitleParams":
    """A title above the left end of a picture, and a line below it that explains."""
    import altair as alt

    return alt.TitleParams(
        text,
        subtitle=subtitle,
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

_NAMES, _BARS = 132, 250  # pixels for the names of bars, and for the bars themselves
_TOLD = 50  # of these for numbers behind them


class Bar(NamedTuple):
    """A bar from one number to another, in one of the palette's colours."""

    place: int  # of its name
    low: float
    high: float
    colour: str
    lane: int = 0  # beside others of the same name
    told: str = ""  # what stands behind it


def bars(names: Sequence[str], values: Sequence[Bar], *, thick: int) -> "alt.LayerChart":
    """Horizontal bars, several beside each other where they stand in lanes.

    Names are told by their place, so that two may be the same. Where numbers stand behind the bars,
    there is no axis.
    """
    import altair as alt

    told = any(bar.told for bar in values)
    lanes = 1 + max((bar.lane for bar in values), default=0)
    furthest = max((bar.high for bar in values), default=0.0) or 1.0
    base = alt.Chart(alt.InlineData([bar._asdict() for bar in values]))
    places = alt.Y("place:O", title=None, sort=None).scale(
        domain=list(range(len(names))), paddingInner=0.25, paddingOuter=0.1
    )
    places = places.axis(
        labelExpr=f"{json.dumps(list(names))}[datum.value]",
        labelLimit=_NAMES - 8,
        minExtent=_NAMES,
        maxExtent=_NAMES,
        domain=False,
        ticks=False,
        labelPadding=8,
    )
    along = alt.X("low:Q", title=None).scale(domain=[0, furthest], nice=False)
    if told:
        along = along.axis(None)
    else:
        along = along.axis(
            format=",d", tickCount=4, gridColor=FAINT, domain=False, ticks=False, labelFlush=True
        )
    offset = alt.YOffset("lane:O").scale(domain=list(range(lanes)), paddingInner=0.08)
    base = base.encode(y=places, yOffset=offset)
    layers = [base.mark_bar().encode(x=along, x2="high:Q", color=alt.Color("colour:N", scale=None))]
    if told:
        text = base.mark_text(align="left", dx=5, fontSize=11.5, color=INK)
        layers.append(text.encode(x="high:Q", text="told:N"))
    return alt.LayerChart(
        layer=layers,
        width=_BARS - (_TOLD if told else 0),
        height=len(names) * (thick * lanes + 9),
        padding={"left": 2, "right": 8, "top": 4, "bottom": 4},
        background="transparent",
        config=config(),
    )
