"""The pages in a real browser: readable in every theme and width, without network requests."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from make_report_picture import FOLDER

import covey
from covey import KAnonymity, demo
from covey import html as pages
from covey.report import charts
from covey.report.charts import LINE, Bar
from covey.schema.requirements import Requirement
from covey_experiments import page as experiments
from covey_experiments.figures import chosen
from covey_experiments.judging import Curve, judge
from covey_experiments.running import Drawn

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow  # a browser has to start

SCREENS = {"wide": (1280, 900), "phone": (360, 740)}
# Sizes, shares; columns; curve. Of the papers' figures, two.
PICTURES = {"good": 2 + 8 + 1, "bad": None, "experiments": 2}


def unfold(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One that holds, with all there is, one that does not, and the page of experiments."""
    folder = tmp_path_factory.mktemp("pages")
    people, schema = demo.people(300), demo.schema()
    curve = covey.curve(people, schema, k=[2, 5, 20], effort="fast")
    release = covey.anonymize(people, schema, require=[KAnonymity(5)], effort="fast")
    found = {"good": folder / "good.html", "bad": folder / "bad.html"}
    about = covey.About("Stays", "tests of pages", "nobody", "the authors of these tests")
    release.write(folder / "released.csv", report=found["good"], curve=curve, about=about)
    asked: list[Requirement] = [KAnonymity(50), covey.LDiversity(3, "diagnosis")]
    covey.report_on(people, release.table, schema, require=asked).write(found["bad"])
    return found | {"experiments": papers_figures(folder)}


def papers_figures(folder: Path) -> Path:
    """The page of two figures with made-up points, of one without any, and of worked examples."""
    figures, examples = chosen(["byun-6", "wang-3a", "byun-7", "he-tables", "wang-1"])
    drawn = []
    for figure in figures:
        places = () if figure.name == "byun-7" else tuple(map(float, figure.grid.full))
        curves = {
            line.label: Curve(places, y, y, tuple(1.1 * value for value in y))
            for height, line in enumerate(figure.lines, start=1)
            for y in [tuple(height / x for x in places)]
        }
        verdict = judge(figure.parts, curves)
        drawn.append(Drawn(figure, curves, verdict, ("made-up points",), "n = 1", (7,)))
    told = experiments.Circumstances("2025-01-01", "covey experiment", "a machine", True, 3)
    worked = [(example, example.work()) for example in examples]
    return experiments.write(folder, experiments.Results(drawn, worked, told))


class Opened(NamedTuple):
    page: Any
    told: list[str]  # by the console, or by errors
    asked: list[str]  # addresses other than the page's own


@pytest.fixture
def opened(browser: "Browser") -> Iterator[Any]:
    contexts = []

    def open_(path: Path, screen: str = "wide", light: Any = "light") -> Opened:
        width, height = SCREENS[screen]
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=light
        )
        contexts.append(context)
        page = context.new_page()
        seen = Opened(page, [], [])

        def route(route: Any) -> None:
            if route.request.url == path.as_uri():
                route.continue_()
            else:
                seen.asked.append(route.request.url)
                route.abort()

        context.route("**/*", route)
        page.on("console", lambda message: seen.told.append(message.text))
        page.on("pageerror", lambda error: seen.told.append(str(error)))
        page.goto(path.as_uri())
        return seen

    yield open_
    for context in contexts:
        context.close()


SIDES = """all => all.map(mark => mark.getBoundingClientRect())
                     .map(box => [box.width, box.height])"""


