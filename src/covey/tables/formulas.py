"""Text that a spreadsheet would run as a formula, made harmless and read again.

An apostrophe goes before such a text, and before one that begins with apostrophes and goes on like
one. So no two texts become the same, and what was put before a text can be taken away again.
"""

from collections.abc import Container, Sequence

import polars as pl

from covey.errors import TableError, count
from covey.schema.labels import UNSEEN
from covey.tables.csv_files import Dialect

# The signs, also as wide and small forms, which some programs take for the plain ones. What nobody
# sees may go before them; tabs, line ends and NUL begin a formula by themselves.
_SIGNS = "[=+\\-@＝＋－＠﹦﹢﹣﹫]"
_FORMULA = rf"^'*([\t\r\n\x00]|{UNSEEN}*{_SIGNS})"


def runs(cells: pl.Series, dialect: Dialect) -> pl.Series:
    """Which texts a spreadsheet would run, or hide an apostrophe of; numbers are not among them."""
    number = cells.str.strip_chars(" ").str.contains(dialect.number)
    return cells.str.contains(_FORMULA) & ~number & ~cells.is_in(list(dialect.missing))


def defused(cells: pl.Series, dialect: Dialect) -> pl.Series:
    """An apostrophe before each text that would run."""
    safe = pl.when(runs(cells, dialect)).then("'" + cells).otherwise(cells)
    return pl.select(safe.alias(cells.name)).to_series()


def defused_table(text: pl.DataFrame, dialect: Dialect) -> tuple[pl.DataFrame, int]:
    """The same table with no cell that would run, and how many cells were changed."""
    _refuse_names(text.columns, dialect)
    safe = pl.DataFrame([defused(cells, dialect) for cells in text])
    changed = sum(int((safe[name] != text[name]).sum()) for name in text.columns)
    return safe, changed


def meant(values: Sequence[str], known: Container[str], dialect: Dialect) -> list[str]:
    """The labels that the texts of a column stand for: as they are, or before they were defused.

    A column in which some text would run was not defused, so its texts are as they were. Of two
    readings, the one that is known counts.
    """
    texts = pl.Series(values, dtype=pl.String)
    untouched = _would_run(texts, dialect)
    readings = (
        ((text, plain) if untouched else (plain, text)) if maybe else (text,)
        for text, plain, maybe in zip(
            texts, texts.str.slice(1), _look_defused(texts, dialect), strict=True
        )
    )
    return [next((one for one in either if one in known), either[0]) for either in readings]


def count_defused(text: pl.DataFrame, dialect: Dialect) -> int:
    """How many cells of a CSV file were changed, as far as can be seen from it."""
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
    """The name of a column is not changed, so it must not run."""
    unsafe = runs(pl.Series(names, dtype=pl.String), dialect)
    if unsafe.any():
        first = int(unsafe.arg_true()[0])
        raise TableError(
            f"{count(int(unsafe.sum()), 'column')} with a name that a spreadsheet runs as a "
            f"formula, first {names[first]!r}; rename it"
        )
