"""Which people of a new release stay together, by what the register knows of earlier ones.

Nothing but the register and the identifiers of the new table is needed, so no earlier table is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from covey._core.arrays import Flags, Longs
from covey.custody.atoms import ALONE, Atoms
from covey.custody.footprints import LARGEST, TOO_LARGE, Tracer, are_unique
from covey.custody.hashes import Hashes
from covey.custody.register import Earlier, Register
from covey.encoding.groups import LEFT_OUT
from covey.encoding.selection import Selection
from covey.errors import InfeasibleError, UsageError, count, percent
from covey.schema.columns import Require
from covey.tables import Table

FEW = 0.01  # the share of the people whom a proposed reserve may leave out


@dataclass(frozen=True, eq=False)
class Following:
    """A release that follows those of a register."""

    register: Register
    path: str | Path | None  # where the new release goes
    replaces: bool  # whether an earlier release to this path never left this machine
    require: Require

    @property
    def composition(self) -> str:
        """What is required of all releases together."""
        return self.require.composition

    @property
    def only_new(self) -> bool:
        """Whether only people are released whom no earlier release has."""
        return self.composition == "only-new"

    def together(self, tracer: Tracer, people: Mapping[str, Hashes]) -> "Together":
        """Who stays together, by the hashes of all rows in each column that says who is who."""
        required = self.composition
        if not self.register.key.stored:
            raise UsageError(
                f"{required} needs a stored key: without it, people cannot be recognised next time"
            )
        telling = _telling(tracer, people, required)
        name, hashes = next(iter(telling.items()))
        if len(hashes) > LARGEST:
            raise UsageError(f"{required} is not possible: {TOO_LARGE}")
        self.register.refuse_removed()
        earlier = Earlier(np.empty((len(hashes), 0), dtype=np.int64), ())
        if self.register.path.exists():
            with self.register.opened() as found:
                earlier = found.traces(telling, self.path, replaces=self.replaces)
        atoms = Atoms.of(earlier.classes, tracer.size.k)
        if self.only_new:
            _refuse_few(hashes, atoms.labels == ALONE, tracer.size.k)
        else:
            left_out = atoms.shrunk & (self.require.shrunk == "leave-out")
            atoms = replace(atoms, labels=np.where(left_out, LEFT_OUT, atoms.labels))
        return Together.of(
            *(name, hashes, atoms.labels),
            *(self.only_new, _reserve(earlier, atoms.lacking, tracer.size.k)),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Together:
    """The atom of each person: -1 for a new one, `LEFT_OUT` for one who cannot be hidden."""

    name: str  # the column that says who is who
    people: Hashes  # sorted
    labels: Longs
    only_new: bool = False  # whether only new people are released
    reserve: int = 0  # that would have kept nearly everyone

    @classmethod
    def of(cls, name: str, people: Hashes, labels: Longs, *figures: Any) -> "Together":
        """From people in any order."""
        order = np.argsort(people)
        return cls(name, people[order], labels[order], *figures)

    def of_rows(self, people: Hashes) -> Longs:
        """The atom of each of these people."""
        return self.labels[np.searchsorted(self.people, people)]

    @property
    def known(self) -> int:
        """How many rows are not released because an earlier release has their people."""
        return int((self.labels != ALONE).sum()) if self.only_new else 0

    @property
    def notes(self) -> Iterator[str]:
        """What the custodian should know about the rows that are not released."""
        if self.known:
            yield f"{count(self.known, 'row')} not released: earlier releases have their people"
        if lost := int((self.labels == LEFT_OUT).sum()):
            yield (
                f"{count(lost, 'row')} left out: of their classes in earlier releases, fewer than "
                "k people are still here"
            )
        if self.reserve and not self.only_new:
            yield (
                f"with groups of k + {self.reserve:,} rows in all earlier releases, at least "
                f"{percent(1 - FEW)} of their people would have kept k candidates. Choose such a "
                f"reserve for the next ones: --reserve {self.reserve} (reserve={self.reserve})"
            )


NONE = Together("", np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class Newcomers:
    """Tells the rows of people whom no earlier release has."""

    tracer: Tracer
    together: Together

    def among(self, original: Table, kept: Selection) -> Selection:
        """Those of these rows of the original."""
        hashes = self.tracer.people(original, kept.rows, self.together.name)
        return kept.then(Selection.where(self.together.of_rows(hashes) == ALONE))


def hint(original: Table, tracer: Tracer) -> str:
    """A column of the original that could say who is who."""
    frame = original.frame
    could = [n for n in frame.columns if n not in tracer.content and frame[n].is_unique().all()]
    return f", such as {could[0]!r}" if could else ""


NOT_TOLD = (
    "{} needs a column that says who is who, with another value in every row: give it the role "
    "identifier"
)


def _telling(tracer: Tracer, people: Mapping[str, Hashes], required: str) -> Mapping[str, Hashes]:
    """The columns that say who is who: the person column alone if persons count.

    Only to release new people, a person may have several rows.
    """
    person = tracer.size.person
    if person:
        if are_unique(people[person]) or (required == "only-new" and people[person].all()):
            return {person: people[person]}
        extra = len(people[person]) - pl.Series(people[person]).n_unique()
        raise UsageError(
            f"{required} needs one row a person: by the column {person!r}, there are "
            f"{count(extra, 'row')} more than persons, or a person is missing"
        )
    if telling := {name: people[name] for name in tracer.who if are_unique(people[name])}:
        return telling
    raise UsageError(NOT_TOLD.format(required))


def _reserve(earlier: Earlier, lacking: Longs, k: int) -> int:
    """The reserve with which all but `FEW` of the people would still have k candidates; 0 if none.

    What a set lacks, it would have had if its class had so many people more when it was formed.
    """
    known = (earlier.classes >= 0).any(axis=1)
    if not known.any():
        return 0
    first = (earlier.classes[known] >= 0).argmax(axis=1)
    sizes = np.array(earlier.sizes)[first] + lacking[known]
    needed = np.where(lacking[known] > 0, sizes - k, 0)
    return max(0, int(np.quantile(needed, 1 - FEW, method="inverted_cdf")))


def _refuse_few(people: Hashes, new: Flags, k: int) -> None:
    """Refuse to release fewer than k new people by themselves."""
    number = len(np.unique(people[new]))
    if number < k:
        raise InfeasibleError(
            f"{number:,} people of this table are new, and k is {k:,}: wait until there are more"
        )
