"""Step 1: open a table, correct how it was read, and mend what is wrong with it."""

import asyncio
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData

from covey import html
from covey.errors import SchemaError, UsageError, count
from covey.html import Html, Part
from covey.inspection.findings import Finding
from covey.schema import Schema
from covey.studio import ui
from covey.studio.session import Studio, at_home, bytes_of, file_of, text_of, whole
from covey.studio.steps import DONE, NEEDS, Step
from covey.studio.work import TablePlace
from covey.tables.csv_files import Dialect

_WORDS = ui.WORDS["open"]


async def _page(studio: Studio) -> Part:
    if (job := studio.jobs.get("open")) is not None:
        stage = html.p(f"{job.stage} …", role="status")
        heading = ui.heading("Open a table")
        return html.div(heading, stage, data_every="400", id="opening", data_page=True)
    return _unread(studio), _start() if studio.opened is None else _opened(studio)


def _start() -> Part:
    return ui.heading(_WORDS["title"], _WORDS["lead"]), _ways_in()


def _unread(studio: Studio) -> Part:
    """A file that was not read: the choice of a sheet, or how it is written."""
    if studio.waiting is None:
        return None
    name = studio.waiting.name
    if not studio.choices:
        return ui.card(f"How is {name} written?", _format(None))
    sheets = (
        ui.button(sheet, name="part", value=str(place))
        for place, sheet in enumerate(studio.choices)
    )
    text = html.p(f"{name} has several sheets or tables. Choose one.")
    return ui.card("Which part?", text, ui.form("open/part", sheets, class_="row"))


def _ways_in() -> Html:
    file = ui.labelled(
        "Drop a file here, or choose one",
        ui.file("file"),
        note=_WORDS["file"],
        class_="field drop",
    )
    path = ui.labelled(
        "Or read a file where it lies",
        ui.typed("path", placeholder="/data/people.csv", id="path"),
        note=_WORDS["path"],
    )
    invented = html.p(_WORDS["invented"])
    opening = ui.button("Open", kind="main")
    return html.div(
        ui.card("A file", ui.form("open/upload", file, opening, upload=True, live=True)),
        ui.card("A path", ui.form("open/path", path, ui.button("Read"), class_="inline")),
        ui.card("Nothing at hand?", invented, ui.push("open/demo", "Try it with invented people")),
        class_="pair",
    )


# ── once it is open ─────────────────────────────────────────────────────────────────────────────


def _opened(studio: Studio) -> Iterator[Part]:
    opened, source = studio.table, studio.work.opened
    rows, columns = count(opened.rows, "row"), count(len(opened.names), "column")
    yield ui.heading(source.name, _WORDS["opened"].format(rows=rows, columns=columns))
    yield ui.onwards("roles", "Who could recognise whom?")
    yield ui.card("Health", _health(studio))
    yield ui.card("The first rows", _read_as(studio), _preview(studio))
    saved = ui.labelled(
        "Open a saved work, or a schema file",
        ui.file("saved", accept=".toml"),
        note=_WORDS["saved"],
    )
    reopen = ui.form("open/reopen", saved, ui.button("Apply"), upload=True)
    yield ui.card("Go on with earlier work", reopen)
    yield ui.details("Open another table", _ways_in())


def _preview(studio: Studio) -> Html:
    opened, gone = studio.table, html.span("missing", class_="gone")
    lines = [
        (str(place), *(gone if cell is None else cell for cell in row))
        for place, row in enumerate(opened.head, 1)
    ]
    return ui.grid(("row", *opened.names), lines, "first rows")


_ENCODINGS = (
    *("utf-8", "utf-8-sig", "cp1252", "latin-1", "iso-8859-15", "cp850", "utf-16"),
    *("cp1250", "iso8859_2", "cp1251", "cp1253", "cp1254", "gb18030", "cp932", "big5", "euc_kr"),
)


def _read_as(studio: Studio) -> Html | None:
    """How the file was read, to be corrected if it is text."""
    opened = studio.table
    if opened.is_text:
        return _format(opened.dialect)
    return ui.small(ui.sentence("; ".join(opened.notes))) if opened.notes else None


