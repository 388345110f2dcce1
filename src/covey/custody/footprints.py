"""Who is in which class of a release, as keyed hashes only.

A register must recognise people without storing who they are. So every cell that may identify a
person is hashed under the custodian's key: without the key, no one can test names against it. Equal
cells of a column have equal hashes, which would reveal frequencies, so hashes are sealed before
they are stored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import blake2b

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Longs
from covey.custody.cipher import sealed
from covey.custody.keys import Key
from covey.schema import ColumnType, Role, Schema
from covey.schema.labels import seen
from covey.schema.requirements import KAnonymity
from covey.tables import Table, whose
from covey.tables.cells import as_days, as_numbers

Hashes = NDArray[np.uint64]
Parts = NDArray[np.uint32]  # half-length hashes: enough to compare rows by several columns
NOBODY = 0  # the hash of a missing cell
SIZE = 8  # bytes: with a million cells, one table in ten million has a collision
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
    `content`. Rows of a class are sorted by their hashes, so their order reveals nothing. If a
    method forms no classes of equal rows, the footprint has no rows.
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


def combined(hashes: Sequence[NDArray[np.unsignedinteger]], rows: int) -> Hashes:
    """Combine the hashes of several cells into one for each row, as a polynomial."""
    found = np.zeros(rows, dtype=np.uint64)
    for one in hashes:
        found = found * _FACTOR + one
    return found


def are_unique(hashes: Hashes) -> bool:
    """Whether every row is known and no two rows are equal."""
    return bool(hashes.all()) and pl.Series(hashes).n_unique() == len(hashes)


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
    carried = schema.names(Role.SENSITIVE, Role.INSENSITIVE)
    classes = _classes(released.select(n for n in released.columns if n not in carried))
    behind = original.with_frame(original.frame[rows])
    others = sorted(set(behind.frame.columns) - set(schema.names(Role.IDENTIFIER)))
    cells = {name: _hashes(key, "cell", name, behind, _meant(schema, name)) for name in others}
    naming = dict.fromkeys([*filter(None, [asked.person]), *schema.names(Role.IDENTIFIER)])
    who = {
        name: _hashes(key, "person", name, behind, partial(_name, schema=schema))
        for name in naming
        if name in behind.frame.columns
    }
    records = combined([*cells.values(), *(who[name] for name in sorted(who))], len(rows))
    order = np.lexsort((records, classes))  # the order of equal rows does not matter
    sizes = np.bincount(classes)
    found = Footprint(
        key=key.fingerprint,
        sizes=sizes,
        content={name: hashes[order].astype(np.uint32) for name, hashes in cells.items()},
        who={name: hashes[order] for name, hashes in who.items()},
        values={name: _values(cells[name], classes) for name in schema.names(Role.SENSITIVE)},
        k=asked.k,
        person=asked.person or None,
        lasting=key.stored,
        people=_digest(sizes, records[order]),
        _secret=key.digest("register", b"file"),
    )
    return found if alike else replace(found, sizes=sizes[:0], content={}, who={}, values={})


def _classes(cells: pl.DataFrame) -> Longs:
    """The class of each row, numbered in the order of the released cells."""
    ranked = cells.select(pl.struct(cells.columns).rank("dense").alias("class"))["class"]
    return ranked.to_numpy().astype(np.int64) - 1


def _digest(sizes: Longs, records: Hashes) -> bytes:
    whole = blake2b(sizes.astype("<u8").tobytes(), digest_size=16)
    whole.update(records.astype("<u8").tobytes())
    return whole.digest()


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


def _hashes(
    key: Key, purpose: str, name: str, table: Table, meant: Callable[[Table], pl.Series]
) -> Hashes:
    """BLAKE2b of a secret and the meaning of each cell, several times as fast as HMAC.

    The secret is derived from the key. Unlike SHA-256, BLAKE2b needs no HMAC around it: it does not
    allow length extension. Its built-in keyed mode takes twice as long. Repeated cells are read and
    hashed once.
    """
    secret = key.digest("register", purpose.encode(), name.encode())
    cells = table.frame.select(name)
    distinct = cells.unique()
    if distinct.height > cells.height / 2:
        return _digests(secret, meant(table.with_frame(cells)))
    known = distinct.with_columns(
        pl.Series("\0hash", _digests(secret, meant(table.with_frame(distinct))))
    )
    found = cells.join(known, on=name, how="left", nulls_equal=True, maintain_order="left")
    return found["\0hash"].to_numpy().astype(np.uint64)


def _digests(secret: bytes, cells: pl.Series) -> Hashes:
    told = cells.drop_nulls().cast(pl.Binary).to_list()
    data = b"".join([blake2b(secret + cell, digest_size=SIZE).digest() for cell in told])
    hashes = np.full(len(cells), NOBODY, dtype=np.uint64)
    hashes[cells.is_not_null().to_numpy()] = np.frombuffer(data, dtype="<u8")
    return hashes


def _values(hashes: Hashes, classes: Longs) -> Values:
    pairs = pl.DataFrame({"class": classes, "hash": hashes}).unique().sort("class", "hash")
    sizes = np.bincount(pairs["class"].to_numpy())
    return Values(sizes, pairs["hash"].to_numpy().astype(np.uint64))
