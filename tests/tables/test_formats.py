"""Tables in files of every common kind, most of them made by other libraries than read them."""

import datetime as dt
import io
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import odf.opendocument
import odf.table
import odf.text
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pyreadstat
import pytest
import xlsxwriter
import xlwt
from hypothesis import given
from hypothesis import strategies as st

from covey import tables
from covey.errors import OutputError, TableError
from covey.schema import TableFormat
from covey.tables import Table, files, sources
from covey.tables.batches import batches
from examples import examples

PEOPLE = pl.DataFrame(
    {
        "age": [39, 40, None, 51],
        "town": ["Ash", "Bó", "Ash", None],
        "height": [1.5, 1.75, 1.6, None],
        "born": [dt.date(1984, 5, 31), dt.date(1983, 1, 1), None, dt.date(1972, 2, 29)],
    }
)
SECRET = "Q7-secret"


def read(data: bytes, part: str | None = None, **declared: Any) -> Table:
    return tables.from_bytes(data, None, TableFormat(**declared), part)


def same(frame: pl.DataFrame, other: pl.DataFrame = PEOPLE) -> bool:
    return frame.equals(other.select(frame.columns)) and frame.columns == other.columns


# ── files made by other libraries ───────────────────────────────────────────────────────────────


def rows() -> list[list[Any]]:
    return [PEOPLE.columns, *map(list, PEOPLE.rows())]


