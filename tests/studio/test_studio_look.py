"""Looking at a release in the studio: its jobs, beside plain Python on the texts of cells."""

import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from covey import tables
from covey.errors import UsageError
from covey.generalisation import Style
from covey.studio.asking import NOT_SHOWN, Question, answered
from covey.studio.attacking import attacked
from covey.studio.desk import Desk
from covey.studio.dictionary import HEAD, as_csv, dictionary
from covey.studio.handing import DICTIONARY
from covey.studio.looking import group_shown, payers, random_person, rows_shown
from covey.studio.pages.look import shade
from covey.studio.reading import Reading
from covey.studio.work import schema_of

K = 4
TREE = {
    "nurse": "care", "doctor": "care", "cook": "food", "baker": "food", "care": "work",
    "food": "work", "retired": "*", "work": "*",
}  # fmt: skip
SCHEMA = f"""
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
type = "numeric"
grid = 5
top = 80
[columns.job]
role = "quasi"
type = "categorical"
taxonomy = {{ "*" = {{ work = {{ care = ["nurse", "doctor"], food = ["cook", "baker"] }},
                       retired = {{}} }} }}
[columns.seen]
role = "quasi"
type = "date"
grid = "month"
[columns.code]
role = "quasi"
type = "categorical"
taxonomy = {{ build = "prefixes" }}
missing = "MISSING"
[columns.illness]
role = "sensitive"
[columns.days]
role = "insensitive"
[require]
k = {K}
""".replace(",\n                       ", ", ")


def people(rows: int, seed: int) -> pl.DataFrame:
    chance = random.Random(seed)
    return pl.DataFrame(
        [
            {
                "name": f"person {i}",
                "age": str(chance.randrange(18, 95)),
                "job": chance.choice([name for name in TREE if name not in TREE.values()]),
                "seen": f"2024-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
                "code": chance.choice(["1010", "1020", "2010", "2011", ""]),
                "illness": chance.choice(["flu", "asthma", "gout"]),
                "days": str(chance.randrange(1, 9)),
            }
            for i in range(rows)
        ]
    )


def make(
    desk: Desk, place: Path, toml: str, options: Any = None, style: Style | None = None
) -> None:
    schema = schema_of(toml)
    opened = Reading(str(place), schema.table, number=0)
    desk.make(opened, schema, options or {}, style or Style())


Desks = Callable[..., tuple[Desk, pl.DataFrame]]


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Desks:
    @cache  # looking changes nothing, so tests may look at the same release
    def made(
        *,
        missing: str = "category",
        style: Style | None = None,
        max_suppressed: float = 0.0,
        render: str = "",
    ) -> tuple[Desk, pl.DataFrame]:
        folder, frame = tmp_path_factory.mktemp("studio"), people(60, seed=3)
        frame.write_csv(folder / "people.csv")
        desk = Desk(folder)
        toml = SCHEMA.replace("MISSING", missing)
        if render:
            toml = toml.replace("[columns.age]", f'[columns.age]\nrender = "{render}"')
        options = {"effort": "fast"} | (
            {"max_suppressed": max_suppressed} if max_suppressed else {}
        )
        make(desk, folder / "people.csv", toml, options, style)
        return desk, frame

    return made


# ── the attack ──────────────────────────────────────────────────────────────────────────────────

STYLES = [
    pytest.param(Style(), id="plain"),
    pytest.param(Style("values", "text"), id="sets"),
    pytest.param(Style("values", "columns"), id="low and high"),
]


def may_be(released: dict[str, Any], name: str, value: str, *, wild: bool) -> bool:
    """Whether a released row may be that of someone with this value, by the texts of its cells."""
    if name in released:
        cell = released[name]
        if cell is None:
            return wild
    else:
        low, high = released[f"{name}_low"], released[f"{name}_high"]
        if low is None and high is None:
            return True
        cell = f"[{low}, {high}]" if high is not None else f"{low} and more"
    if cell == "*":
        return True
    if name in ("age", "seen"):
        number: Callable[[str], Any] = float if name == "age" else str
        known = min(number(value), number("80")) if name == "age" else value
        if ends := re.fullmatch(r"\[(.+), (.+)\]", cell):
            return bool(number(ends[1]) <= known <= number(ends[2]))
        if cell.endswith(" and more"):
            return bool(known >= number(cell.removesuffix(" and more")))
        return bool(known == number(cell))
    if cell.startswith("{"):
        return value in cell[1:-1].split(", ")
    if name == "code":
        return value.startswith(cell.rstrip("*"))
    above = value
    while above != cell and above in TREE:
        above = TREE[above]
    return bool(above == cell)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("missing", ["category", "wildcard", "drop-row"])
