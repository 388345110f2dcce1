"""What the values of a column look like: one small recogniser for each kind of content.

A recogniser judges the distinct values, as text, and finds its kind if most of them match; a few
odd cells do not matter. The order in `recognisers.toml` decides if several match. Checksums keep
numbers that merely have the right length apart from numbers of accounts and of people.
"""

import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from covey.declared import declared
from covey.inspection.words import folded
from covey.schema import Role

Test = Callable[[pl.Series], pl.Series]  # which of these texts match
Check = Callable[[str], bool]


_VALUES = declared("covey.inspection", "values.toml")
NAMES = frozenset(
    folded(name) for name in f"{_VALUES['first_names']} {_VALUES['surnames']}".split()
)


@dataclass(frozen=True)
class Recogniser:
    """One kind of content."""

    kind: str  # in the plural, as in "many values look like …"
    test: Test
    role: Role | None = None  # None: the content does not say who knows it
    share: float = 0.8  # of the distinct values that must match
    fewest: int = 3  # distinct values, so that a kind is no coincidence
    concept: str | None = None  # which the name must mention, if the form alone proves nothing

    def finds(self, texts: pl.Series, concepts: frozenset[str] = frozenset()) -> bool:
        """Whether the texts are of this kind."""
        if len(texts) < self.fewest or (self.concept and self.concept not in concepts):
            return False
        return float(self.test(texts).sum()) >= self.share * len(texts)


# ── tests ───────────────────────────────────────────────────────────────────────────────────────

_TRIED = 20  # texts that show whether others are worth a look


def _form(pattern: str) -> Test:
    """Texts of this form."""
    return lambda texts: texts.str.contains(pattern)


def _checked(pattern: str, check: Check) -> Test:
    """Texts of this form that also pass a check."""

    def test(texts: pl.Series) -> pl.Series:
        fits = texts.str.contains(pattern)
        passed = [bool(fit) and check(text) for text, fit in zip(texts, fits, strict=True)]
        return pl.Series(passed, dtype=pl.Boolean)

    return test


def _numbered(pattern: str, modules: Sequence[str]) -> Test:
    """Texts of this form whose check digits are right by one and the same rule of python-stdnum."""

    def test(texts: pl.Series) -> pl.Series:
        fits = texts.str.contains(pattern)
        some = texts.filter(fits).head(_TRIED).to_list()
        for name in modules if len(some) >= _TRIED / 2 else ():
            is_valid = importlib.import_module(f"stdnum.{name}").is_valid
            if sum(map(is_valid, some)) >= 0.8 * len(some):
                return _checked(pattern, is_valid)(texts)
        return fits & False

    return test


def _is_band(text: str) -> bool:
    """Whether the second number of two is the larger."""
    ends = [float(end.replace(",", ".")) for end in re.findall(r"[0-9]+(?:[.,][0-9]+)?", text)]
    return len(ends) < 2 or ends[0] < ends[1]


def _is_name(text: str) -> bool:
    """Whether a text of capitalised words has a common name in it."""
    if _TITLED.search(text):
        return True
    parts = re.findall(r"[a-z]{2,}", folded(text))
    return len(parts) <= 6 and any(part in NAMES for part in parts)


_TITLED = re.compile(r", ?(Mr|Mrs|Miss|Ms|Master|Dr|Rev|Herr|Frau|M|Mme|Sr|Sra|Sig)\. ")


def _street(texts: pl.Series) -> pl.Series:
    """A word for a street beside a number."""
    return texts.str.contains(_STREET) & texts.str.contains(r"\b[0-9]{1,5}[a-zA-Z]?\b")


_WORDS, _ENDINGS = ("|".join(_VALUES["streets"][kind].split()) for kind in ("words", "endings"))
_STREET = rf"(?i)(\b({_WORDS})\b|({_ENDINGS})\b)"


def _telephone(texts: pl.Series) -> pl.Series:
    """Digits with a leading sign or zero, or in groups, that are no number of another kind."""
    digits = texts.str.count_matches("[0-9]").is_between(7, 15)
    written = texts.str.contains(
        r"^(\+|0|\()|[0-9][ ()/.-]+[0-9]+[ ()/.-]+[0-9]|^[0-9]{3}[-.][0-9]{4}$"
    )
    other = texts.str.contains(rf"{_GROUPED}|^-?(0|[1-9][0-9]*)[.,][0-9]+$|^[0-9]{{4}}-[0-9]{{2}}-")
    return texts.str.contains(_PHONE) & digits & written & ~other


