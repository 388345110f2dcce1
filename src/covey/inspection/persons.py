"""Whether a table has several rows per person, judged by its identifiers.

If a row is a stay in hospital, a patient may have many rows, and a class of ten rows may be one
patient. Only the custodian knows what a row is, so covey asks if an identifier repeats. Numbers,
codes and mail addresses repeat because people do. Names and dates also repeat by coincidence,
unless several repeat together. A column that differs in each row, such as the number of a stay,
says nothing about people and must not hide what the others say.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import prod
from typing import Literal, NamedTuple

import polars as pl

from covey import tables
from covey.errors import GuaranteeError, SchemaError, count
from covey.schema import Role, Schema, TableFormat
from covey.schema.requirements import KAnonymity, Requirement
from covey.tables import Table

_CODE_NAME = re.compile(
    r"(?i)(^|[^a-z])(id|identifier|pid|mrn|ssn|nhs|npi|uuid|guid|iban|passport|number|nr|code|key|"
    r"pseudonym|phone|login|username)($|[^a-z])|social.?security|(?-i:[a-z]I[Dd]$)"
)
_NAME_NAME = re.compile(r"(?i)name|birth|(^|[^a-z])(dob|date|address|street)($|[^a-z])")
_PERSON_NAME = re.compile(
    r"(?i)patient|person|subject|client|customer|member|citizen|insured|mrn|ssn|nhs|passport"
)
# Names of pure person numbers: if such a column differs in each row, each row is another person.
ONLY_PERSON = re.compile(
    r"(?i)(patient|person|subject|client|customer|member|citizen|insured)"
    r"([ _.-]?(id|nr|no|number|code|key|identifier))?|pid|mrn|ssn|nhs.?number|passport.?number"
)
# Names of columns that have the same value in all rows of a person.
_BIRTH = re.compile(r"(?i)birth|born|(^|[^a-z])dob($|[^a-z])|geburt|naiss|nacim|nascita")
_FACT = re.compile(
    r"(?i)^(full|first|last|sur|family|given|fore|middle|maiden|patient|person|client|customer|"
    r"member)?[ _.-]?(first|last|sur|full)?[ _.-]?names?$|^(vor|nach|familien)?name$|^(pre)?nom$"
)
_CODE = r"^\S*[0-9]\S*$|^[0-9 ()/.+-]+$"  # one word with digits, a number
_LETTERS = r"^\S+$"  # one word, even without digits, if the column is named after people
_CALLED = r"^\p{Lu}\p{Ll}"  # capitalised, as names are
_DAY = r"(0?[1-9]|[12][0-9]|3[01])"  # or a month
_YEAR = r"(1[6-9]|20)[0-9]{2}"
_DATE = rf"^({_YEAR}[-./]{_DAY}[-./]{_DAY}|{_DAY}[-./]{_DAY}[-./]({_YEAR}|[0-9]{{2}}))([ T].*)?$"
_DAYS = r"^(18|19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$"  # 20240531
# Equal pairs of rows are no coincidence if there are this many times as many as in independent
# columns, or if they cover this share of the distance from that number to the largest possible.
_TIMES, _SHARE = 3.0, 0.25
_NEARLY = 0.9  # share of distinct values in a nearly unique column


@dataclass(frozen=True)
class Counted:
    """What k counts in a table: the people of one column, or the rows."""

    column: str | None  # None: the rows
    people: int  # distinct values of the column, as covey tells people apart; or rows
    rows: int

    @classmethod
    def of(cls, persons: Mapping[str, pl.Series], rows: int) -> "Counted":
        """From the person of each row by the person column, as `whose_rows` returns it."""
        for name, cells in persons.items():
            return cls(name, cells.drop_nulls().n_unique(), rows)
        return cls(None, rows, rows)

    def __str__(self) -> str:
        if self.column is None:
            return count(self.rows, "row")
        people = "1 person" if self.people == 1 else f"{self.people:,} people"
        return f"{self.column}: {people}, {count(self.rows, 'row')}"


@dataclass(frozen=True)
class Repeats:
    """Identifiers that occur in several rows: column names and counts, never cells."""

    columns: tuple[str, ...]
    rows: int  # in which they are not missing
    persons: int  # distinct values
    most: int  # rows of the most frequent one
    by_chance: bool  # whether this may be coincidence, with one row per person

    def __str__(self) -> str:
        each = f"{count(self.rows, 'row')} of {count(self.persons, 'person')}"
        return f"{each}, up to {count(self.most, 'row')} for one"

    @property
    def named(self) -> str:
        """The columns as the beginning of a message."""
        if len(self.columns) == 1:
            return f"identifier {self.columns[0]!r} repeats"
        return f"identifiers {', '.join(map(repr, self.columns))} repeat together"

    @property
    def person(self) -> str | None:
        """The column by which k should count persons, if one clearly identifies them."""
        return None if self.by_chance or len(self.columns) > 1 else self.columns[0]


def repeats(
    table: Table, identifiers: Sequence[str], declared: TableFormat | None = None
) -> Repeats | None:
    """The identifiers that show most clearly that people repeat; None if there are none.

    Missing cells identify no one, so they do not count as repeats.
    """
    declared = declared or TableFormat()
    present = [name for name in identifiers if name in table.frame.columns]
    cells = [_known(table.cells(name), declared) for name in present]
    kinds = [_is_code(column) for column in cells]
    codes = [tables.whose(column, declared) for column in compress(cells, kinds)]
    others = [column for column, code in zip(cells, kinds, strict=True) if not code]
    again = [found for column in codes if (found := _repeats([column], codes=True))]
    known = any(ONLY_PERSON.fullmatch(c.name) and c.n_unique() == len(c) for c in codes)
    return _clearest(again, _together(others, known=known))


def _clearest(codes: Sequence[Repeats], together: Repeats | None) -> Repeats | None:
    """The code that is named after people; otherwise the identifiers with the fewest persons."""
    if not codes:
        return together
    code = max(codes, key=lambda found: (_is_of_person(found.columns[0]), found.persons))
    if together is None or together.by_chance or _is_of_person(code.columns[0]):
        return code
    return min(together, code, key=lambda found: found.persons)


def _together(cells: Sequence[pl.Series], *, known: bool) -> Repeats | None:
    """Repeats in columns that are not codes: in all, in non-unique ones, and in facts about people.

    A date of admission that differs in nearly all rows would hide that name and birth repeat. If it
    is `known` that each row has its own person number, only name and birth together count against
    it, because members of a household share an address.
    """
    facts = [c for c in cells if _FACT.search(c.name) or _BIRTH.search(c.name)]
    names = {c.name for c in facts}
    if known:
        found = _repeats(facts) if any(_BIRTH.search(name) for name in names) else None
        return None if found is None or found.by_chance else found
    usual = [c for c in cells if c.name in names or not _is_nearly_unique(c)]
    different = {tuple(c.name for c in tried): tried for tried in (cells, usual, facts)}
    repeating = [found for tried in different.values() if (found := _repeats(tried))]
    return min(repeating, key=lambda found: found.by_chance, default=None)


def _is_nearly_unique(cells: pl.Series) -> bool:
    present = cells.drop_nulls()
    return present.n_unique() > _NEARLY * len(present)


def _known(cells: pl.Series, declared: TableFormat) -> pl.Series:
    """The cells that identify someone, as written: folding a million names would be slow."""
    if cells.dtype != pl.String:
        return cells
    nobody = cells.is_in(tables.tokens_of(declared))
    return pl.select(pl.when(~nobody).then(cells).alias(cells.name)).to_series()


def _repeats(cells: Sequence[pl.Series], *, codes: bool = False) -> Repeats | None:
    """Repeats among rows that have the identifier, or at least two if there are several."""
    if not cells:
        return None
    known = pl.sum_horizontal(pl.all().is_not_null()) >= min(len(cells), 2)
    frame = pl.DataFrame(cells).filter(known)
    if not frame.is_duplicated().any():
        return None
    each = _times(frame)
    by_chance = not codes and _is_chance(frame)
    return Repeats(tuple(frame.columns), frame.height, len(each), int(each.max()), by_chance)  # type: ignore[arg-type]


def _times(frame: pl.DataFrame) -> pl.Series:
    """The number of rows of each distinct row."""
    return frame.group_by(frame.columns).len("\0rows")["\0rows"]


def _is_of_person(name: str) -> bool:
    return _PERSON_NAME.search(name) is not None


def _is_code(cells: pl.Series) -> bool:
    """Whether these are numbers, codes or mail addresses, by column name or by most values."""
    if cells.dtype.is_temporal() or cells.dtype == pl.Boolean:
        return False
    texts = cells.drop_nulls().unique().cast(pl.String)
    if _CODE_NAME.search(cells.name) or _most(texts.str.contains("@")):
        return True
    code = texts.str.contains(_CODE) & ~texts.str.contains(f"{_DATE}|{_DAYS}")
    if _is_of_person(cells.name):
        code |= texts.str.contains(_LETTERS) & ~texts.str.contains(f"{_CALLED}|{_DATE}")
    return _NAME_NAME.search(cells.name) is None and _most(code)


def _most(of: pl.Series) -> bool:
    return int(of.sum()) > len(of) / 2


def _is_chance(frame: pl.DataFrame) -> bool:
    """Whether rows are equal about as often as if their columns were independent.

    In a single column, repeats may always be coincidence.
    """
    if frame.width == 1:
        return True
    alone = [_equal_pairs(frame.select(name)) for name in frame.columns]
    together, expected, most = _equal_pairs(frame), prod(alone), min(alone)
    often = together > _TIMES * expected  # for many values: two in a million where none is expected
    nearly_always = together - expected > _SHARE * (most - expected)  # for few values
    return not (often or nearly_always)


def _equal_pairs(frame: pl.DataFrame) -> float:
    """The share of all pairs of rows that are equal."""
    each = _times(frame).cast(pl.Float64)
    return float((each * (each - 1)).sum()) / (frame.height * (frame.height - 1))


# ── requests that do not say what k counts ──────────────────────────────────────────────────────


def whose_rows(table: Table, schema: Schema, names: Sequence[str]) -> dict[str, pl.Series]:
    """The person of each row, by each person column; never released."""
    absent = sorted(set(names) - set(table.frame.columns))
    if absent:
        raise SchemaError(f"the person column {absent[0]!r} is not in the table")
    return {name: tables.whose(table.cells(name), schema.table) for name in names}


class Doubts(NamedTuple):
    """What is doubtful about counting rows: in notes, or so much that the headline says it."""

    notes: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()


def refuse_unsaid(table: Table, schema: Schema, requirements: Sequence[Requirement]) -> Doubts:
    """Refuse to count rows if people repeat, unless the user chose that; return the doubts."""
    named = [] if any(_said(requirements)) else schema.names(Role.IDENTIFIER)
    return refuse_repeats(repeats(table, named, schema.table), requirements)


def refuse_repeats(found: Repeats | None, requirements: Sequence[Requirement]) -> Doubts:
    """Refuse to count rows if people repeat, unless the user chose that; return the doubts.

    The refusal is for the custodian and contains numbers. The doubts are published and contain
    none, because they would count rows that the release suppresses.
    """
    if found is None:
        return Doubts()
    if found.by_chance:
        note = (
            f"{found.named}, but k counts rows. If people have several rows, one person may fill a "
            'whole class: name the column that identifies people (person = "COLUMN")'
        )
        return Doubts(notes=(note,))
    if _said(requirements):
        counted = (
            f"k counts rows, although {found.named}: a person with several rows may fill a whole "
            "class"
        )
        return Doubts(headline=(counted,))
    raise GuaranteeError(f"{found.named}: {found}. {_ways_out(found)}")


def _said(requirements: Sequence[Requirement]) -> set[str | Literal[False] | None]:
    """What k counts, as far as the user said so."""
    return {asked.person for asked in requirements if isinstance(asked, KAnonymity)} - {None}


def _ways_out(found: Repeats) -> str:
    one = len(found.columns) == 1
    column = json.dumps(found.columns[0], ensure_ascii=False) if one else '"COLUMN"'
    which = "" if one else " (one column that identifies them; add one if there is none)"
    return (
        "Set what k counts under [require] in the schema: "
        f"person = {column} for persons{which}, or person = false for rows "
        "(on the command line: --person or --count-rows)"
    )
