"""Step 8: hand the release over, with all that explains it and makes it again."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from starlette.datastructures import FormData

from covey.errors import UsageError, count
from covey.html import Html, Part, element, scrolled, table, together
from covey.studio.dictionary import HEAD
from covey.studio.handing import DICTIONARY, FOR_OTHERS, FOR_YOU, Handed, Written
from covey.studio.outgoing import (
    NOTEBOOK,
    SCRIPT,
    Proof,
    address,
    begin_writing,
    handed,
    proof,
    prove,
    save,
    writing,
    written,
)
from covey.studio.pages.answer import left_open, under_way
from covey.studio.pages.look import no_release
from covey.studio.scripts import REPORTS
from covey.studio.session import Studio, at_home, text_of
from covey.studio.steps import (
    BLOCKED,
    DONE,
    NEXT,
    Step,
    again,
    button,
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
from covey.studio.work import SCHEMA_FILE
from covey.tables import sources

_TOLD = {
    DICTIONARY: "what each column is and how to read its cells",
    REPORTS[0]: "the report, as a page",
    REPORTS[1]: "the report, for programs",
    SCHEMA_FILE: "the schema: it may name values that the release does not show",
    SCRIPT: "makes the same release again",
    NOTEBOOK: "the same as a notebook",
}


async def page(studio: Studio) -> Html:
    """The page of the step."""
    if studio.release is None:
        return together((heading("Hand it over"), no_release(studio)))
    release = written(studio)
    if writing(studio) is not None:
        return together((heading("Hand it over"), under_way()))
    if release is None:
        said = element("p", "The release is made, but not written yet.", class_="told mind")
        return together((heading("Hand it over"), said, onwards("answer", "Answer for it")))
    return together(_written(studio, release, await handed(studio)))


def _written(studio: Studio, release: Written, files: Handed) -> Iterator[Part]:
    assert release.report.output is not None
    left = left_open(studio, release.report)
    yield heading(
        "Hand it over",
        "The recipient gets the release and what explains it. Keep the rest: it makes the same "
        "release again, for you and nobody else.",
    )
    yield reminded(release.report.headline)
    if left:
        yield _still_open(left)
        return
    yield element(
        "div",
        card("For the recipient",
             _download(release, FOR_OTHERS, "Download all as one file", main=True),
             _files(release, files.for_others)),
        card("For your files",
             _download(release, FOR_YOU, "Download everything", main=False),
             element("p", "Everything above, and:", class_="quiet"),
             _files(release, files.for_you[len(files.for_others):]),
             element("p", "Do not hand these on: together with your key they repeat the release.",
                     class_="quiet small")),
        class_="pair",
    )  # fmt: skip
    yield card("The same bytes", _proof(studio), id="proof")
    if _lies_here(studio):
        yield card("Save it on this machine", _save(studio))
    yield card("Data dictionary", _dictionary(files), id="dictionary")


def _still_open(left: list[str]) -> Html:
    """The one question before anything is handed over with open points."""
    ask = form(
        "hand_over/accept",
        labelled("Why do you leave this open?",
                 typed("accept", id="accept", maxlength="500", required=True),
                 note="The answer is written into the report."),
        element("div", button("Hand it over like this", kind="main"),
                element("a", "Back to the points", href="answer"), class_="row"),
        class_="stack",
    )  # fmt: skip
    said = element("p", sentence(f"{', '.join(left)}"), class_="told mind")
    return card("Still open", said, ask, id="still-open")


async def _accept(studio: Studio, sent: FormData) -> str | None:
    """Write the release again with what its open points are left open for."""
    reason = text_of(sent, "accept")[:500]
    if not reason or written(studio) is None:
        raise UsageError("say what the open points are left open for")
    studio.history.change(about=replace(studio.work.about, accept=reason))
    begin_writing(studio)
    return None


def _download(release: Written, name: str, text: str, *, main: bool) -> Html:
    link = element(
        "a", text, href=f"files/{address(release.folder, name)}", download=True,
        class_="button main" if main else "button",
    )  # fmt: skip
    return element("p", link)


def _files(release: Written, names: tuple[str, ...]) -> Html:
    told = {release.output: f"the release, {count(release.report.rows.released, 'row')}"} | _TOLD
    if release.certificate:
        told[release.certificate] = "the certificate: others can check the release with it"
    return element(
        "ul",
        *(
            element(
                "li",
                element("a", name, href=f"files/{address(release.folder, name)}",
                        download=True),
                element("span", told[name], class_="note"),
            )
            for name in names
        ),
        class_="files",
    )  # fmt: skip


def _dictionary(files: Handed) -> Html:
    shown = [place for place, _ in enumerate(HEAD) if any(line[place] for line in files.dictionary)]
    lines = [[line[place] for place in shown] for line in files.dictionary]
    return scrolled(table([HEAD[place] for place in shown], lines), "data dictionary")


# ── the same bytes ──────────────────────────────────────────────────────────────────────────────


def _proof(studio: Studio) -> Html:
    task = proof(studio)
    if task is None:
        return together((
            element("p", f"covey can run {SCRIPT} once, in a process of its own, and compare the "
                         "result with the release, byte for byte."),
            push("hand_over/prove", "Run the script and compare"),
        ))  # fmt: skip
    if not task.done():
        said = element("p", f"Running {SCRIPT} …", role="status")
        return again("hand_over/piece/proof", together((said, element("progress",
                     aria_label="running the script"))), id="proving")  # fmt: skip
    return _proven(task.result()) if not task.cancelled() else element("p", "stopped")


def _proven(found: Proof) -> Html:
    match found.outcome:
        case "same":
            return together((
                element("p", "✓ The script gives the same bytes.", class_="told good"),
                element("p", "SHA-256 of both: ", element("code", found.sha256), class_="small"),
            ))  # fmt: skip
        case "different":
            return element(
                "p", "✗ The script gives other bytes. If you ended the making early with “good "
                "enough”, the groups depend on the time; make the release again without that. If "
                "the table has changed since, make the release again too.", class_="told bad",
            )  # fmt: skip
        case _:
            return element("p", "✗ The script could not be run to its end. Is the table still "
                                "where it was?", class_="told bad")  # fmt: skip


async def _prove(studio: Studio, _: FormData) -> str | None:
    await prove(studio)
    return None


async def _proof_piece(studio: Studio, _: Mapping[str, str]) -> str:
    task = proof(studio)
    return "reload" if task is None or task.done() else _proof(studio)


# ── saved beside the table ──────────────────────────────────────────────────────────────────────


def _lies_here(studio: Studio) -> bool:
    """Whether the table was read where it lies, so that the release may lie beside it."""
    source = studio.work.opened
    return not source.is_upload and not sources.of(source.place).is_address


def _save(studio: Studio) -> Html:
    folder = Path(sources.of(studio.work.opened.place).place).absolute().parent
    return form(
        "hand_over/save",
        labelled("Folder", typed("folder", folder, id="folder"),
                 note="The files are saved all together or not at all."),
        ticked("all", "also the files that are for you", on=False, id="save-all"),
        ticked("replace", "replace files of the same names", on=False, id="save-replace"),
        element("p", button("Save")),
        class_="stack",
        label="save on this machine",
    )  # fmt: skip


async def _save_files(studio: Studio, sent: FormData) -> str | None:
    typed_in = text_of(sent, "folder")
    if not typed_in or "\0" in typed_in:
        raise UsageError("type the path of a folder")
    files, release = await handed(studio), written(studio)
    if release is not None and left_open(studio, release.report):
        raise UsageError("say what the open points are left open for")
    names = files.for_you if text_of(sent, "all") else files.for_others
    folder = Path(at_home(typed_in))
    replaced = bool(text_of(sent, "replace"))
    number = await asyncio.to_thread(save, studio, folder, names, replace=replaced)
    studio.tell(f"Saved {count(number, 'file')} in that folder.", "good")
    return None


def state(studio: Studio) -> str:
    """How far the step is."""
    if studio.release is None or written(studio) is None:
        return BLOCKED
    task = proof(studio)
    done = task is not None and task.done() and not task.cancelled()
    return DONE if task is not None and done and task.result().outcome == "same" else NEXT


STEP = Step(
    "hand_over",
    "Hand over",
    page,
    state,
    {"accept": _accept, "prove": _prove, "save": _save_files},
    {"proof": _proof_piece},
)
