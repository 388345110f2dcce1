"""What the values of a column look like: one small recogniser for each kind of content.

A recogniser judges the distinct values, as text, and finds its kind if most of them match; a few
odd cells do not matter. The order of the registry decides if several match. Checksums keep numbers
that merely have the right length apart from numbers of accounts and of people.
"""

import importlib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import polars as pl

from covey.inspection.words import folded
from covey.schema import Role

Test = Callable[[pl.Series], pl.Series]  # which of these texts match

_VALUES: dict[str, Any] = tomllib.loads(
    files("covey.inspection").joinpath("values.toml").read_text(encoding="utf-8")
)
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


def form(pattern: str) -> Test:
    """Texts of this form."""
    return lambda texts: texts.str.contains(pattern)


def checked(pattern: str, check: Callable[[str], bool]) -> Test:
    """Texts of this form that also pass a check."""

    def test(texts: pl.Series) -> pl.Series:
        fits = texts.str.contains(pattern)
        passed = [bool(fit) and check(text) for text, fit in zip(texts, fits, strict=True)]
        return pl.Series(passed, dtype=pl.Boolean)

    return test


# ── checks ──────────────────────────────────────────────────────────────────────────────────────


# Numbers of people and of taxpayers with check digits, by country, as modules of python-stdnum.
_PEOPLE = (
    *("at.vnr", "be.nn", "bg.egn", "br.cpf", "ca.sin", "ch.ssn", "cl.rut", "cn.ric", "cz.rc"),
    *("de.idnr", "dk.cpr", "ec.ci", "ee.ik", "es.dni", "es.nie", "fi.hetu", "fr.nir", "gb.nhs"),
    *("gr.amka", "hr.oib", "il.idnr", "in_.aadhaar", "is_.kennitala", "it.codicefiscale"),
    *("kr.rrn", "lt.asmens", "mx.curp", "nl.bsn", "no.fodselsnummer", "pl.pesel", "pt.nif"),
    *("pt.cc", "ro.cnp", "se.personnummer", "si.emso", "th.pin", "tr.tckimlik", "za.idnr"),
)
_TRIED = 20  # texts that show whether others are worth a look


def numbered(pattern: str, *modules: str) -> Test:
    """Texts of this form whose check digits are right by one and the same rule of python-stdnum."""

    def test(texts: pl.Series) -> pl.Series:
        fits = texts.str.contains(pattern)
        some = texts.filter(fits).head(_TRIED).to_list()
        for name in modules if len(some) >= _TRIED / 2 else ():
            is_valid = importlib.import_module(f"stdnum.{name}").is_valid
            if sum(map(is_valid, some)) >= 0.8 * len(some):
                return checked(pattern, is_valid)(texts)
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
_CAPITALISED = (
    r"^(\p{L}{1,4}[.'’] ?)*\p{Lu}[\p{L}'’´`-]*[0-9]{0,4}([ ,-]+[\p{L}.'’()\"-]+[0-9]{0,4})*$"
)

_BAND = (
    r"^[\[(][0-9]{1,7}(\.[0-9]+)? ?[,;-] ?[0-9]{1,7}(\.[0-9]+)?[\])]$|"
    r"(?i)^(de |from |von |zwischen |between |entre |tra |da |od |van |age )?[\[(]?[0-9]{1,7}"
    r"([.,][0-9]+)? ?(-|–|—|to|a|à|bis|tot|do|and|und|et|y|e|i|\.\.) ?[0-9]{1,7}"
    r"([.,][0-9]+)?[\])]?( ?(years|year|yrs|y|jahre|ans|años|anos|anni|jaar|lat|kg|cm|eur|€|\$))?$"
    r"|^([<>≤≥]=?|less than|more than|under|over|unter|über|ab|bis|moins de|plus de|menos de|"
    r"más de|mais de|meno di|più di|oltre|fino a|minder dan|meer dan|poniżej|powyżej|hasta|até|do)"
    r" ?[0-9]+([.,][0-9]+)?( ?\p{L}+)?$"
    r"|^[0-9]+ ?(\+|plus|and (more|over|older|above|less|under)|und (mehr|älter)|u\. ?m\.|et plus|"
    r"ou plus|y más|e più|e oltre|en ouder|en meer|ou mais|i więcej)( ?\p{L}+)?$"
)
_STREET = (
    r"(?i)(\b(street|st|road|rd|avenue|ave|av|lane|ln|drive|dr|way|court|ct|close|crescent|terrace|"
    r"square|boulevard|blvd|highway|hwy|route|rue|chemin|impasse|allée|quai|cours|calle|call|c/|"
    r"avda|avenida|plaza|paseo|carretera|ctra|camino|ronda|via|viale|corso|piazza|vicolo|largo|rua|"
    r"travessa|praça|estrada|ul|ulica|aleja|al|os|plac|unit|apt|suite)\b|(straße|strasse|str|weg|platz|allee|"
    r"gasse|damm|ufer|ring|straat|laan|plein|gracht|kade|dreef|steeg)\b)"
)


