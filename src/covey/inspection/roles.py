"""The role and the type of a column, from its name and its content.

Careful rather than clever: what might name a person is an identifier, what others might know is a
quasi-identifier, and so is everything that says nothing about itself. A column is sensitive only if
its name or its content says so, and insensitive only if it is the same in every row.
"""

from collections.abc import Set
from pathlib import Path
from typing import Any, NamedTuple

from covey.inspection import dates, words
from covey.inspection.facts import FEW, NEARLY_UNIQUE, Facts
from covey.schema import ColumnType, Role

_UNIQUE = 0.9  # values per row: even a sensitive text with so many names its row


class Judgement(NamedTuple):
    """A role, and the reason for it."""

    role: Role
    reason: str


def judge(facts: Facts) -> Judgement:
    """The role of a column."""
    named = _named_after_people(facts)
    if named:
        return Judgement(Role.IDENTIFIER, named)
    if facts.distinct <= 1 and facts.present in (0, len(facts.cells)):
        what = "missing in every row" if not facts.distinct else "the same in every row"
        return Judgement(Role.INSENSITIVE, what)
    found = _identifying(facts)
    if found:
        return Judgement(Role.IDENTIFIER, found)
    return _known_or_private(facts)


# ── identifiers ─────────────────────────────────────────────────────────────────────────────────


def _named_after_people(facts: Facts) -> str | None:
    """Why the name of the column says that it identifies people; None if it does not."""
    concepts = facts.concepts
    if not facts.present or facts.is_date or facts.is_flag:
        return None
    repeats_often = facts.distinct <= FEW and facts.share < NEARLY_UNIQUE
    letters = facts.is_text and facts.kind is None
    numbered = (
        words.is_called(facts.name, "person")
        and facts.distinct > 2 * FEW
        and not facts.has_fractions
    )
    if (
        numbered
        or ("person_number" in concepts and (not facts.is_few or "person" in concepts))
        or (concepts >= {"person", "generic_id"} and facts.distinct > FEW)
        or (_names_people(concepts) and (letters or _looks_like_names(facts)))
        or ("contact" in concepts and not repeats_often)
        or ("staff" in concepts and facts.is_text and facts.distinct > FEW)
    ):
        return "the column name suggests an identifier"
    is_exact = facts.is_text or facts.has_fractions or facts.is_nearly_unique
    if "coordinates" in concepts and not repeats_often and is_exact:
        return "coordinates, which lead to an address"
    return None


def _names_people(concepts: frozenset[str]) -> bool:
    """Whether the name speaks of names of people, perhaps those at their birth."""
    at_birth = concepts >= {"generic_name", "birth"} and not concepts & {"place", "country"}
    return "person_name" in concepts or at_birth


def _looks_like_names(facts: Facts) -> bool:
    return facts.kind is not None and facts.kind.kind.endswith("personal names")


def _identifying(facts: Facts) -> str | None:
    """Why the content, with the name, might identify people; None if it does not."""
    kind, known = facts.kind, facts.concepts & words.KNOWN
    if facts.is_date or facts.is_time:
        return None
    if kind is not None and kind.role is Role.IDENTIFIER:
        # A town may be called after a person, and a few names may be those of wards.
        doubtful = kind.kind.startswith("perhaps") and known and not facts.is_nearly_unique
        if not doubtful:
            return f"many values look like {kind.kind.removeprefix('perhaps ')}"
    if facts.is_prose and (not known or facts.is_nearly_unique):
        return "free text, which may name people"
    if facts.is_numbering and _is_given(facts, known - {"count"}):
        return "a running number: different in every row"
    return _many_values(facts, known)


def _is_given(facts: Facts, known: frozenset[str]) -> bool:
    """Whether numbers that differ in every row were given to the rows, and not measured.

    Measured values may all differ, but they do not all lie side by side.
    """
    if "generic_id" in facts.concepts:
        return True
    return not known and (facts.is_dense or not facts.concepts & words.PRIVATE)


