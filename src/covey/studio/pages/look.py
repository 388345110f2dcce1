"""Step 6: look at the release beside the original, ask it, and attack it."""

from collections.abc import Awaitable, Callable, Iterator, Mapping

from starlette.datastructures import FormData

from covey import html
from covey.errors import UsageError, count, percent
from covey.html import Html, Part, element
from covey.report import Report
from covey.studio import looking, ui
from covey.studio.look_state import LookState, look_state, state_with
from covey.studio.pages import attack, attackers, question
from covey.studio.session import Studio, is_whole, text_of, whole
from covey.studio.steps import BLOCKED, DONE, NEXT, Step
from covey.studio.ui import cell_text

_SHADES = ((0.0, "none"), (0.1, "little"), (0.35, "some"), (0.7, "much"))  # and "most"
_WORDS = ui.WORDS["look"]


async def _page(studio: Studio) -> Part:
    if studio.release is None:
        return ui.heading("Look at it"), no_release(studio)
    return _made(studio, studio.release.report)


def no_release(studio: Studio) -> Part:
    """Why there is nothing to see yet, and where to go."""
    text = ui.message("mind", _WORDS["changed" if studio.was_made else "none"])
    return text, ui.onwards("make", "Make the release")


def _made(studio: Studio, report: Report) -> Iterator[Part]:
    state = look_state(studio)
    yield ui.heading("Look at it", _WORDS["lead"])
    yield ui.reminded(report.headline)
    yield html.facts(_figures(report))
    links = ui.items(html.a(_WORDS[name]["title"], href=f"#{name}") for name in _SECTIONS)
    yield element("nav", links, class_="contents inner", aria_label="On this page")
    for name, (needs, draw) in _SECTIONS.items():
        later = ui.later(f"look/piece/{name}?release={state.number}", "Looking")
        inside = draw(studio, state) if needs is None or needs in state.found else later
        yield ui.card(_WORDS[name]["title"], ui.quiet(_WORDS[name]["lead"]), inside, id=name)
    yield ui.onwards("answer", "Answer for it")


def _figures(report: Report) -> Iterator[tuple[str, str, str]]:
    verdict, rows = report.verdict, report.rows
    yield "lost", percent(report.mean_loss), "of the information in an average cell"
    yield "classes", f"{verdict.classes:,}", f"of at least k = {report.k:,}"
    yield "released", f"{rows.released:,}", f"of {count(rows.read, 'row')}"
    if left_out := rows.read - rows.released:
        yield "left out", f"{left_out:,}", "rows"


# ── rows ────────────────────────────────────────────────────────────────────────────────────────


def _rows(_: Studio, state: LookState) -> Part:
    found = state.rows
    assert found is not None
    order = ui.chosen_from("order", _WORDS["orders"].items(), found.order, id="order")
    keys = (html.li(text, class_=f"lost-{kind}") for kind, text in _WORDS["shades"].items())
    head = html.div(
        ui.form("look/rows", ui.labelled("Rows", order), live=True, label="which rows"),
        html.ul(keys, class_="shades", aria_label="shades of the released cells"),
        class_="rows-head",
    )
    return head, _grid(found, state.group), _paging(found)


def _grid(found: looking.RowsShown, group: looking.GroupShown | None) -> Html:
    titles = [element("th", name, scope="col") for name in ("row", *found.names)]
    lost = element("th", "lost", scope="col", class_="number")
    head = element("thead", element("tr", titles, lost))
    body = element("tbody", (_lines(row, found, group) for row in found.rows))
    grid = html.scrolled(element("table", head, body, class_="compared"), "rows before and after")
    return ui.form("look/group", grid, label="choose a row")


def _lines(
    row: looking.RowShown, found: looking.RowsShown, group: looking.GroupShown | None
) -> Iterator[Html]:
    is_open = group is not None and group.number == row.number
    name = f"{row.number + 1:,}"
    if not row.after:
        gone = [element("td", _before(cell)) for cell in row.before]
        last = element("td", "left out", class_="number not")
        yield element("tr", element("th", name, scope="row"), gone, last)
        return
    opener = element(
        "button", name, type="submit", name="pick", value=str(row.number), class_="opener",
        aria_expanded="true" if is_open else "false", aria_label=f"group of row {name}",
        id=f"row-{row.number}",
    )  # fmt: skip
    yield element(
        "tr",
        element("th", opener, scope="row"),
        (_cell(row, place) for place in range(len(row.before))),
        element("td", percent(row.loss), class_="number"),
        class_="open" if is_open else None,
    )
    if group is not None and is_open:
        inside = element("td", _group(group), colspan=str(len(found.names) + 2))
        yield element("tr", inside, class_="inside")


def _before(cell: str | None) -> Html:
    return html.span(cell_text(cell), class_="before gone" if cell is None else "before")


