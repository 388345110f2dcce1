"""The files of a release that one machine has written, before they are published."""

import os
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from covey import tables
from covey.custody.footprints import FootprintPart
from covey.custody.sealed import START, frames, write_frame
from covey.encoding import Tally
from covey.engines.parts import PartFiles
from covey.generalisation import View
from covey.measures.histograms import PersonCounts
from covey.release import read_back
from covey.report import Output
from covey.report.carried import Carried
from covey.report.compared import in_counts
from covey.tables import files
from covey.tables.batches import Batches, batches
from covey.tables.digests import Digest
from covey.verification import Verdict, verify

if TYPE_CHECKING:
    from covey.engines.local import Local


@dataclass(eq=False, repr=False)
class LocalFiles(PartFiles):
    """The files of a release in its draft, before they are published."""

    run: "Local"
    folder: Path
    ending: str
    defused: int = 0

    @classmethod
    def written(cls, run: "Local", folder: Path, ending: str) -> "LocalFiles":
        """Write all buckets, and read each file back."""
        made = cls(run, {}, folder, ending)
        for place in range(run.buckets):
            name = f"part-{place:05}{ending}"
            digest, defused = run.once(f"file-{place}", partial(made._write, place, name))
            if digest is not None and not made._is_there(name, digest):  # removed after a crash
                digest, defused = made._write(place, name)
            if digest is not None:
                made.digests[name] = digest
            made.defused += defused
            run.progress("generalising", (place + 1) / run.buckets)
        return made

    def _is_there(self, name: str, digest: Digest) -> bool:
        path = self.folder / name
        return path.exists() and Digest.of(path) == digest

    def _write(self, place: int, name: str) -> tuple[Digest | None, int]:
        gathered, spool = self.run.gathered(place), self.run.spool
        if gathered.persons:
            with spool.appender(f"persons-{place}", after=START) as file:
                write_frame(file, pl.DataFrame(gathered.persons))
        if not gathered.table.frame.height:
            return None, 0
        if self.run.tracer is not None:
            hashes = (one.to_numpy() for one in gathered.traces)
            part = self.run.tracer.part(gathered.table.frame, hashes)
            spool.put(f"trace-{place}", pickle.dumps(part))
        path = self.folder / name
        with files.output_errors(), open(path, "wb", opener=_private) as output:
            defused = tables.write(gathered.table, output, name, defuse=self.run.to.defuse)
        read_back(path.read_bytes(), gathered.table, self.task.schema)
        return Digest.of(path), defused

    @property
    def batches(self) -> Batches:
        """The files as they were written."""
        return batches(str(self.folder), self.task.schema, declared=self.form)

    @property
    def output(self) -> Output:
        """The figures of the files."""
        kind = "csv" if self.ending == ".csv" else "parquet"
        return Output.of_folder(kind, self.digests, self.dialect.written, self.defused)

    def judged(self) -> Verdict:
        """Verify all files together."""
        requirements = self.task.request.requirements
        return verify(self.batches, self.task.schema, requirements, persons=self._owners)

    @property
    def _places(self) -> list[int]:
        """The numbers of the files, in their order."""
        return [int(name.removesuffix(self.ending)[-5:]) for name in sorted(self.digests)]

    @property
    def _owners(self) -> dict[str, pl.Series]:
        """The person of each row, in the order of the files, by each column that k counts."""
        names, spool = self.task.request.persons, self.run.spool
        if not names:
            return {}
        owners = pl.concat(
            [one for place in self._places for one in frames(spool, f"persons-{place}")]
        )
        return {name: owners[f"p{place}"].alias(name) for place, name in enumerate(names)}

    # ── measuring ───────────────────────────────────────────────────────────────────────────────

    def trace(self) -> FootprintPart | None:
        """What the register records of all rows; None if there are too many, or no register."""
        if self.run.tracer is None:
            return None
        stored = (b"".join(self.run.spool.chunks(f"trace-{place}")) for place in self._places)
        return FootprintPart.together(map(pickle.loads, stored))  # authenticated

    def persons(self) -> PersonCounts:
        """How the rows belong to persons."""
        return PersonCounts.of(next(iter(self._owners.values())))

    def view(self, original: Tally) -> tuple[View, Carried]:
        """The release beside its original, and the columns that it carries."""
        return in_counts(
            *(original, self.batches, self.task.schema),
            class_column=self.task.request.class_column,
            originals=self.run.summary.originals,
            owners=self._owners,
        )

    def distinct(self, names: Sequence[str]) -> dict[str, pl.Series]:
        """The distinct cells of these columns."""
        read = self.batches.only(names) if names else ()
        found = [[batch.frame[name].unique() for name in names] for batch in read]
        columns = zip(names, zip(*found, strict=True), strict=True) if names else ()
        return {name: pl.concat(cells).unique() for name, cells in columns}


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
