"""What the readers and writers of all formats share."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl

from covey.errors import TableError, count, listed
from covey.tables.codebook import Codebook

EXACT = 2**53  # whole numbers up to here are exact as floats


DESCRIPTION = "datapackage"  # the key of what a Parquet file says of its columns


@dataclass(frozen=True)
class Found:
    """A table as a file holds it."""

    frame: pl.DataFrame
    codebook: Codebook = field(default_factory=Codebook)
    notes: tuple[str, ...] = ()
    named_by_row: bool = False  # whether the names are the cells of a row, which may be a record
    unread: tuple[str, ...] = ()  # what the file holds besides the table
    description: str = ""  # of the columns, by covey


def others(names: Sequence[str], noun: str) -> tuple[str, ...]:
    """The parts of a file beside the one that is read."""
    return (count(len(names) - 1, f"other {noun}"),) if len(names) > 1 else ()


def needed(module: str, extra: str, what: str, error: type[Exception] = TableError) -> Any:
    """A library that an extra brings; without it, say how to get it."""
    try:
        return import_module(module)
    except ImportError:
        raise error(f"{what} needs an extra: pip install 'covey[{extra}]'") from None


def damaged(what: str) -> AbstractContextManager[None]:
    """Say that a file is damaged, whatever a library raises."""
    return saying(f"the table is a damaged {what}")


@contextlib.contextmanager
def saying(message: str) -> Iterator[None]:
    """Turn whatever a library raises into one sentence, because its messages quote cells."""
    try:
        yield
    except (TableError, MemoryError):
        raise
    except BaseException as error:
        # Each library in Rust has its own exception for a panic, which is no Exception.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise TableError(message) from None
        raise


@contextlib.contextmanager
def memory_file(data: bytes = b"") -> Iterator[Path]:
    """The path of a file in memory, for a library that takes nothing else.

    If the system has no such files, it is a file in a new folder that only its owner can open, and
    both are removed, even after an error.
    """
    with contextlib.ExitStack() as stack:
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("covey")
            stack.callback(os.close, descriptor)
            path = Path(f"/proc/self/fd/{descriptor}")
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="covey-")))
            path = folder / "table"
            path.touch(0o600)
        if data:
            path.write_bytes(data)
        yield path


def chosen(
    part: str | None, names: Sequence[str], is_filled: Callable[[str], bool], noun: str
) -> str:
    """The part that is named, or else the only one that is not empty."""
    if part is not None:
        if part in names:
            return part
        raise TableError(f"there is no {noun} of this name; the file has {listed(names, 20)}")
    if not names:
        raise TableError(f"the file has no {noun}")
    filled = [*names] if len(names) == 1 else [name for name in names if is_filled(name)]
    if not filled:
        raise TableError(f"each {noun} in the file is empty")
    if len(filled) > 1:
        error = TableError(
            f"the file has more than one {noun}: {listed(filled, 20)}; "
            "add :: and a name to its path"
        )
        error.choices = tuple(filled)
        raise error
    return filled[0]


# ── cells of Python, in columns ─────────────────────────────────────────────────────────────────


def column(name: str, cells: Sequence[Any], *, floats_for_all: bool = False) -> pl.Series:
    """A column with the one type that all its cells have, or else with their text.

    If the format has only `floats_for_all` numbers, whole ones are whole numbers again.
    """
    kinds = {type(cell) for cell in cells if cell is not None}
    if not kinds or kinds == {str}:
        return pl.Series(name, cells, pl.String, strict=False)
    if kinds & {bytes, bytearray, memoryview}:
        raise TableError(f"column {name!r} contains bytes; covey needs plain values")
    if kinds <= {int, float}:
        return _numbers(name, cells, kinds, whole=floats_for_all)
    if kinds == {bool}:
        return pl.Series(name, cells, pl.Boolean)
    if kinds == {time}:
        return pl.Series(name, cells, pl.Time)
    if kinds <= {date, datetime}:
        return _days(name, cells)
    return pl.Series(name, [None if cell is None else as_text(cell) for cell in cells], pl.String)


def _numbers(name: str, cells: Sequence[Any], kinds: set[type], *, whole: bool) -> pl.Series:
    if kinds == {int}:
        fits = all(cell is None or -(2**63) <= cell < 2**63 for cell in cells)
        return pl.Series(name, cells, pl.Int64 if fits else pl.Int128)
    numbers = pl.Series(name, cells, pl.Float64, strict=False)
    return whole_again(numbers) if whole else numbers


def whole_again(numbers: pl.Series) -> pl.Series:
    """Whole numbers, if all numbers are."""
    is_empty = not len(numbers.drop_nulls().drop_nans())
    return numbers if is_empty or not are_whole(numbers) else as_whole(numbers)


def are_whole(numbers: pl.Series) -> bool:
    """Whether no number has decimals, is too large to be exact, or is a negative zero."""
    present = numbers.drop_nulls().drop_nans()
    whole = bool(((present == present.floor()) & (present.abs() <= EXACT)).all())
    return whole and not (1 / present == -float("inf")).any()


def as_whole(numbers: pl.Series) -> pl.Series:
    """Floats that are whole, as whole numbers."""
    return numbers.fill_nan(None).cast(pl.Int64)


def _days(name: str, cells: Sequence[Any]) -> pl.Series:
    times = [
        cell if isinstance(cell, datetime) or cell is None else datetime.combine(cell, time())
        for cell in cells
    ]
    found = pl.Series(name, times, pl.Datetime("us"))
    midnight = bool((found.drop_nulls().dt.time() == time()).all())
    return found.dt.date() if midnight else found


def as_text(cell: Any) -> str:
    """The text of a cell in a column of several types."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) <= EXACT:
        return str(int(cell))
    if isinstance(cell, datetime):
        return str(cell.date() if cell.time() == time() else cell)
    if isinstance(cell, timedelta):
        minutes, seconds = divmod(int(cell.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return str(cell)
