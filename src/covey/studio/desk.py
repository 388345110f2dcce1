"""The work itself, in a process of its own: it reads the table and answers questions about it.

Every public method of `Desk` and its bases is a job. What it returns is pickled and goes to the
server, which keeps it in memory and shows it to the custodian alone.
"""

import contextlib
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from covey import inspection, pipeline
from covey.errors import CoveyError, TableError
from covey.generalisation import Style
from covey.inspection.draft import Draft
from covey.report import Report, charts
from covey.schema import Schema, TableFormat
from covey.studio.columns import Columns, tree_folder
from covey.studio.earlier import EarlierReleases
from covey.studio.intruders import Intruders
from covey.studio.looking import Looks
from covey.studio.pairs import Pair
from covey.studio.prices import Prices
from covey.studio.reading import Reading
from covey.studio.work import written_out
from covey.tables import Table, csv_files, formats, sources
from covey.tables.csv_files import Dialect
from covey.tables.layouts import DELIMITERS

_HEAD = 8  # rows of a preview
MOST_COLUMNS = 1_000
_LONGEST_HEADER = 1 << 20


@dataclass(frozen=True, eq=False, repr=False)
class Opened:
    """A table as it was read, and the draft of its schema."""

    reading: Reading
    rows: int
    names: tuple[str, ...]
    head: tuple[tuple[str | None, ...], ...]  # the first rows, None for a missing cell
    dialect: Dialect
    is_text: bool  # whether the cells are those of a CSV file, so that its format can be corrected
    notes: tuple[str, ...]
    draft: Draft
    schema: Schema  # of the draft


@dataclass(frozen=True)
class Made:
    """What the server knows of a release."""

    report: Report
    number: int = field(default_factory=time.time_ns)  # another one each time a release is made


class Desk(Columns, Prices, EarlierReleases, Intruders, Looks):
    """All jobs: on the table, its columns, prices, earlier releases, and the one just made."""

    def demonstration(self) -> str:
        """Invent people; return the place of their table."""
        from covey import demo  # which few need, and each process would load

        self.reporter.progress("inventing people", 0.0)
        table, _ = demo.write(self.folder / "demonstration")
        return str(table)

    def open(self, place: str, declared: TableFormat) -> Opened:
        """Read a table, and draft a schema."""
        if self.is_text(place):  # the header says at once whether the table is too wide
            with formats.opened(sources.of(place).place) as file:
                head = file.readline(_LONGEST_HEADER)
            _refuse_wide(1 + max(head.count(sign.encode()) for sign in DELIMITERS))
        reading = Reading(place, declared)
        table = self.table(reading)
        _refuse_wide(table.frame.width)
        self.reporter.progress("looking at the columns", 0.5)
        draft = inspection.inspect(table, taxonomies=tree_folder(place)).declaring(declared)
        return Opened(
            reading,
            table.frame.height,
            tuple(table.frame.columns),
            _first_rows(table),
            table.dialect,
            table.line_of is not None,
            table.notes,
            draft,
            written_out(draft.schema),
        )

    def is_text(self, place: str) -> bool:
        """Whether this is a text file, which can be read in another way."""
        with contextlib.suppress(CoveyError, OSError, ValueError):  # it is not there, or no file
            file = sources.of(place).place
            return Path(file).is_file() and formats.kind_of_file(file) == "csv"
        return False

    def warm(self) -> None:
        """Draw something, since the first picture takes a second."""
        self.falling([(0, 1), (1, 0)])

    def falling(self, losses: list[tuple[float, float]]) -> str:
        """A picture of the loss over the seconds so far."""
        return charts.svg(charts.falling(losses, x_title="seconds"))

    def make(self, reading: Reading, schema: Schema, options: dict[str, Any], style: Style) -> Made:
        """Make a verified release, as `covey anonymize` does."""
        self.made = None
        table, progress = self.original(reading, schema), self.reporter.progress
        release = pipeline.anonymize(table, schema, style=style, progress=progress, **options)
        self.made = Pair(release, schema, table)
        return Made(release.report)


def _refuse_wide(columns: int) -> None:
    if MOST_COLUMNS < columns <= csv_files.MOST_COLUMNS:  # more are refused everywhere
        raise TableError(
            f"the table has {columns:,} columns; the studio shows at most {MOST_COLUMNS:,}: choose "
            "some, or use covey anonymize with --rest drop"
        )


def _first_rows(table: Table) -> tuple[tuple[str | None, ...], ...]:
    """The first rows as text."""
    head = table.with_frame(table.frame.head(_HEAD))
    columns = [head.cells(name).cast(str, strict=False).to_list() for name in head.frame.columns]
    return tuple(zip(*columns, strict=True)) if columns else ()
