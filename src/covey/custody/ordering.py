"""Rows in an order that reveals nothing, and the seed of all random choices.

Rows are sorted by their content and shuffled under the custodian's key before a method sees them.
The released rows are sorted by their released cells. So positions reveal nothing, any permutation
of the input gives the same release, and if only k is required, the groups depend only on the
quasi-identifiers and the key.

The seed follows from the key, the request and a sum of keyed hashes of all rows. Sums of batches
add up, so a table that is read in batches, in any order, has the same seed.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import polars as pl

from covey._core.arrays import Longs
from covey.custody.hashes import ODD, Hashes, mixed
from covey.custody.keys import Key
from covey.encoding import EncodedTable, Values, rows_to_keep
from covey.encoding.lookups import as_labels, lookup
from covey.encoding.selection import Selection
from covey.errors import UsageError
from covey.schema import Schema
from covey.tables import Table


@dataclass(frozen=True, eq=False, repr=False)
class KeptRows:
    """The rows that no missing-value policy drops, in the input's order."""

    table: Table
    selection: Selection  # of the input's rows

    def take(self, some: Selection) -> "KeptRows":
        """Some of the rows."""
        table = self.table.with_rows(some.of(self.table.frame), some.rows)
        return KeptRows(table, self.selection.then(some))


def people_as_read(table: Table, schema: Schema) -> KeptRows:
    """The rows that no missing-value policy drops."""
    kept = rows_to_keep(table, schema)
    if kept.is_all:
        return KeptRows(table, kept)
    return KeptRows(table.with_rows(kept.of(table.frame), kept.rows), kept)


# ── secrets ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Secret:
    """What random choices are drawn with: the custodian's key, or in experiments a seed."""

    _key: Key = field(repr=False)
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.seed is not None and self.seed < 0:
            raise UsageError("the seed must be 0 or more")

    def digest(self, purpose: str, *parts: bytes) -> bytes:
        """32 bytes that no one can compute without the secret."""
        if self.seed is None:
            return self._key.digest(purpose, *parts)
        text = json.dumps([self.seed, purpose, *(part.hex() for part in parts)])
        return hashlib.sha256(text.encode()).digest()

    def seed_of(self, content: "Content", schema: Schema, request: Sequence[Any]) -> int:
        """A number determined by the quasi-identifiers, the request and the secret.

        Groups are the same whether intervals or means are shown: different ones could be combined.
        """
        if self.seed is not None:
            return self.seed
        settings = [
            schema.columns[name].model_dump(
                mode="json", exclude={"taxonomy", "render", "confirmed", *_SEEN_IN_THE_CELLS}
            )
            for name in sorted(schema.quasi)
        ]
        text = json.dumps([settings, schema.loss, request], default=str).encode()
        return int.from_bytes(self.digest("seed", text, content.digest)[:16])

    def hasher(self, schema: Schema) -> "RowHasher":
        """The hash of rows by their quasi-identifiers."""
        return RowHasher(self._by_place("row", sorted(schema.quasi)))

    def person_hasher(self, names: Sequence[str]) -> "PersonHasher":
        """The hash of persons by each of these columns."""
        return PersonHasher(self._by_place("person", names))

    def _by_place(self, purpose: str, names: Sequence[str]) -> dict[str, bytes]:
        """A secret for each column, by its place: a release does not depend on names."""
        return {n: self.digest(purpose, place.to_bytes(2)) for place, n in enumerate(names)}


_SEEN_IN_THE_CELLS = ("missing_values", "unreadable", "recode")  # they change what is hashed


def part_seed(seed: int, part: int) -> int:
    """The seed of a part of a table: a table in one part has the seed of the table."""
    if part == 0:
        return seed
    return int.from_bytes(hashlib.sha256(json.dumps([seed, part]).encode()).digest()[:16])


