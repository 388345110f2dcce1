"""Tables of people with the person of each row: who must be counted, and where covey must ask.

`truth` says which drafts are right: the name of a column (k counts its people), ROWS (each row is a
person, and nothing is asked) or ASK. The persons themselves are in no column that a test passes on.
"""

import datetime
import random
from collections.abc import Callable, Sequence
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


_NAMES = (
    *("Ada", "Bo", "Cem", "Dana", "Eli", "Fay", "Gil", "Hana", "Ida", "Jan"),
    *("Kim", "Lou", "Mia", "Noa", "Oda", "Pia", "Quin", "Rosa", "Sam", "Tom"),
)


def people(dice: random.Random, count: int) -> list[Person]:
    numbers = dice.sample(range(100_000, 999_999), count)
    found: list[Person] = []
    for place, number in enumerate(numbers):
        home = found[-1].home if found and dice.random() < 0.6 else place
        near = next((one.zip for one in found if one.home == home), None)
        born = _BORN + datetime.timedelta(days=dice.randrange(29_000))
        zip_code = near or f"{dice.choice((10, 30, 38))}{dice.randrange(12):03d}"
        name = f"{dice.choice(_NAMES)} {dice.choice(_NAMES)}sen"
        found.append(Person(number, born, dice.choice("mf"), zip_code, name, home))
    return found


Cell = Callable[[random.Random, Person, int], Any]  # of a person, and the number of the row


