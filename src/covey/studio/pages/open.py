"""Step 1: open a table, correct how it was read, and mend what is wrong with it."""

import asyncio
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, UploadFile

from covey.errors import SchemaError, UsageError, count
from covey.html import Html, Part, element, scrolled, table, together
from covey.inspection.findings import Finding
from covey.schema import Schema
from covey.studio.session import Studio, at_home, text_of, whole
from covey.studio.steps import (
    DONE,
    NEEDS,
    Step,
    button,
    card,
    chosen_from,
    form,
    heading,
    hidden,
    labelled,
    onwards,
    push,
    sentence,
    typed,
)
from covey.studio.work import Source
from covey.tables.csv_files import Dialect

_LARGEST_WORK = 20 * 1024**2  # bytes of a saved work: a schema with large trees


async def page(studio: Studio) -> Html:
    """The page of the step."""
    if (job := studio.jobs.get("open")) is not None:
        said = element("p", f"{job.stage} …", role="status")
        return element("div", heading("Open a table"), said, data_every="400", id="opening",
                       data_page=True)  # fmt: skip
    shown = (_start(), _ways_in()) if studio.opened is None else _opened(studio)
    return together((*_unread(studio), *shown))


def _start() -> Html:
    return heading(
        "Open a table of people",
        "covey groups similar people and shows each group as one, so that everyone looks like at "
        "least k people. Nothing leaves this machine.",
    )


def _unread(studio: Studio) -> Iterator[Part]:
    """A file that was not read: the choice of a sheet, or how it is written."""
    if studio.waiting is None:
        return
    if not studio.choices:
        yield card(f"How is {studio.waiting.name} written?", _format(None))
        return
    sheets = [
        button(name, name="part", value=str(place)) for place, name in enumerate(studio.choices)
    ]
    said = f"{studio.waiting.name} has several sheets or tables. Choose one."
    yield card("Which part?", element("p", said), form("open/part", *sheets, class_="row"))


def _ways_in() -> Html:
    drop = form(
        "open/upload",
        labelled(
            "Drop a file here, or choose one",
            element("input", type="file", name="file", required=True, id="file"),
            note="CSV, Excel, Parquet, SPSS, Stata, SAS, SQLite … It is kept in a private folder "
            "until the studio ends.",
            class_="field drop",
        ),
        button("Open", kind="main"),
        upload=True,
        live=True,
    )
    path = form(
        "open/path",
        labelled(
            "Or read a file where it lies",
            typed("path", placeholder="/data/people.csv", id="path"),
            note="The path of a file on this machine; FILE::SHEET for a sheet or table.",
        ),
        button("Read"),
        class_="inline",
    )
    demo = form("open/demo", button("Try it with invented people"), class_="push")
    return element(
        "div",
        card("A file", drop),
        card("A path", path),
        card(
            "Nothing at hand?",
            element("p", "10,000 invented patients of a hospital, with all that makes it hard."),
            demo,
        ),
        class_="pair",
    )


# ── once it is open ─────────────────────────────────────────────────────────────────────────────


def _opened(studio: Studio) -> Iterator[Part]:
    opened, source = studio.table, studio.work.opened
    yield heading(
        source.name,
        f"{count(opened.rows, 'row')} and {count(len(opened.names), 'column')}. Check that the "
        "table below looks right; then decide who could recognise whom.",
    )
    yield onwards("roles", "Who could recognise whom?")
    yield card("Health", *_health(studio))
    yield card("The first rows", _read_as(studio), _preview(studio))
    others = _ways_in()
    saved = form(
        "open/reopen",
        labelled(
            "Open a saved work, or a schema file",
            element("input", type="file", name="file", accept=".toml", required=True, id="saved"),
            note="Its decisions replace those made here. It must fit this table.",
        ),
        button("Apply"),
        upload=True,
    )
    yield card("Go on with earlier work", saved)
    yield element("details", element("summary", "Open another table"), others)


def _preview(studio: Studio) -> Html:
    opened = studio.table
    gone = element("span", "missing", class_="gone")
    lines = [
        (str(place), *(gone if cell is None else cell for cell in row))
        for place, row in enumerate(opened.head, 1)
    ]
    return scrolled(table(("row", *opened.names), lines), "first rows")


