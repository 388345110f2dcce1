"""The record of an attack as a page to print and to sign: what was tried, and with what success.

Every figure comes from the attack, longer sentences from `page.toml`. It shows no cell.
"""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import groupby

from covey import html
from covey.attacks.findings import MEANINGS, Attack, Finding
from covey.attacks.remedies import Remedy
from covey.declared import declared
from covey.errors import count, percent
from covey.html import Html, Part, element

_WORDS = declared("covey.attacks", "page.toml")
_OF_THE_OPINION = ("singling out", "linkability", "inference")
_KNOWING = "knowing that the person is in the table"
_MOST = 12  # attackers under a criterion
_WORTH = 0.05  # a gain from which on the custodian signs that it is acceptable


def page(found: Attack) -> str:
    """The whole page."""
    untried = [*(f"{what}: {why}" for what, why in found.untried), _WORDS["untried"]["columns"]]
    sections = (
        _section("found", *_found(found)),
        _section("tried", html.p(_WORDS["tried"]["lead"]), *attackers_by_criterion(found)),
        _section("on", html.scrolled(html.table(("what", "this test"), _on(found)), "this test")),
        _section("untried", html.ul(map(html.li, untried))),
        _section("sign", html.p(_WORDS["sign"]["lead"]), *_signed(found)),
    )
    title = str(_WORDS["header"]["title"])
    return html.page(title, _header(found, title), element("main", *sections, class_="record"))


def _section(anchor: str, *inside: Part) -> Html:
    head = html.h2(_WORDS[anchor]["title"], id=anchor)
    return element("section", head, *inside, aria_labelledby=anchor)


def _header(found: Attack, title: str) -> Html:
    words = _WORDS["header"]
    brand = (
        html.span("covey ", version("covey"), " · motivated-intruder test"),
        html.span(found.date[:10]),
    )
    return element(
        "header",
        html.div(
            html.p(*brand, class_="brand"),
            html.h1(title),
            html.p(words["record"], class_="lead"),
            html.facts(_facts(found)),
            html.p(words["confidential"], class_="quiet"),
        ),
    )


def _facts(found: Attack) -> Iterator[tuple[str, str, str]]:
    """The highest gain under each criterion that is about people, not about cells."""
    for criterion, some in _by_criterion(found):
        worst = some[0]
        if criterion not in (*_OF_THE_OPINION, "membership"):
            continue
        if not worst.rate.gain > 0:
            yield criterion, "none" if worst.rate.rate == 0 else "by chance", _tries(found, worst)
            continue
        chance = f", by chance {percent(worst.rate.chance)}" if worst.rate.chance else ""
        about = f"of {worst.about}, " if worst.about else ""
        how = f"{about}{worst_by(found, worst)}{chance}"
        yield f"{criterion}, worst", percent(worst.rate.rate), how


def _by_criterion(found: Attack) -> Iterator[tuple[str, list[Finding]]]:
    """The worst finding of each column that is guessed, by criterion, the worst first."""
    places = list(MEANINGS)
    listed = sorted(found.summary(), key=lambda one: places.index(one.criterion))
    for criterion, some in groupby(listed, lambda one: one.criterion):
        yield criterion, list(some)


def _tries(found: Attack, worst: Finding) -> str:
    some = [one for one in found.of(worst.criterion) if one.about == worst.about]
    nobody = "nobody beats chance" if worst.rate.rate else "nobody"
    return f"{nobody}: {count(len(some), 'attacker')} tried"


# ── what was found ──────────────────────────────────────────────────────────────────────────────


def figures(one: Finding) -> tuple[str, str, str]:
    """The success, that of chance, and the gain with its interval."""
    rate = one.rate
    gain, low, high = map(_difference, (rate.gain, rate.low, rate.high))
    return percent(rate.rate), percent(rate.chance), f"{gain} ({low} to {high})"


def _difference(share: float) -> str:
    return percent(0.0 if -0.0005 < share < 0 else share)  # no "-0.0"


OTHERS = _WORDS["found"]["others"]
FIGURES = ("success", "by chance", "gain, 95\u2009%")


def _who(one: Finding) -> str:
    likely = "" if one.attacker.is_likely else f" ({_WORDS['tried']['unlikely']})"
    unaware = "" if one.unaware is None else f"; {percent(one.unaware)} without {_KNOWING}"
    return f"{one.attacker.name}{likely}{unaware}"


def worst_by(found: Attack, one: Finding) -> str:
    """Who succeeds most often, if anyone does better than chance."""
    return f"by {_who(one)}" if one.rate.gain > 0 else _tries(found, one)


