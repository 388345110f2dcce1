"""Counts over releases compared with brute force, and classifiers trained on released rows."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import covey
from covey import demo
from covey._core.arrays import Floats, Longs
from covey.cli import main as cli
from covey.cli import shown as display
from covey.cli import terminal
from covey.encoding import Category, EncodedTable, encode
from covey.encoding.groups import Groups
from covey.errors import SchemaError, TableError, UsageError, percent
from covey.generalisation import Style, View, generalise
from covey.generalisation.classes import index_of_rows
from covey.measures import classifier
from covey.measures.classifier import FOLDS, Accuracy, classifier_accuracy
from covey.measures.queries import Query, QueryError, answers, query_error, random_queries
from covey.measures.spans import Spans, original_spans, released_spans
from covey.reference import model
from covey.schema import Schema
from covey.tables import Table
from examples import examples
from oracles import workload as oracle
from tables_of_people import People, labels_for, people
from views import encoded, table_of

ANCESTORS, SETS, ENDS = Style(), Style(categories="values"), Style(intervals="columns")

approx = pytest.approx


def spans_of_rows(view: View) -> list[Spans]:
    return released_spans(view.columns, index_of_rows(view.row_by_row.released, view.classes.cells))


def counts(original: EncodedTable, released: Mapping[str, Any], *asked: Query) -> list[Any]:
    """What these queries count over a release."""
    shown = table_of(released)
    rows = np.ones(shown.frame.height, dtype=np.int64)
    return list(answers(spans_of_rows(View.of(shown, original)), rows, asked))


# ── against brute force ─────────────────────────────────────────────────────────────────────────


def in_the_oracles_words(table: People, query: Query) -> oracle.Query:
    """Numbers stay as they are, places of leaves become sets of labels."""
    conditions: dict[str, oracle.Condition] = {}
    for place, (low, high) in zip(query.columns, query.ends, strict=True):
        attribute = table.encoded().attributes[place]
        if isinstance(attribute, Category):
            leaves = attribute.tree.leaves[int(low) : int(high) + 1]
            conditions[attribute.name] = frozenset(leaf or model.MISSING for leaf in leaves)
        else:
            conditions[attribute.name] = (low, high)
    return conditions


@given(
    people(),
    st.sampled_from([ANCESTORS, SETS]),
    st.integers(1, 3),
    st.sampled_from([0.01, 0.1, 0.5, 1]),
    st.data(),
)
@examples(150)
def test_counts_are_those_of_the_oracle(
    table: People, style: Style, attributes: int, selectivity: float, data: st.DataObject
) -> None:
    labels = data.draw(labels_for(table.rows))
    original = table.encoded()
    shown = generalise(table.table, original, Groups(labels), style)
    asked = random_queries(original, 12, attributes, selectivity, seed=table.rows)
    queries = [in_the_oracles_words(table, query) for query in asked]
    rows = np.ones(table.rows, dtype=np.int64)
    true = answers(original_spans(original), rows, asked)
    assert true.tolist() == [oracle.true_count(table.oracle, query) for query in queries]
    kept = rows[: shown.frame.height]
    estimated = answers(spans_of_rows(View.of(shown, original)), kept, asked)
    assert estimated == approx(
        [oracle.estimate(table.oracle, labels, query) for query in queries], rel=1e-9, abs=1e-9
    )
    found = query_error(
        View.of(shown, original),
        queries=12,
        attributes=attributes,
        selectivity=selectivity,
        seed=table.rows,
    )
    median, mean = oracle.errors(table.oracle, labels, queries)
    # Errors of nearly nothing are told in thousandths of a row, so rounding shows more.
    assert found.median == approx(median, abs=1e-6)
    assert found.mean == approx(mean, abs=1e-6)


@given(people(), st.sampled_from([ANCESTORS, SETS]))
@examples(60)
def test_what_is_released_as_it_is_counts_right(table: People, style: Style) -> None:
    original = table.encoded()
    shown = generalise(table.table, original, Groups(range(table.rows)), style)
    assert query_error(View.of(shown, original), queries=20) == QueryError(20, 0, 0)


@given(people(), st.integers(1, 3), st.sampled_from([0.01, 0.1, 0.5, 1]))
@examples(100)
def test_queries_are_ranges_of_values_that_occur(
    table: People, attributes: int, selectivity: float
) -> None:
    original = table.encoded()
    values = {
        place: sorted({value for value in _positions(attribute) if value == value})
        for place, attribute in enumerate(original.attributes)
    }
    usable = [place for place, distinct in values.items() if distinct]
    named = min(attributes, len(usable))
    asked = random_queries(original, 20, attributes, selectivity, seed=1)
    assert len(asked) == 20
    for query in asked:
        assert len(query.columns) == named == len(query.ends)
        assert list(query.columns) == sorted(set(query.columns) & set(usable))
        for place, (low, high) in zip(query.columns, query.ends, strict=True):
            first, last = values[place].index(low), values[place].index(high)
            assert last - first + 1 == ceil(len(values[place]) * selectivity ** (1 / named))


def _positions(attribute: Any) -> list[float]:
    column = attribute.leaves if isinstance(attribute, Category) else attribute.values
    return [float(value) for value in column]


def test_a_seed_asks_the_same_queries_again() -> None:
    original = encoded({"a": range(50), "b": range(50)}, {"a": "numeric", "b": "numeric"})
    first, again, other = (random_queries(original, 30, 2, 0.1, seed) for seed in (3, 3, 4))
    assert first == again != other
    assert len(set(first)) > 20


@pytest.mark.parametrize(
    "wrong", [{"queries": 0}, {"attributes": 0}, {"selectivity": 0}, {"selectivity": 1.1}]
)
def test_queries_that_make_no_sense(wrong: dict[str, Any]) -> None:
    original = encoded({"a": [1, 2]}, {"a": "numeric"})
    with pytest.raises(UsageError, match="queries"):
        query_error(View.of(table_of({"a": ["1", "2"]}), original), **wrong)


# ── by hand ─────────────────────────────────────────────────────────────────────────────────────


def test_whole_numbers_are_counted() -> None:
    """Ten ages of twenty are a half, though 9 of 19 years of length are not."""
    original = encoded({"age": [30, 35, 49, 49]}, {"age": "numeric"})
    released = {"age": ["[30, 49]"] * 4}
    assert counts(original, released, Query((0,), ((30, 39),))) == [2]
    assert counts(original, released, Query((0,), ((30, 49),))) == [4]
    assert counts(original, released, Query((0,), ((49, 49),))) == [approx(4 / 20)]
    assert counts(original, released, Query((0,), ((50, 60),))) == [0]
    half = {"age": ["[29.5, 31.5]", "[30.2, 30.8]"]}
    assert counts(original, half, Query((0,), ((30, 30),))) == [0.5]


def test_days_are_counted() -> None:
    days = ["2024-01-01", "2024-01-10", "2024-01-03", "2024-01-03"]
    original = encoded({"day": days}, {"day": "date"})
    released = {"day": ["[2024-01-01, 2024-01-10]"] * 4}
    first = original.intervals[0].low
    assert counts(original, released, Query((0,), ((first, first + 4),))) == [2]


def test_lengths_of_other_numbers_are_compared() -> None:
    original = encoded({"x": [0.5, 1.5, 2.5, 2.5]}, {"x": "numeric"})
    released = {"x": ["[0.5, 2.5]", "[0.5, 2.5]", "2.5", "2.5"]}
    assert counts(original, released, Query((0,), ((0.5, 1.5),))) == [1]
    assert counts(original, released, Query((0,), ((2.5, 2.5),))) == [2]


def test_leaves_under_a_node_are_equally_likely() -> None:
    tree = {"Europe": ["France", "Italy", "Spain"], "Asia": ["Japan", "India"]}
    original = encoded(
        {"country": ["France", "Italy", "Japan", None]},
        {"country": {"type": "categorical", "taxonomy": tree}},
    )
    category = original.categories[0]
    assert category.tree.leaves == ("France", "Italy", "Spain", "Japan", "India", "")
    released = {"country": ["Europe", "{France, Italy}", "Japan", "*"]}
    france, asia = Query((0,), ((0, 0),)), Query((0,), ((3, 4),))
    assert counts(original, released, france) == [approx(1 / 3 + 1 / 3 + 1 / 6)]
    assert counts(original, released, asia) == [approx(1 + 2 / 6)]


def test_missing_and_hidden_numbers() -> None:
    """A missing number is in no range; a hidden one may be anywhere in the domain."""
    original = encoded({"x": [0, 9, None, 3]}, {"x": "numeric"})
    released = {"x": ["*", "*", None, "3"]}
    assert counts(original, released, Query((0,), ((0, 4),))) == [2]
    assert counts(original, released, Query((0,), ((0, 9),))) == [3]
    ends = {"x_low": [None, 0, 3, 3], "x_high": [None, 9, 3, 3]}
    assert counts(original, ends, Query((0,), ((0, 4),))) == [3]


def test_conditions_are_conjoined() -> None:
    original = encoded({"a": [0, 9], "b": [0, 3]}, {"a": "numeric", "b": "numeric"})
    released = {"a": ["[0, 9]"] * 2, "b": ["[0, 3]"] * 2}
    assert counts(original, released, Query((0, 1), ((0, 4), (0, 0)))) == [2 * 1 / 2 * 1 / 4]
    assert counts(original, released, Query((), ())) == [2]


def test_one_cell_for_everyone_counts_as_if_all_values_were_equally_frequent() -> None:
    """Which they are in the first table, and not in the second: 91 of 100 are 0."""
    released = table_of({"x": ["[0, 9]"] * 100})
    even = encoded({"x": [*range(10)] * 10}, {"x": "numeric"})
    found = query_error(View.of(released, even), queries=50)
    assert found.mean == approx(0, abs=1e-12)
    skewed = encoded({"x": [0] * 91 + [*range(1, 10)]}, {"x": "numeric"})
    found = query_error(View.of(released, skewed), queries=50)
    # One value of ten is asked for: 10 are estimated where there is 1, or 91.
    zero = random_queries(skewed, 50, 2, 0.1, 0).count(Query((0,), ((0, 0),)))
    assert found.median == approx(9)
    assert found.mean == approx((zero * (91 - 10) / 91 + (50 - zero) * 9) / 50)


def test_small_answers_are_judged_by_a_thousandth_of_the_rows() -> None:
    """Asked for 4: 0.2 of 1, below the bound of 2. Asked for 0: 0.2 more than 1999."""
    original = encoded({"x": [0] * 1999 + [4]}, {"x": "numeric"})
    released = table_of({"x": ["0"] * 1999 + ["[0, 4]"]})
    found = query_error(View.of(released, original), queries=40, selectivity=0.5)
    four = random_queries(original, 40, 1, 0.5, 0).count(Query((0,), ((4, 4),)))
    assert 0 < four < 40
    assert found.mean == approx((four * 0.8 / 2 + (40 - four) * 0.2 / 1999) / 40)


def test_rows_that_are_not_released_are_missed() -> None:
    original = encoded({"x": [1, 2, 3, 4]}, {"x": "numeric"})
    found = query_error(View.of(table_of({"x": ["1", "2"]}), original), selectivity=1)
    assert (found.median, found.mean) == (0.5, 0.5)


def test_columns_may_have_any_name() -> None:
    names = ("rows", "count", "place", "box", "0", "")
    frame = pl.DataFrame({name: [1, 2, 2, 3] for name in names})
    original = encode(Table(frame), Schema.of(quasi=dict.fromkeys(names, "numeric")))
    assert query_error(View.of(Table(frame), original), queries=9) == QueryError(9, 0, 0)


def test_neither_order_nor_ends_in_columns_matter() -> None:
    frame = patients()
    original = encode(Table(frame), SCHEMA)
    groups = Groups(np.arange(frame.height) // 5)
    texts, ends = (generalise(Table(frame), original, groups, by) for by in (ANCESTORS, ENDS))
    found = query_error(View.of(texts, original), queries=100)
    assert found.mean > 0.01
    turned = texts.with_frame(texts.frame.sample(fraction=1, shuffle=True, seed=1))
    assert query_error(View.of(turned, original), queries=100) == found
    assert query_error(View.of(ends, original), queries=100) == found


# ── predicting ──────────────────────────────────────────────────────────────────────────────────

SCHEMA = Schema.of(
    quasi={"age": "numeric", "town": "categorical"}, sensitive=["ill"], identifier=["name"]
)


def patients(rows: int = 300) -> pl.DataFrame:
    """The older are ill, and so is the third town."""
    random = np.random.default_rng(5)
    age, town = random.integers(20, 80, rows), random.integers(0, 4, rows)
    ill = np.where((age > 55) | (town == 2), "yes", "no")
    names = ["Ely", "Bath", "York", "Hull"]
    return pl.DataFrame({"age": age, "town": [names[place] for place in town], "ill": ill})


def accuracy_of(frame: pl.DataFrame, labels: Sequence[int] | Longs, **more: Any) -> Accuracy:
    original = encode(Table(frame), SCHEMA)
    groups = Groups(labels)
    shown = generalise(Table(frame), original, groups, ANCESTORS)
    rows = np.flatnonzero(groups.labels >= 0)
    order = np.random.default_rng(1).permutation(len(rows))
    shown = shown.with_frame(shown.frame[order])
    return classifier_accuracy(View.of(shown, original), rows[order], frame["ill"], **more)


def test_a_classifier_learns_the_same_where_nothing_is_generalised() -> None:
    found = accuracy_of(patients(), range(300))
    assert found.released == found.original > 0.85
    ill = patients()["ill"].to_list()
    assert found.majority == max(ill.count("yes"), ill.count("no")) / 300 < 0.7


def test_a_classifier_learns_nothing_where_nothing_is_left() -> None:
    found = accuracy_of(patients(), [0] * 300)
    assert found.released == approx(found.majority, abs=0.03)
    assert found.original > 0.85


def test_a_classifier_learns_less_from_groups_by_chance_than_from_groups_of_neighbours() -> None:
    frame = patients().sort("town", "age")
    near = accuracy_of(frame, np.arange(300) // 10)
    by_chance = accuracy_of(frame, np.random.default_rng(0).permutation(300) // 10)
    assert near.released > by_chance.released + 0.05


def test_suppressed_people_are_asked_about_but_not_learnt_from() -> None:
    """Everyone who is ill is suppressed: whoever learns from the rest expects no illness."""
    frame = patients()
    ill = (frame["ill"] == "yes").to_numpy()
    labels = np.where(ill, -1, np.cumsum(~ill) - 1)
    found = accuracy_of(frame, labels)
    assert found.released == approx(1 - ill.mean())
    assert found.original > 0.85


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_the_auc_is_that_of_scikit_learn(classes: int) -> None:
    random = np.random.default_rng(classes)
    for rows in (30, 200):
        truth = np.concatenate([np.arange(classes), random.integers(0, classes, rows)])
        scores = random.integers(1, 5, (len(truth), classes)) + (truth[:, None] == range(classes))
        probabilities = scores / scores.sum(axis=1, keepdims=True)  # with ties
        guess = classifier._Guess(truth, probabilities)
        shown = probabilities if classes > 2 else probabilities[:, 1]
        assert guess.auc == approx(roc_auc_score(truth, shown, multi_class="ovr"), abs=1e-12)


def test_the_auc_tells_what_accuracy_does_not() -> None:
    """Of nearly all it is best to expect no illness, though the old are ill more often."""
    frame = patients(1000).sort("age")
    ill = np.random.default_rng(0).random(1000) < np.linspace(0, 0.15, 1000)
    frame = frame.with_columns(ill=pl.Series(np.where(ill, "yes", "no")))
    near, none = (accuracy_of(frame, np.arange(1000) // size) for size in (10, 1000))
    assert near.released == none.released == near.majority == 1 - ill.mean()
    assert near.auc_released == approx(near.auc_original, abs=0.05)
    assert near.auc_released is not None
    assert near.auc_released > 0.65
    assert none.auc_released == 0.5


def test_accuracy_is_the_same_again() -> None:
    groups = np.arange(300) // 10
    first, again, other = (accuracy_of(patients(), groups, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert (first.released, first.original) != (other.released, other.original)


class Learner:
    """Stands in for the classifier and remembers what it was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[Floats, Longs, Floats]] = []
        monkeypatch.setattr(classifier, "_predict", self)

    def __call__(self, learnt: Floats, classes: Longs, asked: Floats) -> Floats:
        self.calls.append((learnt, classes, asked))
        return np.tile(np.unique(classes) == classes[0], (len(asked), 1)).astype(float)


