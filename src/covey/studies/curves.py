"""How much privacy costs: the loss for every k, in one run, as a table and a picture.

The table is read, put in order and encoded once; then groups are formed for one k after another and
their loss is taken from the groups. Nothing is released or verified here: `anonymize` does that,
once the custodian has chosen a k. A curve holds numbers, never cells.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from covey import pipeline, tables
from covey.clustering import as_method
from covey.clustering.progress import Progress, part_of, silent
from covey.clustering.request import Request
from covey.custody.keys import Key
from covey.custody.ordering import ordered_people
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups, Rings
from covey.encoding.selection import Selection
from covey.errors import CoveyError, UsageError
from covey.measures.loss import measure_groups
from covey.report import charts
from covey.report.charts import FAINT, INK, LINE, PICTURES
from covey.report.writing import Written
from covey.schema import Role, Schema
from covey.schema.requirements import KAnonymity
from covey.schema.taxonomy import Measure
from covey.verification.rounding import rounded

if TYPE_CHECKING:
    import altair as alt

KS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200)
EFFORT = "quick"  # of the own method, where none is asked for: a curve is many runs

DEFINITIONS = {
    "k": "The least number of rows in a group.",
    "total_il": "Total-IL of the groups, suppressed rows with it.",
    "loss": "Mean loss of a cell: Total-IL over that of a table in which every cell is lost.",
    "gcp": "GCP of the same groups.",
    "groups": "Number of groups.",
    "largest": "Rows in the largest group.",
    "suppressed": "Rows in no group.",
    "found_for": "The k that the groups were formed for: a larger one, where that lost less.",
    "seconds": "Time to form groups for this k.",
}


@dataclass(frozen=True)
class Point:
    """What the best groups that were found for one k lose; `DEFINITIONS` explains the figures."""

    k: int
    total_il: float
    loss: float
    gcp: float
    groups: int
    largest: int
    suppressed: int
    found_for: int
    seconds: float


@dataclass(frozen=True)
class Curve(Written):
    """The loss for each k, which never falls as k grows."""

    formats = (".csv", ".json", *PICTURES)

    points: tuple[Point, ...]
    rows: int
    method: str
    options: dict[str, Any]
    measure: Measure

    @property
    def frame(self) -> pl.DataFrame:
        """One row per k, one column per figure."""
        return pl.DataFrame([asdict(point) for point in self.points])

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists, as the JSON file has them, with the digits it has."""
        return {"covey": version("covey"), "definitions": DEFINITIONS, **asdict(rounded(self))}

    def chart(self, *, chosen: int | None = None) -> "alt.LayerChart":
        """The curve as an Altair chart, which comes with the extra `covey[charts]`.

        A `chosen` k is marked if it lies on the curve.
        """
        charts.refuse_without_charts()
        return _chart(rounded(self), chosen)

    def _repr_svg_(self) -> str | None:
        """What a notebook shows, where the extra is there: a picture that asks nobody."""
        return charts.svg(self.chart()) if charts.available() else None


def refuse_method(method: str | Callable[..., Any]) -> None:
    """A curve is of groups whose rows are alike."""
    if not as_method(method).alike:
        raise UsageError("a curve is of k-anonymity, and the rows of this method are not alike")


refuse_format = Curve.refuse_format


# ── finding it ──────────────────────────────────────────────────────────────────────────────────


