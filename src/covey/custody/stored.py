"""The footprint of a release in the register: sealed blocks of columns.

A block has up to ROWS numbers of one column. A hash of an identifier is stored in two halves, and
each row has half a hash of all its other cells together. So a new release of few people reads the
upper halves only, and more of an earlier release if some of them are found there.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._core.arrays import Longs
from covey.custody.aead import Aead, ForgedError
from covey.custody.composition import tell_apart, telling, together
from covey.custody.footprints import NOBODY, ClassValues, Footprint, are_unique
from covey.custody.hashes import Hashes, combined
from covey.custody.keys import Key

ROWS = 1 << 16  # of a block
# Rows are equal by chance as often as in a sample of their table; so many more, or so many rows
# of few people, are no chance.
_SAMPLE, _OFTEN, _FEW = 1 << 14, 3, 3
Halves = NDArray[np.uint32]

# By kind, a column of: rows of each class; upper and lower halves of the hashes of an identifier;
# parts of the hashes of a cell; upper halves of the hashes of all these cells; and of a sensitive
# column the number of values of each class, and these values, as places in the list of all of them.
KINDS = {
    "sizes": "<u4", "who high": "<u4", "who low": "<u4", "content": "<u4", "record": "<u4",
    "value counts": "<u4", "value list": "<u8", "values": "<u4",
}  # fmt: skip

TABLE = """
CREATE TABLE blocks (
    release TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    place INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (release, kind, name, place)
) STRICT"""


def cipher_of(key: Key, salt: bytes, id_: str) -> Aead:
    """What seals the blocks of one entry."""
    return Aead(key.derived(f"register entry {id_}", salt))


def write(database: sqlite3.Connection, id_: str, trace: Footprint, cipher: Aead) -> int:
    """Store a footprint; return the number of its blocks."""
    blocks = 0
    for kind, name, column in columns_of(trace):
        for place, begin in enumerate(range(0, len(column), ROWS)):
            data = column[begin : begin + ROWS].astype(KINDS[kind]).tobytes()
            sealed = cipher.seal(data, _place(id_, kind, name, place))
            row = (id_, kind, name, place, sealed)
            database.execute("INSERT INTO blocks VALUES (?, ?, ?, ?, ?)", row)
            blocks += 1
    return blocks


def columns_of(trace: Footprint) -> Iterator[tuple[str, str, NDArray[Any]]]:
    """All that is stored of a footprint."""
    yield "sizes", "", trace.sizes
    for name, hashes in trace.who.items():
        yield "who high", name, high(hashes)
        yield "who low", name, hashes.astype(np.uint32)
    for name, parts in trace.content.items():
        yield "content", name, parts
    if trace.content:
        yield "record", "", high(trace.hashes_of([*trace.content]))
    for name, values in trace.values.items():
        known, places = np.unique(values.hashes, return_inverse=True)
        yield "value counts", name, values.sizes
        yield "value list", name, known
        yield "values", name, places


def _over_chance(ours: Halves, theirs: Halves) -> float:
    """How many more pairs of rows are equal than there would be of any people of this table."""
    equal = _equal(ours, theirs)
    if equal <= _FEW:
        return 0.0
    some = theirs[:: -(-len(theirs) // _SAMPLE)].copy()
    chance = (_equal(some, some) - len(some)) / max(1, len(some) * (len(some) - 1))
    return equal - _OFTEN * chance * len(ours) * len(theirs)


def _equal(some: Halves, others: Halves) -> int:
    """The number of equal pairs, one of each."""
    known, ours = np.unique(some, return_counts=True)
    may_be = np.zeros(1 << 16, dtype=np.bool_)  # by the upper half
    may_be[known >> np.uint32(16)] = True
    near = others[np.flatnonzero(may_be[others.view("<u2")[1::2]])]
    places = np.minimum(np.searchsorted(known, near), len(known) - 1)
    return int(ours[places[known[places] == near]].sum())


def high(hashes: Hashes) -> Halves:
    """The upper halves of hashes."""
    return (hashes >> np.uint64(32)).astype(np.uint32)


def _place(id_: str, kind: str, name: str, place: int) -> bytes:
    """Which block it is: no two have the same."""
    return "\0".join((id_, kind, str(place), name)).encode()


@dataclass(frozen=True, eq=False, repr=False)
class Stored:
    """The footprint of an earlier release, of which only the blocks that matter are read."""

    database: sqlite3.Connection
    cipher: Aead
    owner: Key
    id: str
    entry: Mapping[str, Any]  # what the chain says of it

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.entry["rows"])

    @property
    def person(self) -> str | None:
        """The column that identifies persons; None if rows are counted."""
        found: str | None = self.entry["person"]
        return found

    @property
    def who(self) -> list[str]:
        """The identifiers."""
        return list(self.entry["who"])

    @property
    def codes(self) -> list[str]:
        """The identifiers with a different value in every row and no missing cell."""
        return list(self.entry["codes"])

    def near(self, new: Footprint) -> Footprint:
        """The part of this footprint that has all rows of people who may be in the new one."""
        if self.rows <= ROWS:
            self.authenticate()  # it is small: then any change is noticed, wherever it is
        columns, names = self._telling_most(new), list(self.entry["content"])
        common = [name for name in names if name in new.content]
        ours = together(new, columns)
        rows = np.zeros(0, dtype=np.int64)
        if columns:
            rows = self._rows_with("who high", columns[0], new.who[columns[0]])
            theirs = together(self._people(columns, rows), columns)
            rows = rows[known := np.isin(theirs, ours)]
        equal = self._equal_columns(new, common, len(rows) if columns else None)
        if columns and not equal and are_unique(ours) and are_unique(theirs[known]):
            common = []  # then it does not matter which row of a person is which
        by_content = not columns or bool(equal or (ours == NOBODY).any())
        if by_content and self._is_record(equal or common):
            found = self._rows_with("record", "", new.hashes_of(names))
            rows = np.union1d(rows, found)
        elif by_content and (equal or tell_apart(new, common)):
            rows, common = np.arange(self.rows), equal or names
        return replace(
            self._people(columns, rows),
            sizes=np.bincount(self._class_of(rows), minlength=self.entry["classes"]),
            content={name: self._taken("content", name, rows) for name in common},
            person=self.person if self.person in columns else None,
            known_codes=tuple(self.codes),
            columns=len(names),
            renumbered=bool(equal),
        )

    def _telling_most(self, new: Footprint) -> list[str]:
        """The columns by which people are recognised: of several codes, the one that finds most."""
        columns = telling(new, self)
        codes = [name for name in new.codes if name in self.codes]
        if len(codes) < 2 or {new.person, self.person} & {*columns}:
            return columns
        every = np.arange(self.rows)
        return [max(codes, key=lambda name: np.isin(new.who[name], self._who(name, every)).sum())]

    def _equal_columns(
        self, new: Footprint, common: list[str], recognised: int | None
    ) -> list[str]:
        """The columns in which more rows are equal than people are recognised, if not by chance.

        Then people are here under other identifiers, or with one cell changed, such as an age a
        year later. Without identifiers (None), people are recognised by all columns. Of a large
        release, only some records of all columns are compared.
        """
        tried = {tuple(common): self._some_records()} if self._is_record(common) else {}
        if self.rows <= ROWS:
            content = {name: self._taken("content", name, np.arange(self.rows)) for name in common}
            for columns in [common, *([n for n in common if n != one] for one in common)]:
                cells = (content[name] for name in columns)
                tried[*columns] = high(combined(cells, self.rows))
        more = {
            columns: _over_chance(np.unique(high(new.hashes_of(columns))), theirs)
            * (self.rows / len(theirs))
            for columns, theirs in tried.items()
            if columns
        }
        best = max(more, key=lambda columns: more[columns], default=())
        known = more.get(tuple(common), 0) if recognised is None else recognised
        few = max(_FEW, min(new.rows, self.rows) // 100)
        return [*best] if best and more[best] > known + few else []

    def _some_records(self) -> Halves:
        """One block in four: classes are in the order of their hashes, so it is a random part."""
        blocks = range(0, -(-self.rows // ROWS), 4)
        return np.concatenate([self._block("record", "", place) for place in blocks])

    def _is_record(self, common: list[str]) -> bool:
        """Whether the two tables have the same columns, of which there is a record."""
        return bool(common) and common == [*self.entry["content"]]

    def _people(self, columns: list[str], rows: Longs) -> Footprint:
        """The identifiers of some rows."""
        who = {name: self._who(name, rows) for name in columns}
        return Footprint(self.owner, np.array([len(rows)]), {}, who, {})

    def values_of(self, classes: Longs) -> dict[str, ClassValues]:
        """The values of these classes in sensitive columns; other classes have none here."""
        found = {}
        for name in self.entry["values"]:
            sizes = self._whole("value counts", name).astype(np.int64)
            needed = np.zeros(len(sizes), dtype=np.bool_)
            needed[classes[classes >= 0]] = True
            places = np.flatnonzero(np.repeat(needed, sizes))
            known = self._whole("value list", name)
            some = known[self._taken("values", name, places)]
            found[name] = ClassValues(np.where(needed, sizes, 0), some)
        return found

    def whole(self) -> Footprint:
        """All of this footprint."""
        every, entry = np.arange(self.rows), self.entry
        return replace(
            self._people(self.who, every),
            sizes=self._whole("sizes", "").astype(np.int64),
            content={name: self._taken("content", name, every) for name in entry["content"]},
            values=self.values_of(np.arange(entry["classes"])),
            k=entry["k"],
            person=self.person,
        )

    def classes_of(self, people: Hashes, column: str) -> Longs:
        """The class of each of these people, -1 for one who is not in it.

        They are recognised by the column of this name; if there was none, by the person column, or
        else by a column that differs in every row.
        """
        classes = np.full(len(people), -1, dtype=np.int64)
        for name in [column] if column in self.who else self._telling:
            every = np.arange(self.rows)
            known = self._who(name, every)
            order = np.argsort(known, kind="stable")
            place = np.minimum(np.searchsorted(known, people, sorter=order), self.rows - 1)
            row = order[place]
            found = (known[row] == people) & (people != NOBODY)
            if found.any():
                classes[found] = self._class_of(every)[row[found]]
                return classes
        return classes

    def lacks(self, column: str) -> bool:
        """Whether someone has a missing cell in this column."""
        return NOBODY in self._who(column, np.arange(self.rows))

    def people(self) -> list[Hashes]:
        """The people, sorted, by each column that says who is who, without unknown ones."""
        every = (np.unique(self._who(name, np.arange(self.rows))) for name in self._telling)
        return [known for some in every if len(known := some[some != NOBODY])]

    @property
    def _telling(self) -> list[str]:
        return [self.person] if self.person is not None else self.codes

    def is_unrelated(self, new: Footprint) -> bool:
        """Whether the two tables have no person in common, and so do not concern each other.

        Persons are compared by all identifiers, whatever their names. If one of the tables has
        none, the cells that both have must not be the same for any row.
        """
        if new.who and self.who:
            people = np.unique(np.concatenate([*new.who.values()]))
            people = people[people != NOBODY]
            rows = [len(self._rows_with("who high", name, people)) for name in self.who]
            return not any(rows)
        common = [name for name in self.entry["content"] if name in new.content]
        every = np.arange(self.rows)
        cells = combined([self._taken("content", name, every) for name in common], self.rows)
        return bool(common) and not np.isin(new.hashes_of(common), cells).any()

    def authenticate(self) -> int:
        """Read all blocks and return their number; any that was changed is an error."""
        number = 0
        for kind, name, place, sealed in self.database.execute(
            "SELECT kind, name, place, data FROM blocks WHERE release = ?", (self.id,)
        ):
            self.cipher.open(sealed, _place(self.id, kind, name, place))
            number += 1
        if number != self.entry["blocks"]:
            raise ForgedError
        return number

    # ── blocks ──────────────────────────────────────────────────────────────────────────────────

    def _block(self, kind: str, name: str, place: int) -> NDArray[Any]:
        found = self.database.execute(
            "SELECT data FROM blocks WHERE (release, kind, name, place) = (?, ?, ?, ?)",
            (self.id, kind, name, place),
        ).fetchone()
        if found is None:
            raise ForgedError
        data = self.cipher.open(found[0], _place(self.id, kind, name, place))
        return np.frombuffer(data, KINDS[kind])

    def _whole(self, kind: str, name: str) -> NDArray[Any]:
        """All blocks of a column; that none was removed is known from their total number."""
        (number,) = self.database.execute(
            "SELECT count(*) FROM blocks WHERE (release, kind, name) = (?, ?, ?)",
            (self.id, kind, name),
        ).fetchone()
        blocks = [self._block(kind, name, place) for place in range(number)]
        return np.concatenate([np.zeros(0, KINDS[kind]), *blocks])

    def _taken(self, kind: str, name: str, rows: Longs) -> NDArray[Any]:
        """Some rows of a column, in ascending order."""
        found = [np.zeros(0, KINDS[kind])]
        for place in np.unique(rows // ROWS).tolist():
            some = slice(*np.searchsorted(rows, [place * ROWS, (place + 1) * ROWS]))
            found.append(self._block(kind, name, place)[rows[some] - place * ROWS])
        return np.concatenate(found)

    def _rows_with(self, kind: str, name: str, hashes: Hashes) -> Longs:
        """The rows that have the upper half of one of these hashes."""
        if len(hashes) > ROWS:  # so many that all blocks are read anyway
            return np.arange(self.rows)
        sought = np.unique(high(hashes))
        may_be = np.zeros(1 << 16, dtype=np.bool_)  # by the upper half of these
        may_be[sought >> np.uint32(16)] = True
        found = [np.zeros(0, dtype=np.int64)]
        for place in range(-(-self.rows // ROWS)):
            block = self._block(kind, name, place)
            some = np.flatnonzero(may_be[block.view("<u2")[1::2]])
            found.append(some[np.isin(block[some], sought)] + place * ROWS)
        return np.concatenate(found)

    def _who(self, name: str, rows: Longs) -> Hashes:
        upper = self._taken("who high", name, rows).astype(np.uint64)
        found: Hashes = (upper << np.uint64(32)) | self._taken("who low", name, rows)
        return found

    def _class_of(self, rows: Longs) -> Longs:
        if not len(rows):
            return rows
        ends = np.cumsum(self._whole("sizes", "").astype(np.int64))
        return np.searchsorted(ends, rows, side="right")
