"""Numbers shown as means or medians of their groups."""

import statistics
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey import Schema, SchemaError, TableError, UsageError
from covey.encoding import encode
from covey.encoding.groups import Groups
from covey.generalisation import Originals, Style, View, generalise
from covey.measures import loss
from covey.tables import Table
from covey.tables.csv_files import Dialect
from examples import examples
from generalisation.test_generalisation import frame_of

KEY = bytes(range(32))
MEANS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
}


def people(rows: int = 300, seed: int = 3) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": random.integers(18, 90, rows),
            "income": np.round(random.lognormal(10, 1, rows), 2),
            "sex": random.choice(["f", "m"], rows),
            "ill": random.choice(["a", "b", "c"], rows),
        }
    )


def schema(render: str | None = "mean", **settings: Any) -> Schema:
    number = {"type": "numeric", "render": render, **settings}
    return Schema.of(
        quasi={"age": number, "income": number, "sex": "categorical"}, sensitive=["ill"]
    )


def release(frame: pl.DataFrame, known: Schema, **more: Any) -> covey.Release:
    return covey.anonymize(frame, known, k=5, key=KEY, register=False, **more)


def shown(values: list[float | None], labels: list[int], **settings: Any) -> list[float | None]:
    """The cells of a single column in its groups, row by row."""
    frame = pl.DataFrame({"x": values}, schema={"x": pl.Float64})
    return frame_of(frame, {"x": {"type": "numeric", **settings}}, labels)["x"].to_list()


@given(
    st.lists(st.tuples(st.integers(-999, 999), st.integers(0, 4)), min_size=1, max_size=40),
    st.sampled_from(["mean", "median"]),
)
@examples(200)
def test_a_group_shows_its_mean_or_median(rows: list[tuple[int, int]], render: str) -> None:
    numbers = {label: place for place, label in enumerate(sorted({label for _, label in rows}))}
    values, labels = [float(value) for value, _ in rows], [numbers[label] for _, label in rows]
    cells = shown([*values], labels, render=render)
    width = max(values) - min(values)
    for cell, label in zip(cells, labels, strict=True):
        own = [value for value, other in zip(values, labels, strict=True) if other == label]
        assert cell is not None
        assert abs(cell - MEANS[render](own)) <= width / 200_000 + 1e-9
        assert min(own) <= cell <= max(own)


@given(st.lists(st.floats(0, 1e6), min_size=4, max_size=60), st.integers(2, 9), st.data())
@examples(100)
def test_means_keep_the_total(values: list[float], parts: int, data: st.DataObject) -> None:
    labels = [row % parts for row in range(len(values))]
    labels = np.unique(labels, return_inverse=True)[1].tolist()
    cells = shown([*values], labels, render="mean")
    kept = sum((Fraction(cell or 0.0) for cell in cells), Fraction())
    width = max(values) - min(values)
    unit = min(1.0, width / 1e5)
    apart = abs(kept - sum(map(Fraction, values), Fraction()))
    assert apart <= len(values) * (unit / 2 + 1e-15 * max(values))
    order = data.draw(st.permutations(range(len(values))))
    turned = shown([values[i] for i in order], [labels[i] for i in order], render="mean")
    assert turned == [cells[i] for i in order]


def test_a_grid_rounds_means_and_bounds_limit_values() -> None:
    values: list[float | None] = [1.0, 2.0, 9.0, 100.0]
    assert shown(values, [0, 0, 0, 0], render="mean", grid=5) == [30.0] * 4
    assert shown(values, [0, 0, 0, 0], render="mean", top=10) == [5.5] * 4
    assert shown(values, [0, 0, 1, 1], render="median", bottom=2, grid=4) == [2.0, 2.0, 56.0, 56.0]


def test_missing_numbers_have_no_mean() -> None:
    values, labels = [1.0, 3.0, None, 5.0, None, None], [0, 0, 1, 1, 2, 2]
    assert shown([*values], labels, render="mean") == [2.0, 2.0, None, None, None, None]
    wild = shown([*values], labels, render="mean", missing="wildcard")
    assert wild == [2.0, 2.0, 5.0, 5.0, None, None]


@pytest.mark.parametrize("comma", [True, False])
def test_cells_are_read_as_they_were_written(comma: bool) -> None:
    known = Schema.of(quasi={"x": {"type": "numeric", "render": "mean"}})
    dialect = Dialect(decimal="," if comma else ".", delimiter=";")
    table = Table(pl.DataFrame({"x": ["1", "2", "4", "9"]}), dialect)
    released = generalise(table, encode(table, known), Groups([0, 0, 1, 1]), Style())
    (column,) = View.of(released, encode(table, known)).columns
    assert column.shown.ends[0].tolist() == [2.0, 6.0]  # the nearest whole numbers
    assert column.written[0].to_list() == [1.5, 6.5]


# ── releases ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("settings", "cells"),
    [
        ({}, ["5", "5", "250002"]),
        ({"grid": 0.5}, ["5.0", "5.0", "250002.0"]),
        ({"grid": 10}, ["0", "0", "250000"]),
        ({"grid": 10, "top": 99.5}, ["0.0", "0.0", "99.5"]),
    ],
)
def test_whole_numbers_are_written_without_a_fraction(
    settings: dict[str, float], cells: list[str]
) -> None:
    quasi = {"x": {"type": "numeric", "render": "mean", **settings}}
    released = frame_of({"x": [4.0, 6.0, 250_002.0]}, quasi, [0, 0, 1])
    assert released["x"].cast(pl.String).to_list() == cells


