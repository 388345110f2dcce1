"""Looking, answering and handing over, page by page, as a browser would ask for them."""

import contextlib
import hashlib
import json
import re
import zipfile
from collections.abc import Iterator
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from covey import demo
from covey.custody.register import Register
from studios import PEOPLE, Inside, inside, wait


class Browser:
    """A browser before a studio, which knows how to get to a release."""

    def __init__(self, studio: Inside) -> None:
        self.inside = studio

    def page(self, path: str) -> str:
        answer = self.inside.get(path)
        assert answer.status_code == 200
        return str(answer.text)

    def post(self, path: str, **sent: Any) -> str:
        answer = self.inside.post(path, sent)
        assert answer.status_code == 200
        return str(answer.text)

    def until(self, path: str, wanted: str) -> str:
        """Look at a page until it has this text; return it."""
        return str(wait(lambda: page if wanted in (page := self.page(path)) else None))

    def make(self, k: int) -> None:
        self.post("price/k", k=k)
        self.post("make/options", effort="fast")
        self.post("make/start")
        self.until("make", "Make it again")

    def write(self) -> None:
        self.post("answer/write")
        self.until("answer", "Print or save as PDF")

    def downloads(self, step: str) -> dict[str, bytes]:
        """The files that a page offers, by their names."""
        found = {}
        for address in re.findall(r'href="(files/[0-9a-f]+)"', self.page(step)):
            answer = self.inside.get(address)
            assert answer.status_code == 200
            name = re.search(r'filename="(.+?)"', answer.headers["content-disposition"])
            assert name is not None
            found[name[1]] = answer.content
        return found


