"""Step 6: look at the release beside the original, ask it, and attack it."""

from collections.abc import Awaitable, Callable, Iterator, Mapping

from starlette.datastructures import FormData

from covey.errors import UsageError, count, percent
from covey.html import Html, Part, element, facts, figure, scrolled, table, together
from covey.report import Report
from covey.studio.looked import Looked, looked, with_columns
from covey.studio.looking import (
    ORDERS,
    GroupShown,
    Order,
    Payer,
    Payers,
    RowShown,
    RowsShown,
    Widened,
)
from covey.studio.pages import attack, question
from covey.studio.session import Studio, is_whole, text_of, whole
from covey.studio.steps import (
    BLOCKED,
    DONE,
    NEXT,
    Step,
    button,
    card,
    chosen_from,
    form,
    heading,
    hidden,
    labelled,
    later,
    onwards,
    reminded,
    sentence,
)

_SHADES = ((0.0, "none"), (0.1, "little"), (0.35, "some"), (0.7, "much"))  # and "most"
_PARTS = {
    "attack": "Attack it",
    "rows": "Before and after",
    "shown": "What each column still shows",
    "groups": "How large the groups are",
    "payers": "Who pays",
    "question": "Ask both tables",
}


async def page(studio: Studio) -> Html:
    """The page of the step."""
    if studio.release is None:
        return together((heading("Look at it"), no_release(studio)))
    return together(_made(studio, studio.release.report))


def no_release(studio: Studio) -> Html:
    """Why there is nothing to see yet, and where to go."""
    said = (
        "You have changed something since the last release. Make it again first."
        if studio.release_before is not None
        else "There is no release yet. Make it first."
    )
    return together((element("p", said, class_="told mind"), onwards("make", "Make the release")))


def _made(studio: Studio, report: Report) -> Iterator[Part]:
    state = looked(studio)
    yield heading(
        "Look at it",
        "You see the original and the release side by side. The people who get the release see "
        "only the released cells.",
    )
    yield reminded(report.headline)
    yield facts(_figures(report))
    links = (element("li", element("a", name, href=f"#{part}")) for part, name in _PARTS.items())
    yield element("nav", element("ul", *links), class_="contents inner", aria_label="On this page")
    for part, name in _PARTS.items():
        yield card(name, element("p", _LEADS[part], class_="quiet"), *_part(studio, state, part),
                   id=part)  # fmt: skip
    yield onwards("answer", "Answer for it")


_LEADS = {
    "attack": "Type what someone may know of a person: a neighbour, an employer, a register. See "
    "how many rows fit. Leave out what they do not know.",
    "rows": "In each cell, above is the original and below what is released; the darker, the more "
    "is lost. Choose a row or a cell to see its group, and why it looks like this.",
    "shown": "In the units of the column.",
    "groups": "The rows of a class are equal in everything that others may know.",
    "payers": "Rare people lose more than others, since fewer are like them.",
    "question": "Ask what the recipient will ask, and see how far off the answer is.",
}


def _figures(report: Report) -> list[tuple[str, str, str]]:
    verdict, rows = report.verdict, report.rows
    left_out = rows.read - rows.released
    told = [
        ("lost", percent(report.mean_loss), "of the information in an average cell"),
        ("classes", f"{verdict.classes:,}", f"of at least k = {report.k:,}"),
        ("released", f"{rows.released:,}", f"of {count(rows.read, 'row')}"),
    ]
    return told + ([("left out", f"{left_out:,}", "rows")] if left_out else [])


def _part(studio: Studio, state: Looked, part: str) -> Iterator[Part]:
    """A part of the page; if its figures are not there yet, a place for them."""
    if part == "shown":
        assert studio.release is not None
        yield _shown(studio.release.report)
    elif _HAS[part](state):
        yield _DRAWN[part](studio, state)
    else:
        yield later(f"look/piece/{part}?release={state.number}", "Looking")


# ── rows ────────────────────────────────────────────────────────────────────────────────────────


def _rows(_: Studio, state: Looked) -> Html:
    found = state.rows
    assert found is not None
    return together((_which(found), _grid(found, state.group), _paging(found)))


_ORDERS = {
    "worst": "those who lose most first",
    "sample": "a random sample",
    "first": "as in the file",
}


