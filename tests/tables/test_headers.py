"""A file without a header: its first record never becomes column names or part of a message."""

import csv
import io
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import covey
from covey import demo, tables
from covey.cli import main as cli
from covey.errors import CoveyError, SchemaError, TableError
from covey.schema import Schema, TableFormat
from covey.tables import csv_files, headers

PEOPLE = 60


def read(data: str | bytes, **declared: Any) -> tables.Table:
    text = data.encode() if isinstance(data, str) else data
    return tables.from_bytes(text, None, TableFormat(**declared))


def headerless(folder: Path) -> Path:
    table, _ = demo.write(folder, PEOPLE)
    path = folder / "headerless.csv"
    path.write_text("".join(table.read_text().splitlines(keepends=True)[1:]))
    return path


RECORDS = "Smith,34,1990-05-01\nJones,51,1973-11-30\nMiller,47,1977-02-14\n"


@pytest.mark.parametrize(
    "data",
    [
        RECORDS,
        "34\n35\n36\n",
        "1;2\n1;3\n",
        "f,a@b.com\n" + "".join(f"m,{n}x@y.org\n" for n in "abcdefghij"),
        "Paris,x\n" + "Rome,y\nParis,z\n" * 5,
        "1990-05-01,Flu\n1991-06-02,Cold\n",
        "2019,2021\n2020,2022\n2018,2019\n",  # years of birth, perhaps
    ],
)
def test_a_first_line_like_the_others_is_refused_without_a_cell(data: str) -> None:
    with pytest.raises(TableError, match="looks like a record") as caught:
        read(data)
    message = str(caught.value)
    assert "header = false" in message
    assert "--no-header" in message
    for cell in data.partition("\n")[0].replace(";", ",").split(","):
        assert len(cell) < 3 or cell not in message


@pytest.mark.parametrize(
    "data",
    [
        "age,sex\n30,m\n40,f\n",
        "2019,2020,2021\n5,6,7\n8,9,10\n",
        "country,2019,2020,2021\nFrance,5,6,7\nItaly,8,9,10\n",
        "2019,2020\n0.3,0.4\n0.5,0.1\n0.2,0.2\n",  # far from all numbers below
        "0,1,2,3\n5,6,7,8\n5,6,7,8\n",
        "name,city\nAnn,Rome\nBob,Paris\n",
        "name,mail\n" + "".join(f"Ann {n},{n}x@y.org\n" for n in "abcdefghij"),
        "a\n",
        "a,b\n,\n",
    ],
)
def test_a_header_is_no_false_alarm(data: str) -> None:
    assert read(data).frame.columns == data.partition("\n")[0].split(",")


