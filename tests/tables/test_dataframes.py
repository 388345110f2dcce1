"""Columns of dataframes come back as they came, if they are released unchanged."""

import pickle
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import covey
from covey import tables
from custody.test_copies import found_in

CANARY = "Q7-secret"
ROWS = 20
SCHEMA = covey.Schema.of(quasi={"age": {"type": "numeric", "grid": 10}}, insensitive=["cells"])


def released(frame: Any, **more: Any) -> covey.Release:
    settings = {"require": covey.KAnonymity(4), "key": bytes(32), "keep_order": True, **more}
    return covey.anonymize(frame, settings.pop("schema", SCHEMA), **settings)


def repeated(cells: list[Any]) -> list[Any]:
    return (cells * ROWS)[:ROWS]


ARROW = [pa.int64(), pa.string(), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us", "UTC")]


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        ([1, None, 3], "Int64"),
        ([1, 2, None], "Int8"),
        ([1.5, None], "Float64"),
        ([True, None, False], "boolean"),
        ([True, False], "bool"),
        (["a", None, "b"], "string"),
        (["a", None, "b"], "string[python]"),
        (["a", None, "b"], "str"),
        (["a", "b"], "object"),
        ([1, 2], "int16"),
        ([1.5, None], "float32"),
        (["2024-05-31", None], "datetime64[ns]"),
        (["2024-05-31T12:00", "2024-06-01"], "datetime64[us]"),
        (["b", None, "a"], pd.CategoricalDtype(["c", "b", "a"], ordered=True)),
        ([3, None, 1], pd.CategoricalDtype([1, 2, 3])),
        ([1, None], "int64[pyarrow]"),
        (["a", None], "string[pyarrow]"),
        ([True, None], "bool[pyarrow]"),
        ([1.5, None], "double[pyarrow]"),
    ],
    ids=str,
)
def test_a_column_of_pandas_comes_back_as_it_came(cells: list[Any], dtype: Any) -> None:
    column = pd.Series(repeated(cells)).astype(dtype)
    frame = pd.DataFrame({"age": range(ROWS), "cells": column})
    given = released(frame).table
    if isinstance(dtype, pd.CategoricalDtype):
        assert given["cells"].cat.ordered == dtype.ordered
        present = {*column.dropna()}
        assert [*given["cells"].cat.categories] == [c for c in dtype.categories if c in present]
    else:
        assert given["cells"].dtype == column.dtype
    assert given["cells"].isna().tolist() == column.isna().tolist()
    assert given["cells"].dropna().tolist() == column.dropna().tolist()
    assert isinstance(given["age"].iloc[0], str)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float64", "datetime64[ns]", "object"])
def test_a_cell_that_is_missing_in_the_release_stays_missing(dtype: str) -> None:
    """The type that a column had may have no missing cells."""
    table = tables.read(pd.DataFrame({"cells": pd.Series([1, 0]).astype(dtype)}))
    some = table.frame.with_columns(pl.when(pl.Series([True, False])).then("cells").alias("cells"))
    assert table.give_back(some)["cells"].isna().tolist() == [False, True]


def test_times_with_a_zone_come_back() -> None:
    seen = pd.date_range("2024-05-31 12:00", periods=ROWS, freq="h", tz="Europe/Berlin")
    given = released(pd.DataFrame({"age": range(ROWS), "cells": seen})).table
    assert given["cells"].tolist() == seen.tolist()
    assert given["cells"].dtype == seen.dtype


def test_categories_of_people_who_were_removed_do_not_travel() -> None:
    """The dictionary of a categorical holds every value, used or not."""
    town = pd.Categorical(["Ash", "Birch"] * 10 + [CANARY], categories=["Birch", CANARY, "Ash"])
    frame = pd.DataFrame({"age": [*range(20), None], "cells": town})
    schema = covey.Schema.of(
        quasi={"age": {"type": "numeric", "grid": 10, "missing": "drop-row"}}, insensitive=["cells"]
    )
    made = released(frame, schema=schema)
    assert [*made.table["cells"].cat.categories] == ["Birch", "Ash"]
    assert CANARY.encode() not in pickle.dumps(made.table)
    assert CANARY not in repr(found_in(made, tables.Table)[0].give_back)
    assert not found_in(made, pd.CategoricalDtype)


def test_a_generalised_category_is_a_text() -> None:
    town = pd.Categorical(["Ash", "Birch"] * 10)
    frame = pd.DataFrame(
        {"age": range(ROWS), "cells": town, "town": [f"t{n}" for n in range(ROWS)]}
    )
    frame["town"] = frame["town"].astype("category")
    schema = covey.Schema.of(quasi={"age": "numeric", "town": "categorical"}, insensitive=["cells"])
    given = released(frame, schema=schema).table
    assert set(given["town"]) == {"*"}
    assert not hasattr(given["town"], "cat")


def test_a_lazy_frame_comes_back_lazy() -> None:
    frame = pl.LazyFrame({"age": range(ROWS), "cells": ["x"] * ROWS})
    given = released(frame).table
    assert isinstance(given, pl.LazyFrame)
    assert given.collect().height == ROWS
    assert covey.verify(given, SCHEMA, require=covey.KAnonymity(4)).holds
    broken = frame.with_columns(pl.col("cells").cast(pl.Int64))
    with pytest.raises(covey.TableError) as caught:
        released(broken)
    assert "'x'" not in str(caught.value)


# ── codes ───────────────────────────────────────────────────────────────────────────────────────

CODES = covey.Schema.of(
    quasi={"zip": {"type": "categorical", "taxonomy": {"build": "prefixes"}}},
    sensitive={"ward": "categorical"},
)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_codes_that_became_floats_are_codes_again(kind: str) -> None:
    plain = pl.DataFrame(
        {"zip": [10596.0] * 4 + [10597.0] * 4 + [None] * 4, "ward": [1.0, 2.0, None] * 4}
    )
    frame: Any = {"polars": plain, "pandas": plain.to_pandas(), "pyarrow": plain.to_arrow()}[kind]
    made = released(frame, schema=CODES)
    cells = pl.DataFrame(made.table)
    assert {"10596", "10597"} <= {*cells["zip"]}
    assert cells["ward"].dtype == pl.Float64  # released unchanged, so as it came
    assert cells["ward"].drop_nans().drop_nulls().unique().sort().to_list() == [1.0, 2.0]


def test_floats_that_are_no_codes_stay() -> None:
    frame = pl.DataFrame({"zip": [1.5, 2.0], "ward": [1.0, 2.0]})
    assert tables.read(frame, CODES).frame.schema == {"zip": pl.Float64, "ward": pl.Int64}
    assert tables.read(frame).frame.schema == {"zip": pl.Float64, "ward": pl.Float64}


@pytest.mark.parametrize(
    ("codes", "is_said"),
    [
        ([10596, 10597, 1234], True),
        ([10596.0, None, 10597.0, 1234.0], True),
        ([10596, 10597, 12345], False),
        ([1, 2, 10], False),
        ([10596, 1, 2, 3], False),
        (["10596", "10597", "1234"], False),
    ],
)
def test_codes_that_lost_their_zeros_are_noted(codes: list[Any], is_said: bool) -> None:
    frame = pl.DataFrame({"zip": codes, "ward": [1] * len(codes)})
    notes = tables.read(frame, CODES).notes
    assert any("'zip'" in note and "zeros" in note for note in notes) is is_said
    assert not any("1234" in note for note in notes)
