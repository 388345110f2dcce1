"""A part of step 6: ask both tables the same question."""

from collections.abc import Iterator, Sequence

from starlette.datastructures import FormData

from covey.errors import UsageError, percent
from covey.html import Html, Part, element, figure, table, together
from covey.studio.asking import Answer, Line, Measure, Question
from covey.studio.looked import Looked, with_columns
from covey.studio.session import Studio, is_whole, text_of, whole
from covey.studio.steps import button, chosen_from, form, labelled, typed

_HOW = (
    "How the release answers: a row whose cell stands for several values counts for each of them "
    "in equal parts; an interval counts by its middle; a cell that shows nothing is left out of "
    "means and shares, and counted as “not shown”."
)


def question(state: Looked) -> Html:
    """The form, and the last answer."""
    return together((_form(state), *_answer(state.answer)))


def _form(state: Looked) -> Html:
    asked = state.answer.asked if state.answer else None
    columns = state.columns or ()
    places = {one.name: place for place, one in enumerate(columns)}
    chosen = "count" if asked is None or asked.of is None else f"{asked.measure}-{places[asked.of]}"
    figures = [("count", "how many people")]
    figures += [(f"mean-{i}", f"mean of {c.name}") for i, c in enumerate(columns) if c.is_number]
    shares = [(i, c) for i, c in enumerate(columns) if not c.is_number]
    figures += [(f"share-{i}", f"share with a value of {c.name}") for i, c in shares]
    by = str(places[asked.by]) if asked else "0"
    groups = [(str(i), c.name) for i, c in enumerate(columns)]
    value = (asked.value or "") if asked else ""
    return form(
        "look/ask",
        labelled("What", chosen_from("figure", figures, chosen, id="ask-figure")),
        labelled("for each", chosen_from("by", groups, by, id="ask-by")),
        labelled("Value (for a share)", typed("value", value, id="ask-value", list="ask-values")),
        _known_values(state),
        button("Ask both tables", id="ask"),
        class_="inline",
        label="your question",
    )


def _known_values(state: Looked) -> Html:
    """The values that can be asked for, as suggestions."""
    values = dict.fromkeys(value for one in state.columns or () for value in one.choices)
    return element("datalist", *(element("option", value=value) for value in values),
                   id="ask-values")  # fmt: skip


def _answer(answer: Answer | None) -> Iterator[Part]:
    if answer is None:
        return
    said = _written(answer.asked)
    lines: list[Sequence[Part]] = [_line(one, answer.asked.measure) for one in answer.lines]
    lines.append(_line(answer.whole, answer.asked.measure))
    numbers = table((answer.asked.by, "original", "release", "difference"), lines,
                    numbers=(1, 2, 3))  # fmt: skip
    key = element("ul", element("li", "original", class_="before"),
                  element("li", "release", class_="certain"), class_="legend")  # fmt: skip
    picture = figure(answer.picture, said, said) if answer.picture else None
    drawn = element("div", picture, key) if picture else None
    yield element("div", drawn, element("div", numbers, class_="scroll", tabindex="0",
                                        role="region", aria_label=said), class_="pair")  # fmt: skip
    yield element("p", _HOW, class_="quiet small")


def _written(asked: Question) -> str:
    what = {
        "count": "Number of people",
        "mean": f"Mean of {asked.of}",
        "share": f"Share with {asked.value} in {asked.of}",
    }[asked.measure]
    return f"{what} by {asked.by}"


def _line(one: Line, measure: Measure) -> tuple[Part, ...]:
    def spelled(figure: float | None) -> str:
        if figure is None:
            return "–"
        if measure == "share":
            return percent(figure)
        return f"{figure:,.0f}" if measure == "count" else f"{figure:,.2f}"

    return one.label, spelled(one.before), spelled(one.after), _difference(one, measure)


def _difference(one: Line, measure: Measure) -> str:
    if one.before is None or one.after is None:
        return "–"
    if measure == "share":
        return f"{100 * (one.after - one.before):+.1f} points"
    return f"{100 * (one.after / one.before - 1):+.1f}\u2009%" if one.before else "–"


async def act(studio: Studio, sent: FormData) -> str | None:
    """Ask both tables."""
    state = await with_columns(studio)
    measure, _, place = text_of(sent, "figure").partition("-")
    by = state.column(whole(sent, "by", "the column")).name
    of = state.column(int(place)).name if is_whole(place) else None
    asked = {
        "count": Question("count", by),
        "mean": Question("mean", by, of),
        "share": Question("share", by, of, text_of(sent, "value")),
    }.get(measure)
    if asked is None:
        raise UsageError("choose what to ask")
    if asked.measure == "share" and not asked.value:
        raise UsageError("type the value whose share you want to know")
    state.answer = await studio.maker.ask("question", asked)
    return None
