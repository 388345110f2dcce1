"""Releases that leak on purpose are found by the attacker meant for it; a fair one passes."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import covey
from command_line import Folder
from covey.attacks import Attack, Finding
from covey.attacks.findings import MEANINGS
from covey.errors import GuaranteeError, TableError, UsageError
from covey.tables import Table

ROWS = 240
SCHEMA = covey.Schema.of(
    quasi={"age": {"type": "numeric", "grid": 10}, "sex": "categorical"},
    insensitive=["room"],
    sensitive=["illness"],
)


def table(seed: int = 0) -> pl.DataFrame:
    """People whose columns have nothing to do with each other."""
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": random.integers(20, 80, ROWS),
            "sex": random.choice(["f", "m"], ROWS),
            "room": random.choice(["east", "west"], ROWS),
            "illness": random.choice(["a", "b"], ROWS),
        }
    )


def classes(people: pl.DataFrame, size: int, seed: int = 1) -> pl.DataFrame:
    """A release by ages: groups of this size, with exact ends, in a random order."""
    rows = people.sort("age").with_row_index("group").with_columns(pl.col("group") // size)
    low, high = (getattr(pl.col("age"), end)().over("group") for end in ("min", "max"))
    cells = pl.format("[{}, {}]", low, high).alias("age")
    return rows.with_columns(cells, pl.lit("*").alias("sex")).drop("group").sample(
        fraction=1, shuffle=True, seed=seed
    )  # fmt: skip


def attacked(released: Any, people: pl.DataFrame, k: int, **more: Any) -> Attack:
    schema = more.pop("schema", SCHEMA)
    return covey.attack(released, people, schema, k=k, **{"trials": 0, "register": False, **more})


def find(found: Attack, criterion: str, name: str, about: str | None = None) -> Finding:
    (one,) = (
        f
        for f in found.findings
        if (f.criterion, f.attacker.name, f.about) == (criterion, name, about)
    )
    return one


QUASI = "all quasi-identifiers"


def test_a_quasi_identifier_that_is_kept_as_it_is_singles_people_out() -> None:
    people = table()
    released = people.with_columns(pl.col("age").cast(pl.String))
    one = find(attacked(released, people, 5), "singling out", QUASI)
    equal = people.group_by("age", "sex").len()
    assert one.rate.rate == equal.filter(pl.col("len") < 5)["len"].sum() / ROWS > 0.5
    assert [each.kind for each in one.remedies] == ["k"]


def test_an_undeclared_column_that_is_nearly_unique_is_named() -> None:
    people = table().with_columns(pl.format("R{}", pl.int_range(ROWS)).alias("room"))
    found = attacked(classes(people, 20), people, 10)
    assert found.undeclared == ("room",)
    assert find(found, "singling out", "room").rate.rate == 1
    assert find(found, "singling out", QUASI).rate.rate == 0
    assert {r.text for r in found.remedies() if r.kind == "quasi"} == {
        "make room quasi, or confirm that no one outside knows it"
    }
    with pytest.raises(GuaranteeError, match="room"):
        found.raise_if_above(0.2)


def test_classes_with_one_sensitive_value_are_seen_through() -> None:
    people = table().with_columns((pl.col("age") < 50).cast(pl.String).alias("illness"))
    one = find(attacked(classes(people, 20), people, 10), "inference", QUASI, "illness")
    assert one.rate.rate > 0.9
    assert one.rate.low > 0.3
    assert [(each.kind, each.column) for each in one.remedies] == [("l", "illness")]


def test_columns_that_nobody_is_likely_to_know_are_named_if_they_single_people_out() -> None:
    income = pl.Series("income", [30_000.5 + i for i in range(ROWS)])
    people = table().with_columns(income).drop("room")
    schema = covey.Schema.of(quasi=SCHEMA.quasi, insensitive=["income"], sensitive=["illness"])
    found = attacked(classes(people, 20), people, 10, schema=schema)
    assert (found.undeclared, found.unlikely) == ((), ("income",))
    assert find(found, "inference", "income", "illness").remedies == ()  # l would not help
    assert found.to_dict()["unlikely"] == ["income"]
    assert "income" in found.to_html().partition("Who tried what")[0]


def test_only_columns_that_single_people_out_are_blamed() -> None:
    people = table().with_columns(pl.format("R{}", pl.int_range(ROWS)).alias("room"))
    people = people.with_columns(pl.Series("wing", ["e", "w"] * (ROWS // 2)))
    schema = covey.Schema.of(
        quasi=SCHEMA.quasi, insensitive=["room", "wing"], sensitive=["illness"]
    )
    found = attacked(classes(people, 60), people, 10, schema=schema)
    assert found.undeclared == ("room",)
    assert {r.column for r in found.remedies() if r.kind == "quasi"} == {"room"}


def test_another_original_is_no_success_of_the_release() -> None:
    people = table()
    released = classes(people, 20)
    assert attacked(released, people, 10).doubts == ()
    assert attacked(released.head(200), people, 10).doubts == ()  # the others are suppressed
    older, ill = people.with_columns(pl.col("age") + 200), people.with_columns(illness=pl.lit("b"))
    for other, said in ((older, "240 of 240 people"), (ill, "of illness are not in the original")):
        found = attacked(released, other, 10)
        (doubt,) = found.doubts
        assert said in doubt
        assert doubt in found.to_html()
        assert found.to_dict()["doubts"] == [doubt]
        with pytest.raises(GuaranteeError, match="cannot be relied on"):
            found.raise_if_above(1)


def test_what_is_not_tried_is_said_under_the_name_of_its_criterion() -> None:
    people = table().select("age", "sex")
    schema = covey.Schema.of(quasi=SCHEMA.quasi)
    found = attacked(classes(people, 20), people, 10, schema=schema)
    untried = {each["what"] for each in found.to_dict()["untried"]}
    assert {"inference", "membership", "refinement"} == untried.intersection(MEANINGS)


def test_what_means_nothing_is_refused() -> None:
    released, few = classes(table(), 20), table().select("age")
    for name, value, word in (
        ("k", 0, "k is"),
        ("k", None, "no k known"),
        ("trials", -1, "trials"),
        ("population", few, "'sex'"),
    ):
        given: dict[str, Any] = {"k": 5, name: value}
        with pytest.raises((UsageError, TableError), match=word):
            attacked(released, table(), **given)
    with pytest.raises(UsageError, match="share"):
        attacked(released, table(), 5).raise_if_above(10)


@pytest.mark.parametrize("is_narrow", [False, True])
def test_refinement_gains_only_if_true_values_are_spared(is_narrow: bool) -> None:
    """Half of the classes are wide; the others lie within, and take their people or anyone's."""
    random = np.random.default_rng(5)
    wide = random.random(ROWS) < 0.5
    ages = random.integers(40, 60, ROWS)
    edges = np.where(random.random(ROWS) < 0.5, 20, 79)
    people = table().with_columns(
        pl.Series("age", np.where(wide & is_narrow, edges, ages)),
        pl.format("{}", pl.int_range(ROWS)).alias("illness"),
    )
    cells = pl.Series("age", np.where(wide, "[20, 79]", "[40, 59]"))
    found = find(
        attacked(people.with_columns(cells, sex=pl.lit("*")), people, 5), "refinement", QUASI
    )
    truly = 1.0 if is_narrow else (~wide).mean()
    assert found.rate.rate == pytest.approx(truly)
    assert (found.rate.low > 0) == is_narrow


