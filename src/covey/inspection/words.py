"""What the name of a column says, in eight languages.

The vocabulary is a table of concepts and words. Names are compared without accents and case, word
by word: `PatientID`, `patient-id` and `PATIENT_ID` are the same, and so are `Größe` and `groesse`.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable

from covey.declared import declared
from covey.schema import Role

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt", "pl")

_VALUES = declared("covey.inspection", "values.toml")
DIRECT, KNOWN, PLAINLY_KNOWN, PRIVATE = (
    frozenset(_VALUES["concepts"][who].split())
    for who in ("direct", "known", "plainly_known", "private")
)
_SIGNS = str.maketrans({"ł": "l", "Ł": "L", "ß": "ss", "ø": "o", "Ø": "O", "đ": "d", "æ": "a"})
_PARTS = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)
_UMLAUTS = re.compile(r"([aou])e")


def folded(text: str) -> str:
    """The text in lower case without accents; umlauts lose their dots, or the e beside them."""
    return _UMLAUTS.sub(r"\1", _plain(text).lower())


def _plain(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text.translate(_SIGNS))
    return "".join(sign for sign in apart if not unicodedata.combining(sign))


def words(name: str) -> str:
    """The words of a name, as `_date_of_birth_`."""
    parted = folded(_PARTS.sub("_", _plain(name)))
    return "_" + re.sub(r"[^a-z0-9]+", "_", parted).strip("_") + "_"


@functools.cache
def vocabulary() -> dict[str, dict[str, str]]:
    """The words of each concept, by language."""
    return declared("covey.inspection", "vocabulary.toml")


@functools.cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        concept: re.compile("|".join(map(_pattern, " ".join(by_language.values()).split())))
        for concept, by_language in vocabulary().items()
    }


def _pattern(word: str) -> str:
    """One word of the vocabulary as a pattern for `_words_`."""
    if word.startswith("="):
        return f"^_{folded(word[1:])}_$"
    start = "" if word.startswith("*") else "_"
    end = "" if word.endswith("*") else "_"
    # Long words may be written together, as BIRTHDATE; n_of is not the end of person.
    return start + _TOGETHER.sub("_?", folded(word.strip("*"))) + end


_TOGETHER = re.compile(r"(?<=[a-z]{3})_(?=[a-z]{3})")


def concepts(name: str, label: str = "") -> frozenset[str]:
    """The concepts that the name of a column mentions, or else its label in the codebook."""
    return _concepts(words(name)) or (_concepts(words(label)) if label else frozenset())


@functools.lru_cache(10_000)
def _concepts(text: str) -> frozenset[str]:
    return frozenset(concept for concept, found in _patterns().items() if found.search(text))


def role_of(mentioned: Iterable[str]) -> Role | None:
    """The role that these concepts suggest for a column that does not name people."""
    found = frozenset(mentioned)
    if found & PLAINLY_KNOWN:
        return Role.QUASI
    if found & PRIVATE:
        return Role.SENSITIVE
    return Role.QUASI if found & KNOWN else None


_NAMES = {kind: re.compile(pattern) for kind, pattern in _VALUES["column_names"].items()}


def is_called(name: str, kind: str) -> bool:
    """Whether the name of a column is of this kind, as `[column_names]` has them."""
    return _NAMES[kind].search(words(name)) is not None
