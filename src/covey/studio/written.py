"""The release on its way out: written once, then handed over."""

import asyncio
import contextlib
import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from covey.custody.register import VARIABLE
from covey.errors import OutputError, UsageError
from covey.report import About
from covey.studio.handing import FOR_OTHERS, FOR_YOU, Handed, Written
from covey.studio.scripts import notebook, script
from covey.studio.session import Result, Studio
from covey.studio.work import SCHEMA_FILE, Work
from covey.tables import files

SCRIPT, NOTEBOOK = "release.py", "release.ipynb"


def said(work: Work) -> About | None:
    """What the custodian says about the release, if anything."""
    return None if work.about == About() else work.about


def _key(studio: Studio) -> Any:
    """All that the written files depend on."""
    return studio.work.made_of, studio.work.about, studio.work.certificate


def written(studio: Studio) -> Written | None:
    """The written release, if it says what the work says now."""
    found: Written | None = studio.result("written", _key(studio))
    return found


def written_before(studio: Studio) -> Written | None:
    """The same release, perhaps with another title or without a certificate."""
    found = studio.results.get("written")
    if found is None or found.made_of[0] != studio.work.made_of:
        return None
    before: Written = found.found
    return before


async def write(studio: Studio) -> Written:
    """Write the release into the studio's own folder, and enter it in the register."""
    if studio.release is None:
        raise UsageError("there is no release of the work as it is now: make it first")
    key, work = _key(studio), studio.work
    where = hashlib.sha256(repr(work.made_of).encode()).hexdigest()[:16]
    about = said(work)
    found: Written = await studio.maker.ask(
        "write_release", where, studio.output, about, work.certificate
    )
    studio.results["written"] = Result(key, found)
    _offer(studio, found.folder, found.names)
    return found


async def handed(studio: Studio) -> Handed:
    """All files, packed; the work must have been written."""
    release = written(studio)
    if release is None:
        raise UsageError("write the release first")
    known: Handed | None = studio.result("handed", _key(studio))
    if known is not None:
        return known
    work = studio.work
    texts = {
        SCHEMA_FILE: work.described.to_toml(),
        SCRIPT: script(work, release.output),
        NOTEBOOK: notebook(work, release.output),
    }
    found: Handed = await studio.maker.ask("hand_over", release, texts)
    studio.results["handed"] = Result(_key(studio), found)
    _offer(studio, release.folder, (*found.for_you, FOR_OTHERS, FOR_YOU))
    return found


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
    found: asyncio.Task[Proof] | None = studio.result("proof", _key(studio))
    return found


async def prove(studio: Studio) -> None:
    """Begin to run the script, as the custodian would, in a folder of its own."""
    await handed(studio)
    release = written(studio)
    assert release is not None
    if proof(studio) is None:
        task = asyncio.create_task(_run(studio.work.opened.place, release))
        studio.results["proof"] = Result(_key(studio), task)


async def _run(place: str, release: Written) -> Proof:
    folder = release.folder / "again"
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in (SCHEMA_FILE, SCRIPT):
        (folder / name).write_bytes((release.folder / name).read_bytes())
    # With a register of its own, so that the custodian's gets no second entry.
    own = {VARIABLE: str(folder / "register.sqlite")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _RUN, cwd=folder, env={**os.environ, **own},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        await process.communicate(
            str(Path(place).absolute() if _is_path(place) else place).encode()
        )
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    output = folder / release.output
    if process.returncode or not output.is_file():
        return Proof("failed", None)
    found = await asyncio.to_thread(lambda: hashlib.sha256(output.read_bytes()).hexdigest())
    assert release.report.output is not None
    return Proof("same" if found == release.report.output.sha256 else "different", found)


def _is_path(place: str) -> bool:
    return Path(place).exists()


# ── saved where the custodian says ──────────────────────────────────────────────────────────────


def save(studio: Studio, folder: Path, names: tuple[str, ...], *, replace: bool) -> int:
    """Copy files into a folder of the custodian's, all or none; return how many there are."""
    release = written(studio)
    if release is None:
        raise UsageError("write the release first")
    if not folder.is_dir():
        raise OutputError("there is no such folder on this machine")
    targets = [folder / name for name in names]
    there = [path for path in targets if path.exists()]
    if there and not replace:
        listed = ", ".join(path.name for path in there)
        raise OutputError(f"already in that folder: {listed}; tick “replace” to replace them")
    files.refuse_overwriting(targets, [studio.work.opened.place])
    with files.outputs(*targets) as drafts:
        for name, path in zip(names, targets, strict=True):
            drafts[path].write((release.folder / name).read_bytes())
        drafts.publish()
    return len(targets)
