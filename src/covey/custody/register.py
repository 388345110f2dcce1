"""The register of releases: who is in which class of each release, as keyed hashes.

One SQLite file next to the key, readable only by its owner. covey enters a release before it
publishes anything, marked as possibly published. If covey is killed in between, the register
contains too much rather than too little. All it stores about people is the hashes of a footprint,
in blocks.
"""

import contextlib
import json
import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from covey.custody.composition import Composition, compose
from covey.custody.footprints import ELSEWHERE, TOO_LARGE, Footprint, Values
from covey.custody.keys import folder
from covey.errors import GuaranteeError, UsageError, count

VARIABLE = "COVEY_REGISTER"
VERSION = 1
_APPLICATION = 0x636F7679  # "covy": distinguishes a register from other SQLite files
_PATIENCE = 60.0  # seconds to wait for another process
_OTHERS = stat.S_IRWXG | stat.S_IRWXO

_TABLES = """
CREATE TABLE releases (
    id TEXT PRIMARY KEY,
    date TEXT NOT NULL,
    published INTEGER NOT NULL,
    place BLOB,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    people BLOB NOT NULL,
    key TEXT NOT NULL,
    k INTEGER NOT NULL,
    person TEXT,
    rows INTEGER NOT NULL,
    classes INTEGER NOT NULL,
    request TEXT NOT NULL
) STRICT;
CREATE TABLE blocks (
    release TEXT NOT NULL REFERENCES releases ON DELETE CASCADE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (release, kind, name)
) STRICT;
"""


@dataclass(frozen=True)
class Entry:
    """A release in the register."""

    id: str
    date: str
    name: str  # of the file, without its folder
    published: bool  # False if covey ended before publishing was confirmed
    k: int
    rows: int
    classes: int
    request: dict[str, Any]
    sha256: str
    key: str  # the fingerprint

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return asdict(self)


@dataclass(frozen=True)
class NotRemembered:
    """The reason why a release is neither compared with earlier ones nor entered."""

    why: str | None  # None if the user switched the register off
    composition: None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the custodian should check before publishing this release."""
        return () if self.why is None else (f"earlier releases were not checked: {self.why}",)

    @contextlib.contextmanager
    def publishing(self) -> Iterator[None]:
        """Do nothing: there is no entry."""
        yield


class Pending:
    """A release that is being published and is already in the register."""

    def __init__(
        self, register: "Register", id_: str, composition: Composition, incomparable: str | None
    ) -> None:
        self.composition = composition
        self.warnings = composition.warnings()
        if incomparable in (TOO_LARGE, ELSEWHERE):
            self.warnings += (
                f"this release was not compared with earlier ones: {incomparable}. Find out "
                "whether anyone released other data about these people",
            )
        self._register, self._id = register, id_
        self.stays = False

    @contextlib.contextmanager
    def publishing(self) -> Iterator[None]:
        """Keep the entry from here on, because someone may have seen the release.

        After success, it replaces earlier entries for the same destination.
        """
        self.stays = True
        yield
        self._register.settle(self._id)


class Register:
    """A file of releases. Every call opens it again, so that several processes can use it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()

    @classmethod
    def of(cls, source: "str | Path | Literal[False] | None" = None) -> "Register | None":
        """The register at this path, or the custodian's own; None for False.

        The custodian's own register is the file that `COVEY_REGISTER` names, or else a file next
        to the key.
        """
        if source is False:
            return None
        if source is None:
            source = os.environ.get(VARIABLE) or own()
        if not isinstance(source, str | Path) or not str(source):
            raise UsageError("register must be the path of a file, or False for no register")
        return cls(source)

    def releases(self) -> list[Entry]:
        """All entries, oldest first."""
        if not self._exists():
            return []
        with self._open() as database:
            rows = database.execute(
                f"SELECT {', '.join(_SHOWN)} FROM releases ORDER BY date, rowid"  # noqa: S608
            )
            return [_entry(dict(zip(_SHOWN, row, strict=True))) for row in rows]

    def forget(self, *ids: str) -> None:
        """Remove releases that were never published; if one is unknown, remove none."""
        if not self._exists():
            raise UsageError("there is no register yet, so there is nothing to forget")
        with self._open() as database, _transaction(database):
            gone = [
                database.execute("DELETE FROM releases WHERE id = ?", (i,)).rowcount for i in ids
            ]
            if missing := gone.count(0):
                raise UsageError(
                    f"{count(missing, 'release')} not in the register; `covey releases` lists all"
                )

    def enter(
        self, trace: Footprint, place: bytes | None, name: str, sha256: str, request: dict[str, Any]
    ) -> str:
        """Enter a release before it is published; return its id."""
        id_ = secrets.token_hex(4)
        row = (id_, _now(), 0, place, _printable(name), sha256, trace.people, trace.key, trace.k,
               trace.person, trace.rows, len(trace.sizes), json.dumps(request))  # fmt: skip
        with self._open(make=True) as database, _transaction(database):
            signs = ", ".join("?" * len(row))
            database.execute(f"INSERT INTO releases VALUES ({signs})", row)  # noqa: S608
            database.executemany("INSERT INTO blocks VALUES (?, ?, ?, ?)", _blocks(id_, trace))
        return id_

    def settle(self, id_: str) -> None:
        """Mark a release as published and remove earlier entries for the same destination.

        On standard output, a repeated release replaces its first entry.
        """
        with self._open() as database, _transaction(database):
            database.execute(
                "DELETE FROM releases WHERE id IN (SELECT other.id FROM releases AS other, "
                "releases AS this WHERE this.id = ? AND other.id != this.id AND "
                "other.key = this.key AND other.place IS this.place AND "
                "(this.place IS NOT NULL OR "
                "(other.sha256, other.people) = (this.sha256, this.people)))",
                (id_,),
            )
            database.execute("UPDATE releases SET published = 1 WHERE id = ?", (id_,))

    def lay_over(self, id_: str, trace: Footprint) -> Composition:
        """Combine an entered release with all others that share people with it.

        The same bytes of the same people are the same release. Releases that this one will replace
        are ignored.
        """
        with self._open() as database:
            rows = database.execute(
                "SELECT other.key, other.person, other.classes, group_concat(other.id, ' ') "
                "FROM releases AS other, releases AS this "
                "WHERE this.id = ? "
                "AND (other.sha256, other.people) != (this.sha256, this.people) "
                "AND other.place IS NOT ifnull(this.place, x'00') "
                "GROUP BY other.sha256, other.people, other.key "
                "ORDER BY min(other.date), min(other.rowid)",
                (id_,),
            ).fetchall()
            alike = [row for row in rows if row[0] == trace.key and row[2] and trace.rows]
            earlier = (
                (ids.split(), _footprint(database, ids.split()[0], person, trace))
                for _, person, _, ids in alike
            )
            others = [id_ for row in rows if row not in alike for id_ in row[-1].split()]
            return compose(trace, earlier, incomparable=others)

    def _exists(self) -> bool:
        with _errors():
            return self.path.exists()

    @contextlib.contextmanager
    def _open(self, *, make: bool = False) -> Iterator[sqlite3.Connection]:
        with _errors():
            if make:
                _make(self.path)
            _refuse_readers(self.path)
            database = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            with contextlib.closing(database):
                _check(database)
                yield database


