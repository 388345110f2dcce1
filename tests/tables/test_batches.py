"""A table in batches has the cells of the same table in memory."""

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import Schema, TableError, tables
from covey.schema import TableFormat
from covey.tables import Table, csv_files, folders, sources
from covey.tables.batches import Batches, batches
from covey.tables.cells import parse_numbers
from examples import examples
from strategies import dialects, frames

PEOPLE = pl.DataFrame({"name": ["Ann", "Bo", "Cy", "Di", "Ed"], "age": [31, 42, 53, 64, 75]})


def together(found: Batches) -> pl.DataFrame:
    parts = [batch.frame for batch in found]
    assert all(part.height for part in parts)
    return pl.concat(parts) if parts else pl.DataFrame(schema=dict.fromkeys(found.names, pl.String))


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    return lambda size: monkeypatch.setattr(folders, "PIECE", size)


def written(folder: Path, *contents: bytes, ending: str = "csv") -> Path:
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for place, content in enumerate(contents):
        (folder / f"part-{place:03}.{ending}").write_bytes(content)
    return folder


# ── CSV ─────────────────────────────────────────────────────────────────────────────────────────


@examples(400)
@given(
    frame=frames(),
    dialect=dialects,
    size=st.integers(1, 40),
    rows=st.integers(1, 5),
    crlf=st.booleans(),
    blank=st.integers(0, 3),
)
def test_batches_have_the_cells_of_the_whole_file(
    frame: pl.DataFrame, dialect: csv_files.Dialect, size: int, rows: int, crlf: bool, blank: int,
    tmp_path: Path, tiny: Any,
) -> None:  # fmt: skip
    tiny(size)
    end = "\r\n" if crlf else "\n"
    text = frame.write_csv(separator=dialect.delimiter, line_terminator=end, quote_style="always")
    data = (text + end * blank).encode("utf-16" if dialect.encoding == "utf-16" else "utf-8")
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    declared = TableFormat(
        delimiter=dialect.delimiter,
        header=True,
        skip=0,
        encoding="utf-16" if dialect.encoding == "utf-16" else None,
    )
    whole = tables.read(path, declared=declared)
    found = batches(path, declared=declared, rows=rows)
    assert found.dialect == whole.dialect
    assert together(found).equals(whole.frame, null_equal=True)
    assert together(found).equals(together(found))  # a second time
    assert max((batch.frame.height for batch in found), default=0) <= rows


CELLS = st.sampled_from(["", "x", 'a"b', "1\n2", "c,d"])


@examples(200)
@given(
    parts=st.lists(st.lists(st.tuples(CELLS, CELLS), max_size=4), min_size=1, max_size=4),
    size=st.integers(1, 30),
    packed=st.booleans(),
)  # fmt: skip
def test_files_of_a_folder_are_one_table(
    parts: Sequence[Sequence[tuple[str, str]]], size: int, packed: bool, tmp_path: Path, tiny: Any
) -> None:
    tiny(size)
    schema = {"one": pl.String, "two": pl.String}
    made = [pl.DataFrame(rows, schema, orient="row") for rows in parts]
    contents = [frame.write_csv(quote_style="always").encode() for frame in made]
    folder = written(tmp_path / "in", *(gzip.compress(c) if packed else c for c in contents))
    declared = TableFormat(header=True, delimiter=",")
    expected = pl.concat(made)
    assert together(batches(folder, declared=declared, rows=2)).equals(expected)
    assert tables.read(folder, declared=declared).frame.equals(expected)
    assert batches(folder, declared=declared).files == tuple(sources.of(folder).files())


