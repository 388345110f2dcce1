"""How much the columns reveal together, and which columns tell the same fact twice.

Each cell is hashed to 64 bits, and a combination of columns is the sum of its hashes. So a
combination without one column is one subtraction, and twenty columns are counted in a moment.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey.inspection.facts import Facts
from covey.inspection.sentinels import days

Hashes = NDArray[np.uint64]

_MOST_ROWS = 200_000  # are counted; of larger tables, a sample of every n-th row
_SAMPLE = 4_000  # rows that relations are tried on first
_ENOUGH = 20  # rows that would contradict a relation by chance, at least
_FEW = 0.02  # share of these that may do so: tables have typos
_MOST_COLUMNS = 100  # are compared with each other
_SAME_ORDER = 0.98  # rank correlation of columns that tell nearly the same
_SAME_AGE = 0.9  # of ages and dates of birth, which their names say already


@dataclass(frozen=True)
class Uniqueness:
    """How many rows are unique by all quasi-identifiers, and without each of them."""

    rows: int
    together: int
    without: Mapping[str, int]
    sampled: bool  # whether only a sample of the rows was counted

    def added_by(self, name: str) -> int:
        """The number of rows that are unique only because of this column."""
        return self.together - self.without[name]


def uniqueness(cells: Sequence[pl.Series]) -> Uniqueness:
    """Count the rows that are unique by these columns."""
    height = len(cells[0]) if cells else 0
    every = -(-height // _MOST_ROWS) or 1
    hashed = [_hashes(column.gather_every(every), place) for place, column in enumerate(cells)]
    rows = len(hashed[0]) if hashed else 0
    total = sum(hashed, np.zeros(rows, np.uint64))
    without = {
        column.name: _unique(total - own) if len(cells) > 1 else 0
        for column, own in zip(cells, hashed, strict=True)
    }
    return Uniqueness(rows, _unique(total) if cells else 0, without, every > 1)


def _hashes(cells: pl.Series, place: int) -> Hashes:
    return cells.hash(seed=place + 1).to_numpy()


def _unique(keys: Hashes) -> int:
    return int(pl.Series(keys).is_unique().sum())


# ── the same fact twice ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Relation:
    """`column` can be told from `source`, and the other way round if they are `equal`."""

    source: str
    column: str
    equal: bool = False
    is_order: bool = False  # they only have nearly the same order, as ages and dates of birth
    is_birth: bool = False  # the column is a date of birth beside an age


def relations(columns: Sequence[Facts], persons: pl.Series | None = None) -> list[Relation]:
    """The columns that others tell, each once.

    Of people with several rows, given by the person of each row, only the first counts: all facts
    about a person repeat together, which says nothing about others.
    """
    some = [facts for facts in columns if 2 < facts.distinct < 0.8 * facts.present]
    some = some[:_MOST_COLUMNS]
    once = None if persons is None else persons.is_first_distinct().to_numpy()
    hashed = {facts.name: _Keys.of(facts, place, once) for place, facts in enumerate(some)}
    pairs = (sorted(two, key=lambda facts: -facts.distinct) for two in combinations(some, 2))
    values = (_determines(fine, coarse, hashed) for fine, coarse in pairs)
    found: dict[str, Relation] = {}
    for relation in (*_of_births(columns), *values, *_same_order(columns)):
        # A column that is to be removed is no reason to remove another.
        if relation is not None and not {relation.column, relation.source} & found.keys():
            found[relation.column] = relation
    return list(found.values())


@dataclass(frozen=True)
class _Keys:
    """The hashes of a column, and which of its cells are present."""

    hashes: Hashes
    present: NDArray[np.bool_]

    @classmethod
    def of(cls, facts: Facts, place: int, rows: NDArray[np.bool_] | None) -> "_Keys":
        present = facts.cells.is_not_null().to_numpy()
        return cls(_hashes(facts.cells, place), present if rows is None else present & rows)

    def common(self, other: "_Keys", every: int = 1) -> tuple[Hashes, Hashes]:
        """The hashes of every n-th row in which both columns are present."""
        known = self.present[::every] & other.present[::every]
        return self.hashes[::every][known], other.hashes[::every][known]


def _determines(fine: Facts, coarse: Facts, keys: Mapping[str, _Keys]) -> Relation | None:
    """Whether the values of one column tell those of the other, with a few exceptions."""
    every = -(-len(fine.cells) // _SAMPLE) or 1
    finer, coarser = keys[fine.name], keys[coarse.name]
    if not _tells(*finer.common(coarser, every)):
        return None
    if every > 1 and not _tells(*finer.common(coarser)):
        return None
    equal = fine.distinct < 1.2 * coarse.distinct and _tells(*coarser.common(finer))
    if equal:
        fine, coarse = sorted((fine, coarse), key=_worth)
    return Relation(fine.name, coarse.name, equal)


def _worth(facts: Facts) -> int:
    """Codes that can be cut to shorter ones come first, and then labels, which readers know."""
    return 0 if facts.is_padded else 1 if facts.is_text else 2


def _tells(source: Hashes, column: Hashes) -> bool:
    """Whether equal values of one column have equal values of the other, and not by chance.

    By chance means as often as if the cells of the other column were in another order.
    """
    values = _distinct(source)
    by_chance = _distinct(source + column[_another_order(len(column))]) - values
    return by_chance >= _ENOUGH and _distinct(source + column) - values <= _FEW * by_chance


@functools.lru_cache(4)
def _another_order(rows: int) -> NDArray[np.intp]:
    """The same order each time, which has nothing to do with that of the table."""
    return np.random.default_rng(rows).permutation(rows)


def _distinct(keys: Hashes) -> int:
    return len(np.unique(keys)) if len(keys) <= _SAMPLE else pl.Series(keys).n_unique()


def _of_births(columns: Sequence[Facts]) -> list[Relation]:
    """An age beside a date of birth that tells the same: the older people are born earlier."""
    born = [f for f in columns if "birth" in f.concepts and (f.is_date or f.is_numeric)]
    ages = [f for f in columns if "age" in f.concepts and f.is_numeric]
    if len(born) != 1 or len(ages) != 1 or born[0] is ages[0]:
        return []
    two = np.array([_ranks(ages[0]), _ranks(born[0])])
    known = np.isfinite(two).all(axis=0)
    differ = known.any() and (np.ptp(two[:, known], axis=1) > 0).all()  # else there is no order
    if not differ or known.sum() < _ENOUGH or np.corrcoef(two[:, known])[0, 1] > -_SAME_AGE:
        return []
    return [Relation(ages[0].name, born[0].name, is_order=True, is_birth=True)]


def _same_order(columns: Sequence[Facts]) -> list[Relation]:
    """Numbers and dates with nearly the same order."""
    ranked = {f.name: _ranks(f) for f in columns if f.distinct > 10 and (f.is_date or f.is_numeric)}
    if len(ranked) < 2:
        return []
    ranks = np.array(list(ranked.values()))
    known = np.isfinite(ranks).astype(float)
    centred = np.nan_to_num(ranks)
    together = known @ known.T
    spread = np.sqrt((centred**2 @ known.T) * (known @ (centred**2).T))
    alike = np.abs(centred @ centred.T) / np.maximum(spread, 1e-9)
    pairs = np.argwhere(np.triu((alike >= _SAME_ORDER) & (together >= 5 * _ENOUGH), 1))
    names = list(ranked)
    return [Relation(names[one], names[other], is_order=True) for one, other in pairs.tolist()]


def _ranks(facts: Facts) -> NDArray[np.float64]:
    """The ranks of some cells among the present ones, around 0; NaN if missing."""
    values = days(facts).cast(pl.Float64) if facts.is_date else facts.numbers
    some = facts.cells.gather_every(-(-len(facts.cells) // (_SAMPLE // 2)) or 1)
    numbers = some.replace_strict(facts.values, values, default=None, return_dtype=pl.Float64)
    ranks = numbers.rank()
    return (ranks - ranks.mean()).cast(pl.Float64).fill_null(np.nan).to_numpy()
