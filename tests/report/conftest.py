"""One release for all tests of reports."""

import pytest

import covey
from covey.report import charts
from report.pages import release_of


@pytest.fixture(scope="session")
def release() -> covey.Release:
    return release_of()


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages have tables of numbers instead of pictures, which take long."""
    monkeypatch.setattr(charts, "available", lambda: False)
