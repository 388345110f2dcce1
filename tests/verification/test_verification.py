"""The verifier compared with brute force, and on cases that other verifiers got wrong."""

import contextlib
import random
import sqlite3
from dataclasses import replace
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from command_line import Folder
from covey import demo
from covey.encoding import encode
from covey.schema.requirements import KAnonymity
from covey.tables import Table
from covey.tables.csv_files import Dialect
from oracles.anonymity import smallest_class, smallest_match

CELLS = st.sampled_from([None, "a", "b", "c"])
ROWS = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=12)
)


def schema_of(names: list[str], **roles: list[str]) -> covey.Schema:
    return covey.Schema.of(quasi=dict.fromkeys(names, "categorical"), **roles)


def frame_of(rows: list[tuple[str | None, ...]]) -> pl.DataFrame:
    names = [f"q{i}" for i in range(len(rows[0]))]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


@given(ROWS, st.integers(2, 4))
def test_k_is_the_size_of_the_smallest_class_in_both_readings(
    rows: list[tuple[str | None, ...]], k: int
) -> None:
    frame = frame_of(rows)
    verdict = covey.verify(frame, schema_of(frame.columns), [KAnonymity(k)])
    assert verdict.k == smallest_class(rows)
    assert verdict.k_wildcard == smallest_match(rows)
    assert verdict.rows == len(rows)
    assert verdict.classes == len(set(rows))
    assert verdict.holds == (smallest_class(rows) >= k)


@pytest.mark.parametrize("names", [["rows", "len"], ["0", "1"], ["missing", "class"]])
def test_the_names_of_columns_do_not_matter(names: list[str]) -> None:
    frame = pl.DataFrame({names[0]: ["a", "a", None, "a"], names[1]: ["x", "x", "x", "x"]})
    verdict = covey.verify(frame, schema_of(names))
    assert (verdict.k, verdict.k_wildcard) == (1, 4)


# ── what peers got wrong ────────────────────────────────────────────────────────────────────────


def test_a_missing_cell_is_a_value_with_one_quasi_identifier() -> None:
    """pycanon 1.3.5 says 3 here: it drops the row."""
    frame = pd.DataFrame({"age": [30, 30, 30, None]})
    assert covey.verify(frame, covey.Schema.of(quasi={"age": "numeric"})).k == 1


def test_rows_are_positions_whatever_the_index_says() -> None:
    """pycanon 1.3.5 mixes up rows when the index is reordered."""
    frame = pd.DataFrame({"q": ["a", "a", "b", "b"], "s": ["x", "y", "x", "y"]})
    shuffled = frame.set_index(pd.Index([3, 1, 0, 2]))
    schema = schema_of(["q"], sensitive=["s"])
    assert covey.verify(frame, schema) == replace(covey.verify(shuffled, schema), unjudged=())


def test_a_wildcard_alone_does_not_make_a_class() -> None:
    """sdcMicro lets a missing cell match all: the promise must hold in both readings."""
    frame = pl.DataFrame({"q": ["a", "a", None]})
    verdict = covey.verify(frame, schema_of(["q"]), [KAnonymity(2)])
    assert (verdict.k, verdict.k_wildcard, verdict.holds) == (1, 3, False)


def test_an_infeasible_k_is_an_error_and_no_empty_table() -> None:
    """anjana 1.2.3 prints a line and returns an empty frame."""
    frame = pl.DataFrame({"q": ["a", "b"]})
    with pytest.raises(covey.InfeasibleError, match=r"k = 3 .* 2 rows"):
        covey.anonymize(frame, schema_of(["q"]), require=[KAnonymity(3)])


# ── what a release must not have ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("role", ["identifier", "drop"])
def test_a_removed_column_left_in_the_table_is_a_violation(role: str) -> None:
    frame = pl.DataFrame({"name": ["Ann", "Bob"], "q": ["a", "a"]})
    verdict = covey.verify(frame, schema_of(["q"], **{role: ["name"]}), [KAnonymity(2)])
    assert not verdict.holds
    with pytest.raises(covey.ViolationError, match="'name'"):
        verdict.raise_if_violated()


def test_a_column_without_a_role_is_refused() -> None:
    with pytest.raises(covey.SchemaError, match="without a role"):
        covey.verify(pl.DataFrame({"q": ["a"], "x": ["b"]}), schema_of(["q"]))


