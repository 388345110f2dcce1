"""An invented population to try covey on: no row describes a real person.

Names, places and life stories are drawn from the small tables in this module. The postcodes
and countries only look familiar; none of the shares below is a statistic of a real place.

The table is built to behave like a register of people. A town has a character (city, university,
suburb, industry, countryside, coast) which shapes how old its people are, where they were born
and what they learnt; age and education shape their work; work shapes their income; age and sex
shape what they are in hospital for. Half of the people resemble somebody else who lives nearby.
Common combinations therefore repeat often, and rare ones stand out.

The same ``rows`` and ``seed`` give the same table on every platform and with every version of
numpy: the only randomness is the raw 64-bit output of ``numpy.random.PCG64``, which numpy
promises not to change (it makes no such promise for the methods of ``Generator``), and all that
follows is integer arithmetic, so no rounding of floating-point numbers can differ. A shorter
table is not the beginning of a longer one, because each column is drawn in full before the next.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["TAXONOMIES", "people"]

Branch: TypeAlias = "dict[str, Branch] | list[str]"
Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.integer[Any]]
Flags: TypeAlias = NDArray[np.bool_]

TAXONOMIES: dict[str, dict[str, Branch]] = {
    "education": {
        "*": {
            "School": {
                "Basic school": ["Pre-school", "Primary school", "Middle school"],
                "Secondary school": ["Some high school", "High school"],
            },
            "Short course": ["Trade certificate", "Some college", "Associate degree"],
            "University": {
                "First degree": ["Bachelor degree", "Professional degree"],
                "Higher degree": ["Master degree", "Doctorate"],
            },
        }
    },
    "marital_status": {
        "*": {
            "Not yet married": ["Never married", "Domestic partnership"],
            "Ever married": {
                "Marriage continues": ["Married", "Separated"],
                "Marriage ended": ["Divorced", "Widowed"],
            },
        }
    },
    "occupation": {
        "*": {
            "Not working": {
                "In education or care": ["Child", "Pupil", "Student"],
                "Out of work": ["Homemaker", "Unemployed", "Retired"],
            },
            "Graduate work": {
                "Business and law": ["Business manager", "Accountant", "Lawyer"],
                "Science and technology": ["Engineer", "Software developer", "Scientist"],
                "Health and teaching": ["Physician", "Nurse", "Teacher"],
            },
            "Service work": {
                "Desk and counter": ["Office clerk", "Sales assistant"],
                "Personal service": ["Cook", "Cleaner", "Care assistant", "Police officer"],
            },
            "Manual work": ["Electrician", "Builder", "Machine operator", "Driver", "Farmer"],
        }
    },
    "country_of_birth": {
        "*": {
            "Americas": {
                "North America": ["United States", "Canada"],
                "Central America": ["Mexico", "Guatemala", "El Salvador", "Honduras"],
                "Caribbean": ["Cuba", "Dominican Republic", "Haiti", "Jamaica"],
                "South America": ["Colombia", "Brazil", "Ecuador", "Peru", "Venezuela"],
            },
            "Asia": {
                "East Asia": ["China", "South Korea", "Japan"],
                "South-east Asia": ["Philippines", "Vietnam"],
                "South Asia": ["India", "Pakistan", "Bangladesh"],
                "West Asia": ["Iran", "Iraq", "Lebanon"],
            },
            "Europe": {
                "Western Europe": ["United Kingdom", "Germany", "France", "Ireland"],
                "Southern Europe": ["Italy", "Portugal"],
                "Eastern Europe": ["Poland", "Ukraine", "Romania"],
            },
            "Africa": ["Nigeria", "Ethiopia", "Ghana", "Egypt"],
            "Oceania": ["Australia", "New Zealand"],
        }
    },
}

_TODAY = date(2025, 6, 30)
_FIRST_ADMISSION = date(2023, 1, 1)
_LAST_ADMISSION = date(2024, 12, 31)
_AGES = 100
_ADULT_AGE = 18
_PENSION_AGE = 65
_NEWBORN_DAYS = 28
_LONGEST_STAY = 365

_SLOT_BITS = 14
_SPREAD_BITS = 16
_WORD_BITS = 64
_SAME = _WORD_BITS
_SIMILAR = 5

_PEERS_PER_MILLE = 500
_ROWS_PER_PEER = 5  # only each fifth row is a peer to others, so that groups of several form

_SEXES = ("Female", "Male")

# The letters of the towns' characters, in the order in which all tables by place list them.
_PLACES = "CUSIRB"  # city, university, suburb, industry, rural, beach


class _Region(NamedTuple):
    prefix: str
    weight: int
    towns: str
    settlers: str


_REGIONS = (
    _Region("10", 300, "CCSSCUIS", "Caribbean"),
    _Region("90", 190, "CSCSUIR", "Central America"),
    _Region("60", 130, "CISIUSR", "Eastern Europe"),
    _Region("77", 95, "CSIIRUR", "Central America"),
    _Region("07", 70, "SCIUSI", "South Asia"),
    _Region("33", 50, "BCBSBR", "South America"),
    _Region("98", 35, "CSUSR", "East Asia"),
    _Region("48", 25, "ICIRRI", "West Asia"),
    _Region("28", 18, "RCRIR", "South-east Asia"),
    _Region("02", 12, "UCSU", "Western Europe"),
    _Region("59", 7, "RRRIR", "North America"),
    _Region("04", 4, "BRRR", "Africa"),
)
_SETTLERS_FACTOR = 8

# People per year of age, relative, at some ages.
_AGE_PYRAMIDS: dict[str, dict[int, int]] = {
    "C": {0: 60, 10: 50, 20: 75, 30: 100, 40: 85, 50: 70, 60: 52, 70: 33, 80: 16, 90: 4, 99: 1},
    "U": {0: 30, 17: 32, 19: 190, 23: 180, 27: 80, 40: 45, 60: 32, 75: 18, 88: 5, 99: 1},
    "S": {0: 70, 12: 88, 20: 45, 30: 65, 42: 98, 55: 82, 65: 55, 75: 36, 88: 9, 99: 1},
    "I": {0: 60, 10: 65, 20: 58, 30: 64, 40: 72, 55: 90, 65: 68, 75: 38, 88: 8, 99: 1},
    "R": {0: 45, 12: 56, 20: 38, 30: 44, 45: 66, 60: 96, 70: 84, 80: 44, 90: 12, 99: 2},
    "B": {0: 25, 20: 30, 35: 38, 50: 65, 62: 118, 70: 150, 78: 110, 85: 52, 92: 16, 99: 3},
}
_WOMEN_PER_MILLE = {0: 488, 50: 503, 65: 520, 80: 585, 90: 690, 99: 790}

_BAND_STARTS = (0, 2, 6, 11, 14, 18, 22, 26, 30, 40, 50, 60, 65, 70, 80, 90)

# Weights by age band, one number for each start in _BAND_STARTS.
_EDUCATION_BY_AGE = {
    "Pre-school": (100, 100, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "Primary school": (0, 0, 97, 4, 0, 1, 1, 1, 1, 2, 3, 4, 5, 7, 14, 22),
    "Middle school": (0, 0, 0, 95, 6, 1, 2, 2, 3, 4, 5, 6, 8, 11, 18, 24),
    "Some high school": (0, 0, 0, 1, 93, 15, 5, 5, 5, 6, 7, 8, 9, 11, 13, 12),
    "High school": (0, 0, 0, 0, 1, 31, 22, 20, 20, 22, 25, 27, 28, 30, 28, 24),
    "Trade certificate": (0, 0, 0, 0, 0, 6, 9, 9, 10, 11, 12, 12, 12, 11, 8, 5),
    "Some college": (0, 0, 0, 0, 0, 42, 24, 11, 9, 9, 9, 9, 9, 8, 5, 4),
    "Associate degree": (0, 0, 0, 0, 0, 4, 8, 9, 9, 9, 8, 8, 7, 5, 3, 2),
    "Bachelor degree": (0, 0, 0, 0, 0, 1, 25, 30, 25, 21, 18, 15, 13, 10, 6, 4),
    "Master degree": (0, 0, 0, 0, 0, 0, 3, 10, 13, 11, 9, 8, 6, 5, 3, 2),
    "Professional degree": (0, 0, 0, 0, 0, 0, 0, 2, 3, 3, 2, 2, 2, 1, 1, 1),
    "Doctorate": (0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 1, 1, 1, 1, 1),
}
_EDUCATIONS = tuple(_EDUCATION_BY_AGE)
# Percentages by place, one number for each level of education.
_EDUCATION_BY_PLACE = {
    "C": (100, 150, 130, 130, 90, 70, 100, 80, 120, 130, 120, 100),
    "U": (100, 30, 40, 50, 60, 50, 260, 80, 170, 260, 150, 700),
    "S": (100, 30, 40, 50, 80, 80, 100, 110, 170, 190, 260, 150),
    "I": (100, 130, 140, 150, 140, 190, 70, 100, 50, 30, 20, 10),
    "R": (100, 190, 180, 160, 150, 140, 60, 90, 45, 30, 30, 10),
    "B": (100, 60, 70, 80, 100, 110, 90, 110, 110, 100, 150, 60),
}

_MARITAL_STATUS_BY_AGE = {
    "Never married": (1, 1, 1, 1, 1, 940, 800, 590, 355, 220, 140, 90, 80, 60, 50, 60),
    "Domestic partnership": (0, 0, 0, 0, 0, 40, 105, 150, 120, 80, 60, 40, 30, 20, 10, 5),
    "Married": (0, 0, 0, 0, 0, 19, 90, 240, 455, 555, 585, 605, 595, 545, 360, 160),
    "Separated": (0, 0, 0, 0, 0, 1, 3, 10, 28, 32, 30, 22, 18, 12, 6, 3),
    "Divorced": (0, 0, 0, 0, 0, 0, 2, 10, 40, 105, 165, 190, 175, 140, 85, 50),
    "Widowed": (0, 0, 0, 0, 0, 0, 1, 1, 3, 10, 25, 55, 100, 220, 490, 720),
}
_MARITAL_STATUSES = tuple(_MARITAL_STATUS_BY_AGE)
# Percentages for women and for men, here and in the other tables by sex.
_MARITAL_STATUS_BY_SEX = {"Widowed": (135, 45)}

_ACTIVITY_BY_AGE = {
    "Child": (1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "Pupil": (0, 0, 1, 1, 97, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "Student": (0, 0, 0, 0, 0, 40, 24, 8, 3, 1, 0, 0, 0, 0, 0, 0),
    "Homemaker": (0, 0, 0, 0, 0, 2, 4, 6, 9, 8, 8, 9, 6, 8, 10, 5),
    "Unemployed": (0, 0, 0, 0, 1, 7, 7, 6, 5, 4, 4, 4, 1, 0, 0, 0),
    "Retired": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 18, 60, 172, 485, 994),
    "Working": (0, 0, 0, 0, 2, 37, 63, 80, 83, 87, 86, 69, 33, 20, 5, 1),
}
_ACTIVITY_BY_SEX = {"Homemaker": (170, 25)}
# Percentages by level of education. None is 0: even a combination that nobody has, such as a
# toddler with a doctorate, must have some weight left for _slots to divide by.
_ACTIVITY_BY_EDUCATION = {
    "Pupil": (100, 100, 100, 500, 10, 1, 1, 1, 1, 1, 1, 1),
    "Student": (1, 2, 3, 5, 50, 20, 420, 60, 90, 80, 30, 10),
    "Homemaker": (100, 220, 200, 170, 120, 90, 90, 85, 70, 55, 40, 30),
    "Unemployed": (100, 200, 200, 190, 120, 90, 100, 80, 60, 50, 30, 40),
}

# Weights by level of education.
_WORK_BY_EDUCATION = {
    "Business manager": (1, 1, 1, 2, 5, 5, 9, 9, 16, 22, 8, 6),
    "Accountant": (0, 0, 0, 0, 2, 3, 5, 7, 12, 10, 3, 2),
    "Lawyer": (0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 34, 2),
    "Engineer": (0, 0, 0, 0, 0, 2, 2, 7, 14, 14, 2, 14),
    "Software developer": (0, 0, 0, 0, 1, 1, 5, 7, 13, 12, 1, 8),
    "Scientist": (0, 0, 0, 0, 0, 0, 0, 1, 4, 9, 2, 45),
    "Physician": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 42, 6),
    "Nurse": (0, 0, 0, 0, 0, 3, 3, 22, 11, 5, 2, 1),
    "Teacher": (0, 0, 0, 0, 0, 0, 3, 4, 15, 22, 2, 22),
    "Office clerk": (2, 3, 5, 8, 15, 8, 22, 14, 8, 4, 1, 1),
    "Sales assistant": (12, 10, 12, 18, 17, 7, 20, 9, 5, 2, 1, 0),
    "Cook": (10, 10, 11, 10, 6, 6, 4, 2, 1, 0, 0, 0),
    "Cleaner": (25, 22, 18, 12, 5, 1, 2, 1, 0, 0, 0, 0),
    "Care assistant": (10, 8, 9, 9, 9, 8, 8, 6, 2, 1, 0, 0),
    "Police officer": (0, 0, 0, 1, 4, 4, 5, 6, 3, 1, 0, 0),
    "Electrician": (0, 1, 1, 3, 5, 20, 2, 4, 0, 0, 0, 0),
    "Builder": (15, 16, 17, 14, 9, 14, 3, 2, 1, 0, 0, 0),
    "Machine operator": (12, 12, 13, 11, 11, 11, 3, 3, 0, 0, 0, 0),
    "Driver": (10, 10, 11, 12, 11, 8, 5, 3, 1, 1, 0, 1),
    "Farmer": (12, 12, 8, 5, 4, 4, 2, 2, 1, 1, 1, 0),
}
_WORK_BY_SEX = {
    "Nurse": (165, 30),
    "Care assistant": (150, 50),
    "Office clerk": (135, 70),
    "Teacher": (130, 70),
    "Cleaner": (130, 70),
    "Machine operator": (60, 140),
    "Software developer": (55, 145),
    "Police officer": (55, 145),
    "Engineer": (50, 150),
    "Driver": (35, 160),
    "Builder": (20, 180),
    "Electrician": (15, 180),
}
# Percentages by place, in the order of _PLACES.
_WORK_BY_PLACE = {
    "Business manager": (110, 80, 160, 80, 70, 110),
    "Accountant": (120, 90, 140, 80, 60, 90),
    "Lawyer": (150, 90, 130, 60, 40, 110),
    "Engineer": (100, 130, 120, 170, 40, 60),
    "Software developer": (150, 160, 120, 40, 30, 50),
    "Scientist": (90, 400, 80, 50, 20, 40),
    "Physician": (100, 160, 130, 70, 80, 140),
    "Nurse": (100, 120, 100, 90, 100, 170),
    "Teacher": (90, 170, 110, 90, 120, 90),
    "Cook": (160, 140, 70, 60, 60, 260),
    "Cleaner": (150, 90, 70, 80, 60, 160),
    "Care assistant": (90, 80, 90, 90, 110, 210),
    "Machine operator": (50, 30, 50, 420, 90, 20),
    "Driver": (100, 60, 90, 150, 130, 80),
    "Farmer": (2, 10, 10, 20, 1200, 60),
}
_ACTIVITIES = tuple(_ACTIVITY_BY_AGE)
_WORKING = _ACTIVITIES.index("Working")
_WORKS = tuple(_WORK_BY_EDUCATION)
_OCCUPATIONS = (*_ACTIVITIES[:_WORKING], *_WORKS)

_NATIVE = "United States"
# Born abroad per mille by place: minors, adults, pensioners.
_FOREIGN_PER_MILLE = {
    "C": (75, 270, 210),
    "U": (60, 190, 90),
    "S": (40, 140, 100),
    "I": (30, 110, 75),
    "R": (8, 35, 20),
    "B": (20, 90, 60),
}
_SETTLER_WEIGHTS = {
    "Mexico": 240, "India": 72, "China": 60, "Philippines": 52, "Cuba": 40, "El Salvador": 40,
    "Vietnam": 36, "Dominican Republic": 34, "Guatemala": 32, "South Korea": 27, "Colombia": 26,
    "Jamaica": 22, "Haiti": 21, "Honduras": 21, "Canada": 20, "United Kingdom": 17, "Germany": 14,
    "Brazil": 14, "Venezuela": 13, "Nigeria": 12, "Poland": 11, "Ecuador": 11, "Ukraine": 10,
    "Pakistan": 10, "Iran": 9, "Peru": 9, "Italy": 8, "Ethiopia": 8, "Bangladesh": 7, "Japan": 7,
    "Iraq": 6, "Egypt": 5, "Ghana": 5, "Romania": 4, "France": 4,
    "Portugal": 4, "Lebanon": 3, "Ireland": 3, "Australia": 2, "New Zealand": 1,
}  # fmt: skip
_COUNTRIES = (_NATIVE, *_SETTLER_WEIGHTS)

_YEARLY_PAY = {
    "Child": 0, "Pupil": 2_500, "Student": 9_000, "Homemaker": 5_000, "Unemployed": 11_000,
    "Retired": 25_000, "Business manager": 92_000, "Accountant": 70_000, "Lawyer": 118_000,
    "Engineer": 84_000, "Software developer": 96_000, "Scientist": 72_000, "Physician": 165_000,
    "Nurse": 70_000, "Teacher": 55_000, "Office clerk": 41_000, "Sales assistant": 31_000,
    "Cook": 29_000, "Cleaner": 26_000, "Care assistant": 30_000, "Police officer": 64_000,
    "Electrician": 58_000, "Builder": 45_000, "Machine operator": 42_000, "Driver": 43_000,
    "Farmer": 38_000,
}  # fmt: skip
_PAY_BY_EDUCATION = (80, 80, 84, 88, 96, 102, 100, 105, 118, 130, 138, 140)
_PAY_BY_PLACE = (108, 95, 125, 95, 85, 100)
_PAY_BY_AGE = {0: 40, 18: 45, 25: 75, 35: 100, 45: 112, 55: 115, 65: 104, 75: 95, 99: 88}
# Per mille of the usual, from the lowest person in 65,536 to the highest.
_PAY_SPREAD = {
    0: 100, 3277: 560, 16384: 820, 32768: 1000, 49152: 1250, 62259: 1800, 64881: 2900,
    65471: 6500, 65535: 30_000,
}  # fmt: skip
_HIGH_PAY = 100_000
_UNTOLD_PAY_PER_MILLE = 50
_UNTOLD_HIGH_PAY_PER_MILLE = 110

_DIAGNOSIS_BY_AGE = {
    "Newborn jaundice": (26, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "Premature birth": (14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "Bronchiolitis": (20, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "Asthma": (4, 14, 14, 10, 7, 4, 3, 3, 3, 3, 3, 3, 3, 2, 2, 1),
    "Pneumonia": (10, 12, 6, 4, 3, 3, 3, 3, 3, 4, 6, 7, 8, 10, 14, 18),
    "Influenza": (8, 9, 7, 5, 4, 3, 3, 3, 3, 3, 3, 4, 4, 5, 6, 7),
    "Gastroenteritis": (12, 14, 9, 6, 5, 5, 4, 4, 4, 3, 3, 3, 3, 3, 4, 4),
    "Tonsillitis": (1, 12, 15, 10, 9, 6, 4, 2, 1, 0, 0, 0, 0, 0, 0, 0),
    "Appendicitis": (0, 3, 16, 20, 18, 13, 10, 8, 6, 4, 3, 2, 1, 1, 1, 0),
    "Forearm fracture": (1, 9, 22, 22, 14, 8, 6, 5, 4, 4, 4, 4, 3, 3, 3, 3),
    "Concussion": (3, 7, 10, 12, 13, 9, 7, 5, 4, 3, 3, 3, 3, 4, 4, 5),
    "Diabetes": (0, 2, 4, 6, 5, 4, 4, 4, 5, 7, 8, 9, 9, 8, 6, 4),
    "Anxiety disorder": (0, 0, 1, 6, 14, 13, 11, 10, 8, 6, 4, 2, 2, 1, 1, 0),
    "Depression": (0, 0, 0, 5, 16, 15, 13, 12, 11, 10, 8, 5, 4, 3, 2, 1),
    "Alcohol dependence": (0, 0, 0, 0, 3, 9, 9, 9, 9, 11, 10, 7, 4, 2, 1, 0),
    "Opioid overdose": (0, 0, 0, 0, 2, 7, 9, 9, 8, 5, 3, 1, 1, 0, 0, 0),
    "Childbirth": (0, 0, 0, 0, 2, 26, 45, 66, 52, 7, 0, 0, 0, 0, 0, 0),
    "Pregnancy complication": (0, 0, 0, 0, 1, 7, 10, 14, 13, 3, 0, 0, 0, 0, 0, 0),
    "Gallstones": (0, 0, 0, 1, 2, 5, 6, 7, 9, 10, 10, 9, 8, 7, 6, 4),
    "Back pain": (0, 0, 0, 0, 1, 3, 4, 6, 9, 13, 13, 11, 9, 7, 5, 3),
    "Osteoarthritis": (0, 0, 0, 0, 0, 0, 0, 0, 1, 4, 12, 20, 23, 21, 10, 4),
    "Hypertension": (0, 0, 0, 0, 0, 0, 1, 1, 3, 7, 10, 11, 11, 11, 10, 9),
    "Heart attack": (0, 0, 0, 0, 0, 0, 0, 0, 1, 6, 13, 17, 17, 16, 14, 11),
    "Heart failure": (0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 11, 15, 24, 30),
    "Stroke": (0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 7, 10, 12, 16, 20, 20),
    "Chronic lung disease": (0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 7, 13, 14, 14, 10, 6),
    "Breast cancer": (0, 0, 0, 0, 0, 0, 0, 0, 2, 7, 10, 10, 9, 8, 5, 3),
    "Prostate disorder": (0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 6, 12, 15, 16, 12, 8),
    "Lung cancer": (0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5, 9, 10, 9, 5, 2),
    "Hip fracture": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 5, 14, 24),
    "Dementia": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 7, 20, 28),
}
_DIAGNOSES = tuple(_DIAGNOSIS_BY_AGE)
_DIAGNOSIS_BY_SEX = {
    "Childbirth": (100, 0),
    "Pregnancy complication": (100, 0),
    "Breast cancer": (100, 1),
    "Prostate disorder": (0, 100),
    "Hip fracture": (130, 70),
    "Gallstones": (130, 70),
    "Anxiety disorder": (130, 80),
    "Depression": (125, 85),
    "Heart attack": (65, 140),
    "Alcohol dependence": (50, 150),
    "Opioid overdose": (65, 135),
    "Concussion": (80, 120),
}
_NEWBORN_DIAGNOSES = ("Newborn jaundice", "Premature birth")
_WINTER_DIAGNOSES = ("Bronchiolitis", "Pneumonia", "Influenza", "Chronic lung disease", "Asthma")
_SUMMER_DIAGNOSES = ("Gastroenteritis", "Forearm fracture", "Concussion")
_USUAL_DAYS = {
    "Newborn jaundice": 3, "Premature birth": 26, "Bronchiolitis": 3, "Asthma": 2, "Pneumonia": 5,
    "Influenza": 3, "Gastroenteritis": 2, "Tonsillitis": 1, "Appendicitis": 2,
    "Forearm fracture": 1, "Concussion": 1, "Diabetes": 4, "Anxiety disorder": 6,
    "Depression": 11, "Alcohol dependence": 7, "Opioid overdose": 3, "Childbirth": 2,
    "Pregnancy complication": 3, "Gallstones": 3, "Back pain": 4, "Osteoarthritis": 4,
    "Hypertension": 3, "Heart attack": 5, "Heart failure": 6, "Stroke": 8,
    "Chronic lung disease": 5, "Breast cancer": 3, "Prostate disorder": 3, "Lung cancer": 7,
    "Hip fracture": 8, "Dementia": 14,
}  # fmt: skip
_DAYS_BY_AGE = {0: 100, 15: 80, 40: 90, 65: 110, 80: 140, 99: 160}
_DAYS_SPREAD = {
    0: 250, 16384: 700, 32768: 1000, 49152: 1400, 58982: 2200, 64881: 5000, 65471: 11_000,
    65535: 30_000,
}  # fmt: skip
# Admissions by month, from January to December: any time, in winter, in summer.
_MONTH_WEIGHTS = (
    (10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 9),
    (22, 20, 14, 9, 6, 4, 3, 3, 5, 8, 13, 20),
    (7, 7, 8, 10, 12, 14, 15, 15, 12, 9, 7, 7),
)
_WEEKDAY_WEIGHTS = (12, 11, 10, 10, 9, 6, 6)  # from Monday to Sunday

_MISSING_PER_MILLE = {"zip": 5, "education": 20, "occupation": 10, "country_of_birth": 30}

_GIVEN_NAMES = (
    "Ada Agnes Alma Anita Bella Bianca Carla Celia Clara Dana Delia Edith Elena Elsa Emma Flora "
    "Freya Gina Grace Hanna Helen Ida Irene Iris Jana Joan Julia Karin Laura Leah Lena Livia Lucy "
    "Mara Maya Mina Nadia Nell Nora Olga Paula Rita Rosa Ruth Sara Selma Sonia Stella Tess Thea "
    "Una Vera Wanda Yara Zoe",
    "Abel Adam Alan Amos Aron Basil Boris Bruno Carl Cyrus Dario Dean Edgar Eli Emil Enzo Felix "
    "Finn Frank Gavin Glen Hal Hugo Igor Ivan Jack Jonas Karl Keith Leo Louis Luca Marc Milo Neil "
    "Nico Noah Omar Oscar Otto Paul Pedro Ralph Remy Roy Rufus Sam Simon Theo Toby Tom Ugo Victor "
    "Walt Yuri",
)
_INITIALS = "ABCDEFGHJKLMNOPRSTVWZ"
_FAMILY_BEGINNINGS = (
    "Al Ash Bar Birch Black Bram Bright Cal Carl Clay Cor Dun East Fair Fal Glen Gold Gray Hal "
    "Hart Hay Hol Kel Lang Lin Mar Mill Mor Nor Oak Pem Quin Red Row Stan Thorn Van West Whit Wind"
)
_FAMILY_ENDINGS = (
    "bourne brook bury by combe cott croft dale den don field ford gate grove ham hurst ley low "
    "man mere more ridge shaw stead stone ton wall well wick worth"
)


class _Draws:
    """One random number per row at each call, from a stream that numpy keeps stable.

    Some rows have a peer in another row: a partner, a sibling, a neighbour of the same kind.
    Where a draw is said to share bits, they take that many upper bits from the number drawn for
    their peer and so tend to the same choice. Each number is still as uniform as without peers.
    """

    def __init__(self, rows: int, seed: int) -> None:
        self._source = np.random.PCG64(seed)
        self._rows = rows
        self._has_peer = self.chance(_PEERS_PER_MILLE)
        self._peer = self.below(rows) // _ROWS_PER_PEER * _ROWS_PER_PEER

    def _words(self, shared_bits: int) -> NDArray[np.uint64]:
        words = np.asarray(self._source.random_raw(self._rows), dtype=np.uint64)
        if shared_bits == 0:
            return words
        own = np.uint64((1 << (_WORD_BITS - shared_bits)) - 1)
        return np.where(self._has_peer, (words[self._peer] & ~own) | (words & own), words)

    def bits(self, count: int, shared_bits: int = 0) -> Ints:
        """Uniform integers of `count` bits: the upper ones, which are the best of each word."""
        return (self._words(shared_bits) >> np.uint64(_WORD_BITS - count)).view(np.int64)

    def below(self, limits: int | Codes, shared_bits: int = 0) -> Ints:
        """Uniform integers in 0..limit-1."""
        return (self.bits(32, shared_bits) * limits) >> 32

    def chance(self, per_mille: int | Codes, shared_bits: int = 0) -> Flags:
        """True as often as `per_mille` says."""
        return self.below(1000, shared_bits) < per_mille

    def pick(self, slots: Codes, *given: Codes, shared_bits: int = 0) -> Codes:
        """One choice per row from a table of `_slots`, by the codes of what is given."""
        picked: Codes = slots[(*given, self.bits(_SLOT_BITS, shared_bits))]
        return picked


def people(rows: int = 10_000, *, seed: int = 0) -> pl.DataFrame:
    """Return a table of `rows` invented people, always the same for the same `rows` and `seed`.

    `age` is the age on 2025-06-30. Missing values are null; minors have no income at all.
    """
    if rows < 0:
        raise ValueError(f"rows must not be negative, but is {rows}")
    draws = _Draws(rows, seed)
    return _table(draws, _lives(draws))


class _Lives(NamedTuple):
    """All that is drawn for the people before they get a name and some of it goes missing."""

    zip_code: Codes
    place: Codes
    age: Codes
    birth: Ints
    is_man: Codes
    education: Codes
    marital_status: Codes
    occupation: Codes
    country: Codes
    diagnosis: Codes


def _lives(draws: _Draws) -> _Lives:
    town, zip_code = _homes(draws)
    place = _place_of_towns()[town]
    age = draws.pick(_slots(_by_place(_AGE_PYRAMIDS)), place, shared_bits=_SIMILAR)
    band = _band_of_ages()[age]
    is_man = draws.chance(1000 - _curve(_WOMEN_PER_MILLE, _AGES)[age]).astype(np.uint8)
    education = draws.pick(_education_slots(), place, band, shared_bits=_SIMILAR)
    return _Lives(
        zip_code=zip_code,
        place=place,
        age=age,
        birth=_birth_days(draws, age),
        is_man=is_man,
        education=education,
        marital_status=draws.pick(_marital_status_slots(), is_man, band, shared_bits=_SIMILAR),
        occupation=_occupations(draws, place, band, is_man, education),
        country=_countries(draws, town, place, age),
        diagnosis=draws.pick(_diagnosis_slots(), is_man, band),
    )


def _table(draws: _Draws, lives: _Lives) -> pl.DataFrame:
    columns = {
        "name": _names(draws, lives.is_man),
        "birth_date": _dates(lives.birth),
        "age": pl.Series(lives.age.astype(np.int64)),
        "sex": _strings(_SEXES, lives.is_man),
        "zip": _strings_with_gaps(draws, "zip", _zip_labels(), lives.zip_code),
        "education": _strings_with_gaps(draws, "education", _EDUCATIONS, lives.education),
        "marital_status": _strings(_MARITAL_STATUSES, lives.marital_status),
        "occupation": _strings_with_gaps(draws, "occupation", _OCCUPATIONS, lives.occupation),
        "country_of_birth": _strings_with_gaps(
            draws, "country_of_birth", _COUNTRIES, lives.country
        ),
        "income": _told_incomes(draws, lives.age, _incomes(draws, lives)),
        "admission_date": _dates(_admission_days(draws, lives.diagnosis, lives.birth)),
        "diagnosis": _strings(_DIAGNOSES, lives.diagnosis),
        "length_of_stay": pl.Series(_stays(draws, lives.age, lives.diagnosis)),
    }
    return pl.DataFrame(columns)


# From weights to choices.


def _slots(weights: Ints) -> Codes:
    """Turn weights along the last axis into a row of choices, each as often as its weight says.

    A random index into such a row is a weighted choice, at the price of one look-up.
    """
    choices = np.arange(weights.shape[-1], dtype=np.min_scalar_type(weights.shape[-1]))
    ends = np.cumsum(weights.reshape(-1, weights.shape[-1]), axis=1)
    ends = (ends << _SLOT_BITS) // ends[:, -1:]
    counts = np.diff(ends, axis=1, prepend=0)
    slots = np.stack([np.repeat(choices, count) for count in counts])
    return slots.reshape(*weights.shape[:-1], 1 << _SLOT_BITS)


def _curve(knots: Mapping[int, int], size: int) -> Ints:
    """Whole numbers at 0..size-1 on the straight lines between the knots."""
    at, height = np.array(list(knots.items()), dtype=np.int64).T
    x = np.arange(size, dtype=np.int64)
    left = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(at) - 2)
    rise, run = np.diff(height)[left], np.diff(at)[left]
    curve: Ints = height[left] + rise * (x - at[left]) // run
    return curve


def _integers(values: Iterable[int] | Iterable[Sequence[int]]) -> Ints:
    return np.array(list(values), dtype=np.int64)


def _by_place(curves: Mapping[str, Mapping[int, int]]) -> Ints:
    return np.stack([_curve(curves[place], _AGES) for place in _PLACES])


def _by_label(table: Mapping[str, Sequence[int]]) -> Ints:
    """A table with the labels along the last axis."""
    return _integers(table.values()).T


def _percentages(some: Mapping[str, Sequence[int]], labels: Sequence[str]) -> Ints:
    """Like `_by_label`, with 100 % for each label that `some` does not mention."""
    usual = [100] * len(next(iter(some.values())))
    return _by_label({label: some.get(label, usual) for label in labels})


# Where people live.


def _town_weights() -> Ints:
    """The towns of a region get smaller as the harmonic series does."""
    return _integers(
        region.weight * 2520 // (rank + 1)
        for region in _REGIONS
        for rank in range(len(region.towns))
    )


def _district_counts() -> Ints:
    weights = _town_weights()
    counts: Ints = 4 + weights * 60 // weights.max()
    return counts


def _district_weights() -> Ints:
    """The districts of each town, padded with empty ones to the number of the largest town."""
    counts = _district_counts()
    rank = np.arange(counts.max())
    weights: Ints = np.where(rank < counts[:, None], 10_000 // (rank + 3), 0)
    return weights


def _zip_labels() -> list[str]:
    towns = [f"{region.prefix}{town}" for region in _REGIONS for town in range(len(region.towns))]
    return [
        f"{town}{district + 1:02}"
        for town, districts in zip(towns, _district_counts().tolist(), strict=True)
        for district in range(districts)
    ]


def _place_of_towns() -> Codes:
    places = [_PLACES.index(letter) for region in _REGIONS for letter in region.towns]
    return np.array(places, dtype=np.uint8)


def _region_of_towns() -> Codes:
    regions = [number for number, region in enumerate(_REGIONS) for _ in region.towns]
    return np.array(regions, dtype=np.uint8)


def _homes(draws: _Draws) -> tuple[Codes, Codes]:
    """The town of each person, and the position of the person's postcode in `_zip_labels`."""
    town = draws.pick(_slots(_town_weights()), shared_bits=_SAME)
    counts = _district_counts()
    first_of_town = np.cumsum(counts) - counts
    district = draws.pick(_slots(_district_weights()), town, shared_bits=_SAME)
    return town, first_of_town[town] + district


