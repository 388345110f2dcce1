"""The register of releases: who is in which class of each release, as keyed hashes.

One SQLite file, readable only by its owner. covey enters a release before it publishes anything,
marked as possibly published. If covey is killed in between, the register contains too much rather
than too little. All it stores about people is the hashes of a footprint, in sealed blocks. What
happened stands in a chain, which shows whether anything is missing or was changed: then nothing
is compared or entered until the custodian accepts the loss.
"""

import contextlib
import json
import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from covey.custody import chain, stored
from covey.custody.aead import ForgedError
from covey.custody.chain import ACCEPTED, ENTERED, FORGOTTEN, PUBLISHED, Head, Sealer, State
from covey.custody.composition import SEPARATE, Composition, compose
from covey.custody.footprints import ELSEWHERE, TOO_LARGE, Footprint
from covey.custody.keys import Key, folder
from covey.custody.keys import own as own_key
from covey.custody.stored import Stored
from covey.errors import GuaranteeError, UsageError, count

VARIABLE = "COVEY_REGISTER"
VERSION = 2
_SALT = 16  # bytes
_APPLICATION = 0x636F7679  # "covy": distinguishes a register from other SQLite files
_PATIENCE = 60.0  # seconds to wait for another process
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_TABLES = ("CREATE TABLE register (salt BLOB NOT NULL) STRICT", chain.TABLE, stored.TABLE)


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
class Loss:
    """A loss of entries that the custodian accepted."""

    date: str
    reason: str
    problems: tuple[str, ...]

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

    def __init__(self, register: "Register", id_: str, trace: Footprint, *, replaces: bool) -> None:
        self._register, self._id, self._replaces = register, id_, replaces
        self.composition = register.lay_over(id_, trace, replaces=replaces)
        self.warnings = (*self.composition.warnings(), *register.notes(id_, replaces=replaces))
        if trace.incomparable in (TOO_LARGE, ELSEWHERE):
            self.warnings += (
                f"this release was not compared with earlier ones: {trace.incomparable}. Find out "
                "whether anyone released other data about these people",
            )
        self.stays = False

    @contextlib.contextmanager
    def publishing(self) -> Iterator[None]:
        """Keep the entry from here on, because someone may have seen the release."""
        self.stays = True
        yield
        self._register.settle(self._id, replaces=self._replaces)


