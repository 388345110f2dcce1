"""All attackers on the release that was made, in the process that is free then.

The process that made the release writes the released rows into the studio's own folder, and the one
that finds prices attacks them: so the release can be looked at meanwhile.
"""

from pathlib import Path

import polars as pl

from covey import attacks
from covey.attacks import Attack
from covey.schema import Schema
from covey.studio.pairs import Pair
from covey.studio.reading import Reading, TableDesk

RECORD = "attack.html"


def released_rows(folder: Path, number: int) -> Path:
    """Where the rows of a release wait for attackers."""
    return folder / f"attacked-{number}.parquet"


def keep_released(pair: Pair, place: Path) -> None:
    """Write the released rows, as their recipients see them."""
    for earlier in place.parent.glob("attacked-*.parquet"):
        earlier.unlink()
    pair.release.table.write_parquet(place)


class Intruders(TableDesk):
    """The job of all attackers."""

    def attackers(self, reading: Reading, schema: Schema, number: int) -> Attack:
        """Attack the release of this number, and write the record.

        Nothing is released again: that would take longer than the custodian waits.
        """
        original = self.original(reading, schema)
        released = pl.read_parquet(released_rows(self.folder, number))
        progress = self.reporter.progress
        found = attacks.attack(released, original, schema, trials=0, progress=progress)
        found.write(self.folder / RECORD)
        return found