def xlsx(**sheets: list[list[Any]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, lines in sheets.items():
        sheet = book.create_sheet(name)
        for line in lines:
            sheet.append(line)
    memory = io.BytesIO()
    book.save(memory)
    return memory.getvalue()


def xls(**sheets: list[list[Any]]) -> bytes:
    book = xlwt.Workbook()
    day = xlwt.easyxf(num_format_str="YYYY-MM-DD")
    for name, lines in sheets.items():
        sheet = book.add_sheet(name)
        for row, line in enumerate(lines):
            for place, cell in enumerate(line):
                if cell is not None:
                    sheet.write(row, place, cell, *([day] if isinstance(cell, dt.date) else []))
    memory = io.BytesIO()
    book.save(memory)
    return memory.getvalue()


def ods(**sheets: list[list[Any]]) -> bytes:
    book = odf.opendocument.OpenDocumentSpreadsheet()
    for name, lines in sheets.items():
        sheet = odf.table.Table(name=name)
        for line in lines:
            row = odf.table.TableRow()
            for cell in line:
                row.addElement(_ods_cell(cell))
            sheet.addElement(row)
        book.spreadsheet.addElement(sheet)
    memory = io.BytesIO()
    book.save(memory)
    return memory.getvalue()


def _ods_cell(cell: Any) -> Any:
    match cell:
        case None:
            return odf.table.TableCell()
        case dt.date():
            return odf.table.TableCell(valuetype="date", datevalue=cell.isoformat())
        case int() | float():
            return odf.table.TableCell(valuetype="float", value=cell)
    made = odf.table.TableCell(valuetype="string")
    made.addElement(odf.text.P(text=cell))
    return made


def written(put: Callable[[io.BytesIO], Any]) -> bytes:
    memory = io.BytesIO()
    put(memory)
    return memory.getvalue()


def stata(**settings: Any) -> bytes:
    frame = PEOPLE.to_pandas().assign(town=["Ash", "Bó", "Ash", ""])
    frame["born"] = pd.to_datetime(frame["born"])
    return written(
        lambda file: frame.to_stata(
            file, write_index=False, convert_dates={"born": "td"}, version=118, **settings
        )
    )


def statistical(write: Callable[..., Any], folder: Path, **settings: Any) -> bytes:
    write(settings.pop("frame", PEOPLE), str(folder / "file"), **settings)
    return (folder / "file").read_bytes()


def sqlite(path: Path, **frames: pl.DataFrame) -> Path:
    connection = sqlite3.connect(path)
    for name, frame in frames.items():
        frame.with_columns(pl.selectors.temporal().cast(pl.String)).to_pandas().to_sql(
            name, connection, index=False
        )
    connection.close()
    return path


def duck(path: Path, **frames: pl.DataFrame) -> Path:
    connection = duckdb.connect(str(path))
    for name, frame in frames.items():
        connection.register("given", frame.to_arrow())
        connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')
    connection.close()
    return path


def csv(frame: pl.DataFrame = PEOPLE) -> bytes:
    return frame.write_csv().encode()


def archive(**members: bytes) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return memory.getvalue()


# ── spreadsheets ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("made", [xlsx, xls, ods])
def test_a_spreadsheet_has_typed_cells(made: Callable[..., bytes]) -> None:
    found = read(made(people=rows()))
    assert found.frame.schema == pl.Schema(
        {"age": pl.Int64, "town": pl.String, "height": pl.Float64, "born": pl.Date}
    )
    assert same(found.frame)
    assert not any("skipped" in note for note in found.notes)


@pytest.mark.parametrize(("row", "column"), [(1_048_575, 16_383), (1_048_575, 3), (40_000, 900)])
def test_a_cell_far_from_all_others_is_refused_before_it_takes_memory(
    row: int, column: int
) -> None:
    memory = io.BytesIO()
    with xlsxwriter.Workbook(memory) as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, "age")
        sheet.write(row, column, 1)
    with pytest.raises(TableError, match=f"2 cells.*row {row + 1:,}"):
        read(memory.getvalue())


@pytest.mark.parametrize("made", [xlsx, xls, ods])
def test_a_sheet_is_named_unless_only_one_has_cells(made: Callable[..., bytes]) -> None:
    other = [["a"], [1]]
    assert same(read(made(empty=[], people=rows())).frame)
    two = made(people=rows(), other=other)
    assert same(read(two, "people").frame)
    assert read(two, "other").frame.to_dict(as_series=False) == {"a": [1]}
    with pytest.raises(TableError, match=r"'people', 'other'"):
        read(two)
    with pytest.raises(TableError, match=r"'people', 'other'"):
        read(two, "People")
    with pytest.raises(TableError, match="empty"):
        read(made(empty=[], more=[]))


def test_cells_of_excel_as_people_meet_them() -> None:
    noon = dt.datetime(2024, 5, 31, 12)
    found = read(
        xlsx(
            sheet=[
                ["whole", "share", "seen", "at", "code", "mixed", None, "is", 2019, "took"],
                [
                    39.0,
                    1.0,
                    noon,
                    dt.time(8, 30),
                    "007",
                    "x",
                    None,
                    True,
                    1,
                    dt.timedelta(hours=30),
                ],
                [40, 2.5, None, None, "12", 3.0, None, False, 2, None],
                [None, None, None, None, None, None, None, None, None, None],
                [41, None, None, None, None, dt.date(2024, 5, 31), None, None, None, None],
                [None, "", None, None, None, None, None, None, None, None],
            ]
        )
    ).frame
    assert found.to_dict(as_series=False) == {
        "whole": [39, 40, None, 41],
        "share": [1.0, 2.5, None, None],
        "seen": [noon, None, None, None],
        "at": [dt.time(8, 30), None, None, None],
        "code": ["007", "12", None, None],
        "mixed": ["x", "3", None, "2024-05-31"],
        "is": [True, False, None, None],
        "2019": [1, 2, None, None],
        "took": ["30:00:00", None, None, None],
    }
    assert found["whole"].dtype == pl.Int64


def test_formulas_are_read_as_their_results() -> None:
    memory = io.BytesIO()
    book = xlsxwriter.Workbook(memory)
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["a", "twice", "wrong"])
    sheet.write_row(1, 0, [1])
    sheet.write_formula(1, 1, "=A2*2", None, 2)
    sheet.write_formula(1, 2, "=A2/0", None, "#DIV/0!")
    book.close()
    assert read(memory.getvalue()).frame.to_dict(as_series=False) == {
        "a": [1], "twice": [2], "wrong": [None],
    }  # fmt: skip


def test_a_sheet_without_a_header_is_refused_like_a_csv_file() -> None:
    lines = [[f"p{n}@example.org", 20 + n, "Ash"] for n in range(20)]
    with pytest.raises(TableError, match="looks like a record"):
        read(xlsx(sheet=lines))
    found = read(xlsx(sheet=lines), header=False)
    assert found.frame.columns == ["column_1", "column_2", "column_3"]
    assert found.frame.height == 20
    named = read(xlsx(sheet=lines), header=False, names=("mail", "age", "town"))
    assert named.frame.columns == ["mail", "age", "town"]


# ── statistical programs ────────────────────────────────────────────────────────────────────────

CODED = pl.DataFrame({"sex": [1.0, 2.0, 9.0, 1.0], "town": ["A", "B", "A", "B"]})
LABELS: dict[str, dict[Any, str]] = {
    "sex": {1: "male", 2: "female", 3: SECRET, 9: "refused"},
    "town": {"A": "Ash", "B": "Birch"},
}


