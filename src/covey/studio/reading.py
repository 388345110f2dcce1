"""The table in a process of the studio: read once, whatever is then asked about it."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from covey import tables
from covey.inspection.facts import Facts, look
from covey.schema import Schema, TableFormat
from covey.studio.workers import Reporter
from covey.tables import Table, sources


@dataclass(frozen=True)
class Reading:
    """A table, how it is read, and a number that is another one each time it is opened."""

    place: str = field(repr=False)
    format: TableFormat
    number: int = field(default_factory=time.time_ns)


class TableDesk:
    """What a process has before it: a folder for files, whoever waits for it, and one table."""

    def __init__(self, folder: Path, reporter: Reporter | None = None) -> None:
        self.folder, self.reporter = folder, reporter or Reporter()
        self._read: tuple[Any, Table] | None = None
        self._facts: dict[str, Facts] = {}

    def table(self, reading: Reading) -> Table:
        """The table as the custodian sees it, before a schema says how its columns are read."""
        return self._once(reading, lambda: tables.read(reading.place, declared=reading.format))

    def original(self, reading: Reading, schema: Schema) -> Table:
        """The table as `covey anonymize` reads it: by what the schema says of it, as it is now."""
        key = reading, schema.columns, schema.table, _version(reading.place)
        return self._once(key, lambda: tables.read(reading.place, schema))

    def _once(self, key: Any, read: Callable[[], Table]) -> Table:
        if self._read is None or self._read[0] != key:
            self._read, self._facts = None, {}  # before reading: memory for one table is enough
            self.reporter.progress("reading", 0.0)
            self._read = key, read()
        return self._read[1]

    def facts(self, reading: Reading, name: str) -> Facts:
        """What can be seen of one column."""
        table = self.table(reading)
        if name not in self._facts:
            self._facts[name] = look(table, name)
        return self._facts[name]


def _version(place: str) -> Any:
    """What changes whenever a file does; of a database, nobody knows."""
    source = sources.of(place)
    with contextlib.suppress(OSError):
        if not source.is_address:
            found = [Path(file).stat() for file in source.files()]
            return [(file.st_ino, file.st_size, file.st_mtime_ns) for file in found]
    return time.time_ns()
