"""A register that lacks, reorders or changed anything is never taken for a whole one."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import covey
from command_line import Folder
from covey.custody import chain, stored
from covey.custody import register as registers
from covey.custody.composition import Composition
from covey.custody.footprints import Footprint, Tracer
from covey.custody.keys import Key
from covey.custody.register import OpenRegister, Register
from covey.schema.requirements import KAnonymity
from covey.tables import Table

SCHEMA = covey.Schema.of(identifier=["id"], quasi={"age": "numeric"}, sensitive=["ill"])


def trace(key: Key, k: int = 2, people: int = 12) -> Footprint:
    """A release in classes of k people."""
    table = pl.DataFrame(
        {"id": range(people), "age": range(people), "ill": [f"i{n % 3}" for n in range(people)]}
    )
    shown = pl.DataFrame({"age": np.arange(people) // k})
    tracer = Tracer(key, SCHEMA, KAnonymity(k), table.columns)
    return tracer.footprint(Table(table), shown, np.arange(people))


class Shelf:
    """A register with its key, and what an adversary may do to the file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "register.sqlite"
        self.key = Key.of(folder / "key")
        self.register = Register(self.path, self.key)

    def enter(self, k: int) -> None:
        """Enter a release that is then neither published nor removed, as if covey was killed."""
        with self.register.opened(make=True) as opened:
            opened.enter(trace(self.key, k), f"{k}.csv", str(k), {})

    def publish(self, k: int, **settings: Any) -> Composition:
        """Enter a release, compare and settle it."""
        found = trace(self.key, k)
        with registers.remember(
            *(self.path, found), path=f"{k}.csv", sha256=str(k), request={}, demand="warn",
            **settings,
        ) as entry:  # fmt: skip
            assert entry.composition is not None
            with entry.publishing():
                return entry.composition

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as database:
            yield database

    def run(self, *statements: str) -> None:
        with self.opened() as database:
            for statement in statements:
                database.execute(statement)

    def copied(self, name: str) -> Path:
        return Path(shutil.copy(self.path, self.folder / name))

    def restore(self, copy: Path) -> None:
        shutil.copy(copy, self.path)
        self.path.chmod(0o600)

    @property
    def head(self) -> Path:
        (found,) = self.folder.glob("key.head-*")
        return found


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """A register of three releases; copies of it after the first, and before the last."""
    shelf = Shelf(tmp_path)
    shelf.publish(2)
    shelf.copied("first")
    shelf.publish(3)
    shelf.copied("second")
    shelf.publish(4)
    assert shelf.register.problems(thorough=True) == []
    return shelf


def without_event(place: int) -> Callable[[Shelf], None]:
    return lambda shelf: shelf.run(f"DELETE FROM events WHERE place = {place}")


def renumbered(shelf: Shelf) -> None:
    """An entry is left out, and the others close ranks."""
    shelf.run("DELETE FROM events WHERE place IN (3, 4)")
    shelf.run(*(f"UPDATE events SET place = {n - 2} WHERE place = {n}" for n in (5, 6)))


def swapped(shelf: Shelf) -> None:
    shelf.run(*(f"UPDATE events SET place = {new} WHERE place = {old}"
                for old, new in ((1, 9), (3, 1), (9, 3))))  # fmt: skip


def changed_body(shelf: Shelf) -> None:
    shelf.run("""UPDATE events SET body = replace(body, '"rows": 12', '"rows": 0')""")


def changed_with_its_digest(shelf: Shelf) -> None:
    """Digests and links are public, so the adversary makes new ones; the seal is not."""
    changed_body(shelf)
    with shelf.opened() as database:
        events, link = chain.read(database), b""
        for event in events:
            digest = sha256((event.text or "").encode()).digest()
            previous = link or event.previous
            link = chain.Event(0, previous, event.key, digest, event.seal, None).link
            row = (previous, digest, event.place)
            database.execute("UPDATE events SET (previous, digest) = (?, ?) WHERE place = ?", row)


def of_another_key(shelf: Shelf) -> None:
    shelf.run("UPDATE events SET key = '0123456789abcdef' WHERE place < 3")


