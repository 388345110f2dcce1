"""What the custodian is looking at: which rows, which group, which attack.

None of it is a decision, so it is no part of the work. It belongs to one release and is gone with
it.
"""

import itertools
from dataclasses import dataclass, field

from covey.errors import UsageError
from covey.studio.asking import Answer
from covey.studio.attacking import Attacked
from covey.studio.looking import GroupShown, Known, Payers, RowsShown
from covey.studio.session import Result, Studio

_numbers = itertools.count(1)


@dataclass
class Looked:
    """The state of the page, as far as its parts have been asked for."""

    number: int = field(default_factory=lambda: next(_numbers))  # of the release, for addresses
    columns: tuple[Known, ...] | None = None
    rows: RowsShown | None = None
    group: GroupShown | None = None
    sizes: str | None = None
    payers: Payers | None = None
    answer: Answer | None = None
    known: dict[str, str] = field(default_factory=dict)  # what the attacker knows
    attacked: Attacked | None = None

    @property
    def quasi(self) -> tuple[Known, ...]:
        """The columns that an attacker may know."""
        return tuple(one for one in self.columns or () if one.is_quasi)

    def column(self, place: int) -> Known:
        """A column by its place."""
        if self.columns is None or not 0 <= place < len(self.columns):
            raise UsageError("there is no such column")
        return self.columns[place]


def looked(studio: Studio) -> Looked:
    """What was looked at in the release as it is now; an error if there is none."""
    if studio.release is None:
        raise UsageError("there is no release of the work as it is now: make it first")
    found = studio.results.get("look")
    if found is None or found.made_of is not studio.release:
        found = studio.results["look"] = Result(studio.release, Looked())
    state: Looked = found.found
    return state


async def with_columns(studio: Studio) -> Looked:
    """The same, with its columns known."""
    state = looked(studio)
    if state.columns is None:
        state.columns = await studio.maker.ask("known_columns")
    return state
