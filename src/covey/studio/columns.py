"""What the process finds out about single columns: who is unique by them, and how they would look.

`Columns` is the part of the desk for the steps about roles and about how values may be shown.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from covey import inspection, tables
from covey._core.arrays import Floats, Longs
from covey.encoding import Category, Interval, Style, Values
from covey.encoding.categories import tree_over
from covey.encoding.groups import Groups
from covey.encoding.intervals import snapped, usual_range
from covey.errors import UsageError, count, percent
from covey.inspection import relations, sentinels
from covey.inspection.facts import FEW, Facts
from covey.inspection.known import KeptColumn, kept_column
from covey.inspection.relations import Uniqueness
from covey.measures.scales import day_of
from covey.report import charts
from covey.schema import Column, MissingPolicy, Role, Schema
from covey.schema import taxonomy as trees
from covey.schema.taxonomy import Taxonomy
from covey.studio.reading import Reading, TableDesk
from covey.studio.ui import WORDS
from covey.studio.work import written_out
from covey.tables import Table, sources

if TYPE_CHECKING:
    import altair as alt

_MOST_BARS = 20  # upright ones of a small picture
_MOST_NAMED = 4  # categories of a small picture, besides the others
_FINE = 80  # bars below the cuts of a grid
_MOST_CUTS = 120  # that are drawn
_MOST_BEYOND = 0.1  # share of the rows that may lie beyond a bound without a note


class Example(NamedTuple):
    """Some values, and the cell that a group of people with them would show."""

    values: tuple[str, ...]
    shown: str


class Note(NamedTuple):
    """What to know about the settings of a column; `bad` if covey would refuse the table."""

    text: str
    kind: str = "mind"

    @classmethod
    def of(cls, name: str, kind: str = "mind", **parts: str) -> "Note":
        """The note of this name in `words.toml`."""
        return cls(WORDS["columns"][name].format(**parts), kind)


@dataclass(frozen=True)
class Scale:
    """The range of the numbers or days of a column, without those far from all others."""

    low: float
    high: float
    is_whole: bool


@dataclass(frozen=True, eq=False, repr=False)
class Branches:
    """The tree of a column, and the rows below each node."""

    tree: Taxonomy
    rows: tuple[int, ...]
    lacking: tuple[str, ...] = ()  # values that the tree does not have


@dataclass(frozen=True, eq=False, repr=False)
class Appearance:
    """How a column would look under its settings."""

    missing: int
    scale: Scale | None = None
    branches: Branches | None = None
    examples: tuple[Example, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class _Numbers:
    """The distinct numbers or days of a column in their order, and the rows with each."""

    values: Floats
    rows: Longs
    missing: int

    @property
    def are_whole(self) -> bool:
        return bool((self.values % 1 == 0).all())

    def rows_where(self, which: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> int:
        return int(self.rows[which].sum())

    def at(self, share: float) -> int:
        """The place of the value that this share of the rows do not exceed."""
        below = np.cumsum(self.rows)
        return int(np.searchsorted(below, share * below[-1]))


class Columns(TableDesk):
    """The jobs about single columns."""

    _numbered: tuple[Table | None, dict[str, _Numbers]] = None, {}

    # ── roles ───────────────────────────────────────────────────────────────────────────────────

    def uniqueness(self, reading: Reading, names: Sequence[str]) -> Uniqueness:
        """How many rows are unique by these columns."""
        return relations.uniqueness([self.facts(reading, name).cells for name in names])

    def kept(self, reading: Reading, columns: Mapping[str, Column]) -> list[KeptColumn]:
        """What others may know of columns that are released as they are."""
        return [kept_column(self.facts(reading, n), column) for n, column in columns.items()]

    def sensitive(self, reading: Reading, names: Sequence[str]) -> dict[str, tuple[int, float]]:
        """Of each column the number of different values, and the share of the most frequent."""
        facts = {name: self.facts(reading, name) for name in names}
        return {
            name: (one.distinct, max(one.rows.to_list(), default=0) / max(len(one.cells), 1))
            for name, one in facts.items()
        }

    def histogram(self, reading: Reading, name: str) -> str | None:
        """A small picture of the values of a column; None if nothing can be drawn."""
        facts = self.facts(reading, name)
        if not charts.available() or not facts.present:
            return None
        missing = len(facts.cells) - facts.present
        if facts.is_date:
            drawn = _upright(*_dated_bins(sentinels.days(facts), facts.rows), missing)
        elif facts.is_numeric and facts.distinct > FEW:
            drawn = _upright(*_number_bins(facts.numbers, facts.rows), missing)
        else:
            drawn = _lying(facts, missing)
        return charts.svg(drawn)

    def drafted(self, reading: Reading, name: str, k: int) -> Column:
        """The settings of a column as a quasi-identifier, as covey would draft them."""
        table = self.table(reading)
        alone = table.with_frame(table.frame.select(name))
        known_trees = tree_folder(reading.place)
        draft = inspection.inspect(alone, quasi=[name], k=k, taxonomies=known_trees)
        return written_out(draft.schema).columns[name]

    # ── how values may be shown ─────────────────────────────────────────────────────────────────

    def appearance(self, reading: Reading, name: str, column: Column, k: int) -> Appearance:
        """How a quasi-identifier would look, and what is wrong with its settings."""
        table = self.table(reading)
        try:
            if column.is_ordered:
                return _on_a_scale(name, column, self._numbers(table, name, column), table, k)
            return _in_a_tree(name, column, table)
        except UsageError as error:
            return Appearance(0, notes=(Note(str(error), "bad"),))

    def cuts(self, reading: Reading, name: str, column: Column) -> str | None:
        """The distribution of numbers or dates, with the cuts of the grid and the bounds."""
        if not charts.available():
            return None
        numbers = self._numbers(self.table(reading), name, column)
        return charts.svg(_cut(numbers, column)) if len(numbers.values) else None

    def tree_file(self, path: str) -> Taxonomy:
        """The tree in a file of ARX's format."""
        return trees.read_arx(Path(path))

    def _numbers(self, table: Table, name: str, column: Column) -> _Numbers:
        """The numbers or days of a column, read once for all grids and bounds."""
        kept = {"role", "type", "format", "missing_values", "unreadable"}
        hours = {"grid": "hour"} if column.grid == "hour" else {}
        read = Column(**(column.model_dump(include=kept) | hours))
        if self._numbered[0] is not table:
            self._numbered = table, {}
        key = f"{name}\0{read.model_dump_json()}"
        if key not in self._numbered[1]:
            schema = Schema(columns={name: read})
            original = _alone(table, name, schema)
            cells = Values.of(original, schema).quasi[name]
            values, rows = np.unique(cells.drop_nulls().to_numpy(), return_counts=True)
            self._numbered[1][key] = _Numbers(values, rows, cells.null_count())
        return self._numbered[1][key]