def _which(found: RowsShown) -> Html:
    options = ((order, _ORDERS[order]) for order in ORDERS)
    chosen = chosen_from("order", options, found.order, id="order")
    keys = (element("li", said, class_=f"lost-{kind}") for kind, said in _KEYS.items())
    return element(
        "div",
        form("look/rows", labelled("Rows", chosen), live=True, label="which rows"),
        element("ul", *keys, class_="shades", aria_label="shades of the released cells"),
        class_="rows-head",
    )


_KEYS = {"none": "exact", "little": "little lost", "some": "some", "much": "much", "most": "most"}


def _grid(found: RowsShown, group: GroupShown | None) -> Html:
    head = element(
        "thead",
        element("tr", element("th", "row", scope="col"), *(
            element("th", name, scope="col") for name in found.names
        ), element("th", "lost", scope="col", class_="number")),
    )  # fmt: skip
    body = element("tbody", *(line for row in found.rows for line in _lines(row, found, group)))
    rows = element("table", head, body, class_="compared")
    return form("look/group", scrolled(rows, "rows before and after"), label="choose a row")


def _lines(row: RowShown, found: RowsShown, group: GroupShown | None) -> Iterator[Html]:
    is_open = group is not None and group.number == row.number
    name = f"{row.number + 1:,}"
    if not row.after:
        gone = [element("td", _before(cell)) for cell in row.before]
        yield element(
            "tr", element("th", name, scope="row"), *gone,
            element("td", "left out", class_="number not"),
        )  # fmt: skip
        return
    opener = element(
        "button", name, type="submit", name="pick", value=str(row.number), class_="opener",
        aria_expanded="true" if is_open else "false", aria_label=f"group of row {name}",
        id=f"row-{row.number}",
    )  # fmt: skip
    cells = (_cell(row, place) for place in range(len(row.before)))
    yield element(
        "tr", element("th", opener, scope="row"), *cells,
        element("td", percent(row.loss), class_="number"), class_="open" if is_open else None,
    )  # fmt: skip
    if is_open:
        assert group is not None
        inside = element("td", _group(group), colspan=str(len(found.names) + 2))
        yield element("tr", inside, class_="inside")


def _before(cell: str | None) -> Html:
    return element("span", "missing" if cell is None else cell,
                   class_="before" if cell is not None else "before gone")  # fmt: skip


def _cell(row: RowShown, place: int) -> Html:
    after, lost = row.after[place], row.lost[place]
    text = "missing" if after is None else after
    picker = element(
        "button", text, type="submit", name="pick", value=f"{row.number}-{place}", tabindex="-1",
        class_=f"after lost-{shade(lost)}", title=f"{percent(lost)} lost",
        aria_label=f"{text}, {percent(lost)} lost",
    )  # fmt: skip
    return element("td", _before(row.before[place]), picker)


def shade(lost: float) -> str:
    """The shade of a cell that has lost this share."""
    return next((name for most, name in _SHADES if lost <= most), "most")


def _paging(found: RowsShown) -> Html:
    def go(page: int, text: str) -> Html:
        is_there = 0 <= page < found.pages
        return button(text, kind="quiet", name="page", value=str(page), disabled=not is_there)

    return form(
        "look/rows",
        hidden("order", found.order),
        go(found.page - 1, "← previous"),
        element("span", f"page {found.page + 1:,} of {found.pages:,}", class_="quiet small"),
        go(found.page + 1, "next →"),
        class_="row",
        label="other rows",
    )


# ── a group ─────────────────────────────────────────────────────────────────────────────────────


def _group(group: GroupShown) -> Html:
    # The chosen column first, then those that have lost most.
    columns = sorted(group.columns, key=lambda one: one.name != group.chosen)
    first, rest = columns[:_MANY], columns[_MANY:]
    more = element(
        "details",
        element("summary", f"{count(len(rest), 'more column')}"),
        element("ul", *(_why(one, group) for one in rest), class_="whys"),
        id="more-columns",
    )
    members = element(
        "details",
        element("summary", f"All rows of the group ({group.size:,})"),
        _members(group),
        id="members",
    )
    others = count(group.size - 1, "other row")
    said = element("strong", f"Row {group.number + 1:,} is shown together with {others}.")
    return element(
        "div",
        element("p", said, f" It loses {percent(group.loss)}. ", *_where(group)),
        element("ul", *(_why(one, group) for one in first), class_="whys"),
        more if rest else None,
        members,
        class_="group",
    )


