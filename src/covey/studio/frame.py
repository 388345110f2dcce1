"""What is around every page: the rail of steps, the line of figures, and the same as a command."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from covey import html
from covey.errors import count
from covey.html import Html, Part, element
from covey.studio import ui
from covey.studio.steps import Step

if TYPE_CHECKING:
    from covey.studio.session import Studio

_SIGNS = {"done": "✓", "needs you": "!", "blocked": "–", "": "·"}


def framed(
    studio: "Studio | None", steps: Mapping[str, Step], step: Step | None, *inside: Part
) -> str:
    """A whole document."""
    head = (
        element("link", rel="icon", href="data:,"),
        element("link", rel="stylesheet", href="static/page.css"),
        element("link", rel="stylesheet", href="static/studio.css"),
        # Before the body, so that no choice comes before somebody listens.
        element("script", src="static/studio.js"),
    )
    main = element("main", _messages(studio), *inside, id="main", tabindex="-1")
    body = (
        html.a("Skip to the step", href="#main", class_="skip"),
        html.div(
            _top(studio, step),
            html.div(_rail(studio, steps, step), main, class_="ways"),
            _as_command(studio),
            id="studio",
        ),
        html.div(id="announce", class_="unseen", role="status"),
    )
    return html.document(f"{step.title} · covey studio" if step else "covey studio", head, body)


def _messages(studio: "Studio | None") -> Iterator[Html]:
    """The messages since the last page, each once."""
    if studio is None:
        return
    messages, studio.messages = studio.messages, []
    for message in messages:
        role = "alert" if message.kind == "bad" else "status"
        yield ui.message(message.kind, message.text, role=role)


def _top(studio: "Studio | None", step: Step | None) -> Html:
    brand = html.span(html.strong("covey"), " studio", class_="name")
    if studio is None or step is None:
        return element("header", brand, class_="top")
    last = studio.history.last
    what = html.span(": ", html.bdi(last), class_="what") if last else None
    button = ui.button(
        ("Undo", what), kind="quiet", disabled=not studio.history.can_undo, id="undo"
    )
    undo = ui.form("open/undo", ui.hidden("step", step.name), button, class_="push")
    return element("header", brand, line(studio), undo, class_="top")


def line(studio: "Studio") -> Html:
    """The figures of the moment: "k 10 · risk 9 % · 31 % lost · 4,300 people"."""
    work, opened = studio.work, studio.opened
    if opened is None or work.schema is None or work.source is None:
        return html.p("Nothing leaves this machine.", id="line", class_="line")
    k = work.schema.require.k
    chosen = [] if k is None else [f"k {k:,}"]
    figures = [work.source.name, *chosen, *studio.figures(), count(opened.rows, "row")]
    parts = ((" · " if place else "", html.span(text)) for place, text in enumerate(figures))
    return html.p(parts, id="line", class_="line")


def _rail(studio: "Studio | None", steps: Mapping[str, Step], here: Step | None) -> Html | None:
    if studio is None:
        return None
    stops = element("ol", (_stop(studio, step, here) for step in steps.values()))
    return element("nav", stops, aria_label="Steps", class_="rail", id="rail")


def _stop(studio: "Studio", step: Step, here: Step | None) -> Html:
    closed = step.needs_table and studio.opened is None
    state = "blocked" if closed else step.state(studio)
    name = (
        html.span(_SIGNS[state], class_="sign", aria_hidden="true"),
        html.span(step.title, class_="title"),
        html.span(f" ({state})", class_="unseen") if state else None,
    )
    class_ = f"stop {state.split()[0] if state else 'next'}"
    if closed:
        return html.li(html.span(name, class_="closed"), class_=class_)
    current = "step" if here is step else None
    return html.li(html.a(name, href=step.name, aria_current=current), class_=class_)


def _as_command(studio: "Studio | None") -> Html | None:
    """The schema file and the command that do the same."""
    if studio is None or studio.work.schema is None or studio.work.source is None:
        return None
    work = studio.work
    command = html.code(work.command(studio.output), id="command")
    same = element(
        "details",
        html.summary("The same as a command"),
        html.p("Save this as ", html.code("covey.toml"), " beside the table:"),
        html.pre(html.code(work.toml), tabindex="0", aria_label="schema file"),
        html.p("and run:"),
        html.pre(command, tabindex="0", aria_label="command"),
        ui.small("It gives the same release, byte for byte, with the same key."),
        html.p(
            html.a("Download the schema", href="files/covey.toml", download=True),
            " · ",
            html.a("Save this work", href="files/work.toml", download=True),
        ),
        class_="command",
        id="same",
    )
    return element("aside", same, aria_label="The same as a command")
