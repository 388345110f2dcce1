"""Several files that are one table: all Parquet files, or all CSV files.

The form of CSV files is detected in the first file, in its beginning if it is large, and holds for
all of them. They are read in pieces, so that memory does not grow with a file.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl

from covey.errors import TableError, count
from covey.schema import Schema, TableFormat
from covey.tables import csv_files, formats
from covey.tables.csv_files import LONGEST, Form, Piece
from covey.tables.formats import arrow

PIECE = 1 << 24  # bytes that are read at a time
_NO_CELL = "__HIVE_DEFAULT_PARTITION__"  # as programs write it into the name of a folder


def kind_of(paths: Sequence[str]) -> str:
    """Whether these are Parquet or CSV files; refuse others, and both together."""
    if not paths:
        raise TableError("the table cannot be read: no files there")
    kinds = [formats.kind_of_file(path) for path in paths]
    kind = "parquet" if "parquet" in kinds else "csv"
    others = len(kinds) - kinds.count(kind)
    if others:
        names = {"parquet": "Parquet", "csv": "CSV"}
        raise TableError(
            f"{others:,} of {count(len(paths), 'file')} there not {names[kind]}: several files are "
            "one table if all are Parquet or all are CSV; name those of one kind with a pattern, "
            "such as 'in/*.parquet'"
        )
    return kind


class CsvRows(NamedTuple):
    """Some rows of a CSV file."""

    path: str
    before: int  # rows of the file
    line_of: Callable[[int], int]  # the line in which a row begins
    frame: pl.DataFrame


@dataclass(frozen=True)
class CsvFiles:
    """CSV files that are one table, read a piece at a time."""

    paths: tuple[str, ...]
    place: str
    form: Form
    keys: tuple[str, ...]  # columns that names of folders give
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, paths: Sequence[str], place: str, declared: TableFormat, schema: Schema | None
    ) -> "CsvFiles":
        """Detect the form in the first file."""
        with formats.opened(paths[0]) as file:
            head = file.read(LONGEST)
            is_cut = bool(file.read(1))
        with naming(paths, paths[0]):
            _, form, note = csv_files.read(head, declared, schema, is_cut=is_cut)
        keys = tuple(arrow.keys_of(paths[0], place))
        csv_files.check_names([*form.names, *keys])
        return cls(tuple(paths), place, form, keys, (note,) if note else ())

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return (*self.form.names, *self.keys)

    @property
    def empty(self) -> pl.DataFrame:
        """The columns without rows."""
        return pl.DataFrame(schema=dict.fromkeys(self.names, pl.String()))

    def parts(self) -> Iterator[CsvRows]:
        """All rows, in the order of the files."""
        for path in self.paths:
            keys = arrow.keys_of(path, self.place)
            keys = {key: "" if cell == _NO_CELL else cell for key, cell in keys.items()}
            with naming(self.paths, path):
                if {*keys} != {*self.keys}:
                    raise TableError("its folders do not give the columns of the first file")
            cells = [pl.lit(keys[key]).alias(key) for key in self.keys]
            before = 0
            for piece in self._pieces(path):
                with naming(self.paths, path):
                    rows = self.form.rows(piece)
                frame = rows.frame.with_columns(cells) if cells else rows.frame
                line_of = partial(rows.line_of, self.form.first_line(piece), before)
                yield CsvRows(path, before, line_of, frame)
                before += frame.height

    def _pieces(self, path: str) -> Iterator[Piece]:
        with formats.opened(path) as file, naming(self.paths, path):
            yield from self.form.pieces(iter(partial(file.read, PIECE), b""), PIECE)


@contextlib.contextmanager
def naming(paths: Sequence[str], path: str) -> Iterator[None]:
    """Say which of several files an error is about."""
    try:
        yield
    except TableError as error:
        if len(paths) < 2 or error.wrong is not None:
            raise
        what, *remedy = error.args
        raise TableError(f"{Path(path).name}: {what}", *remedy) from None
