"""Step 8: hand the release over, with all that explains it and makes it again."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from starlette.datastructures import FormData

from covey import html
from covey.errors import UsageError, count
from covey.html import Html, Part
from covey.studio import outgoing, ui
from covey.studio.dictionary import HEAD
from covey.studio.handing import FOR_OTHERS, FOR_YOU, Package, PackedRelease
from covey.studio.outgoing import SCRIPT, Proof, written
from covey.studio.pages.answer import download, left_open, under_way
from covey.studio.pages.look import no_release
from covey.studio.session import Studio, at_home, text_of
from covey.studio.steps import BLOCKED, DONE, NEXT, Step
from covey.tables import sources

_WORDS = ui.WORDS["hand_over"]


async def _page(studio: Studio) -> Part:
    release = written(studio)
    if studio.release is not None and release is not None and outgoing.writing(studio) is None:
        return _written(studio, release, await outgoing.packed(studio))
    heading = ui.heading("Hand it over")
    if studio.release is None:
        return heading, no_release(studio)
    if outgoing.writing(studio) is not None:
        return heading, under_way()
    text = ui.message("mind", _WORDS["unwritten"])
    return heading, text, ui.onwards("answer", "Answer for it")


def _written(studio: Studio, release: PackedRelease, package: Package) -> Iterator[Part]:
    yield ui.heading("Hand it over", _WORDS["lead"])
    yield ui.reminded(release.report.headline)
    if left := left_open(studio, release.report):
        yield _still_open(left)
        return
    all_for_others = download(release, FOR_OTHERS, "Download all as one file", "button main")
    everything = download(release, FOR_YOU, "Download everything", "button")
    own = package.for_you[len(package.for_others) :]
    others = ui.card(
        "For the recipient", html.p(all_for_others), _files(release, package.for_others)
    )
    yours = ui.card(
        "For your files",
        html.p(everything),
        ui.quiet("Everything above, and:"),
        _files(release, own),
        ui.small(_WORDS["yours"]),
    )
    yield html.div(others, yours, class_="pair")
    yield ui.card("The same bytes", _proof(studio), id="proof")
    if _lies_here(studio):
        yield ui.card("Save it on this machine", _save(studio))
    yield ui.card("Data dictionary", _dictionary(package), id="dictionary")


def _still_open(left: list[str]) -> Html:
    """The one question before anything is handed over with open points."""
    longest = str(ui.LONGEST_TEXT)
    ask = ui.form(
        "hand_over/accept",
        ui.labelled(
            "Why do you leave this open?",
            ui.typed("accept", id="accept", maxlength=longest, required=True),
            note="The answer is written into the report.",
        ),
        ui.row(
            ui.button("Hand it over like this", kind="main"),
            html.a("Back to the points", href="answer"),
        ),
        class_="stack",
    )
    text = ui.message("mind", ui.sentence(", ".join(left)))
    return ui.card("Still open", text, ask, id="still-open")


async def _accept(studio: Studio, sent: FormData) -> None:
    """Write the release again with what its open points are left open for."""
    reason = text_of(sent, "accept")[: ui.LONGEST_TEXT]
    if not reason or written(studio) is None:
        raise UsageError("say what the open points are left open for")
    studio.history.change(about=replace(studio.work.about, accept=reason))
    outgoing.begin_writing(studio)


def _files(release: PackedRelease, names: tuple[str, ...]) -> Html:
    contents = dict(_WORDS["files"])
    contents[release.output] = f"the release, {count(release.report.rows.released, 'row')}"
    if release.certificate:
        contents[release.certificate] = contents["certificate"]
    return ui.items(
        ((download(release, name, name), html.span(contents[name], class_="note"))
         for name in names),
        class_="files",
    )  # fmt: skip


def _dictionary(package: Package) -> Html:
    entries = package.dictionary
    shown = [place for place, _ in enumerate(HEAD) if any(entry[place] for entry in entries)]
    lines = [[entry[place] for place in shown] for entry in entries]
    return ui.grid([HEAD[place] for place in shown], lines, "data dictionary")


def _proof(studio: Studio) -> Part:
    task = outgoing.proof(studio)
    if task is None:
        text = html.p(_WORDS["proof"].format(script=SCRIPT))
        return text, ui.push("hand_over/prove", "Run the script and compare")
    if not task.done():
        running = ui.working(f"Running {SCRIPT} …", "running the script")
        return ui.again("hand_over/piece/proof", running, id="proving")
    return html.p("stopped") if task.cancelled() else _proven(task.result())


def _proven(found: Proof) -> Part:
    kind = "good" if found.outcome == "same" else "bad"
    digest = html.p("SHA-256 of both: ", html.code(found.sha256), class_="small")
    return ui.message(kind, _WORDS[found.outcome]), digest if kind == "good" else None


async def _prove(studio: Studio, _: FormData) -> None:
    await outgoing.prove(studio)


async def _proof_piece(studio: Studio, _: Mapping[str, str]) -> Part:
    task = outgoing.proof(studio)
    return "reload" if task is None or task.done() else _proof(studio)


# ── saved where the custodian says ──────────────────────────────────────────────────────────────


def _lies_here(studio: Studio) -> bool:
    """Whether the table was read where it lies, so that the release may lie beside it."""
    source = studio.work.opened
    return not source.is_upload and not sources.of(source.place).is_address


def _save(studio: Studio) -> Html:
    folder = Path(sources.of(studio.work.opened.place).place).absolute().parent
    field = ui.typed("folder", folder, id="folder")
    return ui.form(
        "hand_over/save",
        ui.labelled("Folder", field, note="The files are saved all together or not at all."),
        ui.ticked("all", "also the files that are for you", on=False, id="save-all"),
        ui.ticked("replace", "replace files of the same names", on=False, id="save-replace"),
        html.p(ui.button("Save")),
        class_="stack",
        label="save on this machine",
    )


async def _save_files(studio: Studio, sent: FormData) -> None:
    folder = text_of(sent, "folder")
    if not folder or "\0" in folder:
        raise UsageError("type the path of a folder")
    package = await outgoing.packed(studio)
    if left_open(studio, outgoing.written_now(studio).report):
        raise UsageError("say what the open points are left open for")
    names = package.for_you if text_of(sent, "all") else package.for_others
    replaced, path = bool(text_of(sent, "replace")), Path(at_home(folder))
    await asyncio.to_thread(outgoing.save, studio, path, names, replace=replaced)
    studio.tell(f"Saved {count(len(names), 'file')} in that folder.", "good")


def _state(studio: Studio) -> str:
    if studio.release is None or written(studio) is None:
        return BLOCKED
    task = outgoing.proof(studio)
    if task is None or not task.done() or task.cancelled():
        return NEXT
    return DONE if task.result().outcome == "same" else NEXT


_ACTIONS = {"accept": _accept, "prove": _prove, "save": _save_files}
STEP = Step("hand_over", "Hand over", _page, _state, _ACTIONS, {"proof": _proof_piece})
