"""The generator: turns the invented population's statistics into a table of people."""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import numpy as np
import polars as pl

from covey.demo.draws import SAME, SIMILAR, Draws
from covey.demo.population import POPULATION, TAXONOMIES
from covey.demo.weights import Ints, by_label, curve, integers, percentages
from covey.schema import taxonomy

AGES = 100  # people are younger
PLACES: str = POPULATION["places"]
REGIONS = POPULATION["regions"]
EDUCATIONS = [*POPULATION["education_by_age"]]
MARITAL_STATUSES = [*POPULATION["marital_status_by_age"]]
ACTIVITIES = [*POPULATION["activity_by_age"]]
WORKING = ACTIVITIES.index("Working")
WORKS = [*POPULATION["work_by_education"]]
OCCUPATIONS = [*ACTIVITIES[:WORKING], *WORKS]
COUNTRIES = ["United States", *POPULATION["settlers"]]  # home first
DIAGNOSES = [*POPULATION["diagnosis_by_age"]]


def people(rows: int = 10_000, *, seed: int = 0) -> pl.DataFrame:
    """Return a table of `rows` invented people, always the same for the same `rows` and `seed`.

    `age` is the age on 2025-06-30. Missing values are null; minors have no income. A shorter table
    is not the beginning of a longer one, because each column is drawn in full before the next.
    """
    if rows < 0:
        raise ValueError(f"rows must not be negative, but is {rows}")
    draws = Draws(rows, seed)
    return _table(draws, _lives(draws))


class _Lives(NamedTuple):
    """All facts drawn for the people, before names are added and some cells go missing."""

    zip_code: Ints
    place: Ints
    age: Ints
    birth: Ints
    is_man: Ints
    education: Ints
    marital_status: Ints
    occupation: Ints
    country: Ints
    diagnosis: Ints


# The order of the draws, in these two functions and below, determines their results.


def _lives(draws: Draws) -> _Lives:
    town, zip_code = _homes(draws)
    place = integers(PLACES.index(letter) for region in REGIONS for letter in region["towns"])[town]
    pyramids = np.stack([curve(POPULATION["age_pyramids"][letter]) for letter in PLACES])
    age = draws.pick(pyramids, place, shared_bits=SIMILAR)
    band = np.searchsorted(POPULATION["bands"], np.arange(AGES), side="right")[age] - 1
    is_man = draws.chance(1000 - curve(POPULATION["women"])[age]).astype(np.int64)
    education = draws.pick(_education_weights(), place, band, shared_bits=SIMILAR)
    marriages = _by_sex_and_age("marital_status", MARITAL_STATUSES)
    return _Lives(
        zip_code=zip_code,
        place=place,
        age=age,
        birth=_birth_days(draws, age),
        is_man=is_man,
        education=education,
        marital_status=draws.pick(marriages, is_man, band, shared_bits=SIMILAR),
        occupation=_occupations(draws, place, band, is_man, education),
        country=_countries(draws, town, place, age),
        diagnosis=draws.pick(_by_sex_and_age("diagnosis", DIAGNOSES), is_man, band),
    )


def _table(draws: Draws, lives: _Lives) -> pl.DataFrame:
    columns = {
        "name": _names(draws, lives.is_man),
        "birth_date": _dates(lives.birth),
        "age": pl.Series(lives.age),
        "sex": _strings(POPULATION["sexes"], lives.is_man),
        "zip": _with_gaps(draws, "zip", _zip_labels(), lives.zip_code),
        "education": _with_gaps(draws, "education", EDUCATIONS, lives.education),
        "marital_status": _strings(MARITAL_STATUSES, lives.marital_status),
        "occupation": _with_gaps(draws, "occupation", OCCUPATIONS, lives.occupation),
        "country_of_birth": _with_gaps(draws, "country_of_birth", COUNTRIES, lives.country),
        "income": _reported_incomes(draws, lives.age, _incomes(draws, lives)),
        "admission_date": _dates(_admission_days(draws, lives.diagnosis, lives.birth)),
        "diagnosis": _strings(DIAGNOSES, lives.diagnosis),
        "length_of_stay": pl.Series(_stays(draws, lives.age, lives.diagnosis)),
    }
    return pl.DataFrame(columns)


# Where they live.


