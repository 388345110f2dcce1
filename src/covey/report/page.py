"""The report as a page for people: what was promised, what holds, and what it has cost.

Every figure is one of the report's. The first screen answers a custodian's first question in plain
words; what follows explains, and the numbers behind each picture are there for whoever asks.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from covey.errors import count
from covey.measures.histograms import Distribution
from covey.measures.loss import DEFINITIONS, ColumnLoss
from covey.report import charts
from covey.report.charts import BEFORE, LINE, SOFT, Bar
from covey.tables.html import (
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
from covey.tables.html import page as document
from covey.verification import Check, Risks
from covey.verification.rounding import share

if TYPE_CHECKING:
    from covey.report import Report


def page(report: "Report") -> str:
    """The whole page."""
    return document(
        f"Report on a release of {count(report.rows.released, 'row')}",
        _header(report),
        element(
            "main",
            _mind(report),
            _promise(report),
            _risks(report),
            _classes(report),
            _loss(report),
            _before_and_after(report),
            _curve(report),
            _configuration(report),
        ),
        element("footer", element("p", f"What this does not promise: {report.limits}")),
    )


def _section(title: str, *inside: Part, **attributes: str) -> Html:
    return element("section", element("h2", title), *inside, **attributes)


# ── the first screen ────────────────────────────────────────────────────────────────────────────


def _header(report: "Report") -> Html:
    colour, said = _state(report)
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
            element("p", said, class_=f"verdict {colour}"),
            element("h1", _headline(report)),
            element("p", *_lead(report), class_="lead"),
            facts(_told(report)),
        ),
    )


def _state(report: "Report") -> tuple[str, str]:
    """What the verdict is, as a colour and in words."""
    if report.verdict.holds:
        return "good", "✓ verified: the promise holds"
    if report.verdict.broken:
        return "bad", "✗ the promise does not hold"
    return "mind", "? the promise could not be judged"


def _sizes_asked(report: "Report") -> list[Check]:
    """What was asked of the size of classes: of rows, of persons, or of both."""
    sizes = [c for c in report.verdict.checks if c.requirement.counted]
    # Of several alike, the largest asks for the others too.
    return list({c.name: c for c in sorted(sizes, key=lambda c: c.asked)}.values())


def _headline(report: "Report") -> str:
    if report.verdict.broken:
        return "Do not publish this table as it is."
    if not report.verdict.holds:
        return "Nobody can tell from this table alone whether it keeps the promise."
    return _sentence(" and ".join(check.requirement.headline for check in _sizes_asked(report)))


def _lead(report: "Report") -> Sequence[Part]:
    columns = _listed([element("strong", column.name) for column in report.losses.columns])
    if not report.verdict.holds:
        wrong = *_broken(report), *_unjudged(report)
        return *wrong, "What was judged are the columns ", columns, "."
    if not report.verdict.alike:
        said = (
            f"There are {report.k:,} pairings of people with released rows that have no pair in "
            "common, and each may be the true one. This was judged by "
        )
        return said, columns, ", with the original at hand."
    fewer = [
        f"to rows of fewer than {check.asked:,.0f} persons"
        if check.requirement.counted == "persons"
        else f"to fewer than {check.asked:,.0f} of the "
        f"{count(report.rows.released, 'released row')}"
        for check in _sizes_asked(report)
    ]
    found = (
        f" alone. The verifier found this in the {'written file' if report.output else 'cells'}, "
        "cell by cell, and shares no code with what made them."
    )
    return f"Nobody can be linked {' or '.join(fewer)} by ", columns, found


def _broken(report: "Report") -> Iterator[Part]:
    """What is wrong with the release."""
    broken = [c.name for c in report.verdict.checks if c.judged and not c.holds]
    if broken:
        yield "The verifier found that the released cells do not keep "
        yield from (_listed(broken), ". ")
    if report.verdict.identifiers:
        yield "Columns that name people are still there: "
        yield from (_listed(report.verdict.identifiers), ". ")


def _unjudged(report: "Report") -> Iterator[Part]:
    """What the verifier could not tell, and why."""
    for check in report.verdict.checks:
        if not check.judged:
            yield f"Whether the release keeps {check.name} could not be judged: "
            yield f"{check.reason}. "


def _listed(parts: Sequence[Part]) -> Html:
    return together(
        part
        for place, item in enumerate(parts)
        for part in ((", " if place < len(parts) - 1 else " and ") if place else None, item)
    )


def _told(report: "Report") -> Iterator[tuple[str, str, str]]:
    rows, alike = report.rows, report.verdict.alike
    same = "cannot be told apart" if alike else "may be anyone's"
    for size in _sizes_asked(report):
        found = size.found if size.judged else size.answer
        said = f"{size.requirement.counted} that {same}, at least"
        yield "k, asked and found", f"{size.asked:,.0f} → {found}", said
    if alike and report.verdict.risks.prosecutor is not None:
        risk = _percent(report.verdict.risks.prosecutor)
        yield "highest risk", risk, "that whoever knows a person picks a row of theirs"
    lost = _percent(share(report.mean_loss))
    yield "information lost", lost, "of what a cell of these columns told, on average"
    left_out = rows.read - rows.released
    yield "rows left out", f"{left_out:,}", f"of {count(rows.read, 'row')} in the original"


def _percent(part: float) -> str:
    return f"{100 * part:.3g} %"


def _mind(report: "Report") -> Html:
    minded = [element("li", _sentence(text)) for text in report.warnings]
    general = [element("li", _sentence(text), class_="plain") for text in report.reminders]
    return _section(
        "Before you publish",
        element("p", "Nothing was found in this release that needs a decision of yours.")
        if not minded
        else element(
            "p", f"{count(len(minded), 'thing')} found in this release, for you to judge:"
        ),
        element("ul", *minded, class_="minded") if minded else None,
        element("p", "Of every release:", class_="quiet"),
        element("ul", *general, class_="minded"),
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


# ── what was promised ───────────────────────────────────────────────────────────────────────────


def _promise(report: "Report") -> Html:
    return _section(
        "What was promised, and what the verifier found",
        scrolled(report.verdict.table(explained=True), "promises"),
        _missing_cells(report),
    )


def _missing_cells(report: "Report") -> Html | None:
    verdict = report.verdict
    if verdict.k_wildcard is None or verdict.k_wildcard == verdict.k or not report.verdict.alike:
        return None
    return element(
        "p",
        "A missing cell counts as a value of its own here, which is the stricter reading. If it is "
        f"taken to match anything, every row matches {verdict.k_wildcard:,}.",
        class_="quiet",
    )


# ── risks ───────────────────────────────────────────────────────────────────────────────────────


def _risks(report: "Report") -> Html | None:
    verdict, risks = report.verdict, report.verdict.risks
    if not report.verdict.alike:
        return None
    rows = [(explained(who, how), _percent(risk)) for who, risk, how in risks.rows()]
    if rows:
        told = [
            element(
                "p", "Three people who try, each of whom knows the quasi-identifiers of everybody:"
            ),
            scrolled(table(("who", "risk"), rows, numbers=(1,)), "risks"),
            element("p", _whom(risks), class_="quiet"),
        ]
    else:
        unknown = (
            "That cannot be told: who has several rows in a class is found more easily, and the "
            f"column {risks.person} that would tell is not in the table."
        )
        told = [element("p", unknown)]
    more = _sensitive(report) if verdict.achieved else ()
    return _section("How likely somebody is found again", *told, *more)


def _whom(risks: Risks) -> str:
    """Who may be behind the rows."""
    if risks.population is not None:
        return f"Journalist and marketer face a population of {count(risks.population, 'row')}."
    persons = ""
    if risks.person is not None:
        persons = (
            f"Persons are told apart by {risks.person}: the more rows of a class one has, the more "
            "easily one of them is picked. "
        )
    return persons + (
        "No table of the whole population was given, so the people of the release are all there "
        "are. In a larger population, journalist and marketer have a smaller chance."
    )


def _sensitive(report: "Report") -> Iterator[Html]:
    """What classes tell of sensitive values, whether anything was asked of them or not."""
    rows = [
        (a.column, _percent(a.certain), f"{a.distinct_l:,}", _percent(a.alpha), f"{a.t_equal:.3f}")
        for a in report.verdict.achieved
    ]
    head = (
        "sensitive column",
        "rows whose value is certain",
        "values in a class, at least",
        "share of one value in a class, at most",
        "distance from the whole table, at most",
    )
    yield element("h3", "What a class tells about sensitive columns")
    yield element(
        "p",
        "Nobody needs to know which row is hers if all rows of her class say the same. A value is "
        "certain where a class has no other. The distance is that of t-closeness: at 0 every class "
        "is like the table, at 1 it has nothing in common with it.",
    )
    yield scrolled(table(head, rows, numbers=range(1, 5)), "sensitive columns")


# ── classes ─────────────────────────────────────────────────────────────────────────────────────


def _classes(report: "Report") -> Html | None:
    if not report.classes:
        return None
    verdict = report.verdict
    names = [_sizes(sizes.least, sizes.most) for sizes in report.classes]
    drawn = charts.bars(
        names,
        [
            Bar(i, 0, sizes.rows, LINE, told=f"{sizes.rows:,}")
            for i, sizes in enumerate(report.classes)
        ],
        thick=18,
    )
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
        "A class is the rows that are equal in all quasi-identifiers. Here "
        f"{'is' if verdict.classes == 1 else 'are'} {verdict.sizes}. Classes that are larger than "
        "k protect better, and cost more than they would have to.",
    )
    caption = "How many rows are in classes of each size."
    name = "Rows in classes of each size"
    return _section(
        "How large the classes are",
        _beside(element("div", said), figure(charts.svg(drawn), name, caption, numbers=numbers)),
    )


def _beside(*parts: Html) -> Html:
    """Side by side where there is room."""
    return element("div", *parts, class_="pair")


def _sizes(least: int, most: int) -> str:
    return f"{count(least, 'row')}" if least == most else f"{least:,} to {most:,} rows"


# ── loss ────────────────────────────────────────────────────────────────────────────────────────


def _loss(report: "Report") -> Html:
    losses = report.losses
    everything = sum(column.weight for column in losses.columns) * losses.rows
    lost = _percent(share(report.mean_loss))
    return _section(
        "What it costs",
        element(
            "p",
            f"On average, a cell of the quasi-identifiers has lost {lost} of "
            "what it told: 0 % where it is as it was, 100 % where it tells nothing. Over all rows "
            f"that is a Total-IL of {losses.total_il:,.1f}, of {everything:,.0f} if nothing were "
            "left.",
        ),
        _beside(_paying_columns(report), _paying_rows(report)),
        element("h3", "Column by column"),
        _column_losses(report),
        element(
            "details",
            element("summary", "All measures, and what they mean"),
            table(("measure", "value"), losses.figures(), numbers=(1,)),
            element("ul", *(element("li", text) for text in DEFINITIONS.values()), class_="small"),
        ),
    )


def _by_share(report: "Report") -> list[ColumnLoss]:
    return sorted(report.losses.columns, key=lambda column: -column.share)


def _paying_columns(report: "Report") -> Html:
    columns = _by_share(report)
    drawn = charts.bars(
        [column.name for column in columns],
        [Bar(i, 0, c.share, LINE, told=_percent(c.share)) for i, c in enumerate(columns)],
        thick=18,
    )
    caption = "Each column's share of the whole loss."
    return element(
        "div",
        element("h3", "Which columns pay"),
        figure(charts.svg(drawn), "Share of the loss by column", caption),
    )


def _paying_rows(report: "Report") -> Html:
    head = ("rows that lose most", "share of the loss", "Total-IL without them")
    rows = [
        (f"{worst.percent:g} % ({worst.rows:,})", _percent(worst.share), f"{worst.without:,.1f}")
        for worst in report.losses.worst
    ]
    return element(
        "div",
        element("h3", "Which rows pay"),
        element(
            "p",
            "Unusual people cost most, because few are like them. Of all original rows, those that "
            "lose most hold this share of the loss; suppressed rows are among them and have lost "
            "everything.",
        ),
        scrolled(table(head, rows, numbers=(1, 2)), head[0]),
    )


def _column_losses(report: "Report") -> Html:
    shown = {column.column: column for column in report.distributions}
    head = ("column", "weight", "lost of a cell", "share of the loss")
    rows = [
        (
            explained(column.name, _in_words(column.il, shown[column.name])),
            f"{column.weight:g}",
            _percent(column.il),
            _percent(column.share),
        )
        for column in _by_share(report)
    ]
    return scrolled(table(head, rows, numbers=(1, 2, 3)), "loss by column")


def _in_words(il: float, shown: Distribution) -> str:
    """One column's loss in a sentence."""
    how = next(text for most, text in _WORDS if il <= most)
    return f"{how}: {_shown(shown)}."


