"""What holds for every release of any table: the invariants as properties."""

import base64
import datetime
import gzip
import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import covey
from covey import demo, tables
from covey.cli import main as cli
from covey.report import Rows
from covey.schema.requirements import KAnonymity
from covey.schema.taxonomy import ROOT
from examples import examples

TREE = {"any": {"warm": ["red", "orange"], "cold": {"sea": ["blue", "teal"], "leaf": ["green"]}}}
QUASI: dict[str, Any] = {
    "age": "numeric",
    "born": "date",
    "colour": {"type": "categorical", "taxonomy": TREE, "weight": 2.0},
    "town": "categorical",
}
SCHEMA = covey.Schema.of(
    quasi=QUASI, sensitive=["illness"], identifier=["name"], insensitive=["ward"]
)


@st.composite
def patients(draw: st.DrawFn, max_size: int = 14) -> pl.DataFrame:
    """A few people: many duplicates, some missing cells, nothing in the way of odd text."""
    text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=3)
    row = st.tuples(
        st.text("xyz", min_size=1, max_size=3),
        st.none() | st.integers(20, 26) | st.sampled_from([-3, 10**6]),
        st.none() | st.dates(min_value=datetime.date(2000, 1, 1)),
        st.none() | st.sampled_from(["red", "orange", "blue", "teal", "green"]),
        st.none() | st.sampled_from(["A", "B", "=C", "d,e", "[1, 2]", "*"]),
        text,
        st.none() | st.integers(0, 2),
    )
    rows = draw(st.lists(row, min_size=2, max_size=max_size))
    kinds = [pl.String, pl.Int64, pl.Date, pl.String, pl.String, pl.String, pl.Int64]
    names = ["name", "age", "born", "colour", "town", "illness", "ward"]
    return pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row")


KS = st.integers(2, 4)


def release_of(frame: Any, k: int, **settings: Any) -> covey.Release:
    return covey.anonymize(frame, SCHEMA, require=[KAnonymity(k)], **settings)


def given_groups(labels: list[int]) -> Callable[..., covey.Groups]:
    return lambda *_, **__: covey.Groups(labels)