@pytest.mark.parametrize("compress", [False, True])
def test_spss_codes_stay_and_labels_travel(tmp_path: Path, compress: bool) -> None:
    data = statistical(
        pyreadstat.write_sav,
        tmp_path,
        frame=CODED,
        column_labels={"sex": "Sex at birth"},
        variable_value_labels=LABELS,
        missing_ranges={"sex": [9.0]},
        compress=compress,
    )
    found = read(data)
    assert found.frame["sex"].to_list() == [1, 2, None, 1]
    assert found.frame["sex"].dtype == pl.Int64
    assert found.codebook.variables == {"sex": "Sex at birth"}
    assert found.codebook.values["sex"] == {
        "1": "male", "2": "female", "3": SECRET, "9": "refused",
    }  # fmt: skip
    assert found.codebook.values["town"] == {"A": "Ash", "B": "Birch"}


def test_spss_cells_have_their_types(tmp_path: Path) -> None:
    frame = PEOPLE.with_columns(pl.col("age").cast(pl.Float64))
    found = read(statistical(pyreadstat.write_sav, tmp_path, frame=frame))
    assert same(found.frame.with_columns(pl.col("town").replace("", None)))


def test_portable_files_of_spss(tmp_path: Path) -> None:
    frame = pl.DataFrame({"AGE": [39.0, 40.0], "TOWN": ["Ash", "Birch"]})
    found = read(statistical(pyreadstat.write_por, tmp_path, frame=frame))
    assert found.frame.to_dict(as_series=False) == {"AGE": [39, 40], "TOWN": ["Ash", "Birch"]}


PSPP = """
data list free /sex age (f8.0) town (a10).
variable labels sex 'Sex at birth'.
value labels sex 1 'male' 2 'female' 9 'refused'.
missing values sex (9).
begin data
1 39 Ash
2 40 Birch
9 . Ash
end data.
save outfile='made.sav'.
save outfile='made.zsav' /zcompressed.
export outfile='made.por'.
"""


def test_files_of_spss_as_pspp_writes_and_reads_them(tmp_path: Path) -> None:
    if shutil.which("pspp") is None:
        pytest.skip("PSPP is not installed here")
    (tmp_path / "make.sps").write_text(PSPP)
    subprocess.run(["pspp", "make.sps"], cwd=tmp_path, check=True)
    for ending in ("sav", "zsav", "por"):
        found = tables.read(tmp_path / f"made.{ending}")
        assert found.frame.rows() == [(1, 39, "Ash"), (2, 40, "Birch"), (None, None, "Ash")]
        assert [*found.codebook.variables.values()] == ["Sex at birth"]
        assert {"1": "male", "2": "female", "9": "refused"} in found.codebook.values.values()
    for ending in ("sav", "zsav"):
        with (tmp_path / f"ours.{ending}").open("wb") as file:
            tables.write(Table(PEOPLE), file, file.name)
        convert = ["pspp-convert", f"ours.{ending}", "ours.csv"]
        subprocess.run(convert, cwd=tmp_path, check=True)
        lines = (tmp_path / "ours.csv").read_text().splitlines()
        assert lines[:3] == [
            "age,town,height,born",
            "39,Ash,1.5,05/31/1984",
            "40,Bó,1.75,01/01/1983",
        ]


def test_stata_as_pandas_writes_it() -> None:
    data = stata(variable_labels={"age": "Age in years"}, value_labels={"age": {39: "thirty-nine"}})
    found = read(data)
    assert same(found.frame.with_columns(pl.col("town").replace("", None)))
    assert found.codebook.variables == {"age": "Age in years"}
    assert found.codebook.values == {"age": {"39": "thirty-nine"}}


def test_old_stata_files_and_their_extended_missing_values(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3]}).astype("int16")
    old = written(lambda file: frame.to_stata(file, write_index=False, version=114))
    assert read(old).frame["a"].to_list() == [1, 2, 3]
    extended = statistical(
        pyreadstat.write_dta,
        tmp_path,
        frame=pl.DataFrame({"a": ["1", "a", "z"]}).to_pandas().replace({"1": 1}),
        missing_user_values={"a": ["a", "z"]},
    )
    assert read(extended).frame["a"].to_list() == [1, None, None]


def test_sas_transport_files(tmp_path: Path) -> None:
    found = read(statistical(pyreadstat.write_xport, tmp_path, column_labels={"age": "Age"}))
    assert same(found.frame.with_columns(pl.col("town").replace("", None)))
    assert found.codebook.variables == {"age": "Age"}


