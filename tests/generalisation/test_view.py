"""A release is read only once, and what is kept of it does not contain the original."""

from collections import Counter
from dataclasses import fields
from typing import Any

import numpy as np
import polars as pl
import pytest

import covey
from covey import Schema, TableError
from covey.encoding import Category, Interval, encode
from covey.encoding.groups import Groups
from covey.generalisation import Style, View, as_released, generalise
from covey.generalisation.classes import index_of_rows
from covey.measures.loss import RowLosses, measure
from covey.tables import Table

SCHEMA = Schema.of(
    quasi={"age": "numeric", "born": "date", "town": "categorical"},
    sensitive=["ill"],
    require={"k": 2},
)
FRAME = pl.DataFrame(
    {
        "age": ["31", "35", None, "52", "58", "58"],
        "born": ["1990-01-02", "1990-03-04", "1991-05-06", "1970-01-01", "1970-02-02", None],
        "town": ["Ayr", "Bath", "Ayr", None, "Cork", "Cork"],
        "ill": list("abcabc"),
    }
)
PLAIN = Style()
LABELS = [0, 0, 0, 1, 1, 1]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the released cells of each column are read."""
    times: Counter[str] = Counter()
    for kind in (Interval, Category):

        def counted(self: Any, *cells: Any, parse: Any = kind.parse) -> Any:
            times[self.name] += 1
            return parse(self, *cells)

        monkeypatch.setattr(kind, "parse", counted)
    return times


def view(style: Style = PLAIN, rows: int = 6) -> View:
    table = Table(FRAME[:rows])
    encoded = encode(table, SCHEMA)
    shown = generalise(table, encoded, Groups(LABELS[:rows]), style)
    return View.of(shown, encode(Table(FRAME), SCHEMA))


def test_a_release_is_read_once(read: Counter[str]) -> None:
    release = covey.anonymize(FRAME, SCHEMA, seed=0)
    assert release.costs["loss"].sum() > 0
    assert read == {"age": 1, "born": 1, "town": 1}


def test_somebody_elses_release_is_read_once(read: Counter[str]) -> None:
    shown = view().row_by_row.released.frame
    read.clear()
    covey.report_on(FRAME, shown, SCHEMA)
    covey.measure(FRAME, shown, SCHEMA, queries=10)
    assert read == {"age": 2, "born": 2, "town": 2}


@pytest.mark.parametrize("style", [Style(), Style(intervals="columns"), Style(categories="values")])
def test_every_row_has_its_cells(style: Style) -> None:
    found = view(style)
    released = found.row_by_row.released
    for column, cell in zip(
        found.columns, index_of_rows(released, found.classes.cells), strict=True
    ):
        assert column.counts.tolist() == np.bincount(cell).tolist()
        for written in column.written:
            shown = released.cells(written.name)
            assert written.gather(cell).to_list() == shown.to_list()
    assert [len(index) for index in found.classes.indices] == [2, 2, 2]
    assert found.classes.sizes.tolist() == [3, 3]


def test_it_is_told_whether_the_same_rows_are_behind() -> None:
    assert view().same_rows
    assert view().publishable.original.rows == 6
    left_out = view(rows=3)
    assert not left_out.same_rows
    assert left_out.publishable.original.rows == 3
    # Cork is not shown, so nothing that is published may know of it.
    (town,) = left_out.publishable.original.categories
    assert "Cork" not in town.tree.labels


@pytest.mark.parametrize("values", [["a", "**"], ["**", "***"], ["*", "a"], ["**", "a", "*"]])
def test_a_value_of_stars_in_a_set_is_not_taken_for_everything(values: list[str]) -> None:
    schema = Schema.of(quasi={"sign": "categorical"}, require={"k": 2})
    table = Table(pl.DataFrame({"sign": values + values[:1] * 2}))
    groups = Groups([0] * len(values) + [1, 1])
    shown = generalise(table, encode(table, schema), groups, Style(categories="values"))
    one_more = encode(Table(table.frame.vstack(table.frame[:1])), schema)
    (sign,) = View.of(shown, one_more).publishable.original.categories
    assert set(sign.tree.leaves) == set(values)


@pytest.mark.parametrize(("name", "cell"), [("age", "old"), ("born", "once"), ("town", "Oslo")])
def test_a_cell_that_cannot_be_read_is_told_by_its_row_and_not_quoted(name: str, cell: str) -> None:
    shown = view().row_by_row.released.frame.with_columns(
        pl.Series(name, [*view().row_by_row.released.frame[name][:4], cell, cell])
    )
    with pytest.raises(TableError, match=rf"{name!r}: 2 rows .*first in row 5") as refusal:
        View.of(Table(shown), encode(Table(FRAME), SCHEMA))
    assert cell not in str(refusal.value)


def test_row_losses_sum_up_to_the_total_and_hold_no_original() -> None:
    found = view()
    lost = RowLosses.of(found)
    assert lost.each(found.row_by_row.released).sum() == pytest.approx(measure(found).total_il)
    assert {field.name for field in fields(lost)} == {"weights", "losses", "cells"}
    held = [*lost.losses, *(cells.to_numpy() for both in lost.cells for cells in both)]
    for attribute in found.original.attributes:
        assert not any(np.shares_memory(array, attribute.values) for array in held)


@pytest.mark.parametrize("label", ["[10, 19]", "[10, 20)"])
def test_of_an_interval_a_number_of_each_half_is_known(label: str) -> None:
    """Else its tree would be built without one of the halves."""
    assert as_released._numbers_under(label) == ["10", "15"]