def test_an_attack_finds_the_rows_that_may_be_those_of_the_person(
    desks: Desks, missing: str, style: Style
) -> None:
    desk, frame = desks(missing=missing, style=style)
    assert desk.made is not None
    released = list(desk.made.release.table.iter_rows(named=True))
    quasi = ["age", "job", "seen", "code"]
    chance = random.Random(1)
    for person in frame.iter_rows(named=True):
        names = chance.sample(quasi, chance.randrange(1, 5))
        known = {name: person[name] for name in names if person[name]}
        found = desk.look(attacked, known)
        alike = frame.filter(pl.all_horizontal(True, *(pl.col(n) == v for n, v in known.items())))
        fitting = [
            row
            for row in released
            if all(may_be(row, n, v, wild=missing == "wildcard") for n, v in known.items())
        ]
        assert (found.before, found.after) == (alike.height, len(fitting))
        learnt = next(one for one in found.learnt if one.name == "illness")
        assert learnt.distinct_after == len({row["illness"] for row in fitting})


@pytest.mark.parametrize("missing", ["category", "wildcard"])
def test_nobody_is_hidden_among_fewer_than_k(desks: Desks, missing: str) -> None:
    desk, frame = desks(missing=missing)
    for person in frame.iter_rows(named=True):
        known = {name: person[name] for name in ("age", "job", "seen", "code") if person[name]}
        assert desk.look(attacked, known).after >= K


def test_each_thing_known_leaves_no_more_rows(desks: Desks) -> None:
    desk, frame = desks()
    known = desk.look(random_person)
    people = frame.select("age", "job", "seen", "code").iter_rows(named=True)
    assert known in [{name: cell for name, cell in each.items() if cell} for each in people]
    found = desk.look(attacked, known)
    before = [found.rows_before, *(step.before for step in found.steps)]
    after = [found.rows_after, *(step.after for step in found.steps)]
    assert before == sorted(before, reverse=True)
    assert after == sorted(after, reverse=True)
    assert found.before >= 1


def test_a_code_that_nobody_has_matches_only_what_stands_for_it(desks: Desks) -> None:
    desk, _ = desks()
    assert desk.made is not None
    cells = desk.made.release.table["code"].to_list()
    fitting = [cell for cell in cells if cell is not None and "2099".startswith(cell.rstrip("*"))]
    assert desk.look(attacked, {"code": "2099"}).after == len(fitting)
    assert desk.look(attacked, {"code": "2099"}).before == 0


@pytest.mark.parametrize(("missing", "matching"), [("category", 4), ("wildcard", 8)])
def test_a_missing_cell_matches_as_the_schema_says(
    tmp_path: Path, missing: str, matching: int
) -> None:
    place = tmp_path / "few.csv"
    lines = ["age,code,illness", *["20,1010,flu"] * 4, *["80,,gout"] * 4]
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    toml = f"""
    columns.age = {{ role = "quasi", type = "numeric" }}
    columns.code = {{ role = "quasi", type = "categorical", missing = "{missing}" }}
    columns.illness = {{ role = "sensitive" }}
    require.k = 4
    """
    desk = Desk(tmp_path)
    make(desk, place, toml)
    found = desk.look(attacked, {"code": "1010"})
    assert (found.before, found.after) == (4, matching)


@pytest.mark.parametrize(("name", "text"), [("age", "old"), ("seen", "yesterday")])
def test_what_cannot_be_read_is_named_and_not_quoted(desks: Desks, name: str, text: str) -> None:
    desk, _ = desks()
    with pytest.raises(UsageError, match=name) as error:
        desk.look(attacked, {name: text})
    assert text not in str(error.value)


def test_without_a_release_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="make it again"):
        Desk(tmp_path).look(attacked, {})


def test_a_table_is_read_again_only_once_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    monkeypatch.setattr(tables, "read", _noting(read, tables.read))
    place, toml = tmp_path / "few.csv", 'columns.age = { role = "quasi", type = "numeric" }\n'
    desk = Desk(tmp_path)
    for rows, k in ((8, 2), (8, 4), (9, 4)):
        if not read or rows == 9:
            place.write_text("\n".join(["age", *map(str, range(20, 20 + rows))]) + "\n")
        make(desk, place, f"{toml}require.k = {k}\n")
        assert desk.made is not None
        assert desk.made.rows == rows
    assert len(read) == 2


def _noting(places: list[str], read: Callable[..., Any]) -> Callable[..., Any]:
    def noted(source: Any, *arguments: Any, **settings: Any) -> Any:
        if isinstance(source, str):  # and no table that was read already
            places.append(source)
        return read(source, *arguments, **settings)

    return noted


# ── rows and groups ─────────────────────────────────────────────────────────────────────────────


def pages(desk: Desk, order: Any) -> Iterator[Any]:
    first = desk.look(rows_shown, order, 0)
    for page in range(first.pages):
        yield from desk.look(rows_shown, order, page).rows


