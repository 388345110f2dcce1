"""Whatever people upload: the command line's words, a harmless name, and no cell elsewhere."""

import gzip
import io
import logging
import re
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

import openpyxl
import pytest

from command_line import Folder
from covey.studio.pages import STEPS
from studios import PEOPLE, TOKEN, Inside, inside, read, served, told, wait

CANARY = "Zq7canary19xK402"
NAMES = ("Hq1name", "Hq2born", "Hq3town", "Hq4ill", "Hq5note")


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with inside(tmp_path_factory.mktemp("own")) as found:
        yield found


# ── bad tables ──────────────────────────────────────────────────────────────────────────────────


def zipped(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return packed.getvalue()


def workbook(**sheets: list[list[object]]) -> bytes:
    book, saved = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(saved)
    return saved.getvalue()


GOOD = f"a,b\n{CANARY},1\nx,2\n"
BAD = {
    "empty": ("t.csv", b""),
    "header only": ("t.csv", b"a,b\n"),
    "blank": ("t.csv", b"\n\n\n"),
    "one name twice": ("t.csv", b"a,a\n1,2\n"),
    "no name": ("t.csv", b"a,,c\n1,2,3\n"),
    "ragged": ("t.csv", f"a,b\n{CANARY}\n{CANARY},1,2\n".encode()),
    "nul": ("t.csv", f"a,b\n{CANARY}\0,1\n".encode()),
    "open quote": ("t.csv", f'a,b\n"{CANARY},1\n'.encode()),
    "stray quote": ("t.csv", f'a,b\n{CANARY}"x"y,1\nx,2\n'.encode()),
    "carriage return": ("t.csv", f"a,b\n{CANARY}\rx,1\nx,2\n".encode()),
    "a record first": ("t.csv", f"1,2024-01-01,{CANARY}\n2,2024-01-02,x\n".encode()),
    "formula": ("t.csv", b"=1+1,b\n1,2\n"),
    "reserved": ("t.csv", b"*,b\n1,2\n"),
    "zeros": ("t.csv", bytes(5_000)),
    "bytes": ("t.csv", bytes(range(256)) * 20),
    "utf-16 cut": ("t.csv", "a,b\nx,1\n".encode("utf-16")[:-1]),
    "half a gzip": ("t.csv.gz", gzip.compress(GOOD.encode() * 99)[:-20]),
    "no gzip": ("t.csv.gz", b"\x1f\x8b\x08\x00broken"),
    "no parquet": ("t.parquet", b"PAR1broken"),
    "empty parquet": ("t.parquet", b""),
    "no workbook": ("t.xlsx", b"PK\x03\x04broken"),
    "no sheet": ("t.xlsx", zipped({"a.txt": b"x"})),
    "blank sheet": ("t.xlsx", workbook(One=[])),
    "two sheets": ("t.xlsx", workbook(One=[["a"], [1]], Two=[["b"], [CANARY]])),
    "no database": ("t.sqlite", b"SQLite format 3\0broken"),
    "no stata": ("t.dta", b"<stata_dta>broken"),
    "no spss": ("t.sav", b"$FL2broken"),
    "no sas": ("t.sas7bdat", b"broken" * 100),
    "no arrow": ("t.arrow", b"ARROW1broken"),
    "broken json": ("t.json", f'[{{"a": "{CANARY}"'.encode()),
    "a picture": ("t.png", b"\x89PNG\r\n\x1a\n" + bytes(200)),
    "a page": ("t.html", b"<html><p>x</p></html>"),
    "empty archive": ("t.zip", zipped({})),
    "two in an archive": ("t.zip", zipped({"a.csv": GOOD.encode(), "b.csv": GOOD.encode()})),
    "bomb": ("t.zip", zipped({"a.csv": bytes(50_000_000)})),
    "bomb in a workbook": ("t.xlsx", zipped({"xl/workbook.xml": b" " * 50_000_000})),
    "wide": ("t.csv", ",".join(f"c{i}" for i in range(20_000)).encode() + b"\n"),
    "no ending": ("t", bytes(300)),
    "odd ending": ("t.exe", b"MZ" + bytes(300)),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_upload_gets_the_words_of_the_command_line(
    studio: Inside, folder: Folder, case: str
) -> None:
    name, data = BAD[case]
    folder.write(name, data)
    ended = folder.covey("inspect", name)
    answer = studio.upload(name, data)
    said = told(answer)
    has_parts = case in ("two sheets", "two in an archive")
    assert ("Which part?" in answer.text) == has_parts
    if ended.code == 0 or has_parts:
        assert said == []
    else:
        words = ended.err.splitlines()[-1].removeprefix("covey: error: ")
        assert said == ([] if "more than one" in words else [words])  # it asks which one
        assert ("open/part" in answer.text) == ("more than one" in words)
        assert CANARY not in answer.text


def test_too_many_columns_are_refused_at_once(studio: Inside) -> None:
    (studio.folder / "t.csv").write_text(
        ",".join(f"c{i}" for i in range(1_001)) + "\n" + "1," * 1_000 + "1\n"
    )
    (words,) = told(studio.opening(studio.folder / "t.csv"))
    assert "1,001 columns" in words


def test_nothing_of_an_upload_is_in_a_log(studio: Inside, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    logging.getLogger("python_multipart").propagate = True
    head = {"content-type": "multipart/form-data; boundary=b"}
    answer = studio.client.post(f"/{TOKEN}/open/upload", content=b"--b\xe9Zq7", headers=head)
    assert answer.status_code == 400
    for text in (answer.text, caplog.text):
        assert "\\xe9" not in text
        assert "233" not in text


@pytest.mark.parametrize("path", ["", "nope.csv", "/nope/nope.csv", "~nobody-here/x.csv", "~", "-",
                                  "\0", "a\0b", "x" * 5_000, "/dev/null", "nope.xlsx::One",
                                  "::", "mysql://u:secret@h/d",
                                  "postgresql://u:secret@nowhere.invalid/d",
                                  "*.nope", "[", "%2e%2e"])  # fmt: skip
def test_a_path_that_leads_nowhere_is_told(
    studio: Inside, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.bin").write_bytes(b"\0")
    monkeypatch.setenv("HOME", str(tmp_path))  # one's own may have very many files
    answer = studio.opening(path)
    assert answer.status_code == 200
    assert len(told(answer)) == 1
    assert "internal error" not in answer.text
    assert "secret" not in answer.text


# ── names ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    ["../../people.csv", "..\\..\\people.csv", "/etc/passwd.csv", "a\0b.csv", "CON.csv",
     "x" * 5_000 + ".csv", "x" * 3_000 + ".csv", "\u202egpj.csv", "a::b.csv", "a:b.csv", "-",
     "--help.csv", ".csv", "....", " ", "people[1].csv", "*.csv",
     "é\u0301\u200b.csv", "<script>alert(1)</script>.csv", "a\nb\r.csv", "%2e%2e%2fx.csv",
     "people.csv/", "~", "$(touch x).csv", "'; rm -rf x;'.csv", "\ud83d\ude00.csv"],
)  # fmt: skip
def test_an_upload_gets_a_harmless_name(studio: Inside, name: str) -> None:
    before = {*studio.folder.rglob("*")}
    answer = studio.client.post(f"/{TOKEN}/open/upload", content=upload(name), headers=MULTIPART)
    assert answer.status_code == (400 if "\n" in name or len(name) > 4_000 else 200)
    assert "<script>alert" not in answer.text
    new = {*studio.folder.rglob("*")} - before
    files = [path for path in new if path.is_file()]
    assert len(files) <= 1
    for path in files:
        assert path.parent.parent == studio.folder
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert len(path.name.encode()) < 200
        assert path.name.isprintable()
        assert not set(path.name) & set('/\\<>:"|?*')
        assert "60 rows" in answer.text or told(answer)


MULTIPART = {"content-type": "multipart/form-data; boundary=b"}


def upload(name: str) -> bytes:
    head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    data = head.encode("utf-8", "surrogatepass") + PEOPLE.encode()
    return b"--b\r\n" + data + b"\r\n--b--\r\n"


def test_without_a_file_nothing_happens(studio: Inside) -> None:
    before = studio.studio.work
    for fields in ({}, {"file": ""}, {"file": "x.csv"}):
        assert told(studio.post("open/upload", fields)) == ["choose a file first"]
    assert studio.studio.work == before


# ── no cell ─────────────────────────────────────────────────────────────────────────────────────


def marked() -> str:
    """People whose every cell and column has a mark."""
    lines = [
        f"Zq1{i}name,{1950 + i % 40}-03-{1 + i % 28:02},Zq3{i % 4}town,Zq4{i % 3}ill,Zq5{i % 5}note"
        for i in range(60)
    ]
    return "\n".join((",".join(NAMES), *lines)) + "\n"


MARKS = re.compile(r"Zq[0-9]|Hq[0-9]")


@pytest.mark.slow
def test_no_address_holds_a_cell_or_a_column(studio: Inside) -> None:
    studio.upload("people.csv", marked().encode())
    studio.post("price/k", {"k": "5"})
    studio.post("make/start")
    wait(lambda: studio.studio.release)
    studio.post("answer/about", {"certificate": "on", "accept": "a test"})
    studio.post("answer/write")
    wait(lambda: "For the recipient" in studio.get("hand_over").text)
    seen = 0
    for step in STEPS:
        page = studio.get(step).text
        for address in read(page).addresses:
            assert not MARKS.search(address), (step, address)
            seen += 1
        for place in {one for one in read(page).addresses if "/piece/" in one}:
            piece = studio.get(place)
            assert piece.status_code in (200, 409)
            assert not any(MARKS.search(one) for one in read(piece.text).addresses)
    assert seen > 50


FAILING = """
import sys
def fail(*_, **__): raise KeyError({canary!r})
def arm(module, *names):
    for name in names: setattr(module, name, fail)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != {module!r}: return None
        sys.meta_path.remove(self)
        import importlib.util
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module
        def armed(module):
            load(module)
            arm(module, {function!r})
        spec.loader.exec_module = armed
        return spec
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "function", "debug"),
    [
        ("covey.inspection", "inspect", ""),
        ("covey.studio.frame", "line", "1"),
        ("covey.pipeline", "anonymize", "1"),
    ],
)
def test_a_fault_shows_its_kind_and_no_cell(
    tmp_path: Path, module: str, function: str, debug: str
) -> None:
    """The text of an error that covey does not expect may quote a cell."""
    lines = FAILING.format(canary=CANARY, module=module, function=function)
    (tmp_path / "sitecustomize.py").write_text(lines, encoding="utf-8")
    with (
        served(tmp_path, PYTHONPATH=str(tmp_path), COVEY_DEBUG=debug) as running,
        running.client() as client,
    ):
        pages = [
            client.post("open/upload", files={"file": ("people.csv", PEOPLE.encode())}),
            client.post("price/k", data={"k": "5"}),
            client.post("make/start"),
        ]
        wait(lambda: "Making it" not in client.get("make").text)
        pages.append(client.get("make"))
        assert any("nternal error (KeyError)" in page.text for page in pages)
        assert not any(CANARY in page.text for page in pages)
        assert CANARY not in running.words()
        assert "Traceback" not in running.words()


@pytest.mark.slow
def test_a_large_upload_is_not_held_in_memory(tmp_path: Path) -> None:
    size, large = 48 * 1024**2, tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(size)
    with served(tmp_path) as running, running.client() as client:
        client.get("open")
        before = most_memory(running.process.pid)
        with large.open("rb") as file:
            answer = client.post("open/upload", files={"file": ("large.csv", file)}, timeout=300)
        assert len(told(answer)) == 1
        assert most_memory(running.process.pid) - before < size / 3


def most_memory(process: int) -> int:
    """The most bytes of memory that a process has had."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024
