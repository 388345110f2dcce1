"""Read tables of various formats, and write files to the output folder."""

import contextlib
import gzip
import tomllib
import zlib
from collections.abc import Iterator
from importlib import resources
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from covey import OutputError, TableError

_SIGNS = (",", ";", "\t")  # between columns


def read(path: str | Path, what: str) -> pl.DataFrame:
    """Read a table with all its cells as text: Parquet or CSV, gzipped or not.

    If the first line begins with a digit, there is no header; columns are then named column_1, ….
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError):
        raise TableError(f"cannot read the file of {what}") from None
    try:
        frame = _parsed(data)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, EOFError, zlib.error):
        frame = pl.DataFrame()  # an error of polars would quote cells
    if frame.width < 2:
        raise TableError(f"the file of {what} is not a table with commas, semicolons or tabs")
    return frame


def _parsed(data: bytes) -> pl.DataFrame:
    if data.startswith(b"PAR1"):
        return pl.read_parquet(BytesIO(data)).cast(pl.String)
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    first = data.partition(b"\n")[0]
    frame = pl.read_csv(
        BytesIO(data),
        separator=max(_SIGNS, key=lambda sign: first.count(sign.encode())),
        has_header=not first[:1].isdigit(),
        infer_schema=False,
        encoding="utf8-lossy",
    )
    return frame.with_columns(pl.all().str.strip_chars())  # UCI has spaces after its commas


def declared(name: str) -> dict[str, Any]:
    """What a TOML file beside this module declares."""
    folder = resources.files("covey_experiments")
    return tomllib.loads(folder.joinpath(name).read_text(encoding="utf-8"))


def write(path: Path, data: bytes) -> None:
    """Write a file completely or not at all."""
    draft = path.with_name(f".{path.name}.draft")
    with output_errors():
        try:
            draft.write_bytes(data)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


@contextlib.contextmanager
def output_errors() -> Iterator[None]:
    """Turn errors of the operating system into covey's."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write the output: {error.strerror}") from None
