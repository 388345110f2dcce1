"""covey studio in a real browser, as people use it: with a mouse, with keys, on any screen."""

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

import openpyxl
import polars as pl
import pytest
from make_report_picture import FOLDER

import covey
from covey.studio.pages import STEPS
from studios import Served, served, wait

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.slow  # a browser and servers have to start

WIDTHS = (390, 1280, 1920)
K = 5
PATIENCE = 60_000  # milliseconds

# Bring the next part that is still to come into sight; say whether there is one.
NEXT = """() => {
    const next = document.querySelector(".later > span.quiet");
    if (next) next.scrollIntoView(); else window.scrollTo(0, 0);
    return next === null;
}"""


# How much the browser keeps of what it has seen.
KEPT = """async () => [localStorage.length, sessionStorage.length, document.cookie.length,
    (await indexedDB.databases()).length, (await caches.keys()).length,
    (await navigator.serviceWorker.getRegistrations()).length]"""


class Seen:
    """A page of a studio, and what its browser was asked for and has said."""

    def __init__(self, context: "BrowserContext", studio: Served) -> None:
        context.set_default_timeout(PATIENCE)
        self.page: Page = context.new_page()
        self.studio = studio
        self.messages: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("dialog", lambda dialog: self.messages.append(f"dialog: {dialog.message}"))
        # Choosers of files are awaited from the start: a browser takes a while to notice that.
        self.page.on("filechooser", lambda _: None)
        context.on("request", lambda request: self.asked.append(request.url))

    def to(self, step: str) -> "Page":
        """Go to a step, and wait until its pictures are there; also those further below."""
        self.page.goto(self.studio.address + step)
        wait(lambda: self.page.evaluate(NEXT))
        return self.page

    def is_quiet(self) -> bool:
        """Whether nothing was complained about, asked of others, put into addresses or kept."""
        outside = [url for url in self.asked if not url.startswith((self.studio.address, "data:"))]
        assert (self.messages, outside) == ([], [])
        own = [url.removeprefix(self.studio.address) for url in self.asked]
        assert [url for url in own if re.search("Zq|town|diagnosis", url)] == []
        assert set(self.page.evaluate(KEPT)) == {0}
        return True


@pytest.fixture
def opened(browser: "Browser") -> Iterator[Any]:
    contexts = []

    def open_(studio: Served, width: int = 1280, light: Any = "light") -> Seen:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=light, accept_downloads=True
        )
        contexts.append(context)
        return Seen(context, studio)

    yield open_
    for context in contexts:
        context.close()


# ── tables ──────────────────────────────────────────────────────────────────────────────────────


def invented(rows: int = 80) -> list[list[object]]:
    dice = Random(3)
    head: list[object] = ["name", "age", "sex", "town", "diagnosis"]
    return [head] + [
        [f"Zq1name{i}", dice.randint(18, 90), dice.choice("fm"), f"Zq3{dice.choice('ABCD')}town",
         f"Zq4{dice.choice(['flu', 'gout', 'mumps'])}"]
        for i in range(rows)
    ]  # fmt: skip


def workbook(path: Path) -> Path:
    book = openpyxl.Workbook()
    for row in invented():
        book.worksheets[0].append(row)
    book.save(path)
    return path


ODD_NAMES = (
    'say "it\'s"',
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "&amp;&lt;",
    "👩‍👩‍👧‍👦 emoji",
    "العمر والجنس",
    "\u202egnihtemos\u202c",
    "x" * 400,
    "日本語の長い名前" * 8,
    "a.b[0]=\\'c\\n",
    "javascript:alert(3)",
    "{{7*7}}${7*7}",
)


CELLS = ("<b>x</b>", '"><script>alert(4)</script>', "نعم", "y" * 200, "z")


def odd(path: Path) -> Path:
    """Columns with odd names and cells; the first has more categories than a page shows."""
    dice, rows = Random(4), range(450)
    columns: dict[str, list[object]] = {"town": [f"town {i} 'of' <i>{i}</i>" for i in rows]}
    for place, name in enumerate(ODD_NAMES):
        columns[name] = [dice.randint(0, 90) if place % 3 else dice.choice(CELLS) for _ in rows]
    pl.DataFrame(columns, strict=False).write_csv(path)
    return path


