"""How covey's pictures look, and how they become files: drawn on this machine, nothing is fetched.

Altair and vl-convert come with the extra `covey[charts]`, so they are imported when something is
drawn, and not before.
"""

from importlib.util import find_spec
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

from covey.errors import UsageError

if TYPE_CHECKING:
    import altair as alt

PICTURES = (".svg", ".png")
INK, LINE, QUIET, FAINT = "#1b1f24", "#1f5a7a", "#5c6670", "#d7dde2"
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
