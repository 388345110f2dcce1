"""Count the people of a population who match each class of a release.

A person matches a class if all their cells lie within its released cells: numbers within its
intervals, values under its nodes. Each column is a line of positions, so each class is a box and
each person a point; the module counts the points in each box. These figures are estimates, not
guarantees: unlike the verifier, this module reads released cells with covey's own encoding.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from covey import tables
from covey._core.arrays import Longs
from covey.encoding import encode
from covey.errors import TableError
from covey.generalisation import View
from covey.schema import Role, Schema
from covey.tables import Table
from covey.verification import Risks, Verdict

_POINTS_AT_A_TIME = 1024  # at most this many are compared one by one; more are halved first
_PAIRS_AT_A_TIME = 1 << 22


def population_risks(verdict: Verdict, released: Any, population: Any, schema: Schema) -> Verdict:
    """Add the risks against this population to the verdict on a release.

    `population` is a table of everyone, including the people of the release, with original
    quasi-identifiers. If a class matches fewer people than it has rows, people are missing from
    the population; the class is counted as `uncovered`, and its own rows are used. If the release
    counts persons, the risks against the population stay unknown, since the population does not
    say which rows belong to the same person. So they do if a column shows means, which may stand
    for anyone.
    """
    people = tables.original(_quasi_only(tables.read(population, schema), schema), schema)
    encoded = encode(people, schema)
    view = View.of(tables.read(released, schema, declared=schema.table.of_release()), encoded)
    points = np.stack([attribute.places for attribute in encoded.attributes], axis=1)
    rows = view.classes.sizes
    ends = [
        [end[cell] for end in column.shown.places]
        for column, cell in zip(view.columns, view.classes.indices, strict=True)
    ]
    first, after = (np.stack(each, axis=1) for each in zip(*ends, strict=True))
    if verdict.risks.person is not None or any(c.render for c in schema.quasi.values()):
        risks = replace(verdict.risks, journalist=None, marketer=None, population=len(points))
        return replace(verdict, risks=risks)
    covered = _count(points, first, after - 1)
    people_of_class = np.maximum(covered, rows)
    risks = Risks(
        prosecutor=verdict.risks.prosecutor,
        prosecutor_average=verdict.risks.prosecutor_average,
        journalist=float(1 / people_of_class.min()),
        marketer=float((rows / people_of_class).sum() / rows.sum()),
        population=people.frame.height,
        uncovered=int((covered < rows).sum()),
    )
    return replace(verdict, risks=risks)


def _quasi_only(people: Table, schema: Schema) -> Table:
    """Drop all other columns: the population may have any, since it is not released."""
    shared = [name for name in schema.quasi if name in people.frame.columns]
    kept = replace(people, frame=people.frame.select(shared))
    tables.check_roles(kept, schema, Role.QUASI)
    if not kept.frame.height:
        raise TableError("the population has no rows")
    return kept


def _count(points: Longs, low: Longs, high: Longs) -> Longs:
    """Count the points in each box.

    Points are halved along their widest dimension again and again. If all points of a half lie in
    a box, all count; if all lie outside, none do; only halves across its sides are split further.
    """
    found = np.zeros(len(low), dtype=np.int64)
    stack = [(points, np.arange(len(low)))]
    while stack:
        some, boxes = stack.pop()
        least, most = some.min(axis=0), some.max(axis=0)
        boxes = boxes[((low[boxes] <= most) & (high[boxes] >= least)).all(axis=1)]
        inside = ((low[boxes] <= least) & (high[boxes] >= most)).all(axis=1)
        found[boxes[inside]] += len(some)
        boxes = boxes[~inside]
        if not len(boxes):
            continue
        if len(some) <= _POINTS_AT_A_TIME:
            _count_one_by_one(some, boxes, low, high, found)
            continue
        widest = int((most - least).argmax())
        middle = np.median(some[:, widest])
        lower = some[:, widest] <= min(middle, most[widest] - 1)
        stack += [(some[lower], boxes), (some[~lower], boxes)]
    return found


def _count_one_by_one(points: Longs, boxes: Longs, low: Longs, high: Longs, found: Longs) -> None:
    step = max(_PAIRS_AT_A_TIME // points.size, 1)
    for start in range(0, len(boxes), step):
        part = boxes[start : start + step]
        within = (low[part][:, None] <= points) & (points <= high[part][:, None])
        found[part] += within.all(axis=2).sum(axis=1)