def classes(frame: pl.DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(frame.select(list(QUASI)).iter_rows())


# Which values a released cell stands for, written apart from the code that writes them.
ABOVE: dict[str | None, set[str | None]] = {
    "red": {"red", "warm", "any"},
    "orange": {"orange", "warm", "any"},
    "blue": {"blue", "sea", "cold", "any"},
    "teal": {"teal", "sea", "cold", "any"},
    "green": {"green", "leaf", "cold", "any"},
    None: {None, "any"},
}


def within(value: Any, cell: str | None, read: Callable[[str], Any]) -> bool:
    if cell is None or value is None:
        return cell in (ROOT, None) and (cell is not None or value is None)
    if cell == ROOT:
        return True
    low, _, high = cell.strip("[]").partition(", ")
    return bool(read(low) <= value <= read(high or low))


def covers(column: str, value: Any, cell: str | None, towns: set[str | None]) -> bool:
    if column == "age":
        return within(value, cell, float)
    if column == "born":
        return within(value, cell, type(value).fromisoformat if value else str)
    if column == "colour":
        return cell in ABOVE[value]
    root = "**" if "*" in towns else "*"
    return cell in (value, root)


@given(patients(), KS)
def test_p1_to_p7_everyone_hides_among_k_and_nothing_else_changes(
    frame: pl.DataFrame, k: int
) -> None:
    assume(frame.height >= k)
    before = frame.clone()
    release = release_of(frame, k)
    out = release.table
    assert frame.equals(before)
    assert min(classes(out).values()) >= k  # P1
    assert out.height == frame.height  # P2
    assert release.report.rows.released == frame.height
    assert out.columns == [name for name in frame.columns if name != "name"]
    assert sorted(release.rows) == list(range(frame.height))
    towns = set(frame["town"].to_list())
    for there, here in enumerate(release.rows):  # P3
        for column in QUASI:
            assert covers(column, frame[column][int(here)], out[column][there], towns)
        for kept in ("illness", "ward"):  # P4, P5
            assert out[kept][there] == frame[kept][int(here)]
    keys = [tuple((cell is not None, cell) for cell in row) for row in _comparable(out)]
    assert keys == sorted(keys)  # P7: by what they show


@pytest.mark.slow
@given(patients(), KS, st.randoms(use_true_random=False))
@examples(50)
def test_p6_any_permutation_of_the_rows_gives_the_same_bytes(
    frame: pl.DataFrame, k: int, random: Any
) -> None:
    assume(frame.height >= k)
    order = list(range(frame.height))
    random.shuffle(order)
    one, other = release_of(frame, k), release_of(frame[order], k)
    assert one.table.equals(other.table)
    assert one.report.losses == other.report.losses


def _comparable(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    encoded = frame.with_columns(pl.col(pl.String).cast(pl.Binary))
    return encoded.rows()


@pytest.mark.slow
@given(patients(), KS, st.permutations(list(SCHEMA.columns)))
@examples(50)
def test_p9_permuting_columns_permutes_the_release(
    frame: pl.DataFrame, k: int, order: list[str]
) -> None:
    assume(frame.height >= k)
    one = release_of(frame, k, keep_order=True)
    shuffled = covey.Schema(columns={name: SCHEMA.columns[name] for name in order})
    other = covey.anonymize(frame.select(order), shuffled, require=[KAnonymity(k)], keep_order=True)
    assert one.groups.labels.tolist() == other.groups.labels.tolist()
    assert one.table.select(sorted(one.table.columns)).equals(
        other.table.select(sorted(other.table.columns))
    )


@pytest.mark.slow
@given(patients(), KS)
@examples(50)
def test_p9_new_names_in_the_same_order_change_the_header_alone(
    frame: pl.DataFrame, k: int
) -> None:
    assume(frame.height >= k)
    renamed = {name: f"{name}_" for name in frame.columns}
    schema = covey.Schema(columns={renamed[n]: c for n, c in SCHEMA.columns.items()})
    other = covey.anonymize(frame.rename(renamed), schema, require=[KAnonymity(k)])
    one = release_of(frame, k).table
    assert one.rename({n: renamed[n] for n in one.columns}).equals(other.table)


@given(patients(), KS)
@examples(50)
def test_p12_reported_losses_are_those_of_the_released_cells(frame: pl.DataFrame, k: int) -> None:
    assume(frame.height >= k)
    release = release_of(frame, k)
    again = covey.measure(frame, release.table, SCHEMA, k=k)
    assert again == release.report.losses
    formed = covey.measure(frame, release.groups, SCHEMA, k=k)
    assert formed == again
    assert formed.information == release.report.losses.information
    for column in again.columns:
        assert column.lm is not None
        assert 0 <= column.il <= 1
        assert 0 <= column.lm <= 1


@given(patients(max_size=2).map(lambda frame: frame[:1]), st.integers(2, 9), st.data())
@examples(50)
def test_p13_equal_rows_lose_nothing(frame: pl.DataFrame, copies: int, data: st.DataObject) -> None:
    many = pl.concat([frame] * copies)
    release = release_of(many, data.draw(st.integers(2, copies)))
    assert release.report.losses.total_il == 0
    assert release.verdict.classes == 1


@given(patients())
@examples(50)
def test_p13_k_of_all_rows_makes_one_class_and_one_more_is_refused(frame: pl.DataFrame) -> None:
    assert release_of(frame, frame.height).verdict.classes == 1
    with pytest.raises(covey.InfeasibleError):
        release_of(frame, frame.height + 1)


@pytest.mark.slow
@given(patients(), KS)
@examples(50)
def test_p16_a_release_of_classes_of_k_is_released_as_it_is(frame: pl.DataFrame, k: int) -> None:
    """k-member fills groups of exactly k, so larger classes may be parted; these cannot be."""
    assume(frame.height >= k)
    once = release_of(frame, k).table
    sizes = once.select(pl.len().over(list(QUASI)).alias("size"))["size"]
    exact = once.filter(sizes == k)
    assume(exact.height)
    flat = covey.Schema.of(
        quasi=dict.fromkeys(QUASI, "categorical"), sensitive=["illness"], insensitive=["ward"]
    )
    assert covey.anonymize(exact, flat, require=[KAnonymity(k)]).table.equals(exact)


@pytest.mark.slow
@given(patients(), KS)
@examples(50)
def test_both_styles_show_the_same_groups(frame: pl.DataFrame, k: int) -> None:
    assume(frame.height >= k)
    plain = release_of(frame, k)
    styled = release_of(frame, k, style=covey.Style(categories="values", intervals="columns"))
    assert plain.groups.labels.tolist() == styled.groups.labels.tolist()
    assert {"age_low", "age_high", "born_low", "born_high"} < set(styled.table.columns)
    assert styled.table["born_low"].dtype == pl.Date
    assert covey.verify(styled.table, SCHEMA, [KAnonymity(k)]).holds


@pytest.mark.slow
@given(patients(), KS, st.sampled_from(["csv", "csv.gz", "parquet"]))
@examples(50)
def test_what_is_written_verifies_and_says_the_same(
    tmp_path: Path, frame: pl.DataFrame, k: int, suffix: str
) -> None:
    assume(frame.height >= k)
    release = release_of(frame, k)
    path = tmp_path / f"released.{suffix}"
    report = release.write(path, defuse=False, description=False)
    assert covey.verify(path, SCHEMA, [KAnonymity(k)]).holds
    again = covey.measure(frame, path, SCHEMA, k=k)
    assert again.total_il == pytest.approx(release.report.losses.total_il, rel=1e-9)
    assert report.output is not None
    assert report.output.bytes == path.stat().st_size
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    path.unlink()


# ── dataframes of every kind ────────────────────────────────────────────────────────────────────


def test_the_release_is_of_the_callers_kind_and_the_same_in_all() -> None:
    people, schema = demo.people(60), demo.schema()
    kinds = {"polars": people, "pandas": people.to_pandas(), "pyarrow": people.to_arrow()}
    released = {
        kind: covey.anonymize(frame, schema, require=[KAnonymity(3)], seed=1).table
        for kind, frame in kinds.items()
    }
    assert isinstance(released["pandas"], pd.DataFrame)
    assert list(released["pandas"].index) == list(range(60))
    assert type(released["pyarrow"]).__module__.startswith("pyarrow")
    quasi = list(schema.quasi)
    cells = released["polars"].select(quasi).rows()
    assert pl.from_pandas(released["pandas"]).select(quasi).rows() == cells
    assert pl.DataFrame(released["pyarrow"]).select(quasi).rows() == cells


def test_every_row_and_column_is_accounted_for_where_cells_are_missing() -> None:
    """anonypy loses rows with a missing age, and columns that it was not told about."""
    frame = pl.DataFrame({"age": [1, 2, None, None, 3, 4], "note": list("abcdef")})
    schema = covey.Schema.of(quasi={"age": "numeric"}, insensitive=["note"])
    release = covey.anonymize(frame, schema, require=[KAnonymity(2)])
    assert sorted(release.table["note"]) == list("abcdef")
    assert release.table.columns == ["age", "note"]


def test_dropped_rows_are_counted_and_labelled() -> None:
    frame = pl.DataFrame({"age": [1, 2, None, 3, 4]})
    schema = covey.Schema.of(quasi={"age": {"type": "numeric", "missing": "drop-row"}})
    release = covey.anonymize(frame, schema, require=[KAnonymity(2)])
    assert release.report.rows == Rows(read=5, dropped=1, suppressed=0, released=4)
    assert release.groups.labels[2] == -1
    assert covey.measure(frame, release.table, schema, k=2) == release.report.losses
    assert covey.measure(frame, release.groups, schema, k=2) == release.report.losses
    assert covey.cluster(frame, schema, k=2).labels[2] == -1


@pytest.mark.parametrize(
    ("method", "options"), [("covey", {"max_suppressed": 0.1}), ("nh", {}), ("mondrian", {})]
)
def test_groups_lose_what_their_release_loses(method: str, options: dict[str, Any]) -> None:
    people, schema = demo.people(300), demo.schema()
    # Six are like no one else in anything: in a group of 20, they would cost 14 others all they
    # show, so that suppressing them pays.
    alone = pl.int_range(300) < 6
    people = people.with_columns(
        pl.when(alone).then(pl.lit("99999")).otherwise("zip").alias("zip"),
        pl.when(alone).then(pl.lit(119)).otherwise("age").alias("age"),
        pl.when(alone)
        .then(pl.lit("Egypt"))
        .otherwise("country_of_birth")
        .alias("country_of_birth"),
    )
    release = covey.anonymize(
        people, schema, require=[KAnonymity(20)], method=method, class_column="diagnosis", **options
    )
    losses = covey.measure(people, release.groups, schema, k=20, class_column="diagnosis")
    assert losses == release.report.losses
    assert bool(losses.suppressed) == bool(options)
    asked = covey.measure(people, release.groups, schema, k=20, queries=10).queries
    assert asked is not None
    assert asked.queries == 10


def test_groups_of_another_table_are_refused() -> None:
    frame = pl.DataFrame({"age": [1, 2, None, 3, 4]})
    schema = covey.Schema.of(quasi={"age": {"type": "numeric", "missing": "drop-row"}})
    for labels in ([0, 0, -1, 1], [0, 0, 0, 1, 1], [-1] * 5):
        with pytest.raises(covey.UsageError, match="5 rows"):
            covey.measure(frame, covey.Groups(labels), schema)


def test_clustering_tells_its_stages() -> None:
    told: list[str] = []

    def tell(stage: str, done: float) -> None:
        told.append(stage)

    frame = pl.DataFrame({"age": [1, 2, 3, 4]})
    covey.cluster(frame, covey.Schema.of(quasi={"age": "numeric"}), k=2, progress=tell)
    stages = list(dict.fromkeys(stage.partition(",")[0] for stage in told))
    assert stages == ["reading", "encoding", "clustering"]


def test_the_policy_error_refuses_missing_cells() -> None:
    schema = covey.Schema.of(quasi={"age": {"type": "numeric", "missing": "error"}})
    with pytest.raises(covey.TableError, match="'age': 1 row with a missing cell"):
        covey.anonymize(pl.DataFrame({"age": [1, None, 2]}), schema, require=[KAnonymity(2)])


# ── the request ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("k", [1, 0, -3, True, 2.0])
def test_k_below_two_or_not_whole_is_refused(k: Any) -> None:
    frame = pl.DataFrame({"age": [1, 2, 3]})
    with pytest.raises(covey.SchemaError, match="k must be"):
        covey.cluster(frame, covey.Schema.of(quasi={"age": "numeric"}), k=k)


def test_what_does_not_make_sense_is_refused() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "job": ["a", "b", "c"]})
    schema = covey.Schema.of(quasi={"age": "numeric"}, sensitive=["job"])
    asked = {"require": [KAnonymity(2)]}
    for match, settings in {
        "there is no method 'nope'": {"method": "nope"},
        "no option 'nope'": {"nope": 1},
        "'seed_ref' must be one of last": {
            "method": "k-member",
            "seed_ref": "nope",
        },
        "'effort' must be one of fast, quick": {"effort": "nope"},
        "'penalty' must be a number 0 or more": {"penalty": -1.0},
        "class column 'age'": {"class_column": "age"},
        "class column 'nope'": {"class_column": "nope"},
        "seed .*0 or more": {"seed": -1},
    }.items():
        with pytest.raises(covey.UsageError, match=match):
            covey.anonymize(frame, schema, **asked, **settings)  # type: ignore[arg-type]
    with pytest.raises(covey.SchemaError, match="no k given"):
        covey.anonymize(frame, schema)
    with pytest.raises(covey.SchemaError, match="without a role: 'job'"):
        covey.anonymize(frame, covey.Schema.of(quasi={"age": "numeric"}), **asked)  # type: ignore[arg-type]
    with pytest.raises(covey.SchemaError, match="no quasi-identifier"):
        covey.anonymize(frame, covey.Schema.of(quasi={}, sensitive=["age", "job"]), **asked)  # type: ignore[arg-type]
    with pytest.raises(covey.UsageError, match="no rows"):
        covey.anonymize(frame[:0], schema, **asked)  # type: ignore[arg-type]


