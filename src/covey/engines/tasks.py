"""The work of Spark's tasks.

Between two tasks, Spark moves pieces: values with a place, which is the number of the partition
they go to. Spark knows nothing of what is in them. All tasks are pure functions, so a task that is
done again, or twice at the same time, gives the same pieces.
"""

import pickle
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import or_
from typing import Annotated, Any

import numpy as np
import polars as pl
import pyarrow as pa

from covey import errors
from covey._core.arrays import Longs
from covey.clustering.progress import silent
from covey.clustering.request import Request
from covey.custody.hashes import ODD, Hashes, mixed
from covey.custody.ordering import Content
from covey.encoding.groups import Groups, Rings
from covey.engines import steps
from covey.engines.part import Grouping
from covey.engines.steps import (
    CLASS,
    PART,
    InputSurvey,
    Job,
    PartRows,
    ShownRows,
    Sizes,
    Summary,
    Task,
)
from covey.errors import CoveyError, ViolationError
from covey.generalisation import ReleasedClasses
from covey.report.carried import Carried
from covey.schema.requirements import Requirement
from covey.tables import Table
from covey.tables.batches import ROWS, Typed
from covey.tables.formats.common import are_whole
from covey.tables.merging import FieldSums, each, merged
from covey.tables.strays import Suspects
from covey.verification import survey as judging
from covey.verification.verifying import LINES

Arrow = Iterator[pa.RecordBatch]
Piece = tuple[int, str, Any]  # its place, what it is, and the value
PIECE = "place int, what string, value binary"
ERROR, SUM = "error", "sum"
FILE, ROW = "\ufdd0file", "\ufdd0row"  # of a row that was read back: its file, and its place there
_IN_FILE = 40  # bits of the number of a row in a file


def done(work: bytes, batches: Arrow) -> Arrow:
    """Do a pickled task.

    covey's own errors hold no cell, and travel to the driver as pieces. Messages of other errors
    may quote cells, and Spark writes them into logs: only the place of the error is kept.
    """
    task, arguments = pickle.loads(work)  # noqa: S301 - from the driver
    try:
        for found in task(batches, *arguments):
            if isinstance(found, pl.DataFrame):
                yield from as_stored(found).to_batches(max_chunksize=ROWS)
            elif isinstance(found, pa.RecordBatch):
                yield found
            else:
                yield _sent(*found)
    except CoveyError as error:
        known = next(kind for kind in type(error).__mro__ if hasattr(errors, kind.__name__))
        yield _sent(0, ERROR, (known.__name__, error.args))
    except Exception as error:
        place = "".join(traceback.format_tb(error.__traceback__))
        raise RuntimeError(f"{type(error).__name__} in a task of covey\n{place}") from None


def raised(error: tuple[str, tuple[str, ...]]) -> CoveyError:
    """The error that a task has sent."""
    kind, message = error
    found: CoveyError = getattr(errors, kind)(*message)
    return found


# ── rows and pieces ─────────────────────────────────────────────────────────────────────────────


def _sent(place: int, what: str, value: Any) -> pa.RecordBatch:
    columns = [pa.array([place], pa.int32()), pa.array([what]), pa.array([pickle.dumps(value, 5)])]
    return pa.RecordBatch.from_arrays(columns, ["place", "what", "value"])


def _pieces(batches: Arrow) -> Iterator[Piece]:
    """The pieces of a partition; an error that another task has sent is raised again."""
    for batch in batches:
        for place, what, value in zip(*batch.columns, strict=True):
            found = pickle.loads(value.as_buffer())  # noqa: S301 - of another task
            if what.as_py() == ERROR:
                raise raised(found)
            yield place.as_py(), what.as_py(), found


def _frames(batches: Arrow) -> Iterator[pl.DataFrame]:
    """The rows of some batches at a time."""
    read = (pl.DataFrame(pl.from_arrow(batch)) for batch in batches if batch.num_rows)
    return _together(read, ROWS)


def _together(frames: Iterable[pl.DataFrame], most: int) -> Iterator[pl.DataFrame]:
    """The same rows, at least so many at a time."""
    waiting: list[pl.DataFrame] = []
    held = 0
    for frame in frames:
        waiting.append(frame)
        held += frame.height
        if held >= most:
            yield pl.concat(waiting, how="vertical_relaxed")
            waiting, held = [], 0
    if waiting:
        yield pl.concat(waiting, how="vertical_relaxed")


