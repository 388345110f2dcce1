"""Step 5: make the release, watch the loss fall, and see the verifier's checks."""

import re
from collections.abc import Iterator, Mapping

from starlette.datastructures import FormData

from covey import html
from covey.clustering.progress import loss_in
from covey.errors import count, percent
from covey.html import Html, Part, element
from covey.schema import Schema
from covey.schema.requirements import SENSITIVE_MODELS
from covey.studio import ui
from covey.studio.desk import Made
from covey.studio.session import Studio, is_whole, text_of
from covey.studio.steps import BLOCKED, DONE, NEEDS, NEXT, Step
from covey.studio.work import Work, without_requirement
from covey.studio.workers import StudioJob
from covey.verification import Check

_WORDS = ui.WORDS["make"]


async def _page(studio: Studio) -> Part:
    if (job := studio.jobs.get("make")) is not None:
        return ui.heading("Making it"), _working(studio, job)
    if studio.release is not None:
        return _made(studio, studio.release)
    if not studio.schema.quasi:
        return ui.nothing_known("Make the release")
    return _before(studio), _options(studio)


# ── before ──────────────────────────────────────────────────────────────────────────────────────


def _before(studio: Studio) -> Iterator[Part]:
    rows, k = count(studio.table.rows, "row"), studio.schema.require.k or "…"
    yield ui.heading("Make the release", _WORDS["lead"].format(rows=rows, k=k))
    if studio.failed is not None:
        yield _remedies(studio, studio.failed)
    if studio.was_made:
        text = "You have changed something since the last release: make it again."
        yield ui.message("mind", text)


def _options(studio: Studio) -> Part:
    work = studio.work
    if studio.schema.require.k is None:
        return (
            ui.message("mind", "No k is chosen yet."),
            ui.onwards("price", "How safe, at what price?"),
        )
    effort = ui.chosen_from("effort", _WORDS["efforts"].items(), work.effort, id="effort")
    sets = "Show {a, b} instead of a common name of a and b"
    ends = "Write two columns, low and high, instead of [low, high]"
    chosen = ui.form(
        "make/options",
        ui.labelled("How hard should it try?", effort),
        _objective(work),
        ui.ticked("value_sets", sets, on=work.value_sets, id="value_sets"),
        ui.ticked("low_high", ends, on=work.low_high, id="low_high"),
        live=True,
        class_="stack",
        label="options",
    )
    start = ui.push("make/start", "Make the release", kind="main")
    return html.p(start), ui.card("Options", chosen)


def _objective(work: Work) -> Html | None:
    """What the groups are formed for: a question only where numbers are shown as means."""
    centred = any(column.render for column in work.described.quasi.values())
    if not centred and work.objective == "loss":
        return None
    objectives = ui.chosen_from(
        "objective", _WORDS["objectives"].items(), work.objective, id="objective"
    )
    return ui.labelled("What should the groups keep?", objectives)


def _is_blocked(studio: Studio) -> bool:
    """Whether no release can be made yet."""
    return not studio.schema.quasi or studio.schema.require.k is None


# ── while it is made ────────────────────────────────────────────────────────────────────────────


def _working(studio: Studio, job: StudioJob) -> Html:
    """The stages, how far they are, and the loss as it falls."""
    stages, now = _WORDS["stages"], job.stage.split(",")[0]
    names = list(stages)
    place = names.index(now) if now in names else 0  # until the process has started
    grouping = names.index("clustering")
    share = job.share if place == grouping else float(place > grouping)
    losses, is_grouping = studio.losses, loss_in(job.stage) is not None
    lost = f"{percent(losses[-1][1])} of the information is lost so far." if losses else ""
    enough = ui.push("make/enough", "Good enough", kind="main") if is_grouping else None
    lines = (_stage(text, at - place) for at, text in enumerate(stages.values()))
    inside = html.div(
        element("ol", lines, class_="stages"),
        element("progress", value=f"{share:.3f}", max="1", aria_label="groups formed"),
        html.p(lost, role="status"),
        html.div(studio.falling, class_="picture") if studio.falling else None,
        ui.row(enough, ui.push("make/cancel", "Cancel", kind="danger")),
        class_="working",
    )
    return ui.again("make/piece/progress", inside, id="working")


def _stage(text: str, ahead: int) -> Html:
    """A stage that is over, the one that is running, or one that lies ahead."""
    sign, class_ = ("✓", "over") if ahead < 0 else ("", "open") if ahead else ("…", "now")
    current = None if ahead else "step"
    return html.li(_sign(sign), text, class_=class_, aria_current=current)


def _sign(sign: str) -> Html:
    return html.span(sign, class_="sign", aria_hidden="true")


async def _progress(studio: Studio, _: Mapping[str, str]) -> Part:
    job = studio.jobs.get("make")
    if job is None:
        return "reload"
    studio.draw_losses()
    return _working(studio, job)


# ── once it is made ─────────────────────────────────────────────────────────────────────────────


def _made(studio: Studio, made: Made) -> Iterator[Part]:
    report, verdict = made.report, made.report.verdict
    yield ui.promised(report.headline)
    yield html.facts(_figures(made))
    yield ui.onwards("look", "Look at it")
    yield ui.card("The verifier's checks, one by one", _checks(verdict.checks))
    if report.points:
        points = ui.items(map(ui.sentence, report.points), class_="minded")
        yield ui.card("Before you publish", points)
    if studio.falling:
        yield ui.card("How the loss fell", html.div(studio.falling, class_="picture"))
    yield ui.details("Make it again", _options(studio), id="once-more")


