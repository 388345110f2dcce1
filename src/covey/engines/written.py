"""The files of a release that one machine has written, before they are published."""

import os
import pickle
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from covey import tables
from covey.custody.footprints import FootprintPart
from covey.custody.sealed import START, frames, write_frame
from covey.encoding import Tally
from covey.engines.parts import as_table
from covey.engines.run import Order
from covey.engines.steps import Job, Summary, Task
from covey.generalisation import View
from covey.measures.histograms import Persons
from covey.release import read_back
from covey.report import Output
from covey.report.carried import Carried
from covey.report.compared import in_counts
from covey.schema import TableFormat
from covey.tables import Table, files
from covey.tables.batches import Batches, batches
from covey.tables.digests import Digest
from covey.verification import Verdict, verify

if TYPE_CHECKING:
    from covey.engines.local import Local


class LocalFiles:
    """The files of a release in its draft, before they are published."""

    def __init__(self, run: "Local", job: Job, folder: Path, order: Order, ending: str) -> None:
        self.run, self.job, self.folder, self.order = run, job, folder, order
        self.ending = ending
        self.digests: dict[str, Digest] = {}
        self.defused = 0

    @property
    def task(self) -> Task:
        """What was asked."""
        return self.job.task

    def write(self, number: int) -> "LocalFiles":
        """Write all buckets, and read each file back."""
        for place in range(number):
            name = f"part-{place:05}{self.ending}"
            digest, defused = self.run.once(f"file-{place}", partial(self._write, place, name))
            if digest is not None and not self._is_there(name, digest):  # removed after a crash
                digest, defused = self._write(place, name)
            if digest is not None:
                self.digests[name] = digest
            self.defused += defused
            self.run.progress("generalising", (place + 1) / number)
        return self

    def _is_there(self, name: str, digest: Digest) -> bool:
        path = self.folder / name
        return path.exists() and Digest.of(path) == digest

    def _write(self, place: int, name: str) -> tuple[Digest | None, int]:
        gathered = self.run.gathered(place, self.job)
        if gathered.persons:
            with self.run.spool.appender(f"persons-{place}", after=START) as file:
                write_frame(file, pl.DataFrame(gathered.persons))
        if not gathered.table.frame.height:
            return None, 0
        if self.run.tracer is not None:
            hashes = (one.to_numpy() for one in gathered.traces)
            part = self.run.tracer.part(gathered.table.frame, hashes)
            self.run.spool.put(f"trace-{place}", pickle.dumps(part))
        path = self.folder / name
        with files.output_errors(), open(path, "wb", opener=_private) as output:
            defused = tables.write(
                gathered.table, output, name, defuse=self.order.to is None or self.order.to.defuse
            )
        read_back(path.read_bytes(), gathered.table, self.order.schema)
        return Digest.of(path), defused

    @property
    def _format(self) -> TableFormat:
        return TableFormat(**self.task.dialect.written, header=True, skip=0)

    def batches(self) -> Batches:
        """The files as they were written."""
        return batches(str(self.folder), self.order.schema, declared=self._format)

    @property
    def output(self) -> Output:
        """The figures of the files."""
        kind = "csv" if self.ending == ".csv" else "parquet"
        return Output.of_folder(kind, self.digests, self.task.dialect.written, self.defused)

    # ── judging ─────────────────────────────────────────────────────────────────────────────────

    def verdict(self) -> Verdict:
        """Verify all files together."""
        requirements = self.order.request.requirements
        return verify(self.batches(), self.order.schema, requirements, persons=self._persons())

    def trace(self) -> FootprintPart | None:
        """What the register records of all rows; None if there are too many, or no register."""
        if self.run.tracer is None:
            return None
        stored = (b"".join(self.run.spool.chunks(f"trace-{place}")) for place in self._places)
        return FootprintPart.together(map(pickle.loads, stored))  # authenticated

    @property
    def _places(self) -> list[int]:
        """The numbers of the files, in their order."""
        return [int(name.removesuffix(self.ending)[-5:]) for name in sorted(self.digests)]

    def _persons(self) -> dict[str, pl.Series]:
        names = self.task.request.persons
        if not names:
            return {}
        some = pl.concat(
            [one for place in self._places for one in frames(self.run.spool, f"persons-{place}")]
        )
        return {name: some[f"p{place}"].alias(name) for place, name in enumerate(names)}

    def persons(self) -> Persons | None:
        """How the rows belong to persons, if k counts persons."""
        known = self._persons()
        if not known:
            return None
        whose = next(iter(known.values()))
        sizes = whose.drop_nulls().value_counts(name="rows")["rows"]
        most = int(sizes.max() or 1)  # type: ignore[arg-type]
        return Persons(len(sizes), most, whose.null_count(), None)

    def view(self, summary: Summary) -> tuple[View, Carried]:
        """The release beside its original, and the columns that it carries."""
        schema = self.order.schema
        tally = Tally.of_scan(summary.scan, schema, self.task.dialect)
        return in_counts(
            *(tally, self.batches(), schema),
            class_column=self.order.request.class_column,
            originals=summary.originals,
            owners=self._persons(),
        )

    def cells(self, names: Sequence[str]) -> Table:
        """A table with the distinct cells of these columns."""
        known: Mapping[str, pl.Series] = {}
        for batch in self.batches().only(names) if names else ():
            known = {
                name: pl.concat(
                    [*([known[name]] if known else []), batch.frame[name].unique()]
                ).unique()
                for name in names
            }
        return as_table(known, self.task.dialect)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
