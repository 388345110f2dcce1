"""The jobs about a release: look at it beside the original, ask it, attack it, write it.

They run in the process that made the release. What they return shows cells of the original to the
custodian on purpose, and to nobody else.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from covey._core.arrays import Longs
from covey.encoding import Category, Nodes, Style
from covey.encoding.attributes import Attribute, Shown
from covey.encoding.groups import SUPPRESSED, Groups
from covey.errors import UsageError
from covey.html import Html, together
from covey.reading import read_release, utility
from covey.report import About, charts
from covey.report.charts import LINE, Bar
from covey.report.page import utility_parts
from covey.schema import ColumnType
from covey.studio.handing import Package, PackedRelease, packed, written
from covey.studio.pairs import Pair, Texts, binned, numbers_in, released_texts, texts
from covey.studio.reading import TableDesk
from covey.tables.csv_files import Dialect

Found = TypeVar("Found")
RowOrder = Literal["worst", "sample", "first"]
ORDERS: tuple[RowOrder, ...] = get_args(RowOrder)
PAGE = 20  # rows of the table at a time
_MEMBERS = 60  # rows of a group that are shown
_NAMED = 8  # values of a column of a group that are shown
_FEW_LEAVES = 60  # values that can be chosen from a list


@dataclass(frozen=True, eq=False, repr=False)
class KnownColumn:
    """A column that one can ask about."""

    name: str
    is_number: bool
    choices: tuple[str, ...] = ()  # all values, if they are few
    is_quasi: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class RowShown:
    """A row before and after."""

    number: int  # in the original, from 0
    before: tuple[str | None, ...]
    after: tuple[str | None, ...]  # empty if the row is not in the release
    lost: tuple[float, ...]  # of each cell, from 0 to 1
    loss: float  # of the row, from 0 to 1
    together: int  # rows of its group


@dataclass(frozen=True, eq=False, repr=False)
class RowsShown:
    """Some rows, in an order."""

    names: tuple[str, ...]
    rows: tuple[RowShown, ...]
    order: RowOrder
    page: int
    pages: int


@dataclass(frozen=True, eq=False, repr=False)
class Widened:
    """What a group shows of one column, and why."""

    name: str
    shown: str | None
    lost: float
    share: float  # of what the row has lost
    values: tuple[tuple[str | None, int], ...]  # in the group, the most frequent first
    distinct: int
    without: tuple[str | None, str | None, int] | None  # a value, the cell without it, its rows
    covers: int | None  # values under the node, if it is one
    is_snapped: bool  # whether the grid widens it


@dataclass(frozen=True, eq=False, repr=False)
class GroupShown:
    """The group of a row."""

    number: int  # of the row
    chosen: str | None  # the column that was clicked
    size: int
    loss: float
    columns: tuple[Widened, ...]
    names: tuple[str, ...]
    members: tuple[tuple[int, tuple[str | None, ...]], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Payer:
    """People with a value in common, and what they lose."""

    column: str
    label: str
    rows: int
    loss: float


@dataclass(frozen=True, eq=False, repr=False)
class Payers:
    """Who loses most."""

    mean: float
    most: tuple[Payer, ...]
    by: str | None
    each: tuple[Payer, ...]  # of the column that was chosen
    columns: tuple[str, ...]


class Looks(TableDesk):
    """The jobs about the release that was made."""

    made: Pair | None = None

    @property
    def _pair(self) -> Pair:
        if self.made is None:
            raise UsageError("the release is no longer in memory: make it again")
        return self.made

    def look(self, work: Callable[..., Found], *arguments: Any) -> Found:
        """What a function finds out about the release beside its original."""
        return work(self._pair, *arguments)

    def write_release(
        self, where: str, output: str, about: About | None, certificate: bool
    ) -> PackedRelease:
        """Write the release into a folder of its own, named `where`."""
        self.reporter.progress("writing", 0.0)
        folder = self.folder / "handover" / where
        return written(self._pair.release, folder, output, about, certificate=certificate)

    def hand_over(self, release: PackedRelease, texts: Mapping[str, str]) -> Package:
        """Pack the written release, its dictionary and these texts."""
        self.reporter.progress("packing", 0.0)
        return packed(self._pair, release, texts)


def spelled_range(least: int, most: int) -> str:
    """A range of numbers as text."""
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def known_columns(pair: Pair) -> tuple[KnownColumn, ...]:
    """The columns of the release that one can ask about."""
    return tuple(_known(pair))


def _known(pair: Pair) -> Iterator[KnownColumn]:
    for name in pair.names:
        attribute = pair.encoded.attributes[pair.attribute(name)]
        choices: tuple[str, ...] = ()
        if isinstance(attribute, Category) and attribute.tree.leaf_count <= _FEW_LEAVES:
            choices = tuple(leaf for leaf in attribute.tree.leaves if leaf)
        is_number = pair.schema.columns[name].type is ColumnType.NUMERIC
        yield KnownColumn(name, is_number, choices)
    for name in pair.carried:
        values = pair.original.cells(name).drop_nulls().unique()
        choices = tuple(sorted(map(str, values))) if len(values) <= _FEW_LEAVES else ()
        is_number = numbers_in(pair.original, name) is not None
        yield KnownColumn(name, is_number, choices, is_quasi=False)


def rows_shown(pair: Pair, order: RowOrder, page: int) -> RowsShown:
    """A page of rows before and after."""
    pages = max(1, -(-pair.rows // PAGE))
    page = min(max(page, 0), pages - 1)
    chosen = _ordered(pair, order)[page * PAGE : (page + 1) * PAGE]
    return RowsShown(pair.names, tuple(_rows(pair, chosen)), order, page, pages)


def _ordered(pair: Pair, order: RowOrder) -> Longs:
    if order == "worst":
        # A row that a policy dropped has no loss: it comes first, since nothing of it is left.
        return np.argsort(-np.nan_to_num(pair.losses, nan=np.inf), kind="stable")
    if order == "sample":
        return np.random.default_rng(0).permutation(pair.rows)
    return np.arange(pair.rows)


def _rows(pair: Pair, chosen: Longs) -> list[RowShown]:
    before = [texts(pair.read.cells(name)[chosen]) for name in pair.names]
    places = pair.place[chosen]
    shown = np.maximum(places, 0)
    after = [released_texts(pair.released, name, shown) for name in pair.names]
    order = [pair.attribute(name) for name in pair.names]
    losses = pair.cell_losses[shown][:, order]
    labels = pair.release.groups.labels[chosen]
    sizes = pair.release.groups.sizes
    return [
        RowShown(
            int(number),
            tuple(column[i] for column in before),
            tuple(column[i] for column in after) if places[i] >= 0 else (),
            tuple(losses[i].tolist()) if places[i] >= 0 else (),
            float(np.nan_to_num(pair.losses[number], nan=1.0)),
            int(sizes[labels[i]]) if labels[i] != SUPPRESSED else 0,
        )
        for i, number in enumerate(chosen.tolist())
    ]


# ── a group ─────────────────────────────────────────────────────────────────────────────────────


def group_shown(pair: Pair, row: int, chosen: int | None) -> GroupShown:
    """The group of a row of the original; `chosen` is the place of a quasi-identifier."""
    if not 0 <= row < pair.rows:
        raise UsageError("there is no such row")
    if pair.place[row] < 0:
        raise UsageError("this row is not in the release, so it has no group")
    labels = pair.release.groups.labels
    members = np.flatnonzero(labels == labels[row])
    losses = pair.cell_losses[pair.place[row]]
    shares = losses * pair.weights / max(float(losses @ pair.weights), 1e-12)
    columns = [
        _widened(pair, name, members, float(losses[j]), float(shares[j]), int(pair.place[row]))
        for name in pair.names
        for j in (pair.attribute(name),)
    ]
    first = np.concatenate([[row], members[members != row]])[:_MEMBERS]
    before = [texts(pair.read.cells(name)[first]) for name in pair.names]
    return GroupShown(
        row,
        pair.names[chosen] if chosen is not None and chosen < len(pair.names) else None,
        len(members),
        float(pair.losses[row]),
        tuple(sorted(columns, key=lambda column: -column.share)),
        pair.names,
        tuple(zip(first.tolist(), zip(*before, strict=True), strict=True)),
    )


def _widened(
    pair: Pair, name: str, members: Longs, lost: float, share: float, place: int
) -> Widened:
    inside = np.searchsorted(pair.people.selection.rows, members)
    attribute = pair.encoded.attributes[pair.attribute(name)].take(inside)
    is_category = isinstance(attribute, Category)
    cells = pair.read.cells(name)[members]
    counted = cells.cast(str, strict=False).value_counts(sort=True, name="rows")
    node = _as_group(attribute)
    return Widened(
        name,
        released_texts(pair.released, name, [place])[0],
        lost,
        share,
        tuple(counted.head(_NAMED).iter_rows()),
        counted.height,
        _without_rare(attribute, texts(cells), pair.released.dialect) if lost else None,
        int(node.attribute.tree.leaves_below[node.node[0]]) if isinstance(node, Nodes) else None,
        not is_category and attribute.column.grid is not None,
    )


_CLEARLY = 0.15  # by how much the loss must fall to be worth telling
_TRIED = 40  # values at most
_RARE = 0.2  # share of the group that has the value


def _without_rare(
    attribute: Attribute, cells: Texts, dialect: Dialect
) -> tuple[str | None, str | None, int] | None:
    """The rare value that widens the cell most, the cell without it, and how many rows have it."""
    places = attribute.places
    values, counts = np.unique(places, return_counts=True)
    rare = values[counts <= max(1, _RARE * len(places))]
    # Only the ends can widen an interval; of a tree, any leaf can.
    tried = rare if isinstance(attribute, Category) else np.intersect1d(rare, values[[0, -1]])
    if len(values) < 2 or not len(tried):
        return None
    left = {
        value: _as_group(attribute.take(np.flatnonzero(places != value)))
        for value in tried[:_TRIED].tolist()
    }
    losses = {value: float(shown.losses("height")[0]) for value, shown in left.items()}
    best = min(losses, key=lambda value: losses[value])
    if float(_as_group(attribute).losses("height")[0]) - losses[best] < _CLEARLY:
        return None
    rows = np.flatnonzero(places == best)
    text = texts(left[best].render(Groups([0]), dialect, Style())[0])[0]
    return cells[int(rows[0])], text, len(rows)


def _as_group(attribute: Attribute) -> Shown:
    """What all rows show if they are one group."""
    return attribute.fold(Groups(np.zeros(len(attribute.values), dtype=np.int64)))


def payers(pair: Pair, place: int | None) -> Payers:
    """Who loses most; `place` is that of a column among those that can be chosen."""
    columns = (*pair.names, *pair.carried)
    if place is not None and not 0 <= place < len(columns):
        raise UsageError("there is no such column")
    counted = ~np.isnan(pair.losses)
    mean = float(pair.losses[counted].mean())
    least = max(pair.release.report.k, pair.rows // 100)

    def by(name: str) -> list[Payer]:
        bins = binned(pair, name)
        own = bins.of_rows[counted]
        rows = np.bincount(own, minlength=len(bins.labels))
        lost = np.bincount(own, pair.losses[counted], len(bins.labels))
        return [
            Payer(name, label, int(n), float(loss / n))
            for label, n, loss in zip(bins.labels, rows, lost, strict=True)
            if n
        ]

    all_payers = [payer for name in columns for payer in by(name)]
    dear = [payer for payer in all_payers if payer.rows >= least and payer.loss > mean]
    most = sorted(dear, key=lambda payer: (-payer.loss, payer.column, payer.label))[:6]
    chosen = None if place is None else columns[place]
    return Payers(mean, tuple(most), chosen, tuple(by(chosen)) if chosen else (), columns)


def class_chart(pair: Pair) -> str:
    """The sizes of classes as a picture, if charts are installed."""
    sizes = pair.release.report.classes
    if not sizes or not charts.available():
        return ""
    bars = [Bar(i, 0, one.rows, LINE, text=f"{one.rows:,}") for i, one in enumerate(sizes)]
    names = [f"{spelled_range(one.least, one.most)} rows" for one in sizes]
    return charts.svg(charts.bars(names, bars, thick=18))


def good_for(pair: Pair) -> Html:
    """What the release is good for, with figures of the original."""
    reader = read_release(pair.kept.released, schema=pair.schema)
    return together(utility_parts(utility(pair.original, reader)))


def random_person(pair: Pair) -> dict[str, str]:
    """What the original says of a random released row."""
    row = int(np.random.default_rng().choice(pair.release.rows))
    known = {name: texts(pair.read.cells(name)[[row]])[0] for name in pair.names}
    return {name: cell for name, cell in known.items() if cell is not None}
