"""What privacy costs: the loss for each k, in one run, as a table and a chart.

The table is read, sorted and encoded once. Then groups are formed for one k after another, and
their loss is measured. Nothing is released or verified here: `anonymize` does that after the
custodian has chosen a k. A curve holds numbers, never cells.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from covey import pipeline, tables
from covey.clustering import as_method
from covey.clustering.progress import Progress, part_of, silent
from covey.clustering.request import Request
from covey.custody.keys import Key
from covey.custody.ordering import ordered_people
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups, Rings
from covey.errors import THIN_SPACE, UsageError, percent
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
EFFORT = "quick"  # default of the covey method here: a curve needs many runs

DEFINITIONS = {
    "k": "Minimum number of rows in a group.",
    "total_il": "Total-IL of the groups, including suppressed rows.",
    "loss": "Mean loss of a cell: Total-IL divided by that of a table with every cell lost.",
    "gcp": "GCP of the same groups.",
    "groups": "Number of groups.",
    "largest": "Rows in the largest group.",
    "suppressed": "Rows in no group.",
    "found_for": "The k that the groups were formed for: a larger one if that lost less.",
    "seconds": "Time to form groups for this k.",
}


@dataclass(frozen=True)
class Point:
    """The loss of the best groups found for one k; `DEFINITIONS` explains the figures."""

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
        """Plain dictionaries and lists, as in the JSON file, with its digits."""
        return {"covey": version("covey"), "definitions": DEFINITIONS, **asdict(rounded(self))}

    def chart(self, *, chosen: int | None = None) -> "alt.LayerChart":
        """The curve as an Altair chart; needs the extra `covey[charts]`.

        A `chosen` k is marked if it is within the curve.
        """
        charts.refuse_without_charts()
        return _chart(rounded(self), chosen)

    def _repr_svg_(self) -> str | None:
        """What a notebook shows if the extra is installed: a picture without scripts."""
        return charts.svg(self.chart()) if charts.available() else None


def refuse_method(method: str | Callable[..., Any]) -> None:
    """Refuse a method whose groups form no classes."""
    if not as_method(method).alike:
        raise UsageError(
            "a curve is not possible for this method: its releases are not k-anonymous"
        )


refuse_format = Curve.refuse_format


# ── finding it ──────────────────────────────────────────────────────────────────────────────────


def curve(  # noqa: PLR0913 - those of anonymize
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
    `anonymize`. With the same seed and options, a point is the loss of `anonymize` for its k,
    unless groups found for a larger k lose less: they are valid for the smaller k too. The covey
    method uses a low effort, unless `effort` is among the options, so a release with its default
    effort loses somewhat less than the curve shows. Without a `seed`, one is derived from the key;
    it does not depend on `ks`.
    """
    sizes = None if ks is None else list(ks)
    request = requested(schema, sizes, method, options, class_column)
    task = prepare(frame, schema, request, ks=sizes, key=key, seed=seed, progress=progress)
    return task.curve(tuple(task.points(progress)))


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """A table that is ready for any k, and the ks to try."""

    ks: tuple[int, ...]
    request: Request
    encoded: EncodedTable
    seed: int

    def points(self, progress: Progress) -> Iterator[Point]:
        """The loss for each k, one k after another, each as soon as it is known."""
        for done, k in enumerate(self.ks):
            tell = part_of(progress, f"{done + 1} of {len(self.ks)}: k = {k}", done, len(self.ks))
            began = time.perf_counter()
            request = replace(self.request, requirements=(KAnonymity(k, person=False),))
            groups = request.cluster(self.encoded, self.seed, tell)
            yield self._point(k, groups, time.perf_counter() - began)

    def _point(self, k: int, groups: Groups | Rings, seconds: float) -> Point:
        assert isinstance(groups, Groups)  # other methods are refused earlier
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


def requested(
    schema: Schema,
    ks: Sequence[int] | None,
    method: str | Callable[..., Any],
    options: Mapping[str, Any],
    class_column: str | None,
) -> Request:
    """The request for the largest k, or an error if anything about it is wrong."""
    asked = [KAnonymity(k) for k in (KS[:1] if ks is None else ks)]
    if not asked:
        raise UsageError("no k given for the curve")
    chosen = {**({"effort": EFFORT} if method == "covey" else {}), **options}
    request = Request.of(schema, asked, method, chosen, class_column=class_column)
    refuse_method(method)
    return replace(request, requirements=(KAnonymity(request.k, person=False),))


def prepare(
    frame: Any,
    schema: Schema,
    request: Request,
    *,
    ks: Sequence[int] | None,
    key: Key | bytes | str | Path | None = None,
    seed: int | None,
    progress: Progress,
) -> Task:
    """Read the table, put it in order and encode it."""
    progress("reading", 0.0)
    table = tables.original(frame, schema, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
    seeded = [request.method.name, request.options, "curve", request.class_column]
    custodian = Key.of(key) if seed is None else None
    people = ordered_people(table, schema, seeded, seed=seed, key=custodian)
    encoded = pipeline.encode_people(people, schema, request)
    sizes = KS if ks is None else sorted(set(ks))
    return Task(tuple(k for k in sizes if k <= encoded.rows), request, encoded, people.seed)


def rising(points: Sequence[Point]) -> list[Point]:
    """For each k, the groups with the least loss among those found for it or a larger one."""
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
    """Loss over k, on a logarithmic axis: from 2 to 4 is as far as from 50 to 100."""
    import altair as alt

    ks = [point.k for point in curve.points]
    values = [{"k": p.k, "loss": p.loss, "label": percent(p.loss)} for p in curve.points]
    room = max(ks[-1] / ks[0], 2.0) ** 0.1
    x = alt.X("k:Q", title="k, the minimum number of rows in a class").scale(
        type="log", domain=[ks[0] / room, ks[-1] * room**0.3], nice=False
    )
    y = alt.Y("loss:Q", title="mean loss of a cell").scale(domainMin=0, nice=True)
    written = f"format(datum.value * 100, '.3~g') + '{THIN_SPACE}%'"
    base = alt.Chart(alt.InlineData(values)).encode(
        x=x.axis(values=apart(ks, 0.07), format=",d", grid=False, tickSize=5),
        y=y.axis(labelExpr=written, tickCount=6, gridColor=FAINT, domain=False, ticks=False),
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
            f"0{THIN_SPACE}%: every cell is unchanged, 100{THIN_SPACE}%: nothing is left",
        ),
        width=560,
        height=_HEIGHT,
        padding=14,
        background="white",
        config=charts.config(),
    )


def _mark(chosen: int, x: "alt.X", ks: Sequence[int]) -> "list[alt.Chart]":
    """A vertical line at a k, labelled below the curve, where there is no other text."""
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
    """Some of the ks, at least a share of the whole logarithmic range apart.

    The ends come first, then round numbers, then others.
    """
    chosen: list[int] = []
    for k in sorted(
        ks, key=lambda k: (k not in (ks[0], ks[-1]), str(k).strip("0") not in tuple("125"))
    ):
        if all(abs(log(k / other)) >= share * log(ks[-1] / ks[0]) for other in chosen):
            chosen.append(k)
    return sorted(chosen)
