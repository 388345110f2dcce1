"""What the register records of a release in parts.

The cells of the original are hashed while they are read, and the hashes follow their rows. Classes
are known only at the end.
"""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from covey._core.arrays import Longs
from covey.custody.footprints import (
    FootprintPart,
    Hashes,
    content_hashes,
    traced,
    who_hashes,
)
from covey.custody.keys import Key
from covey.custody.sealed import Spool
from covey.engines.steps import Gathered
from covey.schema import REMOVED, Role, Schema
from covey.schema.requirements import KAnonymity
from covey.tables import Table


@dataclass(frozen=True, eq=False, repr=False)
class Tracing:
    """How rows are recognised; it holds the key, so it stays on this machine."""

    key: Key
    schema: Schema
    asked: KAnonymity
    names: tuple[str, ...]  # of the input's columns

    @property
    def columns(self) -> int:
        """The number of hashes of a row."""
        return len(self._content) + len(self._who)

    @property
    def _content(self) -> list[str]:
        return sorted({*self.names} - {*self.schema.names(*REMOVED)})

    @property
    def _who(self) -> list[str]:
        naming = [*filter(None, [self.asked.person]), *self.schema.names(Role.IDENTIFIER)]
        return [name for name in dict.fromkeys(naming) if name in self.names]

    def hashes(self, batch: Table, rows: Longs) -> Iterator[Hashes]:
        """The hashes of some rows of a batch, as they were read."""
        for _, found in content_hashes(self.key, batch, rows, self.schema):
            yield found
        for _, found in who_hashes(self.key, batch, rows, self.schema, self.asked):
            yield found

    def keep(self, spool: Spool, place: int, gathered: Gathered) -> None:
        """Keep what is recorded of the rows of a file."""
        hashes = [one.to_numpy() for one in gathered.traces]
        content = zip(self._content, hashes, strict=False)
        who = dict(zip(self._who, hashes[len(self._content) :], strict=True))
        found = traced(self.key, gathered.table.frame, content, who, self.schema)
        spool.put(f"trace-{place}", pickle.dumps(found))

    def together(self, spool: Spool, places: Sequence[int]) -> FootprintPart:
        """What is recorded of all files."""
        kept = (b"".join(spool.chunks(f"trace-{place}")) for place in places)
        return FootprintPart.together(map(pickle.loads, kept))