class Register:
    """A file of releases. Every call opens it again, so that several processes can use it."""

    def __init__(self, path: str | Path, key: Key | bytes | str | Path | None = None) -> None:
        self.path = Path(path).absolute()
        self._given = key

    @classmethod
    def of(
        cls,
        source: "str | Path | Literal[False] | None" = None,
        key: Key | bytes | str | Path | None = None,
    ) -> "Register | None":
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
        return cls(source, key)

    @cached_property
    def key(self) -> Key:
        """The key by which its entries are judged."""
        return Key.of(self._given)

    @property
    def _has_key(self) -> bool:
        """Whether there is a key: without one, there is nothing that it could know."""
        return self._given is not None or own_key().exists()

    # ── reading ─────────────────────────────────────────────────────────────────────────────────

    def releases(self) -> list[Entry]:
        """All entries, oldest first."""
        with self._open() as database:
            return [] if database is None else _listed(_state(database, self.key))

    def losses(self) -> list[Loss]:
        """The losses that the custodian has accepted, oldest first."""
        with self._open() as database:
            return [] if database is None else _losses(_state(database, self.key))

    def problems(self, *, thorough: bool = False) -> list[str]:
        """What is missing or was changed; `thorough` reads every byte of it."""
        with self._open() as database:
            if database is None:
                return self._gone(None)
            state = _state(database, self.key)
            found = self._wrong(database, state)
            if thorough and (forged := self._broken(database, state)):
                found.append(f"data of {count(len(forged), 'release')} are missing or changed")
            return found

    def refuse_losses(self) -> None:
        """Refuse to go on if anything is missing or was changed."""
        if found := self.problems():
            raise _damaged(found)

    def lay_over(self, id_: str, trace: Footprint, *, replaces: bool = False) -> Composition:
        """Combine an entered release with all others that share people with it.

        The same bytes of the same people are the same release. With `replaces`, releases to the
        same file are ignored: they never left this machine.
        """
        with self._whole() as (database, state):
            own_one = self._found(state, id_)
            groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
            for body in _entries(state).values():
                if not _is_same(body, own_one) and not (replaces and _is_at(body, own_one)):
                    name = (body["sha256"], body["people"], body["key"])
                    groups.setdefault(name, []).append(body)
            alike = [
                some
                for some in groups.values()
                if some[0]["key"] == own_one["key"] and some[0]["classes"] and trace.rows
            ]
            others = [body["id"] for some in groups.values() if some not in alike for body in some]
            earlier = (
                ([body["id"] for body in some], self._stored(database, some[0])) for some in alike
            )
            try:
                return compose(trace, earlier, incomparable=others)
            except (ForgedError, ValueError, IndexError):
                raise _damaged(["the data of an earlier release were changed"]) from None

    def notes(self, id_: str, *, replaces: bool) -> Iterator[str]:
        """What the custodian should know about the register and this release."""
        with self._whole() as (_, state):
            own_one = self._found(state, id_)
            same = [body for body in _entries(state).values() if _is_at(body, own_one)]
            same = [body for body in same if not _is_same(body, own_one)]
        if same and not replaces:
            yield (
                f"this file was released before, {count(len(same), 'time')}, which counts as "
                "published. If no one else has it, release it again with --replace (replace=True)"
            )
        for loss in _losses(state):
            yield (
                f"the register lost entries, which was accepted on {loss.date[:10]} "
                f"({loss.reason}): releases that are missing were not compared"
            )

    # ── changing ────────────────────────────────────────────────────────────────────────────────

    def enter(
        self, trace: Footprint, place: str | None, name: str, sha256: str, request: dict[str, Any]
    ) -> str:
        """Enter a release before it is published; return its id."""
        id_ = secrets.token_hex(4)
        body = {
            "id": id_, "name": _printable(name), "sha256": sha256, "request": request,
            "place": None if place is None else self.key.digest("place", place.encode()).hex(),
            "people": trace.people.hex(), "k": trace.k, "person": trace.person,
            "rows": trace.rows, "classes": len(trace.sizes), "who": [*trace.who],
            "codes": trace.codes, "content": [*trace.content], "values": [*trace.values],
        }  # fmt: skip
        with self._changing(make=True) as (database, state):
            cipher = stored.cipher_of(self.key, _salt(database), id_)
            body["blocks"] = stored.write(database, id_, trace, cipher)
            self._add(database, state, ENTERED, **body)
        return id_

    def settle(self, id_: str, *, replaces: bool = False) -> None:
        """Mark a release as published; forget those that it repeats, or replaces."""
        with self._changing() as (database, state):
            entries = _entries(state)
            own_one = self._found(state, id_)
            own_place = next(place for place, body in entries.items() if body == own_one)
            del entries[own_place]
            gone = {
                place: body["id"]
                for place, body in entries.items()
                if body["key"] == own_one["key"]
                and body["place"] == own_one["place"]
                and (_is_same(body, own_one) or (replaces and _is_at(body, own_one)))
            }
            self._add(database, state, PUBLISHED, place=own_place)
            if gone:
                self._forget(database, gone)

    def forget(self, *ids: str) -> None:
        """Remove releases that were never published; if one is unknown, remove none."""
        if not self.path.exists():
            raise UsageError("there is no register yet, so there is nothing to forget")
        with self._changing() as (database, state):
            found = {place: b["id"] for place, b in _entries(state).items() if b["id"] in ids}
            if missing := len({*ids}) - len(found):
                raise UsageError(
                    f"{count(missing, 'release')} not in the register; `covey releases` lists all"
                )
            self._forget(database, found)

    def accept_loss(self, reason: str) -> tuple[str, ...]:
        """Go on with a register that lacks entries, and record why; return what was wrong.

        What is left counts as it is. Entries whose data are not whole are no longer compared.
        """
        if not reason.strip():
            raise UsageError("say why entries of the register are missing, in a few words")
        problems = self.problems(thorough=True)
        if not problems:
            raise UsageError("nothing of the register is missing: there is no loss to accept")
        with self._opened(make=True) as database, _transaction(database):
            state = _state(database, self.key)
            lost = self._broken(database, state)
            for id_ in lost:
                database.execute("DELETE FROM blocks WHERE release = ?", (id_,))
            salt, text = _salt(database), " ".join(_printable(reason).split())
            over = Sealer(self.key, salt).cover(state.events)
            self._add(
                *(database, state, ACCEPTED),
                reason=text, problems=problems, over=over, lost=lost,
            )  # fmt: skip
        for other, head in chain.heads(self.key).items():
            if other == salt or head.register == self._real:
                head.remove(self.key)
        self._advance()
        return tuple(problems)

    def _add(self, database: sqlite3.Connection, state: State, what: str, **body: Any) -> None:
        sealer = Sealer(self.key, _salt(database))
        chain.add(database, sealer.sealed(state, {"what": what, "date": _now(), **body}))

    def _forget(self, database: sqlite3.Connection, places: Mapping[int, str]) -> None:
        self._add(database, _state(database, self.key), FORGOTTEN, places=[*places])
        for place, id_ in places.items():
            database.execute("DELETE FROM blocks WHERE release = ?", (id_,))
            database.execute("UPDATE events SET body = NULL WHERE place = ?", (place,))

    # ── what is wrong ───────────────────────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def _whole(self) -> Iterator[tuple[sqlite3.Connection, State]]:
        """The register to read, if nothing of it is missing."""
        with self._opened() as database:
            state = _state(database, self.key)
            if found := self._wrong(database, state):
                raise _damaged(found)
            yield database, state

    @contextlib.contextmanager
    def _changing(self, *, make: bool = False) -> Iterator[tuple[sqlite3.Connection, State]]:
        """The register to add events to, if nothing of it is missing; then its head follows."""
        if make and not self.path.exists() and (found := self._gone(None)):
            raise _damaged(found)
        with self._opened(make=make) as database:
            salt = _salt(database)
            with _transaction(database):
                state = _state(database, self.key)
                if found := self._wrong(database, state):
                    raise _damaged(found)
                if salt not in chain.heads(self.key):  # the first event of this key
                    Head(salt, state.count, state.link, self._real).write(self.key)
                yield database, state
        self._advance()

    def _advance(self) -> None:
        """Let the head describe the register as it is now, also if other processes wrote to it."""
        with self._opened() as database, _transaction(database):
            state = _state(database, self.key)
            if not self._wrong(database, state, headless=True):
                Head(_salt(database), state.count, state.link, self._real).write(self.key)

    def _wrong(
        self, database: sqlite3.Connection, state: State, *, headless: bool = False
    ) -> list[str]:
        """What the chain, its head and the number of blocks show."""
        found, salt, heads = [*state.problems], _salt(database), chain.heads(self.key)
        if salt in heads:
            found += heads[salt].problems(state)
        elif not headless and any(event.key == self.key.fingerprint for event in state.events):
            found.append("its head beside the key is missing")
        if not headless:
            found += self._gone(salt)
        numbers = dict(database.execute("SELECT release, count(*) FROM blocks GROUP BY release"))
        lacking = [b for b in self._own(state) if numbers.get(b["id"], 0) != b["blocks"]]
        if lacking:
            found.append(f"data of {count(len(lacking), 'release')} are missing")
        return found

    def _gone(self, salt: bytes | None) -> list[str]:
        """Whether another register was at this path."""
        heads = chain.heads(self.key) if self._has_key else {}
        return [
            f"it was removed or replaced: its head beside the key counts {head.count:,} entries"
            for other, head in heads.items()
            if other != salt and head.register == self._real and head.count
        ]

    def _own(self, state: State) -> list[dict[str, Any]]:
        """The entries of this key whose data must be here."""
        known = self.key.fingerprint
        return [body for body in _entries(state).values() if body["key"] == known]

    def _found(self, state: State, id_: str) -> dict[str, Any]:
        return next(body for body in self._own(state) if body["id"] == id_)

    def _broken(self, database: sqlite3.Connection, state: State) -> list[str]:
        """The entries of this key whose data are missing or were changed."""
        found = []
        for body in self._own(state):
            try:
                self._stored(database, body).authenticate()
            except ForgedError:
                found.append(body["id"])
        return found

    def _stored(self, database: sqlite3.Connection, body: Mapping[str, Any]) -> Stored:
        cipher = stored.cipher_of(self.key, _salt(database), body["id"])
        return Stored(database, cipher, self.key, body["id"], body)

    # ── the file ────────────────────────────────────────────────────────────────────────────────

    @property
    def _real(self) -> str:
        return os.path.realpath(self.path)

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection | None]:
        """The register to read; None if there is no file."""
        with _errors():
            is_there = self.path.exists()
        if not is_there:
            yield None
            return
        with self._opened() as database:
            yield database

    @contextlib.contextmanager
    def _opened(self, *, make: bool = False) -> Iterator[sqlite3.Connection]:
        with _errors():
            if make:
                _make(self.path)
            elif not self.path.exists():
                raise _damaged(["it was removed"])
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
    replaces: bool = False,
) -> Iterator[Pending | NotRemembered]:
    """Enter a release and combine it with earlier ones; remove it again unless it is published.

    It is entered first and compared second, so that of two simultaneous releases at least one sees
    the other. A release without a footprint is neither entered nor compared.
    """
    if replaces and path is None:
        raise UsageError("--replace needs a file or a folder: nothing on standard output is gone")
    register = None if trace is None else Register.of(source, trace.owner)
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
    place = None if path is None else os.path.realpath(path)
    name = "standard output" if path is None else Path(path).name
    id_ = register.enter(trace, place, name, sha256, _plain(request))
    entry = None
    try:
        entry = Pending(register, id_, trace, replaces=replaces)
        if refuse:
            _refuse(entry.composition, trace.incomparable)
        yield entry
    finally:
        if entry is None or not entry.stays:
            with contextlib.suppress(UsageError):  # the first error matters more
                register.forget(id_)


