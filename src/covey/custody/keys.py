"""The custodian's key, without which no one can reproduce a release.

covey's code is public, and an adversary may know a lot about the people in a table. What the
adversary must not know is how ties were broken and how random choices were seeded: otherwise they
could make a release from every guess and compare the bytes. All of this is derived from the key.
"""

import contextlib
import hmac
import os
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import platformdirs

from covey.errors import UsageError

SIZE = 32  # bytes
VARIABLE = "COVEY_KEY_FILE"
_DIGITS = frozenset("0123456789abcdef")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, eq=False)
class Key:
    """32 secret bytes, and whether they are stored for next time."""

    _secret: bytes = field(repr=False)
    stored: bool = True
    path: Path | None = None  # the key file
    is_new: bool = False  # whether it was created just now

    def __post_init__(self) -> None:
        if not isinstance(self._secret, bytes) or len(self._secret) != SIZE:
            raise UsageError(f"a key must be {SIZE} bytes or the path of a key file")

    @classmethod
    def of(cls, source: "Key | bytes | str | Path | None" = None) -> "Key":
        """The key from these bytes or this file, or the custodian's own if nothing is given.

        A file that does not exist yet is created. The custodian's own key is in the file that
        `COVEY_KEY_FILE` names, or else in the user's data folder. If covey cannot write there, it
        draws a key for this run only.
        """
        match source:
            case Key():
                return source
            case bytes():
                return cls(source)
            case str() | Path():
                return cls._in_file(Path(source))
        try:
            return cls._in_file(own())
        except _NotStoredError:
            if os.environ.get(VARIABLE):
                raise
            return cls(secrets.token_bytes(SIZE), stored=False)

    @classmethod
    def _in_file(cls, path: Path) -> "Key":
        if "\0" in str(path):
            raise UsageError("the path of the key file is not valid")
        try:
            return cls(_read(path), path=path)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            raise UsageError(f"the key file cannot be read: {error.strerror}") from None
        try:
            is_new = _make(path)
            return cls(_read(path), path=path, is_new=is_new)
        except OSError as error:
            raise _NotStoredError(f"the key cannot be stored: {error.strerror}") from None

    def digest(self, purpose: str, *parts: bytes) -> bytes:
        """HMAC-SHA256 of the parts; different purposes or lists of parts never collide."""
        code = hmac.new(self._secret, digestmod="sha256")
        for part in (purpose.encode(), *parts):
            code.update(len(part).to_bytes(8))
            code.update(part)
        return code.digest()

    def derived(self, purpose: str, salt: bytes) -> bytes:
        """A key for one purpose and one salt, by HKDF (RFC 5869) with SHA-256."""
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return HKDF(SHA256(), SIZE, salt, f"covey {purpose}".encode()).derive(self._secret)

    @property
    def fingerprint(self) -> str:
        """Identifies the key without revealing anything about it."""
        return self.digest("fingerprint")[:8].hex()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key cannot be pickled or copied: it must never leave with a release")


class _NotStoredError(UsageError):
    """The key cannot be stored."""


def own() -> Path:
    """The file of the custodian's own key, which may not exist yet."""
    return Path(os.environ.get(VARIABLE) or folder() / "key")


def folder() -> Path:
    """The folder for the custodian's files on this system."""
    return platformdirs.user_data_path("covey", appauthor=False)


def is_shared(found: os.stat_result) -> bool:
    """Whether other users may read a file or list a folder."""
    return os.name == "posix" and bool(stat.S_IMODE(found.st_mode) & _OTHERS)


def _read(path: Path) -> bytes:
    if path.exists() and not path.is_file():  # a pipe would make covey wait
        raise UsageError("the key file is a folder or a device, not a regular file")
    with path.open("rb") as file:
        if is_shared(os.fstat(file.fileno())):
            raise UsageError("other users can read the key file: restrict it with chmod 600")
        text = file.read(1024).decode("ascii", "replace").strip()
    if len(text) != 2 * SIZE or not _DIGITS.issuperset(text):
        raise UsageError(f"the key file does not hold a key: it must be {2 * SIZE} digits 0-9a-f")
    return bytes.fromhex(text)


def _make(path: Path) -> bool:
    """Store a new key; return False if another process stored one first, which is then used."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(draft, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(f"{secrets.token_hex(SIZE)}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename, this never replaces an existing key
    except FileExistsError:
        return False
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    return True