@pytest.fixture(params=["invented", "adult", "others"])
def whole_tables(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    """Tables as people write them."""
    if request.param == "others":
        folder: Path = request.getfixturevalue("shared_data")
        paths = [*folder.glob("people/*.csv"), *folder.glob("casc/*.csv")]
        assert len(paths) > 8
        return [*paths, folder / "people" / "kredit.asc"]
    if request.param == "invented":
        return [demo.write(tmp_path, 400)[0]]
    frame: pl.DataFrame = request.getfixturevalue("uci_adult")
    frame.head(400).write_csv(tmp_path / "adult.csv", separator=";")
    return [tmp_path / "adult.csv"]


def test_whole_tables_with_and_without_their_header(whole_tables: list[Path]) -> None:
    dice = random.Random(1)
    for path in whole_tables:
        lines = path.read_bytes().splitlines(keepends=True)[:400]
        while lines[0].startswith(b"#"):
            lines = lines[1:]
        lines = lines[1:] if not lines[0].strip(b";\r\n \xef\xbb\xbf") else lines
        said = {"delimiter": " "} if path.suffix == ".asc" else {}
        header, records = lines[0], [line for line in lines[1:] if line.count(b'"') % 2 == 0]
        assert read(header + b"".join(records), **said).frame.height, path.name
        for first in dice.sample(records, 5):
            with pytest.raises(TableError):
                read(first + b"".join(records), **said)


def test_said_to_have_none_it_is_read_whole(tmp_path: Path) -> None:
    table = read(RECORDS, header=False)
    assert table.frame.columns == ["column_1", "column_2", "column_3"]
    assert table.frame["column_1"].to_list() == ["Smith", "Jones", "Miller"]
    named = read(RECORDS, header=False, names=("name", "age", "born"))
    assert named.frame.columns == ["name", "age", "born"]
    assert named.frame.height == 3
    with pytest.raises(TableError, match=r"3 columns, .* 2 names"):
        read(RECORDS, header=False, names=("a", "b"))
    with pytest.raises(SchemaError, match="add header = false"):
        Schema.from_dict({"columns": {}, "table": {"names": ["a"]}})


def test_said_to_have_one_a_header_of_numbers_is_read() -> None:
    assert read("1;2\n1;3\n", header=True).frame.columns == ["1", "2"]


@pytest.mark.parametrize("first", ["x^a,b", "a,x^"])
def test_the_first_record_stays_as_it_is(first: str) -> None:
    assert read(f"{first}\nc,d\n", header=False).frame.row(0) == tuple(first.split(","))


@pytest.mark.parametrize(
    "first",
    [
        "Zoe,Zoe,1",  # two of a name
        "Zoe,*,1",  # a pattern of names
        "Zoe,^Zoe$,1",
        "Zoe,,1",  # no name
        "Zoe,=Zoe,1",
        "Zoe,m,34",
        "age,Zoe,Zara",  # one that the schema happens to know
    ],
)
@pytest.mark.parametrize("with_schema", [True, False])
def test_no_error_quotes_the_first_line(first: str, with_schema: bool, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(first + "\n" + "Ann,f,30\nBob,m,40\n" * 5)
    schema = covey.Schema.of(quasi={"age": "numeric", "sex": "categorical"}, sensitive=["what"])
    try:
        if with_schema:
            covey.anonymize(path, schema, require=covey.KAnonymity(2))
        else:
            covey.inspect(path)
    except CoveyError as error:
        assert "Zoe" not in str(error)  # noqa: PT017
        assert "Zara" not in str(error)  # noqa: PT017
    else:
        assert not with_schema  # a draft is for the custodian alone


def test_from_a_headerless_file_to_a_verified_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = headerless(tmp_path)
    first = next(csv.reader(io.StringIO(path.read_text())))
    monkeypatch.chdir(tmp_path)
    assert cli.run(["inspect", "headerless.csv"]) == 2
    refused = capfd.readouterr().err
    assert not any(len(cell) > 2 and cell in refused for cell in first)
    assert cli.run(["inspect", "headerless.csv", "--no-header", "-o", "d.toml"]) == 0
    schema = covey.Schema.from_toml("d.toml")
    assert schema.table.header is False
    assert schema.table.names is not None
    assert list(schema.columns) == list(schema.table.names)
    request = [
        "-s",
        "d.toml",
        "-k",
        "3",
        "--count-rows",
    ]  # without names, a postcode may be a person
    assert cli.run(["anonymize", "headerless.csv", *request, "-o", "out.csv"]) == 0
    released = tables.read("out.csv", schema)
    assert released.frame.height == PEOPLE  # it has a header, whatever the original had
    assert set(released.frame.columns) < set(schema.columns)
    assert cli.run(["verify", "out.csv", *request]) == 0
    assert cli.run(["measure", "headerless.csv", "out.csv", "-s", "d.toml"]) == 0


def test_without_the_look_at_it_the_first_record_would_be_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The sabotaged build: names of columns are then somebody's record."""
    monkeypatch.setattr(csv_files, "looks_like_a_record", lambda *_: False)
    assert read(RECORDS).frame.columns == ["Smith", "34", "1990-05-01"]


def test_the_rows_looked_at_are_bounded() -> None:
    many = "\n".join(str(n) for n in range(headers.ROWS_LOOKED_AT + 10))
    with pytest.raises(TableError, match="looks like a record"):
        read(many)
