"""Warnings for the custodian before a release is published: when `caveats.toml` applies."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from covey.declared import declared
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
    from covey.report.findings import Making

_TEXTS = declared("covey.report", "caveats.toml")


def _text(name: str, **values: object) -> str:
    return str(_TEXTS[name]).format(**values)


def of_making(made: "Making", *, least: int) -> Iterator[str]:
    """What in the request, or in how the groups were formed, may weaken the release."""
    request, key = made.request, made.key
    if key is None:
        yield _text("seed")
    elif not key.stored:
        yield _text("key")
    if made.timed or request.options.get("budget") is not None:
        yield _text("timed")
    yield from _of_requirements(request)
    if request.class_column is not None and request.options.get("penalty") != 0:
        yield _text("class_column", column=request.class_column)
    if not made.alike:
        yield _text("rings")
    if request.keep_order:
        yield _text("order")
    for name, filled in made.filled_in.items():
        if filled:
            rows = count(filled, "row") if filled >= least else f"fewer than {least:,} rows"
            yield _text("filled", column=name, rows=rows)


def _of_requirements(request: "Request") -> Iterator[str]:
    """What groups that depend on sensitive values may reveal."""
    if request.constrained:
        yield _text("constrained", columns=", ".join(request.constrained))
        if request.accepts_minimality:
            yield _text("minimality")


def of_release(view: View, carried: Carried, verdict: Verdict, rows: Rows) -> Iterator[str]:
    """What a comparison of any release with its original shows."""
    exact = [column.attribute.name for column in view.columns if column.shown.ends_exactly]
    if exact:
        yield _text("exact", columns=", ".join(exact))
    for interval in view.original.intervals if view.same_rows else ():
        if interval.far.any():
            yield _text("far", column=interval.name)
    alone = carried.tries.alone()
    unique = [name for name, values in alone.items() if values.distinct > view.rows / 2]
    for name in unique:
        yield _text("unique", column=name, values=alone[name])
    if verdict.alike:
        yield from _of_values(verdict)
    if untried := dict.fromkeys([*unique, *_unprotected(verdict)]):
        yield _text("untried", columns=", ".join(untried))
    if rows.suppressed:
        yield _text("suppressed", rows=count(rows.suppressed, "row"))
    if rows.dropped:
        yield _text("dropped", rows=count(rows.dropped, "row"))


def _of_values(verdict: Verdict) -> Iterator[str]:
    """The sensitive values that classes reveal, and the cheapest requirement that hides them.

    Whatever leaves no class with a single value includes l = 2, so nothing costs less.
    """
    unprotected = _unprotected(verdict)
    for achieved in verdict.achieved:
        name, share = achieved.column, percent(achieved.certain)
        if achieved.certain:
            text = _text("certain", column=name, share=share)
            mend = _text("certain_mend", column=name)
            yield f"{text}. {mend}" if name in unprotected else text
        elif name in unprotected:
            yield _text("unprotected", column=name, least=achieved.distinct_l)


def _unprotected(verdict: Verdict) -> list[str]:
    """The sensitive columns of which nothing is required."""
    required = {getattr(check.requirement, "on", None) for check in verdict.checks}
    return [one.column for one in verdict.achieved if one.column not in required]


def of_centres(view: View) -> Iterator[str]:
    """What means and medians reveal that intervals do not."""
    for render in ("mean", "median"):
        names = [a.name for a in view.original.intervals if a.column.render == render]
        if names:
            yield _text(render, columns=", ".join(names))


_NEARLY_ALL, _MUCH = 0.9, 1 / 3  # of a column, and of all cells on average


def of_losses(losses: Losses) -> Iterator[str]:
    """What a release that shows little should make the custodian think of."""
    lost = [column.name for column in losses.columns if column.il >= _NEARLY_ALL]
    everything = sum(column.weight for column in losses.columns) * losses.rows
    mean = losses.total_il / everything if everything else 0.0
    if lost and len(losses.columns) > 1:
        yield _text("nothing_left", columns=", ".join(lost))
    if mean >= _MUCH:
        columns, rows = count(len(losses.columns), "quasi-identifier"), count(losses.rows, "row")
        yield _text("much_lost", share=percent(mean), columns=columns, rows=rows)


def of_labels(view: View, carried: Carried, *, least: int) -> Iterator[str]:
    """Labels that look the same to a reader, counted and never quoted.

    The release shows sensitive labels as they are. It shows less of quasi-identifiers, so only
    labels of released rows count, and a number of rows below `least` is not given.
    """
    for name, labels in carried.labels.items():
        if found := labels.alike:
            rows = count(found.rows, "row")
            yield _text("alike_released", column=name, labels=found, rows=rows)
    for category, rows_of_each in view.original.columns if view.same_rows else ():
        if not isinstance(category, Category):
            continue
        each = np.bincount(category.leaves, rows_of_each, category.tree.leaf_count)
        leaves = pl.Series(category.tree.leaves, dtype=pl.String)
        found = look_alikes(leaves, pl.Series(each).cast(pl.Int64))
        if found.rows >= least:
            rows = count(found.rows, "row")
            yield _text("alike", column=category.name, labels=found, rows=rows)
        elif found:
            yield _text("alike_few", column=category.name, least=least)