def _obstacle(register: Register, trace: Footprint, *, chosen: bool) -> str | None:
    """Why the register cannot be used, if that is not a user's mistake."""
    if not trace.owner.stored:
        return "the key is not stored, so people cannot be recognised next time"
    if chosen or os.environ.get(VARIABLE):
        return None
    try:
        register.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return "the register cannot be stored"
    return None


def _refuse(composition: Composition, incomparable: str | None) -> None:
    if incomparable is not None:
        raise UsageError(f"the release cannot be compared with earlier ones: {incomparable}")
    if not composition.holds:
        raise GuaranteeError(
            f"{composition.figures()}. Nothing was written. Repeat an earlier request exactly "
            f"(it gives the same bytes) or release only new people. {composition.forgotten()}"
        )
    if composition.incomparable:
        raise GuaranteeError(f"{composition.unknown()}. Nothing was written. {SEPARATE}")


def _damaged(problems: list[str]) -> UsageError:
    return UsageError(
        f"the register is not whole: {'; '.join(problems)}. Nothing was compared and nothing was "
        "entered. Restore the latest copy of the register. If there is none, go on with: covey "
        'releases --accept-loss "reason"'
    )


# ── records ─────────────────────────────────────────────────────────────────────────────────────


def _state(database: sqlite3.Connection, key: Key) -> State:
    return Sealer(key, _salt(database)).judged(chain.read(database))


