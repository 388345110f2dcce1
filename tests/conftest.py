import gc
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import builds
from command_line import Folder
from covey_experiments import adult
from examples import NAME, load_profile

if TYPE_CHECKING:
    from playwright.sync_api import Browser

load_profile()
builds.use_asked()


def pytest_configure() -> None:
    """No test says anything about kernels that were built from other sources."""
    builds.refuse_stale()
    # nohup has it ignored, and processes that are to be interrupted would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """For `make quick`, the first case of each test: no list of files that would grow stale."""
    if NAME != "quick":
        return
    first: dict[str, pytest.Item] = {}
    for item in items:
        first.setdefault(item.nodeid.partition("[")[0], item)
    kept = set(first.values())
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_collection_finish() -> None:
    """Collecting garbage need not look at the tests themselves: that takes a fifth of a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def uci_adult() -> pl.DataFrame:
    """Real people wherever the tests run: the table comes with a package that they need."""
    return adult.read(adult.packaged())


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """More real tables, which lie beside some checkouts: never the only ones that a test takes."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder with real tables, ../shared/data, is not here")
    return folder


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """A real browser. Not for the whole session: its loop would be in the way of other tests."""
    from make_report_picture import CHROMIUM, QUIETLY  # it loads the kernels

    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium here")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=QUIETLY)
        yield browser
        browser.close()


@pytest.fixture(autouse=True, scope="session")
def custodian(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A custodian of the tests' own, so that none of them finds or leaves anything at home.

    The key is always the same, so that what fails once fails again.
    """
    folder = tmp_path_factory.mktemp("custodian")
    key = folder / "key"
    key.write_text(f"{1:064x}\n", encoding="ascii")
    key.chmod(0o600)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COVEY_KEY_FILE", str(key))
        patch.setenv("COVEY_REGISTER", str(folder / "register"))
        yield folder


@pytest.fixture(autouse=True)
def register(custodian: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A register for each test: none is warned of what another has released."""
    path = custodian / secrets.token_hex(8)
    monkeypatch.setenv("COVEY_REGISTER", str(path))
    return path


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Folder:
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path, capfd)
