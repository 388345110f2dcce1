"""Release a table that does not fit into memory, on one machine.

Rows wait on the disk between the passes, sealed under the custodian's key. At any time there is one
batch or one part in memory. Finished passes are remembered, so that work can be resumed after a
crash.
"""

import contextlib
import hashlib
import json
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from covey.clustering.progress import Progress, part_of
from covey.clustering.request import Request
from covey.custody.following import Following, Newcomers, Together
from covey.custody.footprints import LARGEST, Tracer
from covey.custody.hashes import Hashes
from covey.custody.sealed import START, Appender, Spool, frames, write_frame
from covey.encoding.groups import Groups, Rings
from covey.engines import steps
from covey.engines.part import Grouping, Outcome
from covey.engines.parts import InParts, task_of
from covey.engines.run import Order
from covey.engines.steps import (
    ATOM,
    PART,
    Gathered,
    InputSurvey,
    Job,
    PartRows,
    ShownRows,
    Sizes,
    Summary,
)
from covey.engines.written import LocalFiles
from covey.errors import UsageError
from covey.release import Outputs
from covey.schema import Column
from covey.tables import files, formats
from covey.tables.batches import Batches
from covey.tables.merging import total
from covey.tables.strays import notes_of

T = TypeVar("T")
_WAITING = 1_000_000  # divided rows that wait in memory before they are written


@dataclass(frozen=True, eq=False, repr=False)
class LocalTable:
    """A table that one machine reads."""

    batches: Batches

    def outputs(self, order: Order) -> AbstractContextManager[Outputs | None]:
        """Drafts of all outputs, removed at the end unless they were published."""
        assert order.to is not None
        path = order.to.path
        return files.Drafts(path, *order.to.companions, folders=[path], resume=order.resume)

    @contextlib.contextmanager
    def running(self, order: Order, progress: Progress) -> Iterator["Local"]:
        """The stages over this table, with a spool beside the output."""
        task = task_of(order, self.batches.names, self.batches.dialect)
        with _working(self.batches, order) as spool:
            tracer = None
            if order.remember:
                tracer = Tracer(order.key, order.schema, order.request.size, task.needed)
            yield Local(task, order, progress, self.batches, spool, tracer)