_DELIMITERS = ((",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar"), (" ", "space"))
_ENCODINGS = (
    *("utf-8", "utf-8-sig", "cp1252", "latin-1", "iso-8859-15", "cp850", "utf-16"),
    *("cp1250", "iso8859_2", "cp1251", "cp1253", "cp1254", "gb18030", "cp932", "big5", "euc_kr"),
)


def _read_as(studio: Studio) -> Html | None:
    """How the file was read, to be corrected if it is text."""
    opened = studio.table
    if opened.is_text:
        return _format(opened.dialect)
    told = "; ".join(opened.notes)
    return element("p", sentence(told), class_="quiet small") if told else None


def _format(found: Dialect | None) -> Html:
    """How a text file is written: as found, or not known yet if it could not be read."""
    dialect = found or Dialect()
    unknown = () if found else (("", "as covey finds it"),)
    names = dict(_DELIMITERS)
    delimiters = dict.fromkeys((*((found.delimiter,) if found else ()), *names))
    encodings = dict.fromkeys((*((found.encoding,) if found else ()), *_ENCODINGS))

    def choice(text: str, name: str, options: Iterable[tuple[str, str]], value: str) -> Html:
        return labelled(
            text, chosen_from(name, (*unknown, *options), value if found else "", id=own(name))
        )

    def own(name: str) -> str:  # both forms may be on the page
        return name if found else f"unread-{name}"

    tokens = ", ".join(token for token in dialect.missing if token)
    return form(
        "open/format",
        None if found else hidden("waiting", "yes"),
        choice("Delimiter", "delimiter", ((sign, names.get(sign, sign)) for sign in delimiters),
               dialect.delimiter),
        choice("Encoding", "encoding", ((name, name) for name in encodings), dialect.encoding),
        choice("Decimal sign", "decimal", ((".", "point"), (",", "comma")), dialect.decimal),
        labelled("First line", chosen_from(
            "header", (("yes", "names of columns"), ("no", "the first person")),
            "yes" if dialect.header else "no", id=own("header"))),
        labelled("Lines before it", typed("skip", dialect.skip, kind="number", min="0",
                                          id=own("skip"))),
        labelled("Missing cells are", typed("missing", tokens, id=own("missing")),
                 note="besides empty ones; several with commas"),
        class_="chips",
        live=True,
        label="how the file is read",
    )  # fmt: skip


def _health(studio: Studio) -> Iterator[Html]:
    """What is wrong with the table, each with what mends it."""
    found = studio.table.draft.findings
    if not found:
        yield element("p", "Nothing unusual was found.", class_="told good")
        return
    yield element(
        "ul",
        *(_finding(studio, place, finding) for place, finding in enumerate(found)),
        class_="health",
    )


def _finding(studio: Studio, place: int, finding: Finding) -> Html:
    text = sentence(finding.text)
    named = together((element("strong", finding.column), ": ", text)) if finding.column else text
    if not _can_mend(finding):
        return element("li", element("span", named))
    if _is_mended(studio.schema, finding):
        undone = push("open/unmend", "Leave as it was", kind="quiet", finding=place,
                      label=f"leave {finding.column or finding.kind} as it was")  # fmt: skip
        return element(
            "li", element("span", named, " ", element("em", "mended", class_="yes")), undone
        )
    mend = push("open/mend", _remedy(finding), finding=place,
                label=f"mend {finding.column or finding.kind}")  # fmt: skip
    keep = push("open/keep", "They are people", kind="quiet", finding=place,
                label=f"keep {finding.kind}") if _is_of_rows(finding) else None  # fmt: skip
    return element("li", element("span", named), mend, keep)


def _can_mend(finding: Finding) -> bool:
    return bool(finding.setting)


def _is_of_rows(finding: Finding) -> bool:
    return "drop_rows" in finding.setting


_REMEDIES = {
    "role": "Remove the column",
    "normalise": "Merge them",
    "recode": "Merge them",
    "missing_values": "Read as missing",
    "unreadable": "Read as missing",
    "type": "Read as dates",
    "drop_rows": "Leave them out",
}


def _remedy(finding: Finding) -> str:
    return next((text for name, text in _REMEDIES.items() if name in finding.setting), "Mend")


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


async def _path(studio: Studio, sent: FormData) -> str | None:
    path = text_of(sent, "path")
    if not path:
        raise UsageError("type the path of a file")
    await studio.open(Source(at_home(path)))
    return None


