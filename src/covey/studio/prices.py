"""What each k protects from and what it costs, point by point, while the custodian reads on.

The first points are rough and come soon: a few k, with the quickest effort. Then come the others,
and then all of them again with more effort.
"""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from covey import pipeline, tables
from covey._core.arrays import Longs
from covey.clustering.progress import Progress, part_of, silent
from covey.clustering.request import Request
from covey.encoding.groups import Groups
from covey.errors import InfeasibleError
from covey.generalisation import Style, cells_of
from covey.report import charts
from covey.schema import Schema
from covey.studies import curves
from covey.studies.curves import Curve, Point, Task
from covey.studio.work import schema_of
from covey.studio.workers import Telling
from covey.tables import Table
from covey.tables.csv_files import Dialect

_FIRST = (5, 20, 100, 2, 10, 50, 200)  # so that a few points already make a curve
_EFFORTS = ("fast", "quick")
SHARES = (0.005, 0.01, 0.02, 0.05)  # of rows that may be suppressed
EXAMPLES = 3


class Priced(NamedTuple):
    """What one k costs, and how it shows a few people; or what suppressing some rows saves."""

    point: Point
    effort: str
    shown: tuple[tuple[str, ...], ...] = ()  # the cells of the examples
    share: float = 0.0  # of rows that may be suppressed
    limited: bool | None = None  # with or without a limit on the share of a person


class People(NamedTuple):
    """A few people of the original, as examples."""

    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]


class Prices:
    """The jobs about prices."""

    _priced: "tuple[tuple[str, str, int], Task, _Examples] | None" = None

    def prices(self, telling: Telling, place: str, toml: str, reading: int) -> None:
        """Report the price of each k, rough ones first."""
        prepared, people = self._prepared(telling, place, toml, reading)
        telling.piece(people.before)
        for effort in _EFFORTS:
            task = replace(prepared, request=_with_effort(prepared.request, effort))
            for point, groups in _points(task, telling.progress):
                telling.piece(Priced(point, effort, people.shown(groups)))

    def savings(self, telling: Telling, place: str, toml: str, reading: int, k: int) -> None:
        """Report what it costs at `k` to suppress a few rows or none, and to limit shares."""
        task, _ = self._prepared(telling, place, toml, reading)
        for limited in (False, True) if task.persons else ():
            with contextlib.suppress(InfeasibleError):
                point = task.limited(to=limited).at(k, silent)[0]
                telling.piece(Priced(point, _EFFORTS[-1], limited=limited))
        for done, share in enumerate((0.0, *SHARES)):
            tell = part_of(telling.progress, f"{share:.1%} suppressed", done, len(SHARES) + 1)
            asked = replace(task, request=task.request.suppressing(share))
            with contextlib.suppress(InfeasibleError):
                telling.piece(Priced(asked.at(k, tell)[0], _EFFORTS[-1], share=share))

    def mended(
        self, telling: Telling, place: str, toml: str, options: dict[str, Any], name: str
    ) -> float:
        """The mean loss of a cell if no class may reveal a value of this column, which l = 2 says.

        Whatever else leaves no class with a single value includes it, and costs as much or more.
        """
        schema = schema_of(toml)
        telling.progress("reading", 0.0)
        table = tables.read(place, schema)
        schema = schema.requiring(l={**getattr(schema.require, "l"), name: 2})  # noqa: B009
        tell = telling.progress
        made = pipeline.anonymize(table, schema, register=False, progress=tell, **options)
        return made.report.mean_loss

    def _prepared(
        self, telling: Telling, place: str, toml: str, reading: int
    ) -> "tuple[Task, _Examples]":
        """The table, ready for any k, and some of its people; another `reading`, another table."""
        if self._priced is None or self._priced[0] != (place, toml, reading):
            self._priced = None
            schema = schema_of(toml)
            telling.progress("reading", 0.0)
            table = tables.read(place, schema)
            wanted = curves.wanted(table, schema, None, {"effort": _EFFORTS[-1]})
            task = curves.prepare(wanted, ks=None, progress=telling.progress)
            self._priced = (place, toml, reading), task, _Examples.of(task, table)
        return self._priced[1:]

    def curve_picture(self, _: Telling, curve: Curve, chosen: int | None) -> str:
        """The curve as a picture."""
        return charts.svg(curve.chart(chosen=chosen))


def curve_of(prices: Iterable[Priced], rows: int, schema: Schema) -> Curve:
    """The curve through these prices."""
    person = schema.require.person or None
    points = sorted((priced.point for priced in prices), key=lambda point: point.k)
    return Curve(tuple(curves.rising(points)), rows, "covey", {}, schema.loss, person)


def _with_effort(request: Request, effort: str) -> Request:
    return replace(request, options={**request.options, "effort": effort})


def _points(task: Task, progress: Progress) -> Iterator[tuple[Point, Groups]]:
    ks = [*(k for k in _FIRST if k in task.ks), *(k for k in task.ks if k not in _FIRST)]
    for done, k in enumerate(ks):
        try:
            yield task.at(k, part_of(progress, f"k = {k}", done, len(ks)))
        except InfeasibleError:  # more persons than there are
            continue


# ── examples ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False, repr=False)
class _Examples:
    """A few rows from all over the table; the same ones each time."""

    task: Task
    dialect: Dialect
    rows: Longs
    before: People

    @classmethod
    def of(cls, task: Task, table: Table) -> "_Examples":
        """Choose them."""
        rows = np.array(
            [(2 * i + 1) * task.encoded.rows // (2 * EXAMPLES) for i in range(EXAMPLES)]
        )
        names = tuple(attribute.name for attribute in task.encoded.attributes)
        read = task.people.selection.rows[rows].tolist()
        columns = [_texts(table.cells(name)[read]) for name in names]
        return cls(task, table.dialect, rows, People(names, tuple(zip(*columns, strict=True))))

    def shown(self, groups: Groups) -> tuple[tuple[str, ...], ...]:
        """How the groups of these rows are shown."""
        labels = groups.labels[self.rows]
        members = np.flatnonzero(np.isin(groups.labels, labels[labels >= 0]))
        known, own = np.unique(groups.labels[members], return_inverse=True)
        cells = cells_of(self.task.encoded.take(members), Groups(own), self.dialect, Style())
        columns = [_texts(shown[0]) for shown in cells.values()]
        return tuple(
            tuple(column[place] for column in columns)
            for place in np.searchsorted(known, labels).tolist()
        )


def _texts(cells: pl.Series) -> list[str]:
    return ["" if cell is None else str(cell) for cell in cells.to_list()]
