"""Rows that are no people: totals, second header lines, notes below the table, blank rows.

They are found by what they hold, wherever they stand: sums of their columns, words where all others
have numbers, hardly any cell where all others have one. Batches are looked at one by one, and what
was found adds up. Rows that are clearly no people are never released as people unless the custodian
says so; doubtful ones are only named.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from math import isclose, prod
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey.declared import declared
from covey.errors import TableError, count
from covey.schema import RowKind, TableFormat
from covey.tables.csv_files import Dialect
from covey.tables.merging import FieldSums, merged

if TYPE_CHECKING:
    from covey.tables.table import Table

_WORDS = {name: "|".join(known) for name, known in declared(__package__, "strays.toml").items()}
_TOTAL = (
    rf"(?i)^\W*(({_WORDS['totals']})\W*([0-9]{{4}}|\(?n\s*=.*)?\W*|"
    rf"({_WORDS['of_some']})\s.{{1,40}})$"
)
_NOTE = rf"(?i)^\W*({_WORDS['notes']})\b\W"
_WORD = r"\p{L}\p{L}"
_ENOUGH = 5  # other rows that show what a column usually holds
_USUALLY, _PLAIN = 0.9, 0.05  # share of rows with a cell; of cells with a word
_NAMED = 5  # rows in a message

_PLACE, _NUMBER, _SOURCE = "\0place", "\0number", "\0source"


@dataclass(frozen=True)
class Stray:
    """A row that is no person, or perhaps none."""

    kind: RowKind
    place: int  # among all rows, from 0
    number: int | None  # in its file, from 1
    source: str
    is_clear: bool


@dataclass(frozen=True)
class _Contents(FieldSums):
    """What a column holds in the rows that are not suspect."""

    rows: int
    present: int
    words: int
    totals: int
    sum: float
    top: Annotated[float, max]
    longest: Annotated[int, max]

    @property
    def is_usual(self) -> bool:
        """Whether nearly every row has a cell."""
        return self.present >= max(_ENOUGH, _USUALLY * self.rows)

    @property
    def is_plain(self) -> bool:
        """Whether nearly all cells are numbers, dates and other cells without words."""
        return self.present >= _ENOUGH and self.words <= _PLAIN * self.present


@dataclass(frozen=True, eq=False, repr=False)
class Suspects:
    """What some rows show: those that may be strays, and what columns hold in the others."""

    rows: int
    dialect: Dialect
    columns: Mapping[str, _Contents]  # in the other rows
    frame: pl.DataFrame = field(repr=False)  # the cells as text, with their places

    @classmethod
    def of(cls, table: "Table") -> "Suspects":
        """Look at some rows."""
        frame = table.frame
        looked = _Looked.at(frame, table.dialect)
        places = np.flatnonzero(looked.suspect)
        numbers = places if table.numbers is None else table.numbers[places]
        cells = frame[places].select(pl.all().cast(pl.String)).with_columns(
            pl.Series(_PLACE, places, pl.Int64),
            pl.Series(_NUMBER, numbers + 1 if table.has_places else [None] * len(places), pl.Int64),
            pl.lit(table.source).alias(_SOURCE),
        )  # fmt: skip
        return cls(frame.height, table.dialect, looked.columns(), cells)

    def __add__(self, other: "Suspects") -> "Suspects":
        later = other.frame.with_columns(pl.col(_PLACE) + self.rows)
        columns = {name: column + other.columns[name] for name, column in self.columns.items()}
        frame = pl.concat([self.frame, later])
        return Suspects(self.rows + other.rows, self.dialect, columns, frame)

    @cached_property
    def found(self) -> tuple[Stray, ...]:
        """The rows that are no people, or perhaps none."""
        return tuple(_judged(self))

    def clear(self, kinds: Collection[RowKind]) -> tuple[list[Stray], pl.DataFrame]:
        """The clear ones of these kinds, and their cells as text."""
        strays = [stray for stray in self.found if stray.is_clear and stray.kind in kinds]
        own = self.frame.filter(pl.col(_PLACE).is_in([stray.place for stray in strays]))
        return strays, own.drop(_PLACE, _NUMBER, _SOURCE)


@dataclass(frozen=True, eq=False, repr=False)
class _Looked:
    """The cells of some rows by what they look like."""

    frame: pl.DataFrame
    dialect: Dialect
    missing: pl.DataFrame
    words: pl.DataFrame  # of columns of texts, whether a cell has a word
    totals: pl.DataFrame  # and whether it has a word for totals

    @classmethod
    def at(cls, frame: pl.DataFrame, dialect: Dialect) -> "_Looked":
        missing = frame.select(
            dialect.is_missing(
                pl.col(name).str.strip_chars() if dtype == pl.String else pl.col(name), dtype
            )
            for name, dtype in frame.schema.items()
        )
        texts = frame.select(pl.col(pl.String))
        words, totals = (
            texts.select(pl.all().str.contains(sign).fill_null(value=False))
            for sign in (_WORD, _TOTAL)
        )
        words = words.with_columns(pl.col(name) & ~missing[name] for name in words.columns)
        return cls(frame, dialect, missing, words, totals)

    @cached_property
    def suspect(self) -> NDArray[np.bool_]:
        """The few rows that may be strays; a sign that many rows have is none."""
        rows, width = self.frame.shape
        present = width - _number_of(self.missing, rows)
        plain = [
            name
            for name, words in zip(self.words.columns, self.words, strict=True)
            if words.sum() <= 0.2 * (rows - int(self.missing[name].sum()))
        ]
        texts = self.frame.select(pl.col(n) == n for n in self.words.columns)
        signs = [
            (present == 0, 1.0),
            (present <= max(1, width // 3), 0.02),
            (_number_of(self.totals, rows) > 0, 0.1),
            (2 * _number_of(self.words.select(plain), rows) > len(plain), 0.05),
            (_number_of(texts.fill_null(value=False), rows) >= max(2, width / 2), 0.2),
            (np.arange(rows) == rows - 1, 1.0),
        ]
        few = [sign for sign, share in signs if sign.sum() <= max(5, share * rows)]
        suspect: NDArray[np.bool_] = np.any(few, axis=0)
        return suspect

    def columns(self) -> dict[str, _Contents]:
        """What each column holds in the rows that are not suspect."""
        kept = pl.Series(~self.suspect)
        found = {}
        for name in self.frame.columns:
            cells = self.frame[name].filter(kept)
            present = len(cells) - int(self.missing[name].filter(kept).sum())
            is_text = cells.dtype == pl.String
            words, totals = (
                int(flags[name].filter(kept).sum()) if is_text else 0
                for flags in (self.words, self.totals)
            )
            numbers = _numbers(cells, self.dialect) if words <= _PLAIN * present else None
            finite = pl.Series([0.0]) if numbers is None else numbers.filter(numbers.is_finite())
            total, top = float(finite.sum()), float(finite.abs().max() or 0)  # type: ignore[arg-type]
            longest = int(cells.str.len_chars().max() or 0) if is_text else 0  # type: ignore[arg-type]
            found[name] = _Contents(len(cells), present, words, totals, total, top, longest)
        return found


def _number_of(flags: pl.DataFrame, rows: int) -> NDArray[np.int64]:
    """How many of these flags each row has."""
    if not flags.width:
        return np.zeros(rows, dtype=np.int64)
    return flags.sum_horizontal().to_numpy().astype(np.int64)


def _numbers(cells: pl.Series, dialect: Dialect) -> pl.Series | None:
    """The numbers of a column; None if it has none."""
    if cells.dtype.is_numeric():
        return cells.cast(pl.Float64)
    if cells.dtype != pl.String or not dialect.decimals(cells.head(200)).is_not_null().any():
        return None
    is_plain = dialect.decimal == "." and not dialect.thousands  # then a cast is enough, and fast
    return (cells if is_plain else dialect.decimals(cells)).cast(pl.Float64, strict=False)


# ── judging ─────────────────────────────────────────────────────────────────────────────────────


def _judged(suspects: Suspects) -> Iterator[Stray]:
    rows = [*_rows(suspects)]
    verdicts = [row.by_its_cells() for row in rows]
    # Totals are sums of people: of the other rows, and of suspects that are people after all.
    people = [row for row, (kind, _) in zip(rows, verdicts, strict=True) if kind is None]
    sums: Counter[str] = Counter()
    for row in people:
        sums.update(row.numbers)
    by_chance = _blank_by_chance(suspects)
    places = suspects.frame.select(_PLACE, _NUMBER, _SOURCE).iter_rows()
    for row, (kind, is_clear), (place, number, source) in zip(rows, verdicts, places, strict=True):
        if kind == "blank":
            is_clear = not by_chance
        elif kind in (None, "totals") and not is_clear:
            kind, is_clear = row.by_sums(kind, sums, people)
        if kind is not None:
            yield Stray(kind, place, number, source, is_clear)


def _blank_by_chance(suspects: Suspects) -> bool:
    """Whether a row without any cell may be a person, as cells are missing in this table."""
    columns = suspects.columns.values()
    chance = prod(1 - column.present / max(column.rows, 1) for column in columns)
    return len(columns) < 3 or suspects.rows * chance > 0.01


def _rows(suspects: Suspects) -> Iterator["_Row"]:
    """The suspect rows beside what their columns hold in the other rows."""
    columns = suspects.columns
    texts = suspects.frame.select(pl.col(*columns).str.strip_chars())
    missing = [*suspects.dialect.missing, "NaN"]
    present = texts.select(~(pl.all().is_null() | pl.all().is_in(missing))).rows()
    matched = [
        texts.select(pl.all().str.contains(sign).fill_null(value=False)).rows()
        for sign in (_WORD, _TOTAL, _NOTE)
    ]
    numbers = pl.DataFrame(  # a list: of a generator, polars takes 1,000 columns for all
        [
            suspects.dialect.decimals(cells).cast(pl.Float64, strict=False).alias(cells.name)
            for cells in texts
        ]
    ).rows()
    for row, known, *signs, found in zip(texts.rows(), present, *matched, numbers, strict=True):
        cells = dict(compress(zip(columns, row, strict=True), known))
        words, totals, notes = ({*compress(columns, sign)} & {*cells} for sign in signs)
        totals = {name for name in totals if not columns[name].totals}  # no label of people
        values = zip(columns, found, strict=True)
        held = {name: value for name, value in values if value is not None and name in cells}
        yield _Row(cells, columns, words, totals, bool(notes), held)


@dataclass(frozen=True, eq=False, repr=False)
class _Row:
    """A suspect row beside what its columns hold in the other rows."""

    cells: Mapping[str, str]  # those that are present
    columns: Mapping[str, _Contents]
    words: Collection[str]  # the columns in which it has a word
    totals: Collection[str]  # in which it has a word for totals
    has_note: bool
    numbers: Mapping[str, float]

    @cached_property
    def misfits(self) -> set[str]:
        """The columns of numbers or dates in which this row has a word."""
        return {name for name in self.words if self.columns[name].is_plain}

    @cached_property
    def gaps(self) -> float:
        """The share of the usual columns in which this row has no cell."""
        usual = [name for name, column in self.columns.items() if column.is_usual]
        return sum(n not in self.cells for n in usual) / len(usual) if len(usual) > 2 else 0.0

    def by_its_cells(self) -> tuple[RowKind | None, bool]:
        """The kind of the row by its own cells, and whether that is clear."""
        if not self.cells:
            return "blank", False
        named = sum(text == name for name, text in self.cells.items())
        if named >= max(2, len(self.cells) / 2):
            return "headers", True
        if self.totals:
            return "totals", self.gaps >= 0.5 or not self.misfits.isdisjoint(self.totals)
        if self.gaps >= 0.7 and len(self.cells) <= 2:
            return ("notes", True) if self._is_note() else (None, False)
        return self._as_header()

    def _as_header(self) -> tuple[RowKind | None, bool]:
        """Whether there are words in all columns of numbers, as in a second header."""
        plain = [n for n, column in self.columns.items() if column.is_plain and n in self.cells]
        if len(plain) < 2 or len(self.misfits) < 0.8 * len(plain):
            return None, False
        different = {self.cells[name].casefold() for name in self.misfits}
        alone = not any(self.columns[name].words for name in self.misfits)
        return "headers", alone and len(different) > len(self.misfits) / 2

    def _is_note(self) -> bool:
        """Whether a nearly empty row holds a text that is none of its column's cells."""
        if self.has_note or any(not self.columns[name].words for name in self.misfits):
            return True
        if all(self.columns[name].top and name not in self.numbers for name in self.cells):
            return True  # no cell is a number where all others are: "n = 200"
        return any(len(t) > max(20, 2 * self.columns[n].longest) for n, t in self.cells.items())

    def by_sums(
        self, kind: RowKind | None, sums: Mapping[str, float], people: "Iterable[_Row]"
    ) -> tuple[RowKind | None, bool]:
        """Whether the numbers are the sums of their columns over these people and the others."""
        own = self.numbers if kind is None else {}  # then this row is among the people
        found = [
            name
            for name, value in self.numbers.items()
            if self.columns[name].present >= _ENOUGH
            and isclose(
                value, self.columns[name].sum + sums[name] - own.get(name, 0.0), rel_tol=1e-6
            )
            and abs(value) > 1.5 * self._top(name, people)
        ]
        enough = len(found) > 1 or bool(found and (kind or self.gaps >= 0.5))
        return ("totals" if found else kind), enough

    def _top(self, name: str, people: "Iterable[_Row]") -> float:
        others = (abs(row.numbers.get(name, 0.0)) for row in people if row is not self)
        return max(self.columns[name].top, *others, 0.0)