def _shown(column: Distribution) -> str:
    return (
        f"{_percent(column.exact)} of the rows still show one value, "
        f"{_percent(column.nothing)} show nothing"
    )


_WORDS = (
    (0.0, "Released as it was"),
    (0.05, "Nearly as it was"),
    (0.3, "Told somewhat more coarsely"),
    (0.6, "Told far more coarsely"),
    (0.9, "Little is left of it"),
    (2.0, "Next to nothing is left of it"),
)


# ── before and after ────────────────────────────────────────────────────────────────────────────


def _before_and_after(report: "Report") -> Html:
    told = any(bin_.before is not None for d in report.distributions for bin_ in d.bins)
    keys = (
        *((("before", "before: rows of the original"),) if told else ()),
        ("certain", "after: rows that say so for certain"),
        ("spread", "after: rows that may, spread evenly over what their cells cover"),
    )
    hidden = (
        f"No number below k = {report.k:,} is told, of the original or of the release, and no "
        f"value that fewer than {report.k:,} people have is named. Ranges end at round numbers, "
        "not at anybody's."
    )
    if told:
        hidden += (
            " A number before is kept back if, less the rows that say so for certain, it would "
            f"tell what fewer than {report.k:,} of the other rows hide, or that none of them has "
            "the value, or all."
        )
    left = report.rows.dropped + report.rows.suppressed
    without = ""
    if left:
        without = (
            " Rows that were left out are not counted before either: the difference would tell of "
            "them."
            if told
            else " Rows were left out, and which is not known, so nothing is told of the original: "
            "the difference would tell of them."
        )
    return _section(
        "Each column before and after",
        element(
            "p",
            "How many rows have which values. Where both bars of a value are equally long, the "
            "release still tells how many people have it. The first part of the lower bar are rows "
            "whose cells leave no doubt."
            if told
            else "How many rows of the release have which values. The first part of a bar are rows "
            "whose cells leave no doubt.",
        ),
        element("p", hidden + without, class_="quiet"),
        element(
            "ul", *(element("li", text, class_=key) for key, text in keys), class_="legend"
        ),
        element("div", *(_column(column, report.k) for column in report.distributions),
                class_="gallery"),
    )  # fmt: skip


