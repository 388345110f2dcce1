"""Parquet and Arrow files."""

import contextlib
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from covey.errors import TableError, count
from covey.schema import TableFormat
from covey.tables.formats.common import DESCRIPTION, Found, damaged, saying


def read_parquet(data: bytes, _: str | None, __: TableFormat) -> Found:
    """Read a Parquet file."""
    with damaged("Parquet file"):
        unread, description = _metadata(io.BytesIO(data))
        frame = pl.read_parquet(io.BytesIO(data))
        return Found(frame, unread=unread, description=description)


def _metadata(source: Any) -> tuple[tuple[str, ...], str]:
    """The metadata of a Parquet file, besides what names its columns, and covey's description."""
    found = {**pl.read_parquet_metadata(source)}
    found.pop("ARROW:schema", None)
    with contextlib.suppress(ValueError, AttributeError):
        if not json.loads(found.get("pandas", "{}")).get("attributes"):
            found.pop("pandas", None)
    described = found.pop(DESCRIPTION, "")
    unread = (f"metadata {key!r} ({count(len(text), 'sign')})" for key, text in found.items())
    return tuple(unread), described


def description_in(path: str) -> str:
    """What covey says of the columns in a Parquet file; empty if it says nothing."""
    with damaged_at(path):
        return _metadata(path)[1]


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files that are one table, read a part at a time."""

    paths: tuple[str, ...]
    types: Mapping[str, pl.DataType]  # of the columns, the same for all files
    keys: Mapping[str, pl.DataType]  # those columns that names of folders give
    unread: tuple[str, ...] = ()  # what the files hold besides the table
    description: str = ""  # of the columns, by covey

    @classmethod
    def of(cls, paths: Sequence[str], place: str) -> "ParquetFiles":
        """Look at files that must have the same columns.

        If the place is a folder, names of folders in it (a=1) give columns; names above it do not.
        """
        inside = [key for path in paths for key in keys_of(path, place)]
        types: dict[str, pl.DataType] = {}
        unread: list[str] = []
        described: list[str] = []
        for path in paths:
            with damaged_at(path):
                found = pl.read_parquet_schema(path)
                others, description = _metadata(path)
            unread += others
            described += [description] if description else []
            types = _common(types or found, found, Path(path).name)
        keys: dict[str, pl.DataType] = {}
        if inside:
            with saying("the names of folders do not give the same columns for all files"):
                scan = pl.scan_parquet([*paths], glob=False, hive_partitioning=True)
                above = {key: pl.String() for key in _keys(Path(paths[0]))}
                keys = above | {key: scan.collect_schema()[key] for key in dict.fromkeys(inside)}
        shown = {key: dtype for key, dtype in keys.items() if key in inside}
        known = tuple(dict.fromkeys(unread)), "\n".join(dict.fromkeys(described))
        return cls(tuple(paths), types | shown, keys, *known)

    def frames(self, names: Sequence[str], most: int) -> Iterator[tuple[str, int, pl.DataFrame]]:
        """These columns, at most so many rows at a time: the file, the rows before, and the rows.

        Only what is asked for is decoded, so memory does not grow with a file or its row groups.
        """
        for path in self.paths:
            with damaged_at(path):
                scan = pl.scan_parquet(
                    path,
                    glob=False,
                    hive_partitioning=bool(self.keys),
                    hive_schema=self.keys or None,
                )
                height = scan.select(pl.len()).collect().item()
                typed = scan.select(pl.col(name).cast(self.types[name]) for name in names)
            for start in range(0, height, most):
                with damaged_at(path):
                    frame = typed.slice(start, most).collect()
                yield path, start, frame


def _common(types: Mapping[str, Any], found: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The types that hold the columns of the files before and of this one."""
    if {*types} != {*found}:
        raise TableError(f"{name}: its columns differ from those of the first file")
    common = {}
    for column, dtype in types.items():
        pair = {dtype, found[column]} - {pl.Null()}
        fits = len(pair) < 2 or any(all(map(kind, pair)) for kind in _KINDS)
        empty = [pl.DataFrame(schema={column: kind}) for kind in pair or {pl.Null()}]
        if fits:
            common[column] = pl.concat(empty, how="vertical_relaxed").schema[column]
        if not fits or (dtype.is_integer() and common[column].is_float()):
            raise TableError(f"{name}: column {column!r} has another type than in the first file")
    return common


_KINDS: tuple[Callable[[Any], bool], ...] = (
    lambda dtype: bool(dtype.is_integer()),
    lambda dtype: bool(dtype.is_float()),
    lambda dtype: isinstance(dtype, pl.String | pl.Categorical | pl.Enum),
)


def damaged_at(path: str) -> AbstractContextManager[None]:
    """Say which of several files is damaged."""
    return saying(f"{Path(path).name} is a damaged Parquet file")


def keys_of(path: str, place: str) -> dict[str, str]:
    """The columns that names of folders between a place and a file give, and their cells."""
    return _keys(Path(path).relative_to(place)) if Path(place).is_dir() else {}


def _keys(path: Path) -> dict[str, str]:
    named = (part.partition("=") for part in path.parts[:-1] if "=" in part)
    return {key: unquote(value) for key, _, value in named}


def read_ipc(data: bytes, _: str | None, __: TableFormat) -> Found:
    """Read an Arrow file, also called Feather (version 2)."""
    with damaged("Arrow file"):
        return Found(pl.read_ipc(io.BytesIO(data)))


def read_stream(data: bytes, _: str | None, __: TableFormat) -> Found:
    """Read a stream of Arrow."""
    with damaged("Arrow stream"):
        return Found(pl.read_ipc_stream(io.BytesIO(data)))


def write_parquet(frame: pl.DataFrame, description: str = "") -> bytes:
    """A Parquet file without statistics, which would name the extremes."""
    memory = io.BytesIO()
    metadata = {DESCRIPTION: description} if description else None
    frame.write_parquet(memory, statistics=False, metadata=metadata)
    return memory.getvalue()


def write_ipc(frame: pl.DataFrame) -> bytes:
    """An Arrow file of the cells, and nothing that lies under missing ones."""
    memory = io.BytesIO()
    fresh(frame).write_ipc(memory, compression="uncompressed")
    return memory.getvalue()


def fresh(frame: pl.DataFrame) -> pl.DataFrame:
    """The same cells in new memory.

    Dataframes keep the values of removed rows and of missing cells in their buffers, and pickling
    one copies the whole buffers. A Parquet file does not.
    """
    memory = io.BytesIO()
    frame.write_parquet(memory, compression="uncompressed", statistics=False)
    memory.seek(0)
    return pl.read_parquet(memory)
