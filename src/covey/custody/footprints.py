"""Who is in which class of a release, as keyed hashes only.

A register must recognise people without storing who they are. So every cell that may identify a
person is hashed under the custodian's key: without the key, no one can test names against it. Equal
cells of a column have equal hashes, which would reveal frequencies, so hashes are sealed before
they are stored.

A footprint is made of parts, of which each holds some rows of the release. Parts can be added in
any order, and hold no secret.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any

import numpy as np
import polars as pl
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from covey._core.arrays import Longs
from covey.custody.hashes import Hashes, combined, mixed
from covey.custody.keys import Key
from covey.schema import REMOVED, ColumnType, Role, Schema
from covey.schema.labels import seen
from covey.schema.requirements import KAnonymity
from covey.tables import Table, owners
from covey.tables.cells import as_days, as_numbers

Parts = NDArray[np.uint32]  # half-length hashes: enough to compare rows by several columns
NOBODY = 0  # the hash of a missing cell
SIZE = 8  # bytes: with a million cells, one table in ten million has a collision
LARGEST = 5_000_000  # rows of a release that can be compared: more would need too much memory
PERSON = "person"  # what the hashes of identifiers are for
_SLICE = 1 << 16  # cells that are hashed at once
_BLOCK = 16  # bytes of AES
_SAMPLE = 5_000  # cells that show whether most cells of a column are different
_CLASSES = 23  # bits that number the classes of the largest footprint


@dataclass(frozen=True, eq=False, repr=False)
class ClassValues:
    """The distinct values of each class in a sensitive column."""

    sizes: Longs  # number of values, class by class
    hashes: Hashes  # one class after the other


@dataclass(frozen=True, eq=False, repr=False)
class Footprint:
    """The released rows, class by class: who they describe and what the classes show.

    A row is known by each of its identifiers, `who`, and by each of its other original cells,
    `content`. Rows of a class are sorted by their hashes, so their order reveals nothing. A
    footprint that cannot be compared with others has no rows, and says why.
    """

    owner: Key  # whose hashes these are
    sizes: Longs  # rows of each class
    content: dict[str, Parts]  # by column
    who: dict[str, Hashes]  # by column
    values: dict[str, ClassValues]  # by sensitive column
    k: int = 0  # the required number of rows or persons in each class
    person: str | None = None  # the column that identifies persons; None if rows are counted
    people: bytes = b""  # a digest of who is in which class
    incomparable: str | None = None  # the reason, if it cannot be compared
    known_codes: tuple[str, ...] | None = None  # the codes, if this is a part of a footprint
    columns: int | None = None  # the number of columns of content, if only some of them are here
    renumbered: bool = False  # whether the new release has its people under other identifiers

    def __post_init__(self) -> None:
        rows = [*map(len, self.content.values()), *map(len, self.who.values())]
        classes = [len(values.sizes) for values in self.values.values()]
        shown = [values.sizes.sum() == len(values.hashes) for values in self.values.values()]
        if {*rows} - {self.rows} or {*classes} - {len(self.sizes)} or not all(shown):
            raise ValueError("a footprint has one hash for each row and each value")

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.sizes.sum())

    @cached_property
    def classes(self) -> Longs:
        """The class of each row."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def persons(self) -> Longs | None:
        """The person of each row, numbered from 0, -1 if unknown; None if rows are counted."""
        if self.person is None:
            return None
        known, persons = np.unique(self.who[self.person], return_inverse=True)
        return np.where(self.who[self.person] == NOBODY, -1, persons - (known[0] == NOBODY))

    @cached_property
    def codes(self) -> list[str]:
        """The identifiers with a different value in every row and no missing cell."""
        if self.known_codes is not None:
            return list(self.known_codes)
        return [name for name, hashes in self.who.items() if are_unique(hashes)]

    def hashes_of(self, columns: Sequence[str]) -> Hashes:
        """The cells of each row in some columns, as one hash."""
        return combined([self.content[name] for name in columns], self.rows)


def are_unique(hashes: Hashes) -> bool:
    """Whether every row is known and no two rows are equal."""
    return bool(hashes.all()) and pl.Series(hashes).n_unique() == len(hashes)