# ── the whole way ───────────────────────────────────────────────────────────────────────────────


class Hand(Protocol):
    """How somebody uses a page."""

    def press(self, what: str) -> None: ...
    def write(self, what: str, text: str) -> None: ...
    def choose(self, what: str, path: Path) -> None: ...
    def next_role(self, place: int) -> None: ...


class Mouse:
    def __init__(self, page: "Page") -> None:
        self.page = page

    def press(self, what: str) -> None:
        self.page.locator(what).first.click()

    def write(self, what: str, text: str) -> None:
        self.page.locator(what).fill(text)
        self.page.locator("h1").click()

    def choose(self, what: str, path: Path) -> None:
        with self.page.expect_file_chooser() as chooser:
            self.page.locator(what).click()
        chooser.value.set_files(path)

    def next_role(self, place: int) -> None:
        self.page.locator(f"label:has(#role-{place}-sensitive)").click()


class Keys:
    """No mouse: Tab, arrows, Enter, Space and letters."""

    def __init__(self, page: "Page") -> None:
        self.page = page

    def reach(self, what: str) -> None:
        for _ in range(400):
            if self.page.evaluate("what => document.activeElement.matches(what)", what):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {what}")

    def press(self, what: str) -> None:
        self.page.wait_for_selector(what)
        self.reach(what)
        self.page.keyboard.press("Enter")

    def write(self, what: str, text: str) -> None:
        self.page.wait_for_selector(what)
        self.reach(what)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)
        self.page.keyboard.press("Tab")

    def choose(self, what: str, path: Path) -> None:
        self.reach(what)
        with self.page.expect_file_chooser() as chooser:
            self.page.keyboard.press("Enter")
        chooser.value.set_files(path)

    def next_role(self, place: int) -> None:
        self.reach(f"#role-{place}-quasi")
        self.page.keyboard.press("ArrowRight")


def whole_way(hand: Hand, page: "Page", table: Path) -> bytes:
    """From a workbook to a downloaded release and all that goes with it."""
    hand.choose("#file", table)
    page.wait_for_selector(f"h1:text-is('{table.name}')")
    hand.press(".onwards a[href=roles]")
    page.wait_for_selector("#role-3-quasi:checked")
    hand.next_role(3)
    page.wait_for_selector("#role-3-sensitive:checked")
    hand.press("#undo")
    page.wait_for_selector("#role-3-quasi:checked")
    hand.press("form[action='roles/confirm'] button")
    hand.press("form[action='shown/confirm'] button")
    hand.write("#k-typed", str(K))
    page.wait_for_selector(f"#line:has-text('k {K}')")
    hand.press(".onwards a[href=make]")
    hand.press("form[action='make/start'] button")
    page.wait_for_selector(".verdict.good")
    hand.press(".onwards a[href=look]")
    hand.press("#random")
    page.wait_for_selector(".versus")
    hand.press(".onwards a[href=answer]")
    hand.write("#title", "It's a “test”")
    hand.write("#accept", "nothing is published")
    hand.press("form[action='answer/write'] button")
    page.frame_locator("#report-page").locator("h1").wait_for()
    hand.press(".onwards a[href=hand_over]")
    page.wait_for_selector("#dictionary")
    with page.expect_download() as download:
        hand.press("a.button[download]")
    return Path(download.value.path()).read_bytes()


@pytest.fixture(scope="module")
def walked(
    browser: "Browser", tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Served, bytes]]:
    """A studio in which somebody went the whole way with a mouse, and what was downloaded."""
    home = tmp_path_factory.mktemp("walked")
    with served(home) as studio:
        seen = Seen(browser.new_context(accept_downloads=True), studio)
        data = whole_way(Mouse(seen.to("")), seen.page, workbook(home / "people.xlsx"))
        assert seen.is_quiet()
        seen.page.context.close()
        yield studio, data


