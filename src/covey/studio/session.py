"""One studio: its work, the processes that do it, and what they have found so far."""

import asyncio
import contextlib
import re
import secrets
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from starlette.datastructures import FormData

from covey import tables
from covey.errors import OutputError, UsageError
from covey.schema import Schema, TableFormat
from covey.studio.desk import Opened
from covey.studio.work import History, Source, Work
from covey.studio.workers import Job, Worker
from covey.tables import sources

_LONGEST_NAME = 120


class Message(NamedTuple):
    """What the page tells once, after an action."""

    text: str
    kind: str = "bad"  # or good


class Result(NamedTuple):
    """What a job found, and what it was found for: it is out of date once that changes."""

    made_of: Any
    found: Any


@dataclass(eq=False)
class Studio:
    """All that the server keeps in memory; it is gone when the server ends."""

    folder: Path
    reader: Worker  # answers questions about the table at once
    maker: Worker  # does what takes long, and then knows the release
    history: History = field(default_factory=History)
    choices: tuple[str, ...] = ()  # the sheets or tables of a file, if one must be chosen
    waiting: Source | None = None  # the file that they are in
    read: dict[Any, Opened] = field(default_factory=dict)  # tables, by place and format
    jobs: dict[str, Job] = field(default_factory=dict)  # long ones, by what they are for
    results: dict[str, Result] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)  # those that may be downloaded
    messages: list[Message] = field(default_factory=list)

    @property
    def work(self) -> Work:
        """The decisions so far."""
        return self.history.now

    @property
    def schema(self) -> Schema:
        """The schema; an error if no table is open."""
        return self.work.described

    @property
    def opened(self) -> Opened | None:
        """The open table, if there is one."""
        return self.read.get((self.work.source, self.work.format))

    @property
    def output(self) -> str:
        """The name of the released file: of the format of the input where covey writes it."""
        ending = Path(sources.of(self.work.opened.place).place).suffix.lower()
        try:
            kept = tables.writer_of(f"released{ending}") is not None or ending == ".csv"
        except OutputError:
            kept = False
        return f"{self.work.opened.stem}-released{ending if kept else '.csv'}"

    def figures(self) -> list[str]:
        """The risk and the loss of the release or, before there is one, of the curve."""
        return []

    @property
    def table(self) -> Opened:
        """The open table; an error if there is none."""
        if self.opened is None:
            raise UsageError("no table is open: open one first")
        return self.opened

    def tell(self, text: str, kind: str = "bad") -> None:
        """Show a message on the next page."""
        self.messages.append(Message(text, kind))

    def column(self, form: Any) -> str:
        """The column that a form names by its place: names do not belong in addresses."""
        names = self.table.names
        place = str(form.get("column", ""))
        if not place.isdecimal() or int(place) >= len(names):
            raise UsageError("there is no such column")
        return names[int(place)]

    async def ask(self, job: str, *arguments: Any) -> Any:
        """Ask about the open table, read as the work says."""
        return await self.reader.ask(job, self.work.opened.place, self.work.format, *arguments)

    def result(self, name: str, made_of: Any) -> Any:
        """What was found for this state of the work; None if nothing, or something else."""
        found = self.results.get(name)
        return found.found if found is not None and found.made_of == made_of else None

    # ── opening ─────────────────────────────────────────────────────────────────────────────────

    async def open(self, source: Source, declared: TableFormat | None = None) -> None:
        """Read a table; its draft becomes the schema."""
        declared = declared or TableFormat()
        await self.maker.stop()
        job = self.jobs["open"] = self.reader.give("open", source.place, declared)
        self.choices, self.waiting = (), None
        try:
            opened: Opened = await job.wait()
        except UsageError as error:
            self.choices = error.choices
            self.waiting = source if error.choices else None
            raise
        finally:
            self.jobs.pop("open", None)
        self.read[source, declared] = opened
        self.results.clear()
        self.history.decide(
            replace(
                self.work,
                source=source,
                format=declared,
                schema=opened.schema,
                checked=frozenset(),
            )
        )

    async def reread(self) -> None:
        """Read the table as the work says, if it was never read so; no decision changes."""
        work = self.work
        if work.source is not None and self.opened is None:
            opened = await self.reader.ask("open", work.source.place, work.format)
            self.read[work.source, work.format] = opened

    async def upload(self, name: str, copy: Callable[[Path], Awaitable[None]]) -> Source:
        """Keep an uploaded file in the studio's own folder, under a harmless name."""
        folder = self.folder / "uploads" / secrets.token_hex(8)
        folder.mkdir(parents=True, mode=0o700)
        path = folder / harmless(name)
        await copy(path)
        return Source(str(path), is_upload=True)

    async def close(self) -> None:
        """End the processes."""
        for worker in (self.reader, self.maker):
            await asyncio.to_thread(worker.close)


def harmless(name: str) -> str:
    """The last part of a file's name, without signs that mean something to a system or a page."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    kept = "".join(sign if sign.isprintable() and sign not in '<>:"|?*' else "_" for sign in last)
    kept = kept.strip(". ")
    with contextlib.suppress(UnicodeEncodeError):
        while len(kept.encode()) > _LONGEST_NAME:  # the ending says what kind of file it is
            middle = len(kept) // 2
            kept = kept[: middle - 1] + kept[middle + 1 :]
        return kept or "table"
    return "table"


def text_of(form: FormData, name: str) -> str:
    """A text that was typed."""
    given = form.get(name)
    return given.strip() if isinstance(given, str) else ""


def whole(form: FormData, name: str, what: str) -> int:
    """A whole number that was typed."""
    given = text_of(form, name)
    if not re.fullmatch(r"[0-9]{1,9}", given):
        raise UsageError(f"{what} must be a whole number")
    return int(given)


def number(form: FormData, name: str, what: str) -> float:
    """A number that was typed, with a point or a comma."""
    given = text_of(form, name).replace(",", ".")
    if not re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{0,9})?|-?\.[0-9]{1,9}", given):
        raise UsageError(f"{what} must be a number")
    return float(given)
