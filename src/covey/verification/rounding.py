"""Round figures for publication: a file has only the digits that people see.

With all its digits, a figure may be an equation with a single solution. Python objects keep all
digits; files and printed JSON do not. This module alone decides how many digits are published.
"""

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

_SHARE = ".4f"  # hundredths of a percent
_SHOWN_AS = {
    "Losses.total_il": ".2f",
    "Losses.average_class_size": ".3f",
    "Losses.entropy": ".3f",
    "Losses.monotone_entropy": ".3f",
    "Losses.non_uniform_entropy": ".3f",
    "WorstRows.loss": ".2f",
    "WorstRows.without": ".2f",
    "Marginals.score": ".1f",
    "Marginals.triples": ".1f",
    "Utility.pmse_ratio": ".2f",
    "Figure.released": ".6g",
    "Figure.overlap": ".1f",
    "Point.total_il": ".2f",
    "Point.uses_overlap": ".2f",
    "Point.highest_risk": ".4g",
    "Point.average_risk": ".4g",
    "Risks.prosecutor": ".4g",
    "Risks.prosecutor_average": ".4g",
    "Risks.journalist": ".4g",
    "Risks.marketer": ".4g",
}
# Settings, requirements and times, which reveal nothing about a table.
_EXACT = {
    "Check.requirement", "ColumnLoss.weight", "Point.seconds", "Run.seconds",
    "Run.clustering_seconds",
}  # fmt: skip

T = TypeVar("T")


def share(number: float) -> float:
    """Round a share between 0 and 1 for publication."""
    return _as_shown(number, _SHARE)


def chance(number: float) -> float:
    """Round the chance of finding a person, which may not follow from the released table."""
    return _as_shown(number, _SHOWN_AS["Risks.prosecutor"])


def rounded(figures: T) -> T:
    """The same figures, each rounded to the digits that are shown."""
    if isinstance(figures, tuple):
        return type(figures)(rounded(part) for part in figures)
    if not is_dataclass(figures) or isinstance(figures, type):
        return figures
    kind = type(figures).__name__
    parts = {each.name: getattr(figures, each.name) for each in fields(figures)}
    return replace(
        figures,
        **{name: _rounded(f"{kind}.{name}", value) for name, value in parts.items()},
    )


def _rounded(name: str, value: Any) -> Any:
    if name in _EXACT:
        return value
    if isinstance(value, float):
        return _as_shown(value, _SHOWN_AS.get(name, _SHARE))
    if isinstance(value, dict):
        return {key: _rounded(name, part) for key, part in value.items()}
    return rounded(value)


def _as_shown(number: float, form: str) -> float:
    return float(format(number, form)) + 0.0  # turns a negative zero into zero