@pytest.mark.parametrize("render", ["mean", "median"])
def test_the_loss_is_that_of_intervals(render: str) -> None:
    """The groups are the same, and so is what is measured."""
    frame = people()
    means, ranges = release(frame, schema(render)), release(frame, schema(None))
    assert means.verdict.holds
    assert (means.groups.labels == ranges.groups.labels).all()
    # Intervals are measured by what they show, which is all of the range without far values.
    assert means.report.losses.columns[0].il == pytest.approx(ranges.report.losses.columns[0].il)
    assert means.report.losses.entropy is None
    assert means.table["age"].dtype == pl.Float64


@pytest.mark.parametrize("render", ["mean", "median"])
def test_sse_is_that_of_the_oracle(render: str) -> None:
    frame = people()
    found = release(frame, schema(render))
    rows, labels = frame.height, found.groups.labels
    shares = []
    for name in ("age", "income"):
        values = frame[name].to_list()
        centres = [
            MEANS[render]([values[j] for j in range(rows) if labels[j] == label])
            for label in range(found.groups.count)
        ]
        within = sum((values[i] - centres[labels[i]]) ** 2 for i in range(rows))
        shares.append(within / sum((v - statistics.fmean(values)) ** 2 for v in values))
    assert found.report.losses.sse == pytest.approx(sum(shares) / 2, rel=1e-3)


def test_two_groups_with_the_same_mean_are_one_class() -> None:
    frame = pl.DataFrame({"x": [1, 3, 0, 4] * 2})
    known = Schema.of(quasi={"x": {"type": "numeric", "render": "mean"}})
    table = Table(frame)
    encoded, groups = encode(table, known), Groups([0, 0, 1, 1] * 2)
    released = generalise(table, encoded, groups, Style())
    assert covey.verify(released.frame, known, k=8).holds
    view = View.of(released, encoded, originals=Originals.of(encoded, groups))
    # Ranges of 2 and of 4 in a domain of 4.
    assert loss.measure(view).columns[0].il == pytest.approx((2 / 4 + 4 / 4) / 2)


def test_a_release_says_what_means_reveal(tmp_path: Path) -> None:
    found = release(people(), schema())
    assert any("mean" in warning and "age" in warning for warning in found.report.warnings)
    said = {one.column: str(one) for one in found.report.shown}
    assert "mean" in said["age"]
    found.write(tmp_path / "out.csv", report=tmp_path / "out.html", register=False)
    assert covey.verify(tmp_path / "out.csv", schema(), k=5).holds


def test_the_loss_of_means_is_not_guessed() -> None:
    frame = people()
    found = release(frame, schema())
    with pytest.raises(TableError, match=r"'age'.*mean"):
        covey.measure(frame, found.table, schema())
    assert covey.measure(frame, found.groups, schema()).sse == pytest.approx(
        found.report.losses.sse
    )


def test_parts_show_the_same_means(tmp_path: Path) -> None:
    frame = people(3_000)
    frame.write_parquet(tmp_path / "in.parquet")
    made = covey.anonymize(
        tmp_path / "in.parquet",
        schema(),
        to=tmp_path / "out",
        engine="local",
        k=5,
        key=KEY,
        part_rows=1_000,
        effort="fast",
        register=False,
    )
    table = pl.read_parquet(tmp_path / "out" / "*.parquet")
    assert made.verdict.holds
    assert table["age"].sum() == pytest.approx(frame["age"].sum(), abs=3_000 * 1e-3 / 2)
    known = made.report.losses
    whole = frame["age"].var(ddof=0), frame["income"].var(ddof=0)
    shown = table["age"].var(ddof=0), table["income"].var(ddof=0)
    # Of exact means, the variance within groups is that of the column less that of the means.
    shares = [1 - float(b) / float(a) for a, b in zip(whole, shown, strict=True)]  # type: ignore[arg-type]
    assert known.sse == pytest.approx(sum(shares) / 2, rel=1e-3)
    assert 0 < known.columns[0].il < 1


def test_suppressed_rows_change_no_mean() -> None:
    frame = people(120)
    far = pl.concat([frame, frame[:2].with_columns(age=pl.lit(400, pl.Int64), income=pl.lit(9e9))])
    found = release(far, schema(), max_suppressed=0.05)
    assert found.report.rows.suppressed
    ages = found.table["age"].to_list()
    assert max(ages) <= 90
    assert found.report.losses.sse is not None


@pytest.mark.parametrize(
    "column",
    [
        {"role": "quasi", "type": "categorical", "render": "mean"},
        {"role": "quasi", "type": "date", "render": "mean"},
        {"role": "quasi", "type": "numeric", "render": "mode"},
        {"role": "sensitive", "render": "mean"},
    ],
)
def test_only_numbers_of_quasi_identifiers_have_means(column: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="render"):
        Schema.from_dict({"columns": {"x": column}})


def test_rings_show_no_means() -> None:
    with pytest.raises(UsageError, match="render"):
        covey.anonymize(people(), schema(), k=5, method="nh", key=KEY)
    rings = covey.cluster(people(), schema(None), k=5, method="nh")
    with pytest.raises(UsageError, match="render"):
        covey.measure(people(), rings, schema())


def test_a_schema_file_keeps_the_setting(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(schema("median").to_toml())
    assert Schema.from_toml(tmp_path / "schema.toml") == schema("median")