def as_stored(frame: pl.DataFrame) -> pa.Table:
    """The same rows with the types that Spark stores."""
    known = frame.with_columns(
        pl.col(pl.Null).cast(pl.String), pl.col(pl.Datetime).dt.cast_time_unit("us")
    )
    found = known.to_arrow(compat_level=pl.CompatLevel.oldest())
    text = (one.with_type(pa.string()) if pa.types.is_large_string(one.type) else one
            for one in found.schema)  # fmt: skip
    return found.cast(pa.schema(text))


def add(batches: Arrow) -> Iterator[Piece]:
    """Add up sums."""
    total = merged(value for _, _, value in _pieces(batches))
    if total is not None:
        yield 0, SUM, total


# ── the input ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Whole(FieldSums):
    """Of columns of floats, those that have numbers, and those with other than whole ones."""

    present: Annotated[frozenset[str], or_]
    broken: Annotated[frozenset[str], or_]


def whole(batches: Arrow) -> Iterator[Piece]:
    """Find out which columns of floats have only whole numbers."""
    for frame in _frames(batches):
        present = frozenset(c.name for c in frame if len(c.drop_nulls().drop_nans()))
        broken = frozenset(c.name for c in frame if not are_whole(c))
        yield 0, SUM, Whole(present, broken)


def suspects(batches: Arrow, typed: Typed) -> Iterator[Piece]:
    """Look for rows that are no people."""
    for frame in _frames(batches):
        yield 0, SUM, Suspects.of(typed.table(frame))


def without(batches: Arrow, typed: Typed, dropped: pl.DataFrame) -> Arrow:
    """Leave out the rows with these cells, which are given as text: Spark numbers no rows."""
    for batch in batches:
        cells = typed.table(pl.DataFrame(pl.from_arrow(batch))).frame.cast(pl.String)
        rows = cells.with_row_index(ROW).join(
            dropped, on=dropped.columns, how="anti", nulls_equal=True, maintain_order="left"
        )
        yield batch.take(rows[ROW].to_arrow())


def survey(batches: Arrow, typed: Typed, task: Task) -> Iterator[Piece]:
    """Survey some rows."""
    read = map(typed.table, _frames(batches))
    for first in read:
        yield 0, SUM, InputSurvey.over(chain([first], read), task)


def divide(batches: Arrow, typed: Typed, job: Job, most: int) -> Iterator[Piece]:
    """Send rows to their parts, so many at a time, and count what the parts get."""
    divided = (steps.divide(typed.table(frame), job) for frame in _frames(batches))
    sizes = []
    for some in _together(divided, most):
        sizes.append(Sizes.of(some, job))
        for (number,), rows in some.partition_by(PART, as_dict=True, include_key=False).items():
            yield int(number), "rows", rows
    if sizes:
        yield 0, "sizes", merged(sizes)


# ── parts ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False, repr=False)
class _Partition:
    """All rows of a part, and their groups if they were formed before."""

    number: int
    frame: pl.DataFrame
    labels: Longs | None

    @classmethod
    def all_in(cls, batches: Arrow) -> Iterator["_Partition"]:
        """The part of a partition; none if it is empty."""
        number, frames, labels = 0, [], None
        for place, what, value in _pieces(batches):
            match what:
                case "rows":
                    number = place
                    frames.append(value)
                case "labels":
                    labels = value
        if frames:
            yield cls(number, pl.concat(frames, how="vertical_relaxed"), labels)

    @property
    def groups(self) -> Groups:
        assert self.labels is not None
        return Groups(self.labels)

    def with_groups(self, found: Grouping[Groups | Rings]) -> Iterator[Piece]:
        """The part with its groups, in pieces: they stay together."""
        yield self.number, "rows", self.frame
        yield self.number, "labels", found.groups.labels
        yield self.number, "outcome", found.outcome


def form(batches: Arrow, job: Job, request: Request) -> Iterator[Piece]:
    """Form the groups of a part."""
    for own in _Partition.all_in(batches):
        rows = PartRows.of(own.frame, job)
        yield from own.with_groups(steps.group(rows, own.number, job, request, silent))


def settle(batches: Arrow, job: Job, released: Mapping[str, Longs]) -> Iterator[Piece]:
    """Repair the groups of a part by the frequencies of all released rows."""
    for own in _Partition.all_in(batches):
        rows = PartRows.of(own.frame, job)
        found = steps.settle(rows, own.groups, own.number, job, released, silent)
        yield from own.with_groups(found)


