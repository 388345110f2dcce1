"""Looking, answering and handing over, page by page, as a browser would ask for them."""

import hashlib
import json
import re
import zipfile
from collections.abc import Iterator
from html import unescape
from io import BytesIO
from pathlib import Path

import pytest

from covey import demo
from covey.custody.register import Register
from covey.errors import percent
from covey.studio.work import History
from studios import PEOPLE, Inside, inside, read

pytestmark = pytest.mark.slow  # a release is made before the first test, and several later


@pytest.fixture(autouse=True, scope="module")
def register(custodian: Path) -> Iterator[Register]:
    """One register for all tests here: processes keep the one that they were started with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COVEY_REGISTER", str(custodian / "answer"))
        found = Register.of(None)
        assert found is not None
        yield found


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, register: Register) -> Iterator[Inside]:
    """A studio with a release of invented people."""
    table, _ = demo.write(tmp_path_factory.mktemp("home"), 150)
    with inside(tmp_path_factory.mktemp("own"), str(table)) as found:
        found.until("open", "people.csv")
        found.make(5)
        yield found


@pytest.fixture
def browser(studio: Inside) -> Iterator[Inside]:
    """The same, without what other tests decided; who makes another release comes last."""
    own = studio.studio
    history, release = History(own.work), own.results["release"]
    own.results = {"release": release}
    yield studio
    own.history, own.results = history, {"release": release}


def text_of(page: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", page))


def test_without_a_release_each_page_leads_to_making_it(browser: Inside) -> None:
    browser.send("price/k", k=7)
    for step in ("look", "answer", "hand_over"):
        page = browser.page(step)
        assert 'href="make"' in page[page.index('id="main"') :]
    for action in ("look/attack", "look/rows", "answer/write", "answer/check"):
        assert "make it first" in browser.send(action, order="first")


def test_what_stays_open_is_asked_once_and_answered_in_the_report(browser: Inside) -> None:
    browser.write()
    page = browser.page("hand_over")
    assert "no purpose" in page
    assert not re.findall(r'href="files/[0-9a-f]{16}"', page)
    assert "left open for" in browser.send("hand_over/save", folder="/nowhere")
    assert "left open for" in browser.send("hand_over/accept", accept=" ")
    browser.send("hand_over/accept", accept="only for <us>")
    page = browser.until("hand_over", "For the recipient")
    assert "Still open" not in page
    report = json.loads(browser.downloads("hand_over")["report.json"])
    assert report["about"]["accept"] == "only for <us>"


def test_the_price_of_hiding_a_value_is_found(browser: Inside) -> None:
    columns = browser.studio.table.names
    assert 'id="mends"' in browser.page("answer")
    revealing = re.findall(r'name="column" value="([0-9]+)"', browser.page("answer"))
    assert {columns[int(place)] for place in revealing} <= {"income", "diagnosis", "length_of_stay"}
    place = columns.index("income")
    browser.send("answer/mend", column=place)
    page = text_of(browser.until("answer", "lost per cell"))
    assert re.search(r"income\s+[0-9.]+\s%\s+[0-9.]+\s% lost per cell instead of [0-9.]+\s%", page)
    browser.send("price/require", column=place, l=2)
    assert getattr(browser.studio.schema.require, "l") == {"income": 2}  # noqa: B009


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
        ("look/mend", {"remedy": "luck"}),
        ("look/mend", {"remedy": "quasi", "column": "77"}),
        ("look/mend", {"remedy": "l", "column": "2"}),
        ("answer/forget", {"release": "nothing"}),
        ("hand_over/save", {"folder": "/tmp"}),
        ("hand_over/prove", {}),
        ("hand_over/accept", {"accept": "nothing is written yet"}),
        ("answer/mend", {"column": "0"}),
    ],
)
def test_a_request_that_makes_no_sense_is_answered(
    browser: Inside, action: str, sent: dict[str, str]
) -> None:
    page = browser.send(action, **sent)
    assert 'class="told bad"' in page


@pytest.mark.slow
def test_attackers_say_how_often_they_succeed_and_what_helps(browser: Inside) -> None:
    assert "data-every" in browser.page("look")  # the page asks again until they have tried
    page = browser.until("look/piece/attackers", "All attackers")
    job = browser.studio.priced("attackers")
    assert job is not None
    text = " ".join(text_of(page).split())
    for one in job.result.summary():
        assert " ".join(percent(one.rate.rate).split()) in text
        assert one.criterion in text
    record = browser.get("files/attack.html?show=yes").text
    assert all(remedy.text in unescape(record) for remedy in job.result.remedies())
    assert all(one.attacker.name in record for one in job.result.summary())
    sent = {tuple(form.fields["remedy"]) for form in read(page).forms if form.action == "look/mend"}
    kinds = {(one.kind,) for one in job.result.remedies()}
    assert sent == kinds & {("quasi",), ("l",), ("k",)}
    assert ("l",) in sent
    assert "attackers-found" in browser.page("look")
    assert browser.studio.priced("attackers") is job  # nobody tries twice


@pytest.mark.parametrize(
    ("remedy", "name", "expected"),
    [("l", "diagnosis", "l"), ("quasi", "length_of_stay", "quasi"), ("k", "", "k")],
)
def test_what_helps_is_one_click(browser: Inside, remedy: str, name: str, expected: str) -> None:
    place = browser.studio.place(name) if name else ""
    page = browser.send("look/mend", remedy=remedy, column=place)
    assert "make it again" in page
    schema = browser.studio.schema
    found = {
        "l": getattr(schema.require, "l") == {"diagnosis": 2},  # noqa: B009
        "quasi": "length_of_stay" in schema.quasi,
        "k": schema.require.k == 6,
    }
    assert [what for what, is_so in found.items() if is_so] == [expected]
    if remedy == "l":
        browser.send("look/mend", remedy=remedy, column=place)
        assert getattr(browser.studio.schema.require, "l") == {"diagnosis": 3}  # noqa: B009


def test_from_a_look_to_the_same_bytes(browser: Inside, register: Register, tmp_path: Path) -> None:
    for entry in register.releases():
        register.forget(entry.id)

    def entered() -> int:
        return len(register.releases())

    # Look: each part comes, and what is typed stays out of addresses.
    for part in ("attack", "rows", "groups", "payers", "question"):
        assert browser.get(f"look/piece/{part}").status_code == 200
    found = text_of(browser.send("look/attack", random="yes"))
    matches = re.findall(r"([0-9,]+)\s+rows? match(?:es)?, of", found)
    assert len(matches) == 2
    assert int(matches[1]) >= 5
    picked = re.search(r'name="pick" value="([0-9]+)"', browser.page("look"))
    assert picked is not None
    assert "is shown together with" in browser.send("look/group", pick=picked[1])
    assert "Number of people by" in browser.send("look/ask", figure="count", by="1")

    # Answer: a title is no new release, and the register has one entry.
    browser.send("answer/about", title="First", certificate="on", accept="a test")
    browser.write()
    assert entered() == 1
    page = browser.send("answer/about", title="Second <b>", certificate="on", accept="a test")
    assert "write it again" in page
    browser.write()
    assert entered() == 1
    files = browser.downloads("answer")
    assert json.loads(files["report.json"])["about"]["title"] == "Second <b>"
    shown = re.search(r'src="(files/[0-9a-f]+)\?show=1"', browser.page("answer"))
    assert shown is not None
    report = browser.get(f"{shown[1]}?show=1")
    assert "Second &lt;b&gt;" in report.text
    policy = report.headers["content-security-policy"]
    assert "style-src 'unsafe-inline'" in policy
    assert "script-src" not in policy  # so none, by default-src
    assert "default-src 'none'" in policy

    # The checklist is part of the work.
    points = re.findall(r'name="point" value="(point-[0-9a-f]+)"', browser.page("answer"))
    assert points
    assert "You have checked every point" in browser.send("answer/check", point=points)
    assert points[0] in browser.get("files/work.toml").text

    # Hand over: what is in the release, and what makes it again.
    files = browser.downloads("hand_over")
    released = files["people-released.csv"]
    digest = hashlib.sha256(released).hexdigest()
    assert json.loads(files["report.json"])["output"]["sha256"] == digest
    mine = zipfile.ZipFile(BytesIO(files["for-your-files.zip"]))
    others = zipfile.ZipFile(BytesIO(files["for-the-recipient.zip"]))
    shows_only_what_is_released(browser, others)
    kept = {"covey.toml", "release.py", "release.ipynb"}
    assert set(mine.namelist()) - set(others.namelist()) == kept
    assert all(mine.read(name) == files[name] for name in mine.namelist())
    browser.send("hand_over/prove")
    page = browser.until("hand_over", "bytes.</p>")
    assert "The script gives the same bytes" in page
    assert digest in page
    assert entered() == 1  # the proof has a register of its own

    # Saved where the custodian says, and never over a file without asking.
    home = Path(browser.studio.work.opened.place).parent
    browser.send("hand_over/save", folder=str(home))
    assert (home / "people-released.csv").read_bytes() == released
    assert not (home / "release.py").exists()
    for nowhere in ("~nobody-at-all/x", "x" * 5_000, "/root\0/x", str(home / "people.csv"), " "):
        assert 'class="told bad"' in browser.send("hand_over/save", folder=nowhere)
    (home / "report.json").write_text("mine", encoding="utf-8")
    assert "report.json" in browser.send("hand_over/save", folder=str(home), all="on")
    assert (home / "report.json").read_text(encoding="utf-8") == "mine"
    assert not (home / "release.py").exists()
    browser.send("hand_over/save", folder=str(home), all="on", replace="on")
    assert (home / "report.json").read_bytes() == files["report.json"]
    assert entered() == 1

    # The same work made again has to be written again, in the place of the first.
    browser.send("make/start")
    browser.until("make", "Make it again")
    assert "not written yet" in browser.page("hand_over")

    # Another release is another entry, and the two are compared.
    browser.make(6)
    assert 'href="make"' not in browser.page("answer").split('id="main"')[1]
    browser.write()
    assert entered() == 2
    earlier = text_of(browser.page("answer")).split("Earlier releases")[1]
    assert "of the people" in earlier
    first = register.releases()[0]
    assert f"Does anyone else have {first.name}" in earlier
    assert "never left this machine" in earlier
    browser.send("answer/forget", release=first.id)
    assert [entry.k for entry in register.releases()] == [6]

    # Other people under the same name have an entry of their own.
    browser.upload("people.csv", PEOPLE.encode())
    browser.make(5)
    browser.write()
    assert entered() == 2


def shows_only_what_is_released(browser: Inside, packed: zipfile.ZipFile) -> None:
    everything = "\n".join(packed.read(name).decode() for name in packed.namelist())
    released = packed.read("people-released.csv").decode()
    table = Path(browser.studio.work.opened.place)
    lines = [line.split(",") for line in table.read_text(encoding="utf-8").splitlines()[1:]]
    days = {cell for line in lines for cell in line if re.fullmatch(r"20\d\d-\d\d-\d\d", cell)}
    assert days
    assert not [day for day in days if day in everything and day not in released]
    codes = {cell for line in lines for cell in line if re.fullmatch(r"[0-9]{5}", cell)}
    shown = set(re.findall(r"(?<![0-9.])[0-9]{5}(?![0-9*])", released))
    named = set(re.findall(r"(?<![0-9.a-f])[0-9]{5}(?![0-9a-f*])", everything))
    assert not (named & codes) - shown