def forgotten_by_another_key(shelf: Shelf) -> None:
    """Someone without the key adds that all is forgotten, or that its loss is accepted."""
    with shelf.opened() as database:
        for body in (
            {"what": chain.FORGOTTEN, "places": [1, 3, 5]},
            {"what": chain.ACCEPTED, "lost": [e.id for e in shelf.register.releases()]},
        ):
            events = chain.read(database)
            text = json.dumps({**body, "date": "", "reason": "", "problems": [], "over": ""})
            digest = sha256(text.encode()).digest()
            last = events[-1]
            name = "0123456789abcdef" if body["what"] == chain.ACCEPTED else last.key
            chain.add(database, chain.Event(last.place + 1, last.link, name, digest, b"", text))
        database.execute("DELETE FROM blocks")


def emptied(shelf: Shelf) -> None:
    shelf.path.write_bytes(b"")


def replaced_by_a_new_one(shelf: Shelf) -> None:
    shelf.path.unlink()
    other = Shelf(shelf.folder / "other")
    other.enter(2)
    shelf.restore(other.path)


def replayed(shelf: Shelf) -> None:
    """The last entry is put back into an older register in the place of a newer one."""
    with shelf.opened() as database:
        last = chain.read(database)[-2]
    shelf.restore(shelf.folder / "first")
    with shelf.opened() as database:
        chain.add(database, chain.Event(3, last.previous, last.key, last.digest, last.seal,
                                        last.text))  # fmt: skip


def older_and_head_removed(shelf: Shelf) -> None:
    shelf.head.unlink()
    shelf.restore(shelf.folder / "first")


def of_blocks(change: str, kind: str) -> Callable[[Shelf], None]:
    return lambda shelf: shelf.run(f"{change} WHERE kind = '{kind}'")


REMOVALS: dict[str, Callable[[Shelf], None]] = {
    "first entry": without_event(1),
    "an entry": without_event(3),
    "last entry": without_event(5),
    "last event": without_event(6),
    "renumbered": renumbered,
    "swapped": swapped,
    "changed": changed_body,
    "changed with its digest": changed_with_its_digest,
    "another key": of_another_key,
    "forgotten": forgotten_by_another_key,
    "all events": lambda shelf: shelf.run("DELETE FROM events", "DELETE FROM blocks"),
    "bodies": lambda shelf: shelf.run("UPDATE events SET body = NULL"),
    "removed": lambda shelf: shelf.path.unlink(),
    "emptied": emptied,
    "replaced": replaced_by_a_new_one,
    "older": lambda shelf: shelf.restore(shelf.folder / "first"),
    "older by one": lambda shelf: shelf.restore(shelf.folder / "second"),
    "replayed": replayed,
    "head removed": lambda shelf: shelf.head.unlink(),
    "older and head removed": older_and_head_removed,
    "all blocks": lambda shelf: shelf.run("DELETE FROM blocks"),
    **{f"blocks {kind}": of_blocks("DELETE FROM blocks", kind) for kind in stored.KINDS},
}  # fmt: skip


def flipped(data: bytes, _: bytes) -> bytes:
    return data[:15] + bytes([data[15] ^ 1]) + data[16:]


def rewritten(kind: str, change: Callable[[bytes, bytes], bytes]) -> Callable[[Shelf], None]:
    """All blocks of a kind change; `change` gets a block, and one of another release."""

    def attack(shelf: Shelf) -> None:
        with shelf.opened() as database:
            rows = database.execute("SELECT rowid, data FROM blocks WHERE kind = ?", (kind,))
            blocks = dict(rows.fetchall())
            for (row, data), other in zip(blocks.items(), reversed(blocks.values()), strict=True):
                new = change(data, other)
                database.execute("UPDATE blocks SET data = ? WHERE rowid = ?", (new, row))

    return attack


HOW: dict[str, Callable[[bytes, bytes], bytes]] = {
    "flipped": flipped,
    "cut": lambda data, _: data[:20],
    "moved": lambda _, other: other,
}
CHANGES = {
    f"{name} {kind}": rewritten(kind, how) for name, how in HOW.items() for kind in stored.KINDS
}


