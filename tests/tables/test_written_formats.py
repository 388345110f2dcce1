"""Releases in files of every kind that covey writes: the same cells, their labels, and no more."""

import datetime as dt
import io
import json
import os
import socket
import sqlite3
import time
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyreadstat
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import covey
from command_line import Folder
from covey import demo, tables
from covey.errors import CoveyError, OutputError
from covey.report import certificate, checking
from covey.schema import TableFormat
from covey.tables import Table
from covey.tables.codebook import Codebook
from covey.tables.csv_files import Dialect
from examples import examples

ENDINGS = [
    *("csv", "csv.gz", "parquet", "xlsx", "sav", "zsav", "dta", "xpt"),
    *("jsonl", "arrow", "zip", "sqlite"),  # others name the same formats
]
TYPED = [ending for ending in ENDINGS if ending not in ("csv", "csv.gz", "zip")]
SECRET = "Q7-secret"
K = [covey.KAnonymity(4)]


def written(frame: pl.DataFrame, ending: str, **more: Any) -> bytes:
    memory = io.BytesIO()
    tables.write(Table(frame, **more), memory, f"release.{ending}")
    return memory.getvalue()


def read(data: bytes, dialect: Dialect | None = None) -> Table:
    told = TableFormat(header=True, **({"decimal": dialect.decimal} if dialect else {}))
    return tables.from_bytes(data, None, told)


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return demo.people(120)


@pytest.fixture(scope="module")
def release(people: pl.DataFrame) -> covey.Release:
    return covey.anonymize(people, demo.schema(), require=K, key=bytes(32))


# ── whole releases ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_release_is_verified_measured_and_certified_in_every_format(
    ending: str, release: covey.Release, people: pl.DataFrame, tmp_path: Path
) -> None:
    path, schema = tmp_path / f"released.{ending}", demo.schema()
    said = release.write(path, register=False, certificate=True)
    assert said.output is not None
    assert said.output.format == tables.format_of(path.read_bytes())
    assert covey.verify(path, schema, require=K).to_dict() == release.verdict.to_dict()
    lost = covey.measure(people, path, schema)
    assert lost.to_dict() == covey.measure(people, release.table, schema).to_dict()
    again = covey.report_on(people, path, schema, require=K)
    assert again.output == said.output
    checked = checking.check(path, certificate.path_for(path))
    assert checked.holds, checked.differences
    path.write_bytes(path.read_bytes() + b" ")
    assert any(
        "SHA-256" in one for one in checking.check(path, certificate.path_for(path)).differences
    )


def test_a_release_of_a_file_in_another_encoding(tmp_path: Path) -> None:
    text = "age;town\n" + "".join(f"{20 + n};Köln{n % 2}\n" for n in range(20))
    (tmp_path / "t.csv").write_bytes(text.encode("cp1252"))
    schema = covey.Schema.from_dict(
        {
            "table": {"encoding": "cp1252", "delimiter": ";", "missing": ["-"]},
            "columns": {
                "age": {"role": "quasi", "type": "numeric", "grid": 5},
                "town": {"role": "sensitive"},
            },
        }
    )
    made = covey.anonymize(tmp_path / "t.csv", schema, require=K, key=bytes(32))
    for ending in TYPED:
        path = tmp_path / f"r.{ending}"
        made.write(path, register=False, certificate=True)
        assert covey.verify(path, schema, require=K).holds, ending
        assert {*tables.read(path, schema).frame["town"]} == {"Köln0", "Köln1"}, ending
        assert checking.check(path, certificate.path_for(path)).holds, ending