_MANY = 10  # columns that are shown at once


def _where(group: GroupShown) -> Iterator[Part]:
    """In which columns most of the loss is."""
    lost = [one for one in group.columns if one.share > 0]
    named: list[Widened] = []
    while lost and sum(one.share for one in named) < 0.5:
        named.append(lost.pop(0))
    if len(named) > 3:
        yield f"The loss is spread over {count(len(named) + len(lost), 'column')}."
    elif named:
        yield "Most of that is in "
        for place, one in enumerate(named):
            yield together((" and " if place else "", element("bdi", one.name)))
        yield "."


def _why(one: Widened, group: GroupShown) -> Html:
    shown = element("span", "missing" if one.shown is None else one.shown,
                    class_=f"after lost-{shade(one.lost)}")  # fmt: skip
    values = ", ".join(
        f"{'missing' if value is None else value}{f' ({rows}×)' if rows > 1 else ''}"
        for value, rows in one.values
    )
    more = " …" if one.distinct > len(one.values) else ""
    advice = list(_advice(one, group)) if one.lost else []
    return element(
        "li",
        element("p", element("strong", one.name), ": ", element("span", values + more,
                class_="before"), " → ", shown, f" {percent(one.lost)} lost"),
        *(element("p", *parts, class_="advice") for parts in advice),
        class_="chosen" if one.name == group.chosen else None,
    )  # fmt: skip


_FEW = 4  # values that may well have a node of their own


def _advice(one: Widened, group: GroupShown) -> Iterator[tuple[Part, ...]]:
    """What would narrow the cell."""
    if one.without is not None:
        value, cell, rows = one.without
        who = "one row" if rows == 1 else f"{rows:,} rows"
        yield (
            f"Without {who} with {'missing' if value is None else value} it would be "
            f"{'missing' if cell is None else cell}. If covey may ",
            element("a", "suppress a few rows", href="price"),
            ", it can leave out such people.",
        )
    few = 1 < one.distinct <= _FEW
    if one.covers is not None and few and one.covers >= 3 * one.distinct:
        yield (
            f"The group has {one.distinct} values, but the label stands for {one.covers:,}. A node "
            "over fewer values would lose less: ",
            element("a", "change its tree", href="shown"),
            ".",
        )
    if one.name == group.chosen and one.lost and one.share < 0.5:
        yield (
            "If this column matters more to the recipient than others, ",
            element("a", "give it more stars", href="shown"),
            ".",
        )
    if one.is_snapped and one.distinct > 1 and one.name == group.chosen:
        yield ("The ends lie on a grid; ", element("a", "a finer grid", href="shown"),
               " shows more, and says more about single people.")  # fmt: skip


def _members(group: GroupShown) -> Html:
    lines = [
        (f"{number + 1:,}", *("missing" if cell is None else cell for cell in cells))
        for number, cells in group.members
    ]
    return scrolled(table(("row", *group.names), lines), "rows of the group before")


# ── columns, groups, who pays ───────────────────────────────────────────────────────────────────


def _shown(report: Report) -> Html:
    lost = {one.name: one for one in report.losses.columns}
    lines = [(one.column, sentence(str(one)), bar(lost[one.column].il)) for one in report.shown]
    head = ("column", "what it shows", "lost")
    return scrolled(table(head, lines, numbers=(2,)), "what each column still shows")


def bar(share: float) -> Html:
    """A share as a bar and a number."""
    drawn = element("meter", min="0", max="1", value=f"{share:.4f}", aria_hidden="true")
    return together((drawn, element("span", percent(share), class_="share")))


def _groups(studio: Studio, state: Looked) -> Html:
    assert studio.release is not None
    report = studio.release.report
    lines = [
        (f"{one.least:,}" if one.least == one.most else f"{one.least:,} to {one.most:,}",
         f"{one.classes:,}", f"{one.rows:,}")
        for one in report.classes
    ]  # fmt: skip
    numbers = table(("rows in a class", "classes", "rows"), lines, numbers=(1, 2))
    caption = f"Number of rows in classes of each size: {report.verdict.sizes}."
    return figure(state.sizes or None, "Rows in classes of each size", caption, numbers=numbers)