def curve(
    frame: Any,
    schema: Schema,
    *,
    ks: Iterable[int] | None = None,
    method: str | Callable[..., Any] = "covey",
    key: Key | bytes | str | Path | None = None,
    seed: int | None = None,
    class_column: str | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Curve:
    """The loss for each of `ks`, by default twenty from 2 to 200 or to the number of rows.

    `frame`, `schema`, `method`, `key`, `seed`, `class_column` and `options` are those of
    `anonymize`. With the same seed and options, a point is what `anonymize` loses for its k, unless
    a larger k has found groups that lose less: those do for smaller k too. covey's own method works
    with the effort that a curve can afford, unless `effort` is among the options, so that a release
    of its default effort loses somewhat less than the curve says. Without a `seed`, one is derived
    under the key, the same whatever `ks` are.
    """
    task = prepare(
        frame,
        schema,
        ks=ks,
        method=method,
        key=key,
        seed=seed,
        class_column=class_column,
        options=options,
        progress=progress,
    )
    return task.curve(tuple(task.points(progress)))


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """A table that is ready for any k, and which ks are asked for."""

    ks: tuple[int, ...]
    request: Request
    encoded: EncodedTable
    seed: int

    def points(self, progress: Progress) -> Iterator[Point]:
        """What the groups for each k lose, one k after another, each as soon as it is known."""
        for done, k in enumerate(self.ks):
            tell = part_of(progress, f"{done + 1} of {len(self.ks)}: k = {k}", done, len(self.ks))
            began = time.perf_counter()
            request = replace(self.request, requirements=(KAnonymity(k, person=False),))
            groups = pipeline.form_groups(self.encoded, request, self.seed, tell)
            yield self._point(k, groups, time.perf_counter() - began)

    def _point(self, k: int, groups: Groups | Rings, seconds: float) -> Point:
        assert isinstance(groups, Groups)  # others are refused before any work
        losses = measure_groups(self.encoded, groups)
        return Point(
            k=k,
            total_il=losses.total_il,
            loss=losses.mean,
            gcp=losses.gcp,
            groups=groups.count,
            largest=int(groups.sizes.max()),
            suppressed=groups.suppressed,
            found_for=k,
            seconds=round(seconds, 6),
        )

    def curve(self, points: Sequence[Point]) -> Curve:
        """The curve through what was found."""
        lowest, asked = tuple(rising(points)), self.request
        name, options = asked.method.name, dict(asked.options)
        return Curve(lowest, self.encoded.rows, name, options, self.encoded.measure)


def prepare(
    frame: Any,
    schema: Schema,
    *,
    ks: Iterable[int] | None,
    method: str | Callable[..., Any],
    key: Key | bytes | str | Path | None = None,
    seed: int | None,
    class_column: str | None,
    options: Mapping[str, Any],
    progress: Progress,
) -> Task:
    """Read and encode; whatever is wrong with the request is told here."""
    asked = [KAnonymity(k) for k in (KS[:1] if ks is None else ks)]
    if not asked:
        raise UsageError("there is no k to draw a curve of")
    chosen = {**({"effort": EFFORT} if method == "covey" else {}), **options}
    request = Request.of(schema, asked, method, chosen, class_column=class_column)
    request = replace(request, requirements=(KAnonymity(request.k, person=False),))
    refuse_method(method)
    progress("reading", 0.0)
    table = tables.original(frame, schema, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
    seeded = [request.method.name, chosen, "curve", class_column]
    custodian = Key.of(key) if seed is None else None
    people = ordered_people(table, schema, seeded, seed=seed, key=custodian)
    encoded = pipeline.encode_people(people, schema, request)
    sizes = KS if ks is None else sorted({requirement.k for requirement in asked})
    task = Task(tuple(k for k in sizes if k <= encoded.rows), request, encoded, people.seed)
    progress("warming up", 0.0)
    sample = people.take(Selection.where(np.arange(encoded.rows) < _SAMPLE))
    with contextlib.suppress(CoveyError):  # what the method refuses is told when it runs
        some = encode(sample.table, schema, class_column=class_column)
        list(replace(task, ks=KS[:1], encoded=some).points(silent))
    return task


_SAMPLE = 200  # rows that compile whatever a method compiles, so that no point holds that time


def rising(points: Sequence[Point]) -> list[Point]:
    """For each k the groups that lose least among those found for it or for a larger one."""
    best: list[Point] = []
    for point in reversed(points):
        if best and best[-1].total_il < point.total_il:
            best.append(replace(best[-1], k=point.k, seconds=point.seconds))
        else:
            best.append(point)
    return best[::-1]


# ── drawing it ──────────────────────────────────────────────────────────────────────────────────

_HEIGHT = 320  # of the field, in pixels


def _chart(curve: Curve, chosen: int | None) -> "alt.LayerChart":
    """Loss over k, which counts by ratio: from 2 to 4 is as far as from 50 to 100."""
    import altair as alt

    ks = [point.k for point in curve.points]
    values = [{"k": p.k, "loss": p.loss, "label": f"{100 * p.loss:.3g} %"} for p in curve.points]
    room = max(ks[-1] / ks[0], 2.0) ** 0.1
    x = alt.X("k:Q", title="k, the least number of people who are shown alike").scale(
        type="log", domain=[ks[0] / room, ks[-1] * room**0.3], nice=False
    )
    y = alt.Y("loss:Q", title="mean loss of a cell").scale(domainMin=0, nice=True)
    percent = "format(datum.value * 100, '.3~g') + ' %'"
    base = alt.Chart(alt.InlineData(values)).encode(
        x=x.axis(values=apart(ks, 0.07), format=",d", grid=False, tickSize=5),
        y=y.axis(labelExpr=percent, tickCount=6, gridColor=FAINT, domain=False, ticks=False),
    )
    # The curve never falls, so there is room on the left above a point.
    text = base.transform_filter(alt.FieldOneOfPredicate("k", apart(ks, 0.13)))
    text = text.encode(text="label:N")
    layers = [
        base.mark_area(color=LINE, opacity=0.08),
        *([] if chosen is None or not ks[0] <= chosen <= ks[-1] else _mark(chosen, x, ks)),
        *(
            text.mark_text(
                fontSize=11.5,
                align="right",
                dx=-5,
                dy=-11,
                color=ink,
                stroke=ink,
                strokeWidth=width,
            )
            for ink, width in (("white", 5), (INK, 0))
        ),
        base.mark_line(color=LINE, strokeWidth=2.2),
        base.mark_point(color=LINE, filled=True, opacity=1, size=34),
    ]
    return alt.LayerChart(
        layer=layers,
        title=charts.title(
            "What privacy costs",
            f"{curve.rows:,} rows, method {curve.method}; "
            "at 0 % every cell is as it was, at 100 % none tells anything",
        ),
        width=560,
        height=_HEIGHT,
        padding=14,
        background="white",
        config=charts.config(),
    )


def _mark(chosen: int, x: "alt.X", ks: Sequence[int]) -> "list[alt.Chart]":
    """An upright line at a k, told below the curve, where nothing else is written."""
    import altair as alt

    base = alt.Chart(alt.InlineData([{"k": chosen, "told": f"k = {chosen:,}"}])).encode(x=x)
    is_left = chosen * chosen < ks[0] * ks[-1]
    told = base.mark_text(
        fontSize=12,
        fontWeight="bold",
        align="left" if is_left else "right",
        dx=7 if is_left else -7,
        color=INK,
    )
    return [
        base.mark_rule(color=INK, strokeDash=[4, 3]),
        told.encode(text="told:N", y=alt.value(_HEIGHT - 14)),
    ]


def apart(ks: Sequence[int], share: float) -> list[int]:
    """Some of the ks, by ratio at least a share of the whole range apart.

    The ends come first, then round numbers, then others.
    """
    chosen: list[int] = []
    for k in sorted(
        ks, key=lambda k: (k not in (ks[0], ks[-1]), str(k).strip("0") not in tuple("125"))
    ):
        if all(abs(log(k / other)) >= share * log(ks[-1] / ks[0]) for other in chosen):
            chosen.append(k)
    return sorted(chosen)
