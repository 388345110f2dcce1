"""What the custodian is looking at: which rows, which group, which attack.

None of it is a decision, so it is no part of the work. It belongs to one release and is gone with
it.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from covey.errors import UsageError
from covey.html import Part
from covey.studio import looking
from covey.studio.asking import Answer
from covey.studio.attacking import Attacked
from covey.studio.looking import GroupShown, KnownColumn, Payers, RowsShown
from covey.studio.session import Studio

_numbers = itertools.count(1)
# What is found out only once the page needs it, and the function that does so.
_JOBS: Mapping[str, tuple[Any, ...]] = {
    "columns": (looking.known_columns,),
    "rows": (looking.rows_shown, looking.ORDERS[0], 0),
    "sizes": (looking.class_chart,),
    "payers": (looking.payers, None),
    "utility": (looking.good_for,),
}


@dataclass
class LookState:
    """What the page shows, as far as its parts have been needed."""

    number: int = field(default_factory=lambda: next(_numbers))  # of the release, for addresses
    columns: tuple[KnownColumn, ...] = ()
    rows: RowsShown | None = None
    group: GroupShown | None = None
    sizes: str = ""  # a picture
    payers: Payers | None = None
    utility: Part = None
    answer: Answer | None = None
    known: dict[str, str] = field(default_factory=dict)  # what the attacker knows
    attacked: Attacked | None = None
    found: set[str] = field(default_factory=set)  # of `_JOBS`

    @property
    def quasi(self) -> tuple[KnownColumn, ...]:
        """The columns that an attacker may know."""
        return tuple(column for column in self.columns if column.is_quasi)

    def column(self, place: int) -> KnownColumn:
        """A column by its place."""
        if not 0 <= place < len(self.columns):
            raise UsageError("there is no such column")
        return self.columns[place]


def look_state(studio: Studio) -> LookState:
    """What was looked at in the release as it is now; an error if there is none."""
    state = studio.result("look", studio.made.number, LookState)
    if state is None:
        state = LookState()
        studio.keep("look", studio.made.number, state)
    return state


async def state_with(studio: Studio, what: str) -> LookState:
    """The same, with one of its parts known."""
    state = look_state(studio)
    if what not in state.found:
        setattr(state, what, await studio.maker.ask("look", *_JOBS[what]))
        state.found.add(what)
    return state
