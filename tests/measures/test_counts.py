"""Counts of batches add up, in any order, to the figures of the tables in memory."""

import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from command_line import Folder
from covey import KAnonymity, Schema, Style, TableError, UsageError, demo
from covey.encoding import Scan, Tally, Values, encode
from covey.encoding.groups import Groups
from covey.generalisation import ReleasedClasses, View, generalise
from covey.measures import loss
from covey.measures.entropy import InGroups
from covey.measures.histograms import PersonCounts, class_sizes, distributions
from covey.measures.queries import query_error
from covey.measures.resolution import resolutions
from covey.report import carried
from covey.report.carried import Carried
from covey.report.sample import sample
from covey.tables import Table
from covey.tables.csv_files import Dialect
from covey.tables.merging import merged
from examples import examples
from tables_of_people import CLASS, People, labels_for, people

STYLES = [Style(), Style(categories="values"), Style(intervals="columns")]
T = TypeVar("T")


def slices(frame: pl.DataFrame, ends: Sequence[int]) -> list[tuple[int, pl.DataFrame]]:
    """Batches that end there, with the number of rows before each."""
    cuts = sorted({0, frame.height, *(end for end in ends if end < frame.height)})
    return [(a, frame[a:b]) for a, b in pairwise(cuts)]


def summed(parts: Sequence[T], data: st.DataObject) -> T:
    """The sum in any order, of values that were sent to another process."""
    shuffled = data.draw(st.permutations(parts))
    found: T | None = merged(pickle.loads(pickle.dumps(part)) for part in shuffled)
    assert found is not None
    return found


def counted_view(
    shown: pl.DataFrame, original: pl.DataFrame, schema: Schema, data: st.DataObject
) -> View:
    ends = st.lists(st.integers(0, 14), max_size=4)
    scans = [
        Scan.of(Values.of(Table(part), schema)) for _, part in slices(original, data.draw(ends))
    ]
    tally = Tally.of_scan(summed(scans, data), schema, Dialect())
    names = [attribute.name for attribute in tally.attributes]
    classes = [
        ReleasedClasses.of(Table(part), names, class_column=CLASS, before=before)
        for before, part in slices(shown, data.draw(ends))
    ]
    return View.counted(tally, summed(classes, data), [Table(shown)], Dialect())


def figures(view: View, k: int, **more: Any) -> list[Any]:
    losses = loss.measure(view, **more)
    return [
        losses,
        distributions(view, k),
        resolutions(view),
        class_sizes(view),
        sample(view, alike=True),
        [column.shown.ends_exactly for column in view.columns],
        [interval.far.any() for interval in view.original.intervals],
    ]


@given(people(), st.sampled_from(STYLES), st.booleans(), st.data())
@examples(300)
def test_figures_of_batches_are_those_of_the_tables(
    table: People, style: Style, all_known: bool, data: st.DataObject
) -> None:
    labels = data.draw(labels_for(table.rows))
    kept = [row for row, label in enumerate(labels) if label >= 0]
    some = table.take(kept)
    groups = Groups([labels[row] for row in kept])
    shown = generalise(some.table, some.encoded(), groups, style)
    shown = shown.with_frame(shown.frame[data.draw(st.permutations(range(len(kept))))])
    before = some if all_known else table
    in_memory = View.of(shown, before.encoded(), class_column=CLASS)
    counted = counted_view(shown.frame, before.frame, table.schema, data)
    k = data.draw(st.integers(1, 4))
    try:
        expected = figures(in_memory, k)
    except TableError:  # the loss counts leaves that suppressed rows may have added
        with pytest.raises(TableError, match="the loss by"):
            figures(counted, k)
    else:
        assert figures(counted, k) == expected


@given(people(), st.data())
@examples(100)
def test_information_lost_in_parts_adds_up_exactly(table: People, data: st.DataObject) -> None:
    labels = np.array(data.draw(labels_for(table.rows, suppress=False)))
    part = np.array(data.draw(st.lists(st.integers(0, 2), min_size=50, max_size=50)))[labels]
    encoded = table.encoded()
    parts = []
    for one in sorted(set(part.tolist())):
        rows = np.flatnonzero(part == one)
        _, own = np.unique(labels[rows], return_inverse=True)
        parts.append(InGroups.of(encoded.take(rows), Groups(own)))
    tally = Tally.of(encoded)
    # Parts number the places of values anew; sizes do not depend on that.
    found = summed(parts, data).information_lost(tally, suppressed=1)
    assert found == InGroups.of(encoded, Groups(labels)).information_lost(tally, suppressed=1)