def show(batches: Arrow, job: Job, shown_by: Job, count: int) -> Iterator[Piece]:
    """Show a part, in so many buckets of classes; form its groups first if there are none."""
    for own in _Partition.all_in(batches):
        rows = PartRows.of(own.frame, job)
        if own.labels is None:
            formed = steps.group(rows, own.number, job, job.task.request, silent).groups
            groups = Groups(formed.labels)
        else:
            groups = own.groups
        shown = steps.show(rows, groups, shown_by)
        yield own.number, "summary", ShownPart.of(rows, groups, shown, shown_by)
        for place, some in enumerate(shown.buckets(count)):
            if some.rows.height:
                yield place, "shown", some


@dataclass(frozen=True, eq=False, repr=False)
class ShownPart:
    """What is known of a part that was shown."""

    summary: Summary
    content: Content  # of the released rows, to compare with those in the files
    types: pa.Schema  # of the released columns

    @classmethod
    def of(cls, rows: PartRows, groups: Groups, shown: ShownRows, job: Job) -> "ShownPart":
        """From the rows of a part."""
        none = ShownRows(shown.classes.clear(), shown.rows.clear())
        types = as_stored(steps.gather([none], job).table.frame).schema
        carried = {f"c{i}": name for i, name in enumerate(job.task.carried)}
        cells = shown.rows.select([*carried]).rename(carried)
        hashes = _hashes(shown.classes, cells, shown.rows[CLASS].to_numpy())
        return cls(Summary.of(rows, groups, job), Content.of(hashes), types)


def _hashes(
    classes: pl.DataFrame, carried: pl.DataFrame, place: Longs | None = None
) -> tuple[Hashes, Hashes]:
    """Two hashes of each released row; `place` is that of its class among the classes."""
    first, second = (_hash(classes, carried, place, half) for half in range(2))
    return first, second


def _hash(classes: pl.DataFrame, carried: pl.DataFrame, place: Longs | None, half: int) -> Hashes:
    found: Hashes = np.zeros(classes.height, dtype=np.uint64)
    for cells in _as_read_back(classes):
        found = mixed(found * ODD ^ cells.hash(half).to_numpy())
    if place is not None:
        found = found[place]
    for cells in _as_read_back(carried):
        found = mixed(found * ODD ^ cells.hash(half).to_numpy())
    return found


