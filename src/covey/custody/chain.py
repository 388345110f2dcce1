"""The chain of a register: a list of events that only grows, and the head that knows its end.

Each event is sealed with the key of the custodian who added it and names the event before it, so
none can be changed, left out or moved. Events at the end could still be cut off, or the whole file
be put back: the head, a small sealed file beside the key, has the number of events and the link of
the last one. It is written after the register, so a register that is ahead of its head was not
tampered with. It is first written before the first event, so a register never lacks its head.

    digest = SHA-256(body)
    seal   = HMAC-SHA256(key "register chain", previous, place, name of the key, digest)
    link   = SHA-256(previous, name of the key, digest, seal); of no event: SHA-256(salt)

The body of a forgotten release is removed; its digest stays. A loss that the custodian accepts is
an event of its own. It covers all events as they were then, and what was wrong with them is over.
"""

import contextlib
import hmac
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from covey.custody.aead import Aead, ForgedError
from covey.custody.keys import Key, own
from covey.errors import UsageError, count
from covey.tables import files

ENTERED, PUBLISHED, FORGOTTEN, ACCEPTED = "entered", "published", "forgotten", "loss accepted"


@dataclass(frozen=True)
class Event:
    """One line of the chain, as it is stored."""

    place: int  # from 1
    previous: bytes  # the link of the event before
    key: str  # the fingerprint
    digest: bytes  # of the body
    seal: bytes
    text: str | None  # the body as JSON; None once it is forgotten

    @property
    def link(self) -> bytes:
        """The digest of this event and all before it."""
        return sha256(self.previous + self.key.encode() + self.digest + self.seal).digest()

    @property
    def body(self) -> dict[str, Any]:
        """What happened; nothing if it is forgotten or was changed."""
        if self.text is None or sha256(self.text.encode()).digest() != self.digest:
            return {}
        with contextlib.suppress(ValueError):
            found = json.loads(self.text)
            if isinstance(found, dict) and "what" in found:
                return found
        return {}


@dataclass(frozen=True)
class State:
    """A chain as it was read, and what is wrong with it."""

    events: tuple[Event, ...]
    link: bytes  # of the last event
    bodies: Mapping[int, dict[str, Any]]  # by place, of events that are whole and not forgotten
    problems: tuple[str, ...] = ()
    entries: Mapping[int, dict[str, Any]] = field(default_factory=dict)  # of releases that count

    @property
    def count(self) -> int:
        """The place of the last event."""
        return self.events[-1].place if self.events else 0

    def of(self, what: str) -> dict[int, dict[str, Any]]:
        """The bodies of one kind of event, by place."""
        return {place: body for place, body in self.bodies.items() if body["what"] == what}

    def under(self, key: Key) -> list[dict[str, Any]]:
        """The releases of this key that count, whose data must be in the register."""
        return [body for body in self.entries.values() if body["key"] == key.fingerprint]


@dataclass(frozen=True, repr=False)
class Sealer:
    """Seals and checks the events of one custodian in one register."""

    key: Key
    salt: bytes
    _secret: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_secret", self.key.derived("register chain", self.salt))

    @property
    def beginning(self) -> bytes:
        """The link of no event."""
        return sha256(self.salt).digest()

    def sealed(self, state: State, body: Mapping[str, Any]) -> Event:
        """The next event."""
        text = json.dumps(body)
        digest, place = sha256(text.encode()).digest(), state.count + 1
        name = self.key.fingerprint
        return Event(place, state.link, name, digest, self._seal(place, state.link, digest), text)

    def _seal(self, place: int, previous: bytes, digest: bytes) -> bytes:
        message = previous + place.to_bytes(8) + self.key.fingerprint.encode() + digest
        return hmac.digest(self._secret, message, "sha256")

    def is_sealed(self, event: Event) -> bool:
        """Whether the event is this custodian's own."""
        seal = self._seal(event.place, event.previous, event.digest)
        return event.key == self.key.fingerprint and hmac.compare_digest(seal, event.seal)

    def cover(self, events: Iterable[Event]) -> str:
        """A digest of all these events, in whatever state they are."""
        return sha256(b"".join(event.link for event in events)).hexdigest()

    def judged(self, events: tuple[Event, ...]) -> State:
        """The chain, judged by itself: only the head knows whether its end is missing."""
        problems, bodies, gone = list[str](), dict[int, dict[str, Any]](), set[int]()
        link, accepted = self.beginning, 0
        before = 0
        for number, event in enumerate(events):
            place, body, is_own = event.place, event.body, event.key == self.key.fingerprint
            if place != before + 1 or event.previous != link:
                problems.append(f"entries are missing or out of order before entry {place}")
            before, link = place, event.link
            if (is_own and not self.is_sealed(event)) or (event.text is not None and not body):
                problems.append(f"entry {place} was changed")
                continue
            if body and (is_own or body["what"] in (ENTERED, PUBLISHED)):
                bodies[place] = body
            if not is_own:  # who added it is not proven
                continue
            if body.get("what") == FORGOTTEN:
                gone.update(body["places"])
            elif body.get("what") == ACCEPTED and body["over"] == self.cover(events[:number]):
                problems.clear()
                accepted = place
        removed = {e.place for e in events if e.text is None and e.key == self.key.fingerprint}
        if lost := {place for place in removed - gone if place > accepted}:
            problems.append(f"{count(len(lost), 'entry', 'entries')} of it are empty")
        kept = {place: body for place, body in bodies.items() if place not in gone}
        entries = _releases(kept, {event.place: event.key for event in events})
        return State(events, link, kept, tuple(dict.fromkeys(problems)), entries)