@contextlib.contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    """A studio with invented people in a folder beside its own."""
    home, own = folder / "home", folder / "own"
    home.mkdir()
    own.mkdir(mode=0o700)
    table, _ = demo.write(home, 150)
    with inside(own, str(table)) as studio:
        browser = Browser(studio)
        browser.until("open", "people.csv")
        yield browser


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with browsing(tmp_path) as browser:
        yield browser


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A release that no test changes."""
    with browsing(tmp_path_factory.mktemp("studio")) as browser:
        browser.make(5)
        yield browser


def text_of(page: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", page))


def known() -> int:
    register = Register.of(None)
    assert register is not None
    return len(register.releases())


def test_without_a_release_each_page_leads_to_making_it(browser: Browser) -> None:
    for step in ("look", "answer", "hand_over"):
        page = browser.page(step)
        assert 'href="make"' in page[page.index('id="main"') :]
    for action in ("look/attack", "look/rows", "answer/write", "answer/check"):
        assert "make it first" in browser.post(action, order="first")


def test_a_release_that_is_made_again_is_written_again(browser: Browser) -> None:
    browser.make(5)
    browser.write()
    browser.post("make/start")
    browser.until("make", "Make it again")
    assert "not written yet" in browser.page("hand_over")


def test_releases_of_other_people_have_entries_of_their_own(browser: Browser) -> None:
    before = known()
    for name in ("Person", "Someone"):
        browser.inside.upload("people.csv", PEOPLE.replace("Person", name).encode())
        browser.make(5)
        browser.write()
    assert known() == before + 2


def test_what_stays_open_is_asked_once_and_answered_in_the_report(browser: Browser) -> None:
    browser.make(5)
    browser.write()
    page = browser.page("hand_over")
    assert "no purpose" in page
    assert not re.findall(r'href="files/[0-9a-f]{16}"', page)
    assert "left open for" in browser.post("hand_over/save", folder="/nowhere")
    assert "left open for" in browser.post("hand_over/accept", accept=" ")
    browser.post("hand_over/accept", accept="only for <us>")
    page = browser.until("hand_over", "For the recipient")
    assert "Still open" not in page
    report = json.loads(browser.downloads("hand_over")["report.json"])
    assert report["about"]["accept"] == "only for <us>"


def test_the_price_of_hiding_a_value_is_found(browser: Browser) -> None:
    columns = browser.inside.studio.table.names
    browser.make(5)
    assert 'id="mends"' in browser.page("answer")
    revealing = re.findall(r'name="column" value="([0-9]+)"', browser.page("answer"))
    assert {columns[int(place)] for place in revealing} <= {"income", "diagnosis", "length_of_stay"}
    place = columns.index("income")
    browser.post("answer/mend", column=place)
    page = text_of(browser.until("answer", "lost per cell"))
    assert re.search(r"income\s+[0-9.]+\s%\s+[0-9.]+\s% lost per cell instead of [0-9.]+\s%", page)
    browser.post("price/require", column=place, l=2)
    assert getattr(browser.inside.studio.schema.require, "l") == {"income": 2}  # noqa: B009


@pytest.mark.slow
def test_from_a_look_to_the_same_bytes(browser: Browser, tmp_path: Path) -> None:
    browser.make(5)
    # Look: each part comes, and what is typed stays out of addresses.
    for part in ("attack", "rows", "groups", "payers", "question"):
        assert browser.inside.get(f"look/piece/{part}").status_code == 200
    found = text_of(browser.post("look/attack", random="yes"))
    matches = re.findall(r"([0-9,]+)\s+rows? match(?:es)?, of", found)
    assert len(matches) == 2
    assert int(matches[1]) >= 5
    picked = re.search(r'name="pick" value="([0-9]+)"', browser.page("look"))
    assert picked is not None
    assert "is shown together with" in browser.post("look/group", pick=picked[1])
    assert "Number of people by" in browser.post("look/ask", figure="count", by="1")

    # Answer: a title is no new release, and the register has one entry.
    browser.post("answer/about", title="First", certificate="on", accept="a test")
    browser.write()
    assert known() == 1
    page = browser.post("answer/about", title="Second <b>", certificate="on", accept="a test")
    assert "write it again" in page
    browser.write()
    assert known() == 1
    files = browser.downloads("answer")
    assert json.loads(files["report.json"])["about"]["title"] == "Second <b>"
    shown = re.search(r'src="(files/[0-9a-f]+)\?show=1"', browser.page("answer"))
    assert shown is not None
    report = browser.inside.get(f"{shown[1]}?show=1")
    assert "Second &lt;b&gt;" in report.text
    policy = report.headers["content-security-policy"]
    assert "style-src 'unsafe-inline'" in policy
    assert "script-src" not in policy  # so none, by default-src
    assert "default-src 'none'" in policy

    # The checklist is part of the work.
    points = re.findall(r'name="point" value="(point-[0-9a-f]+)"', browser.page("answer"))
    assert points
    assert "You have checked every point" in browser.post("answer/check", point=points)
    assert points[0] in browser.inside.get("files/work.toml").text

    # Hand over: what is in the release, and what makes it again.
    files = browser.downloads("hand_over")
    released = files["people-released.csv"]
    digest = hashlib.sha256(released).hexdigest()
    assert json.loads(files["report.json"])["output"]["sha256"] == digest
    mine = zipfile.ZipFile(BytesIO(files["for-your-files.zip"]))
    others = zipfile.ZipFile(BytesIO(files["for-the-recipient.zip"]))
    kept = {"covey.toml", "release.py", "release.ipynb"}
    assert set(mine.namelist()) - set(others.namelist()) == kept
    assert all(mine.read(name) == files[name] for name in mine.namelist())
    browser.post("hand_over/prove")
    page = browser.until("hand_over", "bytes.</p>")
    assert "The script gives the same bytes" in page
    assert digest in page
    assert known() == 1  # the proof has a register of its own

    # Saved where the custodian says, and never over a file without asking.
    home = tmp_path / "home"
    browser.post("hand_over/save", folder=str(home))
    assert (home / "people-released.csv").read_bytes() == released
    assert not (home / "release.py").exists()
    for nowhere in ("~nobody-at-all/x", "x" * 5_000, "/root\0/x", str(home / "people.csv"), " "):
        assert 'class="told bad"' in browser.post("hand_over/save", folder=nowhere)
    (home / "report.json").write_text("mine", encoding="utf-8")
    assert "report.json" in browser.post("hand_over/save", folder=str(home), all="on")
    assert (home / "report.json").read_text(encoding="utf-8") == "mine"
    assert not (home / "release.py").exists()
    browser.post("hand_over/save", folder=str(home), all="on", replace="on")
    assert (home / "report.json").read_bytes() == files["report.json"]
    assert known() == 1

    # Another release is another entry, and the two are compared.
    browser.make(6)
    assert 'href="make"' not in browser.page("answer").split('id="main"')[1]
    browser.write()
    assert known() == 2
    register = Register.of(None)
    assert register is not None
    earlier = text_of(browser.page("answer")).split("Earlier releases")[1]
    assert "of the people" in earlier
    first = register.releases()[0]
    assert f"Does anyone else have {first.name}" in earlier
    assert "never left this machine" in earlier
    browser.post("answer/forget", release=first.id)
    assert [one.k for one in register.releases()] == [6]


@pytest.mark.slow
def test_what_recipients_get_has_no_cell_that_the_release_does_not_show(browser: Browser) -> None:
    browser.make(5)
    browser.post("answer/about", certificate="on", accept="a test")
    browser.write()
    packed = zipfile.ZipFile(BytesIO(browser.downloads("hand_over")["for-the-recipient.zip"]))
    everything = "\n".join(packed.read(name).decode() for name in packed.namelist())
    released = packed.read("people-released.csv").decode()
    table = Path(browser.inside.studio.work.opened.place)
    lines = [line.split(",") for line in table.read_text(encoding="utf-8").splitlines()[1:]]
    days = {cell for line in lines for cell in line if re.fullmatch(r"20\d\d-\d\d-\d\d", cell)}
    assert days
    assert not [day for day in days if day in everything and day not in released]
    codes = {cell for line in lines for cell in line if re.fullmatch(r"[0-9]{5}", cell)}
    shown = set(re.findall(r"(?<![0-9.])[0-9]{5}(?![0-9*])", released))
    told = set(re.findall(r"(?<![0-9.a-f])[0-9]{5}(?![0-9a-f*])", everything))
    assert not (told & codes) - shown


@pytest.mark.parametrize(
    ("action", "sent"),
    [
        ("look/rows", {"order": "best"}),
        ("look/rows", {"order": "first", "page": "-1"}),
        ("look/group", {"pick": "../1"}),
        ("look/group", {"pick": "999999999"}),
        ("look/group", {}),
        ("look/payers", {"column": "77"}),
        ("look/ask", {"figure": "mean-99", "by": "0"}),
        ("look/ask", {"figure": "sum", "by": "0"}),
        ("look/ask", {"figure": "share-1", "by": "0", "value": ""}),
        ("look/attack", {"known-0": "old"}),
        ("answer/forget", {"release": "nothing"}),
        ("hand_over/save", {"folder": "/tmp"}),
        ("hand_over/prove", {}),
        ("hand_over/accept", {"accept": "nothing is written yet"}),
        ("answer/mend", {"column": "0"}),
    ],
)
def test_a_request_that_makes_no_sense_is_answered(
    made: Browser, action: str, sent: dict[str, str]
) -> None:
    page = made.post(action, **sent)
    assert 'class="told bad"' in page
