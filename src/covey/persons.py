"""Whether a table has several rows for one person, by what its identifiers say.

A stay in hospital is a row, a patient may have many: then a class of ten rows may be one patient.
Only the custodian knows what a row is, so covey asks as soon as an identifier repeats. Numbers,
codes and mail addresses repeat because people do. Names and dates also repeat by chance, unless all
identifiers of a row do so together.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import polars as pl

from covey import tables
from covey.errors import GuaranteeError, count
from covey.requirements import KAnonymity, Requirement
from covey.schema import Role, Schema, TableFormat
from covey.tables import Table

_CODE_NAME = re.compile(
    r"(?i)(^|[^a-z])(id|identifier|pid|mrn|ssn|nhs|npi|uuid|guid|iban|passport|number|nr|code|key|"
    r"pseudonym|phone|login|username)($|[^a-z])|(?-i:[a-z]I[Dd]$)"
)
_NAME_NAME = re.compile(r"(?i)name|birth|(^|[^a-z])(dob|date|address|street)($|[^a-z])")
_PERSON_NAME = re.compile(
    r"(?i)patient|person|subject|client|customer|member|citizen|insured|mrn|ssn|nhs|passport"
)
_CODE = r"^\S*[0-9]\S*$|^[0-9 ()/.+-]+$"  # one word with digits, a number
_DATE = r"^[0-9]{1,4}[-./][0-9]{1,2}[-./][0-9]{1,4}"
_DAYS = r"^(18|19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$"  # 20240531
# Beyond chance are so many times the equal pairs of rows that columns would have which know nothing
# of each other, or this share of the way from there to as many as they can have.
_TIMES, _SHARE = 3.0, 0.25


@dataclass(frozen=True)
class Repeats:
    """Identifiers that stand in more rows than one: names of columns and numbers, never cells."""

    columns: tuple[str, ...]
    rows: int  # in which they are not missing
    persons: int  # as many as they tell apart
    most: int  # rows of the most frequent one
    by_chance: bool  # whether that may be so although people do not repeat

    def __str__(self) -> str:
        each = f"{count(self.rows, 'row')} of {count(self.persons, 'person')}"
        return f"{each}, up to {count(self.most, 'row')} for one"

    @property
    def named(self) -> str:
        """The columns and that they repeat, in writing."""
        if len(self.columns) == 1:
            return f"identifier {self.columns[0]!r} repeats"
        return f"identifiers {', '.join(map(repr, self.columns))} repeat together"

    @property
    def person(self) -> str | None:
        """The column by which k should count persons, if one clearly tells them apart."""
        return None if self.by_chance or len(self.columns) > 1 else self.columns[0]


def repeats(
    table: Table, identifiers: Sequence[str], declared: TableFormat | None = None
) -> Repeats | None:
    """The identifiers that say most clearly that people repeat; None if they say nothing.

    A missing cell is nobody's, so it does not repeat.
    """
    declared = declared or TableFormat()
    present = [name for name in identifiers if name in table.frame.columns]
    cells = [_known(table.cells(name), declared) for name in present]
    codes = [
        found
        for column in cells
        if _is_code(column) and (found := _repeats([tables.whose(column, declared)], codes=True))
    ]
    if codes:
        return max(codes, key=lambda found: (_is_of_person(found.columns[0]), found.persons))
    return _repeats(cells)


def _known(cells: pl.Series, declared: TableFormat) -> pl.Series:
    """Cells of somebody, as they are written: to fold the names of a million people takes long."""
    if cells.dtype != pl.String:
        return cells
    nobody = cells.is_in(tables.tokens_of(declared))
    return pl.select(pl.when(~nobody).then(cells).alias(cells.name)).to_series()


def _repeats(cells: Sequence[pl.Series], *, codes: bool = False) -> Repeats | None:
    """What repeats in rows that have the only identifier, or at least two of several."""
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
    """In how many rows each different one stands."""
    return frame.group_by(frame.columns).len("\0rows")["\0rows"]


def _is_of_person(name: str) -> bool:
    return _PERSON_NAME.search(name) is not None


def _is_code(cells: pl.Series) -> bool:
    """Numbers, codes and mail addresses, by the name of the column or by most of its values."""
    if cells.dtype.is_temporal() or cells.dtype == pl.Boolean:
        return False
    texts = cells.drop_nulls().unique().cast(pl.String)
    if _CODE_NAME.search(cells.name) or _most(texts.str.contains("@")):
        return True
    code = texts.str.contains(_CODE) & ~texts.str.contains(f"{_DATE}|{_DAYS}")
    return _NAME_NAME.search(cells.name) is None and _most(code)


def _most(of: pl.Series) -> bool:
    return int(of.sum()) > len(of) / 2


def _is_chance(frame: pl.DataFrame) -> bool:
    """Whether rows are equal about as often as if their columns knew nothing of each other.

    A single column may always repeat by chance.
    """
    if frame.width == 1:
        return True
    alone = [_equal_pairs(frame.select(name)) for name in frame.columns]
    together, expected, most = _equal_pairs(frame), prod(alone), min(alone)
    often = together > _TIMES * expected  # of many values: two of a million, where none should be
    nearly_always = together - expected > _SHARE * (most - expected)  # of few values
    return not (often or nearly_always)


def _equal_pairs(frame: pl.DataFrame) -> float:
    """The share of all pairs of rows that are equal."""
    each = _times(frame).cast(pl.Float64)
    return float((each * (each - 1)).sum()) / (frame.height * (frame.height - 1))


# ── a request that says nothing of it ───────────────────────────────────────────────────────────


def refuse_unsaid(table: Table, schema: Schema, requirements: Sequence[Requirement]) -> list[str]:
    """Refuse to count rows where people repeat, unless that was asked for; else what to warn of.

    The refusal is for the custodian and has numbers. The warnings are published: they have none,
    since they would count rows that the release leaves out.
    """
    said = {asked.person for asked in requirements if isinstance(asked, KAnonymity)} - {None}
    named = [] if said - {False} else schema.names(Role.IDENTIFIER)
    found = repeats(table, named, schema.table)
    if found is None:
        return []
    if found.by_chance and not said:
        return [
            f"{found.named}: k counts rows, so a person with several rows may fill a class alone. "
            'If people have several rows, name the column that tells them apart: person = "column"'
        ]
    if said:
        return [
            f"{found.named}, but k counts rows, as asked (person = false): a person with several "
            "rows may fill a class alone"
        ]
    raise GuaranteeError(f"{found.named}: {found}. {_ways_out(found)}")


def _ways_out(found: Repeats) -> str:
    one = len(found.columns) == 1
    column = json.dumps(found.columns[0], ensure_ascii=False) if one else '"COLUMN"'
    which = "" if one else ", by one column that tells them apart"
    return (
        "Say what k counts, under [require] in the schema: "
        f"person = {column} for persons{which}, or person = false for rows "
        "(--person or --count-rows on the command line)"
    )
