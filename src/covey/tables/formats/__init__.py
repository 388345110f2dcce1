"""Kinds of table files: recognised by their content, written by the ending of their name.

Each family has a module. What no kind recognises is a CSV file, which `csv_files` reads.
"""

import contextlib
import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from covey.declared import declared
from covey.errors import OutputError, TableError
from covey.schema import TableFormat
from covey.tables.formats import archives, arrow, databases, json_lines, spreadsheets, statistical
from covey.tables.formats.common import DESCRIPTION, Found, needed

__all__ = [
    "DESCRIPTION",
    "Found",
    "Kind",
    "format_of",
    "from_file",
    "kind_of",
    "kind_of_file",
    "opened",
    "unpacked",
    "writer_of",
]

HEAD = 1024  # bytes that show what a file is

_ZIP = (b"PK\3\4", b"PK\5\6")
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Kind:
    """A kind of file: its name in reports, how to recognise it, and how to read it."""

    name: str
    fits: Callable[[bytes], bool]
    read: Callable[[bytes, str | None, TableFormat], Found]
    has_parts: bool = False
    read_file: Callable[[Path, str | None], Found] | None = None  # without loading all of it


def _begins(*signs: bytes) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(signs)


def _is_parquet(data: bytes) -> bool:
    return data[:4] == b"PAR1" and data[4:5] not in b",;\t|\r\n"  # else a column name


def _is_portable(data: bytes) -> bool:
    return b"SPSSPORT" in data[:HEAD].replace(b"\r", b"").replace(b"\n", b"")[:464]


def _is_workbook(data: bytes) -> bool:
    if not data.startswith(_ZIP):
        return False
    names = archives.names(data)
    return any(name.startswith("xl/") for name in names) or {"mimetype", "content.xml"} <= {*names}


def _is_ods(data: bytes) -> bool:
    return _is_workbook(data) and "content.xml" in archives.names(data)


_SAS_MAGIC = bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")

KINDS = (
    Kind("parquet", _is_parquet, arrow.read_parquet),
    Kind("arrow", _begins(b"ARROW1"), arrow.read_ipc),
    Kind("arrow stream", _begins(b"\xff\xff\xff\xff"), arrow.read_stream),
    Kind("ods", _is_ods, spreadsheets.read, has_parts=True),
    Kind("xlsx", _is_workbook, spreadsheets.read, has_parts=True),
    Kind("xls", _begins(bytes.fromhex("d0cf11e0a1b11ae1")), spreadsheets.read, has_parts=True),
    Kind("sav", _begins(b"$FL2"), statistical.reader("read_sav", "SPSS file")),
    Kind("zsav", _begins(b"$FL3"), statistical.reader("read_sav", "SPSS file")),
    Kind("por", _is_portable, statistical.reader("read_por", "SPSS file")),
    Kind(
        "dta",
        lambda data: bool(statistical.STATA.match(data)),
        statistical.reader("read_dta", "Stata file"),
    ),
    Kind(
        "sas7bdat",
        lambda data: data[12:32] == _SAS_MAGIC,
        statistical.reader("read_sas7bdat", "SAS file"),
    ),
    Kind(
        "xpt",
        _begins(b"HEADER RECORD*******LIB"),
        statistical.reader("read_xport", "SAS transport file"),
    ),
    Kind(
        "sqlite",
        _begins(databases.SQLITE),
        databases.read_sqlite,
        has_parts=True,
        read_file=databases.read_sqlite_file,
    ),
    Kind(
        "duckdb",
        lambda data: data[8:12] == databases.DUCKDB,
        databases.read_duckdb,
        has_parts=True,
        read_file=databases.read_duckdb_file,
    ),
    Kind("json lines", lambda data: bool(json_lines.BEGINS.match(data)), json_lines.read),
    Kind("json", lambda data: bool(json_lines.LIST_BEGINS.match(data)), json_lines.read_list),
)


def kind_of(data: bytes) -> Kind | None:
    """The kind of a file by its content; None for a CSV file."""
    return next((kind for kind in KINDS if kind.fits(data)), None)


def from_file(path: Path) -> Kind | None:
    """The kind of a file that is better opened than loaded, by its first bytes."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    able = (kind for kind in KINDS if kind.read_file is not None)
    return next((kind for kind in able if kind.fits(head)), None)


def kind_of_file(path: str) -> str:
    """The kind of a file by its first bytes, unpacked by gzip if need be: parquet, csv or other."""
    with opened(path) as file:
        head = file.read(HEAD)
    if head.startswith((*_ZIP, _GZIP)):
        return "other"
    kind = kind_of(head)
    return "csv" if kind is None else "parquet" if kind.name == "parquet" else "other"


@contextlib.contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """The bytes of a file to be read one after another, unpacked if it is packed by gzip."""
    try:
        with Path(path).open("rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            stream: Any = gzip.GzipFile(fileobj=file) if packed else file
            yield stream
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise TableError("the table is a damaged gzip file") from None
    except OSError as error:
        raise TableError(f"the table cannot be read: {error.strerror}") from None


def unpacked(data: bytes, part: str | None) -> tuple[bytes, str | None]:
    """The bytes of the table in packed ones, and its part."""
    if data.startswith(_GZIP):
        try:
            return gzip.decompress(data), part
        except (EOFError, OSError, zlib.error):
            raise TableError("the table is a damaged gzip file") from None
    if data.startswith(_ZIP) and not _is_workbook(data):
        inside, part = archives.member(data, part)
        return (inside, part) if inside.startswith(_ZIP) else unpacked(inside, part)
    return data, part


def format_of(data: bytes) -> str:
    """The format of a file, as reports and certificates name it."""
    inside, _ = unpacked(data, None)
    kind = kind_of(inside)
    name = kind.name if kind else "csv"
    if data.startswith(_GZIP):
        return f"gzipped {name}"
    return f"zipped {name}" if data.startswith(_ZIP) and inside is not data else name


_ENDINGS = declared(__package__, "formats.toml")


def writer_of(name: str) -> str | None:
    """The format of an output by the ending of its name; None for a CSV file.

    Refuse a format that covey does not write, or cannot write without an extra.
    """
    name = name.lower()
    for other in _ENDINGS["not_written"]:
        if name.endswith(tuple(other["endings"])):
            raise OutputError(f"covey does not write this format: {other['remedy']}")
    plain = name.removesuffix(".gz")
    kinds = _ENDINGS["written"].items()
    found = next((kind for kind, ends in kinds if plain.endswith(tuple(ends))), None)
    if found is not None and plain != name:
        raise OutputError("only a CSV file is packed: remove .gz from the name")
    if found in _ENDINGS["needed"]:
        module, extra = _ENDINGS["needed"][found]
        needed(module, extra, f"writing .{found}", OutputError)
    return found
