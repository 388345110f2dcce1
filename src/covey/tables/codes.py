"""Codes that other software turned into numbers: 10596.0, and 1234 for 01234."""

from collections.abc import Mapping

import polars as pl

from covey.schema import ColumnType, Schema
from covey.tables.formats.common import whole_again

_WIDE = 4  # digits of a code that is likely to have had zeros before it
_MOSTLY = 0.5


def as_written(frame: pl.DataFrame, schema: Schema | None) -> pl.DataFrame:
    """The same cells, with whole floats as whole numbers where the schema has categories.

    pandas makes floats of whole numbers as soon as one is missing.
    """
    return frame.with_columns(whole_again(frame[name]) for name in floats(frame.schema, schema))


def floats(types: Mapping[str, pl.DataType], schema: Schema | None) -> list[str]:
    """The columns of floats where the schema has categories."""
    return [name for name in _categorical(types, schema) if types[name].is_float()]


def notes(frame: pl.DataFrame, schema: Schema | None) -> list[str]:
    """Which columns of codes have probably lost zeros."""
    return [
        f"column {name!r}: some codes have fewer digits than most; if they began with zeros, "
        "read the column as text"
        for name in _categorical(frame.schema, schema)
        if frame.schema[name].is_integer() and _is_cut(frame[name])
    ]


def _categorical(types: Mapping[str, pl.DataType], schema: Schema | None) -> list[str]:
    return [
        name
        for name, column in (schema.columns if schema else {}).items()
        if name in types and column.type is ColumnType.CATEGORICAL and not column.is_removed
    ]


def _is_cut(codes: pl.Series) -> bool:
    """Whether most numbers have the same many digits, some fewer, and none more."""
    digits = codes.drop_nulls().abs().cast(pl.String).str.len_chars()
    most = digits.max()
    if not isinstance(most, int) or most < _WIDE or digits.min() == most:
        return False
    return int((digits == most).sum()) > _MOSTLY * len(digits)
