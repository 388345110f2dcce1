"""Write the results of the experiments: pictures, a table of the points, and one page.

The page shows each figure beside the paper's claim and what the points say about it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from covey import html
from covey.report import charts
from covey_experiments import files
from covey_experiments.examples import Example, Worked
from covey_experiments.figures import PAPERS, Figure
from covey_experiments.judging import Curves, Outcome, Verdict, signed
from covey_experiments.running import Drawn, Progress, silent

if TYPE_CHECKING:
    import altair as alt

element = html.element
SUMMARY, PAGE = "summary.csv", "index.html"


@dataclass(frozen=True)
class Circumstances:
    """When and how the points were measured."""

    date: str
    command: str
    machine: str
    quick: bool
    runs: int


@dataclass(frozen=True)
class Results:
    """Everything that the page shows."""

    drawn: Sequence[Drawn]
    worked: Sequence[tuple[Example, Worked]]
    circumstances: Circumstances


def write(folder: Path, results: Results, progress: Progress = silent) -> Path:
    """Write the pictures, the summary and the page, each completely or not at all.

    Return the path of the page.
    """
    pictures = {}
    for done, drawn in enumerate(results.drawn):
        progress("drawing", done / len(results.drawn))
        if any(curve.x for curve in drawn.curves.values()):
            chart = _chart(drawn, titled=True)
            for ending in charts.PICTURES:
                files.write(folder / f"{drawn.figure.name}{ending}", charts.picture(chart, ending))
            pictures[drawn.figure.name] = charts.svg(_chart(drawn, titled=False))
    if results.drawn:
        files.write(folder / SUMMARY, summary(results.drawn).write_csv().encode())
    files.write(folder / PAGE, document(results, pictures).encode())
    return folder / PAGE


def summary(drawn: Iterable[Drawn]) -> pl.DataFrame:
    """One row for each point of each figure: the mean, minimum and maximum of its runs."""
    rows = [
        (d.figure.name, label, x, d.figure.y.measure, *figures, curve.runs, "; ".join(d.origins))
        for d in drawn
        for label, curve in d.curves.items()
        for x, *figures in zip(curve.x, curve.y, curve.least, curve.most, strict=True)
    ]
    names = ("figure", "line", "x", "y", "mean", "least", "most", "runs", "data")
    return pl.DataFrame(rows, schema=names, orient="row")


def _chart(drawn: Drawn, *, titled: bool) -> "alt.LayerChart":
    figure = drawn.figure
    points = [
        charts.ChartPoint(label, x, y, least, most)
        for label, curve in drawn.curves.items()
        for x, y, least, most in zip(curve.x, curve.y, curve.least, curve.most, strict=True)
    ]
    paper = PAPERS[figure.paper].short
    return charts.lines(
        points,
        names=list(drawn.curves),
        x_title=figure.x_title,
        y_title=figure.y.title,
        from_zero=figure.y.measure != "precision",
        head=charts.title(
            f"{paper}, {figure.number}: {figure.title}", *drawn.origins, drawn.setting
        )
        if titled
        else None,
        background="white" if titled else "transparent",
    )


# ── the page ────────────────────────────────────────────────────────────────────────────────────

_TITLE = "The papers’ figures, redrawn"


def document(results: Results, pictures: dict[str, str]) -> str:
    """The page; `pictures` maps the name of a figure to its picture."""
    return html.page(
        "The papers’ figures, by covey",
        _header(results),
        element(
            "main",
            _overview(results),
            *(_paper(key, results, pictures) for key in PAPERS if _has(results, key)),
            _making(results.circumstances),
        ),
    )


def _has(results: Results, paper: str) -> bool:
    names = [d.figure.paper for d in results.drawn] + [e.paper for e, _ in results.worked]
    return paper in names


def _header(results: Results) -> html.Html:
    made = results.circumstances
    how = "a full run"
    if made.quick:
        how = "a quick run on small samples; its verdicts, above all those on time, are preliminary"
    brand = element(
        "p", element("span", "covey · experiments"), element("span", made.date), class_="brand"
    )
    lead = element(
        "p",
        "The figures of three papers on k-anonymity by clustering, redrawn with covey’s "
        "implementations of their methods. Beside each figure is the paper’s claim, and whether "
        "the points support it. The thick line is the covey method.",
        class_="lead",
    )
    note = element(
        "p",
        f"This is {how}. Random methods run {made.runs} times: lines show the means, bands the "
        "range from minimum to maximum. Deterministic methods run once.",
        class_="quiet",
    )
    return element(
        "header",
        element("div", brand, element("h1", _TITLE), lead, html.facts(_counts(results)), note),
    )


def _counts(results: Results) -> Iterator[tuple[str, str, str]]:
    verdicts = [d.verdict for d in results.drawn] + [worked.verdict for _, worked in results.worked]
    counts = Counter(verdict.outcome for verdict in verdicts)
    for outcome in Outcome:
        if counts[outcome]:
            name = f"{_LOOKS[outcome].sign} {_LOOKS[outcome].plural}"
            yield name, str(counts[outcome]), f"of {counts.total()} in all"


def _overview(results: Results) -> html.Html:
    papers = (
        element("div", element("h3", PAPERS[paper].title), _contents(results, paper))
        for paper in PAPERS
        if _has(results, paper)
    )
    title = element("h2", "At a glance", id="overview")
    columns = element("div", *papers, class_="columns")
    return element("section", element("nav", title, columns, aria_labelledby="overview"))


def _contents(results: Results, paper: str) -> html.Html:
    """Links to all of a paper, each with its outcome."""
    shown: list[tuple[Example | Figure, Verdict]] = [
        *((example, worked.verdict) for example, worked in results.worked),
        *((drawn.figure, drawn.verdict) for drawn in results.drawn),
    ]
    return _signed(
        (
            verdict.outcome,
            html.together((element("a", item.number, href=f"#{item.name}"), f" {item.title}")),
        )
        for item, verdict in shown
        if item.paper == paper
    )


def _paper(key: str, results: Results, pictures: dict[str, str]) -> html.Html:
    paper = PAPERS[key]
    return element(
        "section",
        element("h2", paper.title, id=key),
        element("p", paper.source, class_="quiet"),
        element("p", paper.about),
        *(_example(example, worked) for example, worked in results.worked if example.paper == key),
        *(_drawn(d, pictures.get(d.figure.name)) for d in results.drawn if d.figure.paper == key),
        aria_labelledby=key,
    )


def _drawn(drawn: Drawn, picture: str | None) -> html.Html:
    figure = drawn.figure
    title = f"{figure.number}: {figure.title}"
    data = "; ".join([f"Data: {drawn.origins[0]}", *drawn.origins[1:], drawn.setting])
    if drawn.left_out:
        places = ", ".join(f"{x:,}" for x in drawn.left_out)
        data += f"; the table has too few rows for n = {places}"
    if picture is None:
        shown = element("p", "No point has been measured yet. ", _unbroken(data), class_="quiet")
    else:
        numbers = html.scrolled(_numbers(drawn), f"Numbers of {title}")
        shown = html.figure(picture, _in_words(drawn), _unbroken(data), numbers=numbers, wide=True)
    more = " ".join(filter(None, (figure.reason, standing(figure, drawn.curves))))
    return _article(figure.name, title, shown, figure.claim, drawn.verdict, more)


def _example(example: Example, worked: Worked) -> html.Html:
    title = f"{example.number}: {example.title}"
    grid = html.table(
        worked.head,
        worked.rows,
        caption=_unbroken(f"Data: {example.origin}"),
        numbers=range(1, len(worked.head)),
    )
    return _article(example.name, title, html.scrolled(grid, title), example.claim, worked.verdict)


def _article(
    name: str, title: str, shown: html.Html, claim: str, verdict: Verdict, more: str = ""
) -> html.Html:
    outcome = verdict.outcome
    badge, style = f"{_LOOKS[outcome].sign} {outcome.value}", _LOOKS[outcome].style
    words = element(
        "div",
        element("h4", "The paper’s claim, in short"),
        element("p", claim, class_="claim"),
        element("h4", "What the points say"),
        element("p", "The claim ", element("span", badge, class_=f"verdict {style}")),
        _signed((finding.outcome, finding.says) for finding in verdict.findings),
        element("p", more, class_="own") if more else None,
    )
    return element(
        "article",
        element("h3", title, id=f"{name}-title"),
        element("div", shown, words, class_="beside"),
        id=name,
        aria_labelledby=f"{name}-title",
    )


def _signed(entries: Iterable[tuple[Outcome, html.Part]]) -> html.Html:
    """A list with a sign for each outcome, and words for readers who cannot see the signs."""
    return element("ul", *(
        element("li", element("span", _LOOKS[outcome].sign, class_="sign", aria_hidden="true"),
                element("span", f"{outcome.value}: ", class_="unseen"), entry,
                class_=_LOOKS[outcome].style)
        for outcome, entry in entries
    ), class_="signed")  # fmt: skip


def _numbers(drawn: Drawn) -> html.Html:
    """The points as a table, for readers who cannot see the picture or want the digits."""
    places = sorted({x for curve in drawn.curves.values() for x in curve.x})
    head = (drawn.figure.x_title, *drawn.curves)
    rows = [
        (
            f"{x:,.0f}",
            *(_value(curve.at(x)) if x in curve.x else "" for curve in drawn.curves.values()),
        )
        for x in places
    ]
    return html.table(head, rows, numbers=range(1, len(head)))


def standing(figure: Figure, curves: Curves) -> str:
    """Compare the covey method with the best of the paper's methods."""
    own = curves[figure.own.label]
    rivals = [curves[line.label] for line in figure.lines[:-1] if line.table == figure.own.table]
    if not own.x:
        return ""
    if figure.y.measure == "cpu_seconds":
        return (
            f"The covey method takes {_value(min(own.y))} to {_value(max(own.y))} s, summed over "
            "its threads."
        )
    high_is_good = figure.y.measure == "precision"
    gains = []
    for x in own.x:
        others = [curve.at(x) for curve in rivals if x in curve.x]
        best = (max if high_is_good else min)(others, default=0.0)
        if best:
            gains.append(own.at(x) / best - 1)
    if not gains:
        return ""
    return (
        f"The covey method, compared with the best other method at each point: "
        f"{signed(min(gains))} to {signed(max(gains))} in {figure.y.title.split(',')[0]}."
    )