def _street(texts: pl.Series) -> pl.Series:
    """A word for a street beside a number."""
    return texts.str.contains(_STREET) & texts.str.contains(r"\b[0-9]{1,5}[a-zA-Z]?\b")


_GROUPED = r"^[+-]?[0-9]{1,3}([.' ,][0-9]{3})+$"
_PHONE = r"^(\+|00|\()?[0-9][0-9 ()/.-]{5,17}[0-9]$"


def _telephone(texts: pl.Series) -> pl.Series:
    """Digits with a leading sign or zero, or in groups, that are no number of another kind."""
    digits = texts.str.count_matches("[0-9]").is_between(7, 15)
    written = texts.str.contains(
        r"^(\+|0|\()|[0-9][ ()/.-]+[0-9]+[ ()/.-]+[0-9]|^[0-9]{3}[-.][0-9]{4}$"
    )
    other = texts.str.contains(rf"{_GROUPED}|^-?(0|[1-9][0-9]*)[.,][0-9]+$|^[0-9]{{4}}-[0-9]{{2}}-")
    return texts.str.contains(_PHONE) & digits & written & ~other


def _dotted_icd(texts: pl.Series) -> pl.Series:
    """ICD-10 codes, if some of them have a dot as only these have."""
    dotted = texts.str.contains(r"^[A-TV-Z][0-9][0-9AB]\.[0-9A-Z]{1,4}")
    some = int(dotted.sum()) >= max(2, 0.2 * len(texts))
    return texts.str.contains(_ICD) & some


_ICD = r"^[A-TV-Z][0-9][0-9AB](\.?[0-9A-TV-Z-]{1,4})?[*+!†]?$"
_ICD_9 = r"^([0-9]{3}|E[0-9]{3}|V[0-9]{2})(\.?[0-9]{1,2})?$"
_POSTCODES = {
    "UK": r"^(?i)[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}$",
    "NL": r"^[1-9][0-9]{3} ?[A-Z]{2}$",
    "CA": r"^(?i)[A-Z][0-9][A-Z][ -]?[0-9][A-Z][0-9]$",
    "PT": r"^[0-9]{4}-[0-9]{3}$",
    "PL": r"^[0-9]{2}-[0-9]{3}$",
    "BR": r"^[0-9]{5}-[0-9]{3}$",
    "US": r"^[0-9]{5}(-[0-9]{4})$",
    "JP": r"^[0-9]{3}-[0-9]{4}$",
    "SE": r"^[0-9]{3} [0-9]{2}$",
    "prefixed": r"^[A-Z]{1,3}-[0-9]{4,5}$",  # D-80331
}
_UNSURE_POSTCODE = r"^([0-9]{3,5}|[0-9]{5}-[0-9]{4}|[A-Z]{1,2}[0-9][A-Z0-9]?)$"


# ── the registry ────────────────────────────────────────────────────────────────────────────────

_CURRENCY = r"(€|\$|£|(?i:eur|usd|gbp|chf|pln|zł|brl|r\$))"
_SUM = r"-?[0-9][0-9.,' ]*"
_UNIT = (
    r"(%|°|(?i:kg|g|mg|µg|ug|lb|lbs|cm|mm|m|km|ml|l|dl|mmol/l|mg/dl|g/dl|g/l|u/l|iu/l|mmhg|bpm|/min|"
    r"°c|°f|kcal|kwh|h|hrs|min|years|yrs|y|jahre|ans|años|anni|jaar|anos|lat|tage|days|jours|días))"
)
_IBAN = r"^(?i)[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{1,4}){3,8}$"
_BYTE = r"(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_I, _Q, _S = Role.IDENTIFIER, Role.QUASI, Role.SENSITIVE