HAVEN = (
    Path("/usr/lib/R/site-library/haven/examples"),
    Path(__file__).parents[2] / "build/haven/usr/lib/R/site-library/haven/examples",
)


@pytest.mark.parametrize("ending", ["sas7bdat", "sav", "dta"])
def test_files_that_sas_spss_and_stata_wrote(ending: str) -> None:
    """No library writes .sas7bdat; the R package haven brings one (Debian's r-cran-haven)."""
    folder = next((folder for folder in HAVEN if folder.is_dir()), None)
    if folder is None:
        pytest.skip("the example files of the R package haven are not here")
    found = tables.read(folder / f"iris.{ending}")
    assert found.frame.shape == (150, 5)
    assert found.frame.to_series(0).head(3).to_list() == pytest.approx([5.1, 4.9, 4.7])
    kinds = found.frame.to_series(4).value_counts()["count"].to_list()
    assert kinds == [50, 50, 50]
    if ending == "sav":
        assert found.codebook.values["Species"]["2"] == "versicolor"


def test_text_of_old_files_is_decoded(tmp_path: Path) -> None:
    frame = pd.DataFrame({"town": ["Köln", "Münster"]})
    old = written(lambda file: frame.to_stata(file, write_index=False, version=114))
    assert read(old).frame["town"].to_list() == ["Köln", "Münster"]
    greek = old.replace("Köln".encode("cp1252"), "Κως ".encode("cp1253"))
    assert read(greek, encoding="cp1253").frame["town"][0].strip() == "Κως"
    # What is declared of a CSV file is not true of a file that says its encoding.
    said = statistical(pyreadstat.write_sav, tmp_path, frame=frame)
    for declared in ("cp1252", "utf-8-sig", "utf-16"):
        assert read(said, encoding=declared).frame["town"].to_list() == ["Köln", "Münster"]
    with pytest.raises(TableError, match="'klingon'"):
        read(said, encoding="klingon")


# ── Arrow, JSON, archives ───────────────────────────────────────────────────────────────────────


def test_arrow_files_as_pyarrow_writes_them() -> None:
    table = PEOPLE.to_arrow(compat_level=pl.CompatLevel.oldest())
    assert same(read(written(lambda f: pyarrow.parquet.write_table(table, f))).frame)
    assert same(read(written(lambda f: pyarrow.feather.write_feather(table, f))).frame)
    memory = io.BytesIO()
    with pa.ipc.new_stream(memory, table.schema) as stream:
        stream.write_table(table)
    assert same(read(memory.getvalue()).frame)


def test_json_lines_and_lists_as_pandas_writes_them() -> None:
    frame = PEOPLE.drop("born").to_pandas().astype({"age": "Int64"})
    expected = PEOPLE.drop("born")
    for data in (
        frame.to_json(orient="records", lines=True),
        frame.to_json(orient="records"),
        "\ufeff \n" + frame.to_json(orient="records", lines=True),
    ):
        assert same(read(data.encode()).frame, expected)
    with pytest.raises(TableError, match="'a' contains lists"):
        read(b'{"a": [1]}\n')


def test_a_header_in_braces_is_no_json() -> None:
    assert read(b"{a},b\n1,2\n").frame.columns == ["{a}", "b"]
    assert read(b"[a],b\n1,2\n").frame.columns == ["[a]", "b"]


def test_one_file_in_an_archive_is_taken() -> None:
    macs = {"__MACOSX/._a.csv": b"x", "folder/.DS_Store": b"x", "empty.csv": b""}
    assert read(archive(**{"folder/a.csv": csv()}, **macs)).frame.height == 4
    both = archive(**{"a.csv": csv(), "b.xlsx": xlsx(s=rows(), t=[["a"], [1]])})
    with pytest.raises(TableError, match=r"'a.csv', 'b.xlsx'"):
        read(both)
    assert read(both, "a.csv").frame.height == 4
    assert same(read(both, "b.xlsx::s").frame)
    with pytest.raises(TableError, match=r"'s', 't'"):
        read(both, "b.xlsx")
    with pytest.raises(TableError, match="no parts"):
        read(both, "a.csv::x")


# ── by content, not by name ─────────────────────────────────────────────────────────────────────