@dataclass(frozen=True, eq=False, repr=False)
class PersonHasher:
    """Persons as keyed hashes, from which no name and no key can be computed."""

    secrets: Mapping[str, bytes]  # by column

    def __call__(self, persons: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
        """The hash of each person by each column; null stays null."""
        return {n: _hashed(cells, self.secrets[n]).alias(n) for n, cells in persons.items()}


def _hashed(cells: pl.Series, secret: bytes) -> pl.Series:
    """Each distinct cell as a number of 64 bits."""
    known = cells.drop_nulls().unique()
    texts = known.cast(pl.String).cast(pl.Binary).to_list()
    data = b"".join([blake2b(one, digest_size=8, key=secret).digest() for one in texts])
    hashes = pl.Series(np.frombuffer(data, dtype="<u8"), dtype=pl.UInt64)
    return cells.replace_strict(known, hashes, default=None, return_dtype=pl.UInt64)


@dataclass(frozen=True)
class Content:
    """A digest of rows in no particular order: digests of batches add up."""

    rows: int = 0
    sums: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, hashes: tuple[Hashes, Hashes]) -> "Content":
        """The digest of rows with these hashes."""
        first, second = (int(lane.sum(dtype=np.uint64)) for lane in hashes)
        return cls(len(hashes[0]), (first, second))

    def __add__(self, other: "Content") -> "Content":
        first, second = ((a + b) % 2**64 for a, b in zip(self.sums, other.sums, strict=True))
        return Content(self.rows + other.rows, (first, second))

    @property
    def digest(self) -> bytes:
        """All of it in bytes."""
        return b"".join(number.to_bytes(8) for number in (self.rows, *self.sums))


@dataclass(frozen=True, eq=False, repr=False)
class RowHasher:
    """Hashes rows by the values of their quasi-identifiers, into two numbers of 64 bits.

    Labels are hashed by BLAKE2b and numbers are mixed with secret words. No one sees these hashes:
    they only have to differ, and not to be known beforehand. Processes elsewhere get a hasher, from
    which the key cannot be computed.
    """

    secrets: Mapping[str, bytes]  # by column
    _known: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def __call__(self, values: Values) -> tuple[Hashes, Hashes]:
        """Two hashes of each row."""
        first, second = (np.zeros(values.rows, dtype=np.uint64) for _ in range(2))
        for name, secret in self.secrets.items():
            one, other = self._words(name, values.quasi[name], secret)
            first, second = mixed(first * ODD ^ one), mixed(second * ODD ^ other)
        return first, second

    def _words(self, name: str, values: pl.Series, secret: bytes) -> tuple[Hashes, Hashes]:
        if values.dtype == pl.Categorical:
            return self._words_of_labels(name, values, secret)
        bits = values.fill_null(float("nan")).to_numpy().view(np.uint64)
        words = np.frombuffer(secret, dtype="<u8")
        return mixed(bits ^ words[0]) + words[1], mixed(bits ^ words[2]) + words[3]

    def _words_of_labels(
        self, name: str, labels: pl.Series, secret: bytes
    ) -> tuple[Hashes, Hashes]:
        hashed = self._known.setdefault(name, {})

        def words(texts: list[str]) -> Hashes:
            for text in texts:
                if text not in hashed:
                    hashed[text] = blake2b(text.encode(), digest_size=16, key=secret).digest()
            data = b"".join(hashed[text] for text in texts)
            return np.frombuffer(data, dtype="<u8").reshape(-1, 2)

        missing = np.frombuffer(secret[:16], dtype="<u8")
        found = lookup(labels, words, missing)
        return found[:, 0], found[:, 1]


# ── order ───────────────────────────────────────────────────────────────────────────────────────


