"""A part of step 6: attack the release with what one knows of a person."""

from collections.abc import Iterator, Sequence

from starlette.datastructures import FormData

from covey.errors import count, percent
from covey.html import Html, Part, element, scrolled, table, together
from covey.studio.attacking import Attacked, Learnt
from covey.studio.looked import Looked, with_columns
from covey.studio.looking import Known
from covey.studio.session import Studio, text_of
from covey.studio.steps import button, chosen_from, form, labelled, typed

_HOW = (
    "A released row matches if each known value lies in its interval or under its label; * matches "
    "anything. A row of the original matches if it has the same values."
)
_LISTED = 3  # values of a sensitive column in a sentence


def attack(studio: Studio, state: Looked) -> Html:
    """The form, and what the attack has found."""
    return together((_form(state), *_found(studio, state)))


def _form(state: Looked) -> Html:
    fields = (_field(place, one, state.known) for place, one in enumerate(state.quasi))
    return form(
        "look/attack",
        element("div", *fields, class_="chips"),
        element(
            "div",
            button("Attack", kind="main", id="attack"),
            button("Take a random person", name="random", value="yes", id="random"),
            button("Clear", kind="quiet", name="clear", value="yes"),
            class_="row",
        ),
        label="what the attacker knows",
    )


def _field(place: int, column: Known, known: dict[str, str]) -> Html:
    name, value = f"known-{place}", known.get(column.name, "")
    if not column.choices:
        return labelled(column.name, typed(name, value, id=name, placeholder="unknown"))
    listed = dict.fromkeys((*column.choices, *([value] if value else [])))
    options = [("", "unknown"), *((each, each) for each in listed)]
    return labelled(column.name, chosen_from(name, options, value, id=name))


def _found(studio: Studio, state: Looked) -> Iterator[Part]:
    found = state.attacked
    if found is None or not found.steps:
        return
    release = studio.release
    assert release is not None
    k = release.report.k
    yield element(
        "div",
        _figure("In the original", found.before, found.rows_before, "bad", found.before == 1),
        _figure("In the release", found.after, found.rows_after, "good", found.after == 0),
        class_="versus",
    )
    yield element("p", _verdict(found, k), class_="claim")
    yield _narrowing(found)
    yield element("p", _HOW, class_="quiet small")
    yield from _learnt(found)


def _figure(name: str, rows: int, of: int, kind: str, is_odd: bool) -> Html:
    kind = kind if is_odd or kind == "good" else "mind"
    match = "row matches" if rows == 1 else "rows match"
    return element(
        "div",
        element("p", name, class_="quiet small"),
        element("p", f"{rows:,}", class_="figure"),
        element("p", f"{match}, of {of:,}", class_="quiet small"),
        class_=f"side {kind}",
    )


def _verdict(found: Attacked, k: int) -> str:
    if found.after == 0:
        said = "No released row matches: nobody in the release is shown like this."
        return said if not found.before else f"{said} The rows that match were left out of it."
    alone = found.before == 1
    begin = (
        "In the original this is one person, recognised at once."
        if alone
        else f"In the original, {count(found.before, 'row')} would match."
    )
    return (
        f"{begin} In the release, {count(found.after, 'row')} match, and nothing tells which of "
        f"them it is. However much one knows of a person, it is never fewer than k = {k:,}."
    )


def _narrowing(found: Attacked) -> Html:
    first = ("nothing", "", f"{found.rows_before:,}", f"{found.rows_after:,}")
    lines: list[Sequence[Part]] = [first]
    lines += [(one.name, one.known, f"{one.before:,}", f"{one.after:,}") for one in found.steps]
    head = ("known", "value", "original", "release")
    caption = "Rows that are left after each thing known"
    return scrolled(table(head, lines, numbers=(2, 3), caption=caption), caption)


def _learnt(found: Attacked) -> Iterator[Part]:
    if not found.learnt or not found.after:
        return
    yield element("h3", "What the attacker learns")
    yield element("ul", *(_of_column(one, found) for one in found.learnt), class_="whys")


def _of_column(one: Learnt, found: Attacked) -> Html:
    return element(
        "li",
        element("p", element("strong", one.name), ": ", _values(one.after, found.after)),
        element("p", _sentence(one, found.after), " ", _from_original(one, found),
                class_="advice"),
    )  # fmt: skip


def _from_original(one: Learnt, found: Attacked) -> str:
    return f"In the original: {_values(one.before, found.before)}." if found.before else ""


def _values(values: Sequence[tuple[str | None, int]], rows: int) -> str:
    if not rows:
        return "nothing"
    if len(values) == 1:
        return _named(values[0][0])
    shown = [f"{_named(value)} ({percent(n / rows)})" for value, n in values[:_LISTED]]
    return ", ".join(shown) + (" …" if len(values) > _LISTED else "")


def _named(value: str | None) -> str:
    return "missing" if value is None else value


def _sentence(one: Learnt, rows: int) -> Html | str:
    if one.distinct_after > 1:
        most = one.after[0][1] / rows
        different = count(one.distinct_after, "different value")
        return f"{different}; the best guess is right in {percent(most)} of cases."
    return element(
        "span",
        f"All {rows:,} rows have the same value, so the attacker learns it without knowing which "
        "row it is. k alone does not prevent this: ask for different values in ",
        element("a", "step 4", href="price"),
        ".",
        class_="not",
    )


# ── the action ──────────────────────────────────────────────────────────────────────────────────


async def act(studio: Studio, sent: FormData) -> str | None:
    """Attack with what was typed, or with all that the original says of a random person."""
    state = await with_columns(studio)
    state.attacked, state.known = None, {}
    if text_of(sent, "clear"):
        return None
    if text_of(sent, "random"):
        state.known = await studio.maker.ask("random_person")
    else:
        typed_in = {one.name: text_of(sent, f"known-{i}") for i, one in enumerate(state.quasi)}
        state.known = {name: text for name, text in typed_in.items() if text}
    if state.known:
        state.attacked = await studio.maker.ask("attack", state.known)
    return None