def _homes(draws: Draws) -> tuple[Ints, Ints]:
    """The town of each person, and the position of the person's postcode in `_zip_labels`."""
    town = draws.pick(_town_weights(), shared_bits=SAME)
    counts = _district_counts()
    first_of_town = np.cumsum(counts) - counts
    rank = np.arange(counts.max())
    districts = np.where(rank < counts[:, None], 10_000 // (rank + 3), 0)
    district = draws.pick(districts, town, shared_bits=SAME)
    return town, first_of_town[town] + district


def _town_weights() -> Ints:
    """Weights of towns: within a region they decrease like the harmonic series."""
    return integers(
        region["weight"] * 2520 // (rank + 1)
        for region in REGIONS
        for rank in range(len(region["towns"]))
    )


def _district_counts() -> Ints:
    weights = _town_weights()
    counts: Ints = 4 + weights * 60 // weights.max()
    return counts


def _zip_labels() -> list[str]:
    towns = [
        f"{region['prefix']}{town}" for region in REGIONS for town in range(len(region["towns"]))
    ]
    return [
        f"{town}{district + 1:02}"
        for town, districts in zip(towns, _district_counts().tolist(), strict=True)
        for district in range(districts)
    ]


# Who they are.


def _day_number(day: date) -> int:
    return day.toordinal() - date(1970, 1, 1).toordinal()


def _birth_days(draws: Draws, age: Ints) -> Ints:
    """Days of birth. No one is born after the last admission, since everyone was admitted."""
    today: date = POPULATION["today"]
    birthdays = [today.replace(year=today.year - years) for years in range(AGES + 1)]
    days = integers(map(_day_number, birthdays))
    first, last = days[1:] + 1, np.minimum(days[:-1], _day_number(POPULATION["last_admission"]))
    return first[age] + draws.below((last - first + 1)[age])


def _education_weights() -> Ints:
    by_place = integers(POPULATION["education_by_place"][place] for place in PLACES)
    return by_place[:, None] * by_label(POPULATION["education_by_age"])


def _by_sex_and_age(column: str, labels: Sequence[str]) -> Ints:
    by_sex = percentages(POPULATION[f"{column}_by_sex"], labels)
    return by_sex[:, None] * by_label(POPULATION[f"{column}_by_age"])


def _countries(draws: Draws, town: Ints, place: Ints, age: Ints) -> Ints:
    shares = integers(POPULATION["foreign"][letter] for letter in PLACES)
    stages = [POPULATION["adult_age"], POPULATION["pension_age"]]
    stage = np.searchsorted(stages, age, side="right")
    is_foreign = draws.chance(shares[place, stage], shared_bits=SIMILAR)
    region = integers(number for number, region in enumerate(REGIONS) for _ in region["towns"])
    settler = draws.pick(_settler_weights(), region[town], shared_bits=SAME)
    return np.where(is_foreign, 1 + settler, 0)


def _settler_weights() -> Ints:
    """Weights of countries by region: people from one part of the world settle together."""
    tree = taxonomy.from_nested(TAXONOMIES["country_of_birth"])
    origins = {path[0]: path for path in tree.paths()}
    factor = POPULATION["settlers_factor"]
    return integers(
        [
            weight * (factor if region["settlers"] in origins[country] else 1)
            for country, weight in POPULATION["settlers"].items()
        ]
        for region in REGIONS
    )


# What they do and earn.


def _occupations(draws: Draws, place: Ints, band: Ints, is_man: Ints, education: Ints) -> Ints:
    activity = draws.pick(_activity_weights(), is_man, education, band, shared_bits=SIMILAR)
    work = draws.pick(_work_weights(), place, is_man, education, shared_bits=SIMILAR)
    return np.where(activity == WORKING, WORKING + work, activity)


def _activity_weights() -> Ints:
    by_sex = percentages(POPULATION["activity_by_sex"], ACTIVITIES)
    by_education = percentages(POPULATION["activity_by_education"], ACTIVITIES)
    by_age = by_label(POPULATION["activity_by_age"])
    return by_sex[:, None, None] * by_education[:, None] * by_age


def _work_weights() -> Ints:
    by_place = percentages(POPULATION["work_by_place"], WORKS)
    by_sex = percentages(POPULATION["work_by_sex"], WORKS)
    by_education = by_label(POPULATION["work_by_education"])
    return by_place[:, None, None] * by_sex[:, None] * by_education


def _incomes(draws: Draws, lives: _Lives) -> Ints:
    pay = POPULATION["pay"]
    income = integers(pay["yearly"][label] for label in OCCUPATIONS)[lives.occupation]
    income *= integers(pay["by_education"])[lives.education]
    income *= integers(pay["by_place"])[lives.place]
    income *= curve(pay["by_age"])[lives.age]
    income //= 100**3
    income *= _spread(draws, pay["spread"])
    return (income // 1000 + 50) // 100 * 100


def _reported_incomes(draws: Draws, age: Ints, income: Ints) -> pl.Series:
    """Incomes with gaps: people with high incomes report them less often."""
    pay = POPULATION["pay"]
    per_mille = np.where(income < pay["high"], pay["untold"], pay["untold_high"])
    is_missing = draws.chance(per_mille) | (age < POPULATION["adult_age"])
    return pl.Series(income).set(pl.Series(is_missing), None)


def _spread(draws: Draws, knots: Sequence[Sequence[int]]) -> Ints:
    levels = curve(knots)
    return levels[draws.below(len(levels))]


# What they are in hospital for.


def _admission_weights() -> Ints:
    """A weight for each day of admission, by season."""
    first, last = POPULATION["first_admission"], POPULATION["last_admission"]
    days = [date.fromordinal(day) for day in range(first.toordinal(), last.toordinal() + 1)]
    admission = POPULATION["admission"]
    return integers(
        [months[day.month - 1] * admission["weekdays"][day.weekday()] for day in days]
        for months in admission["months"].values()
    )


def _admission_days(draws: Draws, diagnosis: Ints, birth: Ints) -> Ints:
    admission = POPULATION["admission"]
    seasons = [*admission["months"]]
    season = integers(seasons.index(admission["season"].get(d, "any")) for d in DIAGNOSES)[
        diagnosis
    ]
    day = _day_number(POPULATION["first_admission"]) + draws.pick(_admission_weights(), season)
    is_newborn = np.isin(diagnosis, [DIAGNOSES.index(label) for label in admission["newborn"]])
    span = _day_number(POPULATION["last_admission"]) - birth + 1
    span = np.where(is_newborn, np.minimum(POPULATION["newborn_days"], span), span)
    since_birth = birth + draws.below(span)
    return np.where(is_newborn | (day < birth), since_birth, day)


def _stays(draws: Draws, age: Ints, diagnosis: Ints) -> Ints:
    stay = POPULATION["stay"]
    days = integers(stay["usual_days"][label] for label in DIAGNOSES)[diagnosis]
    days *= curve(stay["by_age"])[age]
    days *= _spread(draws, stay["spread"])
    rounded: Ints = np.minimum((days + 50_000) // 100_000, POPULATION["longest_stay"])
    return rounded


# From codes to columns.


def _strings(labels: Sequence[str | None], codes: Ints) -> pl.Series:
    indices = pl.Series(codes.astype(np.uint32))
    return pl.Series(labels, dtype=pl.String).gather(indices)


def _with_gaps(draws: Draws, column: str, labels: Sequence[str], codes: Ints) -> pl.Series:
    is_missing = draws.chance(POPULATION["missing"][column])
    return _strings([*labels, None], np.where(is_missing, len(labels), codes))


def _dates(days: Ints) -> pl.Series:
    return pl.Series(days.astype(np.int32)).cast(pl.Date)


def _names(draws: Draws, is_man: Ints) -> pl.Series:
    """A given name with an initial and two family names, so that few people share a name."""
    names: dict[str, str] = POPULATION["names"]
    given = [
        f"{name} {initial}."
        for sex in ("women", "men")
        for name in names[sex].split()
        for initial in names["initials"]
    ]
    family = [
        beginning + ending
        for beginning in names["family_beginnings"].split()
        for ending in names["family_endings"].split()
    ]
    given_by_sex = len(given) // 2
    parts = {
        "given": _strings(given, is_man * given_by_sex + draws.below(given_by_sex)),
        "father": _strings(family, draws.below(len(family))),
        "mother": _strings(family, draws.below(len(family))),
    }
    return pl.DataFrame(parts).select(pl.concat_str(list(parts), separator=" ")).to_series()