@dataclass(frozen=True, eq=False, repr=False)
class FootprintPart:
    """Some rows of a release in any order, or only their number and sum if they are too many."""

    rows: int
    sums: Hashes  # two, of the hashes of all rows and their classes: the same in any order
    classes: Hashes  # of each row
    records: Hashes  # all cells of each row as one hash
    content: dict[str, Parts]  # by column
    who: dict[str, Hashes]  # by column
    values: dict[str, tuple[Hashes, Hashes]]  # classes and their values, by sensitive column

    @classmethod
    def unknown(cls, rows: int, sums: Hashes) -> "FootprintPart":
        """Rows that cannot be compared with others: only their number and sum is known."""
        return cls(rows, sums, *_joined([]))

    @classmethod
    def together(cls, parts: "Iterable[FootprintPart]") -> "FootprintPart":
        """Add several parts one by one; hold no more rows than can be compared."""
        rows, sums = 0, np.zeros(2, dtype=np.uint64)
        kept: list[FootprintPart] = []
        for part in parts:
            rows += part.rows
            sums = sums + part.sums
            kept.append(part)
            if rows > LARGEST:
                kept.clear()
        return cls(rows, sums, *_joined(kept))

    def footprint(self, key: Key, size: KAnonymity, *, alike: bool = True) -> Footprint:
        """The footprint of a release, from the sum of all its parts.

        Without `alike`, the method forms no classes of equal rows.
        """
        unknown = self.rows > min(LARGEST, len(self.classes))
        known, classes = np.unique(self.classes, return_inverse=True)
        order = _in_classes(classes, self.records)
        sizes = np.bincount(classes)
        digest = _digest(sizes, self.records[order])
        has_rows = alike and not unknown
        return Footprint(
            owner=key,
            sizes=sizes if has_rows else sizes[:0],
            content={n: hashes[order] for n, hashes in self.content.items() if has_rows},
            who={n: hashes[order] for n, hashes in self.who.items() if has_rows},
            values={n: _values(known, pairs) for n, pairs in self.values.items() if has_rows},
            k=size.k,
            person=size.person or None,
            people=self.sums.astype("<u8").tobytes() if unknown else digest,
            incomparable=self._why_unknown if unknown else None if alike else NO_CLASSES,
        )

    @property
    def _why_unknown(self) -> str:
        return TOO_LARGE if self.rows > LARGEST else ELSEWHERE


def _joined(parts: Sequence[FootprintPart]) -> tuple[Any, ...]:
    """The arrays of several parts, one after the other."""
    if not parts:
        return np.empty(0, np.uint64), np.empty(0, np.uint64), {}, {}, {}
    first, join = parts[0], np.concatenate
    return (
        join([part.classes for part in parts]),
        join([part.records for part in parts]),
        {name: join([part.content[name] for part in parts]) for name in first.content},
        {name: join([part.who[name] for part in parts]) for name in first.who},
        {
            name: tuple(join([part.values[name][i] for part in parts]) for i in range(2))
            for name in first.values
        },
    )


NO_CLASSES = "the method forms no classes of equal rows"
TOO_LARGE = f"it has more than {LARGEST:,} rows"
ELSEWHERE = "its rows were not hashed, because the key stays on one machine"


