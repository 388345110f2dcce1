"""Step 5: make the release, watch the loss fall, and see the verifier's checks."""

import re
from collections.abc import Iterator, Mapping

from starlette.datastructures import FormData

from covey.clustering.progress import loss_in
from covey.errors import count, percent
from covey.html import Html, Part, element, facts, together
from covey.schema import Schema
from covey.schema.requirements import SENSITIVE_MODELS
from covey.studio.desk import Made
from covey.studio.session import Studio, is_whole, text_of
from covey.studio.steps import (
    BLOCKED,
    DONE,
    NEEDS,
    NEXT,
    Step,
    again,
    card,
    chosen_from,
    form,
    heading,
    labelled,
    nothing_known,
    onwards,
    promised,
    push,
    sentence,
    ticked,
    undecided,
)
from covey.studio.work import EFFORTS, OBJECTIVES, Work
from covey.studio.workers import Job
from covey.verification import Check

_STAGES = {
    "reading": "Read the table",
    "encoding": "Understand every cell",
    "clustering": "Group similar people",
    "generalising": "Show each group as one",
    "verifying": "Check the promise, independently",
    "measuring": "Measure what was lost",
    "remembering": "Compare with earlier releases",
}
_EFFORTS = {
    "fast": "fast: seconds, some more is lost",
    "quick": "quick",
    "balanced": "balanced",
    "best": "best: the least is lost, takes several times as long",
}
_OBJECTIVES = {
    "loss": "the information of all columns",
    "sse": "numbers close to their means",
}


async def page(studio: Studio) -> Html:
    """The page of the step."""
    if (job := studio.jobs.get("make")) is not None:
        return together((heading("Making it"), _working(studio, job)))
    if studio.release is not None:
        return together(_made(studio, studio.release))
    if not studio.schema.quasi:
        return nothing_known("Make the release")
    return together((*_before(studio), _options(studio)))


# ── before ──────────────────────────────────────────────────────────────────────────────────────


def _before(studio: Studio) -> Iterator[Part]:
    schema = studio.schema
    yield heading(
        "Make the release",
        f"covey groups {count(studio.table.rows, 'row')} so that each person hides among at least "
        f"k = {schema.require.k or '…'}, shows of each group as much as it can, and checks the "
        "result with code that shares nothing with the code that made it.",
    )
    failed = studio.result("failed", studio.work.made_of)
    if failed is not None:
        yield _remedies(studio, failed)
    if studio.release_before is not None:
        yield element(
            "p", "You have changed something since the last release: make it again.",
            class_="told mind",
        )  # fmt: skip


def _options(studio: Studio) -> Html:
    work = studio.work
    if studio.schema.require.k is None:
        said = element("p", "No k is chosen yet.", class_="told mind")
        return together((said, onwards("price", "How safe, at what price?")))
    effort = labelled(
        "How hard should it try?",
        chosen_from("effort", ((e, _EFFORTS[e]) for e in EFFORTS), work.effort, id="effort"),
    )
    chosen = form(
        "make/options",
        effort,
        _objective(work),
        ticked("value_sets", "Show {a, b} instead of a common name of a and b",
               on=work.value_sets, id="value_sets"),
        ticked("low_high", "Write two columns, low and high, instead of [low, high]",
               on=work.low_high, id="low_high"),
        live=True,
        class_="stack",
        label="options",
    )  # fmt: skip
    start = push("make/start", "Make the release", kind="main")
    return together((element("p", start), card("Options", chosen)))


def _objective(work: Work) -> Html | None:
    """What the groups are formed for: a question only where numbers are shown as means."""
    centred = any(column.render for column in work.described.quasi.values())
    if not centred and work.objective == "loss":
        return None
    options = ((name, _OBJECTIVES[name]) for name in OBJECTIVES)
    return labelled(
        "What should the groups keep?",
        chosen_from("objective", options, work.objective, id="objective"),
    )


def _is_blocked(studio: Studio) -> bool:
    """Whether no release can be made yet."""
    return not studio.schema.quasi or studio.schema.require.k is None


