"""A step of the way."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from covey.html import Part

if TYPE_CHECKING:
    from starlette.datastructures import FormData

    from covey.studio.session import Studio

DONE, NEEDS, BLOCKED, NEXT = "done", "needs you", "blocked", ""


@dataclass(frozen=True)
class Step:
    """One step: its page, what can be done there, and parts of the page that come later.

    An action changes the work and may name another step to go to. A piece is fetched from an
    address that holds numbers and nothing else, never a name or a cell.
    """

    name: str
    title: str
    page: "Callable[[Studio], Awaitable[Part]]"
    state: "Callable[[Studio], str]"
    actions: "Mapping[str, Callable[[Studio, FormData], Awaitable[str | None]]]" = field(
        default_factory=dict
    )
    pieces: "Mapping[str, Callable[[Studio, Mapping[str, str]], Awaitable[Part]]]" = field(
        default_factory=dict
    )
    needs_table: bool = True
