"""A release beside its original, in memory or batch by batch.

What batches of either table have adds up, in any order. So memory is set by the number of distinct
values, cells and classes, and not by the number of rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from covey.encoding import Scan, Tally, Values, encode, rows_to_keep
from covey.errors import TableError
from covey.generalisation import ReleasedClasses, View
from covey.generalisation.originals import NO_ORIGINALS, Originals
from covey.inspection.persons import whose_rows
from covey.measures.histograms import PersonCounts
from covey.report.carried import NOBODY, Carried
from covey.schema import Role, Schema
from covey.tables import Table, check_roles, original
from covey.tables.batches import Batches
from covey.tables.merging import merged

_WHO, _ROWS = "who", "rows"


@dataclass(frozen=True, eq=False, repr=False)
class Compared:
    """A release beside its original, and what else a report says of the two."""

    view: View
    carried: Carried
    read: int  # rows of the original
    persons: PersonCounts | None  # None if k counts rows, or if it is unknown whose were released

    @classmethod
    def in_memory(
        cls,
        before: Table,
        released: Table,
        schema: Schema,
        *,
        class_column: str | None = None,
        persons: Sequence[str] = (),
    ) -> "Compared":
        """Compare tables as they are; `persons` are the columns that identify persons."""
        kept = rows_to_keep(before, schema)
        people = before.with_rows(kept.of(before.frame), kept.rows)
        encoded = encode(people, schema)
        view = View.of(released, encoded, class_column=class_column)
        owners = [*whose_rows(before, schema, persons).values()]
        known = PersonCounts.of(kept.of(owners[0]), encoded) if owners and view.same_rows else None
        carried = Carried.of(released, schema, _owners(released, schema, persons))
        return cls(view, carried, before.frame.height, known)

    @classmethod
    def in_batches(
        cls,
        before: Batches,
        released: Batches,
        schema: Schema,
        *,
        class_column: str | None = None,
        persons: Sequence[str] = (),
    ) -> "Compared":
        """Compare tables that may not fit into memory; without the figures that need all rows."""
        needed = _needed(before, schema, persons)
        found = merged(_Before.of(batch, schema, persons[:1]) for batch in before.only(needed))
        if found is None:
            raise TableError("the original table has no rows")
        tally = Tally.of_scan(found.scan, schema, before.dialect)
        view, carried = in_counts(
            tally, released, schema, class_column=class_column, persons=persons
        )
        return cls(view, carried, found.read, found.persons if view.same_rows else None)


def in_counts(
    original: Tally,
    released: Batches,
    schema: Schema,
    *,
    class_column: str | None = None,
    originals: Originals = NO_ORIGINALS,
    owners: Mapping[str, pl.Series] = NOBODY,
    persons: Sequence[str] = (),
) -> tuple[View, Carried]:
    """A release that may not fit into memory, beside the values of its original.

    `owners` are the persons of its rows, if known; `persons` are columns that may be in it.
    """
    names = [attribute.name for attribute in original.attributes]
    found = merged(_afterwards(released, names, schema, class_column, owners, persons))
    if found is None:
        raise TableError("the released table has no rows")
    view = View.counted(original, found.classes, released, released.dialect, originals)
    return view, found.carried


def _needed(before: Batches, schema: Schema, persons: Sequence[str]) -> list[str]:
    """The columns to read; all must have a role."""
    empty = Table(pl.DataFrame(schema=dict.fromkeys(before.names, pl.String)))
    check_roles(empty, schema, Role.QUASI)
    whose_rows(empty, schema, persons)
    return [*schema.quasi, *persons]


@dataclass(frozen=True, eq=False, repr=False)
class _Before:
    """What batches of an original have."""

    read: int
    scan: Scan  # of the rows that no missing-value policy drops
    owners: pl.DataFrame | None  # the rows of each person, by a hash; null without a person

    @classmethod
    def of(cls, batch: Table, schema: Schema, persons: Sequence[str]) -> "_Before":
        table = original(batch, schema, Role.QUASI)
        kept = rows_to_keep(table, schema)
        values = Values.of(table.with_rows(kept.of(table.frame), kept.rows), schema, ())
        owners = [kept.of(cells) for cells in whose_rows(table, schema, persons).values()]
        return cls(table.frame.height, Scan.of(values), _counted(owners[0]) if owners else None)

    def __add__(self, other: "_Before") -> "_Before":
        owners = None
        if self.owners is not None and other.owners is not None:
            listed = pl.concat([self.owners, other.owners])
            owners = listed.group_by(_WHO).agg(pl.col(_ROWS).sum())
        return _Before(self.read + other.read, self.scan + other.scan, owners)

    @property
    def persons(self) -> PersonCounts | None:
        """The people and the most rows of one; it stays unknown who has which value."""
        if self.owners is None:
            return None
        known = pl.col(_WHO).is_not_null()
        each = self.owners.filter(known)[_ROWS]
        unknown = int(self.owners.filter(~known)[_ROWS].sum())
        return PersonCounts(len(each), int(each.max() or 1), unknown)  # type: ignore[arg-type]


def _counted(owners: pl.Series) -> pl.DataFrame:
    hashes = pl.select(pl.when(owners.is_not_null()).then(owners.hash()).alias(_WHO))
    return hashes.group_by(_WHO).agg(pl.len().cast(pl.Int64).alias(_ROWS))


@dataclass(frozen=True, eq=False, repr=False)
class _After:
    """What batches of a release have."""

    classes: ReleasedClasses
    carried: Carried

    def __add__(self, other: "_After") -> "_After":
        return _After(self.classes + other.classes, self.carried + other.carried)


def _afterwards(
    released: Batches,
    names: Sequence[str],
    schema: Schema,
    class_column: str | None,
    owners: Mapping[str, pl.Series],
    persons: Sequence[str],
) -> Iterator[_After]:
    before = 0
    for batch in released:
        classes = ReleasedClasses.of(batch, names, class_column=class_column, before=before)
        height = batch.frame.height
        own = {name: cells.slice(before, height) for name, cells in owners.items()}
        own |= _owners(batch, schema, persons)
        yield _After(classes, Carried.of(batch, schema, own))
        before += height


def _owners(released: Table, schema: Schema, persons: Sequence[str]) -> dict[str, pl.Series]:
    """The persons of released rows, if the release itself has a column of them."""
    return whose_rows(released, schema, [n for n in persons if n in released.frame.columns])