# ── while it is made ────────────────────────────────────────────────────────────────────────────


def _working(studio: Studio, job: Job) -> Html:
    """The stages, how far they are, and the loss as it falls."""
    losses = studio.losses
    now = job.stage.split(",")[0]
    names = list(_STAGES)
    place = names.index(now) if now in names else 0  # until the process has started
    stages = element(
        "ol",
        *(
            element(
                "li",
                element("span", "✓" if i < place else "…" if i == place else "", class_="sign",
                        aria_hidden="true"),
                text,
                class_="over" if i < place else "now" if i == place else "open",
                aria_current="step" if i == place else None,
            )
            for i, text in enumerate(_STAGES.values())
        ),
        class_="stages",
    )  # fmt: skip
    grouping = names.index("clustering")
    share = job.share if place == grouping else float(place > grouping)
    bar = element("progress", value=f"{share:.3f}", max="1", aria_label="groups formed")
    told = f"{percent(losses[-1][1])} of the information is lost so far." if losses else ""
    buttons = element(
        "div",
        push("make/enough", "Good enough", kind="main") if loss_in(job.stage) else None,
        push("make/cancel", "Cancel", kind="danger"),
        class_="row",
    )
    inside = element(
        "div", stages, bar, element("p", told, role="status"),
        element("div", studio.falling, class_="picture") if studio.falling else None, buttons,
        class_="working",
    )  # fmt: skip
    return again("make/piece/progress", inside, id="working", milliseconds=500)


async def _progress(studio: Studio, _: Mapping[str, str]) -> str:
    job = studio.jobs.get("make")
    if job is None:
        return "reload"
    studio.draw_losses()
    return _working(studio, job)


# ── once it is made ─────────────────────────────────────────────────────────────────────────────


def _made(studio: Studio, made: Made) -> Iterator[Part]:
    report, verdict = made.report, made.verdict
    yield from promised(report.headline)
    risk, why = verdict.risks.prosecutor, verdict.why_higher
    said = "chance that someone who knows a person picks their row" + (f": {why}" if why else "")
    yield facts(
        [
            ("information lost", percent(report.mean_loss), "per cell, on average"),
            *([("highest risk", percent(risk), said)] if risk else []),
            ("rows released", f"{report.rows.released:,}", f"of {count(report.rows.read, 'row')}"),
            ("groups", f"{verdict.classes:,}", "sets of rows that look the same"),
        ]
    )  # fmt: skip
    yield onwards("look", "Look at it")
    yield card("The verifier's checks, one by one", _checks(verdict.checks))
    if report.points:
        minded = [element("li", sentence(text)) for text in report.points]
        yield card("Before you publish", element("ul", *minded, class_="minded"))
    if studio.falling:
        yield card("How the loss fell", element("div", studio.falling, class_="picture"))
    yield element("details", element("summary", "Make it again"), _options(studio), id="once-more")


def _checks(checks: tuple[Check, ...]) -> Html:
    return element(
        "ul",
        *(
            element(
                "li",
                element("span", "✓" if check.holds else "✗", class_="sign", aria_hidden="true"),
                element("strong", check.name),
                f": asked {check.asked:g}, found {check.found}. ",
                element("span", check.requirement.meaning, class_="quiet"),
                class_="good" if check.holds else "bad",
            )
            for check in checks
        ),
        class_="signed checks",
    )


# ── when it fails ───────────────────────────────────────────────────────────────────────────────


def _remedies(studio: Studio, failed: str) -> Html:
    """What stands in the way, and what can be done about it."""
    if said := undecided(failed):
        return card("What stands in the way", said)
    ways = [
        push("make/remedy", text, which=place)
        for place, (text, _) in enumerate(_ways(studio, failed))
    ]
    return card(
        "What stands in the way",
        element("p", sentence(failed), class_="told bad", role="alert"),
        element("div", *ways, class_="row") if ways else None,
    )


