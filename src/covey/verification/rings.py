"""Judges a release whose rows are not alike, but each of which may stand for several people.

Draw a line from every released row to every person whose cells lie within it. A person hides among
k released rows if each of k such lines could be the true one, that is, if k pairings of all people
with all rows exist that have no line in common: k disjoint perfect matchings. Rings name these
pairings; here each is checked against the cells that are released and those of the people.

Which pairing is the true one must stay secret; no release can prove that it was drawn at random.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from covey._core.arrays import Longs
from covey.encoding import EncodedTable
from covey.encoding.groups import Rings
from covey.errors import ViolationError
from covey.generalisation import ShownColumn, View
from covey.schema import Schema
from covey.schema.requirements import DisjointMatchings
from covey.tables import Table
from covey.verification import Check, Verdict, verify

LIMITS = (
    "every person may be behind k of the released rows, by the quasi-identifiers named here, and "
    "each of these rows may stand for k people. Rows are not alike, so this is not k-anonymity: "
    "whoever can tell whose one row is, by a sensitive value for instance, can tell it of all rows "
    "of its ring. It does not hide a sensitive value that all rows around a person share, does not "
    "protect columns that were not named as quasi-identifiers, and may be weakened by what else is "
    "known or by other releases of the same table."
)
_ROWS_AT_A_TIME = 65_536


def verify_rings(
    released: Table, schema: Schema, original: EncodedTable, rings: Rings, rows: Longs, k: int
) -> Verdict:
    """How many disjoint perfect matchings there are between people and released rows.

    `rows` tells of each released row which of the original it was made from.
    """
    if released.frame.height != len(rows) or not _is_permutation(rows, original.rows):
        raise ViolationError("the release has not one row for each row of the original")
    columns = View.of(released, original).columns
    place = rings.place[rows]
    matched = 0
    for step in range(rings.k):
        people = rings.member(step)[place]
        if _is_permutation(people, original.rows) and all(
            _covers(column, people).all() for column in columns
        ):
            matched += 1
    if not _are_disjoint(rings):
        matched = min(matched, 1)
    # The true pairing must be one of them: shifts are below k, if cells are where those say.
    if not all(_covers(column, rows).all() for column in columns):
        matched = 0
    # What remains of the usual verdict: classes as they are, and no identifiers.
    verdict = verify(released, schema, ())
    return replace(verdict, checks=(Check(DisjointMatchings(k), matched, matched >= k),))


def _is_permutation(rows: Longs, total: int) -> bool:
    return len(rows) == total and bool((np.sort(rows) == np.arange(total)).all())


def _are_disjoint(rings: Rings) -> bool:
    """Whether no row is shown with another twice."""
    for first in range(0, len(rings.order), _ROWS_AT_A_TIME):
        some = slice(first, first + _ROWS_AT_A_TIME)
        members = np.sort([rings.member(step)[some] for step in range(rings.k)], axis=0)
        if (members[1:] == members[:-1]).any():
            return False
    return True


def _covers(column: ShownColumn, people: Longs) -> NDArray[np.bool_]:
    """Whether the cell of each released row covers that of its person."""
    first, behind = (ends[column.cell] for ends in column.shown.places)
    place = column.attribute.places[people]
    return (first <= place) & (place < behind) | column.attribute.matches_anything[people]
