"""What each k protects from and what it costs: the risk and the loss for each k, in one run.

The table is read, sorted and encoded once. Then groups are formed for one k after another, and
their risk and loss are measured. Nothing is released or verified here: `anonymize` does that after
the custodian has chosen a k. A curve holds numbers, never cells.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from math import exp, log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import polars as pl

from covey import tables
from covey.choices import GivenColumns, MethodChoices, TableRequest, popped
from covey.clustering import as_method
from covey.clustering.progress import Progress, part_of, silent
from covey.clustering.request import PLAIN, Request
from covey.custody.keys import Key
from covey.custody.ordering import Secret, people_as_read
from covey.declared import declared
from covey.encoding import EncodedTable
from covey.encoding.constraints import constraints_of
from covey.encoding.groups import Groups
from covey.engines import memory
from covey.errors import THIN_SPACE, UsageError, percent
from covey.generalisation import generalise
from covey.inspection.persons import whose_rows
from covey.inspection.repeating import refuse_unsaid, with_dropped
from covey.measures.loss import measure_groups
from covey.measures.risks import risks_of_groups
from covey.measures.utility import UseFigures, mean_overlap, share_kept
from covey.reading.comparing import DeclaredUses
from covey.repair.surplus import without_surplus
from covey.report import charts
from covey.report.charts import FAINT, INK, LINE, PICTURES, QUIET
from covey.report.writing import Writable
from covey.schema import Role, Schema
from covey.schema.requirements import KAnonymity, PersonShare
from covey.schema.taxonomy import Measure
from covey.studies.marks import MARKS, THRESHOLDS, names_by_cell
from covey.tables import Table
from covey.verification.rounding import rounded

if TYPE_CHECKING:
    import altair as alt

KS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200)
EFFORT = "quick"  # default of the covey method here: a curve needs many runs

DEFINITIONS: dict[str, str] = declared("covey.studies", "definitions.toml")


@dataclass(frozen=True)
class Point:
    """The risk and the loss of the best groups found for one k; see `DEFINITIONS`."""

    k: int
    highest_risk: float
    average_risk: float
    total_il: float
    loss: float
    gcp: float
    groups: int
    largest: int
    suppressed: int
    found_for: int
    seconds: float
    loss_without: float | None = None  # None if there is no limit
    uses_kept: float | None = None  # None if the schema declares no uses
    uses_overlap: float | None = None


@dataclass(frozen=True)
class Curve(Writable):
    """The risk and the loss for each k. The loss never falls as k grows."""

    formats = (".csv", ".json", *PICTURES)

    points: tuple[Point, ...]
    rows: int
    method: str
    options: dict[str, Any]
    measure: Measure
    person: str | None = None  # the column by which k counts persons, None if it counts rows

    @property
    def counted(self) -> str:
        """What k counts."""
        return "rows" if self.person is None else "persons"

    @property
    def frame(self) -> pl.DataFrame:
        """One row per k, one column per figure."""
        absent = [] if self.is_limited else ["loss_without"]
        absent += [] if self.has_uses else ["uses_kept", "uses_overlap"]
        return pl.DataFrame([asdict(point) for point in self.points]).drop(absent)

    @property
    def has_uses(self) -> bool:
        """Whether uses are declared, and measured for each k."""
        return any(point.uses_kept is not None for point in self.points)

    @property
    def is_limited(self) -> bool:
        """Whether no person has more than 1/k of the rows of a class."""
        return any(point.loss_without is not None for point in self.points)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists, as in the JSON file, with its digits."""
        shown = rounded(self)
        return {
            "covey": version("covey"),
            "definitions": DEFINITIONS,
            **asdict(shown),
            "points": shown.frame.to_dicts(),
            "marks": [{**asdict(mark), "k": mark.k} for mark in MARKS],
        }

    def chart(self, *, chosen: int | None = None) -> "alt.VConcatChart":
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


class Drawn(GivenColumns, MethodChoices, total=False):
    """What `curve` takes of the keywords of `anonymize`; the first two say what k counts."""

    person: str | Literal[False] | None
    limit_share: bool | None