@pytest.mark.parametrize("missing", ["category", "drop-row"])
@pytest.mark.parametrize("order", ["worst", "sample", "first"])
def test_every_row_is_shown_once_beside_its_own_release(
    desks: Desks, order: str, missing: str
) -> None:
    desk, frame = desks(max_suppressed=0.1, missing=missing)
    assert desk.made is not None
    release = desk.made.release
    shown = list(pages(desk, order))
    assert sorted(row.number for row in shown) == list(range(frame.height))
    behind = {row: place for place, row in enumerate(release.rows.tolist())}
    for row in shown:
        assert row.before == tuple(
            frame[name][row.number] or None for name in ("age", "job", "seen", "code")
        )
        if row.number not in behind:
            assert row.after == ()
            continue
        released = release.table.row(behind[row.number], named=True)
        assert row.after == tuple(released[name] for name in ("age", "job", "seen", "code"))
        assert row.together >= K
    if order == "worst":
        losses = [row.loss for row in shown]
        assert losses == sorted(losses, reverse=True)


def test_a_page_beyond_the_last_is_the_last(desks: Desks) -> None:
    desk, _ = desks()
    last = desk.look(rows_shown, "first", 10**9)
    assert last.page == last.pages - 1


@pytest.mark.parametrize("missing", ["category", "drop-row"])
def test_the_group_of_a_row_has_the_rows_that_are_released_with_it(
    desks: Desks, missing: str
) -> None:
    desk, frame = desks(missing=missing)
    assert desk.made is not None
    labels = desk.made.release.groups.labels
    behind = {row: place for place, row in enumerate(desk.made.release.rows.tolist())}
    for row in sorted(behind)[::7]:
        group = desk.look(group_shown, row, 1)
        members = {i for i, label in enumerate(labels) if label == labels[row]}
        assert {number for number, _ in group.members} == members
        assert group.size == len(members)
        assert group.members[0][0] == row
        assert group.chosen == "job"
        assert sum(one.share for one in group.columns) == pytest.approx(1) or group.loss == 0
        released = desk.made.release.table.row(behind[row], named=True)
        costs = desk.made.release.costs
        for one in group.columns:
            assert one.shown == released[one.name]
            assert one.lost == pytest.approx(costs[f"loss_{one.name}"][row])
            cells = [frame[one.name][i] or None for i in members]
            assert one.distinct == len(set(cells))
            assert all(cells.count(value) == rows for value, rows in one.values)


