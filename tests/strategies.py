"""Tables of any text, and how they may be written."""

import polars as pl
from hypothesis import strategies as st

from covey.tables.csv_files import Dialect

# What CSV and its readers trip over, more often than chance would have it.
_AWKWARD = st.sampled_from(
    ['"', '""', ",", ";", "\t", "|", "\n", "\r", "\r\n", " ", "'", "=", "-1", "NA", "é", "€"]
) | st.sampled_from(
    ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\ufeff", "\U0001f469", "e\u0301"]
)
_SIGNS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")

texts = st.lists(_AWKWARD | _SIGNS, max_size=6).map("".join)


def _is_name(text: str) -> bool:
    return bool(text.strip()) and text != "*" and text[0] + text[-1] != "^$"


names = texts.filter(_is_name) | st.sampled_from(
    ["a", "count", "len", "x^", "x\x01", "PAR1", "0", "literal"]
)


@st.composite
def frames(
    draw: st.DrawFn, cells: st.SearchStrategy[str | None] = texts, *, most_columns: int = 4
) -> pl.DataFrame:
    """A frame of text, with one column at least and no row at times."""
    columns = draw(st.lists(names, min_size=1, max_size=most_columns, unique=True))
    rows = draw(st.lists(st.tuples(*[cells] * len(columns)), max_size=6))
    return pl.DataFrame(rows, dict.fromkeys(columns, pl.String), orient="row")


dialects = st.builds(
    Dialect,
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    decimal=st.sampled_from([".", ","]),
    missing=st.sampled_from([("",), ("NA", ""), ("?",), ("n/a", "NULL"), ('a"b,;\t|\n\r',)]),
)
