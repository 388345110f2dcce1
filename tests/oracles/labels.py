"""What a reader sees of a text, character by character, without any optimisation."""

import unicodedata

# Blank letters and marks that Unicode calls default ignorable, though they are no formats.
# The last stands for an object that is not there.
BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0\ufffc"


def as_read(text: str) -> str:
    """Return the text without what nobody sees, until nothing changes any more."""
    before = None
    while before != text:
        before = text
        text = unicodedata.normalize("NFKC", text)
        text = "".join(sign.casefold() for sign in text if not is_invisible(sign))
        text = " ".join(text.replace("\u2800", " ").split())
    return text


def is_invisible(sign: str) -> bool:
    """Tell formats, controls that are no white space, and selectors of variants."""
    if sign.isspace():
        return False
    selects = "VARIATION SELECTOR" in unicodedata.name(sign, "")
    return unicodedata.category(sign) in ("Cf", "Cc") or selects or sign in BLANK