def _alone(table: Table, name: str, schema: Schema) -> Table:
    """One column as the schema reads it."""
    return tables.original(replace(table, frame=table.frame.select(name)), schema, Role.QUASI)


# ── small pictures ──────────────────────────────────────────────────────────────────────────────

_Bins = tuple[pl.Series, pl.Series, Callable[[int], str]]  # of values, rows, where a bin begins


def _upright(
    bins: pl.Series, rows: pl.Series, begins: Callable[[int], str], missing: int
) -> "alt.LayerChart":
    """Upright bars over ranges; missing ones stand apart."""
    counted = (
        pl.DataFrame({"bin": bins, "rows": rows}).drop_nulls().group_by("bin").sum().sort("bin")
    )
    first, last = int(counted["bin"][0]), int(counted["bin"][-1])
    ranges = [charts.Range("", (begins(at), begins(at + 1))) for at in range(first, last + 1)]
    bars = [charts.Bar(at - first, 0, height, charts.SOFT) for at, height in counted.iter_rows()]
    if missing:
        bars.append(charts.Bar(len(ranges), 0, missing, charts.BEFORE))
        ranges.append(charts.Range("missing"))
    return charts.histogram(ranges, bars)


def _number_bins(numbers: pl.Series, rows: pl.Series) -> _Bins:
    """Ranges of a round width; values far from all others count at the ends."""
    known = numbers.to_numpy()
    low, high = usual_range(known, rows.to_numpy())
    width = round_step((high - low) / _MOST_BARS, whole=bool(np.nanmax(known % 1) == 0))
    bins = (numbers.clip(low, high) / width).floor().cast(pl.Int64)
    return bins, rows, lambda at: f"{at * width:,.10g}"


