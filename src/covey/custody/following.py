"""Which people of a new release stay together, by what the register knows of earlier ones.

Nothing but the register and the identifiers of the new table is needed, so no earlier table is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from covey._core.arrays import Longs
from covey.custody.atoms import Atoms
from covey.custody.footprints import Tracer, are_unique
from covey.custody.hashes import Hashes
from covey.custody.register import Register
from covey.encoding.groups import LEFT_OUT
from covey.errors import UsageError, count
from covey.tables import Table


@dataclass(frozen=True, eq=False)
class Following:
    """A release that follows those of a register."""

    register: Register
    path: str | Path | None  # where the new release goes
    replaces: bool  # whether an earlier release to this path never left this machine

    def together(self, tracer: Tracer, people: Mapping[str, Hashes]) -> "Together":
        """Who stays together, by the hashes of all rows in each column that says who is who."""
        if not self.register.key.stored:
            raise UsageError(
                "follow needs a stored key: without it, people cannot be recognised next time"
            )
        name = _telling(tracer, people)
        self.register.refuse_removed()
        traces = np.empty((len(people[name]), 0), dtype=np.int64)
        if self.register.path.exists():
            with self.register.opened() as found:
                traces = found.traces(people[name], self.path, replaces=self.replaces)
        atoms = Atoms.of(traces, tracer.size.k)
        return Together.of(name, people[name], atoms)


@dataclass(frozen=True, eq=False, repr=False)
class Together:
    """The atom of each person: -1 for a new one, `LEFT_OUT` for one who cannot be hidden."""

    name: str  # the column that says who is who
    people: Hashes  # sorted
    labels: Longs

    @classmethod
    def of(cls, name: str, people: Hashes, atoms: Atoms) -> "Together":
        """From the atoms of people in any order."""
        order = np.argsort(people)
        return cls(name, people[order], np.where(atoms.shrunk, LEFT_OUT, atoms.labels)[order])

    def of_rows(self, people: Hashes) -> Longs:
        """The atom of each of these people."""
        return self.labels[np.searchsorted(self.people, people)]


def hint(original: Table, tracer: Tracer) -> str:
    """A column of the original that could say who is who."""
    frame = original.frame
    could = [n for n in frame.columns if n not in tracer.content and frame[n].is_unique().all()]
    return f", such as {could[0]!r}" if could else ""


def left_out_note(rows: int) -> str:
    """How many rows were left out because of earlier releases."""
    return (
        f"{count(rows, 'row')} left out: so many people of their classes have left since earlier "
        "releases that fewer than k candidates would remain"
    )


NOT_TOLD = (
    "follow needs a column that says who is who, with another value in every row: give it the role "
    "identifier"
)


def _telling(tracer: Tracer, people: Mapping[str, Hashes]) -> str:
    """The column that has another value in every row: the person column if persons count."""
    person = tracer.size.person
    if person:
        if are_unique(people[person]):
            return person
        extra = len(people[person]) - pl.Series(people[person]).n_unique()
        raise UsageError(
            f"follow needs one row a person: by the column {person!r}, there are "
            f"{count(extra, 'row')} more than persons, or a person is missing"
        )
    for name in tracer.who:
        if are_unique(people[name]):
            return name
    raise UsageError(NOT_TOLD)
