"""People with the columns of He et al. 2012, Table 3, who do not exist.

The tables SAL and INCOME of that paper cannot be passed on. These have the same columns, of the
same numbers of values, and hang together as those of real people do: schooling goes with age, work
with schooling and sex, marriage with age, birthplace with race. Half of the people resemble
somebody else, so that common combinations repeat and rare ones stand out.
"""

import numpy as np
import polars as pl

from covey.demo.draws import SAME, SIMILAR, Draws
from covey.demo.weights import Ints, curve

SAL = {
    "age": 78, "gender": 2, "education": 17, "marital": 6, "race": 9, "workclass": 10,
    "country": 83,
}  # fmt: skip
INCOME = {
    "age": 78, "occupation": 711, "birthplace": 983, "gender": 2, "education": 17, "race": 9,
    "workclass": 9, "marital": 6,
}  # fmt: skip

_YOUNGEST = 16
# By years above the youngest.
_PYRAMID = ((0, 40), (6, 90), (14, 110), (34, 115), (46, 70), (60, 25), (77, 2))
_RACES = np.array([700, 120, 12, 18, 10, 45, 60, 25, 10], dtype=np.int64)
# How much the country itself weighs as the birthplace of each of them.
_NATIVES = np.array([38, 34, 38, 6, 8, 8, 14, 30, 26], dtype=np.int64) * 1_000
_FAINTEST = 3  # the least weight of a value: every one is to occur


def sal(rows: int, seed: int = 0) -> pl.DataFrame:
    """People as in SAL, without the sensitive column, which no figure needs."""
    return _people(rows, SAL, seed)


def income(rows: int, seed: int = 0) -> pl.DataFrame:
    """People as in INCOME, without the sensitive column."""
    return _people(rows, INCOME, seed)


def _people(rows: int, sizes: dict[str, int], seed: int) -> pl.DataFrame:
    draws = Draws(rows, seed)
    age = draws.pick(curve(_PYRAMID), shared_bits=SIMILAR)
    gender = draws.below(2)
    race = draws.pick(_RACES, shared_bits=SAME)
    education = draws.pick(_schooling(sizes["education"]), age // 10, shared_bits=SIMILAR)
    drawn = {
        "age": age + _YOUNGEST,
        "gender": gender,
        "race": race,
        "education": education,
        "marital": draws.pick(_marriage(sizes["marital"]), age // 10, shared_bits=SIMILAR),
        "workclass": draws.pick(_hills(sizes["workclass"], sizes["education"], 300), education),
    }
    if "occupation" in sizes:
        weights = _hills(sizes["occupation"], sizes["education"], 14_000)
        drawn["occupation"] = draws.pick(weights, education, shared_bits=SIMILAR)
    for name in ("country", "birthplace"):
        if name in sizes:
            drawn[name] = draws.pick(_origins(sizes[name]), race, shared_bits=SIMILAR)
    return pl.DataFrame({name: drawn[name] for name in sizes})


def _schooling(values: int) -> Ints:
    """Those under twenty-five are still at it, and the old had less of it."""
    centres = np.array([6, 11, 11, 10, 9, 8, 7, 6], dtype=np.int64)
    apart = np.abs(np.arange(values) - centres[:, None])
    weights: Ints = _FAINTEST + 200 // (1 + apart * apart)
    return weights


def _marriage(values: int) -> Ints:
    """The first value is for the married, the last for those who never were."""
    married = np.array([10, 45, 62, 66, 64, 60, 45, 30], dtype=np.int64)
    weights = np.full((len(married), values), 4, dtype=np.int64)
    weights[:, 0], weights[:, -1] = married, 100 - married
    return weights


def _origins(values: int) -> Ints:
    """The first value is the country itself; the others lie around each race's own."""
    weights = _hills(values, len(_RACES), 2_000)
    weights[:, 0] += _NATIVES
    return weights


def _hills(values: int, kinds: int, height: int) -> Ints:
    """For each kind of people, values that are the more common the nearer they are to its own."""
    own = (2 * np.arange(kinds, dtype=np.int64)[:, None] + 1) * values // (2 * kinds)
    apart = np.abs(np.arange(values) - own)
    hills: Ints = _FAINTEST + height // (1 + apart * apart)
    return hills
