"""The bytes of files by their size and SHA-256, without reading a whole file into memory."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from covey.errors import TableError
from covey.tables import sources


@dataclass(frozen=True)
class Digest:
    """The bytes of a file, or of several."""

    bytes: int
    sha256: str

    @classmethod
    def of(cls, path: str | Path) -> "Digest":
        """Read a file, block by block."""
        try:
            with Path(path).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256")
                return cls(file.tell(), digest.hexdigest())
        except OSError as error:
            raise TableError(f"a file cannot be read: {error.strerror}") from None

    @classmethod
    def of_all(cls, files: "Mapping[str, Digest]") -> "Digest":
        """Several files as one: `cd FOLDER && sha256sum * | LC_ALL=C sort | sha256sum`."""
        lines = sorted(f"{digest.sha256}  {name}\n".encode() for name, digest in files.items())
        total = sum(digest.bytes for digest in files.values())
        return cls(total, hashlib.sha256(b"".join(lines)).hexdigest())


def digests(place: str | Path) -> dict[str, Digest]:
    """The files of a folder or pattern by their paths in that folder."""
    source = sources.of(place)
    found = (Path(path) for path in source.files())
    return {path.relative_to(source.folder).as_posix(): Digest.of(path) for path in found}