def _column(column: Distribution, k: int) -> Html:
    before = any(bin_.before is not None for bin_ in column.bins)
    values = []
    for place, bin_ in enumerate(column.bins):
        certain, lane = float(bin_.certain or 0), int(before)
        if before:
            values.append(Bar(place, 0, float(bin_.before or 0), BEFORE))
        values += [
            Bar(place, 0, certain, LINE, lane),
            Bar(place, certain, max(bin_.after or 0.0, certain), SOFT, lane),
        ]
    drawn = charts.bars([bin_.label for bin_ in column.bins], values, thick=8 if before else 12)
    numbers = table(
        ("value", *(("before",) if before else ()), "after", "of them certain"),
        [
            (
                bin_.label,
                *((_number(bin_.before, "kept back"),) if before else ()),
                *(_number(number, f"< {k:,}") for number in (bin_.after, bin_.certain)),
            )
            for bin_ in column.bins
        ],
        numbers=(1, 2, 3),
    )
    caption = together((element("strong", column.column), element("br"), f"{_shown(column)}."))
    name = f"{column.column}: rows with each value, {'before and ' if before else ''}after"
    return figure(charts.svg(drawn), name, caption, numbers=numbers)


def _number(number: float | None, untold: str) -> str:
    return untold if number is None else f"{number:,.0f}"


