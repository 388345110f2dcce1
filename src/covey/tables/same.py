"""Whether a table that was written and read back still shows the same cells."""

import polars as pl

from covey.errors import OutputError, about_cells
from covey.tables.codebook import as_codes
from covey.tables.table import Table

_LAST_DIGITS = 1e-14  # a spreadsheet stores fewer digits than a float has


def refuse_changed(written: Table, again: Table) -> None:
    """Refuse a format that has changed a cell, by more than its type."""
    for name in written.frame.columns:
        ours, theirs = written.cells(name), again.cells(name)
        if ours.dtype == theirs.dtype and ours.equals(theirs):
            continue
        differs = ~_same(*(_text(cells, written.dialect.decimal) for cells in (ours, theirs)))
        if differs.any():
            what = "with a cell that this format does not keep"
            remedy = "the release is not published: write .csv or .parquet"
            raise about_cells(OutputError, name, differs.to_numpy(), what, remedy)


def _same(ours: pl.Series, theirs: pl.Series) -> pl.Series:
    our, their = (cells.cast(pl.Float64, strict=False) for cells in (ours, theirs))
    near = (our - their).abs() <= _LAST_DIGITS * our.abs()
    return (ours.eq_missing(theirs)) | near.fill_null(value=False)


def _text(cells: pl.Series, decimal: str) -> pl.Series:
    """The text of each cell; a day is the same with and without its midnight."""
    if cells.dtype.is_float():
        return as_codes(cells.cast(pl.String).cast(pl.Float64))
    text = cells.cast(pl.String)
    if cells.dtype.is_temporal() or cells.dtype == pl.String:
        text = text.str.replace(decimal, ".", literal=True)
        text = text.str.replace(r"[ T]00:00:00(\.0+)?$", "").str.replace(r"(:[0-9]{2})\.0+$", "$1")
    return text
