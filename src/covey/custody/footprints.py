"""Who is in which class of a release, as keyed hashes only.

A register must recognise people without storing who they are. So every cell that may identify a
person is hashed under the custodian's key: without the key, no one can test names against it. Equal
cells of a column have equal hashes, which would reveal frequencies, so hashes are sealed before
they are stored.

A footprint is made of parts, of which each holds some rows of the release. Parts can be added in
any order, and hold no secret.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Longs
from covey.custody.cipher import sealed
from covey.custody.keys import Key
from covey.schema import REMOVED, ColumnType, Role, Schema
from covey.schema.labels import seen
from covey.schema.requirements import KAnonymity
from covey.tables import Table, whose
from covey.tables.cells import as_days, as_numbers

Hashes = NDArray[np.uint64]
Parts = NDArray[np.uint32]  # half-length hashes: enough to compare rows by several columns
NOBODY = 0  # the hash of a missing cell
SIZE = 8  # bytes: with a million cells, one table in ten million has a collision
LARGEST = 5_000_000  # rows of a release that can be compared: more would need too much memory
_SLICE = 1 << 16  # cells that are hashed at once
ODD = np.uint64(0x9E3779B97F4A7C15)  # separates the numbers that are added to hashes
_FACTOR = np.uint64(0xD1342543DE82EF95)  # odd, so that multiplying loses no bits of earlier cells


@dataclass(frozen=True, eq=False, repr=False)
class Values:
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

    key: str  # the fingerprint of the key
    sizes: Longs  # rows of each class
    content: dict[str, Parts]  # by column
    who: dict[str, Hashes]  # by column
    values: dict[str, Values]  # by sensitive column
    k: int = 0  # the required number of rows or persons in each class
    person: str | None = None  # the column that identifies persons; None if rows are counted
    lasting: bool = True  # whether the key is stored, so that people are recognised next time
    people: bytes = b""  # a digest of who is in which class
    incomparable: str | None = None  # the reason, if it cannot be compared
    _secret: bytes = field(default=b"", repr=False)

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
        return [name for name, hashes in self.who.items() if are_unique(hashes)]

    def hashes_of(self, columns: Sequence[str]) -> Hashes:
        """The cells of each row in some columns, as one hash."""
        return combined([self.content[name] for name in columns], self.rows)

    def place(self, path: str) -> bytes:
        """A path as 16 bytes that identify it without revealing it."""
        return blake2b(
            path.encode(errors="surrogatepass"), digest_size=16, key=self._secret
        ).digest()

    def sealed(self, label: str, data: bytes) -> bytes:
        """Encrypt data; sealing it again under the same label decrypts it."""
        return sealed(self._secret, label.encode(), data)


def combined(hashes: Iterable[NDArray[np.unsignedinteger]], rows: int) -> Hashes:
    """Combine the hashes of several cells into one for each row, as a polynomial."""
    found = np.zeros(rows, dtype=np.uint64)
    for one in hashes:
        found *= _FACTOR
        found += one
    return found


def mixed(numbers: Hashes) -> Hashes:
    """Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014."""
    numbers = (numbers + ODD) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


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

    def __add__(self, other: "FootprintPart") -> "FootprintPart":
        return FootprintPart.together([self, other])

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

    def footprint(self, key: Key, asked: KAnonymity, *, alike: bool = True) -> Footprint:
        """The footprint of a release, from the sum of all its parts.

        Without `alike`, the method forms no classes of equal rows.
        """
        unknown = self.rows > min(LARGEST, len(self.classes))
        order = _sorted_by(self.classes, self.records)
        sizes, _ = _runs(self.classes[order])
        digest = _digest(sizes, self.records[order])
        has_rows = alike and not unknown
        return Footprint(
            key=key.fingerprint,
            sizes=sizes if has_rows else sizes[:0],
            content={n: hashes[order] for n, hashes in self.content.items() if has_rows},
            who={n: hashes[order] for n, hashes in self.who.items() if has_rows},
            values={n: _values(*pairs) for n, pairs in self.values.items() if has_rows},
            k=asked.k,
            person=asked.person or None,
            lasting=key.stored,
            people=self.sums.astype("<u8").tobytes() if unknown else digest,
            incomparable=_why(self.rows) if unknown else None if alike else NO_CLASSES,
            _secret=key.digest("register", b"file"),
        )


def _why(rows: int) -> str:
    """Why it is unknown who is in a release."""
    return TOO_LARGE if rows > LARGEST else ELSEWHERE


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


def footprint(
    key: Key,
    original: Table,
    released: pl.DataFrame,
    rows: Longs,
    schema: Schema,
    asked: KAnonymity,
    *,
    alike: bool = True,
) -> Footprint:
    """The footprint of a release; `rows` are the original rows of the released ones."""
    part = footprint_part(key, original, released, rows, schema, asked, whole=True)
    return part.footprint(key, asked, alike=alike)


def footprint_part(
    key: Key,
    original: Table,
    released: pl.DataFrame,
    rows: Longs,
    schema: Schema,
    asked: KAnonymity,
    *,
    whole: bool = False,
) -> FootprintPart:
    """The footprint of some rows of a release, or of all, with the original rows behind them."""
    content = content_hashes(key, original, rows, schema)
    who = dict(who_hashes(key, original, rows, schema, asked))
    return traced(key, released, content, who, schema, whole=whole)


def content_hashes(
    key: Key, original: Table, rows: Longs, schema: Schema
) -> Iterator[tuple[str, Hashes]]:
    """The hashes of the cells of these rows, column by column, sorted by name."""
    for name in sorted(set(original.frame.columns) - set(schema.names(*REMOVED))):
        yield name, _taken(key, "cell", original, rows, name, _meant(schema, name))


def who_hashes(
    key: Key, original: Table, rows: Longs, schema: Schema, asked: KAnonymity
) -> Iterator[tuple[str, Hashes]]:
    """The hashes of the identifiers of these rows, and of the person column."""
    naming = dict.fromkeys([*filter(None, [asked.person]), *schema.names(Role.IDENTIFIER)])
    for name in naming:
        if name in original.frame.columns:
            meant = partial(_name, schema=schema)
            yield name, _taken(key, "person", original, rows, name, meant)


def _taken(
    key: Key,
    purpose: str,
    original: Table,
    rows: Longs,
    name: str,
    meant: Callable[[Table], pl.Series],
) -> Hashes:
    # Column by column: all of them at once would be a copy of the table. From one chunk, rows
    # are taken several times as fast as from many.
    cells = original.frame.select(name).rechunk()[rows]
    return _hashes(key, purpose, original.with_frame(cells), meant)


def traced(
    key: Key,
    released: pl.DataFrame,
    content: Iterable[tuple[str, Hashes]],
    who: Mapping[str, Hashes],
    schema: Schema,
    *,
    whole: bool = False,
) -> FootprintPart:
    """The footprint of released rows, from the hashes of the original rows behind them.

    The classes of the `whole` release are numbered in the order of their cells. The classes of a
    part have a hash of their cells, which is the same in every part.
    """
    carried = schema.names(Role.SENSITIVE, Role.INSENSITIVE)
    classes = _classes(key, released.select(pl.exclude(carried)), numbered=whole)
    sensitive = schema.names(Role.SENSITIVE)
    short, values = {}, {}
    records = np.zeros(released.height, dtype=np.uint64)
    for name, cells in content:
        records = combined([records, cells], released.height)
        short[name] = cells.astype(np.uint32)
        if name in sensitive:
            values[name] = _distinct(classes, cells)
    records = combined([records, *(who[name] for name in sorted(who))], released.height)
    sums = _sums(classes, records)
    return FootprintPart(released.height, sums, classes, records, short, dict(who), values)


def _classes(key: Key, cells: pl.DataFrame, *, numbered: bool) -> Hashes:
    """The class of each row: numbered in the order of the released cells, or a hash of them."""
    if numbered:
        ranked = cells.select(pl.struct(cells.columns).rank("dense").alias("class"))["class"]
        return ranked.to_numpy().astype(np.uint64) - np.uint64(1)
    columns = (
        _hashes(key, "class", Table(cells.select(name)), lambda table: _text(*table.frame))
        for name in sorted(cells.columns)
    )
    return combined(columns, cells.height)


def _sorted_by(first: Hashes, second: Hashes) -> Longs:
    """The rows in the order of two hashes; the order of equal rows does not matter."""
    frame = pl.DataFrame({"first": first, "second": second})
    return frame.select(pl.arg_sort_by("first", "second"))["first"].to_numpy().astype(np.int64)


def _runs(ordered: Hashes) -> tuple[Longs, Longs]:
    """The lengths of runs of equal hashes, and where they begin."""
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)])
    return np.diff(np.r_[begins, len(ordered)]), begins


def _distinct(classes: Hashes, hashes: Hashes) -> tuple[Hashes, Hashes]:
    """The distinct pairs of a class and a value, sorted."""
    order = _sorted_by(classes, hashes)
    classes, hashes = classes[order], hashes[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (classes[1:] != classes[:-1]) | (hashes[1:] != hashes[:-1])
    return classes[new], hashes[new]


def _values(classes: Hashes, hashes: Hashes) -> Values:
    classes, hashes = _distinct(classes, hashes)  # different parts may have the same pairs
    return Values(_runs(classes)[0], hashes)


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
    return _text(whose(column, schema.table))


def _hashes(key: Key, purpose: str, table: Table, meant: Callable[[Table], pl.Series]) -> Hashes:
    """BLAKE2b of a secret and the meaning of each cell of a column, several times as fast as HMAC.

    The secret is derived from the key. Unlike SHA-256, BLAKE2b needs no HMAC around it: it does not
    allow length extension. Its built-in keyed mode takes twice as long. Repeated cells are read and
    hashed once.
    """
    cells = table.frame
    (name,) = cells.columns
    secret = key.digest("register", purpose.encode(), name.encode())
    distinct = cells.unique()
    if distinct.height > cells.height / 2:
        return _digests(secret, meant(table))
    known = distinct.with_columns(
        pl.Series("\0hash", _digests(secret, meant(table.with_frame(distinct))))
    )
    found = cells.join(known, on=name, how="left", nulls_equal=True, maintain_order="left")
    return found["\0hash"].to_numpy().astype(np.uint64)


def _digests(secret: bytes, cells: pl.Series) -> Hashes:
    told = cells.drop_nulls().cast(pl.Binary)
    data = b"".join(
        b"".join([blake2b(secret + cell, digest_size=SIZE).digest() for cell in some.to_list()])
        for some in (told[begin : begin + _SLICE] for begin in range(0, len(told), _SLICE))
    )
    hashes = np.full(len(cells), NOBODY, dtype=np.uint64)
    hashes[cells.is_not_null().to_numpy()] = np.frombuffer(data, dtype="<u8")
    return hashes