# ── the rest ────────────────────────────────────────────────────────────────────────────────────


def _curve(report: "Report") -> Html | None:
    if report.curve is None:
        return None
    points = report.curve.to_dict()["points"]
    numbers = table(
        ("k", "loss", "Total-IL", "groups"),
        [
            (f"{p['k']:,}", _percent(p["loss"]), f"{p['total_il']:,.1f}", f"{p['groups']:,}")
            for p in points
        ],
        numbers=(0, 1, 2, 3),
    )
    return _section(
        "What another k would cost",
        element(
            "p",
            "The loss of groups that were formed for each k, and for nothing but k. Where the "
            "curve is flat, a larger k is nearly free. No point is a release, and none was "
            "verified. Its groups are formed with the effort that many runs can afford, so the "
            "loss at the mark need not be that of this release.",
        ),
        figure(
            charts.svg(report.curve.chart(chosen=report.k)),
            f"Mean loss of a cell for each k, with a mark at k = {report.k:,}, which was asked for",
            numbers=numbers,
            wide=True,
        ),
    )


def _configuration(report: "Report") -> Html:
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
        written += [
            ("SHA-256 of the released file", element("code", output.sha256)),
            ("its format and size", f"{output.format}, {output.bytes:,} bytes"),
        ]
        if output.defused:
            what = "cells with an apostrophe in front, against formulas"
            written.append((what, f"{output.defused:,}"))
    rest: list[tuple[Part, Part]] = [
        *written,
        ("rows read, left out as missing, suppressed, released",
         " · ".join(f"{n:,}" for n in (report.rows.read, report.rows.dropped,
                                       report.rows.suppressed, report.rows.released))),
        ("method", report.method or "not known: somebody else has made the release"),
        *((f"option {name}", str(value)) for name, value in report.options.items()),
        ("order of the rows", report.order),
        *((("fingerprint of the key", element("code", report.key)),) if report.key else ()),
        ("asked besides k", ", ".join(settings["require"]["besides"]) or "nothing"),
        ("loss of categories by", settings["loss"]),
        *((f"shown as: {name}", str(value)) for name, value in (settings["style"] or {}).items()),
        *((f"of the file: {name}", _plain(value)) for name, value in settings["table"].items()),
        ("time", f"{sum(report.seconds.values()):.1f} s"),
        ("made by", f"covey {report.version} on {report.date}"),
    ]  # fmt: skip
    return _section(
        "How it was made",
        element("p", _checksum(report)),
        scrolled(table(("what", "this release"), rest), "settings"),
        element("h3", "Columns"),
        scrolled(table(("column", "role", "type", "weight"), columns, numbers=(3,)), "columns"),
    )


def _checksum(report: "Report") -> str:
    """What the checksum is good for."""
    if report.output is None:
        return "The table was handed over in memory, so there is no checksum of a file."
    if not report.verdict.holds:
        return "The SHA-256 is that of the file that was judged: it is not one to publish as it is."
    return (
        "Before you publish a file, compare its SHA-256 with the one here: if they differ, it is "
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
