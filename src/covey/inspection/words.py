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

# Who knows it, if nothing else is known about the column.
DIRECT = frozenset({"person_name", "person_number", "contact"})
KNOWN = frozenset(
    {"birth", "age", "sex", "postcode", "place", "country", "marital", "education", "occupation"}
) | {"ethnicity", "household", "date", "title", "count"}
PLAINLY_KNOWN = frozenset({"birth", "age", "sex", "postcode", "country", "date", "ethnicity"})
PRIVATE = frozenset(
    {"diagnosis", "treatment", "measurement", "score", "money", "outcome", "substance", "private"}
) | {"weighting"}

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


_PERSON = re.compile(
    r"^_(patient|person|subj|subject|participant|respondent|individual|indiv|client|customer|member|"
    r"proband|versicherter|kunde|personne|sujet|paciente|persona|paziente|persoon|pessoa|utente|"
    r"pacjent|osoba)(_[0-9]+)?_$"
)


def is_person(name: str) -> bool:
    """Whether the name only says that this is a person: `subject`."""
    return _PERSON.search(words(name)) is not None


_NAME = re.compile(r"_(name|names|namen|naam|nom|noms|nombre|nome|nomi|nazwa)_")


def has_name(name: str) -> bool:
    """Whether `name` is a word of the name, and not the end of a longer one."""
    return _NAME.search(words(name)) is not None


_BARE = re.compile(r"^_(id|ident|identifier|key|nr|no|num|number|nummer|numero|numer|index)_$")


def is_bare_number(name: str) -> bool:
    """Whether the name says only that this is a number of something: `id`, `No.`"""
    return _BARE.search(words(name)) is not None
