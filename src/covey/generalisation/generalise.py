"""What a group shows instead of its members' values, and how that is written and read.

Numbers and dates show the interval from the lowest to the highest member, categories the lowest
common ancestor. Members whose missing cell may be any value show what the others have in common.
An interval that reaches a bound of its column is open there, whether or not anybody is beyond it:
"70 and more", "20 and less", "1990-12-31 and earlier".
This module alone knows how such cells are spelled: `render` writes them, `parse`
reads them back, also from tables that somebody else generalised.
"""

import contextlib
import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Floats, Ints, Longs
from covey.encoding import (
    MISSING_LEAF,
    Attribute,
    Category,
    EncodedTable,
    Interval,
    matches_anything,
    parse_dates,
    parse_numbers,
)
from covey.encoding.groups import Groups, Rings
from covey.errors import SchemaError, TableError, UsageError, about_cells
from covey.schema.taxonomy import ROOT
from covey.tables import Table, formulas
from covey.tables.csv_files import Dialect

Mask = NDArray[np.bool_]

SHOWN, MISSING, HIDDEN = 0, 1, 2
LOW, HIGH = "_low", "_high"
_OPEN_NUMBERS, _OPEN_DATES = (" and less", " and more"), (" and earlier", " and later")


@dataclass(frozen=True)
class Style:
    """How generalised cells are written."""

    categories: Literal["ancestor", "values"] = "ancestor"
    intervals: Literal["text", "columns"] = "text"

    def __post_init__(self) -> None:
        if self.categories not in ("ancestor", "values"):
            raise SchemaError('categories are shown as "ancestor" or "values"')
        if self.intervals not in ("text", "columns"):
            raise SchemaError('intervals are shown as "text" or "columns"')


@dataclass(frozen=True, eq=False)
class Ranges:
    """Generalised numbers or dates; `low` and `high` are NaN where nothing is shown.

    An end that lies at a bound of the column is open.
    """

    low: Floats
    high: Floats
    state: NDArray[np.int8]  # SHOWN, MISSING, or HIDDEN: missing and present mixed, or all open


@dataclass(frozen=True, eq=False)
class Nodes:
    """Generalised categories: nodes of the column's own tree."""

    node: Ints


# ── groups to cells ─────────────────────────────────────────────────────────────────────────────


def generalise(table: Table, encoded: EncodedTable, groups: Groups | Rings, style: Style) -> Table:
    """The table with every quasi-identifier generalised; suppressed rows are left out."""
    place = groups.place
    shown = place >= 0
    released: dict[str, list[pl.Series]] = {}
    for attribute in encoded.attributes:
        if isinstance(attribute, Interval):
            ranges = summarise(attribute, groups)
            folded = render_ranges(attribute, ranges, table.dialect, style)
        else:
            folded = [_render_nodes(attribute, common_nodes(attribute, groups), groups, style)]
        released[attribute.name] = [series.gather(place[shown]) for series in folded]
    frame = table.frame.filter(pl.Series(shown))
    columns = [series for name in frame.columns for series in released.get(name, [frame[name]])]
    _check_unique(columns)
    return table.with_frame(pl.DataFrame(columns))


def _check_unique(columns: list[pl.Series]) -> None:
    names = [series.name for series in columns]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SchemaError(
            f"column {twice[0]!r} exists already; rename it to release low and high ends"
        )


def common_nodes(category: Category, groups: Groups | Rings) -> Nodes:
    """The lowest common ancestor of each group.

    Leaves stand in the order of their tree, so the first and the last of a group have the same
    one as all of it. That of missing is the last of all.
    """
    ancestors = category.tree.ancestors
    first = groups.fold(np.minimum, category.leaves)
    last = groups.fold(np.maximum, np.where(matches_anything(category), -1, category.leaves))
    last = np.maximum(first, last)
    shared = (ancestors[first] == ancestors[last]) & (ancestors[first] >= 0)
    return Nodes(ancestors[first, shared.sum(axis=1) - 1])