def test_exact_ends_are_found_and_a_grid_helps() -> None:
    people = table()
    plain = SCHEMA.model_copy(update={"columns": {**SCHEMA.columns, "age": covey.Column(
        role="quasi", type="numeric")}})  # fmt: skip
    tight = find(attacked(classes(people, 12), people, 10, schema=plain), "tightness", QUASI, "age")
    assert tight.rate.rate > 2 / 12 > tight.rate.chance - 0.5
    fair = covey.anonymize(people, SCHEMA, k=12, key=os.urandom(32), register=False)
    released = find(attacked(fair, people, 10), "tightness", QUASI, "age")
    assert released.rate.rate < 0.2
    assert not released.remedies


def test_the_order_of_the_input_links_everyone() -> None:
    people = table().sample(fraction=1, shuffle=True, seed=3)
    kept = people.with_row_index("row")
    released = classes(kept, 20).sort("row").drop("row")
    name = "the order of the rows"
    one = find(attacked(released, people, 10), "linkability", name)
    assert one.rate.rate == 1 > one.rate.chance + 0.5
    assert [each.kind for each in one.remedies] == ["order"]
    assert find(attacked(classes(people, 20), people, 10), "linkability", name).rate.gain < 0.1


def shown_as(expression: Callable[[], pl.Expr]) -> Callable[[Table], Table]:
    def make(people: Table) -> Table:
        cells = [expression(), pl.lit("*").alias("sex")]
        return Table(people.frame.with_columns(cells))

    return make