def own() -> Path:
    """The file of the custodian's own register."""
    return folder() / "register.sqlite"


@contextlib.contextmanager
def remember(
    source: "str | Path | Literal[False] | None",
    trace: Footprint | None,
    *,
    path: str | None,
    sha256: str,
    request: Mapping[str, Any],
    refuse: bool,
) -> Iterator[Pending | NotRemembered]:
    """Enter a release and combine it with earlier ones; remove it again unless it is published.

    It is entered first and compared second, so that of two simultaneous releases at least one sees
    the other. A release without a footprint is neither entered nor compared.
    """
    register = Register.of(source) if trace is not None else None
    why = None
    if register is not None and trace is not None:
        why = _obstacle(register, trace, chosen=source is not None)
    if register is None or trace is None or why is not None:
        if refuse:
            raise UsageError(
                f"--refuse-composition is not possible: {why or 'there is no register'}"
            )
        yield NotRemembered(why)
        return
    place = None if path is None else trace.place(os.path.realpath(path))
    name = "standard output" if path is None else Path(path).name
    id_ = register.enter(trace, place, name, sha256, _plain(request))
    entry = None
    try:
        entry = Pending(register, id_, register.lay_over(id_, trace), trace.incomparable)
        if refuse:
            _refuse(entry.composition, trace.incomparable)
        yield entry
    finally:
        if entry is None or not entry.stays:
            with contextlib.suppress(UsageError):  # the first error matters more
                register.forget(id_)


def _obstacle(register: Register, trace: Footprint, *, chosen: bool) -> str | None:
    """Why the register cannot be used, if that is not a user's mistake."""
    if not trace.lasting:
        return "the key is not stored, so people cannot be recognised next time"
    if chosen or os.environ.get(VARIABLE):
        return None
    try:
        _make(register.path)
    except OSError:
        return "the register cannot be stored"
    return None


def _refuse(composition: Composition, incomparable: str | None) -> None:
    if incomparable is not None:
        raise UsageError(f"the release cannot be compared with earlier ones: {incomparable}")
    if not composition.holds:
        raise GuaranteeError(
            f"{composition.figures()}. Nothing was written. Repeat an earlier request exactly "
            "(it gives the same bytes) or release only new people. If the earlier releases were "
            f"never published: covey forget {' '.join(composition.delete)}"
        )
    if composition.incomparable:
        raise GuaranteeError(
            f"{composition.unknown()}. Nothing was written. If they describe other people, keep "
            "them in a separate register (--register). If they were never published: "
            f"covey forget {' '.join(composition.incomparable)}"
        )