def _format(found: Dialect | None) -> Html:
    """How a text file is written: as found, or not known yet if it could not be read."""
    dialect = found or Dialect()

    def own(name: str) -> str:  # both forms may be on the page
        return name if found else f"unread-{name}"

    def choice(text: str, name: str, options: Iterable[tuple[str, str]], value: str) -> Html:
        unknown = () if found else (("", "as covey finds it"),)
        chosen = value if found else ""
        return ui.labelled(text, ui.chosen_from(name, (*unknown, *options), chosen, id=own(name)))

    delimiters = dict(_WORDS["delimiters"])
    encodings = dict.fromkeys(_ENCODINGS)
    if found:  # what was found is the first to choose from
        sign, name = found.delimiter, found.encoding
        delimiters = {sign: delimiters.get(sign, sign)} | delimiters
        encodings = dict.fromkeys((name, *encodings))
    first_lines = (("yes", "names of columns"), ("no", "the first person"))
    header = ui.chosen_from(
        "header", first_lines, "yes" if dialect.header else "no", id=own("header")
    )
    skip = ui.typed("skip", dialect.skip, kind="number", min="0", id=own("skip"))
    tokens = ", ".join(token for token in dialect.missing if token)
    missing = ui.typed("missing", tokens, id=own("missing"))
    decimals = ((".", "point"), (",", "comma"))
    return ui.form(
        "open/format",
        None if found else ui.hidden("waiting", "yes"),
        choice("Delimiter", "delimiter", delimiters.items(), dialect.delimiter),
        choice("Encoding", "encoding", ((name, name) for name in encodings), dialect.encoding),
        choice("Decimal sign", "decimal", decimals, dialect.decimal),
        ui.labelled("First line", header),
        ui.labelled("Lines before it", skip),
        ui.labelled("Missing cells are", missing, note="besides empty ones; several with commas"),
        class_="chips",
        live=True,
        label="how the file is read",
    )


def _health(studio: Studio) -> Html:
    """What is wrong with the table, each with what mends it."""
    found = studio.table.draft.findings
    if not found:
        return ui.message("good", "Nothing unusual was found.")
    lines = (_finding(studio, place, finding) for place, finding in enumerate(found))
    return ui.items(lines, class_="health")


def _finding(studio: Studio, place: int, finding: Finding) -> Part:
    text: Part = ui.sentence(finding.text)
    if finding.column:
        text = html.strong(finding.column), ": ", text

    def push(action: str, button: str, label: str, kind: str = "") -> Html:
        return ui.push(action, button, kind=kind, finding=place, label=label)

    what = finding.column or finding.kind
    if not finding.setting:  # nothing mends it
        return html.span(text)
    if _is_mended(studio.schema, finding):
        mended = html.element("em", "mended", class_="yes")
        undo = push("open/unmend", "Leave as it was", f"leave {what} as it was", "quiet")
        return html.span(text, " ", mended), undo
    remedy = next(
        (name for key, name in _WORDS["remedies"].items() if key in finding.setting), "Mend"
    )
    keep = push("open/keep", "They are people", f"keep {finding.kind}", "quiet")
    is_of_rows = _is_of_rows(finding)
    return html.span(text), push("open/mend", remedy, f"mend {what}"), keep if is_of_rows else None


def _is_of_rows(finding: Finding) -> bool:
    return "drop_rows" in finding.setting


def _is_mended(schema: Schema, finding: Finding) -> bool:
    if _is_of_rows(finding):
        return finding.applied
    try:
        return _mended(schema, finding) == schema
    except SchemaError:
        return False


def _mended(schema: Schema, finding: Finding) -> Schema:
    assert finding.column is not None
    settings: dict[str, Any] = dict(finding.setting)
    role = settings.pop("role", schema.columns[finding.column].role)
    return schema.with_role(finding.column, role, **settings)


# ── actions ─────────────────────────────────────────────────────────────────────────────────────


async def _path(studio: Studio, sent: FormData) -> None:
    path = text_of(sent, "path")
    if not path:
        raise UsageError("type the path of a file")
    await studio.open(TablePlace(at_home(path)))


async def _upload(studio: Studio, sent: FormData) -> None:
    file = file_of(sent)

    async def copy(path: Path) -> None:
        with path.open("xb") as target:
            path.chmod(0o600)
            await asyncio.to_thread(shutil.copyfileobj, file.file, target)

    await studio.open(await studio.upload(file.filename or "", copy))


async def _demo(studio: Studio, _: FormData) -> None:
    place = await studio.reader.ask("demonstration")
    await studio.open(TablePlace(place, is_upload=True))


async def _part(studio: Studio, sent: FormData) -> None:
    place = whole(sent, "part", "the part")
    if studio.waiting is None or place >= len(studio.choices):
        raise UsageError("there is no such part")
    await studio.open(studio.waiting.part(studio.choices[place]))


