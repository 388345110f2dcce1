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
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from covey._core.arrays import Longs
from covey.custody import chain, stored
from covey.custody.aead import ForgedError
from covey.custody.chain import ACCEPTED, ENTERED, FORGOTTEN, PUBLISHED, Head, Sealer, State
from covey.custody.composition import SEPARATE, Composition, Demand, compose
from covey.custody.footprints import ELSEWHERE, TOO_LARGE, Footprint
from covey.custody.hashes import Hashes
from covey.custody.keys import Key, folder, is_shared
from covey.custody.keys import own as own_key
from covey.custody.overlaps import Overlaps
from covey.custody.stored import Stored
from covey.errors import GuaranteeError, UsageError, count

VARIABLE = "COVEY_REGISTER"
VERSION = 2
_SALT = 16  # bytes
_APPLICATION = 0x636F7679  # "covy": distinguishes a register from other SQLite files
_PATIENCE = 60.0  # seconds to wait for another process
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


@dataclass(frozen=True, eq=False)
class Earlier:
    """Where some people are in earlier releases."""

    classes: Longs  # a row for each person, a column for each release; -1 for no class
    sizes: tuple[int, ...]  # rows that each release wanted in a new group: its k and its reserve


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

    def __init__(
        self, register: "OpenRegister", id_: str, trace: Footprint, *, replaces: bool
    ) -> None:
        self._register, self._id, self._replaces = register, id_, replaces
        self.composition, notes = register.compared(id_, trace, replaces=replaces)
        self.warnings = (*self.composition.warnings(), *notes)
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
    """A file of releases. Several processes can use it at once."""

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

    def releases(self) -> list[Entry]:
        """All entries, oldest first."""
        with self._reading() as found:
            return [] if found is None else _listed(found.state)

    def overlaps(self) -> Overlaps:
        """How many people any two releases share; unknown where people cannot be recognised."""
        with self._reading() as found:
            return Overlaps({}, {}) if found is None else found.overlaps()

    def combined(self, release: Footprint | str) -> Composition | None:
        """A release that is not entered, or one known by its SHA-256, together with all others.

        None if the register does not know it, or if there is no register.
        """
        self.refuse_removed()
        with self._reading() as found:
            return None if found is None else found.combined(release)

    def losses(self) -> list[Loss]:
        """The losses that the custodian has accepted, oldest first."""
        with self._reading() as found:
            return [] if found is None else _losses(found.state)

    def problems(self, *, thorough: bool = False) -> list[str]:
        """What is missing or was changed; `thorough` reads every byte of it."""
        with self._reading() as found:
            if found is None:
                return self._removed()
            state = found.state
            forged = found.forged(state) if thorough else []
            more = f"data of {count(len(forged), 'release')} are missing or changed"
            return [*found.problems(state), *([more] if forged else [])]

    def refuse_lacking(self, forms: Collection[str]) -> None:
        """Refuse to go on without an earlier release, by the forms that its SHA-256 may have."""
        self.refuse_losses()
        found = [one for one in self.releases() if one.sha256 in forms]
        if not found:
            raise UsageError(
                "the release that this one comes after is not in the register: restore the latest "
                "copy of the register, or choose the one that has it with --register"
            )
        if all(one.key != self.key.fingerprint for one in found):
            raise UsageError(
                "the release that this one comes after was made with a different key, so its "
                "people cannot be recognised: choose that key with --key"
            )

    def refuse_losses(self) -> None:
        """Refuse to go on if anything is missing or was changed."""
        if found := self.problems():
            raise _damaged(found)

    def forget(self, *ids: str) -> None:
        """Remove releases that were never published; if one is unknown, remove none."""
        if not self.path.exists():
            raise UsageError("there is no register yet, so there is nothing to forget")
        with self.opened() as found:
            found.forget(*ids)

    def accept_loss(self, reason: str) -> tuple[str, ...]:
        """Go on with a register that lacks entries, and record why; return what was wrong.

        What is left counts as it is. Entries whose data are not whole are no longer compared.
        """
        if not reason.strip():
            raise UsageError("say why entries of the register are missing, in a few words")
        problems = self.problems(thorough=True)
        if not problems:
            raise UsageError("nothing of the register is missing: there is no loss to accept")
        with self.opened(make=True) as found:
            found.accept(" ".join(_printable(reason).split()), problems)
        return tuple(problems)

    # ── the file ────────────────────────────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def opened(self, *, make: bool = False) -> Iterator["OpenRegister"]:
        """The open file; with `make`, a new one if there is none."""
        with contextlib.ExitStack() as stack:
            with _errors():
                if make:
                    _make(self.path)
                elif not self.path.exists():
                    raise _damaged(["it was removed"])
                if is_shared(self.path.stat()):
                    raise UsageError(
                        "other users can read the register: restrict it with chmod 600"
                    )
                database = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
                stack.enter_context(contextlib.closing(database))
                _check(database)
            yield OpenRegister(database, self.key, os.path.realpath(self.path))

    def refuse_removed(self) -> None:
        """Refuse to begin a new register where another one was."""
        if not self.path.exists() and (found := self._removed()):
            raise _damaged(found)

    def _removed(self) -> list[str]:
        """Whether a register was here, although there is no file."""
        has_key = self._given is not None or own_key().exists()  # else it can know of nothing
        return _replaced(self.key, os.path.realpath(self.path), None) if has_key else []

    @contextlib.contextmanager
    def _reading(self) -> Iterator["OpenRegister | None"]:
        """The register to read; None if there is no file."""
        with _errors():
            is_there = self.path.exists()
        if not is_there:
            yield None
            return
        with self.opened() as found, _errors():
            yield found


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
    demand: Demand = "warn",
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
        if demand != "warn":
            option = "--refuse-composition" if demand == "refuse" else demand
            raise UsageError(f"{option} is not possible: {why or 'there is no register'}")
        yield NotRemembered(why)
        return
    register.refuse_removed()
    with register.opened(make=True) as found:
        id_ = found.enter(trace, path, sha256, _plain(request))
        entry = None
        try:
            entry = Pending(found, id_, trace, replaces=replaces)
            if demand != "warn":
                _refuse(entry.composition, trace.incomparable, demand)
            yield entry
        finally:
            if entry is None or not entry.stays:
                with contextlib.suppress(UsageError):  # the first error matters more
                    found.forget(id_)


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