def test_a_pattern_reads_the_files_that_match(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", b"a,b\n1,x\n", b"a,b\n2,y\n", b"a,b\n3,z\n")
    found = batches(f"{folder}/part-00[01].csv", declared=TableFormat(header=True))
    assert together(found)["a"].to_list() == ["1", "2"]


def test_the_form_of_the_first_file_holds_for_all(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", "a;b\n1;é\n".encode("cp1252"), "a;b\n2;ü,\n".encode("cp1252"))
    found = batches(folder, declared=TableFormat(header=True))
    assert (found.dialect.delimiter, found.dialect.encoding) == (";", "cp1252")
    assert together(found).rows() == [("1", "é"), ("2", "ü,")]
    assert any("cp1252" in note for note in found.notes)


@pytest.mark.parametrize(
    ("second", "fact"),
    [
        (b"b,a\n1,2\n", "columns differ"),
        (b"a,b,c\n1,2,3\n", "columns differ"),
        (b"a,b\n1,2\n3\n", "line 3"),
        (b'a,b\n1,"2\n', "never closed"),
        (b"a,b\n1,\xff\n", "byte 6"),
        (b"a,b\n1,\0\n", "line 2"),
        (b"", "empty"),
    ],
)
def test_a_file_that_differs_is_refused_by_its_name(
    second: bytes, fact: str, tmp_path: Path
) -> None:
    folder = written(tmp_path / "in", b"a,b\n7,8\n", second)
    for read in (tables.read, lambda place, **more: together(batches(place, **more))):
        with pytest.raises(TableError, match=fact) as caught:
            read(folder, declared=TableFormat(header=True))
        assert "part-001.csv" in str(caught.value)
        assert "7" not in str(caught.value)


def test_blank_lines_between_records_are_no_rows_wherever_pieces_end(
    tmp_path: Path, tiny: Any
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n\n\n3,4\n")
    for size in range(1, 20):
        tiny(size)
        found = batches(path, declared=TableFormat(header=True, delimiter=","))
        assert together(found).rows() == [("1", "2"), ("3", "4")]


def test_memory_is_not_filled_by_a_quote_that_is_never_closed(
    tmp_path: Path, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_files, "LONGEST", 1 << 20)
    monkeypatch.setattr(folders, "LONGEST", 1 << 20)
    tiny(1 << 16)
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 300_000 + b'"3,4\n' + b"5,6\n" * 600_000)
    with pytest.raises(TableError, match="1 MiB") as caught:
        together(batches(path, declared=TableFormat(header=True)))
    assert "line 3" in str(caught.value)


def test_an_error_about_a_cell_says_file_row_and_line(tmp_path: Path, tiny: Any) -> None:
    tiny(8)
    columns = {"n": {"role": "quasi", "type": "numeric"}, "t": {"role": "sensitive"}}
    schema = Schema.model_validate({"columns": columns})
    folder = written(tmp_path / "in", b"n,t\n1,x\n", b'n,t\n2,"a\nb"\n3,x\n4,y\noops,z\n')

    def parse() -> None:
        for batch in batches(folder, schema, rows=2):
            with batch.locating():
                parse_numbers(batch.cells("n"), batch.dialect)

    with pytest.raises(TableError) as caught:
        parse()
    assert "part-001.csv" in str(caught.value)
    assert "row 4 (line 6)" in str(caught.value)


def test_folders_with_names_give_columns_of_csv_files(tmp_path: Path) -> None:
    for year in ("2023", "2024"):
        (tmp_path / "in" / f"year={year}").mkdir(parents=True)
        (tmp_path / "in" / f"year={year}" / "x.csv").write_bytes(b"a,b\n1,2\n")
    found = batches(tmp_path / "in", declared=TableFormat(header=True))
    assert together(found)["year"].to_list() == ["2023", "2024"]
    assert found.names == ("a", "b", "year")


# ── Parquet ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("group", [1, 2, 1000])
def test_parquet_files_come_in_batches(group: int, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    PEOPLE[:3].write_parquet(folder / "a.parquet", row_group_size=group)
    PEOPLE[3:].write_parquet(folder / "b.parquet", row_group_size=group)
    found = batches(folder, rows=2)
    assert [batch.frame.height for batch in found] == [2, 1, 2]
    assert together(found).equals(PEOPLE)
    assert [batch.source for batch in found] == ["a.parquet", "a.parquet", "b.parquet"]
    assert together(found.only(["age"])).equals(PEOPLE.select("age"))
    assert found.only(["age"]).names == ("age",)
    with pytest.raises(TableError, match=r"'aeg'.*'age'"):
        found.only(["aeg"])


def test_types_of_parquet_files_are_made_one(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    PEOPLE.with_columns(pl.col("age").cast(pl.Int32)).write_parquet(folder / "a.parquet")
    PEOPLE.with_columns(name=pl.lit(None)).write_parquet(folder / "b.parquet")
    found = together(batches(folder))
    assert found.schema == PEOPLE.schema
    assert found["name"].null_count() == 5
    PEOPLE.with_columns(pl.col("age").cast(pl.String)).write_parquet(folder / "c.parquet")
    for read in (tables.read, batches):
        with pytest.raises(TableError, match=r"c\.parquet.*'age'"):
            read(folder)
    (folder / "c.parquet").write_bytes(b"PAR1 and no more")
    for read in (tables.read, batches):
        with pytest.raises(TableError, match=r"c\.parquet is a damaged"):
            read(folder)


def test_whole_floats_are_codes_only_if_all_batches_are_whole(tmp_path: Path) -> None:
    column = {"role": "quasi", "type": "categorical"}
    schema = Schema.model_validate({"columns": {"a": column, "b": column}})
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": [1.0, 2.0, 3.0, 4.5]}).write_parquet(path)
    found = batches(path, schema, rows=1)
    assert together(found).equals(tables.read(path, schema).frame)
    assert together(found).dtypes == [pl.Int64, pl.Float64]


def test_a_nul_in_a_later_batch_is_found(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": ["x", "y", "z\0"]}).write_parquet(path)
    with pytest.raises(TableError, match=r"'a'.*row 3"):
        together(batches(path, rows=1))


# ── others ──────────────────────────────────────────────────────────────────────────────────────


def test_dataframes_and_tables_come_in_batches() -> None:
    for source in (PEOPLE, PEOPLE.lazy(), PEOPLE.to_pandas(), Table(PEOPLE)):
        found = batches(source, rows=2)
        assert [batch.frame.height for batch in found] == [2, 2, 1]
        assert together(found).equals(PEOPLE)
        assert found.files == ()
    assert batches(found) is found
    last = [*found][-1]
    assert last.numbers is not None
    assert np.array_equal(last.numbers, [4])


def test_a_workbook_is_read_whole_and_comes_in_batches(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    PEOPLE.write_excel(path)
    assert together(batches(path, rows=2)).equals(PEOPLE)
    assert batches(path).files == (str(path),)


def test_kinds_are_not_mixed(tmp_path: Path) -> None:
    folder = written(tmp_path / "in", b"a,b\n1,2\n")
    PEOPLE.write_parquet(folder / "x.parquet")
    for read in (tables.read, batches):
        with pytest.raises(TableError, match="1 of 2 files there not Parquet"):
            read(folder)
    (folder / "x.parquet").unlink()
    PEOPLE.write_excel(folder / "x.xlsx")
    for read in (tables.read, batches):
        with pytest.raises(TableError, match="1 of 2 files there not CSV"):
            read(folder)
