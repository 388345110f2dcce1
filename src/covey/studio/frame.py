"""What is around every page: the rail of steps, the line of figures, and the same as a command."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from covey.errors import count
from covey.html import Html, Part, element, together
from covey.studio.steps import Step, button, form

if TYPE_CHECKING:
    from covey.studio.session import Studio

_SIGNS = {"done": "✓", "needs you": "!", "blocked": "–", "": "·"}


def framed(
    studio: "Studio | None", steps: Mapping[str, Step], step: Step | None, *inside: Part
) -> str:
    """A whole document."""
    title = f"{step.title} · covey studio" if step else "covey studio"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("link", rel="icon", href="data:,"),
        element("link", rel="stylesheet", href="static/page.css"),
        element("link", rel="stylesheet", href="static/studio.css"),
        # Before the body, so that no choice comes before somebody listens.
        element("script", src="static/studio.js"),
    )
    main = element("main", *_messages(studio), *inside, id="main", tabindex="-1")
    body = element(
        "body",
        element("a", "Skip to the step", href="#main", class_="skip"),
        element(
            "div",
            _top(studio, step),
            element("div", _rail(studio, steps, step), main, class_="ways"),
            _as_command(studio),
            id="studio",
        ),
        element("div", id="announce", class_="unseen", role="status"),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _messages(studio: "Studio | None") -> Iterator[Html]:
    """What was told since the last page, each once."""
    if studio is None:
        return
    told, studio.messages = studio.messages, []
    for message in told:
        role = "alert" if message.kind == "bad" else "status"
        yield element("p", message.text, class_=f"told {message.kind}", role=role)


def _top(studio: "Studio | None", step: Step | None) -> Html:
    brand = element("span", element("strong", "covey"), " studio", class_="name")
    if studio is None or step is None:
        return element("header", brand, class_="top")
    undo = form(
        "open/undo", element("input", type="hidden", name="step", value=step.name),
        button(_undo(studio.history.last), kind="quiet", disabled=not studio.history.can_undo,
               id="undo"),
        class_="push",
    )  # fmt: skip
    return element("header", brand, line(studio), undo,
                   class_="top")  # fmt: skip


def _undo(what: str) -> Html:
    told = element("span", ": ", element("bdi", what), class_="what") if what else None
    return together(("Undo", told))


def line(studio: "Studio") -> Html:
    """The figures of the moment: "k 10 · risk 9 % · 31 % lost · 4,300 people"."""
    return element("p", *_figures(studio), id="line", class_="line")


def _figures(studio: "Studio") -> Iterator[Part]:
    work, opened = studio.work, studio.opened
    if opened is None or work.schema is None or work.source is None:
        yield "Nothing leaves this machine."
        return
    facts = [work.source.name]
    require = work.schema.require
    if require.k is not None:
        facts.append(f"k {require.k:,}")
    facts += studio.figures()
    facts.append(count(opened.rows, "row"))
    for place, fact in enumerate(facts):
        yield element("span", fact) if not place else together((" · ", element("span", fact)))


def _rail(studio: "Studio | None", steps: Mapping[str, Step], here: Step | None) -> Html | None:
    if studio is None:
        return None
    return element(
        "nav",
        element("ol", *(_stop(studio, step, here) for step in steps.values())),
        aria_label="Steps",
        class_="rail",
        id="rail",
    )


def _stop(studio: "Studio", step: Step, here: Step | None) -> Html:
    closed = step.needs_table and studio.opened is None
    state = "blocked" if closed else step.state(studio)
    sign = element("span", _SIGNS[state], class_="sign", aria_hidden="true")
    name = together((sign, element("span", step.title, class_="title")))
    told = element("span", f" ({state})", class_="unseen") if state else None
    class_ = f"stop {state.split()[0] if state else 'next'}"
    if closed:
        return element("li", element("span", name, told, class_="closed"), class_=class_)
    current = "step" if here is step else None
    return element(
        "li", element("a", name, told, href=step.name, aria_current=current), class_=class_
    )


def _as_command(studio: "Studio | None") -> Html | None:
    """The schema file and the command that do the same."""
    if studio is None or studio.work.schema is None or studio.work.source is None:
        return None
    work = studio.work
    toml = element("pre", element("code", work.toml), tabindex="0",
                   aria_label="schema file")  # fmt: skip
    told = element(
        "details",
        element("summary", "The same as a command"),
        element("p", "Save this as ", element("code", "covey.toml"), " beside the table:"),
        toml,
        element("p", "and run:"),
        element("pre", element("code", work.command(studio.output), id="command"), tabindex="0",
                aria_label="command"),
        element("p", "It gives the same release, byte for byte, with the same key.",
                class_="quiet small"),
        element("p", element("a", "Download the schema", href="files/covey.toml", download=True),
                " · ",
                element("a", "Save this work", href="files/work.toml", download=True)),
        class_="command",
        id="same",
    )  # fmt: skip
    return element("aside", told, aria_label="The same as a command")
