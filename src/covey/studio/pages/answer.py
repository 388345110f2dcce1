"""Step 7: answer for the release: say what it is for, check its warnings, write its report."""

import asyncio
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import fields

from starlette.datastructures import FormData

from covey import html
from covey.custody.composition import Composition
from covey.custody.register import Entry, Register
from covey.errors import UsageError, count, percent
from covey.html import Html, Part, element
from covey.report import About, Report
from covey.schema import Role
from covey.studio import ui
from covey.studio.handing import PackedRelease
from covey.studio.outgoing import address, begin_writing, writing, written, written_before
from covey.studio.pages.look import no_release
from covey.studio.scripts import REPORTS
from covey.studio.session import Studio, text_of
from covey.studio.steps import BLOCKED, DONE, NEEDS, NEXT, Step
from covey.studio.workers import StudioJob
from covey.verification.sensitive import Achieved

_WORDS = ui.WORDS["answer"]


async def _page(studio: Studio) -> Part:
    if studio.release is None:
        return ui.heading("Answer for it"), no_release(studio)
    return _made(studio, studio.release.report, await _earlier(studio))


def _made(studio: Studio, report: Report, earlier: Part) -> Iterator[Part]:
    yield ui.heading("Answer for it", _WORDS["lead"])
    yield ui.reminded(_known_report(studio, report).headline)
    yield ui.card("What it is", _about(studio))
    yield ui.card("Before you publish", _checklist(studio, report), id="checklist")
    if unprotected := [one for one in report.verdict.achieved if one.column in _free(studio)]:
        yield ui.card("What would hide the values", _mends(studio, unprotected), id="mends")
    yield ui.card("Earlier releases", earlier, id="earlier")
    yield ui.card("The report", _report(studio), id="report")
    if written(studio) is not None:
        yield ui.onwards("hand_over", "Hand it over")


def _known_report(studio: Studio, report: Report) -> Report:
    """The report as it was written, which knows of earlier releases; before, as it was made."""
    release = written_before(studio)
    return report if release is None else release.report


def _about(studio: Studio) -> Html:
    about, longest = studio.work.about, str(ui.LONGEST_TEXT)
    inputs = (
        ui.labelled(name, ui.typed(key, getattr(about, key) or "", id=key, maxlength=longest),
                    note=note)
        for key, (name, note) in _WORDS["fields"].items()
    )  # fmt: skip
    on = studio.work.certificate
    seal = ui.ticked("certificate", _WORDS["certificate"], on=on, id="certificate")
    parts = html.div(inputs, class_="about-form"), seal
    return ui.form("answer/about", parts, live=True, label="what the release is")


async def _set_about(studio: Studio, sent: FormData) -> None:
    texts = {
        each.name: text_of(sent, each.name)[: ui.LONGEST_TEXT] or None for each in fields(About)
    }
    studio.history.change(about=About(**texts), certificate=text_of(sent, "certificate") == "on")


# ── the checklist ───────────────────────────────────────────────────────────────────────────────


def _points(report: Report) -> dict[str, str]:
    """What the custodian should check, by a name that holds nothing of the text."""
    found = [*report.points, *report.reminders]
    return {f"point-{zlib.crc32(text.encode()):08x}": text for text in found}


def _checklist(studio: Studio, report: Report) -> Iterator[Part]:
    points = _points(_known_report(studio, report))
    left = [name for name in points if name not in studio.work.checked]
    boxes = (
        ui.ticked("point", ui.sentence(text), on=name not in left, value=name, id=name)
        for name, text in points.items()
    )
    unchecked = _WORDS["unchecked"].format(left=len(left), points=count(len(points), "point"))
    yield ui.quiet(unchecked if left else _WORDS["checked"])
    listed = ui.items(boxes, class_="points")
    yield ui.form("answer/check", listed, live=True, label="points to check")


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


async def _check(studio: Studio, sent: FormData) -> None:
    points = {*_points(_known_report(studio, studio.made.report))}
    ticks = {str(value) for value in sent.getlist("point")} & points
    studio.history.change(checked=frozenset((studio.work.checked - points) | ticks))


# ── sensitive values that nothing protects ──────────────────────────────────────────────────────


def _free(studio: Studio) -> list[str]:
    """The sensitive columns without a requirement."""
    required = {getattr(one, "on", None) for one in studio.schema.requirements()}
    return [name for name in studio.schema.names(Role.SENSITIVE) if name not in required]


