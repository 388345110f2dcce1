"""Missing cells as wildcards: k by both readings, cells, losses, and every method."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import covey
from covey import Groups, KAnonymity, LDiversity, Style
from covey.encoding import Category, encode
from covey.encoding.groups import Rings
from covey.encoding.imputation import without_gaps
from covey.generalisation import View, generalise
from covey.measures import loss
from covey.measures.entropy import InGroups
from covey.release import Release
from covey.schema import MissingPolicy, Schema
from covey.tables import Table
from covey.verification.classes import wildcards
from examples import examples
from generalisation.test_generalisation import frame_of
from oracles.anonymity import smallest_class, smallest_match
from oracles.metrics import groups_of, total_il
from tables_of_people import CLASS, People, as_shown, labels_for, people

STYLES = [Style(), Style(categories="values"), Style(intervals="columns")]
GROUPING = [name for name in covey.METHODS if name != "nh"]


def with_policy(schema: Schema, names: Sequence[str], policy: MissingPolicy) -> Schema:
    changed = {n: schema.columns[n].model_copy(update={"missing": policy}) for n in names}
    return schema.model_copy(update={"columns": {**schema.columns, **changed}})


@st.composite
def wild_people(draw: st.DrawFn, least: int = 1, most: int = 14) -> People:
    """Tables in some of whose columns a missing cell is any value."""
    table = draw(people(least, most, columns=3))
    names = sorted(table.oracle)
    some = [name for name in names if draw(st.booleans())] or names
    return replace(
        table,
        schema=with_policy(table.schema, some, MissingPolicy.WILDCARD),
        oracle={n: replace(c, wildcard=n in some) for n, c in table.oracle.items()},
    )


def wild(table: People) -> list[str]:
    return [n for n, c in table.schema.quasi.items() if c.missing is MissingPolicy.WILDCARD]


def quasi_cells(release: Release, schema: Schema) -> list[tuple[Any, ...]]:
    shown = [n for n in release.table.columns if n not in schema.columns or n in schema.quasi]
    cells: list[tuple[Any, ...]] = release.table.select(shown).rows()
    return cells


# ── the promise ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", GROUPING)
@given(wild_people(least=2), st.sampled_from(STYLES), st.integers(2, 4))
@examples(12)
def test_k_holds_by_both_readings(method: str, table: People, style: Style, k: int) -> None:
    """Counted over the released cells: missing as a value of its own, and as any value."""
    assume(table.rows >= k)
    release = covey.anonymize(
        table.frame, table.schema, require=KAnonymity(k), method=method, style=style
    )
    cells = quasi_cells(release, table.schema)
    assert len(cells) == table.rows
    assert smallest_class(cells) >= k
    assert smallest_match(cells) >= k
    assert release.verdict.k == smallest_class(cells)
    assert release.verdict.k_wildcard == smallest_match(cells)
    if style.intervals == "text":
        labels = release.groups.labels.tolist()
        lost = total_il(as_shown(table.oracle, groups_of(labels)), labels, table.schema.loss)
        assert release.report.losses.total_il == pytest.approx(lost, rel=1e-9, abs=1e-9)


def test_an_interval_with_one_end_is_open_and_not_missing() -> None:
    ends = Table(pl.DataFrame({"x_low": [1, None, 1, None], "x_high": [2, 2, None, None]}))
    (cells,) = wildcards(ends, Schema.of(quasi={"x": "numeric"}))
    assert cells.to_list() == ["1;2", ";2", "1;", None]


@given(wild_people(least=2, most=10), st.integers(2, 3))
@examples(40)
def test_rings_hide_everyone_among_k_rows(table: People, k: int) -> None:
    """Lines are drawn by the definition: a cell that may be any value lies within everything."""
    assume(table.rows >= k)
    release = covey.anonymize(table.frame, table.schema, require=KAnonymity(k), method="nh")
    assert release.verdict.holds
    encoded = table.encoded()
    assert isinstance(release.groups, Rings)
    members = [
        [int(release.groups.member(step)[place]) for step in range(k)]
        for place in release.groups.place[release.rows]
    ]
    for attribute in encoded.attributes:
        missing = [value is None for value in table.oracle[attribute.name].values]
        for shown, behind in zip(release.table[attribute.name].to_list(), members, strict=True):
            known = [row for row in behind if not missing[row]]
            if attribute.name in wild(table):
                assert (shown is None) == (not known)
            elif shown is None:
                assert not known


def test_a_ring_that_shows_too_little_is_found_with_wildcards_too() -> None:
    frame = pl.DataFrame({"x": [1, None, 3, 4], CLASS: list("abcd")})
    schema = Schema.of(quasi={"x": {"type": "numeric", "missing": "wildcard"}}, sensitive=[CLASS])
    release = covey.anonymize(frame, schema, require=KAnonymity(2), method="nh", seed=1)
    assert release.verdict.holds
    cells = release.table["x"].to_list()
    one = next(place for place, row in enumerate(release.rows) if row == 0)
    cells[one] = "9"
    spoilt = release._own.released.with_frame(release.table.with_columns(pl.Series("x", cells)))
    assert not release._own.judge(spoilt).holds


# ── cells ───────────────────────────────────────────────────────────────────────────────────────


@given(wild_people(), st.sampled_from(STYLES), st.data())
@examples(200)
def test_a_group_shows_what_its_known_members_would_show_alone(
    table: People, style: Style, data: st.DataObject
) -> None:
    labels = data.draw(labels_for(table.rows))
    shown = generalise(table.table, table.encoded(), Groups(labels), style).frame
    kept = [row for row, label in enumerate(labels) if label >= 0]
    plain = with_policy(table.schema, list(table.schema.quasi), MissingPolicy.CATEGORY)
    encoded = encode(table.table, plain)
    for name, column in table.oracle.items():
        names = [n for n in shown.columns if n in (name, f"{name}_low", f"{name}_high")]
        for group in groups_of(labels):
            known = [row for row in group if column.values[row] is not None]
            alone = known if name in wild(table) and known else group
            taken = table.table.with_frame(table.frame[alone])
            expected = generalise(
                taken, encoded.take(np.array(alone)), Groups([0] * len(alone)), style
            ).frame.select(names)
            rows = [kept.index(row) for row in group]
            assert set(shown.select(names)[rows].rows()) == set(expected.rows())


@given(wild_people(), st.data())
@examples(150)
def test_losses_are_those_of_the_known_members(table: People, data: st.DataObject) -> None:
    labels = data.draw(labels_for(table.rows, suppress=False))
    groups = Groups(labels)
    shown = generalise(table.table, table.encoded(), groups, Style())
    known = as_shown(table.oracle, groups_of(labels))
    expected = total_il(known, labels, table.schema.loss)
    in_groups = InGroups.of(table.encoded(), groups)
    found = loss.measure(View.of(shown, table.encoded()), in_groups=in_groups)
    assert found.total_il == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert loss.measure_groups(table.encoded(), groups).total_il == pytest.approx(
        expected, rel=1e-9, abs=1e-9
    )
    assert found.information is not None
    assert found.entropy_share is not None
    assert -1e-9 <= found.information <= 1 + 1e-9
    assert found.entropy_share <= 1 + 1e-9
    gaps = any(None in table.oracle[name].values for name in wild(table))
    assert (found.non_uniform_entropy is None) == gaps


def shown_of(cells: Sequence[Any], style: Style = STYLES[0], **column: Any) -> list[Any]:
    """The first row of one group of all."""
    quasi = {"x": {"missing": "wildcard", **column}}
    return list(frame_of({"x": cells}, quasi, [0] * len(cells), style=style).row(0))


TREE = {"Europe": ["France", "Italy"], "Asia": ["Japan"]}
DAYS = [datetime.date(2024, 1, 5), None, datetime.date(2024, 4, 5)]


@pytest.mark.parametrize(
    ("cells", "column", "style", "expected"),
    [
        ([31, None, 38], {"type": "numeric"}, STYLES[0], ["[31, 38]"]),
        ([31, None, 38], {"type": "numeric", "grid": 5}, STYLES[0], ["[30, 40]"]),
        ([31, None, 38], {"type": "numeric", "grid": 5}, STYLES[2], [30, 40]),
        ([None, 31, None], {"type": "numeric", "grid": 5}, STYLES[0], ["31"]),
        ([None, None], {"type": "numeric"}, STYLES[0], [None]),
        ([None, None], {"type": "numeric", "domain": [0, 9]}, STYLES[2], [None, None]),
        (DAYS, {"type": "date", "grid": "quarter"}, STYLES[0], ["[2024-01-01, 2024-06-30]"]),
        (DAYS, {"type": "date"}, STYLES[2], [DAYS[0], DAYS[2]]),
        (["a", None, "a"], {"type": "categorical"}, STYLES[0], ["a"]),
        (["a", None, "b"], {"type": "categorical"}, STYLES[0], ["*"]),
        (["a", None, "b"], {"type": "categorical"}, STYLES[1], ["{a, b}"]),
        ([None, None], {"type": "categorical"}, STYLES[1], [None]),
        ([None, "France", "Italy"], {"type": "categorical", "taxonomy": TREE}, None, ["Europe"]),
        ([None, "Japan", None], {"type": "categorical", "taxonomy": TREE}, None, ["Japan"]),
        ([None, None], {"type": "categorical", "taxonomy": TREE}, None, [None]),
    ],
)
def test_cells_by_hand(
    cells: list[Any], column: dict[str, Any], style: Style | None, expected: list[Any]
) -> None:
    assert shown_of(cells, style or Style(), **column) == expected


def test_bits_are_those_of_the_known_cells() -> None:
    """Ages 1, 1, 2, 2 and two missing: 1 bit where both are covered, in four rows of six."""
    schema = Schema.of(quasi={"age": {"type": "numeric", "missing": "wildcard"}})
    table = Table(pl.DataFrame({"age": [1, 2, None, 1, 2, None]}))
    encoded = encode(table, schema)
    groups = Groups([0, 0, 0, 1, 1, 2])
    found = loss.measure(
        View.of(generalise(table, encoded, groups, Style()), encoded),
        in_groups=InGroups.of(encoded, groups),
    )
    assert found.entropy == pytest.approx(5 / 6)
    assert found.entropy_share == pytest.approx(5 / 6)
    assert found.monotone_entropy == pytest.approx(5 * 4 / 36)
    assert found.non_uniform_entropy is None
    assert found.information == pytest.approx(1)


# ── what stands for them while groups are formed ────────────────────────────────────────────────


@given(wild_people())
@examples(100)
def test_methods_see_no_gaps(table: People) -> None:
    encoded = table.encoded()
    filled = without_gaps(encoded)
    for old, new in zip(encoded.attributes, filled.attributes, strict=True):
        gaps = old.matches_anything
        cells, put = old.values, new.values
        assert np.array_equal(cells[~gaps], put[~gaps], equal_nan=True)
        assert not new.matches_anything.any() or gaps.all()
        if gaps.any() and not gaps.all():
            assert set(put[gaps].tolist()) <= set(cells[~gaps].tolist())
            assert old.name in wild(table)
    if not any(None in table.oracle[name].values for name in wild(table)):
        assert filled is encoded


def test_what_rows_alike_have_stands_for_a_missing_cell() -> None:
    number = np.arange(400) // 200  # two clusters
    ages = np.where(number == 0, 20, 60) + np.arange(400) % 9
    towns = np.where(number == 0, "Ayr", "Bath")
    towns[::40] = "Cork"
    frame = pl.DataFrame({"place": number * 100.0, "age": ages, "town": towns})
    gaps = pl.Series(np.arange(400) % 7 == 3)
    holes = frame.with_columns(
        pl.when(gaps).then(None).otherwise(pl.col(name)).alias(name) for name in ("age", "town")
    )
    quasi: Mapping[str, Any] = {
        "place": "numeric",
        "age": {"type": "numeric", "missing": "wildcard"},
        "town": {"type": "categorical", "missing": "wildcard"},
    }
    encoded = encode(Table(holes), Schema.of(quasi=quasi))
    filled = without_gaps(encoded)
    age, town = (next(a for a in filled.attributes if a.name == n) for n in ("age", "town"))
    young = age.values[gaps.to_numpy() & (number == 0)]
    assert ((young >= 20) & (young <= 28)).all()
    old = age.values[gaps.to_numpy() & (number == 1)]
    assert ((old >= 60) & (old <= 68)).all()
    assert isinstance(town, Category)
    labels = np.array(town.tree.labels)[town.leaves]
    assert (labels[gaps.to_numpy()] == np.where(number == 0, "Ayr", "Bath")[gaps.to_numpy()]).all()


# The groups of oka begin with random rows, and mix towns even where nothing is missing.
@pytest.mark.parametrize("method", [name for name in GROUPING if name != "oka"])
def test_a_missing_cell_costs_nothing(method: str) -> None:
    """As a value of its own it makes a group that mixes lose everything in that column."""
    people_ = pl.DataFrame(
        {
            "x": [float(100 * (row // 20)) for row in range(60)],
            "town": [None if row % 20 == 7 else "ABC"[row // 20] for row in range(60)],
        }
    )
    lost = {}
    for policy in ("category", "wildcard"):
        quasi: Mapping[str, Any] = {
            "x": "numeric",
            "town": {"type": "categorical", "missing": policy},
        }
        release = covey.anonymize(
            people_, Schema.of(quasi=quasi), require=KAnonymity(5), method=method, seed=1
        )
        lost[policy] = release.report.losses.total_il
    assert lost["wildcard"] == 0 < lost["category"]


# ── with all else ───────────────────────────────────────────────────────────────────────────────

PEOPLE = pl.DataFrame(
    {
        "age": [31, 38, None, 62, 67, None, 65, None],
        "zip": ["4780", None, "4781", "5676", "5678", "5676", None, None],
        "nothing": [None] * 8,
        "illness": ["a", "b", "b", "a", "c", "b", "c", "a"],
    },
    schema_overrides={"nothing": pl.String},
)
QUASI: Mapping[str, Any] = {
    "age": {"type": "numeric", "missing": "wildcard", "grid": 5},
    "zip": {"type": "categorical", "missing": "wildcard", "taxonomy": {"build": "prefixes"}},
    "nothing": {"type": "categorical", "missing": "wildcard"},
}
SCHEMA = Schema.of(quasi=QUASI, sensitive=["illness"])


def test_the_report_tells_of_cells_that_are_not_known() -> None:
    release = covey.anonymize(PEOPLE, SCHEMA, require=[KAnonymity(4), LDiversity(2, "illness")])
    told = [warning for warning in release.report.warnings if "missing cell" in warning]
    assert len(told) == 2
    for name, warning in zip(("age", "zip"), told, strict=True):
        assert warning.startswith(f"column {name!r}: fewer than 4 rows")
    assert release.table["nothing"].null_count() == 8
    assert release.table["age"].null_count() == 0
    assert release.report.configuration["columns"]["age"]["missing"] == "wildcard"


def test_nothing_is_told_where_nothing_was_filled_in() -> None:
    known = PEOPLE.drop_nulls(["age", "zip"])
    release = covey.anonymize(known, SCHEMA, require=KAnonymity(2))
    assert not any("missing cell" in warning for warning in release.report.warnings)


def test_the_order_of_rows_does_not_matter() -> None:
    releases = [
        covey.anonymize(frame, SCHEMA, require=KAnonymity(3)).table
        for frame in (PEOPLE, PEOPLE.reverse())
    ]
    assert releases[0].equals(releases[1])


def test_suppressed_rows_are_not_counted_as_filled_in() -> None:
    frame = pl.DataFrame({"x": [*range(20), 1000], "y": ["a"] * 20 + [None]})
    quasi: Mapping[str, Any] = {
        "x": "numeric",
        "y": {"type": "categorical", "missing": "wildcard", "weight": 0.1},
    }
    release = covey.anonymize(
        frame, Schema.of(quasi=quasi), require=KAnonymity(5), max_suppressed=0.05
    )
    assert release.report.rows.suppressed == 1
    assert not any("missing cell" in warning for warning in release.report.warnings)


def test_measured_again_from_its_file_the_loss_is_the_same(tmp_path: Path) -> None:
    release = covey.anonymize(PEOPLE, SCHEMA, require=KAnonymity(4))
    release.write(tmp_path / "released.csv")
    again = covey.measure(PEOPLE, tmp_path / "released.csv", SCHEMA)
    assert again.total_il == release.report.losses.total_il
    assert covey.verify(tmp_path / "released.csv", SCHEMA, KAnonymity(4)).holds
