"""Verify a release without classes of equal rows, in which each row matches several people.

Draw a line from every released row to every person whose cells lie within it. A person hides among
k released rows if each of k such lines could be the true one, that is, if there are k pairings of
all people with all rows that have no line in common: k disjoint perfect matchings. Rings name these
pairings; this module checks each of them against the released cells and the cells of the people.

The true pairing must stay secret; no release can prove that it was drawn at random.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from covey._core.arrays import Longs
from covey.encoding import Attribute, EncodedTable
from covey.encoding.groups import Rings
from covey.errors import ViolationError
from covey.generalisation import View
from covey.generalisation.classes import index_of_rows
from covey.schema import Schema
from covey.schema.requirements import DisjointMatchings
from covey.tables import Table
from covey.verification import Check, Verdict, verify

LIMITS = (
    "by the quasi-identifiers named here, every person matches k released rows, and each of these "
    "rows matches k people. Rows are not equal, so this is not k-anonymity: anyone who links one "
    "row to its person, for instance by a sensitive value, can link all rows of the ring. It does "
    "not hide a sensitive value that all rows around a person share, does not protect columns that "
    "are not quasi-identifiers, and background knowledge or other releases of the same table may "
    "weaken it."
)
_ROWS_AT_A_TIME = 65_536


def verify_rings(
    released: Table, schema: Schema, original: EncodedTable, rings: Rings, rows: Longs, k: int
) -> Verdict:
    """Count the disjoint perfect matchings between people and released rows.

    `rows` gives the original row of each released row.
    """
    if released.frame.height != len(rows) or not _is_permutation(rows, original.rows):
        raise ViolationError("the release must have exactly one row for each row of the original")
    view = View.of(released, original)
    cells = index_of_rows(released, view.classes.cells)
    shown = [[ends[c] for ends in v.shown.places] for v, c in zip(view.columns, cells, strict=True)]
    columns = [*zip(original.attributes, shown, strict=True)]
    place = rings.place[rows]
    matched = 0
    for step in range(rings.k):
        people = rings.member(step)[place]
        if _is_permutation(people, original.rows) and all(
            _covers(*column, people).all() for column in columns
        ):
            matched += 1
    if not _are_disjoint(rings):
        matched = min(matched, 1)
    # The true pairing must be one of them; then all shifts are below k.
    if not all(_covers(*column, rows).all() for column in columns):
        matched = 0
    # Of the usual verdict, only the classes as found and the check for identifiers apply.
    verdict = verify(released, schema, ())
    return replace(verdict, checks=(Check(DisjointMatchings(k), matched, matched >= k),))


def _is_permutation(rows: Longs, total: int) -> bool:
    return len(rows) == total and bool((np.sort(rows) == np.arange(total)).all())


def _are_disjoint(rings: Rings) -> bool:
    """Whether no two pairings give a row the same person."""
    for first in range(0, len(rings.order), _ROWS_AT_A_TIME):
        some = slice(first, first + _ROWS_AT_A_TIME)
        members = np.sort([rings.member(step)[some] for step in range(rings.k)], axis=0)
        if (members[1:] == members[:-1]).any():
            return False
    return True


def _covers(attribute: Attribute, ends: Sequence[Longs], people: Longs) -> NDArray[np.bool_]:
    """Whether the cell of each released row covers the cell of its person."""
    first, after = ends
    place = attribute.places[people]
    return (first <= place) & (place < after) | attribute.matches_anything[people]