def test_a_method_that_forms_small_groups_is_caught() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4]})
    schema = covey.Schema.of(quasi={"age": "numeric"})
    for labels, fact in (
        ([0, 0, 0, 1], "only 1 row, but k = 2"),
        ([0, 0, 2, 2], "only 0 rows, but k = 2"),
        ([0, 0], "2 rows, but the table has 4"),
    ):
        with pytest.raises(covey.GuaranteeError, match=fact):
            covey.anonymize(frame, schema, require=[KAnonymity(2)], method=given_groups(labels))


def test_a_method_may_suppress_rows_and_they_count_as_lost() -> None:
    frame = pl.DataFrame({"age": [1, 1, 9], "job": ["a", "b", "c"]})
    schema = covey.Schema.of(quasi={"age": "numeric"}, sensitive=["job"])
    release = covey.anonymize(
        frame,
        schema,
        require=[KAnonymity(2)],
        method=given_groups([0, 0, -1]),
        seed=0,
    )
    assert release.report.rows.suppressed == 1
    assert release.table.height == 2
    assert release.report.losses.discernibility == 4 + 3


def test_costs_tell_what_each_row_of_the_input_paid() -> None:
    """Two that are alike, two that are not, one suppressed, one dropped."""
    frame = pl.DataFrame({"age": [1, None, 1, 9, 3, 11], "row": [*"xyxyzx"]})
    schema = covey.Schema.of(
        quasi={
            "age": {"type": "numeric", "missing": "drop-row", "weight": 2.0},
            "row": "categorical",
        }
    )

    def by_age(table: Any, k: int, *, seed: int, progress: Any) -> covey.Groups:
        ages = table.intervals[0].values
        return covey.Groups(np.select([ages == 1, ages > 8], [0, 1], -1))

    release = covey.anonymize(frame, schema, require=[KAnonymity(2)], method=by_age)
    assert release.costs.to_dicts() == [
        {"row": 0, "group": 0, "loss": 0.0, "loss_age": 0.0, "loss_row": 0.0},
        {"row": 1, "group": None, "loss": None, "loss_age": None, "loss_row": None},
        {"row": 2, "group": 0, "loss": 0.0, "loss_age": 0.0, "loss_row": 0.0},
        {"row": 3, "group": 1, "loss": 1.4, "loss_age": 0.4, "loss_row": 1.0},
        {"row": 4, "group": -1, "loss": 3.0, "loss_age": 2.0, "loss_row": 1.0},
        {"row": 5, "group": 1, "loss": 1.4, "loss_age": 0.4, "loss_row": 1.0},
    ]


