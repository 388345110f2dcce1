"""A process that does the work, so that the page always answers.

The server hands jobs to a worker, one after another. A long job reports its progress and pieces of
its result while it runs, and can be stopped: with what it has ("enough"), or for good. If it does
not notice that in time, the process is ended and another one takes its place.

Errors come back as covey's own messages, which hold no cell. Of any other error only its kind is
shown.
"""

import asyncio
import contextlib
import itertools
import multiprocessing
import os
import pickle
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from covey.clustering.progress import loss_in
from covey.errors import CoveyError, is_out_of_memory

_PATIENCE = 3.0  # seconds until a job that was asked to stop is ended
_SPAWN = multiprocessing.get_context("spawn")  # a forked copy of polars' threads would hang


class Stopped(BaseException):
    """Raised in a job that is to stop for good."""


class ServerGone(BaseException):
    """Raised in a job whose result nobody waits for any more."""


@dataclass(eq=False)
class StudioJob:
    """A job as the server sees it."""

    name: str
    stage: str = "waiting"
    share: float = 0.0
    pieces: list[Any] = field(default_factory=list)
    result: Any = None
    error: CoveyError | None = None
    is_done: bool = False
    was_stopped: bool = False
    on_stage: Callable[[str], None] | None = None  # called with each stage, in another thread
    _ended: "asyncio.Event | None" = None
    _loop: asyncio.AbstractEventLoop | None = None

    async def wait(self) -> Any:
        """The result, once there is one; raise the job's error."""
        assert self._ended is not None
        await self._ended.wait()
        if self.error is not None:
            raise self.error
        return self.result

    def note(self, kind: str, content: Any) -> None:
        """Take in what the process reports about the job."""
        match kind:
            case "stage":
                self.stage, self.share = content
                if self.on_stage is not None:
                    self.on_stage(self.stage)
                return
            case "piece":
                self.pieces.append(content)
                return
            case "result":
                self.result = content
            case "error":
                self.error = content
        self.is_done = True
        if self._loop is not None and self._ended is not None:
            with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits
                self._loop.call_soon_threadsafe(self._ended.set)