@pytest.fixture(scope="module")
def made(walked: tuple[Served, bytes]) -> Served:
    """A studio with a release that is written."""
    return walked[0]


def test_the_whole_way_with_a_mouse(walked: tuple[Served, bytes], tmp_path: Path) -> None:
    is_a_verified_release(*walked, tmp_path)


def test_the_whole_way_with_keys(opened: Any, tmp_path: Path) -> None:
    with served(tmp_path) as studio:
        seen = opened(studio)
        data = whole_way(Keys(seen.to("")), seen.page, workbook(tmp_path / "people.xlsx"))
        assert seen.is_quiet()
        is_a_verified_release(studio, data, tmp_path)


def is_a_verified_release(studio: Served, data: bytes, folder: Path) -> None:
    schema = folder / "covey.toml"
    with studio.client() as client:
        schema.write_bytes(client.get("files/covey.toml").content)
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        packed.extractall(folder)
    verdict = covey.verify(
        folder / "people-released.xlsx",
        covey.Schema.from_toml(schema),
        require=covey.KAnonymity(K),
    )
    assert verdict.holds
    assert "It’s a" in (folder / "report.html").read_text(encoding="utf-8").replace("&#x27;", "’")


SLOW = """
const quick = window.fetch;
window.fetch = async (...asked) => {
  const answer = await quick(...asked);
  if (String(asked[0]).endsWith("answer/about")) await new Promise((wake) => setTimeout(wake, 700));
  return answer;
};
"""


def test_a_page_that_comes_late_leaves_what_is_typed_and_the_focus(
    opened: Any, made: Served
) -> None:
    seen = opened(made)
    seen.page.add_init_script(SLOW)
    page = seen.to("answer")
    page.locator("#title").click()
    page.keyboard.press("Control+a")
    page.keyboard.type("First")
    page.keyboard.press("Tab")
    page.keyboard.type("Second")
    page.wait_for_selector("#title[value=First]")
    assert page.locator("#purpose").input_value() == "Second"
    Keys(page).reach("form[action='answer/write'] button")
    page.wait_for_selector("#purpose[value=Second]")
    assert page.evaluate("document.activeElement.form.getAttribute('action')") == "answer/write"
    page.locator("#purpose").fill("Third")
    Keys(page).reach("form[action='answer/write'] button")
    page.keyboard.press("Enter")  # the page that shows the third text has not come yet
    page.frame_locator("#report-page").locator("body:has-text('Third')").wait_for()
    assert page.locator("#purpose").input_value() == "Third"
    assert seen.is_quiet()


LATE = """
const quick = window.fetch;
window.fetch = async (...asked) => {
  const answer = await quick(...asked);
  if (asked[1]?.method === "POST") await new Promise((wake) => setTimeout(wake, 400));
  return answer;
};
"""


def test_a_page_that_comes_while_the_mouse_is_pressed_leaves_the_click(
    opened: Any, made: Served
) -> None:
    seen = opened(made)
    seen.page.add_init_script(LATE)
    page = seen.to("roles")
    page.wait_for_selector("#role-3-quasi:checked")
    Mouse(page).next_role(3)
    page.hover("#undo")
    page.mouse.down()
    page.wait_for_timeout(800)  # the answer has come
    page.mouse.up()
    page.wait_for_selector("#role-3-quasi:checked")
    assert seen.is_quiet()


QUICK = """
new MutationObserver((_, own) => {
  const role = document.getElementById("role-3-sensitive");
  if (!role) return;
  own.disconnect();
  role.click();
}).observe(document, { childList: true, subtree: true });
"""


def test_a_choice_counts_while_the_page_is_still_loading(opened: Any, made: Served) -> None:
    seen = opened(made)
    seen.page.add_init_script(QUICK)
    page = seen.page
    with page.expect_response(lambda answer: answer.url.endswith("roles/set")):
        page.goto(made.address + "roles")
    page.wait_for_selector("#undo:has-text('town')")
    assert page.locator("#role-3-sensitive").is_checked()
    Mouse(page).press("#undo")
    page.wait_for_selector("#role-3-quasi:checked")
    assert seen.is_quiet()


