"""A part of step 6: ask both tables the same question."""

from collections.abc import Iterator

from starlette.datastructures import FormData

from covey import html
from covey.errors import UsageError, percent
from covey.html import Html, Part, element
from covey.studio import ui
from covey.studio.asking import Answer, Line, Measure, Question, answered
from covey.studio.look_state import LookState, state_with
from covey.studio.session import Studio, is_whole, text_of, whole


def question(_: Studio, state: LookState) -> Part:
    """The form, and the last answer."""
    return _form(state), () if state.answer is None else _answer(state.answer)


def _form(state: LookState) -> Html:
    last = state.answer.question if state.answer else Question("count", "")
    places = {column.name: place for place, column in enumerate(state.columns)}
    chosen = "count" if last.of is None else f"{last.measure}-{places[last.of]}"
    figures = [("count", "how many people")]
    for measure, text in (("mean", "mean of"), ("share", "share with a value of")):
        figures += [(f"{measure}-{place}", f"{text} {column.name}")
                    for place, column in enumerate(state.columns)
                    if column.is_number == (measure == "mean")]  # fmt: skip
    groups = [(str(place), name) for name, place in places.items()]
    by = str(places.get(last.by, 0))
    value = ui.typed("value", last.value or "", id="ask-value", list="ask-values")
    values = dict.fromkeys(value for column in state.columns for value in column.choices)
    suggestions = (element("option", value=value) for value in values)
    return ui.form(
        "look/ask",
        ui.labelled("What", ui.chosen_from("figure", figures, chosen, id="ask-figure")),
        ui.labelled("for each", ui.chosen_from("by", groups, by, id="ask-by")),
        ui.labelled("Value (for a share)", value),
        element("datalist", suggestions, id="ask-values"),
        ui.button("Ask both tables", id="ask"),
        class_="inline",
        label="your question",
    )


def _answer(answer: Answer) -> Iterator[Part]:
    question = answer.question
    title = _written(question)
    lines = [_line(line, question.measure) for line in (*answer.lines, answer.whole)]
    head = (question.by, "original", "release", "difference")
    drawn = None
    if answer.picture:
        keys = html.li("original", class_="before"), html.li("release", class_="certain")
        drawn = html.div(html.figure(answer.picture, title, title), html.ul(keys, class_="legend"))
    yield html.div(drawn, ui.grid(head, lines, title, numbers=(1, 2, 3)), class_="pair")
    yield ui.small(ui.WORDS["look"]["question"]["how"])


def _written(question: Question) -> str:
    what = {
        "count": "Number of people",
        "mean": f"Mean of {question.of}",
        "share": f"Share with {question.value} in {question.of}",
    }[question.measure]
    return f"{what} by {question.by}"


def _line(line: Line, measure: Measure) -> tuple[Part, ...]:
    def spelled(figure: float | None) -> str:
        if figure is None:
            return "–"
        if measure == "share":
            return percent(figure)
        return f"{figure:,.0f}" if measure == "count" else f"{figure:,.2f}"

    return line.label, spelled(line.before), spelled(line.after), _difference(line, measure)


def _difference(line: Line, measure: Measure) -> str:
    if line.before is None or line.after is None:
        return "–"
    if measure == "share":
        return f"{100 * (line.after - line.before):+.1f} points"
    return f"{100 * (line.after / line.before - 1):+.1f}\u2009%" if line.before else "–"


async def act(studio: Studio, sent: FormData) -> None:
    """Ask both tables."""
    state = await state_with(studio, "columns")
    measure, _, place = text_of(sent, "figure").partition("-")
    by = state.column(whole(sent, "by", "the column")).name
    of = state.column(int(place)).name if is_whole(place) else None
    questions = {
        "count": Question("count", by),
        "mean": Question("mean", by, of),
        "share": Question("share", by, of, text_of(sent, "value")),
    }
    if measure not in questions:
        raise UsageError("choose what to ask")
    if measure == "share" and not questions[measure].value:
        raise UsageError("type the value whose share you want to know")
    state.answer = await studio.maker.ask("look", answered, questions[measure])
