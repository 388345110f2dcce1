"""Step 2: who could recognise whom? The role of every column, and what k counts."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from starlette.datastructures import FormData

from covey import html
from covey.errors import UsageError, percent
from covey.html import Html, Part, element
from covey.inspection.draft import ColumnDraft
from covey.inspection.findings import Finding
from covey.inspection.known import KeptColumn
from covey.inspection.persons import question
from covey.inspection.relations import Uniqueness
from covey.schema import Column, Role, Schema
from covey.schema.requirements import SENSITIVE_MODELS
from covey.studio import ui
from covey.studio.session import Studio, text_of
from covey.studio.steps import DONE, NEEDS, Step
from covey.studio.work import without_requirement

_MANY = 8  # columns, from which on a list leads to each
_VERY_MANY = 20  # from which on their pictures are small
_NAMED = 5  # columns that the verdict names


class _Meaning(NamedTuple):
    """A role in the custodian's words."""

    icon: str
    name: str
    effect: str


_WORDS = ui.WORDS["roles"]
_MEANINGS = {Role(role): _Meaning(*words) for role, words in _WORDS["meanings"].items()}
# Whoever knows a value can look for its row; what nobody knows can only be learnt from the release.
_KNOWN_BY = {
    "neighbour": Role.QUASI,
    "employer": Role.QUASI,
    "register": Role.QUASI,
    "nobody": Role.SENSITIVE,
}


async def _page(studio: Studio) -> Part:
    kept = await _kept(studio)
    known = [column.name for column in kept if column.known]
    unique = await _unique(studio, known)
    drafts, links = studio.table.draft.columns, _links(studio)
    cards = (
        _column(studio, place, draft, unique, links.get(draft.name, ()))
        for place, draft in enumerate(drafts)
    )
    confirm = _confirm(studio, kept)
    return (
        ui.heading(_WORDS["title"], _WORDS["lead"]),
        _verdict(studio, unique, known),
        _doubts(kept),
        confirm,
        _whom(studio),
        _jumps(studio) if len(drafts) > _MANY else None,
        html.div(cards, class_="cards many" if len(drafts) > _VERY_MANY else "cards"),
        confirm,
    )


def _confirm(studio: Studio, kept: list[KeptColumn]) -> Html:
    open_questions = {
        "choose a column that others may know": not studio.schema.quasi,
        "choose which column is one person": _is_undecided(studio),
        "say why nobody outside can know the columns in doubt": bool(_in_doubt(kept)),
    }
    left = [text for text, is_open in open_questions.items() if is_open]
    first = html.span(f"First {'; '.join(left)}.", class_="note") if left else None
    button = ui.button("These roles are right →", kind="main", disabled=bool(left))
    return ui.form("roles/confirm", button, first, class_="onwards")


# ── together ────────────────────────────────────────────────────────────────────────────────────


async def _unique(studio: Studio, known: list[str]) -> Uniqueness | None:
    """How many rows are unique by what others may know, counted once for each set of columns.

    Calling a column harmless does not change what others know.
    """
    if not studio.schema.quasi:
        return None
    every = {*studio.schema.quasi, *known}
    names = tuple(name for name in studio.table.names if name in every)
    found: Uniqueness = await studio.known("uniqueness", names)
    return found


def _verdict(studio: Studio, unique: Uniqueness | None, known: list[str]) -> Html:
    """The sentence that the step is about."""
    if unique is None:
        return ui.message("mind", html.strong(_WORDS["nobody"]), _WORDS["choose"], id="unique")
    who = "people" if studio.table.draft.people.likeliest is None else "rows"
    of = f"a sample of {unique.rows:,} {who}" if unique.sampled else f"{unique.rows:,} {who}"
    figure = html.strong(f"{unique.together:,} of {of}", class_="large")
    meaning = "Nobody stands out by these columns alone."
    if unique.together:
        share = percent(unique.together / unique.rows)
        meaning = f"Anyone who knows this about one of them finds the row: {share}."
    kept = html.p(
        "covey keeps the values of ",
        _listed(known),
        " as they are. Others may know them all the same.",
        class_="small",
    )
    return html.div(
        html.p(figure, " are unique by ", _listed([*studio.schema.quasi, *known]), "."),
        _meter("unique together", unique.together, unique.rows),
        ui.small(meaning),
        kept if known else None,
        class_="verdict-box",
        id="unique",
    )


