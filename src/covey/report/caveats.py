"""What a custodian should know before a release is published, found in it or in how it was made."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from covey.encoding.groups import Rings
from covey.errors import count
from covey.generalisation import View, filled_in
from covey.report.report import Rows
from covey.schema import Role, Schema
from covey.schema.labels import look_alikes
from covey.verification import Verdict

if TYPE_CHECKING:
    from covey.report.findings import Made

_TO_MERGE = "to merge them, set normalise for this column in the schema"
_BESIDE_TOTALS = "beside totals of the whole table, the release would tell what they held"


def of_making(made: "Made", *, least: int) -> Iterator[str]:
    """What was asked for, and how the groups were formed, may weaken the release."""
    request, key = made.request, made.key
    if key is None:
        yield (
            "a seed was chosen: anyone who guesses it can run this release again and so find out "
            "whose row is whose; publish a release that was made without one"
        )
    elif not key.stored:
        yield (
            "no key could be stored: the same request will give another release next time, and the "
            "two can be laid over each other"
        )
    if made.timed or request.options.get("budget") is not None:
        yield (
            "the groups depend on how long the method worked: once more, the same request may give "
            "another release, and the two can be laid over each other"
        )
    if request.constrained:
        yield (
            f"groups depend on {', '.join(request.constrained)}, of which more than k was asked: "
            "whoever knows the method may learn a little from how they were formed"
        )
    if request.class_column is not None and request.options.get("penalty") != 0:
        yield f"groups may depend on column {request.class_column!r}, and so tell about it"
    if isinstance(made.groups, Rings):
        yield (
            "the rows of this release are not alike: it keeps everyone among k rows that may be "
            "theirs, which is not k-anonymity, and only whoever has the original can check it"
        )
    if request.keep_order:
        yield "the rows are in the input's order: whoever knows it knows whose row is whose"

    for attribute in made.original.attributes:
        if filled := filled_in(attribute, made.groups):
            number = count(filled, "row") if filled >= least else f"fewer than {least:,} rows"
            yield (
                f"column {attribute.name!r}: {number} in which it was missing show what others of "
                "their group have, though nothing is known of them"
            )


def of_release(view: View, schema: Schema, verdict: Verdict, rows: Rows) -> Iterator[str]:
    """What can be seen of any release that is laid beside its original."""
    exact = [column.attribute.name for column in view.columns if column.shown.ends_exactly]
    if exact:
        yield (
            f"the ends of the intervals in {', '.join(exact)} are exact values of people in the "
            "table; a grid moves them outwards"
        )
    released = view.released.frame
    for name in schema.names(Role.INSENSITIVE, Role.SENSITIVE):
        distinct = released[name].n_unique() if name in released.columns else 0
        if distinct > view.rows / 2:
            yield f"column {name!r} is nearly unique ({distinct:,} values): it may identify people"
    for achieved in verdict.achieved:
        if achieved.certain:
            yield (
                f"{achieved.certain:.2%} of the rows are in classes that all have one value of "
                f"{achieved.column!r}: whoever finds such a class has learnt it"
            )
    if rows.suppressed:
        yield f"{count(rows.suppressed, 'row')} suppressed: {_BESIDE_TOTALS}"
    if rows.dropped:
        yield (
            f"{count(rows.dropped, 'row')} dropped, in which a cell was missing: {_BESIDE_TOTALS}; "
            "the loss is that of the rows that remained"
        )


def of_labels(view: View, schema: Schema, *, least: int) -> Iterator[str]:
    """Labels that a reader cannot tell apart, counted and never quoted.

    Sensitive ones stand in the release. Of quasi-identifiers it shows less, so only those of
    people who are in it count, and fewer than `least` rows are not told apart.
    """
    released = view.released
    for name in schema.names(Role.SENSITIVE):
        if name in released.frame.columns and not schema.columns[name].is_ordered:
            found = look_alikes(released.cells(name))
            if found:
                yield (
                    f"column {name!r}: {found} look alike to a reader, in "
                    f"{count(found.rows, 'row')}, and count as one each; {_TO_MERGE}"
                )
    for category in view.original.categories if view.same_rows else []:
        each = np.bincount(category.leaves, minlength=category.tree.leaf_count)
        found = look_alikes(pl.Series(category.tree.leaves, dtype=pl.String), pl.Series(each))
        if found.rows >= least:
            rows = count(found.rows, "row")
            yield f"column {category.name!r}: {found} look alike, in {rows}; {_TO_MERGE}"
        elif found:
            yield (
                f"column {category.name!r}: labels of fewer than {least:,} rows look alike; "
                f"{_TO_MERGE}"
            )
