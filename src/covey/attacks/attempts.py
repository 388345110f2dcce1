"""What each attacker finds out about each person, and the rates of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._core.arrays import Floats, Longs
from covey.attacks.case import Case
from covey.attacks.columns import Line
from covey.attacks.findings import Finding
from covey.attacks.guessing import Guesses, Target
from covey.attacks.knowledge import ORDER, QUASI, Attacker
from covey.attacks.matching import Pairs, Rows, fitting
from covey.attacks.rates import paired, rate, wilson
from covey.errors import count


@dataclass(frozen=True, eq=False, repr=False)
class Success:
    """What an attacker finds out about the attacked people."""

    people: Longs  # their numbers
    fits: Longs  # the released rows that fit each of them
    right: Mapping[str, Floats]  # by sensitive column, how surely the guess is right
    ends: Mapping[str, Floats]  # by column, how surely the value is an end of its interval
    ends_by_chance: Mapping[str, Floats]  # of anyone in the interval

    @property
    def picked(self) -> Floats:
        """How surely a row is the person's own, if each that fits is equally likely."""
        picked: Floats = np.where(self.fits > 0, 1 / np.maximum(self.fits, 1), 0.0)
        return picked

    def few(self, k: int) -> Floats:
        """Whom fewer than k rows fit; whom no row fits is not singled out."""
        return ((self.fits > 0) & (self.fits < k)).astype(np.float64)


def tried(case: Case, attacker: Attacker, targets: Sequence[Target]) -> Success:
    """Let an attacker look for everyone, or for a random sample."""
    columns = [case.columns[name] for name in attacker.columns]
    rows = Rows.of(columns)
    guesses = [Guesses.of(one, rows) for one in targets if one.name not in attacker.columns]
    lines = [one for one in columns if isinstance(one, Line) and one.is_narrow.any()]
    lines = lines if attacker.group == QUASI and attacker.quality == "exactly" else []
    found: list[list[NDArray[Any]]] = []
    for pairs in fitting(columns, rows, case.order, about=attacker.quality == "about"):
        fits = np.bincount(pairs.one, rows.sizes[pairs.other], pairs.count)
        ends = [one for line in lines for one in _ends(line, rows, pairs, fits)]
        right = [each.right(pairs) for each in guesses]
        found.append([pairs.people, fits[pairs.known], *right, *ends])
    people, fits, *rest = (np.concatenate(each) for each in zip(*found, strict=True))
    names, ends = [one.target.name for one in guesses], rest[len(guesses) :]
    return Success(
        people.astype(np.int64),
        fits.astype(np.int64),
        dict(zip(names, rest, strict=False)),
        dict(zip([line.name for line in lines], ends[::2], strict=True)),
        dict(zip([line.name for line in lines], ends[1::2], strict=True)),
    )


def _ends(line: Line, rows: Rows, pairs: Pairs, fits: NDArray[Any]) -> list[Floats]:
    """How surely a person's value is an end, and if they were anyone in the interval."""
    known = np.zeros(pairs.count)
    known[pairs.known] = line.known[line.values[pairs.people]]
    value, cell = known[pairs.one], line.cells[rows.first[pairs.other]]
    exact = line.is_narrow[cell] & ((value == line.low[cell]) | (value == line.high[cell]))
    total = [
        np.bincount(pairs.one, sure * rows.sizes[pairs.other], pairs.count)
        for sure in (exact, line.at_ends[cell])
    ]
    return [(one / np.maximum(fits, 1))[pairs.known] for one in total]


def matched(case: Case, attacker: Attacker, success: Success) -> Iterator[Finding]:
    """The rates of an attacker who looks for rows, and for exact values in them."""
    yield Finding("singling out", attacker, rate(success.few(case.k)))
    inside = case.inside(attacker.columns, success.people)
    unaware = None if inside is None else float((success.picked * inside).mean())
    yield Finding("linkability", attacker, rate(success.picked, 1 / case.rows), unaware=unaware)
    for name, exact in success.ends.items():
        yield Finding("tightness", attacker, paired(exact, success.ends_by_chance[name]), name)


def by_order(case: Case) -> Finding | None:
    """How often a row fits the person at its place, and if rows were sorted by what they show."""
    columns = [*case.columns.values()]
    if case.rows != case.people.frame.height:
        return None
    attacker = Attacker(tuple(case.columns), group=ORDER)
    found = []
    for order in (np.arange(case.rows), np.lexsort([column.cells for column in columns])):
        each = [c.fits(c.values, c.cells[order], about=False) for c in columns]
        found.append(np.logical_and.reduce(each).astype(np.float64))
    return Finding("linkability", attacker, paired(*found))


def doubts(case: Case) -> Iterator[str]:
    """Why this may not be the original of the release: rows that it lacks, people who fit none."""
    for column in case.kept:
        counts = (
            np.bincount(some, minlength=len(column.known)) for some in (column.cells, column.values)
        )
        if more := int(np.maximum(np.subtract(*counts), 0).sum()):
            yield f"{count(more, 'released cell')} of {column.name} are not in the original"
    pairs = next(fitting(case.quasi, Rows.of(case.quasi), case.order, about=False))
    unfit = int((np.bincount(pairs.one, minlength=pairs.count)[pairs.known] == 0).sum())
    total, suppressed = len(case.order), max(0, len(case.order) - case.rows)
    if wilson(unfit / len(pairs.people), len(pairs.people))[0] > suppressed / total:
        most = count(suppressed, "row")
        people = f"{unfit:,} of {len(pairs.people):,} people"
        yield f"no row fits {people}, and at most {most} were suppressed"


def guessed(attacker: Attacker, success: Success, targets: Sequence[Target]) -> Iterator[Finding]:
    """The rates of an attacker who guesses sensitive values, beside guesses from all rows."""
    for target in targets:
        if target.name in success.right:
            chance = target.by_chance[target.values[success.people]]
            yield Finding(
                "inference", attacker, paired(success.right[target.name], chance), target.name
            )
