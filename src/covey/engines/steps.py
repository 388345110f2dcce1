"""The steps of a release in parts, as pure functions. Engines only move rows between them.

    survey   a batch of the input     → counts, digests and a sample, which add up
    divide   a batch of the input     → its rows as numbers, each with its part
    group    all rows of a part       → their groups
    show     the groups of a part     → classes of released cells, and rows that belong to them
    gather   all rows of some classes → a sorted table to write

The same rows give the same results wherever and however often a step is done.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from operator import or_
from typing import Annotated

import numpy as np
import polars as pl

from covey import tables
from covey._core.arrays import Longs
from covey.clustering import refuse_infeasible
from covey.clustering.progress import Progress
from covey.clustering.request import Request
from covey.custody.following import Newcomers
from covey.custody.hashes import Hashes
from covey.custody.ordering import Content, PersonHasher, RowHasher, part_seed
from covey.encoding import Attribute, Category, Domain, EncodedTable, Interval, Scan, Values
from covey.encoding.constraints import constraints_of
from covey.encoding.encode import coded, encode_values, numbered, numbered_persons
from covey.encoding.groups import SUPPRESSED, Groups, Rings
from covey.encoding.intervals import HIGH, LOW
from covey.encoding.selection import Selection
from covey.encoding.values import is_category, rows_to_keep
from covey.engines import part
from covey.engines.cuts import Cuts, learn, uncut
from covey.engines.part import Grouping
from covey.errors import UsageError
from covey.generalisation import Originals, cells_of, filled_in
from covey.inspection import repeating
from covey.inspection.persons import dropped_numbers, whose_rows
from covey.inspection.repeating import Repeating, with_dropped
from covey.measures.entropy import InGroups
from covey.schema import Role, Schema
from covey.schema.requirements import PersonShare
from covey.tables import Table
from covey.tables.csv_files import Dialect
from covey.tables.formats.arrow import fresh
from covey.tables.merging import FieldSums, merged
from covey.tables.strays import Suspects

_ROLES = (Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
PART, CLASS, ATOM, HASH, ROWS = "part", "class", "atom", "\0hash", "\0rows"
FEWEST_GROUPS = 50  # in a part, so that a part costs no more than the whole table would


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """What is asked of which table, and how its rows are hashed. It holds no key."""

    schema: Schema
    request: Request
    dialect: Dialect
    names: tuple[str, ...]  # of the input's columns
    row_hasher: RowHasher
    person_hasher: PersonHasher
    newcomers: Newcomers | None = None  # if only people are released whom no earlier release has

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        unread = {*self.schema.names(Role.DROP)} - {*dropped_numbers(self.schema)}
        return [n for n in self.names if n in self.schema.columns and n not in unread]

    @property
    def carried(self) -> list[str]:
        """The columns that are released as they are, sorted by name."""
        return sorted(self.schema.names(Role.SENSITIVE, Role.INSENSITIVE))

    @property
    def released(self) -> list[str]:
        """The released columns in the order of the input."""
        return [n for n in self.names if self.schema.columns[n].role in _ROLES]

    @property
    def sensitive(self) -> list[str]:
        """The columns that the method sees besides the quasi-identifiers."""
        return self.request.seen(self.schema)

    @property
    def quasi(self) -> list[str]:
        """The quasi-identifiers in the order of attributes."""
        columns = self.schema.columns
        return sorted(self.schema.quasi, key=lambda name: (is_category(columns[name]), name))

    def read(self, batch: Table) -> tuple[Table, Selection]:
        """A batch as the schema reads it, and the rows that are kept."""
        table = tables.original(batch, self.schema, *_ROLES)
        kept = rows_to_keep(table, self.schema)
        return table, kept if self.newcomers is None else self.newcomers.among(batch, kept)

    def values(self, table: Table, kept: Selection) -> Values:
        """The values of the rows to keep."""
        values = Values.of(table, self.schema, self.sensitive)
        return values if kept.is_all else values.take(kept)


# ── survey ──────────────────────────────────────────────────────────────────────────────────────

SAMPLED = 50_000  # rows with different quasi-identifiers


@dataclass(frozen=True, eq=False, repr=False)
class RowSample:
    """The rows with the lowest hashes: a random choice that does not depend on their order.

    Rows that are equal in all that counts are one entry, with their number.
    """

    frame: pl.DataFrame
    keys: tuple[str, ...] = (HASH,)  # columns that decide whether two entries are equal

    @classmethod
    def of(cls, values: Values, hashes: Hashes, limit: int | None = None) -> "RowSample":
        """The sample of a batch; hashes above the `limit` are known not to be among the lowest."""
        columns = [*values.quasi.values(), *values.sensitive.values()]
        frame = pl.DataFrame([*columns, pl.Series(HASH, hashes)])
        some = frame if limit is None else frame.filter(pl.col(HASH) <= limit)
        some = some.with_columns(pl.col(pl.Categorical).cast(pl.String))
        keys = (HASH, *values.sensitive)
        return cls(_lowest(some.with_columns(pl.lit(1, pl.Int64).alias(ROWS)), keys), keys)

    def __add__(self, other: "RowSample") -> "RowSample":
        both = pl.concat([self.frame, other.frame], how="vertical_relaxed")
        return RowSample(_lowest(both, self.keys), self.keys)

    def values(self, task: Task) -> Values:
        """The values of the entries."""
        return Values(
            self.frame.height,
            {name: self.frame[name] for name in task.quasi},
            {name: self.frame[name] for name in task.sensitive},
        )

    @property
    def weights(self) -> Longs:
        """How many rows each entry stands for."""
        return self.frame[ROWS].to_numpy()


def _lowest(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Entries of the lowest hashes, equal ones together, in an order that is always the same."""
    different = frame[HASH].unique()
    if len(different) > SAMPLED:
        frame = frame.filter(pl.col(HASH) <= different.sort()[SAMPLED - 1])
    equal = pl.exclude(*keys, ROWS).first()  # quasi-identifiers with the same hash
    return fresh(frame.group_by(keys).agg(equal, pl.col(ROWS).sum()).sort(keys))


