"""A release and its original, read for an attack."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from covey import pipeline
from covey._core.arrays import Floats, Longs
from covey.attacks.columns import KnownColumn, Line, alike, columns_of
from covey.attacks.guessing import Target
from covey.attacks.matching import distinct
from covey.custody.ordering import people_as_read
from covey.encoding import encode
from covey.errors import TableError, UsageError
from covey.inspection.known import kept_columns, sample
from covey.reading.description import ReleaseDescription
from covey.release import Release
from covey.schema import Role, Schema
from covey.schema.requirements import KAnonymity, Requirement
from covey.tables import Table


@dataclass(frozen=True, eq=False, repr=False)
class Case:
    """The people of an original and the rows of a release, column by column."""

    people: Table  # without rows that a missing-value policy drops
    released: Table
    schema: Schema
    k: int  # fewer rows than these single somebody out
    sha256: str | None
    columns: Mapping[str, KnownColumn]
    known: tuple[str, ...]  # the columns that others may know
    order: Longs  # the people, in a random order
    population: Table | None = None  # everyone, with the people

    @classmethod
    def of(
        cls, release: Any, original: Any, schema: Schema | None, k: int | None, seed: int
    ) -> "Case":
        """Read both; a release, or the description beside it, says its k."""
        if isinstance(release, Release):
            required, schema = release._own.requirements, schema or release._own.schema
            source, output = release.table, release.report.output
        else:
            described = ReleaseDescription.found_for(release)
            required, source, output = described.requirements if described else (), release, None
        if schema is None:
            raise UsageError("no schema given: pass that of the original")
        both = pipeline.both_tables(original, source, schema, whole=True)
        assert isinstance(both.original, Table)
        assert isinstance(both.released, Table)
        output = output or both.output
        sha256 = output.sha256 if output else None
        return cls.read(
            *(both.original, both.released, schema, k or _k_of(required, schema), seed, sha256)
        )

    @classmethod
    def read(
        cls,
        original: Table,
        released: Table,
        schema: Schema,
        k: int,
        seed: int = 0,
        sha256: str | None = None,
    ) -> "Case":
        """Compare the columns of two tables."""
        people = people_as_read(original, schema).table
        if not people.frame.height or not released.frame.height:
            raise TableError("one of the tables has no rows")
        columns = columns_of(people, encode(people, schema), released, schema)
        some = released.with_frame(sample(released.frame, schema))
        kept = {one.name for one in kept_columns(some, schema) if one.known}
        known = tuple(n for n in columns if n in schema.quasi or n in kept)
        order = np.random.default_rng(seed).permutation(people.frame.height).astype(np.int64)
        return cls(people, released, schema, k, sha256, columns, known, order)

    @cached_property
    def quasi(self) -> list[KnownColumn]:
        """The quasi-identifiers."""
        return [column for column in self.columns.values() if column.role is Role.QUASI]

    @cached_property
    def kept(self) -> list[Line]:
        """The columns that are released as they are."""
        every = self.columns.values()
        return [c for c in every if c.role is not Role.QUASI and isinstance(c, Line)]

    @property
    def rows(self) -> int:
        """The released rows."""
        return self.released.frame.height

    def among(self, population: Table) -> "Case":
        """The same, for attackers who do not know who of a population is in the original."""
        for name in self.schema.quasi:
            if name not in population.frame.columns:
                raise TableError(f"the population has no column {name!r}")
        return replace(self, population=population)

    def inside(self, names: Sequence[str], people: Longs) -> Floats | None:
        """Of everyone with the same values, the share that is in the original; None if unknown."""
        known = self.population and self.population.frame.columns
        if self.population is None or not set(names).issubset(known or ()):
            return None
        numbered = []
        for name in names:
            both = np.concatenate(alike(self.people, self.population, name)[:2])
            numbered.append(np.unique(both, return_inverse=True)[1].astype(np.int64))
        own = distinct(numbered)[1]
        total = self.people.frame.height
        number, every = (
            np.bincount(some, minlength=own.max() + 1) for some in (own[:total], own[total:])
        )
        share: Floats = (number / np.maximum(np.maximum(number, every), 1))[own[:total]]
        return share[people]

    def targets(self) -> list[Target]:
        """The sensitive columns."""
        return [Target.of(column) for column in self.kept if column.role is Role.SENSITIVE]


def _k_of(requirements: Sequence[Requirement], schema: Schema) -> int:
    """What was required of a release, or else what the schema requires."""
    k = max(
        (one.k for one in requirements if isinstance(one, KAnonymity)), default=schema.require.k
    )
    if not k:
        raise UsageError("no k known for this release: pass k (-k)")
    return k
