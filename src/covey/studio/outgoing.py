"""The release on its way out: written once, then handed over."""

import asyncio
import contextlib
import hashlib
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from covey.custody.register import VARIABLE
from covey.errors import CoveyError, OutputError, UsageError
from covey.report import About
from covey.studio.handing import FOR_OTHERS, FOR_YOU, Package, PackedRelease
from covey.studio.scripts import notebook, script
from covey.studio.session import Studio
from covey.studio.work import SCHEMA_FILE
from covey.tables import files, sources

SCRIPT, NOTEBOOK = "release.py", "release.ipynb"


def _state(studio: Studio) -> Any:
    """All that the written files depend on.

    The release itself counts, not what it was made of: one that ended early has other bytes.
    """
    release = None if studio.release is None else studio.release.number
    return release, studio.work.about, studio.work.certificate


def written(studio: Studio) -> PackedRelease | None:
    """The written release, if it says what the work says now."""
    return studio.result("written", _state(studio), PackedRelease)


def written_now(studio: Studio) -> PackedRelease:
    """The same; an error if there is none."""
    release = written(studio)
    if release is None:
        raise UsageError("write the release first")
    return release


def written_before(studio: Studio) -> PackedRelease | None:
    """The same release, perhaps with another title or without a certificate."""
    before = studio.results.get("written")
    if before is None or studio.release is None or before.made_of[0] != studio.release.number:
        return None
    release: PackedRelease = before.found
    return release


def writing(studio: Studio) -> "asyncio.Task[None] | None":
    """The writing of the work as it is now, if it is under way."""
    task = studio.result("writing", _state(studio), asyncio.Task)
    return None if task is None or task.done() else task


def begin_writing(studio: Studio) -> None:
    """Write the release in the background, and pack what goes with it."""
    _ = studio.made  # there must be one
    if writing(studio) is None:
        studio.keep("writing", _state(studio), asyncio.create_task(_write_and_pack(studio)))


async def _write_and_pack(studio: Studio) -> None:
    try:
        await _write(studio)
        if written(studio) is not None:  # no decision has changed meanwhile
            await packed(studio)
    except CoveyError as error:
        studio.tell(str(error))
    else:
        studio.tell("The release and its report are written.", "good")


async def _write(studio: Studio) -> None:
    """Write the release into the studio's own folder, and enter it in the register."""
    state, work = _state(studio), studio.work
    # A folder for each release, or it would take the place of another one in the register.
    folder, about = str(state[0]), None if work.about == About() else work.about
    found: PackedRelease = await studio.maker.ask(
        "write_release", folder, studio.output, about, work.certificate
    )
    studio.keep("written", state, found)
    _offer(studio, found.folder, found.names)


async def packed(studio: Studio) -> Package:
    """All files, packed; the work must have been written."""
    release, work = written_now(studio), studio.work
    state = _state(studio)  # as it is before packing: meanwhile, decisions may change
    if (known := studio.result("packed", state, Package)) is not None:
        return known
    texts = {
        SCHEMA_FILE: work.described.to_toml(),
        SCRIPT: script(work, release.output),
        NOTEBOOK: notebook(work, release.output),
    }
    package: Package = await studio.maker.ask("hand_over", release, texts)
    studio.keep("packed", state, package)
    _offer(studio, release.folder, (*package.for_you, FOR_OTHERS, FOR_YOU))
    return package


def _offer(studio: Studio, folder: Path, names: tuple[str, ...]) -> None:
    """Let files be downloaded. An address has only the number of a file: names are the user's."""
    for name in names:
        studio.files[address(folder, name)] = folder / name


def address(folder: Path, name: str) -> str:
    """The last part of the address of a file."""
    return hashlib.sha256(f"{folder.name}/{name}".encode()).hexdigest()[:16]


# ── proof ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Proof:
    """What running the script has shown."""

    outcome: Literal["same", "different", "failed"]
    sha256: str | None


# The place of the table comes on standard input: a list of processes shows arguments to others.
_RUN = (
    "import runpy, sys; place = sys.stdin.read(); sys.argv = ['release.py', place]; "
    "runpy.run_path('release.py', run_name='__main__')"
)


def proof(studio: Studio) -> "asyncio.Task[Proof] | None":
    """The proof of the release as it is written now, under way or done."""
    return studio.result("proof", _state(studio), asyncio.Task)


async def prove(studio: Studio) -> None:
    """Begin to run the script, as the custodian would, in a folder of its own."""
    await packed(studio)
    if proof(studio) is None:
        task = asyncio.create_task(_run(studio.work.opened.place, written_now(studio)))
        studio.keep("proof", _state(studio), task)


async def _run(place: str, release: PackedRelease) -> Proof:
    found = None
    with contextlib.suppress(OSError):
        found = await _bytes_again(place, release)
    if found is None:
        return Proof("failed", None)
    return Proof("same" if found == release.sha256 else "different", found)


async def _bytes_again(place: str, release: PackedRelease) -> str | None:
    """The SHA-256 of what the script writes; None if it does not."""
    folder = release.folder / "again"
    folder.mkdir(mode=0o700, exist_ok=True)
    output = folder / release.output
    output.unlink(missing_ok=True)
    for name in (SCHEMA_FILE, SCRIPT):
        (folder / name).write_bytes((release.folder / name).read_bytes())
    # With a register of its own, so that the custodian's gets no second entry.
    environment = {**os.environ, VARIABLE: str(folder / "register.sqlite")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _RUN, cwd=folder, env=environment, stdin=PIPE, stdout=DEVNULL,
        stderr=DEVNULL,
    )  # fmt: skip
    try:
        await process.communicate(_absolute(place).encode())
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    if process.returncode or not output.is_file():
        return None
    data = await asyncio.to_thread(output.read_bytes)
    return hashlib.sha256(data).hexdigest()


def _absolute(place: str) -> str:
    """The place of the table as seen from any folder."""
    found = sources.of(place)
    if found.is_address:
        return place
    path = str(Path(found.place).absolute())
    return path if found.part is None else f"{path}::{found.part}"


def save(studio: Studio, folder: Path, names: tuple[str, ...], *, replace: bool) -> None:
    """Copy files into a folder of the custodian's, all or none."""
    release, is_there = written_now(studio), False
    targets = [folder / name for name in names]
    with contextlib.suppress(OSError, ValueError):  # no permission, or no path at all
        existing = [path.name for path in targets if os.path.lexists(path)]
        is_there = folder.is_dir()
    if not is_there:
        raise OutputError("there is no such folder on this machine")
    if existing and not replace:
        raise OutputError(
            f"already in that folder: {', '.join(existing)}; tick “replace” to replace them"
        )
    files.refuse_overwriting(targets, [studio.work.opened.place])
    with files.Drafts(*targets) as drafts:
        for name, path in zip(names, targets, strict=True):
            drafts[path].write((release.folder / name).read_bytes())
        drafts.publish()