class Worker:
    """A process and the jobs that it has been given."""

    def __init__(self, folder: Path, desk: "Callable[[Path, Reporter], Any]") -> None:
        self._folder, self._desk = folder, desk
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._jobs: dict[int, StudioJob] = {}
        self._process: BaseProcess | None = None
        self._is_lost = False  # whether the process has gone
        self.started = 0  # how often: what an earlier process had before it is gone

    def _start(self) -> None:
        """Start a process; the first one when there is a job for it."""
        self.started += 1
        self._jobs, self._is_lost = {}, False
        ours, theirs = _SPAWN.Pipe()
        # The number of the last job that should end, with what it has or for good.
        self._enough, self._stop = _SPAWN.Value("q", -1), _SPAWN.Value("q", -1)
        self._waiting: SimpleQueue[bytes] = SimpleQueue()
        arguments = (theirs, self._enough, self._stop, self._folder, self._desk)
        self._process = _SPAWN.Process(target=serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        threading.Thread(target=_post, args=(ours, self._waiting), daemon=True).start()
        # It keeps its own jobs: those of another process that takes over are not lost with it.
        threading.Thread(target=self._listen, args=(ours, self._jobs), daemon=True).start()

    def give(
        self, name: str, *arguments: Any, on_stage: Callable[[str], None] | None = None
    ) -> StudioJob:
        """Hand over a job; it begins when those before it have ended."""
        loop = asyncio.get_running_loop()
        job = StudioJob(name, on_stage=on_stage, _ended=asyncio.Event(), _loop=loop)
        with self._lock:
            if self._is_lost or self._process is None or not self._process.is_alive():
                self._start()
            number = next(self._numbers)
            self._jobs[number] = job
            self._waiting.put(pickle.dumps((number, name, arguments)))
        return job

    async def ask(self, name: str, *arguments: Any) -> Any:
        """Hand over a job and wait for its result."""
        return await self.give(name, *arguments).wait()

    def enough(self) -> None:
        """End the running job with what it has."""
        with self._lock:
            if self._jobs:
                self._enough.value = min(self._jobs)

    async def stop(self) -> None:
        """End all jobs for good."""
        with self._lock:
            running = list(self._jobs.values())
            if not running:
                return
            self._stop.value = max(self._jobs)
        for job in running:
            job.was_stopped = True
        waiting = (job._ended.wait() for job in running if job._ended is not None)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*waiting), _PATIENCE)
            return
        self.close()

    def close(self) -> None:
        """End the process; what it was doing is lost."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def _listen(self, connection: "Connection[Any, Any]", jobs: dict[int, StudioJob]) -> None:
        """Note what the process reports; if it ends, so do its jobs."""
        try:
            while True:
                number, kind, content = connection.recv()
                with self._lock:
                    job = jobs[number] if kind in ("stage", "piece") else jobs.pop(number)
                job.note(kind, content)
        except (EOFError, OSError):
            connection.close()
        with self._lock:
            lost = [jobs.pop(number) for number in list(jobs)]
            self._is_lost = self._is_lost or jobs is self._jobs  # it may still seem alive
        for job in lost:
            job.note("error", CoveyError("stopped" if job.was_stopped else _ENDED))


def _post(connection: "Connection[Any, Any]", waiting: "SimpleQueue[bytes]") -> None:
    """Send jobs to the process, in a thread: while it works, it may not take in another one."""
    with contextlib.suppress(OSError):
        while True:
            connection.send_bytes(waiting.get())


_TOO_LITTLE = (
    "not enough memory: close other programs, use a larger machine, or release a smaller table"
)
_ENDED = f"the process that does the work has ended. Perhaps there was {_TOO_LITTLE}"


# ── in the process ──────────────────────────────────────────────────────────────────────────────


class Reporter:
    """How the jobs of a process report, and notice that they should stop: here, to nobody."""

    def send(self, kind: str, content: Any) -> None:
        """Report a stage, a piece, the result or an error."""

    def is_stopped(self) -> bool:
        """Whether the job is to stop for good."""
        return False

    def is_enough(self) -> bool:
        """Whether the job is to end with what it has."""
        return False

    def progress(self, stage: str, share: float) -> None:
        """Report progress as covey's functions do.

        An interruption raised here ends the refinement of groups with the best ones so far; a
        stage with a loss is one of those.
        """
        if self.is_stopped():
            raise Stopped
        self.send("stage", (stage, share))
        if loss_in(stage) is not None and self.is_enough():
            raise KeyboardInterrupt

    def piece(self, piece: Any) -> None:
        """Report a piece of the result."""
        if self.is_stopped():
            raise Stopped
        self.send("piece", piece)


class _PipeReporter(Reporter):
    """Reports to the server about one job after another."""

    def __init__(self, connection: "Connection[Any, Any]", enough: Any, stop: Any) -> None:
        self._connection, self._enough, self._stop = connection, enough, stop
        self._number = self._interrupted = -1

    def begin(self, number: int) -> None:
        """Report about another job from now on."""
        self._number = number

    def send(self, kind: str, content: Any) -> None:
        try:
            self._connection.send((self._number, kind, content))
        except OSError:
            raise ServerGone from None

    def is_stopped(self) -> bool:
        return bool(self._stop.value >= self._number)

    def is_enough(self) -> bool:
        """Only the first time, or what follows would be interrupted too."""
        if self._number in (self._interrupted, -1) or self._enough.value != self._number:
            return False
        self._interrupted = self._number
        return True


def serve(
    connection: "Connection[Any, Any]", enough: Any, stop: Any, folder: Path,
    desk_at: Callable[[Path, Reporter], Any],
) -> None:  # fmt: skip
    """Do jobs until the server is gone; then remove its folder, if it could not do so itself."""
    # Ctrl-C and a closed terminal are for the server; this process outlives it to tidy up.
    for name in ("SIGINT", "SIGHUP"):
        if number := getattr(signal, name, None):
            signal.signal(number, signal.SIG_IGN)
    # Nothing that a library prints reaches the terminal: it may quote a cell.
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
    tempfile.tempdir = str(folder)
    os.umask(0o077)  # what it writes is for nobody else
    reporter = _PipeReporter(connection, enough, stop)
    desk = desk_at(folder, reporter)
    with contextlib.suppress(ServerGone, EOFError, OSError):
        while True:
            number, name, arguments = connection.recv()
            reporter.begin(number)
            _do(desk, name, arguments, reporter)
    shutil.rmtree(folder, ignore_errors=True)


def _do(desk: Any, name: str, arguments: tuple[Any, ...], reporter: Reporter) -> None:
    try:
        reporter.send("result", getattr(desk, name)(*arguments))
    except ServerGone:
        raise
    except (Stopped, KeyboardInterrupt):
        reporter.send("error", CoveyError("stopped"))
    except CoveyError as error:  # its message holds no cell; which rows are wrong stays here
        vars(error).pop("wrong", None)
        reporter.send("error", error)
    except BaseException as error:
        kind = type(error).__name__
        text = _TOO_LITTLE if is_out_of_memory(error) else f"internal error ({kind})"
        reporter.send("error", CoveyError(text))