def _many_values(facts: Facts, known: frozenset[str]) -> str | None:
    """Why so many different values identify people."""
    concepts, many = facts.concepts, facts.distinct > 2 * FEW
    if "generic_id" in concepts:
        known -= {"household"}  # the number of a household is no size
    numbering = "generic_id" in concepts and facts.share >= NEARLY_UNIQUE
    shielded = not concepts & {"generic_id", "free_text", "generic_name"}
    private = bool(concepts & words.PRIVATE) and facts.share < _UNIQUE and shielded
    if (facts.kind is not None and not numbering) or (known - {"count"}):
        return None
    of = f"{facts.distinct:,} values in {facts.present:,} rows"
    often = facts.share >= 0.1 or words.is_called(facts.name, "bare_number")
    reasons = {
        "the column name suggests free text, which may name people": (
            "free_text" in concepts and facts.is_text and (many or facts.has_phrases)
        ),
        f"the column name suggests a number of its own for each case; {of}": (
            "generic_id" in concepts
            and not facts.has_fractions
            and many
            and often
            and ("count" not in concepts or facts.is_nearly_unique)
        ),
        f"codes that number something: {of}": facts.is_coded and not private,
        f"nearly unique: {of}": (facts.is_text and facts.is_nearly_unique and not private),
        f"the column name suggests names; {of}": (
            "generic_name" in concepts
            and facts.is_text
            and (
                facts.share >= 0.1
                or (words.is_called(facts.name, "with_name") and facts.distinct > FEW)
            )
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _known_or_private(facts: Facts) -> Judgement:
    kind = facts.kind
    if kind is not None and kind.role is Role.SENSITIVE:
        return Judgement(Role.SENSITIVE, f"{kind.kind}, which nobody should learn")
    if not facts.is_date and words.role_of(facts.concepts) is Role.SENSITIVE:
        return Judgement(Role.SENSITIVE, "the column name suggests a sensitive value")
    return Judgement(Role.QUASI, f"{_what(facts)} that others may know")


def _what(facts: Facts) -> str:
    """The content in a word or two."""
    if facts.kind is not None and facts.kind.role is not Role.IDENTIFIER:
        return facts.kind.kind
    if facts.is_date:
        return "dates"
    if facts.is_time:
        return "times of day"
    if _are_codes(facts):
        return "codes"
    if facts.is_numeric:
        return "numbers, perhaps codes," if _are_number_codes(facts) else "numbers"
    return "categories"


# ── types ───────────────────────────────────────────────────────────────────────────────────────


def settings(
    facts: Facts, taxonomy: Path | None = None, elsewhere: Set[str] = frozenset()
) -> dict[str, Any]:
    """The settings of the column as a quasi-identifier, without grid and bounds.

    Dates whose days might be months are read like those `elsewhere` in the table.
    """
    if taxonomy is not None:
        return {"type": ColumnType.CATEGORICAL, "taxonomy": taxonomy}
    if facts.is_date:
        return _date(facts, elsewhere)
    if facts.is_time:
        return _categories(lengths=(5, 2))
    if _are_codes(facts):
        return _categories()
    if facts.is_numeric and not _are_number_codes(facts):
        return {"type": ColumnType.NUMERIC}
    return {"type": ColumnType.CATEGORICAL}


def _categories(**more: Any) -> dict[str, Any]:
    return {"type": ColumnType.CATEGORICAL, "taxonomy": {"build": "prefixes", **more}}


def _date(facts: Facts, elsewhere: Set[str]) -> dict[str, Any]:
    """ISO dates, with or without times, need no format; unclear dates are no dates."""
    possible = (dates.ISO,) if facts.date is None else facts.date.formats
    if facts.date is not None and not facts.date.has_centuries:
        possible = ()
    agreed = possible if len(possible) == 1 else tuple(f for f in possible if f in elsewhere)
    if len(agreed) != 1:
        return {"type": ColumnType.CATEGORICAL}
    (written,) = agreed
    return {"type": ColumnType.DATE, "format": None if written.startswith(dates.ISO) else written}


def _are_codes(facts: Facts) -> bool:
    """Whether the values are codes to cut from the right."""
    if facts.kind is not None and facts.kind.kind in ("postcodes", "ICD codes", "ATC codes"):
        return facts.distinct > 1
    if facts.is_padded:
        return int(facts.texts.str.len_chars().max() or 0) > 2  # type: ignore[arg-type]
    return False


def _are_number_codes(facts: Facts) -> bool:
    """Whether the numbers are codes rather than counts or ages: so named, or few."""
    if facts.has_fractions or facts.concepts & {"age", "count", "birth", "date"}:
        return False
    return facts.is_few or (
        bool(facts.concepts & {"code", "generic_id"}) and not facts.is_nearly_unique
    )
