"""The encoding of a CSV file that declares none: UTF-8 if the bytes are, else the most likely one.

Which encodings give readable text is found by charset-normalizer. Western and central European ones
often all do: of these, the text must be written in the letters of one language. If two remain, the
reader is told so.
"""

import codecs
import contextlib
import re
from collections.abc import Iterator
from typing import NamedTuple

from covey.errors import TableError

# The first of two that are as likely is taken.
_TRIED = (
    *("cp1252", "cp1250", "iso8859_2", "cp1254", "cp1251", "cp1253", "gb18030", "cp932", "big5"),
    *("euc_jp", "euc_kr", "koi8_r", "cp850", "mac_roman"),
)
_LETTERS = (  # of languages in Latin script, besides those of English
    *("äöüß", "àâæçéèêëîïôœùûüÿ", "áéíñóúü", "áâãàçéêíóôõúü", "àèéìíîòóùú", "áéèëïíóöúü"),
    *("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîșțşţ", "čćđšž"),
    *("åäöæøéü", "çğıöşüâi̇", "äõöüšž", "áðéíóúýþæö"),
)
_AS_READABLE, _AS_LIKELY = 0.03, 0.02  # differences that say nothing
_LOOKED_AT = 40_000  # bytes, about
PERHAPS = ", perhaps "  # in a note that has a doubt
_SIGNS = "\n\t,;|"
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Guess(NamedTuple):
    """An encoding, and another one that is as likely."""

    name: str
    perhaps: str | None = None

    def __str__(self) -> str:
        if self.perhaps is None:
            return f"encoding {self.name}"
        return (
            f"encoding {self.name}{PERHAPS}{self.perhaps} (look whether names are spelled right, "
            "and declare it with --encoding if not)"
        )


class _Candidate(NamedTuple):
    name: str
    text: str
    chaos: float
    fit: float  # the share of its letters that one language has

    @property
    def cost(self) -> tuple[float, int]:
        return round(self.chaos - self.fit, 2), _TRIED.index(self.name)


def guessed(data: bytes) -> Guess:
    """The encoding of these bytes; refuse them if none gives readable text."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return Guess(name)
    with contextlib.suppress(UnicodeDecodeError):
        data.decode()
        return Guess(next(_wide(data), "utf-8") if b"\0" in data else "utf-8")
    if b"\0" in data:
        return Guess(next(_wide(data), "utf-8"))  # the error tells where
    found = sorted(_candidates(_sample(data)), key=lambda candidate: candidate.cost)
    if not found:
        raise TableError(
            "the encoding of the table is not recognised: declare it, as in --encoding cp1251"
        )
    best, *others = found
    # A few letters show little of how readable a text is.
    alike = max(_AS_READABLE, 3 / sum(sign > "\x7f" for sign in best.text))
    rival = next((other for other in others if _is_rival(other, best, alike)), None)
    return Guess(best.name, None if rival is None else rival.name)


def _is_rival(other: _Candidate, best: _Candidate, alike: float) -> bool:
    readable = other.chaos - best.chaos <= alike and best.fit - other.fit <= _AS_LIKELY
    return readable and other.text != best.text


def _wide(data: bytes) -> Iterator[str]:
    """UTF-16 without a mark, if line ends and delimiters still are what they are in ASCII."""
    for name in ("utf-16-le", "utf-16-be"):
        with contextlib.suppress(UnicodeDecodeError):
            head = data[:_LOOKED_AT]
            text = head.decode(name)
            signs = sum(text.count(sign) for sign in _SIGNS)
            bytes_of_them = sum(head.count(sign.encode()) for sign in _SIGNS)
            if "\n" in text and "\0" not in text and signs > bytes_of_them / 2:
                yield name


def _sample(data: bytes) -> bytes:
    """Some distinct cells with other signs than those of ASCII.

    No sign of several bytes has one of these delimiters among them.
    """
    cells: dict[bytes, None] = {}
    for place, found in enumerate(re.finditer(rb"[^\n\t,;\x80-\xff]*[\x80-\xff][^\n\t,;]*", data)):
        cells[found[0]] = None
        if len(cells) * len(found[0]) > _LOOKED_AT or place > 100_000:
            break
    return b"\n".join(cells)


def _candidates(sample: bytes) -> Iterator[_Candidate]:
    from charset_normalizer import from_bytes

    for match in from_bytes(sample, cp_isolation=[*_TRIED], threshold=0.5):
        for name in {match.encoding, *match.could_be_from_charset} & {*_TRIED}:
            text = sample.decode(name)
            yield _Candidate(name, text, match.chaos, _fit(text))


def _fit(text: str) -> float:
    """The share of the signs beyond ASCII that belong: letters of one language or another script.

    Letters of another script do not stand beside those of English, but for Asian ones.
    """
    signs = [sign for sign in text.lower() if sign > "\x7f" and sign not in _COMMON]
    most = max(sum(sign in known for sign in signs) for known in _LETTERS)
    others = sum(sign >= "\u0250" and sign.isalpha() for sign in signs)
    return (most + others - len(_MIXED.findall(text))) / len(signs) if signs else _BEST


_BEST = 1.5  # only degrees, euros and dashes
_COMMON = "–—’‘“”„…€°§·«»№\xa0\u3000"
_MIXED = re.compile("[A-Za-z][\u0250-\u2e7f]|[\u0250-\u2e7f][A-Za-z]")
