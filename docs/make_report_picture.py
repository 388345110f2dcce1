"""Take the pictures of the page on reports: the report of `covey demo`, in a real browser.

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


def report(path: Path, rows: int = 10_000, k: int = 10) -> None:
    """Write the report of `covey demo`."""
    people, schema = demo.people(rows), demo.schema()
    release = covey.anonymize(people, schema, require=[KAnonymity(k)], key=bytes(32))
    release.write(path.with_suffix(".csv"), report=path, register=False)


def take(page_path: Path, folder: Path) -> None:
    """Take the first screen of a report, and its columns before and after."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=QUIETLY)
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        page.goto(page_path.as_uri())
        page.screenshot(
            path=folder / "report.png", clip={"x": 0, "y": 0, "width": WIDTH, "height": 645}
        )
        columns = page.locator("section", has_text="Each column before and after").bounding_box()
        assert columns is not None
        page.screenshot(
            path=folder / "report-columns.png",
            full_page=True,
            clip={"x": 0, "y": columns["y"] + 1, "width": WIDTH, "height": 975},
        )
        browser.close()


def main() -> None:
    """Make both pictures."""
    with TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        report(page)
        take(page, FOLDER)


if __name__ == "__main__":
    main()