RECOGNISERS = (
    Recogniser("mail addresses", form(r"^[^@\s]+@[^@\s]+\.[^@\s]+$"), _I, 0.5),
    Recogniser("UUIDs", form(r"^\{?[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}?$"), _I),
    Recogniser("hashes", form(r"^([0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})$"), _I),
    Recogniser("web addresses", form(r"^(?i)(https?://|www\.)\S+$"), _I, 0.5),
    Recogniser("IP addresses", form(
        rf"^({_BYTE}\.){{3}}{_BYTE}$|^([0-9a-f]{{0,4}}:){{3,7}}[0-9a-f]{{0,4}}$"
    ), _I),
    Recogniser("MAC addresses", form(r"^(?i)([0-9A-F]{2}[:-]){5}[0-9A-F]{2}$"), _I),
    Recogniser("IBANs", numbered(_IBAN, "iban"), _I, 0.5),
    *(Recogniser("postcodes", form(pattern), _Q, 0.9, 5) for pattern in _POSTCODES.values()),
    Recogniser("postcodes", form(_UNSURE_POSTCODE), _Q, 0.8, 3, "postcode"),
    Recogniser(
        "credit card numbers", numbered(r"^([0-9][ -]?){13,19}$", "luhn"), _I, 0.9, 10
    ),
    Recogniser("social security numbers", form(r"^[0-9]{3}-[0-9]{2}-[0-9]{4}$"), _I, 0.8, 10),
    Recogniser("numbers of people", form(
        r"^[12] ?[0-9]{2} ?(0[1-9]|1[0-2]|[2-9][0-9]) ?[0-9][0-9AB] ?[0-9]{3} ?[0-9]{3}"
        r"( ?[0-9]{2})?$"
        r"|^[A-Z]{6}[0-9]{2}[A-EHLMPR-T][0-9]{2}[A-Z][0-9]{3}[A-Z]$"
        r"|^[A-CEGHJ-PR-TW-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]$"
        r"|^[A-Z]{4}[0-9]{6}[HM][A-Z]{5}[0-9A-Z]{2}$|^[0-9]{8}[A-Z][0-9]{3}$|^[A-Z][0-9]{9}$"
        r"|^[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}$|^[0-9]{6}-[0-9]{4}$"
    ), _I, 0.8, 10),
    Recogniser(
        "numbers of people", numbered(r"^(?i)[0-9A-Z][0-9A-Z ./+-]{7,18}$", *_PEOPLE), _I, 0.9, 10
    ),
    Recogniser("coordinates", form(
        r"^\(?-?[0-9]{1,3}\.[0-9]{3,}[,; ]+-?[0-9]{1,3}\.[0-9]{3,}\)?$|^(?i)POINT ?\("
    ), _I),
    Recogniser("ICD codes", _dotted_icd, _S, 0.9),
    Recogniser("ICD codes", form(f"{_ICD}|{_ICD_9}"), _S, 0.8, 3, "diagnosis"),
    Recogniser("ATC codes", form(r"^[A-DGHJLMNPRSV][0-9]{2}[A-Z]{1,2}([0-9]{2})?$"), _S, 0.9, 5),
    Recogniser("bands", checked(_BAND, _is_band), None, 0.7, 3),
    Recogniser("sums of money", form(rf"^-?{_CURRENCY} ?{_SUM}$|^{_SUM} ?{_CURRENCY}$"), _S, 0.9),
    Recogniser("numbers with a unit", form(rf"^[<>]?{_SUM} ?{_UNIT}$"), None, 0.9),
    Recogniser("telephone numbers", _telephone, _I, 0.7, 10),
    Recogniser("street addresses", _street, _I, 0.5, 10),
    Recogniser("personal names", checked(_CAPITALISED, _is_name), _I, 0.6, 12),
    Recogniser("perhaps personal names", checked(_CAPITALISED, _is_name), _I, 0.3, 12),
)  # fmt: skip


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


# ── small vocabularies of values ────────────────────────────────────────────────────────────────

FLAGS = frozenset(_VALUES["flags"].split())
UNKNOWN = frozenset(_VALUES["unknown"].strip().split("\n"))
_MEANING = {word: sex for sex, known in _VALUES["sexes"].items() for word in known.split()}


def sexes(values: Mapping[str, int]) -> dict[str, str] | None:
    """The meaning of each value, if all are words for sexes; None if they are not, or may not be.

    M beside H is a mujer, not a man.
    """
    shown = {value: value.strip().casefold().rstrip(".") for value in values}
    told = {value: word for value, word in shown.items() if word and word not in UNKNOWN}
    if not told or not _MEANING.keys() >= set(told.values()):
        return None
    written = set(told.values())
    meaning = dict(_MEANING)
    if "h" in written and not written & {"f", "w", "v", "k"}:
        meaning["m"] = "female"
    elif "m" in written and written & {"hombre", "mujer"}:
        return None
    found = {value: meaning[word] for value, word in told.items()}
    return found if {"female", "male"} <= set(found.values()) else None


def recoded(values: Mapping[str, int]) -> dict[str, str]:
    """Each other spelling of a sex and its most frequent spelling, if some sex has several."""
    meaning = sexes(values) or {}
    usual: dict[str, str] = {}
    for value in sorted(meaning, key=lambda value: (-values[value], value)):
        usual.setdefault(meaning[value], value)
    return {value: usual[sex] for value, sex in sorted(meaning.items()) if usual[sex] != value}
