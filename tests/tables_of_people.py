"""Small random tables, each as covey takes it and as the oracles take it.

Numbers come whole, decimal, wild, constant and all missing; categories flat and in unbalanced
trees, with labels that hold the signs of covey's own notation; both with few distinct values, so
that rows repeat and losses tie.
"""

import datetime
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from hypothesis import strategies as st

from covey.encoding import EncodedTable, encode
from covey.reference.model import Categorical, Column, Numeric
from covey.schema import Schema
from covey.schema.taxonomy import MEASURES, build
from covey.tables import Table

CLASS = "class"
EPOCH = datetime.date(1970, 1, 1)
WEIGHTS = (1.0, 0.5, 3.0, 0.1, 7.3)

# Labels with every sign that means something in a released cell, and some that look alike.
LABELS = (
    *("a", "b", "c", "A", " a", "a ", "a,", ",", '"', 'a"', '""', "{", "}", "{a}", "[1]", "*"),
    *("**", "é", "e\u0301", "-", "0", "1.0", "NA", "?", "=a", "a; b", "'", "null", "a\nb", "\t"),
)


@dataclass(frozen=True, eq=False)
class People:
    """One table in both worlds."""

    frame: pl.DataFrame
    schema: Schema
    oracle: Mapping[str, Column]
    classes: list[int]  # the codes of the class column

    @property
    def rows(self) -> int:
        return self.frame.height

    @property
    def table(self) -> Table:
        return Table(self.frame)

    def take(self, rows: Sequence[int]) -> "People":
        """Some of the rows, as if there had never been others."""
        oracle = {
            name: replace(column, values=[column.values[row] for row in rows])  # type: ignore[arg-type]
            for name, column in self.oracle.items()
        }
        frame = self.frame[list(rows)]
        return People(frame, self.schema, oracle, [self.classes[row] for row in rows])

    def encoded(self, *, classes: bool = False) -> EncodedTable:
        return _encoded(self, classes)


@functools.lru_cache(4)  # a method and its oracle take the same table, one after the other
def _encoded(people: People, classes: bool) -> EncodedTable:
    return encode(people.table, people.schema, class_column=CLASS if classes else None)


def as_shown(table: Mapping[str, Column], groups: Sequence[Sequence[int]]) -> dict[str, Column]:
    """The table with numbers scaled by what these groups of rows show of them.

    A group that hides its numbers shows no range; where theirs lie outside, nobody asks.
    """
    return {
        name: _as_shown(column, groups) if isinstance(column, Numeric) else column
        for name, column in table.items()
    }


def _as_shown(column: Numeric, groups: Sequence[Sequence[int]]) -> Numeric:
    if column.domain is not None:
        return column
    cells = [[column.values[row] for row in rows] for rows in groups]
    telling = [members for members in cells if column.wildcard or None not in members]
    shown = [value for members in telling for value in members if value is not None]
    low, high = min(shown, default=0.0), max(shown, default=0.0)
    inside = [None if value is None else min(max(value, low), high) for value in column.values]
    return replace(column, values=inside, domain=(low, high))


@dataclass(frozen=True, eq=False)
class Drawn:
    """One column in both worlds."""

    cells: pl.Series
    settings: dict[str, Any]
    oracle: Column


def days(date: datetime.date) -> int:
    """Days since 1970-01-01."""
    return (date - EPOCH).days


@st.composite
def parent_links(
    draw: st.DrawFn, most: int = 12, alphabet: Sequence[str] = LABELS
) -> dict[str, str]:
    """A random tree, unbalanced as a rule: the parent of each label but the root's."""
    labels = draw(st.permutations(alphabet))[: draw(st.integers(2, most))]
    links = [
        (label, labels[draw(st.integers(0, place - 1))])
        for place, label in enumerate(labels)
        if place
    ]
    return dict(draw(st.permutations(links)))


def leaves_of(parent: Mapping[str, str]) -> list[str]:
    """The labels that are nobody's parent."""
    return sorted(set(parent) - set(parent.values()))


# ── columns ─────────────────────────────────────────────────────────────────────────────────────


def cells_of(pool: Sequence[Any], n: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(pool), min_size=n, max_size=n)


wild = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda number: number + 0.0)
pools_of_numbers: st.SearchStrategy[list[Any]] = st.one_of(
    st.just([-2, -1, 0, 1, 2, 3]),
    st.just([0.1, 0.2, 0.3, 0.7, 1.1, 2.5]),
    st.lists(wild, min_size=1, max_size=8),
    st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=8),
    st.just([5]),
    st.just([None]),
)


