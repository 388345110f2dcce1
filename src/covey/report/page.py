"""The report as a web page: what was required, what holds, and what was lost.

Every figure comes from the report. The first screen answers a custodian's first question in plain
words. The rest explains, and gives the numbers of each chart to anyone who wants them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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
from covey.measures.singling import Attempt
from covey.report import charts
from covey.report.charts import BEFORE, LINE, SOFT, Bar
from covey.report.headline import SIGNS
from covey.report.singled import by
from covey.schema.taxonomy import ROOT
from covey.verification import Risks
from covey.verification.rounding import share
from covey.verification.sensitive import SIMILAR

if TYPE_CHECKING:
    from covey.report import Report


def page(report: "Report") -> str:
    """The whole page."""
    parts = [
        part
        for part in (
            _mind(report),
            _promise(report),
            _risks(report),
            _singled(report),
            _classes(report),
            _readable(report),
            _loss(report),
            _before_and_after(report),
            _curve(report),
            _configuration(report),
        )
        if part is not None
    ]
    titled = report.about is not None and report.about.title
    return document(
        titled or f"Report on a release of {count(report.rows.released, 'row')}",
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


def _section(title: str, anchor: str, *inside: Part) -> _Section:
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
            facts(_told(report)),
        ),
    )


def _about(report: "Report") -> Iterator[Html]:
    """What the custodian says about the release."""
    if report.about is None:
        return
    if report.about.title is not None:
        yield element("p", report.about.title, class_="title")
    if said := report.about.said():
        rows = (element("div", element("dt", name), element("dd", text)) for name, text in said)
        yield element("dl", *rows, class_="about")


def _lead(report: "Report") -> Sequence[Part]:
    columns = _listed([element("strong", column.name) for column in report.losses.columns])
    if not report.verdict.holds:
        wrong = *_broken(report), *_unjudged(report)
        return *wrong, "The columns checked are ", columns, "."
    if not report.verdict.alike:
        said = (
            f"There are {report.k:,} ways to match people with released rows. They have no match "
            "in common, and each may be the true one. This was checked on "
        )
        return said, columns, ", with the original table."
    fewer = [
        f"to rows of fewer than {check.asked:,.0f} persons"
        if check.requirement.counted == "persons"
        else f"to fewer than {check.asked:,.0f} of the "
        f"{count(report.rows.released, 'released row')}"
        for check in report.verdict.class_sizes
    ]
    found = (
        f" alone. The verifier checked every cell of the {_judged(report)}. "
        "It shares no code with the part of covey that makes releases."
    )
    return f"No one can be linked {' or '.join(fewer)} by ", columns, found


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


def _told(report: "Report") -> Iterator[tuple[str, str, str]]:
    rows, alike = report.rows, report.verdict.alike
    same = "cannot be distinguished" if alike else "may be anyone's"
    for size in report.verdict.class_sizes:
        found = size.found if size.judged else size.answer
        said = f"minimum number of {size.requirement.counted} that {same}"
        yield "k, required and found", f"{size.asked:,.0f} → {found}", said
    if alike and report.verdict.risks.prosecutor is not None:
        risk = percent(report.verdict.risks.prosecutor)
        why = report.verdict.why_higher
        said = "chance that someone who knows a person picks their row"
        yield "highest risk", risk, f"{said}: {why}" if why else said
    if worst := report.singled.worst:
        yield "singled out all the same", _figures(worst)[0], f"rows, by {by(worst)}"
    lost = percent(share(report.mean_loss))
    yield "information lost", lost, "per cell of these columns, on average"
    combined = report.composition
    if combined is not None and (every := combined.compared + len(combined.incomparable)):
        said = (
            f"of {every:,} in the register: {combined.earlier:,} with people of this one, "
            f"{len(combined.incomparable):,} could not be compared"
        )
        yield "earlier releases compared", f"{combined.compared:,}", said
    left_out = rows.read - rows.released
    yield "rows not released", f"{left_out:,}", f"of {count(rows.read, 'row')} in the original"


def _mind(report: "Report") -> _Section:
    minded = [element("li", _sentence(text)) for text in report.points]
    general = [element("li", _sentence(text), class_="plain") for text in report.reminders]
    return _section(
        "Before you publish",
        "before-you-publish",
        element("p", "Nothing in this release needs a decision from you.")
        if not minded
        else element("p", f"{count(len(minded), 'point')} to check in this release:"),
        element("ul", *minded, class_="minded") if minded else None,
        element("p", "For every release:", class_="quiet"),
        element("ul", *general, class_="minded"),
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


# ── requirements ────────────────────────────────────────────────────────────────────────────────


def _promise(report: "Report") -> _Section:
    return _section(
        "What was required, and what the verifier found",
        "requirements",
        scrolled(report.verdict.table(explained=True), "requirements"),
        _missing_cells(report),
    )


def _missing_cells(report: "Report") -> Html | None:
    verdict = report.verdict
    if verdict.k_wildcard is None or verdict.k_wildcard == verdict.k or not report.verdict.alike:
        return None
    return element(
        "p",
        "Here a missing cell counts as a value of its own, which is the stricter reading. If it "
        f"matches any value, every row matches at least {count(verdict.k_wildcard, 'row')}.",
        class_="quiet",
    )


# ── risks ───────────────────────────────────────────────────────────────────────────────────────


def _risks(report: "Report") -> _Section | None:
    verdict, risks = report.verdict, report.verdict.risks
    if not report.verdict.alike:
        return None
    rows = [(explained(who, how), percent(risk)) for who, risk, how in risks.rows()]
    if rows:
        told = [
            element(
                "p", "Three kinds of attacker, each of whom knows everyone's quasi-identifiers:"
            ),
            scrolled(table(("attacker", "risk"), rows, numbers=(1,)), "risks"),
            element("p", _whom(risks), class_="quiet"),
        ]
    else:
        unknown = (
            "This is unknown: a person with several rows in a class is easier to find, and the "
            f"column {risks.person}, which identifies persons, is not in the table."
        )
        told = [element("p", unknown)]
    more = _sensitive(report) if verdict.achieved else ()
    return _section("How likely re-identification is", "risks", *told, *more)


def _whom(risks: Risks) -> str:
    """Whose rows these may be."""
    if risks.population is not None:
        return f"Journalist and marketer face a population of {count(risks.population, 'row')}."
    persons = ""
    if risks.person is not None:
        persons = (
            f"Persons are identified by {risks.person}: the more rows of a class a person has, the "
            "easier it is to pick one of them. "
        )
    return persons + (
        "No table of the whole population was given, so the release counts as the population. In a "
        "larger one, the risks from journalist and marketer are lower."
    )


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
    yield element(
        "p",
        "If all rows of a person's class have the same value, no one needs to know which row is "
        "theirs. A value is certain if its class has no other. The distance is that of "
        "t-closeness: at 0 every class is like the whole table, at 1 it has nothing in common "
        "with it.",
    )
    if ordered:
        yield element(
            "p",
            "Numbers and dates have an order. The distance by the order is small if the values of "
            "a class are near those of the whole table. Numbers are nearly equal if they differ "
            f"by at most {percent(SIMILAR)} of the range of their column: then anyone who finds "
            "the class knows about what the value is.",
        )
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
        "Who can be singled out by the other columns",
        "singled-out",
        element(
            "p",
            "The requirements are about the quasi-identifiers. These columns are released as they "
            "are. A row is singled out if no other row fits what is known, or only rows of the "
            "same person. Measurements and amounts raise no alarm: nobody knows them beforehand.",
        ),
        scrolled(table(head, [*tried, *apart], numbers=(1, 2)), "attempts")
        if tried or apart
        else element("p", "Nothing in them is known to others, as far as covey can see."),
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
    names = [_sizes(sizes.least, sizes.most) for sizes in report.classes]
    values = [
        Bar(i, 0, sizes.rows, LINE, text=f"{sizes.rows:,}")
        for i, sizes in enumerate(report.classes)
    ]
    numbers = table(
        ("rows in a class", "classes", "rows"),
        [
            (name, f"{sizes.classes:,}", f"{sizes.rows:,}")
            for name, sizes in zip(names, report.classes, strict=True)
        ],
        numbers=(1, 2),
    )
    said = element(
        "p",
        "A class is a set of rows that are equal in all quasi-identifiers. There "
        f"{'is' if verdict.classes == 1 else 'are'} {verdict.sizes}. Classes larger than k protect "
        "better, but cost more than necessary.",
    )
    drawn = _drawn(charts.bars, names, values, thick=18)
    caption = "Number of rows in classes of each size."
    name = "Rows in classes of each size"
    return _section(
        "How large the classes are",
        "classes",
        _beside(element("div", said), figure(drawn, name, caption, numbers=numbers)),
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
        "What a reader of the release sees",
        "readable",
        element(
            "p",
            "Of the rows that show something of a column, half show at least as much as is "
            "typical. Widths are those of released intervals.",
        ),
        scrolled(table(("column", "what its cells show"), rows), "what cells show"),
        *_some_rows(report),
    )


def _some_rows(report: "Report") -> Iterator[Html]:
    some = report.sample
    if some is None:
        return
    rows = some.lines()
    if some.alike:
        rows.append(("rows like it", *(f"{alike:,}" for alike in some.alike)))
    found = len(some.rows)
    yield element("h3", "Some rows of the release")
    yield element(
        "p",
        f"{found} different rows, at equal steps of the released order: "
        if found > 1
        else "All rows are alike: ",
        "their quasi-identifiers, which are published with the release.",
        f" {ROOT} stands for any value." if any(ROOT in row for row in some.rows) else None,
    )
    head = ("column", *(f"row {place + 1}" for place in range(found)))
    yield scrolled(table(head, rows), "released rows")


# ── loss ────────────────────────────────────────────────────────────────────────────────────────


def _loss(report: "Report") -> _Section:
    losses = report.losses
    everything = sum(column.weight for column in losses.columns) * losses.rows
    lost = percent(share(report.mean_loss))
    totals = (
        f"Over all rows, Total-IL is {losses.total_il:,.1f}; it would be {everything:,.0f} if "
        "nothing were left."
    )
    return _section(
        "What was lost",
        "loss",
        element(
            "p",
            f"On average, a cell of the quasi-identifiers has lost {lost} of its information: "
            f"0{THIN_SPACE}% if it is unchanged, 100{THIN_SPACE}% if nothing is left.",
        ),
        _beside(_paying_columns(report), _paying_rows(report)),
        element("h3", "Column by column"),
        element(
            "p",
            "A number or date loses the width of its interval, relative to the range given here: "
            "the declared domain, or else that of the released cells. A category loses the "
            f"{'levels' if losses.measure in ('height', 'level') else 'values'} of its taxonomy "
            "that it no longer tells apart.",
            class_="quiet",
        ),
        _column_losses(report),
        element(
            "details",
            element("summary", "All measures, and what they mean"),
            element("p", totals),
            table(("measure", "value"), losses.figures(), numbers=(1,)),
            _worst_rows(report),
            element("ul", *(element("li", text) for text in DEFINITIONS.values()), class_="small"),
        ),
    )


def _by_share(report: "Report") -> list[ColumnLoss]:
    return sorted(report.losses.columns, key=lambda column: -column.share)


def _paying_columns(report: "Report") -> Html:
    columns = _by_share(report)
    names = [column.name for column in columns]
    values = [Bar(i, 0, c.share, LINE, text=percent(c.share)) for i, c in enumerate(columns)]
    head = ("column", "share of the loss")
    numbers = table(head, [(c.name, percent(c.share)) for c in columns], numbers=(1,))
    caption = "Each column's share of the total loss."
    return element(
        "div",
        element("h3", "Which columns lose most"),
        figure(
            _drawn(charts.bars, names, values, thick=18),
            "Share of the loss by column",
            caption,
            numbers=numbers,
        ),
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
        element(
            "p",
            "Unusual people cost most, because few others are like them. The table shows how much "
            "of the loss falls on the original rows that lose most. Suppressed rows "
            "count too: they have lost everything.",
        ),
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
            explained(column.name, next(text for most, text in _WORDS if column.il <= most)),
            f"{column.weight:g}",
            percent(column.il),
            relative[column.name],
            percent(column.share),
        )
        for column in _by_share(report)
    ]
    return scrolled(table(head, rows, numbers=(1, 2, 4)), "loss by column")


_WORDS = (
    (0.0, "Unchanged"),
    (0.05, "Nearly unchanged"),
    (0.3, "Somewhat coarser"),
    (0.6, "Much coarser"),
    (0.9, "Little is left"),
    (2.0, "Almost nothing is left"),
)


# ── before and after ────────────────────────────────────────────────────────────────────────────


def _before_and_after(report: "Report") -> _Section:
    shown = {column.column: column for column in report.shown}
    told = any(bin_.before is not None for d in report.distributions for bin_ in d.bins)
    keys = (
        *((("before", "before: rows of the original"),) if told else ()),
        ("certain", "after: rows that certainly have the value"),
        ("spread", "after: rows that may have it, spread evenly over what their cells cover"),
        *((("untold", "a number that is not shown"),) if _withholds(report) else ()),
    )
    hidden = (
        f"Numbers below k = {report.k:,} are not shown, for the original or the release, and "
        f"values of fewer than {report.k:,} people are not named. Ranges end at round numbers, "
        "not at anyone's value."
    )
    if told:
        hidden += (
            " A number before is withheld if subtracting the rows that certainly have the value "
            f"would reveal what fewer than {report.k:,} of the other rows hide, or that none or "
            "all of them have it."
        )
    left = report.rows.dropped + report.rows.suppressed
    without = ""
    if left:
        without = (
            " Rows that were not released are not counted before either: the difference would "
            "reveal them."
            if told
            else " Some rows were not released, and it is unknown which. So nothing of the "
            "original is shown: the difference would reveal them."
        )
    return _section(
        "Each column before and after",
        "columns",
        element(
            "p",
            "How many rows have which values. If both bars of a value are equally long, the "
            "release still shows how many people have it. The part of the second bar next to the "
            "axis counts rows whose cells leave no doubt."
            if told
            else "How many rows of the release have which values. The part of a bar next to the "
            "axis counts rows whose cells leave no doubt.",
        ),
        element("p", hidden + without, class_="quiet"),
        element(
            "ul", *(element("li", text, class_=key) for key, text in keys), class_="legend"
        ),
        element("div", *(_column(column, report.k, str(shown[column.column]), told=told)
                         for column in report.distributions), class_="gallery"),
    )  # fmt: skip


def _withholds(report: "Report") -> bool:
    """Whether a bar is drawn as an outline."""
    return any(
        bin_.after is None or (bin_.before is None and any(b.before is not None for b in d.bins))
        for d in report.distributions
        for bin_ in d.bins
    )


def _column(column: Distribution, k: int, said: str, *, told: bool) -> Html:
    """One column; `told` if the page shows numbers before of any column."""
    before = any(bin_.before is not None for bin_ in column.bins)
    values = []
    for place, bin_ in enumerate(column.bins):
        if before:
            values.append(_bar(place, bin_.before, BEFORE, 0, "withheld"))
        certain, lane = float(bin_.certain or 0), int(before)
        if certain:
            values.append(Bar(place, 0, certain, LINE, lane))
        if bin_.after is None:
            values.append(_bar(place, None, SOFT, lane, f"< {k:,}"))
        else:
            values.append(Bar(place, certain, max(bin_.after, certain), SOFT, lane))
    ranges = [charts.Range(bin_.label, bin_.ends) for bin_ in column.bins]
    drawn = (
        _drawn(charts.histogram, ranges, values)
        if any(one.ends for one in ranges)
        else _drawn(charts.bars, [r.name for r in ranges], values, thick=11 if before else 14)
    )
    numbers = table(
        ("value", *(("before",) if before else ()), "after", "certain"),
        [
            (
                bin_.label,
                *((_number(bin_.before, "withheld"),) if before else ()),
                *(_number(number, f"< {k:,}") for number in (bin_.after, bin_.certain)),
            )
            for bin_ in column.bins
        ],
        numbers=(1, 2, 3),
    )
    with_missing = any(bin_.ends and bin_.label.endswith(f"or {MISSING}") for bin_ in column.bins)
    also = " The last bar includes missing values." if with_missing else ""
    also += " All numbers before are withheld." if told and not before else ""
    caption = together((element("strong", column.column), element("br"), _sentence(said), also))
    name = f"{column.column}: rows with each value, {'before and ' if before else ''}after"
    return figure(drawn, name, caption, numbers=numbers)


def _bar(place: int, number: float | None, colour: str, lane: int, withheld: str) -> Bar:
    """A bar, or an outline with a word if its number is not shown."""
    if number is None:
        return Bar(place, 0, 0, colour, lane, withheld=withheld)
    return Bar(place, 0, float(number), colour, lane)


def _number(number: float | None, untold: str) -> str:
    return untold if number is None else f"{number:,.0f}"


# ── the rest ────────────────────────────────────────────────────────────────────────────────────


def _curve(report: "Report") -> _Section | None:
    if report.curve is None:
        return None
    told = report.curve.to_dict()
    numbers = table(
        ("k", "highest risk", "average risk", "loss", "Total-IL", "groups"),
        [
            (
                f"{p['k']:,}",
                *(percent(p[name]) for name in ("highest_risk", "average_risk", "loss")),
                f"{p['total_il']:,.1f}",
                f"{p['groups']:,}",
            )
            for p in told["points"]
        ],
        numbers=range(6),
    )
    return _section(
        "What other values of k would mean",
        "other-k",
        element(
            "p",
            "Risk and loss of groups formed for each k, with no other requirement. Where the loss "
            "is flat, a larger k costs almost nothing. The points are not releases, and none was "
            "verified. Their groups are formed with less effort, since there are many runs, so "
            "the loss at the mark may differ from that of this release.",
        ),
        figure(
            _drawn(report.curve.chart, chosen=report.k),
            "Highest and average risk, and mean loss of a cell, for each k, with a mark at the "
            f"required k = {report.k:,}",
            numbers=numbers,
            wide=True,
        ),
        _marks(told["marks"]),
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
        element(
            "p",
            "They were made for other purposes than choosing k: for comparison, not as advice. "
            "k is the smallest k that fits the rule.",
        ),
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
    written: list[tuple[Part, Part]] = []
    if (output := report.output) is not None:
        size = f"{output.format}, {output.bytes:,} bytes"
        if output.files is None:
            what, which = "SHA-256 of the released file", "its format and size"
        else:
            what, which = "SHA-256 of the released files together", "their format, size and number"
            size += f", {count(output.files, 'file')}"
        written += [(what, element("code", output.sha256)), (which, size)]
        if output.defused:
            apostrophes = "cells with a leading apostrophe, against formulas"
            written.append((apostrophes, f"{output.defused:,}"))
    rest: list[tuple[Part, Part]] = [
        *written,
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
        "How it was made",
        "making",
        element("p", _checksum(report)),
        scrolled(table(("what", "this release"), rest), "settings"),
        element("h3", "Columns"),
        scrolled(table(("column", "role", "type", "weight"), columns, numbers=(3,)), "columns"),
    )


def _judged(report: "Report") -> str:
    """What the verifier has read."""
    if report.output is None:
        return "table"
    return "file" if report.output.files is None else "files"


def _checksum(report: "Report") -> str:
    """How to use the checksum."""
    if report.output is None:
        return "The table was passed in memory, so there is no checksum of a file."
    if not report.verdict.holds:
        return (
            "The SHA-256 is that of the file that was checked: do not publish that file as it is."
        )
    if report.output.files is not None:
        return (
            "Before you publish the folder, compare the SHA-256 of its files with the one here: "
            "sha256sum * | LC_ALL=C sort | sha256sum. If they differ, they are not the files that "
            "were verified."
        )
    return (
        "Before you publish a file, compare its SHA-256 with the one here. If they differ, it is "
        "not the file that was verified."
    )


def _details(column: dict[str, Any]) -> str:
    told = {n: v for n, v in column.items() if n not in ("role", "type", "weight", "taxonomy")}
    parts = [f"{name}: {_plain(value)}" for name, value in told.items()]
    if tree := column.get("taxonomy"):
        sizes = count(tree["leaves"], "value"), count(tree["height"], "level")
        parts.append(f"taxonomy of {sizes[0]}, {sizes[1]}")
    return "; ".join(parts)


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(repr(each) for each in value) or "none"
    return repr(value) if value in (",", ";", ".", "\t", "|") else str(value)
