"""Texts as a reader sees them: "HIV", "hiv", " HIV" and "HIV" with a zero-width space are one.

A reader sees no difference of case, of white space around and between words, of Unicode's
compatibility forms (full-width letters, ligatures, composed accents), and no character that leaves
no mark. Letters of other alphabets that look alike stay different.

Used by what forms groups and by what judges them, so it knows neither. Only the different texts of
a column are looked at, never its rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, get_args

import polars as pl

Step = Literal["nfkc", "invisible", "casefold", "strip", "collapse"]
STEPS: tuple[Step, ...] = get_args(Step)

# Unicode's default ignorable code points, the marks of annotations and of objects, and controls
# that are no space.
_INVISIBLE = (
    r"[\x00-\x08\x0e-\x1b\x7f-\x{84}\x{86}-\x{9f}\x{ad}\x{34f}\x{61c}\x{115f}\x{1160}\x{17b4}"
    r"\x{17b5}\x{180b}-\x{180f}\x{200b}-\x{200f}\x{202a}-\x{202e}\x{2060}-\x{206f}\x{3164}"
    r"\x{fe00}-\x{fe0f}\x{feff}\x{ffa0}\x{fff0}-\x{fffc}\x{1bca0}-\x{1bca3}\x{1d173}-\x{1d17a}"
    r"\x{e0000}-\x{e0fff}]"
)
_SPACE = r"[\s\x1c-\x1f\x{2800}]"  # the last is the blank pattern of Braille
UNSEEN = f"(?:{_SPACE}|{_INVISIBLE})"  # one character that leaves no mark

# In this order, whichever they are named in.
_APPLIED: dict[Step, Callable[[pl.Series], pl.Series]] = {
    "nfkc": lambda texts: texts.str.normalize("NFKC"),
    "invisible": lambda texts: texts.str.replace_all(f"{_INVISIBLE}+", ""),
    "casefold": lambda texts: _casefolded(texts),
    "strip": lambda texts: texts.str.replace_all(f"^{_SPACE}+|{_SPACE}+$", ""),
    "collapse": lambda texts: texts.str.replace_all(f"{_SPACE}+", " "),
}
# Small letters, digits and signs of ASCII, without spaces, are what they are under every step.
_PLAIN = r"^[!-@\[-~]*$"
_ASCII = r"^[ -~]*$"


def normalised(cells: pl.Series, steps: Sequence[Step]) -> pl.Series:
    """The texts of a column after some steps; other kinds of values, and missing ones, stay."""
    if cells.dtype != pl.String or not steps:
        return cells
    different = cells.drop_nulls().unique()
    odd = different.filter(~different.str.contains(_PLAIN))
    if odd.is_empty():
        return cells
    # What has nothing but signs of ASCII is spared the steps that are about others: names are many.
    some = odd.str.contains(_ASCII)
    plainly = [step for step in steps if step not in ("nfkc", "invisible")]
    ascii_, others = odd.filter(some), odd.filter(~some)
    return cells.replace(
        pl.concat([ascii_, others]), pl.concat([_after(ascii_, plainly), _after(others, steps)])
    )


def _casefolded(texts: pl.Series) -> pl.Series:
    if texts.str.contains(_ASCII).all():
        return texts.str.to_lowercase()
    return pl.Series([text.casefold() for text in texts], dtype=pl.String)


def _after(texts: pl.Series, steps: Sequence[Step]) -> pl.Series:
    """Until nothing changes: beyond ASCII, a later step may leave work for an earlier one."""
    changed = texts
    for step in STEPS:
        if step in steps:
            changed = _APPLIED[step](changed)
    beyond = changed.str.len_bytes() > changed.str.len_chars()
    again = ((changed != texts) & beyond).arg_true()
    return changed.scatter(again, _after(changed[again], steps)) if len(again) else changed


def seen(cells: pl.Series, missing: Sequence[str] = ()) -> pl.Series:
    """The texts of a column as a reader sees them: missing where they look like a missing token."""
    if cells.dtype != pl.String:
        return cells
    blank = normalised(pl.Series(["", *missing]), STEPS)
    found = normalised(cells, STEPS)
    return pl.select(
        pl.when(~found.is_in(blank.implode())).then(found).alias(cells.name)
    ).to_series()


_NUMBER = r"^\+?(-?)0*([0-9]+)(?:[.,](?:([0-9]*[1-9])?0*))?$"
_POWER = r"^[+-]?[0-9]+(?:[.,][0-9]*)?[eE][+-]?[0-9]{1,3}$"


def numbers_as_one(cells: pl.Series) -> pl.Series:
    """The texts of a column, numbers in one spelling: 7, 07, +7, 7.0, 7,0 and 70e-1 are 7."""
    powers = cells.drop_nulls().unique()
    powers = powers.filter(powers.str.contains(_POWER))
    plain = [f"{Decimal(power.replace(',', '.')):f}" for power in powers]
    whole = r"^(-?[0-9]+)\.$"
    return cells.replace(powers, plain).str.replace(_NUMBER, "$1$2.$3").str.replace(whole, "$1")


def places(names: Sequence[str]) -> dict[str, int]:
    """Where each of these labels stands, by what a reader sees of it; the first of look-alikes."""
    shown = seen(pl.Series(names, dtype=pl.String)).fill_null("").to_list()
    return {label: place for place, label in reversed(list(enumerate(shown)))}


@dataclass(frozen=True)
class LookAlikes:
    """Labels of a column that a reader cannot tell apart: numbers, never the labels."""

    spellings: int
    values: int  # that a reader sees in them
    rows: int

    def __bool__(self) -> bool:
        return self.spellings > 0

    def __str__(self) -> str:
        values = "1 value" if self.values == 1 else f"{self.values:,} values"
        return f"{self.spellings:,} spellings of {values}"


NONE_ALIKE = LookAlikes(0, 0, 0)


def look_alikes(labels: pl.Series, rows: pl.Series | None = None) -> LookAlikes:
    """Among the labels of a column, or among different ones that have so many rows each."""
    if labels.dtype != pl.String:
        return NONE_ALIKE
    counts = pl.DataFrame({"label": labels, "rows": 1 if rows is None else rows}).drop_nulls(
        "label"
    )
    spelled = counts.group_by("label").agg(pl.col("rows").sum()).filter(pl.col("rows") > 0)
    values = (
        spelled.with_columns(seen(spelled["label"]).alias("seen"))
        .group_by("seen")
        .agg(pl.len().alias("spellings"), pl.col("rows").sum())
        .filter(pl.col("spellings") > 1)
    )
    return LookAlikes(int(values["spellings"].sum()), values.height, int(values["rows"].sum()))