# ── every step ──────────────────────────────────────────────────────────────────────────────────


def make(client: Any) -> None:
    client.post("price/k", data={"k": str(K)})
    client.post("make/start")
    wait(lambda: 'class="verdict good"' in client.get("make").text)
    client.post("answer/about", data={"title": "Odd", "certificate": "on", "accept": "x"})
    client.post("answer/write")
    wait(lambda: "For the recipient" in client.get("hand_over").text)
    client.post("look/attack", data={"random": "yes"})


SCROLLS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
UNFOLD = "document.querySelectorAll('details').forEach(one => one.open = true)"


def fits(page: "Page") -> dict[int, int]:
    """By how many pixels the page is too wide, on each screen."""
    beyond = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        beyond[width] = page.evaluate(SCROLLS)
    return {width: pixels for width, pixels in beyond.items() if pixels > 0}


@pytest.mark.parametrize("light", ["light", "dark"])
def test_every_step_is_readable_for_everyone(opened: Any, made: Served, light: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing")
    seen = opened(made, light=light)
    found: dict[str, Any] = {}
    for step in STEPS:
        page = seen.to(step)
        page.evaluate(UNFOLD)
        beyond = fits(page)
        page.set_viewport_size({"width": 1280, "height": 900})
        faults = axe.Axe().run(page).response["violations"]
        listed = [(rule["id"], [n["html"][:150] for n in rule["nodes"]]) for rule in faults]
        if beyond or listed:
            found[step] = beyond, listed
    assert found == {}
    assert seen.is_quiet()


def test_a_step_that_is_too_wide_would_be_found(opened: Any, made: Served) -> None:
    page = opened(made).to("open")
    page.evaluate("document.querySelector('h1').style.width = '500px'")
    assert 390 in fits(page)


def test_reload_and_back_lose_nothing(opened: Any, made: Served) -> None:
    seen = opened(made)
    page = seen.to("price")
    page.locator("#k-typed").fill("7")
    page.locator("#k-typed").press("Enter")
    page.wait_for_selector("#line:has-text('k 7')")
    page.reload()
    assert page.locator("#k-typed").input_value() == "7"
    page.locator("#rail a[href=roles]").click()
    page.wait_for_url("**/roles")
    page.go_back()
    page.wait_for_url("**/price")
    assert page.locator("#k-typed").input_value() == "7"
    page.locator("#undo").click()
    page.wait_for_selector(f"#line:has-text('k {K}')")
    assert page.locator("#k-typed").input_value() == str(K)
    page.go_forward()
    page.wait_for_url("**/roles")
    assert page.locator("h1").inner_text() == "Who could recognise whom?"
    assert seen.is_quiet()


def test_odd_names_are_shown_and_never_run(opened: Any, tmp_path: Path) -> None:
    with served(tmp_path, odd(tmp_path / "odd.csv")) as studio, studio.client() as client:
        wait(lambda: "looks right" in client.get("open").text)
        client.post("roles/set", data={"column": "0", "role": "quasi"})
        client.post("make/options", data={"effort": "fast"})
        make(client)
        seen, words = opened(studio), ""
        for step in STEPS:
            page = seen.to(step)
            assert fits(page) == {}, step
            page.set_viewport_size({"width": 1280, "height": 900})
            words += page.locator("#main").inner_text()
        assert ODD_NAMES[1] in words
        assert "town 7 'of' <i>7</i>" in words
        assert seen.is_quiet()


@pytest.mark.parametrize("name", ["roles", "price", "look", "hand-over"])
def test_the_pictures_of_the_documentation_are_small(name: str) -> None:
    data = (FOLDER / f"studio-{name}.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert len(data) < 300_000
    assert f"](studio-{name}.png)" in (FOLDER / "studio.md").read_text(encoding="utf-8")
