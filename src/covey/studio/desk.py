"""The work itself, in a process of its own: it reads the table and answers questions about it.

Every public method of `Desk` is a job. Its first argument is how to report; what it returns is
pickled and goes to the server, which keeps it in memory and shows it to the custodian alone.
"""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from covey import inspection, tables
from covey.inspection.draft import Draft
from covey.inspection.facts import Facts, look
from covey.schema import Schema, TableFormat
from covey.studio.columns import Columns, prepare_charts, trees_beside
from covey.studio.work import written_out
from covey.studio.workers import Telling
from covey.tables import Table
from covey.tables.csv_files import Dialect

_HEAD = 8  # rows of a preview


@dataclass(frozen=True, eq=False, repr=False)
class Opened:
    """A table as it was read, and the draft of its schema."""

    rows: int
    names: tuple[str, ...]
    head: tuple[tuple[str | None, ...], ...]  # the first rows, None for a missing cell
    dialect: Dialect
    is_text: bool  # whether the cells are those of a CSV file, so that its format can be corrected
    notes: tuple[str, ...]
    draft: Draft
    schema: Schema  # of the draft
    number: int = field(default_factory=time.time_ns)  # another one each time a table is read


@dataclass
class Desk(Columns):
    """What the process has before it."""

    folder: Path  # of the server's own files
    _read: tuple[Any, Table] | None = field(default=None, repr=False)
    _looked: dict[str, Facts] = field(default_factory=dict, repr=False)

    # ── the table ───────────────────────────────────────────────────────────────────────────────

    def demonstration(self, telling: Telling) -> str:
        """Invent people; return the place of their table."""
        from covey import demo

        telling.progress("inventing people", 0.0)
        table, _ = demo.write(self.folder / "demonstration")
        return str(table)

    def open(self, telling: Telling, place: str, declared: TableFormat) -> Opened:
        """Read a table, and draft a schema."""
        telling.progress("reading", 0.0)
        prepare_charts()
        table = self.table(place, declared)
        telling.progress("looking at the columns", 0.5)
        draft = inspection.inspect(table, taxonomies=trees_beside(place)).declaring(declared)
        return Opened(
            table.frame.height,
            tuple(table.frame.columns),
            _first_rows(table),
            table.dialect,
            table.line_of is not None,
            table.notes,
            draft,
            written_out(draft.schema),
        )

    def table(self, place: str, declared: TableFormat) -> Table:
        """The table, read again only if it is another one or to be read differently."""
        key = place, declared
        if self._read is None or self._read[0] != key:
            self._read, self._looked = None, {}  # before reading: memory for one table is enough
            self._read = key, tables.read(place, declared=declared)
        return self._read[1]

    def facts(self, place: str, declared: TableFormat, name: str) -> Facts:
        """What can be seen of one column."""
        table = self.table(place, declared)
        if name not in self._looked:
            self._looked[name] = look(table, name)
        return self._looked[name]


def _first_rows(table: Table) -> tuple[tuple[str | None, ...], ...]:
    """The first rows as text."""
    some = table.with_frame(table.frame.head(_HEAD))
    columns = [some.cells(name).cast(str, strict=False).to_list() for name in some.frame.columns]
    return tuple(zip(*columns, strict=True)) if columns else ()
