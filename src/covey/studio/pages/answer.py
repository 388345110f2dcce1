"""Step 7: answer for the release: say what it is for, check its warnings, write its report."""

import asyncio
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import fields

from starlette.datastructures import FormData

from covey.custody.composition import Composition
from covey.custody.register import Entry, Register
from covey.errors import UsageError, count, percent
from covey.html import Html, Part, element, scrolled, table, together
from covey.report import About, Report
from covey.schema import Role
from covey.studio.handing import Written
from covey.studio.outgoing import address, begin_writing, writing, written, written_before
from covey.studio.pages.look import no_release
from covey.studio.scripts import REPORTS
from covey.studio.session import Result, Studio, text_of
from covey.studio.steps import (
    BLOCKED,
    DONE,
    NEEDS,
    NEXT,
    Step,
    again,
    card,
    form,
    heading,
    labelled,
    onwards,
    push,
    reminded,
    sentence,
    ticked,
    typed,
)
from covey.studio.workers import Job
from covey.verification.sensitive import Achieved

_FIELDS = {
    "title": ("Title", "What the release is, as “Admissions 2024 by district”"),
    "purpose": ("Purpose", "What it may be used for"),
    "recipient": ("Recipient", "Who gets it"),
    "responsible": ("Responsible person", "Who answers for it"),
    "accept": ("Open points", "Why you leave some of the points below open, if you do"),
}
_LONGEST = 500  # signs of a text


async def page(studio: Studio) -> Html:
    """The page of the step."""
    if studio.release is None:
        return together((heading("Answer for it"), no_release(studio)))
    earlier = await _earlier(studio)
    return together(_made(studio, studio.release.report, earlier))


def _made(studio: Studio, report: Report, earlier: Html) -> Iterator[Part]:
    yield heading(
        "Answer for it",
        "Say what the release is for and check what could go wrong. covey then writes a report "
        "that others can read, and a certificate that they can check.",
    )
    release = written_before(studio)  # which knows of earlier releases
    yield reminded((report if release is None else release.report).headline)
    yield card("What it is", _about(studio))
    yield card("Before you publish", *_checklist(studio, report), id="checklist")
    if unprotected := [one for one in report.verdict.achieved if one.column in _free(studio)]:
        yield card("What would hide the values", *_mends(studio, unprotected), id="mends")
    yield card("Earlier releases", earlier, id="earlier")
    yield card("The report", *_report(studio), id="report")
    if written(studio) is not None:
        yield onwards("hand_over", "Hand it over")


# ── what it is ──────────────────────────────────────────────────────────────────────────────────


def _about(studio: Studio) -> Html:
    about = studio.work.about
    inputs = (
        labelled(name, typed(key, getattr(about, key) or "", id=key, maxlength=str(_LONGEST)),
                 note=note)
        for key, (name, note) in _FIELDS.items()
    )  # fmt: skip
    seal = ticked(
        "certificate", "Write a certificate: others can check the release with it",
        on=studio.work.certificate, id="certificate",
    )  # fmt: skip
    return form("answer/about", element("div", *inputs, class_="about-form"), seal, live=True,
                label="what the release is")  # fmt: skip


async def _set_about(studio: Studio, sent: FormData) -> str | None:
    texts = {each.name: text_of(sent, each.name)[:_LONGEST] or None for each in fields(About)}
    studio.history.change(about=About(**texts), certificate=text_of(sent, "certificate") == "on")
    return None


# ── the checklist ───────────────────────────────────────────────────────────────────────────────


def _points(report: Report) -> dict[str, str]:
    """What the custodian should check, by a name that holds nothing of the text."""
    found = [*report.points, *report.reminders]
    return {f"point-{zlib.crc32(text.encode()):08x}": text for text in found}


def _checklist(studio: Studio, report: Report) -> Iterator[Part]:
    release = written_before(studio)
    points = _points(report if release is None else release.report)
    left = [name for name in points if name not in studio.work.checked]
    boxes = [
        element("li", ticked("point", sentence(text),
                             on=name not in left, value=name, id=name))
        for name, text in points.items()
    ]  # fmt: skip
    said = (
        "You have checked every point."
        if not left
        else f"{len(left)} of {count(len(points), 'point')} still to check. Tick each when you "
        "have thought about it; the ticks are saved with your work."
    )
    yield element("p", said, class_="quiet")
    yield form("answer/check", element("ul", *boxes, class_="points"), live=True,
               label="points to check")  # fmt: skip


def left_open(studio: Studio, report: Report) -> list[str]:
    """What nobody has answered for: unticked points, no purpose, no recipient."""
    about = studio.work.about
    if about.accept is not None:
        return []
    points = len({*_points(report)} - studio.work.checked)
    return [
        *([f"{count(points, 'point')} not ticked"] if points else []),
        *(f"no {name}" for name in ("purpose", "recipient") if getattr(about, name) is None),
    ]


