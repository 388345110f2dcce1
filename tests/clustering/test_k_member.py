"""Greedy k-member compared with its oracle, label by label."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxes import boxes_of_single_rows, few_bits, samples
from covey.clustering import METHODS, Method, method_named
from covey.encoding import EncodedTable, encode
from covey.errors import InfeasibleError, UsageError
from covey.reference.k_member import SeedRef, k_member
from covey.schema import Schema
from covey.tables import Table
from examples import examples
from oracles.metrics import total_il
from oracles.optimum import optimum
from tables_of_people import People, people

cluster = METHODS["k-member"]

SEED_REFS: tuple[SeedRef, ...] = ("last", "seed", "first", "random")
seeds = st.integers(0, 2**64)


def by_oracle(table: People, k: int, seed: int, *, classes: bool, **options: Any) -> list[int]:
    """The labels of the slow twin, which draws from the same generator."""
    return k_member(
        table.oracle,
        k,
        rng=np.random.default_rng(seed),
        classes=table.classes if classes else None,
        measure=table.schema.loss,
        **options,
    )


def check_labels(table: People, k: int, seed: int, *, classes: bool, **options: Any) -> None:
    groups = cluster(table.encoded(classes=classes), k, seed=seed, **options)
    assert groups.labels.tolist() == by_oracle(table, k, seed, classes=classes, **options)


def check_any_labels(table: People, data: st.DataObject) -> None:
    check_labels(
        table,
        k=data.draw(st.integers(1, table.rows), "k"),
        seed=data.draw(seeds, "seed"),
        classes=data.draw(st.booleans(), "classes"),
        seed_ref=data.draw(st.sampled_from(SEED_REFS)),
        penalty=data.draw(st.sampled_from([0.0, 0.1, 1.0, 20.0, 1e6])),
        penalise_leftovers=data.draw(st.booleans()),
    )


@given(people(most=16), st.data())
@examples(400)
def test_labels_are_those_of_the_oracle(table: People, data: st.DataObject) -> None:
    check_any_labels(table, data)


@given(people(least=17, most=40, columns=3), st.data())
@examples(150)
def test_labels_of_more_rows_than_a_box_holds_are_those_of_the_oracle(
    table: People, data: st.DataObject
) -> None:
    check_any_labels(table, data)


@given(people(least=8, most=20, columns=2), st.data())
@examples(300)
def test_penalised_leftovers_are_those_of_the_oracle(table: People, data: st.DataObject) -> None:
    """Several of them, so that one may change the majority that the next one meets."""
    sizes = [k for k in range(3, table.rows // 2 + 1) if table.rows % k > 1]
    check_labels(
        table,
        k=data.draw(st.sampled_from(sizes or [3]), "k"),
        seed=data.draw(seeds, "seed"),
        classes=True,
        penalty=data.draw(st.sampled_from([0.05, 0.2, 0.5, 1.0, 1.5, 2.0])),
        penalise_leftovers=True,
    )


@given(people(most=16), few_bits, samples, st.data())
@examples(300)
def test_labels_do_not_depend_on_the_boxes(
    table: People, bits: int, sample: int, data: st.DataObject
) -> None:
    """Boxes of single rows, and taxonomies whose leaves share bits."""
    with boxes_of_single_rows(bits=bits, sample=sample):
        check_any_labels(table, data)


# ── what must hold of any labels ────────────────────────────────────────────────────────────────


@given(people(most=40), st.data())
@examples(150)
def test_groups_have_k_to_2k_minus_1_rows(table: People, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, table.rows), "k")
    seed_ref = data.draw(st.sampled_from(SEED_REFS))
    classes = data.draw(st.booleans())
    groups = cluster(
        table.encoded(classes=classes), k, seed=data.draw(seeds, "seed"), seed_ref=seed_ref
    )
    assert len(groups) == table.rows
    assert groups.count == table.rows // k
    assert groups.suppressed == 0
    assert all(k <= size <= 2 * k - 1 for size in groups.sizes)


@given(people(least=2, most=30), st.data())
@examples(40)
def test_fewer_than_2k_rows_are_one_group(table: People, data: st.DataObject) -> None:
    k = data.draw(st.integers(table.rows // 2 + 1, table.rows), "k")
    groups = cluster(table.encoded(), k, seed=data.draw(seeds, "seed"))
    assert groups.labels.tolist() == [0] * table.rows


@given(people())
@examples(40)
def test_k_equal_to_the_rows_is_one_group_and_k_1_is_nobody_hidden(table: People) -> None:
    assert cluster(table.encoded(), table.rows).count == 1
    assert sorted(cluster(table.encoded(), 1).labels) == list(range(table.rows))


@given(people(least=2, most=10), st.data())
@examples(60)
def test_the_loss_is_never_below_the_optimum(table: People, data: st.DataObject) -> None:
    k = data.draw(st.integers(2, table.rows), "k")
    measure = table.schema.loss
    seed_ref = data.draw(st.sampled_from(SEED_REFS))
    labels = cluster(table.encoded(), k, seed=data.draw(seeds, "seed"), seed_ref=seed_ref).labels
    best, _ = optimum(table.oracle, k, measure)
    assert total_il(table.oracle, labels.tolist(), measure) >= best - 1e-9 * max(best, 1)


@given(people(most=20), st.data())
@examples(60)
def test_the_order_of_columns_does_not_matter(table: People, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, table.rows), "k")
    order = data.draw(st.permutations(table.frame.columns))
    columns = {name: table.schema.columns[name] for name in data.draw(st.permutations(order))}
    turned = encode(
        Table(table.frame.select(order)), table.schema.model_copy(update={"columns": columns})
    )
    expected = cluster(table.encoded(), k, seed=7).labels.tolist()
    assert cluster(turned, k, seed=7).labels.tolist() == expected


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30), st.integers(-3, 9), st.data())
@examples(60)
def test_scale_and_origin_of_numbers_do_not_matter(
    values: list[int], power: int, data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(values)), "k")
    moved = [2.0**power * value + data.draw(st.just(1024.0)) for value in values]
    assert labels_of({"x": moved}, k) == labels_of({"x": values}, k)


@given(people(most=20), st.data())
@examples(40)
def test_the_same_seed_gives_the_same_labels_and_leaves_the_table_alone(
    table: People, data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, table.rows), "k")
    encoded = table.encoded(classes=True)
    arrays = [np.asarray(a) for a in (*encoded.cells, *encoded.forest, encoded.classes)]
    before = [array.copy() for array in arrays]
    first = cluster(encoded, k, seed=3)
    assert cluster(encoded, k, seed=3).labels.tolist() == first.labels.tolist()
    assert all(np.array_equal(a, b) for a, b in zip(before, arrays, strict=True))


# ── by hand ─────────────────────────────────────────────────────────────────────────────────────


def encoded_numbers(columns: dict[str, Any]) -> EncodedTable:
    return encode(Table(pl.DataFrame(columns)), Schema.of(quasi=dict.fromkeys(columns, "numeric")))


def labels_of(columns: dict[str, Any], k: int, **options: Any) -> list[int]:
    return [int(label) for label in cluster(encoded_numbers(columns), k, **options).labels]


@pytest.mark.parametrize("seed", range(5))
def test_the_posters_table(seed: int) -> None:
    table = {"age": [78, 75, 34, 29], "zip": [47803, 47567, 56763, 56789]}
    assert labels_of(table, 2, seed=seed) in ([0, 0, 1, 1], [1, 1, 0, 0])


def test_equal_rows_are_taken_in_their_order() -> None:
    assert labels_of({"x": [5] * 7}, 2, seed=1)[:6] == [0, 0, 1, 1, 2, 2]


# ── refusals ────────────────────────────────────────────────────────────────────────────────────


def test_an_unknown_reference_for_seeds_is_refused() -> None:
    with pytest.raises(UsageError, match="last, seed, first, random"):
        labels_of({"x": [1, 2, 3]}, 2, seed_ref="furthest")


@pytest.mark.parametrize("penalty", [-1.0, float("nan"), float("inf")])
def test_a_penalty_that_cannot_be_added_is_refused(penalty: float) -> None:
    """With an infinite one, no row would be cheapest where all are of another class."""
    table = encode(
        Table(pl.DataFrame({"x": [1, 2, 3, 4, 5, 6], "c": [0, 1, 2, 3, 4, 5]})),
        Schema.of(quasi={"x": "numeric"}, sensitive=["c"]),
        class_column="c",
    )
    with pytest.raises(UsageError, match="penalty"):
        cluster(table, 3, penalty=penalty)


@pytest.mark.parametrize("k", [4, 10**18, 0, -1])
def test_groups_that_cannot_be_had_are_refused(k: int) -> None:
    with pytest.raises(InfeasibleError, match=f"k = {k:,} is not possible"):
        labels_of({"x": [1, 2, 3]}, k)


def test_methods_are_found_by_name() -> None:
    assert method_named("k-member") is cluster
    assert "one group of k" in cluster.summary
    with pytest.raises(UsageError, match="k-member"):
        method_named("k-menber")


def test_a_function_without_a_summary_is_told_by_its_first_line() -> None:
    def mine() -> None:
        """Put all rows into one group.

        Nothing else.
        """

    assert Method("mine", mine, "", "").summary == "Put all rows into one group."