@given(st.lists(st.lists(st.integers()), max_size=20))
def test_parts_are_added_from_the_first_to_the_last(parts: list[list[int]]) -> None:
    assert merged(parts) == ([item for part in parts for item in part] if parts else None)


def test_few_additions_are_large() -> None:
    """Adding one part after another to a sum would move about 1000² / 2 items."""
    found = merged(Moved(1, 0) for _ in range(1000))
    assert found is not None
    assert found.items == 1000
    assert found.moved < 1000 * 12


@dataclass(frozen=True)
class Moved:
    items: int
    moved: int

    def __add__(self, other: "Moved") -> "Moved":
        items = self.items + other.items
        return Moved(items, self.moved + other.moved + items)


# ── columns that are carried ────────────────────────────────────────────────────────────────────

ILLNESSES = st.sampled_from(["flu", "Flu", "flu ", "gout", "GOUT", "cold", None])


@given(st.lists(st.tuples(ILLNESSES, st.integers(0, 9)), min_size=1, max_size=20), st.data())
@examples(100)
def test_carried_columns_of_batches(rows: list[tuple[Any, int]], data: st.DataObject) -> None:
    frame = pl.DataFrame(rows, {"ill": pl.String, "note": pl.Int64}, orient="row")
    schema = Schema.of(quasi={"age": "numeric"}, sensitive=["ill"], insensitive=["note"])
    ends = data.draw(st.lists(st.integers(0, 20), max_size=4))
    found = summed([Carried.of(Table(p), schema) for _, p in slices(frame, ends)], data)
    assert {name: str(one) for name, one in found.tries.alone().items()} == {
        "ill": str(frame["ill"].drop_nulls().n_unique()),
        "note": str(frame["note"].n_unique()),
    }
    whole = Carried.of(Table(frame), schema).labels["ill"].alike
    by_hand: dict[str, list[str]] = {}
    for label in (cell for cell, _ in rows if cell is not None):
        by_hand.setdefault(label.strip().casefold(), []).append(label)
    several = [spellings for spellings in by_hand.values() if len(set(spellings)) > 1]
    assert (whole.values, whole.rows) == (len(several), sum(map(len, several)))
    assert found.labels["ill"].alike == whole


def test_too_many_labels_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried, "_MOST_LABELS", 2)
    parts = [carried.Labels.of(pl.Series([cell])) for cell in ("a", "A", "b")]
    assert (parts[0] + parts[1]).alike.rows == 2
    assert not merged(parts).alike  # type: ignore[union-attr]


# ── folders ─────────────────────────────────────────────────────────────────────────────────────

SCHEMA = demo.schema()