def test_nobody_is_both_learnt_from_and_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each person has an age of their own, so that a feature names them."""
    frame = patients(60).with_columns(age=pl.int_range(60))
    learner = Learner(monkeypatch)
    accuracy_of(frame, range(60))
    assert len(learner.calls) == 2 * FOLDS
    asked_about: list[float] = []
    for learnt, _, asked in learner.calls:
        assert len(learnt) + len(asked) == 60
        assert not set(learnt[:, 0]) & set(asked[:, 0])
        asked_about += asked[:, 0].tolist()
    assert sorted(asked_about) == sorted([place / 59 for place in range(60)] * 2)
    for released, original in zip(learner.calls[::2], learner.calls[1::2], strict=True):
        assert all(np.array_equal(*pair) for pair in zip(released, original, strict=True))


def test_nobody_is_both_though_some_are_suppressed(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = patients(60).with_columns(age=pl.int_range(60))
    kept = np.arange(60) % 3 > 0
    learner = Learner(monkeypatch)
    accuracy_of(frame, np.where(kept, np.cumsum(kept) - 1, -1))
    for learnt, _, asked in learner.calls[::2]:
        people = {*np.flatnonzero(kept) / 59} - {*asked[:, 0]}
        assert sorted(learnt[:, 0]) == sorted(people)


def test_features_and_classes_belong_to_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The class can be told from the age alone, in whatever order rows are released."""
    frame = patients(60).with_columns(age=pl.int_range(60), ill=pl.int_range(60) // 30)
    learner = Learner(monkeypatch)
    accuracy_of(frame, np.arange(60) // 2)
    for learnt, classes, _ in learner.calls:
        assert ((learnt[:, 0] > 0.5) == (classes == classes.max())).all()


def test_features_by_hand() -> None:
    tree = {"Europe": ["France", "Italy"], "Asia": ["Japan", "India"]}
    original = encoded(
        {"age": [0, 10, 10, None], "country": ["France", "Italy", "Japan", "Japan"]},
        {"age": "numeric", "country": {"type": "categorical", "taxonomy": tree}},
    )
    shown = {"age": ["[0, 5]", "10", "*", None], "country": ["Europe", "Italy", "*", "Asia"]}
    table = Table(pl.DataFrame(shown))
    found = classifier.features(original, spans_of_rows(View.of(table, original)), np.arange(4))
    assert found.tolist() == [
        [0.25, 0, 0.5, 0.5, 0, 0, 0],
        [1, 0, 0, 1, 0, 0, 0],
        [0.5, 0, 0.25, 0.25, 0.25, 0.25, 0],
        [0.5, 1, 0, 0, 0.5, 0.5, 0],
    ]
    exact = classifier.features(original, original_spans(original), np.arange(4))
    assert exact.tolist()[2:] == [[1, 0, 0, 0, 1, 0, 0], [0.5, 1, 0, 0, 1, 0, 0]]


def test_rare_leaves_share_a_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifier, "MOST_LEAVES", 2)
    towns = ["a", "b", "b", "c", "d", "d"]
    original = encoded({"town": towns}, {"town": "categorical"})
    exact = classifier.features(original, original_spans(original), np.arange(6))
    assert exact.tolist() == [[0, 0, 1], [1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0]]
    view = View.of(table_of({"town": ["*"] * 6}), original)
    shown = classifier.features(original, spans_of_rows(view), np.arange(6))
    assert shown.tolist() == [[0.25, 0.25, 0.5]] * 6


def test_many_people_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifier, "MOST_PEOPLE", 50)
    learner = Learner(monkeypatch)
    accuracy_of(patients(), np.arange(300) // 3)
    assert {len(learnt) + len(asked) for learnt, _, asked in learner.calls} == {50}


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_tables_of_a_few_people(rows: int) -> None:
    frame = patients(rows)
    found = accuracy_of(frame, [0] * rows)
    assert 0 <= found.released <= 1
    assert 0 < found.majority <= 1


def test_a_class_that_everyone_has_is_predicted() -> None:
    frame = patients(20).with_columns(ill=pl.lit("no"))
    assert accuracy_of(frame, [0] * 20) == Accuracy(1, 1, 1, None, None)


def test_a_missing_class_is_one_of_its_own() -> None:
    frame = patients().with_columns(ill=pl.when(pl.col("ill") == "yes").then(pl.lit("yes")))
    found = accuracy_of(frame, range(300))
    assert found == accuracy_of(patients(), range(300))


def test_a_class_column_of_too_many_values() -> None:
    frame = patients().with_columns(ill=pl.int_range(300))
    with pytest.raises(UsageError, match="'ill' has more than 100 values"):
        accuracy_of(frame, [0] * 300)


def test_a_class_column_that_was_not_released() -> None:
    frame = patients(10)
    original = encode(Table(frame), SCHEMA)
    shown = Table(frame.select("age", "town"))
    with pytest.raises(TableError, match="'ill' is not in the released table"):
        classifier_accuracy(View.of(shown, original), np.arange(10), frame["ill"])


def test_without_scikit_learn_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(UsageError, match=r"covey\[workload\]"):
        accuracy_of(patients(), range(300))


# ── from a release ──────────────────────────────────────────────────────────────────────────────


def test_the_workload_of_a_release() -> None:
    frame = patients()
    # By luck, a tree may learn more from groups than from the original: not with these.
    release = covey.anonymize(frame, SCHEMA, require=[covey.KAnonymity(5)], seed=4)
    found = release.workload(frame, class_column="ill")
    assert found == release.workload(frame, class_column="ill")
    assert found.accuracy is not None
    assert found.accuracy_original is not None
    assert found.accuracy_majority is not None
    assert found.accuracy_majority < found.accuracy <= found.accuracy_original
    assert found.auc is not None
    assert found.auc_original is not None
    assert 0.5 < found.auc <= found.auc_original < 1
    errors = covey.measure(frame, release.table, SCHEMA, queries=1000).queries
    assert errors == QueryError(1000, found.query_error_median, found.query_error_mean)
    alone = release.workload(frame)
    assert alone.query_error_median == found.query_error_median > 0
    assert (alone.accuracy, alone.accuracy_original, alone.accuracy_majority) == (None, None, None)


def test_dropped_rows_do_not_shift_whose_row_is_whose() -> None:
    """Everyone is there twice, so that nothing is generalised; but some rows were dropped."""
    schema = Schema.of(
        quasi={"age": {"type": "numeric", "missing": "drop-row"}, "town": "categorical"},
        sensitive=["ill"],
    )
    frame = patients().with_columns(age=pl.when(pl.int_range(300) % 7 > 0).then(pl.col("age")))
    frame = pl.concat([frame, frame])
    release = covey.anonymize(frame, schema, require=[covey.KAnonymity(2)])
    assert release.report.rows.dropped == 86
    found = release.workload(frame, class_column="ill")
    assert (found.query_error_median, found.query_error_mean) == (0, 0)
    assert found.accuracy == found.accuracy_original


def test_a_class_column_must_not_be_a_quasi_identifier() -> None:
    frame = patients()
    release = covey.anonymize(frame, SCHEMA, require=[covey.KAnonymity(5)])
    for name in ("town", "nowhere"):
        with pytest.raises(SchemaError, match="must be a sensitive or insensitive column"):
            release.workload(frame, class_column=name)


def test_measures_without_queries_have_no_query_error() -> None:
    frame = patients(20)
    shown = frame.with_columns(age=pl.lit("[20, 80]"))
    assert covey.measure(frame, shown, SCHEMA).queries is None


# ── from the command line ───────────────────────────────────────────────────────────────────────


def test_queries_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    demo.write(tmp_path, 120)
    monkeypatch.chdir(tmp_path)
    schema = Schema.from_toml("people.toml")
    covey.anonymize("people.csv", schema, require=[covey.KAnonymity(4)]).write("out.csv")
    expected = covey.measure("people.csv", "out.csv", schema, queries=1000).queries
    assert expected is not None
    measure = ["measure", "people.csv", "out.csv", "-s", "people.toml"]
    capfd.readouterr()
    assert cli.run([*measure, "--queries", "--json"]) == 0
    told = QueryError(1000, round(expected.median, 4), round(expected.mean, 4))
    assert QueryError(**json.loads(capfd.readouterr().out)["queries"]) == told
    assert cli.run([*measure, "--queries"]) == 0
    shown = capfd.readouterr().out.splitlines()
    for name, error in (("median", expected.median), ("mean", expected.mean)):
        line = next(line for line in shown if f"error, {name}" in line)
        assert line.endswith(" ".join(percent(error).split()))
    assert cli.run(measure) == 0
    assert "query error" not in capfd.readouterr().out


def test_figures_that_could_not_be_told_are_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    frame = patients(20)
    losses = covey.measure(frame, frame.with_columns(age=pl.lit("[20, 80]")), SCHEMA)
    display.show_losses(losses, terminal.out)
    assert "discernibility" in capfd.readouterr().out
    nothing = dict.fromkeys(("discernibility", "average_class_size", "non_uniform_entropy"))
    display.show_losses(replace(losses, **nothing), terminal.out)  # type: ignore[arg-type]
    shown = capfd.readouterr().out
    assert "monotone entropy" in shown
    assert "None" not in shown
    assert not any(name in shown for name in ("discernibility", "C_AVG", "non-uniform"))


def test_scikit_learn_is_loaded_for_the_classifier_alone() -> None:
    code = "import sys, covey.pipeline, covey.measures.workload; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