def test_a_file_is_what_its_content_says(tmp_path: Path) -> None:
    for name, data in (
        ("table.xlsx", csv()),
        ("table.csv", xlsx(s=rows())),
        ("table.db", stata()),
        ("table.parquet", archive(**{"t.csv": csv()})),
        ("table.sav", duck(tmp_path / "d", t=PEOPLE).read_bytes()),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        found = tables.read(path)
        assert found.frame.columns == PEOPLE.columns
        assert found.frame.height == 4
        assert found.source == name


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("xlsx", xlsx(s=rows())),
        ("xls", xls(s=rows())),
        ("ods", ods(s=rows())),
        ("dta", stata()),
        ("json lines", b'{"a": 1}\n'),
        ("csv", csv()),
        ("zipped csv", archive(**{"a.csv": csv()})),
    ],
    ids=lambda given: given if isinstance(given, str) else "",  # files hold the time of writing
)
def test_the_format_is_named(name: str, data: bytes) -> None:
    assert tables.format_of(data) == name


def test_a_kind_without_parts_refuses_one() -> None:
    for data in (csv(), stata(), b'{"a": 1}\n'):
        with pytest.raises(TableError, match="no parts"):
            read(data, "sheet")


# ── places ──────────────────────────────────────────────────────────────────────────────────────


def test_a_name_with_colons_is_a_name(tmp_path: Path) -> None:
    plain, book = tmp_path / "a::b.csv", tmp_path / "c::d.xlsx"
    plain.write_bytes(csv())
    book.write_bytes(xlsx(people=rows(), other=[["a"], [1]]))
    packed = tmp_path / "c::e.zip"
    packed.write_bytes(archive(**{"x::y.csv": csv(), "z": csv()}))
    assert tables.read(str(plain)).source == "a::b.csv"
    assert tables.read(plain).frame.height == 4
    found = tables.read(f"{book}::people")
    assert same(found.frame)
    assert found.source == "c::d.xlsx::people"
    assert tables.read(f"{packed}::x::y.csv").frame.height == 4
    with pytest.raises(TableError, match="cannot be read"):
        tables.read(str(tmp_path / "nowhere.xlsx::people"))