_WAYS_OUT = (
    "Make it again if another release came meanwhile. If not, rows like these stand under other "
    "identifiers in earlier ones: check that everyone has the identifier of then, and had one row",
    "Repeat an earlier request exactly (it gives the same bytes) or release only new people",
)


def _refuse(composition: Composition, incomparable: str | None, demand: Demand) -> None:
    if incomparable is not None:
        raise UsageError(f"the release cannot be compared with earlier ones: {incomparable}")
    if not composition.meets(demand):
        raise GuaranteeError(
            f"{composition.figures()}. Nothing was written. {_WAYS_OUT[demand == 'refuse']}. "
            f"{composition.forgotten()}"
        )
    if composition.incomparable:
        raise GuaranteeError(f"{composition.unknown()}. Nothing was written. {SEPARATE}")


def _damaged(problems: list[str]) -> UsageError:
    return UsageError(
        f"the register is not whole: {'; '.join(problems)}. Nothing was compared and nothing was "
        "entered. Restore the latest copy of the register. If there is none, go on with: covey "
        'releases --accept-loss "reason"'
    )


@dataclass(eq=False, repr=False)
class OpenRegister:
    """An open register, read and changed under the key of one custodian."""

    database: sqlite3.Connection
    key: Key
    path: str  # with no links in it

    @cached_property
    def _salt(self) -> bytes:
        with _damage():
            (salt,) = self.database.execute("SELECT salt FROM register").fetchone()
            return bytes(salt)

    @cached_property
    def _sealer(self) -> Sealer:
        return Sealer(self.key, self._salt)

    @property
    def state(self) -> State:
        """The chain as it is now."""
        with _damage():
            return self._sealer.judged(chain.read(self.database))

    # ── what is wrong ───────────────────────────────────────────────────────────────────────────

    def problems(self, state: State) -> list[str]:
        """What the chain, its head, the number of blocks and the path show."""
        if not Path(self.path).exists():
            return ["it was removed"]
        found = self._inside(state)
        is_ours = any(event.key == self.key.fingerprint for event in state.events)
        if is_ours and self._salt not in chain.heads(self.key):
            found.append("its head beside the key is missing")
        return [*found, *_replaced(self.key, self.path, self._salt)]

    def _inside(self, state: State) -> list[str]:
        """What the chain, its head if there is one, and the number of blocks show."""
        head = chain.heads(self.key).get(self._salt)
        found = [*state.problems, *(head.problems(state) if head else [])]
        numbers = dict(
            self.database.execute("SELECT release, count(*) FROM blocks GROUP BY release")
        )
        own_ones = state.under(self.key)
        if lacking := [b for b in own_ones if numbers.get(b["id"], 0) != b["blocks"]]:
            found.append(f"data of {count(len(lacking), 'release')} are missing")
        return found

    def forged(self, state: State) -> list[str]:
        """The entries of this key whose data are missing or were changed."""
        found = []
        for body in state.under(self.key):
            try:
                self._stored(body).authenticate()
            except ForgedError:
                found.append(body["id"])
        return found

    def _whole(self) -> State:
        """The chain, if nothing of the register is missing."""
        state = self.state
        if found := self.problems(state):
            raise _damaged(found)
        return state

    # ── comparing ───────────────────────────────────────────────────────────────────────────────

    def compared(
        self, id_: str, trace: Footprint, *, replaces: bool
    ) -> tuple[Composition, list[str]]:
        """Combine an entered release with all that share people with it, and note what matters.

        The same bytes of the same people are the same release. With `replaces`, releases to the
        same file are ignored: they never left this machine.
        """
        with _errors():
            state = self._whole()
            new = next(body for body in state.under(self.key) if body["id"] == id_)
            others = [body for body in state.entries.values() if not _is_same(body, new)]
            again = [body for body in others if _is_at(body, new)]
            if replaces:
                others = [body for body in others if not _is_at(body, new)]
                again = []
            found = self._composed(trace, others)
            shown = _shown_elsewhere(new, *others) if found.earlier else []
            return found, [*_notes(state, len(again), shown)]

    def combined(self, release: Footprint | str) -> Composition | None:
        """Combine a release, entered with these bytes or not entered, with all others."""
        state = self._whole()
        others = [*state.entries.values()]
        if isinstance(release, str):
            own = (body for body in state.under(self.key) if body["classes"])
            entered = next((body for body in own if body["sha256"] == release), None)
            if entered is None:
                return None
            others = [body for body in others if not _is_same(body, entered)]
            release = self._stored(entered).whole()
        return self._composed(release, others)

    def _composed(self, trace: Footprint, others: list[dict[str, Any]]) -> Composition:
        copies: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for body in others:
            copies.setdefault((body["sha256"], body["people"], body["key"]), []).append(body)
        comparable, incomparable = [], []
        for bodies in copies.values():
            ids, first = [body["id"] for body in bodies], bodies[0]
            if first["key"] == self.key.fingerprint and first["classes"] and trace.rows:
                comparable.append((ids, self._stored(first)))
            else:
                incomparable += ids
        try:
            return compose(trace, comparable, incomparable=incomparable)
        except (ForgedError, ValueError, IndexError):
            raise _damaged(["the data of an earlier release were changed"]) from None

    def traces(
        self, people: Mapping[str, Hashes], path: str | Path | None, *, replaces: bool
    ) -> Earlier:
        """Where these people are in each earlier release that has any of them.

        They are given by one or more columns, each of which says who is who. With `replaces`,
        releases to the same path are ignored.
        """
        with _errors():
            again = None if path is None or not replaces else self._place(str(path))
            bodies = {
                (body["sha256"], body["people"]): body
                for body in self._whole().under(self.key)
                if body["classes"] and (again is None or body["place"] != again)
            }
            try:
                found = [_agreed(self._stored(body), people) for body in bodies.values()]
            except UsageError:
                raise
            except (ForgedError, ValueError, IndexError):
                raise _damaged(["the data of an earlier release were changed"]) from None
        rows = len(next(iter(people.values())))
        every = np.array(found, dtype=np.int64).reshape(len(found), rows).T
        shared = np.flatnonzero((every >= 0).any(axis=0))
        sizes = [b["k"] + b["request"]["options"].get("reserve", 0) for b in bodies.values()]
        return Earlier(every[:, shared], tuple(sizes[place] for place in shared))

    def overlaps(self) -> Overlaps:
        """Who is in which release: nobody is known in those of other keys, or with changed data."""
        state, people = self.state, dict[str, list[Hashes]]()
        for body in state.under(self.key):
            with contextlib.suppress(ForgedError, ValueError, IndexError):
                people[body["id"]] = self._stored(body).people() if body["classes"] else []
        ks = {body["id"]: body["k"] for body in state.entries.values()}
        return Overlaps(ks, {id_: people.get(id_, []) for id_ in ks})

    def _place(self, path: str) -> str:
        """The path of a release, as a keyed hash."""
        return self.key.digest("place", os.path.realpath(path).encode()).hex()

    def _stored(self, body: Mapping[str, Any]) -> Stored:
        cipher = stored.cipher_of(self.key, self._salt, body["id"])
        return Stored(self.database, cipher, self.key, body["id"], body)

    # ── changing ────────────────────────────────────────────────────────────────────────────────

    def enter(
        self, trace: Footprint, path: str | None, sha256: str, request: dict[str, Any]
    ) -> str:
        """Enter a release before it is published; without a path, to standard output."""
        id_ = secrets.token_hex(4)
        body = {
            "id": id_, "name": _printable(Path(path or "standard output").name), "sha256": sha256,
            "request": request,
            "place": self._place(path) if path is not None else None,
            "people": trace.people.hex(), "k": trace.k, "person": trace.person,
            "rows": trace.rows, "classes": len(trace.sizes), "who": [*trace.who],
            "codes": trace.codes, "content": [*trace.content], "values": [*trace.values],
        }  # fmt: skip
        with self._changing() as state:
            cipher = stored.cipher_of(self.key, self._salt, id_)
            body["blocks"] = stored.write(self.database, id_, trace, cipher)
            self._add(state, ENTERED, **body)
        return id_

    def settle(self, id_: str, *, replaces: bool = False) -> None:
        """Mark a release as published; forget those that it repeats, or replaces."""
        with self._changing() as state:
            ours = {p: b for p, b in state.entries.items() if b["key"] == self.key.fingerprint}
            place, new = next((p, body) for p, body in ours.items() if body["id"] == id_)
            gone = {
                other: body["id"]
                for other, body in ours.items()
                if other != place
                and body["place"] == new["place"]
                and (_is_same(body, new) or (replaces and _is_at(body, new)))
            }
            self._add(state, PUBLISHED, place=place)
            if gone:
                self._remove(gone)

    def forget(self, *ids: str) -> None:
        """Remove releases that were never published; if one is unknown, remove none."""
        with self._changing() as state:
            found = {place: b["id"] for place, b in state.entries.items() if b["id"] in ids}
            if missing := len({*ids}) - len(found):
                raise UsageError(
                    f"{count(missing, 'release')} not in the register; `covey releases` lists all"
                )
            self._remove(found)

    def accept(self, reason: str, problems: list[str]) -> None:
        """Add that entries are missing, and why; what is left has a new head."""
        with _errors(), _transaction(self.database):
            state = self.state
            lost, over = self.forged(state), self._sealer.cover(state.events)
            for id_ in lost:
                self.database.execute("DELETE FROM blocks WHERE release = ?", (id_,))
            self._add(state, ACCEPTED, reason=reason, problems=problems, over=over, lost=lost)
        for salt, head in chain.heads(self.key).items():
            if salt == self._salt or head.register == self.path:
                head.remove(self.key)
        self.advance()

    @contextlib.contextmanager
    def _changing(self) -> Iterator[State]:
        """The chain to add events to, if nothing of it is missing; then its head follows."""
        with _errors(), _transaction(self.database):
            state = self._whole()
            if self._salt not in chain.heads(self.key):  # the first event of this key
                self._head(state).write(self.key)
            yield state
        self.advance()

    def advance(self) -> None:
        """Let the head describe the register as it is now, also if other processes wrote to it."""
        with _errors(), _transaction(self.database):
            state = self.state
            if not self._inside(state):
                self._head(state).write(self.key)

    def _head(self, state: State) -> Head:
        return Head(self._salt, state.count, state.link, self.path)

    def _add(self, state: State, what: str, **body: Any) -> None:
        date = datetime.now(UTC).isoformat(timespec="seconds")
        event = self._sealer.sealed(state, {"what": what, "date": date, **body})
        chain.add(self.database, event)

    def _remove(self, places: Mapping[int, str]) -> None:
        self._add(self.state, FORGOTTEN, places=[*places])
        for place, id_ in places.items():
            self.database.execute("DELETE FROM blocks WHERE release = ?", (id_,))
            self.database.execute("UPDATE events SET body = NULL WHERE place = ?", (place,))