def curve(
    frame: Any,
    schema: Schema | None = None,
    *,
    k: int | Iterable[int] | None = None,
    progress: Progress = silent,
    **choices: Unpack[Drawn],
) -> Curve:
    """The risk and the loss for each `k`.

    By default, there are twenty from 2 to 200 or to the number of rows or persons. k counts persons
    if `person` names the column that identifies them, and rows if it is False; without it, the
    schema decides. With `limit_share`, no person has more than 1/k of the rows of a class, and each
    point also has the loss without this limit. The other keywords are those of `anonymize`. With
    the same seed and options, a point is what `anonymize` finds for its k, unless groups found for
    a larger k lose less: they are valid for the smaller k too. The covey method uses a low effort,
    unless `effort` is among the options, so a release with its default effort loses somewhat less
    than the curve shows. Without a `seed`, one is derived from the key; it does not depend on `k`.
    """
    sizes = [k] if isinstance(k, int) else None if k is None else list(k)
    rest: dict[str, Any] = {**choices}
    secret = popped(rest, ("key", "seed"))
    task = prepare(requested(frame, schema, sizes, rest), ks=sizes, progress=progress, **secret)
    return task.curve(tuple(task.points(progress)))


@dataclass(frozen=True, eq=False, repr=False)
class CurveTask:
    """A table that is ready for any k, and the ks to try."""

    ks: tuple[int, ...]
    request: Request
    people: memory.Prepared
    persons: Mapping[str, pl.Series] = field(default_factory=dict)  # the person of each row
    uses: "UsesOfRows | None" = None

    def points(self, progress: Progress) -> Iterator[Point]:
        """The risk and the loss for each k, one k after another, each as soon as it is known."""
        for done, k in enumerate(self.ks):
            tell = part_of(progress, f"{done + 1} of {len(self.ks)}: k = {k}", done, len(self.ks))
            point = self.at(k, tell)[0]
            if self.is_limited:
                without = self.limited(to=False).at(k, silent)[0]
                point = replace(point, loss_without=min(without.loss, point.loss))
            yield point

    def at(self, k: int, progress: Progress) -> tuple[Point, Groups]:
        """The risk and the loss for one k, and the groups that have them."""
        began = time.perf_counter()
        encoded, request = self._for(k)
        groups = memory.form_groups(replace(self.people, encoded=encoded), request, progress)
        assert isinstance(groups, Groups)  # other methods are refused earlier
        return self._point(k, groups, time.perf_counter() - began), groups

    @property
    def is_limited(self) -> bool:
        """Whether no person has more than 1/k of the rows of a class."""
        return _limits(self.request)

    def limited(self, *, to: bool) -> "CurveTask":
        """The same, with or without that limit."""
        size = self.request.size
        sizes = (size, PersonShare(size.k, size.person)) if to else (size,)
        return replace(self, request=replace(self.request, requirements=sizes))

    @property
    def encoded(self) -> EncodedTable:
        """The table as arrays."""
        return self.people.encoded

    def refuse_infeasible(self) -> None:
        """Refuse a k that is larger than the number of persons, before any work."""
        without_surplus(*self._for(self.ks[-1]))

    def _for(self, k: int) -> tuple[EncodedTable, Request]:
        """The table and the request for one k; the table stays as it is if k counts rows."""
        request = replace(self.request, requirements=_sizes(self.request, k))
        known = self.encoded.constraints
        if known is None:
            return self.encoded, request
        return replace(
            self.encoded, constraints=constraints_of(request.requirements, known.columns)
        ), request

    def _point(self, k: int, groups: Groups, seconds: float) -> Point:
        losses = measure_groups(self.encoded, groups)
        risks = risks_of_groups(self.encoded, groups, self.request.requirements, self.persons)
        assert risks.prosecutor is not None
        assert risks.prosecutor_average is not None
        uses = () if self.uses is None else self.uses.measured(self.encoded, groups)
        return Point(
            k=k,
            highest_risk=risks.prosecutor,
            average_risk=risks.prosecutor_average,
            total_il=losses.total_il,
            loss=losses.mean,
            gcp=losses.gcp,
            groups=groups.count,
            largest=int(groups.sizes.max()),
            suppressed=groups.suppressed,
            found_for=k,
            seconds=round(seconds, 6),
            uses_kept=share_kept(uses),
            uses_overlap=mean_overlap(uses),
        )

    def curve(self, points: Sequence[Point]) -> Curve:
        """The curve through what was found."""
        lowest, request = tuple(rising(points)), self.request
        name, options = request.method.name, dict(request.options)
        person = request.size.person or None
        return Curve(lowest, self.encoded.rows, name, options, self.encoded.measure, person)


