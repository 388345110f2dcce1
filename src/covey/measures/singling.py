"""The rows that someone singles out who knows cells that a release shows as they are.

An outsider who knows the postcode and the day of admission of a person looks for both among the
released rows. If exactly one row fits, or only rows of one person, that person is singled out,
however large the classes of the quasi-identifiers are. A missing cell singles out nobody.

It needs released cells alone. Combinations of cells are hashed and their rows counted; what batches
have adds up. Of very many combinations only those are kept whose hash is below a power of two: a
random part of known size, each with all of its rows, so the figures are estimates without bias.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey.tables import Table
from covey.tables.table import Longs

Words = NDArray[np.uint64]
Tried = tuple[tuple[str, ...], bool]  # columns, and whether the classes are known besides
# How many combinations have so many rows, and have only one row or only rows of one person.
Sizes = Mapping[tuple[int, bool], int]
_NOBODY = (np.uint64(2**64 - 1), np.uint64(0))  # above and below all others
_MOST_KEYS = 1 << 17  # of a combination: an estimate is off by 1 % at most, as a rule
MOST_PAIRED = 8  # columns that are tried in pairs


@dataclass(frozen=True)
class Attempt:
    """What knowing some columns, and perhaps the class, is good for."""

    columns: tuple[str, ...]
    classes: bool  # whether the quasi-identifiers are known besides
    rows: int  # singled out: exactly one row fits, or only rows of one person
    few: int  # rows that fewer than k rows fit
    sampled: bool  # whether the figures are estimates


@dataclass(frozen=True, eq=False, repr=False)
class Combinations:
    """The distinct combinations of some columns' cells, and how many rows have each."""

    keys: Words  # their hashes, ascending; only those below 2 ** bits
    rows: Longs
    owners: tuple[Words, Words] | None  # of each: the lowest and the highest hash of a person
    bits: int
    sizes: Sizes  # of all combinations, also of those that are not kept
    sampled: bool = False

    @classmethod
    def of(cls, hashes: Words, owners: pl.Series | None = None) -> "Combinations":
        """Count the combinations of a batch, exactly; owners are the persons of the rows."""
        if owners is None:
            return cls._exactly(np.sort(hashes), np.ones(len(hashes), np.int64), None)
        order, who = np.argsort(hashes), owners.hash().to_numpy()
        known = owners.is_not_null().to_numpy()
        ends = np.where(known, who, _NOBODY[0])[order], np.where(known, who, _NOBODY[1])[order]
        return cls._exactly(hashes[order], np.ones(len(hashes), np.int64), ends)

    @classmethod
    def _exactly(cls, *parts: Any) -> "Combinations":
        keys, rows, owners = _summed(*parts)
        return cls(*_thinned(keys, rows, owners, 64), _sizes(rows, owners))

    def __add__(self, other: "Combinations") -> "Combinations":
        keys = np.concatenate([self.keys, other.keys])
        rows, order = np.concatenate([self.rows, other.rows]), np.argsort(keys)
        ends = None
        if self.owners is not None and other.owners is not None:
            both = zip(self.owners, other.owners, strict=True)
            low, high = (np.concatenate(two)[order] for two in both)
            ends = low, high
        some = _summed(keys[order], rows[order], ends)
        kept = _thinned(*some, min(self.bits, other.bits))
        sizes = _sizes(kept[1], kept[2], 1 << (64 - kept[3]))
        return Combinations(*kept, sizes, kept[3] < 64)

    @property
    def distinct(self) -> int:
        """How many there are."""
        return sum(self.sizes.values())

    def single(self) -> int:
        """The rows that are the only ones of their combination, or only those of one person."""
        return sum(rows * number for (rows, single), number in self.sizes.items() if single)

    def below(self, k: int) -> int:
        """The rows whose combination has fewer than k rows."""
        return sum(rows * number for (rows, _), number in self.sizes.items() if rows < k)

    def __str__(self) -> str:
        return f"about {self.distinct:,}" if self.sampled else f"{self.distinct:,}"


def _summed(
    keys: Words, rows: Longs, owners: tuple[Words, Words] | None
) -> tuple[Words, Longs, tuple[Words, Words] | None]:
    """Equal keys, which lie side by side, as one."""
    if not len(keys):
        return keys, rows, owners
    begin = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    if owners is not None:
        owners = np.minimum.reduceat(owners[0], begin), np.maximum.reduceat(owners[1], begin)
    return keys[begin], np.add.reduceat(rows, begin), owners


