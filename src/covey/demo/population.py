"""The statistics of the invented population.

The postcodes and countries only look familiar; none of these shares describes a real place. All
numbers are whole, so that no platform rounds them differently.
"""

from datetime import date
from typing import Any, NamedTuple

TAXONOMIES: dict[str, dict[str, Any]] = {
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

TODAY = date(2025, 6, 30)
FIRST_ADMISSION = date(2023, 1, 1)
LAST_ADMISSION = date(2024, 12, 31)
AGES = 100
ADULT_AGE = 18
PENSION_AGE = 65
NEWBORN_DAYS = 28
LONGEST_STAY = 365

SEXES = ("Female", "Male")

# The letters of the towns' characters, in the order in which all tables by place list them.
PLACES = "CUSIRB"  # city, university, suburb, industry, rural, beach


class Region(NamedTuple):
    """Towns whose postcodes begin with the same digits."""

    prefix: str
    weight: int
    towns: str  # the letter of each one's character, from the largest to the smallest
    settlers: str  # the part of the world, as country_of_birth names it, whose people settle here


REGIONS = (
    Region("10", 300, "CCSSCUIS", "Caribbean"),
    Region("90", 190, "CSCSUIR", "Central America"),
    Region("60", 130, "CISIUSR", "Eastern Europe"),
    Region("77", 95, "CSIIRUR", "Central America"),
    Region("07", 70, "SCIUSI", "South Asia"),
    Region("33", 50, "BCBSBR", "South America"),
    Region("98", 35, "CSUSR", "East Asia"),
    Region("48", 25, "ICIRRI", "West Asia"),
    Region("28", 18, "RCRIR", "South-east Asia"),
    Region("02", 12, "UCSU", "Western Europe"),
    Region("59", 7, "RRRIR", "North America"),
    Region("04", 4, "BRRR", "Africa"),
)
SETTLERS_FACTOR = 8  # how much more often they settle here than elsewhere

# People per year of age, relative, at some ages.
AGE_PYRAMIDS: dict[str, dict[int, int]] = {
    "C": {0: 60, 10: 50, 20: 75, 30: 100, 40: 85, 50: 70, 60: 52, 70: 33, 80: 16, 90: 4, 99: 1},
    "U": {0: 30, 17: 32, 19: 190, 23: 180, 27: 80, 40: 45, 60: 32, 75: 18, 88: 5, 99: 1},
    "S": {0: 70, 12: 88, 20: 45, 30: 65, 42: 98, 55: 82, 65: 55, 75: 36, 88: 9, 99: 1},
    "I": {0: 60, 10: 65, 20: 58, 30: 64, 40: 72, 55: 90, 65: 68, 75: 38, 88: 8, 99: 1},
    "R": {0: 45, 12: 56, 20: 38, 30: 44, 45: 66, 60: 96, 70: 84, 80: 44, 90: 12, 99: 2},
    "B": {0: 25, 20: 30, 35: 38, 50: 65, 62: 118, 70: 150, 78: 110, 85: 52, 92: 16, 99: 3},
}
WOMEN_PER_MILLE = {0: 488, 50: 503, 65: 520, 80: 585, 90: 690, 99: 790}

BAND_STARTS = (0, 2, 6, 11, 14, 18, 22, 26, 30, 40, 50, 60, 65, 70, 80, 90)

# Weights by age band, one number for each start in BAND_STARTS.
EDUCATION_BY_AGE = {
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
EDUCATIONS = tuple(EDUCATION_BY_AGE)
# Percentages by place, one number for each level of education.
EDUCATION_BY_PLACE = {
    "C": (100, 150, 130, 130, 90, 70, 100, 80, 120, 130, 120, 100),
    "U": (100, 30, 40, 50, 60, 50, 260, 80, 170, 260, 150, 700),
    "S": (100, 30, 40, 50, 80, 80, 100, 110, 170, 190, 260, 150),
    "I": (100, 130, 140, 150, 140, 190, 70, 100, 50, 30, 20, 10),
    "R": (100, 190, 180, 160, 150, 140, 60, 90, 45, 30, 30, 10),
    "B": (100, 60, 70, 80, 100, 110, 90, 110, 110, 100, 150, 60),
}

MARITAL_STATUS_BY_AGE = {
    "Never married": (1, 1, 1, 1, 1, 940, 800, 590, 355, 220, 140, 90, 80, 60, 50, 60),
    "Domestic partnership": (0, 0, 0, 0, 0, 40, 105, 150, 120, 80, 60, 40, 30, 20, 10, 5),
    "Married": (0, 0, 0, 0, 0, 19, 90, 240, 455, 555, 585, 605, 595, 545, 360, 160),
    "Separated": (0, 0, 0, 0, 0, 1, 3, 10, 28, 32, 30, 22, 18, 12, 6, 3),
    "Divorced": (0, 0, 0, 0, 0, 0, 2, 10, 40, 105, 165, 190, 175, 140, 85, 50),
    "Widowed": (0, 0, 0, 0, 0, 0, 1, 1, 3, 10, 25, 55, 100, 220, 490, 720),
}
MARITAL_STATUSES = tuple(MARITAL_STATUS_BY_AGE)
# Percentages for women and for men, here and in the other tables by sex.
MARITAL_STATUS_BY_SEX = {"Widowed": (135, 45)}

ACTIVITY_BY_AGE = {
    "Child": (1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "Pupil": (0, 0, 1, 1, 97, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "Student": (0, 0, 0, 0, 0, 40, 24, 8, 3, 1, 0, 0, 0, 0, 0, 0),
    "Homemaker": (0, 0, 0, 0, 0, 2, 4, 6, 9, 8, 8, 9, 6, 8, 10, 5),
    "Unemployed": (0, 0, 0, 0, 1, 7, 7, 6, 5, 4, 4, 4, 1, 0, 0, 0),
    "Retired": (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 18, 60, 172, 485, 994),
    "Working": (0, 0, 0, 0, 2, 37, 63, 80, 83, 87, 86, 69, 33, 20, 5, 1),
}
ACTIVITY_BY_SEX = {"Homemaker": (170, 25)}
# Percentages by level of education. None is 0: even a combination that no one has, such as a
# toddler with a doctorate, needs a weight to divide by.
ACTIVITY_BY_EDUCATION = {
    "Pupil": (100, 100, 100, 500, 10, 1, 1, 1, 1, 1, 1, 1),
    "Student": (1, 2, 3, 5, 50, 20, 420, 60, 90, 80, 30, 10),
    "Homemaker": (100, 220, 200, 170, 120, 90, 90, 85, 70, 55, 40, 30),
    "Unemployed": (100, 200, 200, 190, 120, 90, 100, 80, 60, 50, 30, 40),
}

# Weights by level of education.
WORK_BY_EDUCATION = {
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
WORK_BY_SEX = {
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
# Percentages by place, in the order of PLACES.
WORK_BY_PLACE = {
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
ACTIVITIES = tuple(ACTIVITY_BY_AGE)
WORKING = ACTIVITIES.index("Working")
WORKS = tuple(WORK_BY_EDUCATION)
OCCUPATIONS = (*ACTIVITIES[:WORKING], *WORKS)

# Born abroad per mille by place: minors, adults, pensioners.
FOREIGN_PER_MILLE = {
    "C": (75, 270, 210),
    "U": (60, 190, 90),
    "S": (40, 140, 100),
    "I": (30, 110, 75),
    "R": (8, 35, 20),
    "B": (20, 90, 60),
}
SETTLER_WEIGHTS = {
    "Mexico": 240, "India": 72, "China": 60, "Philippines": 52, "Cuba": 40, "El Salvador": 40,
    "Vietnam": 36, "Dominican Republic": 34, "Guatemala": 32, "South Korea": 27, "Colombia": 26,
    "Jamaica": 22, "Haiti": 21, "Honduras": 21, "Canada": 20, "United Kingdom": 17, "Germany": 14,
    "Brazil": 14, "Venezuela": 13, "Nigeria": 12, "Poland": 11, "Ecuador": 11, "Ukraine": 10,
    "Pakistan": 10, "Iran": 9, "Peru": 9, "Italy": 8, "Ethiopia": 8, "Bangladesh": 7, "Japan": 7,
    "Iraq": 6, "Egypt": 5, "Ghana": 5, "Romania": 4, "France": 4,
    "Portugal": 4, "Lebanon": 3, "Ireland": 3, "Australia": 2, "New Zealand": 1,
}  # fmt: skip
COUNTRIES = ("United States", *SETTLER_WEIGHTS)  # home first

YEARLY_PAY = {
    "Child": 0, "Pupil": 2_500, "Student": 9_000, "Homemaker": 5_000, "Unemployed": 11_000,
    "Retired": 25_000, "Business manager": 92_000, "Accountant": 70_000, "Lawyer": 118_000,
    "Engineer": 84_000, "Software developer": 96_000, "Scientist": 72_000, "Physician": 165_000,
    "Nurse": 70_000, "Teacher": 55_000, "Office clerk": 41_000, "Sales assistant": 31_000,
    "Cook": 29_000, "Cleaner": 26_000, "Care assistant": 30_000, "Police officer": 64_000,
    "Electrician": 58_000, "Builder": 45_000, "Machine operator": 42_000, "Driver": 43_000,
    "Farmer": 38_000,
}  # fmt: skip
# Percentages of it by level of education, by place and by age.
PAY_BY_EDUCATION = (80, 80, 84, 88, 96, 102, 100, 105, 118, 130, 138, 140)
PAY_BY_PLACE = (108, 95, 125, 95, 85, 100)
PAY_BY_AGE = {0: 40, 18: 45, 25: 75, 35: 100, 45: 112, 55: 115, 65: 104, 75: 95, 99: 88}
# Per mille of the usual, from the lowest person in 65,536 to the highest; likewise for days.
PAY_SPREAD = {
    0: 100, 3277: 560, 16384: 820, 32768: 1000, 49152: 1250, 62259: 1800, 64881: 2900,
    65471: 6500, 65535: 30_000,
}  # fmt: skip
HIGH_PAY = 100_000
UNTOLD_PAY_PER_MILLE = 50
UNTOLD_HIGH_PAY_PER_MILLE = 110

DIAGNOSIS_BY_AGE = {
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
DIAGNOSES = tuple(DIAGNOSIS_BY_AGE)
DIAGNOSIS_BY_SEX = {
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
NEWBORN_DIAGNOSES = ("Newborn jaundice", "Premature birth")
USUAL_DAYS = {
    "Newborn jaundice": 3, "Premature birth": 26, "Bronchiolitis": 3, "Asthma": 2, "Pneumonia": 5,
    "Influenza": 3, "Gastroenteritis": 2, "Tonsillitis": 1, "Appendicitis": 2,
    "Forearm fracture": 1, "Concussion": 1, "Diabetes": 4, "Anxiety disorder": 6,
    "Depression": 11, "Alcohol dependence": 7, "Opioid overdose": 3, "Childbirth": 2,
    "Pregnancy complication": 3, "Gallstones": 3, "Back pain": 4, "Osteoarthritis": 4,
    "Hypertension": 3, "Heart attack": 5, "Heart failure": 6, "Stroke": 8,
    "Chronic lung disease": 5, "Breast cancer": 3, "Prostate disorder": 3, "Lung cancer": 7,
    "Hip fracture": 8, "Dementia": 14,
}  # fmt: skip
DAYS_BY_AGE = {0: 100, 15: 80, 40: 90, 65: 110, 80: 140, 99: 160}
DAYS_SPREAD = {
    0: 250, 16384: 700, 32768: 1000, 49152: 1400, 58982: 2200, 64881: 5000, 65471: 11_000,
    65535: 30_000,
}  # fmt: skip
ANY_TIME, WINTER, SUMMER = range(3)
SEASONS = {
    "Bronchiolitis": WINTER, "Pneumonia": WINTER, "Influenza": WINTER,
    "Chronic lung disease": WINTER, "Asthma": WINTER,
    "Gastroenteritis": SUMMER, "Forearm fracture": SUMMER, "Concussion": SUMMER,
}  # fmt: skip
# Admissions by month, from January to December: at any time, in winter, in summer.
MONTH_WEIGHTS = (
    (10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 9),
    (22, 20, 14, 9, 6, 4, 3, 3, 5, 8, 13, 20),
    (7, 7, 8, 10, 12, 14, 15, 15, 12, 9, 7, 7),
)
WEEKDAY_WEIGHTS = (12, 11, 10, 10, 9, 6, 6)  # from Monday to Sunday

MISSING_PER_MILLE = {"zip": 5, "education": 20, "occupation": 10, "country_of_birth": 30}

GIVEN_NAMES = (
    "Ada Agnes Alma Anita Bella Bianca Carla Celia Clara Dana Delia Edith Elena Elsa Emma Flora "
    "Freya Gina Grace Hanna Helen Ida Irene Iris Jana Joan Julia Karin Laura Leah Lena Livia Lucy "
    "Mara Maya Mina Nadia Nell Nora Olga Paula Rita Rosa Ruth Sara Selma Sonia Stella Tess Thea "
    "Una Vera Wanda Yara Zoe",
    "Abel Adam Alan Amos Aron Basil Boris Bruno Carl Cyrus Dario Dean Edgar Eli Emil Enzo Felix "
    "Finn Frank Gavin Glen Hal Hugo Igor Ivan Jack Jonas Karl Keith Leo Louis Luca Marc Milo Neil "
    "Nico Noah Omar Oscar Otto Paul Pedro Ralph Remy Roy Rufus Sam Simon Theo Toby Tom Ugo Victor "
    "Walt Yuri",
)
INITIALS = "ABCDEFGHJKLMNOPRSTVWZ"
FAMILY_BEGINNINGS = (
    "Al Ash Bar Birch Black Bram Bright Cal Carl Clay Cor Dun East Fair Fal Glen Gold Gray Hal "
    "Hart Hay Hol Kel Lang Lin Mar Mill Mor Nor Oak Pem Quin Red Row Stan Thorn Van West Whit Wind"
)
FAMILY_ENDINGS = (
    "bourne brook bury by combe cott croft dale den don field ford gate grove ham hurst ley low "
    "man mere more ridge shaw stead stone ton wall well wick worth"
)