@dataclass(frozen=True, eq=False, repr=False)
class Tracer:
    """Hashes rows, so that their people are recognised; it holds the key.

    The rows of the original are hashed where they are read. Classes are known only at the end.
    """

    key: Key
    schema: Schema
    size: KAnonymity
    columns: Collection[str]  # of the original

    @property
    def content(self) -> list[str]:
        """The columns whose cells are hashed."""
        return sorted({*self.columns} - {*self.schema.names(*REMOVED)})

    @property
    def who(self) -> list[str]:
        """The person column and the identifiers."""
        naming = dict.fromkeys([self.size.person or None, *self.schema.names(Role.IDENTIFIER)])
        return [name for name in naming if name is not None and name in self.columns]

    def hashes(self, original: Table, rows: Longs) -> Iterator[Hashes]:
        """The hashes of these rows: of each column of `content`, then of each of `who`."""
        for name in self.content:
            cells = _cells(original, rows, name)
            yield _hashes(self.key, f"cell {name}", cells, _meant(self.schema, name))
        for name in self.who:
            yield self.people(original, rows, name)

    def people(self, original: Table, rows: Longs, name: str) -> Hashes:
        """The hashes of who these rows are by an identifier, the same whatever its name."""
        cells = _cells(original, rows, name)
        return _hashes(self.key, PERSON, cells, partial(_name, schema=self.schema))

    def part(self, released: pl.DataFrame, hashes: Iterable[Hashes]) -> FootprintPart:
        """The footprint of released rows, from the hashes of the original rows behind them."""
        removed = self.schema.names(Role.SENSITIVE, Role.INSENSITIVE)
        classes = _classes(self.key, released.select(pl.exclude(removed)))
        sensitive = self.schema.names(Role.SENSITIVE)
        known, owners = np.unique(classes, return_inverse=True)
        content, values = {}, {}
        records, found = np.zeros(released.height, dtype=np.uint64), iter(hashes)
        for name, cells in zip(self.content, found, strict=False):
            records = combined([records, cells], released.height)
            content[name] = cells.astype(np.uint32)
            if name in sensitive:
                owner, shown = _distinct(owners, cells)
                values[name] = known[owner], shown
        who = dict(zip(self.who, found, strict=True))
        records = combined([records, *(who[name] for name in sorted(who))], released.height)
        sums = _sums(classes, records)
        return FootprintPart(released.height, sums, classes, records, content, who, values)

    def footprint(
        self, original: Table, released: pl.DataFrame, rows: Longs, *, alike: bool = True
    ) -> Footprint:
        """The footprint of a release; `rows` are the original rows of the released ones."""
        part = self.part(released, self.hashes(original, rows))
        return part.footprint(self.key, self.size, alike=alike)


def _cells(original: Table, rows: Longs, name: str) -> Table:
    # Column by column: all of them at once would be a copy of the table. From one chunk, rows are
    # taken several times as fast as from many.
    return original.with_frame(original.frame.select(name).rechunk()[rows])


def _classes(key: Key, cells: pl.DataFrame) -> Hashes:
    """The class of each row: a hash of its released cells, the same in every part."""
    columns = (
        _hashes(key, f"class {name}", Table(cells.select(name)), lambda table: _text(*table.frame))
        for name in sorted(cells.columns)
    )
    return combined(columns, cells.height)


def _in_classes(classes: Longs, records: Hashes) -> Longs:
    """The rows class by class, and in each by their hashes; sorting one number is fastest."""
    numbers = classes.astype(np.uint64) << np.uint64(64 - _CLASSES)
    return np.argsort(numbers | (records >> np.uint64(_CLASSES)))


def _distinct(owners: Longs, hashes: Hashes) -> tuple[Longs, Hashes]:
    """The distinct pairs of a numbered class and a value, sorted."""
    values = np.sort(pl.Series(hashes).unique().to_numpy())
    pairs = np.sort(owners * len(values) + np.searchsorted(values, hashes))
    pairs = pairs[np.flatnonzero(np.r_[True, pairs[1:] != pairs[:-1]][: len(pairs)])]
    return pairs // max(len(values), 1), values[pairs % max(len(values), 1)]


def _values(classes: Hashes, pairs: tuple[Hashes, Hashes]) -> ClassValues:
    # Different parts may have the same pairs.
    owners, hashes = _distinct(np.searchsorted(classes, pairs[0]), pairs[1])
    return ClassValues(np.bincount(owners, minlength=len(classes)), hashes)


def _digest(sizes: Longs, records: Hashes) -> bytes:
    whole = blake2b(sizes.astype("<u8").tobytes(), digest_size=16)
    whole.update(records.astype("<u8").tobytes())
    return whole.digest()


def _sums(classes: Hashes, records: Hashes) -> Hashes:
    """Who is in which class, as two sums over all rows."""
    pairs = (classes, records), (records, classes)
    return np.array([mixed(combined(pair, len(records))).sum(dtype=np.uint64) for pair in pairs])


def _meant(schema: Schema, name: str) -> Callable[[Table], pl.Series]:
    """How to read the cells of a column: by its type if it was grouped or checked by type."""
    column = schema.columns.get(name)
    kind = column.type if column and column.role in (Role.QUASI, Role.SENSITIVE) else None
    match kind:
        case ColumnType.NUMERIC:
            return lambda table: _read_as(name, table, partial(as_numbers, dialect=table.dialect))
        case ColumnType.DATE:
            written = column.format if column else None
            return lambda table: _read_as(name, table, partial(_days, written=written))
    return lambda table: _seen(name, table)