# Who they are.


def _band_of_ages() -> Codes:
    bands = np.searchsorted(_BAND_STARTS, np.arange(_AGES), side="right") - 1
    return bands.astype(np.uint8)


def _day_number(day: date) -> int:
    return day.toordinal() - date(1970, 1, 1).toordinal()


def _birth_days(draws: _Draws, age: Codes) -> Ints:
    """Nobody is born after the last admission, since everybody has been admitted."""
    birthdays = [_TODAY.replace(year=_TODAY.year - years) for years in range(_AGES + 1)]
    days = _integers(map(_day_number, birthdays))
    first, last = days[1:] + 1, np.minimum(days[:-1], _day_number(_LAST_ADMISSION))
    return first[age] + draws.below((last - first + 1)[age])


def _education_slots() -> Codes:
    by_place = _integers(_EDUCATION_BY_PLACE[place] for place in _PLACES)
    return _slots(by_place[:, None] * _by_label(_EDUCATION_BY_AGE))


def _marital_status_slots() -> Codes:
    by_sex = _percentages(_MARITAL_STATUS_BY_SEX, _MARITAL_STATUSES)
    return _slots(by_sex[:, None] * _by_label(_MARITAL_STATUS_BY_AGE))


def _leaves(branch: Branch) -> list[str]:
    if isinstance(branch, list):
        return branch
    return [leaf for below in branch.values() for leaf in _leaves(below)]