def _mends(studio: Studio, unprotected: list[Achieved]) -> Iterator[Part]:
    """Each column with the share of rows that it reveals, and the price of l = 2."""
    head = ("column", "rows whose value is certain", "l = 2 hides them", "what you can do")
    lines = [
        (one.column, percent(one.certain), *_mend(studio, one.column, revealing=one.certain > 0))
        for one in unprotected
    ]
    yield ui.quiet(_WORDS["mends"])
    yield ui.grid(head, lines, "what would hide the values", numbers=(1,))


def _mend(studio: Studio, name: str, *, revealing: bool) -> tuple[Part, Part]:
    """What l = 2 costs, as far as it is known, and what can be done."""
    place = studio.place(name)

    def push(action: str, text: str, label: str, **values: int) -> Html:
        return ui.push(action, text, kind="quiet", label=label, column=place, **values)

    require = push("price/require", "Require it", f"require l = 2 of {name}", l=2)
    if not revealing:
        return "holds already, and costs nothing", require
    job = _mending(studio, name)
    if job is None:
        return "", push("answer/mend", "Find the price", f"find the price of l = 2 for {name}")
    if not job.is_done:
        return _finding(place), None
    if job.error is not None:
        return ui.sentence(str(job.error)), None
    now = percent(studio.made.report.mean_loss)
    return f"{percent(job.result)} lost per cell instead of {now}", require


def _mending(studio: Studio, name: str) -> StudioJob | None:
    job = studio.result(f"mend {name}", studio.work.made_of, StudioJob)
    return None if job is None or job.was_stopped else job


async def _find_mend(studio: Studio, sent: FormData) -> None:
    name, work = studio.column(sent), studio.work
    if studio.release is None or name not in _free(studio):
        raise UsageError("there is no such column")
    if _mending(studio, name) is None:
        job = studio.pricer.give("mended", studio.table.reading, studio.schema, work.options, name)
        studio.keep(f"mend {name}", work.made_of, job)


async def _mend_piece(studio: Studio, query: Mapping[str, str]) -> Part:
    name = studio.column(query)
    job = _mending(studio, name)
    return "reload" if job is None or job.is_done else _finding(studio.place(name))


def _finding(place: int) -> Html:
    text = html.span("finding the price …", role="status")
    return ui.again(f"answer/piece/mend?column={place}", text, id=f"mend-{place}")


# ── earlier releases ────────────────────────────────────────────────────────────────────────────


async def _earlier(studio: Studio) -> Part:
    release = written_before(studio)
    try:
        entries = await asyncio.to_thread(_entries)
    except UsageError as error:
        return ui.message("mind", ui.sentence(str(error)))
    return _together_with(release), _questions(entries, release), _listed(entries, release)


def _entries() -> list[Entry]:
    register = Register.of(None)
    if register is None:
        return []
    register.refuse_losses()
    return register.releases()


def _questions(entries: list[Entry], release: PackedRelease | None) -> Iterator[Html]:
    """Of each earlier release that weakens this one: whether anyone else has it."""
    found = None if release is None else release.report.composition
    for entry in entries:
        if found is not None and entry.id in found.delete:
            yield html.div(
                html.p(
                    f"Does anyone else have {entry.name} of {entry.date[:10]} (k = {entry.k:,})?"
                ),
                _forget_button(entry, "No, it never left this machine"),
                ui.small(_WORDS["perhaps"]),
                class_="told mind",
            )


def _forget_button(entry: Entry, text: str, kind: str = "") -> Html:
    label = f"forget the release {entry.id}"
    return ui.push("answer/forget", text, kind=kind, label=label, release=entry.id)


def _together_with(release: PackedRelease | None) -> Html:
    if release is None:
        return html.p(_WORDS["will_compare"])
    found = release.report.composition
    if found is None:
        return ui.message("mind", _WORDS["unchecked_register"])
    return ui.message(*_compared(found))


def _compared(found: Composition) -> tuple[str, str]:
    """What covey found out about this release and earlier ones together."""
    if not found.holds:
        return "bad", ui.sentence(found.figures())
    if found.incomparable:
        return "mind", ui.sentence(found.unknown())
    if not found.earlier:
        return "good", _WORDS["nothing_earlier"]
    figures = {"earlier": count(found.earlier, "earlier release"), "shared": percent(found.shared)}
    return "good", _WORDS["together"].format(**figures, fewest=f"{found.fewest or found.k:,}")