def _seen(name: str, table: Table) -> pl.Series:
    return seen(_text(table.cells(name)), table.dialect.missing)


def _read_as(name: str, table: Table, read: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """The values of a column as text; a cell that cannot be read counts as what a reader sees."""
    values = _text(read(table.cells(name)))
    return values.fill_null(_seen(name, table)) if values.null_count() else values


def _text(cells: pl.Series) -> pl.Series:
    """The cells as text; a number gives the same text whether it is stored as number or text."""
    text = cells.cast(pl.String)
    if cells.dtype.is_float():
        text = text.str.replace(r"\.0$", "").replace("-0", "0")
    return text


def _days(cells: pl.Series, written: str | None) -> pl.Series:
    """Days, whatever each release shows of them, so that the same people are recognised."""
    return as_days(cells, written).cast(pl.Date)


def _name(table: Table, schema: Schema) -> pl.Series:
    """The persons, distinguished in the same way as when k counts persons."""
    (column,) = table.frame
    return _text(owners(column, schema.table))


def _hashes(key: Key, purpose: str, table: Table, meant: Callable[[Table], pl.Series]) -> Hashes:
    """Keyed hashes of the meaning of each cell of a column; equal cells are hashed once."""
    cells = table.frame
    (name,) = cells.columns
    secret = key.derived("register hashes", purpose.encode())
    few = cells[:_SAMPLE].n_unique() <= _SAMPLE / 2 or cells.height <= _SAMPLE
    distinct = cells.unique() if few else cells
    if distinct.height > cells.height / 2:
        return _digests(secret, meant(table))
    known = distinct.with_columns(
        pl.Series("\0hash", _digests(secret, meant(table.with_frame(distinct))))
    )
    found = cells.join(known, on=name, how="left", nulls_equal=True, maintain_order="left")
    return found["\0hash"].to_numpy().astype(np.uint64)


def _digests(secret: bytes, cells: pl.Series) -> Hashes:
    known = cells.drop_nulls().cast(pl.Binary)
    hashes = np.full(len(cells), NOBODY, dtype=np.uint64)
    found = [_macs(secret, known[at : at + _SLICE]) for at in range(0, len(known), _SLICE)]
    hashes[cells.is_not_null().to_numpy()] = np.concatenate([hashes[:0], *found])
    return hashes


def _macs(secret: bytes, cells: pl.Series) -> Hashes:
    """The CBC-MAC under AES-256 of each cell behind its length, cut to SIZE bytes.

    With the length in front no message begins another one, which is when CBC-MAC is a pseudorandom
    function (Bellare, Kilian, Rogaway 2000). The library encrypts the blocks of all cells at once:
    ten times as fast as one call of a hash function for each cell.
    """
    aes = Cipher(algorithms.AES(secret), modes.ECB()).encryptor()  # noqa: S305 - AES itself
    sizes = cells.bin.size().to_numpy().astype(np.int64)
    data = np.frombuffer(b"".join(cells.to_list()) + bytes(_BLOCK), np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(data, _BLOCK)
    begins, rows = np.cumsum(sizes) - sizes, np.arange(len(sizes))
    state = np.zeros((len(sizes), _BLOCK), np.uint8)
    state[:, : _BLOCK // 2] = sizes.astype("<u8").view(np.uint8).reshape(-1, _BLOCK // 2)
    some, kept = windows[begins][:, : _BLOCK // 2], np.minimum(sizes, _BLOCK // 2)
    state[:, _BLOCK // 2 :] = some * (np.arange(_BLOCK // 2) < kept[:, None])
    done = _BLOCK // 2
    while len(rows):
        mixed_in = aes.update(state[rows].tobytes())
        state[rows] = np.frombuffer(mixed_in, np.uint8).reshape(-1, _BLOCK)
        rows = rows[sizes[rows] > done]
        kept = sizes[rows] - done
        state[rows] ^= windows[begins[rows] + done] * (np.arange(_BLOCK) < kept[:, None])
        done += _BLOCK
    return state[:, :SIZE].copy().view("<u8").reshape(-1).astype(np.uint64)