def _dated_bins(days: pl.Series, rows: pl.Series) -> _Bins:
    """Years, months or days, several of them in one bar if there are many."""
    low, high = usual_range(days.cast(pl.Float64).to_numpy(), rows.to_numpy())
    known = days.clip(int(low), int(high)).cast(pl.Int32).cast(pl.Date)

    def bars(places: pl.Series, unit: float, begins: Callable[[int], str]) -> _Bins:
        step = int(round_step((high - low) / unit / _MOST_BARS, whole=True))
        return places // step, rows, lambda at: begins(at * step)

    if high - low > 3 * 366:
        return bars(known.dt.year(), 365.25, str)
    if high - low > 62:
        months = known.dt.year().cast(pl.Int32) * 12 + known.dt.month().cast(pl.Int32) - 1
        return bars(months, 30.4, lambda month: f"{month // 12}-{month % 12 + 1:02}")
    return bars(known.cast(pl.Int32), 1, lambda day: f"{day_of(day):%m-%d}")


def round_step(least: float, *, whole: bool) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not less."""
    least = max(least, 1.0 if whole else 1e-9)
    power = 10.0 ** np.floor(np.log10(least))
    return float(next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - 1e-9)))


def _lying(facts: Facts, missing: int) -> "alt.LayerChart":
    """The most frequent values, the others together, and those that are missing."""
    counted = pl.DataFrame({"value": facts.values.cast(pl.String), "rows": facts.rows})
    counted = counted.sort("rows", "value", descending=[True, False])
    named = counted.head(_MOST_NAMED + (counted.height == _MOST_NAMED + 1))
    lines = [(value, rows, charts.SOFT) for value, rows in named.iter_rows()]
    rest = counted.slice(named.height)
    if rest.height:
        lines.append((f"{rest.height:,} others", int(rest["rows"].sum()), charts.BEFORE))
    if missing:
        lines.append(("missing", missing, charts.BEFORE))
    bars = [
        charts.Bar(at, 0, rows, colour, text=f"{rows:,}")
        for at, (_, rows, colour) in enumerate(lines)
    ]
    return charts.bars([name for name, _, _ in lines], bars, thick=11)


# ── numbers and dates ───────────────────────────────────────────────────────────────────────────


def _on_a_scale(name: str, column: Column, numbers: _Numbers, table: Table, k: int) -> Appearance:
    if not len(numbers.values):
        return Appearance(numbers.missing, notes=(Note("No row has a value here."),))
    low, high = usual_range(numbers.values, numbers.rows)
    scale = Scale(low, high, numbers.are_whole)
    notes = (*_scale_notes(column, numbers, scale, k), *_missing_notes(column, numbers.missing))
    examples = tuple(_number_examples(name, column, numbers, table))
    return Appearance(numbers.missing, scale, examples=examples, notes=notes)


def _number_examples(
    name: str, column: Column, numbers: _Numbers, table: Table
) -> Iterator[Example]:
    """The value in the middle beside its neighbour, and the ends of the scale if they are cut."""

    def cells(values: Floats, by: Column, labels: Sequence[int]) -> list[str]:
        interval = Interval(name, by, np.clip(values, *by.bounds), values[0], values[-1])
        groups = Groups(labels)
        shown = interval.fold(groups).render(groups, table.dialect, Style())[0]
        if shown.dtype.is_numeric():  # means and medians
            return [np.format_float_positional(cell, trim="-") for cell in shown]
        return shown.to_list()

    plain = column.model_copy(update=dict.fromkeys(("bottom", "top", "domain", "render")))
    bottom, top = column.bounds
    middle = min(numbers.at(0.5), max(len(numbers.values) - 2, 0))
    picked = [numbers.values[middle : middle + 2]]
    picked += [numbers.values[:1]] if numbers.values[0] < bottom else []
    picked += [numbers.values[-1:]] if numbers.values[-1] > top else []
    for values in picked:
        each = cells(values, plain, range(len(values)))
        yield Example(tuple(each), cells(values, column, [0] * len(values))[0])


def _scale_notes(column: Column, numbers: _Numbers, scale: Scale, k: int) -> Iterator[Note]:
    if column.domain is not None:
        within = (numbers.values >= column.domain[0]) & (numbers.values <= column.domain[1])
        if rows := numbers.rows_where(~within):
            yield Note.of("outside", "bad", rows=count(rows, "row"))
    if column.render == "mean":
        yield Note.of("mean")
    elif column.grid is None:
        yield Note.of("median" if column.render else "interval")
    elif not isinstance(column.grid, str) and column.grid > scale.high - scale.low:
        yield Note.of("wide")
    yield from _bound_notes(column, numbers, k)


def _bound_notes(column: Column, numbers: _Numbers, k: int) -> Iterator[Note]:
    values, total = numbers.values, int(numbers.rows.sum())
    bottom, top = column.bounds
    for bound, beyond, at, last, end in (
        (column.bottom, values < bottom, values <= bottom, values[:1], "lower"),
        (column.top, values > top, values >= top, values[-1:], "upper"),
    ):
        if bound is None:
            if rows := _few_at(last, column, numbers, k):
                yield Note.of("outermost", rows=count(rows, "row"), end=end)
        elif (rows := numbers.rows_where(beyond)) > _MOST_BEYOND * total:
            yield Note.of("beyond", share=percent(rows / total), end=end)
        elif (rows := numbers.rows_where(at)) < k:
            yield Note.of("few", rows=count(rows, "row"), end=end, k=f"{k:,}")


def _few_at(end: Floats, column: Column, numbers: _Numbers, k: int) -> int:
    """The rows in the outermost step, if they are fewer than k."""
    if column.grid is None:
        return 0
    low, high = snapped(end, end, column.grid)
    rows = numbers.rows_where((numbers.values >= low[0]) & (numbers.values <= high[0]))
    return rows if rows < k else 0


def _missing_notes(column: Column, missing: int) -> Iterator[Note]:
    if missing and column.missing is MissingPolicy.ERROR:
        yield Note.of("missing", "bad", rows=count(missing, "row"))
    elif missing and column.missing is MissingPolicy.DROP_ROW:
        yield Note.of("left_out", rows=count(missing, "row"))


def _cut(numbers: _Numbers, column: Column) -> "alt.LayerChart":
    """Fine bars, those beyond the bounds pale, and the cuts."""
    low, high = usual_range(numbers.values, numbers.rows)
    bounds = tuple(None if np.isinf(bound) else bound for bound in column.bounds)
    inside = [bound for bound in bounds if bound is not None]
    low, high = min([low, *inside]), max([high, *inside])
    width = round_step(max(high - low, 1e-9) / _FINE, whole=numbers.are_whole)
    begin, end = _whole_steps(low, high, column, width)
    bins = np.floor((np.clip(numbers.values, low, high) - begin) / width).astype(np.int64)
    heights = np.bincount(bins, weights=numbers.rows)
    bottom, top = column.bounds
    spans = [
        charts.Span(left, left + width, float(rows), beyond=left + width <= bottom or left >= top)
        for left, rows in zip(begin + np.arange(len(heights)) * width, heights, strict=True)
        if rows
    ]
    ends = begin, max(end, begin + len(heights) * width)
    cuts = _cuts(column, max(begin, bottom), min(ends[1], top))
    return charts.cut_spans(spans, cuts, bounds, ends=ends, dates=column.type == "date")


def _whole_steps(low: float, high: float, column: Column, width: float) -> tuple[float, float]:
    """The range widened to whole steps, like those of the sliders below the picture."""
    if column.grid is None:
        return float(np.floor(low / width) * width), high
    begin, end = snapped(np.array([low]), np.array([high]), column.grid)
    return float(begin[0]), float(end[0])


def _cuts(column: Column, low: float, high: float) -> list[float]:
    """Where the steps of the grid begin; none if there are too many to draw."""
    grid = column.grid
    if grid is None or (not isinstance(grid, str) and (high - low) / grid > _MOST_CUTS):
        return []
    found = [begin for begin, _ in islice(steps_between(low, high, grid), _MOST_CUTS + 1)]
    return found if len(found) <= _MOST_CUTS else []


def steps_between(low: float, high: float, grid: float | str) -> Iterator[tuple[float, float]]:
    """The first and last value of each step of a grid that begins below `high`."""
    at = low
    while at < high:
        begin, end = (float(ends[0]) for ends in snapped(np.array([at]), np.array([at]), grid))
        yield begin, end
        at = end + 1 if isinstance(grid, str) else max(end, begin + grid)


# ── categories ──────────────────────────────────────────────────────────────────────────────────


def _in_a_tree(name: str, column: Column, table: Table) -> Appearance:
    cells = _alone(table, name, Schema(columns={name: column})).cells(name).cast(pl.String)
    counted = cells.alias("value").drop_nulls().value_counts(name="rows").sort("value")
    tree = tree_over(name, column, counted["value"], table.dialect)
    leaf_of = {label: leaf for leaf, label in enumerate(tree.leaves)}
    rows = np.zeros(len(tree.labels), dtype=np.int64)
    lacking: dict[str, int] = {}
    for value, times in counted.iter_rows():
        if value in leaf_of:
            rows[leaf_of[value]] = times
        else:
            lacking[value] = times
    for node, above in enumerate(tree.parent[:-1]):  # parents come after their children
        rows[above] += rows[node]
    branches = Branches(tree, tuple(rows.tolist()), tuple(lacking))
    missing = cells.null_count()
    notes = (*_tree_notes(branches, sum(lacking.values())), *_missing_notes(column, missing))
    examples = tuple(_tree_examples(name, column, branches, table))
    return Appearance(missing, branches=branches, examples=examples, notes=notes)


def _tree_notes(branches: Branches, lacking: int) -> Iterator[Note]:
    tree = branches.tree
    if lacking:
        values = count(len(branches.lacking), "value")
        yield Note.of("lacking", "bad", values=values, rows=count(lacking, "row"))
    if tree.height == 1 and tree.leaf_count > 2:
        yield Note.of("flat", label=tree.labels[tree.root])
    if unused := branches.rows[: tree.leaf_count].count(0):
        yield Note.of("unused", "quiet", values=count(unused, "value"))


def _tree_examples(
    name: str, column: Column, branches: Branches, table: Table
) -> Iterator[Example]:
    """The most frequent value with one under each of its ancestors: what climbing shows."""
    tree, rows = branches.tree, np.array(branches.rows)
    if tree.leaf_count < 2:
        return
    leaf = node = int(np.argmax(rows[: tree.leaf_count]))
    together = Groups([0, 0])
    while node != tree.root:
        above = int(tree.parent[node])
        others = np.setdiff1d(_leaves(tree, above), _leaves(tree, node))
        if len(others):
            other = int(others[np.argmax(rows[others])])
            category = Category(name, column, np.array([leaf, other], dtype=np.int32), tree)
            shown = category.fold(together).render(together, table.dialect, Style())[0][0]
            yield Example((tree.labels[leaf], tree.labels[other]), shown)
        node = above


def _leaves(tree: Taxonomy, node: int) -> Longs:
    first = int(tree.first_leaf[node])
    return np.arange(first, first + int(tree.leaves_below[node]))


def tree_folder(place: str) -> Path | None:
    """The folder of taxonomy files next to a table, as ARX and the demonstration have it."""
    folder = Path(sources.of(place).place).parent / "hierarchies"
    return folder if folder.is_dir() else None
