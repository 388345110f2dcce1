"""Who is in which class of a release, in keyed hashes alone.

A register must recognise people whom it meets again without knowing anybody. So every cell that
tells who a row is about becomes 8 bytes under the custodian's key: without the key they tell
nothing, and nobody can try out names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey.keys import Key
from covey.requirements import KAnonymity
from covey.schema import Role, Schema
from covey.tables import Table, whose

Longs = NDArray[np.int64]
Hashes = NDArray[np.uint64]
NOBODY = 0  # the hash of a missing cell
SIZE = 8  # bytes: two of a million cells are alike by chance once in ten million tables


@dataclass(frozen=True, eq=False, repr=False)
class Values:
    """The different values that each class has in a sensitive column."""

    sizes: Longs  # how many, class by class
    hashes: Hashes  # one class after the other


@dataclass(frozen=True, eq=False, repr=False)
class Footprint:
    """The released rows, class by class: who they are about, and what the classes show.

    A row is known by each of its identifiers, `who`, and by all its other original cells together,
    `content`. Rows of a class are sorted by their hashes, so their order tells nothing. A release
    whose rows are not alike has no classes, and its footprint no rows.
    """

    key: str  # the fingerprint of the key
    sizes: Longs  # rows of each class
    content: Hashes
    who: dict[str, Hashes]  # by column
    values: dict[str, Values]  # by sensitive column
    k: int = 0  # what was asked of it: so many rows in each class, or persons
    person: str | None = None  # the column by which persons are counted, instead of rows
    lasting: bool = True  # whether the key is kept, so that people are recognised next time
    _paths: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        rows = [self.sizes.sum(), *map(len, self.who.values())]
        classes = [len(values.sizes) for values in self.values.values()]
        shown = [values.sizes.sum() == len(values.hashes) for values in self.values.values()]
        if {*rows} - {self.rows} or {*classes} - {len(self.sizes)} or not all(shown):
            raise ValueError("a footprint has one hash for each row and each value")

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.content)

    @cached_property
    def classes(self) -> Longs:
        """The class of each row."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def persons(self) -> Longs | None:
        """Whose row each is, numbered from 0, -1 for nobody known; None where rows are counted."""
        if self.person is None:
            return None
        known, persons = np.unique(self.who[self.person], return_inverse=True)
        return np.where(self.who[self.person] == NOBODY, -1, persons - (known[0] == NOBODY))

    @cached_property
    def codes(self) -> list[str]:
        """The identifiers that have another value in every row, and one in each."""
        return [name for name, hashes in self.who.items() if are_unique(hashes)]

    def place(self, path: str) -> bytes:
        """A path in 16 bytes, by which it is recognised and not read."""
        return blake2b(
            path.encode(errors="surrogatepass"), digest_size=16, key=self._paths
        ).digest()


def are_unique(hashes: Hashes) -> bool:
    """Whether everybody is known, by one row."""
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
    """The footprint of a release; `rows` are the original's rows behind the released ones."""
    if not alike:
        rows, released = rows[:0], released[:0]
    carried = schema.names(Role.SENSITIVE, Role.INSENSITIVE)
    shown = [name for name in released.columns if name not in carried]
    classes = _classes(released.select(shown))
    others = sorted(set(original.frame.columns) - set(schema.names(Role.IDENTIFIER)))
    content = _hashes(key, "row", others, _joined([_text(original, n)[rows] for n in others]))
    order = np.lexsort((content, classes))
    naming = dict.fromkeys([*filter(None, [asked.person]), *schema.names(Role.IDENTIFIER)])
    return Footprint(
        key=key.fingerprint,
        sizes=np.bincount(classes),
        content=content[order],
        who={
            name: _hashes(key, "person", [name], _name(original, name, schema)[rows[order]])
            for name in naming
            if name in original.frame.columns
        },
        values={
            name: _values(
                _hashes(key, "value", [name], _text(original, name)[rows[order]]), classes[order]
            )
            for name in schema.names(Role.SENSITIVE)
        },
        k=asked.k,
        person=asked.person or None,
        lasting=key.stored,
        _paths=key.digest("register", b"path"),
    )


def _classes(cells: pl.DataFrame) -> Longs:
    """The class of each row, numbered in the order of what they show."""
    ranked = cells.select(pl.struct(cells.columns).rank("dense").alias("class"))["class"]
    return ranked.to_numpy().astype(np.int64) - 1


def _text(table: Table, name: str) -> pl.Series:
    """The cells as text, the same for a number whether it came as text or as a number."""
    cells = table.cells(name)
    text = cells.cast(pl.String)
    if cells.dtype.is_float():
        text = text.str.replace(r"\.0$", "").replace("-0", "0")
    return text


def _name(table: Table, name: str, schema: Schema) -> pl.Series:
    """Who is who, as persons are told apart where k counts them."""
    people = whose(table.frame[name], schema.table)
    return _text(table.with_frame(people.to_frame(name)), name)


def _joined(columns: Sequence[pl.Series]) -> pl.Series:
    """Whole rows as text."""
    cells = pl.DataFrame([cells.alias(str(place)) for place, cells in enumerate(columns)])
    whole = pl.concat_str(pl.all().fill_null("\x00"), separator="\x1f")
    return cells.select(whole.alias("row"))["row"]


def _hashes(key: Key, purpose: str, columns: Sequence[str], cells: pl.Series) -> Hashes:
    """BLAKE2b of a secret and the cell, several times as fast as HMAC.

    The secret is derived from the key. Unlike SHA-256, this hash needs nothing around it: from one
    digest nobody can go on to that of a longer cell. Its own mode with a key takes twice as long.
    """
    secret = key.digest("register", purpose.encode(), *(name.encode() for name in columns))
    if cells.n_unique() > len(cells) / 2:
        return _digests(secret, cells)
    distinct = cells.unique()
    known = pl.DataFrame({"cell": distinct, "hash": _digests(secret, distinct)})
    found = cells.to_frame("cell").join(
        known, on="cell", how="left", nulls_equal=True, maintain_order="left"
    )
    return found["hash"].to_numpy().astype(np.uint64)


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
