"""The work itself, in a process of its own: it reads the table and answers questions about it.

Every public method of `Desk` is a job. Its first argument is how to report; what it returns is
pickled and goes to the server, which keeps it in memory and shows it to the custodian alone.
"""

import contextlib
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from covey import inspection, pipeline, tables
from covey.errors import CoveyError, TableError
from covey.generalisation import Style
from covey.inspection.draft import Draft
from covey.inspection.facts import Facts, look
from covey.release import Release
from covey.report import Report, charts
from covey.schema import Schema, TableFormat
from covey.studio.columns import Columns, trees_beside
from covey.studio.looking import Looks
from covey.studio.prices import Prices
from covey.studio.work import schema_of, written_out
from covey.studio.workers import Telling
from covey.tables import Table, csv_files, formats, sources
from covey.tables.csv_files import Dialect
from covey.tables.layouts import DELIMITERS
from covey.verification import Verdict

_HEAD = 8  # rows of a preview
MOST_COLUMNS = 1_000
_LONGEST_HEADER = 1 << 20


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


@dataclass(frozen=True, eq=False, repr=False)
class MadeHere:
    """A release and what it was made of: it never leaves the process."""

    release: Release
    original: Table  # as read with the schema
    schema: Schema


@dataclass(frozen=True)
class Made:
    """What the server knows of a release."""

    report: Report
    number: int = field(default_factory=time.time_ns)  # another one each time a release is made

    @property
    def verdict(self) -> Verdict:
        """The verifier's findings."""
        return self.report.verdict


@dataclass
class Desk(Columns, Prices, Looks):
    """What the process has before it."""

    folder: Path  # of the server's own files
    made: MadeHere | None = field(default=None, repr=False)
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
        if self.is_text(telling, place):  # the header says at once whether the table is too wide
            with formats.opened(sources.of(place).place) as file:
                head = file.readline(_LONGEST_HEADER)
            _refuse_wide(1 + max(head.count(sign.encode()) for sign in DELIMITERS))
        self._read = None  # the file may have changed since
        table = self.table(place, declared)
        _refuse_wide(table.frame.width)
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

    def is_text(self, _: Telling, place: str) -> bool:
        """Whether this is a text file, which can be read in another way."""
        with contextlib.suppress(CoveyError, OSError, ValueError):  # it is not there, or no file
            file = sources.of(place).place
            return Path(file).is_file() and formats.kind_of_file(file) == "csv"
        return False

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

    def sensitive(
        self, _: Telling, place: str, declared: TableFormat, names: list[str]
    ) -> dict[str, tuple[int, float]]:
        """Of each column the number of different values, and the share of the most frequent."""
        found = {}
        for name in names:
            facts = self.facts(place, declared, name)
            most = max(facts.rows.to_list(), default=0)
            found[name] = facts.distinct, most / max(len(facts.cells), 1)
        return found

    def warm(self, _: Telling) -> None:
        """Draw something, since the first picture takes a second."""
        charts.svg(charts.falling([(0, 1), (1, 0)], x_title=""))

    # ── the release ─────────────────────────────────────────────────────────────────────────────

    def make(
        self, telling: Telling, place: str, toml: str, options: dict[str, Any], style: Style
    ) -> Made:
        """Make a verified release, as `covey anonymize` does."""
        self.made = None
        schema = schema_of(toml)
        telling.progress("reading", 0.0)
        table = tables.read(place, schema)
        release = pipeline.anonymize(
            table, schema, style=style, progress=telling.progress, **options
        )
        self.made = MadeHere(release, table, schema)
        return Made(release.report)

    def falling(self, _: Telling, losses: list[tuple[float, float]]) -> str:
        """A picture of the loss over the seconds so far."""
        return charts.svg(charts.falling(losses, x_title="seconds"))


def _refuse_wide(columns: int) -> None:
    if MOST_COLUMNS < columns <= csv_files.MOST_COLUMNS:  # more are refused everywhere
        raise TableError(
            f"the table has {columns:,} columns; the studio shows at most {MOST_COLUMNS:,}: choose "
            "some, or use covey anonymize with --rest drop"
        )


def _first_rows(table: Table) -> tuple[tuple[str | None, ...], ...]:
    """The first rows as text."""
    some = table.with_frame(table.frame.head(_HEAD))
    columns = [some.cells(name).cast(str, strict=False).to_list() for name in some.frame.columns]
    return tuple(zip(*columns, strict=True)) if columns else ()