@pytest.mark.slow
def test_the_same_release_gives_the_same_bytes_and_tells_nothing_else(
    release: covey.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "custodians-own-folder"
    folder.mkdir()
    for name in ("USER", "LOGNAME", "USERNAME"):
        monkeypatch.setenv(name, SECRET)

    def bytes_of(turn: str) -> dict[str, bytes]:
        for ending in ENDINGS:
            release.write(folder / f"{turn}.{ending}", register=False)
        return {ending: (folder / f"{turn}.{ending}").read_bytes() for ending in ENDINGS}

    first = bytes_of("turn-1")
    time.sleep(1.1)  # files of statistical programs are dated by the second
    assert bytes_of("turn-2") == first
    now = dt.datetime.now(tz=dt.UTC)
    today = [now.strftime(form) for form in ("%d %b %y", "%d %b %Y", "%d%b%y", "%Y-%m-%d")]
    # A host's name of two or three letters occurs in packed bytes by chance.
    host = [name for name in [socket.gethostname()] if len(name) > 3]
    names = [SECRET, *host, folder.name, "turn-1", *today]
    for ending, data in first.items():
        inside = [data]
        if data.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(data)) as packed:
                inside += [packed.read(name) for name in packed.namelist()]
                assert {one.date_time for one in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        for name in names:
            assert not any(name.lower().encode() in part.lower() for part in inside), (ending, name)


def test_no_file_is_made_on_the_way(
    release: covey.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    for ending in ENDINGS:
        release.write(tmp_path / f"released.{ending}", register=False, description=False)
    assert len([*tmp_path.iterdir()]) == len(ENDINGS)


def test_where_no_file_is_in_memory_it_is_private_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen: list[tuple[int, int]] = []

    def spy(_: Any, path: str, **__: Any) -> None:
        seen.append((Path(path).stat().st_mode & 0o777, Path(path).parent.stat().st_mode & 0o777))
        raise ValueError(SECRET)

    frame = pl.DataFrame({"a": ["x"]})
    assert read(written(frame, "sav")).frame.equals(frame)
    monkeypatch.setattr(pyreadstat, "write_sav", spy)
    with pytest.raises(OutputError) as caught:
        written(frame, "sav")
    assert SECRET not in str(caught.value)
    assert seen == [(0o600, 0o700)]
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
def test_commands_take_and_give_every_format(folder: Folder) -> None:
    people = tables.read(folder.path / "people.csv")
    with (folder.path / "people.xlsx").open("wb") as file:
        tables.write(people, file, "people.xlsx")
    typed = tables.read(folder.path / "people.xlsx").frame.schema
    assert typed["age"] == pl.Int64
    assert typed["zip"] == pl.String  # codes with zeros before them
    ran = folder.covey(
        *("anonymize", "people.xlsx::release", "-s", "people.toml", "-k", 4, "-o", "out.sav"),
        *("--certificate", "--report", "out.json"),
    )
    assert ran.code == 0, ran.err
    assert json.loads((folder.path / "out.json").read_text())["output"]["format"] == "sav"
    for command in (
        ("verify", "out.sav", "-s", "people.toml", "-k", 4),
        ("verify", "out.sav", "--certificate", "out.sav.intoto.json"),
        ("measure", "people.csv", "out.sav", "-s", "people.toml"),
        ("report", "people.xlsx", "out.sav", "-s", "people.toml", "-k", 4, "-o", "again.html"),
        ("inspect", "out.sav"),
    ):
        ran = folder.covey(*command)
        assert ran.code == 0, (command, ran.err)
    ran = folder.covey(
        "anonymize", "people.xlsx::release", "-s", "people.toml", "-k", 4, "-o", "people.xlsx"
    )
    assert ran.code == 2
    assert "overwrite" in ran.err


def test_a_format_that_covey_does_not_write_is_refused_before_the_work(folder: Folder) -> None:
    ran = folder.covey("anonymize", "nowhere.csv", "-s", "people.toml", "-k", 4, "-o", "out.ods")
    assert ran.code == 2
    assert ".xlsx" in ran.err


# ── read by other libraries ─────────────────────────────────────────────────────────────────────

CELLS = pl.DataFrame(
    {
        "age": [39, None, 51],
        "income": [1.5, 0.1, None],
        "town": ["Ash", "Bó, =1", ""],
        "born": [dt.date(1984, 5, 31), None, dt.date(1972, 2, 29)],
        "seen": [dt.datetime(2024, 5, 31, 12, 30), dt.datetime(2024, 1, 1), None],
    }
)


def test_openpyxl_reads_the_workbook() -> None:
    sheet = openpyxl.load_workbook(io.BytesIO(written(CELLS, "xlsx")))["release"]
    assert [*sheet.values] == [
        tuple(CELLS.columns),
        (39, 1.5, "Ash", dt.datetime(1984, 5, 31), dt.datetime(2024, 5, 31, 12, 30)),
        (None, 0.1, "Bó, =1", None, dt.datetime(2024, 1, 1)),
        (51, None, None, dt.datetime(1972, 2, 29), None),
    ]


def test_pandas_reads_the_files_of_stata_and_sas() -> None:
    stata = pd.read_stata(io.BytesIO(written(CELLS, "dta")))
    assert stata["age"].tolist()[::2] == [39, 51]
    assert stata["town"].tolist() == ["Ash", "Bó, =1", ""]
    assert stata["born"].tolist()[0] == pd.Timestamp("1984-05-31")
    assert stata["seen"].tolist()[0] == pd.Timestamp("2024-05-31 12:30")
    sas = pd.read_sas(io.BytesIO(written(CELLS, "xpt")), format="xport", encoding="utf-8")
    assert sas["income"].tolist()[:2] == [1.5, 0.1]
    assert sas["town"].tolist()[:2] == ["Ash", "Bó, =1"]
    # Only the later version has long names, and pandas does not read that.
    for more in (pl.lit(1).alias("a_long_name"), pl.lit("x" * 201).alias("a")):
        data = written(CELLS.with_columns(more), "xpt")
        assert data.startswith(b"HEADER RECORD*******LIBV8")
        assert read(data).frame.columns == [*CELLS.columns, more.meta.output_name()]


def test_others_read_the_rest(tmp_path: Path) -> None:
    assert written(CELLS, "jsonl") == written(CELLS, "ndjson")
    assert written(CELLS, "sqlite") == written(CELLS, "db") == written(CELLS, "sqlite3")
    assert written(CELLS, "arrow") == written(CELLS, "feather") == written(CELLS, "ipc")
    arrow = pyarrow.feather.read_table(io.BytesIO(written(CELLS, "feather")))
    assert arrow.column("town").to_pylist() == ["Ash", "Bó, =1", ""]
    lines = written(CELLS, "jsonl").decode().splitlines()
    assert json.loads(lines[0])["born"] == "1984-05-31"
    (tmp_path / "r.db").write_bytes(written(CELLS, "db"))
    with sqlite3.connect(tmp_path / "r.db") as connection:
        assert [*connection.execute("SELECT age, born FROM release")][2] == (51, "1972-02-29")
    connection.close()
    with zipfile.ZipFile(io.BytesIO(written(CELLS, "zip"))) as packed:
        assert packed.namelist() == ["release.csv"]
        assert packed.read("release.csv").startswith(b"age,income,town")


# ── cells ───────────────────────────────────────────────────────────────────────────────────────

ODD = pl.DataFrame(
    {
        "truth": [True, False, None],
        "at": [dt.time(8, 30), None, dt.time(23, 59, 59)],
        "zoned": pl.Series([dt.datetime(2024, 5, 31, 12)] * 3).dt.replace_time_zone(
            "Europe/Berlin"
        ),
        "fine": [dt.datetime(2024, 5, 31, 12, 0, 0, 7), None, None],
        "early": [dt.date(1850, 1, 1), dt.date(2000, 1, 1), None],
        "large": [2**60 + 1, 1, None],
        "small": pl.Series([0.1, 0.2, None], dtype=pl.Float32),
        "exact": pl.Series(["1.50", "2.25", None]).str.to_decimal(scale=2),
        "never": pl.Series([None] * 3, dtype=pl.Null),
        "code": ["007", "012", None],
    }
)


@pytest.mark.parametrize("ending", TYPED)
def test_cells_keep_their_content_whatever_the_format_has(ending: str) -> None:
    again = read(written(ODD, ending))
    tables.refuse_changed(Table(ODD), again)
    cells = again.frame
    assert [str(one).lower() for one in cells["truth"][:2]] == ["true", "false"]
    assert str(cells["large"][0]) == str(2**60 + 1)
    assert float(cells["small"][0]) == pytest.approx(0.1, abs=1e-8)
    assert cells["code"].to_list()[:2] == ["007", "012"]
    assert str(cells["at"][0]).startswith("08:30:00")
    assert str(cells["early"][0])[:10] == "1850-01-01"
    assert str(cells["fine"][0]).startswith("2024-05-31 12:00:00.000007")


@pytest.mark.parametrize("ending", ["xlsx", "sav", "dta", "xpt"])
def test_texts_that_are_numbers_become_numbers(ending: str) -> None:
    frame = pl.DataFrame(
        {"whole": ["39", "NA", "-4"], "comma": ["1,5", "2,0", ""], "zeros": ["01", "2", "3"],
         "plain": ["1,0", "2", "3"], "huge": [str(2**60), "1", "2"], "e": ["1e3", "2", "3"]}
    )  # fmt: skip
    dialect = Dialect(decimal=",", missing=("NA",))
    data = written(frame, ending, dialect=dialect)
    found = tables.from_bytes(data, None, TableFormat(decimal=",", missing=("NA",), header=True))
    assert found.frame["whole"].to_list() == [39, None, -4]
    assert found.frame["comma"].to_list() == [1.5, 2.0, None]
    for name in ("zeros", "plain", "huge", "e"):
        assert found.frame[name].to_list() == frame[name].to_list()
    tables.refuse_changed(Table(frame, dialect), found)


def test_excel_runs_no_cell() -> None:
    frame = pl.DataFrame({"=a": ["=1+1", "'=1", "@x", "-5", "plain"], "n": [1, 2, 3, 4, 5]})
    sheet = openpyxl.load_workbook(io.BytesIO(written(frame, "xlsx"))).active
    for place, text in enumerate(["=a", *frame["=a"]], 1):
        cell = sheet.cell(place, 1)
        assert cell.data_type == "s"
        assert cell.value == text
        # Excel would run it once someone edits it, but for this mark.
        assert cell.quotePrefix is (text[0] in "='@")
    assert read(written(frame, "xlsx")).frame.equals(frame)


def test_an_arrow_file_has_nothing_under_its_missing_cells() -> None:
    bare = pa.array([7001, 7002], mask=None)
    hidden = pa.Array.from_buffers(
        pa.int64(), 2, [pa.py_buffer(b"\x01"), bare.buffers()[1]]
    )  # the second is missing, and its number still there
    frame = pl.DataFrame({"a": hidden})
    assert frame["a"].to_list() == [7001, None]
    trace = (7002).to_bytes(8, "little")
    naive = io.BytesIO()
    frame.write_ipc(naive, compression="uncompressed")
    assert trace in naive.getvalue()
    assert trace not in written(frame, "arrow")


@pytest.mark.parametrize(
    ("ending", "frame"),
    [
        ("sav", pl.DataFrame({"hours per week": [1]})),
        ("sav", pl.DataFrame({"all": [1]})),
        ("sav", pl.DataFrame({"a": [1], "A": [2]})),
        ("dta", pl.DataFrame({"a-b": [1]})),
        ("xpt", pl.DataFrame({"größe": [1]})),
        ("xlsx", pl.DataFrame({"a": ["x" * 40_000]})),
    ],
)
def test_what_a_format_does_not_have_is_refused(ending: str, frame: pl.DataFrame) -> None:
    with pytest.raises(OutputError) as caught:
        written(frame, ending)
    assert "xxx" not in str(caught.value)


def test_a_release_that_a_format_changes_is_not_published(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [30, 31, 32, 33], "note": ["a ", "b", "c", "d"]})
    schema = covey.Schema.of(quasi={"age": "numeric"}, insensitive=["note"])
    made = covey.anonymize(frame, schema, require=covey.KAnonymity(2), key=bytes(32))
    with pytest.raises(OutputError, match="'note': 1 row"):
        made.write(tmp_path / "r.sav", register=False)
    assert not [*tmp_path.iterdir()]
    made.write(tmp_path / "r.xlsx", register=False)


@pytest.mark.parametrize(
    "ending", ["ods", "xls", "json", "duckdb", "sas7bdat", "por", "parquet.gz"]
)
def test_other_formats_are_refused_by_name(ending: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"end the name in|remove"):
        tables.write(Table(CELLS), io.BytesIO(), f"r.{ending}")


COLUMNS = {
    "text": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6),
    "whole": st.integers(-(2**63), 2**63 - 1),
    "real": st.floats(allow_nan=False, allow_infinity=False),
    "day": st.dates(),
    "truth": st.booleans(),
}


