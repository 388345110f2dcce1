"""Measure how well a class can still be predicted from a release.

The classifier learns from released rows and predicts the classes of other people from their
original rows, so it must know the original row of each released row.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from covey._core.arrays import Floats, Longs
from covey.encoding import Category, EncodedTable, Interval
from covey.encoding.attributes import Mask
from covey.errors import TableError, UsageError
from covey.generalisation import View
from covey.generalisation.classes import index_of_rows
from covey.measures.spans import Spans, original_spans, released_spans

FOLDS = 5
MOST_PEOPLE = 10_000  # to learn from and to predict
MOST_CLASSES = 100
MOST_LEAVES = 100  # of a column with their own feature


@dataclass(frozen=True)
class Accuracy:
    """The share of people whose class is predicted correctly, without learning from them.

    The AUC is the probability that the classifier gives a random person of a class a higher
    probability of it than a random person of another class: the mean over the classes. Unlike
    the share, it is 0.5 for every guess. It is None if no part of the people has two classes.
    """

    released: float  # learning from released rows
    original: float  # learning from original rows
    majority: float  # always guessing the most frequent class
    auc_released: float | None
    auc_original: float | None


def classifier_accuracy(view: View, rows: Longs, classes: pl.Series, *, seed: int = 0) -> Accuracy:
    """The accuracy and the AUC of a classifier for people whom it has not learnt from.

    `rows` gives the original row of each released row; `classes` is the class column of the
    original, and has its name in the release. People are split at random into five parts; a
    logistic regression over the rows of four parts, released or original, predicts the fifth. If
    there are more than 10,000 people, a random sample of 10,000 is used.

    Logistic regression has a single optimum, found without randomness or tuning, and is linear in
    its features: a cell that covers three values counts as their mean. A number has two features,
    the middle of its interval and whether it is missing; a category has the share of each leaf in
    the released node.
    """
    original, table = view.row_by_row.original, view.row_by_row.released
    released = table.frame
    if classes.name not in released.columns:
        raise TableError(f"column {classes.name!r} is not in the released table")
    random = np.random.default_rng(seed)
    people = np.sort(random.permutation(original.rows)[:MOST_PEOPLE])
    part = random.permutation(np.arange(len(people)) % FOLDS)
    # Released rows of these people, in the order of the original, like `people`.
    originals = np.argsort(rows, kind="stable")
    originals = originals[np.isin(rows[originals], people)]
    person = np.searchsorted(people, rows[originals])
    truth, labels = _class_codes(classes[people], released[classes.name][originals])
    known = features(original, original_spans(original), people)
    spans = released_spans(view.columns, index_of_rows(table, view.classes.cells))
    shown = features(original, spans, originals)
    guesses: dict[str, list[_Guess]] = {"released": [], "original": []}
    for fold in range(FOLDS):
        held_out, learnt = part == fold, part[person] != fold
        tested = known[held_out], truth[held_out]
        guesses["released"].append(_Guess.of(shown[learnt], labels[learnt], *tested))
        guesses["original"].append(_Guess.of(known[~held_out], truth[~held_out], *tested))
    right = {name: sum(one.right for one in some) for name, some in guesses.items()}
    return Accuracy(
        released=right["released"] / len(people),
        original=right["original"] / len(people),
        majority=float(np.bincount(truth).max()) / len(people),
        auc_released=_mean_auc(guesses["released"]),
        auc_original=_mean_auc(guesses["original"]),
    )


def _class_codes(original: pl.Series, released: pl.Series) -> tuple[Longs, Longs]:
    both = pl.concat([original.cast(pl.String), released.cast(pl.String)])
    codes = both.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    if len(np.unique(codes)) > MOST_CLASSES:
        raise UsageError(
            f"class column {original.name!r} has more than {MOST_CLASSES} values; choose another"
        )
    return codes[: len(original)], codes[len(original) :]


def features(original: EncodedTable, spans: Sequence[Spans], rows: Longs) -> Floats:
    """The features of some rows, the same for original and released cells."""
    numbers = len(original.intervals)
    parts = [
        *map(_middles, original.intervals, spans[:numbers]),
        *map(_leaf_shares, original.categories, spans[numbers:]),
    ]
    return np.hstack([part[span.cell[rows]] for part, span in zip(parts, spans, strict=True)])


def _middles(interval: Interval, spans: Spans) -> Floats:
    """The middle of each interval as 0 … 1 of the domain; 0.5 and a flag if missing."""
    middle = (spans.low + spans.high) / 2 - interval.low
    scaled = middle / interval.width if interval.width else middle
    missing = np.isnan(scaled)
    return np.column_stack([np.where(missing, 0.5, scaled), missing])


def _leaf_shares(category: Category, spans: Spans) -> Floats:
    """One feature for each frequent leaf, and one for all others together."""
    counts = np.bincount(category.leaves, minlength=category.tree.leaf_count)
    common = np.sort(np.argsort(-counts, kind="stable")[:MOST_LEAVES])
    covers = (spans.low[:, None] <= common) & (common <= spans.high[:, None])
    shares = covers / (spans.high - spans.low + 1)[:, None]
    return np.column_stack([shares, 1 - shares.sum(axis=1)])


@dataclass(frozen=True, eq=False)
class _Guess:
    """The predictions for one part of the people."""

    truth: Longs
    probabilities: Floats  # of each person (down) and class (across)

    @classmethod
    def of(cls, learnt: Floats, classes: Longs, tested: Floats, truth: Longs) -> "_Guess":
        every = int(max(truth.max(initial=-1), classes.max(initial=-1))) + 1
        probabilities = np.zeros((len(tested), every))
        if len(np.unique(classes)) > 1 and len(tested):
            # What is the same for all learnt rows says nothing, not even by the last rounding.
            varies = np.ptp(learnt, axis=0) > 0
            found = _predict(learnt * varies, classes, tested * varies)
            probabilities[:, np.unique(classes)] = found
        else:
            probabilities[:, classes[:1]] = 1
        return cls(truth, probabilities)

    @property
    def right(self) -> int:
        """The number of correct predictions; none if there were no rows to learn from."""
        known = self.probabilities.any(axis=1)
        return int(np.count_nonzero(known & (self.probabilities.argmax(axis=1) == self.truth)))

    @property
    def auc(self) -> float | None:
        """The mean AUC of the classes, each against all others; None if all are of one class."""
        found = np.unique(self.truth)
        if len(found) < 2:
            return None
        return float(np.mean([auc(self.probabilities[:, one], self.truth == one) for one in found]))


def _mean_auc(guesses: Sequence[_Guess]) -> float | None:
    found = [one.auc for one in guesses if one.auc is not None]
    return float(np.mean(found)) if found else None


def auc(scores: Floats, positive: Mask) -> float:
    """The area under the receiver operating characteristic curve, by ranks (Mann and Whitney).

    The probability that a random positive scores higher than a random negative; ties count half.
    """
    ranks = pl.Series(scores).rank("average").to_numpy()
    ones = int(np.count_nonzero(positive))
    above = float(ranks[positive].sum()) - ones * (ones + 1) / 2
    return above / (ones * (len(scores) - ones))


def _predict(learnt: Floats, classes: Longs, tested: Floats) -> Any:
    """The probabilities of the learnt classes, in ascending order."""
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise UsageError("the classifier needs scikit-learn: install covey[workload]") from None
    # One thread: sums are the same on every machine, and small matrices are not slower.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # near the optimum is good enough
        return LogisticRegression(tol=1e-3).fit(learnt, classes).predict_proba(tested)
