"""Dataframes of polars, pandas and pyarrow: in as plain columns, out as the caller's kind.

A release keeps how its columns came, and nothing of what was in them: no reference to the caller's
frame, and of the categories of pandas only those that the release shows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import polars as pl

from covey.errors import TableError
from covey.tables.csv_files import check_names
from covey.tables.formats import arrow


@dataclass(frozen=True)
class Came:
    """The type of a caller's column, which its cells alone do not say."""

    read_as: pl.DataType
    dtype: Any = None  # of pandas; never one with categories
    cast: pl.DataType | None = None  # the type before the cells were read as codes
    categories: tuple[Any, ...] | None = None
    ordered: bool = False


@dataclass(frozen=True)
class Back:
    """How to give a table back as the caller's kind of dataframe."""

    kind: Any = nw.Implementation.POLARS
    lazy: bool = False
    columns: Mapping[str, Came] = field(default_factory=dict)

    def __call__(self, released: pl.DataFrame) -> Any:
        """The same cells in fresh memory."""
        fresh = arrow.fresh(self._as_before(released))
        if self.kind is nw.Implementation.POLARS:
            return fresh.lazy() if self.lazy else fresh
        native = fresh.to_arrow(compat_level=pl.CompatLevel.oldest())
        if self.kind is not nw.Implementation.PANDAS:
            return nw.DataFrame.from_arrow(native, backend=self.kind).to_native()
        frame = _pandas(native)
        for place, cells in enumerate(fresh):
            came = self.columns.get(cells.name)
            if came is not None and cells.dtype == (came.cast or came.read_as):
                frame.isetitem(place, _as_it_came(frame.iloc[:, place], came))
        return frame

    def of(self, frame: pl.DataFrame) -> "Back":
        """The same, with only those categories that the frame shows."""
        return replace(
            self,
            columns={
                name: replace(came, categories=_present(came.categories, frame[name]))
                for name, came in self.columns.items()
                if name in frame.columns
            },
        )

    def with_codes(self, frame: pl.DataFrame, codes: pl.DataFrame) -> "Back":
        """The same for columns of which some were read as codes."""
        changed = {
            name: replace(
                self.columns.get(name, Came(dtype)), read_as=codes.schema[name], cast=dtype
            )
            for name, dtype in frame.schema.items()
            if codes.schema[name] != dtype
        }
        return replace(self, columns={**self.columns, **changed})

    def _as_before(self, released: pl.DataFrame) -> pl.DataFrame:
        return released.with_columns(
            pl.col(name).cast(came.cast)
            for name, came in self.columns.items()
            if came.cast is not None and released.schema.get(name) == came.read_as
        )


def read(source: Any) -> tuple[pl.DataFrame, Back]:
    """The columns of a dataframe, and how to give back others of the same kind."""
    lazy = isinstance(source, pl.LazyFrame)
    if lazy:
        source = _collected(source)
    try:
        native = nw.from_native(source, eager_only=True)
        names = list(native.columns)
    except nw.exceptions.DuplicateError:
        check_names(list(getattr(source, "column_names", source.columns)))
        raise
    except Exception:
        raise TableError("not a table: pass a path, or a polars, pandas or pyarrow table") from None
    check_names(names)
    columns = []
    for name in names:
        try:
            columns.append(native.get_column(name).to_polars().rename(name))
        except (Exception, pl.exceptions.PanicException):
            raise TableError(f"column {name!r} mixes types of values; give it one type") from None
    frame = plain(pl.DataFrame(columns))
    is_pandas = native.implementation is nw.Implementation.PANDAS
    came = {name: _came(source[name], frame[name]) for name in names} if is_pandas else {}
    return frame, Back(native.implementation, lazy, came)


def unread(source: Any) -> tuple[str, ...]:
    """What a dataframe of pandas holds besides its columns."""
    index, attrs = getattr(source, "index", None), getattr(source, "attrs", None)
    numbers = index is None or not hasattr(index, "names") or type(index).__name__ == "RangeIndex"
    named = ", ".join(repr(name) for name in getattr(index, "names", ()) if name is not None)
    return (
        *([] if numbers else [f"the index of the dataframe{f' ({named})' if named else ''}"]),
        *(["the attrs of the dataframe"] if attrs else []),
    )


def _collected(source: pl.LazyFrame) -> pl.DataFrame:
    try:
        return source.collect()
    except (Exception, pl.exceptions.PanicException):
        raise TableError("the lazy frame cannot be collected: collect it to see why") from None


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert dictionaries to text, because their entries outlive the rows that used them."""
    check_names(frame.columns)
    opaque = [n for n, dtype in frame.schema.items() if not _is_plain(dtype)]
    if opaque:
        raise TableError(
            f"column {opaque[0]!r} contains lists, records or bytes; covey needs plain values"
        )
    return frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))


def _is_plain(dtype: pl.DataType) -> bool:
    calendar = dtype.is_temporal() and dtype != pl.Duration
    return calendar or dtype.is_numeric() or isinstance(dtype, _PLAIN)


_PLAIN = (pl.String, pl.Boolean, pl.Null, pl.Categorical, pl.Enum)


# ── pandas ──────────────────────────────────────────────────────────────────────────────────────


def _came(column: Any, cells: pl.Series) -> Came:
    if hasattr(column, "cat"):
        known = column.cat.categories.tolist()
        return Came(cells.dtype, categories=tuple(known), ordered=bool(column.cat.ordered))
    return Came(cells.dtype, column.dtype)


def _present(categories: tuple[Any, ...] | None, cells: pl.Series) -> tuple[Any, ...] | None:
    if categories is None:
        return None
    shown = {*cells.unique()}
    return tuple(category for category in categories if category in shown)


def _as_it_came(column: Any, came: Came) -> Any:
    """A column of pandas with the type that it had; as it is if that type cannot hold it."""
    import pandas as pd

    if came.categories is not None:
        shown = {*column.dropna().unique()}
        if not shown <= {*came.categories}:
            return column
        known = [category for category in came.categories if category in shown]
        values = pd.Categorical(column, categories=known, ordered=came.ordered)
        return pd.Series(values, index=column.index)
    try:
        made = column.astype(came.dtype)
    except (TypeError, ValueError):  # such as a gap in a column of whole numbers
        return column
    # A gap in a column of bool would have become a value.
    return made if made.isna().equals(column.isna()) else column


def _pandas(native: Any) -> Any:
    """Convert to pandas; whole numbers stay whole even if some are missing."""
    import pandas as pd

    frame = native.to_pandas()
    for place, column in enumerate(native.columns):
        if column.null_count and str(column.type).startswith(("int", "uint")):
            whole = column.to_pandas(types_mapper=lambda kind: getattr(pd, _NULLABLE[str(kind)])())
            frame.isetitem(place, whole)
    return frame


_NULLABLE = {
    f"{sign}int{bits}": f"{'U' if sign else ''}Int{bits}Dtype"
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