def _listed(names: list[str]) -> Iterator[Part]:
    """The names of columns, each in its own direction of writing."""
    if len(names) > _NAMED + 1:
        names = [*names[:_NAMED], f"{len(names) - _NAMED} more"]
    for place, name in enumerate(names):
        yield "" if not place else " and " if place == len(names) - 1 else ", "
        yield html.bdi(name)


async def _kept(studio: Studio) -> list[KeptColumn]:
    """The columns that the release will show as they are, and what others may know of them."""
    columns = {n: c for n, c in _in_order(studio) if c.role in (Role.SENSITIVE, Role.INSENSITIVE)}
    found: list[KeptColumn] = await studio.known("kept", columns)
    return found


def _in_doubt(kept: list[KeptColumn]) -> list[str]:
    """The columns that covey would call otherwise, and of which nobody has said why."""
    return [column.name for column in kept if column.is_in_doubt and column.confirmed is None]


def _doubts(kept: list[KeptColumn]) -> Html | None:
    """The one question about columns that covey would call otherwise, and earlier answers."""
    left = _in_doubt(kept)
    answers = [
        (html.bdi(column.name), f": {column.confirmed}")
        for column in kept
        if column.confirmed is not None
    ]
    if not left and not answers:
        return None
    reason = ui.labelled(
        ("Why can nobody outside know ", _listed(left), "?"),
        ui.typed("why", id="why", maxlength=str(ui.LONGEST_TEXT), required=True),
        note=_WORDS["why"],
    )
    ask = ui.form("roles/why", reason, html.p(ui.button("That is why")), class_="stack")
    given = ui.items(answers, class_="small") if answers else None
    return ui.card("Known to nobody outside?", ask if left else None, given, id="doubts")


async def _why_not_known(studio: Studio, sent: FormData) -> None:
    """Store the custodian's reason with each column in doubt."""
    why, schema = text_of(sent, "why")[: ui.LONGEST_TEXT], studio.schema
    if not why:
        raise UsageError("say in a few words why nobody outside can know it")
    for name in _in_doubt(await _kept(studio)):
        schema = schema.with_settings(name, confirmed=why)
    studio.history.change(schema=schema)


def _jumps(studio: Studio) -> Html:
    """A list of all columns with their roles, and a field that leaves some of them."""
    links = (
        html.li(
            html.a(_icon(column.role), " ", html.bdi(name), href=f"#column-{place}",
                   class_=f"jump {column.role}"),
            data_filter=_sought_by(name, column.role),
        )
        for place, (name, column) in enumerate(_in_order(studio))
    )  # fmt: skip
    find = ui.typed(
        "filter", id="filter", kind="search", data_filters=True, label="find a column",
        placeholder="Find a column, or a role",
    )  # fmt: skip
    return element("nav", find, html.ul(links), class_="jumps", aria_label="Columns", id="jumps")


def _icon(role: Role) -> Html:
    return html.span(_MEANINGS[role].icon, aria_hidden="true", class_="icon")


def _sought_by(name: str, role: Role) -> str:
    return f"{name} {_MEANINGS[role].name}"


def _in_order(studio: Studio) -> list[tuple[str, Column]]:
    """The columns in the order of the table, which is how addresses and forms name them."""
    return [(name, studio.schema.columns[name]) for name in studio.table.names]


# ── one column ──────────────────────────────────────────────────────────────────────────────────


def _column(
    studio: Studio, place: int, draft: ColumnDraft, unique: Uniqueness | None,
    links: tuple[Finding, ...],
) -> Html:  # fmt: skip
    role = studio.schema.columns[draft.name].role
    address = f"roles/piece/histogram?column={place}&read={studio.table.reading.number}"
    return element(
        "section",
        html.h2(html.bdi(draft.name)),
        ui.later(address, "picture", class_="later histogram"),
        _switch(place, draft.name, role),
        _why(draft, role),
        (_link(studio, place, finding) for finding in links),
        _meters(studio, draft, unique),
        _who_knows(place, draft.name),
        class_=f"card column {role}",
        id=f"column-{place}",
        data_filter=_sought_by(draft.name, role),
    )


