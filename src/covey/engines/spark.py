"""Release a table on Spark, with the same steps as on one machine.

Spark moves pieces between the tasks of `tasks.py`, and starts tasks again that were lost. The key
never leaves the driver. Spark keeps pieces on the disk between two passes; a session that covey
starts encrypts them.
"""

import contextlib
import pickle
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from covey.clustering.progress import Progress
from covey.clustering.request import Request
from covey.custody.ordering import Content
from covey.encoding import Tally
from covey.engines import hadoop, sessions, steps, tasks
from covey.engines.hadoop import HadoopFolder
from covey.engines.part import Grouping
from covey.engines.parts import InParts, PartFiles, task_of
from covey.engines.run import Order
from covey.engines.steps import InputSurvey, Job, Summary
from covey.engines.tasks import ERROR, FILE, PIECE, ROW, SUM, Owned, Seen, ShownPart
from covey.errors import CoveyError, UsageError, ViolationError
from covey.generalisation import View
from covey.measures.histograms import PersonCounts
from covey.release import certified
from covey.report import Output
from covey.report.carried import Carried
from covey.schema import ColumnType, RowKind, Schema
from covey.tables import codes, formats, sources
from covey.tables.batches import LOOKED_AT, Typed
from covey.tables.csv_files import Dialect
from covey.tables.merging import merged, total
from covey.tables.sources import Location
from covey.tables.strays import Stray, notes_of
from covey.verification import Verdict
from covey.verification.verifying import LINES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_WAITING = 1_000_000  # divided rows that wait in a task before they are sent
_SUMS = 8  # tasks that add up what was found, before the driver does


@contextlib.contextmanager
def opened(source: Any, schema: Schema) -> Iterator["SparkTable"]:
    """Open a DataFrame of Spark, or Parquet files, by the session that exists or a new one."""
    if "duplicates" in (schema.table.drop_rows or ()):
        raise UsageError(
            "the engine spark does not look for rows that stand twice: pass what dropDuplicates() "
            "of the DataFrame returns, or use the engine local"
        )
    existing = sessions.active()
    with contextlib.ExitStack() as stack:
        if type(source).__module__.startswith("pyspark."):
            session = source.sparkSession
        else:
            place = _parquet(source)
            session = existing or stack.enter_context(sessions.started())
            with _spark("opening the table"):
                source = _read(session, place)
        if type(session).__module__.startswith("pyspark.sql.connect"):
            raise UsageError(
                "the engine spark needs a session of its own, not one of Spark Connect"
            )
        stack.enter_context(sessions.settings(session))
        with _spark("opening the table"):
            table = SparkTable.of(session, source, schema)
        yield table


def _parquet(source: Any) -> Location:
    """The place of Parquet files."""
    if not isinstance(source, str | Path):
        raise UsageError("the engine spark reads Parquet files or a DataFrame of Spark")
    place = sources.of(source)
    if not place.is_address and {*map(formats.kind_of_file, place.files())} - {"parquet"}:
        raise UsageError(
            "the engine spark reads Parquet files: use the engine local for other files, or pass "
            "the DataFrame that spark.read returns"
        )
    return place


def _read(session: "SparkSession", place: Location) -> "DataFrame":
    if place.is_address:
        return session.read.parquet(place.place)
    paths = [_local(path) for path in place.files()]
    return session.read.option("basePath", _local(place.folder)).parquet(*paths)


def _local(path: str | Path) -> str:
    """A path of this machine for Spark, which may have another file system of its own."""
    return f"file://{Path(path).absolute()}"


@contextlib.contextmanager
def _spark(doing: str) -> Iterator[None]:
    """Turn errors of Spark into covey's: theirs may quote cells."""
    try:
        with sessions.quietly():
            yield
    except CoveyError:
        raise
    except Exception as error:
        raise CoveyError(
            f"Spark failed while {doing} ({type(error).__name__})", "see the log of Spark for more"
        ) from None


