"""What can be seen of one column: its values with their rows, and what they look like.

Everything is computed from the distinct values, of which there are few as a rule, and texts are
recognised by a sample of these. Samples are every n-th value, so that the same table gives the same
facts.
"""

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from covey.inspection import dates, words
from covey.inspection.recognisers import FLAGS, UNKNOWN, Recogniser, recognise
from covey.schema import LARGEST
from covey.tables import Table
from covey.tables.cells import as_numbers
from covey.tables.csv_files import Dialect

_MOST_READ = 1_000  # distinct values that are recognised by
NEARLY_UNIQUE = 0.5  # distinct values per row
FEW = 10  # so many values may be codes
MOSTLY = 0.9  # share of the rows whose cells must be numbers for a column of numbers
_LONG_TEXT = 30  # average number of characters
_MANY_WORDS = 5


@dataclass(frozen=True, eq=False)
class Facts:
    """One column. `values` are its distinct present cells, in the order of first appearance."""

    cells: pl.Series
    values: pl.Series
    rows: pl.Series  # with each value
    concepts: frozenset[str]
    dialect: Dialect
    unknown: tuple[str, ...] = ()  # cells that say that nothing is known

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.cells.name

    @property
    def present(self) -> int:
        """The number of rows that have a value."""
        return int(self.rows.sum())

    @property
    def distinct(self) -> int:
        """The number of different values."""
        return len(self.values)

    @property
    def missing(self) -> float:
        """The share of rows without a value."""
        return 1 - self.present / len(self.cells)

    @cached_property
    def unique(self) -> int:
        """The number of rows whose value no other row has."""
        return int((self.rows == 1).sum())

    @property
    def share(self) -> float:
        """Distinct values per row."""
        return self.distinct / max(self.present, 1)

    @property
    def is_nearly_unique(self) -> bool:
        """Whether most rows have a value of their own."""
        return self.share > NEARLY_UNIQUE

    @property
    def is_few(self) -> bool:
        """Whether a few values repeat often, as codes do."""
        return self.distinct <= FEW and self.present >= 10 * FEW

    @cached_property
    def texts(self) -> pl.Series:
        """Some of the values as text, without those that mean unknown."""
        if self.values.dtype.is_float() or self.values.dtype.is_temporal():
            return pl.Series(dtype=pl.String)
        known = self.values.filter(~self.values.cast(pl.String).is_in(list(self.unknown)))
        some = known.gather_every(-(-len(known) // _MOST_READ) or 1).cast(pl.String)
        return some.str.strip_chars(" ")

    @cached_property
    def numbers(self) -> pl.Series:
        """The value as a number, null if it is none."""
        if not (self.values.dtype.is_numeric() or self.values.dtype == pl.String):
            return pl.Series([None] * self.distinct, dtype=pl.Float64)
        found = as_numbers(self.values, self.dialect)
        return pl.select(pl.when(found.abs() < LARGEST).then(found)).to_series()

    @cached_property
    def unreadable(self) -> int:
        """The number of rows whose cell is no number."""
        return int(self.rows.filter(self.numbers.is_null()).sum())

    @cached_property
    def is_numeric(self) -> bool:
        """Whether nearly all cells are numbers; a few typos and notes do not matter."""
        if not self.present or self.is_padded or self.values.dtype == pl.Boolean:
            return False
        numbers = self.distinct - int(self.numbers.null_count())
        clean = self.unreadable == 0
        return clean or (self.unreadable <= (1 - MOSTLY) * self.present and numbers > FEW)

    @cached_property
    def has_fractions(self) -> bool:
        """Whether numbers are not whole, apart from a few."""
        numbers = self.numbers.drop_nulls()
        return int((numbers % 1 != 0).sum()) > 0.02 * len(numbers)

    @cached_property
    def is_padded(self) -> bool:
        """Whether these are codes of one width with leading zeros, such as 01 and 05615."""
        if self.values.dtype != pl.String or self.distinct < 2:
            return False
        fits = self.values.str.contains(r"^[0-9]{2,}$")
        padded = self.values.str.contains(r"^0[0-9]+$")
        widths = self.values.filter(fits).str.len_chars().n_unique()
        return bool(padded.any()) and widths == 1 and float(fits.sum()) >= MOSTLY * self.distinct

    @cached_property
    def date(self) -> dates.Written | None:
        """How dates are written; None if there are none."""
        if self.values.dtype != pl.String or not self.distinct:
            return None
        compact = bool(self.concepts & {"date", "birth"}) or self.distinct > 2 * FEW
        return dates.written(self.values, self.rows, compact=compact)

    @property
    def is_date(self) -> bool:
        """Whether the cells are dates, with or without a time of day."""
        return self.date is not None or self.values.dtype in (pl.Date, pl.Datetime)

    @cached_property
    def is_time(self) -> bool:
        """Whether the cells are times of day."""
        return self.values.dtype == pl.Time or (len(self.texts) > 0 and dates.are_times(self.texts))

    @cached_property
    def kind(self) -> Recogniser | None:
        """What the texts look like."""
        if self.is_date or self.is_time:
            return None
        return recognise(self.texts, self.concepts)

    @cached_property
    def is_flag(self) -> bool:
        """Whether the values are yes and no."""
        if self.values.dtype == pl.Boolean:
            return True
        return self.distinct <= 4 and {t.casefold() for t in self.texts.head(4)} <= FLAGS

    @cached_property
    def is_prose(self) -> bool:
        """Whether the values are sentences, of which there are many."""
        return self.is_wordy and self.distinct > max(2 * FEW, 0.02 * self.present)

    @cached_property
    def _spaces(self) -> float:
        """The average number of spaces in a text; 0 if there are no texts."""
        if self.values.dtype != pl.String or not len(self.texts):
            return 0.0
        return float(self.texts.str.count_matches(r"\s+").mean() or 0)  # type: ignore[arg-type]

    @property
    def has_phrases(self) -> bool:
        """Whether the values have several words each."""
        return self._spaces >= 2

    @cached_property
    def is_wordy(self) -> bool:
        """Whether the values are sentences."""
        length = float(self.texts.str.len_chars().mean() or 0)  # type: ignore[arg-type]
        return length > _LONG_TEXT and self._spaces + 1 > _MANY_WORDS

    @cached_property
    def is_text(self) -> bool:
        """Whether the values are neither numbers nor dates."""
        return not (self.is_numeric or self.is_date or self.is_time)

    @cached_property
    def is_numbering(self) -> bool:
        """Whether the rows are numbered: all numbers differ where chance would repeat some.

        n different numbers out of a range of R would have some n²/2R equal pairs by chance.
        """
        if self.share < 1 or self.present < 20 or not self.is_numeric or self.has_fractions:
            return False
        ordered = self.numbers.drop_nulls().is_sorted() and not self.values.dtype.is_float()
        return ordered or self.is_dense or self.present**2 / (2 * self._width) > 10

    @property
    def _width(self) -> float:
        numbers = self.numbers.drop_nulls()
        return float(numbers.max() - numbers.min()) + 1  # type: ignore[operator, arg-type]

    @property
    def is_dense(self) -> bool:
        """Whether the numbers lie side by side, with few gaps."""
        return self._width < 2 * self.present

    @cached_property
    def is_coded(self) -> bool:
        """Whether many values are codes with letters and digits that number something."""
        if self.distinct <= 5 * FEW or self.share < 0.1 or not len(self.texts):
            return False
        code = r"^\S*[A-Za-z]\S*[0-9]{4,}\S*$|^\S*[0-9]{4,}\S*[A-Za-z]\S*$|^0[0-9]{6,}$"
        # Long numbers of one width are given; measured ones are of many, and often round.
        long = self.texts.filter(self.texts.str.contains(r"^[1-9][0-9]{5,}$"))
        given = long.str.len_chars().n_unique() == 1 and long.str.ends_with("00").mean() < 0.1  # type: ignore[operator]
        numbers = len(long) if given else 0
        coded = int(self.texts.str.contains(code).sum()) + numbers
        return coded > MOSTLY * len(self.texts)


def look(table: Table, name: str) -> Facts:
    """The facts about one column."""
    cells = table.cells(name)
    counts = (
        pl.DataFrame({"value": cells})
        .drop_nulls()
        .group_by("value", maintain_order=True)
        .len("rows")
    )
    label = table.codebook.variables.get(name, "")
    values = counts["value"]
    unknown: tuple[str, ...] = ()
    if values.dtype == pl.String:
        short = values.filter(values.str.len_chars() <= 20)
        unknown = tuple(v for v in short.head(_MOST_READ) if v.strip().casefold() in UNKNOWN)
    return Facts(cells, values, counts["rows"], words.concepts(name, label), table.dialect, unknown)