# ── records ─────────────────────────────────────────────────────────────────────────────────────

_STORED = {"sizes": "<u4", "content": "<u4", "who": "<u8", "value sizes": "<u4", "values": "<u8"}
_SHOWN = ("id", "date", "name", "published", "k", "rows", "classes", "request", "sha256", "key")


def _entry(row: dict[str, Any]) -> Entry:
    with _damage():
        request = json.loads(row["request"])
    return Entry(**{**row, "published": bool(row["published"]), "request": request})


def _blocks(id_: str, trace: Footprint) -> Iterator[tuple[str, str, str, bytes]]:
    for kind, name, block in _arrays(trace):
        data = block.astype(_STORED[kind], copy=False).tobytes()
        yield id_, kind, name, trace.sealed(_label(id_, kind, name), data)


def _arrays(trace: Footprint) -> Iterator[tuple[str, str, NDArray[Any]]]:
    yield "sizes", "", trace.sizes
    for name, parts in trace.content.items():
        yield "content", name, parts
    for name, hashes in trace.who.items():
        yield "who", name, hashes
    for name, values in trace.values.items():
        yield "value sizes", name, values.sizes
        yield "values", name, values.hashes


def _label(id_: str, kind: str, name: str) -> str:
    """A label unique to the block: no two blocks may be sealed with the same stream."""
    return json.dumps([id_, kind, name])


def _footprint(
    database: sqlite3.Connection, id_: str, person: str | None, new: Footprint
) -> Footprint:
    """Read a stored footprint with the key of the new one."""
    found: dict[str, dict[str, Any]] = {kind: {} for kind in _STORED}
    with _damage():
        for kind, name, data in database.execute(
            "SELECT kind, name, data FROM blocks WHERE release = ?", (id_,)
        ):
            block = np.frombuffer(new.sealed(_label(id_, kind, name), data), _STORED[kind])
            found[kind][name] = block.astype(np.int64) if kind.endswith("sizes") else block
        return Footprint(
            key=new.key,
            sizes=found["sizes"][""],
            content=found["content"],
            who=found["who"],
            values={
                name: Values(found["value sizes"][name], hashes)
                for name, hashes in found["values"].items()
            },
            person=person,
        )


@contextlib.contextmanager
def _damage() -> Iterator[None]:
    """Treat unreadable data as damage."""
    try:
        yield
    except (KeyError, ValueError):
        raise sqlite3.DatabaseError from None


def _plain(request: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as plain JSON, without objects passed to a user's own method."""
    return json.loads(json.dumps(request, default=lambda _: "…"))  # type: ignore[no-any-return]


def _printable(name: str) -> str:
    return "".join(sign if sign.isprintable() else "�" for sign in name)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# ── the file ────────────────────────────────────────────────────────────────────────────────────


def _make(path: Path) -> None:
    """Create an empty private file, which SQLite then fills."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _refuse_readers(path: Path) -> None:
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & _OTHERS:
        raise UsageError("other users can read the register: restrict it with chmod 600")


def _check(database: sqlite3.Connection) -> None:
    """Check that this is a register of a known version; turn an empty file into one."""
    database.execute("PRAGMA foreign_keys = ON")
    database.execute("PRAGMA secure_delete = ON")  # deleted entries are overwritten
    if _version(database) == (0, 0) and not database.execute("PRAGMA schema_version").fetchone()[0]:
        database.execute("PRAGMA auto_vacuum = FULL")
        with _transaction(database):
            if _version(database) == (0, 0):  # no other process was first
                for statement in _TABLES.split(";"):
                    database.execute(statement)
                database.execute(f"PRAGMA application_id = {_APPLICATION}")
                database.execute(f"PRAGMA user_version = {VERSION}")
    application, version = _version(database)
    if application != _APPLICATION:
        raise UsageError("the file is not a covey register; choose another with --register")
    if version > VERSION:
        raise UsageError("the register was made by a newer version of covey; use that version")


def _version(database: sqlite3.Connection) -> tuple[int, int]:
    told = (
        database.execute(f"PRAGMA {n}").fetchone()[0] for n in ("application_id", "user_version")
    )
    return next(told), next(told)


@contextlib.contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """Turn errors of SQLite and the system into covey's, with advice."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # SQLite quotes a damaged file in its message, which Python may not be able to read.
        raise UsageError(_complaint(error)) from None
    except OSError as error:
        raise UsageError(f"the register cannot be used: {error.strerror}; {_OTHERWISE}") from None


_OTHERWISE = "choose another with --register, or switch it off with --no-register"


def _complaint(error: Exception) -> str:
    match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return "another process is using the register; try again when it has ended"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return f"the register cannot be written; {_OTHERWISE}"
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return f"the register cannot be written: the disk is full or failing; {_OTHERWISE}"
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            return f"the register is damaged; restore it from a backup, or {_OTHERWISE}"
        case _:
            return f"the register cannot be used; {_OTHERWISE}"
