"""What the columns of a release without a description are, by the forms of their cells.

Only a form that a value cannot have shows that a column was generalised: `[20, 39]`, `70 and more`,
`{a, b}`, `101**` or `*`. A column without such cells is taken as it is, and covey says so.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from covey.encoding.intervals import HIGH, LOW
from covey.errors import TableError
from covey.schema import Schema
from covey.schema.taxonomy import ROOT
from covey.tables import Table

_DAY = r"\d{4}-\d{2}-\d{2}(T\d{2})?"
_NUMBER = r"-?\d+([.,]\d+)?"
_WORDS = {"numeric": "(less|more)", "date": "(earlier|later)"}
_CELL = {"numeric": _NUMBER, "date": _DAY}


def guessed(table: Table) -> tuple[Table, Schema, list[str]]:
    """The table, a schema of its columns, and what is doubtful about it."""
    frame, ends = table.frame, _ends(table.frame.columns)
    texts = {n: _distinct(frame[n]) for n in frame.columns if n not in ends}
    table = replace(table, dialect=replace(table.dialect, decimal=_decimal(table, texts)))
    columns: dict[str, dict[str, Any]] = {}
    for name in frame.columns:
        if name in ends:
            kind = "date" if frame[name].dtype.is_temporal() else "numeric"
            if frame[name].dtype == pl.String and _are("date", _distinct(frame[name])):
                kind = "date"
            columns[ends[name]] = {"role": "quasi", "type": kind}
        else:
            columns[name] = column_of(texts[name])
    found = [name for name, column in columns.items() if column["role"] == "quasi"]
    if not found:
        raise TableError(
            "no cell of this table is generalised, and it has no description: is it a release?"
        )
    doubts = [
        "there is no description beside this release, so its columns were read by their cells",
        *_doubts_of(columns, "numeric", "a single number may be exact, a mean or a median"),
        *_doubts_of(columns, "categorical", "a label may stand for others that are not listed"),
    ]
    return table, Schema.from_dict({"columns": columns}), doubts


def _decimal(table: Table, texts: Mapping[str, list[str]]) -> str:
    """The decimal sign: a comma if it cannot separate the ends of intervals."""
    for between, sign in (("; ", ","), (", ", ".")):
        wide = re.compile(rf"\[{_NUMBER}{between}{_NUMBER}\]")
        if any(wide.fullmatch(cell) for cells in texts.values() for cell in cells):
            return sign
    return table.dialect.decimal


def _doubts_of(columns: dict[str, dict[str, Any]], kind: str, doubt: str) -> list[str]:
    names = [repr(n) for n, column in columns.items() if column.get("type") == kind]
    return [f"{doubt}: {', '.join(names[:5])}{' …' if len(names) > 5 else ''}"] if names else []


def _distinct(cells: pl.Series) -> list[str]:
    return cells.drop_nulls().unique().cast(pl.String).to_list()


def _ends(names: Iterable[str]) -> dict[str, str]:
    """The columns with low and high ends, by the name of the column that they show."""
    present = {*names}
    bare = [name.removesuffix(LOW) for name in names if name.endswith(LOW)]
    both = [name for name in bare if name + HIGH in present and name not in present]
    return {name + suffix: name for name in both for suffix in (LOW, HIGH)}


def column_of(texts: list[str]) -> dict[str, Any]:
    """What a column with these distinct cells is, as a schema says it."""
    for kind in ("numeric", "date"):
        if _is_generalised(kind, texts):
            return {"role": "quasi", "type": kind, **_bounds(kind, texts)}
    stars = [text for text in texts if text.endswith(ROOT)]
    sets = [text for text in texts if text.startswith("{") and text.endswith("}")]
    if stars or sets:
        codes = any(text.strip(ROOT) for text in stars) and not sets
        tree = {"taxonomy": {"build": "prefixes"}} if codes else {}
        return {"role": "quasi", "type": "categorical", **tree}
    return {"role": "insensitive"}


def _is_generalised(kind: str, texts: list[str]) -> bool:
    """Whether some cells are intervals of this kind, and all others are its values."""
    one = _CELL[kind]
    wide = re.compile(rf"\[{one}[,;] {one}\]|'?{one} and {_WORDS[kind]}")
    found = [text for text in texts if wide.fullmatch(text)]
    return bool(found) and _are(kind, [x for x in texts if not wide.fullmatch(x) and x != ROOT])


def _are(kind: str, texts: list[str]) -> bool:
    return all(re.fullmatch(_CELL[kind], text) for text in texts)


def _bounds(kind: str, texts: list[str]) -> dict[str, Any]:
    """The bounds at which open intervals end: the lowest and the highest that is shown."""
    words = {"bottom": ("less", "earlier"), "top": ("more", "later")}
    found: dict[str, Any] = {}
    for name, ends in words.items():
        shown = [
            match[1]
            for text in texts
            if (match := re.fullmatch(rf"'?(.+) and ({'|'.join(ends)})", text))
        ]
        if shown and kind == "date":
            found[name] = (min if name == "bottom" else max)(shown)[:10]
        elif shown:
            numbers = [float(end.replace(",", ".")) for end in shown]
            found[name] = min(numbers) if name == "bottom" else max(numbers)
    return found
