"""What is left of a class after its values that another class would hold are discarded.

Methods form small groups. So an attacker may think: a person with these values would be in that
narrower class, which lies within this one. If true values are discarded less often than
others, classes say more than they show (downcoding, Cohen 2022; combinatorial refinement attacks,
arXiv 2509.03350).
"""

from collections.abc import Iterable, Iterator
from itertools import islice

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
_FEWEST = 20  # of whom a rate says anything
_POINTS = 50  # that stand for all values of a class


def refinement(case: Case, seed: int) -> Finding | None:
    """How often true and other values survive, among people whose own row is certain."""
    classes, random = Rows.of(case.quasi), np.random.default_rng(seed)
    survived = (
        _survive(case.quasi, classes, own, rivals, person, random)
        for person, own, rivals in islice(_certain(case, classes), _PEOPLE)
    )
    found = [each for each in survived if each is not None]
    if len(found) < _FEWEST or not case.kept:
        return None
    attacker = Attacker(tuple(column.name for column in case.quasi), group=QUASI)
    return Finding("refinement", attacker, paired(*np.array(found).T))


def _certain(case: Case, classes: Rows) -> Iterator[tuple[int, int, Longs]]:
    """People of whom one row shows all, its class, and all classes with what is kept of them.

    By quasi-identifiers alone, only those would be certain whose values no narrower class holds:
    they would survive always.
    """
    every = [*case.columns.values()]
    rows = Rows.of(every)
    for pairs in fitting(every, rows, case.order, about=False):
        number = np.bincount(pairs.one, minlength=pairs.count)
        own = np.zeros(pairs.count, np.int64)
        own[pairs.one] = classes.of_release[rows.first[pairs.other]]
        for person, known in zip(pairs.people.tolist(), pairs.known.tolist(), strict=True):
            if number[known] == 1:
                same = _all(
                    column.fits(column.values[person], column.cells[rows.first], about=False)
                    for column in case.kept
                )
                rivals = np.unique(classes.of_release[rows.first[same]])
                yield person, int(own[known]), rivals[rivals != own[known]]


def _survive(
    quasi: list[KnownColumn],
    classes: Rows,
    own: int,
    rivals: Longs,
    person: int,
    random: np.random.Generator,
) -> tuple[float, float] | None:
    """Whether a person's values survive, and what share of others of their class do.

    The others are as certain as the person's: no rival holds them.
    """
    cells = [column.cells[classes.first] for column in quasi]
    within = _all(_lie_within(c, shown, shown[own]) for c, shown in zip(quasi, cells, strict=True))
    within[own] = False
    points = [
        np.append(c.values[person], random.choice(_values(c, shown[own]), _POINTS))
        for c, shown in zip(quasi, cells, strict=True)
    ]
    held, is_doubtful = (
        _all(
            c.fits(some[:, None], shown[others][None, :], about=False)
            for c, shown, some in zip(quasi, cells, points, strict=True)
        )
        for others in (within, rivals)
    )
    survive = np.asarray(~held.any(axis=1))
    compared = survive[1:][~is_doubtful[1:].any(axis=1)]
    return (float(survive[0]), float(compared.mean())) if len(compared) else None


def _all(masks: Iterable[Mask]) -> Mask:
    return np.asarray(np.logical_and.reduce([*masks]))


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