# ── deciding ────────────────────────────────────────────────────────────────────────────────────


def to_drop(table: "Table | Iterable[Table]", declared: TableFormat) -> list[Stray]:
    """The clear ones of a table, in one or several parts, that are to be left out."""
    kinds = declared.drop_rows or ()
    parts = table if isinstance(table, Iterable) else [table]
    suspects = merged(map(Suspects.of, parts)) if {*kinds} - {"duplicates"} else None
    found = suspects.found if suspects else ()
    dropped = {stray.place: stray for stray in found if stray.is_clear and stray.kind in kinds}
    if "duplicates" in kinds:
        dropped = {stray.place: stray for stray in duplicates(parts)} | dropped
    return [dropped[place] for place in sorted(dropped)]


def refuse_undecided(found: Iterable[Stray], declared: TableFormat) -> None:
    """Refuse to release rows that are clearly no people, until the custodian has decided."""
    decided = {*(declared.drop_rows or ()), *(declared.keep_rows or ())}
    open_ = [stray for stray in found if stray.is_clear and stray.kind not in decided]
    if not open_:
        return
    kinds = [*dict.fromkeys(stray.kind for stray in open_)]
    written = ", ".join(f'"{kind}"' for kind in kinds)
    raise TableError(
        f"{counted(open_)}: "
        f"{'; '.join(named([stray for stray in open_ if stray.kind == kind]) for kind in kinds)}. "
        f"Leave them out with --drop-rows {','.join(kinds)} (drop_rows = [{written}] under [table] "
        f"in the schema), or release them as people with --keep-rows {','.join(kinds)}"
    )


