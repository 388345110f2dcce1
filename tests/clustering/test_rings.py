"""Rows that differ within a group: the rings of NH, their release and its verifier."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey import demo
from covey.clustering import METHODS
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups, Rings
from covey.errors import UsageError, ViolationError
from covey.generalisation import Style, View, generalise
from covey.generalisation.classes import index_of_rows
from covey.measures import loss
from covey.reference.model import attribute_order, column_loss, record_loss
from covey.reference.nh import nh
from covey.schema import Schema
from covey.schema.requirements import DisjointMatchings, KAnonymity
from covey.tables import Table
from covey.verification.rings import verify_rings
from examples import examples
from oracles.matchings import disjoint_perfect_matchings, matchable_counts
from tables_of_people import CLASS, People, as_shown, people

seeds = st.integers(0, 2**64)


def rings_of(table: EncodedTable, k: int, seed: int = 0) -> Rings:
    rings = METHODS["nh"](table, k, seed=seed)
    assert isinstance(rings, Rings)
    return rings


def members(rings: Rings) -> list[list[int]]:
    """The rows that each row is shown with."""
    lists: list[list[int]] = [[] for _ in range(rings.rows)]
    for step in range(rings.k):
        for row, member in zip(rings.order.tolist(), rings.member(step).tolist(), strict=True):
            lists[row].append(member)
    return lists


@given(people(least=2, most=40, columns=2), st.data())
def test_what_a_row_is_shown_with_is_folded(table: People, data: st.DataObject) -> None:
    """By the rows named one by one, for each k up to all rows."""
    rings = rings_of(table.encoded(), data.draw(st.integers(1, table.rows), "k"))
    values = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=table.rows,
                                         max_size=table.rows)))  # fmt: skip
    shown_with = members(rings)
    for by, plain in ((np.minimum, min), (np.maximum, max), (np.add, sum)):
        folded = rings.fold(by, values)[rings.place]
        assert folded.tolist() == [plain(values[row].tolist()) for row in shown_with]


@given(people(most=30, columns=3), st.data())
@examples(200)
def test_rings_are_those_of_the_twin(table: People, data: st.DataObject) -> None:
    k, seed = data.draw(st.integers(1, table.rows), "k"), data.draw(seeds, "seed")
    rings = rings_of(table.encoded(), k, seed)
    labels, lists = nh(
        table.oracle,
        k,
        rng=np.random.default_rng(seed),
        measure=table.schema.loss,
    )
    assert rings.labels.tolist() == labels
    assert members(rings) == lists


@given(people(least=2, most=12, columns=3), st.data())
@examples(80)
def test_everyone_could_be_behind_k_rows(table: People, data: st.DataObject) -> None:
    """By the cells as released, with a matching algorithm that knows nothing of rings."""
    k = data.draw(st.integers(2, table.rows), "k")
    release = covey.anonymize(
        table.frame, table.schema, require=KAnonymity(k), method="nh", seed=data.draw(seeds)
    )
    assert release.verdict.holds
    encoded = table.encoded()
    contains = [[True] * table.rows for _ in range(table.rows)]
    from covey.verification.rings import _covers

    view = View.of(release._own.released, encoded)
    cells = index_of_rows(release._own.released, view.classes.cells)
    for attribute, column, cell in zip(encoded.attributes, view.columns, cells, strict=True):
        ends = [end[cell] for end in column.shown.places]
        for person in range(table.rows):
            within = _covers(attribute, ends, np.full(table.rows, person))
            for row in range(table.rows):
                contains[person][row] &= bool(within[row])
    assert min(matchable_counts(contains)) >= k
    assert disjoint_perfect_matchings(contains) >= k


@given(people(most=20, columns=3), st.data())
@examples(100)
def test_losses_are_those_of_the_boxes(table: People, data: st.DataObject) -> None:
    k, seed = data.draw(st.integers(1, table.rows), "k"), data.draw(seeds, "seed")
    encoded = table.encoded()
    rings = rings_of(encoded, k, seed)
    released = generalise(table.table, encoded, rings, Style())
    losses = loss.measure(View.of(released, encoded), k=k, classes=False)
    boxes = members(rings)
    known = as_shown(table.oracle, boxes)
    total = sum(record_loss(known, box, table.schema.loss) for box in boxes)
    assert losses.total_il == pytest.approx(total, rel=1e-9, abs=1e-9)
    for place, name in enumerate(attribute_order(table.oracle)):
        own = [column_loss(known[name], box, table.schema.loss) for box in boxes]
        assert losses.columns[place].il == pytest.approx(sum(own) / table.rows, abs=1e-9)
    assert losses.discernibility is None
    assert losses.average_class_size is None
    dearest = sorted(record_loss(known, box, table.schema.loss) for box in boxes)[::-1]
    for worst in losses.worst:
        assert worst.loss == pytest.approx(sum(dearest[: worst.rows]), abs=1e-9)
        assert worst.without == pytest.approx(sum(dearest[worst.rows :]), abs=1e-9)
    found = loss.measure_groups(encoded, rings)
    assert found.total_il == pytest.approx(losses.total_il, rel=1e-9, abs=1e-9)
    assert found.gcp == pytest.approx(losses.gcp, rel=1e-9, abs=1e-9)


# ── a verifier that can fail ────────────────────────────────────────────────────────────────────


class Case:
    """A release of rings and all that its judge wants to know."""

    def __init__(self) -> None:
        random = np.random.default_rng(5)
        self.frame = pl.DataFrame(
            {
                "age": random.integers(20, 60, 40),
                "town": random.choice(["A", "B", "C"], 40),
                "illness": random.choice(["flu", "cold"], 40),
            }
        )
        self.schema = Schema.of(
            quasi={"age": "numeric", "town": "categorical"}, sensitive=["illness"]
        )
        self.encoded = encode(Table(self.frame), self.schema)
        self.rings = rings_of(self.encoded, 4)
        self.released = generalise(Table(self.frame), self.encoded, self.rings, Style())
        self.rows = np.arange(40)

    def achieved(self) -> float:
        verdict = verify_rings(self.released, self.schema, self.encoded, self.rings, self.rows, k=4)
        (check,) = verdict.checks
        assert (check.requirement, check.asked) == (DisjointMatchings(4), 4)
        assert check.achieved is not None
        assert verdict.holds == (check.achieved >= 4)
        return check.achieved


def test_a_sound_release_has_k_matchings() -> None:
    assert Case().achieved() == 4


@pytest.mark.parametrize("column", ["age", "town"])
def test_a_box_that_is_too_small_is_found(column: str) -> None:
    case = Case()
    cell = {"age": "1", "town": "A"}[column]
    victim = int(np.flatnonzero(case.frame[column].cast(pl.String).to_numpy() != cell)[0])
    cells = case.released.frame[column].to_list()
    cells[victim] = cell
    frame = case.released.frame.with_columns(pl.Series(column, cells, dtype=pl.String))
    case.released = case.released.with_frame(frame)
    assert case.achieved() < 4


def test_boxes_that_changed_places_are_found() -> None:
    case = Case()
    case.released = case.released.with_frame(case.released.frame.reverse())
    assert case.achieved() < 4


def test_a_row_shown_with_one_person_twice_is_found() -> None:
    """Pairings that share a line are not disjoint: a ring of fewer than k rows goes round twice."""
    case = Case()
    rings = case.rings
    case.rings = replace(
        rings,
        begin=np.arange(0, 41, 2),
        shift=np.zeros(20, dtype=np.int64),
    )
    wide = generalise(Table(case.frame), case.encoded, Groups(np.zeros(40, int)), Style())
    case.released = wide
    assert case.achieved() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"order": np.zeros(40, dtype=np.int64)},
        {"order": np.arange(1, 41)},
        {"begin": np.array([0, 20, 40])},
        {"shift": np.full(8, 4)},
        {"shift": np.full(8, -1)},
        {"rows": 39},
    ],
)
def test_what_are_no_rings_is_refused(wrong: dict[str, Any]) -> None:
    rings = Case().rings
    assert rings.count == 8
    with pytest.raises(UsageError, match="every row once"):
        replace(rings, **wrong)


def test_a_release_that_nobody_is_behind_is_found() -> None:
    """There are k pairings, but the true one is none of them."""
    case = Case()
    others = case.rings.shift.copy()
    others[:] = (others + 2) % 4
    case.released = generalise(
        Table(case.frame), case.encoded, replace(case.rings, shift=others), Style()
    )
    away = np.arange(40)
    away[case.rings.order] = np.concatenate(
        [np.roll(case.rings.order[a:b], 6) for a, b in pairwise(case.rings.begin)]
    )
    case.released = case.released.with_frame(case.released.frame[away.tolist()])
    case.rings = replace(case.rings, shift=others)
    assert case.achieved() < 4


def test_what_is_shown_of_a_release_has_no_cells() -> None:
    frame = pl.DataFrame({"age": [31, 47, 59, 61], "town": ["Uhl", "Uhl", "Ems", "Ems"]})
    schema = Schema.of(quasi={"age": "numeric", "town": "categorical"})
    for method in ("nh", "k-member"):
        done = covey.anonymize(frame, schema, require=KAnonymity(2), method=method)
        shown = repr(done)
        assert f"4 of 4 rows by {method}" in shown
        assert not any(cell in shown for cell in ("31", "47", "59", "61", "Uhl", "Ems"))


def test_a_release_that_lacks_a_row_is_refused() -> None:
    case = Case()
    case.released = case.released.with_frame(case.released.frame[1:])
    with pytest.raises(ViolationError, match="one row for each"):
        case.achieved()


# ── the way through the pipeline ────────────────────────────────────────────────────────────────


def release(**options: Any) -> covey.Release:
    return covey.anonymize(
        demo.people(300), demo.schema(), require=KAnonymity(5), method="nh", **options
    )


def test_a_release_is_judged_again_when_it_is_written(tmp_path: Any) -> None:
    done = release()
    report = done.write(tmp_path / "released.csv", report=tmp_path / "report.json")
    assert report.verdict.checks[0].requirement == DisjointMatchings(5)
    assert any("not k-anonymous" in warning for warning in report.warnings)
    assert (tmp_path / "released.csv").exists()


def test_a_release_that_does_not_hold_is_not_written(tmp_path: Any) -> None:
    done = release()
    mixed = done._own.released.with_frame(done._own.released.frame.reverse())
    with pytest.raises(ViolationError):
        replace(done, _kept=replace(done._own, released=mixed)).write(tmp_path / "released.csv")
    assert not list(tmp_path.iterdir())


def test_the_usual_judge_finds_rows_unequal() -> None:
    assert covey.verify(release().table, demo.schema(), KAnonymity(5)).k < 5


def test_value_sets_are_refused() -> None:
    with pytest.raises(UsageError, match="sets of values"):
        release(style=Style(categories="values"))


def test_low_and_high_ends_are_judged_too() -> None:
    assert release(style=Style(intervals="columns")).verdict.holds


def test_rings_keep_to_the_input(tmp_path: Any) -> None:
    """Rows left out by their policy are in no ring; the others keep their numbers."""
    frame = pl.DataFrame({"x": [1, None, 3, 4, None, 6, 7, 8], CLASS: list("abcdefgh")})
    quasi = {"x": {"type": "numeric", "missing": "drop-row"}}
    schema = Schema.of(quasi=quasi, sensitive=[CLASS])
    rings = covey.cluster(frame, schema, k=3, method="nh")
    assert isinstance(rings, Rings)
    assert rings.suppressed == 2
    assert np.flatnonzero(rings.labels < 0).tolist() == [1, 4]
    done = covey.anonymize(frame, schema, require=KAnonymity(3), method="nh")
    assert isinstance(done.groups, Rings)
    assert sorted(done.groups.order.tolist()) == [0, 2, 3, 5, 6, 7]
    assert sorted(done.rows.tolist()) == [0, 2, 3, 5, 6, 7]
    assert done.table[CLASS].to_list() == [list("abcdefgh")[row] for row in done.rows]


def test_every_shift_is_equally_likely() -> None:
    """The one secret of a ring: which of its k pairings is the true one."""
    table = encode(Table(demo.people(2000)), demo.schema())
    shifts = np.concatenate([rings_of(table, 4, seed).shift for seed in range(5)])
    counts = np.bincount(shifts, minlength=4)
    expected = len(shifts) / 4
    assert ((counts - expected) ** 2 / expected).sum() < 20  # 3 degrees of freedom: p < 0.0002