def keyed_order(encoded: EncodedTable, others: pl.DataFrame, seed: int) -> Longs:
    """The rows in an order that only the holder of the secret can reproduce.

    They are sorted by a hash of their quasi-identifiers; rows with the same hash by these and then
    by the `others`. The shuffle then moves each of them.
    """
    values = [attribute.values for attribute in encoded.attributes]
    hashes = np.zeros(encoded.rows, dtype=np.uint64)
    for column in values:
        words = column.view(np.uint64) if column.dtype.kind == "f" else column.astype(np.uint64)
        hashes = mixed(hashes * ODD ^ words)
    order = np.argsort(hashes, kind="stable")
    ranked = hashes[order]
    same = np.append(ranked[1:] == ranked[:-1], False)
    tied = np.flatnonzero(same | np.append(False, same[:-1]))
    if len(tied):
        rows = order[tied]
        quasi = [pl.Series(f"\0{place}", column[rows]) for place, column in enumerate(values)]
        frame = pl.DataFrame(
            [pl.Series("\0", hashes[rows]), *quasi, *(one.gather(rows) for one in others)]
        )
        order[tied] = rows[canonical_order(frame, frame.columns)]
    return order[np.random.default_rng((seed, _SHUFFLE)).permutation(len(order))]


# Makes the shuffle's random numbers independent of those that the method draws with the same seed.
_SHUFFLE = 1


def canonical_order(
    frame: pl.DataFrame, columns: Sequence[str], ties: Longs | None = None
) -> Longs:
    """The rows sorted by these columns: any order of the input gives the same cells.

    Rows that are equal in all of them come in the order of `ties`, an order of all rows. If the
    ranks of all columns fit into one number, one sort of numbers is enough.
    """
    ties = np.arange(frame.height, dtype=np.int64) if ties is None else ties
    key, sizes = np.zeros(frame.height, dtype=np.int64), 1
    for name in columns:
        rank, size = _ranks(frame[name])
        sizes *= size
        if sizes >= _LARGEST_KEY:
            keys = [key for name in columns for key in _sort_keys(frame, name)]
            sorted_ = frame[ties].select(pl.arg_sort_by(keys, maintain_order=True).alias("row"))
            order: Longs = sorted_["row"].to_numpy().astype(np.int64)
            return ties[order]
        key = key * size + rank
    ranked: Longs = np.argsort(key[ties], kind="stable")
    return ties[ranked]


_LARGEST_KEY = 2**63
_SMALL = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.Date)
_MANY = 1_000  # labels that are better sorted than looked up, if they rarely repeat


def _ranks(cells: pl.Series) -> tuple[Longs, int]:
    """A number for each cell that rises with it, missing first, and one more than the highest."""
    if cells.dtype in _SMALL:
        numbers = cells.to_physical()
        low, high = numbers.min(), numbers.max()
        if low is None or high is None or int(high) - int(low) < 2**32:  # type: ignore[arg-type]
            start = int(low or 0)  # type: ignore[arg-type]
            # Hashes may be too large for 64 bits with a sign, and small types for a difference.
            wide = numbers if numbers.dtype == pl.UInt64 else numbers.cast(pl.Int64)
            rank = ((wide - start).cast(pl.Int64) + 1).fill_null(0).to_numpy()
            return rank, int(high or 0) - start + 2  # type: ignore[arg-type]
    if cells.dtype == pl.String:
        different = cells.drop_nulls().unique()
        if len(different) > _MANY and len(different) > len(cells) / 8:
            return np.zeros(len(cells), dtype=np.int64), _LARGEST_KEY
        known = different.sort().to_list()
        places = {label: place for place, label in enumerate(known, 1)}

        def ranks(texts: list[str]) -> Longs:
            return np.array([places[text] for text in texts], dtype=np.int64)

        return lookup(as_labels(cells), ranks, 0), len(known) + 1
    return np.zeros(len(cells), dtype=np.int64), _LARGEST_KEY


def _sort_keys(frame: pl.DataFrame, name: str) -> list[pl.Expr]:
    """Sort keys of a column: -0.0 equals 0.0 in a sort but not in a file, so its sign is a key."""
    cells = pl.col(name)
    if not frame.schema[name].is_float():
        return [cells]
    return [cells, 1 / cells == -float("inf")]
