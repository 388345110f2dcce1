"""The generator: turns the invented population's statistics into a table of people."""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import numpy as np
import polars as pl

from covey.demo import population
from covey.demo.draws import SAME, SIMILAR, Draws
from covey.demo.weights import Ints, by_label, curve, integers, percentages
from covey.schema import taxonomy


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
    place = _place_of_towns()[town]
    age = draws.pick(_age_weights(), place, shared_bits=SIMILAR)
    band = _band_of_ages()[age]
    is_man = draws.chance(1000 - curve(population.WOMEN_PER_MILLE)[age]).astype(np.int64)
    education = draws.pick(_education_weights(), place, band, shared_bits=SIMILAR)
    return _Lives(
        zip_code=zip_code,
        place=place,
        age=age,
        birth=_birth_days(draws, age),
        is_man=is_man,
        education=education,
        marital_status=draws.pick(_marital_status_weights(), is_man, band, shared_bits=SIMILAR),
        occupation=_occupations(draws, place, band, is_man, education),
        country=_countries(draws, town, place, age),
        diagnosis=draws.pick(_diagnosis_weights(), is_man, band),
    )


def _table(draws: Draws, lives: _Lives) -> pl.DataFrame:
    columns = {
        "name": _names(draws, lives.is_man),
        "birth_date": _dates(lives.birth),
        "age": pl.Series(lives.age),
        "sex": _strings(population.SEXES, lives.is_man),
        "zip": _with_gaps(draws, "zip", _zip_labels(), lives.zip_code),
        "education": _with_gaps(draws, "education", population.EDUCATIONS, lives.education),
        "marital_status": _strings(population.MARITAL_STATUSES, lives.marital_status),
        "occupation": _with_gaps(draws, "occupation", population.OCCUPATIONS, lives.occupation),
        "country_of_birth": _with_gaps(
            draws, "country_of_birth", population.COUNTRIES, lives.country
        ),
        "income": _told_incomes(draws, lives.age, _incomes(draws, lives)),
        "admission_date": _dates(_admission_days(draws, lives.diagnosis, lives.birth)),
        "diagnosis": _strings(population.DIAGNOSES, lives.diagnosis),
        "length_of_stay": pl.Series(_stays(draws, lives.age, lives.diagnosis)),
    }
    return pl.DataFrame(columns)


# Where they live.


def _homes(draws: Draws) -> tuple[Ints, Ints]:
    """The town of each person, and the position of the person's postcode in `_zip_labels`."""
    town = draws.pick(_town_weights(), shared_bits=SAME)
    counts = _district_counts()
    first_of_town = np.cumsum(counts) - counts
    district = draws.pick(_district_weights(), town, shared_bits=SAME)
    return town, first_of_town[town] + district


def _town_weights() -> Ints:
    """Weights of towns: within a region they decrease like the harmonic series."""
    return integers(
        region.weight * 2520 // (rank + 1)
        for region in population.REGIONS
        for rank in range(len(region.towns))
    )


def _district_counts() -> Ints:
    weights = _town_weights()
    counts: Ints = 4 + weights * 60 // weights.max()
    return counts


