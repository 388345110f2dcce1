"""Every published method compared with its oracle, label by label, and what holds for all."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxes import boxes_of_single_rows, few_bits, samples
from covey import reference
from covey.clustering import METHODS
from covey.encoding import EncodedTable, encode
from covey.errors import InfeasibleError, UsageError
from covey.reference import centres, model
from covey.reference.k_member import SeedRef
from covey.reference.model import Numeric
from covey.schema import Schema
from covey.tables import Table
from examples import examples
from tables_of_people import CLASS, People, people

seeds = st.integers(0, 2**64)
Twin = Callable[..., list[int]]


# covey and nh have tests of their own.
TWINS: Mapping[str, Twin] = {
    name: twin for name, twin in reference.METHODS.items() if name not in ("covey", "nh")
}
OPTIONS: Mapping[str, Sequence[dict[str, Any]]] = {
    "k-member": [{"seed_ref": reference_row} for reference_row in get_args(SeedRef)],
    "mondrian": [{}, {"relaxed": True}],
    "kacpc": [{}, {"normalise": True}],
    "kaca": [{}, {"beta": 0.0}, {"beta": 2.5}],
    "wf-c-means": [{}, {"iterations": 1}, {"iterations": 3}],
    "cb": [
        {},
        {"categorical": "ordered"},
        {"tries": 1},
        {"tries": 3, "restarts": 2},
        {"tries": 4, "categorical": "ordered"},
    ],
}
CASES = [(name, options) for name in TWINS for options in OPTIONS.get(name, [{}])]
cases = pytest.mark.parametrize(
    ("name", "options"), CASES, ids=[" ".join([n, *map(str, o.items())]) for n, o in CASES]
)


def by_twin(table: People, name: str, k: int, seed: int, **options: Any) -> list[int]:
    """The labels of the slow twin, which draws from the same generator."""
    measure = table.schema.loss
    return reference.cluster(table.oracle, k, method=name, seed=seed, measure=measure, **options)


def check(table: People, name: str, data: st.DataObject, **options: Any) -> None:
    k = data.draw(st.integers(1, table.rows), "k")
    seed = data.draw(seeds, "seed")
    groups = METHODS[name](table.encoded(), k, seed=seed, **options)
    assert groups.labels.tolist() == by_twin(table, name, k, seed, **options)


@cases
@given(people(most=14), st.data())
@examples(120)
def test_labels_are_those_of_the_twin(
    name: str, options: dict[str, Any], table: People, data: st.DataObject
) -> None:
    check(table, name, data, **options)


@cases
@given(people(least=17, most=40, columns=3), st.data())
@examples(40)
def test_labels_of_larger_tables_are_those_of_the_twin(
    name: str, options: dict[str, Any], table: People, data: st.DataObject
) -> None:
    check(table, name, data, **options)


@pytest.mark.parametrize("name", ["k-member", "mdav", "gaa-cp", "oka", "systematic", "wf-c-means"])
@given(people(most=16), few_bits, samples, st.data())
@examples(60)
def test_labels_do_not_depend_on_the_boxes(
    name: str, table: People, bits: int, sample: int, data: st.DataObject
) -> None:
    """Boxes of single rows, and taxonomies whose leaves share bits."""
    with boxes_of_single_rows(bits=bits, sample=sample):
        check(table, name, data)


@given(people(least=2, most=30, columns=3), few_bits, st.data())
@examples(400)
def test_labels_with_classes_are_those_of_the_twin(
    table: People, bits: int, data: st.DataObject
) -> None:
    """Several rows left over, so that one may change the majority that the next one meets."""
    sizes = [k for k in range(1, table.rows + 1) if table.rows % k > 1] or [table.rows]
    k, seed = data.draw(st.sampled_from(sizes), "k"), data.draw(seeds, "seed")
    options: dict[str, Any] = {
        "penalty": data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0, 20.0, 1e6]), "penalty"),
        "penalise_leftovers": data.draw(st.booleans(), "penalise_leftovers"),
    }
    twin = by_twin(table, "k-member", k, seed, classes=table.classes, **options)
    encoded = table.encoded(classes=True)
    assert METHODS["k-member"](encoded, k, seed=seed, **options).labels.tolist() == twin
    with boxes_of_single_rows(bits=bits):
        other = encode(table.table, table.schema, class_column=CLASS)
        assert METHODS["k-member"](other, k, seed=seed, **options).labels.tolist() == twin


# ── l-diverse splitting ─────────────────────────────────────────────────────────────────────────


@given(people(least=4, most=30, columns=3), st.data())
@examples(250)
def test_l_diverse_labels_are_those_of_the_twin(table: People, data: st.DataObject) -> None:
    l = data.draw(st.integers(2, 3), "l")  # noqa: E741
    k = data.draw(st.integers(1, max(table.rows // 2, 1)), "k")
    seed = data.draw(seeds, "seed")
    options: dict[str, Any] = {"tries": data.draw(st.sampled_from([1, 4])), "l": l}
    options["categorical"] = data.draw(st.sampled_from(["tree", "ordered"]))
    counts = np.bincount(table.classes)
    if l * counts.max() > table.rows:
        with pytest.raises(InfeasibleError, match=f"l = {l} .* is {table.rows // counts.max()}$"):
            METHODS["cb"](table.encoded(), k, seed=seed, **options)
        return
    groups = METHODS["cb"](table.encoded(), k, seed=seed, sensitive=CLASS, **options)
    twin = by_twin(table, "cb", k, seed, sensitive=table.classes, **options)
    assert groups.labels.tolist() == twin
    assert groups.smallest >= k
    for group in range(groups.count):
        own = np.array(table.classes)[groups.labels == group]
        assert l * np.bincount(own).max() <= len(own)


def diverse_table(rows: int, values: int) -> EncodedTable:
    """One number and a sensitive column that says nearly all about it: no split is diverse."""
    random = np.random.default_rng(rows)
    diagnosis = random.permutation(np.arange(rows) % values)
    frame = pl.DataFrame({"x": diagnosis + random.random(rows) / 10, "diagnosis": diagnosis})
    schema = Schema.of(quasi={"x": "numeric"}, sensitive=["diagnosis"])
    return encode(Table(frame), schema)


def scaled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the twin scale each column once, not again for each loss."""
    scale, known = model.normalised, dict[int, list[float | None]]()

    def normalised(column: Numeric) -> list[float | None]:
        if id(column) not in known:
            known[id(column)] = scale(column)
        return known[id(column)]

    for module in (model, centres):
        monkeypatch.setattr(module, "normalised", normalised)