def table(
    columns: dict[str, Cell],
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


def number(_: random.Random, who: Person, __: int) -> str:
    return str(who.number)


def case(_: random.Random, __: Person, row: int) -> str:
    return f"C{row:05d}"


def age(_: random.Random, who: Person, __: int) -> int:
    return 2024 - who.born.year


def sex(_: random.Random, who: Person, __: int) -> str:
    return who.sex


def born(_: random.Random, who: Person, __: int) -> str:
    return who.born.isoformat()


def zipped(_: random.Random, who: Person, __: int) -> str:
    return who.zip


def home(_: random.Random, who: Person, __: int) -> str:
    return f"H{who.home:04d}"


def name(_: random.Random, who: Person, __: int) -> str:
    return who.name


def of(*values: Any) -> Cell:
    return lambda dice, _, __: dice.choice(values)


def whole(low: int, high: int) -> Cell:
    return lambda dice, _, __: dice.randint(low, high)


def episode(_: random.Random, who: Person, row: int) -> str:
    """One of two or three cases of this person, each with several rows."""
    return f"F{who.number}{row % 3}"


def doctor(dice: random.Random, _: Person, __: int) -> str:
    return f"D{dice.randrange(12):03d}"


def spoken(dice: random.Random, _: Person, __: int) -> str:
    praise = dice.choice(("works hard in class", "talks too much in class", "helps the others"))
    return f"Overall the pupil {praise} and {dice.choice(('often', 'seldom'))} does the homework"


def day(dice: random.Random, _: Person, __: int) -> str:
    return str(datetime.date(2024, 1, 1) + datetime.timedelta(days=dice.randrange(300)))


def luhn(digits: str) -> str:
    """The digits with their check digit."""
    twice = [int(one) * (2 - at % 2) for at, one in enumerate(reversed(digits))]
    return f"{digits}{-sum(one - 9 * (one > 9) for one in twice) % 10}"


def card(_: random.Random, who: Person, row: int) -> str:
    return luhn(f"4{row % 2}{who.number * 7919:013d}")


def health_number(_: random.Random, who: Person, __: int) -> str:
    """A number of the NHS; the last digit before the check is chosen so that there is one."""
    for last in "0123":
        digits = f"9{who.number:07d}{last}"
        rest = 11 - sum(int(one) * weight for one, weight in zip(digits, range(10, 1, -1))) % 11  # noqa: B905
        if rest != 10:
            return f"{digits}{rest % 11}"
    raise AssertionError


# ── constellations ──────────────────────────────────────────────────────────────────────────────

ICD = of("I10", "E11", "J45", "C50", "F32")
_STAYS: dict[str, Cell] = {"age": age, "sex": sex, "zip": zipped, "dx": ICD}


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


ONE = (1,)


def constellations() -> dict[str, Whom]:
    """Each with headers of one of the languages."""
    stays = table({"case_no": case, "pers_no": number, **_STAYS}, "pers_no")
    return {
        "cases and persons": stays,
        "a row twice": _with_twice(stays, 1),
        "three rows twice": _with_twice(stays, 3),
        "a footer": _with_footer(stays, "TOTAL"),
        "a row twice and a footer": _with_footer(_with_twice(stays, 1), "Total"),
        "Fälle mit mehreren Diagnosen": table(
            {"Fallnummer": episode, "Patientennummer": number, "Geburtsdatum": born,
             "Geschlecht": sex, "PLZ": zipped, "Diagnose": ICD}, "Patientennummer", each=(3, 6, 12),
        ),
        "Fälle ohne Patienten": table(
            {"Fallnummer": episode, "Geburtsjahr": lambda _, w, __: w.born.year, "Geschlecht": sex,
             "PLZ": zipped, "Diagnose": ICD}, ASK, each=(3, 6, 12),
        ),
        "foyers": table(
            {"num_foyer": home, "date_naissance": born, "sexe": sex, "code_postal": zipped,
             "revenu": whole(900, 4000)}, ROWS, each=ONE, count=300,
        ),
        "olas de un hogar": table(
            {"hogar_id": home, "id_persona": number, "ola": whole(1, 4), "edad": age, "sexo": sex,
             "codigo_postal": zipped, "salud": of("buena", "mala")}, "id_persona",
        ),
        "Prüfungshefte": table(
            {"Schueler_ID": number, "Heft": lambda d, *_: f"H{d.randrange(13):02d}",
             "Geschlecht": sex, "Alter": age, "Punkte": whole(0, 60)}, ROWS, each=ONE, count=300,
        ),
        "Antworten je Aufgabe": table(
            {"Schülernummer": number, "Heftnummer": lambda d, *_: f"H{d.randrange(13):02d}",
             "Geschlecht": sex, "Alter": age, "Bemerkung der Lehrkraft": spoken,
             "Punkte": whole(0, 3)}, "Schülernummer",
        ),
        "stipendi": table(
            {"retribuzione_lorda": lambda d, *_: 100 * d.randint(12, 60), "sesso": sex,
             "eta": age, "provincia": of("BO", "MI", "TO", "FI")}, ROWS, each=ONE, count=300,
        ),
        "urodzeni": table(
            {"data_urodzenia": lambda _, w, __: w.born.replace(day=1).isoformat(), "plec": sex,
             "kod_pocztowy": zipped, "choroba": ICD}, ROWS, each=ONE, count=300,
        ),
        "ciśnienie": table(
            {"cisnienie_skurczowe": whole(95, 190), "wiek": age, "plec": sex,
             "wynik": of("tak", "nie")}, ROWS, each=ONE, count=300,
        ),
        "geohashes": table(
            {"geohash": lambda d, *_: "u33" + d.choice("bcdefg") + d.choice("0123456789bcdef"),
             "age": age, "sex": sex, "income": whole(900, 4000)}, ROWS, each=ONE, count=300,
        ),
        "twins": _twins(table(
            {"num_utente": number, "data_nascimento": born, "sexo": sex, "codigo_postal": zipped,
             "diagnostico": ICD}, ROWS, each=ONE, count=300,
        )),
        "behandelaars": table(
            {"behandelaar_nr": doctor, "patient_nr": number, "geboortedatum": born,
             "geslacht": sex, "diagnose": ICD}, "patient_nr",
        ),
        "cartões de clientes": table(
            {"numero_cartao": card, "num_cliente": number, "data_nascimento": born, "sexo": sex,
             "valor": whole(1, 900)}, "num_cliente", each=(2, 4, 8),
        ),
        "columns without a meaning": table(
            {"v1": number, "v2": sex, "v3": age, "v4": zipped, "v5": ICD, "v6": whole(60, 190)},
            ASK,
        ),
        "names and births": table(
            {"stay": case, "name": name, "birth_date": born, "sex": sex, "dx": ICD}, ASK,
        ),
        "managers": table(
            {"employee_id": number, "manager_id": lambda d, *_: str(700_000 + d.randrange(25)),
             "age": age, "gender": sex, "salary": whole(2000, 9000)}, ROWS, each=ONE, count=300,
        ),
        "only rows twice": _with_twice(table(
            {"patient_id": number, **_STAYS}, ROWS, "patient_id", each=ONE, count=300), 2),
        "texts of a teacher": table(
            {"Beurteilung": spoken, "Klasse": of("5a", "5b", "6a"), "Geschlecht": sex,
             "Alter": age}, ROWS, each=ONE, count=300,
        ),
        "hashes of few values": table(
            {"h": lambda d, *_: f"{hash((d.randrange(4), 7)) % 16**8:032x}", "age": age,
             "sex": sex, "dx": ICD}, ROWS, each=ONE, count=300,
        ),
        "check digits": table(
            {"ref": health_number, "age": age, "sex": sex, "dx": ICD}, "ref", ASK,
        ),
        "orders": table(
            {"order_no": case, "mail": lambda _, w, __: f"m{w.number}@post.example", "age": age,
             "gender": sex, "amount": whole(5, 500)}, "mail", ASK,
        ),
        "invalid numbers": table(
            {"order_no": case, "clerk_id": doctor, "customer_no": number, "age": age,
             "gender": sex, "amount": whole(5, 500)}, "customer_no",
        ),
        "nobody's number": table(
            {"age": age, "sex": sex, "zip": zipped, "dx": ICD, "seen": day}, ROWS, each=ONE,
            count=300,
        ),
    }  # fmt: skip


# ── with fresh random names ─────────────────────────────────────────────────────────────────────


def invented(seed: int) -> Whom:
    """A table of which nobody knows what its columns are called, or what people they have."""
    dice = random.Random(seed)
    single = dice.random() < 0.3
    form = dice.choice(("{}", "P{}", "{:x}", "{:07d}", "{}-K"))
    cells: list[Cell] = [age, sex, ICD, whole(60, 190), zipped]
    person: Cell = lambda _, w, __: form.format(w.number)  # noqa: E731
    cells += [person] if not single or dice.random() < 0.5 else []
    cells += [c for c in (case, episode, home, doctor, day, born) if dice.random() < 0.4]
    dice.shuffle(cells)
    columns = {_fresh(dice, cell, person): cell for cell in cells}
    known = next((n for n, cell in columns.items() if cell is person), ASK)
    each = ONE if single else dice.choice(((1, 2, 3), (1, 2, 9), (4,), (1, 1, 1, 40)))
    whom = table(columns, *((ROWS, ASK) if single else (known, ASK)), each=each, seed=seed)
    return _with_twice(whom, dice.choice((0, 0, 1, 2)))


_USUAL: dict[Cell, Sequence[str]] = {
    case: ("case_no", "Fall", "visit_id"), doctor: ("doctor", "arts_nr", "medico"),
    age: ("age", "Alter"), sex: ("sex", "sexe"), home: ("household", "nucleo_familiare"),
}  # fmt: skip


def _fresh(dice: random.Random, cell: Cell, person: Cell) -> str:
    """A random name; now and then the usual one."""
    usual = ("pat_id", "Kundennummer", "subject") if cell is person else _USUAL.get(cell, ())
    if usual and dice.random() < 0.4:
        return dice.choice(usual)
    while True:
        syllables = (dice.choice("bdfgklmnprstvz") + dice.choice("aeiou") for _ in range(3))
        name = "".join(syllables) + str(dice.randrange(10))
        if not words.concepts(name):
            return name
