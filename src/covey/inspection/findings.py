"""What is wrong with a table, or worth knowing before its release: findings with counts.

A finding names a column and never a cell, except for words and numbers of covey's own lists that
stand for missing. If a setting of the schema mends it, the finding has that setting.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from covey.errors import count, percent
from covey.inspection.candidates import handful
from covey.inspection.facts import FEW, MOSTLY, Facts
from covey.inspection.persons import Evidence, question
from covey.inspection.relations import Relation, Uniqueness
from covey.inspection.sentinels import of_numbers
from covey.schema import ColumnType
from covey.schema.columns import Column
from covey.schema.labels import STEPS, look_alikes
from covey.tables import Table
from covey.tables.encodings import PERHAPS
from covey.tables.strays import counted, duplicates, named

_NEARLY_ALL_MISSING = 0.97
_MOST_LABELS = 2_000  # labels that are compared with each other
_SHORTEST = 5  # letters of a label that may have a typo
_FAR = 10  # times the range of most rows
_RARE, _FREQUENT = 0.005, 10  # rows of a typo, and how many times as many the right label has


@dataclass(frozen=True)
class Finding:
    """One thing to know about a table. `setting` mends it, if added to the column."""

    column: str | None  # None: the whole table
    kind: str
    text: str
    setting: Mapping[str, Any] = field(default_factory=dict)
    applied: bool = False  # whether the draft has the setting already
    source: str | None = None  # the column that tells the same, if the finding is about that

    def __str__(self) -> str:
        return self.text if self.column is None else f"{self.column!r}: {self.text}"


def of_column(
    facts: Facts, column: Column, reasons: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """What is wrong with one column; `reasons` are those of its drafted settings."""
    for setting in ("missing_values", "unreadable", "recode"):
        if reasons and setting in reasons:
            mends = {setting: getattr(column, setting)}
            yield Finding(facts.name, setting, reasons[setting], mends, applied=True)
    if facts.missing >= _NEARLY_ALL_MISSING and facts.present:
        yield Finding(
            facts.name, "mostly missing", f"{percent(facts.missing)} of the rows are missing"
        )
    if facts.distinct <= 1 and facts.present in (0, len(facts.cells)):
        what = "the same in every row" if facts.distinct else "missing in every row"
        yield Finding(facts.name, "constant", f"{what}: it tells nothing")
        return
    if column.is_removed:
        return  # it is removed
    yield from _labels(facts, column)
    yield from _types(facts, column)


def _labels(facts: Facts, column: Column) -> Iterator[Finding]:
    if column.is_ordered or facts.values.dtype != pl.String:
        return
    alike = look_alikes(facts.values, facts.rows)
    if alike and not column.recode:
        text = f"{alike} look the same, in {count(alike.rows, 'row')}"
        yield Finding(facts.name, "alike", text, {"normalise": list(STEPS)})
    typos = _typos(facts)
    if typos:
        text = (
            f"{count(typos, 'rare label')} with one letter other than a frequent one, perhaps typos"
        )
        yield Finding(facts.name, "typos", text)
    if facts.unknown and not column.missing_values:
        rows = int(facts.rows.filter(facts.values.is_in(list(facts.unknown))).sum())
        text = f"a label that means unknown, in {count(rows, 'row')}"
        yield Finding(facts.name, "unknown", text, {"missing_values": list(facts.unknown)})


def _types(facts: Facts, column: Column) -> Iterator[Finding]:
    numbers = facts.present - facts.unreadable
    some = 0.1 * facts.present < numbers < MOSTLY * facts.present
    if facts.is_text and facts.values.dtype == pl.String and some and numbers > FEW:
        share = percent(numbers / facts.present)
        yield Finding(facts.name, "mixed", f"numbers and texts: {share} of the cells are numbers")
    kind = facts.kind.kind if facts.kind is not None else ""
    if kind in ("sums of money", "numbers with a unit") and column.type is not ColumnType.NUMERIC:
        text = f"{kind}, which are read as texts: write plain numbers"
        yield Finding(facts.name, "units", text)
    if facts.is_numeric and (far := _far_rows(facts)):
        text = f"{count(far, 'row')} many times further out than most: rare people, or mistakes"
        yield Finding(facts.name, "far values", text)
    if facts.date is not None and not facts.date.has_centuries:
        text = "years of two digits, some of them of another century: write four"
        yield Finding(facts.name, "ambiguous dates", text)
    elif facts.date is not None and not facts.date.is_sure:
        text = "dates in which days might be months"
        setting = {"type": "date", "format": facts.date.formats[-1]}
        yield Finding(facts.name, "ambiguous dates", text, setting)
    if "postcode" in facts.concepts and (lost := _lost_zeros(facts)):
        yield Finding(facts.name, "lost zeros", f"{count(lost, 'row')} with a leading zero lost")


def unreadable_rows(facts: Facts) -> int:
    """The number of rows whose cell is no number or date, as the column goes."""
    if facts.date is not None:
        return int(facts.rows.filter(~facts.date.readable).sum())
    return 0 if facts.is_date else facts.unreadable


def _far_rows(facts: Facts) -> int:
    """The number of rows whose number is many times further out than those of most rows."""
    known = facts.numbers.is_not_null() & ~of_numbers(facts)
    counted = pl.DataFrame({"number": facts.numbers, "rows": facts.rows}).filter(known)
    if counted.height <= FEW:
        return 0
    counted = counted.sort("number")
    upto = counted["rows"].cum_sum()
    low, middle, high = (
        float(counted["number"][int((upto < share * upto[-1]).sum())]) for share in (0.1, 0.5, 0.9)
    )
    away = (counted["number"] - middle).abs() > _FAR * (high - low)
    return int(counted["rows"].filter(away).sum()) if high > low else 0


def _lost_zeros(facts: Facts) -> int:
    """The number of rows with four digits where most have five."""
    texts = facts.values.cast(pl.String)
    digits = texts.str.len_chars().filter(texts.str.contains("^[0-9]+$"))
    if Counter(digits.to_list()).most_common(1)[:1] != [(5, int((digits == 5).sum()))]:
        return 0
    return int(facts.rows.filter(texts.str.contains("^[1-9][0-9]{3}$")).sum())


def _typos(facts: Facts) -> int:
    """The number of rare labels that differ from a frequent one by one letter.

    Two such labels are the same after one letter of each is taken away.
    """
    if not FEW // 5 <= facts.distinct <= _MOST_LABELS or facts.share > 0.1:
        return 0
    rows = dict(zip(facts.values, facts.rows, strict=True))
    words = [v for v in rows if len(v) >= _SHORTEST and not any(sign.isdigit() for sign in v)]
    rare = [word for word in words if rows[word] <= max(2, _RARE * facts.present)]
    frequent: dict[str, int] = {}
    for word in words:
        for key in _without_a_letter(word):
            frequent[key] = max(frequent.get(key, 0), rows[word])
    found = 0
    for word in rare:
        most = max(frequent[key] for key in _without_a_letter(word))
        found += most >= _FREQUENT * rows[word] and most > rows[word]
    return found


def _without_a_letter(word: str) -> set[str]:
    lower = word.casefold()
    return {lower, *(lower[:place] + lower[place + 1 :] for place in range(len(lower)))}


# ── the whole table ─────────────────────────────────────────────────────────────────────────────


def of_reading(notes: Sequence[str]) -> Iterator[Finding]:
    """What is in doubt about how the file was read."""
    for note in notes:
        if PERHAPS in note:
            yield Finding(None, "encoding", note)


def of_table(people: Evidence, quasi: Sequence[str], unique: Uniqueness) -> Iterator[Finding]:
    """What is wrong with the table as a whole."""
    if not quasi:
        text = "no quasi-identifier: give a column that others may know the role quasi"
        yield Finding(None, "no quasi-identifier", text)
    elif unique.together:
        share = percent(unique.together / unique.rows)
        of = f"of a sample of {unique.rows:,} rows" if unique.sampled else "rows"
        text = f"{unique.together:,} {of} ({share}) are unique by the quasi-identifiers together"
        yield Finding(None, "unique rows", text)
    if people.likeliest is not None:
        yield Finding(None, "repeated people", question(people))


def _of_duplicates(table: Table) -> Iterator[Finding]:
    """The rows that stand twice; to be left out if a column is different in all others."""
    again = duplicates([table])
    if not again or "duplicates" in table.kept:
        return
    others = table.frame.height - len(again)
    few = len(again) <= handful(table.frame.height)
    numbered = few and any(cells.n_unique() == others for cells in table.frame)
    setting = {"drop_rows": ["duplicates"]} if numbered else {}
    yield Finding(None, "duplicates", f"{counted(again)}: {named(again)}", setting)


def of_strays(table: Table) -> Iterator[Finding]:
    """The rows that are no people, or perhaps none: left out already, or to be decided about."""
    yield from _of_duplicates(table)
    for found, applied in ((table.left_out, True), (table.strays, False)):
        for kind, is_clear in dict.fromkeys((one.kind, one.is_clear) for one in found):
            some = [one for one in found if (one.kind, one.is_clear) == (kind, is_clear)]
            text = f"{counted(some)}: {named(some)}"
            setting = {"drop_rows": [kind]} if is_clear else {}
            yield Finding(None, kind, text, setting, applied)


def of_relation(relation: Relation, *, applied: bool) -> Finding:
    """That a column tells what another one tells; `applied` if the draft removes it."""
    setting = {"role": "drop"}
    if applied:
        text = f"tells the same as {relation.source!r}, and more exactly: removed"
    elif relation.is_order:
        text = f"tells nearly the same as {relation.source!r}: keep one of the two"
    elif relation.equal:
        text = f"tells the same as {relation.source!r}: keep one of the two"
    else:
        text = f"follows from {relation.source!r}: remove it, so that no fact is protected twice"
    return Finding(relation.column, "dependent", text, setting, applied, relation.source)
