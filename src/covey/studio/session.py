"""One studio: its work, the processes that do it, and what they have found so far."""

import asyncio
import contextlib
import re
import secrets
import time
import unicodedata
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from starlette.datastructures import FormData, UploadFile

from covey import tables
from covey.clustering.progress import loss_in
from covey.errors import CoveyError, OutputError, UsageError, percent
from covey.html import Html
from covey.schema import Schema, TableFormat
from covey.studio.desk import Made, Opened
from covey.studio.prices import Priced
from covey.studio.work import History, TablePlace, Work
from covey.studio.workers import StudioJob, Worker
from covey.tables import sources

Found = TypeVar("Found")
# The price of each k; what it saves to suppress a few rows at the chosen one; what it costs to
# follow earlier releases.
Asked = Literal["prices", "savings", "followed", "attackers"]
_LONGEST_NAME = 120
_LARGEST = 20 * 1024**2  # bytes of a saved work or a tree


class Message(NamedTuple):
    """What the page says once, after an action."""

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
    maker: Worker  # makes the release, and then knows it
    pricer: Worker  # finds what each k costs, meanwhile
    history: History = field(default_factory=History)
    choices: tuple[str, ...] = ()  # the sheets or tables of a file, if one must be chosen
    waiting: TablePlace | None = None  # the file that they are in, or one to be read otherwise
    read: dict[Any, Opened] = field(default_factory=dict)  # tables, by place and format
    jobs: dict[str, StudioJob] = field(default_factory=dict)  # long ones, by what they are for
    results: dict[str, Result] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)  # those that may be downloaded
    messages: list[Message] = field(default_factory=list)
    losses: list[tuple[float, float]] = field(default_factory=list)  # seconds and shares
    falling: Html | None = None  # the picture of these
    began: float = 0.0
    _answers: dict[Any, Any] = field(default_factory=dict)
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    # ── what is known ───────────────────────────────────────────────────────────────────────────

    @property
    def work(self) -> Work:
        """The decisions so far."""
        return self.history.now

    @property
    def schema(self) -> Schema:
        """The schema; an error if no table is open."""
        return self.work.described

    @property
    def k(self) -> int:
        """The chosen k, or the one that covey drafts."""
        return self.schema.require.k or self.table.draft.k

    @property
    def opened(self) -> Opened | None:
        """The open table, if there is one."""
        return self.read.get((self.work.source, self.work.format))

    @property
    def table(self) -> Opened:
        """The open table; an error if there is none."""
        if self.opened is None:
            raise UsageError("no table is open: open one first")
        return self.opened

    @property
    def output(self) -> str:
        """The name of the released file: of the format of the input where covey writes it."""
        ending = Path(sources.of(self.work.opened.place).place).suffix.lower()
        try:
            kept = tables.writer_of(f"released{ending}") is not None or ending == ".csv"
        except OutputError:
            kept = False
        return f"{self.work.opened.stem}-released{ending if kept else '.csv'}"

    @property
    def release(self) -> Made | None:
        """The release of the work as it is now."""
        return self.result("release", (self.work.made_of, self.maker.started), Made)

    @property
    def made(self) -> Made:
        """The release of the work as it is now; an error if there is none."""
        if self.release is None:
            raise UsageError("there is no release of the work as it is now: make it first")
        return self.release

    @property
    def was_made(self) -> bool:
        """Whether there was a release, whatever has changed since."""
        return "release" in self.results

    def figures(self) -> list[str]:
        """The risk and the loss of the release or, before there is one, of the curve."""
        if self.release is not None:
            report = self.release.report
            risk, loss = report.verdict.risks.prosecutor, report.mean_loss
            return [*([f"risk {percent(risk)}"] if risk else []), f"{percent(loss)} lost"]
        if self.price is None:
            return []
        point = self.price.point
        return [f"risk {percent(point.highest_risk)}", f"about {percent(point.loss)} lost"]

    def result(self, name: str, made_of: Any, kind: type[Found]) -> Found | None:
        """What was found for this state of the work; None if nothing, or for another one."""
        result = self.results.get(name)
        if result is None or result.made_of != made_of:
            return None
        assert isinstance(result.found, kind)
        return result.found

    def keep(self, name: str, made_of: Any, found: Any) -> None:
        """Keep what was found for a state of the work."""
        self.results[name] = Result(made_of, found)

    def tell(self, text: str, kind: str = "bad") -> None:
        """Show a message on the next page."""
        self.messages.append(Message(text, kind))

    def column(self, form: Any) -> str:
        """The column that a form names by its place: names do not belong in addresses."""
        names = self.table.names
        place = text_of(form, "column")
        if not is_whole(place) or int(place) >= len(names):
            raise UsageError("there is no such column")
        return names[int(place)]

    def place(self, name: str) -> int:
        """The place of a column, by which forms and addresses name it."""
        return self.table.names.index(name)

    async def ask(self, job: str, *arguments: Any) -> Any:
        """Ask about the open table, read as the work says."""
        return await self.reader.ask(job, self.table.reading, *arguments)

    async def known(self, job: str, *arguments: Any) -> Any:
        """The same, asked only once for the same table and arguments."""
        key = (job, self.table.reading, repr(arguments))
        if key not in self._answers:
            self._answers[key] = await self.ask(job, *arguments)
        return self._answers[key]

    def require(self, **models: Any) -> None:
        """Decide what is required of the release."""
        self.history.change(schema=self.schema.requiring(**models))

    def set(self, name: str, **settings: Any) -> None:
        """Decide settings of a column."""
        self.history.change(schema=self.schema.with_settings(name, **settings))

    # ── opening ─────────────────────────────────────────────────────────────────────────────────

    async def open(self, source: TablePlace, declared: TableFormat | None = None) -> None:
        """Read a table; its draft becomes the schema. Of a file with several, wait for a choice."""
        declared = declared or TableFormat()
        await self.pricer.stop()
        await self.maker.stop()
        job = self.jobs["open"] = self.reader.give("open", source.place, declared)
        self.choices, self.waiting = (), None
        try:
            opened: Opened = await job.wait()
        except CoveyError as error:
            self.choices = error.choices if isinstance(error, UsageError) else ()
            other = source != self.work.source and await self.reader.ask("is_text", source.place)
            self.waiting = source if self.choices or other else None
            if not self.choices:
                raise
            return
        finally:
            self.jobs.pop("open", None)
        self.read[source, declared] = opened
        self.results.clear()
        self._answers.clear()
        begun = replace(self.work, source=source, schema=opened.schema, checked=frozenset())
        self.history.decide(replace(begun, format=declared))

    async def reread(self) -> None:
        """Read the table as the work says, if it was never read so; no decision changes."""
        work = self.work
        if work.source is not None and self.opened is None:
            opened = await self.reader.ask("open", work.source.place, work.format)
            self.read[work.source, work.format] = opened

    async def upload(self, name: str, copy: Callable[[Path], Awaitable[None]]) -> TablePlace:
        """Keep an uploaded file in the studio's own folder, under a harmless name."""
        folder = self.folder / f"upload-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        path = folder / harmless(name)
        await copy(path)
        return TablePlace(str(path), is_upload=True)

    # ── long work ───────────────────────────────────────────────────────────────────────────────

    async def make(self) -> None:
        """Begin to make the release; whatever else the maker does ends."""
        work, reading = self.work, self.table.reading
        # Known from now on: decisions may be undone while the release is made.
        weights = sum(column.weight for column in work.described.quasi.values())
        on_stage = partial(self._note_loss, self.table.rows * weights)
        self.jobs["make"] = StudioJob("make")  # from here on nobody else gives the maker a job
        await self.pricer.stop()
        await self.maker.stop()
        self.losses, self.falling, self.began = [], None, time.monotonic()
        self.results.pop("release", None)
        self.results.pop("failed", None)
        arguments = reading, work.described, work.options, work.style
        job = self.jobs["make"] = self.maker.give("make", *arguments, on_stage=on_stage)
        self._go_on(self._until_made(job, work))

    def _note_loss(self, most: float, stage: str) -> None:
        """Note the loss as a share of the most, and the seconds since the start, if it fell."""
        found = loss_in(stage)
        if found is not None and most:
            share = min(found / most, 1.0)
            if not self.losses or share < self.losses[-1][1]:
                self.losses.append((round(time.monotonic() - self.began, 2), share))

    async def _until_made(self, job: StudioJob, work: Work) -> None:
        try:
            self.keep("release", (work.made_of, self.maker.started), await job.wait())
        except CoveyError as error:
            if not job.was_stopped:
                self.keep("failed", work.made_of, str(error))
        finally:
            if self.jobs.get("make") is job:
                del self.jobs["make"]

    def draw_losses(self) -> None:
        """Let the picture of the losses be drawn again, unless that is being done."""
        if len(self.losses) > 1 and "draw" not in self.jobs:
            self.jobs["draw"] = self.reader.give("falling", list(self.losses))
            self._go_on(self._until_drawn(self.jobs["draw"]))

    async def _until_drawn(self, job: StudioJob) -> None:
        with contextlib.suppress(CoveyError):
            self.falling = Html(await job.wait())
        del self.jobs["draw"]

    @property
    def failed(self) -> str | None:
        """Why there is no release of the work as it is now, if one was tried."""
        return self.result("failed", self.work.made_of, str)

    def priced(self, what: Asked) -> StudioJob | None:
        """The job that finds what something costs, or what attackers find, if it has begun."""
        return self.result(what, self._priced_by(what), StudioJob)

    def find(self, what: Asked) -> StudioJob:
        """The same; it begins if nobody has asked before."""
        job = self.priced(what)
        if job is None or job.was_stopped:
            job = self.pricer.give(what, *self._priced_by(what))
            self.keep(what, self._priced_by(what), job)
        return job

    def _priced_by(self, what: Asked) -> tuple[Any, ...]:
        """All that prices depend on; the file may have changed since it was read before."""
        if what == "attackers":
            return self.table.reading, self.schema, self.made.number
        if what == "followed":
            options = {n: v for n, v in self.work.options.items() if n != "max_suppressed"}
            return self.table.reading, self.schema.requiring(composition="warn"), options
        table = self.opened and self.opened.reading, self.work.without_models
        return table if what == "prices" else (*table, self.schema.require.k)

    async def released_on(self) -> list[date]:
        """When people of this table were released before."""
        found = await self.known("released_on", self.work.without_models)
        return [date.fromisoformat(one) for one in found]

    @property
    def price(self) -> Priced | None:
        """What the chosen k costs, as far as it is known: the price of the next larger k known."""
        k = None if self.work.schema is None else self.work.schema.require.k
        job = self.priced("prices")
        if job is None or k is None:
            return None
        known = prices_in(job)
        return next((known[each] for each in sorted(known) if each >= k), None)

    def _go_on(self, work: Coroutine[Any, Any, None]) -> None:
        """Let something go on in the background; the loop alone would forget it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End the processes."""
        for worker in (self.reader, self.maker, self.pricer):
            await asyncio.to_thread(worker.close)