def _switch(place: int, name: str, role: Role) -> Html:
    """The roles, one of which is chosen."""
    choices = (
        ui.choice("role", each.value, _icon(each), html.span(meaning.name), on=each is role,
                  id=f"role-{place}-{each}", class_=f"choice {each}")
        for each, meaning in _MEANINGS.items()
    )  # fmt: skip
    legend = element("legend", f"Role of {name}", class_="unseen")
    switch = element("fieldset", legend, choices, class_="switch")
    effect = html.p(_MEANINGS[role].effect, class_="effect small")
    return ui.form("roles/set", ui.hidden("column", place), switch, effect, live=True)


def _why(draft: ColumnDraft, role: Role) -> Html:
    """The reason for the proposal, and the proposal itself if the custodian chose otherwise."""
    proposed = draft.column.role
    text = ui.sentence(draft.reason)
    if role is not proposed:
        text = f"covey proposed “{_MEANINGS[proposed].name}”: {draft.reason}."
    return html.p(text, class_="quiet small why")


def _meters(studio: Studio, draft: ColumnDraft, unique: Uniqueness | None) -> Html:
    figures = [("Unique alone", draft.unique, studio.table.rows)]
    if unique is not None and draft.name in unique.without:
        figures.append(("Unique only with it", unique.added_by(draft.name), unique.rows))
    lines = (
        html.div(html.span(name), _meter(name, part, of), html.span(f"{part:,}", class_="number"))
        for name, part, of in figures
    )
    return html.div(lines, class_="meters")


def _meter(name: str, part: int, whole: int) -> Html:
    return element("meter", value=str(part), min="0", max=str(max(whole, 1)), aria_label=name)


def _who_knows(place: int, name: str) -> Html:
    """A question that is easier to answer than which role a column has."""
    answers = (
        ui.button(who, kind="quiet", name="knows", value=who, id=f"knows-{place}-{who}",
                  label=f"{who} knows {name}")
        for who in _KNOWN_BY
    )  # fmt: skip
    text = html.span("Who knows this?", class_="small quiet")
    return ui.form("roles/knows", ui.hidden("column", place), text, answers, class_="row asked")


def _links(studio: Studio) -> dict[str, tuple[Finding, ...]]:
    """For each column, what says that it tells the same as another; both columns have it."""
    found: dict[str, tuple[Finding, ...]] = {}
    for finding in studio.table.draft.findings:
        if finding.kind == "dependent" and finding.column and finding.source:
            for name in (finding.column, finding.source):
                found[name] = (*found.get(name, ()), finding)
    return found


def _link(studio: Studio, place: int, finding: Finding) -> Html:
    names = studio.table.names
    other, text = finding.source, finding.text
    if finding.column != names[place]:
        other, text = finding.column, f"{finding.column!r} {finding.text}"
    assert other is not None
    link = html.a(f"Go to {other}", href=f"#column-{names.index(other)}")
    sign = html.span("⇄ ", aria_hidden="true")
    return html.p(sign, ui.sentence(text), " ", link, class_="small linked")


# ── what k counts ───────────────────────────────────────────────────────────────────────────────


def _whom(studio: Studio) -> Html:
    """Whether a row is a person; if people have several rows, which column identifies them."""
    person = studio.schema.require.person
    options = [("rows", "Yes: each row is one person")]
    options += [
        (str(place), f"No: rows with the same {name} are one person")
        for place, (name, column) in enumerate(_in_order(studio))
        if column.role not in (Role.QUASI, Role.DROP)
    ]
    chosen = str(studio.place(person)) if person else "rows"
    if _is_undecided(studio):
        chosen, options = "", [("", "Please choose"), *options]
    select = ui.chosen_from("person", options, chosen, id="person")
    ask = ui.form("roles/person", ui.labelled("Is each row one person?", select), live=True)
    return ui.card("Whom to hide", ui.quiet(_found(studio)), _candidates(studio), ask, id="whom")


def _found(studio: Studio) -> Iterator[Part]:
    """What the draft found about people with several rows."""
    people = studio.table.draft.people
    yield "Everyone will hide among at least k people. "
    if people.doubtful:
        names = ", ".join(people.doubtful)
        yield f"Names repeat ({names}), perhaps by coincidence."
    elif people.together:
        yield ui.sentence(question(people)) + " Choose one column that identifies them."
    elif not people.candidates:
        yield "No column suggests that a person has several rows."