def test_a_part_of_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO(xlsx(people=rows(), other=[["a"], [1]]))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    found = tables.read("-::people")
    assert same(found.frame)
    assert found.source == "standard input::people"


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("postgresql://u:p@[::1]:5432/shop", "postgresql://u:p@[::1]:5432/shop", None),
        ("postgresql://u:a::b@[::1]/shop::visits", "postgresql://u:a::b@[::1]/shop", "visits"),
        ("postgres:///shop?host=/run::s.t", "postgres:///shop?host=/run", "s.t"),
        ("postgresql://h/d::SELECT a::text FROM t", "postgresql://h/d", "SELECT a::text FROM t"),
        ("nowhere.duckdb::SELECT a::text", "nowhere.duckdb", "SELECT a::text"),
        ("nowhere.csv", "nowhere.csv", None),
        ("nowhere.csv::", "nowhere.csv", None),
    ],
)
def test_places_and_parts(text: str, place: str, part: str | None) -> None:
    found = sources.of(text)
    assert (found.place, found.part) == (place, part)


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://{SECRET}:{SECRET}@h/shop?password={SECRET}",
        f"postgresql://{SECRET}@h/shop::SELECT '{SECRET}'",
        f"postgresql://h:{SECRET}",
        f"postgresql://u:{SECRET}@h",
        f"postgresql://u:a/{SECRET}?b@h/shop",
        f"mysql://u:{SECRET}@h/shop::visits",
        f"https://u:{SECRET}@h/shop.csv",
    ],
)
def test_a_password_is_shown_nowhere(address: str) -> None:
    found = sources.of(address)
    assert SECRET not in found.name
    assert SECRET not in repr(found)
    with pytest.raises(TableError) as caught:
        tables.read(address)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_parquet_files_in_a_folder_are_one_table(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    PEOPLE[:2].write_parquet(folder / "part-0.parquet")
    PEOPLE[2:].write_parquet(folder / "part-1")
    (folder / "_SUCCESS").write_bytes(b"")
    for place in (folder, f"{folder}/", str(folder)):
        assert same(tables.read(place).frame)
    assert same(tables.read(f"{folder}/part*").frame)
    assert same(tables.read(f"{folder}/*.parquet").frame, PEOPLE[:2])
    with pytest.raises(TableError, match="no files"):
        tables.read(f"{folder}/*.pq")
    with pytest.raises(TableError, match="no parts"):
        tables.read(f"{folder}::part")
    (folder / "notes.txt").write_text("x")
    with pytest.raises(TableError, match="1 of 3 files"):
        tables.read(folder)
    (folder / "notes.txt").unlink()
    PEOPLE.rename({"age": "years"}).write_parquet(folder / "part-2.parquet")
    with pytest.raises(TableError, match="columns differ"):
        tables.read(folder)


def test_names_of_folders_are_columns(tmp_path: Path) -> None:
    for year in (2023, 2024):
        folder = tmp_path / "in" / f"year={year}"
        folder.mkdir(parents=True)
        PEOPLE.write_parquet(folder / "x.parquet")
    found = tables.read(tmp_path / "in").frame
    assert found["year"].to_list() == [2023] * 4 + [2024] * 4
    (tmp_path / "in").rename(tmp_path / "owner=Miller")  # above, a name says nothing of the table
    assert tables.read(tmp_path / "owner=Miller").frame.equals(found)
    in_batches = batches(tmp_path / "owner=Miller", rows=3)
    assert in_batches.together().frame.equals(found)
    assert in_batches.only(["age"]).together().frame.columns == ["age"]
    assert same(tables.read(tmp_path / "owner=Miller" / "year=2023").frame)
    assert same(tables.read(f"{tmp_path}/*/*/x.parquet").frame, pl.concat([PEOPLE, PEOPLE]))


def test_a_file_with_the_signs_of_a_pattern_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "people[1].csv"
    path.write_bytes(csv())
    assert tables.read(path).frame.height == 4
    assert tables.read(str(path)).source == "people[1].csv"


def test_no_output_replaces_or_joins_an_input(tmp_path: Path) -> None:
    folder, book = tmp_path / "in", tmp_path / "book.xlsx"
    folder.mkdir()
    PEOPLE.write_parquet(folder / "a.parquet")
    book.write_bytes(xlsx(people=rows()))
    for place, output in (
        (f"{book}::people", book),
        (folder, folder / "a.parquet"),
        (f"{folder}/", folder / "new.parquet"),
        (f"{folder}/*.parquet", folder / "a.parquet"),
        (f"{folder}/*.parquet", folder / "new.parquet"),
    ):
        with pytest.raises(OutputError):
            files.refuse_overwriting([output], [place])
    files.refuse_overwriting([folder / "new.csv"], [f"{folder}/*.parquet"])
    files.refuse_overwriting([tmp_path / "new.csv"], [folder, f"{book}::people"])
    files.refuse_overwriting([tmp_path / "new.csv"], [f"postgresql://u:{SECRET}@h/shop::t"])


# ── databases in files ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("made", [sqlite, duck])
def test_a_table_or_a_query_of_a_database(made: Callable[..., Path], tmp_path: Path) -> None:
    other = pl.DataFrame({"a": [1]})
    path = made(tmp_path / "shop", people=PEOPLE, other=other)
    before = path.read_bytes()
    found = tables.read(f"{path}::people")
    assert found.source == "shop::people"
    assert found.frame.select("age", "town", "height").equals(PEOPLE.drop("born"))
    assert found.frame["born"].cast(pl.String).equals(PEOPLE["born"].cast(pl.String))
    some = tables.read(f"{path}::SELECT town, count(*) AS n FROM people GROUP BY 1 ORDER BY n DESC")
    assert some.frame["n"].to_list() == [2, 1, 1]
    assert some.source == "shop"
    assert tables.read(f"{path}::with x as (select 1 as b) select * from x").frame.height == 1
    with pytest.raises(TableError, match=r"'other', 'people'"):
        tables.read(path)
    with pytest.raises(TableError, match=r"'other', 'people'"):
        tables.read(f"{path}::nothing")
    with pytest.raises(TableError, match="query") as caught:
        tables.read(f"{path}::SELECT '{SECRET}' FROM nothing")
    assert SECRET not in str(caught.value)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["shop"]


@pytest.mark.parametrize("made", [sqlite, duck])
def test_a_database_is_not_changed(made: Callable[..., Path], tmp_path: Path) -> None:
    path = made(tmp_path / "shop", people=PEOPLE, empty=PEOPLE.clear())
    before = path.read_bytes()
    assert tables.read(path).frame.height == 4  # the other is empty
    for change in ("WITH x AS (SELECT 1) INSERT INTO people SELECT * FROM people", "TABLE x; DROP"):
        with pytest.raises(TableError):
            tables.read(f"{path}::{change}")
    assert path.read_bytes() == before


def test_a_query_opens_no_other_file(tmp_path: Path) -> None:
    path = duck(tmp_path / "shop", people=PEOPLE)
    (tmp_path / "other.csv").write_bytes(csv())
    with pytest.raises(TableError, match="query"):
        tables.read(f"{path}::SELECT * FROM '{tmp_path}/other.csv'")


def test_an_open_journal_of_sqlite_is_read(tmp_path: Path) -> None:
    path = sqlite(tmp_path / "shop", people=PEOPLE.select("age"))
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("INSERT INTO people VALUES (77)")
    writer.commit()
    assert tables.read(path).frame["age"].to_list() == [39, 40, None, 51, 77]
    writer.close()
    names = {file.name for file in tmp_path.iterdir()}
    assert tables.read(path).frame.height == 5
    assert {file.name for file in tmp_path.iterdir()} == names
    assert read(path.read_bytes()).frame.height == 5


def test_cells_of_sqlite_have_types_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "shop"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a, b INTEGER, c)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(1, 2.5, None), ("x", 3, None)])
    connection.commit()
    found = tables.read(path).frame
    assert found.to_dict(as_series=False) == {"a": ["1", "x"], "b": [2.5, 3.0], "c": [None, None]}
    connection.execute("CREATE TABLE u (d)")
    connection.execute("INSERT INTO u VALUES (x'00')")
    connection.commit()
    connection.close()
    with pytest.raises(TableError, match="'d' contains bytes"):
        tables.read(f"{path}::u")


