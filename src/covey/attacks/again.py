"""Releases made again for an attack, under fresh keys: with and without somebody.

What is guessed as often about people who are held back is true of people in general. Whether
somebody is in a table is tried on samples: people stand further apart in them, so the rates are
too high rather than too low.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from covey import pipeline
from covey._core.arrays import Floats, Longs
from covey.attacks.attempts import tried
from covey.attacks.case import Case
from covey.attacks.columns import Line
from covey.attacks.findings import Finding
from covey.attacks.knowledge import QUASI, Attacker
from covey.attacks.rates import controlled, paired
from covey.clustering.progress import Progress, part_of
from covey.errors import UsageError
from covey.tables import Table

SAMPLE = 200  # rows of a table with and without somebody
_BINS = 20
Make = Callable[[Table], Table]  # releases a table


def maker(case: Case, progress: Progress) -> Make:
    """Release tables by the schema and the k of a case, each under a key of its own."""

    def make(people: Table) -> Table:
        return pipeline.anonymize(
            *(people, case.schema),
            k=case.k,
            key=os.urandom(32),
            register=False,
            progress=part_of(progress, "releasing again", 0, 1),
        )._own.released

    return make


def _some(people: Table, rows: Longs) -> Table:
    return people.with_rows(people.frame[rows], rows)


@dataclass(frozen=True, eq=False, repr=False)
class Control:
    """A release of most people, and all people beside it."""

    members: Case
    outsiders: Case

    @classmethod
    def of(cls, case: Case, share: float, make: Make) -> "Control":
        """Hold back a share of the people, at random, before groups are formed."""
        held = round(share * len(case.order)) if 0 < share < 1 else 0
        if not 0 < held < len(case.order):
            raise UsageError("control is a share of the people, such as 0.2")
        outsiders, members = case.order[:held], case.order[held:]
        again = Case.read(case.people, make(_some(case.people, members)), case.schema, case.k)
        return cls(replace(again, order=members), replace(again, order=outsiders))

    def findings(self, attacker: Attacker) -> Iterator[Finding]:
        """What an attacker learns of members, and as well of others."""
        targets = self.members.targets()
        inside, outside = (
            tried(case, attacker, targets) for case in (self.members, self.outsiders)
        )
        for name, right in inside.right.items():
            yield Finding("inference", attacker, controlled(right, outside.right[name]), name)
        if attacker.group:
            seen = [(one.fits > 0).astype(np.float64) for one in (inside, outside)]
            yield Finding("membership", attacker, controlled(seen[0], seen[1]))


def membership(
    case: Case, make: Make, trials: int, seed: int, progress: Progress
) -> Iterator[Finding]:
    """Whether rows fit people only if they are in the table: anyone, and those who stand alone."""
    random = np.random.default_rng(seed)
    alone = np.argsort(-_isolation(case), kind="stable")
    names = tuple(column.name for column in case.quasi)
    for kind, some in (("", case.order), (" of the most isolated people", alone)):
        attacker = Attacker(names, group=QUASI + kind, is_likely=False)
        found = []
        for place, person in enumerate(some[:trials].tolist()):
            progress("releasing again", (place + (trials if kind else 0)) / (2 * trials))
            found.append(_seen(case, make, random, person))
        inside, outside = np.array(found, dtype=np.float64).T
        yield Finding("membership", attacker, paired(inside, outside))


def _seen(case: Case, make: Make, random: np.random.Generator, person: int) -> list[bool]:
    """Whether rows fit a person in a release of a sample with them, and in one without them."""
    others = case.order[case.order != person]
    drawn = random.choice(others, min(SAMPLE - 1, len(others)), replace=False)
    sample = np.concatenate([[person], drawn]).astype(np.int64)
    attacker = Attacker(tuple(column.name for column in case.quasi))
    found = []
    for rows in (sample, drawn):
        released = make(_some(case.people, rows))
        again = Case.read(_some(case.people, sample), released, case.schema, case.k)
        fits = tried(replace(again, order=np.zeros(1, np.int64)), attacker, ()).fits
        found.append(bool(fits[0] > 0))
    return found


def _isolation(case: Case) -> Floats:
    """How rare each person's values are: the sum of the logarithms of their shares."""
    total = np.zeros(len(case.order))
    for column in case.quasi:
        values = column.values
        if isinstance(column, Line):
            known = np.nan_to_num(column.known, nan=np.nanmax(column.known, initial=0.0))
            width = float(np.ptp(known)) or 1.0
            values = ((known - known.min()) / width * _BINS).astype(np.int64)[column.values]
        total -= np.log(np.bincount(values)[values] / len(values))
    return total