@dataclass(frozen=True, eq=False, repr=False)
class InputSurvey(FieldSums):
    """What the first pass finds out: surveys of batches add up."""

    read: int
    scan: Scan
    content: Content
    sample: RowSample
    repeating: Repeating
    # Columns with mended cells, and how these were mended.
    mended: Annotated[frozenset[tuple[str, str]], or_]
    suspects: Suspects  # rows that may be no people

    @classmethod
    def of(cls, batch: Table, task: Task, limits: "Limits | None" = None) -> "InputSurvey":
        """The survey of a batch; what was sampled of other batches limits its samples."""
        limits = limits or Limits()
        table, kept = task.read(batch)
        values = task.values(table, kept)
        hashes = task.row_hasher(values)
        return cls(
            table.frame.height,
            Scan.of(values),
            Content.of(hashes),
            RowSample.of(values, hashes[0], limits.rows),
            # There is nothing to find out if it is declared whom k counts.
            Repeating()
            if task.request.person
            else Repeating.of(
                with_dropped(table, batch, task.schema), task.schema, limits.identifiers
            ),
            frozenset((each.column, each.how) for each in table.mended),
            Suspects.of(batch),
        )

    @classmethod
    def over(cls, batches: Iterable[Table], task: Task) -> "InputSurvey":
        """The survey of batches, one after another."""
        found = merged(cls._each(batches, task))
        if found is None:
            raise UsageError("the table has no rows to release")
        return found

    @classmethod
    def _each(cls, batches: Iterable[Table], task: Task) -> Iterator["InputSurvey"]:
        limits = Limits()
        for batch in batches:
            found = cls.of(batch, task, limits)
            yield found
            limits = limits.after(found)


