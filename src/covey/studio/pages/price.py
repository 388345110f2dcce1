"""Step 4: how safe, at what price: choose k, and what must hold of sensitive columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date

from starlette.datastructures import FormData

from covey import html
from covey.errors import UsageError, count, percent
from covey.html import Html, Part, element
from covey.schema import Role, Schema
from covey.studies.curves import KS
from covey.studies.marks import MARKS
from covey.studio import ui
from covey.studio.earlier import Compared
from covey.studio.frame import line
from covey.studio.prices import SHARES, ExampleRows, Priced, curve_of
from covey.studio.session import Studio, is_whole, number, prices_in, text_of, whole
from covey.studio.steps import BLOCKED, DONE, NEXT, Step
from covey.studio.workers import StudioJob

_DRAWN = (3, 8, 15, 22, 29, 41)  # pieces of prices after which the curve is drawn again
_LONGEST_USES = "5000"  # signs
_WORDS = ui.WORDS["price"]
_SWAPS = "answer earlier line rail same"  # what a move of k changes; the slider itself stays


async def _page(studio: Studio) -> Part:
    if not studio.schema.quasi:
        return ui.nothing_known(_WORDS["title"])
    if studio.schema.require.k is None:
        studio.require(k=min(10, studio.table.rows))
    _look_for_prices(studio)
    return (
        ui.heading(_WORDS["title"], _WORDS["lead"]),
        _choice(studio),
        _answer(studio),
        await _earlier(studio),
        await _requirements(studio),
        _uses(studio),
        _rules(),
        ui.onwards("make", "Make it"),
    )


def _look_for_prices(studio: Studio) -> None:
    """Begin to compute the prices, unless a release is being made."""
    if "make" not in studio.jobs:
        job = studio.find("prices")
        if job.is_done and job.error is None:
            studio.find("savings")


def _k(studio: Studio) -> int:
    return studio.schema.require.k or 2


def _choice(studio: Studio) -> Html:
    k, rows = _k(studio), studio.table.rows
    # Those of a curve that the table allows, and the chosen one.
    ks = sorted({each for each in KS if each <= max(rows, 2)} | {k})
    slider = element(
        "input", type="range", name="place", min="0", max=str(len(ks) - 1),
        value=str(ks.index(k)), id="k-slider", aria_label="k", aria_valuetext=f"k = {k}",
        step="1",
    )  # fmt: skip
    slide = ui.form(
        "price/slide",
        ui.hidden("ks", ",".join(map(str, ks))),
        html.span("safer →", class_="quiet small"),
        slider,
        live=True,
        swaps=_SWAPS + " k-typed",
        class_="slide",
    )
    write = ui.labelled("k", ui.typed("k", k, kind="number", id="k-typed", min="2"))
    typed = ui.form("price/k", write, live=True, class_="k")
    return ui.card("k: how many look the same", typed, slide, class_="card choose-k")


# ── the answer ──────────────────────────────────────────────────────────────────────────────────


def _answer(studio: Studio) -> Html:
    """What the chosen k means: asked for again until all prices are known."""
    prices, savings = studio.priced("prices"), studio.priced("savings")
    is_over = prices is None or (prices.is_done and prices.error is not None)
    if is_over or (prices and prices.is_done and savings and savings.is_done):
        return html.div(_meaning(studio, prices), id="answer")
    parts = _meaning(studio, prices)
    return ui.again("price/piece/answer", parts, id="answer", milliseconds=700)


def _meaning(studio: Studio, job: StudioJob | None) -> Iterator[Part]:
    if job is not None and job.error is not None and not job.was_stopped:
        yield ui.undecided(str(job.error)) or ui.failure(str(job.error))
        return
    if (k := _k(studio)) > (rows := studio.table.rows):
        yield ui.failure(f"k = {k:,} is not possible: the table has only {count(rows, 'row')}.")
        return
    priced, pieces = studio.price, [] if job is None else job.pieces
    known = {} if job is None else prices_in(job)
    yield html.facts(_figures(studio, priced))
    if len(known) > 1:
        # A picture takes longer than a point, so it is drawn again only after several.
        version = max((many for many in _DRAWN if many <= len(pieces)), default=0)
        address = f"price/piece/curve?pieces={version}&k={k}"
        yield ui.later(address, "drawing", class_="later curve", id="curve")
    if job is not None and not job.is_done:
        text = f"{count(len(known), 'point')} so far; {job.stage} …"
        yield html.p(text, class_="quiet small", role="status")
    examples = next((piece for piece in pieces if isinstance(piece, ExampleRows)), None)
    if examples is not None and priced is not None:
        yield ui.card(f"Three people at k = {priced.point.k:,}", _examples(examples, priced))
    if studio.schema.require.person:
        yield _share(studio)
    yield _suppression(studio)


def _figures(studio: Studio, priced: Priced | None) -> Iterator[tuple[str, str, str]]:
    k, person = _k(studio), studio.schema.require.person
    if priced is None:
        if not person:  # someone with several rows in a group is easier to find
            yield "highest risk", f"≤ {percent(1 / k)}", f"each group has at least {k:,} rows"
        job = studio.priced("prices")
        is_over = job is None or job.is_done
        unknown = ("–", "not computed for so large a k") if is_over else ("…", "is being computed")
        yield "information lost", *unknown
        return
    point = priced.point
    chance = "chance that someone who knows a person picks their row"
    if person and point.highest_risk > 1 / k:
        chance += f": more than 1 in {k:,}, since someone with several rows is found by any of them"
    yield "highest risk", percent(point.highest_risk), chance
    yield "on average", percent(point.average_risk), "the same chance, over all people"
    about = "per cell, on average" + ("" if point.k == k else f"; that of k = {point.k:,}")
    yield "information lost", f"≈\u2009{percent(point.loss)}", about
    if point.uses_kept is not None and point.uses_overlap is not None:
        overlap = f"the intervals overlap by {percent(point.uses_overlap)} on average"
        yield "uses kept", percent(point.uses_kept), f"of the declared ones; {overlap}"
    yield "groups", f"{point.groups:,}", f"the largest has {count(point.largest, 'row')}"


async def _curve_piece(studio: Studio, _: Mapping[str, str]) -> Part:
    job = studio.priced("prices")
    known = {} if job is None else prices_in(job)
    if len(known) < 2:
        raise UsageError("the first points are being computed")
    curve = curve_of(known.values(), studio.table.rows, studio.schema)
    svg = await studio.reader.ask("curve_picture", curve, _k(studio))
    head = ["k", "highest risk", "average risk", "information lost", "groups"]
    head += ["uses kept"] if curve.has_uses else []
    lines = [
        (f"{p.k:,}", percent(p.highest_risk), percent(p.average_risk), percent(p.loss),
         f"{p.groups:,}", *([percent(p.uses_kept or 0.0)] if curve.has_uses else []))
        for p in curve.points
    ]  # fmt: skip
    numbers = html.table(head, lines, numbers=range(1, len(head)))
    return html.figure(svg, "Risk and loss for each k", numbers=numbers, wide=True)


async def _answer_piece(studio: Studio, _: Mapping[str, str]) -> Part:
    _look_for_prices(studio)
    return line(studio), _answer(studio)


def _examples(examples: ExampleRows, priced: Priced) -> Html:
    rows: list[tuple[Part, ...]] = []
    for place, (before, after) in enumerate(zip(examples.cells, priced.shown, strict=True), 1):
        rows.append((f"person {place}", *before))
        rows.append((html.span("shown as", class_="quiet"), *after))
    return ui.grid(("who", *examples.columns), rows, "three people before and after")


def _suppression(studio: Studio) -> Html | None:
    """How many rows may be left out, and what that saves; none if groups must stay together."""
    if studio.schema.require.composition == "follow":
        return None
    now, known = studio.work.max_suppressed, {p.share: p for p in _savings(studio, None)}
    options = [
        (f"{share:g}", "none" if not share else percent(share), _saved(known, share), share == now)
        for share in sorted({0.0, *SHARES, now})
    ]
    return ui.card(
        "May covey leave out a few people?",
        ui.quiet("A few unusual people can cost everyone else much detail."),
        ui.form("price/suppress", _choices("share", "Leave out at most", options), live=True),
    )


def _share(studio: Studio) -> Html:
    """Whether one person may have most rows of a class, and what it costs to prevent that."""
    now, most = studio.schema.require.limit_share, f"have at most 1/{_k(studio):,} of the rows"
    free = "have most rows: only people count"
    options = [
        ("no", free, _lost(studio, limited=False), not now),
        ("yes", most, _lost(studio, limited=True), now),
    ]
    return ui.card(
        "May one person have most rows of a class?",
        ui.quiet(_WORDS["share"]),
        ui.form("price/share", _choices("limit", "One person may", options), live=True),
        id="share",
    )


def _lost(studio: Studio, *, limited: bool) -> str:
    """What is lost with or without the limit, and the risk that is left."""
    for piece in _savings(studio, limited):
        risk = percent(piece.point.highest_risk)
        return f"{percent(piece.point.loss)} lost, highest risk {risk}"
    job = studio.priced("savings")
    return "not possible for this k" if job is not None and job.is_done else "…"


def _savings(studio: Studio, limited: bool | None) -> list[Priced]:
    """What is known of the prices at the chosen k; without `limited`, those of suppression."""
    job = studio.priced("savings")
    pieces = [] if job is None else job.pieces
    return [p for p in pieces if isinstance(p, Priced) and p.limited == limited]


# ── earlier releases of the same people ─────────────────────────────────────────────────────────


async def _earlier(studio: Studio) -> Html | None:
    """A question only if the register knows these people: should their groups stay together?"""
    dates = await studio.released_on()
    if not dates:
        return None
    job = studio.find("followed") if _has_prices(studio) and "make" not in studio.jobs else None
    now = studio.schema.require.composition
    exposed, costs = _both_ways(job)
    options = [
        ("no", "no: form new groups", exposed, now not in ("follow", "only-new")),
        ("yes", "yes: the same people stay together", costs, now == "follow"),
        ("new", "release only new people", _WORDS["only_new"], now == "only-new"),
    ]
    card = ui.card(
        "Keep everyone's group together?",
        html.p(f"You have released these people {_on(dates)}."),
        ui.quiet(_WORDS["earlier"]),
        ui.form("price/follow", _choices("follow", "Keep together", options), live=True),
    )
    if job is not None and job.is_done:
        return html.div(card, id="earlier")
    return ui.again("price/piece/earlier", card, id="earlier", milliseconds=700)


def _has_prices(studio: Studio) -> bool:
    """Whether all other prices are known: no k that is only passed by needs this one, too."""
    prices, savings = studio.priced("prices"), studio.priced("savings")
    if prices is None or not prices.is_done:
        return False
    return prices.error is not None or (savings is not None and savings.is_done)


def _on(dates: Sequence[date]) -> str:
    """The last two dates, in words."""
    named = " and ".join(f"{each.day} {each:%B %Y}" for each in dates[-2:])
    return f"{'most recently ' if len(dates) > 2 else ''}on {named}"


def _both_ways(job: StudioJob | None) -> tuple[str, str]:
    """What is lost from scratch and what it costs to follow, as far as it is known."""
    if job is None or not job.is_done:
        return "…", "…"
    if job.error is not None:
        return f"not known: {job.error}", "not known"
    found: Compared = job.result
    exposed, k = percent(found.scratch.below_k), found.scratch.k
    scratch = f"with all releases, {exposed} have fewer than {k:,} candidates"
    if found.follower is None:
        return scratch, f"not possible: {found.obstacle}"
    out, price = found.follower.rows.suppressed, found.follower.price or 0.0
    costs = f"costs about {percent(max(price, 0.0))} more loss"
    return scratch, f"{costs}, {count(out, 'row')} left out" if out else costs


async def _earlier_piece(studio: Studio, _: Mapping[str, str]) -> Part:
    return await _earlier(studio)


def _choices(name: str, legend: str, options: Iterable[tuple[str, str, str, bool]]) -> Html:
    """Choices, each with its value, its text, a note, and whether it is chosen."""
    choices = (
        ui.choice(name, value, " ", text, html.span(note, class_="note"), on=chosen,
                  id=f"{name}-{place}", class_="tick tall")
        for place, (value, text, note, chosen) in enumerate(options)
    )  # fmt: skip
    return element("fieldset", element("legend", legend), choices, class_="row")


def _saved(known: Mapping[float, Priced], share: float) -> str:
    if not share:
        return "everyone is released"
    if share not in known or 0.0 not in known:
        return "…"
    before, after = known[0.0].point, known[share].point
    gain = 1 - after.total_il / before.total_il if before.total_il else 0.0
    left_out = count(after.suppressed, "row")
    return f"saves {percent(gain)}, {left_out}" if gain > 0 else "saves nothing"


# ── requirements in words ───────────────────────────────────────────────────────────────────────

_MODELS = _WORDS["models"]  # what a list of levels is for
_TYPED_MODELS = ("beta", "delta")


async def _requirements(studio: Studio) -> Html:
    names = studio.schema.names(Role.SENSITIVE)
    if not names:
        return ui.card("Sensitive columns", ui.quiet(_WORDS["nothing_sensitive"]))
    known = await studio.known("sensitive", names)
    return ui.card(
        "Sensitive columns",
        html.p(_WORDS["sensitive"]),
        (_of_column(studio, name, known[name]) for name in names),
    )


def _of_column(studio: Studio, name: str, known: tuple[int, float]) -> Html:
    place, schema = studio.place(name), studio.schema
    fields = (
        ui.labelled(
            words["words"],
            _levels(schema, model, name, known, f"{model}-{place}"),
            note=words["note"],
        )
        for model, words in _MODELS.items()
    )
    more = (
        ui.labelled(model, ui.typed(model, _setting(schema, model, name), id=f"{model}-{place}"))
        for model in _TYPED_MODELS
    )
    return ui.form(
        "price/require",
        ui.hidden("column", place),
        html.h3(name),
        html.div(fields, class_="chips"),
        ui.details(
            "More requirements",
            ui.small(_WORDS["typed"]),
            html.div(more, class_="chips"),
            ui.button("Set"),
            id=f"more-{place}",
        ),
        live=True,
        label=f"requirements on {name}",
    )


def _setting(schema: Schema, model: str, name: str) -> str:
    """The setting of a column as text; several with spaces between."""
    found = getattr(schema.require, model).get(name)
    several = found if isinstance(found, list | tuple) else [] if found is None else [found]
    return " ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in several)


def _levels(schema: Schema, model: str, name: str, known: tuple[int, float], id: str) -> Html:
    """A list of levels; those that no release can keep are grey, with the reason."""
    now = _setting(schema, model, name)
    levels = [f"{level:g}" for level in _MODELS[model]["levels"]]
    options = [element("option", "no limit", value="", selected=not now)]
    for level in levels if now in levels or not now else [now, *levels]:
        why = _why_not(model, level, known)
        text = percent(float(level)) if model == "alpha" and _is_number(level) else level
        text, off = f"{text}: {why}" if why else text, bool(why) and level != now
        options.append(element("option", text, value=level, selected=level == now, disabled=off))
    return element("select", options, name=model, id=id)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def _why_not(model: str, level: str, known: tuple[int, float]) -> str:
    """Why no release of this table can keep a requirement."""
    values, most = known
    if not _is_number(level):
        return ""
    if model == "l" and float(level) > values:
        return f"the column has only {count(values, 'value')}"
    if model == "alpha" and float(level) < most:
        return f"{percent(most)} of all rows have the same value"
    return ""


# ── uses ────────────────────────────────────────────────────────────────────────────────────────


def _uses(studio: Studio) -> Html:
    """What the table is released for, typed in words."""
    lines = "\n".join(studio.schema.uses)
    typed = element("textarea", lines, name="uses", rows="4", id="uses", maxlength=_LONGEST_USES)
    return ui.card(
        "What is the release for?",
        ui.quiet(_WORDS["uses"]),
        ui.form("price/uses", ui.labelled("Uses", typed), html.p(ui.button("Set")), class_="stack"),
        id="uses-card",
    )


async def _set_uses(studio: Studio, sent: FormData) -> None:
    uses = [line.strip() for line in text_of(sent, "uses").splitlines() if line.strip()]
    studio.history.change(schema=studio.schema.using(uses))


# ── published rules ─────────────────────────────────────────────────────────────────────────────


def _rules() -> Html:
    """Rules to compare a k with, and where they are from."""
    rows = [(f"{mark.k}", mark.says, f"{mark.title}. {mark.cited}") for mark in MARKS]
    return ui.details(
        "What others use",
        ui.quiet(_WORDS["rules"]),
        ui.grid(("k", "rule", "source"), rows, "published rules"),
        id="rules",
    )


# ── actions ─────────────────────────────────────────────────────────────────────────────────────


async def _set_k(studio: Studio, sent: FormData) -> None:
    studio.require(k=whole(sent, "k", "k"))


async def _slide(studio: Studio, sent: FormData) -> None:
    # The page says which k its places mean: another one may have been typed in another window.
    place, ks = whole(sent, "place", "the place"), text_of(sent, "ks").split(",")
    if place >= len(ks) or not is_whole(ks[place]):
        raise UsageError("there is no such k")
    studio.history.move("k", schema=studio.schema.requiring(k=int(ks[place])))


async def _suppress(studio: Studio, sent: FormData) -> None:
    studio.history.change(max_suppressed=number(sent, "share", "the share"))


async def _follow(studio: Studio, sent: FormData) -> None:
    now, answer = studio.schema.require.composition, text_of(sent, "follow")
    if answer == "yes":  # then only those are left out who cannot be hidden
        schema = studio.schema.requiring(composition="follow")
        studio.history.change(schema=schema, max_suppressed=0.0)
    elif answer == "new":
        studio.require(composition="only-new")
    elif now in ("follow", "only-new"):
        studio.require(composition="warn")


async def _limit(studio: Studio, sent: FormData) -> None:
    studio.require(limit_share=text_of(sent, "limit") == "yes")


async def _require(studio: Studio, sent: FormData) -> None:
    name, schema = studio.column(sent), studio.schema
    for model in (*_MODELS, *_TYPED_MODELS):
        given = text_of(sent, model)
        if given == _setting(schema, model, name):
            continue
        settings = {on: s for on, s in getattr(schema.require, model).items() if on != name}
        if given:
            several = [_read(each) for each in given.split()]
            settings[name] = several[0] if len(several) == 1 else several
        schema = schema.requiring(**{model: settings})
    studio.history.change(schema=schema)


def _read(setting: str) -> int | float | str:
    """A setting as a schema file has it: a number if it is one."""
    if is_whole(setting):
        return int(setting)
    return float(setting) if _is_number(setting) else setting


def _state(studio: Studio) -> str:
    if not studio.schema.quasi:
        return BLOCKED
    return DONE if studio.price is not None or studio.release is not None else NEXT


STEP = Step(
    "price",
    "How safe, at what price?",
    _page,
    _state,
    {
        "k": _set_k,
        "slide": _slide,
        "suppress": _suppress,
        "follow": _follow,
        "share": _limit,
        "require": _require,
        "uses": _set_uses,
    },
    {"answer": _answer_piece, "curve": _curve_piece, "earlier": _earlier_piece},
)
