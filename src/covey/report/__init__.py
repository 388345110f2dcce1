"""The report on a release, its page and charts, and the certificate."""

from covey.report.about import About
from covey.report.report import (
    LIMITS,
    LOOKED_UP,
    NOT_LOOKED_UP,
    Costs,
    Output,
    Report,
    Rows,
    refuse_curve_of_others,
)

refuse_format = Report.refuse_format

__all__ = [
    "LIMITS",
    "LOOKED_UP",
    "NOT_LOOKED_UP",
    "About",
    "Costs",
    "Output",
    "Report",
    "Rows",
    "refuse_curve_of_others",
    "refuse_format",
]
