"""Zip archives: one table in them, or one of several by its name."""

import io
import zipfile
from collections.abc import Callable

from covey.errors import TableError
from covey.tables.formats.common import chosen, damaged

_SEPARATOR = "::"


def member(data: bytes, part: str | None) -> tuple[bytes, str | None]:
    """The bytes of a file in an archive, and the part of that file, if one is named."""
    with damaged("zip archive"), zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [member.filename for member in archive.infolist() if _is_table(member)]
        inner = None
        if part is not None and part not in names:
            ends = [name for name in names if part.startswith(name + _SEPARATOR)]
            if ends:
                name = max(ends, key=len)
                part, inner = name, part[len(name) + len(_SEPARATOR) :]
        name = chosen(part, names, lambda name: archive.getinfo(name).file_size > 0, "file")
        if archive.getinfo(name).flag_bits & 1:
            raise TableError("the zip archive is encrypted: unpack it first")
        return archive.read(name), inner


def _is_table(member: zipfile.ZipInfo) -> bool:
    path = member.filename.split("/")
    return not member.is_dir() and path[0] != "__MACOSX" and not path[-1].startswith(".")


def names(data: bytes) -> list[str]:
    """The names of all files in an archive."""
    with damaged("zip archive"), zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.namelist()


def write(put: Callable[[io.BytesIO], int]) -> tuple[bytes, int]:
    """An archive with one CSV file, dated 1980, and what writing that file returned."""
    text, memory = io.BytesIO(), io.BytesIO()
    changed = put(text)
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        inside = zipfile.ZipInfo("release.csv")  # of 1980, as no other time is given
        inside.compress_type = zipfile.ZIP_DEFLATED
        inside.create_system, inside.external_attr = 3, 0o600 << 16  # the same everywhere
        archive.writestr(inside, text.getvalue())
    return memory.getvalue(), changed
