"""Finished runs, stored in a file as they end, so that none is repeated.

Each run is a line of a CSV file, written as soon as the run ends. Its key is all that determines
its result: the version of covey, the fingerprint of the data, the method with its options, k and
the seed. The file has numbers and names of methods, never cells.
"""

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from covey import UsageError
from covey_experiments import files


class Key(NamedTuple):
    """All that determines a run, except how long it takes."""

    covey: str  # version
    data: str  # fingerprint
    method: str
    k: int
    seed: int


@dataclass(frozen=True)
class Measurement:
    """One run of a method on one part of a table; a measure that does not apply is None."""

    covey: str
    data: str
    method: str
    k: int
    seed: int
    table: str
    rows: int
    columns: int
    groups: int
    largest: int
    total_il: float
    gcp: float | None
    precision: float
    discernibility: int | None
    classification: float | None
    seconds: float  # elapsed
    cpu_seconds: float  # of the processor, summed over all cores

    @property
    def key(self) -> Key:
        """All that determines it."""
        return Key(self.covey, self.data, self.method, self.k, self.seed)


_KINDS = get_type_hints(Measurement)  # the types of the file's columns, by name


class Store:
    """The runs in a file, and those that are added to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._runs = {run.key: run for run in _read(path)}

    def __contains__(self, key: Key) -> bool:
        return key in self._runs

    def __getitem__(self, key: Key) -> Measurement:
        return self._runs[key]

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, run: Measurement) -> None:
        """Store a run on disk before anything else happens."""
        with files.output_errors():
            whole = _whole(self._path)
            with self._path.open("r+b" if self._path.exists() else "wb") as file:
                file.truncate(whole)
                file.seek(whole)
                head = [] if whole else [_KINDS]
                file.write(_lines([*head, asdict(run).values()]))
                file.flush()
                os.fsync(file.fileno())
        self._runs[run.key] = run


def _lines(rows: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _whole(path: Path) -> int:
    """The number of bytes up to the last complete line: a crash may have cut off a line."""
    return path.read_bytes().rfind(b"\n") + 1 if path.exists() else 0


def _read(path: Path) -> list[Measurement]:
    if not path.exists():
        return []
    try:
        lines = path.read_bytes()[: _whole(path)].decode().splitlines()
        rows = list(csv.reader(lines, strict=True))
        if rows and rows[0] != [*_KINDS]:
            raise ValueError
        return [
            Measurement(*(_value(*pair) for pair in zip(_KINDS.values(), row, strict=True)))
            for row in rows[1:]
        ]
    except OSError as error:
        raise UsageError(f"cannot read points.csv in the output folder: {error.strerror}") from None
    except (ValueError, csv.Error):
        raise UsageError(
            "points.csv in the output folder has another format: move that file, "
            "or choose another folder with --output"
        ) from None


def _value(kind: Any, text: str) -> Any:
    """A cell of the file; an empty cell is None if its type allows that."""
    plain, *empty = get_args(kind) or (kind,)
    return None if empty and not text else plain(text)
