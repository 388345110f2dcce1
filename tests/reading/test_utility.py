"""What a release is good for: distributions, figures and uses, beside plain definitions."""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LogisticRegression

import covey
from covey.demo import people
from covey.errors import UsageError
from covey.measures.marginals import marginals
from covey.measures.rubin import quantile_of_t
from covey.measures.uses import OTHERS, QUANTILES, typed_levels
from covey.measures.uses import estimates as estimates_of
from covey.measures.utility import Figure, _design, _pmse_ratio, share_kept
from covey.measures.utility import utility as of_frames
from covey.reading import read_release, utility
from covey.schema.uses import Use
from examples import examples

# ── k-marginals ─────────────────────────────────────────────────────────────────────────────────


def oracle(one: pl.DataFrame, other: pl.DataFrame, k: int) -> float:
    """NIST's score: 1,000 less the mean distance of the distributions of k columns, in shares."""
    distances = []
    for names in combinations(one.columns, k):
        a, b = (Counter(frame.select(names).rows()) for frame in (one, other))
        cells = a.keys() | b.keys()
        distances.append(
            sum(abs(a[cell] / one.height - b[cell] / other.height) for cell in cells) / 2
        )
    return 1000 * (1 - statistics.fmean(distances))


columns = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=6, max_size=6)


@given(st.lists(columns, min_size=2, max_size=4), st.lists(columns, min_size=2, max_size=4))
@examples(100)
def test_scores_are_those_of_the_definition(
    ones: Sequence[list[Any]], others: Sequence[list[Any]]
) -> None:
    most = min(len(ones), len(others))
    one, other = (
        pl.DataFrame({str(j): cells for j, cells in enumerate(some[:most])}, pl.Schema(
            {str(j): pl.String for j in range(most)})) for some in (ones, others)
    )  # fmt: skip
    found = marginals(one, [other])
    assert found.score == pytest.approx(oracle(one, other, 2))
    assert (found.triples is None) is (most == 2)
    if found.triples is not None:
        assert found.triples == pytest.approx(oracle(one, other, 3))
    assert found.score == pytest.approx(1000 * (1 - statistics.fmean(found.distances.values())))


def test_numbers_are_compared_in_bins_of_equally_many_rows() -> None:
    one = pl.DataFrame({"x": np.arange(1000.0), "y": ["a"] * 1000})
    low, high = one.with_columns(pl.col("x") + 0.3), one.with_columns(pl.col("x") + 500)
    assert marginals(one, [low]).score > 990
    assert marginals(one, [high]).score == pytest.approx(500, abs=10)
    half = pl.DataFrame({"x": [None, 5.0], "y": ["a", "a"]})
    below_all = half.with_columns(pl.col("x").fill_null(1.0))  # which is not missing
    assert marginals(half, [below_all]).score == 500


def test_a_sample_is_as_good_as_a_sample_of_its_size() -> None:
    frame = people(20_000).select("age", "sex", "education", "diagnosis")
    for share in (0.05, 0.4):
        found = marginals(frame, [frame.sample(fraction=share, seed=3)])
        assert found.as_sample == pytest.approx(share, rel=0.25)
    assert marginals(frame, [frame]).as_sample == 1


def test_the_pair_that_lost_most_is_named_first() -> None:
    frame = people(2_000).select("age", "sex", "education")
    shuffled = frame.with_columns(pl.col("age").shuffle(seed=0), pl.lit("Male").alias("sex"))
    assert "sex" in marginals(frame, [shuffled]).worst[0]


# ── uses ────────────────────────────────────────────────────────────────────────────────────────

FRAME = people(3_000).select("age", "sex", "education", "length_of_stay", "diagnosis")
LEVELS = typed_levels(FRAME, 10)


def estimates(text: str, frame: pl.DataFrame = FRAME) -> dict[str, tuple[float, float]]:
    found = estimates_of(Use.of(text, frame.columns), frame, LEVELS)
    return {one.label: (one.value, one.variance) for one in found}


def test_counts_of_fewer_rows_are_scaled_with_their_error() -> None:
    whole = pl.DataFrame({"x": [*"ab" * 50], "y": 1})
    (use,) = of_frames(whole, [whole[:50]] * 2, ["count where x = a"]).uses
    (count,) = use.figures
    assert (count.original, count.released) == (50, 50)
    half = 1.959964 * 2 * math.sqrt(50 / 4)  # in 50 rows, then twice
    assert count.released_interval == pytest.approx((50 - half, 50 + half), rel=1e-6)


def test_figures_that_only_the_release_has_are_counted_too() -> None:
    flat = pl.DataFrame({"x": range(20), "y": [1] * 20})  # nothing is correlated with y
    drawn = [flat.with_columns(y=pl.Series([*range(19), 0]))] * 2
    assert of_frames(flat, drawn, ["correlation of x and y"]).uses[0].lost == 1


