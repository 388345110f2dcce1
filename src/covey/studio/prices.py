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

from covey import pipeline
from covey._core.arrays import Longs
from covey.clustering.progress import Progress, part_of, silent
from covey.encoding.groups import Groups
from covey.errors import InfeasibleError
from covey.generalisation import Style, cells_of
from covey.report import charts
from covey.schema import Schema
from covey.studies import curves
from covey.studies.curves import Curve, CurveTask, Point
from covey.studio.reading import Reading, TableDesk
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


class ExampleRows(NamedTuple):
    """A few rows of the original, as examples."""

    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]


class Prices(TableDesk):
    """The jobs about prices."""

    _priced: "tuple[tuple[Reading, Schema], CurveTask, _Examples] | None" = None

    def prices(self, reading: Reading, schema: Schema) -> None:
        """Report the price of each k, rough ones first."""
        prepared, examples = self._prepared(reading, schema)
        self.reporter.piece(examples.originals)
        for effort in _EFFORTS:
            request = prepared.request
            options = {**request.options, "effort": effort}
            task = replace(prepared, request=replace(request, options=options))
            for point, groups in _points(task, self.reporter.progress):
                self.reporter.piece(Priced(point, effort, examples.shown(groups)))

    def savings(self, reading: Reading, schema: Schema, k: int) -> None:
        """Report what it costs at `k` to suppress a few rows or none, and to limit shares."""
        task, _ = self._prepared(reading, schema)
        for limited in (False, True) if task.persons else ():
            with contextlib.suppress(InfeasibleError):
                point = task.limited(to=limited).at(k, silent)[0]
                self.reporter.piece(Priced(point, _EFFORTS[-1], limited=limited))
        shares, progress = (0.0, *SHARES), self.reporter.progress
        for done, share in enumerate(shares):
            own_progress = part_of(progress, f"{share:.1%} suppressed", done, len(shares))
            suppressing = replace(task, request=task.request.suppressing(share))
            with contextlib.suppress(InfeasibleError):
                point = suppressing.at(k, own_progress)[0]
                self.reporter.piece(Priced(point, _EFFORTS[-1], share=share))

    def mended(self, reading: Reading, schema: Schema, options: dict[str, Any], name: str) -> float:
        """The mean loss of a cell if no class may reveal a value of this column, which l = 2 says.

        Whatever else leaves no class with a single value includes it, and costs as much or more.
        """
        table, progress = self.original(reading, schema), self.reporter.progress
        least = {**getattr(schema.require, "l"), name: 2}  # noqa: B009
        schema = schema.requiring(l=least, composition="warn")
        made = pipeline.anonymize(table, schema, register=False, progress=progress, **options)
        return made.report.mean_loss

    def _prepared(self, reading: Reading, schema: Schema) -> "tuple[CurveTask, _Examples]":
        """The table, ready for any k, and some of its people."""
        if self._priced is None or self._priced[0] != (reading, schema):
            self._priced = None
            table = self.original(reading, schema)
            wanted = curves.requested(table, schema, None, {"effort": _EFFORTS[-1]})
            task = curves.prepare(wanted, ks=None, progress=self.reporter.progress)
            self._priced = (reading, schema), task, _Examples.of(task, table)
        return self._priced[1:]

    def curve_picture(self, curve: Curve, chosen: int | None) -> str:
        """The curve as a picture."""
        return charts.svg(curve.chart(chosen=chosen))


def curve_of(prices: Iterable[Priced], rows: int, schema: Schema) -> Curve:
    """The curve through these prices."""
    person = schema.require.person or None
    points = sorted((priced.point for priced in prices), key=lambda point: point.k)
    return Curve(tuple(curves.rising(points)), rows, "covey", {}, schema.loss, person)


def _points(task: CurveTask, progress: Progress) -> Iterator[tuple[Point, Groups]]:
    ks = [*(k for k in _FIRST if k in task.ks), *(k for k in task.ks if k not in _FIRST)]
    for done, k in enumerate(ks):
        try:
            yield task.at(k, part_of(progress, f"k = {k}", done, len(ks)))
        except InfeasibleError:  # more persons than there are
            continue


@dataclass(frozen=True, eq=False, repr=False)
class _Examples:
    """A few rows from all over the table; the same ones each time."""

    task: CurveTask
    dialect: Dialect
    rows: Longs
    originals: ExampleRows

    @classmethod
    def of(cls, task: CurveTask, table: Table) -> "_Examples":
        """Choose them."""
        rows = (2 * np.arange(EXAMPLES) + 1) * task.encoded.rows // (2 * EXAMPLES)
        names = tuple(attribute.name for attribute in task.encoded.attributes)
        read = task.people.selection.rows[rows].tolist()
        columns = [_texts(table.cells(name)[read]) for name in names]
        return cls(task, table.dialect, rows, ExampleRows(names, tuple(zip(*columns, strict=True))))

    def shown(self, groups: Groups) -> tuple[tuple[str, ...], ...]:
        """How the groups of these rows are shown."""
        labels = groups.labels[self.rows]
        members = np.flatnonzero(np.isin(groups.labels, labels[labels >= 0]))
        known, own = np.unique(groups.labels[members], return_inverse=True)
        cells = cells_of(self.task.encoded.take(members), Groups(own), self.dialect, Style())
        places = np.searchsorted(known, labels).tolist()
        return tuple(zip(*(_texts(shown[0][places]) for shown in cells.values()), strict=True))


def _texts(cells: pl.Series) -> list[str]:
    return ["" if cell is None else str(cell) for cell in cells.to_list()]