_GROUPED = r"^[+-]?[0-9]{1,3}([.' ,][0-9]{3})+$"
_PHONE = r"^(\+|00|\()?[0-9][0-9 ()/.-]{5,17}[0-9]$"


def _dotted_icd(texts: pl.Series) -> pl.Series:
    """ICD-10 codes, if some of them have a dot as only these have."""
    dotted = texts.str.contains(r"^[A-TV-Z][0-9][0-9AB]\.[0-9A-Z]{1,4}")
    some = int(dotted.sum()) >= max(2, 0.2 * len(texts))
    return texts.str.contains(r"^[A-TV-Z][0-9][0-9AB](\.?[0-9A-TV-Z-]{1,4})?[*+!†]?$") & some


_TESTS: dict[str, Test] = {
    "street": _street, "telephone": _telephone, "dotted ICD code": _dotted_icd,
}  # fmt: skip
_CHECKS: dict[str, Check] = {"band": _is_band, "name": _is_name}


# ── the registry ────────────────────────────────────────────────────────────────────────────────


def _recognisers(entry: Mapping[str, Any]) -> Iterator[Recogniser]:
    """The recognisers of an entry of `recognisers.toml`: one for each of several forms."""
    names = ("kind", "share", "fewest", "concept")
    settings = {name: entry[name] for name in names if name in entry}
    role = Role(entry["role"]) if "role" in entry else None
    for form in entry["forms"].values() if "forms" in entry else [entry.get("form", ())]:
        pattern = form if isinstance(form, str) else "|".join(form)
        yield Recogniser(test=_test(pattern, entry), role=role, **settings)


def _test(pattern: str, entry: Mapping[str, Any]) -> Test:
    if "test" in entry:
        return _TESTS[entry["test"]]
    if "check" in entry:
        return _checked(pattern, _CHECKS[entry["check"]])
    return _numbered(pattern, entry["numbers"]) if "numbers" in entry else _form(pattern)


_ENTRIES = declared("covey.inspection", "recognisers.toml")["recognisers"]
RECOGNISERS = tuple(known for entry in _ENTRIES for known in _recognisers(entry))
# Kinds that are told by their check digits.
CHECKED = ("numbers of people", "IBANs", "credit card numbers")


def recognise(texts: pl.Series, concepts: frozenset[str] = frozenset()) -> Recogniser | None:
    """The first recogniser that finds its kind among these distinct texts."""
    short = float(texts.str.contains(_SHORT_NUMBER).sum())
    # Numbers of a few digits are of no kind by themselves, and most columns have them.
    tried = _BY_NAME if short > 0.95 * len(texts) else RECOGNISERS
    return next((known for known in tried if known.finds(texts, concepts)), None)


_SHORT_NUMBER = r"^[+-]?(0|[1-9][0-9]{0,4})([.,][0-9]*)?$"
_BY_NAME = tuple(known for known in RECOGNISERS if known.concept)


FLAGS = frozenset(_VALUES["flags"].split())
UNKNOWN = frozenset(_VALUES["unknown"].strip().split("\n"))
_MEANING = {word: sex for sex, known in _VALUES["sexes"].items() for word in known.split()}


def sexes(values: Mapping[str, int]) -> dict[str, str] | None:
    """The meaning of each value, if all are words for sexes; None if they are not, or may not be.

    M beside H is a mujer, not a man.
    """
    shown = {value: value.strip().casefold().rstrip(".") for value in values}
    words = {value: word for value, word in shown.items() if word and word not in UNKNOWN}
    used = set(words.values())
    if not used or not _MEANING.keys() >= used:
        return None
    meaning = dict(_MEANING)
    if "h" in used and not used & {"f", "w", "v", "k"}:
        meaning["m"] = "female"
    elif "m" in used and used & {"hombre", "mujer"}:
        return None
    found = {value: meaning[word] for value, word in words.items()}
    return found if {"female", "male"} <= set(found.values()) else None


def recoded(values: Mapping[str, int]) -> dict[str, str]:
    """Each other spelling of a sex and its most frequent spelling, if some sex has several."""
    meaning = sexes(values) or {}
    usual: dict[str, str] = {}
    for value in sorted(meaning, key=lambda value: (-values[value], value)):
        usual.setdefault(meaning[value], value)
    return {value: usual[sex] for value, sex in sorted(meaning.items()) if usual[sex] != value}
