"""The page of a report as a reader sees it."""

from html.parser import HTMLParser
from typing import Any

import pytest

import covey
from covey import KAnonymity, demo
from covey.report import Report, charts

K = 5
ROWS = 300


def release_of(rows: int = ROWS, **settings: Any) -> covey.Release:
    return covey.anonymize(
        demo.people(rows), demo.schema(), require=[KAnonymity(K)], effort="fast", **settings
    )


class Page(HTMLParser):
    """What a reader sees of a page, and what it is made of."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.parts: list[str] = []
        self._hidden = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._hidden = tag == "style"

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._hidden = False

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.parts).split())


def text_of(report: Report) -> str:
    """The words of a report's page. Pictures, which take long, are left to their numbers."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(charts, "available", lambda: False)
        return Page(report.to_html()).text
