"""Self-contained HTML: elements, tables, figures and whole pages.

Text becomes markup in one place: the content of an element is escaped unless it is markup already,
so names in a table cannot inject code. A page contains its style and pictures and loads nothing
from outside. It follows the reader's choice of light or dark: pictures are drawn in the colours of
`covey.report.charts`, which the style sheet maps to others.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

_EMPTY = ("br", "meta", "link", "input")  # elements without content or closing tag


class Html(str):
    """Text that is markup already."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


Part = str | int | float | None


def text(part: Part) -> str:
    """A part of a page as markup, escaped unless it is markup already."""
    if part is None:
        return ""
    return part if isinstance(part, Html) else escape(str(part))


def element(name: str, /, *inside: Part, **attributes: str | bool | None) -> Html:
    """An element: `element("p", "a < b", class_="note")`. None or False omits an attribute."""
    written = "".join(
        f" {_attribute(key)}" + ("" if value is True else f'="{escape(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _EMPTY:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{''.join(map(text, inside))}</{name}>")


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def together(parts: Iterable[Part]) -> Html:
    """Join parts."""
    return Html("".join(map(text, parts)))


def table(
    head: Sequence[Part],
    rows: Iterable[Sequence[Part]],
    *,
    caption: str | None = None,
    numbers: Iterable[int] = (),
) -> Html:
    """A table whose first cells name the rows; columns in `numbers` are aligned right."""
    flush = set(numbers)

    def cell(name: str, place: int, inside: Part, scope: str | None = None) -> Html:
        return element(name, inside, scope=scope, class_="number" if place in flush else None)

    lines = [
        element(
            "tr",
            *(
                cell("td", place, inside) if place else cell("th", place, inside, "row")
                for place, inside in enumerate(row)
            ),
        )
        for row in rows
    ]
    titles = [cell("th", place, inside, "col") for place, inside in enumerate(head)]
    return element(
        "table",
        element("caption", caption) if caption else None,
        element("thead", element("tr", *titles)),
        element("tbody", *lines),
    )


def explained(name: str, sentence: str, note: str = "") -> Html:
    """A name, and below it what it means."""
    note = f" Note: {note}." if note else ""
    return together((name, element("span", sentence + note, class_="explained")))


def scrolled(grid: Html, name: str) -> Html:
    """A table in a scrollable region, for narrow screens; the keyboard scrolls it too."""
    return element("div", grid, class_="scroll", tabindex="0", role="region", aria_label=name)


def facts(told: Iterable[tuple[str, str, str]]) -> Html:
    """The key figures: the name, the figure and an explanation of each."""
    return element("dl", *(
        element("div", element("dt", name), element("dd", figure, class_="figure"),
                element("dd", explained, class_="explained"))
        for name, figure, explained in told
    ), class_="facts")  # fmt: skip


def figure(
    svg: str | None,
    name: str,
    caption: Part = None,
    *,
    numbers: Html | None = None,
    wide: bool = False,
) -> Html:
    """A picture with a name for screen readers, and its numbers to unfold.

    Where there is no picture, the numbers stand in its place.
    """
    told = element("figcaption", caption) if caption else None
    if svg is None:
        return element("figure", told, numbers and scrolled(numbers, name))
    shown = element("div", _named(svg, name), class_="picture")
    if wide:  # wider than a phone screen: scrollable, also with the keyboard
        shown = element(
            "div", _named(svg, name), class_="picture wide", tabindex="0", role="group",
            aria_label="scrollable picture",
        )  # fmt: skip
    behind = element("details", element("summary", "Numbers"), numbers) if numbers else None
    return element("figure", told, shown, behind)


def _named(svg: str, name: str) -> Html:
    """The picture with its name; its parts then need no names."""
    start = f'<svg role="img" aria-label="{escape(name)}"'
    return Html(re.sub(r"^.*?<svg", lambda _: start, svg, count=1, flags=re.DOTALL))


def page(title: str, *body: Part) -> str:
    """A whole document."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        # Even if something on the page requested an outside resource, the browser would refuse.
        element(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'; img-src data:",
        ),
        element("title", title),
        element("style", _style()),
    )
    document = element("html", head, element("body", *body), lang="en")
    return f"<!DOCTYPE html>\n{document}\n"


def _style() -> Html:
    return Html(files("covey").joinpath("page.css").read_text(encoding="utf-8"))


def snippet(title: str, *body: Part) -> str:
    """The notebook display of an object: a few lines in the notebook's own style."""
    return element(
        "div",
        element("p", element("strong", title), style="margin: 0.2em 0"),
        *body,
        class_="covey",
        style="max-width: 60em; overflow-x: auto",
    )