def in_files(frame: pl.DataFrame, folder: Path, files: int = 4) -> str:
    folder.mkdir()
    for place, (_, part) in enumerate(slices(frame, range(0, frame.height, frame.height // files))):
        part.write_parquet(folder / f"{place:03}.parquet")
    return str(folder)


@pytest.fixture(scope="module")
def made() -> tuple[pl.DataFrame, pl.DataFrame]:
    """People, and a release of them."""
    original = demo.people(400, seed=3)
    release = covey.anonymize(
        original, SCHEMA, k=5, person=False, effort="fast", seed=1, max_suppressed=0.0
    )
    return original, release.table


def told(report: covey.Report) -> dict[str, Any]:
    return {n: v for n, v in report.to_dict().items() if n not in ("seconds", "output")}


@pytest.mark.parametrize("left_out", [0, 20])
def test_folders_are_reported_on_like_tables(
    left_out: int, made: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> None:
    original, released = made[0], made[1][left_out:]
    before = in_files(original, tmp_path / "in")
    after = in_files(released, tmp_path / "out")
    asked: dict[str, Any] = {"k": 3, "person": False}
    expected = covey.report_on(original, released, SCHEMA, **asked, class_column="diagnosis")
    for source, shown in ((before, after), (original, after), (before, released)):
        found = covey.report_on(source, shown, SCHEMA, **asked, class_column="diagnosis")
        assert told(found) == told(expected)
    assert covey.measure(before, after, SCHEMA, k=5) == covey.measure(
        original, released, SCHEMA, k=5
    )
    # Queries need all rows, so files are then read whole.
    queries = covey.measure(before, after, SCHEMA, queries=20).queries
    assert queries == covey.measure(original, released, SCHEMA, queries=20).queries


def test_the_command_line_takes_folders_and_patterns(
    made: tuple[pl.DataFrame, pl.DataFrame], folder: Folder
) -> None:
    original, released = made
    in_files(original, folder.path / "in")
    in_files(released, folder.path / "shown")
    original.write_parquet(folder.path / "in.parquet")
    released.write_parquet(folder.path / "shown.parquet")
    options = ("-s", "people.toml", "-k", 5, "--json")
    one = folder.covey("measure", "in.parquet", "shown.parquet", *options)
    many = folder.covey("measure", "in/*.parquet", "shown", *options)
    assert (many.code, json.loads(many.out)) == (0, json.loads(one.out))
    options = ("-s", "people.toml", "-k", 5, "--count-rows")
    for place, asked in enumerate((("in.parquet", "shown.parquet"), ("in", "shown/*"))):
        assert folder.covey("report", *asked, "-o", f"{place}.json", *options).code == 0
    one_file, files = (json.loads((folder.path / f"{p}.json").read_bytes()) for p in (0, 1))
    for differs in ("seconds", "output"):
        del one_file[differs], files[differs]
    assert files == one_file


@pytest.mark.parametrize("tables", ["in memory", "in batches"])
def test_where_persons_count_a_bin_of_batches_has_enough_rows(tables: str, tmp_path: Path) -> None:
    ages = [20 + place // 4 for place in range(200)]
    who = [None, None, *(f"p{place // 3}" for place in range(198))]
    original = pl.DataFrame({"age": ages, "who": who})
    schema = Schema.of(quasi={"age": "numeric"}, identifier=["who"])
    released = pl.DataFrame({"age": ["*"] * 200})
    before: Any = original if tables == "in memory" else in_files(original, tmp_path / "in")
    report = covey.report_on(before, released, schema, require=KAnonymity(4, person="who"))
    (found,) = report.distributions
    counts = [bin_.before for bin_ in found.bins]
    assert len(counts) > 1
    assert all(count is not None and count >= 4 * 3 + 2 for count in counts)
    assert sum(filter(None, counts)) == 200


def test_the_rows_of_persons_in_batches(tmp_path: Path) -> None:
    """A bin may hold fewer persons than rows: 14 rows of this table are always 4 persons."""
    persons = PersonCounts(people=16, most=3, unknown=2, one_each=None)
    frame = pl.DataFrame({"sex": ["f"] * 20 + ["m"] * 13 + ["x"] * 14})
    encoded = encode(Table(frame), Schema.of(quasi={"sex": "categorical"}))
    shown = Table(pl.DataFrame({"sex": ["*"] * 47}))
    (found,) = distributions(View.of(shown, encoded), 4, persons=persons)
    assert [(bin_.label, bin_.before) for bin_ in found.bins] == [("f", 20), ("other values", 27)]


def test_a_wrong_cell_in_a_later_file_is_found(
    made: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> None:
    original, released = made
    cells = released["age"].to_list()
    wrong = released.with_columns(pl.Series("age", [*cells[:-2], "old", cells[-1]]))
    after = in_files(wrong, tmp_path / "out", files=2)
    with pytest.raises(TableError, match=r"001\.parquet: column 'age': 1 row .* row 199") as found:
        covey.measure(in_files(original, tmp_path / "in"), after, SCHEMA)
    assert "old" not in str(found.value)


def test_what_needs_all_rows_is_refused_without_them() -> None:
    frame = pl.DataFrame({"age": ["1", "2"]})
    schema = Schema.of(quasi={"age": "numeric"})
    tally = Tally.of(encode(Table(frame), schema))
    classes = ReleasedClasses.of(Table(frame), ["age"])
    view = View.counted(tally, classes, [], Dialect())
    with pytest.raises(UsageError, match="all rows"):
        query_error(view)


@pytest.mark.parametrize("empty", ["original", "released"])
def test_folders_without_rows_are_refused(
    empty: str, made: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> None:
    frames = dict(zip(("original", "released"), made, strict=True))
    frames[empty] = frames[empty].clear()
    for name, frame in frames.items():
        (tmp_path / name).mkdir()
        frame.write_parquet(tmp_path / name / "0.parquet")
    with pytest.raises(TableError, match=f"{empty} table has no rows"):
        covey.measure(tmp_path / "original", tmp_path / "released", SCHEMA)