@pytest.mark.slow
@given(patients(), KS, st.sampled_from(["k-member", "nh"]), st.randoms(use_true_random=False))
@examples(50)
def test_costs_sum_up_to_the_report_whatever_the_order(
    frame: pl.DataFrame, k: int, method: str, random: Any
) -> None:
    assume(frame.height >= k)
    release = release_of(frame, k, method=method, style=covey.Style())
    costs, losses = release.costs, release.report.losses
    assert costs["row"].to_list() == list(range(frame.height))
    assert costs["group"].to_list() == release.groups.labels.tolist()
    assert costs["loss"].sum() == pytest.approx(losses.total_il)
    for column in losses.columns:
        paid = costs[f"loss_{column.name}"].sum()
        assert paid == pytest.approx(column.weight * column.il * frame.height)
        assert paid == pytest.approx(column.share * losses.total_il)
    dearest = costs["loss"].sort(descending=True)
    for worst in losses.worst:
        assert worst.loss == pytest.approx(dearest.head(worst.rows).sum())
    order = list(range(frame.height))
    random.shuffle(order)
    again = release_of(frame[order], k, method=method).costs["loss"].sort()
    assert again.to_list() == pytest.approx(costs["loss"].sort().to_list())


def test_the_class_penalty_keeps_classes_apart() -> None:
    frame = demo.people(300)
    schema = demo.schema()
    mixed, apart = (
        covey.anonymize(
            frame, schema, require=[KAnonymity(5)], class_column="diagnosis", penalty=penalty
        ).report.losses
        for penalty in (0.0, 5.0)
    )
    assert apart.classification is not None
    assert mixed.classification is not None
    assert apart.classification < mixed.classification