@dataclass(frozen=True, eq=False, repr=False)
class Limits:
    """The highest hashes that may still be in a sample, from the lowest hashes so far."""

    rows: int | None = None
    identifiers: Mapping[str, int] = field(default_factory=dict)
    _lowest: Mapping[str, Hashes] = field(default_factory=dict)

    def after(self, found: InputSurvey) -> "Limits":
        """The limits after one more batch."""
        known = {HASH: found.sample.frame[HASH].unique().to_numpy()}
        known |= {name: hashes.to_numpy() for name, hashes in found.repeating.hashes.items()}
        kept: dict[str, Hashes] = {}
        limits: dict[str, int] = {}
        for name, new in known.items():
            every = np.concatenate([self._lowest.get(name, new[:0]), new])
            # Equal rows of several batches are one entry of a sample; rows of a person are not.
            every = np.unique(every) if name == HASH else np.sort(every)
            most = SAMPLED if name == HASH else repeating.MOST + 1
            kept[name] = every[:most]
            if len(every) >= most:
                limits[name] = int(every[most - 1])
        return Limits(limits.pop(HASH, None), limits, kept)


@dataclass(frozen=True, eq=False, repr=False)
class Job:
    """What is known of the whole table, for work on a part of it."""

    task: Task
    domain: Domain
    cuts: Cuts
    seed: int
    mends: tuple[tuple[str, str], ...]
    traces: int = 0  # columns of hashes for the register

    @property
    def attached(self) -> list[str]:
        """The columns that follow a row to the end, and are not released."""
        persons = [f"p{place}" for place in range(len(self.task.request.persons))]
        return [*persons, *(f"h{place}" for place in range(self.traces))]

    def within(self, domain: Domain) -> "Job":
        """The same with another domain."""
        return replace(self, domain=domain)


