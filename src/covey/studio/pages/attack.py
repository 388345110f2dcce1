"""A part of step 6: attack the release with what one knows of a person."""

from collections.abc import Iterator, Sequence

from starlette.datastructures import FormData

from covey import html
from covey.errors import count, percent
from covey.html import Html, Part
from covey.studio import ui
from covey.studio.attacking import Attacked, Learnt, attacked
from covey.studio.look_state import LookState, state_with
from covey.studio.looking import KnownColumn, random_person
from covey.studio.session import Studio, text_of
from covey.studio.ui import cell_text

_WORDS = ui.WORDS["look"]["attack"]
_LISTED = 3  # values of a sensitive column in a sentence


def attack(studio: Studio, state: LookState) -> Iterator[Part]:
    """The form, and what the attack has found."""
    fields = (_field(place, column, state.known) for place, column in enumerate(state.quasi))
    buttons = ui.row(
        ui.button("Attack", kind="main", id="attack"),
        ui.button("Take a random person", name="random", value="yes", id="random"),
        ui.button("Clear", kind="quiet", name="clear", value="yes"),
    )
    parts = html.div(fields, class_="chips"), buttons
    yield ui.form("look/attack", parts, label="what the attacker knows")
    found = state.attacked
    if found is None or not found.steps:
        return
    yield html.div(
        _figure("In the original", found.before, found.rows_before, "bad", found.before == 1),
        _figure("In the release", found.after, found.rows_after, "good", found.after == 0),
        class_="versus",
    )
    yield html.p(_verdict(found, studio.made.report.k), class_="claim")
    yield _narrowing(found)
    yield ui.small(_WORDS["how"])
    if found.learnt and found.after:
        yield html.h3("What the attacker learns")
        yield html.ul((_of_column(column, found) for column in found.learnt), class_="whys")


def _field(place: int, column: KnownColumn, known: dict[str, str]) -> Html:
    name, value = f"known-{place}", known.get(column.name, "")
    if not column.choices:
        return ui.labelled(column.name, ui.typed(name, value, id=name, placeholder="unknown"))
    listed = dict.fromkeys((*column.choices, *([value] if value else [])))
    options = [("", "unknown"), *((each, each) for each in listed)]
    return ui.labelled(column.name, ui.chosen_from(name, options, value, id=name))


def _figure(name: str, rows: int, of: int, kind: str, is_odd: bool) -> Html:
    match = "row matches" if rows == 1 else "rows match"
    return html.div(
        ui.small(name),
        html.p(f"{rows:,}", class_="figure"),
        ui.small(f"{match}, of {of:,}"),
        class_=f"side {kind if is_odd or kind == 'good' else 'mind'}",
    )


def _verdict(found: Attacked, k: int) -> str:
    if found.after == 0:
        text = "No released row matches: nobody in the release is shown like this."
        return text if not found.before else f"{text} The rows that match were left out of it."
    begin = (
        "In the original this is one person, recognised at once."
        if found.before == 1
        else f"In the original, {count(found.before, 'row')} would match."
    )
    match = _WORDS["match"].format(rows=count(found.after, "row"), k=f"{k:,}")
    return f"{begin} {match}"


def _narrowing(found: Attacked) -> Html:
    lines = [("nothing", "", f"{found.rows_before:,}", f"{found.rows_after:,}")]
    lines += [(step.name, step.known, f"{step.before:,}", f"{step.after:,}")
              for step in found.steps]  # fmt: skip
    head = ("known", "value", "original", "release")
    caption = "Rows that are left after each thing known"
    return html.scrolled(html.table(head, lines, numbers=(2, 3), caption=caption), caption)


def _of_column(learnt: Learnt, found: Attacked) -> Html:
    original = f"In the original: {_values(learnt.before, found.before)}." if found.before else ""
    return html.li(
        html.p(html.strong(learnt.name), ": ", _values(learnt.after, found.after)),
        html.p(_certainty(learnt, found.after), " ", original, class_="advice"),
    )


def _values(values: Sequence[tuple[str | None, int]], rows: int) -> str:
    if not rows:
        return "nothing"
    if len(values) == 1:
        return cell_text(values[0][0])
    shown = [f"{cell_text(value)} ({percent(n / rows)})" for value, n in values[:_LISTED]]
    return ", ".join(shown) + (" …" if len(values) > _LISTED else "")


def _certainty(learnt: Learnt, rows: int) -> Html | str:
    if learnt.distinct_after > 1:
        different = count(learnt.distinct_after, "different value")
        guess = percent(learnt.after[0][1] / rows)
        return f"{different}; the best guess is right in {guess} of cases."
    certain = _WORDS["certain"].format(rows=f"{rows:,}")
    return html.span(certain, html.a("step 4", href="price"), ".", class_="not")


async def act(studio: Studio, sent: FormData) -> None:
    """Attack with what was typed, or with all that the original says of a random person."""
    state = await state_with(studio, "columns")
    state.attacked, state.known = None, {}
    if text_of(sent, "clear"):
        return
    if text_of(sent, "random"):
        state.known = await studio.maker.ask("look", random_person)
    else:
        texts = {column.name: text_of(sent, f"known-{i}") for i, column in enumerate(state.quasi)}
        state.known = {name: text for name, text in texts.items() if text}
    if state.known:
        state.attacked = await studio.maker.ask("look", attacked, state.known)