def test_a_tree_of_many_values_costs_no_more_than_it_must() -> None:
    """Every value its own: prices are kept for the few leaves that matter, and still exact."""
    frame = pl.DataFrame({"code": [f"{i:05}" for i in range(3000)]})
    schema = covey.Schema.of(
        quasi={"code": {"type": "categorical", "taxonomy": {"build": "prefixes"}}}
    )
    release = covey.anonymize(frame, schema, require=KAnonymity(10), seed=0)
    assert release.report.losses.total_il == pytest.approx(
        3000 / 5
    )  # all in tens that share 4 digits


# ── no leaks ────────────────────────────────────────────────────────────────────────────────────


def test_the_order_of_the_input_can_be_kept_and_the_report_says_so() -> None:
    frame = demo.people(40)
    kept = covey.anonymize(frame, demo.schema(), require=[KAnonymity(3)], keep_order=True)
    assert kept.table["diagnosis"].to_list() == frame["diagnosis"].to_list()
    assert any("input's order" in warning for warning in kept.report.warnings)
    default = covey.anonymize(frame, demo.schema(), require=[KAnonymity(3)])
    assert not any("input's order" in warning for warning in default.report.warnings)


def test_rows_with_equal_quasi_identifiers_are_not_grouped_by_their_sensitive_value() -> None:
    """Sorting alone would put the first ten of these together, all with one illness."""
    frame = pl.DataFrame({"age": [30] * 40, "illness": ["flu"] * 20 + ["gout"] * 20})
    schema = covey.Schema.of(quasi={"age": "numeric"}, sensitive=["illness"])
    release = covey.anonymize(frame, schema, require=[KAnonymity(10)])
    illness = np.array(frame["illness"].to_list())
    for group in range(release.groups.count):
        assert len(set(illness[release.groups.labels == group])) == 2


