"""Who the people of a table are: decided if it is clear, and asked if it is not.

If a row is a stay in hospital, a patient may have many rows, and a class of ten rows may be one
patient. Only the custodian knows what a row is. A number of people that repeats is counted if its
name says so and nothing speaks against it; of numbers that lie within each other, the coarser one
that still behaves like a person. Everything else that repeats like a person is a question. Names
and dates of birth also repeat by coincidence, unless they repeat together.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal, NamedTuple

import polars as pl

from covey import tables
from covey.errors import GuaranteeError, SchemaError, count
from covey.inspection.candidates import (
    Candidate,
    Looked,
    Search,
    handful,
    is_name,
    is_of_people,
    lasts,
    never,
    of_cells,
)
from covey.inspection.facts import Facts
from covey.inspection.sentinels import days
from covey.inspection.words import concepts
from covey.schema import Role, Schema, TableFormat
from covey.schema.requirements import KAnonymity, Requirement
from covey.tables import Table

ROW = "\0row"  # the hash of a whole row, if a table has only some of its columns
# Equal pairs of rows are no coincidence if there are this many times as many as in independent
# columns, or if they cover this share of the distance from that number to the largest possible.
_TIMES, _SHARE = 3.0, 0.25
_SOME_SHOWN = 12  # quasi-identifiers that show by their values what people do not change
_DAYS = 25_000  # on which people were born


@dataclass(frozen=True)
class Counted:
    """What k counts in a table: the people of one column, or the rows."""

    column: str | None  # None: the rows
    people: int  # distinct values of the column, as covey tells people apart; or rows
    rows: int

    def __str__(self) -> str:
        if self.column is None:
            return count(self.rows, "row")
        people = count(self.people, "person", "people")
        return f"{self.column}: {people}, {count(self.rows, 'row')}"


@dataclass(frozen=True)
class Evidence:
    """What a table shows about its people: the candidates, and the decision if it is clear."""

    candidates: tuple[Candidate, ...] = ()  # that repeat and may be people, the likeliest first
    person: str | None = None  # the column that is plainly the person
    together: Candidate | None = None  # names and dates of birth, if they alone repeat
    doubtful: tuple[str, ...] = ()  # names that repeat, perhaps by coincidence

    @property
    def is_open(self) -> bool:
        """Whether people repeat, and it is not clear by which column."""
        return self.person is None and bool(self.candidates or self.together)

    @property
    def likeliest(self) -> Candidate | None:
        """The best candidate."""
        return self.candidates[0] if self.candidates else self.together


def evidence(
    table: Table,
    names: Mapping[str, bool],
    declared: TableFormat | None = None,
    known: Mapping[str, Facts] | None = None,
    only: str | None = None,
) -> Evidence:
    """What a table shows about its people.

    Only columns in `names` may number them, which says of each whether it is an identifier. Rows
    that are equal to others are duplicates, and show nothing, if there are few. `known` facts of
    columns are not gathered again. With `only`, no other column is judged whether it repeats.
    """
    declared = declared or TableFormat()
    once = _without_duplicates(table)
    looked = Looked(once, known if once is table else None)
    columns = set(once.frame.columns)
    present = {name: given for name, given in names.items() if name in columns}
    search = Search(looked, present, declared)
    found = search.found(only)
    if live := search.live(found):
        return _decided(live)
    personal = [name for name, given in present.items() if given and is_name(looked[name])]
    born = [name for name in once.frame.columns if _is_of_birth(name)]
    together = _together(once, [*personal, *born], declared, search.own)
    if together or search.own or only:
        return Evidence(together=together)
    refuted = {one.column for one in found if one.behaves is False}
    again = [name for name in personal if name not in refuted and _repeats(once, name, declared)]
    again += [name for name in born if _repeats_often(looked[name])]
    return Evidence(doubtful=tuple(again))


def duplicates(table: Table) -> int:
    """The number of rows that are equal to an earlier one."""
    frame = table.frame
    rows = frame[ROW] if ROW in frame.columns else pl.Series(frame.hash_rows())
    return frame.height - rows.n_unique()


def _without_duplicates(table: Table) -> Table:
    frame = table.frame
    if not 0 < duplicates(table) <= handful(frame.height):
        return table if ROW not in frame.columns else replace(table, frame=frame.drop(ROW))
    rows = frame[ROW] if ROW in frame.columns else pl.Series(frame.hash_rows())
    return Table(frame.filter(rows.is_first_distinct()).drop(ROW, strict=False), table.dialect)


def _decided(live: Sequence[Candidate]) -> Evidence:
    """The coarsest number of people, if all others lie within it or are none."""
    ordered = sorted(live, key=likelihood)
    best = ordered[0]
    rivals = [other for other in ordered[1:] if not _is_settled(best, other)]
    is_clear = best.is_person and best.behaves is not False and not rivals
    return Evidence(tuple(ordered), best.column if is_clear else None)


def likelihood(one: Candidate) -> tuple[bool, bool, int, str]:
    """The order of candidates: those named after people first, then the coarser ones."""
    return (not one.is_person, one.behaves is not True, one.values, one.column)


def _is_settled(best: Candidate, other: Candidate) -> bool:
    """Whether it is clear that not the `other`, but `best` is the person."""
    if best.column in other.within:  # the other one is finer, or the same
        return True
    return not other.is_person and other.behaves is None


# ── names and dates of birth ────────────────────────────────────────────────────────────────────


def _together(
    table: Table, names: Sequence[str], declared: TableFormat, own: str | None
) -> Candidate | None:
    """Names and dates of birth, if they repeat together and not by coincidence.

    If `own` numbers people in each row, only names with a date of birth count against it.
    """
    cells = [tables.owners(table.cells(name), declared) for name in dict.fromkeys(names)]
    cells = [column for column in cells if 1 < column.n_unique() < len(column)]
    if len(cells) < 2 or (own and not any("birth" in concepts(c.name) for c in cells)):
        return None
    found = of_cells(cells)
    if found is None or found.rows - found.values <= handful(found.rows):
        return None
    known = pl.sum_horizontal(pl.all().is_not_null()) >= 2
    return None if _is_chance(pl.DataFrame(cells).filter(known)) else found


def _repeats(table: Table, name: str, declared: TableFormat) -> bool:
    found = of_cells([tables.owners(table.cells(name), declared)])
    return found is not None and found.rows - found.values > handful(found.rows)


def _repeats_often(born: Facts) -> bool:
    """Whether days of birth repeat more often than those of a people do, and are no months."""
    if not born.is_date or not 2 < born.distinct < born.present - handful(born.present):
        return False
    known = days(born)
    span = float(known.max() or 0) - float(known.min() or 0)  # type: ignore[arg-type]
    of_month = known.cast(pl.Int32).cast(pl.Date).dt.day()
    share = pl.DataFrame({"day": of_month, "rows": born.rows}).group_by("day").sum()["rows"]
    equal = float((born.rows * (born.rows - 1)).sum()) / (born.present * (born.present - 1))
    often = equal > _TIMES / min(_DAYS, span + 1)
    return often and int(share.max() or 0) < 0.5 * born.present  # type: ignore[arg-type]


def _is_chance(frame: pl.DataFrame) -> bool:
    """Whether rows are equal about as often as if their columns were independent."""
    alone = [_equal_pairs(frame.select(name)) for name in frame.columns]
    together, expected, most = _equal_pairs(frame), prod(alone), min(alone)
    often = together > _TIMES * expected  # for many values: two in a million where none is expected
    nearly_always = together - expected > _SHARE * (most - expected)  # for few values
    return not (often or nearly_always)


def _equal_pairs(frame: pl.DataFrame) -> float:
    """The share of all pairs of rows that are equal."""
    each = frame.group_by(frame.columns).len("\0rows")["\0rows"].cast(pl.Float64)
    return float((each * (each - 1)).sum()) / (frame.height * (frame.height - 1))


# ── requests that do not say what k counts ──────────────────────────────────────────────────────


def considered(schema: Schema) -> tuple[dict[str, bool], list[str]]:
    """The columns that may number people, and those that people perhaps do not change.

    Of the first it says whether they are identifiers.
    """
    numbers = {
        name: column.role is Role.IDENTIFIER
        for name, column in schema.columns.items()
        if column.role is Role.IDENTIFIER
        or (column.role in (Role.SENSITIVE, Role.INSENSITIVE) and not never(concepts(name)))
        or is_of_people(name)
    }
    others = [name for name in schema.columns if name not in numbers]
    shown = [n for n in others if schema.columns[n].role is Role.QUASI][:_SOME_SHOWN]
    return numbers, [n for n in others if n in shown or lasts(concepts(n))]


def dropped_numbers(schema: Schema) -> list[str]:
    """The dropped columns whose names say that they number people, or when these were born."""
    return [n for n in schema.names(Role.DROP) if is_of_people(n) or _is_of_birth(n)]


def _is_of_birth(name: str) -> bool:
    found = concepts(name)
    return lasts(found) and "birth" in found


def whose_rows(table: Table, schema: Schema, names: Sequence[str]) -> dict[str, pl.Series]:
    """The person of each row, by each person column; never released."""
    absent = sorted(set(names) - set(table.frame.columns))
    if absent:
        raise SchemaError(f"the person column {absent[0]!r} is not in the table")
    return {name: tables.owners(table.cells(name), schema.table) for name in names}


class Doubts(NamedTuple):
    """What is doubtful about counting rows: in notes, or so much that the headline says it."""

    notes: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()


def declared(requirements: Sequence[Requirement]) -> set[str | Literal[False]]:
    """What k counts, as far as the request says so."""
    given = {one.person for one in requirements if isinstance(one, KAnonymity)}
    return {person for person in given if person is not None}


def refuse_repeats(found: Evidence, requirements: Sequence[Requirement]) -> Doubts:
    """Refuse to count rows if people repeat, unless the request says so; return the doubts.

    The refusal is for the custodian and contains numbers. The doubts are published and contain
    none, because they would count rows that the release suppresses.
    """
    best, is_declared = found.likeliest, bool(declared(requirements))
    if best is None:
        names = () if is_declared else found.doubtful
        listed = ", ".join(map(repr, names))
        message = f"k counts rows, although values of {listed} repeat: people may have several rows"
        return Doubts(tuple(map(_perhaps, names)), (message,) if names else ())
    if is_declared:
        counted = (
            f"k counts rows, although {best.named} like a person: a person with several rows may "
            "fill a whole class"
        )
        return Doubts(headline=(counted,))
    raise GuaranteeError(f"{question(found)}. {_ways_out(found, best)}")


def _perhaps(name: str) -> str:
    return (
        f"column {name!r} repeats, but k counts rows. If people have several rows, one person "
        'may fill a whole class: name the column that identifies people (person = "COLUMN")'
    )


def question(found: Evidence) -> str:
    """What repeats, or which of several candidates one has to choose from."""
    best = found.likeliest
    if best is None:
        return ""
    if found.person or len(found.candidates) < 2:
        return f"{best.named}: {best.figures}"
    each = "; ".join(f"{c.column!r}: {c.figures}" for c in found.candidates)
    return f"it is not clear which of these is one person: {each}"


def _ways_out(found: Evidence, best: Candidate) -> str:
    one = len(best.columns) == 1
    clear = one and (found.person or len(found.candidates) < 2)
    column = json.dumps(best.column, ensure_ascii=False) if clear else '"COLUMN"'
    which = "" if one else " (one column that identifies them; add one if there is none)"
    return (
        "Set what k counts under [require] in the schema: "
        f"person = {column} for persons{which}, or person = false for rows "
        "(on the command line: --person or --count-rows)"
    )