def test_types_of_duckdb_that_polars_does_not_have(tmp_path: Path) -> None:
    connection = duckdb.connect(str(tmp_path / "shop"))
    connection.execute(
        "CREATE TABLE t AS SELECT 'q'::ENUM('q', 'secret') AS e, INTERVAL 1 DAY AS i, "
        "1.50::DECIMAL(9, 2) AS n, uuid() AS u, 170141183460469231731::HUGEINT AS h"
    )
    connection.execute('CREATE SCHEMA care; CREATE TABLE care."a.b" AS SELECT 7 AS a')
    connection.close()
    assert tables.read(f"{tmp_path}/shop::care.a.b").frame["a"].to_list() == [7]
    found = tables.read(f"{tmp_path}/shop::t").frame
    assert found["e"].dtype == pl.String
    assert found["i"].to_list() == ["1 day"]
    assert float(found["n"][0]) == 1.5
    assert len(found["u"][0]) == 36


@pytest.mark.parametrize(
    ("module", "extra", "name"),
    [
        ("python_calamine", "excel", "a.xlsx"),
        ("pyreadstat", "stat", "a.dta"),
        ("duckdb", "sql", "a.duckdb"),
        ("adbc_driver_postgresql", "sql", "postgresql://h/d::t"),
    ],
)
def test_without_its_library_the_extra_is_named(
    module: str, extra: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.xlsx").write_bytes(xlsx(s=rows()))
    (tmp_path / "a.dta").write_bytes(stata())
    duck(tmp_path / "a.duckdb", t=PEOPLE)
    for loaded in [one for one in sys.modules if one.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(TableError) as caught:
        tables.read(name if "://" in name else str(tmp_path / name))
    assert f"pip install 'covey[{extra}]'" in str(caught.value)


@pytest.mark.parametrize(
    ("module", "extra", "name"),
    [("xlsxwriter", "excel", "a.xlsx"), ("pyreadstat", "stat", "a.sav")],
)
def test_without_its_library_nothing_is_written(
    module: str, extra: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(OutputError) as caught:
        tables.write(Table(PEOPLE), io.BytesIO(), name)
    assert f"pip install 'covey[{extra}]'" in str(caught.value)


# ── damage ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A file of each kind, with a cell that no message may show."""
    folder = tmp_path_factory.mktemp("whole")
    frame = pl.DataFrame({"name": [f"{SECRET}-{n}" for n in range(30)], "age": [*range(30)]})
    lines = [frame.columns, *map(list, frame.rows())]
    floats = frame.with_columns(pl.col("age").cast(pl.Float64))
    found = {
        "xlsx": xlsx(s=lines),
        "xls": xls(s=lines),
        "ods": ods(s=lines),
        "dta": written(lambda f: frame.to_pandas().to_stata(f, write_index=False, version=118)),
        "sav": statistical(pyreadstat.write_sav, folder, frame=floats),
        "zsav": statistical(pyreadstat.write_sav, folder, frame=floats, compress=True),
        "xpt": statistical(pyreadstat.write_xport, folder, frame=floats),
        "parquet": written(frame.write_parquet),
        "arrow": written(frame.write_ipc),
        "json": written(frame.write_ndjson),
        "zip": archive(**{"a.csv": csv(frame)}),
        "sqlite": sqlite(folder / "s", t=frame).read_bytes(),
        "duckdb": duck(folder / "d", t=frame).read_bytes(),
    }
    for name, data in found.items():
        assert read(data).frame.height == 30, name
    return found


KINDS = [
    *("xlsx", "xls", "ods", "dta", "sav", "zsav", "xpt"),
    *("parquet", "arrow", "json", "zip", "sqlite", "duckdb"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_refused_without_a_cell(kind: str, whole: dict[str, bytes]) -> None:
    data = whole[kind]
    said: list[str] = []

    @examples(20)
    @given(st.data())
    def damage(drawn: st.DataObject) -> None:
        near = st.integers(0, min(len(data), drawn.draw(st.sampled_from([400, len(data)]))) - 1)
        harmed = bytearray(data)
        if drawn.draw(st.booleans()):
            harmed = harmed[: drawn.draw(near)]
        else:
            for place in drawn.draw(st.lists(near, min_size=1, max_size=20)):
                harmed[place] = drawn.draw(st.integers(0, 255))
        try:
            read(bytes(harmed))
        except TableError as error:
            said.append(str(error))

    damage()
    assert said
    assert not any(SECRET in message for message in said)


def test_an_encrypted_archive_is_refused() -> None:
    data = bytearray(archive(**{"a.csv": csv()}))
    data[data.index(b"PK\1\2") + 8] |= 1  # the flag in the directory
    with pytest.raises(TableError, match="encrypted"):
        read(bytes(data))


# ── what people do to their files ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "above",
    [
        [["Patients of ward 7"]],
        [["Our patients"], []],
        [["Patients"], [], ["made", "by", "hand"]],
        [["see", None, None, "below"], ["or", "do", None, "not"]],
    ],
)
def test_remarks_above_the_header_of_a_sheet_are_skipped(above: list[list[Any]]) -> None:
    table = read(xlsx(People=[*above, *rows()]))
    assert table.frame.columns == PEOPLE.columns
    assert table.frame["age"].to_list() == PEOPLE["age"].to_list()
    assert any(f"skipped {len(above)} row" in note for note in table.notes)


def test_a_sheet_that_cannot_be_read_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import python_calamine

    from covey.tables.formats import spreadsheets

    data = xlsx(good=rows(), bad=rows())

    class Book:
        def __init__(self) -> None:
            self.book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
            self.sheet_names = self.book.sheet_names

        def get_sheet_by_name(self, name: str) -> Any:
            if name == "bad":
                raise python_calamine.CalamineError(SECRET)
            return self.book.get_sheet_by_name(name)

    class Library:
        class CalamineWorkbook:
            @staticmethod
            def from_filelike(_: object) -> Book:
                return Book()

    monkeypatch.setattr(spreadsheets, "needed", lambda *_: Library)
    with pytest.raises(TableError, match="'good', 'bad'"):
        read(data)
    assert same(read(data, "good").frame)
    with pytest.raises(TableError) as caught:
        read(data, "bad")
    assert SECRET not in str(caught.value)


def test_short_floats_of_stata_keep_their_digits() -> None:
    lengths = [5.1, 4.9, 0.1, None]
    frame = pd.DataFrame({"length": pd.Series(lengths, dtype="float32"), "exact": lengths})
    table = read(written(lambda file: frame.to_stata(file, write_index=False, version=118)))
    assert table.frame["length"].to_list() == lengths
    assert table.frame["exact"].to_list() == lengths


def test_a_database_with_other_tables_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "hospital.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE patients (name TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(OutputError, match="other tables"), files.Drafts(path):
        pass
    assert path.read_bytes() == before
    own = tmp_path / "released.db"
    with sqlite3.connect(own) as connection:
        connection.execute("CREATE TABLE release (age INTEGER)")
    connection.close()
    with files.Drafts(own):
        pass


def test_the_index_of_a_dataframe_is_no_column_of_a_sheet() -> None:
    memory = io.BytesIO()
    PEOPLE.to_pandas().to_excel(memory, index=True)
    assert read(memory.getvalue()).frame.columns == PEOPLE.columns
    odd = [[None, *PEOPLE.columns], *([7 * i % 5, *row] for i, row in enumerate(PEOPLE.rows()))]
    with pytest.raises(TableError, match="column 1"):
        read(xlsx(People=odd))