def _salt(database: sqlite3.Connection) -> bytes:
    with _damage():
        (salt,) = database.execute("SELECT salt FROM register").fetchone()
        return bytes(salt)


def _entries(state: State) -> dict[int, dict[str, Any]]:
    """The releases that count, by their place in the chain, with the keys they are under."""
    keys = {event.place: event.key for event in state.events}
    lost = {id_ for body in state.of(ACCEPTED).values() for id_ in body["lost"]}
    with _damage():
        return {
            place: {**body, "key": keys[place]}
            for place, body in state.of(ENTERED).items()
            if body["id"] not in lost
        }


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two entries have the same bytes of the same people."""
    return bool((one["sha256"], one["people"]) == (other["sha256"], other["people"]))


def _is_at(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether both were written to the same file; standard output is none."""
    return one["place"] is not None and bool(one["place"] == other["place"])


def _listed(state: State) -> list[Entry]:
    published = {body["place"] for body in state.of(PUBLISHED).values()}
    names = [one.name for one in fields(Entry) if one.name != "published"]
    with _damage():
        return [
            Entry(**{name: body[name] for name in names}, published=place in published)
            for place, body in _entries(state).items()
        ]


def _losses(state: State) -> list[Loss]:
    return [
        Loss(body["date"], body["reason"], tuple(body["problems"]))
        for body in state.of(ACCEPTED).values()
    ]


@contextlib.contextmanager
def _damage() -> Iterator[None]:
    """Treat unreadable data as damage."""
    try:
        yield
    except (KeyError, ValueError, TypeError):
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
    database.execute("PRAGMA secure_delete = ON")  # deleted entries are overwritten
    if _version(database) == (0, 0) and not database.execute("PRAGMA schema_version").fetchone()[0]:
        database.execute("PRAGMA auto_vacuum = FULL")
        with _transaction(database):
            if _version(database) == (0, 0):  # no other process was first
                for statement in _TABLES:
                    database.execute(statement)
                salt = secrets.token_bytes(_SALT)
                database.execute("INSERT INTO register VALUES (?)", (salt,))
                database.execute(f"PRAGMA application_id = {_APPLICATION}")
                database.execute(f"PRAGMA user_version = {VERSION}")
    application, version = _version(database)
    if application != _APPLICATION:
        raise UsageError("the file is not a covey register; choose another with --register")
    if version != VERSION:
        raise UsageError(
            f"the register has the format {version}, and this version of covey reads only "
            f"{VERSION}: use the version that made it, or move it away to begin a new one"
        )


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