@dataclass(frozen=True, eq=False, repr=False)
class UsesOfRows:
    """The rows of a curve, and the declared uses that each k is measured by."""

    table: Table
    declared: DeclaredUses

    @classmethod
    def of(cls, table: Table, schema: Schema) -> "UsesOfRows":
        """From an original, without the columns that no release has."""
        people = people_as_read(table, schema).table
        names = [name for name in people.frame.columns if not schema.columns[name].is_removed]
        shown = people.with_frame(people.frame.select(names))
        return cls(shown, DeclaredUses.of(shown, schema))

    def measured(self, encoded: EncodedTable, groups: Groups) -> tuple[UseFigures, ...]:
        """The figures of the uses in the release of these groups."""
        return self.declared.measured(generalise(self.table, encoded, groups, PLAIN))


def requested(
    frame: Any, schema: Schema | None, ks: Sequence[int] | None, choices: Mapping[str, Any]
) -> TableRequest:
    """The request for the largest k, or an error if anything about it is wrong."""
    sizes = [KAnonymity(k).k for k in (KS[:1] if ks is None else ks)]
    if not sizes:
        raise UsageError("no k given for the curve")
    settings = {**choices, "k": max(sizes)}
    if settings.get("method", "covey") == "covey":
        settings = {"effort": EFFORT, **settings}
    found = TableRequest.of(frame, schema, settings)
    refuse_method(found.request.method)
    return replace(found, request=replace(found.request, requirements=_sizes(found.request)))


