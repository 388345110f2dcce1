"""Write a release and what goes with it into the studio's own folder."""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from covey.release import Release
from covey.report import About, Report
from covey.report import certificate as certificates
from covey.studio.dictionary import Entry, as_csv, dictionary
from covey.studio.pairs import Pair
from covey.studio.scripts import REPORTS

DICTIONARY = "data-dictionary.csv"
FOR_OTHERS, FOR_YOU = "for-the-recipient.zip", "for-your-files.zip"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the first time that a zip file can hold: no file shows its own


@dataclass(frozen=True, eq=False, repr=False)
class PackedRelease:
    """A release that was written, and the files that go with it."""

    report: Report
    folder: Path
    output: str
    certificate: str | None

    @property
    def sha256(self) -> str:
        """The digest of the released file."""
        assert self.report.output is not None
        return self.report.output.sha256

    @property
    def names(self) -> tuple[str, ...]:
        """The files that were written with the release."""
        return (self.output, *REPORTS, *([self.certificate] if self.certificate else []))


@dataclass(frozen=True, eq=False, repr=False)
class Package:
    """All files to hand over or to keep."""

    for_others: tuple[str, ...]
    for_you: tuple[str, ...]
    dictionary: tuple[Entry, ...]


def written(
    release: Release, folder: Path, output: str, about: About | None, *, certificate: bool
) -> PackedRelease:
    """Write a release, its reports and its certificate, as `covey anonymize` does.

    The folder is for this release and no other: writing it again replaces its entry in the
    register, and another release gets an entry of its own.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    seal = certificates.path_for(folder / output)
    seal.unlink(missing_ok=True)  # of an earlier writing, for other bytes of the report
    reports = [folder / name for name in REPORTS]
    report = release.write(folder / output, report=reports, certificate=certificate, about=about)
    return PackedRelease(report, folder, output, seal.name if certificate else None)


def packed(pair: Pair, release: PackedRelease, texts: Mapping[str, str]) -> Package:
    """Add the dictionary and these texts to a written release, and pack all files."""
    lines, folder = dictionary(pair), release.folder
    (folder / DICTIONARY).write_bytes(as_csv(lines))
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    others = (release.output, DICTIONARY, *release.names[1:])
    yours = (*others, *texts)
    _pack(folder / FOR_OTHERS, folder, others)
    _pack(folder / FOR_YOU, folder, yours)
    return Package(others, yours, lines)


def _pack(path: Path, folder: Path, names: tuple[str, ...]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in names:
            entry = zipfile.ZipInfo(name, _LONG_AGO)
            entry.external_attr = 0o600 << 16
            packed.writestr(entry, (folder / name).read_bytes(), zipfile.ZIP_DEFLATED)
