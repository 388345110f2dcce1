"""The parts that the studio's pages are built of."""

import re
from collections.abc import Iterable, Sequence

from covey import html
from covey.declared import declared
from covey.html import Html, Part, element
from covey.report.headline import SIGNS, Headline

LONGEST_TEXT = 500  # signs that can be typed as a reason or a title
# What pages say and what they call settings, by the step.
WORDS = declared("covey.studio", "words.toml")

# ── texts ───────────────────────────────────────────────────────────────────────────────────────


def sentence(text: str) -> str:
    """What covey says, as a sentence. The name of k stays as it is."""
    begin = text if text.startswith("k ") else text[:1].upper() + text[1:]
    return begin.rstrip(".") + "."


def quiet(*inside: Part) -> Html:
    """A paragraph that explains."""
    return html.p(*inside, class_="quiet")


def small(*inside: Part) -> Html:
    """A paragraph in small type, for what few need to read."""
    return html.p(*inside, class_="quiet small")


def message(kind: str, *inside: Part, role: str | None = None, id: str | None = None) -> Html:
    """A message in a box; kinds are good, mind, warning and bad."""
    return html.p(*inside, class_=f"told {kind}", role=role, id=id)


def failure(text: str) -> Html:
    """What went wrong, which screen readers say at once."""
    return message("bad", text, role="alert")


def heading(title: Part, *lead: Part) -> Html:
    """The title of a page and what it is about."""
    return html.together((html.h1(title), html.p(*lead, class_="lead") if lead else None))


def onwards(step: str, text: str) -> Html:
    """The link to the next step."""
    return html.p(html.a(text, " →", href=step, class_="button main"), class_="onwards")


def cell_text(cell: str | None) -> str:
    """A cell as the page shows it."""
    return "missing" if cell is None else cell


# What an error asks for on the command line, the step that asks for it here, and its title.
_ELSEWHERE = (
    (r"\. Leave them out with --drop-rows", "open", "Decide about these rows"),
    (r"\. Set what k counts under \[require\]", "roles", "Choose what is one person"),
)


def undecided(error: str) -> Html | None:
    """An error about a question of an earlier step, with the way to that step."""
    for pattern, step, title in _ELSEWHERE:
        if found := re.search(pattern, error):
            return html.together((failure(sentence(error[: found.start()])), onwards(step, title)))
    return None


def promised(headline: Headline) -> tuple[Html, Html]:
    """The headline of the release: its state, and the promise as the title of the page."""
    state = f"{SIGNS[headline.level]} {headline.state}"
    pill = html.p(state, class_=f"verdict {headline.level}")
    return pill, heading(sentence(headline.text))


def reminded(headline: Headline) -> Html:
    """The headline of the release in a line, for the steps that follow its making."""
    return message(headline.level, str(headline), id="headline")


def nothing_known(title: str) -> Part:
    """What a step shows as long as no column has the role that it is about."""
    text = "No column is one that others may know. Give at least one this role."
    return heading(title), message("mind", text), onwards("roles", "Who could recognise whom?")


def card(title: Part, *inside: Part, id: str | None = None, class_: str = "card") -> Html:
    """A part of a page with a title."""
    return element("section", html.h2(title), *inside, class_=class_, id=id)


def row(*inside: Part) -> Html:
    """Parts beside each other."""
    return html.div(*inside, class_="row")


def items(parts: Iterable[Part], **attributes: str | None) -> Html:
    """A list."""
    return html.ul(map(html.li, parts), **attributes)


def details(title: Part, *inside: Part, id: str | None = None, is_open: bool = False) -> Html:
    """Parts that unfold."""
    return element("details", html.summary(title), *inside, id=id, open=is_open)


def grid(
    head: Sequence[Part], rows: Iterable[Sequence[Part]], name: str, numbers: Iterable[int] = ()
) -> Html:
    """A table in a region of this name; columns in `numbers` are aligned right."""
    return html.scrolled(html.table(head, rows, numbers=numbers), name)