def _releases(bodies: Mapping[int, dict[str, Any]], keys: Mapping[int, str]) -> dict[int, Any]:
    """The entered releases whose data were not lost, each with the key that it is under."""
    accepted = (body for body in bodies.values() if body["what"] == ACCEPTED)
    lost = {id_ for body in accepted for id_ in body["lost"]}
    return {
        place: {**body, "key": keys[place]}
        for place, body in bodies.items()
        if body["what"] == ENTERED and body["id"] not in lost
    }


# ── the head ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Head:
    """How many events a register has, and the link of the last one."""

    salt: bytes
    count: int
    link: bytes
    register: str  # the path of the register

    def problems(self, state: State) -> list[str]:
        """What the register lacks."""
        if state.count < self.count:
            return [
                f"it is older than its head beside the key: {self.count - state.count:,} of "
                f"{count(self.count, 'entry', 'entries')} are missing"
            ]
        links = {event.place: event.link for event in state.events}
        if self.count and links.get(self.count) != self.link:
            return ["it is not the one that its head beside the key describes"]
        return []

    def write(self, key: Key) -> None:
        """Write the head beside the key."""
        data = {"count": self.count, "link": self.link.hex(), "register": self.register}
        cipher = Aead(key.derived("register head", self.salt))
        sealed = self.salt + cipher.seal(json.dumps(data).encode(), b"head" + self.salt)
        try:
            path = _path(key, self.salt)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.write(path, sealed, private=True)
        except OSError as error:
            raise UsageError(
                f"the head of the register cannot be written beside the key: {error.strerror}"
            ) from None

    def remove(self, key: Key) -> None:
        """Remove the head of a register that is gone for good."""
        _path(key, self.salt).unlink(missing_ok=True)


def heads(key: Key) -> dict[bytes, Head]:
    """All heads beside a key, by the salt of their register."""
    any_head = _path(key, b"")
    found = {}
    for path in sorted(any_head.parent.glob(f"{_escaped(any_head.name)}*")):
        data = path.read_bytes()
        salt = data[:16]
        if path != _path(key, salt):
            continue
        try:
            opened = Aead(key.derived("register head", salt)).open(data[16:], b"head" + salt)
        except ForgedError:
            raise UsageError(
                f"the head of a register beside the key was changed: {path.name}. If you know why, "
                'remove it, and then run covey releases --accept-loss "reason"'
            ) from None
        body = json.loads(opened)
        link = bytes.fromhex(body["link"])
        found[salt] = Head(salt, body["count"], link, body["register"])
    return found


def _path(key: Key, salt: bytes) -> Path:
    place = own() if key.path is None else key.path
    name = key.fingerprint if key.path is None else place.name
    return Path(os.path.abspath(place)).with_name(f"{name}.head-{salt.hex()}")  # noqa: PTH100


def _escaped(name: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


TABLE = """
CREATE TABLE events (
    place INTEGER PRIMARY KEY,
    previous BLOB NOT NULL,
    key TEXT NOT NULL,
    digest BLOB NOT NULL,
    seal BLOB NOT NULL,
    body TEXT
) STRICT"""


def read(database: sqlite3.Connection) -> tuple[Event, ...]:
    """All events of a register."""
    rows = database.execute(
        "SELECT place, previous, key, digest, seal, body FROM events ORDER BY 1"
    )
    return tuple(Event(*row) for row in rows)


def add(database: sqlite3.Connection, event: Event) -> None:
    """Add an event at the end."""
    row = (event.place, event.previous, event.key, event.digest, event.seal, event.text)
    database.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", row)
