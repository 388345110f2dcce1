"""Which people of a new release stay together, by what the register knows of earlier ones.

Nothing but the register and the identifiers of the new table is needed, so no earlier table is.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from covey._core.arrays import Longs
from covey.custody.atoms import Atoms
from covey.custody.footprints import Tracer, are_unique
from covey.custody.hashes import Hashes
from covey.custody.register import Register
from covey.errors import UsageError, count
from covey.tables import Table


@dataclass(frozen=True, eq=False)
class Following:
    """A release that follows those of a register."""

    register: Register
    path: str | Path | None  # where the new release goes
    replaces: bool  # whether an earlier release to this path never left this machine

    def atoms(self, tracer: Tracer, original: Table, rows: Longs) -> Atoms:
        """Who stays together among these rows of a table."""
        if not self.register.key.stored:
            raise UsageError(
                "follow needs a stored key: without it, people cannot be recognised next time"
            )
        people = _people(tracer, original, rows)
        self.register.refuse_removed()
        if not self.register.path.exists():
            return Atoms.of(np.empty((len(rows), 0), dtype=np.int64), tracer.size.k)
        with self.register.opened() as found:
            traces = found.traces(people, self.path, replaces=self.replaces)
        return Atoms.of(traces, tracer.size.k)


def _people(tracer: Tracer, original: Table, rows: Longs) -> Hashes:
    """The hash of each row's person, by a column that has another value in every row."""
    if tracer.size.person:
        people = tracer.people(original, rows, tracer.size.person)
        if are_unique(people):
            return people
        extra = len(people) - pl.Series(people).n_unique()
        raise UsageError(
            f"follow needs one row a person: by the column {tracer.size.person!r}, "
            f"{count(extra, 'row')} more than persons, or a person is missing"
        )
    for name in tracer.who:
        people = tracer.people(original, rows, name)
        if are_unique(people):
            return people
    could = [
        name
        for name in original.frame.columns
        if name not in tracer.content and original.frame[name][rows].n_unique() == len(rows)
    ]
    hint = f", such as {could[0]!r}" if could else ""
    raise UsageError(
        "follow needs a column that says who is who, with another value in every row: give it the "
        f"role identifier{hint}"
    )
