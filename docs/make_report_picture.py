"""Take the pictures of the pages on reports and curves: of `covey demo`, in a real browser.

The people are invented. It needs chromium and playwright. Run: python docs/make_report_picture.py
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import covey
from covey import KAnonymity, demo

FOLDER = Path(__file__).parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
QUIETLY = ["--no-sandbox", "--disable-gpu", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--no-first-run"]  # fmt: skip
WIDTH = 1080


ABOUT = covey.About(
    title="Hospital stays 2023–2024",
    purpose="research on the length of stays",
    recipient="Institute of Epidemiology",
    responsible="the data protection officer",
    accept="the points were read together with her",
)


def report(path: Path, rows: int = 10_000, k: int = 10) -> None:
    """Write the report of `covey demo`."""
    people, schema = demo.people(rows), demo.schema()
    release = covey.anonymize(people, schema, require=[KAnonymity(k)], key=bytes(32))
    release.write(path.with_suffix(".csv"), report=path, about=ABOUT, register=False)


def curve(path: Path, rows: int = 10_000, k: int = 10) -> None:
    """Draw the curve of the same people, half as large as for print."""
    chart = covey.curve(demo.people(rows), demo.schema(), key=bytes(32)).chart(chosen=k)
    chart.save(str(path), scale_factor=1.5)


def take(page_path: Path, folder: Path) -> None:
    """Take the first screen of a report, and its columns before and after."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=QUIETLY)
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        page.goto(page_path.as_uri())
        page.screenshot(
            path=folder / "report.png", clip={"x": 0, "y": 0, "width": WIDTH, "height": 770}
        )
        columns = page.locator("section", has_text="Each column before and after").bounding_box()
        assert columns is not None
        page.screenshot(
            path=folder / "report-columns.png",
            full_page=True,
            clip={"x": 0, "y": columns["y"] + 1, "width": WIDTH, "height": 1080},
        )
        browser.close()


def main() -> None:
    """Make all pictures."""
    curve(FOLDER / "curve.png")
    with TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        report(page)
        take(page, FOLDER)


if __name__ == "__main__":
    main()
