"""Parquet and Arrow files."""

import io
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from covey.errors import TableError, count
from covey.schema import TableFormat
from covey.tables.formats.common import Found, damaged, saying


def read_parquet(data: bytes, _: str | None, __: TableFormat) -> Found:
    """Read a Parquet file."""
    with damaged("Parquet file"):
        return Found(pl.read_parquet(io.BytesIO(data)))


def read_files(paths: Sequence[str], place: str) -> Found:
    """Read Parquet files as one table.

    If the place is a folder, names of folders in it (a=1) give columns; names above it do not.
    """
    if not paths:
        raise TableError("the table cannot be read: no files there")
    others = [path for path in paths if not _is_parquet(path)]
    if others:
        raise TableError(
            f"{len(others):,} of {count(len(paths), 'file')} there not Parquet: name the others "
            "with a pattern, such as 'in/*.parquet'"
        )
    message = "the Parquet files are not one table: one is damaged, or their columns differ"
    with saying(message):
        inside = [_keys(Path(path).relative_to(place)) for path in paths if Path(place).is_dir()]
        named = {key for keys in inside for key in keys}
        frame = pl.read_parquet([*paths], glob=False, hive_partitioning=bool(named))
        return Found(frame.drop({*_keys(Path(paths[0]))} - named if named else []))


def _keys(path: Path) -> list[str]:
    """The columns that names of folders give."""
    return [part.partition("=")[0] for part in path.parts[:-1] if "=" in part]


def _is_parquet(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError as error:
        raise TableError(f"the table cannot be read: {error.strerror}") from None


def read_ipc(data: bytes, _: str | None, __: TableFormat) -> Found:
    """Read an Arrow file, also called Feather (version 2)."""
    with damaged("Arrow file"):
        return Found(pl.read_ipc(io.BytesIO(data)))


def read_stream(data: bytes, _: str | None, __: TableFormat) -> Found:
    """Read a stream of Arrow."""
    with damaged("Arrow stream"):
        return Found(pl.read_ipc_stream(io.BytesIO(data)))


def write_parquet(frame: pl.DataFrame) -> bytes:
    """A Parquet file without statistics, which would name the extremes."""
    memory = io.BytesIO()
    frame.write_parquet(memory, statistics=False)
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
