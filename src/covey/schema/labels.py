"""Texts as a reader sees them: "HIV", "hiv", " HIV" and "HIV" with a zero-width space are the same.

Differences in case, in white space around and between words, in Unicode compatibility forms
(full-width letters, ligatures, composed accents) and in invisible characters do not count. Letters
of other alphabets that look the same stay different.

Both the clustering and the verifier use this module, so it imports neither. If texts repeat, it
processes only the distinct ones, not every row.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, get_args

import polars as pl

Step = Literal["nfkc", "invisible", "casefold", "strip", "collapse"]
STEPS: tuple[Step, ...] = get_args(Step)

# Unicode's default ignorable code points, the markers of annotations and objects, and control
# characters other than spaces.
_INVISIBLE = (
    r"[\x00-\x08\x0e-\x1b\x7f-\x{84}\x{86}-\x{9f}\x{ad}\x{34f}\x{61c}\x{115f}\x{1160}\x{17b4}"
    r"\x{17b5}\x{180b}-\x{180f}\x{200b}-\x{200f}\x{202a}-\x{202e}\x{2060}-\x{206f}\x{3164}"
    r"\x{fe00}-\x{fe0f}\x{feff}\x{ffa0}\x{fff0}-\x{fffc}\x{1bca0}-\x{1bca3}\x{1d173}-\x{1d17a}"
    r"\x{e0000}-\x{e0fff}]"
)
_SPACE = r"[\s\x1c-\x1f\x{2800}]"  # the last is the blank pattern of Braille
UNSEEN = f"(?:{_SPACE}|{_INVISIBLE})"  # one character that prints nothing

# Applied in this order, whatever order the schema lists them in.
_APPLIED: dict[Step, Callable[[pl.Series], pl.Series]] = {
    "nfkc": lambda texts: texts.str.normalize("NFKC"),
    "invisible": lambda texts: texts.str.replace_all(f"{_INVISIBLE}+", ""),
    "casefold": lambda texts: pl.Series([text.casefold() for text in texts], dtype=pl.String),
    "strip": lambda texts: texts.str.replace_all(f"^{_SPACE}+|{_SPACE}+$", ""),
    "collapse": lambda texts: texts.str.replace_all(f"{_SPACE}+", " "),
}
# The steps that ASCII needs, as expressions: all of them are computed at once.
_APPLIED_TO_ASCII: dict[Step, Callable[[pl.Expr], pl.Expr]] = {
    "casefold": lambda texts: texts.str.to_lowercase(),
    "strip": lambda texts: texts.str.strip_chars(" "),
    "collapse": lambda texts: texts.str.replace_all("  +", " "),
}
# No step changes lower-case letters, digits and punctuation of ASCII without spaces.
_PLAIN = r"^[!-@\[-~]*$"
_ASCII = r"^[ -~]*$"


def normalised(cells: pl.Series, steps: Sequence[Step]) -> pl.Series:
    """The texts of a column after some steps; missing cells and other types stay as they are."""
    if cells.dtype != pl.String or not steps:
        return cells
    odd = (~cells.str.contains(_PLAIN)).fill_null(value=False).arg_true()
    if odd.is_empty():
        return cells
    texts = cells[odd]
    if 2 * texts.n_unique() > len(texts):  # to find the same texts would take longer
        return cells.clone().scatter(odd, _changed(texts, steps))  # it changes what it is given
    different = texts.unique()
    return cells.replace(different, _changed(different, steps))


def _changed(texts: pl.Series, steps: Sequence[Step]) -> pl.Series:
    """ASCII texts skip the steps that only concern other characters: there may be many names."""
    others = (~texts.str.contains(_ASCII)).arg_true()
    changed = _of_ascii(texts, steps)
    return changed.scatter(others, _after(texts[others], steps)) if len(others) else changed


def _of_ascii(texts: pl.Series, steps: Sequence[Step]) -> pl.Series:
    changed = pl.lit(texts)
    for step, apply in _APPLIED_TO_ASCII.items():
        if step in steps:
            changed = apply(changed)
    return pl.select(changed).to_series()


def _after(texts: pl.Series, steps: Sequence[Step]) -> pl.Series:
    """Apply the steps until nothing changes: beyond ASCII, a step may create work for another."""
    if texts.is_empty():
        return texts
    changed = texts
    for step in STEPS:
        if step in steps:
            changed = _APPLIED[step](changed)
    beyond = changed.str.len_bytes() > changed.str.len_chars()
    again = ((changed != texts) & beyond).arg_true()
    return changed.scatter(again, _after(changed[again], steps)) if len(again) else changed


def seen(cells: pl.Series, missing: Sequence[str] = ()) -> pl.Series:
    """The texts of a column as a reader sees them; null if they look like a missing token."""
    if cells.dtype != pl.String:
        return cells
    found = normalised(cells, STEPS)
    return pl.select(
        pl.when(~found.is_in(_blank(tuple(missing)))).then(found).alias(cells.name)
    ).to_series()


@functools.cache
def _blank(missing: tuple[str, ...]) -> pl.Series:
    """What a missing cell looks like, as a list of one."""
    return normalised(pl.Series(["", *missing]), STEPS).implode()


_NUMBER = r"^\+?(-?)0*([0-9]+)(?:[.,](?:([0-9]*[1-9])?0*))?$"
_POWER = r"^[+-]?[0-9]+(?:[.,][0-9]*)?[eE][+-]?[0-9]{1,3}$"


def numbers_as_one(cells: pl.Series) -> pl.Series:
    """The texts of a column, with one spelling per number: 07, +7, 7.0, 7,0 and 70e-1 become 7."""
    powers = cells.filter(cells.str.contains(_POWER)).unique()
    plain = [f"{Decimal(power.replace(',', '.')):f}" for power in powers]
    whole = r"^(-?[0-9]+)\.$"
    same = cells.replace(powers, plain).str.replace(_NUMBER, "$1$2.$3").str.replace(whole, "$1")
    return same.str.replace("^-0$", "0")


_DAY_FIRST = r"^([0-9]{1,2})[./-]([0-9]{1,2})[./-]([0-9]{4})$"
_YEAR_FIRST = r"^([0-9]{4})[./-]([0-9]{1,2})[./-]([0-9]{1,2})(?:[t ]00:00(?::00(?:\.0+)?)?)?$"


def dates_as_one(cells: pl.Series) -> pl.Series:
    """The texts of a column, with one spelling per date: 31.1.2024 becomes 2024-01-31.

    The day comes before the month, unless it would be a thirteenth month. Each text is read by
    itself, so that batches of a column agree.
    """
    day, month, year = (pl.lit(cells.str.extract(_DAY_FIRST, place)) for place in (1, 2, 3))
    swapped = month.cast(pl.Int32) > 12
    named = (
        year,
        pl.when(swapped).then(day).otherwise(month),
        pl.when(swapped).then(month).otherwise(day),
    )
    parts = [
        pl.coalesce(own, pl.lit(cells.str.extract(_YEAR_FIRST, place))).str.zfill(2)
        for place, own in enumerate(named, 1)
    ]
    return pl.select(pl.coalesce(pl.concat_str(parts, separator="-"), pl.lit(cells))).to_series()


_CODED = r"^[+-]?[.,]?[0-9]"  # may be a number or a date


def as_read(cells: pl.Series, missing: Sequence[str] = ()) -> pl.Series:
    """The cells of a column without a type, one spelling for what reads the same.

    Texts as a reader sees them; 1, 1.0, 01 and 1e0 are one number, -0.0 and 0.0 too, and a date is
    the same in each of its spellings.
    """
    if cells.dtype.is_float():
        return cells.set(cells == 0.0, 0.0)
    texts = seen(cells, missing)
    if texts.dtype != pl.String:
        return texts
    different = texts.filter(texts.str.contains(_CODED).fill_null(value=False)).unique()
    same = dates_as_one(numbers_as_one(different))
    changed = same != different
    return (
        texts.replace(different.filter(changed), same.filter(changed)) if changed.any() else texts
    )


def places(names: Sequence[str]) -> dict[str, int]:
    """The position of each label, by its visible form; the first if several look the same."""
    shown = seen(pl.Series(names, dtype=pl.String)).fill_null("").to_list()
    return {label: place for place, label in reversed(list(enumerate(shown)))}


@dataclass(frozen=True)
class LookAlikes:
    """Counts of labels in a column that look the same to a reader, never the labels."""

    spellings: int
    values: int  # distinct values as a reader sees them
    rows: int

    def __bool__(self) -> bool:
        return self.spellings > 0

    def __str__(self) -> str:
        values = "1 value" if self.values == 1 else f"{self.values:,} values"
        return f"{self.spellings:,} spellings of {values}"


NONE_ALIKE = LookAlikes(0, 0, 0)


def look_alikes(labels: pl.Series, rows: pl.Series | None = None) -> LookAlikes:
    """Count look-alikes among the labels of a column, or among distinct labels with `rows` each."""
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
