"""Results of several drawn tables, combined by the rules of Rubin (1987)."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from covey.errors import UsageError


@dataclass(frozen=True)
class Combined:
    """An estimate from several drawn tables."""

    estimate: float  # the mean of the estimates
    within: float  # the mean of their variances
    between: float  # the variance of the estimates
    tables: int

    @property
    def variance(self) -> float:
        """The variance of the estimate: within tables, and between them for what is not known."""
        return self.within + (1 + 1 / self.tables) * self.between

    @property
    def error(self) -> float:
        """The standard error."""
        return math.sqrt(self.variance)

    @property
    def degrees_of_freedom(self) -> float:
        """The degrees of freedom of its t distribution; infinite if all estimates are equal."""
        added = (1 + 1 / self.tables) * self.between
        return (self.tables - 1) * (1 + self.within / added) ** 2 if added else math.inf

    @property
    def missing_information(self) -> float:
        """The share of the variance that is due to the generalised cells."""
        return 1 - self.within / self.variance if self.variance else 0.0

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval that contains the true value with this probability."""
        if not 0 < level < 1:
            raise UsageError("the level of an interval is between 0 and 1, such as 0.95")
        half = quantile_of_t((1 + level) / 2, self.degrees_of_freedom) * self.error
        return self.estimate - half, self.estimate + half


_NEARLY_NORMAL = 1000  # degrees of freedom
_STEPS = 20_001


def quantile_of_t(level: float, freedom: float) -> float:
    """A quantile of Student's t distribution with 1 or more degrees of freedom, to four digits.

    With t = √f tan a, the density of the angle a is cos(a) to the power of f - 1.
    """
    if freedom > _NEARLY_NORMAL:
        normal = statistics.NormalDist().inv_cdf(level)
        return normal * (1 + (normal**2 + 1) / (4 * freedom))
    angles = np.linspace(-math.pi / 2, math.pi / 2, _STEPS)
    density = np.clip(np.cos(angles), 0, 1) ** (freedom - 1)
    below = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return math.sqrt(freedom) * math.tan(float(np.interp(level, below / below[-1], angles)))


def combine(estimates: Sequence[float], variances: Sequence[float]) -> Combined:
    """Combine the estimates that drawn tables gave, and their variances (squared errors)."""
    if len(estimates) != len(variances):
        raise UsageError("each estimate needs its variance: pass lists of the same length")
    if len(estimates) < 2:
        raise UsageError("one table does not show what is unknown: draw two or more")
    if not all(math.isfinite(x) for x in (*estimates, *variances)) or min(variances) < 0:
        raise UsageError("estimates must be numbers, and variances numbers of 0 or more")
    return Combined(
        statistics.fmean(estimates),
        statistics.fmean(variances),
        statistics.variance(map(float, estimates)),
        len(estimates),
    )
