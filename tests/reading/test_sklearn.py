"""covey's estimators, by scikit-learn's own checks and by what they promise."""

import pickle
from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey.demo import people
from examples import examples

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from covey.sklearn import Anonymizer, ReleaseEncoder


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [Anonymizer(k=2), ReleaseEncoder()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_finds_nothing_wrong(estimator: Any) -> None:
    found = check_estimator(estimator, on_skip=None)
    assert sum(one["status"] == "passed" for one in found) > 30


# ── Anonymizer ──────────────────────────────────────────────────────────────────────────────────

numbers = st.one_of(st.integers(-3, 3).map(float), st.just(np.nan))


@given(
    st.lists(st.tuples(numbers, numbers, st.sampled_from(["a", "b", "c", None])), min_size=4),
    st.integers(2, 4),
)
@examples(150)
def test_no_class_is_smaller_than_k(rows: list[tuple[Any, ...]], k: int) -> None:
    X = np.array(rows, dtype=object)
    found = Anonymizer(k=k).fit_transform(X)
    kept = ~Anonymizer(k=k).fit(X).held_back(X)
    shown = Counter(map(repr, found[kept].tolist()))
    assert min(shown.values(), default=k) >= k
    assert all(set(map(str, row)) <= {"nan", "None"} for row in found[~kept].tolist())


def test_new_rows_go_where_they_fit_and_others_are_held_back() -> None:
    X = np.array([[0.0, 5], [1, 5], [2, 5], [10, 5], [11, 5], [12, 6]])
    fitted = Anonymizer(k=3).fit(X)
    assert fitted.sizes_.tolist() == [3, 3]
    assert fitted.transform([[0.5, 5], [11, 5.5]]).tolist() == [[1, 5], [11, 5.5]]
    assert fitted.held_back([[0.5, 5], [5, 5], [1, 6]]).tolist() == [False, True, True]
    assert np.isnan(fitted.transform([[5.0, 5]])).all()


def test_only_the_named_columns_change() -> None:
    frame = people(300).select("age", "sex", "income").to_pandas()
    fitted = Anonymizer(k=5, quasi=["age", "sex"]).set_output(transform="pandas").fit(frame)
    shown = fitted.transform(frame)
    assert [*shown.columns] == ["age", "sex", "income"]
    assert shown["income"].astype(float).equals(frame["income"].astype(float))
    classes = shown[~fitted.held_back(frame)].groupby(["age", "sex"]).size()
    assert classes.min() >= 5


def test_a_fitted_anonymizer_holds_no_row() -> None:
    inner = 12_345.678
    X = np.concatenate([np.linspace(10_000, 20_000, 40), [inner]])[:, None]
    fitted = Anonymizer(k=41).fit(X)
    data = pickle.dumps(fitted)
    assert np.float64(inner).tobytes() not in data
    assert np.float64(10_000).tobytes() in data  # an end, which every row shows
    again = pickle.loads(data)
    assert again.transform(X).tolist() == fitted.transform(X).tolist()


@pytest.mark.parametrize(
    ("estimator", "word"),
    [(Anonymizer(k=10), "k=10"), (Anonymizer(k=2, quasi=["sexx"]), "sexx"),
     (Anonymizer(k=2, method="k-membre"), "k-member")],
)  # fmt: skip
def test_what_cannot_be_is_refused_as_scikit_learn_does(estimator: Any, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        estimator.fit(np.arange(12.0).reshape(6, 2))


def test_it_works_in_pipelines_and_cross_validation() -> None:
    frame = people(600)
    X = frame.select("age", "length_of_stay").to_numpy()
    y = (frame["income"].fill_null(0) > 40_000).to_numpy()
    model = make_pipeline(Anonymizer(k=5), HistGradientBoostingClassifier(max_iter=20))
    scores = cross_val_score(clone(model), X, y, cv=3, scoring="roc_auc")
    assert min(scores) > 0.5


# ── ReleaseEncoder ──────────────────────────────────────────────────────────────────────────────


def test_cells_become_middles_widths_and_shares() -> None:
    cells = pl.DataFrame(
        {
            "age": ["[30, 39]", "20", "*", None],
            "job": ["{Baker, Cook}", "Baker", "Cook", "*"],
            "born": ["1970-01-02", "[1970-01-02, 1970-01-04]", "1970-01-02", "1970-01-02"],
        }
    )
    encoder = ReleaseEncoder(widths=True).set_output(transform="polars").fit(cells)
    found = encoder.transform(cells)
    assert found.columns == ["age", "age_width", "job_Baker", "job_Cook", "born", "born_width"]
    assert found["age"].to_list() == [34.5, 20, (34.5 + 20) / 2, (34.5 + 20) / 2]
    assert found["age_width"].to_list() == [9, 0, 19, 19]
    assert found["job_Baker"].to_list() == [0.5, 1, 0, 0.5]
    assert found["born"].to_list() == [1, 2, 1, 1]
    ordinary = pl.DataFrame({"age": ["25"], "job": ["Cook"], "born": ["1970-01-03"]})
    assert encoder.transform(ordinary).row(0) == (25, 0, 0, 1, 2, 0)
    unknown = pl.DataFrame({"age": ["25"], "job": ["Smith"], "born": ["1970-01-03"]})
    assert encoder.transform(unknown).row(0)[2:4] == (0, 0)
    bare = ReleaseEncoder().set_output(transform="polars").fit(cells).transform(cells)
    assert bare.equals(found.drop("age_width", "born_width"))


def test_codes_are_the_same_labels_as_numbers_and_as_texts() -> None:
    schema = covey.Schema.of(quasi={"job": "categorical", "age": "numeric"})
    released = pl.DataFrame({"job": ["10", "{10, 20}", "20", None], "age": ["[1, 2]"] * 4})
    encoder = ReleaseEncoder(schema).fit(released)
    assert encoder.get_feature_names_out()[:2].tolist() == ["job_10", "job_20"]
    ordinary = pl.DataFrame({"job": [20, None, 10], "age": [1, 2, 2]})
    assert encoder.transform(ordinary)[:, :2].tolist() == [[0, 1], [0, 0], [1, 0]]


def test_dates_beside_numbers_are_read_and_no_cell_is_in_an_error() -> None:
    rows = pl.DataFrame({"age": [30, 40], "born": [date(1990, 1, 1), date(1980, 1, 1)]})
    both = [rows, rows.to_pandas().astype({"born": "datetime64[ns]"})]
    schema = covey.Schema.of(quasi={"born": "date"})
    shown = [ReleaseEncoder(schema).fit(one).transform(one).tolist() for one in both]
    assert shown[0] == shown[1] == [[30, 7305], [40, 3652]]
    model = Anonymizer(k=2, quasi=["age"]).fit(rows)
    with pytest.raises(ValueError, match="2 cells") as error:
        model.transform(rows.with_columns(age=pl.lit("canary")))
    assert "canary" not in str(error.value)


def test_a_model_of_a_release_predicts_ordinary_rows() -> None:
    frame = people(6_000).drop_nulls("income").with_columns(rich=pl.col("income") > 45_000)
    train, test = frame[:3_000], frame[3_000:]
    quasi = ["age", "sex", "education", "occupation"]
    release = covey.anonymize(train.select(*quasi, "rich"), quasi=quasi, sensitive=["rich"], k=5)
    found = {}
    for name, table in (("original", train), ("release", release.table)):
        encoder = ReleaseEncoder(release.schema if name == "release" else None)
        model = make_pipeline(encoder, StandardScaler(), LogisticRegression(max_iter=500))
        model.fit(table.select(quasi), table["rich"].to_numpy())
        scores = model.predict_proba(test.select(quasi))[:, 1]
        found[name] = roc_auc_score(test["rich"].to_numpy(), scores)
    assert found["original"] > 0.65
    assert found["release"] > found["original"] - 0.08


def test_a_missing_cell_fits_only_classes_that_have_one() -> None:
    known = np.array([[1.0], [2.0], [9.0], [8.0]])
    assert Anonymizer(k=2).fit(known).held_back([[np.nan], [2.0]]).tolist() == [True, False]


def test_a_row_that_fits_several_classes_is_shown_as_the_narrowest() -> None:
    numbers = np.random.default_rng(0).integers(0, 30, (200, 2)).astype(float)
    widths = sum(one.widths for one in Anonymizer(k=4).fit(numbers).classes_)
    assert (np.diff(widths) >= 0).all()


def test_a_code_with_stars_that_is_new_stands_for_the_codes_under_it() -> None:
    encoder = ReleaseEncoder().fit(np.array([["101"], ["102"], ["201"]], dtype=object))
    assert encoder.transform(np.array([["10*"]], dtype=object)).tolist() == [[0.5, 0.5, 0.0]]
