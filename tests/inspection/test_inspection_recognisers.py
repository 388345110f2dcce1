"""What values and names of columns say: each kind, and what only looks like it."""

import random

import polars as pl
import pytest

import covey
from covey.inspection import sentinels, words
from covey.inspection.recognisers import RECOGNISERS, recoded, recognise
from covey.schema import ColumnType, Role


def kind_of(values: list[str], *concepts: str) -> str | None:
    found = recognise(pl.Series(values), frozenset(concepts))
    return None if found is None else found.kind


def ibans(number: int) -> list[str]:
    """German IBANs of account numbers in a row, by the rule of the check digits."""
    made = []
    for account in range(number):
        bban = f"37040044{account:010}"
        check = 98 - int(bban + "131400") % 97
        made.append(f"DE{check:02}{bban}")
    return made


def cards(number: int) -> list[str]:
    made = []
    for place in range(number):
        digits = [int(sign) for sign in f"411111{place:09}"]
        total = sum(sum(divmod(2 * d, 10)) if n % 2 == 0 else d for n, d in enumerate(digits[::-1]))
        made.append("".join(map(str, digits)) + str(-total % 10))
    return made


SOME = range(40)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("mail addresses", [f"p{n}@example.org" for n in SOME]),
        ("UUIDs", [f"{n:08x}-0000-4000-8000-000000000000" for n in SOME]),
        ("web addresses", [f"https://example.org/{n}" for n in SOME]),
        ("IP addresses", [f"10.0.{n}.{2 * n}" for n in SOME]),
        ("IBANs", ibans(40)),
        ("credit card numbers", cards(40)),
        ("social security numbers", [f"{100 + n}-{10 + n}-{1000 + n}" for n in SOME]),
        ("numbers of people", [f"RSSMRA{n + 10:02}A01H{500 + n}X" for n in SOME]),
        ("telephone numbers", [f"+49 89 12{n:04}" for n in SOME]),
        ("telephone numbers", [f"(0{n + 10}) 555-{n:04}" for n in SOME]),
        ("coordinates", [f"48.13{n:02}, 11.57{n:02}" for n in SOME]),
        ("street addresses", [f"Bahnhofstraße {n + 1}" for n in SOME]),
        ("street addresses", [f"{n + 1} High Street" for n in SOME]),
        (
            "personal names",
            [f"{first} Quux" for first in ("Ana", "Eva", "Jan", "Lea", "Rui", "Uwe")] * 2,
        ),
        ("postcodes", [f"SW{n % 9 + 1}A {n % 10}AA" for n in SOME]),
        ("postcodes", [f"{1000 + n} AB" for n in SOME]),
        ("postcodes", [f"{1000 + n}-{100 + n}" for n in SOME]),
        ("postcodes", [f"{10 + n}-{100 + n}" for n in SOME]),
        ("postcodes", [f"{10000 + n}-{1000 + n}" for n in SOME]),
        ("postcodes", ["K1A 0B1", "H2X 1Y4", "V5K 0A1", "M5V 2T6", "T2P 1J9"]),
        ("ICD codes", ["I10.0", "E11.9", "J45", "M54.5"]),
        ("ATC codes", ["A10BA02", "C09AA05", "N02BE01", "R03AC02", "B01AC06"]),
        ("bands", ["0-17", "18-24", "25-64", "65+"]),
        ("bands", ["De 0 a 4 años", "De 5 a 9 años", "Más de 74 años"]),
        ("bands", ["[0-10)", "[10-20)", "[20-30)"]),
        ("bands", ["<18", "18 bis 30", ">30"]),
        ("sums of money", [f"{n}.234,50 €" for n in range(1, 41)]),
        ("sums of money", [f"${n},234.50" for n in range(1, 41)]),
        ("numbers with a unit", [f"{n + 50} kg" for n in SOME]),
        ("numbers with a unit", [f"{n},5 mmol/l" for n in SOME]),
        ("bands", ["[0,10)", "[10,20)", "[20,30]"]),
    ],
)
def test_each_kind_is_recognised_despite_a_few_odd_cells(kind: str, values: list[str]) -> None:
    assert kind_of(values) == kind
    if len(values) >= 40:
        assert kind_of([*values, "see letter", "0"]) == kind


@pytest.mark.parametrize(
    "values",
    [
        [f"DE{n:02}370400440000000000" for n in SOME],  # no valid check digits
        [f"{4 * 10**15 + 7 * n}" for n in SOME],
        [f"{n / 7:.4f}" for n in range(100, 140)],
        [f"{446 + n}.426.917" for n in SOME],  # grouped digits
        ["7,25", "7,31", "7,18"],  # decimal commas
        ["1000-999", "20-10", "9-1"],  # no bands: the first number is larger
        ["Ward A", "Ward B", "Ward C"] * 5,
        ["Lyon", "Paris", "Nantes", "Lille", "Brest", "Dijon", "Metz", "Nancy", "Tours", "Caen",
         "Reims", "Rouen", "Amiens"],
        ["C85", "E46", "G6", "B22", "D15"],  # cabins
    ],
)  # fmt: skip
def test_what_only_looks_like_a_kind_is_not_it(values: list[str]) -> None:
    assert kind_of(values) is None


def test_checked_numbers_are_not_found_in_random_digits() -> None:
    dice = random.Random(1)
    for width in (9, 10, 11, 16):
        values = [str(dice.randrange(10 ** (width - 1), 10**width)) for _ in range(200)]
        assert kind_of(values) is None, width


def test_a_name_makes_plain_digits_postcodes_and_codes_diagnoses() -> None:
    digits = [f"{10115 + n}" for n in SOME]
    assert kind_of(digits) is None
    assert kind_of(digits, "postcode") == "postcodes"
    assert kind_of(["I10", "E11", "J45"], "diagnosis") == "ICD codes"