def test_large_undivided_groups_are_dealt_out_as_by_the_twin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Buckets of more rows, and more groups, than are looked at for the next one."""
    scaled_once(monkeypatch)
    table = diverse_table(530, 2)
    frame_values = table.intervals[0].values.tolist()
    groups = METHODS["cb"](table, 3, seed=1, tries=1, l=2)
    twin = TWINS["cb"](
        {"x": Numeric(frame_values)},
        3,
        rng=np.random.default_rng(1),
        tries=1,
        l=2,
        sensitive=table.sensitive["diagnosis"].values.tolist(),
    )
    assert groups.labels.tolist() == twin
    assert groups.count > 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l": 1}, "l must be"),
        ({"l": 2.5}, "l must be"),
        ({"l": 2, "sensitive": "x"}, "name one of diagnosis"),
        ({"tries": 0}, "tries and restarts"),
        ({"restarts": "many"}, "tries and restarts"),
        ({"categorical": "set"}, "categorical must be"),
    ],
)
def test_wrong_options_of_cb_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        METHODS["cb"](diverse_table(20, 4), 3, **options)


def test_l_needs_a_sensitive_column() -> None:
    table = encode(Table(pl.DataFrame({"x": [1, 2, 3, 4]})), Schema.of(quasi={"x": "numeric"}))
    with pytest.raises(UsageError, match="sensitive column"):
        METHODS["cb"](table, 2, l=2)


# ── what must hold of every method ──────────────────────────────────────────────────────────────


@cases
@given(people(most=40), st.data())
@examples(40)
def test_every_row_is_in_one_group_of_k(
    name: str, options: dict[str, Any], table: People, data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, table.rows), "k")
    groups = METHODS[name](table.encoded(), k, seed=data.draw(seeds, "seed"), **options)
    assert len(groups) == table.rows
    assert groups.suppressed == 0
    assert groups.smallest >= k
    assert (groups.sizes > 0).all()


@pytest.mark.parametrize("name", ["cb", "mdav", "k-member"])
@given(people(most=40), st.data())
@examples(60)
def test_no_group_has_2k_rows(name: str, table: People, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, table.rows), "k")
    assert METHODS[name](table.encoded(), k, seed=data.draw(seeds)).sizes.max() < 2 * k


@pytest.mark.parametrize("name", ["k-member", "kacpc", "ikac", "oka", "systematic"])
@given(people(most=40), st.data())
@examples(60)
def test_there_are_as_many_groups_as_rows_allow(
    name: str, table: People, data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, table.rows), "k")
    assert METHODS[name](table.encoded(), k, seed=data.draw(seeds)).count == table.rows // k


@pytest.mark.parametrize("name", [name for name in METHODS if name != "nh"])
def test_the_seed_decides(name: str) -> None:
    """The same labels for the same seed; another seed matters just where the method draws."""
    random = np.random.default_rng(4)
    frame = pl.DataFrame({"x": random.random(200), "y": random.integers(0, 9, 200).astype(str)})
    table = encode(Table(frame), Schema.of(quasi={"x": "numeric", "y": "categorical"}))
    labels = [METHODS[name](table, 7, seed=seed).labels.tolist() for seed in (1, 1, 2, 3, 4)]
    assert labels[0] == labels[1]
    drawn = name not in ("mondrian", "mdav", "kacpc")
    assert any(other != labels[0] for other in labels[2:]) == drawn


@pytest.mark.parametrize("name", METHODS)
@given(people(most=20), st.data())
@examples(10)
def test_the_order_of_columns_does_not_matter_and_the_table_stays(
    name: str, table: People, data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, table.rows), "k")
    order = data.draw(st.permutations(table.frame.columns))
    columns = {name: table.schema.columns[name] for name in data.draw(st.permutations(order))}
    turned = encode(
        Table(table.frame.select(order)), table.schema.model_copy(update={"columns": columns})
    )
    encoded = table.encoded()
    arrays = [np.asarray(array) for array in (*encoded.cells, *encoded.forest)]
    before = [array.copy() for array in arrays]
    expected = METHODS[name](encoded, k, seed=7).labels.tolist()
    assert METHODS[name](turned, k, seed=7).labels.tolist() == expected
    assert all(np.array_equal(a, b) for a, b in zip(before, arrays, strict=True))


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30), st.integers(-3, 9), st.data())
@examples(60)
def test_scale_and_origin_of_numbers_do_not_matter(
    values: list[int], power: int, data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(values)), "k")
    labels = []
    for numbers in (values, [2.0**power * value + 1024.0 for value in values]):
        table = encode(Table(pl.DataFrame({"x": numbers})), Schema.of(quasi={"x": "numeric"}))
        labels.append(METHODS["k-member"](table, k).labels.tolist())
    assert labels[0] == labels[1]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("k", [3, 10**18, 0, -1])
def test_groups_that_are_not_possible_are_refused(name: str, k: int) -> None:
    table = encode(Table(pl.DataFrame({"x": [1, 2]})), Schema.of(quasi={"x": "numeric"}))
    with pytest.raises(InfeasibleError, match=f"k = {k:,} is not possible"):
        METHODS[name](table, k)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("k-member", {"seed_ref": "furthest"}, "last, seed, first, random"),
        # With an infinite one, no row would be cheapest where all are of another class.
        *(("k-member", {"penalty": wrong}, "penalty") for wrong in (-1, math.nan, math.inf)),
        ("kaca", {"beta": -1}, "beta must be"),
        ("kaca", {"beta": "steep"}, "beta must be"),
        ("wf-c-means", {"iterations": 0}, "iterations must be"),
        ("wf-c-means", {"iterations": 2.5}, "iterations must be"),
    ],
)
def test_wrong_options_are_refused(name: str, options: dict[str, Any], message: str) -> None:
    table = encode(Table(pl.DataFrame({"x": [1, 2]})), Schema.of(quasi={"x": "numeric"}))
    with pytest.raises(UsageError, match=message):
        METHODS[name](table, 2, **options)