def summarise(interval: Interval, groups: Groups | Rings) -> Ranges:
    """The interval of each group, its ends moved outwards to the grid, but not beyond a bound."""
    low, high = _snap(interval, *(groups.fold(by, interval.values) for by in (np.fmin, np.fmax)))
    some = groups.fold(np.logical_or, interval.absent & ~matches_anything(interval))
    some |= np.logical_and(*_open(interval, low, high))
    all_ = groups.fold(np.logical_and, interval.absent)
    state = np.select([all_, some], [MISSING, HIDDEN], SHOWN)
    low[state != SHOWN] = high[state != SHOWN] = np.nan
    return Ranges(low, high, state.astype(np.int8))


def _open(interval: Interval, low: Floats, high: Floats) -> tuple[Mask, Mask]:
    """Which intervals are open below, and which above."""
    bottom, top = interval.column.bounds
    return low <= bottom, high >= top


def filled_in(attribute: Attribute, groups: Groups | Rings) -> int:
    """How many missing cells show what others have."""
    place = groups.place
    nobody = groups.fold(np.logical_and, attribute.absent)
    wild = matches_anything(attribute) & (place >= 0)
    return int(np.count_nonzero(~nobody[place[wild]]))


def _snap(interval: Interval, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Ends on the grid, outwards, but not beyond a bound; a single value stays as it is."""
    grid, wide = interval.column.grid, low < high
    if grid is not None:
        low[wide], high[wide] = snapped(low[wide], high[wide], grid)
    bottom, top = interval.column.bounds
    return np.clip(low, bottom, top), np.clip(high, bottom, top)


def snapped(low: Floats, high: Floats, grid: float | str) -> tuple[Floats, Floats]:
    """Ends moved outwards: to multiples of a number, or to the first and last day of a unit."""
    if isinstance(grid, str):
        return _snap_days(low, high, grid)
    return _multiple(low, grid, ROUND_FLOOR), _multiple(high, grid, ROUND_CEILING)


def _multiple(values: Floats, grid: float, rounding: str) -> Floats:
    """The next multiple of the grid, by the digits that are shown: 0.3 is one of 0.1."""
    step = Decimal(str(grid))
    distinct, place = np.unique(values, return_inverse=True)
    ends = [
        float((Decimal(repr(value)) / step).to_integral_value(rounding) * step)
        for value in distinct.tolist()
    ]
    return np.array(ends, dtype=np.float64)[place] + 0.0


def _snap_days(low: Floats, high: Floats, grid: str) -> tuple[Floats, Floats]:
    months = {"month": 1, "quarter": 3, "year": 12}[grid]
    first = _month_of(low) // months * months
    after = (_month_of(high) // months + 1) * months
    return _day_of(first), _day_of(after) - 1


def _month_of(days: Floats) -> Longs:
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def _day_of(months: Longs) -> Floats:
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.float64)


def shown_range(interval: Interval, ranges: Ranges) -> tuple[float, float]:
    """The declared domain, or else from the lowest end that is shown to the highest, on the grid.

    It depends on nothing but what is released and declared; 0 to 0 where no cell shows a value.
    """
    if interval.column.domain is not None:
        return interval.column.domain
    shown = ranges.state == SHOWN
    if not shown.any():
        return 0.0, 0.0
    ends = ranges.low[shown].min(keepdims=True), ranges.high[shown].max(keepdims=True)
    low, high = _snap(interval, *ends)
    return float(low[0]), float(high[0])


# ── writing ─────────────────────────────────────────────────────────────────────────────────────


def render_ranges(
    interval: Interval, ranges: Ranges, dialect: Dialect, style: Style
) -> list[pl.Series]:
    """One column of text, or one of low and one of high ends."""
    below, above = _open(interval, ranges.low, ranges.high)
    if style.intervals == "columns":
        low_ends, high_ends = (
            np.where(below, np.nan, ranges.low),
            np.where(above, np.nan, ranges.high),
        )
        return [_ends(interval, low_ends, LOW), _ends(interval, high_ends, HIGH)]
    low, high = (_spell(interval, ends, dialect) for ends in (ranges.low, ranges.high))
    and_less, and_more = _OPEN_DATES if interval.is_date else _OPEN_NUMBERS
    text = (
        pl.when(pl.lit(pl.Series(ranges.state == HIDDEN)))
        .then(pl.lit(ROOT))
        .when(pl.lit(pl.Series(below)))
        .then(pl.lit(high) + and_less)
        .when(pl.lit(pl.Series(above)))
        .then(pl.lit(low) + and_more)
        .when(pl.lit(pl.Series(ranges.low == ranges.high)))
        .then(pl.lit(low))
        .otherwise(pl.format("[{}{}{}]", pl.lit(low), pl.lit(_between(dialect)), pl.lit(high)))
    )
    return [pl.select(text.alias(interval.name)).to_series()]


def _between(dialect: Dialect) -> str:
    return ", " if dialect.decimal == "." else "; "


def _ends(interval: Interval, ends: Floats, suffix: str) -> pl.Series:
    series = pl.Series(interval.name + suffix, ends).fill_nan(None)
    if interval.is_date:
        return series.cast(pl.Int32).cast(pl.Date)
    whole = not np.any(interval.values % 1 > 0)
    return series.cast(pl.Int64) if whole and not _fraction(interval.column.grid) else series


def _fraction(grid: object) -> bool:
    return isinstance(grid, float) and not grid.is_integer()


def _spell(interval: Interval, ends: Floats, dialect: Dialect) -> pl.Series:
    """Ends as text: ISO dates, or the shortest decimals that name the number."""
    series = pl.Series(ends).fill_nan(None)
    if interval.is_date:
        return series.cast(pl.Int32).cast(pl.Date).cast(pl.String)
    distinct = series.unique().drop_nulls()
    spelled = [spell_number(number, dialect) for number in distinct.to_list()]
    return series.replace_strict(distinct, pl.Series(spelled, dtype=pl.String), default=None)


def spell_number(number: float, dialect: Dialect) -> str:
    """The shortest decimal digits that give the number back, without an exponent."""
    return np.format_float_positional(number, trim="-").replace(".", dialect.decimal)


def _render_nodes(
    category: Category, nodes: Nodes, groups: Groups | Rings, style: Style
) -> pl.Series:
    labels = pl.Series(category.name, category.tree.labels, dtype=pl.String)
    labels = pl.select(pl.when(labels != MISSING_LEAF).then(labels)).to_series()
    cells = labels.gather(nodes.node)
    if style.categories == "ancestor":
        return cells
    if isinstance(groups, Rings):
        raise UsageError("value sets are shown of groups only; rings show common ancestors")
    return _value_sets(category, nodes, groups, cells)


def _value_sets(category: Category, nodes: Nodes, groups: Groups, cells: pl.Series) -> pl.Series:
    """Sets of values in place of inner nodes.

    A set with missing in it stays at the root, and one that is spelled like a value at its node.
    """
    members = pl.DataFrame({"group": groups.labels, "leaf": category.leaves})
    members = members.filter(pl.Series(~matches_anything(category)))
    inner = pl.Series(np.flatnonzero(nodes.node >= category.tree.leaf_count))
    sets = (
        members.filter(pl.col("group").is_in(inner.implode()))
        .group_by("group")
        .agg(pl.col("leaf").unique())
    )
    spelled = cells.to_list()
    for group, leaves in sets.iter_rows():
        values = [category.tree.labels[leaf] for leaf in leaves]
        shown = spell_set(values)
        if MISSING_LEAF not in values and shown not in category.tree.node_of:
            spelled[group] = shown
    return pl.Series(cells.name, spelled, dtype=pl.String)


def spell_set(values: Iterable[str]) -> str:
    """`{Bachelors, Masters}`: sorted, values that hold a sign of the notation in quotes."""
    return "{" + ", ".join(_quoted(value) for value in sorted(values)) + "}"


def _quoted(value: str) -> str:
    if value == value.strip() and not set(value) & set('",{}\r\n'):
        return value
    return '"' + value.replace('"', '""') + '"'


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


def parse(attribute: Attribute, table: Table) -> tuple[Ranges | Nodes, Longs]:
    """What the distinct cells of a released column show, and how many rows show each."""
    *cells, rows = _distinct(*_shown_cells(attribute, table))
    try:
        return _parse(attribute, cells, table.dialect), rows.to_numpy()
    except TableError:
        parse_rows(attribute, table)  # tells of rows instead of distinct cells
        raise


@contextlib.contextmanager
def telling_rows(original: EncodedTable, released: Table) -> Iterator[None]:
    """Tell of a cell that cannot be read in which row it is: figures are made of distinct rows."""
    try:
        yield
    except TableError:
        for attribute in original.attributes:
            parse_rows(attribute, released)
        raise


def parse_rows(attribute: Attribute, table: Table) -> Ranges | Nodes:
    """What the cells of a released column show, row by row."""
    with table.locating():
        return _parse(attribute, _shown_cells(attribute, table), table.dialect)


def cell_of_rows(attribute: Attribute, table: Table) -> Longs:
    """The place of each row's cell among the distinct ones, in the order of `parse`."""
    shown = _shown_cells(attribute, table)
    cells = pl.DataFrame([column.alias(str(place)) for place, column in enumerate(shown)])
    distinct = cells.unique().sort(cells.columns).with_row_index("place")
    rows = cells.join(
        distinct, on=cells.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return rows["place"].cast(pl.Int64).to_numpy()


def boxes_of(original: EncodedTable, released: Table) -> tuple[Table, Longs]:
    """The distinct rows of the release in its quasi-identifiers, and how many there are of each."""
    names = [name for a in original.attributes for name in shown_as(a.name, released)]
    counted = released.frame.select(names).to_struct().value_counts(name="rows")
    boxes = counted.drop("rows").to_series().struct.unnest()
    return released.with_frame(boxes), counted["rows"].cast(pl.Int64).to_numpy()


def _shown_cells(attribute: Attribute, table: Table) -> list[pl.Series]:
    return [table.cells(name) for name in shown_as(attribute.name, table)]


def _parse(attribute: Attribute, cells: list[pl.Series], dialect: Dialect) -> Ranges | Nodes:
    if len(cells) == 2:
        return _parse_ends(attribute, cells[0], cells[1], dialect)
    if isinstance(attribute, Interval):
        return _parse_ranges(attribute, cells[0], dialect)
    return _parse_nodes(attribute, cells[0].cast(pl.String), dialect)


def shown_as(name: str, table: Table) -> list[str]:
    """The columns of a released table that show a quasi-identifier: its own, or its two ends."""
    present = table.frame.columns
    if name in present:
        return [name]
    if {name + LOW, name + HIGH} <= set(present):
        return [name + LOW, name + HIGH]
    raise TableError(f"quasi-identifier {name!r} is not in the released table")


def _distinct(*columns: pl.Series) -> list[pl.Series]:
    """The distinct rows of these columns, sorted so that sums repeat, and their counts."""
    frame = pl.DataFrame([column.alias(str(place)) for place, column in enumerate(columns)])
    counted = frame.group_by(frame.columns).len("rows").sort(frame.columns).cast({"rows": pl.Int64})
    return [*(counted[str(i)].alias(c.name) for i, c in enumerate(columns)), counted["rows"]]


def _parse_ends(attribute: Attribute, low: pl.Series, high: pl.Series, dialect: Dialect) -> Ranges:
    if not isinstance(attribute, Interval):
        raise TableError(
            f"column {attribute.name!r} is categorical but released as low and high ends"
        )
    lows, highs = (_values(attribute, cells, dialect) for cells in (low, high))
    # A pair of nulls does not tell whether all or some were missing: it tells nothing.
    hidden = np.isnan(lows) & np.isnan(highs)
    return _checked(attribute, lows, highs, np.where(hidden, HIDDEN, SHOWN))


def _checked(interval: Interval, low: Floats, high: Floats, state: NDArray[np.integer]) -> Ranges:
    """Intervals whose open ends, NaN so far, stand at the bounds of the column.

    Those that are open where the column has no bound, or end before they begin, are refused.
    """
    shown = state == SHOWN
    low = np.where(shown & np.isnan(low), -np.inf, low)
    high = np.where(shown & np.isnan(high), np.inf, high)
    in_order = low <= high
    low, high = (np.clip(ends, *interval.column.bounds) for ends in (low, high))
    wrong = shown & ~(in_order & np.isfinite(low) & np.isfinite(high))
    if wrong.any():
        what = "with an interval that lacks an end, or ends before it begins"
        remedy = "an open end needs the bottom or top of the column in the schema"
        raise about_cells(TableError, interval.name, wrong, what, remedy)
    return Ranges(low, high, state.astype(np.int8))


def _values(interval: Interval, cells: pl.Series, dialect: Dialect) -> Floats:
    values = parse_dates(cells) if interval.is_date else parse_numbers(cells, dialect)
    return values.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _parse_ranges(interval: Interval, cells: pl.Series, dialect: Dialect) -> Ranges:
    text = cells.cast(pl.String)
    bare = pl.select(pl.when(text != ROOT).then(text)).to_series()
    between = _between(dialect)
    two = (
        bare.str.starts_with("[")
        & bare.str.ends_with("]")
        & bare.str.contains(between, literal=True)
    )
    inner = bare.str.slice(1, bare.str.len_chars() - 2).str.splitn(between, 2)
    words = _OPEN_DATES if interval.is_date else _OPEN_NUMBERS
    below, above = (bare.str.ends_with(word) for word in words)
    # Before a sign stands an apostrophe where the cell was defused for spreadsheets.
    only = bare.str.replace(f"^'?(.*)({'|'.join(words)})$", "${1}")
    low, high = (
        pl.select(
            pl.when(two)
            .then(inner.struct.field(f"field_{side}"))
            .when(~(below, above)[side])
            .then(only)
        )
        .to_series()
        .rename(interval.name)
        for side in (0, 1)
    )
    hidden = (text == ROOT).fill_null(False).to_numpy()
    state = np.where(text.is_null().to_numpy(), MISSING, np.where(hidden, HIDDEN, SHOWN))
    return _checked(
        interval, _values(interval, low, dialect), _values(interval, high, dialect), state
    )


def _parse_nodes(category: Category, cells: pl.Series, dialect: Dialect) -> Nodes:
    shown = cells.drop_nulls().unique().to_list()
    labels = dict(zip(shown, formulas.meant(shown, category.tree.node_of, dialect), strict=True))
    told = [cell if cell is None else labels[cell] for cell in cells.to_list()]
    nodes = [_node(category, cell) for cell in told]
    if None in nodes and category.column.has_own_tree:
        nodes = _read_otherwise(category, told, nodes)
    wrong = np.array([node is None for node in nodes], dtype=np.bool_)
    if wrong.any():
        what = "with a label that neither its taxonomy nor a set of its values explains"
        raise about_cells(TableError, category.name, wrong, what)
    return Nodes(np.array(nodes, dtype=np.int32))


def _node(category: Category, cell: str | None) -> int | None:
    tree = category.tree
    node = tree.node_of.get(MISSING_LEAF if cell is None else cell)
    if node is None and cell is not None and cell.startswith("{") and cell.endswith("}"):
        values = next(csv.reader([cell[1:-1]], skipinitialspace=True), [])
        members = [tree.node_of.get(value) for value in values]
        if members and None not in members:
            return tree.lowest_common_ancestor(member for member in members if member is not None)
    return node


def _read_otherwise(
    category: Category, cells: Sequence[str | None], nodes: Sequence[int | None]
) -> list[int | None]:
    """Labels that are spelled otherwise here, since the release was made from fewer values.

    The longest code decides how many stars `478**` has, and a fraction that `[10, 20)` is not
    spelled `[10, 19]`.
    """
    tree = category.tree
    inner = range(tree.leaf_count, len(tree.labels))
    known = {_meaning(tree.labels[node]): node for node in inner}
    return [
        known.get(_meaning(cell)) if node is None and cell is not None else node
        for cell, node in zip(cells, nodes, strict=True)
    ]


def _meaning(label: str) -> str:
    whole = re.fullmatch(r"\[(-?[0-9]+), (-?[0-9]+)\]", label)
    return f"[{whole[1]}, {int(whole[2]) + 1})" if whole else label.rstrip(ROOT)