def _found(found: Attack) -> Iterator[Part]:
    words = _WORDS["found"]
    if found.doubts:
        yield html.p(words["doubts"].format(doubts="; ".join(found.doubts)), class_="minded")
    yield html.p(words["lead"])
    head = ("criterion", *FIGURES, "what helps")
    rows = [
        (html.explained(one.goal, worst_by(found, one)), *figures(one), helps)
        for _, some in _by_criterion(found)
        for one in some
        for helps in [html.together(html.div(remedy.text) for remedy in one.remedies) or "–"]
    ]
    yield html.scrolled(html.table(head, rows, numbers=(1, 2, 3)), "what was found")
    for which, names in (("undeclared", found.undeclared), ("unlikely", found.unlikely)):
        if names:
            yield html.p(words[which])
            yield html.ul(map(html.li, names), class_="minded")
    if others := other_remedies(found):
        yield html.p(OTHERS)
        yield html.ul(html.li(remedy.text) for remedy in others)


def other_remedies(found: Attack) -> list[Remedy]:
    """What helps against attackers who are not the most successful ones."""
    shown = {remedy for one in found.summary() for remedy in one.remedies}
    return [remedy for remedy in found.remedies() if remedy not in shown]


# ── who tried what ──────────────────────────────────────────────────────────────────────────────


def attackers_by_criterion(found: Attack) -> Iterator[Part]:
    """Under each criterion the attackers, the worst first."""
    for criterion, some in _by_criterion(found):
        yield html.h3(criterion.capitalize())
        opinion = _WORDS["tried"]["opinion"] if criterion in _OF_THE_OPINION else None
        yield html.p(f"Success: {MEANINGS[some[0].criterion]}. ", opinion, class_="quiet")
        for worst in some:
            every = [one for one in found.of(worst.criterion) if one.about == worst.about]
            yield from _table(every)


def _table(every: Sequence[Finding]) -> Iterator[Part]:
    likely, apart = (
        [one for one in every if one.attacker.is_likely is known] for known in (True, False)
    )
    if not likely:
        likely, apart = apart, []
    head = ("attacker", *FIGURES, "people")
    rows = ((_who(one), *figures(one), f"{one.rate.people:,}") for one in likely[:_MOST])
    caption = every[0].goal if every[0].about else None
    grid = html.table(head, rows, numbers=range(1, 5), caption=caption)
    yield html.scrolled(grid, every[0].goal)
    for name, others in (("more", likely[_MOST:]), ("apart", apart)):
        if others:
            yield html.p(_rest(_WORDS["tried"][name], others), class_="quiet")


def _rest(words: str, others: Sequence[Finding]) -> str:
    gain = percent(max(0.0, *(one.rate.gain for one in others)))
    attackers = count(len(others), "other attacker")
    return words.format(attackers=attackers, worst=others[0].attacker.name, gain=gain)


# ── on what, and what not ───────────────────────────────────────────────────────────────────────


def _on(found: Attack) -> Iterator[tuple[Part, Part]]:
    digest = element("code", found.sha256) if found.sha256 else "none: it was no file"
    people = [one.rate.people for one in found.findings]
    yield "date and time", found.date
    yield "SHA-256 of the release", digest
    yield "released rows", f"{found.rows:,}"
    yield "rows of the original", f"{found.people:,}"
    yield "singled out if fewer rows fit than", f"k = {found.k:,}"
    yield "what the attackers had", ", ".join(("the release", *found.data))
    yield "attackers", f"{len({one.attacker for one in found.findings}):,}"
    if people:
        least, most = min(people), max(people)
        several = f"{least:,} to {most:,}" if least < most else f"{most:,}"
        yield "people attacked by each", several
    yield "carried out by", f"covey {version('covey')}"


# ── to sign ─────────────────────────────────────────────────────────────────────────────────────


def _signed(found: Attack) -> Iterator[Part]:
    """The open points with a line to write on, and who signs."""
    yield element(
        "ol",
        (html.li(text, html.div("", class_="line")) for text in _points(found)),
        class_="decided",
    )
    head = ("", "name", "date", "signature")
    people = ("carried out by", "responsible for the release", "data protection officer")
    rows = [(who, "", "", "") for who in people]
    yield html.div(html.table(head, rows), class_="signatures")


def _points(found: Attack) -> Iterator[str]:
    words = _WORDS["sign"]
    if found.doubts:
        yield words["doubts"]
    for name in (*found.undeclared, *found.unlikely):
        yield words["undeclared"].format(column=name)
    for one in found.summary():
        if one.attacker.is_likely and one.rate.gain > _WORTH:
            chance = f", by chance {percent(one.rate.chance)}" if one.rate.chance else ""
            name, rate = one.name[:1].upper() + one.name[1:], percent(one.rate.rate)
            yield words["finding"].format(name=name, rate=rate, chance=chance)
    yield words["untried"]
