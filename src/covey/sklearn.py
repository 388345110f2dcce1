"""covey as estimators of scikit-learn: `Anonymizer` in a pipeline, `ReleaseEncoder` for releases.

Both take arrays and dataframes. They come with the extra `covey[workload]`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from covey._core.arrays import Floats, Longs
from covey.encoding.categories import members_of
from covey.encoding.intervals import SHOWN
from covey.errors import UsageError, count
from covey.pipeline import cluster
from covey.reading.columns import CoarseLabels, CoarseNumbers
from covey.reading.guess import column_of
from covey.schema import Column, Schema
from covey.schema.taxonomy import ROOT
from covey.tables.csv_files import Dialect
from covey.tables.formats.common import whole_again

_AT_ONCE = 1 << 22  # comparisons of rows with classes
Mask = NDArray[np.bool_]


# ── tables ──────────────────────────────────────────────────────────────────────────────────────


def _columns(estimator: Any, table: Any, *, reset: bool) -> list[pl.Series]:
    """The columns of a table: numbers as floats, all else as texts."""
    if isinstance(table, pl.DataFrame):  # numpy has no type for dates beside numbers
        table = table.with_columns(pl.selectors.temporal().cast(pl.String))
    elif hasattr(table, "select_dtypes"):  # of pandas
        table = table.astype(dict.fromkeys(table.select_dtypes("datetime"), object))
    found = validate_data(estimator, table, dtype=None, ensure_all_finite="allow-nan", reset=reset)
    return [_column(found[:, place], str(place)) for place in range(found.shape[1])]


def _column(values: NDArray[Any], name: str) -> pl.Series:
    if values.dtype.kind in "biuf":
        return pl.Series(name, values.astype(np.float64)).fill_nan(None)
    cells = [None if cell is None or cell != cell else cell for cell in values.tolist()]
    if all(cell is None or isinstance(cell, Real) for cell in cells):
        return pl.Series(name, cells, dtype=pl.Float64)
    wrong = next((c for c in cells if not (c is None or isinstance(c, str | Real))), None)
    if wrong is not None and not hasattr(wrong, "isoformat"):
        raise TypeError(
            f"argument must be a string, a date or a number, not {type(wrong).__name__}"
        )
    return pl.Series(name, [None if cell is None else str(cell) for cell in cells], dtype=pl.String)


def _names(estimator: Any) -> list[str]:
    own = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(estimator.n_features_in_)] if own is None else [*map(str, own)]


# ── rows into classes ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _Shown:
    """What the classes show of one column: numbers between two ends, or some labels."""

    low: Floats  # of each class; the codes of labels are all between 0 and their number
    high: Floats
    allowed: Mask | None  # of each class and label; None for numbers
    labels: Mapping[str, int]
    with_missing: Mask  # the classes that have a missing cell
    middle: NDArray[Any]  # of each class: what is shown instead of its cells
    widths: Floats  # 0 to 1

    @classmethod
    def of(cls, cells: pl.Series, groups: Longs, count: int) -> "_Shown":
        """What `count` groups of rows show."""
        missing = np.bincount(groups[cells.is_null().to_numpy()], minlength=count) > 0
        known = pl.DataFrame({"group": groups, "cell": cells}).drop_nulls()
        if cells.dtype == pl.String:
            return cls._of_labels(known, missing, count)
        ends = known.group_by("group").agg(
            pl.col("cell").min().alias("low"), pl.col("cell").max().alias("high")
        )
        low, high = np.full((2, count), np.nan)
        low[ends["group"].to_numpy()] = ends["low"].to_numpy()
        high[ends["group"].to_numpy()] = ends["high"].to_numpy()
        width = np.ptp(known["cell"].to_numpy()) if known.height else 0.0
        widths = np.nan_to_num((high - low) / (width or 1.0))
        return cls(low, high, None, {}, missing, low + (high - low) / 2, widths)

    @classmethod
    def _of_labels(cls, known: pl.DataFrame, missing: Mask, count: int) -> "_Shown":
        labels = {label: code for code, label in enumerate(known["cell"].unique().sort())}
        codes = np.array([labels[label] for label in known["cell"]], dtype=np.int64)
        often = np.zeros((count, max(len(labels), 1)), dtype=np.int64)
        np.add.at(often, (known["group"].to_numpy(), codes), 1)
        allowed = often > 0
        names = np.array([*labels, None], dtype=object)
        likely = np.where(allowed.any(axis=1), often.argmax(axis=1), len(labels))
        widths = (allowed.sum(axis=1) - 1).clip(0) / max(len(labels) - 1, 1)
        ends = np.zeros(count), np.full(count, float(len(labels)))
        return cls(*ends, allowed, labels, missing, names[likely], widths)

    def take(self, kept: Longs) -> "_Shown":
        """Some of the classes."""
        return _Shown(
            self.low[kept],
            self.high[kept],
            None if self.allowed is None else self.allowed[kept],
            self.labels,
            self.with_missing[kept],
            self.middle[kept],
            self.widths[kept],
        )

    def codes(self, cells: pl.Series) -> Floats:
        """Numbers as they are and labels as codes, -1 if no class shows them; NaN if missing."""
        if self.allowed is None:
            numbers = cells.cast(pl.Float64, strict=False)
            if wrong := numbers.null_count() - cells.null_count():
                raise ValueError(f"a column that was numbers has {count(wrong, 'cell')} of text")
            return numbers.fill_null(np.nan).to_numpy()
        found = [np.nan if cell is None else self.labels.get(cell, -1) for cell in cells]
        return np.array(found, dtype=np.float64)

    def fits(self, codes: Floats) -> Mask:
        """Whether each row (down) fits each class (across)."""
        cell = codes[:, None]
        if self.allowed is None:
            fits: Mask = (self.low <= cell) & (cell <= self.high)
        else:
            known = np.nan_to_num(codes, nan=-1).astype(np.int64)
            fits = self.allowed.T[known.clip(0)] & (known >= 0)[:, None]
        return fits | (np.isnan(cell) & self.with_missing)


class Anonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Show rows as classes of at least k rows that look the same.

    `fit` forms classes, by numbers and labels in the columns `quasi` (names or places; all by
    default). `transform` shows every row as the class that it fits, the narrowest if it fits
    several: numbers by the middle, labels by the most frequent one. A row that fits no class is
    held back: it is missing in these columns, and `held_back` names it. So new rows never make
    a class that has not been there.

    The fitted object holds what the classes show, and no row. The columns that are not `quasi` stay
    as they are: remove what identifies people before.

    The groups depend on `random_state`, and whoever knows it and guesses the table can form them
    again: publish tables with `covey.anonymize`, which draws from your key.
    """

    def __init__(
        self,
        k: int = 10,
        *,
        quasi: Sequence[str | int] | None = None,
        method: str = "covey",
        random_state: int = 0,
    ) -> None:
        self.k = k
        self.quasi = quasi
        self.method = method
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - as scikit-learn has it
        """Form classes of at least k rows."""
        columns = _columns(self, X, reset=True)
        rows = len(columns[0])
        if rows < self.k:
            raise ValueError(f"k={self.k} needs as many rows, and n_samples={rows}")
        self.quasi_ = self._places()
        chosen = [columns[place] for place in self.quasi_]
        schema = Schema.of(
            quasi={c.name: "categorical" if c.dtype == pl.String else "numeric" for c in chosen}
        )
        frame = pl.DataFrame(chosen)
        try:
            formed = cluster(
                frame, schema, k=self.k, method=self.method, seed=self.random_state
            ).labels
        except UsageError as error:
            raise ValueError(str(error)) from None
        kept = np.flatnonzero(formed >= 0)
        count = int(formed.max()) + 1
        shown = [_Shown.of(cells[kept], formed[kept].astype(np.int64), count) for cells in chosen]
        self.classes_, self.sizes_ = self._settled(shown, chosen)
        return self

    def _places(self) -> list[int]:
        """The places of the quasi-identifiers."""
        if self.quasi is None:
            return [*range(self.n_features_in_)]
        names = {name: place for place, name in enumerate(_names(self))}
        places = [names.get(one, one) if isinstance(one, str) else one for one in self.quasi]
        for place in places:
            if isinstance(place, str) or not 0 <= place < self.n_features_in_:
                raise ValueError(f"the table has no column {place!r}")
        return [int(place) for place in places]

    def _settled(
        self, shown: list[_Shown], cells: Sequence[pl.Series]
    ) -> tuple[list[_Shown], Longs]:
        """The classes that k rows or more are put into, narrowest first, and their sizes.

        Each row goes to the narrowest class that it fits, as new rows will. What is left of a wider
        class may be too small: then it goes, and its rows look for another one.
        """
        order = np.argsort(sum(one.widths for one in shown), kind="stable")
        shown = [one.take(order) for one in shown]
        while True:
            found = _classes_of(shown, cells)
            sizes = np.bincount(found[found >= 0], minlength=len(shown[0].low))
            kept = np.flatnonzero(sizes >= self.k)
            if len(kept) == len(sizes):
                return shown, sizes.astype(np.int64)
            shown = [one.take(kept) for one in shown]

    def transform(self, X: Any) -> NDArray[Any]:
        """Show each row as its class; what fits none is missing."""
        columns, found = self._found(X)
        whole = all(cells.dtype != pl.String for cells in columns)
        shown = np.empty((len(found), len(columns)), dtype=np.float64 if whole else object)
        for place, cells in enumerate(columns):
            shown[:, place] = cells.to_numpy() if whole else np.array(cells.to_list(), object)
        for place, one in zip(self.quasi_, self.classes_, strict=True):
            nothing = np.array([np.nan if one.allowed is None else None], dtype=one.middle.dtype)
            shown[:, place] = np.concatenate([one.middle, nothing])[found]
        return shown

    def held_back(self, X: Any) -> Mask:
        """The rows that fit no class."""
        found: Mask = self._found(X)[1] < 0
        return found

    def _found(self, X: Any) -> tuple[list[pl.Series], Longs]:
        check_is_fitted(self)
        columns = _columns(self, X, reset=False)
        return columns, _classes_of(self.classes_, [columns[place] for place in self.quasi_])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """The names of the columns, which stay the same."""
        check_is_fitted(self)
        return np.array(_names(self), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _classes_of(shown: Sequence[_Shown], cells: Sequence[pl.Series]) -> Longs:
    """The first class that each row fits, -1 if none."""
    codes = [one.codes(column) for one, column in zip(shown, cells, strict=True)]
    rows, count = len(codes[0]), len(shown[0].low)
    found = np.full(rows, -1, dtype=np.int64)
    step = max(_AT_ONCE // max(count, 1), 1)
    for begin in range(0, rows if count else 0, step):
        part = slice(begin, begin + step)
        fits = np.ones((len(codes[0][part]), count), dtype=np.bool_)
        for one, column in zip(shown, codes, strict=True):
            fits &= one.fits(column[part])
        found[part] = np.where(fits.any(axis=1), fits.argmax(axis=1), -1)
    return found


# ── releases as features ────────────────────────────────────────────────────────────────────────


class ReleaseEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Numbers for the cells of a release, and the same for ordinary rows.

    A column of numbers or dates becomes the middle of each cell, a column of labels one for each
    label: the share of it among those that the cell may stand for. So a model that was trained on
    a release predicts ordinary rows.

    `schema` says what the columns are, by their names; otherwise the forms of their cells do. With
    `widths`, the width of each cell of numbers or dates is a feature, too. It is 0 for all ordinary
    rows, so a model that has learnt from it predicts them badly; it is for models of releases.
    """

    def __init__(self, schema: Schema | None = None, *, widths: bool = False) -> None:
        self.schema = schema
        self.widths = widths

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - as scikit-learn has it
        """Learn the labels, and what stands for a missing number."""
        columns = _columns(self, X, reset=True)
        self.columns_ = [self._of(n, c) for n, c in zip(_names(self), columns, strict=True)]
        return self

    def _of(self, name: str, cells: pl.Series) -> "_Numbers | _Labels":
        if self.schema is not None and name in self.schema.quasi:
            column = self.schema.columns[name]
        else:
            column = _guessed(cells)
        kind = _Numbers if column.is_ordered else _Labels
        return kind.learnt(column, cells)

    def transform(self, X: Any) -> Floats:
        """The numbers of each row."""
        check_is_fitted(self)
        columns = _columns(self, X, reset=False)
        return np.column_stack(
            [
                one.features(cells)[:, : len(self._endings(one))]
                for one, cells in zip(self.columns_, columns, strict=True)
            ]
        )

    def _endings(self, one: "_Numbers | _Labels") -> tuple[str, ...]:
        """What the names of the features of a column end in."""
        return one.endings if self.widths or isinstance(one, _Labels) else one.endings[:1]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """NAME for numbers, with `widths` NAME_width, too, and NAME_LABEL for labels."""
        check_is_fitted(self)
        pairs = zip(_names(self), self.columns_, strict=True)
        return np.array(
            [name + end for name, one in pairs for end in self._endings(one)], dtype=object
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _guessed(cells: pl.Series) -> Column:
    """What a column is, by its cells; all of them are features, generalised or not."""
    if cells.dtype != pl.String:
        return Column.model_validate({"role": "quasi", "type": "numeric"})
    found = column_of(cells.drop_nulls().unique().to_list())
    return Column.model_validate({"type": "categorical", **found, "role": "quasi"})


@dataclass(frozen=True, eq=False)
class _Numbers:
    column: Column
    usual: float  # stands for what is not shown
    widest: float
    endings: tuple[str, ...] = ("", "_width")

    @classmethod
    def learnt(cls, column: Column, cells: pl.Series) -> "_Numbers":
        read = cls(column, 0.0, 0.0)._read(cells)
        shown = read.state == SHOWN
        if not shown.any():
            return cls(column, 0.0, 0.0)
        low, high = read.low[shown], read.high[shown]
        return cls(column, float(np.mean((low + high) / 2)), float(high.max() - low.min()))

    def features(self, cells: pl.Series) -> Floats:
        read = self._read(cells)
        shown = read.state == SHOWN
        middle = np.where(shown, (read.low + read.high) / 2, self.usual)
        return np.column_stack([middle, np.where(shown, read.high - read.low, self.widest)])

    def _read(self, cells: pl.Series) -> CoarseNumbers:
        rows = np.arange(len(cells))
        return CoarseNumbers.of(cells.name, self.column, [cells], rows, Dialect())


def _texts(cells: pl.Series) -> pl.Series:
    """Labels as a release writes them; ordinary rows may have codes as numbers."""
    return (whole_again(cells) if cells.dtype.is_float() else cells).cast(pl.String)


@dataclass(frozen=True, eq=False)
class _Labels:
    labels: Mapping[str | None, int]
    known: Mapping[str | None, tuple[str | None, ...]]  # what each cell may stand for

    @classmethod
    def learnt(cls, column: Column, cells: pl.Series) -> "_Labels":
        distinct = _texts(cells).unique().sort()
        read = CoarseLabels.of(cells.name, column, distinct, np.arange(len(distinct)), Dialect())
        known = dict(zip(distinct.to_list(), read.labels, strict=True))
        every = sorted(
            {label for some in read.labels for label in some}, key=lambda x: (x is None, x)
        )
        return cls({label: place for place, label in enumerate(every)}, known)

    @property
    def endings(self) -> tuple[str, ...]:
        return tuple(f"_{label}" for label in self.labels)

    def features(self, cells: pl.Series) -> Floats:
        texts = _texts(cells).to_list()
        places = {cell: place for place, cell in enumerate(dict.fromkeys(texts))}
        shares = np.zeros((len(places), len(self.labels)))
        for cell, place in places.items():
            stands_for = self._stands_for(cell)
            for label in stands_for:
                if label in self.labels:
                    shares[place, self.labels[label]] = 1 / len(stands_for)
        of_rows: Floats = shares[[places[cell] for cell in texts]]
        return of_rows

    def _stands_for(self, cell: str | None) -> Sequence[str | None]:
        """The labels of a cell, also of one that was not there before."""
        if cell in self.known or cell is None:
            return self.known.get(cell, (None,))
        if cell.endswith(ROOT):
            stem = cell.rstrip(ROOT)
            return [label for label in self.labels if (label or "").startswith(stem)] or [cell]
        return members_of(cell)
