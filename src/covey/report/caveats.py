"""Warnings for the custodian before a release is published."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from covey.encoding import Category
from covey.errors import count, percent
from covey.generalisation import View
from covey.measures.loss import Losses
from covey.report.carried import Carried
from covey.report.report import Rows
from covey.schema.labels import look_alikes
from covey.verification import Verdict

if TYPE_CHECKING:
    from covey.clustering.request import Request
    from covey.report.findings import Made

_TO_MERGE = "to merge them, set normalise for this column in the schema"
_BESIDE_TOTALS = "together with totals of the whole table, the release would reveal their values"


def of_making(made: "Made", *, least: int) -> Iterator[str]:
    """What in the request, or in how the groups were formed, may weaken the release."""
    request, key = made.request, made.key
    if key is None:
        yield (
            "a seed was set: anyone who guesses it can repeat this run and find out whose row is "
            "whose. Publish a release that was made without a seed"
        )
    elif not key.stored:
        yield (
            "the key could not be stored: the same request will give a different release next "
            "time, and the two can be combined"
        )
    if made.timed or request.options.get("budget") is not None:
        yield (
            "the groups depend on how long the method ran: the same request may give a different "
            "release next time, and the two can be combined"
        )
    yield from _of_requirements(request)
    if request.class_column is not None and request.options.get("penalty") != 0:
        yield f"groups may depend on column {request.class_column!r}, and so reveal something of it"
    if not made.alike:
        yield (
            "this release is not k-anonymous: each person has k rows that may be theirs, but the "
            "rows form no classes. Only someone with the original table can check it"
        )
    if request.keep_order:
        yield "the rows are in the input's order: anyone who knows it knows whose row is whose"
    for name, filled in made.filled_in.items():
        if filled:
            number = count(filled, "row") if filled >= least else f"fewer than {least:,} rows"
            yield (
                f"column {name!r}: {number} with a missing cell show the values of the "
                "others in their group, although their own value is unknown"
            )


def _of_requirements(request: "Request") -> Iterator[str]:
    """What groups that depend on sensitive values may reveal."""
    if not request.constrained:
        return
    yield (
        f"the grouping used {', '.join(request.constrained)} to meet a requirement: anyone who "
        "knows the method may learn a little from how the groups were formed"
    )
    if request.accepts_minimality:
        yield (
            'minimality = "accept" allows groups to change for single rows of rare values: someone '
            "who repeats the work may find out who has such a value"
        )


def of_release(view: View, carried: Carried, verdict: Verdict, rows: Rows) -> Iterator[str]:
    """What a comparison of any release with its original shows."""
    exact = [column.attribute.name for column in view.columns if column.shown.ends_exactly]
    if exact:
        yield (
            f"the ends of the intervals in {', '.join(exact)} are exact values of people in the "
            "table: set a grid in the schema to move them outwards"
        )
    for interval in view.original.intervals if view.same_rows else ():
        if interval.far.any():
            yield (
                f"column {interval.name!r} has values far from all others. The loss is measured "
                "over the range of the others, because a single such value would make every "
                "interval look narrow. If they mean missing, list them as missing_values in the "
                "schema; if they are real, set bottom or top"
            )
    for name, values in carried.tries.alone().items():
        if values.distinct > view.rows / 2:
            yield (f"column {name!r} is nearly unique ({values} values): it may identify people")
    if verdict.alike:
        yield from _of_values(verdict)
    if rows.suppressed:
        yield f"{count(rows.suppressed, 'row')} suppressed: {_BESIDE_TOTALS}"
    if rows.dropped:
        yield (
            f"{count(rows.dropped, 'row')} dropped for missing cells: {_BESIDE_TOTALS}. The loss "
            "does not include them"
        )


def _of_values(verdict: Verdict) -> Iterator[str]:
    """The sensitive values that classes reveal, and the cheapest requirement that hides them.

    Whatever leaves no class with a single value includes l = 2, so nothing costs less.
    """
    required = {getattr(check.requirement, "on", None) for check in verdict.checks}
    for achieved in verdict.achieved:
        name, certain = achieved.column, percent(achieved.certain)
        if achieved.certain:
            text = (
                f"{certain} of the rows are in classes with a single value of {name!r}: anyone who "
                "finds such a class learns the value"
            )
            mend = f"No requirement protects it: l = 2 on {name} leaves no such class"
            yield text if name in required else f"{text}. {mend}"
        elif name not in required:
            yield (
                f"no requirement protects {name!r}. Every class has at least "
                f"{achieved.distinct_l:,} of its values, so l = {achieved.distinct_l} on {name} "
                "costs nothing: require it, and the next release keeps it too"
            )


_CENTRES = {
    "mean": "the release shows the mean of each group. Anyone who knows all values in a group but "
    "one can compute the last one, and an extreme value is visible in the mean of its group: set "
    "bottom or top in the schema if there are such values",
    "median": "the release shows the median of each group, which often is the exact value of a "
    "person in it: set a grid in the schema to round it",
}


def of_centres(view: View) -> Iterator[str]:
    """What means and medians reveal that intervals do not."""
    for render, warning in _CENTRES.items():
        names = [a.name for a in view.original.intervals if a.column.render == render]
        if names:
            yield f"{', '.join(names)}: {warning}"


_NEARLY_ALL, _MUCH = 0.9, 1 / 3  # of a column, and of all cells on average


def of_losses(losses: Losses) -> Iterator[str]:
    """What a release that shows little should make the custodian think of."""
    lost = [column for column in losses.columns if column.il >= _NEARLY_ALL]
    everything = sum(column.weight for column in losses.columns) * losses.rows
    mean = losses.total_il / everything if everything else 0.0
    if lost and len(losses.columns) > 1:
        yield (
            f"the release shows almost nothing of {', '.join(column.name for column in lost)}. If "
            "readers do not need this, give it the role drop: the other columns will then show more"
        )
    if mean >= _MUCH:
        number = count(len(losses.columns), "quasi-identifier")
        yield (
            f"{percent(mean)} of the information is lost: for this k, {number} are many in a "
            f"table of {count(losses.rows, 'row')}. Fewer quasi-identifiers, shorter codes or a "
            "smaller k lose less"
        )


def of_labels(view: View, carried: Carried, *, least: int) -> Iterator[str]:
    """Labels that look the same to a reader, counted and never quoted.

    The release shows sensitive labels as they are. It shows less of quasi-identifiers, so only
    labels of released rows count, and a number of rows below `least` is not given.
    """
    for name, labels in carried.labels.items():
        if found := labels.alike:
            yield (
                f"column {name!r}: {found} look the same to a reader, in "
                f"{count(found.rows, 'row')}, and count as one value each; {_TO_MERGE}"
            )
    for category, rows_of_each in view.original.columns if view.same_rows else ():
        if not isinstance(category, Category):
            continue
        each = np.bincount(category.leaves, rows_of_each, category.tree.leaf_count)
        leaves = pl.Series(category.tree.leaves, dtype=pl.String)
        found = look_alikes(leaves, pl.Series(each).cast(pl.Int64))
        if found.rows >= least:
            rows = count(found.rows, "row")
            yield f"column {category.name!r}: {found} look the same, in {rows}; {_TO_MERGE}"
        elif found:
            yield (
                f"column {category.name!r}: labels of fewer than {least:,} rows look the same; "
                f"{_TO_MERGE}"
            )