@pytest.mark.parametrize("ending", ["xlsx", "sav", "dta", "xpt", "jsonl", "sqlite"])
def test_what_is_read_back_is_the_same_or_it_is_not_published(ending: str) -> None:
    kept = 0

    @examples(20)
    @given(st.data())
    def test(drawn: st.DataObject) -> None:
        nonlocal kept
        size = drawn.draw(st.integers(1, 4))
        frame = pl.DataFrame(
            {
                name: drawn.draw(st.lists(st.none() | cells, min_size=size, max_size=size))
                for name, cells in COLUMNS.items()
            },
            schema={"text": pl.String, "whole": pl.Int64, "real": pl.Float64, "day": pl.Date,
                    "truth": pl.Boolean},
        )  # fmt: skip
        try:
            again = read(written(frame, ending))
            assume(again.frame.shape == frame.shape)
            tables.refuse_changed(Table(frame), again)
        except CoveyError:
            return
        kept += 1
        ours = [None if text in (None, "") else text for text in frame["text"]]
        theirs = [None if text in (None, "") else str(text) for text in again.frame["text"]]
        assert ours == theirs
        for name, kind in (("whole", int), ("real", float)):
            back = [None if cell in (None, "") else kind(cell) for cell in again.frame[name]]
            assert back == pytest.approx(frame[name].to_list(), rel=1e-14)

    test()
    assert kept