@dataclass(frozen=True, eq=False, repr=False)
class SparkTable:
    """A table that Spark reads."""

    session: "SparkSession"
    frame: "DataFrame"
    typed: Typed
    names: tuple[str, ...]
    left_out: Sequence[Stray] = ()  # rows that are no people

    @classmethod
    def of(cls, session: "SparkSession", frame: "DataFrame", schema: Schema) -> "SparkTable":
        """Look at the first rows, to see how the table is written."""
        types = _fetched(frame.limit(0)).schema
        known = {name: dtype for name, dtype in types.items() if name in schema.columns}
        floats = codes.floats(known, schema)
        whole = []
        if floats:
            found = _total(_pieces(frame.select(_columns(floats)), tasks.whole))
            whole = [n for n in floats if found and n in found.present - found.broken]
        texts = [n for n in known if known[n] == pl.String and _is_numeric(schema, n)]
        head = _fetched(frame.select(_columns(texts)).limit(LOOKED_AT)) if texts else pl.DataFrame()
        typed = Typed.of(head, whole, schema, schema.table)
        table = cls(session, frame, typed, tuple(types))
        return table._without_strays(schema.table.drop_rows or ())

    def _without_strays(self, kinds: Collection[RowKind]) -> "SparkTable":
        """The same without the rows that are no people and are to be left out."""
        found = _total(_pieces(self.frame, tasks.suspects, self.typed)) if kinds else None
        dropped, cells = found.clear(kinds) if found else ((), None)
        if not dropped:
            return self
        people = _task(tasks.without, self.typed, cells)
        frame = self.frame.mapInArrow(people, self.frame.schema)
        return replace(self, frame=frame, left_out=dropped)

    @property
    def dialect(self) -> Dialect:
        """Its text format."""
        return self.typed.dialect

    def outputs(self, order: Order) -> Any:
        """Drafts of all outputs, removed at the end unless they were published."""
        if order.resume:
            raise UsageError("the engine spark does not resume: it repeats lost tasks by itself")
        assert order.to is not None
        return hadoop.outputs(self.session, order.to)

    @contextlib.contextmanager
    def running(self, order: Order, progress: Progress) -> Iterator["SparkRun"]:
        """The stages over this table; at the end, Spark forgets what it has kept."""
        run = SparkRun(task_of(order, self.names, self.dialect), order, progress, self)
        try:
            yield run
        finally:
            run.forget()


def _is_numeric(schema: Schema, name: str) -> bool:
    return schema.columns[name].type is ColumnType.NUMERIC


def _fetched(frame: "DataFrame") -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(frame.toArrow()))


def _columns(names: Sequence[str]) -> "list[Column]":
    from pyspark.sql.functions import col

    return [col("`" + name.replace("`", "``") + "`") for name in names]


# ── pieces ──────────────────────────────────────────────────────────────────────────────────────


def _task(task: Callable[..., Any], *arguments: Any) -> Callable[[Any], Any]:
    """A function for Spark's workers. It imports nothing before it has set their threads."""
    from pyspark import cloudpickle

    work = cloudpickle.dumps((task, arguments))  # type: ignore[no-untyped-call]

    def run(batches: Any) -> Any:
        import os

        os.environ.setdefault("POLARS_MAX_THREADS", os.environ.get("OMP_NUM_THREADS", "1"))
        from covey.engines.tasks import done

        return done(work, batches)

    return run


def _pieces(frame: "DataFrame", task: Callable[..., Any], *arguments: Any) -> "DataFrame":
    return frame.mapInArrow(_task(task, *arguments), PIECE)


def _placed(pieces: "DataFrame", number: int, place: "Column | str" = "place") -> "DataFrame":
    """Each piece in the partition with the number of its place."""
    from pyspark.sql.functions import col

    return pieces.withColumn(
        "place", col(place) if isinstance(place, str) else place
    ).repartitionById(number, "place")


def _only(pieces: "DataFrame", *what: str) -> "DataFrame":
    from pyspark.sql.functions import col

    return pieces.where(col("what").isin(*what))


def _values(pieces: "DataFrame", what: str) -> list[Any]:
    """Values on the driver in the order of their places; the error of a task is raised."""
    found = [
        (row.place, row.what, pickle.loads(row.value))  # noqa: S301 - of covey's own tasks
        for row in _only(pieces, what, ERROR).collect()
    ]
    for _, kind, value in found:
        if kind == ERROR:
            raise tasks.raised(value)
    return [value for _, _, value in sorted(found, key=lambda piece: piece[0])]