def _cell(row: looking.RowShown, place: int) -> Html:
    text, lost = cell_text(row.after[place]), row.lost[place]
    picker = element(
        "button", text, type="submit", name="pick", value=f"{row.number}-{place}", tabindex="-1",
        class_=f"after lost-{shade(lost)}", title=f"{percent(lost)} lost",
        aria_label=f"{text}, {percent(lost)} lost",
    )  # fmt: skip
    return element("td", _before(row.before[place]), picker)


def shade(lost: float) -> str:
    """The shade of a cell that has lost this share."""
    return next((name for most, name in _SHADES if lost <= most), "most")


def _paging(found: looking.RowsShown) -> Html:
    def go(page: int, text: str) -> Html:
        is_there = 0 <= page < found.pages
        return ui.button(text, kind="quiet", name="page", value=str(page), disabled=not is_there)

    at = html.span(f"page {found.page + 1:,} of {found.pages:,}", class_="quiet small")
    pages = go(found.page - 1, "← previous"), at, go(found.page + 1, "next →")
    order = ui.hidden("order", found.order)
    return ui.form("look/rows", order, pages, class_="row", label="other rows")


# ── a group ─────────────────────────────────────────────────────────────────────────────────────

_MANY = 10  # columns that are shown at once
_FEW = 4  # values that may well have a node of their own


def _group(group: looking.GroupShown) -> Html:
    # The chosen column first, then those that have lost most.
    columns = sorted(group.columns, key=lambda column: column.name != group.chosen)
    first, rest = (
        html.ul((_why(column, group) for column in several), class_="whys")
        for several in (columns[:_MANY], columns[_MANY:])
    )
    more = count(len(columns) - _MANY, "more column")
    lines = ((f"{number + 1:,}", *map(cell_text, cells)) for number, cells in group.members)
    members = ui.grid(("row", *group.names), lines, "rows of the group before")
    others = count(group.size - 1, "other row")
    lead = html.strong(f"Row {group.number + 1:,} is shown together with {others}.")
    return html.div(
        html.p(lead, f" It loses {percent(group.loss)}. ", _where(group)),
        first,
        ui.details(more, rest, id="more-columns") if len(columns) > _MANY else None,
        ui.details(f"All rows of the group ({group.size:,})", members, id="members"),
        class_="group",
    )


def _where(group: looking.GroupShown) -> Iterator[Part]:
    """In which columns most of the loss is."""
    lost = [column for column in group.columns if column.share > 0]
    named: list[looking.Widened] = []
    while lost and sum(column.share for column in named) < 0.5:
        named.append(lost.pop(0))
    if len(named) > 3:
        yield f"The loss is spread over {count(len(named) + len(lost), 'column')}."
    elif named:
        names = ((" and " if at else "", html.bdi(column.name)) for at, column in enumerate(named))
        yield "Most of that is in ", names, "."


def _why(column: looking.Widened, group: looking.GroupShown) -> Html:
    values = ", ".join(
        f"{cell_text(value)}{f' ({rows}×)' if rows > 1 else ''}" for value, rows in column.values
    )
    more = " …" if column.distinct > len(column.values) else ""
    return html.li(
        html.p(
            html.strong(column.name),
            ": ",
            html.span(values + more, class_="before"),
            " → ",
            html.span(cell_text(column.shown), class_=f"after lost-{shade(column.lost)}"),
            f" {percent(column.lost)} lost",
        ),
        (html.p(parts, class_="advice") for parts in _advice(column, group)),
        class_="chosen" if column.name == group.chosen else None,
    )


def _advice(column: looking.Widened, group: looking.GroupShown) -> Iterator[Part]:
    """What would narrow the cell."""
    if not column.lost:
        return
    if column.without is not None:
        value, cell, rows = column.without
        who = "one row" if rows == 1 else f"{rows:,} rows"
        yield (
            f"Without {who} with {cell_text(value)} it would be {cell_text(cell)}. If covey may ",
            html.a("suppress a few rows", href="price"),
            ", it can leave out such people.",
        )
    few = 1 < column.distinct <= _FEW
    if column.covers is not None and few and column.covers >= 3 * column.distinct:
        yield (
            f"The group has {column.distinct} values, but the label stands for {column.covers:,}. "
            "A node over fewer values would lose less: ",
            html.a("change its tree", href="shown"),
            ".",
        )
    if column.name != group.chosen:
        return
    if column.share < 0.5:
        yield (
            "If this column matters more to the recipient than others, ",
            html.a("give it more stars", href="shown"),
            ".",
        )
    if column.is_snapped and column.distinct > 1:
        finer = html.a("a finer grid", href="shown")
        yield "The ends lie on a grid; ", finer, " shows more, and says more about single people."


# ── columns, groups, who pays ───────────────────────────────────────────────────────────────────