def _thinned(
    keys: Words, rows: Longs, owners: tuple[Words, Words] | None, bits: int
) -> tuple[Words, Longs, tuple[Words, Words] | None, int]:
    """The keys below a power of two, the highest that leaves few enough of them."""
    some = _below(keys, bits)
    while some > _MOST_KEYS:
        bits -= 1
        some = _below(keys, bits)
    if owners is not None:
        owners = owners[0][:some], owners[1][:some]
    return keys[:some], rows[:some], owners, bits


def _below(keys: Words, bits: int) -> int:
    return len(keys) if bits == 64 else int(np.searchsorted(keys, np.uint64(1 << bits)))


def _sizes(rows: Longs, owners: tuple[Words, Words] | None, each: int = 1) -> Sizes:
    """How many combinations have so many rows; each of these stands for `each` of them.

    Rows of unknown persons may be of the known one: this is the worst case.
    """
    single = rows == 1 if owners is None else (rows == 1) | (owners[0] == owners[1])
    found, number = np.unique(2 * rows + single, return_counts=True)
    sizes = zip(found.tolist(), number.tolist(), strict=True)
    return {(size // 2, bool(size % 2)): each * many for size, many in sizes}


# ── all attempts ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False, repr=False)
class Tries:
    """The combinations of all columns that are tried, in some rows of a release."""

    found: Mapping[Tried, Combinations]

    @classmethod
    def of(
        cls,
        released: Table,
        alone: Sequence[str],
        *,
        together: Sequence[str] = (),
        classes: Sequence[str] = (),
        owners: pl.Series | None = None,
    ) -> "Tries":
        """Count a batch of a release.

        The columns `alone` are tried each by itself. Those that are tried `together`, too, are
        joined in pairs, and each with the columns that tell the `classes`. `owners` are the persons
        of the rows, if known.
        """
        cells = {name: _Hashed.of(released.cells(name), n) for n, name in enumerate(alone)}
        whole = [released.frame[name].hash(_CLASSES + n) for n, name in enumerate(classes)]
        tell = sum((one.to_numpy() for one in whole), np.zeros(released.frame.height, np.uint64))
        return cls({
            tried: _joined([cells[name] for name in tried[0]], tell if tried[1] else None, owners)
            for tried in _all_tried(alone, together, classes=bool(classes))
        })  # fmt: skip

    def __add__(self, other: "Tries") -> "Tries":
        return Tries({tried: own + other.found[tried] for tried, own in self.found.items()})

    def alone(self) -> dict[str, Combinations]:
        """The values of each column."""
        return {n[0]: own for (n, known), own in self.found.items() if len(n) == 1 and not known}

    def attempts(self, k: int) -> list[Attempt]:
        """What each attempt finds, the one that singles out most rows first."""
        found = [
            Attempt(names, classes, own.single(), own.below(k), own.sampled)
            for (names, classes), own in self.found.items()
        ]
        return sorted(found, key=lambda one: (-one.rows, -one.few, one.classes, len(one.columns)))


_CLASSES = 1 << 16  # the first seed of hashes of the classes


def _all_tried(alone: Sequence[str], together: Sequence[str], *, classes: bool) -> Iterator[Tried]:
    yield from (((name,), False) for name in alone)
    yield from ((pair, False) for pair in combinations(together[:MOST_PAIRED], 2))
    yield from (((name,), True) for name in together if classes)


@dataclass(frozen=True, eq=False, repr=False)
class _Hashed:
    """The cells of a column as numbers, and which of them are present."""

    hashes: Words
    present: NDArray[np.bool_] | None  # None if all are

    @classmethod
    def of(cls, cells: pl.Series, place: int) -> "_Hashed":
        present = cells.is_not_null().to_numpy() if cells.null_count() else None
        return cls(cells.hash(place).to_numpy(), present)


def _joined(
    cells: Sequence[_Hashed], classes: Words | None, owners: pl.Series | None
) -> Combinations:
    """The combinations in the rows that have all of these cells."""
    several = [one.hashes for one in cells] + ([] if classes is None else [classes])
    total = np.add.reduce(several)
    absent = [one.present for one in cells if one.present is not None]
    if not absent:
        return Combinations.of(total, owners)
    present = np.logical_and.reduce(absent)
    some = None if owners is None else owners.filter(pl.Series(present))
    return Combinations.of(total[present], some)
