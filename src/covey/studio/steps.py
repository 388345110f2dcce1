"""A step of the way, and the parts that its page is built of."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from covey.html import Html, Part, element, together
from covey.report.headline import SIGNS, Headline

if TYPE_CHECKING:
    from starlette.datastructures import FormData

    from covey.studio.session import Studio

DONE, NEEDS, BLOCKED, NEXT = "done", "needs you", "blocked", ""


@dataclass(frozen=True)
class Step:
    """One step: its page, what can be done there, and parts of the page that come later.

    An action changes the work and may name another step to go to. A piece is asked for with an
    address that holds numbers and nothing else, never a name or a cell.
    """

    name: str
    title: str
    page: "Callable[[Studio], Awaitable[Html]]"
    state: "Callable[[Studio], str]"
    actions: "Mapping[str, Callable[[Studio, FormData], Awaitable[str | None]]]" = field(
        default_factory=dict
    )
    pieces: "Mapping[str, Callable[[Studio, Mapping[str, str]], Awaitable[str]]]" = field(
        default_factory=dict
    )
    needs_table: bool = True


# ── parts of pages ──────────────────────────────────────────────────────────────────────────────


def form(
    action: str,
    *inside: Part,
    live: bool = False,
    swaps: str | None = None,
    id: str | None = None,
    class_: str | None = None,
    upload: bool = False,
    label: str | None = None,
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
        id=id,
        class_=class_,
        aria_label=label,
    )


def hidden(name: str, value: object) -> Html:
    """A value that goes with a form."""
    return element("input", type="hidden", name=name, value=str(value))


def button(
    text: Part, *, kind: str = "", name: str | None = None, value: str | None = None,
    disabled: bool = False, label: str | None = None, id: str | None = None,
) -> Html:  # fmt: skip
    """A button that sends its form; kinds are main, quiet and danger."""
    return element(
        "button", text, type="submit", class_=f"button {kind}".strip(), name=name, value=value,
        disabled=disabled, aria_label=label, id=id,
    )  # fmt: skip


def push(action: str, text: Part, *, kind: str = "", label: str | None = None,
         **values: object) -> Html:  # fmt: skip
    """A form of one button."""
    sent = (hidden(name, value) for name, value in values.items())
    return form(action, *sent, button(text, kind=kind, label=label), class_="push")


def labelled(text: Part, control: Html, *, note: Part = None, class_: str = "field") -> Html:
    """A control below its label, with a note below it."""
    told = element("span", note, class_="note") if note else None
    return element("label", element("span", text, class_="label"), control, told, class_=class_)


def typed(
    name: str, value: object = "", *, id: str | None = None, kind: str = "text",
    label: str | None = None, **more: str | bool | None,
) -> Html:  # fmt: skip
    """A field to type in."""
    return element(
        "input", type=kind, name=name, value=str(value), id=id, aria_label=label,
        autocomplete="off", spellcheck="false", **more,
    )  # fmt: skip


def chosen_from(
    name: str, options: Iterable[tuple[str, str]], value: str, *, id: str | None = None,
    label: str | None = None,
) -> Html:  # fmt: skip
    """A list to choose from: values and their texts."""
    listed = (element("option", text, value=each, selected=each == value) for each, text in options)
    return element("select", *listed, name=name, id=id, aria_label=label)


def ticked(name: str, text: Part, *, on: bool, value: str = "on", id: str | None = None) -> Html:
    """A box to tick."""
    box = element("input", type="checkbox", name=name, value=value, checked=on, id=id)
    return element("label", box, " ", text, class_="tick")


def later(address: str, name: str, *, class_: str = "later", id: str | None = None) -> Html:
    """A place for a piece of the page that the script asks for once the page is there.

    With an id, what was there before stays until the piece has come.
    """
    return element("div", element("span", f"{name} …", class_="quiet small"), data_src=address,
                   class_=class_, id=id)  # fmt: skip


def again(address: str, inside: Part, *, milliseconds: int = 500, id: str) -> Html:
    """A piece of the page that is asked for again and again, until it comes without this wish."""
    return element("div", inside, data_src=address, data_every=str(milliseconds), id=id)


def sentence(text: str) -> str:
    """What covey says, as a sentence. The name of k stays as it is."""
    begin = text if text.startswith("k ") else text[:1].upper() + text[1:]
    return begin.rstrip(".") + "."


def onwards(step: str, text: str) -> Html:
    """The link to the next step."""
    return element("p", element("a", text, " →", href=step, class_="button main"), class_="onwards")


# What an error asks for on the command line, the step that asks for it here, and its title.
_ELSEWHERE = (
    (r"\. Leave them out with --drop-rows", "open", "Decide about these rows"),
    (r"\. Set what k counts under \[require\]", "roles", "Choose what is one person"),
)


def undecided(failed: str) -> Html | None:
    """An error about a question of an earlier step, with the way to that step."""
    for asked, step, title in _ELSEWHERE:
        if found := re.search(asked, failed):
            said = sentence(failed[: found.start()])
            told = element("p", said, class_="told bad", role="alert")
            return together((told, onwards(step, title)))
    return None


def heading(title: Part, *lead: Part) -> Html:
    """The title of a page and what it is about."""
    return together((element("h1", title), element("p", *lead, class_="lead") if lead else None))


def promised(headline: Headline) -> tuple[Html, Html]:
    """The headline of the release: its state, and the promise as the title of the page."""
    state = f"{SIGNS[headline.level]} {headline.state}"
    pill = element("p", state, class_=f"verdict {headline.level}")
    return pill, heading(sentence(headline.text))


def reminded(headline: Headline) -> Html:
    """The headline of the release in a line, for the steps that follow its making."""
    return element("p", str(headline), class_=f"told {headline.level}", id="headline")


def nothing_known(title: str) -> Html:
    """What a step shows as long as no column has the role that it is about."""
    said = "No column is one that others may know. Give at least one this role."
    return together((heading(title), element("p", said, class_="told mind"),
                     onwards("roles", "Who could recognise whom?")))  # fmt: skip


def card(title: Part, *inside: Part, id: str | None = None, class_: str = "card") -> Html:
    """A part of a page with a title."""
    return element("section", element("h2", title), *inside, class_=class_, id=id)
