"""Where a table is: a file, a part of one, a folder or pattern of files, or a database.

`PATH::PART` names a part: a sheet, a table, a query, a member of an archive. A file whose own name
contains `::` is found too: the longest name that exists is the path.

An address of a database may hold a password. It is used to connect, and shown nowhere.
"""

import contextlib
import fnmatch
import glob
import itertools
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

STREAM = "-"
_SEPARATOR = "::"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_PATTERN = re.compile(r"[*?\[]")
QUERY = re.compile(r"\s*(SELECT|WITH|FROM|VALUES|TABLE)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Location:
    """The place of a table, and its part if one is named."""

    place: str = field(repr=False)  # a path, a pattern, `-`, or the address of a database
    part: str | None = field(default=None, repr=False)  # a query may quote cells

    @property
    def is_address(self) -> bool:
        """Whether this is the address of a database."""
        return is_address(self.place)

    @property
    def is_many(self) -> bool:
        """Whether this is a folder or a pattern, not one file."""
        if self.place in ("", STREAM) or self.is_address or is_file(self.place):
            return False
        return _is_folder(self.place) or bool(_PATTERN.search(self.place))

    @property
    def name(self) -> str:
        """The name for messages: no folders, no query, and nothing of an address but its end."""
        if self.place == STREAM:
            name = "standard input"
        elif self.is_address:
            # After the host; if an @ comes later, the password has signs that no address has.
            after = re.sub("^[^:]+://[^/?#]*", "", self.place)
            path = "" if "@" in after else re.split("[?#]", after)[0]
            name = path.rpartition("/")[2] or "database"
        else:
            name = Path(self.place).name
        is_shown = self.part is not None and not QUERY.match(self.part)
        return f"{name}{_SEPARATOR}{self.part}" if is_shown else name

    def files(self) -> list[str]:
        """The files of this source in a fixed order: none for standard input and databases."""
        if self.place == STREAM or self.is_address:
            return []
        if not self.is_many:
            return [self.place]
        if not _is_folder(self.place):
            return sorted(path for path in _matching(self.place) if is_file(path))
        paths = (path for path in Path(self.place).rglob("*") if path.is_file())
        return sorted(str(path) for path in paths if not _is_hidden(path, self.place))

    def takes_in(self, path: str) -> bool:
        """Whether a file at this real path would be read along with the others."""
        if not self.is_many:
            return False
        if _is_folder(self.place):
            return Path(path).is_relative_to(os.path.realpath(self.place))
        head, tail = os.path.split(self.place)
        if _PATTERN.search(head):
            return path in map(os.path.realpath, self.files())
        pattern = os.path.join(glob.escape(os.path.realpath(head)), tail)  # noqa: PTH118
        return Path(path).match(pattern)

    def takes_in_some_of(self, folder: str) -> bool:
        """Whether a new file in the folder at this real path might be read along with the others.

        It depends on the file's name, but the folder is refused in any case.
        """
        if not self.is_many or _is_folder(self.place):
            return self.takes_in(folder)
        real = Path(glob.escape(os.path.realpath(self.folder)))
        rest = Path(self.place).parent.relative_to(self.folder)
        return fnmatch.fnmatchcase(folder, str(real / rest))

    @property
    def folder(self) -> str:
        """The folder that all files of this source are in, or in folders of it."""
        if _is_folder(self.place):
            return self.place
        parts = Path(self.place).parent.parts
        return str(Path(*itertools.takewhile(lambda part: not _PATTERN.search(part), parts)))


def of(source: str | Path) -> Location:
    """Split a path or an address and its part."""
    text = str(source)
    if _SEPARATOR not in text or _exists(text):
        return Location(text)
    if is_address(text):
        # The host may be an IPv6 address, and a password anything: the part comes after both.
        host = text.index("://") + 3
        after = re.search("[/?]", text[host:])
        begin = len(text) if after is None else host + after.start()
        place, _, part = text[begin:].partition(_SEPARATOR)
        return Location(text[:begin] + place, part or None)
    ends = [found.start() for found in re.finditer("(?=::)", text)]
    end = next((end for end in reversed(ends) if _exists(text[:end])), ends[0])
    return Location(text[:end], text[end + len(_SEPARATOR) :] or None)


def typed(source: str) -> str:
    """A place as typed, but for the address of a database, which may hold a password."""
    found = of(source)
    if not found.is_address:
        return source
    scheme = found.place.partition("://")[0]
    return f"{scheme}://…{_SEPARATOR}{found.part}" if found.part else f"{scheme}://…"


def is_address(text: str) -> bool:
    """Whether a text is the address of a database, and no path."""
    return _ADDRESS.match(text) is not None and not _exists(text)


def is_file(path: str) -> bool:
    """Whether there is a regular file at this path."""
    with contextlib.suppress(OSError, ValueError):
        return Path(path).is_file()
    return False


def _is_folder(path: str) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return Path(path).is_dir()
    return False


def _matching(pattern: str) -> list[str]:
    return glob.glob(pattern, recursive=True)  # noqa: PTH207 - the pattern may be absolute


def _exists(path: str) -> bool:
    try:
        if path == STREAM or os.path.lexists(path):
            return True
        return bool(_PATTERN.search(path)) and bool(_matching(path))
    except (OSError, ValueError):
        return False


def _is_hidden(path: Path, folder: str) -> bool:
    """Whether programs that write folders of files mean this one for themselves."""
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