def _payers(_: Studio, state: Looked) -> Html:
    found = state.payers
    assert found is not None
    return together(_of_payers(found))


def _of_payers(found: Payers) -> Iterator[Part]:
    yield element("p", f"On average a row loses {percent(found.mean)}. These lose most:")
    yield _dear(found.most, named=True)
    options = [("", "choose a column"), *((str(i), n) for i, n in enumerate(found.columns))]
    chosen = "" if found.by is None else str(found.columns.index(found.by))
    select = chosen_from("column", options, chosen, id="payers-by")
    yield form("look/payers", labelled("By the values of", select), live=True, class_="narrow",
               label="by column")  # fmt: skip
    if found.each:
        yield _dear(found.each, named=False)


def _dear(payers: tuple[Payer, ...], *, named: bool) -> Html:
    lines = [
        (f"{one.column}: {one.label}" if named else one.label, f"{one.rows:,}", bar(one.loss))
        for one in payers
    ]  # fmt: skip
    region = "who loses most" if named else "what each value loses"
    return scrolled(table(("who", "rows", "lost"), lines, numbers=(1, 2)), region)


# ── pieces and actions ──────────────────────────────────────────────────────────────────────────

_HAS: dict[str, Callable[[Looked], object]] = {
    "attack": lambda state: state.columns is not None,
    "rows": lambda state: state.rows is not None,
    "groups": lambda state: state.sizes is not None,
    "payers": lambda state: state.payers is not None,
    "question": lambda state: state.columns is not None,
}
_DRAWN: dict[str, Callable[[Studio, Looked], Html]] = {
    "attack": attack.attack,
    "rows": _rows,
    "groups": _groups,
    "payers": _payers,
    "question": lambda _, state: question.question(state),
}


async def _find(studio: Studio, state: Looked, part: str) -> None:
    """Find out what a part of the page shows at first."""
    match part:
        case "rows":
            state.rows = await studio.maker.ask("rows_shown", ORDERS[0], 0)
        case "groups":
            state.sizes = await studio.maker.ask("class_chart") or ""
        case "payers":
            state.payers = await studio.maker.ask("payers", None)
        case _:
            await with_columns(studio)


def _piece(part: str) -> Callable[[Studio, Mapping[str, str]], Awaitable[str]]:
    async def piece(studio: Studio, _: Mapping[str, str]) -> str:
        state = looked(studio)
        if not _HAS[part](state):
            await _find(studio, state, part)
        return _DRAWN[part](studio, state)

    return piece


async def _choose_rows(studio: Studio, sent: FormData) -> str | None:
    state = looked(studio)
    order: Order | None = next((one for one in ORDERS if one == text_of(sent, "order")), None)
    if order is None:
        raise UsageError("there is no such order")
    page = whole(sent, "page", "the page") if text_of(sent, "page") else 0
    state.rows = await studio.maker.ask("rows_shown", order, page)
    state.group = None
    return None


async def _choose_group(studio: Studio, sent: FormData) -> str | None:
    state = looked(studio)
    row, _, column = text_of(sent, "pick").partition("-")
    if not (is_whole(row) and (is_whole(column) or not column)):
        raise UsageError("there is no such row")
    if state.group is not None and state.group.number == int(row) and not column:
        state.group = None  # the second click closes it
        return None
    place = int(column) if column else None
    state.group = await studio.maker.ask("group_shown", int(row), place)
    return None


async def _choose_payers(studio: Studio, sent: FormData) -> str | None:
    place = whole(sent, "column", "the column") if text_of(sent, "column") else None
    looked(studio).payers = await studio.maker.ask("payers", place)
    return None


def state(studio: Studio) -> str:
    """How far the step is."""
    if studio.release is None:
        return BLOCKED
    return DONE if looked(studio).rows is not None else NEXT


STEP = Step(
    "look",
    "Look at it",
    page,
    state,
    {
        "rows": _choose_rows,
        "group": _choose_group,
        "payers": _choose_payers,
        "ask": question.act,
        "attack": attack.act,
    },
    {part: _piece(part) for part in _HAS},
)