def test_a_release_that_depends_on_one_person_shows_who_is_in_it() -> None:
    people = table().with_columns(pl.Series("age", [*range(1000, 1000 + ROWS)]))
    released = classes(people, 20)
    exact, hidden = (shown_as(e) for e in (lambda: pl.col("age").cast(pl.String),
                                           lambda: pl.lit("*").alias("age")))  # fmt: skip
    for make, gain in ((exact, 1), (hidden, 0)):
        found = attacked(released, people, 10, make=make, trials=4)
        assert find(found, "membership", QUASI).rate.gain == gain
        assert find(found, "membership", f"{QUASI} of the most isolated people").rate.gain == gain


def test_what_is_true_of_all_people_is_no_gain_beside_a_control_group() -> None:
    people = table().with_columns((pl.col("age") < 50).cast(pl.String).alias("illness"))

    def make(some: Table) -> Table:
        return Table(classes(some.frame, 12))

    found = attacked(classes(people, 12), people, 10, control=0.3, make=make)
    one = find(found, "inference", QUASI, "illness")
    assert one.rate.rate > 0.9
    assert one.rate.chance > 0.8
    assert one.rate.people == round(0.7 * ROWS)
    assert find(found, "membership", QUASI).rate.gain < 0.2
    with pytest.raises(UsageError, match="share"):
        attacked(classes(people, 12), people, 10, control=1.0)


def test_without_knowing_who_is_in_the_table_links_are_rarer() -> None:
    people = table()
    found = attacked(classes(people, 12), people, 10, population=pl.concat([people, people]))
    one = find(found, "linkability", QUASI)
    assert one.unaware == pytest.approx(one.rate.rate / 2)
    assert find(attacked(classes(people, 12), people, 10), "linkability", QUASI).unaware is None


def test_the_register_knows_other_releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COVEY_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv("COVEY_REGISTER", str(tmp_path / "register"))
    people = table().with_columns(pl.format("N{}", pl.int_range(ROWS)).alias("name"))
    schema = covey.Schema.of(
        quasi={"age": {"type": "numeric"}, "sex": "categorical"},
        identifier=["name"], sensitive=["illness"], insensitive=["room"],
    )  # fmt: skip
    for name, some in (("one.csv", people), ("two.csv", people.head(200))):
        written = covey.anonymize(some, schema, k=5, to=tmp_path / name)
    composition = written.report.composition
    assert composition is not None
    found = covey.attack(tmp_path / "two.csv", people.head(200), schema, trials=0)
    one = find(found, "singling out", f"{QUASI}, with other releases")
    assert one.rate.rate == pytest.approx(composition.below_k)
    assert one.rate.rate > 0.3
    assert "1 other releases" in " ".join(found.data)


def test_a_fair_release_passes_and_its_record_has_no_cell() -> None:
    people = table().select(
        "age",
        pl.format("canary-{}", pl.col("illness")).alias("illness"),
        pl.format("canary-{}", pl.col("sex")).alias("sex"),
    )
    columns = {name: column for name, column in SCHEMA.columns.items() if name != "room"}
    schema = SCHEMA.model_copy(update={"columns": columns})
    fair = covey.anonymize(people, schema, k=30, key=os.urandom(32), register=False)
    found = covey.attack(fair, people, trials=1, register=False, population=people)
    assert found.k == 30
    assert found.above(0.15) == []
    assert not find(found, "singling out", QUASI).rate.rate
    assert find(found, "refinement", QUASI).rate.gain < 0.2
    text = found.to_json() + repr(found) + "".join(r.text for r in found.remedies())
    assert "canary" not in text
    assert {f.criterion for f in found.findings} == set(MEANINGS)


def test_large_tables_are_attacked_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("covey.attacks.matching.MOST_WORK", 1)
    monkeypatch.setattr("covey.attacks.matching._AT_FIRST", 50)
    people = table()
    found = attacked(classes(people, 20), people, 10)
    assert {one.rate.people for one in found.findings if one.criterion == "singling out"} == {50}


def test_the_command_names_the_attacker_and_keeps_the_record_private(folder: Folder) -> None:
    folder.anonymize("people.csv", "-k", 5, "--no-register")
    common = ("out.csv", "--original", "people.csv", "-s", "people.toml", "--trials", 0)
    ran = folder.covey("attack", *common, "-o", "attack.json", "--at-most", 0.01)
    assert ran.code == 1
    assert "by all quasi-identifiers" in ran.err
    assert "linkability" in ran.out
    path = folder.path / "attack.json"
    assert path.stat().st_mode & 0o077 == 0
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["release"]["sha256"]
    assert record["findings"][0]["gain"] > 0
    assert record["release"]["k"] == 5
    assert folder.covey("attack", *common, "--at-most", 1).code == 0
    assert folder.covey("attack", *common, "-o", "attack.txt").code == 2