async def _upload(studio: Studio, sent: FormData) -> str | None:
    file = sent.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise UsageError("choose a file first")

    async def copy(path: Path) -> None:
        with path.open("xb") as target:
            path.chmod(0o600)
            await asyncio.to_thread(shutil.copyfileobj, file.file, target)

    await studio.open(await studio.upload(file.filename, copy))
    return None


async def _demo(studio: Studio, _: FormData) -> str | None:
    place = await studio.reader.ask("demonstration")
    await studio.open(Source(place, is_upload=True))
    return None


async def _part(studio: Studio, sent: FormData) -> str | None:
    place = whole(sent, "part", "the part")
    if studio.waiting is None or place >= len(studio.choices):
        raise UsageError("there is no such part")
    await studio.open(studio.waiting.part(studio.choices[place]))
    return None


async def _declare(studio: Studio, sent: FormData) -> str | None:
    """Read the table again, as corrected."""
    tokens = [token.strip() for token in text_of(sent, "missing").split(",")]
    given = sent.get("delimiter")
    said = {
        "delimiter": given if isinstance(given, str) and given else None,
        "encoding": text_of(sent, "encoding") or None,
        "decimal": text_of(sent, "decimal") or None,
        "skip": whole(sent, "skip", "the number of lines") or None,
        "missing": [token for token in tokens if token],
        "header": text_of(sent, "header") != "no",
        **studio.work.format.model_dump(include={"drop_rows", "keep_rows"}),
    }
    declared = Schema.from_dict({"columns": {}, "table": said}).table
    waiting = studio.waiting if text_of(sent, "waiting") else None
    await studio.open(waiting or studio.work.opened, declared)
    return None


def _chosen(studio: Studio, sent: FormData) -> Finding:
    place, found = whole(sent, "finding", "the finding"), studio.table.draft.findings
    if place >= len(found) or not _can_mend(found[place]):
        raise UsageError("there is nothing to mend")
    return found[place]


async def _mend(studio: Studio, sent: FormData) -> str | None:
    finding = _chosen(studio, sent)
    if _is_of_rows(finding):
        return await _decide_rows(studio, finding, "drop_rows")
    studio.history.change(schema=_mended(studio.schema, finding))
    return None


async def _keep(studio: Studio, sent: FormData) -> str | None:
    return await _decide_rows(studio, _chosen(studio, sent), "keep_rows")


async def _decide_rows(studio: Studio, finding: Finding, decision: str | None) -> str | None:
    """Leave such rows out, keep them, or leave it open; the table is read again."""
    kinds = finding.setting.get("drop_rows", ())
    before = studio.schema.table
    said: dict[str, Any] = {
        name: tuple(kind for kind in getattr(before, name) or () if kind not in kinds)
        for name in ("drop_rows", "keep_rows")
    }
    if decision is not None:
        said[decision] = (*said[decision], *kinds)
    said = {name: listed or None for name, listed in said.items()}
    schema = studio.schema.model_copy(update={"table": before.model_copy(update=said)})
    format = studio.work.format.model_copy(update=said)
    studio.history.change(schema=schema, format=format)
    await studio.reread()
    return None


async def _unmend(studio: Studio, sent: FormData) -> str | None:
    finding = _chosen(studio, sent)
    if _is_of_rows(finding):
        return await _decide_rows(studio, finding, None)
    assert finding.column is not None
    drafted = studio.table.schema.columns[finding.column]
    names = [name for name in finding.setting if name != "role"]
    kept = drafted.role if not finding.applied else studio.schema.columns[finding.column].role
    schema = studio.schema.with_role(finding.column, kept, **dict.fromkeys(names))
    studio.history.change(schema=schema)
    return None


async def _undo(studio: Studio, sent: FormData) -> str | None:
    studio.history.undo()
    await studio.reread()
    step = text_of(sent, "step")
    return step if step.isidentifier() else None


async def _reopen(studio: Studio, sent: FormData) -> str | None:
    file = sent.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise UsageError("choose a file first")
    data = await file.read(_LARGEST_WORK + 1)
    if len(data) > _LARGEST_WORK:
        raise UsageError("the file is too large for a saved work")
    try:
        text = data.decode()
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


def state(studio: Studio) -> str:
    """How far the step is."""
    if studio.opened is None:
        return NEEDS
    found = studio.opened.draft.findings
    return NEEDS if any(_is_of_rows(f) and not f.applied for f in found) else DONE


STEP = Step(
    "open",
    "Open",
    page,
    state,
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
