"""Published rules to compare a k with: smallest cells of tables, and thresholds of risk.

Each was read in the source that it names. They were made for other purposes than choosing k, so
they are points of comparison and no advice. A smallest cell of k people corresponds to a highest
risk of 1/k, and a threshold of risk r to the smallest k with 1/k at most r.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """A published rule: a smallest cell, or a threshold of risk."""

    name: str  # short, for a picture
    says: str
    title: str
    publisher: str
    year: int | None  # None if the source has no date
    source: str  # its address
    cell: int | None = None  # people
    risk: float | None = None

    @property
    def k(self) -> int:
        """The smallest k that fits the rule."""
        if self.cell is not None:
            return self.cell
        assert self.risk is not None
        return math.ceil(1 / self.risk)

    @property
    def cited(self) -> str:
        """Publisher and year."""
        return f"{self.publisher}, {self.year or 'undated'}"


MARKS = (
    Mark(
        "BA",
        "Each value of a table needs at least three cases, more if the data are detailed.",
        "Regeln der statistischen Geheimhaltung",
        "Statistik der Bundesagentur für Arbeit (Germany)",
        None,
        "https://statistik.arbeitsagentur.de",
        cell=3,
    ),
    Mark(
        "INE",
        "Results of fewer than three observation units are confidential.",
        "Who decides that data are confidential?",
        "Statistics Portugal (INE)",
        None,
        "https://www.ine.pt/xportal/xmain?xpid=INE&xpgid=ine_faqs&FAQSfaq_boui=4977939",
        cell=3,
    ),
    Mark(
        "OECD",
        "Some agencies require at least five respondents in a cell, others three.",
        "Glossary of statistical terms: threshold rule",
        "OECD, after Statistics Netherlands, Statistics Canada, Germany FSO and the University of "
        "Manchester",
        2005,
        "https://stats.oecd.org/glossary/detail.asp?ID=7010",
        cell=5,
    ),
    Mark(
        "NHS",
        "Numbers of staff or patients below seven are suppressed in certain figures.",
        "Data suppressed or not available",
        "NHS (England), model.nhs.uk",
        None,
        "https://feedback.model.nhs.uk/knowledgebase/articles/1143256",
        cell=7,
    ),
    Mark(
        "ABS",
        "Each cell or statistic should have at least ten unweighted contributors.",
        "DataLab: input and output clearance",
        "Australian Bureau of Statistics",
        2021,
        "https://www.abs.gov.au/statistics/microdata-tablebuilder/datalab/"
        "input-and-output-clearance",
        cell=10,
    ),
    Mark(
        "ONS",
        "Outputs of the Longitudinal Study that refer to fewer than ten observations are examined "
        "for disclosure.",
        "Advice from the Office for National Statistics",
        "CeLSIUS, for the Office for National Statistics (United Kingdom)",
        None,
        "http://celsius.lshtm.ac.uk/onscell.html",
        cell=10,
    ),
    Mark(
        "CMS",
        "No cell with a value of 1 to 10 may be reported.",
        "CMS cell suppression policy",
        "Centers for Medicare & Medicaid Services (United States)",
        2020,
        "https://www.hhs.gov/guidance/document/cms-cell-suppression-policy",
        cell=11,
    ),
    Mark(
        "public files",
        "A smallest cell of 20 has been used for public Canadian and US data.",
        "Guide to the De-Identification of Personal Health Information: cell size precedents",
        "El Emam, Auerbach",
        2013,
        "https://doi.org/10.1201/b14764",
        cell=20,
    ),
    Mark(
        "common threshold",
        "Calls 0.09 the commonly used threshold of risk.",
        "Evaluating identity disclosure risk in fully synthetic health data",
        "El Emam, Mosquera and Bass, Journal of Medical Internet Research",
        2020,
        "https://doi.org/10.2196/23139",
        risk=0.09,
    ),
    Mark(
        "Canadian hospital file",
        "Set the threshold of a public file of Canadian hospital stays between 0.04 and 0.05.",
        "De-identifying a public use microdata file from the Canadian national discharge "
        "abstract database",
        "El Emam, Paton, Dankar and Koru, BMC Medical Informatics and Decision Making",
        2011,
        "https://doi.org/10.1186/1472-6947-11-53",
        risk=0.05,
    ),
)
CELLS = tuple(mark for mark in MARKS if mark.cell is not None)
THRESHOLDS = tuple(mark for mark in MARKS if mark.risk is not None)


def names_by_cell() -> dict[int, list[str]]:
    """The short names of the rules for each smallest cell."""
    found: dict[int, list[str]] = {}
    for mark in CELLS:
        found.setdefault(mark.k, []).append(mark.name)
    return found
