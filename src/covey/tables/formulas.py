"""Text that a spreadsheet would run as a formula, made harmless and read back.

An apostrophe is put before such a text, and before a text that is apostrophes followed by a
formula. So different texts stay different, and the apostrophe can be removed again.
"""

from collections.abc import Container, Sequence

import polars as pl

from covey.errors import TableError, count
from covey.schema.labels import UNSEEN
from covey.tables.csv_files import Dialect

# The signs, including wide and small forms, which some programs treat as the plain ones. Invisible
# characters may come before them; tabs, line ends and NUL begin a formula by themselves.
_SIGNS = "[=+\\-@＝＋－＠﹦﹢﹣﹫]"
_FORMULA = rf"^'*([\t\r\n\x00]|{UNSEEN}*{_SIGNS})"


def runs(cells: pl.Series, dialect: Dialect) -> pl.Series:
    """Which texts a spreadsheet would run, or whose apostrophe it would hide; never numbers."""
    number = cells.str.strip_chars(" ").str.contains(dialect.number)
    return cells.str.contains(_FORMULA) & ~number & ~cells.is_in(list(dialect.missing))


def defused(cells: pl.Series, dialect: Dialect) -> pl.Series:
    """The texts, with an apostrophe before each that would run."""
    safe = pl.when(runs(cells, dialect)).then("'" + cells).otherwise(cells)
    return pl.select(safe.alias(cells.name)).to_series()


def defused_table(text: pl.DataFrame, dialect: Dialect) -> tuple[pl.DataFrame, int]:
    """The same table without cells that would run, and the number of changed cells."""
    _refuse_names(text.columns, dialect)
    safe = pl.DataFrame([defused(cells, dialect) for cells in text])
    changed = sum(int((safe[name] != text[name]).sum()) for name in text.columns)
    return safe, changed


def meant(values: Sequence[str], known: Container[str], dialect: Dialect) -> list[str]:
    """The labels that the texts of a column stand for: as written, or without the apostrophe.

    If some text in a column would run, the column was not defused, so its texts count as written.
    If one of the two readings is a known label, that reading is taken.
    """
    texts = pl.Series(values, dtype=pl.String)
    untouched = _would_run(texts, dialect)
    readings = (
        ((text, plain) if untouched else (plain, text)) if maybe else (text,)
        for text, plain, maybe in zip(
            texts, texts.str.slice(1), _look_defused(texts, dialect), strict=True
        )
    )
    return [next((text for text in either if text in known), either[0]) for either in readings]


def count_defused(text: pl.DataFrame, dialect: Dialect) -> int:
    """Count the cells of a CSV file that appear to have been defused."""
    return sum(
        int(_look_defused(cells, dialect).sum())
        for cells in text
        if cells.dtype == pl.String and not _would_run(cells, dialect)
    )


def _look_defused(texts: pl.Series, dialect: Dialect) -> pl.Series:
    return texts.str.starts_with("'") & runs(texts.str.slice(1), dialect)


def _would_run(texts: pl.Series, dialect: Dialect) -> bool:
    return bool((runs(texts, dialect) & ~texts.str.starts_with("'")).any())


def _refuse_names(names: Sequence[str], dialect: Dialect) -> None:
    """Refuse column names that would run: covey does not change names."""
    unsafe = runs(pl.Series(names, dtype=pl.String), dialect)
    if unsafe.any():
        first = int(unsafe.arg_true()[0])
        raise TableError(
            f"{count(int(unsafe.sum()), 'column')} with a name that a spreadsheet would run as a "
            f"formula, first {names[first]!r}; rename it"
        )
