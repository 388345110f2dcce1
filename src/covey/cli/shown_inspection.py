"""A draft on the terminal: the columns, what is wrong with the table, and the next command."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from covey.cli.options import found_beside
from covey.cli.shown import light_grid
from covey.cli.terminal import visible

if TYPE_CHECKING:
    from covey.inspection.draft import Draft

_WIDE = 140  # characters that hold all columns of the table side by side
_NARROW = ((0, 1, 2, 3, 8), (0, 4, 5, 6, 7))  # of the head, in two tables


def show_draft(draft: "Draft", table: str, output: Path, console: Console) -> None:
    """The draft, its findings, and how to go on."""
    from covey.inspection.draft import HEAD
    from covey.tables.sources import typed

    rows = [column.row() for column in draft.columns]
    every = tuple(range(len(HEAD)))
    for places in (every,) if console.width >= _WIDE else _NARROW:
        _show([HEAD[place] for place in places], [[r[p] for p in places] for r in rows], console)
    if draft.findings:
        console.print(Text("findings", style="bold"))
    for found in draft.findings:
        console.print(Text(visible(f"- {found}{_mended(found.applied, bool(found.setting))}")))
    console.print(Text(f"\n{draft.summary}. Check every role, then run:"))
    undecided = draft.people.is_open
    schema = [] if found_beside(table) == output else ["--schema", str(output)]
    counted = ["--person", _person(draft)] if undecided else []
    kinds = dict.fromkeys(
        kind for f in draft.findings if not f.applied for kind in f.setting.get("drop_rows", ())
    )
    dropped = ["--drop-rows", ",".join(kinds)] if kinds else []
    options = [*schema, *counted, *dropped, "-o", "released.csv"]
    command = ["covey", "anonymize", typed(table), *options]
    console.print(Text(visible(f"  {shlex.join(command)}", lines=False)), soft_wrap=True)
    if undecided:
        console.print("(or --count-rows instead of --person, if each row is one person)")


def _person(draft: "Draft") -> str:
    """The one column that may be the person, or a place for its name."""
    candidates = draft.people.candidates
    only = len(candidates) == 1 and len(candidates[0].columns) == 1
    return candidates[0].column if only else "COLUMN"


def _mended(applied: bool, settable: bool) -> str:
    if applied:
        return " (mended in the draft)"
    return " (the draft says how to mend it)" if settable else ""


def _show(head: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    numbers = [title for title in head if title in ("values", "missing", "unique alone", "adds")]
    grid = light_grid(head, right=numbers, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(visible(cell, lines=False)) for cell in row))
    console.print(grid, "")
