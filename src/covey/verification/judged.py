"""What was found in some classes of a table, to be added to what was found in the others.

Sums, and the worst figure of a class: both are the same in whatever order they are added. Figures
are whole numbers and fractions, so adding does not round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import and_
from typing import Annotated

import polars as pl

from covey.schema.requirements import AlphaK, LDiversity, Requirement
from covey.tables.merging import FieldSums, each, unless_none
from covey.verification.class_counts import Spread
from covey.verification.classes import ROWS, Classes, Matches
from covey.verification.sensitive import SIMILAR, SensitiveColumn


@dataclass(frozen=True, repr=False)
class Figures(FieldSums):
    """The figures of a sensitive column."""

    distinct: Annotated[int, min]
    share: Annotated[Fraction, max]
    listed: Annotated[Mapping[tuple[str, ...], Fraction], each(max)]  # of listed values
    entropy: Annotated[float, min]
    recursive: Annotated[Mapping[int, Fraction | None], each(unless_none(max))]  # by l
    equal: Annotated[Fraction, max]
    ordered: Annotated[Fraction | None, unless_none(max)]
    hierarchical: Annotated[Fraction | None, unless_none(max)]
    gain: Annotated[Fraction, max]
    bounded: Annotated[bool, and_]
    log_ratio: Annotated[float | None, unless_none(max)]
    certain: int  # rows
    similar: int  # rows

    @classmethod
    def of(
        cls, spread: Spread, column: SensitiveColumn, requirements: Sequence[Requirement]
    ) -> "Figures":
        """Compute all figures, and those that the requirements on this column need."""
        own = [r for r in requirements if getattr(r, "on", None) == column.name]
        ls = {int(r.l) for r in own if isinstance(r, LDiversity) and r.kind == "recursive"}
        listed = {(*r.values,) for r in own if isinstance(r, AlphaK) and r.values is not None}
        tree, numbers = column.tree, column.numbers
        return cls(
            distinct=int(spread.distinct.min()),
            share=spread.largest_share(),
            listed={values: spread.largest_share(column.places(values)) for values in listed},
            entropy=spread.least_entropy,
            recursive={few: spread.recursive_bound(few) for few in {2, 3, *ls}},
            equal=spread.equal_distance(),
            ordered=None if numbers is None else spread.ordered_distance(),
            hierarchical=None if tree is None else spread.tree_distance(tree, column.leaves),
            gain=spread.largest_gain(),
            bounded=spread.gains_are_bounded,
            log_ratio=spread.largest_log_ratio(),
            certain=spread.certain(),
            similar=0 if numbers is None else spread.similar(numbers, SIMILAR),
        )


@dataclass(frozen=True)
class Shares(FieldSums):
    """The shares that persons have of the rows of a class.

    An attacker who picks any of the person's rows is right, so the share is the chance. The
    marketer does best by naming, for all rows of a class, the person with most of them. Rows of
    unknown persons are added to that person: this is the worst case.
    """

    fewest: Annotated[int, min]  # persons in a class
    highest: Annotated[Fraction, max]  # share of a person
    most: int  # rows of the person with most rows of a class
    # For each size of a class: the squares of rows of a person over this size.
    squares: Annotated[Mapping[int, Fraction], each()]

    @classmethod
    def of(cls, classes: Classes, persons: pl.Series) -> "Shares":
        """Count the rows of each person in each class; null is an unknown person."""
        rows, person = pl.col(ROWS), pl.col("person")
        known = rows.filter(person.is_not_null())
        most = known.max().fill_null(0)
        nobody = rows.filter(person.is_null()).sum()
        found = classes.owned(persons).group_by("class").agg(
            persons=person.is_not_null().sum(),
            most=most + nobody,
            squares=(known**2).sum() - most**2 + (most + nobody) ** 2,
            size=rows.sum(),
        )  # fmt: skip
        pairs = found.group_by("size").agg(pl.col("most").max(), pl.col("squares").sum())
        return cls(
            fewest=int(found["persons"].to_numpy().min()),
            highest=max(Fraction(most, size) for size, most, _ in pairs.iter_rows()),
            most=int(found["most"].sum()),
            squares={size: Fraction(squares, size) for size, _, squares in pairs.iter_rows()},
        )


@dataclass(frozen=True, eq=False, repr=False)
class Judged(FieldSums):
    """What was found in some classes, with all rows of each."""

    classes: int
    rows: int
    smallest: Annotated[int, min]
    largest: Annotated[int, max]
    figures: Annotated[Mapping[str, Figures], each()]  # by sensitive column
    shares: Annotated[Mapping[str, Shares], each()]  # by person column
    matches: Matches