def test_many_patterns_of_missing_cells_are_not_compared() -> None:
    """Pairs of patterns are, so a table full of holes would take forever."""
    dice = random.Random(0)
    rows = [tuple(dice.choice([None, "a", "b"]) for _ in range(9)) for _ in range(500)]
    verdict = covey.verify(frame_of(rows), schema_of([f"q{i}" for i in range(9)]), [KAnonymity(2)])
    assert verdict.k == smallest_class(rows) == 1
    assert verdict.k_wildcard is None


def test_a_file_without_a_header_is_not_quoted() -> None:
    frame = pl.DataFrame({"Ann": ["Bob"], "1970-01-01": ["1980-01-01"]})
    with pytest.raises(covey.SchemaError, match="2 of 2 columns") as caught:
        covey.anonymize(frame, schema_of(["name", "born"]), require=[KAnonymity(2)])
    assert "Ann" not in str(caught.value)


# ── what reads the same is one value, and what a machine can tell apart are two classes ─────────


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "1.0", "01", "1e0", "+1", "1,0"], 1),
        (["0", "-0", "-0.0", "0.00"], 1),
        (["2024-01-31", "31.01.2024", "31.1.2024", "2024/1/31", "01/31/2024"], 1),
        (["2024-01-31", "2024-01-31T00:00:00", "2024-01-31T10:00:00"], 2),
        (["", " na", "NA ", "unknown", "UNKNOWN"], 1),  # tokens of this table, however spelled
        (["1", "2", "1.5", "I10", "I10.0", "1a", "01a"], 7),
        ([1.0, 1.5, -0.0, 0.0], 3),
    ],
)
def test_values_that_read_the_same_are_one(cells: list[object], values: int) -> None:
    frame = pl.DataFrame({"q": ["a"] * len(cells), "ill": cells})
    table = {"missing": ["", "NA", "unknown"]}
    schema = covey.Schema.of(quasi={"q": "categorical"}, sensitive=["ill"], table=table)
    (found,) = covey.verify(frame, schema).achieved
    assert found.distinct_l == values
    (code,) = encode(Table(frame, Dialect(missing=("NA", "unknown"))), schema).sensitive.values()
    assert len(code.known) == values  # the methods count as the verifier does


def test_negative_zeros_are_a_class_of_their_own_in_memory_as_in_a_file(tmp_path: Path) -> None:
    frame = pl.DataFrame({"q": [0.0] * 4 + [-0.0]})
    frame.write_csv(tmp_path / "t.csv")
    for table in (frame, tmp_path / "t.csv", frame.cast(pl.Float32)):
        assert covey.verify(table, schema_of(["q"])).k == 1


def test_negative_zeros_in_kept_columns_are_released(tmp_path: Path) -> None:
    values = [0.0, -0.0, 1.0, -1.5] * 10
    frame = pl.DataFrame({"age": [n % 9 for n in range(40)], "ill": values, "kept": values})
    schema = covey.Schema.of(quasi={"age": "numeric"}, sensitive=["ill"], insensitive=["kept"])
    release = covey.anonymize(frame, schema, k=4, t={"ill": 0.5}, l={"ill": 2}, key=bytes(32))
    release.write(tmp_path / "o.csv", register=False)
    assert (tmp_path / "o.csv").read_text().count("-0.0") == 20


def test_what_lies_beside_the_columns_is_named_and_not_judged(folder: Folder) -> None:
    plain = pd.DataFrame({"age": [1] * 5})
    named = plain.set_index(pd.Index([f"Zq7 {n}" for n in range(5)], name="who"))
    noted = plain.copy()
    noted.attrs = {"of": "Zq7"}
    noted.to_parquet(folder.path / "t.parquet")
    with pd.ExcelWriter(folder.path / "t.xlsx") as book:
        plain.to_excel(book, sheet_name="release", index=False)
        named.to_excel(book, sheet_name="Zq7")
    with contextlib.closing(sqlite3.connect(folder.path / "t.sqlite")) as base:
        plain.to_sql("release", base, index=False)
        named.to_sql("Zq7", base)
    for source, found in (
        (plain, []), (named, ["the index of the dataframe"]),
        (noted, ["the attrs of the dataframe"]),
        ("t.parquet", ["metadata 'PANDAS_ATTRS'", "metadata 'pandas'"]),
        ("t.xlsx::release", ["1 other sheet"]), ("t.sqlite::release", ["1 other table"]),
    ):  # fmt: skip
        verdict = covey.verify(source, covey.Schema.of(quasi={"age": "numeric"}), k=5)
        named_ones = [one.partition(" (")[0] for one in verdict.unjudged]
        assert (verdict.holds, named_ones) == (True, found)
        assert verdict.to_dict().get("unjudged", []) == [*verdict.unjudged]
    ran = folder.covey("verify", "t.parquet", "--quasi", "age", "-k", "5")
    assert (ran.code, "not judged: metadata 'PANDAS_ATTRS'" in ran.err) == (0, True)