def _candidates(studio: Studio) -> Part:
    """The columns that may be the person, with their figures and a button each."""
    candidates = studio.table.draft.people.candidates
    if not candidates:
        return None
    titles = _WORDS["candidates"]["titles"]
    cells = [
        (c.column, f"{c.values:,}", f"{c.rows:,}", f"{c.median:g}", f"{c.most:,}",
         ", ".join(c.constant), ", ".join(c.varying), ", ".join(c.within))
        for c in candidates
    ]  # fmt: skip
    shown = [place for place in range(len(titles)) if any(row[place] for row in cells)]
    head, *rows = ([row[place] for place in shown] for row in (titles, *cells))
    person = studio.schema.require.person
    choices: list[tuple[str, str, bool]] = [
        (str(studio.place(c.column)), f"{c.column} is the person", person == c.column)
        for c in candidates
    ]
    choices.append(("rows", "Each row is one person", person is False))
    return (
        html.p(html.strong("Which of these is one person?")),
        ui.grid(head, rows, "columns that may be the person", numbers=range(1, 5)),
        ui.row(
            ui.push("roles/person", text, person=value, kind="" if chosen else "quiet")
            for value, text, chosen in choices
        ),
    )


def _is_undecided(studio: Studio) -> bool:
    """Whether covey would refuse to count rows, because people seem to repeat."""
    return studio.schema.require.person is None and studio.table.draft.people.is_open


# ── pieces and actions ──────────────────────────────────────────────────────────────────────────


async def _histogram(studio: Studio, query: Mapping[str, str]) -> Part:
    name = studio.column(query)
    svg = await studio.known("histogram", name)
    return html.figure(svg, f"values of {name}") if svg else ""


async def _set(studio: Studio, sent: FormData) -> None:
    role = text_of(sent, "role")
    if role not in list(Role):
        raise UsageError("there is no such role")
    await give_role(studio, studio.column(sent), Role(role))


async def _knows(studio: Studio, sent: FormData) -> None:
    who = text_of(sent, "knows")
    if who not in _KNOWN_BY:
        raise UsageError("choose who knows this")
    await give_role(studio, studio.column(sent), _KNOWN_BY[who])


async def give_role(studio: Studio, name: str, role: Role) -> None:
    """Give a column a role, with the settings that covey drafts for it."""
    if studio.schema.columns[name].role is role:
        return
    drafted = studio.table.schema.columns[name]
    if drafted.role is not role and role is Role.QUASI:
        drafted = await studio.ask("drafted", name, studio.k)
    own = drafted.model_fields_set - {"role"} if drafted.role is role else ()
    settings = {setting: getattr(drafted, setting) for setting in own}
    schema = _without_requirements(studio.schema, name, role)
    checked = studio.work.checked - {"roles"}  # they are to be confirmed again
    studio.history.change(schema=schema.with_role(name, role, **settings), checked=checked)


def _without_requirements(schema: Schema, name: str, role: Role) -> Schema:
    """The schema without what is required of a column in another role than its new one."""
    if role in (Role.QUASI, Role.DROP) and schema.require.person == name:
        nobody = schema.require.model_copy(update={"person": None, "limit_share": False})
        schema = schema.model_copy(update={"require": nobody})
    if role is not Role.SENSITIVE:
        for model in SENSITIVE_MODELS:
            schema = without_requirement(schema, model, name)
    return schema


async def _person(studio: Studio, sent: FormData) -> None:
    given = text_of(sent, "person")
    if given:
        person = False if given == "rows" else studio.column({"column": given})
        studio.require(person=person, limit_share=None if person else False)  # rows have no share


async def _confirmed(studio: Studio, _: FormData) -> str:
    if not studio.schema.quasi:
        raise UsageError("choose at least one column that others may know")
    if _is_undecided(studio):
        raise UsageError("say whether each row is one person")
    if left := _in_doubt(await _kept(studio)):
        raise UsageError(f"say why nobody outside can know {', '.join(left)}")
    studio.history.change(checked=studio.work.checked | {"roles"})
    return "shown"


def _state(studio: Studio) -> str:
    decided = studio.schema.quasi and not _is_undecided(studio)
    return DONE if decided and "roles" in studio.work.checked else NEEDS


STEP = Step(
    "roles",
    "Who could recognise whom?",
    _page,
    _state,
    {"set": _set, "knows": _knows, "person": _person, "confirm": _confirmed, "why": _why_not_known},
    {"histogram": _histogram},
)