def prices_in(job: StudioJob) -> dict[int, Priced]:
    """The price of each k, as well as it is known: a later one took more effort."""
    return {piece.point.k: piece for piece in job.pieces if isinstance(piece, Priced)}


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


def at_home(path: str) -> str:
    """A path with the folder that a ~ at its beginning stands for; as it is if there is none."""
    with contextlib.suppress(RuntimeError):
        return str(Path(path).expanduser()) if path.startswith("~") else path
    return path


# ── what forms send ─────────────────────────────────────────────────────────────────────────────


def text_of(form: FormData, name: str) -> str:
    """A text that was typed."""
    given = form.get(name)
    return given.strip() if isinstance(given, str) else ""


def file_of(form: FormData) -> UploadFile:
    """A file that was chosen."""
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise UsageError("choose a file first")
    return file


async def bytes_of(form: FormData, what: str) -> bytes:
    """The content of a file that was chosen, which cannot be large."""
    data = await file_of(form).read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise UsageError(f"the file is too large for a {what}")
    return data


def is_whole(text: str) -> bool:
    """Whether a text is a whole number, and not so long that nothing has so many."""
    return re.fullmatch(r"[0-9]{1,9}", text) is not None


def whole(form: FormData, name: str, what: str) -> int:
    """A whole number that was typed."""
    given = text_of(form, name)
    if not is_whole(given):
        raise UsageError(f"{what} must be a whole number, and below 1,000,000,000")
    return int(given)


def number(form: FormData, name: str, what: str) -> float:
    """A number that was typed, with a point or a comma."""
    given = text_of(form, name).replace(",", ".")
    if not re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]{0,9})?|-?\.[0-9]{1,9}", given):
        raise UsageError(f"{what} must be a number")
    return float(given)
