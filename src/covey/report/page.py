"""The report as a web page: what was required, what holds, and what was lost.

Every figure comes from the report, longer sentences from `page.toml`. The first screen answers a
custodian's first question in plain words. The rest explains, and gives the numbers of each chart to
anyone who wants them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from covey.declared import declared
from covey.errors import THIN_SPACE, count, percent
from covey.html import (
    Html,
    Part,
    element,
    explained,
    facts,
    figure,
    scrolled,
    table,
    together,
)
from covey.html import page as document
from covey.measures.histograms import MISSING, Distribution
from covey.measures.loss import DEFINITIONS, ColumnLoss
from covey.measures.marginals import Marginals
from covey.measures.singling import Attempt
from covey.measures.utility import UseFigures, Utility, shown
from covey.report import charts, earlier
from covey.report.charts import BEFORE, LINE, SOFT, Bar
from covey.report.headline import SIGNS
from covey.report.singled import by
from covey.schema.taxonomy import ROOT
from covey.verification import Risks
from covey.verification.rounding import share
from covey.verification.sensitive import SIMILAR

if TYPE_CHECKING:
    from covey.report import Report

_WORDS = declared("covey.report", "page.toml")


def _words(section: str, name: str, **values: object) -> str:
    """A sentence of the page, with these values in it."""
    return str(_WORDS[section][name]).format(**values)


def _quiet(text: str) -> Html:
    return element("p", text, class_="quiet")


def page(report: "Report") -> str:
    """The whole page."""
    sections = (
        *(_open_points, _promise, _risks, _singled, _classes, _earlier),
        *(_readable, _loss, _utility, _before_and_after, _curve, _configuration),
    )
    parts = [part for section in sections if (part := section(report)) is not None]
    title = report.about is not None and report.about.title
    return document(
        title or f"Report on a release of {count(report.rows.released, 'row')}",
        _header(report),
        _contents(parts),
        element("main", *(part.shown for part in parts)),
        element("footer", element("p", f"What this does not guarantee: {report.limits}")),
    )


class _Section(NamedTuple):
    """A part of the page with a title, which the contents list."""

    title: str
    anchor: str
    shown: Html


def _section(anchor: str, *inside: Part) -> _Section:
    title = _words(anchor, "title")
    head = element("h2", title, id=anchor)
    return _Section(title, anchor, element("section", head, *inside, aria_labelledby=anchor))


def _contents(parts: Sequence[_Section]) -> Html:
    listed = [element("li", element("a", part.title, href=f"#{part.anchor}")) for part in parts]
    return element("nav", element("ul", *listed), aria_label="Contents", class_="contents")


# ── the first screen ────────────────────────────────────────────────────────────────────────────


def _header(report: "Report") -> Html:
    headline = report.headline
    state = f"{SIGNS[headline.level]} {headline.state}"
    brand = element(
        "p",
        element("span", "covey ", report.version, " · report on a release"),
        element("span", report.date),
        class_="brand",
    )
    return element(
        "header",
        element(
            "div",
            brand,
            *_about(report),
            element("p", state, class_=f"verdict {headline.level}"),
            element("h1", _sentence(headline.text)),
            element("p", *_lead(report), class_="lead"),
            facts(_facts(report)),
        ),
    )


def _about(report: "Report") -> Iterator[Html]:
    """What the custodian says about the release."""
    if report.about is None:
        return
    if report.about.title is not None:
        yield element("p", report.about.title, class_="title")
    if given := report.about.statements():
        rows = (element("div", element("dt", name), element("dd", text)) for name, text in given)
        yield element("dl", *rows, class_="about")


def _lead(report: "Report") -> Sequence[Part]:
    columns = _listed([element("strong", column.name) for column in report.losses.columns])
    if not report.verdict.holds:
        wrong = *_broken(report), *_unjudged(report)
        return *wrong, "The columns checked are ", columns, "."
    if not report.verdict.alike:
        ways = _words("first", "rings", k=f"{report.k:,}")
        return ways, " ", columns, ", with the original table."
    fewer = [
        f"to rows of fewer than {check.asked:,.0f} persons"
        if check.requirement.counted == "persons"
        else f"to fewer than {check.asked:,.0f} of the "
        f"{count(report.rows.released, 'released row')}"
        for check in report.verdict.class_sizes
    ]
    verified = _words("first", "verified", judged=_judged(report))
    return f"No one can be linked {' or '.join(fewer)} by ", columns, " ", verified


def _broken(report: "Report") -> Iterator[Part]:
    """What is wrong with the release."""
    broken = [c.name for c in report.verdict.checks if c.judged and not c.holds]
    if broken:
        yield "The verifier found that the released cells do not meet "
        yield from (_listed(broken), ". ")
    if report.verdict.identifiers:
        yield "The table still has columns that must be removed: "
        yield from (_listed(report.verdict.identifiers), ". ")


def _unjudged(report: "Report") -> Iterator[Part]:
    """What the verifier could not check, and why."""
    for check in report.verdict.checks:
        if not check.judged:
            yield f"It is unknown whether the release meets {check.name}: "
            yield f"{check.reason}. "


def _listed(parts: Sequence[Part]) -> Html:
    return together(
        part
        for place, item in enumerate(parts)
        for part in ((", " if place < len(parts) - 1 else " and ") if place else None, item)
    )


def _facts(report: "Report") -> Iterator[tuple[str, str, str]]:
    rows, alike = report.rows, report.verdict.alike
    same = "cannot be distinguished" if alike else "may be anyone's"
    for size in report.verdict.class_sizes:
        found = size.found if size.judged else size.answer
        what = f"minimum number of {size.requirement.counted} that {same}"
        yield "k, required and found", f"{size.asked:,.0f} → {found}", what
    if alike and report.verdict.risks.prosecutor is not None:
        risk = percent(report.verdict.risks.prosecutor)
        why = report.verdict.why_higher
        what = "chance that someone who knows a person picks their row"
        yield "highest risk", risk, f"{what}: {why}" if why else what
    if worst := report.singled.worst:
        yield "singled out all the same", _figures(worst)[0], f"rows, by {by(worst)}"
    lost = percent(share(report.mean_loss))
    yield "information lost", lost, "per cell of these columns, on average"
    combined = report.composition
    if combined is not None and (every := combined.compared + len(combined.incomparable)):
        others = (
            f"of {every:,} in the register: {combined.earlier:,} with people of this one, "
            f"{len(combined.incomparable):,} could not be compared"
        )
        yield "earlier releases compared", f"{combined.compared:,}", others
    left_out = rows.read - rows.released
    yield "rows not released", f"{left_out:,}", f"of {count(rows.read, 'row')} in the original"


def _open_points(report: "Report") -> _Section:
    points = [element("li", _sentence(text)) for text in report.points]
    general = [element("li", _sentence(text), class_="plain") for text in report.reminders]
    number = f"{count(len(points), 'point')} to check in this release:"
    return _section(
        "before-you-publish",
        element("p", number if points else _words("before-you-publish", "nothing")),
        element("ul", *points, class_="minded") if points else None,
        _quiet("For every release:"),
        element("ul", *general, class_="minded"),
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


# ── requirements ────────────────────────────────────────────────────────────────────────────────


def _promise(report: "Report") -> _Section:
    return _section(
        "requirements",
        scrolled(report.verdict.table(explained=True), "requirements"),
        _missing_cells(report),
    )


def _missing_cells(report: "Report") -> Html | None:
    verdict = report.verdict
    if verdict.k_wildcard is None or verdict.k_wildcard == verdict.k or not report.verdict.alike:
        return None
    return _quiet(_words("requirements", "missing", rows=count(verdict.k_wildcard, "row")))


# ── risks ───────────────────────────────────────────────────────────────────────────────────────


def _risks(report: "Report") -> _Section | None:
    verdict, risks = report.verdict, report.verdict.risks
    if not verdict.alike:
        return None
    rows = [(explained(who, how), percent(risk)) for who, risk, how in risks.rows()]
    inside = [element("p", _words("risks", "unknown", person=risks.person))]
    if rows:
        inside = [
            element("p", _words("risks", "attackers")),
            scrolled(table(("attacker", "risk"), rows, numbers=(1,)), "risks"),
            _quiet(_population(risks)),
        ]
    return _section("risks", *inside, *(_sensitive(report) if verdict.achieved else ()))


def _population(risks: Risks) -> str:
    """Whose rows these may be."""
    if risks.population is not None:
        return _words("risks", "population", rows=count(risks.population, "row"))
    persons = _words("risks", "persons", person=risks.person) + " " if risks.person else ""
    return persons + _words("risks", "no_population")


def _sensitive(report: "Report") -> Iterator[Html]:
    """What classes reveal about sensitive values, whether or not anything was required."""
    achieved = report.verdict.achieved
    figures = [
        ("rows whose value is certain", [percent(a.certain) for a in achieved]),
        ("fewest values in a class", [f"{a.distinct_l:,}" for a in achieved]),
        ("largest share of one value in a class", [percent(a.alpha) for a in achieved]),
        ("largest distance from the whole table", [f"{a.t_equal:.3f}" for a in achieved]),
    ]
    ordered = any(a.t_ordered is not None for a in achieved)
    if ordered:
        figures += [
            ("the same, by the order of values",
             ["–" if a.t_ordered is None else f"{a.t_ordered:.3f}" for a in achieved]),
            ("rows in classes of nearly equal numbers",
             ["–" if a.similar is None else percent(a.similar) for a in achieved]),
        ]  # fmt: skip
    head = ("sensitive column", *(title for title, _ in figures))
    rows = [
        (one.column, *(cells[place] for _, cells in figures)) for place, one in enumerate(achieved)
    ]
    yield element("h3", "What a class reveals about sensitive columns")
    yield element("p", _words("risks", "sensitive"))
    if ordered:
        yield element("p", _words("risks", "ordered", similar=percent(SIMILAR)))
    yield scrolled(table(head, rows, numbers=range(1, len(head))), "sensitive columns")


# ── columns that are shown as they are ──────────────────────────────────────────────────────────


def _singled(report: "Report") -> _Section | None:
    """Whom columns single out that are released as they are, if others know them."""
    found = report.singled
    if not found.columns:
        return None
    tried = [(by(one), *_figures(one)) for one in found.attempts[:_MOST_TRIED]]
    apart = [(f"{by(one)} (known to nobody beforehand)", *_figures(one)) for one in found.apart]
    columns = [
        (c.name, c.role, c.proposed, c.reason, c.confirmed or ("open" if c.is_in_doubt else "–"))
        for c in found.columns
    ]
    head = ("someone who knows", "rows singled out", "rows that fewer than k rows fit")
    return _section(
        "singled-out",
        element("p", _words("singled-out", "columns")),
        scrolled(table(head, [*tried, *apart], numbers=(1, 2)), "attempts")
        if tried or apart
        else element("p", _words("singled-out", "nothing")),
        scrolled(
            table(("column", "role", "covey would say", "why", "confirmed"), columns), "roles"
        ),
    )


_MOST_TRIED = 12


def _figures(attempt: Attempt) -> tuple[str, str]:
    about = "about " if attempt.sampled else ""
    return f"{about}{attempt.rows:,}", f"{about}{attempt.few:,}"


# ── classes ─────────────────────────────────────────────────────────────────────────────────────


def _classes(report: "Report") -> _Section | None:
    if not report.classes:
        return None
    verdict = report.verdict
    rows = [
        (_sizes(some.least, some.most), f"{some.classes:,}", f"{some.rows:,}")
        for some in report.classes
    ]
    numbers = table(("rows in a class", "classes", "rows"), rows, numbers=(1, 2))
    names = [name for name, _, _ in rows]
    values = [
        Bar(place, 0, some.rows, LINE, text=f"{some.rows:,}")
        for place, some in enumerate(report.classes)
    ]
    are = "is" if verdict.classes == 1 else "are"
    sizes = element("p", _words("classes", "sizes", are=are, sizes=verdict.sizes))
    drawn = _drawn(charts.bars, names, values, thick=18)
    caption = "Number of rows in classes of each size."
    picture = figure(drawn, "Rows in classes of each size", caption, numbers=numbers)
    return _section("classes", _beside(element("div", sizes), picture))


def _earlier(report: "Report") -> _Section | None:
    """What this release and earlier ones of the same people protect together."""
    found = report.composition
    if not report.follows and (found is None or not found.earlier):
        return None
    rows = [(explained(name, how), value) for name, how, value in earlier.figures(report)]
    costs = earlier.price(report)
    return _section(
        "earlier",
        element("p", _words("earlier", "followed" if report.follows else "combined")),
        scrolled(table(("all releases together", ""), rows, numbers=(1,)), "earlier releases"),
        element("p", _sentence(costs)) if costs else None,
    )


def _drawn(draw: Callable[..., Any], *content: Any, **settings: Any) -> str | None:
    """The picture, or None where the packages for charts are not installed."""
    return charts.svg(draw(*content, **settings)) if charts.available() else None


def _beside(*parts: Html) -> Html:
    """Side by side if there is room."""
    return element("div", *parts, class_="pair")


def _sizes(least: int, most: int) -> str:
    return f"{count(least, 'row')}" if least == most else f"{least:,} to {most:,} rows"


# ── what is left ────────────────────────────────────────────────────────────────────────────────


def _readable(report: "Report") -> _Section:
    """What the release shows, in natural units, and a few of its rows."""
    rows = [(column.column, _sentence(str(column))) for column in report.shown]
    return _section(
        "readable",
        element("p", _words("readable", "widths")),
        scrolled(table(("column", "what its cells show"), rows), "what cells show"),
        *_some_rows(report),
    )


def _some_rows(report: "Report") -> Iterator[Html]:
    sample = report.sample
    if sample is None:
        return
    lines = sample.lines()
    if sample.alike:
        lines.append(("rows like it", *(f"{alike:,}" for alike in sample.alike)))
    number = len(sample.rows)
    several = f"{number} different rows, at equal steps of the released order: "
    yield element("h3", "Some rows of the release")
    yield element(
        "p",
        several if number > 1 else "All rows are alike: ",
        _words("readable", "sample"),
        f" {ROOT} stands for any value." if any(ROOT in row for row in sample.rows) else None,
    )
    head = ("column", *(f"row {place + 1}" for place in range(number)))
    yield scrolled(table(head, lines), "released rows")


# ── loss ────────────────────────────────────────────────────────────────────────────────────────


def _loss(report: "Report") -> _Section:
    losses = report.losses
    everything = sum(column.weight for column in losses.columns) * losses.rows
    total = _words(
        "loss", "total", total=f"{losses.total_il:,.1f}", everything=f"{everything:,.0f}"
    )
    parts = "levels" if losses.measure in ("height", "level") else "values"
    return _section(
        "loss",
        element("p", _words("loss", "mean", lost=percent(share(report.mean_loss)))),
        _beside(_paying_columns(report), _paying_rows(report)),
        element("h3", "Column by column"),
        _quiet(_words("loss", "relative", parts=parts)),
        _column_losses(report),
        element(
            "details",
            element("summary", "All measures, and what they mean"),
            element("p", total),
            table(("measure", "value"), losses.figures(), numbers=(1,)),
            _worst_rows(report),
            element("ul", *(element("li", text) for text in DEFINITIONS.values()), class_="small"),
        ),
    )


def _by_share(report: "Report") -> list[ColumnLoss]:
    return sorted(report.losses.columns, key=lambda column: -column.share)


def _paying_columns(report: "Report") -> Html:
    rows = [(column.name, percent(column.share)) for column in _by_share(report)]
    values = [
        Bar(place, 0, column.share, LINE, text=percent(column.share))
        for place, column in enumerate(_by_share(report))
    ]
    numbers = table(("column", "share of the loss"), rows, numbers=(1,))
    drawn = _drawn(charts.bars, [name for name, _ in rows], values, thick=18)
    caption = "Each column's share of the total loss."
    return element(
        "div",
        element("h3", "Which columns lose most"),
        figure(drawn, "Share of the loss by column", caption, numbers=numbers),
    )


def _paying_rows(report: "Report") -> Html:
    head = ("rows that lose most", "share of the loss")
    rows = [
        (f"{worst.percent:g}{THIN_SPACE}% ({worst.rows:,})", percent(worst.share))
        for worst in report.losses.worst
    ]
    return element(
        "div",
        element("h3", "Which rows lose most"),
        element("p", _words("loss", "rows")),
        scrolled(table(head, rows, numbers=(1,)), head[0]),
    )


def _worst_rows(report: "Report") -> Html:
    rows = [
        (f"without the worst {worst.percent:g}{THIN_SPACE}% of rows", f"{worst.without:,.1f}")
        for worst in report.losses.worst
    ]
    return table(("Total-IL", "value"), rows, numbers=(1,))


def _column_losses(report: "Report") -> Html:
    relative = {column.column: column.relative_to for column in report.shown}
    head = ("column", "weight", "mean loss of a cell", "relative to", "share of the loss")
    rows = [
        (
            explained(column.name, next(text for most, text in _COARSE if column.il <= most)),
            f"{column.weight:g}",
            percent(column.il),
            relative[column.name],
            percent(column.share),
        )
        for column in _by_share(report)
    ]
    return scrolled(table(head, rows, numbers=(1, 2, 4)), "loss by column")


_COARSE = (
    (0.0, "Unchanged"),
    (0.05, "Nearly unchanged"),
    (0.3, "Somewhat coarser"),
    (0.6, "Much coarser"),
    (0.9, "Little is left"),
    (2.0, "Almost nothing is left"),
)


# ── what it is good for ─────────────────────────────────────────────────────────────────────────


_MOST_MAPPED = 14  # columns of the heat map
_WORST = 12  # pairs that are listed


def _utility(report: "Report") -> _Section | None:
    """How much an analyst of the release finds, as far as others may know."""
    found = report.utility
    if found is None:
        return None
    return _section("utility", *utility_parts(found), _quiet(_words("utility", "figures")))


def utility_parts(found: Utility) -> Iterator[Html]:
    """Its figures, declared uses and pairs of columns, in a report or beside the original."""
    kept = found.marginals
    figures = [
        ("pairs of columns", f"{kept.score:,.0f} of 1,000", _words("utility", "pairs")),
        ("as good as a sample of", percent(kept.as_sample), _words("utility", "sample")),
    ]
    if found.uses:
        number = sum(use.is_kept for use in found.uses)
        what = f"of {count(len(found.uses), 'declared use')}: an analyst would conclude the same"
        figures.append(("uses kept", f"{number:,}", what))
    if found.pmse_ratio is not None:
        figures.append(("pMSE ratio", f"{found.pmse_ratio:,.1f}", _words("utility", "pmse")))
    yield element("p", _words("utility", "drawn", draws=f"{found.draws:,}"))
    yield facts(figures)
    if found.uses:
        yield element("h3", "Declared uses")
        yield _use_figures(found.uses)
    yield element("h3", "Which pairs of columns keep least")
    yield _pairs_of_columns(kept)
    figures_of_columns = element("summary", "Means, quartiles and correlations")
    yield element("details", figures_of_columns, _use_figures(found.columns))


def _use_figures(uses: Sequence[UseFigures]) -> Html:
    """The figures of some uses, those of the original only if they are known."""
    head, rows = shown(uses)
    grid = table(head, rows, numbers=range(1, len(head) - 1))
    return scrolled(grid, "figures of uses", class_="scroll wrapped")


def _pairs_of_columns(kept: Marginals) -> Html:
    """The share of rows that each pair of columns shows elsewhere."""
    worst = kept.worst
    names = [*dict.fromkeys(name for pair in worst for name in pair)][:_MOST_MAPPED]
    mapped = sorted(names)
    rows = [(" and ".join(pair), percent(kept.distances[pair])) for pair in worst[:_WORST]]
    numbers = table(("columns", "rows moved"), rows, numbers=(1,))
    drawn = _drawn(charts.heat_map, mapped, kept.distances) if len(mapped) > 1 else None
    caption = _words("utility", "map")
    return figure(drawn, "Rows moved, by pair of columns", caption, numbers=numbers, wide=True)


# ── before and after ────────────────────────────────────────────────────────────────────────────


def _before_and_after(report: "Report") -> _Section:
    shown = {column.column: str(column) for column in report.shown}
    bins = [bin_ for column in report.distributions for bin_ in column.bins]
    both, k = any(bin_.before is not None for bin_ in bins), f"{report.k:,}"
    keys = {
        "before": "before: rows of the original" if both else None,
        "certain": "after: rows that certainly have the value",
        "spread": "after: rows that may have it, spread evenly over what their cells cover",
        "untold": "a number that is not shown" if _withholds(report) else None,
    }
    notes = [_words("columns", "hidden", k=k)]
    if both:
        notes.append(_words("columns", "withheld", k=k))
    if report.rows.dropped + report.rows.suppressed:
        notes.append(_words("columns", "left_out" if both else "left_out_unknown"))
    columns = (_column(d, report.k, shown[d.column], both=both) for d in report.distributions)
    return _section(
        "columns",
        element("p", _words("columns", "both" if both else "after")),
        _quiet(" ".join(notes)),
        element("ul", *(element("li", t, class_=k) for k, t in keys.items() if t), class_="legend"),
        element("div", *columns, class_="gallery"),
    )


def _withholds(report: "Report") -> bool:
    """Whether a bar is drawn as an outline."""
    return any(
        bin_.after is None or (bin_.before is None and any(b.before is not None for b in d.bins))
        for d in report.distributions
        for bin_ in d.bins
    )


def _column(column: Distribution, k: int, shown: str, *, both: bool) -> Html:
    """One column; `both` if the page shows numbers before of any column."""
    before, few = any(bin_.before is not None for bin_ in column.bins), f"< {k:,}"
    lane = int(before)
    values = []
    for place, bin_ in enumerate(column.bins):
        if before:
            values.append(_bar(place, bin_.before, BEFORE, "withheld"))
        certain = float(bin_.certain or 0)
        if certain:
            values.append(Bar(place, 0, certain, LINE, lane))
        after = bin_.after and max(bin_.after, certain)
        values.append(_bar(place, after, SOFT, few)._replace(low=certain, lane=lane))
    ranges = [charts.Range(bin_.label, bin_.ends) for bin_ in column.bins]
    drawn = (
        _drawn(charts.histogram, ranges, values)
        if any(range_.ends for range_ in ranges)
        else _drawn(charts.bars, [r.name for r in ranges], values, thick=11 if before else 14)
    )
    rows = [
        (
            bin_.label,
            *([_number(bin_.before, "withheld")] if before else []),
            *(_number(number, few) for number in (bin_.after, bin_.certain)),
        )
        for bin_ in column.bins
    ]
    head = ("value", *(["before"] if before else []), "after", "certain")
    with_missing = any(bin_.ends and bin_.label.endswith(f"or {MISSING}") for bin_ in column.bins)
    also = " The last bar includes missing values." if with_missing else ""
    also += " All numbers before are withheld." if both and not before else ""
    caption = together((element("strong", column.column), element("br"), _sentence(shown), also))
    name = f"{column.column}: rows with each value, {'before and ' if before else ''}after"
    return figure(drawn, name, caption, numbers=table(head, rows, numbers=(1, 2, 3)))


def _bar(place: int, number: float | None, colour: str, withheld: str) -> Bar:
    """A bar, or an outline with a word if its number is not shown."""
    if number is None:
        return Bar(place, 0, 0, colour, withheld=withheld)
    return Bar(place, 0, float(number), colour)


def _number(number: float | None, withheld: str) -> str:
    return withheld if number is None else f"{number:,.0f}"


# ── the rest ────────────────────────────────────────────────────────────────────────────────────


def _curve(report: "Report") -> _Section | None:
    if report.curve is None:
        return None
    curve, shares = report.curve.to_dict(), ["highest_risk", "average_risk", "loss"]
    head = ["k", "highest risk", "average risk", "loss"]
    if any(point.get("uses_kept") is not None for point in curve["points"]):
        shares += ["uses_kept", "uses_overlap"]
        head += ["uses kept", "their overlap"]
    rows = [
        (
            f"{point['k']:,}",
            *(percent(point[name]) for name in shares),
            f"{point['total_il']:,.1f}",
            f"{point['groups']:,}",
        )
        for point in curve["points"]
    ]
    head += ["Total-IL", "groups"]
    numbers = table(head, rows, numbers=range(len(head)))
    drawn = _drawn(report.curve.chart, chosen=report.k)
    name = _words("other-k", "picture", k=f"{report.k:,}")
    return _section(
        "other-k",
        element("p", _words("other-k", "curve")),
        figure(drawn, name, numbers=numbers, wide=True),
        _marks(curve["marks"]),
    )


def _marks(marks: Sequence[dict[str, Any]]) -> Html:
    """The published rules in the picture, with their sources."""
    rows = [
        (
            f"{mark['k']:,}",
            mark["says"],
            f"{mark['publisher']}: {mark['title']}, {mark['year'] or 'undated'}. {mark['source']}",
        )
        for mark in marks
    ]
    return element(
        "details",
        element("summary", "Published rules in the picture, and their sources"),
        element("p", _words("other-k", "rules")),
        table(("k", "what it says", "source"), rows, numbers=(0,)),
    )


def _configuration(report: "Report") -> _Section:
    settings = report.configuration
    columns = [
        (
            explained(name, _details(column)),
            column["role"],
            column.get("type"),
            column.get("weight") and f"{column['weight']:g}",
        )
        for name, column in settings["columns"].items()
    ]
    rest: list[tuple[Part, Part]] = [
        *_written(report),
        ("rows read, dropped for missing cells, suppressed, released",
         " · ".join(f"{n:,}" for n in (report.rows.read, report.rows.dropped,
                                       report.rows.suppressed, report.rows.released))),
        ("method", report.method or "unknown: the release was made elsewhere"),
        *((f"option {name}", str(value)) for name, value in report.options.items()),
        ("order of the rows", report.order),
        *((("fingerprint of the key", element("code", report.key)),) if report.key else ()),
        ("requirements other than k", ", ".join(settings["require"]["besides"]) or "none"),
        ("loss measure of categories", settings["loss"]),
        *((f"style: {name}", str(value)) for name, value in (settings["style"] or {}).items()),
        *((f"file: {name}", _plain(value)) for name, value in settings["table"].items()),
        ("time", f"{sum(report.seconds.values()):.1f} s"),
        ("made by", f"covey {report.version} on {report.date}"),
    ]  # fmt: skip
    return _section(
        "making",
        element("p", _words("making", _checksum(report))),
        scrolled(table(("what", "this release"), rest), "settings"),
        element("h3", "Columns"),
        scrolled(table(("column", "role", "type", "weight"), columns, numbers=(3,)), "columns"),
    )


def _written(report: "Report") -> Iterator[tuple[Part, Part]]:
    output = report.output
    if output is None:
        return
    size = f"{output.format}, {output.bytes:,} bytes"
    if output.files is None:
        yield "SHA-256 of the released file", element("code", output.sha256)
        yield "its format and size", size
    else:
        yield "SHA-256 of the released files together", element("code", output.sha256)
        yield "their format, size and number", f"{size}, {count(output.files, 'file')}"
    if output.defused:
        yield "cells with a leading apostrophe, against formulas", f"{output.defused:,}"


def _judged(report: "Report") -> str:
    """What the verifier has read."""
    if report.output is None:
        return "table"
    return "file" if report.output.files is None else "files"


def _checksum(report: "Report") -> str:
    """Which sentence says how to use the checksum."""
    if report.output is None:
        return "memory"
    if not report.verdict.holds:
        return "broken"
    return "file" if report.output.files is None else "folder"


def _details(column: dict[str, Any]) -> str:
    elsewhere = ("role", "type", "weight", "taxonomy")
    parts = [f"{name}: {_plain(value)}" for name, value in column.items() if name not in elsewhere]
    if tree := column.get("taxonomy"):
        sizes = count(tree["leaves"], "value"), count(tree["height"], "level")
        parts.append(f"taxonomy of {sizes[0]}, {sizes[1]}")
    return "; ".join(parts)


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(repr(each) for each in value) or "none"
    return repr(value) if value in (",", ";", ".", "\t", "|") else str(value)