def _listed(entries: list[Entry], release: PackedRelease | None) -> Html:
    if not entries:
        return ui.quiet("Your register is empty.")
    own = None if release is None else release.sha256
    found = None if release is None else release.report.composition
    notes: dict[str, str] = {}
    if found is not None:
        notes = dict.fromkeys(found.delete, "weakens this one")
        notes |= dict.fromkeys(found.incomparable, "could not be compared")
    lines = (
        _entry_line(entry, notes.get(entry.id), is_own=entry.sha256 == own)
        for entry in reversed(entries)
    )
    head = ("release", "date", "k", "rows", "never published?")
    return ui.details(
        f"All releases in your register ({len(entries):,})",
        ui.small(_WORDS["forget"]),
        ui.grid(head, lines, "releases in your register", numbers=(2, 3)),
        id="register",
        is_open=bool(notes),
    )


def _entry_line(entry: Entry, note: str | None, *, is_own: bool) -> tuple[Part, ...]:
    mark: Part = html.span(note, class_="note not") if note else None
    forget: Part = _forget_button(entry, "Forget it", "quiet")
    if is_own:
        mark, forget = html.span("this release", class_="note"), None
    return (entry.name, mark), entry.date[:10], f"{entry.k:,}", f"{entry.rows:,}", forget


async def _forget(studio: Studio, sent: FormData) -> None:
    """Remove a release that nobody has got from the register."""
    register = Register.of(None)
    id_ = text_of(sent, "release")
    if register is None or not id_:
        raise UsageError("there is no such release")
    await asyncio.to_thread(register.forget, id_)
    studio.results.pop("written", None)  # what it says of earlier releases is out of date
    studio.tell("Forgotten. Write the release again, so that its report says so.", "good")


# ── the report ──────────────────────────────────────────────────────────────────────────────────


def _report(studio: Studio) -> Iterator[Part]:
    if writing(studio) is not None:
        yield under_way()
        return
    release = written(studio)
    if release is None:
        yield _unwritten(studio)
        return
    files = [(REPORTS[0], "Report as a page"), (REPORTS[1], "Report as JSON")]
    files += [(release.certificate, "Certificate")] if release.certificate else []
    yield ui.row(
        element("button", "Print or save as PDF", type="button", class_="button",
                data_prints="report-page"),
        (download(release, name, text) for name, text in files),
    )  # fmt: skip
    yield html.p("SHA-256 of the release: ", html.code(release.sha256), class_="small")
    yield element(
        "iframe", src=f"files/{address(release.folder, REPORTS[0])}?show=1", title="The report",
        id="report-page", class_="report", sandbox="allow-same-origin allow-modals",
    )  # fmt: skip


def _unwritten(studio: Studio) -> Iterator[Part]:
    if written_before(studio) is not None:
        yield ui.message("mind", _WORDS["changed"])
    yield ui.push("answer/write", "Write the release", kind="main")
    yield ui.small(_WORDS["write"])


def download(release: PackedRelease, name: str, text: str, class_: str | None = None) -> Html:
    """A link to a file of the release."""
    href = f"files/{address(release.folder, name)}"
    return html.a(text, href=href, download=True, class_=class_)


async def _write(studio: Studio, _: FormData) -> None:
    begin_writing(studio)


async def _writing_piece(studio: Studio, _: Mapping[str, str]) -> Part:
    return "reload" if writing(studio) is None else under_way()


def under_way() -> Html:
    """A release that is being written."""
    parts = ui.working("Writing, reading back and checking …", "writing the release")
    return ui.again("answer/piece/writing", parts, id="writing", milliseconds=300)


def _state(studio: Studio) -> str:
    if studio.release is None:
        return BLOCKED
    release = written(studio)
    if release is None:
        return NEXT
    return NEEDS if left_open(studio, release.report) else DONE


STEP = Step(
    "answer",
    "Answer for it",
    _page,
    _state,
    {"about": _set_about, "check": _check, "write": _write, "forget": _forget, "mend": _find_mend},
    {"writing": _writing_piece, "mend": _mend_piece},
)
