"""Take the pictures of covey studio: of `covey demo`, in a real browser.

The people are invented. It needs chromium and playwright. Run: python docs/make_studio_pictures.py
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from make_report_picture import ABOUT, CHROMIUM, FOLDER, QUIETLY

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTH, HEIGHT = 1180, 900
PATIENCE = 180_000  # milliseconds


@contextmanager
def studio() -> Iterator[str]:
    """Start a studio with a key and a register of its own; give its address."""
    with TemporaryDirectory() as folder:
        key = Path(folder) / "key"
        key.write_text(f"{0:064x}\n", encoding="ascii")
        key.chmod(0o600)
        own = {"COVEY_KEY_FILE": str(key), "COVEY_REGISTER": str(Path(folder) / "register")}
        command = [sys.executable, "-m", "covey", "studio", "--no-browser"]
        with subprocess.Popen(  # noqa: S603 - our own command
            command, env={**os.environ, **own}, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            try:
                yield process.stdout.readline().strip()
            finally:
                process.terminate()


def go(page: "Page", folder: Path) -> None:
    """Go the whole way, and take a picture of four steps."""

    def take(name: str, height: int) -> None:
        page.set_viewport_size({"width": WIDTH, "height": height})
        page.wait_for_load_state("networkidle")
        page.screenshot(path=folder / f"studio-{name}.png")

    page.get_by_role("button", name="Try it with invented people").click()
    page.locator(".onwards a[href=roles]").click()
    page.wait_for_selector("#main svg")
    take("roles", 1170)
    page.locator("form[action='roles/confirm'] button").first.click()
    page.locator("form[action='shown/confirm'] button").first.click()
    page.wait_for_selector("#answer:not([data-every])")  # all prices are known
    page.wait_for_selector("#curve svg")
    take("price", 1120)
    page.locator(".onwards a[href=make]").click()
    page.locator("form[action='make/start'] button").click()
    page.wait_for_selector(".verdict.good")
    page.locator(".onwards a[href=look]").click()
    page.wait_for_selector("#all-attackers")  # all of them have tried
    page.evaluate("document.getElementById('attackers').scrollIntoView()")
    page.mouse.move(0, 0)
    take("look", 820)
    page.locator(".onwards a[href=answer]").click()
    for name in ("title", "purpose", "recipient", "responsible", "accept"):
        page.locator(f"#{name}").fill(getattr(ABOUT, name))
        page.locator(f"#{name}").blur()
    page.locator("form[action='answer/write'] button").click()
    page.locator(".onwards a[href=hand_over]").click()
    page.locator("form[action='hand_over/prove'] button").click()
    page.wait_for_selector("#proof .told.good")
    page.evaluate("window.scrollTo(0, 0)")
    take("hand-over", 820)


def main() -> None:
    """Take all pictures."""
    from playwright.sync_api import sync_playwright

    with studio() as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=QUIETLY)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        go(page, FOLDER)
        browser.close()


if __name__ == "__main__":
    main()