def _as_read_back(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns in the order of their names, with the types that they have in the files."""
    return pl.DataFrame(pl.from_arrow(as_stored(frame.select(sorted(frame.columns)))))


# ── files ───────────────────────────────────────────────────────────────────────────────────────


def gather(batches: Arrow, job: Job) -> Iterator[pl.DataFrame]:
    """The rows of a file."""
    shown = [value for _, _, value in _pieces(batches)]
    if shown:
        yield steps.gather(shown, job).table.frame


def owned(batches: Arrow, job: Job) -> Iterator[Piece]:
    """Whose row each row of a file is; the hash says which row is meant."""
    places, shown = [], []
    for place, _, value in _pieces(batches):
        places.append(place)
        shown.append(value)
    if shown:
        found = steps.gather(shown, job)
        persons = pl.DataFrame(list(found.persons))
        yield places[0], "owners", (persons, _row_hashes(found.table.frame, job.task))


def _row_hashes(frame: pl.DataFrame, task: Task) -> tuple[Hashes, Hashes]:
    carried = frame.select(task.carried)
    return _hashes(frame.drop(task.carried), carried)


def carried(batches: Arrow, job: Job) -> Iterator[Piece]:
    """Count what the rows of a file carry, with their owners, who are in no file."""
    shown = [value for _, _, value in _pieces(batches)]
    if shown:
        found = steps.gather(shown, job)
        owners = dict(zip(job.task.request.persons, found.persons, strict=True))
        yield 0, SUM, Carried.of(found.table, job.task.schema, owners)


def persons(batches: Arrow, number: int) -> Iterator[Piece]:
    """Count the rows of each person, and send the counts to so many places."""
    found = [value.rows.select("p0") for _, _, value in _pieces(batches)]
    if found:
        counts = pl.concat(found).group_by("p0").len("rows")
        place = (pl.col("p0") % number).fill_null(0).alias(PART)
        for (one,), some in counts.with_columns(place).partition_by(PART, as_dict=True).items():
            yield int(one), "persons", some.drop(PART)


@dataclass(frozen=True)
class Owned(FieldSums):
    """People, rows of the person with most of them, and rows of no one."""

    people: int
    most: Annotated[int, max]
    unknown: int


def owned_most(batches: Arrow) -> Iterator[Piece]:
    """Add up the rows of each person."""
    found = [value for _, _, value in _pieces(batches)]
    if found:
        counts = pl.concat(found).group_by("p0").agg(pl.col("rows").sum())
        known = counts.filter(pl.col("p0").is_not_null())["rows"]
        unknown = counts.filter(pl.col("p0").is_null())["rows"]
        yield 0, SUM, Owned(len(known), int(known.max() or 0), int(unknown.sum()))


# ── reading back ────────────────────────────────────────────────────────────────────────────────


def _read_back(batches: Arrow, typed: Typed) -> Iterator[tuple[int, int, Table]]:
    """Rows that follow each other in a file: its number, the rows before them, and the rows."""
    for frame in _frames(batches):
        file, row = (frame[name].to_numpy().astype(np.int64) for name in (FILE, ROW))
        begins = np.flatnonzero(np.diff((file << _IN_FILE) + row, prepend=-2) != 1)
        cells = frame.drop(FILE, ROW)
        for begin, end in zip(begins, [*begins[1:], frame.height], strict=True):
            yield int(file[begin]), int(row[begin]), typed.table(cells[int(begin) : int(end)])


def _distinct(one: pl.Series, other: pl.Series) -> pl.Series:
    return pl.concat([one, other]).unique()


@dataclass(frozen=True, eq=False, repr=False)
class Seen(FieldSums):
    """What one pass over the files of a release finds out."""

    survey: judging.Survey
    classes: ReleasedClasses
    carried: Carried
    content: Content
    listed: Annotated[Mapping[str, pl.Series], each(_distinct)]  # distinct cells


def see(batches: Arrow, typed: Typed, task: Task, listed: Sequence[str]) -> Iterator[Piece]:
    """Go through the files once."""
    target = task.request.class_column

    def files() -> Iterator[Seen]:
        for file, row, table in _read_back(batches, typed):
            before = (file << _IN_FILE) + row
            yield Seen(
                judging.Survey.of(table, task.schema),
                ReleasedClasses.of(table, task.quasi, class_column=target, before=before),
                Carried.of(table, task.schema),
                Content.of(_row_hashes(table.frame, task)),
                {name: table.frame[name].unique() for name in listed},
            )

    found = merged(files())
    if found is not None:
        yield 0, SUM, found


def code(
    batches: Arrow,
    typed: Typed,
    survey: judging.Survey,
    requirements: Sequence[Requirement],
    number: int,
) -> Iterator[Piece]:
    """Send lines of numbers to so many places: all lines of a class to the same."""
    read = _read_back(batches, typed)
    lines = (_coded(table, survey, requirements, {}) for _, _, table in read)
    return _by_class(lines, number)


def _coded(
    table: Table,
    survey: judging.Survey,
    requirements: Sequence[Requirement],
    given: Mapping[str, pl.Series],
) -> pl.DataFrame:
    return survey.coded(table, judging.owners(requirements, table, survey.schema, given))


def _by_class(lines: Iterable[pl.DataFrame], number: int) -> Iterator[Piece]:
    for some in _together(lines, LINES):
        place = (pl.col(judging.CLASS[0]) % number).alias(PART)
        for (one,), own in some.with_columns(place).partition_by(PART, as_dict=True).items():
            yield int(one), "lines", own.drop(PART)


def send_rows(batches: Arrow, typed: Typed) -> Iterator[Piece]:
    """Send the rows of each file to one place, where their owners are known."""
    for file, row, table in _read_back(batches, typed):
        yield file, "cells", (row, table.frame)


def code_owned(
    batches: Arrow,
    typed: Typed,
    task: Task,
    survey: judging.Survey,
    requirements: Sequence[Requirement],
    number: int,
) -> Iterator[Piece]:
    """As `code`, for the rows of one file with their owners."""
    cells: dict[int, pl.DataFrame] = {}
    known: tuple[pl.DataFrame, tuple[Hashes, Hashes]] | None = None
    for _, what, value in _pieces(batches):
        if what == "cells":
            row, frame = value
            cells[row] = frame
        else:
            known = value
    if not cells and known is None:
        return iter(())
    changed = ViolationError("a file is not as it was written: nothing is published")
    if not cells or known is None:
        raise changed
    owners, meant = known
    frame = pl.concat([cells[row] for row in sorted(cells)])
    if frame.height != owners.height or any(
        (one != other).any() for one, other in zip(_row_hashes(frame, task), meant, strict=True)
    ):
        raise changed
    given = {name: owners[f"p{place}"] for place, name in enumerate(task.request.persons)}
    return _by_class([_coded(typed.table(frame), survey, requirements, given)], number)


def judge(
    batches: Arrow, survey: judging.Survey, requirements: Sequence[Requirement]
) -> Iterator[Piece]:
    """Judge all lines of some classes."""
    lines = [value for _, _, value in _pieces(batches)]
    if lines:
        yield 0, SUM, survey.judge(pl.concat(lines), requirements)