def _in_words(drawn: Drawn) -> str:
    """Describe the picture for readers who cannot see it."""
    ends = [
        f"{label} from {_value(curve.y[0])} to {_value(curve.y[-1])}"
        for label, curve in drawn.curves.items()
        if curve.y
    ]
    return f"Lines of {drawn.figure.y.title} over {drawn.figure.x_title}: {'; '.join(ends)}."


def _making(made: Circumstances) -> html.Html:
    return element(
        "section",
        element("h2", "How it was made"),
        element(
            "p",
            *(
                f"{made.date}, with ",
                element("code", made.command),
                f", {made.machine}. Times are ",
            ),
            "processor seconds for forming groups only, one run at a time. Every run is a line of ",
            *(element("code", "points.csv"), ", every point of a figure a line of "),
            *(element("code", SUMMARY), "."),
        ),
        element(
            "p",
            *("A claim ", element("em", "holds"), " if all its parts hold everywhere, "),
            *(element("em", "does not hold"), " if none holds anywhere, and otherwise "),
            *(element("em", "holds in part"), "."),
        ),
    )


def _unbroken(text: str) -> str:
    """Prevent line breaks within `n = 3,000`."""
    return text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def _value(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


class _Look(NamedTuple):
    """How an outcome is shown."""

    sign: str
    plural: str
    style: str


_LOOKS = {
    Outcome.HOLDS: _Look("✓", "hold", "good"),
    Outcome.IN_PART: _Look("◐", "hold in part", "mind"),
    Outcome.FAILS: _Look("✗", "do not hold", "bad"),
    Outcome.OPEN: _Look("…", "not measured yet", "open"),
}