def _total(pieces: "DataFrame", what: str = SUM) -> Any:
    """The sum of values; a few tasks add up, so that the driver gets few."""
    from pyspark.sql.functions import spark_partition_id

    few = _placed(_only(pieces, what, ERROR), _SUMS, spark_partition_id() % _SUMS)
    return merged(_values(_pieces(few, tasks.add), SUM))


@dataclass(eq=False, repr=False)
class SparkRun(InParts):
    """The passes of a release, one after another."""

    table: SparkTable
    _kept: "list[DataFrame]" = field(default_factory=list)
    _parts: "DataFrame | None" = None
    _shown: "DataFrame | None" = None
    _content: Content | None = None
    _types: Any = None

    @property
    def doubts(self) -> list[str]:
        """Rows that were left out, and whether others may be readable where Spark keeps them."""
        encrypted = sessions.is_encrypted(self.table.session)
        return [*notes_of(self.table.left_out), *([] if encrypted else [sessions.UNENCRYPTED])]

    def forget(self) -> None:
        """Let Spark remove what it has kept."""
        for kept in self._kept:
            with contextlib.suppress(Exception):  # Spark may be gone
                kept.unpersist(blocking=True)

    def _keep(self, pieces: "DataFrame") -> "DataFrame":
        """Compute these pieces once, unless they are lost."""
        from pyspark import StorageLevel

        self._kept.append(pieces.persist(StorageLevel.DISK_ONLY))
        return pieces

    def _over_input(self, task: Callable[..., Any], *arguments: Any) -> "DataFrame":
        needed = self.table.frame.select(_columns(self.task.needed))
        return _pieces(needed, task, self.table.typed, *arguments)

    def scanned(self) -> InputSurvey:
        """Go through the input once."""
        with _spark("scanning"):
            found: InputSurvey | None = _total(self._over_input(tasks.survey, self.task))
        if found is None:
            raise UsageError("the table has no rows to release")
        return found

    def divided(self) -> Job:
        """Give every row its part; the returned job knows the final parts."""
        from pyspark.sql.functions import col, element_at, lit

        with _spark("dividing"):
            waiting = min(_WAITING, 4 * self.order.part_rows)
            divided = self._keep(self._over_input(tasks.divide, self.job, waiting))
            cuts, parts = steps.final_parts(self.job, _total(divided, "sizes"))
            number = np.empty(self.job.cuts.parts, dtype=np.int64)
            for new, old in enumerate(parts):
                number[old] = new
            final = element_at(lit(number.tolist()), col("place") + 1).cast("int")
            self._parts = _placed(_only(divided, "rows"), cuts.parts, final)
        return replace(self.job, cuts=cuts)

    def grouped(self, request: Request) -> "Grouping[DataFrame]":
        """The groups of all parts, with their rows in Spark's keeping."""
        assert self._parts is not None
        return self._each(self._parts, tasks.form, request)

    def settled(self, first: "Grouping[DataFrame]") -> "Grouping[DataFrame]":
        """The same groups, repaired by the frequencies of all released rows."""
        return self._each(first.groups, tasks.settle, first.outcome.released)

    def _each(
        self, pieces: "DataFrame", task: Callable[..., Any], *arguments: Any
    ) -> "Grouping[DataFrame]":
        with _spark("clustering"):
            kept = self._keep(_pieces(pieces, task, self.job, *arguments))
            return Grouping(kept, total(_values(kept, "outcome")))

    def shown(self, formed: "Grouping[DataFrame] | None") -> Summary:
        """Show all parts in buckets of whole classes; form their groups first if there are none."""
        pieces = self._parts if formed is None else formed.groups
        assert pieces is not None
        with _spark("clustering"):
            work = (tasks.show, self.job, self.shown_by, self.buckets)
            self._shown = self._keep(_pieces(pieces, *work))
            parts: list[ShownPart] = _values(self._shown, "summary")
        self._content, self._types = total([one.content for one in parts]), parts[0].types
        return total([one.summary for one in parts])

    def written(self, folder: Any) -> "SparkFiles":
        """Write each bucket as a file, and compare what is read back."""
        from pyspark.sql.pandas.types import from_arrow_schema

        assert self._shown is not None
        at_address = isinstance(folder, str)
        place = HadoopFolder(self.table.session, folder if at_address else _local(folder))
        buckets = _placed(_only(self._shown, "shown"), self.buckets)
        with _spark("writing"):
            work = _task(tasks.gather, self.shown_by)
            rows = buckets.mapInArrow(work, from_arrow_schema(self._types))
            (
                rows.write.option("compression", "zstd")
                .option("parquet.column.statistics.enabled", "false")
                .parquet(f"{place.path}/{_ARRIVING}")
            )
            digests = {name: place.digest(name) for name in place.bring_up(_ARRIVING)}
        written = SparkFiles(self, digests, place, buckets)
        if written.seen.content != self._content:
            raise ViolationError("the files do not have the released rows: nothing is published")
        return written


