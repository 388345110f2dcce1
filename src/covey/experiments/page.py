"""What came of the experiments, as files: pictures, a table of the points, and one page.

The page is a single file that asks nobody for anything: pictures are inside it, once for light and
once for dark pages. It shows each figure beside the paper's claim and what the points say of it.
"""

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from covey import charts, files
from covey.experiments.examples import Example, Worked
from covey.experiments.figures import OWN, PAPERS, SECONDS, Figure
from covey.experiments.judging import Curves, Outcome, Verdict, signed
from covey.experiments.running import Drawn
from covey.progress import Progress, silent

if TYPE_CHECKING:
    import altair as alt

SUMMARY, PAGE = "summary.csv", "index.html"


@dataclass(frozen=True)
class Circumstances:
    """When and how the points were taken."""

    date: str
    command: str
    machine: str
    quick: bool
    runs: int


@dataclass(frozen=True)
class Results:
    """All that is to be shown."""

    drawn: Sequence[Drawn]
    worked: Sequence[tuple[Example, Worked]]
    circumstances: Circumstances


def write(folder: Path, results: Results, progress: Progress = silent) -> Path:
    """Write the pictures, the summary and the page, each whole or not at all; the page's path."""
    pictures = {}
    for done, drawn in enumerate(results.drawn):
        progress("drawing", done / len(results.drawn))
        if any(curve.x for curve in drawn.curves.values()):
            told = _chart(drawn, titled=True)
            for ending in charts.PICTURES:
                _write(folder / f"{drawn.figure.name}{ending}", charts.picture(told, ending))
            pictures[drawn.figure.name] = charts.svg(_chart(drawn, titled=False))
    if results.drawn:
        _write(folder / SUMMARY, summary(results.drawn).write_csv().encode())
    _write(folder / PAGE, html(results, pictures).encode())
    return folder / PAGE


def _write(path: Path, data: bytes) -> None:
    with files.draft(path) as draft:
        with files.output_errors():
            draft.file.write(data)
        draft.publish()


def summary(drawn: Iterable[Drawn]) -> pl.DataFrame:
    """One row for each point of each figure: the mean of its runs, the least and the most."""
    rows = [
        (d.figure.name, label, x, d.figure.y.measure, *figures, curve.runs, d.origin)
        for d in drawn
        for label, curve in d.curves.items()
        for x, *figures in zip(curve.x, curve.y, curve.least, curve.most, strict=True)
    ]
    names = ("figure", "line", "x", "y", "mean", "least", "most", "runs", "data")
    return pl.DataFrame(rows, schema=names, orient="row")


def _chart(drawn: Drawn, *, titled: bool) -> "alt.LayerChart":
    figure = drawn.figure
    points = [
        charts.Point(label, x, y, least, most)
        for label, curve in drawn.curves.items()
        for x, y, least, most in zip(curve.x, curve.y, curve.least, curve.most, strict=True)
    ]
    paper = PAPERS[figure.paper].title
    return charts.lines(
        points,
        names=list(drawn.curves),
        own=OWN,
        x_title=figure.x_title,
        y_title=figure.y.title,
        from_zero=figure.y.measure != "precision",
        head=charts.title(f"{figure.title} ({paper}, {figure.number})", drawn.origin)
        if titled
        else None,
        background="white" if titled else "transparent",
    )


# ── the page ────────────────────────────────────────────────────────────────────────────────────