def _district_weights() -> Ints:
    """Weights of each town's districts, padded with zeros to the largest number of districts."""
    counts = _district_counts()
    rank = np.arange(counts.max())
    weights: Ints = np.where(rank < counts[:, None], 10_000 // (rank + 3), 0)
    return weights


def _zip_labels() -> list[str]:
    towns = [
        f"{region.prefix}{town}"
        for region in population.REGIONS
        for town in range(len(region.towns))
    ]
    return [
        f"{town}{district + 1:02}"
        for town, districts in zip(towns, _district_counts().tolist(), strict=True)
        for district in range(districts)
    ]


def _place_of_towns() -> Ints:
    return integers(
        population.PLACES.index(letter) for region in population.REGIONS for letter in region.towns
    )


def _region_of_towns() -> Ints:
    return integers(
        number for number, region in enumerate(population.REGIONS) for _ in region.towns
    )


# Who they are.


def _age_weights() -> Ints:
    return np.stack([curve(population.AGE_PYRAMIDS[place]) for place in population.PLACES])


def _band_of_ages() -> Ints:
    ages = np.arange(population.AGES)
    return np.searchsorted(population.BAND_STARTS, ages, side="right") - 1


def _day_number(day: date) -> int:
    return day.toordinal() - date(1970, 1, 1).toordinal()


def _birth_days(draws: Draws, age: Ints) -> Ints:
    """Days of birth. No one is born after the last admission, since everyone was admitted."""
    today = population.TODAY
    birthdays = [today.replace(year=today.year - years) for years in range(population.AGES + 1)]
    days = integers(map(_day_number, birthdays))
    first, last = days[1:] + 1, np.minimum(days[:-1], _day_number(population.LAST_ADMISSION))
    return first[age] + draws.below((last - first + 1)[age])


def _education_weights() -> Ints:
    by_place = integers(population.EDUCATION_BY_PLACE[place] for place in population.PLACES)
    return by_place[:, None] * by_label(population.EDUCATION_BY_AGE)


def _marital_status_weights() -> Ints:
    by_sex = percentages(population.MARITAL_STATUS_BY_SEX, population.MARITAL_STATUSES)
    return by_sex[:, None] * by_label(population.MARITAL_STATUS_BY_AGE)


def _countries(draws: Draws, town: Ints, place: Ints, age: Ints) -> Ints:
    shares = integers(population.FOREIGN_PER_MILLE[letter] for letter in population.PLACES)
    stage = np.searchsorted([population.ADULT_AGE, population.PENSION_AGE], age, side="right")
    is_foreign = draws.chance(shares[place, stage], shared_bits=SIMILAR)
    settler = draws.pick(_settler_weights(), _region_of_towns()[town], shared_bits=SAME)
    return np.where(is_foreign, 1 + settler, 0)


def _settler_weights() -> Ints:
    """Weights of countries by region: people from one part of the world settle together."""
    tree = taxonomy.from_nested(population.TAXONOMIES["country_of_birth"])
    origins = {path[0]: path for path in tree.paths()}
    return integers(
        [
            weight * (population.SETTLERS_FACTOR if region.settlers in origins[country] else 1)
            for country, weight in population.SETTLER_WEIGHTS.items()
        ]
        for region in population.REGIONS
    )


# What they do and earn.


def _occupations(draws: Draws, place: Ints, band: Ints, is_man: Ints, education: Ints) -> Ints:
    activity = draws.pick(_activity_weights(), is_man, education, band, shared_bits=SIMILAR)
    work = draws.pick(_work_weights(), place, is_man, education, shared_bits=SIMILAR)
    working = population.WORKING
    return np.where(activity == working, working + work, activity)


def _activity_weights() -> Ints:
    by_sex = percentages(population.ACTIVITY_BY_SEX, population.ACTIVITIES)
    by_education = percentages(population.ACTIVITY_BY_EDUCATION, population.ACTIVITIES)
    by_age = by_label(population.ACTIVITY_BY_AGE)
    return by_sex[:, None, None] * by_education[:, None] * by_age


def _work_weights() -> Ints:
    by_place = percentages(population.WORK_BY_PLACE, population.WORKS)
    by_sex = percentages(population.WORK_BY_SEX, population.WORKS)
    by_education = by_label(population.WORK_BY_EDUCATION)
    return by_place[:, None, None] * by_sex[:, None] * by_education


def _incomes(draws: Draws, lives: _Lives) -> Ints:
    pay = integers(population.YEARLY_PAY[label] for label in population.OCCUPATIONS)
    income = pay[lives.occupation]
    income *= integers(population.PAY_BY_EDUCATION)[lives.education]
    income *= integers(population.PAY_BY_PLACE)[lives.place]
    income *= curve(population.PAY_BY_AGE)[lives.age]
    income //= 100**3
    income *= _spread(draws, population.PAY_SPREAD)
    return (income // 1000 + 50) // 100 * 100


def _told_incomes(draws: Draws, age: Ints, income: Ints) -> pl.Series:
    """Incomes with gaps: people with high incomes report them less often."""
    per_mille = np.where(
        income < population.HIGH_PAY,
        population.UNTOLD_PAY_PER_MILLE,
        population.UNTOLD_HIGH_PAY_PER_MILLE,
    )
    untold = draws.chance(per_mille) | (age < population.ADULT_AGE)
    return pl.Series(income).set(pl.Series(untold), None)


def _spread(draws: Draws, knots: dict[int, int]) -> Ints:
    levels = curve(knots)
    return levels[draws.below(len(levels))]


# What they are in hospital for.


def _diagnosis_weights() -> Ints:
    by_sex = percentages(population.DIAGNOSIS_BY_SEX, population.DIAGNOSES)
    return by_sex[:, None] * by_label(population.DIAGNOSIS_BY_AGE)


def _admission_weights() -> Ints:
    """A weight for each day of admission, by season."""
    first, last = population.FIRST_ADMISSION, population.LAST_ADMISSION
    days = [date.fromordinal(day) for day in range(first.toordinal(), last.toordinal() + 1)]
    return integers(
        [months[day.month - 1] * population.WEEKDAY_WEIGHTS[day.weekday()] for day in days]
        for months in population.MONTH_WEIGHTS
    )


def _admission_days(draws: Draws, diagnosis: Ints, birth: Ints) -> Ints:
    season = integers(
        population.SEASONS.get(label, population.ANY_TIME) for label in population.DIAGNOSES
    )[diagnosis]
    day = _day_number(population.FIRST_ADMISSION) + draws.pick(_admission_weights(), season)
    newborn = [population.DIAGNOSES.index(label) for label in population.NEWBORN_DIAGNOSES]
    is_newborn = np.isin(diagnosis, newborn)
    span = _day_number(population.LAST_ADMISSION) - birth + 1
    span = np.where(is_newborn, np.minimum(population.NEWBORN_DAYS, span), span)
    since_birth = birth + draws.below(span)
    return np.where(is_newborn | (day < birth), since_birth, day)


def _stays(draws: Draws, age: Ints, diagnosis: Ints) -> Ints:
    stay = integers(population.USUAL_DAYS[label] for label in population.DIAGNOSES)[diagnosis]
    stay *= curve(population.DAYS_BY_AGE)[age]
    stay *= _spread(draws, population.DAYS_SPREAD)
    days: Ints = np.minimum((stay + 50_000) // 100_000, population.LONGEST_STAY)
    return days


# From codes to columns.


def _strings(labels: Sequence[str | None], codes: Ints) -> pl.Series:
    indices = pl.Series(codes.astype(np.uint32))
    return pl.Series(labels, dtype=pl.String).gather(indices)


def _with_gaps(draws: Draws, column: str, labels: Sequence[str], codes: Ints) -> pl.Series:
    is_missing = draws.chance(population.MISSING_PER_MILLE[column])
    return _strings([*labels, None], np.where(is_missing, len(labels), codes))


def _dates(days: Ints) -> pl.Series:
    return pl.Series(days.astype(np.int32)).cast(pl.Date)


def _names(draws: Draws, is_man: Ints) -> pl.Series:
    """A given name with an initial and two family names, so that few people share a name."""
    given = [
        f"{name} {initial}."
        for names in population.GIVEN_NAMES
        for name in names.split()
        for initial in population.INITIALS
    ]
    family = [
        beginning + ending
        for beginning in population.FAMILY_BEGINNINGS.split()
        for ending in population.FAMILY_ENDINGS.split()
    ]
    given_by_sex = len(given) // len(population.SEXES)
    parts = {
        "given": _strings(given, is_man * given_by_sex + draws.below(given_by_sex)),
        "father": _strings(family, draws.below(len(family))),
        "mother": _strings(family, draws.below(len(family))),
    }
    return pl.DataFrame(parts).select(pl.concat_str(list(parts), separator=" ")).to_series()