_ARRIVING = "arriving"  # the folder in the draft that Spark writes into


@dataclass(eq=False, repr=False)
class SparkFiles(PartFiles):
    """The files of a release in its draft, before they are published."""

    run: SparkRun
    folder: HadoopFolder
    shown: "DataFrame"  # the released rows with their owners, each in the place of its file

    @property
    def output(self) -> Output:
        """The figures of the files."""
        return Output.of_folder("parquet", self.digests, self.dialect.written)

    @cached_property
    def _typed(self) -> Typed:
        """How to read the files."""
        return Typed.of(pl.DataFrame(), (), self.task.schema, self.form)

    @cached_property
    def _rows(self) -> "DataFrame":
        """All rows, each with its file and its place there."""
        from pyspark.sql.functions import col, substring

        paths = [f"{self.folder.path}/{name}" for name in self.digests]
        read = self.run.table.session.read.option("recursiveFileLookup", "true").parquet(*paths)
        file = substring(col("_metadata.file_name"), len("part-") + 1, 5).cast("int")
        row = col("_metadata.row_index")
        return read.select(*_columns(read.columns), file.alias(FILE), row.alias(ROW))

    @cached_property
    def seen(self) -> Seen:
        """What one pass over the files finds out."""
        task = self.task
        with _spark("reading back"):
            listed = certified(task.schema, task.request.requirements)
            work = (tasks.see, self._typed, task, listed)
            found: Seen | None = _total(_pieces(self._rows, *work))
        if found is None:
            raise ViolationError("the files have no rows: nothing is published")
        return found

    def judged(self) -> Verdict:
        """Verify all files together."""
        requirements = self.task.request.requirements
        # No one who made the table could know the seed, and choose cells whose hashes are the same.
        survey = replace(self.seen.survey, seed=secrets.randbits(64))
        number = -(-survey.rows // LINES)
        terms = (survey, requirements)
        with _spark("verifying"):
            lines = self._owned_lines if self.task.request.persons else self._lines
            judged = _total(_pieces(_placed(lines(*terms, number), number), tasks.judge, *terms))
        return survey.verdict(judged, requirements)

    def _lines(self, *terms: Any) -> "DataFrame":
        return _pieces(self._rows, tasks.code, self._typed, *terms)

    def _owned_lines(self, *terms: Any) -> "DataFrame":
        """As `_lines`, with the persons, who are in no file: each meets its row in one place."""
        owners = _pieces(self.shown, tasks.owned, self.run.shown_by)
        cells = _pieces(self._rows, tasks.send_rows, self._typed)
        rows = _placed(owners.union(cells), self.run.buckets)
        return _pieces(rows, tasks.code_owned, self._typed, self.task, *terms)

    def trace(self) -> None:
        """Nothing: the hashes of a register need the key, which never leaves the driver."""

    def view(self, original: Tally) -> tuple[View, Carried]:
        """The release beside its original, and the columns that it carries."""
        originals = self.run.summary.originals
        view = View.counted(original, self.seen.classes, (), self.dialect, originals)
        if not self.task.request.persons:
            return view, self.seen.carried
        with _spark("trying what others may know"):
            return view, _total(_pieces(self.shown, tasks.carried, self.run.shown_by))

    def persons(self) -> PersonCounts:
        """How the rows belong to persons."""
        number = self.run.buckets
        with _spark("counting persons"):
            counts = _placed(_pieces(self.shown, tasks.persons, number), number)
            found: Owned = _total(_pieces(counts, tasks.owned_most))
        return PersonCounts(found.people, found.most or 1, found.unknown)

    def distinct(self, names: Sequence[str]) -> dict[str, pl.Series]:
        """The distinct cells of these columns."""
        return {name: self.seen.listed[name] for name in names}