# ── labels ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def coded(tmp_path_factory: pytest.TempPathFactory) -> covey.Release:
    """People from a file whose codebook knows more than its table shows."""
    path = tmp_path_factory.mktemp("coded") / "coded.sav"
    frame = pl.DataFrame(
        {
            "person": [float(n) for n in range(40)],
            "age": [20.0 + n % 20 for n in range(40)],
            "sex": [1.0 + n % 2 for n in range(40)],
            "ward": [1.0 + n // 20 for n in range(39)] + [7.0],
            "illness": [1.0 + n % 3 for n in range(40)],
        }
    )
    pyreadstat.write_sav(
        frame,
        str(path),
        column_labels={"person": f"Person {SECRET}", "sex": "Sex", "illness": "Illness"},
        variable_value_labels={
            "person": {3: SECRET},
            "sex": {1: "male", 2: "female", 3: f"{SECRET}-sex"},
            "ward": {1: "north", 2: "south", 7: f"{SECRET}-ward"},
            "illness": {1: "flu", 2: "cold", 3: "cough", 4: f"{SECRET}-illness"},
        },
    )
    schema = covey.Schema.of(
        quasi={"age": {"type": "numeric", "grid": 10}, "sex": "categorical", "ward": "categorical"},
        sensitive=["illness"],
        identifier=["person"],
    )
    return covey.anonymize(path, schema, require=covey.KAnonymity(8), key=bytes(32))


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xpt"])
def test_labels_of_what_is_released_travel_and_no_others(
    ending: str, coded: covey.Release, tmp_path: Path
) -> None:
    coded.write(tmp_path / f"r.{ending}", register=False)
    data = (tmp_path / f"r.{ending}").read_bytes()
    assert SECRET.encode() not in data
    found = read(data)
    assert found.codebook.variables == {"sex": "Sex", "illness": "Illness"}
    values = found.codebook.values
    if ending == "xpt":
        assert not values
        return
    assert values["illness"] == {"1": "flu", "2": "cold", "3": "cough"}
    if ending != "dta":  # Stata has no labels of texts, and generalised cells are texts
        shown = {str(cell) for cell in found.frame["sex"]}  # whole numbers if no cell is wider
        assert {*values["sex"]} == shown - {"*", ""}


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_long_labels_are_cut(ending: str) -> None:
    book = Codebook({"a": "x" + "ü" * 1000}, {"a": {"1": "y" + "ü" * 1000}})
    found = read(written(pl.DataFrame({"a": [1, 2]}), ending, codebook=book)).codebook
    assert found.variables["a"].startswith("xüü")
    assert ending == "xpt" or found.values["a"]["1"].startswith("yüü")


def test_a_release_holds_no_label_of_others(coded: covey.Release) -> None:
    assert coded._kept is not None
    book = coded._kept.released.codebook
    assert book.values["illness"]["2"] == "cold"
    assert SECRET not in repr(book)


def test_a_codebook_keeps_the_labels_of_cells_that_are_there() -> None:
    book = Codebook({"a": "A", "b": "B"}, {"a": {"1": "one", "2": "two"}, "b": {"x": "X"}})
    shown = book.of(pl.DataFrame({"a": [1.0, None, 1.0]}))
    assert shown == Codebook({"a": "A"}, {"a": {"1": "one"}})
    assert book.of(pl.DataFrame({"a": ["[1, 2]"]})) == Codebook({"a": "A"}, {})
    assert not Codebook()