def _figures(made: Made) -> Iterator[tuple[str, str, str]]:
    report, verdict = made.report, made.report.verdict
    risk, why = verdict.risks.prosecutor, verdict.why_higher
    yield "information lost", percent(report.mean_loss), "per cell, on average"
    if risk:
        chance = "chance that someone who knows a person picks their row"
        yield "highest risk", percent(risk), f"{chance}: {why}" if why else chance
    yield "rows released", f"{report.rows.released:,}", f"of {count(report.rows.read, 'row')}"
    yield "groups", f"{verdict.classes:,}", "sets of rows that look the same"


def _checks(checks: tuple[Check, ...]) -> Html:
    lines = (
        html.li(
            _sign("✓" if check.holds else "✗"),
            html.strong(check.name),
            f": asked {check.asked:g}, found {check.found}. ",
            html.span(check.requirement.meaning, class_="quiet"),
            class_="good" if check.holds else "bad",
        )
        for check in checks
    )
    return html.ul(lines, class_="signed checks")


# ── when it fails ───────────────────────────────────────────────────────────────────────────────


def _remedies(studio: Studio, failed: str) -> Html:
    """What stands in the way, and what can be done about it."""
    title = "What stands in the way"
    if question := ui.undecided(failed):
        return ui.card(title, question)
    ways = [
        ui.push("make/remedy", text, which=place)
        for place, (text, _) in enumerate(_ways(studio, failed))
    ]
    return ui.card(title, ui.failure(ui.sentence(failed)), ui.row(ways) if ways else None)


Way = tuple[str, Schema | float]  # a remedy, and the schema that it gives or the share to suppress


def _ways(studio: Studio, failed: str) -> list[Way]:
    """What may help, at most four ways."""
    schema = studio.schema
    ways = [*_about_a_column(schema, failed), *_about_rare(schema, failed)]
    return [*ways, *_weaker(studio, schema)][:4]


def _about_a_column(schema: Schema, failed: str) -> Iterator[Way]:
    """Remedies for cells that do not fit the type of their column."""
    found = re.search(r"column '(.+?)'", failed)
    if found is None or found[1] not in schema.columns:
        return
    name, column = found[1], schema.columns[found[1]]
    if column.is_ordered and column.unreadable is None:
        mended = schema.with_settings(name, unreadable="missing")
        yield f"Read such cells of {name} as missing", mended
    yield f"Remove {name}", schema.with_role(name, "drop")


def _about_rare(schema: Schema, failed: str) -> Iterator[Way]:
    """Remedies for a k that is too small for rows of rare values."""
    if found := re.search(r"Set k = ([\d,]+)", failed):
        yield f"Use k = {found[1]}", schema.requiring(k=int(found[1].replace(",", "")))
        accepting = schema.requiring(minimality="accept")
        yield "Accept that groups may show who has a rare value", accepting


def _weaker(studio: Studio, schema: Schema) -> Iterator[Way]:
    """Remedies for requirements that cannot be met."""
    for model in SENSITIVE_MODELS:
        for name in getattr(schema.require, model):
            weaker = without_requirement(schema, model, name)
            yield f"Drop the requirement {model} on {name}", weaker
    k = schema.require.k or 2
    if k > 2:
        lower = max(2, min(k // 2, studio.table.rows // 2))
        yield f"Use k = {lower}", schema.requiring(k=lower)
    if not studio.work.max_suppressed:
        yield "Let covey suppress up to 1\u2009% of the rows", 0.01


# ── actions ─────────────────────────────────────────────────────────────────────────────────────


async def _set_options(studio: Studio, sent: FormData) -> None:
    studio.history.change(
        effort=text_of(sent, "effort"),
        objective=text_of(sent, "objective") or "loss",
        value_sets=text_of(sent, "value_sets") == "on",
        low_high=text_of(sent, "low_high") == "on",
    )


async def _start(studio: Studio, _: FormData) -> None:
    if not _is_blocked(studio) and "make" not in studio.jobs:
        await studio.make()


async def _enough(studio: Studio, _: FormData) -> None:
    if "make" in studio.jobs:
        studio.maker.enough()


async def _cancel(studio: Studio, _: FormData) -> None:
    if "make" in studio.jobs:
        await studio.maker.stop()


async def _remedy(studio: Studio, sent: FormData) -> None:
    place = text_of(sent, "which")
    ways = [] if studio.failed is None else _ways(studio, studio.failed)
    if not is_whole(place) or int(place) >= len(ways):
        return
    remedy = ways[int(place)][1]
    if isinstance(remedy, Schema):
        studio.history.change(schema=remedy)
    else:
        studio.history.change(max_suppressed=remedy)
    await studio.make()


def _state(studio: Studio) -> str:
    if studio.release is not None:
        return DONE
    if _is_blocked(studio):
        return BLOCKED
    return NEEDS if studio.failed is not None or studio.was_made else NEXT


_ACTIONS = {
    "options": _set_options,
    "start": _start,
    "enough": _enough,
    "cancel": _cancel,
    "remedy": _remedy,
}
STEP = Step("make", "Make it", _page, _state, _ACTIONS, {"progress": _progress})