def duplicates(parts: Iterable["Table"]) -> list[Stray]:
    """The rows of a table, in one or several parts, that are equal to an earlier one."""
    found, hashes, before = [], [], 0
    for part in parts:
        hashes.append(pl.Series(part.frame.hash_rows()))
        found.append((before, part))
        before += part.frame.height
    again = (~pl.concat(hashes).is_first_distinct()).to_numpy() if hashes else np.zeros(0, bool)
    return [
        Stray("duplicates", start + place, part.number(place), part.source, is_clear=True)
        for start, part in found
        for place in np.flatnonzero(again[start : start + part.frame.height]).tolist()
    ]


def counted(strays: Sequence[Stray]) -> str:
    """The number of these rows: `2 rows are no people`."""
    if strays[0].kind == "duplicates":
        return f"{count(len(strays), 'row')} {'stands' if len(strays) == 1 else 'stand'} twice"
    perhaps = "" if strays[0].is_clear else "perhaps "
    verb = "is {}no person" if len(strays) == 1 else "are {}no people"
    return f"{count(len(strays), 'row')} {verb.format(perhaps)}"


def named(strays: Sequence[Stray]) -> str:
    """The kind of these rows and their places: `totals (row 31)`."""
    places = [
        f"{stray.number:,}" + (f" of {stray.source}" if len({s.source for s in strays}) > 1 else "")
        for stray in strays
        if stray.number is not None
    ]
    if not places:
        return f"{strays[0].kind} ({count(len(strays), 'row')})"
    more = f" and {len(places) - _NAMED:,} more" if len(places) > _NAMED else ""
    rows = "row" if len(places) == 1 else "rows"
    return f"{strays[0].kind} ({rows} {', '.join(places[:_NAMED])}{more})"


def notes_of(dropped: Sequence[Stray]) -> list[str]:
    """What a report says of rows that were left out."""
    twice = sum(stray.kind == "duplicates" for stray in dropped)
    others = len(dropped) - twice
    kinds = ", ".join(dict.fromkeys(stray.kind for stray in dropped if stray.kind != "duplicates"))
    notes = [f"left out what is no person: {count(others, 'row')} of {kinds}"] if others else []
    return [*notes, f"left out what stands twice: {count(twice, 'row')}"] if twice else notes
