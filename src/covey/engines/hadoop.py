"""Folders of files that Spark writes, wherever they are: on this machine or at an address.

At an address (hdfs://, s3a://), a release is written under a hidden name beside its own, and gets
its name in one step. Spark's own connection is used, so whatever Spark can write to will do.
"""

import contextlib
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covey.errors import OutputError, UsageError
from covey.release import Destination
from covey.tables import files, sources
from covey.tables.digests import Digest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SENT = re.compile(r"part-(\d{5})-.*\.parquet")


@dataclass(frozen=True, eq=False)
class HadoopFolder:
    """A folder, by the file system of Spark."""

    session: "SparkSession"
    path: str

    @property
    def _jvm(self) -> Any:
        return self.session._jvm

    def _of(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(name)

    @property
    def _system(self) -> Any:
        found = self._of(self.path).getFileSystem(self.session._jsparkSession.sessionState()
                                                  .newHadoopConf())  # fmt: skip
        # On this machine without files of checksums beside each file.
        return found.getRaw() if found.getScheme() == "file" else found

    def names(self, inside: str = "") -> list[str]:
        """The names of its files."""
        found = self._system.listStatus(self._of(f"{self.path}/{inside}"))
        return sorted(status.getPath().getName() for status in found)

    def bring_up(self, inside: str) -> list[str]:
        """Move the files that Spark wrote into a folder of this one up, under short names."""
        moved = []
        for name in self.names(inside):
            if sent := _SENT.fullmatch(name):
                moved.append(f"part-{sent[1]}.parquet")
                self._rename(f"{self.path}/{inside}/{name}", f"{self.path}/{moved[-1]}")
        self._system.delete(self._of(f"{self.path}/{inside}"), True)
        return moved

    def digest(self, name: str) -> Digest:
        """The bytes of a file."""
        place, system = self._of(f"{self.path}/{name}"), self._system
        stream = system.open(place)
        try:
            sha256 = self._jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream)
        finally:
            stream.close()
        return Digest(system.getFileStatus(place).getLen(), sha256)

    # ── appearing ───────────────────────────────────────────────────────────────────────────────

    @property
    def is_empty(self) -> bool:
        """Whether there is no file here."""
        return not self._system.exists(self._of(self.path)) or not self.names()

    def remove(self) -> None:
        """Remove the folder and all in it."""
        self._system.delete(self._of(self.path), True)

    def become(self, name: str) -> None:
        """Give the folder another name; an empty folder that has this name is replaced."""
        self._system.delete(self._of(name), False)
        self._rename(self.path, name)

    def _rename(self, old: str, new: str) -> None:
        if not self._system.rename(self._of(old), self._of(new)):
            raise OutputError("the output cannot be written: a file cannot get its name")


@dataclass(frozen=True, eq=False)
class AtAddress:
    """The draft of a release at an address, and drafts of the files beside it on this machine."""

    draft: HadoopFolder
    to: str
    companions: files.Drafts

    def __getitem__(self, path: str | Path) -> files.FileDraft:
        return self.companions[path]

    def folder(self, _: str | Path) -> HadoopFolder:
        """The draft of the folder."""
        return self.draft

    def publish(self) -> None:
        """Give all drafts their names, or none."""
        self.draft.become(self.to)
        try:
            self.companions.publish()
        except BaseException:
            HadoopFolder(self.draft.session, self.to).become(self.draft.path)
            raise


@contextlib.contextmanager
def outputs(session: "SparkSession", to: Destination) -> Iterator[Any]:
    """Drafts of all outputs, removed at the end unless they were published."""
    if not sources.is_address(str(to.path)):
        with files.Drafts(to.path, *to.companions, folders=[to.path]) as on_disk:
            yield on_disk
        return
    if to.certificate:
        raise UsageError("a certificate is written beside a folder on this machine: name one")
    place = str(to.path).rstrip("/")
    above, _, name = place.rpartition("/")
    hidden = f"{above}/.{hashlib.sha256(name.encode()).hexdigest()[:16]}.{files.DRAFT}"
    draft = HadoopFolder(session, hidden)
    if not HadoopFolder(session, place).is_empty:
        raise OutputError("the output is a folder with files in it: name a new folder")
    if not draft.is_empty:
        raise OutputError("a release is being written there, or was stopped: remove its draft, "
                          f"the folder {hidden.rpartition('/')[2]} beside it")  # fmt: skip
    with files.Drafts(*to.companions) as companions:
        try:
            yield AtAddress(draft, place, companions)
        finally:
            draft.remove()
