"""The controls of numbers and dates: a picture with cuts, sliders, and fields to type in."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from covey import html
from covey.html import Html, element
from covey.schema import Column, ColumnType
from covey.studio import scales, ui
from covey.studio.columns import Scale

_AROUND = "line same undo rail"  # what shows decisions elsewhere on the page


def controls(place: int, column: Column, scale: Scale, picture: Html) -> Html:
    """All of them."""
    lower, upper = scales.bottoms(scale, column), scales.tops(scale, column)
    sliders = (
        _slider(place, "bottom", "Lower end", lower, column.bottom),
        _slider(place, "top", "Upper end", upper, column.top),
        _slider(place, "grid", "Step", scales.grids(scale, column), column.grid),
    )
    return html.div(html.div(picture, sliders), _typed(place, column), class_="scale")


def _slider(place: int, which: str, text: str, options: Sequence[Any], value: Any) -> Html:
    """A slider that posts while it moves; everything else in the card follows."""
    parts = [f"{part}-{place}" for part in ("cuts", "told", "typed", "bottom", "top", "grid")]
    others = [part for part in parts if part != f"{which}-{place}"]
    at = scales.position(options, value)
    slider = element(
        "input", type="range", name="position", min="0", max=str(max(len(options) - 1, 1)),
        value=str(at), id=f"slide-{which}-{place}", aria_valuetext=_text(options[at]),
    )  # fmt: skip
    return ui.form(
        "shown/slide",
        ui.hidden("column", place),
        ui.hidden("which", which),
        ui.labelled(text, slider, class_="sliding"),
        live=True,
        swaps=" ".join([*others, _AROUND]),
        id=f"{which}-{place}",
    )


def _text(value: Any) -> str:
    if value is None:
        return "none"
    # Exactly, and without an exponent: the form sends it back as it is.
    return np.format_float_positional(value, trim="-") if isinstance(value, float) else str(value)


def _typed(place: int, column: Column) -> Html:
    """The same settings as numbers and dates."""

    def field(name: str, text: str, value: Any, kind: str = "text", note: str = "") -> Html:
        shown = "" if value is None else _text(value)
        control = ui.typed(name, shown, kind=kind, id=f"{name}-typed-{place}")
        return ui.labelled(text, control, note=note)

    def chosen(name: str, text: str, options: Any, value: str | None, id: str) -> Html:
        return ui.labelled(text, ui.chosen_from(name, options, value or "", id=id))

    beyond = "what is {} counts as this" if column.render else "shown as “… and {}”"
    if column.type is ColumnType.DATE:
        kind, less, more, class_ = "date", "earlier", "later", "typed dates"
        units, grid = (("", "none"), *((unit, unit) for unit in scales.UNITS)), column.grid
        step = chosen("grid", "Step", units, str(grid or ""), f"grid-typed-{place}")
        of_numbers: tuple[Html, ...] = ()
    else:
        kind, less, more, class_ = "text", "less", "more", "typed"
        rounded = f"{column.render}s are rounded to" if column.render else "intervals end on"
        step = field("grid", "Step", column.grid, note=f"{rounded} its multiples")
        low, high = column.domain or (None, None)
        of_numbers = (
            field("least", "Possible from", low, note="the domain, if it is known"),
            field("most", "to", high),
            chosen(
                "render",
                "A group shows",
                ui.WORDS["shown"]["renders"].items(),
                column.render,
                f"render-{place}",
            ),
        )
    return ui.form(
        "shown/scale",
        ui.hidden("column", place),
        step,
        field("bottom", "Lower end", column.bottom, kind, beyond.format(less)),
        field("top", "Upper end", column.top, kind, beyond.format(more)),
        of_numbers,
        live=True,
        id=f"typed-{place}",
        class_=class_,
    )