async def _declare(studio: Studio, sent: FormData) -> None:
    """Read the table again, as corrected."""
    tokens = [token.strip() for token in text_of(sent, "missing").split(",")]
    delimiter = sent.get("delimiter")  # a tab is no text to strip
    declared = {
        "delimiter": delimiter if isinstance(delimiter, str) and delimiter else None,
        "encoding": text_of(sent, "encoding") or None,
        "decimal": text_of(sent, "decimal") or None,
        "skip": whole(sent, "skip", "the number of lines") or None,
        "missing": [token for token in tokens if token],
        "header": text_of(sent, "header") != "no",
        **studio.work.format.model_dump(include={"drop_rows", "keep_rows"}),
    }
    waiting = studio.waiting if text_of(sent, "waiting") else None
    schema = Schema.from_dict({"columns": {}, "table": declared})
    await studio.open(waiting or studio.work.opened, schema.table)


def _chosen(studio: Studio, sent: FormData) -> Finding:
    place, found = whole(sent, "finding", "the finding"), studio.table.draft.findings
    if place >= len(found) or not found[place].setting:
        raise UsageError("there is nothing to mend")
    return found[place]


async def _mend(studio: Studio, sent: FormData) -> None:
    finding = _chosen(studio, sent)
    if _is_of_rows(finding):
        await _decide_rows(studio, finding, "drop_rows")
    else:
        studio.history.change(schema=_mended(studio.schema, finding))


async def _keep(studio: Studio, sent: FormData) -> None:
    await _decide_rows(studio, _chosen(studio, sent), "keep_rows")


async def _decide_rows(studio: Studio, finding: Finding, decision: str | None) -> None:
    """Leave such rows out, keep them, or leave it open; the table is read again."""
    kinds = finding.setting.get("drop_rows", ())
    before = studio.schema.table
    decided: dict[str, Any] = {
        name: tuple(kind for kind in getattr(before, name) or () if kind not in kinds)
        for name in ("drop_rows", "keep_rows")
    }
    if decision is not None:
        decided[decision] = (*decided[decision], *kinds)
    decided = {name: listed or None for name, listed in decided.items()}
    schema = studio.schema.model_copy(update={"table": before.model_copy(update=decided)})
    studio.history.change(schema=schema, format=studio.work.format.model_copy(update=decided))
    await studio.reread()


async def _unmend(studio: Studio, sent: FormData) -> None:
    finding = _chosen(studio, sent)
    if _is_of_rows(finding):
        await _decide_rows(studio, finding, None)
        return
    assert finding.column is not None
    columns = studio.schema.columns if finding.applied else studio.table.schema.columns
    unset = dict.fromkeys(name for name in finding.setting if name != "role")
    role = columns[finding.column].role
    studio.history.change(schema=studio.schema.with_role(finding.column, role, **unset))


async def _undo(studio: Studio, sent: FormData) -> str | None:
    studio.history.undo()
    await studio.reread()
    step = text_of(sent, "step")
    return step if step.isidentifier() else None


async def _reopen(studio: Studio, sent: FormData) -> str:
    try:
        text = (await bytes_of(sent, "saved work")).decode()
    except UnicodeDecodeError:
        raise SchemaError("this is no saved work of covey studio") from None
    work = studio.work.reopened(text)
    _refuse_misfit(work.described, studio.table.names)
    studio.history.decide(work)
    await studio.reread()
    studio.tell("The saved decisions apply now.", "good")
    return "roles"


def _refuse_misfit(schema: Schema, names: tuple[str, ...]) -> None:
    lacking = [name for name in names if name not in schema.columns]
    foreign = [name for name in schema.columns if name not in names]
    if lacking or foreign:
        raise SchemaError(
            f"the saved work does not fit this table: {count(len(lacking), 'column')} of the table "
            f"not in it, {count(len(foreign), 'column')} of it not in the table"
        )


def _state(studio: Studio) -> str:
    if studio.opened is None:
        return NEEDS
    found = studio.opened.draft.findings
    return NEEDS if any(_is_of_rows(f) and not f.applied for f in found) else DONE


STEP = Step(
    "open",
    "Open",
    _page,
    _state,
    {
        "path": _path,
        "upload": _upload,
        "demo": _demo,
        "part": _part,
        "format": _declare,
        "mend": _mend,
        "unmend": _unmend,
        "keep": _keep,
        "undo": _undo,
        "reopen": _reopen,
    },
    needs_table=False,
)