CANARIES = {
    "identifier": "ZQidentifier7731",
    "dropped": "ZQdroppedcell812",
    "generalised": "ZQgeneralised55",
    "leaf": "ZQunusedleaf0042",
    "file": "ZQfilename99812x",
}


def disguises(canary: str) -> list[bytes]:
    plain = canary.encode()
    inner = base64.b64encode(plain)[4:-4]  # whatever stands before and behind it
    return [plain, canary.encode("utf-16-le"), canary.encode("utf-16-be"), inner, plain[::-1]]


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
def test_p19_no_canary_leaves_by_any_door(
    tmp_path: Path, suffix: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    table = pl.DataFrame(
        {
            "name": [CANARIES["identifier"], *"abcdefg"],
            "age": [CANARIES["dropped"], "1", "2", "3", "4", "5", "6", "?"],
            "town": [CANARIES["dropped"], CANARIES["generalised"], *"UVWXYZ"],
            "job": list("jjkkjjkk"),
        }
    )
    source = tmp_path / f"{CANARIES['file']}.csv"
    table[1:].write_csv(source)
    tree = [CANARIES["generalised"], *"UVWXYZ", CANARIES["leaf"]]
    schema = tmp_path / "schema.toml"
    schema.write_text(
        '[columns.name]\nrole = "identifier"\n'
        '[columns.age]\nrole = "quasi"\ntype = "numeric"\nmissing = "drop-row"\n'
        f'[columns.town]\nrole = "quasi"\ntype = "categorical"\ntaxonomy = {{ any = {tree} }}\n'
        '[columns.job]\nrole = "sensitive"\n'
    )
    out, report = tmp_path / f"out.{suffix}", tmp_path / "report.json"
    words = ["anonymize", source, "-s", schema, "-k", "6", "-o", out, "--report", report]
    arguments = [*map(str, words)]
    code = cli.run(arguments)
    said = capfdbinary.readouterr()
    assert code == 0, said.err
    released = out.read_bytes()
    inflated = gzip.decompress(released) if suffix.endswith("gz") else released
    if suffix == "parquet":
        inflated = pl.read_parquet(out).write_csv().encode()
    for data in (released, inflated, report.read_bytes(), *said):
        for canary in CANARIES.values():
            for disguise in disguises(canary):
                assert disguise not in data
    # The same cells in a column that is not a number: an error, and still no canary.
    table.write_csv(source)
    assert cli.run(arguments) == 2
    said = capfdbinary.readouterr()
    assert b"'age': 1 row" in said.err
    # The file is named, without its folders: who corrects the cell must find it.
    assert f"{source.name}: column 'age'".encode() in said.err
    assert str(tmp_path).encode() not in said.err
    for kind, canary in CANARIES.items():
        assert kind == "file" or canary.encode() not in said.err + said.out


@pytest.mark.parametrize("kind", ["csv", "parquet", "polars", "pandas", "pyarrow"])
def test_the_table_in_memory_holds_no_value_of_a_row_left_out(tmp_path: Path, kind: str) -> None:
    """Strings of dataframes are views of buffers that may hold more than the frame shows."""
    canary = "Zq7canary19xK402 in a row that is dropped"
    frame = pl.DataFrame(
        {"age": ["1", "2", "", "3", "4"], "note": ["a longer text than fits in a view"] * 5}
    ).with_columns(note=pl.when(pl.col("age") == "").then(pl.lit(canary)).otherwise("note"))
    frame.write_csv(tmp_path / "in.csv")
    frame.write_parquet(tmp_path / "in.parquet")
    sources: dict[str, Any] = {
        "csv": tmp_path / "in.csv",
        "parquet": tmp_path / "in.parquet",
        "polars": frame,
        "pandas": frame.to_pandas(),
        "pyarrow": frame.to_arrow(),
    }
    schema = covey.Schema.of(
        quasi={"age": {"type": "numeric", "missing": "drop-row"}}, sensitive=["note"]
    )
    release = covey.anonymize(sources[kind], schema, require=[KAnonymity(2)])
    assert len(release.table) == 4
    assert canary.encode() not in pickle.dumps(release.table)


@pytest.mark.slow
def test_p8_the_bytes_depend_on_nothing_around_them(tmp_path: Path) -> None:
    table, schema = demo.write(tmp_path, 300)
    seen = set()
    for number, around in enumerate(
        (
            {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C", "POLARS_MAX_THREADS": "1"},
            {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"},
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        out, report = folder / f"out{number}.csv", folder / "report.json"
        command = ["anonymize", table, "-s", schema, "-k", "7", "-o", out, "--report", report]
        subprocess.run(
            [sys.executable, "-m", "covey", *map(str, command)],
            env=os.environ | around,
            check=True,
            capture_output=True,
        )
        told = json.loads(report.read_text())
        del told["seconds"]
        seen.add((out.read_bytes(), json.dumps(told, sort_keys=True)))
    assert len(seen) == 1


def test_the_same_request_gives_the_same_release_and_a_seed_changes_it() -> None:
    frame, schema = demo.people(200), demo.schema()

    def labels(**settings: Any) -> list[int]:
        release = covey.anonymize(frame, schema, require=[KAnonymity(5)], **settings)
        return release.groups.labels.tolist()  # type: ignore[no-any-return]

    assert labels() == labels()
    assert labels(seed=1) == labels(seed=1)
    assert labels(seed=1) != labels(seed=2)


# ── never unverified ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("ending", "times"), [("csv", 1), ("parquet", 0)])
def test_a_release_that_does_not_verify_is_never_written(
    ending: str, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes are judged, unless they show cell by cell what was judged before."""
    release = covey.anonymize(demo.people(50), demo.schema(), require=[KAnonymity(3)])
    kept, judged = release._kept, Counter[str]()
    assert kept is not None

    def judge(table: Any) -> Any:
        judged["times"] += 1
        return kept.judge(table)

    counted = replace(release, _kept=replace(kept, judge=judge))
    counted.write(tmp_path / f"whole.{ending}", register=False)
    assert judged["times"] == times
    for path in tmp_path.iterdir():
        path.unlink()
    out, report = tmp_path / f"out.{ending}", tmp_path / "report.json"
    out.write_text("old")
    whole = tables.write

    def lose_a_row(table: Any, *args: Any, **settings: Any) -> None:
        whole(table.with_frame(table.frame[:-1]), *args, **settings)

    def change_a_cell(table: Any, *args: Any, **settings: Any) -> None:
        sexes = ["?", *table.frame["sex"].to_list()[1:]]
        whole(table.with_frame(table.frame.with_columns(sex=pl.Series(sexes))), *args, **settings)

    for fault in (lose_a_row, change_a_cell):
        monkeypatch.setattr(tables, "write", fault)
        with pytest.raises((covey.ViolationError, covey.OutputError)):
            release.write(out, report=report)
        assert out.read_text() == "old"
        assert [path.name for path in tmp_path.iterdir()] == [out.name]


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("mondrian", {"relaxed": "no"}, "'relaxed' must be true or false"),
        ("mondrian", {"relaxed": 1}, "'relaxed' must be true or false"),
        ("cb", {"tries": True}, "'tries' must be a whole number"),
        ("cb", {"l": 2.5}, "'l' must be a whole number"),
        ("cb", {"categorical": "set"}, "'categorical' must be one of tree, ordered"),
        ("kaca", {"beta": "steep"}, "'beta' must be a number"),
        ("k-member", {"relaxed": True}, "no option 'relaxed'"),
        ("k-menber", {}, "no method 'k-menber'"),
    ],
)
def test_a_wrong_request_is_refused_before_the_table_is_read(
    method: str, options: dict[str, Any], message: str
) -> None:
    for way in (
        lambda: covey.anonymize(
            "absent.csv", demo.schema(), require=KAnonymity(3), method=method, **options
        ),
        lambda: covey.cluster("absent.csv", demo.schema(), k=3, method=method, **options),
    ):
        with pytest.raises(covey.UsageError, match=message):
            way()


def test_a_release_warns_of_groups_that_depend_on_sensitive_columns() -> None:
    people = demo.people(200)
    asked: list[dict[str, Any]] = [
        {"method": "cb", "l": 2, "sensitive": "diagnosis"},
        {"class_column": "diagnosis"},
        {},
    ]
    told = [
        [
            warning
            for warning in covey.anonymize(
                people, demo.schema(), require=KAnonymity(3), **options
            ).report.warnings
            if "group" in warning.lower() and "diagnosis" in warning
        ]
        for options in asked
    ]
    assert [len(warnings) for warnings in told] == [1, 1, 0]
    assert "diagnosis" in told[0][0]
    assert "'diagnosis'" in told[1][0]


@pytest.mark.parametrize("sensitive", [None, "diagnosis"])
def test_the_l_of_cb_is_verified(sensitive: str | None) -> None:
    people = demo.people(200).select(["age", "sex", "diagnosis"])
    schema = covey.Schema.of(
        quasi={"age": "numeric", "sex": "categorical"}, sensitive=["diagnosis"]
    )
    wanted = covey.LDiversity(3, "diagnosis", "frequency")

    def release(*more: covey.LDiversity) -> Any:
        return covey.anonymize(
            people, schema, require=[KAnonymity(4), *more], method="cb", l=3, sensitive=sensitive
        )

    done = release()
    assert [check.name for check in done.verdict.checks] == ["k-anonymity", wanted.name]
    assert done.verdict.holds
    assert done.report.configuration["require"]["besides"] == [wanted.name]
    assert covey.verify(done.table, schema, wanted).holds
    assert len(release(wanted).verdict.checks) == 2  # not twice
    labels = covey.cluster(people, schema, k=4, method="cb", l=3).labels
    assert covey.Groups(labels).count > 1


def test_the_l_of_cb_names_its_column_if_there_are_several() -> None:
    schema = demo.schema()
    with pytest.raises(covey.UsageError, match="name one of"):
        covey.anonymize(demo.people(60), schema, require=KAnonymity(3), method="cb", l=2)
