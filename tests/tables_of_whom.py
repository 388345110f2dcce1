"""Tables of people with the person of each row: who must be counted, and where covey must ask.

They are declared in `tables_of_whom.toml`. The persons are in no column that a test passes on.
"""

import datetime
import random
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from covey.inspection import words

ROWS, ASK = "rows", "ask"
_BORN = datetime.date(1935, 1, 1)


class Whom(NamedTuple):
    """A table, the person of each row, and the right drafts."""

    frame: pl.DataFrame
    persons: list[int]
    truth: frozenset[str]


class Person(NamedTuple):
    number: int
    born: datetime.date
    sex: str
    zip: str
    name: str
    home: int  # of two to four people


_NAMES = "Ada Bo Cem Dana Eli Fay Gil Hana Ida Jan Kim Lou Mia Noa Oda Pia Quin Rosa Sam Tom"


def people(dice: random.Random, count: int) -> list[Person]:
    numbers = dice.sample(range(100_000, 999_999), count)
    found: list[Person] = []
    for place, number in enumerate(numbers):
        home = found[-1].home if found and dice.random() < 0.6 else place
        near = next((one.zip for one in found if one.home == home), None)
        born = _BORN + datetime.timedelta(days=dice.randrange(29_000))
        zip_code = near or f"{dice.choice((10, 30, 38))}{dice.randrange(12):03d}"
        first, last = dice.choice(_NAMES.split()), dice.choice(_NAMES.split())
        found.append(Person(number, born, dice.choice("mf"), zip_code, f"{first} {last}sen", home))
    return found


Cell = Callable[[random.Random, Person, int], Any]  # of a person, and the number of the row


def table(
    columns: Mapping[str, Cell],
    *truth: str,
    each: Sequence[int] = (1, 2, 3, 4, 9),
    count: int = 110,
    seed: int = 5,
) -> Whom:
    """Everyone has as many rows as `each` gives by lot, in a mixed order."""
    dice = random.Random(seed)
    rows = [one for one in people(dice, count) for _ in range(dice.choice(each))]
    dice.shuffle(rows)
    cells = {n: [of(dice, one, at) for at, one in enumerate(rows)] for n, of in columns.items()}
    return Whom(pl.DataFrame(cells), [one.number for one in rows], frozenset(truth))


# ── cells ───────────────────────────────────────────────────────────────────────────────────────


def spoken(dice: random.Random, _: Person, __: int) -> str:
    praise = dice.choice(("works hard in class", "talks too much in class", "helps the others"))
    return f"Overall the pupil {praise} and {dice.choice(('often', 'seldom'))} does the homework"


def luhn(digits: str) -> str:
    """The digits with their check digit."""
    twice = [int(one) * (2 - at % 2) for at, one in enumerate(reversed(digits))]
    return f"{digits}{-sum(one - 9 * (one > 9) for one in twice) % 10}"


def health_number(_: random.Random, who: Person, __: int) -> str:
    """A number of the NHS; the last digit before the check is chosen so that there is one."""
    for last in "0123":
        digits = f"9{who.number:07d}{last}"
        rest = 11 - sum(int(one) * weight for one, weight in zip(digits, range(10, 1, -1))) % 11  # noqa: B905
        if rest != 10:
            return f"{digits}{rest % 11}"
    raise AssertionError


CELLS: dict[str, Cell] = {
    "number": lambda _, who, __: str(who.number),
    "case": lambda _, __, row: f"C{row:05d}",
    "episode": lambda _, who, row: f"F{who.number}{row % 3}",  # of two or three, of several rows
    "age": lambda _, who, __: 2024 - who.born.year,
    "sex": lambda _, who, __: who.sex,
    "born": lambda _, who, __: who.born.isoformat(),
    "birth month": lambda _, who, __: who.born.replace(day=1).isoformat(),
    "birth year": lambda _, who, __: who.born.year,
    "zip": lambda _, who, __: who.zip,
    "home": lambda _, who, __: f"H{who.home:04d}",
    "name": lambda _, who, __: who.name,
    "mail": lambda _, who, __: f"m{who.number}@post.example",
    "card": lambda _, who, row: luhn(f"4{row % 2}{who.number * 7919:013d}"),
    "health number": health_number,
    "icd": lambda dice, _, __: dice.choice(("I10", "E11", "J45", "C50", "F32")),
    "doctor": lambda dice, _, __: f"D{dice.randrange(12):03d}",
    "manager": lambda dice, _, __: str(700_000 + dice.randrange(25)),
    "booklet": lambda dice, _, __: f"H{dice.randrange(13):02d}",
    "hundreds": lambda dice, _, __: 100 * dice.randint(12, 60),
    "geohash": lambda dice, _, __: "u33" + dice.choice("bcdefg") + dice.choice("0123456789bcdef"),
    "hash": lambda dice, _, __: f"{hash((dice.randrange(4), 7)) % 16**8:032x}",
    "day": lambda dice, _, __: (
        f"{datetime.date(2024, 1, 1) + datetime.timedelta(dice.randrange(300))}"
    ),
    "spoken": spoken,
}


