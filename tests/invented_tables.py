"""Invented tables of people in eight languages, each column with the roles that are right for it.

They are declared in `invented_tables.toml`, with the letters of `truth_of_tables.toml`; `I!` is a
direct identifier, which must not be kept. The tables are as messy as exports are: sentinels, typos,
several spellings, notes among numbers.
"""

import datetime
import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

ROWS = 400
DECLARED: dict[str, Any] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
FIRST: dict[str, str] = DECLARED["first"]
LAST: dict[str, str] = DECLARED["last"]
TOWNS: dict[str, list[str]] = DECLARED["towns"]
TABLES: dict[str, dict[str, dict[str, Any]]] = DECLARED["tables"]
ICD = ["I10.0", "E11.9", "J45.0", "M54.5", "F32.1", "C50.9", "K21.0", "N18.3", "I25.1", "G40.9"]

Cell = Callable[[random.Random, int], str | None]  # of the row with this number


class Invented(NamedTuple):
    """A table, and the letters of the right roles of each column."""

    frame: pl.DataFrame
    truth: dict[str, str]

    @property
    def direct(self) -> set[str]:
        return {name for name, letters in self.truth.items() if letters.endswith("!")}


# ── cells ───────────────────────────────────────────────────────────────────────────────────────


def one_of(*cells: str) -> Cell:
    return lambda draw, _: draw.choice(cells) or None


def icd() -> Cell:
    return one_of(*ICD)


def town(language: str) -> Cell:
    return one_of(*TOWNS[language])


def words(text: str) -> Cell:
    return one_of(*text.split())


def numbers(low: float, high: float, digits: int = 0, *odd: str, sign: str = ".") -> Cell:
    """Numbers, and now and then something odd."""

    def cell(draw: random.Random, _: int) -> str:
        if odd and draw.random() < 0.04:
            return draw.choice(odd)
        middle = draw.triangular(low, high)
        return (f"{middle:.{digits}f}" if digits else str(round(middle))).replace(".", sign)

    return cell


def dates(first: int, last: int, form: str, *odd: str) -> Cell:
    start = datetime.datetime(first, 1, 1)
    minutes = (datetime.datetime(last, 12, 31) - start) // datetime.timedelta(minutes=1)

    def cell(draw: random.Random, _: int) -> str:
        if odd and draw.random() < 0.04:
            return draw.choice(odd)
        return (start + datetime.timedelta(minutes=draw.randrange(minutes))).strftime(form)

    return cell


def coded(form: str, step: int = 7919, start: int = 10_000) -> Cell:
    return lambda _, row: form.format(start + row * step % 89_989)


def digits(form: str) -> Cell:
    """Each 9 becomes a digit and each A a letter."""

    def cell(draw: random.Random, _: int) -> str:
        signs = {"9": "0123456789", "A": "ABCDEFGHJKLMNPRSTUVWXYZ"}
        return "".join(draw.choice(signs[sign]) if sign in signs else sign for sign in form)

    return cell


def names(language: str, form: str) -> Cell:
    first, last = FIRST[language].split(), LAST[language].split()

    def cell(draw: random.Random, row: int) -> str:
        return form.format(first=draw.choice(first), last=draw.choice(last), row=row)

    return cell


def sentences(*parts: str) -> Cell:
    def cell(draw: random.Random, row: int) -> str:
        return f"{' '.join(draw.choice(parts) for _ in range(3))} {row % 97}"

    return cell


def streets(*names_: str, form: str = "{name} {number}") -> Cell:
    return lambda draw, _: form.format(name=draw.choice(names_), number=draw.randrange(1, 180))


MAKERS = (one_of, icd, town, words, numbers, dates, coded, digits, names, sentences, streets)


def cell_of(role: str, **making: Any) -> Cell:
    """What makes the cells of a column: the name of a function above, with its arguments."""
    makers = {make.__name__: make for make in MAKERS}
    (name,) = making.keys() & makers.keys()
    made: Cell = makers[name](*making.pop(name), **making)
    return made


def invented(name: str, rows: int = ROWS) -> Invented:
    """One of the tables; the same each time."""
    draw = random.Random(name)
    made = {title: cell_of(**column) for title, column in TABLES[name].items()}
    cells = {title: [cell(draw, row) for row in range(rows)] for title, cell in made.items()}
    frame = pl.DataFrame(cells, schema=dict.fromkeys(made, pl.String))
    return Invented(frame, {title: column["role"] for title, column in TABLES[name].items()})


def as_csv(table: Invented, encoding: str = "cp1252", delimiter: str = ";") -> bytes:
    """The table as an export of an older system."""
    return table.frame.write_csv(separator=delimiter, null_value="").encode(encoding)