def _replaced(key: Key, path: str, salt: bytes | None) -> list[str]:
    """Whether a register of another salt, or any, was at this path."""
    return [
        f"it was removed or replaced: its head beside the key counts {head.count:,} entries"
        for other, head in chain.heads(key).items()
        if other != salt and head.register == path and head.count
    ]


def _shown_elsewhere(*releases: Mapping[str, Any]) -> list[str]:
    """Columns by which one release hides people, and which another shows as they are."""
    requests = [body["request"] for body in releases]
    quasi, shown = ({n for r in requests for n in r.get(what, ())} for what in ("quasi", "shown"))
    return sorted(quasi & shown)


def _notes(state: State, again: int, shown: Collection[str]) -> Iterator[str]:
    """What the custodian should know about the register and this release."""
    if shown:
        yield (
            f"one release hides people by {', '.join(shown)}, and another shows it as it is. "
            "Someone who knows it finds fewer candidates than counted: give it the same role in "
            "all releases"
        )
    if again:
        yield (
            f"this file was released before, {count(again, 'time')}, which counts as published. If "
            "no one else has it, release it again with --replace (replace=True)"
        )
    for loss in _losses(state):
        yield (
            f"the register lost entries, which was accepted on {loss.date[:10]} ({loss.reason}): "
            "releases that are missing were not compared"
        )