def _leaves_under(branch: Branch, label: str) -> list[str]:
    """The leaves under the inner node of that label; none if it is not in this branch."""
    if isinstance(branch, list):
        return []
    if label in branch:
        return _leaves(branch[label])
    return [leaf for below in branch.values() for leaf in _leaves_under(below, label)]


def _settler_weights(region: _Region) -> list[int]:
    """People from one part of the world settle in the same region."""
    favoured = _leaves_under(TAXONOMIES["country_of_birth"], region.settlers)
    return [
        weight * (_SETTLERS_FACTOR if country in favoured else 1)
        for country, weight in _SETTLER_WEIGHTS.items()
    ]


def _countries(draws: _Draws, town: Codes, place: Codes, age: Codes) -> Codes:
    shares = _integers(_FOREIGN_PER_MILLE[letter] for letter in _PLACES)
    stage = (age >= _ADULT_AGE).astype(np.uint8) + (age >= _PENSION_AGE)
    is_foreign = draws.chance(shares[place, stage], shared_bits=_SIMILAR)
    origins = _slots(_integers(map(_settler_weights, _REGIONS)))
    settlers = 1 + draws.pick(origins, _region_of_towns()[town], shared_bits=_SAME)
    return np.where(is_foreign, settlers, _COUNTRIES.index(_NATIVE))