def test_every_identifying_kind_is_removed() -> None:
    assert {r.role for r in RECOGNISERS if "numbers of people" in r.kind} == {Role.IDENTIFIER}
    frame = pl.DataFrame({"x": ibans(40), "y": ["a", "b"] * 20})
    assert covey.inspect(frame).schema.columns["x"].role is Role.IDENTIFIER


# ── names of columns ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("names", "concept"),
    [
        (("PatientID", "patient-id", "PATIENT_ID", "Patientennummer"), "person_number"),
        (("Nachname", "apellidos", "cognome", "achternaam", "Nazwisko", "prénom"), "person_name"),
        (("Geburtsdatum", "date_naissance", "fechaNacimiento", "Data urodzenia"), "birth"),
        (("PLZ", "Code postal", "zip_code", "kod_pocztowy", "CEP"), "postcode"),
        (("Größe", "groesse", "Blutdruck", "Ciśnienie", "tension"), "measurement"),
        (("Geschlecht", "Płeć", "sexe", "geslacht", "gender"), "sex"),
        (("MonthlyIncome", "Einkommen", "dochód", "salaire"), "money"),
        (("diagnóstico", "Hauptdiagnose", "rozpoznanie", "Diagnose"), "diagnosis"),
        (("Straße", "street", "E-Mail", "Telefon", "telemóvel"), "contact"),
    ],
)  # fmt: skip
def test_names_mean_the_same_in_all_languages(names: tuple[str, ...], concept: str) -> None:
    assert {name for name in names if concept not in words.concepts(name)} == set()


@pytest.mark.parametrize(
    ("name", "concept"),
    [
        ("coverage", "age"),
        ("passport", "place"),
        ("paid", "generic_id"),
        ("YearsSinceLastPromotion", "person_name"),
        ("report", "place"),
        ("n_lesions_person", "count_"),
    ],
)
def test_parts_of_words_mean_nothing(name: str, concept: str) -> None:
    assert concept not in words.concepts(name)


def test_every_concept_has_words_in_every_language() -> None:
    for concept, by_language in words.vocabulary().items():
        assert set(by_language) == set(words.LANGUAGES), concept
        assert all(by_language.values()), concept


def role(name: str, values: list[object]) -> str:
    frame = pl.DataFrame({name: values, "other": ["a", "b"] * (len(values) // 2)}, strict=False)
    return covey.inspect(frame).schema.columns[name].role.value


def test_a_name_counts_only_if_the_content_agrees() -> None:
    assert role("address", ["U", "R"] * 100) == "quasi"  # urban and rural
    assert role("telefon", ["ja", "nein"] * 100) == "quasi"
    assert role("site_id", [n % 12 for n in range(240)]) == "quasi"
    assert role("site_id", [n * 31 for n in range(240)]) == "identifier"
    assert role("subject", [n // 4 for n in range(240)]) == "identifier"
    assert role("patient_id", [n % 8 for n in range(240)]) == "identifier"
    assert role("Nombre grupo etnico", [f"pueblo {n % 30}" for n in range(240)]) == "quasi"
    assert role("date_of_diagnosis", [f"2024-01-{n % 28 + 1:02}" for n in range(240)]) == "quasi"
    assert role("diagnosis", [f"text {n % 9}" for n in range(240)]) == "sensitive"
    assert role("lat", [f"48.{n * 37:05}" for n in range(240)]) == "identifier"


def test_numbers_without_repeats_where_chance_would_repeat_are_numbers_of_cases() -> None:
    dice = random.Random(5)
    drawn = dice.sample(range(50_000, 60_000), 600)
    assert role("x", list(drawn)) == "identifier"
    assert role("x", [dice.randrange(50_000, 60_000) for _ in range(600)]) == "quasi"


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        ({"m": 9, "M": 2, "male": 1, "w": 8, "weiblich": 1},
         {"M": "m", "male": "m", "weiblich": "w"}),
        ({"H": 5, "M": 6, "Mujer": 1}, {"Mujer": "M"}),
        ({"F": 5, "M": 6}, {}),  # one spelling each
        ({"M": 5, "hombre": 6, "f": 3}, {}),  # a man or a mujer
        ({"m": 5, "w": 4, "?": 1, "W": 1}, {"W": "w"}),
        ({"m": 5, "M": 4, "Zq": 1}, {}),  # a word that is no sex
    ],
)  # fmt: skip
def test_spellings_of_sexes_are_merged_if_their_meaning_is_clear(
    rows: dict[str, int], labels: dict[str, str]
) -> None:
    assert recoded(rows) == labels


def test_a_draft_recodes_sexes_in_the_release() -> None:
    cells = ["m", "male", "M", "w", "weiblich", "w"] * 20
    frame = pl.DataFrame({"sex": cells, "age": list(range(20, 140))})
    schema = covey.inspect(frame, quasi=["sex", "age"]).schema
    assert schema.columns["sex"].type is ColumnType.CATEGORICAL
    released = covey.anonymize(frame, schema, effort="fast").table
    assert set(released["sex"]) <= {"m", "M", "male", "w", "*"}
    assert len(set(released["sex"]) - {"*"}) == 2


@pytest.mark.parametrize(("lowest", "is_far"), [(39.0, True), (38.0, False)])
def test_a_single_number_is_nobodys_from_five_widths_on(lowest: float, is_far: bool) -> None:
    usual = sentinels._Usual(pl.DataFrame({"number": [lowest, 120.0, 199.0], "rows": [9, 9, 9]}))
    assert usual.is_far(999.0, rows=1) is is_far  # 800 above 199