async def _check(studio: Studio, sent: FormData) -> str | None:
    if studio.release is None:
        raise UsageError("there is no release of the work as it is now: make it first")
    release = written_before(studio)
    points = _points(studio.release.report if release is None else release.report)
    ticks = {str(value) for value in sent.getlist("point")} & {*points}
    studio.history.change(checked=frozenset((studio.work.checked - {*points}) | ticks))
    return None


# ── sensitive values that nothing protects ──────────────────────────────────────────────────────


def _free(studio: Studio) -> list[str]:
    """The sensitive columns without a requirement."""
    asked = {getattr(one, "on", None) for one in studio.schema.requirements()}
    return [name for name in studio.schema.names(Role.SENSITIVE) if name not in asked]


def _mends(studio: Studio, unprotected: list[Achieved]) -> Iterator[Part]:
    """Each column with the share of rows that it reveals, and the price of l = 2."""
    head = ("column", "rows whose value is certain", "l = 2 hides them", "what you can do")
    lines = [
        (one.column, percent(one.certain), *_mend(studio, one.column, revealing=one.certain > 0))
        for one in unprotected
    ]
    yield element("p", "Nothing is required of these sensitive columns. l = 2 is the cheapest "
                       "requirement that leaves no class with a single value.",
                  class_="quiet")  # fmt: skip
    yield scrolled(table(head, lines, numbers=(1,)), "what would hide the values")


def _mend(studio: Studio, name: str, *, revealing: bool) -> tuple[Part, Part]:
    """What l = 2 costs, as far as it is known, and what can be done."""
    place = studio.table.names.index(name)
    require = push("price/require", "Require it", kind="quiet", column=place, l=2,
                   label=f"require l = 2 of {name}")  # fmt: skip
    if not revealing:
        return "holds already, and costs nothing", require
    job = _mending(studio, name)
    if job is None:
        return "", push("answer/mend", "Find the price", kind="quiet", column=place,
                        label=f"find the price of l = 2 for {name}")  # fmt: skip
    if not job.is_done:
        return _finding(place), None
    if job.error is not None:
        return sentence(str(job.error)), None
    assert studio.release is not None
    now = percent(studio.release.report.mean_loss)
    return f"{percent(job.result)} lost per cell instead of {now}", require


def _mending(studio: Studio, name: str) -> Job | None:
    job: Job | None = studio.result(f"mend {name}", studio.work.made_of)
    return None if job is None or job.was_stopped else job


async def _find_mend(studio: Studio, sent: FormData) -> str | None:
    name, work = studio.column(sent), studio.work
    if studio.release is None or name not in _free(studio):
        raise UsageError("there is no such column")
    if _mending(studio, name) is None:
        job = studio.pricer.give("mended", work.opened.place, work.toml, work.options, name)
        studio.results[f"mend {name}"] = Result(work.made_of, job)
    return None


async def _mend_piece(studio: Studio, asked: Mapping[str, str]) -> str:
    name = studio.column(asked)
    job = _mending(studio, name)
    return "reload" if job is None or job.is_done else _finding(studio.table.names.index(name))


def _finding(place: int) -> Html:
    said = element("span", "finding the price …", role="status")
    return again(f"answer/piece/mend?column={place}", said, id=f"mend-{place}")


# ── earlier releases ────────────────────────────────────────────────────────────────────────────


async def _earlier(studio: Studio) -> Html:
    release = written_before(studio)
    try:
        entries = await asyncio.to_thread(_entries)
    except UsageError as error:
        return element("p", sentence(str(error)), class_="told mind")
    return together((
        _together_with(release), *_questions(entries, release), _listed(entries, release),
    ))  # fmt: skip


def _entries() -> list[Entry]:
    register = Register.of(None)
    if register is None:
        return []
    register.refuse_losses()
    return register.releases()


def _questions(entries: list[Entry], release: Written | None) -> Iterator[Html]:
    """Of each earlier release that weakens this one: whether anyone else has it."""
    found = None if release is None else release.report.composition
    for entry in entries:
        if found is not None and entry.id in found.delete:
            asked = f"Does anyone else have {entry.name} of {entry.date[:10]} (k = {entry.k:,})?"
            note = "If someone may have it, it counts: do not publish this release as well."
            answer = push("answer/forget", "No, it never left this machine", release=entry.id,
                          label=f"forget the release {entry.id}")  # fmt: skip
            yield element("div", element("p", asked), answer,
                          element("p", note, class_="quiet small"), class_="told mind")  # fmt: skip


def _together_with(release: Written | None) -> Html:
    if release is None:
        return element(
            "p", "When covey writes the release, it compares it with all earlier ones in your "
            "register: two releases of the same people can be combined, and someone hidden in "
            "each may be alone in both.",
        )  # fmt: skip
    found = release.report.composition
    if found is None:
        return element("p", "Earlier releases could not be checked: the register cannot be used.",
                       class_="told mind")  # fmt: skip
    kind, said = _kept(found)
    return element("p", said, class_=f"told {kind}")