# What they do and earn.


def _activity_slots() -> Codes:
    by_sex = _percentages(_ACTIVITY_BY_SEX, _ACTIVITIES)
    by_education = _percentages(_ACTIVITY_BY_EDUCATION, _ACTIVITIES)
    by_age = _by_label(_ACTIVITY_BY_AGE)
    return _slots(by_sex[:, None, None] * by_education[:, None] * by_age)


def _work_slots() -> Codes:
    by_place = _percentages(_WORK_BY_PLACE, _WORKS)
    by_sex = _percentages(_WORK_BY_SEX, _WORKS)
    by_education = _by_label(_WORK_BY_EDUCATION)
    return _slots(by_place[:, None, None] * by_sex[:, None] * by_education)


def _occupations(
    draws: _Draws, place: Codes, band: Codes, is_man: Codes, education: Codes
) -> Codes:
    activity = draws.pick(_activity_slots(), is_man, education, band, shared_bits=_SIMILAR)
    work = draws.pick(_work_slots(), place, is_man, education, shared_bits=_SIMILAR)
    return np.where(activity == _WORKING, _WORKING + work, activity)


def _incomes(draws: _Draws, lives: _Lives) -> Ints:
    income = _integers(_YEARLY_PAY[label] for label in _OCCUPATIONS)[lives.occupation]
    income *= _integers(_PAY_BY_EDUCATION)[lives.education]
    income *= _integers(_PAY_BY_PLACE)[lives.place]
    income *= _curve(_PAY_BY_AGE, _AGES)[lives.age]
    income //= 100**3
    income *= _curve(_PAY_SPREAD, 1 << _SPREAD_BITS)[draws.bits(_SPREAD_BITS)]
    return (income // 1000 + 50) // 100 * 100


def _told_incomes(draws: _Draws, age: Codes, income: Ints) -> pl.Series:
    """Those who earn much tell it less often."""
    per_mille = np.where(income < _HIGH_PAY, _UNTOLD_PAY_PER_MILLE, _UNTOLD_HIGH_PAY_PER_MILLE)
    untold = draws.chance(per_mille) | (age < _ADULT_AGE)
    return pl.Series(income).set(pl.Series(untold), None)


# What they are in hospital for.


def _diagnosis_slots() -> Codes:
    by_sex = _percentages(_DIAGNOSIS_BY_SEX, _DIAGNOSES)
    return _slots(by_sex[:, None] * _by_label(_DIAGNOSIS_BY_AGE))


def _season_of_diagnoses() -> Codes:
    seasons = [
        1 if label in _WINTER_DIAGNOSES else 2 if label in _SUMMER_DIAGNOSES else 0
        for label in _DIAGNOSES
    ]
    return np.array(seasons, dtype=np.uint8)


def _admission_weights() -> Ints:
    """A weight for each day in which somebody can be admitted, by season."""
    numbers = range(_FIRST_ADMISSION.toordinal(), _LAST_ADMISSION.toordinal() + 1)
    days = [date.fromordinal(number) for number in numbers]
    return _integers(
        [months[day.month - 1] * _WEEKDAY_WEIGHTS[day.weekday()] for day in days]
        for months in _MONTH_WEIGHTS
    )


def _admission_days(draws: _Draws, diagnosis: Codes, birth: Ints) -> Ints:
    first, last = _day_number(_FIRST_ADMISSION), _day_number(_LAST_ADMISSION)
    season = _season_of_diagnoses()[diagnosis]
    day = first + draws.pick(_slots(_admission_weights()), season).astype(np.int64)
    is_newborn = np.isin(diagnosis, [_DIAGNOSES.index(label) for label in _NEWBORN_DIAGNOSES])
    span = np.where(is_newborn, np.minimum(_NEWBORN_DAYS, last - birth + 1), last - birth + 1)
    since_birth = birth + draws.below(span)
    return np.where(is_newborn | (day < birth), since_birth, day)


def _stays(draws: _Draws, age: Codes, diagnosis: Codes) -> Ints:
    stay = _integers(_USUAL_DAYS[label] for label in _DIAGNOSES)[diagnosis]
    stay *= _curve(_DAYS_BY_AGE, _AGES)[age]
    stay *= _curve(_DAYS_SPREAD, 1 << _SPREAD_BITS)[draws.bits(_SPREAD_BITS)]
    days: Ints = np.minimum((stay + 50_000) // 100_000, _LONGEST_STAY)
    return days


# From codes to columns.


def _strings(labels: Sequence[str | None], codes: Codes) -> pl.Series:
    indices = pl.Series(codes.astype(np.uint32))
    return pl.Series(labels, dtype=pl.String).gather(indices)


def _strings_with_gaps(
    draws: _Draws, column: str, labels: Sequence[str], codes: Codes
) -> pl.Series:
    is_missing = draws.chance(_MISSING_PER_MILLE[column])
    return _strings([*labels, None], np.where(is_missing, len(labels), codes))


def _dates(days: Ints) -> pl.Series:
    return pl.Series(days.astype(np.int32)).cast(pl.Date)


def _names(draws: _Draws, is_man: Codes) -> pl.Series:
    """A given name with an initial and two family names, so that few people share a name."""
    given = [
        f"{name} {initial}."
        for names in _GIVEN_NAMES
        for name in names.split()
        for initial in _INITIALS
    ]
    family = [
        beginning + ending
        for beginning in _FAMILY_BEGINNINGS.split()
        for ending in _FAMILY_ENDINGS.split()
    ]
    given_by_sex = len(given) // len(_SEXES)
    parts = {
        "given": _strings(given, is_man * np.int64(given_by_sex) + draws.below(given_by_sex)),
        "father": _strings(family, draws.below(len(family))),
        "mother": _strings(family, draws.below(len(family))),
    }
    return pl.DataFrame(parts).select(pl.concat_str(list(parts), separator=" ")).to_series()