def _shown(studio: Studio, _: LookState) -> Html:
    report = studio.made.report
    lost = {column.name: column.il for column in report.losses.columns}
    lines = [(one.column, ui.sentence(str(one)), bar(lost[one.column])) for one in report.shown]
    head = ("column", "what it shows", "lost")
    return ui.grid(head, lines, "what each column still shows", numbers=(2,))


def bar(share: float) -> Part:
    """A share as a bar and a number."""
    drawn = element("meter", min="0", max="1", value=f"{share:.4f}", aria_hidden="true")
    return drawn, html.span(percent(share), class_="share")


def _groups(studio: Studio, state: LookState) -> Html:
    report = studio.made.report
    lines = [
        (looking.spelled_range(sizes.least, sizes.most), f"{sizes.classes:,}", f"{sizes.rows:,}")
        for sizes in report.classes
    ]
    numbers = html.table(("rows in a class", "classes", "rows"), lines, numbers=(1, 2))
    caption = f"Number of rows in classes of each size: {report.verdict.sizes}."
    title = "Rows in classes of each size"
    return html.figure(state.sizes or None, title, caption, numbers=numbers)


def _payers(_: Studio, state: LookState) -> Iterator[Part]:
    found = state.payers
    assert found is not None
    yield html.p(f"On average a row loses {percent(found.mean)}. These lose most:")
    yield _dear(found.most, "who loses most", named=True)
    options = [("", "choose a column"), *((str(i), n) for i, n in enumerate(found.columns))]
    chosen = "" if found.by is None else str(found.columns.index(found.by))
    select = ui.labelled(
        "By the values of", ui.chosen_from("column", options, chosen, id="payers-by")
    )
    yield ui.form("look/payers", select, live=True, class_="narrow", label="by column")
    if found.each:
        yield _dear(found.each, "what each value loses", named=False)


def _dear(payers: tuple[looking.Payer, ...], region: str, *, named: bool) -> Html:
    lines = [
        (f"{payer.column}: {payer.label}" if named else payer.label, f"{payer.rows:,}",
         bar(payer.loss))
        for payer in payers
    ]  # fmt: skip
    return ui.grid(("who", "rows", "lost"), lines, region, numbers=(1, 2))


# ── pieces and actions ──────────────────────────────────────────────────────────────────────────


_Draw = Callable[[Studio, LookState], Part]
# For each part of the page what must be known to draw it, and what draws it.
_SECTIONS: dict[str, tuple[str | None, _Draw]] = {
    "attackers": (None, attackers.attackers),
    "attack": ("columns", attack.attack),
    "rows": ("rows", _rows),
    "shown": (None, _shown),
    "groups": ("sizes", _groups),
    "payers": ("payers", _payers),
    "question": ("columns", question.question),
    "utility": ("utility", lambda _, state: state.utility),
}


def _piece(needs: str, draw: _Draw) -> Callable[[Studio, Mapping[str, str]], Awaitable[Part]]:
    async def piece(studio: Studio, _: Mapping[str, str]) -> Part:
        return draw(studio, await state_with(studio, needs))

    return piece


async def _choose_rows(studio: Studio, sent: FormData) -> None:
    state, order = look_state(studio), text_of(sent, "order")
    if order not in looking.ORDERS:
        raise UsageError("there is no such order")
    page = whole(sent, "page", "the page") if text_of(sent, "page") else 0
    state.rows, state.group = await studio.maker.ask("look", looking.rows_shown, order, page), None
    state.found.add("rows")


async def _choose_group(studio: Studio, sent: FormData) -> None:
    state = look_state(studio)
    row, _, column = text_of(sent, "pick").partition("-")
    if not (is_whole(row) and (is_whole(column) or not column)):
        raise UsageError("there is no such row")
    if state.group is not None and state.group.number == int(row) and not column:
        state.group = None  # the second click closes it
        return
    place = int(column) if column else None
    state.group = await studio.maker.ask("look", looking.group_shown, int(row), place)


async def _choose_payers(studio: Studio, sent: FormData) -> None:
    state = look_state(studio)
    place = whole(sent, "column", "the column") if text_of(sent, "column") else None
    state.payers = await studio.maker.ask("look", looking.payers, place)
    state.found.add("payers")


def _state(studio: Studio) -> str:
    if studio.release is None:
        return BLOCKED
    return NEXT if look_state(studio).rows is None else DONE


STEP = Step(
    "look",
    "Look at it",
    _page,
    _state,
    {
        "rows": _choose_rows,
        "group": _choose_group,
        "payers": _choose_payers,
        "ask": question.act,
        "attack": attack.act,
        "mend": attackers.mend,
    },
    {
        "attackers": attackers.piece,
        **{name: _piece(needs, draw) for name, (needs, draw) in _SECTIONS.items() if needs},
    },
)