def _agreed(earlier: Stored, people: Mapping[str, Hashes]) -> Longs:
    """The class of each of these people; refused where it is in doubt who is who."""
    named = [name for name in people if name in earlier.who]
    names = [name for name in named if not earlier.lacks(name)]
    if named and not names:
        raise UsageError(
            f"an earlier release has rows without {' and '.join(named)}: whether their people are "
            f"here is unknown. If no one else has it: covey forget {earlier.id}"
        )
    each = np.array([earlier.classes_of(people[name], name) for name in names or people])
    classes: Longs = each.max(axis=0)
    if ((each >= 0) & (each != classes)).any():
        raise UsageError(
            f"the columns {', '.join(people)} disagree on who is in an earlier release: name the "
            "one that says who is who as person, or give the others the role drop"
        )
    return classes


# ── records ─────────────────────────────────────────────────────────────────────────────────────


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
            for place, body in state.entries.items()
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


# ── the file ────────────────────────────────────────────────────────────────────────────────────


def _make(path: Path) -> None:
    """Create an empty private file, which SQLite then fills."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


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
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    return application, version


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
            return (
                "the register is damaged and cannot be read: restore the latest copy of it. If "
                "there is none, move the file away, and go on with: covey releases "
                '--accept-loss "reason"'
            )
        case _:
            return f"the register cannot be used; {_OTHERWISE}"