def test_a_cell_without_its_outlier_is_the_cell_of_the_others(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": ["20", "21", "22", "90"], "illness": ["flu"] * 4})
    place = tmp_path / "few.csv"
    frame.write_csv(place)
    toml = '[columns.age]\nrole = "quasi"\ntype = "numeric"\n[columns.illness]\n'
    desk = Desk(tmp_path / "own")
    make(desk, place, toml + 'role = "sensitive"\n[require]\nk = 4\n')
    (age,) = desk.look(group_shown, 0, None).columns
    assert age.shown == "[20, 90]"
    assert age.without == ("90", "[20, 22]", 1)


def test_a_row_that_was_left_out_has_no_group(desks: Desks) -> None:
    desk, _ = desks(max_suppressed=0.2)
    assert desk.made is not None
    gone = [i for i, label in enumerate(desk.made.release.groups.labels) if label < 0]
    for row in [*gone, -1, 10**6]:
        with pytest.raises(UsageError, match="row"):
            desk.look(group_shown, row, None)


def test_those_who_pay_lose_together_what_the_report_says(desks: Desks) -> None:
    desk, frame = desks()
    assert desk.made is not None
    costs = desk.made.release.costs.with_columns(job=frame["job"])
    mean = costs["loss"].mean() / 4  # type: ignore[operator]
    names = desk.look(payers, None).columns
    found = desk.look(payers, names.index("job"))
    assert found.mean == pytest.approx(mean)
    for one in found.each:
        own = costs.filter(pl.col("job") == one.label)["loss"]
        assert (one.rows, one.loss) == (len(own), pytest.approx(own.mean() / 4))  # type: ignore[operator]
    assert all(one.loss > found.mean for one in found.most)


@pytest.mark.parametrize(
    ("lost", "expected"), [(0, "none"), (0.05, "little"), (0.3, "some"), (0.5, "much"), (1, "most")]
)
def test_a_cell_is_darker_the_more_it_has_lost(lost: float, expected: str) -> None:
    assert shade(lost) == expected


# ── questions ───────────────────────────────────────────────────────────────────────────────────


def test_what_is_released_as_it_is_answers_exactly(desks: Desks) -> None:
    desk, frame = desks()
    answer = desk.look(answered, Question("mean", "illness", "days"))
    for line in answer.lines:
        days = frame.filter(pl.col("illness") == line.label)["days"].cast(int)
        assert line.before == line.after == pytest.approx(days.mean())
    share = desk.look(answered, Question("share", "days", "illness", "flu"))
    assert share.whole.before == share.whole.after
    assert share.whole.before == pytest.approx((frame["illness"] == "flu").mean())


@pytest.mark.parametrize("by", ["age", "job", "seen", "code", "illness", "days"])
@pytest.mark.parametrize("style", STYLES)
def test_every_row_counts_once_in_both_tables(desks: Desks, by: str, style: Style) -> None:
    desk, frame = desks(style=style)
    answer = desk.look(answered, Question("count", by))
    for counts in ([one.before for one in answer.lines], [one.after for one in answer.lines]):
        assert sum(n for n in counts if n) == pytest.approx(frame.height)
    for line in answer.lines:
        if line.label in ("missing", NOT_SHOWN) or by in ("age", "seen"):
            continue
        assert line.before == (frame[by] == line.label).sum()


def test_an_interval_counts_for_each_of_its_values_in_equal_parts(desks: Desks) -> None:
    desk, _ = desks(style=Style("ancestor", "columns"))
    assert desk.made is not None
    table = desk.made.release.table
    answer = desk.look(answered, Question("count", "age"))
    lines = [line for line in answer.lines if line.label != NOT_SHOWN]
    starts = [int(line.label.split()[0]) for line in lines]
    expected = [0.0] * len(starts)
    unknown = 0
    for low, high in table.select("age_low", "age_high").iter_rows():
        if low is None and high is None:
            unknown += 1
            continue
        values = range(low, (80 if high is None else high) + 1)
        for value in values:
            place = max((i for i, start in enumerate(starts) if value >= start), default=0)
            expected[place] += 1 / len(values)
    # An open end is the bound: nobody knows how far beyond it people are.
    assert [line.after for line in lines] == pytest.approx(expected)
    told = next((line.after for line in answer.lines if line.label == NOT_SHOWN), 0)
    assert told == unknown


def test_a_category_counts_for_each_value_under_it(desks: Desks) -> None:
    desk, _ = desks()
    assert desk.made is not None
    chances = {"work": 1 / 4, "care": 1 / 2, "nurse": 1.0, "*": None}
    cells = desk.made.release.table["job"].to_list()
    known = [chances.get(cell, 0.0) for cell in cells]
    told = [chance for chance in known if chance is not None]
    answer = desk.look(answered, Question("share", "illness", "job", "nurse"))
    assert answer.whole.after == pytest.approx(sum(told) / len(told))


def test_a_mean_may_stand_for_anyone_and_counts_by_itself(desks: Desks) -> None:
    desk, frame = desks(render="mean")
    assert desk.made is not None
    released = desk.made.release.table
    assert released["age"].dtype.is_numeric()
    for person in frame.head(10).iter_rows(named=True):
        found = desk.look(attacked, {"age": person["age"]})
        assert found.after == released.height
    whole = desk.look(answered, Question("mean", "illness", "age")).whole
    assert whole.after == pytest.approx(released["age"].mean())
    counted = desk.look(answered, Question("count", "age"))
    assert sum(line.after or 0 for line in counted.lines) == pytest.approx(released.height)
    lines = {line[0]: line[4] for line in dictionary(desk.made)}
    assert "mean of the group" in lines["age"]


@pytest.mark.parametrize(
    "asked",
    [
        Question("mean", "age", "job"),
        Question("mean", "age", "illness"),
        Question("share", "job", "age", "20"),
        Question("mean", "job"),
        Question("count", "name"),
        Question("mean", "job", "name"),
    ],
)
def test_a_question_without_an_answer_is_refused(desks: Desks, asked: Question) -> None:
    desk, _ = desks()
    with pytest.raises(UsageError):
        desk.look(answered, asked)


@pytest.mark.parametrize("style", STYLES)
def test_the_dictionary_names_all_columns_and_only_what_the_release_shows(
    desks: Desks, style: Style
) -> None:
    desk, frame = desks(style=style)
    assert desk.made is not None
    written = desk.write_release("here", "out.csv", None, False)
    handed = desk.hand_over(written, {})
    released = desk.made.release.table
    read = pl.read_csv(written.folder / DICTIONARY, infer_schema=False)
    assert read["column"].to_list() == released.columns
    assert read.columns == list(HEAD)
    assert read.equals(
        pl.read_csv(StringIO(as_csv(handed.dictionary).decode()), infer_schema=False)
    )
    for line in handed.dictionary:
        if line[-1] and line[-1] != "many":
            shown = {str(cell) for cell in released[line[0]].drop_nulls().to_list()}
            assert set(line[-1].split("; ")) == shown
    told = as_csv(handed.dictionary).decode()
    assert not [name for name in frame["name"] if name in told]
    assert not [day for day in frame["seen"] if day in told and day not in str(released.to_dicts())]