@pytest.mark.parametrize("name", ["o.parquet", "o.xlsx", "o.sav", "o.sqlite", "o.csv"])
def test_a_release_holds_nothing_beside_its_columns(name: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": range(20)}, index=pd.Index(range(5, 25), name="who"))
    frame.attrs = {"of": "Zq7"}
    release = covey.anonymize(frame, covey.Schema.of(quasi={"age": "numeric"}), k=4, key=bytes(32))
    release.write(tmp_path / name, register=False)
    for source in (release.table, tmp_path / name):
        assert covey.verify(source, release.schema, k=4).unjudged == ()


def test_an_interval_with_one_open_end_is_no_wildcard() -> None:
    ends = {"q_low": ["1"] * 4 + ["1", None], "q_high": ["5"] * 4 + [None, None]}
    verdict = covey.verify(pl.DataFrame(ends), covey.Schema.of(quasi={"q": "numeric"}))
    assert (verdict.k, verdict.k_wildcard) == (1, 2)


def test_an_absent_quasi_identifier_is_refused() -> None:
    with pytest.raises(covey.SchemaError, match="'r' is not in the table"):
        covey.verify(pl.DataFrame({"q": ["a"]}), schema_of(["q", "r"]))


def test_low_and_high_ends_stand_for_their_column() -> None:
    frame = pl.DataFrame({"age_low": [1, 1, 2], "age_high": [5, 5, 5]})
    assert covey.verify(frame, covey.Schema.of(quasi={"age": "numeric"})).k == 1
    with pytest.raises(covey.SchemaError, match="'age' is not in the table"):
        covey.verify(frame.drop("age_high"), covey.Schema.of(quasi={"age": "numeric"}))


def test_no_rows_keep_no_promise() -> None:
    with pytest.raises(covey.TableError, match="no rows"):
        covey.verify(pl.DataFrame({"q": []}, schema={"q": pl.String}), schema_of(["q"]))


# ── mutants ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def judged() -> tuple[pl.DataFrame, list[int]]:
    """A release for k = 5, and the size of the class of each row."""
    release = covey.anonymize(demo.people(100), demo.schema(), require=[KAnonymity(5)])
    sizes = pl.len().over([*demo.schema().quasi]).alias("size")
    return release.table, release.table.select(sizes)["size"].to_list()


def test_every_release_with_one_cell_changed_in_a_class_of_k_is_rejected(
    judged: tuple[pl.DataFrame, list[int]],
) -> None:
    """The verifier's power: all quasi-identifier cells of a class of exactly k, one at a time."""
    frame, sizes = judged
    small = [row for row, size in enumerate(sizes) if size == 5]
    assert small
    dice, schema = random.Random(0), demo.schema()
    for _ in range(100):
        row, column = dice.choice(small), dice.choice([*schema.quasi])
        cells = frame[column].to_list()
        cells[row] = dice.choice(["mutant", f"{cells[row]} "])
        mutant = frame.with_columns(pl.Series(column, cells))
        assert not covey.verify(mutant, schema, [KAnonymity(5)]).holds


@pytest.mark.slow
def test_every_release_that_lost_a_row_of_a_class_of_k_is_rejected(
    judged: tuple[pl.DataFrame, list[int]],
) -> None:
    frame, sizes = judged
    assert {size > 5 for size in sizes} == {True, False}
    for row, size in enumerate(sizes):
        rest = pl.concat([frame[:row], frame[row + 1 :]])
        assert covey.verify(rest, demo.schema(), [KAnonymity(5)]).holds == (size > 5)


def test_exactly_k_rows_of_unknown_persons_are_not_k_persons() -> None:
    schema = covey.Schema.of(quasi={"q": "categorical"}, identifier=["who"])
    verdict = covey.verify(pl.DataFrame({"q": [*"aabb"]}), schema, covey.KAnonymity(2, "who"))
    (check,) = verdict.checks
    assert (check.judged, check.holds, verdict.holds) == (False, False, False)