def prepare(
    requested: TableRequest,
    *,
    ks: Sequence[int] | None,
    key: Key | bytes | str | Path | None = None,
    seed: int | None = None,
    progress: Progress,
) -> CurveTask:
    """Read the table, put it in order and encode it."""
    progress("reading", 0.0)
    schema, request = requested.schema, requested.request
    read = tables.read(requested.table, schema)
    table = tables.original(read, schema, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
    refuse_unsaid(with_dropped(table, read, schema), schema, request.requirements)
    persons = whose_rows(table, schema, request.persons)
    seeded = [request.method.name, request.options, "curve", request.class_column]
    secret = Secret(Key.of(key), seed)
    kept = people_as_read(table, schema)
    people = memory.prepared(kept, schema, request, secret, persons, seeded)
    encoded = people.encoded
    owners = {name: people.selection.of(cells) for name, cells in persons.items()}
    most = min([encoded.rows, *(cells.drop_nulls().n_unique() for cells in owners.values())])
    if _limits(request):  # whoever has most rows has at most 1/k of them
        each = [cells.drop_nulls().value_counts(name="rows")["rows"] for cells in owners.values()]
        most = min([most, *(encoded.rows // int(rows.max() or 1) for rows in each)])
    sizes = [k for k in KS if k <= max(most, KS[0])] if ks is None else sorted(set(ks))
    uses = UsesOfRows.of(table, schema) if schema.uses else None
    task = CurveTask(tuple(sizes), request, people, owners, uses)
    task.refuse_infeasible()
    return task


def _limits(request: Request) -> bool:
    return any(isinstance(each, PersonShare) for each in request.requirements)


def _sizes(request: Request, k: int | None = None) -> tuple[KAnonymity | PersonShare, ...]:
    """The requirements that depend on k, perhaps for another one."""
    sizes = (r for r in request.requirements if isinstance(r, KAnonymity | PersonShare))
    return tuple(size if k is None else replace(size, k=k) for size in sizes)


def rising(points: Sequence[Point]) -> list[Point]:
    """For each k, the groups with the least loss among those found for it or a larger one."""
    best: list[Point] = []
    for point in reversed(points):
        found, without = point, point.loss_without
        if best and without is not None and best[-1].loss_without is not None:
            without = min(without, best[-1].loss_without)
        if best and best[-1].total_il < point.total_il:
            found = replace(best[-1], k=point.k, seconds=point.seconds)
        best.append(replace(found, loss_without=without))
    return best[::-1]


# ── drawing it ──────────────────────────────────────────────────────────────────────────────────

_WIDTH, _HEIGHT, _STRIP = 560, 210, 76  # pixels: of all fields, of a panel, of the names of rules
_SMALL = 10.5


def _chart(curve: Curve, chosen: int | None) -> "alt.VConcatChart":
    """Risk over k, and loss over k, one below the other with the same logarithmic axis.

    On such an axis, from 2 to 4 is as far as from 50 to 100. Above is a strip with the names of
    the rules of `covey.studies.marks`; their k continue as lines through both panels.
    """
    import altair as alt

    ks = [point.k for point in curve.points]
    room = max(ks[-1] / ks[0], 2.0) ** 0.1
    ends = (ks[0] / room, ks[-1] * room**0.3)
    x = alt.X("k:Q", title=None).scale(type="log", domain=ends, nice=False)
    bare = x.axis(None)
    ticks = x.title(f"k, the minimum number of {curve.counted} in a class").axis(
        values=apart(ks, 0.07), format=",d", grid=False, tickSize=5
    )
    marked = chosen if chosen is not None and ks[0] <= chosen <= ks[-1] else None
    panels = [
        (_STRIP, _names(_apart(_rules_within(ends), ends), bare)),
        (_HEIGHT, _risk_layers(curve, bare, ends, marked)),
        (_HEIGHT, _loss_layers(curve, ticks, ends, marked)),
    ]
    return alt.VConcatChart(
        vconcat=[
            alt.LayerChart(layer=layers, width=_WIDTH, height=height)
            for height, layers in panels
            if layers
        ],
        spacing=6,
        title=charts.title(
            "What each k protects from, and what it costs",
            f"{curve.rows:,} rows, method {curve.method}. A loss of 0{THIN_SPACE}%: every cell is "
            f"unchanged, 100{THIN_SPACE}%: nothing is left",
            "Solid line: highest risk, of the person most at risk. Dashed line: average risk",
        ),
        padding=14,
        background="white",
        config=charts.config(),
    )


def _rules_within(ends: tuple[float, float]) -> list[dict[str, Any]]:
    """The smallest cells of published rules that lie on the axis, by their k."""
    return [
        {"k": k, "rule": f"{k} {', '.join(names)}"}
        for k, names in names_by_cell().items()
        if ends[0] < k < ends[1]
    ]


def _apart(rules: list[dict[str, Any]], ends: tuple[float, float]) -> list[dict[str, Any]]:
    """The rules, each with a k at which its name does not touch that of its neighbour."""
    least = log(ends[1] / ends[0]) * 13 / _WIDTH  # 13 pixels
    places = [log(rule["k"]) for rule in rules]
    for left in range(len(places) - 1):
        lacking = least - (places[left + 1] - places[left])
        if lacking > 0:
            places[left] -= lacking / 2
            places[left + 1] += lacking / 2
    return [rule | {"k": exp(place)} for rule, place in zip(rules, places, strict=True)]


def _names(rules: list[dict[str, Any]], x: "alt.X") -> "list[alt.Chart]":
    """The names of rules, written upwards from their k."""
    import altair as alt

    if not rules:
        return []
    base = alt.Chart(alt.InlineData(rules)).encode(x=x, y=alt.value(_STRIP))
    names = base.mark_text(
        angle=270, align="left", baseline="middle", dx=2, fontSize=_SMALL, color=QUIET
    )
    return [names.encode(text="rule:N")]


def _lines_of_rules(x: "alt.X", ends: tuple[float, float]) -> "list[alt.Chart]":
    import altair as alt

    rules = _rules_within(ends)
    base = alt.Chart(alt.InlineData(rules)).encode(x=x)
    return [base.mark_rule(color=FAINT)] if rules else []


def _risk_layers(
    curve: Curve, x: "alt.X", ends: tuple[float, float], chosen: int | None
) -> "list[alt.Chart]":
    """The highest and the average risk, and published thresholds as horizontal lines.

    The axis is logarithmic, since a risk of 1 in k is small for most k.
    """
    import altair as alt

    values = [
        {"k": p.k, "risk": risk, "which": which, "label": percent(risk)}
        for p in curve.points
        for which, risk in (("highest", p.highest_risk), ("average", p.average_risk))
    ]
    ks = [point.k for point in curve.points]
    reach = [
        min(p.average_risk for p in curve.points) / 1.3,
        max(p.highest_risk for p in curve.points) * 1.3,
    ]
    y = alt.Y("risk:Q", title="risk of re-identification").scale(
        type="log", domain=reach, nice=False
    )
    highest = alt.FieldEqualPredicate("highest", "which")
    round_shares = charts.round_numbers(*reach)
    base = alt.Chart(alt.InlineData(values)).encode(x=x, y=y.axis(**_PERCENTS, values=round_shares))
    lines = base.encode(detail="which:N")
    thresholds = [
        {"risk": mark.risk, "name": f"{100 * (mark.risk or 0.0):g}{THIN_SPACE}% {mark.name}"}
        for mark in THRESHOLDS
        if reach[0] < (mark.risk or 0.0) < reach[1]
    ]
    limits = alt.Chart(alt.InlineData(thresholds)).encode(y="risk:Q")
    # At the left, where the risk of the smallest k is far above.
    named = limits.encode(x=alt.value(4), text="name:N")
    labelled = base.transform_filter(highest).transform_filter(
        alt.FieldOneOfPredicate("k", apart(ks, 0.13))
    )
    return [
        *_lines_of_rules(x, ends),
        *(
            [
                limits.mark_rule(color=QUIET, strokeDash=[2, 3]),
                *_haloed(named, align="left", dy=-6, fontSize=_SMALL, ink=QUIET),
            ]
            if thresholds
            else []
        ),
        *_chosen(chosen, x),
        lines.transform_filter(highest).mark_line(color=LINE, strokeWidth=2.2),
        lines.transform_filter(~highest).mark_line(color=LINE, strokeWidth=1.6, strokeDash=[5, 3]),
        base.transform_filter(highest).mark_point(color=LINE, filled=True, opacity=1, size=34),
        *_haloed(labelled.encode(text="label:N"), align="left", dx=5, dy=-9),
    ]


def _loss_layers(
    curve: Curve, x: "alt.X", ends: tuple[float, float], chosen: int | None
) -> "list[alt.Chart]":
    import altair as alt

    ks = [point.k for point in curve.points]
    values = [{"k": p.k, "loss": p.loss, "label": percent(p.loss)} for p in curve.points]
    y = alt.Y("loss:Q", title="mean loss of a cell").scale(domainMin=0, nice=True)
    base = alt.Chart(alt.InlineData(values)).encode(x=x, y=y.axis(**_PERCENTS))
    # The curve never falls, so there is room on the left above a point.
    text = base.transform_filter(alt.FieldOneOfPredicate("k", apart(ks, 0.13)))
    return [
        *_lines_of_rules(x, ends),
        base.mark_area(color=LINE, opacity=0.08),
        *_chosen(chosen, x, ks),
        *_haloed(text.encode(text="label:N"), align="right", dx=-5, dy=-11),
        base.mark_line(color=LINE, strokeWidth=2.2),
        base.mark_point(color=LINE, filled=True, opacity=1, size=34),
    ]


# An upright axis of shares, in both panels from the same place.
_PERCENTS = {
    **charts.GRID,
    "labelExpr": f"format(datum.value * 100, '.3~g') + '{THIN_SPACE}%'",
    "tickCount": 5,
    "minExtent": 46,
    "titlePadding": 6,
}


def _haloed(text: "alt.Chart", ink: str = INK, **settings: Any) -> "list[alt.Chart]":
    """Text with white around it, which separates it from what is below."""
    usual = {"fontSize": 11.5, **settings}
    return [
        text.mark_text(color=colour, stroke=colour, strokeWidth=width, **usual)
        for colour, width in (("white", 5), (ink, 0))
    ]


def _chosen(chosen: int | None, x: "alt.X", ks: Sequence[int] = ()) -> "list[alt.Chart]":
    """A vertical line at a k; with `ks`, labelled below the curve, where there is no other text."""
    import altair as alt

    if chosen is None:
        return []
    base = alt.Chart(alt.InlineData([{"k": chosen, "label": f"k = {chosen:,}"}])).encode(x=x)
    rule = base.mark_rule(color=INK, strokeDash=[4, 3])
    if not ks:
        return [rule]
    is_left = chosen * chosen < ks[0] * ks[-1]
    label = base.encode(text="label:N", y=alt.value(_HEIGHT - 14))
    return [
        rule,
        *_haloed(
            label,
            fontSize=12,
            fontWeight="bold",
            align="left" if is_left else "right",
            dx=7 if is_left else -7,
        ),
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