def test_dates_of_the_original_are_read_in_their_format() -> None:
    frame = pl.DataFrame({"born": [f"{1 + n % 20:02}.03.1970" for n in range(40)], "x": range(40)})
    column = {"type": "date", "format": "%d.%m.%Y"}
    schema = covey.Schema.of(quasi={"born": column}, insensitive=["x"])
    reader = read_release(covey.anonymize(frame, schema, k=2).table, schema=schema)
    (use,) = utility(frame, reader, uses=["count where born < 1970-03-11"]).uses
    assert use.figures[0].original == 20


def test_values_of_ten_rows_have_figures_of_their_own_and_those_of_nine_share_one() -> None:
    assert typed_levels(pl.DataFrame({"x": [*"a" * 10, *"b" * 9]}), 10) == {"x": ["a", OTHERS]}


def test_means_medians_and_shares_are_those_of_the_rows() -> None:
    women = FRAME.filter(pl.col("sex") == "Female")["length_of_stay"].to_list()
    value, variance = estimates("mean of length_of_stay by sex")["Female"]
    assert value == pytest.approx(statistics.fmean(women))
    assert variance == pytest.approx(statistics.variance(women) / len(women))
    old = FRAME.filter(pl.col("age") >= 65)["sex"].to_list()
    share, of_share = estimates("share of sex = Female where age >= 65")[""]
    assert share == pytest.approx(old.count("Female") / len(old))
    assert of_share == pytest.approx(share * (1 - share) / len(old))


@pytest.mark.parametrize(("kind", "place"), [*zip(QUANTILES, (1, 0, 2), strict=True)])
def test_quartiles_are_those_of_the_rows_with_the_error_of_resampling(
    kind: str, place: int
) -> None:
    income = people(3_000)["income"].drop_nulls().to_numpy()
    use = Use("", kind, ("income",))
    (found,) = estimates_of(use, pl.DataFrame({"income": income}), {})
    assert found.value == statistics.quantiles(income.tolist(), n=4, method="inclusive")[place]
    resampled = np.random.default_rng(0).choice(income, (400, len(income)))
    error = np.quantile(resampled, QUANTILES[kind], axis=1).std()
    assert math.sqrt(found.variance) == pytest.approx(error, rel=0.25)


def test_counts_and_conditions_are_those_of_the_rows() -> None:
    text = 'count by sex where age < 30 and diagnosis != "Back pain"'
    part = FRAME.filter((pl.col("age") < 30) & (pl.col("diagnosis") != "Back pain"))
    for sex, (value, _) in estimates(text).items():
        assert value == part.filter(pl.col("sex") == sex).height


def test_regressions_and_correlations_are_those_of_scipy() -> None:
    one, other = FRAME["age"].to_numpy(), FRAME["length_of_stay"].to_numpy()
    line = stats.linregress(one, other)
    value, variance = estimates("regress length_of_stay on age")["age"]
    assert (value, math.sqrt(variance)) == pytest.approx((line.slope, line.stderr))
    value, variance = estimates("correlation of age and length_of_stay")[""]
    low, high = stats.pearsonr(one, other).confidence_interval()
    half = 1.959964 * math.sqrt(variance)
    assert (math.tanh(value - half), math.tanh(value + half)) == pytest.approx((low, high))


def test_a_regression_on_labels_compares_with_the_most_frequent_one() -> None:
    found = estimates("regress length_of_stay on sex")
    means = estimates("mean of length_of_stay by sex")
    first, second = LEVELS["sex"]
    assert found["constant"][0] == pytest.approx(means[first][0])
    assert found[f"sex = {second}"][0] == pytest.approx(means[second][0] - means[first][0])