@pytest.mark.parametrize(("screen", "light"), [("wide", "light"), ("phone", "dark")])
@pytest.mark.parametrize("which", PICTURES)
def test_a_page_opens_quietly_draws_every_figure_and_is_accessible(
    reports: dict[str, Path], opened: Any, screen: str, light: str, which: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing")
    seen = opened(reports[which], screen, light)
    figures = seen.page.locator("figure svg").all()
    assert PICTURES[which] in (None, len(figures))
    for figure in figures if PICTURES[which] else []:
        box = figure.bounding_box()
        assert box["width"] > 200
        assert box["height"] > 20
        marks = figure.locator(".mark-rect path, .mark-line path, .mark-symbol path")
        assert any(min(sides) > 2 for sides in marks.evaluate_all(SIDES))
    # A page that is wider than its screen would have to be moved to be read.
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= SCREENS[screen][0]
    assert (seen.told, seen.asked) == ([], [])
    unfold(seen.page)
    found = axe.Axe().run(seen.page).response["violations"]
    assert [(rule["id"], [n["html"][:150] for n in rule["nodes"]]) for rule in found] == []


# Which texts of pictures are not within them, and by how many pixels on each side.
BEYOND = """all => all.flatMap(svg => {
    const frame = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].map(text => [text, text.getBoundingClientRect()])
        .filter(([text, box]) => box.width)
        .map(([text, box]) => [text.textContent, frame.left - box.left, box.right - frame.right,
                               frame.top - box.top, box.bottom - frame.bottom])
        .filter(([text, ...sides]) => Math.max(...sides) > 0.5);
})"""
NAMES = (
    "1,000,000 to 1,499,999",
    "-1,234,567.125 to under -1,234,567.05",
    "日本語の長い名前" * 5,
    "한국어 이름이 아주 길다면" * 3,
    "WWWWWMMMMM" * 4,
    "x" * 200,
    "Größenwahn, Œuvre, Ærø, " * 3,
    "👩‍👩‍👧‍👦" * 12,
    "اسم طويل جدا " * 5,
    "a\nb\tc",
    "",
)


def labelled(folder: Path) -> Path:
    """A page of bars with names that are long in all ways, with numbers behind them and without."""
    path = folder / "labelled.html"
    pictures = [
        pages.figure(charts.svg(charts.bars(list(NAMES), bars, thick=12)), "bars")
        for bars in (
            [Bar(i, 0, 1e9 - 1e8 * i, LINE) for i in range(len(NAMES))],
            [Bar(i, 0, 9.99e9, LINE, text="9,999,999,999") for i in range(len(NAMES))],
        )
    ]
    path.write_text(pages.page("bars", pages.element("main", *pictures)), encoding="utf-8")
    return path


def test_every_text_of_a_picture_is_within_it(
    reports: dict[str, Path], tmp_path: Path, opened: Any
) -> None:
    for path in (*reports.values(), labelled(tmp_path)):
        page = opened(path).page
        unfold(page)
        for width, height in SCREENS.values():
            page.set_viewport_size({"width": width, "height": height})
            for face in ("DejaVu Sans", "Liberation Sans", ""):
                page.evaluate(f"document.body.style.fontFamily = {face!r}")
                assert page.locator("figure svg text").count() > 5
                assert page.locator("figure svg").evaluate_all(BEYOND) == [], (path, width, face)


def test_a_text_beyond_its_picture_would_be_found(reports: dict[str, Path], opened: Any) -> None:
    page = opened(reports["good"]).page
    page.evaluate("document.querySelector('figure svg text').style.fontSize = '90px'")
    assert len(page.locator("figure svg").evaluate_all(BEYOND)) == 1


def test_a_picture_without_a_name_would_be_found(reports: dict[str, Path], opened: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing")
    page = opened(reports["good"]).page
    page.evaluate("document.querySelector('figure svg').removeAttribute('aria-label')")
    assert [rule["id"] for rule in axe.Axe().run(page).response["violations"]] == ["svg-img-alt"]


def colours(page: Any) -> dict[str, str]:
    ask = "([one, what]) => getComputedStyle(document.querySelector(one))[what]"
    return {
        "paper": page.evaluate(ask, ["body", "backgroundColor"]),
        "ink": page.evaluate(ask, ["body", "color"]),
        "text": page.evaluate(ask, ["figure svg text", "fill"]),
        "bar": page.evaluate(ask, [".gallery svg .mark-rect path", "fill"]),
    }


def test_pictures_follow_the_light_and_paper_is_white(
    reports: dict[str, Path], opened: Any
) -> None:
    light, dark = (
        colours(opened(reports["good"], "wide", which).page) for which in ("light", "dark")
    )
    assert light["paper"] == "rgb(255, 255, 255)"
    assert all(light[part] != dark[part] for part in light)
    for shown in (light, dark):
        assert shown["text"] == shown["ink"]
    page = opened(reports["good"], "wide", "dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert colours(page)["paper"] == light["paper"]


def test_lines_follow_the_light(reports: dict[str, Path], opened: Any) -> None:
    ask = "all => all.map(one => getComputedStyle(one).stroke)"
    light, dark, printed = (
        opened(reports["experiments"], "wide", which).page for which in ("light", "dark", "dark")
    )
    printed.emulate_media(media="print", color_scheme="dark")
    drawn = "figure svg .mark-line.role-mark path"
    by_day, by_night, on_paper = (
        page.locator(drawn).evaluate_all(ask) for page in (light, dark, printed)
    )
    assert len(set(by_day)) == len(set(by_night)) == 6
    assert not set(by_night) & {*by_day, *on_paper}


def test_the_first_screen_says_whether_the_promise_holds(
    reports: dict[str, Path], opened: Any
) -> None:
    for which, words in (
        ("good", "Every row looks like at least 4 other rows ("),
        ("bad", "Do not publish this table as it is."),
    ):
        for screen, (_, height) in SCREENS.items():
            page = opened(reports[which], screen).page
            heading = page.locator("h1")
            assert heading.inner_text().startswith(words)
            box = heading.bounding_box()
            assert box["y"] + box["height"] < height


def test_a_page_can_be_printed(reports: dict[str, Path], opened: Any) -> None:
    data = opened(reports["good"]).page.pdf(format="A4")
    assert data.startswith(b"%PDF")
    assert len(data) > 20_000
    pages = data.count(b"/Type /Page\n") + data.count(b"/Type /Page ")
    assert 3 <= pages <= 14


def test_names_that_others_chose_do_not_run(tmp_path: Path, opened: Any) -> None:
    from report.test_report import evil_release

    _, _, release = evil_release()
    path = tmp_path / "evil.html"
    release.report.write(path)
    seen = opened(path)
    dialogs: list[Any] = []
    seen.page.on("dialog", lambda dialog: dialogs.append(dialog.dismiss()))
    seen.page.reload()
    assert (seen.told, seen.asked, dialogs) == ([], [], [])
    assert "<script>alert(1)</script>" in seen.page.locator("body").inner_text()


def test_the_contents_lead_to_every_section(reports: dict[str, Path], opened: Any) -> None:
    """Without scripts: a link moves the page to its section."""
    page = opened(reports["good"], "phone").page
    links = page.locator("nav.contents a").all()
    titles = page.locator("main section h2").all_inner_texts()
    assert [link.inner_text() for link in links] == titles
    assert len(titles) >= 8
    for link, title in zip(links, titles, strict=True):
        link.click()
        top = page.locator("main section h2", has_text=title).bounding_box()["y"]
        assert -5 <= top < SCREENS["phone"][1]


def test_numbers_are_upright_and_categories_lie(reports: dict[str, Path], opened: Any) -> None:
    """Bars of one figure begin on one line: the lower one, or the one at the left."""
    ask = """all => all.map(bar => bar.getBoundingClientRect())
                      .map(box => [box.left, box.bottom].map(Math.round))"""
    page = opened(reports["good"]).page
    for name, upright in (("age", True), ("admission_date", True), ("education", False)):
        figure = page.locator(".gallery figure", has=page.locator(f"strong:text-is('{name}')"))
        edges = figure.locator(".mark-rect path").evaluate_all(ask)
        lefts, bottoms = (len(set(side)) for side in zip(*edges, strict=True))
        assert (bottoms < lefts) == upright, name


@pytest.mark.parametrize(
    ("name", "page"),
    [("report.png", "report"), ("report-columns.png", "report"), ("curve.png", "curve")],
)
def test_the_pictures_of_the_documentation_are_small(name: str, page: str) -> None:
    data = (FOLDER / name).read_bytes()
    assert data.startswith(b"\x89PNG")
    assert len(data) < 300_000
    assert f"]({name})" in (FOLDER / f"{page}.md").read_text(encoding="utf-8")