# ── forms ───────────────────────────────────────────────────────────────────────────────────────


def form(
    action: str,
    *inside: Part,
    live: bool = False,
    swaps: str | None = None,
    upload: bool = False,
    label: str | None = None,
    **attributes: str | bool | None,
) -> Html:
    """A form that posts to an action, as `roles/set`.

    A `live` one posts whenever something in it changes. The script then replaces the whole page, or
    only the elements with the ids in `swaps`, so that what one is dragging stays.
    """
    return element(
        "form",
        *inside,
        action=action,
        method="post",
        enctype="multipart/form-data" if upload else None,
        data_live=live,
        data_swaps=swaps,
        aria_label=label,
        **attributes,
    )


def hidden(name: str, value: object) -> Html:
    """A value that goes with a form."""
    return element("input", type="hidden", name=name, value=str(value))


def button(
    text: Part, *, kind: str = "", label: str | None = None, **attributes: str | bool | None
) -> Html:
    """A button that sends its form; kinds are main, quiet and danger."""
    class_ = f"button {kind}".strip()
    return element("button", text, type="submit", class_=class_, aria_label=label, **attributes)


def push(
    action: str, text: Part, *, kind: str = "", label: str | None = None, **values: object
) -> Html:
    """A form of one button."""
    sent = (hidden(name, value) for name, value in values.items())
    return form(action, sent, button(text, kind=kind, label=label), class_="push")


def labelled(text: Part, control: Html, *, note: Part = None, class_: str = "field") -> Html:
    """A control below its label, with a note below it."""
    below = html.span(note, class_="note") if note else None
    return element("label", html.span(text, class_="label"), control, below, class_=class_)


def typed(
    name: str, value: object = "", *, kind: str = "text", label: str | None = None,
    **attributes: str | bool | None,
) -> Html:  # fmt: skip
    """A field to type in."""
    return element(
        "input", type=kind, name=name, value=str(value), aria_label=label, autocomplete="off",
        spellcheck="false", **attributes,
    )  # fmt: skip


def file(id: str, accept: str | None = None) -> Html:
    """A field to choose a file in."""
    return element("input", type="file", name="file", accept=accept, required=True, id=id)


def chosen_from(
    name: str, options: Iterable[tuple[str, str]], value: str, *, id: str | None = None,
    label: str | None = None,
) -> Html:  # fmt: skip
    """A list to choose from: values and their texts."""
    listed = (element("option", text, value=each, selected=each == value) for each, text in options)
    return element("select", listed, name=name, id=id, aria_label=label)


def ticked(name: str, text: Part, *, on: bool, value: str = "on", id: str | None = None) -> Html:
    """A box to tick."""
    box = element("input", type="checkbox", name=name, value=value, checked=on, id=id)
    return element("label", box, " ", text, class_="tick")


def choice(
    name: str, value: str, *inside: Part, on: bool, id: str, class_: str | None = None
) -> Html:
    """One of several values, with what it means."""
    radio = element("input", type="radio", name=name, value=value, checked=on, id=id)
    return element("label", radio, *inside, class_=class_)


def later(address: str, name: str, *, class_: str = "later", id: str | None = None) -> Html:
    """A place for a piece of the page that the script asks for once the page is there.

    With an id, what was there before stays until the piece has come.
    """
    return html.div(
        html.span(f"{name} …", class_="quiet small"), data_src=address, class_=class_, id=id
    )


def again(address: str, *inside: Part, milliseconds: int = 500, id: str) -> Html:
    """A piece of the page that is asked for again and again, until it comes without this wish."""
    return html.div(*inside, data_src=address, data_every=str(milliseconds), id=id)


def working(text: str, label: str) -> Html:
    """Work whose end is not known."""
    return html.together((html.p(text, role="status"), element("progress", aria_label=label)))