def cell_of(declared: str | list[str] | dict[str, int]) -> Cell:
    """A cell by its name, one of several values, or a number between two."""
    match declared:
        case str():
            return CELLS[declared]
        case list():
            return lambda dice, _, __: dice.choice(declared)
        case dict():
            return lambda dice, _, __: dice.randint(declared["from"], declared["to"])


# ── constellations ──────────────────────────────────────────────────────────────────────────────


def _with_twice(whom: Whom, rows: int) -> Whom:
    """Some rows stand twice."""
    again = pl.concat([whom.frame, whom.frame[17 : 17 + rows]])
    return Whom(again, [*whom.persons, *whom.persons[17 : 17 + rows]], whom.truth)


def _with_footer(whom: Whom, first: str) -> Whom:
    """A last row with a word and sums."""
    texts = whom.frame.cast(pl.String)
    foot = {name: [first if not at else str(at * 977)] for at, name in enumerate(texts.columns)}
    return Whom(pl.concat([texts, pl.DataFrame(foot)]), [*whom.persons, -1], whom.truth)


def _twins(whom: Whom) -> Whom:
    """The second half of the rows has all but the number of the first half."""
    half = whom.frame.height // 2
    alike = [c for c in whom.frame.columns if "num" not in c.lower() and "id" not in c.lower()]
    cells = {c: [*whom.frame[c][:half]] * 2 for c in alike}
    frame = whom.frame[: 2 * half].with_columns(**{c: pl.Series(v) for c, v in cells.items()})
    return Whom(frame, whom.persons[: 2 * half], whom.truth)


def _declared(
    columns: dict[str, Any],
    truth: list[str],
    *,
    twice: int = 0,
    footer: str = "",
    twins: bool = False,
    **settings: Any,
) -> Whom:
    whom = table({n: cell_of(cell) for n, cell in columns.items()}, *truth, **settings)
    whom = _with_twice(_twins(whom) if twins else whom, twice)
    return _with_footer(whom, footer) if footer else whom


def constellations() -> dict[str, Whom]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return {name: _declared(**declared) for name, declared in tomllib.loads(text).items()}


def invented(seed: int) -> Whom:
    """A table of which nobody knows what its columns are called, or what people they have."""
    dice = random.Random(seed)
    single = dice.random() < 0.3
    form = dice.choice(("{}", "P{}", "{:x}", "{:07d}", "{}-K"))
    cells = CELLS | {
        "person": lambda _, who, __: form.format(who.number),
        "pressure": lambda dice, _, __: dice.randint(60, 190),
    }
    kinds = ["age", "sex", "icd", "pressure", "zip"]
    kinds += ["person"] if not single or dice.random() < 0.5 else []
    others = ("case", "episode", "home", "doctor", "day", "born")
    kinds += [kind for kind in others if dice.random() < 0.4]
    dice.shuffle(kinds)
    names = {_fresh(dice, kind): kind for kind in kinds}
    known = next((name for name, kind in names.items() if kind == "person"), ASK)
    each = (1,) if single else dice.choice(((1, 2, 3), (1, 2, 9), (4,), (1, 1, 1, 40)))
    columns = {name: cells[kind] for name, kind in names.items()}
    whom = table(columns, *((ROWS, ASK) if single else (known, ASK)), each=each, seed=seed)
    return _with_twice(whom, dice.choice((0, 0, 1, 2)))


_USUAL = {
    "person": ("pat_id", "Kundennummer", "subject"), "case": ("case_no", "Fall", "visit_id"),
    "doctor": ("doctor", "arts_nr", "medico"), "age": ("age", "Alter"), "sex": ("sex", "sexe"),
    "home": ("household", "nucleo_familiare"),
}  # fmt: skip


def _fresh(dice: random.Random, kind: str) -> str:
    """A random name; now and then the usual one."""
    if kind in _USUAL and dice.random() < 0.4:
        return dice.choice(_USUAL[kind])
    while True:
        syllables = (dice.choice("bdfgklmnprstvz") + dice.choice("aeiou") for _ in range(3))
        name = "".join(syllables) + str(dice.randrange(10))
        if not words.concepts(name):
            return name
