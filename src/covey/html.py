"""Self-contained HTML: elements, tables, figures and whole pages.

Text becomes markup in one place: the content of an element is escaped unless it is markup already,
so names in a table cannot inject code. A page contains its style and pictures and loads nothing
from outside. It follows the reader's choice of light or dark: pictures are drawn in the colours of
`covey.report.charts`, which the style sheet maps to others.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from html import escape
from importlib.resources import files

_EMPTY = ("br", "meta", "link", "input")  # elements without content or closing tag


class Html(str):
    """Text that is markup already."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


Part = str | int | float | None | Iterable["Part"]


def text(part: Part) -> str:
    """A part of a page as markup, escaped unless it is markup already; parts may have parts."""
    match part:
        case None:
            return ""
        case Html():
            return part
        case str() | int() | float():
            return escape(str(part))
    return "".join(map(text, part))


def element(name: str, /, *inside: Part, **attributes: str | bool | None) -> Html:
    """An element: `element("p", "a < b", class_="note")`. None or False omits an attribute."""
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _EMPTY:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{''.join(map(text, inside))}</{name}>")


def together(parts: Iterable[Part]) -> Html:
    """Join parts."""
    return Html(text(parts))


# The elements that pages are mostly made of.
a = partial(element, "a")
bdi = partial(element, "bdi")
code = partial(element, "code")
div = partial(element, "div")
h1 = partial(element, "h1")
h2 = partial(element, "h2")
h3 = partial(element, "h3")
li = partial(element, "li")
p = partial(element, "p")
pre = partial(element, "pre")
span = partial(element, "span")
strong = partial(element, "strong")
summary = partial(element, "summary")
ul = partial(element, "ul")


def table(
    head: Sequence[Part],
    rows: Iterable[Sequence[Part]],
    *,
    caption: str | None = None,
    numbers: Iterable[int] = (),
) -> Html:
    """A table whose first cells name the rows; columns in `numbers` are aligned right."""
    flush = set(numbers)

    def cell(place: int, inside: Part, scope: str | None = None) -> Html:
        class_ = "number" if place in flush else None
        return element("th" if scope else "td", inside, scope=scope, class_=class_)

    titles = (cell(place, inside, "col") for place, inside in enumerate(head))
    lines = (
        element("tr", (cell(at, inside, None if at else "row") for at, inside in enumerate(row)))
        for row in rows
    )
    return element(
        "table",
        element("caption", caption) if caption else None,
        element("thead", element("tr", titles)),
        element("tbody", lines),
    )


def explained(name: str, sentence: str, note: str = "") -> Html:
    """A name, and below it what it means."""
    note = f" Note: {note}." if note else ""
    return together((name, element("span", sentence + note, class_="explained")))


def scrolled(grid: Html, name: str, *, class_: str = "scroll") -> Html:
    """A table in a scrollable region, for narrow screens; the keyboard scrolls it too."""
    return element("div", grid, class_=class_, tabindex="0", role="region", aria_label=name)


def facts(figures: Iterable[tuple[str, str, str]]) -> Html:
    """The key figures: the name, the figure and an explanation of each."""
    parts = (
        div(
            element("dt", name),
            element("dd", figure, class_="figure"),
            element("dd", explanation, class_="explained"),
        )
        for name, figure, explanation in figures
    )
    return element("dl", parts, class_="facts")


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
    described = element("figcaption", caption) if caption else None
    if svg is None:
        return element("figure", described, numbers and scrolled(numbers, name))
    picture = div(_named(svg, name), class_="picture")
    if wide:  # wider than a phone screen: scrollable, also with the keyboard
        picture = div(
            _named(svg, name), class_="picture wide", tabindex="0", role="group",
            aria_label="scrollable picture",
        )  # fmt: skip
    details = element("details", summary("Numbers"), numbers) if numbers else None
    return element("figure", described, picture, details)


def _named(svg: str, name: str) -> Html:
    """The picture with its name; its parts then need no names."""
    start = f'<svg role="img" aria-label="{escape(name)}"'
    return Html(re.sub(r"^.*?<svg", lambda _: start, svg, count=1, flags=re.DOTALL))


def page(title: str, *body: Part) -> str:
    """A whole document."""
    # Even if something on the page requested an outside resource, the browser would refuse.
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    style = Html(files("covey").joinpath("page.css").read_text(encoding="utf-8"))
    return document(title, element("style", style), body, policy=policy)


def document(title: str, head: Part, body: Part, *, policy: str | None = None) -> str:
    """A whole document, with more in its head."""
    whole = element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("meta", http_equiv="Content-Security-Policy", content=policy) if policy else "",
            element("title", title),
            head,
        ),
        element("body", body),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{whole}\n"


def snippet(title: str, *body: Part) -> str:
    """The notebook display of an object: a few lines in the notebook's own style."""
    return element(
        "div",
        element("p", element("strong", title), style="margin: 0.2em 0"),
        *body,
        class_="covey",
        style="max-width: 60em; overflow-x: auto",
    )