@pytest.mark.parametrize("name", REMOVALS)
def test_nothing_is_removed_or_put_back_without_being_noticed(name: str, shelf: Shelf) -> None:
    REMOVALS[name](shelf)
    assert shelf.register.problems()
    with pytest.raises(covey.UsageError, match="not whole"):
        shelf.publish(6)
    with pytest.raises(covey.UsageError, match="not whole"):
        shelf.register.refuse_losses()


@pytest.mark.parametrize("name", CHANGES)
def test_no_changed_byte_of_an_entry_is_used(name: str, shelf: Shelf) -> None:
    CHANGES[name](shelf)
    assert shelf.register.problems(thorough=True)
    with pytest.raises(covey.UsageError, match="not whole"):
        shelf.publish(6)


@pytest.mark.parametrize("name", ["older", "an entry", "removed", "all events", "emptied"])
def test_a_build_without_the_chain_is_fooled(
    name: str, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What passed before there was one."""
    assert shelf.publish(6).earlier == 3
    REMOVALS[name](shelf)
    for name in ("problems", "_inside"):
        monkeypatch.setattr(OpenRegister, name, lambda *_: [])
    monkeypatch.setattr(registers, "_replaced", lambda *_: [])
    assert shelf.publish(8).earlier < 4


def test_a_head_that_was_changed_is_refused_in_words(shelf: Shelf) -> None:
    stored_head = shelf.head.read_bytes()
    shelf.head.write_bytes(stored_head[:-1] + bytes([stored_head[-1] ^ 1]))
    with pytest.raises(covey.UsageError, match="head of a register"):
        shelf.publish(6)


# ── what is no loss ─────────────────────────────────────────────────────────────────────────────


class KilledError(Exception):
    pass


def killed(*_: object, **__: object) -> None:
    raise KilledError


@pytest.mark.parametrize("step", ["advance", "_add"])
def test_killed_between_the_register_and_its_head_there_is_no_alarm(
    step: str, shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in a register nor at its first event, and no published release is overlooked."""
    new = Shelf(tmp_path / "new")
    for one in (shelf, new):
        with monkeypatch.context() as patch:
            patch.setattr(OpenRegister, step, killed)
            with pytest.raises(KilledError):
                one.enter(6)
        assert one.register.problems(thorough=True) == []
        is_entered = step == "advance"
        assert one.publish(8).earlier == 3 * (one is shelf) + is_entered
        assert one.register.problems(thorough=True) == []


def test_two_at_once_both_end_in_the_head(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second enters after the register of the first was written, and before its head."""
    advance = OpenRegister.advance
    done: list[Composition] = []

    def meanwhile(register: OpenRegister) -> None:
        monkeypatch.setattr(OpenRegister, "advance", advance)
        done.append(Shelf(shelf.folder).publish(7))
        advance(register)

    monkeypatch.setattr(OpenRegister, "advance", meanwhile)
    assert shelf.publish(6).earlier == 4
    assert done[0].earlier == 4
    assert shelf.register.problems(thorough=True) == []
    shelf.run("DELETE FROM events WHERE place > 9")
    assert shelf.register.problems()


def test_several_keys_share_a_register(shelf: Shelf, tmp_path: Path) -> None:
    other = Shelf(tmp_path)
    other.key = Key.of(tmp_path / "second key")
    other.register = Register(shelf.path, other.key)
    assert len(other.publish(6).incomparable) == 3
    assert len(shelf.publish(8).incomparable) == 1
    for one in (shelf, other):
        assert one.register.problems(thorough=True) == []
    shelf.run("DELETE FROM events WHERE key != (SELECT key FROM events WHERE place = 1)")
    for one in (shelf, other):
        assert one.register.problems()


def test_a_register_that_moved_is_the_same(shelf: Shelf) -> None:
    moved = shelf.path.rename(shelf.folder / "moved.sqlite")
    shelf.path = moved
    shelf.register = Register(moved, shelf.key)
    assert shelf.publish(6).earlier == 3
    assert shelf.register.problems() == []


def test_heads_of_several_registers_lie_beside_one_key(shelf: Shelf) -> None:
    other = Shelf(shelf.folder)
    other.register = Register(shelf.folder / "other.sqlite", shelf.key)
    other.enter(2)
    assert len([*shelf.folder.glob("key.head-*")]) == 2
    for one in (other, shelf):
        assert one.register.problems() == []
    other.register.path.unlink()
    assert other.register.problems()
    assert shelf.register.problems() == []


# ── a loss that is accepted ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", [*REMOVALS, *[n for n in CHANGES if n.startswith("flipped")]])
def test_a_loss_is_accepted_with_a_reason_and_remembered(name: str, shelf: Shelf) -> None:
    {**REMOVALS, **CHANGES}[name](shelf)
    with pytest.raises(covey.UsageError, match="say why"):
        shelf.register.accept_loss(" ")
    assert shelf.register.accept_loss("restored from a backup")
    assert shelf.register.problems(thorough=True) == []
    (loss,) = shelf.register.losses()
    assert loss.reason == "restored from a backup"
    assert loss.problems
    found = trace(shelf.key, 6)
    with registers.remember(
        *(shelf.path, found), path="x", sha256="6", request={}, demand="warn"
    ) as entry:
        assert [told for told in entry.warnings if "restored from a backup" in told]
        with entry.publishing():
            pass
    assert shelf.register.problems(thorough=True) == []
    with pytest.raises(covey.UsageError, match="nothing of the register is missing"):
        shelf.register.accept_loss("again")


def test_a_file_that_cannot_be_read_has_a_way_on(shelf: Shelf) -> None:
    shelf.path.write_bytes(shelf.path.read_bytes()[:6_000])
    for act in (lambda: shelf.publish(6), shelf.register.problems, shelf.register.releases):
        with pytest.raises(covey.UsageError, match=r"move the file away.*--accept-loss") as told:
            act()
        assert "--no-register" not in str(told.value)  # this would compare nothing
    shelf.path.rename(shelf.folder / "damaged")
    assert shelf.register.accept_loss("the disk failed")
    assert shelf.publish(6) == Composition(6)
    assert shelf.register.problems(thorough=True) == []


def test_what_is_lost_after_a_loss_was_accepted_is_noticed_again(shelf: Shelf) -> None:
    before = shelf.copied("before")
    shelf.restore(shelf.folder / "first")
    shelf.register.accept_loss("restored from a backup")
    shelf.publish(6)
    after = shelf.copied("after")
    blocks = "DELETE FROM blocks WHERE release = (SELECT min(release) FROM blocks)"
    attacks: list[Callable[[Shelf], None]] = [
        lambda shelf: shelf.restore(before),
        lambda shelf: shelf.restore(shelf.folder / "first"),
        without_event(1),
        lambda shelf: shelf.run(blocks),
    ]
    for attack in attacks:
        attack(shelf)
        assert shelf.register.problems()
        shelf.restore(after)
        assert shelf.register.problems(thorough=True) == []


@pytest.mark.slow
def test_the_command_line_checks_and_accepts(folder: Folder, register: Path) -> None:
    make = ("anonymize", "people.csv", "-s", "people.toml", "-o")
    assert folder.covey(*make, "one.csv", "-k", 4)[0] == 0
    assert "whole" in folder.covey("releases", "--check")[2]
    register.unlink()
    code, _, err = folder.covey("releases", "--check")
    assert code == 1
    assert "removed" in err
    assert folder.covey(*make, "two.csv", "-k", 5)[0] == 2
    assert not Path("two.csv").exists()
    assert folder.covey("releases", "--accept-loss", "disk failed")[0] == 0
    code, _, err = folder.covey(*make, "two.csv", "-k", 5, "--refuse-composition")
    assert code == 0
    assert "disk failed" in err
    assert json.loads(folder.covey("releases", "--json")[1])["losses"][0]["reason"] == "disk failed"
    assert folder.covey("releases", "--check")[0] == 0
