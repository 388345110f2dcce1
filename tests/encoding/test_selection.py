"""Some rows of a table and the way back, beside plain lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.encoding.groups import SUPPRESSED, Groups, Rings
from covey.encoding.selection import Selection


@st.composite
def nested(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """Some rows of a table in any order, and some of these in any order."""
    total = draw(st.integers(1, 12))
    rows = draw(st.permutations(range(total)))[: draw(st.integers(1, total))]
    inner = draw(st.permutations(range(len(rows))))[: draw(st.integers(1, len(rows)))]
    return list(rows), list(inner), total


def selected(rows: list[int], total: int) -> Selection:
    return Selection(np.array(rows, dtype=np.int64), total)


@given(nested())
def test_rows_of_rows_are_rows_of_the_table(drawn: tuple[list[int], list[int], int]) -> None:
    rows, inner, total = drawn
    outer, cells = selected(rows, total), np.arange(100, 100 + total)
    both = outer.then(selected(inner, len(rows)))
    assert both.of(cells).tolist() == [100 + rows[place] for place in inner]
    assert both.total == total
    assert both.is_all == (len(inner) == total)


@given(nested(), st.data())
def test_labels_find_their_way_back(
    drawn: tuple[list[int], list[int], int], data: st.DataObject
) -> None:
    rows, _, total = drawn
    labels = data.draw(st.lists(st.integers(-1, 3), min_size=len(rows), max_size=len(rows)))
    expected = [labels[rows.index(row)] if row in rows else SUPPRESSED for row in range(total)]
    back = selected(rows, total).back(Groups(labels))
    assert back.labels.tolist() == expected
    released = [row for row in range(total) if expected[row] != SUPPRESSED]
    assert Selection.released(back).rows.tolist() == released


@given(nested())
def test_rings_find_their_way_back(drawn: tuple[list[int], list[int], int]) -> None:
    rows, inner, total = drawn
    ring = Rings(1, np.array(inner), np.array([0, len(inner)]), np.array([0]), len(rows))
    back = selected(rows, total).back(ring)
    assert back.order.tolist() == [rows[place] for place in inner]
    assert len(back) == total