def html(results: Results, pictures: dict[str, str]) -> str:
    """The page, its pictures by the names of their figures."""
    outcomes = {d.figure.name: d.verdict.outcome for d in results.drawn}
    outcomes |= {example.name: worked.verdict.outcome for example, worked in results.worked}
    body = "\n".join(
        [
            _head(results, Counter(outcomes.values())),
            "<main>",
            _overview(results),
            *(_paper(key, results, pictures) for key in PAPERS if _has(results, key)),
            "</main>",
            _foot(results.circumstances),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        "<title>The papers’ figures, by covey</title>\n"
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _has(results: Results, paper: str) -> bool:
    names = [d.figure.paper for d in results.drawn] + [e.paper for e, _ in results.worked]
    return paper in names


def _head(results: Results, counts: Counter[Outcome]) -> str:
    told = results.circumstances
    how = "a quick run on small samples" if told.quick else "a full run"
    cards = "".join(
        f'<li class="{_CLASSES[outcome]}"><b>{counts[outcome]}</b> {_OF_MANY[outcome]}</li>'
        for outcome in Outcome
        if counts[outcome]
    )
    return (
        "<header>\n<h1>The papers’ figures, drawn anew</h1>\n"
        "<p class=lead>Each figure of three papers on k-anonymity by clustering, from covey’s own "
        "methods, beside what the paper claims and whether the points bear it out. covey’s own "
        "method is one more line in each, the thick one.</p>\n"
        f"<p>Of {counts.total()} claims</p>\n<ul class=counts>{cards}</ul>\n"
        f"<p class=quiet>{escape(told.date)}, {how}. Lines are means; the bands around them run "
        f"from the least to the most of {told.runs} runs of methods that draw at random. Others "
        "run once.</p>\n</header>"
    )


def _overview(results: Results) -> str:
    cards = "".join(
        f"<div><h3>{escape(PAPERS[paper].title)}</h3><ul>"
        + "".join(
            f'<li class="{_CLASSES[verdict.outcome]}">'
            f"<span class=sign>{_sign(verdict.outcome)}</span>"
            f'<a href="#{name}">{escape(number)}</a> {escape(title)}</li>'
            for name, number, title, verdict in _entries(results, paper)
        )
        + "</ul></div>\n"
        for paper in PAPERS
        if _has(results, paper)
    )
    return (
        "<nav aria-labelledby=overview>\n<h2 id=overview>At a glance</h2>\n"
        f"<div class=glance>\n{cards}</div>\n</nav>"
    )


def _entries(results: Results, paper: str) -> Iterator[tuple[str, str, str, Verdict]]:
    for example, worked in results.worked:
        if example.paper == paper:
            yield example.name, example.number, example.title, worked.verdict
    for drawn in results.drawn:
        if drawn.figure.paper == paper:
            figure = drawn.figure
            yield figure.name, figure.number, figure.title, drawn.verdict


def _paper(key: str, results: Results, pictures: dict[str, str]) -> str:
    paper = PAPERS[key]
    parts = [_example(e, worked) for e, worked in results.worked if e.paper == key]
    parts += [
        _figure(d, pictures.get(d.figure.name)) for d in results.drawn if d.figure.paper == key
    ]
    return (
        f"<section aria-labelledby={key}>\n<h2 id={key}>{escape(paper.title)}</h2>\n"
        f"<p class=source>{escape(paper.source)}</p>\n<p>{escape(paper.about)}</p>\n"
        + "\n".join(parts)
        + "\n</section>"
    )


def _figure(drawn: Drawn, picture: str | None) -> str:
    figure = drawn.figure
    shown = "<p class=quiet>No point has been taken yet.</p>"
    if picture is not None:
        dark = _address(charts.in_the_dark(picture))
        shown = (
            f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
            f'<img src="{_address(picture)}" alt="{escape(_in_words(drawn))}"></picture>'
        )
    data = f"{drawn.origin}; {drawn.setting}"
    if drawn.left_out:
        places = ", ".join(f"{x:,}" for x in drawn.left_out)
        data += f"; the table has too few rows for n = {places}"
    return _article(
        figure.name,
        f"{figure.number}: {figure.title}",
        f"<figure>{shown}<figcaption>Data: {_unbroken(data)}</figcaption></figure>",
        figure.claim,
        drawn.verdict,
        f"<p class=own>{escape(standing(figure, drawn.curves))}</p>{_numbers(drawn)}",
    )


def _example(example: Example, worked: Worked) -> str:
    table = _table(worked.head, worked.rows)
    return _article(
        example.name,
        f"{example.number}: {example.title}",
        f"<figure>{table}<figcaption>Data: {_unbroken(example.origin)}</figcaption></figure>",
        example.claim,
        worked.verdict,
        "",
    )


def _article(name: str, title: str, shown: str, claim: str, verdict: Verdict, more: str) -> str:
    findings = "".join(
        f'<li class="{_CLASSES[finding.outcome]}">'
        f"<span class=sign>{_sign(finding.outcome)}</span>{escape(finding.says)}</li>"
        for finding in verdict.findings
    )
    return (
        f'<article id="{name}" aria-labelledby="{name}-title">\n'
        f'<h3 id="{name}-title">{escape(title)}</h3>\n<div class=beside>\n{shown}\n'
        f"<div>\n<h4>The paper’s claim</h4>\n<blockquote>{escape(claim)}</blockquote>\n"
        f"<h4>What the points say</h4>\n<p>The claim {_badge(verdict.outcome)}</p>\n"
        f"<ul class=findings>{findings}</ul>\n{more}\n</div>\n</div>\n</article>"
    )


def _numbers(drawn: Drawn) -> str:
    """The points as a table, for those who see no picture and those who want digits."""
    places = sorted({x for curve in drawn.curves.values() for x in curve.x})
    head = (drawn.figure.x_title, *drawn.curves)
    rows = [
        (
            f"{x:,.0f}",
            *(_value(curve.at(x)) if x in curve.x else "" for curve in drawn.curves.values()),
        )
        for x in places
    ]
    return f"<details><summary>The numbers</summary>{_table(head, rows)}</details>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = "".join(f"<th scope=col>{escape(name)}</th>" for name in head)
    lines = "".join(
        f"<tr><th scope=row>{escape(row[0])}</th>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        '<div class=scroll tabindex=0 role=group aria-label="Numbers"><table class=numbers>'
        f"<thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def standing(figure: Figure, curves: Curves) -> str:
    """Where covey's own method stands beside the best of the paper's."""
    own = curves[OWN]
    if not own.x:
        return ""
    if figure.y is SECONDS:
        return (
            f"covey’s own method takes {_value(min(own.y))} to {_value(max(own.y))} s, those of "
            "all its threads together."
        )
    high_is_good = figure.y.measure == "precision"
    gains = []
    for x in own.x:
        others = [curve.at(x) for label, curve in curves.items() if label != OWN and x in curve.x]
        best = (max if high_is_good else min)(others, default=0.0)
        if best:
            gains.append(own.at(x) / best - 1)
    if not gains:
        return ""
    return (
        f"covey’s own method against the best of the others, point by point: "
        f"{signed(min(gains))} to {signed(max(gains))} in {figure.y.title.split(',')[0]}."
    )


def _in_words(drawn: Drawn) -> str:
    """What the picture shows, for those who do not see it."""
    figure = drawn.figure
    ends = [
        f"{label} from {_value(curve.y[0])} to {_value(curve.y[-1])}"
        for label, curve in drawn.curves.items()
        if curve.y
    ]
    return f"Lines of {figure.y.title} over {figure.x_title}: {'; '.join(ends)}."


def _foot(told: Circumstances) -> str:
    return (
        "<footer>\n<h2>How it was made</h2>\n"
        f"<p>{escape(told.date)}, with <code>{escape(told.command)}</code>, "
        f"{escape(told.machine)}. "
        "Seconds are the processor’s, of forming groups alone, one run at a time, after all "
        "has been compiled. Every run is a line of <code>points.csv</code>, every point of figures "
        f"one of <code>{SUMMARY}</code>.</p>\n"
        "<p>A claim <em>holds</em> if all its parts hold everywhere, <em>does not hold</em> if "
        "none holds anywhere, and else <em>holds in part</em>.</p>\n</footer>"
    )


def _badge(outcome: Outcome) -> str:
    return (
        f'<span class="badge {_CLASSES[outcome]}">'
        f"<span class=sign aria-hidden=true>{_SIGNS[outcome]}</span>{escape(outcome.value)}</span>"
    )


def _sign(outcome: Outcome) -> str:
    return (
        f"<span aria-hidden=true>{_SIGNS[outcome]}</span>"
        f"<span class=unseen>{escape(outcome.value)}: </span>"
    )


def _unbroken(text: str) -> str:
    """Text in which no line ends within `n = 3,000`."""
    return escape(text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"))


def _value(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _address(picture: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(picture.encode()).decode()


_CLASSES = {
    Outcome.HOLDS: "holds",
    Outcome.IN_PART: "part",
    Outcome.FAILS: "fails",
    Outcome.OPEN: "open",
}
_OF_MANY = {
    Outcome.HOLDS: "hold",
    Outcome.IN_PART: "hold in part",
    Outcome.FAILS: "do not hold",
    Outcome.OPEN: "not measured yet",
}
_SIGNS = {Outcome.HOLDS: "✓", Outcome.IN_PART: "◐", Outcome.FAILS: "✕", Outcome.OPEN: "…"}

_STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fbfbf9; --card: #ffffff; --ink: #1b1f24; --quiet: #56606a; --line: #dde2e6;
  --holds: #12643c; --part: #7a5200; --fails: #a3262a; --open: #56606a;
  --holds-tint: #e4f3ea; --part-tint: #fbf0d9; --fails-tint: #fbe6e5; --open-tint: #eceff1;
  --link: #1f5a7a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181c; --card: #1b2026; --ink: #e6eaee; --quiet: #a3adb7; --line: #333b44;
    --holds: #7ed6a5; --part: #ecc06a; --fails: #ff9c98; --open: #a3adb7;
    --holds-tint: #173226; --part-tint: #382c12; --fails-tint: #3d1d1e; --open-tint: #272e36;
    --link: #8cc8ea;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 3rem 1.5rem 4rem; max-width: 76rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.6 system-ui, "Segoe UI", "Noto Sans", sans-serif;
}
h1, h2, h3, h4 { line-height: 1.25; font-weight: 650; }
h1 { font-size: 2.1rem; margin: 0 0 .8rem; letter-spacing: -.01em; }
h2 { font-size: 1.5rem; margin: 4rem 0 .4rem; }
h3 { font-size: 1.15rem; margin: 0 0 1rem; }
h4 {
  font-size: .78rem; margin: 0 0 .4rem; color: var(--quiet); letter-spacing: .05em;
  text-transform: uppercase;
}
p { max-width: 46rem; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible, .scroll:focus-visible {
  outline: 2px solid var(--link); outline-offset: 2px;
}
.lead { font-size: 1.15rem; }
.quiet, .source, figcaption { color: var(--quiet); }
.source { font-style: italic; margin-top: 0; }
.counts {
  display: flex; flex-wrap: wrap; gap: .8rem; padding: 0; margin: 1.6rem 0; list-style: none;
}
.counts li { padding: .5rem 1.1rem; border-radius: .6rem; }
.counts b { font-size: 1.3rem; margin-right: .3rem; }
.glance { display: grid; gap: 1.5rem 2.2rem; margin-top: 1.2rem; }
@media (min-width: 60rem) { .glance { grid-template-columns: repeat(3, 1fr); } }
.glance h3 { font-size: 1rem; margin: 0 0 .5rem; }
.glance ul { margin: 0; padding: 0; list-style: none; font-size: .93rem; }
.glance li { padding: .12rem 0 .12rem 1.4em; text-indent: -1.4em; color: var(--ink); }
.glance .sign { text-indent: 0; font-weight: 700; }
article {
  margin: 1.6rem 0; padding: 1.5rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .8rem;
}
.beside { display: grid; gap: 1.5rem 2.2rem; }
@media (min-width: 60rem) { .beside { grid-template-columns: 35rem 1fr; } }
figure { margin: 0; min-width: 0; }
figure img { display: block; width: 100%; height: auto; }
figcaption { font-size: .85rem; margin-top: .5rem; }
blockquote { margin: 0 0 1.3rem; padding-left: .9rem; border-left: 3px solid var(--line); }
.badge {
  display: inline-block; padding: .05rem .6rem; border-radius: 1rem; font-size: .9rem;
  font-weight: 600; white-space: nowrap;
}
.sign { display: inline-block; width: 1.4em; }
.holds { color: var(--holds); } .part { color: var(--part); }
.fails { color: var(--fails); } .open { color: var(--open); }
.badge.holds, .counts .holds { background: var(--holds-tint); }
.badge.part, .counts .part { background: var(--part-tint); }
.badge.fails, .counts .fails { background: var(--fails-tint); }
.badge.open, .counts .open { background: var(--open-tint); }
.findings { padding: 0; margin: 0 0 1rem; list-style: none; font-size: .93rem; }
.findings li { padding-left: 1.4em; text-indent: -1.4em; margin: .3rem 0; color: var(--ink); }
.findings .sign { text-indent: 0; font-weight: 700; }
li.holds .sign { color: var(--holds); } li.part .sign { color: var(--part); }
li.fails .sign { color: var(--fails); } li.open .sign { color: var(--open); }
.own { font-size: .93rem; padding-top: .8rem; border-top: 1px solid var(--line); }
.unseen {
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap;
}
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem 1.1rem .35rem 0; text-align: left; border-bottom: 1px solid var(--line); }
thead th { color: var(--quiet); font-weight: 600; }
.numbers { margin-top: .6rem; font-size: .85rem; }
.numbers td, .numbers thead th:not(:first-child) { text-align: right; }
.numbers tbody th { font-weight: 400; }
summary { cursor: pointer; color: var(--link); font-size: .93rem; }
code { font-size: .9em; overflow-wrap: anywhere; }
footer { margin-top: 4rem; border-top: 1px solid var(--line); }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  article { break-inside: avoid; border-color: #ccc; }
  .beside { grid-template-columns: 55% 1fr; }
  details { display: none; }
  a { color: inherit; }
}
"""