def _kept(found: Composition) -> tuple[str, str]:
    if not found.holds:
        return "bad", sentence(found.figures())
    if found.incomparable:
        return "mind", sentence(found.unknown())
    if not found.earlier:
        return "good", "No earlier release in your register has people of this one."
    return "good", (
        f"Together with {count(found.earlier, 'earlier release')}, which share "
        f"{percent(found.shared)} of the people, everyone still hides among at least "
        f"{found.fewest or found.k:,}."
    )


def _listed(entries: list[Entry], release: Written | None) -> Html:
    if not entries:
        return element("p", "Your register is empty.", class_="quiet")
    own = None if release is None or release.report.output is None else release.report.output.sha256
    found = None if release is None else release.report.composition
    notes: dict[str, str] = {}
    if found is not None:
        notes = dict.fromkeys(found.delete, "weakens this one")
        notes |= dict.fromkeys(found.incomparable, "could not be compared")
    lines = [
        (
            _called(entry, notes.get(entry.id), is_own=entry.sha256 == own),
            entry.date[:10],
            f"{entry.k:,}",
            f"{entry.rows:,}",
            _forgotten(entry, is_own=entry.sha256 == own),
        )
        for entry in reversed(entries)
    ]
    head = ("release", "date", "k", "rows", "never published?")
    grid = scrolled(table(head, lines, numbers=(2, 3)), "releases in your register")
    more = element("summary", f"All releases in your register ({len(entries):,})")
    advice = "Forget a release only if nobody has got it: a release that is out cannot be recalled."
    return element("details", more, element("p", advice, class_="quiet small"), grid,
                   id="register", open=bool(notes))  # fmt: skip


def _called(entry: Entry, note: str | None, *, is_own: bool) -> Html:
    if is_own:
        return together((entry.name, element("span", "this release", class_="note")))
    return together((entry.name, element("span", note, class_="note not") if note else None))


def _forgotten(entry: Entry, *, is_own: bool) -> Html | None:
    if is_own:
        return None
    return push("answer/forget", "Forget it", kind="quiet", release=entry.id,
                label=f"forget the release {entry.id}")  # fmt: skip


async def _forget(studio: Studio, sent: FormData) -> str | None:
    """Remove a release that nobody has got from the register."""
    register = Register.of(None)
    id_ = text_of(sent, "release")
    if register is None or not id_:
        raise UsageError("there is no such release")
    await asyncio.to_thread(register.forget, id_)
    studio.results.pop("written", None)  # what it says of earlier releases is out of date
    studio.tell("Forgotten. Write the release again, so that its report says so.", "good")
    return None


# ── the report ──────────────────────────────────────────────────────────────────────────────────


def _report(studio: Studio) -> Iterator[Part]:
    if writing(studio) is not None:
        yield under_way()
        return
    release, before = written(studio), written_before(studio)
    if release is None and before is not None:
        yield element("p", "You have changed the texts or the certificate since the report was "
                           "written: write it again.", class_="told mind")  # fmt: skip
    if release is None:
        yield push("answer/write", "Write the release", kind="main")
        yield element("p", "covey writes the release into its own folder, reads it back, checks "
                           "it once more and enters it in your register. You hand it over in the "
                           "next step.", class_="quiet small")  # fmt: skip
        return
    shown = address(release.folder, REPORTS[0])
    assert release.report.output is not None
    links = [
        element("a", text, href=f"files/{address(release.folder, name)}", download=True)
        for name, text in _downloads(release)
    ]
    yield element(
        "div",
        element("button", "Print or save as PDF", type="button", class_="button",
                data_prints="report-page"),
        *links,
        class_="row",
    )  # fmt: skip
    yield element("p", "SHA-256 of the release: ", element("code", release.report.output.sha256),
                  class_="small")  # fmt: skip
    yield element(
        "iframe", src=f"files/{shown}?show=1", title="The report", id="report-page",
        class_="report", sandbox="allow-same-origin allow-modals",
    )  # fmt: skip


def _downloads(release: Written) -> list[tuple[str, str]]:
    found = [(REPORTS[0], "Report as a page"), (REPORTS[1], "Report as JSON")]
    return found + ([(release.certificate, "Certificate")] if release.certificate else [])


async def _write(studio: Studio, _: FormData) -> str | None:
    begin_writing(studio)
    return None


async def _writing_piece(studio: Studio, _: Mapping[str, str]) -> str:
    return "reload" if writing(studio) is None else under_way()


def under_way() -> Html:
    """A release that is being written."""
    said = element("p", "Writing, reading back and checking …", role="status")
    drawn = element("progress", aria_label="writing the release")
    return again("answer/piece/writing", together((said, drawn)), id="writing", milliseconds=300)


def state(studio: Studio) -> str:
    """How far the step is."""
    if studio.release is None:
        return BLOCKED
    release = written(studio)
    if release is None:
        return NEXT
    return NEEDS if left_open(studio, release.report) else DONE


STEP = Step(
    "answer",
    "Answer for it",
    page,
    state,
    {
        "about": _set_about,
        "check": _check,
        "write": _write,
        "forget": _forget,
        "mend": _find_mend,
    },
    {"writing": _writing_piece, "mend": _mend_piece},
)
