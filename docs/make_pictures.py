"""Draw the pictures of the pages on the covey method and on sequences, from real runs.

The people are invented. The table is small, so groups are grown in smaller blocks than usual:
otherwise there would be only one. Run: python docs/make_pictures.py
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import patch

import altair as alt
import numpy as np
import polars as pl

import covey
from covey import METHODS, Schema, demo
from covey.clustering.efforts import PLANS, Effort, Plan
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups, Rings
from covey.encoding.imputation import blocks_of
from covey.errors import count
from covey.tables import Table

HERE = Path(__file__).parent
FOLDER = HERE / "methods"
SCHEMA = Schema.of(quasi={"age": "numeric", "income": "numeric"})
SMALL = replace(PLANS["best"], start=64)
INK, QUIET, FAINT, LEFT_OUT = "#1b1f24", "#5c6670", "#d7dde2", "#b3261e"
EFFORT_INKS = {"fast": "#5c6670", "quick": "#3f7f5f", "balanced": "#1f5a7a", "best": "#1b1f24"}
CHEAP_TO_DEAR = ["#d3e6f0", "#f7e6c9", "#e08a3e"]
LOSS_LABELS = "datum.value < 0.8 ? datum.label : '0.8 or more'"
COLUMNS = 3
ROOM = 0.01  # around what is drawn, of the whole width


# ── what is drawn ───────────────────────────────────────────────────────────────────────────────


class Stage(NamedTuple):
    """The rows of a table, grouped in some way."""

    title: str
    labels: Sequence[int]  # -1 for a suppressed row
    loss: float | None = None  # None for blocks, which are never released

    @property
    def subtitle(self) -> str:
        """The number of groups and their loss."""
        groups = len({label for label in self.labels if label >= 0})
        out = sum(label < 0 for label in self.labels)
        if self.loss is None:
            return f"{count(groups, 'block')} of similar rows"
        besides = f", {2 * out} of it for {count(out, 'row')} left out" if out else ""
        return f"loss {self.loss:.1f} in {count(groups, 'group')}{besides}"


def neighbourhood(seed: int = 7) -> pl.DataFrame:
    """Students, people at work, pensioners with much the same pensions, and three unusual ones."""
    random = np.random.default_rng(seed)
    crowds = [
        (random.normal(22, 2.5, 50), random.normal(11, 4, 50)),
        (random.normal(41, 9, 130), random.normal(38, 10, 130)),
        (random.normal(71, 5, 40), np.full(40, 18.0)),
        (random.choice([67, 70], 20), np.full(20, 26.0)),
        (random.choice([30, 31], 17), np.full(17, 24.0)),
        (np.array([27, 56, 87]), np.array([86, 90, 74])),
    ]
    age, income = (np.concatenate(values) for values in zip(*crowds, strict=True))
    return pl.DataFrame({"age": age.round().clip(18, 95), "income": income.round().clip(2, None)})


def stages(frame: pl.DataFrame, k: int, plan: Plan = SMALL) -> list[Stage]:
    """One run of the method at four stages, its result with suppression, and that of k-member."""
    table = encode(Table(frame), SCHEMA)
    return [
        Stage("1  Blocks", blocks_of(table, max(plan.start, 8 * k)).tolist()),
        _stage("2  Groups grown in each", table, _own(table, k, replace(plan, rounds=0))),
        _stage("3  After one round", table, _own(table, k, replace(plan, rounds=1))),
        _stage("4  At the end", table, _own(table, k, plan)),
        _stage("4  With up to 2 % left out", table, _own(table, k, plan, max_suppressed=0.02)),
        _stage("k-member, for comparison", table, METHODS["k-member"](table, k, seed=1)),
    ]


def _own(table: EncodedTable, k: int, plan: Plan, **options: Any) -> Groups | Rings:
    """A round draws the same random numbers however many follow, so all runs start the same."""
    with patch.dict(PLANS, {"best": plan}):
        return METHODS["covey"](table, k, seed=1, effort="best", **options)


def _stage(title: str, table: EncodedTable, groups: Groups | Rings) -> Stage:
    return Stage(title, groups.labels.tolist(), _lost(table, groups))


def _lost(table: EncodedTable, groups: Groups | Rings) -> float:
    assert isinstance(groups, Groups)
    return table.objective(groups)


# ── drawing it ──────────────────────────────────────────────────────────────────────────────────


def picture(frame: pl.DataFrame, some: Sequence[Stage]) -> alt.ConcatChart:
    """The stages side by side: rows as dots, groups as the rectangles that they show."""
    panels = [_panel(frame, stage, number) for number, stage in enumerate(some)]
    return alt.ConcatChart(
        concat=panels,
        columns=COLUMNS,
        spacing=24,
        padding=14,
        background="white",
        config=_config(),
    )


def _panel(frame: pl.DataFrame, stage: Stage, number: int) -> alt.LayerChart:
    rows = frame.with_columns(label=pl.Series(stage.labels, dtype=pl.Int64))
    x = alt.X("x:Q", title="age" if number >= COLUMNS else None)
    y = alt.Y("y:Q", title="income, thousands" if number % COLUMNS == 0 else None)
    boxes = alt.Chart(alt.InlineData(list(_boxes(rows)))).encode(
        x=x.scale(domain=_domain(frame["age"]), nice=False),
        y=y.scale(domain=_domain(frame["income"]), nice=False),
        x2="x2:Q",
        y2="y2:Q",
    )
    if stage.loss is None:
        box = boxes.mark_rect(filled=False, stroke=INK, strokeDash=[4, 3], aria=False)
    else:
        fill = alt.Color("loss:Q", title="what each row of a group loses, of 2")
        fill = fill.scale(domain=[0, 0.4, 0.8], range=CHEAP_TO_DEAR, interpolate="rgb", clamp=True)
        box = boxes.mark_rect(fillOpacity=1, stroke=INK, strokeWidth=0.7, aria=False)
        box = box.encode(color=fill.legend(values=[0, 0.4, 0.8], labelExpr=LOSS_LABELS))
    kept, out = rows.filter(pl.col("label") >= 0), rows.filter(pl.col("label") < 0)
    dots = _dots(kept).mark_circle(color=INK, opacity=0.9, aria=False)
    crosses = _dots(out).mark_point(
        shape="cross", angle=45, size=80, filled=True, color=LEFT_OUT, opacity=1, aria=False
    )
    size = alt.Size("people:Q").scale(domain=[1, 20], range=[7, 90]).legend(None)
    return alt.LayerChart(
        layer=[box, dots.encode(size=size), crosses],
        width=280,
        height=220,
        title=alt.TitleParams(stage.title, subtitle=stage.subtitle),
    )


def _dots(rows: pl.DataFrame) -> alt.Chart:
    """One dot for equal rows; more rows make it larger."""
    counted = rows.group_by("age", "income").len("people").sort("age", "income")
    values = [{"x": age, "y": income, "people": n} for age, income, n in counted.iter_rows()]
    return alt.Chart(alt.InlineData(values)).encode(x="x:Q", y="y:Q")


def _boxes(rows: pl.DataFrame) -> Iterator[dict[str, float]]:
    """What each group shows, a little wider so that a single value is visible."""
    age, income = (_width(rows[name]) for name in ("age", "income"))
    groups = rows.filter(pl.col("label") >= 0).partition_by("label")
    # The largest first, so that none is hidden behind another.
    for own in sorted(groups, key=lambda own: -_width(own["age"]) * _width(own["income"])):
        ages, incomes = _ends(own["age"]), _ends(own["income"])
        yield {
            "label": own["label"][0],
            "x": ages[0] - ROOM * age,
            "x2": ages[1] + ROOM * age,
            "y": incomes[0] - ROOM * income,
            "y2": incomes[1] + ROOM * income,
            "loss": _width(own["age"]) / age + _width(own["income"]) / income,
        }


def _ends(values: pl.Series) -> tuple[float, float]:
    numbers = values.to_numpy()
    return float(numbers.min()), float(numbers.max())


def _width(values: pl.Series) -> float:
    low, high = _ends(values)
    return high - low


def _domain(values: pl.Series) -> list[float]:
    low, high = _ends(values)
    return [low - 4 * ROOM * (high - low), high + 4 * ROOM * (high - low)]


# ── what rounds bring ───────────────────────────────────────────────────────────────────────────


class Step(NamedTuple):
    """The loss after a number of rounds."""

    effort: str
    round: int
    loss: float


def steps(table: EncodedTable, k: int) -> list[Step]:
    """The loss after every round of every effort, as the method reports it while it works."""
    return [step for effort in PLANS for step in _rounds(table, k, effort)]


def _rounds(table: EncodedTable, k: int, effort: Effort) -> Iterator[Step]:
    told: dict[int, float] = {}
    parts = PLANS[effort].for_table(table.rows, k).rounds + 1

    def listen(stage: str, done: float) -> None:
        loss = re.search(r"loss ([\d,]+)", stage)
        if loss is not None:
            told[math.ceil(done * parts - 1e-9) - 1] = float(loss[1].replace(",", ""))

    METHODS["covey"](table, k, seed=1, effort=effort, progress=listen)
    grown = _own(table, k, replace(PLANS[effort], rounds=0))
    yield Step(effort, 0, _lost(table, grown))
    for number, loss in told.items():
        yield Step(effort, number, loss)


def rounds_picture(found: Sequence[Step], greedy: float) -> alt.LayerChart:
    """The loss after each round, as a share of what k-member loses."""
    last = max(step.round for step in found)
    ends = [max((s for s in found if s.effort == e), key=lambda s: s.round) for e in PLANS]
    colour = alt.Color("effort:N").scale(domain=list(EFFORT_INKS), range=list(EFFORT_INKS.values()))

    def chart(some: Sequence[Step]) -> alt.Chart:
        values = [{"effort": s.effort, "round": s.round, "loss": s.loss / greedy} for s in some]
        x = alt.X("round:Q", title="rounds").axis(format="d", tickMinStep=1)
        y = alt.Y("loss:Q", title="loss, as a share of k-member's").scale(zero=False, padding=12)
        return alt.Chart(alt.InlineData(values)).encode(
            x=x, y=y.axis(format=".0%", gridColor=FAINT, grid=True), color=colour.legend(None)
        )

    k_member = alt.Chart(alt.InlineData([{"loss": 1, "round": last, "effort": "k-member"}]))
    return alt.LayerChart(
        layer=[
            k_member.mark_rule(color=LEFT_OUT, strokeDash=[5, 4]).encode(y="loss:Q"),
            k_member.mark_text(align="right", dy=-8, color=LEFT_OUT, fontSize=12).encode(
                x="round:Q", y="loss:Q", text="effort:N"
            ),
            chart(found).mark_line(strokeWidth=2),
            *(chart(some).mark_point(filled=True, opacity=1, size=36) for some in (found, ends)),
            chart(ends)
            .mark_text(align="left", dx=8, dy=-7, fontSize=12, fontWeight="bold")
            .encode(text="effort:N"),
        ],
        width=460,
        height=230,
        padding=14,
        background="white",
        config=_config(),
    )


# ── releases that follow one another ────────────────────────────────────────────────────────────


MONTHS = ("March", "April", "May")
CAME = "in the table since"
CAME_INKS = ("#1b1f24", "#1f6fb0", "#c2570c")
STATES = {
    "released": "circle",
    "left out": "triangle-up",
    "gone": "M-1,-0.7L-0.7,-1L1,0.7L0.7,1ZM0.7,-1L1,-0.7L-0.7,1L-1,0.7Z",
}
CAME_FILLS = ("#e3e7ea", "#d3e6f5", "#fbe3cf")


class Month(NamedTuple):
    """A release: who is in the table, since which month, and in which class."""

    title: str
    people: pl.DataFrame  # age, income, came, label: -1 if left out, None if no longer there
    candidates: int  # the fewest of anyone, over all releases so far

    @property
    def subtitle(self) -> str:
        """What the register says."""
        labels = self.people["label"]
        more = [
            f"{number} {what}"
            for number, what in ((labels.null_count(), "gone"), ((labels < 0).sum(), "left out"))
            if number
        ]
        released = f"{(labels >= 0).sum()} people, {self.candidates} candidates or more"
        return "; ".join([released, *more])


def three_months(frame: pl.DataFrame, k: int, reserve: int) -> Iterator[Month]:
    """Three releases of which each follows those before: some people leave, others come."""
    came = [0] * 50 + [1] * 24 + [2] * 24  # the month of each person
    whole = frame.filter(pl.col("income") < 60).sample(len(came), seed=4)
    whole = whole.with_row_index("person").with_columns(came=pl.Series(came))
    here, schema = [*range(50)], SCHEMA.with_role("person", "identifier").with_role("came", "drop")
    with TemporaryDirectory() as folder:
        key = Path(folder) / "key"
        key.write_text(f"{1:064x}\n", encoding="ascii")
        key.chmod(0o600)
        for number, month in enumerate(MONTHS):
            made = covey.anonymize(
                whole[here], schema, k=k, reserve=reserve, follow=True, key=key,
                register=Path(folder) / "register", to=Path(folder) / f"{month}.csv",
            )  # fmt: skip
            found = made.report.composition
            assert found is not None
            labels = dict(zip(here, made.groups.labels.tolist(), strict=True))
            known = whole.filter(pl.col("came") <= number)
            people = known.with_columns(label=pl.Series([labels.get(p) for p in known["person"]]))
            yield Month(month, people, found.fewest or made.verdict.k)
            stay = [person for place, person in enumerate(here) if place % 16 != 3 + number]
            here = stay + [person for person, since in enumerate(came) if since == number + 1]


def months_picture(months: Sequence[Month]) -> alt.ConcatChart:
    """The releases side by side; people and classes have the colour of their first month."""
    everyone = months[-1].people
    return alt.ConcatChart(
        concat=[_month(everyone, month, number) for number, month in enumerate(months)],
        columns=len(MONTHS),
        resolve=alt.Resolve(scale=alt.LegendResolveMap(shape="independent")),
        spacing=24,
        padding=14,
        background="white",
        config=_config(),
    )


def _state(label: int | None) -> str:
    return "gone" if label is None else "left out" if label < 0 else "released"


def _month(frame: pl.DataFrame, month: Month, number: int) -> alt.LayerChart:
    rows = month.people
    groups = rows.filter(pl.col("label") >= 0).partition_by("label")
    first = {own["label"][0]: int(own["came"].min()) for own in groups}  # type: ignore[arg-type]
    boxes = [{**box, "came": MONTHS[first[box["label"]]]} for box in _boxes(rows)]
    dots = [
        {"x": age, "y": income, "came": MONTHS[came], "is": _state(label)}
        for _, age, income, came, label in rows.iter_rows()
    ]
    x = alt.X("x:Q", title="age").scale(domain=_domain(frame["age"]), nice=False)
    y = alt.Y("y:Q", title=None if number else "income, thousands")
    y = y.scale(domain=_domain(frame["income"]), nice=False)
    fill = alt.Color("came:N").scale(domain=MONTHS, range=CAME_FILLS).legend(None)
    ink = alt.Color("came:N", title=CAME).scale(domain=MONTHS, range=CAME_INKS)
    shape = alt.Shape("is:N", title="people").scale(domain=[*STATES], range=[*STATES.values()])
    if number:  # one legend is enough
        ink, shape = ink.legend(None), shape.legend(None)
    return alt.LayerChart(
        layer=[
            alt.Chart(alt.InlineData(boxes))
            .mark_rect(fillOpacity=0.75, stroke=INK, strokeWidth=0.7, aria=False)
            .encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=fill),
            alt.Chart(alt.InlineData(dots))
            .mark_point(filled=True, opacity=1, size=34, aria=False)
            .encode(x=x, y=y, color=ink, shape=shape),
        ],
        width=280,
        height=220,
        title=alt.TitleParams(month.title, subtitle=month.subtitle),
        resolve=alt.Resolve(scale=alt.LegendResolveMap(color="independent")),
    )


def _config() -> alt.Config:
    return alt.Config(
        view=alt.ViewConfig(stroke=FAINT),
        axis=alt.AxisConfig(
            labelColor=QUIET,
            titleColor=INK,
            labelFontSize=11,
            titleFontSize=12,
            titleFontWeight="normal",
            domain=False,
            grid=False,
            tickCount=5,
            tickColor=FAINT,
        ),
        legend=alt.LegendConfig(
            orient="bottom",
            labelColor=QUIET,
            titleColor=INK,
            labelFontSize=11,
            titleFontSize=12,
            titleFontWeight="normal",
            titleLimit=400,
            gradientLength=200,
            gradientThickness=9,
            offset=14,
        ),
        title=alt.TitleConfig(
            anchor="start",
            frame="group",
            color=INK,
            fontSize=14,
            subtitleFontSize=12,
            subtitleColor=QUIET,
            subtitlePadding=3,
            offset=8,
        ),
    )


def svg(chart: alt.ConcatChart | alt.LayerChart) -> str:
    """As text that a browser can draw on its own."""
    written = StringIO()
    chart.save(written, format="svg")
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", written.getvalue())


def main() -> None:
    """Draw all pictures."""
    frame = neighbourhood()
    table = encode(Table(demo.people(10_000)), demo.schema())
    greedy = _lost(table, METHODS["k-member"](table, 10))
    drawn = {
        "covey.svg": svg(picture(frame, stages(frame, k=7))),
        "covey-rounds.svg": svg(rounds_picture(steps(table, k=10), greedy)),
    }
    for name, text in drawn.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    months = [*three_months(frame, k=4, reserve=1)]
    (HERE / "sequence.svg").write_text(svg(months_picture(months)), encoding="utf-8")


if __name__ == "__main__":
    main()