@st.composite
def numbers(draw: st.DrawFn, n: int) -> Drawn:
    """A column of numbers: typed, or text as in a CSV file."""
    pool = draw(pools_of_numbers)
    values = draw(cells_of(pool + draw(st.sampled_from([[], [None]])), n))
    present = [value for value in values if value is not None]
    settings: dict[str, Any] = {"type": "numeric", "weight": draw(st.sampled_from(WEIGHTS))}
    domain = None
    if draw(st.booleans()):
        room = draw(st.sampled_from([(1, 2), (0, 0.5), (100, 0.25)]))
        lowest, highest = min(present, default=0), max(present, default=0)
        domain = (float(lowest - room[0]), float(highest + room[1]))
        settings["domain"] = domain
    dtype = pl.Int64 if all(isinstance(value, int) for value in present) else pl.Float64
    typed = draw(st.booleans())
    cells = (
        pl.Series(values, dtype=dtype)
        if typed
        else pl.Series([None if v is None else repr(v) for v in values], dtype=pl.String)
    )
    return Drawn(cells, settings, Numeric(values, settings["weight"], domain))


@st.composite
def dates(draw: st.DrawFn, n: int) -> Drawn:
    """A column of dates: typed, or text in ISO or another form."""
    pool: list[datetime.date | None] = [
        *draw(st.lists(st.dates(datetime.date(1582, 1, 1)), min_size=1, max_size=6)),
        *draw(st.sampled_from([[], [None]])),
    ]
    values = draw(cells_of(pool, n))
    settings: dict[str, Any] = {"type": "date", "weight": draw(st.sampled_from(WEIGHTS))}
    match draw(st.sampled_from(["date", "iso", "written"])):
        case "date":
            cells = pl.Series(values, dtype=pl.Date)
        case "iso":
            cells = pl.Series([v and v.isoformat() for v in values], dtype=pl.String)
        case _:
            settings["format"] = "%d.%m.%Y"
            texts = [v and f"{v.day:02}.{v.month:02}.{v.year:04}" for v in values]
            cells = pl.Series(texts, dtype=pl.String)
    ordinals = [None if value is None else days(value) for value in values]
    return Drawn(cells, settings, Numeric(ordinals, settings["weight"]))


@st.composite
def categories(draw: st.DrawFn, n: int) -> Drawn:
    """A column of categories, flat or in a tree."""
    settings: dict[str, Any] = {"type": "categorical", "weight": draw(st.sampled_from(WEIGHTS))}
    parent: dict[str, str] = {}
    if draw(st.booleans()):
        parent = draw(parent_links())
        settings["taxonomy"] = build(parent)
        pool: list[str | None] = [*leaves_of(parent)]
    else:
        pool = [*draw(st.sampled_from([LABELS[:1], LABELS[:3], LABELS[:8], LABELS[4:24]]))]
    pool = draw(st.sampled_from([pool, [*pool, None], [None]]))
    values = draw(cells_of(pool, n))
    cells = pl.Series(values, dtype=pl.String)
    return Drawn(cells, settings, Categorical(values, parent, settings["weight"]))


@st.composite
def people(draw: st.DrawFn, least: int = 1, most: int = 14, columns: int = 4) -> People:
    """A table of one or more quasi-identifiers and a column of classes."""
    n = draw(st.integers(least, most))
    names = draw(st.permutations("abcdef"))[: draw(st.integers(1, columns))]
    drawn = {name: draw(st.one_of(numbers(n), dates(n), categories(n))) for name in names}
    labels = draw(cells_of(["x", "y", "z"], n))
    frame = pl.DataFrame(
        [column.cells.alias(name) for name, column in drawn.items()]
        + [pl.Series(CLASS, labels, dtype=pl.String)]
    )
    schema = Schema.of(
        quasi={name: column.settings for name, column in drawn.items()},
        sensitive=[CLASS],
        loss=draw(st.sampled_from(MEASURES)),
    )
    oracle = {name: column.oracle for name, column in drawn.items()}
    return People(frame, schema, oracle, ["xyz".index(label) for label in labels])


@st.composite
def labels_for(draw: st.DrawFn, n: int, *, suppress: bool = True) -> list[int]:
    """A random grouping of n rows, numbered without gaps; -1 is suppressed, but never everyone."""
    raw = draw(st.lists(st.integers(-1 if suppress else 0, max(n // 2, 1)), min_size=n, max_size=n))
    if max(raw) < 0:
        raw[0] = 0
    number = {label: place for place, label in enumerate(sorted(set(raw) - {-1}))}
    return [number.get(label, -1) for label in raw]