def test_values_of_few_people_have_no_figures_of_their_own() -> None:
    frame = pl.DataFrame({"x": [1.0] * 30, "g": ["a"] * 12 + ["b"] * 12 + [*"cdefgh"]})
    levels = typed_levels(frame, 10)
    assert levels["g"][2:] == [OTHERS]
    found = estimates_of(Use.of("count by g", frame.columns), frame, levels)
    assert {one.label: one.value for one in found} == {"a": 12, "b": 12, OTHERS: 6}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "kind of use"),
        ("average of age", "must begin"),
        ("mean age", "'of'"),
        ("mean of agee", "'age'"),
        ("mean of age by", "at its end"),
        ("count where age ~ 3", "one of ="),
        ("share of sex", "'='"),
        ("regress age sex", "'on'"),
        ("correlation of age and age", "two columns"),
        ("regress age on sex, age", "on itself"),
        ("mean of age with sex", "after its end"),
        ('count where sex = "Male', "quote"),
    ],
)
def test_a_use_that_cannot_be_read_says_why(text: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        Use.of(text, FRAME.columns)


def test_groups_come_before_or_after_the_conditions() -> None:
    first, last = (
        Use.of(text, FRAME.columns)
        for text in ("count by sex where age > 3", "count where age > 3 by sex")
    )
    assert replace(first, text="") == replace(last, text="")
    assert last.by == "sex"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("count where age = old", "'age' has numbers"),
        ("regress diagnosis on age", "two values"),
        ("mean of sex", "'sex' has labels"),
    ],
)
def test_a_use_that_does_not_fit_its_column_says_why(text: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        estimates(text)


def test_figures_of_few_rows_are_not_given() -> None:
    frame = pl.DataFrame({"x": [*range(30)], "g": ["a"] * 25 + ["b"] * 5})
    uses = ["count where x >= 25", "count where x < 25", "share of g = b", "mean of x where x > 24"]
    found = of_frames(frame, [frame, frame], uses)
    assert not any(use.figures for use in found.uses)  # nor if all others are few
    assert share_kept(of_frames(frame, [frame, frame], uses, fewest=5).uses) == 1
    assert [use.use for use in found.published().uses] == ["use 1", "use 2", "use 3", "use 4"]


def test_a_model_tells_as_well_as_that_of_scikit_learn() -> None:
    other = FRAME.with_columns(pl.col("age") + 5, pl.col("sex").shuffle(seed=1))
    design = _design(pl.concat([FRAME, other]), LEVELS)
    drawn = np.repeat([0, 1], FRAME.height)
    model = LogisticRegression(C=1e6, max_iter=1000).fit(design, drawn)
    error = np.mean((model.predict_proba(design)[:, 1] - 0.5) ** 2)
    expected = design.shape[1] / 8 / len(drawn)  # half of the rows are drawn
    assert _pmse_ratio(FRAME, other, LEVELS) == pytest.approx(error / expected, rel=1e-3)


def test_rows_of_one_population_cannot_be_told_apart() -> None:
    ratios = [
        _pmse_ratio(FRAME.sample(1500, seed=seed), FRAME.sample(1500, seed=seed + 50), LEVELS)
        for seed in range(8)
    ]
    assert statistics.fmean(ratio or 0.0 for ratio in ratios) == pytest.approx(1, abs=0.6)


def test_a_column_that_tells_all_rows_apart_is_no_error() -> None:
    ones, twos = (pl.DataFrame({"x": [x] * 100}) for x in (1.0, 2.0))
    found = _pmse_ratio(ones, twos, typed_levels(ones, 10))
    assert found == pytest.approx((1 / 4) / (1 / 8 / 200), rel=0.01)


@pytest.mark.parametrize("freedom", [1, 1.5, 4, 37.2, 999, 1001, 1e7, math.inf])
def test_quantiles_are_those_of_scipy(freedom: float) -> None:
    for level in (0.975, 0.6, 0.1):
        assert quantile_of_t(level, freedom) == pytest.approx(stats.t.ppf(level, freedom), rel=1e-4)


# ── on a release ────────────────────────────────────────────────────────────────────────────────

QUASI, KEPT = ["age", "sex", "education"], ["length_of_stay", "diagnosis"]
USES = ("mean of length_of_stay by sex", "regress length_of_stay on age, sex")


def test_columns_that_are_kept_lose_nothing_and_others_little() -> None:
    release = covey.anonymize(FRAME, quasi=QUASI, sensitive=KEPT, k=5)
    schema = release.schema.using(USES[:1])
    found = utility(FRAME, read_release(release.table, schema=schema), uses=USES)
    by_text = {each.use: each for each in found.columns}
    assert by_text["mean of length_of_stay"].overlap == pytest.approx(1)
    assert by_text["mean of age"].overlap is not None
    assert by_text["mean of age"].overlap > 0.5
    assert [each.use for each in found.uses] == [*USES]
    assert found.uses[0].is_kept
    assert 700 < found.marginals.score < 1000
    assert found.pmse_ratio is not None
    plain = found.to_dict()
    assert plain["k_marginal"]["pairs"] == found.marginals.score
    assert plain["uses"][0]["figures"][0]["keeps_sign"]


def test_another_table_is_refused() -> None:
    release = covey.anonymize(FRAME, quasi=QUASI, sensitive=KEPT, k=5)
    reader = read_release(release.table.drop("length_of_stay"), schema=release.schema)
    with pytest.raises(UsageError, match="is it a release of this table"):
        utility(FRAME, reader)
    with pytest.raises(UsageError, match="two draws"):
        utility(FRAME, reader, draws=1)


def test_overlap_signs_and_significance_are_those_of_the_intervals() -> None:
    alike = Figure.of("", 1.0, (0.0, 2.0), 1.5, (1.0, 2.0))
    assert alike.overlap == pytest.approx((1 / 2 + 1 / 1) / 2)
    assert alike.keeps_sign
    assert not alike.keeps_significance
    apart = Figure.of("", 1.0, (0.5, 1.5), -1.0, (-2.0, -0.5))
    assert apart.overlap == 0
    assert not apart.keeps_sign
    assert apart.keeps_significance