def _ways(studio: Studio, failed: str) -> list[tuple[str, Schema | float]]:
    """Each remedy: its text, and the schema that it gives, or the share to suppress."""
    schema = studio.schema
    ways = [*_about_a_column(schema, failed), *_about_rare(schema, failed)]
    return [*ways, *_weaker(studio, schema)][:4]


def _about_a_column(schema: Schema, failed: str) -> Iterator[tuple[str, Schema | float]]:
    """Remedies for cells that do not fit the type of their column."""
    found = re.search(r"column '(.+?)'", failed)
    column = schema.columns.get(found[1]) if found else None
    if found is None or column is None:
        return
    name = found[1]
    if column.is_ordered and column.unreadable is None:
        yield (
            f"Read such cells of {name} as missing",
            schema.with_settings(name, unreadable="missing"),
        )
    yield f"Remove {name}", schema.with_role(name, "drop")


def _about_rare(schema: Schema, failed: str) -> Iterator[tuple[str, Schema | float]]:
    """Remedies for a k that is too small for rows of rare values."""
    if found := re.search(r"Set k = ([\d,]+)", failed):
        yield f"Use k = {found[1]}", schema.requiring(k=int(found[1].replace(",", "")))
        yield (
            "Accept that groups may show who has a rare value",
            schema.requiring(minimality="accept"),
        )


def _weaker(studio: Studio, schema: Schema) -> Iterator[tuple[str, Schema | float]]:
    """Remedies for requirements that cannot be met."""
    for model in SENSITIVE_MODELS:
        for name in getattr(schema.require, model):
            kept = {on: s for on, s in getattr(schema.require, model).items() if on != name}
            require = schema.require.model_copy(update={model: kept})
            yield (
                f"Drop the requirement {model} on {name}",
                schema.model_copy(update={"require": require}),
            )
    k = schema.require.k or 2
    if k > 2:
        lower = max(2, min(k // 2, studio.table.rows // 2))
        yield f"Use k = {lower}", schema.requiring(k=lower)
    if not studio.work.max_suppressed:
        yield "Let covey suppress up to 1\u2009% of the rows", 0.01


# ── actions ─────────────────────────────────────────────────────────────────────────────────────


async def _set_options(studio: Studio, sent: FormData) -> str | None:
    studio.history.change(
        effort=text_of(sent, "effort"),
        objective=text_of(sent, "objective") or "loss",
        value_sets=text_of(sent, "value_sets") == "on",
        low_high=text_of(sent, "low_high") == "on",
    )
    return None


async def _start(studio: Studio, _: FormData) -> str | None:
    if not _is_blocked(studio) and "make" not in studio.jobs:
        await studio.make()
    return None


async def _enough(studio: Studio, _: FormData) -> str | None:
    if "make" in studio.jobs:
        studio.maker.enough()
    return None


async def _cancel(studio: Studio, _: FormData) -> str | None:
    if "make" in studio.jobs:
        await studio.maker.stop()
    return None


async def _remedy(studio: Studio, sent: FormData) -> str | None:
    failed = studio.result("failed", studio.work.made_of)
    place = text_of(sent, "which")
    ways = [] if failed is None else _ways(studio, failed)
    if not is_whole(place) or int(place) >= len(ways):
        return None
    remedy = ways[int(place)][1]
    if isinstance(remedy, Schema):
        studio.history.change(schema=remedy)
    else:
        studio.history.change(max_suppressed=remedy)
    await studio.make()
    return None


def state(studio: Studio) -> str:
    """How far the step is."""
    if studio.release is not None:
        return DONE
    if _is_blocked(studio):
        return BLOCKED
    failed = studio.result("failed", studio.work.made_of) is not None
    return NEEDS if failed or studio.release_before is not None else NEXT


STEP = Step(
    "make",
    "Make it",
    page,
    state,
    {
        "options": _set_options,
        "start": _start,
        "enough": _enough,
        "cancel": _cancel,
        "remedy": _remedy,
    },
    {"progress": _progress},
)
