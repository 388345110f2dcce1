"""What is left of a class after its values that another class would hold are discarded.

Methods form small groups. So an attacker may think: a person with these values would be in that
narrower class, which lies within this one. If true values are discarded less often than
others, classes say more than they show (downcoding, Cohen 2022; combinatorial refinement attacks,
arXiv 2509.03350).
"""

import numpy as np

from covey._core.arrays import Longs
from covey.attacks.case import Case
from covey.attacks.columns import KnownColumn, Line
from covey.attacks.findings import Finding
from covey.attacks.knowledge import QUASI, Attacker
from covey.attacks.matching import Rows, fitting
from covey.attacks.rates import paired
from covey.encoding.attributes import Mask

_PEOPLE = 300
_POINTS = 50  # that stand for all values of a class


def refinement(case: Case, seed: int) -> Finding | None:
    """How often true and other values survive, among people whose class is certain."""
    columns = [case.columns[name] for name in case.columns if name in case.schema.quasi]
    if not columns:
        return None
    rows, random = Rows.of(columns), np.random.default_rng(seed)
    found = []
    for pairs in fitting(columns, rows, case.order[:_PEOPLE], about=False):
        number = np.bincount(pairs.one, minlength=pairs.count)
        for one, row in zip(pairs.one.tolist(), pairs.other.tolist(), strict=True):
            if number[one] == 1:
                person = int(pairs.people[np.flatnonzero(pairs.known == one)[0]])
                found.append(_survive(columns, rows, row, person, random))
    if not found:
        return None
    true, other = np.array(found).T
    attacker = Attacker(tuple(column.name for column in columns), group=QUASI)
    return Finding("refinement", attacker, paired(true, other))


def _survive(
    columns: list[KnownColumn], rows: Rows, row: int, person: int, random: np.random.Generator
) -> tuple[float, float]:
    """Whether a person's values survive, and what share of all values of their class."""
    cells = [column.cells[rows.first] for column in columns]
    within = np.logical_and.reduce(
        [_lie_within(c, own, own[row]) for c, own in zip(columns, cells, strict=True)]
    )
    within[row] = False  # itself
    points = [
        np.append(column.values[person], random.choice(_values(column, own[row]), _POINTS))
        for column, own in zip(columns, cells, strict=True)
    ]
    held = np.logical_and.reduce(
        [
            column.fits(some[:, None], own[within][None, :], about=False)
            for column, own, some in zip(columns, cells, points, strict=True)
        ]
    ).any(axis=1)
    return float(not held[0]), float((~held[1:]).mean())


def _lie_within(column: KnownColumn, cells: Longs, cell: int) -> Mask:
    """The cells that stand for nothing but what this one stands for."""
    if isinstance(column, Line):
        low, high = column.low[cells], column.high[cells]
        found: Mask = (column.low[cell] <= low) & (high <= column.high[cell])
        return found
    every, distinct = np.arange(column.values.max() + 1), np.unique(cells)
    others = np.setdiff1d(every, _values(column, cell))
    outside = column.fits(others[:, None], distinct, about=False).sum(axis=0)
    return np.isin(cells, distinct[outside == 0])


def _values(column: KnownColumn, cell: int) -> Longs:
    """The values of the table that a cell may stand for."""
    every = np.arange(column.values.max() + 1)
    return np.flatnonzero(column.fits(every, np.array(cell), about=False))