class Router:
    """Sends all rows of an atom to the part of its first one."""

    def __init__(self, together: Together, tracer: Tracer) -> None:
        self._together = together
        self._hashes = f"h{len(tracer.content) + tracer.who.index(together.name)}"
        self._parts = np.full(max(together.labels.max(initial=0), 0) + 1, -1)  # of each atom

    def routed(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The divided rows with their atoms, and the parts of these."""
        atoms = self._together.of_rows(rows[self._hashes].to_numpy())
        parts = rows[PART].to_numpy().copy()
        known, first = np.unique(atoms, return_index=True)
        new = (known >= 0) & (self._parts[np.maximum(known, 0)] < 0)
        self._parts[known[new]] = parts[first[new]]
        parts[atoms >= 0] = self._parts[atoms[atoms >= 0]]
        return rows.with_columns(pl.Series(PART, parts), pl.Series(ATOM, atoms))


@dataclass(eq=False, repr=False)
class Local(InParts):
    """The passes of a release, one after another; what waits on the disk is sealed."""

    source: Batches
    spool: Spool
    tracer: Tracer | None  # None if nothing is recorded of the rows
    _parts: list[list[int]] = field(default_factory=list)

    @property
    def doubts(self) -> list[str]:
        """Rows that were left out; what waits on the disk is sealed."""
        return notes_of(self.source.left_out)

    # ── the input ───────────────────────────────────────────────────────────────────────────────

    def scanned(self) -> InputSurvey:
        """Go through the input once, or twice if earlier releases decide who is released."""
        if (earlier := self.order.following) is not None:
            assert self.tracer is not None
            self.together = self.once("together", partial(self._together, earlier, self.tracer))
            if earlier.only_new:
                self.task = replace(self.task, newcomers=Newcomers(self.tracer, self.together))
        return self.once(
            "survey", lambda: InputSurvey.over(self._batches("reading", None), self.task)
        )

    def divided(self) -> Job:
        """Give every row its part; the returned job knows the final parts."""
        job, rows = self.job, self.surveyed.read
        if rows > LARGEST:
            self.tracer = None  # too many to compare with those of other releases
        if self.tracer is not None:
            job = replace(job, traces=len(self.tracer.content) + len(self.tracer.who))

        def pass_() -> Sizes:
            for name in self.spool.names():
                if name.startswith("rows-"):
                    self.spool.remove(name)
            return self._spread(job, rows)

        cuts, self._parts = steps.final_parts(job, self.once("sizes", pass_))
        return replace(job, cuts=cuts)

    def _together(self, following: Following, tracer: Tracer) -> Together:
        """Go through the input, and find out who stays together."""
        hashes: dict[str, list[Hashes]] = {name: [] for name in tracer.who}
        for batch in self._batches("reading", None):
            _, kept = self.task.read(batch)
            for name, found in hashes.items():
                found.append(tracer.people(batch, kept.rows, name))
        every = {name: np.concatenate(found) for name, found in hashes.items()}
        return following.together(tracer, every)

    def _spread(self, job: Job, rows: int) -> Sizes:
        trace = None if self.tracer is None else self.tracer.hashes
        follows = self.tracer is not None and self.task.request.follows
        router = Router(self.together, self.tracer) if self.tracer and follows else None
        sizes: list[Sizes] = []
        waiting: dict[int, list[pl.DataFrame]] = {}
        held = 0
        with contextlib.ExitStack() as stack:
            appenders: dict[int, Appender] = {}

            def flush() -> None:
                for number in sorted(waiting):
                    if number not in appenders:
                        made = self.spool.appender(f"rows-{number}")
                        appenders[number] = stack.enter_context(made)
                    write_frame(appenders[number], pl.concat(waiting.pop(number)))

            for batch in self._batches("encoding", rows):
                divided = steps.divide(batch, job, trace)
                if router is not None:
                    divided = router.routed(divided)
                sizes.append(Sizes.of(divided, job))
                if len(sizes) > 64:
                    sizes = [total(sizes)]
                by_part = divided.partition_by(PART, as_dict=True, include_key=False)
                for (number,), some in by_part.items():
                    waiting.setdefault(int(number), []).append(some)
                held += divided.height
                if held >= min(_WAITING, 4 * self.order.part_rows):
                    flush()
                    held = 0
            flush()
        return total(sizes)

    def _batches(self, stage: str, rows: int | None) -> Iterator[Any]:
        """The batches of the input; with the number of rows, the progress is known."""
        self.progress(stage, 0.0)
        done = 0
        for batch in self.source.only(self.task.needed):
            yield batch
            done += batch.frame.height
            self.progress(stage, done / rows if rows else 0.0)

    # ── parts ───────────────────────────────────────────────────────────────────────────────────

    def rows_of(self, number: int) -> PartRows:
        """The rows of a part."""
        some = [
            frame
            for old in self._parts[number]
            if f"rows-{old}" in self._known
            for frame in frames(self.spool, f"rows-{old}")
        ]
        return PartRows.of(pl.concat(some, how="vertical_relaxed"), self.job)

    @cached_property
    def _known(self) -> set[str]:
        return {*self.spool.names()}

    def grouped(self, request: Request) -> Grouping[str]:
        """The groups of all parts, by their name in the spool."""

        def form(rows: PartRows, number: int, progress: Progress) -> Grouping[Groups | Rings]:
            return steps.group(rows, number, self.job, request, progress)

        return self._each("groups" if request.suppresses else "whole", form)

    def settled(self, first: Grouping[str]) -> Grouping[str]:
        """The same groups, repaired by the frequencies of all released rows."""

        def settle(rows: PartRows, number: int, progress: Progress) -> Grouping[Groups | Rings]:
            groups = self._groups(first.groups, number)
            return steps.settle(rows, groups, number, self.job, first.outcome.released, progress)

        return self._each("settled", settle)

    def _each(
        self, name: str, work: Callable[[PartRows, int, Progress], Grouping[Groups | Rings]]
    ) -> Grouping[str]:
        """Groups of each part, kept in the spool."""

        def grouped(number: int, progress: Progress) -> Outcome:
            found = work(self.rows_of(number), number, progress)
            labels = pl.DataFrame({"label": found.groups.labels})
            with self.spool.appender(f"{name}-{number}", after=START) as file:
                write_frame(file, labels)
            return found.outcome

        outcomes = [
            self.once(f"{name}-{number}-outcome", partial(grouped, number, progress))
            for number, progress in self._numbered("clustering")
        ]
        return Grouping(name, total(outcomes))

    def shown(self, formed: Grouping[str] | None) -> Summary:
        """Show all parts in buckets of whole classes; form their groups first if there are none."""
        self.once("shown", lambda: self._show(formed))
        stored = (self.spool.get(f"summary-{n}") for n in range(self.job.cuts.parts))
        summaries: list[Summary] = [pickle.loads(data) for data in stored if data]  # noqa: S301
        return total(summaries)

    def _groups(self, name: str, number: int) -> Groups:
        (labels,) = frames(self.spool, f"{name}-{number}")
        return Groups(labels["label"].to_numpy())

    def _show(self, formed: Grouping[str] | None) -> None:
        known = self.spool.get("showing")
        done, marks = pickle.loads(known) if known else (0, [START] * self.buckets)  # noqa: S301
        with contextlib.ExitStack() as stack:
            drafts = [
                stack.enter_context(self.spool.appender(f"bucket-{place}", after=after))
                for place, after in enumerate(marks)
            ]
            for number, progress in self._numbered("clustering", done):
                rows = self.rows_of(number)
                if formed is None:
                    found = steps.group(rows, number, self.job, self.task.request, progress)
                    groups = Groups(found.groups.labels)
                else:
                    groups = self._groups(formed.groups, number)
                summary = Summary.of(rows, groups, self.shown_by)
                self.spool.put(f"summary-{number}", pickle.dumps(summary))
                buckets = steps.show(rows, groups, self.shown_by).buckets(self.buckets)
                for file, some in zip(drafts, buckets, strict=True):
                    write_frame(file, some.classes)
                    write_frame(file, some.rows)
                    file.flush()
                self.spool.put("showing", pickle.dumps((number + 1, [f.mark for f in drafts])))

    def _numbered(self, stage: str, first: int = 0) -> Iterator[tuple[int, Progress]]:
        for number in range(first, self.job.cuts.parts):
            yield number, part_of(self.progress, stage, number, self.job.cuts.parts)
            self.progress(stage, (number + 1) / self.job.cuts.parts)

    def gathered(self, place: int) -> Gathered:
        """The sorted rows of a bucket."""
        two = frames(self.spool, f"bucket-{place}")
        return steps.gather([ShownRows(classes, next(two)) for classes in two], self.shown_by)

    def written(self, folder: Path) -> LocalFiles:
        """Write each bucket as a file, and read it back."""
        return LocalFiles.written(self, folder, _ending(self.source))

    def once(self, name: str, work: Callable[[], T]) -> T:
        """Do a piece of work, unless it was done before a crash."""
        known = self.spool.get(f"{name}-done")
        if known is not None:
            done: T = pickle.loads(known)  # noqa: S301 - authenticated
            return done
        found = work()
        self.spool.put(f"{name}-done", pickle.dumps(found))
        return found


# ── working files ───────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def _working(source: Batches, order: Order) -> Iterator[Spool]:
    """A spool beside the output, removed at the end unless the work can be resumed."""
    assert order.to is not None
    folder, request = files.working_folder(order.to.path), _fingerprint(source, order)
    if order.resume and folder.exists():
        spool = Spool.open(folder, order.key)
        if spool.get("request") != request:
            raise UsageError(
                "the work cannot be resumed: the input or the request has changed. Start it again "
                "without --resume"
            )
    else:
        files.remove_folder(folder)
        spool = Spool.make(folder, order.key)
        spool.put("request", request)
    try:
        yield spool
    except KeyboardInterrupt:
        raise  # what is done can be resumed, and no one else can read it
    except BaseException:
        spool.remove_all()
        raise
    spool.remove_all()


def _fingerprint(source: Batches, order: Order) -> bytes:
    """The input and all that the work depends on: what is done for one must not serve another."""
    stats = [(path, (stat := os.stat(path)).st_size, stat.st_mtime_ns) for path in source.files]  # noqa: PTH116
    trees = {name: _tree_of(column) for name, column in order.schema.columns.items()}
    settings = order.schema.model_dump(mode="json", exclude={"columns": {"__all__": {"taxonomy"}}})
    request = order.request
    text = json.dumps(
        [stats, request.seeded, settings, trees, order.part_rows,
         asdict(request.style), order.secret.seed, order.to and order.to.defuse, order.remember],
        default=str,
    )  # fmt: skip
    return hashlib.sha256(text.encode()).digest()


def _tree_of(column: Column) -> Any:
    """The tree of a column as plain values: as declared, or how it is built."""
    if column.has_own_tree:
        return column.model_dump(mode="json", include={"taxonomy"})
    tree = column.taxonomy_over(())
    return [tree.labels, tree.parent.tolist()]


def _ending(source: Batches) -> str:
    """The format of the released files: that of the input, or Parquet."""
    csv = source.files and formats.kind_of_file(source.files[0]) != "parquet"
    return ".csv" if csv else ".parquet"
