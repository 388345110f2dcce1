"""A part of step 6: all attackers on the release, how often they succeed, and what helps."""

from collections.abc import Iterator, Mapping

from starlette.datastructures import FormData

from covey import html
from covey.attacks import Attack, Finding
from covey.attacks.page import (
    FIGURES,
    OTHERS,
    attackers_by_criterion,
    figures,
    other_remedies,
    worst_by,
)
from covey.attacks.remedies import Remedy
from covey.errors import UsageError, percent
from covey.html import Html, Part, element
from covey.schema import Role, Schema
from covey.studies.curves import KS
from covey.studio import ui
from covey.studio.intruders import RECORD, keep_released, released_rows
from covey.studio.look_state import LookState
from covey.studio.pages.roles import give_role
from covey.studio.session import Studio, prices_in, text_of

_WORDS = ui.WORDS["look"]["attackers"]


def attackers(studio: Studio, _: LookState) -> Part:
    """What the attackers found, or how far they are: asked for again until all have tried."""
    job = studio.priced("attackers")
    if job is None or not job.is_done or job.was_stopped:
        share, stage = (job.share, job.stage) if job else (0.0, "waiting")
        done = element("progress", value=f"{share:.3f}", max="1", aria_label="attackers")
        inside = html.p(f"Attackers are trying: {stage} {percent(share)}", role="status"), done
        return ui.again("look/piece/attackers", inside, id="attackers-found", milliseconds=700)
    if job.error is not None:
        return html.div(ui.failure(ui.sentence(str(job.error))), id="attackers-found")
    return html.div(_found(studio, job.result), id="attackers-found")


async def piece(studio: Studio, _: Mapping[str, str]) -> Part:
    """The same, once the attackers have been sent out."""
    if studio.priced("attackers") is None:
        place = released_rows(studio.folder, studio.made.number)
        await studio.maker.ask("look", keep_released, place)
    studio.find("attackers")
    return attackers(studio, LookState())


def _found(studio: Studio, found: Attack) -> Iterator[Part]:
    studio.files[RECORD] = studio.folder / RECORD
    head = ("what they find", *FIGURES, "what helps")
    lines = [
        (html.explained(one.goal, worst_by(found, one)), *figures(one), _helps(studio, one))
        for one in found.summary()
    ]
    yield ui.grid(head, lines, "what attackers find", numbers=(1, 2, 3))
    if others := other_remedies(found):
        yield html.p(OTHERS)
        yield ui.row(_remedy(studio, remedy) for remedy in others)
    yield ui.details("All attackers", attackers_by_criterion(found), id="all-attackers")
    record = html.a("Print or save the record", href=f"files/{RECORD}?show=yes", target="_blank")
    yield html.p(record, " ", _WORDS["record"])


# ── what helps ──────────────────────────────────────────────────────────────────────────────────


def _helps(studio: Studio, one: Finding) -> Part:
    return [_remedy(studio, remedy) for remedy in one.remedies] or "–"


def _remedy(studio: Studio, remedy: Remedy) -> Html:
    """A button if the studio can do it at once; else where it is done."""
    name, now = remedy.column, studio.schema
    match remedy.kind:
        case "quasi" if name:
            return _button(studio, remedy, f"Others may know {name}")
        case "l" if name:
            return _button(studio, remedy, f"Require l = {_next_l(now, name)} on {name}")
        case "k" if (k := _next_k(studio)) is not None:
            return _button(studio, remedy, f"Raise k to {k:,}{_price(studio, k)}")
        case "grid" | "tails":
            place = f"shown#column-{studio.place(name)}" if name else "shown"
            return html.div(html.a(ui.sentence(remedy.text), href=place))
    return html.div(ui.sentence(remedy.text))


def _button(studio: Studio, remedy: Remedy, text: str) -> Html:
    place = studio.place(remedy.column) if remedy.column else ""
    return ui.push("look/mend", text, kind="quiet", remedy=remedy.kind, column=place)


def _next_l(schema: Schema, name: str) -> int:
    now = getattr(schema.require, "l").get(name)  # noqa: B009
    return now + 1 if isinstance(now, int) else 2


def _next_k(studio: Studio) -> int | None:
    return next((k for k in KS if studio.k < k <= studio.table.rows), None)


def _price(studio: Studio, k: int) -> str:
    """What a k costs, if the curve is there."""
    job = studio.priced("prices")
    known = {} if job is None else prices_in(job)
    return f": ≈\u2009{percent(known[k].point.loss)} lost" if k in known else ""


async def mend(studio: Studio, sent: FormData) -> str:
    """Decide what helps; the release is to be made again."""
    match text_of(sent, "remedy"):
        case "quasi":
            await give_role(studio, studio.column(sent), Role.QUASI)
        case "l":
            name, required = studio.column(sent), getattr(studio.schema.require, "l")  # noqa: B009
            studio.require(l={**required, name: _next_l(studio.schema, name)})
        case "k" if (k := _next_k(studio)) is not None:
            studio.require(k=k)
        case _:
            raise UsageError("this cannot be done here")
    return "make"
