"""How many people of a population stand behind each class of a release.

A person may be behind a class if all her cells lie within what the class shows: numbers within its
intervals, values under its nodes. Every column is a line of places, each class a box in as many
dimensions, each person a point; points are counted in boxes. Nothing is promised by it: unlike the
verifier, it reads released cells as covey itself does.
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

_POINTS_AT_A_TIME = 1024  # counted one by one; more are halved first
_PAIRS_AT_A_TIME = 1 << 22


def population_risks(verdict: Verdict, released: Any, population: Any, schema: Schema) -> Verdict:
    """The verdict on a release with the risks against this population.

    `population` is a table of everybody, those of the release included, with all
    quasi-identifiers as they are. A class that covers fewer of them than it has rows shows that
    somebody is missing; it is counted as `uncovered`, and by its own rows. Where persons are
    counted, nothing is told of the population: it does not say whose rows are whose.
    """
    people = tables.original(_quasi_only(tables.read(population, schema), schema), schema)
    view = View.of(tables.read(released, schema), encode(people, schema))
    points = np.stack([attribute.places for attribute in view.original.attributes], axis=1)
    boxes, rows = view.boxes
    ends = [
        [end[cell] for end in column.shown.places]
        for column, cell in zip(view.columns, boxes.T, strict=True)
    ]
    first, after = (np.stack(each, axis=1) for each in zip(*ends, strict=True))
    if verdict.risks.person is not None:
        risks = replace(verdict.risks, journalist=None, marketer=None, population=len(points))
        return replace(verdict, risks=risks)
    covered = _count(points, first, after - 1)
    behind = np.maximum(covered, rows)
    risks = Risks(
        prosecutor=verdict.risks.prosecutor,
        prosecutor_average=verdict.risks.prosecutor_average,
        journalist=float(1 / behind.min()),
        marketer=float((rows / behind).sum() / rows.sum()),
        population=people.frame.height,
        uncovered=int((covered < rows).sum()),
    )
    return replace(verdict, risks=risks)


def _quasi_only(people: Table, schema: Schema) -> Table:
    """A register may hold anything besides; it is not going to be released."""
    shared = [name for name in schema.quasi if name in people.frame.columns]
    kept = replace(people, frame=people.frame.select(shared))
    tables.check_roles(kept, schema, Role.QUASI)
    if not kept.frame.height:
        raise TableError("the population has no rows")
    return kept


def _count(points: Longs, low: Longs, high: Longs) -> Longs:
    """How many points lie in each box.

    Points are halved along their widest dimension again and again. A half that lies in a box counts
    whole, one beside it not at all, and only those across its sides go on.
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