def planned(task: Task, survey: InputSurvey, seed: int, part_rows: int) -> Job:
    """Learn from the survey how to divide the table."""
    if not survey.scan.rows:
        raise UsageError("the table has no rows to release")
    refuse_infeasible(survey.scan.rows, task.request.k)
    domain = survey.scan.domain(task.schema, task.dialect)
    job = Job(task, domain, uncut(), seed, tuple(sorted(survey.mended)))
    parts = -(-survey.scan.rows // part_rows)
    if parts == 1:
        return job
    sample, weights = survey.sample.values(task), survey.sample.weights
    requirements = [one for one in task.request.requirements if one.column in domain.sensitive]
    table = encode_values(sample, domain, task.schema, require=requirements)

    def able(rows: Longs) -> bool:
        if table.constraints is None:
            return True
        columns = table.constraints.columns.items()
        return table.constraints.meets(
            {
                name: np.bincount(column.values[rows], weights[rows], len(column.known)).astype(
                    np.int64
                )
                for name, column in columns
            }
        )

    return replace(job, cuts=learn(table, weights, parts, able))


# ── divide ──────────────────────────────────────────────────────────────────────────────────────


Trace = Callable[[Table, Longs], Iterable[Hashes]]


def divide(batch: Table, job: Job, trace: Trace | None = None) -> pl.DataFrame:
    """The rows of a batch as numbers and carried cells, each with its part.

    Columns: q values of quasi-identifiers, s codes of sensitive ones, p hashes of persons, h hashes
    for the register, m whether a cell was mended, c cells that are released as they are. They have
    numbers, not names.
    """
    task = job.task
    table, kept = task.read(batch)
    values = task.values(table, kept)
    with table.locating():
        encoded = encode_values(values, job.domain, task.schema)
    persons = task.person_hasher(whose_rows(table, task.schema, task.request.persons))
    mended = {(each.column, each.how): each.rows for each in table.mended}
    nowhere = np.zeros(table.frame.height, dtype=np.bool_)
    columns = [
        pl.Series(PART, job.cuts.assign(encoded)),
        *(pl.Series(f"q{i}", a.values) for i, a in enumerate(encoded.attributes)),
        *(pl.Series(f"s{i}", encoded.sensitive[n].values) for i, n in enumerate(task.sensitive)),
        *(kept.of(persons[n]).alias(f"p{i}") for i, n in enumerate(task.request.persons)),
        *(pl.Series(f"m{i}", kept.of(mended.get(m, nowhere))) for i, m in enumerate(job.mends)),
        *(kept.of(table.frame[n]).alias(f"c{i}") for i, n in enumerate(task.carried)),
    ]
    traces = [] if trace is None else trace(batch, kept.rows)
    columns += [pl.Series(f"h{i}", hashes) for i, hashes in enumerate(traces)]
    return pl.DataFrame(columns)


@dataclass(frozen=True, eq=False, repr=False)
class Sizes:
    """What each part has: sizes of batches add up. They show which parts can stand alone."""

    rows: Longs
    values: tuple[pl.DataFrame, ...]  # for each sensitive column, rows by part and code
    persons: tuple[pl.DataFrame, ...]  # for each person column, the lowest hashes by part
    owned: tuple[pl.DataFrame, ...]  # for each column with a share, rows by part and person
    most: int  # persons that are looked at in a part

    @classmethod
    def of(cls, rows: pl.DataFrame, job: Job) -> "Sizes":
        """The sizes of divided rows."""
        task = job.task
        names = [f"s{i}" for i in range(len(task.sensitive))]
        people = [f"p{i}" for i in range(len(task.request.persons))]
        return cls(
            np.bincount(rows[PART].to_numpy(), minlength=job.cuts.parts),
            tuple(rows.group_by(PART, pl.col(name).alias("value")).len(ROWS) for name in names),
            tuple(
                _fewest(rows.select(PART, person=pl.col(name)), 2 * task.request.k)
                for name in people
            ),
            tuple(
                rows.group_by(PART, value=pl.col(f"p{task.request.persons.index(str(one.column))}"))
                .len(ROWS)
                .drop_nulls("value")
                for one in _shares(task.request)
            ),
            2 * task.request.k,
        )

    def __add__(self, other: "Sizes") -> "Sizes":
        values = zip(self.values, other.values, strict=True)
        owned = zip(self.owned, other.owned, strict=True)
        people = [pl.concat(two) for two in zip(self.persons, other.persons, strict=True)]
        return Sizes(
            self.rows + other.rows,
            tuple(_added(*two) for two in values),
            tuple(_fewest(hashes, self.most) for hashes in people),
            tuple(_added(*two) for two in owned),
            self.most,
        )


def _added(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Rows by part and value, of both."""
    return pl.concat([one, other]).group_by(PART, "value").agg(pl.col(ROWS).sum())


def _shares(request: Request) -> list[PersonShare]:
    """The requirements on the share of a person."""
    return [one for one in request.requirements if isinstance(one, PersonShare)]


def _fewest(persons: pl.DataFrame, most: int) -> pl.DataFrame:
    """The lowest hashes of persons in each part."""
    known = persons.drop_nulls("person").unique().sort(PART, "person")
    return known.filter(pl.int_range(pl.len()).over(PART) < most)


def final_parts(job: Job, sizes: Sizes) -> tuple[Cuts, list[list[int]]]:
    """Merge parts that cannot meet the requirements alone; also which parts each consists of."""
    request = job.task.request
    least = FEWEST_GROUPS * request.k
    constraints = constraints_of(
        [one for one in request.requirements if one.column in job.domain.sensitive],
        {name: coded(np.empty(0, np.int32), known) for name, known in job.domain.sensitive.items()},
    )
    codes = {name: sizes.values[place] for place, name in enumerate(job.task.sensitive)}

    def counts(name: str, parts: list[int]) -> Longs:
        some = codes[name].filter(pl.col(PART).is_in(parts))
        number = len(job.domain.sensitive[name].known)
        return np.bincount(some["value"], some[ROWS], number).astype(np.int64)

    def able(parts: list[int]) -> bool:
        if sizes.rows[parts].sum() < least:
            return False
        for people in sizes.persons:
            if people.filter(pl.col(PART).is_in(parts))["person"].n_unique() < sizes.most:
                return False
        for share, owned in zip(_shares(request), sizes.owned, strict=True):
            each = owned.filter(pl.col(PART).is_in(parts)).group_by("value").agg(pl.col(ROWS).sum())
            if share.k * int(each[ROWS].max() or 0) > sizes.rows[parts].sum():  # type: ignore[arg-type]
                return False
        names = constraints.columns if constraints is not None else ()
        return constraints is None or constraints.meets({n: counts(n, parts) for n in names})

    cuts = job.cuts.merged(able)
    number = cuts.part[np.argsort(job.cuts.part)][-job.cuts.parts :]
    return cuts, [np.flatnonzero(number == new).tolist() for new in range(cuts.parts)]


# ── group ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False, repr=False)
class PartRows:
    """The rows of a part, encoded by the domain of the whole table."""

    encoded: EncodedTable
    attached: Sequence[pl.Series]
    mended: Sequence[pl.Series]
    carried: Sequence[pl.Series]

    @classmethod
    def of(cls, rows: pl.DataFrame, job: Job) -> "PartRows":
        """From divided rows."""
        task = job.task
        attributes = tuple(
            _attribute(name, rows[f"q{place}"], job) for place, name in enumerate(task.quasi)
        )
        sensitive = {
            name: coded(rows[f"s{place}"].to_numpy(), job.domain.sensitive[name])
            for place, name in enumerate(task.sensitive)
        }
        persons = {
            name: numbered_persons(rows[f"p{place}"])
            for place, name in enumerate(task.request.persons)
        }
        carried = [rows[f"c{i}"].alias(name) for i, name in enumerate(task.carried)]
        target = task.request.class_column
        encoded = EncodedTable(
            attributes,
            rows.height,
            task.schema.loss,
            None if target is None else numbered(carried[task.carried.index(target)]),
            sensitive,
            constraints_of(task.request.requirements, {**sensitive, **persons}),
            rows[ATOM].to_numpy() if ATOM in rows.columns else None,
            task.schema.needed,
        )
        attached = [rows[name] for name in job.attached]
        mends = [rows[f"m{i}"] for i in range(len(job.mends))]
        return cls(encoded, attached, mends, carried)

    @property
    def others(self) -> pl.DataFrame:
        """The columns that order rows with equal quasi-identifiers."""
        persons = [one.alias(f"\0{one.name}") for one in self.attached if one.name[0] == "p"]
        return pl.DataFrame([*self.carried, *persons])


def _attribute(name: str, values: pl.Series, job: Job) -> Attribute:
    column, known = job.task.schema.columns[name], job.domain.quasi[name]
    if isinstance(known, tuple):
        return Interval(name, column, values.to_numpy(), *known)
    return Category(name, column, values.to_numpy(), known)


def group(
    rows: PartRows, number: int, job: Job, request: Request, progress: Progress
) -> Grouping[Groups | Rings]:
    """The groups of a part."""
    seed = part_seed(job.seed, number)
    return _scanned(rows, part.form(rows.encoded, rows.others, request, seed, progress), job)


def settle(
    rows: PartRows,
    groups: Groups,
    number: int,
    job: Job,
    released: Mapping[str, Longs],
    progress: Progress,
) -> Grouping[Groups | Rings]:
    """The groups of a part, repaired by the frequencies of all released rows."""
    table = part.by_frequencies(rows.encoded, released)
    seed = part_seed(job.seed, number)
    found = part.settle(table, rows.others, groups, job.task.request, seed, progress)
    return _scanned(rows, found, job)


def _scanned(rows: PartRows, found: Grouping[Groups | Rings], job: Job) -> Grouping[Groups | Rings]:
    """The same with the counts of the released rows: a part with them need not be read again."""
    if job.task.request.releases_all:
        return found
    kept = rows.encoded.take(np.flatnonzero(found.groups.labels != SUPPRESSED))
    return replace(found, outcome=replace(found.outcome, scan=kept.scan))


@dataclass(frozen=True, eq=False, repr=False)
class Summary(FieldSums):
    """What a report says of the released rows of a part and their groups; parts add up."""

    scan: Scan
    suppressed: int
    in_groups: InGroups
    filled_in: Counter[str]  # missing cells that show the values of others, by column
    mended: Counter[tuple[str, str]]  # mended cells of released rows
    originals: Originals

    @classmethod
    def of(cls, rows: PartRows, groups: Groups, job: Job) -> "Summary":
        """The summary of a part."""
        kept = np.flatnonzero(groups.labels != SUPPRESSED)
        table = rows.encoded if len(kept) == rows.encoded.rows else rows.encoded.take(kept)
        own = groups.released()
        mended = [int(one.gather(kept).sum()) for one in rows.mended]
        return cls(
            table.scan,
            groups.suppressed,
            InGroups.of(table, own),
            Counter({a.name: filled_in(a, own) for a in table.attributes}),
            Counter(dict(zip(job.mends, mended, strict=True))),
            Originals.of(table.encoded_within(job.domain), own),
        )


# ── show ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False, repr=False)
class ShownRows:
    """Released rows: the cells of their classes, and for each row its class and what it carries."""

    classes: pl.DataFrame
    rows: pl.DataFrame  # the class, and columns p, h and c as in divided rows

    def buckets(self, number: int) -> list["ShownRows"]:
        """The same rows in so many buckets, by their cells: a class is in one of them."""
        if number == 1:
            return [self]
        place = _hashes(self.classes) % np.uint64(number)
        own = place[self.rows[CLASS].to_numpy()]
        return [self._some(place == one, own == one) for one in range(number)]

    def _some(self, classes: "np.ndarray", rows: "np.ndarray") -> "ShownRows":
        new = np.cumsum(classes) - 1
        some = self.rows.filter(pl.Series(rows))
        renumbered = pl.Series(CLASS, new[some[CLASS].to_numpy()], dtype=pl.UInt32)
        return ShownRows(self.classes.filter(pl.Series(classes)), some.with_columns(renumbered))


def _hashes(cells: pl.DataFrame) -> Hashes:
    """A hash of each row of cells that is the same everywhere, now and later."""
    texts = cells.select(pl.concat_list(pl.all().cast(pl.String))).to_series().to_list()
    data = b"".join([blake2b(repr(row).encode(), digest_size=8).digest() for row in texts])
    return np.frombuffer(data, dtype="<u8")


def show(rows: PartRows, groups: Groups, job: Job) -> ShownRows:
    """The released rows of a part; labels and ranges are those of the job's domain."""
    kept = np.flatnonzero(groups.labels != SUPPRESSED)
    encoded = rows.encoded.take(kept).encoded_within(job.domain)
    own = groups.released()
    cells = cells_of(encoded, own, job.task.dialect, job.task.request.style)
    classes = pl.DataFrame([column for name in job.task.quasi for column in cells[name]])
    place = pl.Series(CLASS, own.labels, dtype=pl.UInt32)
    carried = [cells.alias(f"c{i}") for i, cells in enumerate(rows.carried)]
    others = [one.gather(kept) for one in (*rows.attached, *carried)]
    return ShownRows(classes, pl.DataFrame([place, *others]))


# ── gather ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False, repr=False)
class Gathered:
    """A file of a release: its rows in the order of their cells, and whose they are."""

    table: Table
    persons: Sequence[pl.Series]
    traces: Sequence[pl.Series]


def gather(shown: Sequence[ShownRows], job: Job) -> Gathered:
    """Sort released rows by their cells."""
    task = job.task
    before = np.cumsum([0, *(one.classes.height for one in shown)])
    classes = pl.concat([one.classes for one in shown])
    rows = pl.concat(
        [
            one.rows.with_columns(pl.col(CLASS) + pl.lit(start, dtype=pl.UInt32))
            for one, start in zip(shown, before[:-1].tolist(), strict=True)
        ]
    )
    place = rows[CLASS].to_numpy().astype(np.int64)
    carried = {name: rows[f"c{i}"].alias(name) for i, name in enumerate(task.carried)}
    order = part.leaving_order(classes, place, pl.DataFrame(list(carried.values())))
    cells = {name: [classes[one] for one in _shown_as(name, classes)] for name in task.quasi}
    shown_columns = {
        **{name: [one.gather(order)] for name, one in carried.items()},
        **{name: [one.gather(place[order]) for one in own] for name, own in cells.items()},
    }
    frame = pl.DataFrame([one for name in task.released for one in shown_columns[name]])
    attached = [rows[name].gather(order) for name in job.attached]
    people = len(task.request.persons)
    return Gathered(Table(frame, task.dialect), attached[:people], attached[people:])


def _shown_as(name: str, classes: pl.DataFrame) -> list[str]:
    """The released columns of a quasi-identifier."""
    return [name] if name in classes.columns else [name + LOW, name + HIGH]
